/* What the operator benchmark needs of etx, callable from C++. */

#ifndef ETX_TESTS_BENCH_BENCH_ETX_H
#define ETX_TESTS_BENCH_BENCH_ETX_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_etx bench_etx;

/* Loads method "forward" of the file at `path` and sets its tensor inputs, in
 * order, to what `inputs` points to, which the caller keeps. NULL if refused;
 * the reason goes to stderr. Never freed: a benchmark's process is short. */
bench_etx* bench_etx_open(const char* path, void* const* inputs);

/* Runs once; 0 if all went well, else the reason goes to stderr. */
int bench_etx_run(bench_etx* b);

/* The bytes of output `index`, NULL if it is not a tensor. */
const void* bench_etx_output(bench_etx* b, size_t index, size_t* bytes);

#ifdef __cplusplus
}
#endif

#endif
