#include "runtime/kernels/indexing/row_indexing.h"

#include <string.h>

#include "format/base/checked_math.h"
#include "runtime/kernels/core/index_tensor.h"
#include "runtime/kernels/core/short_copy.h"

enum { OUTER, SIZE, INNER, COUNT };  // INNER in bytes

bool etx_row_indexing_plan(etx_call* call, const etx_tensor* tensor,
                           size_t dimension, const etx_tensor* index,
                           const etx_tensor* rows) {
  const bool is_index =
      index->dtype == ETX_DTYPE_INT64 || index->dtype == ETX_DTYPE_INT32;
  if (!is_index || dimension >= tensor->rank ||
      !etx_tensor_is_contiguous(tensor) || !etx_tensor_is_contiguous(index) ||
      !etx_tensor_is_contiguous(rows)) {
    return false;
  }
  const size_t count = etx_tensor_numel(index);
  size_t outer = 1, inner = etx_dtype_bytes(tensor->dtype);
  for (size_t i = 0; i < tensor->rank; ++i) {
    if (i < dimension) outer *= (size_t)tensor->sizes[i];
    if (i > dimension) inner *= (size_t)tensor->sizes[i];
  }
  size_t bytes = 0;
  if (!etx_multiply_size(outer * inner, count, &bytes) || bytes == 0 ||
      bytes != etx_tensor_bytes(rows)) {
    return false;
  }
  call->prepared[OUTER] = (int64_t)outer;
  call->prepared[SIZE] = tensor->sizes[dimension];
  call->prepared[INNER] = (int64_t)inner;
  call->prepared[COUNT] = (int64_t)count;
  return true;
}

etx_status etx_row_indexing_check(const etx_call* call, const etx_tensor* index,
                                  bool wraps) {
  return etx_index_check(call, index, call->prepared[SIZE], wraps);
}

typedef struct row_move {
  size_t count;
  int64_t size;
  size_t inner;
  bool is_narrow;  // int32 indices
  bool writes;
} row_move;

// Copies the rows of one position of the outer dimensions. It is a macro, so
// that loops over elements of a fixed size contain no call.
#define MOVE_ROWS(T, copy)                                                 \
  for (size_t i = 0; i < m->count; ++i, rows += m->inner) {                \
    const int64_t index = ((const T*)indices)[i];                          \
    char* self =                                                           \
        tensor + (size_t)(index < 0 ? index + m->size : index) * m->inner; \
    copy                                                                   \
  }

#define COPY_FIXED(bytes) \
  memcpy(m->writes ? self : rows, m->writes ? rows : self, bytes);
#define COPY_ANY \
  etx_copy_short(m->writes ? self : rows, m->writes ? rows : self, m->inner);

static void move_rows(const row_move* m, char* tensor, const void* indices,
                      char* rows) {
  if (m->is_narrow) {
    MOVE_ROWS(int32_t, COPY_ANY)
    return;
  }
  switch (m->inner) {
    case 1:
      MOVE_ROWS(int64_t, COPY_FIXED(1))
      break;
    case 4:
      MOVE_ROWS(int64_t, COPY_FIXED(4))
      break;
    case 8:
      MOVE_ROWS(int64_t, COPY_FIXED(8))
      break;
    case 16:
      MOVE_ROWS(int64_t, COPY_FIXED(16))
      break;
    case 32:
      MOVE_ROWS(int64_t, COPY_FIXED(32))
      break;
    case 64:
      MOVE_ROWS(int64_t, COPY_FIXED(64))
      break;
    default:
      MOVE_ROWS(int64_t, COPY_ANY)
      break;
  }
}

static void move_all(const etx_call* call, const etx_tensor* tensor,
                     const etx_tensor* index, const etx_tensor* rows,
                     bool writes) {
  const row_move m = {(size_t)call->prepared[COUNT], call->prepared[SIZE],
                      (size_t)call->prepared[INNER],
                      index->dtype == ETX_DTYPE_INT32, writes};
  char* self = tensor->data;
  char* other = rows->data;
  for (int64_t i = call->prepared[OUTER]; i > 0; --i) {
    move_rows(&m, self, index->data, other);
    self += (size_t)m.size * m.inner;
    other += m.count * m.inner;
  }
}

void etx_row_indexing_read(const etx_call* call, const etx_tensor* tensor,
                           const etx_tensor* index, const etx_tensor* rows) {
  move_all(call, tensor, index, rows, false);
}

void etx_row_indexing_write(const etx_call* call, const etx_tensor* tensor,
                            const etx_tensor* index, const etx_tensor* rows) {
  move_all(call, tensor, index, rows, true);
}
