#include "runtime/kernels/quantized/quantized_linear_int8.h"

#include "format/base/checked_math.h"
#include "runtime/kernels/core/convert.h"
#include "runtime/kernels/quantized/linear_input.h"
#include "runtime/kernels/core/parallel_for.h"

enum {
  COLUMNS = ETX_INT8_COLUMNS,
  ELEMENTS = 1024,  // of a panel
  LONG_ROWS = 96,   // that have sums while panels pass
  ROWS_AT_ONCE = 24,
  LEAST_INNER = 64,
  // Rows for which copying weights is worth it.
  LEAST_ROWS = 24,
  LEAST_GROUP_ROWS = 7,
  GROUP_ELEMENTS = 1024,  // of a panel of 4-bit weights
  GROUP_ROWS = 24,        // that have partial sums while panels pass
  LEAST_GROUP = 32,
  PARTIAL_SUMS = 8,
  SUMS = 4096,  // of a tile of weights as they are stored
  LEAST_WIDTH = 64,
  ITEMS_PER_THREAD = 4,
  LINE = 64,              // bytes of the cache
  FAR_BYTES = 2 << 20,    // of weights that are not in a core's own cache
  PLACE_BYTES = 1 << 18,  // of results whose places are not
  TOGETHER_BYTES = 1 << 18,  // of rows that pass one panel after the other
  // The same of one row, that is, of a step of a model: the other weights of a
  // model whose layers are so large have been read meanwhile.
  LONE_BYTES = 1 << 18,
  PAGE = 4096,  // that the first cache repeats its places after
};

bool etx_quantized_linear_int8_supports(const etx_packed_weights* w) {
  if (w->inner < LEAST_INNER || w->inner > ETX_INT8_MAX_DEPTH) return false;
  if (w->bits == 8) {
    return w->groups == 1 && w->zeros == NULL && w->dtype == ETX_DTYPE_INT8;
  }
  return (w->group == 32 || w->group == 64 || w->group == 128) &&
         w->groups * w->group == w->inner &&
         w->scale_dtype == ETX_DTYPE_FLOAT32;
}

// ------------------------------------------------ temporary memory

// Rows of bytes, a multiple of ETX_INT8_ROWS and one more, and the numbers of
// each.
typedef struct layout {
  size_t pitch, rows;  // of bytes
  size_t numbers;      // where they begin
  size_t bytes;
} layout;

static bool lay_rows(size_t rows, size_t inner, layout* out) {
  size_t numbers;
  if (!etx_add_size(inner, ETX_INT8_PIECE - 1, &out->pitch) ||
      !etx_add_size(rows, ETX_INT8_ROWS, &out->rows)) {
    return false;
  }
  out->pitch -= out->pitch % ETX_INT8_PIECE;
  if (out->pitch % PAGE == 0) out->pitch += LINE;
  out->rows -= out->rows % ETX_INT8_ROWS;
  return etx_multiply_size(out->pitch, out->rows, &out->numbers) &&
         etx_multiply_size(out->rows, sizeof(etx_int8_row_qparams), &numbers) &&
         etx_add_size(out->numbers, numbers, &out->bytes) &&
         etx_add_size(out->bytes, LINE, &out->bytes);
}

bool etx_quantized_linear_int8_bytes(size_t rows, size_t inner, size_t* out_bytes) {
  layout l;
  *out_bytes = 0;
  if (rows == 0 || inner < LEAST_INNER || inner > ETX_INT8_MAX_DEPTH) return true;
  if (!lay_rows(rows, inner, &l)) return false;
  *out_bytes = l.bytes;
  return true;
}

// What the tiles see.
typedef struct job {
  const etx_quantized_linear* linear;
  const etx_int8_dot_loops* loops;
  size_t all;          // rows
  size_t first, rows;  // those that pass together
  uint8_t* bytes;      // rows of `pitch`
  size_t pitch;
  etx_int8_row_qparams* numbers;
  size_t width, tiles;  // columns of a tile; how many there are
  etx_row_argmax* best;   // [rows] of a piece; NULL: results are stored
  bool has_panels;  // many rows
  bool is_plain;    // floats are what the loops know
} job;

