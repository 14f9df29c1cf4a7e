// Decodes the file's instructions to records: operators are resolved, arguments
// become pointers to slots. All checks that need no sizes are made here.

#include "runtime/load/method_records.h"

#include "format/base/reachability.h"
#include "runtime/program/argument_check.h"
#include "runtime/program/cell_check.h"
#include "runtime/method/method_error.h"

static etx_status refuse_slot(uint32_t index, const char* what,
                              const char* expected, etx_diag* diag) {
  return etx_diag_fail(diag, ETX_BAD_FILE, "%s is value %u, expected %s", what,
                       (uint64_t)index, expected);
}

static bool is_scalar(const etx_value* value) {
  return value->kind == ETX_VALUE_INT || value->kind == ETX_VALUE_BOOL ||
         value->kind == ETX_VALUE_DOUBLE;
}

// Moves to one tensor are a list, so that all its roots can be found.
static void link_move(const etx_method* method, etx_method_record* record) {
  etx_method_tensor* tensor =
      etx_method_tensor_of(method, &method->values[record->to]);
  tensor->is_rebound = true;
  tensor->late |= ETX_LATE_ROOT | ETX_STAYS_LATE_ROOT;
  if (tensor->storage_kind == ETX_METHOD_STORAGE_NONE) {
    tensor->late |= ETX_LATE_ANY_ROOT;
    return;
  }
  record->slot = tensor->base;
  tensor->base = (uint32_t)(record - method->records);
}

static etx_status decode_move(etx_method* method,
                              const etx_pte_instruction* from,
                              etx_method_record* record, etx_diag* diag) {
  record->kind = ETX_RECORD_MOVE;
  record->from = (uint32_t)from->index;
  record->to = (uint32_t)from->target;
  const etx_value* source = &method->values[record->from];
  const etx_value* target = &method->values[record->to];
  // The kind of a slot never changes: calls were checked with it.
  if (source->kind != target->kind ||
      (!is_scalar(source) && source->kind != ETX_VALUE_TENSOR &&
       source->kind != ETX_VALUE_NONE)) {
    return refuse_slot(record->to, "target of a move",
                       "a number, a tensor or none, as its source", diag);
  }
  method->marks[record->to] |=
      ETX_MARK_VARIES | ETX_MARK_LATE | ETX_MARK_STAYS_LATE;
  if (source->kind != ETX_VALUE_TENSOR) return ETX_OK;
  if (target->as.tensor.dtype != source->as.tensor.dtype ||
      target->as.tensor.rank != source->as.tensor.rank) {
    return refuse_slot(record->to, "target of a move",
                       "a tensor of its source's type and rank", diag);
  }
  link_move(method, record);
  return ETX_OK;
}

static etx_status decode_jump(const etx_method* method,
                              const etx_pte_instruction* from, size_t length,
                              etx_method_record* record, etx_diag* diag) {
  record->kind = ETX_RECORD_JUMP;
  record->from = (uint32_t)from->index;
  const uint32_t target = (uint32_t)from->target;
  record->to = target < length ? target : (uint32_t)length;
  const etx_value* condition = &method->values[record->from];
  if (condition->kind == ETX_VALUE_BOOL) return ETX_OK;
  if (condition->kind == ETX_VALUE_TENSOR &&
      condition->as.tensor.dtype == ETX_DTYPE_BOOL) {
    return ETX_OK;
  }
  return refuse_slot(record->from, "condition of a jump",
                     "a bool or a tensor of bools", diag);
}

static etx_status decode_free(const etx_method* method,
                              const etx_pte_instruction* from,
                              etx_method_record* record) {
  record->kind = ETX_RECORD_FREE;
  record->from = (uint32_t)from->index;
  const etx_value* value = &method->values[record->from];
  // Verified when the file was opened.
  if (ETX_NEVER(value->kind != ETX_VALUE_TENSOR)) return ETX_BAD_FILE;
  etx_method_tensor* tensor = etx_method_tensor_of(method, value);
  tensor->is_rebound = true;
  tensor->late |= ETX_LATE_ROOT | ETX_STAYS_LATE_ROOT | ETX_LATE_ANY_ROOT;
  return ETX_OK;
}

