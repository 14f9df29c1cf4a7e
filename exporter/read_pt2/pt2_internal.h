// Declarations shared by the files of the .pt2 reader: read_pt2.c and pt2_*.c
// only. The README.md of this folder tells what each file does.
//
// There are two kinds of errors. A violation of the format ends the reading of
// the file: functions return ETX_BAD_FILE with a message in the diag. A valid
// construct that etx does not support (loops, data-dependent sizes, unknown
// operators) is reported to the import where possible, and reading continues,
// so that one run reports all problems.

#ifndef ETX_EXPORTER_READ_PT2_PT2_INTERNAL_H
#define ETX_EXPORTER_READ_PT2_PT2_INTERNAL_H

#include "exporter/ir/aten_schema.h"
#include "exporter/ir/ir_cond.h"
#include "exporter/ir/own_operators.h"
#include "exporter/read_pt2/json/pt2_json.h"
#include "exporter/import/import.h"
#include "exporter/host/read_json.h"
#include "exporter/read_pt2/pt2_archive.h"

enum { ETX_PT2_CONTEXT_BYTES = 200 };

// The state of a tensor's name during the reading of its graph.
typedef enum etx_pt2_name_state {
  ETX_PT2_UNDEFINED,
  ETX_PT2_DECLARED,  // an input of the graph without a value yet
  ETX_PT2_DEFINED,
} etx_pt2_name_state;

// Alias information of a tensor's name. Positions in tensor_values count
// from 1.
typedef struct etx_pt2_alias {
  uint32_t next;    // ring of the names over the same storage; 0: only itself
  uint32_t base;    // the name that it is a view of; 0: it is not a view
  uint32_t view;    // the node of the method that made the view
  uint32_t output;  // which of the results of that node it is
} etx_pt2_alias;

// An in-place write into an input or buffer.
typedef struct etx_pt2_write {
  uint32_t target;  // the value of the input or buffer before the write
  size_t position;  // in tensor_values: the name that holds the new content
  etx_source_location place;
} etx_pt2_write;

// A float or truth value that item() reads from a tensor, or that is computed
// from such numbers.
typedef struct etx_pt2_number {
  etx_text name;
  uint32_t value;  // of rank 0
} etx_pt2_number;

// A symbol of the archive that the method has another symbol for: it is factor
// * by + offset.
typedef struct etx_pt2_replaced {
  etx_text name;
  etx_text by;
  int64_t factor;
  int64_t offset;
} etx_pt2_replaced;

// An integer from the data of a tensor that sizes decide.
typedef struct etx_pt2_decided {
  uint32_t value;  // the tensor, of rank 0; ETX_IR_NONE: the symbol below
  etx_text name;   // of the symbol
  etx_dim number;
} etx_pt2_decided;

// A graph being read: that of the program, or a sub-graph of torch.cond, which
// has names of its own.
typedef struct etx_pt2_graph {
  etx_import* import;
  etx_pt2_archive* archive;
  etx_pool* pool;
  etx_diag* diag;
  uint32_t method_index;
  etx_ir_method* method;
  char context[ETX_PT2_CONTEXT_BYTES];  // prefix of messages: "node 'add_3'"
  etx_source_location place;  // file, node and source line of problems

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

  uint32_t branch;  // branch of the method to which nodes are added
  size_t depth;     // number of sub-graphs around this one

  // By position in tensor_values:
  uint8_t* states;   // etx_pt2_name_state
  uint32_t* values;  // value of the method, once defined
  // The last kept node that reads the name, counted from 1; ETX_PT2_END: an
  // output or mutation reads it; 0: nothing does.
  uint32_t* last_reads;
  bool has_last_reads;  // they are filled in
  etx_pt2_alias* aliases;

  uint32_t now;  // the node being marked or read, counted as in last_reads
  etx_pt2_write* writes;
  size_t write_count, write_capacity;

  etx_pt2_number* numbers;
  size_t number_count, number_capacity;

  etx_pt2_replaced* replaced;
  size_t replaced_count, replaced_capacity;
  etx_pt2_decided* decided;
  size_t decided_count, decided_capacity;
  bool has_unread_guards;  // conditions on sizes that etx cannot read

  // While the outputs of a node are read: symbols that occur for the first time
  // are set by that node.
  bool reads_outputs;
  uint32_t late;      // the last such symbol of the node, counted from 1
  size_t late_count;  // the number of such symbols of the node
  int64_t late_most;  // an upper bound of these symbols; 0: only the stated one
  bool is_optional;   // what cannot be read is left out without a problem
} etx_pt2_graph;