// ------------------------------------------------ preparing the input

// What rows have been seen to reach to, before their numbers are chosen.
typedef struct ranges {
  float low[ETX_QPARAMS_AT_ONCE], high[ETX_QPARAMS_AT_ONCE];
} ranges;

static const char* row_at(const job* j, size_t row) {
  return etx_linear_input_row(j->linear->input, j->first + row);
}
static const float* floats_at(const job* j, size_t row) {
  return (const float*)(const void*)row_at(j, row);
}

// What the numbers of a row are takes long to know, though few instructions:
// those of four are computed together.
static void choose_numbers(const job* j, size_t row, size_t end,
                           const ranges* of) {
  float scales[ETX_QPARAMS_AT_ONCE];
  int32_t zeros[ETX_QPARAMS_AT_ONCE];
  etx_qparams_of_ranges(of->low, of->high, scales, zeros);
  for (size_t r = 0; r < ETX_QPARAMS_AT_ONCE && row + r < end; ++r) {
    j->numbers[row + r] = (etx_int8_row_qparams){scales[r], 128 + zeros[r]};
  }
}

// A row's bytes, and the range of another row if it is below `end`.
static void quantize_row(const job* j, size_t row, size_t other, size_t end,
                         float* low, float* high) {
  const size_t inner = j->linear->weight.inner;
  const double inverse = 1.0 / (double)j->numbers[row].scale;
  const double zero = (double)(j->numbers[row].base - 128);
  uint8_t* out = j->bytes + row * j->pitch;
  if (other < end) {
    j->loops->quantize_and_range(floats_at(j, row), inner, inverse, zero, out,
                                 floats_at(j, other), low, high);
  } else {
    j->loops->quantize(floats_at(j, row), inner, inverse, zero, out);
  }
  if (j->linear->weight.bits == 4) j->loops->order4(out, inner);
}

// Ranges are known four rows before numbers are chosen, and these four rows
// before they are used, so that nobody waits for them.
static void prepare_dense_rows(const job* j, size_t first, size_t end) {
  enum { SOME = ETX_QPARAMS_AT_ONCE };
  ranges of[2] = {{{0}, {0}}, {{0}, {0}}};
  for (size_t r = 0; r < 2 * SOME && first + r < end; ++r) {
    ranges* own = &of[r / SOME];
    j->loops->range(floats_at(j, first + r), j->linear->weight.inner,
                    &own->low[r % SOME], &own->high[r % SOME]);
  }
  choose_numbers(j, first, end, &of[0]);
  for (size_t row = first; row < end; row += SOME) {
    if (row + SOME < end) choose_numbers(j, row + SOME, end, &of[1]);
    for (size_t r = 0; r < SOME && row + r < end; ++r) {
      quantize_row(j, row + r, row + r + 2 * SOME, end, &of[1].low[r],
                   &of[1].high[r]);
    }
  }
}

// A row of another type, or whose elements are apart.
static void prepare_row(const job* j, size_t row) {
  const etx_tensor* input = j->linear->input;
  const size_t inner = j->linear->weight.inner;
  const char* from = row_at(j, row);
  const etx_qparams q = etx_linear_input_qparams(input, from);
  const etx_int8_row_qparams numbers = {(float)q.scale, 128 + (int32_t)q.zero_point};
  uint8_t* out = j->bytes + row * j->pitch;
  for (size_t k = 0; k < inner; k += ETX_PACKED_CHUNK) {
    float chunk[ETX_PACKED_CHUNK];
    const size_t rest = inner - k;
    const size_t count = rest < ETX_PACKED_CHUNK ? rest : ETX_PACKED_CHUNK;
    etx_linear_input_load(input, from, k, count, chunk);
    j->loops->quantize(chunk, count, 1.0 / (double)numbers.scale,
                       (double)(numbers.base - 128), out + k);
  }
  j->numbers[row] = numbers;
  if (j->linear->weight.bits == 4) j->loops->order4(out, inner);
}

