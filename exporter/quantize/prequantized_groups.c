// Weights with a scale for each of equal parts of a row, or with zero points:
//
//   linear(x, view(dequantize_per_channel(view(w), s, z)), b)
//                                                    linear_w4g(x, packed w,
//                                                    ..), or linear_a8w4g
//   linear(x, view(dequantize_per_channel(view(w), s, 0)), b)
//                                                    mixed_linear(x, w, s) + b
//   embedding(view(dequantize_per_channel(view(w), s, z)), i)
//                                                    embedding_4bit(packed w,
//                                                    ..) or embedding_byte
//
// Rows, and parts of them, whose numbers all fit in 4 bits are packed; the view
// between parts and their layer makes rows of them again.

#include "exporter/ir/ir_edit.h"
#include "exporter/quantize/prequantized_weights.h"

typedef struct grouped {
  const etx_ir_node* parts;  // dequantize_per_channel of [N * groups, group]
  const etx_ir_constant* bytes;
  const etx_ir_constant* zeros;  // NULL: all are 0
  bool is_half;                  // all numbers lie in -8..7
  etx_dim rows, groups, group;
} grouped;

// True if all elements of a constant of int8 lie in -8..7.
static bool fits_half_bytes(const etx_ir_constant* constant) {
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

// The zero points of the parts, which the operators want in int8. False if they
// are unknown, or do not fit.
static bool read_zeros(const etx_rewrite* rewrite, grouped* out) {
  const etx_ir_arg* const zeros = &out->parts->args[ETX_PREQUANTIZED_ZEROS];
  out->zeros = NULL;
  if (etx_prequantized_has_no_zeros(rewrite, out->parts)) return true;
  out->zeros =
      etx_rewrite_constant(rewrite->lower.module, rewrite->lower.method,
                           etx_prequantized_origin(rewrite, zeros->as.value));
  return out->zeros != NULL && fits_int8(out->zeros);
}

// Largest group that the fast loops know and that divides `group`; else that.
static etx_dim fast_group(etx_dim group) {
  for (etx_dim known = 128; known >= 32; known /= 2) {
    if (group % known == 0) return known;
  }
  return group;
}

// A constant weight [N, K] of float32 in argument `position`, of which equal
// parts of rows, or whole rows, have a scale each.
static bool find_groups(const etx_rewrite* rewrite, const etx_ir_node* node,
                        size_t position, grouped* out) {
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
  const etx_shape* const parts =
      etx_rewrite_shape(rewrite, &at->args[ETX_PREQUANTIZED_INPUT]);
  if (whole->rank != 2 || parts->rank != 2 || !etx_ir_is_static(whole) ||
      whole->dtype != ETX_DTYPE_FLOAT32 || parts->dims[1] <= 0 ||
      whole->dims[1] % parts->dims[1] != 0) {
    return false;
  }
  out->parts = at;
  out->rows = whole->dims[0];
  out->group = parts->dims[1];
  out->groups = whole->dims[1] / out->group;
  out->bytes = etx_rewrite_constant(
      rewrite->lower.module, rewrite->lower.method,
      etx_prequantized_origin(rewrite,
                              at->args[ETX_PREQUANTIZED_INPUT].as.value));
  if (out->bytes == NULL || out->bytes->dtype != ETX_DTYPE_INT8 ||
      !read_zeros(rewrite, out)) {
    return false;
  }
  // Whole rows are faster a byte each, where an operator takes them so.
  out->is_half = fits_half_bytes(out->bytes) && out->group % 2 == 0 &&
                 (out->groups > 1 || out->zeros != NULL);
  return true;
}

// Two numbers a byte, the first in the high half, each plus 8.
static etx_status pack(etx_builder* lower, const grouped* g, etx_ir_arg* out) {
  const size_t bytes = g->bytes->data.size / 2;
  uint8_t* const packed = etx_pool_take(lower->module->pool, bytes);
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
  ETX_TRY(etx_build_constant(lower, &constant, &value));
  *out = etx_ir_value_arg(value);
  return ETX_OK;
}

// [N, groups] of the parts' scales or zero points, each `times` side by side,
// in a type.
static etx_status by_group(etx_builder* lower, const grouped* g,
                           uint32_t numbers, etx_dim times, etx_dtype dtype,
                           etx_ir_arg* out) {
  const etx_dim one[] = {g->rows, g->groups, 1};
  const etx_dim all[] = {g->rows, g->groups, times};
  const etx_dim sizes[] = {g->rows, g->groups * times};
  uint32_t value = numbers;
  if (times > 1) {
    ETX_TRY(etx_build_view(lower, value, one, 3, &value));
    ETX_TRY(etx_build_expand(lower, value, all, 3, &value));
  }
  ETX_TRY(etx_build_view(lower, value, sizes, 2, &value));
  ETX_TRY(etx_build_cast(lower, value, dtype, &value));
  *out = etx_ir_value_arg(value);
  return ETX_OK;
}

static etx_status emit_halves(etx_rewrite* rewrite, const grouped* g) {
  etx_builder* const lower = &rewrite->lower;
  const etx_ir_node* const node = lower->node;
  const etx_ir_arg* const rows = etx_prequantized_rows(rewrite, node);
  const etx_dim group = fast_group(g->group), times = g->group / group;
  const uint32_t scales = g->parts->args[ETX_PREQUANTIZED_SCALES].as.value;
  const uint32_t zeros =
      g->zeros == NULL
          ? 0
          : etx_prequantized_origin(
                rewrite, g->parts->args[ETX_PREQUANTIZED_ZEROS].as.value);
  etx_ir_arg args[] = {rows == NULL ? node->args[0] : *rows,
                       etx_ir_none(),
                       etx_ir_none(),
                       etx_ir_none(),
                       etx_ir_int(group),
                       node->args[2]};
  const etx_op_id op =
      rows == NULL ? ETX_OP_linear_w4g_out : ETX_OP_linear_a8w4g_out;
  // Appending nodes may move those that were looked at.
  ETX_TRY(pack(lower, g, &args[1]));
  ETX_TRY(by_group(lower, g, scales, times, ETX_DTYPE_FLOAT32, &args[2]));
  if (g->zeros != NULL) {
    ETX_TRY(by_group(lower, g, zeros, times, ETX_DTYPE_INT8, &args[3]));
  }
  return etx_build_op(lower, op, args, 6, &lower->results[0]);
}

// Why a layer over int8, in parts of rows or with zero points, stays one over
// floats; NULL: it need not.
static const char* obstacle_of(const etx_rewrite* rewrite, const grouped* g) {
  // Each row reads the weight again, which takes longer than making floats of
  // it once.
  enum { MOST_ROWS = 4 };
  const etx_shape* const out =
      etx_builder_shape(&rewrite->lower, rewrite->lower.node->outputs[0]);
  static const char* const many =
      "its weight has 8 bits in parts of rows, and its input many rows";
  etx_dim rows = 1;
  if (g->zeros != NULL) return "its weight has zero points and 8 bits";
  for (size_t i = 0; i + 1u < out->rank; ++i) {
    const etx_dim size = out->dims[i];
    if (!etx_dim_is_number(size) || size > MOST_ROWS) return many;
    rows *= size;
  }
  return rows > MOST_ROWS ? many : NULL;
}

// int8 in parts of rows, without zero points: rows of activations that were
// quantised by themselves stay the floats that they are. The operator takes
// matrices and adds nothing.
static etx_status emit_parts(etx_rewrite* rewrite, const grouped* g) {
  etx_builder* const lower = &rewrite->lower;
  const etx_ir_arg bias = lower->node->args[2];
  const uint32_t input = lower->node->args[0].as.value;
  const uint32_t bytes = g->parts->args[ETX_PREQUANTIZED_INPUT].as.value;
  const uint32_t scales = g->parts->args[ETX_PREQUANTIZED_SCALES].as.value;
  const etx_shape out = *etx_builder_shape(lower, lower->node->outputs[0]);
  const etx_dim weight[] = {g->rows, g->groups * g->group};
  etx_dim rows[] = {0, weight[1]};
  uint32_t value = 0;
  etx_ir_arg args[] = {etx_ir_none(),
                       etx_ir_none(),
                       etx_ir_none(),
                       etx_ir_none(),
                       {ETX_IR_ARG_DTYPE, {0}}};
  args[4].as.dtype = ETX_DTYPE_FLOAT32;
  ETX_TRY(etx_builder_product(lower, out.dims, 0, out.rank - 1u, &rows[0]));
  ETX_TRY(etx_build_view(lower, input, rows, 2, &value));
  args[0] = etx_ir_value_arg(value);
  ETX_TRY(etx_build_view(lower, bytes, weight, 2, &value));
  args[1] = etx_ir_value_arg(value);
  ETX_TRY(by_group(lower, g, scales, 1, ETX_DTYPE_FLOAT32, &args[2]));
  ETX_TRY(etx_build_op(lower, ETX_OP_mixed_linear_out, args, 5, &value));
  if (bias.kind == ETX_IR_ARG_VALUE) {
    ETX_TRY(
        etx_build_binary(lower, ETX_OP_add_out, value, bias.as.value, &value));
  }
  return etx_build_view(lower, value, out.dims, out.rank, &lower->results[0]);
}

etx_status etx_prequantized_group_linear(etx_rewrite* rewrite, bool* out_done) {
  const etx_ir_node* const node = rewrite->lower.node;
  grouped g;
  if (node->op->id != ETX_OP_linear_out ||
      etx_rewrite_shape(rewrite, &node->args[0])->dtype != ETX_DTYPE_FLOAT32 ||
      !find_groups(rewrite, node, 1, &g)) {
    return ETX_OK;
  }
  if (g.is_half) {
    *out_done = true;
    return emit_halves(rewrite, &g);
  }
  const char* const obstacle = obstacle_of(rewrite, &g);
  const bool has_one_scale = g.groups == 1 && g.zeros == NULL;
  // fuse_qdq has told of layers whose input was quantised beforehand.
  const bool is_told =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_dequantize_per_tensor_out) !=
      NULL;
  if (has_one_scale || (obstacle != NULL && is_told)) return ETX_OK;
  if (obstacle != NULL) {
    return etx_fusion_report_missed(rewrite->fusions, &rewrite->lower,
                                    "quantised layer", obstacle);
  }
  *out_done = true;
  return emit_parts(rewrite, &g);
}

