// The execution plan of one method: inputs, the instructions of its nodes,
// outputs, and what else the file says of the method.

#include "exporter/emit/emit_internal.h"
#include "format/pte/reserved_names.h"

// ---------------------------------------------------- inputs, outputs

static etx_status emit_input(etx_emit_method* m, size_t input) {
  const etx_ir_arg* const arg = &m->method->inputs[input].arg;
  uint32_t* const out = &m->input_index[input];
  etx_pte_value value = {.kind = ETX_PTE_NULL};
  switch (arg->kind) {
    case ETX_IR_ARG_VALUE:
      return etx_emit_tensor(m, arg->as.value, out);
    case ETX_IR_ARG_INT: {
      int64_t low = 0;
      value.kind = ETX_PTE_INT;
      etx_symbols_bounds(m->symbols, arg->as.integer, &low, &value.as.integer);
      break;
    }
    case ETX_IR_ARG_DOUBLE:
      value.kind = ETX_PTE_DOUBLE;
      value.as.real = arg->as.real;
      break;
    case ETX_IR_ARG_BOOL:
      value.kind = ETX_PTE_BOOL;
      value.as.boolean = arg->as.boolean;
      break;
    case ETX_IR_ARG_DTYPE:
      value.kind = ETX_PTE_INT;
      value.as.integer = arg->as.dtype;
      break;
    case ETX_IR_ARG_STRING:
      value.kind = ETX_PTE_STRING;
      value.as.string = arg->as.string;
      break;
    case ETX_IR_ARG_NONE:
    case ETX_IR_ARG_LIST:
      break;
  }
  // Not a shared slot, since the caller sets it.
  return etx_emit_value(m, &value, out);
}

static etx_blob_lifetime lifetime_of(const etx_emit_method* m,
                                     const etx_ir_output* output) {
  if (output->arg.kind != ETX_IR_ARG_VALUE || output->is_number) {
    return ETX_LIFETIME_SCRATCH;
  }
  const etx_storage_range range =
      etx_placement_range(m->placement, output->arg.as.value);
  switch (m->placement->storages[range.storage].kind) {
    case ETX_STORAGE_STATE:
    case ETX_STORAGE_CONSTANT:
      return ETX_LIFETIME_STATE;
    default:
      return output->lifetime == ETX_IR_STABLE ? ETX_LIFETIME_STABLE
                                               : ETX_LIFETIME_SCRATCH;
  }
}

typedef struct inputs_and_outputs {
  int32_t* inputs;
  int32_t* outputs;
  etx_blob_input* input_rows;
  etx_blob_output* output_rows;
  size_t output_count;
} inputs_and_outputs;

// ExecuTorch's runtime copies the caller's tensor into an input with planned
// memory, and then the caller does not see what the method writes. So a mutable
// input is the caller's own memory: the method copies it to planned memory,
// works on that, and at the end copies the new content back. It cannot work on
// the caller's memory, because hosts give outputs without planned memory a new
// address before the method runs (the Python bindings do), and the new content
// is an output.
static bool is_copied(const etx_emit_method* m, size_t input) {
  return m->plans_inputs && m->method->inputs[input].is_mutable &&
         m->method->inputs[input].arg.kind == ETX_IR_ARG_VALUE;
}

static etx_status copy_from_caller(etx_emit_method* m, uint32_t value,
                                   uint32_t copy, uint32_t* out_input) {
  uint32_t arguments[4];
  ETX_TRY(etx_emit_callers_tensor(m, value, out_input));
  arguments[0] = *out_input;
  ETX_TRY(etx_emit_null(m, &arguments[1]));
  arguments[2] = arguments[3] = copy;
  return etx_emit_call(m, etx_op_at(ETX_OP_clone_out), arguments, 4);
}

static etx_status copy_to_callers(etx_emit_method* m,
                                  const inputs_and_outputs* p) {
  static const etx_ir_arg no = {ETX_IR_ARG_BOOL, {0}};
  for (size_t i = 0; i < m->method->input_count; ++i) {
    uint32_t arguments[4];
    if (!is_copied(m, i)) continue;
    arguments[0] = arguments[3] = (uint32_t)p->inputs[i];
    arguments[1] = m->input_index[i];
    ETX_TRY(etx_emit_any(m, &no, &arguments[2]));
    ETX_TRY(etx_emit_call(m, etx_op_at(ETX_OP_copy_in_place), arguments, 4));
  }
  return ETX_OK;
}

