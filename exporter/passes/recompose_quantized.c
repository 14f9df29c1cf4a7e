// Quantised weights that a graph spells out as floats. etx's own runtime has
// operators that read them as they are, so that no weight is unpacked into
// scratch, whole, at every call, or stored as floats by folding:
//
//   linear(x, dequantize_per_channel(w, s, 0), b)    linear_w8(x, w, s, b)
//   linear(x, dequantize_per_tensor(w, c, 0), b)     the same, s all c
//   linear(x, view(dequantize_per_channel(view(w), s, z)), b)
//                                                    linear_w4g(x, packed w,
//                                                    ..)
//   the same where x is quantised row by row         linear_a8w8, linear_a8w4g
//   mm(x, float(permute(w)))                         linear_w8(x, w, 1)
//   mul(linear_w8(x, w, 1), s)                       linear_w8(x, w, s)
//   float(mm(int32(x), int32(permute(w))))           linear_w8(float(x), w, 1)
//   embedding(dequantize_per_channel(w, s, z), i)    embedding_byte(w, s, z, i)
//   mul(sub(float(view(w)), 0), s)                   dequantize_per_channel
//
// Parts of rows whose numbers all fit in 4 bits are packed; the view between
// them and their layer makes rows of them again. Views and casts of scales and
// zero points, as torchao has them, are looked through.
//
// Results are the same but for the order of sums: int8 times a float scale is
// one rounding in either form.

#include "exporter/ir_edit.h"
#include "exporter/ir_rewrite.h"

// Arguments of dequantize_per_channel, of quantize_per_token (whose dtype is
// number 5) and of dequantize_per_token.
enum { INPUT = 0, SCALES = 1, ZEROS = 2, AXIS = 3, LOW = 4, HIGH = 5 };

// A byte matrix with one scale for each row, as float32, or NULL.
static const etx_ir_node* find_weight(const etx_rewrite* rewrite,
                                      const etx_ir_node* node, size_t position,
                                      bool takes_uint8) {
  const etx_ir_node* const weight = etx_rewrite_operand(
      rewrite, node, position, ETX_OP_dequantize_per_channel_out);
  if (weight == NULL) return NULL;
  const etx_shape* const bytes =
      etx_rewrite_shape(rewrite, &weight->args[INPUT]);
  const etx_shape* const scales =
      etx_rewrite_shape(rewrite, &weight->args[SCALES]);
  const bool is_byte = bytes->dtype == ETX_DTYPE_INT8 ||
                       (takes_uint8 && bytes->dtype == ETX_DTYPE_UINT8);
  const bool by_row = etx_rewrite_is_int(&weight->args[AXIS], 0) ||
                      etx_rewrite_is_int(&weight->args[AXIS], -2);
  const bool is_float =
      etx_rewrite_shape(rewrite, &node->args[position])->dtype ==
      ETX_DTYPE_FLOAT32;
  return is_byte && by_row && is_float && bytes->rank == 2 &&
                 scales->dims[0] == bytes->dims[0]
             ? weight
             : NULL;
}

// What views and casts make another form of.
static uint32_t origin_of(const etx_rewrite* rewrite, uint32_t value) {
  const etx_ir_method* const method = rewrite->lower.method;
  const etx_ir_node* node = etx_ir_definition(method, value);
  while (node != NULL && (node->op->id == ETX_OP_view_copy_out ||
                          node->op->id == ETX_OP_to_dim_order_copy_out)) {
    value = node->args[INPUT].as.value;
    node = etx_ir_definition(method, value);
  }
  return value;
}

// A constant all of whose bytes are 0.
static bool is_zero(const etx_ir_constant* constant) {
  for (size_t i = 0; i < constant->data.size; ++i) {
    if (constant->data.data[i] != 0) return false;
  }
  return true;
}

