// A hash of bytes, by which equal constants are found. It is no part of any
// file, so it may change.

#ifndef ETX_EXPORTER_HOST_CONTENT_HASH_H
#define ETX_EXPORTER_HOST_CONTENT_HASH_H

#include "format/base/span.h"

// Equal bytes have equal hashes. All bits of the result depend on all bytes.
uint64_t etx_content_hash(etx_bytes bytes);

#endif
