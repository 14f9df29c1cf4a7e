#include "exporter/import/cache_type.h"

etx_status etx_cache_type_set(etx_ir_module* module, etx_text text,
                              etx_diag* diag) {
  static const struct {
    const char* name;
    etx_dtype dtype;
  } types[] = {{"int8", ETX_DTYPE_INT8},         {"f16", ETX_DTYPE_FLOAT16},
               {"float16", ETX_DTYPE_FLOAT16},   {"bf16", ETX_DTYPE_BFLOAT16},
               {"bfloat16", ETX_DTYPE_BFLOAT16}, {"f32", ETX_DTYPE_FLOAT32},
               {"float32", ETX_DTYPE_FLOAT32}};
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    if (!etx_text_is(text, types[i].name)) continue;
    module->cache_type = types[i].dtype;
    return ETX_OK;
  }
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "caches cannot be stored as '%t', expected int8, f16, "
                       "bf16 or f32",
                       text);
}