// A table of 4 bits, or of int8 in parts of rows.
etx_status etx_prequantized_group_embedding(etx_rewrite* rewrite,
                                            bool* out_done) {
  etx_builder* const lower = &rewrite->lower;
  grouped g;
  if (lower->node->op->id != ETX_OP_embedding_out ||
      !find_groups(rewrite, lower->node, 0, &g) ||
      (!g.is_half && g.groups == 1)) {
    return ETX_OK;
  }
  const uint32_t bytes = g.parts->args[ETX_PREQUANTIZED_INPUT].as.value;
  const uint32_t scales = g.parts->args[ETX_PREQUANTIZED_SCALES].as.value;
  const uint32_t zeros =
      g.zeros == NULL
          ? 0
          : etx_prequantized_origin(
                rewrite, g.parts->args[ETX_PREQUANTIZED_ZEROS].as.value);
  const etx_dim sizes[] = {g.rows, g.groups * g.group};
  uint32_t value = 0;
  etx_ir_arg args[] = {etx_ir_none(),
                       etx_ir_none(),
                       etx_ir_none(),
                       etx_ir_int(g.is_half ? -8 : INT8_MIN),
                       etx_ir_int(g.is_half ? 7 : INT8_MAX),
                       lower->node->args[1]};
  // Appending nodes may move those that were looked at.
  if (g.is_half) {
    ETX_TRY(pack(lower, &g, &args[0]));
  } else {
    ETX_TRY(etx_build_view(lower, bytes, sizes, 2, &value));
    args[0] = etx_ir_value_arg(value);
  }
  ETX_TRY(by_group(lower, &g, scales, 1, ETX_DTYPE_FLOAT32, &args[1]));
  if (g.zeros != NULL) {
    ETX_TRY(by_group(lower, &g, zeros, 1, ETX_DTYPE_FLOAT32, &args[2]));
  }
  *out_done = true;
  return etx_build_op(
      lower, g.is_half ? ETX_OP_embedding_4bit_out : ETX_OP_embedding_byte_out,
      args, 6, &lower->results[0]);
}
