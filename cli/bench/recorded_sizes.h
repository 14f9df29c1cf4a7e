// The sizes that recorded calls give to the symbols of their methods, and the
// time that was spent on each: which variants are worth planning
// (etx plan --specialize).

#ifndef ETX_CLI_BENCH_RECORDED_SIZES_H
#define ETX_CLI_BENCH_RECORDED_SIZES_H

#include <jansson.h>

#include "cli/run/case_file.h"
#include "cli/run/run_session.h"
#include "exporter/specialize/specialize_option.h"

// Calls of one method with equal sizes.
typedef struct etx_recorded_size {
  const char* method;
  etx_text names[ETX_SPECIALIZE_SYMBOLS];  // of the symbols of its inputs
  int64_t values[ETX_SPECIALIZE_SYMBOLS];
  size_t symbol_count;
  size_t calls;
  double seconds;  // of all these calls
} etx_recorded_size;

typedef struct etx_recorded_sizes {
  etx_recorded_size* items;  // those that took most time first
  size_t count, capacity;
  double seconds;  // of all recorded calls, those without symbols included
} etx_recorded_sizes;

// How often all recorded calls are made.
enum { ETX_RECORDED_PASSES = 5 };

// Makes all recorded calls in order, several times; the shortest time of each
// call counts. Methods without symbols, or with more than
// ETX_SPECIALIZE_SYMBOLS, count in the total time only. Memory is in the pool.
ETX_MUST_USE etx_status etx_recorded_sizes_collect(etx_run_session* session,
                                                   const etx_case_file* cases,
                                                   etx_pool* pool,
                                                   etx_recorded_sizes* out,
                                                   etx_diag* diag);

// Prints the sizes with calls and shares of the time, and the options for those
// with a hundredth of it or more, at most ETX_SPECIALIZE_RANGES of a method.
void etx_recorded_sizes_print(const etx_recorded_sizes* sizes);
json_t* etx_recorded_sizes_json(const etx_recorded_sizes* sizes);

#endif
