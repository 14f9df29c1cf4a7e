// Results that are as large as elements say: nonzero, masked_select,
// repeat_interleave; and masked_scatter, which reads as much as they say.
//
// Each first counts, gives its out tensor the size that it found and then
// writes. What is refused is refused before anything is written.

#include <string.h>

#include "runtime/kernels/dtype_switch.h"
#include "runtime/kernels/flat_order.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/short_copy.h"
#include "runtime/kernels/strided_view.h"
#include "runtime/kernels/walk.h"

static etx_status resize_rows(const etx_call* call, size_t out, size_t count,
                              int32_t width) {
  const int32_t sizes[2] = {(int32_t)count, width};
  if (count > INT32_MAX) {
    return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                           "%z elements are selected, expected at most %i",
                           count, (int64_t)INT32_MAX);
  }
  return etx_call_resize_out(call, out, sizes);
}

// ---- nonzero ----

enum { MARKS = 256 };

// Elements are looked at as whole numbers: an element is zero if no bit is set
// but, in floats, the sign.
typedef struct row {
  const char* data;
  ptrdiff_t step;  // bytes
  size_t bytes;
  uint64_t bits;  // that count; of 16 bytes, in each half
} row;

static uint64_t bits_that_count(etx_dtype dtype) {
  const etx_dtype_category category = etx_dtype_category_of(dtype);
  if (category != ETX_CATEGORY_FLOATING && category != ETX_CATEGORY_COMPLEX) {
    return UINT64_MAX;
  }
  switch (dtype) {
    case ETX_DTYPE_FLOAT16:
    case ETX_DTYPE_BFLOAT16:
    case ETX_DTYPE_COMPLEX32:
      return UINT64_C(0x7fff7fff7fff7fff);
    case ETX_DTYPE_FLOAT32:
    case ETX_DTYPE_COMPLEX64:
      return UINT64_C(0x7fffffff7fffffff);
    default:
      return UINT64_MAX >> 1;
  }
}

#define MARK_ELEMENTS(T)                              \
  {                                                   \
    const T bits = (T)r->bits;                        \
    for (size_t i = 0; i < count; ++i) {              \
      T x;                                            \
      memcpy(&x, at + (ptrdiff_t)i * step, sizeof x); \
      marks[i] = (x & bits) != 0;                     \
    }                                                 \
    break;                                            \
  }

// A truth value for each of at most MARKS elements from `start` on.
static void mark(const row* r, size_t start, size_t count, uint8_t* marks) {
  const ptrdiff_t step = r->step;
  const char* at = r->data + (ptrdiff_t)start * step;
  switch (r->bytes) {
    case 1:
      MARK_ELEMENTS(uint8_t)
    case 2:
      MARK_ELEMENTS(uint16_t)
    case 4:
      MARK_ELEMENTS(uint32_t)
    case 8:
      MARK_ELEMENTS(uint64_t)
    default:
      for (size_t i = 0; i < count; ++i) {
        etx_pair x;
        memcpy(&x, at + (ptrdiff_t)i * step, sizeof x);
        marks[i] = ((x.low | x.high) & r->bits) != 0;
      }
  }
}

static size_t count_row(const row* r, size_t count) {
  uint8_t marks[MARKS];
  size_t found = 0;
  for (size_t start = 0; start < count; start += MARKS) {
    const size_t piece = count - start < MARKS ? count - start : MARKS;
    mark(r, start, piece, marks);
    for (size_t i = 0; i < piece; ++i) found += marks[i];
  }
  return found;
}

// Where the next row of indices goes.
typedef struct listing {
  char* data;
  ptrdiff_t row_step, column_step;  // bytes
  const int64_t* position;          // of the present row of self
  size_t outer;                     // dimensions above it
} listing;

static void list_row(listing* l, const row* r, size_t count, bool is_scalar) {
  uint8_t marks[MARKS];
  for (size_t start = 0; start < count; start += MARKS) {
    const size_t piece = count - start < MARKS ? count - start : MARKS;
    mark(r, start, piece, marks);
    for (size_t i = 0; i < piece; ++i) {
      if (marks[i] == 0) continue;
      char* to = l->data;
      for (size_t d = 0; d < l->outer; ++d, to += l->column_step) {
        memcpy(to, &l->position[d], sizeof(int64_t));
      }
      const int64_t last = (int64_t)(start + i);
      if (!is_scalar) memcpy(to, &last, sizeof last);
      l->data += l->row_step;
    }
  }
}

