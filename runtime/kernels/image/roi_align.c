// roi_align: each region of an image is cut into bins; a bin is the mean of
// samples, which are interpolated bilinearly.
//
// Results have the bits of torchvision's kernel. It computes in the type of the
// tensors. Here positions and weights are computed in doubles, and for float32
// each result of an operation is rounded to float32: a double has enough bits
// for that to be the correctly rounded result.

#include <string.h>

#include "runtime/built_types.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/parallel_for.h"
#include "runtime/kernels/image/planes.h"

typedef struct regions {
  etx_planes in, out;  // out: an image for each region, a pixel for each bin
  const char* rois;    // (image, x1, y1, x2, y2) of each region
  ptrdiff_t roi_step, number_step;  // in elements
  double scale;
  int64_t sampling;  // samples of a bin along each dimension; 0: as many as
                     // it has pixels
  bool is_aligned;   // the centre of a pixel is at half a pixel
  bool is_f64;       // otherwise float32
} regions;

// A region, for rows and columns.
typedef struct region {
  double start[2];  // of the first bin
  double bin[2];    // sizes of a bin
  int64_t grid[2];  // samples of a bin
  int64_t image;    // -1: there is no such image
} region;

// The two pixels along one dimension that a sample lies between.
typedef struct tap_pair {
  ptrdiff_t at[2];  // in elements
  double weights[2];
} tap_pair;

static bool is_f32(const regions* s) {
  return !ETX_HAS_DTYPE(FLOAT64) || !s->is_f64;
}

static double rounded(const regions* s, double x) {
  return is_f32(s) ? (double)(float)x : x;
}

static double number_at(const regions* s, size_t index, ptrdiff_t number) {
  const ptrdiff_t at = (ptrdiff_t)index * s->roi_step + number * s->number_step;
  return is_f32(s) ? (double)((const float*)(const void*)s->rois)[at]
                   : ((const double*)(const void*)s->rois)[at];
}

// The samples of a bin along one dimension. What torchvision cannot convert to
// int has none.
static int64_t grid_of(const regions* s, double bin) {
  if (s->sampling > 0) return s->sampling;
  if (!(bin > 0 && bin < 2147483648.0)) return 0;
  const int64_t whole = (int64_t)bin;
  return (double)whole < bin ? whole + 1 : whole;
}

static __attribute__((noinline)) region read_region(const regions* s,
                                                    size_t index) {
  const double image = number_at(s, index, 0);
  const double offset = s->is_aligned ? 0.5 : 0;
  const int64_t bins[2] = {s->out.rows, s->out.columns};
  region r = {.image = -1};
  if (image > -1 && image < (double)s->in.images) r.image = (int64_t)image;
  for (size_t i = 0; i < 2; ++i) {
    double ends[2];
    for (size_t k = 0; k < 2; ++k) {
      const ptrdiff_t number = (ptrdiff_t)(2 * k) + (i == 0 ? 2 : 1);
      const double scaled = rounded(s, number_at(s, index, number) * s->scale);
      ends[k] = rounded(s, scaled - offset);
    }
    double size = rounded(s, ends[1] - ends[0]);
    if (!s->is_aligned && size < 1) size = 1;
    r.start[i] = ends[0];
    r.bin[i] = rounded(s, size / (double)bins[i]);
    r.grid[i] = grid_of(s, r.bin[i]);
  }
  return r;
}

// Refuses regions of other images, and those with too many samples.
static etx_status check_regions(const etx_call* call, const regions* s) {
  const int64_t most = INT32_MAX / (s->out.rows * s->out.columns);
  for (int64_t i = 0; i < s->out.images; ++i) {
    const region r = read_region(s, (size_t)i);
    const int64_t samples = r.grid[0] * r.grid[1];  // both are below 2^31
    if (r.image < 0) {
      return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                             "region %i is in no image, expected 0 to %i", i,
                             s->in.images - 1);
    }
    if (samples > most) {
      return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                             "a bin of region %i has %i samples, expected at "
                             "most %i",
                             i, samples, most);
    }
  }
  return ETX_OK;
}

// The pixels of sample `i` of bin `bin` along dimension `d`. False outside the
// image.
static __attribute__((noinline)) bool find_taps(const regions* s,
                                                const region* r, size_t d,
                                                const int64_t sample[2],
                                                tap_pair* taps) {
  const int64_t last = (d == 0 ? s->in.rows : s->in.columns) - 1;
  const ptrdiff_t step = d == 0 ? s->in.row : s->in.column;
  const double inside =
      rounded(s, rounded(s, (double)((float)sample[1] + 0.5f) * r->bin[d]) /
                     (double)r->grid[d]);
  const double start =
      rounded(s, r->start[d] + rounded(s, (double)sample[0] * r->bin[d]));
  double position = rounded(s, start + inside);
  if (!(position >= -1 && position <= (double)(last + 1))) return false;
  if (position <= 0) position = 0;
  int64_t low = (int64_t)position;
  if (low >= last) position = (double)(low = last);
  taps->at[0] = (ptrdiff_t)low * step;
  taps->at[1] = low < last ? taps->at[0] + step : taps->at[0];
  taps->weights[1] = rounded(s, position - (double)low);
  taps->weights[0] = rounded(s, 1 - taps->weights[1]);
  return true;
}

#define ADD_SAMPLE(T)                                                \
  {                                                                  \
    const T* const p = plane;                                        \
    T* const sums = out_sums;                                        \
    const T a = (T)weights[0], b = (T)weights[1], c = (T)weights[2], \
            d = (T)weights[3];                                       \
    for (size_t i = 0; i < channels; ++i) {                          \
      const T* const at = p + (ptrdiff_t)i * s->in.channel;          \
      sums[i] += a * at[corners[0]] + b * at[corners[1]] +           \
                 c * at[corners[2]] + d * at[corners[3]];            \
    }                                                                \
  }

