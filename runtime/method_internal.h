// What the files behind method.h share.
//
// A method's values live in one array, as the file has them. A tensor value
// has a second record, etx_method_tensor, that knows where its bytes are:
//
//   home   memory of its own: a constant, a place in scratch or state, or what
//          the caller lent for an input. A view or a blank slot has none
//   root   the tensor whose home it uses at present: itself, or through a view
//          or a move another one
//
// So replacing memory (a new input, another session) changes homes, and one
// walk over the tensors makes all data pointers right again.
//
// The shape phase walks the records in order and gives every tensor its sizes
// and its root. It is done before the run, so a value must mean the same at
// every record that names it: each use and each write sets ETX_MARK_FIXED, and
// a value that would have to change after that sends the method into the
// other mode, where shapes and work of one record follow each other.

#ifndef ETX_RUNTIME_METHOD_INTERNAL_H
#define ETX_RUNTIME_METHOD_INTERNAL_H

#include "format/base/arena.h"
#include "format/base/build_parts.h"
#include "format/ops/op_shapes.h"
#include "runtime/method.h"
#include "runtime/operator_cache.h"

#define ETX_NO_INDEX UINT32_MAX

// Bits of etx_method.marks.
enum {
  ETX_MARK_FIXED = 1,   // used or written in this shape phase; of a tensor
                        // its record says so
  ETX_MARK_VARIES = 2,  // a number that an instruction or the caller changes
};

typedef enum etx_method_home {
  ETX_HOME_NONE,
  ETX_HOME_CONSTANT,
  ETX_HOME_SCRATCH,
  ETX_HOME_STATE,
  ETX_HOME_INPUT,  // borrowed from the caller
} etx_method_home;

typedef struct etx_method_tensor {
  etx_value* value;
  const int32_t* bounds;  // sizes as the file states them
  const uint8_t* dim_order;
  int32_t* sizes;  // of a dynamic tensor; NULL: sizes are `bounds`
  int32_t* strides;
  uint8_t* home;       // first byte at home; NULL until it is known
  size_t home_offset;  // of state: from the start of arena 2
  size_t home_bytes;   // that may be touched at home
  size_t bytes;        // at its present sizes
  size_t root_offset;  // of its data from the root's home
  uint32_t root;       // position in tensors, or ETX_NO_INDEX
  uint32_t base;       // tensor it is a constant view of, or none
  size_t base_offset;  // of that view, in bytes
  uint32_t input;      // position among the inputs, or ETX_NO_INDEX
  uint8_t home_kind;   // etx_method_home
  bool is_rebound;     // target of a view, a move or a returned self
  bool is_fixed;       // ETX_MARK_FIXED, of a tensor
} etx_method_tensor;

typedef enum etx_record_kind {
  ETX_RECORD_KERNEL,
  ETX_RECORD_SCALAR,  // writes a number; reads sizes and numbers only
  ETX_RECORD_VIEW,    // another header: etx_op_makes_view
  ETX_RECORD_MOVE,
  ETX_RECORD_JUMP,
  ETX_RECORD_FREE,
} etx_record_kind;

typedef struct etx_method_record {
  const etx_kernel* kernel;  // NULL for the other kinds
  uint64_t written;          // a bit for each schema argument that is written
  uint32_t slot;             // value in the return slot if it is written, or
                             // ETX_NO_INDEX
  uint32_t from;             // move: source. Jump: condition. Free: value.
                             // Kernel: record before it that calls the same
                             // operator, or ETX_NO_INDEX
  uint32_t to;               // move: target value. Jump: destination, in the
                             // chain, at most its length
  uint32_t instruction;      // position in its chain
  uint8_t kind;              // etx_record_kind
  bool has_fixed_sizes;      // needs to be prepared only once
  bool has_fixed_reads;      // the same but for the sizes of its outputs
  bool is_sized_by_data;     // its kernel gives its outputs their sizes
  bool is_prepared;
  bool writes_state;
  etx_call call;  // of kernels, scalars and views
} etx_method_record;

typedef struct etx_method_step {
  etx_kernel_function run;
  etx_call* call;  // of its record
} etx_method_step;

typedef struct etx_method_input {
  uint32_t value;
  uint32_t tensor;         // position in tensors, or ETX_NO_INDEX
  uint8_t* data;           // the caller's
  int32_t* sizes;          // as last set
  int64_t integer;         // of an Int that varies
  const etx_value* shown;  // new content of a mutable one; NULL: read only
  bool is_set;
  bool is_planned;  // copied at run
  bool varies;
} etx_method_input;

// A place in a block. A block of no bytes may be NULL, and so is what lies in
// it: tensors without elements.
static inline uint8_t* etx_method_byte(uint8_t* block, size_t offset) {
  return block == NULL ? NULL : block + offset;
}

// Values that a call's argument names, from the first to where they end: itself,
// or the items of a list of values, of which some may be NULL.
typedef struct etx_values {
  const etx_value* const* at;
  const etx_value* const* end;
} etx_values;

