// The placed and planned IR as a program file.
//
// Same IR, same bytes: plans stand in order of their names, values in order of
// their first use, constants in order of their first use over the plans.

#ifndef ETX_EXPORTER_EMIT_PROGRAM_H
#define ETX_EXPORTER_EMIT_PROGRAM_H

#include "exporter/export.h"
#include "exporter/place.h"
#include "exporter/plan_memory.h"
#include "exporter/shared_state.h"
#include "exporter/source_lines.h"
#include "format/pte/etx_blob.h"

typedef struct etx_emit_program {
  etx_ir_module* module;  // symbol tables may grow
  const etx_placement* placements;
  const etx_method_memory* memory;
  const etx_state_layout* layout;
  etx_target target;
  etx_text options;  // canonical text of the options that shaped the plan
  uint8_t fingerprint[ETX_FINGERPRINT_BYTES];
  const etx_source_lines* lines;  // to be written too; NULL: none
} etx_emit_program;

typedef struct etx_emit_result {
  uint64_t constant_bytes;  // after deduplication
  size_t constant_count;
  uint64_t file_bytes;
  size_t* instruction_counts;  // by method of the module
  size_t* peak_instructions;   // the first one of the node at the peak
} etx_emit_result;

// Writes the file to `sink`. Results live in the module's pool.
ETX_MUST_USE etx_status etx_emit_write(const etx_emit_program* program,
                                       const etx_sink* sink,
                                       etx_emit_result* out_result,
                                       etx_diag* diag);

#endif
