// The memories that a program was planned for: optional named data with the key
// "etx.memories.v1".
//
// A board may have several memories, such as fast SRAM and slow PSRAM. The
// planner puts values that are read and written often into the fast one. Each
// memory is an arena of the file's methods: the first one is arena 1, the
// second one arena 3, the third one arena 4 and so on. Arena 2 is the state,
// which lies in one of the memories as a block of its own.
//
// Running a method does not read this table. It tells tools and applications
// the names of the memories, and what they were planned for.
//
// The data is a FlatBuffer of its own (identifier "ETXM").

#ifndef ETX_FORMAT_MEMORY_TABLE_MEMORY_TABLE_H
#define ETX_FORMAT_MEMORY_TABLE_MEMORY_TABLE_H

#include "format/base/diag.h"
#include "format/pte/pte_program.h"

#define ETX_MEMORY_TABLE_KEY "etx.memories.v1"

enum {
  ETX_MEMORY_TABLE_MOST = 8,  // memories
  ETX_MEMORY_MOST_COST = 65536
};

typedef struct etx_memory_row {
  etx_text name;      // a letter, then letters, digits and underscores
  uint64_t capacity;  // bytes; 0: no limit
  uint32_t cost;      // of a byte that is read or written, beside the others: 1
                      // to ETX_MEMORY_MOST_COST
  bool holds_state;   // the state lies in it; true for one memory
} etx_memory_row;

// The arena of the memory at `index`.
static inline uint32_t etx_memory_arena_of(size_t index) {
  return index == 0 ? 1 : (uint32_t)index + 2;
}

// True for a letter followed by letters, digits and underscores, 32 at most:
// names become parts of C macros.
bool etx_memory_name_is_valid(etx_text name);

// Bytes of memory that etx_memory_table_write needs. ETX_OUT_OF_RANGE: the
// table does not fit into a FlatBuffer.
ETX_MUST_USE etx_status etx_memory_table_write_needed(
    const etx_memory_row* memories, size_t count, size_t* out_bytes);
// Builds the data at the end of `work`; `out_data` borrows from it. The
// fastest memory comes first.
ETX_MUST_USE etx_status etx_memory_table_write(const etx_memory_row* memories,
                                               size_t count, etx_bytes_mut work,
                                               etx_bytes* out_data,
                                               etx_diag* diag);

// An opened table. Fields are private.
typedef struct etx_memory_table {
  etx_fb_buffer fb;  // its bytes, in the file
  uint32_t root;     // position of the root table
} etx_memory_table;

// Opens and verifies the table of `pte`: names are valid and different, one
// memory holds the state, no plan has more arenas than there are memories, and
// each arena fits into its memory, together with the state where it lies.
// ETX_NOT_FOUND without message if the file has no table.
ETX_MUST_USE etx_status etx_memory_table_open(etx_memory_table* table,
                                              const etx_pte* pte,
                                              etx_diag* diag);

// The number of memories.
size_t etx_memory_table_count(const etx_memory_table* table);
// The memory at `index`, which is below the count; it borrows from the file.
etx_memory_row etx_memory_table_at(const etx_memory_table* table, size_t index);

#endif
