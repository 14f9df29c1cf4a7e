// Discrete Fourier transforms (FFT) of real and complex tensors, and inverses.

#include "exporter/lower/builder/lowering_functions.h"

// The normalisation modes of the kernels: divide by 1, by the square root of
// the length, or by the length.
enum { BY_NOTHING, BY_ROOT, BY_COUNT };

// `norm` names the direction that divides by the length.
static etx_status read_norm(const etx_builder* builder, const etx_ir_arg* norm,
                            bool is_forward, etx_ir_arg* out) {
  const bool is_named = norm->kind == ETX_IR_ARG_STRING;
  const etx_text name = is_named ? norm->as.string : etx_text_of("backward");
  if (etx_text_is(name, "ortho")) {
    *out = etx_ir_int(BY_ROOT);
    return ETX_OK;
  }
  const bool divides_forward = etx_text_is(name, "forward");
  if (!divides_forward && !etx_text_is(name, "backward")) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'norm' is '%t', expected 'backward', 'ortho' or "
                         "'forward'",
                         name);
  }
  *out = etx_ir_int(divides_forward == is_forward ? BY_COUNT : BY_NOTHING);
  return ETX_OK;
}

static etx_status refuse_length(const etx_builder* builder, const char* name) {
  return etx_diag_fail(
      builder->diag, ETX_UNSUPPORTED,
      "'%t' with '%s' is not supported: pad or slice the input instead",
      builder->node->aten, name);
}

// Appends `count` zeros along `axis`.
static etx_status pad_end(etx_builder* builder, uint32_t self, size_t axis,
                          etx_dim count, uint32_t* out_value) {
  etx_dim pads[2 * ETX_MAX_RANK] = {0};
  const size_t after = etx_builder_shape(builder, self)->rank - 1u - axis;
  etx_ir_arg list;
  pads[2 * after + 1] = count;
  ETX_TRY(etx_build_int_list(builder, pads, 2 * (after + 1), &list));
  return etx_build_pad_zeros(builder, self, &list, out_value);
}

// Slices or zero-pads a dimension to the length `n`.
static etx_status fit_length(etx_builder* builder, const etx_ir_arg* length,
                             size_t axis) {
  uint32_t* const self = &builder->args[0].as.value;
  const etx_dim have = etx_builder_shape(builder, *self)->dims[axis];
  const etx_dim want = length->as.integer;
  if (length->kind == ETX_IR_ARG_NONE ||
      etx_symbols_equal(&builder->method->symbols, want, have)) {
    return ETX_OK;
  }
  if (!etx_dim_is_number(have) || !etx_dim_is_number(want)) {
    return refuse_length(builder, "n");
  }
  if (want < 1) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'n' is %i, expected at least 1", (int64_t)want);
  }
  return want < have ? etx_build_slice(builder, *self,
                                       (etx_dim_slice){axis, 0, want, 1}, self)
                     : pad_end(builder, *self, axis, want - have, self);
}

// Counts dimensions from the front, because ExecuTorch's kernels accept no
// negative ones.
static etx_status normalize_dims(etx_builder* builder, const etx_ir_arg* dims,
                                 etx_ir_arg* out) {
  const size_t rank =
      etx_builder_shape(builder, builder->args[0].as.value)->rank;
  const bool is_one = dims->kind == ETX_IR_ARG_INT;
  const etx_ir_arg* const items = is_one ? dims : dims->as.list.items;
  const size_t count = is_one ? 1 : dims->as.list.count;
  etx_dim wrapped[ETX_MAX_RANK];
  if (count > ETX_MAX_RANK) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "%z dimensions are transformed, expected at most %z",
                         count, (size_t)ETX_MAX_RANK);
  }
  for (size_t i = 0; i < count; ++i) {
    size_t axis = 0;
    ETX_TRY(etx_builder_axis(builder, items[i].as.integer, rank, &axis));
    wrapped[i] = (etx_dim)axis;
  }
  return etx_build_int_list(builder, wrapped, count, out);
}

// A list of dimensions, or all of them.
static etx_status read_dims(etx_builder* builder, const etx_ir_arg* dims,
                            etx_ir_arg* out) {
  etx_dim all[ETX_MAX_RANK];
  const size_t rank =
      etx_builder_shape(builder, builder->args[0].as.value)->rank;
  if (dims->kind != ETX_IR_ARG_NONE) return normalize_dims(builder, dims, out);
  for (size_t i = 0; i < rank; ++i) all[i] = (etx_dim)i;
  return etx_build_int_list(builder, all, rank, out);
}

etx_status etx_build_fft_r2c(etx_builder* builder, const etx_ir_arg* args,
                             uint32_t* out_value) {
  if (!args[3].as.boolean && builder->target != ETX_TARGET_ETX) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' with onesided=False runs only in etx's runtime: "
                         "plan for target 'etx'",
                         builder->node->aten);
  }
  return etx_build_op(builder, ETX_OP_fft_r2c_out, args, 4, out_value);
}

// (self, dim, normalization, onesided or last_dim_size)
etx_status etx_lowering_fft(etx_builder* builder) {
  ETX_TRY(normalize_dims(builder, &builder->args[1], &builder->args[1]));
  if (builder->row->op == ETX_OP_fft_r2c_out) {
    return etx_build_fft_r2c(builder, builder->args, &builder->results[0]);
  }
  return etx_lowering_direct(builder);
}

