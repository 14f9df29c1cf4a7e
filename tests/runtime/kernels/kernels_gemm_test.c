// Products on every instruction set of this machine have the bits of the
// summation order that gemm.h states, and are compared with sums in double.
// Operands end at a guard page.

#include <math.h>
#include <string.h>

#include "runtime/kernels/math/half_float.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/matmul/gemm.h"
#include "tests/format/fixtures/format_test.h"
#include "tests/support/guarded_memory.h"
#include "tests/support/test_random.h"
#include "tests/support/test_instruction_sets.h"

// Sizes are drawn again until a product has at most MOST_WORK multiply-adds:
// the reference computes them one by one, on processors that may be emulated.
enum { ROUNDS = TEST_ROUNDS(400), MOST_WORK = 300000 };

// Of right, and of everything else.
typedef struct operand_types {
  etx_dtype dtype, right;
} operand_types;

static const operand_types floats = {ETX_DTYPE_FLOAT32, ETX_DTYPE_FLOAT32};
static const operand_types bfloats = {ETX_DTYPE_BFLOAT16, ETX_DTYPE_BFLOAT16};
static const operand_types halves = {ETX_DTYPE_FLOAT16, ETX_DTYPE_FLOAT16};
static const operand_types bfloat_weights = {ETX_DTYPE_FLOAT32,
                                             ETX_DTYPE_BFLOAT16};
static const operand_types half_weights = {ETX_DTYPE_FLOAT32,
                                           ETX_DTYPE_FLOAT16};

typedef struct gemm_operands {
  etx_gemm p;
  test_block left, right, added, out;
} gemm_operands;

static void run_tasks(void* context, void (*task)(void*, size_t),
                      void* argument, size_t count) {
  (void)context;
  while (count > 0) task(argument, --count);
}

static size_t random_size(size_t most) {
  static const size_t corners[] = {1,  2,  3,  5,   6,   7,   8,  12,
                                   15, 16, 17, 31,  32,  33,  48, 63,
                                   64, 65, 70, 127, 128, 256, 257};
  const size_t corner = corners[test_random_bits() % 23];
  if (test_random_bits() % 2 == 0 && corner <= most) return corner;
  return (size_t)test_random_integer(0, (int64_t)most);
}

static test_block random_block(size_t elements, etx_dtype dtype) {
  test_block block =
      test_block_new(elements * etx_dtype_bytes(dtype), etx_dtype_bytes(dtype));
  for (size_t i = 0; i < elements; ++i) {
    const float x = test_random_float(2);
    if (dtype == ETX_DTYPE_FLOAT32) {
      ((float*)(void*)block.bytes.data)[i] = x;
    } else if (dtype == ETX_DTYPE_FLOAT16) {
      ((uint16_t*)(void*)block.bytes.data)[i] = etx_half_of_f32(x);
    } else {
      ((uint16_t*)(void*)block.bytes.data)[i] = etx_bfloat_of_f32(x);
    }
  }
  return block;
}

// Matrix elements with a row pitch of `pitch`, without padding after the last
// row.
static size_t extent(size_t rows, size_t columns, size_t pitch) {
  return rows == 0 || columns == 0 ? 0 : (rows - 1) * pitch + columns;
}

// The addend is one row for all, one number per row, or a full matrix.
static size_t set_added_layout(etx_gemm* p, size_t gap) {
  const unsigned layout = (unsigned)(test_random_bits() % 3);
  p->added_column = layout < 2 ? 1 : 0;
  p->added_row = (ptrdiff_t)(layout == 1 ? p->columns + gap : layout / 2);
  if (layout == 0) return p->columns;
  return layout == 1 ? extent(p->rows, p->columns, p->columns + gap) : p->rows;
}

