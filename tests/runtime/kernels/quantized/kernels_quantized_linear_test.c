// Linear operators with quantised weights: every instruction set of this
// machine gives the bits of the base set, whose results are compared with a
// product in double. Operands end at a guard page, so that reads past the end
// fault.

#include <math.h>
#include <string.h>

#include "runtime/kernels/quantized/quantized_linear.h"
#include "tests/format/fixtures/format_test.h"
#include "tests/support/guarded_memory.h"
#include "tests/support/test_random.h"
#include "tests/support/test_instruction_sets.h"

enum {
  ROUNDS = TEST_ROUNDS(300),
  MAX_ROWS = 140,
  MAX_COLUMNS = 70,
  MAX_RESULTS = 70000
};

typedef struct linear_case {
  etx_quantized_linear linear;
  etx_tensor input, out, bias;
  int32_t in_sizes[2], in_strides[2], out_sizes[2], out_strides[2];
  int32_t bias_size, one;
  test_block x, w, scales, zeros, params, biases, result;
} linear_case;

static void run_tasks(void* context, void (*task)(void*, size_t),
                      void* argument, size_t count) {
  (void)context;
  while (count > 0) task(argument, --count);
}

static test_block random_floats(size_t count, float scale) {
  test_block block = test_block_new(count * sizeof(float), sizeof(float));
  test_random_floats((float*)(void*)block.bytes.data, count, scale);
  return block;
}

static test_block random_bytes(size_t count) {
  test_block block = test_block_new(count, 1);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = test_random_bits();
    block.bytes.data[i] = (uint8_t)(bits % 5 == 0 ? 0x80 : bits >> 8);
  }
  return block;
}

// Parameters of groups, often with the smallest or largest offset and factor.
static test_block random_params(size_t count) {
  static const int16_t corners[] = {0, 255, -32768, -32513, 32767, 32512};
  test_block block = test_block_new(count * sizeof(int16_t), sizeof(int16_t));
  int16_t* const params = (int16_t*)(void*)block.bytes.data;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = test_random_bits();
    params[i] =
        bits % 4 == 0 ? corners[(bits >> 8) % 6] : (int16_t)(bits >> 16);
  }
  return block;
}

static size_t random_size(size_t most) {
  static const size_t corners[] = {0, 1, 2, 3, 4, 5, 8, 9, 31, 32, 33, 65};
  const size_t corner = corners[test_random_bits() % 12];
  if (test_random_bits() % 2 == 0 && corner <= most) return corner;
  return (size_t)test_random_integer(0, (int64_t)most);
}

// Mostly shorter than one panel.
static size_t random_inner(void) {
  const uint32_t bits = test_random_bits() % 32;
  if (bits == 0) return test_random_bits() % 2 == 0 ? 2048 : 4096;
  return random_size(bits == 1 ? 1100 : 600);
}

static void set_matrix(etx_tensor* tensor, int32_t* sizes, int32_t* strides,
                       size_t rows, size_t columns, void* data) {
  sizes[0] = (int32_t)rows;
  sizes[1] = strides[0] = (int32_t)columns;
  strides[1] = 1;
  *tensor = (etx_tensor){.dtype = ETX_DTYPE_FLOAT32,
                         .rank = 2,
                         .sizes = sizes,
                         .strides = strides,
                         .data = data};
}

typedef struct linear_shape {
  size_t rows, columns, inner, group;
} linear_shape;

// Integer rows have no loop for 8-bit weights with groups.
static linear_shape random_linear_shape(size_t bits, bool is_integer) {
  static const size_t groups[] = {32, 64, 128, 256, 2, 6, 96, 512};
  // Sometimes enough rows for panels, and for several of them.
  const bool is_tall = test_random_bits() % 4 == 0;
  // Sometimes one row with a multiple of four groups.
  const bool is_single = bits == 4 && test_random_bits() % 4 == 0;
  const size_t rows = is_single ? 1 : random_size(is_tall ? MAX_ROWS : 20);
  const size_t columns = random_size(MAX_COLUMNS);
  const bool is_grouped =
      bits == 4 || (!is_integer && test_random_bits() % 3 == 0);
  const size_t group =
      is_grouped ? groups[test_random_bits() % (is_single ? 3 : 8)] : 0;
  const bool is_long = is_single || (bits == 4 && test_random_bits() % 16 == 0);
  const size_t times = (size_t)test_random_integer(1, 9) * (is_long ? 4 : 1);
  const size_t inner = is_grouped ? group * times : random_inner();
  return (linear_shape){rows, columns, inner, group};
}

