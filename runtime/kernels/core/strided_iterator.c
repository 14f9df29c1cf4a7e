// An odometer over the outer dimensions. Each turn of a digit is one addition
// per operand; a digit that wraps is set back by size - 1 steps.

#include "runtime/kernels/core/strided_iterator.h"

#include "format/base/assertion.h"

void etx_strided_iterator_init(etx_strided_iterator* walk, const int32_t* sizes,
                               size_t rank) {
  walk->operands = 0;
  walk->rank = rank;
  for (size_t i = 0; i < rank; ++i) walk->sizes[i] = sizes[i];
}

void etx_strided_iterator_add(etx_strided_iterator* walk,
                              const etx_tensor* tensor) {
  ptrdiff_t strides[ETX_MAX_RANK];
  const size_t missing = walk->rank - tensor->rank;
  for (size_t i = 0; i < walk->rank; ++i) {
    const bool is_broadcast = i < missing || tensor->sizes[i - missing] == 1;
    strides[i] = is_broadcast ? 0 : tensor->strides[i - missing];
  }
  etx_strided_iterator_add_strided(walk, tensor->data,
                                   etx_dtype_bytes(tensor->dtype), strides);
}

void etx_strided_iterator_add_strided(etx_strided_iterator* walk,
                                      const void* data, size_t bytes,
                                      const ptrdiff_t* strides) {
  const size_t k = walk->operands++;
  ETX_ASSERT(k < ETX_STRIDED_ITERATOR_OPERANDS);
  walk->data[k] = (char*)(uintptr_t)data;
  walk->bytes[k] = (ptrdiff_t)bytes;
  for (size_t i = 0; i < walk->rank; ++i) {
    walk->steps[k][i] = strides[i] * (ptrdiff_t)bytes;
  }
}

// True if dimension `to` directly continues dimension `from`, which lies
// outside it, in every operand.
static bool joins(const etx_strided_iterator* walk, size_t from, size_t to) {
  for (size_t k = 0; k < walk->operands; ++k) {
    if (walk->steps[k][from] != walk->steps[k][to] * walk->sizes[to]) {
      return false;
    }
  }
  return true;
}

// Drops dimensions of size 1 and joins neighbours; the kept ones move to the
// front of the arrays.
static void join_dimensions(etx_strided_iterator* walk) {
  size_t kept = 0;
  for (size_t i = 0; i < walk->rank; ++i) {
    if (walk->sizes[i] == 1) continue;
    // Dimension i joins the last kept one if that continues into it.
    const bool join = kept > 0 && joins(walk, kept - 1, i);
    const size_t to = join ? kept - 1 : kept++;
    walk->sizes[to] = join ? walk->sizes[to] * walk->sizes[i] : walk->sizes[i];
    for (size_t k = 0; k < walk->operands; ++k) {
      walk->steps[k][to] = walk->steps[k][i];
    }
  }
  walk->rank = kept;
}

bool etx_strided_iterator_start(etx_strided_iterator* walk) {
  for (size_t i = 0; i < walk->rank; ++i) {
    if (walk->sizes[i] == 0) return false;
  }
  join_dimensions(walk);
  walk->count = 1;
  const bool has_row = walk->rank > 0;
  if (has_row) walk->count = (size_t)walk->sizes[--walk->rank];
  for (size_t k = 0; k < walk->operands; ++k) {
    walk->stride[k] = has_row ? walk->steps[k][walk->rank] / walk->bytes[k] : 0;
  }
  for (size_t i = 0; i < walk->rank; ++i) walk->position[i] = 0;
  return true;
}

// Swaps dimension `i` with the one behind it.
static void swap_dimensions(etx_strided_iterator* walk, size_t i) {
  const ptrdiff_t size = walk->sizes[i];
  walk->sizes[i] = walk->sizes[i + 1];
  walk->sizes[i + 1] = size;
  for (size_t k = 0; k < walk->operands; ++k) {
    const ptrdiff_t step = walk->steps[k][i];
    walk->steps[k][i] = walk->steps[k][i + 1];
    walk->steps[k][i + 1] = step;
  }
}

static ptrdiff_t magnitude(ptrdiff_t step) { return step < 0 ? -step : step; }

// An insertion sort by falling steps of operand 0; equal ones stay in order.
bool etx_strided_iterator_start_any_order(etx_strided_iterator* walk) {
  for (size_t i = 1; i < walk->rank; ++i) {
    for (size_t at = i; at > 0; --at) {
      if (magnitude(walk->steps[0][at - 1]) >= magnitude(walk->steps[0][at])) {
        break;
      }
      swap_dimensions(walk, at - 1);
    }
  }
  return etx_strided_iterator_start(walk);
}

bool etx_strided_iterator_is_dense(const etx_strided_iterator* walk, size_t k) {
  if (walk->stride[k] != 1 && walk->count != 1) return false;
  ptrdiff_t step = (ptrdiff_t)walk->count * walk->bytes[k];
  for (size_t i = walk->rank; i-- > 0; step *= walk->sizes[i]) {
    if (walk->steps[k][i] != step) return false;
  }
  return true;
}

bool etx_strided_iterator_next(etx_strided_iterator* walk) {
  for (size_t i = walk->rank; i-- > 0;) {
    if (++walk->position[i] < walk->sizes[i]) {
      for (size_t k = 0; k < walk->operands; ++k) {
        walk->data[k] += walk->steps[k][i];
      }
      return true;
    }
    walk->position[i] = 0;
    for (size_t k = 0; k < walk->operands; ++k) {
      walk->data[k] -= walk->steps[k][i] * (walk->sizes[i] - 1);
    }
  }
  return false;
}
