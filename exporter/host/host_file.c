// POSIX implementation. Directories are listed in byte order of the names, so
// that the same directory gives the same program on every machine.

#define _POSIX_C_SOURCE 200809L

#include "exporter/host/host_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static etx_path_kind kind_of(const char* path) {
  struct stat info;
  if (stat(path, &info) != 0) return ETX_PATH_MISSING;
  return S_ISDIR(info.st_mode) ? ETX_PATH_DIRECTORY : ETX_PATH_FILE;
}

etx_status etx_host_status(int error_number) {
  switch (error_number) {
    case ENOENT:
    case EEXIST:
    case ENOTDIR:
    case EISDIR:
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP:
    case ENAMETOOLONG:
      return ETX_NOT_FOUND;
    default:
      return ETX_HOST_FAILED;
  }
}

static etx_status host_failed(etx_diag* diag, const char* what,
                              const char* path) {
  const int reason = errno;
  return etx_diag_fail(diag, etx_host_status(reason), "cannot %s '%s': %s",
                       what, path, strerror(reason));
}

etx_status etx_path_kind_find(const char* path, etx_path_kind* out_kind,
                              etx_diag* diag) {
  *out_kind = kind_of(path);
  return *out_kind == ETX_PATH_MISSING && errno != ENOENT && errno != ENOTDIR
             ? host_failed(diag, "read", path)
             : ETX_OK;
}

// Reads up to the end of the stream. `expected` is only a first guess: a pipe
// has no size, and a file may grow.
static etx_status read_stream(etx_pool* pool, FILE* stream, const char* path,
                              size_t expected, etx_bytes* out_bytes,
                              etx_diag* diag) {
  size_t capacity = expected + 1, size = 0;
  uint8_t* bytes = etx_pool_take(pool, capacity);
  while (bytes != NULL) {
    size += fread(bytes + size, 1, capacity - size, stream);
    if (ferror(stream)) return host_failed(diag, "read", path);
    if (size < capacity) {
      out_bytes->data = bytes;
      out_bytes->size = size;
      return ETX_OK;
    }
    if (capacity > SIZE_MAX / 2) break;
    capacity *= 2;
    uint8_t* const bigger = etx_pool_take(pool, capacity);
    if (bigger != NULL) memcpy(bigger, bytes, size);
    bytes = bigger;
  }
  return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                       "not enough memory to read '%s'", path);
}

static void unmap(void* data, size_t size) { (void)munmap(data, size); }

// Maps an open file of `info`; `*out_bytes` stays empty if it cannot be mapped.
static etx_status map_stream(etx_pool* pool, FILE* stream,
                             const struct stat* info, etx_bytes* out_bytes) {
  if (!S_ISREG(info->st_mode) || info->st_size <= 0 ||
      (uint64_t)info->st_size > SIZE_MAX) {
    return ETX_OK;
  }
  const size_t size = (size_t)info->st_size;
  void* const data =
      mmap(NULL, size, PROT_READ, MAP_PRIVATE, fileno(stream), 0);
  if (data == MAP_FAILED) return ETX_OK;
  const etx_status status = etx_pool_on_close(pool, unmap, data, size);
  if (status != ETX_OK) {
    unmap(data, size);
    return status;
  }
  *out_bytes = (etx_bytes){data, size};
  return ETX_OK;
}

static etx_status open_file(etx_pool* pool, const char* path, bool is_mapped,
                            etx_bytes* out_bytes, etx_diag* diag) {
  struct stat info;
  etx_bytes mapped = {NULL, 0};
  FILE* const stream = fopen(path, "rb");
  if (stream == NULL) return host_failed(diag, "open", path);
  etx_status status = ETX_OK;
  if (fstat(fileno(stream), &info) != 0) {
    status = host_failed(diag, "read", path);
  } else if (S_ISDIR(info.st_mode)) {
    status = etx_diag_fail(diag, ETX_NOT_FOUND,
                           "cannot read '%s': it is a directory", path);
  } else {
    if (is_mapped) status = map_stream(pool, stream, &info, &mapped);
    if (mapped.size != 0) {
      *out_bytes = mapped;
    } else if (status == ETX_OK) {
      status = read_stream(pool, stream, path,
                           info.st_size > 0 ? (size_t)info.st_size : 4096,
                           out_bytes, diag);
    }
  }
  (void)fclose(stream);
  return status;
}

