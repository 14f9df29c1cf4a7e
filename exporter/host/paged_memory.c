// POSIX implementation; Linux makes files that never have a name.

#define _GNU_SOURCE

#include "exporter/host/paged_memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "format/base/checked_math.h"

// Smaller weights are not worth a mapping.
enum { LEAST_BYTES = 256 * 1024 };

typedef struct page_range {
  struct page_range* older;
  uint8_t* data;
  size_t size;  // whole pages
} page_range;

typedef struct etx_page_file {
  const char* directory;
  char* path;  // the template of mkstemp
  int descriptor;
  bool has_failed;  // no file can be made
  size_t size;
  page_range* newest;
} etx_page_file;

static void unmap(void* data, size_t size) { (void)munmap(data, size); }

static void close_file(void* data, size_t size) {
  const etx_page_file* const file = data;
  (void)size;
  (void)close(file->descriptor);
}

etx_status etx_pages_use(etx_pool* pool, etx_text directory) {
  static const char name[] = "/.etx-pages-XXXXXX";
  if (directory.size == 0) directory = etx_text_of(".");
  etx_page_file* const file = etx_pool_take(pool, sizeof *file);
  char* const path = etx_pool_take(pool, directory.size + sizeof name);
  const char* const copy = etx_pool_copy_text(pool, directory).data;
  if (file == NULL || path == NULL || copy == NULL) return ETX_OUT_OF_MEMORY;
  memcpy(path, directory.data, directory.size);
  memcpy(path + directory.size, name, sizeof name);
  *file = (etx_page_file){.directory = copy, .path = path, .descriptor = -1};
  pool->pages = file;
  return ETX_OK;
}

// Elsewhere, and on file systems without such files, it has a name for a
// moment.
static int open_descriptor(etx_page_file* file) {
#ifdef O_TMPFILE
  const int unnamed =
      open(file->directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (unnamed >= 0) return unnamed;
#endif
  const int descriptor = mkstemp(file->path);
  if (descriptor < 0) return -1;
  (void)unlink(file->path);
  if (fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0) return descriptor;
  (void)close(descriptor);
  return -1;
}

static bool open_file(etx_pool* pool, etx_page_file* file) {
  if (file->descriptor >= 0) return true;
  if (file->has_failed) return false;
  file->has_failed = true;
  file->descriptor = open_descriptor(file);
  if (file->descriptor < 0) return false;
  if (etx_pool_on_close(pool, close_file, file, 0) != ETX_OK) {
    (void)close(file->descriptor);
    file->descriptor = -1;
    return false;
  }
  return true;
}

// True if the file may grow to `end` bytes. The program is written to the same
// disk, so most of its room stays free. A file beyond the limit of the process
// would end it by a signal.
static bool has_room(const etx_page_file* file, size_t end) {
  enum { SHARE = 4 };
  struct statvfs disk;
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
      fstatvfs(file->descriptor, &disk) != 0) {
    return false;
  }
  return (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= end) &&
         (double)disk.f_bavail * (double)disk.f_frsize > SHARE * (double)end;
}

// Maps new bytes at the end of the file. They get their place on the disk
// first: a write to a page without one would end the process.
static void* map_more(etx_pool* pool, etx_page_file* file, size_t bytes) {
  const long page = sysconf(_SC_PAGESIZE);
  size_t size = 0, end = 0;
  if (page <= 0 || !etx_align_up(bytes, (size_t)page, &size) ||
      !etx_add_size(file->size, size, &end) || (off_t)end < 0 ||
      !has_room(file, end) ||
      posix_fallocate(file->descriptor, (off_t)file->size, (off_t)size) != 0) {
    return NULL;
  }
  page_range* const range = etx_pool_take(pool, sizeof *range);
  if (range == NULL) return NULL;
  void* const data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
                          file->descriptor, (off_t)file->size);
  if (data == MAP_FAILED) return NULL;
  if (etx_pool_on_close(pool, unmap, data, size) != ETX_OK) {
    unmap(data, size);
    return NULL;
  }
  *range = (page_range){file->newest, data, size};
  file->newest = range;
  file->size = end;
  return data;
}

void* etx_pages_take(etx_pool* pool, size_t bytes) {
  etx_page_file* const file = pool->pages;
  void* data = NULL;
  if (file != NULL && bytes >= LEAST_BYTES && open_file(pool, file)) {
    data = map_more(pool, file, bytes);
  }
  return data != NULL ? data : etx_pool_take(pool, bytes);
}

void etx_pages_rest(const etx_pool* pool, const void* data, size_t bytes) {
#ifdef MADV_DONTNEED
  const uint8_t* const start = data;
  const page_range* range = pool->pages == NULL ? NULL : pool->pages->newest;
  while (range != NULL &&
         (start < range->data || start >= range->data + range->size)) {
    range = range->older;
  }
  if (range == NULL || bytes == 0) return;
  // Whole pages: those at both ends, which others may use, come back too.
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t first = (size_t)(start - range->data) / page * page;
  size_t end = (size_t)(start - range->data) + bytes;
  end = end > range->size ? range->size : (end + page - 1) / page * page;
  (void)madvise(range->data + first, end - first, MADV_DONTNEED);
#else
  (void)pool, (void)data, (void)bytes;
#endif
}
