// Positions of rows that are appended to caches: checked or taken modulo the
// capacity, before anything is written.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/exporter/lowered.h"

// Both caches are written after the counter, in the order of the graph.
static const char step[] =
    "inputs:\n"
    "  - {name: k, type: 'float32[2, 1, 3]'}\n"
    "  - {name: v, type: 'float32[2, 1, 3]'}\n"
    "buffers:\n"
    "  - {name: keys, type: 'float32[2, 8, 3]'}\n"
    "  - {name: values, type: 'float32[2, 8, 3]'}\n"
    "  - {name: at, type: 'int64[1]'}\n"
    "nodes:\n"
    "  - {out: twice, op: aten.mul.Tensor, args: [k, 2]}\n"
    "  - {out: next, op: aten.add.Tensor, args: [at, 1]}\n"
    "  - {out: row, op: aten.mul.Tensor, args: [at, 1]}\n"
    "  - {out: nk, op: aten.index_copy.default, args: [keys, 1, row, twice]}\n"
    "  - {out: nv, op: aten.index_copy.default, args: [values, 1, row, v]}\n"
    "outputs: [nk]\n"
    "mutates: {keys: nk, values: nv, at: next}\n";

static void open_with(lowered* l, etx_target target, const char* yaml,
                      etx_cache_overflow overflow) {
  lowered_open(l, target, yaml);
  etx_ir_module* const module = &l->reading.module;
  for (size_t i = 0; i < module->buffer_count; ++i) {
    etx_ir_buffer* const buffer = &module->buffers[i];
    buffer->cache = (etx_ir_cache){.is_cache = buffer->rank == 3,
                                   .dim = 1,
                                   .overflow = overflow,
                                   .counter = ETX_IR_NONE};
  }
}

static void positions_are_checked_at_the_start(void** state) {
  lowered l;
  (void)state;
  open_with(&l, ETX_TARGET_ETX, step, ETX_CACHE_ERROR);
  lowered_run(&l, "lower map_cache_rows");
  assert_lines(&l,
               "row: int64[1] = aten::mul.out(at, 1:int64)\n"
               "row.1: int64[1] = etx::cache_rows.out(row, 8, False, 'cache "
               "'keys'')\n"
               "twice: float32[2, 1, 3] = aten::mul.out(k, 2.0:float32)\n"
               "next: int64[1] = aten::add.out(at, 1:int64, 1)\n"
               "nk: float32[2, 8, 3] = aten::index_put.out(keys, [None, "
               "row.1], twice, False)\n"
               "nv: float32[2, 8, 3] = aten::index_put.out(values, [None, "
               "row.1], v, False)\n"
               "keys <- nk\n"
               "values <- nv\n"
               "at <- next\n"
               "return nk\n");
  lowered_close(&l);
}

static void a_ring_takes_positions_modulo_its_capacity(void** state) {
  lowered l;
  (void)state;
  open_with(&l, ETX_TARGET_ETX, step, ETX_CACHE_RING);
  lowered_run(&l, "lower map_cache_rows");
  assert_lines(&l,
               "row: int64[1] = aten::mul.out(at, 1:int64)\n"
               "row.1: int64[1] = etx::cache_rows.out(row, 8, True, 'cache "
               "'keys'')\n"
               "twice: float32[2, 1, 3] = aten::mul.out(k, 2.0:float32)\n"
               "next: int64[1] = aten::add.out(at, 1:int64, 1)\n"
               "nk: float32[2, 8, 3] = aten::index_put.out(keys, [None, "
               "row.1], twice, False)\n"
               "nv: float32[2, 8, 3] = aten::index_put.out(values, [None, "
               "row.1], v, False)\n"
               "keys <- nk\n"
               "values <- nv\n"
               "at <- next\n"
               "return nk\n");
  lowered_close(&l);
}

static void nothing_is_checked_for_executorch(void** state) {
  lowered l;
  (void)state;
  open_with(&l, ETX_TARGET_EXECUTORCH, step, ETX_CACHE_ERROR);
  lowered_run(&l, "lower map_cache_rows");
  assert_null(strstr(lowered_lines(&l), "cache_rows"));
  lowered_close(&l);
  open_with(&l, ETX_TARGET_EXECUTORCH, step, ETX_CACHE_RING);
  lowered_run(&l, "lower");
  assert_pass_refuses(&l, "map_cache_rows", "needs the target etx");
  lowered_close(&l);
}

static void a_ring_needs_rows_by_position(void** state) {
  static const char slice[] =
      "inputs: [{name: k, type: 'float32[2, 1, 3]'}]\n"
      "buffers: [{name: keys, type: 'float32[2, 8, 3]'}]\n"
      "nodes:\n"
      "  - {out: nk, op: aten.slice_scatter.default, args: [keys, k, 1, 3, "
      "4]}\n"
      "mutates: {keys: nk}\n";
  lowered l;
  (void)state;
  open_with(&l, ETX_TARGET_ETX, slice, ETX_CACHE_RING);
  lowered_run(&l, "lower");
  assert_pass_refuses(&l, "map_cache_rows", "index_copy or index_put");
  lowered_close(&l);
  open_with(&l, ETX_TARGET_ETX, slice, ETX_CACHE_ERROR);
  lowered_run(&l, "lower map_cache_rows");
  assert_null(strstr(lowered_lines(&l), "cache_rows"));
  lowered_close(&l);
}

static void known_positions_are_not_checked(void** state) {
  static const char fixed[] =
      "inputs: [{name: k, type: 'float32[2, 2, 3]'}]\n"
      "buffers: [{name: keys, type: 'float32[2, 8, 3]'}]\n"
      "constants: [{name: row, type: 'int64[2]', init: %s}]\n"
      "nodes:\n"
      "  - {out: nk, op: aten.index_copy.default, args: [keys, 1, row, k]}\n"
      "mutates: {keys: nk}\n";
  static const struct {
    const char* row;
    bool is_checked;
  } rows[] = {{"7", false}, {"8", true}, {"-1", true}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    lowered l;
    char yaml[512];
    snprintf(yaml, sizeof yaml, fixed, rows[i].row);
    open_with(&l, ETX_TARGET_ETX, yaml, ETX_CACHE_ERROR);
    lowered_run(&l, "lower map_cache_rows");
    const bool found = strstr(lowered_lines(&l), "cache_rows") != NULL;
    assert_int_equal(found, rows[i].is_checked);
    lowered_close(&l);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(positions_are_checked_at_the_start),
      cmocka_unit_test(a_ring_takes_positions_modulo_its_capacity),
      cmocka_unit_test(nothing_is_checked_for_executorch),
      cmocka_unit_test(a_ring_needs_rows_by_position),
      cmocka_unit_test(known_positions_are_not_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
