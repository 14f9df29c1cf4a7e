// The exporter's IR: functional ATen graphs of several methods over one set of
// buffers.
//
//   module ── buffers (by fully qualified name)   constants (by content)
//      └── methods ── symbols, values, nodes, inputs, outputs, mutations
//
// The IR is in SSA form: a value has one definition and never changes. State
// changes only through mutations: when the method ends, a value becomes the new
// content of a buffer or of a mutable input, for all mutations at once. This is
// the form that torch.export gives. Nodes are in executable order; nodes of
// conditionals have a branch (ir_cond.h).
//
// A node is either imported or lowered. An imported node names an ATen operator
// as PyTorch prints it (`aten`); its arguments are in the order of the schema,
// and the types of its outputs may be unknown. The pass `lower` rewrites
// imported nodes into lowered nodes, which have a row of format/ops (`op`) and
// known output types. Later passes see lowered nodes only.
//
// All memory is from the module's pool. Entries refer to each other by index,
// not by pointer, so arrays may grow.

#ifndef ETX_EXPORTER_IR_IR_H
#define ETX_EXPORTER_IR_IR_H

#include "exporter/ir/name_index.h"
#include "exporter/symbols/symbol.h"
#include "format/base/diag.h"
#include "format/cache_table/cache_table.h"
#include "format/memory_table/memory_table.h"
#include "format/ops/op_schema.h"
#include "format/own_ops/own_operator_list.h"
#include "format/shapes/op_shapes.h"

#define ETX_IR_NONE UINT32_MAX

// A location in the user's files, for messages.
typedef struct etx_source_location {
  etx_text file;  // path as given, may be empty
  uint32_t line;  // 1-based, 0 if the format has none (.pt2)
  uint32_t column;
  etx_text node;         // name of the node in an archive, may be empty
  etx_text trace;        // "model.py:12 return x @ w", may be empty
  etx_text source_file;  // Python file of that line, may be empty
  uint32_t source_line;  // line in it; 0: not known
  etx_text module;       // torch.nn.Module that the node is from, may be empty
  uint32_t imported;     // imported node that this node is from, counted from
                         // 1; 0: not known (source_lines.h)
} etx_source_location;

typedef struct etx_ir_constant {
  etx_dtype dtype;
  uint8_t rank;
  int64_t sizes[ETX_MAX_RANK];
  etx_bytes data;  // dense, row-major; size 0 only if there is no element
} etx_ir_constant;

// A constant whose bytes are bytes of another one, which has more. The file
// holds them once if it has both.
typedef struct etx_ir_part {
  uint32_t constant;
  uint32_t whole;   // the constant that contains it
  uint64_t offset;  // its first byte in `whole`
} etx_ir_part;

// How rows are appended to a state (cache_table.h).
typedef struct etx_ir_cache {
  bool
      is_cache;  // false: the state is not a cache, and the rest has no meaning
  uint8_t dim;   // dimension of the rows
  etx_cache_overflow overflow;
  uint32_t counter;  // buffer that counts the rows, or ETX_IR_NONE
} etx_ir_cache;

// A named tensor of the module: parameter, buffer, state.
typedef struct etx_ir_buffer {
  etx_text name;  // fully qualified
  etx_dtype dtype;
  uint8_t rank;
  int64_t sizes[ETX_MAX_RANK];
  uint32_t initial;  // constant of the same type, or ETX_IR_NONE: zeros
                     // (allowed for state only)
  bool is_state;     // declared shared, or mutated by some method
  etx_ir_cache cache;
  etx_source_location place;
} etx_ir_buffer;

typedef enum etx_ir_origin {
  ETX_IR_FROM_NODE,      // index: node
  ETX_IR_FROM_INPUT,     // index: position among the inputs
  ETX_IR_FROM_BUFFER,    // index: buffer of the module
  ETX_IR_FROM_CONSTANT,  // index: constant of the module
} etx_ir_origin;

