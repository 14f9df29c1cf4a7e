// The program schema as names of field ids and as data for the verifier. Seen
// by format/pte and format/pte_writer only.

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
