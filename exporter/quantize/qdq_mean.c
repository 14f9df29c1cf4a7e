// Means over the pixels of channels-last images: of a quantised image, computed
// over bytes, or of an elementwise chain over a quantised image. In the second
// case the chain writes floats, because rounding its result would change the
// mean.

#include "exporter/quantize/qdq_operators.h"
#include "exporter/ir/ir_edit.h"

// Arguments of mean(self, dim, keepdim, dtype) and of avg_pool2d.
enum { SELF, DIMS, KEEPS };
enum { SIZE = 1, PADDING = 3, DIVISOR = 6 };

typedef struct image_mean {
  etx_qdq_params numbers;  // of the image
  etx_qdq_tensor image;
  int64_t pixels;
  bool keeps;  // [N, C, 1, 1], else [N, C]
} image_mean;

// True if the list names rows and columns of [N, C, H, W].
static bool is_over_pixels(const etx_ir_arg* dims) {
  int64_t seen = 0;
  if (dims->kind != ETX_IR_ARG_LIST || dims->as.list.count != 2) return false;
  for (size_t i = 0; i < 2; ++i) {
    const etx_ir_arg* const dim = &dims->as.list.items[i];
    if (etx_rewrite_is_int(dim, 2) || etx_rewrite_is_int(dim, -2)) seen |= 1;
    if (etx_rewrite_is_int(dim, 3) || etx_rewrite_is_int(dim, -1)) seen |= 2;
  }
  return seen == 3;
}

// True if the two integers of a list argument (or one for both) are at least
// `least` and at most `most`.
static bool are_within(const etx_ir_arg* list, const etx_dim least[2],
                       etx_dim most) {
  for (size_t i = 0; i < 2; ++i) {
    const size_t at = list->as.list.count == 1 ? 0 : i;
    if (at >= list->as.list.count) return false;
    const etx_ir_arg* const item = &list->as.list.items[at];
    if (item->kind != ETX_IR_ARG_INT || !etx_dim_is_number(item->as.integer) ||
        item->as.integer < least[i] || item->as.integer > most) {
      return false;
    }
  }
  return true;
}

// True if the node is an average pooling over all pixels of an image. A window
// larger than the image is clipped, and so is the number it divides by.
static bool pools_all(const etx_rewrite* rewrite, const etx_ir_node* node) {
  static const etx_dim none[] = {0, 0};
  if (node->op->id != ETX_OP_avg_pool2d_out) return false;
  const etx_shape* const image = etx_rewrite_shape(rewrite, &node->args[SELF]);
  return image->rank == 4 && etx_dim_is_number(image->dims[2]) &&
         etx_dim_is_number(image->dims[3]) &&
         node->args[DIVISOR].kind == ETX_IR_ARG_NONE &&
         are_within(&node->args[PADDING], none, 0) &&
         are_within(&node->args[SIZE], &image->dims[2], INT32_MAX);
}

static bool is_mean_of_image(const etx_rewrite* rewrite,
                             const etx_ir_node* node) {
  return (node->op->id == ETX_OP_mean_out &&
          is_over_pixels(&node->args[DIMS]) &&
          etx_rewrite_shape(rewrite, &node->args[SELF])->rank == 4) ||
         pools_all(rewrite, node);
}

static bool keeps_rank(const etx_ir_node* node) {
  return node->op->id != ETX_OP_mean_out || node->args[KEEPS].as.boolean;
}

