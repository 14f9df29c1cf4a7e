// Reading and writing along one dimension by an index tensor: embedding,
// index_select, gather and the scatters. All indices are checked before the
// first element is written.

#include <string.h>

#include "runtime/kernels/index_tensor.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/operand.h"
#include "runtime/kernels/parts.h"
#include "runtime/kernels/strided_view.h"
#include "runtime/kernels/walk.h"

// (weight [V, D], indices, padding_idx, scale_grad_by_freq, sparse, out)
static etx_status run_embedding(etx_call* call) {
  const etx_tensor* weight = etx_call_tensor(call, 0);
  const etx_tensor* indices = etx_call_tensor(call, 1);
  const size_t row_bytes =
      (size_t)weight->sizes[1] * etx_dtype_bytes(weight->dtype);
  const size_t index_bytes = etx_dtype_bytes(indices->dtype);
  ETX_TRY(etx_index_check(call, indices, weight->sizes[0], false));
  const char* from = weight->data;
  const char* at = indices->data;
  char* to = etx_call_tensor(call, 5)->data;
  if (row_bytes == 0) return ETX_OK;
  for (size_t i = etx_tensor_numel(indices); i > 0; --i) {
    const size_t row = (size_t)etx_index_at(indices->dtype, at, 0);
    memcpy(to, from + row * row_bytes, row_bytes);
    to += row_bytes;
    at += index_bytes;
  }
  return ETX_OK;
}

etx_status etx_kernel_embedding_out_prepare(etx_call* call) {
  ETX_TRY(etx_index_check_dtype(call, etx_call_tensor(call, 1)));
  ETX_TRY(etx_call_check_same_dtype(call, 0, 5));
  ETX_TRY(etx_call_check_contiguous(call, 0));
  ETX_TRY(etx_call_check_contiguous(call, 1));
  ETX_TRY(etx_call_check_contiguous(call, 5));
  call->run = run_embedding;
  return ETX_OK;
}

// (self, dim, index, out)
static etx_status run_index_select(etx_call* call) {
  const etx_view self = etx_view_of(etx_call_tensor(call, 0));
  const etx_view out = etx_view_of(etx_call_tensor(call, 3));
  const etx_tensor* index = etx_call_tensor(call, 2);
  const size_t at = etx_wrap_dimension(etx_call_integer(call, 1), self.rank);
  const int64_t size = self.rank == 0 ? 1 : self.sizes[at];
  ETX_TRY(etx_index_check(call, index, size, false));
  if (self.rank == 0) {
    etx_view_copy(&out, &self);
    return ETX_OK;
  }
  const ptrdiff_t step = index->rank == 0 ? 0 : index->strides[0];
  const size_t count = etx_tensor_numel(index);
  const char* from = index->data;
  for (size_t i = 0; i < count; ++i) {
    etx_view source = self, target = out;
    etx_view_select(&source, at, etx_index_at(index->dtype, from, size));
    etx_view_select(&target, at, (int64_t)i);
    etx_view_copy(&target, &source);
    from += step * (ptrdiff_t)etx_dtype_bytes(index->dtype);
  }
  return ETX_OK;
}

etx_status etx_kernel_index_select_out_prepare(etx_call* call) {
  ETX_TRY(etx_index_check_dtype(call, etx_call_tensor(call, 2)));
  ETX_TRY(etx_call_check_same_dtype(call, 0, 3));
  call->run = run_index_select;
  return ETX_OK;
}

// Elements [.., index[i], ..] of a tensor: its strides over the sizes of
// `index`, with the indexed dimension standing still.
typedef struct indexed {
  char* data;
  etx_dtype dtype;
  ptrdiff_t strides[ETX_MAX_RANK];
  ptrdiff_t step;  // bytes from one index to the next
} indexed;

static indexed indexed_of(const etx_tensor* tensor, const etx_tensor* index,
                          size_t dimension) {
  indexed out = {.data = tensor->data, .dtype = tensor->dtype};
  for (size_t i = 0; i < index->rank; ++i) {
    const bool still = i == dimension || i >= tensor->rank;
    out.strides[i] = still ? 0 : tensor->strides[i];
  }
  if (tensor->rank > 0) {
    out.step =
        tensor->strides[dimension] * (ptrdiff_t)etx_dtype_bytes(tensor->dtype);
  }
  return out;
}

static int64_t indexed_size(const etx_tensor* tensor, size_t dimension) {
  return tensor->rank == 0 ? 1 : tensor->sizes[dimension];
}

// Starts a walk over `index`: operand 0 indexed, 1 the index, 2 the other
// tensor element by element.
static bool start(etx_walk* walk, const indexed* tensor,
                  const etx_tensor* index, const etx_tensor* other) {
  ptrdiff_t strides[ETX_MAX_RANK];
  etx_walk_init(walk, index->sizes, index->rank);
  etx_walk_add_strided(walk, tensor->data, etx_dtype_bytes(tensor->dtype),
                       tensor->strides);
  etx_walk_add(walk, index);
  for (size_t i = 0; i < index->rank; ++i) {
    strides[i] = i < other->rank ? other->strides[i] : 0;
  }
  etx_walk_add_strided(walk, other->data, etx_dtype_bytes(other->dtype),
                       strides);
  return etx_walk_start(walk);
}

