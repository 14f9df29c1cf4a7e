// A library for LD_PRELOAD that makes calls of the C library fail. ETX_FAULT
// says which: "memory 7" is the seventh allocation, "memory 7+" that and all
// later ones, "readdir 2" the second entry of a directory, "stat x.yaml" every
// stat of a path with that end. ETX_FAULT_COUNT names a file that gets the
// number of allocations when the program ends. forked_faults.h has a quicker way
// for many allocations.

#define _GNU_SOURCE  // RTLD_NEXT

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/faults/fault_choice.h"
#include "tests/faults/fault_marker.h"
#include "tests/faults/forked_faults.h"

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

static unsigned long allocations;

// For a program that chooses the places itself (tests/python/test_faults.py):
// the allocation that fails, counted from the call on; 0: none.
static unsigned long chosen;
static bool chosen_stays;

void etx_fault_choose(unsigned long first, bool stays) {
  allocations = 0;
  chosen_stays = stays;
  chosen = first;
}

// The number of allocations since etx_fault_choose.
unsigned long etx_fault_allocations(void) { return allocations; }

// Threads may count at once.
static bool is_memory_due(void) {
  const unsigned long call =
      __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
  if (chosen != 0 && (call == chosen || (chosen_stays && call > chosen))) {
    errno = ENOMEM;
    return true;
  }
  bool stays = false;
  if (etx_fault_forked(call, &stays)) {
    chosen = call;
    chosen_stays = stays;
    errno = ENOMEM;
    return true;
  }
  const char* const number = fault_argument("memory ");
  if (number == NULL) return false;
  char* end = NULL;
  const unsigned long first = strtoul(number, &end, 10);
  if (call != first && (*end != '+' || call < first)) return false;
  errno = ENOMEM;
  return true;
}

// For system_call_faults.c: what the dynamic linker calls is not the program's.
__attribute__((constructor)) static void mark_begin(void) {
  (void)prctl(ETX_FAULT_MARKER, 0, 0, 0, 0);
}

__attribute__((destructor)) static void write_count(void) {
  const char* const path = getenv("ETX_FAULT_COUNT");
  char text[32];
  if (path == NULL) return;
  const int size = snprintf(text, sizeof text, "%lu\n", allocations);
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) return;
  const ssize_t written = write(file, text, (size_t)size);
  (void)written;
  close(file);
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

int posix_memalign(void** out, size_t alignment, size_t bytes) {
  int (*real)(void**, size_t, size_t) = NULL;
  find_real("posix_memalign", &real);
  return is_memory_due() ? ENOMEM : real(out, alignment, bytes);
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