// A tensor of a method.
typedef struct etx_ir_value {
  etx_text name;    // unique in the method
  bool has_shape;   // false: not inferred yet
  etx_shape shape;  // dims may be handles of the method's symbols
  etx_ir_origin origin;
  uint32_t index;
} etx_ir_value;

typedef enum etx_ir_arg_kind {
  ETX_IR_ARG_NONE,
  ETX_IR_ARG_VALUE,  // a tensor: index of a value
  ETX_IR_ARG_INT,    // an integer or a symbolic one
  ETX_IR_ARG_DOUBLE,
  ETX_IR_ARG_BOOL,
  ETX_IR_ARG_STRING,
  ETX_IR_ARG_DTYPE,
  ETX_IR_ARG_LIST,  // items of the other kinds; None only among values
} etx_ir_arg_kind;

typedef struct etx_ir_arg {
  etx_ir_arg_kind kind;
  union {
    uint32_t value;
    etx_dim integer;
    double real;
    bool boolean;
    etx_text string;
    etx_dtype dtype;
    struct {
      struct etx_ir_arg* items;
      size_t count;
    } list;
  } as;
} etx_ir_arg;

typedef struct etx_ir_node {
  etx_text aten;     // "aten.add.Tensor"; kept after lowering for messages
  const etx_op* op;  // NULL until lowered
  etx_ir_arg* args;  // imported: schema order, left-out ones may be missing at
                     // the end; lowered: all arguments but the outs, defaults
                     // filled in
  size_t arg_count;
  etx_text* arg_names;  // imported only: keyword of each argument, or empty
  uint32_t* outputs;    // values; ETX_IR_NONE for an output without uses
  size_t output_count;
  etx_source_location place;
  uint32_t branch;  // 0: it always runs (ir_cond.h)
  uint32_t cond;    // conditional of a branch head or join; 0: any other node
  uint32_t late;    // the symbol that the node sets from data, counted from 1;
                    // 0: none. It is a size of the first output, or, for
                    // _local_scalar_dense, the number that is read
  bool keeps_copy;  // a copy that must not become a view of its argument
  bool is_parted;   // a concatenation that a pass made when it split one node:
                    // the operands should be computed in place (elide_concat.c)
} etx_ir_node;

// A conditional of a method (ir_cond.h).
typedef struct etx_ir_cond {
  uint32_t parent;  // the branch that contains it
  bool is_loop;     // the first branch repeats while the condition holds
} etx_ir_cond;

typedef struct etx_ir_input {
  etx_text name;
  etx_ir_arg arg;   // VALUE: a tensor. INT with a handle: a dynamic integer.
                    // Anything else was fixed at export: the caller must pass
                    // exactly this value
  bool is_mutable;  // some mutation writes it
  etx_source_location place;
} etx_ir_input;

typedef enum etx_ir_lifetime {
  ETX_IR_SCRATCH,  // valid until the next call of any method
  ETX_IR_STABLE,   // valid until the next call of the same method
} etx_ir_lifetime;

typedef struct etx_ir_output {
  etx_text name;
  etx_ir_arg arg;  // VALUE, INT (maybe symbolic), DOUBLE, BOOL, STRING or NONE
  // VALUE: the output is the number in a tensor of one element, not the tensor.
  bool is_number;
  etx_ir_lifetime lifetime;
} etx_ir_output;

typedef struct etx_ir_mutation {
  bool is_input;    // target is an input of the method, else a buffer
  uint32_t target;  // input position or buffer index
  uint32_t value;   // its new content
  etx_source_location place;
} etx_ir_mutation;

// The first value of each constant or buffer, plus 1; 0: there is none.
typedef struct etx_ir_first_values {
  uint32_t* items;
  size_t count;
} etx_ir_first_values;

