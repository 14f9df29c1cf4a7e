// Decodes the file's values to slots, and finds the storage of each tensor.

#include "runtime/load/method_values.h"

#include "format/base/reachability.h"
#include "format/tensor/layout.h"
#include "runtime/program/argument_check.h"
#include "runtime/program/unplanned_outputs.h"

static etx_status refuse(const etx_method* method, size_t value,
                         etx_status status, const char* why, etx_diag* diag) {
  return etx_diag_fail(diag, status, "value %z of method '%t' %s", value,
                       etx_pte_plan_name(&method->plan), why);
}

// Sets the storage of a planned tensor, which is verified to be within its
// arena.
static void find_planned_storage(const etx_method* method,
                                 const etx_pte_tensor* from,
                                 etx_method_tensor* tensor) {
  const size_t arena = method->arena_offsets[from->memory_id];
  if (arena == SIZE_MAX) {
    tensor->storage_kind = ETX_METHOD_STORAGE_STATE;
    tensor->storage_offset = (size_t)from->memory_offset;
    tensor->storage =
        etx_method_byte(method->state.data, tensor->storage_offset);
  } else {
    tensor->storage_kind = ETX_METHOD_STORAGE_SCRATCH;
    tensor->storage_offset = arena + (size_t)from->memory_offset;
    tensor->storage =
        etx_method_byte(method->scratch.data, tensor->storage_offset);
  }
}

// Sets the storage of a tensor; it stays zero for one without storage. False if
// its data is in a data file that was not given.
static bool find_storage(const etx_method* method, const etx_pte_tensor* from,
                         etx_method_tensor* tensor) {
  etx_bytes stored;
  const bool is_stored = etx_program_stored(method->program, from, &stored);
  if (from->has_allocation) {
    find_planned_storage(method, from, tensor);
    tensor->storage_bytes = tensor->bytes;
  } else if (is_stored) {
    tensor->storage_kind = ETX_METHOD_STORAGE_CONSTANT;
    tensor->storage = (uint8_t*)(uintptr_t)stored.data;
    tensor->storage_bytes = tensor->bytes;
  }
  return is_stored || from->location != ETX_PTE_EXTERNAL;
}

static int32_t* take_integers(etx_method* method, size_t count) {
  int32_t* taken = method->integers;
  method->integers += count;
  return taken;
}

static const etx_value** take_pointers(etx_method* method, size_t count) {
  const etx_value** taken = method->pointers;
  method->pointers += count;
  return taken;
}

static etx_status decode_tensor(etx_method* method, const etx_pte_tensor* from,
                                size_t index, etx_diag* diag) {
  etx_value* value = &method->values[index];
  if (from->dynamism == ETX_PTE_DYNAMIC_UNBOUND) {
    return refuse(method, index, ETX_UNSUPPORTED,
                  "has no upper bound of its sizes", diag);
  }
  if (!ETX_DYNAMIC && from->dynamism != ETX_PTE_STATIC) {
    return refuse(method, index, ETX_UNSUPPORTED,
                  "has dynamic sizes, which this build leaves out "
                  "(ETX_DYNAMIC)",
                  diag);
  }
  const size_t numel = etx_pte_tensor_numel(from);
  if (numel > INT32_MAX) {
    return refuse(method, index, ETX_UNSUPPORTED,
                  "has more than 2147483647 elements", diag);
  }
  const uint32_t at = (uint32_t)method->tensor_count++;
  etx_method_tensor* tensor = &method->tensors[at];
  value->position = at;
  tensor->value = value;
  tensor->bounds = from->sizes;
  tensor->dim_order = from->dim_order;
  tensor->root = tensor->base = tensor->input = ETX_NO_INDEX;
  tensor->strides = take_integers(method, from->rank);
  if (ETX_DYNAMIC && from->dynamism != ETX_PTE_STATIC) {
    tensor->sizes = take_integers(method, from->rank);
    if (from->rank > 0) {
      memcpy(tensor->sizes, from->sizes, from->rank * sizeof(int32_t));
    }
  }
  // Verified to fit when the file was opened.
  (void)etx_layout_strides(from->sizes, from->dim_order, from->rank,
                           tensor->strides);
  tensor->bytes = numel * etx_dtype_bytes(from->dtype);
  if (!find_storage(method, from, tensor)) {
    return etx_diag_fail(diag, ETX_NOT_FOUND,
                         "value %z of method '%t' is '%t' of a data file "
                         "(.ptd), and none was given",
                         index, etx_pte_plan_name(&method->plan), from->name);
  }
  value->kind = ETX_VALUE_TENSOR;
  value->as.tensor =
      (etx_tensor){NULL, tensor->sizes == NULL ? from->sizes : tensor->sizes,
                   tensor->strides, from->rank, from->dtype};
  return ETX_OK;
}

