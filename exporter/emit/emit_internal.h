// Declarations shared by the files emit_*.c. The README.md of this folder
// states what each file does.

#ifndef ETX_EXPORTER_EMIT_EMIT_INTERNAL_H
#define ETX_EXPORTER_EMIT_EMIT_INTERNAL_H

#include "exporter/emit/emit_input.h"
#include "format/pte/etx_blob.h"
#include "format/pte/pte_types.h"

// A constant of the file that is a slice of a constant of the module.
typedef struct etx_emit_slice {
  uint32_t constant;  // ETX_IR_NONE: it is not a slice
  uint64_t offset;    // start of the slice, in bytes
} etx_emit_slice;

typedef struct etx_emit {
  const etx_emit_program* program;
  etx_ir_module* module;
  etx_pool* pool;
  etx_diag* diag;
  // Constants of the file by data_buffer_index; 0 is reserved.
  etx_bytes* constants;
  size_t constant_count, constant_capacity;
  etx_emit_slice* slices;  // by constant of the file
  size_t slice_capacity;
  uint64_t* hashes;  // of each constant's bytes
  size_t hash_capacity;
  uint32_t* constant_hashes;  // hash table by content: index, 0: free
  size_t constant_hash_size;
  uint32_t* index_of_constant;  // by constant of the module; 0: none yet
  size_t index_of_constant_count;
  etx_source_map_method* sources;  // of the methods so far; NULL: no source map
  size_t source_count;
} etx_emit;

typedef struct etx_emit_cond etx_emit_cond;  // emit_cond.c

typedef struct etx_emit_scratch {
  uint32_t slot;
  uint32_t storage;
  uint64_t start;  // bytes from the start of the storage
} etx_emit_scratch;

typedef struct etx_emit_method {
  etx_emit* emit;
  const etx_ir_method* method;
  etx_symbols* symbols;  // of the method; splitting an expression may extend it
  const etx_placement* placement;
  bool plans_inputs;  // target executorch: see assign_storage.c

  etx_pte_value* values;
  size_t value_count, value_capacity;
  etx_pte_instruction* instructions;
  size_t instruction_count, instruction_capacity;
  etx_pte_operator* operators;
  const etx_op** operator_rows;  // of `operators`
  size_t operator_count, operator_capacity, operator_row_capacity;
  etx_blob_view* views;
  size_t view_count, view_capacity;

  etx_emit_scratch* scratch;  // tensors in arena 1, by slot
  size_t scratch_count, scratch_capacity;

  bool* are_parts_bound;     // by value: the parts of this concatenation are
  uint32_t* index_of_value;  // slot by value of the method; ETX_IR_NONE: none
  // By storage: its external value (state, constant or input); ETX_IR_NONE for
  // scratch.
  uint32_t* external_of_storage;
  uint32_t* parts;  // values emitted as parts of states and inputs
  size_t part_count, part_capacity;
  // Hash table of immutable scalars and lists, for reuse: slot + 1, 0: free.
  uint32_t* shared;
  size_t shared_count, shared_size;
  uint32_t* index_of_symbol;  // slot by symbol; ETX_IR_NONE: none yet
  etx_dim* computed;          // expressions emitted so far ...
  uint32_t* computed_index;   // ... and the slot of each
  size_t computed_count, computed_capacity, computed_index_capacity;
  // Slot of each input that nodes read. With plans_inputs, that of a mutable
  // input is a copy in planned memory (emit_method.c).
  uint32_t* input_index;
  // By value: the value whose tensor it uses. A result of a branch uses the
  // tensor of its join, any other value its own.
  uint32_t* tensor_of;
  etx_emit_cond* conds;  // conditionals being emitted, innermost last
  size_t cond_count, cond_capacity;
} etx_emit_method;

// emit_method.c

// The pytree text of `count` outputs.
ETX_MUST_USE etx_status etx_emit_output_tree(etx_emit* emit, size_t count,
                                             etx_text* out_text);

// emit_constants.c

// The data_buffer_index of `size` bytes of a constant, from `offset` on.
ETX_MUST_USE etx_status etx_emit_constant(etx_emit* emit, uint32_t constant,
                                          uint64_t offset, uint64_t size,
                                          uint32_t* out_index);

// Starts the list of constants with entry 0, which is reserved.
ETX_MUST_USE etx_status etx_emit_constants_start(etx_emit* emit);
// For each constant of the file, the constant that contains its bytes, so that
// a slice of a constant that is also written as a whole takes no bytes; 0:
// none. Slices that would not be aligned keep bytes of their own. To be called
// after the last constant was added.
ETX_MUST_USE etx_status etx_emit_constants_join(etx_emit* emit,
                                                uint64_t alignment,
                                                uint32_t** out_hosts);

// emit_nodes.c

// Emits the instructions of a node, and those that set sizes and addresses of
// its outputs.
ETX_MUST_USE etx_status etx_emit_node(etx_emit_method* m,
                                      const etx_ir_node* node);

// emit_slots.c

