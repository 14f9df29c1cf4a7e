// Interpolation of one dimension whose size varies. The positions and weights,
// which are constants for fixed sizes, are computed when the method runs.

#ifndef ETX_EXPORTER_LOWER_IMAGE_VARYING_RESAMPLING_H
#define ETX_EXPORTER_LOWER_IMAGE_VARYING_RESAMPLING_H

#include "exporter/lower/builder/builder.h"

typedef struct etx_axis_resampling {
  size_t axis;
  etx_dim size;         // of the result
  double scale;         // 0: the quotient of the sizes
  bool aligns_corners;  // not nearest
  bool copies_equal;    // elements are copied where both sizes are equal,
                      // whatever the scale: linear, and cubic with antialiasing
  bool from_starts;  // nearest only: positions are those of the starts of
                     // outputs, not of their centres
} etx_axis_resampling;

// The elements at the centres or starts of the outputs.
ETX_MUST_USE etx_status etx_build_nearest(etx_builder* builder,
                                          const etx_axis_resampling* r,
                                          uint32_t self, uint32_t* out);
// The two elements around each output, weighted by their distance.
ETX_MUST_USE etx_status etx_build_two_taps(etx_builder* builder,
                                           const etx_axis_resampling* r,
                                           uint32_t self, uint32_t* out);
// The sum of four elements, weighted by the cubic convolution kernel.
ETX_MUST_USE etx_status etx_build_cubic(etx_builder* builder,
                                        const etx_axis_resampling* r,
                                        uint32_t self, uint32_t* out);
// The matrix [size, input] of the antialiased kernel's weights, which is wider
// by the distance of two outputs in the input if that is above 1. `dtype` is
// float32 or float64.
ETX_MUST_USE etx_status etx_build_antialiased_cubic_weights(
    etx_builder* builder, const etx_axis_resampling* r, etx_dim in,
    etx_dtype dtype, uint32_t* out);

#endif
