// Accessors of a verified program. Nothing is cached: reading a value takes a
// few dependent loads. Code that needs a value often decodes it once and keeps
// the result.

#include "format/pte/pte_program.h"

#include "format/base/assertion.h"
#include "format/flatbuffers/fb_row.h"
#include "format/pte/pte_schema.h"

// The field of each list of a plan.
static const uint8_t list_fields[ETX_PTE_LIST_COUNT] = {
    [ETX_PTE_VALUES] = ETX_PTE_ExecutionPlan_values,
    [ETX_PTE_INPUTS] = ETX_PTE_ExecutionPlan_inputs,
    [ETX_PTE_OUTPUTS] = ETX_PTE_ExecutionPlan_outputs,
    [ETX_PTE_CHAINS] = ETX_PTE_ExecutionPlan_chains,
    [ETX_PTE_OPERATORS] = ETX_PTE_ExecutionPlan_operators,
    [ETX_PTE_DELEGATES] = ETX_PTE_ExecutionPlan_delegates,
    [ETX_PTE_ARENAS] = ETX_PTE_ExecutionPlan_non_const_buffer_sizes,
    [ETX_PTE_DEVICES] = ETX_PTE_ExecutionPlan_non_const_buffer_device,
};

static const void* items_of(const etx_pte_plan* plan, etx_pte_list list) {
  return etx_fb_elements(&plan->pte->fb, plan->lists[list]);
}

// Table `index` of a list of tables.
static etx_fb_row row_of(const etx_pte_plan* plan, etx_pte_list list,
                         size_t index) {
  ETX_ASSERT(index < plan->lists[list].count);
  return etx_fb_row_of(etx_fb_item(&plan->pte->fb, plan->lists[list], index));
}

static etx_text text_in(etx_fb_row row, uint32_t id) {
  const uint8_t* list = etx_fb_row_indirect(row, id);
  return (etx_text){etx_fb_list_elements(list), etx_fb_list_count(list)};
}

uint32_t etx_pte_version(const etx_pte* pte) {
  const etx_fb_buffer* fb = &pte->fb;
  return etx_fb_u32(fb, pte->root, ETX_PTE_Program_version, 0);
}

size_t etx_pte_plan_count(const etx_pte* pte) {
  const etx_fb_buffer* fb = &pte->fb;
  return etx_fb_vector_in(fb, pte->root, ETX_PTE_Program_execution_plan).count;
}

static uint32_t plan_table(const etx_pte* pte, size_t index) {
  const etx_fb_buffer* fb = &pte->fb;
  return etx_fb_table_at(
      fb, etx_fb_vector_in(fb, pte->root, ETX_PTE_Program_execution_plan),
      (uint32_t)index);
}

void etx_pte_plan_read(const etx_pte* pte, size_t index,
                       etx_pte_plan* out_plan) {
  out_plan->pte = pte;
  out_plan->table = plan_table(pte, index);
  out_plan->index = (uint32_t)index;
  for (uint32_t i = 0; i < ETX_PTE_LIST_COUNT; ++i) {
    out_plan->lists[i] =
        etx_fb_vector_in(&pte->fb, out_plan->table, list_fields[i]);
  }
}

etx_text etx_pte_plan_name_at(const etx_pte* pte, size_t index) {
  return etx_fb_string(&pte->fb, plan_table(pte, index),
                       ETX_PTE_ExecutionPlan_name);
}

bool etx_pte_plan_find(const etx_pte* pte, etx_text name,
                       etx_pte_plan* out_plan) {
  const size_t count = etx_pte_plan_count(pte);
  for (size_t i = 0; i < count; ++i) {
    if (!etx_text_equal(etx_pte_plan_name_at(pte, i), name)) continue;
    etx_pte_plan_read(pte, i, out_plan);
    return true;
  }
  return false;
}

etx_text etx_pte_plan_name(const etx_pte_plan* plan) {
  return etx_fb_string(&plan->pte->fb, plan->table, ETX_PTE_ExecutionPlan_name);
}

static etx_text tree(const etx_pte_plan* plan, uint32_t id) {
  const etx_fb_buffer* fb = &plan->pte->fb;
  const uint32_t meta =
      etx_fb_table(fb, plan->table, ETX_PTE_ExecutionPlan_container_meta_type);
  const etx_text none = {NULL, 0};
  return meta == 0 ? none : etx_fb_string(fb, meta, id);
}

etx_text etx_pte_plan_input_tree(const etx_pte_plan* plan) {
  return tree(plan, ETX_PTE_ContainerMetadata_encoded_inp_str);
}

etx_text etx_pte_plan_output_tree(const etx_pte_plan* plan) {
  return tree(plan, ETX_PTE_ContainerMetadata_encoded_out_str);
}

