// Writing a .pte file: header, FlatBuffer program, aligned segments.
//
// The writer needs one block of the caller's memory for the FlatBuffer part
// and streams the segments through a sink. Same content, same bytes: tables
// are written in a fixed order, equal vtables are shared.

#ifndef ETX_FORMAT_PTE_WRITER_PTE_WRITER_H
#define ETX_FORMAT_PTE_WRITER_PTE_WRITER_H

#include "format/base/diag.h"
#include "format/base/sink.h"
#include "format/pte/pte_types.h"

// Bytes of working memory that are always enough for `content`.
ETX_MUST_USE etx_status etx_pte_write_needed(const etx_pte_content* content,
                                             size_t* out_bytes);

// Writes the whole file to `sink`, front to back. `work` is at least the
// needed size and aligned to 16; its contents are lost. ETX_UNSUPPORTED, and
// nothing is written: there are more tables than `content` allows.
ETX_MUST_USE etx_status etx_pte_write(const etx_pte_content* content,
                                      etx_bytes_mut work, const etx_sink* sink,
                                      etx_diag* diag);

#endif
