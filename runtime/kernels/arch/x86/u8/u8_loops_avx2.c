// Registers of 32 bytes: eight columns of a panel. Bytes become pairs of 16
// bits, of which one instruction multiplies two and adds the products: numbers
// 0 and 2 of a column are one pair, 1 and 3 the other, so that nothing is
// moved.

#include "runtime/kernels/simd/vector/loop_unrolled.h"
#include "runtime/kernels/simd/int8/u8_requantize.h"
#include "runtime/kernels/arch/x86/u8/u8_loops_sets_x86.h"

enum {
  COLUMNS = ETX_U8_COLUMNS,
  SUMS = ETX_U8_PANELS * COLUMNS,
  LANES = 8,
  HALVES = COLUMNS / LANES,  // registers of a panel's columns
  ROWS = 4,                  // whose sums are in registers
  FOUR = ETX_U8_INTERLEAVE,
};

typedef int ints __attribute__((vector_size(32)));
typedef float floats __attribute__((vector_size(32)));
typedef short shorts __attribute__((vector_size(32)));
typedef unsigned short unsigned_shorts __attribute__((vector_size(32)));
typedef char chars16 __attribute__((vector_size(16)));

static inline ints all_ints(int x) { return (ints){x, x, x, x, x, x, x, x}; }
static inline floats all_floats(float x) {
  return (floats){x, x, x, x, x, x, x, x};
}

static inline ints load_ints(const void* from) {
  ints x;
  memcpy(&x, from, sizeof x);
  return x;
}

// Wraps where offsets of a file are none of its weights.
static inline ints add_products(ints sum, ints a, ints b) {
  typedef unsigned bits __attribute__((vector_size(32)));
  return (ints)((bits)sum +
                (bits)__builtin_ia32_pmaddwd256((shorts)a, (shorts)b));
}

static inline floats limited(floats x, floats low, floats high) {
  return __builtin_ia32_minps256(__builtin_ia32_maxps256(x, low), high);
}

typedef struct byte_bounds {
  floats low, high;
  ints zero;
} byte_bounds;

static inline byte_bounds bounds_of(const etx_u8_requantize* r) {
  return (byte_bounds){all_floats(r->low), all_floats(r->high),
                       all_ints(r->zero)};
}

// Floats as whole numbers, plus the zero point: 0 to 255.
static inline ints whole_bytes(floats f, const byte_bounds* b) {
  return __builtin_ia32_cvtps2dq256(limited(f, b->low, b->high)) + b->zero;
}

// The low bytes of two registers of integers from 0 to 255, in order.
static inline chars16 packed(ints a, ints b) {
  typedef long long longs __attribute__((vector_size(32)));
  const longs pairs = (longs)__builtin_ia32_packusdw256(a, b);
  const shorts in_order =
      (shorts)__builtin_shufflevector(pairs, pairs, 0, 2, 1, 3);
  const longs bytes = (longs)__builtin_ia32_packuswb256(in_order, in_order);
  typedef long long two __attribute__((vector_size(16)));
  return (chars16)(two)__builtin_shufflevector(bytes, bytes, 0, 2);
}

// ------------------------------------------------ products

// Loads the numbers of `count` columns, at most sixteen.
static void load_columns(const void* from, size_t count, ints out[HALVES]) {
  int32_t made[COLUMNS] = {0};
  if (count == COLUMNS) {
    out[0] = load_ints(from);
    out[1] = load_ints((const char*)from + sizeof(ints));
    return;
  }
  memcpy(made, from, count * sizeof *made);
  out[0] = load_ints(made);
  out[1] = load_ints(made + LANES);
}

// Stores what a block's rows come to in a panel whose columns begin at
// `column`.
static inline __attribute__((always_inline)) void store_rows(
    const etx_u8_block* b, size_t row, size_t rows, size_t column,
    ints sums[ROWS][HALVES]) {
  const etx_u8_requantize* r = b->results;
  const byte_bounds bounds = bounds_of(r);
  const size_t left = b->columns - column;
  const size_t count = left < COLUMNS ? left : (size_t)COLUMNS;
  ints scales[HALVES],
      bias[HALVES] = {all_ints(INT32_MIN), all_ints(INT32_MIN)};
  load_columns(r->scales + b->channel + column, count, scales);
  if (r->bias != NULL) {
    load_columns(r->bias + b->channel + column, count, bias);
  }
  ETX_UNROLLED
  for (size_t i = 0; i < rows; ++i) {
    if (row + i >= b->rows) break;
    const size_t at = (row + i) * b->out_row + column;
    floats f[HALVES];
    ETX_UNROLLED
    for (size_t h = 0; h < HALVES; ++h) {
      f[h] = __builtin_convertvector(sums[i][h], floats) * (floats)scales[h] +
             (floats)bias[h];
    }
    if (r->is_float) {
      memcpy((float*)b->out + at, f, count * sizeof(float));
      continue;
    }
    const chars16 made =
        packed(whole_bytes(f[0], &bounds), whole_bytes(f[1], &bounds));
    uint8_t* to = (uint8_t*)b->out + at;
    if (count == COLUMNS) {
      memcpy(to, &made, sizeof made);
    } else {
      memcpy(to, &made, count);
    }
  }
}

