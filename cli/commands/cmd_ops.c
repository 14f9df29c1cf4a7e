#include <stdio.h>
#include <string.h>

#include "cli/commands/commands.h"
#include "cli/base/exit_code.h"
#include "cli/json/json_value.h"
#include "cli/report/operator_table.h"
#include "cli/base/options.h"
#include "cli/base/plural.h"
#include "runtime/kernel.h"

static const char about[] =
    "Lists the operators of this build as program files name them, with their\n"
    "arguments, and the types that tensors can have. --markdown prints the\n"
    "table of the documents: what each operator of PyTorch becomes.\n";

static const char examples[] =
    "  etx ops\n"
    "  etx ops softmax\n"
    "  etx ops --json\n"
    "  etx ops --markdown > docs/operators.md\n";

// The operator of a row, or NULL if it is not to be listed.
static const etx_op* wanted_op(size_t row, const char* word) {
  const etx_kernel* const kernel = &etx_all_kernels.kernels[row];
  const etx_op* const op = etx_op_at(kernel->op);
  if (etx_kernel_is_left_out(kernel)) return NULL;
  return word == NULL || strstr(op->name, word) != NULL ? op : NULL;
}

static void print_op(const etx_op* op) {
  printf("%s%s%s(%s)\n", op->name, op->overload[0] == '\0' ? "" : ".",
         op->overload, op->arguments);
}

static void print_all(const char* word) {
  size_t count = 0;
  for (size_t i = 0; i < etx_all_kernels.count; ++i) {
    const etx_op* const op = wanted_op(i, word);
    if (op == NULL) continue;
    print_op(op);
    ++count;
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

static bool print_json(const char* word) {
  json_t* const operators = json_array();
  json_t* const types = json_array();
  for (size_t i = 0; i < etx_all_kernels.count; ++i) {
    const etx_op* const op = wanted_op(i, word);
    if (op != NULL) json_array_append_new(operators, json_of(op));
  }
#define DTYPE(NAME, name, code, bytes, category) \
  if (ETX_HAS_DTYPE(NAME)) json_array_append_new(types, json_string(name));
#include "format/tensor/dtype.def"
#undef DTYPE
  json_t* const root = json_object();
  json_object_set_new(root, "operators", operators);
  json_object_set_new(root, "types", types);
  return etx_json_print(root);
}

static etx_exit print_markdown(void) {
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_status status = etx_operator_table_print(&diag);
  if (status == ETX_OK) return ETX_EXIT_DONE;
  return etx_error_report("ops", NULL, status, &diag);
}

int etx_cmd_ops(int argc, char** argv) {
  const char* word = NULL;
  bool json = false, markdown = false;
  const etx_positional positionals[] = {
      {"WORD", "only operators with WORD in their name", &word, false}};
  const etx_option options[] = {
      {ETX_OPTION_FLAG, "json", 0, NULL, "print the list as JSON", &json},
      {ETX_OPTION_FLAG, "markdown", 0, NULL, "print the table of the documents",
       &markdown}};
  const etx_usage usage = {"ops",   about, positionals, 1,
                           options, 2,     examples,    NULL};
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  if (markdown && (json || word != NULL)) {
    return (int)etx_usage_error_report(
        "ops",
        "--markdown prints the whole table and takes no "
        "WORD or --json");
  }
  if (markdown) return (int)print_markdown();
  if (json) return print_json(word) ? ETX_EXIT_DONE : ETX_EXIT_MACHINE_FAILED;
  print_all(word);
  return ETX_EXIT_DONE;
}
