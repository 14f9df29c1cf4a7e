// Registers of 64 bytes: sixteen columns of a panel with four elements each.
// One VPDPBUSD multiplies and adds them.

#include "runtime/kernels/simd/vector/vector_types.h"
#include "runtime/kernels/arch/x86/u8/u8_loops_sets_x86.h"
#include "runtime/kernels/arch/x86/u8/u8_vec_template.h"

enum {
  COLUMNS = ETX_U8_COLUMNS,
  PARTS = ETX_U8_PANELS,
  ROWS = ETX_U8_ROWS,
  SIDE = ETX_U8_INTERLEAVE,
};

// Floats as integers without the zero point, in the lowest bits of lanes:
// adding U8_ROUNDING rounds them and moves the integer there.
static inline etx_i32x16 lowest_bits(etx_f32x16 x, etx_f32x16 low,
                                     etx_f32x16 high) {
  return (etx_i32x16)(limited(x, low, high) + all_floats(U8_ROUNDING));
}

// The lowest byte of each lane. gcc compiles a conversion to sixteen moves.
static inline etx_u8x16 lowest_bytes(etx_i32x16 x) {
  return (etx_u8x16)__builtin_ia32_pmovdb512_mask(x, (etx_charx16){0}, 0xffff);
}

static inline etx_u8x16 all_bytes(int32_t x) {
  const uint8_t b = (uint8_t)x;
  return (etx_u8x16){b, b, b, b, b, b, b, b, b, b, b, b, b, b, b, b};
}

// ------------------------------------------------ products

// Requantisation parameters of sixteen columns. The offsets are in the sums
// already.
typedef struct u8_column_params {
  etx_f32x16 scales, bias;
} u8_column_params;

static inline u8_column_params load_columns(const etx_u8_requantize* r,
                                            size_t channel, size_t bytes) {
  u8_column_params n = {(etx_f32x16)load_some_bytes(r->scales + channel, bytes),
                        -(etx_f32x16){0}};
  if (r->bias != NULL) {
    n.bias = (etx_f32x16)load_some_bytes(r->bias + channel, bytes);
  }
  return n;
}

static inline etx_f32x16 result_of(etx_i32x16 sum, const u8_column_params* n) {
  return __builtin_convertvector(sum, etx_f32x16) * n->scales + n->bias;
}

// The number of columns of a block's part: sixteen, or the remaining ones.
static inline size_t part_columns(const etx_u8_block* b, size_t part) {
  const size_t left = b->columns - part * COLUMNS;
  return left < COLUMNS ? left : (size_t)COLUMNS;
}

// The first bytes of a quarter of a register.
static inline void store_first(void* to, etx_i32x4 x, size_t count) {
  const unsigned mask = (1U << count) - 1;
  __builtin_ia32_storedquqi128_mask(to, (etx_charx16)x, (unsigned short)mask);
}

// Stores up to four rows of up to sixteen columns; each row is a quarter.
static inline __attribute__((always_inline)) void store_quarters(
    etx_i32x16 quarters, size_t rows, size_t columns, uint8_t* to,
    size_t pitch) {
#define STORE(i)                                                          \
  if ((i) < rows) {                                                       \
    store_first(                                                          \
        to + (i)*pitch,                                                   \
        __builtin_shufflevector(quarters, quarters, 4 * (i), 4 * (i) + 1, \
                                4 * (i) + 2, 4 * (i) + 3),                \
        columns);                                                         \
  }
  STORE(0)
  STORE(1)
  STORE(2)
  STORE(3)
#undef STORE
}

// The parameters for requantising a tile.
typedef struct quad_numbers {
  u8_column_params columns;
  byte_bounds_avx512 bounds;
} quad_numbers;

