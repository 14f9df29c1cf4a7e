// A counter over the outer dimensions. Each increment of a position is one
// addition per operand; a position that wraps goes back by size - 1 steps.

#include "runtime/kernels/core/strided_iterator.h"

#include "format/base/assertion.h"

void etx_strided_iterator_init(etx_strided_iterator* it, const int32_t* sizes,
                               size_t rank) {
  it->operands = 0;
  it->rank = rank;
  for (size_t i = 0; i < rank; ++i) it->sizes[i] = sizes[i];
}

void etx_strided_iterator_add(etx_strided_iterator* it,
                              const etx_tensor* tensor) {
  ptrdiff_t strides[ETX_MAX_RANK];
  const size_t missing = it->rank - tensor->rank;
  for (size_t i = 0; i < it->rank; ++i) {
    const bool is_broadcast = i < missing || tensor->sizes[i - missing] == 1;
    strides[i] = is_broadcast ? 0 : tensor->strides[i - missing];
  }
  etx_strided_iterator_add_strided(it, tensor->data,
                                   etx_dtype_bytes(tensor->dtype), strides);
}

void etx_strided_iterator_add_strided(etx_strided_iterator* it,
                                      const void* data, size_t bytes,
                                      const ptrdiff_t* strides) {
  const size_t k = it->operands++;
  ETX_ASSERT(k < ETX_STRIDED_ITERATOR_OPERANDS);
  it->data[k] = (char*)(uintptr_t)data;
  it->bytes[k] = (ptrdiff_t)bytes;
  for (size_t i = 0; i < it->rank; ++i) {
    it->steps[k][i] = strides[i] * (ptrdiff_t)bytes;
  }
}

// True if the outer dimension `from` and the inner dimension `to` are
// contiguous in every operand.
static bool can_merge(const etx_strided_iterator* it, size_t from, size_t to) {
  for (size_t k = 0; k < it->operands; ++k) {
    if (it->steps[k][from] != it->steps[k][to] * it->sizes[to]) {
      return false;
    }
  }
  return true;
}

// Drops dimensions of size 1 and merges contiguous neighbours; the remaining
// dimensions move to the front of the arrays.
static void merge_dimensions(etx_strided_iterator* it) {
  size_t kept = 0;
  for (size_t i = 0; i < it->rank; ++i) {
    if (it->sizes[i] == 1) continue;
    const bool merges = kept > 0 && can_merge(it, kept - 1, i);
    const size_t to = merges ? kept - 1 : kept++;
    it->sizes[to] = merges ? it->sizes[to] * it->sizes[i] : it->sizes[i];
    for (size_t k = 0; k < it->operands; ++k) {
      it->steps[k][to] = it->steps[k][i];
    }
  }
  it->rank = kept;
}

bool etx_strided_iterator_start(etx_strided_iterator* it) {
  for (size_t i = 0; i < it->rank; ++i) {
    if (it->sizes[i] == 0) return false;
  }
  merge_dimensions(it);
  it->count = 1;
  const bool has_row = it->rank > 0;
  if (has_row) it->count = (size_t)it->sizes[--it->rank];
  for (size_t k = 0; k < it->operands; ++k) {
    it->stride[k] = has_row ? it->steps[k][it->rank] / it->bytes[k] : 0;
  }
  for (size_t i = 0; i < it->rank; ++i) it->position[i] = 0;
  return true;
}

// Swaps dimension `i` with the one behind it.
static void swap_dimensions(etx_strided_iterator* it, size_t i) {
  const ptrdiff_t size = it->sizes[i];
  it->sizes[i] = it->sizes[i + 1];
  it->sizes[i + 1] = size;
  for (size_t k = 0; k < it->operands; ++k) {
    const ptrdiff_t step = it->steps[k][i];
    it->steps[k][i] = it->steps[k][i + 1];
    it->steps[k][i + 1] = step;
  }
}

static ptrdiff_t magnitude(ptrdiff_t step) { return step < 0 ? -step : step; }

// An insertion sort by descending steps of operand 0; it is stable.
bool etx_strided_iterator_start_any_order(etx_strided_iterator* it) {
  for (size_t i = 1; i < it->rank; ++i) {
    for (size_t at = i; at > 0; --at) {
      if (magnitude(it->steps[0][at - 1]) >= magnitude(it->steps[0][at])) {
        break;
      }
      swap_dimensions(it, at - 1);
    }
  }
  return etx_strided_iterator_start(it);
}

bool etx_strided_iterator_is_dense(const etx_strided_iterator* it, size_t k) {
  if (it->stride[k] != 1 && it->count != 1) return false;
  ptrdiff_t step = (ptrdiff_t)it->count * it->bytes[k];
  for (size_t i = it->rank; i-- > 0; step *= it->sizes[i]) {
    if (it->steps[k][i] != step) return false;
  }
  return true;
}

bool etx_strided_iterator_next(etx_strided_iterator* it) {
  for (size_t i = it->rank; i-- > 0;) {
    if (++it->position[i] < it->sizes[i]) {
      for (size_t k = 0; k < it->operands; ++k) {
        it->data[k] += it->steps[k][i];
      }
      return true;
    }
    it->position[i] = 0;
    for (size_t k = 0; k < it->operands; ++k) {
      it->data[k] -= it->steps[k][i] * (it->sizes[i] - 1);
    }
  }
  return false;
}
