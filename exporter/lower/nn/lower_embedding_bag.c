// embedding_bag: the sum, mean or maximum of the rows of each bag.
//
// Bags are consecutive ranges of the indices. If all have the same size, as
// from torch.nn.EmbeddingBag over a matrix of indices, the rows of a bag are a
// dimension that is reduced. Else the bag of each index is computed: the last
// one whose offset is at or before the index.

#include "exporter/lower/builder/lowering_functions.h"

enum { BAG_SUM, BAG_MEAN, BAG_MAX };

typedef struct bags {
  etx_dtype dtype;
  etx_dim indices;  // of all bags
  etx_dim count;    // bags
  etx_dim each;     // indices of every bag; 0 if the bags have different sizes
  uint32_t bag;     // [indices]: the bag of each index, if `each` is 0
  uint32_t kept;    // [indices, 1]: false for padding; ETX_IR_NONE: no padding
} bags;

// True if offsets are 0, each, 2 each, .. up to the count of indices.
static bool have_equal_size(const etx_builder* builder, uint32_t offsets,
                            bags* b) {
  const etx_ir_value* const value = &builder->method->values[offsets];
  if (value->origin != ETX_IR_FROM_NODE) return false;
  const etx_ir_node* const node = &builder->method->nodes[value->index];
  if (node->op == NULL || node->op->id != ETX_OP_arange_start_out) return false;
  for (size_t i = 0; i < 3; ++i) {
    if (node->args[i].kind != ETX_IR_ARG_INT) return false;
  }
  const etx_dim each = node->args[2].as.integer;
  const etx_dim end = node->args[1].as.integer;
  etx_symbols* const symbols = &builder->method->symbols;
  etx_dim all = 0;
  if (node->args[0].as.integer != 0 || !etx_dim_is_number(each) || each <= 0 ||
      !etx_symbols_equal(symbols, end, b->indices) ||
      etx_symbols_apply(symbols, ETX_SYMBOL_MULTIPLY, b->count, each, &all) !=
          ETX_OK ||
      !etx_symbols_equal(symbols, all, b->indices)) {
    return false;
  }
  b->each = each;
  return true;
}

// The bag of each position: the number of offsets at or before it, minus one.
static etx_status find_bags(etx_builder* builder, uint32_t offsets, bags* b) {
  uint32_t value = 0;
  ETX_TRY(etx_build_slice(builder, offsets, (etx_dim_slice){0, 0, b->count, 1},
                          &offsets));
  ETX_TRY(etx_build_arange(builder, b->indices, &value));
  ETX_TRY(etx_build_unsqueeze(builder, value, 1, &value));
  ETX_TRY(etx_build_count_before(builder, value, offsets, true, &value));
  return etx_build_binary_constant(builder, ETX_OP_sub_out, value, 1.0,
                                   &b->bag);
}

// The sum of the rows [indices, width] of each bag: [count, width].
static etx_status sum_rows(etx_builder* builder, const bags* b, uint32_t rows,
                           uint32_t* out_value) {
  const etx_dim width = etx_builder_shape(builder, rows)->dims[1];
  const etx_dim result_sizes[] = {b->count, width};
  const etx_dim split[] = {b->count, b->each, width};
  const etx_dim inner = 1;
  if (b->each != 0) {
    ETX_TRY(etx_build_view(builder, rows, split, 3, &rows));
    return etx_build_reduce(builder, ETX_OP_sum_intlist_out, rows,
                            (etx_reduced_dims){&inner, 1, false}, out_value);
  }
  uint32_t zeros = 0;
  ETX_TRY(etx_build_full(builder, result_sizes, 2, etx_ir_double(0.0), b->dtype,
                         &zeros));
  etx_ir_arg bag[] = {etx_ir_value_arg(b->bag)};
  const etx_ir_arg args[] = {etx_ir_value_arg(zeros), etx_ir_list(bag, 1),
                             etx_ir_value_arg(rows), etx_ir_bool(true)};
  return etx_build_op(builder, ETX_OP_index_put_out, args, 4, out_value);
}

// The maximum of the rows of each bag: [count, width].
static etx_status max_of_rows(etx_builder* builder, const bags* b,
                              uint32_t rows, uint32_t* out_value) {
  const etx_shape shape = *etx_builder_shape(builder, rows);
  const etx_dim result_sizes[] = {b->count, shape.dims[1]};
  const etx_dim split[] = {b->count, b->each, shape.dims[1]};
  const etx_dim inner = 1;
  if (b->each != 0) {
    ETX_TRY(etx_build_view(builder, rows, split, 3, &rows));
    return etx_build_reduce(builder, ETX_OP_amax_out, rows,
                            (etx_reduced_dims){&inner, 1, false}, out_value);
  }
  if (builder->target != ETX_TARGET_ETX)
    return etx_builder_refuse_target(builder);
  uint32_t least = 0;
  uint32_t index = 0;
  ETX_TRY(etx_build_full(builder, result_sizes, 2,
                         etx_ir_double(-__builtin_inf()), b->dtype, &least));
  ETX_TRY(etx_build_unsqueeze(builder, b->bag, 1, &index));
  ETX_TRY(etx_build_expand(builder, index, shape.dims, 2, &index));
  etx_ir_arg how = {ETX_IR_ARG_STRING, {0}};
  how.as.string = etx_text_of("amax");
  const etx_ir_arg args[] = {
      etx_ir_value_arg(least), etx_ir_int(0), etx_ir_value_arg(index),
      etx_ir_value_arg(rows),  how,           etx_ir_bool(true)};
  return etx_build_op(builder, ETX_OP_scatter_reduce_two_out, args, 6,
                      out_value);
}

