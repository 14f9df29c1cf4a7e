// The structs of a loaded method, which are private to the runtime.
//
// All values of a method are in one array, in the file's order. A tensor value
// has a second record, etx_method_tensor, with the location of its bytes:
//
//   storage  memory of its own: constant data, bytes in scratch or state, or
//   the
//            caller's memory of an input. A view or an unplanned slot has none
//   root     the tensor whose storage it currently uses: itself, or another one
//            after a view or a move
//
// So new memory (an input, another session) changes storages only, and one loop
// over the tensors updates all data pointers.
//
// The shape phase goes over the records in order and sets sizes and root of
// every tensor. It is complete before the run, so a value must not change
// between two records that use it: each use and each write sets ETX_MARK_USED.
//
// A value is *late* if its number, its sizes or its root is known only during
// the run: because an element of a tensor decides it, or because it changes
// after it was used (a loop counter, the target of a move, a slot that becomes
// two views in turn). A record that reads or writes a late value is prepared
// during the run, just before it runs, unless nothing has changed since it was
// prepared; all others are prepared ahead. late_values.h and late_versions.h
// have the rules.

#ifndef ETX_RUNTIME_METHOD_METHOD_TYPES_H
#define ETX_RUNTIME_METHOD_METHOD_TYPES_H

#include "format/base/block_layout.h"
#include "format/base/build_parts.h"
#include "runtime/method.h"

#define ETX_NO_INDEX UINT32_MAX

// Bits of etx_method.marks.
enum {
  ETX_MARK_USED = 1,    // used or written in this shape phase; tensors have
                        // `is_used` instead
  ETX_MARK_VARIES = 2,  // a number that an instruction or the caller changes
  ETX_MARK_LATE = 4,    // a number that is late in this shape phase
  ETX_MARK_STAYS_LATE = 8,  // late in every shape phase: ETX_MARK_LATE << 1
  ETX_MARK_COMPUTED = 16,   // for number_scopes.c: some record computes it,
  ETX_MARK_CLOSED = 32,     // and a later record may run without that one
  ETX_MARK_CHANGED = 64,  // for state_checks.c, of tensors, too: it is written
                          // at the first write of state or later
};

// Bits of etx_method_tensor.late. Those that stay are set in every shape phase.
enum {
  ETX_LATE_SIZES = 1,
  ETX_LATE_ROOT = 2,
  ETX_STAYS_LATE_SIZES = 4,  // ETX_LATE_SIZES << 2
  ETX_STAYS_LATE_ROOT = 8,
  ETX_LATE_ANY_ROOT = 16,  // its roots are not only its own and those of the
                           // sources of its moves
};

// Bits of etx_method.flow; 0: all records run in order and nothing is late.
enum {
  ETX_FLOW_JUMPS = 1,      // some record is a jump, a move or a release
  ETX_FLOW_LATE = 2,       // some value was late
  ETX_FLOW_ALL_LATE = 4,   // every record is prepared during the run
  ETX_FLOW_RUNS = 8,       // the records run; otherwise the shape phase does
  ETX_FLOW_DEFERRED = 16,  // the present record would change a used value
  ETX_FLOW_CHANGED = 32,   // a used value became late in this shape phase
  ETX_FLOW_SAME = 64,      // late values are as in the last run, so far: see
                           // late_versions.h
  ETX_FLOW_UNLIKE = 128,   // the order of records rules ETX_FLOW_SAME out
};

typedef enum etx_method_storage {
  ETX_METHOD_STORAGE_NONE,
  ETX_METHOD_STORAGE_CONSTANT,
  ETX_METHOD_STORAGE_SCRATCH,
  ETX_METHOD_STORAGE_STATE,
  ETX_METHOD_STORAGE_INPUT,  // borrowed from the caller
  ETX_METHOD_STORAGE_KEPT,   // of the method alone: runtime/size_values.h
} etx_method_storage;

typedef struct etx_method_tensor {
  etx_value* value;
  const int32_t* bounds;  // sizes as the file states them
  const uint8_t* dim_order;
  int32_t* sizes;  // of a dynamic tensor; NULL: sizes are `bounds`
  int32_t* strides;
  uint8_t* storage;       // first byte; NULL until it is known
  size_t storage_offset;  // of state: from the start of arena 2
  size_t storage_bytes;   // that may be accessed
  size_t bytes;           // at its current sizes
  size_t root_offset;     // of its data from the root's storage
  uint32_t root;          // position in tensors, or ETX_NO_INDEX
  uint32_t base;          // tensor it is a constant view of, or none. With
                          // storage of its own: the last move to it, or none
  size_t base_offset;     // of that view, in bytes
  uint32_t input;         // position among the inputs, or ETX_NO_INDEX
  uint8_t storage_kind;   // etx_method_storage
  bool is_rebound;        // target of a view, a move or a returned self
  bool is_used;           // used or written in this shape phase
  uint8_t late;           // bits: see ETX_LATE_SIZES
} etx_method_tensor;

