#include "runtime/kernels/arch/x86/int8/int8_dot_loops_avx512vnni.h"

#include <string.h>

#include "runtime/kernels/simd/vector/vector_types.h"
#include "runtime/kernels/simd/vector/prefetch.h"
#include "runtime/kernels/simd/vector/prefetch_stream.h"
#include "runtime/kernels/arch/x86/int8/int4_packed_avx512vnni.h"
#include "runtime/kernels/arch/x86/int8/int4_dot_avx512vnni.h"
#include "runtime/kernels/arch/x86/int8/quantize_input_avx512vnni.h"
#include "runtime/kernels/arch/x86/int8/int8_vec_template.h"
#include "runtime/kernels/arch/x86/int8/int8_dot_template.h"
#include "runtime/kernels/arch/x86/int8/int8_dot_reduce_template.h"
#include "runtime/kernels/arch/x86/int8/int8_tail_template.h"
#include "runtime/kernels/arch/x86/int8/int8_pack_template.h"

// ------------------------------------------------ rows as they are stored

enum {
  ROWS = 6,      // rows whose sums are in registers
  COLUMNS = 4,   // columns whose sums are in registers
  AHEAD = 4096,  // bytes from what is read to what is prefetched
  // Where columns are read one after the other.
  CHAINS = 4,  // sums of a column
  LONE_AHEAD = 12288,
};

// The sum of the four quarters.
static inline etx_i32x4 quarters_total(etx_i32x16 x) {
  const etx_i32x8 half =
      __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
      __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
  return __builtin_shufflevector(half, half, 0, 1, 2, 3) +
         __builtin_shufflevector(half, half, 4, 5, 6, 7);
}

// The same for four registers; the result has their sums side by side.
static inline etx_i32x16 all_quarters_totals(const etx_i32x16* v) {
  const etx_i32x16 a = even_quarters(v[0], v[1]) + odd_quarters(v[0], v[1]);
  const etx_i32x16 b = even_quarters(v[2], v[3]) + odd_quarters(v[2], v[3]);
  return even_quarters(a, b) + odd_quarters(a, b);
}

// One more step of `rows` times four sums. A block of fewer than four rows is
// the last one, and its last row is all ones. Inlined with constants, so that
// the sums stay in registers.
static inline __attribute__((always_inline)) void gemm_nt_step(
    const uint8_t* left, ptrdiff_t left_row, const etx_i32x16* weights,
    size_t rows, etx_i32x16 sums[ROWS][COLUMNS]) {
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    const bool is_ones = rows < 4 && r + 1 == rows;
    const etx_i32x16 x = is_ones ? all_ints(0x01010101)
                                 : load_bytes(left + (ptrdiff_t)r * left_row);
    ETX_UNROLLED
    for (size_t c = 0; c < COLUMNS; ++c) {
      sums[r][c] = add_products(sums[r][c], x, weights[c]);
    }
  }
}

// Rows times four columns, `pitch` bytes from each other. Each quarter of a
// row's register has a part of the columns' sums.
static inline __attribute__((always_inline)) void dot_four(
    const etx_int8_dot_block* b, size_t row, const uint8_t* w, ptrdiff_t pitch,
    size_t rows, etx_i32x16 out[ROWS]) {
  const uint8_t* x = b->left + (ptrdiff_t)row * b->left_row;
  const bool prefetches = b->is_far && row == 0;
  size_t count = b->count;
  etx_i32x16 sums[ROWS][COLUMNS] = {{{0}}}, weights[COLUMNS];
  for (; count >= BYTES; count -= BYTES, x += BYTES, w += BYTES) {
    ETX_UNROLLED
    for (size_t c = 0; c < COLUMNS; ++c) {
      weights[c] = load_bytes(w + (ptrdiff_t)c * pitch);
      if (prefetches) __builtin_prefetch(w + (ptrdiff_t)c * pitch + AHEAD);
    }
    gemm_nt_step(x, b->left_row, weights, rows, sums);
  }
  if (count > 0) {
    ETX_UNROLLED
    for (size_t c = 0; c < COLUMNS; ++c) {
      weights[c] = load_some_bytes(w + (ptrdiff_t)c * pitch, count);
    }
    gemm_nt_step(x, b->left_row, weights, rows, sums);
  }
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    out[r] = quarter_sums(sums[r][0], sums[r][1], sums[r][2], sums[r][3]);
  }
}

