// Emits quantised layers: converts scales and bias to units of the result's
// scale, packs weights, and appends the operator.

#include "exporter/quantize/qdq_layers.h"
#include "exporter/quantize/qdq_weights.h"
#include "exporter/ir/ir_edit.h"

enum { STRIDE = 3 };  // among the arguments; padding and dilation follow it
enum { MAX_DEPTHWISE_ROWS = 64 };  // of a window

// ------------------------------------------------ constants

static double number_at(const etx_ir_constant* constant, size_t index) {
  if (constant->dtype == ETX_DTYPE_FLOAT64) {
    double wide;
    memcpy(&wide, constant->data.data + index * sizeof wide, sizeof wide);
    return wide;
  }
  float narrow;
  memcpy(&narrow, constant->data.data + index * sizeof narrow, sizeof narrow);
  return (double)narrow;
}

static double scale_at(const etx_ir_constant* each, double all, size_t index) {
  return each == NULL ? all : number_at(each, index);
}

static float bias_at(const etx_qdq_layer* layer, size_t index) {
  int32_t number;
  if (layer->bias->dtype == ETX_DTYPE_FLOAT32) {
    return (float)number_at(layer->bias, index);
  }
  memcpy(&number, layer->bias->data.data + index * sizeof number,
         sizeof number);
  return (float)number *
         (float)scale_at(layer->bias_scales, layer->bias_scale, index);
}

// True if each output channel reads one input channel, its own.
static bool is_depthwise(const etx_qdq_layer* layer) {
  const etx_ir_constant* const w = layer->weight;
  return !layer->is_linear && layer->groups > 1 && w->sizes[1] == 1 &&
         w->sizes[0] == (int64_t)layer->groups &&
         (w->rank == 3 || w->sizes[2] <= MAX_DEPTHWISE_ROWS);
}

static etx_status add_floats(etx_builder* builder, float* data, size_t count,
                             etx_ir_arg* out) {
  const etx_ir_constant constant = {
      .dtype = ETX_DTYPE_FLOAT32,
      .rank = 1,
      .sizes = {(int64_t)count},
      .data = {(const uint8_t*)data, count * sizeof *data}};
  uint32_t value = 0;
  ETX_TRY(etx_build_constant(builder, &constant, &value));
  *out = etx_ir_value_arg(value);
  return ETX_OK;
}

// Scales and bias divided by `step`, the scale of a quantised result or 1.
static etx_status add_scales(etx_builder* builder, const etx_qdq_layer* layer,
                             double step, etx_ir_arg* out_scales,
                             etx_ir_arg* out_bias) {
  const size_t count = (size_t)layer->weight->sizes[0];
  float* const scales =
      etx_pool_take(builder->module->pool, count * sizeof *scales);
  float* const bias =
      etx_pool_take(builder->module->pool, count * sizeof *bias);
  if (scales == NULL || bias == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t o = 0; o < count; ++o) {
    const double own = scale_at(layer->scales, layer->scale, o);
    scales[o] = (float)(layer->numbers.scale * own / step);
    if (layer->bias != NULL) {
      bias[o] = (float)((double)bias_at(layer, o) / step);
    }
  }
  *out_bias = etx_ir_none();
  if (layer->bias != NULL) ETX_TRY(add_floats(builder, bias, count, out_bias));
  return add_floats(builder, scales, count, out_scales);
}

static etx_status add_weight(etx_rewrite* rewrite, const etx_qdq_layer* layer,
                             etx_ir_arg* out) {
  etx_builder* const builder = &rewrite->builder;
  etx_ir_module* const module = builder->module;
  const etx_ir_value* const from =
      &builder->method->values[layer->weight_value];
  const uint32_t origin = from->origin == ETX_IR_FROM_CONSTANT
                              ? from->index
                              : module->buffers[from->index].initial;
  etx_ir_constant weight;
  uint32_t value = 0;
  ETX_TRY(is_depthwise(layer)
              ? etx_qdq_weight_taps(module->pool, layer->weight, &weight)
              : etx_qdq_weight_panels(module->pool, layer->weight,
                                      layer->groups, &weight));
  ETX_TRY(etx_build_constant(builder, &weight, &value));
  *out = etx_ir_value_arg(value);
  return etx_constant_names_inherit(rewrite->constant_names, module, origin,
                                    builder->method->values[value].index);
}

