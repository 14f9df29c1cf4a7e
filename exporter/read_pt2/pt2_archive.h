// The members of a .pt2 archive, which is a zip file. No other file uses
// libzip.
//
// The archive is mapped (host_file.h). Members are not compressed, so their
// bytes are used where they lie in the mapping, which lives as long as `pool`.
//
// An etx_pt2_archive owns libzip's handle: call etx_pt2_close in any case.

#ifndef ETX_EXPORTER_READ_PT2_PT2_ARCHIVE_H
#define ETX_EXPORTER_READ_PT2_PT2_ARCHIVE_H

#include "exporter/host/host_memory.h"
#include "format/base/diag.h"

// One entry of the zip.
typedef struct etx_pt2_member {
  etx_text name;   // under the root folder
  uint64_t index;  // libzip's
  uint64_t bytes;
  const uint8_t* data;  // in the mapping, once its CRC was checked; else NULL
} etx_pt2_member;

typedef struct etx_pt2_archive {
  etx_pool* pool;  // of the module
  etx_text path;
  void* zip;                // libzip's handle, NULL when closed
  etx_pt2_member* members;  // in byte order of names
  size_t member_count;
  struct etx_pt2_mapping* mapping;  // from which libzip reads
} etx_pt2_archive;

// Opens the zip at archive->path, which the caller has set, and lists its
// members.
ETX_MUST_USE etx_status etx_pt2_archive_open(etx_pt2_archive* archive,
                                             etx_diag* diag);

// The bytes of a member; the CRC is checked. ETX_NOT_FOUND, without a message,
// if there is no such member.
ETX_MUST_USE etx_status etx_pt2_member_find(etx_pt2_archive* archive,
                                            etx_text name, etx_bytes* out_bytes,
                                            etx_diag* diag);

// True if there is a member of that name.
bool etx_pt2_has_member(const etx_pt2_archive* archive, const char* name);

void etx_pt2_close(etx_pt2_archive* archive);

#endif