// Rows times four times four columns: four neighbours, and those that are
// `apart` from them. If `apart` is 0, times one column.
static inline __attribute__((always_inline)) void gemm_nt_block(
    const etx_int8_dot_block* b, size_t row, size_t rows, size_t column,
    size_t apart) {
  const uint8_t* w = b->right + (ptrdiff_t)column * b->right_row;
  const ptrdiff_t pitch = (ptrdiff_t)apart * b->right_row;
  int32_t* out = b->sums + row * b->columns + column;
  etx_i32x16 parts[ROWS][4];
  for (size_t i = 0; i < (apart > 0 ? 4 : 1); ++i, w += b->right_row) {
    etx_i32x16 made[ROWS];
    dot_four(b, row, w, pitch, rows, made);
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) parts[r][i] = made[r];
  }
  for (size_t r = 0; r < rows; ++r, out += b->columns) {
    if (apart == 0) {
      *out = quarters_total(parts[r][0])[0];
      continue;
    }
    const etx_i32x16 all = transpose_4x4_lanes(all_quarters_totals(parts[r]));
    store_quarter(out, all, 0);
    store_quarter(out + apart, all, 1);
    store_quarter(out + 2 * apart, all, 2);
    store_quarter(out + 3 * apart, all, 3);
  }
}

// Some rows with columns `column` up to `end`, each together with three others.
static inline __attribute__((always_inline)) void dot_rows(
    const etx_int8_dot_block* b, size_t row, size_t rows, size_t column,
    size_t end, size_t apart) {
  const size_t step = apart > 0 ? COLUMNS : 1;
  for (; column < end; column += step) {
    gemm_nt_block(b, row, rows, column, apart);
  }
}

// All rows, in blocks of similar size. Only the last block may have fewer than
// four rows.
static void dot_columns(const etx_int8_dot_block* b, size_t column, size_t end,
                        size_t apart) {
  size_t blocks = (b->rows + ROWS - 1) / ROWS;
  for (size_t row = 0; row < b->rows; --blocks) {
    const size_t rows = (b->rows - row + blocks - 1) / blocks;
    switch (rows) {
      case 6:
        dot_rows(b, row, 6, column, end, apart);
        break;
      case 5:
        dot_rows(b, row, 5, column, end, apart);
        break;
      case 4:
        dot_rows(b, row, 4, column, end, apart);
        break;
      case 3:
        dot_rows(b, row, 3, column, end, apart);
        break;
      default:
        dot_rows(b, row, 2, column, end, apart);
        break;
    }
    row += rows;
  }
}

// One row times a column: sums whose totals are the dot product and the
// column's sum. Never inlined: hardware prefetchers predict an instruction
// whose reads are always the same distance apart. With one copy of the loop for
// each of several columns, memory is read at two thirds of its speed.
static __attribute__((noinline)) void lone_column(const uint8_t* x,
                                                  const uint8_t* w,
                                                  size_t count, bool prefetches,
                                                  etx_i32x16 out[2]) {
  etx_i32x16 sums[2][CHAINS] = {{{0}}};
  const etx_i32x16 ones = all_ints(0x01010101);
  for (; count >= CHAINS * BYTES; count -= CHAINS * BYTES) {
    ETX_UNROLLED
    for (size_t chain = 0; chain < CHAINS; ++chain, x += BYTES, w += BYTES) {
      if (prefetches) __builtin_prefetch(w + LONE_AHEAD);
      const etx_i32x16 input = load_bytes(w);
      sums[0][chain] = add_products(sums[0][chain], load_bytes(x), input);
      sums[1][chain] = add_products(sums[1][chain], ones, input);
    }
  }
  for (; count >= BYTES; count -= BYTES, x += BYTES, w += BYTES) {
    const etx_i32x16 input = load_bytes(w);
    sums[0][0] = add_products(sums[0][0], load_bytes(x), input);
    sums[1][0] = add_products(sums[1][0], ones, input);
  }
  if (count > 0) {
    const etx_i32x16 input = load_some_bytes(w, count);
    sums[0][1] = add_products(sums[0][1], load_bytes(x), input);
    sums[1][1] = add_products(sums[1][1], ones, input);
  }
  ETX_UNROLLED
  for (size_t i = 0; i < 2; ++i) {
    out[i] = sums[i][0] + sums[i][1] + (sums[i][2] + sums[i][3]);
  }
}