#define ETX_PT2_END UINT32_MAX

// ---- pt2_schema.c

// Sets the context that the next messages start with.
void etx_pt2_set_context(etx_pt2_graph* graph, const char* format, ...);

// Fails with ETX_BAD_FILE and the message "<context>: ...".
etx_status etx_pt2_fail_malformed(etx_pt2_graph* graph, const char* format,
                                  ...);

// Fails with ETX_UNSUPPORTED, for files that are valid but not supported.
etx_status etx_pt2_fail_unsupported(etx_pt2_graph* graph, const char* format,
                                    ...);

// ETX_BAD_FILE unless `value` exists and has this kind; `what` names it in the
// message.
ETX_MUST_USE etx_status etx_pt2_expect(etx_pt2_graph* graph,
                                       const etx_json* value,
                                       etx_json_kind kind, const char* what);

// The member `key` of an object, which must exist and have this kind.
ETX_MUST_USE etx_status etx_pt2_field(etx_pt2_graph* graph,
                                      const etx_json* object, const char* key,
                                      etx_json_kind kind,
                                      const etx_json** out_value);

// The string member `key`.
ETX_MUST_USE etx_status etx_pt2_text(etx_pt2_graph* graph,
                                     const etx_json* object, const char* key,
                                     etx_text* out_text);

// The tag and the payload of a union: an object with exactly one member.
ETX_MUST_USE etx_status etx_pt2_union(etx_pt2_graph* graph,
                                      const etx_json* value, etx_text* out_tag,
                                      const etx_json** out_payload);

// A float: a number, or "NaN", "Infinity", "-Infinity".
ETX_MUST_USE etx_status etx_pt2_double(etx_pt2_graph* graph,
                                       const etx_json* value, double* out);

// The dtype for a code of the archive.
ETX_MUST_USE etx_status etx_pt2_dtype(etx_pt2_graph* graph,
                                      const etx_json* value,
                                      etx_dtype* out_dtype);

// ETX_UNSUPPORTED for layouts other than strided and devices other than the
// CPU.
ETX_MUST_USE etx_status etx_pt2_check_storage(etx_pt2_graph* graph,
                                              const etx_json* tensor_meta);

// Reads the number of Float('1.5', precision=53), behind the first quote, at
// `*at`, which moves behind it. False if it is written in another way.
bool etx_pt2_float_number(etx_text text, size_t* at, double* out);

// ---- pt2_symbols.c

// The sizes and the dtype of a TensorMeta.
ETX_MUST_USE etx_status etx_pt2_shape(etx_pt2_graph* graph,
                                      const etx_json* tensor_meta,
                                      etx_shape* out_shape);

// True if a SymInt has a symbol that is set from data and does not occur
// anywhere before.
bool etx_pt2_has_new_symbol(const etx_pt2_graph* graph, const etx_json* size);

// Between these calls, a symbol that occurs for the first time and is not a
// size of an input is set by the node that is being read. The second call
// returns it, counted from 1, or 0; it reports a node that sets several.
void etx_pt2_start_late(etx_pt2_graph* graph);
uint32_t etx_pt2_end_late(etx_pt2_graph* graph);

// The integer expression for a SymInt: a number or an expression.
ETX_MUST_USE etx_status etx_pt2_size(etx_pt2_graph* graph, const etx_json* size,
                                     etx_dim* out);

// The integer expression for a name of sym_int_values.
ETX_MUST_USE etx_status etx_pt2_named_size(etx_pt2_graph* graph, etx_text name,
                                           etx_dim* out);

// The integer expression that sympy.srepr printed.
ETX_MUST_USE etx_status etx_pt2_size_of_text(etx_pt2_graph* graph,
                                             etx_text text, etx_dim* out);

