#define _DEFAULT_SOURCE  // scandir

#include "tests/hostile/hostile_samples.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/format/fixtures/sample_program.h"

static void append(hostile_samples* samples, const char* name,
                   etx_bytes_mut bytes, size_t most_bytes) {
  if (bytes.size > most_bytes || samples->count == HOSTILE_SAMPLES_MAX) {
    sample_release(bytes);
    return;
  }
  const hostile_sample sample = {name, bytes};
  samples->items[samples->count++] = sample;
}

static int is_program(const struct dirent* entry) {
  const size_t size = strlen(entry->d_name);
  return size > 4 && strcmp(entry->d_name + size - 4, ".pte") == 0;
}

// Appends the programs of a directory, sorted by name. The directory may be
// missing.
static void append_directory(hostile_samples* samples, const char* path,
                             size_t most_bytes) {
  struct dirent** entries = NULL;
  const int count = scandir(path, &entries, is_program, alphasort);
  for (int i = 0; i < count; ++i) {
    char* name = samples->names[samples->count % HOSTILE_SAMPLES_MAX];
    snprintf(name, sizeof samples->names[0], "%s/%s", path, entries[i]->d_name);
    append(samples, name, sample_read_file(name), most_bytes);
    free(entries[i]);
  }
  free(entries);
}

void hostile_samples_open(hostile_samples* samples, size_t most_bytes) {
  samples->count = 0;
  append(samples, "runnable", sample_write(sample_runnable_content()),
         most_bytes);
  append(samples, "every kind", sample_write(sample_content()), most_bytes);
  append_directory(samples, ETX_TEST_DATA "/pte", most_bytes);
  append_directory(samples, ETX_BINARY "/tests/planned", most_bytes);
}

void hostile_samples_close(hostile_samples* samples) {
  for (size_t i = 0; i < samples->count; ++i) {
    sample_release(samples->items[i].bytes);
  }
  samples->count = 0;
}
