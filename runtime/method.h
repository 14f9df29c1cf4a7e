// A method, loaded into memory that the caller gave, and how it is run.
//
//   structures  values, instruction records, sizes of dynamic tensors
//   scratch     arena 1 (and private arenas of stock files)
//   state       arena 2, shared: see etx_planned_memory
//   temporary   what kernels need while they run
//
// etx_method_needed returns the exact sizes; with one byte less
// etx_method_init returns ETX_OUT_OF_MEMORY. Methods of one program may share
// scratch and temporary blocks if they never run at the same time.
//
// A method with dynamic sizes needs less scratch and temporary memory at
// smaller sizes: see etx_method_needed_at. It may be loaded with less of both,
// even with none; a run whose sizes need more is refused.
//
// Loading never changes state. A refused input changes nothing. A run that
// fails after it began to write state marks the state torn (the mark lies in
// the state's memory): further runs of any method on it are refused until a
// full reset or a restore.
//
// A chain is one of the lists of instructions in the file's execution plan;
// nearly every method has one.
//
// Threads  one method, one thread; a second one gets ETX_BAD_STATE.

#ifndef ETX_RUNTIME_METHOD_H
#define ETX_RUNTIME_METHOD_H

#include "runtime/program.h"

enum {
  // Alignment in bytes of every block given to the runtime, at least. Sessions
  // of shared_memory are aligned to a line of the cache.
  ETX_MEMORY_ALIGNMENT = 16,
  // Bytes of stack that are enough for a thread that loads or runs methods of
  // any program, in a build that is optimised. On boards less is enough:
  // examples/boards computes it.
  ETX_THREAD_STACK_BYTES = 49152
};

// Bytes of the blocks that a method needs.
typedef struct etx_memory_needed {
  size_t structure_bytes;  // the method's own
  size_t scratch_bytes;    // arena 1, and private arenas of stock files
  size_t state_bytes;      // of the shared arena 2; 0 if the method has none
  size_t temporary_bytes;  // of its most demanding kernel at the largest sizes
} etx_memory_needed;

// The shared state of one session, as a method sees it.
typedef struct etx_planned_memory {
  uint8_t* data;   // arena 2, aligned to 16
  size_t size;     // bytes
  uint32_t* torn;  // non-zero: half-written; lies in the state's memory
} etx_planned_memory;

// The blocks that a method is loaded into: at least the bytes that it needs.
typedef struct etx_method_memory {
  etx_bytes_mut structures;         // for this method alone
  etx_bytes_mut scratch;            // shared by methods that take turns
  etx_bytes_mut temporary;          // the same
  const etx_planned_memory* state;  // NULL only if state_bytes is 0
} etx_method_memory;

struct etx_method_record;    // one decoded instruction
struct etx_method_step;      // the part of a record that the run loop reads
struct etx_method_tensor;    // address and size of a tensor's bytes
struct etx_method_input;     // the value that the caller set for one input
struct etx_layout_block;     // bytes of scratch that keep their place together
struct etx_scratch_member;   // a tensor in such a block
struct etx_scratch_list;     // the tensors that a move of a block touches
struct etx_method_regions;   // parts that may run side by side (regions.h)
struct etx_method_variants;  // copies for some of the sizes (variants.h)
struct etx_once_functions;   // of values that are kept (size_values.h)
struct etx_size_expression;  // a size as a function of symbols
struct etx_size_tensor;      // the sizes of a tensor as such functions
struct etx_size_record;      // how a record is prepared when sizes change

// Sizes of all tensors as functions of the symbols: what a change of sizes
// computes instead of calling shape functions (runtime/shapes/size_program.h).
typedef struct etx_size_program {
  struct etx_size_expression* expressions;  // symbols first
  int64_t* values;  // of the expressions, at the present sizes
  int64_t* dims;    // of dynamic tensors: numbers, or handles of expressions
  struct etx_size_tensor* tensors;  // by tensor
  struct etx_size_record* records;  // by record
  uint8_t* numbers;         // by value: the expression of a number that varies
  size_t expression_room;   // of expressions and values; 0: no program
  size_t dim_count;         // of dims
  size_t tensor_count;      // of tensors
  size_t record_count;      // of records
  size_t number_count;      // of numbers
  size_t expression_count;  // that are in use
  uint32_t first_sized;  // in the list of tensors: see etx_size_tensor, `next`
  uint32_t first_view;   // of the views in that list
  uint32_t first_alike;  // of tensors whose sizes are those of another one
  uint32_t first_alike_block;  // of those among them with bytes of their own
  uint8_t flow;                // bits of the method's flow when it was built
  bool has_new_steps;          // other records run than after the phase before
  bool has_new_functions;      // or other functions of their kernels
  bool is_tried;               // building was tried
  bool is_used;                // building succeeded
  bool is_attached;  // equal tensors have the sizes of the first of them
} etx_size_program;

