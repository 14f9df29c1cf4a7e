// Convolution over float32: one or two spatial dimensions, groups, stride,
// padding, dilation, and the transposed form.
//
// A one-dimensional convolution is a two-dimensional one of height 1. For each
// result row (image, channel, y), rows of the input are scaled by one weight
// and added to a stretch of the result: the bounds of that stretch are computed
// once per row, so that the inner loop tests nothing and, for stride 1, runs
// over dense memory.

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/operand.h"

typedef struct axis {
  int64_t in, out, kernel;
  int64_t stride, padding, dilation;
} axis;

typedef struct plan {
  axis y, x;
  size_t images, groups;
  size_t in_channels, out_channels;  // of one group
  const float* input;                // [images, groups in_channels, y.in, x.in]
  const float* weight;  // forward [groups out_channels, in_channels, kernel]
                        // transposed [groups in_channels, out_channels, kernel]
  const float* bias;    // [groups out_channels] or NULL
  float* out;           // [images, groups out_channels, y.out, x.out]
} plan;

// Result positions n with 0 <= n stride + offset < in.
static void stretch(const axis* a, int64_t offset, int64_t* first,
                    int64_t* last) {
  *first = offset >= 0 ? 0 : (-offset + a->stride - 1) / a->stride;
  const int64_t room = a->in - offset;
  *last = room <= 0 ? 0 : (room + a->stride - 1) / a->stride;
  if (*last > a->out) *last = a->out;
}

static void add_scaled(float* out, const float* in, int64_t stride,
                       float factor, int64_t count) {
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) out[i] += factor * in[i];
    return;
  }
  for (int64_t i = 0; i < count; ++i) out[i] += factor * in[i * stride];
}

// Adds one input row, seen through one row of the kernel, to a result row.
static void add_row(const plan* p, float* out, const float* in,
                    const float* weight) {
  for (int64_t k = 0; k < p->x.kernel; ++k) {
    const int64_t offset = k * p->x.dilation - p->x.padding;
    int64_t first, last;
    stretch(&p->x, offset, &first, &last);
    if (first >= last) continue;
    add_scaled(out + first, in + first * p->x.stride + offset, p->x.stride,
               weight[k], last - first);
  }
}

static void forward_row(const plan* p, size_t image, size_t group,
                        size_t channel, int64_t y, float* out) {
  const int64_t plane = p->y.in * p->x.in;
  const int64_t kernel = p->y.kernel * p->x.kernel;
  const float* input =
      p->input +
      (int64_t)((image * p->groups + group) * p->in_channels) * plane;
  const float* weight =
      p->weight +
      (int64_t)((group * p->out_channels + channel) * p->in_channels) * kernel;
  for (size_t c = 0; c < p->in_channels; ++c) {
    for (int64_t k = 0; k < p->y.kernel; ++k) {
      const int64_t from = y * p->y.stride + k * p->y.dilation - p->y.padding;
      if (from < 0 || from >= p->y.in) continue;
      add_row(p, out, input + from * p->x.in, weight + k * p->x.kernel);
    }
    input += plane;
    weight += kernel;
  }
}

// The transposed form: input position i adds to result i stride + offset. As
// seen from a result row y, the input rows are those that land on it.
static void transposed_add_row(const plan* p, float* out, const float* in,
                               const float* weight) {
  for (int64_t k = 0; k < p->x.kernel; ++k) {
    const int64_t offset = k * p->x.dilation - p->x.padding;
    for (int64_t i = 0; i < p->x.in; ++i) {
      const int64_t at = i * p->x.stride + offset;
      if (at >= 0 && at < p->x.out) out[at] += weight[k] * in[i];
    }
  }
}

static void transposed_row(const plan* p, size_t image, size_t group,
                           size_t channel, int64_t y, float* out) {
  const int64_t plane = p->y.in * p->x.in;
  const int64_t kernel = p->y.kernel * p->x.kernel;
  for (size_t c = 0; c < p->in_channels; ++c) {
    const size_t in_channel = group * p->in_channels + c;
    const float* input =
        p->input +
        (int64_t)(image * p->groups * p->in_channels + in_channel) * plane;
    const float* weight =
        p->weight + (int64_t)(in_channel * p->out_channels + channel) * kernel;
    for (int64_t k = 0; k < p->y.kernel; ++k) {
      const int64_t landed = y + p->y.padding - k * p->y.dilation;
      if (landed < 0 || landed % p->y.stride != 0) continue;
      const int64_t from = landed / p->y.stride;
      if (from >= p->y.in) continue;
      transposed_add_row(p, out, input + from * p->x.in,
                         weight + k * p->x.kernel);
    }
  }
}

