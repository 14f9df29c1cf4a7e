// Verifies the structure of the FlatBuffer, then segments, then each method:
// values, inputs, outputs, operators, delegates and chains. Once the structure
// is verified, accessors can be used, so this file only checks values.

#include "format/pte/pte_verifier.h"

#include "format/base/size_limits.h"
#include "format/pte/pte_schema.h"
#include "format/pte/pte_verifier_internal.h"

// Sets the part of the method that the following messages name; NULL for the
// method as a whole.
static void set_part(etx_pte_verifier* v, const char* part, size_t index) {
  if (!ETX_MESSAGES) return;
  v->part = part;
  v->part_index = index;
}

// Appends the location in the program to a message.
static void append_location(etx_pte_verifier* v) {
  if (v->diag == NULL) return;
  v->diag->offset = v->position;
  if (v->part == NULL) {
    etx_diag_append(v->diag, " (method '%t')", etx_pte_plan_name(&v->plan));
  } else {
    etx_diag_append(v->diag, " (%s '%z' of method '%t')", v->part,
                    v->part_index, etx_pte_plan_name(&v->plan));
  }
}

// Verifies that `count` entries name values of the method.
static etx_status check_value_indexes(etx_pte_verifier* v,
                                      const int32_t* indexes, size_t count) {
  ETX_TRY(etx_pte_verifier_use_items(v, count));
  for (size_t i = 0; i < count; ++i) {
    // A negative one is larger than any count.
    if ((uint32_t)indexes[i] < v->value_count) continue;
    return etx_diag_fail(v->diag, ETX_BAD_FILE,
                         "entry '%z' names value %i of %z", i,
                         (int64_t)indexes[i], v->value_count);
  }
  return ETX_OK;
}

static etx_status check_arenas(etx_pte_verifier* v) {
  const size_t count = etx_pte_buffer_size_count(&v->plan);
  ETX_TRY(etx_pte_verifier_use_items(v, count));
  for (size_t i = 0; i < count; ++i) {
    const int64_t bytes = etx_pte_buffer_size_at(&v->plan, i);
    if (bytes < 0) {
      return etx_diag_fail(v->diag, v->plan.pte->bad_plan_status,
                           "arena '%z' has a negative size: %i", i, bytes);
    }
    if ((uint64_t)bytes > v->max_arena_bytes) {
      return etx_diag_fail(v->diag, ETX_OUT_OF_RANGE,
                           "arena '%z' has %i bytes, at most %u are allowed", i,
                           bytes, v->max_arena_bytes);
    }
  }
  const size_t device_count = etx_pte_buffer_device_count(&v->plan);
  for (size_t i = 0; i < device_count; ++i) {
    const int32_t arena = etx_pte_buffer_device_at(&v->plan, i).buffer;
    if (arena >= 1 && (size_t)arena < count) continue;
    return etx_diag_fail(v->diag, ETX_BAD_FILE,
                         "device entry '%z' names arena %i of %z", i,
                         (int64_t)arena, count);
  }
  return ETX_OK;
}

// Records the position of a list's item for the message, and returns `status`.
static etx_status fail_at(etx_pte_verifier* v, etx_fb_vector list, size_t index,
                          etx_status status) {
  v->position = etx_fb_table_at(&v->plan.pte->fb, list, (uint32_t)index);
  return status;
}

static etx_status check_values(etx_pte_verifier* v) {
  for (size_t i = 0; i < v->value_count; ++i) {
    set_part(v, "value", i);
    const etx_status status = etx_pte_verifier_check_value(v, i);
    if (status != ETX_OK) {
      return fail_at(v, v->plan.lists[ETX_PTE_VALUES], i, status);
    }
    etx_pte_totals_add(v->totals, &v->value);
  }
  return ETX_OK;
}

