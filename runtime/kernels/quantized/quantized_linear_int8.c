#include "runtime/kernels/quantized/quantized_linear_int8.h"

#include "format/base/checked_math.h"
#include "runtime/kernels/core/convert.h"
#include "runtime/kernels/quantized/linear_input.h"
#include "runtime/kernels/simd/vector/prefetch.h"
#include "runtime/kernels/core/parallel_for.h"
#include "runtime/kernels/core/thread_tiles.h"

enum {
  COLUMNS = ETX_INT8_COLUMNS,
  PANEL_DEPTH = 1024,  // elements of a panel of 8-bit weights
  MAX_SUM_ROWS = 96,   // rows whose sums are kept while panels change
  ROWS_AT_ONCE = 24,
  MIN_INNER = 64,
  // With fewer rows, copying weights to panels does not pay.
  MIN_PANEL_ROWS = 24,
  MIN_GROUP_PANEL_ROWS = 7,
  GROUP_PANEL_DEPTH = 1024,  // elements of a panel of 4-bit weights
  GROUP_ROWS = 24,           // rows whose partial sums are kept
  MIN_GROUP = 32,
  PARTIAL_SUMS = 8,
  TILE_SUMS = 4096,  // sums of a tile of stored weights
  MIN_WIDTH = 64,
  ITEMS_PER_THREAD = 4,
  L2_BYTES = 2 << 20,         // larger weights are not in a core's L2
  L2_RESULT_BYTES = 1 << 18,  // larger results are not
  L2_ROW_BYTES = 1 << 18,     // input rows that stay there with a panel
  // The limit for weights if there is one row, as in decoding: the other layers
  // of the model have used the cache since the last call.
  L2_BYTES_SINGLE_ROW = 1 << 18,
  PAGE = 4096,  // rows at this distance share the same sets of L1
};

bool etx_quantized_linear_int8_supports(const etx_packed_weights* w) {
  if (w->inner < MIN_INNER || w->inner > ETX_INT8_MAX_DEPTH) return false;
  if (w->bits == 8) {
    return w->groups == 1 && w->zeros == NULL && w->dtype == ETX_DTYPE_INT8;
  }
  return (w->group == 32 || w->group == 64 || w->group == 128) &&
         w->groups * w->group == w->inner &&
         w->scale_dtype == ETX_DTYPE_FLOAT32;
}

// ------------------------------------------------ workspace

// The workspace: rows of bytes, a multiple of ETX_INT8_ROWS and at least one
// more than the input has, and the quantisation parameters of each row.
typedef struct row_workspace {
  size_t pitch, rows;  // pitch of the bytes; rows
  size_t qparams;      // offset of the quantisation parameters
  size_t bytes;
} row_workspace;

static bool lay_out_rows(size_t rows, size_t inner, row_workspace* out) {
  size_t qparams;
  if (!etx_add_size(inner, ETX_INT8_PIECE - 1, &out->pitch) ||
      !etx_add_size(rows, ETX_INT8_ROWS, &out->rows)) {
    return false;
  }
  out->pitch -= out->pitch % ETX_INT8_PIECE;
  if (out->pitch % PAGE == 0) out->pitch += ETX_CACHE_LINE_BYTES;
  out->rows -= out->rows % ETX_INT8_ROWS;
  return etx_multiply_size(out->pitch, out->rows, &out->qparams) &&
         etx_multiply_size(out->rows, sizeof(etx_int8_row_qparams), &qparams) &&
         etx_add_size(out->qparams, qparams, &out->bytes) &&
         etx_add_size(out->bytes, ETX_CACHE_LINE_BYTES, &out->bytes);
}

bool etx_quantized_linear_int8_bytes(size_t rows, size_t inner,
                                     size_t* out_bytes) {
  row_workspace l;
  *out_bytes = 0;
  if (rows == 0 || inner < MIN_INNER || inner > ETX_INT8_MAX_DEPTH) return true;
  if (!lay_out_rows(rows, inner, &l)) return false;
  *out_bytes = l.bytes;
  return true;
}

