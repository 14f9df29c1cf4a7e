// The fast Hadamard transform along the last dimension. For n a power of two, a
// line of n elements is multiplied by the matrix of signs
// (-1)^popcount(i & j), in log2(n) butterfly passes, and divided by sqrt(n).
// For lines of 28 n elements, each of the 28 parts of n elements is
// transformed, then the parts are combined by a 28 x 28 matrix of signs,
// without a further division.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/views/strided_view.h"
#include "runtime/kernels/registry/temporary_kernels.h"

enum { MIXED = 28 };

// The matrix for 28 parts: bit j of row i is a minus sign.
static const uint32_t signs[MIXED] = {
    0x32961fe, 0x65283fd, 0xc85477b, 0x92a8e77, 0x2751c6f, 0x4ca785f,
    0x994b0bf, 0x4b9bf3c, 0x9537ef8, 0x2a6fdf1, 0x54dbbe3, 0xa9b37c7,
    0x5366f8f, 0xa4cdf9e, 0x79f8cda, 0xf1f5935, 0xe3ef26a, 0xc7de4d5,
    0x8fbc9ab, 0x1f7d356, 0x3cfe62d, 0xfd0ed66, 0xfa1dacd, 0xf63b51b,
    0xee72ab6, 0xdee15ec, 0xbfc2b59, 0x7f856b3};

#define T float
#define NAME(x) x##_f32
#include "runtime/kernels/transform/hadamard_template.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "runtime/kernels/transform/hadamard_template.h"
#undef T
#undef NAME

static void transform(etx_compute_type wide, void* line, size_t count) {
  const bool is_mixed = count % MIXED == 0;
  const size_t stretch = is_mixed ? count / MIXED : count;
  const size_t stretches = is_mixed ? MIXED : 1;
  if (!etx_is_f64(wide)) {
    transform_line_f32(line, stretch, stretches);
  } else {
    transform_line_f64(line, stretch, stretches);
  }
}

// Transforms in the result itself, or line by line in the compute type.
static etx_status run_hadamard(etx_call* call) {
  const etx_tensor* mat =
      etx_call_tensor(call, ETX_ARG_fast_hadamard_transform_mat);
  const etx_tensor* out =
      etx_call_tensor(call, ETX_ARG_fast_hadamard_transform_out);
  const size_t numel = etx_tensor_numel(out);
  const size_t count = out->rank == 0 ? 1 : (size_t)out->sizes[out->rank - 1];
  if (numel == 0) return ETX_OK;
  const etx_strided_view to = etx_strided_view_of(out),
                         from = etx_strided_view_of(mat);
  etx_strided_view_copy(&to, &from);
  const etx_compute_type wide = etx_compute_type_of(out->dtype);
  const etx_dtype native = etx_compute_type_dtype(wide);
  const size_t bytes = count * etx_dtype_bytes(out->dtype);
  char* line = out->data;
  for (size_t i = 0; i < numel; i += count, line += bytes) {
    if (out->dtype == native) {
      transform(wide, line, count);
      continue;
    }
    etx_convert(native, call->temporary, 1, out->dtype, line, 1, count);
    transform(wide, call->temporary, count);
    etx_convert(out->dtype, line, 1, native, call->temporary, 1, count);
  }
  return ETX_OK;
}

// One line of float32 for float16 and bfloat16.
etx_status etx_temporary_hadamard(const etx_call* call, size_t* out_bytes) {
  const etx_tensor* mat =
      etx_call_tensor(call, ETX_ARG_fast_hadamard_transform_mat);
  const bool is_narrow = etx_dtype_bytes(mat->dtype) < sizeof(float);
  const size_t count = mat->rank == 0 ? 1 : (size_t)mat->sizes[mat->rank - 1];
  *out_bytes = is_narrow ? count * sizeof(float) : 0;
  return ETX_OK;
}

etx_status etx_kernel_fast_hadamard_transform_out_prepare(etx_call* call) {
  const etx_compute_type wide = etx_compute_type_of(
      etx_call_tensor(call, ETX_ARG_fast_hadamard_transform_mat)->dtype);
  if (wide != ETX_COMPUTE_F32 && wide != ETX_COMPUTE_F64) {
    return etx_call_refuse_dtype(call, ETX_ARG_fast_hadamard_transform_mat,
                                 "a float");
  }
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_fast_hadamard_transform_mat,
                                    ETX_ARG_fast_hadamard_transform_out));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_fast_hadamard_transform_out));
  if (!etx_call_is_again(call)) {
    ETX_TRY(etx_temporary_hadamard(call, &call->temporary_bytes));
  }
  call->run = run_hadamard;
  return ETX_OK;
}
