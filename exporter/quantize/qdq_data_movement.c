// Operators that move elements or select the largest, computed over uint8.

#include "exporter/quantize/qdq_operators.h"
#include "exporter/ir/ir_edit.h"

// The position of a dimension of [N, C, H, W] in [N, H, W, C], and the inverse.
static const size_t last_of[] = {0, 3, 1, 2};
static const size_t from_last[] = {0, 2, 3, 1};

enum { SELF, DIM };
enum { MAX_OPERANDS = 64 };  // of a concatenation
enum { MAX_REPEATS = 4 };    // of rows and columns by an upsampling

static size_t rank_of(const etx_rewrite* rewrite, const etx_ir_node* node) {
  return etx_builder_shape(&rewrite->builder, node->outputs[0])->rank;
}

// Reads a dimension argument, converted to channels last if `is_last`.
static bool read_dim(const etx_ir_arg* arg, size_t rank, bool is_last,
                     etx_ir_arg* out) {
  if (arg->kind != ETX_IR_ARG_INT || !etx_dim_is_number(arg->as.integer)) {
    return false;
  }
  const int64_t dim =
      arg->as.integer < 0 ? arg->as.integer + (int64_t)rank : arg->as.integer;
  if (dim < 0 || dim >= (int64_t)rank) return false;
  *out = etx_ir_int(is_last ? (etx_dim)last_of[dim] : dim);
  return true;
}

// Appends an operator. Callers copy the arguments of a node before they append
// anything, because that may move the node.
static etx_status emit(etx_rewrite* rewrite, etx_op_id op,
                       const etx_ir_arg* args, size_t count, uint32_t* out) {
  return etx_build_op(&rewrite->builder, op, args, count, out);
}

// ------------------------------------------------ one operand

// Computes the quantised form of an operand; `*out_done` as in etx_qdq_result.
static etx_status quantize_operand(etx_rewrite* rewrite,
                                   const etx_ir_arg* operand,
                                   const etx_qdq_request* request,
                                   etx_qdq_tensor* out, bool* out_done) {
  return request->compute(rewrite, operand->as.value, request, out, out_done);
}

static etx_status move_any(etx_rewrite* rewrite, const etx_ir_node* node,
                           const etx_qdq_request* request, etx_qdq_tensor* out,
                           bool* out_done) {
  const etx_op_id op = node->op->id;
  const size_t count = node->arg_count;
  etx_ir_arg args[ETX_MAX_ARGUMENTS];
  memcpy(args, node->args, count * sizeof *args);
  ETX_TRY(quantize_operand(rewrite, &args[SELF], request, out, out_done));
  if (!*out_done) return ETX_OK;
  ETX_TRY(etx_qdq_tensor_set_layout(&rewrite->builder, false, out));
  args[SELF] = etx_ir_value_arg(out->value);
  return emit(rewrite, op, args, count, &out->value);
}

// ------------------------------------------------ channel shuffle

// The channel shuffle of a channels-last image: view as [N, outer, inner, H,
// W], exchange outer and inner, view back.
typedef struct channel_shuffle {
  uint32_t last;  // [N, H, W, C]
  etx_dim outer, inner;
} channel_shuffle;

// True if `split` [N, a, b, H, W] is a view of `whole` [N, C, H, W].
static bool splits_channels(const etx_builder* builder, const etx_shape* whole,
                            const etx_shape* split) {
  return whole->rank == 4 && split->rank == 5 &&
         etx_dim_is_number(split->dims[1]) &&
         etx_dim_is_number(split->dims[2]) &&
         whole->dims[1] == split->dims[1] * split->dims[2] &&
         etx_builder_same_dims(builder, whole->dims, split->dims, 1) &&
         etx_builder_same_dims(builder, &whole->dims[2], &split->dims[3], 2);
}

