// Prints the IR as YAML. A dump of imported nodes reads back as the same
// module;
// `--dump-after` prints lowered nodes, for people.

#ifndef ETX_EXPORTER_IR_IR_PRINT_H
#define ETX_EXPORTER_IR_IR_PRINT_H

#include "exporter/ir/ir.h"
#include "exporter/host/text_buffer.h"
#include "format/base/sink.h"

// How constants are written.
typedef struct etx_ir_print_options {
  etx_text weights_file;  // "weights.safetensors"
  // For each constant of the module, its tensor in that file. NULL: constants
  // are printed as "constants#<number>".
  const etx_text* tensor_names;
  // For each buffer, whether to list it even if the method does not use it. May
  // be NULL.
  const bool* listed;
} etx_ir_print_options;

// Prints one method.
ETX_MUST_USE etx_status etx_ir_print_method(const etx_ir_module* module,
                                            const etx_ir_method* method,
                                            const etx_ir_print_options* options,
                                            etx_text_buffer* out);

// Prints all methods, each as one YAML document.
ETX_MUST_USE etx_status etx_ir_print(const etx_ir_module* module,
                                     const etx_sink* sink);

// A string as a YAML scalar, with quotes and escapes where they are needed.
void etx_ir_print_literal(etx_text_buffer* out, etx_text word);

// A number, bool or null as YAML; {str: ...} for a string.
void etx_ir_print_fixed(etx_text_buffer* out, const etx_ir_arg* arg);

// The value of a constant: a number, or {tensor: file#name}.
void etx_ir_print_constant(const etx_ir_module* module, uint32_t constant,
                           const etx_ir_print_options* options,
                           etx_text_buffer* out);

#endif
