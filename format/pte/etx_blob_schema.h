// The blob's schema: the ids of fields, and the data for the verifier. Only the
// etx_blob files include it.

#ifndef ETX_FORMAT_PTE_ETX_BLOB_SCHEMA_H
#define ETX_FORMAT_PTE_ETX_BLOB_SCHEMA_H

#include "format/base/build_parts.h"
#include "format/flatbuffers/fb_verifier.h"

// Ids of the fields: ETX_BLOB_State_sizes is 2.
#define TABLE(table) enum {
#define FIELD(table, field, type, need, target) ETX_BLOB_##table##_##field,
#define END(table)               \
  ETX_BLOB_##table##_FIELD_COUNT \
  }                              \
  ;
#include "format/pte/etx_blob_schema.def"

extern const etx_fb_schema etx_blob_schema;

#endif
