// Bytes and multiply-adds of a method, from the program file alone.

#ifndef ETX_CLI_BENCH_BENCH_STATIC_H
#define ETX_CLI_BENCH_BENCH_STATIC_H

#include "cli/bench/bench_result.h"

// Fills the fields of the result that need no run, for the largest sizes:
// memory, cost and operators. The fields for times and inputs stay empty, and
// `method` is NULL.
ETX_MUST_USE etx_status etx_bench_static(const etx_program* program,
                                         const char* name, etx_pool* pool,
                                         etx_bench_result* out_result,
                                         etx_diag* diag);

// The number of instructions of a method, as etx inspect counts them.
size_t etx_bench_static_instruction_count(const etx_pte_plan* plan);

#endif
