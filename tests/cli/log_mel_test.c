// The log-mel spectrogram against recorded answers of WhisperFeatureExtractor
// (record_log_mel.py).

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/text/log_mel.h"
#include "tests/support/assert_status.h"

enum { FRAMES_MAX = 64, BANDS_MAX = 128 };

static float samples[FRAMES_MAX * ETX_LOG_MEL_HOP];
static float expected[FRAMES_MAX * BANDS_MAX];
static float found[FRAMES_MAX * BANDS_MAX];
static etx_diag diag;

static void read_values(FILE* file, float* out, size_t count) {
  assert_int_equal(fread(out, sizeof *out, count, file), count);
}

static void check_recorded(const char* name, size_t bands) {
  char path[512];
  uint32_t sizes[2];
  etx_pool pool;
  etx_log_mel mel;
  snprintf(path, sizeof path, "%s/log_mel/%s", ETX_TEST_DATA, name);
  FILE* const file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fread(sizes, sizeof *sizes, 2, file), 2);
  assert_int_equal(sizes[0], bands);
  assert_in_range(sizes[1], ETX_LOG_MEL_LEAST, FRAMES_MAX);
  read_values(file, samples, sizes[1] * ETX_LOG_MEL_HOP);
  read_values(file, expected, bands * sizes[1]);
  fclose(file);
  etx_pool_init(&pool);
  assert_ok(etx_log_mel_init(&mel, bands, &pool, &diag));
  etx_log_mel_write(&mel, samples, sizes[1], found);
  etx_pool_close(&pool);
  for (size_t i = 0; i < bands * sizes[1]; ++i) {
    if (!(fabs((double)found[i] - (double)expected[i]) < 1e-4)) {
      fail_msg("%s: value %zu is %g, expected %g", name, i, (double)found[i],
               (double)expected[i]);
    }
  }
}

static void spectra_are_those_of_transformers(void** state) {
  (void)state;
  check_recorded("whisper_80.bin", 80);
  check_recorded("whisper_128.bin", 128);
}

static void the_shortest_sound_is_mirrored_within_itself(void** state) {
  etx_pool pool;
  etx_log_mel mel;
  (void)state;
  memset(samples, 0, sizeof samples);
  etx_pool_init(&pool);
  assert_ok(etx_log_mel_init(&mel, 80, &pool, &diag));
  etx_log_mel_write(&mel, samples, ETX_LOG_MEL_LEAST, found);
  etx_pool_close(&pool);
  // Silence: 1e-10 in each band.
  for (size_t i = 0; i < 80 * ETX_LOG_MEL_LEAST; ++i) {
    assert_true(found[i] == -1.5f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(spectra_are_those_of_transformers),
      cmocka_unit_test(the_shortest_sound_is_mirrored_within_itself),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
