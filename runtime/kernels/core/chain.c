#include "runtime/kernels/core/chain.h"

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/loop_apply.h"
#include "runtime/kernels/core/parallel_for.h"
#include "runtime/kernels/core/tile_bytes.h"

enum {
  BLOCK = ETX_TILE_ELEMENTS,
  STEP_COUNT = ETX_CHAIN_STEPS_MAX / 8,  // in `prepared`, behind the steps
};

static const etx_loop_bytes float_bytes = {sizeof(float), sizeof(float)};

// ------------------------------------------------ the loops of steps

typedef struct unary_step {
  etx_unary_function function;
  float p, q;  // unless the chain has parameters
} unary_step;

// Steps of chain_steps.def with one operand, with parameters or without.
static const unary_step unary_steps[ETX_STEP_END] = {
    [ETX_STEP_neg] = {ETX_UNARY_neg, 0, 0},
    [ETX_STEP_abs] = {ETX_UNARY_abs, 0, 0},
    [ETX_STEP_sign] = {ETX_UNARY_sign, 0, 0},
    [ETX_STEP_relu] = {ETX_UNARY_relu, 0, 0},
    [ETX_STEP_relu6] = {ETX_UNARY_clamp, 0, 6},
    [ETX_STEP_square] = {ETX_UNARY_square, 0, 0},
    [ETX_STEP_sqrt] = {ETX_UNARY_sqrt, 0, 0},
    [ETX_STEP_rsqrt] = {ETX_UNARY_rsqrt, 0, 0},
    [ETX_STEP_reciprocal] = {ETX_UNARY_reciprocal, 0, 0},
    [ETX_STEP_exp] = {ETX_UNARY_exp, 0, 0},
    [ETX_STEP_expm1] = {ETX_UNARY_expm1, 0, 0},
    [ETX_STEP_log] = {ETX_UNARY_log, 0, 0},
    [ETX_STEP_log1p] = {ETX_UNARY_log1p, 0, 0},
    [ETX_STEP_tanh] = {ETX_UNARY_tanh, 0, 0},
    [ETX_STEP_erf] = {ETX_UNARY_erf, 0, 0},
    [ETX_STEP_sigmoid] = {ETX_UNARY_sigmoid, 0, 0},
    [ETX_STEP_gelu] = {ETX_UNARY_gelu, 0, 0},
    [ETX_STEP_gelu_tanh] = {ETX_UNARY_gelu_tanh, 0, 0},
    [ETX_STEP_silu] = {ETX_UNARY_silu, 0, 0},
    [ETX_STEP_mish] = {ETX_UNARY_mish, 0, 0},
    [ETX_STEP_hardsigmoid] = {ETX_UNARY_hardsigmoid, 0, 0},
    [ETX_STEP_hardswish] = {ETX_UNARY_hardswish, 0, 0},
    [ETX_STEP_log_sigmoid] = {ETX_UNARY_log_sigmoid, 0, 0},
    [ETX_STEP_clamp] = {ETX_UNARY_clamp, 0, 0},
    [ETX_STEP_leaky_relu] = {ETX_UNARY_leaky_relu, 0, 0},
    [ETX_STEP_softplus] = {ETX_UNARY_softplus, 0, 0},
    [ETX_STEP_elu] = {ETX_UNARY_elu, 0, 0},
};

// Steps with two operands.
static const etx_binary_function binary_steps[ETX_STEP_END] = {
    [ETX_STEP_add] = ETX_BINARY_add,
    [ETX_STEP_subtract] = ETX_BINARY_subtract,
    [ETX_STEP_multiply] = ETX_BINARY_multiply,
    [ETX_STEP_divide] = ETX_BINARY_divide,
    [ETX_STEP_minimum] = ETX_BINARY_minimum,
    [ETX_STEP_maximum] = ETX_BINARY_maximum,
    [ETX_STEP_prelu] = ETX_BINARY_prelu,
    [ETX_STEP_less] = ETX_BINARY_less,
    [ETX_STEP_less_equal] = ETX_BINARY_less_equal,
    [ETX_STEP_equal] = ETX_BINARY_equal,
};

// ------------------------------------------------ a block

// A value on the stack: an array, or one element for all.
typedef struct chain_value {
  const float* data;
  bool is_array;
} chain_value;

// The steps are postfix notation, which a stack machine computes.
typedef struct stack_machine {
  chain_value stack[ETX_CHAIN_MAX_DEPTH];
  size_t depth;
  float room[ETX_CHAIN_MAX_DEPTH][BLOCK];
} stack_machine;