static void convolve(const plan* p, bool transposed) {
  float* out = p->out;
  for (size_t image = 0; image < p->images; ++image) {
    for (size_t c = 0; c < p->groups * p->out_channels; ++c) {
      const size_t group = c / p->out_channels;
      const size_t channel = c - group * p->out_channels;
      for (int64_t y = 0; y < p->y.out; ++y, out += p->x.out) {
        const float start = p->bias == NULL ? 0.0f : p->bias[c];
        for (int64_t x = 0; x < p->x.out; ++x) out[x] = start;
        if (transposed) {
          transposed_row(p, image, group, channel, y, out);
        } else {
          forward_row(p, image, group, channel, y, out);
        }
      }
    }
  }
}

// A list of one number serves all dimensions.
static int64_t listed(const etx_call* call, size_t argument, size_t item) {
  const size_t count = etx_call_value(call, argument)->as.integers.count;
  return etx_call_item(call, argument, count == 1 ? 0 : item);
}

static axis read_axis(const etx_call* call, size_t item) {
  const etx_tensor* input = etx_call_tensor(call, 0);
  const etx_tensor* weight = etx_call_tensor(call, 1);
  const etx_tensor* out = etx_call_tensor(call, 9);
  const axis a = {.in = input->sizes[2 + item],
                  .out = out->sizes[2 + item],
                  .kernel = weight->sizes[2 + item],
                  .stride = listed(call, 3, item),
                  .padding = listed(call, 4, item),
                  .dilation = listed(call, 5, item)};
  return a;
}

// (input, weight, bias, stride, padding, dilation, transposed,
// output_padding, groups, out)
static etx_status run_convolution(etx_call* call) {
  const etx_tensor* input = etx_call_tensor(call, 0);
  const etx_tensor* weight = etx_call_tensor(call, 1);
  const etx_tensor* out = etx_call_tensor(call, 9);
  const bool transposed = etx_call_boolean(call, 6);
  const bool is_plane = input->rank == 4;
  const axis one = {1, 1, 1, 1, 0, 1};
  const size_t groups = (size_t)etx_call_integer(call, 8);
  const plan p = {
      .y = is_plane ? read_axis(call, 0) : one,
      .x = read_axis(call, is_plane ? 1 : 0),
      .images = (size_t)input->sizes[0],
      .groups = groups,
      .in_channels = (size_t)input->sizes[1] / groups,
      .out_channels = (size_t)out->sizes[1] / groups,
      .input = input->data,
      .weight = weight->data,
      .bias = etx_call_is_none(call, 2) ? NULL : etx_call_tensor(call, 2)->data,
      .out = out->data,
  };
  if (etx_tensor_numel(out) > 0) convolve(&p, transposed);
  return ETX_OK;
}

etx_status etx_kernel_convolution_out_prepare(etx_call* call) {
  static const size_t tensors[] = {0, 1, 2, 9};
  const etx_tensor* input = etx_call_tensor(call, 0);
  if (input->rank > 4) {
    return etx_call_refuse(call, ETX_UNSUPPORTED,
                           "rank of 'input' is %i, expected 3 or 4",
                           (int64_t)input->rank);
  }
  if (input->dtype != ETX_DTYPE_FLOAT32) {
    return etx_call_refuse_dtype(call, 0, "'float32'");
  }
  for (size_t i = 0; i < sizeof(tensors) / sizeof(tensors[0]); ++i) {
    if (etx_call_is_none(call, tensors[i])) continue;
    ETX_TRY(etx_call_check_same_dtype(call, 0, tensors[i]));
    ETX_TRY(etx_call_check_contiguous(call, tensors[i]));
  }
  call->run = run_convolution;
  return ETX_OK;
}