// Replaces padding by a number that does not change the result.
static etx_status replace_padding(etx_builder* builder, const bags* b,
                                  double number, uint32_t* rows) {
  const etx_ir_arg arg = etx_ir_double(number);
  uint32_t other = 0;
  if (b->kept == ETX_IR_NONE) return ETX_OK;
  ETX_TRY(etx_build_scalar(builder, &arg, b->dtype, &other));
  return etx_build_where(builder, b->kept, *rows, other, rows);
}

// Indices in each bag but for padding: [count, 1].
static etx_status count_rows(etx_builder* builder, const bags* b,
                             uint32_t* out_value) {
  const etx_dim column[] = {b->indices, 1};
  uint32_t ones = 0;
  if (b->kept == ETX_IR_NONE) {
    ETX_TRY(etx_build_full(builder, column, 2, etx_ir_double(1.0), b->dtype,
                           &ones));
  } else {
    ETX_TRY(etx_build_cast(builder, b->kept, b->dtype, &ones));
  }
  return sum_rows(builder, b, ones, out_value);
}

static etx_status emit_sum(etx_builder* builder, const bags* b, uint32_t rows) {
  ETX_TRY(replace_padding(builder, b, 0.0, &rows));
  return sum_rows(builder, b, rows, &builder->results[0]);
}

// The mean of an empty bag is 0.
static etx_status emit_mean(etx_builder* builder, const bags* b,
                            uint32_t rows) {
  uint32_t count = 0;
  ETX_TRY(emit_sum(builder, b, rows));
  ETX_TRY(count_rows(builder, b, &count));
  ETX_TRY(etx_build_binary_constant(builder, ETX_OP_maximum_out, count, 1.0,
                                    &count));
  return etx_build_binary(builder, ETX_OP_div_out, builder->results[0], count,
                          &builder->results[0]);
}

// The maximum of an empty bag is 0.
static etx_status emit_max(etx_builder* builder, const bags* b, uint32_t rows) {
  const etx_ir_arg none = etx_ir_double(0.0);
  uint32_t count = 0;
  uint32_t zero = 0;
  uint32_t value = 0;
  ETX_TRY(replace_padding(builder, b, -__builtin_inf(), &rows));
  ETX_TRY(max_of_rows(builder, b, rows, &value));
  if (b->each != 0 && b->kept == ETX_IR_NONE) {
    builder->results[0] = value;
    return ETX_OK;
  }
  ETX_TRY(count_rows(builder, b, &count));
  ETX_TRY(etx_build_binary_number(builder, ETX_OP_eq_scalar_out, count, 0.0,
                                  &count));
  ETX_TRY(etx_build_scalar(builder, &none, b->dtype, &zero));
  return etx_build_where(builder, count, zero, value, &builder->results[0]);
}

static etx_status check_bags(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  const bool are_vectors =
      etx_builder_shape(builder, args[1].as.value)->rank == 1 &&
      etx_builder_shape(builder, args[2].as.value)->rank == 1;
  for (size_t i = 1; i < 4; ++i) {
    if (!etx_builder_is_read(builder, i)) continue;
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' is supported only if its output %z is unused",
                         builder->node->aten, i);
  }
  if (are_vectors && args[4].as.integer >= BAG_SUM &&
      args[4].as.integer <= BAG_MAX) {
    return ETX_OK;
  }
  return etx_diag_fail(
      builder->diag, ETX_UNSUPPORTED,
      "'%t' expects indices and offsets of rank 1 and a mode of 0, 1 or 2",
      builder->node->aten);
}

static etx_status read_bags(etx_builder* builder, bags* b) {
  const etx_ir_arg* const args = builder->args;
  const uint32_t indices = args[1].as.value;
  const uint32_t offsets = args[2].as.value;
  const bool has_last = args[7].as.boolean;
  b->dtype = etx_builder_shape(builder, args[0].as.value)->dtype;
  b->indices = etx_builder_shape(builder, indices)->dims[0];
  ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_SUBTRACT,
                            etx_builder_shape(builder, offsets)->dims[0],
                            has_last, &b->count));
  if (has_last || !have_equal_size(builder, offsets, b)) {
    ETX_TRY(find_bags(builder, offsets, b));
  }
  const bool has_padding = builder->arg_count > 8 &&
                           args[8].kind == ETX_IR_ARG_INT &&
                           args[8].as.integer >= 0;
  if (!has_padding) return ETX_OK;
  const etx_ir_arg pad[] = {args[1], args[8]};
  ETX_TRY(etx_build_op(builder, ETX_OP_ne_scalar_out, pad, 2, &b->kept));
  return etx_build_unsqueeze(builder, b->kept, 1, &b->kept);
}

// embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse,
//               per_sample_weights, include_last_offset[, padding_idx]);
// the outputs for the backward pass are not computed.
etx_status etx_lowering_embedding_bag(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  bags b = {.kept = ETX_IR_NONE};
  uint32_t rows = 0;
  ETX_TRY(check_bags(builder));
  ETX_TRY(read_bags(builder, &b));
  ETX_TRY(etx_build_op(builder, ETX_OP_embedding_out, args, 2, &rows));
  if (args[6].kind == ETX_IR_ARG_VALUE) {
    uint32_t factors = 0;
    ETX_TRY(etx_build_unsqueeze(builder, args[6].as.value, 1, &factors));
    ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, rows, factors, &rows));
  }
  if (args[4].as.integer == BAG_SUM) return emit_sum(builder, &b, rows);
  if (args[4].as.integer == BAG_MEAN) return emit_mean(builder, &b, rows);
  return emit_max(builder, &b, rows);
}
