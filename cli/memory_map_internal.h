// How a map comes about, method by method:
//
//   memory_uses       which pieces of memory there are, and what touches them
//   memory_joining    which values are one piece
//   memory_lifespans  when their content is needed
//   memory_map        boxes, arenas, peaks

#ifndef ETX_CLI_MEMORY_MAP_INTERNAL_H
#define ETX_CLI_MEMORY_MAP_INTERNAL_H

#include "cli/memory_map.h"

// A piece of memory: a value and all that show bytes of it.
typedef struct etx_memory_piece {
  uint32_t value;          // the largest of them
  etx_verify_home home;    // where it lies
  etx_verify_range range;  // on the method's line of bytes
  bool is_state;
  bool is_input;
  bool is_output;       // or a mutable input: read after the last step
  uint32_t view_count;  // values beside `value`
  uint32_t first_view;  // in etx_memory_uses.views
  uint32_t use_count;
  uint32_t first_use;  // in etx_memory_uses.by_piece
} etx_memory_piece;

// A step touches a piece. Ascending by step; in a step reads come first.
typedef struct etx_memory_touch {
  uint32_t step;
  uint32_t piece;
  bool is_write;
  bool is_full;  // written: all of it, and nothing of it is kept
} etx_memory_touch;

typedef struct etx_memory_uses {
  etx_memory_piece* pieces;
  size_t piece_count;
  uint32_t* piece_of;  // by value; ETX_VERIFY_NONE if it is no tensor
  uint32_t* views;
  etx_memory_touch* touches;
  size_t touch_count;
  uint32_t* by_piece;    // positions in `touches`
  size_t guessed_count;  // instructions about which nothing is known
} etx_memory_uses;

// What a step does to a value, before it is known which pieces that means.
typedef struct etx_memory_raw {
  uint32_t step;
  uint32_t value;
  bool is_write;
  bool updates;     // written: some of the old content is kept
  bool is_guessed;  // the call is unknown: written if nobody did before
} etx_memory_raw;

// `to` gets the header of `from`.
typedef struct etx_memory_edge {
  uint32_t to;
  uint32_t from;
  bool is_view;  // an operator made it, no move
} etx_memory_edge;

typedef struct etx_memory_collecting {
  etx_verify_method* m;
  etx_memory_uses* uses;
  etx_memory_raw* raw;
  size_t raw_count, raw_capacity;
  etx_memory_edge* edges;  // sorted by `to` once all are there
  size_t edge_count;
  uint32_t* first_edge;  // by value, and one more
  uint32_t* joined;      // union-find over values
  bool* is_written;      // by value: an instruction, or the caller
  bool* is_rebound;      // by value
  bool* was_written;     // by value: until the step that is looked at
  uint32_t* marks;       // by value: search in which it was met last
  uint32_t search;
  uint32_t* stack;  // values still to be looked at
  size_t touch_capacity;
} etx_memory_collecting;

// memory_joining: joins the values of `c` whose bytes are the same, once all
// touches and edges are there; sorts the edges.
ETX_MUST_USE etx_status etx_memory_join(etx_memory_collecting* c);
// The value that stands for all that `value` is joined with.
uint32_t etx_memory_find(const etx_memory_collecting* c, uint32_t value);

// Places and steps of `m` have been found.
ETX_MUST_USE etx_status etx_memory_find_uses(etx_verify_method* m,
                                             etx_memory_uses* out_uses);

typedef struct etx_memory_lifespan {
  uint32_t piece;
  etx_memory_span span;
} etx_memory_lifespan;

// When the content of each planned piece is needed, by ascending start for each
// piece. ETX_UNSUPPORTED if jumps and pieces are too many.
ETX_MUST_USE etx_status etx_memory_find_lifespans(
    const etx_verify_method* m, const etx_memory_uses* uses,
    etx_memory_lifespan** out_spans, size_t* out_count);

#endif