// Operands have any layout, or the layout of linear.
static gemm_operands operands_of(operand_types types, size_t rows,
                                 size_t columns, size_t inner, bool is_linear) {
  const etx_dtype dtype = types.dtype;
  const size_t gap = test_random_bits() % 3;
  gemm_operands o = {.p = {.rows = rows,
                           .columns = columns,
                           .inner = inner,
                           .dtype = dtype,
                           .right_dtype = types.right,
                           .left_row = (ptrdiff_t)(inner + gap),
                           .left_inner = 1,
                           .right_inner = 1,
                           .right_column = (ptrdiff_t)(inner + gap),
                           .out_row = (ptrdiff_t)(columns + gap)}};
  size_t left = extent(rows, inner, inner + gap);
  size_t right = extent(columns, inner, inner + gap);
  if (!is_linear && test_random_bits() % 4 == 0) {
    o.p.left_row = 1;
    o.p.left_inner = (ptrdiff_t)(rows + gap);
    left = extent(inner, rows, rows + gap);
  }
  if (!is_linear && test_random_bits() % 2 == 0) {
    o.p.right_column = 1;
    o.p.right_inner = (ptrdiff_t)(columns + gap);
    right = extent(inner, columns, columns + gap);
  }
  o.left = random_block(left, dtype);
  o.right = random_block(right, types.right);
  o.added = random_block(set_added_layout(&o.p, gap), dtype);
  o.out = random_block(extent(rows, columns, columns + gap), dtype);
  o.p.left = (const char*)o.left.bytes.data;
  o.p.right = (const char*)o.right.bytes.data;
  o.p.out = (char*)o.out.bytes.data;
  if (test_random_bits() % 2 == 0) {
    o.p.added = (const char*)o.added.bytes.data;
    o.p.alpha = o.p.beta = etx_scalar_one(dtype);
    o.p.is_scaled = dtype == ETX_DTYPE_FLOAT32 && test_random_bits() % 2 == 0;
    if (o.p.is_scaled) {
      o.p.alpha.f32 = test_random_float(2);
      o.p.beta.f32 = test_random_float(2);
    }
  }
  return o;
}

static gemm_operands random_operands(operand_types types) {
  size_t rows, columns, inner;
  do {
    rows = random_size(test_random_bits() % 4 == 0 ? 230 : 40);
    columns = random_size(140);
    inner = random_size(600);
  } while (rows * columns * inner > MOST_WORK);
  return operands_of(types, rows, columns, inner, false);
}

static void end_operands(gemm_operands* o) {
  assert_true(test_block_end(&o->left));
  assert_true(test_block_end(&o->right));
  assert_true(test_block_end(&o->added));
  assert_true(test_block_end(&o->out));
}

static float element(const char* data, etx_dtype dtype, ptrdiff_t at) {
  if (dtype == ETX_DTYPE_FLOAT32) return ((const float*)(const void*)data)[at];
  const uint16_t half = ((const uint16_t*)(const void*)data)[at];
  return dtype == ETX_DTYPE_FLOAT16 ? etx_f32_of_half(half)
                                    : etx_f32_of_bfloat(half);
}

static float left_at(const etx_gemm* p, size_t row, size_t k) {
  return element(p->left, p->dtype,
                 (ptrdiff_t)row * p->left_row + (ptrdiff_t)k * p->left_inner);
}

static float right_at(const etx_gemm* p, size_t k, size_t column) {
  if (p->has_panels) {
    const size_t panel = column / ETX_GEMM_PANEL;
    return element(p->right, p->right_dtype,
                   (ptrdiff_t)((panel * p->inner + k) * ETX_GEMM_PANEL +
                               column % ETX_GEMM_PANEL));
  }
  return element(
      p->right, p->right_dtype,
      (ptrdiff_t)k * p->right_inner + (ptrdiff_t)column * p->right_column);
}

// The sum as gemm.h defines it.
static float sum_of(const etx_gemm* p, size_t row, size_t column) {
  const bool are_dots =
      !p->has_panels && p->left_inner == 1 && p->right_inner == 1 &&
      p->inner >= 16 &&
      (p->rows <= ETX_GEMM_NT_ROWS || p->columns <= ETX_GEMM_NT_COLUMNS);
  float parts[16] = {0};
  for (size_t k = 0; k < p->inner; ++k) {
    float* part = &parts[are_dots ? k % 16 : 0];
    *part = fmaf(left_at(p, row, k), right_at(p, k, column), *part);
  }
  if (!are_dots) return parts[0];
  for (size_t half = 8; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) parts[i] += parts[i + half];
  }
  return parts[0];
}

