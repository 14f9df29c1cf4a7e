// Text that a command reads from its arguments, a file or standard input.

#ifndef ETX_CLI_TEXT_PROMPT_TEXT_H
#define ETX_CLI_TEXT_PROMPT_TEXT_H

#include <stdio.h>

#include "exporter/host/host_memory.h"
#include "format/base/diag.h"

// Reads a stream to its end.
ETX_MUST_USE etx_status etx_stream_read(FILE* stream, etx_pool* pool,
                                        etx_text* out, etx_diag* diag);

// Reads the next line, without its end ("\n" or "\r\n"). False at the end of
// the stream; *status says whether it failed.
bool etx_line_read(FILE* stream, etx_pool* pool, etx_text* out,
                   etx_status* status, etx_diag* diag);

#endif
