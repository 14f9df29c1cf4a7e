// im2col and col2im.
//
// im2col unfolds rows, then columns; with dilation d, every d-th element of the
// window is kept. col2im is a transposed convolution with one-hot kernels: the
// kernel of each tap has a single 1 at the position of the tap.

#include "exporter/lower/builder/lowering_functions.h"

// The window in two dimensions: rows, then columns.
typedef struct patch_window {
  etx_dim size[2];
  etx_dim dilation[2];
  etx_dim padding[2];
  etx_dim stride[2];
} patch_window;

// The four lists from argument `first` on: kernel_size, dilation, padding,
// stride.
static etx_status read_window(etx_builder* builder, size_t first,
                              patch_window* out) {
  etx_dim* const into[] = {out->size, out->dilation, out->padding, out->stride};
  const etx_dim most = 1 << 16;
  for (size_t i = 0; i < 4; ++i) {
    const etx_ir_arg* const list = &builder->args[first + i];
    const size_t count = list->as.list.count;
    if (count != 1 && count != 2) {
      return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                           "'%t' expects lists of 2 numbers",
                           builder->node->aten);
    }
    for (size_t k = 0; k < 2; ++k) {
      const etx_dim number = list->as.list.items[k % count].as.integer;
      if (number < (into[i] == out->padding ? 0 : 1) || number > most) {
        return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                             "'%t' has %i in kernel_size, dilation, padding or "
                             "stride, which is out of range",
                             builder->node->aten, number);
      }
      into[i][k] = number;
    }
  }
  return ETX_OK;
}

// The number of windows along a dimension of `size`.
static etx_status window_count(etx_builder* builder, const patch_window* w,
                               size_t k, etx_dim size, etx_dim* out) {
  etx_symbols* const symbols = &builder->method->symbols;
  const etx_dim reach = w->dilation[k] * (w->size[k] - 1) + 1;
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_ADD, size,
                            2 * w->padding[k] - reach, out));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_FLOOR_DIVIDE, *out,
                            w->stride[k], out));
  return etx_symbols_apply(symbols, ETX_SYMBOL_ADD, *out, 1, out);
}

// ------------------------------------------------ images to columns

static etx_status pad_planes(etx_builder* builder, const patch_window* w,
                             uint32_t* value) {
  const etx_dim pads[] = {w->padding[1], w->padding[1], w->padding[0],
                          w->padding[0]};
  if (w->padding[0] == 0 && w->padding[1] == 0) return ETX_OK;
  etx_ir_arg args[] = {etx_ir_value_arg(*value), etx_ir_none(),
                       etx_ir_double(0.0)};
  ETX_TRY(etx_build_int_list(builder, pads, 4, &args[1]));
  return etx_build_op(builder, ETX_OP_constant_pad_nd_out, args, 3, value);
}

// Dimension `axis` becomes the positions of the window; the elements of the
// window become the last dimension.
static etx_status unfold(etx_builder* builder, const patch_window* w, size_t k,
                         size_t axis, uint32_t* value) {
  const etx_dim reach = w->dilation[k] * (w->size[k] - 1) + 1;
  const etx_ir_arg args[] = {etx_ir_value_arg(*value),
                             etx_ir_int((etx_dim)axis), etx_ir_int(reach),
                             etx_ir_int(w->stride[k])};
  ETX_TRY(etx_build_op(builder, ETX_OP_unfold_copy_out, args, 4, value));
  if (w->dilation[k] == 1) return ETX_OK;
  const size_t last = etx_builder_shape(builder, *value)->rank - 1u;
  return etx_build_slice(
      builder, *value, (etx_dim_slice){last, 0, reach, w->dilation[k]}, value);
}

// im2col(self, kernel_size, dilation, padding, stride)
etx_status etx_lowering_im2col(etx_builder* builder) {
  uint32_t value = builder->args[0].as.value;
  const bool has_batch = etx_builder_shape(builder, value)->rank == 4;
  const size_t order[] = {0, 1, 4, 5, 2, 3};
  patch_window w;
  ETX_TRY(read_window(builder, 1, &w));
  if (!has_batch) ETX_TRY(etx_build_unsqueeze(builder, value, 0, &value));
  if (etx_builder_shape(builder, value)->rank != 4) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' expects a tensor of rank 3 or 4",
                         builder->node->aten);
  }
  ETX_TRY(pad_planes(builder, &w, &value));
  ETX_TRY(unfold(builder, &w, 0, 2, &value));
  ETX_TRY(unfold(builder, &w, 1, 3, &value));
  ETX_TRY(etx_build_permute(builder, value, order, &value));
  const etx_shape shape = *etx_builder_shape(builder, value);
  etx_dim dims[] = {shape.dims[0], 0, 0};
  ETX_TRY(etx_builder_product(builder, shape.dims, 1, 4, &dims[1]));
  ETX_TRY(etx_builder_product(builder, shape.dims, 4, 6, &dims[2]));
  const size_t batch = has_batch ? 0 : 1;
  return etx_build_view(builder, value, dims + batch, 3 - batch,
                        &builder->results[0]);
}

// ------------------------------------------------ columns to images