static void prepare_rows(const void* context, size_t first, size_t end) {
  const job* j = context;
  if (etx_linear_input_is_dense(j->linear->input)) {
    prepare_dense_rows(j, first, end);
    return;
  }
  for (; first < end; ++first) prepare_row(j, first);
}

// ------------------------------------------------ the last line

// Numbers of columns as floats, where they lie or in `made`.
static const float* as_floats(etx_dtype dtype, const void* data, size_t column,
                              size_t columns, float* made) {
  const char* from = (const char*)data + column * etx_dtype_bytes(dtype);
  if (dtype == ETX_DTYPE_FLOAT32) return (const float*)(const void*)from;
  etx_convert(ETX_DTYPE_FLOAT32, made, 1, dtype, from, 1, columns);
  return made;
}

// The same steps where something is of another type, or where results are not
// stored: row by row, in memory of the stack.
static void store_rows(const job* j, etx_int8_epilogue line, size_t row,
                       size_t column) {
  const etx_quantized_linear* l = j->linear;
  const etx_packed_weights* w = &l->weight;
  const size_t columns = line.columns, rows = line.rows;
  for (size_t c = 0; c < columns; c += COLUMNS) {
    float scales[COLUMNS], bias[COLUMNS], results[COLUMNS];
    const size_t at = column + c, left = columns - c;
    etx_int8_epilogue part = line;
    part.columns = left < COLUMNS ? left : COLUMNS;
    part.rows = 1;
    part.out = results;
    if (part.column_sums != NULL) {
      part.column_sums += c;
      part.scales =
          as_floats(w->scale_dtype, w->scales, at, part.columns, scales);
    }
    if (l->bias != NULL) {
      part.bias =
          as_floats(l->bias->dtype, l->bias->data, at, part.columns, bias);
    }
    for (size_t r = 0; r < rows; ++r) {
      part.sums =
          (const int32_t*)line.sums + (ptrdiff_t)r * line.sum_row + c;
      part.numbers = line.numbers + r;
      j->loops->last(&part);
      if (j->best != NULL) {
        etx_row_argmax_update_row(&j->best[row + r], results, at, part.columns);
        continue;
      }
      const etx_dtype dtype = l->out->dtype;
      char* out = (char*)l->out->data +
                  ((j->first + row + r) * l->columns + at) *
                      etx_dtype_bytes(dtype);
      etx_convert(dtype, out, 1, ETX_DTYPE_FLOAT32, results, 1, part.columns);
    }
  }
}

static bool is_plain(const etx_quantized_linear* l) {
  return (l->out == NULL || l->out->dtype == ETX_DTYPE_FLOAT32) &&
         l->weight.scale_dtype == ETX_DTYPE_FLOAT32 &&
         (l->bias == NULL || l->bias->dtype == ETX_DTYPE_FLOAT32);
}

// Says where results begin, at a row and a column, or what they are compared
// with, and what belongs to them.
static void set_line(const job* j, size_t row, size_t column,
                     etx_int8_epilogue* line) {
  const etx_quantized_linear* l = j->linear;
  line->numbers = j->numbers + row;
  if (!j->is_plain) return;
  line->scales = (const float*)(const void*)l->weight.scales + column;
  if (l->bias != NULL) line->bias = (const float*)l->bias->data + column;
  if (j->best != NULL) {
    line->best = j->best + row;
    line->column = column;
    return;
  }
  line->out = (float*)l->out->data + (j->first + row) * l->columns + column;
  line->out_row = (ptrdiff_t)l->columns;
  line->is_far = l->columns > PLACE_BYTES / sizeof(float) / j->all;
}

// Stores the sums of `line`, which begin at a row and a column.
static void store(const job* j, etx_int8_epilogue line, size_t row, size_t column) {
  set_line(j, row, column, &line);
  if (j->is_plain && j->best == NULL) {
    j->loops->last(&line);
  } else {
    store_rows(j, line, row, column);
  }
}

// ------------------------------------------------ tiles

static const uint8_t* weights_at(const job* j, size_t column) {
  const etx_packed_weights* w = &j->linear->weight;
  return w->data + column * w->row_bytes;
}

