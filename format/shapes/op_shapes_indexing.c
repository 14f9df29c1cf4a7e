// Shape functions of reading and writing by index tensors.

#include "format/shapes/op_shapes_internal.h"

static etx_status put(const etx_shape_call* call, const etx_shape* shape) {
  return call->output(call->context, 0, shape);
}

// (weight [V, ..], indices)
etx_status etx_shape_embedding(etx_shape_call* call) {
  etx_shape weight, out;
  ETX_TRY(etx_shape_tensor(call, 0, &weight));
  ETX_TRY(etx_shape_tensor(call, 1, &out));
  ETX_TRY(etx_shape_check_rank(call, "weight", &weight, 2));
  ETX_TRY(etx_shape_insert(call, &out, out.rank, weight.dims[1]));
  out.dtype = weight.dtype;
  return put(call, &out);
}

// The part of `self` that a list of index tensors selects:
//
//   self    [A, B, C, D], indices [None, x, y]   adjacent: [A, broadcast, D]
//   self    [A, B, C, D], indices [x, None, y]   apart:    [broadcast, B, D]
//
// A mask (bool or uint8) is equivalent to one index tensor for each of its
// dimensions: the coordinates of its true elements.
typedef struct selection {
  etx_shape broadcast;  // of the index tensors
  size_t first;         // first indexed dimension
  bool is_adjacent;     // indexed dimensions follow each other
  bool has_mask;        // the last broadcast size depends on data
  uint32_t indexed;     // bits of the indexed dimensions
} selection;

static void add_indexed(selection* s, size_t dimension) {
  if (s->indexed == 0) {
    s->first = dimension;
  } else if (((s->indexed >> (dimension - 1)) & 1) == 0) {
    s->is_adjacent = false;
  }
  s->indexed |= UINT32_C(1) << dimension;
}

// Checks that the sizes of a mask are self's, and replaces the mask's shape by
// that of an index vector with the largest possible number of elements.
static etx_status read_mask(const etx_shape_call* call, const etx_shape* self,
                            size_t dimension, etx_shape* mask, selection* out) {
  etx_dim numel;
  if (mask->rank == 0) {
    return etx_shape_refuse_as(call, ETX_UNSUPPORTED, "a mask of rank 0");
  }
  for (size_t i = 0; i < mask->rank && dimension + i < self->rank; ++i) {
    ETX_TRY(etx_shape_check_equal(call, "a size of the mask",
                                  self->dims[dimension + i], mask->dims[i]));
    add_indexed(out, dimension + i);
  }
  ETX_TRY(etx_shape_numel(call, mask, &numel));
  out->has_mask = true;
  mask->rank = 1;
  mask->dims[0] = numel;
  return ETX_OK;
}

static bool is_mask(const etx_shape* index) {
  return index->dtype == ETX_DTYPE_BOOL || index->dtype == ETX_DTYPE_UINT8;
}

static etx_status read_index(const etx_shape_call* call, const etx_shape* self,
                             size_t* dimension, etx_shape* index,
                             selection* out) {
  size_t rank = 1;
  if (is_mask(index)) {
    rank = index->rank;
    ETX_TRY(read_mask(call, self, *dimension, index, out));
  } else if (index->dtype != ETX_DTYPE_INT64 &&
             index->dtype != ETX_DTYPE_INT32) {
    return etx_shape_refuse(call,
                            "an index has type '%s', expected int64 or int32",
                            etx_dtype_name(index->dtype));
  } else if (*dimension < self->rank) {
    add_indexed(out, *dimension);
  }
  *dimension += rank;
  return ETX_OK;
}