// Sets the arguments (panels, offsets, scales, bias).
static etx_status add_constants(etx_rewrite* rewrite,
                                const etx_qdq_layer* layer, double step,
                                etx_ir_arg out[4]) {
  etx_builder* const builder = &rewrite->builder;
  // Copies, because adding constants may move the others.
  const etx_ir_constant weight = *layer->weight;
  etx_ir_constant scales, bias, bias_scales;
  etx_qdq_layer own = *layer;
  own.weight = &weight;
  if (own.scales != NULL) scales = *own.scales, own.scales = &scales;
  if (own.bias != NULL) bias = *own.bias, own.bias = &bias;
  if (own.bias_scales != NULL) {
    bias_scales = *own.bias_scales;
    own.bias_scales = &bias_scales;
  }
  etx_ir_constant offsets;
  uint32_t value = 0;
  ETX_TRY(add_weight(rewrite, &own, &out[0]));
  ETX_TRY(etx_qdq_weight_offsets(builder->module->pool, &weight,
                                 own.numbers.zero, &offsets));
  ETX_TRY(etx_build_constant(builder, &offsets, &value));
  out[1] = etx_ir_value_arg(value);
  return add_scales(builder, &own, step, &out[2], &out[3]);
}

// ------------------------------------------------ operators

// Sets the arguments (out_zero_point, out_min, out_max, dtype).
static void add_results(const etx_qdq_params* results, etx_ir_arg out[4]) {
  const etx_qdq_params floats = {1.0, 0, 0, UINT8_MAX};
  const etx_qdq_params* const n = results == NULL ? &floats : results;
  out[0] = etx_ir_int(n->zero);
  out[1] = etx_ir_int(n->least);
  out[2] = etx_ir_int(n->most);
  out[3] = etx_ir_dtype(results == NULL ? ETX_DTYPE_FLOAT32 : ETX_DTYPE_UINT8);
}

// Makes a list argument of a 1-d convolution 2-d, with `front` for the rows.
static etx_status add_row_dim(etx_builder* builder, const etx_ir_arg* list,
                              etx_dim front, etx_ir_arg* out) {
  const etx_dim both[] = {front, list->as.list.items[0].as.integer};
  return etx_build_int_list(builder, both, 2, out);
}

// Sets the arguments (stride, padding, dilation).
static etx_status add_window(etx_builder* builder, const etx_qdq_layer* layer,
                             etx_ir_arg out[3]) {
  static const etx_dim fronts[] = {1, 0, 1};
  for (size_t i = 0; i < 3; ++i) {
    out[i] = layer->args[STRIDE + i];
    if (layer->weight->rank == 4) continue;
    ETX_TRY(add_row_dim(builder, &layer->args[STRIDE + i], fronts[i], &out[i]));
  }
  return ETX_OK;
}

// Views a 1-d input [N, C, L] as a channels-last image [N, 1, L, C]. If it was
// permuted from such an image, takes that.
static etx_status view_as_image(etx_builder* builder,
                                const etx_qdq_tensor* lines,
                                etx_qdq_tensor* out) {
  etx_shape shape = *etx_builder_shape(builder, lines->value);
  shape.rank = 4;
  shape.dims[3] = shape.dims[2];
  shape.dims[2] = 1;
  *out = (etx_qdq_tensor){0};
  const etx_ir_node* const view =
      etx_ir_definition(builder->method, lines->value);
  const etx_ir_node* const permute =
      view == NULL || view->op->id != ETX_OP_view_copy_out
          ? NULL
          : etx_ir_definition(builder->method, view->args[0].as.value);
  const etx_ir_arg* const order =
      permute == NULL || permute->op->id != ETX_OP_permute_copy_out
          ? NULL
          : &permute->args[1];
  if (order != NULL && order->as.list.count == 4 &&
      etx_rewrite_is_int(&order->as.list.items[0], 0) &&
      etx_rewrite_is_int(&order->as.list.items[1], 3) &&
      etx_rewrite_is_int(&order->as.list.items[2], 1)) {
    const uint32_t image = permute->args[0].as.value;
    const etx_dim* const dims = etx_builder_shape(builder, image)->dims;
    const etx_dim wanted[] = {shape.dims[0], 1, shape.dims[3], shape.dims[1]};
    if (etx_builder_same_dims(builder, dims, wanted, 4)) {
      *out = (etx_qdq_tensor){image, true};
      return ETX_OK;
    }
  }
  ETX_TRY(etx_build_view(builder, lines->value, shape.dims, 4, &out->value));
  return etx_qdq_tensor_set_layout(builder, true, out);
}

