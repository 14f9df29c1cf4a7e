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
//   linear(x, view(dequantize_per_channel(view(w), s, 0)), b)
//                                                    mixed_linear(x, w, s) + b
//   embedding(view(dequantize_per_channel(view(w), s, z)), i)
//                                                    embedding_4bit(packed w,
//                                                    ..) or embedding_byte
//   mul(sub(float(view(w)), z), s)                   dequantize_per_channel
//   mm(int32(uint8(x + 128)), w) - 128 sum(w)        mm(int32(x), w)
//
// Rows, and parts of them, whose numbers all fit in 4 bits are packed; the view
// between parts and their layer makes rows of them again. Views and casts of
// scales and zero points, as torchao has them, are looked through.
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
  const etx_ir_arg* const zeros = &out->parts->args[ZEROS];
  out->zeros = NULL;
  if (has_no_zeros(rewrite, out->parts)) return true;
  out->zeros =
      etx_rewrite_constant(rewrite->lower.module, rewrite->lower.method,
                           origin_of(rewrite, zeros->as.value));
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
    at = etx_rewrite_argument(rewrite, &at->args[INPUT]);
  }
  if (!etx_rewrite_is_op(at, ETX_OP_dequantize_per_channel_out) ||
      !etx_rewrite_is_int(&at->args[AXIS], 0)) {
    return false;
  }
  const etx_shape* const parts = etx_rewrite_shape(rewrite, &at->args[INPUT]);
  if (whole->rank != 2 || parts->rank != 2 || !etx_ir_is_static(whole) ||
      whole->dtype != ETX_DTYPE_FLOAT32 || parts->dims[1] <= 0 ||
      whole->dims[1] % parts->dims[1] != 0) {
    return false;
  }
  out->parts = at;
  out->rows = whole->dims[0];
  out->group = parts->dims[1];
  out->groups = whole->dims[1] / out->group;
  out->bytes =
      etx_rewrite_constant(rewrite->lower.module, rewrite->lower.method,
                           origin_of(rewrite, at->args[INPUT].as.value));
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

// [N, groups] of the parts' scales or zero points, each `times` side by side,
// in a type.
static etx_status by_group(etx_lower* lower, const grouped* g, uint32_t numbers,
                           etx_dim times, etx_dtype dtype, etx_ir_arg* out) {
  const etx_dim one[] = {g->rows, g->groups, 1};
  const etx_dim all[] = {g->rows, g->groups, times};
  const etx_dim sizes[] = {g->rows, g->groups * times};
  uint32_t value = numbers;
  if (times > 1) {
    ETX_TRY(etx_lower_view(lower, value, one, 3, &value));
    ETX_TRY(etx_lower_expand(lower, value, all, 3, &value));
  }
  ETX_TRY(etx_lower_view(lower, value, sizes, 2, &value));
  ETX_TRY(etx_lower_cast(lower, value, dtype, &value));
  *out = etx_ir_value_arg(value);
  return ETX_OK;
}

static etx_status emit_halves(etx_rewrite* rewrite, const grouped* g) {
  etx_lower* const lower = &rewrite->lower;
  const etx_ir_node* const node = lower->node;
  const etx_ir_arg* const rows = find_rows(rewrite, node);
  const etx_dim group = fast_group(g->group), times = g->group / group;
  const uint32_t scales = g->parts->args[SCALES].as.value;
  const uint32_t zeros =
      g->zeros == NULL ? 0 : origin_of(rewrite, g->parts->args[ZEROS].as.value);
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
  return etx_lower_emit(lower, op, args, 6, &lower->results[0]);
}

