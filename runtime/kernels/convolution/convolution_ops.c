// The convolution operators: each reads its arguments into one convolution.

#include "runtime/kernels/convolution/convolution.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/registry/temporary_kernels.h"

// Panels [O / 16, I, kernel.., 16] as the weight of a plain convolution.
static etx_volumes volumes_of_panels(const etx_tensor* panels) {
  etx_tensor taps = *panels;
  --taps.rank;
  etx_volumes v = etx_volumes_of(&taps);
  v.images *= ETX_CONVOLUTION_PANEL;
  v.image /= ETX_CONVOLUTION_PANEL;
  return v;
}

// The convolution of a call without its bias, windows and chain.
static etx_convolution read_tensors(const etx_call* call) {
  const etx_tensor* input = etx_call_tensor(call, ETX_ARG_convolution_input);
  const etx_tensor* weights = etx_call_tensor(call, ETX_ARG_convolution_weight);
  const etx_tensor* result = etx_call_tensor(call, call->argument_count - 1);
  const bool has_panels = weights->rank > input->rank;
  const bool transposed =
      etx_call_boolean(call, ETX_ARG_convolution_transposed);
  const etx_volumes in = etx_volumes_of(input);
  const etx_volumes weight =
      has_panels ? volumes_of_panels(weights) : etx_volumes_of(weights);
  const etx_volumes out = etx_volumes_of(result);
  etx_convolution c = etx_convolution_of(
      &in, &weight, &out, etx_call_integer(call, ETX_ARG_convolution_groups),
      transposed && !has_panels);
  c.transposed = transposed;
  c.has_panels = has_panels;
  return c;
}

// Asked for before the shape rule has checked ranks and groups.
etx_status etx_temporary_convolution(const etx_call* call, size_t* out_bytes) {
  const size_t input = etx_call_tensor(call, ETX_ARG_convolution_input)->rank;
  const size_t weight = etx_call_tensor(call, ETX_ARG_convolution_weight)->rank;
  const size_t out = etx_call_tensor(call, call->argument_count - 1)->rank;
  *out_bytes = 0;
  if (input < 3 || input > 2 + ETX_SPATIAL || out != input ||
      (weight != input && weight != input + 1) ||
      etx_call_integer(call, ETX_ARG_convolution_groups) < 1) {
    return ETX_OK;
  }
  const etx_convolution c = read_tensors(call);
  return etx_convolution_temporary(&c, call, out_bytes);
}

// (input, weight, bias, stride, padding, dilation, transposed,
// output_padding, groups, .., out); `chain` may be NULL.
static void convolve(etx_call* call, const etx_chain* chain) {
  if (etx_tensor_numel(etx_call_tensor(call, call->argument_count - 1)) == 0) {
    return;
  }
  etx_convolution c = read_tensors(call);
  if (!etx_call_is_none(call, ETX_ARG_convolution_bias))
    c.bias = etx_call_tensor(call, ETX_ARG_convolution_bias);
  etx_windows_read(call, 3, &c.in, &c.out, &c.weight, c.windows);
  c.chain = chain;
  etx_convolution_run(&c, call->parallel, call->temporary);
}

static etx_status run_convolution(etx_call* call) {
  convolve(call, NULL);
  return ETX_OK;
}

// (.., others, steps, out)
static etx_status run_convolution_chain(etx_call* call) {
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_convolution_chain_out);
  const size_t numel = etx_tensor_numel(out);
  if (numel == 0) return ETX_OK;
  etx_chain chain;
  if (etx_chain_has_any_rows(call, ETX_ARG_convolution_chain_others)) {
    const size_t planes = (size_t)out->sizes[0] * (size_t)out->sizes[1];
    etx_chain_read(call, ETX_ARG_convolution_chain_others, numel / planes,
                   &chain);
    convolve(call, &chain);
    return ETX_OK;
  }
  const size_t columns = (size_t)out->sizes[out->rank - 1];
  convolve(call, NULL);
  etx_chain_read(call, ETX_ARG_convolution_chain_others, columns, &chain);
  etx_chain_run_all(&chain, out->data, numel, columns, call->parallel);
  return ETX_OK;
}

// Checks the types, and states temporary memory.
static etx_status prepare_floats(etx_call* call) {
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_call_check_dtype(call, i, ETX_DTYPE_FLOAT32));
  }
  if (!etx_call_is_none(call, ETX_ARG_convolution_chain_bias)) {
    ETX_TRY(etx_call_check_dtype(call, ETX_ARG_convolution_chain_bias,
                                 ETX_DTYPE_FLOAT32));
  }
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_convolution_chain_out,
                               ETX_DTYPE_FLOAT32));
  return etx_temporary_convolution(call, &call->temporary_bytes);
}

etx_status etx_kernel_convolution_chain_out_prepare(etx_call* call) {
  if (!etx_call_is_again(call)) ETX_TRY(prepare_floats(call));
  // Planes of results are rows of the chain only if they are contiguous.
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_convolution_chain_out));
  ETX_TRY(etx_chain_check(call, ETX_ARG_convolution_chain_others, 10));
  call->run = run_convolution_chain;
  return ETX_OK;
}

etx_status etx_kernel_convolution_packed_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_convolution_packed_panels));
  return etx_kernel_convolution_chain_out_prepare(call);
}

etx_status etx_kernel_convolution_out_prepare(etx_call* call) {
  if (etx_call_is_again(call)) return ETX_OK;
  ETX_TRY(etx_call_check_real(call, ETX_ARG_convolution_input));
  if (etx_call_tensor(call, ETX_ARG_convolution_input)->dtype ==
      ETX_DTYPE_BOOL) {
    return etx_call_refuse_dtype(call, ETX_ARG_convolution_input, "numbers");
  }
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_convolution_input,
                                    ETX_ARG_convolution_weight));
  if (!etx_call_is_none(call, ETX_ARG_convolution_bias)) {
    ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_convolution_input,
                                      ETX_ARG_convolution_bias));
  }
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_convolution_input,
                                    ETX_ARG_convolution_out));
  call->run = run_convolution;
  return etx_temporary_convolution(call, &call->temporary_bytes);
}
