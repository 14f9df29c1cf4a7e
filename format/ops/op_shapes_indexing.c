// Rules of reading and writing by index tensors.

#include "format/ops/op_shapes_internal.h"

static etx_status put(const etx_shape_call* call, const etx_shape* shape) {
  return call->output(call->context, 0, shape);
}

// (weight [V, ..], indices)
etx_status etx_shape_embedding(etx_shape_call* call) {
  etx_shape weight, out;
  ETX_TRY(etx_shape_tensor(call, 0, &weight));
  ETX_TRY(etx_shape_tensor(call, 1, &out));
  ETX_TRY(etx_shape_want_rank(call, "weight", &weight, 2));
  ETX_TRY(etx_shape_insert(call, &out, out.rank, weight.dims[1]));
  out.dtype = weight.dtype;
  return put(call, &out);
}

// What a list of index tensors selects from `self`:
//
//   self    [A, B, C, D], indices [None, x, y]   adjacent: [A, broadcast, D]
//   self    [A, B, C, D], indices [x, None, y]   apart:    [broadcast, B, D]
typedef struct selection {
  etx_shape broadcast;  // of the index tensors
  size_t first;         // first indexed dimension
  bool is_adjacent;     // indexed dimensions follow each other
  bool has_mask;        // a bool or uint8 index: its size depends on data
  uint32_t indexed;     // bits of the indexed dimensions
} selection;

static etx_status read_selection(const etx_shape_call* call,
                                 const etx_shape* self, selection* out) {
  *out = (selection){.is_adjacent = true};
  const size_t count = call->list_count(call->context, 1);
  size_t last = 0, dimension = 0;
  for (size_t i = 0; i < count; ++i, ++dimension) {
    etx_shape index;
    if (!call->tensor(call->context, 1, i, &index)) continue;
    if (index.dtype == ETX_DTYPE_BOOL || index.dtype == ETX_DTYPE_UINT8) {
      out->has_mask = true;
      continue;
    }
    if (index.dtype != ETX_DTYPE_INT64 && index.dtype != ETX_DTYPE_INT32) {
      return etx_shape_refuse(call,
                              "an index has type '%s', expected int64 "
                              "or int32",
                              etx_dtype_name(index.dtype));
    }
    if (dimension >= self->rank) break;
    if (out->indexed == 0) {
      out->first = dimension;
    } else if (last + 1 != dimension) {
      out->is_adjacent = false;
    }
    last = dimension;
    out->indexed |= UINT32_C(1) << dimension;
    ETX_TRY(etx_shape_broadcast_into(call, &out->broadcast, &index));
  }
  if (count > self->rank) {
    return etx_shape_refuse(call, "there are %i indices, expected at most %i",
                            (int64_t)count, (int64_t)self->rank);
  }
  if (count == 0 || (out->indexed == 0 && !out->has_mask)) {
    return etx_shape_refuse(call, "no index is given");
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
  if (s.has_mask) {
    return etx_shape_refuse_as(call, ETX_UNSUPPORTED,
                               "a mask as index gives a size that depends on "
                               "data");
  }
  ETX_TRY(selected_shape(call, &self, &s, &out));
  return put(call, &out);
}

// (self, indices, values, accumulate)
etx_status etx_shape_index_put(etx_shape_call* call) {
  etx_shape self, values, selected;
  selection s;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(etx_shape_tensor(call, 2, &values));
  ETX_TRY(read_selection(call, &self, &s));
  if (!s.has_mask) {
    ETX_TRY(selected_shape(call, &self, &s, &selected));
    ETX_TRY(etx_shape_want_broadcasts(call, &values, &selected));
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
  if (index.rank > 1) return etx_shape_want_rank(call, "index", &index, 1);
  const etx_dim count = index.rank == 0 ? 1 : index.dims[0];
  if (self.rank > 0) {
    self.dims[at] = count;
  } else {
    ETX_TRY(etx_shape_want_equal(call, "the size of 'index'", 1, count));
  }
  return put(call, &self);
}

// Sizes of `index` must not exceed those of `shape` outside dimension `at`
// (SIZE_MAX: in none).
static etx_status want_within(const etx_shape_call* call,
                              const etx_shape* index, const etx_shape* shape,
                              const char* what, size_t at) {
  const size_t index_rank = index->rank == 0 ? 1 : index->rank;
  const size_t rank = shape->rank == 0 ? 1 : shape->rank;
  if (index_rank != rank) {
    return etx_shape_want_rank(call, "index", index, rank);
  }
  for (size_t i = 0; i < index->rank && i < shape->rank; ++i) {
    etx_dim excess;
    if (i == at) continue;
    ETX_TRY(etx_dim_subtract(call, index->dims[i], shape->dims[i], &excess));
    int64_t low, high;
    etx_dim_bounds(call, excess, &low, &high);
    if (low <= 0) continue;
    return etx_shape_refuse(call, "size %i of 'index' exceeds size %i of '%s'",
                            etx_shape_shown(call, index->dims[i]),
                            etx_shape_shown(call, shape->dims[i]), what);
  }
  return ETX_OK;
}

// True if the tensor certainly has no element.
static bool is_empty(const etx_shape_call* call, const etx_shape* shape) {
  for (size_t i = 0; i < shape->rank; ++i) {
    if (etx_shape_is(call, shape->dims[i], 0)) return true;
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
    ETX_TRY(want_within(call, &index, &self, "self", at));
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
    ETX_TRY(want_within(call, &index, &self, "self", at));
    if (call->kind(call->context, 3) == ETX_SHAPE_TENSOR) {
      ETX_TRY(etx_shape_tensor(call, 3, &source));
      ETX_TRY(want_within(call, &index, &source, "src", SIZE_MAX));
    }
  }
  return put(call, &self);
}
