// Sizes against the shape rules of the operators. If all tensors of a call have
// fixed sizes and all its numbers are constants, the shape rule gives the exact
// sizes of the outputs. A wrong size in the file is found in this way even if
// no bytes overlap. The runtime checks dynamic sizes.

#include "cli/verify/verify_internal.h"
#include "format/shapes/op_shapes.h"

typedef struct shape_check {
  const etx_verify_method* m;
  const etx_verify_step* step;
  const bool* varies;  // by value: a number that some instruction writes
} shape_check;

static etx_pte_value value_at(const shape_check* s, size_t argument) {
  return etx_pte_value_at(&s->m->plan,
                          (size_t)s->step->instruction.arguments[argument]);
}

// ---- which calls can be checked ----

static bool is_fixed_tensor(const shape_check* s, int32_t value) {
  if (value < 0) return true;
  const etx_pte_value v = etx_pte_value_at(&s->m->plan, (size_t)value);
  return v.kind != ETX_PTE_TENSOR || v.as.tensor.dynamism == ETX_PTE_STATIC;
}

static bool is_fixed(const shape_check* s, size_t argument) {
  const int32_t index = s->step->instruction.arguments[argument];
  const etx_pte_value value = value_at(s, argument);
  switch (value.kind) {
    case ETX_PTE_TENSOR:
      return value.as.tensor.dynamism == ETX_PTE_STATIC;
    case ETX_PTE_INT_LIST:
      for (size_t i = 0; i < value.as.integers.count; ++i) {
        if (s->varies[value.as.integers.items[i]]) return false;
      }
      return true;
    case ETX_PTE_TENSOR_LIST:
    case ETX_PTE_OPTIONAL_TENSOR_LIST:
      for (size_t i = 0; i < value.as.tensors.count; ++i) {
        if (!is_fixed_tensor(s, value.as.tensors.items[i])) return false;
      }
      return true;
    default:
      return !s->varies[index];
  }
}

static bool is_checkable(const shape_check* s) {
  const etx_op* const op = s->step->op;
  if (op == NULL || op->result == ETX_RESULT_SCALAR ||
      op->result == ETX_RESULT_NONE || op->result == ETX_RESULT_SELF) {
    return false;
  }
  for (size_t i = 0; i < s->step->instruction.argument_count; ++i) {
    if (!is_fixed(s, i)) return false;
  }
  return true;
}

// ---- a call as a shape rule sees it ----

static etx_shape_kind kind_of(void* context, size_t argument) {
  switch (value_at(context, argument).kind) {
    case ETX_PTE_NULL:
      return ETX_SHAPE_NONE;
    case ETX_PTE_INT:
      return ETX_SHAPE_INT;
    case ETX_PTE_BOOL:
      return ETX_SHAPE_BOOL;
    case ETX_PTE_DOUBLE:
      return ETX_SHAPE_DOUBLE;
    case ETX_PTE_STRING:
      return ETX_SHAPE_STRING;
    case ETX_PTE_TENSOR:
      return ETX_SHAPE_TENSOR;
    default:
      return ETX_SHAPE_LIST;
  }
}

static size_t list_count(void* context, size_t argument) {
  const etx_pte_value value = value_at(context, argument);
  return value.kind < ETX_PTE_INT_LIST ? 0 : value.as.list.count;
}

static bool tensor_shape(void* context, size_t argument, size_t item,
                         etx_shape* out_shape) {
  const shape_check* const s = context;
  etx_pte_value value = value_at(s, argument);
  if (value.kind == ETX_PTE_TENSOR_LIST ||
      value.kind == ETX_PTE_OPTIONAL_TENSOR_LIST) {
    const int32_t index = value.as.tensors.items[item];
    if (index < 0) return false;
    value = etx_pte_value_at(&s->m->plan, (size_t)index);
  }
  if (value.kind != ETX_PTE_TENSOR) return false;
  const etx_pte_tensor* const tensor = &value.as.tensor;
  out_shape->dtype = tensor->dtype;
  out_shape->rank = tensor->rank;
  for (size_t i = 0; i < tensor->rank; ++i) {
    out_shape->dims[i] = tensor->sizes[i];
  }
  return true;
}

// A number in the file may look like the handle of a symbolic size. It is
// replaced by a number that every bound refuses.
static etx_dim number(int64_t integer) {
  return etx_dim_is_number(integer) ? integer : ETX_DIM_HANDLE + 1;
}