// Stores the existing ones of four rows of sixteen columns whose rounded
// results fit in int32.
static inline __attribute__((always_inline)) void store_four(
    const etx_u8_block* b, const quad_numbers* n, const etx_i32x16 sums[4],
    size_t rows, size_t columns, uint8_t* to) {
  etx_i32x16 whole[4];
  ETX_UNROLLED
  for (size_t i = 0; i < 4; ++i)
    whole[i] = rounded(result_of(sums[i], &n->columns));
  const etx_i32x16 made = packed_with(whole, n->bounds.zero);
  const etx_i32x16 limited =
      smaller_bytes(larger_bytes(made, n->bounds.low), n->bounds.high);
  const etx_i32x16 quarters = transpose_4x4_lanes(limited);
  if (rows < 4 || columns < COLUMNS) {
    store_quarters(quarters, rows, columns, to, b->out_row);
    return;
  }
  store_quarter(to, quarters, 0);
  store_quarter(to + b->out_row, quarters, 1);
  store_quarter(to + 2 * b->out_row, quarters, 2);
  store_quarter(to + 3 * b->out_row, quarters, 3);
}

// Stores rows from `first` on as bytes.
static inline __attribute__((always_inline)) void store_all(
    const etx_u8_block* b, size_t first, size_t rows, size_t parts,
    etx_i32x16 sums[ROWS][PARTS]) {
  const etx_u8_requantize* r = b->results;
  const byte_bounds_avx512 bounds = bounds_of(r);
  const size_t left = b->rows - first;
  ETX_UNROLLED
  for (size_t part = 0; part < parts; ++part) {
    const size_t column = part * COLUMNS, columns = part_columns(b, part);
    const quad_numbers n = {
        load_columns(r, b->channel + column, columns * sizeof(float)), bounds};
    uint8_t* to = (uint8_t*)b->out + first * b->out_row + column;
    ETX_UNROLLED
    for (size_t row = 0; row < rows; row += 4, to += 4 * b->out_row) {
      if (row >= left) break;
      const size_t some = left - row < 4 ? left - row : 4;
      const etx_i32x16 row_sums[4] = {sums[row][part], sums[row + 1][part],
                                      sums[row + 2][part], sums[row + 3][part]};
      store_four(b, &n, row_sums, some, columns, to);
    }
  }
}

// Rows from `first` on, at most ROWS.
static __attribute__((noinline)) void store_some(const etx_u8_block* b,
                                                 size_t first,
                                                 etx_i32x16 sums[ROWS][PARTS]) {
  const size_t left = b->rows - first;
  const size_t rows = left < ROWS ? left : (size_t)ROWS;
  const etx_u8_requantize* r = b->results;
  for (size_t part = 0; part * COLUMNS < b->columns; ++part) {
    const size_t columns = part_columns(b, part), channel = part * COLUMNS;
    const u8_column_params n =
        load_columns(r, b->channel + channel, columns * sizeof(float));
    for (size_t row = 0; row < rows; ++row) {
      const size_t at = (first + row) * b->out_row + channel;
      const etx_f32x16 f = result_of(sums[row][part], &n);
      if (r->is_float) {
        store_some_bytes((float*)b->out + at, (etx_i32x16)f,
                         columns * sizeof(float));
        continue;
      }
      const etx_i32x16 made =
          lowest_bits(f, all_floats(r->low), all_floats(r->high));
      const etx_u8x16 results = lowest_bytes(made) + all_bytes(r->zero);
      memcpy((uint8_t*)b->out + at, &results, columns);
    }
  }
}

// The start of each row's piece. There are more rows than registers, so the
// pointers are volatile: they are loaded where they are used, and the compiler
// cannot keep copies on the stack.
typedef const uint8_t* const volatile row_place;

typedef struct fours_place {
  row_place* rows;
  size_t k;              // bytes from where their pieces begin
  const int8_t* panels;  // `panel_bytes` apart
  size_t panel_bytes;
} fours_place;