static bool is_far(const job* j) {
  const size_t near = j->rows == 1 ? LONE_BYTES - 1 : FAR_BYTES;
  return j->linear->weight.row_bytes > near / j->linear->columns;
}

// All rows times weights of 4 bits as they are stored.
static __attribute__((noinline)) void run_groups(const job* j, size_t column,
                                                 size_t columns) {
  _Alignas(LINE) float sums[SUMS];
  const etx_packed_weights* w = &j->linear->weight;
  for (size_t row = 0; row < j->rows; row += LEAST_ROWS) {
    const size_t left = j->rows - row;
    const size_t rows = left < LEAST_ROWS ? left : LEAST_ROWS;
    const etx_int4_dot_block block = {
        .left = j->bytes + row * j->pitch,
        .left_row = (ptrdiff_t)j->pitch,
        .numbers = j->numbers + row,
        .right = weights_at(j, column),
        .right_row = (ptrdiff_t)w->row_bytes,
        .scales = (const float*)(const void*)w->scales + column * w->groups,
        .zeros = w->zeros == NULL ? NULL : w->zeros + column * w->groups,
        .rows = rows,
        .columns = columns,
        .group = w->group,
        .groups = w->groups,
        .sums = sums,
        .is_far = row == 0 && is_far(j)};
    const etx_int8_epilogue line = {.sums = sums,
                                .sum_row = (ptrdiff_t)columns,
                                .rows = rows,
                                .columns = columns};
    j->loops->groups(&block);
    store(j, line, row, column);
  }
}

// All rows, and one of ones, times weights as they are stored.
static __attribute__((noinline)) void run_stored(const job* j, size_t column,
                                                 size_t columns) {
  _Alignas(LINE) int32_t sums[SUMS];
  const etx_packed_weights* w = &j->linear->weight;
  const etx_int8_dot_block block = {.left = j->bytes,
                                .left_row = (ptrdiff_t)j->pitch,
                                .right = weights_at(j, column),
                                .right_row = (ptrdiff_t)w->row_bytes,
                                .rows = j->rows + 1,
                                .columns = columns,
                                .count = w->inner,
                                .sums = sums,
                                .is_far = is_far(j)};
  const etx_int8_epilogue line = {.sums = sums,
                              .sum_row = (ptrdiff_t)columns,
                              .column_sums = sums + j->rows * columns,
                              .rows = j->rows,
                              .columns = columns};
  j->loops->dots(&block);
  store(j, line, 0, column);
}

// Parts of the rows of the next panel.
typedef struct ahead {
  const uint8_t* from;
  size_t rows, bytes;
} ahead;

// What to ask for while `rows` rows from `row` on pass: a part of the weights
// that the panel after the one of elements from k on is made of.
static ahead ahead_of(const job* j, size_t column, size_t k, size_t most,
                      size_t row, size_t rows) {
  const etx_packed_weights* w = &j->linear->weight;
  k += most;
  if (k >= w->inner) {
    k = 0;
    column += COLUMNS;
  }
  if (column >= j->linear->columns) return (ahead){NULL, 0, 0};
  const size_t left = j->linear->columns - column;
  const size_t columns = left < COLUMNS ? left : COLUMNS;
  const size_t first = columns * row / j->rows;
  size_t end = columns * (row + rows) / j->rows;
  if (end > columns) end = columns;
  const size_t elements = w->inner - k < most ? w->inner - k : most;
  return (ahead){weights_at(j, column + first) + k * w->bits / 8, end - first,
                 elements * w->bits / 8};
}

// A panel of 4-bit weights and what belongs to it.
typedef struct group_panel {
  _Alignas(LINE) int8_t panel[GROUP_ELEMENTS * COLUMNS];
  float sums[GROUP_ROWS][PARTIAL_SUMS][COLUMNS];
  float scales[GROUP_ELEMENTS / LEAST_GROUP][COLUMNS];
  int32_t group_sums[GROUP_ELEMENTS / LEAST_GROUP][COLUMNS];
} group_panel;