// The operands of a linear operator, which all its tiles share.
typedef struct int8_job {
  const etx_quantized_linear* linear;
  const etx_int8_dot_loops* loops;
  size_t all;          // rows of the input
  size_t first, rows;  // the part that is computed now
  uint8_t* bytes;      // rows of `pitch`
  size_t pitch;
  etx_int8_row_qparams* qparams;
  size_t width, tiles;   // columns of a tile; number of tiles
  etx_row_argmax* best;  // [rows] of an argmax piece; NULL: store results
  bool has_panels;       // weights are read as panels
  bool is_all_float32;   // bias, scales and results are float32
  const etx_thread_tiles* workspaces;
} int8_job;

// ------------------------------------------------ preparing the input

// The smallest and largest elements of four rows.
typedef struct row_ranges {
  float low[ETX_QPARAMS_ROWS], high[ETX_QPARAMS_ROWS];
} row_ranges;

static const char* row_at(const int8_job* j, size_t row) {
  return etx_linear_input_row(j->linear->input, j->first + row);
}
static const float* floats_at(const int8_job* j, size_t row) {
  return (const float*)(const void*)row_at(j, row);
}

// Chooses the parameters of four rows together: few instructions, but with long
// latencies, which overlap so.
static void choose_qparams(const int8_job* j, size_t row, size_t end,
                           const row_ranges* range_sets) {
  float scales[ETX_QPARAMS_ROWS];
  int32_t zeros[ETX_QPARAMS_ROWS];
  etx_qparams_of_ranges(range_sets->low, range_sets->high, scales, zeros);
  for (size_t r = 0; r < ETX_QPARAMS_ROWS && row + r < end; ++r) {
    j->qparams[row + r] = (etx_int8_row_qparams){scales[r], 128 + zeros[r]};
  }
}

// Quantises a row and, if `ahead_row` is below `end`, finds the range of that
// row in the same loop.
static void quantize_row(const int8_job* j, size_t row, size_t ahead_row,
                         size_t end, float* low, float* high) {
  const size_t inner = j->linear->weight.inner;
  const double inverse = 1.0 / (double)j->qparams[row].scale;
  const double zero = (double)(j->qparams[row].base - 128);
  uint8_t* out = j->bytes + row * j->pitch;
  if (ahead_row < end) {
    const etx_int8_quantize quantize = {floats_at(j, row), inner, inverse, zero,
                                        out};
    j->loops->quantize_and_range(&quantize, floats_at(j, ahead_row), low, high);
  } else {
    j->loops->quantize(floats_at(j, row), inner, inverse, zero, out);
  }
  if (j->linear->weight.bits == 4) j->loops->order4(out, inner);
}

// A software pipeline: ranges are found four rows before parameters are chosen,
// and these four rows before they are used, which hides their latencies.
static void prepare_dense_rows(const int8_job* j, size_t first, size_t end) {
  enum { FOUR = ETX_QPARAMS_ROWS };
  row_ranges range_sets[2] = {{{0}, {0}}, {{0}, {0}}};
  for (size_t r = 0; r < 2 * FOUR && first + r < end; ++r) {
    row_ranges* range = &range_sets[r / FOUR];
    j->loops->range(floats_at(j, first + r), j->linear->weight.inner,
                    &range->low[r % FOUR], &range->high[r % FOUR]);
  }
  choose_qparams(j, first, end, &range_sets[0]);
  for (size_t row = first; row < end; row += FOUR) {
    if (row + FOUR < end) choose_qparams(j, row + FOUR, end, &range_sets[1]);
    for (size_t r = 0; r < FOUR && row + r < end; ++r) {
      quantize_row(j, row + r, row + r + 2 * FOUR, end, &range_sets[1].low[r],
                   &range_sets[1].high[r]);
    }
  }
}

