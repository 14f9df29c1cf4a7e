// The same call of two programs, instruction by instruction: which is the first
// whose result differs. Both start from the same inputs and initial states.

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
    "Calls METHOD of two program files with the same inputs and says which\n"
    "instruction is the first whose result differs: between a program and the\n"
    "same one planned otherwise (--passes, --quantize, --target).\n\n"
    "With --case, inputs are those of the first recorded call of METHOD, and\n"
    "the calls before it are made first; without it they are made up. "
    "Compared\n"
    "are results of instructions that both programs have, in order: the same\n"
    "operator on the same type and sizes; and the outputs of the method. A\n"
    "program planned with --source-lines also says from which lines the\n"
    "instruction comes. Exit code 6 if something differs.\n";

static const char examples[] =
    "  etx diff model.pte small.pte decode --case recorded\n"
    "  etx diff a.pte b.pte forward --atol 1e-4\n";

typedef struct words {
  const char* files[2];
  const char* method;
  const char* case_directory;
  double relative;
  double absolute;
  bool json;
} words;

// One of the two programs.
typedef struct side {
  const char* path;
  etx_run_session session;
  etx_bench_run run;
  etx_tensor_log log;
} side;

// What was found.
typedef struct found {
  size_t compared;
  const etx_logged_tensor* rows[2];  // the first that differ, or NULL
  char why[ETX_TENSOR_COMPARE_TEXT_BYTES];
  size_t outputs;  // that differ
} found;

static etx_status call(side* s, const words* in, const etx_case_file* cases,
                       etx_pool* pool, etx_diag* diag) {
  const etx_bench_options wishes = {.cases = cases, .restores = true};
  double seconds = 0;
  ETX_TRY(etx_bench_run_start(&s->run, &s->session, in->method, &wishes, pool,
                              diag));
  etx_method_observe(s->run.method, &s->log.observer);
  const etx_status status = etx_bench_run_call(&s->run, &seconds);
  etx_method_observe(s->run.method, NULL);
  if (status != ETX_OK) return status;
  if (s->log.status == ETX_OK) return ETX_OK;
  return etx_diag_fail(diag, s->log.status, "no memory for all results");
}

static etx_status compare_instructions(const side* sides,
                                       etx_tolerance tolerance, etx_pool* pool,
                                       found* out, etx_diag* diag) {
  const etx_tensor_log* const a = &sides[0].log;
  const etx_tensor_log* const b = &sides[1].log;
  const size_t room = a->count < b->count ? a->count : b->count;
  size_t* const pairs = etx_pool_take(pool, (2 * room + 1) * sizeof *pairs);
  if (pairs == NULL ||
      etx_tensor_log_match(a, b, pairs, &out->compared) != ETX_OK) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "no memory to match %z results with %z", a->count,
                         b->count);
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

static etx_status compare_output(const side* sides, size_t index,
                                 etx_tolerance tolerance, etx_pool* pool,
                                 bool* out_same, char* out_why,
                                 etx_diag* diag) {
  const etx_value* values[2];
  etx_host_tensor tensors[2];
  for (int i = 0; i < 2; ++i) {
    ETX_TRY(etx_method_output(sides[i].run.method, index, &values[i]));
  }
  *out_same = true;
  if (values[0]->kind != ETX_VALUE_TENSOR ||
      values[1]->kind != ETX_VALUE_TENSOR) {
    return ETX_OK;
  }
  for (int i = 0; i < 2; ++i) {
    ETX_TRY(
        etx_host_tensor_copy(&values[i]->as.tensor, pool, &tensors[i], diag));
  }
  *out_same = etx_tensor_compare(&tensors[0], &tensors[1], tolerance, out_why);
  return ETX_OK;
}

