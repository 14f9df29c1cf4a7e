#include "cli/base/input_path.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/host/host_file.h"

etx_status etx_input_path_check(const char* path, etx_diag* diag) {
  if (access(path, R_OK) == 0) return ETX_OK;
  const int reason = errno;
  return etx_diag_fail(diag, etx_host_status(reason), "cannot be opened: %s",
                       strerror(reason));
}

etx_status etx_input_file_check(const char* path, etx_diag* diag) {
  struct stat facts;
  ETX_TRY(etx_input_path_check(path, diag));
  if (stat(path, &facts) != 0) {
    const int reason = errno;
    return etx_diag_fail(diag, etx_host_status(reason),
                         "cannot be examined: %s", strerror(reason));
  }
  if (S_ISREG(facts.st_mode)) return ETX_OK;
  return etx_diag_fail(diag, ETX_NOT_FOUND, "is not a regular file");
}

const char* etx_input_path_name(const char* path) {
  const char* const slash = strrchr(path, '/');
  return slash == NULL || slash[1] == '\0' ? path : slash + 1;
}