// Called before and after each kernel, for profiling. The call has the operator
// and the arguments, at their current sizes.
typedef struct etx_run_observer {
  // Before the kernel runs; `instruction` is its position in its chain.
  void (*before)(void* context, size_t instruction, const etx_call* call);
  // After it, whether it succeeded or not.
  void (*after)(void* context, size_t instruction, const etx_call* call);
  void* context;  // handed to both unchanged
} etx_run_observer;

// Fields are private to runtime/. Pointers lead into the structures block. What
// is read most comes first: it is reached with shorter instructions.
typedef struct etx_method etx_method;
struct etx_method {
  const etx_program* program;         // that it was loaded from
  etx_value* values;                  // all of them, in the file's order
  struct etx_method_tensor* tensors;  // those that are tensors
  size_t tensor_count;                // of tensors
  struct etx_method_input* inputs;    // in order
  size_t input_count;                 // of inputs
  struct etx_method_record* records;  // decoded instructions of all chains
  size_t record_count;                // of records
  struct etx_method_step* steps;      // records that run, in order
  size_t step_count;                  // of steps
  size_t first_state_step;     // first step that writes state, or SIZE_MAX
  uint32_t first_check;        // record: see state_checks.h
  bool has_new_steps;          // since first_check was set
  bool is_prepared;            // steps are ready for the present input sizes
  bool prepares_during_run;    // some records are prepared during the run
  bool inputs_moved;           // an input has a new address since the last run
  uint8_t flow;                // bits: see method_types.h
  uint32_t busy;               // 1 while a thread is inside; atomic
  uint8_t* marks;              // by value: see method_types.h
  etx_diag* kernel_diag;       // kernels write their messages here
  const etx_value** pointers;  // list items and arguments of calls
  int32_t* integers;           // sizes and strides of tensors
  size_t* arena_offsets;       // starts of arenas in scratch, by memory id
  size_t pointer_count;        // of pointers
  size_t integer_count;        // of integers
  size_t arena_count;          // of arena_offsets
  size_t blob_index;           // of the blob's description; SIZE_MAX: none
  size_t value_count;          // of values
  const etx_value** outputs;   // in order
  size_t output_count;         // of outputs
  size_t chain_count;          // of chains
  struct etx_late_version* versions;  // by value: see late_versions.h
  uint64_t* prepared_at;     // by record: late_clock when it was prepared
  int32_t* late_sizes;       // sizes of the tensors among `versions`
  size_t version_count;      // of versions; 0: no value can be late
  size_t prepared_count;     // of prepared_at
  size_t late_size_count;    // of late_sizes
  uint64_t late_clock;       // advances when a late value changes
  int64_t* symbols;          // by position in the blob, solved from input sizes
  size_t symbol_count;       // of symbols
  etx_bytes_mut scratch;     // the caller's block
  etx_bytes_mut temporary;   // the caller's block
  etx_planned_memory state;  // data NULL: the method has none
  etx_random_stream* random;         // the random numbers of its operators
  const etx_run_observer* observer;  // NULL: none
  // Runs the steps from `first` to `end`, which is the number of steps or
  // first_state_step; returns the position of the one that failed, or `end`. A
  // pointer, so that an image that never calls etx_method_observe does not link
  // the loop with an observer.
  size_t (*run_range)(const etx_method* method, size_t first, size_t end,
                      etx_status* out_status);
  etx_pte_plan plan;                           // in the file
  struct etx_scratch_member* scratch_members;  // by tensor
  struct etx_layout_block* scratch_blocks;     // those of each layout in turn
  size_t scratch_member_count;  // of scratch_members; 0: no compaction
  size_t scratch_block_count;   // blocks of one layout
  size_t scratch_layout_count;  // the plan's, and those of the file's places
  size_t scratch_block_room;    // of scratch_blocks
  size_t scratch_alignment;     // of all blocks, in bytes
  size_t scratch_used;          // bytes at the present sizes
  etx_size_program sizes;       // if the method has dynamic sizes
  uint64_t phases;              // see etx_method_phase_count
  uint64_t address_updates;     // see etx_method_address_count
  bool
      is_at_bounds;  // loading: sizes are upper bounds, which no call need have
  bool failed_check;       // the model excludes these sizes
  size_t scratch_given;    // `scratch` and `temporary` state the bytes at the
  size_t temporary_given;  // upper bounds; these are what the caller gave
  struct etx_method_regions*
      regions;  // set if run_range is the loop with regions
  struct etx_method_variants* variants;  // in use (variants.h); NULL: none
  // Returns the variant that runs at the present sizes, or the method itself. A
  // pointer, so that an image without variants does not link it. NULL: there
  // are no variants. `runs`: count the choice as a run.
  etx_method* (*choose)(etx_method* method, bool runs);
  // Set if values that depend on sizes alone are kept (size_values.h).
  const struct etx_once_functions* once;
  etx_bytes_mut kept;  // their memory
  size_t once_count;   // steps in front of `steps` that compute them
  bool once_is_due;    // sizes have changed since these ran
  struct etx_blob_symbol* symbol_bounds;   // by symbol, as the blob has them
  struct etx_blob_input_dim* input_dims;   // rows of the blob
  size_t input_dim_count;                  // of input_dims
  struct etx_scratch_list* scratch_lists;  // by block
  uint32_t* scratch_listed;                // the tensors of all lists
  size_t scratch_list_count;               // of scratch_lists
  size_t scratch_listed_count;             // of scratch_listed
  bool has_scratch_lists;                  // they are valid
};

