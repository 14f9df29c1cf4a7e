// Rounds weights to int8, int4 or halves, following the rules of the module
// (quantize_rules.h):
//
//   linear(x, w, b)  ->  linear_a8w8(x, q, s, b) or linear_w8
//                        linear_a8w4g(x, q, s, None, group, b) or linear_w4g
//   embedding(w, i)  ->  embedding_byte(q, s, None, -128, 127, i)
//                        embedding_4bit(q, s, None, -8, 7, i); None is p,
//                        parameters of groups, where these have offsets
//   convolution(x, w, ..)  ->  convolution(x, dequantize_per_channel(q, s), ..)
//
// Halves are read by the same operators:
//
//   linear(x, w, b)         ->  linear(x, h, b)
//   embedding(w, i)         ->  cast(embedding(h, i))
//   convolution(x, w, ..)   ->  convolution(x, cast(h), ..)
//
// A convolution computes with floats: its weight is dequantised, or expanded
// from halves, to scratch in front of it, which costs one pass over the weight,
// while each weight is used for every position of the output. It has a scale
// for each index of its first dimension: the output channel, or the input
// channel of a transposed convolution. There is no such product over 4 bits, so
// it gets 8.
//
// Linear layers and embeddings read the same integers, so an embedding table
// that is also the output projection is stored once. A weight that another
// operator reads as floats is not rounded: it would be stored twice.
//
// Weights are float32, float16 or bfloat16; only float32 becomes halves. Scales
// are float32 in any case; results keep the dtype of the floats.

#include "exporter/rewrite/constant_users.h"
#include "exporter/host/paged_memory.h"
#include "exporter/ir/ir_edit.h"
#include "exporter/rewrite/ir_rewrite.h"
#include "exporter/passes/layer_inputs.h"
#include "exporter/quantize/rounding/rounded_rows.h"
#include "exporter/import/quantize_rules.h"

enum {
  WEIGHT = 1,           // argument of linear and convolution
  TABLE = 0,            // of embedding
  MIN_ELEMENTS = 1024,  // smaller weights save too little
  MIN_GROUP = 32,
  HALF_BITS = 16,
};

// What is known of a constant.
typedef struct rounded_weight {
  bool is_read;          // by a method
  bool is_layer;         // by linear, as its weight
  bool is_table;         // by embedding
  bool is_convolution;   // by convolution, as its weight
  etx_text reader;       // an operator that cannot read integers, or empty
  const char* obstacle;  // why a layer cannot read integers; NULL: none
  etx_dtype dtype;       // of the floats; set if it was rounded
  uint32_t bits;         // it was rounded to; 0: not rounded
  etx_dtype half;        // with 16 bits
  uint32_t group;        // elements per scale; 0: a row
  bool keeps_rows;       // weight-only: activations stay floats
  bool has_offsets;      // of groups (offset_rounding.h)
  uint32_t integers;     // constants of the module; halves with 16 bits
  uint32_t scales;
  uint32_t params;  // of groups, if they have offsets
} rounded_weight;

typedef struct weight_quantizer {
  etx_pass_context* context;
  etx_ir_module* module;
  rounded_weight* weights;  // by constant
  size_t weight_count;
} weight_quantizer;

// The record of the constant that an argument reads, or NULL.
static rounded_weight* weight_of(const weight_quantizer* self,
                                 const etx_ir_method* method,
                                 const etx_ir_arg* arg) {
  const size_t index = etx_constant_behind(self->module, method, arg);
  return index < self->weight_count ? &self->weights[index] : NULL;
}

// True for the dtypes of weights that can be rounded.
static bool is_weight_dtype(etx_dtype dtype) {
  return dtype == ETX_DTYPE_FLOAT32 || etx_dtype_is_half(dtype);
}

// ------------------------------------------------ readers of constants

