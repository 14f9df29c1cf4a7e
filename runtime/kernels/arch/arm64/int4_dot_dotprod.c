// A few rows of bytes times 4-bit weights as they are stored, taken as 0 to 15,
// with a scale for each group. A register of weights holds 32 elements of a
// column. The sums of four groups lie side by side: partial sums 0 to 3, then 4
// to 7 for the next four groups. So scales are read in the order in which they
// are stored.
//
//   sum of (w - 8 - zero) * (x - base) =
//       sum of w * x - base * sum of w - (8 + zero) * sum of (x - base)
//
// The last term, with the 8, depends on the row only; sums begin with it.

#include "runtime/kernels/arch/arm64/int8_dot_loops_dotprod.h"

#include "runtime/kernels/arch/arm64/int8_dot_dotprod_template.h"
#include "runtime/kernels/simd/int8/group_params.h"

enum {
  ROWS = 2,          // rows whose sums are in registers
  COLUMNS = 2,       // columns whose sums are in registers
  GROUPS = 4,        // the same, of each of them
  PART = 2 * BYTES,  // elements of a register of weights
  MOST_GROUPS = ETX_INT8_MAX_DEPTH / PART,
};

// The rows, and the sums of their groups: the bytes less the base, times -8.
typedef struct dotprod_group_rows {
  size_t row;  // the first
  const uint8_t* bytes[ROWS];
  int32_t base[ROWS];
  int32_t (*sums)[MOST_GROUPS + GROUPS];  // some follow
} dotprod_group_rows;

_Static_assert(ROWS*(MOST_GROUPS + GROUPS) <= ETX_INT4_DOT_SUMS,
               "the sums of groups fit");

static void sum_row(const uint8_t* row, int32_t base, size_t group,
                    size_t groups, int32_t* out) {
  for (size_t g = 0; g < groups; ++g) {
    int32x4_t sum = {0};
    for (size_t k = 0; k < group; k += BYTES, row += BYTES) {
      sum = add_dots(sum, load_bytes(row), vdupq_n_s8(1));
    }
    out[g] = -8 * (vaddvq_s32(sum) - (int32_t)group * base);
  }
  memset(out + groups, 0, GROUPS * sizeof *out);
}

// The operands of one step: four groups of two columns, or the last groups,
// which may be fewer.
typedef struct dotprod_step {
  const uint8_t* weights;
  ptrdiff_t pitch;  // from column to column
  const float* scales;
  const int8_t* zeros;    // NULL: none
  const int16_t* params;  // NULL: none
  ptrdiff_t to_groups;    // from a column's scales to the next one's
  const uint8_t* rows[ROWS];
  const int32_t* sums[ROWS];  // sums of rows' groups
  const int32_t* base;
} dotprod_step;

// A number in the first lane and zeros in the others. Compilers would need two
// instructions.
static inline int32x4_t first_lane(const int32_t* from) {
  int32x4_t x;
  __asm__("ldr %s0, %1" : "=w"(x) : "m"(*from));
  return x;
}

// The sums of one group's products, from register `group * parts` of each
// column on, and the sums of its weights as bytes: four low and four high
// halves sum to at most 120.
static inline __attribute__((always_inline)) void group_sums(
    const dotprod_step* s, size_t group, size_t rows, size_t parts,
    int32x4_t sums[ROWS][COLUMNS], uint8x16_t both[COLUMNS]) {
  ETX_UNROLLED
  for (size_t c = 0; c < COLUMNS; ++c) {
    both[c] = vdupq_n_u8(0);
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      sums[r][c] = first_lane(s->sums[r] + group);
    }
  }
  const size_t end = (group + 1) * parts * BYTES;
  for (size_t at = group * parts * BYTES; at < end; at += BYTES) {
    int8x16_t x[ROWS][2];
    READS_STAY;
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      x[r][0] = load_bytes(s->rows[r] + 2 * at);
      x[r][1] = load_bytes(s->rows[r] + 2 * at + BYTES);
    }
    ETX_UNROLLED
    for (size_t c = 0; c < COLUMNS; ++c) {
      const uint8x16_t w = vld1q_u8(s->weights + (ptrdiff_t)c * s->pitch + at);
      const uint8x16_t high = vshrq_n_u8(w, 4), low = w & 15;
      both[c] += high + low;
      ETX_UNROLLED
      for (size_t r = 0; r < rows; ++r) {
        sums[r][c] = add_dots(sums[r][c], vreinterpretq_s8_u8(high), x[r][0]);
        sums[r][c] = add_dots(sums[r][c], vreinterpretq_s8_u8(low), x[r][1]);
      }
    }
  }
}