static void read_allocation(const uint8_t* table,
                            etx_pte_tensor* restrict tensor) {
  tensor->has_allocation = table != NULL;
  tensor->memory_id = 0;
  tensor->memory_offset = 0;
  if (table == NULL) return;
  const etx_fb_row row = etx_fb_row_of(table);
  tensor->memory_id = etx_fb_row_u32(row, ETX_PTE_AllocationDetails_memory_id);
  const uint64_t high =
      etx_fb_row_u32(row, ETX_PTE_AllocationDetails_memory_offset_high);
  tensor->memory_offset =
      high << 32 |
      etx_fb_row_u32(row, ETX_PTE_AllocationDetails_memory_offset_low);
}

static void read_extra(const uint8_t* table, etx_pte_tensor* restrict tensor) {
  tensor->location = (etx_pte_location)0;
  tensor->name = (etx_text){NULL, 0};
  tensor->device_type = 0;
  tensor->device_index = 0;
  if (table == NULL) return;
  const etx_fb_row row = etx_fb_row_of(table);
  tensor->location = (etx_pte_location)(int8_t)etx_fb_row_u8(
      row, ETX_PTE_ExtraTensorInfo_location);
  tensor->name = text_in(row, ETX_PTE_ExtraTensorInfo_fully_qualified_name);
  tensor->device_type =
      (int8_t)etx_fb_row_u8(row, ETX_PTE_ExtraTensorInfo_device_type);
  tensor->device_index =
      (int8_t)etx_fb_row_u8(row, ETX_PTE_ExtraTensorInfo_device_index);
}

// Sets every field, because clearing the struct first would cost as much as
// reading the tensor. `restrict` says that the struct is not part of the file;
// otherwise the compiler would reload the vtable after each store.
static void read_tensor(const uint8_t* table, etx_pte_tensor* restrict tensor) {
  const etx_fb_row row = etx_fb_row_of(table);
  const uint8_t* sizes = etx_fb_row_indirect(row, ETX_PTE_Tensor_sizes);
  tensor->dtype =
      (etx_dtype)(int8_t)etx_fb_row_u8(row, ETX_PTE_Tensor_scalar_type);
  tensor->rank = (uint8_t)etx_fb_list_count(sizes);
  tensor->sizes = etx_fb_list_elements(sizes);
  tensor->dim_order =
      etx_fb_list_elements(etx_fb_row_indirect(row, ETX_PTE_Tensor_dim_order));
  tensor->dynamism = (etx_pte_dynamism)(int8_t)etx_fb_row_u8(
      row, ETX_PTE_Tensor_shape_dynamism);
  tensor->storage_offset =
      (int32_t)etx_fb_row_u32(row, ETX_PTE_Tensor_storage_offset);
  tensor->data_buffer_index =
      etx_fb_row_u32(row, ETX_PTE_Tensor_data_buffer_idx);
  read_allocation(etx_fb_row_indirect(row, ETX_PTE_Tensor_allocation_info),
                  tensor);
  read_extra(etx_fb_row_indirect(row, ETX_PTE_Tensor_extra_tensor_info),
             tensor);
}

// The union table of a value: its kind, and in field 1 its content.
static etx_fb_pair variant_at(const etx_pte_plan* plan, size_t index) {
  return etx_fb_pair_of(
      etx_fb_item(&plan->pte->fb, plan->lists[ETX_PTE_VALUES], index));
}

etx_pte_kind etx_pte_value_kind(const etx_pte_plan* plan, size_t index) {
  return (etx_pte_kind)etx_fb_pair_u8(variant_at(plan, index),
                                      ETX_PTE_EValue_val_type);
}

uint32_t etx_pte_value_arena(const etx_pte_plan* plan, size_t index) {
  const etx_fb_pair variant = variant_at(plan, index);
  if (etx_fb_pair_u8(variant, ETX_PTE_EValue_val_type) != ETX_PTE_TENSOR) {
    return 0;
  }
  const uint8_t* tensor =
      etx_fb_follow(etx_fb_pair_field(variant, ETX_PTE_EValue_val));
  const uint8_t* allocation = etx_fb_row_indirect(
      etx_fb_row_of(tensor), ETX_PTE_Tensor_allocation_info);
  return allocation == NULL
             ? 0
             : etx_fb_row_u32(etx_fb_row_of(allocation),
                              ETX_PTE_AllocationDetails_memory_id);
}

