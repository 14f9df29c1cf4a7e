// The log-mel spectrogram that Whisper hears, as WhisperFeatureExtractor of the
// Python package transformers computes it: for each hop of 10 ms, the energies
// of 25 ms in bands of the mel scale (Slaney's), as decimal logarithms of at
// most 8 below the largest one, scaled to about -1 to 1. All in double.

#ifndef ETX_CLI_TEXT_LOG_MEL_H
#define ETX_CLI_TEXT_LOG_MEL_H

#include "exporter/host/host_memory.h"
#include "format/base/diag.h"

enum {
  ETX_LOG_MEL_RATE = 16000,  // samples of a second
  ETX_LOG_MEL_HOP = 160,     // samples of a frame
  ETX_LOG_MEL_LEAST = 2      // frames: borders are mirrored
};

typedef struct etx_log_mel {
  size_t bands;
  const double* waves;    // one turn of cosine, and one of sine
  const double* window;   // of Hann
  const double* weights;  // [bands, frequencies]
} etx_log_mel;

// Makes the tables, in memory of the pool. Whisper has 80 or 128 bands.
ETX_MUST_USE etx_status etx_log_mel_init(etx_log_mel* mel, size_t bands,
                                         etx_pool* pool, etx_diag* diag);

// Writes [bands, frames] of frames x ETX_LOG_MEL_HOP samples from -1 to 1.
void etx_log_mel_write(const etx_log_mel* mel, const float* samples,
                       size_t frames, float* out);

#endif