// Reads a channel shuffle whose last view, of shape `whole`, has operand
// `bytes`. False if it is not one, or its image is not channels last.
static bool read_shuffle(const etx_rewrite* rewrite, uint32_t bytes,
                         const etx_shape* whole, channel_shuffle* out) {
  static const int64_t order[] = {0, 2, 1, 3, 4};
  const etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const swap = etx_ir_definition(builder->method, bytes);
  etx_qdq_tensor image;
  if (swap == NULL || swap->op->id != ETX_OP_permute_copy_out ||
      swap->args[1].as.list.count != 5) {
    return false;
  }
  for (size_t i = 0; i < 5; ++i) {
    if (!etx_rewrite_is_int(&swap->args[1].as.list.items[i], order[i])) {
      return false;
    }
  }
  const etx_ir_node* const view =
      etx_rewrite_operand(rewrite, swap, SELF, ETX_OP_view_copy_out);
  if (view == NULL ||
      !etx_qdq_tensor_find(rewrite, view->args[SELF].as.value, &image)) {
    return false;
  }
  const etx_shape* const split = etx_builder_shape(builder, view->outputs[0]);
  *out = (channel_shuffle){image.value, split->dims[1], split->dims[2]};
  return image.is_last && splits_channels(builder, whole, split) &&
         splits_channels(builder, etx_rewrite_shape(rewrite, &view->args[SELF]),
                         split);
}

// Emits the shuffle in channels-last order, where it permutes within each
// pixel.
static etx_status emit_shuffle(etx_builder* builder, const channel_shuffle* s,
                               etx_qdq_tensor* out) {
  static const size_t order[] = {0, 1, 2, 4, 3};
  const etx_shape image = *etx_builder_shape(builder, s->last);
  etx_dim dims[5];
  memcpy(dims, image.dims, 3 * sizeof *dims);
  dims[3] = s->outer;
  dims[4] = s->inner;
  out->is_last = true;
  ETX_TRY(etx_build_view(builder, s->last, dims, 5, &out->value));
  ETX_TRY(etx_build_permute(builder, out->value, order, &out->value));
  return etx_build_view(builder, out->value, image.dims, 4, &out->value);
}

static etx_status view(etx_rewrite* rewrite, const etx_ir_node* node,
                       const etx_qdq_request* request, etx_qdq_tensor* out,
                       bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_shape whole = *etx_builder_shape(builder, node->outputs[0]);
  const size_t count = node->arg_count;
  etx_ir_arg args[ETX_MAX_ARGUMENTS];
  channel_shuffle s;
  memcpy(args, node->args, count * sizeof *args);
  ETX_TRY(quantize_operand(rewrite, &args[SELF], request, out, out_done));
  if (!*out_done) return ETX_OK;
  if (read_shuffle(rewrite, out->value, &whole, &s)) {
    return emit_shuffle(builder, &s, out);
  }
  ETX_TRY(etx_qdq_tensor_set_layout(builder, false, out));
  args[SELF] = etx_ir_value_arg(out->value);
  return emit(rewrite, ETX_OP_view_copy_out, args, count, &out->value);
}

// ------------------------------------------------ one operand, by dimensions

static etx_status permute(etx_rewrite* rewrite, const etx_ir_node* node,
                          const etx_qdq_request* request, etx_qdq_tensor* out,
                          bool* out_done) {
  const etx_ir_arg* const dims = &node->args[1];
  const size_t rank = dims->as.list.count;
  size_t order[ETX_MAX_RANK];
  for (size_t i = 0; i < rank; ++i) {
    etx_ir_arg dim;
    if (!read_dim(&dims->as.list.items[i], rank, false, &dim)) return ETX_OK;
    order[i] = (size_t)dim.as.integer;
  }
  ETX_TRY(quantize_operand(rewrite, &node->args[SELF], request, out, out_done));
  if (!*out_done) return ETX_OK;
  for (size_t i = 0; i < rank && out->is_last; ++i)
    order[i] = last_of[order[i]];
  out->is_last = false;
  return etx_build_permute(&rewrite->builder, out->value, order, &out->value);
}

