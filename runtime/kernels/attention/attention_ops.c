// The attention operators of ATen and ExecuTorch: each reads its arguments into
// an etx_attention.

#include "runtime/kernels/attention/attention.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/views/strided_view.h"
#include "runtime/kernels/registry/temporary_kernels.h"

// The positions of an operator's arguments; 0: it has no such argument.
// enable_gqa is for the shape rule alone: here, heads repeat by their sizes.
typedef struct sdpa_schema {
  size_t query, key, value;  // for operators with a KV cache: the caches
  size_t mask, causal, scale, out;
  size_t start;     // start_pos
  size_t qparams;   // zero points and scales: one pair each for q, k and v
  size_t sequence;  // is_seq_at_dim_2
} sdpa_schema;

static sdpa_schema schema_of(const etx_call* call) {
  switch (call->op->id) {
    case ETX_OP_custom_sdpa_out:
      return (sdpa_schema){0, 1, 2, 4, 6, 7, 8, .start = 3};
    case ETX_OP_custom_quantized_sdpa_out:
      return (sdpa_schema){
          0, 1, 2, 4, 6, 7, 15, .start = 3, .qparams = 8, .sequence = 14};
    case ETX_OP_sdpa_with_kv_cache_out:
      return (sdpa_schema){0, 3, 4, 7, 9, 10, 11, .start = 5};
    default:
      return (sdpa_schema){0, 1, 2, 3, 5, 6, 8, .start = 0};
  }
}

static bool is_given(const etx_call* call, size_t argument) {
  return argument != 0 && !etx_call_is_none(call, argument);
}

static void read_scale(const etx_call* call, const sdpa_schema* f,
                       etx_attention* a) {
  a->scale = is_given(call, f->scale) ? etx_call_real(call, f->scale)
                                      : 1.0 / etx_sqrt_f64((double)a->width);
  a->is_causal = etx_call_boolean(call, f->causal);
}

// ------------------------------------------------ [batch.., rows, width]

// An operand whose batch dimensions broadcast to those of out, aligned at the
// last one.
static etx_attention_view operand_of(const etx_attention* a,
                                     const etx_tensor* tensor) {
  etx_attention_view operand = {
      .data = tensor->data, .dtype = tensor->dtype, .repeat = 1};
  const size_t tensor_batch_rank =
      tensor->rank < 2 ? 0 : (size_t)tensor->rank - 2;
  for (size_t i = 0; i < tensor_batch_rank && i < a->batch_rank; ++i) {
    const size_t from = tensor_batch_rank - 1 - i, to = a->batch_rank - 1 - i;
    if (tensor->sizes[from] == 1) continue;
    operand.batch[to] = tensor->strides[from];
    if (i == 0 && tensor->sizes[from] != 0) {
      operand.repeat = (size_t)(a->batch[to] / tensor->sizes[from]);
    }
  }
  if (tensor->rank > 0 && tensor->sizes[tensor->rank - 1] != 1) {
    operand.inner = tensor->strides[tensor->rank - 1];
  }
  if (tensor->rank > 1 && tensor->sizes[tensor->rank - 2] != 1) {
    operand.row = tensor->strides[tensor->rank - 2];
  }
  return operand;
}

// The stride inside a row of one element does not matter: let it be dense.
static void make_dense(etx_attention_view* operand, size_t width) {
  if (width <= 1) operand->inner = 1;
}

static void read_batches(const etx_call* call, const sdpa_schema* f,
                         etx_attention* a) {
  const etx_tensor* query = etx_call_tensor(call, f->query);
  const etx_tensor* value = etx_call_tensor(call, f->value);
  const etx_tensor* out = etx_call_tensor(call, f->out);
  a->batch_rank = (size_t)out->rank - 2;
  for (size_t i = 0; i < a->batch_rank; ++i) a->batch[i] = out->sizes[i];
  a->queries = (size_t)query->sizes[query->rank - 2];
  a->width = (size_t)query->sizes[query->rank - 1];
  a->keys = (size_t)value->sizes[value->rank - 2];
  a->value_width = (size_t)value->sizes[value->rank - 1];
  a->query = operand_of(a, query);
  a->key = operand_of(a, etx_call_tensor(call, f->key));
  a->value = operand_of(a, value);
  a->out = operand_of(a, out);
}

