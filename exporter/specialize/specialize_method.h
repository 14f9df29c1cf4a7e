// Variants of methods (format/pte/variant_name.h).

#ifndef ETX_EXPORTER_SPECIALIZE_SPECIALIZE_METHOD_H
#define ETX_EXPORTER_SPECIALIZE_SPECIALIZE_METHOD_H

#include "exporter/ir/ir.h"
#include "exporter/specialize/specialize_option.h"

// Adds to the module, whose methods are read but not lowered yet, the variants
// that the option asks for, one for each combination of sizes in their order,
// behind those of earlier options. A symbol of one size becomes this number,
// and the bounds of others become the range. Variants whose sizes are out of
// bounds, or excluded by a condition of the model, are left out, which
// `module->skipped` notes. ETX_BAD_ARGUMENT: no method has the symbols, all
// sizes are out of their bounds, a symbol is decided by data, the method has a
// name of a variant or too many variants, or may run at the same time as
// another.
ETX_MUST_USE etx_status etx_specialize_methods(
    etx_ir_module* module, const etx_specialize_option* option, etx_diag* diag);

#endif