typedef struct etx_ir_method {
  etx_text name;
  etx_text file;
  etx_symbols symbols;
  etx_ir_value* values;
  size_t value_count, value_capacity;
  etx_name_index value_names;           // of `values`
  uint64_t checked_names;               // private to ir_verify.c
  etx_ir_first_values constant_values;  // by constant and by buffer,
  etx_ir_first_values buffer_values;    // private to ir.c
  etx_ir_node* nodes;
  size_t node_count, node_capacity;
  size_t node_reserve;       // private to ir.c, as the next two: the capacity
                             // of `nodes` while a pass writes the list anew
  etx_ir_node* spare_nodes;  // for the next list that is written anew
  size_t spare_capacity;
  etx_ir_input* inputs;
  size_t input_count, input_capacity;
  etx_ir_output* outputs;
  size_t output_count, output_capacity;
  etx_ir_mutation* mutations;
  size_t mutation_count, mutation_capacity;
  etx_ir_cond* conds;  // conditional n is conds[n - 1]
  size_t cond_count, cond_capacity;
  bool is_synthetic;  // generated by etx (et_module_init)
} etx_ir_method;

// A constant method: a named value that is read without running anything.
typedef struct etx_ir_constant_method {
  etx_text name;
  etx_ir_arg arg;     // INT, DOUBLE, BOOL, STRING or a LIST of them, or
  uint32_t constant;  // a tensor; ETX_IR_NONE if `arg` holds the value
  etx_source_location place;
} etx_ir_constant_method;

// Two methods that may run at the same time, in the order of their names.
typedef struct etx_ir_pair {
  etx_text first;
  etx_text second;
} etx_ir_pair;

// A rule which weights are quantised (quantize_rules.h).
typedef struct etx_quantize_rule {
  etx_text text;       // as it was written
  etx_text* patterns;  // of names; no pattern: all weights
  size_t pattern_count;
  uint8_t bits;      // 16, 8 or 4; 0: the weights are not quantised
  etx_dtype half;    // with 16 bits: FLOAT16 or BFLOAT16
  uint8_t group;     // elements for each scale, for 4 bits
  bool keeps_rows;   // weight-only: activations stay floats
  bool has_offsets;  // int4k: groups have offsets
  size_t rounded;    // weights that were quantised by this rule
} etx_quantize_rule;

// A cap of a size or integer that data decide: the option --cap (size_caps.h).
typedef struct etx_size_cap {
  etx_text name;  // `u0` or `method.u0`
  int64_t most;
  bool is_used;
} etx_size_cap;

// Weights from a GGUF file (read_gguf/gguf_weights.h).
typedef struct etx_ir_weights {
  etx_text path;   // empty: the weights of the graphs are used
  etx_text names;  // path of a file with pairs of names; empty: none
  // Set when the file was read:
  etx_text types;        // "120 q4_K, 49 f32": tensors of each type
  size_t tensor_count;   // of the file
  size_t rounded_count;  // of weights that float16 or bfloat16 of the graph
                         // changed
} etx_ir_weights;

// An operator of the application (own_operators.h).
typedef struct etx_ir_own {
  const etx_own_entry* entry;
  const struct etx_aten_schema* schema;
} etx_ir_own;

