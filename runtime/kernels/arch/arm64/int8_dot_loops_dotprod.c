#include "runtime/kernels/arch/arm64/int8_dot_loops_dotprod.h"

#include "runtime/kernels/arch/arm64/int8_dot_dotprod_template.h"
#include "runtime/kernels/arch/arm64/int8_pack_dotprod_template.h"

// ------------------------------------------------ rows as they are stored

enum {
  ROWS = 6,     // rows whose sums are in registers
  COLUMNS = 4,  // columns whose sums are in registers
};

// One more step of `rows` times four sums. If `has_ones`, the bytes of the last
// row are ones. Inlined with constants, so that the sums stay in registers.
static inline __attribute__((always_inline)) void gemm_nt_step(
    const uint8_t* left, ptrdiff_t left_row, const int8x16_t* weights,
    size_t rows, bool has_ones, int32x4_t sums[ROWS][COLUMNS]) {
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    const bool is_ones = has_ones && r + 1 == rows;
    const int8x16_t x =
        is_ones ? vdupq_n_s8(1) : load_bytes(left + (ptrdiff_t)r * left_row);
    ETX_UNROLLED
    for (size_t c = 0; c < COLUMNS; ++c) {
      sums[r][c] = add_dots(sums[r][c], x, weights[c]);
    }
  }
}

// A mask with all bits of the last `count` bytes set.
static inline uint8x16_t last_bytes(size_t count) {
  static const uint8_t ends[2 * BYTES] = {
      [BYTES] = 255, 255, 255, 255, 255, 255, 255, 255,
      255,           255, 255, 255, 255, 255, 255, 255};
  return vld1q_u8(ends + count);
}

// Multiplies rows with four columns, from `column` on, `pitch` bytes apart.
// With a pitch of 0 the four columns are the same one, and one result is
// stored. The tail of a row is read together with the bytes before it, which
// are masked to zero.
static inline __attribute__((always_inline)) void gemm_nt_block(
    const etx_int8_dot_block* b, size_t row, size_t rows, bool has_ones,
    size_t column, ptrdiff_t pitch) {
  const uint8_t* x = b->left + (ptrdiff_t)row * b->left_row;
  const uint8_t* w = b->right + (ptrdiff_t)column * b->right_row;
  const size_t left = b->count % BYTES;
  int32x4_t sums[ROWS][COLUMNS] = {{{0}}};
  int8x16_t weights[COLUMNS];
  for (size_t k = BYTES; k <= b->count; k += BYTES, x += BYTES, w += BYTES) {
    ETX_UNROLLED
    for (size_t c = 0; c < COLUMNS; ++c) {
      weights[c] = load_bytes(w + (ptrdiff_t)c * pitch);
    }
    gemm_nt_step(x, b->left_row, weights, rows, has_ones, sums);
  }
  if (left > 0) {
    const ptrdiff_t back = (ptrdiff_t)left - BYTES;
    const int8x16_t mask = vreinterpretq_s8_u8(last_bytes(left));
    ETX_UNROLLED
    for (size_t c = 0; c < COLUMNS; ++c) {
      const int8x16_t input = load_bytes(w + (ptrdiff_t)c * pitch + back);
      weights[c] = vandq_s8(input, mask);
    }
    gemm_nt_step(x + back, b->left_row, weights, rows, has_ones, sums);
  }
  int32_t* out = b->sums + row * b->columns + column;
  for (size_t r = 0; r < rows; ++r, out += b->columns) {
    const int32x4_t all = totals(sums[r]);
    if (pitch == 0) {
      *out = vgetq_lane_s32(all, 0);
    } else {
      vst1q_s32(out, all);
    }
  }
}

// Some rows with all columns. The last block of four may overlap the one before
// it.
static inline __attribute__((always_inline)) void dot_rows(
    const etx_int8_dot_block* b, size_t row, size_t rows, bool has_ones) {
  if (b->columns < COLUMNS) {
    for (size_t column = 0; column < b->columns; ++column) {
      gemm_nt_block(b, row, rows, has_ones, column, 0);
    }
    return;
  }
  const size_t last = b->columns - COLUMNS;
  for (size_t column = 0; column < b->columns; column += COLUMNS) {
    gemm_nt_block(b, row, rows, has_ones, column < last ? column : last,
                  b->right_row);
  }
}

