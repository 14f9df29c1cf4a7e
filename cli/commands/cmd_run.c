// etx run: runs a program in one of four ways, each with a file of its own in
// cli/run: one call, a recorded sequence of calls, the calls of a bundle, or a
// smoke test of all methods. This file reads the options and prints results.

#include <stdio.h>

#include "cli/run/bundle_run.h"
#include "cli/run/case_run.h"
#include "cli/commands/commands.h"
#include "cli/json/json_value.h"
#include "cli/base/output_file.h"
#include "cli/base/plural.h"
#include "cli/run/single_call.h"
#include "cli/base/memory_options.h"
#include "cli/base/kernels_option.h"
#include "cli/base/options.h"
#include "cli/run/smoke_run.h"
#include "cli/run/run_profile.h"
#include "cli/program/instruction_source.h"

typedef struct run_options {
  const char* file;
  const char* method;
  etx_option_list inputs;
  etx_option_list outputs;
  etx_option_list data;
  etx_option_list kernels;
  const char* case_directory;
  bool bundled;
  double relative;  // tolerances of --bundled; negative: not given
  double absolute;
  bool smoke;
  uint64_t threads;
  bool uses_regions;
  bool keeps_plan;
  uint64_t resident_bytes;
  bool in_memory, prefault, mlock;
  const char* profile;
  const char* trace_ops;
  const char* state;
  bool json;
} run_options;

static const char about[] =
    "Runs a program file. State starts with its initial values and is shared "
    "by\n"
    "all methods.\n\n"
    "--state starts with the state that the last call left in FILE, if there "
    "is\n"
    "one, and saves the new state there when the call has succeeded. Another\n"
    "program's file is refused. A kill or a power cut leaves the old state or "
    "the\n"
    "new one.\n\n"
    "METHOD makes one call. An input is given by name, as a number, a nested\n"
    "list, an .npy file or a tensor of a .safetensors file. Outputs are "
    "printed\n"
    "or written to files. --out also takes the name of a state, or of an "
    "input\n"
    "that the method changes.\n\n"
    "--case makes the calls of DIR/cases.json in one session and compares all\n"
    "results with DIR/expected.safetensors.\n\n"
    "--bundled makes the calls of a bundled program (.bpte) and compares "
    "their\n"
    "results with the expected ones. Without it, a bundle is run like the\n"
    "program that it contains.\n\n"
    "--smoke calls every method once at its smallest and once at its largest\n"
    "sizes, with inputs of zeros.\n";

static const char examples[] =
    "  etx run model.pte get --in 'x=[[1, 2], [3, 4]]'\n"
    "  etx run model.pte decode --in token=595 --in pos=0 --out logits=l.npy\n"
    "  etx run model.pte encode --in ids=options.safetensors#ids \\\n"
    "      --out cache.k=after.safetensors --out cache.v=after.safetensors\n"
    "  etx run model.pte --case tests/data/pt2/kv\n"
    "  etx run model.pte decode --in token=595 --profile trace.json\n"
    "  etx run model.pte --case recorded --trace-ops use.yaml\n"
    "  etx run model.bpte --bundled\n"
    "  etx run model.pte forward --data weights.ptd --in x=x.npy\n"
    "  etx run model.pte forward --kernels ./libmy.so --in x=x.npy\n"
    "  etx run chat.pte step --in token=595 --state chat.state\n"
    "  etx run model.pte --smoke\n";

// Where differences go: printed as lines, or collected for --json.
typedef struct case_report {
  json_t* list;  // NULL: print lines
} case_report;

static void on_difference(void* context, size_t call, const char* method,
                          const char* what, const char* why) {
  const case_report* const report = context;
  if (report->list == NULL) {
    printf("call %zu %s: %s: %s\n", call, method, what, why);
    return;
  }
  json_t* const row = json_object();
  json_object_set_new(row, "call", etx_json_unsigned(call));
  json_object_set_new(row, "method", etx_json_text(etx_text_of(method)));
  json_object_set_new(row, "what", etx_json_text(etx_text_of(what)));
  json_object_set_new(row, "why", etx_json_text(etx_text_of(why)));
  json_array_append_new(report->list, row);
}

static bool report_case(const run_options* options,
                        const etx_case_result* result, json_t* list) {
  if (list == NULL) {
    printf("%s: %zu call%s, %zu difference%s\n", options->case_directory,
           result->call_count, etx_plural(result->call_count),
           result->difference_count, etx_plural(result->difference_count));
    return true;
  }
  json_t* const root = json_object();
  json_object_set_new(root, "calls", etx_json_unsigned(result->call_count));
  json_object_set_new(root, "differences", list);
  return etx_json_print(root);
}

