// Registers of 32 bytes: eight columns of a panel. Bytes are widened to pairs
// of 16 bits, and PMADDWD multiplies two pairs and adds the products. Elements
// 0 and 2 of a column are one pair, 1 and 3 the other, so that no shuffle is
// needed.

#include "runtime/kernels/simd/vector/vector_types.h"
#include "runtime/kernels/simd/vector/loop_unrolled.h"
#include "runtime/kernels/simd/int8/u8_requantize.h"
#include "runtime/kernels/arch/x86/u8/u8_loops_sets_x86.h"

enum {
  COLUMNS = ETX_U8_COLUMNS,
  SUMS = ETX_U8_PANELS * COLUMNS,
  LANES = 8,
  HALVES = COLUMNS / LANES,  // registers of a panel's columns
  ROWS = 4,                  // rows whose sums are in registers
  FOUR = ETX_U8_INTERLEAVE,
};

static inline etx_i32x8 all_ints(int x) {
  return (etx_i32x8){x, x, x, x, x, x, x, x};
}
static inline etx_f32x8 all_floats(float x) {
  return (etx_f32x8){x, x, x, x, x, x, x, x};
}

static inline etx_i32x8 load_ints(const void* from) {
  etx_i32x8 x;
  memcpy(&x, from, sizeof x);
  return x;
}

// Wraps if a damaged file has offsets that do not belong to its weights.
static inline etx_i32x8 add_products(etx_i32x8 sum, etx_i32x8 a, etx_i32x8 b) {
  return (etx_i32x8)((etx_u32x8)sum + (etx_u32x8)__builtin_ia32_pmaddwd256(
                                          (etx_i16x16)a, (etx_i16x16)b));
}

static inline etx_f32x8 limited(etx_f32x8 x, etx_f32x8 low, etx_f32x8 high) {
  return __builtin_ia32_minps256(__builtin_ia32_maxps256(x, low), high);
}

typedef struct byte_bounds_avx2 {
  etx_f32x8 low, high;
  etx_i32x8 zero;
} byte_bounds_avx2;

static inline byte_bounds_avx2 bounds_of(const etx_u8_requantize* r) {
  return (byte_bounds_avx2){all_floats(r->low), all_floats(r->high),
                            all_ints(r->zero)};
}

// Rounds floats to integers and adds the zero point: 0 to 255.
static inline etx_i32x8 whole_bytes(etx_f32x8 f, const byte_bounds_avx2* b) {
  return __builtin_ia32_cvtps2dq256(limited(f, b->low, b->high)) + b->zero;
}

// Packs the integers 0 to 255 of two registers to bytes, in order.
static inline etx_charx16 packed(etx_i32x8 a, etx_i32x8 b) {
  const etx_longx4 pairs = (etx_longx4)__builtin_ia32_packusdw256(a, b);
  const etx_i16x16 in_order =
      (etx_i16x16)__builtin_shufflevector(pairs, pairs, 0, 2, 1, 3);
  const etx_longx4 bytes =
      (etx_longx4)__builtin_ia32_packuswb256(in_order, in_order);
  return (etx_charx16)(etx_longx2)__builtin_shufflevector(bytes, bytes, 0, 2);
}

// ------------------------------------------------ products

// Loads the parameters of sixteen columns, or of the last ones.
static void load_columns(const void* from, size_t count,
                         etx_i32x8 out[HALVES]) {
  int32_t made[COLUMNS] = {0};
  if (count == COLUMNS) {
    out[0] = load_ints(from);
    out[1] = load_ints((const char*)from + sizeof(etx_i32x8));
    return;
  }
  memcpy(made, from, count * sizeof *made);
  out[0] = load_ints(made);
  out[1] = load_ints(made + LANES);
}

