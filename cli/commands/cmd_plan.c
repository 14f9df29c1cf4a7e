// Methods in, one program file out. The file is written beside its final
// place, its plan is proved again from the bytes, and only then does it get
// its name: there is never a partial or an unproved program under it.

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands/commands.h"
#include "cli/plan/kernel_evaluator.h"
#include "cli/base/exit_code.h"
#include "cli/base/input_path.h"
#include "cli/json/json_value.h"
#include "cli/base/mapped_file.h"
#include "cli/base/options.h"
#include "cli/base/output_file.h"
#include "cli/plan/plan_report.h"
#include "cli/plan/diagnostic_list.h"
#include "cli/verify/verify_program.h"
#include "exporter/export.h"
#include "exporter/pass_list.h"

static const char about[] =
    "Compiles the methods of DIR (one .yaml or .pt2 file each, the stem is "
    "the\n"
    "method's name) into one program whose methods share their state, and "
    "prints\n"
    "what memory it needs. DIR/program.yaml may add names, bounds and "
    "constants;\n"
    "DIR may also be a single file.\n\n"
    "Prints per method: bytes of scratch, the lower bound that no plan can "
    "beat,\n"
    "the operator at the peak; and every copy that remains, with its reason.\n";

static const char examples[] =
    "  etx plan methods/ -o model.pte\n"
    "  etx plan methods/ -o model.pte --target executorch\n"
    "  etx plan methods/ -o model.pte --state-layout keep:old.pte\n"
    "  etx plan methods/ -o model.pte --concurrent encode,decode\n"
    "  etx plan methods/ -o model.pte --quantize int8 --quantize "
    "'none:*.head'\n"
    "  etx plan methods/ -o model.pte --pack\n"
    "  etx plan methods/ -o model.pte --passes=-fold_constants,-simplify\n"
    "  etx plan methods/ -o model.pte --header model_memory.h --json\n"
    "  etx plan methods/ -o model.pte --report full\n"
    "  etx plan methods/ --dump-after lower\n";

// Passes and planners, from their lists.
#define PASS(name, function, kind, ir, sentence) PASS_##kind(#name, sentence)
#define PASS_OPTIONAL(name, sentence) "  -" name ": " sentence "\n"
#define PASS_REQUIRED(name, sentence)
#define ALGORITHM(symbol, sentence) "  " #symbol ": " sentence "\n"
static const char more[] =
    "passes that can be switched off, in order; results stay equal:\n"
#include "exporter/passes/pass_list.def"
    "\nplanners:\n"
#include "planner/algorithms/plan_algorithms.def"
    ;
#undef PASS
#undef ALGORITHM

enum { REPORT_SHORT, REPORT_FULL, REPORT_JSON };  // as the option names them

typedef struct words {
  const char* input;
  const char* output;
  const char* header;
  const char* passes;
  const char* algorithm;
  const char* dump_after;
  const char* state_layout;
  etx_option_list concurrent;
  etx_option_list quantize;
  int target;
  int report;  // REPORT_...
  bool pack;
  bool source_lines;
  bool json;
  bool quiet;
} words;

// Everything that one run of the command holds open.
typedef struct planner {
  const words* in;
  etx_pool pool;
  etx_diagnostic_list problems;
  etx_export_report report;
  bool proof_failed;
  etx_diag diag;
} planner;

static void show_progress(void* context, const char* stage, size_t done,
                          size_t total) {
  (void)context;
  if (total == 0) {
    fprintf(stderr, "\r\033[K%s", stage);
  } else {
    fprintf(stderr, "\r\033[K%s %zu of %zu", stage, done, total);
  }
  fflush(stderr);
}

