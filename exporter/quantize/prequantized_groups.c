// Weights that were quantised before the export with one scale per group of a
// row, or with zero points:
//
//   linear(x, view(dequantize_per_channel(view(w), s, z)), b)
//     -> linear_w4g(x, packed w, ..) or linear_a8w4g, if w fits into 4 bits
//     -> mixed_linear(x, w, s) + b, for 8 bits without zero points
//   embedding(view(dequantize_per_channel(view(w), s, z)), i)
//     -> embedding_4bit(packed w, ..) or embedding_byte
//
// The inner view makes each group a row, so that dequantize_per_channel scales
// groups; the outer view restores the rows.

#include "exporter/ir/ir_edit.h"
#include "exporter/quantize/prequantized_weights.h"

typedef struct grouped_weight {
  const etx_ir_node* dequantize;  // per channel of [N * groups, group]
  const etx_ir_constant* bytes;   // int8
  const etx_ir_constant* zeros;   // zero points; NULL: all are 0
  bool is_int4;                   // stored in 4 bits: all are in -8..7
  etx_dim rows, groups, group;    // rows, groups per row, elements per group
} grouped_weight;

// True if all elements of an int8 constant are in -8..7.
static bool fits_int4(const etx_ir_constant* constant) {
  for (size_t i = 0; i < constant->data.size; ++i) {
    const int8_t q = (int8_t)constant->data.data[i];
    if (q < -8 || q > 7) return false;
  }
  return true;
}

// True if all elements of an integer constant fit in int8.
static bool fits_int8(const etx_ir_constant* constant) {
  const uint8_t* const data = constant->data.data;
  if (constant->dtype == ETX_DTYPE_INT8) return true;
  if (constant->dtype != ETX_DTYPE_INT64) return false;
  for (size_t i = 0; i < constant->data.size; i += sizeof(int64_t)) {
    int64_t number = 0;
    memcpy(&number, data + i, sizeof number);
    if (number < INT8_MIN || number > INT8_MAX) return false;
  }
  return true;
}

// Reads the zero points of the groups. False if they are not constant or do not
// fit into int8, the type that the operators take.
static bool read_zeros(const etx_rewrite* rewrite, grouped_weight* out) {
  const etx_ir_arg* const zeros =
      &out->dequantize->args[ETX_PREQUANTIZED_ZEROS];
  out->zeros = NULL;
  if (etx_prequantized_has_no_zero_points(rewrite, out->dequantize))
    return true;
  out->zeros =
      etx_rewrite_constant(rewrite->builder.module, rewrite->builder.method,
                           etx_prequantized_origin(rewrite, zeros->as.value));
  return out->zeros != NULL && fits_int8(out->zeros);
}

// The largest group size of the fast kernels that divides `group`, or `group`.
static etx_dim fast_group(etx_dim group) {
  for (etx_dim known = 128; known >= 32; known /= 2) {
    if (group % known == 0) return known;
  }
  return group;
}

// Reads a constant weight [N, K] in argument `position` with one scale per
// group or per row.
static bool find_groups(const etx_rewrite* rewrite, const etx_ir_node* node,
                        size_t position, grouped_weight* out) {
  const etx_shape* const whole =
      etx_rewrite_shape(rewrite, &node->args[position]);
  const etx_ir_node* at = etx_rewrite_argument(rewrite, &node->args[position]);
  while (etx_rewrite_is_op(at, ETX_OP_view_copy_out)) {
    at = etx_rewrite_argument(rewrite, &at->args[ETX_PREQUANTIZED_INPUT]);
  }
  if (!etx_rewrite_is_op(at, ETX_OP_dequantize_per_channel_out) ||
      !etx_rewrite_is_int(&at->args[ETX_PREQUANTIZED_AXIS], 0)) {
    return false;
  }
  const etx_shape* const dequantize =
      etx_rewrite_shape(rewrite, &at->args[ETX_PREQUANTIZED_INPUT]);
  if (whole->rank != 2 || dequantize->rank != 2 || !etx_ir_is_static(whole) ||
      whole->dtype != ETX_DTYPE_FLOAT32 || dequantize->dims[1] <= 0 ||
      whole->dims[1] % dequantize->dims[1] != 0) {
    return false;
  }
  out->dequantize = at;
  out->rows = whole->dims[0];
  out->group = dequantize->dims[1];
  out->groups = whole->dims[1] / out->group;
  out->bytes = etx_rewrite_constant(
      rewrite->builder.module, rewrite->builder.method,
      etx_prequantized_origin(rewrite,
                              at->args[ETX_PREQUANTIZED_INPUT].as.value));
  if (out->bytes == NULL || out->bytes->dtype != ETX_DTYPE_INT8 ||
      !read_zeros(rewrite, out)) {
    return false;
  }
  // With one scale per row, the int8 operators are faster.
  out->is_int4 = fits_int4(out->bytes) && out->group % 2 == 0 &&
                 (out->groups > 1 || out->zeros != NULL);
  return true;
}

