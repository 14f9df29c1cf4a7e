#include "samples/translate/answer_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "samples/translate/interruption.h"

// Of names that killed runs with our number left.
enum { MOST_NAMES = 100 };

static etx_status refuse(const etx_answer_file* answers, const char* reason,
                         etx_diag* diag) {
  const char* const path =
      answers->path == NULL ? "standard output" : answers->path;
  return etx_diag_fail(diag, ETX_HOST_FAILED, "cannot write '%s': %s", path,
                       reason);
}

static etx_status set_target(etx_answer_file* answers, const char* target,
                             etx_diag* diag) {
  const size_t size = strlen(target);
  if (size == 0) return refuse(answers, strerror(ENOENT), diag);
  if (size >= sizeof answers->target) {
    return refuse(answers, strerror(ENAMETOOLONG), diag);
  }
  memcpy(answers->target, target, size + 1);
  return ETX_OK;
}

static etx_status find_target(etx_answer_file* answers, etx_diag* diag) {
  struct stat facts;
  char* const target = realpath(answers->path, NULL);
  if (target != NULL) {
    const etx_status status = set_target(answers, target, diag);
    free(target);
    ETX_TRY(status);
    if (stat(answers->target, &facts) != 0 || S_ISREG(facts.st_mode)) {
      return ETX_OK;
    }
    return refuse(answers, "it is no regular file", diag);
  }
  const int error = errno;
  if (lstat(answers->path, &facts) != 0 && errno == ENOENT) {
    return set_target(answers, answers->path, diag);
  }
  return refuse(answers,
                error == ENOENT ? "it is a link to no file" : strerror(error),
                diag);
}

// A descriptor of a file that was not there, or -1.
static int make_unfinished(etx_answer_file* answers) {
  for (int64_t i = 0; i < MOST_NAMES; ++i) {
    etx_format_text(answers->unfinished, sizeof answers->unfinished,
                    i == 0 ? "%s.%i.unfinished" : "%s.%i-%i.unfinished",
                    answers->target, (int64_t)getpid(), i);
    const int descriptor =
        open(answers->unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
             S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
  return -1;
}

// There is no unfinished file any more.
static void forget(etx_answer_file* answers) {
  etx_interruption_removes(NULL);
  answers->unfinished[0] = '\0';
}

etx_status etx_answer_file_open(etx_answer_file* answers, const char* path,
                                etx_diag* diag) {
  answers->file = stdout;
  answers->path = path;
  answers->unfinished[0] = '\0';
  if (path == NULL) return ETX_OK;
  ETX_TRY(find_target(answers, diag));
  const int descriptor = make_unfinished(answers);
  if (descriptor < 0) {
    const int error = errno;
    answers->unfinished[0] = '\0';
    return refuse(answers, strerror(error), diag);
  }
  etx_interruption_removes(answers->unfinished);
  answers->file = fdopen(descriptor, "wb");
  if (answers->file != NULL) return ETX_OK;
  const int error = errno;
  close(descriptor);
  etx_answer_file_drop(answers);
  return refuse(answers, strerror(error), diag);
}

static bool is_written(etx_answer_file* answers) {
  bool is_fine = fflush(answers->file) == 0 && ferror(answers->file) == 0;
  if (answers->unfinished[0] == '\0') return is_fine;
  is_fine = fsync(fileno(answers->file)) == 0 && is_fine;
  is_fine = fclose(answers->file) == 0 && is_fine;
  answers->file = NULL;
  return is_fine && rename(answers->unfinished, answers->target) == 0;
}

etx_status etx_answer_file_finish(etx_answer_file* answers, etx_diag* diag) {
  errno = 0;
  if (is_written(answers)) {
    forget(answers);
    return ETX_OK;
  }
  const int error = errno;
  etx_answer_file_drop(answers);
  return refuse(answers, strerror(error), diag);
}

void etx_answer_file_drop(etx_answer_file* answers) {
  if (answers->unfinished[0] == '\0') return;
  if (answers->file != NULL) fclose(answers->file);
  unlink(answers->unfinished);
  forget(answers);
}
