#include "cli/base/exit_code.h"

#include <inttypes.h>
#include <stdio.h>

etx_exit etx_exit_from_status(etx_status status) {
  switch (status) {
    case ETX_OK:
      return ETX_EXIT_DONE;
    case ETX_OUT_OF_MEMORY:
    case ETX_HOST_FAILED:
    case ETX_INTERNAL:
      return ETX_EXIT_MACHINE_FAILED;
    case ETX_BAD_PLAN:
      return ETX_EXIT_NO_PLAN;
    default:
      return ETX_EXIT_REFUSED;
  }
}

etx_exit etx_exit_from_run_status(etx_status status) {
  switch (status) {
    case ETX_BAD_ARGUMENT:
    case ETX_OUT_OF_RANGE:
    case ETX_BAD_STATE:
    case ETX_TORN_STATE:
      return ETX_EXIT_RUN_REFUSED;
    default:
      return etx_exit_from_status(status);
  }
}

static void print_place(const char* path, const etx_diag* diag) {
  if (path != NULL) fprintf(stderr, "%s:", path);
  if (diag != NULL && diag->line != 0) {
    fprintf(stderr, path == NULL ? "line %" PRIu32 ":" : "%" PRIu32 ":",
            diag->line);
    if (diag->column != 0) fprintf(stderr, "%" PRIu32 ":", diag->column);
  } else if (diag != NULL && diag->offset != 0) {
    fprintf(stderr, "%sbyte %" PRIu64 ":", path == NULL ? "" : " ",
            diag->offset);
  }
  if (path != NULL ||
      (diag != NULL && (diag->line != 0 || diag->offset != 0))) {
    fputc(' ', stderr);
  }
}

etx_exit etx_error_report(const char* command, const char* path,
                          etx_status status, const etx_diag* diag) {
  fprintf(stderr, "etx %s: ", command);
  print_place(path, diag);
  const char* const text = diag != NULL && diag->text_size != 0
                               ? diag->text
                               : etx_status_text(status);
  fprintf(stderr, "%s\n", text);
  return etx_exit_from_status(status);
}

etx_exit etx_usage_error_report(const char* command, const char* format, ...) {
  char text[1024];
  va_list list;
  va_start(list, format);
  etx_format_text_list(text, sizeof text, format, list);
  va_end(list);
  fprintf(stderr, "etx %s: %s\n", command, text);
  return ETX_EXIT_REFUSED;
}
