// etx verify: proves the memory plan of a program file from its bytes.

#include <inttypes.h>
#include <stdio.h>

#include "cli/commands/commands.h"
#include "cli/base/exit_code.h"
#include "cli/json/json_value.h"
#include "cli/memory/memory_map.h"
#include "cli/base/options.h"
#include "cli/base/plural.h"
#include "cli/program/pte_file.h"
#include "cli/verify/verify_program.h"

static const char about[] =
    "Proves the memory plan of a program file from its bytes alone: that no\n"
    "value is overwritten while it is needed, that every value lies inside "
    "its\n"
    "arena, and that all methods agree about their state. The proof shares no\n"
    "code with the planner. For each arena the gap to the lower bound (the\n"
    "largest number of live bytes) is printed.\n";

static const char examples[] = "  etx verify model.pte\n";

typedef void (*arena_visitor)(void* context, const etx_memory_method* method,
                              const etx_memory_arena* arena);

// Calls `visit` for every arena of every method. Arenas are extra information
// beside the proof, so a program whose memory map cannot be read has none; only
// a lack of memory is an error.
static etx_status for_each_arena(etx_bytes program, arena_visitor visit,
                                 void* context) {
  etx_memory_map map;
  const etx_status status = etx_memory_map_read(&map, program, NULL);
  for (size_t m = 0; status == ETX_OK && m < map.method_count; ++m) {
    for (size_t a = 0; a < map.methods[m].arena_count; ++a) {
      visit(context, &map.methods[m], &map.methods[m].arenas[a]);
    }
  }
  etx_memory_map_close(&map);
  return status == ETX_OUT_OF_MEMORY ? status : ETX_OK;
}

static void print_arena(void* context, const etx_memory_method* method,
                        const etx_memory_arena* arena) {
  const uint64_t gap = etx_memory_gap(arena);
  (void)context;
  printf("  %.*s, arena %u: %" PRIu64 " bytes, lower bound %" PRIu64
         ", gap %" PRIu64 " (%.2f%%)",
         (int)method->name.size, method->name.data, (unsigned)arena->id,
         arena->bytes, arena->bound, gap,
         arena->bound == 0 ? 0.0 : 100.0 * (double)gap / (double)arena->bound);
  if (arena->floor != 0) printf(", from byte %" PRIu64 " on", arena->floor);
  fputc('\n', stdout);
}

static void add_arena(void* context, const etx_memory_method* method,
                      const etx_memory_arena* arena) {
  json_t* const object = json_object();
  json_object_set_new(object, "method", etx_json_text(method->name));
  json_object_set_new(object, "arena", etx_json_unsigned(arena->id));
  json_object_set_new(object, "bytes", etx_json_unsigned(arena->bytes));
  json_object_set_new(object, "floor", etx_json_unsigned(arena->floor));
  json_object_set_new(object, "lower_bound", etx_json_unsigned(arena->bound));
  json_object_set_new(object, "gap_bytes",
                      etx_json_unsigned(etx_memory_gap(arena)));
  json_array_append_new(context, object);
}

static bool print_json(const char* path, const etx_verify_report* report,
                       json_t* arenas, const etx_diag* diag) {
  const bool is_proved = report->level == ETX_VERIFY_LEVEL_PROVED;
  json_t* const root = json_object();
  json_object_set_new(root, "file", etx_json_text(etx_text_of(path)));
  json_object_set_new(root, "proved", json_boolean(is_proved));
  json_object_set_new(root, "refused_by",
                      is_proved
                          ? json_null()
                          : json_string(etx_verify_level_name(report->level)));
  json_object_set_new(
      root, "reason",
      is_proved ? json_null() : etx_json_text(etx_text_of(diag->text)));
  json_object_set_new(root, "methods", etx_json_unsigned(report->method_count));
  json_object_set_new(root, "values", etx_json_unsigned(report->value_count));
  json_object_set_new(root, "instructions",
                      etx_json_unsigned(report->instruction_count));
  json_object_set_new(root, "states", etx_json_unsigned(report->state_count));
  json_object_set_new(root, "arenas", arenas);
  return etx_json_print(root);
}

static void print_proof(const char* path, const etx_verify_report* report) {
  printf(
      "%s: the plan is proved: %zu method%s, %zu instruction%s, %zu tensor%s, "
      "%zu shared state%s\n",
      path, report->method_count, etx_plural(report->method_count),
      report->instruction_count, etx_plural(report->instruction_count),
      report->value_count, etx_plural(report->value_count), report->state_count,
      etx_plural(report->state_count));
}

static etx_exit verify(const char* path, bool json) {
  etx_diag diag;
  etx_diag_init(&diag);
  etx_pte_file file;
  const etx_status opened = etx_pte_file_open(&file, path, &diag);
  if (opened != ETX_OK) return etx_error_report("verify", path, opened, &diag);
  etx_verify_report report;
  const etx_status status = etx_verify_program(file.program, &report, &diag);
  json_t* const arenas = json ? json_array() : NULL;
  etx_status shown = ETX_OK;
  if (status == ETX_OK && !json) print_proof(path, &report);
  if (status == ETX_OK) {
    shown =
        for_each_arena(file.program, json ? add_arena : print_arena, arenas);
  }
  const bool printed = !json || print_json(path, &report, arenas, &diag);
  etx_pte_file_close(&file);
  if (!printed) return ETX_EXIT_MACHINE_FAILED;
  if (shown != ETX_OK) return etx_error_report("verify", path, shown, NULL);
  if (status == ETX_OK) return ETX_EXIT_DONE;
  const etx_exit code = etx_error_report("verify", path, status, &diag);
  return status == ETX_BAD_PLAN ? ETX_EXIT_PROOF_FAILED : code;
}

int etx_cmd_verify(int argc, char** argv) {
  const char* path = NULL;
  bool json = false;
  const etx_usage usage = {
      .command = "verify",
      .about = about,
      .examples = examples,
      .positionals =
          ETX_POSITIONALS({"FILE", "the program, .pte or .bpte", &path, true}),
      .options =
          ETX_OPTIONS(ETX_FLAG("json", 0, "print the result as JSON", &json)),
  };
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  return (int)verify(path, json);
}
