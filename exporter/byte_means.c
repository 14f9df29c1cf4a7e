// Means over the pixels of images that lie channels last.

#include "exporter/byte_results.h"
#include "exporter/ir_edit.h"

// Arguments of a mean: (self, dim, keepdim, dtype).
enum { SELF, DIMS, KEEPS };

typedef struct mean {
  etx_byte_numbers numbers;  // of the image
  etx_byte_tensor image;
  int64_t pixels;
  bool keeps;  // [N, C, 1, 1], else [N, C]
} mean;

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

// Reads a mean over an image of bytes. False if the node is something else.
static bool read_mean(const etx_rewrite* rewrite, const etx_ir_node* node,
                      mean* out) {
  if (node->op->id != ETX_OP_mean_out || !is_over_pixels(&node->args[DIMS]) ||
      etx_lower_shape(&rewrite->lower, node->outputs[0])->dtype !=
          ETX_DTYPE_FLOAT32) {
    return false;
  }
  const etx_ir_node* const image =
      etx_byte_tensor_behind(rewrite, node->args[SELF].as.value, &out->numbers);
  if (image == NULL ||
      !etx_byte_tensor_find(rewrite, image->args[0].as.value, &out->image) ||
      !out->image.is_last) {
    return false;
  }
  const etx_dim* const dims =
      etx_rewrite_shape(rewrite, &node->args[SELF])->dims;
  if (!etx_dim_is_number(dims[2]) || !etx_dim_is_number(dims[3])) return false;
  out->pixels = dims[2] * dims[3];
  out->keeps = node->args[KEEPS].as.boolean;
  return out->pixels > 0;
}

etx_status etx_byte_mean(etx_rewrite* rewrite, const etx_ir_node* node,
                         const etx_byte_numbers* results, etx_byte_tensor* out,
                         bool* out_done) {
  etx_lower* const lower = &rewrite->lower;
  const etx_byte_numbers floats = {1.0, 0, 0, UINT8_MAX};
  const etx_byte_numbers* const to = results == NULL ? &floats : results;
  mean m;
  if (!read_mean(rewrite, node, &m)) return ETX_OK;
  const etx_ir_arg args[] = {
      etx_ir_value_arg(m.image.value),
      etx_ir_int(m.numbers.zero),
      etx_ir_double(m.numbers.scale / (double)m.pixels / to->scale),
      etx_ir_int(to->zero),
      etx_ir_int(to->least),
      etx_ir_int(to->most),
      etx_ir_dtype(results == NULL ? ETX_DTYPE_FLOAT32 : ETX_DTYPE_UINT8)};
  *out_done = true;
  out->is_last = true;
  ETX_TRY(etx_fusion_made(rewrite->fusions, lower, "quantised mean"));
  ETX_TRY(etx_lower_emit(lower, ETX_OP_mean_u8_out, args,
                         sizeof args / sizeof *args, &out->value));
  if (m.keeps) return ETX_OK;
  ETX_TRY(etx_byte_tensor_order(lower, false, out));
  const etx_shape shape = *etx_lower_shape(lower, out->value);
  return etx_lower_view(lower, out->value, shape.dims, 2, &out->value);
}
