// Operators that move elements, or choose the largest of some, over bytes.

#include "exporter/quantize/qdq_operators.h"
#include "exporter/ir/ir_edit.h"

// Where a dimension of [N, C, H, W] is channels last, and which one lies there.
static const size_t last_of[] = {0, 3, 1, 2};
static const size_t from_last[] = {0, 2, 3, 1};

enum { SELF, DIM };
enum { MOST_PARTS = 64 };   // of a concatenation
enum { MOST_REPEATS = 4 };  // of rows and columns

static size_t rank_of(const etx_rewrite* rewrite, const etx_ir_node* node) {
  return etx_builder_shape(&rewrite->lower, node->outputs[0])->rank;
}

// A dimension as it is in the order of `bytes`.
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

// The node over other operands than its own. Its arguments are copied:
// appending nodes may move it.
static etx_status emit(etx_rewrite* rewrite, etx_op_id op,
                       const etx_ir_arg* args, size_t count, uint32_t* out) {
  return etx_build_op(&rewrite->lower, op, args, count, out);
}

// ------------------------------------------------ one operand

// Bytes of the node's operand; false if nothing is gained.
static etx_status take_operand(etx_rewrite* rewrite, const etx_ir_arg* operand,
                               const etx_qdq_request* wish, etx_qdq_tensor* out,
                               bool* out_done) {
  return wish->compute(rewrite, operand->as.value, wish, out, out_done);
}

static etx_status move_any(etx_rewrite* rewrite, const etx_ir_node* node,
                           const etx_qdq_request* wish, etx_qdq_tensor* out,
                           bool* out_done) {
  const etx_op_id op = node->op->id;
  const size_t count = node->arg_count;
  etx_ir_arg args[ETX_MAX_ARGUMENTS];
  memcpy(args, node->args, count * sizeof *args);
  ETX_TRY(take_operand(rewrite, &args[SELF], wish, out, out_done));
  if (!*out_done) return ETX_OK;
  ETX_TRY(etx_qdq_tensor_set_layout(&rewrite->lower, false, out));
  args[SELF] = etx_ir_value_arg(out->value);
  return emit(rewrite, op, args, count, &out->value);
}

// ------------------------------------------------ channels that change places

// An image that lies channels last and whose channels are in parts.
typedef struct shuffle {
  uint32_t last;         // [N, H, W, C]
  etx_dim outer, inner;  // [N, outer, inner, H, W]
} shuffle;

// True if `whole` [N, C, H, W] has the channels of `split` [N, a, b, H, W].
static bool has_channels(const etx_builder* lower, const etx_shape* whole,
                         const etx_shape* split) {
  return whole->rank == 4 && split->rank == 5 &&
         etx_dim_is_number(split->dims[1]) &&
         etx_dim_is_number(split->dims[2]) &&
         whole->dims[1] == split->dims[1] * split->dims[2] &&
         etx_builder_same_dims(lower, whole->dims, split->dims, 1) &&
         etx_builder_same_dims(lower, &whole->dims[2], &split->dims[3], 2);
}

// The bytes [N, b, a, H, W] of which a view makes an image of shape `whole`, as
// [N, a, b, H, W] whose dimensions 1 and 2 change places. False if they are
// something else, or not of an image that lies channels last.
static bool find_parts(const etx_rewrite* rewrite, uint32_t bytes,
                       const etx_shape* whole, shuffle* out) {
  static const int64_t order[] = {0, 2, 1, 3, 4};
  const etx_builder* const lower = &rewrite->lower;
  const etx_ir_node* const swap = etx_ir_definition(lower->method, bytes);
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
  const etx_shape* const split = etx_builder_shape(lower, view->outputs[0]);
  *out = (shuffle){image.value, split->dims[1], split->dims[2]};
  return image.is_last && has_channels(lower, whole, split) &&
         has_channels(lower, etx_rewrite_shape(rewrite, &view->args[SELF]),
                      split);
}

// Channels last, the parts are at the end, and whole pixels stay in place.
static etx_status swap_parts(etx_builder* lower, const shuffle* s,
                             etx_qdq_tensor* out) {
  static const size_t order[] = {0, 1, 2, 4, 3};
  const etx_shape image = *etx_builder_shape(lower, s->last);
  etx_dim dims[5];
  memcpy(dims, image.dims, 3 * sizeof *dims);
  dims[3] = s->outer;
  dims[4] = s->inner;
  out->is_last = true;
  ETX_TRY(etx_build_view(lower, s->last, dims, 5, &out->value));
  ETX_TRY(etx_build_permute(lower, out->value, order, &out->value));
  return etx_build_view(lower, out->value, image.dims, 4, &out->value);
}