// Some rows of a panel's columns: all elements of them if one panel has these,
// which is there already but for the first rows. Sums become the results of
// `line`, if it is not NULL.
static void multiply(const job* j, size_t row, size_t rows, size_t column,
                     size_t columns, int8_t* panel, int32_t* column_sums,
                     int32_t* sums, const etx_int8_epilogue* line) {
  const etx_packed_weights* w = &j->linear->weight;
  for (size_t k = 0; k < w->inner; k += ELEMENTS) {
    const size_t left = w->inner - k;
    const size_t count = left < ELEMENTS ? left : ELEMENTS;
    const ahead next = ahead_of(j, column, k, ELEMENTS, row, rows);
    const etx_int8_panel block = {
        .left = j->bytes + row * j->pitch + k,
        .left_row = (ptrdiff_t)j->pitch,
        .panel = panel,
        .panel_row = 4 * COLUMNS,
        .panel_part = 2 * COLUMNS,
        .rows = (rows + ETX_INT8_ROWS - 1) / ETX_INT8_ROWS * ETX_INT8_ROWS,
        .count = (count + 3) / 4 * 4,
        .line = left <= ELEMENTS ? line : NULL,
        .sums = sums,
        .starts = k == 0,
        .next = next.from,
        .next_row = (ptrdiff_t)w->row_bytes,
        .next_rows = next.rows,
        .next_bytes = next.bytes};
    if (row == 0 || w->inner > ELEMENTS) {
      if (k == 0) memset(column_sums, 0, COLUMNS * sizeof(int32_t));
      j->loops->turn8(weights_at(j, column) + k, (ptrdiff_t)w->row_bytes,
                      columns, count, panel, column_sums);
    }
    j->loops->whole(&block);
  }
}

static __attribute__((noinline)) void run_panel(const job* j, size_t column,
                                                size_t columns) {
  _Alignas(LINE) int8_t panel[ELEMENTS * COLUMNS];
  _Alignas(LINE) int32_t sums[LONG_ROWS * COLUMNS];
  int32_t column_sums[COLUMNS];
  const bool ends = j->is_plain && columns == COLUMNS;
  // Rows that end in registers need no room for their sums.
  const size_t short_rows = ends ? j->rows : ROWS_AT_ONCE;
  const size_t most =
      j->linear->weight.inner > ELEMENTS ? LONG_ROWS : short_rows;
  for (size_t row = 0; row < j->rows; row += most) {
    const size_t left = j->rows - row, rows = left < most ? left : most;
    etx_int8_epilogue line = {.sums = sums,
                          .sum_row = COLUMNS,
                          .column_sums = column_sums,
                          .rows = rows,
                          .columns = columns};
    set_line(j, row, column, &line);
    multiply(j, row, rows, column, columns, panel, column_sums, sums,
             ends ? &line : NULL);
    if (!ends) store(j, line, row, column);
  }
}

// Panels of the file are read where they lie, with all their elements: sums
// become results where they are, if they are of whole panels. Of an odd one out
// both halves are the same, and one is stored. The last panel may have fewer
// columns than it has room for.
static __attribute__((noinline)) void run_stored_panels(const job* j,
                                                        size_t column,
                                                        size_t columns) {
  _Alignas(LINE) int32_t sums[ROWS_AT_ONCE * COLUMNS];
  const etx_packed_weights* w = &j->linear->weight;
  const size_t behind = column + columns, left = j->linear->columns - behind;
  const size_t next = (left < COLUMNS ? left : COLUMNS) * w->inner / LINE;
  etx_int8_epilogue line = {.sums = sums,
                        .sum_row = COLUMNS,
                        .column_sums = j->linear->sums + column,
                        .columns = columns};
  const bool ends = j->is_plain && columns == COLUMNS;
  const size_t most = ends ? j->rows : ROWS_AT_ONCE;
  for (size_t row = 0; row < j->rows; row += most) {
    const size_t below = j->rows - row;
    line.rows = below < most ? below : most;
    set_line(j, row, column, &line);
    const etx_int8_panel block = {
        .left = j->bytes + row * j->pitch,
        .left_row = (ptrdiff_t)j->pitch,
        .panel = etx_packed_panel(w, column, 0),
        .panel_row = ETX_PACKED_PANEL * ETX_PACKED_INTERLEAVE,
        .panel_part =
            columns <= ETX_PACKED_PANEL
                ? 0
                : (ptrdiff_t)(ETX_PACKED_PANEL * w->inner),
        .rows = (line.rows + ETX_INT8_ROWS - 1) / ETX_INT8_ROWS * ETX_INT8_ROWS,
        .count = w->inner,
        .line = ends ? &line : NULL,
        .sums = sums,
        .starts = true,
        .next = w->data + behind * w->inner,
        .next_rows = row == 0 && next > 0 ? 1 : 0,
        .next_bytes = next * LINE};
    j->loops->whole(&block);
    if (!ends) store(j, line, row, column);
  }
}