// A condition on sizes as an integer expression: 1 where it holds, else 0.
ETX_MUST_USE etx_status etx_pt2_condition(etx_pt2_graph* graph,
                                          const etx_json* sym_bool,
                                          etx_dim* out);

// The same. False, without a message, if it has a symbol that does not occur
// anywhere before, or a form that is not supported.
bool etx_pt2_known_condition(etx_pt2_graph* graph, const etx_json* sym_bool,
                             etx_dim* out);

// True for the name of a symbol that PyTorch did not get from the sizes of the
// example inputs: u0 is an integer, zuf0 a float.
bool etx_pt2_is_late_name(etx_text name);

// ---- pt2_known_sizes.c

// Before a node is added whose result has a size from data, but a known one by
// the archive: gives it a symbol that the node sets. `*out_known` is the known
// size, or ETX_PT2_NO_SIZE.
#define ETX_PT2_NO_SIZE ((etx_dim)-1)
ETX_MUST_USE etx_status etx_pt2_free_size(etx_pt2_graph* graph,
                                          etx_ir_node* node,
                                          etx_dim* out_known);
// After it was added: checks the size, and binds the name at `position` to a
// view of the known size.
ETX_MUST_USE etx_status etx_pt2_narrow_to_known(etx_pt2_graph* graph,
                                                etx_dim known, size_t position);
// The same for item(): the symbol that its node sets, counted from 1, and the
// check behind the node.
ETX_MUST_USE etx_status etx_pt2_known_item(etx_pt2_graph* graph, etx_text name,
                                           etx_dim known, uint32_t* out_late);
ETX_MUST_USE etx_status etx_pt2_check_item(etx_pt2_graph* graph, uint32_t late,
                                           etx_dim known);
// Of two sizes from data that an assertion says to be equal, the later one
// becomes known.
ETX_MUST_USE etx_status etx_pt2_unite_late(etx_pt2_graph* graph);

// ---- pt2_known_sizes.c: integers that sizes decide

// Notes the integer that the result of a node holds, if it is a tensor of rank
// 0 that sizes decide: torch.tensor(x.shape[0]) + 1.
ETX_MUST_USE etx_status etx_pt2_note_decided(etx_pt2_graph* graph,
                                             const etx_ir_node* node);
// True if item() of the tensor `arg`, with the name `name` in the graph, is
// such an integer. Its symbol becomes known, and needs no node.
ETX_MUST_USE etx_status etx_pt2_decide_item(etx_pt2_graph* graph, etx_text name,
                                            const etx_ir_arg* arg,
                                            bool* out_is_decided);
// Before the results of a slice are read: its size becomes known if sizes
// decide its bounds.
ETX_MUST_USE etx_status etx_pt2_decide_slice(etx_pt2_graph* graph,
                                             const etx_ir_node* node,
                                             const etx_json* outputs);

// ---- pt2_floats.c

// An operand that is a float computed from sizes as a tensor of rank 0, which
// takes part in type promotion like a number. ETX_UNSUPPORTED, without a
// message, for any other float.
ETX_MUST_USE etx_status etx_pt2_sym_float(etx_pt2_graph* graph,
                                          const etx_json* sym_float,
                                          etx_dtype dtype, etx_ir_arg* out);

typedef struct etx_pt2_range {
  int64_t low;
  int64_t high;      // INT64_MAX: no upper bound
  int64_t fallback;  // as in etx_symbol
  int64_t floor;     // as in etx_symbol
  bool is_found;
  bool has_derived_low;
} etx_pt2_range;

// Takes back a lower bound below the stated one.
void etx_pt2_keep_stated_bound(etx_symbol* symbol);

// ---- pt2_conditions.c

// A comparison of two sizes.
typedef struct etx_pt2_relation {
  etx_symbol_relation relation;
  etx_dim left;
  etx_dim right;
} etx_pt2_relation;

