// Reads a module's files into physical memory ahead of their use, and keeps
// them there: a file of its own, so that applications that do not ask for it
// link nothing of it.

#include "runtime/module/module.h"
#include "runtime/module/module_file.h"

// The program file is followed by the data files.
static etx_bytes file_of(const etx_module* module, size_t index) {
  return index == 0 ? module->file : module->data[index - 1].file;
}

static etx_status prefault(const etx_module* module, etx_diag* diag) {
  for (size_t i = 0; i <= module->data_count; ++i) {
    ETX_TRY(etx_module_file_prefault(file_of(module, i), diag));
  }
  return ETX_OK;
}

etx_status etx_module_prefault(etx_module* module, etx_diag* diag) {
  return etx_diag_seal(diag, prefault(module, diag));
}

static etx_status lock(etx_module* module, etx_diag* diag) {
  if (module->resident.observe != NULL) {
    return etx_diag_fail(diag, ETX_BAD_STATE,
                         "parts of the file leave memory after their use, so "
                         "it cannot be locked: choose one of the two");
  }
  for (size_t i = 0; i <= module->data_count; ++i) {
    const etx_status status = etx_module_file_lock(file_of(module, i), diag);
    if (status == ETX_OK) continue;
    while (i-- > 0) etx_module_file_unlock(file_of(module, i));
    return status;
  }
  module->is_locked = true;
  return ETX_OK;
}

etx_status etx_module_mlock(etx_module* module, etx_diag* diag) {
  return etx_diag_seal(diag, lock(module, diag));
}
