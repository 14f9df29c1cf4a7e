// Iterates once over the broadcast index tensors, row by row of their innermost
// dimension. For a piece of such a row, offsets in self are computed first (one
// loop for each index tensor), then elements are moved from or to these offsets
// for each position of the dimensions without an index. Contiguous dimensions
// behind the indexed ones are moved as one unit.

#include "runtime/kernels/indexing/advanced_index.h"

#include <string.h>

#include "runtime/kernels/indexing/accumulate.h"
#include "runtime/kernels/core/dtype_switch.h"
#include "runtime/kernels/core/index_tensor.h"
#include "runtime/kernels/core/short_copy.h"
#include "runtime/kernels/core/strided_iterator.h"

// ---- reading ----

static size_t count_true(const etx_tensor* mask) {
  size_t found = 0;
  etx_strided_iterator it;
  etx_strided_iterator_init(&it, mask->sizes, mask->rank);
  etx_strided_iterator_add(&it, mask);
  for (bool more = etx_strided_iterator_start(&it); more;
       more = etx_strided_iterator_next(&it)) {
    const char* at = it.data[0];
    for (size_t i = 0; i < it.count; ++i) {
      found += at[(ptrdiff_t)i * it.stride[0]] != 0;
    }
  }
  return found;
}

// Broadcasts sizes into those of the selection; false if they do not fit, which
// can happen with masks only.
static bool broadcast(etx_advanced_index* s, size_t rank,
                      const int32_t* sizes) {
  if (rank > s->rank) {
    const size_t more = rank - s->rank;
    for (size_t i = s->rank; i-- > 0;) s->sizes[i + more] = s->sizes[i];
    for (size_t i = 0; i < more; ++i) s->sizes[i] = 1;
    s->rank = rank;
  }
  for (size_t i = 0; i < rank; ++i) {
    int32_t* size = &s->sizes[s->rank - rank + i];
    if (*size == 1) *size = sizes[i];
    if (sizes[i] != 1 && sizes[i] != *size) return false;
  }
  return true;
}

static bool add_index(etx_advanced_index* s, const etx_tensor* index,
                      size_t dimension) {
  const bool is_mask = etx_index_is_mask(index);
  const size_t taken = is_mask ? index->rank : 1;
  s->indices[s->count] = index;
  s->dimensions[s->count] = dimension;
  s->trues[s->count] = is_mask ? count_true(index) : 0;
  const int32_t found = (int32_t)s->trues[s->count++];
  s->indexed |= ((UINT32_C(1) << taken) - 1) << dimension;
  return is_mask ? broadcast(s, 1, &found)
                 : broadcast(s, index->rank, index->sizes);
}

void etx_advanced_index_of_one(etx_advanced_index* s, const etx_tensor* index,
                               size_t dimension) {
  s->count = s->rank = 0;
  s->indexed = 0;
  s->place = dimension;
  (void)add_index(s, index, dimension);
}

static size_t lowest_bit(uint32_t bits) {
  size_t at = 0;
  while (at < 31 && (bits >> at & 1) == 0) ++at;
  return at;
}

// True if the set bits are contiguous.
static bool is_run(uint32_t bits) {
  const uint32_t run = bits >> lowest_bit(bits);
  return (run & (run + 1)) == 0;
}

etx_status etx_advanced_index_read(etx_advanced_index* s, const etx_call* call,
                                   size_t list) {
  const etx_value* value = etx_call_value(call, list);
  size_t dimension = 0;
  s->count = s->rank = 0;
  s->indexed = 0;
  for (size_t i = 0; i < value->as.tensors.count; ++i) {
    const etx_value* item = value->as.tensors.items[i];
    if (item == NULL) {
      ++dimension;
      continue;
    }
    const etx_tensor* index = &item->as.tensor;
    if (!add_index(s, index, dimension)) {
      return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                             "a mask with %z true elements does not broadcast "
                             "with the other indices",
                             s->trues[s->count - 1]);
    }
    dimension += etx_index_is_mask(index) ? index->rank : 1;
  }
  s->place = s->count > 0 && is_run(s->indexed) ? lowest_bit(s->indexed) : 0;
  return ETX_OK;
}

size_t etx_advanced_index_sizes(const etx_advanced_index* s,
                                const int32_t* self_sizes, size_t self_rank,
                                int32_t* out_sizes) {
  size_t rank = 0;
  for (size_t i = 0, block = 0;; ++i) {
    if (block == s->place) {
      for (size_t k = 0; k < s->rank; ++k) out_sizes[rank++] = s->sizes[k];
    }
    while (i < self_rank && (s->indexed >> i & 1) != 0) ++i;
    if (i >= self_rank) return rank;
    out_sizes[rank++] = self_sizes[i];
    ++block;
  }
}