// Whether software prefetch helps where memory is read in order. AMD's family
// 19h (Zen 4) predicts such reads by itself, and prefetching epilogue by
// epilogue slows it down to two thirds of the speed. Family 1Ah (Zen 5) needs
// it.
static bool prefetches_in_order(void) { return !__builtin_cpu_is("amdfam19h"); }

// One row with blocks of sixteen columns. Memory is fastest if it is read in
// the order of its addresses. Returns the number of columns that are done.
static size_t lone_row(const etx_int8_dot_block* b) {
  const size_t whole = b->columns - b->columns % LANES;
  const bool prefetches = prefetches_in_order();
  const uint8_t* w = b->right;
  for (size_t column = 0; column < whole; column += LANES) {
    etx_i32x16 made[LANES][2];
    for (size_t c = 0; c < LANES; ++c, w += b->right_row) {
      lone_column(b->left, w, b->count, prefetches, made[c]);
    }
    for (size_t r = 0; r < 2; ++r) {
      etx_i32x16 fours[4];
      ETX_UNROLLED
      for (size_t i = 0; i < 4; ++i) {
        etx_i32x16(*of)[2] = made + 4 * i;
        fours[i] = quarter_sums(of[0][r], of[1][r], of[2][r], of[3][r]);
      }
      const etx_i32x16 all = all_quarters_totals(fours);
      memcpy(b->sums + r * b->columns + column, &all, sizeof(all));
    }
  }
  return whole;
}

// Columns that are read together are far from each other (gemm_nt_template.h).
// If there are several blocks of rows, the columns are split into pieces that
// fit in L1.
//
//   @dots  uint8 x int8 | GEMM NT, VPDPBUSD | {ROWS} x {COLUMNS} dot products
static void dots(const etx_int8_dot_block* b) {
  enum { ROOM = 16384 };
  if (b->is_far && b->rows == 2) {
    const size_t done = lone_row(b);
    if (done < b->columns) dot_columns(b, done, b->columns, 0);
    return;
  }
  const size_t apart = b->columns / LANES * COLUMNS;
  size_t some = (ROOM / LANES / b->count + 1) * COLUMNS;
  if (b->rows <= ROWS) some = apart;
  for (size_t column = 0; column < apart; column += some) {
    const size_t left = apart - column;
    dot_columns(b, column, column + (left < some ? left : some), apart);
  }
  if (apart * COLUMNS < b->columns) {
    dot_columns(b, apart * COLUMNS, b->columns, 0);
  }
}

// ------------------------------------------------ the last steps

// Stores the first `count` bytes.
static inline void store_some_bytes(void* to, etx_i32x16 x, size_t count) {
  if (count == BYTES) {
    memcpy(to, &x, sizeof(x));
  } else {
    __builtin_ia32_storedquqi512_mask(to, (etx_charx64)x, (1ULL << count) - 1);
  }
}

// What the epilogue needs of the columns, in one or two registers.
typedef struct int8_column_params {
  etx_i32x16 column_sums[PARTS];
  etx_f32x16 scale[PARTS], bias[PARTS];
} int8_column_params;

// `bytes` is the number of bytes in the last register.
static inline __attribute__((always_inline)) void load_columns(
    const etx_int8_epilogue* epilogue, bool is_whole, size_t c, size_t parts,
    size_t bytes, int8_column_params* out) {
  ETX_UNROLLED
  for (size_t part = 0; part < parts; ++part) {
    const size_t at = c + part * LANES;
    const size_t some = part + 1 < parts ? (size_t)BYTES : bytes;
    out->bias[part] = -(etx_f32x16){0};
    if (is_whole) {
      out->column_sums[part] =
          load_some_bytes(epilogue->column_sums + at, some);
      out->scale[part] =
          (etx_f32x16)load_some_bytes(epilogue->scales + at, some);
    }
    if (epilogue->bias != NULL) {
      out->bias[part] = (etx_f32x16)load_some_bytes(epilogue->bias + at, some);
    }
  }
}

static inline __attribute__((always_inline)) etx_f32x16 result_of(
    etx_i32x16 sum, const int8_column_params* n, size_t part,
    const etx_int8_row_qparams* row) {
  // Wraps if a damaged file has sums that do not belong to its weights.
  const etx_i32x16 whole =
      (etx_i32x16)((etx_u32x16)sum -
                   (etx_u32x16)n->column_sums[part] * (unsigned int)row->base);
  return __builtin_convertvector(whole, etx_f32x16) * n->scale[part] *
             row->scale +
         n->bias[part];
}