static etx_dim integer_at(void* context, size_t argument, size_t item) {
  const shape_check* const s = context;
  const etx_pte_value value = value_at(s, argument);
  switch (value.kind) {
    case ETX_PTE_INT_LIST:
      return number(
          etx_pte_value_at(&s->m->plan, (size_t)value.as.integers.items[item])
              .as.integer);
    case ETX_PTE_BOOL_LIST:
      return value.as.booleans.items[item] != 0;
    case ETX_PTE_BOOL:
      return value.as.boolean;
    case ETX_PTE_INT:
      return number(value.as.integer);
    default:
      return 0;
  }
}

static double real_at(void* context, size_t argument, size_t item) {
  const etx_pte_value value = value_at(context, argument);
  switch (value.kind) {
    case ETX_PTE_DOUBLE:
      return value.as.real;
    case ETX_PTE_INT:
      return (double)value.as.integer;
    case ETX_PTE_BOOL:
      return value.as.boolean ? 1 : 0;
    case ETX_PTE_DOUBLE_LIST:
      return value.as.reals.items[item];
    default:
      return 0;
  }
}

// An item of a list may be missing, or be none.
static uint32_t tensor_or_none(const shape_check* s, int32_t value) {
  if (value < 0 ||
      etx_pte_value_kind(&s->m->plan, (size_t)value) != ETX_PTE_TENSOR) {
    return ETX_VERIFY_NONE;
  }
  return (uint32_t)value;
}

// The value of output number `index`; ETX_VERIFY_NONE if there is none.
static uint32_t output_at(const shape_check* s, size_t index) {
  etx_argument_cursor cursor = etx_argument_first(s->step->op->arguments);
  etx_argument argument;
  for (size_t i = 0; etx_argument_next(&cursor, &argument); ++i) {
    if (!argument.written) continue;
    const etx_pte_value value = value_at(s, i);
    const bool is_list = value.kind != ETX_PTE_TENSOR;
    const size_t count = is_list ? value.as.tensors.count : 1;
    if (index < count) {
      return tensor_or_none(s, is_list ? value.as.tensors.items[index]
                                       : s->step->instruction.arguments[i]);
    }
    index -= count;
  }
  return ETX_VERIFY_NONE;
}

static etx_status check_output(void* context, size_t index,
                               const etx_shape* shape) {
  shape_check* const s = context;
  const uint32_t v = output_at(s, index);
  if (v == ETX_VERIFY_NONE) {
    return etx_verify_refuse(s->m, "the call lacks output '%z'", index);
  }
  const etx_pte_tensor tensor = etx_pte_value_at(&s->m->plan, v).as.tensor;
  bool is_equal = tensor.rank == shape->rank;
  for (size_t i = 0; is_equal && i < shape->rank; ++i) {
    if (tensor.sizes[i] == shape->dims[i]) continue;
    return etx_verify_refuse(s->m,
                             "size '%z' of value '%u' is %i, expected %i by "
                             "the shape rule of the operator",
                             i, (uint64_t)v, (int64_t)tensor.sizes[i],
                             shape->dims[i]);
  }
  if (is_equal) return ETX_OK;
  return etx_verify_refuse(
      s->m,
      "value '%u' has rank %u, expected %u by the shape rule of the operator",
      (uint64_t)v, (uint64_t)tensor.rank, (uint64_t)shape->rank);
}

static etx_status check_call(shape_check* s) {
  etx_diag why;
  etx_shape_call call = {
      .op = s->step->op,
      .diag = &why,
      .context = s,
      .kind = kind_of,
      .list_count = list_count,
      .tensor = tensor_shape,
      .integer = integer_at,
      .real = real_at,
      .output = check_output,
  };
  etx_diag_init(&why);
  const etx_status status = etx_shape_infer(&call);
  if (status == ETX_OK || status == ETX_BAD_PLAN) return status;
  // Other exporters may use forms of an operator that the rule does not know.
  if (s->m->blob == NULL) return ETX_OK;
  return etx_verify_refuse(s->m, "%s", why.text);
}

etx_status etx_verify_shapes(const etx_verify_method* m) {
  bool* varies = NULL;
  ETX_TRY(etx_verify_find_varying(m, &varies));
  for (size_t i = 0; i < m->step_count; ++i) {
    shape_check s = {m, &m->steps[i], varies};
    if (!is_checkable(&s)) continue;
    const etx_status status = check_call(&s);
    if (status != ETX_OK) return etx_verify_at(m, i, status);
  }
  return ETX_OK;
}
