#include <stdio.h>

#include "cli/commands/commands.h"
#include "cli/base/exit_code.h"
#include "cli/report/inspect_report.h"
#include "cli/json/json_html.h"
#include "cli/json/json_value.h"
#include "cli/base/options.h"
#include "cli/base/output_file.h"
#include "cli/base/plural.h"
#include "cli/program/pte_file.h"

static const char about[] =
    "Shows what a program file holds: its parts, each method with inputs and\n"
    "outputs, state with offsets and initial values, operators, and which "
    "runtime\n"
    "it needs. Reads files of the stock exporter too.\n";

static const char examples[] =
    "  etx inspect model.pte\n"
    "  etx inspect model.pte --html model.html\n"
    "  etx inspect model.pte --json | jq '.state[].name'\n";

// What a bundle holds beside its program.
static void print_bundle(const char* path, const etx_bundle* bundle) {
  printf("%s: a bundled program; 'etx run --bundled' makes its calls:\n", path);
  for (size_t i = 0; i < etx_bundle_suite_count(bundle); ++i) {
    const etx_text method = etx_bundle_suite_method(bundle, i);
    const size_t count = etx_bundle_case_count(bundle, i);
    printf("  %.*s: %zu case%s\n", (int)method.size, method.data, count,
           etx_plural(count));
  }
  printf("\nits program:\n");
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

typedef struct words {
  const char* path;
  bool json;
  const char* html;  // where a page goes, or NULL
} words;

static etx_status write_page(const words* in, const json_t* root,
                             etx_diag* diag) {
  etx_output_file output;
  ETX_TRY(etx_output_file_check_overwrite(in->html, in->path, diag));
  ETX_TRY(etx_output_file_open(&output, in->html, diag));
  etx_json_html_print(in->path, root, output.file);
  etx_status status = etx_json_allocation_failed()
                          ? ETX_OUT_OF_MEMORY
                          : etx_output_file_finish(&output);
  if (status == ETX_OK) status = etx_output_file_keep(&output);
  etx_output_file_discard(&output);
  return status;
}

static etx_status inspect(const words* in, const etx_pte_file* file,
                          etx_pool* pool, bool* out_printed, etx_diag* diag) {
  etx_program program;
  etx_operator_uses uses;
  ETX_TRY(
      etx_program_open(&program, file->program, &etx_all_kernels, NULL, diag));
  const etx_blob* const blob = program.has_blob ? &program.blob : NULL;
  ETX_TRY(etx_operator_uses_collect(&program.pte, blob, pool, &uses, diag));
  etx_state_list states;
  ETX_TRY(etx_state_list_read(&program, pool, &states, diag));
  if (!in->json && in->html == NULL) {
    if (file->is_bundle) print_bundle(in->path, &file->bundle);
    return etx_inspect_print(in->path, &program, &uses, &states, diag);
  }
  json_t* root = NULL;
  etx_status status =
      etx_inspect_json(in->path, &program, &uses, &states, &root, diag);
  if (status == ETX_OK) {
    if (file->is_bundle) {
      json_object_set_new(root, "bundle", json_of_bundle(&file->bundle));
    }
    if (in->html != NULL) status = write_page(in, root, diag);
  }
  if (status == ETX_OK && in->json) {
    *out_printed = etx_json_print(root);
  } else {
    json_decref(root);
  }
  return status;
}

int etx_cmd_inspect(int argc, char** argv) {
  words in = {.path = NULL};
  const etx_positional positionals[] = {
      {"FILE", "the program, .pte or .bpte", &in.path, true}};
  const etx_option options[] = {
      {ETX_OPTION_FLAG, "json", 0, NULL, "print the facts as JSON", &in.json},
      {ETX_OPTION_TEXT, "html", 0, "FILE",
       "write the facts as one page to be opened in a browser", &in.html}};
  const etx_usage usage = {"inspect", about, positionals, 1,
                           options,   2,     examples,    NULL};
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  etx_diag diag;
  etx_diag_init(&diag);
  etx_pte_file file;
  const etx_status opened = etx_pte_file_open(&file, in.path, &diag);
  if (opened != ETX_OK)
    return (int)etx_error_report("inspect", in.path, opened, &diag);
  etx_pool pool;
  etx_pool_init(&pool);
  bool is_printed = true;
  const etx_status status = inspect(&in, &file, &pool, &is_printed, &diag);
  etx_pool_close(&pool);
  etx_pte_file_close(&file);
  if (status != ETX_OK)
    return (int)etx_error_report("inspect", in.path, status, &diag);
  return is_printed ? ETX_EXIT_DONE : ETX_EXIT_MACHINE_FAILED;
}
