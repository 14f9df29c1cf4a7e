#include <stdio.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/json_value.h"
#include "cli/options.h"
#include "cli/pte_input.h"
#include "cli/verify_program.h"

static const char about[] =
    "Proves from the bytes of a program file alone that no value is "
    "overwritten\n"
    "while it is needed, that everything lies inside its arena and that all "
    "methods\n"
    "agree about their state. Shares no code with the planner.\n";

static const char examples[] = "  etx verify model.pte\n";

static bool print_json(const char* path, const etx_verify_report* report,
                       const etx_diag* diag) {
  const bool is_proved = report->level == ETX_VERIFY_PROVED;
  json_t* const root = json_object();
  json_object_set_new(root, "file", json_string(path));
  json_object_set_new(root, "proved", json_boolean(is_proved));
  json_object_set_new(root, "refused_by",
                      is_proved
                          ? json_null()
                          : json_string(etx_verify_level_name(report->level)));
  json_object_set_new(root, "reason",
                      is_proved ? json_null() : json_string(diag->text));
  json_object_set_new(root, "methods", etx_json_unsigned(report->method_count));
  json_object_set_new(root, "values", etx_json_unsigned(report->value_count));
  json_object_set_new(root, "instructions",
                      etx_json_unsigned(report->instruction_count));
  json_object_set_new(root, "states", etx_json_unsigned(report->state_count));
  return etx_json_print(root);
}

static void print_proof(const char* path, const etx_verify_report* report) {
  printf(
      "%s: the plan is right: %zu methods, %zu instructions, %zu tensors, "
      "%zu shared states\n",
      path, report->method_count, report->instruction_count,
      report->value_count, report->state_count);
}

static etx_exit verify(const char* path, bool json) {
  etx_diag diag;
  etx_diag_init(&diag);
  etx_pte_input file;
  const etx_status opened = etx_pte_input_open(&file, path, &diag);
  if (opened != ETX_OK) return etx_fail("verify", path, opened, &diag);
  etx_verify_report report;
  const etx_status status = etx_verify_program(file.program, &report, &diag);
  etx_pte_input_close(&file);
  if (json && !print_json(path, &report, &diag)) {
    return ETX_EXIT_MACHINE_FAILED;
  }
  if (status == ETX_OK) {
    if (!json) print_proof(path, &report);
    return ETX_EXIT_DONE;
  }
  const etx_exit code = etx_fail("verify", path, status, &diag);
  return status == ETX_BAD_PLAN ? ETX_EXIT_PROOF_FAILED : code;
}

int etx_cmd_verify(int argc, char** argv) {
  const char* path = NULL;
  bool json = false;
  const etx_positional positionals[] = {
      {"FILE", "the program, .pte or .bpte", &path, true}};
  const etx_option options[] = {
      {ETX_OPTION_FLAG, "json", 0, NULL, "print the verdict as JSON", &json}};
  const etx_usage usage = {"verify", about, positionals, 1,
                           options,  1,     examples,    NULL};
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  return (int)verify(path, json);
}
