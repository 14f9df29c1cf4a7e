// Batch normalisation. Training uses the statistics of the batch and updates
// the running statistics; inference uses the running statistics.
//
// Channels are dimension 1. Their statistics are computed for groups of up to
// ETX_BLOCK channels. If the channels of a pixel are neighbours in memory
// (channels last), the results of a group are computed together, otherwise
// channel by channel.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/reduction/moments.h"
#include "runtime/kernels/normalization/norm_affine.h"
#include "runtime/kernels/views/strided_view.h"
#include "runtime/kernels/core/strided_iterator.h"

typedef struct norm_args {
  const etx_tensor* input;
  const etx_tensor* out;
  etx_norm_parameter weight;
  etx_norm_parameter bias;
  double eps;
} norm_args;

// Statistics of a group of channels.
typedef struct channel_group {
  size_t first;
  size_t count;
  bool uses_batch_stats;  // false: running statistics
  double mean[ETX_BLOCK];
  double variance[ETX_BLOCK];
  double scale[ETX_BLOCK];  // 1 / sqrt(variance + eps)
} channel_group;

// `eps` and `out` are positions of arguments.
static norm_args norm_args_of(const etx_call* call, size_t eps, size_t out) {
  const norm_args args = {
      .input = etx_call_tensor(call, ETX_ARG_native_batch_norm_legit_input),
      .out = etx_call_tensor(call, out),
      .weight = etx_norm_parameter_of(call, 1),
      .bias = etx_norm_parameter_of(call, 2),
      .eps = etx_call_real(call, eps)};
  return args;
}

static etx_strided_view group_view(const etx_tensor* tensor,
                                   const channel_group* group) {
  etx_strided_view view = etx_strided_view_of(tensor);
  etx_strided_view_slice(&view, 1, (int64_t)group->first, (int64_t)group->count,
                         1);
  return view;
}

static bool start_iterator(etx_strided_iterator* iterator,
                           const etx_strided_view* out,
                           const etx_strided_view* in) {
  etx_strided_iterator_init(iterator, out->sizes, out->rank);
  etx_strided_iterator_add_strided(iterator, out->data,
                                   etx_dtype_bytes(out->dtype), out->strides);
  etx_strided_iterator_add_strided(iterator, in->data,
                                   etx_dtype_bytes(in->dtype), in->strides);
  return etx_strided_iterator_start(iterator);
}

// The factors of channel i of a group. With running statistics PyTorch computes
// x * scale + (bias - mean * scale). With batch statistics this would lose bits
// if the mean is far from 0, so the mean is subtracted first.
static etx_norm_factors factors_of(const norm_args* args,
                                   const channel_group* group, size_t i) {
  const size_t channel = group->first + i;
  etx_norm_factors f = {
      group->mean[i],
      group->scale[i] * etx_norm_parameter_at(&args->weight, channel, 1),
      etx_norm_parameter_at(&args->bias, channel, 0)};
  if (!group->uses_batch_stats) {
    f.bias -= f.mean * f.scale;
    f.mean = 0;
  }
  return f;
}

// Contiguous tensors: each channel of an image is a contiguous plane.
static void write_dense_planes(const norm_args* args,
                               const channel_group* group) {
  const size_t batches = (size_t)args->input->sizes[0];
  const size_t channels = (size_t)args->input->sizes[1];
  size_t size = 1;  // elements of a plane
  for (size_t i = 2; i < args->input->rank; ++i) {
    size *= (size_t)args->input->sizes[i];
  }
  const size_t bytes = size * etx_dtype_bytes(args->input->dtype);
  for (size_t i = 0; i < group->count; ++i) {
    const etx_norm_factors f = factors_of(args, group, i);
    for (size_t n = 0; n < batches; ++n) {
      const size_t offset = (n * channels + group->first + i) * bytes;
      const etx_norm_row row = {.in = (const char*)args->input->data + offset,
                                .out = (char*)args->out->data + offset,
                                .in_stride = 1,
                                .out_stride = 1,
                                .count = size};
      etx_norm_affine_row(args->input->dtype, &row, &f);
    }
  }
}

