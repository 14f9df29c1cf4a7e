// A .pte file, opened: verified once, read in place, shared by any number of
// methods and threads.
//
// Ownership  the program borrows the file's bytes (aligned to 16, unchanged)
//            and the kernel table; it owns nothing.
// Threads    const after opening.

#ifndef ETX_RUNTIME_PROGRAM_H
#define ETX_RUNTIME_PROGRAM_H

#include "format/base/diag.h"
#include "format/pte/etx_blob.h"
#include "format/pte/pte_program.h"
#include "format/ptd/ptd_file.h"
#include "runtime/kernel.h"

// What a caller allows a file to ask for. All zero means the defaults.
typedef struct etx_limits {
  etx_pte_limits file;
  uint64_t max_steps;            // instructions of one run; 0: ETX_MAX_STEPS
  const etx_parallel* parallel;  // NULL: one thread
} etx_limits;

typedef struct etx_program {
  const etx_kernel_table* kernels;
  bool has_blob;  // false: a stock file without names and symbols
  // State of arena 2 is shared by all methods: true if all methods that list
  // an arena 2 give it the same size, and in a stock file no input lies there.
  bool shares_state;
  uint64_t state_bytes;  // size of the shared arena 2, 0 if none
  // Where data lies that the program keeps in other files.
  const etx_ptd* data_files;
  size_t data_file_count;
  // How they are looked into, by the name of a tensor; NULL: none were handed
  // over, and who never hands any over has no such code in an image.
  bool (*find_data)(const struct etx_program* program, etx_text name,
                    etx_bytes* out_data);
  etx_blob blob;
  etx_limits limits;
  etx_pte pte;
} etx_program;

// One thread: calls the tasks in order. What `limits.parallel` becomes if the
// caller gives none.
extern const etx_parallel etx_parallel_none;

// Opens `file` in place. Verifies it in every build that has a verifier
// (format/base/build_parts.h); see etx_pte_open and etx_blob_open.
// `limits` may be NULL.
ETX_MUST_USE etx_status etx_program_open(etx_program* program, etx_bytes file,
                                         const etx_kernel_table* kernels,
                                         const etx_limits* limits,
                                         etx_diag* diag);

// Hands the program the files (.ptd) that hold data of its tensors, all at
// once, before sessions are started and methods loaded. Each tensor whose data
// lies outside must be in exactly one of them, with the type, sizes and
// dimension order that the program states; the message names the key that is
// missing or different. The files are borrowed.
ETX_MUST_USE etx_status etx_program_use_data(etx_program* program,
                                             const etx_ptd* files, size_t count,
                                             etx_diag* diag);

// The bytes that the file, or a data file, holds for a tensor: a constant, or
// the initial data of a planned one. False if it has none, or if they are in a
// data file that was not given.
bool etx_program_stored(const etx_program* program,
                        const etx_pte_tensor* tensor, etx_bytes* out_data);

typedef struct etx_method_info {
  etx_text name;
  size_t input_count;
  size_t output_count;
  size_t instruction_count;  // of all chains
  uint64_t scratch_bytes;    // arena 1
  bool is_constant;          // no instructions, no inputs, no state: see below
} etx_method_info;

size_t etx_program_method_count(const etx_program* program);
// ETX_OUT_OF_RANGE if there are not that many.
ETX_MUST_USE etx_status etx_program_method_at(const etx_program* program,
                                              size_t index,
                                              etx_method_info* out_info);

// Inputs and outputs as the file describes them, without loading a method.
typedef struct etx_port_info {
  etx_text name;  // "input_0" style names are made up for stock files by the
                  // caller; here size 0
  etx_pte_kind kind;
  etx_pte_value value;    // tensor: upper-bound sizes; scalars: the fixed value
  bool is_mutable;        // input that the method writes
  bool varies;            // Int input that may take any value of a symbol
  int32_t mutated_input;  // output: see etx_blob_output; -1 otherwise
} etx_port_info;

// Finds a method's plan. ETX_NOT_FOUND, with a message, if there is none.
ETX_MUST_USE etx_status etx_program_find_plan(const etx_program* program,
                                              etx_text name,
                                              etx_pte_plan* out_plan,
                                              etx_diag* diag);

ETX_MUST_USE etx_status etx_program_input_at(const etx_program* program,
                                             etx_text method, size_t index,
                                             etx_port_info* out_info,
                                             etx_diag* diag);
ETX_MUST_USE etx_status etx_program_output_at(const etx_program* program,
                                              etx_text method, size_t index,
                                              etx_port_info* out_info,
                                              etx_diag* diag);

// Reads a constant method: one without inputs and instructions whose first
// output is a constant. A tensor's data and sizes point into the file, its
// strides into `hold`.
typedef struct etx_constant_hold {
  int32_t strides[ETX_MAX_RANK];
} etx_constant_hold;
ETX_MUST_USE etx_status etx_program_constant(const etx_program* program,
                                             etx_text name,
                                             etx_value* out_value,
                                             etx_constant_hold* hold,
                                             etx_diag* diag);
// The same for output `index`, for stock files whose constant methods answer
// several values. ETX_UNSUPPORTED for a list.
ETX_MUST_USE etx_status etx_program_constant_at(const etx_program* program,
                                                etx_text name, size_t index,
                                                etx_value* out_value,
                                                etx_constant_hold* hold,
                                                etx_diag* diag);

#endif
