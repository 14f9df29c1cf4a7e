// index and index_put: several index tensors at once, broadcast together.
//
//   self [A, B, C, D], indices [None, x, y]   selected: [A, broadcast, D]
//   self [A, B, C, D], indices [x, None, y]   selected: [broadcast, B, D]
//
// For each position of the broadcast index tensors there is one block of self
// (its dimensions without an index) and one block of the selected tensor; the
// block is copied one way or the other. All indices are checked first, so a
// refused call has written nothing.

#include <string.h>

#include "runtime/kernels/index_tensor.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/operand.h"
#include "runtime/kernels/strided_view.h"
#include "runtime/kernels/walk.h"

typedef struct selection {
  size_t count;  // index tensors
  const etx_tensor* indices[ETX_MAX_RANK];
  size_t dimensions[ETX_MAX_RANK];  // of self, one for each index tensor
  uint32_t indexed;                 // the same as bits
  size_t rank;                      // of the broadcast index tensors
  int32_t sizes[ETX_MAX_RANK];
  size_t place;  // where they stand in the selected tensor
} selection;

static void broadcast_sizes(selection* s, const etx_tensor* index) {
  if (index->rank > s->rank) {
    const size_t more = index->rank - s->rank;
    for (size_t i = s->rank; i-- > 0;) s->sizes[i + more] = s->sizes[i];
    for (size_t i = 0; i < more; ++i) s->sizes[i] = 1;
    s->rank = index->rank;
  }
  for (size_t i = 0; i < index->rank; ++i) {
    const size_t at = s->rank - index->rank + i;
    if (s->sizes[at] == 1) s->sizes[at] = index->sizes[i];
  }
}

static selection read_selection(const etx_call* call) {
  const etx_value* list = etx_call_value(call, 1);
  selection s = {0};
  bool is_adjacent = true;
  for (size_t i = 0; i < list->as.tensors.count; ++i) {
    if (list->as.tensors.items[i] == NULL) continue;
    const etx_tensor* index = &list->as.tensors.items[i]->as.tensor;
    if (s.count > 0 && s.dimensions[s.count - 1] + 1 != i) is_adjacent = false;
    s.indices[s.count] = index;
    s.dimensions[s.count++] = i;
    s.indexed |= UINT32_C(1) << i;
    broadcast_sizes(&s, index);
  }
  s.place = is_adjacent && s.count > 0 ? s.dimensions[0] : 0;
  return s;
}

static etx_status check_indices(const etx_call* call, const selection* s,
                                const etx_tensor* self) {
  for (size_t k = 0; k < s->count; ++k) {
    const int64_t size = self->sizes[s->dimensions[k]];
    ETX_TRY(etx_index_check(call, s->indices[k], size, true));
  }
  return ETX_OK;
}

// A block of self and the block of the selected tensor that belongs to it.
typedef struct blocks {
  etx_view self;
  etx_view selected;
  size_t dense_bytes;  // size of a block if both lie densely, else 0
  enum { READS, WRITES, ADDS } way;  // from self, to self
} blocks;

static bool is_dense(const etx_view* view) {
  ptrdiff_t stride = 1;
  for (size_t i = view->rank; i-- > 0;) {
    if (view->sizes[i] != 1 && view->strides[i] != stride) return false;
    stride *= view->sizes[i];
  }
  return true;
}

static void add_block(const etx_view* to, const etx_view* from) {
  etx_walk walk;
  etx_walk_init(&walk, to->sizes, to->rank);
  etx_walk_add_strided(&walk, to->data, etx_dtype_bytes(to->dtype),
                       to->strides);
  etx_walk_add_strided(&walk, from->data, etx_dtype_bytes(from->dtype),
                       from->strides);
  for (bool more = etx_walk_start(&walk); more; more = etx_walk_next(&walk)) {
    for (size_t i = 0; i < walk.count; ++i) {
      const ptrdiff_t n = (ptrdiff_t)i;
      etx_element_add(to->dtype,
                      walk.data[0] + n * walk.stride[0] * walk.bytes[0],
                      walk.data[1] + n * walk.stride[1] * walk.bytes[1]);
    }
  }
}

