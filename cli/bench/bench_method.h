// One method measured: what loading takes, the first call, many calls, and
// where the time goes.

#ifndef ETX_CLI_BENCH_BENCH_METHOD_H
#define ETX_CLI_BENCH_BENCH_METHOD_H

#include "cli/bench/bench_result.h"
#include "cli/bench/bench_run.h"

// Loads and measures the method. Memory is of the pool. ETX_OUT_OF_RANGE and
// others as the method refuses; the message says what to give.
ETX_MUST_USE etx_status etx_bench_method(
    etx_run_session* session, const char* name, const etx_bench_options* wishes,
    etx_pool* pool, etx_bench_result* out_result, etx_diag* diag);

#endif
