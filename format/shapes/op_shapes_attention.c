// Shape functions of attention, key-value caches and gated delta rules.

#include "format/shapes/op_shapes_internal.h"

// ------------------------------------------------ scaled_dot_product_attention

// The dimensions before the last two.
static etx_shape batch_of(const etx_shape* shape) {
  etx_shape batch = *shape;
  batch.rank = (uint8_t)(shape->rank - 2);
  return batch;
}

// Grouped-query attention: broadcasts the heads of key or value to those of the
// query, which must be a multiple.
static etx_status broadcast_heads(const etx_shape_call* call, etx_shape* batch,
                                  const etx_shape* query) {
  if (batch->rank == 0 || query->rank == 0) {
    return etx_shape_refuse(call, "'enable_gqa' is true without heads");
  }
  etx_dim* heads = &batch->dims[batch->rank - 1];
  const etx_dim expected = query->dims[query->rank - 1];
  if (etx_dim_always_equal(call, *heads, expected)) return ETX_OK;
  int64_t divided = 0, divisor = 0, most;
  etx_dim_bounds(call, expected, &divided, &most);
  etx_dim_bounds(call, *heads, &divisor, &most);
  if (!etx_dim_is(call, expected, divided) ||
      !etx_dim_is(call, *heads, divisor) || divisor <= 0 ||
      divided % divisor != 0) {
    return etx_shape_refuse(
        call, "%i heads of the query are not a multiple of %i",
        etx_dim_for_message(call, expected), etx_dim_for_message(call, *heads));
  }
  *heads = expected;
  return ETX_OK;
}

static etx_status read_qkv(const etx_shape_call* call, etx_shape qkv[3]) {
  static const char names[][6] = {"query", "key", "value"};
  for (size_t i = 0; i < 3; ++i) {
    ETX_TRY(etx_shape_tensor(call, i, &qkv[i]));
    if (qkv[i].rank >= 2) continue;
    return etx_shape_refuse(call, "rank of '%s' is %i, expected at least 2",
                            names[i], (int64_t)qkv[i].rank);
  }
  return ETX_OK;
}

// (query [.., L, E], key [.., S, E], value [.., S, Ev], attn_mask [.., L, S],
// dropout_p, is_causal, scale, enable_gqa)
etx_status etx_shape_attention(etx_shape_call* call) {
  etx_shape qkv[3], mask;
  ETX_TRY(read_qkv(call, qkv));
  const etx_shape *query = &qkv[0], *key = &qkv[1], *value = &qkv[2];
  ETX_TRY(etx_shape_check_equal(call, "the last size of 'key'",
                                query->dims[query->rank - 1],
                                key->dims[key->rank - 1]));
  ETX_TRY(etx_shape_check_equal(call, "the number of values",
                                key->dims[key->rank - 2],
                                value->dims[value->rank - 2]));
  etx_shape out = batch_of(query);
  for (size_t i = 1; i < 3; ++i) {
    etx_shape batch = batch_of(&qkv[i]);
    if (etx_shape_boolean(call, 7)) {
      const etx_shape heads = batch_of(query);
      ETX_TRY(broadcast_heads(call, &batch, &heads));
    }
    ETX_TRY(etx_shape_broadcast_into(call, &out, &batch));
  }
  const size_t batch_rank = out.rank;
  ETX_TRY(
      etx_shape_insert(call, &out, batch_rank, query->dims[query->rank - 2]));
  ETX_TRY(
      etx_shape_insert(call, &out, batch_rank + 1, key->dims[key->rank - 2]));
  if (!etx_shape_is_none(call, 3)) {
    ETX_TRY(etx_shape_tensor(call, 3, &mask));
    ETX_TRY(etx_shape_check_broadcasts(call, &mask, &out));
  }
  out.dims[batch_rank + 1] = value->dims[value->rank - 1];
  return call->output(call->context, 0, &out);
}

// ------------------------------------------------ attention

