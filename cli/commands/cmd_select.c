// etx select: writes the files of a build that has only what models need.

#include <stdio.h>
#include <string.h>

#include "cli/commands/commands.h"
#include "cli/amalgamate/packages.h"
#include "cli/amalgamate/selected_sources.h"
#include "cli/base/exit_code.h"
#include "cli/base/options.h"
#include "cli/base/output_file.h"
#include "cli/base/plural.h"
#include "cli/plan/operators_option.h"
#include "cli/program/pte_file.h"
#include "cli/select/narrowed_build.h"
#include "cli/select/selected_build.h"
#include "cli/select/selection_yaml.h"
#include "exporter/host/host_file.h"
#include "runtime/kernel.h"
#include "runtime/program/build_features.h"

static const char about[] =
    "Writes what a build needs for some program files: a table of their "
    "kernels,\n"
    "element types, features and bytes of memory, as C, CMake, compiler "
    "options\n"
    "and in the form of ExecuTorch's selected_operators.yaml. Such YAML files "
    "are\n"
    "inputs, too. Several inputs are united.\n";

static const char examples[] =
    "  etx select model.pte -o selected\n"
    "  etx select encoder.pte decoder.pte more_ops.yaml -o selected\n"
    "  etx select model.pte -o selected --widest-set base --leave-out "
    "messages\n"
    "  etx select model.pte -o selected --trace use.yaml --narrow\n"
    "  cc @selected/cc.args -O2 app.c etx.c -lm -o app\n"
    "  etx select model.pte --amalgamate core -o sources\n"
    "  cc -O2 app.c sources/etx.c -Isources -lm -o app\n";

typedef struct select_options {
  const char* first;
  etx_option_list others;
  const char* output;
  const char* widest_set;
  etx_option_list left_out;
  etx_option_list ops;
  etx_option_list traces;
  bool narrows;
  const char* layer;  // of the sources that are written; NULL: none are
  const char* machine;
  etx_option_list kept;
  const char* package;
} select_options;

// The inputs: open until the end, since texts are borrowed from them.
typedef struct select_inputs {
  etx_pte_file* files;
  size_t file_count;
  etx_selected_programs programs;
  bool has_lists;
  etx_traced traced;
  etx_selection selection;
  etx_selected_facts facts;
  etx_described_operators described;
  const char* path;  // of the input that is being read, for messages
} select_inputs;

static bool ends_with(const char* path, const char* end) {
  const size_t size = strlen(path), end_size = strlen(end);
  return size > end_size && strcmp(path + size - end_size, end) == 0;
}

// Names the methods that have delegates. A program without any other method is
// refused.
static etx_status check_delegates(const etx_pte* pte, const char* path,
                                  etx_diag* diag) {
  const size_t methods = etx_pte_plan_count(pte);
  size_t refused = 0;
  for (size_t i = 0; i < methods; ++i) {
    const etx_pte_plan plan = etx_pte_plan_at(pte, i);
    const size_t count = etx_pte_delegate_count(&plan);
    if (count == 0) continue;
    const etx_text method = etx_pte_plan_name(&plan);
    const etx_text first = etx_pte_delegate_at(&plan, 0).id;
    ++refused;
    fprintf(stderr,
            "etx select: %s: method '%.*s' has %zu delegate%s (first: '%.*s'), "
            "which etx does not run: it refuses the method when it is loaded\n",
            path, (int)method.size, method.data, count, etx_plural(count),
            (int)first.size, first.data);
  }
  if (refused == 0 || refused < methods) return ETX_OK;
  return etx_diag_fail(diag, ETX_UNSUPPORTED,
                       "no method of the file runs in etx; export them without "
                       "to_backend and without a partitioner");
}

static etx_status add_program(select_inputs* inputs, etx_pool* pool,
                              etx_diag* diag) {
  etx_selected_programs* const all = &inputs->programs;
  etx_pte_file* const file = &inputs->files[inputs->file_count];
  etx_program* const program = &all->programs[all->count];
  const etx_selecting to = {etx_text_of(inputs->path), NULL, &inputs->selection,
                            &inputs->facts, pool};
  ETX_TRY(etx_pte_file_open(file, inputs->path, diag));
  ++inputs->file_count;
  ETX_TRY(
      etx_program_open(program, file->program, &etx_all_kernels, NULL, diag));
  all->paths[all->count++] = to.path;
  ETX_TRY(check_delegates(&program->pte, inputs->path, diag));
  ETX_TRY(
      etx_described_add_program(&inputs->described, pool, &program->pte, diag));
  return etx_select_program(program, &to, diag);
}

