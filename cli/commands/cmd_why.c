// etx why: lists the instructions that want an operator in a build.

#include <stdio.h>
#include <string.h>

#include "cli/commands/commands.h"
#include "cli/base/exit_code.h"
#include "cli/base/options.h"
#include "cli/base/plural.h"
#include "cli/json/json_value.h"
#include "cli/program/instruction_source.h"
#include "cli/program/pte_file.h"
#include "format/ops/op_schema.h"
#include "format/pte/pte_program.h"

static const char about[] =
    "Lists which instructions of program files call an operator: file, "
    "method,\n"
    "instruction, and the source lines if the file has them (etx plan\n"
    "--source-lines). OP is a name as 'etx inspect' prints it, with or "
    "without\n"
    "the overload. Exit code 2 if no instruction calls it.\n";

static const char examples[] =
    "  etx why aten::add.out model.pte\n"
    "  etx why aten::add encoder.pte decoder.pte --json\n";

typedef struct why_options {
  const char* op;
  etx_option_list paths;
  bool json;
} why_options;

typedef struct why_search {
  const why_options* options;
  const char* path;  // of the file that is being searched
  etx_instruction_source source;
  size_t count;      // of calls found
  size_t delegates;  // of all files
  json_t* calls;     // a list with --json, else NULL
} why_search;

// True if the operator has the name that was asked for, or has it with another
// overload and none was asked for.
static bool is_asked_for(const why_search* search, etx_pte_operator op) {
  const etx_text none = {NULL, 0};
  const etx_op_name asked =
      etx_op_name_of(etx_text_of(search->options->op), none);
  const etx_op_name found = etx_op_name_of(op.name, op.overload);
  if (etx_text_compare(asked.name, found.name) != 0) return false;
  return asked.overload.size == 0 ||
         etx_text_compare(asked.overload, found.overload) == 0;
}

static void add_json(why_search* search, etx_pte_operator op, etx_text method,
                     size_t instruction) {
  json_t* const call = json_object();
  json_object_set_new(call, "file", json_string(search->path));
  json_object_set_new(call, "name", etx_json_text(op.name));
  json_object_set_new(call, "overload", etx_json_text(op.overload));
  json_object_set_new(call, "method", etx_json_text(method));
  json_object_set_new(call, "instruction", etx_json_unsigned(instruction));
  json_object_set_new(
      call, "source",
      etx_instruction_source_json(&search->source, method, instruction));
  json_array_append_new(search->calls, call);
}

static void print_call(const why_search* search, etx_pte_operator op,
                       etx_text method, size_t instruction) {
  char lines[ETX_INSTRUCTION_SOURCE_TEXT_BYTES];
  const bool has_lines =
      etx_instruction_source_text(&search->source, method, instruction, lines);
  printf("%s: %.*s%s%.*s in method %.*s, instruction %zu%s%s\n", search->path,
         (int)op.name.size, op.name.data, op.overload.size > 0 ? "." : "",
         (int)op.overload.size, op.overload.data, (int)method.size, method.data,
         instruction, has_lines ? ": " : "", lines);
}

static void search_plan(why_search* search, const etx_pte_plan* plan) {
  const etx_text method = etx_pte_plan_name(plan);
  etx_pte_cursor cursor = {0, 0, {0, 0}};
  etx_pte_instruction call;
  search->delegates += etx_pte_delegate_count(plan);
  for (size_t i = 0; etx_pte_instruction_next(plan, &cursor, &call); ++i) {
    if (call.kind != ETX_PTE_KERNEL_CALL) continue;
    const etx_pte_operator op = etx_pte_operator_at(plan, (size_t)call.index);
    if (!is_asked_for(search, op)) continue;
    ++search->count;
    if (search->calls != NULL) {
      add_json(search, op, method, i);
    } else {
      print_call(search, op, method, i);
    }
  }
}

static etx_status search_file(why_search* search, etx_diag* diag) {
  etx_pte_file file;
  etx_pte pte;
  ETX_TRY(etx_pte_file_open(&file, search->path, diag));
  const etx_status status = etx_pte_open(&pte, file.program, NULL, diag);
  if (status == ETX_OK) {
    etx_instruction_source_open(&search->source, &pte, "why", search->path);
    for (size_t i = 0; i < etx_pte_plan_count(&pte); ++i) {
      const etx_pte_plan plan = etx_pte_plan_at(&pte, i);
      search_plan(search, &plan);
    }
  }
  etx_pte_file_close(&file);
  return status;
}

static etx_exit find_calls(const why_options* options) {
  etx_diag diag;
  why_search search = {.options = options,
                       .calls = options->json ? json_array() : NULL};
  for (size_t i = 0; i < options->paths.count; ++i) {
    etx_diag_init(&diag);
    search.path = options->paths.items[i];
    const etx_status status = search_file(&search, &diag);
    if (status != ETX_OK) {
      json_decref(search.calls);
      return etx_error_report("why", search.path, status, &diag);
    }
  }
  if (options->json && !etx_json_print(search.calls)) {
    return ETX_EXIT_MACHINE_FAILED;
  }
  if (search.count > 0) return ETX_EXIT_DONE;
  fprintf(stderr, "etx why: no instruction of %s calls '%s'\n",
          options->paths.count == 1 ? options->paths.items[0] : "these files",
          options->op);
  if (search.delegates > 0) {
    fprintf(stderr,
            "etx why: what the %zu delegate%s of methods compute%s is not "
            "known\n",
            search.delegates, etx_plural(search.delegates),
            search.delegates == 1 ? "s" : "");
  }
  return ETX_EXIT_REFUSED;
}

int etx_cmd_why(int argc, char** argv) {
  why_options options = {.op = NULL};
  const etx_usage usage = {
      .command = "why",
      .about = about,
      .examples = examples,
      .positionals = ETX_POSITIONALS({"OP", "an operator", &options.op, true},
                                     {"FILE...", "programs, .pte or .bpte",
                                      &options.paths.items[0], true}),
      .rest = &options.paths,
      .options = ETX_OPTIONS(
          ETX_FLAG("json", 0, "print the list as JSON", &options.json)),
  };
  // The first file is a positional argument, the others follow it in the list.
  options.paths.count = 1;
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  return (int)find_calls(&options);
}
