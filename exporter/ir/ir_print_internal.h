// Declarations shared by the files ir_print_*.c.

#ifndef ETX_EXPORTER_IR_IR_PRINT_INTERNAL_H
#define ETX_EXPORTER_IR_IR_PRINT_INTERNAL_H

#include "exporter/ir/ir_print.h"

typedef struct etx_ir_printer {
  const etx_ir_module* module;
  const etx_ir_method* method;
  const etx_ir_print_options* options;
  etx_text_buffer* out;
  etx_status status;
} etx_ir_printer;

void etx_ir_put_string(etx_ir_printer* p, const char* string);

// A size: a number, or an expression over the method's symbols.
void etx_ir_put_size(etx_ir_printer* p, etx_dim dim);

// "float32[n, 4]", in quotes.
void etx_ir_put_type(etx_ir_printer* p, const etx_shape* shape);

// A value's name, or null for ETX_IR_NONE.
void etx_ir_put_value(etx_ir_printer* p, uint32_t value);

// A node as the rest of a line; the caller has printed the indentation.
void etx_ir_put_node(etx_ir_printer* p, const etx_ir_node* node);

// {sym: "n + 1"}
void etx_ir_put_symbolic(etx_ir_printer* p, etx_dim dim);

// ir_print_cond.c: all nodes of the method; branches are nested in their
// conditionals.
void etx_ir_put_nodes(etx_ir_printer* p);

#endif
