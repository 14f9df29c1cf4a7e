// Rounding of rows, held against sums in double.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "exporter/quantize/rounding/weight_rounding.h"

enum { MOST = ETX_WEIGHT_ROUNDING_LARGEST_GROUP };

// Numbers from -1 to 1, many small and few large ones.
static float next_number(uint32_t* seed) {
  *seed = *seed * 1664525u + 1013904223u;
  const double x = (double)(*seed >> 8) / 8388608.0 - 1.0;
  return (float)(x * x * x);
}

static void fill(uint32_t seed, float* out, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = next_number(&seed);
}

static int nibble(const uint8_t* packed, size_t i) {
  return (i % 2 == 0 ? packed[i / 2] >> 4 : packed[i / 2] & 15) - 8;
}

static void assert_near(double found, double wanted) {
  if (!(fabs(found - wanted) <= 1e-12 * fabs(wanted))) {
    fail_msg("%.17g, expected %.17g", found, wanted);
  }
}

static void int8_is_within_half_a_step(void** state) {
  (void)state;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    float row[MOST];
    int8_t q[MOST];
    const size_t count = 1 + seed % MOST;
    etx_weight_rounding_error error = {0, 0};
    double signal = 0, noise = 0, largest = 0;
    fill(seed, row, count);
    const float scale = etx_weight_round_int8(row, count, q, &error);
    for (size_t i = 0; i < count; ++i) {
      const double off = (double)row[i] - (double)q[i] * (double)scale;
      signal += (double)row[i] * (double)row[i];
      noise += off * off;
      largest = fmax(largest, fabs((double)row[i]));
      assert_true(q[i] >= -127);
      assert_true(fabs(off) <= 0.5001 * (double)scale);
    }
    assert_true(fabs((double)scale * 127 - largest) <= 1e-6 * largest);
    assert_near(error.signal, signal);
    assert_near(error.noise, noise);
  }
}

// Rounding without a search maps the largest element to -7 or 7.
static double plain_noise(const float* group, size_t count) {
  double largest = 0, noise = 0;
  for (size_t i = 0; i < count; ++i) {
    largest = fmax(largest, fabs((double)group[i]));
  }
  for (size_t i = 0; i < count; ++i) {
    const double x = (double)group[i];
    const double off = x - rint(x * 7 / largest) * largest / 7;
    noise += off * off;
  }
  return noise;
}

static void int4_reports_its_error_and_beats_plain_rounding(void** state) {
  (void)state;
  double plain = 0, searched = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    static const size_t counts[] = {32, 64, 128};
    float group[MOST];
    uint8_t q[MOST / 2];
    const size_t count = counts[seed % 3];
    etx_weight_rounding_error error = {0, 0};
    double signal = 0, noise = 0;
    fill(seed, group, count);
    const float scale = etx_weight_round_int4(group, count, q, &error);
    for (size_t i = 0; i < count; ++i) {
      const double off =
          (double)group[i] - (double)nibble(q, i) * (double)scale;
      signal += (double)group[i] * (double)group[i];
      noise += off * off;
    }
    assert_near(error.signal, signal);
    assert_near(error.noise, noise);
    assert_true(noise <= plain_noise(group, count) * 1.0001);
    plain += plain_noise(group, count);
    searched += noise;
  }
  assert_true(searched < 0.85 * plain);
}

static void representable_numbers_are_exact(void** state) {
  (void)state;
  float group[32];
  uint8_t q[16];
  etx_weight_rounding_error error = {0, 0};
  for (size_t i = 0; i < 32; ++i) group[i] = ((float)(i % 16) - 8) * 0.25f;
  assert_true(etx_weight_round_int4(group, 32, q, &error) == 0.25f);
  for (size_t i = 0; i < 32; ++i) {
    assert_int_equal(nibble(q, i), (int)(i % 16) - 8);
    group[i] = -group[i];
  }
  assert_true(etx_weight_round_int4(group, 32, q, &error) == -0.25f);
  assert_true(error.noise == 0);
}

