// Operators of one tensor, element by element: one loop per operator and
// compute type (compute_type.h). A contiguous operand that already has the
// compute type goes through the loop in one call; any other passes through
// blocks.

#include "runtime/kernels/core/complex_as_real.h"
#include "runtime/kernels/core/loop_apply.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/strided_iterator.h"
#include "runtime/kernels/elementwise/elementwise_complex.h"
#include "runtime/kernels/elementwise/unary_parameters.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/simd/elementwise/float_loops.h"
#include "runtime/kernels/simd/elementwise/unary_loops.h"

// Positions of arguments that the operators share; the result is the last.
enum {
  SELF = ETX_ARG_abs_self,
  MIN = ETX_ARG_clamp_min,
  MAX = ETX_ARG_clamp_max,
};
_Static_assert((int)ETX_ARG_hardtanh_min_val == MIN &&
                   (int)ETX_ARG_hardtanh_max_val == MAX,
               "operators differ in the positions of their arguments");

static const bool is_predicate[ETX_UNARY_COUNT] = {
#define NUMERIC(name, ...) false,
#define FLOATING(name, ...) false,
#define PREDICATE(name, ...) true,
#include "runtime/kernels/simd/elementwise/unary_ops.def"
};

static etx_unary_loop loop_of(size_t function, etx_compute_type compute) {
  if (compute == ETX_COMPUTE_F32) {
    return etx_float_loops_best()->unary[function];
  }
  return etx_is_f64(compute) ? etx_unary_loops_f64[function]
                             : etx_unary_loops_i64[function];
}

// What prepare stores in etx_call.prepared.
enum {
  FUNCTION,  // etx_unary_function
  COMMON,    // the type that the result is rounded to
  READER,    // etx_unary_reader of the parameters
};

static void read_parameters(const etx_call* call,
                            etx_scalar out[ETX_UNARY_PARAMETERS]) {
  const etx_dtype common = (etx_dtype)call->prepared[COMMON];
  etx_unary_read_parameters((etx_unary_reader)call->prepared[READER], call,
                            common, out);
}

static etx_status run_direct(etx_call* call) {
  const size_t function = (size_t)call->prepared[FUNCTION];
  const etx_tensor* self = etx_call_tensor(call, SELF);
  const etx_tensor* out = etx_call_tensor(call, call->argument_count - 1);
  etx_scalar parameters[ETX_UNARY_PARAMETERS];
  read_parameters(call, parameters);
  const etx_compute_type compute = etx_compute_type_of(self->dtype);
  const etx_unary_job job = {
      .loop = loop_of(function, compute),
      .bytes = etx_loop_bytes_of(compute, is_predicate[function]),
      .out = out->data,
      .in = self->data,
      .count = etx_tensor_numel(self),
      .parameters = parameters};
  etx_unary_apply_all(call->parallel, &job);
  return ETX_OK;
}

// One run over all elements. Index 0 is the result, 1 the operand.
typedef struct unary {
  etx_unary_loop loop;
  etx_unary_loop bool_loop;  // over bool without conversion, or NULL
  etx_loop_bytes bytes;
  etx_dtype common;
  etx_dtype dtypes[2];
  bool gives_bool;
  etx_scalar parameters[ETX_UNARY_PARAMETERS];
} unary;

static bool row_is_direct(const unary* u, const etx_strided_iterator* it) {
  const etx_dtype native =
      etx_compute_type_dtype(etx_compute_type_of(u->common));
  return u->common == native && u->dtypes[1] == native &&
         u->dtypes[0] == (u->gives_bool ? ETX_DTYPE_BOOL : native) &&
         it->stride[0] == 1 && it->stride[1] == 1;
}

static bool row_is_of_bool(const unary* u, const etx_strided_iterator* it) {
  return u->dtypes[0] == ETX_DTYPE_BOOL && u->dtypes[1] == ETX_DTYPE_BOOL &&
         it->stride[0] == 1 && it->stride[1] == 1 && u->bool_loop != NULL;
}

static void run_blocks(const unary* u, const etx_strided_iterator* it) {
  char* out = it->data[0];
  const char* in = it->data[1];
  etx_block in_block, out_block;
  for (size_t left = it->count; left > 0;) {
    const size_t count = left < ETX_BLOCK ? left : ETX_BLOCK;
    const void* x = etx_operand_row(&in_block, u->common, u->dtypes[1], in,
                                    it->stride[1], count);
    etx_unary_apply(u->loop, u->bytes, &out_block, x, count, u->parameters);
    if (u->gives_bool) {
      etx_convert(u->dtypes[0], out, it->stride[0], ETX_DTYPE_BOOL, &out_block,
                  1, count);
    } else {
      etx_operand_store(&out_block, u->common, u->dtypes[0], out, it->stride[0],
                        count);
    }
    out += it->stride[0] * it->bytes[0] * (ptrdiff_t)count;
    in += it->stride[1] * it->bytes[1] * (ptrdiff_t)count;
    left -= count;
  }
}