// Some rows with a panel.
static inline __attribute__((always_inline)) void panel_rows(
    const etx_u8_block* b, size_t row, size_t rows, size_t panel) {
  const ints even = all_ints(0x00ff00ff);
  const size_t column = panel * COLUMNS;
  const size_t left = b->columns - column;
  const int8_t* w = b->panels + panel * b->panel_bytes;
  int32_t* own = b->sums + row * SUMS + column;
  ints sums[ROWS][HALVES], offsets[HALVES];
  load_columns(b->results->offsets + b->channel + column,
               left < COLUMNS ? left : (size_t)COLUMNS, offsets);
  ETX_UNROLLED
  for (size_t i = 0; i < rows; ++i) {
    ETX_UNROLLED
    for (size_t h = 0; h < HALVES; ++h) {
      sums[i][h] =
          b->starts ? offsets[h] : load_ints(own + i * SUMS + h * LANES);
    }
  }
  for (size_t t = 0; t < b->taps; ++t) {
    const uint8_t* const* x = b->seen + t * b->pitch + row;
    for (size_t k = 0; k < b->fours; ++k, w += COLUMNS * FOUR) {
      ints pairs[2][HALVES];
      ETX_UNROLLED
      for (size_t h = 0; h < HALVES; ++h) {
        const shorts raw = (shorts)load_ints(w + h * LANES * FOUR);
        pairs[0][h] = (ints)((shorts)((unsigned_shorts)raw << 8) >> 8);
        pairs[1][h] = (ints)(raw >> 8);
      }
      ETX_UNROLLED
      for (size_t i = 0; i < rows; ++i) {
        int four;
        memcpy(&four, x[i] + k * FOUR, sizeof four);
        const ints all = all_ints(four);
        const ints odd = (ints)((unsigned_shorts)all >> 8);
        ETX_UNROLLED
        for (size_t h = 0; h < HALVES; ++h) {
          sums[i][h] = add_products(sums[i][h], all & even, pairs[0][h]);
          sums[i][h] = add_products(sums[i][h], odd, pairs[1][h]);
        }
      }
    }
  }
  if (b->ends) {
    store_rows(b, row, rows, column, sums);
    return;
  }
  ETX_UNROLLED
  for (size_t i = 0; i < rows; ++i) {
    ETX_UNROLLED
    for (size_t h = 0; h < HALVES; ++h) {
      memcpy(own + i * SUMS + h * LANES, &sums[i][h], sizeof sums[i][h]);
    }
  }
}

//   @block  uint8 x int8 | GEMM and convolution with requantisation | {ROWS} x
//     {COLUMNS}
static void block(const etx_u8_block* b) {
  for (size_t panel = 0; panel * COLUMNS < b->columns; ++panel) {
    for (size_t row = 0; row < b->rows; row += ROWS) {
      if (b->rows - row == 1) {
        panel_rows(b, row, 1, panel);
      } else {
        panel_rows(b, row, ROWS, panel);
      }
    }
  }
}

// ------------------------------------------------ windows

// Sixteen channels at a time: of two rows of a column pairs of 16 bits.
enum { CHANNELS = 16, SOME = CHANNELS / LANES, SIDE = 2 };

static inline size_t register_of(size_t channel) { return channel / LANES; }
static inline size_t lane_of(size_t channel) { return channel % LANES; }

// The names are the compilers' own, which differ.
static inline ints widened(chars16 x, bool is_signed) {
#ifdef __clang__
  typedef signed char signed16 __attribute__((vector_size(16)));
  typedef unsigned char unsigned16 __attribute__((vector_size(16)));
  return is_signed
             ? (ints) __builtin_convertvector((signed16)x, shorts)
             : (ints) __builtin_convertvector((unsigned16)x, unsigned_shorts);
#else
  return is_signed ? (ints)__builtin_ia32_pmovsxbw256(x)
                   : (ints)__builtin_ia32_pmovzxbw256(x);
#endif
}

