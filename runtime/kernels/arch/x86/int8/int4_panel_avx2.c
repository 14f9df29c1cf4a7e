// Weights of 4 bits minus 8 are bytes of at most 8, so PMADDUBSW multiplies 32
// of them with unsigned bytes, and sums of sixteen products fit in 16 bits:
//
//   16 * 255 * 8 = 32640
//
// That is how many products of 32 elements, the smallest group, a lane of eight
// columns gets. The halves of a panel, sixteen columns each, follow each other.

#include "runtime/kernels/arch/x86/int8/int4_panel_avx2.h"

#include <string.h>

#include "runtime/kernels/arch/x86/int8/int4_gemv_avx2.h"
#include "runtime/kernels/arch/x86/int8/int4_row_prefetch.h"
#include "runtime/kernels/arch/x86/int8/quantize_input_avx2.h"
#include "runtime/kernels/arch/x86/int8/transpose_square_avx2.h"
#include "runtime/kernels/simd/vector/loop_unrolled.h"
#include "runtime/kernels/simd/vector/vector_types.h"

enum {
  SIDE = 8,             // lanes of four bytes
  BYTES = 32,           // bytes of a register
  PART = 2 * BYTES,     // elements of a register of stored weights
  PARTS = 2,            // registers of four elements of all columns
  HALF = PARTS * SIDE,  // columns of half a panel
  HALVES = ETX_INT8_COLUMNS / HALF,
  FOUR = 4 * HALF,   // bytes of a half from four elements to four
  LEAST_GROUP = 32,  // elements
  ROWS = 4,          // rows whose sums are in registers
  SUMS = 8,          // partial sums of groups
  PARTIAL = SUMS * ETX_INT8_COLUMNS,
};

static inline etx_i32x8 load_lanes(const void* from) {
  etx_i32x8 x;
  memcpy(&x, from, sizeof(x));
  return x;
}

static inline etx_i32x8 all_lanes(int x) {
  return (etx_i32x8){x, x, x, x, x, x, x, x};
}

// Sums of pairs of words, times a word.
static inline etx_i32x8 add_pairs(etx_i16x16 x, int by) {
  return __builtin_ia32_pmaddwd256(x, (etx_i16x16)all_lanes(by << 16 | by));
}

// Sums of pairs of products, of unsigned bytes with signed ones.
static inline etx_i16x16 multiply_bytes(etx_i32x8 unsigned_bytes,
                                        etx_i32x8 signed_bytes) {
  return __builtin_ia32_pmaddubsw256((etx_charx32)unsigned_bytes,
                                     (etx_charx32)signed_bytes);
}

// ------------------------------------------------ panels

// Loads 32 bytes of eight columns and transposes them: from one register for
// each column to one for each four bytes.
static inline __attribute__((always_inline)) void load_square(
    const uint8_t* in, ptrdiff_t row, etx_i32x8 a[SIDE]) {
  ETX_UNROLLED
  for (int i = 0; i < SIDE; ++i, in += row) a[i] = load_lanes(in);
  transpose_square(a);
}

// The same of at most eight columns and 32 bytes, filled up with `fill`.
static __attribute__((noinline)) void load_rest(const uint8_t* in,
                                                ptrdiff_t row, size_t columns,
                                                size_t bytes, uint8_t fill,
                                                etx_i32x8 a[SIDE]) {
  uint8_t rest[SIDE][BYTES];
  memset(rest, fill, sizeof(rest));
  for (size_t c = 0; c < columns && c < SIDE; ++c) {
    memcpy(rest[c], in + (ptrdiff_t)c * row, bytes < BYTES ? bytes : BYTES);
  }
  load_square(rest[0], BYTES, a);
}

static inline __attribute__((always_inline)) void load_columns(
    const uint8_t* in, ptrdiff_t row, size_t columns, size_t bytes,
    uint8_t fill, etx_i32x8 a[SIDE]) {
  if (columns >= SIDE && bytes >= BYTES) {
    load_square(in, row, a);
  } else {
    load_rest(in, row, columns, bytes, fill, a);
  }
}

