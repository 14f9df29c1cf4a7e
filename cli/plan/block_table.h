// Planning problems as text: one line a block, in the CSV form of MiniMalloc.
//
//   id,lower,upper,size,alignment        id,start,end,size,offset
//   a,0,4,1024,64                        a,0,3,1024,
//
// The first line names the columns, in any order. A block has to have
//
//   id | buffer | buffer_id     a name, no two the same
//   lower | start | begin       the first moment at which it is live
//   upper, or end               the moment after the last, or the last itself
//   size                        bytes
//
// and may have an `alignment` (a power of two) and an `offset` that is given.
// Columns of other names are kept as they are; `gaps` have to be empty.

#ifndef ETX_CLI_PLAN_BLOCK_TABLE_H
#define ETX_CLI_PLAN_BLOCK_TABLE_H

#include "exporter/host/host_memory.h"
#include "format/base/diag.h"
#include "format/base/sink.h"
#include "planner/plan.h"

typedef struct etx_block_table {
  etx_text header;         // borrows the text
  etx_text* lines;         // of each block, the same
  etx_plan_block* blocks;  // in the pool
  size_t block_count;
  uint32_t offset_column;  // where offsets go: one past the last if none
} etx_block_table;

// Reads `text`, which has to live as long as the table. ETX_BAD_ARGUMENT with
// the line in `diag` for what is missing, no number, too large or given twice.
ETX_MUST_USE etx_status etx_block_table_read(etx_bytes text, etx_pool* pool,
                                             etx_block_table* out_table,
                                             etx_diag* diag);

// Writes the same lines with `offsets`, one a block, in the column of that
// name. Fails as the sink does.
ETX_MUST_USE etx_status etx_block_table_write(const etx_block_table* table,
                                              const uint64_t* offsets,
                                              const etx_sink* sink);

#endif
