// where, masked_fill and clamp with tensors: operators of three operands.
//
// Operands that already have the result's type are copied as bytes; others are
// converted block by block.

#include "runtime/kernels/core/dtype_switch.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/simd/vector/loop_independent.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/strided_iterator.h"

// out[i] = condition[i] ? a[i] : b[i], each with a stride in elements; an
// operand of stride 0 is read once.
#define CHOOSE(T, i, A, B)              \
  ETX_INDEPENDENT                       \
  for (size_t i = 0; i < count; ++i) {  \
    const T x = (A), y = (B);           \
    out[i] = condition[i] != 0 ? x : y; \
  }

static void choose_dense(size_t bytes, const etx_strided_iterator* it) {
  const uint8_t* condition = (const uint8_t*)it->data[1];
  const size_t count = it->count;
  const bool a_moves = it->stride[2] != 0, b_moves = it->stride[3] != 0;
  ETX_SWITCH_BYTES(bytes, T, {
    T* out = (T*)(void*)it->data[0];
    const T* a = (const T*)(const void*)it->data[2];
    const T* b = (const T*)(const void*)it->data[3];
    if (a_moves && b_moves) {
      CHOOSE(T, i, a[i], b[i])
    } else if (a_moves) {
      const T still = *b;
      CHOOSE(T, i, a[i], still)
    } else {
      const T still = *a;
      CHOOSE(T, i, still, b[b_moves ? i : 0])
    }
  })
}

static void choose_strided(size_t bytes, const etx_strided_iterator* it) {
  const uint8_t* condition = (const uint8_t*)it->data[1];
  ETX_SWITCH_BYTES(bytes, T, {
    T* out = (T*)(void*)it->data[0];
    const T* a = (const T*)(const void*)it->data[2];
    const T* b = (const T*)(const void*)it->data[3];
    for (size_t i = 0; i < it->count; ++i) {
      const ptrdiff_t at = (ptrdiff_t)i;
      out[at * it->stride[0]] = condition[at * it->stride[1]] != 0
                                    ? a[at * it->stride[2]]
                                    : b[at * it->stride[3]];
    }
  })
}

static void choose_row(size_t bytes, const etx_strided_iterator* it) {
  bool is_dense = it->stride[0] == 1 && it->stride[1] == 1;
  for (size_t k = 2; k < 4; ++k) {
    is_dense = is_dense && (it->stride[k] == 0 || it->stride[k] == 1);
  }
  (is_dense ? choose_dense : choose_strided)(bytes, it);
}

// The same with operands of other types than the result.
static void choose_row_converting(etx_dtype to, const etx_dtype from[2],
                                  const etx_strided_iterator* it) {
  const uint8_t* condition = (const uint8_t*)it->data[1];
  const ptrdiff_t out_step = it->stride[0] * it->bytes[0];
  for (size_t i = 0; i < it->count; ++i) {
    const ptrdiff_t at = (ptrdiff_t)i;
    const size_t k = condition[at * it->stride[1]] != 0 ? 0 : 1;
    const char* chosen =
        it->data[2 + k] + at * it->stride[2 + k] * it->bytes[2 + k];
    etx_convert(to, it->data[0] + at * out_step, 1, from[k], chosen, 1, 1);
  }
}

static etx_status check_mask(const etx_call* call, size_t index) {
  const etx_dtype dtype = etx_call_tensor(call, index)->dtype;
  if (dtype == ETX_DTYPE_BOOL || dtype == ETX_DTYPE_UINT8) return ETX_OK;
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "the condition has type '%s', expected 'bool'",
                         etx_dtype_name(dtype));
}

