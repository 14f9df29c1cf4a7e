// Before a method has memory, the arguments of one instruction at a time are
// built in a struct of fixed size on the stack, at upper-bound sizes and
// without data, and passed to the kernel's `temporary_bytes`.

#include "runtime/load/method_temporary.h"

#include "format/tensor/layout.h"
#include "runtime/program/argument_check.h"
#include "runtime/method/method_error.h"

// Operators with temporary memory have few tensors and short lists: matrix
// products, convolutions, attention.
enum { FRAME_VALUES = ETX_MAX_ARGUMENTS + 24, FRAME_STRIDES = 128 };

typedef struct argument_frame {
  const etx_pte_plan* plan;
  size_t value_count;
  size_t item_count;
  size_t stride_count;
  etx_value values[FRAME_VALUES];
  const etx_value* arguments[ETX_MAX_ARGUMENTS];
  const etx_value* items[FRAME_VALUES];
  int32_t strides[FRAME_STRIDES];
} argument_frame;

static bool add_tensor(argument_frame* f, const etx_pte_tensor* from,
                       etx_value* out) {
  if (from->rank > FRAME_STRIDES - f->stride_count) return false;
  int32_t* strides = f->strides + f->stride_count;
  f->stride_count += from->rank;
  (void)etx_layout_strides(from->sizes, from->dim_order, from->rank, strides);
  out->kind = ETX_VALUE_TENSOR;
  out->as.tensor =
      (etx_tensor){NULL, from->sizes, strides, from->rank, from->dtype};
  return true;
}

// Reads a value of the file to `from` and into a free slot; add_items fills the
// items of lists of values. False if the frame is full.
static bool add_value(argument_frame* f, size_t index, etx_pte_value* from,
                      etx_value** out_value) {
  if (f->value_count == FRAME_VALUES) return false;
  etx_value* const out = *out_value = &f->values[f->value_count++];
  etx_pte_value_read(f->plan, index, from);
  if (from->kind == ETX_PTE_TENSOR) return add_tensor(f, &from->as.tensor, out);
  etx_value_from_scalar(from, out);
  return true;
}

static bool add_items(argument_frame* f, const etx_pte_value* from,
                      etx_value* out) {
  const size_t count = from->as.list.count;
  const bool is_ints = from->kind == ETX_PTE_INT_LIST;
  const etx_value** items = f->items + f->item_count;
  if (count > FRAME_VALUES - f->item_count) return false;
  f->item_count += count;
  out->kind = is_ints ? ETX_VALUE_INTS : ETX_VALUE_TENSORS;
  out->as.tensors.items = items;  // the same union member layout as integers
  out->as.tensors.count = count;
  for (size_t i = 0; i < count; ++i) {
    const int64_t index = etx_pte_item_at(from, i);
    etx_pte_value read;
    etx_value* item = NULL;
    // In a list of tensors, an item that is not a tensor is None.
    const bool is_there =
        is_ints || (index >= 0 && etx_pte_value_kind(f->plan, (size_t)index) ==
                                      ETX_PTE_TENSOR);
    if (is_there && !add_value(f, (size_t)index, &read, &item)) return false;
    items[i] = item;
  }
  return true;
}

// Reads one argument from the file into the frame. False if it is full.
static bool add_argument(argument_frame* f, size_t index,
                         const etx_value** out_value) {
  etx_pte_value from;
  etx_value* value = NULL;
  if (!add_value(f, index, &from, &value)) return false;
  *out_value = value;
  return !etx_pte_lists_values(from.kind) || add_items(f, &from, value);
}

static etx_status query_kernel(const etx_program* program,
                               const etx_pte_plan* plan,
                               const etx_pte_instruction* instruction,
                               const etx_cached_operator* known,
                               size_t* out_bytes, etx_diag* diag) {
  argument_frame f;
  f.plan = plan;
  f.value_count = f.item_count = f.stride_count = 0;
  etx_call call;
  memset(&call, 0, sizeof call);
  call.op = known->op;
  call.arguments = f.arguments;
  call.argument_count = known->argument_count;
  call.parallel = program->limits.parallel;
  call.diag = diag;
  for (size_t i = 0; i < call.argument_count; ++i) {
    if (!add_argument(&f, (size_t)instruction->arguments[i], &f.arguments[i])) {
      return etx_diag_fail(diag, ETX_UNSUPPORTED,
                           "arguments of '%s' name more values than an "
                           "operator with temporaries may",
                           known->op->name);
    }
  }
  return known->kernel->temporary_bytes(&call, out_bytes);
}

static etx_status count_instruction(const etx_program* program,
                                    const etx_pte_plan* plan,
                                    const etx_pte_instruction* instruction,
                                    const etx_cached_operator* known,
                                    size_t* out_bytes, etx_diag* diag) {
  *out_bytes = 0;
  const etx_kernel* kernel = known->kernel;
  if (kernel == NULL || kernel->temporary_bytes == NULL) return ETX_OK;
  // Loading refuses this call, so it needs no memory.
  if (ETX_CHECKS_ARGUMENTS &&
      !etx_cached_operator_fits(known, plan, NULL, instruction)) {
    return ETX_OK;
  }
  return query_kernel(program, plan, instruction, known, out_bytes, diag);
}

// True if an operator of the plan may need temporary memory. Most plans have
// none, and then their instructions need not be read.
static bool may_need_temporary(const etx_pte_plan* plan,
                               etx_operator_cache* operators) {
  for (size_t i = 0; i < etx_pte_operator_count(plan); ++i) {
    const etx_kernel* kernel = etx_operator_cache_at(operators, i)->kernel;
    if (kernel != NULL && kernel->temporary_bytes != NULL) return true;
  }
  return false;
}

etx_status etx_method_temporary_of_plan(const etx_program* program,
                                        const etx_pte_plan* plan,
                                        etx_operator_cache* operators,
                                        size_t* out_bytes, etx_diag* diag) {
  size_t most = 0;
  *out_bytes = 0;
  if (!may_need_temporary(plan, operators)) return ETX_OK;
  etx_pte_cursor cursor = {0, 0, {0, 0}};
  etx_pte_instruction instruction;
  while (etx_pte_instruction_next(plan, &cursor, &instruction)) {
    if (instruction.kind != ETX_PTE_KERNEL_CALL) continue;
    size_t bytes = 0;
    const etx_cached_operator* known =
        etx_operator_cache_at(operators, (size_t)instruction.index);
    ETX_TRY(
        count_instruction(program, plan, &instruction, known, &bytes, diag));
    if (bytes > most) most = bytes;
  }
  *out_bytes = most;
  return ETX_OK;
}

etx_status etx_method_temporary_of_records(etx_method* method,
                                           etx_operator_cache* operators,
                                           size_t* out_bytes, etx_diag* diag) {
  size_t most = 0;
  *out_bytes = 0;
  if (!may_need_temporary(&method->plan, operators)) return ETX_OK;
  for (size_t i = 0; i < method->record_count; ++i) {
    const etx_method_record* record = &method->records[i];
    const etx_kernel* kernel =
        record->kind == ETX_RECORD_KERNEL || record->kind == ETX_RECORD_SCALAR
            ? record->kernel
            : NULL;
    if (kernel == NULL || kernel->temporary_bytes == NULL) continue;
    size_t bytes = 0;
    const etx_status status = kernel->temporary_bytes(&record->call, &bytes);
    if (status != ETX_OK)
      return etx_method_error_take_message(method, status, diag);
    if (bytes > most) most = bytes;
  }
  *out_bytes = most;
  return ETX_OK;
}