static void visit(blocks* b, char* self, char* selected) {
  if (b->dense_bytes > 0 && b->way != ADDS) {
    memcpy(b->way == READS ? selected : self, b->way == READS ? self : selected,
           b->dense_bytes);
    return;
  }
  b->self.data = self;
  b->selected.data = selected;
  if (b->way == READS) {
    etx_view_copy(&b->selected, &b->self);
  } else if (b->way == WRITES) {
    etx_view_copy(&b->self, &b->selected);
  } else {
    add_block(&b->self, &b->selected);
  }
}

// Takes the indexed dimensions out of self and dimensions place up to place +
// count, which stand for them, out of the selected view.
static blocks split(const etx_view* self, const etx_view* selected,
                    uint32_t indexed, size_t place, size_t count) {
  blocks b = {.self = *self, .selected = *selected};
  size_t bytes = etx_dtype_bytes(self->dtype);
  b.self.rank = b.selected.rank = 0;
  for (size_t i = 0; i < self->rank; ++i) {
    if (((indexed >> i) & 1) != 0) continue;
    b.self.sizes[b.self.rank] = self->sizes[i];
    b.self.strides[b.self.rank++] = self->strides[i];
    bytes *= (size_t)self->sizes[i];
  }
  for (size_t i = 0; i < selected->rank; ++i) {
    if (i >= place && i < place + count) continue;
    b.selected.sizes[b.selected.rank] = selected->sizes[i];
    b.selected.strides[b.selected.rank++] = selected->strides[i];
  }
  if (is_dense(&b.self) && is_dense(&b.selected)) b.dense_bytes = bytes;
  return b;
}

// How an odometer over the broadcast index tensors moves.
typedef struct odometer {
  int32_t position[ETX_MAX_RANK];
  char* selected;
  ptrdiff_t selected_steps[ETX_MAX_RANK];             // bytes
  const char* indices[ETX_MAX_RANK];                  // present elements
  ptrdiff_t index_steps[ETX_MAX_RANK][ETX_MAX_RANK];  // bytes
} odometer;

static odometer start(const selection* s, const etx_view* selected) {
  odometer o = {.selected = selected->data};
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(selected->dtype);
  for (size_t i = 0; i < s->rank; ++i) {
    o.selected_steps[i] = selected->strides[s->place + i] * bytes;
  }
  for (size_t k = 0; k < s->count; ++k) {
    const etx_tensor* index = s->indices[k];
    const size_t missing = s->rank - index->rank;
    o.indices[k] = index->data;
    for (size_t i = missing; i < s->rank; ++i) {
      if (index->sizes[i - missing] == 1) continue;
      o.index_steps[k][i] = index->strides[i - missing] *
                            (ptrdiff_t)etx_dtype_bytes(index->dtype);
    }
  }
  return o;
}

static bool next(odometer* o, const selection* s) {
  for (size_t i = s->rank; i-- > 0;) {
    const bool wraps = ++o->position[i] == s->sizes[i];
    const ptrdiff_t turns = wraps ? 1 - s->sizes[i] : 1;
    o->selected += o->selected_steps[i] * turns;
    for (size_t k = 0; k < s->count; ++k) {
      o->indices[k] += o->index_steps[k][i] * turns;
    }
    if (!wraps) return true;
    o->position[i] = 0;
  }
  return false;
}

// Where the present indices point in self, in bytes.
static ptrdiff_t offset_of(const odometer* o, const selection* s,
                           const etx_view* self) {
  ptrdiff_t offset = 0;
  for (size_t k = 0; k < s->count; ++k) {
    const size_t at = s->dimensions[k];
    const int64_t index =
        etx_index_at(s->indices[k]->dtype, o->indices[k], self->sizes[at]);
    offset += (ptrdiff_t)index * self->strides[at];
  }
  return offset * (ptrdiff_t)etx_dtype_bytes(self->dtype);
}

static bool has_elements(const int32_t* sizes, size_t rank) {
  for (size_t i = 0; i < rank; ++i) {
    if (sizes[i] == 0) return false;
  }
  return true;
}