static void end_progress(const words* in) {
  if (!in->quiet && isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
}

// A dump goes to standard output, the report then to nowhere: one of the two.
static etx_status write_stdout(void* context, etx_bytes bytes) {
  if (fwrite(bytes.data, 1, bytes.size, stdout) == bytes.size) return ETX_OK;
  return etx_diag_fail(context, ETX_HOST_FAILED,
                       "cannot write the graph to standard output: %s",
                       strerror(errno));
}

static bool read_state_layout(const words* in, const char** out_path) {
  static const char keep[] = "keep:";
  *out_path = NULL;
  if (in->state_layout == NULL) return true;
  if (strncmp(in->state_layout, keep, sizeof keep - 1) != 0) return false;
  *out_path = in->state_layout + sizeof keep - 1;
  return **out_path != '\0';
}

static etx_export_options export_options(const words* in, const char* layout,
                                         etx_diag* diag) {
  const etx_sink dump = {write_stdout, diag};
  etx_export_options options = {
      .target = in->target == 0 ? ETX_TARGET_ETX : ETX_TARGET_EXECUTORCH,
      .evaluator = etx_kernel_evaluator(),
      .passes = in->passes,
      .algorithm = in->algorithm,
      .dump_after = in->dump_after,
      .dump = dump,
      .keep_layout = layout,
      .pack_weights = in->pack,
      .source_lines = in->source_lines,
  };
  if (!in->quiet && isatty(STDERR_FILENO)) options.progress = show_progress;
  return options;
}

static etx_status prove(planner* plan, const char* path) {
  etx_mapped_file file;
  ETX_TRY(etx_mapped_file_open(&file, path, &plan->diag));
  const etx_status status = etx_verify_program(file.bytes, NULL, &plan->diag);
  etx_mapped_file_close(&file);
  plan->proof_failed = status == ETX_BAD_PLAN || status == ETX_BAD_FILE;
  return status;
}

static etx_status write_header(planner* plan, const char* program_path) {
  if (plan->in->header == NULL) return ETX_OK;
  etx_mapped_file file;
  ETX_TRY(etx_mapped_file_open(&file, program_path, &plan->diag));
  etx_program program;
  etx_status status = etx_program_open(&program, file.bytes, &etx_all_kernels,
                                       NULL, &plan->diag);
  if (status == ETX_OK) {
    status = etx_plan_report_header(&program, plan->in->header, &plan->diag);
  }
  etx_mapped_file_close(&file);
  return status;
}

static etx_status swallow(void* context, etx_bytes bytes) {
  (void)context;
  (void)bytes;
  return ETX_OK;
}

static const etx_sink nowhere = {swallow, NULL};

static etx_status plan_into(planner* plan, etx_ir_module* module,
                            const etx_export_options* options,
                            etx_output_file* output) {
  const etx_sink sink = etx_output_file_sink(output);
  ETX_TRY(etx_export_plan(module, options, &sink, &plan->report,
                          &plan->problems.problems, &plan->diag));
  ETX_TRY(etx_output_file_finish(output));
  ETX_TRY(prove(plan, output->temporary));
  ETX_TRY(write_header(plan, output->temporary));
  return etx_output_file_keep(output);
}

// Methods that could be read beside a faulty one may have problems too, and
// all are told at once.
static void look_further(planner* plan, etx_ir_module* module,
                         const etx_export_options* options) {
  etx_export_options quiet = *options;
  quiet.dump_after = NULL;
  if (module->method_count == 0) return;
  const etx_status known = etx_export_plan(
      module, &quiet, &nowhere, &plan->report, &plan->problems.problems, NULL);
  (void)known;  // what was read with problems stays refused
}

static etx_status declare_concurrent(planner* plan, etx_ir_module* module) {
  const etx_option_list* const groups = &plan->in->concurrent;
  for (size_t i = 0; i < groups->count; ++i) {
    const etx_status status =
        etx_export_concurrent(module, groups->items[i], &plan->diag);
    if (status == ETX_OK) continue;
    etx_diag_append(&plan->diag, ", in option '--concurrent'");
    return status;
  }
  return ETX_OK;
}

static etx_status quantize(planner* plan, etx_ir_module* module) {
  const etx_option_list* const rules = &plan->in->quantize;
  for (size_t i = 0; i < rules->count; ++i) {
    const etx_status status =
        etx_export_quantize(module, rules->items[i], &plan->diag);
    if (status == ETX_OK) continue;
    etx_diag_append(&plan->diag, ", in option '--quantize'");
    return status;
  }
  return ETX_OK;
}

static etx_status plan_all(planner* plan, const etx_export_options* options) {
  etx_ir_module module;
  etx_ir_module_init(&module, &plan->pool);
  ETX_TRY(etx_input_path_check(plan->in->input, &plan->diag));
  const etx_status read = etx_export_read(
      &module, plan->in->input, &plan->problems.problems, &plan->diag);
  if (read != ETX_OK) {
    look_further(plan, &module, options);
    return read;
  }
  ETX_TRY(declare_concurrent(plan, &module));
  ETX_TRY(quantize(plan, &module));
  if (plan->in->output == NULL) {  // only to look at a graph
    return etx_export_plan(&module, options, &nowhere, &plan->report,
                           &plan->problems.problems, &plan->diag);
  }
  etx_output_file output;
  ETX_TRY(etx_output_file_open(&output, plan->in->output, &plan->diag));
  const etx_status status = plan_into(plan, &module, options, &output);
  etx_output_file_discard(&output);
  return status;
}

static etx_exit report(planner* plan, etx_status status) {
  end_progress(plan->in);
  const size_t count = plan->problems.problems.count;
  if (status != ETX_OK && count == 0) {
    etx_diagnostic_list_add(&plan->problems, plan->in->input, status,
                            &plan->diag);
  }
  json_t* const list = etx_diagnostic_list_take(&plan->problems);
  if (status == ETX_OK && plan->in->dump_after != NULL) return ETX_EXIT_DONE;
  if (list != NULL) {
    json_t* const root =
        status == ETX_OK ? etx_plan_report_json(plan->in->output, &plan->report)
                         : json_object();
    json_object_set_new(root, "problems", list);
    if (!etx_json_print(root)) return ETX_EXIT_MACHINE_FAILED;
  } else if (status == ETX_OK && !plan->in->quiet) {
    etx_plan_report_print(plan->in->output, &plan->report,
                          plan->in->report == REPORT_FULL);
  }
  if (status == ETX_OK) return ETX_EXIT_DONE;
  const etx_exit code =
      plan->proof_failed ? ETX_EXIT_PROOF_FAILED : etx_exit_from_status(status);
  if (count == 0)
    etx_error_report("plan", plan->in->input, status, &plan->diag);
  if (plan->in->output != NULL) {
    fprintf(stderr, "etx plan: '%s' is not written\n", plan->in->output);
  }
  return code;
}

static void warn_of_former_names(const char* passes) {
  etx_text former, present;
  while (etx_pass_next_former_name(&passes, &former, &present)) {
    fprintf(stderr, "etx plan: pass %.*s is now called %.*s\n",
            (int)former.size, former.data, (int)present.size, present.data);
  }
}

// Beside methods a file of such a name would be read with them, or is one.
static bool is_input_name(const char* path) {
  static const char* const ends[] = {".yaml", ".pt2", ".safetensors"};
  if (path == NULL) return false;
  const size_t size = strlen(path);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; ++i) {
    const size_t end = strlen(ends[i]);
    if (size >= end && strcmp(path + size - end, ends[i]) == 0) return true;
  }
  return false;
}

