// Measures the methods of a program, or two programs in turns; or counts what a
// program costs without running it.

#include <stdio.h>
#include <string.h>

#include "cli/base/monotonic_clock.h"
#include "cli/bench/bench_static.h"
#include "cli/machine/process_memory.h"
#include "cli/bench/bench_compare.h"
#include "cli/bench/bench_method.h"
#include "cli/bench/bench_report.h"
#include "cli/commands/commands.h"
#include "cli/base/exit_code.h"
#include "format/pte/reserved_names.h"

typedef struct words {
  const char* file;
  const char* other;
  const char* method;
  const char* case_directory;
  etx_option_list inputs;
  etx_option_list dims;
  etx_option_list data;
  uint64_t threads;
  double seconds;
  bool restores;
  bool is_static;
  bool compares;
  bool json;
} words;

static const char about[] =
    "Measures every method of a program (or --method): what loading and the\n"
    "first call take, the median of many calls, the time by operator with "
    "bytes\n"
    "and multiply-adds beside what this machine can do at most, and memory.\n\n"
    "Inputs are made: floats between -1 and 1, integers 0 (or 1 if 0 is "
    "refused),\n"
    "dimensions that vary as large as they may be. --in, --dim and --case "
    "give\n"
    "others. State starts with its initial values, or with what the recorded\n"
    "calls before the method leave.\n\n"
    "With --compare: the methods that FILE and OTHER have in common, in "
    "turns,\n"
    "as the ratio of OTHER's time to FILE's in each round. A method whose "
    "inputs\n"
    "differ in type or sizes is refused.\n"
    "With --static: bytes and multiply-adds at the largest sizes, nothing "
    "runs;\n"
    "without --in, --dim and --case.\n";

static const char examples[] =
    "  etx bench model.pte\n"
    "  etx bench model.pte --method decode --threads 2 --json\n"
    "  etx bench model.pte --method encode --dim 'ids[1]=32'\n"
    "  etx bench model.pte --case tests/data/pt2/kv\n"
    "  etx bench model.pte --static\n"
    "  etx bench --compare before.pte after.pte\n";

// Everything that a run of the command opens.
typedef struct bench {
  const words* in;
  etx_pool pool;
  etx_case_file cases;
  etx_bench_options wishes;
  etx_diag diag;
} bench;

static etx_status open_session(bench* b, const char* path,
                               etx_run_session* session) {
  const etx_run_session_options options = {b->in->data.items, b->in->data.count,
                                           (size_t)b->in->threads};
  return etx_run_session_open(session, path, &options, &b->diag);
}

// What was asked of a method's inputs is refused before anything runs.
static etx_exit check_wishes(bench* b, const char* path,
                             const etx_run_session* session) {
  const words* in = b->in;
  if (in->inputs.count + in->dims.count == 0) return ETX_EXIT_DONE;
  etx_synthetic_input_options inputs = b->wishes.inputs;
  for (size_t i = b->cases.call_count; i-- > 0;) {
    const etx_case_call* call = &b->cases.calls[i];
    if (!call->is_reset && strcmp(call->method, in->method) == 0) {
      inputs.call = call;
    }
  }
  const etx_status status = etx_synthetic_input_options_check(
      &session->module.program, etx_text_of(in->method), &inputs, &b->pool,
      &b->diag);
  return status == ETX_OK ? ETX_EXIT_DONE
                          : etx_error_report("bench", path, status, &b->diag);
}

// The names of the methods that are wanted: one, or all that compute.
static etx_status find_methods(bench* b, const etx_program* program,
                               const char*** out_names, size_t* out_count) {
  const size_t all = etx_program_method_count(program);
  const char** names = etx_pool_take(&b->pool, (all + 1) * sizeof *names);
  if (names == NULL) return ETX_OUT_OF_MEMORY;
  *out_names = names;
  *out_count = 0;
  if (b->in->method != NULL) {
    names[(*out_count)++] = b->in->method;
    return ETX_OK;
  }
  for (size_t i = 0; i < all; ++i) {
    etx_method_info info;
    ETX_TRY(etx_program_method_at(program, i, &info));
    if (info.is_constant || etx_text_is(info.name, ETX_METHOD_INIT)) continue;
    const etx_text copy = etx_pool_copy_text(&b->pool, info.name);
    if (copy.data == NULL) return ETX_OUT_OF_MEMORY;
    names[(*out_count)++] = copy.data;
  }
  return ETX_OK;
}