// Reads a permutation of four dimensions.
static etx_status read_order(const etx_shape_call* call, size_t argument,
                             size_t out_order[4]) {
  unsigned seen = 0;
  const bool fits = call->list_count(call->context, argument) == 4;
  for (size_t i = 0; fits && i < 4; ++i) {
    int64_t number = 0;
    ETX_TRY(etx_shape_number(call, argument, i, &number));
    if (number < 0 || number > 3) break;
    out_order[i] = (size_t)number;
    seen |= 1u << number;
  }
  if (seen == 0xf) return ETX_OK;
  return etx_shape_refuse(call,
                          "an order is not a permutation of 4 dimensions");
}

// The shape of the tensor, permuted by `order`: [batch, heads, rows, elements].
static etx_status read_ordered(const etx_shape_call* call, const char* what,
                               size_t argument, size_t order,
                               etx_shape* out_shape) {
  etx_shape stored;
  size_t positions[4];
  ETX_TRY(etx_shape_tensor(call, argument, &stored));
  ETX_TRY(etx_shape_check_rank(call, what, &stored, 4));
  ETX_TRY(read_order(call, order, positions));
  *out_shape = stored;
  for (size_t i = 0; i < 4; ++i) {
    out_shape->dims[i] = stored.dims[positions[i]];
  }
  return ETX_OK;
}

// Checks that batch and heads of key or value broadcast to those of the query.
static etx_status check_batch_and_heads(const etx_shape_call* call,
                                        const char* what, const etx_shape* side,
                                        const etx_shape* query) {
  if (!etx_dim_always_is(call, side->dims[0], 1)) {
    ETX_TRY(etx_shape_check_equal(call, what, query->dims[0], side->dims[0]));
  }
  etx_shape batch = batch_of(side);
  const etx_shape heads = batch_of(query);
  return broadcast_heads(call, &batch, &heads);
}

// The part of a mask that is read. A mask may have more rows and keys than the
// scores; then the first ones are read. A size of 1 broadcasts.
static etx_shape part_of_mask(const etx_shape_call* call, const etx_shape* mask,
                              const etx_shape* scores) {
  etx_shape part = *mask;
  for (size_t i = 1; i <= 2 && i <= mask->rank; ++i) {
    etx_dim* const size = &part.dims[mask->rank - i];
    const etx_dim wanted = scores->dims[scores->rank - i];
    if (!etx_dim_always_is(call, *size, 1) &&
        !etx_dim_always_equal(call, *size, wanted) &&
        !etx_dim_is_below(call, *size, wanted)) {
      *size = wanted;
    }
  }
  return part;
}

// (query, key, value, mask, last, query_order, key_order, value_order,
// out_order, ..)
etx_status etx_shape_ordered_attention(etx_shape_call* call) {
  etx_shape query, key, value, other;
  size_t order[4];
  ETX_TRY(read_ordered(call, "query", 0, 5, &query));
  ETX_TRY(read_ordered(call, "key", 1, 6, &key));
  ETX_TRY(read_ordered(call, "value", 2, 7, &value));
  ETX_TRY(read_order(call, 8, order));
  ETX_TRY(etx_shape_check_equal(call, "the last size of 'key'", query.dims[3],
                                key.dims[3]));
  ETX_TRY(etx_shape_check_equal(call, "the number of values", key.dims[2],
                                value.dims[2]));
  ETX_TRY(check_batch_and_heads(call, "the batch of 'key'", &key, &query));
  ETX_TRY(check_batch_and_heads(call, "the batch of 'value'", &value, &query));
  etx_shape scores = query;
  scores.dims[3] = key.dims[2];
  if (!etx_shape_is_none(call, 3)) {
    ETX_TRY(etx_shape_tensor(call, 3, &other));
    other = part_of_mask(call, &other, &scores);
    ETX_TRY(etx_shape_check_broadcasts(call, &other, &scores));
  }
  scores.dims[3] = 1;
  if (!etx_shape_is_none(call, 4)) {
    ETX_TRY(etx_shape_tensor(call, 4, &other));
    ETX_TRY(etx_shape_check_broadcasts(call, &other, &scores));
  }
  scores.dims[3] = value.dims[3];
  etx_shape out = scores;
  for (size_t i = 0; i < 4; ++i) out.dims[order[i]] = scores.dims[i];
  return call->output(call->context, 0, &out);
}

