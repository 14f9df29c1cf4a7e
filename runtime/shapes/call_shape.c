// The callbacks of etx_shape_call for a call of the runtime. Outputs are
// numbered over the written arguments in schema order; each item of a list of
// outputs counts.

#include "runtime/shapes/call_shape.h"

#include "format/base/build_parts.h"

typedef struct call_sizing {
  const etx_call* call;
  uint64_t written;
  etx_call_resize resize;
  void* context;
  const etx_call_symbols* symbols;  // NULL: sizes are the present ones
  size_t sized;                     // outputs so far
} call_sizing;

static bool is_symbolic(const call_sizing* s) {
  return ETX_DYNAMIC && s->symbols != NULL;
}

uint64_t etx_op_written_arguments(const etx_op* op) {
  uint64_t written = 0;
  etx_argument argument;
  etx_argument_cursor cursor = etx_argument_first(op->arguments);
  for (size_t i = 0; etx_argument_next(&cursor, &argument); ++i) {
    if (argument.written) written |= (uint64_t)1 << i;
  }
  return written;
}

static const etx_value* value_at(void* context, size_t argument) {
  return ((const call_sizing*)context)->call->arguments[argument];
}

static etx_shape_kind kind_of(void* context, size_t argument) {
  switch (value_at(context, argument)->kind) {
    case ETX_VALUE_NONE:
      return ETX_SHAPE_NONE;
    case ETX_VALUE_INT:
      return ETX_SHAPE_INT;
    case ETX_VALUE_BOOL:
      return ETX_SHAPE_BOOL;
    case ETX_VALUE_DOUBLE:
      return ETX_SHAPE_DOUBLE;
    case ETX_VALUE_STRING:
      return ETX_SHAPE_STRING;
    case ETX_VALUE_TENSOR:
      return ETX_SHAPE_TENSOR;
    default:
      return ETX_SHAPE_LIST;
  }
}

static size_t list_count(void* context, size_t argument) {
  const etx_value* value = value_at(context, argument);
  switch (value->kind) {
    case ETX_VALUE_INTS:
      return value->as.integers.count;
    case ETX_VALUE_DOUBLES:
      return value->as.reals.count;
    case ETX_VALUE_BOOLS:
      return value->as.booleans.count;
    case ETX_VALUE_TENSORS:
      return value->as.tensors.count;
    default:
      return 0;
  }
}

static bool tensor_shape(void* context, size_t argument, size_t item,
                         etx_shape* out_shape) {
  const call_sizing* s = context;
  const etx_value* value = value_at(context, argument);
  if (value->kind == ETX_VALUE_TENSORS) value = value->as.tensors.items[item];
  if (value == NULL || value->kind != ETX_VALUE_TENSOR) return false;
  const etx_tensor* tensor = &value->as.tensor;
  out_shape->dtype = tensor->dtype;
  out_shape->rank = tensor->rank;
  if (is_symbolic(s)) {
    s->symbols->sizes(s->context, value, out_shape->dims);
    return true;
  }
  for (size_t i = 0; i < tensor->rank; ++i) {
    out_shape->dims[i] = tensor->sizes[i];
  }
  return true;
}

// A number in a file may have any value. One that would be a handle is replaced
// by the smallest number, which is outside of all bounds, too.
static etx_dim number(int64_t integer) {
  return etx_dim_is_number(integer) ? integer : ETX_DIM_HANDLE + 1;
}

static etx_dim integer_of(const call_sizing* s, const etx_value* value) {
  return is_symbolic(s) ? s->symbols->integer(s->context, value)
                        : number(value->as.integer);
}

// Numbers other than integers have no symbols.
static void take_fixed(const call_sizing* s, const etx_value* value) {
  if (is_symbolic(s) && s->symbols->varies(s->context, value)) {
    *s->symbols->undecided = true;
  }
}

static etx_dim integer_at(void* context, size_t argument, size_t item) {
  const call_sizing* s = context;
  const etx_value* value = value_at(context, argument);
  switch (value->kind) {
    case ETX_VALUE_INTS:
      return integer_of(s, value->as.integers.items[item]);
    case ETX_VALUE_BOOLS:
      return value->as.booleans.items[item] != 0;
    case ETX_VALUE_BOOL:
      take_fixed(s, value);
      return value->as.boolean;
    case ETX_VALUE_INT:
      return integer_of(s, value);
    default:
      return 0;
  }
}

static double real_at(void* context, size_t argument, size_t item) {
  const etx_value* value = value_at(context, argument);
  if (value->kind != ETX_VALUE_DOUBLES) take_fixed(context, value);
  switch (value->kind) {
    case ETX_VALUE_DOUBLE:
      return value->as.real;
    case ETX_VALUE_INT:
      return (double)value->as.integer;
    case ETX_VALUE_BOOL:
      return value->as.boolean ? 1 : 0;
    case ETX_VALUE_DOUBLES:
      return value->as.reals.items[item];
    default:
      return 0;
  }
}

// The slot of output number `index`; NULL if there are not that many.
static const etx_value* output_at(const call_sizing* s, size_t index) {
  for (size_t i = 0; i < s->call->argument_count; ++i) {
    if ((s->written >> i & 1) == 0) continue;
    const etx_value* value = s->call->arguments[i];
    const bool is_list = value->kind == ETX_VALUE_TENSORS;
    const size_t count = is_list ? value->as.tensors.count : 1;
    if (index < count) {
      return is_list ? value->as.tensors.items[index] : value;
    }
    index -= count;
  }
  return NULL;
}

static etx_status size_next(call_sizing* s, size_t index,
                            const etx_shape* shape, bool at_most) {
  const etx_value* output = output_at(s, index);
  ++s->sized;
  if (output == NULL) {
    return etx_diag_fail(s->call->diag, ETX_BAD_FILE,
                         "'%s' has an output %z, the call does not",
                         s->call->op->name, index);
  }
  return s->resize(s->context, output, shape, at_most);
}

static etx_status size_output(void* context, size_t index,
                              const etx_shape* shape) {
  return size_next(context, index, shape, false);
}

static etx_status bound_output(void* context, size_t index,
                               const etx_shape* most) {
  return size_next(context, index, most, true);
}

static etx_status size_outputs(call_sizing* s) {
  const etx_call* call = s->call;
  etx_shape_call shape;
  memset(&shape, 0, sizeof shape);
  shape.op = call->op;
  shape.diag = call->diag;
  shape.context = s;
  shape.kind = kind_of;
  shape.list_count = list_count;
  shape.tensor = tensor_shape;
  shape.integer = integer_at;
  shape.real = real_at;
  shape.output = size_output;
  shape.output_at_most = bound_output;
  if (is_symbolic(s)) {
    shape.math = s->symbols->math;
    shape.undecided = s->symbols->undecided;
    shape.diag = NULL;
  }
  ETX_TRY(etx_shape_infer(&shape));
  if (output_at(s, s->sized) == NULL) return ETX_OK;
  return etx_diag_fail(shape.diag, ETX_BAD_FILE,
                       "'%s' has %z outputs, the call has more", call->op->name,
                       s->sized);
}

etx_status etx_call_size_outputs(const etx_call* call, uint64_t written,
                                 etx_call_resize resize, void* context) {
  call_sizing s = {call, written, resize, context, NULL, 0};
  return size_outputs(&s);
}

etx_status etx_call_size_symbolic(const etx_call* call, uint64_t written,
                                  const etx_call_symbols* symbols,
                                  etx_call_resize resize, void* context) {
  call_sizing s = {call, written, resize, context, symbols, 0};
  return size_outputs(&s);
}
