// softmax(capped(query * key^T * scale) + mask) * value, for every batch and
// head, without ever holding a row of scores: keys come in blocks, and what was
// summed for earlier blocks is rescaled when a larger score turns up.
//
// float32, halves and int8 with a scale and a zero point per row are computed
// in float32, double in double. Each row's sums depend on the row and on sizes
// alone: not on its neighbours, the instruction set or the threads. A float32
// score is summed as a product is (gemm.h): of up to 12 queries, if the
// width is a multiple of 16, in sixteen partial sums, else from the first
// element to the last. Keys that no row of a tile can see are not read.

#ifndef ETX_RUNTIME_KERNELS_ATTENTION_ATTENTION_H
#define ETX_RUNTIME_KERNELS_ATTENTION_ATTENTION_H

#include "runtime/kernel.h"
#include "runtime/kernels/attention/attention_args.h"

// Temporary bytes for so many threads; false if they do not fit in a size.
bool etx_attention_bytes(const etx_attention* attention, size_t threads,
                         size_t* out_bytes);

// Computes all of it. `temporary` has the bytes stated above, 16-aligned.
void etx_attention_run(const etx_attention* attention, void* temporary,
                       const etx_parallel* parallel);

#endif
