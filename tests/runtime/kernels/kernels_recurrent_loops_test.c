// The loops of recurrent layers give the same bits with every width of vectors:
// those for registers of 64 bytes are compiled with vectors that the compiler
// splits.

#include <string.h>

#include "runtime/kernels/simd/f32/f32_microkernels.h"
#include "tests/format/fixtures/format_test.h"
#include "tests/runtime/kernels/split_vectors.h"
#include "tests/support/test_random.h"

#define etx_recurrent_loops_avx512 loops_of_64_bytes
#include "runtime/kernels/arch/x86/recurrent_loops_avx512.c"

enum { ROUNDS = TEST_ROUNDS(300), MOST = 70, PITCH = 96 };

static float left[MOST * PITCH], right[MOST * PITCH];
static float one[MOST * PITCH], other[MOST * PITCH];

static void start_round(void) {
  test_random_floats(left, MOST * PITCH, 2);
  left[test_random_bits() % PITCH] = -0.0f;
  test_random_floats(right, MOST * PITCH, 2);
  test_random_floats(one, MOST * PITCH, 2);
  memcpy(other, one, sizeof one);
}

// Panels give the bits of the dot products of the rows that they are made of.
static void panel_dots_are_dot_products(void** state) {
  (void)state;
  for (int round = 0; round < ROUNDS; ++round) {
    static float panels[MOST * PITCH];
    start_round();
    const size_t count = (size_t)test_random_integer(1, PITCH / 16) * 16;
    const size_t panel_count = (size_t)test_random_integer(0, MOST / 16);
    for (size_t i = 0; i < panel_count * 16 * count; ++i) {
      const size_t row = i / (16 * count) * 16 + i % 16;
      panels[i] = right[row * PITCH + i / 16 % count];
    }
    etx_f32_microkernels_base.dots(&(etx_gemm_nt){.out = one,
                                                  .out_row = PITCH,
                                                  .left = left,
                                                  .right = right,
                                                  .right_row = PITCH,
                                                  .rows = 1,
                                                  .columns = panel_count * 16,
                                                  .count = count});
    etx_panel_dots b = {other, left, panels, panel_count, count};
    loops_of_64_bytes.panel_dots(&b);
    assert_memory_equal(one, other, sizeof one);
    memset(other, 0, panel_count * 16 * sizeof *other);
    etx_recurrent_loops_base.panel_dots(&b);
    assert_memory_equal(one, other, sizeof one);
  }
}

static void gates_are_bit_equal(void** state) {
  (void)state;
  for (int round = 0; round < ROUNDS; ++round) {
    float cells[2][MOST];
    start_round();
    test_random_floats(cells[0], MOST, 2);
    memcpy(cells[1], cells[0], sizeof cells[0]);
    etx_gates g = {.count = (size_t)test_random_integer(0, MOST / 16) * 16,
                   .gate_step = MOST,
                   .products = left,
                   .input = right,
                   .bias = test_random_bits() % 2 == 0 ? right + PITCH : NULL,
                   .hidden = left + 5,
                   .cell = cells[0],
                   .out = one};
    for (int kind = 0; kind < ETX_CELL_KINDS; ++kind) {
      g.cell = cells[0];
      g.out = one;
      etx_recurrent_loops_base.gates_by_cell[kind](&g);
      g.cell = cells[1];
      g.out = other;
      loops_of_64_bytes.gates_by_cell[kind](&g);
      assert_memory_equal(one, other, sizeof one);
      assert_memory_equal(cells[0], cells[1], sizeof cells[0]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(panel_dots_are_dot_products),
      cmocka_unit_test(gates_are_bit_equal),
  };
  test_random_start();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
