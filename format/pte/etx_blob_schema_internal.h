// The blob's schema as names of field ids and as data for the verifier. Seen
// by the etx_blob files only.

#ifndef ETX_FORMAT_PTE_ETX_BLOB_SCHEMA_INTERNAL_H
#define ETX_FORMAT_PTE_ETX_BLOB_SCHEMA_INTERNAL_H

#include "format/flatbuffers/fb_verifier.h"
#include "format/pte/etx_blob.h"

// Ids of the fields: ETX_BLOB_State_sizes is 2.
#define TABLE(table) enum {
#define FIELD(table, field, type, need, target) ETX_BLOB_##table##_##field,
#define END(table)               \
  ETX_BLOB_##table##_FIELD_COUNT \
  }                              \
  ;
#include "format/pte/etx_blob_schema.def"

extern const etx_fb_schema etx_blob_schema;

// Verifies an opened blob, whose structure is good, against the program.
ETX_MUST_USE etx_status etx_blob_check(const etx_blob* blob, const etx_pte* pte,
                                       etx_diag* diag);

#endif
