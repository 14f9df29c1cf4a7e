// _fft_r2c: Fourier transforms of real tensors; _fft_c2r: their inverse;
// _fft_c2c: transforms of complex tensors.
//
// A real line of even length n is transformed as a complex one of half the
// length, z[j] = x[2j] + i x[2j + 1]. With h = n/2, the result is
//
//   2 X[k] = Z[k] + Z*[h - k] - i e^(-2 pi i k / n) (Z[k] - Z*[h - k])
//
// The inverse solves this for Z. Odd lengths are transformed as complex
// numbers. The other dimensions are transformed one after the other, in place.
// An inverse transform is a forward transform with real and imaginary parts
// exchanged before and after.

#include "runtime/kernels/core/complex_as_real.h"
#include "runtime/kernels/transform/fft_plan.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/views/axis_iterator.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/slice_args.h"
#include "runtime/kernels/registry/temporary_kernels.h"

// A transform of lines of `n` elements.
typedef struct transform {
  size_t n;
  bool is_real;  // one side is real
  bool is_inverse;
  double scale;        // factor of the results
  etx_fft_plan plan;   // plan for n, or for n/2 if the input is real and n even
  etx_complex* twist;  // e^(-2 pi i k / n) for k <= n/2 if real and even
} transform;

static bool is_halved(const transform* t) {
  return t->is_real && t->n % 2 == 0;
}

static size_t bytes_of(size_t n, bool is_real) {
  if (!is_real || n % 2 != 0) return etx_fft_plan_bytes(n);
  const size_t plan = etx_fft_plan_bytes(n / 2);
  const size_t twist = (n / 2 + 1) * sizeof(etx_complex);
  return plan > SIZE_MAX - twist ? SIZE_MAX : plan + twist;
}

static void start(transform* t, void* memory) {
  t->twist = memory;
  if (!is_halved(t)) {
    etx_fft_plan_init(&t->plan, t->n, memory);
    return;
  }
  etx_fft_roots(t->twist, t->n / 2 + 1, t->n);
  etx_fft_plan_init(&t->plan, t->n / 2, t->twist + t->n / 2 + 1);
}

// Element `at` of line `line`, of any type.
static char* address_of(const etx_axis_elements* e, size_t line, size_t at) {
  return e->data + ((ptrdiff_t)line * e->step + (ptrdiff_t)at * e->stride) *
                       (ptrdiff_t)etx_dtype_bytes(e->dtype);
}

static double load_real(const etx_axis_elements* e, size_t line, size_t at) {
  const char* from = address_of(e, line, at);
  return e->dtype == ETX_DTYPE_FLOAT32
             ? (double)*(const float*)(const void*)from
             : *(const double*)(const void*)from;
}
static void store_real(const etx_axis_elements* e, size_t line, size_t at,
                       double value) {
  char* to = address_of(e, line, at);
  if (e->dtype == ETX_DTYPE_FLOAT32) *(float*)(void*)to = (float)value;
  if (e->dtype == ETX_DTYPE_FLOAT64) *(double*)(void*)to = value;
}

static etx_complex load_complex(const etx_axis_elements* e, size_t line,
                                size_t at) {
  const char* from = address_of(e, line, at);
  etx_complex value;
  if (e->dtype == ETX_DTYPE_COMPLEX64) {
    value.re = (double)((const float*)(const void*)from)[0];
    value.im = (double)((const float*)(const void*)from)[1];
  } else {
    value.re = ((const double*)(const void*)from)[0];
    value.im = ((const double*)(const void*)from)[1];
  }
  return value;
}
static void store_complex(const etx_axis_elements* e, size_t line, size_t at,
                          etx_complex value) {
  char* to = address_of(e, line, at);
  if (e->dtype == ETX_DTYPE_COMPLEX64) {
    ((float*)(void*)to)[0] = (float)value.re;
    ((float*)(void*)to)[1] = (float)value.im;
  } else {
    ((double*)(void*)to)[0] = value.re;
    ((double*)(void*)to)[1] = value.im;
  }
}

static etx_complex exchanged(etx_complex a) {
  const etx_complex b = {a.im, a.re};
  return b;
}
static etx_complex scaled(etx_complex a, double scale) {
  const etx_complex b = {a.re * scale, a.im * scale};
  return b;
}

