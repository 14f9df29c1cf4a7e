// etx bench: measures the methods of a program, compares two programs, or
// counts bytes and multiply-adds without running anything.

#include <stdio.h>
#include <string.h>

#include "cli/base/monotonic_clock.h"
#include "cli/bench/bench_static.h"
#include "cli/machine/process_memory.h"
#include "cli/bench/bench_compare.h"
#include "cli/bench/bench_method.h"
#include "cli/bench/bench_report.h"
#include "cli/bench/recorded_sizes.h"
#include "cli/commands/commands.h"
#include "cli/base/exit_code.h"
#include "cli/base/memory_options.h"
#include "cli/base/kernels_option.h"
#include "cli/base/output_file.h"
#include "format/pte/reserved_names.h"

typedef struct bench_options {
  const char* file;
  const char* second;  // METHOD or OTHER, as on the command line
  const char* other;   // the second program of --compare
  const char* method;
  const char* case_directory;
  etx_option_list inputs;
  etx_option_list dims;
  etx_option_list data;
  etx_option_list kernels;
  uint64_t threads;
  bool uses_regions;
  bool keeps_plan;
  uint64_t resident_bytes;
  bool in_memory, prefault, mlock;
  double seconds;
  bool restores;
  bool is_static;
  bool compares;
  bool emits_specialize;
  const char* trace_ops;
  bool json;
} bench_options;

static const char about[] =
    "Measures every method of a program, or METHOD alone: the time to\n"
    "load it, the first call, the median of many calls, the time of each\n"
    "operator with its bytes and multiply-adds beside the limits of this\n"
    "machine, and memory.\n\n"
    "Inputs are generated: floats between -1 and 1, integers 0 (or 1 if the\n"
    "method refuses 0), dynamic dimensions at their largest size. --in, --dim\n"
    "and --case replace them. State starts with its initial values, or as the\n"
    "recorded calls before the method leave it.\n\n"
    "--compare measures the methods that FILE and OTHER have in common, in\n"
    "turns, and prints the ratio of OTHER's time to FILE's. A method whose\n"
    "inputs differ in type or size is refused.\n"
    "--static counts bytes and multiply-adds at the largest sizes and runs\n"
    "nothing. It takes no --in, --dim or --case.\n"
    "--emit-specialize makes the recorded calls of --case and prints which\n"
    "sizes they have, the share of the time for each, and the option of\n"
    "etx plan that gives these sizes variants.\n";

static const char examples[] =
    "  etx bench model.pte\n"
    "  etx bench model.pte decode --threads 2 --json\n"
    "  etx bench model.pte encode --dim 'ids[1]=32'\n"
    "  etx bench model.pte --case tests/data/pt2/kv\n"
    "  etx bench model.pte --static\n"
    "  etx bench model.pte --case recorded --emit-specialize\n"
    "  etx bench --compare before.pte after.pte\n";

// The context of one run of the command.
typedef struct bench_context {
  const bench_options* options;
  etx_pool pool;
  etx_case_file cases;
  etx_bench_options settings;  // the options of each measurement
  etx_diag diag;
} bench_context;

static etx_status open_session(bench_context* b, const char* path,
                               etx_run_session* session) {
  const etx_run_session_options session_options = {
      .data_paths = b->options->data.items,
      .data_count = b->options->data.count,
      .threads = (size_t)b->options->threads,
      .uses_regions = b->options->uses_regions,
      .keeps_plan = b->options->keeps_plan,
      .resident_bytes = (size_t)b->options->resident_bytes,
      .in_memory = b->options->in_memory,
      .prefaults = b->options->prefault,
      .locks = b->options->mlock,
      .kernel_paths = b->options->kernels.items,
      .kernel_count = b->options->kernels.count};
  return etx_run_session_open(session, path, &session_options, &b->diag);
}

// Checks --in, --dim and --case before anything runs.
static etx_exit check_input_options(bench_context* b, const char* path,
                                    const etx_run_session* session) {
  const bench_options* options = b->options;
  if (options->inputs.count + options->dims.count == 0) return ETX_EXIT_DONE;
  etx_synthetic_input_options inputs = b->settings.inputs;
  for (size_t i = b->cases.call_count; i-- > 0;) {
    const etx_case_call* call = &b->cases.calls[i];
    if (!call->is_reset && !call->is_refused &&
        strcmp(call->method, options->method) == 0) {
      inputs.call = call;
    }
  }
  const etx_status status = etx_synthetic_input_options_check(
      &session->module.program, etx_text_of(options->method), &inputs, &b->pool,
      &b->diag);
  return status == ETX_OK ? ETX_EXIT_DONE
                          : etx_error_report("bench", path, status, &b->diag);
}

