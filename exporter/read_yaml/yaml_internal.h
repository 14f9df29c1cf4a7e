// Declarations shared by the files of the YAML reader: read_yaml.c and yaml_*.c
// only.

#ifndef ETX_EXPORTER_READ_YAML_YAML_INTERNAL_H
#define ETX_EXPORTER_READ_YAML_YAML_INTERNAL_H

#include "exporter/import/import.h"
#include "exporter/import/weight_files.h"

// A buffer or constant that the file lists. It becomes a value of the method
// only if something refers to it.
typedef struct etx_yaml_stored {
  etx_text value_name;
  const etx_yaml* node;
  bool is_constant;
  bool is_used;
  uint32_t buffer;  // index in the module; ETX_IR_NONE until it is declared
} etx_yaml_stored;

typedef struct etx_yaml_method {
  etx_import* import;
  etx_weight_files* weights;
  etx_ir_module* module;
  uint32_t method_index;
  etx_ir_method* method;
  etx_pool* pool;
  // The text of the file and the nodes of its tree, which end with the reading:
  // what the module keeps of them are texts, which are in `pool`, and copies.
  etx_pool tree;
  etx_source_location place;  // file
  const etx_yaml* root;
  uint32_t branch;  // the branch whose nodes are being read; 0: the method
  etx_yaml_stored* stored;
  size_t stored_count, stored_capacity;
  etx_name_index output_names;  // of the method's outputs so far
} etx_yaml_method;

// Reports the error of a call, whose message is in `diag`, and returns ETX_OK.
// ETX_OUT_OF_MEMORY is returned.
ETX_MUST_USE etx_status etx_yaml_report(etx_yaml_method* m, etx_status status,
                                        const etx_yaml* node,
                                        const etx_diag* diag);

// Parses a type such as "float32[b, 4]".
ETX_MUST_USE etx_status etx_yaml_shape(etx_yaml_method* m, const etx_yaml* node,
                                       etx_shape* out_shape, etx_diag* diag);

// Parses a size: an integer, or an expression over the method's symbols.
ETX_MUST_USE etx_status etx_yaml_size(etx_yaml_method* m, const etx_yaml* node,
                                      etx_dim* out, etx_diag* diag);

// Finds a value by name. An unknown name is an error that suggests the nearest
// one.
ETX_MUST_USE etx_status etx_yaml_value_named(etx_yaml_method* m,
                                             const etx_yaml* node,
                                             uint32_t* out_value,
                                             etx_diag* diag);

// Reads a number, bool, null or {str: ...} as an argument.
ETX_MUST_USE etx_status etx_yaml_literal(const etx_yaml* node,
                                         etx_ir_arg* out_arg, etx_diag* diag);

// Adds a value under exactly the name value->name; a name in use is an error.
ETX_MUST_USE etx_status etx_yaml_add_value(etx_yaml_method* m,
                                           const etx_yaml* node,
                                           const etx_ir_value* value,
                                           uint32_t* out_value, etx_diag* diag);

// Returns `status`, the result of reading an input, buffer or constant. After
// an error it defines the name of `node` nevertheless, so that uses of the name
// do not cause further errors.
ETX_MUST_USE etx_status etx_yaml_define_despite_error(etx_yaml_method* m,
                                                      const etx_yaml* node,
                                                      etx_status status);

// A reader of one entry of `nodes`. The reader of nodes passes itself to the
// reader of conditionals, whose branches contain nodes, so that the files do
// not form a dependency cycle.
typedef etx_status etx_yaml_read_function(etx_yaml_method* m,
                                          const etx_yaml* node);

// Reads one entry of `nodes`. Errors are reported, and the outputs are defined
// nevertheless.
ETX_MUST_USE etx_status etx_yaml_read_node(etx_yaml_method* m,
                                           const etx_yaml* node);

// The same for an entry with `if` or `while`; `read_node` reads the nodes of
// its branches.
ETX_MUST_USE etx_status etx_yaml_read_cond(etx_yaml_method* m,
                                           const etx_yaml* node,
                                           etx_yaml_read_function* read_node);

// The same for an entry with `scan`, which becomes a loop.
ETX_MUST_USE etx_status etx_yaml_read_scan(etx_yaml_method* m,
                                           const etx_yaml* node,
                                           etx_yaml_read_function* read_node);

// Defines the names under `out` of a malformed conditional or loop, so that
// their uses do not cause further errors.
ETX_MUST_USE etx_status etx_yaml_define_outputs(etx_yaml_method* m,
                                                const etx_yaml* node);

// True for null.
bool etx_yaml_is_null(const etx_yaml* node);

// Appends a buffer or constant to m->stored. It is read by etx_yaml_read_stored
// when its uses are known.
ETX_MUST_USE etx_status etx_yaml_list_stored(etx_yaml_method* m,
                                             const etx_yaml* node,
                                             bool is_constant, etx_diag* diag);

// Declares the listed buffers to the import and defines values for the buffers
// and constants that the method uses.
ETX_MUST_USE etx_status etx_yaml_read_stored(etx_yaml_method* m);

// Reads an entry of `outputs`; `name` is its key in a map, or NULL in a list.
ETX_MUST_USE etx_status etx_yaml_read_output(etx_yaml_method* m,
                                             const etx_yaml* name,
                                             const etx_yaml* node,
                                             etx_diag* diag);

// Reads an entry of `mutates`: `key` is the target, `node` its new content.
ETX_MUST_USE etx_status etx_yaml_read_mutation(etx_yaml_method* m,
                                               const etx_yaml* key,
                                               const etx_yaml* node,
                                               etx_diag* diag);

#endif
