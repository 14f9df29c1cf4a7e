#include "cli/text/log_mel.h"

#include <math.h>

enum {
  SIZE = 400,  // samples that a frame looks at
  ROOT = 20,   // SIZE is ROOT x ROOT
  FREQUENCIES = SIZE / 2 + 1
};

static const double pi = 3.14159265358979323846;

// ---- tables ----

// Slaney's mel scale: linear up to 1000 Hz, then 27 steps for a factor of 6.4.
static double mel_of(double hertz) {
  if (hertz < 1000) return hertz * 3 / 200;
  return 15 + log(hertz / 1000) * 27 / log(6.4);
}

static double hertz_of(double mel) {
  if (mel < 15) return mel * 200 / 3;
  return 1000 * exp((mel - 15) * log(6.4) / 27);
}

// Triangles between three neighbours of evenly spaced mels, of area 1.
static void set_weights(size_t bands, double* weights) {
  const double top = mel_of(ETX_LOG_MEL_RATE / 2);
  for (size_t band = 0; band < bands; ++band) {
    double edges[3];
    for (size_t i = 0; i < 3; ++i) {
      edges[i] = hertz_of(top * (double)(band + i) / (double)(bands + 1));
    }
    for (size_t f = 0; f < FREQUENCIES; ++f) {
      const double hertz = (double)f * ETX_LOG_MEL_RATE / SIZE;
      const double up = (hertz - edges[0]) / (edges[1] - edges[0]);
      const double down = (edges[2] - hertz) / (edges[2] - edges[1]);
      const double least = up < down ? up : down;
      weights[band * FREQUENCIES + f] =
          least > 0 ? least * 2 / (edges[2] - edges[0]) : 0;
    }
  }
}

etx_status etx_log_mel_init(etx_log_mel* mel, size_t bands, etx_pool* pool,
                            etx_diag* diag) {
  double* const waves = etx_pool_take(pool, 2 * SIZE * sizeof *waves);
  double* const window = etx_pool_take(pool, SIZE * sizeof *window);
  double* const weights =
      etx_pool_take(pool, bands * FREQUENCIES * sizeof *weights);
  if (waves == NULL || window == NULL || weights == NULL) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory for %z mel bands",
                         bands);
  }
  for (size_t i = 0; i < SIZE; ++i) {
    const double angle = 2 * pi * (double)i / SIZE;
    waves[i] = cos(angle);
    waves[SIZE + i] = sin(angle);
    window[i] = 0.5 - 0.5 * waves[i];
  }
  set_weights(bands, weights);
  *mel = (etx_log_mel){bands, waves, window, weights};
  return ETX_OK;
}

// ---- a frame ----

typedef struct mel_wave {
  double real, imaginary;
} mel_wave;

// Sums of every ROOT-th sample: parts[n][k] is the transform of samples n,
// n + ROOT, ..., turned to where they begin (Cooley and Tukey 1965).
static void transform_parts(const etx_log_mel* mel, const double* samples,
                            mel_wave parts[ROOT][ROOT]) {
  const double* const cosine = mel->waves;
  const double* const sine = mel->waves + SIZE;
  for (size_t n = 0; n < ROOT; ++n) {
    for (size_t k = 0; k < ROOT; ++k) {
      mel_wave sum = {0, 0};
      for (size_t i = 0; i < ROOT; ++i) {
        const size_t turn = (n + ROOT * i) * k % SIZE;
        sum.real += samples[n + ROOT * i] * cosine[turn];
        sum.imaginary -= samples[n + ROOT * i] * sine[turn];
      }
      parts[n][k] = sum;
    }
  }
}

// Power of each frequency.
static void transform(const etx_log_mel* mel, const double* samples,
                      double* power) {
  const double* const cosine = mel->waves;
  const double* const sine = mel->waves + SIZE;
  mel_wave parts[ROOT][ROOT];
  transform_parts(mel, samples, parts);
  for (size_t f = 0; f < FREQUENCIES; ++f) {
    mel_wave sum = {0, 0};
    for (size_t n = 0; n < ROOT; ++n) {
      const mel_wave part = parts[n][f % ROOT];
      const size_t turn = f / ROOT * ROOT * n % SIZE;
      sum.real += part.real * cosine[turn] + part.imaginary * sine[turn];
      sum.imaginary += part.imaginary * cosine[turn] - part.real * sine[turn];
    }
    power[f] = sum.real * sum.real + sum.imaginary * sum.imaginary;
  }
}

// The samples around the middle of a frame; those outside are mirrored.
static void read_frame(const etx_log_mel* mel, const float* samples,
                       size_t count, size_t middle, double* out) {
  for (size_t i = 0; i < SIZE; ++i) {
    size_t at =
        middle + i < SIZE / 2 ? SIZE / 2 - middle - i : middle + i - SIZE / 2;
    if (at >= count) at = 2 * (count - 1) - at;
    out[i] = (double)samples[at] * mel->window[i];
  }
}

void etx_log_mel_write(const etx_log_mel* mel, const float* samples,
                       size_t frames, float* out) {
  double frame[SIZE], power[FREQUENCIES];
  double largest = -10;
  for (size_t t = 0; t < frames; ++t) {
    read_frame(mel, samples, frames * ETX_LOG_MEL_HOP, t * ETX_LOG_MEL_HOP,
               frame);
    transform(mel, frame, power);
    for (size_t band = 0; band < mel->bands; ++band) {
      const double* const weights = mel->weights + band * FREQUENCIES;
      double energy = 0;
      for (size_t f = 0; f < FREQUENCIES; ++f) energy += weights[f] * power[f];
      const double level = log10(energy > 1e-10 ? energy : 1e-10);
      if (level > largest) largest = level;
      out[band * frames + t] = (float)level;
    }
  }
  for (size_t i = 0; i < mel->bands * frames; ++i) {
    const double level = (double)out[i];
    out[i] = (float)(((level > largest - 8 ? level : largest - 8) + 4) / 4);
  }
}