static inline etx_values etx_argument_values(const etx_call* call,
                                             size_t index) {
  const etx_value* const* argument = &call->arguments[index];
  const etx_value* value = *argument;
  const bool is_list =
      value->kind == ETX_VALUE_INTS || value->kind == ETX_VALUE_TENSORS;
  if (!is_list) return (etx_values){argument, argument + 1};
  // Where a list of integers has its items, one of tensors has them too.
  argument = value->as.tensors.items;
  return (etx_values){argument, argument + value->as.tensors.count};
}

// The tensor record of a value, or NULL if it is none.
static inline etx_method_tensor* etx_method_tensor_of(const etx_method* method,
                                                      const etx_value* value) {
  return value->kind == ETX_VALUE_TENSOR ? &method->tensors[value->position]
                                         : NULL;
}

// The value's position in the file, for messages.
static inline uint64_t etx_method_number(const etx_method* method,
                                         const etx_method_tensor* tensor) {
  return (uint64_t)(tensor->value - method->values);
}

// True if its sizes are not those that the file states for good.
static inline bool etx_method_is_dynamic(const etx_method_tensor* tensor) {
  return ETX_DYNAMIC && tensor->sizes != NULL;
}

// True if shapes and work of its records follow each other.
static inline bool etx_method_prepares_as_it_runs(const etx_method* method) {
  return ETX_DYNAMIC && method->prepares_as_it_runs;
}

// Elements at the sizes that the file states.
static inline size_t etx_method_bound_numel(const etx_method_tensor* tensor) {
  size_t numel = 1;
  for (size_t i = 0; i < tensor->value->as.tensor.rank; ++i) {
    numel *= (size_t)tensor->bounds[i];
  }
  return numel;
}

// Bytes that may be touched from its data on: what is left of its root's home.
size_t etx_method_capacity(const etx_method* method,
                           const etx_method_tensor* tensor);

// method_layout.c: how many of everything, and where in the structures block.

// Clears the method and finds its plan and the blob's description.
ETX_MUST_USE etx_status etx_method_find(etx_method* method,
                                        const etx_program* program,
                                        etx_text name, etx_diag* diag);
// Sets the counts of a method that was found, and how many bytes of scratch and
// state it needs. `operators` is the plan's, here and below: one for a whole
// load.
ETX_MUST_USE etx_status etx_method_count(etx_method* method,
                                         etx_operator_cache* operators,
                                         etx_memory_needed* out_needed,
                                         etx_diag* diag);
// Takes every array from `arena`; false if it is too small.
bool etx_method_lay_out(etx_method* method, etx_arena* arena);
// Start of every arena in the scratch block; SIZE_MAX for the shared one.
// Returns the end of the last. False on overflow. `out_offsets` may be NULL.
bool etx_method_arena_offsets(const etx_program* program,
                              const etx_pte_plan* plan, size_t* out_offsets,
                              size_t* out_end);

// method_unplanned.c: outputs of instructions that the file gives no memory.

typedef struct etx_unplanned_cursor {
  size_t chain, instruction, argument, item;
  size_t examined;  // writes to values without memory so far
} etx_unplanned_cursor;

// The next value that an instruction writes, the file gives no memory, and the
// runtime therefore has to: each once, in order of first write. False at the
// end.
ETX_MUST_USE etx_status etx_method_next_unplanned(
    const etx_program* program, const etx_pte_plan* plan,
    etx_operator_cache* operators, etx_unplanned_cursor* cursor,
    bool* out_found, uint32_t* out_value, etx_diag* diag);

// True if some instruction of the method writes the value.
bool etx_plan_writes(const etx_pte_plan* plan, uint32_t value);

// method_values.c and method_records.c: the file's values as slots, its
// instructions as records.

ETX_MUST_USE etx_status etx_method_decode_values(etx_method* method,
                                                 etx_operator_cache* operators,
                                                 etx_diag* diag);
ETX_MUST_USE etx_status etx_method_decode_records(etx_method* method,
                                                  etx_operator_cache* operators,
                                                  etx_diag* diag);

// method_shapes.c: the shape phase.

// Back to the start of a run: roots and sizes as they are before the first
// record, with the inputs' present sizes.
void etx_method_restart(etx_method* method);
// All data pointers from homes and roots.
void etx_method_point(etx_method* method);
// Sizes, root and prepared kernel of one record; runs scalars and views.
ETX_MUST_USE etx_status etx_method_shape_record(etx_method* method,
                                                etx_method_record* record,
                                                etx_diag* diag);
// The whole phase, and the steps. Leaves `is_prepared` false if the method
// turns out to need the other mode.
ETX_MUST_USE etx_status etx_method_shape_all(etx_method* method,
                                             etx_diag* diag);
// True if the value was used before in this phase and so may not change; the
// method then goes over to the other mode.
bool etx_method_is_too_late(etx_method* method, const etx_value* value);

