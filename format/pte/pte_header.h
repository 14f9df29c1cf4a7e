// The extended header of a .pte file.
//
//   byte   content
//   0      u32 offset of the root table
//   4      "ET12"
//   8      "eh00"                            ) the extended header, spliced
//   12     u32 length counted from byte 8    ) into the FlatBuffer after its
//   16     u64 bytes of the FlatBuffer part  ) identifier; absent in files
//   24     u64 base of the segments, or 0    ) without segments
//   32     u64 bytes of the segments         ) only if the length is >= 32
//   ...    the rest of the FlatBuffer
//   base   segments
//
// Without the header the whole file is the FlatBuffer and has no segments.
//
// Failure  ETX_BAD_FILE with the byte offset.

#ifndef ETX_FORMAT_PTE_PTE_HEADER_H
#define ETX_FORMAT_PTE_PTE_HEADER_H

#include "format/base/diag.h"

// Length of the header that is written, of the shortest one that is read, and
// of the smallest file that has room for it.
enum {
  ETX_PTE_HEADER_BYTES = 32,
  ETX_PTE_HEADER_LEAST = 24,
  ETX_PTE_LEAST_FILE = 64
};

typedef struct etx_pte_header {
  bool is_present;
  uint32_t length;         // bytes from byte 8 on; 0 if absent
  uint64_t program_bytes;  // of the FlatBuffer part, the header included
  uint64_t segment_base;   // 0: no segments
  uint64_t segment_bytes;  // from the base on; to the end of the file if the
                           // header is too short to say
} etx_pte_header;

// Reads the header of `file` and checks it against the file's size.
ETX_MUST_USE etx_status etx_pte_header_read(etx_bytes file,
                                            etx_pte_header* out_header,
                                            etx_diag* diag);

// Writes the extended header: magic, length 32 and the three sizes.
void etx_pte_header_write(const etx_pte_header* header,
                          uint8_t out_bytes[ETX_PTE_HEADER_BYTES]);

#endif