// Transforms complex lines, in place or not.
static void visit_complex(const etx_axis_lines* lines, void* context) {
  transform* t = context;
  for (size_t line = 0; line < lines->width; ++line) {
    for (size_t k = 0; k < t->n; ++k) {
      const etx_complex x = load_complex(&lines->in, line, k);
      t->plan.line[k] = t->is_inverse ? exchanged(x) : x;
    }
    etx_fft_plan_run(&t->plan);
    for (size_t k = 0; k < t->n; ++k) {
      const etx_complex x = scaled(t->plan.line[k], t->scale);
      store_complex(&lines->out, line, k, t->is_inverse ? exchanged(x) : x);
    }
  }
}

static etx_complex mixed_result(const transform* t, size_t k) {
  if (!is_halved(t)) return scaled(t->plan.line[k], t->scale);
  const size_t h = t->n / 2;
  const etx_complex z = t->plan.line[k == h ? 0 : k];
  const etx_complex mirrored =
      etx_complex_conjugate(t->plan.line[k == 0 ? 0 : h - k]);
  const etx_complex difference = {z.re - mirrored.re, z.im - mirrored.im};
  const etx_complex turned = etx_complex_multiply(difference, t->twist[k]);
  const etx_complex x = {z.re + mirrored.re + turned.im,
                         z.im + mirrored.im - turned.re};
  return scaled(x, 0.5 * t->scale);
}

// Element k of the transform of a real line, from the result of the plan.
// Elements 0 and n/2 are real: their imaginary part is +0.
static etx_complex real_result(const transform* t, size_t k) {
  etx_complex x = mixed_result(t, k);
  if (k == 0 || 2 * k == t->n) x.im = 0;
  return x;
}

// Transforms real lines; the second half of the result mirrors the first.
static void visit_forward(const etx_axis_lines* lines, void* context) {
  transform* t = context;
  for (size_t line = 0; line < lines->width; ++line) {
    const size_t step = is_halved(t) ? 2 : 1;
    for (size_t j = 0; j * step < t->n; ++j) {
      t->plan.line[j].re = load_real(&lines->in, line, j * step);
      t->plan.line[j].im =
          step == 2 ? load_real(&lines->in, line, j * 2 + 1) : 0;
    }
    etx_fft_plan_run(&t->plan);
    for (size_t k = 0; k <= t->n / 2; ++k) {
      const etx_complex x = real_result(t, k);
      store_complex(&lines->out, line, k, x);
      const size_t mirror = t->n - k;
      if (k == 0 || mirror >= lines->count || mirror == k) continue;
      store_complex(&lines->out, line, mirror, etx_complex_conjugate(x));
    }
  }
}

// Element k <= n/2 of the spectrum of a real line. The imaginary parts of
// elements 0 and n/2 are ignored.
static etx_complex load_half(const transform* t, const etx_axis_elements* in,
                             size_t line, size_t k) {
  etx_complex x = load_complex(in, line, k);
  if (k == 0 || 2 * k == t->n) x.im = 0;
  return x;
}

// Sets the line that the plan transforms, with real and imaginary parts
// exchanged.
static void load_halved(transform* t, const etx_axis_elements* in,
                        size_t line) {
  const size_t h = t->n / 2;
  for (size_t k = 0; k < h; ++k) {
    const etx_complex x = load_half(t, in, line, k);
    const etx_complex mirrored =
        etx_complex_conjugate(load_half(t, in, line, h - k));
    const etx_complex difference = {x.re - mirrored.re, x.im - mirrored.im};
    const etx_complex turned =
        etx_complex_multiply(difference, etx_complex_conjugate(t->twist[k]));
    const etx_complex z = {x.re + mirrored.re - turned.im,
                           x.im + mirrored.im + turned.re};
    t->plan.line[k] = exchanged(z);
  }
}
static void load_mirrored(transform* t, const etx_axis_elements* in,
                          size_t line) {
  for (size_t k = 0; k <= t->n / 2; ++k) {
    const etx_complex x = load_half(t, in, line, k);
    t->plan.line[k] = exchanged(x);
    if (k > 0) t->plan.line[t->n - k] = exchanged(etx_complex_conjugate(x));
  }
}

// Transforms half spectra to real lines.
static void visit_backward(const etx_axis_lines* lines, void* context) {
  transform* t = context;
  for (size_t line = 0; line < lines->width; ++line) {
    if (is_halved(t)) load_halved(t, &lines->in, line);
    if (!is_halved(t)) load_mirrored(t, &lines->in, line);
    etx_fft_plan_run(&t->plan);
    // Parts are still exchanged: the real part is the imaginary one.
    for (size_t j = 0; j < t->n; ++j) {
      const etx_complex x = t->plan.line[is_halved(t) ? j / 2 : j];
      const bool is_second = is_halved(t) && j % 2 != 0;
      store_real(&lines->out, line, j, (is_second ? x.re : x.im) * t->scale);
    }
  }
}

