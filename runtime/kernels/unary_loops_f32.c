#include "runtime/kernels/unary_loops.h"

#include "runtime/kernels/math_functions.h"

static inline float etx_largest_f32(void) { return 3.40282347e38f; }

// NaN in any of the three gives NaN.
static inline float etx_clamp_f32(float x, float low, float high) {
  const float raised = x >= low || x != x ? x : low;
  return raised <= high || raised != raised ? raised : high;
}

#define F(f) etx_##f##_f32
#define SAME(name, real, whole) \
  ETX_UNARY_LOOP(name##_f32, float, float, f32, real)
#define REAL(name, real) ETX_UNARY_LOOP(name##_f32, float, float, f32, real)
#define SINGLE(name, real) ETX_UNARY_LOOP(name##_f32, float, float, f32, real)
#define TRUTH(name, real, whole) \
  ETX_UNARY_LOOP(name##_f32, float, uint8_t, f32, real)
#include "runtime/kernels/unary_list.def"
#undef F
#undef SAME
#undef REAL
#undef SINGLE
#undef TRUTH

const etx_unary_loop etx_unary_loops_f32[ETX_UNARY_COUNT] = {
#define SAME(name, real, whole) name##_f32,
#define REAL(name, real) name##_f32,
#define SINGLE(name, real) name##_f32,
#define TRUTH(name, real, whole) name##_f32,
#include "runtime/kernels/unary_list.def"
#undef SAME
#undef REAL
#undef SINGLE
#undef TRUTH
};