// What moves the zero of groups of 4-bit weights.
typedef enum group_kind { PLAIN, ZEROS, PARAMS, KINDS } group_kind;

static void init_case_of(linear_case* o, size_t bits, bool is_integer,
                         linear_shape size, group_kind kind) {
  const size_t rows = size.rows, columns = size.columns;
  const size_t inner = size.inner, group = size.group;
  const size_t count = group == 0 ? 1 : inner / group;
  memset(o, 0, sizeof(*o));
  o->x = random_floats(rows * inner, 2);
  // Rows without negative numbers, without positive ones, or with many numbers
  // at or next to the middle between two bytes (the scale is 1 / 64), which
  // test rounding.
  const uint32_t distribution = test_random_bits() % 5;
  float* x = (float*)(void*)o->x.bytes.data;
  for (size_t i = 0; i < rows * inner; ++i) {
    if (distribution == 0) x[i] = fabsf(x[i]);
    if (distribution == 1) x[i] = -fabsf(x[i]);
    if (distribution == 2) x[i] = roundf(x[i] * 100) / 128;
    if (distribution == 2 && i % 3 == 0)
      x[i] = nextafterf(x[i], i % 2 == 0 ? 3 : -3);
    if (distribution == 2 && i % inner == 0) x[i] = -1.96875f;
    if (distribution == 2 && i % inner == 1) x[i] = 2.015625f;
  }
  o->w = random_bytes(columns * inner * bits / 8);
  o->scales = kind == PARAMS ? random_floats(columns, 5e-6f)
                             : random_floats(columns * count, 0.01f);
  o->zeros = random_bytes(columns * count);
  o->params = random_params(columns * count);
  o->biases = random_floats(columns, 1);
  o->result = test_block_new(rows * columns * sizeof(float), sizeof(float));
  set_matrix(&o->input, o->in_sizes, o->in_strides, rows, inner,
             o->x.bytes.data);
  set_matrix(&o->out, o->out_sizes, o->out_strides, rows, columns,
             o->result.bytes.data);
  o->bias_size = (int32_t)columns;
  o->one = 1;
  o->bias = (etx_tensor){.dtype = ETX_DTYPE_FLOAT32,
                         .rank = 1,
                         .sizes = &o->bias_size,
                         .strides = &o->one,
                         .data = o->biases.bytes.data};
  o->linear = (etx_quantized_linear){
      .weight = {.data = o->w.bytes.data,
                 .dtype = bits == 8 ? ETX_DTYPE_INT8 : ETX_DTYPE_UINT8,
                 .bits = bits,
                 .row_bytes = inner * bits / 8,
                 .inner = inner,
                 .group = group != 0   ? group
                          : inner == 0 ? 1
                                       : inner,
                 .groups = count,
                 .scales = (const char*)o->scales.bytes.data,
                 .scale_dtype = ETX_DTYPE_FLOAT32},
      .columns = columns,
      .input = &o->input,
      .out = &o->out,
      .is_integer = is_integer};
  if (kind == ZEROS)
    o->linear.weight.zeros = (const int8_t*)o->zeros.bytes.data;
  if (kind == PARAMS) o->linear.weight.params = (void*)o->params.bytes.data;
  if (test_random_bits() % 2 == 0) o->linear.bias = &o->bias;
}

static void init_case(linear_case* o, size_t bits, bool is_integer,
                      linear_shape size) {
  const uint32_t kind = bits == 4 ? test_random_bits() % KINDS : PLAIN;
  init_case_of(o, bits, is_integer, size, (group_kind)kind);
}

static void init_random_case(linear_case* o, size_t bits, bool is_integer) {
  init_case(o, bits, is_integer, random_linear_shape(bits, is_integer));
}

