// A few rows of bytes times 4-bit weights, which are taken as 0 to 15 and have
// a scale for each group. A register of weights holds 128 elements of a column.
// Four columns together give the sums of four groups, one group in each quarter
// of a register. Those are partial sums 0 to 3; the next four groups are
// partial sums 4 to 7.

#include "runtime/kernels/arch/x86/int8/int4_dot_avx512vnni.h"

#include "runtime/kernels/simd/int8/group_params.h"
#include "runtime/kernels/simd/vector/vector_types.h"
#include "runtime/kernels/arch/x86/int8/int8_vec_template.h"
#include "runtime/kernels/arch/x86/int8/int8_dot_template.h"
#include "runtime/kernels/arch/x86/int8/int8_dot_reduce_template.h"
#include "runtime/kernels/arch/x86/int8/int8_tail_template.h"

enum {
  ROWS = 2,          // rows whose sums are in registers
  COLUMNS = 4,       // columns whose sums are in registers
  GROUPS = 4,        // groups of a step
  PART = 2 * BYTES,  // elements of a register of weights
  LEAST_GROUP = 32,  // elements
  MOST_GROUPS = ETX_INT8_MAX_DEPTH / LEAST_GROUP,
  MOST_PARTS = 4,      // registers of a step's groups
  AHEAD = 2048,        // bytes from what is read to what is prefetched
  SCALES_AHEAD = 128,  // the same of scales, not in bytes
};

// The rows, and the sums of their groups.
typedef struct vnni_group_rows {
  size_t row;  // the first
  const uint8_t* bytes[ROWS];
  etx_i32x16 base[ROWS];  // in all bytes
  // Eight times those of elements; some follow.
  int32_t (*sums)[MOST_GROUPS + LANES];
} vnni_group_rows;

_Static_assert(ROWS*(MOST_GROUPS + LANES) <= ETX_INT4_DOT_SUMS,
               "the sums of groups fit");

// Reorders groups of columns, as they are in memory, to columns of groups.
static inline etx_i32x16 transpose_quarter_lanes(etx_i32x16 x) {
  return __builtin_shufflevector(x, x, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14,
                                 3, 7, 11, 15);
}

// Horizontal sums: each quarter of the result has the sum of one group, whose
// products are in `parts` registers.
static inline __attribute__((always_inline)) etx_i32x16 join_parts(
    const etx_i32x16* v, size_t parts) {
  if (parts == 1) return v[0];
  const etx_i32x16 a = even_quarters(v[0], v[1]) + odd_quarters(v[0], v[1]);
  if (parts == 2) return a;
  const etx_i32x16 b = even_quarters(v[2], v[3]) + odd_quarters(v[2], v[3]);
  return even_quarters(a, b) + odd_quarters(a, b);
}

// Eight times the sums of a row's groups.
static void sum_row(const uint8_t* row, int32_t base, size_t group,
                    size_t groups, int32_t* out) {
  const etx_i32x16 ones = all_ints(0x01010101);
  const size_t each = group / LEAST_GROUP;
  memset(out, 0, (groups + LANES) * sizeof(*out));
  for (size_t i = 0; i < groups * each; i += GROUPS, row += PART) {
    etx_i32x16 sum = add_products((etx_i32x16){0}, load_bytes(row), ones);
    sum = add_products(sum, load_bytes(row + BYTES), ones);
    sum = quarter_sums(sum, sum, sum, sum) * 8;
    for (size_t q = 0; q < GROUPS && i + q < groups * each; ++q) {
      out[(i + q) / each] += sum[4 * q] - 8 * LEAST_GROUP * base;
    }
  }
}

// The operands of one step: four groups of four columns, or the last groups,
// which may be fewer.
typedef struct vnni_step {
  const uint8_t* weights;
  ptrdiff_t pitch;  // from column to column
  const float* scales;
  const int8_t* zeros;       // NULL: none
  const int16_t* params;     // NULL: none
  etx_f32x16 column_scales;  // with parameters, of four columns, four times
  ptrdiff_t to_groups;       // from a column's scales to the next one's
  const uint8_t* rows[ROWS];
  const vnni_group_rows* group_rows;
} vnni_step;

