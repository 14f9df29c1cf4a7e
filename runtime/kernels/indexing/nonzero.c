// nonzero: the indices of all elements that are not zero; nonzero_static: of so
// many of them, with a fill value if there are fewer.
//
// nonzero counts them first, so that out gets its size. Then a row of indices
// is written for every element, and the output advances if the element is not
// zero: a branch would often be mispredicted.

#include <string.h>

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"

enum { MARKS = 256 };

// Elements are read as unsigned integers. An element is zero if no bit is set,
// apart from the sign bit of floats.
typedef struct element_row {
  const char* data;
  ptrdiff_t step;  // bytes
  size_t bytes;
  uint64_t bits;  // that are tested; for 16 bytes, in each half
} element_row;

static uint64_t tested_bits(etx_dtype dtype) {
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

static void mark_strided(const element_row* r, const char* at, ptrdiff_t step,
                         size_t count, uint8_t* marks) {
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
        uint64_t x[2];
        memcpy(x, at + (ptrdiff_t)i * step, sizeof x);
        marks[i] = ((x[0] | x[1]) & r->bits) != 0;
      }
  }
}

// Sets a mark for each of at most MARKS elements from `start` on that is not
// zero. Contiguous rows have a loop of their own, which is vectorised.
static void mark(const element_row* r, size_t start, size_t count,
                 uint8_t* marks) {
  const char* at = r->data + (ptrdiff_t)start * r->step;
  if (r->step == 1 && r->bytes == 1) {
    for (size_t i = 0; i < count; ++i) marks[i] = at[i] != 0;
  } else if (r->step == 4 && r->bytes == 4) {
    const ptrdiff_t step = 4;
    const uint32_t bits = (uint32_t)r->bits;
    for (size_t i = 0; i < count; ++i) {
      uint32_t x;
      memcpy(&x, at + (ptrdiff_t)i * step, sizeof x);
      marks[i] = (x & bits) != 0;
    }
  } else {
    mark_strided(r, at, r->step, count, marks);
  }
}

// The output of indices, and the current position in self.
typedef struct index_output {
  const etx_tensor* self;
  char* data;                       // of the next row
  ptrdiff_t row_step, column_step;  // bytes
  size_t left;                      // rows that are still to be written
  int64_t position[ETX_MAX_RANK];   // of the current element
} index_output;

// Goes to the next row of self.
static void carry(index_output* l) {
  for (size_t i = (size_t)l->self->rank - 1; i > 0; --i) {
    if (l->position[i] < l->self->sizes[i]) return;
    l->position[i] = 0;
    ++l->position[i - 1];
  }
}

// Writes the indices of elements of one row of self. Two dimensions with
// contiguous indices have a loop of their own.
static void list_in_row(index_output* l, const uint8_t* marks, size_t count) {
  const size_t outer = (size_t)l->self->rank - 1;
  const int64_t first = l->position[outer];
  char* to = l->data;
  size_t left = l->left;
  if (outer == 1 && l->column_step == (ptrdiff_t)sizeof(int64_t)) {
    const int64_t above = l->position[0];
    for (size_t i = 0; i < count && left > 0; ++i) {
      const int64_t indices[2] = {above, first + (int64_t)i};
      memcpy(to, indices, sizeof indices);
      to += (size_t)marks[i] * sizeof indices;
      left -= marks[i];
    }
  } else {
    for (size_t i = 0; i < count && left > 0; ++i) {
      const int64_t last = first + (int64_t)i;
      if (marks[i] == 0) continue;
      for (size_t d = 0; d < outer; ++d) {
        memcpy(to + (ptrdiff_t)d * l->column_step, &l->position[d],
               sizeof(int64_t));
      }
      memcpy(to + (ptrdiff_t)outer * l->column_step, &last, sizeof last);
      to += l->row_step;
      --left;
    }
  }
  l->data = to;
  l->left = left;
}