// Why a layer over int8, in parts of rows or with zero points, stays one over
// floats; NULL: it need not.
static const char* obstacle_of(const etx_rewrite* rewrite, const grouped* g) {
  // Each row reads the weight again, which takes longer than making floats of
  // it once.
  enum { MOST_ROWS = 4 };
  const etx_shape* const out =
      etx_lower_shape(&rewrite->lower, rewrite->lower.node->outputs[0]);
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
  etx_lower* const lower = &rewrite->lower;
  const etx_ir_arg bias = lower->node->args[2];
  const uint32_t input = lower->node->args[0].as.value;
  const uint32_t bytes = g->parts->args[INPUT].as.value;
  const uint32_t scales = g->parts->args[SCALES].as.value;
  const etx_shape out = *etx_lower_shape(lower, lower->node->outputs[0]);
  const etx_dim weight[] = {g->rows, g->groups * g->group};
  etx_dim rows[] = {0, weight[1]};
  uint32_t value = 0;
  etx_ir_arg args[] = {etx_ir_none(),
                       etx_ir_none(),
                       etx_ir_none(),
                       etx_ir_none(),
                       {ETX_IR_ARG_DTYPE, {0}}};
  args[4].as.dtype = ETX_DTYPE_FLOAT32;
  ETX_TRY(etx_lower_product(lower, out.dims, 0, out.rank - 1u, &rows[0]));
  ETX_TRY(etx_lower_view(lower, input, rows, 2, &value));
  args[0] = etx_ir_value_arg(value);
  ETX_TRY(etx_lower_view(lower, bytes, weight, 2, &value));
  args[1] = etx_ir_value_arg(value);
  ETX_TRY(by_group(lower, g, scales, 1, ETX_DTYPE_FLOAT32, &args[2]));
  ETX_TRY(etx_lower_emit(lower, ETX_OP_mixed_linear_out, args, 5, &value));
  if (bias.kind == ETX_IR_ARG_VALUE) {
    ETX_TRY(
        etx_lower_binary(lower, ETX_OP_add_out, value, bias.as.value, &value));
  }
  return etx_lower_view(lower, value, out.dims, out.rank, &lower->results[0]);
}

static etx_status find_grouped_linear(etx_rewrite* rewrite, bool* out_done) {
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
  // fuse_bytes has told of layers whose input was quantised beforehand.
  const bool is_told =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_dequantize_per_tensor_out) !=
      NULL;
  if (has_one_scale || (obstacle != NULL && is_told)) return ETX_OK;
  if (obstacle != NULL) {
    return etx_fusion_missed(rewrite->fusions, &rewrite->lower,
                             "quantised layer", obstacle);
  }
  *out_done = true;
  return emit_parts(rewrite, &g);
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

// True if operand `position` is this number, everywhere.
static bool is_number(const etx_rewrite* rewrite, const etx_ir_node* node,
                      size_t position, double wanted) {
  const etx_ir_constant* const constant =
      constant_operand(rewrite, node, position);
  double number = 0;
  return constant != NULL && etx_rewrite_number(constant, &number) &&
         number == wanted;
}

// A weight less zero points, times a scale for each of its last rows, as
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
  if (zeros == NULL || constant_operand(rewrite, cast, 0) == NULL ||
      constant_operand(rewrite, node, 1) == NULL) {
    return ETX_OK;
  }
  const bool has_zeros = !is_zero(zeros);
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
  if (fits && has_zeros) {
    const etx_shape* const own = etx_rewrite_shape(rewrite, &sub->args[1]);
    fits = zeros->dtype == ETX_DTYPE_INT8 && own->rank == scale.rank &&
           memcmp(own->dims, scale.dims, scale.rank * sizeof *scale.dims) == 0;
  }
  if (!fits) return ETX_OK;
  etx_dim rows[] = {1, to.dims[to.rank - 1]};
  for (size_t i = 0; i + 1 < to.rank; ++i) rows[0] *= to.dims[i];
  uint32_t weight = cast->args[0].as.value, scales = node->args[1].as.value;
  uint32_t shifts =
      has_zeros ? origin_of(rewrite, sub->args[1].as.value) : scales;
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
  if (has_zeros) {
    ETX_TRY(etx_lower_view(lower, shifts, rows, 1, &shifts));
    ETX_TRY(etx_lower_cast(lower, shifts, ETX_DTYPE_INT64, &shifts));
    args[2] = etx_ir_value_arg(shifts);
  }
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

// True if operand 0 of a product is int8 x + 128, by way of uint8; `*out_value`
// becomes x.
static bool find_shifted(const etx_rewrite* rewrite, const etx_ir_node* node,
                         uint32_t* out_value) {
  const etx_op_id cast = ETX_OP_to_dim_order_copy_out;
  const etx_ir_node* const wide = etx_rewrite_operand(rewrite, node, 0, cast);
  const etx_ir_node* const narrow =
      wide == NULL ? NULL : etx_rewrite_operand(rewrite, wide, INPUT, cast);
  const etx_ir_node* const add =
      narrow == NULL
          ? NULL
          : etx_rewrite_operand(rewrite, narrow, INPUT, ETX_OP_add_out);
  const etx_ir_node* const from =
      add == NULL ? NULL : etx_rewrite_operand(rewrite, add, 0, cast);
  if (from == NULL ||
      etx_rewrite_shape(rewrite, &wide->args[INPUT])->dtype !=
          ETX_DTYPE_UINT8 ||
      etx_rewrite_shape(rewrite, &from->args[INPUT])->dtype != ETX_DTYPE_INT8 ||
      etx_rewrite_shape(rewrite, &add->args[0])->dtype != ETX_DTYPE_INT32 ||
      !is_number(rewrite, add, 1, 128) ||
      !etx_rewrite_is_int(&add->args[2], 1)) {
    return false;
  }
  *out_value = from->args[INPUT].as.value;
  return true;
}