static float expected_of(const etx_gemm* p, size_t row, size_t column) {
  const float sum = sum_of(p, row, column);
  if (p->added == NULL) return sum;
  const float added = element(
      p->added, p->dtype,
      (ptrdiff_t)row * p->added_row + (ptrdiff_t)column * p->added_column);
  if (!p->is_scaled) return added + sum;
  const volatile float scaled = p->beta.f32 * added;
  const volatile float product = p->alpha.f32 * sum;
  return scaled + product;
}

static bool is_same(etx_dtype dtype, const char* found, float expected) {
  uint16_t half;
  if (dtype == ETX_DTYPE_FLOAT32) return memcmp(found, &expected, 4) == 0;
  half = dtype == ETX_DTYPE_FLOAT16 ? etx_half_of_f32(expected)
                                    : etx_bfloat_of_f32(expected);
  return memcmp(found, &half, 2) == 0;
}

static void check_bits(const etx_gemm* p, etx_instruction_set set) {
  const size_t bytes = etx_dtype_bytes(p->dtype);
  for (size_t i = 0; i < p->rows; ++i) {
    for (size_t j = 0; j < p->columns; ++j) {
      const char* found = p->out + (i * (size_t)p->out_row + j) * bytes;
      const float expected = expected_of(p, i, j);
      if (is_same(p->dtype, found, expected)) continue;
      fail_msg("%s: %zux%zux%zu, element %zu %zu is %a, expected %a",
               etx_instruction_set_name(set), p->rows, p->columns, p->inner, i,
               j, (double)element(found, p->dtype, 0), (double)expected);
    }
  }
}

// Rounding to a half type: half a unit in the last place, or half of the least
// float16. Tiny numbers of bfloat16 are as float32's.
static double rounding_of(etx_dtype dtype, double x) {
  if (dtype == ETX_DTYPE_FLOAT32) return 0;
  if (dtype == ETX_DTYPE_BFLOAT16) return 0x1.01p-8 * fabs(x) + 0x1p-126;
  return 0x1.01p-11 * fabs(x) + 0x1p-25;
}

static void check_near_double(const etx_gemm* p) {
  if (p->added != NULL) return;
  for (size_t i = 0; i < p->rows; ++i) {
    for (size_t j = 0; j < p->columns; ++j) {
      double sum = 0, scale = 0;
      for (size_t k = 0; k < p->inner; ++k) {
        const double x = (double)left_at(p, i, k) * right_at(p, k, j);
        sum += x;
        scale += fabs(x);
      }
      const double found =
          element(p->out, p->dtype, (ptrdiff_t)i * p->out_row + (ptrdiff_t)j);
      assert_true(fabs(found - sum) <=
                  1e-6 * scale + rounding_of(p->dtype, sum));
    }
  }
}

// In memory of exactly the stated size.
static void run_product(const etx_gemm* p, const etx_parallel* parallel) {
  size_t bytes = 0;
  assert_true(etx_gemm_temporary(p, parallel, &bytes));
  test_block block = test_block_new(bytes, 16);
  etx_gemm_run(p, parallel, block.bytes.data);
  assert_true(test_block_end(&block));
}

static void check_operands(gemm_operands o) {
  const etx_instruction_set best = etx_instruction_set_within(ETX_SET_ANY);
  for (int set = ETX_SET_BASE; set <= (int)best;
       set = test_next_instruction_set(set)) {
    const etx_parallel parallel = {
        .parallel_for = run_tasks,
        .thread_count = (size_t)test_random_integer(1, 8),
        .instruction_set = (etx_instruction_set)set};
    if (o.out.bytes.size > 0) {
      memset(o.out.bytes.data, 0xff, o.out.bytes.size);
    }
    run_product(&o.p, &parallel);
    check_bits(&o.p, (etx_instruction_set)set);
  }
  check_near_double(&o.p);
  end_operands(&o);
}

static void check_rounds(operand_types types, int rounds) {
  test_random_start();
  for (int round = 0; round < rounds; ++round) {
    check_operands(random_operands(types));
  }
}

