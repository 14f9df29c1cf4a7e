// The shape phase: sizes, roots and prepared kernels, record by record.
//
// A tensor's sizes and root at one record are what the records before it made
// them. In the usual mode the whole phase comes first and the work after it, so
// the phase checks that nothing it has already used changes again; what does
// (a loop counter, a slot that is two views in turn) is left to the executor,
// which then takes phase and work of each record together.

#include "runtime/shapes/method_shapes.h"

#include "runtime/method/method_error.h"
#include "runtime/shapes/call_overlap.h"
#include "runtime/shapes/method_sizes.h"
#include "runtime/shapes/prepare_cache.h"

// Bytes that may be touched from its data on: what is left of its root's home.
static size_t capacity_of(const etx_method* method,
                          const etx_method_tensor* tensor) {
  if (tensor->root == ETX_NO_INDEX) return 0;
  const size_t bytes = method->tensors[tensor->root].home_bytes;
  return bytes > tensor->root_offset ? bytes - tensor->root_offset : 0;
}

static void point(const etx_method* method, etx_method_tensor* tensor) {
  uint8_t* home =
      tensor->root == ETX_NO_INDEX ? NULL : method->tensors[tensor->root].home;
  tensor->value->as.tensor.data =
      home == NULL ? NULL : home + tensor->root_offset;
}

void etx_method_update_pointers(etx_method* method) {
  for (size_t i = 0; i < method->tensor_count; ++i) {
    point(method, &method->tensors[i]);
  }
}

void etx_method_restart(etx_method* method) {
  for (size_t i = 0; ETX_DYNAMIC && i < method->value_count; ++i) {
    method->marks[i] &= (uint8_t)~ETX_MARK_FIXED;
  }
  for (size_t i = 0; i < method->tensor_count; ++i) {
    etx_method_tensor* tensor = &method->tensors[i];
    tensor->is_fixed = false;
    const bool is_input = tensor->input != ETX_NO_INDEX;
    if (etx_method_is_dynamic(tensor)) {
      etx_method_set_sizes(tensor, is_input
                                       ? method->inputs[tensor->input].sizes
                                       : tensor->bounds);
    }
    if (ETX_DYNAMIC && tensor->home_kind == ETX_HOME_INPUT) {
      tensor->home_bytes = tensor->bytes;
    }
    tensor->root =
        tensor->home_kind == ETX_HOME_NONE ? tensor->base : (uint32_t)i;
    tensor->root_offset =
        tensor->home_kind == ETX_HOME_NONE ? tensor->base_offset : 0;
  }
  for (size_t i = 0; ETX_DYNAMIC && i < method->input_count; ++i) {
    const etx_method_input* input = &method->inputs[i];
    if (input->varies) {
      method->values[input->value].as.integer = input->integer;
    }
  }
}

static void fix(etx_method* method, const etx_value* value) {
  if (value->kind == ETX_VALUE_TENSOR) {
    etx_method_tensor_of(method, value)->is_fixed = true;
  } else {
    method->marks[value->position] |= ETX_MARK_FIXED;
  }
}

// Marks what a call reads among its first `count` arguments.
static void fix_reads(etx_method* method, const etx_method_record* record,
                      size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if ((record->written >> i & 1) != 0) continue;
    etx_value_span values = etx_call_argument_values(&record->call, i);
    for (; values.at != values.end; ++values.at) {
      if (*values.at != NULL) fix(method, *values.at);
    }
  }
}

static void use_memory_of(const etx_method* method, etx_method_tensor* target,
                          const etx_method_tensor* source, size_t offset) {
  target->root = source->root;
  target->root_offset = source->root_offset + offset;
  point(method, target);
}

etx_status etx_method_rebind(etx_method* method, etx_method_tensor* target,
                             const etx_method_tensor* source, etx_diag* diag) {
  const etx_tensor* from = &source->value->as.tensor;
  const etx_tensor* to = &target->value->as.tensor;
  if (from->dtype != to->dtype || from->rank != to->rank) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "value %u takes the place of a tensor of another type "
                         "or rank",
                         etx_method_number(method, target));
  }
  if (etx_method_defer_if_used(method, target->value)) return ETX_OK;
  if (ETX_METHOD_SIZES) {
    ETX_TRY(etx_method_resize(method, target, from->sizes, diag));
  }
  use_memory_of(method, target, source, 0);
  return ETX_OK;
}