// [taps, 1, rows, columns]: the kernel of each tap is 1 at its position, else
// 0.
static etx_status one_hot_kernels(etx_builder* builder, const patch_window* w,
                                  etx_dtype dtype, uint32_t* out) {
  const size_t taps = (size_t)(w->size[0] * w->size[1]);
  if (taps > 1024) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' with a kernel of %z elements is not supported, "
                         "expected at most 1024",
                         builder->node->aten, taps);
  }
  const size_t bytes = taps * taps * sizeof(float);
  float* const data = etx_pool_take(builder->module->pool, bytes);
  if (data == NULL) return ETX_OUT_OF_MEMORY;
  memset(data, 0, bytes);
  for (size_t i = 0; i < taps; ++i) data[i * taps + i] = 1.0f;
  const etx_ir_constant constant = {ETX_DTYPE_FLOAT32,
                                    4,
                                    {(etx_dim)taps, 1, w->size[0], w->size[1]},
                                    {(const uint8_t*)data, bytes}};
  ETX_TRY(etx_build_constant(builder, &constant, out));
  return etx_build_cast(builder, *out, dtype, out);
}

// The output padding of the transposed convolution: rows and columns of the
// image behind the last window.
static etx_status read_rest(etx_builder* builder, const patch_window* w,
                            const etx_dim sizes[2], const etx_dim counts[2],
                            etx_dim out[2]) {
  for (size_t k = 0; k < 2; ++k) {
    etx_dim covered = 0;
    ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_SUBTRACT,
                              counts[k], 1, &covered));
    ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_MULTIPLY,
                              covered, w->stride[k], &covered));
    ETX_TRY(etx_symbols_apply(
        &builder->method->symbols, ETX_SYMBOL_ADD, covered,
        w->dilation[k] * (w->size[k] - 1) + 1 - 2 * w->padding[k], &covered));
    ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_SUBTRACT,
                              sizes[k], covered, &out[k]));
    if (!etx_dim_is_number(out[k])) {
      return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                           "'%t' to dynamic sizes is not supported",
                           builder->node->aten);
    }
  }
  return ETX_OK;
}

// Sums the patches [images, taps, rows, columns] to images of one channel.
static etx_status sum_patches(etx_builder* builder, const patch_window* w,
                              const etx_dim rest[2], uint32_t* value) {
  const etx_dim none[] = {0, 0};
  etx_ir_arg args[9] = {etx_ir_value_arg(*value)};
  uint32_t weight = 0;
  ETX_TRY(one_hot_kernels(builder, w, etx_builder_shape(builder, *value)->dtype,
                          &weight));
  args[1] = etx_ir_value_arg(weight);
  args[2] = etx_ir_none();
  ETX_TRY(etx_build_int_list(builder, w->stride, 2, &args[3]));
  ETX_TRY(etx_build_int_list(builder, w->padding, 2, &args[4]));
  ETX_TRY(etx_build_int_list(builder, w->dilation, 2, &args[5]));
  args[6] = etx_ir_bool(true);
  const bool has_rest = rest[0] != 0 || rest[1] != 0;
  ETX_TRY(etx_build_int_list(builder, has_rest ? rest : none, 2, &args[7]));
  args[8] = etx_ir_int(1);
  return etx_build_op(builder, ETX_OP_convolution_out, args, 9, value);
}

// col2im(self, output_size, kernel_size, dilation, padding, stride)
etx_status etx_lowering_col2im(etx_builder* builder) {
  uint32_t value = builder->args[0].as.value;
  const etx_shape shape = *etx_builder_shape(builder, value);
  const etx_ir_arg* const sizes = &builder->args[1];
  patch_window w;
  ETX_TRY(read_window(builder, 2, &w));
  const etx_dim taps = w.size[0] * w.size[1];
  if (shape.rank < 2 || shape.rank > 3 || sizes->as.list.count != 2 ||
      !etx_dim_is_number(shape.dims[shape.rank - 2]) ||
      shape.dims[shape.rank - 2] % taps != 0) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' expects 2 output sizes and a fixed number of "
                         "rows that is a multiple of the kernel's elements",
                         builder->node->aten);
  }
  const etx_dim out[] = {sizes->as.list.items[0].as.integer,
                         sizes->as.list.items[1].as.integer};
  const etx_dim channels = shape.dims[shape.rank - 2] / taps;
  etx_dim dims[] = {channels, taps, 0, 0};
  etx_dim rest[2];
  if (shape.rank == 3) {
    const etx_dim images[] = {shape.dims[0], channels};
    ETX_TRY(etx_builder_product(builder, images, 0, 2, &dims[0]));
  }
  for (size_t k = 0; k < 2; ++k) {
    ETX_TRY(window_count(builder, &w, k, out[k], &dims[2 + k]));
  }
  ETX_TRY(read_rest(builder, &w, out, dims + 2, rest));
  ETX_TRY(etx_build_view(builder, value, dims, 4, &value));
  ETX_TRY(sum_patches(builder, &w, rest, &value));
  const etx_dim whole[] = {shape.dims[0], channels, out[0], out[1]};
  const size_t batch = shape.rank == 3 ? 0 : 1;
  return etx_build_view(builder, value, whole + batch, 4 - batch,
                        &builder->results[0]);
}