static void end_case(linear_case* o) {
  test_block* blocks[] = {&o->x,      &o->w,      &o->scales, &o->zeros,
                          &o->params, &o->biases, &o->result};
  for (size_t i = 0; i < 7; ++i) assert_true(test_block_end(blocks[i]));
}

static double weight_at(const etx_packed_weights* w, size_t n, size_t k) {
  const uint8_t* row = w->data + n * w->row_bytes;
  const size_t at = n * w->groups + k / w->group;
  const float* scales = (const float*)(const void*)w->scales;
  const int half = w->bits == 8 ? 0
                   : k % 2 == 0 ? row[k / 2] >> 4
                                : row[k / 2] & 15;
  if (w->params != NULL) {
    const int factor = w->params[at] & 255;
    const int offset = (w->params[at] - factor) / 256;
    return (double)scales[n] * factor * (16 * (half - 8) + offset);
  }
  const double scale = scales[at];
  if (w->bits == 8) return scale * ((const int8_t*)row)[k];
  return scale * (half - 8 - (w->zeros == NULL ? 0 : w->zeros[at]));
}

// Compares with a product in double. Quantised rows differ by up to half a
// step.
static void check_against_double(const linear_case* o) {
  const etx_packed_weights* w = &o->linear.weight;
  const float* x = (const float*)(const void*)o->x.bytes.data;
  const float* out = (const float*)(const void*)o->result.bytes.data;
  for (size_t m = 0; m < (size_t)o->in_sizes[0]; ++m) {
    for (size_t n = 0; n < o->linear.columns; ++n) {
      double sum = 0, scale = 0, weights = 0;
      for (size_t k = 0; k < w->inner; ++k) {
        const double weight = weight_at(w, n, k);
        sum += weight * x[m * w->inner + k];
        scale += fabs(weight * x[m * w->inner + k]);
        weights += fabs(weight);
      }
      if (o->linear.bias != NULL) {
        sum += ((const float*)o->bias.data)[n];
        scale += fabs(((const float*)o->bias.data)[n]);
      }
      const double step = o->linear.is_integer ? 4.0 / 255 : 0;
      const double most = 1e-6 * scale + step * 0.51 * weights + 1e-12;
      const double found = out[m * o->linear.columns + n];
      if (fabs(found - sum) <= most) continue;
      fail_msg("%zu bits, inner %zu: %g, expected %g", w->bits, w->inner, found,
               sum);
    }
  }
}

static void run_with_set(linear_case* o, etx_instruction_set set) {
  const etx_parallel parallel = {
      .parallel_for = run_tasks,
      .thread_count = (size_t)test_random_integer(1, 4),
      .instruction_set = set};
  if (o->result.bytes.size > 0) {
    memset(o->result.bytes.data, 0xff, o->result.bytes.size);
  }
  size_t bytes = 0;
  assert_true(etx_quantized_linear_bytes(&o->input, o->linear.weight.bits,
                                         o->linear.is_integer, &parallel,
                                         &bytes));
  test_block temporary = test_block_new(bytes, 16);
  etx_quantized_linear_run(&o->linear, temporary.bytes.data, &parallel);
  assert_true(test_block_end(&temporary));
}

// Runs with every instruction set and compares with the base set.
static void run_all_sets(linear_case* o, bool compares_with_double) {
  static uint8_t first[MAX_RESULTS * sizeof(float)];
  const etx_instruction_set best = etx_instruction_set_within(ETX_SET_ANY);
  const size_t size = o->result.bytes.size;
  run_with_set(o, ETX_SET_BASE);
  if (compares_with_double) check_against_double(o);
  if (size > 0) memcpy(first, o->result.bytes.data, size);
  for (int set = test_next_instruction_set(ETX_SET_BASE); set <= (int)best;
       set = test_next_instruction_set(set)) {
    run_with_set(o, (etx_instruction_set)set);
    if (size == 0 || memcmp(first, o->result.bytes.data, size) == 0) continue;
    fail_msg("%s differs: %zu bits, %d x %zu x %zu, group %zu",
             etx_instruction_set_name((etx_instruction_set)set),
             o->linear.weight.bits, o->in_sizes[0], o->linear.columns,
             o->linear.weight.inner, o->linear.weight.group);
  }
}