// Adds the products of one or two groups of four bytes of all rows.
static inline __attribute__((always_inline)) void add_fours(
    const fours_place* at, size_t fours, size_t rows, size_t parts,
    etx_i32x16 sums[ROWS][PARTS]) {
  etx_i32x16 w[2][PARTS];
  ETX_UNROLLED
  for (size_t i = 0; i < fours; ++i) {
    ETX_UNROLLED
    for (size_t part = 0; part < parts; ++part) {
      w[i][part] = load_bytes(at->panels + i * BYTES + part * at->panel_bytes);
    }
  }
  ETX_UNROLLED_16
  for (size_t r = 0; r < rows; ++r) {
    const uint8_t* row = at->rows[r] + at->k;
    ETX_UNROLLED
    for (size_t i = 0; i < fours; ++i) {
      int input;
      memcpy(&input, row + i * SIDE, sizeof input);
      const etx_i32x16 all = all_ints(input);
      ETX_UNROLLED
      for (size_t part = 0; part < parts; ++part) {
        sums[r][part] = add_products(sums[r][part], all, w[i][part]);
      }
    }
  }
}

// The initial sums of a block's rows: the offsets, or the partial sums so far.
static inline __attribute__((always_inline)) void start_sums(
    const etx_u8_block* b, size_t rows, size_t parts,
    etx_i32x16 sums[ROWS][PARTS]) {
  ETX_UNROLLED
  for (size_t part = 0; part < parts; ++part) {
    const size_t column = part * COLUMNS;
    const etx_i32x16 offsets =
        load_some_bytes(b->results->offsets + b->channel + column,
                        part_columns(b, part) * sizeof(int32_t));
    ETX_UNROLLED_16
    for (size_t r = 0; r < rows; ++r) sums[r][part] = offsets;
    if (b->starts) continue;
    ETX_UNROLLED_16
    for (size_t r = 0; r < rows; ++r) {
      sums[r][part] = load_bytes(b->sums + (r * PARTS + part) * COLUMNS);
    }
  }
}

// Some rows with one or two panels.
static inline __attribute__((always_inline)) void block_rows(
    const etx_u8_block* b, size_t row, size_t rows, size_t parts) {
  const int8_t* w = b->panels;
  etx_i32x16 sums[ROWS][PARTS];
  start_sums(b, rows, parts, sums);
  for (size_t t = 0; t < b->taps; ++t) {
    row_place* x = b->input + t * b->pitch + row;
    size_t k = 0;
    for (; k + 1 < b->fours; k += 2, w += 2 * BYTES) {
      const fours_place at = {x, k * SIDE, w, b->panel_bytes};
      add_fours(&at, 2, rows, parts, sums);
    }
    if (k < b->fours) {
      const fours_place at = {x, k * SIDE, w, b->panel_bytes};
      add_fours(&at, 1, rows, parts, sums);
      w += BYTES;
    }
  }
  if (!b->ends) {
    ETX_UNROLLED_16
    for (size_t r = 0; r < rows; ++r) {
      ETX_UNROLLED
      for (size_t part = 0; part < parts; ++part) {
        memcpy(b->sums + (r * PARTS + part) * COLUMNS, &sums[r][part], BYTES);
      }
    }
  } else if (rows % 4 == 0 && !b->results->is_float && b->results->fits_int32) {
    store_all(b, row, rows, parts, sums);
  } else {
    // Sums whose address is taken would not stay in registers.
    etx_i32x16 kept[ROWS][PARTS];
    ETX_UNROLLED_16
    for (size_t r = 0; r < rows; ++r) {
      ETX_UNROLLED
      for (size_t part = 0; part < parts; ++part) {
        kept[r][part] = sums[r][part];
      }
    }
    store_some(b, row, kept);
  }
}

static inline __attribute__((always_inline)) void block_parts(
    const etx_u8_block* b, size_t parts) {
  for (size_t row = 0; row < b->rows; row += ROWS) {
    const size_t left = b->rows - row;
    if (left > 8) {
      block_rows(b, row, 12, parts);
    } else if (left > 4) {
      block_rows(b, row, 8, parts);
    } else if (left > 1) {
      block_rows(b, row, 4, parts);
    } else {
      block_rows(b, row, 1, parts);
    }
  }
}

