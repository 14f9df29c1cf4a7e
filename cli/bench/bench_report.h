// Prints the results of etx bench as text or as JSON.

#ifndef ETX_CLI_BENCH_BENCH_REPORT_H
#define ETX_CLI_BENCH_BENCH_REPORT_H

#include "cli/bench/bench_result.h"
#include "cli/machine/process_memory.h"
#include "cli/json/json_value.h"

// A program as a whole.
typedef struct etx_bench_program {
  const char* path;
  uint64_t file_bytes;
  uint64_t state_bytes;
  double open_seconds;  // mapping and checking the file, starting the state
  size_t threads;
  bool is_static;             // nothing was run: no times
  etx_process_memory memory;  // after all methods ran
  const etx_bench_result* methods;
  size_t method_count;
} etx_bench_program;

// Prints to standard output.
void etx_bench_print(const etx_bench_program* program);

// New reference.
json_t* etx_bench_json(const etx_bench_program* program);

// Writes "1.20 ms": three digits and a unit.
enum { ETX_BENCH_TEXT = 32 };
void etx_bench_format_seconds(double seconds, char out[ETX_BENCH_TEXT]);

// The shortest time that the limits allow: the longer of the time to read the
// bytes and the time of the multiply-adds. 0 if the limits are unknown.
double etx_bench_roofline_seconds(const etx_operator_cost* cost,
                                  const etx_machine_limits* limits);

#endif