static void apply_one(const etx_chain* chain, stack_machine* m, uint8_t step,
                      float* out, size_t count) {
  const unary_step* o = &unary_steps[step];
  etx_scalar parameters[ETX_UNARY_PARAMETERS] = {{.f32 = o->p}, {.f32 = o->q}};
  const size_t given = etx_chain_step_parameters(step);
  m->depth -= given;
  for (size_t i = 0; i < given; ++i) {
    parameters[i].f32 = m->stack[m->depth + i].data[0];
  }
  chain_value* top = &m->stack[m->depth - 1];
  etx_unary_apply(chain->loops->unary[o->function], float_bytes, out, top->data,
                  top->is_array ? count : 1, parameters);
  top->data = out;
}

static void apply_two(const etx_chain* chain, stack_machine* m, uint8_t step,
                      float* out, size_t count) {
  chain_value* a = &m->stack[m->depth - 2];
  const chain_value* b = a + 1;
  const bool is_array = a->is_array || b->is_array;
  const etx_binary_job job = {.loop = chain->loops->binary[binary_steps[step]],
                              .bytes = float_bytes,
                              .out = out,
                              .a = a->data,
                              .b = b->data,
                              .count = is_array ? count : 1,
                              .a_is_array = a->is_array || !is_array,
                              .b_is_array = b->is_array || !is_array,
                              .parameter = {.f32 = 1}};
  etx_binary_apply(&job);
  a->data = out;
  a->is_array = is_array;
  --m->depth;
}

// The value as an array; a single element is repeated in `room`.
static const float* array_of(chain_value v, float* room, size_t count) {
  const float number = v.data[0];
  if (v.is_array || count == 1) return v.data;
  etx_fill_elements(room, &number, count, sizeof number);
  return room;
}

// The second operand where the first is not 0, else the third.
static void apply_select(stack_machine* m, float* out, size_t count) {
  m->depth -= 2;
  const size_t at = m->depth - 1;
  chain_value* w = &m->stack[at];
  const bool is_array = w[0].is_array || w[1].is_array || w[2].is_array;
  const size_t element_count = is_array ? count : 1;
  const float* of[3];
  for (size_t i = 0; i < 3; ++i)
    of[i] = array_of(w[i], m->room[at + i], element_count);
  const float *const condition = of[0], *const a = of[1], *const b = of[2];
  ETX_INDEPENDENT
  for (size_t i = 0; i < element_count; ++i) {
    const float chosen = a[i], other = b[i];
    out[i] = condition[i] != 0 ? chosen : other;
  }
  *w = (chain_value){out, is_array};
}

static chain_value operand(const etx_chain* chain, uint8_t step, const float* x,
                           size_t row, size_t first) {
  if (step == ETX_STEP_X) return (chain_value){x, true};
  const etx_chain_other* other = &chain->others[step];
  const size_t at = other->moves ? row * other->row + first : 0;
  return (chain_value){other->data + at, other->moves};
}

// Only the last step writes to `out`, which may be `x`.
static void run_block(const etx_chain* chain, const float* x, float* out,
                      size_t row, size_t first, size_t count) {
  stack_machine m;
  m.depth = 0;
  for (size_t i = 0; i < chain->count; ++i) {
    const uint8_t step = chain->steps[i];
    const size_t takes = etx_chain_step_operands(step);
    if (takes == 0) {
      m.stack[m.depth++] = operand(chain, step, x, row, first);
      continue;
    }
    float* to = i + 1 == chain->count ? out : m.room[m.depth - takes];
    if (step == ETX_STEP_select) {
      apply_select(&m, to, count);
    } else if (takes == 1 || etx_chain_step_parameters(step) > 0) {
      apply_one(chain, &m, step, to, count);
    } else {
      apply_two(chain, &m, step, to, count);
    }
  }
  const chain_value result = m.stack[0];
  if (!result.is_array) {
    const float number = result.data[0];
    etx_fill_elements(out, &number, count, sizeof number);
  } else if (result.data != out) {
    memmove(out, result.data, count * sizeof(float));
  }
}

void etx_chain_run(const etx_chain* chain, const float* x, float* out,
                   size_t row, size_t first, size_t count) {
  if (chain->lone != NULL) {
    etx_unary_apply(chain->lone, float_bytes, out, x, count, chain->parameters);
    return;
  }
  for (size_t at = 0; at < count; at += BLOCK) {
    const size_t left = count - at;
    run_block(chain, x + at, out + at, row, first + at,
              left < BLOCK ? left : BLOCK);
  }
}