// ------------------------------------------------ [B, S, H, D]

// The sequence dimension, 1 or 2. The heads are the other one, 3 - sequence.
static size_t sequence_dim(const etx_call* call, const sdpa_schema* f) {
  return f->sequence != 0 && etx_call_boolean(call, f->sequence) ? 2 : 1;
}

static etx_attention_view head_operand(const etx_attention* a,
                                       const etx_tensor* tensor,
                                       size_t sequence) {
  const size_t heads = 3 - sequence;
  const size_t tensor_heads = (size_t)tensor->sizes[heads];
  etx_attention_view operand = {
      .data = tensor->data,
      .dtype = tensor->dtype,
      .batch = {tensor->strides[0], tensor->strides[heads]},
      .repeat = tensor_heads == 0 ? 1 : (size_t)a->batch[1] / tensor_heads,
      .row = tensor->strides[sequence],
      .inner = tensor->strides[3]};
  return operand;
}

// Scales and zero points per row, which have equal strides.
static void add_qparams(const etx_call* call, size_t zeros, size_t sequence,
                        etx_attention_view* operand) {
  if (operand->dtype != ETX_DTYPE_INT8) return;
  // The workspace is planned before the arguments are checked.
  if (etx_call_is_none(call, zeros) || etx_call_is_none(call, zeros + 1)) {
    return;
  }
  const etx_tensor* scales = etx_call_tensor(call, zeros + 1);
  if (scales->rank != 4) return;
  operand->zero_points = etx_call_tensor(call, zeros)->data;
  operand->scales = scales->data;
  operand->qparam_batch[0] = scales->strides[0];
  operand->qparam_batch[1] = scales->strides[3 - sequence];
  operand->qparam_row = scales->strides[sequence];
}

static void read_heads(const etx_call* call, const sdpa_schema* f,
                       etx_attention* a) {
  const etx_tensor* query = etx_call_tensor(call, f->query);
  const etx_tensor* key = etx_call_tensor(call, f->key);
  const etx_tensor* value = etx_call_tensor(call, f->value);
  const size_t sequence = sequence_dim(call, f);
  a->batch_rank = 2;
  a->batch[0] = query->sizes[0];
  a->batch[1] = query->sizes[3 - sequence];
  a->queries = (size_t)query->sizes[sequence];
  a->width = (size_t)query->sizes[3];
  a->keys = (size_t)value->sizes[sequence];
  a->value_width = (size_t)value->sizes[3];
  a->query = head_operand(a, query, sequence);
  a->key = head_operand(a, key, sequence);
  a->value = head_operand(a, value, sequence);
  a->out = head_operand(a, etx_call_tensor(call, f->out), sequence);
  if (f->qparams == 0) return;
  add_qparams(call, f->qparams, sequence, &a->query);
  add_qparams(call, f->qparams + 2, sequence, &a->key);
  add_qparams(call, f->qparams + 4, sequence, &a->value);
}

// Reads all arguments. For operators with a start, `keys` is the length of the
// whole cache and `first_position` is 0: run_at_start changes both if there is
// no mask.
static etx_attention read_attention(const etx_call* call,
                                    const sdpa_schema* f) {
  etx_attention a = {.masked_score =
                         etx_f64_of_bits(UINT64_C(0xfff0000000000000))};
  if (f->start == 0) {
    read_batches(call, f, &a);
  } else {
    read_heads(call, f, &a);
  }
  make_dense(&a.query, a.width);
  make_dense(&a.key, a.width);
  make_dense(&a.value, a.value_width);
  make_dense(&a.out, a.value_width);
  read_scale(call, f, &a);
  if (is_given(call, f->mask)) {
    a.has_mask = true;
    a.mask = operand_of(&a, etx_call_tensor(call, f->mask));
  }
  return a;
}

