#include "tests/hostile/drawn_outputs.h"

#include <string.h>

#include "runtime/program/argument_check.h"
#include "runtime/shapes/call_shape.h"

enum { VALUES = 192 };

typedef struct fitting {
  drawn_program* program;
  const int32_t* arguments;
  size_t argument_count;
  etx_value values[VALUES];
  size_t value_count;
  int32_t strides[RANDOM_RANK];  // rules do not look at them
  const etx_value* items[VALUES];
  size_t item_count;
  const etx_value* slots[RANDOM_ARGUMENTS];
  bool is_changed;  // the output is an argument, which stays as it is
} fitting;

// Value `index` of the program as a kernel would see it; not for lists.
static const etx_value* plain_value(fitting* f, size_t index) {
  const etx_pte_value* from = &f->program->values[index];
  if (f->value_count == VALUES) return NULL;
  etx_value* out = &f->values[f->value_count++];
  memset(out, 0, sizeof *out);
  etx_value_from_scalar(from, out);
  if (from->kind != ETX_PTE_TENSOR) return out;
  out->kind = ETX_VALUE_TENSOR;
  out->as.tensor.sizes = from->as.tensor.sizes;
  out->as.tensor.strides = f->strides;
  out->as.tensor.rank = from->as.tensor.rank;
  out->as.tensor.dtype = from->as.tensor.dtype;
  return out;
}

static const etx_value* list_value(fitting* f, size_t index) {
  const etx_pte_value* from = &f->program->values[index];
  const bool is_integers = from->kind == ETX_PTE_INT_LIST;
  const size_t count =
      is_integers ? from->as.integers.count : from->as.tensors.count;
  if (f->value_count == VALUES || f->item_count + count > VALUES) return NULL;
  etx_value* out = &f->values[f->value_count++];
  const etx_value** items = f->items + f->item_count;
  memset(out, 0, sizeof *out);
  f->item_count += count;
  out->kind = is_integers ? ETX_VALUE_INTS : ETX_VALUE_TENSORS;
  if (is_integers) {
    out->as.integers.items = items;
    out->as.integers.count = count;
  } else {
    out->as.tensors.items = items;
    out->as.tensors.count = count;
  }
  for (size_t i = 0; i < count; ++i) {
    const int64_t item = is_integers ? from->as.integers.items[i]
                                     : (int64_t)from->as.tensors.items[i];
    items[i] = item < 0 ? NULL : plain_value(f, (size_t)item);
    if (item >= 0 && items[i] == NULL) return NULL;
  }
  return out;
}

static bool build_arguments(fitting* f) {
  for (size_t i = 0; i < f->argument_count; ++i) {
    const size_t index = (size_t)f->arguments[i];
    const etx_pte_kind kind = f->program->values[index].kind;
    const bool is_list = kind == ETX_PTE_INT_LIST ||
                         kind == ETX_PTE_TENSOR_LIST ||
                         kind == ETX_PTE_OPTIONAL_TENSOR_LIST;
    f->slots[i] = is_list ? list_value(f, index) : plain_value(f, index);
    if (f->slots[i] == NULL) return false;
  }
  return true;
}

// Gives an out tensor of the program the type and the sizes that the rule
// found. Changes nothing if it is too large, or if it is another argument, too.
static etx_status take_shape(void* context, const etx_value* output,
                             const etx_shape* shape, bool at_most) {
  fitting* f = context;
  size_t found = SIZE_MAX, uses = 0;
  int64_t numel = 1;
  (void)at_most;
  for (size_t i = 0; i < f->argument_count; ++i) {
    if (f->slots[i] == output) found = (size_t)f->arguments[i];
  }
  for (size_t i = 0; i < f->argument_count; ++i) {
    uses += (size_t)f->arguments[i] == found;
  }
  if (f->is_changed || found == SIZE_MAX || uses > 1 ||
      shape->rank > RANDOM_RANK)
    return ETX_OK;
  for (size_t i = 0; i < shape->rank; ++i) {
    if (shape->dims[i] < 0 || shape->dims[i] > 4096) return ETX_OK;
    numel *= shape->dims[i];
    if (numel > 4096) return ETX_OK;
  }
  drawn_program* p = f->program;
  etx_pte_tensor* tensor = &p->values[found].as.tensor;
  tensor->rank = shape->rank;
  if (shape->dtype != ETX_DTYPE_FROM_OUT) tensor->dtype = shape->dtype;
  for (size_t i = 0; i < shape->rank; ++i) {
    p->sizes[found][i] = (int32_t)shape->dims[i];
    p->orders[found][i] = (uint8_t)i;
  }
  drawn_tensor_place(p, tensor);
  return ETX_OK;
}

bool drawn_outputs_fit(drawn_program* program, const etx_op* op,
                       const int32_t* arguments) {
  static fitting f;
  memset(&f, 0, sizeof f);
  f.program = program;
  f.arguments = arguments;
  f.argument_count = etx_op_argument_count(op);
  f.is_changed = op->result == ETX_RESULT_SELF;
  if (op->result == ETX_RESULT_SCALAR) return true;
  if (!build_arguments(&f)) return false;
  etx_call call;
  memset(&call, 0, sizeof call);
  call.op = op;
  call.arguments = f.slots;
  call.argument_count = f.argument_count;
  return etx_call_size_outputs(&call, etx_op_written_arguments(op), take_shape,
                               &f) == ETX_OK;
}