// Exact bytes of every block. Needs no memory. Of the kernel table it reads
// only the functions that state temporary bytes. Does not check whether the
// method can run. ETX_NOT_FOUND: there is no such method; ETX_OUT_OF_RANGE:
// more bytes than this machine can address.
ETX_MUST_USE etx_status etx_method_needed(const etx_program* program,
                                          etx_text name,
                                          etx_memory_needed* out_needed,
                                          etx_diag* diag);

// Called once for each operator that the kernel table lacks, so that a user
// sees all of them; etx_method_init reports the first in its diag.
typedef struct etx_missing_sink {
  // Receives the operator and the first instruction that calls it. The texts
  // are borrowed from the file.
  void (*missing)(void* context, etx_text name, etx_text overload,
                  size_t instruction);
  void* context;  // handed to both functions unchanged
  // Receives what else a method needs and a selected build does not have
  // (kernel.h, etx_cells): a type in calls of an operator, or, with empty
  // texts, a feature of the build such as "control_flow". May be NULL.
  void (*cell)(void* context, etx_text name, etx_text overload,
               const char* missing);
} etx_missing_sink;

// For etx_cells.check: refuses a method that needs operators, types of their
// calls or features that a selected build does not have. All of them go to
// `missing`, which may be NULL; the message names the first ones and what to
// do. ETX_MISSING_OPERATOR: operators are among them; ETX_UNSUPPORTED: only
// types and features. A build without messages lists nothing. `operators` are
// those of the method's plan.
ETX_MUST_USE etx_status etx_missing_cells_check(
    const etx_method* method, struct etx_operator_cache* operators,
    const etx_missing_sink* missing, etx_diag* diag);

// Loads the method. Refuses what this build cannot run: missing operators (all
// of them go to `missing`, which may be NULL), delegates, arguments of a wrong
// kind, outputs that lie in constants. Prepares a method of fixed sizes.
// `program` must stay where it is as long as the method lives, and so must the
// blocks; `memory`, what its `state` points to, and `name` are copied. After a
// failure, etx_method_init may be called again with the same memory. The
// scratch of a stock file is zeroed and gets its initial data; other scratch is
// left as it is. ETX_NOT_FOUND: no such method; ETX_MISSING_OPERATOR,
// ETX_UNSUPPORTED: see above; ETX_OUT_OF_MEMORY, ETX_BAD_ARGUMENT: a block is
// too small, not aligned, or missing.
ETX_MUST_USE etx_status etx_method_init(etx_method* method,
                                        const etx_program* program,
                                        etx_text name,
                                        const etx_method_memory* memory,
                                        const etx_missing_sink* missing,
                                        etx_diag* diag);

// Position of an input by name; ETX_NOT_FOUND if there is none. A stock file's
// are called input_0 and so on.
ETX_MUST_USE etx_status etx_method_find_input(const etx_method* method,
                                              etx_text name, size_t* out_index);

// Position of an output by name; ETX_NOT_FOUND if there is none. A stock file's
// are called output_0 and so on.
ETX_MUST_USE etx_status etx_method_find_output(const etx_method* method,
                                               etx_text name,
                                               size_t* out_index);

// Borrows `value`'s data until it is replaced; sizes are copied. Checks type,
// rank, bounds and strides; a mutable input is written by the next run, so its
// data must be writable. Inputs persist over runs. The data must not lie where
// the run writes: in the method's own scratch, in state that it changes (which
// etx_shared_memory_find shows), or in another mutable input.
// ETX_BAD_ARGUMENT: type, rank, strides, alignment or a fixed size are wrong;
// ETX_OUT_OF_RANGE: a size that varies is out of bounds, or there is no such
// input.
ETX_MUST_USE etx_status etx_method_set_input(etx_method* method, size_t index,
                                             const etx_tensor* value,
                                             etx_diag* diag);

