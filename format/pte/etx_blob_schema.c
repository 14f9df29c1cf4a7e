// The lists of etx_blob_schema.def, expanded for the verifier.

#include "format/pte/etx_blob_schema.h"

#define FB_SCHEMA "format/pte/etx_blob_schema.def"
#define FB_FIELD_COUNT(table) ETX_BLOB_##table##_FIELD_COUNT
#include "format/flatbuffers/fb_schema_tables.inc"

const etx_fb_schema etx_blob_schema = {FB_SCHEMA_DATA, {'E', 'T', 'X', 'P'}};
