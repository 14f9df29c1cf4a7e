#include "runtime/kernels/quantized/quantized_linear_int8.h"

#include "format/base/checked_math.h"
#include "runtime/kernels/quantized/linear_input.h"
#include "runtime/kernels/quantized/quantized_linear_int4.h"
#include "runtime/kernels/simd/vector/prefetch.h"
#include "runtime/kernels/core/parallel_for.h"

enum {
  COLUMNS = ETX_INT8_COLUMNS,
  PANEL_DEPTH = 1024,  // elements of a panel of 8-bit weights
  MAX_SUM_ROWS = 96,   // rows whose sums are kept while panels change
  ROWS_AT_ONCE = 24,
  MIN_INNER = 64,
  // With fewer rows, copying weights to panels does not pay.
  MIN_PANEL_ROWS = 24,
  MIN_GROUP = 32,
  TILE_SUMS = 4096,  // sums of a tile of stored weights
  MIN_WIDTH = 64,
  ITEMS_PER_THREAD = 4,
  L2_BYTES = 2 << 20,      // larger weights are not in a core's L2
  L2_ROW_BYTES = 1 << 18,  // input rows that stay there with a panel
  // The limit for weights if there is one row, as in decoding: the other layers
  // of the model have used the cache since the last call.
  L2_BYTES_SINGLE_ROW = 1 << 18,
  PAGE = 4096,  // rows at this distance share the same sets of L1
};

bool etx_quantized_linear_int8_supports(const etx_packed_weights* w,
                                        const etx_int8_dot_loops* loops) {
  if (w->inner < MIN_INNER || w->inner > ETX_INT8_MAX_DEPTH) return false;
  if (w->bits == 8) {
    return loops->dots != NULL && w->groups == 1 && w->zeros == NULL &&
           w->dtype == ETX_DTYPE_INT8;
  }
  return etx_quantized_linear_int4_supports(w, loops);
}

// ------------------------------------------------ workspace

// The workspace: rows of bytes, a multiple of ETX_INT8_ROWS and at least one
// more than the input has, the quantisation parameters of each row, and, for
// 4-bit weights, pairs of parameters of each row's groups.
typedef struct row_workspace {
  size_t pitch, rows;     // pitch of the bytes; rows
  size_t qparams, pairs;  // offsets
  size_t bytes;
} row_workspace;

static bool lay_out_rows(size_t rows, size_t inner, size_t bits,
                         row_workspace* out) {
  size_t qparams, pairs;
  const size_t row_pairs = bits == 4 ? inner / MIN_GROUP * sizeof(int32_t) : 0;
  if (!etx_add_size(inner, ETX_INT8_PIECE - 1, &out->pitch) ||
      !etx_add_size(rows, ETX_INT8_ROWS, &out->rows)) {
    return false;
  }
  out->pitch -= out->pitch % ETX_INT8_PIECE;
  if (out->pitch % PAGE == 0) out->pitch += ETX_CACHE_LINE_BYTES;
  out->rows -= out->rows % ETX_INT8_ROWS;
  return etx_multiply_size(out->pitch, out->rows, &out->qparams) &&
         etx_multiply_size(out->rows, sizeof(etx_int8_row_qparams), &qparams) &&
         etx_multiply_size(out->rows, row_pairs, &pairs) &&
         etx_add_size(out->qparams, qparams, &out->pairs) &&
         etx_add_size(out->pairs, pairs, &out->bytes) &&
         etx_add_size(out->bytes, ETX_CACHE_LINE_BYTES, &out->bytes);
}

bool etx_quantized_linear_int8_bytes(size_t rows, size_t inner, size_t bits,
                                     size_t* out_bytes) {
  row_workspace l;
  *out_bytes = 0;
  if (rows == 0 || inner < MIN_INNER || inner > ETX_INT8_MAX_DEPTH) return true;
  if (!lay_out_rows(rows, inner, bits, &l)) return false;
  *out_bytes = l.bytes;
  return true;
}

// ------------------------------------------------ preparing the input

// The smallest and largest elements of four rows.
typedef struct row_ranges {
  float low[ETX_QPARAMS_ROWS], high[ETX_QPARAMS_ROWS];
} row_ranges;

static const char* row_at(const etx_int8_job* j, size_t row) {
  return etx_linear_input_row(j->linear->input, j->first + row);
}
static const float* floats_at(const etx_int8_job* j, size_t row) {
  return (const float*)(const void*)row_at(j, row);
}

// Chooses the parameters of four rows together: few instructions, but with long
// latencies, which overlap so.
static void choose_qparams(const etx_int8_job* j, size_t row, size_t end,
                           const row_ranges* range_sets) {
  float scales[ETX_QPARAMS_ROWS];
  int32_t zeros[ETX_QPARAMS_ROWS];
  etx_qparams_of_ranges(range_sets->low, range_sets->high, scales, zeros);
  for (size_t r = 0; r < ETX_QPARAMS_ROWS && row + r < end; ++r) {
    j->qparams[row + r] = (etx_int8_row_qparams){scales[r], 128 + zeros[r]};
  }
}

