// Operators on the integer, double and bool slots of a program: sizes of
// dynamic tensors and arithmetic on them. Operators of two operands and neg
// check kinds at every run, because a slot may change its kind. sym_not,
// sym_ite, sym_float, sym_int, ceil, round and trunc take every number or bool.

#include "format/base/checked_math.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/slice_args.h"

// Positions of the operands of prim operators.
enum {
  FIRST = ETX_ARG_prim_add_scalar_a,
  SECOND = ETX_ARG_prim_add_scalar_b,
};

static etx_value* result_of(const etx_call* call) {
  return etx_call_out(call, call->argument_count - 1);
}

static void put_integer(const etx_call* call, int64_t integer) {
  etx_value* result = result_of(call);
  result->kind = ETX_VALUE_INT;
  result->as.integer = integer;
}
static void put_real(const etx_call* call, double real) {
  etx_value* result = result_of(call);
  result->kind = ETX_VALUE_DOUBLE;
  result->as.real = real;
}
static void put_boolean(const etx_call* call, bool boolean) {
  etx_value* result = result_of(call);
  result->kind = ETX_VALUE_BOOL;
  result->as.boolean = boolean;
}

// Gives the result the kind and content of operand `index`, but not its
// position among the values, which belongs to the slot.
static void put_operand(const etx_call* call, size_t index) {
  const etx_value* from = etx_call_value(call, index);
  etx_value* result = result_of(call);
  result->kind = from->kind;
  result->as = from->as;
}

static etx_status refuse_kind(const etx_call* call, const char* wanted) {
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "an operand has another kind, expected %s", wanted);
}
static etx_status refuse_overflow(const etx_call* call) {
  return etx_call_refuse(call, ETX_OUT_OF_RANGE, "an integer overflows");
}

static etx_value_kind kind_of(const etx_call* call, size_t index) {
  return etx_call_value(call, index)->kind;
}
static bool is_number(const etx_call* call, size_t index) {
  const etx_value_kind kind = kind_of(call, index);
  return kind == ETX_VALUE_INT || kind == ETX_VALUE_DOUBLE;
}
static bool both_are(const etx_call* call, etx_value_kind kind) {
  return kind_of(call, FIRST) == kind && kind_of(call, SECOND) == kind;
}

// Sizes and elements.

static etx_status run_sym_size(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_sym_size_int_self);
  const int64_t dimension = etx_call_integer(call, ETX_ARG_sym_size_int_dim);
  const int64_t rank = self->rank;
  if (dimension < -rank || dimension >= rank) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "dimension %i is not in %i..%i", dimension, -rank,
                           rank - 1);
  }
  put_integer(call, self->sizes[etx_wrap_dimension(dimension, self->rank)]);
  return ETX_OK;
}

static etx_status run_sym_numel(etx_call* call) {
  put_integer(call, (int64_t)etx_tensor_numel(
                        etx_call_tensor(call, ETX_ARG_sym_numel_self)));
  return ETX_OK;
}

static etx_status run_local_scalar(etx_call* call) {
  const etx_tensor* self =
      etx_call_tensor(call, ETX_ARG_local_scalar_dense_self);
  const etx_compute_type compute = etx_compute_type_of(self->dtype);
  if (etx_tensor_numel(self) != 1) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'self' has %z elements, expected 1",
                           etx_tensor_numel(self));
  }
  etx_block block;
  etx_block_load(&block, compute, self->dtype, self->data, 0, 1);
  if (self->dtype == ETX_DTYPE_BOOL) {
    put_boolean(call, block.i64[0] != 0);
  } else if (compute == ETX_COMPUTE_I64) {
    put_integer(call, block.i64[0]);
  } else {
    put_real(call,
             compute == ETX_COMPUTE_F32 ? (double)block.f32[0] : block.f64[0]);
  }
  return ETX_OK;
}

etx_status etx_kernel_sym_size_int_prepare(etx_call* call) {
  call->run = run_sym_size;
  return ETX_OK;
}
etx_status etx_kernel_sym_numel_prepare(etx_call* call) {
  call->run = run_sym_numel;
  return ETX_OK;
}
etx_status etx_kernel_local_scalar_dense_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_real(call, ETX_ARG_local_scalar_dense_self));
  call->run = run_local_scalar;
  return ETX_OK;
}