// Applies the guards to the symbols of the inputs, which were read, and adds
// nodes that check what is left of them.
ETX_MUST_USE etx_status etx_pt2_apply_guards(etx_pt2_graph* graph);
// Adds the check of a node aten._assert_scalar.
ETX_MUST_USE etx_status etx_pt2_read_assertion(etx_pt2_graph* graph,
                                               const etx_json* node);
// Adds a node that checks a condition, which `text` states.
ETX_MUST_USE etx_status etx_pt2_add_check(etx_pt2_graph* graph, etx_dim holds,
                                          etx_text text);
// True if the condition holds within the bounds of its symbols.
bool etx_pt2_always_holds(const etx_symbols* symbols, etx_dim condition);

// ---- pt2_weights.c

// Checks an entry of a payload config and returns its type.
ETX_MUST_USE etx_status etx_pt2_payload_type(etx_pt2_graph* graph,
                                             const etx_json* entry,
                                             etx_ir_constant* out_type);

// etx_initial_load for an entry of a payload config.
etx_status etx_pt2_load(const etx_initial_source* source, etx_ir_module* module,
                        const etx_ir_constant* type, uint32_t* out_constant,
                        etx_diag* diag);

// ---- pt2_inputs.c and pt2_outputs.c

// Reads the inputs of the graph, before its nodes, and the outputs and
// mutations, after its nodes.
ETX_MUST_USE etx_status etx_pt2_read_inputs(etx_pt2_graph* graph);
ETX_MUST_USE etx_status etx_pt2_read_outputs(etx_pt2_graph* graph);
// ETX_BAD_FILE unless the list `key` of the graph ("inputs", "outputs") agrees
// with `specs` of the signature.
ETX_MUST_USE etx_status etx_pt2_check_pairs(etx_pt2_graph* graph,
                                            const char* key,
                                            const etx_json* specs);

// ---- pt2_source.c

// Sets or clears the source line and the module in graph->place, from the
// metadata of a node. They stay empty if the archive does not have them.
void etx_pt2_read_source(etx_pt2_graph* graph, const etx_json* node);
void etx_pt2_forget_source(etx_pt2_graph* graph);

// ---- pt2_method.c

// Classes of nodes, by the target of the node.
typedef enum etx_pt2_node_class {
  ETX_PT2_NODE_KEPT,
  ETX_PT2_NODE_DROPPED,      // arithmetic on sizes, and assertions
  ETX_PT2_NODE_UNSUPPORTED,  // control flow and operators of other libraries
} etx_pt2_node_class;

etx_pt2_node_class etx_pt2_class_of(etx_text target);
// True if the class is ETX_PT2_NODE_DROPPED.
bool etx_pt2_is_dropped(etx_text target);
// Marks the tensor that a TensorArgument names as read.
void etx_pt2_mark_tensor(etx_pt2_graph* graph, const etx_json* tensor);
// Marks the tensors in an Argument as read. Malformed arguments are ignored
// here; reading them later reports the error.
void etx_pt2_mark_argument(etx_pt2_graph* graph, const etx_json* argument);
// Defines the name in a TensorArgument as a new value, an output of node
// `node`.
ETX_MUST_USE etx_status etx_pt2_define_tensor(etx_pt2_graph* graph,
                                              const etx_json* tensor,
                                              uint32_t node,
                                              uint32_t* out_value);

// Appends a node that is not in the archive. `result` has the name and the type
// of its result.
ETX_MUST_USE etx_status etx_pt2_add_node(etx_pt2_graph* graph, const char* aten,
                                         const etx_aten_arguments* given,
                                         const etx_ir_value* result,
                                         uint32_t* out_value);
// Appends item() of `tensor`, which sets symbol `late`, counted from 1.
ETX_MUST_USE etx_status etx_pt2_add_item(etx_pt2_graph* graph, etx_text name,
                                         const etx_ir_arg* tensor,
                                         uint32_t late);

// ---- pt2_nodes.c

// Fills in last_reads: the names that nodes and the program's outputs read.
ETX_MUST_USE etx_status etx_pt2_mark_uses(etx_pt2_graph* graph);
// Reads all nodes into the method.
ETX_MUST_USE etx_status etx_pt2_read_nodes(etx_pt2_graph* graph);

// ---- pt2_in_place.c

