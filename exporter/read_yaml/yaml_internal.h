// Parts of the reader of YAML methods, for read_yaml.c and yaml_*.c only.

#ifndef ETX_EXPORTER_READ_YAML_YAML_INTERNAL_H
#define ETX_EXPORTER_READ_YAML_YAML_INTERNAL_H

#include "exporter/import/import.h"
#include "exporter/import/weight_files.h"

// A buffer or constant that the file lists: it becomes a value when something
// refers to it.
typedef struct etx_yaml_stored {
  etx_text value_name;
  const etx_yaml* node;
  bool is_constant;
  bool is_used;
  uint32_t buffer;  // of a buffer, once claimed
} etx_yaml_stored;

typedef struct etx_yaml_method {
  etx_import* import;
  etx_weight_files* weights;
  etx_ir_module* module;
  uint32_t method_index;
  etx_ir_method* method;
  etx_pool* pool;
  etx_source_location place;  // file
  const etx_yaml* root;
  uint32_t branch;  // that the nodes being read stand in
  etx_yaml_stored* stored;
  size_t stored_count, stored_capacity;
} etx_yaml_method;

// Reports what a call left in `diag` and goes on; other failures are returned.
ETX_MUST_USE etx_status etx_yaml_report(etx_yaml_method* m, etx_status status,
                                        const etx_yaml* node,
                                        const etx_diag* diag);

// "float32[b, 4]" at a node.
ETX_MUST_USE etx_status etx_yaml_shape(etx_yaml_method* m, const etx_yaml* node,
                                       etx_shape* out_shape, etx_diag* diag);

// A size: an integer, or an expression of the method's symbols.
ETX_MUST_USE etx_status etx_yaml_size(etx_yaml_method* m, const etx_yaml* node,
                                      etx_dim* out, etx_diag* diag);

// The value that a name stands for, or a refusal with the nearest one.
ETX_MUST_USE etx_status etx_yaml_value_named(etx_yaml_method* m,
                                             const etx_yaml* node,
                                             uint32_t* out_value,
                                             etx_diag* diag);

// A number, text or null as an argument; {str: ...} for texts.
ETX_MUST_USE etx_status etx_yaml_literal(const etx_yaml* node,
                                         etx_ir_arg* out_arg, etx_diag* diag);

// Adds a value of that exact name; a name that is taken is refused.
ETX_MUST_USE etx_status etx_yaml_add_value(etx_yaml_method* m,
                                           const etx_yaml* node,
                                           const etx_ir_value* value,
                                           uint32_t* out_value, etx_diag* diag);

// Hands on the status of reading an input, a buffer or a constant; what could
// not be read has its name all the same, so that what reads it is no mistake.
ETX_MUST_USE etx_status etx_yaml_define_despite_error(etx_yaml_method* m,
                                                      const etx_yaml* node,
                                                      etx_status status);

// A reader of one entry of `nodes`. Branches hold nodes: the reader of nodes
// hands itself to the reader of branches.
typedef etx_status etx_yaml_read_function(etx_yaml_method* m,
                                          const etx_yaml* node);

// Reads one entry of `nodes`; what is wrong with it is reported, and its
// outputs are defined all the same.
ETX_MUST_USE etx_status etx_yaml_read_node(etx_yaml_method* m,
                                           const etx_yaml* node);

// The same for one with `if`, whose branches are read by `read_node`.
ETX_MUST_USE etx_status etx_yaml_read_cond(etx_yaml_method* m,
                                           const etx_yaml* node,
                                           etx_yaml_read_function* read_node);
// True if the nodes being read may name the value.
bool etx_yaml_is_visible(const etx_yaml_method* m, uint32_t value);
// True for null.
bool etx_yaml_is_null(const etx_yaml* node);

// Lists a buffer or constant, to be read once its uses are known.
ETX_MUST_USE etx_status etx_yaml_list_stored(etx_yaml_method* m,
                                             const etx_yaml* node,
                                             bool is_constant, etx_diag* diag);

// Claims the listed buffers and defines what the method refers to.
ETX_MUST_USE etx_status etx_yaml_read_stored(etx_yaml_method* m);

// An entry of `outputs`; `name` is its key in a map, or NULL.
ETX_MUST_USE etx_status etx_yaml_read_output(etx_yaml_method* m,
                                             const etx_yaml* name,
                                             const etx_yaml* node,
                                             etx_diag* diag);

// An entry of `mutates`.
ETX_MUST_USE etx_status etx_yaml_read_mutation(etx_yaml_method* m,
                                               const etx_yaml* key,
                                               const etx_yaml* node,
                                               etx_diag* diag);

#endif
