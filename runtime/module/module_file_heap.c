// Reads whole files, for modules that do not map them and for hosts that
// cannot.

#define _POSIX_C_SOURCE 200809L  // fileno

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/module/module_file.h"

static void* heap_allocate(void* context, size_t bytes, size_t alignment) {
  (void)context;
  // C11 requires a size that is a multiple of the alignment.
  const size_t rest = bytes % alignment;
  const size_t padding = rest == 0 ? 0 : alignment - rest;
  if (bytes > SIZE_MAX - padding) return NULL;
  return aligned_alloc(alignment, bytes + padding);
}

static void heap_free(void* context, void* memory) {
  (void)context;
  free(memory);
}

static void* heap_calloc(void* context, size_t bytes) {
  (void)context;
  return calloc(bytes, 1);
}

const etx_module_memory etx_module_heap = {
    .take = heap_allocate, .give_back = heap_free, .take_zeroed = heap_calloc};

// As aligned as a mapped file is for the loops that read constants in place.
enum { FILE_ALIGNMENT = 64 };

static etx_status fail_with(int error, const char* path, const char* what,
                            etx_diag* diag) {
  return etx_diag_fail(diag, ETX_HOST_FAILED, "cannot %s '%s': %s", what, path,
                       strerror(error));
}

static etx_status read_size(FILE* file, const char* path, size_t* out_size,
                            etx_diag* diag) {
  struct stat status;
  if (fstat(fileno(file), &status) != 0) {
    return fail_with(errno, path, "stat", diag);
  }
  if (!S_ISREG(status.st_mode)) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "'%s' is not a regular file",
                         path);
  }
  if ((uintmax_t)status.st_size > SIZE_MAX - FILE_ALIGNMENT) {
    return etx_diag_fail(diag, ETX_HOST_FAILED,
                         "'%s' is larger than the address space", path);
  }
  *out_size = (size_t)status.st_size;
  return ETX_OK;
}

static etx_status read_open_file(FILE* file, const char* path,
                                 const etx_module_memory* memory,
                                 etx_bytes* out_file, etx_diag* diag) {
  size_t size = 0;
  ETX_TRY(read_size(file, path, &size, diag));
  *out_file = (etx_bytes){NULL, 0};
  if (size == 0) return ETX_OK;
  uint8_t* const data = memory->take(memory->context, size, FILE_ALIGNMENT);
  if (data == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "no memory for '%s', which has %z bytes", path, size);
  }
  errno = 0;
  if (fread(data, 1, size, file) != size) {
    const int error = errno != 0 ? errno : EIO;  // EIO: it became shorter
    memory->give_back(memory->context, data);
    return fail_with(error, path, "read", diag);
  }
  *out_file = (etx_bytes){data, size};
  return ETX_OK;
}

etx_status etx_module_file_read(const char* path,
                                const etx_module_memory* memory,
                                etx_bytes* out_file, etx_diag* diag) {
  FILE* const file = fopen(path, "rb");
  if (file == NULL) return fail_with(errno, path, "open", diag);
  const etx_status status = read_open_file(file, path, memory, out_file, diag);
  fclose(file);
  return status;
}
