// Batch normalisation: in training by the statistics of the batch, which also
// move the running ones, else by the running ones.
//
// Channels are dimension 1. Where they lie next to each other in memory they
// are worked on many at a time, otherwise one by one; a group of at most
// ETX_BLOCK channels has its numbers on the stack.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/reduction/moments.h"
#include "runtime/kernels/normalization/norm_affine.h"
#include "runtime/kernels/views/strided_view.h"
#include "runtime/kernels/core/strided_iterator.h"

typedef struct batch {
  const etx_tensor* input;
  const etx_tensor* out;
  etx_norm_parameter weight;
  etx_norm_parameter bias;
  double eps;
} batch;

// The numbers of a group of channels.
typedef struct channels {
  size_t first;
  size_t count;
  bool is_of_batch;  // or else running
  double mean[ETX_BLOCK];
  double variance[ETX_BLOCK];
  double scale[ETX_BLOCK];  // 1/deviation
} channels;

static batch batch_of(const etx_call* call, size_t eps, size_t out) {
  const batch b = {
      .input = etx_call_tensor(call, ETX_ARG_native_batch_norm_legit_input),
      .out = etx_call_tensor(call, out),
      .weight = etx_norm_parameter_of(call, 1),
      .bias = etx_norm_parameter_of(call, 2),
      .eps = etx_call_real(call, eps)};
  return b;
}

static etx_strided_view part_of(const etx_tensor* tensor, const channels* c) {
  etx_strided_view view = etx_strided_view_of(tensor);
  etx_strided_view_slice(&view, 1, (int64_t)c->first, (int64_t)c->count, 1);
  return view;
}

static bool start_walk(etx_strided_iterator* walk, const etx_strided_view* out,
                       const etx_strided_view* in) {
  etx_strided_iterator_init(walk, out->sizes, out->rank);
  etx_strided_iterator_add_strided(walk, out->data, etx_dtype_bytes(out->dtype),
                                   out->strides);
  etx_strided_iterator_add_strided(walk, in->data, etx_dtype_bytes(in->dtype),
                                   in->strides);
  return etx_strided_iterator_start(walk);
}

// What channel i of a group is rescaled by.
typedef struct factors {
  double mean;
  double scale;
  double bias;
} factors;

// By running statistics PyTorch takes x scale + (bias - mean scale). By those
// of the batch this would lose places where the mean is far from 0.
static factors factors_of(const batch* b, const channels* c, size_t i) {
  const size_t channel = c->first + i;
  factors f = {c->mean[i],
               c->scale[i] * etx_norm_parameter_at(&b->weight, channel, 1),
               etx_norm_parameter_at(&b->bias, channel, 0)};
  if (!c->is_of_batch) {
    f.bias -= f.mean * f.scale;
    f.mean = 0;
  }
  return f;
}

// Rows of dense tensors, batch after batch.
static void write_rows(const batch* b, const channels* c) {
  const size_t batches = (size_t)b->input->sizes[0];
  const size_t all = (size_t)b->input->sizes[1];
  size_t size = 1;
  for (size_t i = 2; i < b->input->rank; ++i) {
    size *= (size_t)b->input->sizes[i];
  }
  const size_t bytes = size * etx_dtype_bytes(b->input->dtype);
  for (size_t i = 0; i < c->count; ++i) {
    const factors f = factors_of(b, c, i);
    for (size_t n = 0; n < batches; ++n) {
      const size_t offset = (n * all + c->first + i) * bytes;
      etx_norm_affine_row(b->input->dtype, (char*)b->out->data + offset, 1,
                          (const char*)b->input->data + offset, 1, size, f.mean,
                          f.scale, f.bias);
    }
  }
}

// One channel after the other.
static void write_by_channel(const batch* b, const channels* c) {
  for (size_t i = 0; i < c->count; ++i) {
    const size_t channel = c->first + i;
    const factors f = factors_of(b, c, i);
    etx_strided_view out = etx_strided_view_of(b->out),
                     in = etx_strided_view_of(b->input);
    etx_strided_view_select(&out, 1, (int64_t)channel);
    etx_strided_view_select(&in, 1, (int64_t)channel);
    etx_strided_iterator walk;
    bool more = start_walk(&walk, &out, &in);
    for (; more; more = etx_strided_iterator_next(&walk)) {
      etx_norm_affine_row(b->input->dtype, walk.data[0], walk.stride[0],
                          walk.data[1], walk.stride[1], walk.count, f.mean,
                          f.scale, f.bias);
    }
  }
}

// The numbers of a group in a wide type: element i is for channel i.
typedef struct rescaling {
  etx_compute_type wide;
  etx_block mean;
  etx_block scale;
  etx_block bias;
} rescaling;

