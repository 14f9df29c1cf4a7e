#include "cli/plan/operators_option.h"

etx_status etx_operators_option_apply(const etx_option_list* files,
                                      etx_ir_module* module, etx_diag* diag) {
  for (size_t i = 0; i < files->count; ++i) {
    ETX_TRY(etx_export_operators(module, files->items[i], diag));
  }
  return ETX_OK;
}