// In a list of tensors, -1 and values that are not tensors are None.
static void decode_items(etx_method* method, const etx_pte_value* from,
                         etx_value* out) {
  const size_t count = from->as.list.count;
  const bool is_ints = from->kind == ETX_PTE_INT_LIST;
  const etx_value** items = take_pointers(method, count);
  for (size_t i = 0; i < count; ++i) {
    const int64_t index = etx_pte_item_at(from, i);
    // Verified: tensors come before the lists that have them as items.
    const bool is_there =
        is_ints ||
        (index >= 0 && method->values[index].kind == ETX_VALUE_TENSOR);
    items[i] = is_there ? &method->values[index] : NULL;
  }
  out->kind = is_ints ? ETX_VALUE_INTS : ETX_VALUE_TENSORS;
  out->as.tensors.items = items;  // the same union member layout as integers
  out->as.tensors.count = count;
}

static etx_status decode_slots(etx_method* method, etx_diag* diag) {
  // One memset for all is faster than clearing each.
  if (method->value_count != 0) {
    memset(method->values, 0, method->value_count * sizeof *method->values);
  }
  if (method->tensor_count != 0) {
    memset(method->tensors, 0, method->tensor_count * sizeof *method->tensors);
  }
  method->tensor_count = 0;  // decode_tensor counts up to the same number
  for (size_t i = 0; i < method->value_count; ++i) {
    etx_pte_value from;
    etx_pte_value_read(&method->plan, i, &from);
    etx_value* out = &method->values[i];
    method->marks[i] = 0;
    out->position = (uint32_t)i;
    if (from.kind == ETX_PTE_TENSOR) {
      ETX_TRY(decode_tensor(method, &from.as.tensor, i, diag));
    } else if (etx_pte_lists_values(from.kind)) {
      decode_items(method, &from, out);
    } else {
      etx_value_from_scalar(&from, out);
    }
  }
  return ETX_OK;
}

// An input without planned memory uses the caller's memory.
static etx_status decode_input_tensor(etx_method* method, size_t index,
                                      etx_method_input* input, etx_diag* diag) {
  etx_method_tensor* tensor = &method->tensors[input->tensor];
  if (tensor->input != ETX_NO_INDEX) {
    return refuse(method, input->value, ETX_BAD_FILE, "is an input twice",
                  diag);
  }
  if (tensor->storage_kind == ETX_METHOD_STORAGE_STATE) {
    return refuse(method, input->value, ETX_BAD_FILE,
                  "is an input in shared state", diag);
  }
  tensor->input = (uint32_t)index;
  input->is_planned = tensor->storage_kind == ETX_METHOD_STORAGE_SCRATCH;
  if (!input->is_planned) {
    tensor->storage_kind = ETX_METHOD_STORAGE_INPUT;
    tensor->storage_bytes = tensor->bytes;
  }
  const size_t rank = tensor->value->as.tensor.rank;
  input->sizes = take_integers(method, rank);
  if (rank > 0) {
    memcpy(input->sizes, tensor->bounds, rank * sizeof(int32_t));
  }
  return ETX_OK;
}

static etx_status decode_inputs(etx_method* method, etx_diag* diag) {
  for (size_t i = 0; i < method->input_count; ++i) {
    etx_method_input* input = &method->inputs[i];
    memset(input, 0, sizeof *input);
    input->value = (uint32_t)etx_pte_input_at(&method->plan, i);
    input->tensor = ETX_NO_INDEX;
    const etx_value* value = &method->values[input->value];
    if (value->kind == ETX_VALUE_TENSOR) {
      input->tensor = value->position;
      ETX_TRY(decode_input_tensor(method, i, input, diag));
      continue;
    }
    if (value->kind > ETX_VALUE_STRING) {
      return refuse(method, input->value, ETX_UNSUPPORTED,
                    "is an input and a list", diag);
    }
    input->is_set = true;  // its value is fixed; setting it only compares
    if (value->kind == ETX_VALUE_INT) input->integer = value->as.integer;
  }
  return ETX_OK;
}

// A build without dynamic sizes refuses inputs that depend on a symbol.
static inline etx_status check_no_symbols(const etx_method* method,
                                          etx_diag* diag) {
  if (etx_blob_input_dim_count(&method->program->blob, method->blob_index) ==
      0) {
    return ETX_OK;
  }
  return etx_diag_fail(diag, ETX_UNSUPPORTED,
                       "method '%t' has dynamic inputs, which this build "
                       "leaves out (ETX_DYNAMIC)",
                       etx_pte_plan_name(&method->plan));
}

