// _unique2, unique_dim and unique_consecutive: the distinct elements of a
// tensor, or its distinct slices along one dimension; for each element which
// one it is (inverse), and how often each occurs (counts).
//
// Elements are ordered by keys, slices by the keys of their elements, one after
// the other; equal ones keep the order of their positions, and the first one is
// the result. NaN is after all numbers and differs from every NaN.
// unique_consecutive does not order them.

#include <string.h>

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/short_copy.h"
#include "runtime/kernels/core/slice_args.h"
#include "runtime/kernels/core/sort_keys.h"
#include "runtime/kernels/registry/temporary_kernels.h"
#include "runtime/kernels/views/flat_order.h"

// What is compared: slices of a tensor, or its elements.
typedef struct slices {
  etx_tensor one;  // the first slice; its sizes and strides are below
  int32_t sizes[ETX_MAX_RANK], strides[ETX_MAX_RANK];
  ptrdiff_t bytes;        // of an element
  ptrdiff_t step;         // from slice to slice, in bytes
  ptrdiff_t stride;       // between the elements of a slice, in elements
  bool has_stride;        // they have one
  const etx_tensor* all;  // elements that do not have one step; else NULL
  size_t count;           // of slices
  size_t elements;        // of each
  uint64_t nan;           // the key of NaN
  bool has_nan;           // the type has one
} slices;

// Which results are wanted, of what.
typedef struct unique_outputs {
  size_t first;       // position of the values; inverse and counts follow
  size_t dimension;   // of slices
  bool is_of_slices;  // otherwise of elements
  bool wants_inverse;
  bool wants_counts;
} unique_outputs;

static __attribute__((noinline)) void start_slices(slices* s,
                                                   const unique_outputs* o,
                                                   const etx_tensor* self) {
  *s = (slices){
      .one = *self,
      .bytes = (ptrdiff_t)etx_dtype_bytes(self->dtype),
      .step = (ptrdiff_t)etx_dtype_bytes(self->dtype),
      .stride = 1,
      .has_stride = true,
      .count = etx_tensor_numel(self),
      .elements = 1,
      .nan = etx_sort_key_of_nan(self->dtype),
      .has_nan = etx_dtype_category_of(self->dtype) == ETX_CATEGORY_FLOATING};
  size_t product = 1;
  s->one.rank = 0;
  if (!o->is_of_slices) {
    if (!etx_tensor_is_contiguous(self)) s->all = self;
    return;
  }
  s->count = (size_t)self->sizes[o->dimension];
  s->step *= self->strides[o->dimension];
  for (size_t i = 0; i < self->rank; ++i) {
    if (i == o->dimension) continue;
    s->sizes[s->one.rank] = self->sizes[i];
    s->strides[s->one.rank++] = self->strides[i];
    s->elements *= (size_t)self->sizes[i];
  }
  for (size_t i = s->one.rank; i-- > 0;) {
    if (i + 1 == s->one.rank) s->stride = s->strides[i];
    if (s->strides[i] != s->stride * (ptrdiff_t)product) s->has_stride = false;
    product *= (size_t)s->sizes[i];
  }
  s->one.sizes = s->sizes;
  s->one.strides = s->strides;
}

// The first element of slice `i`.
static __attribute__((noinline)) char* slice_at(const slices* s, uint64_t i) {
  if (s->all != NULL) return etx_flat_start(s->all, (size_t)i).at;
  return (char*)s->one.data + (ptrdiff_t)i * s->step;
}

// A negative number, 0 or a positive one, as slice a is before b, equal or
// after it. In an order NaN equals NaN; for `equality` it does not. Keys are
// loaded a few at a time if the elements of a slice have one stride.
static __attribute__((noinline)) int compare(const slices* s, uint64_t a,
                                             uint64_t b, bool equality) {
  enum { FEW = 8 };
  const size_t most = s->has_stride ? FEW : 1;
  etx_key_source left = {slice_at(s, a), s->one.dtype, s->stride, false};
  etx_key_source right = {slice_at(s, b), s->one.dtype, s->stride, false};
  etx_flat_cursor cursor = {.tensor = &s->one, .at = s->one.data};
  for (size_t done = 0; done < s->elements; done += most) {
    const size_t rest = s->elements - done;
    const size_t count = rest < most ? rest : most;
    uint64_t x[FEW], y[FEW];
    etx_sort_keys_load(&left, count, x);
    etx_sort_keys_load(&right, count, y);
    for (size_t i = 0; i < count; ++i) {
      if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
      if (equality && s->has_nan && x[i] == s->nan) return -1;
    }
    const char* const before = cursor.at;
    etx_flat_next(&cursor);
    const ptrdiff_t step = s->has_stride
                               ? (ptrdiff_t)most * s->stride * s->bytes
                               : cursor.at - before;
    left.data = (const char*)left.data + step;
    right.data = (const char*)right.data + step;
  }
  return 0;
}

