// Packs 4-bit weights minus 8 as panels, and multiplies rows with them.

#include "runtime/kernels/arch/arm64/int8_dot_loops_dotprod.h"

#include "runtime/kernels/arch/arm64/int8_dot_dotprod_template.h"
#include "runtime/kernels/arch/arm64/int8_pack_dotprod_template.h"

enum {
  LEAST_GROUP = 2 * BYTES,  // elements
  SUMS = 8,                 // partial sums of groups
  ROWS = ETX_INT8_ROWS,     // rows whose sums are in registers
  PARTIAL = SUMS * ETX_INT8_COLUMNS,
};

// ------------------------------------------------ panels

// Transposes sixteen bytes of sixteen columns and splits them into groups of
// four high halves and of four low halves.
static void transpose_halves(const uint8_t* in, ptrdiff_t row, int8_t* out,
                             int32_t* sums) {
  const int8x16_t ones = vdupq_n_s8(1), zero = vdupq_n_s8(8);
  ETX_UNROLLED
  for (ptrdiff_t q = 0; q < QUARTERS; ++q) {
    int8x16_t fours[LANES];
    int32x4_t group_sums = {0};
    transpose_quarter(in + q * LANES * row, row, fours);
    ETX_UNROLLED
    for (ptrdiff_t i = 0; i < LANES; ++i) {
      int8_t* to = out + 2 * i * FOUR + q * BYTES;
      const uint8x16_t both = vreinterpretq_u8_s8(fours[i]);
      const int8x16_t high = vreinterpretq_s8_u8(both >> 4) - zero;
      const int8x16_t low = vreinterpretq_s8_u8(both & 15) - zero;
      vst1q_s8(to, high);
      vst1q_s8(to + FOUR, low);
      group_sums = add_dots(group_sums, high, ones);
      group_sums = add_dots(group_sums, low, ones);
    }
    vst1q_s32(sums + q * LANES, group_sums);
  }
}

// Adds sums of 32 elements to sums of groups, in place.
static void join_sums(size_t groups, size_t each, int32_t* sums) {
  for (size_t g = 0; g < groups; ++g) {
    for (size_t c = 0; c < ETX_INT8_COLUMNS; c += LANES) {
      const int32_t* from = sums + g * each * ETX_INT8_COLUMNS + c;
      int32x4_t all = {0};
      for (size_t i = 0; i < each; ++i) {
        all += vld1q_s32(from + i * ETX_INT8_COLUMNS);
      }
      vst1q_s32(sums + g * ETX_INT8_COLUMNS + c, all);
    }
  }
}

void etx_int4_pack_dotprod(const etx_int4_pack* pack) {
  enum { ZEROS = 8 << 4 | 8 };
  const uint8_t* const in = pack->in;
  const ptrdiff_t row = pack->row;
  const size_t columns = pack->columns, count = pack->count;
  int8_t* out = pack->out;
  int32_t* sums = pack->group_sums;
  for (size_t k = 0; k < count; k += BYTES, out += 2 * LANES * FOUR) {
    for (size_t part = 0; part < PARTS; ++part) {
      const size_t first = part * SQUARE;
      const size_t some = columns < first ? 0 : columns - first;
      const uint8_t* from = in + (ptrdiff_t)first * row + k;
      uint8_t rest[SQUARE][BYTES];
      if (some >= SQUARE) {
        transpose_halves(from, row, out + part * SQUARE * 4, sums + first);
        continue;
      }
      copy_rest(from, row, some, BYTES, ZEROS, rest);
      transpose_halves(rest[0], BYTES, out + part * SQUARE * 4, sums + first);
    }
    sums += ETX_INT8_COLUMNS;
  }
  join_sums(2 * count / pack->group, pack->group / LEAST_GROUP,
            pack->group_sums);
}

// ------------------------------------------------ sums

