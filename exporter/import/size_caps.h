// Bounds of the sizes and integers that data decide (ir_late.h). Memory is
// planned for the upper bound, so each of them needs one: from the archive,
// from the operator (nonzero has at most as many rows as its operand has
// elements), from program.yaml, or from the option --cap.

#ifndef ETX_EXPORTER_IMPORT_SIZE_CAPS_H
#define ETX_EXPORTER_IMPORT_SIZE_CAPS_H

#include "exporter/import/import.h"

// Adds the cap "NAME=N" to those of the module. NAME is a late symbol, `u0`, of
// all methods that have it, or `method.u0`.
ETX_MUST_USE etx_status etx_size_cap_add(etx_ir_module* module, etx_text text,
                                         etx_diag* diag);

// The cap of a symbol of the method; false if there is none.
bool etx_size_cap_find(const etx_ir_module* module, const etx_ir_method* method,
                       etx_text symbol, int64_t* out_most);

// Bounds the late symbols of all methods, after program.yaml was applied.
// Reports symbols without an upper bound, caps that name no symbol, and uses of
// a symbol where no node has set it.
ETX_MUST_USE etx_status etx_size_caps_apply(etx_import* import);

#endif