// The sums of four groups' bytes. Short groups are added pairwise first, so
// that bytes stay below 128.
static inline __attribute__((always_inline)) int32x4_t byte_sums(
    uint8x16_t both[GROUPS][COLUMNS], size_t column, bool are_short) {
  const int8x16_t ones = vdupq_n_s8(1);
  int32x4_t sums[GROUPS];
  if (are_short) {
    const uint8x16_t all =
        vpaddq_u8(vpaddq_u8(both[0][column], both[1][column]),
                  vpaddq_u8(both[2][column], both[3][column]));
    return add_dots(vdupq_n_s32(0), vreinterpretq_s8_u8(all), ones);
  }
  ETX_UNROLLED
  for (size_t g = 0; g < GROUPS; ++g) {
    sums[g] =
        add_dots(vdupq_n_s32(0), vreinterpretq_s8_u8(both[g][column]), ones);
  }
  return totals(sums);
}

// Sums of `groups` groups of `parts` registers (short groups have one); zeros
// for groups that do not exist.
static inline __attribute__((always_inline)) void step_sums(
    const dotprod_step* s, size_t rows, size_t groups, size_t parts,
    bool are_short, int32x4_t out[ROWS][COLUMNS]) {
  int32x4_t sums[GROUPS][ROWS][COLUMNS] = {{{{0}}}};
  uint8x16_t both[GROUPS][COLUMNS] = {{{0}}};
  ETX_UNROLLED
  for (size_t g = 0; g < GROUPS; ++g) {
    if (g >= groups) break;
    group_sums(s, g, rows, parts, sums[g], both[g]);
  }
  ETX_UNROLLED
  for (size_t c = 0; c < COLUMNS; ++c) {
    const int32x4_t weight_sums = byte_sums(both, c, are_short);
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      const int32x4_t all[GROUPS] = {sums[0][r][c], sums[1][r][c],
                                     sums[2][r][c], sums[3][r][c]};
      out[r][c] = vmlsq_n_s32(totals(all), weight_sums, s->base[r]);
    }
  }
}

// Loads the first `groups` of four numbers of a column; the others are zero.
static inline __attribute__((always_inline)) float32x4_t some_scales(
    const float* from, size_t groups) {
  float some[GROUPS] = {0};
  memcpy(some, from, groups * sizeof *some);
  return vld1q_f32(some);
}

static inline __attribute__((always_inline)) int32x4_t some_zeros(
    const int8_t* from, size_t groups) {
  uint32_t some = 0;
  memcpy(&some, from, groups);
  const int16x8_t wide = vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(some)));
  return vmovl_s16(vget_low_s16(wide));
}

static inline __attribute__((always_inline)) int32x4_t some_params(
    const int16_t* from, size_t groups) {
  int16_t some[GROUPS] = {0};
  memcpy(some, from, groups * sizeof *some);
  return vmovl_s16(vld1_s16(some));
}

// Adds a step's sums times their scales to the partial sums. The two registers
// of partial sums take turns, so each step exchanges them.
static inline __attribute__((always_inline)) void add_step(
    const dotprod_step* s, size_t groups, size_t rows,
    int32x4_t whole[ROWS][COLUMNS], float32x4_t sums[ROWS][COLUMNS][2]) {
  ETX_UNROLLED
  for (ptrdiff_t c = 0; c < COLUMNS; ++c) {
    const ptrdiff_t at = c * s->to_groups;
    float32x4_t scale;
    int32x4_t zero = vdupq_n_s32(0);
    if (s->params != NULL) {
      const int32x4_t params = some_params(s->params + at, groups);
      scale = vcvtq_f32_s32(params & 255) * s->scales[at == 0 ? 0 : 1];
      zero = params >> 8;
    } else {
      scale = some_scales(s->scales + at, groups);
      if (s->zeros != NULL) zero = some_zeros(s->zeros + at, groups);
    }
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      int32x4_t sum = whole[r][c];
      if (s->params != NULL) {
        sum = (sum << ETX_GROUP_SHIFT) - (vld1q_s32(s->sums[r]) * zero >> 3);
      } else if (s->zeros != NULL) {
        sum += vld1q_s32(s->sums[r]) * zero >> 3;
      }
      const float32x4_t next = sums[r][c][1];
      sums[r][c][1] = sums[r][c][0] + scale * vcvtq_f32_s32(sum);
      sums[r][c][0] = next;
    }
  }
}

