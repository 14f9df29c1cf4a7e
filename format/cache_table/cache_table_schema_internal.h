// The schema of the table of caches: the ids of fields, and the data for the
// verifier. Only the cache_table files include it.

#ifndef ETX_FORMAT_CACHE_TABLE_CACHE_TABLE_SCHEMA_INTERNAL_H
#define ETX_FORMAT_CACHE_TABLE_CACHE_TABLE_SCHEMA_INTERNAL_H

#include "format/flatbuffers/fb_verifier.h"

// Ids of the fields: ETX_CACHES_Caches_rows is 0.
#define TABLE(table) enum {
#define FIELD(table, field, type, need, target) ETX_CACHES_##table##_##field,
#define END(table)                 \
  ETX_CACHES_##table##_FIELD_COUNT \
  }                                \
  ;
#include "format/cache_table/cache_table_schema.def"

enum { ETX_CACHE_ROW_NUMBERS = 4 };  // of a cache

extern const etx_fb_schema etx_cache_table_schema;

#endif
