// A word that names what to read: told apart from failures of the machine.

#ifndef ETX_CLI_BASE_INPUT_PATH_H
#define ETX_CLI_BASE_INPUT_PATH_H

#include "format/base/diag.h"

// ETX_NOT_FOUND, with the system's reason, if `path` names nothing that can be
// read.
ETX_MUST_USE etx_status etx_input_path_check(const char* path, etx_diag* diag);
// The same, and if it names anything but a file.
ETX_MUST_USE etx_status etx_input_file_check(const char* path, etx_diag* diag);

#endif