// Checks that the factors have a row of one element for each row of `side`.
static etx_status check_factors(const etx_shape_call* call, const char* what,
                                size_t side, size_t factors) {
  etx_shape rows, given;
  const size_t order = side + 5;
  ETX_TRY(read_ordered(call, what, side, order, &rows));
  ETX_TRY(read_ordered(call, what, factors, order, &given));
  rows.dims[3] = 1;
  for (size_t i = 0; i < 4; ++i) {
    ETX_TRY(etx_shape_check_equal(call, what, rows.dims[i], given.dims[i]));
  }
  return ETX_OK;
}

// The same, with the factors of keys and values behind `cap`.
etx_status etx_shape_scaled_attention(etx_shape_call* call) {
  ETX_TRY(check_factors(call, "a size of 'key_factors'", 1, 14));
  ETX_TRY(check_factors(call, "a size of 'value_factors'", 2, 15));
  return etx_shape_ordered_attention(call);
}

// ------------------------------------------------ attention over a cache

// The dimensions of sequence and heads in [batch, .., .., elements].
typedef struct cache_layout {
  size_t sequence, heads;
} cache_layout;

static const cache_layout sequence_first = {1, 2};

// Refuses a start that is negative, or rows that end beyond `size`, for all
// values of the symbols.
static etx_status check_start(const etx_shape_call* call, etx_dim start,
                              etx_dim count, etx_dim size) {
  etx_dim end;
  if (etx_dim_is_below(call, start, 0)) {
    return etx_shape_refuse(call, "the start is %i, expected at least 0",
                            etx_dim_for_message(call, start));
  }
  ETX_TRY(etx_dim_add(call, start, count, &end));
  if (!etx_dim_is_below(call, size, end)) return ETX_OK;
  return etx_shape_refuse(call, "rows end at %i, the cache has %i",
                          etx_dim_for_message(call, end),
                          etx_dim_for_message(call, size));
}

// Checks that the sizes of `shape` are those of `cache`, except the sequence.
static etx_status check_cache_rows(const etx_shape_call* call, const char* what,
                                   const etx_shape* shape,
                                   const etx_shape* cache, cache_layout at) {
  ETX_TRY(etx_shape_check_rank(call, what, shape, 4));
  for (size_t i = 0; i < 4; ++i) {
    if (i == at.sequence) continue;
    ETX_TRY(etx_shape_check_equal(call, what, cache->dims[i], shape->dims[i]));
  }
  return ETX_OK;
}

// Checks query, key cache, value cache and mask against each other.
static etx_status check_caches(const etx_shape_call* call,
                               const etx_shape* query, const etx_shape* key,
                               const etx_shape* value, size_t mask_argument,
                               cache_layout at) {
  etx_shape mask, heads = *query;
  ETX_TRY(etx_shape_check_rank(call, "query", query, 4));
  ETX_TRY(etx_shape_check_rank(call, "key", key, 4));
  ETX_TRY(check_cache_rows(call, "value", value, key, at));
  ETX_TRY(etx_shape_check_equal(call, "the number of values",
                                key->dims[at.sequence],
                                value->dims[at.sequence]));
  ETX_TRY(etx_shape_check_equal(call, "the batch size of 'key'", query->dims[0],
                                key->dims[0]));
  ETX_TRY(etx_shape_check_equal(call, "the last size of 'key'", query->dims[3],
                                key->dims[3]));
  etx_shape shared = {.rank = 1, .dims = {key->dims[at.heads]}};
  heads.rank = 1;
  heads.dims[0] = query->dims[at.heads];
  ETX_TRY(broadcast_heads(call, &shared, &heads));
  if (etx_shape_is_none(call, mask_argument)) return ETX_OK;
  ETX_TRY(etx_shape_tensor(call, mask_argument, &mask));
  ETX_TRY(etx_shape_check_rank(call, "attn_mask", &mask, 2));
  ETX_TRY(etx_shape_check_equal(call, "the first size of 'attn_mask'",
                                query->dims[at.sequence], mask.dims[0]));
  return etx_shape_check_equal(call, "the last size of 'attn_mask'",
                               key->dims[at.sequence], mask.dims[1]);
}

