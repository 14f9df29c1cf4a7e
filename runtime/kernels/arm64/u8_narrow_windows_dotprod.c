#include "runtime/kernels/arm64/u8_loops_dotprod.h"

enum { CHANNELS = 16 };

#include "runtime/kernels/arm64/u8_lanes_template.h"
#include "runtime/kernels/u8_windows_template.h"

void etx_u8_narrow_windows_dotprod(const etx_u8_windows* w) { sum_channels(w); }