// Stores the results of a block's rows in a panel whose first column is
// `column`.
static inline __attribute__((always_inline)) void store_rows(
    const etx_u8_block* b, size_t row, size_t rows, size_t column,
    etx_i32x8 sums[ROWS][HALVES]) {
  const etx_u8_requantize* r = b->results;
  const byte_bounds_avx2 bounds = bounds_of(r);
  const size_t left = b->columns - column;
  const size_t count = left < COLUMNS ? left : (size_t)COLUMNS;
  etx_i32x8 scales[HALVES],
      bias[HALVES] = {all_ints(INT32_MIN), all_ints(INT32_MIN)};
  load_columns(r->scales + b->channel + column, count, scales);
  if (r->bias != NULL) {
    load_columns(r->bias + b->channel + column, count, bias);
  }
  ETX_UNROLLED
  for (size_t i = 0; i < rows; ++i) {
    if (row + i >= b->rows) break;
    const size_t at = (row + i) * b->out_row + column;
    etx_f32x8 f[HALVES];
    ETX_UNROLLED
    for (size_t h = 0; h < HALVES; ++h) {
      f[h] = __builtin_convertvector(sums[i][h], etx_f32x8) *
                 (etx_f32x8)scales[h] +
             (etx_f32x8)bias[h];
    }
    if (r->is_float) {
      memcpy((float*)b->out + at, f, count * sizeof(float));
      continue;
    }
    const etx_charx16 made =
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
  const etx_i32x8 even = all_ints(0x00ff00ff);
  const size_t column = panel * COLUMNS;
  const size_t left = b->columns - column;
  const int8_t* w = b->panels + panel * b->panel_bytes;
  int32_t* stored_sums = b->sums + row * SUMS + column;
  etx_i32x8 sums[ROWS][HALVES], offsets[HALVES];
  load_columns(b->results->offsets + b->channel + column,
               left < COLUMNS ? left : (size_t)COLUMNS, offsets);
  ETX_UNROLLED
  for (size_t i = 0; i < rows; ++i) {
    ETX_UNROLLED
    for (size_t h = 0; h < HALVES; ++h) {
      sums[i][h] = b->starts ? offsets[h]
                             : load_ints(stored_sums + i * SUMS + h * LANES);
    }
  }
  for (size_t t = 0; t < b->taps; ++t) {
    const uint8_t* const* x = b->input + t * b->pitch + row;
    for (size_t k = 0; k < b->fours; ++k, w += COLUMNS * FOUR) {
      etx_i32x8 pairs[2][HALVES];
      ETX_UNROLLED
      for (size_t h = 0; h < HALVES; ++h) {
        const etx_i16x16 raw = (etx_i16x16)load_ints(w + h * LANES * FOUR);
        pairs[0][h] = (etx_i32x8)((etx_i16x16)((etx_u16x16)raw << 8) >> 8);
        pairs[1][h] = (etx_i32x8)(raw >> 8);
      }
      ETX_UNROLLED
      for (size_t i = 0; i < rows; ++i) {
        int four;
        memcpy(&four, x[i] + k * FOUR, sizeof four);
        const etx_i32x8 all = all_ints(four);
        const etx_i32x8 odd = (etx_i32x8)((etx_u16x16)all >> 8);
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
      memcpy(stored_sums + i * SUMS + h * LANES, &sums[i][h],
             sizeof sums[i][h]);
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

// Sixteen channels at a time: the bytes of two rows of a column are interleaved
// as pairs of 16 bits.
enum { CHANNELS = 16, SOME = CHANNELS / LANES, SIDE = 2 };

static inline size_t register_of(size_t channel) { return channel / LANES; }
static inline size_t lane_of(size_t channel) { return channel % LANES; }

// gcc and clang name these builtins differently.
static inline etx_i32x8 widened(etx_charx16 x, bool is_signed) {
#ifdef __clang__
  return is_signed
             ? (etx_i32x8) __builtin_convertvector((etx_i8x16)x, etx_i16x16)
             : (etx_i32x8) __builtin_convertvector((etx_u8x16)x, etx_u16x16);
#else
  return is_signed ? (etx_i32x8)__builtin_ia32_pmovsxbw256(x)
                   : (etx_i32x8)__builtin_ia32_pmovzxbw256(x);
#endif
}

static inline __attribute__((always_inline)) void transpose_pairs(
    const uint8_t* const from[SIDE], size_t count, bool is_signed,
    etx_i32x8 out[SOME]) {
  etx_charx16 rows[SIDE] = {{0}, {0}};
  ETX_UNROLLED
  for (size_t i = 0; i < SIDE; ++i) {
    if (from[i] != NULL && count == CHANNELS) {
      memcpy(&rows[i], from[i], sizeof rows[i]);
    } else if (from[i] != NULL) {
      memcpy(&rows[i], from[i], count);
    }
  }
  const etx_charx16 a = rows[0], b = rows[1];
  out[0] = widened(__builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4,
                                           20, 5, 21, 6, 22, 7, 23),
                   is_signed);
  out[1] = widened(__builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27,
                                           12, 28, 13, 29, 14, 30, 15, 31),
                   is_signed);
}

static inline __attribute__((always_inline)) void transpose_bytes(
    const uint8_t* const from[SIDE], size_t count, etx_i32x8 out[SOME]) {
  transpose_pairs(from, count, false, out);
}
static inline void transpose_signed(const uint8_t* const from[SIDE],
                                    size_t count, etx_i32x8 out[SOME]) {
  transpose_pairs(from, count, true, out);
}

static inline __attribute__((always_inline)) void store_bytes(
    const etx_f32x8 f[SOME], const etx_u8_requantize* r,
    const byte_bounds_avx2* bounds, size_t count, uint8_t* to) {
  const etx_charx16 made =
      packed(whole_bytes(f[0], bounds), whole_bytes(f[1], bounds));
  (void)r;
  if (count == CHANNELS) {
    memcpy(to, &made, sizeof made);
  } else {
    memcpy(to, &made, count);
  }
}

#define I32_VEC etx_i32x8
#define F32_VEC etx_f32x8
#define BYTE_BOUNDS byte_bounds_avx2
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

static inline etx_i32x8 eight_bytes(const uint8_t* in) {
#ifdef __clang__
  unsigned char x __attribute__((vector_size(8)));
  memcpy(&x, in, sizeof x);
  return __builtin_convertvector(x, etx_i32x8);
#else
  etx_charx16 x = {0};
  memcpy(&x, in, LANES);
  return __builtin_ia32_pmovzxbd256(x);
#endif
}

static inline __attribute__((always_inline)) etx_f32x8 floats_of(
    const uint8_t* in, int32_t zero, float scale) {
  const etx_i32x8 wide = eight_bytes(in) - all_ints(zero);
  return __builtin_convertvector(wide, etx_f32x8) * all_floats(scale);
}

//   @to_floats  uint8 to float32 | dequantize | {LANES} elements
static void to_floats(const uint8_t* in, size_t count, int32_t zero,
                      float scale, float* out) {
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    const etx_f32x8 y = floats_of(in + i, zero, scale);
    memcpy(out + i, &y, sizeof y);
  }
  etx_u8_loops_base.to_floats(in + i, count - i, zero, scale, out + i);
}

//   @to_bytes  float32 to uint8 | quantize | {CHANNELS} elements
static void to_bytes(const float* in, size_t count,
                     const etx_u8_qparams* qparams, uint8_t* out) {
  const etx_u8_qparams q = *qparams;
  const byte_bounds_avx2 bounds = {all_floats(q.low), all_floats(q.high),
                                   all_ints(q.zero)};
  size_t i = 0;
  for (; i + CHANNELS <= count; i += CHANNELS) {
    const etx_f32x8 a = (etx_f32x8)load_ints(in + i) * all_floats(q.inverse);
    const etx_f32x8 b =
        (etx_f32x8)load_ints(in + i + LANES) * all_floats(q.inverse);
    const etx_charx16 y =
        packed(whole_bytes(a, &bounds), whole_bytes(b, &bounds));
    memcpy(out + i, &y, sizeof y);
  }
  etx_u8_loops_base.to_bytes(in + i, count - i, qparams, out + i);
}

//   @add  uint8 | addition with requantisation | {CHANNELS} elements
static void add(const etx_u8_binary_qparams* n, const uint8_t* a,
                const uint8_t* b, size_t count, uint8_t* out) {
  const byte_bounds_avx2 bounds = {all_floats(n->low), all_floats(n->high),
                                   all_ints(n->zero)};
  size_t i = 0;
  for (; i + CHANNELS <= count; i += CHANNELS) {
    etx_i32x8 whole[SOME];
    ETX_UNROLLED
    for (size_t k = 0; k < SOME; ++k) {
      const size_t at = i + k * LANES;
      const etx_f32x8 x = floats_of(a + at, n->zeros[0], n->scales[0]);
      const etx_f32x8 y = floats_of(b + at, n->zeros[1], n->scales[1]);
      whole[k] = whole_bytes((x + y) * all_floats(n->inverse), &bounds);
    }
    const etx_charx16 made = packed(whole[0], whole[1]);
    memcpy(out + i, &made, sizeof made);
  }
  etx_u8_loops_base.add(n, a + i, b + i, count - i, out + i);
}

//   @multiply  uint8 x float32 | multiplication with requantisation |
//     {CHANNELS} elements
static void multiply(const etx_u8_binary_qparams* n, const uint8_t* a,
                     const float* b, size_t count, uint8_t* out) {
  const byte_bounds_avx2 bounds = {all_floats(n->low), all_floats(n->high),
                                   all_ints(n->zero)};
  size_t i = 0;
  for (; i + CHANNELS <= count; i += CHANNELS) {
    etx_i32x8 whole[SOME];
    ETX_UNROLLED
    for (size_t k = 0; k < SOME; ++k) {
      const size_t at = i + k * LANES;
      const etx_f32x8 x = floats_of(a + at, n->zeros[0], n->scales[0]);
      const etx_f32x8 product = x * (etx_f32x8)load_ints(b + at);
      whole[k] = whole_bytes(product * all_floats(n->inverse), &bounds);
    }
    const etx_charx16 made = packed(whole[0], whole[1]);
    memcpy(out + i, &made, sizeof made);
  }
  etx_u8_loops_base.multiply(n, a + i, b + i, count - i, out + i);
}

// Table look-ups by shuffles would need sixteen of them, one for each sixteen
// entries, and gain little.
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
    etx_i32x8 acc[TOGETHER];
    memcpy(acc, sums + i, sizeof acc);
    for (size_t r = 0; r < rows; ++r) {
      ETX_UNROLLED
      for (size_t k = 0; k < TOGETHER; ++k) {
        acc[k] += eight_bytes(in + r * pitch + i + k * LANES);
      }
    }
    memcpy(sums + i, acc, sizeof acc);
  }
  etx_u8_loops_base.add_rows(in + i, rows, pitch, count - i, sums + i);
}

static inline etx_i32x8 larger_bytes(etx_i32x8 a, etx_i32x8 b) {
#ifdef __clang__
  return (etx_i32x8)__builtin_elementwise_max((etx_u8x32)a, (etx_u8x32)b);
#else
  return (etx_i32x8)__builtin_ia32_pmaxub256((etx_charx32)a, (etx_charx32)b);
#endif
}

//   @max_of_rows  uint8 | max pooling of rows | 32 elements
static void max_of_rows(const uint8_t* const* rows, size_t row_count,
                        size_t columns, size_t pitch, size_t count,
                        uint8_t* out) {
  size_t i = 0;
  for (; i + sizeof(etx_i32x8) <= count; i += sizeof(etx_i32x8)) {
    etx_i32x8 best = load_ints(out + i);
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
