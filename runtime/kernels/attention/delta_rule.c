// The gated delta rule, a form of linear attention: each head has a state S
// [K, V] that decays, is corrected towards v at key k, and is read with q. For
// each token
//
//   S = decay * S,  S = S + k (beta (v - S^T k))^T,  out = S^T q
//
// The columns of S are independent, so a block of columns goes through all
// tokens before the next block starts. Query heads that share a state read it
// one after the other.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/parallel_for.h"

enum { COLUMNS = 32 };

enum { QUERY, KEY, VALUE, DECAY, BETA, FIRST_STATE, OUT, LAST_STATE };

// The operands of one state. All are dense.
typedef struct delta_state {
  const float* query;  // [repeat, tokens, keys]
  const float* key;    // [tokens, keys]
  const float* value;  // [tokens, values]
  const float* decay;  // [tokens] or [tokens, keys]
  const float* beta;   // [tokens]
  const float* first;  // [keys, values]
  float* state;        // [keys, values]
  float* out;          // [repeat, tokens, values]
  size_t tokens, keys, values, repeat;
  bool is_channelwise;  // one decay for each key
} delta_state;

static float decay_at(const delta_state* m, size_t token, size_t key) {
  return m->is_channelwise ? m->decay[token * m->keys + key] : m->decay[token];
}

// Updates columns [first, first + count) of the state by one token.
static void update_state(const delta_state* m, size_t token, size_t first,
                         size_t count) {
  const float* key = m->key + token * m->keys;
  const float* value = m->value + token * m->values + first;
  float change[COLUMNS] = {0};
  for (size_t k = 0; k < m->keys; ++k) {
    float* row = m->state + k * m->values + first;
    const float decay = decay_at(m, token, k);
    for (size_t c = 0; c < count; ++c) {
      row[c] *= decay;
      change[c] += row[c] * key[k];
    }
  }
  for (size_t c = 0; c < count; ++c) {
    change[c] = (value[c] - change[c]) * m->beta[token];
  }
  for (size_t k = 0; k < m->keys; ++k) {
    float* row = m->state + k * m->values + first;
    for (size_t c = 0; c < count; ++c) row[c] += key[k] * change[c];
  }
}

// out = S^T q for the same columns.
static void read_state(const delta_state* m, size_t head, size_t token,
                       size_t first, size_t count) {
  const float* query = m->query + (head * m->tokens + token) * m->keys;
  float* out = m->out + (head * m->tokens + token) * m->values + first;
  float sums[COLUMNS] = {0};
  for (size_t k = 0; k < m->keys; ++k) {
    const float* row = m->state + k * m->values + first;
    for (size_t c = 0; c < count; ++c) sums[c] += row[c] * query[k];
  }
  for (size_t c = 0; c < count; ++c) out[c] = sums[c];
}

static void run_tokens(const delta_state* m) {
  for (size_t first = 0; first < m->values; first += COLUMNS) {
    const size_t rest = m->values - first;
    const size_t count = rest < COLUMNS ? rest : COLUMNS;
    for (size_t k = 0; k < m->keys; ++k) {
      const size_t at = k * m->values + first;
      for (size_t c = 0; c < count; ++c) m->state[at + c] = m->first[at + c];
    }
    for (size_t token = 0; token < m->tokens; ++token) {
      update_state(m, token, first, count);
      for (size_t head = 0; head < m->repeat; ++head) {
        read_state(m, head, token, first, count);
      }
    }
  }
}

// Runs state number `index`, counted over batches and heads.
static void run_head(void* argument, size_t index) {
  delta_state m = *(const delta_state*)argument;
  const size_t rows = index * m.tokens;
  const size_t state = index * m.keys * m.values;
  m.query += rows * m.repeat * m.keys;
  m.key += rows * m.keys;
  m.value += rows * m.values;
  m.decay += m.is_channelwise ? rows * m.keys : rows;
  m.beta += rows;
  m.first += state;
  m.state += state;
  m.out += rows * m.repeat * m.values;
  run_tokens(&m);
}

static etx_status run(etx_call* call) {
  const etx_tensor* key = etx_call_tensor(call, KEY);
  const size_t heads = (size_t)key->sizes[1];
  if (heads == 0) return ETX_OK;
  delta_state m = {
      .query = etx_call_tensor(call, QUERY)->data,
      .key = key->data,
      .value = etx_call_tensor(call, VALUE)->data,
      .decay = etx_call_tensor(call, DECAY)->data,
      .beta = etx_call_tensor(call, BETA)->data,
      .first = etx_call_tensor(call, FIRST_STATE)->data,
      .state = etx_call_tensor(call, LAST_STATE)->data,
      .out = etx_call_tensor(call, OUT)->data,
      .tokens = (size_t)key->sizes[2],
      .keys = (size_t)key->sizes[3],
      .values = (size_t)etx_call_tensor(call, VALUE)->sizes[3],
      .repeat = (size_t)etx_call_tensor(call, QUERY)->sizes[1] / heads,
      .is_channelwise = etx_call_tensor(call, DECAY)->rank == 4};
  const etx_parallel* parallel = call->parallel;
  etx_parallel_run_tasks(parallel, run_head, &m,
                         (size_t)key->sizes[0] * heads);
  return ETX_OK;
}

static etx_status prepare(etx_call* call) {
  for (size_t i = QUERY; i <= LAST_STATE; ++i) {
    ETX_TRY(etx_call_check_dtype(call, i, ETX_DTYPE_FLOAT32));
    ETX_TRY(etx_call_check_contiguous(call, i));
  }
  call->run = run;
  return ETX_OK;
}

etx_status etx_kernel_gated_delta_rule_out_prepare(etx_call* call) {
  return prepare(call);
}
etx_status etx_kernel_channelwise_gated_delta_rule_out_prepare(etx_call* call) {
  return prepare(call);
}
