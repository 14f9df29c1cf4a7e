// Four ways to run a program: one call, a recorded sequence of calls, the calls
// that a bundle brings along, a smoke test of all methods. Each has a file of
// its own; this one reads the options and reports.

#include <stdio.h>

#include "cli/run/bundle_run.h"
#include "cli/run/case_run.h"
#include "cli/commands/commands.h"
#include "cli/json/json_value.h"
#include "cli/base/output_file.h"
#include "cli/base/plural.h"
#include "cli/run/single_call.h"
#include "cli/base/options.h"
#include "cli/run/smoke_run.h"
#include "cli/run/run_profile.h"
#include "cli/program/instruction_source.h"

typedef struct words {
  const char* file;
  const char* method;
  etx_option_list inputs;
  etx_option_list outputs;
  etx_option_list data;
  const char* case_directory;
  bool bundled;
  double relative;  // tolerances of --bundled; negative: not given
  double absolute;
  bool smoke;
  uint64_t threads;
  const char* profile;
  bool json;
} words;

static const char about[] =
    "Runs a program file. State starts with its initial values and is shared "
    "by\n"
    "all methods.\n\n"
    "With METHOD: one call. Inputs are given by name as a number, a nested "
    "list,\n"
    "an .npy file or a tensor of a .safetensors file; outputs are printed or\n"
    "written. --out also takes the name of a state, or of an input that the\n"
    "method changes.\n\n"
    "With --case: the calls of DIR/cases.json, one session, everything "
    "compared\n"
    "with DIR/expected.safetensors. With --bundled: the calls that a bundled\n"
    "program (.bpte) brings along, compared with what it expects; without it "
    "a\n"
    "bundle is run as the program that it holds. With --smoke: every method "
    "once at its\n"
    "smallest and once at its largest sizes, all inputs zero.\n";

static const char examples[] =
    "  etx run model.pte get --in 'x=[[1, 2], [3, 4]]'\n"
    "  etx run model.pte decode --in token=595 --in pos=0 --out logits=l.npy\n"
    "  etx run model.pte encode --in ids=in.safetensors#ids \\\n"
    "      --out cache.k=after.safetensors --out cache.v=after.safetensors\n"
    "  etx run model.pte --case tests/data/pt2/kv\n"
    "  etx run model.pte decode --in token=595 --profile trace.json\n"
    "  etx run model.bpte --bundled\n"
    "  etx run model.pte forward --data weights.ptd --in x=x.npy\n"
    "  etx run model.pte --smoke\n";

// Differences as lines, or collected for --json.
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

static bool report_case(const words* in, const etx_case_result* result,
                        json_t* list) {
  if (list == NULL) {
    printf("%s: %zu call%s, %zu difference%s\n", in->case_directory,
           result->call_count, etx_plural(result->call_count),
           result->difference_count, etx_plural(result->difference_count));
    return true;
  }
  json_t* const root = json_object();
  json_object_set_new(root, "calls", etx_json_unsigned(result->call_count));
  json_object_set_new(root, "differences", list);
  return etx_json_print(root);
}

static etx_exit run_recorded(etx_run_session* session, const words* in,
                             etx_run_profile* profile, etx_pool* pool) {
  etx_diag diag;
  etx_diag_init(&diag);
  etx_case_file file;
  const etx_status read =
      etx_case_file_read(in->case_directory, pool, &file, &diag);
  if (read != ETX_OK)
    return etx_error_report("run", in->case_directory, read, &diag);
  case_report report = {in->json ? json_array() : NULL};
  const etx_case_sink sink = {on_difference, &report, profile};
  etx_case_result result;
  const etx_status status = etx_case_run(session, &file, &sink, &result, &diag);
  if (!report_case(in, &result, report.list)) return ETX_EXIT_MACHINE_FAILED;
  if (status != ETX_OK) {
    const char* const method = file.calls[result.refused_call].method;
    fprintf(stderr, "etx run: call %zu %s failed\n", result.refused_call,
            method == NULL ? "(reset)" : method);
    etx_error_report("run", in->file, status, &diag);
    etx_instruction_source_explain(&session->module.program.pte, &diag, "run",
                                   in->file);
    return etx_exit_from_run_status(status);
  }
  return result.difference_count == 0 ? ETX_EXIT_DONE : ETX_EXIT_DIFFERENT;
}