// Appends a value.
ETX_MUST_USE etx_status etx_emit_value(etx_emit_method* m,
                                       const etx_pte_value* value,
                                       uint32_t* out_index);
// The slot of an immutable scalar or list; equal ones share a slot.
ETX_MUST_USE etx_status etx_emit_shared(etx_emit_method* m,
                                        const etx_pte_value* value,
                                        uint32_t* out_index);
ETX_MUST_USE etx_status etx_emit_null(etx_emit_method* m, uint32_t* out_index);
ETX_MUST_USE etx_status etx_emit_int(etx_emit_method* m, int64_t integer,
                                     uint32_t* out_index);
// Appends a kernel call of `op`; `arguments` are slots.
ETX_MUST_USE etx_status etx_emit_call(etx_emit_method* m, const etx_op* op,
                                      const uint32_t* arguments, size_t count);

// emit_values.c

// True if instructions give the operands of a concatenation their places.
bool etx_emit_has_dynamic_parts(const etx_emit_method* m, uint32_t concat);
// The slot of the tensor of an IR value.
ETX_MUST_USE etx_status etx_emit_tensor(etx_emit_method* m, uint32_t value,
                                        uint32_t* out_index);
// A further tensor of the type of an IR value, in memory that the caller gives.
ETX_MUST_USE etx_status etx_emit_callers_tensor(etx_emit_method* m,
                                                uint32_t value,
                                                uint32_t* out_index);
// An argument of an operator, converted to the type that its schema states.
ETX_MUST_USE etx_status etx_emit_argument(etx_emit_method* m,
                                          const etx_argument* argument,
                                          const etx_ir_arg* arg,
                                          uint32_t* out_index);
// An argument without conversion, for outputs and items of lists.
ETX_MUST_USE etx_status etx_emit_any(etx_emit_method* m, const etx_ir_arg* arg,
                                     uint32_t* out_index);
ETX_MUST_USE etx_status etx_emit_tensor_list(etx_emit_method* m,
                                             const uint32_t* indices,
                                             size_t count, uint32_t* out_index);

// emit_symbols.c

// The slot of an integer. Instructions compute it if it depends on the sizes of
// inputs.
ETX_MUST_USE etx_status etx_emit_integer(etx_emit_method* m, etx_dim dim,
                                         uint32_t* out_index);
// Emits what reads a symbol from data: the only element of the tensor in slot
// `tensor` if `dim` is -1, else its size in dimension `dim`.
ETX_MUST_USE etx_status etx_emit_late(etx_emit_method* m, uint32_t symbol,
                                      uint32_t tensor, int32_t dim);
// The sizes of inputs as factor * symbol + offset, for the blob.
ETX_MUST_USE etx_status etx_emit_input_dims(etx_emit_method* m,
                                            etx_blob_input_dim** out_dims,
                                            size_t* out_count);
// The sizes of an output as text, "b, 2*t + 1, 8", for people who read what a
// program gives. Empty if all are fixed.
ETX_MUST_USE etx_status etx_emit_output_sizes(etx_emit_method* m,
                                              const etx_ir_output* output,
                                              etx_text* out);

// emit_cond.c

// Fills in tensor_of: results of branches use the tensor of their join.
ETX_MUST_USE etx_status etx_emit_join_tensors(etx_emit_method* m);
// Emits the jump of a branch head and starts its first branch.
ETX_MUST_USE etx_status etx_emit_head(etx_emit_method* m,
                                      const etx_ir_node* head);
// Ends and starts branches until the present one is `branch`.
ETX_MUST_USE etx_status etx_emit_enter_branch(etx_emit_method* m,
                                              uint32_t branch);

// emit_sources.c

// Allocates the source lines of all methods, if a source map is written.
ETX_MUST_USE etx_status etx_emit_sources_start(etx_emit* emit);
// Records the source lines of a method; `node_starts` has the first instruction
// of each node.
ETX_MUST_USE etx_status etx_emit_source(etx_emit* emit,
                                        const etx_ir_method* method,
                                        const int32_t* node_starts,
                                        size_t instruction_count);
// Builds the source map, after all methods were emitted.
ETX_MUST_USE etx_status etx_emit_sources_build(etx_emit* emit,
                                               etx_bytes* out_data);

// emit_caches.c

// Builds the table of caches. Empty if no state is a cache.
ETX_MUST_USE etx_status etx_emit_caches_build(etx_emit* emit,
                                              etx_bytes* out_data);

// emit_memories.c

// Builds the table of memories. Empty if the module has none.
ETX_MUST_USE etx_status etx_emit_memories_build(etx_emit* emit,
                                                etx_bytes* out_data);

// emit_method.c

// The execution plan of a method, its description for the blob, and the first
// instruction of the node at the peak of live scratch bytes.
ETX_MUST_USE etx_status etx_emit_plan(etx_emit* emit, size_t method,
                                      etx_pte_plan_content* out_plan,
                                      etx_blob_method* out_blob,
                                      size_t* out_peak);

#endif
