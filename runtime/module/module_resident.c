// Limits how much of a module's file is in memory: a file of its own, so that
// applications that do not ask for it link nothing of it.

#include "runtime/module/module.h"

etx_status etx_module_limit_resident(etx_module* module, size_t kept_bytes,
                                     etx_diag* diag) {
  if (kept_bytes == 0) {
    return etx_diag_seal(
        diag, etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                            "0 bytes of a file cannot stay, give 1 or more"));
  }
  if (!module->owns_file || module->in_memory) {
    return etx_diag_seal(
        diag, etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                            "only a file that the module has mapped can leave "
                            "memory: open it by its path, and not in memory"));
  }
  if (module->is_locked) {
    return etx_diag_seal(
        diag, etx_diag_fail(diag, ETX_BAD_STATE,
                            "the file is locked in memory, so no part of it "
                            "can leave: choose one of the two"));
  }
  etx_resident_limit_init(&module->resident, module->file, kept_bytes);
  return ETX_OK;
}
