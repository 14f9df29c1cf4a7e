// Order statistics of measured times.

#ifndef ETX_CLI_BENCH_BENCH_TIMES_H
#define ETX_CLI_BENCH_BENCH_TIMES_H

#include <stddef.h>

// All values are seconds, or ratios.
typedef struct etx_bench_times {
  size_t calls;  // the number of values
  double least;
  double tenth;  // 10th percentile
  double median;
  double ninetieth;     // 90th percentile
  double ninety_ninth;  // 99th percentile
} etx_bench_times;

// Order statistics of `count` values, which are sorted in place.
etx_bench_times etx_bench_times_of(double* seconds, size_t count);

#endif