static etx_status emit_linear(etx_rewrite* rewrite, const etx_qdq_layer* layer,
                              const etx_qdq_params* results, double step,
                              etx_qdq_tensor* out) {
  etx_ir_arg args[9];
  etx_qdq_tensor input;
  ETX_TRY(etx_qdq_tensor_as_uint8(rewrite, layer->input, &input));
  ETX_TRY(etx_qdq_tensor_set_layout(&rewrite->builder, false, &input));
  args[0] = etx_ir_value_arg(input.value);
  ETX_TRY(add_constants(rewrite, layer, step, &args[1]));
  add_results(results, &args[5]);
  out->is_last = false;
  return etx_build_op(&rewrite->builder, ETX_OP_linear_u8_out, args, 9,
                      &out->value);
}

static etx_status emit_2d(etx_rewrite* rewrite, const etx_qdq_layer* layer,
                          const etx_qdq_params* results, double step,
                          const etx_qdq_tensor* input, etx_qdq_tensor* out) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_constant* const w = layer->weight;
  const etx_dim kernel[] = {w->rank == 3 ? 1 : w->sizes[2],
                            w->sizes[w->rank - 1]};
  const bool depthwise = is_depthwise(layer);
  etx_ir_arg args[15];
  size_t count = 6;
  args[0] = etx_ir_value_arg(input->value);
  args[1] = etx_ir_int(layer->numbers.zero);
  if (!depthwise)
    ETX_TRY(etx_build_int_list(builder, kernel, 2, &args[count++]));
  ETX_TRY(add_window(builder, layer, &args[count]));
  count += 3;
  if (!depthwise) args[count++] = etx_ir_int((etx_dim)layer->groups);
  add_results(results, &args[count]);
  ETX_TRY(add_constants(rewrite, layer, step, &args[2]));
  out->is_last = true;
  return etx_build_op(
      builder, depthwise ? ETX_OP_depthwise_u8_out : ETX_OP_convolution_u8_out,
      args, count + 4, &out->value);
}

static etx_status emit_1d(etx_rewrite* rewrite, const etx_qdq_layer* layer,
                          const etx_qdq_params* results, double step,
                          const etx_qdq_tensor* input, etx_qdq_tensor* out) {
  etx_builder* const builder = &rewrite->builder;
  etx_qdq_tensor image, made;
  ETX_TRY(view_as_image(builder, input, &image));
  ETX_TRY(emit_2d(rewrite, layer, results, step, &image, &made));
  ETX_TRY(etx_qdq_tensor_set_layout(builder, false, &made));
  etx_shape shape = *etx_builder_shape(builder, made.value);
  shape.dims[2] = shape.dims[3];
  out->is_last = false;
  return etx_build_view(builder, made.value, shape.dims, 3, &out->value);
}

etx_status etx_qdq_layer_emit(etx_rewrite* rewrite, const etx_qdq_layer* layer,
                              const etx_qdq_params* results,
                              etx_qdq_tensor* out) {
  const double step = results == NULL ? 1.0 : results->scale;
  const bool is_1d = layer->weight->rank == 3;
  etx_qdq_tensor input;
  ETX_TRY(etx_fusion_report_fused(rewrite->fusions, &rewrite->builder,
                                  layer->kind));
  if (layer->is_linear) {
    return emit_linear(rewrite, layer, results, step, out);
  }
  ETX_TRY(etx_qdq_tensor_as_uint8(rewrite, layer->input, &input));
  ETX_TRY(etx_qdq_tensor_set_layout(&rewrite->builder, !is_1d, &input));
  return is_1d ? emit_1d(rewrite, layer, results, step, &input, out)
               : emit_2d(rewrite, layer, results, step, &input, out);
}