// Tensors of any strides: one channel after the other.
static void write_strided_planes(const norm_args* args,
                                 const channel_group* group) {
  for (size_t i = 0; i < group->count; ++i) {
    const size_t channel = group->first + i;
    const etx_norm_factors f = factors_of(args, group, i);
    etx_strided_view out = etx_strided_view_of(args->out),
                     in = etx_strided_view_of(args->input);
    etx_strided_view_select(&out, 1, (int64_t)channel);
    etx_strided_view_select(&in, 1, (int64_t)channel);
    etx_strided_iterator iterator;
    bool more = start_iterator(&iterator, &out, &in);
    for (; more; more = etx_strided_iterator_next(&iterator)) {
      const etx_norm_row row = {.in = iterator.data[1],
                                .out = iterator.data[0],
                                .in_stride = iterator.stride[1],
                                .out_stride = iterator.stride[0],
                                .count = iterator.count};
      etx_norm_affine_row(args->input->dtype, &row, &f);
    }
  }
}

// The factors of a group in the compute type: element i is for channel i.
typedef struct block_factors {
  etx_compute_type compute;
  etx_block mean;
  etx_block scale;
  etx_block bias;
} block_factors;

static void load_factors(const norm_args* args, const channel_group* group,
                         block_factors* r) {
  r->compute = etx_compute_type_of(args->input->dtype);
  for (size_t i = 0; i < group->count; ++i) {
    const etx_norm_factors f = factors_of(args, group, i);
    if (!etx_is_f64(r->compute)) {
      r->mean.f32[i] = (float)f.mean;
      r->scale.f32[i] = (float)f.scale;
      r->bias.f32[i] = (float)f.bias;
    } else {
      r->mean.f64[i] = f.mean;
      r->scale.f64[i] = f.scale;
      r->bias.f64[i] = f.bias;
    }
  }
}

static void scale_block(const block_factors* r, void* out, const void* in,
                        size_t count) {
  const float* singles = in;
  const double* doubles = in;
  for (size_t i = 0; i < count && r->compute == ETX_COMPUTE_F32; ++i) {
    ((float*)out)[i] =
        (singles[i] - r->mean.f32[i]) * r->scale.f32[i] + r->bias.f32[i];
  }
  for (size_t i = 0; i < count && etx_is_f64(r->compute); ++i) {
    ((double*)out)[i] =
        (doubles[i] - r->mean.f64[i]) * r->scale.f64[i] + r->bias.f64[i];
  }
}

// Channels last: all channels of the group together, pixel by pixel.
static void write_channels_last(const norm_args* args,
                                const channel_group* group) {
  etx_strided_view out = group_view(args->out, group),
                   in = group_view(args->input, group);
  const ptrdiff_t out_stride = out.strides[1], in_stride = in.strides[1];
  const etx_dtype dtype = args->input->dtype;
  block_factors r;
  load_factors(args, group, &r);
  const bool is_native = out_stride == 1 && in_stride == 1 &&
                         dtype == etx_compute_type_dtype(r.compute);
  etx_strided_view_select(&out, 1, 0);
  etx_strided_view_select(&in, 1, 0);
  etx_strided_iterator iterator;
  bool more = start_iterator(&iterator, &out, &in);
  for (; more; more = etx_strided_iterator_next(&iterator)) {
    for (size_t i = 0; i < iterator.count; ++i) {
      const ptrdiff_t at = (ptrdiff_t)i;
      void* to = iterator.data[0] + at * iterator.stride[0] * iterator.bytes[0];
      const void* from =
          iterator.data[1] + at * iterator.stride[1] * iterator.bytes[1];
      etx_block x;
      if (is_native) {
        scale_block(&r, to, from, group->count);
        continue;
      }
      etx_block_load(&x, r.compute, dtype, from, in_stride, group->count);
      scale_block(&r, &x, &x, group->count);
      etx_block_store(&x, r.compute, dtype, to, out_stride, group->count);
    }
  }
}

static void write(const norm_args* args, const channel_group* group) {
  // Strides of dimensions of size 1 mean nothing and may lead to another
  // branch, which gives the same results.
  bool is_channels_last = args->input->strides[1] == 1;
  for (size_t i = 2; i < args->input->rank && !is_channels_last; ++i) {
    is_channels_last = args->input->strides[1] < args->input->strides[i];
  }
  if (is_channels_last && group->count > 1) {
    write_channels_last(args, group);
  } else if (etx_tensor_is_contiguous(args->input) &&
             etx_tensor_is_contiguous(args->out)) {
    write_dense_planes(args, group);
  } else {
    write_strided_planes(args, group);
  }
}

// Moves to the next group of channels; false if there is none.
static bool next_group(const norm_args* args, channel_group* group) {
  const size_t channels = (size_t)args->input->sizes[1];
  group->first += group->count;
  const size_t left = channels - group->first;
  group->count = left < ETX_BLOCK ? left : ETX_BLOCK;
  return group->count > 0;
}