static etx_status compare_outputs(const side* sides, const words* in,
                                  etx_tolerance tolerance, etx_pool* pool,
                                  found* out, etx_diag* diag) {
  const size_t count = sides[0].run.method->output_count;
  if (sides[1].run.method->output_count != count) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "method '%s' has %z outputs in one program, %z in the "
                         "other",
                         in->method, count, sides[1].run.method->output_count);
  }
  for (size_t i = 0; i < count; ++i) {
    bool is_same = true;
    char why[ETX_TENSOR_COMPARE_TEXT_BYTES];
    ETX_TRY(compare_output(sides, i, tolerance, pool, &is_same, why, diag));
    if (is_same) continue;
    ++out->outputs;
    if (!in->json) printf("output %zu: %s\n", i, why);
  }
  return ETX_OK;
}

// Of which lines the differing instruction was made, where a program says so.
static void print_lines(const side* sides, const char* method, const found* f) {
  for (int i = 0; i < 2; ++i) {
    char text[ETX_INSTRUCTION_SOURCE_TEXT_BYTES];
    etx_instruction_source notes;
    etx_instruction_source_open(&notes, &sides[i].session.module.program.pte,
                                "diff", sides[i].path);
    if (etx_instruction_source_text(&notes, etx_text_of(method),
                                    f->rows[i]->instruction, text)) {
      printf("  in %s from %s\n", sides[i].path, text);
    }
  }
}

static json_t* lines_json(const side* s, const char* method,
                          const etx_logged_tensor* row) {
  etx_instruction_source notes;
  etx_instruction_source_open(&notes, &s->session.module.program.pte, "diff",
                              s->path);
  return etx_instruction_source_json(&notes, etx_text_of(method),
                                     row->instruction);
}

static void print_text(const side* sides, const char* method, const found* f) {
  if (f->rows[0] != NULL) {
    const etx_logged_tensor* const row = f->rows[0];
    printf("first difference: %s%s%s, instruction %zu of %s, %zu of %s: ",
           row->op->name, row->op->overload[0] == '\0' ? "" : ".",
           row->op->overload, row->instruction, sides[0].path,
           f->rows[1]->instruction, sides[1].path);
    etx_host_tensor_print_type(row->tensor.dtype, row->tensor.rank,
                               row->tensor.sizes, stdout);
    printf(": %s\n", f->why);
    print_lines(sides, method, f);
  }
  printf("%zu result%s compared, of %zu and %zu; %zu output%s %s\n",
         f->compared, etx_plural(f->compared), sides[0].log.count,
         sides[1].log.count, f->outputs, etx_plural(f->outputs),
         f->outputs == 1 ? "differs" : "differ");
}

static bool print_json(const side* sides, const char* method, const found* f) {
  json_t* const root = json_object();
  json_object_set_new(root, "compared", etx_json_unsigned(f->compared));
  json_object_set_new(root, "results_a", etx_json_unsigned(sides[0].log.count));
  json_object_set_new(root, "results_b", etx_json_unsigned(sides[1].log.count));
  json_object_set_new(root, "outputs_that_differ",
                      etx_json_unsigned(f->outputs));
  json_t* first = json_null();
  if (f->rows[0] != NULL) {
    first = json_object();
    json_object_set_new(first, "operator", json_string(f->rows[0]->op->name));
    json_object_set_new(first, "overload",
                        json_string(f->rows[0]->op->overload));
    json_object_set_new(first, "instruction_a",
                        etx_json_unsigned(f->rows[0]->instruction));
    json_object_set_new(first, "instruction_b",
                        etx_json_unsigned(f->rows[1]->instruction));
    json_object_set_new(first, "why", etx_json_text(etx_text_of(f->why)));
    json_object_set_new(first, "lines_a",
                        lines_json(&sides[0], method, f->rows[0]));
    json_object_set_new(first, "lines_b",
                        lines_json(&sides[1], method, f->rows[1]));
  }
  json_object_set_new(root, "first_difference", first);
  return etx_json_print(root);
}

