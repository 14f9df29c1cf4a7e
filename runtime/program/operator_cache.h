// A cache of a plan's operators, used while instructions are read: the lookup
// of a name and the parsing of its argument text happen once for each operator,
// not once for each instruction.
//
// The cache is on the stack and direct-mapped, with few rows. With more
// operators than rows some are looked up again.

#ifndef ETX_RUNTIME_PROGRAM_OPERATOR_CACHE_H
#define ETX_RUNTIME_PROGRAM_OPERATOR_CACHE_H

#include "format/base/size_limits.h"
#include "format/ops/op_schema.h"
#include "format/pte/pte_program.h"
#include "runtime/kernel.h"

typedef struct etx_cached_operator {
  const etx_op* op;          // NULL: the table does not have it
  const etx_kernel* kernel;  // NULL for views without one, which need none
  uint64_t written;          // a bit for each argument that a call writes
  uint64_t may_lack;         // the same for lists whose items may be None
  size_t argument_count;     // of the schema, the return slot not counted
  size_t call_count;         // value indices that a call carries
  uint32_t last_record;      // last record so far that calls it, set by
                             // method_records.c; UINT32_MAX: none
  uint16_t kinds[ETX_MAX_ARGUMENTS + 1];  // bits of etx_pte_kind by argument,
                                          // then of the return slot
} etx_cached_operator;

enum { ETX_OPERATOR_CACHE_ROWS = 32 };

typedef struct etx_operator_cache {
  const etx_pte_plan* plan;
  const etx_kernel_table* kernels;         // where operators are looked up
  uint64_t tags[ETX_OPERATOR_CACHE_ROWS];  // position in the plan + 1; 0: none
  etx_cached_operator rows[ETX_OPERATOR_CACHE_ROWS];
} etx_operator_cache;

void etx_operator_cache_init(etx_operator_cache* cache,
                             const etx_pte_plan* plan,
                             const etx_kernel_table* kernels);

// The operator at `index` of the plan's list, valid until the next call.
etx_cached_operator* etx_operator_cache_at(etx_operator_cache* cache,
                                           size_t index);

// True if a call's arguments match the schema and have types of this build. If
// not, etx_arguments_check writes the message. `values` are the plan's decoded
// values, which are faster to read than the file, or NULL.
bool etx_cached_operator_fits(const etx_cached_operator* known,
                              const etx_pte_plan* plan, const etx_value* values,
                              const etx_pte_instruction* instruction);

#endif
