#include "runtime/kernels/binary_loops.h"

#include "runtime/kernels/math_functions.h"

// Powers whose exponent is known.
static inline float etx_root_f32(float x, float exponent) {
  (void)exponent;
  return etx_sqrt_f32(x);
}
static inline float etx_inverse_root_f32(float x, float exponent) {
  (void)exponent;
  return 1.0f / etx_sqrt_f32(x);
}
static inline float etx_squared_f32(float x, float exponent) {
  (void)exponent;
  return x * x;
}
static inline float etx_cubed_f32(float x, float exponent) {
  (void)exponent;
  return x * x * x;
}

#define F(f) etx_##f##_f32
#define REAL_AND_WHOLE(name, real, whole) \
  ETX_BINARY_LOOP(name##_f32, float, float, real)
#define REAL(name, real) ETX_BINARY_LOOP(name##_f32, float, float, real)
#define COMPARISON(name, expression) \
  ETX_BINARY_LOOP(name##_f32, float, uint8_t, expression)
#define WHOLE(name, whole)
#include "runtime/kernels/binary_list.def"
#undef F
#undef REAL_AND_WHOLE
#undef REAL
#undef COMPARISON
#undef WHOLE

const etx_binary_loop etx_binary_loops_f32[ETX_BINARY_COUNT] = {
#define REAL_AND_WHOLE(name, real, whole) name##_f32,
#define REAL(name, real) name##_f32,
#define COMPARISON(name, expression) name##_f32,
#define WHOLE(name, whole) NULL,
#include "runtime/kernels/binary_list.def"
#undef REAL_AND_WHOLE
#undef REAL
#undef COMPARISON
#undef WHOLE
};
