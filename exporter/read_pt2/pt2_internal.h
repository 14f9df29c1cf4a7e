// Parts of the .pt2 reader, for read_pt2.c and pt2_*.c only.
//
//   pt2_archive.c    the zip: consistency, names, CRCs
//   read_pt2.c       versions, the program, the order of reading
//   pt2_method.c     names that nodes define and read, nodes that are added
//   pt2_schema.c     the shape of the JSON: kinds, unions, places in messages
//   pt2_symbols.c    symbolic sizes and their ranges
//   pt2_weights.c    payload configs: views of stored bytes as constants
//   pt2_inputs.c     inputs: the caller's, buffers, constants
//   pt2_outputs.c    outputs, mutations and their names
//   pt2_arguments.c  arguments, a union of many tags
//   pt2_nodes.c      nodes
//   pt2_in_place.c   nodes that write into a tensor, as functional ones
//   pt2_source.c     lines of the author's files that nodes come from
//   pt2_cond.c    torch.cond: the sub-graphs of a node
//   pt2_item_calls.c    numbers read from a tensor's data
//   pt2_wrapped.c    torch.no_grad and the like: nodes around a graph
//
// Two kinds of failure. What contradicts the format ends the file: functions
// return ETX_BAD_FILE with a message in the diag. What is sound but not for us
// (loops, data-dependent sizes, unknown operators) is reported to the
// import, and reading goes on so that all problems come out at once.

#ifndef ETX_EXPORTER_READ_PT2_PT2_INTERNAL_H
#define ETX_EXPORTER_READ_PT2_PT2_INTERNAL_H

#include "exporter/ir/aten_schema.h"
#include "exporter/import/import.h"
#include "exporter/host/read_json.h"
#include "exporter/read_pt2/pt2_archive.h"

enum { ETX_PT2_PLACE_BYTES = 200 };

// What a graph name stands for so far.
typedef enum etx_pt2_name_state {
  ETX_PT2_UNDEFINED,
  ETX_PT2_DECLARED,  // an input of the graph that has no value yet
  ETX_PT2_DEFINED,
} etx_pt2_name_state;

// Where the bytes of a name lie. Positions in tensor_values are counted from 1.
typedef struct etx_pt2_bytes {
  uint32_t next;  // the next name over the same storage, in a ring; 0: itself
  uint32_t base;  // the name that it is a view of; 0: of none
  uint32_t view;  // and the node of the method that made it one
} etx_pt2_bytes;

// An input or buffer that a node wrote into.
typedef struct etx_pt2_write {
  uint32_t target;  // its value before
  size_t position;  // in tensor_values: the name of what it is now
  etx_source_location place;
} etx_pt2_write;

// A graph being read: the program's, or for the length of its reading a
// sub-graph, which has names of its own.
typedef struct etx_pt2_graph {
  etx_import* import;
  etx_pt2_archive* archive;
  etx_pool* pool;
  etx_diag* diag;
  uint32_t method_index;
  etx_ir_method* method;
  char place[ETX_PT2_PLACE_BYTES];  // where in the program, for messages
  etx_source_location where;        // the same for problems

  const etx_json* program;
  const etx_json* graph;
  const etx_json* nodes;
  const etx_json* tensor_values;
  const etx_json* sym_ints;
  const etx_json* sym_bools;
  const etx_json* sym_floats;
  const etx_json* ranges;
  const etx_json* input_specs;
  const etx_json* output_specs;
  const etx_json* weights;  // payload configs
  const etx_json* constants;

  uint32_t branch;  // of the method that nodes are added to
  size_t depth;     // sub-graphs around this one

  // By position in tensor_values.
  uint8_t* states;   // etx_pt2_name_state
  uint32_t* values;  // of the method, once defined
  // The last kept node that reads it, from 1 on; ETX_PT2_END: an output or
  // mutation; 0: nobody.
  uint32_t* last_reads;
  etx_pt2_bytes* bytes;

  uint32_t now;  // the node being marked or read, as in last_reads
  etx_pt2_write* writes;
  size_t write_count, write_capacity;
} etx_pt2_graph;

#define ETX_PT2_END UINT32_MAX

// ---- pt2_schema.c

// Sets the place that the next messages name.
void etx_pt2_set_place(etx_pt2_graph* graph, const char* format, ...);

// Refuses the file: "<member>: <place>: ...".
etx_status etx_pt2_refuse(etx_pt2_graph* graph, const char* format, ...);