// Checks that index tensors broadcast. For masks only the kernel can check it.
static etx_status read_selection(const etx_shape_call* call,
                                 const etx_shape* self, selection* out) {
  *out = (selection){.is_adjacent = true};
  const size_t count = call->list_count(call->context, 1);
  etx_dim longest = 0;
  size_t dimension = 0, masks = 0;
  for (size_t i = 0; i < count; ++i) {
    etx_shape index;
    if (!call->tensor(call->context, 1, i, &index)) {
      ++dimension;
      continue;
    }
    const bool masks_this = is_mask(&index);
    ETX_TRY(read_index(call, self, &dimension, &index, out));
    if (!masks_this) {
      ETX_TRY(etx_shape_broadcast_into(call, &out->broadcast, &index));
    } else {
      ++masks;
      ETX_TRY(etx_dim_maximum(call, longest, index.dims[0], &longest));
    }
  }
  if (dimension > self->rank) {
    return etx_shape_refuse(call, "there are %i indices, expected at most %i",
                            (int64_t)dimension, (int64_t)self->rank);
  }
  if (out->indexed == 0) return etx_shape_refuse(call, "no index is given");
  if (masks == 0) return ETX_OK;
  // A mask stands for index vectors of n elements, and `longest` is the largest
  // possible n. They broadcast with the last dimension of the other index
  // tensors. If that is not 1, the result has its size, and only the kernel can
  // check that n fits.
  etx_shape* b = &out->broadcast;
  if (b->rank == 0) {
    ETX_TRY(etx_shape_insert(call, b, 0, longest));
  } else if (etx_dim_is(call, b->dims[b->rank - 1], 1)) {
    b->dims[b->rank - 1] = longest;
  }
  return ETX_OK;
}

static etx_status selected_shape(const etx_shape_call* call,
                                 const etx_shape* self, const selection* s,
                                 etx_shape* out) {
  *out = (etx_shape){.dtype = self->dtype};
  const size_t start = s->is_adjacent ? s->first : 0;
  for (size_t i = 0; i < self->rank; ++i) {
    if (((s->indexed >> i) & 1) != 0) continue;
    ETX_TRY(etx_shape_insert(call, out, out->rank, self->dims[i]));
  }
  for (size_t i = 0; i < s->broadcast.rank; ++i) {
    ETX_TRY(etx_shape_insert(call, out, start + i, s->broadcast.dims[i]));
  }
  return ETX_OK;
}

etx_status etx_shape_index(etx_shape_call* call) {
  etx_shape self, out;
  selection s;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(read_selection(call, &self, &s));
  ETX_TRY(selected_shape(call, &self, &s, &out));
  return s.has_mask ? etx_shape_put_bounded(call, 0, &out) : put(call, &out);
}

// True if the only index is a mask of rank 0: it selects all of self or
// nothing.
static bool is_all_or_nothing(const etx_shape_call* call) {
  etx_shape index;
  return call->list_count(call->context, 1) == 1 &&
         call->tensor(call->context, 1, 0, &index) && is_mask(&index) &&
         index.rank == 0;
}

// (self, indices, values, accumulate)
etx_status etx_shape_index_put(etx_shape_call* call) {
  etx_shape self, values, selected;
  selection s;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(etx_shape_tensor(call, 2, &values));
  if (is_all_or_nothing(call)) return put(call, &self);
  ETX_TRY(read_selection(call, &self, &s));
  if (!s.has_mask) {
    ETX_TRY(selected_shape(call, &self, &s, &selected));
    ETX_TRY(etx_shape_check_broadcasts(call, &values, &selected));
  }
  return put(call, &self);
}

// (self, dim, index)
etx_status etx_shape_index_select(etx_shape_call* call) {
  etx_shape self, index;
  size_t at;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(etx_shape_dimension(call, 1, 0, self.rank, &at));
  ETX_TRY(etx_shape_tensor(call, 2, &index));
  if (index.rank > 1) return etx_shape_check_rank(call, "index", &index, 1);
  const etx_dim count = index.rank == 0 ? 1 : index.dims[0];
  if (self.rank > 0) {
    self.dims[at] = count;
  } else {
    ETX_TRY(etx_shape_check_equal(call, "the size of 'index'", 1, count));
  }
  return put(call, &self);
}

