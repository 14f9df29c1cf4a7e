// One record of the shape phase: sizes and root of its results, its prepared
// kernel. Sizes and root of a tensor at one record depend on the records before
// it.

#include "runtime/shapes/method_shapes.h"

#include "format/base/reachability.h"
#include "runtime/shapes/call_overlap.h"
#include "runtime/shapes/idle_calls.h"
#include "runtime/shapes/late_values.h"
#include "runtime/shapes/method_sizes.h"
#include "runtime/shapes/prepare_cache.h"

// Bytes from the start of its data to the end of its root's storage.
static size_t capacity_of(const etx_method* method,
                          const etx_method_tensor* tensor) {
  if (tensor->root == ETX_NO_INDEX) return 0;
  const size_t bytes = method->tensors[tensor->root].storage_bytes;
  return bytes > tensor->root_offset ? bytes - tensor->root_offset : 0;
}

static void point(const etx_method* method, etx_method_tensor* tensor) {
  uint8_t* storage = tensor->root == ETX_NO_INDEX
                         ? NULL
                         : method->tensors[tensor->root].storage;
  tensor->value->as.tensor.data =
      storage == NULL ? NULL : storage + tensor->root_offset;
}

void etx_method_update_pointers(etx_method* method) {
  if (ETX_DYNAMIC) ++method->address_updates;
  for (size_t i = 0; i < method->tensor_count; ++i) {
    point(method, &method->tensors[i]);
  }
}

static void restart_sizes(const etx_method* method, etx_method_tensor* tensor) {
  const bool is_input = tensor->input != ETX_NO_INDEX;
  if (etx_method_is_dynamic(tensor)) {
    etx_method_set_sizes(tensor, is_input ? method->inputs[tensor->input].sizes
                                          : tensor->bounds);
  }
  if (ETX_DYNAMIC && tensor->storage_kind == ETX_METHOD_STORAGE_INPUT) {
    tensor->storage_bytes = tensor->bytes;
  }
}

static void restart_root(etx_method_tensor* tensor, size_t position) {
  tensor->root = tensor->storage_kind == ETX_METHOD_STORAGE_NONE
                     ? tensor->base
                     : (uint32_t)position;
  tensor->root_offset =
      tensor->storage_kind == ETX_METHOD_STORAGE_NONE ? tensor->base_offset : 0;
}

void etx_method_restart_integers(etx_method* method) {
  for (size_t i = 0; ETX_DYNAMIC && i < method->input_count; ++i) {
    const etx_method_input* input = &method->inputs[i];
    if (input->varies) {
      method->values[input->value].as.integer = input->integer;
    }
  }
}

void etx_method_restart(etx_method* method) {
  if (ETX_DYNAMIC) method->has_scratch_lists = false;
  for (size_t i = 0; ETX_DYNAMIC && i < method->value_count; ++i) {
    const int marks = method->marks[i];
    const int late = (marks & ETX_MARK_STAYS_LATE) >> 1;  // ETX_MARK_LATE
    method->marks[i] =
        (uint8_t)((marks & ~(ETX_MARK_USED | ETX_MARK_LATE)) | late);
  }
  for (size_t i = 0; i < method->tensor_count; ++i) {
    etx_method_tensor* tensor = &method->tensors[i];
    tensor->is_used = false;
    if (ETX_DYNAMIC && tensor->late != 0) {
      const int stays =
          tensor->late & (ETX_STAYS_LATE_SIZES | ETX_STAYS_LATE_ROOT);
      tensor->late =
          (uint8_t)((tensor->late & ETX_LATE_ANY_ROOT) | stays | stays >> 2);
    }
    restart_sizes(method, tensor);
    restart_root(tensor, i);
  }
  etx_method_restart_integers(method);
}

static void restart_late_tensor(etx_method* method, etx_method_tensor* tensor) {
  if ((tensor->late & ETX_LATE_SIZES) != 0) restart_sizes(method, tensor);
  if ((tensor->late & ETX_LATE_ROOT) == 0) return;
  restart_root(tensor, (size_t)(tensor - method->tensors));
  point(method, tensor);
}