// Why a linear layer cannot read integers; NULL if it can.
static const char* obstacle_of(const etx_ir_method* method,
                               const etx_ir_node* node) {
  const etx_ir_value* const values = method->values;
  const etx_ir_arg* const bias = &node->args[2];
  const etx_shape* const weight = &values[node->args[WEIGHT].as.value].shape;
  if (values[node->args[0].as.value].shape.dtype != weight->dtype) {
    return "has another dtype than the input of its layer";
  }
  if (weight->rank != 2) {
    return "is not a matrix";
  }
  if (bias->kind == ETX_IR_ARG_VALUE &&
      values[bias->as.value].shape.rank != 1) {
    return "belongs to a layer whose bias is not a vector";
  }
  return NULL;
}

// Constant methods and initial values of states read a constant as floats.
static void note_reader(void* context, size_t constant,
                        const etx_constant_user* reader) {
  const weight_quantizer* const self = context;
  rounded_weight* const read = &self->weights[constant];
  const etx_ir_node* const node = reader->node;
  if (reader->method != NULL) read->is_read = true;
  if (node != NULL && node->op->id == ETX_OP_linear_out &&
      reader->position == WEIGHT) {
    read->is_layer = true;
    if (read->obstacle == NULL) {
      read->obstacle = obstacle_of(reader->method, node);
    }
  } else if (node != NULL && node->op->id == ETX_OP_embedding_out &&
             reader->position == TABLE) {
    read->is_table = true;
  } else if (node != NULL && node->op->id == ETX_OP_convolution_out &&
             reader->position == WEIGHT) {
    read->is_convolution = true;
  } else {
    read->reader = reader->name;
  }
}

// ------------------------------------------------ rounding

// The rows of a constant: those with one index of the first dimension.
static etx_weight_rows rows_of(const etx_ir_constant* constant) {
  const size_t rows = (size_t)constant->sizes[0];
  const size_t count = constant->data.size / etx_dtype_bytes(constant->dtype);
  return (etx_weight_rows){.data = constant->data.data,
                           .dtype = constant->dtype,
                           .rows = rows,
                           .inner = rows == 0 ? 0 : count / rows};
}

// Why numbers of a constant are too large for a rule; NULL: none is.
static const char* why_too_large(const weight_quantizer* self,
                                 const etx_ir_constant* constant,
                                 const etx_quantize_rule* rule) {
  const char* reason = "has values beyond 1e15 or NaN";
  float largest = ETX_WEIGHT_ROUNDING_LARGEST;
  if (rule->bits == HALF_BITS && rule->half == ETX_DTYPE_FLOAT16) {
    largest = ETX_WEIGHT_ROUNDING_LARGEST_F16;
    reason =
        "has values that float16 rounds to infinity (its largest is 65504), or "
        "NaN";
  } else if (rule->bits == HALF_BITS) {
    largest = ETX_WEIGHT_ROUNDING_LARGEST_BF16;
    reason =
        "has values that bfloat16 rounds to infinity (its largest is 3.39e38), "
        "or NaN";
  }
  const etx_weight_rows rows = rows_of(constant);
  const etx_workers* const workers = self->context->options->workers;
  return etx_weight_rows_in_range(&rows, largest, workers) ? NULL : reason;
}

// How the inputs of a layer vary together, if that is known; `out->factors` is
// NULL otherwise. A table is read row by row: its elements are not to make up
// for one another.
static etx_status find_inputs(const weight_quantizer* self,
                              const rounded_weight* to,
                              const etx_weight_rows* from, etx_pool* scratch,
                              etx_quantized* row, etx_input_factors* out) {
  const etx_export_options* const options = self->context->options;
  const etx_layer_inputs* const inputs = options->layer_inputs;
  etx_input_products* products = NULL;
  const etx_bytes bytes = {
      from->data, from->rows * from->inner * etx_dtype_bytes(from->dtype)};
  *out = (etx_input_factors){0, NULL};
  if (inputs == NULL || !to->is_layer || to->is_table ||
      to->bits == HALF_BITS) {
    return ETX_OK;
  }
  ETX_TRY(inputs->find(inputs->context, bytes, from->inner, &products,
                       self->context->diag));
  if (products == NULL) return ETX_OK;
  double* const doubles =
      etx_pool_take(scratch, etx_input_factors_scratch(from->inner));
  if (doubles == NULL) return ETX_OUT_OF_MEMORY;
  if (etx_input_factors_make(products, doubles, options->workers, out)) {
    row->input_rows = products->rows;
  }
  return ETX_OK;
}