etx_status etx_method_check_memory(const etx_method* method,
                                   const etx_value* value, etx_diag* diag) {
  const etx_method_tensor* tensor = etx_method_tensor_of(method, value);
  const size_t capacity = capacity_of(method, tensor);
  if (tensor->bytes <= capacity) return ETX_OK;
  return etx_diag_fail(
      diag, ETX_BAD_FILE, "value %u needs %z bytes and has %z at this point",
      etx_method_number(method, tensor), tensor->bytes, capacity);
}

// Checks that the memory of a written tensor may be written. A tensor that is
// only resized keeps its bytes, so its memory may be any but the caller's,
// because the caller has said how large an input is.
static etx_status check_owner(etx_method* method, etx_method_record* record,
                              const etx_method_tensor* tensor) {
  if (tensor->root == ETX_NO_INDEX) return ETX_OK;  // it has no elements
  const etx_method_tensor* root = &method->tensors[tensor->root];
  const bool is_written = !etx_op_only_sizes(record->call.op);
  if (is_written && root->home_kind == ETX_HOME_STATE) {
    record->writes_state = true;
  }
  const bool is_read_only =
      (root->home_kind == ETX_HOME_CONSTANT && is_written) ||
      (root->home_kind == ETX_HOME_INPUT &&
       method->inputs[root->input].shown == NULL);
  if (!is_read_only) return ETX_OK;
  return etx_diag_fail(
      method->kernel_diag, ETX_BAD_FILE,
      "output (value %u) lies in %s that must not be written",
      etx_method_number(method, tensor),
      root->home_kind == ETX_HOME_CONSTANT ? "a constant" : "an input");
}

// Marks a value that a kernel is called with and notes what can never change of
// what its prepare looks at: all of it, or all but the sizes of outputs, which
// then have memory of their own for good. A tensor must have memory, and its
// owner must allow that it is written.
static inline etx_status take_value(etx_method* method,
                                    etx_method_record* record,
                                    const etx_value* value, bool is_written) {
  if (value->kind != ETX_VALUE_TENSOR) {
    uint8_t* marks = &method->marks[value->position];
    if (ETX_DYNAMIC && (*marks & ETX_MARK_VARIES) != 0) {
      record->has_fixed_sizes = record->has_fixed_reads = false;
    }
    *marks |= ETX_MARK_FIXED;
    return ETX_OK;
  }
  etx_method_tensor* tensor = etx_method_tensor_of(method, value);
  tensor->is_fixed = true;
  if (ETX_DYNAMIC && (tensor->sizes != NULL || tensor->is_rebound ||
                      tensor->home_kind == ETX_HOME_NONE)) {
    record->has_fixed_sizes = false;
    if (!is_written || tensor->is_rebound ||
        tensor->home_kind != ETX_HOME_SCRATCH) {
      record->has_fixed_reads = false;
    }
  }
  if (tensor->bytes > capacity_of(method, tensor)) {
    return etx_method_check_memory(method, value, method->kernel_diag);
  }
  return is_written ? check_owner(method, record, tensor) : ETX_OK;
}

static etx_status take_arguments(etx_method* method,
                                 etx_method_record* record) {
  record->writes_state = false;
  if (ETX_DYNAMIC) {
    record->has_fixed_sizes = record->has_fixed_reads =
        record->slot == ETX_NO_INDEX;
  }
  const size_t count = record->call.argument_count;
  for (size_t i = 0; i < count; ++i) {
    const bool is_written = (record->written >> i & 1) != 0;
    const etx_value* value = record->call.arguments[i];
    if (value->kind == ETX_VALUE_TENSOR) {  // as most are
      ETX_TRY(take_value(method, record, value, is_written));
      continue;
    }
    etx_value_span values = etx_call_argument_values(&record->call, i);
    for (; values.at != values.end; ++values.at) {
      if (*values.at == NULL) continue;
      ETX_TRY(take_value(method, record, *values.at, is_written));
    }
  }
  return ETX_OK;
}

