// The chains that the store of a row computes by itself (etx_row_store): an
// addition, then relu or relu6.

#ifndef ETX_RUNTIME_KERNELS_CORE_CHAIN_STORE_H
#define ETX_RUNTIME_KERNELS_CORE_CHAIN_STORE_H

#include "runtime/kernels/core/chain.h"

typedef struct etx_chain_store {
  bool is_all;   // of the chain; what follows is none of it otherwise
  size_t other;  // of the chain, that is added; or ETX_CHAIN_MAX_OTHERS
  float below, low, high;
} etx_chain_store;

// `chain` may be NULL.
etx_chain_store etx_chain_store_of(const etx_chain* chain);

// What is added to the results that begin at `out`; NULL: nothing. It lies as
// all results do, which begin at `all`.
const float* etx_chain_store_added(const etx_chain_store* store,
                                   const etx_chain* chain, const float* all,
                                   const float* out);

#endif
