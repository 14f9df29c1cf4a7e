// One row is expanded to floats at a time, so that no second copy of a tensor
// is in memory.

#include "exporter/read_gguf/gguf_convert.h"

#include <math.h>

#include "exporter/host/paged_memory.h"
#include "exporter/host/half_bits.h"
#include "format/base/checked_math.h"

typedef struct tensor_rows {
  const etx_gguf_conversion* from;
  size_t count;      // of rows
  size_t inner;      // elements of a row
  size_t row_bytes;  // in the file
  float* floats;     // of one row
} tensor_rows;

uint8_t etx_gguf_convert_sizes(const etx_gguf_conversion* from,
                               int64_t out_sizes[ETX_GGUF_MOST_RANK]) {
  const etx_gguf_tensor* const tensor = from->tensor;
  memcpy(out_sizes, tensor->sizes, sizeof tensor->sizes);
  if (from->change == ETX_GGUF_TRANSPOSE && tensor->rank == 2) {
    out_sizes[0] = tensor->sizes[1];
    out_sizes[1] = tensor->sizes[0];
  }
  return tensor->rank;
}

// The row of the file that is row `row` in PyTorch. A head of 2n rows in
// PyTorch has the first numbers of its n pairs, then the second ones.
static size_t source_row(const tensor_rows* rows, size_t row) {
  if (rows->from->change != ETX_GGUF_PAIRS) return row;
  const size_t head = rows->count / (size_t)rows->from->heads;
  const size_t half = head / 2, within = row % head;
  return row - within + 2 * (within % half) + within / half;
}

// Stores one number; false if it is too large for the dtype.
static bool store(etx_dtype dtype, float x, size_t at, uint8_t* out,
                  bool* rounded) {
  const double wide = (double)x;
  uint8_t half[2];
  uint16_t bits = 0;
  float back = x;
  switch (dtype) {
    case ETX_DTYPE_FLOAT32:
      memcpy(out + at * sizeof x, &x, sizeof x);
      return true;
    case ETX_DTYPE_FLOAT64:
      memcpy(out + at * sizeof wide, &wide, sizeof wide);
      return true;
    default:
      bits = dtype == ETX_DTYPE_FLOAT16 ? etx_to_float16(x)
                                        : etx_to_bfloat16(x);
  }
  half[0] = (uint8_t)bits;
  half[1] = (uint8_t)(bits >> 8);
  memcpy(out + 2 * at, half, sizeof half);
  back = dtype == ETX_DTYPE_FLOAT16 ? etx_from_float16(half)
                                    : etx_from_bfloat16(half);
  *rounded = *rounded || (back != x && !isnan(x));
  return !isinf(back) || isinf(x);
}

static bool store_row(const tensor_rows* rows, size_t row, etx_ir_constant* to,
                      uint8_t* out, bool* rounded) {
  const etx_gguf_tensor* const tensor = rows->from->tensor;
  const bool is_transposed =
      rows->from->change == ETX_GGUF_TRANSPOSE && tensor->rank == 2;
  tensor->type->expand(
      tensor->data.data + source_row(rows, row) * rows->row_bytes,
      rows->inner / tensor->type->elements, rows->floats);
  for (size_t i = 0; i < rows->inner; ++i) {
    float x = rows->floats[i];
    if (rows->from->change == ETX_GGUF_PLUS_ONE) x -= 1.0f;
    const size_t at =
        is_transposed ? i * rows->count + row : row * rows->inner + i;
    if (!store(to->dtype, x, at, out, rounded)) return false;
  }
  return true;
}

static etx_status find_rows(const etx_gguf_conversion* from, tensor_rows* out,
                            etx_diag* diag) {
  const etx_gguf_tensor* const tensor = from->tensor;
  *out = (tensor_rows){.from = from, .count = 1, .inner = 1};
  for (size_t i = 0; i < tensor->rank; ++i) {
    const size_t size = (size_t)tensor->sizes[i];
    if (i + 1 == tensor->rank) {
      out->inner = size;
    } else {
      out->count *= size;
    }
  }
  if (from->change == ETX_GGUF_PAIRS && tensor->rank == 1 &&
      tensor->type->elements == 1) {  // a bias has one element for each row
    out->count = out->inner;
    out->inner = 1;
  }
  out->row_bytes = out->inner / tensor->type->elements * tensor->type->bytes;
  if (from->change == ETX_GGUF_PAIRS && out->count % (2 * from->heads) != 0) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "tensor '%t' has %z rows, expected a multiple of %u: "
                         "pairs of rows for each of %u heads",
                         tensor->name, out->count, 2 * from->heads,
                         from->heads);
  }
  return ETX_OK;
}

etx_status etx_gguf_convert(etx_pool* pool, const etx_gguf_conversion* from,
                            etx_ir_constant* to, bool* out_rounded,
                            etx_diag* diag) {
  tensor_rows rows;
  size_t bytes = 0;
  *out_rounded = false;
  ETX_TRY(find_rows(from, &rows, diag));
  if (!etx_multiply_size(rows.count, rows.inner, &bytes) ||
      !etx_multiply_size(bytes, etx_dtype_bytes(to->dtype), &bytes)) {
    return ETX_OUT_OF_MEMORY;
  }
  to->data = (etx_bytes){NULL, bytes};
  if (bytes == 0) return ETX_OK;
  etx_pool scratch;
  etx_pool_init(&scratch);
  uint8_t* const out = etx_pages_take(pool, bytes);
  rows.floats = etx_pool_take(&scratch, rows.inner * sizeof *rows.floats);
  etx_status status =
      out == NULL || rows.floats == NULL ? ETX_OUT_OF_MEMORY : ETX_OK;
  for (size_t row = 0; row < rows.count && status == ETX_OK; ++row) {
    if (store_row(&rows, row, to, out, out_rounded)) continue;
    status = etx_diag_fail(
        diag, ETX_OUT_OF_RANGE,
        "tensor '%t' has numbers too large for %s, the type in the graph",
        from->tensor->name, etx_dtype_name(to->dtype));
  }
  etx_pool_close(&scratch);
  to->data.data = out;
  return status;
}
