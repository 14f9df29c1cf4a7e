#include "cli/base/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/host/host_file.h"
#include "runtime/module/module_file.h"

static etx_status map(int descriptor, etx_mapped_file* file, etx_diag* diag) {
  struct stat facts;
  if (fstat(descriptor, &facts) != 0) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "cannot be examined: %s",
                         strerror(errno));
  }
  if (!S_ISREG(facts.st_mode)) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT, "is not a regular file");
  }
  if (facts.st_size == 0) return ETX_OK;
  if ((uint64_t)facts.st_size > SIZE_MAX) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE, "is too large to be mapped");
  }
  void* const data =
      mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "cannot be mapped: %s",
                         strerror(errno));
  }
  file->bytes.data = data;
  file->bytes.size = (size_t)facts.st_size;
  etx_module_file_ask_large_pages(file->bytes);
  return ETX_OK;
}

etx_status etx_mapped_file_open(etx_mapped_file* file, const char* path,
                                etx_diag* diag) {
  file->bytes.data = NULL;
  file->bytes.size = 0;
  const int descriptor = open(path, O_RDONLY);
  if (descriptor < 0) {
    const int reason = errno;
    return etx_diag_fail(diag, etx_host_status(reason), "cannot be opened: %s",
                         strerror(reason));
  }
  const etx_status status = map(descriptor, file, diag);
  close(descriptor);
  return status;
}

void etx_mapped_file_close(etx_mapped_file* file) {
  if (file->bytes.size != 0)
    munmap((void*)(uintptr_t)file->bytes.data, file->bytes.size);
  file->bytes.data = NULL;
  file->bytes.size = 0;
}
