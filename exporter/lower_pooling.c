// Pooling as the maximum or the mean of strided slices, one for each place of
// the window: no kernel is needed, and the sizes may vary.
//
// Padding is minus infinity for a maximum and zero for a mean. With ceil_mode a
// last window may reach beyond the padding: so much more is padded at the end.
// A mean divides by the elements that count, which differ at the edges.

#include <math.h>

#include "exporter/lower_internal.h"

// Dimensions that are pooled, and slices that a window may take.
enum { MAX_SPATIAL = 2, MAX_PLACES = 256 };

typedef struct window {
  size_t spatial;  // pooled dimensions, the last ones
  int64_t kernel[MAX_SPATIAL];
  int64_t stride[MAX_SPATIAL];
  int64_t padding[MAX_SPATIAL];
  int64_t dilation[MAX_SPATIAL];
  int64_t extra[MAX_SPATIAL];  // padding at the end for ceil_mode
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
  int64_t places = 1;
  for (size_t i = 0; i < spatial; ++i) {
    const bool fits =
        out->kernel[i] >= 1 && out->kernel[i] <= MAX_PLACES / places &&
        out->stride[i] >= 1 && out->stride[i] <= INT32_MAX &&
        out->padding[i] >= 0 && out->padding[i] <= INT32_MAX && rank > spatial;
    if (!fits) {
      return etx_diag_fail(lower->diag, ETX_UNSUPPORTED,
                           "'%t' with such a window, or one of more than %i "
                           "places",
                           lower->node->aten, (int64_t)MAX_PLACES);
    }
    places *= out->kernel[i];
  }
  return ETX_OK;
}