static void visit_all(const selection* s, const etx_view* self,
                      const etx_view* selected, blocks* b) {
  if (!has_elements(s->sizes, s->rank) ||
      !has_elements(b->self.sizes, b->self.rank)) {
    return;
  }
  odometer o = start(s, selected);
  do {
    visit(b, self->data + offset_of(&o, s, self), o.selected);
  } while (next(&o, s));
}

// (self, indices, out)
static etx_status run_index(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, 0);
  const selection s = read_selection(call);
  ETX_TRY(check_indices(call, &s, self));
  const etx_view from = etx_view_of(self);
  const etx_view out = etx_view_of(etx_call_tensor(call, 2));
  blocks b = split(&from, &out, s.indexed, s.place, s.rank);
  b.way = READS;
  visit_all(&s, &from, &out, &b);
  return ETX_OK;
}

etx_status etx_kernel_index_tensor_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, 0, 2));
  call->run = run_index;
  return ETX_OK;
}

// Sizes of the selected tensor: self's without an index, with `sizes` put in
// at `place`; strides are those of `values`, broadcast to it.
static etx_view selected_values(const etx_view* self, uint32_t indexed,
                                size_t place, const int32_t* sizes, size_t rank,
                                const etx_tensor* values) {
  etx_view view = {.data = values->data, .dtype = values->dtype};
  for (size_t i = 0, block = 0;; ++i) {
    if (block == place) {
      for (size_t k = 0; k < rank; ++k) view.sizes[view.rank++] = sizes[k];
    }
    while (i < self->rank && ((indexed >> i) & 1) != 0) ++i;
    if (i >= self->rank) break;
    view.sizes[view.rank++] = self->sizes[i];
    ++block;
  }
  for (size_t i = 0; i < view.rank && i < values->rank; ++i) {
    const size_t from = values->rank - 1 - i;
    const bool still = values->sizes[from] == 1;
    view.strides[view.rank - 1 - i] = still ? 0 : values->strides[from];
  }
  return view;
}

// Where (self, indices, values, accumulate) writes: its own self or an out
// tensor to which self is copied first.
static etx_view target_of(const etx_call* call) {
  const etx_view self = etx_view_of(etx_call_tensor(call, 0));
  if (call->argument_count == 4) return self;
  const etx_view out = etx_view_of(etx_call_tensor(call, 4));
  etx_view_copy(&out, &self);
  return out;
}

static etx_status run_index_put(etx_call* call) {
  const selection s = read_selection(call);
  ETX_TRY(check_indices(call, &s, etx_call_tensor(call, 0)));
  const etx_view self = target_of(call);
  const etx_view selected = selected_values(&self, s.indexed, s.place, s.sizes,
                                            s.rank, etx_call_tensor(call, 2));
  blocks b = split(&self, &selected, s.indexed, s.place, s.rank);
  b.way = etx_call_boolean(call, 3) ? ADDS : WRITES;
  visit_all(&s, &self, &selected, &b);
  return ETX_OK;
}

// A mask over dimensions `first` up to first + mask.rank stands for one
// dimension: the positions where it is true, in row-major order.
typedef struct masked {
  const etx_tensor* mask;
  size_t first;
  uint32_t indexed;
} masked;

static masked read_mask(const etx_call* call) {
  const etx_value* list = etx_call_value(call, 1);
  masked m = {0};
  while (list->as.tensors.items[m.first] == NULL) ++m.first;
  m.mask = &list->as.tensors.items[m.first]->as.tensor;
  for (size_t i = 0; i < m.mask->rank; ++i) {
    m.indexed |= UINT32_C(1) << (m.first + i);
  }
  return m;
}

