// Dequantises: out = (q - zero_point) * scale, in float32 or float64.
//
// Per tensor, q and the zero point are converted to floats before the
// subtraction; per channel and per token, integers are subtracted. Below 2^24
// both are the same.

#include "runtime/kernels/quantized/affine.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"

typedef struct dequantizer {
  etx_affine affine;
  etx_compute_type compute;
  bool subtracts_integers;  // before the conversion to floats
  etx_dtype from, to;
} dequantizer;

// q - zero point in the wide type.
static void subtract_zero_points(const dequantizer* d,
                                 const etx_strided_iterator* iterator,
                                 char* const data[], size_t count,
                                 etx_block* out) {
  const size_t zeros = iterator->stride[3] == 0 ? 1 : count;
  const ptrdiff_t step = iterator->stride[3] == 0 ? 0 : 1;
  etx_block zero;
  if (d->subtracts_integers) {
    etx_block integers;
    etx_block_load(&integers, ETX_COMPUTE_I64, d->from, data[1],
                   iterator->stride[1], count);
    etx_block_load(&zero, ETX_COMPUTE_I64, d->affine.zero.dtype, data[3],
                   iterator->stride[3], zeros);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t z = (uint64_t)zero.i64[(ptrdiff_t)i * step];
      integers.i64[i] = (int64_t)((uint64_t)integers.i64[i] - z);
    }
    etx_block_load(out, d->compute, ETX_DTYPE_INT64, integers.i64, 1, count);
    return;
  }
  etx_block_load(out, d->compute, d->from, data[1], iterator->stride[1], count);
  etx_block_load(&zero, d->compute, d->affine.zero.dtype, data[3],
                 iterator->stride[3], zeros);
  for (size_t i = 0; i < count; ++i) {
    const ptrdiff_t at = (ptrdiff_t)i * step;
    if (d->compute == ETX_COMPUTE_F32) {
      out->f32[i] -= zero.f32[at];
    } else {
      out->f64[i] -= zero.f64[at];
    }
  }
}

static void dequantize_block(const dequantizer* d,
                             const etx_strided_iterator* iterator,
                             char* const data[], size_t count) {
  const ptrdiff_t step = iterator->stride[2] == 0 ? 0 : 1;
  etx_block x, scale;
  subtract_zero_points(d, iterator, data, count, &x);
  etx_block_load(&scale, d->compute, d->affine.scale.dtype, data[2],
                 iterator->stride[2], step == 0 ? 1 : count);
  for (size_t i = 0; i < count; ++i) {
    const ptrdiff_t at = (ptrdiff_t)i * step;
    if (d->compute == ETX_COMPUTE_F32) {
      x.f32[i] *= scale.f32[at];
    } else {
      x.f64[i] *= scale.f64[at];
    }
  }
  etx_block_store(&x, d->compute, d->to, data[0], iterator->stride[0], count);
}

static void dequantize_blocks(const dequantizer* d,
                              const etx_strided_iterator* iterator) {
  char* data[4];
  for (size_t k = 0; k < 4; ++k) data[k] = iterator->data[k];
  for (size_t done = 0; done < iterator->count; done += ETX_BLOCK) {
    const size_t rest = iterator->count - done;
    const size_t count = rest < ETX_BLOCK ? rest : ETX_BLOCK;
    dequantize_block(d, iterator, data, count);
    for (size_t k = 0; k < 4; ++k) {
      data[k] += iterator->stride[k] * iterator->bytes[k] * (ptrdiff_t)count;
    }
  }
}

// True for the common case: contiguous bytes with one scale and zero point, as
// float32.
static bool has_byte_loop(const dequantizer* d,
                          const etx_strided_iterator* iterator) {
  return etx_dtype_bytes(d->from) == 1 && d->compute == ETX_COMPUTE_F32 &&
         d->to == ETX_DTYPE_FLOAT32 && iterator->stride[0] == 1 &&
         iterator->stride[1] == 1 && iterator->stride[2] == 0 &&
         iterator->stride[3] == 0;
}