static size_t scale_count(const rounded_weight* to, const etx_weight_rows* from,
                          const etx_rounded_rows* made) {
  return from->rows * (to->has_offsets ? 1 : made->groups);
}

static size_t params_bytes(const etx_ir_constant* from,
                           const etx_rounded_rows* made) {
  return made->params == NULL
             ? 0
             : (size_t)from->sizes[0] * made->groups * sizeof *made->params;
}

static etx_status add_constants(const weight_quantizer* self,
                                rounded_weight* to, const etx_ir_constant* from,
                                const etx_rounded_rows* made) {
  const int64_t rows = from->sizes[0];
  const bool is_row = to->group == 0 || to->has_offsets;  // one scale
  const size_t count = (size_t)rows * (is_row ? 1 : made->groups);
  etx_ir_constant integers = {
      .dtype = to->bits == 8 ? ETX_DTYPE_INT8 : ETX_DTYPE_UINT8,
      .rank = 2,
      .sizes = {rows, (int64_t)made->row_bytes},
      .data = {made->integers, (size_t)rows * made->row_bytes}};
  if (to->is_convolution || to->bits == HALF_BITS) {
    integers.rank = from->rank;
    memcpy(integers.sizes, from->sizes, sizeof integers.sizes);
  }
  if (to->bits == HALF_BITS) {
    integers.dtype = to->half;
    return etx_ir_add_constant(self->module, &integers, &to->integers);
  }
  const etx_ir_constant scales = {
      .dtype = ETX_DTYPE_FLOAT32,
      .rank = is_row ? 1 : 2,
      .sizes = {rows, (int64_t)made->groups},
      .data = {(const uint8_t*)made->scales, count * sizeof(float)}};
  ETX_TRY(etx_ir_add_constant(self->module, &integers, &to->integers));
  if (to->has_offsets) {
    const etx_ir_constant params = {
        .dtype = ETX_DTYPE_INT16,
        .rank = 2,
        .sizes = {rows, (int64_t)made->groups},
        .data = {(const uint8_t*)made->params, params_bytes(from, made)}};
    ETX_TRY(etx_ir_add_constant(self->module, &params, &to->params));
  }
  return etx_ir_add_constant(self->module, &scales, &to->scales);
}

// Memory for the rounded rows.
static etx_status take_rows(const rounded_weight* to,
                            const etx_weight_rows* from, etx_pool* pool,
                            etx_rounded_rows* out) {
  const size_t rows = from->rows;
  out->row_bytes = from->inner * to->bits / 8;
  out->groups = to->group == 0 ? 1 : from->inner / to->group;
  out->integers = etx_pages_take(pool, rows * out->row_bytes);
  if (out->integers == NULL) return ETX_OUT_OF_MEMORY;
  if (to->has_offsets) {
    out->params = etx_pages_take(pool, rows * out->groups * sizeof(int16_t));
    if (out->params == NULL) return ETX_OUT_OF_MEMORY;
  }
  if (to->bits == HALF_BITS) return ETX_OK;
  out->scales =
      etx_pages_take(pool, scale_count(to, from, out) * sizeof(float));
  return out->scales == NULL ? ETX_OUT_OF_MEMORY : ETX_OK;
}

