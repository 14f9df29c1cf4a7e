// stft, and Hann and Hamming windows.

#include "exporter/lower/builder/lowering_functions.h"

// ------------------------------------------------ windows

// constant - factor * cos(2 pi i / period) for i < length, computed in the
// window's type, step by step as PyTorch does.
static etx_status emit_cosine(etx_builder* builder, int64_t length,
                              int64_t period, etx_dtype dtype, double constant,
                              double factor) {
  const double turn = 2.0 * 3.14159265358979323846 / (double)period;
  uint32_t value = 0;
  ETX_TRY(etx_build_arange(builder, length, &value));
  ETX_TRY(etx_build_cast(builder, value, dtype, &value));
  ETX_TRY(
      etx_build_binary_constant(builder, ETX_OP_mul_out, value, turn, &value));
  ETX_TRY(etx_build_unary(builder, ETX_OP_cos_out, value, &value));
  ETX_TRY(etx_build_binary_constant(builder, ETX_OP_mul_out, value, -factor,
                                    &value));
  return etx_build_binary_constant(builder, ETX_OP_add_out, value, constant,
                                   &builder->results[0]);
}

// (window_length, [periodic,] dtype, ..)
static etx_status emit_window(etx_builder* builder, double constant,
                              double factor) {
  const bool is_stated = builder->args[1].kind == ETX_IR_ARG_BOOL;
  const bool is_periodic = !is_stated || builder->args[1].as.boolean;
  const etx_ir_arg* const type = &builder->args[is_stated ? 2 : 1];
  const etx_dtype dtype =
      type->kind == ETX_IR_ARG_DTYPE ? type->as.dtype : ETX_DTYPE_FLOAT32;
  const etx_dim length = builder->args[0].as.integer;
  if (!etx_dim_is_number(length) || length < 0) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' of a dynamic length is not supported",
                         builder->node->aten);
  }
  if (length <= 1) {
    return etx_build_full(builder, &length, 1, etx_ir_double(1.0), dtype,
                          &builder->results[0]);
  }
  return emit_cosine(builder, length, is_periodic ? length : length - 1, dtype,
                     constant, factor);
}

etx_status etx_lowering_hann_window(etx_builder* builder) {
  return emit_window(builder, 0.5, 0.5);
}

etx_status etx_lowering_hamming_window(etx_builder* builder) {
  return emit_window(builder, 0.54, 0.46);
}

// ------------------------------------------------ frames

// The window, zero-padded on both sides to the length of a frame; ETX_IR_NONE
// if there is none.
static etx_status read_window(etx_builder* builder, etx_dim frame,
                              etx_dim length, uint32_t* out_window) {
  const etx_ir_arg* const args = builder->args;
  const bool is_given = args[4].kind == ETX_IR_ARG_VALUE;
  uint32_t window = is_given ? args[4].as.value : ETX_IR_NONE;
  if (!is_given && length < frame) {
    const etx_dtype dtype = etx_builder_shape(builder, args[0].as.value)->dtype;
    ETX_TRY(etx_build_full(builder, &length, 1, etx_ir_double(1.0), dtype,
                           &window));
  }
  *out_window = window;
  if (length >= frame) return ETX_OK;
  const etx_dim left = (frame - length) / 2;
  const etx_dim pads[] = {left, frame - length - left};
  etx_ir_arg list;
  ETX_TRY(etx_build_int_list(builder, pads, 2, &list));
  return etx_build_pad_zeros(builder, window, &list, out_window);
}

// Frames of `frame` numbers at distances of `hop`, multiplied by the window.
static etx_status cut_frames(etx_builder* builder, etx_dim frame, etx_dim hop,
                             etx_dim length, uint32_t* out_value) {
  const uint32_t self = builder->args[0].as.value;
  const size_t rank = etx_builder_shape(builder, self)->rank;
  uint32_t window = ETX_IR_NONE;
  const etx_ir_arg args[] = {etx_ir_value_arg(self),
                             etx_ir_int((etx_dim)rank - 1), etx_ir_int(frame),
                             etx_ir_int(hop)};
  ETX_TRY(read_window(builder, frame, length, &window));
  ETX_TRY(etx_build_op(builder, ETX_OP_unfold_copy_out, args, 4, out_value));
  if (window == ETX_IR_NONE) return ETX_OK;
  return etx_build_binary(builder, ETX_OP_mul_out, *out_value, window,
                          out_value);
}

static bool is_true(const etx_ir_arg* arg, bool otherwise) {
  return arg->kind == ETX_IR_ARG_BOOL ? arg->as.boolean : otherwise;
}

// Transforms [.., frames, n_fft] to [.., frequencies, frames].
static etx_status emit_spectra(etx_builder* builder, uint32_t frames) {
  const size_t rank = etx_builder_shape(builder, frames)->rank;
  const etx_ir_arg* const args = builder->args;
  const etx_dim last = (etx_dim)rank - 1;
  // True is mode 1: divide by the square root of the length.
  const etx_dim norm = is_true(&args[5], false);
  etx_ir_arg transform[] = {etx_ir_value_arg(frames), etx_ir_none(),
                            etx_ir_int(norm),
                            etx_ir_bool(is_true(&args[6], true))};
  uint32_t value = 0;
  ETX_TRY(etx_build_int_list(builder, &last, 1, &transform[1]));
  ETX_TRY(etx_build_fft_r2c(builder, transform, &value));
  ETX_TRY(etx_build_transpose(builder, value, rank - 2, rank - 1, &value));
  builder->results[0] = value;
  if (is_true(&args[7], false)) return ETX_OK;
  return etx_build_unary(builder, ETX_OP_view_as_real_copy_out, value,
                         &builder->results[0]);
}

// stft(self, n_fft, hop_length, win_length, window, normalized, onesided,
//      return_complex, align_to_window)
etx_status etx_lowering_stft(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  const etx_shape* const self = etx_builder_shape(builder, args[0].as.value);
  const etx_dim frame = args[1].as.integer;
  const etx_dim hop =
      args[2].kind == ETX_IR_ARG_INT ? args[2].as.integer : frame / 4;
  const etx_dim length =
      args[3].kind == ETX_IR_ARG_INT ? args[3].as.integer : frame;
  uint32_t frames = 0;
  const bool is_plain =
      etx_dim_is_number(frame) && frame > 0 && hop > 0 && length > 0 &&
      length <= frame && !is_true(&args[8], false) &&
      (self->dtype == ETX_DTYPE_FLOAT32 || self->dtype == ETX_DTYPE_FLOAT64) &&
      (self->rank == 1 || self->rank == 2);
  if (!is_plain) {
    return etx_diag_fail(
        builder->diag, ETX_UNSUPPORTED,
        "'%t' is supported only for float32 or float64 tensors of rank 1 or 2, "
        "a fixed n_fft, win_length <= n_fft and align_to_window=False",
        builder->node->aten);
  }
  ETX_TRY(cut_frames(builder, frame, hop, length, &frames));
  return emit_spectra(builder, frames);
}
