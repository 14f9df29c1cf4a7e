// Pooling as the maximum or the mean of strided slices, one for each place of
// the window: no kernel is needed, and the sizes may vary.
//
// Padding is stated by minus infinity for a maximum; a mean counts padding
// with zeros, or, where it must not be counted, only without any.

#include <math.h>

#include "exporter/lower_internal.h"

enum { MAX_SPATIAL = 2 };

typedef struct window {
  size_t spatial;  // pooled dimensions, the last ones
  int64_t kernel[MAX_SPATIAL];
  int64_t stride[MAX_SPATIAL];
  int64_t padding[MAX_SPATIAL];
  int64_t dilation[MAX_SPATIAL];
} window;

// A list with one entry a dimension, or one for all; empty takes `otherwise`.
static etx_status read_list(etx_lower* lower, const etx_ir_arg* list,
                            size_t spatial, const int64_t* otherwise,
                            int64_t* out) {
  const size_t count = list->as.list.count;
  if (count != 0 && count != 1 && count != spatial) {
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                         "a list of '%t' has %z entries, expected %z",
                         lower->node->aten, count, spatial);
  }
  for (size_t i = 0; i < spatial; ++i) {
    out[i] = count == 0 ? otherwise[i]
                        : list->as.list.items[count == 1 ? 0 : i].as.integer;
  }
  return ETX_OK;
}

// (self, kernel_size, stride, padding, ..)
static etx_status read_window(etx_lower* lower, size_t spatial, window* out) {
  static const int64_t ones[MAX_SPATIAL] = {1, 1};
  static const int64_t zeros[MAX_SPATIAL] = {0, 0};
  *out = (window){.spatial = spatial, .dilation = {1, 1}};
  ETX_TRY(read_list(lower, &lower->args[1], spatial, ones, out->kernel));
  ETX_TRY(read_list(lower, &lower->args[2], spatial, out->kernel, out->stride));
  ETX_TRY(read_list(lower, &lower->args[3], spatial, zeros, out->padding));
  const size_t rank = etx_lower_shape(lower, lower->args[0].as.value)->rank;
  for (size_t i = 0; i < spatial; ++i) {
    if (out->kernel[i] < 1 || out->stride[i] < 1 || out->padding[i] < 0 ||
        rank < spatial + 1) {
      return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                           "'%t' with such a window", lower->node->aten);
    }
  }
  return ETX_OK;
}

static etx_status pad(etx_lower* lower, const window* w, double value,
                      uint32_t* self) {
  etx_dim pads[2 * MAX_SPATIAL];
  bool any = false;
  for (size_t i = 0; i < w->spatial; ++i) {
    const size_t from_end = w->spatial - 1 - i;
    pads[2 * from_end] = pads[2 * from_end + 1] = w->padding[i];
    any = any || w->padding[i] != 0;
  }
  if (!any) return ETX_OK;
  etx_ir_arg args[] = {etx_ir_value_arg(*self), etx_ir_none(),
                       etx_ir_double(value)};
  ETX_TRY(etx_lower_ints(lower, pads, 2 * w->spatial, &args[1]));
  return etx_lower_emit(lower, ETX_OP_constant_pad_nd_out, args, 3, self);
}

// One past the last element that the window's place `at` sees along a
// dimension of `size`: at + stride * (windows - 1) + 1.
static etx_status slice_end(etx_lower* lower, const window* w, size_t i,
                            etx_dim size, int64_t at, etx_dim* out) {
  etx_symbols* const symbols = &lower->method->symbols;
  const int64_t reach = w->dilation[i] * (w->kernel[i] - 1) + 1;
  etx_dim steps = 0;
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, size, reach, &steps));
  int64_t low = 0;
  int64_t high = 0;
  etx_symbols_bounds(symbols, steps, &low, &high);
  if (low < 0) {
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                         "'%t' with a window larger than the padded size",
                         lower->node->aten);
  }
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_FLOOR_DIVIDE, steps,
                            w->stride[i], &steps));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MULTIPLY, steps, w->stride[i],
                            &steps));
  return etx_symbols_apply(symbols, ETX_SYMBOL_ADD, steps, at + 1, out);
}

