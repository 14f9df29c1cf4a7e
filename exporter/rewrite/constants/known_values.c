#include "exporter/rewrite/constants/known_values.h"

#include "exporter/ir/type_inference.h"
#include "exporter/rewrite/ir_rewrite.h"

enum { SPARE_BYTES = 256 * 1024 * 1024 };

static uint64_t most_bytes_of(const etx_ir_module* module) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < module->constant_count; ++i) {
    bytes += module->constants[i].data.size;
  }
  return 4 * bytes + SPARE_BYTES;
}

etx_status etx_known_values_init(etx_known_values* known,
                                 etx_pass_context* context,
                                 const etx_ir_method* method) {
  *known = (etx_known_values){
      context, method,
      etx_pool_take(context->module->pool,
                    method->value_count * sizeof(const void*)),
      method->value_count, false};
  if (context->folding.most_bytes == 0) {
    context->folding.most_bytes = most_bytes_of(context->module);
  }
  return known->contents == NULL ? ETX_OUT_OF_MEMORY : ETX_OK;
}

const etx_ir_constant* etx_known_content(const etx_known_values* known,
                                         uint32_t value) {
  if (value < known->count && known->contents[value] != NULL) {
    return known->contents[value];
  }
  return etx_rewrite_constant(known->context->module, known->method, value);
}

etx_status etx_known_values_record(etx_known_values* known, uint32_t value,
                                   const etx_ir_constant* content) {
  etx_ir_constant* const copy =
      etx_pool_take(known->context->module->pool, sizeof *copy);
  if (copy == NULL) return ETX_OUT_OF_MEMORY;
  *copy = *content;
  known->contents[value] = copy;
  return ETX_OK;
}

// True if the argument is known; adds the bytes of its tensors to `bytes`.
static bool arg_is_known(const etx_known_values* known, const etx_ir_arg* arg,
                         uint64_t* bytes) {
  if (arg->kind == ETX_IR_ARG_VALUE) {
    const etx_ir_constant* const content =
        etx_known_content(known, arg->as.value);
    if (content == NULL) return false;
    *bytes += content->data.size;
    return true;
  }
  if (arg->kind != ETX_IR_ARG_LIST) return true;
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    if (!arg_is_known(known, &arg->as.list.items[i], bytes)) return false;
  }
  return true;
}

bool etx_known_values_cover(const etx_known_values* known,
                            const etx_ir_node* node, uint64_t* bytes) {
  for (size_t i = 0; i < node->arg_count; ++i) {
    if (!arg_is_known(known, &node->args[i], bytes)) return false;
  }
  return true;
}

// ------------------------------------------------ arguments

static bool to_tensor(etx_pool* pool, const etx_ir_constant* constant,
                      etx_eval_tensor* out) {
  int32_t* const sizes = etx_pool_take(pool, ETX_MAX_RANK * sizeof(int32_t));
  if (sizes == NULL) return false;
  for (size_t i = 0; i < constant->rank; ++i) {
    sizes[i] = (int32_t)constant->sizes[i];
  }
  *out = (etx_eval_tensor){constant->dtype, constant->rank, sizes,
                           (void*)(uintptr_t)constant->data.data};
  return true;
}

static etx_status tensor_list(const etx_known_values* known,
                              const etx_ir_arg* arg, etx_eval_argument* out) {
  etx_pool* const pool = known->context->module->pool;
  const size_t count = arg->as.list.count;
  etx_eval_tensor* const tensors =
      etx_pool_take(pool, count * sizeof(etx_eval_tensor));
  uint8_t* const is_none = etx_pool_take(pool, count);
  if (tensors == NULL || is_none == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    const etx_ir_arg* const item = &arg->as.list.items[i];
    is_none[i] = item->kind != ETX_IR_ARG_VALUE;
    if (is_none[i]) continue;
    const etx_ir_constant* const constant =
        etx_known_content(known, item->as.value);
    if (!to_tensor(pool, constant, &tensors[i])) return ETX_OUT_OF_MEMORY;
  }
  out->kind = ETX_EVAL_TENSORS;
  out->tensors = tensors;
  out->is_none = is_none;
  out->count = count;
  return ETX_OK;
}

