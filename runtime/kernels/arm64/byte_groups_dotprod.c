// Weights of 4 bits as they are stored, taken as 0 to 15, with a scale for each
// group. A register of them holds 32 elements of a column, whose sums are
// gathered by groups: four of these, side by side, are the partial sums 0 to 3,
// the next four 4 to 7, so that scales are read as they lie.
//
//   sum of (w - 8 - zero) * (x - base) =
//       sum of w * x - base * sum of w - (8 + zero) * sum of (x - base)

#include "runtime/kernels/arm64/byte_loops_dotprod.h"

#include "runtime/kernels/arm64/byte_vectors_template.h"

enum {
  ROWS = 2,          // whose sums are in registers
  COLUMNS = 2,       // the same
  GROUPS = 4,        // the same, of each of them
  PART = 2 * BYTES,  // elements of a register of weights
  MOST_PARTS = 4,    // of a group
  MOST_GROUPS = ETX_BYTE_MOST / PART,
};

// What the rows are, and the sums of their groups without their bases.
typedef struct group_rows {
  const uint8_t* bytes[ROWS];
  int32_t base[ROWS];
  int32_t sums[ROWS][MOST_GROUPS + GROUPS];  // some follow
} group_rows;

static void sum_row(const uint8_t* row, int32_t base, size_t group,
                    size_t groups, int32_t* out) {
  for (size_t g = 0; g < groups; ++g) {
    ints sum = {0};
    for (size_t k = 0; k < group; k += BYTES, row += BYTES) {
      sum = add_dots(sum, load_bytes(row), vdupq_n_s8(1));
    }
    out[g] = vaddvq_s32(sum) - (int32_t)group * base;
  }
  memset(out + groups, 0, GROUPS * sizeof *out);
}

// What is multiplied in a step: four groups of two columns, or what is left of
// them.
typedef struct step {
  const uint8_t* weights;
  ptrdiff_t pitch;  // from column to column
  const float* scales;
  const int8_t* zeros;  // NULL: none
  ptrdiff_t to_groups;  // from a column's scales to the next one's
  const uint8_t* rows[ROWS];
} step;

// The sums of four groups, whose bytes of sums of halves are at most 4 * 30.
static inline __attribute__((always_inline)) ints
sums_of_weights(const uint8x16_t both[GROUPS], size_t parts) {
  const int8x16_t ones = vdupq_n_s8(1);
  if (parts == 1) {
    const uint8x16_t all =
        vpaddq_u8(vpaddq_u8(both[0], both[1]), vpaddq_u8(both[2], both[3]));
    return add_dots((ints){0}, vreinterpretq_s8_u8(all), ones);
  }
  ints sums[GROUPS];
  ETX_UNROLLED
  for (size_t g = 0; g < GROUPS; ++g) {
    sums[g] = add_dots((ints){0}, vreinterpretq_s8_u8(both[g]), ones);
  }
  return totals(sums);
}

// Sums of `groups` groups of `parts` registers, zeros where there are none.
static inline __attribute__((always_inline)) void step_sums(
    const step* s, const int32_t* base, size_t rows, size_t groups,
    size_t parts, ints out[ROWS][COLUMNS]) {
  ints sums[ROWS][COLUMNS][GROUPS] = {{{{0}}}};
  uint8x16_t both[COLUMNS][GROUPS] = {{{0}}};
  ETX_UNROLLED
  for (size_t g = 0; g < GROUPS; ++g) {
    if (g >= groups) break;
    ETX_UNROLLED
    for (size_t p = 0; p < parts; ++p) {
      const size_t at = (g * parts + p) * BYTES;
      int8x16_t x[ROWS][2];
      ETX_UNROLLED
      for (size_t r = 0; r < rows; ++r) {
        x[r][0] = load_bytes(s->rows[r] + 2 * at);
        x[r][1] = load_bytes(s->rows[r] + 2 * at + BYTES);
      }
      ETX_UNROLLED
      for (size_t c = 0; c < COLUMNS; ++c) {
        const uint8x16_t w =
            vld1q_u8(s->weights + (ptrdiff_t)c * s->pitch + at);
        const uint8x16_t high = vshrq_n_u8(w, 4), low = w & 15;
        both[c][g] += high + low;
        ETX_UNROLLED
        for (size_t r = 0; r < rows; ++r) {
          ints* own = &sums[r][c][g];
          *own = add_dots(*own, vreinterpretq_s8_u8(high), x[r][0]);
          *own = add_dots(*own, vreinterpretq_s8_u8(low), x[r][1]);
        }
      }
    }
  }
  ETX_UNROLLED
  for (size_t c = 0; c < COLUMNS; ++c) {
    const ints own = sums_of_weights(both[c], parts);
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      out[r][c] = vmlsq_n_s32(totals(sums[r][c]), own, base[r]);
    }
  }
}

