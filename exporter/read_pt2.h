// Archives of torch.export.save: one method each.
//
// Reading has two halves, since which weights matter is known only when all
// methods are read: etx_pt2_read takes the graph in and leaves claims on
// weights; the archive stays open until those have been loaded (by
// etx_import_settle), then etx_pt2_close.
//
// The archive is hostile until proved sound: see pt2_internal.h for who checks
// what.

#ifndef ETX_EXPORTER_READ_PT2_H
#define ETX_EXPORTER_READ_PT2_H

#include "exporter/import.h"
#include "exporter/read_json.h"

// One entry of the zip.
typedef struct etx_pt2_member {
  etx_text name;   // under the root folder
  uint64_t index;  // libzip's
  uint64_t bytes;
} etx_pt2_member;

typedef struct etx_pt2_archive {
  etx_pool* pool;  // lives as long as the import
  etx_text path;
  void* zip;                // libzip's handle, NULL when closed
  etx_pt2_member* members;  // in byte order of names
  size_t member_count;
  etx_text loaded_name;  // the payload read last, since many views may
  etx_bytes loaded;      // share one
  etx_pool payloads;     // where that payload lies
} etx_pt2_archive;

// Opens an archive and reads its program as method `name`. Problems of the
// model are reported to `import` and reading goes on; a damaged file is one
// problem. Returns other failures (memory). `archive` must be closed in any
// case.
ETX_MUST_USE etx_status etx_pt2_read(etx_pt2_archive* archive,
                                     etx_import* import, etx_text path,
                                     etx_text name);

void etx_pt2_close(etx_pt2_archive* archive);

#endif
