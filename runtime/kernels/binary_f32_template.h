// The loops over floats with two operands, as one table; read once for each
// instruction set (float_loops.h). Every set gives the same bits.

#include "runtime/kernels/binary_loops.h"
#include "runtime/kernels/half_float.h"
#include "runtime/kernels/math_functions.h"

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

// Elements looked at together.
enum { ETX_QUOTIENT_GROUP = 64 };

ETX_BINARY_LOOP(far_quotients, float, uint8_t, f32,
                etx_quotient_is_near_f32(x, y) ? 0 : 1)

// Both loops give the same bits where the quotient is near.
static void run_quotients(float* out, const float* a, const float* b,
                          size_t count, etx_number parameter,
                          etx_binary_loop near, etx_binary_loop any) {
  for (size_t done = 0; done < count; done += ETX_QUOTIENT_GROUP) {
    const size_t left = count - done;
    const size_t part = left < ETX_QUOTIENT_GROUP ? left : ETX_QUOTIENT_GROUP;
    uint8_t far[ETX_QUOTIENT_GROUP];
    unsigned all = 0;
    far_quotients(far, a + done, b + done, part, parameter);
    for (size_t i = 0; i < part; ++i) all |= far[i];
    (all != 0 ? any : near)(out + done, a + done, b + done, part, parameter);
  }
}

#define QUOTIENT_LOOPS(name, f)                                             \
  ETX_BINARY_LOOP(name##_near, float, float, f32, etx_##f##_near_f32(x, y)) \
  ETX_BINARY_LOOP(name##_any, float, float, f32, etx_##f##_f32(x, y))       \
  static void name##_f32(void* out, const void* a, const void* b,           \
                         size_t count, etx_number parameter) {              \
    run_quotients(out, a, b, count, parameter, name##_near, name##_any);    \
  }

#define F(f) etx_##f##_f32
#define REAL_AND_WHOLE(name, real, whole) \
  ETX_BINARY_LOOP(name##_f32, float, float, f32, real)
#define REAL(name, real) ETX_BINARY_LOOP(name##_f32, float, float, f32, real)
#define SINGLE(name, real) ETX_BINARY_LOOP(name##_f32, float, float, f32, real)
#define QUOTIENT(name, f, whole) QUOTIENT_LOOPS(name, f)
#define COMPARISON(name, expression) \
  ETX_BINARY_LOOP(name##_f32, float, uint8_t, f32, expression)
#define WHOLE(name, whole)
#include "runtime/kernels/binary_list.def"
#undef F

static const etx_binary_loop binary_loops[ETX_BINARY_COUNT] = {
#define REAL_AND_WHOLE(name, real, whole) name##_f32,
#define REAL(name, real) name##_f32,
#define SINGLE(name, real) name##_f32,
#define COMPARISON(name, expression) name##_f32,
#define WHOLE(name, whole) NULL,
#include "runtime/kernels/binary_list.def"
};

static void spread(uint32_t* out, uint32_t element, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = element;
}