static etx_exit run_recorded(etx_run_session* session,
                             const run_options* options,
                             etx_run_profile* profile, etx_pool* pool) {
  etx_diag diag;
  etx_diag_init(&diag);
  etx_case_file file;
  const etx_status read =
      etx_case_file_read(options->case_directory, pool, &file, &diag);
  if (read != ETX_OK)
    return etx_error_report("run", options->case_directory, read, &diag);
  case_report report = {options->json ? json_array() : NULL};
  const etx_case_sink sink = {on_difference, &report, profile};
  etx_case_result result;
  const etx_status status = etx_case_run(session, &file, &sink, &result, &diag);
  if (!report_case(options, &result, report.list))
    return ETX_EXIT_MACHINE_FAILED;
  if (status != ETX_OK) {
    const char* const method = file.calls[result.refused_call].method;
    fprintf(stderr, "etx run: call %zu %s failed\n", result.refused_call,
            method == NULL ? "(reset or truncate)" : method);
    etx_error_report("run", options->file, status, &diag);
    etx_instruction_source_explain(&session->module.program.pte, &diag, "run",
                                   options->file);
    return etx_exit_from_run_status(status);
  }
  return result.difference_count == 0 ? ETX_EXIT_DONE : ETX_EXIT_DIFFERENT;
}

// The trace is written even if a call failed; that call is then its last one.
// If the first call could not be made, an older trace stays.
static etx_exit run_case(etx_run_session* session, const run_options* options,
                         etx_pool* pool) {
  if (options->profile == NULL)
    return run_recorded(session, options, NULL, pool);
  etx_run_profile profile;
  etx_run_profile_init(&profile);
  const etx_exit code = run_recorded(session, options, &profile, pool);
  const bool is_empty = code != ETX_EXIT_DONE && profile.call_count == 0;
  const etx_exit written =
      is_empty ? code
               : etx_run_profile_write(&profile, session->file.program,
                                       options->file, options->profile);
  etx_run_profile_close(&profile);
  return code == ETX_EXIT_DONE ? written : code;
}

typedef struct bundle_report {
  json_t* list;  // NULL: print lines
} bundle_report;

static void on_case(void* context, etx_text method, size_t index,
                    const char* why) {
  const bundle_report* const report = context;
  if (report->list == NULL) {
    printf("%.*s, case %zu: %s%s\n", (int)method.size, method.data, index,
           why == NULL ? "passed" : "failed: ", why == NULL ? "" : why);
    return;
  }
  json_t* const row = json_object();
  json_object_set_new(row, "method", etx_json_text(method));
  json_object_set_new(row, "case", etx_json_unsigned(index));
  json_object_set_new(row, "passed", json_boolean(why == NULL));
  json_object_set_new(
      row, "why", why == NULL ? json_null() : etx_json_text(etx_text_of(why)));
  json_array_append_new(report->list, row);
}

static etx_exit run_bundled(etx_run_session* session,
                            const run_options* options) {
  if (!session->file.is_bundle) {
    return etx_usage_error_report(
        "run",
        "%s: the program has no bundled calls; run it with METHOD, --case or "
        "--smoke",
        options->file);
  }
  etx_diag diag;
  etx_diag_init(&diag);
  bundle_report report = {options->json ? json_array() : NULL};
  const etx_bundle_sink sink = {on_case, &report};
  const etx_tolerance tolerance = {
      options->absolute < 0 ? 1e-8 : options->absolute,
      options->relative < 0 ? 1e-5 : options->relative};
  etx_bundle_result result = {0, 0};
  const etx_status status =
      etx_bundle_run(session, tolerance, &sink, &result, &diag);
  if (report.list != NULL && !etx_json_print(report.list)) {
    return ETX_EXIT_MACHINE_FAILED;
  }
  if (status != ETX_OK)
    return etx_error_report("run", options->file, status, &diag);
  if (report.list == NULL) {
    printf("%zu case%s passed, %zu failed\n", result.passed,
           etx_plural(result.passed), result.failed);
  }
  return result.failed == 0 ? ETX_EXIT_DONE : ETX_EXIT_DIFFERENT;
}

typedef struct smoke_report {
  size_t counts[3];  // by outcome
  json_t* list;      // NULL: print lines
} smoke_report;

