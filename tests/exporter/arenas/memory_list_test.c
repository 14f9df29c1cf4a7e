// Memories of a board as text: what is read, what is refused, and what is
// decided where something was left out.

#include "exporter/arenas/memory_list.h"
#include "tests/support/assert_message.h"
#include "tests/support/assert_status.h"

static etx_diag diag;

typedef struct memory_module {
  etx_pool pool;
  etx_ir_module module;
} memory_module;

static void start_module(memory_module* m) {
  etx_diag_init(&diag);
  etx_pool_init(&m->pool);
  etx_ir_module_init(&m->module, &m->pool);
}

static etx_status add(memory_module* m, const char* text) {
  return etx_memory_list_add(&m->module, etx_text_of(text), &diag);
}

static void forms_are_read_and_printed(void** state) {
  (void)state;
  static const struct {
    const char* text;
    const char* printed;
    uint64_t capacity;
  } rows[] = {
      {"sram=65536", "sram=65536", 65536},
      {"a=64K", "a=65536", 65536},
      {"b_2=8M,cost=3", "b_2=8388608,cost=3", 8388608},
      {"c=1G,state", "c=1073741824,state", 1073741824},
      {"d,cost=65536,state", "d,cost=65536,state", 0},
      {"e", "e", 0},
  };
  memory_module m;
  start_module(&m);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    etx_text_buffer out;
    assert_ok(add(&m, rows[i].text));
    assert_int_equal(m.module.memories[i].capacity, rows[i].capacity);
    etx_text_buffer_init(&out, &m.pool);
    etx_memory_list_put(&out, &m.module.memories[i]);
    assert_true(etx_text_is((etx_text){out.data, out.size}, rows[i].printed));
  }
  etx_pool_close(&m.pool);
}

static void other_forms_are_refused(void** state) {
  (void)state;
  static const char* const texts[] = {"",
                                      "=64K",
                                      "2a=64K",
                                      "a b=64K",
                                      "a=",
                                      "a=0",
                                      "a=64k",
                                      "a=64KB",
                                      "a=-1",
                                      "a=K",
                                      "a=64K,",
                                      "a=64K,cost=0",
                                      "a=64K,speed=2",
                                      "a,cost=65537",
                                      "a=9223372036854775807K",
                                      "a=64K,cost",
                                      "a=64K state"};
  memory_module m;
  start_module(&m);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    etx_diag_init(&diag);
    assert_int_equal(add(&m, texts[i]), ETX_BAD_ARGUMENT);
    assert_true(test_message_has(&diag, "should have the form"));
  }
  assert_int_equal(m.module.memory_count, 0);
  etx_pool_close(&m.pool);
}

static void a_name_is_given_once_and_eight_are_the_most(void** state) {
  (void)state;
  memory_module m;
  char name[] = "m0";
  start_module(&m);
  for (char i = '0'; i < '8'; ++i) {
    name[1] = i;
    assert_ok(add(&m, name));
  }
  assert_int_equal(add(&m, "m3=5"), ETX_BAD_ARGUMENT);
  assert_true(test_message_has(&diag, "was given before"));
  etx_diag_init(&diag);
  assert_int_equal(add(&m, "m9"), ETX_BAD_ARGUMENT);
  assert_true(test_message_has(&diag, "one too many"));
  etx_pool_close(&m.pool);
}

static void costs_and_the_place_of_the_state_have_defaults(void** state) {
  (void)state;
  memory_module m;
  start_module(&m);
  assert_ok(add(&m, "a=1K"));
  assert_ok(add(&m, "b=2K,cost=10"));
  assert_ok(add(&m, "c"));
  assert_ok(etx_memory_list_complete(&m.module, &diag));
  assert_int_equal(m.module.memories[0].cost, 1);
  assert_int_equal(m.module.memories[1].cost, 10);
  assert_int_equal(m.module.memories[2].cost, 40);
  assert_true(m.module.memories[2].holds_state);
  assert_false(m.module.memories[0].holds_state);
  etx_pool_close(&m.pool);
  start_module(&m);
  assert_ok(add(&m, "a=1K,state"));
  assert_ok(add(&m, "b=2K,state"));
  assert_int_equal(etx_memory_list_complete(&m.module, &diag),
                   ETX_BAD_ARGUMENT);
  assert_true(test_message_has(&diag, "both memories 'a' and 'b'"));
  etx_pool_close(&m.pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forms_are_read_and_printed),
      cmocka_unit_test(other_forms_are_refused),
      cmocka_unit_test(a_name_is_given_once_and_eight_are_the_most),
      cmocka_unit_test(costs_and_the_place_of_the_state_have_defaults),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
