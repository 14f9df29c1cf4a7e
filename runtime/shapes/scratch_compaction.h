// Moves the blocks of scratch together when sizes are below their bounds.
//
// The file places each block of scratch for the upper bounds of all sizes.
// block_layout.h closes the gaps that smaller sizes leave, and shows why a
// proof of the plan at the upper bounds is a proof for all sizes.
//
// A block is a tensor with memory of its own, together with all tensors that
// the file describes as views of it: these keep their distance to its start.
// Only methods with dynamic sizes whose file describes views (etx_blob_view)
// are compacted.

#ifndef ETX_RUNTIME_SHAPES_SCRATCH_COMPACTION_H
#define ETX_RUNTIME_SHAPES_SCRATCH_COMPACTION_H

#include "runtime/method/method_types.h"

// The number of tensors for which a method needs memory for a compaction; 0: it
// is never compacted.
size_t etx_scratch_compaction_count(const etx_method* method,
                                    size_t dynamic_dims);
// Finds the blocks of a method whose values and records are decoded.
void etx_scratch_compaction_init(etx_method* method);
// Gives every tensor the bytes of its upper bounds, until its sizes are known.
void etx_scratch_compaction_restart(etx_method* method);
// Places all blocks for the present sizes of the tensors. Sizes that are found
// during the run count at their bounds. Sets storages, and the bytes of scratch
// that the method uses (`scratch_used`).
void etx_scratch_compact(etx_method* method);

// The block of a tensor with memory in scratch; NULL: the method is not
// compacted, or the tensor is not in a block.
static inline const etx_layout_block* etx_scratch_block_of(
    const etx_method* method, const etx_method_tensor* tensor) {
  if (!ETX_DYNAMIC || method->scratch_block_count == 0) return NULL;
  const uint32_t block =
      method->scratch_members[tensor - method->tensors].block;
  return block == ETX_NO_INDEX ? NULL : &method->scratch_blocks[block];
}

#endif
