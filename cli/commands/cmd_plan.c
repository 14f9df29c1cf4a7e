// etx plan: compiles methods into one program file. The file is written under a
// temporary name, its plan is proved from the bytes, and only then the file is
// renamed. So a file of the final name is always complete and proved.

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/calibrate/calibration.h"
#include "cli/commands/commands.h"
#include "cli/plan/kernel_evaluator.h"
#include "cli/plan/operators_option.h"
#include "cli/plan/size_cap_option.h"
#include "cli/plan/weights_option.h"
#include "cli/base/exit_code.h"
#include "cli/base/input_path.h"
#include "cli/json/json_value.h"
#include "cli/base/mapped_file.h"
#include "cli/base/options.h"
#include "cli/base/output_file.h"
#include "cli/plan/plan_progress.h"
#include "cli/plan/plan_report.h"
#include "cli/plan/plan_workers.h"
#include "cli/plan/diagnostic_list.h"
#include "cli/verify/verify_program.h"
#include "exporter/export.h"
#include "exporter/host/host_file.h"
#include "exporter/host/paged_memory.h"
#include "exporter/pass_list.h"

static const char about[] =
    "Compiles the methods of DIR into one program whose methods share their\n"
    "state, and prints the memory that it needs. DIR holds one .yaml or .pt2\n"
    "file for each method, named like the method; DIR/program.yaml may add\n"
    "names, bounds and constants. DIR may also be a single file.\n\n"
    "The report states for each method the bytes of scratch, the lower bound\n"
    "that no plan can beat and the operator at the peak, and lists every copy\n"
    "that remains, with the reason.\n";

static const char examples[] =
    "  etx plan methods/ -o model.pte\n"
    "  etx plan methods/ -o model.pte --target executorch\n"
    "  etx plan methods/ -o model.pte --state-layout keep:old.pte\n"
    "  etx plan methods/ -o model.pte --concurrent encode,decode\n"
    "  etx plan methods/ -o model.pte --memory sram=64K --memory psram=8M\n"
    "  etx plan methods/ -o model.pte --quantize int8 --quantize "
    "'none:*.head'\n"
    "  etx plan methods/ -o model.pte --quantize int4 --calibrate calls/\n"
    "  etx plan model.pt2 -o model.pte --weights model.gguf\n"
    "  etx plan methods/ -o model.pte --pack\n"
    "  etx plan methods/ -o model.pte --specialize 'T=1,2..16'\n"
    "  etx plan methods/ -o model.pte --specialize T=1 --pack-budget 64M\n"
    "  etx plan methods/ -o model.pte --passes=-fold_constants,-simplify\n"
    "  etx plan methods/ -o model.pte --header model_memory.h --json\n"
    "  etx plan methods/ -o model.pte --ops my.ops\n"
    "  etx plan methods/ -o model.pte --report full\n"
    "  etx plan methods/ --dump-after lower\n";

// The lists of passes and planning algorithms.
#define PASS(name, function, kind, ir, sentence) PASS_##kind(#name, sentence)
#define PASS_OPTIONAL(name, sentence) "  -" name ": " sentence "\n",
#define PASS_REQUIRED(name, sentence)
#define ALGORITHM(symbol, sentence) "  " #symbol ": " sentence "\n",
static const char* const more[] = {
    "optional passes, in order (--passes=-NAME switches one off):\n",
#include "exporter/passes/pass_list.def"
    "\nplanning algorithms:\n",
#include "planner/algorithms/plan_algorithms.def"
    NULL};
#undef PASS
#undef ALGORITHM

enum { REPORT_SHORT, REPORT_FULL, REPORT_JSON };  // positions in --report

typedef struct plan_options {
  const char* input;
  const char* output;
  const char* header;
  const char* passes;
  const char* algorithm;
  const char* dump_after;
  const char* state_layout;
  etx_option_list concurrent;
  etx_option_list memory;
  etx_option_list cap;
  etx_option_list ops;
  etx_weights_option weights;
  uint64_t unroll;
  etx_option_list quantize;
  const char* calibrate;
  const char* kv;
  etx_option_list specialize;
  int target;
  int report;  // REPORT_...
  bool pack;
  uint64_t pack_budget;
  uint64_t fold_budget;
  bool parallel_regions;
  bool source_lines;
  bool json;
  bool quiet;
} plan_options;

// The context of one run of the command.
typedef struct plan_context {
  const plan_options* options;
  etx_pool pool;
  etx_diagnostic_list problems;
  etx_export_report report;
  bool proof_failed;
  etx_plan_progress progress;
  etx_plan_workers workers;
  etx_diag diag;
} plan_context;

