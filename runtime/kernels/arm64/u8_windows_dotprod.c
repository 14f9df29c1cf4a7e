// Depthwise sums of thirty-two channels at a time, and of fewer in half as many
// registers.

#include "runtime/kernels/arm64/u8_loops_dotprod.h"

enum { CHANNELS = 32 };

#include "runtime/kernels/arm64/u8_lanes_template.h"
#include "runtime/kernels/u8_windows_template.h"

void etx_u8_windows_dotprod(const etx_u8_windows* w) {
  etx_u8_windows part = *w;
  if (!windows_fit(w)) {
    etx_u8_loops_base.windows(w);
    return;
  }
  for (size_t c = 0; c < w->count; c += CHANNELS) {
    const size_t left = w->count - c;
    part.first = w->first + c;
    part.count = left < CHANNELS ? left : (size_t)CHANNELS;
    if (part.count <= CHANNELS / 2) {
      etx_u8_narrow_windows_dotprod(&part);
    } else {
      sum_channels(&part);
    }
  }
}
