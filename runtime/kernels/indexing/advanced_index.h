// Selections of a tensor by a list of index tensors and masks (PyTorch's
// advanced indexing), and the copies between the tensor and the selected
// elements.
//
//   self [A, B, C, D], indices [None, x, y]   selected: [A, broadcast, D]
//   self [A, B, C, D], indices [x, None, y]   selected: [broadcast, B, D]
//
// Index tensors are broadcast together. A mask stands for one index vector for
// each of its dimensions: the positions where it is true, in row-major order.

#ifndef ETX_RUNTIME_KERNELS_INDEXING_ADVANCED_INDEX_H
#define ETX_RUNTIME_KERNELS_INDEXING_ADVANCED_INDEX_H

#include "runtime/kernel.h"
#include "runtime/kernels/views/strided_view.h"

typedef struct etx_advanced_index {
  size_t count;  // index tensors and masks
  const etx_tensor* indices[ETX_MAX_RANK];
  // For each of them, the first dimension of self that it indexes. A mask
  // indexes as many dimensions as it has.
  size_t dimensions[ETX_MAX_RANK];
  size_t trues[ETX_MAX_RANK];  // of a mask: the number of true elements
  uint32_t indexed;            // bits of self's indexed dimensions
  size_t rank;                 // rank of the broadcast index tensors
  int32_t sizes[ETX_MAX_RANK];
  size_t place;  // the first broadcast dimension of the selected tensor
} etx_advanced_index;

static inline bool etx_index_is_mask(const etx_tensor* index) {
  return index->dtype == ETX_DTYPE_BOOL || index->dtype == ETX_DTYPE_UINT8;
}

// Fills `s` with one index tensor or mask, which indexes self from `dimension`
// on.
void etx_advanced_index_of_one(etx_advanced_index* s, const etx_tensor* index,
                               size_t dimension);

// Reads argument `list`, a Tensor?[]. It counts the elements of masks, so it
// must be called in `run`. Refuses masks whose counts do not broadcast.
etx_status etx_advanced_index_read(etx_advanced_index* s, const etx_call* call,
                                   size_t list);

// Refuses indices that are out of range. Negative ones count from the end if
// `wraps`.
etx_status etx_advanced_index_check(const etx_advanced_index* s,
                                    const etx_call* call,
                                    const etx_tensor* self, bool wraps);

// The sizes of the selection from a tensor of these sizes; returns their
// number, which may be twice ETX_MAX_RANK.
size_t etx_advanced_index_sizes(const etx_advanced_index* s,
                                const int32_t* self_sizes, size_t self_rank,
                                int32_t* out_sizes);

typedef enum etx_advanced_index_mode {
  ETX_ADVANCED_INDEX_READS,   // from self
  ETX_ADVANCED_INDEX_WRITES,  // to self; the last value of an index wins
  ETX_ADVANCED_INDEX_ADDS,    // to self, in order
} etx_advanced_index_mode;

// Moves all selected elements. `selected` has the sizes that
// etx_advanced_index_sizes gives. Types are equal; when adding, self may be
// float32 where `selected` is of a half type.
void etx_advanced_index_move(const etx_advanced_index* s,
                             const etx_strided_view* self,
                             const etx_strided_view* selected,
                             etx_advanced_index_mode way);

#endif