static etx_exit check_outputs(const words* in) {
  const char* const paths[] = {in->output, in->header};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i) {
    if (!is_input_name(paths[i])) continue;
    return etx_usage_error_report(
        "plan",
        "cannot write '%s': what ends in .yaml, .pt2 or "
        ".safetensors is read, a program ends in .pte",
        paths[i]);
  }
  if (in->output != NULL && in->header != NULL &&
      strcmp(in->output, in->header) == 0) {
    return etx_usage_error_report(
        "plan", "options '--output' and '--header' name the same file '%s'",
        in->output);
  }
  return ETX_EXIT_DONE;
}

static etx_exit run(const words* in) {
  const char* layout = NULL;
  const etx_exit checked = check_outputs(in);
  if (checked != ETX_EXIT_DONE) return checked;
  if (in->output == NULL && (in->dump_after == NULL || in->header != NULL)) {
    return etx_usage_error_report("plan",
                                  "where shall the program go? give -o FILE");
  }
  if (!read_state_layout(in, &layout)) {
    return etx_usage_error_report(
        "plan", "option '--state-layout' is keep:FILE, not '%s'",
        in->state_layout);
  }
  planner plan = {.in = in};
  etx_diag_init(&plan.diag);
  if (in->dump_after != NULL &&
      etx_pass_check_name(etx_text_of(in->dump_after), &plan.diag) != ETX_OK) {
    return etx_usage_error_report("plan", "option '--dump-after': %s",
                                  plan.diag.text);
  }
  if (!in->quiet) {
    warn_of_former_names(in->passes);
    warn_of_former_names(in->dump_after);
  }
  const etx_status there =
      layout == NULL ? ETX_OK : etx_input_path_check(layout, &plan.diag);
  if (there != ETX_OK)
    return etx_error_report("plan", layout, there, &plan.diag);
  etx_pool_init(&plan.pool);
  etx_diagnostic_list_init(&plan.problems, in->json);
  const etx_export_options options = export_options(in, layout, &plan.diag);
  const etx_exit code = report(&plan, plan_all(&plan, &options));
  etx_pool_close(&plan.pool);
  return code;
}