// The names of the methods to measure: that of --method, or all but constant
// methods and the method of initial values.
static etx_status find_methods(bench_context* b, const etx_program* program,
                               const char*** out_names, size_t* out_count) {
  const size_t all = etx_program_method_count(program);
  const char** names = etx_pool_take(&b->pool, (all + 1) * sizeof *names);
  if (names == NULL) return ETX_OUT_OF_MEMORY;
  *out_names = names;
  *out_count = 0;
  if (b->options->method != NULL) {
    names[(*out_count)++] = b->options->method;
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

static etx_status measure(bench_context* b, etx_run_session* session,
                          const char* name, etx_bench_result* out_result) {
  if (b->options->is_static) {
    return etx_bench_static(&session->module.program, name, &b->pool,
                            out_result, &b->diag);
  }
  return etx_bench_method(session, name, &b->settings, &b->pool, out_result,
                          &b->diag);
}

static etx_exit print_result(bench_context* b,
                             const etx_bench_program* program) {
  if (!b->options->json) {
    etx_bench_print(program);
    return ETX_EXIT_DONE;
  }
  return etx_json_print(etx_bench_json(program)) ? ETX_EXIT_DONE
                                                 : ETX_EXIT_MACHINE_FAILED;
}

// Called last, because the read test allocates memory of its own, which would
// show in the process's peak.
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

// Goes on with the other methods if one cannot be measured.
static etx_exit measure_all(bench_context* b, etx_run_session* session,
                            etx_bench_program* program) {
  const char** names = NULL;
  size_t count = 0;
  etx_exit code = ETX_EXIT_DONE;
  const etx_status found =
      find_methods(b, &session->module.program, &names, &count);
  etx_bench_result* results =
      etx_pool_take(&b->pool, (count + 1) * sizeof *results);
  if (found != ETX_OK || results == NULL) {
    return etx_error_report("bench", b->options->file, ETX_OUT_OF_MEMORY, NULL);
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
    etx_error_report("bench", b->options->file, status, &b->diag);
    if (code == ETX_EXIT_DONE) code = etx_exit_from_run_status(status);
  }
  program->methods = results;
  if (!b->options->is_static) {
    program->memory = etx_process_memory_read();
    measure_limits(session, results, program->method_count);
  }
  const etx_exit shown = print_result(b, program);
  return code == ETX_EXIT_DONE ? shown : code;
}

// With --trace-ops, records what the first call of each method uses.
static etx_exit measure_traced(bench_context* b, etx_run_session* session,
                               etx_bench_program* program) {
  const char* const path = b->options->trace_ops;
  if (path == NULL) return measure_all(b, session, program);
  etx_run_trace trace;
  etx_run_trace_init(&trace);
  b->settings.trace = &trace;
  const etx_exit code = measure_all(b, session, program);
  const etx_exit written =
      trace.count == 0
          ? code
          : etx_run_trace_write(&trace, "bench", b->options->file, path);
  etx_run_trace_close(&trace);
  return code == ETX_EXIT_DONE ? written : code;
}

static etx_exit bench_file(bench_context* b) {
  etx_run_session session;
  const double start = etx_monotonic_clock_seconds();
  const etx_status status = open_session(b, b->options->file, &session);
  if (status != ETX_OK)
    return etx_error_report("bench", b->options->file, status, &b->diag);
  etx_bench_program program = {
      .path = b->options->file,
      .file_bytes = session.file.program.size,
      .state_bytes = session.shared.memory.planned.size,
      .open_seconds = etx_monotonic_clock_seconds() - start,
      .threads = (size_t)b->options->threads,
      .is_static = b->options->is_static};
  etx_exit code = check_input_options(b, b->options->file, &session);
  if (code == ETX_EXIT_DONE) code = measure_traced(b, &session, &program);
  etx_run_session_close(&session);
  return code;
}

// ---- sizes of recorded calls ----

static etx_exit print_sizes(bench_context* b, etx_run_session* session) {
  etx_recorded_sizes sizes;
  const etx_status status = etx_recorded_sizes_collect(
      session, &b->cases, &b->pool, &sizes, &b->diag);
  if (status != ETX_OK) {
    etx_error_report("bench", b->options->file, status, &b->diag);
    return etx_exit_from_run_status(status);
  }
  if (!b->options->json) {
    etx_recorded_sizes_print(&sizes);
    return ETX_EXIT_DONE;
  }
  return etx_json_print(etx_recorded_sizes_json(&sizes))
             ? ETX_EXIT_DONE
             : ETX_EXIT_MACHINE_FAILED;
}

static etx_exit emit_specialize(bench_context* b) {
  etx_run_session session;
  const etx_status status = open_session(b, b->options->file, &session);
  if (status != ETX_OK)
    return etx_error_report("bench", b->options->file, status, &b->diag);
  const etx_exit code = print_sizes(b, &session);
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

// Goes on with the other methods if one cannot be compared.
static etx_exit compare_sessions(bench_context* b,
                                 etx_run_session* sessions[2]) {
  const char** names = NULL;
  size_t count = 0, common = 0;
  etx_exit code = ETX_EXIT_DONE;
  if (find_methods(b, &sessions[0]->module.program, &names, &count) != ETX_OK) {
    return etx_error_report("bench", b->options->file, ETX_OUT_OF_MEMORY, NULL);
  }
  json_t* const list = b->options->json ? json_array() : NULL;
  for (size_t i = 0; i < count; ++i) {
    etx_bench_pair pair;
    if (b->options->method == NULL &&
        !has_method(&sessions[1]->module.program, names[i])) {
      continue;
    }
    ++common;
    etx_diag_init(&b->diag);
    const etx_status status = etx_bench_compare(
        sessions, names[i], &b->settings, &b->pool, &pair, &b->diag);
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

static etx_exit compare_files(bench_context* b) {
  etx_run_session first, second;
  etx_run_session* both[2] = {&first, &second};
  etx_status status = open_session(b, b->options->file, &first);
  if (status != ETX_OK)
    return etx_error_report("bench", b->options->file, status, &b->diag);
  status = open_session(b, b->options->other, &second);
  if (status != ETX_OK) {
    etx_run_session_close(&first);
    return etx_error_report("bench", b->options->other, status, &b->diag);
  }
  etx_exit code = check_input_options(b, b->options->file, &first);
  if (code == ETX_EXIT_DONE)
    code = check_input_options(b, b->options->other, &second);
  if (code == ETX_EXIT_DONE) code = compare_sessions(b, both);
  etx_run_session_close(&second);
  etx_run_session_close(&first);
  return code;
}

// Checks the options that --trace-ops excludes.
static etx_exit check_trace_ops(bench_context* b) {
  const bench_options* const options = b->options;
  if (options->trace_ops == NULL) return ETX_EXIT_DONE;
  if (options->compares || options->is_static || options->emits_specialize) {
    return etx_usage_error_report("bench",
                                  "--trace-ops records the calls of one "
                                  "program and takes no --compare, --static or "
                                  "--emit-specialize");
  }
  const etx_status status = etx_output_file_check_overwrite(
      options->trace_ops, options->file, &b->diag);
  return status == ETX_OK ? ETX_EXIT_DONE
                          : etx_error_report("bench", NULL, status, &b->diag);
}

static etx_exit check_emit_specialize(const bench_options* options) {
  if (!options->emits_specialize) return ETX_EXIT_DONE;
  if (options->case_directory == NULL) {
    return etx_usage_error_report(
        "bench", "--emit-specialize needs recorded calls: give --case");
  }
  if (options->compares || options->is_static || options->method != NULL) {
    return etx_usage_error_report("bench",
                                  "--emit-specialize makes all recorded calls "
                                  "and takes no --compare, --static or "
                                  "--method");
  }
  return ETX_EXIT_DONE;
}

static bool is_program_name(const char* text) {
  const char* const dot = strrchr(text, '.');
  return dot != NULL && (strcmp(dot, ".pte") == 0 || strcmp(dot, ".bpte") == 0);
}

// The second word is a program with --compare, and a method without it.
static etx_exit read_second(bench_options* options) {
  if (options->second == NULL) return ETX_EXIT_DONE;
  if (options->compares || is_program_name(options->second)) {
    options->other = options->second;
    return ETX_EXIT_DONE;
  }
  if (options->method != NULL) {
    return etx_usage_error_report(
        "bench", "the method is given twice: '%s' and --method '%s'",
        options->second, options->method);
  }
  options->method = options->second;
  return ETX_EXIT_DONE;
}

static etx_exit run(bench_context* b) {
  const bench_options* options = b->options;
  etx_exit checked = check_emit_specialize(options);
  if (checked == ETX_EXIT_DONE) checked = check_trace_ops(b);
  if (checked != ETX_EXIT_DONE) return checked;
  if (options->compares != (options->other != NULL)) {
    return etx_usage_error_report(
        "bench", "--compare and the second program, OTHER, belong together");
  }
  if (options->compares && options->is_static) {
    return etx_usage_error_report("bench",
                                  "--static cannot be combined with --compare");
  }
  if (options->is_static && (options->inputs.count + options->dims.count != 0 ||
                             options->case_directory != NULL)) {
    return etx_usage_error_report(
        "bench",
        "--static counts at the largest sizes and takes no --in, --dim or "
        "--case");
  }
  if (options->method == NULL &&
      options->inputs.count + options->dims.count != 0) {
    return etx_usage_error_report(
        "bench", "--in and --dim are for one method: give METHOD");
  }
  if (options->case_directory != NULL) {
    const etx_status status = etx_case_file_read(options->case_directory,
                                                 &b->pool, &b->cases, &b->diag);
    if (status != ETX_OK) {
      return etx_error_report("bench", options->case_directory, status,
                              &b->diag);
    }
    b->settings.cases = &b->cases;
  }
  if (options->emits_specialize) return emit_specialize(b);
  return options->compares ? compare_files(b) : bench_file(b);
}

int etx_cmd_bench(int argc, char** argv) {
  static bench_options options;
  options = (bench_options){.threads = 1, .seconds = 1};
  const etx_usage usage = {
      .command = "bench",
      .about = about,
      .examples = examples,
      .positionals = ETX_POSITIONALS(
          {"FILE", "the program, .pte or .bpte", &options.file, true},
          {"METHOD", "the method to measure; with --compare, OTHER",
           &options.second, false}),
      .options = ETX_OPTIONS(
          ETX_TEXT("method", 'm', "NAME",
                   "the same as METHOD, also with --compare", &options.method),
          ETX_COUNT("threads", 't', "N",
                    "threads for large operators (default: 1)",
                    &options.threads),
          ETX_FLAG("parallel-regions", 0,
                   "run independent parts of a method on the threads of "
                   "--threads at the same time; operators are timed one by one",
                   &options.uses_regions),
          ETX_FLAG("keep-plan", 0,
                   "leave values where they lie at the largest sizes; results "
                   "are bit-equal",
                   &options.keeps_plan),
          ETX_BYTES("resident", 0, "BYTES",
                    "keep so many bytes of the file in memory; what is behind "
                    "them leaves it after each instruction that read it; "
                    "results are bit-equal (default: all of the file)",
                    &options.resident_bytes),
          ETX_FLAG("in-memory", 0, "read the program instead of mapping it",
                   &options.in_memory),
          ETX_PREFAULT_OPTION(&options.prefault),
          ETX_MLOCK_OPTION(&options.mlock),
          ETX_REAL("seconds", 0, "X",
                   "how long to call each method (default: 1)",
                   &options.seconds),
          ETX_LIST("in", 'i', "NAME=VALUE", "value of an input, as for etx run",
                   &options.inputs),
          ETX_LIST("dim", 0, "DIM=SIZE",
                   "size of a dynamic dimension: SYMBOL=SIZE or INPUT[1]=SIZE",
                   &options.dims),
          ETX_TEXT("case", 0, "DIR",
                   "inputs and state of recorded calls: the first call of each "
                   "method",
                   &options.case_directory),
          ETX_KERNELS_OPTION(&options.kernels),
          ETX_LIST("data", 'd', "FILE", "a data file (.ptd) of the program",
                   &options.data),
          ETX_FLAG("restore", 0,
                   "restore inputs and state before every call; otherwise only "
                   "if a method refuses its changed state",
                   &options.restores),
          ETX_FLAG("static", 0, "count only, run nothing", &options.is_static),
          ETX_FLAG("compare", 0, "measure two programs in turns",
                   &options.compares),
          ETX_FLAG("emit-specialize", 0,
                   "print the sizes of recorded calls, and the option "
                   "--specialize of etx plan for them",
                   &options.emits_specialize),
          ETX_TEXT("trace-ops", 0, "FILE",
                   "write what the first call of each method uses, as etx run "
                   "does",
                   &options.trace_ops),
          ETX_FLAG("json", 0, "print the results as JSON", &options.json)),
  };
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  const etx_exit read = read_second(&options);
  if (read != ETX_EXIT_DONE) return (int)read;
  bench_context b = {.options = &options};
  b.settings = (etx_bench_options){{&options.inputs, &options.dims, NULL, 0},
                                   NULL,
                                   options.seconds,
                                   options.restores,
                                   NULL};
  etx_diag_init(&b.diag);
  etx_pool_init(&b.pool);
  const etx_exit code = run(&b);
  etx_pool_close(&b.pool);
  return (int)code;
}