// Visits self and the mask together, calling for each true element. Returns
// their number; `b` is NULL to count alone.
static size_t visit_mask(const masked* m, const etx_view* self, blocks* b,
                         const etx_view* selected) {
  ptrdiff_t strides[ETX_MAX_RANK];
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(self->dtype);
  for (size_t i = 0; i < m->mask->rank; ++i) {
    strides[i] = self->strides[m->first + i];
  }
  size_t count = 0;
  etx_walk walk;
  etx_walk_init(&walk, m->mask->sizes, m->mask->rank);
  etx_walk_add(&walk, m->mask);
  etx_walk_add_strided(&walk, self->data, (size_t)bytes, strides);
  for (bool more = etx_walk_start(&walk); more; more = etx_walk_next(&walk)) {
    for (size_t i = 0; i < walk.count; ++i) {
      const ptrdiff_t n = (ptrdiff_t)i;
      if (walk.data[0][n * walk.stride[0]] == 0) continue;
      if (b != NULL) {
        visit(b, walk.data[1] + n * walk.stride[1] * bytes,
              selected->data +
                  (ptrdiff_t)count * selected->strides[m->first] * bytes);
      }
      ++count;
    }
  }
  return count;
}

static etx_status check_mask_values(const etx_call* call,
                                    const etx_view* selected) {
  const etx_tensor* values = etx_call_tensor(call, 2);
  for (size_t i = 0; i < values->rank; ++i) {
    const int32_t found = values->sizes[values->rank - 1 - i];
    const int32_t wanted =
        i < selected->rank ? selected->sizes[selected->rank - 1 - i] : 1;
    if (found == 1 || found == wanted) continue;
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "a size of 'values' is %i, expected 1 or %i",
                           (int64_t)found, (int64_t)wanted);
  }
  return ETX_OK;
}

static etx_status run_index_put_mask(etx_call* call) {
  const masked m = read_mask(call);
  const etx_view own = etx_view_of(etx_call_tensor(call, 0));
  const int32_t count = (int32_t)visit_mask(&m, &own, NULL, NULL);
  const etx_view selected = selected_values(&own, m.indexed, m.first, &count, 1,
                                            etx_call_tensor(call, 2));
  ETX_TRY(check_mask_values(call, &selected));
  const etx_view self = target_of(call);
  blocks b = split(&self, &selected, m.indexed, m.first, 1);
  b.way = etx_call_boolean(call, 3) ? ADDS : WRITES;
  if (has_elements(b.self.sizes, b.self.rank)) {
    (void)visit_mask(&m, &self, &b, &selected);
  }
  return ETX_OK;
}

static bool is_mask(const etx_value* item) {
  return item != NULL && (item->as.tensor.dtype == ETX_DTYPE_BOOL ||
                          item->as.tensor.dtype == ETX_DTYPE_UINT8);
}

// A mask must be the only index and have self's sizes.
static etx_status prepare_mask(etx_call* call, size_t first) {
  const etx_value* list = etx_call_value(call, 1);
  const etx_tensor* self = etx_call_tensor(call, 0);
  const etx_tensor* mask = &list->as.tensors.items[first]->as.tensor;
  for (size_t i = 0; i < list->as.tensors.count; ++i) {
    if (i == first || list->as.tensors.items[i] == NULL) continue;
    return etx_call_refuse(call, ETX_UNSUPPORTED,
                           "a mask stands beside another index");
  }
  if (mask->rank == 0 && self->rank == ETX_MAX_RANK) {
    return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                           "the mask adds a dimension to %i",
                           (int64_t)ETX_MAX_RANK);
  }
  for (size_t i = 0; i < mask->rank; ++i) {
    const size_t at = first + i;
    if (at < self->rank && mask->sizes[i] == self->sizes[at]) continue;
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "the mask's sizes are not those of 'self'");
  }
  call->run = run_index_put_mask;
  return ETX_OK;
}

static etx_status prepare_put(etx_call* call) {
  const etx_value* list = etx_call_value(call, 1);
  ETX_TRY(etx_call_check_real(call, 0));
  ETX_TRY(etx_call_check_same_dtype(call, 0, 2));
  call->run = run_index_put;
  for (size_t i = 0; i < list->as.tensors.count; ++i) {
    if (is_mask(list->as.tensors.items[i])) return prepare_mask(call, i);
  }
  return ETX_OK;
}

etx_status etx_kernel_index_put_in_place_prepare(etx_call* call) {
  return prepare_put(call);
}

etx_status etx_kernel_index_put_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, 0, 4));
  return prepare_put(call);
}