static void on_called(void* context, etx_text method, const char* sizes,
                      etx_smoke_outcome outcome, const char* message) {
  static const char* const outcomes[] = {"passed", "refused its data",
                                         "failed"};
  smoke_report* const report = context;
  ++report->counts[outcome];
  if (report->list == NULL) {
    printf("%.*s, %s: %s%s%s\n", (int)method.size, method.data, sizes,
           outcomes[outcome], message[0] == '\0' ? "" : ": ", message);
    return;
  }
  json_t* const row = json_object();
  json_object_set_new(row, "method", etx_json_text(method));
  json_object_set_new(row, "sizes", json_string(sizes));
  json_object_set_new(row, "outcome", json_string(outcomes[outcome]));
  json_object_set_new(row, "message", etx_json_text(etx_text_of(message)));
  json_array_append_new(report->list, row);
}

static etx_exit run_smoke(etx_run_session* session,
                          const run_options* options) {
  smoke_report report = {{0}, options->json ? json_array() : NULL};
  const etx_smoke_sink sink = {on_called, &report};
  const etx_status status = etx_smoke_run(session, &sink);
  if (report.list != NULL) {
    if (!etx_json_print(report.list)) return ETX_EXIT_MACHINE_FAILED;
  } else {
    printf("%zu call%s passed, %zu refused their data, %zu failed\n",
           report.counts[ETX_SMOKE_PASSED],
           etx_plural(report.counts[ETX_SMOKE_PASSED]),
           report.counts[ETX_SMOKE_REFUSED_DATA],
           report.counts[ETX_SMOKE_FAILED]);
  }
  return etx_exit_from_run_status(status);
}

static etx_exit run_opened(etx_run_session* session, const run_options* options,
                           etx_pool* pool) {
  if (options->smoke) return run_smoke(session, options);
  if (options->bundled) return run_bundled(session, options);
  if (options->case_directory != NULL) return run_case(session, options, pool);
  const etx_single_call call = {options->file,    options->method,
                                &options->inputs, &options->outputs,
                                options->json,    options->profile};
  return etx_single_call_run(session, &call, pool);
}

// Runs on the state of the file, and saves the new state after success.
static etx_exit run_on_saved(etx_run_session* session,
                             const run_options* options, etx_pool* pool) {
  etx_diag diag;
  if (options->state == NULL) return run_opened(session, options, pool);
  etx_diag_init(&diag);
  etx_status status = etx_run_session_restore(session, options->state, &diag);
  if (status != ETX_OK) return etx_error_report("run", NULL, status, &diag);
  const etx_exit code = run_opened(session, options, pool);
  if (code != ETX_EXIT_DONE) return code;
  status = etx_run_session_save(session, options->state, &diag);
  return status == ETX_OK ? ETX_EXIT_DONE
                          : etx_error_report("run", NULL, status, &diag);
}

// The trace is written even if a call failed. If no call was made, an older
// trace stays.
static etx_exit run_traced(etx_run_session* session, const run_options* options,
                           etx_pool* pool) {
  if (options->trace_ops == NULL) return run_on_saved(session, options, pool);
  etx_run_trace trace;
  etx_run_trace_init(&trace);
  session->trace = &trace;
  const etx_exit code = run_on_saved(session, options, pool);
  const etx_exit written =
      trace.count == 0 ? code
                       : etx_run_trace_write(&trace, "run", options->file,
                                             options->trace_ops);
  etx_run_trace_close(&trace);
  return code == ETX_EXIT_DONE ? written : code;
}

// Checks options that exclude each other or would write over the program.
static etx_exit check_records(const run_options* options, etx_diag* diag) {
  const char* const paths[] = {options->profile, options->trace_ops,
                               options->state};
  if ((options->profile != NULL) + (options->trace_ops != NULL) +
          (options->resident_bytes > 0) >
      1) {
    return etx_usage_error_report(
        "run",
        "--profile, --trace-ops and --resident all observe the instructions of "
        "a method; give one of them");
  }
  if (options->trace_ops != NULL && options->uses_regions) {
    return etx_usage_error_report(
        "run",
        "--trace-ops records one instruction after the other, so it cannot be "
        "combined with --parallel-regions");
  }
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; ++i) {
    if (paths[i] == NULL) continue;
    const etx_status checked =
        etx_output_file_check_overwrite(paths[i], options->file, diag);
    if (checked != ETX_OK) return etx_error_report("run", NULL, checked, diag);
  }
  return ETX_EXIT_DONE;
}