// Groups that were int4 before, with scales of 11 bits as in float16.
static void int4_is_not_rounded_a_second_time(void** state) {
  (void)state;
  for (uint32_t seed = 1; seed < 400; ++seed) {
    float group[32];
    uint8_t q[16];
    uint32_t random = seed;
    etx_weight_rounding_error error = {0, 0};
    const float scale = (float)(1024 + (int)(seed * 37 % 1024)) * 0x1p-16f *
                        (seed % 2 == 0 ? 1.0f : -1.0f);
    const int least = -8 + (int)(seed / 4 % 4);  // -8 need not occur
    for (size_t i = 0; i < 32; ++i) {
      random = random * 1664525u + 1013904223u;
      group[i] = (float)(least + (int)(random >> 16) % (8 - least)) * scale;
    }
    const float found = etx_weight_round_int4(group, 32, q, &error);
    assert_true(error.noise == 0);
    for (size_t i = 0; i < 32; ++i) {
      assert_true((float)nibble(q, i) * found == group[i]);
    }
  }
}

// Integers of eight bits times a float16 keep their values; other groups are
// rounded as rows are.
static void int8_groups_are_not_rounded_a_second_time(void** state) {
  (void)state;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    float group[MOST];
    int8_t found[MOST], wanted[MOST];
    uint32_t next = seed * 7919u + 3;
    etx_weight_rounding_error error = {0, 0};
    const size_t count = 32 << seed % 3;
    const int most = 1 + (int)(seed * 37 % 128);
    // Eleven bits, as a float16 has them.
    const float scale =
        ldexpf((float)(1024 + seed * 97 % 1024), (int)(seed % 24) - 24) *
        (seed % 2 == 0 ? 1.0f : -1.0f);
    for (size_t i = 0; i < count; ++i) {
      next = next * 1664525u + 1013904223u;
      group[i] = scale * (float)((int)(next >> 8) % (2 * most + 1) - most);
      if (group[i] == scale * 128) group[i] = 0;
    }
    const float kept = etx_weight_round_int8_group(group, count, found, &error);
    for (size_t i = 0; i < count; ++i) {
      assert_true((float)found[i] * kept == group[i]);
    }
    assert_true(error.noise == 0);
    fill(seed, group, count);
    const float one = etx_weight_round_int8_group(group, count, found, &error);
    const float two = etx_weight_round_int8(group, count, wanted, &error);
    assert_memory_equal(found, wanted, count);
    assert_true(one == two);
  }
}

static void extreme_numbers_are_rounded(void** state) {
  (void)state;
  static const float values[] = {0.0f,     -0.0f,  1e-45f, -1e-40f,
                                 1.2e-38f, 1e-36f, 1e15f,  -1e15f};
  for (size_t v = 0; v < sizeof values / sizeof *values; ++v) {
    float row[32] = {0};
    int8_t whole[32];
    uint8_t half[16];
    etx_weight_rounding_error error = {0, 0};
    row[5] = values[v];
    row[6] = values[v] / 3;
    const float a = etx_weight_round_int8(row, 32, whole, &error);
    const float b = etx_weight_round_int4(row, 32, half, &error);
    assert_true(isfinite(a) && a != 0 && isfinite(b) && b != 0);
    assert_true(isfinite(error.signal) && error.noise <= error.signal);
    assert_int_equal(nibble(half, 0), 0);
    assert_int_equal(whole[0], 0);
  }
}

// Every compiler must produce these bytes.
static void golden_bytes(void** state) {
  (void)state;
  float group[32];
  uint8_t q[16];
  int8_t whole[32];
  etx_weight_rounding_error error = {0, 0};
  uint32_t bits = 0;
  fill(7, group, 32);
  const float scale = etx_weight_round_int4(group, 32, q, &error);
  static const uint8_t wanted[16] = {0x93, 0x82, 0xf5, 0x8f, 0xe0, 0x08,
                                     0x88, 0x86, 0x68, 0x85, 0x88, 0xd7,
                                     0x58, 0xa0, 0xc8, 0x8c};
  memcpy(&bits, &scale, sizeof bits);
  assert_memory_equal(q, wanted, sizeof q);
  assert_int_equal(bits, 0xbdde1943);
  const float row_scale = etx_weight_round_int8(group, 32, whole, &error);
  static const int8_t wanted_whole[32] = {
      -20, 79, 2, 87, -103, 50, -3,  -100, -90, 127, 118, 0,   0,   0, 1, 24,
      25,  -1, 0, 49, -3,   0,  -76, 17,   42,  -3,  -37, 125, -60, 0, 0, -67};
  memcpy(&bits, &row_scale, sizeof bits);
  assert_memory_equal(whole, wanted_whole, sizeof whole);
  assert_int_equal(bits, 0x3be9f061);
}

