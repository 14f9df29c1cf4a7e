#include "runtime/kernels/quantized/quantized_linear_int16.h"

#include "runtime/kernels/simd/vector/prefetch.h"
#include "runtime/kernels/core/convert.h"
#include "runtime/kernels/simd/int8/quantized_loops.h"

enum {
  COLUMNS = ETX_INT16_PAIR_COLUMNS,
  ELEMENTS = 512,            // of a panel of bytes
  CHUNK = ETX_PACKED_CHUNK,  // of a panel of half bytes
  LEAST_GROUP = 32,
  WHOLE_ROWS = 128,  // that have sums on the stack
  GROUP_ROWS = 48,   // the same where a sum has parts
  ROWS_AT_ONCE = 6,  // between questions for memory
  // Rows for which copying weights is worth it.
  LEAST_ROWS = 20,
  MOST_FEW = 5 * ETX_INT16_PAIR_FEW_ROWS,  // for which widening panels is not
};

bool etx_quantized_linear_int16_supports(const etx_packed_weights* w,
                                         size_t rows) {
  if (w->has_panels) return w->inner > 0 && w->inner <= ETX_QUANTIZED_MAX_DEPTH;
  if (rows < LEAST_ROWS || w->zeros != NULL || w->inner == 0) return false;
  if (w->bits == 8) {
    return w->groups == 1 && w->dtype == ETX_DTYPE_INT8 &&
           w->inner <= ETX_QUANTIZED_MAX_DEPTH;
  }
  return (w->group == 32 || w->group == 64 || w->group == 128 ||
          w->group == CHUNK) &&
         w->groups * w->group == w->inner &&
         w->scale_dtype == ETX_DTYPE_FLOAT32;
}

// Some rows of some columns.
typedef struct piece {
  const etx_quantized_linear_int16* p;
  const etx_quantized_linear_int16_epilogue* line;
  size_t row, rows, column, columns;
} piece;

// Asks for a part of the weights that the next panel is made of, while rows
// pass: of the bytes from `first` on, when it is the turn of rows from `done`
// on. Inlined, because gcc takes a function that only asks for one without any
// effect, and drops its calls.
static inline __attribute__((always_inline)) void ask_ahead(
    const piece* b, size_t first, size_t bytes, size_t done, size_t rows) {
  const etx_packed_weights* w = b->p->weight;
  size_t column = b->column;
  if (w->has_panels) return;
  if (first >= w->row_bytes) {
    first = 0;
    column += COLUMNS;
  }
  if (column + COLUMNS > b->p->columns) return;
  if (bytes > w->row_bytes - first) bytes = w->row_bytes - first;
  const size_t end = COLUMNS * (done + rows) / b->rows;
  for (size_t c = COLUMNS * done / b->rows; c < end; ++c) {
    const uint8_t* from = w->data + (column + c) * w->row_bytes + first;
    for (size_t i = 0; i < bytes; i += ETX_CACHE_LINE_BYTES) {
      ETX_PREFETCH(from + i, b->rows >= ETX_PREFETCH_L1_ROWS);
    }
  }
}

// Multiplies a panel with all rows of a piece.
static void multiply(const piece* b, etx_int16_pair_block block, size_t first,
                     size_t bytes) {
  const etx_quantized_linear_int16* p = b->p;
  const bool is_whole = block.whole != NULL;
  for (size_t done = 0; done < b->rows; done += block.rows) {
    const size_t left = b->rows - done;
    block.rows = left < ROWS_AT_ONCE + 2 ? left : ROWS_AT_ONCE;
    ask_ahead(b, first + bytes, bytes, done, block.rows);
    if (is_whole) {
      p->loops->whole(&block);
      block.whole += block.rows * COLUMNS;
    } else {
      p->loops->groups(&block);
      block.sums += block.rows * ETX_INT16_PAIR_SUMS * COLUMNS;
    }
    block.left += (ptrdiff_t)block.rows * block.left_row;
  }
}

// Stores or compares rows, through memory of the stack where they are not
// stored as full floats.
static void store(const piece* b, const int32_t* whole, const float* sums) {
  const etx_quantized_linear_int16* p = b->p;
  const size_t bytes = etx_dtype_bytes(p->dtype);
  const size_t at = (b->row * p->columns + b->column) * bytes;
  char* out = p->best == NULL ? p->out + at : NULL;
  etx_int16_pair_epilogue line = {.whole = whole,
                                  .sums = sums,
                                  .scales = b->line->scales,
                                  .bias = b->line->bias,
                                  .row_scales = p->row_scales + b->row,
                                  .rows = b->rows,
                                  .out = (float*)(void*)out,
                                  .out_row = (ptrdiff_t)p->columns};
  const bool is_whole = p->dtype == ETX_DTYPE_FLOAT32 && b->columns == COLUMNS;
  if (p->best == NULL && is_whole) {
    p->loops->last(&line);
    return;
  }
  float row[COLUMNS];
  line.rows = 1;
  line.out = row;
  for (size_t r = 0; r < b->rows; ++r) {
    p->loops->last(&line);
    if (p->best != NULL) {
      etx_row_argmax_update_row(&p->best[b->row + r], row, b->column,
                                b->columns);
    } else {
      etx_convert(p->dtype, out + r * p->columns * bytes, 1, ETX_DTYPE_FLOAT32,
                  row, 1, b->columns);
    }
    ++line.row_scales;
    if (whole != NULL) {
      line.whole += COLUMNS;
    } else {
      line.sums += ETX_INT16_PAIR_SUMS * COLUMNS;
    }
  }
}

