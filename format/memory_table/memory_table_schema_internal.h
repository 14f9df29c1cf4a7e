// The schema of the table of memories: the ids of fields, and the data for the
// verifier. Only the memory_table files include it.

#ifndef ETX_FORMAT_MEMORY_TABLE_MEMORY_TABLE_SCHEMA_INTERNAL_H
#define ETX_FORMAT_MEMORY_TABLE_MEMORY_TABLE_SCHEMA_INTERNAL_H

#include "format/flatbuffers/fb_verifier.h"

// Ids of the fields: ETX_MEMORIES_Memories_memories is 0.
#define TABLE(table) enum {
#define FIELD(table, field, type, need, target) ETX_MEMORIES_##table##_##field,
#define END(table)                   \
  ETX_MEMORIES_##table##_FIELD_COUNT \
  }                                  \
  ;
#include "format/memory_table/memory_table_schema.def"

extern const etx_fb_schema etx_memory_table_schema;

#endif