// The same of 4-bit weights: the scales of some groups are turned as well, as
// bytes.
static void multiply_groups(const job* j, size_t row, size_t rows,
                            size_t column, size_t columns, group_panel* p) {
  const etx_packed_weights* w = &j->linear->weight;
  const float* scales = (const float*)(const void*)w->scales;
  const size_t all =
      (rows + ETX_INT8_ROWS - 1) / ETX_INT8_ROWS * ETX_INT8_ROWS;
  for (size_t k = 0; k < w->inner; k += GROUP_ELEMENTS) {
    int32_t unused[COLUMNS] = {0};
    const size_t left = w->inner - k, group = k / w->group;
    const size_t count = left < GROUP_ELEMENTS ? left : GROUP_ELEMENTS;
    // Asking costs more here than what a core's own cache keeps anyway.
    ahead next = {NULL, 0, 0};
    if (is_far(j)) next = ahead_of(j, column, k, GROUP_ELEMENTS, row, rows);
    const etx_int4_panel block = {
        .left = j->bytes + row * j->pitch + k,
        .left_row = (ptrdiff_t)j->pitch,
        .numbers = j->numbers + row,
        .panel = p->panel,
        .rows = all,
        .count = count,
        .group = w->group,
        .group_sums = p->group_sums[0],
        .scales = p->scales[0],
        .first = group % PARTIAL_SUMS,
        .sums = p->sums[0][0],
        .starts = k == 0,
        .next = next.from,
        .next_row = (ptrdiff_t)w->row_bytes,
        .next_rows = next.rows,
        .next_bytes = next.bytes};
    if (row == 0 || w->inner > GROUP_ELEMENTS) {
      j->loops->turn4(weights_at(j, column) + k / 2, (ptrdiff_t)w->row_bytes,
                      columns, count / 2, w->group, p->panel,
                      p->group_sums[0]);
      j->loops->turn8(
          (const uint8_t*)(scales + column * w->groups + group),
          (ptrdiff_t)(w->groups * sizeof(float)), columns,
          count / w->group * sizeof(float), (int8_t*)p->scales, unused);
    }
    j->loops->panel_groups(&block);
  }
  j->loops->totals(rows, w->groups, p->sums[0][0]);
}

static __attribute__((noinline)) void run_group_panel(const job* j,
                                                      size_t column,
                                                      size_t columns) {
  group_panel p;
  const size_t most =
      j->linear->weight.inner > GROUP_ELEMENTS ? GROUP_ROWS : GROUP_ROWS / 2;
  for (size_t row = 0; row < j->rows; row += most) {
    const size_t left = j->rows - row, rows = left < most ? left : most;
    multiply_groups(j, row, rows, column, columns, &p);
    const etx_int8_epilogue line = {.sums = p.sums,
                                .sum_row = COLUMNS,
                                .rows = rows,
                                .columns = columns};
    store(j, line, row, column);
  }
}

// Items are tiles.
static void run_tiles(const void* context, size_t first, size_t end) {
  const job* j = context;
  for (size_t item = first; item < end; ++item) {
    const size_t column = item * j->width, left = j->linear->columns - column;
    const size_t columns = left < j->width ? left : j->width;
    if (j->linear->weight.has_panels) {
      run_stored_panels(j, column, columns);
    } else if (j->has_panels && j->linear->weight.bits == 4) {
      run_group_panel(j, column, columns);
    } else if (j->has_panels) {
      run_panel(j, column, columns);
    } else if (j->linear->weight.bits == 4) {
      run_groups(j, column, columns);
    } else {
      run_stored(j, column, columns);
    }
  }
}

