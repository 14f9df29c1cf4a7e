// etx diff: makes the same call in two programs, from the same inputs and
// states, and finds the first instruction whose result differs.

#include <stdio.h>

#include "cli/bench/bench_run.h"
#include "cli/commands/commands.h"
#include "cli/tensors/tensor_compare.h"
#include "cli/base/exit_code.h"
#include "cli/json/json_value.h"
#include "cli/base/options.h"
#include "cli/base/plural.h"
#include "cli/program/instruction_source.h"
#include "cli/run/tensor_log.h"

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
  double relative;
  double absolute;
  bool json;
} diff_options;

// One of the two programs.
typedef struct diff_side {
  const char* path;
  etx_run_session session;
  etx_bench_run run;
  etx_tensor_log log;
} diff_side;

typedef struct diff_result {
  size_t compared;                   // instructions whose results were compared
  const etx_logged_tensor* rows[2];  // the first pair that differs, or NULL
  char why[ETX_TENSOR_COMPARE_TEXT_BYTES];  // of that pair
  size_t outputs;                           // outputs that differ
} diff_result;

static etx_status call(diff_side* s, const diff_options* options,
                       const etx_case_file* cases, etx_pool* pool,
                       etx_diag* diag) {
  const etx_bench_options settings = {.cases = cases, .restores = true};
  double seconds = 0;
  ETX_TRY(etx_bench_run_start(&s->run, &s->session, options->method, &settings,
                              pool, diag));
  etx_method_observe(s->run.method, &s->log.observer);
  const etx_status status = etx_bench_run_call(&s->run, &seconds);
  etx_method_observe(s->run.method, NULL);
  if (status != ETX_OK) return status;
  if (s->log.status == ETX_OK) return ETX_OK;
  return etx_diag_fail(diag, s->log.status,
                       "not enough memory for a copy of every result");
}

static etx_status compare_instructions(const diff_side* sides,
                                       etx_tolerance tolerance, etx_pool* pool,
                                       diff_result* out, etx_diag* diag) {
  const etx_tensor_log* const a = &sides[0].log;
  const etx_tensor_log* const b = &sides[1].log;
  const size_t room = a->count < b->count ? a->count : b->count;
  size_t* const pairs = etx_pool_take(pool, (2 * room + 1) * sizeof *pairs);
  if (pairs == NULL ||
      etx_tensor_log_match(a, b, pairs, &out->compared) != ETX_OK) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory to match %z results with %z",
                         a->count, b->count);
  }
  for (size_t i = 0; i < out->compared; ++i) {
    const etx_logged_tensor* const left = &a->rows[pairs[2 * i]];
    const etx_logged_tensor* const right = &b->rows[pairs[2 * i + 1]];
    if (etx_tensor_compare(&left->tensor, &right->tensor, tolerance,
                           out->why)) {
      continue;
    }
    out->rows[0] = left;
    out->rows[1] = right;
    return ETX_OK;
  }
  return ETX_OK;
}

// Copies one output of both programs. `out_are_tensors` is false, and nothing
// is copied, if one of them is not a tensor.
static etx_status copy_output(const diff_side* sides, size_t index,
                              etx_pool* pool, etx_host_tensor out_tensors[2],
                              bool* out_are_tensors, etx_diag* diag) {
  const etx_value* values[2];
  for (int i = 0; i < 2; ++i) {
    ETX_TRY(etx_method_output(sides[i].run.method, index, &values[i]));
  }
  *out_are_tensors = values[0]->kind == ETX_VALUE_TENSOR &&
                     values[1]->kind == ETX_VALUE_TENSOR;
  for (int i = 0; i < 2 && *out_are_tensors; ++i) {
    ETX_TRY(etx_host_tensor_copy(&values[i]->as.tensor, pool, &out_tensors[i],
                                 diag));
  }
  return ETX_OK;
}

static etx_status compare_outputs(const diff_side* sides,
                                  const diff_options* options,
                                  etx_tolerance tolerance, etx_pool* pool,
                                  diff_result* out, etx_diag* diag) {
  const size_t count = sides[0].run.method->output_count;
  if (sides[1].run.method->output_count != count) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "method '%s' has %z outputs in one program, %z in the "
                         "other",
                         options->method, count,
                         sides[1].run.method->output_count);
  }
  for (size_t i = 0; i < count; ++i) {
    etx_host_tensor tensors[2];
    bool are_tensors = false;
    char why[ETX_TENSOR_COMPARE_TEXT_BYTES];
    ETX_TRY(copy_output(sides, i, pool, tensors, &are_tensors, diag));
    if (!are_tensors ||
        etx_tensor_compare(&tensors[0], &tensors[1], tolerance, why)) {
      continue;
    }
    ++out->outputs;
    if (!options->json) printf("output %zu: %s\n", i, why);
  }
  return ETX_OK;
}

// Prints the source lines of the differing instruction for each program that
// stores them.
static void print_lines(const diff_side* sides, const char* method,
                        const diff_result* found) {
  for (int i = 0; i < 2; ++i) {
    char text[ETX_INSTRUCTION_SOURCE_TEXT_BYTES];
    etx_instruction_source source;
    etx_instruction_source_open(&source, &sides[i].session.module.program.pte,
                                "diff", sides[i].path);
    if (etx_instruction_source_text(&source, etx_text_of(method),
                                    found->rows[i]->instruction, text)) {
      printf("  in %s from %s\n", sides[i].path, text);
    }
  }
}