// Without a mask (argument 4), the position of the query (argument 3) decides
// which keys are read. With a mask all are, and the position may be any number,
// such as that of a ring buffer.
static etx_status check_rows_read(const etx_shape_call* call,
                                  const etx_shape* query, const etx_shape* key,
                                  cache_layout at) {
  if (!etx_shape_is_none(call, 4)) return ETX_OK;
  return check_start(call, call->integer(call->context, 3, 0),
                     query->dims[at.sequence], key->dims[at.sequence]);
}

// (query, key, value, start_pos, attn_mask, drpout_p, is_causal, scale)
etx_status etx_shape_custom_sdpa(etx_shape_call* call) {
  etx_shape query, key, value;
  const cache_layout at = sequence_first;
  ETX_TRY(etx_shape_tensor(call, 0, &query));
  ETX_TRY(etx_shape_tensor(call, 1, &key));
  ETX_TRY(etx_shape_tensor(call, 2, &value));
  ETX_TRY(check_caches(call, &query, &key, &value, 4, at));
  ETX_TRY(check_rows_read(call, &query, &key, at));
  return call->output(call->context, 0, &query);
}

// One scale and one zero point for each row of int8.
static etx_status check_row_parameters(const etx_shape_call* call,
                                       size_t argument, const char* what,
                                       const etx_shape* rows) {
  etx_shape shape;
  for (size_t i = argument; i < argument + 2; ++i) {
    if (etx_shape_is_none(call, i)) continue;
    ETX_TRY(etx_shape_tensor(call, i, &shape));
    ETX_TRY(etx_shape_check_rank(call, what, &shape, 4));
    for (size_t k = 0; k < 4; ++k) {
      ETX_TRY(etx_shape_check_equal(call, what, k == 3 ? 1 : rows->dims[k],
                                    shape.dims[k]));
    }
  }
  return ETX_OK;
}

// (query, key, value, start_pos, attn_mask, drpout_p, is_causal, scale, zero
// points and scales of query, key and value, is_seq_at_dim_2)
etx_status etx_shape_custom_quantized_sdpa(etx_shape_call* call) {
  static const cache_layout sequence_second = {2, 1};
  etx_shape query, key, value;
  ETX_TRY(etx_shape_tensor(call, 0, &query));
  ETX_TRY(etx_shape_tensor(call, 1, &key));
  ETX_TRY(etx_shape_tensor(call, 2, &value));
  const cache_layout at =
      etx_shape_boolean(call, 14) ? sequence_second : sequence_first;
  ETX_TRY(check_caches(call, &query, &key, &value, 4, at));
  ETX_TRY(check_rows_read(call, &query, &key, at));
  ETX_TRY(check_row_parameters(call, 8, "q_scales", &query));
  ETX_TRY(check_row_parameters(call, 10, "k_scales", &key));
  ETX_TRY(check_row_parameters(call, 12, "v_scales", &value));
  if (query.dtype == ETX_DTYPE_INT8) query.dtype = ETX_DTYPE_FROM_OUT;
  return call->output(call->context, 0, &query);
}

