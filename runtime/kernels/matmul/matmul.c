// The operators of matrix products: matrices, batches of matrices, and vectors,
// with and without an addition.

#include "format/base/checked_math.h"
#include "runtime/built_types.h"
#include "runtime/kernels/core/chain.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/registry/temporary_kernels.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/matmul/gemm.h"
#include "runtime/kernels/core/strided_iterator.h"

typedef etx_status (*temporary_function)(const etx_call* call,
                                         size_t* out_bytes);

static etx_status check_types(const etx_call* call, size_t first) {
  const size_t out = call->argument_count - 1;
  ETX_TRY(etx_call_check_real(call, first));
  ETX_TRY(etx_call_check_same_dtype(call, first, first + 1));
  ETX_TRY(etx_call_check_same_dtype(call, first, out));
  if (etx_call_tensor(call, first)->dtype != ETX_DTYPE_BOOL) return ETX_OK;
  return etx_call_refuse(call, ETX_BAD_ARGUMENT, "truth values are multiplied");
}

static etx_status set_run(etx_call* call, etx_kernel_function run,
                          temporary_function temporary) {
  if (temporary != NULL) ETX_TRY(temporary(call, &call->temporary_bytes));
  call->run = run;
  return ETX_OK;
}

// All tensors have one type; out is contiguous. `temporary` states the bytes of
// temporary memory, or is NULL.
static etx_status prepare(etx_call* call, size_t first, etx_kernel_function run,
                          temporary_function temporary) {
  ETX_TRY(etx_call_check_contiguous(call, call->argument_count - 1));
  if (etx_call_is_again(call)) return ETX_OK;
  ETX_TRY(check_types(call, first));
  return set_run(call, run, temporary);
}

// The last two dimensions of `left`, or its only one as a row, times those of
// `right`, or its only one as a column; `transposed` exchanges the two. Sets
// every field by name: clearing the whole struct first would take as long as a
// small product.
static etx_gemm product_of(const etx_tensor* left, const etx_tensor* right,
                           const etx_tensor* out, bool transposed) {
  const size_t l = left->rank, r = right->rank;
  const size_t inner = transposed || r == 1 ? r - 1 : r - 2;
  const size_t column = transposed ? r - 2 : r - 1;
  const size_t columns = r == 1 ? 1 : (size_t)right->sizes[column];
  return (etx_gemm){.rows = l == 1 ? 1 : (size_t)left->sizes[l - 2],
                    .columns = columns,
                    .inner = (size_t)left->sizes[l - 1],
                    .dtype = left->dtype,
                    .right_dtype = right->dtype,
                    .left = left->data,
                    .left_row = l == 1 ? 0 : left->strides[l - 2],
                    .left_inner = left->strides[l - 1],
                    .right = right->data,
                    .right_inner = right->strides[inner],
                    .right_column = r == 1 ? 0 : right->strides[column],
                    .has_panels = false,
                    .out = out->data,
                    .out_row = (ptrdiff_t)columns,
                    .part_columns = 0,
                    .part_step = 0,
                    .added = NULL,
                    .added_row = 0,
                    .added_column = 0,
                    .alpha = {.i64 = 0},
                    .beta = {.i64 = 0},
                    .is_scaled = false,
                    .ignores_added = false,
                    .ignores_product = false,
                    .chain = NULL};
}

// The right operand as [N / 16, K, 16].
static etx_gemm product_of_panels(const etx_tensor* left,
                                  const etx_tensor* panels,
                                  const etx_tensor* out) {
  etx_gemm product = product_of(left, panels, out, true);
  product.has_panels = true;
  product.columns = (size_t)panels->sizes[0] * ETX_GEMM_PANEL;
  product.out_row = (ptrdiff_t)product.columns;
  return product;
}

// ------------------------------------------------ temporary memory

