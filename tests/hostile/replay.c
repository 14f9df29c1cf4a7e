// Calls a reader's entry with every file of the directories named, without a
// fuzzer.
//
//   replay_<reader> DIRECTORY...

#define _DEFAULT_SOURCE  // scandir

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/hostile/fuzz_target.h"

static int is_visible(const struct dirent* entry) {
  return entry->d_name[0] != '.';
}

static int replay_file(const char* path) {
  FILE* file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
    perror(path);
    return 1;
  }
  const long size = ftell(file);
  rewind(file);
  if (size < 0) {
    perror(path);
    return 1;
  }
  // Exactly as long as the file, so that sanitizers see a read past its end.
  uint8_t* bytes = malloc(size == 0 ? 1 : (size_t)size);
  if (bytes == NULL || fread(bytes, 1, (size_t)size, file) != (size_t)size) {
    perror(path);
    return 1;
  }
  fclose(file);
  (void)LLVMFuzzerTestOneInput(bytes, (size_t)size);
  free(bytes);
  return 0;
}

// Returns the number of files, or a negative number.
static int replay_directory(const char* directory) {
  struct dirent** entries = NULL;
  const int count = scandir(directory, &entries, is_visible, alphasort);
  int failures = 0;
  for (int i = 0; i < count; ++i) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
    failures += replay_file(path);
    free(entries[i]);
  }
  free(entries);
  return failures > 0 ? -1 : count;
}

int main(int count, char** arguments) {
  int files = 0;
  for (int i = 1; i < count; ++i) {
    const int found = replay_directory(arguments[i]);
    if (found < 0) return 1;
    files += found;
  }
  printf("%d files replayed\n", files);
  // An empty corpus means a wrong path.
  return files > 0 ? 0 : 1;
}