// Splits sixteen bytes of eight columns into four elements of high halves and
// four of low ones. Returns the sums of the columns' elements.
static inline __attribute__((always_inline)) etx_i32x8 split_halves(
    const etx_i32x8* in, int8_t* out) {
  const etx_i32x8 low_half = all_lanes(0x0f0f0f0f);
  const etx_u8x32 zero = (etx_u8x32)all_lanes(0x08080808);
  etx_u8x32 sums = {0};
  ETX_UNROLLED
  for (int i = 0; i < 4; ++i, out += 2 * FOUR) {
    const etx_u8x32 high = (etx_u8x32)(in[i] >> 4 & low_half);
    const etx_u8x32 low = (etx_u8x32)(in[i] & low_half);
    const etx_u8x32 even = high - zero, odd = low - zero;
    memcpy(out, &even, sizeof(even));
    memcpy(out + FOUR, &odd, sizeof(odd));
    sums += high + low;
  }
  return add_pairs(multiply_bytes((etx_i32x8)sums, all_lanes(0x01010101)), 1) -
         8 * LEAST_GROUP;
}

//   @pack4  int4 to int8 | pack rows as panels | 8 x 64
static void pack4(const etx_int4_pack* pack) {
  enum { ZEROS = 8 << 4 | 8 };
  const size_t count = pack->count, elements = 2 * count;
  memset(pack->group_sums, 0,
         elements / pack->group * ETX_INT8_COLUMNS * sizeof(int32_t));
  for (size_t first = 0; first < ETX_INT8_COLUMNS; first += SIDE) {
    const size_t left = pack->columns < first ? 0 : pack->columns - first;
    const uint8_t* in = pack->in + (ptrdiff_t)first * pack->row;
    int8_t* out = pack->out + first / HALF * HALF * elements + first % HALF * 4;
    for (size_t k = 0; k < count; k += BYTES) {
      etx_i32x8 fours[SIDE];
      load_columns(in + k, pack->row, left, count - k, ZEROS, fours);
      for (size_t i = 0; i < BYTES && k + i < count; i += LEAST_GROUP / 2) {
        int32_t* sums = pack->group_sums +
                        2 * (k + i) / pack->group * ETX_INT8_COLUMNS + first;
        const etx_i32x8 sum =
            load_lanes(sums) +
            split_halves(fours + i / 4, out + (k + i) / 2 * FOUR);
        memcpy(sums, &sum, sizeof(sum));
      }
    }
  }
}

//   @pack8  float32 | pack scales of groups | 8 x 8
static void pack_scales(const uint8_t* in, ptrdiff_t row, size_t columns,
                        size_t count, int8_t* out, int32_t* column_sums) {
  (void)column_sums;
  for (size_t first = 0; first < ETX_INT8_COLUMNS; first += SIDE) {
    const size_t left = columns < first ? 0 : columns - first;
    const uint8_t* from = in + (ptrdiff_t)first * row;
    for (size_t k = 0; k < count; k += BYTES) {
      etx_i32x8 fours[SIDE];
      load_columns(from + k, row, left, count - k, 0, fours);
      for (size_t i = 0; i < SIDE && k + 4 * i < count; ++i) {
        memcpy(out + (k / 4 + i) * 4 * ETX_INT8_COLUMNS + 4 * first, &fours[i],
               sizeof(fours[i]));
      }
    }
  }
}

// ------------------------------------------------ sums

