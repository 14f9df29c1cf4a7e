#include "runtime/kernels/quantized/quantized_linear_int8_job.h"

#include "runtime/kernels/core/convert.h"

enum { L2_RESULT_BYTES = 1 << 18 };  // larger results are not in L2

etx_int8_next_weights etx_int8_job_next(const etx_int8_job* j, size_t column,
                                        size_t k, size_t depth, size_t row,
                                        size_t rows) {
  const etx_packed_weights* w = &j->linear->weight;
  if (k >= w->inner) {
    k = 0;
    column += ETX_INT8_COLUMNS;
  }
  if (column >= j->linear->columns) return (etx_int8_next_weights){NULL, 0, 0};
  const size_t left = j->linear->columns - column;
  const size_t columns = left < ETX_INT8_COLUMNS ? left : ETX_INT8_COLUMNS;
  const size_t first = columns * row / j->rows;
  size_t end = columns * (row + rows) / j->rows;
  if (end > columns) end = columns;
  const size_t elements = w->inner - k < depth ? w->inner - k : depth;
  return (etx_int8_next_weights){
      etx_int8_job_weights(j, column + first) + k * w->bits / 8, end - first,
      elements * w->bits / 8};
}

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
static void store_rows(const etx_int8_job* j, etx_int8_epilogue epilogue,
                       size_t row, size_t column) {
  const etx_quantized_linear* l = j->linear;
  const etx_packed_weights* w = &l->weight;
  const size_t columns = epilogue.columns, rows = epilogue.rows;
  for (size_t c = 0; c < columns; c += ETX_INT8_COLUMNS) {
    float scales[ETX_INT8_COLUMNS], bias[ETX_INT8_COLUMNS],
        results[ETX_INT8_COLUMNS];
    const size_t at = column + c, left = columns - c;
    etx_int8_epilogue part = epilogue;
    part.columns = left < ETX_INT8_COLUMNS ? left : ETX_INT8_COLUMNS;
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

void etx_int8_job_set_epilogue(const etx_int8_job* j, size_t row, size_t column,
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

void etx_int8_job_store(const etx_int8_job* j, etx_int8_epilogue epilogue,
                        size_t row, size_t column) {
  etx_int8_job_set_epilogue(j, row, column, &epilogue);
  if (j->is_all_float32 && j->best == NULL) {
    j->loops->last(&epilogue);
  } else {
    store_rows(j, epilogue, row, column);
  }
}
