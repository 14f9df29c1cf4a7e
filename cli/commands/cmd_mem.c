#include <stdio.h>
#include <string.h>

#include "cli/commands/commands.h"
#include "cli/base/exit_code.h"
#include "cli/memory/memory_formats.h"
#include "cli/base/options.h"
#include "cli/base/output_file.h"
#include "cli/program/pte_file.h"

static const char about[] =
    "Shows where a program's values lie, and when: addresses over time, from "
    "the\n"
    "program file alone. Reads files of the stock exporter too. Without an "
    "option\n"
    "the picture is text.\n";

static const char examples[] =
    "  etx mem model.pte\n"
    "  etx mem model.pte --html memory.html && xdg-open memory.html\n"
    "  etx mem model.pte --trace trace.json    # for ui.perfetto.dev\n";

typedef struct words {
  const char* path;
  const char* html;
  const char* trace;
  bool text;
} words;

// A way of showing the map in a file.
typedef etx_status (*printer)(const etx_memory_map* map, const char* path,
                              FILE* out);

static etx_status print_page(const etx_memory_map* map, const char* path,
                             FILE* out) {
  etx_memory_html_print(map, path, out);
  return ETX_OK;
}

// What the picture is called: the file without its folders.
static const char* title_of(const char* path) {
  const char* const slash = strrchr(path, '/');
  return slash == NULL || slash[1] == '\0' ? path : slash + 1;
}

static etx_exit write_file(const words* in, const etx_memory_map* map,
                           const char* path, printer print) {
  etx_diag diag;
  etx_diag_init(&diag);
  etx_output_file output;
  etx_status status = etx_output_file_check_overwrite(path, in->path, &diag);
  if (status == ETX_OK) status = etx_output_file_open(&output, path, &diag);
  if (status != ETX_OK) return etx_error_report("mem", NULL, status, &diag);
  status = print(map, title_of(in->path), output.file);
  if (status == ETX_OK) status = etx_output_file_finish(&output);
  if (status == ETX_OK) status = etx_output_file_keep(&output);
  etx_output_file_discard(&output);
  if (status != ETX_OK) return etx_error_report("mem", NULL, status, &diag);
  return ETX_EXIT_DONE;
}

static etx_exit print_text(const words* in, const etx_memory_map* map) {
  const etx_status status =
      etx_memory_text_print(map, title_of(in->path), stdout);
  if (status != ETX_OK) return etx_error_report("mem", in->path, status, NULL);
  return fflush(stdout) == 0 && ferror(stdout) == 0 ? ETX_EXIT_DONE
                                                    : ETX_EXIT_MACHINE_FAILED;
}

static etx_exit show(const words* in, const etx_memory_map* map) {
  etx_exit code = ETX_EXIT_DONE;
  if (in->html != NULL) code = write_file(in, map, in->html, print_page);
  if (code == ETX_EXIT_DONE && in->trace != NULL) {
    code = write_file(in, map, in->trace, etx_memory_trace_print);
  }
  if (code != ETX_EXIT_DONE) return code;
  const bool is_default = in->html == NULL && in->trace == NULL;
  return in->text || is_default ? print_text(in, map) : ETX_EXIT_DONE;
}

static etx_exit run(const words* in) {
  etx_diag diag;
  etx_pte_file file;
  etx_memory_map map;
  etx_diag_init(&diag);
  const etx_status opened = etx_pte_file_open(&file, in->path, &diag);
  if (opened != ETX_OK) return etx_error_report("mem", in->path, opened, &diag);
  const etx_status status = etx_memory_map_read(&map, file.program, &diag);
  const etx_exit code = status == ETX_OK
                            ? show(in, &map)
                            : etx_error_report("mem", in->path, status, &diag);
  etx_memory_map_close(&map);
  etx_pte_file_close(&file);
  return code;
}

int etx_cmd_mem(int argc, char** argv) {
  words in = {.path = NULL};
  const etx_positional positionals[] = {
      {"FILE", "the program, .pte or .bpte", &in.path, true}};
  const etx_option options[] = {
      {ETX_OPTION_TEXT, "html", 0, "FILE",
       "write one page to be opened in a browser, which needs nothing else",
       &in.html},
      {ETX_OPTION_TEXT, "trace", 0, "FILE",
       "write a trace for Chrome and Perfetto", &in.trace},
      {ETX_OPTION_FLAG, "text", 0, NULL,
       "print the picture beside what is written", &in.text},
  };
  const etx_usage usage = {"mem",   about, positionals, 1,
                           options, 3,     examples,    NULL};
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  if (in.html != NULL && in.trace != NULL && strcmp(in.html, in.trace) == 0) {
    return (int)etx_usage_error_report(
        "mem", "options '--html' and '--trace' name the same file '%s'",
        in.html);
  }
  return (int)run(&in);
}