// An input must not be a constant, or a caller could write to the file's bytes.
static etx_status check_input(etx_pte_verifier* v, size_t index) {
  const etx_pte_tensor* const tensor = &v->value.as.tensor;
  (void)etx_pte_value_read(&v->plan, (size_t)etx_pte_input_at(&v->plan, index),
                           &v->value);
  if (v->value.kind != ETX_PTE_TENSOR || tensor->has_allocation ||
      !etx_pte_tensor_is_stored(tensor)) {
    return ETX_OK;
  }
  if (tensor->location == ETX_PTE_EXTERNAL) {
    return etx_diag_fail(v->diag, ETX_BAD_FILE,
                         "an input is '%t' of a data file", tensor->name);
  }
  return etx_diag_fail(v->diag, ETX_BAD_FILE, "an input is the constant '%u'",
                       (uint64_t)tensor->data_buffer_index);
}

static etx_status check_inputs_and_outputs(etx_pte_verifier* v) {
  const etx_fb_buffer* fb = &v->plan.pte->fb;
  set_part(v, NULL, 0);
  for (etx_pte_list list = ETX_PTE_INPUTS; list <= ETX_PTE_OUTPUTS; ++list) {
    const etx_fb_vector values = v->plan.lists[list];
    ETX_TRY(check_value_indexes(v, etx_fb_elements(fb, values), values.count));
  }
  for (size_t i = 0; i < etx_pte_input_count(&v->plan); ++i) {
    set_part(v, "input", i);
    ETX_TRY(check_input(v, i));
  }
  return ETX_OK;
}

static etx_status check_operators(etx_pte_verifier* v) {
  set_part(v, NULL, 0);
  for (size_t i = 0; i < etx_pte_operator_count(&v->plan); ++i) {
    const etx_pte_operator op = etx_pte_operator_at(&v->plan, i);
    // Joined by a dot, if there is anything to join.
    const size_t bytes =
        op.name.size + (op.overload.size > 0 ? op.overload.size + 1 : 0);
    if (op.name.size > 0 && bytes <= ETX_MAX_OPERATOR_NAME) continue;
    return etx_diag_fail(v->diag, ETX_BAD_FILE,
                         "the name of operator '%z' has %z bytes, expected 1 "
                         "to %u",
                         i, bytes, (uint64_t)ETX_MAX_OPERATOR_NAME);
  }
  return ETX_OK;
}

static etx_status check_delegates(etx_pte_verifier* v) {
  const etx_pte* pte = v->plan.pte;
  const etx_fb_buffer* fb = &pte->fb;
  const size_t count = etx_pte_delegate_count(&v->plan);
  const size_t inline_count =
      etx_fb_vector_in(fb, pte->root, ETX_PTE_Program_backend_delegate_data)
          .count;
  for (size_t i = 0; i < count; ++i) {
    const etx_pte_delegate delegate = etx_pte_delegate_at(&v->plan, i);
    const size_t data_count =
        delegate.inline_data ? inline_count : etx_pte_segment_count(pte);
    if (delegate.data_index < data_count) continue;
    return etx_diag_fail(v->diag, ETX_BAD_FILE,
                         "delegate '%z' names data %u of %z", i,
                         (uint64_t)delegate.data_index, data_count);
  }
  return ETX_OK;
}

// Verifies that the list has an item of that index.
static etx_status check_index(etx_pte_verifier* v, etx_pte_list list,
                              int32_t index) {
  const uint32_t count = v->plan.lists[list].count;
  // A negative one is larger than any count.
  if ((uint32_t)index < count) return ETX_OK;
  return etx_diag_fail(v->diag, ETX_BAD_FILE, "it names %s %i of %z",
                       list == ETX_PTE_OPERATORS   ? "operator"
                       : list == ETX_PTE_DELEGATES ? "delegate"
                                                   : "value",
                       (int64_t)index, (size_t)count);
}

// What the numbers of each kind of instruction mean: `index` is an item of a
// list; `target` is a value or an instruction, where one past the end leaves
// the chain.
static const struct {
  uint8_t list;  // an etx_pte_list
  bool has_target_value;
} instruction_rules[] = {
    [ETX_PTE_KERNEL_CALL] = {ETX_PTE_OPERATORS, false},
    [ETX_PTE_DELEGATE_CALL] = {ETX_PTE_DELEGATES, false},
    [ETX_PTE_MOVE_CALL] = {ETX_PTE_VALUES, true},
    [ETX_PTE_JUMP_FALSE_CALL] = {ETX_PTE_VALUES, false},
    [ETX_PTE_FREE_CALL] = {ETX_PTE_VALUES, false},
};

