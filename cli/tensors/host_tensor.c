#include "cli/tensors/host_tensor.h"

#include <string.h>

#include "cli/tensors/element.h"
#include "format/base/checked_math.h"

// Elements that are printed at either end of a long dimension.
enum { EDGE = 3 };

size_t etx_host_tensor_numel(const etx_host_tensor* tensor) {
  size_t numel = 1;
  for (size_t i = 0; i < tensor->rank; ++i) numel *= (size_t)tensor->sizes[i];
  return numel;
}

etx_status etx_host_tensor_allocate(etx_host_tensor* tensor, etx_pool* pool,
                                    etx_diag* diag) {
  size_t bytes = etx_dtype_bytes(tensor->dtype);
  for (size_t i = 0; i < tensor->rank; ++i) {
    if (tensor->sizes[i] < 0 ||
        !etx_multiply_size(bytes, (size_t)tensor->sizes[i], &bytes)) {
      return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                           "the sizes of a tensor are negative or too large");
    }
  }
  tensor->data = etx_pool_take(pool, bytes);
  tensor->bytes = bytes;
  if (tensor->data != NULL) return ETX_OK;
  return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                       "not enough memory for a tensor of %z bytes", bytes);
}

etx_tensor etx_host_tensor_view(const etx_host_tensor* tensor) {
  const etx_tensor view = {tensor->data, tensor->sizes, NULL, tensor->rank,
                           tensor->dtype};
  return view;
}

// The offset, in elements, of the `index`-th element in row-major order.
static size_t strided_offset(const etx_tensor* tensor, size_t index) {
  int64_t offset = 0;
  for (size_t i = tensor->rank; i-- > 0;) {
    const size_t size = (size_t)tensor->sizes[i];
    offset += (int64_t)(index % size) * tensor->strides[i];
    index /= size;
  }
  return (size_t)offset;
}

etx_status etx_host_tensor_copy(const etx_tensor* from, etx_pool* pool,
                                etx_host_tensor* out_tensor, etx_diag* diag) {
  etx_host_tensor copy = {.dtype = from->dtype, .rank = from->rank};
  for (size_t i = 0; i < from->rank; ++i) copy.sizes[i] = from->sizes[i];
  ETX_TRY(etx_host_tensor_allocate(&copy, pool, diag));
  const size_t item = etx_dtype_bytes(from->dtype);
  if (copy.bytes != 0 && etx_tensor_is_contiguous(from)) {
    memcpy(copy.data, from->data, copy.bytes);
  } else {
    const size_t numel = copy.bytes == 0 ? 0 : etx_host_tensor_numel(&copy);
    for (size_t i = 0; i < numel; ++i) {
      memcpy((uint8_t*)copy.data + i * item,
             (const uint8_t*)from->data + strided_offset(from, i) * item, item);
    }
  }
  *out_tensor = copy;
  return ETX_OK;
}

void etx_host_tensor_print_type(etx_dtype dtype, size_t rank,
                                const int32_t* sizes, FILE* out) {
  fprintf(out, "%s[", etx_dtype_name(dtype));
  for (size_t i = 0; i < rank; ++i) {
    fprintf(out, "%s%d", i == 0 ? "" : ", ", (int)sizes[i]);
  }
  fputc(']', out);
}

// Prints dimension `depth`, whose first element has index `start`. The
// recursion ends at the rank, which is at most ETX_MAX_RANK.
static void print_dimension(const etx_host_tensor* tensor, size_t depth,
                            size_t start, bool is_cut, FILE* out) {
  if (depth == tensor->rank) {
    char text[64];
    etx_element_print(tensor->dtype, tensor->data, start, text, sizeof text);
    fputs(text, out);
    return;
  }
  const size_t size = (size_t)tensor->sizes[depth];
  size_t step = 1;
  for (size_t i = depth + 1; i < tensor->rank; ++i) {
    step *= (size_t)tensor->sizes[i];
  }
  fputc('[', out);
  for (size_t i = 0; i < size; ++i) {
    if (i != 0) fputs(", ", out);
    if (is_cut && size > 2 * EDGE && i == EDGE) {
      fputs("..., ", out);
      i = size - EDGE;
    }
    print_dimension(tensor, depth + 1, start + i * step, is_cut, out);
  }
  fputc(']', out);
}

void etx_host_tensor_print(const etx_host_tensor* tensor, size_t most,
                           FILE* out) {
  const bool is_cut = most != 0 && etx_host_tensor_numel(tensor) > most;
  print_dimension(tensor, 0, 0, is_cut, out);
}