static etx_status pad(etx_lower* lower, const window* w, double value,
                      uint32_t* self) {
  etx_dim pads[2 * MAX_SPATIAL];
  bool any = false;
  for (size_t i = 0; i < w->spatial; ++i) {
    const size_t from_end = w->spatial - 1 - i;
    pads[2 * from_end] = w->padding[i];
    pads[2 * from_end + 1] = w->padding[i] + w->extra[i];
    any = any || w->padding[i] != 0 || w->extra[i] != 0;
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

static int64_t reach_of(const window* w, size_t i) {
  return w->dilation[i] * (w->kernel[i] - 1) + 1;
}

// Windows along a dimension of `size`; the last one must start inside the
// input or the padding before it.
static int64_t window_count(const window* w, size_t i, int64_t size,
                            bool ceil_mode) {
  const int64_t span = size + 2 * w->padding[i] - reach_of(w, i);
  const int64_t rounding = ceil_mode ? w->stride[i] - 1 : 0;
  if (span < 0) return 0;
  int64_t count = (span + rounding) / w->stride[i] + 1;
  if ((count - 1) * w->stride[i] >= size + w->padding[i]) --count;
  return count;
}

// The size of pooled dimension `i`, which must not vary.
static etx_status fixed_size(etx_lower* lower, const window* w, size_t i,
                             int64_t* out) {
  const etx_shape* const shape =
      etx_lower_shape(lower, lower->args[0].as.value);
  *out = shape->dims[shape->rank - w->spatial + i];
  if (*out >= 0 && *out <= INT32_MAX) return ETX_OK;
  return etx_diag_fail(lower->diag, ETX_UNSUPPORTED,
                       "'%t' of a dimension that varies, with ceil_mode or "
                       "padding that is not counted",
                       lower->node->aten);
}

// Finds the padding that ceil_mode adds.
static etx_status add_extra(etx_lower* lower, bool ceil_mode, window* w) {
  for (size_t i = 0; ceil_mode && i < w->spatial; ++i) {
    int64_t size = 0;
    ETX_TRY(fixed_size(lower, w, i, &size));
    const int64_t count = window_count(w, i, size, true);
    const int64_t needed = (count - 1) * w->stride[i] + reach_of(w, i);
    const int64_t present = size + 2 * w->padding[i];
    w->extra[i] = needed > present ? needed - present : 0;
  }
  return ETX_OK;
}

// (self, kernel_size, stride, padding, dilation, ceil_mode). The indices of
// max_pool2d_with_indices are not computed; only who reads them is refused.
static etx_status max_pool(etx_lower* lower, size_t spatial) {
  static const int64_t ones[MAX_SPATIAL] = {1, 1};
  window w;
  uint32_t self = lower->args[0].as.value;
  ETX_TRY(read_window(lower, spatial, &w));
  ETX_TRY(read_list(lower, &lower->args[4], spatial, ones, w.dilation));
  for (size_t i = 0; i < spatial; ++i) {
    if (w.dilation[i] >= 1 && w.dilation[i] <= INT32_MAX) continue;
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                         "'%t' with such a window", lower->node->aten);
  }
  ETX_TRY(add_extra(lower, lower->args[5].as.boolean, &w));
  ETX_TRY(pad(lower, &w, -(double)INFINITY, &self));
  return combine(lower, &w, self, ETX_OP_maximum_out, &lower->results[0]);
}

etx_status etx_lowering_max_pool1d(etx_lower* lower) {
  return max_pool(lower, 1);
}

etx_status etx_lowering_max_pool2d(etx_lower* lower) {
  return max_pool(lower, 2);
}

// Elements that window `at` along dimension `i` counts.
static int64_t counted(const window* w, size_t i, int64_t size, int64_t at,
                       bool padding_counts) {
  int64_t start = at * w->stride[i] - w->padding[i];
  int64_t end = start + w->kernel[i];
  const int64_t limit = padding_counts ? size + w->padding[i] : size;
  if (end > limit) end = limit;
  if (!padding_counts && start < 0) start = 0;
  return end - start;
}

// Divisors are stored in the file.
enum { MAX_DIVISORS = 1 << 20 };

// A constant with the elements that each window counts.
static etx_status divisors(etx_lower* lower, const window* w, bool ceil_mode,
                           bool padding_counts, etx_dtype dtype,
                           uint32_t* out_value) {
  int64_t size[MAX_SPATIAL] = {1, 1};
  etx_ir_constant constant = {
      ETX_DTYPE_INT64, (uint8_t)w->spatial, {0}, {NULL, 0}};
  size_t total = 1;
  for (size_t i = 0; i < w->spatial; ++i) {
    ETX_TRY(fixed_size(lower, w, i, &size[i]));
    constant.sizes[i] = window_count(w, i, size[i], ceil_mode);
    if (constant.sizes[i] < 1 ||
        constant.sizes[i] > MAX_DIVISORS / (int64_t)total) {
      return etx_diag_fail(lower->diag, ETX_UNSUPPORTED,
                           "'%t' with so many windows", lower->node->aten);
    }
    total *= (size_t)constant.sizes[i];
  }
  int64_t* const data =
      etx_pool_take(lower->module->pool, total * sizeof(int64_t));
  if (data == NULL) return ETX_OUT_OF_MEMORY;
  const int64_t columns = w->spatial == 2 ? constant.sizes[1] : 1;
  for (size_t i = 0; i < total; ++i) {
    const int64_t row = (int64_t)i / columns;
    data[i] = counted(w, 0, size[0], row, padding_counts);
    if (w->spatial == 2) {
      data[i] *= counted(w, 1, size[1], (int64_t)i % columns, padding_counts);
    }
  }
  constant.data = (etx_bytes){(const uint8_t*)data, total * sizeof *data};
  uint32_t index = 0;
  uint32_t value = 0;
  ETX_TRY(etx_ir_add_constant(lower->module, &constant, &index));
  ETX_TRY(etx_ir_constant_value(lower->module, lower->method, index, &value));
  return etx_lower_cast(lower, value, dtype, out_value);
}

// Divides the sums by a stated number, by the window's elements, or where
// windows differ by a constant.
static etx_status divide_sums(etx_lower* lower, const window* w,
                              uint32_t sums) {
  const etx_ir_arg* const args = lower->args;
  const bool ceil_mode = args[4].as.boolean;
  bool edges_differ = ceil_mode;
  double count = 1.0;
  for (size_t i = 0; i < w->spatial; ++i) {
    count *= (double)w->kernel[i];
    edges_differ = edges_differ || (w->padding[i] != 0 && !args[5].as.boolean);
  }
  const bool stated = lower->arg_count > 6 && args[6].kind == ETX_IR_ARG_INT;
  if (stated) count = (double)args[6].as.integer;
  if (stated || !edges_differ) {
    return etx_lower_with_constant(lower, ETX_OP_div_out, sums, count,
                                   &lower->results[0]);
  }
  uint32_t counts = 0;
  ETX_TRY(divisors(lower, w, ceil_mode, args[5].as.boolean,
                   etx_lower_shape(lower, sums)->dtype, &counts));
  return etx_lower_binary(lower, ETX_OP_div_out, sums, counts,
                          &lower->results[0]);
}

// (self, kernel_size, stride, padding, ceil_mode, count_include_pad,
// divisor_override)
static etx_status avg_pool(etx_lower* lower, size_t spatial) {
  window w;
  uint32_t self = lower->args[0].as.value;
  ETX_TRY(read_window(lower, spatial, &w));
  ETX_TRY(add_extra(lower, lower->args[4].as.boolean, &w));
  ETX_TRY(pad(lower, &w, 0.0, &self));
  ETX_TRY(combine(lower, &w, self, ETX_OP_add_out, &self));
  return divide_sums(lower, &w, self);
}

etx_status etx_lowering_avg_pool1d(etx_lower* lower) {
  return avg_pool(lower, 1);
}

etx_status etx_lowering_avg_pool2d(etx_lower* lower) {
  return avg_pool(lower, 2);
}