// The schema of the functional form of an in-place operator:
// "aten.add.Tensor" for "aten.add_.Tensor". NULL if there is none.
const etx_aten_schema* etx_pt2_functional_form(etx_text aten);
// Records the views that the node read last may have made of its operands.
void etx_pt2_note_views(etx_pt2_graph* graph, const etx_json* inputs,
                        const etx_json* outputs);
// Completes an in-place node `aten` whose functional form was read last: its
// result becomes the value of its first operand and of all aliases of it.
ETX_MUST_USE etx_status etx_pt2_write_in_place(etx_pt2_graph* graph,
                                               etx_text aten,
                                               const etx_json* inputs,
                                               const etx_json* outputs);
// The same for a new value of a tensor argument that no name of the archive
// has.
ETX_MUST_USE etx_status etx_pt2_write_argument(etx_pt2_graph* graph,
                                               etx_text aten,
                                               const etx_json* argument,
                                               uint32_t value);

// ---- pt2_subgraph.c

// Opens a sub-graph for reading; none of its names is defined yet.
// ETX_UNSUPPORTED if sub-graphs are nested too deep.
ETX_MUST_USE etx_status etx_pt2_open_subgraph(const etx_pt2_graph* outer,
                                              const etx_json* json,
                                              etx_pt2_graph* out);
// The list of inputs of a sub-graph, which must be as many as the operands.
ETX_MUST_USE etx_status etx_pt2_subgraph_inputs(etx_pt2_graph* inner,
                                                size_t operands,
                                                const etx_json** out_inputs);
// The position of input `index` of a sub-graph, which must be a tensor or a
// size; SIZE_MAX for a size or an integer.
ETX_MUST_USE etx_status etx_pt2_subgraph_input(etx_pt2_graph* inner,
                                               const etx_json* inputs,
                                               size_t index,
                                               size_t* out_position);
// ETX_UNSUPPORTED if the node says that its sub-graph writes into operands.
ETX_MUST_USE etx_status
etx_pt2_check_operands_unwritten(etx_pt2_graph* graph, const etx_json* inputs);
// The operands at argument `index` of the node: tensors, sizes and integers.
ETX_MUST_USE etx_status etx_pt2_operands(etx_pt2_graph* graph,
                                         const etx_json* inputs, size_t index,
                                         const etx_json** out);
// The position of an operand in tensor_values; SIZE_MAX for a size.
ETX_MUST_USE etx_status etx_pt2_operand(etx_pt2_graph* graph,
                                        const etx_json* operand,
                                        size_t* out_position);
// Marks an operand as read.
ETX_MUST_USE etx_status etx_pt2_mark_operand(etx_pt2_graph* graph,
                                             const etx_json* operand);
// The value of an operand, which must be defined; ETX_IR_NONE for a size or an
// integer.
ETX_MUST_USE etx_status etx_pt2_use_operand(etx_pt2_graph* graph,
                                            const etx_json* operand,
                                            uint32_t* out_value);
// ETX_UNSUPPORTED if `value`, of operand `index` of a loop, is that of a size.
ETX_MUST_USE etx_status etx_pt2_check_is_tensor(etx_pt2_graph* graph,
                                                uint32_t value, size_t index);
// Binds input `index` of a sub-graph to the value of its operand.
ETX_MUST_USE etx_status etx_pt2_bind_input(etx_pt2_graph* inner,
                                           const etx_json* inputs, size_t index,
                                           uint32_t value);
// Gives the undefined name at `position` a state and a value.
ETX_MUST_USE etx_status etx_pt2_bind_name(etx_pt2_graph* graph, size_t position,
                                          uint8_t state, uint32_t value);
// True if two values have the same dtype and sizes.
bool etx_pt2_same_types(const etx_pt2_graph* graph, uint32_t a, uint32_t b);

// ---- pt2_cond.c

// True if the node is a torch.cond.
bool etx_pt2_is_cond(etx_text target);
// A function over all nodes of a sub-graph. pt2_nodes.c passes its functions to
// pt2_cond.c, so that the files have no dependency cycle.
typedef etx_status etx_pt2_visit_nodes(etx_pt2_graph* graph);
// Marks the operands that the sub-graphs read.
ETX_MUST_USE etx_status etx_pt2_mark_cond(etx_pt2_graph* graph,
                                          const etx_json* node,
                                          etx_pt2_visit_nodes* mark_nodes);
