// Depthwise sums of 32 channels at a time, and of up to 16 in half as many
// registers.

#include "runtime/kernels/arch/arm64/u8_loops_dotprod.h"

enum { CHANNELS = 32 };

#include "runtime/kernels/arch/arm64/u8_depthwise_dotprod_template.h"
#include "runtime/kernels/simd/int8/u8_depthwise_template.h"

void etx_u8_depthwise_dotprod(const etx_u8_depthwise* w) {
  etx_u8_depthwise part = *w;
  if (!windows_fit(w)) {
    etx_u8_loops_base.windows(w);
    return;
  }
  for (size_t c = 0; c < w->count; c += CHANNELS) {
    const size_t left = w->count - c;
    part.first = w->first + c;
    part.count = left < CHANNELS ? left : (size_t)CHANNELS;
    if (part.count <= CHANNELS / 2) {
      etx_u8_depthwise_narrow_dotprod(&part);
    } else {
      sum_channels(&part);
    }
  }
}
