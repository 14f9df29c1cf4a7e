// Verifies that a buffer is a FlatBuffer of a given schema.
//
// A schema is data: for every table the list of its fields in the order of
// their ids. The lists come from .def files, such as pte_schema.def.
//
// Verified: references, tables and vtables are within the buffer and aligned;
// scalars and elements of vectors are aligned to their size; strings end with
// a NUL; unions hold a known member; required fields are present; nesting depth
// and number of tables are within their limits. Several references may share a
// table, which is then counted for each, so that a small file cannot cause
// unbounded work.
//
// Not verified: the meaning of numbers; fields and bytes that the schema does
// not have (a newer writer may add them).
//
// Ownership  keeps no pointer. Stack: about 5 KiB.
// Failure    ETX_BAD_FILE, with a reason of fb_verifier.def, the table and
//            field, and the byte offset.

#ifndef ETX_FORMAT_FLATBUFFERS_FB_VERIFIER_H
#define ETX_FORMAT_FLATBUFFERS_FB_VERIFIER_H

#include "format/base/diag.h"
#include "format/flatbuffers/fb_reader.h"

// The types of fb_types.def.
typedef enum etx_fb_type {
#define TYPE(name, shape, bytes) ETX_FB_##name,
#include "format/flatbuffers/fb_types.def"
#undef TYPE
  ETX_FB_TYPE_COUNT
} etx_fb_type;

typedef struct etx_fb_field_info {
  uint8_t type : 7;         // an etx_fb_type
  uint8_t is_required : 1;  // the table is refused without it
  // TABLE, TABLES: index of the table in the schema. UNION: of the union; the
  // field before it is its CODE. Others: 0.
  uint8_t target;
} etx_fb_field_info;

typedef struct etx_fb_table_info {
  uint16_t first_field;  // of the schema's fields; the others follow by id
  uint8_t field_count;   // at most 32
} etx_fb_table_info;

typedef struct etx_fb_union_info {
  const uint8_t* members;  // code - 1 to the index of a table in the schema
  uint8_t member_count;
} etx_fb_union_info;

typedef struct etx_fb_schema {
  const etx_fb_table_info* tables;  // the first one is the root
  const etx_fb_field_info* fields;  // of all tables, in their order
  const etx_fb_union_info* unions;  // may be NULL if no field is a union
  // For messages: for each table its name and then those of its fields, each
  // with a NUL. Names are found by counting: a pointer for each would need more
  // memory than the names. NULL in a build without messages.
  const char* names;
  char identifier[4];
} etx_fb_schema;

// Verifies all of `buffer` that `schema` describes. `max_tables` 0 means
// ETX_MAX_FB_TABLES, or more if the buffer is so large that it can have more
// tables of its own.
ETX_MUST_USE etx_status etx_fb_verify(const etx_fb_buffer* buffer,
                                      const etx_fb_schema* schema,
                                      uint32_t max_tables, etx_diag* diag);

#endif