int etx_cmd_plan(int argc, char** argv) {
  words in = {.input = NULL};
  const etx_positional positionals[] = {
      {"DIR", "directory of methods, or one file", &in.input, true}};
  const etx_option options[] = {
      {ETX_OPTION_TEXT, "output", 'o', "FILE",
       "the program to write, .pte; must be given but with --dump-after",
       &in.output},
      {ETX_OPTION_CHOICE, "target", 't', "etx|executorch",
       "for which runtime (default: etx)", &in.target},
      {ETX_OPTION_TEXT, "state-layout", 0, "keep:FILE",
       "keep the state's offsets of an older program", &in.state_layout},
      {ETX_OPTION_LIST, "concurrent", 0, "A,B,...",
       "methods that may run at the same time get bytes of their own; may be "
       "given several times",
       &in.concurrent},
      {ETX_OPTION_LIST, "quantize", 0, "KIND[:PATTERN,...]",
       "round weights to none, int8 or int4 (int4/32, int4/64, int4/128; w "
       "behind: int8w, int4w/64 leave activations as floats), all or those "
       "whose names match; may be given several times, the last that matches "
       "decides",
       &in.quantize},
      {ETX_OPTION_FLAG, "pack", 0, NULL,
       "put the weights of layers with many rows, and of convolutions, into "
       "the "
       "program as products read them",
       &in.pack},
      {ETX_OPTION_TEXT, "header", 0, "FILE",
       "write the memory sizes as a C header too", &in.header},
      {ETX_OPTION_TEXT, "algorithm", 0, "NAME",
       "use one planner instead of the best of all", &in.algorithm},
      {ETX_OPTION_TEXT, "passes", 0, "-NAME,...", "switch optional passes off",
       &in.passes},
      {ETX_OPTION_TEXT, "dump-after", 0, "PASS",
       "print the graph after a pass, as YAML, instead of the report",
       &in.dump_after},
      {ETX_OPTION_FLAG, "source-lines", 0, NULL,
       "keep in the program which lines of which files each instruction comes "
       "from",
       &in.source_lines},
      {ETX_OPTION_CHOICE, "report", 0, "short|full|json",
       "how much to tell; full: what was saved, and what is live at the peak",
       &in.report},
      {ETX_OPTION_FLAG, "json", 0, NULL, "the same as --report json", &in.json},
      {ETX_OPTION_FLAG, "quiet", 'q', NULL, "print nothing but errors",
       &in.quiet},
  };
  const etx_usage usage = {"plan",   about,   positionals,
                           1,        options, sizeof options / sizeof *options,
                           examples, more};
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  if (in.report == REPORT_JSON) in.json = true;
  return (int)run(&in);
}