// The last groups, fewer than four. Not inlined, because few columns have such
// groups.
static __attribute__((noinline)) void add_last(
    const dotprod_step* s, const etx_int4_dot_block* b, size_t group,
    size_t rows, float32x4_t sums[ROWS][COLUMNS][2]) {
  const size_t left = b->groups - group;
  int32x4_t whole[ROWS][COLUMNS];
  step_sums(s, rows, left, b->group / PART, false, whole);
  add_step(s, left, rows, whole, sums);
}

// Rows times two columns that are `apart` from each other, 1 or 0. Inlined with
// constants, so that the sums stay in registers.
static inline __attribute__((always_inline)) void some_columns(
    const etx_int4_dot_block* b, const dotprod_group_rows* g, size_t rows,
    size_t column, size_t apart, bool are_short) {
  const size_t parts = are_short ? 1 : b->group / PART;
  const bool has_params = are_short && b->params != NULL;
  float32x4_t sums[ROWS][COLUMNS][2] = {{{{0}}}};
  dotprod_step s = {
      .weights = b->right + (ptrdiff_t)column * b->right_row,
      .pitch = (ptrdiff_t)apart * b->right_row,
      .scales = b->scales + (has_params ? column : column * b->groups),
      .zeros = b->zeros == NULL ? NULL : b->zeros + column * b->groups,
      .params = has_params ? b->params + column * b->groups : NULL,
      .to_groups = (ptrdiff_t)(apart * b->groups),
      .base = g->base};
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    s.rows[r] = g->bytes[r];
    s.sums[r] = g->sums[r];
  }
  size_t group = 0;
  for (; group + GROUPS <= b->groups; group += GROUPS) {
    int32x4_t whole[ROWS][COLUMNS];
    step_sums(&s, rows, GROUPS, parts, are_short, whole);
    add_step(&s, GROUPS, rows, whole, sums);
    s.weights += GROUPS * parts * BYTES;
    s.scales += has_params ? 0 : GROUPS;
    if (s.zeros != NULL) s.zeros += GROUPS;
    if (has_params) s.params += GROUPS;
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      s.rows[r] += GROUPS * parts * PART;
      s.sums[r] += GROUPS;
    }
  }
  if (group < b->groups) {
    // Copies, because a variable whose address is taken stays in memory.
    const dotprod_step left = s;
    float32x4_t partial[ROWS][COLUMNS][2];
    memcpy(partial, sums, sizeof partial);
    add_last(&left, b, group, rows, partial);
    memcpy(sums, partial, sizeof partial);
  }
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    float* out = b->sums + (g->row + r) * b->columns + column;
    ETX_UNROLLED
    for (size_t c = 0; c < COLUMNS; ++c) {
      // The order of these two does not change the sum.
      const float32x4_t all = sums[r][c][0] + sums[r][c][1];
      const float32x2_t half = vget_low_f32(all) + vget_high_f32(all);
      out[c * apart] = half[0] + half[1];
    }
  }
}

static inline __attribute__((always_inline)) void all_columns(
    const etx_int4_dot_block* b, const dotprod_group_rows* g, size_t rows,
    bool are_short) {
  for (size_t column = 0; column < b->columns; column += COLUMNS) {
    const size_t apart = column + 1 < b->columns ? 1 : 0;
    some_columns(b, g, rows, column, apart, are_short);
  }
}

static inline __attribute__((always_inline)) void some_rows(
    const etx_int4_dot_block* b, const dotprod_group_rows* g, size_t rows) {
  if (b->group == PART) {
    all_columns(b, g, rows, true);
  } else {
    all_columns(b, g, rows, false);
  }
}

void etx_int4_dot_dotprod(const etx_int4_dot_block* b) {
  dotprod_group_rows g;
  g.sums = (int32_t(*)[MOST_GROUPS + GROUPS]) b->group_sums;
  for (size_t row = 0; row < b->rows; row += ROWS) {
    const size_t left = b->rows - row, rows = left < ROWS ? left : ROWS;
    g.row = row;
    for (size_t r = 0; r < rows; ++r) {
      g.base[r] = b->row_qparams[row + r].base - 128;
      g.bytes[r] = b->left + (ptrdiff_t)(row + r) * b->left_row;
      sum_row(g.bytes[r], g.base[r], b->group, b->groups, g.sums[r]);
    }
    if (rows == ROWS) {
      some_rows(b, &g, ROWS);
    } else {
      some_rows(b, &g, 1);
    }
  }
}