static etx_status run(etx_call* call) {
  const size_t function = (size_t)call->prepared[FUNCTION];
  const etx_tensor* self = etx_call_tensor(call, SELF);
  const etx_tensor* out = etx_call_tensor(call, call->argument_count - 1);
  const etx_dtype common = (etx_dtype)call->prepared[COMMON];
  const etx_compute_type compute = etx_compute_type_of(common);
  const etx_loop_bytes one = {1, 1};
  unary u = {.loop = loop_of(function, compute),
             .bool_loop = etx_unary_loop_of_bool(function),
             .bytes = etx_loop_bytes_of(compute, is_predicate[function]),
             .common = common,
             .dtypes = {out->dtype, self->dtype},
             .gives_bool = is_predicate[function]};
  read_parameters(call, u.parameters);
  etx_strided_iterator it;
  etx_strided_iterator_init(&it, out->sizes, out->rank);
  etx_strided_iterator_add(&it, out);
  etx_strided_iterator_add(&it, self);
  for (bool more = etx_strided_iterator_start_any_order(&it); more;
       more = etx_strided_iterator_next(&it)) {
    if (row_is_direct(&u, &it)) {
      etx_unary_apply(u.loop, u.bytes, it.data[0], it.data[1], it.count,
                      u.parameters);
    } else if (row_is_of_bool(&u, &it)) {
      etx_unary_apply(u.bool_loop, one, it.data[0], it.data[1], it.count,
                      u.parameters);
    } else {
      run_blocks(&u, &it);
    }
  }
  return ETX_OK;
}

static etx_status prepare(etx_call* call, size_t function, etx_dtype common) {
  const size_t out = call->argument_count - 1;
  const etx_tensor* self = etx_call_tensor(call, SELF);
  const etx_tensor* to = etx_call_tensor(call, out);
  const etx_compute_type compute = etx_compute_type_of(common);
  if (loop_of(function, compute) == NULL) {
    return etx_call_refuse_dtype(call, SELF, "another type");
  }
  ETX_TRY(etx_call_check_result(
      call, out, is_predicate[function] ? ETX_DTYPE_BOOL : common));
  const etx_dtype native = etx_compute_type_dtype(compute);
  const bool direct =
      self->dtype == native && common == native &&
      to->dtype == (is_predicate[function] ? ETX_DTYPE_BOOL : native) &&
      etx_tensor_is_contiguous(self) && etx_tensor_is_contiguous(to);
  call->prepared[FUNCTION] = (int64_t)function;
  call->prepared[COMMON] = common;
  call->prepared[READER] = ETX_UNARY_READS_NOTHING;
  call->run = direct ? run_direct : run;
  return ETX_OK;
}

// The result has the type of the operand.
static etx_status prepare_any(etx_call* call, size_t function) {
  ETX_TRY(etx_call_check_real(call, SELF));
  return prepare(call, function, etx_call_tensor(call, SELF)->dtype);
}

// The same for operators that refuse bool.
static etx_status prepare_numeric(etx_call* call, size_t function) {
  if (etx_call_tensor(call, SELF)->dtype == ETX_DTYPE_BOOL) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'self' has type 'bool', expected numbers");
  }
  return prepare_any(call, function);
}

// Integers are computed, and give results, in float32.
static etx_status prepare_floating(etx_call* call, size_t function) {
  ETX_TRY(etx_call_check_real(call, SELF));
  const etx_dtype dtype = etx_call_tensor(call, SELF)->dtype;
  const bool is_integral = etx_compute_type_of(dtype) == ETX_COMPUTE_I64;
  return prepare(call, function, is_integral ? ETX_DTYPE_FLOAT32 : dtype);
}

// Halves are refused, as by PyTorch.
static etx_status prepare_wide(etx_call* call, size_t function) {
  const etx_dtype dtype = etx_call_tensor(call, SELF)->dtype;
  if (etx_dtype_is_half(dtype)) {
    return etx_call_refuse(
        call, ETX_BAD_ARGUMENT,
        "'self' has type '%s', expected float32, float64 or integers",
        etx_dtype_name(dtype));
  }
  return prepare_floating(call, function);
}

static etx_status refuse_integral(const etx_call* call) {
  const etx_dtype dtype = etx_call_tensor(call, SELF)->dtype;
  if (etx_compute_type_of(dtype) != ETX_COMPUTE_I64) return ETX_OK;
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "'self' has type '%s', expected floats",
                         etx_dtype_name(dtype));
}

// Integers are refused.
static etx_status prepare_float_only(etx_call* call, size_t function) {
  ETX_TRY(refuse_integral(call));
  return prepare_any(call, function);
}

