// The lists of pte_schema.def, expanded for the verifier.

#include "format/pte/pte_schema.h"

#define FB_SCHEMA "format/pte/pte_schema.def"
#define FB_FIELD_COUNT(table) ETX_PTE_##table##_FIELD_COUNT
#include "format/flatbuffers/fb_schema_tables.inc"

const etx_fb_schema etx_pte_schema = {FB_SCHEMA_DATA, {'E', 'T', '1', '2'}};
