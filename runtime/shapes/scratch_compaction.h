// Moves the blocks of scratch together when sizes are below their bounds.
//
// The file places each block of scratch for the upper bounds of all sizes.
// block_layout.h closes the gaps that smaller sizes leave, and shows why a
// proof of the plan at the upper bounds is a proof for all sizes.
//
// A block is a tensor with memory of its own, together with all tensors that
// the file describes as views of it: these keep their distance to its start.
// Only methods with dynamic sizes whose file describes views (etx_blob_view)
// are compacted, and none with outputs that outlive calls of other methods:
// these have places of their own.
//
// The file may have further layouts of the same blocks (etx_blob_place). The
// one that needs the fewest bytes at the present sizes is used.
//
// Values that are kept until sizes change (size_values.h) have a block of
// memory of their own, which is large enough for the largest sizes. At smaller
// sizes its end is free. What is needed only while these values are computed
// lies there if it fits, and in scratch otherwise:
//
//   | kept values | computing them | free |

#ifndef ETX_RUNTIME_SHAPES_SCRATCH_COMPACTION_H
#define ETX_RUNTIME_SHAPES_SCRATCH_COMPACTION_H

#include "runtime/method/method_types.h"

// Sets the counts of a method whose other counts are known, and which has so
// many dimensions in tensors of dynamic sizes.
void etx_scratch_compaction_count(etx_method* method, size_t dynamic_dims);
// Finds the blocks of a method whose values and records are decoded.
// ETX_BAD_FILE: a layout of the file moves a view away from its block.
ETX_MUST_USE etx_status etx_scratch_compaction_init(etx_method* method,
                                                    etx_diag* diag);
// Gives every tensor the place and the bytes that the plan has for its upper
// bounds, until its sizes are known. Kept blocks lie in `kept` in their order.
void etx_scratch_compaction_restart(etx_method* method);
// The bytes of scratch at the present sizes of the tensors, in the layout that
// then needs the fewest. Sizes that are found during the run count at their
// bounds.
size_t etx_scratch_measure(etx_method* method);
// Places all blocks in that layout, or in that of the plan if the caller gave
// as much scratch as the plan needs: sets storages, and the bytes of scratch
// that the method uses (`scratch_used`). With lists, sets the data of all
// values, too.
void etx_scratch_compact(etx_method* method);

// Makes the lists of what a move touches, for a method with a size program and
// without jumps and late values, whose blocks are placed. They are valid until
// a phase starts without the program, until memory changes, or until the bytes
// of a tensor lie in another one.
void etx_scratch_lists_make(etx_method* method);

// The bytes of `kept` that a block takes there: whole lines of the cache.
static inline size_t etx_kept_block_bytes(size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

// True if blocks are moved together. That is so even if the caller gave as much
// scratch as the plan needs: what lies together stays in nearer caches.
static inline bool etx_scratch_is_compacted(const etx_method* method) {
  return ETX_DYNAMIC && method->scratch_block_count > 0;
}

// Where two blocks of scratch lie, for all sizes and in every layout.
typedef enum etx_block_relation {
  ETX_BLOCKS_APART,     // they never share a byte
  ETX_BLOCKS_TOGETHER,  // they start at the same byte, or are the same block
  ETX_BLOCKS_UNKNOWN,   // it depends on the sizes
} etx_block_relation;

etx_block_relation etx_scratch_relation(const etx_method* method, uint32_t a,
                                        uint32_t b);

// The block of a tensor with memory in scratch; ETX_NO_INDEX: the method is not
// compacted, or the tensor is in no block or in one that is kept.
static inline uint32_t etx_scratch_block_of(const etx_method* method,
                                            const etx_method_tensor* tensor) {
  if (!ETX_DYNAMIC || method->scratch_block_count == 0) return ETX_NO_INDEX;
  const etx_scratch_member* const member =
      &method->scratch_members[tensor - method->tensors];
  return member->use == ETX_BLOCK_KEPT ? ETX_NO_INDEX : member->block;
}

#endif