// A row of another type, or with strides.
static void prepare_row(const int8_job* j, size_t row) {
  const etx_tensor* input = j->linear->input;
  const size_t inner = j->linear->weight.inner;
  const char* from = row_at(j, row);
  const etx_qparams q = etx_linear_input_qparams(input, from);
  const etx_int8_row_qparams row_qparams = {(float)q.scale,
                                            128 + (int32_t)q.zero_point};
  uint8_t* out = j->bytes + row * j->pitch;
  for (size_t k = 0; k < inner; k += ETX_PACKED_CHUNK) {
    float chunk[ETX_PACKED_CHUNK];
    const size_t rest = inner - k;
    const size_t count = rest < ETX_PACKED_CHUNK ? rest : ETX_PACKED_CHUNK;
    etx_linear_input_load(input, from, k, count, chunk);
    j->loops->quantize(chunk, count, 1.0 / (double)row_qparams.scale,
                       (double)(row_qparams.base - 128), out + k);
  }
  j->qparams[row] = row_qparams;
  if (j->linear->weight.bits == 4) j->loops->order4(out, inner);
}

static void prepare_rows(const void* context, size_t first, size_t end) {
  const int8_job* j = context;
  if (etx_linear_input_is_dense(j->linear->input)) {
    prepare_dense_rows(j, first, end);
    return;
  }
  for (; first < end; ++first) prepare_row(j, first);
}

// ------------------------------------------------ epilogue

// Parameters of columns as float32: in place, or converted to `buffer`.
static const float* as_floats(etx_dtype dtype, const void* data, size_t column,
                              size_t columns, float* buffer) {
  const char* from = (const char*)data + column * etx_dtype_bytes(dtype);
  if (dtype == ETX_DTYPE_FLOAT32) return (const float*)(const void*)from;
  etx_convert(ETX_DTYPE_FLOAT32, buffer, 1, dtype, from, 1, columns);
  return buffer;
}

// The general epilogue, for other types and for argmax: row by row, through
// buffers on the stack.
static void store_rows(const int8_job* j, etx_int8_epilogue epilogue,
                       size_t row, size_t column) {
  const etx_quantized_linear* l = j->linear;
  const etx_packed_weights* w = &l->weight;
  const size_t columns = epilogue.columns, rows = epilogue.rows;
  for (size_t c = 0; c < columns; c += COLUMNS) {
    float scales[COLUMNS], bias[COLUMNS], results[COLUMNS];
    const size_t at = column + c, left = columns - c;
    etx_int8_epilogue part = epilogue;
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
          (const int32_t*)epilogue.sums + (ptrdiff_t)r * epilogue.sum_row + c;
      part.row_qparams = epilogue.row_qparams + r;
      j->loops->last(&part);
      if (j->best != NULL) {
        etx_row_argmax_update_row(&j->best[row + r], results, at, part.columns);
        continue;
      }
      const etx_dtype dtype = l->out->dtype;
      char* out =
          (char*)l->out->data +
          ((j->first + row + r) * l->columns + at) * etx_dtype_bytes(dtype);
      etx_convert(dtype, out, 1, ETX_DTYPE_FLOAT32, results, 1, part.columns);
    }
  }
}

static bool is_all_float32(const etx_quantized_linear* l) {
  return (l->out == NULL || l->out->dtype == ETX_DTYPE_FLOAT32) &&
         l->weight.scale_dtype == ETX_DTYPE_FLOAT32 &&
         (l->bias == NULL || l->bias->dtype == ETX_DTYPE_FLOAT32);
}

// Sets the parameters of an epilogue that begins at a row and a column, and the
// address of its results or of the argmax.
static void set_epilogue(const int8_job* j, size_t row, size_t column,
                         etx_int8_epilogue* epilogue) {
  const etx_quantized_linear* l = j->linear;
  epilogue->row_qparams = j->qparams + row;
  if (!j->is_all_float32) return;
  epilogue->scales = (const float*)(const void*)l->weight.scales + column;
  if (l->bias != NULL) epilogue->bias = (const float*)l->bias->data + column;
  if (j->best != NULL) {
    epilogue->best = j->best + row;
    epilogue->column = column;
    return;
  }
  epilogue->out = (float*)l->out->data + (j->first + row) * l->columns + column;
  epilogue->out_row = (ptrdiff_t)l->columns;
  epilogue->is_far = l->columns > L2_RESULT_BYTES / sizeof(float) / j->all;
}

