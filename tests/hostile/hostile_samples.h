// The programs that hostile tests damage: built by the writer, written by the
// stock exporter, and, where the build has an exporter, planned by etx.

#ifndef ETX_TESTS_HOSTILE_HOSTILE_SAMPLES_H
#define ETX_TESTS_HOSTILE_HOSTILE_SAMPLES_H

#include "format/base/span.h"

enum { HOSTILE_SAMPLES_MAX = 32 };

typedef struct hostile_sample {
  const char* name;
  etx_bytes_mut bytes;
} hostile_sample;

typedef struct hostile_samples {
  hostile_sample items[HOSTILE_SAMPLES_MAX];
  size_t count;
  char names[HOSTILE_SAMPLES_MAX]
            [512];  // names of the samples that come from files
} hostile_samples;

// Collects every sample of at most `most_bytes`. The runnable one is first.
void hostile_samples_open(hostile_samples* samples, size_t most_bytes);
void hostile_samples_close(hostile_samples* samples);

#endif