// Arithmetic: two integers give an integer, anything else a double.

typedef bool (*exact_function)(int64_t a, int64_t b, int64_t* out);
typedef double (*real_function)(double a, double b);

static etx_status arithmetic(const etx_call* call, exact_function exact,
                             real_function real) {
  if (both_are(call, ETX_VALUE_INT)) {
    int64_t out;
    if (!exact(etx_call_integer(call, FIRST), etx_call_integer(call, SECOND),
               &out)) {
      return refuse_overflow(call);
    }
    put_integer(call, out);
    return ETX_OK;
  }
  if (!is_number(call, FIRST) || !is_number(call, SECOND)) {
    return refuse_kind(call, "a number");
  }
  put_real(call, real(etx_call_real(call, FIRST), etx_call_real(call, SECOND)));
  return ETX_OK;
}

static double add(double a, double b) { return a + b; }
static double subtract(double a, double b) { return a - b; }
static double multiply(double a, double b) { return a * b; }

static etx_status run_add(etx_call* call) {
  return arithmetic(call, etx_add_i64, add);
}
static etx_status run_sub(etx_call* call) {
  return arithmetic(call, etx_subtract_i64, subtract);
}
static etx_status run_mul(etx_call* call) {
  return arithmetic(call, etx_multiply_i64, multiply);
}

static etx_status check_divisor(const etx_call* call) {
  if (!is_number(call, FIRST) || !is_number(call, SECOND)) {
    return refuse_kind(call, "a number");
  }
  if (etx_call_real(call, SECOND) != 0) return ETX_OK;
  return etx_call_refuse(call, ETX_BAD_ARGUMENT, "the divisor is zero");
}

static etx_status run_truediv(etx_call* call) {
  ETX_TRY(check_divisor(call));
  put_real(call, etx_call_real(call, FIRST) / etx_call_real(call, SECOND));
  return ETX_OK;
}

// Python's // and %.
static bool floor_divide(int64_t a, int64_t b, int64_t* out) {
  if (a == INT64_MIN && b == -1) return false;
  *out = a / b - (a % b != 0 && (a < 0) != (b < 0));
  return true;
}
static bool modulo(int64_t a, int64_t b, int64_t* out) {
  const int64_t rest = b == -1 ? 0 : a % b;
  *out = rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  return true;
}

static etx_status run_floordiv(etx_call* call) {
  ETX_TRY(check_divisor(call));
  return arithmetic(call, floor_divide, etx_floor_divide_f64);
}
static etx_status run_mod(etx_call* call) {
  ETX_TRY(check_divisor(call));
  return arithmetic(call, modulo, etx_remainder_f64);
}

// Comparisons: numbers with numbers, bools with bools.
static etx_status compare(const etx_call* call, int* out_order) {
  if (both_are(call, ETX_VALUE_INT)) {
    const int64_t a = etx_call_integer(call, FIRST),
                  b = etx_call_integer(call, SECOND);
    *out_order = (a > b) - (a < b);
    return ETX_OK;
  }
  const bool comparable = both_are(call, ETX_VALUE_BOOL) ||
                          (is_number(call, FIRST) && is_number(call, SECOND));
  if (!comparable) return refuse_kind(call, "two numbers or two bools");
  const double a = etx_call_real(call, FIRST), b = etx_call_real(call, SECOND);
  *out_order = a != a || b != b ? 2 : (a > b) - (a < b);  // 2: unordered
  return ETX_OK;
}

static etx_status run_eq(etx_call* call) {
  int order = 0;
  ETX_TRY(compare(call, &order));
  put_boolean(call, order == 0);
  return ETX_OK;
}
static etx_status run_gt(etx_call* call) {
  int order = 0;
  ETX_TRY(compare(call, &order));
  put_boolean(call, order == 1);
  return ETX_OK;
}
static etx_status run_lt(etx_call* call) {
  int order = 0;
  ETX_TRY(compare(call, &order));
  put_boolean(call, order == -1);
  return ETX_OK;
}
static etx_status run_ge(etx_call* call) {
  int order = 0;
  ETX_TRY(compare(call, &order));
  put_boolean(call, order == 0 || order == 1);
  return ETX_OK;
}
static etx_status run_le(etx_call* call) {
  int order = 0;
  ETX_TRY(compare(call, &order));
  put_boolean(call, order == 0 || order == -1);
  return ETX_OK;
}