// (self, dim, index, sparse_grad, out)
static etx_status run_gather(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, 0);
  const etx_tensor* index = etx_call_tensor(call, 2);
  const etx_tensor* out = etx_call_tensor(call, 4);
  const size_t at = etx_wrap_dimension(etx_call_integer(call, 1), self->rank);
  const size_t bytes = etx_dtype_bytes(self->dtype);
  const int64_t size = indexed_size(self, at);
  ETX_TRY(etx_index_check(call, index, size, false));
  const indexed source = indexed_of(self, index, at);
  etx_walk walk;
  for (bool more = start(&walk, &source, index, out); more;
       more = etx_walk_next(&walk)) {
    for (size_t i = 0; i < walk.count; ++i) {
      const ptrdiff_t n = (ptrdiff_t)i;
      const int64_t k = etx_index_at(
          index->dtype, walk.data[1] + n * walk.stride[1] * walk.bytes[1], 0);
      memcpy(walk.data[2] + n * walk.stride[2] * walk.bytes[2],
             walk.data[0] + n * walk.stride[0] * walk.bytes[0] +
                 (ptrdiff_t)k * source.step,
             bytes);
    }
  }
  return ETX_OK;
}

etx_status etx_kernel_gather_out_prepare(etx_call* call) {
  ETX_TRY(etx_index_check_dtype(call, etx_call_tensor(call, 2)));
  ETX_TRY(etx_call_check_same_dtype(call, 0, 4));
  call->run = run_gather;
  return ETX_OK;
}

static etx_status scatter(const etx_call* call, const etx_tensor* source,
                          bool adds) {
  const etx_view self = etx_view_of(etx_call_tensor(call, 0));
  const etx_tensor* index = etx_call_tensor(call, 2);
  const etx_tensor* out = etx_call_tensor(call, 4);
  const size_t at = etx_wrap_dimension(etx_call_integer(call, 1), self.rank);
  const size_t bytes = etx_dtype_bytes(self.dtype);
  ETX_TRY(etx_index_check(call, index, indexed_size(out, at), false));
  const etx_view whole = etx_view_of(out);
  etx_view_copy(&whole, &self);
  const indexed target = indexed_of(out, index, at);
  etx_walk walk;
  for (bool more = start(&walk, &target, index, source); more;
       more = etx_walk_next(&walk)) {
    for (size_t i = 0; i < walk.count; ++i) {
      const ptrdiff_t n = (ptrdiff_t)i;
      const int64_t k = etx_index_at(
          index->dtype, walk.data[1] + n * walk.stride[1] * walk.bytes[1], 0);
      char* to = walk.data[0] + n * walk.stride[0] * walk.bytes[0] +
                 (ptrdiff_t)k * target.step;
      const char* from = walk.data[2] + n * walk.stride[2] * walk.bytes[2];
      if (adds) {
        etx_element_add(out->dtype, to, from);
      } else {
        memcpy(to, from, bytes);
      }
    }
  }
  return ETX_OK;
}

// (self, dim, index, src, out)
static etx_status run_scatter_source(etx_call* call) {
  return scatter(call, etx_call_tensor(call, 3), false);
}
static etx_status run_scatter_add(etx_call* call) {
  return scatter(call, etx_call_tensor(call, 3), true);
}

// (self, dim, index, value, out): the value as a tensor without dimensions.
static etx_status run_scatter_value(etx_call* call) {
  const etx_dtype dtype = etx_call_tensor(call, 0)->dtype;
  etx_number value = {0};
  etx_number_store(etx_call_value(call, 3), dtype, &value);
  const etx_tensor source = {.data = &value, .dtype = dtype};
  return scatter(call, &source, false);
}

static etx_status prepare_scatter(etx_call* call, etx_kernel_function run) {
  ETX_TRY(etx_call_check_real(call, 0));
  ETX_TRY(etx_index_check_dtype(call, etx_call_tensor(call, 2)));
  ETX_TRY(etx_call_check_same_dtype(call, 0, 4));
  if (etx_call_is_tensor(call, 3)) {
    ETX_TRY(etx_call_check_same_dtype(call, 0, 3));
  }
  call->run = run;
  return ETX_OK;
}

etx_status etx_kernel_scatter_src_out_prepare(etx_call* call) {
  return prepare_scatter(call, run_scatter_source);
}
etx_status etx_kernel_scatter_value_out_prepare(etx_call* call) {
  return prepare_scatter(call, run_scatter_value);
}
// Sums in half types would be rounded at every step.
etx_status etx_kernel_scatter_add_out_prepare(etx_call* call) {
  const etx_dtype dtype = etx_call_tensor(call, 0)->dtype;
  if (dtype == ETX_DTYPE_FLOAT16 || dtype == ETX_DTYPE_BFLOAT16) {
    return etx_call_refuse_dtype(call, 0, "a wider type");
  }
  return prepare_scatter(call, run_scatter_add);
}
