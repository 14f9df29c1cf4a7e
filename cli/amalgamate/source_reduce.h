// Which items a build needs, and the text of those.

#ifndef ETX_CLI_AMALGAMATE_SOURCE_REDUCE_H
#define ETX_CLI_AMALGAMATE_SOURCE_REDUCE_H

#include "cli/amalgamate/source_items.h"
#include "format/base/sink.h"

// Marks what is reached from the items that are marked as live already.
ETX_MUST_USE etx_status etx_source_reduce(etx_source* source);

// Marks all definitions of a name as live. False if there is none with a body.
bool etx_source_need(etx_source* source, const char* name);

// The same for all names that begin so and that other files may see.
void etx_source_need_all(etx_source* source, const char* start);

// Writes the marked lines of the headers, or of the other texts.
ETX_MUST_USE etx_status etx_source_write(const etx_source* source,
                                         bool is_header, const etx_sink* sink);

#endif