static etx_status add_yaml(select_inputs* inputs, etx_pool* pool,
                           etx_diag* diag) {
  etx_bytes bytes;
  etx_selection selection;
  ETX_TRY(etx_file_read(pool, inputs->path, &bytes, diag));
  const etx_text text = {(const char*)bytes.data, bytes.size};
  ETX_TRY(etx_selection_yaml_read(pool, text, &selection, diag));
  inputs->has_lists = true;
  // A list of operators does not say how they are called.
  inputs->facts.features |=
      ETX_FEATURES_OF_DYNAMIC | ETX_FEATURE_BIT(DATA_FILES);
  return etx_selection_unite(&inputs->selection, pool, &selection);
}

// Adds the operators that a file of --ops describes.
static etx_status add_description(select_inputs* inputs, etx_pool* pool,
                                  etx_diag* diag) {
  etx_bytes bytes;
  ETX_TRY(etx_file_read(pool, inputs->path, &bytes, diag));
  const etx_text text = {(const char*)bytes.data, bytes.size};
  return etx_described_add(&inputs->described, pool, text, diag);
}

static etx_status add_input(select_inputs* inputs, const char* path,
                            etx_pool* pool, etx_diag* diag) {
  inputs->path = path;
  if (ends_with(path, ".yaml") || ends_with(path, ".yml")) {
    return add_yaml(inputs, pool, diag);
  }
  if (ends_with(path, ".pte") || ends_with(path, ".bpte")) {
    return add_program(inputs, pool, diag);
  }
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "the name ends in neither .pte, .bpte, .yaml nor .yml");
}

