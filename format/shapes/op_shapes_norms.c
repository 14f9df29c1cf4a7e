// Shape functions of softmax, normalisations and Fourier transforms.

#include "format/shapes/op_shapes_internal.h"

static etx_status put(const etx_shape_call* call, size_t index,
                      const etx_shape* shape) {
  return call->output(call->context, index, shape);
}

etx_status etx_shape_softmax(etx_shape_call* call) {
  etx_shape out;
  size_t at;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(etx_shape_dimension(call, 1, 0, out.rank, &at));
  return put(call, 0, &out);
}

// The type of the statistics in the result: that of the first of `count`
// arguments (weight, bias, running statistics) that is not None, else that of
// the input. In PyTorch it may be float32 beside a float16 input; kernels
// refuse other mixtures.
static etx_status parameter_type(const etx_shape_call* call, size_t first,
                                 size_t count, etx_dtype input,
                                 etx_dtype* out) {
  *out = input;
  for (size_t i = first; i < first + count; ++i) {
    etx_shape shape;
    if (etx_shape_is_none(call, i)) continue;
    ETX_TRY(etx_shape_tensor(call, i, &shape));
    *out = shape.dtype;
    return ETX_OK;
  }
  return ETX_OK;
}

// Checks the sizes of an optional weight or bias.
static etx_status check_sizes(const etx_shape_call* call, size_t argument,
                              const char* name, const etx_shape* expected) {
  if (etx_shape_is_none(call, argument)) return ETX_OK;
  etx_shape shape;
  ETX_TRY(etx_shape_tensor(call, argument, &shape));
  ETX_TRY(etx_shape_check_rank(call, name, &shape, expected->rank));
  for (size_t i = 0; i < shape.rank; ++i) {
    ETX_TRY(etx_shape_check_equal(call, "a size of weight, bias or statistics",
                                  expected->dims[i], shape.dims[i]));
  }
  return ETX_OK;
}

// The normalized dimensions: the last ones of `input`, with the sizes in
// argument 1. In `statistics` their sizes are 1.
static etx_status normalized(const etx_shape_call* call, const etx_shape* input,
                             etx_shape* expected, etx_shape* statistics) {
  const size_t count = call->list_count(call->context, 1);
  *expected = (etx_shape){.dtype = input->dtype, .rank = (uint8_t)count};
  *statistics = *input;
  if (count == 0 || count > input->rank) {
    return etx_shape_refuse(call,
                            "%i dimensions are normalised, expected 1 "
                            "to %i",
                            (int64_t)count, (int64_t)input->rank);
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t at = input->rank - count + i;
    expected->dims[i] = call->integer(call->context, 1, i);
    statistics->dims[at] = 1;
    ETX_TRY(etx_shape_check_equal(call, "a size of 'input'", expected->dims[i],
                                  input->dims[at]));
  }
  return ETX_OK;
}

// (input, normalized_shape, weight, eps)
etx_status etx_shape_rms_norm(etx_shape_call* call) {
  etx_shape input, expected, statistics;
  ETX_TRY(etx_shape_tensor(call, 0, &input));
  ETX_TRY(normalized(call, &input, &expected, &statistics));
  ETX_TRY(check_sizes(call, 2, "weight", &expected));
  return put(call, 0, &input);
}

// (input, normalized_shape, weight, bias, eps): result, mean, 1/deviation.
etx_status etx_shape_layer_norm(etx_shape_call* call) {
  etx_shape input, expected, statistics;
  ETX_TRY(etx_shape_tensor(call, 0, &input));
  ETX_TRY(normalized(call, &input, &expected, &statistics));
  ETX_TRY(check_sizes(call, 2, "weight", &expected));
  ETX_TRY(check_sizes(call, 3, "bias", &expected));
  ETX_TRY(parameter_type(call, 2, 2, input.dtype, &statistics.dtype));
  ETX_TRY(put(call, 0, &input));
  ETX_TRY(put(call, 1, &statistics));
  return put(call, 2, &statistics);
}