// Blocks of similar size. Only the last may have fewer than four rows; it ends
// with the row of ones, which is not read. It has at least two rows: that one
// and one of the product.
//
//   @dots  int8 x int8 | GEMM NT, SDOT | {ROWS} x {COLUMNS} dot products
static void dots(const etx_int8_dot_block* b) {
  size_t blocks = (b->rows + ROWS - 1) / ROWS;
  for (size_t row = 0; row < b->rows; --blocks) {
    const size_t rows = (b->rows - row + blocks - 1) / blocks;
    switch (rows) {
      case 6:
        dot_rows(b, row, 6, false);
        break;
      case 5:
        dot_rows(b, row, 5, false);
        break;
      case 4:
        dot_rows(b, row, 4, false);
        break;
      case 3:
        dot_rows(b, row, 3, true);
        break;
      default:
        dot_rows(b, row, 2, true);
        break;
    }
    row += rows;
  }
}

// ------------------------------------------------ the last steps

// The results of four columns from integer sums. They wrap if a damaged file
// has column sums that do not belong to its weights.
static inline float32x4_t whole_results(const etx_int8_epilogue* epilogue,
                                        size_t c, int32x4_t sum,
                                        const etx_int8_row_qparams* row) {
  const int32x4_t column_sums = vld1q_s32(epilogue->column_sums + c);
  const float32x4_t whole =
      // Rows are signed here: byte - 128.
      vcvtq_f32_s32(vmlsq_n_s32(sum, column_sums, row->base - 128));
  const float32x4_t bias = epilogue->bias == NULL
                               ? vdupq_n_f32(-0.0f)
                               : vld1q_f32(epilogue->bias + c);
  const float32x4_t scaled = vmulq_f32(whole, vld1q_f32(epilogue->scales + c));
  return vaddq_f32(vmulq_n_f32(scaled, row->scale), bias);
}

static inline float32x4_t group_results(const etx_int8_epilogue* epilogue,
                                        size_t c, float32x4_t sum,
                                        const etx_int8_row_qparams* row) {
  const float32x4_t bias = epilogue->bias == NULL
                               ? vdupq_n_f32(-0.0f)
                               : vld1q_f32(epilogue->bias + c);
  return vaddq_f32(vmulq_n_f32(sum, row->scale), bias);
}

static void last_row(const etx_int8_epilogue* epilogue, const void* sums,
                     const etx_int8_row_qparams* row, float* out) {
  const int32_t* whole = sums;
  const float* partial = sums;
  for (size_t c = 0; c + LANES <= epilogue->columns; c += LANES) {
    vst1q_f32(out + c,
              epilogue->column_sums != NULL
                  ? whole_results(epilogue, c, vld1q_s32(whole + c), row)
                  : group_results(epilogue, c, vld1q_f32(partial + c), row));
  }
}

// The last columns, fewer than four.
static void last_rest(const etx_int8_epilogue* epilogue, size_t first) {
  const size_t bytes = (epilogue->columns - first) * sizeof(float);
  int32_t sums[LANES] = {0}, column_sums[LANES] = {0};
  float scales[LANES] = {0}, bias[LANES] = {0}, out[LANES];
  etx_int8_epilogue rest = {
      .column_sums = epilogue->column_sums == NULL ? NULL : column_sums,
      .scales = scales,
      .bias = epilogue->bias == NULL ? NULL : bias,
      .columns = LANES};
  if (epilogue->column_sums != NULL) {
    memcpy(column_sums, epilogue->column_sums + first, bytes);
    memcpy(scales, epilogue->scales + first, bytes);
  }
  if (epilogue->bias != NULL) memcpy(bias, epilogue->bias + first, bytes);
  for (size_t r = 0; r < epilogue->rows; ++r) {
    const int32_t* from = (const int32_t*)epilogue->sums +
                          (ptrdiff_t)r * epilogue->sum_row + first;
    memcpy(sums, from, bytes);
    last_row(&rest, sums, &epilogue->row_qparams[r], out);
    memcpy(epilogue->out + (ptrdiff_t)r * epilogue->out_row + first, out,
           bytes);
  }
}