static inline __attribute__((always_inline)) void last_columns(
    const etx_int8_epilogue* epilogue, bool is_whole, size_t c, size_t parts,
    size_t bytes) {
  int8_column_params columns;
  load_columns(epilogue, is_whole, c, parts, bytes, &columns);
  const int32_t* sums = (const int32_t*)epilogue->sums + c;
  float* out = epilogue->out + c;
  for (size_t r = 0; r < epilogue->rows; ++r) {
    const etx_int8_row_qparams* n = &epilogue->row_qparams[r];
    ETX_UNROLLED
    for (size_t part = 0; part < parts; ++part) {
      const size_t at = part * LANES;
      const size_t some = part + 1 < parts ? (size_t)BYTES : bytes;
      const etx_i32x16 sum = load_some_bytes(sums + at, some);
      const etx_f32x16 result =
          is_whole ? result_of(sum, &columns, part, n)
                   : (etx_f32x16)sum * n->scale + columns.bias[part];
      store_some_bytes(out + at, (etx_i32x16)result, some);
    }
    sums += epilogue->sum_row;
    out += epilogue->out_row;
  }
}

static inline __attribute__((always_inline)) void last_lines(
    const etx_int8_epilogue* epilogue, bool is_whole) {
  size_t c = 0;
  for (; c + ETX_INT8_COLUMNS <= epilogue->columns; c += ETX_INT8_COLUMNS) {
    last_columns(epilogue, is_whole, c, PARTS, BYTES);
  }
  for (; c < epilogue->columns; c += LANES) {
    const size_t left = epilogue->columns - c;
    last_columns(epilogue, is_whole, c, 1,
                 (left < LANES ? left : LANES) * sizeof(float));
  }
}

//   @last  int32 to float32 | epilogue: zero points, scales, bias |
//     {ETX_INT8_COLUMNS} columns
static void last(const etx_int8_epilogue* epilogue) {
  if (epilogue->column_sums != NULL) {
    last_lines(epilogue, true);
  } else {
    last_lines(epilogue, false);
  }
}

// ------------------------------------------------ panels

enum { GEMM_ROWS = 12 };  // rows whose sums are in registers

// Transposes sixteen groups of four bytes of sixteen columns.
static __attribute__((noinline)) void transpose_square(const uint8_t* in,
                                                       ptrdiff_t row,
                                                       int8_t* out,
                                                       etx_i32x16* sums) {
  etx_i32x16 v[4][4];  // [column / 4][place % 4]
  load_transposed(in, row, v);
  const etx_i32x16 ones = all_ints(0x01010101);
  etx_i32x16 acc[4] = {*sums};
  ETX_UNROLLED
  for (int j = 0; j < 4; ++j) {
    etx_i32x16 places[4] = {v[0][j], v[1][j], v[2][j], v[3][j]};
    transpose_quarters(places);
    ETX_UNROLLED
    for (int i = 0; i < 4; ++i) {
      memcpy(out + (4 * i + j) * FOUR, &places[i], BYTES);
      acc[i] = add_products(acc[i], ones, places[i]);
    }
  }
  *sums = acc[0] + acc[1] + (acc[2] + acc[3]);
}

//   @pack8  int8 | pack rows as panels | {LANES} x {BYTES}
static void pack8(const uint8_t* in, ptrdiff_t row, size_t columns,
                  size_t count, int8_t* out, int32_t* column_sums) {
  for (size_t part = 0; part < PARTS; ++part) {
    const size_t first = part * LANES;
    const size_t some = columns < first ? 0 : columns - first;
    etx_i32x16 sums = load_bytes(column_sums + first);
    for (size_t k = 0; k < count; k += BYTES) {
      const uint8_t* from = in + (ptrdiff_t)first * row + k;
      int8_t* to = out + k / 4 * FOUR + part * BYTES;
      uint8_t rest[LANES][BYTES];
      if (some >= LANES && k + BYTES <= count) {
        transpose_square(from, row, to, &sums);
        continue;
      }
      copy_rest(from, row, some, count - k, 0, rest);
      transpose_square(rest[0], BYTES, to, &sums);
    }
    memcpy(column_sums + first, &sums, sizeof(sums));
  }
}