// A strided view as a tensor.
typedef struct view_tensor {
  etx_tensor tensor;
  int32_t strides[ETX_MAX_RANK];
} view_tensor;

static const etx_tensor* tensor_of(const etx_strided_view* view,
                                   view_tensor* out) {
  for (size_t i = 0; i < view->rank; ++i) {
    out->strides[i] = (int32_t)view->strides[i];
  }
  out->tensor = (etx_tensor){.data = view->data,
                             .sizes = view->sizes,
                             .strides = out->strides,
                             .rank = (uint8_t)view->rank,
                             .dtype = view->dtype};
  return &out->tensor;
}

// The mean as sum / count, which is infinite if an element is infinite, as in
// PyTorch. The mean that is computed with the variance is NaN then.
static double plain_mean(const norm_args* args, size_t channel, double count) {
  etx_strided_view in = etx_strided_view_of(args->input);
  double sum = 0;
  etx_strided_view_select(&in, 1, (int64_t)channel);
  etx_strided_iterator iterator;
  bool more = start_iterator(&iterator, &in, &in);
  for (; more; more = etx_strided_iterator_next(&iterator)) {
    for (size_t i = 0; i < iterator.count; ++i) {
      double x;
      const ptrdiff_t offset =
          (ptrdiff_t)i * iterator.stride[0] * iterator.bytes[0];
      etx_convert(ETX_DTYPE_FLOAT64, &x, 1, args->input->dtype,
                  iterator.data[0] + offset, 1, 1);
      sum += x;
    }
  }
  return sum / count;
}

// Computes mean and variance of the batch: a reduction of all dimensions except
// the channels.
static void compute_batch_stats(const norm_args* args, channel_group* group,
                                double count) {
  const int32_t sizes[] = {(int32_t)group->count};
  const int32_t strides[] = {1};
  const etx_tensor means = {.data = group->mean,
                            .sizes = sizes,
                            .strides = strides,
                            .rank = 1,
                            .dtype = ETX_DTYPE_FLOAT64};
  etx_tensor squares = means;
  squares.data = group->variance;
  const etx_strided_view view = group_view(args->input, group);
  view_tensor self;
  etx_reduction r = {.compute = etx_compute_type_of(args->input->dtype),
                     .self = tensor_of(&view, &self),
                     .value = &means,
                     .other = &squares,
                     .cast = args->input->dtype,
                     .dims = ~UINT32_C(2)};  // all dimensions but 1
  r.native = etx_compute_type_dtype(r.compute);
  r.reducer = &etx_moments_reducers[r.compute];
  etx_reduce(&r);
  for (size_t i = 0; i < group->count; ++i) {
    group->variance[i] /= count;
    if (group->mean[i] != group->mean[i]) {
      group->mean[i] = plain_mean(args, group->first + i, count);
    }
    const bool is_flat = group->variance[i] == 0 && args->eps == 0;
    group->scale[i] =
        is_flat ? 0 : etx_inverse_deviation(group->variance[i], args->eps);
  }
}

static double elements_per_channel(const norm_args* args) {
  double count = 1;
  for (size_t i = 0; i < args->input->rank; ++i) {
    if (i != 1) count *= (double)args->input->sizes[i];
  }
  return count;
}

static void write_element(const etx_tensor* to, size_t at, double value) {
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(to->dtype);
  etx_convert_real(to->dtype, value,
                   (char*)to->data + (ptrdiff_t)at * to->strides[0] * bytes);
}

static void write_statistics(const channel_group* group,
                             const etx_tensor* means,
                             const etx_tensor* scales) {
  for (size_t i = 0; i < group->count; ++i) {
    write_element(means, group->first + i, group->mean[i]);
    write_element(scales, group->first + i, group->scale[i]);
  }
}

// running = (1 - momentum) * running + momentum * batch, for mean and unbiased
// variance. Arguments 3 and 4 are the running statistics.
static void update_running_stats(const etx_call* call,
                                 const channel_group* group, double momentum,
                                 double count) {
  const etx_norm_parameter mean = etx_norm_parameter_of(call, 3);
  const etx_norm_parameter variance = etx_norm_parameter_of(call, 4);
  for (size_t i = 0; i < group->count; ++i) {
    const size_t at = group->first + i;
    const double unbiased = group->variance[i] * count / (count - 1);
    write_element(
        etx_call_tensor(call, ETX_ARG_native_batch_norm_legit_running_mean), at,
        momentum * group->mean[i] +
            (1 - momentum) * etx_norm_parameter_at(&mean, at, 0));
    write_element(
        etx_call_tensor(call, ETX_ARG_native_batch_norm_legit_running_var), at,
        momentum * unbiased +
            (1 - momentum) * etx_norm_parameter_at(&variance, at, 0));
  }
}

