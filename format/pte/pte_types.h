// The content of a .pte file as plain C structs: the same for reading (views
// into the file's bytes) and for writing (arrays that the writer's caller
// owns).
//
// The terms are those of the file format: a plan is one method's execution
// plan, a value is an EValue, a chain holds instructions. See
// docs/pte-format.md for the bytes.

#ifndef ETX_FORMAT_PTE_PTE_TYPES_H
#define ETX_FORMAT_PTE_PTE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/span.h"
#include "format/tensor/dtype.h"

// Codes of the KernelTypes union.
typedef enum etx_pte_kind {
  ETX_PTE_NULL = 1,                  // None
  ETX_PTE_INT = 2,                   // 64 bits, signed
  ETX_PTE_BOOL = 3,                  // true or false
  ETX_PTE_DOUBLE = 4,                // a float of Python
  ETX_PTE_TENSOR = 5,                // planned, stored, or the caller's
  ETX_PTE_STRING = 6,                // UTF-8
  ETX_PTE_INT_LIST = 7,              // items are value indices of Ints
  ETX_PTE_DOUBLE_LIST = 8,           // inline
  ETX_PTE_BOOL_LIST = 9,             // inline
  ETX_PTE_TENSOR_LIST = 10,          // items are value indices of Tensors
  ETX_PTE_OPTIONAL_TENSOR_LIST = 11  // the same, -1 is None
} etx_pte_kind;

// Whether a tensor's sizes may change. Codes of the schema.
typedef enum etx_pte_dynamism {
  ETX_PTE_STATIC = 0,           // the sizes are what the file states
  ETX_PTE_DYNAMIC_BOUND = 1,    // they are at most what the file states
  ETX_PTE_DYNAMIC_UNBOUND = 2,  // nothing is known of them
} etx_pte_dynamism;

// Where a tensor's data is stored. Codes of the schema.
typedef enum etx_pte_location {
  ETX_PTE_IN_SEGMENT = 0,  // in the program's own file
  ETX_PTE_EXTERNAL = 1,    // in a .ptd file, by fully qualified name
} etx_pte_location;

// A tensor as a file describes it. Arrays and texts are borrowed.
typedef struct etx_pte_tensor {
  etx_dtype dtype;             // of the elements
  uint8_t rank;                // at most ETX_MAX_RANK
  const int32_t* sizes;        // rank entries; upper bounds if dynamic
  const uint8_t* dim_order;    // rank entries, a permutation
  etx_pte_dynamism dynamism;   // whether sizes may change
  int32_t storage_offset;      // 0: others are refused
  uint32_t data_buffer_index;  // 0: no data
  bool has_allocation;         // memory_id and memory_offset are meaningful
  uint32_t memory_id;          // 1-based
  uint64_t memory_offset;      // bytes
  etx_pte_location location;   // of its data, if it is stored
  etx_text name;        // fully qualified name; size 0 if the file gives none
  int8_t device_type;   // the device of the tensor; 0: the CPU
  int8_t device_index;  // which of several devices of that type
} etx_pte_tensor;

// One value of a method. Arrays and texts are borrowed.
typedef struct etx_pte_value {
  etx_pte_kind kind;  // which member of `as` holds the value
  // The value, by kind.
  union {
    int64_t integer;        // of an INT
    bool boolean;           // of a BOOL
    double real;            // of a DOUBLE
    etx_text string;        // of a STRING
    etx_pte_tensor tensor;  // of a TENSOR
    // For an INT_LIST.
    struct {
      const int64_t* items;  // indices of values of kind INT
      size_t count;          // of items
    } integers;
    // For a DOUBLE_LIST.
    struct {
      const double* items;  // the numbers themselves
      size_t count;         // of items
    } reals;
    // For a BOOL_LIST.
    struct {
      const uint8_t* items;  // 0 or 1 each
      size_t count;          // of items
    } booleans;
    // For a TENSOR_LIST or an OPTIONAL_TENSOR_LIST.
    struct {
      const int32_t* items;  // indices of values of kind TENSOR, or -1
      size_t count;          // of items
    } tensors;
    // The same fields for any list or a STRING, whatever its items are.
    struct {
      const void* items;  // of the type that the kind has
      size_t count;       // of items, or bytes of the text
    } list;
  } as;
} etx_pte_value;

// True for lists whose items are values of the method.
static inline bool etx_pte_lists_values(etx_pte_kind kind) {
  return kind == ETX_PTE_INT_LIST || kind >= ETX_PTE_TENSOR_LIST;
}

// Item of such a list: the index of a value, or -1.
static inline int64_t etx_pte_item_at(const etx_pte_value* list, size_t index) {
  return list->kind == ETX_PTE_INT_LIST ? list->as.integers.items[index]
                                        : list->as.tensors.items[index];
}

// What an instruction does. Codes of the InstructionArguments union.
typedef enum etx_pte_instruction_kind {
  ETX_PTE_KERNEL_CALL = 1,      // calls an operator
  ETX_PTE_DELEGATE_CALL = 2,    // calls a backend
  ETX_PTE_MOVE_CALL = 3,        // gives a value another one's content
  ETX_PTE_JUMP_FALSE_CALL = 4,  // jumps if a condition is false
  ETX_PTE_FREE_CALL = 5,        // ends a value's memory
} etx_pte_instruction_kind;