static etx_status round_rows(const weight_quantizer* self,
                             const rounded_weight* to,
                             const etx_weight_rows* from, etx_quantized* row,
                             etx_rounded_rows* out) {
  const etx_row_kind kind = {.bits = to->bits,
                             .group = to->group,
                             .has_offsets = to->has_offsets,
                             .is_bfloat = to->half == ETX_DTYPE_BFLOAT16};
  etx_weight_rounding_error error;
  etx_input_factors factors;
  etx_pool scratch;
  etx_pool_init(&scratch);
  etx_status status = find_inputs(self, to, from, &scratch, row, &factors);
  if (status == ETX_OK) {
    status = etx_rounded_rows_make(
        from, &kind, factors.factors == NULL ? NULL : &factors,
        self->context->options->workers, out, &error);
  }
  etx_pool_close(&scratch);
  ETX_TRY(status);
  row->signal = error.signal;
  row->noise = error.noise;
  return ETX_OK;
}

static etx_status round_weight(const weight_quantizer* self, uint32_t index,
                               etx_quantized* row) {
  rounded_weight* const to = &self->weights[index];
  const etx_ir_constant from = self->module->constants[index];
  const etx_weight_rows rows = rows_of(&from);
  etx_pool* const pool = self->module->pool;
  etx_rounded_rows made = {.integers = NULL};
  ETX_TRY(take_rows(to, &rows, pool, &made));
  ETX_TRY(round_rows(self, to, &rows, row, &made));
  etx_pages_rest(pool, from.data.data, from.data.size);
  row->bytes_after = rows.rows * made.row_bytes + params_bytes(&from, &made);
  if (made.scales != NULL) {
    row->bytes_after += scale_count(to, &rows, &made) * sizeof(float);
  }
  ETX_TRY(add_constants(self, to, &from, &made));
  return etx_constant_names_inherit(&self->context->constant_names,
                                    self->module, index, to->integers);
}

// ------------------------------------------------ choosing a kind

// The largest group size up to `wanted` that divides the row length; 0: none.
static uint32_t group_for(int64_t inner, uint32_t wanted) {
  for (uint32_t group = wanted; group >= MIN_GROUP; group /= 2) {
    if (inner % group == 0) return group;
  }
  return 0;
}

static const char* kind_word(const rounded_weight* w) {
  if (w->bits == HALF_BITS) {
    return w->half == ETX_DTYPE_FLOAT16 ? "f16" : "bf16";
  }
  if (w->bits == 8) {
    if (w->group != 0) return "int8w/32";
    return w->keeps_rows ? "int8w" : "int8";
  }
  if (w->has_offsets) return "int4k";
  switch (w->group) {
    case 32:
      return w->keeps_rows ? "int4w/32" : "int4/32";
    case 64:
      return w->keeps_rows ? "int4w/64" : "int4/64";
    default:
      return w->keeps_rows ? "int4w/128" : "int4/128";
  }
}

// Chooses the kind of the rule, or the nearest one that the row length allows.
static void choose_kind(rounded_weight* w, const etx_quantize_rule* rule,
                        const etx_ir_constant* constant, etx_quantized* row) {
  w->dtype = constant->dtype;
  w->bits = rule->bits;
  w->half = rule->half;
  w->keeps_rows = rule->keeps_rows;
  w->has_offsets = rule->has_offsets && !w->is_convolution;
  if (w->is_convolution && rule->bits != HALF_BITS) {
    if (rule->bits == 4) row->reason = "convolutions read int8";
    w->bits = 8;
    w->keeps_rows = true;
  } else if (rule->group != 0) {
    w->group = group_for(constant->sizes[1], rule->group);
    if (w->group != rule->group) {
      row->reason =
          "the row length is not a multiple of the requested group size";
    }
    if (w->group == 0) w->bits = 8;
    if (w->group == 0) w->has_offsets = false;
  }
  row->kind = kind_word(w);
}

