// istft: the frames of an inverse transform are multiplied by the window and
// added where they overlap; the sum is divided by that of the squared windows.

#include "exporter/lower/builder/lowering_functions.h"

// The arguments of istft, with defaults filled in.
typedef struct istft_plan {
  etx_dim frame;  // n_fft
  etx_dim hop;
  etx_dim window_length;
  bool is_centered;
  etx_dim frame_count;
  etx_dim signal;  // samples that the frames cover
  etx_dtype dtype;
} istft_plan;

static etx_dim integer_of(const etx_ir_arg* arg, etx_dim otherwise) {
  return arg->kind == ETX_IR_ARG_INT ? arg->as.integer : otherwise;
}

static bool is_true(const etx_ir_arg* arg, bool otherwise) {
  return arg->kind == ETX_IR_ARG_BOOL ? arg->as.boolean : otherwise;
}

static etx_status read_plan(etx_builder* builder, istft_plan* plan) {
  const etx_ir_arg* const args = builder->args;
  const etx_shape* const self = etx_builder_shape(builder, args[0].as.value);
  etx_symbols* const symbols = &builder->method->symbols;
  const etx_dim frame = args[1].as.integer;
  plan->frame = frame;
  plan->hop = integer_of(&args[2], frame / 4);
  plan->window_length = integer_of(&args[3], frame);
  plan->is_centered = is_true(&args[5], true);
  if (!etx_dim_is_number(frame) || !etx_dim_is_number(plan->hop) ||
      !etx_dim_is_number(plan->window_length) || frame < 1 || plan->hop < 1 ||
      plan->window_length < 1 || plan->window_length > frame ||
      self->dtype != ETX_DTYPE_COMPLEX64 || self->rank < 2 || self->rank > 3 ||
      is_true(&args[9], false)) {
    return etx_diag_fail(
        builder->diag, ETX_UNSUPPORTED,
        "'%t' is supported only for complex64 tensors of rank 2 or 3, a fixed "
        "n_fft and hop_length, win_length <= n_fft and return_complex=False",
        builder->node->aten);
  }
  plan->dtype = ETX_DTYPE_FLOAT32;
  plan->frame_count = self->dims[self->rank - 1];
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, plan->frame_count, 1,
                            &plan->signal));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MULTIPLY, plan->signal,
                            plan->hop, &plan->signal));
  return etx_symbols_apply(symbols, ETX_SYMBOL_ADD, plan->signal, frame,
                           &plan->signal);
}

// The window [n_fft], with zeros on both sides.
static etx_status make_window(etx_builder* builder, const istft_plan* plan,
                              uint32_t* out_window) {
  const etx_ir_arg* const given = &builder->args[4];
  const etx_dim left = (plan->frame - plan->window_length) / 2;
  const etx_dim pads[] = {left, plan->frame - plan->window_length - left};
  etx_ir_arg list;
  if (given->kind == ETX_IR_ARG_VALUE) {
    ETX_TRY(etx_build_cast(builder, given->as.value, plan->dtype, out_window));
  } else {
    ETX_TRY(etx_build_full(builder, &plan->window_length, 1, etx_ir_double(1.0),
                           plan->dtype, out_window));
  }
  if (plan->window_length == plan->frame) return ETX_OK;
  ETX_TRY(etx_build_int_list(builder, pads, 2, &list));
  return etx_build_pad_zeros(builder, *out_window, &list, out_window);
}

// Spectra [B, frequencies, frames] to frames of samples [B, frames, n_fft].
static etx_status make_frames(etx_builder* builder, const istft_plan* plan,
                              uint32_t spectra, uint32_t* out_frames) {
  const etx_ir_arg* const args = builder->args;
  const etx_dim last = 2;
  const etx_dim half = plan->frame / 2 + 1;
  uint32_t value = 0;
  ETX_TRY(etx_build_transpose(builder, spectra, 1, 2, &value));
  const etx_dim found = etx_builder_shape(builder, value)->dims[2];
  if (found != half && found != plan->frame) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' expects %i or %i frequencies, found %i",
                         builder->node->aten, half, plan->frame, found);
  }
  if (found != half) {
    ETX_TRY(etx_build_slice(builder, value, (etx_dim_slice){2, 0, half, 1},
                            &value));
  }
  // Mode 1 divides by the square root of the length, mode 2 by the length.
  etx_ir_arg transform[] = {etx_ir_value_arg(value), etx_ir_none(),
                            etx_ir_int(is_true(&args[6], false) ? 1 : 2),
                            etx_ir_int(plan->frame)};
  ETX_TRY(etx_build_int_list(builder, &last, 1, &transform[1]));
  return etx_build_op(builder, ETX_OP_fft_c2r_out, transform, 4, out_frames);
}

