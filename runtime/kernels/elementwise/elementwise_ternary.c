// Operators of three tensors, or of two and a number. All operands are
// converted to the compute type (compute_type.h) of their common type in blocks
// on the stack.

#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/strided_iterator.h"
#include "runtime/kernels/math/wrapping_math.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"

enum { INPUTS = 3 };

typedef void (*ternary_loop)(etx_block* out, const etx_block in[INPUTS],
                             etx_scalar parameter, size_t count);

typedef enum ternary_function {
#define TERNARY(name, ...) TERNARY_##name,
#include "runtime/kernels/elementwise/ternary_ops.def"
#undef TERNARY
  TERNARY_COUNT
} ternary_function;

#define LOOP(name, T, member, expression)                      \
  static void name(etx_block* out, const etx_block in[INPUTS], \
                   etx_scalar parameter, size_t count) {       \
    const T p = parameter.member;                              \
    (void)p;                                                   \
    for (size_t i = 0; i < count; ++i) {                       \
      const T x = in[0].member[i], y = in[1].member[i];        \
      const T z = in[2].member[i];                             \
      (void)x, (void)y, (void)z;                               \
      out->member[i] = (T)(expression);                        \
    }                                                          \
  }

#define HALF 0.5f
#define TERNARY(name, floating, integral, ...) \
  LOOP(name##_f32, float, f32, floating)       \
  LOOP(name##_i64, int64_t, i64, integral)
#include "runtime/kernels/elementwise/ternary_ops.def"
#undef TERNARY
#undef HALF

#define HALF 0.5
#define TERNARY(name, floating, ...) LOOP(name##_f64, double, f64, floating)
#include "runtime/kernels/elementwise/ternary_ops.def"
#undef TERNARY
#undef HALF

// By function and compute type, in the order of etx_compute_type.
static const ternary_loop loops[TERNARY_COUNT][3] = {
#define TERNARY(name, ...) \
  {name##_i64, name##_f32, ETX_IF_DTYPE(FLOAT64, name##_f64)},
#include "runtime/kernels/elementwise/ternary_ops.def"
#undef TERNARY
};

// What prepare stores in etx_call.prepared.
enum {
  FUNCTION,
  COMMON,
  PARAMETER,  // argument that holds the parameter, or -1
};

// One run over all elements. Index 0 is the result, the others are operands.
typedef struct ternary {
  etx_strided_iterator it;
  ternary_loop loop;
  etx_dtype common;
  etx_dtype dtypes[INPUTS + 1];  // in memory
  etx_dtype as[INPUTS + 1];      // what an operand is rounded to
  etx_scalar number;             // an operand that is not a tensor
  etx_scalar parameter;
} ternary;

static void run_row(const ternary* t) {
  const etx_strided_iterator* it = &t->it;
  etx_block in[INPUTS], out;
  for (size_t done = 0; done < it->count; done += ETX_BLOCK) {
    const size_t left = it->count - done;
    const size_t count = left < ETX_BLOCK ? left : ETX_BLOCK;
    char* at[INPUTS + 1];
    for (size_t k = 0; k <= INPUTS; ++k) {
      at[k] = it->data[k] + it->stride[k] * it->bytes[k] * (ptrdiff_t)done;
    }
    for (size_t k = 1; k <= INPUTS; ++k) {
      etx_operand_fill(&in[k - 1], t->as[k], t->dtypes[k], at[k], it->stride[k],
                       count);
    }
    t->loop(&out, in, t->parameter, count);
    etx_operand_store(&out, t->common, t->dtypes[0], at[0], it->stride[0],
                      count);
  }
}

// A number is not rounded to the common type.
static void add_operand(ternary* t, const etx_call* call, size_t index) {
  static const ptrdiff_t zero_strides[ETX_MAX_RANK];
  const etx_dtype native =
      etx_compute_type_dtype(etx_compute_type_of(t->common));
  const size_t k = t->it.operands;
  if (etx_call_is_tensor(call, index)) {
    t->dtypes[k] = etx_call_tensor(call, index)->dtype;
    t->as[k] = t->common;
    etx_strided_iterator_add(&t->it, etx_call_tensor(call, index));
    return;
  }
  t->dtypes[k] = t->as[k] = native;
  t->number = etx_scalar_read(etx_call_value(call, index), native);
  etx_strided_iterator_add_strided(&t->it, &t->number, etx_dtype_bytes(native),
                                   zero_strides);
}

static etx_status run(etx_call* call) {
  const etx_tensor* out = etx_call_tensor(call, call->argument_count - 1);
  ternary t = {.common = (etx_dtype)call->prepared[COMMON]};
  const etx_compute_type compute = etx_compute_type_of(t.common);
  t.loop = loops[call->prepared[FUNCTION]][compute];
  if (call->prepared[PARAMETER] >= 0) {
    t.parameter =
        etx_scalar_read(etx_call_value(call, (size_t)call->prepared[PARAMETER]),
                        etx_compute_type_dtype(compute));
  }
  etx_strided_iterator_init(&t.it, out->sizes, out->rank);
  t.dtypes[0] = out->dtype;
  etx_strided_iterator_add(&t.it, out);
  for (size_t i = 0; i < INPUTS; ++i) add_operand(&t, call, i);
  for (bool more = etx_strided_iterator_start_any_order(&t.it); more;
       more = etx_strided_iterator_next(&t.it)) {
    run_row(&t);
  }
  return ETX_OK;
}

static etx_status prepare(etx_call* call, ternary_function function,
                          etx_dtype common, int64_t parameter) {
  ETX_TRY(etx_call_check_result(call, call->argument_count - 1, common));
  call->prepared[FUNCTION] = (int64_t)function;
  call->prepared[COMMON] = common;
  call->prepared[PARAMETER] = parameter;
  call->run = run;
  return ETX_OK;
}

static etx_status refuse_type(const etx_call* call, etx_dtype common) {
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "the operands have type '%s', expected floats",
                         etx_dtype_name(common));
}

// PyTorch requires equal types here.
static etx_status prepare_lerp(etx_call* call, ternary_function function) {
  const etx_dtype common =
      etx_call_tensor(call, ETX_ARG_lerp_tensor_self)->dtype;
  for (size_t i = 0; i < INPUTS; ++i) {
    if (!etx_call_is_tensor(call, i)) continue;
    ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_lerp_tensor_self, i));
  }
  if (etx_dtype_category_of(common) != ETX_CATEGORY_FLOATING) {
    return refuse_type(call, common);
  }
  return prepare(call, function, common, -1);
}

