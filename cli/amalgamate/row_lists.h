// Lists of rows that stand in several places, such as those of a .def file: one
// macro holds the rows, and each place names it.
//
// The rows are calls of macros that are defined anew before each place, so the
// text means the same.

#ifndef ETX_CLI_AMALGAMATE_ROW_LISTS_H
#define ETX_CLI_AMALGAMATE_ROW_LISTS_H

#include "cli/amalgamate/source_items.h"
#include "format/base/sink.h"

typedef struct etx_row_list {
  size_t first, end;  // lines
  size_t same_as;     // the first list with this text: its own number or less
  bool is_repeated;   // this is the first one of several
} etx_row_list;

typedef struct etx_row_lists {
  etx_row_list* items;  // in the order of lines
  size_t count, capacity;
} etx_row_lists;

// Finds the lists of rows inside of the items that `is_kept` (by line) keeps.
ETX_MUST_USE etx_status etx_row_lists_find(const etx_source* source,
                                           const bool* is_kept,
                                           etx_row_lists* lists);

// Writes a list that stands in several places: its name, and before the first
// one the macro. False in `*is_written`: the list stands in one place alone.
ETX_MUST_USE etx_status etx_row_lists_write(const etx_source* source,
                                            const etx_row_lists* lists,
                                            size_t list, const etx_sink* sink,
                                            bool* is_written);

#endif
