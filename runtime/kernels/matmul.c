// mm, bmm, bmm_nt, addmm and linear.

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/operand.h"
#include "runtime/kernels/product.h"
#include "runtime/kernels/whole_math.h"

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

// out[i] = beta * self[i] + alpha * out[i] over a row, in the wide type.
typedef struct addition {
  etx_dtype dtype;
  etx_number alpha, beta;
  bool is_plain;      // alpha and beta are 1
  bool ignores_self;  // beta is 0: not even NaN gets through
} addition;

static void add_to_block(const addition* a, etx_block* out,
                         const etx_block* self, size_t count) {
  const etx_wide wide = etx_wide_of(a->dtype);
  for (size_t i = 0; i < count; ++i) {
    if (wide == ETX_WIDE_I64) {
      const int64_t added =
          a->ignores_self ? 0 : etx_wrap_multiply(a->beta.i64, self->i64[i]);
      out->i64[i] =
          etx_wrap_add(added, etx_wrap_multiply(a->alpha.i64, out->i64[i]));
    } else if (wide == ETX_WIDE_F32) {
      const float added = a->ignores_self ? 0 : a->beta.f32 * self->f32[i];
      out->f32[i] = added + a->alpha.f32 * out->f32[i];
    } else {
      const double added = a->ignores_self ? 0 : a->beta.f64 * self->f64[i];
      out->f64[i] = added + a->alpha.f64 * out->f64[i];
    }
  }
}

static void add_row(const addition* a, char* out, const char* self,
                    ptrdiff_t self_stride, size_t count) {
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(a->dtype);
  if (a->is_plain && a->dtype == ETX_DTYPE_FLOAT32 && self_stride == 1) {
    float* to = (float*)(void*)out;
    const float* from = (const float*)(const void*)self;
    for (size_t i = 0; i < count; ++i) to[i] = from[i] + to[i];
    return;
  }
  const etx_wide wide = etx_wide_of(a->dtype);
  etx_block product, added;
  for (size_t done = 0; done < count; done += ETX_BLOCK) {
    const size_t left = count - done;
    const size_t part = left < ETX_BLOCK ? left : ETX_BLOCK;
    char* to = out + (ptrdiff_t)done * bytes;
    etx_block_load(&product, wide, a->dtype, to, 1, part);
    etx_block_load(&added, wide, a->dtype,
                   self + (ptrdiff_t)done * self_stride * bytes, self_stride,
                   part);
    add_to_block(a, &product, &added, part);
    etx_block_store(&product, wide, a->dtype, to, 1, part);
  }
}

// Adds `self`, which broadcasts to [rows, columns], to the product's result.
static void add_to_product(const addition* a, const etx_product* product,
                           const etx_tensor* self) {
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(a->dtype);
  ptrdiff_t row_stride = 0, column_stride = 0;
  if (self->rank >= 1 && self->sizes[self->rank - 1] != 1) {
    column_stride = self->strides[self->rank - 1];
  }
  if (self->rank >= 2 && self->sizes[self->rank - 2] != 1) {
    row_stride = self->strides[self->rank - 2];
  }
  const char* from = self->data;
  for (size_t row = 0; row < product->rows; ++row) {
    add_row(a, product->out + (ptrdiff_t)row * product->out_row * bytes,
            from + (ptrdiff_t)row * row_stride * bytes, column_stride,
            product->columns);
  }
}

// (self, mat1, mat2, beta, alpha, out)
static etx_status run_addmm(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, 0);
  const etx_product product =
      product_of(etx_call_tensor(call, 1), etx_call_tensor(call, 2),
                 etx_call_tensor(call, 5), false);
  const double beta = etx_call_real(call, 3), alpha = etx_call_real(call, 4);
  const addition a = {
      .dtype = self->dtype,
      .beta = etx_number_read(etx_call_value(call, 3), self->dtype),
      .alpha = etx_number_read(etx_call_value(call, 4), self->dtype),
      .is_plain = beta == 1 && alpha == 1,
      .ignores_self = beta == 0,
  };
  etx_product_run(&product, call->parallel);
  add_to_product(&a, &product, self);
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
  const etx_product product = {
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
  etx_product_run(&product, call->parallel);
  if (etx_call_is_none(call, 2)) return ETX_OK;
  const addition a = {.dtype = input->dtype,
                      .is_plain = true,
                      .alpha = etx_number_one(input->dtype),
                      .beta = etx_number_one(input->dtype)};
  add_to_product(&a, &product, etx_call_tensor(call, 2));
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