typedef struct etx_ir_module {
  etx_pool* pool;
  etx_ir_method* methods;
  size_t method_count, method_capacity;
  etx_ir_buffer* buffers;
  size_t buffer_count, buffer_capacity;
  etx_name_index buffer_names;  // of `buffers`
  etx_ir_constant* constants;
  size_t constant_count, constant_capacity;
  etx_ir_part* parts;  // at most one for each constant
  size_t part_count, part_capacity;
  etx_ir_constant_method* constant_methods;
  size_t constant_method_count, constant_method_capacity;
  etx_memory_row* memories;  // the fastest first (memory_list.h); none: one
                             // memory without limit
  size_t memory_count, memory_capacity;
  etx_ir_pair* concurrent;  // sorted, no duplicates (concurrent_methods.h)
  size_t concurrent_count, concurrent_capacity;
  etx_quantize_rule* quantize;  // in order: the last that matches decides
  size_t quantize_count, quantize_capacity;
  etx_dtype cache_type;  // of caches of float32 (cache_type.h); FLOAT32: they
                         // stay as they are
  etx_size_cap* caps;
  size_t cap_count, cap_capacity;
  etx_ir_weights weights;
  etx_ir_own* own;  // operators of the application
  size_t own_count, own_capacity;
  etx_text* skipped;  // why variants that were asked for are not made
  size_t skipped_count, skipped_capacity;
  // Most nodes that one map or scan may become when its iterations are
  // unrolled. More would make the file large and planning slow.
  uint64_t unroll_limit;
  uint64_t* constant_hashes;  // of the bytes of each constant, as the next two
  uint32_t* constant_table;   // private to ir.c: a hash table by content
  size_t constant_table_size;
  uint64_t alignment;  // of planned values: program.yaml `align`
} etx_ir_module;

void etx_ir_module_init(etx_ir_module* module, etx_pool* pool);

ETX_MUST_USE etx_status etx_ir_add_method(etx_ir_module* module, etx_text name,
                                          uint32_t* out_index);

// Finds or adds a constant: constants of equal dtype, sizes and bytes have one
// entry. The data is borrowed and must live as long as the pool.
ETX_MUST_USE etx_status etx_ir_add_constant(etx_ir_module* module,
                                            const etx_ir_constant* constant,
                                            uint32_t* out_index);

// Gives constant i the number to[i], one of `count`; those of ETX_IR_NONE are
// dropped. What refers to constants is not changed.
ETX_MUST_USE etx_status etx_ir_renumber_constants(etx_ir_module* module,
                                                  const uint32_t* to,
                                                  size_t count);

bool etx_ir_find_buffer(const etx_ir_module* module, etx_text name,
                        uint32_t* out_index);
ETX_MUST_USE etx_status etx_ir_add_buffer(etx_ir_module* module,
                                          const etx_ir_buffer* buffer,
                                          uint32_t* out_index);

// Gives the module another list of `count` buffers.
ETX_MUST_USE etx_status etx_ir_set_buffers(etx_ir_module* module,
                                           etx_ir_buffer* buffers,
                                           size_t count);

// Finds a constant of equal type, sizes and bytes.
bool etx_ir_find_constant(const etx_ir_module* module,
                          const etx_ir_constant* constant, uint32_t* out_index);

// What is known of a constant as a part of another one; NULL: nothing.
const etx_ir_part* etx_ir_find_part(const etx_ir_module* module,
                                    uint32_t constant);
ETX_MUST_USE etx_status etx_ir_add_part(etx_ir_module* module,
                                        const etx_ir_part* part);

// Finds a method by name.
bool etx_ir_find_method(const etx_ir_module* module, etx_text name,
                        uint32_t* out_index);

// Finds a value of a method by name.
bool etx_ir_find_value(const etx_ir_method* method, etx_text name,
                       uint32_t* out_index);

// Adds a value to a method. The name is made unique by a suffix if needed; an
// empty name becomes "v<index>".
ETX_MUST_USE etx_status etx_ir_add_value(etx_ir_module* module,
                                         etx_ir_method* method,
                                         const etx_ir_value* value,
                                         uint32_t* out_index);

// Removes the values that are not to be kept; the others keep their order and
// names. Value i gets the number out_map[i], or ETX_IR_NONE. What refers to
// values is not changed.
ETX_MUST_USE etx_status etx_ir_keep_values(etx_ir_module* module,
                                           etx_ir_method* method,
                                           const bool* keep, uint32_t* out_map);

// The value of a buffer or constant in a method; it is added if the method has
// none yet.
ETX_MUST_USE etx_status etx_ir_buffer_value(etx_ir_module* module,
                                            etx_ir_method* method,
                                            uint32_t buffer,
                                            uint32_t* out_value);
