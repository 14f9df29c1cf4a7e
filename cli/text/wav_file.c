// A file is a list of chunks: four letters, 32 bits of size, bytes, and a byte
// more if the size is odd. Chunks other than "fmt " and "data" are passed over.

#include "cli/text/wav_file.h"

#include <math.h>
#include <string.h>

enum {
  FORMAT_PCM = 1,
  FORMAT_FLOAT = 3,
  FORMAT_EXTENSIBLE = 0xFFFE,
  CHANNELS_MAX = 64,
  RATE_MAX = 1000000,
  CROSSINGS = 16  // of the sinc, to each side
};

typedef struct wav_format {
  uint32_t kind, channels, rate, bits;
} wav_format;

static uint32_t read_16(const uint8_t* at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

static uint32_t read_32(const uint8_t* at) {
  return read_16(at) | read_16(at + 2) << 16;
}

// ---- chunks ----

static etx_status find_chunk(etx_bytes file, const char* name, etx_bytes* out,
                             etx_diag* diag) {
  size_t at = 12;
  while (file.size - at >= 8) {
    const size_t size = read_32(file.data + at + 4);
    const size_t left = file.size - at - 8;
    if (memcmp(file.data + at, name, 4) == 0) {
      // A recorder that was cut off leaves the size of its data open.
      const bool is_open = memcmp(name, "data", 4) == 0 && size > left;
      if (size > left && !is_open) break;
      *out = (etx_bytes){file.data + at + 8, is_open ? left : size};
      return ETX_OK;
    }
    if (size > left || size + (size & 1) > left) break;
    at += 8 + size + (size & 1);
  }
  return etx_diag_fail(diag, ETX_BAD_FILE,
                       "a WAV file of %z bytes without a whole chunk '%s'",
                       file.size, name);
}

static etx_status read_format(etx_bytes chunk, wav_format* out,
                              etx_diag* diag) {
  if (chunk.size < 16) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "chunk 'fmt ' has %z bytes, expected at least 16",
                         chunk.size);
  }
  *out = (wav_format){read_16(chunk.data), read_16(chunk.data + 2),
                      read_32(chunk.data + 4), read_16(chunk.data + 14)};
  // The kind stands in the first bytes of the sub-format.
  if (out->kind == FORMAT_EXTENSIBLE && chunk.size >= 26) {
    out->kind = read_16(chunk.data + 24);
  }
  const bool is_pcm =
      out->kind == FORMAT_PCM &&
      (out->bits == 8 || out->bits == 16 || out->bits == 24 || out->bits == 32);
  const bool is_float =
      out->kind == FORMAT_FLOAT && (out->bits == 32 || out->bits == 64);
  if (!is_pcm && !is_float) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "WAV format %u with %u bits, expected PCM (1) of 8, "
                         "16, 24 or 32 bits or floats (3) of 32 or 64",
                         (uint64_t)out->kind, (uint64_t)out->bits);
  }
  if (out->channels == 0 || out->channels > CHANNELS_MAX || out->rate == 0 ||
      out->rate > RATE_MAX ||
      read_16(chunk.data + 12) != out->channels * (out->bits / 8)) {
    return etx_diag_fail(
        diag, ETX_BAD_FILE,
        "%u channels of %u bits at %u Hz in frames of %u bytes",
        (uint64_t)out->channels, (uint64_t)out->bits, (uint64_t)out->rate,
        (uint64_t)read_16(chunk.data + 12));
  }
  return ETX_OK;
}

// ---- samples ----

static double read_float(const uint8_t* at, uint32_t bits) {
  const uint32_t low = read_32(at);
  if (bits == 32) {
    float value = 0;
    memcpy(&value, &low, sizeof value);
    return (double)value;
  }
  const uint64_t whole = (uint64_t)read_32(at + 4) << 32 | low;
  double value = 0;
  memcpy(&value, &whole, sizeof value);
  return value;
}

// A sample from -1 to 1. Bytes are unsigned, wider integers are not.
static double read_sample(const uint8_t* at, const wav_format* format) {
  if (format->kind == FORMAT_FLOAT) return read_float(at, format->bits);
  if (format->bits == 8) return ((double)at[0] - 128) / 128;
  uint32_t bits = 0;
  for (uint32_t i = 0; i < format->bits / 8; ++i) {
    bits = bits >> 8 | (uint32_t)at[i] << 24;
  }
  const double value =
      bits < 0x80000000u ? (double)bits : (double)bits - 4294967296.0;
  return value / 2147483648.0;
}

static etx_status read_samples(etx_bytes data, const wav_format* format,
                               etx_pool* pool, etx_wav* out, etx_diag* diag) {
  const size_t width = format->bits / 8;
  const size_t count = data.size / (width * format->channels);
  float* const samples = etx_pool_take(pool, count * sizeof *samples);
  if (samples == NULL) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory for %z samples",
                         count);
  }
  const uint8_t* at = data.data;
  for (size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (uint32_t c = 0; c < format->channels; ++c, at += width) {
      sum += read_sample(at, format);
    }
    samples[i] = (float)(sum / format->channels);
    if (!isfinite(samples[i])) {
      return etx_diag_fail(diag, ETX_BAD_FILE,
                           "sample %z is not a finite number", i);
    }
  }
  *out = (etx_wav){samples, count, format->rate};
  return ETX_OK;
}

etx_status etx_wav_read(etx_bytes file, etx_pool* pool, etx_wav* out,
                        etx_diag* diag) {
  etx_bytes chunk = {NULL, 0};
  wav_format format = {0, 0, 0, 0};
  if (file.size < 12 || memcmp(file.data, "RIFF", 4) != 0 ||
      memcmp(file.data + 8, "WAVE", 4) != 0) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "no WAV file: it does not begin with RIFF and WAVE");
  }
  ETX_TRY(find_chunk(file, "fmt ", &chunk, diag));
  ETX_TRY(read_format(chunk, &format, diag));
  ETX_TRY(find_chunk(file, "data", &chunk, diag));
  return read_samples(chunk, &format, pool, out, diag);
}

// ---- another rate ----

// A windowed sinc, `x` zero crossings from its middle.
static double weight_of(double x) {
  static const double pi = 3.14159265358979323846;
  if (x == 0) return 1;
  if (!(fabs(x) < CROSSINGS)) return 0;
  return sin(pi * x) / (pi * x) * (0.5 + 0.5 * cos(pi * x / CROSSINGS));
}

// The sound at `place`, in old samples.
static float sample_at(const etx_wav* wav, double place, double scale) {
  const double reach = CROSSINGS / scale;
  const double first = ceil(place - reach);
  const double last = floor(place + reach);
  double sum = 0;
  for (double i = first < 0 ? 0 : first; i <= last && i < (double)wav->count;
       i += 1) {
    sum += (double)wav->samples[(size_t)i] * weight_of((i - place) * scale);
  }
  return (float)(sum * scale);
}

etx_status etx_wav_resample(etx_wav* wav, uint32_t rate, etx_pool* pool,
                            etx_diag* diag) {
  if (rate == wav->rate) return ETX_OK;
  const double step = (double)wav->rate / rate;
  const double scale = rate < wav->rate ? 1 / step : 1;
  const size_t count = (size_t)ceil((double)wav->count / step);
  float* const samples = etx_pool_take(pool, count * sizeof *samples);
  if (samples == NULL) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory for %z samples",
                         count);
  }
  for (size_t i = 0; i < count; ++i) {
    samples[i] = sample_at(wav, (double)i * step, scale);
  }
  *wav = (etx_wav){samples, count, rate};
  return ETX_OK;
}
