// Archives of torch.export.save: one method each.
//
// Reading has two halves, since which weights matter is known only when all
// methods are read: etx_pt2_read takes the graph in and leaves claims on
// weights; the archive stays open until those have been loaded (by
// etx_import_settle), then etx_pt2_close.
//
// The archive is hostile until proved sound: see pt2_internal.h for who checks
// what.

#ifndef ETX_EXPORTER_READ_PT2_READ_PT2_H
#define ETX_EXPORTER_READ_PT2_READ_PT2_H

#include "exporter/import/import.h"
#include "exporter/read_pt2/pt2_archive.h"

// Opens an archive and reads its program as method `name`. Problems of the
// model are reported to `import` and reading goes on; a damaged file is one
// problem. Returns other failures (memory). `archive` must be closed in any
// case.
ETX_MUST_USE etx_status etx_pt2_read(etx_pt2_archive* archive,
                                     etx_import* import, etx_text path,
                                     etx_text name);

#endif
