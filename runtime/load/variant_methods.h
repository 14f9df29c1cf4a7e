// The loaded variants of a method, for other parts of the runtime.

#ifndef ETX_RUNTIME_LOAD_VARIANT_METHODS_H
#define ETX_RUNTIME_LOAD_VARIANT_METHODS_H

#include "runtime/method.h"

struct etx_method_variants {
  etx_method* items;  // variants in the order in which they are tried, copies
  size_t count;       // of variants
  size_t all;         // of items
  size_t last;        // the one that ran last; `all`: the method itself
  uint64_t* runs;     // of each variant, and of the method and its copies
  uint64_t* chosen;   // of each item: when it was chosen last
  uint64_t clock;     // the number of choices
  uint64_t hits;      // see etx_method_variant_hits
  const etx_value** own_outputs;  // the outputs of the method itself
};

// The variant at `index`, which is below etx_method_variant_count.
const etx_method* etx_method_variant_at(const etx_method* method, size_t index);

// The method itself at 0, then its variants, as many as it uses.
static inline const etx_method* etx_method_in_turn(const etx_method* method,
                                                   size_t index) {
  return index == 0 ? method : etx_method_variant_at(method, index - 1);
}

// The method whose instructions run, or ran last: a variant, a copy for recent
// sizes, or the method itself.
const etx_method* etx_method_variant_running(const etx_method* method);

#endif