etx_status etx_file_read(etx_pool* pool, const char* path, etx_bytes* out_bytes,
                         etx_diag* diag) {
  return open_file(pool, path, false, out_bytes, diag);
}

etx_status etx_file_map(etx_pool* pool, const char* path, etx_bytes* out_bytes,
                        etx_diag* diag) {
  return open_file(pool, path, true, out_bytes, diag);
}

// ---------------------------------------------------------------- directories

static int by_bytes(const void* a, const void* b) {
  const etx_text* const x = a;
  const etx_text* const y = b;
  return etx_text_compare(*x, *y);
}

// An error of readdir fails the whole list: with a partial list, the program
// would silently lack methods.
static etx_status list_entries(etx_pool* pool, DIR* directory, const char* path,
                               etx_text** names, size_t* count,
                               etx_diag* diag) {
  size_t capacity = 0;
  for (;;) {
    errno = 0;
    const struct dirent* const entry = readdir(directory);
    if (entry == NULL && errno == 0) return ETX_OK;
    if (entry == NULL) return host_failed(diag, "list directory", path);
    const etx_text name = etx_text_of(entry->d_name);
    if (etx_text_is(name, ".") || etx_text_is(name, "..")) continue;
    ETX_TRY(etx_pool_grow(pool, names, *count, &capacity, sizeof **names));
    (*names)[*count] = etx_pool_copy_text(pool, name);
    if ((*names)[(*count)++].data == NULL) return ETX_OUT_OF_MEMORY;
  }
}

etx_status etx_directory_list(etx_pool* pool, const char* path,
                              etx_text** out_names, size_t* out_count,
                              etx_diag* diag) {
  DIR* const directory = opendir(path);
  if (directory == NULL) return host_failed(diag, "list directory", path);
  etx_text* names = NULL;
  size_t count = 0;
  const etx_status status =
      list_entries(pool, directory, path, &names, &count, diag);
  (void)closedir(directory);
  ETX_TRY(status);
  if (count != 0) qsort(names, count, sizeof *names, by_bytes);
  *out_names = names;
  *out_count = count;
  return ETX_OK;
}

etx_status etx_directory_make(const char* path, etx_diag* diag) {
  if (mkdir(path, 0777) == 0) return ETX_OK;
  if (errno == EEXIST && kind_of(path) == ETX_PATH_DIRECTORY) {
    return ETX_OK;
  }
  return host_failed(diag, "create directory", path);
}

// ---------------------------------------------------------------- paths

etx_text etx_path_join(etx_pool* pool, etx_text directory, etx_text name) {
  if (directory.size == 0 || (name.size != 0 && name.data[0] == '/')) {
    return etx_pool_copy_text(pool, name);
  }
  const bool has_slash = directory.data[directory.size - 1] == '/';
  const size_t size = directory.size + (has_slash ? 0 : 1) + name.size;
  char* const text = etx_pool_take(pool, size + 1);
  const etx_text path = {text, text == NULL ? 0 : size};
  if (text == NULL) return path;
  memcpy(text, directory.data, directory.size);
  if (!has_slash) text[directory.size] = '/';
  if (name.size != 0) memcpy(text + size - name.size, name.data, name.size);
  return path;
}

static size_t last_slash(etx_text path) {
  size_t at = path.size;
  while (at > 0 && path.data[at - 1] != '/') --at;
  return at;  // one past the slash, 0 if there is none
}

etx_text etx_path_name(etx_text path) {
  const size_t at = last_slash(path);
  const etx_text name = {path.data + at, path.size - at};
  return name;
}

etx_text etx_path_directory(etx_text path) {
  const size_t at = last_slash(path);
  const etx_text directory = {path.data, at > 1 ? at - 1 : at};
  return directory;
}