// Rows as lanes (gemm_transposed.c): more than one block of taps and of
// columns, two passes of rows, and incomplete blocks of each. Also more rows
// than one pass takes.
static void products_with_rows_as_lanes_have_the_same_bits(void** state) {
  static const size_t sizes[][3] = {
      {32, 200, 530}, {28, 17, 1030}, {61, 193, 16}, {64, 48, 40},
      {31, 385, 3},   {30, 16, 1},    {385, 130, 9}, {1200, 17, 5}};
  (void)state;
  test_random_start();
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    check_operands(
        operands_of(floats, sizes[i][0], sizes[i][1], sizes[i][2], true));
  }
}

// All remainders of vector widths, with columns and taps on both sides of one.
static void small_products_have_the_same_bits(void** state) {
  (void)state;
  test_random_start();
  for (int round = 0; round < ROUNDS; ++round) {
    const size_t rows = (size_t)test_random_integer(1, 10);
    const size_t columns = (size_t)test_random_integer(1, 36);
    const size_t inner = (size_t)test_random_integer(1, 18);
    check_operands(
        operands_of(floats, rows, columns, inner, test_random_bits() % 2 == 0));
  }
}

// Whole panels with any number of rows, with more taps than one pass takes, an
// odd number of taps, or none.
static void panels_have_the_bits_of_their_order(void** state) {
  static const size_t sizes[][3] = {{1, 16, 1},    {0, 16, 5},   {3, 80, 770},
                                    {13, 144, 40}, {33, 48, 17}, {7, 64, 1537},
                                    {61, 32, 100}, {400, 16, 9}, {5, 32, 0}};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  (void)state;
  test_random_start();
  for (size_t i = 0; i < SIZES + ROUNDS / 4; ++i) {
    const size_t* s = sizes[i < SIZES ? i : 0];
    const size_t drawn[] = {random_size(40), 16 * random_size(9),
                            random_size(100)};
    if (i >= SIZES) s = drawn;
    gemm_operands o = operands_of(floats, s[0], s[1], s[2], true);
    assert_true(test_block_end(&o.right));
    o.right = random_block(s[1] * s[2], ETX_DTYPE_FLOAT32);
    o.p.right = (const char*)o.right.bytes.data;
    o.p.right_inner = o.p.right_column = 0;
    o.p.has_panels = true;
    check_operands(o);
  }
}

static void floats_have_the_bits_of_their_order(void** state) {
  (void)state;
  check_rounds(floats, ROUNDS);
}

static void half_products_are_summed_in_float32(void** state) {
  (void)state;
  check_rounds(halves, ROUNDS / 4);
  check_rounds(bfloats, ROUNDS / 4);
  check_rounds(half_weights, ROUNDS / 4);
  check_rounds(bfloat_weights, ROUNDS / 4);
}

// Dot products of halves (gemm.c) with more columns or rows than are rounded at
// a time, with all sizes of register blocks, and with elements that are no
// whole vector or cache line.
static void dots_of_halves_have_the_bits_of_their_order(void** state) {
  static const size_t sizes[][3] = {
      {1, 2100, 48},  {1, 16, 2049}, {2, 600, 65}, {3, 345, 16}, {4, 260, 33},
      {5, 209, 40},   {6, 175, 31},  {7, 150, 80}, {8, 131, 17}, {11, 100, 47},
      {12, 90, 1040}, {200, 8, 70},  {65, 7, 19},  {3, 1, 16},   {1, 9000, 16}};
  (void)state;
  test_random_start();
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    const size_t* s = sizes[i];
    check_operands(operands_of(bfloats, s[0], s[1], s[2], true));
    check_operands(operands_of(halves, s[0], s[1], s[2], true));
    check_operands(operands_of(bfloat_weights, s[0], s[1], s[2], true));
    check_operands(operands_of(half_weights, s[0], s[1], s[2], i % 2 == 0));
  }
}

