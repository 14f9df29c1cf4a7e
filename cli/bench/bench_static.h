// What a method costs, from the program file alone.

#ifndef ETX_CLI_BENCH_BENCH_STATIC_H
#define ETX_CLI_BENCH_BENCH_STATIC_H

#include "cli/bench/bench_result.h"

// The facts of bench_result.h as far as the file tells them, at the largest
// sizes: no times, inputs or method.
ETX_MUST_USE etx_status etx_bench_static(
    const etx_program* program, const char* name, etx_pool* pool,
    etx_bench_result* out_result, etx_diag* diag);

// Instructions of a method in the file, as etx inspect counts them.
size_t etx_bench_static_instruction_count(const etx_pte_plan* plan);


#endif
