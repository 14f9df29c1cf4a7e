// For POSIX hosts.

#define _DEFAULT_SOURCE  // flock
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64

#include "runtime/module/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/module/state_slots.h"

// Times that one transfer begins again after a signal. More are an error, so
// that no stream of signals keeps a call for ever.
enum { MOST_INTERRUPTIONS = 1000 };

typedef struct state_file {
  int descriptor;
  const char* path;
} state_file;

static etx_status failed(const char* what, const char* path, etx_diag* diag) {
  const int code = errno;
  return etx_diag_fail(diag, code == ENOENT ? ETX_NOT_FOUND : ETX_HOST_FAILED,
                       "cannot %s '%s': %s", what, path, strerror(code));
}

static etx_status read_at(void* context, uint64_t offset, etx_bytes_mut out,
                          etx_diag* diag) {
  const state_file* const file = context;
  size_t done = 0;
  int interruptions = 0;
  while (done < out.size) {
    const ssize_t got = pread(file->descriptor, out.data + done,
                              out.size - done, (off_t)(offset + done));
    if (got < 0 && errno == EINTR && ++interruptions < MOST_INTERRUPTIONS) {
      continue;
    }
    if (got == 0) errno = EIO;  // the file became shorter
    if (got <= 0) return failed("read", file->path, diag);
    done += (size_t)got;
  }
  return ETX_OK;
}

static etx_status write_at(void* context, uint64_t offset, etx_bytes bytes,
                           etx_diag* diag) {
  const state_file* const file = context;
  size_t done = 0;
  int interruptions = 0;
  while (done < bytes.size) {
    const ssize_t put = pwrite(file->descriptor, bytes.data + done,
                               bytes.size - done, (off_t)(offset + done));
    if (put < 0 && errno == EINTR && ++interruptions < MOST_INTERRUPTIONS) {
      continue;
    }
    if (put <= 0) return failed("write", file->path, diag);
    done += (size_t)put;
  }
  return ETX_OK;
}

// After a failed flush, Linux keeps pages that never reached the disk as if
// they had. Dropping them makes the next read show what is on the disk.
static etx_status flush(void* context, etx_diag* diag) {
  const state_file* const file = context;
  if (fsync(file->descriptor) != 0) return failed("flush", file->path, diag);
  (void)posix_fadvise(file->descriptor, 0, 0, POSIX_FADV_DONTNEED);
  return ETX_OK;
}

// Makes the name of a new file stay. Directories that cannot be read, and file
// systems without a flush of directories, go without.
static etx_status flush_name(const char* path, etx_diag* diag) {
  const char* const slash = strrchr(path, '/');
  const size_t size = slash == NULL ? 0 : (size_t)(slash - path) + 1;
  char* const name = malloc(size + 2);
  if (name == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY, "no memory for a path");
  }
  memcpy(name, size == 0 ? "." : path, size == 0 ? 1 : size);
  name[size == 0 ? 1 : size] = '\0';
  const int directory = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  free(name);
  if (directory < 0) return ETX_OK;
  const bool is_flushed = fsync(directory) == 0 || errno == EINVAL;
  const int code = errno;
  close(directory);
  errno = code;
  return is_flushed ? ETX_OK : failed("flush the directory of", path, diag);
}

static etx_status check_file(const state_file* file, uint64_t* out_bytes,
                             etx_diag* diag) {
  struct stat facts;
  if (fstat(file->descriptor, &facts) != 0) {
    return failed("read", file->path, diag);
  }
  if (!S_ISREG(facts.st_mode)) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "'%s' is not a file of saved state", file->path);
  }
  if (flock(file->descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return etx_diag_fail(diag, ETX_BAD_STATE,
                         "'%s' is being saved or restored by another process "
                         "or thread",
                         file->path);
  }
  // Only what the lock protects is read: another save may just have ended.
  if (fstat(file->descriptor, &facts) != 0) {
    return failed("read", file->path, diag);
  }
  *out_bytes = (uint64_t)facts.st_size;
  return ETX_OK;
}

typedef etx_status (*slots_call)(const etx_state_storage* storage,
                                 etx_shared_memory* shared,
                                 etx_bytes_mut memory, etx_diag* diag);

static etx_status save_slots(const etx_state_storage* storage,
                             etx_shared_memory* shared, etx_bytes_mut memory,
                             etx_diag* diag) {
  ETX_TRY(flush_name(storage->name, diag));
  return etx_state_slots_save(storage, shared, memory, diag);
}

static etx_status use_file(state_file* file, etx_shared_memory* shared,
                           slots_call call, etx_diag* diag) {
  etx_state_storage storage = {file, file->path, 0, read_at, write_at, flush};
  ETX_TRY(check_file(file, &storage.bytes, diag));
  const size_t needed = etx_state_slots_needed(shared);
  uint8_t* const memory = malloc(needed);
  if (memory == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "no memory for a snapshot of %z bytes", needed);
  }
  const etx_status status =
      call(&storage, shared, (etx_bytes_mut){memory, needed}, diag);
  free(memory);
  return status;
}

static etx_status use_path(etx_shared_memory* shared, const char* path,
                           int flags, slots_call call, etx_diag* diag) {
  state_file file = {-1, path};
  file.descriptor =
      open(path, flags | O_CLOEXEC | O_NONBLOCK,
           S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH);
  if (file.descriptor < 0) return failed("open", path, diag);
  const etx_status status = use_file(&file, shared, call, diag);
  close(file.descriptor);
  return status;
}

etx_status etx_state_file_save(const etx_shared_memory* shared,
                               const char* path, etx_diag* diag) {
  etx_shared_memory copy = *shared;  // saving reads only
  if (etx_shared_memory_is_torn(shared)) {
    return etx_diag_fail(diag, ETX_TORN_STATE,
                         "torn state cannot be saved; reset it first");
  }
  return etx_diag_seal(
      diag, use_path(&copy, path, O_RDWR | O_CREAT, save_slots, diag));
}

etx_status etx_state_file_restore(etx_shared_memory* shared, const char* path,
                                  etx_diag* diag) {
  return etx_diag_seal(
      diag, use_path(shared, path, O_RDONLY, etx_state_slots_restore, diag));
}
