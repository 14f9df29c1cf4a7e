// Caches that drop their oldest row become rings if nothing but attention reads
// them.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/exporter/lowered.h"

#define HEAD                                               \
  "inputs:\n"                                              \
  "  - {name: q, type: 'float32[1, 2, 1, 4]'}\n"           \
  "  - {name: k, type: 'float32[1, 2, 1, 4]'}\n"           \
  "  - {name: v, type: 'float32[1, 2, 1, 4]'}\n"           \
  "buffers:\n"                                             \
  "  - {name: keys, type: 'float32[1, 2, 6, 4]'}\n"        \
  "  - {name: values, type: 'float32[1, 2, 6, 4]'}\n"      \
  "  - {name: at, type: 'int64[1]'}\n"                     \
  "constants: [{name: last, type: 'int64[1]', init: 5}]\n" \
  "nodes:\n"                                               \
  "  - {out: next, op: aten.add.Tensor, args: [at, 1]}\n"  \
  "  - {out: rolled, op: aten.roll.default, args: [keys, [-1], [2]]}\n"
#define PUT                                                          \
  "  - {out: nk, op: aten.index_put.default, args: [rolled, [null, " \
  "null, last], k]}\n"
#define CAT                                                           \
  "  - {out: rest, op: aten.slice.Tensor, args: [values, 2, 1, 6]}\n" \
  "  - {out: nv, op: aten.cat.default, args: [[rest, v], 2]}\n"
#define ATTENTION                                                      \
  "  - {out: y, op: aten.scaled_dot_product_attention.default, args: " \
  "[q, nk, nv]}\n"
#define TAIL "mutates: {keys: nk, values: nv, at: next}\n"

static void open_sliding(lowered* l, etx_target target, const char* yaml,
                         bool is_counted) {
  uint32_t counter = 0;
  lowered_open(l, target, yaml);
  etx_ir_module* const module = &l->reading.module;
  assert_true(etx_ir_find_buffer(module, etx_text_of("at"), &counter));
  for (size_t i = 0; i < module->buffer_count; ++i) {
    etx_ir_buffer* const buffer = &module->buffers[i];
    buffer->cache =
        (etx_ir_cache){.is_cache = buffer->rank == 4,
                       .dim = 2,
                       .overflow = ETX_CACHE_SLIDE,
                       .counter = is_counted ? counter : ETX_IR_NONE};
  }
}

static void expect_rings(const char* yaml, etx_target target, bool is_counted,
                         bool wanted) {
  lowered l;
  open_sliding(&l, target, yaml, is_counted);
  lowered_run(&l, "lower fold_constants simplify fuse_attention slide_to_ring");
  const char* const lines = lowered_lines(&l);
  const bool found = strstr(lines, "cache_rows") != NULL;
  const bool moves = strstr(lines, "roll") != NULL;
  if (found != wanted || moves == wanted) fail_msg("%s", lines);
  for (size_t i = 0; i < l.reading.module.buffer_count; ++i) {
    const etx_ir_cache* const cache = &l.reading.module.buffers[i].cache;
    if (!cache->is_cache) continue;
    assert_int_equal(cache->overflow,
                     wanted ? ETX_CACHE_RING : ETX_CACHE_SLIDE);
  }
  lowered_close(&l);
}

static void attention_over_two_such_caches_takes_rings(void** state) {
  (void)state;
  expect_rings(HEAD PUT CAT ATTENTION "outputs: [y]\n" TAIL, ETX_TARGET_ETX,
               true, true);
}

static void other_readers_keep_the_order(void** state) {
  static const char* const others[] = {
      // An output, another reader, and attention over one of them alone.
      HEAD PUT CAT ATTENTION "outputs: [y, nk]\n" TAIL,
      HEAD PUT CAT ATTENTION
      "  - {out: z, op: aten.cumsum.default, args: [nv, 2]}\n"
      "outputs: [y, z]\n" TAIL,
      HEAD PUT CAT
      "  - {out: y, op: aten.scaled_dot_product_attention.default, args: "
      "[q, nk, nk]}\n"
      "  - {out: z, op: aten.relu.default, args: [nv]}\n"
      "outputs: [y, z]\n" TAIL,
      // The old rows are read.
      HEAD PUT CAT ATTENTION
      "  - {out: z, op: aten.relu.default, args: [values]}\n"
      "outputs: [y, z]\n" TAIL,
  };
  (void)state;
  for (size_t i = 0; i < 2; ++i) {
    expect_rings(others[i], ETX_TARGET_ETX, true, false);
  }
  expect_rings(others[3], ETX_TARGET_ETX, true, false);
}

static void a_ring_needs_a_counter_and_the_target_etx(void** state) {
  static const char yaml[] = HEAD PUT CAT ATTENTION "outputs: [y]\n" TAIL;
  (void)state;
  expect_rings(yaml, ETX_TARGET_ETX, false, false);
  expect_rings(yaml, ETX_TARGET_EXECUTORCH, true, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(attention_over_two_such_caches_takes_rings),
      cmocka_unit_test(other_readers_keep_the_order),
      cmocka_unit_test(a_ring_needs_a_counter_and_the_target_etx),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
