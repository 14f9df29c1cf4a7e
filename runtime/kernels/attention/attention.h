// Scaled dot-product attention for every batch and head:
//
//   softmax(softcap(query * key^T * scale) + mask) * value
//
// with an online softmax: keys are read in blocks, each query row keeps the
// maximum and the sum of its scores so far, and its accumulators are rescaled
// when a block has a larger score. A whole row of scores is never stored.
//
// float32, float16, bfloat16 and int8 with a scale and a zero point per row are
// computed in float32, float64 in float64. Each operand may have a type of its
// own of those that are computed alike: a cache of halves is read as stored.
// The reduction order of a row depends on its own operands and on the sizes
// only: not on other rows, the instruction set or the number of threads. A
// float32 score is summed as in a matrix product (gemm.h): in sixteen partial
// sums for up to 12 queries whose width is a multiple of 16, otherwise from the
// first element to the last. Keys after the last one that a row of a tile can
// see are not read, and neither are the first and last blocks of keys that a
// mask hides from all of its rows.

#ifndef ETX_RUNTIME_KERNELS_ATTENTION_ATTENTION_H
#define ETX_RUNTIME_KERNELS_ATTENTION_ATTENTION_H

#include "runtime/kernel.h"
#include "runtime/kernels/attention/attention_args.h"

// The workspace's size in bytes for this many threads. It does not fall when a
// size rises. Returns false if it overflows size_t.
bool etx_attention_bytes(const etx_attention* attention, size_t threads,
                         size_t* out_bytes);

// Computes the attention. `temporary` is the workspace: etx_attention_bytes,
// aligned to 16 bytes.
void etx_attention_run(const etx_attention* attention, void* temporary,
                       const etx_parallel* parallel);

#endif