static bool is_empty(const int32_t* sizes, size_t rank, uint32_t left_out) {
  for (size_t i = 0; i < rank; ++i) {
    if ((left_out >> i & 1) == 0 && sizes[i] == 0) return true;
  }
  return false;
}

// PyTorch checks no index if nothing is selected, except indices of a dimension
// without elements.
etx_status etx_advanced_index_check(const etx_advanced_index* s,
                                    const etx_call* call,
                                    const etx_tensor* self, bool wraps) {
  if (is_empty(s->sizes, s->rank, 0)) return ETX_OK;
  const bool looks = !is_empty(self->sizes, self->rank, s->indexed);
  for (size_t k = 0; k < s->count; ++k) {
    const int64_t size = self->sizes[s->dimensions[k]];
    if (etx_index_is_mask(s->indices[k]) || (!looks && size > 0)) continue;
    ETX_TRY(etx_index_check(call, s->indices[k], size, wraps));
  }
  return ETX_OK;
}

// ---- moving ----

enum { PIECE = 128 };

// A dimension that has no index: bytes from one position to the next.
typedef struct free_dim {
  ptrdiff_t size, self, selected;
} free_dim;

// The position in one index tensor or mask.
typedef struct index_cursor {
  const etx_tensor* index;
  const char* at;                 // of an index tensor: the present element
  ptrdiff_t steps[ETX_MAX_RANK];  // bytes, for each broadcast dimension
  ptrdiff_t stride;               // bytes of self for an index of 1
  int64_t size;                   // of self, for negative indices
  // For a mask:
  bool is_mask, stays;  // all dimensions of the mask broadcast one true element
  int32_t position[ETX_MAX_RANK];   // of the next true element
  ptrdiff_t strides[ETX_MAX_RANK];  // bytes of self
} index_cursor;

typedef struct advanced_move {
  const etx_advanced_index* s;
  etx_advanced_index_mode way;
  etx_dtype self_dtype, selected_dtype;
  size_t unit;  // bytes that are moved as one
  size_t unit_elements;
  size_t free_count;
  free_dim free_dims[ETX_MAX_RANK];
  size_t rank;  // rank of the broadcast dimensions, after merging
  int32_t sizes[ETX_MAX_RANK];    // sizes of the broadcast dimensions
  ptrdiff_t steps[ETX_MAX_RANK];  // steps in the selected tensor, in bytes
  index_cursor cursors[ETX_MAX_RANK];
} advanced_move;

static const char* mask_at(const index_cursor* c) {
  const char* at = c->index->data;
  for (size_t i = 0; i < c->index->rank; ++i) {
    at += (ptrdiff_t)c->position[i] * c->index->strides[i];
  }
  return at;
}

// Goes to the next element of a mask; false after the last.
static bool step_mask(index_cursor* c) {
  for (size_t i = c->index->rank; i-- > 0;) {
    if (++c->position[i] < c->index->sizes[i]) return true;
    c->position[i] = 0;
  }
  return false;
}

// Goes to the next true element, in the current row of the mask first.
static void find_true(index_cursor* c) {
  const size_t last = (size_t)c->index->rank - 1;
  const int32_t size = c->index->sizes[last];
  const ptrdiff_t stride = c->index->strides[last];
  for (;;) {
    const char* at = mask_at(c);
    for (; c->position[last] < size; ++c->position[last], at += stride) {
      if (*at != 0) return;
    }
    c->position[last] = size - 1;
    if (!step_mask(c)) return;
  }
}

static void restart(index_cursor* c) {
  if (!c->is_mask) return;
  memset(c->position, 0, sizeof c->position);
  find_true(c);
}

static void add_true_offsets(index_cursor* c, size_t count,
                             ptrdiff_t* offsets) {
  const size_t rank = c->index->rank;
  for (size_t i = 0; i < count; ++i) {
    ptrdiff_t place = 0;
    for (size_t d = 0; d < rank; ++d) place += c->position[d] * c->strides[d];
    offsets[i] += place;
    if (c->stays) continue;
    if (++c->position[rank - 1] == c->index->sizes[rank - 1]) {
      --c->position[rank - 1];
      if (!step_mask(c)) return;  // the last one
    }
    find_true(c);
  }
}

#define ADD_PLACES(T)                                                     \
  for (size_t i = 0; i < count; ++i) {                                    \
    T index;                                                              \
    memcpy(&index, c->at + (ptrdiff_t)i * step, sizeof index);            \
    const int64_t wrapped = index < 0 ? (int64_t)index + c->size : index; \
    offsets[i] += (ptrdiff_t)wrapped * c->stride;                         \
  }

