// Measures one method: loading, the first call, many calls, and the time of
// each operator.

#ifndef ETX_CLI_BENCH_BENCH_METHOD_H
#define ETX_CLI_BENCH_BENCH_METHOD_H

#include "cli/bench/bench_result.h"
#include "cli/bench/bench_run.h"

// Loads and measures method `name`. Memory is in the pool. Fails as the method
// does if it refuses its inputs; the message then names generated inputs.
ETX_MUST_USE etx_status etx_bench_method(etx_run_session* session,
                                         const char* name,
                                         const etx_bench_options* options,
                                         etx_pool* pool,
                                         etx_bench_result* out_result,
                                         etx_diag* diag);

#endif