// The trace is written whatever came out of the calls: one that failed ends it.
// Without any there is nothing that could replace an older trace.
static etx_exit run_case(etx_run_session* session, const words* in,
                         etx_pool* pool) {
  if (in->profile == NULL) return run_recorded(session, in, NULL, pool);
  etx_run_profile profile;
  etx_run_profile_init(&profile);
  const etx_exit code = run_recorded(session, in, &profile, pool);
  const bool is_empty = code != ETX_EXIT_DONE && profile.call_count == 0;
  const etx_exit written =
      is_empty ? code
               : etx_run_profile_write(&profile, session->file.program,
                                       in->file, in->profile);
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

static etx_exit run_bundled(etx_run_session* session, const words* in) {
  if (!session->file.is_bundle) {
    return etx_usage_error_report(
        "run",
        "%s: this is a program without bundled calls; run it "
        "with METHOD, --case or --smoke",
        in->file);
  }
  etx_diag diag;
  etx_diag_init(&diag);
  bundle_report report = {in->json ? json_array() : NULL};
  const etx_bundle_sink sink = {on_case, &report};
  const etx_tolerance tolerance = {in->absolute < 0 ? 1e-8 : in->absolute,
                                   in->relative < 0 ? 1e-5 : in->relative};
  etx_bundle_result result = {0, 0};
  const etx_status status =
      etx_bundle_run(session, tolerance, &sink, &result, &diag);
  if (report.list != NULL && !etx_json_print(report.list)) {
    return ETX_EXIT_MACHINE_FAILED;
  }
  if (status != ETX_OK) return etx_error_report("run", in->file, status, &diag);
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

static etx_exit run_smoke(etx_run_session* session, const words* in) {
  smoke_report report = {{0}, in->json ? json_array() : NULL};
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

static etx_exit run_opened(etx_run_session* session, const words* in,
                           etx_pool* pool) {
  if (in->smoke) return run_smoke(session, in);
  if (in->bundled) return run_bundled(session, in);
  if (in->case_directory != NULL) return run_case(session, in, pool);
  const etx_single_call what = {in->file,     in->method, &in->inputs,
                                &in->outputs, in->json,   in->profile};
  return etx_single_call_run(session, &what, pool);
}

static etx_exit run_file(const words* in) {
  const int ways = (in->method != NULL) + (in->case_directory != NULL) +
                   (in->bundled ? 1 : 0) + (in->smoke ? 1 : 0);
  if (ways != 1) {
    return etx_usage_error_report(
        "run", "give one of METHOD, --case, --bundled, --smoke");
  }
  if (in->method == NULL && in->inputs.count + in->outputs.count != 0) {
    return etx_usage_error_report("run", "--in and --out belong to METHOD");
  }
  if (in->profile != NULL && in->method == NULL && in->case_directory == NULL) {
    return etx_usage_error_report("run",
                                  "--profile belongs to METHOD or --case");
  }
  if (!in->bundled && (in->relative >= 0 || in->absolute >= 0)) {
    return etx_usage_error_report("run",
                                  "--rtol and --atol belong to --bundled");
  }
  etx_diag diag;
  etx_diag_init(&diag);
  if (in->profile != NULL) {
    const etx_status spared =
        etx_output_file_check_overwrite(in->profile, in->file, &diag);
    if (spared != ETX_OK) return etx_error_report("run", NULL, spared, &diag);
  }
  etx_run_session session;
  const etx_run_session_options options = {in->data.items, in->data.count,
                                           (size_t)in->threads};
  const etx_status status =
      etx_run_session_open(&session, in->file, &options, &diag);
  if (status != ETX_OK) return etx_error_report("run", in->file, status, &diag);
  etx_pool pool;
  etx_pool_init(&pool);
  const etx_exit code = run_opened(&session, in, &pool);
  etx_pool_close(&pool);
  etx_run_session_close(&session);
  return code;
}

int etx_cmd_run(int argc, char** argv) {
  words in = {.file = NULL, .relative = -1, .absolute = -1, .threads = 1};
  const etx_positional positionals[] = {
      {"FILE", "the program, .pte or .bpte", &in.file, true},
      {"METHOD", "the method to call", &in.method, false},
  };
  const etx_option options[] = {
      {ETX_OPTION_LIST, "in", 'i', "NAME=VALUE", "value of an input",
       &in.inputs},
      {ETX_OPTION_LIST, "out", 'o', "NAME=FILE",
       "write a result to an .npy or .safetensors file", &in.outputs},
      {ETX_OPTION_LIST, "data", 'd', "FILE",
       "a file (.ptd) with data of the program", &in.data},
      {ETX_OPTION_TEXT, "case", 0, "DIR", "execute and compare recorded calls",
       &in.case_directory},
      {ETX_OPTION_FLAG, "bundled", 0, NULL,
       "execute and compare the calls that a .bpte brings along", &in.bundled},
      {ETX_OPTION_REAL, "rtol", 0, "X",
       "relative tolerance of --bundled, 1e-5 if not given", &in.relative},
      {ETX_OPTION_REAL, "atol", 0, "X",
       "absolute tolerance of --bundled, 1e-8 if not given", &in.absolute},
      {ETX_OPTION_FLAG, "smoke", 0, NULL,
       "call every method with zeros; data refused counts as passed",
       &in.smoke},
      {ETX_OPTION_COUNT, "threads", 't', "N",
       "threads for large operators, 1 if not given; results are equal",
       &in.threads},
      {ETX_OPTION_TEXT, "profile", 0, "FILE",
       "write the call, or those of --case, as a trace for Chrome and "
       "Perfetto: operators, memory",
       &in.profile},
      {ETX_OPTION_FLAG, "json", 0, NULL, "print results as JSON", &in.json},
  };
  const etx_usage usage = {"run",    about,   positionals,
                           2,        options, sizeof options / sizeof *options,
                           examples, NULL};
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  return (int)run_file(&in);
}
