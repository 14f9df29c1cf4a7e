// Problems of `etx place` (CSV): read, solved in few steps, and written. No two
// blocks that are live at the same time may share a byte of the solution, and
// the solution reads back as the same blocks at the offsets that were found.

#include "cli/plan/block_table.h"

#include <stdlib.h>
#include <string.h>

#include "tests/hostile/fuzz/fuzz_target.h"
#include "tests/hostile/hostile_memory.h"
#include "tests/support/assert_message.h"

enum { MOST_BLOCKS = 300, STEPS = 2000, MOST_TEXT = 1 << 18 };

typedef struct solution_text {
  char* text;
  size_t size;
} solution_text;

static void check(bool condition) {
  if (!condition) __builtin_trap();
}

static etx_status append(void* context, etx_bytes bytes) {
  solution_text* const out = context;
  if (bytes.size > MOST_TEXT - out->size) return ETX_HOST_FAILED;
  if (bytes.size > 0) memcpy(out->text + out->size, bytes.data, bytes.size);
  out->size += bytes.size;
  return ETX_OK;
}

static bool live_together(const etx_plan_block* a, const etx_plan_block* b) {
  return a->size > 0 && b->size > 0 && a->start < b->end && b->start < a->end;
}

static void check_offsets(const etx_block_table* table,
                          const etx_plan_solution* solution) {
  for (size_t i = 0; i < table->block_count; ++i) {
    const etx_plan_block* const a = &table->blocks[i];
    const uint64_t at = solution->offsets[i];
    check(at + a->size >= at && at + a->size <= solution->arena_bytes);
    check(a->alignment == 0 || at % a->alignment == 0);
    for (size_t k = 0; k < i; ++k) {
      const etx_plan_block* const b = &table->blocks[k];
      check(!live_together(a, b) || at + a->size <= solution->offsets[k] ||
            solution->offsets[k] + b->size <= at);
    }
  }
}

static void check_text(const etx_block_table* table,
                       const etx_plan_solution* solution, etx_pool* pool) {
  solution_text out = {etx_pool_take(pool, MOST_TEXT), 0};
  etx_block_table solved;
  const etx_sink sink = {append, &out};
  if (out.text == NULL ||
      etx_block_table_write(table, solution->offsets, &sink) != ETX_OK) {
    return;
  }
  const etx_bytes bytes = {(const uint8_t*)out.text, out.size};
  if (etx_block_table_read(bytes, pool, &solved, NULL) != ETX_OK) {
    __builtin_trap();
  }
  check(solved.block_count == table->block_count);
  for (size_t i = 0; i < solved.block_count; ++i) {
    check(solved.blocks[i].size == table->blocks[i].size);
    check(solved.blocks[i].fixed == solution->offsets[i]);
  }
}

static void solve(const etx_block_table* table, etx_pool* pool) {
  etx_plan_problem problem = {.blocks = table->blocks,
                              .block_count = table->block_count,
                              .steps = STEPS};
  etx_plan_solution solution;
  etx_arena work;
  etx_diag diag;
  const size_t bytes = etx_plan_needed(&problem);
  void* const memory = etx_pool_take(pool, bytes);
  memset(&solution, 0, sizeof solution);
  solution.offsets =
      etx_pool_take(pool, (problem.block_count + 1) * sizeof *solution.offsets);
  if (memory == NULL || solution.offsets == NULL) return;
  etx_arena_init(&work, memory, bytes);
  etx_diag_init(&diag);
  const etx_status status =
      etx_plan_solve(&problem, NULL, &work, &solution, &diag);
  if (status != ETX_OK) {
    check(status != ETX_INTERNAL && test_has_message(&diag));
    return;
  }
  check_offsets(table, &solution);
  check_text(table, &solution, pool);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const etx_bytes bytes = {data, size};
  etx_pool pool;
  etx_block_table table;
  etx_diag diag;
  hostile_limit_memory();
  etx_diag_init(&diag);
  etx_pool_init(&pool);
  const etx_status status = etx_block_table_read(bytes, &pool, &table, &diag);
  if (status != ETX_OK) {
    check(test_has_message(&diag));
  } else if (table.block_count <= MOST_BLOCKS) {
    solve(&table, &pool);
  }
  etx_pool_close(&pool);
  return status == ETX_OK ? 0 : FUZZ_REFUSED;
}