static etx_status view(etx_rewrite* rewrite, const etx_ir_node* node,
                       const etx_qdq_request* wish, etx_qdq_tensor* out,
                       bool* out_done) {
  etx_builder* const lower = &rewrite->lower;
  const etx_shape whole = *etx_builder_shape(lower, node->outputs[0]);
  const size_t count = node->arg_count;
  etx_ir_arg args[ETX_MAX_ARGUMENTS];
  shuffle s;
  memcpy(args, node->args, count * sizeof *args);
  ETX_TRY(take_operand(rewrite, &args[SELF], wish, out, out_done));
  if (!*out_done) return ETX_OK;
  if (find_parts(rewrite, out->value, &whole, &s)) {
    return swap_parts(lower, &s, out);
  }
  ETX_TRY(etx_qdq_tensor_set_layout(lower, false, out));
  args[SELF] = etx_ir_value_arg(out->value);
  return emit(rewrite, ETX_OP_view_copy_out, args, count, &out->value);
}

// ------------------------------------------------ one operand, by dimensions

static etx_status permute(etx_rewrite* rewrite, const etx_ir_node* node,
                          const etx_qdq_request* wish, etx_qdq_tensor* out,
                          bool* out_done) {
  const etx_ir_arg* const dims = &node->args[1];
  const size_t rank = dims->as.list.count;
  size_t order[ETX_MAX_RANK];
  for (size_t i = 0; i < rank; ++i) {
    etx_ir_arg dim;
    if (!read_dim(&dims->as.list.items[i], rank, false, &dim)) return ETX_OK;
    order[i] = (size_t)dim.as.integer;
  }
  ETX_TRY(take_operand(rewrite, &node->args[SELF], wish, out, out_done));
  if (!*out_done) return ETX_OK;
  for (size_t i = 0; i < rank && out->is_last; ++i)
    order[i] = last_of[order[i]];
  out->is_last = false;
  return etx_build_permute(&rewrite->lower, out->value, order, &out->value);
}

static etx_status slice(etx_rewrite* rewrite, const etx_ir_node* node,
                        const etx_qdq_request* wish, etx_qdq_tensor* out,
                        bool* out_done) {
  const size_t rank = rank_of(rewrite, node), count = node->arg_count;
  etx_ir_arg args[ETX_MAX_ARGUMENTS], dim;
  memcpy(args, node->args, count * sizeof *args);
  if (!read_dim(&args[DIM], rank, false, &dim)) return ETX_OK;
  ETX_TRY(take_operand(rewrite, &args[SELF], wish, out, out_done));
  if (!*out_done || !read_dim(&dim, rank, out->is_last, &args[DIM])) {
    return ETX_OK;
  }
  args[SELF] = etx_ir_value_arg(out->value);
  return emit(rewrite, ETX_OP_slice_copy_tensor_out, args, count, &out->value);
}

// Padding of [N, C, H, W] from the last dimension on, as that of [N, H, W, C].
static etx_status order_padding(etx_builder* lower, etx_ir_arg* list) {
  enum { RANK = 4 };
  etx_dim ends[2 * RANK] = {0}, dims[2 * RANK];
  for (size_t i = 0; i < list->as.list.count; ++i) {
    ends[i] = list->as.list.items[i].as.integer;
  }
  for (size_t i = 0; i < RANK; ++i) {
    const size_t from = RANK - 1 - from_last[RANK - 1 - i];
    memcpy(&dims[2 * i], &ends[2 * from], 2 * sizeof *dims);
  }
  return etx_build_int_list(lower, dims, sizeof dims / sizeof *dims, list);
}

// (self, pad, value)
static etx_status pad(etx_rewrite* rewrite, const etx_ir_node* node,
                      const etx_qdq_request* wish, etx_qdq_tensor* out,
                      bool* out_done) {
  etx_ir_arg args[3];
  memcpy(args, node->args, sizeof args);
  const bool is_real = args[2].kind == ETX_IR_ARG_DOUBLE;
  if (!is_real && args[2].kind != ETX_IR_ARG_INT) return ETX_OK;
  for (size_t i = 0; i < args[1].as.list.count; ++i) {
    if (args[1].as.list.items[i].kind != ETX_IR_ARG_INT) return ETX_OK;
  }
  const double value = is_real ? args[2].as.real : (double)args[2].as.integer;
  ETX_TRY(take_operand(rewrite, &args[SELF], wish, out, out_done));
  if (!*out_done) return ETX_OK;
  if (out->is_last) ETX_TRY(order_padding(&rewrite->lower, &args[1]));
  args[SELF] = etx_ir_value_arg(out->value);
  args[2] = etx_ir_int(etx_qdq_quantize_number(&wish->numbers, value));
  return emit(rewrite, ETX_OP_constant_pad_nd_out, args, 3, &out->value);
}