static size_t dim_count(const etx_call* call) {
  return etx_call_value(call, ETX_ARG_fft_r2c_dim)->as.integers.count;
}
static size_t dim_at(const etx_call* call, size_t item) {
  return etx_wrap_dimension(etx_call_item(call, ETX_ARG_fft_r2c_dim, item),
                            etx_call_tensor(call, ETX_ARG_fft_r2c_self)->rank);
}

// The factor of results: 1 for normalization 0, n^(-1/2) for 1, else
// 1/n for the n elements of `real` along all dimensions.
static double scale_of(const etx_call* call, const etx_tensor* real) {
  const int64_t normalization =
      etx_call_integer(call, ETX_ARG_fft_r2c_normalization);
  double n = 1;
  for (size_t i = 0; i < dim_count(call); ++i) {
    n *= (double)real->sizes[dim_at(call, i)];
  }
  if (normalization == 0) return 1;
  return normalization == 1 ? 1 / etx_sqrt_f64(n) : 1 / n;
}

// Complex transforms of all dimensions but the last one, in place.
static void run_others(const etx_call* call, const etx_tensor* tensor,
                       bool is_inverse, void* memory) {
  for (size_t i = 0; i + 1 < dim_count(call); ++i) {
    const size_t dimension = dim_at(call, i);
    transform t = {.n = (size_t)tensor->sizes[dimension],
                   .is_inverse = is_inverse,
                   .scale = 1};
    start(&t, memory);
    etx_axis_iterator_visit(tensor, tensor, dimension, visit_complex, &t);
  }
}

static etx_status run_r2c(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_fft_r2c_self);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_fft_r2c_out);
  const size_t last = dim_at(call, dim_count(call) - 1);
  transform t = {.n = (size_t)self->sizes[last],
                 .is_real = true,
                 .scale = scale_of(call, self)};
  start(&t, call->temporary);
  etx_axis_iterator_visit(out, self, last, visit_forward, &t);
  run_others(call, out, false, call->temporary);
  return ETX_OK;
}

static etx_status run_c2c(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_fft_c2c_self);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_fft_c2c_out);
  const size_t last = dim_at(call, dim_count(call) - 1);
  const bool is_inverse = !etx_call_boolean(call, ETX_ARG_fft_c2c_forward);
  transform t = {.n = (size_t)self->sizes[last],
                 .is_inverse = is_inverse,
                 .scale = scale_of(call, self)};
  start(&t, call->temporary);
  etx_axis_iterator_visit(out, self, last, visit_complex, &t);
  run_others(call, out, is_inverse, call->temporary);
  return ETX_OK;
}

// A contiguous copy of the first `count` elements along `dimension`.
typedef struct half_copy {
  etx_tensor tensor;
  int32_t sizes[ETX_MAX_RANK];
  int32_t strides[ETX_MAX_RANK];
} half_copy;

static void copy_lines(const etx_axis_lines* lines, void* context) {
  (void)context;
  for (size_t line = 0; line < lines->width; ++line) {
    for (size_t k = 0; k < lines->count; ++k) {
      store_complex(&lines->out, line, k, load_complex(&lines->in, line, k));
    }
  }
}

static const etx_tensor* copy_half(const etx_tensor* from, size_t dimension,
                                   size_t count, void* memory,
                                   half_copy* copy) {
  for (size_t i = 0; i < from->rank; ++i) {
    copy->sizes[i] = i == dimension ? (int32_t)count : from->sizes[i];
  }
  int32_t stride = 1;
  for (size_t i = from->rank; i-- > 0; stride *= copy->sizes[i]) {
    copy->strides[i] = stride;
  }
  copy->tensor = *from;
  copy->tensor.sizes = copy->sizes;
  copy->tensor.strides = copy->strides;
  copy->tensor.data = memory;
  etx_axis_iterator_visit(&copy->tensor, from, dimension, copy_lines, NULL);
  return &copy->tensor;
}

static etx_status run_c2r(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_fft_c2r_self);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_fft_c2r_out);
  const size_t last = dim_at(call, dim_count(call) - 1);
  char* memory = call->temporary;
  half_copy copy;
  transform t = {.n = (size_t)out->sizes[last],
                 .is_real = true,
                 .is_inverse = true,
                 .scale = scale_of(call, out)};
  if (dim_count(call) > 1) {
    self = copy_half(self, last, t.n / 2 + 1, memory, &copy);
    memory += call->prepared[0];
    run_others(call, self, true, memory);
  }
  start(&t, memory);
  etx_axis_iterator_visit(out, self, last, visit_backward, &t);
  return ETX_OK;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