// Applies an epilogue that begins at a row and a column.
static void store(const int8_job* j, etx_int8_epilogue epilogue, size_t row,
                  size_t column) {
  set_epilogue(j, row, column, &epilogue);
  if (j->is_all_float32 && j->best == NULL) {
    j->loops->last(&epilogue);
  } else {
    store_rows(j, epilogue, row, column);
  }
}

// ------------------------------------------------ tiles

static const uint8_t* weights_at(const int8_job* j, size_t column) {
  const etx_packed_weights* w = &j->linear->weight;
  return w->data + column * w->row_bytes;
}

static bool is_far(const int8_job* j) {
  const size_t near = j->rows == 1 ? L2_BYTES_SINGLE_ROW - 1 : L2_BYTES;
  return j->linear->weight.row_bytes > near / j->linear->columns;
}

// The tile of stored 4-bit weights.
typedef struct stored_tile {
  float sums[TILE_SUMS];
  int32_t group_sums[ETX_INT4_DOT_SUMS];
} stored_tile;

// All rows times stored 4-bit weights.
static __attribute__((noinline)) void run_stored_4bit(const int8_job* j,
                                                      size_t column,
                                                      size_t columns,
                                                      stored_tile* tile) {
  const etx_packed_weights* w = &j->linear->weight;
  float* const sums = tile->sums;
  for (size_t row = 0; row < j->rows; row += MIN_PANEL_ROWS) {
    const size_t left = j->rows - row;
    const size_t rows = left < MIN_PANEL_ROWS ? left : MIN_PANEL_ROWS;
    const etx_int4_dot_block block = {
        .left = j->bytes + row * j->pitch,
        .left_row = (ptrdiff_t)j->pitch,
        .row_qparams = j->qparams + row,
        .right = weights_at(j, column),
        .right_row = (ptrdiff_t)w->row_bytes,
        .scales = (const float*)(const void*)w->scales + column * w->groups,
        .zeros = w->zeros == NULL ? NULL : w->zeros + column * w->groups,
        .rows = rows,
        .columns = columns,
        .group = w->group,
        .groups = w->groups,
        .sums = sums,
        .is_far = row == 0 && is_far(j),
        .group_sums = tile->group_sums};
    const etx_int8_epilogue epilogue = {.sums = sums,
                                        .sum_row = (ptrdiff_t)columns,
                                        .rows = rows,
                                        .columns = columns};
    j->loops->groups(&block);
    store(j, epilogue, row, column);
  }
}

// All rows, and a row of ones that gives the sums of the weights, times stored
// 8-bit weights.
static __attribute__((noinline)) void run_stored_8bit(const int8_job* j,
                                                      size_t column,
                                                      size_t columns,
                                                      int32_t* sums) {
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
  const etx_int8_epilogue epilogue = {.sums = sums,
                                      .sum_row = (ptrdiff_t)columns,
                                      .column_sums = sums + j->rows * columns,
                                      .rows = j->rows,
                                      .columns = columns};
  j->loops->dots(&block);
  store(j, epilogue, 0, column);
}

// The next rows of weights, to be prefetched.
typedef struct prefetch_range {
  const uint8_t* from;
  size_t rows, bytes;
} prefetch_range;