// The elements that place `at` of the window sees, one for each result.
static etx_status place(etx_lower* lower, const window* w, uint32_t self,
                        const int64_t* at, uint32_t* out_value) {
  for (size_t i = 0; i < w->spatial; ++i) {
    const etx_shape* const shape = etx_lower_shape(lower, self);
    const size_t axis = shape->rank - w->spatial + i;
    const int64_t start = at[i] * w->dilation[i];
    etx_dim end = 0;
    ETX_TRY(slice_end(lower, w, i, shape->dims[axis], start, &end));
    ETX_TRY(
        etx_lower_slice(lower, self, axis, start, end, w->stride[i], &self));
  }
  *out_value = self;
  return ETX_OK;
}

// Combines all places of the window with `op`.
static etx_status combine(etx_lower* lower, const window* w, uint32_t self,
                          etx_op_id op, uint32_t* out_value) {
  const int64_t second = w->spatial == 2 ? w->kernel[1] : 1;
  uint32_t result = ETX_IR_NONE;
  for (int64_t i = 0; i < w->kernel[0] * second; ++i) {
    const int64_t at[] = {i / second, i % second};
    uint32_t part = 0;
    ETX_TRY(place(lower, w, self, at, &part));
    if (result == ETX_IR_NONE) {
      result = part;
    } else {
      ETX_TRY(etx_lower_binary(lower, op, result, part, &result));
    }
  }
  *out_value = result;
  return ETX_OK;
}

static etx_status refuse_ceil(etx_lower* lower, const etx_ir_arg* ceil_mode) {
  if (!ceil_mode->as.boolean) return ETX_OK;
  return etx_diag_fail(lower->diag, ETX_UNSUPPORTED, "'%t' with ceil_mode",
                       lower->node->aten);
}

// (self, kernel_size, stride, padding, dilation, ceil_mode). The indices of
// max_pool2d_with_indices are not computed; only who reads them is refused.
static etx_status max_pool(etx_lower* lower, size_t spatial) {
  static const int64_t ones[MAX_SPATIAL] = {1, 1};
  window w;
  uint32_t self = lower->args[0].as.value;
  ETX_TRY(refuse_ceil(lower, &lower->args[5]));
  ETX_TRY(read_window(lower, spatial, &w));
  ETX_TRY(read_list(lower, &lower->args[4], spatial, ones, w.dilation));
  ETX_TRY(pad(lower, &w, -(double)INFINITY, &self));
  return combine(lower, &w, self, ETX_OP_maximum_out, &lower->results[0]);
}

etx_status etx_lowering_max_pool1d(etx_lower* lower) {
  return max_pool(lower, 1);
}

etx_status etx_lowering_max_pool2d(etx_lower* lower) {
  return max_pool(lower, 2);
}

// (self, kernel_size, stride, padding, ceil_mode, count_include_pad, ..)
static etx_status avg_pool(etx_lower* lower, size_t spatial) {
  window w;
  uint32_t self = lower->args[0].as.value;
  ETX_TRY(refuse_ceil(lower, &lower->args[4]));
  ETX_TRY(read_window(lower, spatial, &w));
  double count = 1.0;
  for (size_t i = 0; i < spatial; ++i) {
    count *= (double)w.kernel[i];
    if (w.padding[i] != 0 && !lower->args[5].as.boolean) {
      return etx_diag_fail(lower->diag, ETX_UNSUPPORTED,
                           "'%t' with padding that is not counted",
                           lower->node->aten);
    }
  }
  if (lower->arg_count > 6 && lower->args[6].kind == ETX_IR_ARG_INT) {
    count = (double)lower->args[6].as.integer;
  }
  ETX_TRY(pad(lower, &w, 0.0, &self));
  ETX_TRY(combine(lower, &w, self, ETX_OP_add_out, &self));
  return etx_lower_with_constant(lower, ETX_OP_div_out, self, count,
                                 &lower->results[0]);
}

etx_status etx_lowering_avg_pool1d(etx_lower* lower) {
  return avg_pool(lower, 1);
}

etx_status etx_lowering_avg_pool2d(etx_lower* lower) {
  return avg_pool(lower, 2);
}