// The sink of --dump-after. No report is printed then.
static etx_status write_stdout(void* context, etx_bytes bytes) {
  if (fwrite(bytes.data, 1, bytes.size, stdout) == bytes.size) return ETX_OK;
  return etx_diag_fail(context, ETX_HOST_FAILED,
                       "cannot write the graph to standard output: %s",
                       strerror(errno));
}

static bool read_state_layout(const plan_options* options,
                              const char** out_path) {
  static const char keep[] = "keep:";
  *out_path = NULL;
  if (options->state_layout == NULL) return true;
  if (strncmp(options->state_layout, keep, sizeof keep - 1) != 0) return false;
  *out_path = options->state_layout + sizeof keep - 1;
  return **out_path != '\0';
}

static etx_export_options make_export_options(const plan_options* options,
                                              const char* layout,
                                              etx_diag* diag) {
  const etx_sink dump = {write_stdout, diag};
  etx_export_options export_options = {
      .target = options->target == 0 ? ETX_TARGET_ETX : ETX_TARGET_EXECUTORCH,
      .evaluator = etx_kernel_evaluator(),
      .fold_budget = options->fold_budget,
      .passes = options->passes,
      .algorithm = options->algorithm,
      .dump_after = options->dump_after,
      .dump = dump,
      .keep_layout = layout,
      .pack_weights = options->pack || options->pack_budget > 0,
      .pack_budget = options->pack_budget,
      .parallel_regions = options->parallel_regions,
      .source_lines = options->source_lines,
  };
  return export_options;
}

static etx_status prove(plan_context* plan, const char* path) {
  etx_mapped_file file;
  ETX_TRY(etx_mapped_file_open(&file, path, &plan->diag));
  const etx_status status = etx_verify_program(file.bytes, NULL, &plan->diag);
  etx_mapped_file_close(&file);
  plan->proof_failed = status == ETX_BAD_PLAN || status == ETX_BAD_FILE;
  return status;
}

static etx_status write_header(plan_context* plan, const char* program_path,
                               etx_output_file* header) {
  etx_mapped_file file;
  ETX_TRY(etx_mapped_file_open(&file, program_path, &plan->diag));
  etx_program program;
  etx_status status = etx_program_open(&program, file.bytes, &etx_all_kernels,
                                       NULL, &plan->diag);
  if (status == ETX_OK) {
    status = etx_plan_report_header(&program, header, &plan->diag);
  }
  etx_mapped_file_close(&file);
  return status;
}

static etx_status discard(void* context, etx_bytes bytes) {
  (void)context;
  (void)bytes;
  return ETX_OK;
}

static const etx_sink discard_sink = {discard, NULL};

// `output` is followed by the file of the header, if one is wanted.
static etx_status plan_into(plan_context* plan, etx_ir_module* module,
                            const etx_export_options* export_options,
                            etx_output_file* output) {
  etx_output_file* const header = output + 1;
  const bool has_header = plan->options->header != NULL;
  const etx_sink file = etx_output_file_sink(output);
  const etx_sink sink = etx_plan_progress_sink(&plan->progress, &file);
  ETX_TRY(etx_export_plan(module, export_options, &sink, &plan->report,
                          &plan->problems.problems, &plan->diag));
  etx_plan_progress_show(&plan->progress, "file: flushing to the disk", 0, 0);
  ETX_TRY(etx_output_file_finish(output));
  ETX_TRY(prove(plan, output->temporary));
  if (!has_header) return etx_output_file_keep(output);
  ETX_TRY(etx_output_file_open(header, plan->options->header, &plan->diag));
  etx_status status = write_header(plan, output->temporary, header);
  if (status == ETX_OK) status = etx_output_files_keep(output, 2);
  etx_output_file_discard(header);
  return status;
}

static void show_calibration(void* context, const char* stage, size_t done,
                             size_t total) {
  plan_context* const plan = context;
  etx_plan_progress_show(&plan->progress, stage, done, total);
}

// After a method could not be read: plans the others, to report their problems
// too.
static void plan_remaining(plan_context* plan, etx_ir_module* module,
                           const etx_export_options* export_options) {
  etx_export_options quiet = *export_options;
  quiet.dump_after = NULL;
  if (module->method_count == 0) return;
  const etx_status ignored =
      etx_export_plan(module, &quiet, &discard_sink, &plan->report,
                      &plan->problems.problems, NULL);
  (void)ignored;  // the command fails in any case
}

