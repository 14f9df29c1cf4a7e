// What the operators of a plan are, found once and not at each instruction: a
// name is looked up in the schema, and its argument text read, only when a
// plan's operator is seen for the first time.
//
// The cache lies on the stack of a walk over instructions. It has few rows, so
// that a plan with many operators makes it look some up again; no plan makes it
// wrong.

#ifndef ETX_RUNTIME_PROGRAM_OPERATOR_CACHE_H
#define ETX_RUNTIME_PROGRAM_OPERATOR_CACHE_H

#include "format/base/size_limits.h"
#include "format/ops/op_schema.h"
#include "format/pte/pte_program.h"
#include "runtime/kernel.h"

typedef struct etx_cached_operator {
  const etx_op* op;          // NULL: no row of this build has its name
  const etx_kernel* kernel;  // NULL: the table does not have it
  uint64_t written;          // a bit for each argument that a call writes
  uint64_t may_lack;         // the same for lists whose items may be None
  size_t argument_count;     // of the schema, the return slot not counted
  size_t call_count;         // value indices that a call carries
  uint32_t last_record;      // of a method, that calls it; UINT32_MAX: none.
                             // Kept by who decodes records
  uint16_t kinds[ETX_MAX_ARGUMENTS + 1];  // bits of etx_pte_kind by argument,
                                          // then of the return slot
} etx_cached_operator;

enum { ETX_OPERATOR_CACHE_ROWS = 32 };

typedef struct etx_operator_cache {
  const etx_pte_plan* plan;
  const etx_kernel_table* kernels;         // NULL: kernels are not asked for
  uint64_t tags[ETX_OPERATOR_CACHE_ROWS];  // position in the plan + 1; 0: none
  etx_cached_operator rows[ETX_OPERATOR_CACHE_ROWS];
} etx_operator_cache;

void etx_operator_cache_init(etx_operator_cache* cache,
                             const etx_pte_plan* plan,
                             const etx_kernel_table* kernels);

// The operator at `index` of the plan's list. Stays until the next call.
etx_cached_operator* etx_operator_cache_at(etx_operator_cache* cache,
                                           size_t index);

// True if a call's arguments are what the schema wants, and of types that this
// build has. If not, etx_arguments_check says why. `values` are the plan's as
// they were decoded, which is faster, or NULL.
bool etx_cached_operator_fits(const etx_cached_operator* known,
                              const etx_pte_plan* plan, const etx_value* values,
                              const etx_pte_instruction* instruction);

#endif