// The same for what is sound but not supported: ETX_UNSUPPORTED.
etx_status etx_pt2_decline(etx_pt2_graph* graph, const char* format, ...);

// Refuses unless `value` is there and of a kind.
ETX_MUST_USE etx_status etx_pt2_want(etx_pt2_graph* graph,
                                     const etx_json* value, etx_json_kind kind,
                                     const char* what);

// The member `key` of an object, which must have a kind.
ETX_MUST_USE etx_status etx_pt2_field(etx_pt2_graph* graph,
                                      const etx_json* object, const char* key,
                                      etx_json_kind kind,
                                      const etx_json** out_value);

// The string member `key`.
ETX_MUST_USE etx_status etx_pt2_text(etx_pt2_graph* graph,
                                     const etx_json* object, const char* key,
                                     etx_text* out_text);

// The only member of a union.
ETX_MUST_USE etx_status etx_pt2_union(etx_pt2_graph* graph,
                                      const etx_json* value, etx_text* out_tag,
                                      const etx_json** out_payload);

// A float: a number, or "NaN", "Infinity", "-Infinity".
ETX_MUST_USE etx_status etx_pt2_double(etx_pt2_graph* graph,
                                       const etx_json* value, double* out);

// An element type by the archive's code.
ETX_MUST_USE etx_status etx_pt2_dtype(etx_pt2_graph* graph,
                                      const etx_json* value,
                                      etx_dtype* out_dtype);

// Refuses layouts other than strided and devices other than the CPU.
ETX_MUST_USE etx_status etx_pt2_check_storage(etx_pt2_graph* graph,
                                              const etx_json* tensor_meta);

// ---- pt2_symbols.c

// A SymInt: a number or an expression.
ETX_MUST_USE etx_status etx_pt2_size(etx_pt2_graph* graph,
                                     const etx_json* value, etx_dim* out);

// Sizes and type of a TensorMeta.
ETX_MUST_USE etx_status etx_pt2_shape(etx_pt2_graph* graph,
                                      const etx_json* tensor_meta,
                                      etx_shape* out_shape);

// The integer behind a name of sym_int_values.
ETX_MUST_USE etx_status etx_pt2_named_size(etx_pt2_graph* graph, etx_text name,
                                           etx_dim* out);

// The integer that a float computed from sizes is: ToFloat(integer).
// ETX_UNSUPPORTED without message for any other.
ETX_MUST_USE etx_status etx_pt2_float_of_size(etx_pt2_graph* graph,
                                              const etx_json* sym_float,
                                              etx_dim* out, etx_text* out_name);

// Whether a condition on sizes holds, as an integer: 1 or 0.
ETX_MUST_USE etx_status etx_pt2_condition(etx_pt2_graph* graph,
                                          const etx_json* sym_bool,
                                          etx_dim* out);

// ---- pt2_weights.c

// Checks an entry of a payload config and gives its type.
ETX_MUST_USE etx_status etx_pt2_payload_type(etx_pt2_graph* graph,
                                             const etx_json* entry,
                                             etx_ir_constant* out_type);

// etx_import_load for an entry of a payload config.
etx_status etx_pt2_load(const etx_import_source* source, etx_ir_module* module,
                        const etx_ir_constant* type, uint32_t* out_constant,
                        etx_diag* diag);

// ---- pt2_inputs.c and pt2_outputs.c

// Inputs of the graph, before its nodes; outputs and mutations after them.
ETX_MUST_USE etx_status etx_pt2_read_inputs(etx_pt2_graph* graph);
ETX_MUST_USE etx_status etx_pt2_read_outputs(etx_pt2_graph* graph);
// Refuses unless the graph's own list `key` ("inputs", "outputs") says what the
// signature says.
ETX_MUST_USE etx_status etx_pt2_check_pairs(etx_pt2_graph* graph,
                                            const char* key,
                                            const etx_json* specs);

// ---- pt2_source.c

// Lets `where` tell from which line of which file a node comes, and from which
// module; nothing of that where the archive does not say.
void etx_pt2_read_source(etx_pt2_graph* graph, const etx_json* node);
void etx_pt2_forget_source(etx_pt2_graph* graph);

// ---- pt2_method.c

// What is done with a node.
typedef enum etx_pt2_node_class {
  ETX_PT2_NODE_KEPT,
  ETX_PT2_NODE_DROPPED,   // sizes and assertions
  ETX_PT2_NODE_DECLINED,  // control flow and the like
} etx_pt2_node_class;

