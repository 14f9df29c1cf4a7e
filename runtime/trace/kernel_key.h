// Kernel keys: the types and dimension orders of a call, as ExecuTorch writes
// them in selected_operators.yaml.
//
//   v1/6;0,1|6;0,1|4;     type 6 (float32) with dimension order 0, 1, twice;
//                         then type 4 without dimensions
//   v1                    a call without tensors
//
// A list of tensors has the entry of its first one.

#ifndef ETX_RUNTIME_TRACE_KERNEL_KEY_H
#define ETX_RUNTIME_TRACE_KERNEL_KEY_H

#include "format/base/size_limits.h"
#include "format/pte/pte_program.h"

// Room for the key of any call.
enum {
  ETX_KERNEL_KEY_BYTES = 16 + (ETX_MAX_ARGUMENTS + 1) * (8 + 4 * ETX_MAX_RANK)
};

// A key.
typedef struct etx_kernel_key {
  char text[ETX_KERNEL_KEY_BYTES];  // not terminated
  size_t size;                      // bytes of text
} etx_kernel_key;

// Makes the key of a kernel call of a plan. False if it has more arguments than
// any operator.
bool etx_kernel_key_of(const etx_pte_plan* plan,
                       const etx_pte_instruction* call,
                       etx_kernel_key* out_key);

// The key's text, borrowed.
static inline etx_text etx_kernel_key_text(const etx_kernel_key* key) {
  return (etx_text){key->text, key->size};
}

#endif