// With a factor, `value`, which must not be a double for integers.
static etx_status prepare_scaled(etx_call* call, ternary_function function) {
  etx_dtype common;
  ETX_TRY(etx_call_common_type(call, 0, INPUTS, &common));
  if (etx_compute_type_of(common) == ETX_COMPUTE_I64 &&
      etx_call_value(call, ETX_ARG_addcmul_value)->kind == ETX_VALUE_DOUBLE) {
    return refuse_type(call, common);
  }
  return prepare(call, function, common, ETX_ARG_addcmul_value);
}

static etx_status prepare_scaled_floating(etx_call* call,
                                          ternary_function function) {
  etx_dtype common;
  ETX_TRY(etx_call_common_type(call, 0, INPUTS, &common));
  if (etx_compute_type_of(common) == ETX_COMPUTE_I64)
    return refuse_type(call, common);
  return prepare(call, function, common, ETX_ARG_addcdiv_value);
}

// The kernels of all rows.
#define KERNEL(symbol, prepare_function, name)               \
  etx_status etx_kernel_##symbol##_prepare(etx_call* call) { \
    return prepare_function(call, TERNARY_##name);           \
  }
#define TERNARY(name, floating, integral, kernels) kernels
#include "runtime/kernels/elementwise/ternary_ops.def"
#undef TERNARY
#undef KERNEL
