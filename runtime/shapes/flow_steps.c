#include "runtime/shapes/flow_steps.h"

// What the call of a move holds in `prepared`: addresses of values or tensors.
enum { MOVE_FROM, MOVE_TO };

static int64_t address_of(const void* object) {
  return (int64_t)(uintptr_t)object;
}

static void* object_at(const etx_call* call, size_t index) {
  return (void*)(uintptr_t)call->prepared[index];
}

static bool condition_holds(const etx_value* condition) {
  if (condition->kind == ETX_VALUE_BOOL) return condition->as.boolean;
  const etx_tensor* tensor = &condition->as.tensor;
  const uint8_t* data = (const uint8_t*)tensor->data;
  // Most have one element, in one dimension or none.
  const size_t count = tensor->rank == 0   ? 1
                       : tensor->rank == 1 ? (size_t)tensor->sizes[0]
                                           : etx_tensor_numel(tensor);
  for (size_t i = 0; i < count; ++i) {
    if (data[i] == 0) return false;
  }
  return true;
}

etx_status etx_step_jump(etx_call* call) {
  return condition_holds((const etx_value*)object_at(call, ETX_JUMP_CONDITION))
             ? ETX_OK
             : ETX_INTERNAL;
}

etx_status etx_step_late(etx_call* call) {
  (void)call;
  return ETX_INTERNAL;
}

static etx_status step_move_number(etx_call* call) {
  const etx_value* from = (const etx_value*)object_at(call, MOVE_FROM);
  ((etx_value*)object_at(call, MOVE_TO))->as = from->as;  // of the same kind
  return ETX_OK;
}

// Both tensors have the same sizes in the whole run.
static etx_status step_move_tensor(etx_call* call) {
  const etx_method_tensor* from =
      (const etx_method_tensor*)object_at(call, MOVE_FROM);
  etx_method_tensor* to = (etx_method_tensor*)object_at(call, MOVE_TO);
  to->root = from->root;
  to->root_offset = from->root_offset;
  to->value->as.tensor.data = from->value->as.tensor.data;
  return ETX_OK;
}

etx_kernel_function etx_flow_step_of(const etx_method_record* record) {
  if (record->late != ETX_RECORD_AHEAD) return etx_step_late;
  switch (record->kind) {
    case ETX_RECORD_JUMP:
      return etx_step_jump;
    case ETX_RECORD_MOVE:
      return step_move_number;  // or step_move_tensor, see link_move
    default:
      return NULL;
  }
}

size_t etx_flow_step_from(const etx_method* method, size_t record) {
  size_t low = 0;
  size_t high = method->step_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const etx_method_record* at =
        etx_record_of_call(method->steps[middle].call);
    if ((size_t)(at - method->records) < record) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static void link_jump(const etx_method* method, const etx_method_record* record,
                      etx_method_step* step) {
  const size_t position = (size_t)(record - method->records);
  const size_t to = position - record->instruction + record->to;
  int64_t* prepared = step->call->prepared;
  prepared[ETX_JUMP_CONDITION] = address_of(&method->values[record->from]);
  prepared[ETX_JUMP_END] = (int64_t)position + 1;
  prepared[ETX_JUMP_RECORD] = (int64_t)to;
  prepared[ETX_JUMP_STEP] = (int64_t)etx_flow_step_from(method, to);
  prepared[ETX_JUMP_SEEN_FROM] = 0;
}

static void link_move(const etx_method* method, const etx_method_record* record,
                      etx_method_step* step) {
  const etx_value* from = &method->values[record->from];
  const etx_value* to = &method->values[record->to];
  int64_t* prepared = step->call->prepared;
  if (from->kind != ETX_VALUE_TENSOR) {
    prepared[MOVE_FROM] = address_of(from);
    prepared[MOVE_TO] = address_of(to);
    return;
  }
  if (record->late == ETX_RECORD_AHEAD) step->run = step_move_tensor;
  prepared[MOVE_FROM] = address_of(etx_method_tensor_of(method, from));
  prepared[MOVE_TO] = address_of(etx_method_tensor_of(method, to));
}

void etx_flow_steps_link(etx_method* method) {
  for (size_t i = 0; i < method->step_count; ++i) {
    etx_method_step* step = &method->steps[i];
    const etx_method_record* record = etx_record_of_call(step->call);
    if (record->kind == ETX_RECORD_JUMP) link_jump(method, record, step);
    if (record->kind == ETX_RECORD_MOVE) link_move(method, record, step);
  }
}
