// Output files of commands: durable files (exporter/host/durable_file.h) that
// are also removed if a signal ends the program (signal_cleanup.h).

#ifndef ETX_CLI_BASE_OUTPUT_FILE_H
#define ETX_CLI_BASE_OUTPUT_FILE_H

#include "exporter/host/durable_file.h"

typedef etx_durable_file etx_output_file;

// As etx_durable_file_open. It must not be moved until it is kept or discarded.
ETX_MUST_USE etx_status etx_output_file_open(etx_output_file* output,
                                             const char* path, etx_diag* diag);

// ETX_BAD_ARGUMENT if writing `path` would replace the existing file `input`,
// even if the two paths are spelled differently. A symbolic link to the input
// may be replaced.
ETX_MUST_USE etx_status etx_output_file_check_overwrite(const char* path,
                                                        const char* input,
                                                        etx_diag* diag);

// A sink that writes to the file; borrows `output`.
etx_sink etx_output_file_sink(etx_output_file* output);

// As etx_durable_file_finish.
ETX_MUST_USE etx_status etx_output_file_finish(etx_output_file* output);

// As etx_durable_files_keep: of one file, and of several that belong together.
ETX_MUST_USE etx_status etx_output_file_keep(etx_output_file* output);
ETX_MUST_USE etx_status etx_output_files_keep(etx_output_file* outputs,
                                              size_t count);

// Removes the temporary file. Does nothing after `keep`.
void etx_output_file_discard(etx_output_file* output);

// The path of the file that was last put in place, or "". For messages about
// what fails afterwards.
const char* etx_output_file_last_kept(void);

#endif
