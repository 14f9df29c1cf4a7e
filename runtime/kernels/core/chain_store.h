// Chains that the store of a row computes in registers (etx_row_store): an
// addition, then relu or relu6, each optional.

#ifndef ETX_RUNTIME_KERNELS_CORE_CHAIN_STORE_H
#define ETX_RUNTIME_KERNELS_CORE_CHAIN_STORE_H

#include "runtime/kernels/core/chain.h"

typedef struct etx_chain_store {
  bool is_all;   // the store computes the whole chain, or nothing of it
  size_t other;  // index of the tensor that is added, or ETX_CHAIN_MAX_OTHERS
  float below, low, high;
} etx_chain_store;

// `chain` may be NULL.
etx_chain_store etx_chain_store_of(const etx_chain* chain);

// The elements that are added to the results from `out` on, or NULL. Their
// tensor has the layout of all results, which begin at `all`.
const float* etx_chain_store_added(const etx_chain_store* store,
                                   const etx_chain* chain, const float* all,
                                   const float* out);

#endif