// Reads the node with its sub-graphs.
ETX_MUST_USE etx_status etx_pt2_read_cond(etx_pt2_graph* graph,
                                          const etx_json* node,
                                          etx_pt2_visit_nodes* read_nodes);

// ---- pt2_branch_sizes.c

// A number that the branches of a torch.cond decide: a size of one of the
// results, or an integer that they return.
typedef struct etx_pt2_branch_size {
  size_t output;       // the result
  size_t dim;          // its dimension; SIZE_MAX for an integer
  etx_dim size;        // a symbol
  uint32_t late;       // the symbol, counted from 1
  uint32_t values[2];  // by branch: a tensor of one element
  uint32_t joined;     // the same behind the branches
} etx_pt2_branch_size;

typedef struct etx_pt2_branch_sizes {
  etx_pt2_branch_size* items;
  size_t count, capacity;
  size_t ended;  // the number of branches that were read
} etx_pt2_branch_sizes;

// Finds these numbers in the outputs of the node, before its branches,
// `graphs`, are read.
ETX_MUST_USE etx_status etx_pt2_find_branch_sizes(
    etx_pt2_graph* graph, const etx_json* outputs,
    const etx_json* const graphs[2], etx_pt2_branch_sizes* out);
// Behind the nodes of a branch, whose graph is `inner`: computes the numbers,
// and pads those of `results` that depend on them.
ETX_MUST_USE etx_status etx_pt2_end_branch(etx_pt2_graph* outer,
                                           etx_pt2_graph* inner,
                                           const etx_json* outputs,
                                           etx_pt2_branch_sizes* sizes,
                                           etx_ir_arg* results);
// Joins the numbers; `join` has the branches.
ETX_MUST_USE etx_status etx_pt2_join_branch_sizes(etx_pt2_graph* graph,
                                                  etx_ir_join join,
                                                  etx_pt2_branch_sizes* sizes);
// If the output has sizes that the branches decide: a new value of the padded
// type, which the next node defines. Otherwise ETX_IR_NONE.
ETX_MUST_USE etx_status etx_pt2_padded_result(etx_pt2_graph* graph,
                                              const etx_json* output,
                                              const etx_pt2_branch_sizes* sizes,
                                              uint32_t* out_value);
// Behind all joins: sets the symbols, and binds the names of these outputs to
// the parts of `padded` that have the actual sizes.
ETX_MUST_USE etx_status etx_pt2_cut_results(etx_pt2_graph* graph,
                                            const etx_json* outputs,
                                            const etx_pt2_branch_sizes* sizes,
                                            const uint32_t* padded);

// ---- pt2_while.c

// True if the node is a torch.while_loop.
bool etx_pt2_is_while(etx_text target);
// Marks the operands of the loop, all of which count as read.
ETX_MUST_USE etx_status etx_pt2_mark_while(etx_pt2_graph* graph,
                                           const etx_json* node,
                                           etx_pt2_visit_nodes* mark_nodes);
// Reads the node with its sub-graphs.
ETX_MUST_USE etx_status etx_pt2_read_while(etx_pt2_graph* graph,
                                           const etx_json* node,
                                           etx_pt2_visit_nodes* read_nodes);

// Argument `index` of a loop, which must be a graph.
ETX_MUST_USE etx_status etx_pt2_graph_argument(etx_pt2_graph* graph,
                                               const etx_json* inputs,
                                               size_t index,
                                               const etx_json** out);
// Marks the names that a sub-graph reads.
ETX_MUST_USE etx_status etx_pt2_mark_graph(etx_pt2_graph* graph,
                                           const etx_json* json,
                                           etx_pt2_visit_nodes* mark_nodes);
