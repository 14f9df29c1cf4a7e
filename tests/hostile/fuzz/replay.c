// Calls a reader's entry with every file of the directories named, without a
// fuzzer; then with random changes of each file. With -e also with every
// beginning of each small file that is good (good_*), and with every single bit
// of it flipped. With -t the files are texts, of which half of the changes
// leave most of the structure as it is (text_mutation.h).
//
//   replay_<reader> [-e] [-t] [-m MUTATIONS_OF_EACH] DIRECTORY...

#define _DEFAULT_SOURCE  // scandir

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/hostile/fuzz/fuzz_target.h"
#include "tests/hostile/hostile_mutation.h"
#include "tests/hostile/text_mutation.h"

enum { MOST_BYTES_OF_SMALL = 4096, MORE_TEXT = 4096 };

static size_t mutation_count;
static bool is_exhaustive;
static bool is_text;

static int is_visible(const struct dirent* entry) {
  return entry->d_name[0] != '.';
}

static size_t change(uint8_t* bytes, size_t size, uint64_t number) {
  static const text_words none = {NULL, 0};
  hostile_random random = hostile_random_of(size, number);
  if (!is_text || number % 2 == 0) return hostile_mutate(bytes, size, &random);
  return text_mutate((char*)bytes, size, size + MORE_TEXT, &none, &random);
}

// The copy is exactly as long as the input, so that sanitizers see a read past
// its end.
static bool try_copy(const uint8_t* bytes, size_t size, uint64_t number) {
  uint8_t* copy = malloc(number > 0 ? size + MORE_TEXT : size == 0 ? 1 : size);
  if (copy == NULL) abort();
  if (size > 0) memcpy(copy, bytes, size);
  if (number > 0) {
    const size_t changed = change(copy, size, number);
    copy = realloc(copy, changed == 0 ? 1 : changed);
    if (copy == NULL) abort();
    size = changed;
  }
  const bool is_accepted = LLVMFuzzerTestOneInput(copy, size) == 0;
  free(copy);
  return is_accepted;
}

static bool is_good(const char* path) {
  const char* const slash = strrchr(path, '/');
  return strncmp(slash == NULL ? path : slash + 1, "good_", 5) == 0;
}

static void try_all(const char* path, uint8_t* bytes, size_t size) {
  if (!is_exhaustive || !is_good(path) || size > MOST_BYTES_OF_SMALL) return;
  for (size_t i = 0; i < size; ++i) (void)try_copy(bytes, i, 0);
  for (size_t bit = 0; bit < size * 8; ++bit) {
    const uint8_t mask = (uint8_t)(1u << bit % 8);
    bytes[bit / 8] ^= mask;
    (void)try_copy(bytes, size, 0);
    bytes[bit / 8] ^= mask;
  }
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
  uint8_t* bytes = malloc(size == 0 ? 1 : (size_t)size);
  if (bytes == NULL || fread(bytes, 1, (size_t)size, file) != (size_t)size) {
    perror(path);
    return 1;
  }
  fclose(file);
  const bool is_accepted = try_copy(bytes, (size_t)size, 0);
  for (size_t i = 1; i <= mutation_count; ++i) {
    (void)try_copy(bytes, (size_t)size, i);
  }
  try_all(path, bytes, (size_t)size);
  free(bytes);
  if (is_accepted || !is_good(path)) return 0;
  fprintf(stderr, "%s: refused, though its name says that it is good\n", path);
  return 1;
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
  int first = 1;
  if (count > first && strcmp(arguments[first], "-e") == 0) {
    is_exhaustive = true;
    ++first;
  }
  if (count > first && strcmp(arguments[first], "-t") == 0) {
    is_text = true;
    ++first;
  }
  if (count > first + 1 && strcmp(arguments[first], "-m") == 0) {
    mutation_count = (size_t)strtoull(arguments[first + 1], NULL, 10);
    first += 2;
  }
  for (int i = first; i < count; ++i) {
    const int found = replay_directory(arguments[i]);
    if (found < 0) return 1;
    files += found;
  }
  printf("%d files replayed\n", files);
  // An empty corpus means that the path is wrong.
  return files > 0 ? 0 : 1;
}