// (input, weight, bias, N, C, HxW, group, eps): result, mean, 1/deviation.
etx_status etx_shape_group_norm(etx_shape_call* call) {
  etx_shape input;
  etx_dim numel, stated;
  int64_t groups;
  ETX_TRY(etx_shape_tensor(call, 0, &input));
  const etx_dim n = call->integer(call->context, 3, 0);
  const etx_dim channels = call->integer(call->context, 4, 0);
  ETX_TRY(etx_shape_number(call, 6, 0, &groups));
  ETX_TRY(etx_shape_numel(call, &input, &numel));
  ETX_TRY(etx_dim_multiply(call, n, channels, &stated));
  ETX_TRY(etx_dim_multiply(call, stated, call->integer(call->context, 5, 0),
                           &stated));
  ETX_TRY(etx_shape_check_equal(call, "the product of N, C and HxW", numel,
                                stated));
  for (size_t i = 0; i < 3; ++i) {
    if (etx_dim_is_below(call, -1, call->integer(call->context, 3 + i, 0))) {
      continue;
    }
    return etx_shape_refuse(call, "N, C or HxW is negative");
  }
  if (groups <= 0 ||
      (etx_shape_is_number(call, channels) && channels % groups != 0)) {
    return etx_shape_refuse(call, "%i channels do not divide into %i groups",
                            etx_dim_for_message(call, channels), groups);
  }
  const etx_shape expected = {
      .dtype = input.dtype, .rank = 1, .dims = {channels}};
  etx_shape statistics = {.rank = 2, .dims = {n, groups}};
  ETX_TRY(check_sizes(call, 1, "weight", &expected));
  ETX_TRY(check_sizes(call, 2, "bias", &expected));
  ETX_TRY(parameter_type(call, 1, 2, input.dtype, &statistics.dtype));
  ETX_TRY(put(call, 0, &input));
  ETX_TRY(put(call, 1, &statistics));
  return put(call, 2, &statistics);
}

// Reads an input of at least two dimensions, and checks weight and bias, which
// have one element for each channel.
static etx_status read_batch(const etx_shape_call* call, etx_shape* out_input,
                             etx_shape* out_channels) {
  ETX_TRY(etx_shape_tensor(call, 0, out_input));
  if (out_input->rank < 2) {
    return etx_shape_refuse(call, "rank of 'input' is %i, expected at least 2",
                            (int64_t)out_input->rank);
  }
  *out_channels = (etx_shape){
      .dtype = out_input->dtype, .rank = 1, .dims = {out_input->dims[1]}};
  ETX_TRY(check_sizes(call, 1, "weight", out_channels));
  return check_sizes(call, 2, "bias", out_channels);
}

// Puts result and statistics from output `first` on. Without training the
// statistics are empty.
static etx_status put_batch(const etx_shape_call* call, size_t first,
                            const etx_shape* input, etx_shape* statistics,
                            bool training) {
  if (!training) statistics->dims[0] = 0;
  ETX_TRY(put(call, first, input));
  ETX_TRY(put(call, first + 1, statistics));
  return put(call, first + 2, statistics);
}

// (input, weight, bias, running_mean, running_var, training, momentum, eps);
// the running statistics are outputs, too.
etx_status etx_shape_batch_norm(etx_shape_call* call) {
  etx_shape input, channels;
  ETX_TRY(read_batch(call, &input, &channels));
  for (size_t i = 0; i < 2; ++i) {
    etx_shape running;
    const char* const name = i == 0 ? "running_mean" : "running_var";
    ETX_TRY(check_sizes(call, 3 + i, name, &channels));
    ETX_TRY(etx_shape_tensor(call, 3 + i, &running));
    ETX_TRY(put(call, i, &running));
  }
  ETX_TRY(parameter_type(call, 1, 4, input.dtype, &channels.dtype));
  return put_batch(call, 2, &input, &channels, etx_shape_boolean(call, 5));
}

// (input, weight, bias, training, momentum, eps)
etx_status etx_shape_batch_norm_no_stats(etx_shape_call* call) {
  etx_shape input, channels;
  ETX_TRY(read_batch(call, &input, &channels));
  ETX_TRY(parameter_type(call, 1, 2, input.dtype, &channels.dtype));
  return put_batch(call, 0, &input, &channels, true);
}

