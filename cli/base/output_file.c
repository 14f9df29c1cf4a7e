#include "cli/base/output_file.h"

#include <string.h>
#include <sys/stat.h>

#include "cli/base/signal_cleanup.h"

static char last_kept[ETX_OUTPUT_PATH_BYTES];

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

// A signal between the two steps leaves the file to the next run.
etx_status etx_output_file_open(etx_output_file* output, const char* path,
                                etx_diag* diag) {
  ETX_TRY(etx_durable_file_open(output, path, diag));
  etx_signal_cleanup_add(output->temporary);
  return ETX_OK;
}

etx_sink etx_output_file_sink(etx_output_file* output) {
  return etx_durable_file_sink(output);
}

etx_status etx_output_file_finish(etx_output_file* output) {
  return etx_durable_file_finish(output);
}

// A signal that removed temporary files between two renames would lose some of
// the set, so from here on it leaves them to the next run.
etx_status etx_output_files_keep(etx_output_file* outputs, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    etx_signal_cleanup_remove(outputs[i].temporary);
  }
  ETX_TRY(etx_durable_files_keep(outputs, count));
  const char* const path = count == 0 ? "" : outputs[0].path;
  if (strlen(path) < sizeof last_kept) memcpy(last_kept, path, strlen(path) + 1);
  return ETX_OK;
}

etx_status etx_output_file_keep(etx_output_file* output) {
  return etx_output_files_keep(output, 1);
}

void etx_output_file_discard(etx_output_file* output) {
  etx_signal_cleanup_remove(output->temporary);
  etx_durable_file_discard(output);
}

const char* etx_output_file_last_kept(void) { return last_kept; }
