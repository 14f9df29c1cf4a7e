#include "format/tensor/dtype_limits.h"

double etx_dtype_max(etx_dtype dtype) {
  const unsigned bits = 8 * (unsigned)etx_dtype_bytes(dtype);
  switch (dtype) {
    case ETX_DTYPE_BOOL:
      return 1.0;
    case ETX_DTYPE_FLOAT16:
      return 65504.0;
    case ETX_DTYPE_BFLOAT16:
      return 3.3895313892515355e38;
    case ETX_DTYPE_FLOAT32:
      return 3.4028234663852886e38;
    case ETX_DTYPE_FLOAT64:
      return 1.7976931348623157e308;
    case ETX_DTYPE_UINT8:
      return 255.0;
    default:
      return (double)(UINT64_C(1) << (bits - 1)) - 1.0;
  }
}
