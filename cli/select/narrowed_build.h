// A build that has only what traces have reached, not all that programs can
// use: which cells it lacks, and which methods it therefore refuses.
//
// A cell is an operator with the type of a tensor among its arguments
// (runtime/program/cell_check.h), an operator that gets no tensors, or a
// feature (runtime/program/build_features.h).

#ifndef ETX_CLI_SELECT_NARROWED_BUILD_H
#define ETX_CLI_SELECT_NARROWED_BUILD_H

#include "cli/select/trace_read.h"

// The programs of a selection.
typedef struct etx_selected_programs {
  etx_program* programs;
  etx_text* paths;  // of their files
  size_t count;
} etx_selected_programs;

// What a narrowed build has.
typedef struct etx_narrowed {
  etx_selection selection;
  etx_selected_facts facts;  // bytes: see etx_narrowed_check_methods
} etx_narrowed;

// A missing cell: an operator without any of its types (dtypes 0), with some of
// its types, or, if `op` is NULL, features.
typedef struct etx_missing_cell {
  const etx_selected_operator* op;
  uint32_t dtypes;
  uint32_t features;
} etx_missing_cell;

// Gets cells one after the other; those of a method with its file and name.
typedef struct etx_missing_cells {
  void (*report)(void* context, etx_text path, etx_text method,
                 const etx_missing_cell* cell);
  void* context;
} etx_missing_cells;

// The operators of `programs` that were traced, with all types of their traced
// calls, and the traced features.
ETX_MUST_USE etx_status etx_narrowed_find(const etx_selected_programs* programs,
                                          const etx_traced* traced,
                                          etx_pool* pool,
                                          etx_narrowed* out_narrowed,
                                          etx_diag* diag);

// Reports each cell that a build of `selection` and `facts` has and the
// narrowed one lacks, with empty texts for file and method.
void etx_narrowed_compare(const etx_narrowed* narrowed,
                          const etx_selection* selection,
                          const etx_selected_facts* facts,
                          const etx_missing_cells* missing);

// Reports each cell that a method of the programs needs and the narrowed build
// lacks; it refuses these methods. Adds the bytes of memory of all others to
// its facts.
ETX_MUST_USE etx_status etx_narrowed_check_methods(
    etx_narrowed* narrowed, const etx_selected_programs* programs,
    etx_pool* pool, const etx_missing_cells* missing, etx_diag* diag);

#endif