static etx_status run_where(etx_call* call) {
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_where_self_out);
  const etx_tensor* a = etx_call_tensor(call, ETX_ARG_where_self_self);
  const etx_tensor* b = etx_call_tensor(call, ETX_ARG_where_self_other);
  const etx_dtype from[2] = {a->dtype, b->dtype};
  const bool moves = a->dtype == out->dtype && b->dtype == out->dtype;
  const size_t bytes = etx_dtype_bytes(out->dtype);
  etx_strided_iterator it;
  etx_strided_iterator_init(&it, out->sizes, out->rank);
  etx_strided_iterator_add(&it, out);
  etx_strided_iterator_add(&it,
                           etx_call_tensor(call, ETX_ARG_where_self_condition));
  etx_strided_iterator_add(&it, a);
  etx_strided_iterator_add(&it, b);
  for (bool more = etx_strided_iterator_start_any_order(&it); more;
       more = etx_strided_iterator_next(&it)) {
    if (moves && bytes <= 8) {
      choose_row(bytes, &it);
    } else {
      choose_row_converting(out->dtype, from, &it);
    }
  }
  return ETX_OK;
}

etx_status etx_kernel_where_self_out_prepare(etx_call* call) {
  ETX_TRY(check_mask(call, ETX_ARG_where_self_condition));
  etx_dtype common;
  ETX_TRY(etx_call_common_type(call, ETX_ARG_where_self_self, 2, &common));
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_where_self_out, common));
  call->run = run_where;
  return ETX_OK;
}

static etx_status run_masked_fill(etx_call* call) {
  static const ptrdiff_t still[ETX_MAX_RANK];
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_masked_fill_scalar_out);
  const size_t bytes = etx_dtype_bytes(out->dtype);
  etx_scalar value = {0};
  etx_scalar_store(etx_call_value(call, ETX_ARG_masked_fill_scalar_value),
                   out->dtype, &value);
  etx_strided_iterator it;
  etx_strided_iterator_init(&it, out->sizes, out->rank);
  etx_strided_iterator_add(&it, out);
  etx_strided_iterator_add(
      &it, etx_call_tensor(call, ETX_ARG_masked_fill_scalar_mask));
  etx_strided_iterator_add_strided(&it, &value, bytes, still);
  etx_strided_iterator_add(
      &it, etx_call_tensor(call, ETX_ARG_masked_fill_scalar_self));
  for (bool more = etx_strided_iterator_start_any_order(&it); more;
       more = etx_strided_iterator_next(&it)) {
    choose_row(bytes, &it);
  }
  return ETX_OK;
}

etx_status etx_kernel_masked_fill_scalar_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_real(call, ETX_ARG_masked_fill_scalar_self));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_masked_fill_scalar_self,
                                    ETX_ARG_masked_fill_scalar_out));
  ETX_TRY(check_mask(call, ETX_ARG_masked_fill_scalar_mask));
  ETX_TRY(etx_call_check_scalar(
      call, ETX_ARG_masked_fill_scalar_value,
      etx_call_tensor(call, ETX_ARG_masked_fill_scalar_self)->dtype));
  call->run = run_masked_fill;
  return ETX_OK;
}

// max(x, bound) or min(x, bound); NaN in either gives NaN.
#define HOLD(name, T, member, sign)                                        \
  static void name(etx_block* out, const void* x_data, const void* y_data, \
                   size_t count) {                                         \
    const T* x = x_data;                                                   \
    const T* y = y_data;                                                   \
    for (size_t i = 0; i < count; ++i) {                                   \
      const T held = x[i] sign y[i] ? y[i] : x[i];                         \
      out->member[i] = y[i] != y[i] ? (x[i] != x[i] ? x[i] : y[i]) : held; \
    }                                                                      \
  }
HOLD(raise_f32, float, f32, <)
HOLD(lower_f32, float, f32, >)
HOLD(raise_f64, double, f64, <)
HOLD(lower_f64, double, f64, >)
HOLD(raise_i64, int64_t, i64, <)
HOLD(lower_i64, int64_t, i64, >)

typedef void (*bound_function)(etx_block*, const void*, const void*, size_t);