// Normalises by the statistics of the batch. `out` and `momentum` are positions
// of arguments: the first of the three outputs, and the momentum with which the
// running statistics are updated if has_running.
static void run_training(const etx_call* call, const norm_args* args,
                         size_t out, bool has_running, size_t momentum) {
  const double count = elements_per_channel(args);
  channel_group group;
  group.first = group.count = 0;
  group.uses_batch_stats = true;
  while (next_group(args, &group)) {
    compute_batch_stats(args, &group, count);
    write(args, &group);
    write_statistics(&group, etx_call_tensor(call, out + 1),
                     etx_call_tensor(call, out + 2));
    if (has_running) {
      update_running_stats(call, &group, etx_call_real(call, momentum), count);
    }
  }
}

// Normalises by the running statistics, arguments 3 and 4.
static void run_inference(const etx_call* call, const norm_args* args) {
  const etx_norm_parameter mean = etx_norm_parameter_of(call, 3);
  const etx_norm_parameter variance = etx_norm_parameter_of(call, 4);
  channel_group group;
  group.first = group.count = 0;
  group.uses_batch_stats = false;
  while (next_group(args, &group)) {
    for (size_t i = 0; i < group.count; ++i) {
      group.mean[i] = etx_norm_parameter_at(&mean, group.first + i, 0);
      group.variance[i] = etx_norm_parameter_at(&variance, group.first + i, 0);
      group.scale[i] = etx_inverse_deviation(group.variance[i], args->eps);
    }
    write(args, &group);
  }
}

// (input, weight, bias, running_mean, running_var, training, momentum, eps,
// out, save_mean, save_invstd)
static etx_status run_batch_norm(etx_call* call) {
  const norm_args args = norm_args_of(call, 7, 8);
  if (etx_call_boolean(call, ETX_ARG_native_batch_norm_legit_training))
    run_training(call, &args, 8, true, 6);
  if (!etx_call_boolean(call, ETX_ARG_native_batch_norm_legit_training))
    run_inference(call, &args);
  return ETX_OK;
}

// (input, weight, bias, training, momentum, eps, out, save_mean, save_invstd)
static etx_status run_no_stats(etx_call* call) {
  const norm_args args = norm_args_of(call, 5, 6);
  run_training(call, &args, 6, false, 4);
  return ETX_OK;
}

// (input, weight, bias, running_mean, running_var, momentum, eps, out0, out1,
// out2)
static etx_status run_no_training(etx_call* call) {
  const norm_args args = norm_args_of(call, 6, 7);
  run_inference(call, &args);
  return ETX_OK;
}

// Refuses a batch without elements, whose statistics are undefined.
static etx_status check_elements(const etx_call* call) {
  if (etx_tensor_numel(
          etx_call_tensor(call, ETX_ARG_native_batch_norm_legit_input)) > 0)
    return ETX_OK;
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "the input has no elements, expected at least 1");
}

etx_status etx_kernel_native_batch_norm_legit_out_prepare(etx_call* call) {
  static const size_t parameters[] = {1, 2, 3, 4};
  call->run = run_batch_norm;
  if (etx_call_boolean(call, ETX_ARG_native_batch_norm_legit_training))
    ETX_TRY(check_elements(call));
  return etx_call_check_norm_types(call, ETX_ARG_native_batch_norm_legit_out,
                                   parameters, 4);
}
etx_status etx_kernel_native_batch_norm_legit_no_stats_out_prepare(
    etx_call* call) {
  static const size_t parameters[] = {1, 2};
  call->run = run_no_stats;
  ETX_TRY(check_elements(call));
  return etx_call_check_norm_types(
      call, ETX_ARG_native_batch_norm_legit_no_stats_out, parameters, 2);
}
etx_status etx_kernel_native_batch_norm_legit_no_training_out_prepare(
    etx_call* call) {
  static const size_t parameters[] = {1, 2, 3, 4};
  call->run = run_no_training;
  return etx_call_check_norm_types(
      call, ETX_ARG_native_batch_norm_legit_no_training_out0, parameters, 4);
}