// States the memory of one product after the other. It is asked for before the
// shape rule has checked ranks.
static etx_status bytes_of(const etx_call* call, const etx_gemm* product,
                           size_t* out_bytes) {
  if (etx_gemm_temporary(product, call->parallel, out_bytes)) return ETX_OK;
  return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                         "the blocks of a product do not fit in memory");
}

static etx_status bytes_of_operands(const etx_call* call, size_t first,
                                    bool transposed, size_t* out_bytes) {
  const etx_tensor* left = etx_call_tensor(call, first);
  const etx_tensor* right = etx_call_tensor(call, first + 1);
  *out_bytes = 0;
  if (left->rank == 0 || right->rank == 0) return ETX_OK;
  const etx_gemm product = product_of(left, right, left, transposed);
  return bytes_of(call, &product, out_bytes);
}

etx_status etx_temporary_product(const etx_call* call, size_t* out_bytes) {
  return bytes_of_operands(call, ETX_ARG_mm_self, false, out_bytes);
}
etx_status etx_temporary_bmm_nt(const etx_call* call, size_t* out_bytes) {
  return bytes_of_operands(call, ETX_ARG_bmm_nt_self, true, out_bytes);
}
etx_status etx_temporary_addmm(const etx_call* call, size_t* out_bytes) {
  return bytes_of_operands(call, ETX_ARG_addmm_mat1, false, out_bytes);
}

// The leading dimensions of the input are rows, as in multiply_rows.
etx_status etx_temporary_linear(const etx_call* call, size_t* out_bytes) {
  const etx_tensor* input = etx_call_tensor(call, ETX_ARG_linear_input);
  const etx_tensor* weight = etx_call_tensor(call, ETX_ARG_linear_weight);
  *out_bytes = 0;
  if (input->rank == 0 || weight->rank == 0 || weight->rank > 2) return ETX_OK;
  etx_gemm product = product_of(input, weight, input, true);
  for (size_t i = 0; i + 2 < input->rank; ++i) {
    if (!etx_multiply_size(product.rows, (size_t)input->sizes[i],
                           &product.rows)) {
      product.rows = SIZE_MAX;  // the elements are none
    }
  }
  return bytes_of(call, &product, out_bytes);
}

// ------------------------------------------------ operands

// Adds a tensor, whose last dimensions broadcast to [rows, columns], to the
// product.
static void set_added(etx_gemm* product, const etx_tensor* added) {
  const size_t r = added->rank;
  product->added = added->data;
  if (r >= 1 && added->sizes[r - 1] != 1) {
    product->added_column = added->strides[r - 1];
  }
  if (r >= 2 && added->sizes[r - 2] != 1) {
    product->added_row = added->strides[r - 2];
  }
  product->alpha = product->beta = etx_scalar_one(added->dtype);
}

// The factors of the added matrix and of the product: arguments `beta` and the
// next one.
static void set_factors(etx_gemm* product, const etx_call* call, size_t beta) {
  const double b = etx_call_real(call, beta);
  const double a = etx_call_real(call, beta + 1);
  product->beta = etx_scalar_read(etx_call_value(call, beta), product->dtype);
  product->alpha =
      etx_scalar_read(etx_call_value(call, beta + 1), product->dtype);
  product->is_scaled = b != 1 || a != 1;
  product->ignores_added = b == 0;
  product->ignores_product = a == 0;
}

// An integer factor, for integer products.
static etx_status check_factors(const etx_call* call, size_t beta,
                                etx_dtype tensor_dtype) {
  for (size_t i = beta; i < beta + 2; ++i) {
    const etx_dtype_category given =
        etx_scalar_category(etx_call_value(call, i));
    if (given <= etx_dtype_category_of(tensor_dtype)) continue;
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "a factor is a float, the matrices have type '%s'",
                           etx_dtype_name(tensor_dtype));
  }
  return ETX_OK;
}

