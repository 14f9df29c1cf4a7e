// What instructions read and write, from the schemas of their operators
// (op_schema.def).
//
// An argument that the schema marks as written is a write; every other tensor
// argument is a read. There are two exceptions: some operators use only the
// sizes of a tensor, and an operator that changes an argument in place also
// reads it, unless it replaces all of it.

#include "cli/verify/verify_internal.h"
#include "format/base/assertion.h"

// ---- steps ----

static etx_status find_op(const etx_verify_method* m, int32_t index,
                          const etx_op** out_op) {
  const etx_pte_operator op = etx_pte_operator_at(&m->plan, (size_t)index);
  const etx_own_entry* const own =
      etx_own_list_find(&m->own, op.name, op.overload);
  *out_op = own != NULL ? &own->row.op : etx_op_find(op.name, op.overload);
  if (*out_op != NULL || m->takes_unknown) return ETX_OK;
  return etx_diag_fail(m->diag, ETX_MISSING_OPERATOR,
                       "operator '%t%s%t' is unknown, so its reads and writes "
                       "cannot be verified (method '%t')",
                       op.name, op.overload.size > 0 ? "." : "", op.overload,
                       m->name);
}

static size_t count_steps(const etx_verify_method* m) {
  const size_t chains = etx_pte_chain_count(&m->plan);
  size_t count = 0;
  for (size_t c = 0; c < chains; ++c) {
    count += etx_pte_instruction_count(&m->plan, c);
  }
  return count;
}

// A table by position in the plan, so that each operator is looked up once.
static etx_status take_op_table(const etx_verify_method* m,
                                const etx_op*** out) {
  const size_t count = etx_pte_operator_count(&m->plan);
  *out = etx_verify_arena_take(m->memory, count, sizeof **out);
  return *out == NULL ? ETX_OUT_OF_MEMORY : ETX_OK;
}

static etx_status fill_step(const etx_verify_method* m, const etx_op** ops,
                            size_t chain, size_t index, size_t first,
                            etx_verify_step* step) {
  const size_t count = etx_pte_instruction_count(&m->plan, chain);
  step->instruction = etx_pte_instruction_at(&m->plan, chain, index);
  step->chain = (uint32_t)chain;
  step->index = (uint32_t)index;
  if (step->instruction.kind == ETX_PTE_JUMP_FALSE_CALL) {
    const size_t target = (size_t)step->instruction.target;
    step->target = (uint32_t)(first + (target < count ? target : count));
  }
  if (step->instruction.kind != ETX_PTE_KERNEL_CALL) return ETX_OK;
  const etx_op** const op = &ops[step->instruction.index];
  if (*op == NULL) ETX_TRY(find_op(m, step->instruction.index, op));
  step->op = *op;
  return ETX_OK;
}

// Reads the operators of the application, which the file describes.
static etx_status read_own(etx_verify_method* m) {
  etx_bytes data = {NULL, 0};
  if (!etx_pte_named_data_find(m->pte, ETX_OWN_OPERATORS_KEY, &data)) {
    return ETX_OK;
  }
  const etx_text text = {(const char*)data.data, data.size};
  const size_t needed = etx_own_list_needed(text);
  void* const memory = etx_verify_arena_take(m->memory, needed, sizeof(char));
  etx_arena arena;
  if (memory == NULL) return ETX_OUT_OF_MEMORY;
  etx_arena_init(&arena, memory, needed);
  const etx_status status = etx_own_list_read(text, &arena, &m->own, m->diag);
  if (status == ETX_BAD_FILE) {
    etx_diag_append(m->diag, ", in the description of operators, line %u",
                    m->diag == NULL ? 0 : (uint64_t)m->diag->line);
  }
  return status;
}

