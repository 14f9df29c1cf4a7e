#include "runtime/kernels/binary_few.h"

#include "runtime/kernel.h"

// The result may be one of the operands, so element i is read before it is
// written and nothing is promised to the compiler but that.
#define FEW(name, expression)                                               \
  static etx_status name##_few(etx_call* call) {                            \
    const etx_tensor* to = etx_call_tensor(call, call->argument_count - 1); \
    float* out = to->data;                                                  \
    const float* a = etx_call_tensor(call, 0)->data;                        \
    const float* b = etx_call_tensor(call, 1)->data;                        \
    const size_t count = (size_t)call->prepared[ETX_BINARY_FEW_COUNT];      \
    ETX_INDEPENDENT                                                         \
    for (size_t i = 0; i < count; ++i) {                                    \
      const float x = a[i], y = b[i];                                       \
      out[i] = (expression);                                                \
    }                                                                       \
    return ETX_OK;                                                          \
  }

FEW(add, x + y)
FEW(subtract, x - y)
FEW(multiply, x* y)
FEW(divide, x / y)
FEW(minimum, x < y || x != x ? x : y)
FEW(maximum, x > y || x != x ? x : y)

etx_kernel_function etx_binary_few_of(size_t row) {
  switch (row) {
    case ETX_BINARY_add:
      return add_few;
    case ETX_BINARY_subtract:
      return subtract_few;
    case ETX_BINARY_multiply:
      return multiply_few;
    case ETX_BINARY_divide:
      return divide_few;
    case ETX_BINARY_minimum:
      return minimum_few;
    case ETX_BINARY_maximum:
      return maximum_few;
    default:
      return NULL;
  }
}