static bool has_no_zeros(const etx_rewrite* rewrite,
                         const etx_ir_node* weight) {
  const etx_ir_arg* const zeros = &weight->args[ZEROS];
  if (zeros->kind == ETX_IR_ARG_NONE) return true;
  const etx_ir_constant* const constant =
      etx_rewrite_constant(rewrite->lower.module, rewrite->lower.method,
                           origin_of(rewrite, zeros->as.value));
  return constant != NULL && is_zero(constant);
}

// True if both arguments are the results of the node, in order.
static bool are_results(const etx_rewrite* rewrite, const etx_ir_node* pair,
                        const etx_ir_arg* first, const etx_ir_arg* second) {
  return first->kind == ETX_IR_ARG_VALUE && second->kind == ETX_IR_ARG_VALUE &&
         origin_of(rewrite, first->as.value) == pair->outputs[0] &&
         origin_of(rewrite, second->as.value) == pair->outputs[1];
}

// What was quantised row by row, by ranges of its own, and became floats again
// in argument 0 of the node; NULL if it was not.
static const etx_ir_arg* find_rows(const etx_rewrite* rewrite,
                                   const etx_ir_node* node) {
  const etx_ir_node* const back =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_dequantize_per_token_out);
  const etx_ir_node* const there =
      back == NULL ? NULL
                   : etx_rewrite_operand(rewrite, back, INPUT,
                                         ETX_OP_quantize_per_token_out);
  const etx_ir_node* const pair =
      there == NULL || there->args[SCALES].kind != ETX_IR_ARG_VALUE
          ? NULL
          : etx_ir_definition(rewrite->lower.method,
                              origin_of(rewrite, there->args[SCALES].as.value));
  if (pair == NULL ||
      pair->op->id != ETX_OP_choose_qparams_per_token_asymmetric_out ||
      pair->args[0].as.value != there->args[0].as.value ||
      !are_results(rewrite, pair, &back->args[SCALES], &back->args[ZEROS]) ||
      !are_results(rewrite, pair, &there->args[SCALES], &there->args[ZEROS]) ||
      !etx_rewrite_is_int(&there->args[3], INT8_MIN) ||
      !etx_rewrite_is_int(&there->args[4], INT8_MAX) ||
      etx_rewrite_shape(rewrite, &there->args[0])->dtype != ETX_DTYPE_FLOAT32 ||
      etx_rewrite_shape(rewrite, &node->args[0])->dtype != ETX_DTYPE_FLOAT32) {
    return NULL;
  }
  return &there->args[0];
}

static etx_status find_linear(etx_rewrite* rewrite, bool* out_done) {
  const etx_ir_node* const node = rewrite->lower.node;
  if (node->op->id != ETX_OP_linear_out) return ETX_OK;
  const etx_ir_node* const weight = find_weight(rewrite, node, 1, false);
  if (weight == NULL || !has_no_zeros(rewrite, weight)) return ETX_OK;
  const etx_ir_arg* const rows = find_rows(rewrite, node);
  etx_ir_arg args[] = {rows == NULL ? node->args[0] : *rows,
                       weight->args[INPUT], weight->args[SCALES],
                       node->args[2]};
  const etx_op_id op =
      rows == NULL ? ETX_OP_linear_w8_out : ETX_OP_linear_a8w8_out;
  // Appending nodes may move those that were looked at.
  uint32_t scales = 0;
  ETX_TRY(etx_lower_cast(&rewrite->lower, args[2].as.value, ETX_DTYPE_FLOAT32,
                         &scales));
  args[2] = etx_ir_value_arg(scales);
  *out_done = true;
  return etx_lower_emit(&rewrite->lower, op, args, 4,
                        &rewrite->lower.results[0]);
}

// ------------------------------------------------ parts of rows, 4 bits

typedef struct grouped {
  const etx_ir_node* parts;  // dequantize_per_channel of [N * groups, group]
  const etx_ir_constant* bytes;
  etx_dim rows, groups, group;
} grouped;

// A constant of int8 that all lie in -8..7.
static bool fits_half_bytes(const etx_ir_constant* constant) {
  if (constant == NULL || constant->dtype != ETX_DTYPE_INT8) return false;
  for (size_t i = 0; i < constant->data.size; ++i) {
    const int8_t q = (int8_t)constant->data.data[i];
    if (q < -8 || q > 7) return false;
  }
  return true;
}