etx_status etx_temporary_attention(const etx_call* call, size_t* out_bytes) {
  const sdpa_schema f = schema_of(call);
  const etx_tensor* out = etx_call_tensor(call, f.out);
  *out_bytes = 0;
  // The shape rule refuses other ranks when the method is loaded.
  if (out->rank < 2 || (f.start != 0 && out->rank != 4)) return ETX_OK;
  for (size_t i = 0; i < 3; ++i) {
    const size_t at = i == 0 ? f.query : (i == 1 ? f.key : f.value);
    const size_t rank = etx_call_tensor(call, at)->rank;
    if (rank < 2 || (f.start != 0 && rank != 4)) return ETX_OK;
  }
  const etx_attention a = read_attention(call, &f);
  if (etx_attention_bytes(&a, call->parallel->thread_count, out_bytes)) {
    return ETX_OK;
  }
  return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                         "the workspace for a block of keys overflows");
}

// ------------------------------------------------ checks

static etx_status check_mask(const etx_call* call, const sdpa_schema* f) {
  if (!is_given(call, f->mask)) return ETX_OK;
  if (etx_call_boolean(call, f->causal)) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'attn_mask' is set although 'is_causal' is true");
  }
  const etx_compute_type compute =
      etx_compute_type_of(etx_call_tensor(call, f->mask)->dtype);
  const bool is_bool = etx_call_tensor(call, f->mask)->dtype == ETX_DTYPE_BOOL;
  const bool is_float =
      compute == ETX_COMPUTE_F32 || compute == ETX_COMPUTE_F64;
  if (is_float || (is_bool && f->start == 0)) return ETX_OK;
  return etx_call_refuse_dtype(call, f->mask,
                               f->start == 0 ? "floats or bool" : "floats");
}

static etx_status check_float(const etx_call* call, size_t index) {
  const etx_compute_type compute =
      etx_compute_type_of(etx_call_tensor(call, index)->dtype);
  if (compute == ETX_COMPUTE_F32 || compute == ETX_COMPUTE_F64) return ETX_OK;
  return etx_call_refuse_dtype(call, index, "floats");
}

static etx_status check_types(const etx_call* call, const sdpa_schema* f) {
  ETX_TRY(check_float(call, f->query));
  ETX_TRY(etx_call_check_same_dtype(call, f->query, f->key));
  ETX_TRY(etx_call_check_same_dtype(call, f->query, f->value));
  ETX_TRY(etx_call_check_same_dtype(call, f->query, f->out));
  return check_mask(call, f);
}

static etx_status prepare(etx_call* call, etx_kernel_function run) {
  if (!etx_call_is_again(call)) {
    ETX_TRY(etx_temporary_attention(call, &call->temporary_bytes));
  }
  call->run = run;
  return ETX_OK;
}

// ------------------------------------------------ runs

static etx_status run_attention(etx_call* call) {
  const sdpa_schema f = schema_of(call);
  const etx_attention a = read_attention(call, &f);
  etx_attention_run(&a, call->temporary, call->parallel);
  return ETX_OK;
}

etx_status etx_kernel_scaled_dot_product_attention_out_prepare(etx_call* call) {
  const sdpa_schema f = schema_of(call);
  if (etx_call_real(call, ETX_ARG_scaled_dot_product_attention_dropout_p) !=
      0) {
    return etx_call_refuse(call, ETX_UNSUPPORTED,
                           "'dropout_p' is not 0: dropout is for training");
  }
  ETX_TRY(check_types(call, &f));
  return prepare(call, run_attention);
}

// Query row i has position start + i. Without a mask, the keys behind the last
// query's position are not read.
static etx_status run_at_start(etx_call* call) {
  const sdpa_schema f = schema_of(call);
  etx_attention a = read_attention(call, &f);
  const int64_t start = etx_call_integer(call, f.start);
  if (!a.has_mask) {
    if (start < 0 || start > (int64_t)(a.keys) - (int64_t)a.queries) {
      return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                             "rows %i to %i, expected rows of a cache of %z",
                             start, (int64_t)((uint64_t)start + a.queries),
                             a.keys);
    }
    a.keys = (size_t)start + a.queries;
    a.first_position = start;
  }
  etx_attention_run(&a, call->temporary, call->parallel);
  return ETX_OK;
}

