// Loads a method, resets it, and binds it to another session's state.

#include "runtime/method.h"

#include "format/pte/reserved_names.h"
#include "runtime/load/method_layout.h"
#include "runtime/load/endless_loops.h"
#include "runtime/load/method_records.h"
#include "runtime/load/method_values.h"
#include "runtime/load/number_scopes.h"
#include "runtime/method/method_types.h"
#include "runtime/load/method_temporary.h"
#include "runtime/run/method_run.h"
#include "runtime/run/sized_memory.h"
#include "runtime/shapes/late_versions.h"
#include "runtime/shapes/method_shapes.h"
#include "runtime/shapes/method_symbols.h"
#include "runtime/shapes/scratch_compaction.h"
#include "runtime/shapes/shape_phase.h"

// For the message only: the first instruction that calls a delegate.
static bool find_delegate_call(const etx_pte_plan* plan, size_t* out_position,
                               size_t* out_delegate) {
  etx_pte_cursor cursor = {0, 0, {0, 0}};
  etx_pte_instruction instruction;
  while (etx_pte_instruction_next(plan, &cursor, &instruction)) {
    if (instruction.kind != ETX_PTE_DELEGATE_CALL) continue;
    *out_position = cursor.instruction - 1;
    *out_delegate = (size_t)instruction.index;
    return *out_delegate < etx_pte_delegate_count(plan);
  }
  return false;
}

static etx_status check_delegates(const etx_method* method, etx_diag* diag) {
  const etx_pte_plan* plan = &method->plan;
  size_t position = 0;
  size_t delegate = 0;
  if (etx_pte_delegate_count(plan) == 0) return ETX_OK;
  if (ETX_MESSAGES && find_delegate_call(plan, &position, &delegate)) {
    return etx_diag_fail(
        diag, ETX_UNSUPPORTED,
        "method '%t' calls delegate '%t' in instruction %z; this runtime "
        "has none: export without to_backend and without a partitioner",
        etx_pte_plan_name(plan), etx_pte_delegate_at(plan, delegate).id,
        position);
  }
  return etx_diag_fail(diag, ETX_UNSUPPORTED,
                       "method '%t' lists delegate '%t'; this runtime has "
                       "none: export without to_backend and without a "
                       "partitioner",
                       etx_pte_plan_name(plan),
                       etx_pte_delegate_at(plan, 0).id);
}

static etx_status check_devices(const etx_method* method, etx_diag* diag) {
  for (size_t i = 0; i < etx_pte_buffer_device_count(&method->plan); ++i) {
    const etx_pte_buffer_device device =
        etx_pte_buffer_device_at(&method->plan, i);
    if (device.device_type == 0) continue;
    return etx_diag_fail(
        diag, ETX_UNSUPPORTED, "arena %i of method '%t' is on a device",
        (int64_t)device.buffer, etx_pte_plan_name(&method->plan));
  }
  return ETX_OK;
}

// First instruction that calls an operator; SIZE_MAX if none does.
static size_t first_call(const etx_pte_plan* plan, size_t operator_index) {
  etx_pte_cursor cursor = {0, 0, {0, 0}};
  etx_pte_instruction instruction;
  while (etx_pte_instruction_next(plan, &cursor, &instruction)) {
    if (instruction.kind == ETX_PTE_KERNEL_CALL &&
        (size_t)instruction.index == operator_index) {
      return cursor.instruction - 1;
    }
  }
  return SIZE_MAX;
}

static etx_status check_operators(const etx_method* method,
                                  etx_operator_cache* operators,
                                  const etx_missing_sink* missing,
                                  etx_diag* diag) {
  const etx_pte_plan* plan = &method->plan;
  etx_status status = ETX_OK;
  for (size_t i = 0; i < etx_pte_operator_count(plan); ++i) {
    const etx_cached_operator* known = etx_operator_cache_at(operators, i);
    // It has a kernel, or makes a view, which the runtime does itself.
    if (known->op != NULL) continue;
    const etx_pte_operator name = etx_pte_operator_at(plan, i);
    const size_t instruction = first_call(plan, i);
    if (instruction == SIZE_MAX) continue;
    status = etx_diag_fail(
        diag, ETX_MISSING_OPERATOR,
        "operator '%t%s%t' of instruction %z of method '%t' is missing",
        name.name, name.overload.size > 0 ? "." : "", name.overload,
        instruction, etx_pte_plan_name(plan));
    if (missing == NULL) return status;
    missing->missing(missing->context, name.name, name.overload, instruction);
  }
  return status;
}