// Reads a mean over a quantised channels-last image; false for other images.
static bool read_mean(const etx_rewrite* rewrite, const etx_ir_node* node,
                      image_mean* out) {
  const etx_ir_node* const image = etx_qdq_tensor_dequantized(
      rewrite, node->args[SELF].as.value, &out->numbers);
  if (image == NULL ||
      !etx_qdq_tensor_find(rewrite, image->args[0].as.value, &out->image) ||
      !out->image.is_last) {
    return false;
  }
  const etx_dim* const dims =
      etx_rewrite_shape(rewrite, &node->args[SELF])->dims;
  if (!etx_dim_is_number(dims[2]) || !etx_dim_is_number(dims[3])) return false;
  if (dims[2] < 1 || dims[3] < 1 ||
      dims[2] > ETX_MEAN_U8_MOST_PIXELS / dims[3]) {
    return false;
  }
  out->pixels = dims[2] * dims[3];
  out->keeps = keeps_rank(node);
  return true;
}

// Appends the quantised mean.
static etx_status emit_u8_mean(etx_rewrite* rewrite, const image_mean* m,
                               const etx_qdq_params* results,
                               etx_qdq_tensor* out) {
  etx_builder* const builder = &rewrite->builder;
  const etx_qdq_params floats = {1.0, 0, 0, UINT8_MAX};
  const etx_qdq_params* const to = results == NULL ? &floats : results;
  const etx_ir_arg args[] = {
      etx_ir_value_arg(m->image.value),
      etx_ir_int(m->numbers.zero),
      etx_ir_double(m->numbers.scale / (double)m->pixels / to->scale),
      etx_ir_int(to->zero),
      etx_ir_int(to->least),
      etx_ir_int(to->most),
      etx_ir_dtype(results == NULL ? ETX_DTYPE_FLOAT32 : ETX_DTYPE_UINT8)};
  out->is_last = true;
  ETX_TRY(etx_fusion_report_fused(rewrite->fusions, builder, "quantised mean"));
  ETX_TRY(etx_build_op(builder, ETX_OP_mean_u8_out, args,
                       sizeof args / sizeof *args, &out->value));
  if (m->keeps) return ETX_OK;
  ETX_TRY(etx_qdq_tensor_set_layout(builder, false, out));
  const etx_shape shape = *etx_builder_shape(builder, out->value);
  return etx_build_view(builder, out->value, shape.dims, 2, &out->value);
}

// Appends the mean of a float image in either order, and a quantize of it.
static etx_status emit_float_mean(etx_rewrite* rewrite, etx_qdq_tensor image,
                                  bool keeps, const etx_qdq_params* results,
                                  etx_qdq_tensor* out) {
  etx_builder* const builder = &rewrite->builder;
  const etx_dim rows = image.is_last ? 1 : 2, dims[] = {rows, rows + 1};
  out->is_last = image.is_last && keeps;
  ETX_TRY(etx_build_reduce(builder, ETX_OP_mean_out, image.value,
                           (etx_reduced_dims){dims, 2, keeps}, &out->value));
  return results == NULL
             ? ETX_OK
             : etx_qdq_tensor_quantize(builder, out->value, results,
                                       ETX_DTYPE_UINT8, &out->value);
}

etx_status etx_qdq_mean(etx_rewrite* rewrite, const etx_ir_node* node,
                        const etx_qdq_params* results, etx_qdq_tensor* out,
                        bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  image_mean m;
  if (!is_mean_of_image(rewrite, node) ||
      etx_builder_shape(builder, node->outputs[0])->dtype !=
          ETX_DTYPE_FLOAT32) {
    return ETX_OK;
  }
  if (read_mean(rewrite, node, &m)) {
    *out_done = true;
    return emit_u8_mean(rewrite, &m, results, out);
  }
  const uint32_t floats = node->args[SELF].as.value;
  const bool keeps = keeps_rank(node);
  const etx_ir_node* const steps = etx_ir_definition(builder->method, floats);
  etx_qdq_tensor image;
  if (steps == NULL) return ETX_OK;
  ETX_TRY(etx_qdq_elementwise(rewrite, steps,
                              etx_rewrite_is_only_use(rewrite, floats), NULL,
                              &image, out_done));
  return *out_done ? emit_float_mean(rewrite, image, keeps, results, out)
                   : ETX_OK;
}
