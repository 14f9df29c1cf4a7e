#include "tests/format/program_walk.h"

// FNV-1a, 64 bits.
typedef struct sum {
  uint64_t value;
} sum;

static const uint64_t sum_start = UINT64_C(0xcbf29ce484222325);

static void add_bytes(sum* s, const void* data, size_t size) {
  const uint8_t* bytes = data;
  for (size_t i = 0; i < size; ++i) {
    s->value = (s->value ^ bytes[i]) * UINT64_C(0x100000001b3);
  }
}

static void add(sum* s, uint64_t number) {
  add_bytes(s, &number, sizeof number);
}

// Numbers may come from hostile files: any bits.
static void add_signed(sum* s, int64_t number) { add(s, (uint64_t)number); }

static void add_text(sum* s, etx_text text) {
  add(s, text.size);
  add_bytes(s, text.data, text.size);
}

static void add_data(sum* s, etx_bytes data) {
  add(s, data.size);
  add_bytes(s, data.data, data.size);
}

// At most the tensor's bytes: what follows them depends on padding.
static void add_tensor_data(sum* s, const etx_pte* pte,
                            const etx_pte_tensor* tensor) {
  if (tensor->data_buffer_index == 0 || tensor->location == ETX_PTE_EXTERNAL) {
    return;
  }
  etx_bytes data = tensor->has_allocation
                       ? etx_pte_initial_data(pte, tensor->data_buffer_index)
                       : etx_pte_constant(pte, tensor->data_buffer_index);
  const size_t bytes = etx_pte_tensor_bytes(tensor);
  add(s, data.size >= bytes);
  if (data.size > bytes) data.size = bytes;
  add_data(s, data);
}

static void add_tensor(sum* s, const etx_pte* pte,
                       const etx_pte_tensor* tensor) {
  add(s, (uint64_t)tensor->dtype);
  add_text(s, etx_text_of(etx_dtype_name(tensor->dtype)));
  for (size_t i = 0; i < tensor->rank; ++i) {
    add_signed(s, tensor->sizes[i]);
    add(s, tensor->dim_order[i]);
  }
  add(s, (uint64_t)tensor->dynamism);
  add(s, tensor->has_allocation);
  add(s, tensor->memory_id);
  add(s, tensor->memory_offset);
  add(s, (uint64_t)tensor->location);
  add_text(s, tensor->name);
  add_signed(s, tensor->device_type);
  add_signed(s, tensor->device_index);
  add(s, etx_pte_tensor_bytes(tensor));
  add_tensor_data(s, pte, tensor);
}

static void add_value(sum* s, const etx_pte_plan* plan, size_t index) {
  const etx_pte_value value = etx_pte_value_at(plan, index);
  add(s, (uint64_t)etx_pte_value_kind(plan, index));
  add(s, (uint64_t)value.kind);
  switch (value.kind) {
    case ETX_PTE_NULL:
      break;
    case ETX_PTE_INT:
      add_signed(s, value.as.integer);
      break;
    case ETX_PTE_BOOL:
      add(s, value.as.boolean);
      break;
    case ETX_PTE_DOUBLE:
      add_bytes(s, &value.as.real, sizeof value.as.real);
      break;
    case ETX_PTE_TENSOR:
      add_tensor(s, plan->pte, &value.as.tensor);
      break;
    case ETX_PTE_STRING:
      add_text(s, value.as.string);
      break;
    case ETX_PTE_INT_LIST:
      for (size_t i = 0; i < value.as.integers.count; ++i) {
        const int64_t item = value.as.integers.items[i];
        add_signed(s, etx_pte_value_at(plan, (size_t)item).as.integer);
      }
      break;
    case ETX_PTE_DOUBLE_LIST:
      add_bytes(s, value.as.reals.items,
                value.as.reals.count * sizeof *value.as.reals.items);
      break;
    case ETX_PTE_BOOL_LIST:
      add_bytes(s, value.as.booleans.items, value.as.booleans.count);
      break;
    case ETX_PTE_TENSOR_LIST:
    case ETX_PTE_OPTIONAL_TENSOR_LIST:
      for (size_t i = 0; i < value.as.tensors.count; ++i) {
        add_signed(s, value.as.tensors.items[i]);
      }
      break;
  }
}

static void add_instruction(sum* s, const etx_pte_plan* plan, size_t chain,
                            size_t index) {
  const etx_pte_instruction it = etx_pte_instruction_at(plan, chain, index);
  add(s, (uint64_t)it.kind);
  add_signed(s, it.index);
  add_signed(s, it.target);
  add_bytes(s, it.arguments, it.argument_count * sizeof *it.arguments);
  if (it.kind != ETX_PTE_KERNEL_CALL) return;
  const etx_pte_operator op = etx_pte_operator_at(plan, (size_t)it.index);
  add_text(s, op.name);
  add_text(s, op.overload);
}

static void add_delegate(sum* s, const etx_pte_plan* plan, size_t index) {
  const size_t count = etx_pte_compile_spec_count(plan, index);
  add_text(s, etx_pte_delegate_at(plan, index).id);
  add_data(s, etx_pte_delegate_data(plan, index));
  for (size_t i = 0; i < count; ++i) {
    const etx_pte_compile_spec spec = etx_pte_compile_spec_at(plan, index, i);
    add_text(s, spec.key);
    add_data(s, spec.value);
  }
}