// Integer inputs that depend on a symbol, as the blob describes them.
static void decode_dynamic_inputs(etx_method* method) {
  for (size_t i = 0; i < method->input_dim_count; ++i) {
    const etx_blob_input_dim* const row = &method->input_dims[i];
    if (row->dim >= 0) continue;
    etx_method_input* input = &method->inputs[row->input];
    input->varies = true;  // verified to be an int when the file was opened
    input->is_set = false;
    method->marks[input->value] |= ETX_MARK_VARIES;
  }
}

// Inputs that the method writes, as the blob describes them.
static void decode_mutable_inputs(etx_method* method) {
  const etx_blob* blob = &method->program->blob;
  for (size_t i = 0; i < method->input_count; ++i) {
    etx_method_input* input = &method->inputs[i];
    if (!etx_blob_input_at(blob, method->blob_index, i).is_mutable) continue;
    input->new_content = &method->values[input->value];
  }
  for (size_t i = 0; i < method->output_count; ++i) {
    const int32_t input =
        etx_blob_output_at(blob, method->blob_index, i).mutated_input;
    if (input < 0 || method->outputs[i]->kind != ETX_VALUE_TENSOR) continue;
    method->inputs[input].new_content = method->outputs[i];
  }
}

static etx_status decode_views(etx_method* method, etx_diag* diag) {
  const etx_blob* blob = &method->program->blob;
  const size_t count = etx_blob_view_count(blob, method->blob_index);
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_view row = etx_blob_view_at(blob, method->blob_index, i);
    const uint32_t base = method->values[row.base].position;
    etx_method_tensor* tensor =
        etx_method_tensor_of(method, &method->values[row.value]);
    // A value with storage of its own needs no base. The first base is used.
    if (tensor->storage_kind != ETX_METHOD_STORAGE_NONE ||
        tensor->base != ETX_NO_INDEX ||
        method->tensors[base].storage_kind == ETX_METHOD_STORAGE_NONE) {
      continue;
    }
    if (row.offset % etx_dtype_bytes(tensor->value->as.tensor.dtype) != 0) {
      return refuse(method, row.value, ETX_BAD_FILE,
                    "is a view at an unaligned offset", diag);
    }
    tensor->base = base;
    tensor->base_offset = (size_t)row.offset;
  }
  return ETX_OK;
}

static bool some_lack_memory(const etx_method* method) {
  for (size_t i = 0; i < method->tensor_count; ++i) {
    if (method->tensors[i].storage_kind == ETX_METHOD_STORAGE_NONE) return true;
  }
  return false;
}

// Places outputs that the file has not planned after the arenas in scratch.
static etx_status place_unplanned(etx_method* method,
                                  etx_operator_cache* operators,
                                  etx_diag* diag) {
  size_t end = 0;
  if (!ETX_DYNAMIC || !some_lack_memory(method)) return ETX_OK;
  // Counted before with the same results.
  const bool fits =
      etx_program_arena_offsets(method->program, &method->plan, NULL, &end);
  if (ETX_NEVER(!fits)) return ETX_INTERNAL;
  etx_unplanned_outputs_cursor cursor = {0, 0, 0, 0, 0};
  for (;;) {
    bool found = false;
    uint32_t value = 0;
    const etx_status status = etx_unplanned_outputs_next(
        method->program, operators, &cursor, &found, &value, diag);
    if (ETX_NEVER(status != ETX_OK)) return status;
    if (!found) return ETX_OK;
    etx_method_tensor* tensor =
        etx_method_tensor_of(method, &method->values[value]);
    end =
        (end + ETX_MEMORY_ALIGNMENT - 1) & ~(size_t)(ETX_MEMORY_ALIGNMENT - 1);
    tensor->storage_kind = ETX_METHOD_STORAGE_SCRATCH;
    tensor->storage_offset = end;
    tensor->storage = etx_method_byte(method->scratch.data, end);
    tensor->storage_bytes = tensor->bytes;
    end += tensor->storage_bytes;
  }
}

etx_status etx_method_decode_values(etx_method* method,
                                    etx_operator_cache* operators,
                                    etx_diag* diag) {
  size_t end = 0;
  // The memory was counted before.
  const bool fits = etx_program_arena_offsets(method->program, &method->plan,
                                              method->arena_offsets, &end);
  if (ETX_NEVER(!fits)) return ETX_INTERNAL;
  ETX_TRY(decode_slots(method, diag));
  ETX_TRY(decode_inputs(method, diag));
  for (size_t i = 0; i < method->output_count; ++i) {
    method->outputs[i] = &method->values[etx_pte_output_at(&method->plan, i)];
  }
  if (method->blob_index != SIZE_MAX) {
    if (!ETX_DYNAMIC) ETX_TRY(check_no_symbols(method, diag));
    if (ETX_DYNAMIC) decode_dynamic_inputs(method);
    decode_mutable_inputs(method);
    ETX_TRY(decode_views(method, diag));
  }
  return place_unplanned(method, operators, diag);
}