static void check_rounds(size_t bits, bool is_integer) {
  test_random_start();
  for (int round = 0; round < ROUNDS; ++round) {
    linear_case o;
    init_random_case(&o, bits, is_integer);
    run_all_sets(&o, true);
    end_case(&o);
  }
}

static void float_rows_times_8bit_weights(void** state) {
  (void)state;
  check_rounds(8, false);
}

static void float_rows_times_4bit_weights(void** state) {
  (void)state;
  check_rounds(4, false);
}

static void int8_rows_times_8bit_weights(void** state) {
  (void)state;
  check_rounds(8, true);
}

static void int8_rows_times_4bit_weights(void** state) {
  (void)state;
  check_rounds(4, true);
}

// One row and weights larger than L2, with sizes that are not multiples of
// vectors or column blocks.
static void one_row_times_weights_larger_than_cache(void** state) {
  static const size_t inner[] = {512, 513, 575, 768, 831, 1090, 2047, 8192};
  (void)state;
  test_random_start();
  for (size_t i = 0; i < sizeof(inner) / sizeof(*inner); ++i) {
    const size_t least = ((size_t)1 << 18) / inner[i] + 1;
    const size_t columns = least + random_size(40);
    linear_case o;
    assert_true(columns <= MAX_RESULTS);
    init_case(&o, 8, true, (linear_shape){1, columns, inner[i], 0});
    run_all_sets(&o, true);
    end_case(&o);
  }
}

// Packs the weights to panels of sixteen columns, and computes the column sums.
static void pack_panels(linear_case* o, test_block* panels, test_block* sums) {
  etx_packed_weights* const w = &o->linear.weight;
  const size_t columns = o->linear.columns;
  *panels = test_block_new((columns + 15) / 16 * 16 * w->inner, 1);
  memset(panels->bytes.data, 0, panels->bytes.size);
  *sums = test_block_new(columns * sizeof(int32_t), sizeof(int32_t));
  int32_t* const column_sums = (int32_t*)(void*)sums->bytes.data;
  for (size_t n = 0; n < columns; ++n) {
    column_sums[n] = 0;
    for (size_t k = 0; k < w->inner; ++k) {
      const uint8_t byte = w->data[n * w->inner + k];
      panels->bytes
          .data[(n / 16 * w->inner + k / 4 * 4) * 16 + n % 16 * 4 + k % 4] =
          byte;
      column_sums[n] += (int8_t)byte;
    }
  }
  w->data = panels->bytes.data;
  w->has_panels = true;
  o->linear.sums = column_sums;
}

static void panels_give_the_bits_of_stored_weights(void** state) {
  static const linear_shape shapes[] = {
      {1, 16, 64, 0},
      {24, 48, 1024, 0},
      {12, 64, 60, 0},
      {25, 32, 2052, 0},
      {5, 16, 0, 0},
      {3, 16, 40000, 0},
      {29, 16, 32768, 0},
      {9, 1, 512, 0},
      {33, 17, 512, 0},
      {40, 31, 768, 0},
      {2, 45, 512, 0},
      {1, 96, 512, 0},
      {5, 64, 516, 0},
      // Rows in parts; results larger than L2.
      {90, 48, 4096, 0},
      {17, 4096, 64, 0}};
  enum { SHAPES = sizeof(shapes) / sizeof(*shapes) };
  const etx_instruction_set best = etx_instruction_set_within(ETX_SET_ANY);
  static uint8_t stored[MAX_RESULTS * sizeof(float)];
  (void)state;
  test_random_start();
  for (int round = 0; round < SHAPES + ROUNDS / 3; ++round) {
    linear_case o;
    test_block panels, sums;
    linear_shape s = random_linear_shape(8, true);
    if (round % 2 == 0) s.columns = s.columns % 6 * 16;
    s.inner -= s.inner % 4;
    if (round < SHAPES) s = shapes[round];
    init_case(&o, 8, true, s);
    const size_t size = o.result.bytes.size;
    run_with_set(&o, ETX_SET_BASE);
    if (size > 0) memcpy(stored, o.result.bytes.data, size);
    pack_panels(&o, &panels, &sums);
    for (int set = ETX_SET_BASE; set <= (int)best;
         set = test_next_instruction_set(set)) {
      run_with_set(&o, (etx_instruction_set)set);
      if (size == 0 || memcmp(stored, o.result.bytes.data, size) == 0) continue;
      fail_msg("%s differs: %zu x %zu x %zu",
               etx_instruction_set_name((etx_instruction_set)set), s.rows,
               s.columns, s.inner);
    }
    assert_true(test_block_end(&panels));
    assert_true(test_block_end(&sums));
    end_case(&o);
  }
}