// Checks a call's arguments against the schema. The fast check only returns
// whether they match; the slow one writes the message.
static etx_status check_arguments(const etx_method* method,
                                  const etx_cached_operator* known,
                                  const etx_pte_instruction* from,
                                  etx_diag* diag) {
  const etx_pte_plan* plan = &method->plan;
  if (!ETX_CHECKS_ARGUMENTS ||
      etx_cached_operator_fits(known, plan, method->values, from)) {
    return ETX_OK;
  }
  return ETX_MESSAGES || !ETX_KNOWS_ALL_TYPES
             ? etx_arguments_check(plan, from, known->op, diag)
             : ETX_BAD_FILE;
}

// Checks that an output tensor may be written, or that the operator only sets
// its sizes.
static etx_status check_written(etx_method* method, const etx_op* op,
                                const etx_value* value, etx_diag* diag) {
  const etx_method_tensor* tensor = etx_method_tensor_of(method, value);
  // The arguments fit the operator, which writes tensors.
  if (ETX_NEVER(tensor == NULL)) return ETX_OK;
  if (tensor->storage_kind == ETX_METHOD_STORAGE_CONSTANT) {
    if (etx_op_only_sizes(op)) return ETX_OK;
    return refuse_slot((uint32_t)(value - method->values), "output",
                       "a writable tensor", diag);
  }
  if (tensor->input == ETX_NO_INDEX) return ETX_OK;
  etx_method_input* input = &method->inputs[tensor->input];
  if (input->new_content != NULL) return ETX_OK;
  if (method->blob_index != SIZE_MAX) {
    return refuse_slot(input->value, "output", "a mutable input", diag);
  }
  input->new_content = value;  // in a stock file any written input is mutable
  return ETX_OK;
}

static etx_status check_outputs(etx_method* method,
                                const etx_method_record* record,
                                etx_diag* diag) {
  const etx_call* call = &record->call;
  for (uint64_t left = record->written; left != 0; left &= left - 1) {
    etx_value_span values =
        etx_call_argument_values(call, (size_t)__builtin_ctzll(left));
    for (; values.at != values.end; ++values.at) {
      ETX_TRY(check_written(method, call->op, *values.at, diag));
    }
  }
  return ETX_OK;
}

// Handles the return slot, which is value `slot`.
static void decode_result(etx_method* method, etx_method_record* record,
                          uint32_t slot) {
  etx_call* call = &record->call;
  const etx_op* op = call->op;
  const size_t last = call->argument_count - 1;
  const etx_value* value = call->arguments[last];
  const bool is_view = record->kind == ETX_RECORD_VIEW;
  if (op->result == ETX_RESULT_SCALAR) {
    record->slot = slot;
    method->marks[slot] |= ETX_MARK_VARIES;
  } else if (is_view ||
             (op->result == ETX_RESULT_SELF && value != call->arguments[0])) {
    etx_method_tensor* tensor = etx_method_tensor_of(method, value);
    record->slot = slot;
    tensor->is_rebound = true;
    if (ETX_DYNAMIC) tensor->late |= ETX_LATE_ANY_ROOT;
  }
  // Only the slot of a scalar result is an argument of the kernel.
  const bool sees_slot =
      op->result == ETX_RESULT_SCALAR || op->result == ETX_RESULT_NONE;
  if (!sees_slot) --call->argument_count;
}