ETX_MUST_USE etx_status etx_ir_constant_value(etx_ir_module* module,
                                              etx_ir_method* method,
                                              uint32_t constant,
                                              uint32_t* out_value);

// Makes room for so many values and nodes in all. Without it the tables double
// when they are full, and the old ones stay in the pool.
ETX_MUST_USE etx_status etx_ir_reserve(etx_ir_module* module,
                                       etx_ir_method* method,
                                       size_t value_count, size_t node_count);

// Starts an empty list of nodes, for a pass that writes all of them anew. The
// old list stays readable until the next one is started.
void etx_ir_restart_nodes(etx_ir_method* method);

// Gives the method another list of nodes, with room for `count`.
void etx_ir_set_nodes(etx_ir_method* method, etx_ir_node* nodes, size_t count);

// Appends a node; arrays are copied into the pool.
ETX_MUST_USE etx_status etx_ir_add_node(etx_ir_module* module,
                                        etx_ir_method* method,
                                        const etx_ir_node* node,
                                        uint32_t* out_index);

// Appends a node of the list that etx_ir_restart_nodes ended: it takes over the
// arrays of the old entry. As long as the first nodes stay the same, the new
// list is the old one, and nothing is copied.
ETX_MUST_USE etx_status etx_ir_keep_node(etx_ir_module* module,
                                         etx_ir_method* method,
                                         const etx_ir_node* node,
                                         uint32_t* out_index);

// Position of a value among the method's mutations of buffers, or
// ETX_IR_NONE.
uint32_t etx_ir_mutation_of_buffer(const etx_ir_method* method,
                                   uint32_t buffer);

// True if both arguments are the same: floats by their bits, lists item by
// item.
bool etx_ir_args_equal(const etx_ir_arg* a, const etx_ir_arg* b);

static inline etx_ir_arg etx_ir_int(etx_dim integer) {
  etx_ir_arg arg = {ETX_IR_ARG_INT, {0}};
  arg.as.integer = integer;
  return arg;
}
static inline etx_ir_arg etx_ir_value_arg(uint32_t value) {
  etx_ir_arg arg = {ETX_IR_ARG_VALUE, {0}};
  arg.as.value = value;
  return arg;
}

// The upper bounds of a shape's dims, and its bytes at these bounds. False on
// overflow.
bool etx_ir_upper_sizes(const etx_ir_method* method, const etx_shape* shape,
                        int64_t out_sizes[ETX_MAX_RANK]);
bool etx_ir_upper_bytes(const etx_ir_method* method, const etx_shape* shape,
                        uint64_t* out_bytes);
// True if no dim is symbolic.
bool etx_ir_is_static(const etx_shape* shape);

// Computes all sizes of a method again after the bounds of symbols have changed
// (etx_symbols_set_bounds).
ETX_MUST_USE etx_status etx_ir_refresh_sizes(etx_ir_method* method);

// Replaces a symbol, which is not a late one, in all sizes of a method
// (etx_symbols_replace).
ETX_MUST_USE etx_status etx_ir_replace_symbol(etx_ir_method* method,
                                              const etx_symbol_replacement* by);

// Checks the invariants between passes: indexes in range, definitions before
// uses, unique names, types present after lowering, types of mutations.
// ETX_INTERNAL if one is violated.
ETX_MUST_USE etx_status etx_ir_verify(etx_ir_module* module, bool is_lowered,
                                      etx_diag* diag);

// Receives all problems of the user's files, not only the first one, as
// `etx check` shows them.
typedef struct etx_problems {
  void (*report)(void* context, const etx_source_location* place,
                 etx_text message);
  void* context;
  size_t count;  // problems reported so far
} etx_problems;

// Reports one problem; the format is that of diag.h.
void etx_problem(etx_problems* problems, const etx_source_location* place,
                 const char* format, ...);

#endif
