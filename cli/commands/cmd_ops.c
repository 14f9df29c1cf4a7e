// etx ops: lists the kernels of this build. A word that no kernel has in its
// name gets the nearest operators of PyTorch as a hint.

#include <stdio.h>
#include <string.h>

#include "cli/commands/commands.h"
#include "cli/base/exit_code.h"
#include "cli/json/json_value.h"
#include "cli/report/operator_table.h"
#include "cli/kernels/operator_header.h"
#include "cli/base/mapped_file.h"
#include "exporter/host/host_memory.h"
#include "cli/base/options.h"
#include "cli/base/plural.h"
#include "exporter/lower/nearest_operator.h"
#include "runtime/kernel.h"

static const char about[] =
    "Lists the operators of this build as program files name them, with their\n"
    "arguments, and the element types of tensors. Exit code 2 if no operator "
    "has\n"
    "WORD in its name. --markdown prints docs/operators.md: what each PyTorch\n"
    "operator is lowered to. --header prints a C header with rows for the "
    "operators\n"
    "of a file that `etx plan --ops` reads.\n";

static const char examples[] =
    "  etx ops\n"
    "  etx ops softmax\n"
    "  etx ops --json\n"
    "  etx ops --markdown > docs/operators.md\n"
    "  etx ops --header my.ops > my_ops.h\n";

// The operator of a row of the kernel table; NULL if the build leaves it out,
// or if `word` (may be NULL) is not in its name.
static const etx_op* listed_op(size_t row, const char* word) {
  const etx_kernel* const kernel = &etx_all_kernels.kernels[row];
  const etx_op* const op = kernel->op;
  if (etx_kernel_is_left_out(kernel)) return NULL;
  return word == NULL || strstr(op->name, word) != NULL ? op : NULL;
}

static void print_op(const etx_op* op) {
  printf("%s%s%s(%s)\n", op->name, op->overload[0] == '\0' ? "" : ".",
         op->overload, op->arguments);
}

static size_t count_listed(const char* word) {
  size_t count = 0;
  for (size_t i = 0; i < etx_all_kernels.count; ++i) {
    count += listed_op(i, word) != NULL;
  }
  return count;
}

static void print_all(const char* word) {
  const size_t count = count_listed(word);
  for (size_t i = 0; i < etx_all_kernels.count; ++i) {
    const etx_op* const op = listed_op(i, word);
    if (op != NULL) print_op(op);
  }
  printf("\n%zu operator%s\n", count, etx_plural(count));
  if (word != NULL) return;
  printf("types:");
#define DTYPE(NAME, name, code, bytes, category) \
  if (ETX_HAS_DTYPE(NAME)) printf(" %s", name);
#include "format/tensor/dtype.def"
#undef DTYPE
  putchar('\n');
}

static json_t* json_of(const etx_op* op) {
  json_t* const object = json_object();
  json_object_set_new(object, "name", json_string(op->name));
  json_object_set_new(object, "overload", json_string(op->overload));
  json_object_set_new(object, "arguments", json_string(op->arguments));
  return object;
}

// Operators of PyTorch whose names resemble a word that no kernel has in its
// name.
static json_t* json_of_nearest(const char* word) {
  json_t* const list = json_array();
  const char* names[ETX_NEAREST_OPERATORS];
  if (count_listed(word) != 0) return list;
  const size_t count = etx_nearest_operators(etx_text_of(word), names);
  for (size_t i = 0; i < count; ++i) {
    json_array_append_new(list, json_string(names[i]));
  }
  return list;
}

static bool print_json(const char* word) {
  json_t* const operators = json_array();
  json_t* const types = json_array();
  for (size_t i = 0; i < etx_all_kernels.count; ++i) {
    const etx_op* const op = listed_op(i, word);
    if (op != NULL) json_array_append_new(operators, json_of(op));
  }
#define DTYPE(NAME, name, code, bytes, category) \
  if (ETX_HAS_DTYPE(NAME)) json_array_append_new(types, json_string(name));
#include "format/tensor/dtype.def"
#undef DTYPE
  json_t* const root = json_object();
  json_object_set_new(root, "operators", operators);
  json_object_set_new(root, "types", types);
  json_object_set_new(root, "nearest", json_of_nearest(word));
  return etx_json_print(root);
}

