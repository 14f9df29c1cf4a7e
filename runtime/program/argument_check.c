#include "runtime/program/argument_check.h"

#include "format/base/reachability.h"
#include "runtime/kernel.h"

static const char* const kind_names[] = {
    "nothing",     "none",      "int",         "bool",
    "double",      "tensor",    "string",      "int list",
    "double list", "bool list", "tensor list", "optional tensor list"};

// Opening a file has verified the kinds of its values.
static const char* kind_name(etx_pte_kind kind) {
  const size_t count = sizeof kind_names / sizeof kind_names[0];
  return ETX_ALWAYS((size_t)kind < count) ? kind_names[kind] : kind_names[0];
}

void etx_value_from_scalar(const etx_pte_value* from, etx_value* out) {
  const unsigned inline_kinds = 1u << ETX_PTE_INT | 1u << ETX_PTE_BOOL |
                         1u << ETX_PTE_DOUBLE | 1u << ETX_PTE_STRING |
                         1u << ETX_PTE_DOUBLE_LIST | 1u << ETX_PTE_BOOL_LIST;
  // etx_value_kind has the kinds of etx_pte_kind, less 1, and the members of
  // the union have the same types.
  const bool is_inline = (inline_kinds >> from->kind & 1) != 0;
  out->kind = is_inline ? (etx_value_kind)(from->kind - 1) : ETX_VALUE_NONE;
  if (!is_inline) return;
  if (from->kind < ETX_PTE_STRING) {
    out->as.integer = from->as.integer;
  } else {
    out->as.string = from->as.string;
  }
}

typedef enum accepted_kinds {
  ACCEPTS_INT = 1 << ETX_PTE_INT,
  ACCEPTS_BOOL = 1 << ETX_PTE_BOOL,
  ACCEPTS_DOUBLE = 1 << ETX_PTE_DOUBLE,
  ACCEPTS_NUMBER = ACCEPTS_INT | ACCEPTS_BOOL | ACCEPTS_DOUBLE,
  ACCEPTS_TENSOR = 1 << ETX_PTE_TENSOR,
  ACCEPTS_STRING = 1 << ETX_PTE_STRING,
  ACCEPTS_INTS = 1 << ETX_PTE_INT_LIST,
  ACCEPTS_DOUBLES = 1 << ETX_PTE_DOUBLE_LIST,
  ACCEPTS_BOOLS = 1 << ETX_PTE_BOOL_LIST,
  ACCEPTS_TENSORS = 1 << ETX_PTE_TENSOR_LIST | 1 << ETX_PTE_OPTIONAL_TENSOR_LIST,
} accepted_kinds;

static const uint16_t accepted[] = {
    [ETX_ARGUMENT_TENSOR] = ACCEPTS_TENSOR,
    [ETX_ARGUMENT_TENSORS] = ACCEPTS_TENSORS,
    [ETX_ARGUMENT_OPTIONAL_TENSORS] = ACCEPTS_TENSORS,
    [ETX_ARGUMENT_SCALAR] = ACCEPTS_NUMBER,
    [ETX_ARGUMENT_INT] = ACCEPTS_INT,
    [ETX_ARGUMENT_INTS] = ACCEPTS_INTS,
    [ETX_ARGUMENT_FLOAT] = ACCEPTS_NUMBER,
    [ETX_ARGUMENT_FLOATS] = ACCEPTS_DOUBLES,
    [ETX_ARGUMENT_BOOL] = ACCEPTS_BOOL,
    [ETX_ARGUMENT_BOOLS] = ACCEPTS_BOOLS,
    [ETX_ARGUMENT_STRING] = ACCEPTS_STRING,
    [ETX_ARGUMENT_SCALAR_TYPE] = ACCEPTS_INT,
    [ETX_ARGUMENT_MEMORY_FORMAT] = ACCEPTS_INT,
    [ETX_ARGUMENT_LAYOUT] = ACCEPTS_INT,
    [ETX_ARGUMENT_DEVICE] = 0,
};

// The same in words, for messages.
static const char* const expected_texts[] = {
    [ETX_ARGUMENT_TENSOR] = "a tensor",
    [ETX_ARGUMENT_TENSORS] = "a tensor list",
    [ETX_ARGUMENT_OPTIONAL_TENSORS] = "a tensor list",
    [ETX_ARGUMENT_SCALAR] = "a number",
    [ETX_ARGUMENT_INT] = "an int",
    [ETX_ARGUMENT_INTS] = "an int list",
    [ETX_ARGUMENT_FLOAT] = "a number",
    [ETX_ARGUMENT_FLOATS] = "a double list",
    [ETX_ARGUMENT_BOOL] = "a bool",
    [ETX_ARGUMENT_BOOLS] = "a bool list",
    [ETX_ARGUMENT_STRING] = "a string",
    [ETX_ARGUMENT_SCALAR_TYPE] = "an int (type)",
    [ETX_ARGUMENT_MEMORY_FORMAT] = "an int (memory format)",
    [ETX_ARGUMENT_LAYOUT] = "an int (layout)",
    [ETX_ARGUMENT_DEVICE] = "no device",
};