static void add_offsets(const index_cursor* c, ptrdiff_t step, size_t count,
                        ptrdiff_t* offsets) {
  if (c->index->dtype == ETX_DTYPE_INT32) {
    ADD_PLACES(int32_t)
  } else {
    ADD_PLACES(int64_t)
  }
}

static void find_offsets(advanced_move* m, size_t count, ptrdiff_t* offsets) {
  const size_t last = m->rank - 1;
  memset(offsets, 0, count * sizeof *offsets);
  for (size_t k = 0; k < m->s->count; ++k) {
    index_cursor* c = &m->cursors[k];
    if (c->is_mask) {
      add_true_offsets(c, count, offsets);
    } else {
      add_offsets(c, c->steps[last], count, offsets);
      c->at += (ptrdiff_t)count * c->steps[last];
    }
  }
}

static void move_units(const advanced_move* m, char* self,
                       const ptrdiff_t* offsets, char* selected, size_t count) {
  const ptrdiff_t step = m->steps[m->rank - 1];
  const bool reads = m->way == ETX_ADVANCED_INDEX_READS;
  if (etx_is_element_size(m->unit)) {
    ETX_SWITCH_BYTES(m->unit, T, {
      for (size_t i = 0; i < count; ++i, selected += step) {
        char* element = self + offsets[i];
        memcpy(reads ? selected : element, reads ? element : selected,
               sizeof(T));
      }
    })
    return;
  }
  for (size_t i = 0; i < count; ++i, selected += step) {
    char* element = self + offsets[i];
    etx_copy_short(reads ? selected : element, reads ? element : selected,
                   m->unit);
  }
}

static void add_units(const advanced_move* m, char* self,
                      const ptrdiff_t* offsets, const char* selected,
                      size_t count) {
  const ptrdiff_t step = m->steps[m->rank - 1];
  for (size_t i = 0; i < count; ++i, selected += step) {
    etx_accumulate(m->self_dtype, self + offsets[i], m->selected_dtype,
                   selected, m->unit_elements);
  }
}

static void move_piece(const advanced_move* m, char* self,
                       const ptrdiff_t* offsets, char* selected, size_t count) {
  ptrdiff_t position[ETX_MAX_RANK] = {0};
  for (;;) {
    if (m->way == ETX_ADVANCED_INDEX_ADDS) {
      add_units(m, self, offsets, selected, count);
    } else {
      move_units(m, self, offsets, selected, count);
    }
    size_t i = m->free_count;
    while (i > 0 && ++position[i - 1] == m->free_dims[i - 1].size) {
      --i;
      position[i] = 0;
      self -= m->free_dims[i].self * (m->free_dims[i].size - 1);
      selected -= m->free_dims[i].selected * (m->free_dims[i].size - 1);
    }
    if (i == 0) return;
    self += m->free_dims[i - 1].self;
    selected += m->free_dims[i - 1].selected;
  }
}

static void move_rows(advanced_move* m, char* self, char* selected) {
  int32_t position[ETX_MAX_RANK] = {0};
  ptrdiff_t offsets[PIECE];
  const size_t last = m->rank - 1;
  const size_t size = (size_t)m->sizes[last];
  for (;;) {
    for (size_t k = 0; k < m->s->count; ++k) restart(&m->cursors[k]);
    for (size_t start = 0; start < size; start += PIECE) {
      const size_t count = size - start < PIECE ? size - start : PIECE;
      find_offsets(m, count, offsets);
      move_piece(m, self, offsets, selected + (ptrdiff_t)start * m->steps[last],
                 count);
    }
    for (size_t k = 0; k < m->s->count; ++k) {
      m->cursors[k].at -= (ptrdiff_t)size * m->cursors[k].steps[last];
    }
    size_t i = last;
    for (; i > 0; --i) {
      const bool wraps = ++position[i - 1] == m->sizes[i - 1];
      const ptrdiff_t turns = wraps ? 1 - m->sizes[i - 1] : 1;
      selected += turns * m->steps[i - 1];
      for (size_t k = 0; k < m->s->count; ++k) {
        m->cursors[k].at += turns * m->cursors[k].steps[i - 1];
      }
      if (!wraps) break;
      position[i - 1] = 0;
    }
    if (i == 0) return;
  }
}

// ---- describing ----

// Finds the dimensions without an index, of self and of the selected tensor.
static void find_free_dims(advanced_move* m, const etx_strided_view* self,
                           const etx_strided_view* selected) {
  const ptrdiff_t self_bytes = (ptrdiff_t)etx_dtype_bytes(self->dtype);
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(selected->dtype);
  size_t at = 0;
  m->free_count = 0;
  for (size_t i = 0; i < self->rank; ++i) {
    if ((m->s->indexed >> i & 1) != 0) continue;
    if (at == m->s->place) at += m->s->rank;
    if (self->sizes[i] != 1) {
      m->free_dims[m->free_count++] =
          (free_dim){self->sizes[i], self->strides[i] * self_bytes,
                     selected->strides[at] * bytes};
    }
    ++at;
  }
}

