// Order statistics of measured times.

#ifndef ETX_CLI_BENCH_BENCH_TIMES_H
#define ETX_CLI_BENCH_BENCH_TIMES_H

#include <stddef.h>

typedef struct etx_bench_times {
  size_t calls;                                          // that were measured
  double least, tenth, median, ninetieth, most_but_one;  // seconds; the last is
                                                         // the 99th percentile
} etx_bench_times;

// Median and so on of `count` values, which are sorted in place.
etx_bench_times etx_bench_times_of(double* seconds, size_t count);


#endif
