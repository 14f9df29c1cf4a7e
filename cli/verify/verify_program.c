#include "cli/verify/verify_program.h"

#include <string.h>

#include "cli/verify/verify_program_state.h"
#include "cli/verify/verify_internal.h"
#include "cli/verify/verify_state.h"
#include "format/cache_table/cache_table.h"
#include "format/memory_table/memory_table.h"
#include "format/source_map/source_map.h"

static const char* const level_names[] = {"proved", "structure", "allocation",
                                          "unprovable", "machine"};

const char* etx_verify_level_name(etx_verify_level level) {
  return level_names[level];
}

static etx_verify_level level_of(etx_status status) {
  switch (status) {
    case ETX_OK:
      return ETX_VERIFY_LEVEL_PROVED;
    case ETX_BAD_PLAN:
      return ETX_VERIFY_LEVEL_ALLOCATION;
    case ETX_UNSUPPORTED:
    case ETX_MISSING_OPERATOR:
      return ETX_VERIFY_LEVEL_UNPROVABLE;
    case ETX_OUT_OF_MEMORY:
      return ETX_VERIFY_LEVEL_HOST;
    default:
      return ETX_VERIFY_LEVEL_STRUCTURE;
  }
}

static size_t count_tensors(const etx_verify_method* m) {
  size_t count = 0;
  for (size_t v = 0; v < m->value_count; ++v) {
    count += m->values[v].storage != ETX_VERIFY_STORAGE_NONE;
  }
  return count;
}

static etx_status prove_method(etx_verify_method* m,
                               etx_verify_program_state* program) {
  ETX_TRY(etx_verify_assign_addresses(m));
  ETX_TRY(etx_verify_find_steps(m));
  ETX_TRY(etx_verify_find_rebinding(m));
  ETX_TRY(etx_verify_find_parts(m));
  ETX_TRY(etx_verify_shapes(m));
  ETX_TRY(etx_verify_dataflow(m));
  ETX_TRY(etx_verify_loop_rows(m));
  ETX_TRY(etx_verify_layouts(m));
  return etx_verify_method_state(m, program);
}

static etx_status prove_plan(etx_verify_program_state* program, size_t index,
                             etx_verify_report* report) {
  etx_verify_arena memory = {NULL};
  etx_verify_method m;
  etx_verify_method_init(&m, program->pte, program->blob, index, &memory,
                         program->diag);
  const etx_status status = prove_method(&m, program);
  if (status == ETX_OK) {
    report->method_count += 1;
    report->value_count += count_tensors(&m);
    report->instruction_count += m.step_count;
  }
  etx_verify_arena_release(&memory);
  return status;
}

static etx_status prove_plans(etx_verify_program_state* program,
                              etx_verify_report* report) {
  const size_t count = etx_pte_plan_count(program->pte);
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(prove_plan(program, i, report));
  }
  ETX_TRY(etx_verify_states(program));
  return etx_verify_concurrent(program);
}

// Counts the memories, and leaves the count alone if there is no table of them.
// Methods that may run at the same time are proved for one arena of scratch
// alone.
static etx_status check_memories(const etx_pte* pte, const etx_blob* blob,
                                 size_t* count, etx_diag* diag) {
  etx_memory_table table;
  const etx_status status = etx_memory_table_open(&table, pte, diag);
  if (status != ETX_OK) return status == ETX_NOT_FOUND ? ETX_OK : status;
  *count = etx_memory_table_count(&table);
  if (*count == 1 || etx_blob_concurrent_count(blob) == 0) return ETX_OK;
  return etx_diag_fail(diag, ETX_BAD_PLAN,
                       "the program has %z memories and methods that may run "
                       "at the same time, expected one of the two",
                       *count);
}

static etx_status prove(etx_bytes file, etx_verify_report* report,
                        etx_diag* diag) {
  const etx_pte_limits limits = {.reports_bad_plan = true};
  etx_pte pte;
  etx_blob blob;
  etx_verify_arena memory = {NULL};
  ETX_TRY(etx_pte_open(&pte, file, &limits, diag));
  const etx_status found = etx_blob_open(&blob, &pte, diag);
  if (found != ETX_OK && found != ETX_NOT_FOUND) return found;
  report->is_stock = found == ETX_NOT_FOUND;
  etx_source_map source;
  const etx_status lines = etx_source_map_open(&source, &pte, diag);
  if (lines != ETX_OK && lines != ETX_NOT_FOUND) return lines;
  if (found == ETX_OK) {
    etx_cache_table table;
    const etx_status caches = etx_cache_table_open(&table, &pte, &blob, diag);
    if (caches != ETX_OK && caches != ETX_NOT_FOUND) return caches;
  }
  etx_verify_program_state program = {
      .pte = &pte,
      .blob = report->is_stock ? NULL : &blob,
      .memory = &memory,
      .diag = diag,
  };
  if (found == ETX_OK) {
    report->state_count = etx_blob_state_count(&blob);
    ETX_TRY(check_memories(&pte, &blob, &program.memory_count, diag));
  }
  const etx_status status = prove_plans(&program, report);
  etx_verify_arena_release(&memory);
  return status;
}

etx_status etx_verify_program(etx_bytes file, etx_verify_report* report,
                              etx_diag* diag) {
  etx_verify_report own;
  if (report == NULL) report = &own;
  memset(report, 0, sizeof *report);
  const etx_status status = prove(file, report, diag);
  report->level = level_of(status);
  if (status == ETX_OUT_OF_MEMORY) {
    return etx_diag_fail(diag, status, "not enough memory for the proof");
  }
  return status;
}