// method_sizes.c: sizes of what calls write. Without dynamic sizes there is
// nothing to set, and in files that are believed nothing to check.

enum { ETX_METHOD_SIZES = ETX_VERIFIER || ETX_DYNAMIC };

// Sets the sizes of a tensor that is dynamic. Whoever accepted them has seen
// that strides fit.
void etx_method_set_sizes(etx_method_tensor* tensor, const int32_t* sizes);
// Gives it sizes if they are others than it has; refuses those that it has no
// room for, and all but its own to one that is not dynamic.
ETX_MUST_USE etx_status etx_method_resize(etx_method* method,
                                          etx_method_tensor* tensor,
                                          const int32_t* sizes, etx_diag* diag);
// Gives what a kernel writes the sizes that the shape rule finds, or those that
// `like`, whose arguments look the same, gave its result (NULL: none does).
ETX_MUST_USE etx_status etx_method_size_outputs(etx_method* method,
                                                etx_method_record* record,
                                                const etx_method_record* like);
// Gives the result of a view its sizes.
ETX_MUST_USE etx_status etx_method_size_view(etx_method* method,
                                             const etx_method_record* record,
                                             etx_method_tensor* target);
// Gives an output the sizes that its kernel has found: etx_resizer.resize, with
// the method as context. Refuses more elements than the file has room for, and
// other sizes than those of a tensor that is fixed.
ETX_MUST_USE etx_status etx_method_resize_output(void* context,
                                                 const etx_value* output,
                                                 const int32_t* sizes);
// Makes `target` use the memory and the sizes of `source`, which has the same
// type and rank.
ETX_MUST_USE etx_status etx_method_rebind(etx_method* method,
                                          etx_method_tensor* target,
                                          const etx_method_tensor* source,
                                          etx_diag* diag);
// Checks that the new content of each mutable input fits where it is copied to.
ETX_MUST_USE etx_status etx_method_check_shown(const etx_method* method,
                                               etx_diag* diag);
// Checks that a tensor has memory for its present sizes.
ETX_MUST_USE etx_status etx_method_check_memory(const etx_method* method,
                                                const etx_value* value,
                                                etx_diag* diag);

// call_alike.c: calls that repeat one before them, as layers of a model do.

// A record of an earlier call of the same operator that was prepared in this
// phase, and whose arguments but for the result look the same: equal numbers,
// tensors of equal types, sizes and strides. What the shape rule said of it
// holds for `record`. NULL if none is near.
const etx_method_record* etx_method_find_alike(const etx_method* method,
                                               const etx_method_record* record);
// True if the results of two such calls look the same, too, now that they have
// their sizes: what the kernel chose for the one is right for the other.
bool etx_method_has_alike_result(const etx_method_record* a,
                                 const etx_method_record* b);

// call_overlap.c

// Refuses a call that writes where it also reads, unless its operator allows
// exactly that.
ETX_MUST_USE etx_status etx_method_check_overlap(
    const etx_method* method, const etx_method_record* record, etx_diag* diag);

// method_symbols.c: input sizes against symbols.

// One input's sizes (or integer) alone, before it is accepted.
ETX_MUST_USE etx_status etx_method_check_input_sizes(const etx_method* method,
                                                     size_t input,
                                                     const int32_t* sizes,
                                                     etx_diag* diag);
ETX_MUST_USE etx_status etx_method_check_input_integer(const etx_method* method,
                                                       size_t input,
                                                       int64_t integer,
                                                       etx_diag* diag);
// All inputs together: solves the symbols.
ETX_MUST_USE etx_status etx_method_solve_symbols(etx_method* method,
                                                 etx_diag* diag);

// Hands the message that a kernel left, or at least the sentence of `status`,
// on to the caller's diag. Returns `status`.
etx_status etx_method_take_message(etx_method* method, etx_status status,
                                   etx_diag* diag);

// executor_chains.c: a run of a method that prepares as it runs.
ETX_MUST_USE etx_status etx_method_run_chains(etx_method* method,
                                              etx_diag* diag);

// executor.c

// Runs all steps. Gives the position of the one that failed, or their number.
size_t etx_method_run_all(const etx_method* method, etx_status* out_status);
// Calls the kernel of a record between the two of an observer.
etx_status etx_method_run_observed(const etx_run_observer* observer,
                                   etx_call* call);
// Says where a kernel failed, with its message. Returns `status`.
etx_status etx_method_fail(etx_method* method, const etx_method_record* record,
                           etx_status status, etx_diag* diag);
// Appends " (method 'm', instruction 3, 'aten::add.out')" to the
// message, the operator only if the message does not name it.
void etx_method_name_record(const etx_method* method,
                            const etx_method_record* record, etx_diag* diag);

// method_ports.c: the name of an input, or "input_3" written into `hold`.
enum { ETX_PORT_TEXT_BYTES = 24 };
etx_text etx_method_input_name(const etx_method* method, size_t index,
                               char hold[ETX_PORT_TEXT_BYTES]);

#endif
