#include "samples/translate/answer_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char ending[] = ".unfinished";

etx_status etx_answer_file_open(etx_answer_file* answers, const char* path,
                                etx_diag* diag) {
  *answers = (etx_answer_file){.file = stdout, .path = path};
  if (path == NULL) return ETX_OK;
  const size_t size = strlen(path);
  answers->unfinished = malloc(size + sizeof ending);
  if (answers->unfinished == NULL) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory for a name");
  }
  memcpy(answers->unfinished, path, size);
  memcpy(answers->unfinished + size, ending, sizeof ending);
  answers->file = fopen(answers->unfinished, "wb");
  if (answers->file != NULL) return ETX_OK;
  const int error = errno;
  free(answers->unfinished);
  answers->unfinished = NULL;
  return etx_diag_fail(diag, ETX_HOST_FAILED, "cannot write '%s%s': %s", path,
                       ending, strerror(error));
}

static bool is_written(etx_answer_file* answers) {
  bool is_fine = fflush(answers->file) == 0 && ferror(answers->file) == 0;
  if (answers->unfinished == NULL) return is_fine;
  is_fine = fsync(fileno(answers->file)) == 0 && is_fine;
  is_fine = fclose(answers->file) == 0 && is_fine;
  answers->file = NULL;
  return is_fine && rename(answers->unfinished, answers->path) == 0;
}

etx_status etx_answer_file_finish(etx_answer_file* answers, etx_diag* diag) {
  errno = 0;
  if (is_written(answers)) {
    free(answers->unfinished);
    answers->unfinished = NULL;
    return ETX_OK;
  }
  const int error = errno;
  etx_answer_file_drop(answers);
  return etx_diag_fail(
      diag, ETX_HOST_FAILED, "cannot write '%s': %s",
      answers->path == NULL ? "standard output" : answers->path,
      strerror(error));
}

void etx_answer_file_drop(etx_answer_file* answers) {
  if (answers->unfinished == NULL) return;
  if (answers->file != NULL) fclose(answers->file);
  remove(answers->unfinished);
  free(answers->unfinished);
  answers->unfinished = NULL;
}