const etx_chain_other* etx_chain_added(const etx_chain* chain) {
  if (chain == NULL || chain->count != 3 || chain->steps[2] != ETX_STEP_add) {
    return NULL;
  }
  const size_t x = chain->steps[0] == ETX_STEP_X ? 0 : 1;
  const uint8_t other = chain->steps[1 - x];
  if (chain->steps[x] != ETX_STEP_X || other >= ETX_CHAIN_MAX_OTHERS) {
    return NULL;
  }
  return chain->others[other].moves ? &chain->others[other] : NULL;
}

// ------------------------------------------------ from a call

static const etx_tensor* other_at(const etx_call* call, size_t others,
                                  size_t i) {
  return &etx_call_value(call, others)->as.tensors.items[i]->as.tensor;
}

static etx_status check_other(const etx_call* call, size_t others, size_t i) {
  const etx_value* item = etx_call_value(call, others)->as.tensors.items[i];
  if (item == NULL || item->kind != ETX_VALUE_TENSOR) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "item %z of 'others' is None", i);
  }
  const etx_tensor* other = &item->as.tensor;
  if (other->dtype == ETX_DTYPE_FLOAT32 && etx_tensor_is_contiguous(other)) {
    return ETX_OK;
  }
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "item %z of 'others' has type '%s', expected dense "
                         "'float32'",
                         i, etx_dtype_name(other->dtype));
}

// Refuses parameters that are not one element.
static etx_status check_parameters(const etx_call* call, size_t others) {
  uint8_t steps[ETX_CHAIN_STEPS_MAX];
  const size_t count = (size_t)call->prepared[STEP_COUNT];
  memcpy(steps, call->prepared, sizeof steps);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = etx_chain_step_parameters(steps[i]); j > 0; --j) {
      const size_t item = steps[i - j];
      const size_t numel = etx_tensor_numel(other_at(call, others, item));
      if (numel == 1) continue;
      return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                             "item %z of 'others' has %z elements, '%s' wants "
                             "one",
                             item, numel, etx_chain_step_name(steps[i]));
    }
  }
  return ETX_OK;
}

// Refuses steps whose loops this build leaves out.
static etx_status check_built_steps(const etx_call* call, const uint8_t* steps,
                                    size_t count) {
  const etx_float_loops* const loops = etx_float_loops_best();
  for (size_t i = 0; i < count; ++i) {
    const size_t operands = etx_chain_step_operands(steps[i]);
    const size_t inputs = operands - etx_chain_step_parameters(steps[i]);
    if ((inputs != 1 || loops->unary[unary_steps[steps[i]].function] != NULL) &&
        (inputs != 2 || loops->binary[binary_steps[steps[i]]] != NULL)) {
      continue;
    }
    return etx_call_refuse(call, ETX_UNSUPPORTED,
                           "step '%s' is not in the selection of this build: "
                           "give this program to 'etx select', too, and build "
                           "again",
                           etx_chain_step_name(steps[i]));
  }
  return ETX_OK;
}

// Leaves the steps in `prepared`.
static etx_status read_steps(etx_call* call, size_t other_count, size_t steps) {
  const etx_text text = etx_call_value(call, steps)->as.string;
  uint8_t words[ETX_CHAIN_STEPS_MAX] = {0};
  size_t count = 0;
  if (!etx_chain_steps_read(text, other_count, words, &count)) {
    return etx_call_refuse(
        call, ETX_BAD_ARGUMENT,
        "'steps' is '%t', which is not a chain of steps over "
        "%z tensors",
        text, other_count);
  }
  if (ETX_LOOPS_ARE_SELECTED) ETX_TRY(check_built_steps(call, words, count));
  memcpy(call->prepared, words, sizeof words);
  call->prepared[STEP_COUNT] = (int64_t)count;
  return ETX_OK;
}

etx_status etx_chain_check_steps(etx_call* call, size_t others, size_t steps) {
  const size_t other_count = etx_call_value(call, others)->as.tensors.count;
  if (!etx_call_is_again(call)) ETX_TRY(read_steps(call, other_count, steps));
  return other_count == 0 ? ETX_OK : check_parameters(call, others);
}

etx_status etx_chain_check(etx_call* call, size_t others, size_t steps) {
  const size_t other_count = etx_call_value(call, others)->as.tensors.count;
  for (size_t i = 0; i < other_count; ++i) {
    ETX_TRY(check_other(call, others, i));
  }
  return etx_chain_check_steps(call, others, steps);
}

