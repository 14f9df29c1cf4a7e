#include "tests/ops/vector_bounds.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "format/tensor/layout.h"

// Sizes that one tensor can have: their bytes are a size_t.
static bool set_sizes(vector_call* c, etx_tensor* tensor, const int32_t* sizes,
                      size_t rank) {
  int32_t* header = vector_call_take(c, 2 * sizeof(int32_t) * ETX_MAX_RANK);
  size_t numel = 0;
  for (size_t i = 0; i < rank; ++i) header[i] = sizes[i];
  if (!etx_layout_numel(header, rank, &numel) || numel > SIZE_MAX / 32 ||
      !etx_layout_strides(header, NULL, rank, header + ETX_MAX_RANK)) {
    return false;
  }
  tensor->sizes = header;
  tensor->strides = header + ETX_MAX_RANK;
  tensor->rank = (uint8_t)rank;
  tensor->data = NULL;
  return true;
}

// The width of an attention's heads decides which memory it needs, and stays.
static bool keeps_last(const vector_call* c) {
  return c->op->id == ETX_OP_attention_out ||
         c->op->id == ETX_OP_attention_capped_out;
}

static bool scale(vector_call* c, int32_t by) {
  etx_tensor* tensor;
  for (size_t i = 0; (tensor = vector_tensor_at(c, i)) != NULL; ++i) {
    int32_t sizes[ETX_MAX_RANK];
    for (size_t k = 0; k < tensor->rank; ++k) {
      const bool stays = k + 1 == tensor->rank && keeps_last(c);
      const int64_t size = (int64_t)tensor->sizes[k] * (stays ? 1 : by);
      if (size > INT32_MAX) return false;
      sizes[k] = tensor->sizes[k] > 1 ? (int32_t)size : tensor->sizes[k];
    }
    if (!set_sizes(c, tensor, sizes, tensor->rank)) return false;
  }
  return true;
}

static const char* check_growth(const etx_kernel* kernel,
                                const vector_file* file, json_t* test_case,
                                char* text, size_t capacity) {
  const int32_t factors[] = {1, 2, 3, 16, 1 << 10, 1 << 16, 1 << 22};
  const char* why = NULL;
  size_t before = 0;
  for (size_t i = 0; why == NULL && i < sizeof(factors) / sizeof(int32_t);
       ++i) {
    vector_call c;
    size_t bytes = 0;
    (void)vector_call_build(&c, file, test_case, VECTOR_DENSE);
    if (vector_call_size(&c, false) == ETX_OK && scale(&c, factors[i])) {
      const etx_status status = kernel->temporary_bytes(&c.call, &bytes);
      if (status == ETX_OUT_OF_RANGE) bytes = SIZE_MAX;
      if (status != ETX_OK && status != ETX_OUT_OF_RANGE) {
        why = etx_status_name(status);
      } else if (bytes < before) {
        snprintf(text, capacity,
                 "%zu temporary bytes for sizes times %d, %zu for smaller ones",
                 bytes, (int)factors[i], before);
        why = text;
      }
      before = bytes;
    }
    vector_call_end(&c);
  }
  return why;
}

static const char* check_ranks(const etx_kernel* kernel,
                               const vector_file* file, json_t* test_case,
                               size_t index, bool* out_is_last) {
  const char* why = NULL;
  for (size_t rank = 0; why == NULL && rank <= 6; ++rank) {
    vector_call c;
    int32_t sizes[ETX_MAX_RANK];
    (void)vector_call_build(&c, file, test_case, VECTOR_DENSE);
    etx_tensor* tensor = vector_tensor_at(&c, index);
    *out_is_last = tensor == NULL;
    if (tensor != NULL) {
      for (size_t i = 0; i < rank; ++i) {
        sizes[i] = i < tensor->rank ? tensor->sizes[i] : 2;
      }
      size_t bytes = 0;
      const bool is_set = set_sizes(&c, tensor, sizes, rank);
      const etx_status status =
          is_set ? kernel->temporary_bytes(&c.call, &bytes) : ETX_OK;
      if (status != ETX_OK && status != ETX_OUT_OF_RANGE) {
        why = etx_status_name(status);
      }
    }
    vector_call_end(&c);
  }
  return why;
}

const char* vector_bounds_check(const vector_file* file, json_t* test_case,
                                char* text, size_t capacity) {
  vector_call c;
  const etx_kernel* kernel = NULL;
  if (vector_call_build(&c, file, test_case, VECTOR_DENSE) == NULL) {
    kernel = etx_kernel_find(&etx_all_kernels, c.op->id);
  }
  vector_call_end(&c);
  if (kernel == NULL || kernel->temporary_bytes == NULL) return NULL;
  const char* why = check_growth(kernel, file, test_case, text, capacity);
  bool is_last = why != NULL;
  for (size_t i = 0; !is_last && why == NULL; ++i) {
    why = check_ranks(kernel, file, test_case, i, &is_last);
  }
  return why;
}