// The first NaN, or the first of the largest elements.
static size_t argmax_of(const float* row, size_t columns) {
  for (size_t c = 0; c < columns; ++c) {
    if (isnan(row[c])) return c;
  }
  size_t at = 0;
  for (size_t c = 1; c < columns; ++c) {
    if (row[c] > row[at]) at = c;
  }
  return at;
}

// Copies columns, so that results tie, and sets special biases.
static void add_ties_and_nan(linear_case* o) {
  static const float special[] = {NAN, INFINITY, -INFINITY, 0, -0.0f, 9};
  float* biases = (float*)(void*)o->biases.bytes.data;
  float* scales = (float*)(void*)o->scales.bytes.data;
  const size_t inner = o->linear.weight.inner;
  for (size_t c = 0; c < o->linear.columns; ++c) {
    const uint32_t bits = test_random_bits();
    if (bits % 23 == 0) biases[c] = special[bits / 23 % 6];
    if (bits % 3 != 0 || c == 0) continue;
    const size_t from = bits / 3 % c;
    memcpy(o->w.bytes.data + c * inner, o->w.bytes.data + from * inner, inner);
    biases[c] = biases[from];
    scales[c] = scales[from];
  }
}

static void check_argmax(linear_case* o, etx_instruction_set set) {
  const size_t rows = (size_t)o->in_sizes[0], columns = o->linear.columns;
  const float* results = (const float*)(const void*)o->result.bytes.data;
  test_block best =
      test_block_new(ETX_ARGMAX_PIECES * rows * sizeof(etx_row_argmax), 16);
  o->linear.best = (etx_row_argmax*)(void*)best.bytes.data;
  o->linear.out = NULL;
  run_with_set(o, set);
  o->linear.out = &o->out;
  run_with_set(o, ETX_SET_BASE);
  for (size_t row = 0; row < rows; ++row) {
    const size_t expected = argmax_of(results + row * columns, columns);
    const size_t found = etx_row_argmax_column(o->linear.best, rows, row);
    if (found == expected) continue;
    fail_msg("%s: row %zu of %zu x %zu x %zu: column %zu, expected %zu",
             etx_instruction_set_name(set), row, rows, columns,
             o->linear.weight.inner, found, expected);
  }
  assert_true(test_block_end(&best));
}

static void argmax_matches_the_stored_results(void** state) {
  static const linear_shape shapes[] = {{32, 700, 512, 0},
                                        {33, 2080, 64, 0},
                                        {1, 4999, 128, 0},
                                        {97, 40, 2048, 0}};
  enum { SHAPES = sizeof(shapes) / sizeof(*shapes) };
  const etx_instruction_set last = etx_instruction_set_within(ETX_SET_ANY);
  (void)state;
  test_random_start();
  for (int round = 0; round < SHAPES + ROUNDS / 3; ++round) {
    linear_case o;
    test_block panels, sums;
    linear_shape s =
        round < SHAPES ? shapes[round] : random_linear_shape(8, true);
    s.inner -= s.inner % 4;
    if (s.columns == 0) s.columns = 1;
    init_case(&o, 8, true, s);
    add_ties_and_nan(&o);
    const bool is_packed = round % 3 != 2;
    if (is_packed) pack_panels(&o, &panels, &sums);
    for (int set = ETX_SET_BASE; set <= (int)last;
         set = test_next_instruction_set(set)) {
      check_argmax(&o, (etx_instruction_set)set);
    }
    if (is_packed) {
      assert_true(test_block_end(&panels));
      assert_true(test_block_end(&sums));
    }
    end_case(&o);
  }
}