// Prefetches the lines that the rows' results are written to, and one more if
// they are far apart, before the memory of the next panel.
static inline etx_prefetch_stream* first_stream(const etx_int8_panel* b,
                                                size_t row, size_t rows,
                                                etx_prefetch_stream* next,
                                                etx_prefetch_stream* places) {
  if (b->epilogue == NULL || !b->epilogue->is_far) return next;
  const ptrdiff_t pitch = b->epilogue->out_row * (ptrdiff_t)sizeof(float);
  const char* at = (const char*)b->epilogue->out + (ptrdiff_t)row * pitch;
  *places = etx_prefetch_stream_by_step(at, (PARTS + 1) * BYTES, BYTES, rows,
                                        pitch, next);
  return places;
}

static inline __attribute__((always_inline)) void store_results(
    const etx_int8_epilogue* epilogue, size_t row, size_t rows,
    etx_i32x16 sums[GEMM_ROWS][PARTS]) {
  int8_column_params columns;
  load_columns(epilogue, true, 0, PARTS, BYTES, &columns);
  float* out = epilogue->out + (ptrdiff_t)row * epilogue->out_row;
  ETX_UNROLLED_16
  for (size_t r = 0; r < rows; ++r, out += epilogue->out_row) {
    if (row + r >= epilogue->rows) break;
    ETX_UNROLLED
    for (size_t part = 0; part < PARTS; ++part) {
      const etx_f32x16 result = result_of(sums[r][part], &columns, part,
                                          &epilogue->row_qparams[row + r]);
      memcpy(out + part * LANES, &result, sizeof(result));
    }
  }
}

// Takes results into the argmax of their row if they are not below or equal to
// its largest so far. Few are, after the first columns.
static inline __attribute__((always_inline)) void compare_results(
    const etx_int8_epilogue* epilogue, size_t row, size_t rows,
    etx_i32x16 sums[GEMM_ROWS][PARTS]) {
  int8_column_params columns;
  load_columns(epilogue, true, 0, PARTS, BYTES, &columns);
  ETX_UNROLLED_16
  for (size_t r = 0; r < rows; ++r) {
    if (row + r >= epilogue->rows) break;
    etx_row_argmax* best = &epilogue->best[row + r];
    etx_f32x16 results[PARTS];
    etx_i32x16 some = {0};
    ETX_UNROLLED
    for (size_t part = 0; part < PARTS; ++part) {
      results[part] = result_of(sums[r][part], &columns, part,
                                &epilogue->row_qparams[row + r]);
      some |= ~(results[part] <= best->value);
    }
    if (HAS_ANY(some)) {
      etx_row_argmax_update_row(best, (const float*)results, epilogue->column,
                                ETX_INT8_COLUMNS);
    }
  }
}

// Returns the next address to prefetch.
static inline __attribute__((always_inline)) etx_prefetch_stream* panel_rows(
    const etx_int8_panel* b, size_t row, size_t rows,
    etx_prefetch_stream* next) {
  int32_t* at = b->sums + row * ETX_INT8_COLUMNS;
  const int8_t* panel = b->panel;
  const int8_t* end = panel + (ptrdiff_t)(b->count / 4) * b->panel_row;
  const ptrdiff_t pitch = b->left_row;
  // Pointers to every third row: an address can add a stride once or twice
  // without another instruction.
  const uint8_t* x[GEMM_ROWS / 3];
  etx_i32x16 sums[GEMM_ROWS][PARTS] = {{{0}}};
  ETX_UNROLLED
  for (size_t r = 0; r < rows; r += 3) {
    x[r / 3] = b->left + (ptrdiff_t)(row + r) * pitch;
  }
  if (!b->starts) {
    ETX_UNROLLED_16
    for (size_t r = 0; r < rows; ++r) {
      ETX_UNROLLED
      for (size_t part = 0; part < PARTS; ++part) {
        sums[r][part] = load_bytes(at + r * ETX_INT8_COLUMNS + part * LANES);
      }
    }
  }
  etx_prefetch_stream places;
  etx_prefetch_stream* stream = first_stream(b, row, rows, next, &places);
  const char* address = stream->at;
  ptrdiff_t step = stream->step;
  size_t lines_left = stream->left;
  for (; panel != end; panel += b->panel_row) {
    etx_i32x16 w[PARTS];
    // One epilogue or two. The addresses stay in registers.
    __asm__("" : "+r"(step));
    ETX_PREFETCH_L2(address);
    address += step;
    ETX_PREFETCH_L2(address - ETX_CACHE_LINE_BYTES);
    if (--lines_left == 0) {
      stream = etx_prefetch_stream_next_row(stream, address);
      address = stream->at;
      step = stream->step;
      lines_left = stream->left;
    }
    ETX_UNROLLED
    for (size_t part = 0; part < PARTS; ++part) {
      w[part] = load_bytes(panel + (ptrdiff_t)part * b->panel_part);
    }
    ETX_UNROLLED_16
    for (size_t r = 0; r < rows; ++r) {
      int input;
      memcpy(&input, x[r / 3] + (ptrdiff_t)(r % 3) * pitch, sizeof(input));
      const etx_i32x16 all = all_ints(input);
      ETX_UNROLLED
      for (size_t part = 0; part < PARTS; ++part) {
        sums[r][part] = add_products(sums[r][part], all, w[part]);
      }
    }
    ETX_UNROLLED
    for (size_t r = 0; r < rows; r += 3) {
      x[r / 3] += 4;
      __asm__("" : "+r"(x[r / 3]));
    }
  }
  stream->at = address;
  stream->left = lines_left;
  if (b->epilogue != NULL && b->epilogue->best != NULL) {
    compare_results(b->epilogue, row, rows, sums);
  } else if (b->epilogue != NULL) {
    store_results(b->epilogue, row, rows, sums);
  } else {
    ETX_UNROLLED_16
    for (size_t r = 0; r < rows; ++r) {
      ETX_UNROLLED
      for (size_t part = 0; part < PARTS; ++part) {
        memcpy(at + r * ETX_INT8_COLUMNS + part * LANES, &sums[r][part], BYTES);
      }
    }
  }
  return stream == &places ? next : stream;
}

