// etx::attention, etx::attention_capped and etx::attention_scaled. Each operand
// comes with a permutation of its dimensions, so the exporter can fuse
// transposes into the kernel: no operand is copied first, and the result has
// the layout that its reader needs.

#include "runtime/kernels/attention/attention.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/registry/temporary_kernels.h"

// Positions of arguments. The permutations of query, key, value and out begin
// at ORDERS.
enum {
  QUERY,
  KEY,
  VALUE,
  MASK,
  LAST,
  ORDERS,
  SCALE = ORDERS + 4,
  HIDDEN,
  IS_CAUSAL,
  IS_GUARDED,
  CAP,          // not of attention, which has `out` here
  KEY_FACTORS,  // of attention_scaled; attention_capped has `out` here
  VALUE_FACTORS,
  SCALED_OUT
};

static bool is_scaled(const etx_call* call) {
  return call->op->id == ETX_OP_attention_scaled_out;
}

static bool has_cap(const etx_call* call) {
  return is_scaled(call) || call->op->id == ETX_OP_attention_capped_out;
}

static size_t out_index(const etx_call* call) {
  if (is_scaled(call)) return SCALED_OUT;
  return has_cap(call) ? CAP + 1 : CAP;
}

// The entry of call->prepared with the permutations, two bits for a dimension.
enum { PACKED_ORDERS = 0 };

// A tensor, seen as [batch, heads, rows, elements].
typedef struct permuted_tensor {
  const etx_tensor* tensor;
  size_t position[4];  // the tensor's dimension that is each of these four
} permuted_tensor;

static permuted_tensor read_permuted(const etx_call* call, size_t argument,
                                     size_t order) {
  const uint64_t packed = (uint64_t)call->prepared[PACKED_ORDERS];
  permuted_tensor o = {.tensor = etx_call_tensor(call, argument)};
  for (size_t i = 0; i < 4; ++i) {
    o.position[i] = (size_t)(packed >> (8 * order + 2 * i)) & 3;
  }
  return o;
}

static size_t size_of(const permuted_tensor* o, size_t dim) {
  return (size_t)o->tensor->sizes[o->position[dim]];
}

// A dimension of size 1 broadcasts.
static ptrdiff_t stride_of(const permuted_tensor* o, size_t dim) {
  const size_t at = o->position[dim];
  return o->tensor->sizes[at] == 1 ? 0 : o->tensor->strides[at];
}

static etx_attention_view operand_of(const etx_attention* a,
                                     const permuted_tensor* o) {
  const size_t heads = size_of(o, 1);
  etx_attention_view operand = {.data = o->tensor->data,
                                .dtype = o->tensor->dtype,
                                .batch = {stride_of(o, 0), stride_of(o, 1)},
                                .repeat = 1,
                                .row = stride_of(o, 2),
                                .inner = stride_of(o, 3)};
  if (heads != 0) operand.repeat = (size_t)a->batch[1] / heads;
  if (operand.repeat == 0) operand.repeat = 1;
  // The stride inside a row of one element does not matter: let it be dense.
  if (size_of(o, 3) <= 1) operand.inner = 1;
  return operand;
}

// A tensor that broadcasts to [batch, heads, rows, keys], or a mask of which
// the first rows and keys are read.
static etx_attention_view broadcast_operand(const etx_tensor* tensor) {
  ptrdiff_t strides[4] = {0};
  for (size_t i = 0; i < tensor->rank && i < 4; ++i) {
    const size_t from = tensor->rank - 1u - i;
    if (tensor->sizes[from] != 1) strides[3 - i] = tensor->strides[from];
  }
  return (etx_attention_view){.data = tensor->data,
                              .dtype = tensor->dtype,
                              .batch = {strides[0], strides[1]},
                              .repeat = 1,
                              .row = strides[2],
                              .inner = strides[3]};
}

// Gives an operand the factors of its rows, whose dimensions have its order.
static void add_factors(const permuted_tensor* operand,
                        const etx_tensor* factors, etx_attention_view* view) {
  permuted_tensor o = *operand;
  o.tensor = factors;
  view->scales = factors->data;
  view->qparam_batch[0] = stride_of(&o, 0);
  view->qparam_batch[1] = stride_of(&o, 1);
  view->qparam_row = stride_of(&o, 2);
}

static etx_attention read_attention(const etx_call* call) {
  const permuted_tensor query = read_permuted(call, QUERY, 0);
  const permuted_tensor key = read_permuted(call, KEY, 1);
  const permuted_tensor value = read_permuted(call, VALUE, 2);
  const permuted_tensor out = read_permuted(call, out_index(call), 3);
  etx_attention a = {
      .batch_rank = 2,
      .batch = {(int32_t)size_of(&query, 0), (int32_t)size_of(&query, 1)},
      .queries = size_of(&query, 2),
      .keys = size_of(&key, 2),
      .width = size_of(&query, 3),
      .value_width = size_of(&value, 3),
      .scale = etx_call_real(call, SCALE),
      .masked_score = etx_call_real(call, HIDDEN),
      .cap = has_cap(call) ? etx_call_real(call, CAP) : 0,
      .is_causal = etx_call_boolean(call, IS_CAUSAL)};
  // Without keys the result is zero, as in PyTorch.
  a.keeps_nan = !etx_call_boolean(call, IS_GUARDED) && a.keys != 0;
  a.query = operand_of(&a, &query);
  a.key = operand_of(&a, &key);
  a.value = operand_of(&a, &value);
  a.out = operand_of(&a, &out);
  if (is_scaled(call)) {
    add_factors(&key, etx_call_tensor(call, KEY_FACTORS), &a.key);
    add_factors(&value, etx_call_tensor(call, VALUE_FACTORS), &a.value);
  }
  if (!etx_call_is_none(call, MASK)) {
    a.has_mask = true;
    a.mask = broadcast_operand(etx_call_tensor(call, MASK));
  }
  if (!etx_call_is_none(call, LAST)) {
    a.last_key = broadcast_operand(etx_call_tensor(call, LAST));
  }
  return a;
}

