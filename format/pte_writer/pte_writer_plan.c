#include "format/base/assertion.h"
#include "format/pte/pte_schema.h"
#include "format/pte_writer/pte_writer_internal.h"

static etx_fb_ref build_i32s(etx_fb_builder* b, const int32_t* items,
                             size_t count) {
  return etx_fb_builder_vector(b, items, count, sizeof *items, 4);
}

// A table of one field that refers to something.
static etx_fb_ref build_holder(etx_fb_builder* b, etx_fb_ref ref) {
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, 0, ref);
  return etx_fb_builder_end(b);
}

// A table of a union's code and member.
static etx_fb_ref build_union(etx_fb_builder* b, uint8_t code,
                              etx_fb_ref member) {
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, ETX_PTE_EValue_val, member);
  etx_fb_builder_add_u8(b, ETX_PTE_EValue_val_type, code, 0);
  return etx_fb_builder_end(b);
}

static etx_fb_ref build_allocation(etx_fb_builder* b,
                                   const etx_pte_tensor* tensor) {
  if (!tensor->has_allocation) return 0;
  etx_fb_builder_start(b);
  etx_fb_builder_add_u32(b, ETX_PTE_AllocationDetails_memory_offset_high,
                         (uint32_t)(tensor->memory_offset >> 32), 0);
  etx_fb_builder_add_u32(b, ETX_PTE_AllocationDetails_memory_offset_low,
                         (uint32_t)tensor->memory_offset, 0);
  etx_fb_builder_add_u32(b, ETX_PTE_AllocationDetails_memory_id,
                         tensor->memory_id, 0);
  return etx_fb_builder_end(b);
}

static etx_fb_ref build_extra(etx_fb_builder* b, const etx_pte_tensor* tensor) {
  if (tensor->name.size == 0 && tensor->location == ETX_PTE_IN_SEGMENT &&
      tensor->device_type == 0 && tensor->device_index == 0) {
    return 0;
  }
  const etx_fb_ref name =
      tensor->name.size == 0 ? 0 : etx_fb_builder_string(b, tensor->name);
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, ETX_PTE_ExtraTensorInfo_fully_qualified_name, name);
  etx_fb_builder_add_i8(b, ETX_PTE_ExtraTensorInfo_location,
                        (int8_t)tensor->location, 0);
  etx_fb_builder_add_i8(b, ETX_PTE_ExtraTensorInfo_device_type,
                        tensor->device_type, 0);
  etx_fb_builder_add_i8(b, ETX_PTE_ExtraTensorInfo_device_index,
                        tensor->device_index, 0);
  return etx_fb_builder_end(b);
}

static etx_fb_ref build_tensor(etx_fb_builder* b,
                               const etx_pte_tensor* tensor) {
  const etx_fb_ref extra = build_extra(b, tensor);
  const etx_fb_ref allocation = build_allocation(b, tensor);
  const etx_fb_ref dim_order =
      etx_fb_builder_vector(b, tensor->dim_order, tensor->rank, 1, 1);
  const etx_fb_ref sizes = build_i32s(b, tensor->sizes, tensor->rank);
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, ETX_PTE_Tensor_extra_tensor_info, extra);
  etx_fb_builder_add_ref(b, ETX_PTE_Tensor_allocation_info, allocation);
  etx_fb_builder_add_u32(b, ETX_PTE_Tensor_data_buffer_idx,
                         tensor->data_buffer_index, 0);
  etx_fb_builder_add_ref(b, ETX_PTE_Tensor_dim_order, dim_order);
  etx_fb_builder_add_ref(b, ETX_PTE_Tensor_sizes, sizes);
  etx_fb_builder_add_i8(b, ETX_PTE_Tensor_shape_dynamism,
                        (int8_t)tensor->dynamism, 0);
  etx_fb_builder_add_i8(b, ETX_PTE_Tensor_scalar_type, (int8_t)tensor->dtype,
                        0);
  return etx_fb_builder_end(b);
}

static etx_fb_ref build_int(etx_fb_builder* b, int64_t value) {
  etx_fb_builder_start(b);
  etx_fb_builder_add_i64(b, ETX_PTE_Int_int_val, value, 0);
  return etx_fb_builder_end(b);
}

