// Tensors of one value: "init: 0" in, "init: 0" out.

#ifndef ETX_EXPORTER_IR_UNIFORM_VALUE_H
#define ETX_EXPORTER_IR_UNIFORM_VALUE_H

#include "exporter/ir/ir.h"
#include "exporter/host/yaml_tree.h"

// A dense tensor of `type`'s dtype and sizes with `value` in every element.
// Refused: a value that the dtype cannot hold.
ETX_MUST_USE etx_status etx_uniform_make(etx_pool* pool,
                                         const etx_ir_constant* type,
                                         const etx_yaml_value* value,
                                         etx_ir_constant* out_constant,
                                         etx_diag* diag);

// If all elements are equal and their value has a text that reads back the
// same bits: that text, written into `out` of at least 40 bytes.
bool etx_uniform_text(const etx_ir_constant* constant, char* out,
                      size_t capacity);

// The shortest decimal text that reads back the same double, always with a
// point or an exponent; ".inf", "-.inf", ".nan". `out` has at least 40 bytes.
void etx_double_text(double value, char* out, size_t capacity);

#endif