// Fields that a kind does not have are 0 or empty.
static etx_status check_instruction(etx_pte_verifier* v, etx_fb_vector chain,
                                    size_t index) {
  etx_pte_instruction it;
  etx_pte_instruction_read(&v->plan, chain, index, &it);
  // The union's code is known to be one of these.
  if ((int)it.kind == 0) {
    return etx_diag_fail(v->diag, ETX_BAD_FILE, "it has no content");
  }
  const etx_pte_list list = (etx_pte_list)instruction_rules[it.kind].list;
  ETX_TRY(check_index(v, list, it.index));
  if (instruction_rules[it.kind].has_target_value) {
    ETX_TRY(check_index(v, ETX_PTE_VALUES, it.target));
  }
  if (it.kind == ETX_PTE_JUMP_FALSE_CALL && (uint32_t)it.target > chain.count) {
    return etx_diag_fail(v->diag, ETX_BAD_FILE,
                         "it jumps to instruction %i of %z", (int64_t)it.target,
                         (size_t)chain.count);
  }
  if (it.kind == ETX_PTE_FREE_CALL &&
      etx_pte_value_kind(&v->plan, (size_t)it.index) != ETX_PTE_TENSOR) {
    return etx_diag_fail(v->diag, ETX_BAD_FILE,
                         "it frees value %z, which is not a tensor",
                         (size_t)it.index);
  }
  etx_pte_totals_add_instruction(v->totals, &it);
  return check_value_indexes(v, it.arguments, it.argument_count);
}

static etx_status check_chains(etx_pte_verifier* v) {
  const size_t count = etx_pte_chain_count(&v->plan);
  uint64_t total = 0;
  if (count == 0) {
    return etx_diag_fail(v->diag, ETX_BAD_FILE, "there is no chain");
  }
  for (size_t i = 0; i < count; ++i) {
    const etx_fb_vector chain = etx_pte_chain_at(&v->plan, i);
    total += chain.count;
    if (total > v->max_instructions) {
      return etx_diag_fail(v->diag, ETX_OUT_OF_RANGE,
                           "there are %u instructions, at most %u are allowed",
                           total, v->max_instructions);
    }
    for (uint32_t k = 0; k < chain.count; ++k) {
      set_part(v, "instruction", k);
      const etx_status status = check_instruction(v, chain, k);
      if (status != ETX_OK) return fail_at(v, chain, k, status);
    }
  }
  return ETX_OK;
}

static etx_status check_name(etx_pte_verifier* v, size_t index) {
  const etx_pte* pte = v->plan.pte;
  const etx_text name = etx_pte_plan_name(&v->plan);
  if (name.size > ETX_MAX_METHOD_NAME) {
    return etx_diag_fail(v->diag, ETX_BAD_FILE,
                         "a method's name has %z bytes, at most %u are "
                         "possible",
                         name.size, (uint64_t)ETX_MAX_METHOD_NAME);
  }
  for (size_t i = 0; i < index; ++i) {
    if (!etx_text_equal(name, etx_pte_plan_name_at(pte, i))) continue;
    return etx_diag_fail(v->diag, ETX_BAD_FILE,
                         "methods '%z' and '%z' have the same name", i, index);
  }
  return ETX_OK;
}

static etx_status check_plan(etx_pte_verifier* v, size_t index) {
  v->value_count = etx_pte_value_count(&v->plan);
  ETX_TRY(check_name(v, index));
  ETX_TRY(check_arenas(v));
  ETX_TRY(check_values(v));
  ETX_TRY(check_inputs_and_outputs(v));
  ETX_TRY(check_operators(v));
  ETX_TRY(check_delegates(v));
  return check_chains(v);
}