static etx_fb_ref build_bool(etx_fb_builder* b, bool value) {
  etx_fb_builder_start(b);
  etx_fb_builder_add_u8(b, ETX_PTE_Bool_bool_val, value, 0);
  return etx_fb_builder_end(b);
}

static etx_fb_ref build_double(etx_fb_builder* b, double value) {
  etx_fb_builder_start(b);
  etx_fb_builder_add_f64(b, ETX_PTE_Double_double_val, value);
  return etx_fb_builder_end(b);
}

// The member table of a value.
static etx_fb_ref build_content(etx_fb_builder* b, const etx_pte_value* value) {
  switch (value->kind) {
    case ETX_PTE_NULL:
      etx_fb_builder_start(b);
      return etx_fb_builder_end(b);
    case ETX_PTE_INT:
      return build_int(b, value->as.integer);
    case ETX_PTE_BOOL:
      return build_bool(b, value->as.boolean);
    case ETX_PTE_DOUBLE:
      return build_double(b, value->as.real);
    case ETX_PTE_TENSOR:
      return build_tensor(b, &value->as.tensor);
    case ETX_PTE_STRING:
      return build_holder(b, etx_fb_builder_string(b, value->as.string));
    case ETX_PTE_INT_LIST:
      return build_holder(
          b, etx_fb_builder_vector(b, value->as.integers.items,
                                   value->as.integers.count, 8, 8));
    case ETX_PTE_DOUBLE_LIST:
      return build_holder(b,
                          etx_fb_builder_vector(b, value->as.reals.items,
                                                value->as.reals.count, 8, 8));
    case ETX_PTE_BOOL_LIST:
      return build_holder(
          b, etx_fb_builder_vector(b, value->as.booleans.items,
                                   value->as.booleans.count, 1, 1));
    case ETX_PTE_TENSOR_LIST:
    case ETX_PTE_OPTIONAL_TENSOR_LIST:
      return build_holder(
          b, build_i32s(b, value->as.tensors.items, value->as.tensors.count));
  }
  ETX_ASSERT(false);
  return 0;
}

static etx_fb_ref build_values(etx_fb_builder* b,
                               const etx_pte_plan_content* plan) {
  const size_t refs = etx_fb_builder_reserve_refs(b, plan->value_count);
  for (size_t i = 0; i < plan->value_count; ++i) {
    const etx_pte_value* value = &plan->values[i];
    const etx_fb_ref content = build_content(b, value);
    etx_fb_builder_set_ref(b, refs, i,
                           build_union(b, (uint8_t)value->kind, content));
  }
  return etx_fb_builder_table_vector(b, refs, plan->value_count);
}

static etx_fb_ref build_operators(etx_fb_builder* b,
                                  const etx_pte_plan_content* plan) {
  const size_t refs = etx_fb_builder_reserve_refs(b, plan->operator_count);
  for (size_t i = 0; i < plan->operator_count; ++i) {
    const etx_fb_ref overload =
        etx_fb_builder_string(b, plan->operators[i].overload);
    const etx_fb_ref name = etx_fb_builder_string(b, plan->operators[i].name);
    etx_fb_builder_start(b);
    etx_fb_builder_add_ref(b, ETX_PTE_Operator_overload, overload);
    etx_fb_builder_add_ref(b, ETX_PTE_Operator_name, name);
    etx_fb_builder_set_ref(b, refs, i, etx_fb_builder_end(b));
  }
  return etx_fb_builder_table_vector(b, refs, plan->operator_count);
}

static etx_fb_ref build_specs(etx_fb_builder* b,
                              const etx_pte_delegate_content* delegate) {
  const size_t refs = etx_fb_builder_reserve_refs(b, delegate->spec_count);
  for (size_t i = 0; i < delegate->spec_count; ++i) {
    const etx_pte_compile_spec* spec = &delegate->specs[i];
    const etx_fb_ref value =
        etx_fb_builder_vector(b, spec->value.data, spec->value.size, 1, 1);
    const etx_fb_ref key = etx_fb_builder_string(b, spec->key);
    etx_fb_builder_start(b);
    etx_fb_builder_add_ref(b, ETX_PTE_CompileSpec_value, value);
    etx_fb_builder_add_ref(b, ETX_PTE_CompileSpec_key, key);
    etx_fb_builder_set_ref(b, refs, i, etx_fb_builder_end(b));
  }
  return etx_fb_builder_table_vector(b, refs, delegate->spec_count);
}

