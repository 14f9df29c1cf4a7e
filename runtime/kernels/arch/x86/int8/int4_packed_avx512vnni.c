#include "runtime/kernels/arch/x86/int8/int4_packed_avx512vnni.h"

#include <string.h>

#include "runtime/kernels/simd/vector/prefetch.h"
#include "runtime/kernels/arch/x86/int8/int8_vec_template.h"
#include "runtime/kernels/arch/x86/int8/int8_dot_template.h"
#include "runtime/kernels/arch/x86/int8/int8_pack_template.h"

typedef float floats __attribute__((vector_size(64)));
typedef unsigned char all_bytes __attribute__((vector_size(64)));

enum {
  LEAST_GROUP = 32,  // elements
  PART = 2 * BYTES,  // elements of a register of weights
  SUMS = 8,          // partial sums of groups
  ROWS = 12,         // whose sums are in registers
  PARTIAL = SUMS * ETX_INT8_COLUMNS,
};

// ------------------------------------------------ panels

// Sixteen fours of bytes of sixteen columns become sixteen columns of fours of
// high halves and of low ones, minus 8; sums are those of four fours of each.
static __attribute__((noinline)) void transpose_halves(const uint8_t* in,
                                                       ptrdiff_t row,
                                                       int8_t* out,
                                                       int32_t* sums) {
  ints v[4][4], own[4] = {{0}};
  const ints ones = all_ints(0x01010101), low_half = all_ints(0x0f0f0f0f);
  const all_bytes zero = (all_bytes)all_ints(0x08080808);
  load_turned(in, row, v);
  ETX_UNROLLED
  for (int j = 0; j < 4; ++j) {
    ints places[4] = {v[0][j], v[1][j], v[2][j], v[3][j]};
    transpose_quarters(places);
    ETX_UNROLLED
    for (int i = 0; i < 4; ++i) {
      int8_t* to = out + (4 * i + j) * 2 * FOUR;
      const ints high = (ints)((all_bytes)(places[i] >> 4 & low_half) - zero);
      const ints low = (ints)((all_bytes)(places[i] & low_half) - zero);
      memcpy(to, &high, sizeof(high));
      memcpy(to + FOUR, &low, sizeof(low));
      own[i] = add_products(own[i], ones, high);
      own[i] = add_products(own[i], ones, low);
    }
  }
  ETX_UNROLLED
  for (int i = 0; i < 4; ++i) {
    memcpy(sums + i * ETX_INT8_COLUMNS, &own[i], sizeof(own[i]));
  }
}

// Sums of 32 elements become those of groups, in place.
static void join_sums(size_t groups, size_t each, int32_t* sums) {
  for (size_t g = 0; g < groups; ++g) {
    for (size_t c = 0; c < ETX_INT8_COLUMNS; c += LANES) {
      const int32_t* from = sums + g * each * ETX_INT8_COLUMNS + c;
      ints all = {0};
      for (size_t i = 0; i < each; ++i) {
        all += load_bytes(from + i * ETX_INT8_COLUMNS);
      }
      memcpy(sums + g * ETX_INT8_COLUMNS + c, &all, sizeof(all));
    }
  }
}

void etx_int4_pack_avx512vnni(const uint8_t* in, ptrdiff_t row, size_t columns,
                              size_t count, size_t group, int8_t* out,
                              int32_t* group_sums) {
  enum { ZEROS = 8 << 4 | 8 };
  int32_t* sums = group_sums;
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
  join_sums(2 * count / group, group / LEAST_GROUP, group_sums);
}

// ------------------------------------------------ sums

// Processors add a distance once or twice: every third row has its place.
typedef struct panel_rows {
  const uint8_t* x[ROWS / 3];
  ptrdiff_t row;
} panel_rows;

// Adds products with one four of the panel.
static inline __attribute__((always_inline)) void add_four(
    const panel_rows* p, size_t at, const int8_t* panel, size_t rows,
    ints sums[ROWS][PARTS]) {
  ints w[PARTS];
  ETX_UNROLLED
  for (size_t part = 0; part < PARTS; ++part) {
    w[part] = load_bytes(panel + part * BYTES);
  }
  ETX_UNROLLED_16
  for (size_t r = 0; r < rows; ++r) {
    int seen;
    memcpy(&seen, p->x[r / 3] + (ptrdiff_t)(r % 3) * p->row + at, sizeof(seen));
    const ints all = all_ints(seen);
    ETX_UNROLLED
    for (size_t part = 0; part < PARTS; ++part) {
      sums[r][part] = add_products(sums[r][part], all, w[part]);
    }
  }
}

// The lines of some rows that will be needed, asked for one by one.
typedef struct shape_query {
  const uint8_t* at;
  size_t line, lines;  // of a row
  size_t rows;         // that are left
  ptrdiff_t row;
} shape_query;

// Asks for some of them, to read.
static inline __attribute__((always_inline)) void ask_next(shape_query* a,
                                                           size_t most) {
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
    const etx_int4_panel* b, size_t row, size_t rows, shape_query* next) {
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
    ints whole[ROWS][PARTS];
    ETX_UNROLLED
    for (size_t part = 0; part < PARTS; ++part) {
      const ints own = load_bytes(b->group_sums + at + part * LANES);
      ETX_UNROLLED_16
      for (size_t r = 0; r < rows; ++r) {
        whole[r][part] = own * -b->numbers[row + r].base;
      }
    }
    for (size_t i = 0; i < b->group / 2; i += 4, panel += 2 * FOUR) {
      const size_t k = g * b->group / 2 + i;
      const size_t from = k / BYTES * PART + k % BYTES;
      add_four(&p, from, panel, rows, whole);
      add_four(&p, from + BYTES, panel + FOUR, rows, whole);
    }
    ask_next(next, b->group / 8);
    float* sums = b->sums + row * PARTIAL + sum * ETX_INT8_COLUMNS;
    const bool starts = b->starts && g < SUMS;
    sum = (sum + 1) % SUMS;
    ETX_UNROLLED
    for (size_t part = 0; part < PARTS; ++part) {
      const floats scale = (floats)load_bytes(b->scales + at + part * LANES);
      ETX_UNROLLED_16
      for (size_t r = 0; r < rows; ++r) {
        float* own = sums + r * PARTIAL + part * LANES;
        floats all = {0};
        if (!starts) all = (floats)load_bytes(own);
        all += scale * __builtin_convertvector(whole[r][part], floats);
        memcpy(own, &all, sizeof(all));
      }
    }
  }
}

void etx_int4_panel_avx512vnni(const etx_int4_panel* b) {
  shape_query next = {.at = b->next,
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
      floats v[SUMS];
      ETX_UNROLLED
      for (size_t i = 0; i < SUMS; ++i) {
        const float* from = sums + i * ETX_INT8_COLUMNS + part * LANES;
        v[i] = i < groups ? (floats)load_bytes(from) : (floats){0};
      }
      const floats all =
          ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
      memcpy(out, &all, sizeof(all));
    }
  }
}