// Multiplies a register of weights of each column with the rows, in quarters.
static inline __attribute__((always_inline)) void part_sums(
    const vnni_step* s, const etx_i32x16 weights[COLUMNS],
    const etx_i32x16* base, size_t rows, size_t part,
    etx_i32x16 joined[ROWS][MOST_PARTS]) {
  etx_i32x16 sums[ROWS][COLUMNS] = {{{0}}};
  const etx_i32x16 low_half = all_ints(0x0f0f0f0f);
  ETX_UNROLLED
  for (size_t c = 0; c < COLUMNS; ++c) {
    const etx_i32x16 w = weights[c];
    const etx_i32x16 high = (w >> 4) & low_half, low = w & low_half;
    const etx_u8x64 both = (etx_u8x64)high + (etx_u8x64)low;
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      const uint8_t* x = s->rows[r] + part * PART;
      sums[r][c] = add_products(sums[r][c], load_bytes(x), high);
      sums[r][c] = add_products(sums[r][c], load_bytes(x + BYTES), low);
      sums[r][c] = add_products(sums[r][c], base[r], (etx_i32x16)(-both));
    }
  }
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    joined[r][part] =
        quarter_sums(sums[r][0], sums[r][1], sums[r][2], sums[r][3]);
  }
}

// The sums of groups in `parts` registers.
static inline __attribute__((always_inline)) void step_sums(
    const vnni_step* s, const etx_i32x16* base, size_t rows, size_t parts,
    bool prefetches, etx_i32x16 out[ROWS]) {
  etx_i32x16 joined[ROWS][MOST_PARTS];
  ETX_UNROLLED
  for (size_t part = 0; part < parts; ++part) {
    etx_i32x16 weights[COLUMNS];
    ETX_UNROLLED
    for (size_t c = 0; c < COLUMNS; ++c) {
      const uint8_t* from = s->weights + (ptrdiff_t)c * s->pitch + part * BYTES;
      weights[c] = load_bytes(from);
      if (prefetches) __builtin_prefetch(from + AHEAD);
    }
    part_sums(s, weights, base, rows, part, joined);
  }
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) out[r] = join_parts(joined[r], parts);
}

// Places four quarters side by side.
static inline etx_i32x16 four_quarters(etx_i32x4 a, etx_i32x4 b, etx_i32x4 c,
                                       etx_i32x4 d) {
  const etx_i32x8 x = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
  const etx_i32x8 y = __builtin_shufflevector(c, d, 0, 1, 2, 3, 4, 5, 6, 7);
  return __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
                                 13, 14, 15);
}

// Loads the first `groups` of four numbers; the others are zero.
static inline etx_i32x4 some_numbers(const void* from, size_t groups,
                                     size_t bytes) {
  const etx_i32x16 x = load_some_bytes(from, groups * bytes);
  return __builtin_shufflevector(x, x, 0, 1, 2, 3);
}

// Four numbers of each of four columns, or those of `groups` groups.
static inline __attribute__((always_inline)) etx_f32x16 step_scales(
    const vnni_step* s, size_t groups) {
  etx_i32x4 v[COLUMNS];
  ETX_UNROLLED
  for (int c = 0; c < COLUMNS; ++c) {
    const float* from = s->scales + c * s->to_groups;
    if (groups < GROUPS) {
      v[c] = some_numbers(from, groups, sizeof(*from));
    } else {
      memcpy(&v[c], from, sizeof(v[c]));
    }
  }
  return (etx_f32x16)transpose_quarter_lanes(
      four_quarters(v[0], v[1], v[2], v[3]));
}

static inline __attribute__((always_inline)) etx_i32x16 step_zeros(
    const vnni_step* s, size_t groups) {
  etx_i32x4 v;
  ETX_UNROLLED
  for (int c = 0; c < COLUMNS; ++c) {
    const int8_t* from = s->zeros + c * s->to_groups;
    int packed;
    if (groups < GROUPS) {
      packed = some_numbers(from, groups, sizeof(*from))[0];
    } else {
      memcpy(&packed, from, sizeof(packed));
    }
    v[c] = packed;
  }
  return transpose_quarter_lanes(
      __builtin_convertvector((etx_i8x16)v, etx_i32x16));
}

static inline __attribute__((always_inline)) etx_i32x16 step_params(
    const vnni_step* s, size_t groups) {
  etx_longx4 v = {0};
  ETX_UNROLLED
  for (int c = 0; c < COLUMNS; ++c) {
    const int16_t* from = s->params + c * s->to_groups;
    long long packed;
    if (groups < GROUPS) {
      const etx_i32x4 some = some_numbers(from, groups, sizeof(*from));
      memcpy(&packed, &some, sizeof(packed));
    } else {
      memcpy(&packed, from, sizeof(packed));
    }
    v[c] = packed;
  }
  return transpose_quarter_lanes(
      __builtin_convertvector((etx_i16x16)v, etx_i32x16));
}