static inline __attribute__((always_inline)) void transpose_pairs(
    const uint8_t* const from[SIDE], size_t count, bool is_signed,
    ints out[SOME]) {
  chars16 rows[SIDE] = {{0}, {0}};
  ETX_UNROLLED
  for (size_t i = 0; i < SIDE; ++i) {
    if (from[i] != NULL && count == CHANNELS) {
      memcpy(&rows[i], from[i], sizeof rows[i]);
    } else if (from[i] != NULL) {
      memcpy(&rows[i], from[i], count);
    }
  }
  const chars16 a = rows[0], b = rows[1];
  out[0] = widened(__builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4,
                                           20, 5, 21, 6, 22, 7, 23),
                   is_signed);
  out[1] = widened(__builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27,
                                           12, 28, 13, 29, 14, 30, 15, 31),
                   is_signed);
}

static inline __attribute__((always_inline)) void transpose_bytes(
    const uint8_t* const from[SIDE], size_t count, ints out[SOME]) {
  transpose_pairs(from, count, false, out);
}
static inline void transpose_signed(const uint8_t* const from[SIDE],
                                    size_t count, ints out[SOME]) {
  transpose_pairs(from, count, true, out);
}

static inline __attribute__((always_inline)) void store_bytes(
    const floats f[SOME], const etx_u8_requantize* r, const byte_bounds* bounds,
    size_t count, uint8_t* to) {
  const chars16 made =
      packed(whole_bytes(f[0], bounds), whole_bytes(f[1], bounds));
  (void)r;
  if (count == CHANNELS) {
    memcpy(to, &made, sizeof made);
  } else {
    memcpy(to, &made, count);
  }
}

#include "runtime/kernels/simd/int8/u8_depthwise_template.h"

//   @windows  uint8 x int8 | depthwise convolution with requantisation |
//     {CHANNELS} channels
static void windows(const etx_u8_depthwise* w) {
  etx_u8_depthwise part = *w;
  if (!windows_fit(w)) {
    etx_u8_loops_base.windows(w);
    return;
  }
  for (size_t c = 0; c < w->count; c += CHANNELS) {
    const size_t left = w->count - c;
    part.first = w->first + c;
    part.count = left < CHANNELS ? left : (size_t)CHANNELS;
    sum_channels(&part);
  }
}

// ------------------------------------------------ elements

static inline ints eight_bytes(const uint8_t* in) {
#ifdef __clang__
  unsigned char x __attribute__((vector_size(8)));
  memcpy(&x, in, sizeof x);
  return __builtin_convertvector(x, ints);
#else
  chars16 x = {0};
  memcpy(&x, in, LANES);
  return __builtin_ia32_pmovzxbd256(x);
#endif
}

static inline __attribute__((always_inline)) floats floats_of(const uint8_t* in,
                                                              int32_t zero,
                                                              float scale) {
  const ints wide = eight_bytes(in) - all_ints(zero);
  return __builtin_convertvector(wide, floats) * all_floats(scale);
}

//   @to_floats  uint8 to float32 | dequantize | {LANES} elements
static void to_floats(const uint8_t* in, size_t count, int32_t zero,
                      float scale, float* out) {
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    const floats y = floats_of(in + i, zero, scale);
    memcpy(out + i, &y, sizeof y);
  }
  etx_u8_loops_base.to_floats(in + i, count - i, zero, scale, out + i);
}

//   @to_bytes  float32 to uint8 | quantize | {CHANNELS} elements
static void to_bytes(const float* in, size_t count, int32_t zero, float inverse,
                     float low, float high, uint8_t* out) {
  const byte_bounds bounds = {all_floats(low), all_floats(high),
                              all_ints(zero)};
  size_t i = 0;
  for (; i + CHANNELS <= count; i += CHANNELS) {
    const floats a = (floats)load_ints(in + i) * all_floats(inverse);
    const floats b = (floats)load_ints(in + i + LANES) * all_floats(inverse);
    const chars16 y = packed(whole_bytes(a, &bounds), whole_bytes(b, &bounds));
    memcpy(out + i, &y, sizeof y);
  }
  etx_u8_loops_base.to_bytes(in + i, count - i, zero, inverse, low, high,
                             out + i);
}