// (input, weight, bias, running_mean, running_var, momentum, eps)
etx_status etx_shape_batch_norm_no_training(etx_shape_call* call) {
  etx_shape input, channels;
  ETX_TRY(read_batch(call, &input, &channels));
  ETX_TRY(check_sizes(call, 3, "running_mean", &channels));
  ETX_TRY(check_sizes(call, 4, "running_var", &channels));
  ETX_TRY(parameter_type(call, 1, 4, input.dtype, &channels.dtype));
  return put_batch(call, 0, &input, &channels, false);
}

// Checks the dimensions of a transform: at least one, none twice. Returns the
// last one.
static etx_status transformed(const etx_shape_call* call, size_t rank,
                              size_t* out_last) {
  const size_t count = call->list_count(call->context, 1);
  uint32_t bits = 0;
  if (count == 0 || rank == 0) {
    return etx_shape_refuse(call, "no dimension is transformed");
  }
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(etx_shape_dimension(call, 1, i, rank, out_last));
    if ((bits >> *out_last) & 1) {
      return etx_shape_refuse(call, "dimension %i is given twice",
                              (int64_t)*out_last);
    }
    bits |= UINT32_C(1) << *out_last;
  }
  return ETX_OK;
}

// The size of a one-sided transform of `size` real elements: n / 2 + 1, since
// the rest is the complex conjugate.
static etx_status half_size(const etx_shape_call* call, etx_dim size,
                            etx_dim* out) {
  ETX_TRY(etx_dim_floor_divide(call, size, 2, out));
  return etx_dim_add(call, *out, 1, out);
}

// (self, dim, normalization, onesided)
etx_status etx_shape_fft_r2c(etx_shape_call* call) {
  etx_shape out;
  size_t last = 0;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(transformed(call, out.rank, &last));
  const bool is_double = out.dtype == ETX_DTYPE_FLOAT64;
  if (!is_double && out.dtype != ETX_DTYPE_FLOAT32) {
    return etx_shape_refuse(call,
                            "'self' has type '%s', expected float32 or "
                            "float64",
                            etx_dtype_name(out.dtype));
  }
  out.dtype = is_double ? ETX_DTYPE_COMPLEX128 : ETX_DTYPE_COMPLEX64;
  if (etx_shape_boolean(call, 3)) {
    ETX_TRY(half_size(call, out.dims[last], &out.dims[last]));
  }
  return put(call, 0, &out);
}

// (self, dim, normalization, last_dim_size)
etx_status etx_shape_fft_c2r(etx_shape_call* call) {
  etx_shape out;
  size_t last = 0;
  int64_t low, high;
  etx_dim needed;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(transformed(call, out.rank, &last));
  const bool is_double = out.dtype == ETX_DTYPE_COMPLEX128;
  if (!is_double && out.dtype != ETX_DTYPE_COMPLEX64) {
    return etx_shape_refuse(call,
                            "'self' has type '%s', expected complex64 "
                            "or complex128",
                            etx_dtype_name(out.dtype));
  }
  const etx_dim size = call->integer(call->context, 3, 0);
  etx_dim_bounds(call, size, &low, &high);
  if (high < 1) {
    return etx_shape_refuse(call, "'last_dim_size' is %i, expected at least 1",
                            high);
  }
  // A one-sided input is enough. Of a two-sided one, the second half is not
  // read.
  ETX_TRY(half_size(call, size, &needed));
  if (!etx_dim_equal(call, out.dims[last], size)) {
    ETX_TRY(etx_shape_check_equal(call, "the size of the last dimension",
                                  needed, out.dims[last]));
  }
  out.dtype = is_double ? ETX_DTYPE_FLOAT64 : ETX_DTYPE_FLOAT32;
  out.dims[last] = size;
  return put(call, 0, &out);
}

// (self, dim, normalization, forward)
etx_status etx_shape_fft_c2c(etx_shape_call* call) {
  etx_shape self;
  size_t last = 0;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(transformed(call, self.rank, &last));
  if (self.dtype != ETX_DTYPE_COMPLEX64 && self.dtype != ETX_DTYPE_COMPLEX128) {
    return etx_shape_refuse(call,
                            "'self' has type '%s', expected complex64 "
                            "or complex128",
                            etx_dtype_name(self.dtype));
  }
  return put(call, 0, &self);
}
