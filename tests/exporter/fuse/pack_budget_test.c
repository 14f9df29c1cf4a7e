// Which weights are stored twice: the rule of pack_budget.h, and the layers
// that read each form.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "exporter/fuse/pack_budget.h"
#include "tests/exporter/lowered.h"
#include "tests/support/test_random.h"

static void most_reads_and_then_large_copies_come_first(void** state) {
  (void)state;
  etx_pack_copy copies[] = {
      {.constant = 0, .reads = 1, .bytes = 10},
      {.constant = 1, .reads = 1, .bytes = 60},
      {.constant = 2, .reads = 3, .bytes = 30},
      {.constant = 3, .reads = 1, .bytes = 60},
      {.constant = 4, .reads = 2, .bytes = 50},
  };
  // 30 for three reads, 50 for two, then only 10 of the 20 that are left.
  assert_int_equal(etx_pack_budget_choose(copies, 5, 100), 90);
  static const uint32_t order[] = {2, 4, 1, 3, 0};
  static const bool is_taken[] = {true, true, false, false, true};
  for (size_t i = 0; i < 5; ++i) {
    assert_int_equal(copies[i].constant, order[i]);
    assert_int_equal(copies[i].is_taken, is_taken[i]);
  }
}

static void the_budget_is_never_exceeded(void** state) {
  enum { MOST = 40, ROUNDS = 2000 };
  (void)state;
  for (size_t round = 0; round < ROUNDS; ++round) {
    etx_pack_copy copies[MOST];
    const size_t count = (size_t)test_random_integer(0, MOST);
    const uint64_t budget = (uint64_t)test_random_integer(0, 4000);
    uint64_t taken = 0;
    for (uint32_t i = 0; i < count; ++i) {
      copies[i] =
          (etx_pack_copy){.constant = i,
                          .reads = (uint64_t)test_random_integer(1, 4),
                          .bytes = (uint64_t)test_random_integer(1, 500)};
    }
    const uint64_t answer = etx_pack_budget_choose(copies, count, budget);
    for (size_t i = 0; i < count; ++i) {
      if (copies[i].is_taken) taken += copies[i].bytes;
    }
    assert_int_equal(answer, taken);
    assert_in_range(taken, 0, budget);
    // Whatever was passed over does not fit.
    for (size_t i = 0; i < count; ++i) {
      if (!copies[i].is_taken) assert_true(copies[i].bytes > budget - taken);
    }
  }
}

// `few` and `read` are wanted in both forms: 16 x 5 and 32 x 5 floats.
static const char graph[] =
    "inputs: [{name: x, type: 'float32[40, 5]'}, {name: y, type: "
    "'float32[3, 5]'}, {name: z, type: 'float32[32, 5]'}]\n"
    "buffers:\n"
    "  - {name: few, type: 'float32[16, 5]', init: 3}\n"
    "  - {name: read, type: 'float32[32, 5]', init: 4}\n"
    "nodes:\n"
    "  - {out: a, op: aten.linear.default, args: [x, few]}\n"
    "  - {out: b, op: aten.linear.default, args: [y, few]}\n"
    "  - {out: c, op: aten.linear.default, args: [x, read]}\n"
    "  - {out: d, op: aten.mul.Tensor, args: [z, read]}\n"
    "outputs: [a, b, c, d]\n";

static void expect_with(uint64_t budget, uint64_t used, const char* wanted) {
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX, graph);
  l.options.pack_weights = true;
  l.options.pack_budget = budget;
  lowered_run(&l, "lower pack_weights");
  assert_int_equal(l.context.packed.copy_bytes, used);
  if (strstr(lowered_lines(&l), wanted) == NULL) {
    fail_msg("budget %u: no '%s' in\n%s", (unsigned)budget, wanted,
             lowered_lines(&l));
  }
  lowered_close(&l);
}

static void each_layer_reads_the_form_that_it_wants(void** state) {
  enum { FEW = 16 * 5 * 4, READ = 32 * 5 * 4 };
  (void)state;
  expect_with(0, 0,
              "a: float32[40, 16] = aten::linear.out(x, few, None)\n"
              "b: float32[3, 16] = aten::linear.out(y, few, None)\n"
              "c: float32[40, 32] = aten::linear.out(x, read, None)\n");
  expect_with(FEW - 1, 0, "c: float32[40, 32] = aten::linear.out(x, read");
  expect_with(FEW, FEW,
              "a: float32[40, 16] = etx::linear_panels.out(x, const "
              "float32[1, 5, 16], None, [], 'x')\n"
              "b: float32[3, 16] = aten::linear.out(y, few, None)\n"
              "c: float32[40, 32] = aten::linear.out(x, read, None)\n");
  // The larger one comes first.
  expect_with(READ, READ,
              "a: float32[40, 16] = aten::linear.out(x, few, None)\n"
              "b: float32[3, 16] = aten::linear.out(y, few, None)\n"
              "c: float32[40, 32] = etx::linear_panels.out(x, const "
              "float32[2, 5, 16], None, [], 'x')\n"
              "d: float32[32, 5] = aten::mul.out(z, read)\n");
  expect_with(FEW + READ, FEW + READ,
              "a: float32[40, 16] = etx::linear_panels.out(x");
}

static void the_report_states_the_copies(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX, graph);
  l.options.pack_weights = true;
  l.options.pack_budget = 32 * 5 * 4;
  lowered_run(&l, "lower pack_weights");
  assert_int_equal(l.context.packed.count, 2);
  const etx_packed* const rows = l.context.packed.items;
  const etx_packed* const few =
      etx_text_is(rows[0].name, "few") ? rows : &rows[1];
  const etx_packed* const read = few == rows ? &rows[1] : rows;
  assert_string_equal(few->reason,
                      "does not fit into the budget a second time, unpacked "
                      "for");
  assert_true(etx_text_is(few->reader, "aten::linear"));
  assert_int_equal(few->copy_bytes, 0);
  assert_null(read->reason);
  assert_true(etx_text_is(read->reader, "aten::mul"));
  assert_int_equal(read->copy_bytes, 32 * 5 * 4);
  lowered_close(&l);
}

static int set_up(void** state) {
  (void)state;
  test_random_start();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(most_reads_and_then_large_copies_come_first),
      cmocka_unit_test(the_budget_is_never_exceeded),
      cmocka_unit_test(each_layer_reads_the_form_that_it_wants),
      cmocka_unit_test(the_report_states_the_copies),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
