// The input of emission: the IR with placements and plans.

#ifndef ETX_EXPORTER_EMIT_EMIT_INPUT_H
#define ETX_EXPORTER_EMIT_EMIT_INPUT_H

#include "exporter/ir/target.h"
#include "exporter/placement/placement.h"
#include "exporter/arenas/plan_memory.h"
#include "exporter/placement/shared_state.h"
#include "exporter/report/source_lines.h"
#include "format/pte/etx_blob.h"

typedef struct etx_emit_program {
  etx_ir_module* module;  // symbol tables may grow
  const etx_placement* placements;
  const etx_memory_plan* memory;
  const etx_state_layout* layout;
  etx_target target;
  etx_text options;  // canonical text of the options that affect the bytes
  uint8_t fingerprint[ETX_FINGERPRINT_BYTES];
  const etx_source_lines* lines;  // for the source map; NULL: write none
} etx_emit_program;

#endif