static etx_fb_ref build_delegates(etx_fb_builder* b,
                                  const etx_pte_plan_content* plan) {
  const size_t refs = etx_fb_builder_reserve_refs(b, plan->delegate_count);
  for (size_t i = 0; i < plan->delegate_count; ++i) {
    const etx_pte_delegate_content* delegate = &plan->delegates[i];
    const etx_fb_ref specs = build_specs(b, delegate);
    etx_fb_builder_start(b);  // its data lies in the FlatBuffer: location 0
    etx_fb_builder_add_u32(b, ETX_PTE_BackendDelegateDataReference_index,
                           delegate->data_index, 0);
    const etx_fb_ref processed = etx_fb_builder_end(b);
    const etx_fb_ref id = etx_fb_builder_string(b, delegate->id);
    etx_fb_builder_start(b);
    etx_fb_builder_add_ref(b, ETX_PTE_BackendDelegate_compile_specs, specs);
    etx_fb_builder_add_ref(b, ETX_PTE_BackendDelegate_processed, processed);
    etx_fb_builder_add_ref(b, ETX_PTE_BackendDelegate_id, id);
    etx_fb_builder_set_ref(b, refs, i, etx_fb_builder_end(b));
  }
  return etx_fb_builder_table_vector(b, refs, plan->delegate_count);
}

static etx_fb_ref build_devices(etx_fb_builder* b,
                                const etx_pte_plan_content* plan) {
  if (plan->buffer_device_count == 0) return 0;
  const size_t refs = etx_fb_builder_reserve_refs(b, plan->buffer_device_count);
  for (size_t i = 0; i < plan->buffer_device_count; ++i) {
    const etx_pte_buffer_device* device = &plan->buffer_devices[i];
    etx_fb_builder_start(b);
    etx_fb_builder_add_i32(b, ETX_PTE_NonConstBufferDevice_buffer_idx,
                           device->buffer, 0);
    etx_fb_builder_add_i8(b, ETX_PTE_NonConstBufferDevice_device_type,
                          device->device_type, 0);
    etx_fb_builder_add_i8(b, ETX_PTE_NonConstBufferDevice_device_index,
                          device->device_index, 0);
    etx_fb_builder_set_ref(b, refs, i, etx_fb_builder_end(b));
  }
  return etx_fb_builder_table_vector(b, refs, plan->buffer_device_count);
}

// A table of one or two numbers: all instructions but calls.
static etx_fb_ref build_numbers(etx_fb_builder* b, int32_t first,
                                int32_t second) {
  etx_fb_builder_start(b);
  etx_fb_builder_add_i32(b, 1, second, 0);
  etx_fb_builder_add_i32(b, 0, first, 0);
  return etx_fb_builder_end(b);
}

static etx_fb_ref build_call(etx_fb_builder* b,
                             const etx_pte_instruction* call) {
  const etx_fb_ref arguments =
      build_i32s(b, call->arguments, call->argument_count);
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, ETX_PTE_KernelCall_args, arguments);
  etx_fb_builder_add_i32(b, ETX_PTE_KernelCall_op_index, call->index, 0);
  return etx_fb_builder_end(b);
}

static etx_fb_ref build_instruction(etx_fb_builder* b,
                                    const etx_pte_instruction* instruction) {
  switch (instruction->kind) {
    case ETX_PTE_KERNEL_CALL:
    case ETX_PTE_DELEGATE_CALL:
      return build_call(b, instruction);
    case ETX_PTE_MOVE_CALL:
    case ETX_PTE_JUMP_FALSE_CALL:
      return build_numbers(b, instruction->index, instruction->target);
    case ETX_PTE_FREE_CALL:
      return build_numbers(b, instruction->index, 0);
  }
  ETX_ASSERT(false);
  return 0;
}

