// Maps positions of a resampled dimension to positions of the input. Computed
// in doubles, so that weights are exact to the last bits of a float.

#ifndef ETX_RUNTIME_KERNELS_IMAGE_RESAMPLING_H
#define ETX_RUNTIME_KERNELS_IMAGE_RESAMPLING_H

#include <stdbool.h>
#include <stdint.h>

typedef struct etx_resample {
  int64_t in, out;  // sizes
  double step;      // input positions from one result to the next
  bool aligns_corners;
} etx_resample;

// `scale` is the caller's ratio out / in, or 0 to use that of the sizes.
static inline etx_resample etx_resample_of(int64_t in, int64_t out,
                                           bool aligns_corners, double scale) {
  etx_resample r = {in, out, 0, aligns_corners};
  if (!aligns_corners) {
    r.step = scale > 0 ? 1 / scale : (double)in / (double)out;
  } else if (out > 1) {
    r.step = (double)(in - 1) / (double)(out - 1);
  }
  return r;
}

// Two neighbouring input positions, which may be equal, and the second's
// weight.
typedef struct etx_resample_pair {
  int64_t first, second;
  double weight;
} etx_resample_pair;

static inline etx_resample_pair etx_resample_linear(const etx_resample* r,
                                                    int64_t out) {
  if (r->in == r->out) return (etx_resample_pair){out, out, 0};
  double at = r->aligns_corners ? r->step * (double)out
                                : r->step * ((double)out + 0.5) - 0.5;
  const double last = (double)(r->in - 1);
  if (!(at > 0)) at = 0;
  etx_resample_pair pair = {.first = at < last ? (int64_t)at : r->in - 1};
  pair.second = pair.first + (pair.first < r->in - 1 ? 1 : 0);
  pair.weight = at - (double)pair.first;
  if (pair.weight > 1) pair.weight = 1;
  return pair;
}

#endif
