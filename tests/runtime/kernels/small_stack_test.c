// The kernels of convolutions, products and attention on a thread with little
// stack: their tiles are in temporary memory.

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/method.h"
#include "tests/format/fixtures/format_test.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_instruction_sets.h"

enum { STACK_BYTES = ETX_THREAD_STACK_BYTES, MOST = 1 << 21 };

static float* elements;
static test_call c;

// ------------------------------------------------ operators

static void add_floats(size_t rank, const int32_t* sizes) {
  size_t count = 1;
  for (size_t i = 0; i < rank; ++i) count *= (size_t)sizes[i];
  assert_true(count <= MOST);
  test_call_floats(&c, rank, sizes, elements);
}

static void convolve(bool transposed, int32_t channels, int32_t kernel) {
  test_call_begin(&c, "aten::convolution.out");
  add_floats(4, (int32_t[]){2, channels, 30, 30});
  add_floats(4, (int32_t[]){channels, channels, kernel, kernel});
  test_call_none(&c);
  test_call_integers(&c, 2, (int64_t[]){transposed ? 2 : 1, 1});
  test_call_integers(&c, 2, (int64_t[]){1, 1});
  test_call_integers(&c, 2, (int64_t[]){1, 1});
  test_call_boolean(&c, transposed);
  test_call_integers(&c, 2, (int64_t[]){0, 0});
  test_call_integer(&c, 1);
}

static void start_convolution(void) { convolve(false, 64, 3); }
static void start_narrow_convolution(void) { convolve(false, 5, 5); }
static void start_transposed_convolution(void) { convolve(true, 32, 3); }
static void start_narrow_transposed(void) { convolve(true, 6, 4); }

static void multiply(int32_t rows, int32_t columns, int32_t inner) {
  test_call_begin(&c, "aten::linear.out");
  add_floats(2, (int32_t[]){rows, inner});
  add_floats(2, (int32_t[]){columns, inner});
  test_call_none(&c);
}

static void start_product(void) { multiply(200, 300, 1000); }
static void start_product_with_row_lanes(void) { multiply(60, 300, 1000); }
static void start_decoding_product(void) { multiply(1, 300, 1000); }

static void start_strided_product(void) {
  test_call_begin(&c, "aten::mm.out");
  test_call_tensor(&c, ETX_DTYPE_FLOAT32, 2, (int32_t[]){100, 700},
                   (int32_t[]){1, 100}, elements);
  add_floats(2, (int32_t[]){700, 200});
}

static void start_attention(void) {
  test_call_begin(&c, "etx::scaled_dot_product_attention.out");
  for (int i = 0; i < 3; ++i) add_floats(4, (int32_t[]){1, 2, 400, 64});
  test_call_none(&c);
  test_call_real(&c, 0);
  test_call_boolean(&c, true);
  test_call_none(&c);
  test_call_boolean(&c, false);
}

// ------------------------------------------------ the thread

static void* run_call(void* argument) {
  *(etx_status*)argument = test_call_run(&c, ETX_DTYPE_FLOAT32);
  return NULL;
}

// On some processors a thread must have more: 128 KB on ARM64.
static size_t stack_bytes(void) {
  const long least = sysconf(_SC_THREAD_STACK_MIN);
  return least > STACK_BYTES ? (size_t)least : STACK_BYTES;
}

// A function that needs more stack reaches the guard page behind it.
static void check(void (*start)(void)) {
  const etx_instruction_set best = etx_instruction_set_within(ETX_SET_ANY);
  for (int set = ETX_SET_BASE; set <= (int)best;
       set = test_next_instruction_set(set)) {
    pthread_attr_t attributes;
    pthread_t thread;
    etx_status status = ETX_INTERNAL;
    start();
    c.instruction_set = (etx_instruction_set)set;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, stack_bytes()), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run_call, &status),
                     0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    assert_int_equal(status, ETX_OK);
    test_call_end(&c);
  }
}

static void convolutions_need_little_stack(void** state) {
  (void)state;
  check(start_convolution);
  check(start_narrow_convolution);
  check(start_transposed_convolution);
  check(start_narrow_transposed);
}

static void products_need_little_stack(void** state) {
  (void)state;
  check(start_product);
  check(start_product_with_row_lanes);
  check(start_decoding_product);
  check(start_strided_product);
}

static void attention_needs_little_stack(void** state) {
  (void)state;
  check(start_attention);
}

static int make_elements(void** state) {
  (void)state;
  elements = malloc(MOST * sizeof *elements);
  for (size_t i = 0; elements != NULL && i < MOST; ++i) {
    elements[i] = (float)(i % 17) / 16 - 0.5f;
  }
  return elements == NULL ? -1 : 0;
}

static int free_elements(void** state) {
  (void)state;
  free(elements);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(convolutions_need_little_stack),
      cmocka_unit_test(products_need_little_stack),
      cmocka_unit_test(attention_needs_little_stack),
  };
  return cmocka_run_group_tests(tests, make_elements, free_elements);
}
