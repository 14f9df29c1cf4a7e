// CRC-32 as in zlib, PNG and zip (polynomial 0x04c11db7, reflected), so that
// any tool can check a snapshot.

#ifndef ETX_SHARED_MEMORY_CHECKSUM_H
#define ETX_SHARED_MEMORY_CHECKSUM_H

#include "format/base/span.h"

// Continues `crc` (0 at the start) over `bytes`.
uint32_t etx_crc32(uint32_t crc, etx_bytes bytes);

#endif
