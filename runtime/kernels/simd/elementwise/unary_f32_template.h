// The loops over float32 with one operand (unary_ops.def) as one table,
// `unary_loops`. Include after binary_f32_template.h, which brings the vector
// functions. Every instruction set gives the same bits.
//
//   VECTOR_BYTES  required  bytes of a vector register: 16, 32 or 64

#if !defined(VECTOR_BYTES)
#error "define VECTOR_BYTES before this header"
#endif

#include <string.h>

#include "runtime/kernels/simd/vector/exp2_template.h"
#include "runtime/kernels/simd/vector/gelu_template.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/simd/elementwise/unary_loops.h"

static inline float etx_largest_f32(void) { return 3.40282347e38f; }

// NaN in any of the three gives NaN.
static inline float etx_clamp_f32(float x, float low, float high) {
  const float raised = x < low ? low : x;
  const float held = raised > high ? high : raised;
  const float bounded = low != low ? low : held;
  return high != high ? high : bounded;
}

static inline float etx_nan_to_num_f32(float x, float nan, float high,
                                       float low) {
  const float below = x > 3.40282347e38f ? high : x;
  const float above = x < -3.40282347e38f ? low : below;
  return x != x ? nan : above;
}

// The slope is a sum, of which the product is rounded once.
static inline float etx_leaky_f32(float x, float slope, float rest) {
  const double whole = (double)slope + (double)rest;
  return x > 0.0f ? x : (float)((double)x * whole);
}

static inline float etx_softshrink_f32(float x, float width) {
  const float shrunk = x > 0.0f ? x - width : x + width;
  return x >= -width && x <= width ? 0.0f : shrunk;
}

// The operand is held between the bounds first.
static inline float etx_logit_f32(float x, float low, float high) {
  const float raised = x < low ? low : x;
  const float z = raised > high ? high : raised;
  return etx_log_f32(z / (1.0f - z));
}

// x tanh(log(1 + e^x)) = x n / (n + 2) with n = e^x (e^x + 2).
static inline float etx_mish_f32(float x) {
  const float e = etx_exp_f32(x > 20.0f ? 20.0f : x);
  const float n = e * (e + 2.0f);
  return x > 20.0f ? x : x * (n / (n + 2.0f));
}

// Elements looked at together.
enum { ETX_ANGLE_GROUP = 64 };

#define ANGLE_LOOPS(name)                                                  \
  ETX_UNARY_LOOP(name##_near, float, float, f32, etx_##name##_fast_f32(x)) \
  ETX_UNARY_LOOP(name##_any, float, float, f32, etx_##name##_f32(x))       \
  static void name##_f32(void* out, const void* in, size_t count,          \
                         const etx_scalar* parameters) {                   \
    run_angles(out, in, count, parameters, name##_near, name##_any);       \
  }

// Both loops give the same bits where the argument is near.
static void run_angles(float* out, const float* in, size_t count,
                       const etx_scalar* parameters, etx_unary_loop near,
                       etx_unary_loop any) {
  for (size_t done = 0; done < count; done += ETX_ANGLE_GROUP) {
    const size_t left = count - done;
    const size_t part = left < ETX_ANGLE_GROUP ? left : ETX_ANGLE_GROUP;
    unsigned far = 0;
    for (size_t i = 0; i < part; ++i) {
      far |= etx_angle_is_fast_f32(in[done + i]) ? 0u : 1u;
    }
    (far != 0 ? any : near)(out + done, in + done, part, parameters);
  }
}

// The loop of a function over vectors, <name>_of.
#define VEC_LOOP(name)                                            \
  static void name##_f32(void* out, const void* in, size_t count, \
                         const etx_scalar* parameters) {          \
    float* to = out;                                              \
    const float* from = in;                                       \
    (void)parameters;                                             \
    for (size_t i = 0; i < count; i += ETX_F32_LANES) {           \
      etx_f32_vec x;                                              \
      memcpy(&x, from + i, sizeof x);                             \
      x = name##_of(x);                                           \
      memcpy(to + i, &x, sizeof x);                               \
    }                                                             \
  }

#define F(f) etx_##f##_f32
#define NUMERIC(name, floating, ...) \
  ETX_UNARY_LOOP(name##_f32, float, float, f32, floating)
#define FLOATING(name, floating, ...) \
  ETX_UNARY_LOOP(name##_f32, float, float, f32, floating)
#define FLOATING_FAST_OR_GENERAL(name, ...) ANGLE_LOOPS(name)
#define FLOATING_VEC(name, ...) VEC_LOOP(name)
#define PREDICATE(name, floating, ...) \
  ETX_UNARY_LOOP(name##_f32, float, uint8_t, f32, floating)
#include "runtime/kernels/simd/elementwise/unary_ops.def"
#undef F

//   @unary  float32 | operators with one operand (unary_ops.def) |
//     {ETX_F32_LANES} elements
static const etx_unary_loop unary_loops[ETX_UNARY_COUNT] = {
#define NUMERIC(name, ...) \
  ETX_IF_LOOP(ETX_LOOP_unary_##name, ETX_LOOP_F32, name##_f32),
#define FLOATING(name, ...) \
  ETX_IF_LOOP(ETX_LOOP_unary_##name, ETX_LOOP_F32, name##_f32),
#define PREDICATE(name, ...) \
  ETX_IF_LOOP(ETX_LOOP_unary_##name, ETX_LOOP_F32, name##_f32),
#include "runtime/kernels/simd/elementwise/unary_ops.def"
};
