// Chains of elementwise steps over float32 (format/ops/chain_steps.h), computed
// a block of elements at a time, so that values between steps stay in L1. The
// steps run the loops of their operators, so results have the same bits.

#ifndef ETX_RUNTIME_KERNELS_CORE_CHAIN_H
#define ETX_RUNTIME_KERNELS_CORE_CHAIN_H

#include "format/ops/chain_steps.h"
#include "runtime/kernel.h"
#include "runtime/kernels/simd/elementwise/float_loops.h"

// A tensor of `others`: one element, one row, or as large as the result.
typedef struct etx_chain_other {
  const float* data;
  size_t row;  // elements from a row to the next; 0: the same for all
  bool moves;  // false: one element
} etx_chain_other;

typedef struct etx_chain {
  uint8_t steps[ETX_CHAIN_STEPS_MAX];
  size_t count;
  const etx_float_loops* loops;
  etx_chain_other others[ETX_CHAIN_MAX_OTHERS];
  // The loop and its parameters if the chain is one step of x, or NULL. Most
  // epilogues of matrix products and convolutions are, and they run on short
  // pieces.
  etx_unary_loop lone;
  etx_scalar parameters[ETX_UNARY_PARAMETERS];
} etx_chain;

// For prepare: refuses a text that is not a chain, and tensors that are not
// contiguous float32. `others` and `steps` are positions of arguments; the
// result is the last argument. The steps fill all of `prepared`. A call that is
// prepared again (etx_call_is_again) keeps its steps.
ETX_MUST_USE etx_status etx_chain_check(etx_call* call, size_t others,
                                        size_t steps);

// The same without a check of the tensors, none of which may be None.
ETX_MUST_USE etx_status etx_chain_check_steps(etx_call* call, size_t others,
                                              size_t steps);
// For run: the steps that were checked. The caller fills `others`.
void etx_chain_read_steps(const etx_call* call, etx_chain* out_chain);

// For run: the chain that was checked, over rows of `columns` elements.
void etx_chain_read(const etx_call* call, size_t others, size_t columns,
                    etx_chain* out_chain);

// True if all tensors of `others` have one element or are as large as the
// result, so that the result may be cut into rows of any length.
bool etx_chain_has_any_rows(const etx_call* call, size_t others);

// The tensor that a chain adds to x if it does nothing else and the tensor has
// more than one element; NULL otherwise.
const etx_chain_other* etx_chain_added(const etx_chain* chain);

// Computes `count` elements of row `row`, from column `first` on. `x` and `out`
// point to the first of them and may be equal.
void etx_chain_run(const etx_chain* chain, const float* x, float* out,
                   size_t row, size_t first, size_t count);

// Computes a tensor of `numel` elements in place, in rows of `columns`.
void etx_chain_run_all(const etx_chain* chain, float* data, size_t numel,
                       size_t columns, const etx_parallel* parallel);

#endif
