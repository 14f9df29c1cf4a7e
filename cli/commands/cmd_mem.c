// etx mem: draws the memory of a program over time, as text, a page or a trace.

#include <stdio.h>
#include <string.h>

#include "cli/commands/commands.h"
#include "cli/base/exit_code.h"
#include "cli/memory/memory_formats.h"
#include "cli/base/input_path.h"
#include "cli/base/options.h"
#include "cli/base/output_file.h"
#include "cli/program/pte_file.h"

static const char about[] =
    "Shows where the values of a program lie in memory and when they are "
    "live:\n"
    "addresses over time, from the program file alone. Also reads files of "
    "the\n"
    "stock exporter. Without an option the map is printed as text.\n";

static const char examples[] =
    "  etx mem model.pte\n"
    "  etx mem model.pte --html memory.html && xdg-open memory.html\n"
    "  etx mem model.pte --trace trace.json    # for ui.perfetto.dev\n";

typedef struct mem_options {
  const char* path;
  const char* html;
  const char* trace;
  bool text;
} mem_options;

// Writes the map in one format.
typedef etx_status (*memory_format)(const etx_memory_map* map, const char* path,
                                    FILE* out);

static etx_status print_page(const etx_memory_map* map, const char* path,
                             FILE* out) {
  etx_memory_html_print(map, path, out);
  return ETX_OK;
}

static etx_exit write_file(const mem_options* options,
                           const etx_memory_map* map, const char* path,
                           memory_format print) {
  etx_diag diag;
  etx_diag_init(&diag);
  etx_output_file output;
  etx_status status =
      etx_output_file_check_overwrite(path, options->path, &diag);
  if (status == ETX_OK) status = etx_output_file_open(&output, path, &diag);
  if (status != ETX_OK) return etx_error_report("mem", NULL, status, &diag);
  status = print(map, etx_input_path_name(options->path), output.file);
  if (status == ETX_OK) status = etx_output_file_finish(&output);
  if (status == ETX_OK) status = etx_output_file_keep(&output);
  etx_output_file_discard(&output);
  if (status != ETX_OK) return etx_error_report("mem", NULL, status, &diag);
  return ETX_EXIT_DONE;
}

static etx_exit print_text(const mem_options* options,
                           const etx_memory_map* map) {
  const etx_status status =
      etx_memory_text_print(map, etx_input_path_name(options->path), stdout);
  if (status != ETX_OK)
    return etx_error_report("mem", options->path, status, NULL);
  return fflush(stdout) == 0 && ferror(stdout) == 0 ? ETX_EXIT_DONE
                                                    : ETX_EXIT_MACHINE_FAILED;
}

static etx_exit write_all(const mem_options* options,
                          const etx_memory_map* map) {
  etx_exit code = ETX_EXIT_DONE;
  if (options->html != NULL)
    code = write_file(options, map, options->html, print_page);
  if (code == ETX_EXIT_DONE && options->trace != NULL) {
    code = write_file(options, map, options->trace, etx_memory_trace_print);
  }
  if (code != ETX_EXIT_DONE) return code;
  const bool is_default = options->html == NULL && options->trace == NULL;
  return options->text || is_default ? print_text(options, map) : ETX_EXIT_DONE;
}

static etx_exit run(const mem_options* options) {
  etx_diag diag;
  etx_pte_file file;
  etx_memory_map map;
  etx_diag_init(&diag);
  const etx_status opened = etx_pte_file_open(&file, options->path, &diag);
  if (opened != ETX_OK)
    return etx_error_report("mem", options->path, opened, &diag);
  const etx_status status = etx_memory_map_read(&map, file.program, &diag);
  const etx_exit code =
      status == ETX_OK ? write_all(options, &map)
                       : etx_error_report("mem", options->path, status, &diag);
  etx_memory_map_close(&map);
  etx_pte_file_close(&file);
  return code;
}

int etx_cmd_mem(int argc, char** argv) {
  mem_options options = {.path = NULL};
  const etx_usage usage = {
      .command = "mem",
      .about = about,
      .examples = examples,
      .positionals = ETX_POSITIONALS(
          {"FILE", "the program, .pte or .bpte", &options.path, true}),
      .options = ETX_OPTIONS(
          ETX_TEXT("html", 0, "FILE",
                   "write one self-contained page for a browser",
                   &options.html),
          ETX_TEXT("trace", 0, "FILE", "write a trace for Chrome and Perfetto",
                   &options.trace),
          ETX_FLAG("text", 0, "print the map as text too", &options.text)),
  };
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  if (options.html != NULL && options.trace != NULL &&
      strcmp(options.html, options.trace) == 0) {
    return (int)etx_usage_error_report(
        "mem", "options '--html' and '--trace' name the same file '%s'",
        options.html);
  }
  return (int)run(&options);
}