etx_pt2_node_class etx_pt2_class_of(etx_text target);
// True of arithmetic on sizes and assertions.
bool etx_pt2_is_dropped(etx_text target);
// Marks the tensor that a TensorArgument names as read.
void etx_pt2_mark_tensor(etx_pt2_graph* graph, const etx_json* tensor);
// Marks what an Argument reads. Malformed ones are refused later, when they
// are read.
void etx_pt2_mark_argument(etx_pt2_graph* graph, const etx_json* argument);
// Makes the value that the name of a TensorArgument stands for from now on,
// the result of node `node`.
ETX_MUST_USE etx_status etx_pt2_define_tensor(etx_pt2_graph* graph,
                                              const etx_json* tensor,
                                              uint32_t node,
                                              uint32_t* out_value);

// Appends a node that the archive does not have, with arguments in the order of
// its schema, or by the keywords in `names`. `result` gives its result's name
// and type.
ETX_MUST_USE etx_status etx_pt2_add_node(etx_pt2_graph* graph, const char* aten,
                                         const etx_ir_arg* args,
                                         const etx_text* names, size_t count,
                                         const etx_ir_value* result,
                                         uint32_t* out_value);

// ---- pt2_nodes.c

// Marks the names that nodes and the program's outputs read.
ETX_MUST_USE etx_status etx_pt2_mark_uses(etx_pt2_graph* graph);
// Marks what the arguments of all nodes read.
ETX_MUST_USE etx_status etx_pt2_mark_nodes(etx_pt2_graph* graph);
ETX_MUST_USE etx_status etx_pt2_read_nodes(etx_pt2_graph* graph);
// ---- pt2_in_place.c

// The schema that computes what `aten` ("aten.add_.Tensor") writes in place, or
// NULL.
const etx_aten_schema* etx_pt2_functional_form(etx_text aten);
// For the node that was read last: its results may be views of its operands.
void etx_pt2_note_views(etx_pt2_graph* graph, const etx_json* inputs,
                        const etx_json* outputs);
// For the functional form of `aten`, which was read: its result is what its
// first operand, and all that sees the same bytes, is from now on.
ETX_MUST_USE etx_status etx_pt2_write_in_place(etx_pt2_graph* graph,
                                               etx_text aten,
                                               const etx_json* inputs,
                                               const etx_json* outputs);

// ---- pt2_cond.c

// True if the node is a torch.cond.
bool etx_pt2_is_cond(etx_text target);
// What is done with all nodes of a sub-graph: the reader of nodes hands its own
// functions on, since sub-graphs hold nodes.
typedef etx_status etx_pt2_visit_nodes(etx_pt2_graph* graph);
// Marks which operands the sub-graphs read.
ETX_MUST_USE etx_status etx_pt2_mark_cond(etx_pt2_graph* graph,
                                          const etx_json* node,
                                          etx_pt2_visit_nodes* mark_nodes);
// Reads the node with its sub-graphs.
ETX_MUST_USE etx_status etx_pt2_read_cond(etx_pt2_graph* graph,
                                          const etx_json* node,
                                          etx_pt2_visit_nodes* read_nodes);

// ---- pt2_item_calls.c

// True of item() and the like.
bool etx_pt2_is_item_call(etx_text target);
// True if more than assertions use the number that such a node reads.
bool etx_pt2_is_item_used(const etx_pt2_graph* graph, const etx_json* node);

// ---- pt2_wrapped.c

// Puts the nodes of graphs that are only wrapped in the place of the nodes that
// wrap them; before names are taken.
ETX_MUST_USE etx_status etx_pt2_inline_wrapped(etx_pt2_graph* graph);

// ---- pt2_arguments.c

// Room for what the names of tensor_values stand for; none stands for anything.
ETX_MUST_USE etx_status etx_pt2_alloc_names(etx_pt2_graph* graph);
// Position of a tensor's name in tensor_values.
ETX_MUST_USE etx_status etx_pt2_find_tensor(etx_pt2_graph* graph, etx_text name,
                                            size_t* out_position);
// The value that a tensor's name stands for.
ETX_MUST_USE etx_status etx_pt2_use_tensor(etx_pt2_graph* graph, etx_text name,
                                           uint32_t* out_value);
// An Argument of any kind that the IR has; others are reported.
ETX_MUST_USE etx_status etx_pt2_argument(etx_pt2_graph* graph,
                                         const etx_json* argument,
                                         etx_ir_arg* out_arg);

// Reports something sound that is not supported: "<place>: <what> '<name>' is
// not supported".
void etx_pt2_unsupported(etx_pt2_graph* graph, const char* what, etx_text name);

#endif