// Orders the bytes of a row for weights of 4 bits and, where zero points of
// weights need them, sums the integers of its groups.
static void finish_4bit_row(const etx_int8_job* j, size_t row) {
  const etx_packed_weights* w = &j->linear->weight;
  uint8_t* bytes = j->bytes + row * j->pitch;
  const int32_t base = j->qparams[row].base;
  const int shift = etx_int8_job_shift(j);
  for (size_t g = 0; g < w->groups && j->row_pairs != NULL; ++g) {
    int32_t sum = -base * (int32_t)w->group;
    for (size_t i = 0; i < w->group; ++i) sum += bytes[g * w->group + i];
    j->row_pairs[row * w->groups + g] =
        (int32_t)((uint32_t)sum << 16 | (uint32_t)base << shift);
  }
  j->loops->order4(bytes, w->inner);
}

// Quantises a row and, if `ahead_row` is below `end`, finds the range of that
// row in the same loop.
static void quantize_row(const etx_int8_job* j, size_t row, size_t ahead_row,
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
  if (j->linear->weight.bits == 4) finish_4bit_row(j, row);
}

// A software pipeline: ranges are found four rows before parameters are chosen,
// and these four rows before they are used, which hides their latencies.
static void prepare_dense_rows(const etx_int8_job* j, size_t first,
                               size_t end) {
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
static void prepare_row(const etx_int8_job* j, size_t row) {
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
  if (j->linear->weight.bits == 4) finish_4bit_row(j, row);
}

static void prepare_rows(const void* context, size_t first, size_t end) {
  const etx_int8_job* j = context;
  if (etx_linear_input_is_dense(j->linear->input)) {
    prepare_dense_rows(j, first, end);
    return;
  }
  for (; first < end; ++first) prepare_row(j, first);
}

// ------------------------------------------------ tiles

static bool is_far(const etx_int8_job* j) {
  const size_t near = j->rows == 1 ? L2_BYTES_SINGLE_ROW - 1 : L2_BYTES;
  return j->linear->weight.row_bytes > near / j->linear->columns;
}

// The tile of stored 4-bit weights.
typedef struct stored_tile {
  float sums[TILE_SUMS];
  int32_t group_sums[ETX_INT4_DOT_SUMS];
} stored_tile;

// All rows times stored 4-bit weights.
static __attribute__((noinline)) void run_stored_4bit(const etx_int8_job* j,
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
        .right = etx_int8_job_weights(j, column),
        .right_row = (ptrdiff_t)w->row_bytes,
        .scales = etx_int8_job_scales(j, column),
        .params = w->params == NULL ? NULL : w->params + column * w->groups,
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
    etx_int8_job_store(j, epilogue, row, column);
  }
}

// All rows, and a row of ones that gives the sums of the weights, times stored
// 8-bit weights.
static __attribute__((noinline)) void run_stored_8bit(const etx_int8_job* j,
                                                      size_t column,
                                                      size_t columns,
                                                      int32_t* sums) {
  const etx_packed_weights* w = &j->linear->weight;
  const etx_int8_dot_block block = {.left = j->bytes,
                                    .left_row = (ptrdiff_t)j->pitch,
                                    .right = etx_int8_job_weights(j, column),
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
  etx_int8_job_store(j, epilogue, 0, column);
}

// A panel of 8-bit weights and its sums.
typedef struct byte_panel {
  int8_t panel[PANEL_DEPTH * COLUMNS];
  int32_t sums[MAX_SUM_ROWS * COLUMNS];
  int32_t column_sums[COLUMNS];
} byte_panel;

size_t etx_quantized_linear_int8_tile(size_t rows, size_t inner, size_t bits) {
  if (bits == 8) {
    return rows < MIN_PANEL_ROWS ? TILE_SUMS * sizeof(float)
                                 : sizeof(byte_panel);
  }
  const size_t panels = etx_quantized_linear_int4_tile(rows, inner);
  return panels > sizeof(stored_tile) ? panels : sizeof(stored_tile);
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
static void multiply_panel(const etx_int8_job* j, const panel_tile* t) {
  const etx_packed_weights* w = &j->linear->weight;
  for (size_t k = 0; k < w->inner; k += PANEL_DEPTH) {
    const size_t left = w->inner - k;
    const size_t count = left < PANEL_DEPTH ? left : PANEL_DEPTH;
    const etx_int8_next_weights next = etx_int8_job_next(
        j, t->column, k + PANEL_DEPTH, PANEL_DEPTH, t->row, t->rows);
    const etx_int8_panel block = {
        .left = j->bytes + t->row * j->pitch + k,
        .left_row = (ptrdiff_t)j->pitch,
        .panel = t->panel,
        .panel_row = 4 * COLUMNS,
        .panel_part = 2 * COLUMNS,
        .rows = etx_int8_whole_rows(t->rows),
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
      j->loops->pack8(etx_int8_job_weights(j, t->column) + k,
                      (ptrdiff_t)w->row_bytes, t->columns, count, t->panel,
                      t->column_sums);
    }
    j->loops->whole(&block);
  }
}

static __attribute__((noinline)) void run_8bit_panel(const etx_int8_job* j,
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
    etx_int8_job_set_epilogue(j, row, column, &epilogue);
    const panel_tile tile = {.row = row,
                             .rows = rows,
                             .column = column,
                             .columns = columns,
                             .panel = p->panel,
                             .column_sums = p->column_sums,
                             .sums = p->sums,
                             .epilogue = stores_directly ? &epilogue : NULL};
    multiply_panel(j, &tile);
    if (!stores_directly) etx_int8_job_store(j, epilogue, row, column);
  }
}

// Panels that the file has are read in place, with all their elements. Two of
// them (32 columns) form a tile whose results are stored from registers. If the
// last tile has one panel, both halves of the tile read it, and one is stored.
// The last panel may have fewer columns than 16.
static __attribute__((noinline)) void run_file_panels(const etx_int8_job* j,
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
    etx_int8_job_set_epilogue(j, row, column, &epilogue);
    const etx_int8_panel block = {
        .left = j->bytes + row * j->pitch,
        .left_row = (ptrdiff_t)j->pitch,
        .panel = etx_packed_panel(w, column, 0),
        .panel_row = ETX_PACKED_PANEL * ETX_PACKED_INTERLEAVE,
        .panel_part = columns <= ETX_PACKED_PANEL
                          ? 0
                          : (ptrdiff_t)(ETX_PACKED_PANEL * w->inner),
        .rows = etx_int8_whole_rows(epilogue.rows),
        .count = w->inner,
        .epilogue = stores_directly ? &epilogue : NULL,
        .sums = sums,
        .starts = true,
        .next = w->data + next_column * w->inner,
        .next_rows = row == 0 && next > 0 ? 1 : 0,
        .next_bytes = next * ETX_CACHE_LINE_BYTES};
    j->loops->whole(&block);
    if (!stores_directly) etx_int8_job_store(j, epilogue, row, column);
  }
}

