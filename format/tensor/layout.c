#include "format/tensor/layout.h"

#include "format/base/checked_math.h"
#include "format/base/size_limits.h"

bool etx_layout_is_order(const uint8_t* order, size_t rank) {
  uint32_t seen = 0;
  for (size_t i = 0; i < rank; ++i) {
    if (order[i] >= rank || order[i] >= ETX_MAX_RANK) return false;
    seen |= UINT32_C(1) << order[i];
  }
  return rank <= ETX_MAX_RANK && seen == (UINT32_C(1) << rank) - 1;
}

bool etx_layout_is_default(const uint8_t* order, size_t rank) {
  for (size_t i = 0; i < rank; ++i) {
    if (order[i] != i) return false;
  }
  return true;
}

bool etx_layout_numel(const int32_t* sizes, size_t rank, size_t* out_numel) {
  size_t numel = 1;
  bool is_empty = false;
  for (size_t i = 0; i < rank; ++i) {
    if (sizes[i] < 0) return false;
    if (sizes[i] == 0) is_empty = true;
  }
  for (size_t i = 0; i < rank && !is_empty; ++i) {
    if (!etx_multiply_size(numel, (size_t)sizes[i], &numel)) return false;
  }
  *out_numel = is_empty ? 0 : numel;
  return true;
}

bool etx_layout_strides(const int32_t* sizes, const uint8_t* order,
                        size_t rank, int32_t* out_strides) {
  int64_t stride = 1;
  for (size_t i = rank; i-- > 0;) {
    const size_t at = order == NULL ? i : order[i];
    if (stride > INT32_MAX) return false;
    out_strides[at] = (int32_t)stride;
    stride *= sizes[at] > 0 ? sizes[at] : 1;
  }
  return true;
}

static bool is_empty(const int32_t* sizes, size_t rank) {
  for (size_t i = 0; i < rank; ++i) {
    if (sizes[i] == 0) return true;
  }
  return false;
}

bool etx_layout_is_contiguous(const int32_t* sizes, const int32_t* strides,
                              size_t rank) {
  int64_t wanted = 1;
  for (size_t i = rank; i-- > 0;) {
    if (strides[i] != wanted && sizes[i] != 1) return is_empty(sizes, rank);
    wanted *= sizes[i];
  }
  return true;
}
