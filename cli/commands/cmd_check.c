// etx check: reads and plans all methods without writing a file, and reports
// every problem of every method.

#include <stdio.h>

#include "cli/commands/commands.h"
#include "cli/plan/kernel_evaluator.h"
#include "cli/plan/operators_option.h"
#include "cli/plan/size_cap_option.h"
#include "cli/base/exit_code.h"
#include "cli/base/input_path.h"
#include "cli/json/json_value.h"
#include "cli/base/options.h"
#include "cli/base/plural.h"
#include "cli/plan/diagnostic_list.h"
#include "exporter/export.h"

static const char about[] =
    "Reads the methods of DIR (or one .yaml or .pt2 file) as 'etx plan' does,\n"
    "reports every problem of every method with file, line and node, and\n"
    "writes nothing.\n";

static const char examples[] =
    "  etx check methods/\n"
    "  etx check methods/ --target executorch\n";

static etx_status discard(void* context, etx_bytes bytes) {
  (void)context;
  (void)bytes;
  return ETX_OK;
}

typedef struct check_options {
  const char* path;
  int target;
  etx_option_list cap;
  etx_option_list ops;
  bool json;
} check_options;

static etx_status check(const check_options* options, etx_pool* pool,
                        etx_diagnostic_list* list, etx_diag* diag) {
  const char* const path = options->path;
  etx_ir_module module;
  etx_ir_module_init(&module, pool);
  ETX_TRY(etx_input_path_check(path, diag));
  ETX_TRY(etx_operators_option_apply(&options->ops, &module, diag));
  ETX_TRY(etx_size_cap_option_apply(&options->cap, &module, diag));
  const etx_status read = etx_export_read(&module, path, &list->problems, diag);
  // Even if one method could not be read, the others are planned to find their
  // problems too.
  if (read != ETX_OK && module.method_count == 0) return read;
  const etx_export_options export_options = {
      .target = options->target == 0 ? ETX_TARGET_ETX : ETX_TARGET_EXECUTORCH,
      .evaluator = etx_kernel_evaluator()};
  const etx_sink nowhere = {discard, NULL};
  etx_export_report report;
  const etx_status planned =
      etx_export_plan(&module, &export_options, &nowhere, &report,
                      &list->problems, read == ETX_OK ? diag : NULL);
  return read != ETX_OK ? read : planned;
}

static etx_exit report(const char* path, etx_status status,
                       etx_diagnostic_list* list, const etx_diag* diag) {
  const size_t count = list->problems.count;
  if (status != ETX_OK && count == 0) {
    etx_diagnostic_list_add(list, path, status, diag);
  }
  json_t* const collected = etx_diagnostic_list_take(list);
  if (collected != NULL) {
    if (!etx_json_print(collected)) return ETX_EXIT_MACHINE_FAILED;
  } else if (count != 0) {
    fprintf(stderr, "etx check: %zu problem%s\n", count, etx_plural(count));
  } else if (status == ETX_OK) {
    printf("%s: no problems\n", path);
  }
  // Failures without a location in the input are not in the list.
  if (status != ETX_OK && count == 0) {
    return etx_error_report("check", path, status, diag);
  }
  const etx_exit code = etx_exit_from_status(status);
  return count != 0 && code == ETX_EXIT_DONE ? ETX_EXIT_REFUSED : code;
}

int etx_cmd_check(int argc, char** argv) {
  check_options options = {.path = NULL};
  const etx_usage usage = {
      .command = "check",
      .about = about,
      .examples = examples,
      .positionals = ETX_POSITIONALS(
          {"DIR", "directory of methods, or one file", &options.path, true}),
      .options = ETX_OPTIONS(
          ETX_CHOICE("target", 't', "etx|executorch",
                     "the runtime to plan for (default: etx)", &options.target),
          ETX_OPERATORS_OPTION(&options.ops), ETX_SIZE_CAP_OPTION(&options.cap),
          ETX_FLAG("json", 0, "print the problems as JSON", &options.json)),
  };
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  etx_diag diag;
  etx_diag_init(&diag);
  etx_pool pool;
  etx_pool_init(&pool);
  etx_diagnostic_list list;
  etx_diagnostic_list_init(&list, options.json);
  const etx_status status = check(&options, &pool, &list, &diag);
  const etx_exit code = report(options.path, status, &list, &diag);
  etx_pool_close(&pool);
  return (int)code;
}