static etx_exit compare(const words* in, side* sides, etx_tolerance tolerance,
                        etx_pool* pool) {
  etx_diag diag;
  etx_diag_init(&diag);
  found f = {.rows = {NULL, NULL}};
  etx_status status = compare_instructions(sides, tolerance, pool, &f, &diag);
  if (status == ETX_OK) {
    status = compare_outputs(sides, in, tolerance, pool, &f, &diag);
  }
  if (status != ETX_OK) return etx_error_report("diff", NULL, status, &diag);
  if (!in->json) {
    print_text(sides, in->method, &f);
  } else if (!print_json(sides, in->method, &f)) {
    return ETX_EXIT_MACHINE_FAILED;
  }
  return f.rows[0] == NULL && f.outputs == 0 ? ETX_EXIT_DONE
                                             : ETX_EXIT_DIFFERENT;
}

static etx_exit call_both(const words* in, side* sides, etx_pool* pool) {
  etx_diag diag;
  etx_diag_init(&diag);
  etx_case_file cases;
  etx_tolerance tolerance = {in->absolute, in->relative};
  const bool has_cases = in->case_directory != NULL;
  if (has_cases) {
    const etx_status status =
        etx_case_file_read(in->case_directory, pool, &cases, &diag);
    if (status != ETX_OK) {
      return etx_error_report("diff", in->case_directory, status, &diag);
    }
  }
  for (int i = 0; i < 2; ++i) {
    const etx_status status =
        call(&sides[i], in, has_cases ? &cases : NULL, pool, &diag);
    if (status != ETX_OK) {
      etx_error_report("diff", sides[i].path, status, &diag);
      return etx_exit_from_run_status(status);
    }
  }
  return compare(in, sides, tolerance, pool);
}

// Opens the side that is at hand, then the next; both are closed here.
static etx_exit open_both(const words* in, side* sides, etx_pool* pool) {
  etx_diag diag;
  size_t opened = 0;
  etx_exit code = ETX_EXIT_DONE;
  for (; opened < 2 && code == ETX_EXIT_DONE; ++opened) {
    side* const s = &sides[opened];
    const etx_run_session_options options = {NULL, 0, 1};
    etx_diag_init(&diag);
    s->path = in->files[opened];
    const etx_status status =
        etx_run_session_open(&s->session, s->path, &options, &diag);
    if (status != ETX_OK) {
      code = etx_error_report("diff", s->path, status, &diag);
      break;
    }
    etx_tensor_log_init(&s->log, pool);
  }
  if (code == ETX_EXIT_DONE) code = call_both(in, sides, pool);
  for (size_t i = 0; i < opened; ++i) {
    etx_tensor_log_close(&sides[i].log);
    etx_run_session_close(&sides[i].session);
  }
  return code;
}

int etx_cmd_diff(int argc, char** argv) {
  words in = {.method = NULL, .relative = 1e-5, .absolute = 1e-6};
  const etx_positional positionals[] = {
      {"A", "a program, .pte", &in.files[0], true},
      {"B", "another", &in.files[1], true},
      {"METHOD", "the method to call", &in.method, true},
  };
  const etx_option options[] = {
      {ETX_OPTION_TEXT, "case", 0, "DIR",
       "inputs, and calls before, of recorded ones", &in.case_directory},
      {ETX_OPTION_REAL, "rtol", 0, "X", "relative tolerance, 1e-5 if not given",
       &in.relative},
      {ETX_OPTION_REAL, "atol", 0, "X", "absolute tolerance, 1e-6 if not given",
       &in.absolute},
      {ETX_OPTION_FLAG, "json", 0, NULL, "print facts as JSON", &in.json},
  };
  const etx_usage usage = {"diff",   about,   positionals,
                           3,        options, sizeof options / sizeof *options,
                           examples, NULL};
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  if (in.files[1] == NULL || in.method == NULL) {
    return (int)etx_usage_error_report("diff",
                                       "%s is missing; see 'etx diff --help'",
                                       in.files[1] == NULL ? "B" : "METHOD");
  }
  side sides[2] = {{.path = NULL}, {.path = NULL}};
  etx_pool pool;
  etx_pool_init(&pool);
  const etx_exit code = open_both(&in, sides, &pool);
  etx_pool_close(&pool);
  return (int)code;
}