// The tables of all kinds but tensors have at most one field, so its id is the
// same for all of them.
bool etx_pte_value_read(const etx_pte_plan* plan, size_t index,
                        etx_pte_value* out_value) {
  const etx_fb_pair variant = variant_at(plan, index);
  const uint8_t* content = etx_fb_pair_field(variant, ETX_PTE_EValue_val);
  out_value->kind =
      (etx_pte_kind)etx_fb_pair_u8(variant, ETX_PTE_EValue_val_type);
  out_value->as.list.items = NULL;
  out_value->as.list.count = 0;
  if (content == NULL) return false;
  content = etx_fb_follow(content);
  if (out_value->kind == ETX_PTE_TENSOR) {
    read_tensor(content, &out_value->as.tensor);
    return true;
  }
  const uint8_t* field =
      etx_fb_pair_field(etx_fb_pair_of(content), ETX_PTE_IntList_items);
  if (field == NULL) return true;
  switch (out_value->kind) {
    case ETX_PTE_NULL:
    case ETX_PTE_TENSOR:
      break;
    case ETX_PTE_BOOL:
      out_value->as.boolean = *field != 0;
      break;
    case ETX_PTE_INT:
    case ETX_PTE_DOUBLE:
      memcpy(&out_value->as, field, sizeof out_value->as.integer);
      break;
    default:
      field = etx_fb_follow(field);
      out_value->as.list.items = etx_fb_list_elements(field);
      out_value->as.list.count = etx_fb_list_count(field);
      break;
  }
  return true;
}

int32_t etx_pte_input_at(const etx_pte_plan* plan, size_t index) {
  ETX_ASSERT(index < etx_pte_input_count(plan));
  return ((const int32_t*)items_of(plan, ETX_PTE_INPUTS))[index];
}

int32_t etx_pte_output_at(const etx_pte_plan* plan, size_t index) {
  ETX_ASSERT(index < etx_pte_output_count(plan));
  return ((const int32_t*)items_of(plan, ETX_PTE_OUTPUTS))[index];
}

etx_pte_operator etx_pte_operator_at(const etx_pte_plan* plan, size_t index) {
  const etx_fb_row row = row_of(plan, ETX_PTE_OPERATORS, index);
  const etx_pte_operator op = {text_in(row, ETX_PTE_Operator_name),
                               text_in(row, ETX_PTE_Operator_overload)};
  return op;
}

etx_pte_delegate etx_pte_delegate_at(const etx_pte_plan* plan, size_t index) {
  const etx_fb_row row = row_of(plan, ETX_PTE_DELEGATES, index);
  const etx_fb_row data = etx_fb_row_of(
      etx_fb_row_indirect(row, ETX_PTE_BackendDelegate_processed));
  const etx_pte_delegate delegate = {
      text_in(row, ETX_PTE_BackendDelegate_id),
      etx_fb_row_u8(data, ETX_PTE_BackendDelegateDataReference_location) == 0,
      etx_fb_row_u32(data, ETX_PTE_BackendDelegateDataReference_index)};
  return delegate;
}

static etx_fb_vector specs_of(const etx_pte_plan* plan, size_t delegate) {
  const etx_fb_buffer* fb = &plan->pte->fb;
  return etx_fb_vector_in(
      fb,
      etx_fb_table_at(fb, plan->lists[ETX_PTE_DELEGATES], (uint32_t)delegate),
      ETX_PTE_BackendDelegate_compile_specs);
}

size_t etx_pte_compile_spec_count(const etx_pte_plan* plan, size_t delegate) {
  return specs_of(plan, delegate).count;
}

etx_pte_compile_spec etx_pte_compile_spec_at(const etx_pte_plan* plan,
                                             size_t delegate, size_t index) {
  const etx_fb_buffer* fb = &plan->pte->fb;
  const uint32_t row =
      etx_fb_table_at(fb, specs_of(plan, delegate), (uint32_t)index);
  const etx_pte_compile_spec spec = {
      etx_fb_string(fb, row, ETX_PTE_CompileSpec_key),
      etx_fb_bytes(fb, etx_fb_vector_in(fb, row, ETX_PTE_CompileSpec_value))};
  return spec;
}

etx_fb_vector etx_pte_chain_at(const etx_pte_plan* plan, size_t chain) {
  const etx_fb_buffer* fb = &plan->pte->fb;
  return etx_fb_vector_in(
      fb, etx_fb_table_at(fb, plan->lists[ETX_PTE_CHAINS], (uint32_t)chain),
      ETX_PTE_Chain_instructions);
}

size_t etx_pte_instruction_count(const etx_pte_plan* plan, size_t chain) {
  return etx_pte_chain_at(plan, chain).count;
}