// Applies each value of an option, which its message names.
static etx_status apply_each(plan_context* plan, etx_ir_module* module,
                             const etx_option_list* values, const char* option,
                             etx_status (*apply)(etx_ir_module* module,
                                                 const char* value,
                                                 etx_diag* diag)) {
  for (size_t i = 0; i < values->count; ++i) {
    const etx_status status = apply(module, values->items[i], &plan->diag);
    if (status == ETX_OK) continue;
    etx_diag_append(&plan->diag, ", in option '--%s'", option);
    return status;
  }
  return ETX_OK;
}

// Reads the methods into a module without methods; also an
// etx_calibration_source.read.
static etx_status read_methods(void* context, etx_ir_module* module,
                               etx_diag* diag) {
  plan_context* const plan = context;
  const plan_options* const options = plan->options;
  if (options->unroll != UINT64_MAX) module->unroll_limit = options->unroll;
  ETX_TRY(etx_operators_option_apply(&options->ops, module, diag));
  ETX_TRY(etx_size_cap_option_apply(&options->cap, module, diag));
  ETX_TRY(etx_weights_option_apply(&options->weights, module, diag));
  return etx_export_read(module, options->input, &plan->problems.problems,
                         diag);
}

// Plans into the output files, by recorded calls if there are any.
static etx_status plan_calibrated(plan_context* plan, etx_ir_module* module,
                                  etx_export_options* export_options,
                                  etx_output_file* outputs) {
  const plan_options* const options = plan->options;
  if (options->calibrate == NULL) {
    return plan_into(plan, module, export_options, outputs);
  }
  etx_output_file temporary;
  const etx_calibration_source source = {
      .module = module,
      .calls = options->calibrate,
      .temporary = &temporary,
      .passes = options->passes,
      .read = read_methods,
      .progress = show_calibration,
      .context = plan,
      .workers = export_options->workers,
  };
  etx_calibration* const calibration =
      etx_pool_take(&plan->pool, sizeof *calibration);
  if (calibration == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_output_file_open(&temporary, options->output, &plan->diag));
  etx_status status =
      etx_calibration_open(calibration, &source, &plan->pool, &plan->diag);
  etx_output_file_discard(&temporary);
  if (status == ETX_OK) {
    export_options->layer_inputs = &calibration->inputs;
    status = plan_into(plan, module, export_options, outputs);
  }
  etx_calibration_close(calibration);
  return status;
}

static etx_status plan_all(plan_context* plan,
                           etx_export_options* export_options) {
  etx_ir_module module;
  const plan_options* const options = plan->options;
  etx_ir_module_init(&module, &plan->pool);
  ETX_TRY(etx_input_path_check(plan->options->input, &plan->diag));
  if (options->output != NULL) {
    ETX_TRY(etx_pages_use(&plan->pool,
                          etx_path_directory(etx_text_of(options->output))));
  }
  etx_plan_progress_show(&plan->progress, "reading", 0, 0);
  const etx_status read = read_methods(plan, &module, &plan->diag);
  if (read != ETX_OK) {
    plan_remaining(plan, &module, export_options);
    return read;
  }
  etx_plan_workers_open(&plan->workers, &module);
  export_options->workers = etx_plan_workers_get(&plan->workers);
  ETX_TRY(apply_each(plan, &module, &options->concurrent, "concurrent",
                     etx_export_concurrent));
  ETX_TRY(etx_weights_option_add_rule(&options->weights, &module, &plan->diag));
  ETX_TRY(apply_each(plan, &module, &options->quantize, "quantize",
                     etx_export_quantize));
  if (options->kv != NULL) {
    ETX_TRY(etx_export_kv(&module, options->kv, &plan->diag));
  }
  if (options->memory.count > 0) module.memory_count = 0;
  ETX_TRY(
      apply_each(plan, &module, &options->memory, "memory", etx_export_memory));
  // Readers of other runtimes choose no variants, so their files get none.
  if (options->target == 0) {
    ETX_TRY(apply_each(plan, &module, &options->specialize, "specialize",
                       etx_export_specialize));
  }
  if (plan->options->output == NULL) {  // --dump-after without --output
    return etx_export_plan(&module, export_options, &discard_sink,
                           &plan->report, &plan->problems.problems,
                           &plan->diag);
  }
  etx_output_file outputs[2];  // the program and the header
  ETX_TRY(etx_output_file_open(outputs, plan->options->output, &plan->diag));
  const etx_status status =
      plan_calibrated(plan, &module, export_options, outputs);
  etx_output_file_discard(outputs);
  return status;
}