//   @last  int32 to float32 | epilogue: zero points, scales, bias | {LANES}
//     columns
static void last(const etx_int8_epilogue* epilogue) {
  const size_t whole = epilogue->columns / LANES * LANES;
  for (size_t r = 0; r < epilogue->rows; ++r) {
    last_row(epilogue,
             (const int32_t*)epilogue->sums + (ptrdiff_t)r * epilogue->sum_row,
             &epilogue->row_qparams[r],
             epilogue->out + (ptrdiff_t)r * epilogue->out_row);
  }
  if (whole < epilogue->columns) last_rest(epilogue, whole);
}

// ------------------------------------------------ panels

enum { GEMM_ROWS = ETX_INT8_ROWS };  // rows whose sums are in registers

// Packs sixteen bytes of sixteen columns and adds up their sums.
static void transpose_square(const uint8_t* in, ptrdiff_t row, int8_t* out,
                             int32_t* sums) {
  ETX_UNROLLED
  for (ptrdiff_t q = 0; q < QUARTERS; ++q) {
    int8x16_t fours[LANES];
    int32x4_t column_sums = vld1q_s32(sums + q * LANES);
    transpose_quarter(in + q * LANES * row, row, fours);
    ETX_UNROLLED
    for (ptrdiff_t i = 0; i < LANES; ++i) {
      vst1q_s8(out + i * FOUR + q * BYTES, fours[i]);
      column_sums = add_dots(column_sums, fours[i], vdupq_n_s8(1));
    }
    vst1q_s32(sums + q * LANES, column_sums);
  }
}

//   @pack8  int8 | pack rows as panels | {SQUARE} x {BYTES}
static void pack8(const uint8_t* in, ptrdiff_t row, size_t columns,
                  size_t count, int8_t* out, int32_t* column_sums) {
  for (size_t k = 0; k < count; k += BYTES, out += LANES * FOUR) {
    for (size_t part = 0; part < PARTS; ++part) {
      const size_t first = part * SQUARE;
      const size_t some = columns < first ? 0 : columns - first;
      const uint8_t* from = in + (ptrdiff_t)first * row + k;
      uint8_t rest[SQUARE][BYTES];
      if (some >= SQUARE && k + BYTES <= count) {
        transpose_square(from, row, out + part * SQUARE * 4,
                         column_sums + first);
        continue;
      }
      copy_rest(from, row, some, count - k, 0, rest);
      transpose_square(rest[0], BYTES, out + part * SQUARE * 4,
                       column_sums + first);
    }
  }
}

// Updates the argmax of a row by sixteen results, if one of them is larger than
// its largest so far or NaN. Few are, after the first columns.
static void compare_results(const etx_int8_epilogue* epilogue, size_t row,
                            size_t c, const float32x4_t results[QUARTERS]) {
  etx_row_argmax* best = &epilogue->best[row];
  const float32x4_t input = vdupq_n_f32(best->value);
  uint32x4_t all = vcleq_f32(results[0], input);
  ETX_UNROLLED
  for (size_t q = 1; q < QUARTERS; ++q) {
    all = vandq_u32(all, vcleq_f32(results[q], input));
  }
  if (vminvq_u32(all) != 0) return;
  float made[SQUARE];
  memcpy(made, results, sizeof made);
  etx_row_argmax_update_row(best, made, epilogue->column + c, SQUARE);
}

static inline __attribute__((always_inline)) void store_results(
    const etx_int8_epilogue* epilogue, size_t row, size_t rows, size_t c,
    int32x4_t sums[GEMM_ROWS][QUARTERS]) {
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    if (row + r >= epilogue->rows) break;
    float32x4_t results[QUARTERS];
    ETX_UNROLLED
    for (size_t q = 0; q < QUARTERS; ++q) {
      results[q] = whole_results(epilogue, c + q * LANES, sums[r][q],
                                 &epilogue->row_qparams[row + r]);
    }
    if (epilogue->best != NULL) {
      compare_results(epilogue, row + r, c, results);
    } else {
      float* out = epilogue->out + (ptrdiff_t)(row + r) * epilogue->out_row + c;
      memcpy(out, results, sizeof results);
    }
  }
}

// One more group of four bytes of the rows' registers, with sixteen columns.
static inline __attribute__((always_inline)) void add_columns(
    const int8_t* panel, const int8x16_t x[GEMM_ROWS], size_t rows,
    size_t place, int32x4_t sums[GEMM_ROWS][QUARTERS]) {
  int8x16_t w[QUARTERS];
  READS_STAY;
  ETX_UNROLLED
  for (size_t q = 0; q < QUARTERS; ++q) w[q] = load_bytes(panel + q * BYTES);
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    ETX_UNROLLED
    for (size_t q = 0; q < QUARTERS; ++q) {
      sums[r][q] = add_four(sums[r][q], w[q], x[r], place);
    }
  }
}