static etx_status decode_call(etx_method* method, etx_operator_cache* operators,
                              const etx_pte_instruction* from,
                              etx_method_record* record, etx_diag* diag) {
  etx_cached_operator* known =
      etx_operator_cache_at(operators, (size_t)from->index);
  const etx_op* op = known->op;
  record->kernel = known->kernel;
  record->call.op = op;
  const bool is_scalar_result = op->result == ETX_RESULT_SCALAR;
  record->kind = etx_op_makes_view(op) ? ETX_RECORD_VIEW
                 : is_scalar_result    ? ETX_RECORD_SCALAR
                                       : ETX_RECORD_KERNEL;
  const etx_value** arguments = method->pointers;
  method->pointers += from->argument_count;
  ETX_TRY(check_arguments(method, known, from, diag));
  if (ETX_CELLS) {
    ETX_TRY(etx_cells_check(method->program->kernels, known->kernel,
                            &method->plan, from, diag));
  }
  const etx_value* const values = method->values;
  for (size_t i = 0; i < from->argument_count; ++i) {
    arguments[i] = &values[from->arguments[i]];
  }
  record->call.arguments = arguments;
  record->call.argument_count = from->argument_count;
  record->call.random = method->random;
  record->call.parallel = method->program->limits.parallel;
  record->call.diag = method->kernel_diag;
  record->call.temporary = method->temporary.data;
  record->written = known->written;
  if (ETX_DYNAMIC) {  // for etx_prepare_cache_find
    record->from = known->last_record;
    known->last_record = (uint32_t)(record - method->records);
  }
  decode_result(method, record,
                (uint32_t)from->arguments[from->argument_count - 1]);
  if (record->kind == ETX_RECORD_VIEW) return ETX_OK;
  return check_outputs(method, record, diag);
}

// Instructions that are no calls of kernels.
static etx_status decode_flow(etx_method* method,
                              const etx_pte_instruction* from, size_t count,
                              etx_method_record* record, etx_diag* diag) {
  if (from->kind == ETX_PTE_MOVE_CALL) {
    return decode_move(method, from, record, diag);
  }
  if (from->kind == ETX_PTE_JUMP_FALSE_CALL) {
    return decode_jump(method, from, count, record, diag);
  }
  // A method that lists a delegate was refused.
  if (ETX_NEVER(from->kind != ETX_PTE_FREE_CALL)) return ETX_UNSUPPORTED;
  return decode_free(method, from, record);
}

static etx_status decode_instruction(etx_method* method,
                                     etx_operator_cache* operators,
                                     etx_fb_vector chain, size_t index,
                                     etx_method_record* record,
                                     etx_diag* diag) {
  etx_pte_instruction from;
  etx_pte_instruction_read(&method->plan, chain, index, &from);
  memset(record, 0, sizeof *record);
  record->slot = ETX_NO_INDEX;
  record->instruction = (uint32_t)index;
  if (from.kind == ETX_PTE_KERNEL_CALL) {
    return decode_call(method, operators, &from, record, diag);
  }
  return ETX_CONTROL_FLOW
             ? decode_flow(method, &from, chain.count, record, diag)
             : etx_diag_fail(diag, ETX_UNSUPPORTED,
                             "instruction is not a kernel call, and this "
                             "build leaves out all others (ETX_CONTROL_FLOW)");
}

// Notes a record after which more than sizes decides what happens.
static void note_flow(etx_method* method, const etx_method_record* record) {
  switch (record->kind) {
    case ETX_RECORD_SCALAR:
      if (record->call.op->id != ETX_OP_local_scalar_dense) return;
      if (ETX_CONTROL_FLOW) method->flow |= ETX_FLOW_LATE;
      method->prepares_during_run = true;
      return;
    case ETX_RECORD_JUMP:
      if (ETX_CONTROL_FLOW) method->flow |= ETX_FLOW_JUMPS;
      return;
    case ETX_RECORD_MOVE:
    case ETX_RECORD_FREE:
      if (ETX_CONTROL_FLOW) method->flow |= ETX_FLOW_LATE;
      return;
    default:
      return;
  }
}

etx_status etx_method_decode_records(etx_method* method,
                                     etx_operator_cache* operators,
                                     etx_diag* diag) {
  size_t at = 0;
  for (size_t chain = 0; chain < method->chain_count; ++chain) {
    const etx_fb_vector rows = etx_pte_chain_at(&method->plan, chain);
    for (size_t i = 0; i < rows.count; ++i) {
      etx_method_record* record = &method->records[at++];
      const etx_status status =
          decode_instruction(method, operators, rows, i, record, diag);
      if (status != ETX_OK) {
        etx_method_error_locate(method, record, diag);
        return status;
      }
      note_flow(method, record);
    }
  }
  return ETX_OK;
}
