#include "runtime/kernels/arch/x86/int8/int4_packed_avx512vnni.h"

#include <string.h>

#include "runtime/kernels/simd/vector/vector_types.h"
#include "runtime/kernels/arch/x86/int8/int4_row_prefetch.h"
#include "runtime/kernels/arch/x86/int8/int8_vec_template.h"
#include "runtime/kernels/arch/x86/int8/int8_dot_template.h"
#include "runtime/kernels/arch/x86/int8/int8_pack_template.h"

// gcc and clang name this builtin differently.
#ifdef __clang__
#define MULTIPLY_PAIRS(a, b) \
  __builtin_ia32_pmaddwd512((etx_i16x32)(a), (etx_i16x32)(b))
#else
#define MULTIPLY_PAIRS(a, b) \
  __builtin_ia32_pmaddwd512_mask((etx_i16x32)(a), (etx_i16x32)(b), (a), 0xffff)
#endif

enum {
  LEAST_GROUP = 32,  // elements
  PART = 2 * BYTES,  // elements of a register of weights
  SUMS = 8,          // partial sums of groups
  ROWS = 6,          // rows whose sums are in registers
  PARTIAL = SUMS * ETX_INT8_COLUMNS,
};

// ------------------------------------------------ panels

// Transposes sixteen groups of four bytes of sixteen columns and splits them
// into the high halves and the low halves, minus 8. `sums` are those of four
// groups of each column.
static __attribute__((noinline)) void transpose_halves(const uint8_t* in,
                                                       ptrdiff_t row,
                                                       int8_t* out,
                                                       int32_t* sums) {
  etx_i32x16 v[4][4], group_sums[4] = {{0}};
  const etx_i32x16 ones = all_ints(0x01010101), low_half = all_ints(0x0f0f0f0f);
  const etx_u8x64 zero = (etx_u8x64)all_ints(0x08080808);
  load_transposed(in, row, v);
  ETX_UNROLLED
  for (int j = 0; j < 4; ++j) {
    etx_i32x16 places[4] = {v[0][j], v[1][j], v[2][j], v[3][j]};
    transpose_quarters(places);
    ETX_UNROLLED
    for (int i = 0; i < 4; ++i) {
      int8_t* to = out + (4 * i + j) * 2 * FOUR;
      const etx_i32x16 high =
          (etx_i32x16)((etx_u8x64)(places[i] >> 4 & low_half) - zero);
      const etx_i32x16 low =
          (etx_i32x16)((etx_u8x64)(places[i] & low_half) - zero);
      memcpy(to, &high, sizeof(high));
      memcpy(to + FOUR, &low, sizeof(low));
      group_sums[i] = add_products(group_sums[i], ones, high);
      group_sums[i] = add_products(group_sums[i], ones, low);
    }
  }
  ETX_UNROLLED
  for (int i = 0; i < 4; ++i) {
    memcpy(sums + i * ETX_INT8_COLUMNS, &group_sums[i], sizeof(group_sums[i]));
  }
}

// Adds sums of 32 elements to sums of groups, in place.
static void join_sums(size_t groups, size_t each, int32_t* sums) {
  for (size_t g = 0; g < groups; ++g) {
    for (size_t c = 0; c < ETX_INT8_COLUMNS; c += LANES) {
      const int32_t* from = sums + g * each * ETX_INT8_COLUMNS + c;
      etx_i32x16 all = {0};
      for (size_t i = 0; i < each; ++i) {
        all += load_bytes(from + i * ETX_INT8_COLUMNS);
      }
      memcpy(sums + g * ETX_INT8_COLUMNS + c, &all, sizeof(all));
    }
  }
}

void etx_int4_pack_avx512vnni(const etx_int4_pack* pack) {
  enum { ZEROS = 8 << 4 | 8 };
  const uint8_t* const in = pack->in;
  const ptrdiff_t row = pack->row;
  const size_t columns = pack->columns, count = pack->count;
  int8_t* out = pack->out;
  int32_t* sums = pack->group_sums;
  for (size_t k = 0; k < count; k += BYTES, out += 2 * LANES * FOUR) {
    for (size_t part = 0; part < PARTS; ++part) {
      const size_t first = part * LANES;
      const size_t some = columns < first ? 0 : columns - first;
      const uint8_t* from = in + (ptrdiff_t)first * row + k;
      uint8_t rest[LANES][BYTES];
      if (some >= LANES && k + BYTES <= count) {
        transpose_halves(from, row, out + part * BYTES, sums + first);
        continue;
      }
      copy_rest(from, row, some, count - k, ZEROS, rest);
      transpose_halves(rest[0], BYTES, out + part * BYTES, sums + first);
    }
    sums += PART / LEAST_GROUP * ETX_INT8_COLUMNS;
  }
  join_sums(2 * count / pack->group, pack->group / LEAST_GROUP,
            pack->group_sums);
}

// ------------------------------------------------ sums

// Pointers to every third row: an address can add a stride once or twice
// without another instruction.
typedef struct panel_rows {
  const uint8_t* x[ROWS / 3];
  ptrdiff_t row;
} panel_rows;

// Sums of products of two 16-bit halves.
static inline etx_i32x16 multiply_pairs(etx_i32x16 a, etx_i32x16 b) {
  return MULTIPLY_PAIRS(a, b);
}