static etx_status transform(etx_builder* builder, etx_op_id op, etx_ir_arg dims,
                            const etx_ir_arg* norm, etx_ir_arg last) {
  etx_ir_arg args[] = {builder->args[0], dims, etx_ir_none(), last};
  ETX_TRY(read_norm(builder, norm, op == ETX_OP_fft_r2c_out, &args[2]));
  return etx_build_op(builder, op, args, 4, &builder->results[0]);
}

// The transformed dimension, argument 2, as an axis and as a list.
static etx_status read_dim(etx_builder* builder, size_t* axis,
                           etx_ir_arg* dims) {
  const size_t rank =
      etx_builder_shape(builder, builder->args[0].as.value)->rank;
  if (rank == 0) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' expects a tensor of rank 1 or more",
                         builder->node->aten);
  }
  ETX_TRY(etx_builder_axis(builder, builder->args[2].as.integer, rank, axis));
  const etx_dim dim = (etx_dim)*axis;
  return etx_build_int_list(builder, &dim, 1, dims);
}

// fft_rfft(self, n, dim, norm)
etx_status etx_lowering_fft_rfft(etx_builder* builder) {
  size_t axis = 0;
  etx_ir_arg dims;
  ETX_TRY(read_dim(builder, &axis, &dims));
  ETX_TRY(fit_length(builder, &builder->args[1], axis));
  return transform(builder, ETX_OP_fft_r2c_out, dims, &builder->args[3],
                   etx_ir_bool(true));
}

// fft_rfft2, fft_rfftn(self, s, dim, norm)
etx_status etx_lowering_fft_rfftn(etx_builder* builder) {
  etx_ir_arg dims;
  if (builder->args[1].kind != ETX_IR_ARG_NONE)
    return refuse_length(builder, "s");
  ETX_TRY(read_dims(builder, &builder->args[2], &dims));
  return transform(builder, ETX_OP_fft_r2c_out, dims, &builder->args[3],
                   etx_ir_bool(true));
}

// fft_irfft(self, n, dim, norm); n is 2 (size - 1) by default.
etx_status etx_lowering_fft_irfft(etx_builder* builder) {
  size_t axis = 0;
  etx_ir_arg dims;
  etx_ir_arg count = builder->args[1];
  ETX_TRY(read_dim(builder, &axis, &dims));
  if (count.kind == ETX_IR_ARG_NONE) {
    etx_symbols* const symbols = &builder->method->symbols;
    etx_dim size =
        etx_builder_shape(builder, builder->args[0].as.value)->dims[axis];
    ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, size, 1, &size));
    ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MULTIPLY, size, 2, &size));
    count = etx_ir_int(size);
  }
  return transform(builder, ETX_OP_fft_c2r_out, dims, &builder->args[3], count);
}

// ------------------------------------------------ real or complex input

// A two-sided transform. If self is real, it is r2c with onesided=False; the
// inverse is the conjugate of that.
static etx_status transform_all(etx_builder* builder, etx_ir_arg dims,
                                const etx_ir_arg* norm, bool is_forward) {
  etx_ir_arg args[] = {builder->args[0], dims, etx_ir_none(),
                       etx_ir_bool(is_forward)};
  const etx_dtype dtype = etx_builder_shape(builder, args[0].as.value)->dtype;
  ETX_TRY(read_norm(builder, norm, is_forward, &args[2]));
  if (etx_dtype_category_of(dtype) == ETX_CATEGORY_COMPLEX) {
    if (builder->target != ETX_TARGET_ETX)
      return etx_builder_refuse_target(builder);
    return etx_build_op(builder, ETX_OP_fft_c2c_out, args, 4,
                        &builder->results[0]);
  }
  uint32_t value = args[0].as.value;
  if (etx_dtype_category_of(dtype) < ETX_CATEGORY_FLOATING) {
    ETX_TRY(etx_build_cast(builder, value, ETX_DTYPE_FLOAT32, &value));
  }
  args[0] = etx_ir_value_arg(value);
  args[3] = etx_ir_bool(false);
  ETX_TRY(etx_build_fft_r2c(builder, args, &value));
  builder->results[0] = value;
  if (is_forward) return ETX_OK;
  return etx_build_unary(builder, ETX_OP_conj_physical_out, value,
                         &builder->results[0]);
}

// (self, n, dim, norm)
static etx_status transform_dim(etx_builder* builder, bool is_forward) {
  size_t axis = 0;
  etx_ir_arg dims;
  ETX_TRY(read_dim(builder, &axis, &dims));
  ETX_TRY(fit_length(builder, &builder->args[1], axis));
  return transform_all(builder, dims, &builder->args[3], is_forward);
}

etx_status etx_lowering_fft_fft(etx_builder* builder) {
  return transform_dim(builder, true);
}

etx_status etx_lowering_fft_ifft(etx_builder* builder) {
  return transform_dim(builder, false);
}

// (self, s, dim, norm)
static etx_status transform_dims(etx_builder* builder, bool is_forward) {
  etx_ir_arg dims;
  if (builder->args[1].kind != ETX_IR_ARG_NONE)
    return refuse_length(builder, "s");
  ETX_TRY(read_dims(builder, &builder->args[2], &dims));
  return transform_all(builder, dims, &builder->args[3], is_forward);
}

etx_status etx_lowering_fft_fftn(etx_builder* builder) {
  return transform_dims(builder, true);
}

etx_status etx_lowering_fft_ifftn(etx_builder* builder) {
  return transform_dims(builder, false);
}
