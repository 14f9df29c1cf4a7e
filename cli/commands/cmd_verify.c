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
#include "cli/run/region_proof.h"
#include "cli/verify/verify_program.h"

static const char about[] =
    "Proves the memory plan of a program file from its bytes alone: that no\n"
    "value is overwritten while it is needed, that every value lies inside "
    "its\n"
    "arena, and that all methods agree about their state. The proof shares no\n"
    "code with the planner. For each arena the gap to the lower bound (the\n"
    "largest number of live bytes) is printed.\n\n"
    "--parallel-regions loads every method and finds the parts that runs with\n"
    "N regions at a time would run at the same time. For every two "
    "instructions\n"
    "of different regions it proves that neither writes a byte that the other\n"
    "reads or writes, and that their temporary memory is apart.\n";

static const char examples[] =
    "  etx verify model.pte\n"
    "  etx verify model.pte --parallel-regions 4\n";

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

// What the command found out about a file.
typedef struct verify_result {
  const char* path;
  uint64_t region_limit;  // 0: regions were not asked for
  etx_status status;
  etx_verify_report report;
  etx_region_proof_report regions;
  etx_diag diag;
} verify_result;

static bool print_json(const verify_result* r, json_t* arenas) {
  const bool is_proved = r->status == ETX_OK;
  const bool is_plan = r->report.level == ETX_VERIFY_LEVEL_PROVED;
  json_t* const root = json_object();
  json_object_set_new(root, "file", etx_json_text(etx_text_of(r->path)));
  json_object_set_new(root, "proved", json_boolean(is_proved));
  json_object_set_new(
      root, "refused_by",
      is_proved
          ? json_null()
          : json_string(is_plan ? "regions"
                                : etx_verify_level_name(r->report.level)));
  json_object_set_new(
      root, "reason",
      is_proved ? json_null() : etx_json_text(etx_text_of(r->diag.text)));
  json_object_set_new(root, "methods",
                      etx_json_unsigned(r->report.method_count));
  json_object_set_new(root, "values", etx_json_unsigned(r->report.value_count));
  json_object_set_new(root, "instructions",
                      etx_json_unsigned(r->report.instruction_count));
  json_object_set_new(root, "states", etx_json_unsigned(r->report.state_count));
  json_object_set_new(root, "arenas", arenas);
  if (r->region_limit > 0) {
    json_t* const regions = json_object();
    json_object_set_new(regions, "at_a_time",
                        etx_json_unsigned(r->region_limit));
    json_object_set_new(regions, "methods",
                        etx_json_unsigned(r->regions.method_count));
    json_object_set_new(regions, "instructions",
                        etx_json_unsigned(r->regions.step_count));
    json_object_set_new(regions, "pairs",
                        etx_json_unsigned(r->regions.pair_count));
    json_object_set_new(root, "regions", regions);
  }
  return etx_json_print(root);
}

static void print_proof(const verify_result* r) {
  const etx_verify_report* const report = &r->report;
  printf(
      "%s: the plan is proved: %zu method%s, %zu instruction%s, %zu tensor%s, "
      "%zu shared state%s\n",
      r->path, report->method_count, etx_plural(report->method_count),
      report->instruction_count, etx_plural(report->instruction_count),
      report->value_count, etx_plural(report->value_count), report->state_count,
      etx_plural(report->state_count));
}

static void print_regions(const verify_result* r) {
  const etx_region_proof_report* const found = &r->regions;
  if (r->region_limit == 0 || r->status != ETX_OK) return;
  if (found->method_count == 0) {
    printf("  no method has regions that may run at the same time\n");
    return;
  }
  printf(
      "  regions, at most %" PRIu64
      " at a time: %zu instruction%s of %zu method%s; %zu pair%s of them may "
      "run at the same time and share no byte that one of them writes\n",
      r->region_limit, found->step_count, etx_plural(found->step_count),
      found->method_count, etx_plural(found->method_count), found->pair_count,
      etx_plural(found->pair_count));
}

// Loads the program, which the proof of the plan has accepted.
static etx_status prove_regions(verify_result* r) {
  const etx_run_session_options options = {.threads = 1};
  etx_run_session session;
  ETX_TRY(etx_run_session_open(&session, r->path, &options, &r->diag));
  const etx_status status = etx_region_proof_run(
      &session, (size_t)r->region_limit, &r->regions, &r->diag);
  etx_run_session_close(&session);
  return status;
}

static etx_exit verify(verify_result* r, bool json) {
  etx_diag_init(&r->diag);
  etx_pte_file file;
  const etx_status opened = etx_pte_file_open(&file, r->path, &r->diag);
  if (opened != ETX_OK) {
    return etx_error_report("verify", r->path, opened, &r->diag);
  }
  r->status = etx_verify_program(file.program, &r->report, &r->diag);
  json_t* const arenas = json ? json_array() : NULL;
  etx_status shown = ETX_OK;
  if (r->status == ETX_OK && !json) print_proof(r);
  if (r->status == ETX_OK) {
    shown =
        for_each_arena(file.program, json ? add_arena : print_arena, arenas);
  }
  if (r->status == ETX_OK && r->region_limit > 0) r->status = prove_regions(r);
  if (!json) print_regions(r);
  const bool printed = !json || print_json(r, arenas);
  etx_pte_file_close(&file);
  if (!printed) return ETX_EXIT_MACHINE_FAILED;
  if (shown != ETX_OK) return etx_error_report("verify", r->path, shown, NULL);
  if (r->status == ETX_OK) return ETX_EXIT_DONE;
  const etx_exit code =
      etx_error_report("verify", r->path, r->status, &r->diag);
  return r->status == ETX_BAD_PLAN ? ETX_EXIT_PROOF_FAILED : code;
}

int etx_cmd_verify(int argc, char** argv) {
  verify_result result = {.path = NULL};
  bool json = false;
  const etx_usage usage = {
      .command = "verify",
      .about = about,
      .examples = examples,
      .positionals = ETX_POSITIONALS(
          {"FILE", "the program, .pte or .bpte", &result.path, true}),
      .options = ETX_OPTIONS(
          ETX_COUNT("parallel-regions", 0, "N",
                    "also prove that the parts which run at the same time, "
                    "at most N, share no bytes that one of them writes",
                    &result.region_limit),
          ETX_FLAG("json", 0, "print the result as JSON", &json)),
  };
  const etx_options_result read = etx_options_read(&usage, argc, argv);
  if (read != ETX_OPTIONS_READ) return etx_options_exit(read);
  return (int)verify(&result, json);
}
