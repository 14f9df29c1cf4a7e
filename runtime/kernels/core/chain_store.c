#include "runtime/kernels/core/chain_store.h"

// Reads x, x + other or other + x. Returns the number of steps that were read.
static size_t read_sum(etx_chain_store* store, const etx_chain* chain) {
  const uint8_t* s = chain->steps;
  if (chain->count < 3 || s[2] != ETX_STEP_add || (s[0] == s[1])) {
    return s[0] == ETX_STEP_X ? 1 : 0;
  }
  if (s[0] != ETX_STEP_X && s[1] != ETX_STEP_X) return 0;
  const uint8_t other = s[0] == ETX_STEP_X ? s[1] : s[0];
  if (other > ETX_STEP_X || !chain->others[other].moves) return 0;
  store->other = other;
  return 3;
}

etx_chain_store etx_chain_store_of(const etx_chain* chain) {
  etx_chain_store store = {.is_all = true,
                           .other = ETX_CHAIN_MAX_OTHERS,
                           .below = -__builtin_inff(),
                           .low = -__builtin_inff(),
                           .high = __builtin_inff()};
  if (chain == NULL) return store;
  const size_t read = read_sum(&store, chain);
  const uint8_t last = chain->steps[chain->count - 1];
  if (read > 0 && read + 1 == chain->count && last == ETX_STEP_relu) {
    // All results below the smallest denormal, -0 too, become 0.
    store.below = 0x1p-149f;
    store.low = 0;
  } else if (read > 0 && read + 1 == chain->count && last == ETX_STEP_relu6) {
    store.below = store.low = 0;
    store.high = 6;
  } else if (read == 0 || read != chain->count) {
    store.is_all = false;
    store.other = ETX_CHAIN_MAX_OTHERS;
  }
  return store;
}

const float* etx_chain_store_added(const etx_chain_store* store,
                                   const etx_chain* chain, const float* all,
                                   const float* out) {
  if (store->other == ETX_CHAIN_MAX_OTHERS) return NULL;
  return chain->others[store->other].data + (out - all);
}
