// complex64 is computed in double and rounded once; products of its parts are
// exact in double. complex128 consists of doubles.

#include "runtime/kernels/elementwise/elementwise_complex.h"

#include <string.h>

#include "runtime/kernels/simd/elementwise/binary_loops.h"
#include "runtime/kernels/math/math_bits.h"
#include "runtime/kernels/core/strided_iterator.h"
#include "runtime/kernels/registry/op_arguments.h"

// Argument positions of the two operands, the same in all binary operators.
enum { SELF = ETX_ARG_add_self, OTHER = ETX_ARG_add_other };

typedef struct complex_number {
  double re, im;
} complex_number;

static bool is_complex(etx_dtype dtype) {
  return dtype == ETX_DTYPE_COMPLEX64 || dtype == ETX_DTYPE_COMPLEX128;
}

static complex_number read_number(etx_dtype dtype, const char* at) {
  complex_number x;
  if (dtype == ETX_DTYPE_COMPLEX128) {
    memcpy(&x, at, sizeof(x));
  } else {
    float parts[2];
    memcpy(parts, at, sizeof(parts));
    x.re = (double)parts[0];
    x.im = (double)parts[1];
  }
  return x;
}

static void write_number(etx_dtype dtype, complex_number x, char* at) {
  if (dtype == ETX_DTYPE_COMPLEX128) {
    memcpy(at, &x, sizeof(x));
  } else {
    const float parts[2] = {(float)x.re, (float)x.im};
    memcpy(at, parts, sizeof(parts));
  }
}

// Element i of a row, of the result (0) or of an operand (1, 2).
static char* element(const etx_strided_iterator* it, size_t of, size_t i) {
  return it->data[of] + (ptrdiff_t)i * it->stride[of] * it->bytes[of];
}

static void conjugate_row(const etx_strided_iterator* it, etx_dtype dtype) {
  for (size_t i = 0; i < it->count; ++i) {
    complex_number x = read_number(dtype, element(it, 1, i));
    x.im = -x.im;
    write_number(dtype, x, element(it, 0, i));
  }
}

// sqrt(re^2 + im^2). Where squares would overflow or underflow, both parts are
// first scaled by a power of two. If one part is infinite, the result is
// infinite even if the other is NaN.
static double magnitude(complex_number x) {
  const double infinity = __builtin_inf();
  const double a = etx_abs_f64(x.re);
  const double b = etx_abs_f64(x.im);
  const double largest = a > b ? a : b;
  const double scale = largest > 0x1p500    ? 0x1p-600
                       : largest < 0x1p-500 ? 0x1p600
                                            : 1;
  if (a == infinity || b == infinity) return infinity;
  return etx_sqrt_f64(a * scale * (a * scale) + b * scale * (b * scale)) /
         scale;
}

static void magnitude_row(const etx_strided_iterator* it, etx_dtype dtype) {
  for (size_t i = 0; i < it->count; ++i) {
    const double size = magnitude(read_number(dtype, element(it, 1, i)));
    if (dtype == ETX_DTYPE_COMPLEX128) {
      memcpy(element(it, 0, i), &size, sizeof(size));
    } else {
      const float narrow = (float)size;
      memcpy(element(it, 0, i), &narrow, sizeof(narrow));
    }
  }
}

static void run_rows(etx_call* call, void (*row)(const etx_strided_iterator* it,
                                                 etx_dtype dtype)) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_abs_self);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_abs_out);
  etx_strided_iterator it;
  etx_strided_iterator_init(&it, out->sizes, out->rank);
  etx_strided_iterator_add(&it, out);
  etx_strided_iterator_add(&it, self);
  for (bool more = etx_strided_iterator_start(&it); more;
       more = etx_strided_iterator_next(&it)) {
    row(&it, self->dtype);
  }
}

static etx_status run_conjugate(etx_call* call) {
  run_rows(call, conjugate_row);
  return ETX_OK;
}

static etx_status run_magnitude(etx_call* call) {
  run_rows(call, magnitude_row);
  return ETX_OK;
}

etx_status etx_complex_conjugate_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_conj_physical_self,
                                    ETX_ARG_conj_physical_out));
  call->run = run_conjugate;
  return ETX_OK;
}

etx_status etx_complex_magnitude_prepare(etx_call* call) {
  const etx_dtype dtype = etx_call_tensor(call, ETX_ARG_abs_self)->dtype;
  ETX_TRY(
      etx_call_check_dtype(call, ETX_ARG_abs_out, etx_dtype_real_type(dtype)));
  call->run = run_magnitude;
  return ETX_OK;
}

