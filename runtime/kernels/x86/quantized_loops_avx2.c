// Bytes are widened to 16 bits in registers and multiplied in pairs. Products
// of unsigned and signed bytes would be twice as many at a time, but their sums
// of two do not fit in 16 bits.

#include <string.h>

#include "runtime/kernels/x86/quantized_loops_wide.h"

#define VECTOR_BYTES 32

typedef char bytes16 __attribute__((vector_size(16)));
typedef int8_t signed16 __attribute__((vector_size(16)));
typedef uint8_t unsigned16 __attribute__((vector_size(16)));
typedef long long pair __attribute__((vector_size(16)));
typedef short words __attribute__((vector_size(32)));
typedef unsigned short unsigned_words __attribute__((vector_size(32)));
typedef int longs __attribute__((vector_size(32)));
typedef float four_floats __attribute__((vector_size(16)));
typedef int four __attribute__((vector_size(16)));
typedef float eight __attribute__((vector_size(32)));

// The names are the compilers' own, which differ.
#ifdef __clang__
typedef int8_t signed8 __attribute__((vector_size(8)));
typedef uint8_t unsigned8 __attribute__((vector_size(8)));

static inline words widen_signed(bytes16 x) {
  return __builtin_convertvector((signed16)x, words);
}
static inline words widen_unsigned(bytes16 x) {
  return __builtin_convertvector((unsigned16)x, words);
}
static inline longs load_signed(const int8_t* w) {
  signed8 x;
  memcpy(&x, w, sizeof(x));
  return __builtin_convertvector(x, longs);
}
static inline longs load_unsigned(const uint8_t* w) {
  unsigned8 x;
  memcpy(&x, w, sizeof(x));
  return __builtin_convertvector(x, longs);
}
#else
static inline words widen_signed(bytes16 x) {
  return __builtin_ia32_pmovsxbw256(x);
}
static inline words widen_unsigned(bytes16 x) {
  return __builtin_ia32_pmovzxbw256(x);
}
static inline longs load_signed(const int8_t* w) {
  pair x = {0, 0};
  memcpy(&x, w, 8);
  return __builtin_ia32_pmovsxbd256((bytes16)x);
}
static inline longs load_unsigned(const uint8_t* w) {
  pair x = {0, 0};
  memcpy(&x, w, 8);
  return __builtin_ia32_pmovzxbd256((bytes16)x);
}
#endif

static inline eight widen(const int8_t* w) {
  return __builtin_convertvector(load_signed(w), eight);
}

static inline void halves(const uint8_t* w, int32_t zero, eight* even,
                          eight* odd) {
  const longs x = load_unsigned(w);
  *even = __builtin_convertvector((x >> 4) - zero, eight);
  *odd = __builtin_convertvector((x & 15) - zero, eight);
}

#define WIDEN(bytes) widen(bytes)
#define HALVES(bytes, zero, even, odd) halves(bytes, zero, even, odd)
#include "runtime/kernels/quantized_floats_template.h"

static inline longs multiply_pairs(words a, words b) {
  return __builtin_ia32_pmaddwd256(a, b);
}

// The sums of four vectors.
static inline four totals(longs a, longs b, longs c, longs d) {
  const longs x = __builtin_ia32_phaddd256(__builtin_ia32_phaddd256(a, b),
                                           __builtin_ia32_phaddd256(c, d));
  return __builtin_shufflevector(x, x, 0, 1, 2, 3) +
         __builtin_shufflevector(x, x, 4, 5, 6, 7);
}

// ------------------------------------------------ 8 bits

enum { WORDS = 16, COLUMNS = 4 };

// `rows` times four sums. Inlined with constants, so that the sums stay in
// registers.
static inline __attribute__((always_inline)) void whole_block(
    const etx_quantized_block* b, size_t row, size_t rows, size_t column,
    size_t columns) {
  const int16_t* x = (const int16_t*)b->left + (ptrdiff_t)row * b->left_row;
  const int8_t* w = (const int8_t*)b->right + (ptrdiff_t)column * b->right_row;
  longs sums[2][COLUMNS] = {{{0}}};
  size_t k = 0;
  for (; k + WORDS <= b->count; k += WORDS) {
    words seen[2];
#pragma GCC unroll 2
    for (size_t r = 0; r < rows; ++r) {
      memcpy(&seen[r], x + (ptrdiff_t)r * b->left_row + k, sizeof(words));
    }
#pragma GCC unroll 4
    for (size_t c = 0; c < columns; ++c) {
      bytes16 bytes;
      memcpy(&bytes, w + (ptrdiff_t)c * b->right_row + k, sizeof(bytes));
      const words weight = widen_signed(bytes);
#pragma GCC unroll 2
      for (size_t r = 0; r < rows; ++r) {
        sums[r][c] += multiply_pairs(seen[r], weight);
      }
    }
  }
#pragma GCC unroll 2
  for (size_t r = 0; r < rows; ++r) {
    four all = totals(sums[r][0], sums[r][1], sums[r][2], sums[r][3]);
    int32_t* out = (int32_t*)b->sums + (ptrdiff_t)(row + r) * b->sum_row +
                   (ptrdiff_t)column;
    for (size_t n = k; n < b->count; ++n) {
      const int32_t seen = x[(ptrdiff_t)r * b->left_row + (ptrdiff_t)n];
      for (size_t c = 0; c < columns; ++c) {
        all[c] += seen * w[(ptrdiff_t)c * b->right_row + (ptrdiff_t)n];
      }
    }
    memcpy(out, &all, columns * sizeof(int32_t));
  }
}