void etx_chain_read_steps(const etx_call* call, etx_chain* out_chain) {
  memcpy(out_chain->steps, call->prepared, sizeof out_chain->steps);
  out_chain->count = (size_t)call->prepared[STEP_COUNT];
  out_chain->loops = etx_float_loops_best();
  out_chain->lone = NULL;
}

// Finds a chain of "x", parameters and one step.
static void find_lone(etx_chain* chain) {
  const uint8_t last = chain->steps[chain->count - 1];
  const size_t given = etx_chain_step_parameters(last);
  if (chain->steps[0] != ETX_STEP_X || chain->count != given + 2 ||
      etx_chain_step_operands(last) != given + 1) {
    return;
  }
  const unary_step* const o = &unary_steps[last];
  chain->lone = chain->loops->unary[o->function];
  chain->parameters[0].f32 = o->p;
  chain->parameters[1].f32 = o->q;
  for (size_t i = 0; i < given; ++i) {
    chain->parameters[i].f32 = chain->others[chain->steps[1 + i]].data[0];
  }
}

bool etx_chain_has_any_rows(const etx_call* call, size_t others) {
  const size_t count = etx_call_value(call, others)->as.tensors.count;
  const size_t numel =
      etx_tensor_numel(etx_call_tensor(call, call->argument_count - 1));
  for (size_t i = 0; i < count; ++i) {
    const size_t other_numel = etx_tensor_numel(other_at(call, others, i));
    if (other_numel != 1 && other_numel != numel) return false;
  }
  return true;
}

void etx_chain_read(const etx_call* call, size_t others, size_t columns,
                    etx_chain* out_chain) {
  const etx_tensor* out = etx_call_tensor(call, call->argument_count - 1);
  const size_t numel = etx_tensor_numel(out);
  const size_t count = etx_call_value(call, others)->as.tensors.count;
  etx_chain_read_steps(call, out_chain);
  for (size_t i = 0; i < count && i < ETX_CHAIN_MAX_OTHERS; ++i) {
    const etx_tensor* other = other_at(call, others, i);
    const size_t other_numel = etx_tensor_numel(other);
    out_chain->others[i] =
        (etx_chain_other){.data = other->data,
                          .row = other_numel == numel ? columns : 0,
                          .moves = other_numel != 1};
  }
  find_lone(out_chain);
}

// ------------------------------------------------ etx::chain

// A chain over a whole tensor.
typedef struct chain_job {
  etx_chain chain;
  const float* x;
  float* out;
  size_t numel, columns;
} chain_job;

// Work items are blocks of elements if all rows have the same operands, else
// rows.
static void run_items(const void* context, size_t first, size_t end) {
  const chain_job* w = context;
  const bool is_flat = w->columns == w->numel;
  const size_t each = is_flat ? BLOCK : w->columns;
  for (size_t i = first; i < end; ++i) {
    const size_t at = i * each;
    const size_t count = w->numel - at < each ? w->numel - at : each;
    etx_chain_run(&w->chain, w->x + at, w->out + at, is_flat ? 0 : i,
                  is_flat ? at : 0, count);
  }
}

static void run_job(const chain_job* w, const etx_parallel* parallel) {
  const size_t each = w->columns == w->numel ? BLOCK : w->columns;
  etx_parallel_for(parallel, (w->numel + each - 1) / each,
                   (double)w->numel * (double)w->chain.count, run_items, w);
}

void etx_chain_run_all(const etx_chain* chain, float* data, size_t numel,
                       size_t columns, const etx_parallel* parallel) {
  const chain_job w = {*chain, data, data, numel, columns};
  run_job(&w, parallel);
}

static etx_status run(etx_call* call) {
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_chain_out);
  chain_job w = {.x = etx_call_tensor(call, ETX_ARG_chain_self)->data,
                 .out = out->data,
                 .numel = etx_tensor_numel(out)};
  if (w.numel == 0) return ETX_OK;
  w.columns = etx_chain_has_any_rows(call, ETX_ARG_chain_others)
                  ? w.numel
                  : (size_t)out->sizes[out->rank - 1];
  etx_chain_read(call, ETX_ARG_chain_others, w.columns, &w.chain);
  run_job(&w, call->parallel);
  return ETX_OK;
}

etx_status etx_kernel_chain_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_chain_self, ETX_DTYPE_FLOAT32));
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_chain_out, ETX_DTYPE_FLOAT32));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_chain_self));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_chain_out));
  ETX_TRY(etx_chain_check(call, ETX_ARG_chain_others, ETX_ARG_chain_steps));
  call->run = run;
  return ETX_OK;
}