// Why a weight is not rounded; NULL if it is.
static const char* why_not_rounded(const rounded_weight* w,
                                   const etx_ir_constant* constant,
                                   const etx_quantize_rule* rule,
                                   etx_text name) {
  if (!w->is_layer && !w->is_table && !w->is_convolution)
    return "is not the weight of a linear layer, convolution or embedding";
  if (rule == NULL) return "no rule names it";
  if (rule->bits == 0) return "is excluded";
  if (!is_weight_dtype(constant->dtype)) {
    return "is not float32, float16 or bfloat16";
  }
  if (rule->bits == HALF_BITS && constant->dtype != ETX_DTYPE_FLOAT32) {
    return "is not float32";
  }
  if (w->obstacle != NULL) return w->obstacle;
  if (!w->is_convolution && constant->rank != 2) return "is not a matrix";
  if (w->reader.size != 0) return "is also read as floats by";
  if (constant->data.size == 0 ||
      (constant->data.size < MIN_ELEMENTS * etx_dtype_bytes(constant->dtype) &&
       !etx_quantize_rule_names(rule, name))) {
    return "is too small";
  }
  return NULL;
}

// True for constants that the report lists. Unnamed constants that no layer
// reads (such as masks) and vectors (biases, norm weights) are left out.
static bool is_reported(const rounded_weight* w,
                        const etx_ir_constant* constant, size_t name_count) {
  if (etx_dtype_category_of(constant->dtype) != ETX_CATEGORY_FLOATING)
    return false;
  return w->is_layer || w->is_table || w->is_convolution ||
         (name_count != 0 && constant->rank > 1 &&
          constant->dtype == ETX_DTYPE_FLOAT32);
}

static etx_status quantize_if_possible(const weight_quantizer* self,
                                       uint32_t index) {
  rounded_weight* const w = &self->weights[index];
  const etx_ir_constant* const constant = &self->module->constants[index];
  etx_text* names = NULL;
  size_t count = 0;
  if (!w->is_read) return ETX_OK;
  ETX_TRY(etx_constant_names_find(&self->context->constant_names, self->module,
                                  index, &names, &count));
  if (!is_reported(w, constant, count)) return ETX_OK;
  const etx_text unnamed = etx_text_of("(computed)");
  etx_quantized row = {.name = count == 0 ? unnamed : names[0],
                       .name_count = count,
                       .type = etx_dtype_name(constant->dtype),
                       .bytes = constant->data.size,
                       .bytes_after = constant->data.size};
  etx_quantize_rule* const rule =
      etx_quantize_rule_of(self->module, names, count);
  row.reason = why_not_rounded(w, constant, rule, row.name);
  if (row.reason == NULL) {
    row.reason = why_too_large(self, constant, rule);
    row.is_beyond = row.reason != NULL;
  }
  if (row.reason == NULL) {
    choose_kind(w, rule, constant, &row);
    ETX_TRY(round_weight(self, index, &row));
    ++rule->rounded;
  } else {
    row.reader = w->reader;
  }
  etx_quantized_report* const list = &self->context->quantized;
  ETX_TRY(etx_pool_grow(self->module->pool, &list->items, list->count,
                        &list->capacity, sizeof *list->items));
  list->items[list->count++] = row;
  return ETX_OK;
}

// ------------------------------------------------ nodes

static etx_status constant_arg(const weight_quantizer* self,
                               etx_ir_method* method, uint32_t constant,
                               etx_ir_arg* out) {
  uint32_t value = 0;
  ETX_TRY(etx_ir_constant_value(self->module, method, constant, &value));
  *out = etx_ir_value_arg(value);
  return ETX_OK;
}

// The dtype of the result of an operator over scales in float32: None for
// float32.
static etx_ir_arg result_dtype(etx_dtype dtype) {
  etx_ir_arg arg = {ETX_IR_ARG_DTYPE, {0}};
  if (dtype == ETX_DTYPE_FLOAT32) return etx_ir_none();
  arg.as.dtype = dtype;
  return arg;
}