static void list_marked(index_output* l, const uint8_t* marks, size_t count) {
  const size_t rank = l->self->rank;
  if (rank == 0) return;
  int64_t* last = &l->position[rank - 1];
  const size_t size = (size_t)l->self->sizes[rank - 1];
  while (count > 0 && l->left > 0) {
    const size_t rest = size - (size_t)*last;
    const size_t piece = rest < count ? rest : count;
    list_in_row(l, marks, piece);
    *last += (int64_t)piece;
    if (piece == rest) carry(l);
    marks += piece;
    count -= piece;
  }
}

static size_t visit_row(const element_row* r, size_t count,
                        index_output* list) {
  uint8_t marks[MARKS];
  size_t found = 0;
  for (size_t start = 0; start < count; start += MARKS) {
    const size_t piece = count - start < MARKS ? count - start : MARKS;
    mark(r, start, piece, marks);
    if (list != NULL) {
      list_marked(list, marks, piece);
    } else {
      unsigned in_piece = 0;
      for (size_t i = 0; i < piece; ++i) in_piece += marks[i];
      found += in_piece;
    }
  }
  return found;
}

// Visits all elements in order: counts them, or writes indices if `list` is not
// NULL. A contiguous tensor is one row.
static __attribute__((noinline)) size_t visit(const etx_tensor* self,
                                              index_output* list) {
  const size_t numel = etx_tensor_numel(self);
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(self->dtype);
  element_row r = {self->data, bytes, (size_t)bytes, tested_bits(self->dtype)};
  if (numel == 0) return 0;
  if (etx_tensor_is_contiguous(self)) return visit_row(&r, numel, list);
  const size_t outer = (size_t)self->rank - 1;
  int32_t position[ETX_MAX_RANK] = {0};
  size_t found = 0;
  r.step = self->strides[outer] * bytes;
  for (;;) {
    found += visit_row(&r, (size_t)self->sizes[outer], list);
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

static index_output list_of(const etx_tensor* self, const etx_tensor* out,
                            size_t rows) {
  const index_output list = {
      .self = self,
      .data = out->data,
      .row_step = out->strides[0] * (ptrdiff_t)sizeof(int64_t),
      .column_step = out->strides[1] * (ptrdiff_t)sizeof(int64_t),
      .left = rows};
  return list;
}

// out is [count, rank].
static etx_status run_nonzero(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_nonzero_self);
  const size_t found = visit(self, NULL);
  const int32_t sizes[2] = {(int32_t)found, self->rank};
  if (found > INT32_MAX) {
    return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                           "%z elements are not zero, expected at most %i",
                           found, (int64_t)INT32_MAX);
  }
  ETX_TRY(etx_call_resize_out(call, ETX_ARG_nonzero_out, sizes));
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_nonzero_out);
  index_output list = list_of(self, out, found);
  if (found > 0) (void)visit(self, &list);
  return ETX_OK;
}

etx_status etx_kernel_nonzero_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_nonzero_out, ETX_DTYPE_INT64));
  call->run = run_nonzero;
  return ETX_OK;
}

// out is [size, rank].
static etx_status run_nonzero_static(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_nonzero_static_self);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_nonzero_static_out);
  const int64_t fill =
      etx_call_integer(call, ETX_ARG_nonzero_static_fill_value);
  index_output list = list_of(self, out, (size_t)out->sizes[0]);
  (void)visit(self, &list);
  for (; list.left > 0; --list.left, list.data += list.row_step) {
    for (size_t d = 0; d < self->rank; ++d) {
      memcpy(list.data + (ptrdiff_t)d * list.column_step, &fill, sizeof fill);
    }
  }
  return ETX_OK;
}

etx_status etx_kernel_nonzero_static_out_prepare(etx_call* call) {
  ETX_TRY(
      etx_call_check_dtype(call, ETX_ARG_nonzero_static_out, ETX_DTYPE_INT64));
  call->run = run_nonzero_static;
  return ETX_OK;
}