static etx_status prepare_kernel(etx_method* method,
                                 etx_method_record* record) {
  etx_call* call = &record->call;
  call->run = NULL;
  call->temporary_bytes = 0;
  ETX_TRY(record->kernel->prepare(call));
  if (call->temporary_bytes > method->temporary.size) {
    return etx_diag_fail(method->kernel_diag, ETX_INTERNAL,
                         "kernel wants %z temporary bytes, its row stated %z",
                         call->temporary_bytes, method->temporary.size);
  }
  return ETX_OK;
}

static void take_preparation(etx_call* call, const etx_call* from) {
  call->run = from->run;
  call->temporary_bytes = from->temporary_bytes;
  memcpy(call->prepared, from->prepared, sizeof call->prepared);
}

// True if nothing that matters to it has changed since it was prepared.
static bool stays_prepared(const etx_method_record* record) {
  return ETX_DYNAMIC && record->is_prepared &&
         (record->has_fixed_sizes ||
          (record->has_fixed_reads && record->is_sized_by_data));
}

static etx_status shape_kernel(etx_method* method, etx_method_record* record) {
  if (stays_prepared(record)) return ETX_OK;
  const bool mode = method->prepares_as_it_runs;
  // It is worth its code where methods are prepared again and again.
  const etx_method_record* like =
      ETX_DYNAMIC ? etx_prepare_cache_find(method, record) : NULL;
  bool is_alike =
      like != NULL && etx_prepare_cache_has_same_result(record, like);
  if (is_alike) {
    record->is_sized_by_data = false;  // its outputs have their sizes
  } else {
    // No output that it reads, too, may get other sizes.
    if (ETX_DYNAMIC) fix_reads(method, record, record->call.argument_count);
    if (ETX_METHOD_SIZES) {
      ETX_TRY(etx_method_size_outputs(method, record, like));
    }
    if (ETX_DYNAMIC && method->prepares_as_it_runs != mode) return ETX_OK;
    is_alike = like != NULL && etx_prepare_cache_has_same_result(record, like);
  }
  ETX_TRY(take_arguments(method, record));
  if (ETX_VERIFIER) {
    ETX_TRY(etx_method_check_overlap(method, record, method->kernel_diag));
  }
  if (is_alike) {
    take_preparation(&record->call, &like->call);
  } else {
    ETX_TRY(prepare_kernel(method, record));
  }
  if (ETX_DYNAMIC) record->is_prepared = true;
  if (record->slot == ETX_NO_INDEX) return ETX_OK;
  // An in-place operator answers its first argument in a slot of its own.
  return etx_method_rebind(
      method, etx_method_tensor_of(method, &method->values[record->slot]),
      etx_method_tensor_of(method, record->call.arguments[0]),
      method->kernel_diag);
}

// Computes a number. Its slot keeps the kind that calls were checked with.
static etx_status shape_scalar(etx_method* method, etx_method_record* record) {
  etx_value* slot = &method->values[record->slot];
  const etx_value_kind kind = slot->kind;
  etx_call* call = &record->call;
  fix_reads(method, record, call->argument_count - 1);
  if (etx_method_defer_if_used(method, slot)) return ETX_OK;
  if (ETX_DYNAMIC && call->op->id == ETX_OP_local_scalar_dense) {
    ETX_TRY(etx_method_check_memory(method, call->arguments[0], call->diag));
  }
  ETX_TRY(prepare_kernel(method, record));
  ETX_TRY(call->run(call));
  fix(method, slot);
  if (slot->kind == kind) return ETX_OK;
  slot->kind = kind;
  slot->as.integer = 0;
  return etx_diag_fail(call->diag, ETX_BAD_FILE,
                       "result is of another kind than its slot (value %u)",
                       (uint64_t)record->slot);
}

