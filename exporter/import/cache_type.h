// The type in which caches of float32 are stored (`etx plan --kv`, program.yaml
// `kv`): int8, f16 (float16), bf16 (bfloat16), or f32 (float32), which leaves
// them as they are.

#ifndef ETX_EXPORTER_IMPORT_CACHE_TYPE_H
#define ETX_EXPORTER_IMPORT_CACHE_TYPE_H

#include "exporter/ir/ir.h"

// Sets the type for the module. ETX_BAD_ARGUMENT for another text.
ETX_MUST_USE etx_status etx_cache_type_set(etx_ir_module* module, etx_text text,
                                           etx_diag* diag);

#endif
