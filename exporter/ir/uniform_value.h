// Tensors whose elements are all equal, which YAML writes as one number:
// "init: 0".

#ifndef ETX_EXPORTER_IR_UNIFORM_VALUE_H
#define ETX_EXPORTER_IR_UNIFORM_VALUE_H

#include "exporter/ir/ir.h"
#include "exporter/host/yaml_tree.h"

// A dense tensor of the dtype and sizes of `type` with `value` in every
// element. ETX_BAD_FILE if the dtype cannot hold the value; ETX_OUT_OF_RANGE if
// the tensor would have more than ETX_MOST_UNIFORM_BYTES, since a few words of a
// graph should not fill the memory of the machine.
#define ETX_MOST_UNIFORM_BYTES (UINT64_C(4) << 30)
ETX_MUST_USE etx_status etx_uniform_make(etx_pool* pool,
                                         const etx_ir_constant* type,
                                         const etx_yaml_value* value,
                                         etx_ir_constant* out_constant,
                                         etx_diag* diag);

// Writes the number that all elements are equal to into `out`, of at least 40
// bytes. False if elements differ, or if the text would not read back as the
// same bits.
bool etx_uniform_text(const etx_ir_constant* constant, char* out,
                      size_t capacity);

// Writes the shortest decimal text that reads back as the same double, always
// with a point or an exponent, or ".inf", "-.inf", ".nan". `out` has at least
// 40 bytes.
void etx_double_text(double value, char* out, size_t capacity);

#endif