// What a late value was when a record last saw it: see late_versions.h.
typedef struct etx_late_version {
  uint64_t changed;  // when that changed
  int64_t content;   // the bits of a number, or the offset in the root
  uint32_t root;
  uint32_t first_size;  // position in late_sizes
} etx_late_version;

typedef enum etx_record_kind {
  ETX_RECORD_KERNEL,
  ETX_RECORD_SCALAR,  // writes a number; reads sizes and numbers only
  ETX_RECORD_VIEW,    // see etx_op_makes_view
  ETX_RECORD_MOVE,
  ETX_RECORD_JUMP,
  ETX_RECORD_FREE,
} etx_record_kind;

// What is left to do for a record when it runs.
typedef enum etx_record_late {
  ETX_RECORD_AHEAD,    // nothing: it is prepared
  ETX_RECORD_RESIZES,  // it is prepared; its kernel sets sizes of outputs
  ETX_RECORD_ROOTS,    // it is prepared; memory of arguments is late
  ETX_RECORD_LATE,     // all
} etx_record_late;

typedef struct etx_method_record {
  const etx_kernel* kernel;  // NULL for the other kinds
  uint64_t written;          // a bit for each schema argument that is written
  uint32_t slot;             // value in the return slot if it is written, or
                             // ETX_NO_INDEX. Move: the move to the same target
                             // before it, or ETX_NO_INDEX
  uint32_t from;             // move: source. Jump: condition. Free: value.
                             // Kernel: record before it that calls the same
                             // operator, or ETX_NO_INDEX
  uint32_t to;               // move: target value. Jump: destination, in the
                             // chain, at most its length. Scalar: see
                             // number_scopes.c. Kernel: see state_checks.c
  uint32_t instruction;      // position in its chain
  uint8_t kind;              // etx_record_kind
  bool has_fixed_sizes;      // needs to be prepared only once
  bool has_fixed_reads;      // the same, if sizes of outputs are ignored
  bool is_sized_by_data;     // its kernel sets the sizes of its outputs
  bool is_prepared;
  bool is_idle;   // its kernel would do nothing, so it is no step
  bool is_apart;  // its outputs share no byte with other arguments at any sizes
  bool writes_state;
  bool writes_elements;  // some result has elements at the present sizes
  bool runs_once;        // for each change of sizes: see load/size_values.c
  uint8_t late;          // etx_record_late, of this shape phase
  etx_call call;         // of kernels, scalars and views. Jumps and moves use
                         // `prepared`: see flow_steps.h
} etx_method_record;

// Which records use a block of scratch, and when: load/size_values.c.
typedef enum etx_block_use {
  ETX_BLOCK_IN_EACH_CALL,
  ETX_BLOCK_ONCE,  // only records that run once for each change of sizes
  ETX_BLOCK_KEPT   // its values last until sizes change: it is in `kept`
} etx_block_use;

// The memory that a tensor has in scratch, or had in the file's plan.
typedef struct etx_scratch_member {
  size_t delta;    // bytes from the start of its block
  size_t bytes;    // at the upper bounds
  uint32_t block;  // position in scratch_blocks, or ETX_NO_INDEX
  uint8_t use;     // etx_block_use, the same for all members of a block
} etx_scratch_member;

// The tensors of a block that a move of it touches: starts of four parts of
// scratch_listed, which lie one behind the other.
typedef struct etx_scratch_list {
  uint8_t* at;       // the present address of the block
  uint32_t sized;    // members that decide the bytes of the block
  uint32_t own;      // members that use their own memory
  uint32_t members;  // all other members: they use that of another tensor
  uint32_t pointed;  // tensors that use the memory of a member
  uint32_t end;
  uint8_t use;  // etx_block_use
} etx_scratch_list;

// The sizes of a dynamic tensor in a size program.
typedef struct etx_size_tensor {
  size_t most;         // elements that it, and all that are alike, have memory
                       // for
  size_t numel;        // elements now; of the first of equal tensors only
  uint32_t first_dim;  // position in the program's dims
  uint32_t alike;      // first tensor that has the same sizes for all values of
                       // the symbols; ETX_NO_INDEX: no record uses it
  uint32_t element_bytes;
  // The next tensor that a phase looks at, or ETX_NO_INDEX: its sizes vary, or
  // those of the input that it is a view of. The list has four parts:
  //   first_sized        the first of equal tensors, with memory of their own
  //   first_view         the first of equal tensors, in the memory of others
  //   first_alike        others, in the memory of others
  //   first_alike_block  others, with memory of their own
  // So sizes are computed before they are needed, and the memory of views is
  // checked in one pass over the two parts in the middle.
  uint32_t next;
} etx_size_tensor;

