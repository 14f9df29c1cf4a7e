// allclose: whether |x - y| <= atol + rtol |y| for all elements. Equal
// infinities are close; two NaN are close if `equal_nan` is set.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/strided_iterator.h"

typedef struct closeness {
  double relative;
  double absolute;
  bool equal_nan;
} closeness;

// Rounds as PyTorch does: tolerances are float32 for float32.
static bool is_close_f32(const closeness* c, float x, float y) {
  if (x == y) return true;
  if (x != x && y != y) return c->equal_nan;
  const float allowed =
      (float)c->absolute + etx_abs_f32((float)c->relative * y);
  const float found = etx_abs_f32(x - y);
  return found < __builtin_inff() && found <= allowed;
}

static bool is_close_f64(const closeness* c, double x, double y) {
  if (x == y) return true;
  if (x != x && y != y) return c->equal_nan;
  const double found = etx_abs_f64(x - y);
  return found < __builtin_inf() &&
         found <= c->absolute + etx_abs_f64(c->relative * y);
}

// Integers that differ are compared as floats.
static bool is_close_i64(const closeness* c, int64_t x, int64_t y) {
  return x == y || is_close_f32(c, (float)x, (float)y);
}

static bool are_close(const closeness* c, etx_compute_type wide,
                      const etx_block* a, const etx_block* b, size_t count) {
  bool close = true;
  for (size_t i = 0; i < count && close; ++i) {
    if (wide == ETX_COMPUTE_F32) close = is_close_f32(c, a->f32[i], b->f32[i]);
    if (etx_is_f64(wide)) close = is_close_f64(c, a->f64[i], b->f64[i]);
    if (wide == ETX_COMPUTE_I64) close = is_close_i64(c, a->i64[i], b->i64[i]);
  }
  return close;
}

static bool is_row_close(const closeness* c, const etx_strided_iterator* row,
                         etx_dtype dtype) {
  const etx_compute_type wide = etx_compute_type_of(dtype);
  for (size_t done = 0; done < row->count; done += ETX_BLOCK) {
    const size_t left = row->count - done;
    const size_t part = left < ETX_BLOCK ? left : ETX_BLOCK;
    etx_block blocks[2];
    for (size_t k = 0; k < 2; ++k) {
      etx_block_load(
          &blocks[k], wide, dtype,
          row->data[k] + (ptrdiff_t)done * row->stride[k] * row->bytes[k],
          row->stride[k], part);
    }
    if (!are_close(c, wide, &blocks[0], &blocks[1], part)) return false;
  }
  return true;
}

// The broadcast sizes of both operands.
static size_t common_sizes(const etx_tensor* a, const etx_tensor* b,
                           int32_t* sizes) {
  const etx_tensor* longer = a->rank < b->rank ? b : a;
  const etx_tensor* shorter = a->rank < b->rank ? a : b;
  const size_t missing = (size_t)longer->rank - shorter->rank;
  for (size_t i = 0; i < longer->rank; ++i) {
    sizes[i] = longer->sizes[i];
    if (i >= missing && sizes[i] == 1) sizes[i] = shorter->sizes[i - missing];
  }
  return longer->rank;
}

static etx_status run(etx_call* call) {
  const etx_tensor* a = etx_call_tensor(call, ETX_ARG_allclose_self);
  const etx_tensor* b = etx_call_tensor(call, ETX_ARG_allclose_other);
  const closeness c = {etx_call_real(call, ETX_ARG_allclose_rtol),
                       etx_call_real(call, ETX_ARG_allclose_atol),
                       etx_call_boolean(call, ETX_ARG_allclose_equal_nan)};
  int32_t sizes[ETX_MAX_RANK];
  const size_t rank = common_sizes(a, b, sizes);
  bool close = true;
  etx_strided_iterator it;
  etx_strided_iterator_init(&it, sizes, rank);
  etx_strided_iterator_add(&it, a);
  etx_strided_iterator_add(&it, b);
  bool more = etx_strided_iterator_start(&it);
  for (; more && close; more = etx_strided_iterator_next(&it)) {
    close = is_row_close(&c, &it, a->dtype);
  }
  *(uint8_t*)etx_call_tensor(call, ETX_ARG_allclose_out)->data = close;
  return ETX_OK;
}

static etx_status prepare(etx_call* call) {
  ETX_TRY(etx_call_check_real(call, ETX_ARG_allclose_self));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_allclose_self,
                                    ETX_ARG_allclose_other));
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_allclose_out, ETX_DTYPE_BOOL));
  if (!(etx_call_real(call, ETX_ARG_allclose_rtol) >= 0) ||
      !(etx_call_real(call, ETX_ARG_allclose_atol) >= 0)) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "a tolerance is negative or NaN");
  }
  call->run = run;
  return ETX_OK;
}

etx_status etx_kernel_allclose_out_prepare(etx_call* call) {
  return prepare(call);
}
etx_status etx_kernel_allclose_tensor_prepare(etx_call* call) {
  return prepare(call);
}
