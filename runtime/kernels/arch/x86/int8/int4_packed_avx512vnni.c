#include "runtime/kernels/arch/x86/int8/int4_packed_avx512vnni.h"

#include <string.h>

#include "runtime/kernels/simd/vector/vector_types.h"
#include "runtime/kernels/simd/vector/prefetch.h"
#include "runtime/kernels/arch/x86/int8/int8_vec_template.h"
#include "runtime/kernels/arch/x86/int8/int8_dot_template.h"
#include "runtime/kernels/arch/x86/int8/int8_pack_template.h"

enum {
  LEAST_GROUP = 32,  // elements
  PART = 2 * BYTES,  // elements of a register of weights
  SUMS = 8,          // partial sums of groups
  ROWS = 12,         // rows whose sums are in registers
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

// Adds products with one group of four elements of the panel.
static inline __attribute__((always_inline)) void add_four(
    const panel_rows* p, size_t at, const int8_t* panel, size_t rows,
    etx_i32x16 sums[ROWS][PARTS]) {
  etx_i32x16 w[PARTS];
  ETX_UNROLLED
  for (size_t part = 0; part < PARTS; ++part) {
    w[part] = load_bytes(panel + part * BYTES);
  }
  ETX_UNROLLED_16
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

// Cache lines of rows that are needed soon; they are prefetched step by step.
typedef struct int4_row_prefetch {
  const uint8_t* at;
  size_t line, lines;  // lines of a row
  size_t rows;         // rows that are left
  ptrdiff_t row;
} int4_row_prefetch;

// Prefetches at most `most` of the lines.
static inline __attribute__((always_inline)) void prefetch_next(
    int4_row_prefetch* a, size_t most) {
  while (most > 0 && a->rows > 0) {
    const size_t left = a->lines - a->line, some = left < most ? left : most;
    const uint8_t* at = a->at + a->line * BYTES;
    for (size_t i = 0; i < some; ++i, at += BYTES) {
      ETX_PREFETCH_L2(at);
    }
    most -= some;
    a->line += some;
    if (a->line < a->lines) continue;
    a->line = 0;
    a->at += a->row;
    --a->rows;
  }
}

static inline __attribute__((always_inline)) void some_rows(
    const etx_int4_panel* b, size_t row, size_t rows, int4_row_prefetch* next) {
  panel_rows p = {.row = b->left_row};
  const int8_t* panel = b->panel;
  size_t sum = b->first;
  ETX_UNROLLED
  for (size_t r = 0; r < rows; r += 3) {
    p.x[r / 3] = b->left + (ptrdiff_t)(row + r) * b->left_row;
    __asm__("" : "+r"(p.x[r / 3]));
  }
  for (size_t g = 0; g * b->group < b->count; ++g) {
    const size_t at = g * ETX_INT8_COLUMNS;
    etx_i32x16 whole[ROWS][PARTS];
    ETX_UNROLLED
    for (size_t part = 0; part < PARTS; ++part) {
      const etx_i32x16 group_sums =
          load_bytes(b->group_sums + at + part * LANES);
      ETX_UNROLLED_16
      for (size_t r = 0; r < rows; ++r) {
        whole[r][part] = group_sums * -b->row_qparams[row + r].base;
      }
    }
    for (size_t i = 0; i < b->group / 2; i += 4, panel += 2 * FOUR) {
      const size_t k = g * b->group / 2 + i;
      const size_t from = k / BYTES * PART + k % BYTES;
      add_four(&p, from, panel, rows, whole);
      add_four(&p, from + BYTES, panel + FOUR, rows, whole);
    }
    prefetch_next(next, b->group / 8);
    float* sums = b->sums + row * PARTIAL + sum * ETX_INT8_COLUMNS;
    const bool starts = b->starts && g < SUMS;
    sum = (sum + 1) % SUMS;
    ETX_UNROLLED
    for (size_t part = 0; part < PARTS; ++part) {
      const etx_f32x16 scale =
          (etx_f32x16)load_bytes(b->scales + at + part * LANES);
      ETX_UNROLLED_16
      for (size_t r = 0; r < rows; ++r) {
        float* partial = sums + r * PARTIAL + part * LANES;
        etx_f32x16 all = {0};
        if (!starts) all = (etx_f32x16)load_bytes(partial);
        all += scale * __builtin_convertvector(whole[r][part], etx_f32x16);
        memcpy(partial, &all, sizeof(all));
      }
    }
  }
}

void etx_int4_panel_avx512vnni(const etx_int4_panel* b) {
  int4_row_prefetch next = {.at = b->next,
                            .lines = (b->next_bytes + BYTES - 1) / BYTES,
                            .rows = b->next_rows,
                            .row = b->next_row};
  for (size_t row = 0, rows; row < b->rows; row += rows) {
    rows = rows_of(b->rows - row);
    switch (rows) {
      case 12:
        some_rows(b, row, 12, &next);
        break;
      case 8:
        some_rows(b, row, 8, &next);
        break;
      default:
        some_rows(b, row, 4, &next);
        break;
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