static bool find_groups(const etx_rewrite* rewrite, const etx_ir_node* node,
                        grouped* out) {
  const etx_ir_node* at = node;
  size_t position = 1;
  out->parts = NULL;
  while (out->parts == NULL && at != NULL) {
    at = etx_rewrite_operand(rewrite, at, position, ETX_OP_view_copy_out);
    position = INPUT;
    if (at == NULL) return false;
    out->parts = etx_rewrite_operand(rewrite, at, INPUT,
                                     ETX_OP_dequantize_per_channel_out);
  }
  if (out->parts == NULL || !has_no_zeros(rewrite, out->parts) ||
      !etx_rewrite_is_int(&out->parts->args[AXIS], 0)) {
    return false;
  }
  const etx_shape* const whole = etx_rewrite_shape(rewrite, &node->args[1]);
  const etx_shape* const parts =
      etx_rewrite_shape(rewrite, &out->parts->args[INPUT]);
  if (whole->rank != 2 || parts->rank != 2 || !etx_ir_is_static(whole) ||
      whole->dtype != ETX_DTYPE_FLOAT32 || parts->dims[1] <= 0 ||
      parts->dims[1] % 2 != 0 || whole->dims[1] % parts->dims[1] != 0) {
    return false;
  }
  out->rows = whole->dims[0];
  out->group = parts->dims[1];
  out->groups = whole->dims[1] / out->group;
  out->bytes = etx_rewrite_constant(
      rewrite->lower.module, rewrite->lower.method,
      origin_of(rewrite, out->parts->args[INPUT].as.value));
  return fits_half_bytes(out->bytes);
}

// Two numbers a byte, the first in the high half, each plus 8.
static etx_status pack(etx_lower* lower, const grouped* g, etx_ir_arg* out) {
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
  ETX_TRY(etx_lower_constant(lower, &constant, &value));
  *out = etx_ir_value_arg(value);
  return ETX_OK;
}

static etx_status find_grouped_linear(etx_rewrite* rewrite, bool* out_done) {
  etx_lower* const lower = &rewrite->lower;
  const etx_ir_node* const node = lower->node;
  grouped g;
  if (node->op->id != ETX_OP_linear_out || !find_groups(rewrite, node, &g) ||
      etx_rewrite_shape(rewrite, &node->args[0])->dtype != ETX_DTYPE_FLOAT32) {
    return ETX_OK;
  }
  const etx_ir_arg* const rows = find_rows(rewrite, node);
  etx_ir_arg args[] = {rows == NULL ? node->args[0] : *rows,
                       etx_ir_none(),
                       etx_ir_none(),
                       etx_ir_none(),
                       etx_ir_int(g.group),
                       node->args[2]};
  const etx_op_id op =
      rows == NULL ? ETX_OP_linear_w4g_out : ETX_OP_linear_a8w4g_out;
  const etx_dim sizes[] = {g.rows, g.groups};
  uint32_t scales = g.parts->args[SCALES].as.value;
  ETX_TRY(pack(lower, &g, &args[1]));
  ETX_TRY(etx_lower_view(lower, scales, sizes, 2, &scales));
  ETX_TRY(etx_lower_cast(lower, scales, ETX_DTYPE_FLOAT32, &scales));
  args[2] = etx_ir_value_arg(scales);
  *out_done = true;
  return etx_lower_emit(lower, op, args, 6, &lower->results[0]);
}

// ------------------------------------------------ other spellings

// The constant that operand `position` is, but for views and casts; NULL if it
// is none.
static const etx_ir_constant* constant_operand(const etx_rewrite* rewrite,
                                               const etx_ir_node* node,
                                               size_t position) {
  const etx_ir_arg* const arg = &node->args[position];
  if (arg->kind != ETX_IR_ARG_VALUE) return NULL;
  return etx_rewrite_constant(rewrite->lower.module, rewrite->lower.method,
                              origin_of(rewrite, arg->as.value));
}

