// A recorded sequence of calls and their expected results: cases.json and
// expected.safetensors of one directory. tests/data/README.md describes the
// format.

#ifndef ETX_CLI_RUN_CASE_FILE_H
#define ETX_CLI_RUN_CASE_FILE_H

#include "cli/tensors/tensor_compare.h"
#include "cli/tensors/tensor_file.h"
#include "runtime/value.h"

typedef enum etx_case_kind {
  ETX_CASE_NONE,
  ETX_CASE_INT,
  ETX_CASE_REAL,
  ETX_CASE_BOOL,
  ETX_CASE_STRING,
  ETX_CASE_TENSOR,
} etx_case_kind;

typedef struct etx_case_value {
  etx_case_kind kind;
  int64_t integer;
  double real;
  bool boolean;
  etx_text string;
  const etx_host_tensor* tensor;  // of the case file
} etx_case_value;

// New content of an input that the call changed.
typedef struct etx_case_mutation {
  size_t input;
  const etx_host_tensor* tensor;
} etx_case_mutation;

// New content of a state that the call changed.
typedef struct etx_case_state {
  etx_text name;
  const etx_host_tensor* tensor;
} etx_case_state;

typedef struct etx_case_call {
  bool is_reset;   // resets all states; no other field is set
  bool truncates;  // cuts all caches to `length` rows; no other field is set
  uint64_t length;
  bool is_refused;  // must fail and change no state
  const char* method;
  etx_case_value* inputs;
  size_t input_count;
  etx_case_value* outputs;
  size_t output_count;
  etx_case_mutation* mutations;
  size_t mutation_count;
  etx_case_state* states;
  size_t state_count;
} etx_case_call;

typedef struct etx_case_file {
  etx_tolerance tolerance;
  etx_case_call* calls;
  size_t call_count;
  etx_tensor_set tensors;
} etx_case_file;

// Reads the directory. Every key that is used must be in expected.safetensors.
// Unknown kinds of values are refused; the message has the position of the
// call.
ETX_MUST_USE etx_status etx_case_file_read(const char* directory,
                                           etx_pool* pool,
                                           etx_case_file* out_file,
                                           etx_diag* diag);

// A recorded number, boolean or string in the runtime's form; None for a
// tensor.
etx_value etx_case_scalar(const etx_case_value* from);

#endif