static void load_rescaling(const batch* b, const channels* c, rescaling* r) {
  r->wide = etx_compute_type_of(b->input->dtype);
  for (size_t i = 0; i < c->count; ++i) {
    const factors f = factors_of(b, c, i);
    if (!etx_is_f64(r->wide)) {
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

static void rescale(const rescaling* r, void* out, const void* in,
                    size_t count) {
  const float* singles = in;
  const double* doubles = in;
  for (size_t i = 0; i < count && r->wide == ETX_COMPUTE_F32; ++i) {
    ((float*)out)[i] =
        (singles[i] - r->mean.f32[i]) * r->scale.f32[i] + r->bias.f32[i];
  }
  for (size_t i = 0; i < count && etx_is_f64(r->wide); ++i) {
    ((double*)out)[i] =
        (doubles[i] - r->mean.f64[i]) * r->scale.f64[i] + r->bias.f64[i];
  }
}

// All channels of a place together, place by place.
static void write_by_place(const batch* b, const channels* c) {
  etx_strided_view out = part_of(b->out, c), in = part_of(b->input, c);
  const ptrdiff_t out_stride = out.strides[1], in_stride = in.strides[1];
  const etx_dtype dtype = b->input->dtype;
  rescaling r;
  load_rescaling(b, c, &r);
  const bool is_native = out_stride == 1 && in_stride == 1 &&
                         dtype == etx_compute_type_dtype(r.wide);
  etx_strided_view_select(&out, 1, 0);
  etx_strided_view_select(&in, 1, 0);
  etx_strided_iterator walk;
  bool more = start_walk(&walk, &out, &in);
  for (; more; more = etx_strided_iterator_next(&walk)) {
    for (size_t i = 0; i < walk.count; ++i) {
      const ptrdiff_t at = (ptrdiff_t)i;
      void* to = walk.data[0] + at * walk.stride[0] * walk.bytes[0];
      const void* from = walk.data[1] + at * walk.stride[1] * walk.bytes[1];
      etx_block x;
      if (is_native) {
        rescale(&r, to, from, c->count);
        continue;
      }
      etx_block_load(&x, r.wide, dtype, from, in_stride, c->count);
      rescale(&r, &x, &x, c->count);
      etx_block_store(&x, r.wide, dtype, to, out_stride, c->count);
    }
  }
}

static void write(const batch* b, const channels* c) {
  // A size of 1 behind the channels leaves them next to each other, too.
  bool is_dense = b->input->strides[1] == 1;
  for (size_t i = 2; i < b->input->rank && !is_dense; ++i) {
    is_dense = b->input->strides[1] < b->input->strides[i];
  }
  if (is_dense && c->count > 1) {
    write_by_place(b, c);
  } else if (etx_tensor_is_contiguous(b->input) &&
             etx_tensor_is_contiguous(b->out)) {
    write_rows(b, c);
  } else {
    write_by_channel(b, c);
  }
}

// The next group of channels; false if there is none.
static bool next_channels(const batch* b, channels* c) {
  const size_t all = (size_t)b->input->sizes[1];
  c->first += c->count;
  const size_t left = all - c->first;
  c->count = left < ETX_BLOCK ? left : ETX_BLOCK;
  return c->count > 0;
}

// Sizes and strides of a view as a tensor's.
typedef struct header {
  etx_tensor tensor;
  int32_t strides[ETX_MAX_RANK];
} header;

static const etx_tensor* tensor_of(const etx_strided_view* view, header* out) {
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

// The mean of a channel as the quotient of a sum. The one that comes with a
// variance is NaN as soon as an element is infinite.
static double plain_mean(const batch* b, size_t channel, double count) {
  etx_strided_view in = etx_strided_view_of(b->input);
  double sum = 0;
  etx_strided_view_select(&in, 1, (int64_t)channel);
  etx_strided_iterator walk;
  bool more = start_walk(&walk, &in, &in);
  for (; more; more = etx_strided_iterator_next(&walk)) {
    for (size_t i = 0; i < walk.count; ++i) {
      double x;
      const ptrdiff_t offset = (ptrdiff_t)i * walk.stride[0] * walk.bytes[0];
      etx_convert(ETX_DTYPE_FLOAT64, &x, 1, b->input->dtype,
                  walk.data[0] + offset, 1, 1);
      sum += x;
    }
  }
  return sum / count;
}

// Mean and variance of the batch, by a reduction of all dimensions but that of
// the channels.
static void measure(const batch* b, channels* c, double count) {
  const int32_t sizes[] = {(int32_t)c->count};
  const int32_t strides[] = {1};
  const etx_tensor means = {.data = c->mean,
                            .sizes = sizes,
                            .strides = strides,
                            .rank = 1,
                            .dtype = ETX_DTYPE_FLOAT64};
  etx_tensor squares = means;
  squares.data = c->variance;
  const etx_strided_view view = part_of(b->input, c);
  header self;
  etx_reduction r = {.wide = etx_compute_type_of(b->input->dtype),
                     .self = tensor_of(&view, &self),
                     .value = &means,
                     .other = &squares,
                     .cast = b->input->dtype,
                     .dims = ~UINT32_C(2)};
  r.native = etx_compute_type_dtype(r.wide);
  r.fold = &etx_fold_moments[r.wide];
  etx_reduce(&r);
  for (size_t i = 0; i < c->count; ++i) {
    c->variance[i] /= count;
    if (c->mean[i] != c->mean[i]) {
      c->mean[i] = plain_mean(b, c->first + i, count);
    }
    const bool is_flat = c->variance[i] == 0 && b->eps == 0;
    c->scale[i] = is_flat ? 0 : etx_inverse_deviation(c->variance[i], b->eps);
  }
}

static double batch_count(const batch* b) {
  double count = 1;
  for (size_t i = 0; i < b->input->rank; ++i) {
    if (i != 1) count *= (double)b->input->sizes[i];
  }
  return count;
}

static void write_element(const etx_tensor* to, size_t at, double value) {
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(to->dtype);
  etx_convert_real(to->dtype, value,
                   (char*)to->data + (ptrdiff_t)at * to->strides[0] * bytes);
}

static void write_statistics(const channels* c, const etx_tensor* means,
                             const etx_tensor* scales) {
  for (size_t i = 0; i < c->count; ++i) {
    write_element(means, c->first + i, c->mean[i]);
    write_element(scales, c->first + i, c->scale[i]);
  }
}

// Moves a running statistic towards what was measured, by the share
// `momentum`. Arguments 3 and 4 are the running statistics.
static void move_running(const etx_call* call, const channels* c,
                         double momentum, double count) {
  const etx_norm_parameter mean = etx_norm_parameter_of(call, 3);
  const etx_norm_parameter variance = etx_norm_parameter_of(call, 4);
  for (size_t i = 0; i < c->count; ++i) {
    const size_t at = c->first + i;
    const double unbiased = c->variance[i] * count / (count - 1);
    write_element(
        etx_call_tensor(call, ETX_ARG_native_batch_norm_legit_running_mean), at,
        momentum * c->mean[i] +
            (1 - momentum) * etx_norm_parameter_at(&mean, at, 0));
    write_element(
        etx_call_tensor(call, ETX_ARG_native_batch_norm_legit_running_var), at,
        momentum * unbiased +
            (1 - momentum) * etx_norm_parameter_at(&variance, at, 0));
  }
}

// By the statistics of the batch. Outputs stand from `out` on; the running
// statistics, if there are any, are moved by argument `momentum`.
static void run_training(const etx_call* call, const batch* b, size_t out,
                         bool has_running, size_t momentum) {
  const double count = batch_count(b);
  channels c;
  c.first = c.count = 0;
  c.is_of_batch = true;
  while (next_channels(b, &c)) {
    measure(b, &c, count);
    write(b, &c);
    write_statistics(&c, etx_call_tensor(call, out + 1),
                     etx_call_tensor(call, out + 2));
    if (has_running) {
      move_running(call, &c, etx_call_real(call, momentum), count);
    }
  }
}

// By the running statistics, arguments 3 and 4.
static void run_inference(const etx_call* call, const batch* b) {
  const etx_norm_parameter mean = etx_norm_parameter_of(call, 3);
  const etx_norm_parameter variance = etx_norm_parameter_of(call, 4);
  channels c;
  c.first = c.count = 0;
  c.is_of_batch = false;
  while (next_channels(b, &c)) {
    for (size_t i = 0; i < c.count; ++i) {
      c.mean[i] = etx_norm_parameter_at(&mean, c.first + i, 0);
      c.variance[i] = etx_norm_parameter_at(&variance, c.first + i, 0);
      c.scale[i] = etx_inverse_deviation(c.variance[i], b->eps);
    }
    write(b, &c);
  }
}

// (input, weight, bias, running_mean, running_var, training, momentum, eps,
// out, save_mean, save_invstd)
static etx_status run_batch_norm(etx_call* call) {
  const batch b = batch_of(call, 7, 8);
  if (etx_call_boolean(call, ETX_ARG_native_batch_norm_legit_training))
    run_training(call, &b, 8, true, 6);
  if (!etx_call_boolean(call, ETX_ARG_native_batch_norm_legit_training))
    run_inference(call, &b);
  return ETX_OK;
}

// (input, weight, bias, training, momentum, eps, out, save_mean, save_invstd)
static etx_status run_no_stats(etx_call* call) {
  const batch b = batch_of(call, 5, 6);
  run_training(call, &b, 6, false, 4);
  return ETX_OK;
}

// (input, weight, bias, running_mean, running_var, momentum, eps, out0, out1,
// out2)
static etx_status run_no_training(etx_call* call) {
  const batch b = batch_of(call, 6, 7);
  run_inference(call, &b);
  return ETX_OK;
}

// There are no statistics of a batch without elements.
static etx_status check_elements(const etx_call* call) {
  if (etx_tensor_numel(
          etx_call_tensor(call, ETX_ARG_native_batch_norm_legit_input)) > 0)
    return ETX_OK;
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "the statistics of no elements are asked for");
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
