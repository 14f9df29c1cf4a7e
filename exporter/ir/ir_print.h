// The IR as YAML: the form of a dump, which reads back, and of `--dump-after`,
// which is for reading.

#ifndef ETX_EXPORTER_IR_IR_PRINT_H
#define ETX_EXPORTER_IR_IR_PRINT_H

#include "exporter/ir/ir.h"
#include "exporter/host/text_buffer.h"
#include "format/base/sink.h"

// How constants are written.
typedef struct etx_ir_print_options {
  etx_text weights_file;  // "weights.safetensors"; empty: "constants"
  // By constant of the module: its tensor in that file. NULL: its number.
  const etx_text* tensor_names;
  // By buffer: it is listed although the method does not use it. May be NULL.
  const bool* listed;
} etx_ir_print_options;

// One method.
ETX_MUST_USE etx_status etx_ir_print_method(const etx_ir_module* module,
                                            const etx_ir_method* method,
                                            const etx_ir_print_options* options,
                                            etx_text_buffer* out);

// All methods, one document each.
ETX_MUST_USE etx_status etx_ir_print(const etx_ir_module* module,
                                     const etx_sink* sink);

// A word as YAML reads it back: in quotes where it needs them.
void etx_ir_print_literal(etx_text_buffer* out, etx_text word);

// A number, text or null as YAML; {str: ...} for texts.
void etx_ir_print_fixed(etx_text_buffer* out, const etx_ir_arg* arg);

// The value of a constant: a number, or {tensor: file#name}.
void etx_ir_print_constant(const etx_ir_module* module, uint32_t constant,
                           const etx_ir_print_options* options,
                           etx_text_buffer* out);

#endif