// Adds an operand to the iterator over the batch: the dimensions of `tensor`
// before its matrix, right-aligned and broadcast.
static void add_batch(etx_strided_iterator* walk, const etx_tensor* tensor,
                      size_t matrix_dims) {
  ptrdiff_t strides[ETX_MAX_RANK];
  const size_t batch_rank =
      tensor->rank > matrix_dims ? tensor->rank - matrix_dims : 0;
  for (size_t i = 0; i < walk->rank; ++i) {
    const bool is_missing = i + batch_rank < walk->rank;
    const size_t at = i + batch_rank - walk->rank;
    strides[i] = is_missing || tensor->sizes[at] == 1 ? 0 : tensor->strides[at];
  }
  etx_strided_iterator_add_strided(walk, tensor->data,
                                   etx_dtype_bytes(tensor->dtype), strides);
}

// Runs a product once for each of the first `batch_rank` dimensions of out.
static void run_batches(const etx_call* call, etx_gemm* product,
                        size_t batch_rank, const etx_tensor* left,
                        const etx_tensor* right, const etx_tensor* added) {
  const etx_tensor* out = etx_call_tensor(call, call->argument_count - 1);
  if (etx_tensor_numel(out) == 0) return;
  if (batch_rank == 0) {
    etx_gemm_run(product, call->parallel, call->temporary);
    return;
  }
  etx_strided_iterator walk;
  etx_strided_iterator_init(&walk, out->sizes, batch_rank);
  add_batch(&walk, out, out->rank - batch_rank);
  add_batch(&walk, left, 2);
  add_batch(&walk, right, 2);
  if (added != NULL) add_batch(&walk, added, 2);
  for (bool more = etx_strided_iterator_start(&walk); more;
       more = etx_strided_iterator_next(&walk)) {
    product->out = walk.data[0];
    product->left = walk.data[1];
    product->right = walk.data[2];
    if (added != NULL) product->added = walk.data[3];
    for (size_t i = 0; i < walk.count; ++i) {
      etx_gemm_run(product, call->parallel, call->temporary);
      product->out += walk.stride[0] * walk.bytes[0];
      product->left += walk.stride[1] * walk.bytes[1];
      product->right += walk.stride[2] * walk.bytes[2];
      if (added != NULL) product->added += walk.stride[3] * walk.bytes[3];
    }
  }
}

// (self [.., M, K], other, out): batch dimensions broadcast.
static etx_status run_products(etx_call* call, bool transposed) {
  const etx_tensor* left = etx_call_tensor(call, ETX_ARG_mm_self);
  const etx_tensor* right = etx_call_tensor(call, ETX_ARG_mm_mat2);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_mm_out);
  etx_gemm product = product_of(left, right, out, transposed);
  const size_t matrix_rank =
      (left->rank > 1 ? 1u : 0u) + (right->rank > 1 ? 1u : 0u);
  run_batches(call, &product, out->rank - matrix_rank, left, right, NULL);
  return ETX_OK;
}

static etx_status run_product(etx_call* call) {
  return run_products(call, false);
}
static etx_status run_transposed(etx_call* call) {
  return run_products(call, true);
}

etx_status etx_kernel_mm_out_prepare(etx_call* call) {
  return prepare(call, 0, run_product, etx_temporary_product);
}
etx_status etx_kernel_bmm_out_prepare(etx_call* call) {
  return prepare(call, 0, run_product, etx_temporary_product);
}
etx_status etx_kernel_matmul_out_prepare(etx_call* call) {
  return prepare(call, 0, run_product, etx_temporary_product);
}
etx_status etx_kernel_mv_out_prepare(etx_call* call) {
  return prepare(call, 0, run_product, etx_temporary_product);
}
etx_status etx_kernel_dot_out_prepare(etx_call* call) {
  return prepare(call, 0, run_product, etx_temporary_product);
}
etx_status etx_kernel_bmm_nt_out_prepare(etx_call* call) {
  return prepare(call, 0, run_transposed, etx_temporary_bmm_nt);
}

