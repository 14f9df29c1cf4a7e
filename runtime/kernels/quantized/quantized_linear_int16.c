#include "runtime/kernels/quantized/quantized_linear_int16.h"

#include "runtime/kernels/simd/vector/prefetch.h"
#include "runtime/kernels/core/convert.h"
#include "runtime/kernels/simd/int8/quantized_loops.h"

enum {
  COLUMNS = ETX_INT16_PAIR_COLUMNS,
  PANEL_DEPTH = 512,  // elements of a panel
  EXACT_ROWS = 128,   // rows whose sums are kept
  ROWS_AT_ONCE = 6,   // rows between two prefetches
  // With fewer rows, copying weights to a panel does not pay.
  MIN_ROWS = 20,
  // With at most this many rows, byte panels are multiplied in place.
  MAX_BYTE_ROWS = 5 * ETX_INT16_PAIR_FEW_ROWS,
};

bool etx_quantized_linear_int16_supports(const etx_packed_weights* w,
                                         size_t rows) {
  if (w->has_panels) return w->inner > 0 && w->inner <= ETX_QUANTIZED_MAX_DEPTH;
  if (rows < MIN_ROWS || w->zeros != NULL || w->inner == 0) return false;
  return w->bits == 8 && w->groups == 1 && w->dtype == ETX_DTYPE_INT8 &&
         w->inner <= ETX_QUANTIZED_MAX_DEPTH;
}

// A tile of the result: rows of at most COLUMNS columns.
typedef struct int16_tile {
  const etx_quantized_linear_int16* p;
  const etx_quantized_linear_int16_epilogue* epilogue;
  size_t row, rows, column, columns;
} int16_tile;

// Prefetches part of the weights of the next panel, which begins with byte
// `first` of each row: the share that belongs to the rows [done, done + rows).
// Always inlined: gcc takes a function that only prefetches for one without
// effect and drops calls.
static inline __attribute__((always_inline)) void prefetch_next_panel(
    const int16_tile* b, size_t first, size_t bytes, size_t done, size_t rows) {
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

// Multiplies all rows of a tile with a panel.
static void multiply_panel(const int16_tile* b, etx_int16_pair_block block,
                           size_t first, size_t bytes) {
  for (size_t done = 0; done < b->rows; done += block.rows) {
    const size_t left = b->rows - done;
    block.rows = left < ROWS_AT_ONCE + 2 ? left : ROWS_AT_ONCE;
    prefetch_next_panel(b, first + bytes, bytes, done, block.rows);
    b->p->loops->whole(&block);
    block.whole += block.rows * COLUMNS;
    block.left += (ptrdiff_t)block.rows * block.left_row;
  }
}

// Applies the epilogue and stores the results or updates the argmax. Results
// that are not whole float32 rows of a panel go through a row on the stack.
static void store(const int16_tile* b, const int32_t* whole) {
  const etx_quantized_linear_int16* p = b->p;
  const size_t bytes = etx_dtype_bytes(p->dtype);
  const size_t at = (b->row * p->columns + b->column) * bytes;
  char* out = p->best == NULL ? p->out + at : NULL;
  etx_int16_pair_epilogue epilogue = {.whole = whole,
                                      .scales = b->epilogue->scales,
                                      .bias = b->epilogue->bias,
                                      .row_scales = p->row_scales + b->row,
                                      .rows = b->rows,
                                      .out = (float*)(void*)out,
                                      .out_row = (ptrdiff_t)p->columns};
  const bool is_direct = p->dtype == ETX_DTYPE_FLOAT32 && b->columns == COLUMNS;
  if (p->best == NULL && is_direct) {
    p->loops->last(&epilogue);
    return;
  }
  float row[COLUMNS];
  epilogue.rows = 1;
  epilogue.out = row;
  for (size_t r = 0; r < b->rows; ++r) {
    p->loops->last(&epilogue);
    if (p->best != NULL) {
      etx_row_argmax_update_row(&p->best[b->row + r], row, b->column,
                                b->columns);
    } else {
      etx_convert(p->dtype, out + r * p->columns * bytes, 1, ETX_DTYPE_FLOAT32,
                  row, 1, b->columns);
    }
    ++epilogue.row_scales;
    epilogue.whole += COLUMNS;
  }
}

static etx_int16_pair_block block_at(const int16_tile* b, size_t k,
                                     size_t depth, const int16_t* panel) {
  const etx_packed_weights* w = b->p->weight;
  const size_t left = w->inner - k;
  return (etx_int16_pair_block){
      .left = b->p->left + (ptrdiff_t)b->row * b->p->left_row + k,
      .left_row = b->p->left_row,
      .panel = panel,
      .count = left < depth ? left : depth};
}

// Few rows: multiplies byte panels in place, because widening them would cost
// more than it saves.
static __attribute__((noinline)) void run_byte_panels(int16_tile* b) {
  int32_t sums[MAX_BYTE_ROWS * COLUMNS];
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
  store(b, sums);
}

// The tile of a thread: a panel of widened weights.
typedef struct widened_panel {
  int16_t panel[PANEL_DEPTH * COLUMNS];
  int32_t sums[EXACT_ROWS * COLUMNS];
} widened_panel;

size_t etx_quantized_linear_int16_tile(size_t rows, size_t bits) {
  if (bits == 4) return 0;
  // Weights in panels are widened with more than MAX_BYTE_ROWS rows.
  return rows < MIN_ROWS && rows <= MAX_BYTE_ROWS ? 0 : sizeof(widened_panel);
}

// Weights are widened to a panel of int16.
static __attribute__((noinline)) void run_widened(int16_tile* b) {
  const etx_quantized_linear_int16* p = b->p;
  widened_panel* const tile = p->tile;
  int16_t* const panel = tile->panel;
  int32_t* const sums = tile->sums;
  const etx_packed_weights* w = p->weight;
  const uint8_t* from = w->data + b->column * w->row_bytes;
  for (; b->row < p->rows; b->row += b->rows) {
    const size_t rows_left = p->rows - b->row;
    b->rows = rows_left < EXACT_ROWS ? rows_left : EXACT_ROWS;
    for (size_t k = 0; k < w->inner; k += PANEL_DEPTH) {
      etx_int16_pair_block block = block_at(b, k, PANEL_DEPTH, panel);
      block.whole = sums;
      block.starts = k == 0;
      if (w->has_panels) {
        p->loops->widen(etx_packed_panel(w, b->column, k), block.count, panel);
      } else {
        p->loops->pack8(from + k, (ptrdiff_t)w->row_bytes, b->columns,
                        block.count, panel);
      }
      multiply_panel(b, block, k, PANEL_DEPTH);
    }
    store(b, sums);
  }
}

void etx_quantized_linear_int16_run(
    const etx_quantized_linear_int16* panels, size_t column, size_t columns,
    const etx_quantized_linear_int16_epilogue* epilogue) {
  int16_tile b = {
      .p = panels, .epilogue = epilogue, .column = column, .columns = columns};
  if (panels->weight->has_panels && panels->rows <= MAX_BYTE_ROWS) {
    run_byte_panels(&b);
  } else {
    run_widened(&b);
  }
}
