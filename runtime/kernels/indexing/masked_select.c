// Operators whose sizes depend on elements: masked_select, repeat_interleave,
// and masked_scatter, which reads a part of its source that depends on the
// mask.
//
// Each first counts, resizes its out tensor and then writes. Calls are refused
// before anything is written.

#include <string.h>

#include "runtime/kernels/core/dtype_switch.h"
#include "runtime/kernels/views/flat_order.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/short_copy.h"
#include "runtime/kernels/views/strided_view.h"
#include "runtime/kernels/core/strided_iterator.h"

static etx_status resize_vector(const etx_call* call, size_t out,
                                size_t count) {
  const int32_t size = (int32_t)count;
  if (count > INT32_MAX) {
    return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                           "%z elements are selected, expected at most %i",
                           count, (int64_t)INT32_MAX);
  }
  return etx_call_resize_out(call, out, &size);
}

// ---- masks ----

static size_t count_row(const char* mask, ptrdiff_t stride, size_t count) {
  enum { PIECE = 4096 };
  size_t found = 0;
  for (size_t start = 0; start < count; start += PIECE) {
    const size_t end = count - start < PIECE ? count : start + PIECE;
    unsigned in_piece = 0;
    if (stride == 1) {
      for (size_t i = start; i < end; ++i) in_piece += mask[i] != 0;
    } else {
      for (size_t i = start; i < end; ++i) {
        in_piece += mask[(ptrdiff_t)i * stride] != 0;
      }
    }
    found += in_piece;
  }
  return found;
}

static size_t count_true(const etx_tensor* mask) {
  size_t found = 0;
  etx_strided_iterator it;
  if (etx_tensor_is_contiguous(mask)) {
    return count_row(mask->data, 1, etx_tensor_numel(mask));
  }
  etx_strided_iterator_init(&it, mask->sizes, mask->rank);
  etx_strided_iterator_add(&it, mask);
  for (bool more = etx_strided_iterator_start(&it); more;
       more = etx_strided_iterator_next(&it)) {
    found += count_row(it.data[0], it.stride[0], it.count);
  }
  return found;
}

// The broadcast sizes of two tensors; the shape rule has checked that they fit.
static size_t broadcast_sizes(const etx_tensor* a, const etx_tensor* b,
                              int32_t* sizes) {
  const size_t rank = a->rank > b->rank ? a->rank : b->rank;
  for (size_t i = 0; i < rank; ++i) {
    const size_t from_a = i + a->rank - rank, from_b = i + b->rank - rank;
    const int32_t size = i + a->rank < rank ? 1 : a->sizes[from_a];
    sizes[i] = size == 1 && i + b->rank >= rank ? b->sizes[from_b] : size;
  }
  return rank;
}

// The number of true elements of the mask, broadcast to these sizes.
static size_t count_selected(const etx_tensor* mask, const int32_t* sizes,
                             size_t rank) {
  size_t numel = 1;
  const size_t mask_numel = etx_tensor_numel(mask);
  for (size_t i = 0; i < rank; ++i) numel *= (size_t)sizes[i];
  return mask_numel == 0 ? 0 : count_true(mask) * (numel / mask_numel);
}

// A row of a tensor and of its mask. Steps are bytes.
typedef struct masked_row {
  char* data;
  const char* mask;
  ptrdiff_t step, mask_step;
  size_t count;
} masked_row;

typedef struct masked_rows {
  etx_strided_iterator it;
  bool is_one;  // both are contiguous and have one shape
} masked_rows;

static void show(const etx_strided_iterator* it, masked_row* row) {
  *row = (masked_row){it->data[0], it->data[1], it->stride[0] * it->bytes[0],
                      it->stride[1], it->count};
}

static bool same_sizes(const etx_tensor* a, const etx_tensor* b) {
  return a->rank == b->rank &&
         (a->rank == 0 ||
          memcmp(a->sizes, b->sizes, a->rank * sizeof *a->sizes) == 0);
}

// Goes to the first row of `tensor` and `mask`, broadcast to these sizes, none
// of which is 0.
static void start_rows(masked_rows* rows, const etx_tensor* tensor,
                       const etx_tensor* mask, const int32_t* sizes,
                       size_t rank, masked_row* row) {
  rows->is_one = same_sizes(tensor, mask) && etx_tensor_is_contiguous(tensor) &&
                 etx_tensor_is_contiguous(mask);
  if (rows->is_one) {
    *row = (masked_row){tensor->data, mask->data,
                        (ptrdiff_t)etx_dtype_bytes(tensor->dtype), 1,
                        etx_tensor_numel(tensor)};
    return;
  }
  etx_strided_iterator_init(&rows->it, sizes, rank);
  etx_strided_iterator_add(&rows->it, tensor);
  etx_strided_iterator_add(&rows->it, mask);
  (void)etx_strided_iterator_start(&rows->it);
  show(&rows->it, row);
}