etx_status etx_kernel_custom_sdpa_out_prepare(etx_call* call) {
  const sdpa_schema f = schema_of(call);
  ETX_TRY(check_types(call, &f));
  return prepare(call, run_at_start);
}

static etx_status check_qparams(const etx_call* call, size_t zeros) {
  if (etx_call_is_none(call, zeros) || etx_call_is_none(call, zeros + 1)) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "int8 tensors without scales or zero points");
  }
  ETX_TRY(etx_call_check_dtype(call, zeros, ETX_DTYPE_INT8));
  ETX_TRY(etx_call_check_dtype(call, zeros + 1, ETX_DTYPE_FLOAT32));
  ETX_TRY(etx_call_check_contiguous(call, zeros));
  return etx_call_check_contiguous(call, zeros + 1);
}

etx_status etx_kernel_custom_quantized_sdpa_out_prepare(etx_call* call) {
  const sdpa_schema f = schema_of(call);
  if (etx_call_tensor(call, f.query)->dtype != ETX_DTYPE_INT8) {
    ETX_TRY(check_types(call, &f));
    return prepare(call, run_at_start);
  }
  ETX_TRY(etx_call_check_same_dtype(call, f.query, f.key));
  ETX_TRY(etx_call_check_same_dtype(call, f.query, f.value));
  if (etx_compute_type_of(etx_call_tensor(call, f.out)->dtype) !=
      ETX_COMPUTE_F32) {
    return etx_call_refuse_dtype(call, f.out, "float32, float16 or bfloat16");
  }
  ETX_TRY(check_mask(call, &f));
  for (size_t i = 0; i < 3; ++i) {
    ETX_TRY(check_qparams(call, f.qparams + 2 * i));
  }
  return prepare(call, run_at_start);
}

// Copies `rows` to the sequence positions `start` and following of a cache.
static void append(const etx_tensor* cache, const etx_tensor* rows,
                   int64_t start) {
  const etx_strided_view from = etx_strided_view_of(rows);
  etx_strided_view to = etx_strided_view_of(cache);
  etx_strided_view_slice(&to, 1, start, from.sizes[1], 1);
  etx_strided_view_copy(&to, &from);
}

// (query, key, value, key_cache, value_cache, start_pos, ..)
static etx_status run_with_cache(etx_call* call) {
  const etx_tensor* cache =
      etx_call_tensor(call, ETX_ARG_sdpa_with_kv_cache_key_cache);
  const etx_tensor* query =
      etx_call_tensor(call, ETX_ARG_sdpa_with_kv_cache_query);
  const etx_tensor* key = etx_call_tensor(call, ETX_ARG_sdpa_with_kv_cache_key);
  const int64_t start =
      etx_call_integer(call, ETX_ARG_sdpa_with_kv_cache_start_pos);
  const int32_t rows =
      key->sizes[1] > query->sizes[1] ? key->sizes[1] : query->sizes[1];
  if (start < 0 || start > (int64_t)cache->sizes[1] - rows) {
    return etx_call_refuse(
        call, ETX_BAD_ARGUMENT,
        "%i rows at position %i, expected to fit a cache of %i", (int64_t)rows,
        start, (int64_t)cache->sizes[1]);
  }
  append(cache, key, start);
  append(etx_call_tensor(call, ETX_ARG_sdpa_with_kv_cache_value_cache),
         etx_call_tensor(call, ETX_ARG_sdpa_with_kv_cache_value), start);
  return run_at_start(call);
}

etx_status etx_kernel_sdpa_with_kv_cache_out_prepare(etx_call* call) {
  const sdpa_schema f = schema_of(call);
  ETX_TRY(check_types(call, &f));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_sdpa_with_kv_cache_query,
                                    ETX_ARG_sdpa_with_kv_cache_key));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_sdpa_with_kv_cache_query,
                                    ETX_ARG_sdpa_with_kv_cache_value));
  return prepare(call, run_with_cache);
}
