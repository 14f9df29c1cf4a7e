// Lists everything in a module that reads a constant. A pass may change a
// constant only if it knows all of its readers.

#ifndef ETX_EXPORTER_REWRITE_CONSTANT_USERS_H
#define ETX_EXPORTER_REWRITE_CONSTANT_USERS_H

#include "exporter/ir/ir.h"

typedef struct etx_constant_user {
  const etx_ir_method* method;  // NULL: a constant method of the program, or
                                // the initial value of a state
  const etx_ir_node* node;      // NULL: an output or a mutation of the method
  size_t position;              // argument of the node; SIZE_MAX: in a list
  etx_text name;                // for messages: the operator, or the kind
} etx_constant_user;

// Called for one reader of `constant`, an index into module->constants.
typedef void (*etx_constant_visit)(void* context, size_t constant,
                                   const etx_constant_user* reader);

// Index of the constant that an argument of a node reads, directly or as the
// initial value of a buffer that is not a state; SIZE_MAX if there is none.
size_t etx_constant_behind(const etx_ir_module* module,
                           const etx_ir_method* method, const etx_ir_arg* arg);

// Visits all readers of all constants, those of a buffer that is not a state
// included: first the methods with their nodes in order, then the program.
void etx_constant_users_visit(const etx_ir_module* module,
                              etx_constant_visit visit, void* context);

#endif