// The product of uint8, as processors have it that know no other, less what the
// shift by 128 added: the product of int8 that was meant.
static etx_status find_shifted_mm(etx_rewrite* rewrite, bool* out_done) {
  etx_lower* const lower = &rewrite->lower;
  const etx_ir_node* const node = lower->node;
  if (node->op->id != ETX_OP_sub_out ||
      !etx_rewrite_is_int(&node->args[2], 1)) {
    return ETX_OK;
  }
  const etx_ir_node* const mm =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_mm_out);
  const etx_ir_node* const times =
      etx_rewrite_operand(rewrite, node, 1, ETX_OP_mul_out);
  uint32_t bytes = 0;
  if (mm == NULL || times == NULL || !is_number(rewrite, times, 1, 128) ||
      etx_lower_shape(lower, node->outputs[0])->dtype != ETX_DTYPE_INT32 ||
      !find_shifted(rewrite, mm, &bytes)) {
    return ETX_OK;
  }
  const etx_ir_arg right = mm->args[1];
  const etx_ir_node* const sum = etx_ir_definition(
      lower->method, origin_of(rewrite, times->args[0].as.value));
  if (!etx_rewrite_is_op(sum, ETX_OP_sum_intlist_out) ||
      sum->args[1].as.list.count != 1 ||
      !etx_rewrite_is_int(&sum->args[1].as.list.items[0], 0) ||
      origin_of(rewrite, sum->args[0].as.value) !=
          origin_of(rewrite, right.as.value)) {
    return ETX_OK;
  }
  // What was looked through may be views of other rows.
  const etx_shape* const summed = etx_rewrite_shape(rewrite, &sum->args[0]);
  const etx_shape* const less = etx_rewrite_shape(rewrite, &node->args[1]);
  const etx_dim columns = etx_rewrite_shape(rewrite, &right)->dims[1];
  if (summed->rank != 2 || summed->dims[1] != columns || less->rank != 2 ||
      less->dims[0] != 1 || less->dims[1] != columns) {
    return ETX_OK;
  }
  etx_ir_arg args[] = {etx_ir_none(), right};
  uint32_t left = 0;
  ETX_TRY(etx_lower_cast(lower, bytes, ETX_DTYPE_INT32, &left));
  args[0] = etx_ir_value_arg(left);
  *out_done = true;
  return etx_lower_emit(lower, ETX_OP_mm_out, args, 2, &lower->results[0]);
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

// A table of 4 bits, or of int8 in parts of rows.
static etx_status find_grouped_embedding(etx_rewrite* rewrite, bool* out_done) {
  etx_lower* const lower = &rewrite->lower;
  grouped g;
  if (lower->node->op->id != ETX_OP_embedding_out ||
      !find_groups(rewrite, lower->node, 0, &g) ||
      (!g.is_half && g.groups == 1)) {
    return ETX_OK;
  }
  const uint32_t bytes = g.parts->args[INPUT].as.value;
  const uint32_t scales = g.parts->args[SCALES].as.value;
  const uint32_t zeros =
      g.zeros == NULL ? 0 : origin_of(rewrite, g.parts->args[ZEROS].as.value);
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
    ETX_TRY(etx_lower_view(lower, bytes, sizes, 2, &value));
    args[0] = etx_ir_value_arg(value);
  }
  ETX_TRY(by_group(lower, &g, scales, 1, ETX_DTYPE_FLOAT32, &args[1]));
  if (g.zeros != NULL) {
    ETX_TRY(by_group(lower, &g, zeros, 1, ETX_DTYPE_FLOAT32, &args[2]));
  }
  *out_done = true;
  return etx_lower_emit(
      lower, g.is_half ? ETX_OP_embedding_4bit_out : ETX_OP_embedding_byte_out,
      args, 6, &lower->results[0]);
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
  static const etx_rewrite_rule rules[] = {find_steps,
                                           find_grouped_linear,
                                           find_linear,
                                           find_plain_linear,
                                           find_mm,
                                           find_shifted_mm,
                                           find_integer_mm,
                                           find_scaled,
                                           find_grouped_embedding,
                                           find_embedding};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  return etx_rewrite_module(context, rules, sizeof rules / sizeof *rules);
}
