// Cuts text into items.

#ifndef ETX_CLI_AMALGAMATE_SOURCE_READER_H
#define ETX_CLI_AMALGAMATE_SOURCE_READER_H

#include "cli/amalgamate/source_items.h"

// Reads a text. What it defines is known to the texts that are read later.
ETX_MUST_USE etx_status etx_source_read(etx_source* source, etx_text text,
                                        bool is_header);

#endif
