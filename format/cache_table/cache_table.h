// The caches of a program: optional named data with the key "etx.caches.v1".
//
// A cache is a state that methods append rows to along one dimension. The size
// of that dimension is its capacity. The rows that were appended so far are
// live; what lies behind them is no input of any result. A program may count
// the rows in a state of one integer, the counter of the cache. Several caches
// may have one counter.
//
// Running a method does not read this table. It tells a session which bytes of
// a state are live (shared_memory.h), so that a prefix can be kept, saved and
// dropped.
//
// The data is a FlatBuffer of its own (identifier "ETXC").

#ifndef ETX_FORMAT_CACHE_TABLE_CACHE_TABLE_H
#define ETX_FORMAT_CACHE_TABLE_CACHE_TABLE_H

#include "format/base/diag.h"
#include "format/pte/etx_blob.h"

#define ETX_CACHE_TABLE_KEY "etx.caches.v1"
#define ETX_CACHE_NO_COUNTER (-1)

// What happens to rows for which a cache has no room.
typedef enum etx_cache_overflow {
  ETX_CACHE_ERROR = 0,  // the run is refused before it writes anything
  ETX_CACHE_RING = 1,   // row n lies at n modulo the capacity: the new row
                        // overwrites the oldest one
  ETX_CACHE_SLIDE = 2,  // rows move towards the start, and the oldest one is
                        // dropped
} etx_cache_overflow;

typedef struct etx_cache {
  int32_t state;     // position in the blob's list of states
  int32_t dim;       // dimension of the rows
  int32_t counter;   // position of the counter, or ETX_CACHE_NO_COUNTER
  int32_t overflow;  // an etx_cache_overflow
} etx_cache;

// Bytes of memory that etx_cache_table_write needs. ETX_OUT_OF_RANGE: the table
// does not fit into a FlatBuffer.
ETX_MUST_USE etx_status etx_cache_table_write_needed(const etx_cache* caches,
                                                     size_t count,
                                                     size_t* out_bytes);
// Builds the data at the end of `work`; `out_data` borrows from it. Caches
// ascend by state.
ETX_MUST_USE etx_status etx_cache_table_write(const etx_cache* caches,
                                              size_t count, etx_bytes_mut work,
                                              etx_bytes* out_data,
                                              etx_diag* diag);

// An opened table. Fields are private.
typedef struct etx_cache_table {
  const int32_t* rows;  // in the file
  size_t count;
} etx_cache_table;

// Opens and verifies the table of `pte` against the states of its blob: states
// and dimensions exist, and counters are states of one int32 or int64 that are
// not caches. ETX_NOT_FOUND without message if the file has no table.
ETX_MUST_USE etx_status etx_cache_table_open(etx_cache_table* table,
                                             const etx_pte* pte,
                                             const etx_blob* blob,
                                             etx_diag* diag);

// The cache at `index`, which is below the count.
etx_cache etx_cache_table_at(const etx_cache_table* table, size_t index);

// The name of a policy as program.yaml has it: "error", "ring" or "slide".
const char* etx_cache_overflow_name(etx_cache_overflow overflow);
// The policy of that name; false if there is none.
bool etx_cache_overflow_find(etx_text name, etx_cache_overflow* out_overflow);

#endif
