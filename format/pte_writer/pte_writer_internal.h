// Used by pte_writer.c: pte_writer_plan.c builds the tables of one method.

#ifndef ETX_FORMAT_PTE_WRITER_PTE_WRITER_INTERNAL_H
#define ETX_FORMAT_PTE_WRITER_PTE_WRITER_INTERNAL_H

#include "format/flatbuffers/fb_builder.h"
#include "format/pte/pte_types.h"

// Builds the execution plan of one method.
etx_fb_ref etx_pte_build_plan(etx_fb_builder* builder,
                              const etx_pte_plan_content* plan);

#endif