// Adds frames [B, frames, n_fft] at distances of hop: [B, signal].
static etx_status add_frames(etx_builder* builder, const istft_plan* plan,
                             uint32_t frames, uint32_t* out_signal) {
  const etx_shape shape = *etx_builder_shape(builder, frames);
  etx_dim sizes[2] = {shape.dims[0], 0};
  uint32_t places = 0, sum = 0;
  ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_MULTIPLY,
                            plan->frame_count, plan->frame, &sizes[1]));
  ETX_TRY(etx_build_view(builder, frames, sizes, 2, &frames));
  ETX_TRY(etx_build_arange(builder, plan->signal, &places));
  const etx_ir_arg cut[] = {etx_ir_value_arg(places), etx_ir_int(0),
                            etx_ir_int(plan->frame), etx_ir_int(plan->hop)};
  ETX_TRY(etx_build_op(builder, ETX_OP_unfold_copy_out, cut, 4, &places));
  ETX_TRY(etx_build_view(builder, places, &sizes[1], 1, &places));
  sizes[1] = plan->signal;
  ETX_TRY(
      etx_build_full(builder, sizes, 2, etx_ir_double(0.0), plan->dtype, &sum));
  etx_ir_arg* const items =
      etx_pool_take(builder->module->pool, 2 * sizeof(etx_ir_arg));
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  items[0] = etx_ir_none();
  items[1] = etx_ir_value_arg(places);
  const etx_ir_arg put[] = {etx_ir_value_arg(sum), etx_ir_list(items, 2),
                            etx_ir_value_arg(frames), etx_ir_bool(true)};
  return etx_build_op(builder, ETX_OP_index_put_out, put, 4, out_signal);
}

// The sum of the squared windows, [1, signal].
static etx_status add_windows(etx_builder* builder, const istft_plan* plan,
                              uint32_t window, uint32_t* out_sum) {
  const etx_dim sizes[] = {1, plan->frame_count, plan->frame};
  uint32_t squared = 0;
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, window, window, &squared));
  ETX_TRY(etx_build_expand(builder, squared, sizes, 3, &squared));
  return add_frames(builder, plan, squared, out_sum);
}

// Cuts [B, signal] to what the model asks for, and adds zeros at the end.
static etx_status cut_signal(etx_builder* builder, const istft_plan* plan,
                             uint32_t* value) {
  etx_symbols* const symbols = &builder->method->symbols;
  const etx_ir_arg* const length = &builder->args[8];
  const etx_dim start = plan->is_centered ? plan->frame / 2 : 0;
  etx_dim end = plan->signal, missing = 0;
  if (length->kind == ETX_IR_ARG_INT) {
    ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_ADD, length->as.integer,
                              start, &end));
  } else {
    ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, end, start, &end));
  }
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, end, plan->signal,
                            &missing));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MAXIMUM, missing, 0, &missing));
  ETX_TRY(
      etx_symbols_apply(symbols, ETX_SYMBOL_MINIMUM, end, plan->signal, &end));
  ETX_TRY(etx_build_slice(builder, *value, (etx_dim_slice){1, start, end, 1},
                          value));
  if (missing == 0) return ETX_OK;
  etx_ir_arg list;
  const etx_dim pads[] = {0, missing};
  ETX_TRY(etx_build_int_list(builder, pads, 2, &list));
  return etx_build_pad_zeros(builder, *value, &list, value);
}

// istft(self, n_fft, hop_length, win_length, window, center, normalized,
//       onesided, length, return_complex)
etx_status etx_lowering_istft(etx_builder* builder) {
  istft_plan plan;
  uint32_t spectra = builder->args[0].as.value;
  uint32_t window = 0, frames = 0, signal = 0, sum = 0;
  ETX_TRY(read_plan(builder, &plan));
  const bool is_one = etx_builder_shape(builder, spectra)->rank == 2;
  if (is_one) ETX_TRY(etx_build_unsqueeze(builder, spectra, 0, &spectra));
  ETX_TRY(make_window(builder, &plan, &window));
  ETX_TRY(make_frames(builder, &plan, spectra, &frames));
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, frames, window, &frames));
  ETX_TRY(add_frames(builder, &plan, frames, &signal));
  ETX_TRY(add_windows(builder, &plan, window, &sum));
  ETX_TRY(etx_build_binary(builder, ETX_OP_div_out, signal, sum, &signal));
  ETX_TRY(cut_signal(builder, &plan, &signal));
  builder->results[0] = signal;
  if (!is_one) return ETX_OK;
  const etx_dim length = etx_builder_shape(builder, signal)->dims[1];
  return etx_build_view(builder, signal, &length, 1, &builder->results[0]);
}