// The larger operand if `wanted` is 1, the smaller one if it is -1. Equal or
// unordered operands give the first one, as in Python.
static etx_status extreme(const etx_call* call, int wanted) {
  int order = 0;
  ETX_TRY(compare(call, &order));
  put_operand(call, order == -wanted ? SECOND : FIRST);
  return ETX_OK;
}
static etx_status run_sym_max(etx_call* call) { return extreme(call, 1); }
static etx_status run_sym_min(etx_call* call) { return extreme(call, -1); }

// One operand.

static etx_status run_sym_not(etx_call* call) {
  put_boolean(call, etx_call_real(call, FIRST) == 0);
  return ETX_OK;
}

static etx_status run_check_range(etx_call* call) {
  const int64_t value = etx_call_integer(call, ETX_ARG_check_range_value);
  const int64_t least = etx_call_integer(call, ETX_ARG_check_range_least);
  const int64_t most = etx_call_integer(call, ETX_ARG_check_range_most);
  const etx_text what =
      etx_call_value(call, ETX_ARG_check_range_what)->as.string;
  if (value >= least && value <= most) {
    put_integer(call, value);
    return ETX_OK;
  }
  // The exporter writes a condition that must hold as a value in 1..1.
  if (least == 1 && most == 1) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "a check of the model failed: %t", what);
  }
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "%t is %i, the program is planned for %i to %i", what,
                         value, least, most);
}

static etx_status run_sym_ite(etx_call* call) {
  put_operand(call, etx_call_real(call, ETX_ARG_prim_sym_ite_scalar_b) != 0
                        ? ETX_ARG_prim_sym_ite_scalar_t
                        : ETX_ARG_prim_sym_ite_scalar_f);
  return ETX_OK;
}

static etx_status run_neg(etx_call* call) {
  if (kind_of(call, FIRST) == ETX_VALUE_DOUBLE) {
    put_real(call, -etx_call_real(call, FIRST));
    return ETX_OK;
  }
  if (kind_of(call, FIRST) != ETX_VALUE_INT)
    return refuse_kind(call, "a number");
  int64_t out;
  if (!etx_subtract_i64(0, etx_call_integer(call, FIRST), &out)) {
    return refuse_overflow(call);
  }
  put_integer(call, out);
  return ETX_OK;
}

static etx_status run_sym_float(etx_call* call) {
  put_real(call, etx_call_real(call, FIRST));
  return ETX_OK;
}

// Rounds by `round`; sym_int and trunc round towards zero.
static etx_status to_integer(const etx_call* call, double (*round)(double x)) {
  const double rounded = round(etx_call_real(call, FIRST));
  if (!(rounded >= -9223372036854775808.0 && rounded < 9223372036854775808.0)) {
    return refuse_overflow(call);
  }
  put_integer(call, (int64_t)rounded);
  return ETX_OK;
}

static etx_status run_sym_int(etx_call* call) {
  if (kind_of(call, FIRST) == ETX_VALUE_INT) {
    put_integer(call, etx_call_integer(call, FIRST));
    return ETX_OK;
  }
  return to_integer(call, etx_trunc_f64);
}
static etx_status run_ceil(etx_call* call) {
  return to_integer(call, etx_ceil_f64);
}
static etx_status run_round(etx_call* call) {
  return to_integer(call, etx_round_f64);
}
static etx_status run_trunc(etx_call* call) {
  return to_integer(call, etx_trunc_f64);
}

#define KERNEL(kernel, function)      \
  etx_status kernel(etx_call* call) { \
    call->run = function;             \
    return ETX_OK;                    \
  }
#include "runtime/kernels/elementwise/scalar_kernels.def"
#undef KERNEL