// ---- one program ----

static etx_status measure(bench* b, etx_run_session* session, const char* name,
                          etx_bench_result* out_result) {
  if (b->in->is_static) {
    return etx_bench_static(&session->module.program, name, &b->pool,
                            out_result, &b->diag);
  }
  return etx_bench_method(session, name, &b->wishes, &b->pool, out_result,
                          &b->diag);
}

static etx_exit show(bench* b, const etx_bench_program* program) {
  if (!b->in->json) {
    etx_bench_print(program);
    return ETX_EXIT_DONE;
  }
  return etx_json_print(etx_bench_json(program)) ? ETX_EXIT_DONE
                                                 : ETX_EXIT_MACHINE_FAILED;
}

// After everything else: reading takes memory of its own.
static void measure_limits(const etx_run_session* session,
                           etx_bench_result* results, size_t count) {
  const etx_parallel* parallel = &session->pool.parallel;
  const double rate = etx_machine_limits_multiply_rate_f32(parallel);
  const double byte_rate = etx_machine_limits_multiply_rate_int8(parallel);
  for (size_t i = 0; i < count; ++i) {
    const etx_memory_needed* memory = &results[i].memory;
    const uint64_t bytes = results[i].cost.constant_bytes +
                           memory->scratch_bytes + memory->state_bytes;
    results[i].limits.multiply_adds = rate;
    results[i].limits.byte_multiply_adds = byte_rate;
    results[i].limits.read_bytes =
        etx_machine_limits_read_rate(parallel, bytes);
  }
}

// A method that cannot be measured does not keep the others from it.
static etx_exit measure_all(bench* b, etx_run_session* session,
                            etx_bench_program* program) {
  const char** names = NULL;
  size_t count = 0;
  etx_exit code = ETX_EXIT_DONE;
  const etx_status found =
      find_methods(b, &session->module.program, &names, &count);
  etx_bench_result* results =
      etx_pool_take(&b->pool, (count + 1) * sizeof *results);
  if (found != ETX_OK || results == NULL) {
    return etx_error_report("bench", b->in->file, ETX_OUT_OF_MEMORY, NULL);
  }
  for (size_t i = 0; i < count; ++i) {
    etx_diag_init(&b->diag);
    const etx_status status =
        measure(b, session, names[i], &results[program->method_count]);
    if (status == ETX_OK) {
      ++program->method_count;
      continue;
    }
    fprintf(stderr, "etx bench: method %s was not measured\n", names[i]);
    etx_error_report("bench", b->in->file, status, &b->diag);
    if (code == ETX_EXIT_DONE) code = etx_exit_from_run_status(status);
  }
  program->methods = results;
  if (!b->in->is_static) {
    program->memory = etx_process_memory_read();
    measure_limits(session, results, program->method_count);
  }
  const etx_exit shown = show(b, program);
  return code == ETX_EXIT_DONE ? shown : code;
}

static etx_exit bench_file(bench* b) {
  etx_run_session session;
  const double start = etx_monotonic_clock_seconds();
  const etx_status status = open_session(b, b->in->file, &session);
  if (status != ETX_OK)
    return etx_error_report("bench", b->in->file, status, &b->diag);
  etx_bench_program program = {
      .path = b->in->file,
      .file_bytes = session.file.program.size,
      .state_bytes = session.shared.memory.planned.size,
      .open_seconds = etx_monotonic_clock_seconds() - start,
      .threads = (size_t)b->in->threads,
      .is_static = b->in->is_static};
  etx_exit code = check_wishes(b, b->in->file, &session);
  if (code == ETX_EXIT_DONE) code = measure_all(b, &session, &program);
  etx_run_session_close(&session);
  return code;
}

