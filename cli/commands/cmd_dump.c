// etx dump: writes methods as YAML with their weights, or prints a program file
// as text.

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/commands/commands.h"
#include "cli/base/exit_code.h"
#include "cli/graph/graph_onnx.h"
#include "cli/base/input_path.h"
#include "cli/base/options.h"
#include "cli/base/output_file.h"
#include "cli/program/pte_file.h"
#include "cli/plan/operators_option.h"
#include "cli/plan/diagnostic_list.h"
#include "cli/program/program_yaml.h"
#include "exporter/export.h"

static const char about[] =
    "Writes methods as YAML and their weights as .safetensors. Any input of\n"
    "'etx plan' becomes a directory that plans to the same program. A program\n"
    "file (.pte, .bpte) is printed instead: every value and instruction. With\n"
    "--netron it becomes a drawing that Netron and other viewers of ONNX "
    "open.\n";

static const char examples[] =
    "  etx dump methods/ -o as_yaml/\n"
    "  etx dump decode.pt2 -o as_yaml/\n"
    "  etx dump model.pte | less\n"
    "  etx dump model.pte --netron -o model.onnx\n";

static bool is_program(const char* path) {
  const size_t size = strlen(path);
  return size >= 5 && (strcmp(path + size - 4, ".pte") == 0 ||
                       strcmp(path + size - 5, ".bpte") == 0);
}

static etx_status print_program(etx_bytes bytes, etx_diag* diag) {
  etx_pte pte;
  etx_blob blob;
  ETX_TRY(etx_pte_open(&pte, bytes, NULL, diag));
  const etx_status found = etx_blob_open(&blob, &pte, diag);
  if (found != ETX_OK && found != ETX_NOT_FOUND) return found;
  etx_program_yaml_print(&pte, found == ETX_OK ? &blob : NULL, stdout);
  return ETX_OK;
}

static etx_exit dump_program(const char* path) {
  etx_diag diag;
  etx_diag_init(&diag);
  etx_pte_file file;
  const etx_status opened = etx_pte_file_open(&file, path, &diag);
  if (opened != ETX_OK) return etx_error_report("dump", path, opened, &diag);
  const etx_status status = print_program(file.program, &diag);
  etx_pte_file_close(&file);
  return status == ETX_OK ? ETX_EXIT_DONE
                          : etx_error_report("dump", path, status, &diag);
}

// ---- the drawing for Netron

static etx_status print_drawing(const etx_pte_file* file, const char* path,
                                FILE* out, etx_diag* diag) {
  etx_memory_map map;
  etx_status status = etx_memory_map_read(&map, file->program, diag);
  if (status == ETX_OK) {
    etx_instruction_source lines;
    etx_instruction_source_open(&lines, &map.pte, "dump", path);
    const etx_graph_onnx_source source = {
        etx_input_path_name(path),
        (uint64_t)(file->program.data - file->file.bytes.data), &lines};
    status = etx_graph_onnx_print(&map, &source, out);
  }
  etx_memory_map_close(&map);
  return status;
}

static etx_status draw_into(const etx_pte_file* file, const char* path,
                            const char* output, etx_diag* diag) {
  etx_output_file drawing;
  ETX_TRY(etx_output_file_check_overwrite(output, path, diag));
  ETX_TRY(etx_output_file_open(&drawing, output, diag));
  etx_status status = print_drawing(file, path, drawing.file, diag);
  if (status == ETX_OK) status = etx_output_file_finish(&drawing);
  if (status == ETX_OK) status = etx_output_file_keep(&drawing);
  etx_output_file_discard(&drawing);
  return status;
}

