#include "cli/plan/weights_option.h"

etx_status etx_weights_option_apply(const etx_weights_option* option,
                                    etx_ir_module* module, etx_diag* diag) {
  if (option->file != NULL) {
    return etx_export_weights(module, option->file, option->names);
  }
  if (option->names == NULL) return ETX_OK;
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "option '--weights-names' needs '--weights'");
}