// Visits self row by row: counts, or lists if there is somewhere to.
static size_t visit_rows(const etx_tensor* self, listing* list) {
  const size_t outer = self->rank == 0 ? 0 : (size_t)self->rank - 1;
  const size_t count = self->rank == 0 ? 1 : (size_t)self->sizes[outer];
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(self->dtype);
  int64_t position[ETX_MAX_RANK] = {0};
  row r = {self->data, 0, (size_t)bytes, bits_that_count(self->dtype)};
  size_t found = 0;
  if (etx_tensor_numel(self) == 0) return 0;
  if (self->rank > 0) r.step = self->strides[outer] * bytes;
  if (list != NULL) {
    list->position = position;
    list->outer = outer;
  }
  for (;;) {
    if (list == NULL) {
      found += count_row(&r, count);
    } else {
      list_row(list, &r, count, self->rank == 0);
    }
    size_t i = outer;
    while (i > 0 && ++position[i - 1] == self->sizes[i - 1]) {
      --i;
      position[i] = 0;
      r.data -= (self->sizes[i] - 1) * self->strides[i] * bytes;
    }
    if (i == 0) return found;
    r.data += self->strides[i - 1] * bytes;
  }
}

// (self, out [found, rank])
static etx_status run_nonzero(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, 0);
  const size_t found = visit_rows(self, NULL);
  ETX_TRY(resize_rows(call, 1, found, self->rank));
  const etx_tensor* out = etx_call_tensor(call, 1);
  listing list = {.data = out->data,
                  .row_step = out->strides[0] * (ptrdiff_t)sizeof(int64_t),
                  .column_step = out->strides[1] * (ptrdiff_t)sizeof(int64_t)};
  if (found > 0) (void)visit_rows(self, &list);
  return ETX_OK;
}

etx_status etx_kernel_nonzero_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_dtype(call, 1, ETX_DTYPE_INT64));
  call->run = run_nonzero;
  return ETX_OK;
}

// ---- masks ----

static size_t count_true(const etx_tensor* mask) {
  size_t found = 0;
  etx_walk walk;
  etx_walk_init(&walk, mask->sizes, mask->rank);
  etx_walk_add(&walk, mask);
  for (bool more = etx_walk_start(&walk); more; more = etx_walk_next(&walk)) {
    const char* at = walk.data[0];
    for (size_t i = 0; i < walk.count; ++i) {
      found += at[(ptrdiff_t)i * walk.stride[0]] != 0;
    }
  }
  return found;
}

// The sizes of two tensors broadcast together, which the rule has seen to fit.
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

// True elements of the mask once it is broadcast to these sizes.
static size_t count_selected(const etx_tensor* mask, const int32_t* sizes,
                             size_t rank) {
  size_t numel = 1;
  const size_t own = etx_tensor_numel(mask);
  for (size_t i = 0; i < rank; ++i) numel *= (size_t)sizes[i];
  return own == 0 ? 0 : count_true(mask) * (numel / own);
}

// Where the mask is true, copies from operand 0 of the walk to `dense`, which
// steps on by one. Returns where that ends.
static char* take_selected(const etx_walk* walk, size_t bytes, char* dense) {
  const char* mask = walk->data[1];
  ETX_SWITCH_BYTES(bytes, T, {
    for (size_t i = 0; i < walk->count; ++i) {
      const ptrdiff_t at = (ptrdiff_t)i;
      if (mask[at * walk->stride[1]] == 0) continue;
      memcpy(dense, walk->data[0] + at * walk->stride[0] * (ptrdiff_t)sizeof(T),
             sizeof(T));
      dense += sizeof(T);
    }
  })
  return dense;
}

// (self, mask, out)
static etx_status run_masked_select(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, 0);
  const etx_tensor* mask = etx_call_tensor(call, 1);
  const size_t bytes = etx_dtype_bytes(self->dtype);
  int32_t sizes[ETX_MAX_RANK];
  const size_t rank = broadcast_sizes(self, mask, sizes);
  const size_t found = count_selected(mask, sizes, rank);
  ETX_TRY(resize_rows(call, 2, found, 0));
  if (found == 0) return ETX_OK;
  char* to = etx_call_tensor(call, 2)->data;
  etx_walk walk;
  etx_walk_init(&walk, sizes, rank);
  etx_walk_add(&walk, self);
  etx_walk_add(&walk, mask);
  for (bool more = etx_walk_start(&walk); more; more = etx_walk_next(&walk)) {
    to = take_selected(&walk, bytes, to);
  }
  return ETX_OK;
}

etx_status etx_kernel_masked_select_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, 0, 2));
  ETX_TRY(etx_call_check_contiguous(call, 2));
  call->run = run_masked_select;
  return ETX_OK;
}

