// The schema of the source lines as names of field ids and as data for the
// verifier. Seen by the etx_source files only.

#ifndef ETX_FORMAT_PTE_ETX_SOURCE_SCHEMA_INTERNAL_H
#define ETX_FORMAT_PTE_ETX_SOURCE_SCHEMA_INTERNAL_H

#include "format/flatbuffers/fb_verifier.h"

// Ids of the fields: ETX_SOURCE_Source_lines is 2.
#define TABLE(table) enum {
#define FIELD(table, field, type, need, target) ETX_SOURCE_##table##_##field,
#define END(table)                 \
  ETX_SOURCE_##table##_FIELD_COUNT \
  }                                \
  ;
#include "format/pte/etx_source_schema.def"

extern const etx_fb_schema etx_source_schema;

#endif
