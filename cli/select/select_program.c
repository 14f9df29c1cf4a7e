// Reads operators, the kernel key of each call, and features from the plans of
// a program. A kernel key is "v1/" and, for each tensor among the arguments,
// its type and dimension order; a list has those of its first tensor.

#include "cli/select/select_program.h"

#include "runtime/program/cell_check.h"
#include "runtime/program/unplanned_outputs.h"

enum { KEY_BYTES = 16 + (ETX_MAX_ARGUMENTS + 1) * (8 + 4 * ETX_MAX_RANK) };

typedef struct key_text {
  char text[KEY_BYTES];
  size_t size;
} key_text;

static void put_number(key_text* key, unsigned number) {
  if (number >= 100) key->text[key->size++] = (char)('0' + number / 100);
  if (number >= 10) key->text[key->size++] = (char)('0' + number / 10 % 10);
  key->text[key->size++] = (char)('0' + number % 10);
}

static void put_tensor(key_text* key, const etx_pte_tensor* tensor) {
  const char separator = key->size == 2 ? '/' : '|';
  key->text[key->size++] = separator;
  put_number(key, tensor->dtype);
  key->text[key->size++] = ';';
  for (size_t i = 0; i < tensor->rank; ++i) {
    if (i > 0) key->text[key->size++] = ',';
    put_number(key, tensor->dim_order[i]);
  }
}

static etx_status put_name(etx_pool* pool, etx_pte_operator op, etx_text* out) {
  *out = etx_pool_format(pool, "%t%s%t", op.name,
                         op.overload.size > 0 ? "." : "", op.overload);
  return out->data == NULL ? ETX_OUT_OF_MEMORY : ETX_OK;
}

// Adds the first tensor of a list to the key.
static void put_list(const etx_pte_plan* plan, const etx_pte_value* list,
                     key_text* key) {
  for (size_t i = 0; i < list->as.list.count; ++i) {
    const int64_t index = etx_pte_item_at(list, i);
    if (index < 0) continue;
    const etx_pte_value item = etx_pte_value_at(plan, (size_t)index);
    if (item.kind != ETX_PTE_TENSOR) continue;
    put_tensor(key, &item.as.tensor);
    return;
  }
}

static etx_status add_call(const etx_pte_plan* plan, etx_pool* pool,
                           const etx_pte_instruction* call,
                           etx_selection* selection) {
  etx_text name;
  etx_selected_operator* row = NULL;
  key_text key = {"v1", 2};
  if (call->argument_count > ETX_MAX_ARGUMENTS + 1) return ETX_UNSUPPORTED;
  for (size_t i = 0; i < call->argument_count; ++i) {
    const etx_pte_value value =
        etx_pte_value_at(plan, (size_t)call->arguments[i]);
    if (value.kind == ETX_PTE_TENSOR) {
      put_tensor(&key, &value.as.tensor);
    } else if (value.kind >= ETX_PTE_TENSOR_LIST) {
      put_list(plan, &value, &key);
    }
  }
  ETX_TRY(
      put_name(pool, etx_pte_operator_at(plan, (size_t)call->index), &name));
  ETX_TRY(etx_selection_row(selection, pool, name, &row));
  row->has_kernels = true;
  row->dtypes |= etx_instruction_dtypes(plan, call);
  for (size_t i = 0; i < row->kernels.count; ++i) {
    const etx_text known = row->kernels.items[i];
    if (known.size == key.size && memcmp(known.data, key.text, key.size) == 0) {
      return ETX_OK;
    }
  }
  const etx_text text =
      etx_pool_copy_text(pool, (etx_text){key.text, key.size});
  if (text.data == NULL) return ETX_OUT_OF_MEMORY;
  return etx_text_set_add(&row->kernels, pool, text);
}

static etx_status add_operators(const etx_pte_plan* plan, etx_text path,
                                etx_pool* pool, etx_selection* selection) {
  for (size_t i = 0; i < etx_pte_operator_count(plan); ++i) {
    etx_text name;
    etx_selected_operator* row = NULL;
    ETX_TRY(put_name(pool, etx_pte_operator_at(plan, i), &name));
    ETX_TRY(etx_selection_row(selection, pool, name, &row));
    row->is_listed = true;
    row->is_root = true;
    row->is_training = true;
    ETX_TRY(etx_text_set_add(&row->debug_info, pool, path));
  }
  return ETX_OK;
}