// Column sums of a file that do not belong to its weights.
static void wrong_column_sums_do_not_crash(void** state) {
  const etx_instruction_set last = etx_instruction_set_within(ETX_SET_ANY);
  (void)state;
  test_random_start();
  linear_case o;
  test_block panels, sums;
  init_case(&o, 8, true, (linear_shape){25, 40, 64, 0});
  pack_panels(&o, &panels, &sums);
  int32_t* const stated = (int32_t*)(void*)sums.bytes.data;
  for (size_t c = 0; c < 40; ++c)
    stated[c] = c % 2 == 0 ? INT32_MIN : INT32_MAX;
  for (int set = ETX_SET_BASE; set <= (int)last;
       set = test_next_instruction_set(set)) {
    run_with_set(&o, (etx_instruction_set)set);
  }
  assert_true(test_block_end(&panels));
  assert_true(test_block_end(&sums));
  end_case(&o);
}

// Rows with NaN, infinity or numbers near the largest float.
static void rows_with_nan_or_infinity_are_bit_equal(void** state) {
  static const float special[] = {NAN,   INFINITY, -INFINITY,
                                  3e38f, -3e38f,   1e-45f};
  (void)state;
  test_random_start();
  for (int round = 0; round < ROUNDS / 2; ++round) {
    linear_case o;
    init_random_case(&o, round % 2 == 0 ? 8 : 4, true);
    float* x = (float*)(void*)o.x.bytes.data;
    const size_t count = o.x.bytes.size / sizeof(float);
    for (size_t i = 0; i < count; ++i) {
      if (test_random_bits() % 200 == 0) x[i] = special[test_random_bits() % 6];
    }
    run_all_sets(&o, false);
    end_case(&o);
  }
}

// Weights that are larger than L2 are prefetched.
static void weights_larger_than_l2_are_bit_equal(void** state) {
  static const size_t rows[] = {1, 3, 9, 15};
  (void)state;
  test_random_start();
  for (size_t i = 0; i < 8; ++i) {
    linear_case o;
    const size_t bits = i % 2 == 0 ? 8 : 4;
    init_case(&o, bits, true,
              (linear_shape){rows[i / 2], bits == 8 ? 4210 : 4530,
                             512 * 8 / bits, 128});
    run_all_sets(&o, false);
    end_case(&o);
  }
}

// The sums of rows of 255 with weights of -8 in groups with a scale of 1, minus
// `zero`: the largest that 4 bits give. Floats hold them exactly. A zero of
// SMALLEST is the smallest offset.
enum { SMALLEST = 8 };

static void check_extreme_groups(size_t rows, size_t inner, size_t group,
                                 int8_t zero) {
  enum { COLUMNS = 33, ONE = 1, LEAST = -128 * 256 };
  linear_case o;
  const group_kind kind = zero == 0 ? PLAIN : zero == SMALLEST ? PARAMS : ZEROS;
  init_case_of(&o, 4, true, (linear_shape){rows, COLUMNS, inner, group}, kind);
  float* x = (float*)(void*)o.x.bytes.data;
  float* scales = (float*)(void*)o.scales.bytes.data;
  int16_t* params = (int16_t*)(void*)o.params.bytes.data;
  const float* results = (const float*)(const void*)o.result.bytes.data;
  for (size_t i = 0; i < rows * inner; ++i) x[i] = 255;
  for (size_t i = 0; i < o.scales.bytes.size / sizeof(float); ++i) {
    scales[i] = kind == PARAMS ? 0.0625f : 1;
  }
  memset(o.w.bytes.data, 0, o.w.bytes.size);
  memset(o.zeros.bytes.data, (uint8_t)zero, o.zeros.bytes.size);
  for (size_t i = 0; i < COLUMNS * inner / group; ++i) params[i] = LEAST | ONE;
  o.linear.bias = NULL;
  run_all_sets(&o, false);
  for (size_t i = 0; i < rows * COLUMNS; ++i) {
    assert_true(results[i] == 255.0 * (-8 - zero) * (double)inner);
  }
  end_case(&o);
}

