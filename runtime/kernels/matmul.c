// mm, bmm, bmm_nt, addmm and linear.

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/operand.h"
#include "runtime/kernels/product.h"

// All tensors of one type, out dense.
static etx_status prepare(etx_call* call, size_t first,
                          etx_kernel_function run) {
  const size_t out = call->argument_count - 1;
  ETX_TRY(etx_call_check_real(call, first));
  ETX_TRY(etx_call_check_same_dtype(call, first, first + 1));
  ETX_TRY(etx_call_check_same_dtype(call, first, out));
  ETX_TRY(etx_call_check_contiguous(call, out));
  if (etx_call_tensor(call, first)->dtype == ETX_DTYPE_BOOL) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "truth values are multiplied");
  }
  call->run = run;
  return ETX_OK;
}

// left [.., M, K] and right [.., K, N], or [.., N, K] if `transposed`.
static etx_product product_of(const etx_tensor* left, const etx_tensor* right,
                              const etx_tensor* out, bool transposed) {
  const size_t r = left->rank;
  const size_t inner = transposed ? r - 1 : r - 2;
  const size_t column = transposed ? r - 2 : r - 1;
  const etx_product product = {
      .rows = (size_t)left->sizes[r - 2],
      .columns = (size_t)right->sizes[column],
      .inner = (size_t)left->sizes[r - 1],
      .dtype = left->dtype,
      .left = left->data,
      .left_row = left->strides[r - 2],
      .left_inner = left->strides[r - 1],
      .right = right->data,
      .right_inner = right->strides[inner],
      .right_column = right->strides[column],
      .out = out->data,
      .out_row = right->sizes[column],
  };
  return product;
}

static etx_status run_mm(etx_call* call) {
  const etx_product product =
      product_of(etx_call_tensor(call, 0), etx_call_tensor(call, 1),
                 etx_call_tensor(call, 2), false);
  etx_product_run(&product, call->parallel);
  return ETX_OK;
}

etx_status etx_kernel_mm_out_prepare(etx_call* call) {
  return prepare(call, 0, run_mm);
}

static void run_batch(const etx_call* call, bool transposed) {
  const etx_tensor* left = etx_call_tensor(call, 0);
  const etx_tensor* right = etx_call_tensor(call, 1);
  const etx_tensor* out = etx_call_tensor(call, 2);
  etx_product product = product_of(left, right, out, transposed);
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(left->dtype);
  const ptrdiff_t out_step = (ptrdiff_t)(product.rows * product.columns);
  if (out_step == 0) return;
  for (int32_t i = 0; i < left->sizes[0]; ++i) {
    etx_product_run(&product, call->parallel);
    product.left += left->strides[0] * bytes;
    product.right += right->strides[0] * bytes;
    product.out += out_step * bytes;
  }
}

static etx_status run_bmm(etx_call* call) {
  run_batch(call, false);
  return ETX_OK;
}

static etx_status run_bmm_nt(etx_call* call) {
  run_batch(call, true);
  return ETX_OK;
}

etx_status etx_kernel_bmm_out_prepare(etx_call* call) {
  return prepare(call, 0, run_bmm);
}
etx_status etx_kernel_bmm_nt_out_prepare(etx_call* call) {
  return prepare(call, 0, run_bmm_nt);
}

// Adds `added`, which broadcasts to [rows, columns], to the product.
static void add_tensor(etx_product* product, const etx_tensor* added) {
  product->added = added->data;
  if (added->rank >= 1 && added->sizes[added->rank - 1] != 1) {
    product->added_column = added->strides[added->rank - 1];
  }
  if (added->rank >= 2 && added->sizes[added->rank - 2] != 1) {
    product->added_row = added->strides[added->rank - 2];
  }
  product->alpha = product->beta = etx_number_one(added->dtype);
}

// (self, mat1, mat2, beta, alpha, out)
static etx_status run_addmm(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, 0);
  etx_product product =
      product_of(etx_call_tensor(call, 1), etx_call_tensor(call, 2),
                 etx_call_tensor(call, 5), false);
  const double beta = etx_call_real(call, 3), alpha = etx_call_real(call, 4);
  add_tensor(&product, self);
  product.beta = etx_number_read(etx_call_value(call, 3), self->dtype);
  product.alpha = etx_number_read(etx_call_value(call, 4), self->dtype);
  product.is_scaled = beta != 1 || alpha != 1;
  product.ignores_added = beta == 0;
  etx_product_run(&product, call->parallel);
  return ETX_OK;
}

etx_status etx_kernel_addmm_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, 1, 0));
  for (size_t i = 3; i <= 4; ++i) {
    const etx_dtype_category given =
        etx_number_category(etx_call_value(call, i));
    const etx_dtype own = etx_call_tensor(call, 0)->dtype;
    if (given <= etx_dtype_category_of(own)) continue;
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "a factor is a float, the matrices have type '%s'",
                           etx_dtype_name(own));
  }
  return prepare(call, 1, run_addmm);
}

// (input [.., K], weight [N, K] or [K], bias, out): the leading dimensions of
// input are rows.
static etx_status run_linear(etx_call* call) {
  const etx_tensor* input = etx_call_tensor(call, 0);
  const etx_tensor* weight = etx_call_tensor(call, 1);
  const etx_tensor* out = etx_call_tensor(call, 3);
  const bool is_vector = weight->rank == 1;
  const size_t inner = (size_t)input->sizes[input->rank - 1];
  const size_t columns = is_vector ? 1 : (size_t)weight->sizes[0];
  if (columns == 0) return ETX_OK;
  etx_product product = {
      .rows = etx_tensor_numel(out) / columns,
      .columns = columns,
      .inner = inner,
      .dtype = input->dtype,
      .left = input->data,
      .left_row = (ptrdiff_t)inner,
      .left_inner = 1,
      .right = weight->data,
      .right_inner = weight->strides[weight->rank - 1],
      .right_column = is_vector ? 0 : weight->strides[0],
      .out = out->data,
      .out_row = (ptrdiff_t)columns,
  };
  if (!etx_call_is_none(call, 2)) {
    add_tensor(&product, etx_call_tensor(call, 2));
  }
  etx_product_run(&product, call->parallel);
  return ETX_OK;
}

etx_status etx_kernel_linear_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_contiguous(call, 0));
  if (!etx_call_is_none(call, 2)) {
    ETX_TRY(etx_call_check_same_dtype(call, 0, 2));
    if (etx_call_tensor(call, 2)->rank > 1) {
      return etx_call_refuse(call, ETX_UNSUPPORTED,
                             "'bias' has rank %i, expected 0 or 1",
                             (int64_t)etx_call_tensor(call, 2)->rank);
    }
  }
  return prepare(call, 0, run_linear);
}