// Merges two sorted runs, [0, middle) and [middle, end), into `to`.
static void merge(const slices* s, const etx_sort_entry* from, size_t middle,
                  size_t end, etx_sort_entry* to) {
  size_t left = 0, right = middle;
  for (size_t i = 0; i < end; ++i) {
    const bool takes_right =
        left == middle ||
        (right < end &&
         (from[right].key < from[left].key ||
          (from[right].key == from[left].key && s->elements > 1 &&
           compare(s, from[right].position, from[left].position, false) < 0)));
    to[i] = takes_right ? from[right++] : from[left++];
  }
}

// Sorts slices by merging runs of 1, 2, 4, .. slices. Keys are those of the
// first elements.
static const etx_sort_entry* merge_sort(const slices* s,
                                        etx_sort_entry* entries) {
  etx_sort_entry* from = entries;
  etx_sort_entry* to = entries + s->count;
  for (size_t run = 1; run < s->count; run *= 2) {
    for (size_t at = 0; at < s->count; at += 2 * run) {
      const size_t left = s->count - at;
      const size_t middle = left < run ? left : run;
      const size_t end = left < 2 * run ? left : 2 * run;
      merge(s, from + at, middle, end, to + at);
    }
    etx_sort_entry* const swapped = from;
    from = to;
    to = swapped;
  }
  return from;
}

// The order of the slices. The keys of the first elements are loaded a block at
// a time if they have one step.
static const etx_sort_entry* order_of(const slices* s, void* workspace) {
  etx_sort_entry* const entries = workspace;
  const etx_key_source source = {s->one.data, s->one.dtype, s->step / s->bytes,
                                 false};
  if (s->all == NULL) etx_sort_entries_load(&source, s->count, entries);
  for (size_t i = 0; i < s->count && s->all != NULL; ++i) {
    entries[i] =
        (etx_sort_entry){etx_sort_key_at(s->one.dtype, slice_at(s, i)), i};
  }
  return s->elements == 1
             ? etx_radix_sort(entries, entries + s->count, s->count)
             : merge_sort(s, entries);
}

// True if slice i in order differs from the one before it. `order` may be NULL.
static bool is_new(const slices* s, const etx_sort_entry* order, size_t i) {
  if (i == 0) return true;
  if (order == NULL) return compare(s, i - 1, i, true) != 0;
  if (order[i - 1].key != order[i].key) return true;
  if (s->elements == 1) return s->has_nan && order[i].key == s->nan;
  return compare(s, order[i - 1].position, order[i].position, true) != 0;
}

static void copy_slice(const slices* from, uint64_t a, const slices* to,
                       uint64_t b) {
  const size_t bytes = (size_t)from->bytes;
  const char* const source = slice_at(from, a);
  char* const target = slice_at(to, b);
  etx_flat_cursor read = {.tensor = &from->one, .at = from->one.data};
  etx_flat_cursor write = {.tensor = &to->one, .at = to->one.data};
  for (size_t i = 0; i < from->elements; ++i) {
    etx_copy_short(target + (write.at - (char*)to->one.data),
                   source + (read.at - (char*)from->one.data), bytes);
    etx_flat_next(&read);
    etx_flat_next(&write);
  }
}

static void write_results(const etx_call* call, const unique_outputs* o,
                          const slices* s, const etx_sort_entry* order) {
  const etx_tensor* values = etx_call_tensor(call, o->first);
  int64_t* inverse = etx_call_tensor(call, o->first + 1)->data;
  int64_t* counts = etx_call_tensor(call, o->first + 2)->data;
  slices to;
  size_t found = 0;
  start_slices(&to, o, values);
  for (size_t i = 0; i < s->count; ++i) {
    const uint64_t position = order == NULL ? i : order[i].position;
    if (is_new(s, order, i)) {
      copy_slice(s, position, &to, found);
      if (o->wants_counts) counts[found] = 0;
      ++found;
    }
    if (o->wants_counts) ++counts[found - 1];
    if (o->wants_inverse) inverse[position] = (int64_t)found - 1;
  }
}

// Gives the outputs their sizes before anything is written.
static etx_status resize_outputs(const etx_call* call, const unique_outputs* o,
                                 size_t found) {
  int32_t sizes[ETX_MAX_RANK];
  const etx_tensor* self = etx_call_tensor(call, 0);
  if (found > INT32_MAX) {
    return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                           "%z elements are distinct, expected at most %i",
                           found, (int64_t)INT32_MAX);
  }
  if (o->is_of_slices) {
    memcpy(sizes, self->sizes, self->rank * sizeof *sizes);
    sizes[o->dimension] = (int32_t)found;
  } else {
    sizes[0] = (int32_t)found;
  }
  ETX_TRY(etx_call_resize_out(call, o->first, sizes));
  sizes[0] = (int32_t)found;
  return o->wants_counts ? etx_call_resize_out(call, o->first + 2, sizes)
                         : ETX_OK;
}

