#include "cli/base/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/host/host_file.h"
#include "runtime/module/module_file.h"

enum { READ_ALIGNMENT = 64 };

// Times that reading begins again after a signal. More are an error, so that no
// stream of signals keeps a command for ever.
enum { MOST_INTERRUPTIONS = 1000 };

// Finds the size of a regular file.
static etx_status examine(int descriptor, size_t* out_size, etx_diag* diag) {
  struct stat facts;
  if (fstat(descriptor, &facts) != 0) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "cannot be examined: %s",
                         strerror(errno));
  }
  if (!S_ISREG(facts.st_mode)) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT, "is not a regular file");
  }
  if ((uint64_t)facts.st_size > SIZE_MAX - READ_ALIGNMENT) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE, "is too large to be mapped");
  }
  *out_size = (size_t)facts.st_size;
  return ETX_OK;
}

static etx_status map(int descriptor, size_t size, etx_mapped_file* file,
                      etx_diag* diag) {
  void* const data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "cannot be mapped: %s",
                         strerror(errno));
  }
  file->bytes = (etx_bytes){data, size};
  etx_module_file_ask_large_pages(file->bytes);
  return ETX_OK;
}

static etx_status read_into(int descriptor, uint8_t* data, size_t size,
                            etx_diag* diag) {
  int interruptions = 0;
  for (size_t done = 0; done < size;) {
    const ssize_t got = read(descriptor, data + done, size - done);
    if (got < 0 && errno == EINTR && ++interruptions < MOST_INTERRUPTIONS) {
      continue;
    }
    if (got == 0) errno = EIO;  // the file became shorter
    if (got <= 0) {
      return etx_diag_fail(diag, ETX_HOST_FAILED, "cannot be read: %s",
                           strerror(errno));
    }
    done += (size_t)got;
  }
  return ETX_OK;
}

static etx_status read_all(int descriptor, size_t size, etx_mapped_file* file,
                           etx_diag* diag) {
  const size_t blocks = (size + READ_ALIGNMENT - 1) / READ_ALIGNMENT;
  uint8_t* const data = aligned_alloc(READ_ALIGNMENT, blocks * READ_ALIGNMENT);
  if (data == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "has %z bytes, for which there is no memory", size);
  }
  const etx_status status = read_into(descriptor, data, size, diag);
  if (status != ETX_OK) {
    free(data);
    return status;
  }
  file->bytes = (etx_bytes){data, size};
  return ETX_OK;
}

static etx_status open_with(etx_mapped_file* file, const char* path,
                            bool is_read, etx_diag* diag) {
  size_t size = 0;
  *file = (etx_mapped_file){.is_read = is_read};
  const int descriptor = open(path, O_RDONLY);
  if (descriptor < 0) {
    const int reason = errno;
    return etx_diag_fail(diag, etx_host_status(reason), "cannot be opened: %s",
                         strerror(reason));
  }
  etx_status status = examine(descriptor, &size, diag);
  if (status == ETX_OK && size != 0) {
    status = is_read ? read_all(descriptor, size, file, diag)
                     : map(descriptor, size, file, diag);
  }
  close(descriptor);
  return status;
}

etx_status etx_mapped_file_open(etx_mapped_file* file, const char* path,
                                etx_diag* diag) {
  return open_with(file, path, false, diag);
}

etx_status etx_mapped_file_read(etx_mapped_file* file, const char* path,
                                etx_diag* diag) {
  return open_with(file, path, true, diag);
}

void etx_mapped_file_close(etx_mapped_file* file) {
  void* const data = (void*)(uintptr_t)file->bytes.data;
  if (file->bytes.size != 0 && file->is_read) free(data);
  if (file->bytes.size != 0 && !file->is_read) munmap(data, file->bytes.size);
  *file = (etx_mapped_file){.is_read = false};
}
