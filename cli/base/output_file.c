#include "cli/base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/signal_cleanup.h"
#include "exporter/host/host_file.h"

static etx_status failed(etx_output_file* output, const char* what, int code) {
  return etx_diag_fail(output->diag, etx_host_status(code),
                       "cannot %s '%s': %s", what, output->path,
                       strerror(code));
}

// Gives the stream a large buffer. The page cache may keep a large write in
// large pages, and a mapping of the file then uses them: weights in large pages
// are read up to 1.5 times as fast.
static void buffer_large_pieces(etx_output_file* output) {
  enum { PIECE = 4 << 20 };
  output->buffer = malloc(PIECE);
  if (output->buffer == NULL) return;
  if (setvbuf(output->file, output->buffer, _IOFBF, PIECE) != 0) {
    free(output->buffer);
    output->buffer = NULL;
  }
}

static bool close_file(etx_output_file* output) {
  const bool is_closed = fclose(output->file) == 0;
  const int reason = errno;
  output->file = NULL;
  free(output->buffer);
  output->buffer = NULL;
  errno = reason;
  return is_closed;
}

// Called when the temporary file no longer exists.
static void forget(etx_output_file* output) {
  etx_signal_cleanup_remove(output->temporary);
  output->temporary[0] = '\0';
}

// A device or a pipe cannot be replaced by a rename.
static bool is_replaceable(const char* path) {
  struct stat facts;
  return stat(path, &facts) != 0 || S_ISREG(facts.st_mode);
}

etx_status etx_output_file_check_overwrite(const char* path, const char* input,
                                           etx_diag* diag) {
  struct stat old, source;
  if (lstat(path, &old) != 0 || stat(input, &source) != 0 ||
      old.st_dev != source.st_dev || old.st_ino != source.st_ino) {
    return ETX_OK;
  }
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "cannot write '%s': it is the input '%s'", path, input);
}

etx_status etx_output_file_open(etx_output_file* output, const char* path,
                                etx_diag* diag) {
  output->path = path;
  output->file = NULL;
  output->buffer = NULL;
  output->diag = diag;
  output->temporary[0] = '\0';
  if (!is_replaceable(path)) {
    return etx_diag_fail(diag, ETX_NOT_FOUND,
                         "cannot write '%s': it is not a regular file", path);
  }
  const size_t size =
      etx_format_text(output->temporary, sizeof output->temporary, "%s.%i.tmp",
                      path, (int64_t)getpid());
  if (size + 1 >= sizeof output->temporary) {
    output->temporary[0] = '\0';
    return failed(output, "write", ENAMETOOLONG);
  }
  etx_signal_cleanup_add(output->temporary);
  const int descriptor =
      open(output->temporary, O_WRONLY | O_CREAT | O_EXCL,
           S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH);
  if (descriptor >= 0) output->file = fdopen(descriptor, "wb");
  if (output->file != NULL) {
    buffer_large_pieces(output);
    return ETX_OK;
  }
  const int code = errno;
  if (descriptor >= 0) {
    close(descriptor);
    unlink(output->temporary);
  }
  forget(output);
  return failed(output, "write", code);
}

static etx_status write_bytes(void* context, etx_bytes bytes) {
  etx_output_file* const output = context;
  if (fwrite(bytes.data, 1, bytes.size, output->file) == bytes.size) {
    return ETX_OK;
  }
  return failed(output, "write", errno);
}

etx_sink etx_output_file_sink(etx_output_file* output) {
  const etx_sink sink = {write_bytes, output};
  return sink;
}

etx_status etx_output_file_finish(etx_output_file* output) {
  // An earlier failed write set the error flag of the stream.
  const bool was_written = ferror(output->file) == 0;
  const bool is_written = fflush(output->file) == 0 && was_written &&
                          fsync(fileno(output->file)) == 0;
  const int code = was_written || errno != 0 ? errno : EIO;
  if (close_file(output) && is_written) return ETX_OK;
  return failed(output, "write", is_written ? errno : code);
}

etx_status etx_output_file_keep(etx_output_file* output) {
  if (rename(output->temporary, output->path) != 0) {
    const int code = errno;
    etx_output_file_discard(output);
    return failed(output, "write", code);
  }
  forget(output);
  return ETX_OK;
}

void etx_output_file_discard(etx_output_file* output) {
  if (output->file != NULL) (void)close_file(output);
  if (output->temporary[0] != '\0') unlink(output->temporary);
  forget(output);
}