static bool next_row(masked_rows* rows, masked_row* row) {
  if (rows->is_one || !etx_strided_iterator_next(&rows->it)) return false;
  show(&rows->it, row);
  return true;
}

// Copies the elements of a row whose mask is true to `dense`, which has room
// for `left`. Every element is written, and `dense` advances if the mask is
// true: a branch would often be mispredicted. Returns the number of selected
// elements.
static size_t gather_selected(const masked_row* r, size_t bytes, char* dense,
                              size_t left) {
  size_t taken = 0;
  ETX_SWITCH_BYTES(bytes, T, {
    for (size_t i = 0; i < r->count && taken < left; ++i) {
      memcpy(dense + taken * sizeof(T), r->data + (ptrdiff_t)i * r->step,
             sizeof(T));
      taken += r->mask[(ptrdiff_t)i * r->mask_step] != 0;
    }
  })
  return taken;
}

static etx_status run_masked_select(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_masked_select_self);
  const etx_tensor* mask = etx_call_tensor(call, ETX_ARG_masked_select_mask);
  const size_t bytes = etx_dtype_bytes(self->dtype);
  int32_t sizes[ETX_MAX_RANK];
  masked_rows rows;
  masked_row row;
  const size_t rank = broadcast_sizes(self, mask, sizes);
  size_t left = count_selected(mask, sizes, rank);
  ETX_TRY(resize_vector(call, ETX_ARG_masked_select_out, left));
  if (left == 0) return ETX_OK;
  char* to = etx_call_tensor(call, ETX_ARG_masked_select_out)->data;
  start_rows(&rows, self, mask, sizes, rank, &row);
  do {
    const size_t taken = gather_selected(&row, bytes, to, left);
    to += taken * bytes;
    left -= taken;
  } while (next_row(&rows, &row));
  return ETX_OK;
}

etx_status etx_kernel_masked_select_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_masked_select_self,
                                    ETX_ARG_masked_select_out));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_masked_select_out));
  call->run = run_masked_select;
  return ETX_OK;
}

// Writes the elements of a row whose mask is true, from a cursor over source.
static void scatter_selected(const masked_row* r, size_t bytes,
                             etx_flat_cursor* source) {
  for (size_t i = 0; i < r->count; ++i) {
    const ptrdiff_t at = (ptrdiff_t)i;
    if (r->mask[at * r->mask_step] == 0) continue;
    etx_copy_short(r->data + at * r->step, source->at, bytes);
    etx_flat_next(source);
  }
}

// The same from a contiguous source of at least one element. The source has as
// many elements as the mask has true ones, so elements read behind its end are
// not used.
static const char* scatter_dense(const masked_row* r, size_t bytes,
                                 const char* from, const char* last) {
  ETX_SWITCH_BYTES(bytes, T, {
    char* to = r->data;
    for (size_t i = 0; i < r->count; ++i, to += r->step) {
      const bool is_true = r->mask[(ptrdiff_t)i * r->mask_step] != 0;
      T one;
      memcpy(&one, is_true ? from : to, sizeof one);
      memcpy(to, &one, sizeof one);
      from += is_true && from != last ? sizeof(T) : 0;
    }
  })
  return from;
}

static void scatter_all(const etx_tensor* out, const etx_tensor* mask,
                        const etx_tensor* source) {
  const size_t bytes = etx_dtype_bytes(out->dtype);
  const bool is_dense = etx_tensor_is_contiguous(source);
  const char* from = source->data;
  const char* last = from + etx_tensor_bytes(source) - bytes;
  etx_flat_cursor cursor = etx_flat_start(source, 0);
  masked_rows rows;
  masked_row row;
  start_rows(&rows, out, mask, out->sizes, out->rank, &row);
  do {
    if (is_dense) {
      from = scatter_dense(&row, bytes, from, last);
    } else {
      scatter_selected(&row, bytes, &cursor);
    }
  } while (next_row(&rows, &row));
}

// Elements of source are used in order, as many as the mask selects.
static etx_status run_masked_scatter(etx_call* call) {
  const etx_strided_view self =
      etx_strided_view_of(etx_call_tensor(call, ETX_ARG_masked_scatter_self));
  const etx_tensor* mask = etx_call_tensor(call, ETX_ARG_masked_scatter_mask);
  const etx_tensor* source =
      etx_call_tensor(call, ETX_ARG_masked_scatter_source);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_masked_scatter_out);
  const size_t wanted = count_selected(mask, out->sizes, out->rank);
  if (etx_tensor_numel(source) < wanted) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'source' has %z elements, the mask takes %z",
                           etx_tensor_numel(source), wanted);
  }
  const etx_strided_view to = etx_strided_view_of(out);
  etx_strided_view_copy(&to, &self);
  if (wanted > 0) scatter_all(out, mask, source);
  return ETX_OK;
}