static etx_exit draw_program(const char* path, const char* output) {
  etx_diag diag;
  etx_diag_init(&diag);
  if (!is_program(path)) {
    return etx_usage_error_report(
        "dump", "%s: --netron draws program files; plan it first", path);
  }
  if (output == NULL) {
    return etx_usage_error_report(
        "dump", "--netron needs the file to write: give it with -o FILE.onnx");
  }
  etx_pte_file file;
  const etx_status opened = etx_pte_file_open(&file, path, &diag);
  if (opened != ETX_OK) return etx_error_report("dump", path, opened, &diag);
  const etx_status status = draw_into(&file, path, output, &diag);
  etx_pte_file_close(&file);
  return status == ETX_OK ? ETX_EXIT_DONE
                          : etx_error_report("dump", path, status, &diag);
}

// ---- methods as YAML

static etx_status dump_into(const char* path, const char* output,
                            const etx_option_list* ops, etx_pool* pool,
                            etx_problems* problems, etx_diag* diag) {
  etx_ir_module module;
  etx_ir_module_init(&module, pool);
  ETX_TRY(etx_input_path_check(path, diag));
  ETX_TRY(etx_operators_option_apply(ops, &module, diag));
  ETX_TRY(etx_export_read(&module, path, problems, diag));
  return etx_export_dump(&module, output, diag);
}

// True if the input lies in the output directory, where the dump would
// overwrite it.
static bool contains_input(const char* directory, const char* path) {
  char folder[ETX_OUTPUT_PATH_BYTES];
  struct stat from, to;
  if (stat(path, &from) != 0 || stat(directory, &to) != 0) return false;
  if (!S_ISDIR(from.st_mode)) {
    const char* const slash = strrchr(path, '/');
    const etx_text name = {path, slash == NULL ? 0 : (size_t)(slash - path)};
    etx_format_text(folder, sizeof folder, "%t/.",
                    slash == NULL ? etx_text_of(".") : name);
    if (stat(folder, &from) != 0) return false;
  }
  return from.st_dev == to.st_dev && from.st_ino == to.st_ino;
}

static etx_exit dump_methods(const char* path, const char* output,
                             const etx_option_list* ops) {
  if (output == NULL) {
    return etx_usage_error_report("dump",
                                  "no output directory; give one with -o DIR");
  }
  if (contains_input(output, path)) {
    return etx_usage_error_report(
        "dump",
        "%s: the output directory '%s' contains the input; choose another",
        path, output);
  }
  etx_diag diag;
  etx_diag_init(&diag);
  etx_pool pool;
  etx_pool_init(&pool);
  etx_diagnostic_list list;
  etx_diagnostic_list_init(&list, false);
  const etx_status status =
      dump_into(path, output, ops, &pool, &list.problems, &diag);
  etx_pool_close(&pool);
  if (status == ETX_OK) return ETX_EXIT_DONE;
  if (list.problems.count != 0) return etx_exit_from_status(status);
  return etx_error_report("dump", path, status, &diag);
}

int etx_cmd_dump(int argc, char** argv) {
  const char* path = NULL;
  const char* output = NULL;
  bool is_drawing = false;
  etx_option_list ops = {0};
  const etx_usage usage = {
      .command = "dump",
      .about = about,
      .examples = examples,
      .positionals = ETX_POSITIONALS(
          {"INPUT", "directory of methods, .yaml, .pt2 or .pte", &path, true}),
      .options = ETX_OPTIONS(
          ETX_TEXT("output", 'o', "PATH",
                   "directory for the YAML and the weights, or the file of\n"
                   "--netron",
                   &output),
          ETX_FLAG("netron", 0,
                   "write a program as an ONNX file that Netron draws and\n"
                   "nothing can run; it refers to the program for weights",
                   &is_drawing),
          ETX_OPERATORS_OPTION(&ops)),
  };
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  if (is_drawing) return (int)draw_program(path, output);
  if (is_program(path) && output != NULL) {
    return (int)etx_usage_error_report(
        "dump",
        "%s: a program is printed to standard output, without '--output'; "
        "redirect it with '>', or draw it with --netron",
        path);
  }
  return (int)(is_program(path) ? dump_program(path)
                                : dump_methods(path, output, &ops));
}