// (query, key, value, key_cache, value_cache, start_pos, seq_len, attn_mask,
// drpout_p, is_causal, scale): both caches are changed.
etx_status etx_shape_sdpa_with_kv_cache(etx_shape_call* call) {
  etx_shape query, rows, caches[2];
  const cache_layout at = sequence_first;
  const etx_dim start = call->integer(call->context, 5, 0);
  const etx_dim count = call->integer(call->context, 6, 0);
  ETX_TRY(etx_shape_tensor(call, 0, &query));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_shape_tensor(call, 1 + i, &rows));
    ETX_TRY(etx_shape_tensor(call, 3 + i, &caches[i]));
    ETX_TRY(etx_shape_check_rank(call, "a cache", &caches[i], 4));
    ETX_TRY(check_cache_rows(call, i == 0 ? "key" : "value", &rows, &caches[i],
                             at));
    ETX_TRY(etx_shape_check_equal(call, "the number of rows", count,
                                  rows.dims[at.sequence]));
  }
  ETX_TRY(check_caches(call, &query, &caches[0], &caches[1], 7, at));
  ETX_TRY(check_start(call, start, count, caches[0].dims[at.sequence]));
  ETX_TRY(check_start(call, start, query.dims[at.sequence],
                      caches[0].dims[at.sequence]));
  ETX_TRY(call->output(call->context, 0, &caches[0]));
  ETX_TRY(call->output(call->context, 1, &caches[1]));
  return call->output(call->context, 2, &query);
}

// ------------------------------------------------ caches

// (cache, value, dim, start)
etx_status etx_shape_kv_update(etx_shape_call* call) {
  etx_shape cache, value;
  size_t at;
  ETX_TRY(etx_shape_tensor(call, 0, &cache));
  ETX_TRY(etx_shape_tensor(call, 1, &value));
  ETX_TRY(etx_shape_check_rank(call, "value", &value, cache.rank));
  if (cache.rank == 0) return etx_shape_check_rank(call, "cache", &cache, 1);
  ETX_TRY(etx_shape_dimension(call, 2, 0, cache.rank, &at));
  for (size_t i = 0; i < cache.rank; ++i) {
    if (i == at) continue;
    ETX_TRY(etx_shape_check_equal(call, "a size of 'value'", cache.dims[i],
                                  value.dims[i]));
  }
  ETX_TRY(check_start(call, call->integer(call->context, 3, 0), value.dims[at],
                      cache.dims[at]));
  return call->output(call->context, 0, &cache);
}

// The result of update_cache is a dummy of one element.
static etx_status put_cache(const etx_shape_call* call,
                            const etx_shape* cache) {
  const etx_shape answer = {.dtype = cache->dtype, .rank = 1, .dims = {1}};
  ETX_TRY(call->output(call->context, 0, cache));
  return call->output(call->context, 1, &answer);
}

// (value [B, S, H, D], cache [B, M, H, D], start_pos)
etx_status etx_shape_update_cache(etx_shape_call* call) {
  etx_shape value, cache;
  const etx_dim start = call->integer(call->context, 2, 0);
  ETX_TRY(etx_shape_tensor(call, 0, &value));
  ETX_TRY(etx_shape_tensor(call, 1, &cache));
  ETX_TRY(etx_shape_check_rank(call, "cache", &cache, 4));
  ETX_TRY(check_cache_rows(call, "value", &value, &cache, sequence_first));
  ETX_TRY(check_start(call, start, value.dims[1], cache.dims[1]));
  ETX_TRY(check_start(call, start, 1, cache.dims[1]));
  return put_cache(call, &cache);
}

// (value [B, S, H, D], cache [B, M, H, D], start_pos, indices [B, S])
etx_status etx_shape_update_cache_with_indices(etx_shape_call* call) {
  etx_shape value, cache, indices;
  ETX_TRY(etx_shape_tensor(call, 0, &value));
  ETX_TRY(etx_shape_tensor(call, 1, &cache));
  ETX_TRY(etx_shape_tensor(call, 3, &indices));
  ETX_TRY(etx_shape_check_rank(call, "cache", &cache, 4));
  ETX_TRY(check_cache_rows(call, "value", &value, &cache, sequence_first));
  ETX_TRY(etx_shape_check_rank(call, "indices", &indices, 2));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_shape_check_equal(call, "a size of 'indices'", value.dims[i],
                                  indices.dims[i]));
  }
  return put_cache(call, &cache);
}

// ------------------------------------------------ delta rule

