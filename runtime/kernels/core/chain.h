// Chains of elementwise steps over float32 (format/ops/chain_steps.h), a block
// of elements at a time: what waits between steps stays in cache. The steps are
// the loops of the operators they stand for, so results are the same bits.

#ifndef ETX_RUNTIME_KERNELS_CORE_CHAIN_H
#define ETX_RUNTIME_KERNELS_CORE_CHAIN_H

#include "format/ops/chain_steps.h"
#include "runtime/kernel.h"
#include "runtime/kernels/simd/elementwise/float_loops.h"

// A tensor of the list: one element, one row, or as many as the result.
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
  // The loop of a chain that is one step of x, as most behind products and
  // convolutions are, which come to it piece by piece; or NULL.
  etx_unary_loop lone;
  etx_scalar parameters[ETX_UNARY_PARAMETERS];  // of that
} etx_chain;

// For prepare: refuses what is no chain, and tensors that are not dense
// float32. `others` and `steps` are arguments; the result is the last one.
// Keeps the steps in all of `prepared`.
ETX_MUST_USE etx_status etx_chain_check(etx_call* call, size_t others,
                                        size_t steps);

// The same of steps alone, whatever the tensors are: `others` has no None.
ETX_MUST_USE etx_status etx_chain_check_steps(etx_call* call, size_t others,
                                              size_t steps);
// For run: the steps that were checked; the others are left to the caller.
void etx_chain_read_steps(const etx_call* call, etx_chain* out_chain);

// For run: the chain that was checked, over rows of `columns` elements.
void etx_chain_read(const etx_call* call, size_t others, size_t columns,
                    etx_chain* out_chain);

// True if the list's tensors are as large as the result or of one element, so
// that rows may be as long as one likes.
bool etx_chain_has_any_rows(const etx_call* call, size_t others);

// What a chain adds to x if it does nothing else, and that is no single
// element: one row for all, or as many as the result. NULL otherwise.
const etx_chain_other* etx_chain_added(const etx_chain* chain);

// Computes `count` elements of row `row`, from column `first` on. `x` and `out`
// are where they begin, and may be the same.
void etx_chain_run(const etx_chain* chain, const float* x, float* out,
                   size_t row, size_t first, size_t count);

// Computes all of a tensor of `numel` elements where it lies, in rows of
// `columns`.
void etx_chain_run_all(const etx_chain* chain, float* data, size_t numel,
                       size_t columns, const etx_parallel* parallel);

#endif
