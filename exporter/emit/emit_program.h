// Writes the placed and planned IR as a program file.
//
// The same IR gives the same bytes: plans are in order of their names, values
// in order of first use, constants in order of first use over all plans.

#ifndef ETX_EXPORTER_EMIT_EMIT_PROGRAM_H
#define ETX_EXPORTER_EMIT_EMIT_PROGRAM_H

#include "exporter/emit/emit_input.h"
#include "format/base/sink.h"

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