// Adds a step's sums times their scales to the partial sums. Which of the two
// registers of these is next is told by their places.
static inline __attribute__((always_inline)) void add_step(
    const step* s, const group_rows* g, size_t group, size_t groups,
    size_t rows, ints whole[ROWS][COLUMNS], floats sums[ROWS][COLUMNS][2]) {
  ETX_UNROLLED
  for (ptrdiff_t c = 0; c < COLUMNS; ++c) {
    float scales[GROUPS] = {0};
    int8_t zeros[GROUPS] = {0};
    const float* own_scales = s->scales + c * s->to_groups;
    const int8_t* own_zeros =
        s->zeros == NULL ? NULL : s->zeros + c * s->to_groups;
    memcpy(scales, own_scales, groups * sizeof *scales);
    if (own_zeros != NULL) memcpy(zeros, own_zeros, groups);
    const floats scale = vld1q_f32(scales);
    const ints zero = {8 + zeros[0], 8 + zeros[1], 8 + zeros[2], 8 + zeros[3]};
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      const ints sum = whole[r][c] - vld1q_s32(g->sums[r] + group) * zero;
      const floats next = sums[r][c][1];
      sums[r][c][1] = sums[r][c][0] + scale * vcvtq_f32_s32(sum);
      sums[r][c][0] = next;
    }
  }
}

// The last groups, less than four. One function for all of them: few columns
// have such groups.
static __attribute__((noinline)) void add_last(const step* s,
                                               const etx_byte_groups* b,
                                               const group_rows* g,
                                               size_t group, size_t rows,
                                               floats sums[ROWS][COLUMNS][2]) {
  const size_t left = b->groups - group;
  ints whole[ROWS][COLUMNS];
  step_sums(s, g->base, rows, left, b->group / PART, whole);
  add_step(s, g, group, left, rows, whole, sums);
}

// Rows times two columns that are `apart` from each other, 1 or 0. Inlined with
// constants, so that the sums stay in registers.
static inline __attribute__((always_inline)) void some_columns(
    const etx_byte_groups* b, const group_rows* g, size_t row, size_t rows,
    size_t column, size_t apart, size_t parts) {
  floats sums[ROWS][COLUMNS][2] = {{{{0}}}};
  step s = {.weights = b->right + (ptrdiff_t)column * b->right_row,
            .pitch = (ptrdiff_t)apart * b->right_row,
            .scales = b->scales + column * b->groups,
            .zeros = b->zeros == NULL ? NULL : b->zeros + column * b->groups,
            .to_groups = (ptrdiff_t)(apart * b->groups)};
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) s.rows[r] = g->bytes[r];
  size_t group = 0;
  for (; group + GROUPS <= b->groups; group += GROUPS) {
    ints whole[ROWS][COLUMNS];
    step_sums(&s, g->base, rows, GROUPS, parts, whole);
    add_step(&s, g, group, GROUPS, rows, whole, sums);
    s.weights += GROUPS * parts * BYTES;
    s.scales += GROUPS;
    if (s.zeros != NULL) s.zeros += GROUPS;
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) s.rows[r] += GROUPS * parts * PART;
  }
  if (group < b->groups) {
    // Copies: what has an address is in memory all the time.
    const step left = s;
    floats partial[ROWS][COLUMNS][2];
    memcpy(partial, sums, sizeof partial);
    add_last(&left, b, g, group, rows, partial);
    memcpy(sums, partial, sizeof partial);
  }
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    float* out = b->sums + (row + r) * b->columns + column;
    ETX_UNROLLED
    for (size_t c = 0; c < COLUMNS; ++c) {
      // The sum is the same whichever of them comes first.
      const floats all = sums[r][c][0] + sums[r][c][1];
      const float32x2_t half = vget_low_f32(all) + vget_high_f32(all);
      out[c * apart] = half[0] + half[1];
    }
  }
}

static inline __attribute__((always_inline)) void all_columns(
    const etx_byte_groups* b, const group_rows* g, size_t row, size_t rows,
    size_t parts) {
  size_t column = 0;
  for (; column + COLUMNS <= b->columns; column += COLUMNS) {
    some_columns(b, g, row, rows, column, 1, parts);
  }
  if (column < b->columns) some_columns(b, g, row, rows, column, 0, parts);
}

static inline __attribute__((always_inline)) void some_rows(
    const etx_byte_groups* b, const group_rows* g, size_t row, size_t rows) {
  switch (b->group) {
    case PART:
      all_columns(b, g, row, rows, 1);
      break;
    case 2 * PART:
      all_columns(b, g, row, rows, 2);
      break;
    default:
      all_columns(b, g, row, rows, MOST_PARTS);
      break;
  }
}

void etx_byte_groups_dotprod(const etx_byte_groups* b) {
  group_rows g;
  for (size_t row = 0; row < b->rows; row += ROWS) {
    const size_t left = b->rows - row, rows = left < ROWS ? left : ROWS;
    for (size_t r = 0; r < rows; ++r) {
      g.base[r] = b->numbers[row + r].base - 128;
      g.bytes[r] = b->left + (ptrdiff_t)(row + r) * b->left_row;
      sum_row(g.bytes[r], g.base[r], b->group, b->groups, g.sums[r]);
    }
    if (rows == ROWS) {
      some_rows(b, &g, row, ROWS);
    } else {
      some_rows(b, &g, row, 1);
    }
  }
}