// (self, left [.., M, K], right [.., K, N], beta, alpha, out)
static etx_status run_add(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_addmm_self);
  const etx_tensor* left = etx_call_tensor(call, ETX_ARG_addmm_mat1);
  const etx_tensor* right = etx_call_tensor(call, ETX_ARG_addmm_mat2);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_addmm_out);
  etx_gemm product = product_of(left, right, out, false);
  set_added(&product, self);
  set_factors(&product, call, 3);
  run_batches(call, &product, out->rank - 2u, left, right, self);
  return ETX_OK;
}

static etx_status prepare_add(etx_call* call) {
  ETX_TRY(
      etx_call_check_same_dtype(call, ETX_ARG_addmm_mat1, ETX_ARG_addmm_self));
  ETX_TRY(
      check_factors(call, 3, etx_call_tensor(call, ETX_ARG_addmm_self)->dtype));
  return prepare(call, 1, run_add, etx_temporary_addmm);
}

etx_status etx_kernel_addmm_out_prepare(etx_call* call) {
  return prepare_add(call);
}
etx_status etx_kernel_baddbmm_out_prepare(etx_call* call) {
  return prepare_add(call);
}

// (input [.., K], weight [N, K] or [K] or panels, bias [N] or [], .., out): the
// leading dimensions of a contiguous input are rows of one product.
static etx_status multiply_rows(etx_call* call, const etx_chain* chain) {
  const etx_tensor* input = etx_call_tensor(call, ETX_ARG_linear_input);
  const etx_tensor* weight = etx_call_tensor(call, ETX_ARG_linear_weight);
  const etx_tensor* out = etx_call_tensor(call, call->argument_count - 1);
  const size_t numel = etx_tensor_numel(out);
  if (numel == 0) return ETX_OK;
  etx_gemm product = weight->rank == 3 ? product_of_panels(input, weight, out)
                                       : product_of(input, weight, out, true);
  product.chain = chain;
  if (!etx_call_is_none(call, ETX_ARG_linear_bias)) {
    set_added(&product, etx_call_tensor(call, ETX_ARG_linear_bias));
  }
  if (input->rank > 2 && !etx_tensor_is_contiguous(input)) {
    const size_t batch_rank = input->rank - 2u;
    run_batches(call, &product, batch_rank, input, weight, NULL);
    return ETX_OK;
  }
  product.rows = numel / product.columns;
  if (input->rank > 2) {
    // The stride of a dimension of size 1 has no meaning.
    product.left_inner = 1;
    product.left_row = (ptrdiff_t)product.inner;
  }
  etx_gemm_run(&product, call->parallel, call->temporary);
  return ETX_OK;
}

static etx_status run_linear(etx_call* call) {
  return multiply_rows(call, NULL);
}

// True if a layer over float32 has a weight of halves.
static bool has_half_weight(const etx_call* call) {
  if (!ETX_HAS_DTYPE(FLOAT16) && !ETX_HAS_DTYPE(BFLOAT16)) return false;
  return etx_call_tensor(call, ETX_ARG_linear_input)->dtype ==
             ETX_DTYPE_FLOAT32 &&
         etx_dtype_is_half(etx_call_tensor(call, ETX_ARG_linear_weight)->dtype);
}

static etx_status prepare_linear(etx_call* call, etx_kernel_function run,
                                 temporary_function temporary) {
  if (!etx_call_is_again(call) &&
      !etx_call_is_none(call, ETX_ARG_linear_bias)) {
    ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_linear_input,
                                      ETX_ARG_linear_bias));
    if (etx_call_tensor(call, ETX_ARG_linear_bias)->rank > 1) {
      return etx_call_refuse(
          call, ETX_UNSUPPORTED, "'bias' has rank %i, expected 0 or 1",
          (int64_t)etx_call_tensor(call, ETX_ARG_linear_bias)->rank);
    }
  }
  if (etx_call_is_again(call) || !has_half_weight(call)) {
    return prepare(call, 0, run, temporary);
  }
  const size_t out = call->argument_count - 1;
  ETX_TRY(etx_call_check_contiguous(call, out));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_linear_input, out));
  return set_run(call, run, temporary);
}