static etx_status check_block(const etx_method* method, const char* what,
                              const uint8_t* data, size_t size, size_t needed,
                              etx_diag* diag) {
  if (size < needed) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "method '%t' needs %z bytes of %s, %z were given",
                         etx_pte_plan_name(&method->plan), needed, what, size);
  }
  if (needed > 0 && (uintptr_t)data % ETX_MEMORY_ALIGNMENT != 0) {
    return etx_diag_fail(
        diag, ETX_BAD_ARGUMENT, "%s of method '%t' is not aligned to %z bytes",
        what, etx_pte_plan_name(&method->plan), (size_t)ETX_MEMORY_ALIGNMENT);
  }
  return ETX_OK;
}

static etx_status check_state(const etx_method* method,
                              const etx_planned_memory* state, size_t needed,
                              etx_diag* diag) {
  if (needed == 0) return ETX_OK;
  if (state == NULL || state->torn == NULL) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "method '%t' has state and was given none",
                         etx_pte_plan_name(&method->plan));
  }
  return check_block(method, "state", state->data, state->size, needed, diag);
}

// The bytes that a block must have when a method is loaded. A compacted method
// takes any number; what is there must be aligned.
static size_t least_bytes(const etx_method* method, const etx_bytes_mut* block,
                          size_t needed) {
  const bool is_enough =
      !ETX_DYNAMIC || method->scratch_member_count == 0 || block->size > needed;
  return is_enough ? needed : block->size;
}

static etx_status take_memory(etx_method* method,
                              const etx_memory_needed* needed,
                              const etx_method_memory* memory, etx_diag* diag) {
  ETX_TRY(check_block(method, "structures", memory->structures.data,
                      memory->structures.size, 1, diag));
  ETX_TRY(check_block(
      method, "scratch", memory->scratch.data, memory->scratch.size,
      least_bytes(method, &memory->scratch, needed->scratch_bytes), diag));
  ETX_TRY(check_state(method, memory->state, needed->state_bytes, diag));
  etx_arena arena;
  etx_arena_init(&arena, memory->structures.data, memory->structures.size);
  if (!etx_method_layout_take(method, &arena)) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "method '%t' needs more than the %z bytes of "
                         "structures that were given",
                         etx_pte_plan_name(&method->plan),
                         memory->structures.size);
  }
  method->scratch = memory->scratch;
  method->scratch.size = needed->scratch_bytes;
  method->temporary = memory->temporary;
  if (ETX_DYNAMIC) {
    method->scratch_given = memory->scratch.size;
    method->temporary_given = memory->temporary.size;
  }
  if (needed->state_bytes > 0) method->state = *memory->state;
  return ETX_OK;
}

// True if an input has a dynamic size or value.
static bool is_dynamic(const etx_method* method) {
  if (!ETX_DYNAMIC) return false;
  for (size_t i = 0; i < method->input_count; ++i) {
    const etx_method_input* input = &method->inputs[i];
    if (input->varies) return true;
    if (input->tensor != ETX_NO_INDEX &&
        method->tensors[input->tensor].sizes != NULL) {
      return true;
    }
  }
  return false;
}

// Runs the shape phase at the upper bounds of all sizes, so that unsupported
// calls are refused when the method is loaded. The bounds in a stock file need
// not be consistent, so a dynamic method of a stock file is prepared when its
// input sizes are known.
static etx_status prepare_at_bounds(etx_method* method, etx_diag* diag) {
  if (is_dynamic(method)) {
    if (method->blob_index == SIZE_MAX) return ETX_OK;
    for (size_t i = 0; i < method->input_count; ++i) {
      if (method->inputs[i].varies) return ETX_OK;
    }
  }
  if (!ETX_DYNAMIC) return etx_method_shape_all(method, diag);
  method->is_at_bounds = true;
  method->failed_check = false;
  const etx_status status = etx_method_shape_all(method, diag);
  method->is_at_bounds = false;
  if (method->failed_check) method->is_prepared = false;
  return status;
}