static void extreme_sums_of_groups_are_exact(void** state) {
  static const size_t rows[] = {1, 2, 3, 6, 9, 30};
  (void)state;
  test_random_start();
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    for (size_t group = 32; group <= 256; group *= 2) {
      check_extreme_groups(rows[i], 1280, group, 0);
      check_extreme_groups(rows[i], 1280, group, 7);
      check_extreme_groups(rows[i], 1280, group, SMALLEST);
      check_extreme_groups(rows[i], 1280, group, -128);
    }
  }
}

// Sums of the largest products, 255 * 128 each.
static void check_extreme_sums(size_t rows, size_t columns, size_t inner) {
  const etx_instruction_set best = etx_instruction_set_within(ETX_SET_ANY);
  test_block x = test_block_new(rows * inner * sizeof(float), sizeof(float));
  test_block w = test_block_new(columns * inner, 1);
  const size_t out_bytes = rows * columns * sizeof(float);
  test_block out = test_block_new(out_bytes, sizeof(float));
  test_block scales = test_block_new(columns * sizeof(float), sizeof(float));
  float* results = (float*)(void*)out.bytes.data;
  for (size_t i = 0; i < rows * inner; ++i) {
    ((float*)(void*)x.bytes.data)[i] = 255;
  }
  for (size_t i = 0; i < columns; ++i) {
    ((float*)(void*)scales.bytes.data)[i] = 1;
  }
  memset(w.bytes.data, 0x80, columns * inner);
  for (int set = ETX_SET_BASE; set <= (int)best;
       set = test_next_instruction_set(set)) {
    etx_tensor input, result;
    int32_t in_sizes[2], in_strides[2], out_sizes[2], out_strides[2];
    set_matrix(&input, in_sizes, in_strides, rows, inner, x.bytes.data);
    set_matrix(&result, out_sizes, out_strides, rows, columns, results);
    const etx_quantized_linear linear = {
        .weight = {.data = w.bytes.data,
                   .dtype = ETX_DTYPE_INT8,
                   .bits = 8,
                   .row_bytes = inner,
                   .inner = inner,
                   .group = inner,
                   .groups = 1,
                   .scales = (const char*)scales.bytes.data,
                   .scale_dtype = ETX_DTYPE_FLOAT32},
        .columns = columns,
        .input = &input,
        .out = &result,
        .is_integer = true};
    const etx_parallel parallel = {.parallel_for = run_tasks,
                                   .thread_count = 1,
                                   .instruction_set = (etx_instruction_set)set};
    size_t bytes = 0;
    assert_true(etx_quantized_linear_bytes(&input, 8, true, &parallel, &bytes));
    test_block temporary = test_block_new(bytes, 16);
    memset(results, 0, out_bytes);
    etx_quantized_linear_run(&linear, temporary.bytes.data, &parallel);
    assert_true(test_block_end(&temporary));
    for (size_t i = 0; i < rows * columns; ++i) {
      assert_true(results[i] == (float)(-128.0 * 255 * (double)inner));
    }
  }
  test_block* blocks[] = {&x, &w, &out, &scales};
  for (size_t i = 0; i < 4; ++i) assert_true(test_block_end(blocks[i]));
}

// The longest sums that fit 32 bits, with few and many rows, and a longer one.
static void long_sums_do_not_overflow(void** state) {
  (void)state;
  check_extreme_sums(1, 1, 140000);
  check_extreme_sums(1, 20, 32768);
  check_extreme_sums(7, 5, 32768);
  check_extreme_sums(25, 33, 32768);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(float_rows_times_8bit_weights),
      cmocka_unit_test(float_rows_times_4bit_weights),
      cmocka_unit_test(int8_rows_times_8bit_weights),
      cmocka_unit_test(int8_rows_times_4bit_weights),
      cmocka_unit_test(one_row_times_weights_larger_than_cache),
      cmocka_unit_test(panels_give_the_bits_of_stored_weights),
      cmocka_unit_test(argmax_matches_the_stored_results),
      cmocka_unit_test(wrong_column_sums_do_not_crash),
      cmocka_unit_test(rows_with_nan_or_infinity_are_bit_equal),
      cmocka_unit_test(weights_larger_than_l2_are_bit_equal),
      cmocka_unit_test(extreme_sums_of_groups_are_exact),
      cmocka_unit_test(long_sums_do_not_overflow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