// Adds products with one group of four elements of the panel.
static inline __attribute__((always_inline)) void add_four(
    const panel_rows* p, size_t at, const int8_t* panel, size_t rows,
    etx_i32x16 sums[ROWS][PARTS]) {
  etx_i32x16 w[PARTS];
  ETX_UNROLLED
  for (size_t part = 0; part < PARTS; ++part) {
    w[part] = load_bytes(panel + part * BYTES);
  }
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    int input;
    memcpy(&input, p->x[r / 3] + (ptrdiff_t)(r % 3) * p->row + at,
           sizeof(input));
    const etx_i32x16 all = all_ints(input);
    ETX_UNROLLED
    for (size_t part = 0; part < PARTS; ++part) {
      sums[r][part] = add_products(sums[r][part], all, w[part]);
    }
  }
}

// Sums of products with group g, minus what zero points contribute.
static inline __attribute__((always_inline)) void sum_group(
    const etx_int4_panel* b, const panel_rows* p, const int32_t* pairs,
    size_t g, size_t rows, etx_i32x16 whole[ROWS][PARTS]) {
  const int8_t* panel = b->panel + g * b->group / 4 * FOUR;
  const size_t end = (g + 1) * b->group / 2;
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    ETX_UNROLLED
    for (size_t part = 0; part < PARTS; ++part) {
      whole[r][part] = (etx_i32x16){0};
    }
  }
  for (size_t k = g * b->group / 2; k < end; k += 4, panel += 2 * FOUR) {
    const size_t from = k / BYTES * PART + k % BYTES;
    add_four(p, from, panel, rows, whole);
    add_four(p, from + BYTES, panel + FOUR, rows, whole);
  }
  pairs += (ptrdiff_t)g * b->pair_group;
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r, pairs += b->pair_row) {
    const etx_i32x16 pair = all_ints(*pairs);
    ETX_UNROLLED
    for (size_t part = 0; part < PARTS; ++part) {
      const etx_i32x16 sums =
          load_bytes(b->group_sums + g * ETX_INT8_COLUMNS + part * LANES);
      whole[r][part] =
          (whole[r][part] << b->shift) - multiply_pairs(sums, pair);
    }
  }
}

// One partial sum after the other, which stays in registers for all its groups.
static inline __attribute__((always_inline)) void some_rows(
    const etx_int4_panel* b, size_t row, size_t rows, int4_row_prefetch* next) {
  panel_rows p = {.row = b->left_row};
  const int32_t* pairs = b->row_pairs + (ptrdiff_t)row * b->pair_row;
  const size_t groups = b->count / b->group;
  ETX_UNROLLED
  for (size_t r = 0; r < rows; r += 3) {
    p.x[r / 3] = b->left + (ptrdiff_t)(row + r) * b->left_row;
    __asm__("" : "+r"(p.x[r / 3]));
  }
  for (size_t first = 0; first < SUMS && first < groups; ++first) {
    float* at =
        b->sums + row * PARTIAL + (b->first + first) % SUMS * ETX_INT8_COLUMNS;
    etx_f32x16 sums[ROWS][PARTS] = {{{0}}};
    if (b->first + first >= SUMS) {
      ETX_UNROLLED
      for (size_t r = 0; r < rows; ++r) {
        ETX_UNROLLED
        for (size_t part = 0; part < PARTS; ++part) {
          sums[r][part] =
              (etx_f32x16)load_bytes(at + r * PARTIAL + part * LANES);
        }
      }
    }
    for (size_t g = first; g < groups; g += SUMS) {
      etx_i32x16 whole[ROWS][PARTS];
      sum_group(b, &p, pairs, g, rows, whole);
      prefetch_next(next);
      ETX_UNROLLED
      for (size_t part = 0; part < PARTS; ++part) {
        const etx_f32x16 scale = (etx_f32x16)load_bytes(
            b->scales + g * ETX_INT8_COLUMNS + part * LANES);
        ETX_UNROLLED
        for (size_t r = 0; r < rows; ++r) {
          sums[r][part] +=
              scale * __builtin_convertvector(whole[r][part], etx_f32x16);
        }
      }
    }
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      ETX_UNROLLED
      for (size_t part = 0; part < PARTS; ++part) {
        memcpy(at + r * PARTIAL + part * LANES, &sums[r][part], BYTES);
      }
    }
  }
}

void etx_int4_panel_avx512vnni(const etx_int4_panel* block) {
  // A copy, which stays in registers when sums are stored.
  const etx_int4_panel b = *block;
  const size_t blocks = (b.rows + ROWS - 1) / ROWS;
  int4_row_prefetch next = row_prefetch_of(&b, blocks * (b.count / b.group));
  for (size_t row = 0; row < b.rows;) {
    // Two blocks of four rather than one of six and a remainder.
    const size_t left = b.rows - row;
    if (left == 5 || left == 6 || left > 8) {
      some_rows(&b, row, ROWS, &next);
      row += ROWS;
    } else {
      some_rows(&b, row, 4, &next);
      row += 4;
    }
  }
}

void etx_int4_totals_avx512vnni(size_t rows, size_t groups, float* sums) {
  float* out = sums;
  for (size_t r = 0; r < rows; ++r, sums += PARTIAL) {
    for (size_t part = 0; part < PARTS; ++part, out += LANES) {
      etx_f32x16 v[SUMS];
      ETX_UNROLLED
      for (size_t i = 0; i < SUMS; ++i) {
        const float* from = sums + i * ETX_INT8_COLUMNS + part * LANES;
        v[i] = i < groups ? (etx_f32x16)load_bytes(from) : (etx_f32x16){0};
      }
      const etx_f32x16 all =
          ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
      memcpy(out, &all, sizeof(all));
    }
  }
}