static json_t* lines_json(const diff_side* s, const char* method,
                          const etx_logged_tensor* row) {
  etx_instruction_source source;
  etx_instruction_source_open(&source, &s->session.module.program.pte, "diff",
                              s->path);
  return etx_instruction_source_json(&source, etx_text_of(method),
                                     row->instruction);
}

static void print_text(const diff_side* sides, const char* method,
                       const diff_result* found) {
  if (found->rows[0] != NULL) {
    const etx_logged_tensor* const row = found->rows[0];
    printf("first difference: %s%s%s, instruction %zu of %s, %zu of %s: ",
           row->op->name, row->op->overload[0] == '\0' ? "" : ".",
           row->op->overload, row->instruction, sides[0].path,
           found->rows[1]->instruction, sides[1].path);
    etx_host_tensor_print_type(row->tensor.dtype, row->tensor.rank,
                               row->tensor.sizes, stdout);
    printf(": %s\n", found->why);
    print_lines(sides, method, found);
  }
  printf("%zu result%s compared, of %zu and %zu; %zu output%s %s\n",
         found->compared, etx_plural(found->compared), sides[0].log.count,
         sides[1].log.count, found->outputs, etx_plural(found->outputs),
         found->outputs == 1 ? "differs" : "differ");
}

static bool print_json(const diff_side* sides, const char* method,
                       const diff_result* found) {
  json_t* const root = json_object();
  json_object_set_new(root, "compared", etx_json_unsigned(found->compared));
  json_object_set_new(root, "results_a", etx_json_unsigned(sides[0].log.count));
  json_object_set_new(root, "results_b", etx_json_unsigned(sides[1].log.count));
  json_object_set_new(root, "outputs_that_differ",
                      etx_json_unsigned(found->outputs));
  json_t* first = json_null();
  if (found->rows[0] != NULL) {
    first = json_object();
    json_object_set_new(first, "operator",
                        json_string(found->rows[0]->op->name));
    json_object_set_new(first, "overload",
                        json_string(found->rows[0]->op->overload));
    json_object_set_new(first, "instruction_a",
                        etx_json_unsigned(found->rows[0]->instruction));
    json_object_set_new(first, "instruction_b",
                        etx_json_unsigned(found->rows[1]->instruction));
    json_object_set_new(first, "why", etx_json_text(etx_text_of(found->why)));
    json_object_set_new(first, "lines_a",
                        lines_json(&sides[0], method, found->rows[0]));
    json_object_set_new(first, "lines_b",
                        lines_json(&sides[1], method, found->rows[1]));
  }
  json_object_set_new(root, "first_difference", first);
  return etx_json_print(root);
}

static etx_exit compare(const diff_options* options, diff_side* sides,
                        etx_tolerance tolerance, etx_pool* pool) {
  etx_diag diag;
  etx_diag_init(&diag);
  diff_result found = {.rows = {NULL, NULL}};
  etx_status status =
      compare_instructions(sides, tolerance, pool, &found, &diag);
  if (status == ETX_OK) {
    status = compare_outputs(sides, options, tolerance, pool, &found, &diag);
  }
  if (status != ETX_OK) return etx_error_report("diff", NULL, status, &diag);
  if (!options->json) {
    print_text(sides, options->method, &found);
  } else if (!print_json(sides, options->method, &found)) {
    return ETX_EXIT_MACHINE_FAILED;
  }
  return found.rows[0] == NULL && found.outputs == 0 ? ETX_EXIT_DONE
                                                     : ETX_EXIT_DIFFERENT;
}

static etx_exit call_both(const diff_options* options, diff_side* sides,
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
    const etx_status status =
        call(&sides[i], options, has_cases ? &cases : NULL, pool, &diag);
    if (status != ETX_OK) {
      etx_error_report("diff", sides[i].path, status, &diag);
      return etx_exit_from_run_status(status);
    }
  }
  return compare(options, sides, tolerance, pool);
}

// Opens both programs, compares them, and closes what was opened.
static etx_exit open_and_compare(const diff_options* options, diff_side* sides,
                                 etx_pool* pool) {
  etx_diag diag;
  size_t opened = 0;
  etx_exit code = ETX_EXIT_DONE;
  for (; opened < 2 && code == ETX_EXIT_DONE; ++opened) {
    diff_side* const s = &sides[opened];
    const etx_run_session_options session_options = {.threads = 1};
    etx_diag_init(&diag);
    s->path = options->files[opened];
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
          ETX_REAL("rtol", 0, "X", "relative tolerance (default: 1e-5)",
                   &options.relative),
          ETX_REAL("atol", 0, "X", "absolute tolerance (default: 1e-6)",
                   &options.absolute),
          ETX_FLAG("json", 0, "print the differences as JSON", &options.json)),
  };
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  diff_side sides[2] = {{.path = NULL}, {.path = NULL}};
  etx_pool pool;
  etx_pool_init(&pool);
  const etx_exit code = open_and_compare(&options, sides, &pool);
  etx_pool_close(&pool);
  return (int)code;
}