// Finds the constants, which are in the FlatBuffer or in a segment, not in
// both.
static etx_status open_constants(etx_pte* pte, etx_diag* diag) {
  const etx_fb_buffer* fb = &pte->fb;
  const bool has_segment = etx_pte_subsegments_open(pte);
  const uint32_t entries = pte->constants.offsets.count;
  if (entries <= 1) return ETX_OK;
  const uint32_t table =
      etx_fb_table(fb, pte->root, ETX_PTE_Program_constant_segment);
  const uint32_t buffers =
      etx_fb_vector_in(fb, pte->root, ETX_PTE_Program_constant_buffer).count;
  if (buffers > 0) {
    return etx_diag_fail_at(diag, ETX_BAD_FILE, table,
                            "there are %u constants in a segment and %u in "
                            "the program",
                            (uint64_t)entries, (uint64_t)buffers);
  }
  if (!has_segment) {
    return etx_diag_fail_at(
        diag, ETX_BAD_FILE, table, "constants are in segment '%u' of %z",
        (uint64_t)etx_fb_u32(fb, table, ETX_PTE_SubsegmentOffsets_segment_index,
                             0),
        etx_pte_segment_count(pte));
  }
  return ETX_OK;
}

static etx_status check_named_data(const etx_pte* pte, etx_diag* diag) {
  const etx_fb_buffer* fb = &pte->fb;
  const etx_fb_vector named =
      etx_fb_vector_in(fb, pte->root, ETX_PTE_Program_named_data);
  const size_t segment_count = etx_pte_segment_count(pte);
  for (uint32_t i = 0; i < named.count; ++i) {
    const uint32_t row = etx_fb_table_at(fb, named, i);
    const uint32_t segment =
        etx_fb_u32(fb, row, ETX_PTE_NamedData_segment_index, 0);
    if (segment < segment_count) continue;
    return etx_diag_fail_at(
        diag, ETX_BAD_FILE, row, "named data '%t' is in segment '%u' of %z",
        etx_pte_named_data_key(pte, i), (uint64_t)segment, segment_count);
  }
  return ETX_OK;
}

static etx_status check_plans(etx_pte* pte, etx_pte_verifier* v) {
  const size_t count = etx_pte_plan_count(pte);
  if (count > ETX_MAX_PTE_PLANS) {
    return etx_diag_fail(v->diag, ETX_OUT_OF_RANGE,
                         "the program has %z methods, at most %u are possible",
                         count, (uint64_t)ETX_MAX_PTE_PLANS);
  }
  for (size_t i = 0; i < count; ++i) {
    etx_pte_plan_read(pte, i, &v->plan);
    v->position = v->plan.table;
    v->totals =
        &pte->totals[i < ETX_PTE_CACHED_TOTALS ? i : ETX_PTE_CACHED_TOTALS];
    set_part(v, NULL, 0);
    const etx_status status = check_plan(v, i);
    if (status != ETX_OK) {
      append_location(v);
      return status;
    }
  }
  return ETX_OK;
}

void etx_pte_verifier_totals(const etx_pte_plan* plan, etx_pte_totals* out) {
  etx_pte_verifier v;
  v.diag = NULL;
  v.items_left = v.max_instructions = UINT64_MAX;
  v.max_arena_bytes = PTRDIFF_MAX;
  etx_pte_plan_read(plan->pte, plan->index, &v.plan);
  v.totals = memset(out, 0, sizeof *out);
  (void)check_plan(&v, 0);
}

etx_status etx_pte_verify(etx_pte* pte, const etx_pte_limits* limits,
                          etx_diag* diag) {
  static const etx_pte_limits no_limits = {0, 0, 0, 0, false};
  if (limits == NULL) limits = &no_limits;
  const etx_fb_buffer* fb = &pte->fb;
  etx_pte_verifier v;
  v.diag = diag;
  v.items_left = ETX_MAX_PTE_ITEMS;
  v.max_arena_bytes = PTRDIFF_MAX;
  if (limits->max_arena_bytes != 0 &&
      limits->max_arena_bytes < v.max_arena_bytes) {
    v.max_arena_bytes = limits->max_arena_bytes;
  }
  v.max_instructions =
      limits->max_instructions == 0 ? UINT64_MAX : limits->max_instructions;
  ETX_TRY(etx_fb_verify(fb, &etx_pte_schema, limits->max_tables, diag));
  pte->root = etx_fb_root(fb);
  pte->bad_plan_status = limits->reports_bad_plan ? ETX_BAD_PLAN : ETX_BAD_FILE;
  ETX_TRY(etx_pte_segments_check(pte, diag));
  ETX_TRY(open_constants(pte, diag));
  ETX_TRY(check_named_data(pte, diag));
  return check_plans(pte, &v);
}