static etx_status run_unique(etx_call* call, const unique_outputs* o,
                             bool sorts) {
  const etx_tensor* self = etx_call_tensor(call, 0);
  const etx_sort_entry* order = NULL;
  slices s;
  size_t found = 0;
  start_slices(&s, o, self);
  if (sorts && s.count > 0) order = order_of(&s, call->temporary);
  for (size_t i = 0; i < s.count; ++i) found += is_new(&s, order, i);
  ETX_TRY(resize_outputs(call, o, found));
  if (found > 0) write_results(call, o, &s, order);
  return ETX_OK;
}

static unique_outputs elements_of(const etx_call* call, size_t first,
                                  size_t return_inverse) {
  const unique_outputs o = {
      .first = first,
      .wants_inverse = etx_call_boolean(call, return_inverse),
      .wants_counts = etx_call_boolean(call, return_inverse + 1)};
  return o;
}

static unique_outputs slices_along(const etx_call* call, size_t first,
                                   size_t dim) {
  const unique_outputs o = {
      .first = first,
      .dimension = etx_wrap_dimension(etx_call_integer(call, dim),
                                      etx_call_tensor(call, 0)->rank),
      .is_of_slices = true,
      .wants_inverse = true,
      .wants_counts = true};
  return o;
}

static etx_status run_unique2(etx_call* call) {
  const unique_outputs o =
      elements_of(call, ETX_ARG_unique2_out0, ETX_ARG_unique2_return_inverse);
  return run_unique(call, &o, true);
}

static etx_status run_unique_dim(etx_call* call) {
  const unique_outputs o =
      slices_along(call, ETX_ARG_unique_dim_out0, ETX_ARG_unique_dim_dim);
  return run_unique(call, &o, true);
}

// Dimension 0 of a vector is as none.
static etx_status run_unique_consecutive(etx_call* call) {
  const etx_tensor* self =
      etx_call_tensor(call, ETX_ARG_unique_consecutive_self);
  const bool is_of_slices =
      !etx_call_is_none(call, ETX_ARG_unique_consecutive_dim) &&
      (self->rank > 1 ||
       etx_call_integer(call, ETX_ARG_unique_consecutive_dim) != 0);
  const unique_outputs o =
      is_of_slices ? slices_along(call, ETX_ARG_unique_consecutive_out0,
                                  ETX_ARG_unique_consecutive_dim)
                   : elements_of(call, ETX_ARG_unique_consecutive_out0,
                                 ETX_ARG_unique_consecutive_return_inverse);
  return run_unique(call, &o, false);
}

static etx_status prepare(etx_call* call, size_t first, size_t temporary,
                          etx_kernel_function run) {
  ETX_TRY(etx_call_check_real(call, 0));
  ETX_TRY(etx_call_check_same_dtype(call, 0, first));
  for (size_t i = first + 1; i < first + 3; ++i) {
    ETX_TRY(etx_call_check_dtype(call, i, ETX_DTYPE_INT64));
    ETX_TRY(etx_call_check_contiguous(call, i));
  }
  call->temporary_bytes = temporary;
  call->run = run;
  return ETX_OK;
}

etx_status etx_temporary_unique2(const etx_call* call, size_t* out_bytes) {
  *out_bytes =
      2 * etx_tensor_numel(etx_call_tensor(call, 0)) * sizeof(etx_sort_entry);
  return ETX_OK;
}

// For any dimension, since an invalid one is refused later.
etx_status etx_temporary_unique_dim(const etx_call* call, size_t* out_bytes) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_unique_dim_self);
  const size_t dimension = etx_wrap_dimension(
      etx_call_integer(call, ETX_ARG_unique_dim_dim), self->rank);
  const size_t count =
      dimension < self->rank ? (size_t)self->sizes[dimension] : 0;
  *out_bytes = 2 * count * sizeof(etx_sort_entry);
  return ETX_OK;
}

etx_status etx_kernel_unique2_out_prepare(etx_call* call) {
  size_t bytes = 0;
  ETX_TRY(etx_temporary_unique2(call, &bytes));
  return prepare(call, ETX_ARG_unique2_out0, bytes, run_unique2);
}
etx_status etx_kernel_unique_dim_out_prepare(etx_call* call) {
  size_t bytes = 0;
  ETX_TRY(etx_temporary_unique_dim(call, &bytes));
  return prepare(call, ETX_ARG_unique_dim_out0, bytes, run_unique_dim);
}
etx_status etx_kernel_unique_consecutive_out_prepare(etx_call* call) {
  return prepare(call, ETX_ARG_unique_consecutive_out0, 0,
                 run_unique_consecutive);
}