// A weight less zero points of 0, times a scale for each of its last rows, as
// core ATen has what torchao says in one word.
static etx_status find_steps(etx_rewrite* rewrite, bool* out_done) {
  etx_lower* const lower = &rewrite->lower;
  const etx_ir_node* const node = lower->node;
  if (node->op->id != ETX_OP_mul_out) return ETX_OK;
  const etx_ir_node* const sub =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_sub_out);
  const etx_ir_node* const cast =
      sub == NULL
          ? NULL
          : etx_rewrite_operand(rewrite, sub, 0, ETX_OP_to_dim_order_copy_out);
  const etx_ir_constant* const zeros =
      cast == NULL ? NULL : constant_operand(rewrite, sub, 1);
  if (zeros == NULL || !is_zero(zeros) ||
      constant_operand(rewrite, cast, 0) == NULL ||
      constant_operand(rewrite, node, 1) == NULL) {
    return ETX_OK;
  }
  const etx_shape from = *etx_rewrite_shape(rewrite, &cast->args[0]);
  const etx_shape to = *etx_lower_shape(lower, node->outputs[0]);
  const etx_shape scale = *etx_rewrite_shape(rewrite, &node->args[1]);
  bool fits = from.dtype == ETX_DTYPE_INT8 && to.dtype == ETX_DTYPE_FLOAT32 &&
              scale.dtype == ETX_DTYPE_FLOAT32 && to.rank >= 2 &&
              from.rank == to.rank && scale.rank == to.rank &&
              etx_ir_is_static(&to) && scale.dims[to.rank - 1] == 1;
  for (size_t i = 0; fits && i < to.rank; ++i) {
    fits = from.dims[i] == to.dims[i] &&
           (i + 1u == to.rank || scale.dims[i] == to.dims[i]);
  }
  if (!fits) return ETX_OK;
  etx_dim rows[] = {1, to.dims[to.rank - 1]};
  for (size_t i = 0; i + 1 < to.rank; ++i) rows[0] *= to.dims[i];
  uint32_t weight = cast->args[0].as.value, scales = node->args[1].as.value;
  ETX_TRY(etx_lower_view(lower, weight, rows, 2, &weight));
  ETX_TRY(etx_lower_view(lower, scales, rows, 1, &scales));
  etx_ir_arg args[] = {etx_ir_value_arg(weight),
                       etx_ir_value_arg(scales),
                       etx_ir_none(),
                       etx_ir_int(0),
                       etx_ir_int(INT8_MIN),
                       etx_ir_int(INT8_MAX),
                       {ETX_IR_ARG_DTYPE, {0}}};
  args[6].as.dtype = ETX_DTYPE_INT8;
  ETX_TRY(etx_lower_emit(lower, ETX_OP_dequantize_per_channel_out, args, 7,
                         &weight));
  *out_done = true;
  return etx_lower_view(lower, weight, to.dims, to.rank, &lower->results[0]);
}

// A float for each of `rows`, all the same.
static etx_status uniform_scales(etx_lower* lower, etx_dim rows, float scale,
                                 etx_ir_arg* out) {
  const size_t bytes = (size_t)rows * sizeof(float);
  float* const scales = etx_pool_take(lower->module->pool, bytes);
  uint32_t value = 0;
  if (scales == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < (size_t)rows; ++i) scales[i] = scale;
  const etx_ir_constant constant = {.dtype = ETX_DTYPE_FLOAT32,
                                    .rank = 1,
                                    .sizes = {rows},
                                    .data = {(const uint8_t*)scales, bytes}};
  ETX_TRY(etx_lower_constant(lower, &constant, &value));
  *out = etx_ir_value_arg(value);
  return ETX_OK;
}