// The arguments of a layer that are constants.
typedef struct layer_constants {
  etx_ir_arg integers, scales, zeros;
} layer_constants;

// The operator that reads the integers; sets its arguments.
static etx_op_id new_node(const rounded_weight* w, const etx_ir_node* old,
                          const layer_constants* constants, etx_ir_arg* args,
                          size_t* out_count) {
  size_t n = 0;
  if (old->op->id == ETX_OP_embedding_out) {
    args[n++] = constants->integers;
    args[n++] = constants->scales;
    args[n++] = constants->zeros;
    args[n++] = etx_ir_int(w->bits == 8 ? -128 : -8);
    args[n++] = etx_ir_int(w->bits == 8 ? 127 : 7);
    args[n++] = old->args[1];
    if (w->dtype != ETX_DTYPE_FLOAT32) args[n++] = result_dtype(w->dtype);
    *out_count = n;
    if (w->dtype != ETX_DTYPE_FLOAT32) {
      return w->bits == 8 ? ETX_OP_embedding_byte_dtype_out
                          : ETX_OP_embedding_4bit_dtype_out;
    }
    return w->bits == 8 ? ETX_OP_embedding_byte_out : ETX_OP_embedding_4bit_out;
  }
  args[n++] = old->args[0];
  args[n++] = constants->integers;
  args[n++] = constants->scales;
  if (w->bits == 4) {
    args[n++] = constants->zeros;
    args[n++] = etx_ir_int((etx_dim)w->group);
  }
  args[n++] = old->args[2];
  *out_count = n;
  if (w->bits == 8) {
    return w->keeps_rows ? ETX_OP_linear_w8_out : ETX_OP_linear_a8w8_out;
  }
  return w->keeps_rows ? ETX_OP_linear_w4g_out : ETX_OP_linear_a8w4g_out;
}

