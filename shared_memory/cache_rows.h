// The caches of a session as rows: where they lie, how many of them are live,
// and which of them a prefix would keep. Internal to shared_memory/.

#ifndef ETX_SHARED_MEMORY_CACHE_ROWS_H
#define ETX_SHARED_MEMORY_CACHE_ROWS_H

#include "format/cache_table/cache_table.h"
#include "shared_memory/shared_memory.h"
#include "shared_memory/shared_plan.h"

// A cache of a session. Its state is `blocks` parts, one after the other, each
// of which has `capacity` rows.
typedef struct etx_cache_rows {
  etx_shared_state state;
  uint8_t* data;  // in the session's block
  size_t blocks;
  size_t capacity;
  size_t row_bytes;  // of a row of one block
  bool slides;       // rows move, so no prefix of them can be found
  int32_t counter;   // position of its counter, or ETX_CACHE_NO_COUNTER
  int64_t appended;  // rows so far, as the counter states; without one, 0
} etx_cache_rows;

// Opens the table of caches. ETX_NOT_FOUND: the program has none.
ETX_MUST_USE etx_status etx_cache_rows_open(const etx_shared_memory* shared,
                                            etx_cache_table* out_table,
                                            etx_diag* diag);

// Reads the cache at `index` of the table.
void etx_cache_rows_read(const etx_shared_memory* shared,
                         const etx_cache_table* table, size_t index,
                         etx_cache_rows* out_rows);

// ETX_OUT_OF_RANGE unless the cache still has its first `length` rows;
// ETX_BAD_STATE: its counter is negative.
ETX_MUST_USE etx_status etx_cache_rows_check(const etx_cache_rows* rows,
                                             uint64_t length, etx_diag* diag);

// Rows of the memory that `length` rows take: in a cache whose rows move, all.
size_t etx_cache_rows_taken(const etx_cache_rows* rows, uint64_t length);

// Writes initial values to the rows from `start` on that may have others: up to
// the counted ones, or all if `all` is set or there is no counter.
void etx_cache_rows_clear(const etx_cache_rows* rows, size_t start, bool all);

// Writes a length as the content of a counter, int32 or int64.
void etx_cache_counter_put(etx_dtype dtype, uint8_t* counter, uint64_t length);

#endif