void etx_method_restart_late(etx_method* method) {
  for (size_t i = 0; i < method->tensor_count; ++i) {
    restart_late_tensor(method, &method->tensors[i]);
  }
  etx_method_restart_integers(method);
}

void etx_method_restart_value(etx_method* method, const etx_value* value) {
  restart_late_tensor(method, etx_method_tensor_of(method, value));
}

void etx_method_mark_used(etx_method* method, const etx_value* value) {
  if (value->kind == ETX_VALUE_TENSOR) {
    etx_method_tensor_of(method, value)->is_used = true;
  } else {
    method->marks[value->position] |= ETX_MARK_USED;
  }
}

// Marks the values that a call reads among its first `count` arguments.
static void mark_reads_used(etx_method* method, const etx_method_record* record,
                            size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if ((record->written >> i & 1) != 0) continue;
    etx_value_span values = etx_call_argument_values(&record->call, i);
    for (; values.at != values.end; ++values.at) {
      if (*values.at != NULL) etx_method_mark_used(method, *values.at);
    }
  }
}

void etx_method_set_root(const etx_method* method, etx_method_tensor* target,
                         uint32_t root, size_t offset) {
  target->root = root;
  target->root_offset = offset;
  point(method, target);
}

static void use_memory_of(const etx_method* method, etx_method_tensor* target,
                          const etx_method_tensor* source, size_t offset) {
  etx_method_set_root(method, target, source->root,
                      source->root_offset + offset);
}

etx_status etx_method_rebind(etx_method* method, etx_method_tensor* target,
                             const etx_method_tensor* source, etx_diag* diag) {
  const etx_tensor* from = &source->value->as.tensor;
  const etx_tensor* to = &target->value->as.tensor;
  if (from->dtype != to->dtype || from->rank != to->rank) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "value %u replaces a tensor of another type or rank",
                         etx_method_number(method, target));
  }
  if (etx_method_defer_if_used(method, target->value, ETX_LATE_ROOT)) {
    return ETX_OK;
  }
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

// Checks that a tensor may be written, and notes writes. An operator
// that only sets sizes writes no bytes, so it may be called on a constant, but
// not on a read-only input, whose sizes the caller has set.
static etx_status check_owner(etx_method* method, etx_method_record* record,
                              const etx_method_tensor* tensor) {
  if (tensor->root == ETX_NO_INDEX) return ETX_OK;  // it has no elements
  if (ETX_DYNAMIC && tensor->bytes != 0) record->writes_elements = true;
  const etx_method_tensor* root = &method->tensors[tensor->root];
  const bool is_written = !etx_op_only_sizes(record->call.op);
  if (is_written && root->storage_kind == ETX_METHOD_STORAGE_STATE) {
    record->writes_state = true;
  }
  const bool is_read_only =
      (root->storage_kind == ETX_METHOD_STORAGE_CONSTANT && is_written) ||
      (root->storage_kind == ETX_METHOD_STORAGE_INPUT &&
       method->inputs[root->input].new_content == NULL);
  if (!is_read_only) return ETX_OK;
  return etx_diag_fail(method->kernel_diag, ETX_BAD_FILE,
                       "output (value %u) is in %s that must not be written",
                       etx_method_number(method, tensor),
                       root->storage_kind == ETX_METHOD_STORAGE_CONSTANT
                           ? "a constant"
                           : "an input");
}

