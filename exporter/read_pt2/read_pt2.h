// Reads an archive of torch.export.save, which has one method.
//
// Reading has two steps, since only after all methods have been read is it
// known which weights are used. etx_pt2_read reads the graph and declares
// buffers; the archive stays open. etx_import_merge_buffers loads the weights;
// after it, call etx_pt2_close.
//
// Archives are untrusted input: every offset, name and size is checked.

#ifndef ETX_EXPORTER_READ_PT2_READ_PT2_H
#define ETX_EXPORTER_READ_PT2_READ_PT2_H

#include "exporter/import/import.h"
#include "exporter/read_pt2/pt2_archive.h"

// Opens an archive and reads its program as method `name`. Problems of the file
// are reported to `import` and do not fail the call; ETX_OUT_OF_MEMORY does. An
// unsupported construct does not stop the reading, a malformed file does.
// `archive` must be closed in any case.
ETX_MUST_USE etx_status etx_pt2_read(etx_pt2_archive* archive,
                                     etx_import* import, etx_text path,
                                     etx_text name);

#endif
