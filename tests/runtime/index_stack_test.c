// The lock-free stack of indices, with other pops and pushes between the two
// halves of a pop. instance_pool_test.c uses it with threads.

#include "runtime/pool/index_stack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { COUNT = 4 };

typedef struct stack_fixture {
  etx_index_stack stack;
  uint32_t links[COUNT];
} stack_fixture;

// Indices 0 to 3, with 0 on top.
static void fill(stack_fixture* f) {
  *f = (stack_fixture){.stack = {0, NULL}};
  f->stack.links = f->links;
  for (uint32_t i = COUNT; i-- > 0;) etx_index_stack_push(&f->stack, i);
}

static uint32_t pop(stack_fixture* f) {
  uint32_t index = COUNT;
  uint32_t left = 0;
  assert_true(etx_index_stack_pop(&f->stack, &index, &left));
  assert_int_equal(left, etx_index_stack_size(&f->stack));
  return index;
}

static void the_last_pushed_is_popped_first(void** state) {
  (void)state;
  stack_fixture f;
  uint32_t index = 0, left = 0;
  fill(&f);
  assert_int_equal(etx_index_stack_size(&f.stack), COUNT);
  for (uint32_t i = 0; i < COUNT; ++i) assert_int_equal(pop(&f), i);
  assert_int_equal(etx_index_stack_size(&f.stack), 0);
  assert_false(etx_index_stack_pop(&f.stack, &index, &left));
  etx_index_stack_push(&f.stack, 3);
  assert_int_equal(pop(&f), 3);
}

// Between the halves of a pop of 0, another thread pops 0 and 1 and pushes 0.
// The top is 0 again, but 1 below it is out: writing it as the top would hand
// it out twice.
static void a_top_that_came_back_is_read_again(void** state) {
  (void)state;
  stack_fixture f;
  etx_index_pop slow;
  fill(&f);
  assert_true(etx_index_stack_read(&f.stack, &slow));
  assert_int_equal(slow.index, 0);
  assert_int_equal(pop(&f), 0);
  assert_int_equal(pop(&f), 1);
  etx_index_stack_push(&f.stack, 0);
  assert_false(etx_index_stack_swap(&f.stack, &slow));
  assert_int_equal(pop(&f), 0);
  assert_int_equal(pop(&f), 2);
}

// The same with the same number of indices on the stack as before.
static void a_top_of_a_stack_in_another_order_is_read_again(void** state) {
  (void)state;
  stack_fixture f;
  etx_index_pop slow;
  fill(&f);
  assert_true(etx_index_stack_read(&f.stack, &slow));
  assert_int_equal(pop(&f), 0);
  assert_int_equal(pop(&f), 1);
  assert_int_equal(pop(&f), 2);
  etx_index_stack_push(&f.stack, 1);
  etx_index_stack_push(&f.stack, 2);
  etx_index_stack_push(&f.stack, 0);
  assert_int_equal(etx_index_stack_size(&f.stack), COUNT);
  assert_false(etx_index_stack_swap(&f.stack, &slow));
  assert_int_equal(pop(&f), 0);
  assert_int_equal(pop(&f), 2);
  assert_int_equal(pop(&f), 1);
  assert_int_equal(pop(&f), 3);
}

// A tag that overflows must not change the other parts of the word.
static void tags_wrap(void** state) {
  (void)state;
  stack_fixture f;
  fill(&f);
  f.stack.word |= UINT64_C(0xffffffff) << 32;
  assert_int_equal(pop(&f), 0);
  etx_index_stack_push(&f.stack, 0);
  for (uint32_t i = 0; i < COUNT; ++i) assert_int_equal(pop(&f), i);
  assert_int_equal(etx_index_stack_size(&f.stack), 0);
}

static void the_largest_index_fits(void** state) {
  (void)state;
  static uint32_t links[65535];
  etx_index_stack stack = {0, links};
  uint32_t index = 0, left = 0;
  for (uint32_t i = 0; i < 65535; ++i) etx_index_stack_push(&stack, i);
  assert_int_equal(etx_index_stack_size(&stack), 65535);
  for (uint32_t i = 65535; i-- > 0;) {
    assert_true(etx_index_stack_pop(&stack, &index, &left));
    assert_int_equal(index, i);
    assert_int_equal(left, i);
  }
  assert_false(etx_index_stack_pop(&stack, &index, &left));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_last_pushed_is_popped_first),
      cmocka_unit_test(a_top_that_came_back_is_read_again),
      cmocka_unit_test(a_top_of_a_stack_in_another_order_is_read_again),
      cmocka_unit_test(tags_wrap),
      cmocka_unit_test(the_largest_index_fits),
  };
  return cmocka_run_group_tests_name("index_stack", tests, NULL, NULL);
}