static etx_exit report_no_match(const char* word) {
  const char* names[ETX_NEAREST_OPERATORS];
  const size_t count = etx_nearest_operators(etx_text_of(word), names);
  fprintf(stderr, "etx ops: no operator of this build has '%s' in its name",
          word);
  for (size_t i = 0; i < count; ++i) {
    fprintf(stderr, "%s %s",
            i == 0 ? "; the nearest operators of PyTorch that can be imported:"
                   : ",",
            names[i]);
  }
  fprintf(stderr, "%s\n", count == 0 ? "; 'etx ops' lists all" : "");
  return ETX_EXIT_REFUSED;
}

static etx_exit print_markdown(void) {
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_status status = etx_operator_table_print(&diag);
  if (status == ETX_OK) return ETX_EXIT_DONE;
  return etx_error_report("ops", NULL, status, &diag);
}

static etx_status write_out(void* context, etx_bytes bytes) {
  const size_t written = fwrite(bytes.data, 1, bytes.size, (FILE*)context);
  return written == bytes.size ? ETX_OK : ETX_HOST_FAILED;
}

static etx_status print_header_of(const char* path, etx_bytes bytes,
                                  etx_diag* diag) {
  const etx_text text = {(const char*)bytes.data, bytes.size};
  const size_t needed = etx_own_list_needed(text);
  etx_pool pool;
  etx_arena arena;
  etx_own_list list;
  etx_pool_init(&pool);
  void* const memory = etx_pool_take(&pool, needed);
  etx_status status = ETX_OUT_OF_MEMORY;
  if (memory != NULL) {
    etx_arena_init(&arena, memory, needed);
    status = etx_own_list_read(text, &arena, &list, diag);
  }
  const etx_sink sink = {write_out, stdout};
  if (status == ETX_OK) status = etx_operator_header_write(&list, path, &sink);
  etx_pool_close(&pool);
  return status;
}

static etx_exit print_header(const char* path) {
  etx_diag diag;
  etx_diag_init(&diag);
  etx_mapped_file file;
  etx_status status = etx_mapped_file_open(&file, path, &diag);
  if (status == ETX_OK) {
    status = print_header_of(path, file.bytes, &diag);
    etx_mapped_file_close(&file);
  }
  return status == ETX_OK ? ETX_EXIT_DONE
                          : etx_error_report("ops", path, status, &diag);
}

int etx_cmd_ops(int argc, char** argv) {
  const char* word = NULL;
  const char* header = NULL;
  bool json = false, markdown = false;
  const etx_usage usage = {
      .command = "ops",
      .about = about,
      .examples = examples,
      .positionals = ETX_POSITIONALS(
          {"WORD", "list operators with WORD in their name", &word, false}),
      .options = ETX_OPTIONS(
          ETX_FLAG("json", 0, "print the list as JSON", &json),
          ETX_FLAG("markdown", 0, "print docs/operators.md", &markdown),
          ETX_TEXT("header", 0, "FILE",
                   "print rows of kernel tables for the operators of FILE, as "
                   "a C header",
                   &header)),
  };
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  if (markdown && (json || word != NULL)) {
    return (int)etx_usage_error_report(
        "ops", "--markdown prints the whole table; it takes no WORD or --json");
  }
  if (header != NULL) return (int)print_header(header);
  if (markdown) return (int)print_markdown();
  const bool is_found = count_listed(word) != 0;
  if (json && !print_json(word)) return ETX_EXIT_MACHINE_FAILED;
  if (!is_found) return (int)report_no_match(word);
  if (!json) print_all(word);
  return ETX_EXIT_DONE;
}
