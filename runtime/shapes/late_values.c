#include "runtime/shapes/late_values.h"

void etx_late_mark(etx_method* method, const etx_value* value, uint8_t bits) {
  method->flow |= ETX_FLOW_LATE;
  etx_method_tensor* tensor = etx_method_tensor_of(method, value);
  if (tensor == NULL) {
    uint8_t* marks = &method->marks[value->position];
    if ((*marks & ETX_MARK_LATE) != 0) return;
    *marks |= ETX_MARK_LATE;
    if ((*marks & ETX_MARK_USED) == 0) return;
    *marks |= ETX_MARK_STAYS_LATE;
    method->flow |= ETX_FLOW_CHANGED;
    return;
  }
  if (!etx_method_is_dynamic(tensor)) bits &= (uint8_t)~ETX_LATE_SIZES;
  bits &= (uint8_t)~tensor->late;
  if (bits == 0) return;
  tensor->late |= bits;
  if (!tensor->is_used) return;
  tensor->late |= (uint8_t)(bits << 2);
  method->flow |= ETX_FLOW_CHANGED;
}

void etx_late_mark_results(etx_method* method,
                           const etx_method_record* record) {
  etx_value_cursor written = etx_record_written_values(record);
  for (const etx_value* value; (value = etx_value_next(&written)) != NULL;) {
    etx_late_mark(method, value, ETX_LATE_SIZES);
  }
  if (record->slot == ETX_NO_INDEX) return;
  etx_late_mark(method, &method->values[record->slot],
                ETX_LATE_SIZES | ETX_LATE_ROOT);
}

static etx_record_late late_of_value(const etx_method* method,
                                     const etx_value* value) {
  const etx_method_tensor* tensor = etx_method_tensor_of(method, value);
  if (tensor == NULL) {
    return (method->marks[value->position] & ETX_MARK_LATE) != 0
               ? ETX_RECORD_LATE
               : ETX_RECORD_AHEAD;
  }
  if ((tensor->late & ETX_LATE_SIZES) != 0) return ETX_RECORD_LATE;
  return (tensor->late & ETX_LATE_ROOT) != 0 ? ETX_RECORD_ROOTS
                                             : ETX_RECORD_AHEAD;
}

etx_record_late etx_late_of(const etx_method* method,
                            const etx_method_record* record) {
  const etx_call* call = &record->call;
  if ((method->flow & ETX_FLOW_ALL_LATE) != 0 ||
      call->op->id == ETX_OP_local_scalar_dense) {
    return ETX_RECORD_LATE;
  }
  etx_record_late late =
      record->slot == ETX_NO_INDEX
          ? ETX_RECORD_AHEAD
          : late_of_value(method, &method->values[record->slot]);
  for (size_t i = 0; i < call->argument_count; ++i) {
    etx_value_span values = etx_call_argument_values(call, i);
    for (; values.at != values.end; ++values.at) {
      if (*values.at == NULL) continue;
      const etx_record_late other = late_of_value(method, *values.at);
      if (other > late) late = other;
    }
  }
  // A scalar operator reads sizes only.
  return record->kind == ETX_RECORD_SCALAR && late == ETX_RECORD_ROOTS
             ? ETX_RECORD_AHEAD
             : late;
}

etx_record_late etx_late_of_resizing(const etx_method* method,
                                     const etx_method_record* record) {
  etx_record_late late = ETX_RECORD_AHEAD;
  if (record->late != ETX_RECORD_AHEAD) return ETX_RECORD_LATE;
  etx_value_cursor written = etx_record_written_values(record);
  for (const etx_value* value; (value = etx_value_next(&written)) != NULL;) {
    const etx_method_tensor* tensor = etx_method_tensor_of(method, value);
    if (!etx_method_is_dynamic(tensor)) continue;
    if (tensor->storage_kind != ETX_METHOD_STORAGE_SCRATCH) {
      return ETX_RECORD_LATE;
    }
    late = ETX_RECORD_RESIZES;
  }
  return late;
}

bool etx_late_defer_if_used(etx_method* method, const etx_value* value,
                            uint8_t bits) {
  if (etx_method_runs(method)) return false;
  const bool is_used =
      value->kind == ETX_VALUE_TENSOR
          ? etx_method_tensor_of(method, value)->is_used
          : (method->marks[value->position] & ETX_MARK_USED) != 0;
  if (!is_used) return false;
  etx_late_mark(method, value, bits);
  method->flow |= ETX_FLOW_DEFERRED;
  return true;
}