// Merges contiguous innermost dimensions into the unit.
static void widen_unit(advanced_move* m) {
  const size_t self_bytes = etx_dtype_bytes(m->self_dtype);
  const size_t bytes = etx_dtype_bytes(m->selected_dtype);
  m->unit_elements = 1;
  while (m->free_count > 0) {
    const free_dim* dim = &m->free_dims[m->free_count - 1];
    if (dim->self != (ptrdiff_t)(m->unit_elements * self_bytes) ||
        dim->selected != (ptrdiff_t)(m->unit_elements * bytes)) {
      break;
    }
    m->unit_elements *= (size_t)dim->size;
    --m->free_count;
  }
  m->unit = m->unit_elements * bytes;
}

static void start_cursor(index_cursor* c, const advanced_move* m, size_t k,
                         const etx_strided_view* self) {
  const etx_tensor* index = m->s->indices[k];
  const size_t dimension = m->s->dimensions[k];
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(self->dtype);
  c->index = index;
  c->at = index->data;
  c->is_mask = etx_index_is_mask(index);
  c->stays = c->is_mask && m->s->trues[k] == 1;
  c->stride = self->strides[dimension] * bytes;
  c->size = self->sizes[dimension];
  for (size_t i = 0; i < m->s->rank; ++i) c->steps[i] = 0;
  for (size_t i = 0; c->is_mask && i < index->rank; ++i) {
    c->strides[i] = self->strides[dimension + i] * bytes;
  }
  for (size_t i = 0; !c->is_mask && i < index->rank; ++i) {
    if (index->sizes[i] == 1) continue;
    c->steps[m->s->rank - index->rank + i] =
        index->strides[i] * (ptrdiff_t)etx_dtype_bytes(index->dtype);
  }
}

// True if broadcast dimension `i` and the next one are contiguous in all
// tensors.
static bool can_merge(const advanced_move* m, size_t i) {
  const ptrdiff_t size = m->sizes[i + 1];
  if (m->steps[i] != m->steps[i + 1] * size) return false;
  for (size_t k = 0; k < m->s->count; ++k) {
    const index_cursor* c = &m->cursors[k];
    if (c->is_mask && !c->stays) return false;
    if (c->steps[i] != c->steps[i + 1] * size) return false;
  }
  return true;
}

static void merge_rows(advanced_move* m) {
  for (size_t i = m->rank; i-- > 1;) {
    if (!can_merge(m, i - 1)) continue;
    m->sizes[i - 1] *= m->sizes[i];
    m->steps[i - 1] = m->steps[i];
    for (size_t k = 0; k < m->s->count; ++k) {
      m->cursors[k].steps[i - 1] = m->cursors[k].steps[i];
    }
    --m->rank;
    for (size_t j = i; j < m->rank; ++j) {
      m->sizes[j] = m->sizes[j + 1];
      m->steps[j] = m->steps[j + 1];
      for (size_t k = 0; k < m->s->count; ++k) {
        m->cursors[k].steps[j] = m->cursors[k].steps[j + 1];
      }
    }
  }
}

void etx_advanced_index_move(const etx_advanced_index* s,
                             const etx_strided_view* self,
                             const etx_strided_view* selected,
                             etx_advanced_index_mode way) {
  advanced_move m;  // entries beyond the counts are not initialised
  for (size_t i = 0; i < selected->rank; ++i) {
    if (selected->sizes[i] == 0) return;
  }
  m.s = s;
  m.way = way;
  m.self_dtype = self->dtype;
  m.selected_dtype = selected->dtype;
  find_free_dims(&m, self, selected);
  widen_unit(&m);
  m.rank = s->rank;
  for (size_t i = 0; i < s->rank; ++i) {
    m.sizes[i] = s->sizes[i];
    m.steps[i] = selected->strides[s->place + i] *
                 (ptrdiff_t)etx_dtype_bytes(selected->dtype);
  }
  for (size_t k = 0; k < s->count; ++k) {
    start_cursor(&m.cursors[k], &m, k, self);
  }
  if (m.rank == 0) {  // no broadcast dimensions: one element
    m.rank = 1;
    m.sizes[0] = 1;
    m.steps[0] = 0;
    for (size_t k = 0; k < s->count; ++k) m.cursors[k].steps[0] = 0;
  }
  merge_rows(&m);
  move_rows(&m, self->data, selected->data);
}