// Items are pieces of the tiles.
static void run_pieces(const void* context, size_t first, size_t end) {
  job j = *(const job*)context;
  for (size_t piece = first; piece < end; ++piece) {
    const size_t from = j.tiles * piece / ETX_ARGMAX_PIECES;
    j.best = etx_row_argmax_piece(j.linear->best, piece, piece > first, j.rows,
                                from * j.width);
    run_tiles(&j, from, j.tiles * (piece + 1) / ETX_ARGMAX_PIECES);
  }
}

// As many columns as a tile has sums for, as long as all threads have some.
static size_t width_of(const job* j, const etx_parallel* parallel) {
  const size_t rows = j->rows < LEAST_ROWS ? j->rows : LEAST_ROWS;
  const size_t most = SUMS / (rows + 1);
  size_t width = LEAST_WIDTH;
  if (j->has_panels) return COLUMNS;
  const size_t shared =
      parallel->thread_count < 2
          ? j->linear->columns
          : j->linear->columns / parallel->thread_count / ITEMS_PER_THREAD;
  for (; width * 2 <= most && width * 2 <= shared;) width *= 2;
  return width;
}

// Bytes of rows that pass together stay in a core's own cache, if weights need
// not be copied for each of several passes.
static size_t rows_together(const job* j) {
  enum { STEP = 12 };  // whose sums are in registers
  const size_t most = TOGETHER_BYTES / j->pitch;
  if (!j->linear->weight.has_panels || j->linear->out == NULL ||
      j->all <= most || most < STEP) {
    return j->all;
  }
  const size_t parts = (j->all + most - 1) / most;
  return (j->all / parts + STEP) / STEP * STEP;
}

static void run_together(job* j, const etx_parallel* parallel) {
  enum { ROW_WORK = 4 };  // operations on an element
  const etx_quantized_linear* l = j->linear;
  const double elements = (double)j->rows * (double)l->weight.inner;
  const double work = elements * (double)l->columns;
  etx_parallel_for(parallel, j->rows, ROW_WORK * elements, prepare_rows, j);
  if (!j->has_panels) memset(j->bytes + j->rows * j->pitch, 1, j->pitch);
  j->width = width_of(j, parallel);
  j->tiles = (l->columns + j->width - 1) / j->width;
  if (l->out != NULL) {
    etx_parallel_for(parallel, j->tiles, work, run_tiles, j);
  } else {
    etx_parallel_for(parallel, ETX_ARGMAX_PIECES, work, run_pieces, j);
  }
}

void etx_quantized_linear_int8_run(const etx_quantized_linear* linear,
                             const etx_int8_dot_loops* loops, void* temporary,
                             const etx_parallel* parallel) {
  job j = {.linear = linear,
           .loops = loops,
           .all = etx_linear_input_rows(linear->input),
           .is_plain = is_plain(linear)};
  layout rows;
  // The same sum as when the bytes were stated.
  j.rows = j.all;
  if (!lay_rows(j.rows, linear->weight.inner, &rows)) return;
  char* memory = temporary;
  memory += (LINE - (uintptr_t)memory % LINE) % LINE;
  j.bytes = (uint8_t*)memory;
  j.pitch = rows.pitch;
  j.numbers = (etx_int8_row_qparams*)(void*)(memory + rows.numbers);
  for (size_t row = j.rows; row < rows.rows; ++row) {
    j.numbers[row] = (etx_int8_row_qparams){0, 0};
  }
  if (linear->weight.bits == 8) {
    j.has_panels = j.rows >= LEAST_ROWS || linear->weight.has_panels;
  } else {
    const size_t least = LEAST_GROUP_ROWS * (is_far(&j) ? 2 : 1);
    j.has_panels = j.rows >= least && linear->weight.zeros == NULL;
  }
  const size_t most = rows_together(&j);
  for (; j.first < j.all; j.first += j.rows) {
    const size_t left = j.all - j.first;
    j.rows = left < most ? left : most;
    run_together(&j, parallel);
  }
}
