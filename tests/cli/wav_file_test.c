// Sound files: a sine is read from each format, changed to other rates, and
// damaged files are refused or read without an access outside of their bytes.

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/text/wav_file.h"
#include "tests/support/assert_status.h"

enum { FRAMES = 800, CHANNELS = 2, FILE_BYTES = 80 + FRAMES * CHANNELS * 8 };

typedef struct wav_case {
  uint32_t kind, bits;
  double tolerance;
} wav_case;

static const wav_case formats[] = {
    {1, 8, 2.0 / 127}, {1, 16, 2.0 / 32767}, {1, 24, 1e-6},
    {1, 32, 1e-6},     {3, 32, 1e-6},        {3, 64, 1e-6},
};

static etx_diag diag;

static void put(uint8_t** at, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) *(*at)++ = (uint8_t)(value >> (8 * i));
}

static double wave_at(double second) {
  return 0.8 * sin(2 * 3.14159265358979323846 * 440 * second);
}

static void put_sample(uint8_t** at, const wav_case* format, double value) {
  if (format->kind == 3 && format->bits == 32) {
    const float number = (float)value;
    uint32_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    put(at, bits, 4);
  } else if (format->kind == 3) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    put(at, bits, 8);
  } else {
    const double most = (double)((INT64_C(1) << (format->bits - 1)) - 1);
    const int64_t number = (int64_t)lrint(value * most);
    put(at, (uint64_t)(format->bits == 8 ? number + 128 : number),
        format->bits / 8);
  }
}

// The channels are a sine times 1.25 and times 0.75, whose mean is the sine.
static size_t write_file(uint8_t* file, const wav_case* format, uint32_t rate) {
  uint8_t* at = file;
  const uint32_t frame = CHANNELS * format->bits / 8;
  memcpy(at, "RIFF\0\0\0\0WAVEodd \x03\0\0\0abc\0fmt \x10\0\0\0", 32);
  at += 32;
  put(&at, format->kind, 2);
  put(&at, CHANNELS, 2);
  put(&at, rate, 4);
  put(&at, rate * frame, 4);
  put(&at, frame, 2);
  put(&at, format->bits, 2);
  memcpy(at, "data", 4);
  at += 4;
  put(&at, FRAMES * frame, 4);
  for (int i = 0; i < FRAMES; ++i) {
    const double value = wave_at((double)i / rate);
    put_sample(&at, format, value * 1.25);
    put_sample(&at, format, value * 0.75);
  }
  return (size_t)(at - file);
}

static void all_formats_are_read(void** state) {
  (void)state;
  for (size_t f = 0; f < sizeof formats / sizeof *formats; ++f) {
    uint8_t file[FILE_BYTES];
    etx_pool pool;
    etx_wav wav;
    etx_diag_init(&diag);
    etx_pool_init(&pool);
    const size_t size = write_file(file, &formats[f], 8000);
    assert_ok(etx_wav_read((etx_bytes){file, size}, &pool, &wav, &diag));
    assert_int_equal(wav.count, FRAMES);
    assert_int_equal(wav.rate, 8000);
    for (size_t i = 0; i < wav.count; ++i) {
      assert_true(fabs((double)wav.samples[i] - wave_at((double)i / 8000)) <=
                  formats[f].tolerance);
    }
    etx_pool_close(&pool);
  }
}

// Away from the ends, where the sound begins and stops at once.
static void another_rate_has_the_same_sound(void** state) {
  static const uint32_t rates[] = {16000, 11025, 4000, 44100};
  (void)state;
  for (size_t r = 0; r < sizeof rates / sizeof *rates; ++r) {
    uint8_t file[FILE_BYTES];
    etx_pool pool;
    etx_wav wav;
    etx_diag_init(&diag);
    etx_pool_init(&pool);
    const size_t size = write_file(file, &formats[4], 8000);
    assert_ok(etx_wav_read((etx_bytes){file, size}, &pool, &wav, &diag));
    assert_ok(etx_wav_resample(&wav, rates[r], &pool, &diag));
    assert_int_equal(wav.rate, rates[r]);
    assert_int_equal(wav.count, (FRAMES * rates[r] + 7999) / 8000);
    for (size_t i = wav.count / 4; i < wav.count * 3 / 4; ++i) {
      const double expected = wave_at((double)i / rates[r]);
      assert_true(fabs((double)wav.samples[i] - expected) < 2e-3);
    }
    etx_pool_close(&pool);
  }
}

static void damaged_files_are_refused_or_read(void** state) {
  uint32_t random = 7;
  size_t refused = 0;
  (void)state;
  for (int round = 0; round < 3000; ++round) {
    uint8_t whole[FILE_BYTES];
    etx_pool pool;
    etx_wav wav;
    etx_diag_init(&diag);
    etx_pool_init(&pool);
    size_t size = write_file(whole, &formats[round % 6], 8000);
    if (round % 3 == 0) size = (size_t)round % (size + 1) % 90;
    uint8_t* const file = malloc(size + 1);
    memcpy(file, whole, size);
    for (int i = 0; i < 3 && size > 0; ++i) {
      random = random * 1664525u + 1013904223u;
      const size_t near = size < 70 ? size : 70;
      file[(random >> 8) % near] = (uint8_t)(random >> 24);
    }
    const etx_status status =
        etx_wav_read((etx_bytes){file, size}, &pool, &wav, &diag);
    refused += status != ETX_OK;
    assert_true(status == ETX_OK || diag.text_size > 0);
    free(file);
    etx_pool_close(&pool);
  }
  assert_true(refused > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_formats_are_read),
      cmocka_unit_test(another_rate_has_the_same_sound),
      cmocka_unit_test(damaged_files_are_refused_or_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
