// etx diff: makes the same call in two programs, from the same inputs and
// states, and finds the first instruction whose result differs.

#include <stdio.h>

#include "cli/base/exit_code.h"
#include "cli/base/kernels_option.h"
#include "cli/base/options.h"
#include "cli/bisect/program_diff.h"
#include "cli/commands/commands.h"
#include "cli/json/json_value.h"

static const char about[] =
    "Calls METHOD in two program files with the same inputs and finds the\n"
    "first instruction whose result differs. The programs may be one model\n"
    "planned with different options (--passes, --quantize, --target).\n\n"
    "With --case, the inputs are those of the first recorded call of METHOD,\n"
    "after the calls before it; without it they are generated. The results of\n"
    "instructions that both programs have (the same operator on the same type\n"
    "and sizes) are compared in order, and then the outputs of the method. "
    "For\n"
    "a program planned with --source-lines the source lines of the "
    "instruction\n"
    "are printed too. The exit code is 6 if something differs.\n";

static const char examples[] =
    "  etx diff model.pte small.pte decode --case recorded\n"
    "  etx diff a.pte b.pte forward --atol 1e-4\n";

typedef struct diff_options {
  const char* files[2];
  const char* method;
  const char* case_directory;
  etx_option_list kernels;
  double relative;
  double absolute;
  bool json;
} diff_options;

static etx_exit compare(const diff_options* options, etx_diff_side* sides,
                        etx_tolerance tolerance, etx_pool* pool) {
  etx_diag diag;
  etx_diag_init(&diag);
  etx_diff_result found = {.prints_outputs = !options->json};
  const etx_status status =
      etx_program_diff_compare(sides, tolerance, pool, &found, &diag);
  if (status != ETX_OK) return etx_error_report("diff", NULL, status, &diag);
  if (!options->json) {
    etx_program_diff_print(sides, &found);
  } else if (!etx_json_print(etx_program_diff_json(sides, &found))) {
    return ETX_EXIT_MACHINE_FAILED;
  }
  return found.rows[0] == NULL && found.outputs == 0 ? ETX_EXIT_DONE
                                                     : ETX_EXIT_DIFFERENT;
}

static etx_exit call_both(const diff_options* options, etx_diff_side* sides,
                          etx_pool* pool) {
  etx_diag diag;
  etx_diag_init(&diag);
  etx_case_file cases;
  etx_tolerance tolerance = {options->absolute, options->relative};
  const bool has_cases = options->case_directory != NULL;
  if (has_cases) {
    const etx_status status =
        etx_case_file_read(options->case_directory, pool, &cases, &diag);
    if (status != ETX_OK) {
      return etx_error_report("diff", options->case_directory, status, &diag);
    }
  }
  for (int i = 0; i < 2; ++i) {
    const etx_status status = etx_program_diff_call(
        &sides[i], options->method, has_cases ? &cases : NULL, pool, &diag);
    if (status != ETX_OK) {
      etx_error_report("diff", sides[i].path, status, &diag);
      return etx_exit_from_run_status(status);
    }
  }
  return compare(options, sides, tolerance, pool);
}

// Opens both programs, compares them, and closes what was opened.
static etx_exit open_and_compare(const diff_options* options,
                                 etx_diff_side* sides, etx_pool* pool) {
  etx_diag diag;
  size_t opened = 0;
  etx_exit code = ETX_EXIT_DONE;
  for (; opened < 2 && code == ETX_EXIT_DONE; ++opened) {
    etx_diff_side* const s = &sides[opened];
    const etx_run_session_options session_options = {
        .threads = 1,
        .kernel_paths = options->kernels.items,
        .kernel_count = options->kernels.count};
    etx_diag_init(&diag);
    s->path = options->files[opened];
    s->logs = true;
    const etx_status status =
        etx_run_session_open(&s->session, s->path, &session_options, &diag);
    if (status != ETX_OK) {
      code = etx_error_report("diff", s->path, status, &diag);
      break;
    }
    etx_tensor_log_init(&s->log, pool);
  }
  if (code == ETX_EXIT_DONE) code = call_both(options, sides, pool);
  for (size_t i = 0; i < opened; ++i) {
    etx_tensor_log_close(&sides[i].log);
    etx_run_session_close(&sides[i].session);
  }
  return code;
}

int etx_cmd_diff(int argc, char** argv) {
  diff_options options = {.method = NULL, .relative = 1e-5, .absolute = 1e-6};
  const etx_usage usage = {
      .command = "diff",
      .about = about,
      .examples = examples,
      .positionals = ETX_POSITIONALS(
          {"A", "a program, .pte", &options.files[0], true},
          {"B", "another program", &options.files[1], true},
          {"METHOD", "the method to call", &options.method, true}),
      .options = ETX_OPTIONS(
          ETX_TEXT("case", 0, "DIR",
                   "take the inputs and earlier calls of recorded calls",
                   &options.case_directory),
          ETX_KERNELS_OPTION(&options.kernels),
          ETX_REAL("rtol", 0, "X", "relative tolerance (default: 1e-5)",
                   &options.relative),
          ETX_REAL("atol", 0, "X", "absolute tolerance (default: 1e-6)",
                   &options.absolute),
          ETX_FLAG("json", 0, "print the differences as JSON", &options.json)),
  };
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  etx_diff_side sides[2] = {{.path = NULL}, {.path = NULL}};
  etx_pool pool;
  etx_pool_init(&pool);
  const etx_exit code = open_and_compare(&options, sides, &pool);
  etx_pool_close(&pool);
  return (int)code;
}