// The same for any input: a tensor goes to etx_method_set_input. A scalar or
// None must equal what was fixed when exported, unless the input varies.
// Statuses as above.
ETX_MUST_USE etx_status etx_method_set_value(etx_method* method, size_t index,
                                             const etx_value* value,
                                             etx_diag* diag);

// Runs the method on its inputs: sizes first if they changed, then the
// instructions. ETX_BAD_STATE if an input was never set, ETX_TORN_STATE if the
// state is. A failure names method, instruction and operator.
ETX_MUST_USE etx_status etx_method_run(etx_method* method, etx_diag* diag);

// The output after a run; the method owns it. How long a tensor's data stays:
// see etx_blob_lifetime. ETX_OUT_OF_RANGE: there is no such output.
ETX_MUST_USE etx_status etx_method_output(const etx_method* method,
                                          size_t index,
                                          const etx_value** out_value);

// Restarts the sequence of random numbers that rand, randn, native_dropout and
// the like draw. Equal seeds give equal sequences. Until this is called, the
// seed is 0. The sequence is not part of the state: it is neither saved nor
// forked.
void etx_method_seed(etx_method* method, uint64_t seed);

// Sets the observer of the following runs, which is borrowed; NULL removes it.
// Runs without one are as fast as before.
void etx_method_observe(etx_method* method, const etx_run_observer* observer);

// Switches to another session's state, whose description is copied: patches
// pointers, copies nothing. ETX_OUT_OF_MEMORY, ETX_BAD_ARGUMENT: as for
// etx_method_init; ETX_BAD_STATE: the method is running.
ETX_MUST_USE etx_status etx_method_bind(etx_method* method,
                                        const etx_planned_memory* state,
                                        etx_diag* diag);

// Forgets what the method has borrowed: all inputs count as never set, except
// those with a fixed value, there is no observer, and regions are not used any
// more (regions.h). For a caller whose inputs
// end before the method does. ETX_BAD_STATE: the method is running.
ETX_MUST_USE etx_status etx_method_forget(etx_method* method, etx_diag* diag);

// The size of one symbol of a method, such as a length or a batch.
typedef struct etx_named_size {
  etx_text name;  // of the symbol
  int64_t size;   // its value
} etx_named_size;

// Exact bytes of every block at given sizes of the symbols that etx files name;
// symbols that are not given count at their upper bounds. A run with inputs of
// these sizes succeeds with these bytes of scratch and temporary memory, and is
// refused with one byte less. Sizes and memory that only the run decides count
// at their bounds, and a method of a stock file needs the same bytes at all
// sizes. Forgets what the method has borrowed, as etx_method_forget does, so
// all inputs must be set again. ETX_NOT_FOUND: no such symbol;
// ETX_OUT_OF_RANGE: a size out of bounds; ETX_BAD_STATE: the method is running.
ETX_MUST_USE etx_status etx_method_needed_at(etx_method* method,
                                             const etx_named_size* sizes,
                                             size_t count,
                                             etx_memory_needed* out_needed,
                                             etx_diag* diag);

// Replaces the blocks of scratch and temporary memory, whose old contents,
// outputs among them, are lost. Regions (regions.h) are not used any more.
// ETX_OUT_OF_MEMORY, ETX_BAD_ARGUMENT: as for etx_method_init; ETX_BAD_STATE:
// the method is running.
ETX_MUST_USE etx_status etx_method_set_memory(etx_method* method,
                                              etx_bytes_mut scratch,
                                              etx_bytes_mut temporary,
                                              etx_diag* diag);

// The number of times that the sizes of all tensors were computed, when the
// method was loaded and since: once after each change of an input's sizes, and
// for each etx_method_needed_at. Calls of unchanged sizes compute none. A
// method of fixed sizes computes them once. Neither this nor the next number is
// counted in a build without ETX_DYNAMIC.
static inline uint64_t etx_method_phase_count(const etx_method* method) {
  return method->phases;
}

// The number of times that the addresses of the method's values were computed:
// when it was loaded or given other memory, when the data of an input has
// another address, and after changes of sizes. Runs whose inputs are as in the
// run before compute none.
static inline uint64_t etx_method_address_count(const etx_method* method) {
  return method->address_updates;
}

// Makes the method as it was after loading, but for its session, whose state is
// not changed: forgets what it has borrowed, restarts random numbers with seed
// 0, and gives the private arenas of a stock file their initial data. Outputs
// are not valid any more. ETX_BAD_STATE: the method is running.
ETX_MUST_USE etx_status etx_method_reset(etx_method* method, etx_diag* diag);

// Checks the input sizes against bounds and symbols, and computes the sizes of
// all tensors from them, without running: what the first run after a change of
// sizes does. Useful to take the shape phase out of a latency measurement.
ETX_MUST_USE etx_status etx_method_prepare(etx_method* method, etx_diag* diag);

#endif