// ---- two programs ----

static void print_pair(const etx_bench_pair* pair) {
  char text[4][ETX_BENCH_TEXT];
  etx_bench_format_seconds(pair->times[0].median, text[0]);
  etx_bench_format_seconds(pair->times[0].least, text[1]);
  etx_bench_format_seconds(pair->times[1].median, text[2]);
  etx_bench_format_seconds(pair->times[1].least, text[3]);
  printf(
      "%s: ratio %.3f (quartiles %.3f to %.3f, %zu rounds); %s (least %s) "
      "and %s (least %s)\n",
      pair->name, pair->ratios.median, pair->lower, pair->upper,
      pair->ratios.calls, text[0], text[1], text[2], text[3]);
}

static json_t* json_of_pair(const etx_bench_pair* pair) {
  json_t* const row = json_object();
  json_object_set_new(row, "method", etx_json_text(etx_text_of(pair->name)));
  json_object_set_new(row, "rounds", etx_json_unsigned(pair->ratios.calls));
  json_object_set_new(row, "ratio", json_real(pair->ratios.median));
  json_object_set_new(row, "lower_quartile", json_real(pair->lower));
  json_object_set_new(row, "upper_quartile", json_real(pair->upper));
  for (size_t i = 0; i < 2; ++i) {
    json_t* const times = json_object();
    json_object_set_new(times, "calls", etx_json_unsigned(pair->calls[i]));
    json_object_set_new(times, "median", json_real(pair->times[i].median));
    json_object_set_new(times, "least", json_real(pair->times[i].least));
    json_object_set_new(row, i == 0 ? "file" : "other", times);
  }
  return row;
}

static bool has_method(const etx_program* program, const char* name) {
  etx_pte_plan plan;
  return etx_program_find_plan(program, etx_text_of(name), &plan, NULL) ==
         ETX_OK;
}

// A method that cannot be compared does not keep the others from it.
static etx_exit compare_sessions(bench* b, etx_run_session* sessions[2]) {
  const char** names = NULL;
  size_t count = 0, common = 0;
  etx_exit code = ETX_EXIT_DONE;
  if (find_methods(b, &sessions[0]->module.program, &names, &count) != ETX_OK) {
    return etx_error_report("bench", b->in->file, ETX_OUT_OF_MEMORY, NULL);
  }
  json_t* const list = b->in->json ? json_array() : NULL;
  for (size_t i = 0; i < count; ++i) {
    etx_bench_pair pair;
    if (b->in->method == NULL &&
        !has_method(&sessions[1]->module.program, names[i])) {
      continue;
    }
    ++common;
    etx_diag_init(&b->diag);
    const etx_status status = etx_bench_compare(sessions, names[i], &b->wishes,
                                                &b->pool, &pair, &b->diag);
    if (status != ETX_OK) {
      fprintf(stderr, "etx bench: method %s was not compared\n", names[i]);
      etx_error_report("bench", NULL, status, &b->diag);
      if (code == ETX_EXIT_DONE) code = etx_exit_from_run_status(status);
    } else if (list == NULL) {
      print_pair(&pair);
    } else {
      json_array_append_new(list, json_of_pair(&pair));
    }
  }
  if (list != NULL && !etx_json_print(list)) return ETX_EXIT_MACHINE_FAILED;
  if (common == 0) {
    return etx_usage_error_report("bench",
                                  "the two programs have no method in common");
  }
  return code;
}