// One scale for the whole weight.
static etx_status find_plain_linear(etx_rewrite* rewrite, bool* out_done) {
  const etx_ir_node* const node = rewrite->lower.node;
  if (node->op->id != ETX_OP_linear_out) return ETX_OK;
  const etx_ir_node* const weight =
      etx_rewrite_operand(rewrite, node, 1, ETX_OP_dequantize_per_tensor_out);
  if (weight == NULL || weight->args[SCALES].kind != ETX_IR_ARG_DOUBLE) {
    return ETX_OK;
  }
  const etx_shape bytes = *etx_rewrite_shape(rewrite, &weight->args[INPUT]);
  if (bytes.dtype != ETX_DTYPE_INT8 || bytes.rank != 2 ||
      !etx_dim_is_number(bytes.dims[0]) ||
      !etx_rewrite_is_int(&weight->args[ZEROS], 0) ||
      etx_rewrite_shape(rewrite, &node->args[0])->dtype != ETX_DTYPE_FLOAT32) {
    return ETX_OK;
  }
  const float scale = (float)weight->args[SCALES].as.real;
  etx_ir_arg args[] = {node->args[0], weight->args[INPUT], etx_ir_none(),
                       node->args[2]};
  ETX_TRY(uniform_scales(&rewrite->lower, bytes.dims[0], scale, &args[2]));
  *out_done = true;
  return etx_lower_emit(&rewrite->lower, ETX_OP_linear_w8_out, args, 4,
                        &rewrite->lower.results[0]);
}

// ------------------------------------------------ products of bytes

// The int8 matrix of which operand 1 of the node is the transpose, cast to
// `dtype`; NULL if it is none.
static const etx_ir_arg* find_transposed(const etx_rewrite* rewrite,
                                         const etx_ir_node* node,
                                         etx_dtype dtype) {
  const etx_ir_node* const cast =
      etx_rewrite_operand(rewrite, node, 1, ETX_OP_to_dim_order_copy_out);
  const etx_ir_node* const permute =
      cast == NULL
          ? NULL
          : etx_rewrite_operand(rewrite, cast, INPUT, ETX_OP_permute_copy_out);
  if (permute == NULL || permute->args[1].as.list.count != 2) return NULL;
  const etx_shape* const matrix = etx_rewrite_shape(rewrite, &permute->args[0]);
  return matrix->dtype == ETX_DTYPE_INT8 &&
                 etx_dim_is_number(matrix->dims[0]) &&
                 etx_rewrite_is_int(&permute->args[1].as.list.items[0], 1) &&
                 etx_rewrite_shape(rewrite, &node->args[1])->dtype == dtype
             ? &permute->args[0]
             : NULL;
}

static etx_status emit_w8(etx_rewrite* rewrite, etx_ir_arg input,
                          etx_ir_arg weight) {
  etx_ir_arg args[] = {input, weight, etx_ir_none(), etx_ir_none()};
  const etx_dim rows = etx_rewrite_shape(rewrite, &weight)->dims[0];
  ETX_TRY(uniform_scales(&rewrite->lower, rows, 1, &args[2]));
  return etx_lower_emit(&rewrite->lower, ETX_OP_linear_w8_out, args, 4,
                        &rewrite->lower.results[0]);
}

static etx_status find_mm(etx_rewrite* rewrite, bool* out_done) {
  const etx_ir_node* const node = rewrite->lower.node;
  if (node->op->id != ETX_OP_mm_out) return ETX_OK;
  const etx_ir_arg* const weight =
      find_transposed(rewrite, node, ETX_DTYPE_FLOAT32);
  if (weight == NULL) return ETX_OK;
  *out_done = true;
  return emit_w8(rewrite, node->args[0], *weight);
}