// Adds products of four elements.
static inline __attribute__((always_inline)) void add_four(
    const uint8_t* left, ptrdiff_t left_row, const int8_t* panel, size_t rows,
    etx_i16x16 sums[ROWS][PARTS]) {
  etx_i32x8 w[PARTS];
  ETX_UNROLLED
  for (int part = 0; part < PARTS; ++part) {
    w[part] = load_lanes(panel + part * BYTES);
  }
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    int input;
    memcpy(&input, left + (ptrdiff_t)r * left_row, sizeof(input));
    const etx_i32x8 x = all_lanes(input);
    ETX_UNROLLED
    for (int part = 0; part < PARTS; ++part) {
      sums[r][part] += multiply_bytes(x, w[part]);
      // Added now: gcc would keep many products, in memory.
      __asm__("" : "+x"(sums[r][part]));
    }
  }
}

// Sums of products of 32 elements, from element k on.
static inline __attribute__((always_inline)) void least_group(
    const etx_int4_panel* b, const uint8_t* left, size_t k, const int8_t* panel,
    size_t rows, etx_i32x8 out[ROWS][PARTS]) {
  etx_i16x16 sums[ROWS][PARTS] = {{{0}}};
  left += k / PART * PART + k % PART / 2;
  panel += k / 4 * FOUR;
  for (int i = 0; i < LEAST_GROUP / 8; ++i, left += 4, panel += 2 * FOUR) {
    add_four(left, b->left_row, panel, rows, sums);
    add_four(left + BYTES, b->left_row, panel + FOUR, rows, sums);
  }
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    ETX_UNROLLED
    for (int part = 0; part < PARTS; ++part) {
      out[r][part] = add_pairs(sums[r][part], 1 << b->shift);
    }
  }
}

// The rows, and the sixteen columns, that are multiplied.
typedef struct int4_tile {
  size_t row, column;
} int4_tile;

// Subtracts the zero points from the sums of group g, and adds them to partial
// sums.
static inline __attribute__((always_inline)) void add_group(
    const etx_int4_panel* b, const int4_tile* t, size_t g, size_t rows,
    etx_i32x8 whole[ROWS][PARTS]) {
  const size_t at = g * ETX_INT8_COLUMNS + t->column;
  float* sums = b->sums + t->row * PARTIAL +
                (b->first + g) % SUMS * ETX_INT8_COLUMNS + t->column;
  const bool starts = b->first + g < SUMS;
  const int32_t* pairs = b->row_pairs + (ptrdiff_t)t->row * b->pair_row +
                         (ptrdiff_t)g * b->pair_group;
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r, sums += PARTIAL, pairs += b->pair_row) {
    const etx_i16x16 pair = (etx_i16x16)all_lanes(*pairs);
    ETX_UNROLLED
    for (int part = 0; part < PARTS; ++part) {
      const size_t from = at + (size_t)part * SIDE;
      const etx_f32x8 scale = (etx_f32x8)load_lanes(b->scales + from);
      const etx_i32x8 all =
          whole[r][part] -
          __builtin_ia32_pmaddwd256(
              (etx_i16x16)load_lanes(b->group_sums + from), pair);
      etx_f32x8 sum = {0};
      if (!starts) sum = (etx_f32x8)load_lanes(sums + part * SIDE);
      sum += scale * __builtin_convertvector(all, etx_f32x8);
      memcpy(sums + part * SIDE, &sum, sizeof(sum));
    }
  }
}

static inline __attribute__((always_inline)) void some_rows(
    const etx_int4_panel* b, const int4_tile* t, size_t rows,
    int4_row_prefetch* next) {
  const uint8_t* left = b->left + (ptrdiff_t)t->row * b->left_row;
  const int8_t* panel = b->panel + t->column * b->count;
  const bool is_least = b->group == LEAST_GROUP;
  for (size_t g = 0, k = 0; k < b->count; ++g) {
    etx_i32x8 whole[ROWS][PARTS];
    least_group(b, left, k, panel, rows, whole);
    k += LEAST_GROUP;
    if (!is_least) {
      for (; k % b->group != 0; k += LEAST_GROUP) {
        etx_i32x8 more[ROWS][PARTS];
        least_group(b, left, k, panel, rows, more);
        ETX_UNROLLED
        for (size_t r = 0; r < rows; ++r) {
          ETX_UNROLLED
          for (int part = 0; part < PARTS; ++part) {
            whole[r][part] += more[r][part];
          }
        }
      }
    }
    add_group(b, t, g, rows, whole);
    prefetch_next(next);
  }
}