// Scaled by the larger part of the divisor, so that nothing overflows before
// the result does (Smith).
static complex_number divide(complex_number x, complex_number y) {
  complex_number z;
  if (etx_abs_f64(y.re) >= etx_abs_f64(y.im)) {
    const double ratio = y.im == 0 ? 0 : y.im / y.re;
    const double bottom = y.re + y.im * ratio;
    z.re = (x.re + x.im * ratio) / bottom;
    z.im = (x.im - x.re * ratio) / bottom;
  } else {
    const double ratio = y.re / y.im;
    const double bottom = y.re * ratio + y.im;
    z.re = (x.re * ratio + x.im) / bottom;
    z.im = (x.im * ratio - x.re) / bottom;
  }
  return z;
}

static complex_number combine(size_t function, complex_number x,
                              complex_number y, double alpha) {
  complex_number z;
  if (function == ETX_BINARY_multiply) {
    z.re = x.re * y.re - x.im * y.im;
    z.im = x.re * y.im + x.im * y.re;
    return z;
  }
  if (function == ETX_BINARY_divide) return divide(x, y);
  if (function == ETX_BINARY_subtract) alpha = -alpha;
  z.re = x.re + alpha * y.re;
  z.im = x.im + alpha * y.im;
  return z;
}

// What prepare stores in etx_call.prepared: an etx_binary_function.
enum { FUNCTION };

static void run_row(const etx_strided_iterator* it, size_t function,
                    etx_dtype dtype, double alpha) {
  const bool compares = function == ETX_BINARY_eq || function == ETX_BINARY_ne;
  for (size_t i = 0; i < it->count; ++i) {
    const complex_number x = read_number(dtype, element(it, 1, i));
    const complex_number y = read_number(dtype, element(it, 2, i));
    char* to = element(it, 0, i);
    if (compares) {
      const bool is_equal = x.re == y.re && x.im == y.im;
      *to = is_equal == (function == ETX_BINARY_eq);
    } else {
      write_number(dtype, combine(function, x, y, alpha), to);
    }
  }
}

static etx_status run_binary(etx_call* call) {
  const size_t function = (size_t)call->prepared[FUNCTION];
  const etx_tensor* out = etx_call_tensor(call, call->argument_count - 1);
  const bool has_alpha =
      function == ETX_BINARY_add || function == ETX_BINARY_subtract;
  const double alpha = has_alpha ? etx_call_real(call, ETX_ARG_add_alpha) : 1;
  etx_strided_iterator it;
  etx_strided_iterator_init(&it, out->sizes, out->rank);
  etx_strided_iterator_add(&it, out);
  etx_strided_iterator_add(&it, etx_call_tensor(call, SELF));
  etx_strided_iterator_add(&it, etx_call_tensor(call, OTHER));
  for (bool more = etx_strided_iterator_start(&it); more;
       more = etx_strided_iterator_next(&it)) {
    run_row(&it, function, etx_call_tensor(call, SELF)->dtype, alpha);
  }
  return ETX_OK;
}

bool etx_complex_is_wanted(const etx_call* call) {
  for (size_t i = SELF; i <= OTHER; ++i) {
    const etx_value* value = etx_call_value(call, i);
    if (value->kind == ETX_VALUE_TENSOR && is_complex(value->as.tensor.dtype)) {
      return true;
    }
  }
  return false;
}

etx_status etx_complex_binary_prepare(etx_call* call, size_t function) {
  const size_t out = call->argument_count - 1;
  const bool compares = function == ETX_BINARY_eq || function == ETX_BINARY_ne;
  const bool is_known = compares || function == ETX_BINARY_add ||
                        function == ETX_BINARY_subtract ||
                        function == ETX_BINARY_multiply ||
                        function == ETX_BINARY_divide;
  if (!is_known) {
    return etx_call_refuse(call, ETX_UNSUPPORTED,
                           "the operator has no kernel for complex operands, "
                           "expected real types");
  }
  for (size_t i = SELF; i <= OTHER; ++i) {
    const etx_value* value = etx_call_value(call, i);
    if (value->kind == ETX_VALUE_TENSOR && is_complex(value->as.tensor.dtype)) {
      continue;
    }
    return etx_call_refuse(call, ETX_UNSUPPORTED,
                           "one operand is complex and the other is not, "
                           "expected two complex tensors of one type");
  }
  ETX_TRY(etx_call_check_same_dtype(call, SELF, OTHER));
  if (compares) {
    ETX_TRY(etx_call_check_dtype(call, out, ETX_DTYPE_BOOL));
  } else {
    ETX_TRY(etx_call_check_same_dtype(call, SELF, out));
  }
  call->prepared[FUNCTION] = (int64_t)function;
  call->run = run_binary;
  return ETX_OK;
}
