// Plans one model with more and more mechanisms switched on, runs it with the
// same inputs, and finds the first mechanism that changes a result.

#ifndef ETX_CLI_BISECT_MODEL_BISECT_H
#define ETX_CLI_BISECT_MODEL_BISECT_H

#include <jansson.h>

#include "cli/base/options.h"
#include "cli/bisect/mechanism_list.h"
#include "cli/bisect/program_diff.h"

typedef struct etx_bisect_options {
  const char* input;           // methods, as etx plan reads them
  const char* method;          // the method to call
  const etx_case_file* cases;  // recorded calls; NULL: inputs are generated
  etx_tolerance tolerance;     // 0 and 0: equal numbers
  etx_option_list quantize;    // rules, as etx plan takes them
  etx_option_list cap;
  etx_option_list ops;      // descriptions of an application's operators
  etx_option_list kernels;  // and libraries of their kernels
  const char* passes_off;  // passes that stay off, as etx plan takes them
  bool packs;
  size_t threads;  // with the mechanism threads
  // Called before each run; may be NULL.
  void (*progress)(size_t test, size_t most, const char* mechanism);
} etx_bisect_options;

typedef struct etx_bisect_result {
  etx_mechanism_list mechanisms;
  size_t position;       // the mechanism that changes a result, or their count
  size_t tests;          // comparisons that were made
  bool is_refused;       // the search failed because the method refused a call
  etx_diff_result diff;  // without and with that mechanism
  etx_diff_side sides[2];  // open if there is one, until etx_bisect_close
  char paths[2][64];       // what the two programs are called
} etx_bisect_result;

// Searches. `out` is closed with etx_bisect_close, whatever the status. Memory
// is in the pool.
ETX_MUST_USE etx_status etx_bisect_run(const etx_bisect_options* options,
                                       etx_pool* pool, etx_bisect_result* out,
                                       etx_diag* diag);
void etx_bisect_close(etx_bisect_result* result);

// The result as text on standard output, and as JSON.
void etx_bisect_print(const etx_bisect_result* result, const char* method);
json_t* etx_bisect_json(const etx_bisect_result* result, const char* method);

#endif
