// Runs size programs: the shape phase without shape functions.

#include "format/base/reachability.h"
#include "format/shapes/size_table.h"
#include "runtime/shapes/call_overlap.h"
#include "runtime/shapes/idle_calls.h"
#include "runtime/shapes/method_shapes.h"
#include "runtime/shapes/size_program.h"

static void attach(etx_method* method) {
  const etx_size_program* const program = &method->sizes;
  for (size_t i = 0; i < program->tensor_count; ++i) {
    const uint32_t alike = program->tensors[i].alike;
    if (alike == ETX_NO_INDEX) continue;
    etx_tensor* const header = &method->tensors[i].value->as.tensor;
    header->sizes = method->tensors[alike].sizes;
    header->strides = method->tensors[alike].strides;
  }
  method->sizes.is_attached = method->sizes.has_new_steps = true;
}

void etx_size_program_detach(etx_method* method) {
  method->sizes.is_attached = false;
  for (size_t i = 0; i < method->sizes.tensor_count; ++i) {
    const etx_method_tensor* const tensor = &method->tensors[i];
    if (!etx_method_is_dynamic(tensor)) continue;
    tensor->value->as.tensor.sizes = tensor->sizes;
    tensor->value->as.tensor.strides = tensor->strides;
  }
}

// Computes the sizes of the first of equal tensors, and its strides as
// etx_layout_strides does. The product of all sizes but those that are 0 is at
// most 2^31 times what fits into a stride, so it cannot wrap.
static bool compute_sizes(const etx_method* method, etx_method_tensor* tensor,
                          etx_size_tensor* sizes) {
  const etx_size_program* const program = &method->sizes;
  const etx_dim* const dims = &program->dims[sizes->first_dim];
  int64_t stride = 1;
  bool is_empty = false;
  for (size_t i = tensor->value->as.tensor.rank; i-- > 0;) {
    const size_t at = tensor->dim_order[i];
    const int64_t size = etx_size_value(dims[at], program->values);
    if ((uint64_t)size > INT32_MAX || stride > INT32_MAX) return false;
    tensor->sizes[at] = (int32_t)size;
    tensor->strides[at] = (int32_t)stride;
    if (size == 0) {
      is_empty = true;
    } else {
      stride *= size;
    }
  }
  // Compared in 64 bits: size_t may have 32.
  if (!is_empty && (uint64_t)stride > sizes->most) return false;
  sizes->numel = is_empty ? 0 : (size_t)stride;
  return true;
}

static inline void set_bytes(etx_method_tensor* tensor, size_t bytes) {
  tensor->bytes = bytes;
  if (tensor->storage_kind == ETX_METHOD_STORAGE_INPUT) {
    tensor->storage_bytes = bytes;
  }
}

static bool set_all_sizes(etx_method* method) {
  const etx_size_program* const program = &method->sizes;
  uint32_t next = 0;
  for (uint32_t i = program->first_sized; i != program->first_alike; i = next) {
    etx_size_tensor* const sizes = &program->tensors[i];
    etx_method_tensor* const tensor = &method->tensors[i];
    next = sizes->next;
    if (!compute_sizes(method, tensor, sizes)) return false;
    set_bytes(tensor, sizes->numel * sizes->element_bytes);
  }
  for (uint32_t i = program->first_alike; i != ETX_NO_INDEX; i = next) {
    const etx_size_tensor* const sizes = &program->tensors[i];
    next = sizes->next;
    if (sizes->alike == ETX_NO_INDEX) continue;  // a view of fixed sizes
    const size_t numel = program->tensors[sizes->alike].numel;
    set_bytes(&method->tensors[i], numel * sizes->element_bytes);
  }
  return true;
}

static bool run_number(etx_method* method, etx_method_record* record) {
  etx_value* const slot = &method->values[record->slot];
  const etx_value_kind kind = slot->kind;
  if (record->call.run(&record->call) != ETX_OK) return false;
  if (slot->kind == kind) return true;
  slot->kind = kind;  // the phase without the program refuses the result
  return false;
}

// Checks that all views have memory: that of an input, whose size varies, may
// end before a view of it does, and a view of a tensor without memory has none.
// Where a root is late, the record that uses it is checked.
static bool views_have_memory(const etx_method* method) {
  const etx_size_program* const program = &method->sizes;
  const uint32_t end = program->first_alike_block;
  uint32_t next = 0;
  for (uint32_t i = program->first_view; i != end; i = next) {
    const etx_method_tensor* const tensor = &method->tensors[i];
    next = program->tensors[i].next;
    if (tensor->root == i || (tensor->late & ETX_LATE_ROOT) != 0) continue;
    const size_t bytes = tensor->root == ETX_NO_INDEX
                             ? 0
                             : method->tensors[tensor->root].storage_bytes;
    if (tensor->bytes > 0 && (tensor->root_offset > bytes ||
                              tensor->bytes > bytes - tensor->root_offset)) {
      return false;
    }
  }
  return true;
}

