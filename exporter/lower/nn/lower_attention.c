// scaled_dot_product_attention as matrix products and a softmax.
//
//   query [B.., H, L, D]   key [B.., G, S, D]   value [B.., G, S, E]
//
// Grouped-query attention (G divides H): the query heads that share a key head
// become rows of one product, so that keys and values are not repeated. A row
// whose keys are all masked gives zeros (safe softmax). The nodes for that are
// appended only if there is a mask argument; a causal mask leaves one key at
// least.

#include <math.h>

#include "exporter/lower/builder/lowering_functions.h"

typedef struct attention_operands {
  uint32_t query;  // [N, rows, D], heads collapsed
  uint32_t key;    // [N, S, D]
  uint32_t value;  // [N, S, E]
  uint32_t mask;   // ETX_IR_NONE, bool or floating; broadcasts to scores
  double scale;
  etx_shape scores;  // [B.., H, L, S]
  etx_shape out;     // [B.., H, L, E]
  etx_dim batches;   // N
  etx_dim rows;      // H / G * L
} attention_operands;

static etx_status multiply(etx_builder* builder, etx_dim a, etx_dim b,
                           etx_dim* out) {
  return etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_MULTIPLY, a, b,
                           out);
}

// The rows of queries for one key head: H / G * L.
static etx_status grouped_rows(etx_builder* builder, const etx_shape* query,
                               const etx_shape* key, etx_dim* out) {
  const etx_dim length = query->dims[query->rank - 2];
  const etx_dim heads = query->dims[query->rank - 3];
  const etx_dim groups = key->dims[key->rank - 3];
  if (etx_symbols_equal(&builder->method->symbols, heads, groups)) {
    *out = length;
    return ETX_OK;
  }
  if (!etx_dim_is_number(heads) || !etx_dim_is_number(groups) || groups <= 0 ||
      heads % groups != 0) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "the number of query heads is not a multiple of the "
                         "number of key heads");
  }
  return multiply(builder, heads / groups, length, out);
}

// [B.., H, L, D] as [N, rows, D]
static etx_status collapse(etx_builder* builder, uint32_t value,
                           etx_dim batches, etx_dim rows, uint32_t* out_value) {
  const etx_shape shape = *etx_builder_shape(builder, value);
  const etx_dim dims[] = {batches, rows, shape.dims[shape.rank - 1]};
  return etx_build_view(builder, value, dims, 3, out_value);
}

// Adds a dimension for the heads to an operand without heads.
static etx_status with_heads(etx_builder* builder, uint32_t* value) {
  if (etx_builder_shape(builder, *value)->rank > 2) return ETX_OK;
  return etx_build_unsqueeze(builder, *value, 0, value);
}

static etx_status read_operands(etx_builder* builder, attention_operands* out) {
  uint32_t operands[3];
  for (size_t i = 0; i < 3; ++i) {
    operands[i] = builder->args[i].as.value;
    if (etx_builder_shape(builder, operands[i])->rank < 2) {
      return etx_diag_fail(
          builder->diag, ETX_BAD_ARGUMENT,
          "'%t' expects a tensor of rank 2 or more, found rank %u",
          builder->node->aten,
          (uint64_t)etx_builder_shape(builder, operands[i])->rank);
    }
    ETX_TRY(with_heads(builder, &operands[i]));
  }
  const etx_shape query = *etx_builder_shape(builder, operands[0]);
  const etx_shape key = *etx_builder_shape(builder, operands[1]);
  const etx_shape value = *etx_builder_shape(builder, operands[2]);
  const bool same_batches =
      query.rank == key.rank && query.rank == value.rank &&
      etx_builder_same_dims(builder, query.dims, key.dims, query.rank - 3u) &&
      etx_builder_same_dims(builder, key.dims, value.dims, key.rank - 1u);
  if (!same_batches) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' expects query, key and value of the same batch, "
                         "and key and value of the same length",
                         builder->node->aten);
  }
  ETX_TRY(grouped_rows(builder, &query, &key, &out->rows));
  ETX_TRY(
      etx_builder_product(builder, key.dims, 0, key.rank - 2u, &out->batches));
  const etx_dim length = key.dims[key.rank - 2];
  ETX_TRY(collapse(builder, operands[0], out->batches, out->rows, &out->query));
  ETX_TRY(collapse(builder, operands[1], out->batches, length, &out->key));
  ETX_TRY(collapse(builder, operands[2], out->batches, length, &out->value));
  out->scores = query;
  out->scores.dims[query.rank - 1] = length;
  out->out = query;
  out->out.dims[query.rank - 1] = value.dims[value.rank - 1];
  return ETX_OK;
}

static etx_status read_scale(etx_builder* builder, attention_operands* self) {
  const etx_ir_arg* const given = &builder->args[6];
  if (given->kind != ETX_IR_ARG_NONE) {
    self->scale = given->as.real;
    return ETX_OK;
  }
  const etx_dim width = etx_builder_shape(builder, self->query)->dims[2];
  if (!etx_dim_is_number(width) || width <= 0) {
    return etx_diag_fail(
        builder->diag, ETX_UNSUPPORTED,
        "'%t' with a dynamic head size is supported only with 'scale'",
        builder->node->aten);
  }
  self->scale = 1.0 / sqrt((double)width);
  return ETX_OK;
}

// Row i attends to columns up to i: arange(S) <= arange(L)[:, None].
static etx_status causal_mask(etx_builder* builder, attention_operands* self) {
  const size_t rank = self->scores.rank;
  uint32_t rows = 0;
  uint32_t columns = 0;
  ETX_TRY(etx_build_arange(builder, self->scores.dims[rank - 2], &rows));
  ETX_TRY(etx_build_arange(builder, self->scores.dims[rank - 1], &columns));
  ETX_TRY(etx_build_unsqueeze(builder, rows, 1, &rows));
  return etx_build_binary(builder, ETX_OP_le_tensor_out, columns, rows,
                          &self->mask);
}

