// Operators of an application in a module (format/own_ops): found by the names
// that graphs have for them.
//
// In a graph, an operator changes nothing: its node returns the tensors of its
// schema, then the new content of each argument that it changes. So a node of
// my::add_to(Tensor(a!) total, Tensor x) -> () has one result.

#ifndef ETX_EXPORTER_IR_OWN_OPERATORS_H
#define ETX_EXPORTER_IR_OWN_OPERATORS_H

#include "exporter/ir/aten_schema.h"

// Reads the operators in `text` and adds them to the module. ETX_BAD_FILE with
// line and column.
ETX_MUST_USE etx_status etx_own_operators_add(etx_ir_module* module,
                                              etx_text text, etx_diag* diag);

// The schema of an operator as PyTorch prints it, of etx or of the application;
// NULL if there is none.
const etx_aten_schema* etx_ir_schema_find(const etx_ir_module* module,
                                          etx_text name);

// The operator of the application with the name; NULL if there is none.
const etx_own_entry* etx_own_operators_find(const etx_ir_module* module,
                                            etx_text name);

// The operator of a lowered node; NULL if it is one of etx.
const etx_own_entry* etx_own_operators_of(const etx_ir_module* module,
                                          const etx_op* op);

// The text of the operators that nodes of the module have, in order of their
// names; empty if there is none.
ETX_MUST_USE etx_status etx_own_operators_text(const etx_ir_module* module,
                                               etx_pool* pool,
                                               etx_text* out_text);

#endif