static void dequantize_bytes(const dequantizer* d,
                             const etx_strided_iterator* iterator) {
  etx_block scale, zero;
  float* out = (float*)(void*)iterator->data[0];
  etx_block_load(&scale, ETX_COMPUTE_F32, d->affine.scale.dtype,
                 iterator->data[2], 0, 1);
  etx_block_load(&zero, ETX_COMPUTE_F32, d->affine.zero.dtype,
                 iterator->data[3], 0, 1);
  const float factor = scale.f32[0], shift = zero.f32[0];
  if (d->from == ETX_DTYPE_INT8) {
    const int8_t* in = (const int8_t*)iterator->data[1];
    for (size_t i = 0; i < iterator->count; ++i) {
      out[i] = ((float)in[i] - shift) * factor;
    }
    return;
  }
  const uint8_t* in = (const uint8_t*)iterator->data[1];
  for (size_t i = 0; i < iterator->count; ++i) {
    out[i] = ((float)in[i] - shift) * factor;
  }
}

// The position of `out`, the last argument.
static size_t out_index(etx_affine_kind kind) {
  return kind == ETX_AFFINE_PER_CHANNEL ? 8 : 7;
}

static bool has_integer_zero_points(const etx_call* call) {
  return etx_call_value(call, 2)->kind != ETX_VALUE_TENSOR ||
         etx_compute_type_of(etx_call_tensor(call, 2)->dtype) ==
             ETX_COMPUTE_I64;
}

static etx_status run(etx_call* call, etx_affine_kind kind) {
  const etx_tensor* input =
      etx_call_tensor(call, ETX_ARG_dequantize_per_tensor_input);
  const etx_tensor* out = etx_call_tensor(call, out_index(kind));
  const bool is_per_tensor = kind == ETX_AFFINE_PER_TENSOR;
  dequantizer d = {.from = input->dtype, .to = out->dtype};
  const bool is_double = is_per_tensor ? out->dtype == ETX_DTYPE_FLOAT64
                                       : etx_affine_is_double(call);
  d.compute = is_double ? ETX_COMPUTE_F64 : ETX_COMPUTE_F32;
  d.subtracts_integers = !is_per_tensor && has_integer_zero_points(call);
  etx_affine_read(call, kind, &d.affine);
  etx_strided_iterator iterator;
  for (bool more = etx_affine_start_iterator(&iterator, out, input, &d.affine);
       more; more = etx_strided_iterator_next(&iterator)) {
    if (has_byte_loop(&d, &iterator)) {
      dequantize_bytes(&d, &iterator);
    } else {
      dequantize_blocks(&d, &iterator);
    }
  }
  return ETX_OK;
}

static etx_status run_per_tensor(etx_call* call) {
  return run(call, ETX_AFFINE_PER_TENSOR);
}
static etx_status run_per_channel(etx_call* call) {
  return run(call, ETX_AFFINE_PER_CHANNEL);
}
static etx_status run_per_token(etx_call* call) {
  return run(call, ETX_AFFINE_PER_TOKEN);
}

static etx_status prepare(etx_call* call, etx_affine_kind kind) {
  static etx_status (*const runs[])(etx_call*) = {
      run_per_tensor, run_per_channel, run_per_token};
  const size_t out = out_index(kind);
  const etx_dtype from =
      etx_call_tensor(call, ETX_ARG_dequantize_per_tensor_input)->dtype;
  const size_t type = out - 2;
  if (etx_compute_type_of(from) != ETX_COMPUTE_I64 || from == ETX_DTYPE_BOOL) {
    return etx_call_refuse_dtype(call, ETX_ARG_dequantize_per_tensor_input,
                                 "integers");
  }
  if (kind != ETX_AFFINE_PER_TOKEN &&
      etx_call_integer(call, type) != (int64_t)from) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'dtype' is %i, but 'input' has type '%s'",
                           etx_call_integer(call, type), etx_dtype_name(from));
  }
  ETX_TRY(etx_affine_check(call));
  const etx_compute_type to =
      etx_compute_type_of(etx_call_tensor(call, out)->dtype);
  if (to != ETX_COMPUTE_F32 && to != ETX_COMPUTE_F64) {
    return etx_call_refuse_dtype(call, out, "floats");
  }
  call->run = runs[kind];
  return ETX_OK;
}

etx_status etx_kernel_dequantize_per_tensor_out_prepare(etx_call* call) {
  return prepare(call, ETX_AFFINE_PER_TENSOR);
}
etx_status etx_kernel_dequantize_per_tensor_tensor_out_prepare(etx_call* call) {
  return prepare(call, ETX_AFFINE_PER_TENSOR);
}
etx_status etx_kernel_dequantize_per_channel_out_prepare(etx_call* call) {
  return prepare(call, ETX_AFFINE_PER_CHANNEL);
}
etx_status etx_kernel_dequantize_per_token_out_prepare(etx_call* call) {
  return prepare(call, ETX_AFFINE_PER_TOKEN);
}