static etx_status emit_inputs(etx_emit_method* m, inputs_and_outputs* p) {
  for (size_t i = 0; i < m->method->input_count; ++i) {
    uint32_t slot = 0;
    ETX_TRY(emit_input(m, i));
    slot = m->input_index[i];
    if (is_copied(m, i)) {
      ETX_TRY(
          copy_from_caller(m, m->method->inputs[i].arg.as.value, slot, &slot));
    }
    p->inputs[i] = (int32_t)slot;
    p->input_rows[i] = (etx_blob_input){m->method->inputs[i].name,
                                        m->method->inputs[i].is_mutable};
  }
  return ETX_OK;
}

// ExecuTorch lists mutated inputs before the other outputs.
static void emit_mutated_inputs(etx_emit_method* m, inputs_and_outputs* p) {
  if (!m->plans_inputs) return;
  for (size_t i = 0; i < m->method->mutation_count; ++i) {
    const etx_ir_mutation* const mutation = &m->method->mutations[i];
    if (!mutation->is_input) continue;
    const size_t at = p->output_count++;
    p->outputs[at] = (int32_t)m->input_index[mutation->target];
    p->output_rows[at] =
        (etx_blob_output){.name = m->method->inputs[mutation->target].name,
                          .lifetime = ETX_LIFETIME_SCRATCH,
                          .mutated_input = (int32_t)mutation->target};
  }
}

// Reads the number in a tensor, at the end of the method.
static etx_status emit_number(etx_emit_method* m, uint32_t value,
                              uint32_t* out_index) {
  const etx_dtype dtype = m->method->values[value].shape.dtype;
  etx_pte_value number = {.kind = ETX_PTE_INT};
  uint32_t arguments[2];
  if (dtype == ETX_DTYPE_BOOL) number.kind = ETX_PTE_BOOL;
  if (etx_dtype_category_of(dtype) == ETX_CATEGORY_FLOATING) {
    number.kind = ETX_PTE_DOUBLE;
  }
  ETX_TRY(etx_emit_tensor(m, value, &arguments[0]));
  ETX_TRY(etx_emit_value(m, &number, &arguments[1]));
  *out_index = arguments[1];
  return etx_emit_call(m, etx_op_at(ETX_OP_local_scalar_dense), arguments, 2);
}

