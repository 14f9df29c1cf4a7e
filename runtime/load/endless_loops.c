// Notes for each record whether it can reach the end, from the last one to the
// first. A jump backwards depends on a record that has not been noted yet, so
// that is repeated until nothing changes: about once for each nested loop.
//
// The note is in `late`, which the shape phase sets before it reads it.

#include "runtime/load/endless_loops.h"

#include "format/pte/pte_program.h"

// Loops that are nested deeper are not judged; the limit of steps ends their
// runs. A file cannot make loading slow.
enum { MAX_ROUNDS = 64 };

static bool reaches_end(const etx_method* method, size_t index) {
  return index == method->record_count || method->records[index].late != 0;
}

static size_t target_of(const etx_method* method, size_t jump) {
  const etx_method_record* record = &method->records[jump];
  return jump - record->instruction + record->to;
}

// The ways that a record may go on: [0] is valid, and [1] if the result is 2.
static size_t find_ways(const etx_method* method, size_t index,
                        size_t ways[2]) {
  const etx_method_record* record = &method->records[index];
  ways[0] = index + 1;
  if (record->kind != ETX_RECORD_JUMP) return 1;
  const etx_value* condition = &method->values[record->from];
  ways[1] = target_of(method, index);
  if (condition->kind != ETX_VALUE_BOOL ||
      (method->marks[condition->position] & ETX_MARK_VARIES) != 0) {
    return 2;
  }
  if (!condition->as.boolean) ways[0] = ways[1];
  return 1;
}

// Returns true if that changed a note.
static bool note_all(etx_method* method) {
  bool is_changed = false;
  for (size_t i = method->record_count; i-- > 0;) {
    size_t ways[2];
    const size_t count = find_ways(method, i, ways);
    if (reaches_end(method, i)) continue;
    if (!reaches_end(method, ways[0]) &&
        (count == 1 || !reaches_end(method, ways[1]))) {
      continue;
    }
    method->records[i].late = 1;
    is_changed = true;
  }
  return is_changed;
}

// The first jump backwards behind a record from which no path leads to the end.
static size_t find_jump_back(const etx_method* method, size_t at) {
  for (;;) {
    size_t ways[2];
    const size_t count = find_ways(method, at, ways);
    if (ways[count - 1] <= at) return at;
    at = ways[0];
  }
}

static etx_status refuse(const etx_method* method, size_t record,
                         etx_diag* diag) {
  const size_t jump = ETX_MESSAGES ? find_jump_back(method, record) : record;
  return etx_diag_fail(
      diag, ETX_BAD_FILE,
      "instruction %u jumps back to instruction %u, and nothing leaves that "
      "loop (method '%t')",
      (uint64_t)method->records[jump].instruction,
      (uint64_t)method->records[jump].to, etx_pte_plan_name(&method->plan));
}

etx_status etx_method_check_endless_loops(etx_method* method, etx_diag* diag) {
  size_t rounds = 0;
  while (rounds < MAX_ROUNDS && note_all(method)) ++rounds;
  if (rounds == MAX_ROUNDS) return ETX_OK;
  for (size_t i = 0; i < method->record_count; ++i) {
    if (!reaches_end(method, i)) return refuse(method, i, diag);
  }
  return ETX_OK;
}