etx_status etx_verify_find_steps(etx_verify_method* m) {
  const size_t chains = etx_pte_chain_count(&m->plan);
  const etx_op** ops = NULL;
  size_t next = 0;
  m->step_count = count_steps(m);
  m->steps = etx_verify_arena_take(m->memory, m->step_count, sizeof *m->steps);
  if (m->steps == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(read_own(m));
  ETX_TRY(take_op_table(m, &ops));
  for (size_t c = 0; c < chains; ++c) {
    const size_t first = next;
    const size_t count = etx_pte_instruction_count(&m->plan, c);
    for (size_t i = 0; i < count; ++i) {
      ETX_TRY(fill_step(m, ops, c, i, first, &m->steps[next++]));
    }
  }
  return ETX_OK;
}

etx_status etx_verify_at(const etx_verify_method* m, size_t step,
                         etx_status status) {
  const etx_verify_step* const at = &m->steps[step];
  etx_diag_append(m->diag, " (instruction '%u'", (uint64_t)at->index);
  if (at->chain > 0) {
    etx_diag_append(m->diag, " of chain '%u'", (uint64_t)at->chain);
  }
  if (at->op != NULL) {
    etx_diag_append(m->diag, ", '%s%s%s'", at->op->name,
                    at->op->overload[0] == '\0' ? "" : ".", at->op->overload);
  }
  etx_diag_append(m->diag, ")");
  return status;
}

// ---- effects ----

// True if an operator uses only sizes and dtype of its first argument.
static bool reads_only_sizes(etx_op_id id) {
  switch (id) {
    case ETX_OP_sym_size_int:
    case ETX_OP_sym_numel:
    case ETX_OP_et_view_default:
    case ETX_OP_part_view_default:
    case ETX_OP_full_like_out:
    case ETX_OP_fill_scalar_out:
    case ETX_OP_fill_tensor_out:
    case ETX_OP_copy_out:
      return true;
    default:
      return false;
  }
}

// True if an operator that changes an argument does not need its old content.
// That includes a copy by index, which fills a tensor row by row: before the
// first row there is no content (verify_loop_rows.c checks the rest).
static bool replaces_all(etx_op_id id) {
  return id == ETX_OP_copy_in_place || id == ETX_OP_et_copy_index_tensor;
}

etx_status etx_verify_effects_init(etx_verify_effects* effects,
                                   const etx_verify_method* m) {
  size_t most = 1;
  for (size_t s = 0; s < m->step_count; ++s) {
    const etx_pte_instruction* const at = &m->steps[s].instruction;
    size_t count = at->argument_count;
    for (size_t i = 0; i < at->argument_count; ++i) {
      const etx_pte_value value =
          etx_pte_value_at(&m->plan, (size_t)at->arguments[i]);
      if (value.kind == ETX_PTE_TENSOR_LIST ||
          value.kind == ETX_PTE_OPTIONAL_TENSOR_LIST) {
        count += value.as.tensors.count;
      }
    }
    if (count > most) most = count;
  }
  effects->capacity = most;
  effects->reads =
      etx_verify_arena_take(m->memory, most, sizeof *effects->reads);
  effects->writes =
      etx_verify_arena_take(m->memory, most, sizeof *effects->writes);
  return effects->reads == NULL || effects->writes == NULL ? ETX_OUT_OF_MEMORY
                                                           : ETX_OK;
}

// Collects the effects of one call, argument by argument.
typedef struct effect_reader {
  const etx_verify_method* m;
  size_t step;
  etx_verify_effects* effects;
  bool seen_tensor;  // the first tensor argument was read
} effect_reader;

static void add_tensor(effect_reader* r, uint32_t value, bool is_first,
                       const etx_argument* argument) {
  etx_verify_effects* const e = r->effects;
  const bool is_changed = etx_argument_is_changed(argument);
  const etx_op_id op = r->m->steps[r->step].op->id;
  const etx_verify_access access = {value, is_first, is_changed,
                                    is_changed && !replaces_all(op)};
  if (argument->written) {
    e->writes[e->write_count++] = access;
  } else {
    e->reads[e->read_count++] = access;
  }
}

static etx_status refuse_argument(const effect_reader* r, size_t argument,
                                  const char* why) {
  return etx_verify_at(
      r->m, r->step,
      etx_diag_fail(r->m->diag, ETX_BAD_FILE, "argument '%z' %s (method '%t')",
                    argument, why, r->m->name));
}

static etx_status add_argument(effect_reader* r, const etx_argument* argument,
                               size_t index) {
  const etx_verify_step* const step = &r->m->steps[r->step];
  const uint32_t v = (uint32_t)step->instruction.arguments[index];
  const etx_pte_value value = etx_pte_value_at(&r->m->plan, v);
  switch (argument->type) {
    case ETX_ARGUMENT_TENSOR: {
      const bool is_first = !r->seen_tensor;
      r->seen_tensor = true;
      if (value.kind == ETX_PTE_NULL && argument->optional) return ETX_OK;
      if (value.kind != ETX_PTE_TENSOR) {
        return refuse_argument(r, index, "is not a tensor");
      }
      if (!argument->written && is_first && reads_only_sizes(step->op->id)) {
        return ETX_OK;
      }
      add_tensor(r, v, is_first, argument);
      return ETX_OK;
    }
    case ETX_ARGUMENT_TENSORS:
    case ETX_ARGUMENT_OPTIONAL_TENSORS:
      if (value.kind != ETX_PTE_TENSOR_LIST &&
          value.kind != ETX_PTE_OPTIONAL_TENSOR_LIST) {
        return refuse_argument(r, index, "is not a list of tensors");
      }
      for (size_t i = 0; i < value.as.tensors.count; ++i) {
        const int32_t item = value.as.tensors.items[i];
        if (item < 0 || r->m->values[item].storage == ETX_VERIFY_STORAGE_NONE) {
          continue;
        }
        add_tensor(r, (uint32_t)item, false, argument);
      }
      return ETX_OK;
    default:
      return ETX_OK;
  }
}

// Operators that write no bytes: they set the sizes of their output, or let it
// take over the header of an argument.
static void read_header_effects(const etx_verify_step* step,
                                etx_verify_effects* effects) {
  const int32_t* const arguments = step->instruction.arguments;
  const size_t count = step->instruction.argument_count;
  if (etx_op_only_sizes(step->op)) {
    effects->sized = (uint32_t)arguments[count - 1];
    effects->write_count = 0;
  } else if (etx_op_makes_view(step->op)) {
    effects->rebound = (uint32_t)arguments[count - 1];
    effects->rebound_from = (uint32_t)arguments[0];
    effects->read_count = effects->write_count = 0;
  } else if (step->op->result == ETX_RESULT_SELF &&
             arguments[count - 1] != arguments[0]) {
    effects->rebound = (uint32_t)arguments[count - 1];
    effects->rebound_from = (uint32_t)arguments[0];
  }
}

static etx_status read_call(const etx_verify_method* m, size_t index,
                            etx_verify_effects* effects) {
  const etx_verify_step* const step = &m->steps[index];
  effect_reader r = {m, index, effects, false};
  const size_t expected = etx_op_call_count(step->op);
  if (step->instruction.argument_count != expected) {
    return etx_verify_at(
        m, index,
        etx_diag_fail(m->diag, ETX_BAD_FILE,
                      "the call has %z arguments, expected %z (method '%t')",
                      step->instruction.argument_count, expected, m->name));
  }
  etx_argument_cursor cursor = etx_argument_first(step->op->arguments);
  etx_argument argument;
  for (size_t i = 0; etx_argument_next(&cursor, &argument); ++i) {
    ETX_TRY(add_argument(&r, &argument, i));
  }
  read_header_effects(step, effects);
  return ETX_OK;
}

static void guess_tensor(const etx_verify_method* m, int32_t value,
                         etx_verify_effects* effects) {
  if (value < 0 || m->values[value].storage == ETX_VERIFY_STORAGE_NONE) return;
  const etx_verify_access access = {.value = (uint32_t)value};
  effects->reads[effects->read_count++] = access;
  if (m->values[value].storage == ETX_VERIFY_STORAGE_CONSTANT) return;
  effects->writes[effects->write_count++] = access;
}

static void guess_call(const etx_verify_method* m, size_t index,
                       etx_verify_effects* effects) {
  const etx_pte_instruction* const at = &m->steps[index].instruction;
  effects->is_guessed = true;
  for (size_t i = 0; i < at->argument_count; ++i) {
    const etx_pte_value value =
        etx_pte_value_at(&m->plan, (size_t)at->arguments[i]);
    guess_tensor(m, at->arguments[i], effects);
    if (value.kind != ETX_PTE_TENSOR_LIST &&
        value.kind != ETX_PTE_OPTIONAL_TENSOR_LIST) {
      continue;
    }
    for (size_t k = 0; k < value.as.tensors.count; ++k) {
      guess_tensor(m, value.as.tensors.items[k], effects);
    }
  }
}

static bool is_tensor_list(const etx_verify_method* m, int32_t value) {
  const etx_pte_kind kind = etx_pte_value_kind(&m->plan, (size_t)value);
  return kind == ETX_PTE_TENSOR_LIST || kind == ETX_PTE_OPTIONAL_TENSOR_LIST;
}

static etx_status read_move(const etx_verify_method* m, size_t index,
                            etx_verify_effects* effects) {
  const etx_pte_instruction* const move = &m->steps[index].instruction;
  const etx_verify_storage_kind from = m->values[move->index].storage;
  const etx_verify_storage_kind to = m->values[move->target].storage;
  if (from == ETX_VERIFY_STORAGE_NONE && to == ETX_VERIFY_STORAGE_NONE) {
    if (!is_tensor_list(m, move->index) && !is_tensor_list(m, move->target)) {
      return ETX_OK;
    }
  } else if (from != ETX_VERIFY_STORAGE_NONE && to != ETX_VERIFY_STORAGE_NONE) {
    effects->rebound = (uint32_t)move->target;
    effects->rebound_from = (uint32_t)move->index;
    return ETX_OK;
  }
  if (m->takes_unknown) return ETX_OK;
  return etx_verify_at(
      m, index,
      etx_diag_fail(m->diag, ETX_UNSUPPORTED,
                    "a move from value '%i' to value '%i' changes the kind of "
                    "the value or moves a list, which cannot be verified "
                    "(method '%t')",
                    (int64_t)move->index, (int64_t)move->target, m->name));
}

etx_status etx_verify_effects_of(const etx_verify_method* m, size_t index,
                                 etx_verify_effects* effects) {
  const etx_pte_instruction* const at = &m->steps[index].instruction;
  effects->read_count = 0;
  effects->write_count = 0;
  effects->rebound = effects->rebound_from = ETX_VERIFY_NONE;
  effects->sized = ETX_VERIFY_NONE;
  effects->released = ETX_VERIFY_NONE;
  effects->is_guessed = false;
  switch (at->kind) {
    case ETX_PTE_KERNEL_CALL:
      if (m->steps[index].op != NULL) return read_call(m, index, effects);
      guess_call(m, index, effects);
      return ETX_OK;
    case ETX_PTE_MOVE_CALL:
      return read_move(m, index, effects);
    case ETX_PTE_JUMP_FALSE_CALL:
      if (m->values[at->index].storage != ETX_VERIFY_STORAGE_NONE) {
        effects->reads[effects->read_count++] =
            (etx_verify_access){.value = (uint32_t)at->index};
      }
      return ETX_OK;
    case ETX_PTE_FREE_CALL:
      effects->released = (uint32_t)at->index;
      return ETX_OK;
    default:  // a delegate
      break;
  }
  if (m->takes_unknown) {
    guess_call(m, index, effects);
    return ETX_OK;
  }
  return etx_verify_at(
      m, index,
      etx_diag_fail(m->diag, ETX_UNSUPPORTED,
                    "the reads and writes of a delegate are unknown and cannot "
                    "be verified (method '%t')",
                    m->name));
}

void etx_verify_effects_again(const etx_verify_method* m, size_t index,
                              etx_verify_effects* effects) {
  const etx_status status = etx_verify_effects_of(m, index, effects);
  ETX_ASSERT(status == ETX_OK);
  (void)status;
}