static etx_exit report(plan_context* plan, etx_status status) {
  etx_plan_progress_end(&plan->progress);
  const size_t count = plan->problems.problems.count;
  if (status != ETX_OK && count == 0) {
    etx_diagnostic_list_add(&plan->problems, plan->options->input, status,
                            &plan->diag);
  }
  json_t* const list = etx_diagnostic_list_take(&plan->problems);
  if (status == ETX_OK && plan->options->dump_after != NULL)
    return ETX_EXIT_DONE;
  if (list != NULL) {
    json_t* const root =
        status == ETX_OK
            ? etx_plan_report_json(plan->options->output, &plan->report)
            : json_object();
    json_object_set_new(root, "problems", list);
    if (!etx_json_print(root)) return ETX_EXIT_MACHINE_FAILED;
  } else if (status == ETX_OK && !plan->options->quiet) {
    etx_plan_report_print(plan->options->output, &plan->report,
                          plan->options->report == REPORT_FULL);
  }
  if (status == ETX_OK) return ETX_EXIT_DONE;
  const etx_exit code =
      plan->proof_failed ? ETX_EXIT_PROOF_FAILED : etx_exit_from_status(status);
  if (count == 0)
    etx_error_report("plan", plan->options->input, status, &plan->diag);
  if (plan->options->output != NULL) {
    fprintf(stderr, "etx plan: '%s' was not written\n", plan->options->output);
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

// True for names that etx plan would read as an input.
static bool is_input_name(const char* path) {
  static const char* const ends[] = {".yaml", ".pt2", ".safetensors", ".gguf"};
  if (path == NULL) return false;
  const size_t size = strlen(path);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; ++i) {
    const size_t end = strlen(ends[i]);
    if (size >= end && strcmp(path + size - end, ends[i]) == 0) return true;
  }
  return false;
}

static etx_exit check_outputs(const plan_options* options) {
  const char* const paths[] = {options->output, options->header};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i) {
    if (!is_input_name(paths[i])) continue;
    return etx_usage_error_report(
        "plan",
        "cannot write '%s': .yaml, .pt2, .safetensors and .gguf are names of "
        "inputs; a program is named .pte",
        paths[i]);
  }
  if (options->output != NULL && options->header != NULL &&
      strcmp(options->output, options->header) == 0) {
    return etx_usage_error_report(
        "plan", "options '--output' and '--header' name the same file '%s'",
        options->output);
  }
  return ETX_EXIT_DONE;
}

static etx_exit run(const plan_options* options) {
  const char* layout = NULL;
  const etx_exit checked = check_outputs(options);
  if (checked != ETX_EXIT_DONE) return checked;
  if (options->output == NULL &&
      (options->dump_after == NULL || options->header != NULL)) {
    return etx_usage_error_report("plan",
                                  "no output file; give one with -o FILE");
  }
  if (!read_state_layout(options, &layout)) {
    return etx_usage_error_report(
        "plan", "option '--state-layout' expects keep:FILE, not '%s'",
        options->state_layout);
  }
  plan_context plan = {.options = options};
  if (!options->quiet && isatty(STDERR_FILENO)) plan.progress.out = stderr;
  etx_diag_init(&plan.diag);
  if (options->dump_after != NULL &&
      etx_pass_check_name(etx_text_of(options->dump_after), &plan.diag) !=
          ETX_OK) {
    return etx_usage_error_report("plan", "option '--dump-after': %s",
                                  plan.diag.text);
  }
  if (options->specialize.count > 0 && options->target != 0) {
    fprintf(stderr,
            "etx plan: --specialize has no effect for this target, whose "
            "runtime chooses no variants\n");
  }
  if (!options->quiet) {
    warn_of_former_names(options->passes);
    warn_of_former_names(options->dump_after);
  }
  const etx_status found =
      layout == NULL ? ETX_OK : etx_input_path_check(layout, &plan.diag);
  if (found != ETX_OK)
    return etx_error_report("plan", layout, found, &plan.diag);
  etx_pool_init(&plan.pool);
  etx_diagnostic_list_init(&plan.problems, options->json);
  etx_export_options export_options =
      make_export_options(options, layout, &plan.diag);
  export_options.progress = etx_plan_progress_show;
  export_options.progress_context = &plan.progress;
  const etx_exit code = report(&plan, plan_all(&plan, &export_options));
  etx_plan_workers_close(&plan.workers);
  etx_pool_close(&plan.pool);
  return code;
}