// Partial sums 0 to 3 and 4 to 7 of four columns.
static inline etx_f32x4 totals(etx_f32x16 a, etx_f32x16 b) {
  const etx_f32x16 all = a + b;
  const etx_f32x8 half =
      __builtin_shufflevector(all, all, 0, 1, 2, 3, 4, 5, 6, 7) +
      __builtin_shufflevector(all, all, 8, 9, 10, 11, 12, 13, 14, 15);
  return __builtin_shufflevector(half, half, 0, 1, 2, 3) +
         __builtin_shufflevector(half, half, 4, 5, 6, 7);
}

// Adds a step's sums times their scales to the partial sums. The two registers
// of partial sums take turns, so each step exchanges them.
static inline __attribute__((always_inline)) void add_step(
    const vnni_step* s, size_t group, size_t groups, size_t rows,
    const etx_i32x16 whole[ROWS], etx_f32x16 sums[ROWS][2]) {
  etx_i32x16 params = {0};
  etx_f32x16 scale;
  if (s->params != NULL) {
    params = step_params(s, groups);
    scale =
        s->column_scales * __builtin_convertvector(params & 255, etx_f32x16);
  } else {
    scale = step_scales(s, groups);
  }
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    // Stores more than needed: for a vector of four, gcc 12 builds a larger one
    // in memory, and the load that follows it stalls.
    const etx_i32x16 some = load_bytes(s->group_rows->sums[r] + group);
    const etx_i32x16 group_sums = __builtin_shufflevector(
        some, some, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    etx_i32x16 sum = whole[r] - group_sums;  // a half's group_sums zero is 8
    if (s->zeros != NULL) sum -= group_sums * step_zeros(s, groups) >> 3;
    if (s->params != NULL) {
      sum = (sum << ETX_GROUP_SHIFT) + (group_sums * (params >> 8) >> 3);
    }
    const etx_f32x16 made = scale * __builtin_convertvector(sum, etx_f32x16);
    const etx_f32x16 next = sums[r][1];
    sums[r][1] = sums[r][0] + made;
    sums[r][0] = next;
  }
}

// The same for the last groups, fewer than four: `bytes` of each column.
// Elements of rows beyond the weights do not matter, because they are
// multiplied with zeros.
static inline __attribute__((always_inline)) void last_sums(
    const vnni_step* s, const etx_i32x16* base, size_t rows, size_t parts,
    size_t bytes, etx_i32x16 out[ROWS]) {
  etx_i32x16 joined[ROWS][MOST_PARTS] = {{{0}}};
  for (size_t part = 0; part * BYTES < bytes; ++part) {
    const size_t left = bytes - part * BYTES;
    etx_i32x16 weights[COLUMNS];
    ETX_UNROLLED
    for (size_t c = 0; c < COLUMNS; ++c) {
      weights[c] = load_some_bytes(
          s->weights + (ptrdiff_t)c * s->pitch + part * BYTES, left);
    }
    part_sums(s, weights, base, rows, part, joined);
  }
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) out[r] = join_parts(joined[r], parts);
}

static inline __attribute__((always_inline)) void last_step(
    const vnni_step* s, const etx_int4_dot_block* b, size_t group, size_t rows,
    size_t parts, etx_f32x16 sums[ROWS][2]) {
  const size_t left = b->groups - group;
  etx_i32x16 whole[ROWS];
  last_sums(s, s->group_rows->base, rows, parts, left * b->group / 2, whole);
  add_step(s, group, left, rows, whole, sums);
}

// Not inlined, because few columns have such groups.
static __attribute__((noinline)) void add_last(const vnni_step* s,
                                               const etx_int4_dot_block* b,
                                               size_t group, size_t rows,
                                               etx_f32x16 sums[ROWS][2]) {
  const size_t parts = b->group / (PART / 4);
  if (rows == 1) {
    last_step(s, b, group, 1, parts, sums);
  } else {
    last_step(s, b, group, ROWS, parts, sums);
  }
}