// Adds a sample between the pixels y and x of each channel of a block.
static void add_sample(const regions* s, const void* plane,
                       const tap_pair pairs[2], size_t channels,
                       void* out_sums) {
  ptrdiff_t corners[4];
  double weights[4];
  for (size_t i = 0; i < 4; ++i) {
    corners[i] = pairs[0].at[i / 2] + pairs[1].at[i % 2];
    weights[i] = rounded(s, pairs[0].weights[i / 2] * pairs[1].weights[i % 2]);
  }
  if (is_f32(s)) {
    ADD_SAMPLE(float)
  } else {
    ADD_SAMPLE(double)
  }
}

// One bin of a block of channels. Outside the image all weights are 0; the
// first pixel is read nevertheless, since it may be NaN.
static void pool(const regions* s, const region* r, const int64_t bin[2],
                 int64_t first, etx_block* sums) {
  const int64_t left = s->in.channels - first;
  const size_t channels = left < ETX_BLOCK ? (size_t)left : ETX_BLOCK;
  const void* plane = etx_planes_at(&s->in, r->image, first);
  const int64_t samples = r->grid[0] * r->grid[1];
  memset(sums, 0, sizeof *sums);
  for (int64_t i = 0; i < samples; ++i) {
    tap_pair pairs[2];
    const int64_t y[2] = {bin[0], i / r->grid[1]};
    const int64_t x[2] = {bin[1], i % r->grid[1]};
    if (!find_taps(s, r, 0, y, &pairs[0]) ||
        !find_taps(s, r, 1, x, &pairs[1])) {
      memset(pairs, 0, sizeof pairs);
    }
    add_sample(s, plane, pairs, channels, sums);
  }
  const double count = samples > 1 ? (double)samples : 1;
  for (size_t c = 0; c < channels; ++c) {
    if (is_f32(s)) {
      sums->f32[c] /= (float)count;
    } else {
      sums->f64[c] /= count;
    }
  }
}

// Rows of bins: row i is row i % rows of region i / rows.
static void pool_rows(const void* context, size_t first, size_t end) {
  const regions* s = context;
  const size_t rows = (size_t)s->out.rows;
  const etx_compute_type compute = etx_compute_type_of(s->out.dtype);
  for (size_t i = first; i < end; ++i) {
    const region r = read_region(s, i / rows);
    int64_t bin[2] = {(int64_t)(i % rows), 0};
    for (; bin[1] < s->out.columns; ++bin[1]) {
      const ptrdiff_t at =
          (ptrdiff_t)bin[0] * s->out.row + (ptrdiff_t)bin[1] * s->out.column;
      for (int64_t c = 0; c < s->in.channels; c += ETX_BLOCK) {
        etx_block sums;
        const int64_t left = s->in.channels - c;
        pool(s, &r, bin, c, &sums);
        etx_block_store(
            &sums, compute, s->out.dtype,
            etx_planes_at(&s->out, (int64_t)(i / rows), c) + at * s->out.bytes,
            s->out.channel, left < ETX_BLOCK ? (size_t)left : ETX_BLOCK);
      }
    }
  }
}

static regions regions_of(const etx_call* call) {
  const etx_tensor* rois = etx_call_tensor(call, ETX_ARG_roi_align_rois);
  const int64_t sampling =
      etx_call_integer(call, ETX_ARG_roi_align_sampling_ratio);
  regions s = {
      .in = etx_planes_of(etx_call_tensor(call, ETX_ARG_roi_align_input)),
      .out = etx_planes_of(etx_call_tensor(call, ETX_ARG_roi_align_out)),
      .rois = rois->data,
      .roi_step = rois->strides[0],
      .number_step = rois->strides[1],
      .sampling = sampling > 0 ? sampling : 0,
      .is_aligned = etx_call_boolean(call, ETX_ARG_roi_align_aligned),
      .is_f64 = rois->dtype == ETX_DTYPE_FLOAT64};
  s.scale = rounded(&s, etx_call_real(call, ETX_ARG_roi_align_spatial_scale));
  return s;
}

static etx_status run_roi_align(etx_call* call) {
  const regions s = regions_of(call);
  const size_t rows = (size_t)(s.out.images * s.out.rows);
  const size_t bins = rows * (size_t)(s.out.columns * s.out.channels);
  if (bins == 0) return ETX_OK;
  if (s.in.rows == 0 || s.in.columns == 0) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'input' has images without pixels");
  }
  ETX_TRY(check_regions(call, &s));
  const double samples =
      s.sampling == 0 ? 4 : (double)s.sampling * (double)s.sampling;
  etx_parallel_for(call->parallel, rows, (double)bins * samples * 8, pool_rows,
                   &s);
  return ETX_OK;
}

etx_status etx_kernel_roi_align_out_prepare(etx_call* call) {
  const etx_dtype dtype = etx_call_tensor(call, ETX_ARG_roi_align_input)->dtype;
  const int64_t sampling =
      etx_call_integer(call, ETX_ARG_roi_align_sampling_ratio);
  if (dtype != ETX_DTYPE_FLOAT32 && dtype != ETX_DTYPE_FLOAT64) {
    return etx_call_refuse_dtype(call, ETX_ARG_roi_align_input,
                                 "'float32' or 'float64'");
  }
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_roi_align_input,
                                    ETX_ARG_roi_align_rois));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_roi_align_input,
                                    ETX_ARG_roi_align_out));
  if (sampling > INT16_MAX) {
    return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                           "'sampling_ratio' is %i, expected at most %i",
                           sampling, (int64_t)INT16_MAX);
  }
  call->run = run_roi_align;
  return ETX_OK;
}