static etx_status add_inputs(const select_options* options,
                             select_inputs* inputs, etx_pool* pool,
                             etx_diag* diag) {
  const size_t count = 1 + options->others.count;
  etx_selected_programs* const programs = &inputs->programs;
  inputs->files = etx_pool_take(pool, count * sizeof *inputs->files);
  programs->programs = etx_pool_take(pool, count * sizeof *programs->programs);
  programs->paths = etx_pool_take(pool, count * sizeof *programs->paths);
  if (inputs->files == NULL || programs->programs == NULL ||
      programs->paths == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  ETX_TRY(add_input(inputs, options->first, pool, diag));
  for (size_t i = 0; i < options->others.count; ++i) {
    ETX_TRY(add_input(inputs, options->others.items[i], pool, diag));
  }
  for (size_t i = 0; i < options->ops.count; ++i) {
    inputs->path = options->ops.items[i];
    ETX_TRY(add_description(inputs, pool, diag));
  }
  inputs->path = NULL;
  return ETX_OK;
}

static void report_unknown(void* context, const etx_selected_operator* op) {
  (void)context;
  fprintf(stderr,
          "etx select: operator '%.*s' is not one of etx's, and no program "
          "and no --ops FILE describes it",
          (int)op->name.size, op->name.data);
  for (size_t i = 0; i < op->debug_info.count; ++i) {
    const etx_text path = op->debug_info.items[i];
    fprintf(stderr, "%s%.*s", i == 0 ? "; it is used by " : ", ",
            (int)path.size, path.data);
  }
  fputc('\n', stderr);
}

// Sets the choices that no file states.
static etx_exit set_choices(const select_options* options,
                            etx_selected_build* build) {
  build->has_messages = true;
  build->has_verifier = true;
  build->has_size_programs = true;
  build->is_narrowed = options->narrows;
  for (size_t i = 0; i < options->left_out.count; ++i) {
    const char* const part = options->left_out.items[i];
    if (strcmp(part, "messages") == 0) {
      build->has_messages = false;
    } else if (strcmp(part, "verifier") == 0) {
      build->has_verifier = false;
    } else if (strcmp(part, "size-programs") == 0) {
      build->has_size_programs = false;
    } else {
      return etx_usage_error_report(
          "select",
          "--leave-out '%s', expected messages, verifier or size-programs",
          part);
    }
  }
  if (options->widest_set == NULL) return ETX_EXIT_DONE;
  for (int set = ETX_SET_BASE; set < ETX_SET_COUNT; ++set) {
    build->widest_set = (etx_instruction_set)set;
    if (strcmp(etx_instruction_set_name(build->widest_set),
               options->widest_set) == 0) {
      return ETX_EXIT_DONE;
    }
  }
  return etx_usage_error_report("select",
                                "--widest-set '%s' is not an instruction set",
                                options->widest_set);
}

// Checks the choices of the sources that are written.
static etx_exit check_sources(const select_options* options) {
  if (options->layer != NULL && strcmp(options->layer, "core") != 0 &&
      strcmp(options->layer, "module") != 0) {
    return etx_usage_error_report(
        "select", "--amalgamate '%s', expected core or module", options->layer);
  }
  if (options->machine != NULL &&
      !etx_sources_machine_is_known(options->machine)) {
    return etx_usage_error_report(
        "select", "--machine '%s', expected x86, arm64 or portable",
        options->machine);
  }
  if (options->package != NULL &&
      (options->layer != NULL || options->kept.count > 0 ||
       etx_package_find(options->package) == ETX_PACKAGE_KINDS)) {
    return etx_usage_error_report(
        "select",
        "--package '%s', expected zephyr, esp-idf, arduino or cmsis, without "
        "--amalgamate and --keep",
        options->package);
  }
  if (options->layer == NULL && options->package == NULL &&
      (options->machine != NULL || options->kept.count > 0)) {
    return etx_usage_error_report(
        "select",
        "--machine and --keep are for sources: add --amalgamate or --package");
  }
  return ETX_EXIT_DONE;
}

// Writes all files under temporary names, and renames them when all are
// complete.
static etx_status write_files(const etx_selected_build* build,
                              const etx_selection* selection,
                              const char* folder, etx_pool* pool,
                              etx_diag* diag) {
  etx_output_file files[ETX_SELECTED_FILES];
  size_t opened = 0;
  etx_status status = etx_directory_make(folder, diag);
  while (status == ETX_OK && opened < ETX_SELECTED_FILES) {
    const etx_selected_file* const row = &etx_selected_files[opened];
    etx_output_file* const file = &files[opened];
    const etx_text path =
        etx_path_join(pool, etx_text_of(folder), etx_text_of(row->name));
    status = path.data == NULL ? ETX_OUT_OF_MEMORY
                               : etx_output_file_open(file, path.data, diag);
    if (status != ETX_OK) break;
    ++opened;
    const etx_sink sink = etx_output_file_sink(file);
    status = row->write(build, selection, folder, &sink);
    if (status == ETX_OK) status = etx_output_file_finish(file);
  }
  if (status == ETX_OK) status = etx_output_files_keep(files, opened);
  for (size_t i = 0; i < opened; ++i) etx_output_file_discard(&files[i]);
  return status;
}

static etx_status write_sources(const select_options* options,
                                const etx_selected_build* build,
                                const etx_selection* selection, etx_pool* pool,
                                etx_diag* diag) {
  etx_text_files files = {.pool = pool};
  const etx_sources_choice choice = {
      .has_module = strcmp(options->layer, "module") == 0,
      .machine = options->machine,
      .kept = options->kept.items,
      .kept_count = options->kept.count,
  };
  ETX_TRY(
      etx_selected_sources_make(build, selection, &choice, pool, &files, diag));
  return etx_text_files_write(&files, options->output, diag);
}

// A package has one program, and its example asks for the inputs of methods.
static etx_status write_package(const select_options* options,
                                const etx_selected_build* build,
                                const select_inputs* inputs, etx_pool* pool,
                                etx_diag* diag) {
  static const char* const kept[] = {"etx_program_input_at"};
  etx_text_files sources = {.pool = pool}, files = {.pool = pool};
  const etx_sources_choice choice = {
      .machine = options->machine == NULL ? "portable" : options->machine,
      .kept = kept,
      .kept_count = sizeof kept / sizeof *kept,
  };
  if (inputs->file_count != 1 || options->others.count > 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "a package has one program, expected one .pte file");
  }
  ETX_TRY(etx_selected_sources_make(build, &inputs->selection, &choice, pool,
                                    &sources, diag));
  ETX_TRY(etx_package_make(etx_package_find(options->package), &sources,
                           inputs->files[0].program, &files));
  return etx_text_files_write(&files, options->output, diag);
}