// Marks an argument as used and updates the record's flags: whether everything
// that `prepare` reads is fixed (has_fixed_sizes), or everything but the sizes
// of outputs in scratch (has_fixed_reads). Checks that a tensor has enough
// memory, and that a written one may be written.
static inline etx_status take_value(etx_method* method,
                                    etx_method_record* record,
                                    const etx_value* value, bool is_written) {
  if (value->kind != ETX_VALUE_TENSOR) {
    uint8_t* marks = &method->marks[value->position];
    if (ETX_DYNAMIC && (*marks & ETX_MARK_VARIES) != 0) {
      record->has_fixed_sizes = record->has_fixed_reads = false;
    }
    *marks |= ETX_MARK_USED;
    return ETX_OK;
  }
  etx_method_tensor* tensor = etx_method_tensor_of(method, value);
  tensor->is_used = true;
  if (ETX_DYNAMIC && (tensor->sizes != NULL || tensor->is_rebound ||
                      tensor->storage_kind == ETX_METHOD_STORAGE_NONE)) {
    record->has_fixed_sizes = false;
    if (!is_written || tensor->is_rebound ||
        tensor->storage_kind != ETX_METHOD_STORAGE_SCRATCH) {
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
    record->writes_elements = false;
    record->has_fixed_sizes = record->slot == ETX_NO_INDEX;
    // An application's operator may read the sizes of what it changes.
    record->has_fixed_reads =
        record->has_fixed_sizes && record->call.op->id < ETX_OP_COUNT;
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

// Prepares the kernel of a call whose arguments have their sizes.
static etx_status prepare_kernel(etx_method* method,
                                 etx_method_record* record) {
  etx_call* call = &record->call;
  call->run = NULL;
  call->temporary_bytes = 0;
  const etx_status status = record->kernel->prepare(call);
  if (ETX_DYNAMIC && status != ETX_OK) call->run = NULL;
  ETX_TRY(status);
  if (call->temporary_bytes > method->temporary.size) {
    return etx_diag_fail(method->kernel_diag, ETX_INTERNAL,
                         "kernel needs %z temporary bytes, its row stated %z",
                         call->temporary_bytes, method->temporary.size);
  }
  return ETX_OK;
}

etx_status etx_method_check_arguments(etx_method* method,
                                      etx_method_record* record) {
  ETX_TRY(take_arguments(method, record));
  if (ETX_DYNAMIC && etx_call_is_joined(method, record)) return ETX_OK;
  return ETX_VERIFIER
             ? etx_method_check_overlap(method, record, method->kernel_diag)
             : ETX_OK;
}

// The return slot of an in-place operator is an alias of its first argument.
static etx_status bind_slot(etx_method* method,
                            const etx_method_record* record) {
  if (record->slot == ETX_NO_INDEX) return ETX_OK;
  return etx_method_rebind(
      method, etx_method_tensor_of(method, &method->values[record->slot]),
      etx_method_tensor_of(method, record->call.arguments[0]),
      method->kernel_diag);
}

static bool is_deferred(const etx_method* method) {
  return ETX_CONTROL_FLOW ? (method->flow & ETX_FLOW_DEFERRED) != 0
                          : ETX_DYNAMIC && method->prepares_during_run;
}

static etx_status shape_kernel(etx_method* method, etx_method_record* record) {
  if (etx_method_stays_prepared(record)) {
    // What its kernel finds is late again in each phase.
    if (ETX_CONTROL_FLOW && record->is_sized_by_data) {
      etx_late_mark_results(method, record);
    }
    return ETX_OK;
  }
  // Only dynamic methods are prepared often enough to be worth the code.
  const etx_method_record* cached =
      ETX_DYNAMIC ? etx_prepare_cache_find(method, record) : NULL;
  bool is_match =
      cached != NULL && etx_prepare_cache_has_same_result(record, cached);
  if (is_match) {
    record->is_sized_by_data = false;  // its outputs have the right sizes
  } else {
    // An output that the call also reads must not be resized.
    if (ETX_DYNAMIC)
      mark_reads_used(method, record, record->call.argument_count);
    if (ETX_METHOD_SIZES) {
      ETX_TRY(etx_method_size_outputs(method, record, cached));
    }
    if (is_deferred(method)) return ETX_OK;
    is_match =
        cached != NULL && etx_prepare_cache_has_same_result(record, cached);
  }
  const bool checks_later =
      ETX_CONTROL_FLOW && record->late == ETX_RECORD_ROOTS;
  if (!checks_later) ETX_TRY(etx_method_check_arguments(method, record));
  if (is_match) {
    etx_call_reuse_prepared(&record->call, &cached->call);
  } else {
    ETX_TRY(prepare_kernel(method, record));
  }
  if (ETX_DYNAMIC) {
    record->is_prepared = true;
    record->is_idle = !checks_later && !record->is_sized_by_data &&
                      etx_call_is_idle(method, record);
  }
  return checks_later ? ETX_OK : bind_slot(method, record);
}

// A check of the model may exclude the upper bounds, at which the method is
// loaded, and be met by the sizes of the calls.
static etx_status run_scalar(etx_method* method, etx_call* call) {
  const etx_status status = call->run(call);
  if (!ETX_DYNAMIC || status == ETX_OK || !method->is_at_bounds ||
      call->op->id != ETX_OP_check_range) {
    return status;
  }
  method->failed_check = true;
  return ETX_OK;
}

// Computes a number. Its slot keeps the kind that calls were checked with.
static etx_status shape_scalar(etx_method* method, etx_method_record* record) {
  etx_value* slot = &method->values[record->slot];
  const etx_value_kind kind = slot->kind;
  etx_call* call = &record->call;
  mark_reads_used(method, record, call->argument_count - 1);
  if (etx_method_defer_if_used(method, slot, 0)) return ETX_OK;
  if (ETX_DYNAMIC && call->op->id == ETX_OP_local_scalar_dense) {
    ETX_TRY(etx_method_check_memory(method, call->arguments[0], call->diag));
  }
  if (!ETX_DYNAMIC || !record->is_prepared) {
    ETX_TRY(prepare_kernel(method, record));
  }
  if (ETX_DYNAMIC) record->is_prepared = true;
  ETX_TRY(run_scalar(method, call));
  etx_method_mark_used(method, slot);
  if (slot->kind == kind) return ETX_OK;
  slot->kind = kind;
  slot->as.integer = 0;
  return etx_diag_fail(call->diag, ETX_BAD_FILE,
                       "result is of another kind than its slot (value %u)",
                       (uint64_t)record->slot);
}

// The end of `previous`, a part of self, in self: offsets in bytes. Checks that
// `size` bytes of self follow.
static etx_status find_start_behind(etx_method* method,
                                    const etx_method_record* record,
                                    size_t size, size_t* out_start) {
  const etx_method_tensor* self =
      etx_method_tensor_of(method, record->call.arguments[0]);
  const etx_value* before = record->call.arguments[1];
  size_t start = 0;
  if (before->kind == ETX_VALUE_TENSOR) {
    const etx_method_tensor* previous = etx_method_tensor_of(method, before);
    const size_t end = previous->root_offset + previous->bytes;
    if (previous->root != self->root || end < self->root_offset ||
        before->as.tensor.dtype != record->call.arguments[0]->as.tensor.dtype) {
      return etx_diag_fail(method->kernel_diag, ETX_BAD_FILE,
                           "value %u is not a part of value %u",
                           etx_method_number(method, previous),
                           etx_method_number(method, self));
    }
    start = end - self->root_offset;
  }
  if (start > self->bytes || size > self->bytes - start) {
    return etx_diag_fail(method->kernel_diag, ETX_BAD_FILE,
                         "a part of %z bytes from byte %z of value %u, which "
                         "has %z bytes",
                         size, start, etx_method_number(method, self),
                         self->bytes);
  }
  *out_start = start;
  return ETX_OK;
}

// The offset of a view in self, in bytes. The shape function has checked that
// a view whose start is a number is within self.
static size_t start_of_view(const etx_method_record* record) {
  const etx_call* call = &record->call;
  if (call->op->id != ETX_OP_part_view_default) return 0;
  const etx_tensor* self = &call->arguments[0]->as.tensor;
  return (size_t)call->arguments[1]->as.integer * etx_dtype_bytes(self->dtype);
}

static etx_status bind_view(etx_method* method, const etx_method_record* record,
                            etx_method_tensor* target,
                            const etx_method_tensor* source) {
  size_t start = start_of_view(record);
  if (ETX_DYNAMIC && record->call.op->id == ETX_OP_part_after_default) {
    ETX_TRY(find_start_behind(method, record, target->bytes, &start));
  }
  use_memory_of(method, target, source, start);
  return ETX_OK;
}

// Binds the result of a view to the memory of self, or to a part of it.
static etx_status shape_view(etx_method* method, etx_method_record* record) {
  const etx_value* self = record->call.arguments[0];
  etx_method_tensor* target =
      etx_method_tensor_of(method, &method->values[record->slot]);
  const etx_method_tensor* source = etx_method_tensor_of(method, self);
  const bool binds_later = ETX_CONTROL_FLOW && record->late == ETX_RECORD_ROOTS;
  mark_reads_used(method, record, record->call.argument_count);
  if (!binds_later &&
      etx_method_defer_if_used(method, target->value, ETX_LATE_ROOT)) {
    return ETX_OK;
  }
  if (ETX_METHOD_SIZES) ETX_TRY(etx_method_size_view(method, record, target));
  const etx_op_id op = record->call.op->id;
  const bool is_part = op == ETX_OP_part_view_default ||
                       (ETX_DYNAMIC && op == ETX_OP_part_after_default);
  if (target->value->as.tensor.dtype != self->as.tensor.dtype ||
      (!is_part && target->bytes != source->bytes)) {
    return etx_diag_fail(method->kernel_diag, ETX_BAD_FILE,
                         "a view of %z bytes over %z bytes, or of another type",
                         target->bytes, source->bytes);
  }
  if (binds_later) return ETX_OK;
  ETX_TRY(bind_view(method, record, target, source));
  etx_method_mark_used(method, target->value);
  return ETX_OK;
}

etx_status etx_method_bind_record(etx_method* method,
                                  etx_method_record* record) {
  method->kernel_diag->status = ETX_OK;
  if (record->kind == ETX_RECORD_KERNEL) {
    ETX_TRY(etx_method_check_arguments(method, record));
  }
  return etx_method_bind_checked(method, record);
}

etx_status etx_method_bind_checked(etx_method* method,
                                   const etx_method_record* record) {
  if (!ETX_VIEWS || record->kind == ETX_RECORD_KERNEL) {
    return bind_slot(method, record);
  }
  return bind_view(method, record,
                   etx_method_tensor_of(method, &method->values[record->slot]),
                   etx_method_tensor_of(method, record->call.arguments[0]));
}

etx_status etx_method_shape_record(etx_method* method,
                                   etx_method_record* record) {
  method->kernel_diag->status = ETX_OK;
  switch (record->kind) {
    case ETX_RECORD_KERNEL:
      return shape_kernel(method, record);
    case ETX_RECORD_SCALAR:
      return shape_scalar(method, record);
    default:  // a view: all others have no sizes or numbers to compute
      return ETX_VIEWS ? shape_view(method, record) : ETX_OK;
  }
}

// The caller reads as many bytes of outputs as their sizes say.
static etx_status check_outputs(const etx_method* method, etx_diag* diag) {
  for (size_t i = 0; i < method->output_count; ++i) {
    const etx_value* const output = method->outputs[i];
    const etx_call call = {.arguments = &output, .argument_count = 1};
    etx_value_span values = etx_call_argument_values(&call, 0);
    for (; values.at != values.end; ++values.at) {
      if (*values.at == NULL || (*values.at)->kind != ETX_VALUE_TENSOR) continue;
      ETX_TRY(etx_method_check_memory(method, *values.at, diag));
    }
  }
  return ETX_OK;
}

etx_status etx_method_check_mutated_inputs(const etx_method* method,
                                           etx_diag* diag) {
  if (!ETX_VERIFIER && !ETX_DYNAMIC) return ETX_OK;
  ETX_TRY(check_outputs(method, diag));
  for (size_t i = 0; i < method->input_count; ++i) {
    const etx_method_input* input = &method->inputs[i];
    if (input->new_content == NULL || input->tensor == ETX_NO_INDEX) continue;
    const etx_method_tensor* tensor = &method->tensors[input->tensor];
    const etx_method_tensor* new_content =
        etx_method_tensor_of(method, input->new_content);
    // It is an output, which was checked above, or the input itself, which has
    // the caller's sizes.
    const etx_status status =
        etx_method_check_memory(method, input->new_content, diag);
    if (ETX_NEVER(status != ETX_OK)) return status;
    const bool is_equal =
        new_content->value->as.tensor.dtype == tensor->value->as.tensor.dtype &&
        new_content->bytes == tensor->bytes;
    if (is_equal) continue;
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "the new content of input %z of method '%t' has "
                         "another type or size",
                         i, etx_pte_plan_name(&method->plan));
  }
  return ETX_OK;
}
