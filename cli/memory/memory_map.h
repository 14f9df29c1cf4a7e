// The memory map of a program, from which pictures and reports are made: for
// each method its arenas, and for each storage a box with address, size,
// lifetimes and the instructions that access it.
//
//   offset ^        A box is one storage: a value and its views. It has a span
//          |  +--+  for each part of the method in which it is live: from the
//          |  |b |  write to the last read.
//          |+-+--+-+--+
//          || a  | | a|
//          ++----+-+--+-----> step
//
// Steps are the instructions of all chains in the order of the file. Spans are
// half-open: a value that step 3 writes and step 5 reads last is live in [3,
// 6). Inputs are live from 0, outputs and states to the end. If an output
// overwrites an argument in place, the argument's span ends where the output's
// starts. A value of one branch is live in that branch only; a value that a
// loop carries is live in the whole loop.
//
// The map comes from the file alone: effects of instructions from the
// operators' schemas (verify_method.h), names from the blob of etx. An unknown
// operator or a delegate counts as an access to all its arguments.

#ifndef ETX_CLI_MEMORY_MEMORY_MAP_H
#define ETX_CLI_MEMORY_MEMORY_MAP_H

#include "cli/memory/memory_storage.h"
#include "cli/verify/verify_method.h"

typedef enum etx_memory_kind {
#define KIND(symbol, name, sentence) ETX_MEMORY_KIND_##symbol,
#include "cli/memory/memory_kinds.def"
#undef KIND
  ETX_MEMORY_KIND_COUNT
} etx_memory_kind;

// An instruction that accesses a box.
typedef struct etx_memory_use {
  uint32_t step;
  bool is_write;  // false: a read
} etx_memory_use;

typedef struct etx_memory_box {
  uint32_t value;  // index of the value whose memory it is
  etx_memory_kind kind;
  bool is_input;
  bool is_output;
  uint32_t arena;         // memory_id; 0: constants, and memory of the caller
  uint64_t offset;        // bytes from the start of the arena
  uint64_t bytes;         // at the upper bounds of its sizes
  etx_text name;          // of a state, an input or an output; may be empty
  const uint32_t* views;  // the other values of the storage, ascending
  size_t view_count;
  const etx_memory_span* spans;  // ascending, disjoint; none: never used
  size_t span_count;
  const etx_memory_use* uses;  // ascending by step, reads before writes
  size_t use_count;
} etx_memory_box;

typedef struct etx_memory_arena {
  uint32_t id;       // memory_id
  uint64_t bytes;    // its size in the file
  uint64_t floor;    // the lowest offset of a box. Methods that may run at the
                     // same time have their values below it
  bool holds_state;  // it has states only
  size_t first_box;  // its boxes are neighbours in the method's array
  size_t box_count;
  uint64_t bound;        // lower bound: no plan of these spans is smaller
  uint64_t peak_bytes;   // the largest number of live bytes
  uint32_t peak_step;    // the first step with that number
  const uint64_t* live;  // by step: live bytes
} etx_memory_arena;

// The arena's size, without the floor, less its lower bound.
static inline uint64_t etx_memory_gap(const etx_memory_arena* arena) {
  const uint64_t used =
      arena->bytes > arena->floor ? arena->bytes - arena->floor : 0;
  return used > arena->bound ? used - arena->bound : 0;
}

typedef struct etx_memory_method {
  etx_text name;
  etx_verify_method* program;  // instructions and values
  uint32_t step_count;  // at least 1: even without instructions, boxes need
                        // a width
  etx_memory_arena* arenas;  // those that are not empty
  size_t arena_count;
  etx_memory_box* boxes;  // by arena, first span, offset, value
  size_t box_count;
  size_t guessed_count;  // unknown operators and delegates
} etx_memory_method;

typedef struct etx_memory_map {
  etx_pte pte;
  etx_blob blob;
  bool is_stock;  // the file has no blob of etx
  etx_memory_method* methods;
  size_t method_count;
  etx_verify_arena memory;
} etx_memory_map;

// Reads `file`, whose bytes are aligned to 16 and outlive the map. Returns the
// errors of etx_pte_open and etx_verify_program, with a message in `diag`.
// Close the map in any case.
ETX_MUST_USE etx_status etx_memory_map_read(etx_memory_map* map, etx_bytes file,
                                            etx_diag* diag);
void etx_memory_map_close(etx_memory_map* map);

// The name of a kind, such as "state", and its description.
const char* etx_memory_kind_name(etx_memory_kind kind);
const char* etx_memory_kind_sentence(etx_memory_kind kind);

// The operator of a step, such as "aten::add.out"; for other instructions
// "move", "jump", "free", or the backend of a delegate. The text is not
// NUL-terminated and is cut to `capacity`, which is at least 1.
etx_text etx_memory_step_name(const etx_memory_method* method, uint32_t step,
                              char* out, size_t capacity);

// The first step that writes the box; ETX_VERIFY_NONE if none does.
uint32_t etx_memory_first_write(const etx_memory_box* box);

// The tensor of a box.
etx_pte_tensor etx_memory_tensor(const etx_memory_method* method,
                                 const etx_memory_box* box);

#endif