// Gives a view the memory of its source. In most phases it has it already:
// where roots have moved, the phase updates all pointers when it ends. False if
// a tensor with memory of its own would get another's, which is not checked.
static inline bool share_memory(etx_method* method, etx_method_tensor* target,
                                const etx_method_tensor* source) {
  if (target->root == source->root &&
      target->root_offset == source->root_offset) {
    return true;
  }
  if (target->root == (uint32_t)(target - method->tensors)) return false;
  if (target->root != source->root) method->has_scratch_lists = false;
  etx_method_set_root(method, target, source->root, source->root_offset);
  return true;
}

// Offsets of parts depend on sizes; those of other views are fixed if their
// sources' are.
static bool bind_view(etx_method* method, etx_method_record* record) {
  const etx_op_id op = record->call.op->id;
  const etx_method_tensor* const source =
      etx_method_tensor_of(method, record->call.arguments[0]);
  etx_method_tensor* const target =
      etx_method_tensor_of(method, &method->values[record->slot]);
  if (op == ETX_OP_part_view_default || op == ETX_OP_part_after_default) {
    const uint32_t root = target->root;
    const etx_status status = etx_method_bind_checked(method, record);
    if (target->root != root) method->has_scratch_lists = false;
    return status == ETX_OK;
  }
  // The program was built because both have as many elements at all sizes.
  return share_memory(method, target, source) &&
         ETX_ALWAYS(target->bytes == source->bytes);
}

// The full phase, which runs next if this fails, has the message.
static bool prepare_again(const etx_method* method, etx_method_record* record,
                          bool has_fixed_numbers) {
  etx_call* const call = &record->call;
  if (!has_fixed_numbers) call->run = NULL;
  if (record->kernel->prepare(call) == ETX_OK &&
      call->temporary_bytes <= method->temporary.size) {
    return true;
  }
  call->run = NULL;
  return false;
}

static bool writes_elements(const etx_method* method,
                            const etx_method_record* record) {
  etx_value_cursor written = etx_record_written_values(record);
  for (const etx_value* value; (value = etx_value_next(&written)) != NULL;) {
    if (etx_method_tensor_of(method, value)->bytes > 0) return true;
  }
  return false;
}

// Checks what depends on the present sizes: whether the call has something to
// do, and whether its outputs overlap other arguments. Without control flow,
// memory and writers of all arguments are as in the phase before, and sizes are
// within bounds.
static bool check_record(etx_method* method, etx_method_record* record,
                         const etx_size_record* row) {
  if (etx_method_has_flow(method)) {
    if (etx_method_check_arguments(method, record) != ETX_OK) return false;
    if (row->may_be_idle) record->is_idle = etx_call_is_idle(method, record);
    return true;
  }
  const bool is_joined = etx_call_is_joined(method, record);
  if (row->may_be_idle) {
    record->writes_elements = writes_elements(method, record);
    record->is_idle = is_joined || etx_call_writes_nothing(method, record);
  }
  return !ETX_VERIFIER || is_joined ||
         etx_method_check_overlap(method, record, method->kernel_diag) ==
             ETX_OK;
}

static bool prepare_kernel(etx_method* method, size_t index) {
  etx_method_record* const record = &method->records[index];
  const etx_size_record* const row = &method->sizes.records[index];
  const etx_kernel_function run = record->call.run;
  const bool was_idle = record->is_idle;
  // With late roots, the check follows when the phase ends, or during the run.
  if ((!record->is_apart || row->may_be_idle) && !row->has_late_roots &&
      !check_record(method, record, row)) {
    return false;
  }
  if (row->leader != index) {
    etx_call_reuse_prepared(&record->call, &method->records[row->leader].call);
  } else if (!row->is_fixed && !etx_method_stays_prepared(record) &&
             !prepare_again(method, record, row->has_fixed_numbers)) {
    return false;
  }
  if (row->has_late_roots) {
    record->late = ETX_RECORD_ROOTS;
    return true;
  }
  if (record->is_idle != was_idle) method->sizes.has_new_steps = true;
  if (record->call.run != run) method->sizes.has_new_functions = true;
  if (record->slot == ETX_NO_INDEX) return true;
  return share_memory(
      method, etx_method_tensor_of(method, &method->values[record->slot]),
      etx_method_tensor_of(method, record->call.arguments[0]));
}

static bool prepare_record(etx_method* method, size_t index) {
  etx_method_record* const record = &method->records[index];
  switch (record->kind) {
    case ETX_RECORD_KERNEL:
      return record->late == ETX_RECORD_LATE || prepare_kernel(method, index);
    case ETX_RECORD_VIEW:
      return record->late != ETX_RECORD_AHEAD || bind_view(method, record);
    case ETX_RECORD_SCALAR:
      return record->late != ETX_RECORD_AHEAD || run_number(method, record);
    default:
      return true;
  }
}

bool etx_size_program_run(etx_method* method) {
  etx_size_program* const program = &method->sizes;
  const etx_size_table table = {program->expressions, program->expression_room,
                                program->expression_count};
  if (!program->is_attached) attach(method);
  memcpy(program->values, method->symbols,
         method->symbol_count * sizeof *method->symbols);
  etx_size_table_evaluate(&table, program->values);
  if (!set_all_sizes(method)) return false;
  etx_method_restart_integers(method);
  method->kernel_diag->status = ETX_OK;
  for (size_t i = 0; i < method->record_count; ++i) {
    if (!prepare_record(method, i)) return false;
  }
  return views_have_memory(method);
}