//   @block  uint8 x int8 | GEMM and convolution with requantisation | {ROWS} x
//     {COLUMNS * PARTS}
static void block(const etx_u8_block* b) {
  if (b->columns > COLUMNS) {
    block_parts(b, 2);
  } else {
    block_parts(b, 1);
  }
}

// ------------------------------------------------ elements

// gcc and clang name this builtin differently.
static inline etx_i32x16 sixteen_bytes(const uint8_t* in) {
  etx_u8x16 x;
  memcpy(&x, in, sizeof x);
#ifdef __clang__
  return __builtin_convertvector(x, etx_i32x16);
#else
  return __builtin_ia32_pmovzxbd512_mask((etx_charx16)x, (etx_i32x16){0},
                                         0xffff);
#endif
}

static inline __attribute__((always_inline)) etx_f32x16 floats_of(
    const uint8_t* in, int32_t zero, float scale) {
  const etx_i32x16 wide = sixteen_bytes(in) - all_ints(zero);
  return __builtin_convertvector(wide, etx_f32x16) * all_floats(scale);
}

//   @to_floats  uint8 to float32 | dequantize | {LANES} elements
static void to_floats(const uint8_t* in, size_t count, int32_t zero,
                      float scale, float* out) {
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    const etx_f32x16 y = floats_of(in + i, zero, scale);
    memcpy(out + i, &y, sizeof y);
  }
  etx_u8_loops_base.to_floats(in + i, count - i, zero, scale, out + i);
}

//   @to_bytes  float32 to uint8 | quantize | {LANES} elements
static void to_bytes(const float* in, size_t count,
                     const etx_u8_qparams* qparams, uint8_t* out) {
  const etx_u8_qparams q = *qparams;
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    const etx_f32x16 x = (etx_f32x16)load_bytes(in + i) * all_floats(q.inverse);
    const etx_u8x16 y =
        lowest_bytes(lowest_bits(x, all_floats(q.low), all_floats(q.high))) +
        all_bytes(q.zero);
    memcpy(out + i, &y, sizeof y);
  }
  etx_u8_loops_base.to_bytes(in + i, count - i, qparams, out + i);
}

//   @add  uint8 | addition with requantisation | {LANES} elements
static void add(const etx_u8_binary_qparams* n, const uint8_t* a,
                const uint8_t* b, size_t count, uint8_t* out) {
  const etx_f32x16 low = all_floats(n->low), high = all_floats(n->high);
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    const etx_f32x16 x = floats_of(a + i, n->zeros[0], n->scales[0]);
    const etx_f32x16 y = floats_of(b + i, n->zeros[1], n->scales[1]);
    const etx_f32x16 sum = (x + y) * all_floats(n->inverse);
    const etx_u8x16 made =
        lowest_bytes(lowest_bits(sum, low, high)) + all_bytes(n->zero);
    memcpy(out + i, &made, sizeof made);
  }
  etx_u8_loops_base.add(n, a + i, b + i, count - i, out + i);
}

//   @multiply  uint8 x float32 | multiplication with requantisation | {LANES}
//     elements
static void multiply(const etx_u8_binary_qparams* n, const uint8_t* a,
                     const float* b, size_t count, uint8_t* out) {
  const etx_f32x16 low = all_floats(n->low), high = all_floats(n->high);
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    const etx_f32x16 x = floats_of(a + i, n->zeros[0], n->scales[0]);
    const etx_f32x16 product = x * (etx_f32x16)load_bytes(b + i);
    const etx_u8x16 made =
        lowest_bytes(lowest_bits(product * all_floats(n->inverse), low, high)) +
        all_bytes(n->zero);
    memcpy(out + i, &made, sizeof made);
  }
  etx_u8_loops_base.multiply(n, a + i, b + i, count - i, out + i);
}