static etx_exit compare_files(bench* b) {
  etx_run_session first, second;
  etx_run_session* both[2] = {&first, &second};
  etx_status status = open_session(b, b->in->file, &first);
  if (status != ETX_OK)
    return etx_error_report("bench", b->in->file, status, &b->diag);
  status = open_session(b, b->in->other, &second);
  if (status != ETX_OK) {
    etx_run_session_close(&first);
    return etx_error_report("bench", b->in->other, status, &b->diag);
  }
  etx_exit code = check_wishes(b, b->in->file, &first);
  if (code == ETX_EXIT_DONE) code = check_wishes(b, b->in->other, &second);
  if (code == ETX_EXIT_DONE) code = compare_sessions(b, both);
  etx_run_session_close(&second);
  etx_run_session_close(&first);
  return code;
}

static etx_exit run(bench* b) {
  const words* in = b->in;
  if (in->compares != (in->other != NULL)) {
    return etx_usage_error_report(
        "bench", "--compare takes two programs, FILE and OTHER");
  }
  if (in->compares && in->is_static) {
    return etx_usage_error_report("bench", "--static compares nothing");
  }
  if (in->is_static &&
      (in->inputs.count + in->dims.count != 0 || in->case_directory != NULL)) {
    return etx_usage_error_report(
        "bench",
        "--static counts at the largest sizes and takes no --in, "
        "--dim or --case; without it they are heeded");
  }
  if (in->method == NULL && in->inputs.count + in->dims.count != 0) {
    return etx_usage_error_report(
        "bench", "--in and --dim belong to one method: give --method");
  }
  if (in->case_directory != NULL) {
    const etx_status status =
        etx_case_file_read(in->case_directory, &b->pool, &b->cases, &b->diag);
    if (status != ETX_OK) {
      return etx_error_report("bench", in->case_directory, status, &b->diag);
    }
    b->wishes.cases = &b->cases;
  }
  return in->compares ? compare_files(b) : bench_file(b);
}

int etx_cmd_bench(int argc, char** argv) {
  static words in;
  in = (words){.threads = 1, .seconds = 1};
  const etx_positional positionals[] = {
      {"FILE", "the program, .pte or .bpte", &in.file, true},
      {"OTHER", "another program, for --compare", &in.other, false},
  };
  const etx_option options[] = {
      {ETX_OPTION_TEXT, "method", 'm', "NAME", "measure this method only",
       &in.method},
      {ETX_OPTION_COUNT, "threads", 't', "N",
       "threads for large operators, 1 if not given", &in.threads},
      {ETX_OPTION_REAL, "seconds", 0, "X",
       "how long the calls of a method may take, 1 if not given", &in.seconds},
      {ETX_OPTION_LIST, "in", 'i', "NAME=VALUE",
       "value of an input, as for etx run", &in.inputs},
      {ETX_OPTION_LIST, "dim", 0, "DIM=SIZE",
       "a dimension that varies, as a symbol or as INPUT[1]", &in.dims},
      {ETX_OPTION_TEXT, "case", 0, "DIR",
       "inputs and state of recorded calls: the first of each method",
       &in.case_directory},
      {ETX_OPTION_LIST, "data", 'd', "FILE",
       "a file (.ptd) with data of the program", &in.data},
      {ETX_OPTION_FLAG, "restore", 0, NULL,
       "bring inputs and state back before every call, as it is done anyway "
       "where a method refuses what its calls leave",
       &in.restores},
      {ETX_OPTION_FLAG, "static", 0, NULL, "count only, run nothing",
       &in.is_static},
      {ETX_OPTION_FLAG, "compare", 0, NULL, "measure two programs in turns",
       &in.compares},
      {ETX_OPTION_FLAG, "json", 0, NULL, "print facts as JSON", &in.json},
  };
  const etx_usage usage = {"bench",  about,   positionals,
                           2,        options, sizeof options / sizeof *options,
                           examples, NULL};
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  bench b = {.in = &in};
  b.wishes = (etx_bench_options){
      {&in.inputs, &in.dims, NULL, 0}, NULL, in.seconds, in.restores};
  etx_diag_init(&b.diag);
  etx_pool_init(&b.pool);
  const etx_exit code = run(&b);
  etx_pool_close(&b.pool);
  return (int)code;
}
