#define _DEFAULT_SOURCE  // flock, getentropy

#include "exporter/host/durable_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/host/host_file.h"

// What may be removed when nobody holds its lock, and what has no lock.
static const char locked_start[] = ".etx-";
static const char unlocked_start[] = ".etx_";
static const char name_end[] = ".tmp";
enum {
  NAME_DIGITS = 16,
  NAME_BYTES = sizeof locked_start - 1 + NAME_DIGITS + sizeof name_end - 1
};

static etx_status failed(const etx_durable_file* file, int code) {
  return etx_diag_fail(file->diag, etx_host_status(code),
                       "cannot write '%s': %s", file->path, strerror(code));
}

// Bytes of the path before the name, with the slash; 0: the working directory.
static size_t directory_size(const char* path) {
  const char* const slash = strrchr(path, '/');
  return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

// The directory of `path`, open; -1 with errno.
static int open_directory(const char* path) {
  char name[ETX_OUTPUT_PATH_BYTES];
  const size_t size = directory_size(path);
  if (size >= sizeof name) {
    errno = ENAMETOOLONG;
    return -1;
  }
  memcpy(name, size == 0 ? "." : path, size == 0 ? 1 : size);
  name[size == 0 ? 1 : size] = '\0';
  return open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

// ------------------------------------------------------- temporary files

// A new temporary name beside `path`; false with errno.
static bool make_name(const char* path, const char* first,
                      char out[ETX_OUTPUT_PATH_BYTES]) {
  static const char hex[] = "0123456789abcdef";
  uint8_t random[NAME_DIGITS / 2];
  const size_t start = directory_size(path);
  if (start + NAME_BYTES >= ETX_OUTPUT_PATH_BYTES) {
    errno = ENAMETOOLONG;
    return false;
  }
  if (getentropy(random, sizeof random) != 0) return false;
  memcpy(out, path, start);
  char* at = out + start;
  memcpy(at, first, sizeof locked_start - 1);
  at += sizeof locked_start - 1;
  for (size_t i = 0; i < sizeof random; ++i) {
    *at++ = hex[random[i] >> 4];
    *at++ = hex[random[i] & 15];
  }
  memcpy(at, name_end, sizeof name_end);
  return true;
}

static bool is_locked_name(const char* name) {
  const size_t start = sizeof locked_start - 1;
  return strlen(name) == NAME_BYTES && memcmp(name, locked_start, start) == 0 &&
         strspn(name + start, "0123456789abcdef") == NAME_DIGITS &&
         strcmp(name + start + NAME_DIGITS, name_end) == 0;
}

// True if `descriptor` is the regular file `name` of this user.
static bool is_own_file(int directory, const char* name, int descriptor) {
  struct stat opened, named;
  return fstat(descriptor, &opened) == 0 && S_ISREG(opened.st_mode) &&
         opened.st_uid == geteuid() &&
         fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// Whoever gets the lock of a file knows that its writer has ended. The writer
// of a file that was just created may not have locked it yet: make_file notices
// that the file is gone.
static void remove_if_left(int directory, const char* name) {
  const int descriptor =
      openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return;
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0 &&
      is_own_file(directory, name, descriptor)) {
    (void)unlinkat(directory, name, 0);
  }
  close(descriptor);
}

// Removes what killed runs left in the directory of `path`. What fails here is
// tried again by the next run.
static void remove_left_files(const char* path) {
  const int descriptor = open_directory(path);
  if (descriptor < 0) return;
  DIR* const list = fdopendir(descriptor);
  if (list == NULL) {
    close(descriptor);
    return;
  }
  const struct dirent* entry;
  while ((entry = readdir(list)) != NULL) {
    if (!is_locked_name(entry->d_name)) continue;
    remove_if_left(descriptor, entry->d_name);
  }
  closedir(list);
}

static int create(const char* name) {
  return open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
              S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH);
}

typedef enum lock_result { LOCKED, TAKEN, NO_LOCKS } lock_result;

// TAKEN: another process took the new file for one that was left.
static lock_result lock_new_file(int descriptor) {
  struct stat facts;
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK ? TAKEN : NO_LOCKS;
  }
  const bool is_gone = fstat(descriptor, &facts) == 0 && facts.st_nlink == 0;
  return is_gone ? TAKEN : LOCKED;
}

// A descriptor of a new file, or -1 with errno.
static int make_file(etx_durable_file* file) {
  const char* start = locked_start;
  for (int i = 0; i < 100; ++i) {
    if (!make_name(file->path, start, file->temporary)) return -1;
    const int descriptor = create(file->temporary);
    if (descriptor < 0 && errno == EEXIST) continue;
    if (descriptor < 0 || start == unlocked_start) return descriptor;
    const lock_result result = lock_new_file(descriptor);
    if (result == LOCKED) return descriptor;
    if (result == NO_LOCKS) {
      unlink(file->temporary);
      start = unlocked_start;
    }
    close(descriptor);
  }
  errno = EEXIST;
  return -1;
}

// ---------------------------------------------------------------- writing

// Gives the stream a large buffer. The page cache may keep a large write in
// large pages, and a mapping of the file then uses them: weights in large pages
// are read up to 1.5 times as fast.
static void buffer_large_pieces(etx_durable_file* file) {
  enum { PIECE = 4 << 20 };
  file->buffer = malloc(PIECE);
  if (file->buffer == NULL) return;
  if (setvbuf(file->file, file->buffer, _IOFBF, PIECE) != 0) {
    free(file->buffer);
    file->buffer = NULL;
  }
}

// A device or a pipe cannot be replaced by a rename.
static bool is_replaceable(const char* path) {
  struct stat facts;
  return stat(path, &facts) != 0 || S_ISREG(facts.st_mode);
}