static etx_fb_ref build_chain(etx_fb_builder* b, const etx_pte_chain* chain) {
  const size_t count = chain->instruction_count;
  const size_t refs = etx_fb_builder_reserve_refs(b, count);
  for (size_t i = 0; i < count; ++i) {
    const etx_pte_instruction* instruction = &chain->instructions[i];
    const etx_fb_ref member = build_instruction(b, instruction);
    etx_fb_builder_set_ref(b, refs, i,
                           build_union(b, (uint8_t)instruction->kind, member));
  }
  const etx_fb_ref instructions = etx_fb_builder_table_vector(b, refs, count);
  const etx_fb_ref none = build_i32s(b, NULL, 0);
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, ETX_PTE_Chain_instructions, instructions);
  etx_fb_builder_add_ref(b, ETX_PTE_Chain_outputs, none);
  etx_fb_builder_add_ref(b, ETX_PTE_Chain_inputs, none);
  return etx_fb_builder_end(b);
}

static etx_fb_ref build_chains(etx_fb_builder* b,
                               const etx_pte_plan_content* plan) {
  ETX_ASSERT(plan->chain_count >= 1);
  const size_t refs = etx_fb_builder_reserve_refs(b, plan->chain_count);
  for (size_t i = 0; i < plan->chain_count; ++i) {
    etx_fb_builder_set_ref(b, refs, i, build_chain(b, &plan->chains[i]));
  }
  return etx_fb_builder_table_vector(b, refs, plan->chain_count);
}

static etx_fb_ref build_trees(etx_fb_builder* b,
                              const etx_pte_plan_content* plan) {
  const etx_fb_ref output = etx_fb_builder_string(b, plan->output_tree);
  const etx_fb_ref input = etx_fb_builder_string(b, plan->input_tree);
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, ETX_PTE_ContainerMetadata_encoded_out_str, output);
  etx_fb_builder_add_ref(b, ETX_PTE_ContainerMetadata_encoded_inp_str, input);
  return etx_fb_builder_end(b);
}

etx_fb_ref etx_pte_build_plan(etx_fb_builder* builder,
                              const etx_pte_plan_content* plan) {
  etx_fb_builder* b = builder;
  const etx_fb_ref chains = build_chains(b, plan);
  const etx_fb_ref values = build_values(b, plan);
  const etx_fb_ref operators = build_operators(b, plan);
  const etx_fb_ref delegates = build_delegates(b, plan);
  const etx_fb_ref devices = build_devices(b, plan);
  const etx_fb_ref sizes = etx_fb_builder_vector(b, plan->buffer_sizes,
                                                 plan->buffer_size_count, 8, 8);
  const etx_fb_ref outputs = build_i32s(b, plan->outputs, plan->output_count);
  const etx_fb_ref inputs = build_i32s(b, plan->inputs, plan->input_count);
  const etx_fb_ref trees = build_trees(b, plan);
  const etx_fb_ref name = etx_fb_builder_string(b, plan->name);
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, ETX_PTE_ExecutionPlan_non_const_buffer_device,
                         devices);
  etx_fb_builder_add_ref(b, ETX_PTE_ExecutionPlan_non_const_buffer_sizes,
                         sizes);
  etx_fb_builder_add_ref(b, ETX_PTE_ExecutionPlan_delegates, delegates);
  etx_fb_builder_add_ref(b, ETX_PTE_ExecutionPlan_operators, operators);
  etx_fb_builder_add_ref(b, ETX_PTE_ExecutionPlan_chains, chains);
  etx_fb_builder_add_ref(b, ETX_PTE_ExecutionPlan_outputs, outputs);
  etx_fb_builder_add_ref(b, ETX_PTE_ExecutionPlan_inputs, inputs);
  etx_fb_builder_add_ref(b, ETX_PTE_ExecutionPlan_values, values);
  etx_fb_builder_add_ref(b, ETX_PTE_ExecutionPlan_container_meta_type, trees);
  etx_fb_builder_add_ref(b, ETX_PTE_ExecutionPlan_name, name);
  return etx_fb_builder_end(b);
}
