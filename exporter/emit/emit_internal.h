// Emission in parts: what the files emit_*.c share, and nobody else.
//
//   emit_program   plans in order of their names, constants, blob, writing
//   emit_method    one plan: inputs, instructions, outputs
//   emit_choices   jumps around the branches of choices
//   emit_values    tensors and scalars of a plan
//   emit_slots     appends values and calls; equal scalars share a slot
//   emit_symbols   integers that depend on the sizes of inputs
//   emit_constants data_buffer_index of constants
//   emit_sources   lines of the author's files

#ifndef ETX_EXPORTER_EMIT_EMIT_INTERNAL_H
#define ETX_EXPORTER_EMIT_EMIT_INTERNAL_H

#include "exporter/emit/emit_input.h"
#include "format/pte/etx_blob.h"
#include "format/pte/pte_types.h"

// Where in a constant of the module a constant of the file starts, if not at
// its start.
typedef struct etx_emit_part {
  uint32_t constant;  // ETX_IR_NONE: no part
  uint64_t offset;    // bytes
} etx_emit_part;

typedef struct etx_emit {
  const etx_emit_program* program;
  etx_ir_module* module;
  etx_pool* pool;
  etx_diag* diag;
  // Constants of the file by data_buffer_index; 0 is reserved.
  etx_bytes* constants;
  size_t constant_count, constant_capacity;
  etx_emit_part* parts;  // by constant of the file
  size_t part_capacity;
  uint32_t* constant_hashes;  // open hashing of contents: index, 0 free
  size_t constant_hash_size;
  uint32_t* index_of_constant;  // by constant of the module, 0: not yet
  size_t index_of_constant_count;
  etx_source_map_method* sources;  // of methods so far; NULL: not asked for
  size_t source_count;
} etx_emit;

typedef struct etx_emit_cond etx_emit_cond;  // emit_cond.c

typedef struct etx_emit_method {
  etx_emit* emit;
  const etx_ir_method* method;
  etx_symbols* symbols;  // the method's: reading an expression may extend it
  const etx_placement* placement;
  bool plans_inputs;  // target executorch

  etx_pte_value* values;
  size_t value_count, value_capacity;
  etx_pte_instruction* instructions;
  size_t instruction_count, instruction_capacity;
  etx_pte_operator* operators;
  const etx_op** operator_rows;  // of `operators`
  size_t operator_count, operator_capacity, operator_row_capacity;
  etx_blob_view* views;
  size_t view_count, view_capacity;

  uint32_t* index_of_value;    // by value of the method
  uint32_t* given_of_storage;  // by storage: the value given with it
  uint32_t* parts;             // values emitted as parts of kept storages
  size_t part_count, part_capacity;
  uint32_t* shared;  // scalars and lists that may be used again
  size_t shared_count, shared_capacity;
  uint32_t* index_of_symbol;  // by symbol
  etx_dim* computed;          // expressions emitted so far ...
  uint32_t* computed_index;   // ... and the value that holds each
  size_t computed_count, computed_capacity, computed_index_capacity;
  uint32_t* input_index;   // value index of each input
  uint32_t* tensor_of;     // by value: the one whose tensor it is; itself
                           // but for results of branches
  etx_emit_cond* choices;  // whose branches are being emitted, innermost last
  size_t choice_count, choice_capacity;
} etx_emit_method;

// emit_constants.c

// data_buffer_index of a constant's bytes from `offset` on, `size` of them.
ETX_MUST_USE etx_status etx_emit_constant(etx_emit* emit, uint32_t constant,
                                          uint64_t offset, uint64_t size,
                                          uint32_t* out_index);

// The empty list of constants: entry 0 is reserved.
ETX_MUST_USE etx_status etx_emit_constants_start(etx_emit* emit);
// By constant of the file: the one whose bytes hold its bytes too, so that a
// part of a constant that is also there as a whole takes no bytes; 0: none.
// Parts that would not be aligned keep bytes of their own. To be called when no
// more constants come.
ETX_MUST_USE etx_status etx_emit_constants_join(etx_emit* emit,
                                                uint64_t alignment,
                                                uint32_t** out_hosts);

// emit_slots.c

// Appends a value.
ETX_MUST_USE etx_status etx_emit_value(etx_emit_method* m,
                                       const etx_pte_value* value,
                                       uint32_t* out_index);
// An immutable scalar or list, shared by all its uses in the method.
ETX_MUST_USE etx_status etx_emit_shared(etx_emit_method* m,
                                        const etx_pte_value* value,
                                        uint32_t* out_index);
ETX_MUST_USE etx_status etx_emit_null(etx_emit_method* m, uint32_t* out_index);
ETX_MUST_USE etx_status etx_emit_int(etx_emit_method* m, int64_t integer,
                                     uint32_t* out_index);
// Appends a call of `op` with its value indices.
ETX_MUST_USE etx_status etx_emit_call(etx_emit_method* m, const etx_op* op,
                                      const uint32_t* arguments, size_t count);

// emit_values.c

// The tensor of an IR value.
ETX_MUST_USE etx_status etx_emit_tensor(etx_emit_method* m, uint32_t value,
                                        uint32_t* out_index);
// An argument of a row, of the kind that its schema wants.
ETX_MUST_USE etx_status etx_emit_argument(etx_emit_method* m,
                                          const etx_argument* argument,
                                          const etx_ir_arg* arg,
                                          uint32_t* out_index);
// A value of whatever kind it has: outputs, fixed inputs.
ETX_MUST_USE etx_status etx_emit_any(etx_emit_method* m, const etx_ir_arg* arg,
                                     uint32_t* out_index);
ETX_MUST_USE etx_status etx_emit_tensor_list(etx_emit_method* m,
                                             const uint32_t* indices,
                                             size_t count, uint32_t* out_index);

// emit_symbols.c

// An integer, computed by instructions if it depends on sizes of inputs.
ETX_MUST_USE etx_status etx_emit_integer(etx_emit_method* m, etx_dim dim,
                                         uint32_t* out_index);
// How input sizes follow from symbols, for the blob.
ETX_MUST_USE etx_status etx_emit_input_dims(etx_emit_method* m,
                                            etx_blob_input_dim** out_dims,
                                            size_t* out_count);

// emit_cond.c

// Lets results of branches be the tensor of the join that they go to.
ETX_MUST_USE etx_status etx_emit_join_tensors(etx_emit_method* m);
// Starts the branches of a choice.
ETX_MUST_USE etx_status etx_emit_head(etx_emit_method* m,
                                      const etx_ir_node* head);
// Ends branches until instructions of `branch` may follow.
ETX_MUST_USE etx_status etx_emit_go_to(etx_emit_method* m, uint32_t branch);

// emit_sources.c

// Room for the lines of all methods, if they are to be written.
ETX_MUST_USE etx_status etx_emit_sources_start(etx_emit* emit);
// Notes the lines of a method whose nodes have these first instructions.
ETX_MUST_USE etx_status etx_emit_source(etx_emit* emit,
                                        const etx_ir_method* method,
                                        const int32_t* node_starts,
                                        size_t instruction_count);
// The named data, when all methods are there.
ETX_MUST_USE etx_status etx_emit_sources_build(etx_emit* emit,
                                               etx_bytes* out_data);

// emit_method.c

// The whole plan of a method, its description for the blob, and the first
// instruction of the node where most scratch is live.
ETX_MUST_USE etx_status etx_emit_plan(etx_emit* emit, size_t method,
                                      etx_pte_plan_content* out_plan,
                                      etx_blob_method* out_blob,
                                      size_t* out_peak);

#endif
