#include "cli/graph/graph_method.h"

// The steps know the operators, those of applications too.
static void find_operators(etx_graph_method* method) {
  const etx_verify_method* const m = method->program;
  for (size_t s = 0; s < m->step_count; ++s) {
    const etx_pte_instruction* const at = &m->steps[s].instruction;
    if (at->kind != ETX_PTE_KERNEL_CALL) continue;
    method->operators[at->index] = m->steps[s].op;
  }
}

static void add_name(etx_graph_method* method, size_t value, etx_text name) {
  if (method->names[value].size == 0) method->names[value] = name;
}

// The author's names: of tensors in the file, of inputs and outputs in the blob
// of etx, and of storages in the memory map.
static void find_names(etx_graph_method* method,
                       const etx_memory_method* memory) {
  const etx_verify_method* const m = method->program;
  const bool has_ports = m->blob != NULL && m->blob_method != SIZE_MAX;
  for (size_t i = 0; i < m->value_count; ++i) {
    if (etx_pte_value_kind(&m->plan, i) != ETX_PTE_TENSOR) continue;
    add_name(method, i, etx_pte_value_at(&m->plan, i).as.tensor.name);
  }
  for (size_t i = 0; has_ports && i < etx_pte_input_count(&m->plan); ++i) {
    add_name(method, (size_t)etx_pte_input_at(&m->plan, i),
             etx_blob_input_at(m->blob, m->blob_method, i).name);
  }
  for (size_t i = 0; has_ports && i < etx_pte_output_count(&m->plan); ++i) {
    add_name(method, (size_t)etx_pte_output_at(&m->plan, i),
             etx_blob_output_at(m->blob, m->blob_method, i).name);
  }
  for (size_t i = 0; i < memory->box_count; ++i) {
    add_name(method, memory->boxes[i].value, memory->boxes[i].name);
  }
}

static etx_status init_method(etx_graph_method* method,
                              const etx_memory_method* map) {
  const etx_verify_method* const m = map->program;
  etx_verify_arena* const memory = m->memory;
  const size_t count = m->value_count;
  method->program = m;
  method->operators = etx_verify_arena_take(
      memory, etx_pte_operator_count(&m->plan), sizeof *method->operators);
  method->written =
      etx_verify_arena_take(memory, count, sizeof *method->written);
  method->read = etx_verify_arena_take(memory, count, sizeof *method->read);
  method->written_in =
      etx_verify_arena_take(memory, count, sizeof *method->written_in);
  method->read_in =
      etx_verify_arena_take(memory, count, sizeof *method->read_in);
  method->names = etx_verify_arena_take(memory, count, sizeof *method->names);
  if (method->names == NULL || method->operators == NULL ||
      method->written == NULL || method->read == NULL ||
      method->written_in == NULL || method->read_in == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  find_operators(method);
  find_names(method, map);
  ETX_TRY(etx_verify_find_varying(m, &method->varies));
  return etx_verify_effects_init(&method->effects, m);
}

etx_status etx_graph_methods_init(const etx_memory_map* map,
                                  etx_graph_method** out_methods) {
  *out_methods = NULL;
  if (map->method_count == 0) return ETX_OK;
  etx_graph_method* const methods = etx_verify_arena_take(
      map->methods[0].program->memory, map->method_count, sizeof *methods);
  if (methods == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < map->method_count; ++i) {
    ETX_TRY(init_method(&methods[i], &map->methods[i]));
  }
  *out_methods = methods;
  return ETX_OK;
}

// ---- what a step reads and writes

static void add_written(etx_graph_method* method, uint32_t value) {
  if (value == ETX_VERIFY_NONE || method->written_in[value] == method->pass)
    return;
  method->written_in[value] = method->pass;
  method->written[method->written_count++] = value;
}

static void add_read(etx_graph_method* method, uint32_t value) {
  if (value == ETX_VERIFY_NONE || method->read_in[value] == method->pass)
    return;
  method->read_in[value] = method->pass;
  method->read[method->read_count++] = value;
}

// A tensor of which only the sizes are read has no effect on bytes.
static void add_argument_tensor(etx_graph_method* method, int32_t value) {
  if (value < 0 || method->written_in[value] == method->pass) return;
  add_read(method, (uint32_t)value);
}

static void add_number(etx_graph_method* method, int64_t value) {
  if (method->varies[value] && method->written_in[value] != method->pass)
    add_read(method, (uint32_t)value);
}

static void add_argument(etx_graph_method* method, int32_t index) {
  const etx_pte_value value =
      etx_pte_value_at(&method->program->plan, (size_t)index);
  switch (value.kind) {
    case ETX_PTE_TENSOR:
      add_argument_tensor(method, index);
      break;
    case ETX_PTE_TENSOR_LIST:
    case ETX_PTE_OPTIONAL_TENSOR_LIST:
      for (size_t i = 0; i < value.as.tensors.count; ++i) {
        add_argument_tensor(method, value.as.tensors.items[i]);
      }
      break;
    case ETX_PTE_INT:
    case ETX_PTE_BOOL:
    case ETX_PTE_DOUBLE:
      add_number(method, index);
      break;
    case ETX_PTE_INT_LIST:
      for (size_t i = 0; i < value.as.integers.count; ++i) {
        add_number(method, value.as.integers.items[i]);
      }
      break;
    default:
      break;
  }
}

static size_t count_arguments(const etx_op* op) {
  etx_argument_cursor cursor = etx_argument_first(op->arguments);
  etx_argument argument;
  size_t count = 0;
  while (etx_argument_next(&cursor, &argument)) ++count;
  return count;
}

// The arguments of a call. The slot behind those of a known operator holds its
// result.
static void add_call(etx_graph_method* method, const etx_verify_step* step) {
  const etx_pte_instruction* const at = &step->instruction;
  size_t count = at->argument_count;
  if (step->op != NULL) {
    const size_t known = count_arguments(step->op);
    if (step->op->result == ETX_RESULT_SCALAR && count > 0)
      add_written(method, (uint32_t)at->arguments[count - 1]);
    if (known < count) count = known;
  }
  for (size_t i = 0; i < count; ++i) add_argument(method, at->arguments[i]);
}

void etx_graph_step_read(etx_graph_method* method, size_t step) {
  const etx_verify_step* const s = &method->program->steps[step];
  const etx_pte_instruction* const at = &s->instruction;
  etx_verify_effects* const effects = &method->effects;
  ++method->pass;
  method->written_count = 0;
  method->read_count = 0;
  // The map was made from the effects of all steps, so there are some.
  if (etx_verify_effects_of(method->program, step, effects) == ETX_OK) {
    for (size_t i = 0; i < effects->write_count; ++i) {
      add_written(method, effects->writes[i].value);
    }
    add_written(method, effects->rebound);
    add_written(method, effects->sized);
    for (size_t i = 0; i < effects->read_count; ++i) {
      add_read(method, effects->reads[i].value);
    }
    add_read(method, effects->rebound_from);
    add_read(method, effects->released);
  }
  if (at->kind == ETX_PTE_KERNEL_CALL || at->kind == ETX_PTE_DELEGATE_CALL) {
    add_call(method, s);
  } else if (at->kind == ETX_PTE_MOVE_CALL) {
    add_written(method, (uint32_t)at->target);
    add_argument(method, at->index);
  } else if (at->kind == ETX_PTE_JUMP_FALSE_CALL) {
    add_argument(method, at->index);
  }
}