// True if a window may lie in padding alone, of which the largest float is no
// byte.
static bool may_see_nothing(const etx_ir_node* node) {
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
                       const etx_qdq_request* wish, etx_qdq_tensor* out,
                       bool* out_done) {
  const size_t count = node->arg_count;
  etx_ir_arg args[ETX_MAX_ARGUMENTS];
  if (rank_of(rewrite, node) != 4 || may_see_nothing(node)) return ETX_OK;
  memcpy(args, node->args, count * sizeof *args);
  ETX_TRY(take_operand(rewrite, &args[SELF], wish, out, out_done));
  if (!*out_done) return ETX_OK;
  ETX_TRY(etx_qdq_tensor_set_layout(&rewrite->lower, true, out));
  args[SELF] = etx_ir_value_arg(out->value);
  ETX_TRY(etx_fusion_report_fused(rewrite->fusions, &rewrite->lower,
                                  "quantised pooling"));
  return emit(rewrite, ETX_OP_max_pool2d_u8_out, args, count, &out->value);
}

// ------------------------------------------------ images that are repeated

// What an upsampling repeats each row or each column by, 0 if it does more than
// that. Powers of two alone: their inverses, by which positions are multiplied,
// are exact.
static size_t repeats_of(const etx_shape* from, const etx_shape* to,
                         size_t dim) {
  const etx_dim old = from->dims[dim], own = to->dims[dim];
  if (!etx_dim_is_number(old) || !etx_dim_is_number(own) || old <= 0) return 0;
  for (size_t count = 1; count <= MOST_REPEATS; count *= 2) {
    if (own == old * (etx_dim)count) return count;
  }
  return 0;
}

// A view of which each row of the last dimension stands `count` times in the
// result.
static etx_status repeat(etx_builder* lower, const etx_shape* view,
                         size_t count, uint32_t* value) {
  etx_ir_arg items[MOST_REPEATS];
  if (count == 1) return ETX_OK;
  ETX_TRY(etx_build_view(lower, *value, view->dims, view->rank, value));
  for (size_t i = 0; i < count; ++i) items[i] = etx_ir_value_arg(*value);
  const etx_ir_arg args[] = {etx_ir_list(items, count),
                             etx_ir_int((etx_dim)view->rank - 1)};
  return etx_build_op(lower, ETX_OP_cat_out, args, 2, value);
}

// Pixels, and then rows of them, one after the other.
static etx_status repeat_last(etx_builder* lower, size_t rows, size_t columns,
                              uint32_t* value) {
  etx_shape pixels = *etx_builder_shape(lower, *value), lines = pixels;
  ETX_TRY(repeat(lower, &pixels, columns, value));
  pixels.dims[2] *= (etx_dim)columns;
  lines.rank = 3;
  lines.dims[2] = pixels.dims[2] * pixels.dims[3];
  ETX_TRY(repeat(lower, &lines, rows, value));
  pixels.dims[1] *= (etx_dim)rows;
  return etx_build_view(lower, *value, pixels.dims, 4, value);
}

static etx_status upsample(etx_rewrite* rewrite, const etx_ir_node* node,
                           const etx_qdq_request* wish, etx_qdq_tensor* out,
                           bool* out_done) {
  etx_builder* const lower = &rewrite->lower;
  const etx_shape from = *etx_rewrite_shape(rewrite, &node->args[SELF]);
  const etx_shape to = *etx_builder_shape(lower, node->outputs[0]);
  const size_t rows = repeats_of(&from, &to, 2);
  const size_t columns = repeats_of(&from, &to, 3), count = node->arg_count;
  etx_ir_arg args[ETX_MAX_ARGUMENTS];
  memcpy(args, node->args, count * sizeof *args);
  ETX_TRY(take_operand(rewrite, &args[SELF], wish, out, out_done));
  if (!*out_done) return ETX_OK;
  if (out->is_last && rows != 0 && columns != 0 &&
      etx_dim_is_number(from.dims[1])) {
    return repeat_last(lower, rows, columns, &out->value);
  }
  ETX_TRY(etx_qdq_tensor_set_layout(lower, false, out));
  args[SELF] = etx_ir_value_arg(out->value);
  return emit(rewrite, ETX_OP_upsample_nearest2d_vec_out, args, count,
              &out->value);
}