// Computes tiles [first, end).
static void run_tiles(const void* context, void* tile, size_t first,
                      size_t end) {
  const etx_int8_job* j = context;
  for (size_t item = first; item < end; ++item) {
    const size_t column = item * j->width, left = j->linear->columns - column;
    const size_t columns = left < j->width ? left : j->width;
    if (j->linear->weight.has_panels) {
      run_file_panels(j, column, columns);
    } else if (j->has_panels && j->linear->weight.bits == 4) {
      etx_quantized_linear_int4_run(j, column, columns, tile);
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
  etx_int8_job j = *(const etx_int8_job*)context;
  for (size_t piece = first; piece < end; ++piece) {
    const size_t from = j.tiles * piece / ETX_ARGMAX_PIECES;
    j.best = etx_row_argmax_piece(j.linear->best, piece, piece > first, j.rows,
                                  from * j.width);
    run_tiles(&j, tile, from, j.tiles * (piece + 1) / ETX_ARGMAX_PIECES);
  }
}

// The columns of a tile: as many as its sums allow, if all threads get tiles.
static size_t width_of(const etx_int8_job* j, const etx_parallel* parallel) {
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
static size_t rows_per_part(const etx_int8_job* j) {
  enum { STEP = 12 };  // rows of a register block
  const size_t max_rows = L2_ROW_BYTES / j->pitch;
  if (!j->linear->weight.has_panels || j->linear->out == NULL ||
      j->all <= max_rows || max_rows < STEP) {
    return j->all;
  }
  const size_t parts = (j->all + max_rows - 1) / max_rows;
  return (j->all / parts + STEP) / STEP * STEP;
}

static bool is_all_float32(const etx_quantized_linear* l) {
  return (l->out == NULL || l->out->dtype == ETX_DTYPE_FLOAT32) &&
         l->weight.scale_dtype == ETX_DTYPE_FLOAT32 &&
         (l->bias == NULL || l->bias->dtype == ETX_DTYPE_FLOAT32);
}

static void run_row_part(etx_int8_job* j, const etx_parallel* parallel) {
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
  etx_int8_job j = {.linear = linear,
                    .loops = loops,
                    .all = etx_linear_input_rows(linear->input),
                    .is_all_float32 = is_all_float32(linear),
                    .workspaces = tiles};
  row_workspace rows;
  j.rows = j.all;
  // Cannot overflow: etx_quantized_linear_int8_bytes computed the same.
  if (!lay_out_rows(j.rows, linear->weight.inner, linear->weight.bits, &rows)) {
    return;
  }
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
    j.has_panels = etx_quantized_linear_int4_has_panels(&j);
  }
  if (j.has_panels && etx_packed_has_zeros(&linear->weight)) {
    const size_t pairs = rows.rows * linear->weight.groups * sizeof(int32_t);
    j.row_pairs = memset(memory + rows.pairs, 0, pairs);
  }
  const size_t max_rows = rows_per_part(&j);
  for (; j.first < j.all; j.first += j.rows) {
    const size_t left = j.all - j.first;
    j.rows = left < max_rows ? left : max_rows;
    run_row_part(&j, parallel);
  }
}
