// Which states are stored in a narrower type, and what becomes of the nodes
// that write and read them.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "exporter/import/cache_type.h"
#include "tests/exporter/lowered.h"

#define PASSES                                                             \
  "classify_state insert_self_copy lower fold_matmul_transposes simplify " \
  "recompose_softmax fuse_attention narrow_caches"

static const char inputs[] =
    "inputs:\n"
    "  - {name: q, type: 'float32[1, 2, 1, 8]'}\n"
    "  - {name: k, type: 'float32[1, 2, 1, 8]'}\n"
    "  - {name: at, type: 'int64[1]'}\n"
    "buffers:\n"
    "  - {name: keys, type: 'float32[1, 2, 5, 8]', init: 0}\n"
    "nodes:\n";

#define APPEND                                                            \
  "  - {out: n, op: 'aten.index_put.default', args: [keys, [null, null, " \
  "at], k]}\n"
#define ATTEND                                                               \
  "  - {out: y, op: 'aten.scaled_dot_product_attention.default', args: [q, " \
  "n, n]}\n"

static void open_as(lowered* l, const char* type, const char* nodes) {
  char yaml[2048];
  snprintf(yaml, sizeof yaml, "%s%s", inputs, nodes);
  lowered_open(l, ETX_TARGET_ETX, yaml);
  assert_int_equal(
      etx_cache_type_set(&l->reading.module, etx_text_of(type), &l->diag),
      ETX_OK);
}

static void expect(const char* type, const char* nodes, const char* wanted) {
  lowered l;
  open_as(&l, type, nodes);
  lowered_run(&l, PASSES);
  const char* const lines = lowered_lines(&l);
  if (strstr(lines, wanted) == NULL) {
    fail_msg("no '%s' in\n%s", wanted, lines);
  }
  lowered_close(&l);
}

static const char* reason_of(lowered* l, const char* nodes) {
  open_as(l, "int8", nodes);
  lowered_run(l, PASSES);
  assert_int_equal(l->context.caches.count, 1);
  return l->context.caches.items[0].reason;
}

static void expect_reason(const char* nodes, const char* part) {
  lowered l;
  const char* const reason = reason_of(&l, nodes);
  if (reason == NULL || strstr(reason, part) == NULL) {
    fail_msg("reason '%s', expected '%s'", reason == NULL ? "" : reason, part);
  }
  lowered_close(&l);
}

static void types_have_names(void** state) {
  (void)state;
  etx_ir_module module;
  etx_pool pool;
  etx_diag diag;
  etx_pool_init(&pool);
  etx_ir_module_init(&module, &pool);
  etx_diag_init(&diag);
  assert_int_equal(module.cache_type, ETX_DTYPE_FLOAT32);
  assert_int_equal(etx_cache_type_set(&module, etx_text_of("bf16"), &diag),
                   ETX_OK);
  assert_int_equal(module.cache_type, ETX_DTYPE_BFLOAT16);
  assert_int_equal(etx_cache_type_set(&module, etx_text_of("q8_0"), &diag),
                   ETX_BAD_ARGUMENT);
  assert_non_null(strstr(diag.text, "'q8_0', expected int8"));
  etx_pool_close(&pool);
}

static void a_state_that_is_not_attended_to_stays(void** state) {
  (void)state;
  expect_reason(APPEND "mutates: {keys: n}\noutputs: [k]\n",
                "no fused attention reads it");
  expect_reason(APPEND "mutates: {keys: n}\noutputs: [n]\n",
                "a method returns it");
  expect_reason(APPEND
                "  - {out: s, op: aten.neg.default, args: [n]}\n"
                "mutates: {keys: n}\noutputs: [s]\n",
                "not only written and attended to");
}

static void rows_are_rounded_where_they_are_written(void** state) {
  (void)state;
#define CACHED APPEND ATTEND "mutates: {keys: n}\noutputs: [y]\n"
  expect("f32", CACHED, "n: float32[1, 2, 5, 8] = aten::index_put.out(keys, ");
  expect("f16", CACHED, "n: float16[1, 2, 5, 8] = aten::index_put.out(keys, ");
  expect("f16", CACHED, "= etx::attention.out(q, n, n, ");
  expect("bf16", CACHED,
         "n: bfloat16[1, 2, 5, 8] = aten::index_put.out(keys, ");
  expect("int8", CACHED,
         "n.1: int8[1, 2, 1, 8], n.2: float32[1, 2, 1, 1] = "
         "etx::quantize_rows.out(k)\n"
         "n: int8[1, 2, 5, 8] = aten::index_put.out(keys, [None, None, at], "
         "n.1, False)\n"
         "n.4: float32[1, 2, 5, 1] = aten::index_put.out(keys_factors, [None, "
         "None, at], n.2, False)\n");
  expect("int8", CACHED, "= etx::attention_scaled.out(q, n, n, ");
  expect("int8", CACHED, ", 0, n.4, n.4)\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(types_have_names),
      cmocka_unit_test(rows_are_rounded_where_they_are_written),
      cmocka_unit_test(a_state_that_is_not_attended_to_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