// One instruction. Its arguments are borrowed.
typedef struct etx_pte_instruction {
  etx_pte_instruction_kind kind;  // 0 if it has no content, which is refused
  // KernelCall: index in operators. DelegateCall: index in delegates.
  // MoveCall: value moved from. JumpFalseCall: condition value. FreeCall:
  // value.
  int32_t index;
  // MoveCall: value moved to. JumpFalseCall: destination instruction, absolute
  // in the chain; at or past the end leaves the chain.
  int32_t target;
  // KernelCall and DelegateCall: value indices.
  const int32_t* arguments;
  size_t argument_count;  // of arguments; 0 for the other kinds
} etx_pte_instruction;

// An operator that a method calls, by name. Texts are borrowed.
typedef struct etx_pte_operator {
  etx_text name;      // "aten::add"
  etx_text overload;  // "out", or empty
} etx_pte_operator;

// A part of a method that a backend runs.
typedef struct etx_pte_delegate {
  etx_text id;          // backend
  bool inline_data;     // data in the FlatBuffer, else in a segment
  uint32_t data_index;  // index there
} etx_pte_delegate;

// An option that is handed to a delegate's backend.
typedef struct etx_pte_compile_spec {
  etx_text key;     // its name
  etx_bytes value;  // whose meaning the backend knows
} etx_pte_compile_spec;

// Delegate, for writing: its data is in the FlatBuffer.
typedef struct etx_pte_delegate_content {
  etx_text id;                        // backend
  uint32_t data_index;                // in etx_pte_content.delegate_data
  const etx_pte_compile_spec* specs;  // for the backend
  size_t spec_count;                  // of specs
} etx_pte_delegate_content;

// An arena that does not live in the CPU's memory.
typedef struct etx_pte_buffer_device {
  int32_t buffer;       // index in the buffer sizes, at least 1
  int8_t device_type;   // the device of the tensor; 0: the CPU
  int8_t device_index;  // which of several devices of that type
} etx_pte_buffer_device;

// Instructions that run one after another, for writing.
typedef struct etx_pte_chain {
  const etx_pte_instruction* instructions;  // in order
  size_t instruction_count;                 // of instructions
} etx_pte_chain;

// One method, for writing. For reading see pte_program.h.
typedef struct etx_pte_plan_content {
  etx_text name;                      // of the method
  etx_text input_tree;                // pytree text of inputs, may be empty
  etx_text output_tree;               // the same of outputs
  const etx_pte_value* values;        // which all indices name
  size_t value_count;                 // of values
  const int32_t* inputs;              // value indices
  size_t input_count;                 // of inputs
  const int32_t* outputs;             // value indices
  size_t output_count;                // of outputs
  const etx_pte_chain* chains;        // at least one
  size_t chain_count;                 // of chains
  const etx_pte_operator* operators;  // which instructions name
  size_t operator_count;              // of operators
  // Bytes of each arena: entry 0 is a dummy, entry n is memory_id n.
  const int64_t* buffer_sizes;
  size_t buffer_size_count;  // of buffer_sizes, the dummy among them
  // Delegates, which the format has but etx never writes itself.
  const etx_pte_delegate_content* delegates;
  size_t delegate_count;  // of delegates
  // Arenas outside of the CPU's memory, which etx never writes itself either.
  const etx_pte_buffer_device* buffer_devices;
  size_t buffer_device_count;  // of buffer_devices
} etx_pte_plan_content;

// Bytes that a file keeps by name, for writing.
typedef struct etx_pte_named_data {
  etx_text key;        // their name, each once in a file
  etx_bytes data;      // the caller's
  uint32_t alignment;  // of the data in the file, a power of two
} etx_pte_named_data;

// A whole program, for writing.
typedef struct etx_pte_content {
  const etx_pte_plan_content* plans;  // one for each method
  size_t plan_count;                  // of plans
  // Constants by data_buffer_index: entry 0 is reserved and empty.
  const etx_bytes* constants;
  size_t constant_count;  // entry 0 counted; 1 if there are none
  // NULL, or by constant: the one, with bytes of its own, whose `data` this
  // one's `data` points into, so that they are written once; 0: none.
  const uint32_t* constant_bases;
  // Initial data of planned tensors (mutable_data_segments[0]); entry 0
  // reserved. Count 0 writes no such segment. etx itself never uses it.
  const etx_bytes* initial_data;
  size_t initial_data_count;             // entry 0 counted
  const etx_pte_named_data* named_data;  // bytes by name
  size_t named_data_count;               // of named_data
  // The alignment of each constant in the file, in bytes: at least 16.
  // Constants of 64 bytes and more are also aligned to 64 bytes, a cache line.
  uint32_t constant_alignment;
  const etx_bytes* delegate_data;  // kept in the FlatBuffer
  size_t delegate_data_count;      // of delegate_data
  uint32_t max_tables;  // that the readers of the file accept; 0: any number
} etx_pte_content;

#endif
