// constant_pad_nd: a tensor in a frame of one number; negative pads crop.
//
// If both tensors are contiguous, each row of out is written once: rows of the
// frame are filled, and other rows are a piece of a row of self between two
// filled pieces. With other strides, out is filled, and the part of self that
// is not cropped is copied over it.

#include <string.h>

#include "runtime/kernels/core/dtype_switch.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/short_copy.h"
#include "runtime/kernels/views/strided_view.h"

typedef struct pad_frame {
  const etx_tensor* self;
  const etx_tensor* out;
  size_t bytes;
  etx_scalar value;  // in out's type
  int64_t
      before[ETX_MAX_RANK];  // padding before each dimension; negative: cropped
} pad_frame;

// Copies a contiguous row; `from` is NULL for a row that is padding only.
static void write_row(const pad_frame* f, char* to, const char* from) {
  const size_t last = (size_t)f->out->rank - 1;
  const int64_t size = f->out->sizes[last], self_size = f->self->sizes[last];
  const int64_t before = f->before[last];
  int64_t start = before > 0 ? before : 0;
  int64_t end = before + self_size < size ? before + self_size : size;
  if (from == NULL || end <= start) start = end = size;
  ETX_SWITCH_BYTES(f->bytes, T, {
    T one;
    memcpy(&one, &f->value, sizeof one);
    for (int64_t i = 0; i < start; ++i) {
      memcpy(to + (size_t)i * sizeof one, &one, sizeof one);
    }
    for (int64_t i = end; i < size; ++i) {
      memcpy(to + (size_t)i * sizeof one, &one, sizeof one);
    }
  })
  if (end == start) return;
  etx_copy_short(to + (size_t)start * f->bytes,
                 from + (ptrdiff_t)(start - before) * (ptrdiff_t)f->bytes,
                 (size_t)(end - start) * f->bytes);
}

// The row of self that belongs to the row of out at `position`; NULL for a row
// of the frame.
static const char* find_row(const pad_frame* f, const int32_t* position) {
  const char* from = f->self->data;
  for (size_t i = 0; i + 1 < f->out->rank; ++i) {
    const int64_t at = position[i] - f->before[i];
    if (at < 0 || at >= f->self->sizes[i]) return NULL;
    from += (ptrdiff_t)at * f->self->strides[i] * (ptrdiff_t)f->bytes;
  }
  return from;
}

static void write_rows(const pad_frame* f) {
  const size_t outer = (size_t)f->out->rank - 1;
  const size_t row = (size_t)f->out->sizes[outer] * f->bytes;
  int32_t position[ETX_MAX_RANK] = {0};
  char* to = f->out->data;
  for (;; to += row) {
    write_row(f, to, find_row(f, position));
    size_t i = outer;
    while (i > 0 && ++position[i - 1] == f->out->sizes[i - 1]) {
      position[--i] = 0;
    }
    if (i == 0) return;
  }
}

// `pad` has pairs (before, after) for the last dimensions, the last one first.
static pad_frame frame_of(const etx_call* call) {
  pad_frame f = {.self = etx_call_tensor(call, ETX_ARG_constant_pad_nd_self),
                 .out = etx_call_tensor(call, ETX_ARG_constant_pad_nd_out)};
  const size_t pairs =
      etx_call_value(call, ETX_ARG_constant_pad_nd_pad)->as.integers.count / 2;
  f.bytes = etx_dtype_bytes(f.out->dtype);
  etx_scalar_store(etx_call_value(call, ETX_ARG_constant_pad_nd_value),
                   f.out->dtype, &f.value);
  for (size_t i = 0; i < pairs; ++i) {
    f.before[f.self->rank - 1 - i] =
        etx_call_item(call, ETX_ARG_constant_pad_nd_pad, 2 * i);
  }
  return f;
}

// For contiguous tensors.
static etx_status run_dense(etx_call* call) {
  const pad_frame f = frame_of(call);
  write_rows(&f);
  return ETX_OK;
}

// For any strides: fills out, then copies the part of self that is not cropped.
static etx_status run_strided(etx_call* call) {
  const pad_frame f = frame_of(call);
  etx_strided_view self = etx_strided_view_of(f.self),
                   inner = etx_strided_view_of(f.out);
  etx_strided_view_fill(&inner, &f.value);
  for (size_t i = 0; i < inner.rank; ++i) {
    const int64_t before = f.before[i];
    const int64_t end = before + self.sizes[i];
    const int64_t start = before > 0 ? before : 0;
    const int64_t size = inner.sizes[i];
    const int64_t count = (end < size ? end : size) - start;
    if (count <= 0) return ETX_OK;
    etx_strided_view_slice(&self, i, start - before, count, 1);
    etx_strided_view_slice(&inner, i, start, count, 1);
  }
  etx_strided_view_copy(&inner, &self);
  return ETX_OK;
}

etx_status etx_kernel_constant_pad_nd_out_prepare(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_constant_pad_nd_self);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_constant_pad_nd_out);
  ETX_TRY(etx_call_check_real(call, ETX_ARG_constant_pad_nd_self));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_constant_pad_nd_self,
                                    ETX_ARG_constant_pad_nd_out));
  const bool is_dense = out->rank > 0 && etx_tensor_numel(out) > 0 &&
                        etx_tensor_is_contiguous(self) &&
                        etx_tensor_is_contiguous(out);
  call->run = is_dense ? run_dense : run_strided;
  return ETX_OK;
}