etx_status etx_kernel_linear_out_prepare(etx_call* call) {
  return prepare_linear(call, run_linear, etx_temporary_linear);
}

// (input, weight, bias, others, steps, out)
static etx_status run_linear_chain(etx_call* call) {
  const etx_tensor* weight = etx_call_tensor(call, ETX_ARG_linear_chain_weight);
  etx_chain chain;
  etx_chain_read(call, ETX_ARG_linear_chain_others,
                 weight->rank == 1 ? 1 : (size_t)weight->sizes[0], &chain);
  return multiply_rows(call, &chain);
}

etx_status etx_kernel_linear_chain_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_linear_chain_input,
                               ETX_DTYPE_FLOAT32));
  // Rows of the product are rows of the chain only if one product computes all
  // of them.
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_linear_chain_input));
  ETX_TRY(etx_chain_check(call, ETX_ARG_linear_chain_others, 4));
  return prepare_linear(call, run_linear_chain, etx_temporary_linear);
}

// (input, panels, bias, others, steps, out), where steps may be x alone.
static etx_status run_linear_panels(etx_call* call) {
  const etx_tensor* panels =
      etx_call_tensor(call, ETX_ARG_linear_panels_panels);
  etx_chain chain;
  etx_chain_read(call, ETX_ARG_linear_panels_others,
                 (size_t)panels->sizes[0] * ETX_GEMM_PANEL, &chain);
  const bool has_steps = chain.count > 1 || chain.steps[0] != ETX_STEP_X;
  return multiply_rows(call, has_steps ? &chain : NULL);
}

static etx_status prepare_panels(etx_call* call, etx_kernel_function run) {
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_linear_panels_input,
                               ETX_DTYPE_FLOAT32));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_linear_panels_input));
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_linear_panels_panels,
                               ETX_DTYPE_FLOAT32));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_linear_panels_panels));
  // Panels are read in place, so no temporary memory is needed.
  return prepare_linear(call, run, NULL);
}

etx_status etx_kernel_linear_panels_out_prepare(etx_call* call) {
  ETX_TRY(etx_chain_check(call, ETX_ARG_linear_panels_others, 4));
  return prepare_panels(call, run_linear_panels);
}

// (input [.., T, K], panels, bias, heads, out [.., heads, T, N / heads]): one
// product for each of the leading dimensions.
static etx_status run_linear_heads(etx_call* call) {
  const etx_tensor* input = etx_call_tensor(call, ETX_ARG_linear_heads_input);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_linear_heads_out);
  etx_gemm product = product_of_panels(
      input, etx_call_tensor(call, ETX_ARG_linear_heads_panels), out);
  const size_t count = product.rows * product.columns;
  if (count == 0) return ETX_OK;
  product.left_inner = 1;
  product.left_row = (ptrdiff_t)product.inner;
  product.part_columns = (size_t)out->sizes[out->rank - 1];
  product.out_row = (ptrdiff_t)product.part_columns;
  product.part_step = (ptrdiff_t)(product.rows * product.part_columns);
  if (!etx_call_is_none(call, ETX_ARG_linear_heads_bias)) {
    set_added(&product, etx_call_tensor(call, ETX_ARG_linear_heads_bias));
  }
  for (size_t left = etx_tensor_numel(out) / count; left > 0; --left) {
    etx_gemm_run(&product, call->parallel, call->temporary);
    product.left += product.rows * product.inner * sizeof(float);
    product.out += count * sizeof(float);
  }
  return ETX_OK;
}

etx_status etx_kernel_linear_heads_out_prepare(etx_call* call) {
  return prepare_panels(call, run_linear_heads);
}
