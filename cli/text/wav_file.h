// Sound files: RIFF/WAVE with PCM of 8, 16, 24 or 32 bits, or floats of 32 or
// 64 bits (formats 1, 3 and WAVE_FORMAT_EXTENSIBLE of Microsoft's
// specification, "Multiple channel audio data and WAVE files").

#ifndef ETX_CLI_TEXT_WAV_FILE_H
#define ETX_CLI_TEXT_WAV_FILE_H

#include "exporter/host/host_memory.h"
#include "format/base/diag.h"

typedef struct etx_wav {
  const float* samples;  // the mean of all channels, from -1 to 1
  size_t count;          // of samples
  uint32_t rate;         // samples of a second
} etx_wav;

// Reads the bytes of a file. Samples are in memory of the pool. ETX_BAD_FILE:
// it is no such file, or its parts do not fit together; ETX_UNSUPPORTED: its
// samples are of another format.
ETX_MUST_USE etx_status etx_wav_read(etx_bytes file, etx_pool* pool,
                                     etx_wav* out, etx_diag* diag);

// Changes the rate. Each new sample is a sum of the old ones around it,
// weighted by a sinc of the lower of both rates in a Hann window of 16 zero
// crossings to each side (J. O. Smith, "Digital Audio Resampling"), in double.
ETX_MUST_USE etx_status etx_wav_resample(etx_wav* wav, uint32_t rate,
                                         etx_pool* pool, etx_diag* diag);

#endif