// Adds the products of sixteen bytes of rows. Groups of four of the panel are
// `pitch` bytes apart.
static inline __attribute__((always_inline)) void add_half(
    const uint8_t* left, ptrdiff_t left_row, const int8_t* panel,
    int32x4_t sums[ROWS][QUARTERS]) {
  int8x16_t x[ROWS];
  ETX_UNROLLED
  for (size_t r = 0; r < ROWS; ++r) {
    x[r] = load_bytes(left + (ptrdiff_t)r * left_row);
  }
  ETX_UNROLLED
  for (size_t i = 0; i < LANES; ++i, panel += 2 * FOUR) {
    int8x16_t w[QUARTERS];
    READS_STAY;
    ETX_UNROLLED
    for (size_t q = 0; q < QUARTERS; ++q) w[q] = load_bytes(panel + q * BYTES);
    ETX_UNROLLED
    for (size_t r = 0; r < ROWS; ++r) {
      ETX_UNROLLED
      for (size_t q = 0; q < QUARTERS; ++q) {
        sums[r][q] = add_four(sums[r][q], w[q], x[r], i);
      }
    }
  }
}

// One group of weights: four rows with sixteen columns.
static inline __attribute__((always_inline)) void sum_group(
    const etx_int4_panel* b, size_t row, size_t group, size_t column,
    int32x4_t sums[ROWS][QUARTERS]) {
  const uint8_t* left =
      b->left + (ptrdiff_t)row * b->left_row + group * b->group;
  const int8_t* panel = b->panel + group * b->group / 4 * FOUR + 4 * column;
  const int32_t* group_sums = b->group_sums + group * ETX_INT8_COLUMNS + column;
  ETX_UNROLLED
  for (size_t r = 0; r < ROWS; ++r) {
    const int32_t base = b->row_qparams[row + r].base - 128;
    ETX_UNROLLED
    for (size_t q = 0; q < QUARTERS; ++q) {
      sums[r][q] = vld1q_s32(group_sums + q * LANES) * -base;
    }
  }
  const ptrdiff_t left_row = b->left_row;
  const uint8_t* const end = left + b->group;
  for (; left < end; left += LEAST_GROUP) {
    add_half(left, left_row, panel, sums);
    add_half(left + BYTES, left_row, panel + FOUR, sums);
    panel += 2 * LANES * FOUR;
  }
}

static void some_rows(const etx_int4_panel* b, size_t row, size_t column) {
  for (size_t g = 0; g * b->group < b->count; ++g) {
    const float* scales = b->scales + g * ETX_INT8_COLUMNS + column;
    float* partial = b->sums + row * PARTIAL +
                     (b->first + g) % SUMS * ETX_INT8_COLUMNS + column;
    const bool starts = b->first + g < SUMS;
    int32x4_t whole[ROWS][QUARTERS];
    sum_group(b, row, g, column, whole);
    ETX_UNROLLED
    for (size_t r = 0; r < ROWS; ++r, partial += PARTIAL) {
      ETX_UNROLLED
      for (size_t q = 0; q < QUARTERS; ++q) {
        const float32x4_t before =
            starts ? vdupq_n_f32(0) : vld1q_f32(partial + q * LANES);
        vst1q_f32(partial + q * LANES, before + vld1q_f32(scales + q * LANES) *
                                                    vcvtq_f32_s32(whole[r][q]));
      }
    }
  }
}

void etx_int4_panel_dotprod(const etx_int4_panel* b) {
  for (size_t row = 0; row < b->rows; row += ROWS) {
    for (size_t c = 0; c < ETX_INT8_COLUMNS; c += SQUARE) some_rows(b, row, c);
  }
}

void etx_int4_totals_dotprod(size_t rows, size_t groups, float* sums) {
  float* out = sums;
  for (size_t r = 0; r < rows; ++r, sums += PARTIAL) {
    for (size_t c = 0; c < ETX_INT8_COLUMNS; c += LANES, out += LANES) {
      float32x4_t v[SUMS];
      ETX_UNROLLED
      for (size_t i = 0; i < SUMS; ++i) {
        v[i] = i < groups ? vld1q_f32(sums + i * ETX_INT8_COLUMNS + c)
                          : vdupq_n_f32(0);
      }
      vst1q_f32(out, ((v[0] + v[4]) + (v[2] + v[6])) +
                         ((v[1] + v[5]) + (v[3] + v[7])));
    }
  }
}