//   @add  uint8 | addition with requantisation | {CHANNELS} elements
static void add(const etx_u8_binary_qparams* n, const uint8_t* a,
                const uint8_t* b, size_t count, uint8_t* out) {
  const byte_bounds bounds = {all_floats(n->low), all_floats(n->high),
                              all_ints(n->zero)};
  size_t i = 0;
  for (; i + CHANNELS <= count; i += CHANNELS) {
    ints whole[SOME];
    ETX_UNROLLED
    for (size_t k = 0; k < SOME; ++k) {
      const size_t at = i + k * LANES;
      const floats x = floats_of(a + at, n->zeros[0], n->scales[0]);
      const floats y = floats_of(b + at, n->zeros[1], n->scales[1]);
      whole[k] = whole_bytes((x + y) * all_floats(n->inverse), &bounds);
    }
    const chars16 made = packed(whole[0], whole[1]);
    memcpy(out + i, &made, sizeof made);
  }
  etx_u8_loops_base.add(n, a + i, b + i, count - i, out + i);
}

//   @multiply  uint8 x float32 | multiplication with requantisation |
//     {CHANNELS} elements
static void multiply(const etx_u8_binary_qparams* n, const uint8_t* a,
                     const float* b, size_t count, uint8_t* out) {
  const byte_bounds bounds = {all_floats(n->low), all_floats(n->high),
                              all_ints(n->zero)};
  size_t i = 0;
  for (; i + CHANNELS <= count; i += CHANNELS) {
    ints whole[SOME];
    ETX_UNROLLED
    for (size_t k = 0; k < SOME; ++k) {
      const size_t at = i + k * LANES;
      const floats x = floats_of(a + at, n->zeros[0], n->scales[0]);
      const floats product = x * (floats)load_ints(b + at);
      whole[k] = whole_bytes(product * all_floats(n->inverse), &bounds);
    }
    const chars16 made = packed(whole[0], whole[1]);
    memcpy(out + i, &made, sizeof made);
  }
  etx_u8_loops_base.multiply(n, a + i, b + i, count - i, out + i);
}

// Sixteen shuffles for sixteen entries each would gain little.
//
//   @look_up  uint8 | table of 256 entries | 1 element
static void look_up(const uint8_t table[256], const uint8_t* in, size_t count,
                    uint8_t* out) {
  etx_u8_loops_base.look_up(table, in, count, out);
}

//   @add_rows  uint8 to int32 | sums of rows (mean pooling) | 64 elements
static void add_rows(const uint8_t* in, size_t rows, size_t pitch, size_t count,
                     int32_t* sums) {
  enum { TOGETHER = 8 };  // registers of sums: a line of the cache
  size_t i = 0;
  for (; i + TOGETHER * LANES <= count; i += TOGETHER * LANES) {
    ints own[TOGETHER];
    memcpy(own, sums + i, sizeof own);
    for (size_t r = 0; r < rows; ++r) {
      ETX_UNROLLED
      for (size_t k = 0; k < TOGETHER; ++k) {
        own[k] += eight_bytes(in + r * pitch + i + k * LANES);
      }
    }
    memcpy(sums + i, own, sizeof own);
  }
  etx_u8_loops_base.add_rows(in + i, rows, pitch, count - i, sums + i);
}

static inline ints larger_bytes(ints a, ints b) {
#ifdef __clang__
  typedef unsigned char unsigned_chars __attribute__((vector_size(32)));
  return (ints)__builtin_elementwise_max((unsigned_chars)a, (unsigned_chars)b);
#else
  typedef char chars __attribute__((vector_size(32)));
  return (ints)__builtin_ia32_pmaxub256((chars)a, (chars)b);
#endif
}

//   @max_of_rows  uint8 | max pooling of rows | 32 elements
static void max_of_rows(const uint8_t* const* rows, size_t row_count,
                        size_t columns, size_t pitch, size_t count,
                        uint8_t* out) {
  size_t i = 0;
  for (; i + sizeof(ints) <= count; i += sizeof(ints)) {
    ints best = load_ints(out + i);
    for (size_t r = 0; r < row_count; ++r) {
      const uint8_t* in = rows[r] + i;
      for (size_t c = 0; c < columns; ++c) {
        best = larger_bytes(best, load_ints(in + c * pitch));
      }
    }
    memcpy(out + i, &best, sizeof best);
  }
  if (i == count) return;
  u8_max_of_rows(rows, row_count, columns, pitch, i, count, out);
}

//   @has_nan  float32 | search for NaN before quantisation | 1 element
static bool has_nan(const float* x, size_t count) {
  return u8_has_nan(x, count);
}

const etx_u8_loops etx_u8_loops_avx2 = {
    block, windows,  to_floats, has_nan,  to_bytes,
    add,   multiply, look_up,   add_rows, max_of_rows};
