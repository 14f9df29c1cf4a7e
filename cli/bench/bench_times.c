#include "cli/bench/bench_times.h"

#include <stdlib.h>

static int compare_seconds(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

etx_bench_times etx_bench_times_of(double* seconds, size_t count) {
  etx_bench_times times = {.calls = count};
  if (count == 0) return times;
  qsort(seconds, count, sizeof *seconds, compare_seconds);
  times.least = seconds[0];
  times.tenth = seconds[count / 10];
  times.median = count % 2 == 1
                     ? seconds[count / 2]
                     : (seconds[count / 2 - 1] + seconds[count / 2]) / 2;
  times.ninetieth = seconds[count - 1 - count / 10];
  times.ninety_ninth = seconds[count - 1 - count / 100];
  return times;
}
