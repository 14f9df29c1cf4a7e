// Schemas of the functional ATen operators that a graph may use.
//
// Readers complete the arguments of every node with them: after import a node
// has exactly one argument for each of its schema, in order, with defaults
// filled in, whichever way it was written down.

#ifndef ETX_EXPORTER_IR_ATEN_SCHEMA_H
#define ETX_EXPORTER_IR_ATEN_SCHEMA_H

#include "exporter/ir/ir.h"

enum { ETX_ATEN_LIST = -1 };

typedef struct etx_aten_schema {
  const char* name;       // "aten.add.Tensor"
  const char* arguments;  // ATen text, see format/ops/op_schema.h
  int results;            // tensors, or ETX_ATEN_LIST
} etx_aten_schema;

// The schema of an operator as PyTorch prints it, or NULL.
const etx_aten_schema* etx_aten_schema_find(etx_text name);

// Number of schemas, and the one at a position, in byte order of names.
size_t etx_aten_schema_count(void);
const etx_aten_schema* etx_aten_schema_at(size_t index);

// True if a result may be a view of an argument, as schemas say by "(a)".
bool etx_aten_may_alias(const etx_aten_schema* schema);

// Arguments of a schema.
size_t etx_aten_schema_argument_count(const etx_aten_schema* schema);

// The argument at `index` of a schema.
etx_argument etx_aten_schema_argument(const etx_aten_schema* schema,
                                      size_t index);

// The value that a schema gives to an argument that was left out. An argument
// without default is refused.
ETX_MUST_USE etx_status etx_aten_default(etx_pool* pool,
                                         const etx_argument* argument,
                                         etx_ir_arg* out_arg, etx_diag* diag);

// True if `arg` may stand for `argument`: a number for a Scalar, an integer
// for a float, a list for a list. Tensors may also be numbers, since PyTorch
// passes symbolic integers to them.
bool etx_aten_accepts(const etx_argument* argument, const etx_ir_arg* arg);

// Gives `node` one argument per schema argument. `names` holds for each of the
// node's `count` arguments its keyword, or an empty text for a positional one.
// Refused: too many, unknown, repeated, of the wrong kind, missing.
ETX_MUST_USE etx_status etx_aten_complete(etx_pool* pool,
                                          const etx_aten_schema* schema,
                                          const etx_ir_arg* args,
                                          const etx_text* names, size_t count,
                                          etx_ir_node* node, etx_diag* diag);

#endif