// Some rows with one part of the panel.
static inline __attribute__((always_inline)) void panel_rows(
    const etx_int8_panel* b, size_t row, size_t rows, size_t part) {
  const uint8_t* left = b->left + (ptrdiff_t)row * b->left_row;
  const int8_t* panel = b->panel + (ptrdiff_t)part * b->panel_part;
  int32_t* at = b->sums + row * ETX_INT8_COLUMNS + part * SQUARE;
  int32x4_t sums[GEMM_ROWS][QUARTERS] = {{{0}}};
  int8x16_t x[GEMM_ROWS];
  const ptrdiff_t left_row = b->left_row, panel_row = b->panel_row;
  const size_t count = b->count;
  if (!b->starts) {
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      ETX_UNROLLED
      for (size_t q = 0; q < QUARTERS; ++q) {
        sums[r][q] = vld1q_s32(at + r * ETX_INT8_COLUMNS + q * LANES);
      }
    }
  }
  size_t k = 0;
  for (; k + BYTES <= count; k += BYTES) {
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      x[r] = load_bytes(left + (ptrdiff_t)r * left_row + k);
    }
    ETX_UNROLLED
    for (size_t i = 0; i < LANES; ++i, panel += panel_row) {
      add_columns(panel, x, rows, i, sums);
    }
  }
  for (; k < count; k += 4, panel += panel_row) {
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      x[r] = load_four(left + (ptrdiff_t)r * left_row + k);
    }
    add_columns(panel, x, rows, 0, sums);
  }
  if (b->epilogue != NULL) {
    store_results(b->epilogue, row, rows, part * SQUARE, sums);
    return;
  }
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    ETX_UNROLLED
    for (size_t q = 0; q < QUARTERS; ++q) {
      vst1q_s32(at + r * ETX_INT8_COLUMNS + q * LANES, sums[r][q]);
    }
  }
}

// A single row, as in a decoding step, is computed alone, without the padding
// rows after it.
//
//   @whole  int8 x int8 | GEMM of packed panels, SDOT | {GEMM_ROWS} x {SQUARE}
static void whole(const etx_int8_panel* b) {
  for (size_t row = 0; row < b->rows; row += GEMM_ROWS) {
    const bool is_lone = b->epilogue != NULL && row + 1 == b->epilogue->rows;
    for (size_t part = 0; part < PARTS; ++part) {
      if (is_lone) {
        panel_rows(b, row, 1, part);
      } else {
        panel_rows(b, row, GEMM_ROWS, part);
      }
    }
  }
}

//   @range  float32 | smallest and largest element (quantize_input_dotprod.c)
//     | 16 elements
//   @quantize  float32 to int8 | quantize rows (quantize_input_dotprod.c) | 8
//     elements
//   @quantize_and_range  float32 to int8 | both of two rows
//     (quantize_input_dotprod.c) | 8 elements
//   @order4  int8 | even and odd elements apart, for int4
//     (quantize_input_dotprod.c) | 32 elements
//   @groups  int8 x int4 | GEMM NT per group, SDOT (int4_dot_dotprod.c) | 2 x
//     2 dot products
//   @pack4  int4 to int8 | pack rows as panels (int4_packed_dotprod.c) | 16 x
//     32
//   @panel_groups  int8 x int8 | GEMM of packed int4 panels per group, SDOT
//     (int4_packed_dotprod.c) | 4 x 16
//   @totals  float32 | sums of the partial sums of groups
//     (int4_packed_dotprod.c) | 4 columns
const etx_int8_dot_loops etx_int8_dot_loops_dotprod = {
    etx_int8_range_dotprod,
    etx_int8_quantize_dotprod,
    etx_int8_quantize_and_range_dotprod,
    etx_int4_order_dotprod,
    dots,
    etx_int4_dot_dotprod,
    pack8,
    etx_int4_pack_dotprod,
    whole,
    etx_int4_panel_dotprod,
    etx_int4_totals_dotprod,
    last,
    ETX_INT8_MAX_DEPTH,
    32,
    7,
    0};