// The same the other way, from a cursor over source.
static void give_selected(const etx_walk* walk, etx_flat_cursor* source) {
  const size_t bytes = (size_t)walk->bytes[0];
  const char* mask = walk->data[1];
  for (size_t i = 0; i < walk->count; ++i) {
    const ptrdiff_t at = (ptrdiff_t)i;
    if (mask[at * walk->stride[1]] == 0) continue;
    etx_copy_short(walk->data[0] + at * walk->stride[0] * walk->bytes[0],
                   source->at, bytes);
    etx_flat_next(source);
  }
}

// (self, mask, source, out): source's elements in order, as many as needed.
static etx_status run_masked_scatter(etx_call* call) {
  const etx_view self = etx_view_of(etx_call_tensor(call, 0));
  const etx_tensor* mask = etx_call_tensor(call, 1);
  const etx_tensor* source = etx_call_tensor(call, 2);
  const etx_tensor* out = etx_call_tensor(call, 3);
  const size_t wanted = count_selected(mask, out->sizes, out->rank);
  if (etx_tensor_numel(source) < wanted) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'source' has %z elements, the mask takes %z",
                           etx_tensor_numel(source), wanted);
  }
  const etx_view to = etx_view_of(out);
  etx_view_copy(&to, &self);
  if (wanted == 0) return ETX_OK;
  etx_flat_cursor from = etx_flat_start(source, 0);
  etx_walk walk;
  etx_walk_init(&walk, out->sizes, out->rank);
  etx_walk_add(&walk, out);
  etx_walk_add(&walk, mask);
  for (bool more = etx_walk_start(&walk); more; more = etx_walk_next(&walk)) {
    give_selected(&walk, &from);
  }
  return ETX_OK;
}

etx_status etx_kernel_masked_scatter_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, 0, 2));
  ETX_TRY(etx_call_check_same_dtype(call, 0, 3));
  call->run = run_masked_scatter;
  return ETX_OK;
}

// ---- repeat_interleave ----

static int64_t repeats_at(const etx_tensor* repeats, size_t i) {
  const char* data = repeats->data;
  const ptrdiff_t at = (ptrdiff_t)i * repeats->strides[0];
  int64_t wide;
  int32_t narrow;
  if (repeats->dtype == ETX_DTYPE_INT64) {
    memcpy(&wide, data + at * (ptrdiff_t)sizeof wide, sizeof wide);
    return wide;
  }
  memcpy(&narrow, data + at * (ptrdiff_t)sizeof narrow, sizeof narrow);
  return narrow;
}

// (repeats, output_size, out): each index as often as `repeats` says.
static etx_status run_repeat_interleave(etx_call* call) {
  const etx_tensor* repeats = etx_call_tensor(call, 0);
  const size_t count = (size_t)repeats->sizes[0];
  uint64_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    const int64_t times = repeats_at(repeats, i);
    if (times < 0 || times > INT32_MAX || total + (uint64_t)times > INT32_MAX) {
      return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                             "index %z repeats %i times", i, times);
    }
    total += (uint64_t)times;
  }
  const bool is_sized = count > 0 && !etx_call_is_none(call, 1);
  if (is_sized && (uint64_t)etx_call_integer(call, 1) != total) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "the repeats add up to %u, 'output_size' is %i",
                           total, etx_call_integer(call, 1));
  }
  ETX_TRY(resize_rows(call, 2, (size_t)total, 0));
  const etx_tensor* out = etx_call_tensor(call, 2);
  char* to = out->data;
  const size_t bytes = etx_dtype_bytes(out->dtype);
  for (size_t i = 0; i < count; ++i) {
    const int64_t index = (int64_t)i;
    for (int64_t k = repeats_at(repeats, i); k > 0; --k, to += bytes) {
      memcpy(to, &index, bytes);  // little-endian, and never that large
    }
  }
  return ETX_OK;
}

etx_status etx_kernel_repeat_interleave_tensor_out_prepare(etx_call* call) {
  const etx_tensor* repeats = etx_call_tensor(call, 0);
  if (repeats->dtype != ETX_DTYPE_INT64 && repeats->dtype != ETX_DTYPE_INT32) {
    return etx_call_refuse_dtype(call, 0, "'int64' or 'int32'");
  }
  ETX_TRY(etx_call_check_same_dtype(call, 0, 2));
  ETX_TRY(etx_call_check_contiguous(call, 2));
  call->run = run_repeat_interleave;
  return ETX_OK;
}