static inline etx_status check_built(const etx_pte_plan* plan, size_t index,
                              const etx_argument* argument, const etx_op* op,
                              etx_diag* diag) {
  if (ETX_KNOWS_ALL_TYPES ||
      etx_pte_value_kind(plan, index) != ETX_PTE_TENSOR) {
    return ETX_OK;
  }
  etx_pte_value value;
  etx_pte_value_read(plan, index, &value);
  if (etx_dtype_is_built(value.as.tensor.dtype)) return ETX_OK;
  return etx_argument_refuse_dtype(argument->name, value.as.tensor.dtype, op,
                                   diag);
}

// Checks the items of a list of tensors, which may have None only if the schema
// has "Tensor?[]". Opening a file has verified that those of an IntList are
// Ints.
static etx_status check_items(const etx_pte_plan* plan,
                              const etx_pte_value* list,
                              const etx_argument* argument, const etx_op* op,
                              etx_diag* diag) {
  for (size_t i = 0; i < list->as.tensors.count; ++i) {
    const int32_t index = list->as.tensors.items[i];
    if (index >= 0 &&
        etx_pte_value_kind(plan, (size_t)index) == ETX_PTE_TENSOR) {
      if (!ETX_KNOWS_ALL_TYPES) {
        ETX_TRY(check_built(plan, (size_t)index, argument, op, diag));
      }
      continue;
    }
    if (argument->type != ETX_ARGUMENT_TENSORS) continue;
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "item %z of argument '%t' of '%s' is not a tensor", i,
                         argument->name, op->name);
  }
  return ETX_OK;
}

static etx_status check_argument(const etx_pte_plan* plan, int32_t index,
                                 const etx_argument* argument, const etx_op* op,
                                 etx_diag* diag) {
  const etx_pte_kind kind = etx_pte_value_kind(plan, (size_t)index);
  if (kind == ETX_PTE_NULL && argument->optional) return ETX_OK;
  if ((accepted[argument->type] >> kind & 1) == 0) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "argument '%t' of '%s' is %s, expected %s",
                         argument->name, op->name, kind_name(kind),
                         expected_texts[argument->type]);
  }
  if (kind == ETX_PTE_TENSOR_LIST || kind == ETX_PTE_OPTIONAL_TENSOR_LIST) {
    const etx_pte_value list = etx_pte_value_at(plan, (size_t)index);
    return check_items(plan, &list, argument, op, diag);
  }
  return check_built(plan, (size_t)index, argument, op, diag);
}

static const uint16_t accepted_slots[] = {
    [ETX_RESULT_OUT] = ACCEPTS_TENSOR,
    [ETX_RESULT_OUT_LIST] = ACCEPTS_TENSORS,
    [ETX_RESULT_LIST] = ACCEPTS_TENSORS,
    [ETX_RESULT_SELF] = ACCEPTS_TENSOR,
    [ETX_RESULT_SCALAR] = ACCEPTS_NUMBER,
    [ETX_RESULT_NONE] = 0,
};

static const char* const slot_texts[] = {
    [ETX_RESULT_OUT] = "a tensor",
    [ETX_RESULT_OUT_LIST] = "a tensor list",
    [ETX_RESULT_LIST] = "a tensor list",
    [ETX_RESULT_SELF] = "a tensor",
    [ETX_RESULT_SCALAR] = "a number",
    [ETX_RESULT_NONE] = "nothing",
};

uint16_t etx_argument_kinds(etx_argument_type type) {
  return accepted[type];
}

uint16_t etx_result_kinds(etx_op_result result) {
  return accepted_slots[result];
}

static etx_status check_return_slot(const etx_pte_plan* plan, int32_t index,
                                    const etx_op* op, etx_diag* diag) {
  const etx_pte_kind kind = etx_pte_value_kind(plan, (size_t)index);
  if ((accepted_slots[op->result] >> kind & 1) != 0) return ETX_OK;
  return etx_diag_fail(diag, ETX_BAD_FILE,
                       "return slot of '%s' is %s, expected %s", op->name,
                       kind_name(kind), slot_texts[op->result]);
}

etx_status etx_arguments_check(const etx_pte_plan* plan,
                               const etx_pte_instruction* instruction,
                               const etx_op* op, etx_diag* diag) {
  const size_t expected_count = etx_op_call_count(op);
  if (instruction->argument_count != expected_count) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "call of '%s' has %z arguments, expected %z", op->name,
                         instruction->argument_count, expected_count);
  }
  etx_argument argument;
  etx_argument_cursor cursor = etx_argument_first(op->arguments);
  size_t count = 0;
  while (etx_argument_next(&cursor, &argument)) {
    ETX_TRY(check_argument(plan, instruction->arguments[count], &argument, op,
                           diag));
    ++count;
  }
  if (op->result == ETX_RESULT_NONE) return ETX_OK;
  return check_return_slot(plan, instruction->arguments[count], op, diag);
}
