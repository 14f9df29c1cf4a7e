// Checks paths of inputs, so that the message for a wrong path differs from that for an I/O error; finds the file name of a path.

#ifndef ETX_CLI_BASE_INPUT_PATH_H
#define ETX_CLI_BASE_INPUT_PATH_H

#include "format/base/diag.h"

// ETX_NOT_FOUND, with the reason of the system, if `path` is not readable.
ETX_MUST_USE etx_status etx_input_path_check(const char* path, etx_diag* diag);
// The same; also ETX_NOT_FOUND for anything but a regular file.
ETX_MUST_USE etx_status etx_input_file_check(const char* path, etx_diag* diag);

// The file name of a path, without directories; the path itself if it ends with
// a slash. Borrowed from `path`.
const char* etx_input_path_name(const char* path);

#endif
