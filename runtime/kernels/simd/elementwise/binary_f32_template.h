// The loops over float32 with two operands (binary_ops.def) as one table,
// `binary_loops`. Every instruction set gives the same bits.
//
//   VECTOR_BYTES  required  bytes of a vector register: 16, 32 or 64

#if !defined(VECTOR_BYTES)
#error "define VECTOR_BYTES before this header"
#endif

#include <string.h>

#include "runtime/kernels/simd/elementwise/binary_loops.h"
#include "runtime/kernels/simd/vector/f32_vec_template.h"
#include "runtime/kernels/math/half_float.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/simd/elementwise/fast_or_general.h"
#include "runtime/kernels/simd/vector/sigmoid_template.h"

// Rounds to a half type, whose code `type` is.
static inline float etx_cut_f32(float x, float type) {
  return type == (float)ETX_DTYPE_FLOAT16
             ? etx_f32_of_half(etx_half_of_f32(x))
             : etx_f32_of_bfloat(etx_bfloat_of_f32(x));
}

// As etx_floor_divide_f32, rounded to the half type after every step: so
// PyTorch divides halves by halves.
static inline float etx_floor_divide_of_halves_f32(float x, float y,
                                                   float type) {
  const float rest = etx_fmod_f32(x, y);
  float quotient = etx_cut_f32(etx_cut_f32(x - rest, type) / y, type);
  if (y == 0.0f) return x / y;
  if (rest != 0.0f && (rest < 0.0f) != (y < 0.0f)) {
    quotient = etx_cut_f32(quotient - 1.0f, type);
  }
  if (quotient == 0.0f) return etx_with_sign_f32(0.0f, x / y);
  const float whole = etx_floor_f32(quotient);
  const bool is_above = etx_cut_f32(quotient - whole, type) > 0.5f;
  return is_above ? etx_cut_f32(whole + 1.0f, type) : whole;
}

ETX_BINARY_LOOP(far_f32, float, uint8_t, f32,
                etx_quotient_is_fast_f32(x, y) ? 0 : 1)

static bool are_fast_f32(const void* a, const void* b, size_t count) {
  const etx_scalar none = {0};
  uint8_t far[ETX_FAST_GROUP];
  unsigned all = 0;
  far_f32(far, a, b, count, none);
  for (size_t i = 0; i < count; ++i) all |= far[i];
  return all == 0;
}

#define DIVISION_LOOPS(name, f)                                               \
  ETX_BINARY_LOOP(name##_fast_f32, float, float, f32,                         \
                  etx_##f##_fast_f32(x, y))                                   \
  ETX_BINARY_LOOP(name##_general_f32, float, float, f32, etx_##f##_f32(x, y)) \
  static void name##_f32(void* out, const void* a, const void* b,             \
                         size_t count, etx_scalar parameter) {                \
    static const etx_fast_or_general loops = {                                \
        sizeof(float), are_fast_f32, name##_fast_f32, name##_general_f32};    \
    etx_fast_or_general_run(&loops, out, a, b, count, parameter);             \
  }

static inline __attribute__((always_inline)) etx_f32_vec gate_of(
    etx_f32_vec x, etx_f32_vec y) {
  return x * sigmoid_of(y);
}

// The loop of a function over vectors, <name>_of.
#define VEC_BINARY_LOOP(name)                                     \
  static void name##_f32(void* out, const void* a, const void* b, \
                         size_t count, etx_scalar parameter) {    \
    float* to = out;                                              \
    (void)parameter;                                              \
    for (size_t i = 0; i < count; i += ETX_F32_LANES) {           \
      etx_f32_vec x, y;                                           \
      memcpy(&x, (const float*)a + i, sizeof x);                  \
      memcpy(&y, (const float*)b + i, sizeof y);                  \
      x = name##_of(x, y);                                        \
      memcpy(to + i, &x, sizeof x);                               \
    }                                                             \
  }

#define F(f) etx_##f##_f32
#define NUMERIC(name, traits, floating, ...) \
  ETX_BINARY_LOOP(name##_f32, float, float, f32, floating)
#define NUMERIC_FAST_OR_GENERAL(name, traits, function, ...) \
  DIVISION_LOOPS(name, function)
#define FLOATING(name, traits, floating, ...) \
  ETX_BINARY_LOOP(name##_f32, float, float, f32, floating)
#define FLOATING_VEC(name, ...) VEC_BINARY_LOOP(name)
#define FLOAT32(name, traits, floating, ...) \
  ETX_BINARY_LOOP(name##_f32, float, float, f32, floating)
#define COMPARISON(name, expression, ...) \
  ETX_BINARY_LOOP(name##_f32, float, uint8_t, f32, expression)
#define INTEGRAL(name, ...)
#include "runtime/kernels/simd/elementwise/binary_ops.def"
#undef F

//   @binary  float32 | operators with two operands (binary_ops.def) |
//     {ETX_F32_LANES} elements
static const etx_binary_loop binary_loops[ETX_BINARY_COUNT] = {
#define NUMERIC(name, ...) \
  ETX_IF_LOOP(ETX_LOOP_binary_##name, ETX_LOOP_F32, name##_f32),
#define FLOATING(name, ...) \
  ETX_IF_LOOP(ETX_LOOP_binary_##name, ETX_LOOP_F32, name##_f32),
#define FLOAT32(name, ...) \
  ETX_IF_LOOP(ETX_LOOP_binary_##name, ETX_LOOP_F32, name##_f32),
#define COMPARISON(name, ...) \
  ETX_IF_LOOP(ETX_LOOP_binary_##name, ETX_LOOP_F32, name##_f32),
#define INTEGRAL(name, ...) NULL,
#include "runtime/kernels/simd/elementwise/binary_ops.def"
};

//   @spread  8 bytes | fill | {VECTOR_BYTES / 8} elements
static void spread(char* out, uint64_t eight, size_t count) {
  for (size_t i = 0; i < count; ++i) memcpy(out + 8 * i, &eight, sizeof eight);
}

//   @bits  8 bytes | and, exclusive or with constants | {VECTOR_BYTES / 8}
//     elements
static void turn_bits(char* out, const char* in, size_t count, uint64_t keep,
                      uint64_t turn) {
  ETX_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    uint64_t eight;
    memcpy(&eight, in + 8 * i, sizeof eight);
    eight = (eight & keep) ^ turn;
    memcpy(out + 8 * i, &eight, sizeof eight);
  }
}