static etx_exit run_file(const run_options* options) {
  const int modes = (options->method != NULL) +
                    (options->case_directory != NULL) +
                    (options->bundled ? 1 : 0) + (options->smoke ? 1 : 0);
  if (modes != 1) {
    return etx_usage_error_report(
        "run", "give one of METHOD, --case, --bundled and --smoke");
  }
  if (options->method == NULL &&
      options->inputs.count + options->outputs.count != 0) {
    return etx_usage_error_report("run", "--in and --out need METHOD");
  }
  if (options->profile != NULL && options->method == NULL &&
      options->case_directory == NULL) {
    return etx_usage_error_report("run", "--profile needs METHOD or --case");
  }
  if (options->profile != NULL && options->uses_regions) {
    return etx_usage_error_report(
        "run",
        "--profile times one instruction after the other, so it cannot be "
        "combined with --parallel-regions");
  }
  if (options->state != NULL && options->method == NULL) {
    return etx_usage_error_report("run", "--state needs METHOD");
  }
  if (!options->bundled && (options->relative >= 0 || options->absolute >= 0)) {
    return etx_usage_error_report("run", "--rtol and --atol need --bundled");
  }
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_exit checked = check_records(options, &diag);
  if (checked != ETX_EXIT_DONE) return checked;
  etx_run_session session;
  const etx_run_session_options session_options = {
      .data_paths = options->data.items,
      .data_count = options->data.count,
      .threads = (size_t)options->threads,
      .uses_regions = options->uses_regions,
      .keeps_plan = options->keeps_plan,
      .resident_bytes = (size_t)options->resident_bytes,
      .in_memory = options->in_memory,
      .prefaults = options->prefault,
      .locks = options->mlock,
      .kernel_paths = options->kernels.items,
      .kernel_count = options->kernels.count};
  const etx_status status =
      etx_run_session_open(&session, options->file, &session_options, &diag);
  if (status != ETX_OK)
    return etx_error_report("run", options->file, status, &diag);
  etx_pool pool;
  etx_pool_init(&pool);
  const etx_exit code = run_traced(&session, options, &pool);
  etx_pool_close(&pool);
  etx_run_session_close(&session);
  return code;
}

int etx_cmd_run(int argc, char** argv) {
  run_options options = {
      .file = NULL, .relative = -1, .absolute = -1, .threads = 1};
  const etx_usage usage = {
      .command = "run",
      .about = about,
      .examples = examples,
      .positionals = ETX_POSITIONALS(
          {"FILE", "the program, .pte or .bpte", &options.file, true},
          {"METHOD", "the method to call", &options.method, false}),
      .options = ETX_OPTIONS(
          ETX_LIST("in", 'i', "NAME=VALUE", "value of an input",
                   &options.inputs),
          ETX_LIST("out", 'o', "NAME=FILE",
                   "write a result to an .npy or .safetensors file",
                   &options.outputs),
          ETX_LIST("data", 'd', "FILE", "a data file (.ptd) of the program",
                   &options.data),
          ETX_KERNELS_OPTION(&options.kernels),
          ETX_TEXT("case", 0, "DIR", "make recorded calls and compare results",
                   &options.case_directory),
          ETX_FLAG("bundled", 0,
                   "make the calls of a .bpte and compare results",
                   &options.bundled),
          ETX_REAL("rtol", 0, "X",
                   "relative tolerance of --bundled (default: 1e-5)",
                   &options.relative),
          ETX_REAL("atol", 0, "X",
                   "absolute tolerance of --bundled (default: 1e-8)",
                   &options.absolute),
          ETX_FLAG("smoke", 0,
                   "call every method with zeros; a method may refuse them",
                   &options.smoke),
          ETX_COUNT("threads", 't', "N",
                    "threads for large operators (default: 1); results are "
                    "bit-equal for any number",
                    &options.threads),
          ETX_FLAG("parallel-regions", 0,
                   "run independent parts of a method on the threads of "
                   "--threads at the same time; results are bit-equal",
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
          ETX_FLAG("in-memory", 0,
                   "read the program instead of mapping it, so that its file "
                   "may change during the run",
                   &options.in_memory),
          ETX_PREFAULT_OPTION(&options.prefault),
          ETX_MLOCK_OPTION(&options.mlock),
          ETX_TEXT("profile", 0, "FILE",
                   "write the call, or those of --case, as a trace for Chrome "
                   "and Perfetto: operators and memory",
                   &options.profile),
          ETX_TEXT("trace-ops", 0, "FILE",
                   "write which operators, types and features the calls use, "
                   "as YAML for etx select --trace",
                   &options.trace_ops),
          ETX_TEXT(
              "state", 0, "FILE",
              "continue with the state in FILE, and save the new one there",
              &options.state),
          ETX_FLAG("json", 0, "print the results as JSON", &options.json)),
  };
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  return (int)run_file(&options);
}