//   @panel_groups  uint8 x int8 | GEMM of packed int4 panels per group,
//     PMADDUBSW | {ROWS} x {HALF}
static void panel_groups(const etx_int4_panel* block) {
  // A copy, which stays in registers when sums are stored.
  const etx_int4_panel b = *block;
  const size_t blocks = HALVES * ((b.rows + ROWS - 1) / ROWS);
  int4_row_prefetch next = row_prefetch_of(&b, blocks * (b.count / b.group));
  for (size_t half = 0; half < HALVES; ++half) {
    int4_tile t = {0, half * HALF};
    for (; t.row + ROWS / 2 < b.rows; t.row += ROWS) {
      some_rows(&b, &t, ROWS, &next);
    }
    if (t.row < b.rows) some_rows(&b, &t, ROWS / 2, &next);
  }
}

// ------------------------------------------------ the last steps

//   @totals  float32 | sums of the partial sums of groups | 8 columns
static void totals(size_t rows, size_t groups, float* sums) {
  float* out = sums;
  for (size_t r = 0; r < rows; ++r, sums += PARTIAL) {
    for (size_t c = 0; c < ETX_INT8_COLUMNS; c += SIDE, out += SIDE) {
      etx_f32x8 v[SUMS];
      ETX_UNROLLED
      for (size_t i = 0; i < SUMS; ++i) {
        const float* from = sums + i * ETX_INT8_COLUMNS + c;
        v[i] = i < groups ? (etx_f32x8)load_lanes(from) : (etx_f32x8){0};
      }
      const etx_f32x8 all =
          ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
      memcpy(out, &all, sizeof(all));
    }
  }
}

//   @last  float32 | epilogue: scale of the row, bias | 8 columns
static void last(const etx_int8_epilogue* e) {
  for (size_t r = 0; r < e->rows; ++r) {
    const float* sums = (const float*)e->sums + (ptrdiff_t)r * e->sum_row;
    float* out = e->out + (ptrdiff_t)r * e->out_row;
    const float scale = e->row_qparams[r].scale;
    size_t c = 0;
    for (; c + SIDE <= e->columns; c += SIDE) {
      etx_f32x8 x = (etx_f32x8)load_lanes(sums + c) * scale;
      if (e->bias != NULL) x += (etx_f32x8)load_lanes(e->bias + c);
      memcpy(out + c, &x, sizeof(x));
    }
    for (; c < e->columns; ++c) {
      out[c] = sums[c] * scale;
      if (e->bias != NULL) out[c] += e->bias[c];
    }
  }
}

//   @range  float32 | smallest and largest element (quantize_input_avx2.c) | 8
//     elements
//   @quantize  float32 to uint8 | quantize rows (quantize_input_avx2.c) | 8
//     elements
//   @quantize_and_range  float32 to uint8 | both of two rows
//     (quantize_input_avx2.c) | 8 elements
//   @order4  uint8 | even and odd elements apart, for int4
//     (quantize_input_avx2.c) | 64 elements
//   @groups  uint8 x int4 | one row, per group, PMADDUBSW (int4_gemv_avx2.c) |
//     1 x 4 dot products
const etx_int8_dot_loops etx_int8_dot_loops_avx2 = {
    etx_int8_range_avx2,
    etx_int8_quantize_avx2,
    etx_int8_quantize_and_range_avx2,
    etx_int4_order_avx2,
    NULL,
    etx_int4_gemv_avx2,
    pack_scales,
    pack4,
    NULL,
    panel_groups,
    totals,
    last,
    ETX_INT4_GEMV_AVX2_MOST,
    ETX_INT4_GEMV_AVX2_MULTIPLE,
    4,
    128};
