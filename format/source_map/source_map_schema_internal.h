// The schema of the source map: the ids of fields, and the data for the
// verifier. Only the source_map files include it.

#ifndef ETX_FORMAT_SOURCE_MAP_SOURCE_MAP_SCHEMA_INTERNAL_H
#define ETX_FORMAT_SOURCE_MAP_SOURCE_MAP_SCHEMA_INTERNAL_H

#include "format/flatbuffers/fb_verifier.h"

// Ids of the fields: ETX_SOURCE_Source_lines is 2.
#define TABLE(table) enum {
#define FIELD(table, field, type, need, target) ETX_SOURCE_##table##_##field,
#define END(table)                 \
  ETX_SOURCE_##table##_FIELD_COUNT \
  }                                \
  ;
#include "format/source_map/source_map_schema.def"

extern const etx_fb_schema etx_source_map_schema;

#endif
