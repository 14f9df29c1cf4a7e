// A shape rule reads the arguments of a lowered node through the callbacks
// below. Out arguments follow the others: a rule that takes the result's dtype
// from its out tensor finds a tensor of rank 0 with that dtype there.

#include "exporter/ir/type_inference.h"

#include <math.h>

typedef struct inference {
  const etx_ir_method* method;
  const etx_ir_arg* args;
  size_t arg_count;
  const etx_dtype* out_dtype;
  const etx_shape* declared;
  etx_shape* shapes;
  size_t shape_count;  // room in shapes
  size_t filled;       // shapes that the rule has set
} inference;

static bool is_output(const etx_argument* argument) {
  return argument->written && argument->type == ETX_ARGUMENT_TENSOR;
}

size_t etx_type_inference_output_count(const etx_op* op) {
  etx_argument_cursor cursor = etx_argument_first(op->arguments);
  etx_argument argument;
  size_t count = 0;
  while (etx_argument_next(&cursor, &argument)) count += is_output(&argument);
  return count;
}

static etx_shape_kind kind_of(const etx_ir_arg* arg) {
  switch (arg->kind) {
    case ETX_IR_ARG_NONE:
      return ETX_SHAPE_NONE;
    case ETX_IR_ARG_VALUE:
      return ETX_SHAPE_TENSOR;
    case ETX_IR_ARG_INT:
    case ETX_IR_ARG_DTYPE:
      return ETX_SHAPE_INT;
    case ETX_IR_ARG_DOUBLE:
      return ETX_SHAPE_DOUBLE;
    case ETX_IR_ARG_BOOL:
      return ETX_SHAPE_BOOL;
    case ETX_IR_ARG_STRING:
      return ETX_SHAPE_STRING;
    case ETX_IR_ARG_LIST:
      return ETX_SHAPE_LIST;
  }
  return ETX_SHAPE_NONE;
}

static etx_shape_kind get_kind(void* context, size_t argument) {
  const inference* const self = context;
  if (argument < self->arg_count) return kind_of(&self->args[argument]);
  return self->out_dtype != NULL ? ETX_SHAPE_TENSOR : ETX_SHAPE_NONE;
}

// The item of a list argument, or the argument itself.
static const etx_ir_arg* item_of(const inference* self, size_t argument,
                                 size_t item) {
  if (argument >= self->arg_count) return NULL;
  const etx_ir_arg* const arg = &self->args[argument];
  if (arg->kind != ETX_IR_ARG_LIST) return arg;
  return item < arg->as.list.count ? &arg->as.list.items[item] : NULL;
}

static size_t get_list_count(void* context, size_t argument) {
  const inference* const self = context;
  if (argument >= self->arg_count) return 0;
  const etx_ir_arg* const arg = &self->args[argument];
  return arg->kind == ETX_IR_ARG_LIST ? arg->as.list.count : 0;
}

static bool get_tensor(void* context, size_t argument, size_t item,
                       etx_shape* out_shape) {
  const inference* const self = context;
  if (argument >= self->arg_count) {
    if (self->out_dtype == NULL) return false;
    *out_shape = (etx_shape){*self->out_dtype, 0, {0}};
    return true;
  }
  const etx_ir_arg* const arg = item_of(self, argument, item);
  if (arg == NULL || arg->kind != ETX_IR_ARG_VALUE) return false;
  *out_shape = self->method->values[arg->as.value].shape;
  return true;
}

static etx_dim get_integer(void* context, size_t argument, size_t item) {
  const inference* const self = context;
  const etx_ir_arg* const arg = item_of(self, argument, item);
  if (arg == NULL) return 0;
  switch (arg->kind) {
    case ETX_IR_ARG_INT:
      return arg->as.integer;
    case ETX_IR_ARG_DTYPE:
      return (etx_dim)arg->as.dtype;
    case ETX_IR_ARG_BOOL:
      return arg->as.boolean ? 1 : 0;
    default:
      return 0;
  }
}

static double get_real(void* context, size_t argument, size_t item) {
  const inference* const self = context;
  const etx_ir_arg* const arg = item_of(self, argument, item);
  if (arg == NULL) return 0.0;
  switch (arg->kind) {
    case ETX_IR_ARG_DOUBLE:
      return arg->as.real;
    case ETX_IR_ARG_BOOL:
      return arg->as.boolean ? 1.0 : 0.0;
    case ETX_IR_ARG_INT:
      // A symbolic integer has no value here; rules read it by get_integer.
      return etx_dim_is_number(arg->as.integer) ? (double)arg->as.integer
                                                : (double)NAN;
    default:
      return 0.0;
  }
}

static etx_status set_output(void* context, size_t index,
                             const etx_shape* shape) {
  inference* const self = context;
  if (index >= self->shape_count) return ETX_INTERNAL;
  self->shapes[index] = *shape;
  if (index == 0 && self->out_dtype != NULL) {
    self->shapes[0].dtype = *self->out_dtype;
  }
  ++self->filled;
  return ETX_OK;
}

// Sets an output whose sizes depend on data: the declared sizes have the
// symbols that the node sets.
static etx_status set_output_at_most(void* context, size_t index,
                                     const etx_shape* most) {
  const inference* const self = context;
  etx_shape shape = *self->declared;
  if (most->rank == 1 || shape.rank != most->rank) {
    // A later node turns this output, whose rows are counted, into the result;
    // or it has the counts of the rows of the first output.
    shape = *most;
    for (size_t i = 0; i < self->declared->rank; ++i) {
      const etx_dim dim = self->declared->dims[i];
      if (etx_symbols_late_in(&self->method->symbols, dim)) shape.dims[0] = dim;
    }
  }
  shape.dtype = most->dtype;
  return set_output(context, index, &shape);
}

etx_status etx_type_inference_outputs(etx_ir_method* method,
                                      const etx_operator_call* call,
                                      etx_shape* out_shapes, etx_diag* diag) {
  const etx_op* const op = call->op;
  inference self = {.method = method,
                    .args = call->args,
                    .arg_count = call->arg_count,
                    .out_dtype = call->out_dtype,
                    .declared = call->declared,
                    .shapes = out_shapes,
                    .shape_count = etx_type_inference_output_count(op)};
  const etx_dim_math math = etx_symbols_math(&method->symbols);
  etx_shape_call shape_call = {
      op,
      &math,
      diag,
      &self,
      get_kind,
      get_list_count,
      get_tensor,
      get_integer,
      get_real,
      set_output,
      call->declared == NULL ? NULL : set_output_at_most,
      NULL};
  if (op->shape == NULL || self.shape_count > ETX_TYPE_INFERENCE_MAX_OUTPUTS) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "the output sizes of '%s.%s' depend on its data",
                         op->name, op->overload);
  }
  ETX_TRY(etx_shape_infer(&shape_call));
  if (self.filled != self.shape_count) {
    return etx_diag_fail(diag, ETX_INTERNAL,
                         "the shape rule of '%s.%s' set %z outputs of %z",
                         op->name, op->overload, self.filled, self.shape_count);
  }
  return ETX_OK;
}