typedef struct etx_size_record {
  uint32_t leader;   // first record whose prepared call is valid for this one
  bool may_be_idle;  // for some sizes it has nothing to do
  bool has_fixed_numbers;  // no number that it reads varies
  bool is_fixed;           // no size that it reads or writes varies, either
  bool has_late_roots;     // the memory of an argument is late
} etx_size_record;

typedef struct etx_method_step {
  etx_kernel_function run;
  etx_call* call;  // of its record
} etx_method_step;

// How records that run once for each change of sizes are run. Pointers, so that
// an image that never calls etx_method_keep_size_values does not link them.
typedef struct etx_once_functions {
  // Ends a shape phase: moves their steps in front of `steps`.
  void (*split)(etx_method* method);
  // Begins a run: runs them if sizes have changed.
  etx_status (*run)(etx_method* method, etx_diag* diag);
} etx_once_functions;

typedef struct etx_method_input {
  uint32_t value;
  uint32_t tensor;  // position in tensors, or ETX_NO_INDEX
  uint8_t* data;    // the caller's
  int32_t* sizes;   // as last set
  int64_t integer;  // of an Int that varies
  const etx_value*
      new_content;  // new content of a mutable one; NULL: read only
  bool is_set;
  bool is_planned;  // copied at run
  bool varies;
} etx_method_input;

// An address in a block. An empty block may be NULL, and then the address of a
// tensor without elements is NULL, too.
static inline uint8_t* etx_method_byte(uint8_t* block, size_t offset) {
  return block == NULL ? NULL : block + offset;
}

// The values of one argument: the argument itself, or the items of a list of
// values, which may be NULL.
typedef struct etx_value_span {
  const etx_value* const* at;
  const etx_value* const* end;
} etx_value_span;

static inline etx_value_span etx_call_argument_values(const etx_call* call,
                                                      size_t index) {
  const etx_value* const* argument = &call->arguments[index];
  const etx_value* value = *argument;
  const bool is_list =
      value->kind == ETX_VALUE_INTS || value->kind == ETX_VALUE_TENSORS;
  if (!is_list) return (etx_value_span){argument, argument + 1};
  // `integers` and `tensors` have the same layout.
  argument = value->as.tensors.items;
  return (etx_value_span){argument, argument + value->as.tensors.count};
}

// Goes over the values of some arguments of a call: a bit for each in `left`.
typedef struct etx_value_cursor {
  const etx_call* call;
  uint64_t left;        // arguments behind the present one
  etx_value_span span;  // the rest of the present one
} etx_value_cursor;

static inline etx_value_cursor etx_call_values_of(const etx_call* call,
                                                  uint64_t arguments) {
  return (etx_value_cursor){call, arguments, {NULL, NULL}};
}

// The next value that is there (items of lists may be none); NULL: it was the
// last.
static inline const etx_value* etx_value_next(etx_value_cursor* cursor) {
  for (;;) {
    while (cursor->span.at != cursor->span.end) {
      const etx_value* const value = *cursor->span.at++;
      if (value != NULL) return value;
    }
    if (cursor->left == 0) return NULL;
    cursor->span = etx_call_argument_values(
        cursor->call, (size_t)__builtin_ctzll(cursor->left));
    cursor->left &= cursor->left - 1;
  }
}

// Goes over the values that a record writes, but for the one in its slot.
static inline etx_value_cursor etx_record_written_values(
    const etx_method_record* record) {
  return etx_call_values_of(&record->call, record->written);
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

// True if the tensor has dynamic sizes.
static inline bool etx_method_is_dynamic(const etx_method_tensor* tensor) {
  return ETX_DYNAMIC && tensor->sizes != NULL;
}

// True if the records may run in another order than the file's, or if some are
// prepared during the run.
static inline bool etx_method_has_flow(const etx_method* method) {
  return ETX_CONTROL_FLOW && method->flow != 0;
}

// True while records are prepared during the run.
static inline bool etx_method_runs(const etx_method* method) {
  return ETX_CONTROL_FLOW && (method->flow & ETX_FLOW_RUNS) != 0;
}

// Number of elements at the sizes in the file.
static inline size_t etx_method_bound_numel(const etx_method_tensor* tensor) {
  size_t numel = 1;
  for (size_t i = 0; i < tensor->value->as.tensor.rank; ++i) {
    numel *= (size_t)tensor->bounds[i];
  }
  return numel;
}

// The record that a call belongs to.
static inline const etx_method_record* etx_record_of_call(
    const etx_call* call) {
  const void* const record =
      (const uint8_t*)call - offsetof(etx_method_record, call);
  return (const etx_method_record*)record;
}

#endif
