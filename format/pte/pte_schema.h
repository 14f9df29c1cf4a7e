// The program schema: the ids of fields, and the data for the verifier. Only
// format/pte and format/pte_writer include it.

#ifndef ETX_FORMAT_PTE_PTE_SCHEMA_H
#define ETX_FORMAT_PTE_PTE_SCHEMA_H

#include "format/flatbuffers/fb_verifier.h"

// Ids of the fields: ETX_PTE_Tensor_sizes is 2.
#define TABLE(table) enum {
#define FIELD(table, field, type, need, target) ETX_PTE_##table##_##field,
#define END(table)              \
  ETX_PTE_##table##_FIELD_COUNT \
  }                             \
  ;
#include "format/pte/pte_schema.def"

extern const etx_fb_schema etx_pte_schema;

#endif