int etx_cmd_plan(int argc, char** argv) {
  plan_options options = {.input = NULL, .unroll = UINT64_MAX};
  const etx_usage usage = {
      .command = "plan",
      .about = about,
      .examples = examples,
      .more = more,
      .positionals = ETX_POSITIONALS(
          {"DIR", "directory of methods, or one file", &options.input, true}),
      .options = ETX_OPTIONS(
          ETX_TEXT("output", 'o', "FILE",
                   "the program to write, .pte; required without --dump-after",
                   &options.output),
          ETX_CHOICE("target", 't', "etx|executorch",
                     "the runtime to plan for (default: etx)", &options.target),
          ETX_TEXT("state-layout", 0, "keep:FILE",
                   "keep the offsets of state of an older program",
                   &options.state_layout),
          ETX_LIST("concurrent", 0, "A,B,...",
                   "methods that may run at the same time share no memory; may "
                   "be given several times",
                   &options.concurrent),
          ETX_LIST("memory", 0, "NAME[=BYTES],...",
                   "a memory of the board, the fastest first: sram=64K, "
                   "psram=8M,cost=4,state; scratch is planned over them",
                   &options.memory),
          ETX_SIZE_CAP_OPTION(&options.cap),
          ETX_COUNT("unroll", 0, "N",
                    "the most nodes that one scan or map may become; a longer "
                    "one stays a loop (default: 4096)",
                    &options.unroll),
          ETX_LIST("quantize", 0, "KIND[:PATTERN,...]",
                   "quantise weights, all or those whose names match: int8, "
                   "int4 (int4/32, int4/64, int4/128), int4k, weight-only "
                   "int8w or int4w, halves f16 or bf16, or none; may be given "
                   "several times, the last match decides",
                   &options.quantize),
          ETX_TEXT("calibrate", 0, "DIR",
                   "with --quantize: make the recorded calls of DIR, and round "
                   "weights so that the results of layers on such inputs "
                   "change little",
                   &options.calibrate),
          ETX_TEXT("kv", 0, "TYPE",
                   "store caches of keys and values that only attention "
                   "reads as int8, f16 or bf16 (default: f32)",
                   &options.kv),
          ETX_WEIGHTS_OPTION(&options.weights),
          ETX_OPERATORS_OPTION(&options.ops),
          ETX_LIST("specialize", 0, "[METHOD:]NAME=N,LOW..HIGH,...",
                   "also plan methods for some sizes alone, T=1,2..16; runs of "
                   "these sizes use the variant; may be given several times",
                   &options.specialize),
          ETX_FLAG("pack", 0,
                   "store weights of convolutions and of layers with many rows "
                   "in the order in which kernels read them",
                   &options.pack),
          ETX_BYTES("pack-budget", 0, "BYTES",
                    "with --pack, which it includes: also store weights twice "
                    "that some methods read in another order than others, in "
                    "at most so many bytes, 64M (default: 0)",
                    &options.pack_budget),
          ETX_BYTES("fold-budget", 0, "NUMBER",
                    "compute constants when planning with at most so many "
                    "multiply-adds and elements; other nodes of constants are "
                    "computed in each call (default: 20 000 000 000)",
                    &options.fold_budget),
          ETX_FLAG("parallel-regions", 0,
                   "keep the memory of independent parts of a method apart, so "
                   "that an application can run them at the same time; needs "
                   "more scratch",
                   &options.parallel_regions),
          ETX_TEXT("header", 0, "FILE",
                   "also write the memory sizes as a C header",
                   &options.header),
          ETX_TEXT("algorithm", 0, "NAME",
                   "use one planning algorithm instead of the best of all",
                   &options.algorithm),
          ETX_TEXT("passes", 0, "-NAME,...", "switch optional passes off",
                   &options.passes),
          ETX_TEXT(
              "dump-after", 0, "PASS",
              "print the graph after a pass as YAML, instead of the report",
              &options.dump_after),
          ETX_FLAG("source-lines", 0,
                   "store the source lines of each instruction in the program",
                   &options.source_lines),
          ETX_CHOICE("report", 0, "short|full|json",
                     "the detail of the report; full: what was saved, and what "
                     "is live at the peak",
                     &options.report),
          ETX_FLAG("json", 0, "the same as --report json", &options.json),
          ETX_FLAG("quiet", 'q', "print nothing but errors", &options.quiet)),
  };
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  if (options.report == REPORT_JSON) options.json = true;
  return (int)run(&options);
}