// The weights to prefetch while `rows` rows from `row` on are multiplied: their
// share of the panel that follows the one at element k.
static prefetch_range next_weights(const int8_job* j, size_t column, size_t k,
                                   size_t max_rows, size_t row, size_t rows) {
  const etx_packed_weights* w = &j->linear->weight;
  k += max_rows;
  if (k >= w->inner) {
    k = 0;
    column += COLUMNS;
  }
  if (column >= j->linear->columns) return (prefetch_range){NULL, 0, 0};
  const size_t left = j->linear->columns - column;
  const size_t columns = left < COLUMNS ? left : COLUMNS;
  const size_t first = columns * row / j->rows;
  size_t end = columns * (row + rows) / j->rows;
  if (end > columns) end = columns;
  const size_t elements = w->inner - k < max_rows ? w->inner - k : max_rows;
  return (prefetch_range){weights_at(j, column + first) + k * w->bits / 8,
                          end - first, elements * w->bits / 8};
}

// A panel of 4-bit weights, its parameters and its partial sums.
typedef struct group_panel {
  int8_t panel[GROUP_PANEL_DEPTH * COLUMNS];
  float sums[GROUP_ROWS][PARTIAL_SUMS][COLUMNS];
  float scales[GROUP_PANEL_DEPTH / MIN_GROUP][COLUMNS];
  int32_t group_sums[GROUP_PANEL_DEPTH / MIN_GROUP][COLUMNS];
} group_panel;

// A panel of 8-bit weights and its sums.
typedef struct byte_panel {
  int8_t panel[PANEL_DEPTH * COLUMNS];
  int32_t sums[MAX_SUM_ROWS * COLUMNS];
  int32_t column_sums[COLUMNS];
} byte_panel;

size_t etx_quantized_linear_int8_tile(size_t rows, size_t bits) {
  const size_t stored =
      bits == 4 ? sizeof(stored_tile) : TILE_SUMS * sizeof(float);
  const size_t panel = bits == 4 ? sizeof(group_panel) : sizeof(byte_panel);
  const size_t least = bits == 4 ? MIN_GROUP_PANEL_ROWS : MIN_PANEL_ROWS;
  return rows < least ? stored : panel;
}

// Rows and the columns of a panel, with their buffers in the thread's tile.
typedef struct panel_tile {
  size_t row, rows, column, columns;
  int8_t* panel;                      // [PANEL_DEPTH, COLUMNS]
  int32_t* column_sums;               // [COLUMNS]: sums of the weights
  int32_t* sums;                      // [rows, COLUMNS]
  const etx_int8_epilogue* epilogue;  // NULL: sums are stored
} panel_tile;

// Multiplies the rows of a tile with all panels of its columns. If the columns
// have a single panel, it is made for the first rows and reused for the others.
static void multiply_panel(const int8_job* j, const panel_tile* t) {
  const etx_packed_weights* w = &j->linear->weight;
  for (size_t k = 0; k < w->inner; k += PANEL_DEPTH) {
    const size_t left = w->inner - k;
    const size_t count = left < PANEL_DEPTH ? left : PANEL_DEPTH;
    const prefetch_range next =
        next_weights(j, t->column, k, PANEL_DEPTH, t->row, t->rows);
    const etx_int8_panel block = {
        .left = j->bytes + t->row * j->pitch + k,
        .left_row = (ptrdiff_t)j->pitch,
        .panel = t->panel,
        .panel_row = 4 * COLUMNS,
        .panel_part = 2 * COLUMNS,
        .rows = (t->rows + ETX_INT8_ROWS - 1) / ETX_INT8_ROWS * ETX_INT8_ROWS,
        .count = (count + 3) / 4 * 4,
        .epilogue = left <= PANEL_DEPTH ? t->epilogue : NULL,
        .sums = t->sums,
        .starts = k == 0,
        .next = next.from,
        .next_row = (ptrdiff_t)w->row_bytes,
        .next_rows = next.rows,
        .next_bytes = next.bytes};
    if (t->row == 0 || w->inner > PANEL_DEPTH) {
      if (k == 0) memset(t->column_sums, 0, COLUMNS * sizeof(int32_t));
      j->loops->pack8(weights_at(j, t->column) + k, (ptrdiff_t)w->row_bytes,
                      t->columns, count, t->panel, t->column_sums);
    }
    j->loops->whole(&block);
  }
}