static etx_status emit_outputs(etx_emit_method* m, inputs_and_outputs* p) {
  emit_mutated_inputs(m, p);
  for (size_t i = 0; i < m->method->output_count; ++i) {
    const etx_ir_output* const output = &m->method->outputs[i];
    const size_t at = p->output_count++;
    uint32_t index = 0;
    ETX_TRY(output->is_number ? emit_number(m, output->arg.as.value, &index)
                              : etx_emit_any(m, &output->arg, &index));
    p->outputs[at] = (int32_t)index;
    p->output_rows[at] = (etx_blob_output){.name = output->name,
                                           .lifetime = lifetime_of(m, output),
                                           .mutated_input = -1};
    ETX_TRY(etx_emit_output_sizes(m, output, &p->output_rows[at].sizes));
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- the plan

static void fill_none(uint32_t* items, size_t count) {
  for (size_t i = 0; i < count; ++i) items[i] = ETX_IR_NONE;
}

static etx_status init_method(etx_emit_method* m, inputs_and_outputs* p) {
  etx_pool* const pool = m->emit->pool;
  const etx_ir_method* const method = m->method;
  const size_t value_count = method->value_count;
  const size_t storage_count = m->placement->storage_count;
  const size_t input_count = method->input_count;
  const size_t output_count = method->output_count + method->mutation_count;
  m->index_of_value = etx_pool_take(pool, value_count * sizeof(uint32_t));
  m->are_parts_bound = etx_pool_take(pool, value_count * sizeof(bool));
  m->external_of_storage =
      etx_pool_take(pool, storage_count * sizeof(uint32_t));
  m->index_of_symbol =
      etx_pool_take(pool, m->symbols->symbol_count * sizeof(uint32_t));
  m->input_index = etx_pool_take(pool, input_count * sizeof(uint32_t));
  p->inputs = etx_pool_take(pool, input_count * sizeof *p->inputs);
  p->input_rows = etx_pool_take(pool, input_count * sizeof *p->input_rows);
  p->outputs = etx_pool_take(pool, output_count * sizeof *p->outputs);
  p->output_rows = etx_pool_take(pool, output_count * sizeof *p->output_rows);
  if (m->index_of_value == NULL || m->are_parts_bound == NULL ||
      m->external_of_storage == NULL || m->index_of_symbol == NULL ||
      m->input_index == NULL || p->inputs == NULL || p->input_rows == NULL ||
      p->outputs == NULL || p->output_rows == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  fill_none(m->index_of_value, value_count);
  fill_none(m->external_of_storage, storage_count);
  fill_none(m->index_of_symbol, m->symbols->symbol_count);
  for (uint32_t v = 0; v < m->placement->value_count; ++v) {
    const etx_value_placement* const place = &m->placement->values[v];
    if (place->kind == ETX_PLACEMENT_EXTERNAL)
      m->external_of_storage[place->storage] = v;
  }
  return etx_emit_join_tensors(m);
}

// The synthetic init method has the tensors of all states, including states
// without bytes, so that it describes the whole layout.
static etx_status emit_states(etx_emit_method* m) {
  if (!m->method->is_synthetic) return ETX_OK;
  for (uint32_t v = 0; v < m->method->value_count; ++v) {
    uint32_t index = 0;
    if (m->method->values[v].origin != ETX_IR_FROM_BUFFER) continue;
    ETX_TRY(etx_emit_tensor(m, v, &index));
  }
  return ETX_OK;
}

static etx_status describe_symbols(etx_emit_method* m, etx_blob_method* blob) {
  const size_t count = m->symbols->symbol_count;
  etx_blob_symbol* const rows =
      etx_pool_take(m->emit->pool, count * sizeof *rows);
  if (rows == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    const etx_symbol* const symbol = &m->symbols->symbols[i];
    rows[i] = (etx_blob_symbol){symbol->name, symbol->minimum, symbol->maximum};
  }
  etx_blob_input_dim* dims = NULL;
  ETX_TRY(etx_emit_input_dims(m, &dims, &blob->input_dim_count));
  blob->symbols = rows;
  blob->symbol_count = count;
  blob->input_dims = dims;
  return ETX_OK;
}

// The pytree text of inputs (is_call: a tuple of arguments and a dict of
// keywords) or outputs, as torch.utils._pytree writes it.
static etx_status tree_of(etx_emit* emit, size_t leaf_count, bool is_call,
                          etx_text* out_text) {
#define LEAF "{\"type\": null, \"context\": null, \"children_spec\": []}"
  static const char open[] =
      "{\"type\": \"builtins.tuple\", \"context\": \"null\", "
      "\"children_spec\": [";
  static const char leaf[] = LEAF;
  static const char keywords[] =
      ", {\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": "
      "[]}]}]";
#undef LEAF
  const size_t room =
      2 * sizeof open + leaf_count * (sizeof leaf + 2) + sizeof keywords + 16;
  char* const text = etx_pool_take(emit->pool, room);
  if (text == NULL) return ETX_OUT_OF_MEMORY;
  size_t size = etx_format_text(text, room, "[1, %s%s", is_call ? open : "",
                                !is_call && leaf_count == 1 ? "" : open);
  for (size_t i = 0; i < leaf_count; ++i) {
    size += etx_format_text(text + size, room - size, "%s%s",
                            i == 0 ? "" : ", ", leaf);
  }
  size += etx_format_text(text + size, room - size, "%s%s",
                          !is_call && leaf_count == 1 ? "" : "]}",
                          is_call ? keywords : "]");
  *out_text = (etx_text){text, size};
  return ETX_OK;
}

etx_status etx_emit_output_tree(etx_emit* emit, size_t count,
                                etx_text* out_text) {
  return tree_of(emit, count, false, out_text);
}

static etx_status finish_plan(etx_emit_method* m, const inputs_and_outputs* p,
                              const etx_memory_plan* memory,
                              etx_pte_plan_content* plan) {
  etx_emit* const emit = m->emit;
  const etx_state_layout* const layout = emit->program->layout;
  etx_pte_chain* const chain = etx_pool_take(emit->pool, sizeof *chain);
  const size_t memories = emit->module->memory_count;
  int64_t* const sizes =
      etx_pool_take(emit->pool, (memories + 3) * sizeof *sizes);
  if (chain == NULL || sizes == NULL) return ETX_OUT_OF_MEMORY;
  chain->instructions = m->instructions;
  chain->instruction_count = m->instruction_count;
  sizes[ETX_MEMORY_SCRATCH] = (int64_t)memory->memory_bytes[0];
  sizes[ETX_MEMORY_STATE] = (int64_t)layout->bytes;
  for (size_t k = 1; k < memories; ++k) {
    sizes[etx_memory_arena_of(k)] = (int64_t)memory->memory_bytes[k];
  }
  ETX_TRY(tree_of(emit, m->method->input_count, true, &plan->input_tree));
  ETX_TRY(tree_of(emit, m->method->output_count, false, &plan->output_tree));
  plan->name = m->method->name;
  plan->values = m->values;
  plan->value_count = m->value_count;
  plan->inputs = p->inputs;
  plan->input_count = m->method->input_count;
  plan->outputs = p->outputs;
  plan->output_count = p->output_count;
  plan->chains = chain;
  plan->chain_count = 1;
  plan->operators = m->operators;
  plan->operator_count = m->operator_count;
  plan->buffer_sizes = sizes;
  plan->buffer_size_count = layout->count == 0 ? 2 : 3;
  if (memories > 1) plan->buffer_size_count = memories + 2;
  return ETX_OK;
}

// The places of all tensors of arena 1 in the further layouts.
static etx_status describe_layouts(const etx_emit_method* m,
                                   const etx_memory_plan* memory,
                                   etx_blob_method* out_blob) {
  const size_t count = memory->layout_count * m->scratch_count;
  etx_blob_place* const places =
      etx_pool_take(m->emit->pool, count * sizeof *places);
  size_t at = 0;
  if (places == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t k = 0; k < memory->layout_count; ++k) {
    for (size_t i = 0; i < m->scratch_count; ++i) {
      const etx_emit_scratch* const tensor = &m->scratch[i];
      const etx_storage_place* const place =
          &memory->layouts[k][tensor->storage];
      const uint64_t rest =
          place->bytes > tensor->start ? place->bytes - tensor->start : 0;
      places[at++] = (etx_blob_place){tensor->slot, k,
                                      place->offset + tensor->start, rest};
    }
  }
  out_blob->places = places;
  out_blob->place_count = count;
  return ETX_OK;
}

etx_status etx_emit_plan(etx_emit* emit, size_t method,
                         etx_pte_plan_content* out_plan,
                         etx_blob_method* out_blob, size_t* out_peak) {
  const etx_memory_plan* const memory = &emit->program->memory[method];
  etx_ir_method* const source = &emit->module->methods[method];
  etx_emit_method m = {
      .emit = emit,
      .method = source,
      .symbols = &source->symbols,
      .placement = &emit->program->placements[method],
      .plans_inputs = emit->program->target == ETX_TARGET_EXECUTORCH};
  inputs_and_outputs p = {0};
  ETX_TRY(init_method(&m, &p));
  ETX_TRY(emit_inputs(&m, &p));
  int32_t* const starts =
      etx_pool_take(emit->pool, (source->node_count + 1) * sizeof *starts);
  if (starts == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t n = 0; n < source->node_count; ++n) {
    starts[n] = (int32_t)m.instruction_count;
    ETX_TRY(etx_emit_node(&m, &source->nodes[n]));
  }
  if (memory->peak_node < source->node_count) {
    *out_peak = (size_t)starts[memory->peak_node];
  }
  ETX_TRY(etx_emit_enter_branch(&m, 0));
  ETX_TRY(emit_outputs(&m, &p));
  ETX_TRY(copy_to_callers(&m, &p));
  ETX_TRY(emit_states(&m));
  ETX_TRY(describe_symbols(&m, out_blob));
  out_blob->name = source->name;
  out_blob->inputs = p.input_rows;
  out_blob->input_count = source->input_count;
  out_blob->outputs = p.output_rows;
  out_blob->output_count = p.output_count;
  out_blob->views = m.views;
  out_blob->view_count = m.view_count;
  ETX_TRY(describe_layouts(&m, memory, out_blob));
  ETX_TRY(etx_emit_source(emit, source, starts, m.instruction_count));
  return finish_plan(&m, &p, memory, out_plan);
}