etx_status etx_kernel_masked_scatter_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_masked_scatter_self,
                                    ETX_ARG_masked_scatter_source));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_masked_scatter_self,
                                    ETX_ARG_masked_scatter_out));
  call->run = run_masked_scatter;
  return ETX_OK;
}

// ---- repeat_interleave ----

// The sum of all repeats. Refuses negative ones and a sum that is too large.
#define ADD_REPEATS(T)                                                        \
  for (size_t i = 0; i < count; ++i) {                                        \
    const T times = ((const T*)data)[(ptrdiff_t)i * stride];                  \
    if (times < 0 || times > INT32_MAX - total) {                             \
      return etx_call_refuse(call, ETX_BAD_ARGUMENT,                          \
                             "index %z repeats %i times", i, (int64_t)times); \
    }                                                                         \
    total += (int32_t)times;                                                  \
  }

static etx_status add_repeats(const etx_call* call, int32_t* out_total) {
  const etx_tensor* repeats =
      etx_call_tensor(call, ETX_ARG_repeat_interleave_tensor_repeats);
  const size_t count = (size_t)repeats->sizes[0];
  const ptrdiff_t stride = repeats->strides[0];
  const void* data = repeats->data;
  int32_t total = 0;
  if (repeats->dtype == ETX_DTYPE_INT64) {
    ADD_REPEATS(int64_t)
  } else {
    ADD_REPEATS(int32_t)
  }
  *out_total = total;
  return ETX_OK;
}

// Writes each index `repeats` times. While there is room, a fixed number of
// copies is written without a branch; the next index overwrites the surplus.
#define WRITE_INDICES(T)                                     \
  for (size_t i = 0; i < count; ++i) {                       \
    const T times = ((const T*)data)[(ptrdiff_t)i * stride]; \
    T* to = (T*)out->data + at;                              \
    if (times <= FEW && total - at >= FEW) {                 \
      for (int k = 0; k < FEW; ++k) to[k] = (T)i;            \
    } else {                                                 \
      for (T k = 0; k < times; ++k) to[k] = (T)i;            \
    }                                                        \
    at += (int32_t)times;                                    \
  }

static void write_indices(const etx_tensor* repeats, const etx_tensor* out,
                          int32_t total) {
  enum { FEW = 4 };
  const size_t count = (size_t)repeats->sizes[0];
  const ptrdiff_t stride = repeats->strides[0];
  const void* data = repeats->data;
  int32_t at = 0;
  if (repeats->dtype == ETX_DTYPE_INT64) {
    WRITE_INDICES(int64_t)
  } else {
    WRITE_INDICES(int32_t)
  }
}

static etx_status run_repeat_interleave(etx_call* call) {
  const etx_tensor* repeats =
      etx_call_tensor(call, ETX_ARG_repeat_interleave_tensor_repeats);
  int32_t total = 0;
  ETX_TRY(add_repeats(call, &total));
  const bool is_sized =
      repeats->sizes[0] > 0 &&
      !etx_call_is_none(call, ETX_ARG_repeat_interleave_tensor_output_size);
  if (is_sized &&
      etx_call_integer(call, ETX_ARG_repeat_interleave_tensor_output_size) !=
          total) {
    return etx_call_refuse(
        call, ETX_BAD_ARGUMENT, "the repeats add up to %i, 'output_size' is %i",
        (int64_t)total,
        etx_call_integer(call, ETX_ARG_repeat_interleave_tensor_output_size));
  }
  ETX_TRY(
      resize_vector(call, ETX_ARG_repeat_interleave_tensor_out, (size_t)total));
  write_indices(repeats,
                etx_call_tensor(call, ETX_ARG_repeat_interleave_tensor_out),
                total);
  return ETX_OK;
}

etx_status etx_kernel_repeat_interleave_tensor_out_prepare(etx_call* call) {
  const etx_tensor* repeats =
      etx_call_tensor(call, ETX_ARG_repeat_interleave_tensor_repeats);
  if (repeats->dtype != ETX_DTYPE_INT64 && repeats->dtype != ETX_DTYPE_INT32) {
    return etx_call_refuse_dtype(call, ETX_ARG_repeat_interleave_tensor_repeats,
                                 "'int64' or 'int32'");
  }
  ETX_TRY(etx_call_check_same_dtype(call,
                                    ETX_ARG_repeat_interleave_tensor_repeats,
                                    ETX_ARG_repeat_interleave_tensor_out));
  ETX_TRY(
      etx_call_check_contiguous(call, ETX_ARG_repeat_interleave_tensor_out));
  call->run = run_repeat_interleave;
  return ETX_OK;
}
