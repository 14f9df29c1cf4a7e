// The lists of pte_schema.def, expanded: an array of fields for each table, an
// array of tables, and the same for unions.

#include "format/pte/pte_schema_internal.h"

enum { OPTIONAL, NEEDED };

enum {
#define TABLE(table) INDEX_##table,
#include "format/pte/pte_schema.def"
};

enum {
#define UNION(union_name) INDEX_##union_name,
#include "format/pte/pte_schema.def"
};

#define INDEX_NONE 0

// The row after the last one keeps the array of an empty table legal.
#define TABLE(table) static const etx_fb_field_info fields_##table[] = {
#define FIELD(table, field, type, need, target) \
  {#field, ETX_FB_##type, need, INDEX_##target},
#define END(table)                  \
  { NULL, ETX_FB_TYPE_COUNT, 0, 0 } \
  }                                 \
  ;
#include "format/pte/pte_schema.def"

#define UNION(union_name) static const uint8_t members_##union_name[] = {
#define MEMBER(union_name, table) INDEX_##table,
#define UNION_END(union_name) \
  }                           \
  ;
#include "format/pte/pte_schema.def"

static const etx_fb_table_info tables[] = {
#define TABLE(table) {#table, fields_##table, ETX_PTE_##table##_FIELD_COUNT},
#include "format/pte/pte_schema.def"
};

static const etx_fb_union_info unions[] = {
#define UNION(union_name) \
  {#union_name, members_##union_name, sizeof members_##union_name},
#include "format/pte/pte_schema.def"
};

const etx_fb_schema etx_pte_schema = {tables, unions, {'E', 'T', '1', '2'}};