// Sums of integers that become floats at once are summed as floats.
static etx_status find_integer_mm(etx_rewrite* rewrite, bool* out_done) {
  etx_lower* const lower = &rewrite->lower;
  const etx_ir_node* const node = lower->node;
  if (node->op->id != ETX_OP_to_dim_order_copy_out ||
      etx_lower_shape(lower, node->outputs[0])->dtype != ETX_DTYPE_FLOAT32) {
    return ETX_OK;
  }
  const etx_ir_node* const mm =
      etx_rewrite_operand(rewrite, node, INPUT, ETX_OP_mm_out);
  const etx_ir_node* const left =
      mm == NULL
          ? NULL
          : etx_rewrite_operand(rewrite, mm, 0, ETX_OP_to_dim_order_copy_out);
  const etx_ir_arg* const weight =
      left == NULL ? NULL : find_transposed(rewrite, mm, ETX_DTYPE_INT32);
  if (weight == NULL ||
      etx_rewrite_shape(rewrite, &left->args[INPUT])->dtype != ETX_DTYPE_INT8) {
    return ETX_OK;
  }
  const etx_ir_arg matrix = *weight;
  uint32_t input = 0;
  ETX_TRY(etx_lower_cast(lower, left->args[INPUT].as.value, ETX_DTYPE_FLOAT32,
                         &input));
  *out_done = true;
  return emit_w8(rewrite, etx_ir_value_arg(input), matrix);
}

// A scale for each column of a product that had none.
static etx_status find_scaled(etx_rewrite* rewrite, bool* out_done) {
  etx_lower* const lower = &rewrite->lower;
  const etx_ir_node* const node = lower->node;
  double one = 0;
  if (node->op->id != ETX_OP_mul_out ||
      node->args[1].kind != ETX_IR_ARG_VALUE) {
    return ETX_OK;
  }
  const etx_ir_node* const layer =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_linear_w8_out);
  const etx_shape* const scales = etx_rewrite_shape(rewrite, &node->args[1]);
  if (layer == NULL || layer->args[3].kind != ETX_IR_ARG_NONE ||
      !etx_rewrite_is_only_use(rewrite, node->args[0].as.value) ||
      scales->dtype != ETX_DTYPE_FLOAT32 || scales->rank != 1 ||
      scales->dims[0] != etx_rewrite_shape(rewrite, &layer->args[1])->dims[0]) {
    return ETX_OK;
  }
  const etx_ir_constant* const before = etx_rewrite_constant(
      lower->module, lower->method, layer->args[2].as.value);
  if (before == NULL || !etx_rewrite_number(before, &one) || one != 1) {
    return ETX_OK;
  }
  const etx_ir_arg args[] = {layer->args[0], layer->args[1], node->args[1],
                             etx_ir_none()};
  *out_done = true;
  return etx_lower_emit(lower, ETX_OP_linear_w8_out, args, 4,
                        &lower->results[0]);
}

static etx_status find_embedding(etx_rewrite* rewrite, bool* out_done) {
  etx_lower* const lower = &rewrite->lower;
  if (lower->node->op->id != ETX_OP_embedding_out) return ETX_OK;
  const etx_ir_node* const weight = find_weight(rewrite, lower->node, 0, true);
  if (weight == NULL) return ETX_OK;
  const bool has_zeros = !has_no_zeros(rewrite, weight);
  etx_ir_arg args[] = {weight->args[INPUT],
                       weight->args[SCALES],
                       has_zeros ? weight->args[ZEROS] : etx_ir_none(),
                       weight->args[LOW],
                       weight->args[HIGH],
                       lower->node->args[1]};
  for (size_t i = SCALES; i <= ZEROS; ++i) {
    uint32_t value = 0;
    if (args[i].kind != ETX_IR_ARG_VALUE) continue;
    ETX_TRY(etx_lower_cast(lower, args[i].as.value, ETX_DTYPE_FLOAT32, &value));
    args[i] = etx_ir_value_arg(value);
  }
  *out_done = true;
  return etx_lower_emit(lower, ETX_OP_embedding_byte_out, args, 6,
                        &lower->results[0]);
}

etx_status etx_pass_recompose_quantized(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {
      find_steps, find_linear,     find_grouped_linear, find_plain_linear,
      find_mm,    find_integer_mm, find_scaled,         find_embedding};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  return etx_rewrite_module(context, rules, sizeof rules / sizeof *rules);
}