// The nearest number with so many bits of fraction and this least exponent.
static double nearest_half(float x, int bits, int least) {
  int exponent = 0;
  if (x == 0) return 0;
  frexp((double)x, &exponent);
  if (exponent - 1 > least) least = exponent - 1;
  return ldexp(nearbyint(ldexp((double)x, bits - least)), least - bits);
}

// The number in two little-endian bytes, by its fields.
static double half_of(const uint8_t* bytes, int bits, int bias) {
  const int all = bytes[0] | bytes[1] << 8;
  const int fraction = all & ((1 << bits) - 1), field = (all & 0x7fff) >> bits;
  const double size =
      field == 0 ? ldexp(fraction, 1 - bias - bits)
                 : ldexp(fraction + (1 << bits), field - bias - bits);
  return all >> 15 ? -size : size;
}

// Numbers of every size, ties among them.
static void halves_are_the_nearest(void** state) {
  (void)state;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    const bool is_bfloat = seed % 2 == 0;
    const int bits = is_bfloat ? 7 : 10, bias = is_bfloat ? 127 : 15;
    float row[MOST];
    uint8_t out[2 * MOST];
    etx_weight_rounding_error error = {0, 0};
    double signal = 0, noise = 0;
    fill(seed, row, MOST);
    for (size_t i = 0; i < MOST; ++i) {
      row[i] = ldexpf(row[i], (int)(i % 44) - 30);
      if (i % 8 == 0) {
        row[i] = ldexpf((float)(int)(seed * 37 + i * 5), (int)i % 9 - 9);
      }
    }
    etx_weight_round_half(row, MOST, is_bfloat, out, &error);
    for (size_t i = 0; i < MOST; ++i) {
      const double wanted = nearest_half(row[i], bits, 1 - bias);
      const double found = half_of(out + 2 * i, bits, bias);
      if (found != wanted) {
        fail_msg("%a is %a, expected %a", (double)row[i], found, wanted);
      }
      signal += (double)row[i] * (double)row[i];
      noise += ((double)row[i] - wanted) * ((double)row[i] - wanted);
    }
    assert_near(error.signal, signal);
    assert_near(error.noise, noise);
  }
}

// The last floats that are rounded to finite halves.
static void the_largest_halves_are_finite(void** state) {
  (void)state;
  const float row[] = {ETX_WEIGHT_ROUNDING_LARGEST_F16,
                       nextafterf(ETX_WEIGHT_ROUNDING_LARGEST_F16, INFINITY)};
  const float wide[] = {ETX_WEIGHT_ROUNDING_LARGEST_BF16,
                        nextafterf(ETX_WEIGHT_ROUNDING_LARGEST_BF16, INFINITY)};
  etx_weight_rounding_error error = {0, 0};
  uint8_t out[8];
  etx_weight_round_half(row, 2, false, out, &error);
  etx_weight_round_half(wide, 2, true, out + 4, &error);
  const uint8_t wanted[] = {0xff, 0x7b, 0x00, 0x7c, 0x7f, 0x7f, 0x80, 0x7f};
  assert_memory_equal(out, wanted, sizeof wanted);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(int8_is_within_half_a_step),
      cmocka_unit_test(int4_reports_its_error_and_beats_plain_rounding),
      cmocka_unit_test(representable_numbers_are_exact),
      cmocka_unit_test(int4_is_not_rounded_a_second_time),
      cmocka_unit_test(int8_groups_are_not_rounded_a_second_time),
      cmocka_unit_test(extreme_numbers_are_rounded),
      cmocka_unit_test(halves_are_the_nearest),
      cmocka_unit_test(the_largest_halves_are_finite),
      cmocka_unit_test(golden_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