// A sub-graph that is to be added to the method.
typedef struct etx_pt2_loop_graph {
  const etx_json* json;
  uint32_t branch;
  const uint32_t* operands;  // values of its inputs; ETX_IR_NONE: a size
  size_t operand_count;
  size_t result_count;
} etx_pt2_loop_graph;
// Adds the nodes of a sub-graph. `results` are the values of its outputs.
ETX_MUST_USE etx_status etx_pt2_add_graph(etx_pt2_graph* graph,
                                          const etx_pt2_loop_graph* g,
                                          etx_pt2_visit_nodes* read_nodes,
                                          uint32_t* results);

// ---- pt2_scan.c

// Marks the operands, all of which count as read.
ETX_MUST_USE etx_status etx_pt2_mark_scan(etx_pt2_graph* graph,
                                          const etx_json* node,
                                          etx_pt2_visit_nodes* mark_nodes);
// Reads the node with its sub-graph.
ETX_MUST_USE etx_status etx_pt2_read_scan(etx_pt2_graph* graph,
                                          const etx_json* node,
                                          etx_pt2_visit_nodes* read_nodes);

// ---- pt2_steps.c, unrolling

// Reads a scan or map as the nodes of all its steps if they are few, and
// `out_together` is 0. Otherwise it is the number of steps of an iteration.
ETX_MUST_USE etx_status etx_pt2_unroll_scan(etx_pt2_graph* graph,
                                            const etx_json* node,
                                            etx_pt2_visit_nodes* read_nodes,
                                            size_t* out_together);

// ---- pt2_steps.c, the count

// True if the node is a scan or a map.
bool etx_pt2_is_scan(etx_text target);

// ---- pt2_steps.c

// Steps of a map or scan, one after the other.
typedef struct etx_pt2_steps {
  const etx_json* body;      // a Graph
  const uint32_t* operands;  // in the order of the body's inputs: carried
                             // values, operands with rows, others
  size_t carried, with_rows, invariant;
  size_t result_count;  // of the body: carried values, then rows
  size_t first, count;  // the rows of the steps
} etx_pt2_steps;

// Adds the nodes of the steps, in the branch of `graph`. `results` starts with
// the carried values before the first step and gets the results of the last
// one. `rows` gets the rows of all steps: `count` for each stacked result.
ETX_MUST_USE etx_status etx_pt2_add_steps(etx_pt2_graph* graph,
                                          const etx_pt2_steps* p,
                                          etx_pt2_visit_nodes* read_nodes,
                                          uint32_t* results, etx_ir_arg* rows);
// Adds a node that stacks rows. `result` has the name and the type.
ETX_MUST_USE etx_status etx_pt2_stack_rows(etx_pt2_graph* graph,
                                           const etx_ir_arg* rows, size_t count,
                                           const etx_ir_value* result,
                                           uint32_t* out_value);

// ---- pt2_item_calls.c

// True for item() and _local_scalar_dense(), which read a number from a tensor.
bool etx_pt2_is_item_call(etx_text target);
// True if something other than assertions uses the number.
bool etx_pt2_is_item_used(const etx_pt2_graph* graph, const etx_json* node);

// ---- pt2_own_operators.c

// Replaces nodes of auto_functionalized_v2 around operators of the application
// by nodes of these. To be called before etx_pt2_alloc_names.
ETX_MUST_USE etx_status etx_pt2_replace_functionalized(etx_pt2_graph* graph);
// True for a node of auto_functionalized_v2, which was not replaced.
bool etx_pt2_is_functionalized(etx_text target);
// Adds the new contents of the arguments that `own` changes to the values that
// `node` computes, unless the archive has names for them.
ETX_MUST_USE etx_status etx_pt2_add_contents(etx_pt2_graph* graph,
                                             const etx_own_entry* own,
                                             etx_ir_node* node);
// Completes a node that etx_pt2_add_contents has extended: the new contents
// become the values of its arguments. `inputs` are those of the archive.
ETX_MUST_USE etx_status etx_pt2_write_contents(etx_pt2_graph* graph,
                                               const etx_own_entry* own,
                                               const etx_json* inputs,
                                               const etx_ir_node* node);