static __attribute__((noinline)) void run_8bit_panel(const int8_job* j,
                                                     size_t column,
                                                     size_t columns,
                                                     byte_panel* p) {
  const bool stores_directly = j->is_all_float32 && columns == COLUMNS;
  // Results that are stored from registers need no buffer for sums.
  const size_t short_rows = stores_directly ? j->rows : ROWS_AT_ONCE;
  const size_t max_rows =
      j->linear->weight.inner > PANEL_DEPTH ? MAX_SUM_ROWS : short_rows;
  for (size_t row = 0; row < j->rows; row += max_rows) {
    const size_t left = j->rows - row, rows = left < max_rows ? left : max_rows;
    etx_int8_epilogue epilogue = {.sums = p->sums,
                                  .sum_row = COLUMNS,
                                  .column_sums = p->column_sums,
                                  .rows = rows,
                                  .columns = columns};
    set_epilogue(j, row, column, &epilogue);
    const panel_tile tile = {.row = row,
                             .rows = rows,
                             .column = column,
                             .columns = columns,
                             .panel = p->panel,
                             .column_sums = p->column_sums,
                             .sums = p->sums,
                             .epilogue = stores_directly ? &epilogue : NULL};
    multiply_panel(j, &tile);
    if (!stores_directly) store(j, epilogue, row, column);
  }
}

// Panels that the file has are read in place, with all their elements. Two of
// them (32 columns) form a tile whose results are stored from registers. If the
// last tile has one panel, both halves of the tile read it, and one is stored.
// The last panel may have fewer columns than 16.
static __attribute__((noinline)) void run_file_panels(const int8_job* j,
                                                      size_t column,
                                                      size_t columns) {
  _Alignas(ETX_CACHE_LINE_BYTES) int32_t sums[ROWS_AT_ONCE * COLUMNS];
  const etx_packed_weights* w = &j->linear->weight;
  const size_t next_column = column + columns,
               left = j->linear->columns - next_column;
  const size_t next =
      (left < COLUMNS ? left : COLUMNS) * w->inner / ETX_CACHE_LINE_BYTES;
  etx_int8_epilogue epilogue = {.sums = sums,
                                .sum_row = COLUMNS,
                                .column_sums = j->linear->sums + column,
                                .columns = columns};
  const bool stores_directly = j->is_all_float32 && columns == COLUMNS;
  const size_t max_rows = stores_directly ? j->rows : ROWS_AT_ONCE;
  for (size_t row = 0; row < j->rows; row += max_rows) {
    const size_t rows_left = j->rows - row;
    epilogue.rows = rows_left < max_rows ? rows_left : max_rows;
    set_epilogue(j, row, column, &epilogue);
    const etx_int8_panel block = {
        .left = j->bytes + row * j->pitch,
        .left_row = (ptrdiff_t)j->pitch,
        .panel = etx_packed_panel(w, column, 0),
        .panel_row = ETX_PACKED_PANEL * ETX_PACKED_INTERLEAVE,
        .panel_part = columns <= ETX_PACKED_PANEL
                          ? 0
                          : (ptrdiff_t)(ETX_PACKED_PANEL * w->inner),
        .rows =
            (epilogue.rows + ETX_INT8_ROWS - 1) / ETX_INT8_ROWS * ETX_INT8_ROWS,
        .count = w->inner,
        .epilogue = stores_directly ? &epilogue : NULL,
        .sums = sums,
        .starts = true,
        .next = w->data + next_column * w->inner,
        .next_rows = row == 0 && next > 0 ? 1 : 0,
        .next_bytes = next * ETX_CACHE_LINE_BYTES};
    j->loops->whole(&block);
    if (!stores_directly) store(j, epilogue, row, column);
  }
}