// The size of the next block of the remaining rows, a multiple of four. Two
// blocks of eight are faster than one of twelve and one of four.
static inline size_t rows_of(size_t left) {
  if (left >= 12 && left != 16) return 12;
  return left >= 8 ? 8 : 4;
}

//   @whole  uint8 x int8 | GEMM of packed panels, VPDPBUSD | {GEMM_ROWS} x
//     {ETX_INT8_COLUMNS}
static void whole(const etx_int8_panel* b) {
  // With one epilogue, few rows would end before everything is prefetched.
  const size_t lines = b->rows <= GEMM_ROWS ? 2 : 1;
  etx_prefetch_stream none = etx_prefetch_stream_none(b);
  etx_prefetch_stream rows_of_next = etx_prefetch_stream_by_step(
      (const char*)b->next, b->next_bytes, lines * BYTES, b->next_rows,
      b->next_row, &none);
  etx_prefetch_stream* next = b->next_rows > 0 ? &rows_of_next : &none;
  for (size_t row = 0, rows; row < b->rows; row += rows) {
    rows = rows_of(b->rows - row);
    switch (rows) {
      case 12:
        next = panel_rows(b, row, 12, next);
        break;
      case 8:
        next = panel_rows(b, row, 8, next);
        break;
      default:
        next = panel_rows(b, row, 4, next);
        break;
    }
  }
}

//   @range  float32 | smallest and largest element
//     (quantize_input_avx512vnni.c) | 16 elements
//   @quantize  float32 to uint8 | quantize rows (quantize_input_avx512vnni.c)
//     | 64 elements
//   @quantize_and_range  float32 to uint8 | both of two rows
//     (quantize_input_avx512vnni.c) | 64 elements
//   @order4  uint8 | even and odd elements apart, for int4
//     (quantize_input_avx512vnni.c) | 128 elements
//   @groups  uint8 x int4 | GEMM NT per group, VPDPBUSD
//     (int4_dot_avx512vnni.c) | 2 x 4 dot products
//   @pack4  int4 to int8 | pack rows as panels (int4_packed_avx512vnni.c) | 16
//     x 128
//   @panel_groups  uint8 x int8 | GEMM of packed int4 panels per group,
//     VPDPBUSD (int4_packed_avx512vnni.c) | 6 x {ETX_INT8_COLUMNS}
//   @totals  float32 | sums of the partial sums of groups
//     (int4_packed_avx512vnni.c) | 16 columns
const etx_int8_dot_loops etx_int8_dot_loops_avx512vnni = {
    etx_int8_range_avx512vnni,
    etx_int8_quantize_avx512vnni,
    etx_int8_quantize_and_range_avx512vnni,
    etx_int4_order_avx512vnni,
    dots,
    etx_int4_dot_avx512vnni,
    pack8,
    etx_int4_pack_avx512vnni,
    whole,
    etx_int4_panel_avx512vnni,
    etx_int4_totals_avx512vnni,
    last,
    ETX_INT8_MAX_DEPTH,
    32,
    12,
    128};
