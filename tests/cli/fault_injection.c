// Loaded before a program's libraries: one thing that it asks of its machine
// fails, as the words of ETX_FAULT say. "memory 7" is the seventh allocation,
// "readdir 2" the second step of a directory's list, "stat x.yaml" every look
// at a file whose path ends so.

#define _GNU_SOURCE  // RTLD_NEXT

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// Puts the function that this library stands in front of into `out`. C has no
// cast from a pointer to an object to one to a function.
static void find_real(const char* name, void* out) {
  void* const found = dlsym(RTLD_NEXT, name);
  memcpy(out, &found, sizeof found);
}

static const char* wish(const char* kind) {
  const char* const words = getenv("ETX_FAULT");
  const size_t size = strlen(kind);
  if (words == NULL || strncmp(words, kind, size) != 0) return NULL;
  return words + size;
}

// Whether this is the call of its kind that fails.
static bool is_due(const char* kind, unsigned long* calls) {
  const char* const number = wish(kind);
  return number != NULL && ++*calls == strtoul(number, NULL, 10);
}

static bool is_memory_due(void) {
  static unsigned long calls;
  if (!is_due("memory ", &calls)) return false;
  errno = ENOMEM;
  return true;
}

void* malloc(size_t bytes) {
  void* (*real)(size_t) = NULL;
  find_real("malloc", &real);
  return is_memory_due() ? NULL : real(bytes);
}

void* calloc(size_t count, size_t bytes) {
  void* (*real)(size_t, size_t) = NULL;
  find_real("calloc", &real);
  return is_memory_due() ? NULL : real(count, bytes);
}

void* realloc(void* memory, size_t bytes) {
  void* (*real)(void*, size_t) = NULL;
  find_real("realloc", &real);
  return is_memory_due() ? NULL : real(memory, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  void* (*real)(size_t, size_t) = NULL;
  find_real("aligned_alloc", &real);
  return is_memory_due() ? NULL : real(alignment, bytes);
}

struct dirent* readdir(DIR* directory) {
  static unsigned long calls;
  struct dirent* (*real)(DIR*) = NULL;
  find_real("readdir", &real);
  if (!is_due("readdir ", &calls)) return real(directory);
  errno = EIO;
  return NULL;
}

int stat(const char* path, struct stat* facts) {
  int (*real)(const char*, struct stat*) = NULL;
  find_real("stat", &real);
  const char* const end = wish("stat ");
  const size_t size = strlen(path);
  if (end == NULL || size < strlen(end) ||
      strcmp(path + size - strlen(end), end) != 0) {
    return real(path, facts);
  }
  errno = EIO;
  return -1;
}