etx_status etx_durable_file_open(etx_durable_file* file, const char* path,
                                 etx_diag* diag) {
  *file = (etx_durable_file){.path = path, .lock = -1, .diag = diag};
  if (!is_replaceable(path)) {
    return etx_diag_fail(diag, ETX_NOT_FOUND,
                         "cannot write '%s': it is not a regular file", path);
  }
  remove_left_files(path);
  const int descriptor = make_file(file);
  if (descriptor < 0) {
    file->temporary[0] = '\0';
    return failed(file, errno);
  }
  file->file = fdopen(descriptor, "wb");
  if (file->file != NULL) {
    buffer_large_pieces(file);
    return ETX_OK;
  }
  const int code = errno;
  close(descriptor);
  etx_durable_file_discard(file);
  return failed(file, code);
}

static etx_status write_bytes(void* context, etx_bytes bytes) {
  etx_durable_file* const file = context;
  if (fwrite(bytes.data, 1, bytes.size, file->file) == bytes.size) {
    return ETX_OK;
  }
  return failed(file, errno);
}

etx_sink etx_durable_file_sink(etx_durable_file* file) {
  const etx_sink sink = {write_bytes, file};
  return sink;
}

static bool close_stream(etx_durable_file* file) {
  const bool is_closed = fclose(file->file) == 0;
  const int reason = errno;
  file->file = NULL;
  free(file->buffer);
  file->buffer = NULL;
  errno = reason;
  return is_closed;
}

// The lock belongs to the open file, which the second descriptor keeps open.
etx_status etx_durable_file_finish(etx_durable_file* file) {
  // An earlier failed write set the error flag of the stream.
  const bool was_written = ferror(file->file) == 0;
  errno = 0;
  bool is_written = fflush(file->file) == 0 && was_written &&
                    fsync(fileno(file->file)) == 0;
  if (is_written) {
    file->lock = fcntl(fileno(file->file), F_DUPFD_CLOEXEC, 0);
    is_written = file->lock >= 0;
  }
  const int code = errno != 0 ? errno : EIO;
  if (close_stream(file) && is_written) return ETX_OK;
  return failed(file, is_written ? errno : code);
}

static void unlock(etx_durable_file* file) {
  if (file->lock >= 0) close(file->lock);
  file->lock = -1;
}

void etx_durable_file_discard(etx_durable_file* file) {
  if (file->file != NULL) (void)close_stream(file);
  if (file->temporary[0] != '\0') unlink(file->temporary);
  file->temporary[0] = '\0';
  unlock(file);
}

// ---------------------------------------------------------------- renaming

// Gives the file that is to be replaced a second name.
static bool keep_old(etx_durable_file* file, char name[ETX_OUTPUT_PATH_BYTES]) {
  const bool is_named =
      make_name(file->path, locked_start, name) && link(file->path, name) == 0;
  if (!is_named) name[0] = '\0';
  return is_named || errno == ENOENT;
}

// Renames the file; afterwards `temporary` is the former one.
static bool replace(etx_durable_file* file, bool keeps_old) {
  char old[ETX_OUTPUT_PATH_BYTES] = "";
  file->can_go_back = keeps_old && keep_old(file, old);
  if (rename(file->temporary, file->path) == 0) {
    memcpy(file->temporary, old, strlen(old) + 1);
    return true;
  }
  const int reason = errno;
  if (old[0] != '\0') unlink(old);
  errno = reason;
  return false;
}

static bool go_back(etx_durable_file* file) {
  if (!file->can_go_back) return false;
  if (file->temporary[0] == '\0') return unlink(file->path) == 0;
  if (rename(file->temporary, file->path) != 0) return false;
  file->temporary[0] = '\0';
  return true;
}

// Sets the first `kept` files back, the last one first.
static void go_back_all(etx_durable_file* files, size_t kept) {
  size_t new_count = 0;
  for (size_t i = kept; i > 0; --i) {
    if (!go_back(&files[i - 1])) ++new_count;
  }
  if (new_count == 0) return;
  etx_diag_append(files[0].diag,
                  "; %z files before it were written and could not be set back",
                  new_count);
}

// A directory that may be written but not read cannot be flushed, and some file
// systems have no flush of directories.
static etx_status flush_directory(const etx_durable_file* file) {
  const int directory = open_directory(file->path);
  if (directory < 0) return ETX_OK;
  const bool is_flushed = fsync(directory) == 0 || errno == EINVAL;
  const int code = errno;
  close(directory);
  if (is_flushed) return ETX_OK;
  return etx_diag_fail(file->diag, ETX_HOST_FAILED,
                       "'%s' was written, but its directory could not be "
                       "flushed to the disk: %s",
                       file->path, strerror(code));
}

static bool has_directory_of(const etx_durable_file* a,
                             const etx_durable_file* b) {
  const size_t size = directory_size(a->path);
  return directory_size(b->path) == size &&
         memcmp(a->path, b->path, size) == 0;
}

static etx_status flush_directories(const etx_durable_file* files,
                                    size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (i > 0 && has_directory_of(&files[i - 1], &files[i])) continue;
    ETX_TRY(flush_directory(&files[i]));
  }
  return ETX_OK;
}

etx_status etx_durable_files_keep(etx_durable_file* files, size_t count) {
  etx_status status = ETX_OK;
  size_t kept = 0;
  while (kept < count && replace(&files[kept], count > 1)) ++kept;
  if (kept < count) {
    status = failed(&files[kept], errno);
    go_back_all(files, kept);
  } else {
    status = flush_directories(files, count);
  }
  for (size_t i = 0; i < count; ++i) etx_durable_file_discard(&files[i]);
  return status;
}