// By compute type; first the lower bound.
static const bound_function holds[3][2] = {
    [ETX_COMPUTE_I64] = {raise_i64, lower_i64},
    [ETX_COMPUTE_F32] = {raise_f32, lower_f32},
    [ETX_COMPUTE_F64] = {ETX_IF_DTYPE(FLOAT64, raise_f64),
                         ETX_IF_DTYPE(FLOAT64, lower_f64)}};

// Operands of the iterator: out, self, and the bounds that are given.
typedef struct tensor_clamp {
  etx_strided_iterator it;
  etx_dtype common;
  etx_dtype dtypes[ETX_STRIDED_ITERATOR_OPERANDS];
  size_t bounds[2];  // operand of the lower and the upper one, 0: none
} tensor_clamp;

// An operand's elements; with stride 0, one element is repeated in the block.
static const void* operand_block(const tensor_clamp* c, size_t k,
                                 const char* at, etx_block* block,
                                 size_t count) {
  if (c->it.stride[k] != 0) {
    return etx_operand_widen(block, c->common, c->dtypes[k], at,
                             c->it.stride[k], count);
  }
  etx_operand_fill(block, c->common, c->dtypes[k], at, 0, count);
  return block;
}

static void clamp_row(const tensor_clamp* c) {
  const bound_function* hold = holds[etx_compute_type_of(c->common)];
  const etx_strided_iterator* it = &c->it;
  for (size_t done = 0; done < it->count; done += ETX_BLOCK) {
    const size_t left = it->count - done;
    const size_t count = left < ETX_BLOCK ? left : ETX_BLOCK;
    etx_block blocks[ETX_STRIDED_ITERATOR_OPERANDS], result;
    char* at[ETX_STRIDED_ITERATOR_OPERANDS];
    for (size_t k = 0; k < it->operands; ++k) {
      at[k] = it->data[k] + it->stride[k] * it->bytes[k] * (ptrdiff_t)done;
    }
    const void* x = operand_block(c, 1, at[1], &blocks[1], count);
    for (size_t i = 0; i < 2; ++i) {
      const size_t k = c->bounds[i];
      if (k == 0) continue;
      hold[i](&result, x, operand_block(c, k, at[k], &blocks[k], count), count);
      x = &result;
    }
    etx_operand_store(&result, c->common, c->dtypes[0], at[0], it->stride[0],
                      count);
  }
}

static size_t add_tensor(tensor_clamp* c, const etx_tensor* tensor) {
  const size_t k = c->it.operands;
  c->dtypes[k] = tensor->dtype;
  etx_strided_iterator_add(&c->it, tensor);
  return k;
}

static etx_status run_clamp_tensor(etx_call* call) {
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_clamp_tensor_out);
  tensor_clamp c = {.common = (etx_dtype)call->prepared[0]};
  etx_strided_iterator_init(&c.it, out->sizes, out->rank);
  (void)add_tensor(&c, out);
  (void)add_tensor(&c, etx_call_tensor(call, ETX_ARG_clamp_tensor_self));
  for (size_t i = 0; i < 2; ++i) {
    if (etx_call_is_none(call, i + 1)) continue;
    c.bounds[i] = add_tensor(&c, etx_call_tensor(call, i + 1));
  }
  for (bool more = etx_strided_iterator_start_any_order(&c.it); more;
       more = etx_strided_iterator_next(&c.it)) {
    clamp_row(&c);
  }
  return ETX_OK;
}

etx_status etx_kernel_clamp_tensor_out_prepare(etx_call* call) {
  etx_dtype common;
  ETX_TRY(etx_call_common_type(call, ETX_ARG_clamp_tensor_self, 3, &common));
  const bool has_both = !etx_call_is_none(call, ETX_ARG_clamp_tensor_min) &&
                        !etx_call_is_none(call, ETX_ARG_clamp_tensor_max);
  if (common == ETX_DTYPE_BOOL && has_both) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "truth values are given, expected numbers");
  }
  ETX_TRY(etx_call_check_result(call, ETX_ARG_clamp_tensor_out, common));
  call->prepared[0] = common;
  call->run = run_clamp_tensor;
  return ETX_OK;
}