// The table of each kind of instruction has a number in field 0 and, except for
// the last kind, a number or a vector in field 1, so the ids are the same for
// all. Fields are stored directly into the caller's struct: copying a local
// struct with wider loads would cause store forwarding stalls.
void etx_pte_instruction_read(const etx_pte_plan* plan, etx_fb_vector chain,
                              size_t index, etx_pte_instruction* out) {
  const etx_fb_pair variant =
      etx_fb_pair_of(etx_fb_item(&plan->pte->fb, chain, index));
  const uint8_t* content =
      etx_fb_pair_field(variant, ETX_PTE_Instruction_instr_args);
  out->kind = (etx_pte_instruction_kind)0;
  out->index = 0;
  out->target = 0;
  out->arguments = NULL;
  out->argument_count = 0;
  if (content == NULL) return;
  const etx_fb_pair row = etx_fb_pair_of(etx_fb_follow(content));
  const uint8_t* second = etx_fb_pair_field(row, ETX_PTE_KernelCall_args);
  out->kind = (etx_pte_instruction_kind)etx_fb_pair_u8(
      variant, ETX_PTE_Instruction_instr_args_type);
  out->index = (int32_t)etx_fb_pair_u32(row, ETX_PTE_KernelCall_op_index);
  if (second == NULL || out->kind == ETX_PTE_FREE_CALL) return;
  if (out->kind > ETX_PTE_DELEGATE_CALL) {
    out->target = (int32_t)etx_fb_u32_at(second);
    return;
  }
  const uint8_t* arguments = etx_fb_follow(second);
  out->arguments = etx_fb_list_elements(arguments);
  out->argument_count = etx_fb_list_count(arguments);
}

etx_pte_instruction etx_pte_instruction_at(const etx_pte_plan* plan,
                                           size_t chain, size_t index) {
  etx_pte_instruction instruction;
  etx_pte_instruction_read(plan, etx_pte_chain_at(plan, chain), index,
                           &instruction);
  return instruction;
}

bool etx_pte_instruction_next(const etx_pte_plan* plan, etx_pte_cursor* cursor,
                              etx_pte_instruction* out_instruction) {
  while (cursor->instruction == cursor->rows.count) {
    if (cursor->chain == etx_pte_chain_count(plan)) return false;
    cursor->rows = etx_pte_chain_at(plan, cursor->chain++);
    cursor->instruction = 0;
  }
  etx_pte_instruction_read(plan, cursor->rows, cursor->instruction++,
                           out_instruction);
  return true;
}

int64_t etx_pte_buffer_size_at(const etx_pte_plan* plan, size_t index) {
  ETX_ASSERT(index < etx_pte_buffer_size_count(plan));
  return ((const int64_t*)items_of(plan, ETX_PTE_ARENAS))[index];
}

etx_pte_buffer_device etx_pte_buffer_device_at(const etx_pte_plan* plan,
                                               size_t index) {
  const etx_fb_row row = row_of(plan, ETX_PTE_DEVICES, index);
  const etx_pte_buffer_device device = {
      (int32_t)etx_fb_row_u32(row, ETX_PTE_NonConstBufferDevice_buffer_idx),
      (int8_t)etx_fb_row_u8(row, ETX_PTE_NonConstBufferDevice_device_type),
      (int8_t)etx_fb_row_u8(row, ETX_PTE_NonConstBufferDevice_device_index)};
  return device;
}

void etx_pte_totals_add(etx_pte_totals* totals, const etx_pte_value* value) {
  const etx_pte_tensor* const tensor = &value->as.tensor;
  if (etx_pte_lists_values(value->kind)) totals->items += value->as.list.count;
  if (value->kind != ETX_PTE_TENSOR) return;
  ++totals->tensors;
  totals->dims += tensor->rank;
  if (!ETX_DYNAMIC) return;
  if (tensor->dynamism != ETX_PTE_STATIC) {
    totals->dims += tensor->rank;
    totals->dynamic_dims += tensor->rank;
  }
  if (!etx_pte_tensor_has_bytes(tensor)) ++totals->without_bytes;
}

bool etx_pte_tensor_is_stored(const etx_pte_tensor* tensor) {
  return tensor->data_buffer_index != 0 || tensor->location == ETX_PTE_EXTERNAL;
}

bool etx_pte_tensor_has_bytes(const etx_pte_tensor* tensor) {
  return tensor->has_allocation || etx_pte_tensor_is_stored(tensor);
}

size_t etx_pte_tensor_numel(const etx_pte_tensor* tensor) {
  size_t count = 1;
  for (size_t i = 0; i < tensor->rank; ++i) count *= (size_t)tensor->sizes[i];
  return count;
}

size_t etx_pte_tensor_bytes(const etx_pte_tensor* tensor) {
  return etx_pte_tensor_numel(tensor) * etx_dtype_bytes(tensor->dtype);
}
