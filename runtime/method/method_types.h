// What a loaded method is made of: the structs behind method.h.
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

#ifndef ETX_RUNTIME_METHOD_METHOD_TYPES_H
#define ETX_RUNTIME_METHOD_METHOD_TYPES_H

#include "format/base/build_parts.h"
#include "runtime/method.h"

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
  // Where a list of integers has its items, one of tensors has them too.
  argument = value->as.tensors.items;
  return (etx_value_span){argument, argument + value->as.tensors.count};
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

// The record that a call belongs to.
static inline const etx_method_record* etx_record_of_call(
    const etx_call* call) {
  const void* const record =
      (const uint8_t*)call - offsetof(etx_method_record, call);
  return (const etx_method_record*)record;
}

#endif
