// Named data of a program file whose bytes are a FlatBuffer: the data that etx
// adds.

#ifndef ETX_FORMAT_PTE_NAMED_DATA_H
#define ETX_FORMAT_PTE_NAMED_DATA_H

#include "format/base/diag.h"
#include "format/flatbuffers/fb_verifier.h"
#include "format/pte/pte_program.h"

// Finds the data with the key and verifies it against the schema; `out_fb`
// borrows from the file, `out_root` is the position of its root table.
// ETX_NOT_FOUND without message if the file has none, ETX_BAD_FILE if it is too
// large, not aligned to ETX_ARENA_ALIGNMENT or invalid.
ETX_MUST_USE etx_status etx_named_data_open(const etx_pte* pte, const char* key,
                                            const etx_fb_schema* schema,
                                            etx_fb_buffer* out_fb,
                                            uint32_t* out_root, etx_diag* diag);

#endif