// Refuses a source whose sizes are not self's, with `count` in dimension `at`.
// A source of rank 0 is a slice of one element.
static etx_status check_source(const etx_shape_call* call,
                               const etx_shape* self, const etx_shape* source,
                               size_t at, etx_dim count) {
  if (source->rank == 0 || self->rank == 0) {
    etx_dim numel;
    ETX_TRY(etx_shape_numel(call, source, &numel));
    ETX_TRY(etx_shape_check_equal(call, "the size of 'source'", 1, numel));
    if (self->rank > 1) {
      // Refuses: a source of rank 0 is allowed for a self of rank 0 or 1 only.
      return etx_shape_check_rank(call, "source", source, self->rank);
    }
    return etx_shape_check_equal(call, "the size of 'index'", 1, count);
  }
  ETX_TRY(etx_shape_check_rank(call, "source", source, self->rank));
  for (size_t i = 0; i < self->rank; ++i) {
    ETX_TRY(etx_shape_check_equal(call, "a size of 'source'",
                                  i == at ? count : self->dims[i],
                                  source->dims[i]));
  }
  return ETX_OK;
}

// (self, dim, index, source or value)
etx_status etx_shape_index_source(etx_shape_call* call) {
  etx_shape self, index, source;
  size_t at;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(etx_shape_dimension(call, 1, 0, self.rank, &at));
  ETX_TRY(etx_shape_tensor(call, 2, &index));
  if (index.rank > 1) return etx_shape_check_rank(call, "index", &index, 1);
  if (call->kind(call->context, 3) == ETX_SHAPE_TENSOR) {
    ETX_TRY(etx_shape_tensor(call, 3, &source));
    ETX_TRY(check_source(call, &self, &source, at,
                         index.rank == 0 ? 1 : index.dims[0]));
  }
  return put(call, &self);
}

// In every dimension except `at` (SIZE_MAX: in every one), the size of `index`
// must not exceed that of `shape`.
static etx_status check_index_sizes(const etx_shape_call* call,
                                    const etx_shape* index,
                                    const etx_shape* shape, const char* what,
                                    size_t at) {
  const size_t index_rank = index->rank == 0 ? 1 : index->rank;
  const size_t rank = shape->rank == 0 ? 1 : shape->rank;
  if (index_rank != rank) {
    return etx_shape_check_rank(call, "index", index, rank);
  }
  // Rank 0 counts as one dimension of size 1.
  for (size_t i = 0; i < rank; ++i) {
    const etx_dim found = i < index->rank ? index->dims[i] : 1;
    const etx_dim most = i < shape->rank ? shape->dims[i] : 1;
    if (i == at || !etx_dim_is_below(call, most, found)) continue;
    return etx_shape_refuse(call, "size %i of 'index' exceeds size %i of '%s'",
                            etx_dim_for_message(call, found),
                            etx_dim_for_message(call, most), what);
  }
  return ETX_OK;
}

// True if the tensor has no elements for all values of the symbols.
static bool is_empty(const etx_shape_call* call, const etx_shape* shape) {
  for (size_t i = 0; i < shape->rank; ++i) {
    if (etx_dim_is(call, shape->dims[i], 0)) return true;
  }
  return false;
}

// (self, dim, index)
etx_status etx_shape_gather(etx_shape_call* call) {
  etx_shape self, index;
  size_t at;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(etx_shape_dimension(call, 1, 0, self.rank, &at));
  ETX_TRY(etx_shape_tensor(call, 2, &index));
  if (!is_empty(call, &index)) {
    ETX_TRY(check_index_sizes(call, &index, &self, "self", at));
  }
  index.dtype = self.dtype;
  return put(call, &index);
}

// (self, dim, index, src or value)
etx_status etx_shape_scatter(etx_shape_call* call) {
  etx_shape self, index, source;
  size_t at;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(etx_shape_dimension(call, 1, 0, self.rank, &at));
  ETX_TRY(etx_shape_tensor(call, 2, &index));
  if (!is_empty(call, &index)) {
    ETX_TRY(check_index_sizes(call, &index, &self, "self", at));
    if (call->kind(call->context, 3) == ETX_SHAPE_TENSOR) {
      ETX_TRY(etx_shape_tensor(call, 3, &source));
      ETX_TRY(check_index_sizes(call, &index, &source, "src", SIZE_MAX));
    }
  }
  return put(call, &self);
}
