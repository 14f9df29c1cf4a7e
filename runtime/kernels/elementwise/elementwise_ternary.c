// Operators of three tensors, or of two and a number. All meet in the common
// type and pass through blocks (convert.h).

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/strided_iterator.h"
#include "runtime/kernels/math/wrapping_math.h"

enum { INPUTS = 3 };

typedef void (*ternary_loop)(etx_block* out, const etx_block in[INPUTS],
                             etx_scalar parameter, size_t count);

typedef enum ternary_row {
#define TERNARY(name, real, whole) TERNARY_##name,
#include "runtime/kernels/elementwise/ternary_list.def"
#undef TERNARY
  TERNARY_COUNT
} ternary_row;

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
#define TERNARY(name, real, whole)   \
  LOOP(name##_f32, float, f32, real) \
  LOOP(name##_i64, int64_t, i64, whole)
#include "runtime/kernels/elementwise/ternary_list.def"
#undef TERNARY
#undef HALF

#define HALF 0.5
#define TERNARY(name, real, whole) LOOP(name##_f64, double, f64, real)
#include "runtime/kernels/elementwise/ternary_list.def"
#undef TERNARY
#undef HALF

// By row and wide type, in the order of etx_compute_type.
static const ternary_loop loops[TERNARY_COUNT][3] = {
#define TERNARY(name, real, whole) \
  {name##_i64, name##_f32, ETX_IF_DTYPE(FLOAT64, name##_f64)},
#include "runtime/kernels/elementwise/ternary_list.def"
#undef TERNARY
};

// What prepare leaves in etx_call.prepared.
enum {
  ROW,
  COMMON,
  PARAMETER,  // argument that holds the parameter, or -1
};

// What all rows of a run share. Index 0 is the result, the others operands.
typedef struct ternary {
  etx_strided_iterator walk;
  ternary_loop loop;
  etx_dtype common;
  etx_dtype dtypes[INPUTS + 1];  // in memory
  etx_dtype as[INPUTS + 1];      // what an operand is cut to
  etx_scalar number;             // an operand that is no tensor
  etx_scalar parameter;
} ternary;

static void run_row(const ternary* t) {
  const etx_strided_iterator* walk = &t->walk;
  etx_block in[INPUTS], out;
  for (size_t done = 0; done < walk->count; done += ETX_BLOCK) {
    const size_t left = walk->count - done;
    const size_t count = left < ETX_BLOCK ? left : ETX_BLOCK;
    char* at[INPUTS + 1];
    for (size_t k = 0; k <= INPUTS; ++k) {
      at[k] =
          walk->data[k] + walk->stride[k] * walk->bytes[k] * (ptrdiff_t)done;
    }
    for (size_t k = 1; k <= INPUTS; ++k) {
      etx_operand_fill(&in[k - 1], t->as[k], t->dtypes[k], at[k],
                       walk->stride[k], count);
    }
    t->loop(&out, in, t->parameter, count);
    etx_operand_store(&out, t->common, t->dtypes[0], at[0], walk->stride[0],
                      count);
  }
}

// A number keeps the wide type's precision.
static void add_operand(ternary* t, const etx_call* call, size_t index) {
  static const ptrdiff_t still[ETX_MAX_RANK];
  const etx_dtype wide = etx_compute_type_dtype(etx_compute_type_of(t->common));
  const size_t k = t->walk.operands;
  if (etx_call_is_tensor(call, index)) {
    t->dtypes[k] = etx_call_tensor(call, index)->dtype;
    t->as[k] = t->common;
    etx_strided_iterator_add(&t->walk, etx_call_tensor(call, index));
    return;
  }
  t->dtypes[k] = t->as[k] = wide;
  t->number = etx_scalar_read(etx_call_value(call, index), wide);
  etx_strided_iterator_add_strided(&t->walk, &t->number, etx_dtype_bytes(wide),
                                   still);
}

static etx_status run(etx_call* call) {
  const etx_tensor* out = etx_call_tensor(call, call->argument_count - 1);
  ternary t = {.common = (etx_dtype)call->prepared[COMMON]};
  const etx_compute_type wide = etx_compute_type_of(t.common);
  t.loop = loops[call->prepared[ROW]][wide];
  if (call->prepared[PARAMETER] >= 0) {
    t.parameter =
        etx_scalar_read(etx_call_value(call, (size_t)call->prepared[PARAMETER]),
                        etx_compute_type_dtype(wide));
  }
  etx_strided_iterator_init(&t.walk, out->sizes, out->rank);
  t.dtypes[0] = out->dtype;
  etx_strided_iterator_add(&t.walk, out);
  for (size_t i = 0; i < INPUTS; ++i) add_operand(&t, call, i);
  for (bool more = etx_strided_iterator_start_any_order(&t.walk); more;
       more = etx_strided_iterator_next(&t.walk)) {
    run_row(&t);
  }
  return ETX_OK;
}

static etx_status prepare(etx_call* call, ternary_row row, etx_dtype common,
                          int64_t parameter) {
  ETX_TRY(etx_call_check_result(call, call->argument_count - 1, common));
  call->prepared[ROW] = (int64_t)row;
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

// PyTorch wants equal types here.
static etx_status prepare_lerp(etx_call* call) {
  const etx_dtype common = etx_call_tensor(call, 0)->dtype;
  for (size_t i = 0; i < INPUTS; ++i) {
    if (!etx_call_is_tensor(call, i)) continue;
    ETX_TRY(etx_call_check_same_dtype(call, 0, i));
  }
  if (etx_dtype_category_of(common) != ETX_CATEGORY_FLOATING) {
    return refuse_type(call, common);
  }
  return prepare(call, TERNARY_lerp, common, -1);
}

etx_status etx_kernel_lerp_scalar_out_prepare(etx_call* call) {
  return prepare_lerp(call);
}
etx_status etx_kernel_lerp_tensor_out_prepare(etx_call* call) {
  return prepare_lerp(call);
}

etx_status etx_kernel_addcmul_out_prepare(etx_call* call) {
  etx_dtype common;
  ETX_TRY(etx_call_common_type(call, 0, INPUTS, &common));
  if (etx_compute_type_of(common) == ETX_COMPUTE_I64 &&
      etx_call_value(call, INPUTS)->kind == ETX_VALUE_DOUBLE) {
    return refuse_type(call, common);
  }
  return prepare(call, TERNARY_addcmul, common, INPUTS);
}

etx_status etx_kernel_addcdiv_out_prepare(etx_call* call) {
  etx_dtype common;
  ETX_TRY(etx_call_common_type(call, 0, INPUTS, &common));
  if (etx_compute_type_of(common) == ETX_COMPUTE_I64)
    return refuse_type(call, common);
  return prepare(call, TERNARY_addcdiv, common, INPUTS);
}
