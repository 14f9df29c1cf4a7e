#include "runtime/run/sized_memory.h"

#include "runtime/shapes/scratch_compaction.h"

size_t etx_method_scratch_needed(etx_method* method) {
  return method->scratch_block_count == 0 ? method->scratch.size
                                          : etx_scratch_measure(method);
}

// A record that is prepared during the run may need as much as the largest
// sizes do.
size_t etx_method_temporary_needed(const etx_method* method) {
  size_t most = 0;
  if (method->scratch_block_count == 0 || etx_method_has_flow(method)) {
    return method->temporary.size;
  }
  for (size_t i = 0; i < method->record_count; ++i) {
    const etx_method_record* const record = &method->records[i];
    if (record->kind != ETX_RECORD_KERNEL ||
        record->kernel->temporary_bytes == NULL) {
      continue;
    }
    size_t bytes = 0;
    if (record->kernel->temporary_bytes(&record->call, &bytes) != ETX_OK) {
      return method->temporary.size;
    }
    if (bytes > most) most = bytes;
  }
  return most;
}

static etx_status check_given(const etx_method* method, const char* what,
                              size_t given, size_t needed, etx_diag* diag) {
  if (given >= needed) return ETX_OK;
  return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                       "method '%t' needs %z bytes of %s at these sizes, %z "
                       "were given",
                       etx_pte_plan_name(&method->plan), needed, what, given);
}

etx_status etx_method_check_given(const etx_method* method, etx_diag* diag) {
  if (method->scratch_block_count == 0) return ETX_OK;
  ETX_TRY(check_given(method, "scratch", method->scratch_given,
                      method->scratch_used, diag));
  if (method->temporary_given >= method->temporary.size) return ETX_OK;
  return check_given(method, "temporary memory", method->temporary_given,
                     etx_method_temporary_needed(method), diag);
}