static etx_int16_pair_block block_at(const piece* b, size_t k, size_t most,
                                     const int16_t* panel) {
  const etx_packed_weights* w = b->p->weight;
  const size_t left = w->inner - k;
  return (etx_int16_pair_block){
      .left = b->p->left + (ptrdiff_t)b->row * b->p->left_row + k,
      .left_row = b->p->left_row,
      .panel = panel,
      .count = left < most ? left : most,
      .group = w->group};
}

// Bytes that are panels pass as they are if rows are so few that widening them
// would cost more than it saves.
static __attribute__((noinline)) void run_bytes(piece* b) {
  int32_t sums[MOST_FEW * COLUMNS];
  const etx_packed_weights* w = b->p->weight;
  etx_int16_pair_block block = block_at(b, 0, w->inner, NULL);
  block.bytes = etx_packed_panel(w, b->column, 0);
  for (size_t done = 0; done < b->p->rows; done += block.rows) {
    const size_t left = b->p->rows - done;
    block.rows = left == ETX_INT16_PAIR_FEW_ROWS + 1 ? 2
                 : left < ETX_INT16_PAIR_FEW_ROWS    ? left
                                                     : ETX_INT16_PAIR_FEW_ROWS;
    block.whole = sums + done * COLUMNS;
    b->p->loops->few(&block);
    block.left += (ptrdiff_t)block.rows * block.left_row;
  }
  b->rows = b->p->rows;
  store(b, sums, NULL);
}

static __attribute__((noinline)) void run_whole(piece* b) {
  int16_t panel[ELEMENTS * COLUMNS];
  int32_t sums[WHOLE_ROWS * COLUMNS];
  const etx_quantized_linear_int16* p = b->p;
  const etx_packed_weights* w = p->weight;
  const uint8_t* from = w->data + b->column * w->row_bytes;
  for (; b->row < p->rows; b->row += b->rows) {
    const size_t below = p->rows - b->row;
    b->rows = below < WHOLE_ROWS ? below : WHOLE_ROWS;
    for (size_t k = 0; k < w->inner; k += ELEMENTS) {
      etx_int16_pair_block block = block_at(b, k, ELEMENTS, panel);
      block.whole = sums;
      block.starts = k == 0;
      if (w->has_panels) {
        p->loops->widen(etx_packed_panel(w, b->column, k), block.count, panel);
      } else {
        p->loops->turn8(from + k, (ptrdiff_t)w->row_bytes, b->columns,
                        block.count, panel);
      }
      multiply(b, block, k, ELEMENTS);
    }
    store(b, sums, NULL);
  }
}

// The scales of some groups, side by side for all columns.
static void transpose_scales(const piece* b, size_t group, size_t groups,
                             float scales[][COLUMNS]) {
  const etx_packed_weights* w = b->p->weight;
  const float* from =
      (const float*)(const void*)w->scales + b->column * w->groups + group;
  for (size_t g = 0; g < groups; ++g) {
    for (size_t c = 0; c < COLUMNS; ++c) {
      scales[g][c] = c < b->columns ? from[c * w->groups + g] : 0;
    }
  }
}

static __attribute__((noinline)) void run_groups(piece* b) {
  int16_t panel[CHUNK * COLUMNS];
  float sums[GROUP_ROWS * ETX_INT16_PAIR_SUMS * COLUMNS];
  float scales[CHUNK / LEAST_GROUP][COLUMNS];
  const etx_quantized_linear_int16* p = b->p;
  const etx_packed_weights* w = p->weight;
  const uint8_t* from = w->data + b->column * w->row_bytes;
  for (; b->row < p->rows; b->row += b->rows) {
    const size_t below = p->rows - b->row;
    b->rows = below < GROUP_ROWS ? below : GROUP_ROWS;
    memset(sums, 0, b->rows * ETX_INT16_PAIR_SUMS * COLUMNS * sizeof(float));
    for (size_t k = 0; k < w->inner; k += CHUNK) {
      etx_int16_pair_block block = block_at(b, k, CHUNK, panel);
      block.sums = sums;
      block.scales = scales[0];
      block.first = k / w->group % ETX_INT16_PAIR_SUMS;
      transpose_scales(b, k / w->group, block.count / w->group, scales);
      p->loops->turn4(from + k / 2, (ptrdiff_t)w->row_bytes, b->columns,
                      block.count / 2, panel);
      multiply(b, block, k / 2, CHUNK / 2);
    }
    store(b, NULL, sums);
  }
}

void etx_quantized_linear_int16_run(
    const etx_quantized_linear_int16* panels, size_t column, size_t columns,
    const etx_quantized_linear_int16_epilogue* line) {
  piece b = {.p = panels, .line = line, .column = column, .columns = columns};
  if (panels->weight->has_panels && panels->rows <= MOST_FEW) {
    run_bytes(&b);
  } else if (panels->weight->bits == 8) {
    run_whole(&b);
  } else {
    run_groups(&b);
  }
}