// Bytes from the start of self at which a view begins. The shape rule has seen
// that it lies within.
static size_t start_of_view(const etx_method_record* record) {
  const etx_call* call = &record->call;
  if (call->op->id != ETX_OP_part_view_default) return 0;
  const etx_tensor* self = &call->arguments[0]->as.tensor;
  return (size_t)call->arguments[1]->as.integer * etx_dtype_bytes(self->dtype);
}

// Another header over the same elements, or a part of them.
static etx_status shape_view(etx_method* method, etx_method_record* record) {
  const etx_value* self = record->call.arguments[0];
  etx_method_tensor* target =
      etx_method_tensor_of(method, &method->values[record->slot]);
  const etx_method_tensor* source = etx_method_tensor_of(method, self);
  fix_reads(method, record, record->call.argument_count);
  if (etx_method_defer_if_used(method, target->value)) return ETX_OK;
  if (ETX_METHOD_SIZES) ETX_TRY(etx_method_size_view(method, record, target));
  const bool is_part = record->call.op->id == ETX_OP_part_view_default;
  if (target->value->as.tensor.dtype != self->as.tensor.dtype ||
      (!is_part && target->bytes != source->bytes)) {
    return etx_diag_fail(method->kernel_diag, ETX_BAD_FILE,
                         "a view of %z bytes over %z bytes of another type or "
                         "number",
                         target->bytes, source->bytes);
  }
  use_memory_of(method, target, source, start_of_view(record));
  fix(method, target->value);
  return ETX_OK;
}

etx_status etx_method_shape_record(etx_method* method,
                                   etx_method_record* record, etx_diag* diag) {
  etx_status status = ETX_OK;
  method->kernel_diag->status = ETX_OK;
  switch (record->kind) {
    case ETX_RECORD_KERNEL:
      status = shape_kernel(method, record);
      break;
    case ETX_RECORD_SCALAR:
      status = shape_scalar(method, record);
      break;
    case ETX_RECORD_VIEW:
      status = shape_view(method, record);
      break;
    default:
      break;
  }
  if (status == ETX_OK) return ETX_OK;
  etx_method_error_take_message(method, status, diag);
  etx_method_error_locate(method, record, diag);
  return status;
}

static void add_step(etx_method* method, etx_method_record* record) {
  if (record->kind != ETX_RECORD_KERNEL) return;
  if (record->writes_state && method->first_state_step == SIZE_MAX) {
    method->first_state_step = method->step_count;
  }
  etx_method_step* step = &method->steps[method->step_count++];
  step->run = record->call.run;
  step->call = &record->call;
}

etx_status etx_method_check_mutated_inputs(const etx_method* method,
                                           etx_diag* diag) {
  if (!ETX_VERIFIER && !ETX_DYNAMIC) return ETX_OK;
  for (size_t i = 0; i < method->input_count; ++i) {
    const etx_method_input* input = &method->inputs[i];
    if (input->shown == NULL || input->tensor == ETX_NO_INDEX) continue;
    const etx_method_tensor* tensor = &method->tensors[input->tensor];
    const etx_method_tensor* shown = etx_method_tensor_of(method, input->shown);
    ETX_TRY(etx_method_check_memory(method, input->shown, diag));
    const bool is_equal =
        shown->value->as.tensor.dtype == tensor->value->as.tensor.dtype &&
        shown->bytes == tensor->bytes;
    if (is_equal) continue;
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "input %z of method '%t' gets a new content of "
                         "another type or size",
                         i, etx_pte_plan_name(&method->plan));
  }
  return ETX_OK;
}

etx_status etx_method_shape_all(etx_method* method, etx_diag* diag) {
  method->is_prepared = false;
  method->step_count = 0;
  method->first_state_step = SIZE_MAX;
  etx_method_restart(method);
  etx_method_update_pointers(method);
  for (size_t i = 0; i < method->record_count; ++i) {
    ETX_TRY(etx_method_shape_record(method, &method->records[i], diag));
    if (method->prepares_as_it_runs) return ETX_OK;
    add_step(method, &method->records[i]);
  }
  ETX_TRY(etx_method_check_mutated_inputs(method, diag));
  method->is_prepared = true;
  return ETX_OK;
}
