#include "cli/plan/weights_option.h"

#include <string.h>

static bool is_half(const etx_weights_option* option) {
  return option->file != NULL && (strcmp(option->file, "f16") == 0 ||
                                  strcmp(option->file, "bf16") == 0);
}

etx_status etx_weights_option_apply(const etx_weights_option* option,
                                    etx_ir_module* module, etx_diag* diag) {
  if (option->file != NULL && !is_half(option)) {
    return etx_export_weights(module, option->file, option->names);
  }
  if (option->names == NULL) return ETX_OK;
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       is_half(option)
                           ? "option '--weights-names' needs a file of weights"
                           : "option '--weights-names' needs '--weights'");
}

etx_status etx_weights_option_add_rule(const etx_weights_option* option,
                                       etx_ir_module* module, etx_diag* diag) {
  return is_half(option) ? etx_export_quantize(module, option->file, diag)
                         : ETX_OK;
}
