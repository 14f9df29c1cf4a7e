#include "cli/plan/size_cap_option.h"

etx_status etx_size_cap_option_apply(const etx_option_list* caps,
                                     etx_ir_module* module, etx_diag* diag) {
  for (size_t i = 0; i < caps->count; ++i) {
    const etx_status status = etx_export_cap(module, caps->items[i], diag);
    if (status == ETX_OK) continue;
    etx_diag_append(diag, ", in option '--cap'");
    return status;
  }
  return ETX_OK;
}