// Reports an operator of another library, with the lines that describe it to
// `etx plan --ops`, from the arguments and the types of one call.
ETX_MUST_USE etx_status etx_pt2_report_own(etx_pt2_graph* graph,
                                           const etx_json* node,
                                           etx_text target);

// ---- pt2_vmap.c

// Replaces the nodes of each torch.vmap by one map node. To be called after
// etx_pt2_inline_wrappers and before etx_pt2_alloc_names.
ETX_MUST_USE etx_status etx_pt2_group_vmaps(etx_pt2_graph* graph);

// ---- pt2_associative.c

// Replaces each associative_scan node by a scan. To be called before
// etx_pt2_alloc_names.
ETX_MUST_USE etx_status etx_pt2_replace_associative_scans(etx_pt2_graph* graph);

// ---- pt2_data_numbers.c

// Reads item() of a tensor of floats or truth values; `result` is the Argument
// of its result. False for other types.
ETX_MUST_USE etx_status etx_pt2_read_number_item(etx_pt2_graph* graph,
                                                 uint32_t tensor,
                                                 const etx_json* result,
                                                 bool* out_is_read);
// True if a node reads or computes doubles.
bool etx_pt2_has_doubles(const etx_pt2_graph* graph, const etx_json* node);
// Finds the tensor for an argument that is a float or truth value that item()
// has read, or that is computed from such numbers.
bool etx_pt2_find_number(const etx_pt2_graph* graph, const etx_json* argument,
                         uint32_t* out_value);
// True if a node reads a float or truth value that item() has read.
bool etx_pt2_reads_number(const etx_pt2_graph* graph, const etx_json* node);
// The tensor for an argument of `node` that is such a number, else ETX_IR_NONE.
ETX_MUST_USE etx_status etx_pt2_use_number(etx_pt2_graph* graph,
                                           const etx_json* node,
                                           const etx_json* argument,
                                           uint32_t* out_value);
// The form of an operator that takes tensors instead of numbers: aten.gt.Tensor
// for aten.gt.Scalar. NULL if there is none.
const etx_aten_schema* etx_pt2_tensor_form(etx_pt2_graph* graph, etx_text aten);
// Reads a node `aten` that fills a new tensor with such a number. False for
// other nodes.
ETX_MUST_USE etx_status etx_pt2_read_filled(etx_pt2_graph* graph,
                                            const etx_json* node, etx_text aten,
                                            bool* out_is_read);
// Reads a function of such numbers; other nodes are left out.
ETX_MUST_USE etx_status etx_pt2_compute_number(etx_pt2_graph* graph,
                                               const etx_json* node,
                                               etx_text target);

// ---- pt2_inline.c

// Replaces with_effects nodes by the calls that they wrap, and drops their
// tokens from the signature. To be called before etx_pt2_inline_wrappers.
ETX_MUST_USE etx_status etx_pt2_unwrap_effects(etx_pt2_graph* graph);

// Inlines the graphs of torch.no_grad and torch.autocast nodes. To be called
// before etx_pt2_alloc_names, since it adds names to the tables.
ETX_MUST_USE etx_status etx_pt2_inline_wrappers(etx_pt2_graph* graph);

// ---- pt2_arguments.c

// Allocates the tables by position in tensor_values; all names are undefined.
ETX_MUST_USE etx_status etx_pt2_alloc_names(etx_pt2_graph* graph);
// Position of a tensor's name in tensor_values.
ETX_MUST_USE etx_status etx_pt2_find_tensor(etx_pt2_graph* graph, etx_text name,
                                            size_t* out_position);
// The value of a tensor's name, which must be defined.
ETX_MUST_USE etx_status etx_pt2_use_tensor(etx_pt2_graph* graph, etx_text name,
                                           uint32_t* out_value);
// An Argument of any kind that the IR has. Other kinds are reported as
// unsupported, and the argument is None.
ETX_MUST_USE etx_status etx_pt2_argument(etx_pt2_graph* graph,
                                         const etx_json* argument,
                                         etx_ir_arg* out_arg);

// Reports an unsupported construct: "<context>: <what> '<name>' is not
// supported".
void etx_pt2_report_unsupported(etx_pt2_graph* graph, const char* what,
                                etx_text name);

#endif