// (query [B, Hq, T, K], key [B, H, T, K], value [B, H, T, V], decay [B, H, T]
// or [B, H, T, K], beta [B, H, T], state [B, H, K, V]): result, final state.
etx_status etx_shape_delta_rule(etx_shape_call* call) {
  static const char names[][14] = {"query", "key",  "value",
                                   "decay", "beta", "initial_state"};
  etx_shape s[6];
  for (size_t i = 0; i < 6; ++i) {
    ETX_TRY(etx_shape_tensor(call, i, &s[i]));
    if (i == 3 && s[i].rank == 3) continue;
    ETX_TRY(etx_shape_check_rank(call, names[i], &s[i], i == 4 ? 3 : 4));
  }
  const etx_shape *query = &s[0], *key = &s[1], *value = &s[2];
  const etx_dim state[] = {key->dims[0], key->dims[1], key->dims[3],
                           value->dims[3]};
  for (size_t i = 0; i < 4; ++i) {
    if (i != 1) {
      ETX_TRY(etx_shape_check_equal(call, "a size of 'query'", key->dims[i],
                                    query->dims[i]));
    }
    if (i < 3) {
      ETX_TRY(etx_shape_check_equal(call, "a size of 'value'", key->dims[i],
                                    value->dims[i]));
      ETX_TRY(etx_shape_check_equal(call, "a size of 'beta'", key->dims[i],
                                    s[4].dims[i]));
    }
    if (i < s[3].rank) {
      ETX_TRY(etx_shape_check_equal(call, "a size of 'decay'", key->dims[i],
                                    s[3].dims[i]));
    }
    ETX_TRY(etx_shape_check_equal(call, "a size of 'initial_state'", state[i],
                                  s[5].dims[i]));
  }
  etx_shape shared = {.rank = 1, .dims = {key->dims[1]}};
  const etx_shape heads = {.rank = 1, .dims = {query->dims[1]}};
  ETX_TRY(broadcast_heads(call, &shared, &heads));
  etx_shape out = *query;
  out.dims[3] = value->dims[3];
  ETX_TRY(call->output(call->context, 0, &out));
  return call->output(call->context, 1, &s[5]);
}

// ------------------------------------------------ mixture of experts

// (x [T, D], gate_weight [E, D], expert_bias [E] or [0], packed_w13 [E, bytes],
// packed_w2 [E, bytes], num_activated_experts, num_experts, hidden_dim, dim,
// group_size, ..)
etx_status etx_shape_quantized_moe(etx_shape_call* call) {
  static const char names[][12] = {"x", "gate_weight", "expert_bias",
                                   "packed_w13", "packed_w2"};
  etx_shape s[5];
  int64_t active, experts, hidden, width, group;
  for (size_t i = 0; i < 5; ++i) {
    ETX_TRY(etx_shape_tensor(call, i, &s[i]));
    ETX_TRY(etx_shape_check_rank(call, names[i], &s[i], i == 2 ? 1 : 2));
  }
  ETX_TRY(etx_shape_number(call, 5, 0, &active));
  ETX_TRY(etx_shape_number(call, 6, 0, &experts));
  ETX_TRY(etx_shape_number(call, 7, 0, &hidden));
  ETX_TRY(etx_shape_number(call, 8, 0, &width));
  ETX_TRY(etx_shape_number(call, 9, 0, &group));
  if (active <= 0 || active > experts) {
    return etx_shape_refuse(call, "%i of %i experts are active", active,
                            experts);
  }
  if (hidden <= 0 || hidden > INT32_MAX / 2 || width <= 0 || group <= 0 ||
      hidden % group != 0 || width % group != 0) {
    return etx_shape_refuse(call,
                            "sizes %i and %i do not divide into groups of %i",
                            hidden, width, group);
  }
  ETX_TRY(
      etx_shape_check_equal(call, "the last size of 'x'", width, s[0].dims[1]));
  ETX_TRY(etx_shape_check_equal(call, "the last size of 'gate_weight'", width,
                                s[1].dims[1]));
  for (size_t i = 1; i < 5; ++i) {
    if (i == 2 && etx_dim_is(call, s[i].dims[0], 0)) continue;
    ETX_TRY(etx_shape_check_equal(call, "the number of experts", experts,
                                  s[i].dims[0]));
  }
  return call->output(call->context, 0, &s[0]);
}