static etx_status change_node(const weight_quantizer* self,
                              etx_ir_method* method, etx_ir_node* node,
                              bool* out_changed) {
  const bool is_table = node->op->id == ETX_OP_embedding_out;
  if (!is_table && node->op->id != ETX_OP_linear_out) return ETX_OK;
  const rounded_weight* const w =
      weight_of(self, method, &node->args[is_table ? TABLE : WEIGHT]);
  if (w == NULL || w->bits == 0 || w->bits == HALF_BITS) return ETX_OK;
  enum { MOST_ARGS = 7 };
  layer_constants constants = {.zeros = etx_ir_none()};
  etx_ir_arg* const args =
      etx_pool_take(self->module->pool, MOST_ARGS * sizeof *args);
  if (args == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(constant_arg(self, method, w->integers, &constants.integers));
  ETX_TRY(constant_arg(self, method, w->scales, &constants.scales));
  if (w->has_offsets) {
    ETX_TRY(constant_arg(self, method, w->params, &constants.zeros));
  }
  const etx_op_id id = new_node(w, node, &constants, args, &node->arg_count);
  node->args = args;
  node->op = etx_op_at(id);
  *out_changed = true;
  return ETX_OK;
}

// Puts dequantize_per_channel between a convolution and its weight.
static etx_status dequantize_weight(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (node->op->id != ETX_OP_convolution_out) return ETX_OK;
  const weight_quantizer* const self = rewrite->facts;
  const rounded_weight* const w =
      weight_of(self, builder->method, &node->args[WEIGHT]);
  if (w == NULL || w->bits == 0 || w->bits == HALF_BITS) return ETX_OK;
  enum { ARGS = 9 };  // of a convolution
  const etx_ir_arg axis = etx_ir_int(0);
  etx_ir_arg layer[ARGS],
      args[8] = {[2] = etx_ir_none(),           [3] = axis,
                 [4] = etx_ir_int(INT8_MIN),    [5] = etx_ir_int(INT8_MAX),
                 [6] = {ETX_IR_ARG_DTYPE, {0}}, [7] = result_dtype(w->dtype)};
  uint32_t floats = 0;
  memcpy(layer, node->args, sizeof layer);
  args[6].as.dtype = ETX_DTYPE_INT8;
  ETX_TRY(constant_arg(self, builder->method, w->integers, &args[0]));
  ETX_TRY(constant_arg(self, builder->method, w->scales, &args[1]));
  ETX_TRY(etx_build_op(builder, ETX_OP_dequantize_per_channel_out, args, 8,
                       &floats));
  layer[WEIGHT] = etx_ir_value_arg(floats);
  *out_done = true;
  return etx_build_op(builder, ETX_OP_convolution_out, layer, ARGS,
                      &builder->results[0]);
}

// Lets an operator read halves. Rows of a table and weights of a convolution
// become float32.
static etx_status read_halves(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  const etx_op_id id = node->op->id;
  if (id != ETX_OP_linear_out && id != ETX_OP_embedding_out &&
      id != ETX_OP_convolution_out) {
    return ETX_OK;
  }
  const weight_quantizer* const self = rewrite->facts;
  const size_t position = id == ETX_OP_embedding_out ? TABLE : WEIGHT;
  const rounded_weight* const w =
      weight_of(self, builder->method, &node->args[position]);
  if (w == NULL || w->bits != HALF_BITS) return ETX_OK;
  etx_ir_arg args[ETX_MAX_ARGUMENTS];
  const size_t count = node->arg_count;
  uint32_t* const result = &builder->results[0];
  memcpy(args, node->args, count * sizeof *args);
  ETX_TRY(constant_arg(self, builder->method, w->integers, &args[position]));
  if (id == ETX_OP_convolution_out) {
    uint32_t floats = 0;
    ETX_TRY(etx_build_cast(builder, args[position].as.value, ETX_DTYPE_FLOAT32,
                           &floats));
    args[position] = etx_ir_value_arg(floats);
  }
  *out_done = true;
  ETX_TRY(etx_build_op(builder, id, args, count, result));
  return id == ETX_OP_embedding_out
             ? etx_build_cast(builder, *result, ETX_DTYPE_FLOAT32, result)
             : ETX_OK;
}

static etx_status change_method(const weight_quantizer* self,
                                etx_ir_method* method) {
  static const etx_rewrite_rule rules[] = {dequantize_weight, read_halves};
  enum { RULES = sizeof rules / sizeof *rules };
  bool is_changed = false;
  for (size_t i = 0; i < method->node_count; ++i) {
    ETX_TRY(change_node(self, method, &method->nodes[i], &is_changed));
  }
  if (is_changed) ETX_TRY(etx_ir_renumber(self->module, method));
  return etx_rewrite_method_with(self->context, method, rules, RULES, self,
                                 &is_changed);
}

etx_status etx_pass_quantize_weights(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  weight_quantizer self = {.context = context,
                           .module = module,
                           .weight_count = module->constant_count};
  if (module->quantize_count == 0) return ETX_OK;
  if (context->options->target != ETX_TARGET_ETX) {
    return etx_diag_fail(
        context->diag, ETX_UNSUPPORTED,
        "ExecuTorch has no linear layer over quantised "
        "weights, or over halves beside float32: plan for "
        "target etx, or without 'quantize' and '--weights f16|bf16'");
  }
  self.weights =
      etx_pool_take(module->pool, self.weight_count * sizeof *self.weights);
  if (self.weights == NULL) return ETX_OUT_OF_MEMORY;
  etx_constant_users_visit(module, note_reader, &self);
  for (uint32_t i = 0; i < self.weight_count; ++i)
    ETX_TRY(quantize_if_possible(&self, i));
  for (size_t i = 0; i < module->method_count; ++i) {
    ETX_TRY(change_method(&self, &module->methods[i]));
  }
  return ETX_OK;
}
