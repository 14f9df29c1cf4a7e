// For hosts that cannot map files, such as WebAssembly: reads the whole file
// into memory of the heap.

#define _POSIX_C_SOURCE 200809L  // fileno

#include "runtime/module/module_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

// As aligned as a mapped file is for the loops that read constants in place.
enum { FILE_ALIGNMENT = 64 };

void etx_module_file_ask_large_pages(etx_bytes file) { (void)file; }

void etx_module_file_release(etx_bytes part) { (void)part; }

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
                                 etx_bytes* out_file, etx_diag* diag) {
  size_t size = 0;
  ETX_TRY(read_size(file, path, &size, diag));
  *out_file = (etx_bytes){NULL, 0};
  if (size == 0) return ETX_OK;
  const size_t blocks = (size + FILE_ALIGNMENT - 1) / FILE_ALIGNMENT;
  uint8_t* const data = aligned_alloc(FILE_ALIGNMENT, blocks * FILE_ALIGNMENT);
  if (data == NULL) {
    return etx_diag_fail(diag, ETX_HOST_FAILED,
                         "no memory for '%s', which has %z bytes", path, size);
  }
  errno = 0;
  if (fread(data, 1, size, file) != size) {
    const int error = errno != 0 ? errno : EIO;
    free(data);
    return fail_with(error, path, "read", diag);
  }
  *out_file = (etx_bytes){data, size};
  return ETX_OK;
}

etx_status etx_module_file_map(const char* path, etx_bytes* out_file,
                               etx_diag* diag) {
  FILE* const file = fopen(path, "rb");
  if (file == NULL) return fail_with(errno, path, "open", diag);
  const etx_status status = read_open_file(file, path, out_file, diag);
  fclose(file);
  return status;
}

void etx_module_file_unmap(etx_bytes file) {
  if (file.size > 0) free((void*)(uintptr_t)file.data);
}
