// Schemas of the functional ATen operators that a graph may use.
//
// Readers complete the arguments of every node with etx_aten_complete: an
// imported node has exactly one argument for each argument of its schema, in
// the order of the schema, with defaults filled in.

#ifndef ETX_EXPORTER_IR_ATEN_SCHEMA_H
#define ETX_EXPORTER_IR_ATEN_SCHEMA_H

#include "exporter/ir/ir.h"

enum { ETX_ATEN_LIST = -1 };

typedef struct etx_aten_schema {
  const char* name;       // "aten.add.Tensor"
  const char* arguments;  // ATen text, see format/ops/op_schema.h
  int results;            // number of tensors, or ETX_ATEN_LIST: one list
} etx_aten_schema;

// The schema of an operator as PyTorch prints it, or NULL.
const etx_aten_schema* etx_aten_schema_find(etx_text name);

// The number of schemas, and the schema at a position; schemas are in byte
// order of their names.
size_t etx_aten_schema_count(void);
const etx_aten_schema* etx_aten_schema_at(size_t index);

// True if a result may be a view of an argument, which schemas mark with "(a)".
bool etx_aten_may_alias(const etx_aten_schema* schema);

// The number of arguments of a schema.
size_t etx_aten_schema_argument_count(const etx_aten_schema* schema);

// The argument at `index` of a schema.
etx_argument etx_aten_schema_argument(const etx_aten_schema* schema,
                                      size_t index);

// The default value of an argument. ETX_BAD_FILE if it has none.
ETX_MUST_USE etx_status etx_aten_default(etx_pool* pool,
                                         const etx_argument* argument,
                                         etx_ir_arg* out_arg, etx_diag* diag);

// True if `arg` is acceptable for `argument`: a number for a Scalar, an integer
// for a float, a list for a list. A number is acceptable for a Tensor, since
// PyTorch passes symbolic integers for tensors.
bool etx_aten_accepts(const etx_argument* argument, const etx_ir_arg* arg);

// The arguments of a call as they were written.
typedef struct etx_aten_arguments {
  const etx_ir_arg* items;
  const etx_text* names;  // the keyword of each item; empty: it is positional
  size_t count;
} etx_aten_arguments;

// Gives `node` one argument for each argument of the schema, from the written
// arguments and the defaults. ETX_BAD_FILE for arguments that are too many,
// unknown, repeated, missing or of the wrong kind.
ETX_MUST_USE etx_status etx_aten_complete(etx_pool* pool,
                                          const etx_aten_schema* schema,
                                          const etx_aten_arguments* given,
                                          etx_ir_node* node, etx_diag* diag);

#endif