static etx_status slice(etx_rewrite* rewrite, const etx_ir_node* node,
                        const etx_qdq_request* request, etx_qdq_tensor* out,
                        bool* out_done) {
  const size_t rank = rank_of(rewrite, node), count = node->arg_count;
  etx_ir_arg args[ETX_MAX_ARGUMENTS], dim;
  memcpy(args, node->args, count * sizeof *args);
  if (!read_dim(&args[DIM], rank, false, &dim)) return ETX_OK;
  ETX_TRY(quantize_operand(rewrite, &args[SELF], request, out, out_done));
  if (!*out_done || !read_dim(&dim, rank, out->is_last, &args[DIM])) {
    return ETX_OK;
  }
  args[SELF] = etx_ir_value_arg(out->value);
  return emit(rewrite, ETX_OP_slice_copy_tensor_out, args, count, &out->value);
}

// Converts the padding of [N, C, H, W] to that of [N, H, W, C]. The list has
// pairs from the last dimension on.
static etx_status permute_padding(etx_builder* builder, etx_ir_arg* list) {
  enum { RANK = 4 };
  etx_dim ends[2 * RANK] = {0}, dims[2 * RANK];
  for (size_t i = 0; i < list->as.list.count; ++i) {
    ends[i] = list->as.list.items[i].as.integer;
  }
  for (size_t i = 0; i < RANK; ++i) {
    const size_t from = RANK - 1 - from_last[RANK - 1 - i];
    memcpy(&dims[2 * i], &ends[2 * from], 2 * sizeof *dims);
  }
  return etx_build_int_list(builder, dims, sizeof dims / sizeof *dims, list);
}

// (self, pad, value)
static etx_status pad(etx_rewrite* rewrite, const etx_ir_node* node,
                      const etx_qdq_request* request, etx_qdq_tensor* out,
                      bool* out_done) {
  etx_ir_arg args[3];
  memcpy(args, node->args, sizeof args);
  const bool is_real = args[2].kind == ETX_IR_ARG_DOUBLE;
  if (!is_real && args[2].kind != ETX_IR_ARG_INT) return ETX_OK;
  for (size_t i = 0; i < args[1].as.list.count; ++i) {
    if (args[1].as.list.items[i].kind != ETX_IR_ARG_INT) return ETX_OK;
  }
  const double value = is_real ? args[2].as.real : (double)args[2].as.integer;
  ETX_TRY(quantize_operand(rewrite, &args[SELF], request, out, out_done));
  if (!*out_done) return ETX_OK;
  if (out->is_last) ETX_TRY(permute_padding(&rewrite->builder, &args[1]));
  args[SELF] = etx_ir_value_arg(out->value);
  args[2] = etx_ir_int(etx_qdq_quantize_number(&request->numbers, value));
  return emit(rewrite, ETX_OP_constant_pad_nd_out, args, 3, &out->value);
}

// True if a window may contain padding only. Its maximum is then -infinity,
// which has no byte.
static bool may_have_empty_window(const etx_ir_node* node) {
  bool is_padded = false, is_dilated = false;
  const etx_ir_arg* const padding = &node->args[3];
  const etx_ir_arg* const dilation = &node->args[4];
  for (size_t i = 0; i < padding->as.list.count; ++i) {
    is_padded |= !etx_rewrite_is_int(&padding->as.list.items[i], 0);
  }
  for (size_t i = 0; i < dilation->as.list.count; ++i) {
    is_dilated |= !etx_rewrite_is_int(&dilation->as.list.items[i], 1);
  }
  return is_padded && is_dilated;
}