static etx_status number_list(const etx_known_values* known,
                              const etx_ir_arg* arg, etx_argument_type type,
                              etx_eval_argument* out) {
  const size_t count = arg->as.list.count;
  etx_pool* const pool = known->context->module->pool;
  int64_t* const integers = etx_pool_take(pool, count * sizeof(int64_t));
  double* const reals = etx_pool_take(pool, count * sizeof(double));
  uint8_t* const booleans = etx_pool_take(pool, count);
  if (integers == NULL || reals == NULL || booleans == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  for (size_t i = 0; i < count; ++i) {
    const etx_ir_arg* const item = &arg->as.list.items[i];
    if (item->kind == ETX_IR_ARG_INT) integers[i] = item->as.integer;
    if (item->kind == ETX_IR_ARG_INT) reals[i] = (double)integers[i];
    if (item->kind == ETX_IR_ARG_DOUBLE) reals[i] = item->as.real;
    if (item->kind == ETX_IR_ARG_BOOL) booleans[i] = item->as.boolean;
  }
  out->kind = type == ETX_ARGUMENT_FLOATS  ? ETX_EVAL_DOUBLES
              : type == ETX_ARGUMENT_BOOLS ? ETX_EVAL_BOOLS
                                           : ETX_EVAL_INTS;
  out->integers = integers;
  out->reals = reals;
  out->booleans = booleans;
  out->count = count;
  return ETX_OK;
}

static etx_status to_argument(const etx_known_values* known,
                              const etx_ir_arg* arg, etx_argument_type type,
                              etx_eval_argument* out) {
  *out = (etx_eval_argument){.kind = ETX_EVAL_NONE};
  switch (arg->kind) {
    case ETX_IR_ARG_NONE:
      return ETX_OK;
    case ETX_IR_ARG_VALUE:
      out->kind = ETX_EVAL_TENSOR;
      return to_tensor(known->context->module->pool,
                       etx_known_content(known, arg->as.value), &out->tensor)
                 ? ETX_OK
                 : ETX_OUT_OF_MEMORY;
    case ETX_IR_ARG_INT:
      out->kind = ETX_EVAL_INT;
      out->integer = arg->as.integer;
      return ETX_OK;
    case ETX_IR_ARG_DTYPE:
      out->kind = ETX_EVAL_INT;
      out->integer = (int64_t)arg->as.dtype;
      return ETX_OK;
    case ETX_IR_ARG_DOUBLE:
      out->kind = ETX_EVAL_DOUBLE;
      out->real = arg->as.real;
      return ETX_OK;
    case ETX_IR_ARG_BOOL:
      out->kind = ETX_EVAL_BOOL;
      out->boolean = arg->as.boolean;
      return ETX_OK;
    case ETX_IR_ARG_STRING:
      out->kind = ETX_EVAL_STRING;
      out->string = arg->as.string;
      return ETX_OK;
    case ETX_IR_ARG_LIST:
      break;
  }
  const bool tensors =
      type == ETX_ARGUMENT_TENSORS || type == ETX_ARGUMENT_OPTIONAL_TENSORS;
  return tensors ? tensor_list(known, arg, out)
                 : number_list(known, arg, type, out);
}

// A constant of an output's type, as yet without memory.
static etx_status describe_output(const etx_known_values* known, uint32_t value,
                                  etx_ir_constant* out) {
  const etx_shape* const shape = &known->method->values[value].shape;
  uint64_t bytes = 0;
  if (!etx_ir_upper_bytes(known->method, shape, &bytes))
    return ETX_OUT_OF_RANGE;
  *out =
      (etx_ir_constant){shape->dtype, shape->rank, {0}, {NULL, (size_t)bytes}};
  return etx_ir_upper_sizes(known->method, shape, out->sizes)
             ? ETX_OK
             : ETX_OUT_OF_RANGE;
}

// The arguments of a call. Those of outputs are `arguments[first_output]` and
// the following.
typedef struct evaluated_call {
  etx_eval_argument arguments[ETX_MAX_ARGUMENTS];
  size_t count, first_output;
} evaluated_call;

static etx_status make_arguments(const etx_known_values* known,
                                 const etx_ir_node* node,
                                 etx_ir_constant* outputs,
                                 evaluated_call* call) {
  etx_argument_cursor cursor = etx_argument_first(node->op->arguments);
  etx_argument argument;
  size_t output = 0;
  call->count = 0;
  call->first_output = node->arg_count;
  while (call->count < ETX_MAX_ARGUMENTS &&
         etx_argument_next(&cursor, &argument)) {
    etx_eval_argument* const to = &call->arguments[call->count];
    if (call->count < node->arg_count) {
      ETX_TRY(to_argument(known, &node->args[call->count], argument.type, to));
    } else if (output < node->output_count) {
      ETX_TRY(describe_output(known, node->outputs[output], &outputs[output]));
      *to = (etx_eval_argument){.kind = ETX_EVAL_TENSOR};
      if (!to_tensor(known->context->module->pool, &outputs[output++],
                     &to->tensor)) {
        return ETX_OUT_OF_MEMORY;
      }
    }
    ++call->count;
  }
  return output == node->output_count ? ETX_OK : ETX_MISSING_OPERATOR;
}

static etx_status take_outputs(const etx_known_values* known, size_t count,
                               etx_ir_constant* outputs, evaluated_call* call) {
  for (size_t i = 0; i < count; ++i) {
    uint8_t* const data =
        etx_pool_take(known->context->module->pool, outputs[i].data.size);
    if (data == NULL) return ETX_OUT_OF_MEMORY;
    outputs[i].data.data = data;
    call->arguments[call->first_output + i].tensor.data = data;
  }
  return ETX_OK;
}

// Takes the work and the bytes of the call from the limits, or nothing.
static bool take_from_limits(etx_pass_context* context,
                             const etx_ir_node* node,
                             const etx_ir_constant* outputs,
                             const evaluated_call* call) {
  const etx_export_options* const options = context->options;
  etx_fold_use* const use = &context->folding;
  const uint64_t most_work =
      options->fold_budget == 0 ? ETX_FOLD_BUDGET : options->fold_budget;
  const uint64_t work = options->evaluator.work == NULL
                            ? 0
                            : options->evaluator.work(
                                  node->op, call->arguments, call->count);
  uint64_t bytes = 0;
  for (size_t i = 0; i < node->output_count; ++i) bytes += outputs[i].data.size;
  if (work > most_work - use->work || bytes > use->most_bytes - use->bytes) {
    return false;
  }
  use->work += work;
  use->bytes += bytes;
  return true;
}

// ------------------------------------------------ nodes

// The same bytes with other sizes.
static etx_status share_view(const etx_known_values* known,
                             const etx_ir_node* node, etx_ir_constant* out) {
  const etx_ir_constant* const base =
      etx_known_content(known, node->args[0].as.value);
  const etx_shape* const shape = &known->method->values[node->outputs[0]].shape;
  *out = (etx_ir_constant){shape->dtype, shape->rank, {0}, base->data};
  return etx_ir_upper_sizes(known->method, shape, out->sizes)
             ? ETX_OK
             : ETX_OUT_OF_RANGE;
}

etx_status etx_known_values_evaluate(etx_known_values* known,
                                     const etx_ir_node* node,
                                     etx_ir_constant* outputs, bool* out_done) {
  const etx_evaluator* const evaluator = &known->context->options->evaluator;
  evaluated_call call;
  *out_done = true;
  known->is_beyond_limit = false;
  if (node->op->id == ETX_OP_view_copy_out) {
    return share_view(known, node, &outputs[0]);
  }
  *out_done = false;
  if (evaluator->evaluate == NULL) return ETX_OK;
  etx_status status = make_arguments(known, node, outputs, &call);
  if (status == ETX_MISSING_OPERATOR) return ETX_OK;
  ETX_TRY(status);
  if (!take_from_limits(known->context, node, outputs, &call)) {
    known->is_beyond_limit = true;
    return ETX_OK;
  }
  ETX_TRY(take_outputs(known, node->output_count, outputs, &call));
  status = evaluator->evaluate(evaluator->context, node->op, call.arguments,
                               call.count, NULL);
  *out_done = status == ETX_OK;
  return status == ETX_OUT_OF_MEMORY ? status : ETX_OK;
}