static etx_status write_build(const select_options* options,
                              const etx_selected_build* build,
                              const select_inputs* inputs, etx_pool* pool,
                              etx_diag* diag) {
  if (options->package != NULL) {
    return write_package(options, build, inputs, pool, diag);
  }
  if (options->layer != NULL) {
    return write_sources(options, build, &inputs->selection, pool, diag);
  }
  return write_files(build, &inputs->selection, options->output, pool, diag);
}

static void print_build(const etx_selected_build* build, const char* folder) {
  const size_t count = build->count - build->own_count;
  printf("%s: %zu kernel%s of %zu", folder, count, etx_plural(count),
         etx_all_kernels.count);
  if (build->own_count > 0) {
    printf(", and %zu of the application", build->own_count);
  }
  printf("\n");
  printf("types:");
#define DTYPE(NAME, name, code, bytes, category) \
  if ((build->dtypes >> (code)&1) != 0) printf(" " name);
#include "format/tensor/dtype.def"
#undef DTYPE
  printf("\ndynamic sizes: %s\n", build->is_dynamic ? "yes" : "no");
  printf("control flow: %s\n", build->has_control_flow ? "yes" : "no");
  printf("data files: %s\n", build->has_data_files ? "yes" : "no");
  printf("fingerprint: %s\n", build->fingerprint);
}

// ---- traces ----

static etx_status read_traces(const select_options* options,
                              select_inputs* inputs, etx_pool* pool,
                              etx_diag* diag) {
  for (size_t i = 0; i < options->traces.count; ++i) {
    etx_bytes bytes;
    etx_traced traced;
    inputs->path = options->traces.items[i];
    ETX_TRY(etx_file_read(pool, inputs->path, &bytes, diag));
    const etx_text text = {(const char*)bytes.data, bytes.size};
    ETX_TRY(etx_trace_read(pool, text, &inputs->selection, &inputs->facts,
                           &traced, diag));
    ETX_TRY(etx_traced_unite(&inputs->traced, pool, &traced));
  }
  inputs->path = NULL;
  return ETX_OK;
}

// "aten::add.out with float64, int64", "aten::add.out", or a feature.
static void print_cell(const etx_missing_cell* cell) {
  const char* before = " with";
  if (cell->op != NULL) {
    printf("%.*s", (int)cell->op->name.size, cell->op->name.data);
  } else {
    before = "";
  }
  for (int i = 0; i < ETX_DTYPE_COUNT && cell->dtypes != UINT32_MAX; ++i) {
    if ((cell->dtypes >> i & 1) == 0) continue;
    printf("%s %s", before, etx_dtype_name((etx_dtype)i));
    before = ",";
  }
  if (cell->dtypes == UINT32_MAX) printf(" with any type");
  for (int i = 0; i < ETX_FEATURE_COUNT; ++i) {
    if ((cell->features >> i & 1) == 0) continue;
    printf("%s%s", before, etx_build_feature_name((etx_build_feature)i));
    before = ", ";
  }
  printf("\n");
}

// Prints a title before the first cell.
typedef struct cell_printer {
  size_t count;
} cell_printer;

static void print_unreached(void* context, etx_text path, etx_text method,
                            const etx_missing_cell* cell) {
  cell_printer* const printer = context;
  (void)path, (void)method;
  if (printer->count++ == 0) printf("never reached by the traces:\n");
  printf("  ");
  print_cell(cell);
}

static void print_refused(void* context, etx_text path, etx_text method,
                          const etx_missing_cell* cell) {
  cell_printer* const printer = context;
  if (printer->count++ == 0)
    printf("left out, so these methods are refused:\n");
  printf("  %.*s, method %.*s: ", (int)path.size, path.data, (int)method.size,
         method.data);
  print_cell(cell);
}

// Compares what the programs can use with what the traces have reached. With
// --narrow, the selection becomes what was reached.
static etx_status use_traces(const select_options* options,
                             select_inputs* inputs, etx_pool* pool,
                             etx_diag* diag) {
  etx_narrowed narrowed;
  cell_printer printer = {0};
  if (options->traces.count == 0) return ETX_OK;
  ETX_TRY(read_traces(options, inputs, pool, diag));
  ETX_TRY(etx_narrowed_find(&inputs->programs, &inputs->traced, pool, &narrowed,
                            diag));
  if (!options->narrows) {
    const etx_missing_cells cells = {print_unreached, &printer};
    etx_narrowed_compare(&narrowed, &inputs->selection, &inputs->facts, &cells);
    return ETX_OK;
  }
  const etx_missing_cells cells = {print_refused, &printer};
  ETX_TRY(etx_narrowed_check_methods(&narrowed, &inputs->programs, pool, &cells,
                                     diag));
  inputs->selection = narrowed.selection;
  inputs->facts = narrowed.facts;
  return ETX_OK;
}

