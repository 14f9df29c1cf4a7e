// The loops over floats with two operands, as one table; read once for each
// instruction set (float_loops.h). Every set gives the same bits.

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

// Elements looked at together.
enum { ETX_QUOTIENT_GROUP = 64 };

ETX_BINARY_LOOP(far_quotients, float, uint8_t,
                etx_quotient_is_near_f32(x, y) ? 0 : 1)

// Both loops give the same bits where the quotient is near.
static void run_quotients(float* out, const float* a, const float* b,
                          size_t count, bool a_moves, bool b_moves,
                          const void* parameter, etx_binary_loop near,
                          etx_binary_loop any) {
  for (size_t done = 0; done < count; done += ETX_QUOTIENT_GROUP) {
    const size_t left = count - done;
    const size_t part = left < ETX_QUOTIENT_GROUP ? left : ETX_QUOTIENT_GROUP;
    const float* x = a + (a_moves ? done : 0);
    const float* y = b + (b_moves ? done : 0);
    uint8_t far[ETX_QUOTIENT_GROUP];
    unsigned all = 0;
    far_quotients(far, x, y, part, a_moves, b_moves, parameter);
    for (size_t i = 0; i < part; ++i) all |= far[i];
    (all != 0 ? any : near)(out + done, x, y, part, a_moves, b_moves,
                            parameter);
  }
}

#define QUOTIENT_LOOPS(name, f)                                               \
  ETX_BINARY_LOOP(name##_near, float, float, etx_##f##_near_f32(x, y))        \
  ETX_BINARY_LOOP(name##_any, float, float, etx_##f##_f32(x, y))              \
  static void name##_f32(void* out, const void* a, const void* b,             \
                         size_t count, bool a_moves, bool b_moves,            \
                         const void* parameter) {                             \
    run_quotients(out, a, b, count, a_moves, b_moves, parameter, name##_near, \
                  name##_any);                                                \
  }

#define F(f) etx_##f##_f32
#define REAL_AND_WHOLE(name, real, whole) \
  ETX_BINARY_LOOP(name##_f32, float, float, real)
#define REAL(name, real) ETX_BINARY_LOOP(name##_f32, float, float, real)
#define QUOTIENT(name, f, whole) QUOTIENT_LOOPS(name, f)
#define COMPARISON(name, expression) \
  ETX_BINARY_LOOP(name##_f32, float, uint8_t, expression)
#define WHOLE(name, whole)
#include "runtime/kernels/binary_list.def"
#undef F
#undef REAL_AND_WHOLE
#undef REAL
#undef QUOTIENT
#undef COMPARISON
#undef WHOLE

static const etx_binary_loop binary_loops[ETX_BINARY_COUNT] = {
#define REAL_AND_WHOLE(name, real, whole) name##_f32,
#define REAL(name, real) name##_f32,
#define QUOTIENT(name, f, whole) name##_f32,
#define COMPARISON(name, expression) name##_f32,
#define WHOLE(name, whole) NULL,
#include "runtime/kernels/binary_list.def"
#undef REAL_AND_WHOLE
#undef REAL
#undef QUOTIENT
#undef COMPARISON
#undef WHOLE
};