static etx_status pool(etx_rewrite* rewrite, const etx_ir_node* node,
                       const etx_qdq_request* request, etx_qdq_tensor* out,
                       bool* out_done) {
  const size_t count = node->arg_count;
  etx_ir_arg args[ETX_MAX_ARGUMENTS];
  if (rank_of(rewrite, node) != 4 || may_have_empty_window(node)) return ETX_OK;
  memcpy(args, node->args, count * sizeof *args);
  ETX_TRY(quantize_operand(rewrite, &args[SELF], request, out, out_done));
  if (!*out_done) return ETX_OK;
  ETX_TRY(etx_qdq_tensor_set_layout(&rewrite->builder, true, out));
  args[SELF] = etx_ir_value_arg(out->value);
  ETX_TRY(etx_fusion_report_fused(rewrite->fusions, &rewrite->builder,
                                  "quantised pooling"));
  return emit(rewrite, ETX_OP_max_pool2d_u8_out, args, count, &out->value);
}

// ------------------------------------------------ nearest upsampling

// How often an upsampling repeats each index of dimension `dim`; 0 if it does
// not repeat all equally often. Only powers of two are handled: the operator
// multiplies positions by the inverse, which is exact for them.
static size_t repeats_of(const etx_shape* from, const etx_shape* to,
                         size_t dim) {
  const etx_dim old = from->dims[dim], own = to->dims[dim];
  if (!etx_dim_is_number(old) || !etx_dim_is_number(own) || old <= 0) return 0;
  for (size_t count = 1; count <= MAX_REPEATS; count *= 2) {
    if (own == old * (etx_dim)count) return count;
  }
  return 0;
}

// Repeats each row of the last dimension of `view` `count` times, as a
// concatenation with itself.
static etx_status repeat(etx_builder* builder, const etx_shape* view,
                         size_t count, uint32_t* value) {
  etx_ir_arg items[MAX_REPEATS];
  if (count == 1) return ETX_OK;
  ETX_TRY(etx_build_view(builder, *value, view->dims, view->rank, value));
  for (size_t i = 0; i < count; ++i) items[i] = etx_ir_value_arg(*value);
  const etx_ir_arg args[] = {etx_ir_list(items, count),
                             etx_ir_int((etx_dim)view->rank - 1)};
  return etx_build_op(builder, ETX_OP_cat_out, args, 2, value);
}

// Repeats the pixels of a channels-last image and then its rows of pixels.
static etx_status repeat_pixels(etx_builder* builder, size_t rows,
                                size_t columns, uint32_t* value) {
  etx_shape pixels = *etx_builder_shape(builder, *value), lines = pixels;
  ETX_TRY(repeat(builder, &pixels, columns, value));
  pixels.dims[2] *= (etx_dim)columns;
  lines.rank = 3;
  lines.dims[2] = pixels.dims[2] * pixels.dims[3];
  ETX_TRY(repeat(builder, &lines, rows, value));
  pixels.dims[1] *= (etx_dim)rows;
  return etx_build_view(builder, *value, pixels.dims, 4, value);
}

static etx_status upsample(etx_rewrite* rewrite, const etx_ir_node* node,
                           const etx_qdq_request* request, etx_qdq_tensor* out,
                           bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_shape from = *etx_rewrite_shape(rewrite, &node->args[SELF]);
  const etx_shape to = *etx_builder_shape(builder, node->outputs[0]);
  const size_t rows = repeats_of(&from, &to, 2);
  const size_t columns = repeats_of(&from, &to, 3), count = node->arg_count;
  etx_ir_arg args[ETX_MAX_ARGUMENTS];
  memcpy(args, node->args, count * sizeof *args);
  ETX_TRY(quantize_operand(rewrite, &args[SELF], request, out, out_done));
  if (!*out_done) return ETX_OK;
  if (out->is_last && rows != 0 && columns != 0 &&
      etx_dim_is_number(from.dims[1])) {
    return repeat_pixels(builder, rows, columns, &out->value);
  }
  ETX_TRY(etx_qdq_tensor_set_layout(builder, false, out));
  args[SELF] = etx_ir_value_arg(out->value);
  return emit(rewrite, ETX_OP_upsample_nearest2d_vec_out, args, count,
              &out->value);
}

// ------------------------------------------------ several operands