// Looks up the lower seven bits of each index in two registers (VPERMI2B). All
// processors with VNNI but the first have this instruction. It is written in
// inline assembly, so that the rest of the file is not compiled for it.
static inline etx_i32x16 entries_of(etx_i32x16 indices, etx_i32x16 low,
                                    etx_i32x16 high) {
  __asm__("vpermi2b %2, %1, %0" : "+v"(indices) : "v"(low), "v"(high));
  return indices;
}

// Takes `b` where an index has its highest bit set, else `a`.
static inline etx_i32x16 chosen(etx_i32x16 indices, etx_i32x16 a,
                                etx_i32x16 b) {
  const unsigned long long mask =
      __builtin_ia32_cvtb2mask512((etx_charx64)indices);
#ifdef __clang__
  return (etx_i32x16)__builtin_ia32_selectb_512(mask, (etx_charx64)b,
                                                (etx_charx64)a);
#else
  return (etx_i32x16)__builtin_ia32_blendmb_512_mask((etx_charx64)a,
                                                     (etx_charx64)b, mask);
#endif
}

//   @look_up  uint8 | table of 256 entries | {BYTES} elements
static void look_up(const uint8_t table[256], const uint8_t* in, size_t count,
                    uint8_t* out) {
  etx_i32x16 t[4];
  if (!__builtin_cpu_supports("avx512vbmi")) {
    etx_u8_loops_base.look_up(table, in, count, out);
    return;
  }
  memcpy(t, table, sizeof t);
  for (size_t i = 0; i < count; i += BYTES) {
    const size_t left = count - i, some = left < BYTES ? left : (size_t)BYTES;
    const etx_i32x16 x = load_some_bytes(in + i, some);
    const etx_i32x16 y =
        chosen(x, entries_of(x, t[0], t[1]), entries_of(x, t[2], t[3]));
    store_some_bytes(out + i, y, some);
  }
}

//   @add_rows  uint8 to int32 | sums of rows (mean pooling) | 64 elements
static void add_rows(const uint8_t* in, size_t rows, size_t pitch, size_t count,
                     int32_t* sums) {
  enum { TOGETHER = 4 };  // registers of sums: a line of the cache
  size_t i = 0;
  for (; i + TOGETHER * LANES <= count; i += TOGETHER * LANES) {
    etx_i32x16 acc[TOGETHER];
    memcpy(acc, sums + i, sizeof acc);
    for (size_t r = 0; r < rows; ++r) {
      ETX_UNROLLED
      for (size_t k = 0; k < TOGETHER; ++k) {
        acc[k] += sixteen_bytes(in + r * pitch + i + k * LANES);
      }
    }
    memcpy(sums + i, acc, sizeof acc);
  }
  etx_u8_loops_base.add_rows(in + i, rows, pitch, count - i, sums + i);
}

//   @max_of_rows  uint8 | max pooling of rows | {BYTES} elements
static void max_of_rows(const uint8_t* const* rows, size_t row_count,
                        size_t columns, size_t pitch, size_t count,
                        uint8_t* out) {
  for (size_t i = 0; i < count; i += BYTES) {
    const size_t left = count - i, some = left < BYTES ? left : (size_t)BYTES;
    etx_i32x16 best = load_some_bytes(out + i, some);
    for (size_t r = 0; r < row_count; ++r) {
      const uint8_t* in = rows[r] + i;
      for (size_t c = 0; c < columns; ++c) {
        best = larger_bytes(best, load_some_bytes(in + c * pitch, some));
      }
    }
    store_some_bytes(out + i, best, some);
  }
}

//   @has_nan  float32 | search for NaN before quantisation | 1 element
static bool has_nan(const float* x, size_t count) {
  return u8_has_nan(x, count);
}

//   @windows  uint8 x int8 | depthwise convolution with requantisation
//     (u8_depthwise_avx512vnni.c) | 64 channels, or 32 with vectors of 32
//     bytes
const etx_u8_loops etx_u8_loops_avx512vnni = {
    block,     etx_u8_depthwise_avx512vnni,
    to_floats, has_nan,
    to_bytes,  add,
    multiply,  look_up,
    add_rows,  max_of_rows};