static etx_status scores(etx_builder* builder, const attention_operands* self,
                         uint32_t* out_value) {
  uint32_t query = 0;
  uint32_t key = 0;
  uint32_t value = 0;
  ETX_TRY(etx_build_binary_constant(builder, ETX_OP_mul_out, self->query,
                                    self->scale, &query));
  if (builder->target == ETX_TARGET_ETX) {
    ETX_TRY(
        etx_build_binary(builder, ETX_OP_bmm_nt_out, query, self->key, &value));
  } else {
    ETX_TRY(etx_build_transpose(builder, self->key, 1, 2, &key));
    ETX_TRY(etx_build_binary(builder, ETX_OP_bmm_out, query, key, &value));
  }
  return etx_build_view(builder, value, self->scores.dims, self->scores.rank,
                        out_value);
}

static etx_status apply_mask(etx_builder* builder, uint32_t value,
                             uint32_t mask, uint32_t* out_value) {
  const etx_dtype dtype = etx_builder_shape(builder, value)->dtype;
  if (etx_builder_shape(builder, mask)->dtype != ETX_DTYPE_BOOL) {
    ETX_TRY(etx_build_cast(builder, mask, dtype, &mask));
    return etx_build_binary(builder, ETX_OP_add_out, value, mask, out_value);
  }
  const etx_ir_arg number = etx_ir_double(-(double)INFINITY);
  uint32_t minus_infinity = 0;
  ETX_TRY(etx_build_scalar(builder, &number, dtype, &minus_infinity));
  return etx_build_where(builder, mask, value, minus_infinity, out_value);
}

// True for rows without a key: by any() of a bool mask, else by the maximum of
// the scores.
static etx_status fully_masked_rows(etx_builder* builder, uint32_t value,
                                    uint32_t mask, uint32_t* out_value) {
  const etx_dim last[] = {-1};
  uint32_t found = 0;
  if (etx_builder_shape(builder, mask)->dtype == ETX_DTYPE_BOOL) {
    const etx_ir_arg args[] = {etx_ir_value_arg(mask), etx_ir_int(-1),
                               etx_ir_bool(true)};
    ETX_TRY(etx_build_op(builder, ETX_OP_any_out, args, 3, &found));
    return etx_build_unary(builder, ETX_OP_logical_not_out, found, out_value);
  }
  ETX_TRY(etx_build_reduce(builder, ETX_OP_amax_out, value,
                           (etx_reduced_dims){last, 1, true}, &found));
  return etx_build_binary_number(builder, ETX_OP_eq_scalar_out, found,
                                 -(double)INFINITY, out_value);
}

static etx_status masked_softmax(etx_builder* builder,
                                 const attention_operands* self, uint32_t value,
                                 bool can_be_fully_masked,
                                 uint32_t* out_value) {
  uint32_t weights = 0;
  ETX_TRY(etx_build_softmax(builder, value, -1, &weights));
  if (!can_be_fully_masked) {
    *out_value = weights;
    return ETX_OK;
  }
  const etx_ir_arg number = etx_ir_double(0.0);
  uint32_t masked = 0;
  uint32_t zero = 0;
  ETX_TRY(fully_masked_rows(builder, value, self->mask, &masked));
  ETX_TRY(etx_build_scalar(builder, &number,
                           etx_builder_shape(builder, weights)->dtype, &zero));
  return etx_build_where(builder, masked, zero, weights, out_value);
}

static etx_status check_dropout(etx_builder* builder) {
  const etx_ir_arg* const dropout = &builder->args[4];
  if (dropout->kind == ETX_IR_ARG_DOUBLE && dropout->as.real != 0.0) {
    return etx_diag_fail(
        builder->diag, ETX_UNSUPPORTED,
        "'%t' with dropout is not supported: export the model in eval mode",
        builder->node->aten);
  }
  return ETX_OK;
}

// (query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
etx_status etx_lowering_scaled_dot_product_attention(etx_builder* builder) {
  attention_operands self = {.mask = ETX_IR_NONE};
  ETX_TRY(check_dropout(builder));
  ETX_TRY(read_operands(builder, &self));
  ETX_TRY(read_scale(builder, &self));
  const bool outside_mask = builder->args[3].kind == ETX_IR_ARG_VALUE;
  if (outside_mask) self.mask = builder->args[3].as.value;
  if (builder->args[5].as.boolean) ETX_TRY(causal_mask(builder, &self));
  uint32_t value = 0;
  ETX_TRY(scores(builder, &self, &value));
  if (self.mask != ETX_IR_NONE) {
    ETX_TRY(apply_mask(builder, value, self.mask, &value));
  }
  ETX_TRY(masked_softmax(builder, &self, value, outside_mask, &value));
  ETX_TRY(collapse(builder, value, self.batches, self.rows, &value));
  ETX_TRY(etx_build_binary(builder, ETX_OP_bmm_out, value, self.value, &value));
  ETX_TRY(etx_build_view(builder, value, self.out.dims, self.out.rank, &value));
  const bool added =
      etx_builder_shape(builder, builder->args[0].as.value)->rank == 2;
  return added ? etx_build_view(builder, value, self.out.dims + 1,
                                self.out.rank - 1u, &builder->results[0])
               : etx_build_view(builder, value, self.out.dims, self.out.rank,
                                &builder->results[0]);
}
