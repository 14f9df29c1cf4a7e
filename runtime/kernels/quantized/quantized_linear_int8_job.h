// What the files of quantized_linear_int8.h share: the operands of a product,
// and what is done with its tiles.

#ifndef ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_INT8_JOB_H
#define ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_INT8_JOB_H

#include "runtime/kernels/core/thread_tiles.h"
#include "runtime/kernels/quantized/quantized_linear_args.h"
#include "runtime/kernels/simd/int8/int8_dot_loops.h"

// The operands of a linear operator, which all its tiles share.
typedef struct etx_int8_job {
  const etx_quantized_linear* linear;
  const etx_int8_dot_loops* loops;
  size_t all;          // rows of the input
  size_t first, rows;  // the part that is computed now
  uint8_t* bytes;      // rows of `pitch`
  size_t pitch;
  etx_int8_row_qparams* qparams;
  int32_t* row_pairs;    // [rows, groups] of etx_int4_panel; NULL: bases do
  size_t width, tiles;   // columns of a tile; number of tiles
  etx_row_argmax* best;  // [rows] of an argmax piece; NULL: store results
  bool has_panels;       // weights are read as panels
  bool is_all_float32;   // bias, scales and results are float32
  const etx_thread_tiles* workspaces;
} etx_int8_job;

// The weights of a column and the next ones.
static inline const uint8_t* etx_int8_job_weights(const etx_int8_job* j,
                                                  size_t column) {
  const etx_packed_weights* w = &j->linear->weight;
  return w->data + column * w->row_bytes;
}

// The scales of the groups of a column and the next ones, or, where groups have
// parameters, of the columns.
static inline const float* etx_int8_job_scales(const etx_int8_job* j,
                                               size_t column) {
  const etx_packed_weights* w = &j->linear->weight;
  return (const float*)(const void*)w->scales +
         column * (w->params == NULL ? w->groups : 1);
}

// Of the parts of a step (group_params.h).
static inline int etx_int8_job_shift(const etx_int8_job* j) {
  return j->linear->weight.params == NULL ? 0 : ETX_GROUP_SHIFT;
}

// The rows of a product with panels.
static inline size_t etx_int8_whole_rows(size_t rows) {
  return (rows + ETX_INT8_ROWS - 1) / ETX_INT8_ROWS * ETX_INT8_ROWS;
}

// The next rows of weights, to be prefetched.
typedef struct etx_int8_next_weights {
  const uint8_t* from;
  size_t rows, bytes;
} etx_int8_next_weights;

// The weights to prefetch while `rows` rows from `row` on are multiplied: their
// share of the panel of `depth` elements at element k, or, where the columns
// have no such element, of the first panel of the next columns.
etx_int8_next_weights etx_int8_job_next(const etx_int8_job* j, size_t column,
                                        size_t k, size_t depth, size_t row,
                                        size_t rows);

// Sets the parameters of an epilogue that begins at a row and a column, and the
// address of its results or of the argmax.
void etx_int8_job_set_epilogue(const etx_int8_job* j, size_t row, size_t column,
                               etx_int8_epilogue* epilogue);

// Applies an epilogue that begins at a row and a column: stores the results or
// updates the argmax.
void etx_int8_job_store(const etx_int8_job* j, etx_int8_epilogue epilogue,
                        size_t row, size_t column);

#endif