// ------------------------------------------------ several operands

// Bytes of all parts; those that gain nothing are quantised. False if none
// gain.
static etx_status take_parts(etx_rewrite* rewrite, const etx_ir_arg* parts,
                             size_t count, const etx_qdq_request* wish,
                             etx_qdq_tensor* out, bool* out_done) {
  bool done[MOST_PARTS];
  for (size_t i = 0; i < count; ++i) {
    done[i] = false;
    ETX_TRY(take_operand(rewrite, &parts[i], wish, &out[i], &done[i]));
    *out_done = *out_done || done[i];
  }
  for (size_t i = 0; *out_done && i < count; ++i) {
    if (done[i]) continue;
    out[i].is_last = false;
    ETX_TRY(etx_qdq_tensor_quantize(&rewrite->lower, parts[i].as.value,
                                    &wish->numbers, ETX_DTYPE_UINT8,
                                    &out[i].value));
  }
  return ETX_OK;
}

static etx_status cat(etx_rewrite* rewrite, const etx_ir_node* node,
                      const etx_qdq_request* wish, etx_qdq_tensor* out,
                      bool* out_done) {
  etx_builder* const lower = &rewrite->lower;
  const etx_ir_arg list = node->args[0], dim = node->args[DIM];
  const size_t rank = rank_of(rewrite, node), count = list.as.list.count;
  etx_ir_arg items[MOST_PARTS], args[2];
  etx_qdq_tensor parts[MOST_PARTS];
  if (count > MOST_PARTS || !read_dim(&dim, rank, false, &args[1])) {
    return ETX_OK;
  }
  // A part without elements may have any rank.
  for (size_t i = 0; i < count; ++i) {
    const etx_ir_arg* const item = &list.as.list.items[i];
    if (etx_rewrite_shape(rewrite, item)->rank != rank ||
        etx_rewrite_shape(rewrite, item)->dtype != ETX_DTYPE_FLOAT32) {
      return ETX_OK;
    }
  }
  ETX_TRY(
      take_parts(rewrite, list.as.list.items, count, wish, parts, out_done));
  if (!*out_done) return ETX_OK;
  out->is_last = false;
  for (size_t i = 0; i < count; ++i) {
    out->is_last = out->is_last || parts[i].is_last;
  }
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(etx_qdq_tensor_set_layout(lower, out->is_last, &parts[i]));
    items[i] = etx_ir_value_arg(parts[i].value);
  }
  args[0] = etx_ir_list(items, count);
  if (!read_dim(&dim, rank, out->is_last, &args[1])) return ETX_OK;
  return emit(rewrite, ETX_OP_cat_out, args, 2, &out->value);
}

// ------------------------------------------------ rows

etx_status etx_qdq_data_movement(etx_rewrite* rewrite, const etx_ir_node* node,
                                 const etx_qdq_request* wish,
                                 etx_qdq_tensor* out, bool* out_done) {
  switch (node->op->id) {
    case ETX_OP_view_copy_out:
      return view(rewrite, node, wish, out, out_done);
    case ETX_OP_expand_copy_out:
    case ETX_OP_select_copy_int_out:
    case ETX_OP_pixel_shuffle_out:
    case ETX_OP_pixel_unshuffle_out:
    case ETX_OP_flip_out:
      return move_any(rewrite, node, wish, out, out_done);
    case ETX_OP_upsample_nearest2d_vec_out:
      return upsample(rewrite, node, wish, out, out_done);
    case ETX_OP_permute_copy_out:
      return permute(rewrite, node, wish, out, out_done);
    case ETX_OP_slice_copy_tensor_out:
      return slice(rewrite, node, wish, out, out_done);
    case ETX_OP_max_pool2d_out:
      return pool(rewrite, node, wish, out, out_done);
    case ETX_OP_constant_pad_nd_out:
      return pad(rewrite, node, wish, out, out_done);
    case ETX_OP_cat_out:
      return cat(rewrite, node, wish, out, out_done);
    default:
      return ETX_OK;
  }
}
