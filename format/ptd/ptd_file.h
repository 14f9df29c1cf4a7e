// A data file (.ptd), read in place: tensors and other bytes by name, which a
// program keeps outside of its own file.
//
//   byte   content
//   0      u32 offset of the root table
//   4      "FT01"
//   8      "FH01"                            ) spliced into the FlatBuffer
//   12     u32 length counted from byte 8    ) after its identifier, and never
//   16     u64 bytes of the splice           ) absent
//   24     u64 bytes of the FlatBuffer without the splice
//   32     u64 base of the segments
//   40     u64 bytes of the segments
//   ...    the rest of the FlatBuffer
//   base   segments
//
// etx_ptd_open verifies everything that needs no program; after that,
// it accessors are plain and cannot fail.
//
// Ownership  a file borrows its bytes, which must outlive it, be aligned to 16
//            and not change.
// Threads    an opened file is const and may be read by many.

#ifndef ETX_FORMAT_PTD_PTD_FILE_H
#define ETX_FORMAT_PTD_PTD_FILE_H

#include "format/base/diag.h"
#include "format/tensor/dtype.h"

// An opened data file. Fields are private.
typedef struct etx_ptd {
  etx_bytes file;         // all of it, the caller's
  uint32_t flat_bytes;    // of the FlatBuffer, the splice included
  uint32_t root;          // offset of the root table
  uint64_t segment_base;  // 0: no segments
} etx_ptd;

// Something with a name, borrowed from the file. Data without layout is no
// tensor.
typedef struct etx_ptd_entry {
  etx_text key;              // its name
  etx_bytes data;            // the whole segment; a tensor's is long enough
  bool has_layout;           // it is a tensor: the fields below mean something
  etx_dtype dtype;           // of the elements
  uint8_t rank;              // at most ETX_MAX_RANK
  const int32_t* sizes;      // rank entries
  const uint8_t* dim_order;  // rank entries, a permutation
} etx_ptd_entry;

// True if the bytes have the identifier of a data file, not that of a program.
bool etx_ptd_looks_like(etx_bytes file);

// Opens and verifies. ETX_BAD_FILE: the bytes are not a data file, or a damaged
// one; `diag` says where, what was expected and what was found.
// ETX_UNSUPPORTED: it has a version that etx does not know.
ETX_MUST_USE etx_status etx_ptd_open(etx_ptd* ptd, etx_bytes file,
                                     etx_diag* diag);

// Entries of the file.
size_t etx_ptd_count(const etx_ptd* ptd);

// The entry at `index`, which is below the count.
etx_ptd_entry etx_ptd_at(const etx_ptd* ptd, size_t index);

// The first entry of that key; false if there is none.
bool etx_ptd_find(const etx_ptd* ptd, etx_text key, etx_ptd_entry* out_entry);

#endif