// Either bound may be None.
static etx_status check_bounds(const etx_call* call, etx_dtype dtype) {
  for (size_t i = MIN; i <= MAX; ++i) {
    if (etx_call_is_none(call, i)) continue;
    ETX_TRY(etx_call_check_scalar(call, i, dtype));
  }
  return ETX_OK;
}

// Operators of floats with parameters from the arguments.
static etx_status prepare_with(etx_call* call, size_t function,
                               etx_unary_reader reader) {
  ETX_TRY(prepare_float_only(call, function));
  call->prepared[READER] = reader;
  return ETX_OK;
}
static etx_status prepare_slope(etx_call* call, size_t function) {
  return prepare_with(call, function, ETX_UNARY_READS_SLOPE);
}
static etx_status prepare_elu(etx_call* call, size_t function) {
  return prepare_with(call, function, ETX_UNARY_READS_ELU);
}
static etx_status prepare_softplus(etx_call* call, size_t function) {
  return prepare_with(call, function, ETX_UNARY_READS_SOFTPLUS);
}
static etx_status prepare_hardtanh(etx_call* call, size_t function) {
  const etx_dtype dtype = etx_call_tensor(call, SELF)->dtype;
  ETX_TRY(prepare_numeric(call, function));
  ETX_TRY(check_bounds(call, dtype));
  if (dtype == ETX_DTYPE_UINT8 &&
      (etx_call_real(call, MIN) < 0 || etx_call_real(call, MAX) < 0)) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "a bound is negative, 'self' has type 'uint8'");
  }
  call->prepared[READER] = ETX_UNARY_READS_BOUNDS;
  return ETX_OK;
}
static etx_status prepare_relu6(etx_call* call, size_t function) {
  ETX_TRY(prepare_numeric(call, function));
  call->prepared[READER] = ETX_UNARY_READS_ZERO_SIX;
  return ETX_OK;
}
static etx_status prepare_nan_to_num(etx_call* call, size_t function) {
  ETX_TRY(prepare_any(call, function));
  call->prepared[READER] = ETX_UNARY_READS_REPLACEMENTS;
  return ETX_OK;
}
static etx_status prepare_logit(etx_call* call, size_t function) {
  ETX_TRY(prepare_floating(call, function));
  call->prepared[READER] = ETX_UNARY_READS_MARGIN;
  return ETX_OK;
}

// The result's type is the common type of the tensor and both bounds.
static etx_status prepare_clamp(etx_call* call, size_t function) {
  etx_dtype common;
  ETX_TRY(etx_call_common_type(call, SELF, 3, &common));
  if (common == ETX_DTYPE_BOOL) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "type 'bool' is given, expected numbers");
  }
  ETX_TRY(check_bounds(call, common));
  ETX_TRY(prepare(call, function, common));
  call->prepared[READER] = ETX_UNARY_READS_BOUNDS;
  return ETX_OK;
}

static etx_status prepare_conjugate(etx_call* call, size_t function) {
  if (!etx_dtype_is_complex(etx_call_tensor(call, SELF)->dtype)) {
    return prepare_any(call, function);
  }
  return etx_complex_conjugate_prepare(call);
}

static etx_status prepare_magnitude(etx_call* call, size_t function) {
  if (!etx_dtype_is_complex(etx_call_tensor(call, SELF)->dtype)) {
    return prepare_numeric(call, function);
  }
  return etx_complex_magnitude_prepare(call);
}

static etx_status prepare_bitwise_not(etx_call* call, size_t function) {
  const etx_dtype dtype = etx_call_tensor(call, SELF)->dtype;
  if (dtype == ETX_DTYPE_BOOL) return prepare_any(call, ETX_UNARY_logical_not);
  if (etx_compute_type_of(dtype) != ETX_COMPUTE_I64) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'self' has type '%s', expected integers or bool",
                           etx_dtype_name(dtype));
  }
  return prepare_any(call, function);
}

static etx_status prepare_gelu(etx_call* call, size_t function) {
  const etx_text approximate =
      etx_call_value(call, ETX_ARG_gelu_approximate)->as.string;
  ETX_TRY(refuse_integral(call));
  if (etx_text_is(approximate, "none")) return prepare_floating(call, function);
  if (etx_text_is(approximate, "tanh")) {
    return prepare_floating(call, ETX_UNARY_gelu_tanh);
  }
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "'approximate' is '%t', expected 'none' or 'tanh'",
                         approximate);
}

// The kernels of all rows.
#define KERNEL(kernel, prepare_function, name)       \
  etx_status kernel(etx_call* call) {                \
    return prepare_function(call, ETX_UNARY_##name); \
  }
#define NUMERIC(name, floating, integral, kernels) kernels
#define FLOATING(name, floating, kernels) kernels
#define PREDICATE(name, floating, integral, kernels) kernels
#include "runtime/kernels/simd/elementwise/unary_ops.def"
#undef KERNEL
