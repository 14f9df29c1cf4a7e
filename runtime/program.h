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

// Limits of a caller on what a file may need. All zero means the defaults.
typedef struct etx_limits {
  etx_pte_limits file;           // limits on the content of the file
  uint64_t max_steps;            // instructions of one run; 0: ETX_MAX_STEPS
  const etx_parallel* parallel;  // NULL: one thread
  bool keeps_plan;  // scratch stays where the file places it for the largest
                    // sizes, so that a method needs the same bytes at all sizes
  uint32_t kept_sizes;  // copies of each method of varying sizes that stay
                        // prepared for recent sizes (variants.h), at most 64
  bool calls_shape_functions;  // every change of sizes calls the shape
                               // functions of all operators, as if sizes could
                               // not be computed from symbols alone
  bool repeats_size_values;    // every run computes the values that depend on
                               // sizes alone (size_values.h)
} etx_limits;

// An opened program. Fields may be read; only functions here write them.
typedef struct etx_program {
  const etx_kernel_table* kernels;  // the caller's
  bool has_blob;  // false: a stock file without names and symbols
  // State of arena 2 is shared by all methods: true if all methods that list
  // an arena 2 give it the same size, and in a stock file no input lies there.
  bool shares_state;
  uint64_t state_bytes;       // size of the shared arena 2, 0 if none
  const etx_ptd* data_files;  // with data that the program keeps elsewhere
  size_t data_file_count;     // of data_files
  // Finds data in them by the name of a tensor; NULL: there are none. A
  // pointer, so that an image without data files does not link the code.
  bool (*find_data)(const struct etx_program* program, etx_text name,
                    etx_bytes* out_data);
  etx_blob blob;      // etx's data in the file; valid if has_blob
  etx_limits limits;  // the caller's, defaults filled in
  etx_pte pte;        // the opened file
} etx_program;

// One thread: calls the tasks in order. What `limits.parallel` becomes if the
// caller gives none.
extern const etx_parallel etx_parallel_none;

// Opens `file` in place. Verifies it in every build that has a verifier
// (format/base/build_parts.h); see etx_pte_open and etx_blob_open, whose
// statuses it returns. `limits` may be NULL; what it points to is borrowed.
// ETX_BAD_ARGUMENT: its parallel has no thread, or more than ETX_MAX_THREADS.
ETX_MUST_USE etx_status etx_program_open(etx_program* program, etx_bytes file,
                                         const etx_kernel_table* kernels,
                                         const etx_limits* limits,
                                         etx_diag* diag);

// Hands the program the files (.ptd) that hold data of its tensors, all at
// once, before sessions are started and methods loaded. Each tensor whose data
// lies outside must be in exactly one of them, with the type, sizes and
// dimension order that the program states; the message names the key that is
// missing or different. The files are borrowed. ETX_NOT_FOUND: a key is in none
// of them; ETX_BAD_FILE: it is in several, or another tensor; ETX_OUT_OF_RANGE:
// the files have far more keys than the program has tensors.
ETX_MUST_USE etx_status etx_program_use_data(etx_program* program,
                                             const etx_ptd* files, size_t count,
                                             etx_diag* diag);

// The bytes that the file, or a data file, holds for a tensor: a constant, or
// the initial data of a planned one. False if it has none, or if they are in a
// data file that was not given.
bool etx_program_stored(const etx_program* program,
                        const etx_pte_tensor* tensor, etx_bytes* out_data);

// What a file states about a method as a whole.
typedef struct etx_method_info {
  etx_text name;             // borrowed from the file
  size_t input_count;        // as etx_program_input_at counts them
  size_t output_count;       // as etx_program_output_at counts them
  size_t instruction_count;  // of all chains
  uint64_t scratch_bytes;    // arena 1
  bool is_constant;          // no instructions, no inputs, no state
} etx_method_info;

// Methods of the program, constant ones and those that etx adds among them.
// Variants (variants.h) are not counted: they run in place of their methods.
size_t etx_program_method_count(const etx_program* program);
// The method at `index`, in the file's order. ETX_OUT_OF_RANGE if there are not
// that many.
ETX_MUST_USE etx_status etx_program_method_at(const etx_program* program,
                                              size_t index,
                                              etx_method_info* out_info);

// The number of variants of a method, whose names etx_variant_name gives
// (format/pte/variant_name.h). A build without dynamic sizes has no variants.
size_t etx_program_variant_count(const etx_program* program, etx_text method);
// The variant at `index`. ETX_OUT_OF_RANGE if there are not that many.
ETX_MUST_USE etx_status etx_program_variant_at(const etx_program* program,
                                               etx_text method, size_t index,
                                               etx_method_info* out_info);

// An input or output as the file describes it, without loading a method.
typedef struct etx_port_info {
  etx_text name;  // "input_0" style names are made up for stock files by the
                  // caller; here size 0
  etx_pte_kind kind;      // of the value
  etx_pte_value value;    // tensor: upper-bound sizes; scalars: the fixed value
  bool is_mutable;        // input that the method writes
  bool varies;            // Int input that may take any value of a symbol
  int32_t mutated_input;  // output: see etx_blob_output; -1 otherwise
  etx_text sizes;         // output of varying sizes: "b, 8"; empty otherwise
} etx_port_info;

// Finds a method's plan. ETX_NOT_FOUND, with a message, if there is none.
ETX_MUST_USE etx_status etx_program_find_plan(const etx_program* program,
                                              etx_text name,
                                              etx_pte_plan* out_plan,
                                              etx_diag* diag);

// An input of a method. ETX_NOT_FOUND: there is no such method;
// ETX_OUT_OF_RANGE: it has fewer inputs.
ETX_MUST_USE etx_status etx_program_input_at(const etx_program* program,
                                             etx_text method, size_t index,
                                             etx_port_info* out_info,
                                             etx_diag* diag);
// The same for an output.
ETX_MUST_USE etx_status etx_program_output_at(const etx_program* program,
                                              etx_text method, size_t index,
                                              etx_port_info* out_info,
                                              etx_diag* diag);

// Where the strides of a constant tensor are kept, by the caller.
typedef struct etx_constant_hold {
  int32_t strides[ETX_MAX_RANK];  // in elements
} etx_constant_hold;

// Reads a constant method: one without inputs and instructions whose first
// output is a constant. A tensor's data and sizes point into the file, its
// strides into `hold`. ETX_NOT_FOUND: there is no such method, or its data is
// in a data file that was not given; ETX_BAD_ARGUMENT, ETX_BAD_STATE: the
// method or its output is not a constant; ETX_UNSUPPORTED: it is a list.
ETX_MUST_USE etx_status etx_program_constant(const etx_program* program,
                                             etx_text name,
                                             etx_value* out_value,
                                             etx_constant_hold* hold,
                                             etx_diag* diag);
// The same for output `index`, for stock files whose constant methods have
// several outputs. ETX_OUT_OF_RANGE: there is no output `index`.
ETX_MUST_USE etx_status etx_program_constant_at(const etx_program* program,
                                                etx_text name, size_t index,
                                                etx_value* out_value,
                                                etx_constant_hold* hold,
                                                etx_diag* diag);

#endif