// Initialises scratch as stock files expect it: zeros, then the initial data of
// planned tensors.
static void start_scratch(etx_method* method) {
  if (method->program->has_blob || method->scratch.size == 0) return;
  memset(method->scratch.data, 0, method->scratch.size);
  for (size_t i = 0; i < method->tensor_count; ++i) {
    const etx_method_tensor* tensor = &method->tensors[i];
    if (tensor->storage_kind != ETX_METHOD_STORAGE_SCRATCH) continue;
    etx_pte_value value;
    etx_pte_value_read(&method->plan, (size_t)(tensor->value - method->values),
                       &value);
    const etx_pte_tensor* from = &value.as.tensor;
    etx_bytes data;
    if (!from->has_allocation ||
        !etx_program_stored(method->program, from, &data)) {
      continue;
    }
    if (tensor->storage_bytes > 0) {
      memcpy(tensor->storage, data.data, tensor->storage_bytes);
    }
  }
}

// Compares the given temporary memory with the needs of the kernels, which
// depend on the decoded calls.
static etx_status take_temporary(etx_method* method,
                                 etx_operator_cache* operators,
                                 etx_diag* diag) {
  size_t needed = 0;
  ETX_TRY(etx_method_temporary_of_records(method, operators, &needed, diag));
  ETX_TRY(check_block(method, "temporary memory", method->temporary.data,
                      method->temporary.size,
                      least_bytes(method, &method->temporary, needed), diag));
  method->temporary.size = needed;
  return ETX_OK;
}

static etx_status load(etx_method* method, etx_operator_cache* operators,
                       etx_diag* diag) {
  etx_diag_init(method->kernel_diag);
  etx_method_seed(method, 0);
  if (ETX_DYNAMIC) etx_method_read_symbols(method);
  ETX_TRY(etx_method_decode_values(method, operators, diag));
  ETX_TRY(etx_method_decode_records(method, operators, diag));
  ETX_TRY(take_temporary(method, operators, diag));
  if (!ETX_CONTROL_FLOW && method->prepares_during_run) {
    return etx_method_refuse_late(method, diag);
  }
  if (ETX_CONTROL_FLOW && (method->flow & ETX_FLOW_JUMPS) != 0) {
    ETX_TRY(etx_method_check_endless_loops(method, diag));
    etx_method_find_late_numbers(method);
  }
  if (ETX_CONTROL_FLOW) etx_late_versions_init(method);
  if (ETX_DYNAMIC) ETX_TRY(etx_scratch_compaction_init(method, diag));
  method->is_prepared = false;
  ETX_TRY(prepare_at_bounds(method, diag));
  // With less memory than the bounds need, the first run checks its sizes.
  if (ETX_DYNAMIC && method->is_prepared &&
      etx_method_check_given(method, NULL) != ETX_OK) {
    method->is_prepared = false;
  }
  if (ETX_DYNAMIC && !method->is_prepared) {
    etx_method_restart(method);
    etx_method_update_pointers(method);
  }
  return ETX_OK;
}

static etx_status init(etx_method* method, const etx_program* program,
                       etx_text name, const etx_method_memory* memory,
                       const etx_missing_sink* missing, etx_diag* diag) {
  etx_method loaded;
  etx_memory_needed needed;
  ETX_TRY(etx_method_layout_find(&loaded, program, name, diag));
  loaded.first_state_step = SIZE_MAX;
  loaded.first_check = ETX_NO_INDEX;
  loaded.run_range = etx_method_run_range;
  ETX_TRY(check_delegates(&loaded, diag));
  ETX_TRY(check_devices(&loaded, diag));
  etx_operator_cache operators;
  etx_operator_cache_init(&operators, &loaded.plan, program->kernels);
  const etx_cells* const cells = program->kernels->cells;
  if (ETX_CELLS && cells != NULL && cells->check != NULL) {
    ETX_TRY(cells->check(&loaded, &operators, missing, diag));
  }
  ETX_TRY(check_operators(&loaded, &operators, missing, diag));
  ETX_TRY(etx_method_layout_count(&loaded, &operators, &needed, diag));
  ETX_TRY(take_memory(&loaded, &needed, memory, diag));
  ETX_TRY(load(&loaded, &operators, diag));
  start_scratch(&loaded);
  *method = loaded;
  return ETX_OK;
}