static void add_arenas(sum* s, const etx_pte_plan* plan) {
  for (size_t i = 0; i < etx_pte_buffer_size_count(plan); ++i) {
    add_signed(s, etx_pte_buffer_size_at(plan, i));
  }
  for (size_t i = 0; i < etx_pte_buffer_device_count(plan); ++i) {
    const etx_pte_buffer_device device = etx_pte_buffer_device_at(plan, i);
    add_signed(s, device.buffer);
    add_signed(s, device.device_type);
    add_signed(s, device.device_index);
  }
}

static void add_plan(sum* s, const etx_pte_plan* plan) {
  etx_pte_plan found;
  add_text(s, etx_pte_plan_name(plan));
  add(s, etx_pte_plan_find(plan->pte, etx_pte_plan_name(plan), &found));
  add_text(s, etx_pte_plan_input_tree(plan));
  add_text(s, etx_pte_plan_output_tree(plan));
  for (size_t i = 0; i < etx_pte_value_count(plan); ++i) {
    add_value(s, plan, i);
  }
  for (size_t i = 0; i < etx_pte_input_count(plan); ++i) {
    add_signed(s, etx_pte_input_at(plan, i));
  }
  for (size_t i = 0; i < etx_pte_output_count(plan); ++i) {
    add_signed(s, etx_pte_output_at(plan, i));
  }
  for (size_t i = 0; i < etx_pte_operator_count(plan); ++i) {
    add_text(s, etx_pte_operator_at(plan, i).name);
  }
  for (size_t i = 0; i < etx_pte_delegate_count(plan); ++i) {
    add_delegate(s, plan, i);
  }
  for (size_t chain = 0; chain < etx_pte_chain_count(plan); ++chain) {
    const size_t count = etx_pte_instruction_count(plan, chain);
    add(s, count);
    for (size_t i = 0; i < count; ++i) add_instruction(s, plan, chain, i);
  }
  add_arenas(s, plan);
}

uint64_t program_walk(const etx_pte* pte) {
  sum s = {sum_start};
  uint64_t named = 0;
  add(&s, etx_pte_version(pte));
  for (size_t i = 0; i < etx_pte_plan_count(pte); ++i) {
    const etx_pte_plan plan = etx_pte_plan_at(pte, i);
    add_plan(&s, &plan);
  }
  // Named data has no order.
  for (size_t i = 0; i < etx_pte_named_data_count(pte); ++i) {
    sum one = {sum_start};
    add_text(&one, etx_pte_named_data_key(pte, i));
    add_data(&one, etx_pte_named_data_at(pte, i));
    named += one.value;
  }
  add(&s, named);
  add(&s, etx_pte_constant_count(pte));
  return s.value;
}

static void add_state(sum* s, const etx_blob_state* state) {
  add_text(s, state->name);
  add(s, (uint64_t)state->dtype);
  add_bytes(s, state->sizes, state->rank * sizeof *state->sizes);
  add(s, state->offset);
  add(s, state->data_buffer_index);
  add(s, state->is_uniform);
}

static void add_method(sum* s, const etx_blob* blob, size_t method) {
  add_text(s, etx_blob_method_name(blob, method));
  for (size_t i = 0; i < etx_blob_input_count(blob, method); ++i) {
    const etx_blob_input input = etx_blob_input_at(blob, method, i);
    add_text(s, input.name);
    add(s, input.is_mutable);
  }
  for (size_t i = 0; i < etx_blob_output_count(blob, method); ++i) {
    const etx_blob_output output = etx_blob_output_at(blob, method, i);
    add_text(s, output.name);
    add(s, (uint64_t)output.lifetime);
    add_signed(s, output.mutated_input);
  }
  for (size_t i = 0; i < etx_blob_symbol_count(blob, method); ++i) {
    const etx_blob_symbol symbol = etx_blob_symbol_at(blob, method, i);
    add_text(s, symbol.name);
    add_signed(s, symbol.minimum);
    add_signed(s, symbol.maximum);
  }
  for (size_t i = 0; i < etx_blob_input_dim_count(blob, method); ++i) {
    const etx_blob_input_dim dim = etx_blob_input_dim_at(blob, method, i);
    add(s, dim.input);
    add_signed(s, dim.dim);
    add(s, dim.symbol);
    add_signed(s, dim.factor);
    add_signed(s, dim.offset);
  }
  for (size_t i = 0; i < etx_blob_view_count(blob, method); ++i) {
    const etx_blob_view view = etx_blob_view_at(blob, method, i);
    add(s, view.value);
    add(s, view.base);
    add(s, view.offset);
  }
}

uint64_t blob_walk(const etx_blob* blob) {
  sum s = {sum_start};
  uint8_t fingerprint[ETX_FINGERPRINT_BYTES];
  etx_blob_fingerprint(blob, fingerprint);
  add_bytes(&s, fingerprint, sizeof fingerprint);
  add_text(&s, etx_blob_target(blob));
  add_text(&s, etx_blob_options(blob));
  add(&s, etx_blob_state_bytes(blob));
  for (size_t i = 0; i < etx_blob_state_count(blob); ++i) {
    const etx_blob_state state = etx_blob_state_at(blob, i);
    add_state(&s, &state);
  }
  for (size_t i = 0; i < etx_blob_method_count(blob); ++i) {
    add_method(&s, blob, i);
  }
  return s.value;
}
