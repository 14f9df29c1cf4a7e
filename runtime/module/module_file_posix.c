#define _DEFAULT_SOURCE  // madvise
#define _POSIX_C_SOURCE 200809L

#include "runtime/module/module_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static etx_status fail_with_errno(const char* path, const char* what,
                                  etx_diag* diag) {
  return etx_diag_fail(diag, ETX_HOST_FAILED, "cannot %s '%s': %s", what, path,
                       strerror(errno));
}

// The pages that a range touches. The last one may reach beyond its end.
static etx_bytes_mut pages_around(etx_bytes range) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  const uintptr_t start = (uintptr_t)range.data / page * page;
  const uintptr_t end = (uintptr_t)range.data + range.size;
  return (etx_bytes_mut){(uint8_t*)start, end - start};
}

// Decoding reads all weights in each step. With pages of 4 KB, TLB misses limit
// it to two thirds of the memory bandwidth. Some systems have large pages for
// files, and use them if the file is not in memory yet.
void etx_module_file_ask_large_pages(etx_bytes file) {
  enum { LARGE_PAGE = 2 << 20 };
#ifdef MADV_HUGEPAGE
  if (file.size < LARGE_PAGE) return;
  (void)madvise((void*)(uintptr_t)file.data, file.size, MADV_HUGEPAGE);
#else
  (void)file;
#endif
}

void etx_module_file_release(etx_bytes part) {
#ifdef MADV_DONTNEED
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  const uintptr_t start = ((uintptr_t)part.data + page - 1) / page * page;
  const uintptr_t end = ((uintptr_t)part.data + part.size) / page * page;
  if (start < end) (void)madvise((void*)start, end - start, MADV_DONTNEED);
#else
  (void)part;
#endif
}

// Reads a byte of each page.
static void touch(etx_bytes file) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const volatile uint8_t* const bytes = file.data;
  for (size_t at = 0; at < file.size; at += page) (void)bytes[at];
}

// Where the host reads a range by one call, that call reports a file that
// became shorter, where touching it would end the process.
etx_status etx_module_file_prefault(etx_bytes file, etx_diag* diag) {
  if (file.size == 0) return ETX_OK;
#ifdef MADV_POPULATE_READ
  const etx_bytes_mut pages = pages_around(file);
  int result = 0;
  do {
    result = madvise(pages.data, pages.size, MADV_POPULATE_READ);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return ETX_OK;
  if (errno != EINVAL) {  // EINVAL: the kernel is older than the call
    return etx_diag_fail(
        diag, ETX_HOST_FAILED, "cannot read %z bytes into memory: %s",
        file.size,
        errno == EFAULT ? "the file became shorter" : strerror(errno));
  }
#else
  (void)diag;
#endif
  touch(file);
  return ETX_OK;
}

etx_status etx_module_file_lock(etx_bytes bytes, etx_diag* diag) {
  if (bytes.size == 0) return ETX_OK;
  const etx_bytes_mut pages = pages_around(bytes);
  if (mlock(pages.data, pages.size) == 0) return ETX_OK;
  return etx_diag_fail(diag, ETX_HOST_FAILED,
                       "cannot lock %z bytes in memory: %s; the process may be "
                       "allowed less (ulimit -l, RLIMIT_MEMLOCK)",
                       bytes.size, strerror(errno));
}

void etx_module_file_unlock(etx_bytes bytes) {
  if (bytes.size == 0) return;
  const etx_bytes_mut pages = pages_around(bytes);
  (void)munlock(pages.data, pages.size);
}

static etx_status map_open_file(int file, const char* path, etx_bytes* out_file,
                                etx_diag* diag) {
  struct stat status;
  if (fstat(file, &status) != 0) return fail_with_errno(path, "stat", diag);
  if (!S_ISREG(status.st_mode)) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "'%s' is not a regular file",
                         path);
  }
  *out_file = (etx_bytes){NULL, 0};
  if (status.st_size == 0) return ETX_OK;
  if ((uintmax_t)status.st_size > SIZE_MAX) {
    return etx_diag_fail(diag, ETX_HOST_FAILED,
                         "'%s' is larger than the address space", path);
  }
  const size_t size = (size_t)status.st_size;
  void* data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (data == MAP_FAILED) return fail_with_errno(path, "map", diag);
  *out_file = (etx_bytes){(const uint8_t*)data, size};
  etx_module_file_ask_large_pages(*out_file);
  return ETX_OK;
}

etx_status etx_module_file_map(const char* path, etx_bytes* out_file,
                               etx_diag* diag) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return fail_with_errno(path, "open", diag);
  const etx_status status = map_open_file(file, path, out_file, diag);
  close(file);
  return status;
}

void etx_module_file_unmap(etx_bytes file) {
  if (file.size > 0) munmap((void*)(uintptr_t)file.data, file.size);
}
