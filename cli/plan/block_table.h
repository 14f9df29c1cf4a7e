// Planning problems as CSV in the format of MiniMalloc, one line for each
// block:
//
//   id,lower,upper,size,alignment        id,start,end,size,offset
//   a,0,4,1024,64                        a,0,3,1024,
//
// The first line names the columns, in any order. Required are
//
//   id | buffer | buffer_id     a unique name
//   lower | start | begin       the first instruction of the lifetime
//   upper                       the instruction after the last one, or:
//   end                         the last instruction of the lifetime
//   size                        bytes
//
// Optional are `alignment` (a power of two) and `offset` (of a block with a
// fixed offset). Other columns are copied to the solution. `gaps` must be
// empty.

#ifndef ETX_CLI_PLAN_BLOCK_TABLE_H
#define ETX_CLI_PLAN_BLOCK_TABLE_H

#include "exporter/host/host_memory.h"
#include "format/base/diag.h"
#include "format/base/sink.h"
#include "planner/plan.h"

typedef struct etx_block_table {
  etx_text header;         // the first line; borrows the text
  etx_text* lines;         // the line of each block; they borrow the text
  etx_plan_block* blocks;  // in the pool
  size_t block_count;
  uint32_t offset_column;  // number of columns if there is none yet
} etx_block_table;

// Parses `text`, which has to live as long as the table. ETX_BAD_ARGUMENT with
// the line in `diag` for missing columns, malformed or too large numbers, and
// duplicate names.
ETX_MUST_USE etx_status etx_block_table_read(etx_bytes text, etx_pool* pool,
                                             etx_block_table* out_table,
                                             etx_diag* diag);

// Writes the lines with `offsets`, one for each block, in the offset column.
// Fails as the sink does.
ETX_MUST_USE etx_status etx_block_table_write(const etx_block_table* table,
                                              const uint64_t* offsets,
                                              const etx_sink* sink);

#endif