// Packs two numbers into a byte, each plus 8, the first in the high half.
static etx_status pack_int4(etx_builder* builder, const grouped_weight* g,
                            etx_ir_arg* out) {
  const size_t bytes = g->bytes->data.size / 2;
  uint8_t* const packed = etx_pool_take(builder->module->pool, bytes);
  uint32_t value = 0;
  if (packed == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < bytes; ++i) {
    const int even = (int8_t)g->bytes->data.data[2 * i] + 8;
    const int odd = (int8_t)g->bytes->data.data[2 * i + 1] + 8;
    packed[i] = (uint8_t)(even << 4 | odd);
  }
  const etx_ir_constant constant = {
      .dtype = ETX_DTYPE_UINT8,
      .rank = 2,
      .sizes = {g->rows, g->groups * g->group / 2},
      .data = {packed, bytes}};
  ETX_TRY(etx_build_constant(builder, &constant, &value));
  *out = etx_ir_value_arg(value);
  return ETX_OK;
}

// Scales or zero points as [N, groups * times] of type `dtype`, each repeated
// `times` times.
static etx_status emit_group_params(etx_builder* builder,
                                    const grouped_weight* g, uint32_t numbers,
                                    etx_dim times, etx_dtype dtype,
                                    etx_ir_arg* out) {
  const etx_dim one[] = {g->rows, g->groups, 1};
  const etx_dim all[] = {g->rows, g->groups, times};
  const etx_dim sizes[] = {g->rows, g->groups * times};
  uint32_t value = numbers;
  if (times > 1) {
    ETX_TRY(etx_build_view(builder, value, one, 3, &value));
    ETX_TRY(etx_build_expand(builder, value, all, 3, &value));
  }
  ETX_TRY(etx_build_view(builder, value, sizes, 2, &value));
  ETX_TRY(etx_build_cast(builder, value, dtype, &value));
  *out = etx_ir_value_arg(value);
  return ETX_OK;
}

static etx_status emit_int4_linear(etx_rewrite* rewrite,
                                   const grouped_weight* g) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  const etx_ir_arg* const rows = etx_prequantized_rows(rewrite, node);
  const etx_dim group = fast_group(g->group), times = g->group / group;
  const uint32_t scales = g->dequantize->args[ETX_PREQUANTIZED_SCALES].as.value;
  const uint32_t zeros =
      g->zeros == NULL
          ? 0
          : etx_prequantized_origin(
                rewrite, g->dequantize->args[ETX_PREQUANTIZED_ZEROS].as.value);
  etx_ir_arg args[] = {rows == NULL ? node->args[0] : *rows,
                       etx_ir_none(),
                       etx_ir_none(),
                       etx_ir_none(),
                       etx_ir_int(group),
                       node->args[2]};
  const etx_op_id op =
      rows == NULL ? ETX_OP_linear_w4g_out : ETX_OP_linear_a8w4g_out;
  // Pointers to nodes are invalid after appending.
  ETX_TRY(pack_int4(builder, g, &args[1]));
  ETX_TRY(emit_group_params(builder, g, scales, times, ETX_DTYPE_FLOAT32,
                            &args[2]));
  if (g->zeros != NULL) {
    ETX_TRY(
        emit_group_params(builder, g, zeros, times, ETX_DTYPE_INT8, &args[3]));
  }
  return etx_build_op(builder, op, args, 6, &builder->results[0]);
}

// Why a layer over int8 with groups or zero points cannot use mixed_linear;
// NULL if it can.
static const char* obstacle_of(const etx_rewrite* rewrite,
                               const grouped_weight* g) {
  // mixed_linear reads the weight once per row. For more rows, dequantising it
  // once per call is faster.
  enum { MAX_ROWS = 4 };
  const etx_shape* const out =
      etx_builder_shape(&rewrite->builder, rewrite->builder.node->outputs[0]);
  static const char* const many =
      "its weight is int8 with one scale per group, and its input has more "
      "than 4 rows";
  etx_dim rows = 1;
  if (g->zeros != NULL) return "its weight is int8 with zero points";
  for (size_t i = 0; i + 1u < out->rank; ++i) {
    const etx_dim size = out->dims[i];
    if (!etx_dim_is_number(size) || size > MAX_ROWS) return many;
    rows *= size;
  }
  return rows > MAX_ROWS ? many : NULL;
}

