#include "runtime/method/method_error.h"

etx_status etx_method_error_take_message(etx_method* method, etx_status status,
                                         etx_diag* diag) {
  if (!ETX_MESSAGES || diag == NULL || diag->status != ETX_OK) return status;
  if (method->kernel_diag->status == ETX_OK) {
    return etx_diag_fail(diag, status, "%s", etx_status_text(status));
  }
  *diag = *method->kernel_diag;
  diag->status = status;
  return status;
}

void etx_method_error_locate(const etx_method* method,
                             const etx_method_record* record, etx_diag* diag) {
  const etx_op* op = record->call.op;
  if (diag == NULL) return;
  if (!ETX_MESSAGES) diag->line = record->instruction + 1;
  if (op == NULL || strstr(diag->text, op->name) != NULL) {
    etx_diag_append(diag, " (method '%t', instruction %u)",
                    etx_pte_plan_name(&method->plan),
                    (uint64_t)record->instruction);
    return;
  }
  etx_diag_append(diag, " (method '%t', instruction %u, '%s%s%s')",
                  etx_pte_plan_name(&method->plan),
                  (uint64_t)record->instruction, op->name,
                  op->overload[0] != '\0' ? "." : "", op->overload);
}

etx_status etx_method_error_report(etx_method* method,
                                   const etx_method_record* record,
                                   etx_status status, etx_diag* diag) {
  etx_method_error_take_message(method, status, diag);
  etx_method_error_locate(method, record, diag);
  return status;
}