static etx_exit check_options(const select_options* options) {
  if (options->output == NULL) {
    return etx_usage_error_report("select",
                                  "no output directory; give one with -o DIR");
  }
  if (options->narrows && options->traces.count == 0) {
    return etx_usage_error_report(
        "select",
        "--narrow needs what was used: give --trace with a file that 'etx run "
        "--trace-ops' has written");
  }
  return ETX_EXIT_DONE;
}

static etx_status select_build(const select_options* options,
                               select_inputs* inputs, etx_selected_build* build,
                               etx_pool* pool, etx_diag* diag) {
  const etx_unknown_operators unknown = {&inputs->described, report_unknown,
                                         NULL};
  ETX_TRY(add_inputs(options, inputs, pool, diag));
  if (options->narrows && inputs->has_lists) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "--narrow keeps what traces of programs have reached, "
                         "so it takes no lists of operators");
  }
  ETX_TRY(use_traces(options, inputs, pool, diag));
  ETX_TRY(etx_selected_build_fill(&inputs->selection, &inputs->facts, &unknown,
                                  pool, build, diag));
  ETX_TRY(write_build(options, build, inputs, pool, diag));
  print_build(build, options->output);
  return ETX_OK;
}

static etx_exit run_select(const select_options* options) {
  etx_diag diag;
  etx_pool pool;
  select_inputs inputs = {.files = NULL};
  etx_selected_build build = {.count = 0};
  etx_exit chosen = set_choices(options, &build);
  if (chosen == ETX_EXIT_DONE) chosen = check_sources(options);
  if (chosen != ETX_EXIT_DONE) return chosen;
  etx_diag_init(&diag);
  etx_pool_init(&pool);
  const etx_status status =
      select_build(options, &inputs, &build, &pool, &diag);
  const etx_exit result =
      status == ETX_OK ? ETX_EXIT_DONE
                       : etx_error_report("select", inputs.path, status, &diag);
  for (size_t i = 0; i < inputs.file_count; ++i) {
    etx_pte_file_close(&inputs.files[i]);
  }
  etx_pool_close(&pool);
  return result;
}

int etx_cmd_select(int argc, char** argv) {
  select_options options = {.output = NULL};
  const etx_usage usage = {
      .command = "select",
      .about = about,
      .examples = examples,
      .positionals = ETX_POSITIONALS({"FILE...",
                                      "programs (.pte, .bpte) and lists of "
                                      "operators (.yaml)",
                                      &options.first, true}),
      .rest = &options.others,
      .options = ETX_OPTIONS(
          ETX_TEXT("output", 'o', "DIR", "the directory to write",
                   &options.output),
          ETX_TEXT("widest-set", 0, "SET",
                   "widest instruction set of loops, such as base or avx2\n"
                   "(default: all)",
                   &options.widest_set),
          ETX_LIST(
              "leave-out", 0, "PART",
              "a part of the build that is left out: messages, verifier or "
              "size-programs",
              &options.left_out),
          ETX_OPERATORS_OPTION(&options.ops),
          ETX_LIST("trace", 0, "FILE",
                   "what calls have used (etx run --trace-ops); lists what was "
                   "never reached",
                   &options.traces),
          ETX_FLAG("narrow", 0,
                   "leave out what no trace has reached; methods that need it "
                   "are refused when they are loaded",
                   &options.narrows),
          ETX_TEXT("amalgamate", 0, "LAYER",
                   "write etx.c and etx.h with the selected parts alone: core\n"
                   "(memory from the caller) or module (files and a heap)",
                   &options.layer),
          ETX_TEXT("machine", 0, "NAME",
                   "the processor of these sources: x86, arm64 or portable\n"
                   "(default: all)",
                   &options.machine),
          ETX_LIST("keep", 0, "FUNCTION",
                   "one more function that the application calls",
                   &options.kept),
          ETX_TEXT("package", 0, "KIND",
                   "write these sources, the program and an example as a "
                   "package:\nzephyr, esp-idf, arduino or cmsis",
                   &options.package)),
  };
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  const etx_exit checked = check_options(&options);
  return (int)(checked == ETX_EXIT_DONE ? run_select(&options) : checked);
}
