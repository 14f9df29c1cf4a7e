#include "runtime/kernels/arch/arm64/u8_loops_dotprod.h"

enum { CHANNELS = 16 };

#include "runtime/kernels/arch/arm64/u8_depthwise_dotprod_template.h"
#include "runtime/kernels/simd/int8/u8_depthwise_template.h"

void etx_u8_depthwise_narrow_dotprod(const etx_u8_depthwise* w) {
  sum_channels(w);
}
