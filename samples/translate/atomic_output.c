#include "samples/translate/atomic_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "samples/translate/interrupt_cleanup.h"

// Temporary names that killed runs with our process number may have left.
enum { MAX_NAMES = 100 };

static etx_status refuse(const etx_atomic_output* output, const char* reason,
                         etx_diag* diag) {
  const char* const path =
      output->path == NULL ? "standard output" : output->path;
  return etx_diag_fail(diag, ETX_HOST_FAILED, "cannot write '%s': %s", path,
                       reason);
}

static etx_status set_target(etx_atomic_output* output, const char* target,
                             etx_diag* diag) {
  const size_t size = strlen(target);
  if (size == 0) return refuse(output, strerror(ENOENT), diag);
  if (size >= sizeof output->target) {
    return refuse(output, strerror(ENAMETOOLONG), diag);
  }
  memcpy(output->target, target, size + 1);
  return ETX_OK;
}

static etx_status find_target(etx_atomic_output* output, etx_diag* diag) {
  struct stat info;
  char* const target = realpath(output->path, NULL);
  if (target != NULL) {
    const etx_status status = set_target(output, target, diag);
    free(target);
    ETX_TRY(status);
    if (stat(output->target, &info) != 0 || S_ISREG(info.st_mode)) {
      return ETX_OK;
    }
    return refuse(output, "it is not a regular file", diag);
  }
  const int error = errno;
  if (lstat(output->path, &info) != 0 && errno == ENOENT) {
    return set_target(output, output->path, diag);
  }
  return refuse(output,
                error == ENOENT ? "it is a link to no file" : strerror(error),
                diag);
}

// A descriptor of a new file, or -1.
static int make_temporary(etx_atomic_output* output) {
  for (int64_t i = 0; i < MAX_NAMES; ++i) {
    etx_format_text(output->temporary, sizeof output->temporary,
                    i == 0 ? "%s.%i.unfinished" : "%s.%i-%i.unfinished",
                    output->target, (int64_t)getpid(), i);
    const int descriptor =
        open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
             S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
  return -1;
}

// Clears the name of the temporary file, which no longer exists.
static void forget(etx_atomic_output* output) {
  etx_interrupt_cleanup_remove_file(NULL);
  output->temporary[0] = '\0';
}

etx_status etx_atomic_output_open(etx_atomic_output* output, const char* path,
                                  etx_diag* diag) {
  output->file = stdout;
  output->path = path;
  output->temporary[0] = '\0';
  if (path == NULL) return ETX_OK;
  ETX_TRY(find_target(output, diag));
  const int descriptor = make_temporary(output);
  if (descriptor < 0) {
    const int error = errno;
    output->temporary[0] = '\0';
    return refuse(output, strerror(error), diag);
  }
  etx_interrupt_cleanup_remove_file(output->temporary);
  output->file = fdopen(descriptor, "wb");
  if (output->file != NULL) return ETX_OK;
  const int error = errno;
  close(descriptor);
  etx_atomic_output_discard(output);
  return refuse(output, strerror(error), diag);
}

static bool is_written(etx_atomic_output* output) {
  bool is_good = fflush(output->file) == 0 && ferror(output->file) == 0;
  if (output->temporary[0] == '\0') return is_good;
  is_good = fsync(fileno(output->file)) == 0 && is_good;
  is_good = fclose(output->file) == 0 && is_good;
  output->file = NULL;
  return is_good && rename(output->temporary, output->target) == 0;
}

etx_status etx_atomic_output_commit(etx_atomic_output* output, etx_diag* diag) {
  errno = 0;
  if (is_written(output)) {
    forget(output);
    return ETX_OK;
  }
  const int error = errno;
  etx_atomic_output_discard(output);
  return refuse(output, strerror(error), diag);
}

void etx_atomic_output_discard(etx_atomic_output* output) {
  if (output->temporary[0] == '\0') return;
  if (output->file != NULL) fclose(output->file);
  unlink(output->temporary);
  forget(output);
}
