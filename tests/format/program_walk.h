// Reads everything that an opened program says, by every accessor.
//
// Two programs that say the same have the same sum, wherever their bytes lie;
// a reader that hands out something outside the file is caught by a sanitizer.

#ifndef ETX_TESTS_FORMAT_PROGRAM_WALK_H
#define ETX_TESTS_FORMAT_PROGRAM_WALK_H

#include "format/pte/etx_blob.h"

// A sum over names, values, instructions and the bytes of all data.
uint64_t program_walk(const etx_pte* pte);

// The same over an opened blob.
uint64_t blob_walk(const etx_blob* blob);

#endif