// The shape rule has checked that each list is a permutation.
static int64_t pack_orders(const etx_call* call) {
  uint64_t packed = 0;
  for (size_t order = 0; order < 4; ++order) {
    for (size_t i = 0; i < 4; ++i) {
      packed |= ((uint64_t)etx_call_item(call, ORDERS + order, i) & 3)
                << (8 * order + 2 * i);
    }
  }
  return (int64_t)packed;
}

// False for ranks that the shape rule refuses when the method is loaded.
static bool is_well_formed(const etx_call* call) {
  const size_t tensors[] = {QUERY, KEY, VALUE, out_index(call)};
  for (size_t i = 0; i < 4; ++i) {
    if (etx_call_tensor(call, tensors[i])->rank != 4) return false;
    if (is_scaled(call) && i != 0 && i != 3 &&
        etx_call_tensor(call, KEY_FACTORS - 1 + i)->rank != 4) {
      return false;
    }
    if (call->arguments[ORDERS + i]->as.integers.count != 4) return false;
  }
  return true;
}

etx_status etx_temporary_ordered_attention(const etx_call* call,
                                           size_t* out_bytes) {
  *out_bytes = 0;
  if (!is_well_formed(call)) return ETX_OK;
  etx_call packed_call = *call;
  packed_call.prepared[PACKED_ORDERS] = pack_orders(call);
  const etx_attention a = read_attention(&packed_call);
  if (etx_attention_bytes(&a, call->parallel->thread_count, out_bytes)) {
    return ETX_OK;
  }
  return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                         "the workspace for a block of keys overflows");
}

static etx_status run(etx_call* call) {
  const etx_attention a = read_attention(call);
  etx_attention_run(&a, call->temporary, call->parallel);
  return ETX_OK;
}

static etx_status run_scaled(etx_call* call) {
  etx_attention a = read_attention(call);
  a.bytes_of = ETX_IF_DTYPE(INT8, etx_attention_byte_loops_of);
  etx_attention_run(&a, call->temporary, call->parallel);
  return ETX_OK;
}

static etx_status check_floats(const etx_call* call, size_t argument,
                               bool or_bool) {
  const etx_dtype dtype = etx_call_tensor(call, argument)->dtype;
  const etx_compute_type wide = etx_compute_type_of(dtype);
  const bool is_float = dtype != ETX_DTYPE_BOOL &&
                        (wide == ETX_COMPUTE_F32 || wide == ETX_COMPUTE_F64);
  if (is_float || (or_bool && dtype == ETX_DTYPE_BOOL)) return ETX_OK;
  return etx_call_refuse_dtype(call, argument,
                               or_bool ? "floats or bool" : "floats");
}

// Keys and values have the type of the queries, or are halves beside float32.
// Those with factors are int8.
static etx_status check_keys(const etx_call* call) {
  if (is_scaled(call)) {
    ETX_TRY(etx_call_check_dtype(call, QUERY, ETX_DTYPE_FLOAT32));
    ETX_TRY(etx_call_check_dtype(call, KEY, ETX_DTYPE_INT8));
    ETX_TRY(etx_call_check_dtype(call, VALUE, ETX_DTYPE_INT8));
    ETX_TRY(etx_call_check_dtype(call, KEY_FACTORS, ETX_DTYPE_FLOAT32));
    return etx_call_check_dtype(call, VALUE_FACTORS, ETX_DTYPE_FLOAT32);
  }
  ETX_TRY(etx_call_check_same_dtype(call, KEY, VALUE));
  if (etx_call_tensor(call, QUERY)->dtype == ETX_DTYPE_FLOAT32 &&
      etx_dtype_is_half(etx_call_tensor(call, KEY)->dtype)) {
    return ETX_OK;
  }
  return etx_call_check_same_dtype(call, QUERY, KEY);
}

etx_status etx_kernel_attention_out_prepare(etx_call* call) {
  if (etx_call_is_again(call)) return ETX_OK;
  ETX_TRY(check_floats(call, QUERY, false));
  ETX_TRY(check_keys(call));
  ETX_TRY(etx_call_check_same_dtype(call, QUERY, out_index(call)));
  if (!etx_call_is_none(call, MASK)) {
    ETX_TRY(check_floats(call, MASK, true));
  }
  if (!etx_call_is_none(call, LAST)) {
    ETX_TRY(etx_call_check_dtype(call, LAST, ETX_DTYPE_INT64));
  }
  call->prepared[PACKED_ORDERS] = pack_orders(call);
  ETX_TRY(etx_temporary_ordered_attention(call, &call->temporary_bytes));
  call->run = run;
  return ETX_OK;
}

etx_status etx_kernel_attention_capped_out_prepare(etx_call* call) {
  const double cap = etx_call_real(call, CAP);
  if (!(cap > 0)) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'cap' is %f, expected a number above 0", cap);
  }
  return etx_kernel_attention_out_prepare(call);
}

etx_status etx_kernel_attention_scaled_out_prepare(etx_call* call) {
  const double cap = etx_call_real(call, CAP);
  if (!(cap >= 0)) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'cap' is %f, expected 0 or more", cap);
  }
  ETX_TRY(etx_kernel_attention_out_prepare(call));
  call->run = run_scaled;
  return ETX_OK;
}
