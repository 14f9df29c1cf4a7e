// A library for LD_PRELOAD that makes one system call fail. ETX_FAULT says
// which: "memory 7" is the seventh allocation, "readdir 2" the second entry of
// a directory, "stat x.yaml" every stat of a path with that end.

#define _GNU_SOURCE  // RTLD_NEXT

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// Finds the function that this library replaces. memcpy, because C has no cast
// from an object pointer to a function pointer.
static void find_real(const char* name, void* out) {
  void* const found = dlsym(RTLD_NEXT, name);
  memcpy(out, &found, sizeof found);
}

// The text after `kind` in ETX_FAULT, or NULL.
static const char* fault_argument(const char* kind) {
  const char* const fault = getenv("ETX_FAULT");
  const size_t size = strlen(kind);
  if (fault == NULL || strncmp(fault, kind, size) != 0) return NULL;
  return fault + size;
}

// True if this call has to fail.
static bool is_due(const char* kind, unsigned long* calls) {
  const char* const number = fault_argument(kind);
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
  const char* const end = fault_argument("stat ");
  const size_t size = strlen(path);
  if (end == NULL || size < strlen(end) ||
      strcmp(path + size - strlen(end), end) != 0) {
    return real(path, facts);
  }
  errno = EIO;
  return -1;
}