// Bytes of the largest plan of a call over `tensor`; the lines of its last
// dimension may be real.
static size_t plan_bytes(const etx_call* call, const etx_tensor* tensor,
                         bool is_real) {
  const size_t count = dim_count(call);
  size_t most = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t n = (size_t)tensor->sizes[dim_at(call, i)];
    most = larger(most, bytes_of(n, is_real && i + 1 == count));
  }
  return most;
}

static etx_status check_elements(const etx_call* call) {
  if (etx_tensor_numel(etx_call_tensor(call, ETX_ARG_fft_r2c_self)) != 0 &&
      etx_tensor_numel(etx_call_tensor(call, ETX_ARG_fft_r2c_out)) != 0) {
    return ETX_OK;
  }
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "a tensor without elements is transformed");
}

// The plan is placed behind prepared[0] bytes of temporary memory.
static etx_status take_plan(etx_call* call, size_t bytes,
                            etx_kernel_function run) {
  if (bytes > SIZE_MAX - (size_t)call->prepared[0]) {
    return etx_call_refuse(call, ETX_OUT_OF_RANGE, "a line is too long");
  }
  call->temporary_bytes = (size_t)call->prepared[0] + bytes;
  call->run = run;
  return ETX_OK;
}

// `real` and `complex` are the arguments with tensors of these types.
static etx_status prepare(etx_call* call, size_t real, size_t complex,
                          etx_kernel_function run) {
  const bool is_double =
      etx_call_tensor(call, real)->dtype == ETX_DTYPE_FLOAT64;
  ETX_TRY(check_elements(call));
  ETX_TRY(etx_call_check_dtype(
      call, real, is_double ? ETX_DTYPE_FLOAT64 : ETX_DTYPE_FLOAT32));
  ETX_TRY(etx_call_check_dtype(
      call, complex, is_double ? ETX_DTYPE_COMPLEX128 : ETX_DTYPE_COMPLEX64));
  return take_plan(call, plan_bytes(call, etx_call_tensor(call, real), true),
                   run);
}

etx_status etx_kernel_fft_r2c_out_prepare(etx_call* call) {
  call->prepared[0] = 0;
  return prepare(call, ETX_ARG_fft_r2c_self, ETX_ARG_fft_r2c_out, run_r2c);
}

etx_status etx_kernel_fft_c2c_out_prepare(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_fft_c2c_self);
  call->prepared[0] = 0;
  ETX_TRY(check_elements(call));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_fft_c2c_self,
                                    ETX_ARG_fft_c2c_out));
  return take_plan(call, plan_bytes(call, self, false), run_c2c);
}

// Transforms over several dimensions work on a copy of self.
static size_t copy_bytes(const etx_call* call) {
  const size_t bytes =
      etx_tensor_bytes(etx_call_tensor(call, ETX_ARG_fft_c2r_self));
  return dim_count(call) > 1 ? (bytes + 15) / 16 * 16 : 0;
}

etx_status etx_kernel_fft_c2r_out_prepare(etx_call* call) {
  call->prepared[0] = (int64_t)copy_bytes(call);
  return prepare(call, ETX_ARG_fft_c2r_out, ETX_ARG_fft_c2r_self, run_c2r);
}

// The bound holds for any dimensions, and for all sizes up to those of the
// call.
static etx_status state_bytes(const etx_call* call, size_t copied,
                              size_t* out_bytes) {
  static const size_t tensors[] = {ETX_ARG_fft_r2c_self, ETX_ARG_fft_r2c_out};
  size_t n = 1;
  for (size_t k = 0; k < 2; ++k) {
    const etx_tensor* tensor = etx_call_tensor(call, tensors[k]);
    for (size_t i = 0; i < tensor->rank; ++i) {
      n = larger(n, (size_t)tensor->sizes[i]);
    }
  }
  const size_t plan = etx_fft_plan_bytes_up_to(n);
  const size_t twist = (n / 2 + 1) * sizeof(etx_complex);
  if (plan > SIZE_MAX - twist || plan + twist > SIZE_MAX - copied) {
    return etx_call_refuse(call, ETX_OUT_OF_RANGE, "a line is too long");
  }
  *out_bytes = copied + plan + twist;
  return ETX_OK;
}

etx_status etx_temporary_fft_r2c(const etx_call* call, size_t* out_bytes) {
  return state_bytes(call, 0, out_bytes);
}
etx_status etx_temporary_fft_c2r(const etx_call* call, size_t* out_bytes) {
  return state_bytes(call, copy_bytes(call), out_bytes);
}