// True if a method is refused by a build without ETX_DYNAMIC: it has jumps,
// sizes or numbers that vary, or outputs without planned memory.
static bool varies(const etx_pte_plan* plan, etx_operator_cache* operators) {
  for (size_t i = 0; i < etx_pte_value_count(plan); ++i) {
    const etx_pte_value value = etx_pte_value_at(plan, i);
    if (value.kind == ETX_PTE_TENSOR &&
        value.as.tensor.dynamism != ETX_PTE_STATIC) {
      return true;
    }
  }
  for (size_t i = 0; i < etx_pte_operator_count(plan); ++i) {
    const etx_op* const op = etx_operator_cache_at(operators, i)->op;
    if (op != NULL &&
        (op->may_size_by_data || op->result == ETX_RESULT_SCALAR)) {
      return true;
    }
  }
  return false;
}

static etx_status find_features(const etx_program* program,
                                const etx_pte_plan* plan,
                                etx_selected_facts* facts, etx_diag* diag) {
  etx_operator_cache operators;
  etx_unplanned_outputs_cursor cursor = {0, 0, 0, 0, 0};
  size_t blob = 0;
  bool is_found = false;
  uint32_t value = 0;
  etx_operator_cache_init(&operators, plan, program->kernels);
  if (varies(plan, &operators)) facts->is_dynamic = true;
  if (program->has_blob &&
      etx_blob_method_find(&program->blob, etx_pte_plan_name(plan), &blob) &&
      etx_blob_input_dim_count(&program->blob, blob) > 0) {
    facts->is_dynamic = true;
  }
  ETX_TRY(etx_unplanned_outputs_next(program, &operators, &cursor, &is_found,
                                     &value, diag));
  if (is_found) facts->is_dynamic = true;
  for (size_t i = 0; i < etx_pte_value_count(plan); ++i) {
    const etx_pte_value at = etx_pte_value_at(plan, i);
    if (at.kind == ETX_PTE_TENSOR &&
        at.as.tensor.location == ETX_PTE_EXTERNAL) {
      facts->has_data_files = true;
    }
  }
  return ETX_OK;
}

static void keep_larger(size_t* bytes, size_t other) {
  if (other > *bytes) *bytes = other;
}

static etx_status add_bytes(const etx_program* program, etx_text method,
                            etx_memory_needed* bytes, etx_diag* diag) {
  etx_memory_needed needed;
  ETX_TRY(etx_method_needed(program, method, &needed, diag));
  keep_larger(&bytes->structure_bytes, needed.structure_bytes);
  keep_larger(&bytes->scratch_bytes, needed.scratch_bytes);
  keep_larger(&bytes->state_bytes, needed.state_bytes);
  keep_larger(&bytes->temporary_bytes, needed.temporary_bytes);
  return ETX_OK;
}

etx_status etx_select_program(const etx_program* program, etx_text path,
                              etx_pool* pool, etx_selection* selection,
                              etx_selected_facts* facts, etx_diag* diag) {
  for (size_t i = 0; i < etx_pte_plan_count(&program->pte); ++i) {
    const etx_pte_plan plan = etx_pte_plan_at(&program->pte, i);
    etx_pte_cursor cursor = {0, 0, {0, 0}};
    etx_pte_instruction instruction;
    ETX_TRY(add_operators(&plan, path, pool, selection));
    while (etx_pte_instruction_next(&plan, &cursor, &instruction)) {
      if (instruction.kind == ETX_PTE_KERNEL_CALL) {
        ETX_TRY(add_call(&plan, pool, &instruction, selection));
      } else {
        facts->is_dynamic = true;
      }
    }
    ETX_TRY(find_features(program, &plan, facts, diag));
    ETX_TRY(add_bytes(program, etx_pte_plan_name(&plan), &facts->bytes, diag));
  }
  return ETX_OK;
}
