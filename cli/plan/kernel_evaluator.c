// The arguments of a node become runtime values, on which the kernel's prepare
// and run are called. Their memory is in a pool that lives for one call.

#include "cli/plan/kernel_evaluator.h"

#include <string.h>

#include "cli/program/operator_cost.h"
#include "exporter/host/host_memory.h"
#include "format/base/checked_math.h"
#include "runtime/kernel.h"

static etx_status no_memory(etx_diag* diag) {
  return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                       "not enough memory to fold a constant");
}

static void* allocate(etx_pool* pool, size_t count, size_t bytes) {
  size_t total = 0;
  return etx_multiply_size(count, bytes, &total) ? etx_pool_take(pool, total)
                                                 : NULL;
}

// Kernels expect strides, so they are computed here.
static etx_status make_tensor(const etx_eval_tensor* from, etx_pool* pool,
                              etx_value* out, etx_diag* diag) {
  int32_t* const strides = allocate(pool, ETX_MAX_RANK, sizeof *strides);
  if (strides == NULL) return no_memory(diag);
  int64_t stride = 1;
  for (size_t i = from->rank; i-- > 0;) {
    strides[i] = (int32_t)stride;
    stride *= from->sizes[i];
    if (stride > INT32_MAX) {
      return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                           "a constant has too many elements to be folded");
    }
  }
  const etx_tensor tensor = {from->data, from->sizes, strides, from->rank,
                             from->dtype};
  out->kind = ETX_VALUE_TENSOR;
  out->as.tensor = tensor;
  return ETX_OK;
}

// One slot for each item and a list of pointers to them.
static etx_status make_slots(etx_pool* pool, size_t count, etx_value** slots,
                             const etx_value*** items, etx_diag* diag) {
  *slots = allocate(pool, count, sizeof **slots);
  *items = allocate(pool, count, sizeof **items);
  return *slots == NULL || *items == NULL ? no_memory(diag) : ETX_OK;
}

static etx_status make_integers(const etx_eval_argument* from, etx_pool* pool,
                                etx_value* out, etx_diag* diag) {
  etx_value* slots = NULL;
  const etx_value** items = NULL;
  ETX_TRY(make_slots(pool, from->count, &slots, &items, diag));
  for (size_t i = 0; i < from->count; ++i) {
    slots[i].kind = ETX_VALUE_INT;
    slots[i].as.integer = from->integers[i];
    items[i] = &slots[i];
  }
  out->kind = ETX_VALUE_INTS;
  out->as.integers.items = items;
  out->as.integers.count = from->count;
  return ETX_OK;
}

static etx_status make_tensors(const etx_eval_argument* from, etx_pool* pool,
                               etx_value* out, etx_diag* diag) {
  etx_value* slots = NULL;
  const etx_value** items = NULL;
  ETX_TRY(make_slots(pool, from->count, &slots, &items, diag));
  for (size_t i = 0; i < from->count; ++i) {
    items[i] = NULL;
    if (from->is_none != NULL && from->is_none[i] != 0) continue;
    ETX_TRY(make_tensor(&from->tensors[i], pool, &slots[i], diag));
    items[i] = &slots[i];
  }
  out->kind = ETX_VALUE_TENSORS;
  out->as.tensors.items = items;
  out->as.tensors.count = from->count;
  return ETX_OK;
}

static etx_status make_value(const etx_eval_argument* from, etx_pool* pool,
                             etx_value* out, etx_diag* diag) {
  switch (from->kind) {
    case ETX_EVAL_NONE:
      out->kind = ETX_VALUE_NONE;
      return ETX_OK;
    case ETX_EVAL_TENSOR:
      return make_tensor(&from->tensor, pool, out, diag);
    case ETX_EVAL_INT:
      out->kind = ETX_VALUE_INT;
      out->as.integer = from->integer;
      return ETX_OK;
    case ETX_EVAL_DOUBLE:
      out->kind = ETX_VALUE_DOUBLE;
      out->as.real = from->real;
      return ETX_OK;
    case ETX_EVAL_BOOL:
      out->kind = ETX_VALUE_BOOL;
      out->as.boolean = from->boolean;
      return ETX_OK;
    case ETX_EVAL_STRING:
      out->kind = ETX_VALUE_STRING;
      out->as.string = from->string;
      return ETX_OK;
    case ETX_EVAL_INTS:
      return make_integers(from, pool, out, diag);
    case ETX_EVAL_DOUBLES:
      out->kind = ETX_VALUE_DOUBLES;
      out->as.reals.items = from->reals;
      out->as.reals.count = from->count;
      return ETX_OK;
    case ETX_EVAL_BOOLS:
      out->kind = ETX_VALUE_BOOLS;
      out->as.booleans.items = from->booleans;
      out->as.booleans.count = from->count;
      return ETX_OK;
    case ETX_EVAL_TENSORS:
      return make_tensors(from, pool, out, diag);
  }
  return etx_diag_fail(diag, ETX_INTERNAL, "an argument of an unknown kind");
}

