// Everything in a module that reads a constant: for passes that may only change
// one if they know all of its readers.

#ifndef ETX_EXPORTER_REWRITE_CONSTANT_USERS_H
#define ETX_EXPORTER_REWRITE_CONSTANT_USERS_H

#include "exporter/ir/ir.h"

typedef struct etx_constant_user {
  const etx_ir_method* method;  // NULL: the program, which tells it or has a
                                // state start with it
  const etx_ir_node* node;      // NULL: no node, but an output or a mutation
  size_t position;              // argument of the node; SIZE_MAX: in a list
  etx_text name;                // for messages: the operator, or what it is
} etx_constant_user;

// Sees one reader of `constant`, a number of the module's.
typedef void (*etx_constant_visit)(void* context, size_t constant,
                                   const etx_constant_user* reader);

// Number of the constant behind an argument of a method's node, also behind a
// buffer that is no state; SIZE_MAX if there is none.
size_t etx_constant_behind(const etx_ir_module* module,
                           const etx_ir_method* method, const etx_ir_arg* arg);

// Visits all readers of all constants, also behind buffers that are no state:
// those of a method in its order, then the program.
void etx_constant_users_visit(const etx_ir_module* module,
                              etx_constant_visit visit, void* context);

#endif
