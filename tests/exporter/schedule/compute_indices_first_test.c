// Which nodes are moved in front of the first write of a state.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

static lowered l;  // too large for a stack

#define BEFORE "classify_state lower assign_storage update_in_place write_back"
#define BUFFERS                                  \
  "buffers:\n"                                   \
  "  - {name: a, type: 'float32[8]', init: 0}\n" \
  "  - {name: b, type: 'float32[8]', init: 0}\n" \
  "  - {name: c, type: 'int64[1]', init: 0}\n"   \
  "inputs:\n"                                    \
  "  - {name: at, type: 'int64[1]'}\n"           \
  "  - {name: v, type: 'float32[1]'}\n"
#define PUT(state, index)                                              \
  "  - {out: new_" state ", op: aten.index_put.default, args: [" state \
  ", [" index "], v]}\n"

static size_t position_of(const char* name) {
  const etx_ir_method* const m = &l.reading.module.methods[0];
  for (size_t n = 0; n < m->node_count; ++n) {
    const uint32_t value = m->nodes[n].outputs[0];
    if (etx_text_is(m->values[value].name, name)) {
      assert_int_equal(m->values[value].index, n);
      return n;
    }
  }
  fail_msg("there is no value '%s'", name);
  return 0;
}

static void open_moved(const char* nodes) {
  lowered_open(&l, ETX_TARGET_ETX, nodes);
  lowered_run(&l, BEFORE " compute_indices_first");
}

static void what_depends_on_inputs_moves_in_front(void** state) {
  (void)state;
  open_moved(BUFFERS
             "nodes:\n" PUT("a", "at")
             "  - {out: w, op: aten.mul.Tensor, args: [v, v]}\n"
             "  - {out: two, op: aten.add.Tensor, args: [at, at]}\n"
             "  - {out: three, op: aten.add.Tensor, args: [two, at]}\n" PUT(
                 "b", "three")
             "mutates: {a: new_a, b: new_b}\n"
             "outputs: [w, three]\n");
  assert_int_equal(position_of("two"), 0);
  assert_int_equal(position_of("three"), 1);
  assert_int_equal(position_of("new_a"), 2);
  assert_int_equal(position_of("w"), 3);  // it is no index
  assert_int_equal(position_of("new_b"), 4);
  lowered_close(&l);
}

#define NEW_C(more) \
  "nodes:\n" PUT("a", "at")                                              \
  "  - {out: sum, op: aten.add.Tensor, args: [c, at]}\n" more PUT("b", "sum") \
  "mutates: {a: new_a, b: new_b, c: new_c}\n"                            \
  "outputs: []\n"
#define ADD(out, args) \
  "  - {out: " out ", op: aten.add.Tensor, args: " args "}\n"

// A state that is not written before the index is computed.
static void what_depends_on_the_old_content_of_a_state_moves(void** state) {
  (void)state;
  open_moved(BUFFERS NEW_C(ADD("new_c", "[c, c]")));
  assert_int_equal(position_of("sum"), 0);
  assert_true(position_of("new_c") > position_of("new_a"));
  lowered_close(&l);
}

// A counter from whose new content an index is computed is not computed in the
// state, so that the index is known before any state is written.
static void a_counter_is_written_behind_its_use(void** state) {
  (void)state;
  open_moved(BUFFERS
             "nodes:\n" PUT("a", "at") ADD("new_c", "[c, at]")
                 ADD("two", "[new_c, at]") PUT("b", "two")
             "mutates: {a: new_a, b: new_b, c: new_c}\n"
             "outputs: []\n");
  assert_int_equal(position_of("new_c"), 0);
  assert_int_equal(position_of("two"), 1);
  assert_int_equal(position_of("new_a"), 2);
  lowered_close(&l);
}

static void a_method_without_state_keeps_its_order(void** state) {
  (void)state;
  open_moved(
      "inputs: [{name: x, type: 'float32[8]'}, {name: at, type: 'int64[1]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.neg.default, args: [x]}\n"
      "  - {out: two, op: aten.add.Tensor, args: [at, at]}\n"
      "  - {out: z, op: aten.index_select.default, args: [y, 0, two]}\n"
      "outputs: [z]\n");
  assert_int_equal(position_of("y"), 0);
  assert_int_equal(position_of("two"), 1);
  lowered_close(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_depends_on_inputs_moves_in_front),
      cmocka_unit_test(what_depends_on_the_old_content_of_a_state_moves),
      cmocka_unit_test(a_counter_is_written_behind_its_use),
      cmocka_unit_test(a_method_without_state_keeps_its_order),
  };
  return cmocka_run_group_tests_name("compute_indices_first", tests, NULL,
                                     NULL);
}