static inline __attribute__((always_inline)) void whole_columns(
    const etx_quantized_block* b, size_t column, size_t columns) {
  size_t row = 0;
  for (; row + 2 <= b->rows; row += 2) whole_block(b, row, 2, column, columns);
  if (row < b->rows) whole_block(b, row, 1, column, columns);
}

static void whole8(const etx_quantized_block* b) {
  size_t column = 0;
  for (; column + COLUMNS <= b->columns; column += COLUMNS) {
    whole_columns(b, column, COLUMNS);
  }
  for (; column < b->columns; ++column) whole_columns(b, column, 1);
}

// ------------------------------------------------ 4 bits

// What 4-bit weights are multiplied with in one group of a few rows.
typedef struct group_rows {
  const int16_t* even;  // of the first row
  ptrdiff_t to_odd, left_row;
  const uint8_t* right;  // of the first column
  size_t bytes;          // of a column
} group_rows;

// The exact sums of one group of a few columns, of weights as 0 to 15.
static inline __attribute__((always_inline)) void add_group(
    const group_rows* g, ptrdiff_t right_row, size_t rows, size_t columns,
    longs sums[2][COLUMNS]) {
  for (size_t k = 0; k < g->bytes; k += WORDS) {
    words even[2], odd[2];
#pragma GCC unroll 2
    for (size_t r = 0; r < rows; ++r) {
      const int16_t* from = g->even + (ptrdiff_t)r * g->left_row + k;
      memcpy(&even[r], from, sizeof(words));
      memcpy(&odd[r], from + g->to_odd, sizeof(words));
    }
#pragma GCC unroll 4
    for (size_t c = 0; c < columns; ++c) {
      bytes16 bytes;
      memcpy(&bytes, g->right + (ptrdiff_t)c * right_row + k, sizeof(bytes));
      const words both = widen_unsigned(bytes);
      const words high = (words)((unsigned_words)both >> 4), low = both & 15;
#pragma GCC unroll 2
      for (size_t r = 0; r < rows; ++r) {
        sums[r][c] += multiply_pairs(even[r], high);
        sums[r][c] += multiply_pairs(odd[r], low);
      }
    }
  }
}

// What is taken off weights of a group, and their scales.
static inline __attribute__((always_inline)) void read_group(
    const etx_quantized_block* b, size_t column, size_t columns, size_t group,
    four* zero, four_floats* scale) {
  const size_t at = column * b->groups + group;
#pragma GCC unroll 4
  for (size_t c = 0; c < columns; ++c) {
    (*scale)[c] = b->scales[at + c * b->groups];
  }
  if (b->zeros == NULL) return;
#pragma GCC unroll 4
  for (size_t c = 0; c < columns; ++c) {
    (*zero)[c] = 8 + b->zeros[at + c * b->groups];
  }
}

static inline __attribute__((always_inline)) void groups_block(
    const etx_quantized_block* b, size_t row, size_t rows, size_t column,
    size_t columns) {
  const int16_t* left = (const int16_t*)b->left + (ptrdiff_t)row * b->left_row;
  const int32_t* group_sums = b->group_sums + row * b->groups;
  group_rows from = {.left_row = b->left_row,
                     .right = b->right + (ptrdiff_t)column * b->right_row,
                     .bytes = b->group / 2};
  four_floats sums[2] = {{0}};
  for (size_t g = 0; g < b->groups; ++g, from.right += from.bytes) {
    const size_t k = g * b->group;
    const size_t chunk = k - k % FLOAT_CHUNK, rest = b->count - chunk;
    longs whole[2][COLUMNS] = {{{0}}};
    four_floats scale = {0};
    four zero = {8, 8, 8, 8};
    from.even = left + chunk + (k - chunk) / 2;
    from.to_odd = (ptrdiff_t)((rest < FLOAT_CHUNK ? rest : FLOAT_CHUNK) / 2);
    add_group(&from, b->right_row, rows, columns, whole);
    read_group(b, column, columns, g, &zero, &scale);
#pragma GCC unroll 2
    for (size_t r = 0; r < rows; ++r) {
      const four all =
          totals(whole[r][0], whole[r][1], whole[r][2], whole[r][3]) -
          zero * group_sums[r * b->groups + g];
      sums[r] += scale * __builtin_convertvector(all, four_floats);
    }
  }
  for (size_t r = 0; r < rows; ++r) {
    memcpy((float*)b->sums + (ptrdiff_t)(row + r) * b->sum_row + column,
           &sums[r], columns * sizeof(float));
  }
}

static inline __attribute__((always_inline)) void groups_columns(
    const etx_quantized_block* b, size_t column, size_t columns) {
  size_t row = 0;
  for (; row + 2 <= b->rows; row += 2) groups_block(b, row, 2, column, columns);
  if (row < b->rows) groups_block(b, row, 1, column, columns);
}

static void groups4(const etx_quantized_block* b) {
  size_t column = 0;
  for (; column + COLUMNS <= b->columns; column += COLUMNS) {
    groups_columns(b, column, COLUMNS);
  }
  for (; column < b->columns; ++column) groups_columns(b, column, 1);
}

const etx_quantized_loops etx_quantized_loops_avx2 = {
    "avx2", whole8, groups4, floats8, floats4, quantize};