// Rows times four columns that are `apart` from each other, or times one
// column. Inlined with constants, so that the sums stay in registers.
static inline __attribute__((always_inline)) void some_columns(
    const etx_int4_dot_block* b, const vnni_group_rows* g, size_t rows,
    size_t column, size_t apart, size_t parts) {
  const bool prefetches = b->is_far && g->row == 0;
  const bool has_params = parts == 1 && b->params != NULL;
  etx_f32x16 sums[ROWS][2] = {{{0}}};
  vnni_step s = {
      .weights = b->right + (ptrdiff_t)column * b->right_row,
      .pitch = (ptrdiff_t)apart * b->right_row,
      .scales = b->scales + (has_params ? column : column * b->groups),
      .zeros = b->zeros == NULL ? NULL : b->zeros + column * b->groups,
      .params = has_params ? b->params + column * b->groups : NULL,
      .to_groups = (ptrdiff_t)(apart * b->groups),
      .group_rows = g};
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) s.rows[r] = g->bytes[r];
  if (has_params) {
    const float* from = s.scales;
    const etx_f32x4 four = {from[0], from[apart], from[2 * apart],
                            from[3 * apart]};
    s.column_scales = __builtin_shufflevector(four, four, 0, 1, 2, 3, 0, 1, 2,
                                              3, 0, 1, 2, 3, 0, 1, 2, 3);
  }
  size_t group = 0;
  for (; group + GROUPS <= b->groups; group += GROUPS) {
    etx_i32x16 whole[ROWS];
    step_sums(&s, g->base, rows, parts, prefetches, whole);
    if (prefetches) {
      ETX_UNROLLED
      for (int c = 0; c < COLUMNS; ++c) {
        const ptrdiff_t at = c * s.to_groups + SCALES_AHEAD;
        if (has_params) {
          __builtin_prefetch(s.params + at);
        } else {
          __builtin_prefetch(s.scales + at);
        }
      }
    }
    add_step(&s, group, GROUPS, rows, whole, sums);
    s.weights += parts * BYTES;
    s.scales += has_params ? 0 : GROUPS;
    if (s.zeros != NULL) s.zeros += GROUPS;
    if (has_params) s.params += GROUPS;
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) s.rows[r] += parts * PART;
  }
  if (group < b->groups) {
    // Copies, because a variable whose address is taken stays in memory.
    const vnni_step left = s;
    etx_f32x16 partial[ROWS][2];
    memcpy(partial, sums, sizeof(partial));
    add_last(&left, b, group, rows, partial);
    memcpy(sums, partial, sizeof(partial));
  }
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    // The order of these two does not change the sum.
    const etx_f32x4 all = totals(sums[r][0], sums[r][1]);
    float* out = b->sums + (g->row + r) * b->columns + column;
    ETX_UNROLLED
    for (size_t c = 0; c < COLUMNS; ++c) out[c * apart] = all[c];
  }
}

static inline __attribute__((always_inline)) void all_columns(
    const etx_int4_dot_block* b, const vnni_group_rows* g, size_t rows,
    size_t parts) {
  const size_t apart = b->columns / COLUMNS;
  for (size_t column = 0; column < b->columns;) {
    const bool is_apart = column < apart;
    some_columns(b, g, rows, column, is_apart ? apart : 0, parts);
    ++column;
    if (is_apart && column == apart) column = apart * COLUMNS;
  }
}

static inline __attribute__((always_inline)) void some_rows(
    const etx_int4_dot_block* b, const vnni_group_rows* g, size_t rows) {
  switch (b->group) {
    case PART / 4:
      all_columns(b, g, rows, 1);
      break;
    case PART / 2:
      all_columns(b, g, rows, 2);
      break;
    default:
      all_columns(b, g, rows, MOST_PARTS);
      break;
  }
}

void etx_int4_dot_avx512vnni(const etx_int4_dot_block* b) {
  vnni_group_rows g;
  g.sums = (int32_t(*)[MOST_GROUPS + LANES]) b->group_sums;
  for (size_t row = 0; row < b->rows; row += ROWS) {
    const size_t left = b->rows - row, rows = left < ROWS ? left : ROWS;
    g.row = row;
    for (size_t r = 0; r < rows; ++r) {
      const int32_t base = b->row_qparams[row + r].base;
      g.bytes[r] = b->left + (ptrdiff_t)(row + r) * b->left_row;
      g.base[r] = all_ints((int)((uint32_t)base * 0x01010101u));
      sum_row(g.bytes[r], base, b->group, b->groups, g.sums[r]);
    }
    if (rows == ROWS) {
      some_rows(b, &g, ROWS);
    } else {
      some_rows(b, &g, 1);
    }
  }
}