// Computes the quantised forms of all operands. If at least one of them gains
// from that, the others are quantised; otherwise `*out_done` stays false.
static etx_status quantize_operands(etx_rewrite* rewrite,
                                    const etx_ir_arg* parts, size_t count,
                                    const etx_qdq_request* request,
                                    etx_qdq_tensor* out, bool* out_done) {
  bool done[MAX_OPERANDS];
  for (size_t i = 0; i < count; ++i) {
    done[i] = false;
    ETX_TRY(quantize_operand(rewrite, &parts[i], request, &out[i], &done[i]));
    *out_done = *out_done || done[i];
  }
  for (size_t i = 0; *out_done && i < count; ++i) {
    if (done[i]) continue;
    out[i].is_last = false;
    ETX_TRY(etx_qdq_tensor_quantize(&rewrite->builder, parts[i].as.value,
                                    &request->numbers, ETX_DTYPE_UINT8,
                                    &out[i].value));
  }
  return ETX_OK;
}

static etx_status cat(etx_rewrite* rewrite, const etx_ir_node* node,
                      const etx_qdq_request* request, etx_qdq_tensor* out,
                      bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_arg list = node->args[0], dim = node->args[DIM];
  const size_t rank = rank_of(rewrite, node), count = list.as.list.count;
  etx_ir_arg items[MAX_OPERANDS], args[2];
  etx_qdq_tensor parts[MAX_OPERANDS];
  if (count > MAX_OPERANDS || !read_dim(&dim, rank, false, &args[1])) {
    return ETX_OK;
  }
  // cat accepts empty operands of any rank; these are not supported.
  for (size_t i = 0; i < count; ++i) {
    const etx_ir_arg* const item = &list.as.list.items[i];
    if (etx_rewrite_shape(rewrite, item)->rank != rank ||
        etx_rewrite_shape(rewrite, item)->dtype != ETX_DTYPE_FLOAT32) {
      return ETX_OK;
    }
  }
  ETX_TRY(quantize_operands(rewrite, list.as.list.items, count, request, parts,
                            out_done));
  if (!*out_done) return ETX_OK;
  out->is_last = false;
  for (size_t i = 0; i < count; ++i) {
    out->is_last = out->is_last || parts[i].is_last;
  }
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(etx_qdq_tensor_set_layout(builder, out->is_last, &parts[i]));
    items[i] = etx_ir_value_arg(parts[i].value);
  }
  args[0] = etx_ir_list(items, count);
  if (!read_dim(&dim, rank, out->is_last, &args[1])) return ETX_OK;
  return emit(rewrite, ETX_OP_cat_out, args, 2, &out->value);
}

// ------------------------------------------------ dispatch

etx_status etx_qdq_data_movement(etx_rewrite* rewrite, const etx_ir_node* node,
                                 const etx_qdq_request* request,
                                 etx_qdq_tensor* out, bool* out_done) {
  switch (node->op->id) {
    case ETX_OP_view_copy_out:
      return view(rewrite, node, request, out, out_done);
    case ETX_OP_expand_copy_out:
    case ETX_OP_select_copy_int_out:
    case ETX_OP_pixel_shuffle_out:
    case ETX_OP_pixel_unshuffle_out:
    case ETX_OP_flip_out:
      return move_any(rewrite, node, request, out, out_done);
    case ETX_OP_upsample_nearest2d_vec_out:
      return upsample(rewrite, node, request, out, out_done);
    case ETX_OP_permute_copy_out:
      return permute(rewrite, node, request, out, out_done);
    case ETX_OP_slice_copy_tensor_out:
      return slice(rewrite, node, request, out, out_done);
    case ETX_OP_max_pool2d_out:
      return pool(rewrite, node, request, out, out_done);
    case ETX_OP_constant_pad_nd_out:
      return pad(rewrite, node, request, out, out_done);
    case ETX_OP_cat_out:
      return cat(rewrite, node, request, out, out_done);
    default:
      return ETX_OK;
  }
}