etx_status etx_method_init(etx_method* method, const etx_program* program,
                           etx_text name, const etx_method_memory* memory,
                           const etx_missing_sink* missing, etx_diag* diag) {
  const etx_status status =
      init(method, program, name, memory, missing, diag);
  etx_leave_wide_registers();
  return etx_diag_seal(diag, status);
}

void etx_method_seed(etx_method* method, uint64_t seed) {
  method->random->seed = seed;
  method->random->drawn = 0;
}

etx_status etx_method_reset(etx_method* method, etx_diag* diag) {
  ETX_TRY(etx_method_forget(method, diag));
  etx_method_seed(method, 0);
  start_scratch(method);
  return ETX_OK;
}

static etx_status bind(etx_method* method, const etx_planned_memory* state,
                       etx_diag* diag) {
  if (method->state.data == NULL) return ETX_OK;
  ETX_TRY(
      check_state(method, state, (size_t)method->program->state_bytes, diag));
  if (__atomic_load_n(&method->busy, __ATOMIC_ACQUIRE) != 0) {
    return etx_diag_fail(diag, ETX_BAD_STATE,
                         "method '%t' is running and cannot be bound",
                         etx_pte_plan_name(&method->plan));
  }
  method->state = *state;
  for (size_t i = 0; i < method->tensor_count; ++i) {
    etx_method_tensor* tensor = &method->tensors[i];
    if (tensor->storage_kind != ETX_METHOD_STORAGE_STATE) continue;
    tensor->storage = etx_method_byte(state->data, tensor->storage_offset);
  }
  etx_method_update_pointers(method);
  return ETX_OK;
}

etx_status etx_method_bind(etx_method* method, const etx_planned_memory* state,
                           etx_diag* diag) {
  return etx_diag_seal(diag, bind(method, state, diag));
}

static void point_to_memory(etx_method* method) {
  for (size_t i = 0; i < method->tensor_count; ++i) {
    etx_method_tensor* const tensor = &method->tensors[i];
    if (tensor->storage_kind != ETX_METHOD_STORAGE_SCRATCH ||
        tensor->storage_bytes == 0) {
      continue;
    }
    tensor->storage =
        etx_method_byte(method->scratch.data, tensor->storage_offset);
  }
  for (size_t i = 0; i < method->record_count; ++i) {
    method->records[i].call.temporary = method->temporary.data;
  }
  if (ETX_DYNAMIC && method->scratch_block_count > 0) {
    etx_scratch_compaction_restart(method);
    method->is_prepared = false;  // it may not fit any more
  }
  etx_method_update_pointers(method);
}

static etx_status set_memory(etx_method* method, const etx_bytes_mut* scratch,
                             const etx_bytes_mut* temporary, etx_diag* diag) {
  ETX_TRY(check_block(method, "scratch", scratch->data, scratch->size,
                      least_bytes(method, scratch, method->scratch.size),
                      diag));
  ETX_TRY(check_block(
      method, "temporary memory", temporary->data, temporary->size,
      least_bytes(method, temporary, method->temporary.size), diag));
  method->scratch.data = scratch->data;
  method->scratch_given = scratch->size;
  method->temporary.data = temporary->data;
  method->temporary_given = temporary->size;
  point_to_memory(method);
  start_scratch(method);
  etx_method_observe(method, method->observer);
  return ETX_OK;
}

etx_status etx_method_set_memory(etx_method* method, etx_bytes_mut scratch,
                                 etx_bytes_mut temporary, etx_diag* diag) {
  etx_status status = etx_method_enter(method, diag);
  if (status == ETX_OK) {
    status = set_memory(method, &scratch, &temporary, diag);
    etx_method_leave(method);
  }
  return etx_diag_seal(diag, status);
}
