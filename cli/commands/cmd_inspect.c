// etx inspect: prints the contents of a program file as text, JSON or a page.

#include <stdio.h>

#include "cli/commands/commands.h"
#include "cli/base/exit_code.h"
#include "cli/graph/graph_page.h"
#include "cli/report/inspect_report.h"
#include "cli/json/json_value.h"
#include "cli/base/input_path.h"
#include "cli/base/options.h"
#include "cli/base/output_file.h"
#include "cli/base/plural.h"
#include "cli/program/pte_file.h"

static const char about[] =
    "Shows the contents of a program file: its parts, the inputs and outputs "
    "of\n"
    "each method, states with offsets and initial values, operators, and the\n"
    "runtime that it needs. Also reads files of the stock exporter.\n";

static const char examples[] =
    "  etx inspect model.pte\n"
    "  etx inspect model.pte --html model.html\n"
    "  etx inspect model.pte --at 'tokens[1]=8'\n"
    "  etx inspect model.pte --json | jq '.state[].name'\n";

// Prints the recorded calls of a bundle.
static void print_bundle(const char* path, const etx_bundle* bundle) {
  printf("%s: a bundled program; run its calls with 'etx run --bundled':\n",
         path);
  for (size_t i = 0; i < etx_bundle_suite_count(bundle); ++i) {
    const etx_text method = etx_bundle_suite_method(bundle, i);
    const size_t count = etx_bundle_case_count(bundle, i);
    printf("  %.*s: %zu case%s\n", (int)method.size, method.data, count,
           etx_plural(count));
  }
  printf("\nthe program in the bundle:\n");
}

static json_t* json_of_bundle(const etx_bundle* bundle) {
  json_t* const list = json_array();
  for (size_t i = 0; i < etx_bundle_suite_count(bundle); ++i) {
    json_t* const object = json_object();
    json_object_set_new(object, "method",
                        etx_json_text(etx_bundle_suite_method(bundle, i)));
    json_object_set_new(object, "cases",
                        etx_json_unsigned(etx_bundle_case_count(bundle, i)));
    json_array_append_new(list, object);
  }
  return list;
}

typedef struct inspect_options {
  const char* path;
  bool json;
  const char* html;  // path of the page to write, or NULL
  etx_option_list at;
} inspect_options;

static etx_status print_page(const inspect_options* options, etx_bytes program,
                             const json_t* root, FILE* out, etx_diag* diag) {
  etx_memory_map map;
  etx_status status = etx_memory_map_read(&map, program, diag);
  if (status == ETX_OK) {
    status = etx_graph_page_print(&map, etx_input_path_name(options->path),
                                  root, out);
  }
  etx_memory_map_close(&map);
  return status;
}

static etx_status write_page(const inspect_options* options, etx_bytes program,
                             const json_t* root, etx_diag* diag) {
  etx_output_file output;
  ETX_TRY(etx_output_file_check_overwrite(options->html, options->path, diag));
  ETX_TRY(etx_output_file_open(&output, options->html, diag));
  etx_status status = print_page(options, program, root, output.file, diag);
  if (status == ETX_OK) status = etx_output_file_finish(&output);
  if (status == ETX_OK) status = etx_output_file_keep(&output);
  etx_output_file_discard(&output);
  return status;
}

static etx_status inspect(const inspect_options* options,
                          const etx_pte_file* file, etx_pool* pool,
                          bool* out_printed, etx_diag* diag) {
  etx_program program;
  etx_operator_uses uses;
  ETX_TRY(
      etx_program_open(&program, file->program, &etx_all_kernels, NULL, diag));
  const etx_blob* const blob = program.has_blob ? &program.blob : NULL;
  ETX_TRY(etx_operator_uses_collect(&program.pte, blob, pool, &uses, diag));
  etx_state_list states;
  ETX_TRY(etx_state_list_read(&program, pool, &states, diag));
  etx_inspect_facts facts = {options->path, &program, &uses, &states, NULL};
  if (options->at.count > 0) {
    const etx_dim_options sizes = {"at", &options->at};
    ETX_TRY(etx_memory_at_find(&program, &sizes, pool, &facts.memory, diag));
  }
  if (!options->json && options->html == NULL) {
    if (file->is_bundle) print_bundle(options->path, &file->bundle);
    return etx_inspect_print(&facts, diag);
  }
  json_t* root = NULL;
  etx_status status = etx_inspect_json(&facts, &root, diag);
  if (status == ETX_OK) {
    if (file->is_bundle) {
      json_object_set_new(root, "bundle", json_of_bundle(&file->bundle));
    }
    if (options->html != NULL) {
      status = write_page(options, file->program, root, diag);
    }
  }
  if (status == ETX_OK && options->json) {
    *out_printed = etx_json_print(root);
  } else {
    json_decref(root);
  }
  return status;
}

int etx_cmd_inspect(int argc, char** argv) {
  inspect_options options = {.path = NULL};
  const etx_usage usage = {
      .command = "inspect",
      .about = about,
      .examples = examples,
      .positionals = ETX_POSITIONALS(
          {"FILE", "the program, .pte or .bpte", &options.path, true}),
      .options = ETX_OPTIONS(
          ETX_FLAG("json", 0, "print the facts as JSON", &options.json),
          ETX_TEXT("html", 0, "FILE",
                   "write one page for a browser: the graph of each method,\n"
                   "its memory and the facts",
                   &options.html),
          ETX_LIST("at", 0, "DIM=SIZE",
                   "the memory of methods at this size of a dynamic\n"
                   "dimension, named SYMBOL or INPUT[DIM]; others are largest",
                   &options.at)),
  };
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  etx_diag diag;
  etx_diag_init(&diag);
  etx_pte_file file;
  const etx_status opened = etx_pte_file_open(&file, options.path, &diag);
  if (opened != ETX_OK)
    return (int)etx_error_report("inspect", options.path, opened, &diag);
  etx_pool pool;
  etx_pool_init(&pool);
  bool is_printed = true;
  const etx_status status = inspect(&options, &file, &pool, &is_printed, &diag);
  etx_pool_close(&pool);
  etx_pte_file_close(&file);
  if (status != ETX_OK)
    return (int)etx_error_report("inspect", options.path, status, &diag);
  return is_printed ? ETX_EXIT_DONE : ETX_EXIT_MACHINE_FAILED;
}