// The same as multiply_panel for 4-bit weights. The scales of groups are
// transposed with the loop for bytes.
static void multiply_4bit_panel(const int8_job* j, size_t row, size_t rows,
                                size_t column, size_t columns, group_panel* p) {
  const etx_packed_weights* w = &j->linear->weight;
  const float* scales = (const float*)(const void*)w->scales;
  const size_t all = (rows + ETX_INT8_ROWS - 1) / ETX_INT8_ROWS * ETX_INT8_ROWS;
  for (size_t k = 0; k < w->inner; k += GROUP_PANEL_DEPTH) {
    int32_t unused[COLUMNS] = {0};
    const size_t left = w->inner - k, group = k / w->group;
    const size_t count = left < GROUP_PANEL_DEPTH ? left : GROUP_PANEL_DEPTH;
    // Prefetching weights that are in L2 costs more than it saves.
    prefetch_range next = {NULL, 0, 0};
    if (is_far(j))
      next = next_weights(j, column, k, GROUP_PANEL_DEPTH, row, rows);
    const etx_int4_panel block = {.left = j->bytes + row * j->pitch + k,
                                  .left_row = (ptrdiff_t)j->pitch,
                                  .row_qparams = j->qparams + row,
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
    if (row == 0 || w->inner > GROUP_PANEL_DEPTH) {
      const etx_int4_pack pack = {.in = weights_at(j, column) + k / 2,
                                  .row = (ptrdiff_t)w->row_bytes,
                                  .columns = columns,
                                  .count = count / 2,
                                  .group = w->group,
                                  .out = p->panel,
                                  .group_sums = p->group_sums[0]};
      j->loops->pack4(&pack);
      j->loops->pack8((const uint8_t*)(scales + column * w->groups + group),
                      (ptrdiff_t)(w->groups * sizeof(float)), columns,
                      count / w->group * sizeof(float), (int8_t*)p->scales,
                      unused);
    }
    j->loops->panel_groups(&block);
  }
  j->loops->totals(rows, w->groups, p->sums[0][0]);
}

static __attribute__((noinline)) void run_4bit_panel(const int8_job* j,
                                                     size_t column,
                                                     size_t columns,
                                                     group_panel* p) {
  const size_t max_rows =
      j->linear->weight.inner > GROUP_PANEL_DEPTH ? GROUP_ROWS : GROUP_ROWS / 2;
  for (size_t row = 0; row < j->rows; row += max_rows) {
    const size_t left = j->rows - row, rows = left < max_rows ? left : max_rows;
    multiply_4bit_panel(j, row, rows, column, columns, p);
    const etx_int8_epilogue epilogue = {
        .sums = p->sums, .sum_row = COLUMNS, .rows = rows, .columns = columns};
    store(j, epilogue, row, column);
  }
}

// Computes tiles [first, end).
static void run_tiles(const void* context, void* tile, size_t first,
                      size_t end) {
  const int8_job* j = context;
  for (size_t item = first; item < end; ++item) {
    const size_t column = item * j->width, left = j->linear->columns - column;
    const size_t columns = left < j->width ? left : j->width;
    if (j->linear->weight.has_panels) {
      run_file_panels(j, column, columns);
    } else if (j->has_panels && j->linear->weight.bits == 4) {
      run_4bit_panel(j, column, columns, tile);
    } else if (j->has_panels) {
      run_8bit_panel(j, column, columns, tile);
    } else if (j->linear->weight.bits == 4) {
      run_stored_4bit(j, column, columns, tile);
    } else {
      run_stored_8bit(j, column, columns, tile);
    }
  }
}

// Computes argmax pieces [first, end), each of which has several tiles.
static void run_argmax_pieces(const void* context, void* tile, size_t first,
                              size_t end) {
  int8_job j = *(const int8_job*)context;
  for (size_t piece = first; piece < end; ++piece) {
    const size_t from = j.tiles * piece / ETX_ARGMAX_PIECES;
    j.best = etx_row_argmax_piece(j.linear->best, piece, piece > first, j.rows,
                                  from * j.width);
    run_tiles(&j, tile, from, j.tiles * (piece + 1) / ETX_ARGMAX_PIECES);
  }
}

// The columns of a tile: as many as its sums allow, if all threads get tiles.
static size_t width_of(const int8_job* j, const etx_parallel* parallel) {
  const size_t rows = j->rows < MIN_PANEL_ROWS ? j->rows : MIN_PANEL_ROWS;
  const size_t max_rows = TILE_SUMS / (rows + 1);
  size_t width = MIN_WIDTH;
  if (j->has_panels) return COLUMNS;
  const size_t per_item =
      parallel->thread_count < 2
          ? j->linear->columns
          : j->linear->columns / parallel->thread_count / ITEMS_PER_THREAD;
  for (; width * 2 <= max_rows && width * 2 <= per_item;) width *= 2;
  return width;
}

// The rows of a part. Many rows are split into parts whose bytes stay in L2, if
// the weights need not be copied for each part.
static size_t rows_per_part(const int8_job* j) {
  enum { STEP = 12 };  // rows of a register block
  const size_t max_rows = L2_ROW_BYTES / j->pitch;
  if (!j->linear->weight.has_panels || j->linear->out == NULL ||
      j->all <= max_rows || max_rows < STEP) {
    return j->all;
  }
  const size_t parts = (j->all + max_rows - 1) / max_rows;
  return (j->all / parts + STEP) / STEP * STEP;
}

static void run_row_part(int8_job* j, const etx_parallel* parallel) {
  enum { ROW_WORK = 4 };  // operations per element
  const etx_quantized_linear* l = j->linear;
  const double elements = (double)j->rows * (double)l->weight.inner;
  const double work = elements * (double)l->columns;
  etx_parallel_for(parallel, j->rows, ROW_WORK * elements, prepare_rows, j);
  if (!j->has_panels) memset(j->bytes + j->rows * j->pitch, 1, j->pitch);
  j->width = width_of(j, parallel);
  j->tiles = (l->columns + j->width - 1) / j->width;
  if (l->out != NULL) {
    etx_parallel_for_tiled(parallel, j->tiles, work, run_tiles, j,
                           j->workspaces);
  } else {
    etx_parallel_for_tiled(parallel, ETX_ARGMAX_PIECES, work, run_argmax_pieces,
                           j, j->workspaces);
  }
}

void etx_quantized_linear_int8_run(const etx_quantized_linear* linear,
                                   const etx_int8_dot_loops* loops,
                                   void* temporary,
                                   const etx_thread_tiles* tiles,
                                   const etx_parallel* parallel) {
  int8_job j = {.linear = linear,
                .loops = loops,
                .all = etx_linear_input_rows(linear->input),
                .is_all_float32 = is_all_float32(linear),
                .workspaces = tiles};
  row_workspace rows;
  j.rows = j.all;
  // Cannot overflow: etx_quantized_linear_int8_bytes computed the same.
  if (!lay_out_rows(j.rows, linear->weight.inner, &rows)) return;
  char* memory = temporary;
  memory += (ETX_CACHE_LINE_BYTES - (uintptr_t)memory % ETX_CACHE_LINE_BYTES) %
            ETX_CACHE_LINE_BYTES;
  j.bytes = (uint8_t*)memory;
  j.pitch = rows.pitch;
  j.qparams = (etx_int8_row_qparams*)(void*)(memory + rows.qparams);
  for (size_t row = j.rows; row < rows.rows; ++row) {
    j.qparams[row] = (etx_int8_row_qparams){0, 0};
  }
  if (linear->weight.bits == 8) {
    j.has_panels = j.rows >= MIN_PANEL_ROWS || linear->weight.has_panels;
  } else {
    const size_t least = MIN_GROUP_PANEL_ROWS * (is_far(&j) ? 2 : 1);
    j.has_panels = j.rows >= least && linear->weight.zeros == NULL;
  }
  const size_t max_rows = rows_per_part(&j);
  for (; j.first < j.all; j.first += j.rows) {
    const size_t left = j.all - j.first;
    j.rows = left < max_rows ? left : max_rows;
    run_row_part(&j, parallel);
  }
}