// Blocks of halves (gemm_halves.c): more than one of rows, of columns and of
// taps, and incomplete ones; rows that threads split.
static void blocks_of_halves_have_the_bits_of_their_order(void** state) {
  static const size_t sizes[][3] = {
      {130, 70, 30}, {257, 65, 17}, {13, 100, 270},
      {129, 9, 129}, {16, 64, 128}, {64, 130, 15},
      {385, 33, 20}, {128, 17, 1},  {14, 9, 0}};
  (void)state;
  test_random_start();
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    const size_t* s = sizes[i];
    check_operands(operands_of(bfloats, s[0], s[1], s[2], i > 3));
    check_operands(operands_of(halves, s[0], s[1], s[2], true));
    check_operands(operands_of(bfloat_weights, s[0], s[1], s[2], true));
    check_operands(operands_of(half_weights, s[0], s[1], s[2], i % 2 == 0));
  }
}

// A weight of halves gives the bits of its expansion to float32.
static void half_weights_have_the_bits_of_floats(void** state) {
  static const size_t sizes[][3] = {{1, 200, 1000}, {12, 90, 33}, {13, 40, 64},
                                    {5, 70, 15},    {3, 3, 3},    {70, 8, 40}};
  (void)state;
  test_random_start();
  for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; ++i) {
    const size_t* s = sizes[i / 2];
    const size_t count = s[0] * s[1];
    const operand_types types = i % 2 == 0 ? half_weights : bfloat_weights;
    gemm_operands o = operands_of(types, s[0], s[1], s[2], true);
    const etx_parallel parallel = {.parallel_for = run_tasks,
                                   .thread_count = 3,
                                   .instruction_set = ETX_SET_ANY};
    o.p.out_row = (ptrdiff_t)s[1];
    run_product(&o.p, &parallel);
    const size_t elements = o.right.bytes.size / sizeof(uint16_t);
    test_block wide = test_block_new(elements * sizeof(float), sizeof(float));
    test_block out = test_block_new(count * sizeof(float), sizeof(float));
    for (size_t k = 0; k < elements; ++k) {
      ((float*)(void*)wide.bytes.data)[k] =
          element(o.p.right, types.right, (ptrdiff_t)k);
    }
    etx_gemm p = o.p;
    p.right = (const char*)wide.bytes.data;
    p.right_dtype = ETX_DTYPE_FLOAT32;
    p.out = (char*)out.bytes.data;
    run_product(&p, &parallel);
    assert_memory_equal(p.out, o.p.out, count * sizeof(float));
    assert_true(test_block_end(&wide));
    assert_true(test_block_end(&out));
    end_operands(&o);
  }
}

// Each of the 65536 numbers is multiplied with 1. Zeros have no sign then,
// because sums begin with +0.
static void check_every_half(etx_dtype dtype, etx_instruction_set set) {
  enum { COUNT = 65536, INNER = 16 };
  static uint16_t right[COUNT][INNER], out[COUNT];
  uint16_t left[INNER] = {0};
  const size_t place = (size_t)test_random_integer(0, INNER - 1);
  memset(right, 0, sizeof right);
  left[place] = dtype == ETX_DTYPE_FLOAT16 ? 0x3c00 : 0x3f80;
  for (size_t i = 0; i < COUNT; ++i) right[i][place] = (uint16_t)i;
  const etx_gemm p = {.rows = 1,
                      .columns = COUNT,
                      .inner = INNER,
                      .dtype = dtype,
                      .right_dtype = dtype,
                      .left = (const char*)left,
                      .left_row = INNER,
                      .left_inner = 1,
                      .right = (const char*)right,
                      .right_inner = 1,
                      .right_column = INNER,
                      .out = (char*)out,
                      .out_row = COUNT};
  const etx_parallel parallel = {
      .parallel_for = run_tasks, .thread_count = 1, .instruction_set = set};
  run_product(&p, &parallel);
  const unsigned infinity = dtype == ETX_DTYPE_FLOAT16 ? 0x7c00 : 0x7f80;
  for (unsigned i = 0; i < COUNT; ++i) {
    const unsigned magnitude = i & 0x7fff;
    if (magnitude > infinity) {
      assert_true((out[i] & 0x7fff) > infinity);
    } else {
      assert_int_equal(out[i], magnitude == 0 ? 0 : i);
    }
  }
}