// mixed_linear takes matrices and has no bias. Activations stay floats, even if
// the graph quantises them per row.
static etx_status emit_mixed_linear(etx_rewrite* rewrite,
                                    const grouped_weight* g) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_arg bias = builder->node->args[2];
  const uint32_t input = builder->node->args[0].as.value;
  const uint32_t bytes = g->dequantize->args[ETX_PREQUANTIZED_INPUT].as.value;
  const uint32_t scales = g->dequantize->args[ETX_PREQUANTIZED_SCALES].as.value;
  const etx_shape out = *etx_builder_shape(builder, builder->node->outputs[0]);
  const etx_dim weight[] = {g->rows, g->groups * g->group};
  etx_dim rows[] = {0, weight[1]};
  uint32_t value = 0;
  etx_ir_arg args[] = {etx_ir_none(),
                       etx_ir_none(),
                       etx_ir_none(),
                       etx_ir_none(),
                       {ETX_IR_ARG_DTYPE, {0}}};
  args[4].as.dtype = ETX_DTYPE_FLOAT32;
  ETX_TRY(etx_builder_product(builder, out.dims, 0, out.rank - 1u, &rows[0]));
  ETX_TRY(etx_build_view(builder, input, rows, 2, &value));
  args[0] = etx_ir_value_arg(value);
  ETX_TRY(etx_build_view(builder, bytes, weight, 2, &value));
  args[1] = etx_ir_value_arg(value);
  ETX_TRY(
      emit_group_params(builder, g, scales, 1, ETX_DTYPE_FLOAT32, &args[2]));
  ETX_TRY(etx_build_op(builder, ETX_OP_mixed_linear_out, args, 5, &value));
  if (bias.kind == ETX_IR_ARG_VALUE) {
    ETX_TRY(etx_build_binary(builder, ETX_OP_add_out, value, bias.as.value,
                             &value));
  }
  return etx_build_view(builder, value, out.dims, out.rank,
                        &builder->results[0]);
}

etx_status etx_prequantized_group_linear(etx_rewrite* rewrite, bool* out_done) {
  const etx_ir_node* const node = rewrite->builder.node;
  grouped_weight g;
  if (node->op->id != ETX_OP_linear_out ||
      etx_rewrite_shape(rewrite, &node->args[0])->dtype != ETX_DTYPE_FLOAT32 ||
      !find_groups(rewrite, node, 1, &g)) {
    return ETX_OK;
  }
  if (g.is_int4) {
    *out_done = true;
    return emit_int4_linear(rewrite, &g);
  }
  const char* const obstacle = obstacle_of(rewrite, &g);
  const bool has_one_scale = g.groups == 1 && g.zeros == NULL;
  // fuse_qdq has reported layers whose input was quantised before the export.
  const bool is_reported =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_dequantize_per_tensor_out) !=
      NULL;
  if (has_one_scale || (obstacle != NULL && is_reported)) return ETX_OK;
  if (obstacle != NULL) {
    return etx_fusion_report_missed(rewrite->fusions, &rewrite->builder,
                                    "quantised linear layer", obstacle);
  }
  *out_done = true;
  return emit_mixed_linear(rewrite, &g);
}

// An embedding table of int4, or of int8 with one scale per group.
etx_status etx_prequantized_group_embedding(etx_rewrite* rewrite,
                                            bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  grouped_weight g;
  if (builder->node->op->id != ETX_OP_embedding_out ||
      !find_groups(rewrite, builder->node, 0, &g) ||
      (!g.is_int4 && g.groups == 1)) {
    return ETX_OK;
  }
  const uint32_t bytes = g.dequantize->args[ETX_PREQUANTIZED_INPUT].as.value;
  const uint32_t scales = g.dequantize->args[ETX_PREQUANTIZED_SCALES].as.value;
  const uint32_t zeros =
      g.zeros == NULL
          ? 0
          : etx_prequantized_origin(
                rewrite, g.dequantize->args[ETX_PREQUANTIZED_ZEROS].as.value);
  const etx_dim sizes[] = {g.rows, g.groups * g.group};
  uint32_t value = 0;
  etx_ir_arg args[] = {etx_ir_none(),
                       etx_ir_none(),
                       etx_ir_none(),
                       etx_ir_int(g.is_int4 ? -8 : INT8_MIN),
                       etx_ir_int(g.is_int4 ? 7 : INT8_MAX),
                       builder->node->args[1]};
  // Pointers to nodes are invalid after appending.
  if (g.is_int4) {
    ETX_TRY(pack_int4(builder, &g, &args[0]));
  } else {
    ETX_TRY(etx_build_view(builder, bytes, sizes, 2, &value));
    args[0] = etx_ir_value_arg(value);
  }
  ETX_TRY(
      emit_group_params(builder, &g, scales, 1, ETX_DTYPE_FLOAT32, &args[1]));
  if (g.zeros != NULL) {
    ETX_TRY(
        emit_group_params(builder, &g, zeros, 1, ETX_DTYPE_FLOAT32, &args[2]));
  }
  *out_done = true;
  return etx_build_op(
      builder,
      g.is_int4 ? ETX_OP_embedding_4bit_out : ETX_OP_embedding_byte_out, args,
      6, &builder->results[0]);
}