static void run_serially(void* context, void (*task)(void* argument, size_t i),
                         void* argument, size_t count) {
  (void)context;
  for (size_t i = 0; i < count; ++i) task(argument, i);
}

static etx_status run_kernel(const etx_kernel* kernel, etx_call* call,
                             etx_pool* pool) {
  ETX_TRY(etx_kernel_prepare(kernel, call));
  if (call->temporary_bytes != 0) {
    call->temporary = etx_pool_take(pool, call->temporary_bytes);
    if (call->temporary == NULL) return no_memory(call->diag);
  }
  return call->run(call);
}

static etx_status evaluate_in(etx_pool* pool, const etx_op* op,
                              const etx_eval_argument* arguments, size_t count,
                              etx_diag* diag) {
  const etx_kernel* const kernel = etx_kernel_find(&etx_all_kernels, op->id);
  if (kernel == NULL) return ETX_MISSING_OPERATOR;
  etx_value* slots = NULL;
  const etx_value** items = NULL;
  ETX_TRY(make_slots(pool, count, &slots, &items, diag));
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(make_value(&arguments[i], pool, &slots[i], diag));
    items[i] = &slots[i];
  }
  const etx_parallel one_thread = {.parallel_for = run_serially,
                                   .thread_count = 1};
  etx_call call = {.op = op,
                   .arguments = items,
                   .argument_count = count,
                   .parallel = &one_thread,
                   .diag = diag};
  return run_kernel(kernel, &call, pool);
}

static etx_status evaluate(void* context, const etx_op* op,
                           const etx_eval_argument* arguments, size_t count,
                           etx_diag* diag) {
  (void)context;
  // Operators with a scalar result are not folded.
  if (op->result == ETX_RESULT_SCALAR) return ETX_MISSING_OPERATOR;
  etx_pool pool;
  etx_pool_init(&pool);
  const etx_status status = evaluate_in(&pool, op, arguments, count, diag);
  etx_pool_close(&pool);
  return status;
}

// ------------------------------------------------ work

static uint64_t elements_of(const etx_eval_tensor* tensor) {
  uint64_t count = 1;
  for (size_t i = 0; i < tensor->rank; ++i) count *= (uint64_t)tensor->sizes[i];
  return count;
}

static void add_tensor(etx_operator_cost_call* call, size_t argument,
                       const etx_eval_tensor* tensor, bool is_written) {
  const etx_operator_cost_tensor added = {.argument = argument,
                                          .sizes = tensor->sizes,
                                          .rank = tensor->rank,
                                          .dtype = tensor->dtype,
                                          .is_written = is_written};
  etx_operator_cost_call_add(call, &added);
}

// Windows of poolings and of resampling are not counted by operator_cost. Each
// is at most a plane of the input.
static uint64_t most_window(const etx_op* op, const etx_eval_tensor* from) {
  if (strcmp(etx_operator_cost_kind(op), "pooling") != 0) return 1;
  uint64_t plane = 1;
  for (size_t i = 0; i < 2 && i < from->rank; ++i) {
    plane *= (uint64_t)from->sizes[from->rank - 1 - i];
  }
  return plane;
}

static uint64_t work(const etx_op* op, const etx_eval_argument* arguments,
                     size_t count) {
  etx_operator_cost_call call = {.op = op};
  etx_argument_cursor cursor = etx_argument_first(op->arguments);
  etx_argument argument;
  uint64_t total = 0, window = 1;
  for (size_t i = 0; i < count && etx_argument_next(&cursor, &argument); ++i) {
    const etx_eval_argument* const from = &arguments[i];
    if (from->kind == ETX_EVAL_TENSOR) {
      add_tensor(&call, i, &from->tensor, argument.written);
      if (i == 0) window = most_window(op, &from->tensor);
      total += elements_of(&from->tensor) * (argument.written ? window : 1);
    }
    for (size_t k = 0; from->kind == ETX_EVAL_TENSORS && k < from->count; ++k) {
      if (from->is_none != NULL && from->is_none[k] != 0) continue;
      add_tensor(&call, i, &from->tensors[k], false);
      total += elements_of(&from->tensors[k]);
    }
    if (from->kind == ETX_EVAL_INTS && from->count == 4) {
      etx_operator_cost_call_add_order(&call, i, from->integers[2]);
    }
  }
  return total + etx_operator_cost_of(&call).multiply_adds;
}

etx_evaluator etx_kernel_evaluator(void) {
  const etx_evaluator evaluator = {evaluate, NULL, work};
  return evaluator;
}