static void every_half_is_expanded_exactly(void** state) {
  const etx_instruction_set best = etx_instruction_set_within(ETX_SET_ANY);
  (void)state;
  test_random_start();
  for (int set = ETX_SET_BASE; set <= (int)best;
       set = test_next_instruction_set(set)) {
    check_every_half(ETX_DTYPE_BFLOAT16, (etx_instruction_set)set);
    check_every_half(ETX_DTYPE_FLOAT16, (etx_instruction_set)set);
  }
}

// Sums next to the middle of two floats, among the denormal numbers, or with
// cancellation; infinities and NaN.
static void steps_are_rounded_once(void** state) {
  static const float numbers[] = {0.0f,       -0.0f,           1.0f,
                                  -1.0f,      0x1.000002p0f,   0x1p-24f,
                                  -0x1p-24f,  0x1.fffffep0f,   0x1p-60f,
                                  0x1.8p-75f, 0x1p-126f,       0x1p-149f,
                                  -0x1p-149f, 0x1.fffffep127f, 0x1p-74f,
                                  3.0f,       0x1.4p12f,       0x1.000004p-25f,
                                  INFINITY,   -INFINITY,       NAN};
  enum { COUNT = sizeof(numbers) / sizeof(numbers[0]), INNER = 40 };
  const etx_instruction_set best = etx_instruction_set_within(ETX_SET_ANY);
  (void)state;
  test_random_start();
  for (int round = 0; round < 3000; ++round) {
    float left[INNER], right[INNER], out, expected;
    const size_t most = round % 4 == 0 ? COUNT : COUNT - 3;
    for (size_t i = 0; i < INNER; ++i) {
      left[i] = numbers[test_random_bits() % most];
      right[i] = numbers[test_random_bits() % most];
      if (round % 3 == 0) left[i] *= 1 + test_random_float(1);
    }
    etx_gemm p = {.rows = 1,
                  .columns = 1,
                  .inner = (size_t)test_random_integer(1, INNER),
                  .dtype = ETX_DTYPE_FLOAT32,
                  .right_dtype = ETX_DTYPE_FLOAT32,
                  .left = (const char*)left,
                  .left_inner = 1,
                  .left_row = INNER,
                  .right = (const char*)right,
                  .right_inner = 1,
                  .right_column = round % 2 == 0 ? 0 : 1,
                  .out = (char*)&out,
                  .out_row = 1};
    expected = sum_of(&p, 0, 0);
    for (int set = ETX_SET_BASE; set <= (int)best;
         set = test_next_instruction_set(set)) {
      const etx_parallel parallel = {
          .parallel_for = run_tasks,
          .thread_count = 1,
          .instruction_set = (etx_instruction_set)set};
      run_product(&p, &parallel);
      if (out != out && expected != expected) continue;
      if (memcmp(&out, &expected, sizeof(out)) == 0) continue;
      fail_msg("%s: %a, expected %a",
               etx_instruction_set_name((etx_instruction_set)set), (double)out,
               (double)expected);
    }
  }
}

static void an_instruction_set_limit_selects_the_widest_set_below(
    void** state) {
  (void)state;
  int own = ETX_SET_BASE;
  for (int limit = ETX_SET_BASE; limit < ETX_SET_COUNT; ++limit) {
    const etx_instruction_set set =
        etx_instruction_set_within((etx_instruction_set)limit);
    if ((int)set == limit) own = limit;
    assert_int_equal(set, own);
  }
  assert_int_equal(etx_instruction_set_within(ETX_SET_ANY), own);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(floats_have_the_bits_of_their_order),
      cmocka_unit_test(small_products_have_the_same_bits),
      cmocka_unit_test(panels_have_the_bits_of_their_order),
      cmocka_unit_test(products_with_rows_as_lanes_have_the_same_bits),
      cmocka_unit_test(half_products_are_summed_in_float32),
      cmocka_unit_test(dots_of_halves_have_the_bits_of_their_order),
      cmocka_unit_test(blocks_of_halves_have_the_bits_of_their_order),
      cmocka_unit_test(half_weights_have_the_bits_of_floats),
      cmocka_unit_test(every_half_is_expanded_exactly),
      cmocka_unit_test(steps_are_rounded_once),
      cmocka_unit_test(an_instruction_set_limit_selects_the_widest_set_below),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
