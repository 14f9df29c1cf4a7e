// The memory of a program as a picture of it needs it: for each method its
// arenas, and for each piece of memory a box with address, size, lifespans and
// the instructions that touch it.
//
//   offset ^        a box is one piece of memory; values that show the same
//          |  +--+  bytes (views) are one box. It has a span for each stretch
//          |  |b |  of time in which its content is needed: after the write,
//          |+-+--+-+--+   up to the last read.
//          || a  | | a|
//          ++----+-+--+-----> step
//
// Steps are the instructions of all chains in the order of the file. Spans are
// half-open: a value that step 3 writes and step 5 reads last lives [3, 6).
// Inputs live from 0, outputs and state up to the end. Where an output takes
// the bytes of an argument in place, the argument ends when the output starts.
// What happens on one way of a branch only is drawn there only; what a loop
// carries lives through all of it.
//
// All of it comes from the file: what instructions do from the operators' rows
// (verify_method.h), names from etx's blob. An operator that is not known, or a
// delegate, counts as using whatever it names.

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

// An instruction that touches a box.
typedef struct etx_memory_use {
  uint32_t step;
  bool is_write;  // else it reads
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
  const uint32_t* views;  // other values that show bytes of it, ascending
  size_t view_count;
  const etx_memory_span* spans;  // ascending, apart; none: never used
  size_t span_count;
  const etx_memory_use* uses;  // ascending by step, reads before writes
  size_t use_count;
} etx_memory_box;

typedef struct etx_memory_arena {
  uint32_t id;       // memory_id
  uint64_t bytes;    // as the file states it
  uint64_t floor;    // of them lie below all boxes: methods that may run at the
                     // same time have their values there
  bool holds_state;  // nothing but state lies in it
  size_t first_box;  // its boxes stand together in the method's
  size_t box_count;
  uint64_t bound;        // no plan of these spans is smaller
  uint64_t peak_bytes;   // most bytes in use at one step
  uint32_t peak_step;    // the first one of those
  const uint64_t* live;  // by step: bytes in use
} etx_memory_arena;

// Bytes of the arena that its values could do without, as far as the bound
// tells.
static inline uint64_t etx_memory_gap(const etx_memory_arena* arena) {
  const uint64_t used =
      arena->bytes > arena->floor ? arena->bytes - arena->floor : 0;
  return used > arena->bound ? used - arena->bound : 0;
}

typedef struct etx_memory_method {
  etx_text name;
  etx_verify_method* program;  // instructions and values
  uint32_t step_count;         // at least 1, so that what only lies there shows
  etx_memory_arena* arenas;    // those that have bytes
  size_t arena_count;
  etx_memory_box* boxes;  // by arena, first span, offset, value
  size_t box_count;
  size_t guessed_count;  // instructions about which nothing is known
} etx_memory_method;

typedef struct etx_memory_map {
  etx_pte pte;
  etx_blob blob;
  bool is_stock;  // it has no blob of etx
  etx_memory_method* methods;
  size_t method_count;
  etx_verify_arena memory;
} etx_memory_map;

// Reads `file`, whose bytes are aligned to 16 and outlive the map. ETX_BAD_FILE
// and others as etx_pte_open and etx_verify_program have them, with the reason
// in `diag`. To be closed in any case.
ETX_MUST_USE etx_status etx_memory_map_read(etx_memory_map* map, etx_bytes file,
                                            etx_diag* diag);
void etx_memory_map_close(etx_memory_map* map);

// A word for a kind: "state"; and what it is.
const char* etx_memory_kind_name(etx_memory_kind kind);
const char* etx_memory_kind_sentence(etx_memory_kind kind);

// The instruction's operator as the file has it: "aten::add.out". For others
// what they do: "move", "jump", "free", the backend of a delegate. Not
// terminated; cut to `capacity`, at least 1.
etx_text etx_memory_step_name(const etx_memory_method* method, uint32_t step,
                              char* out, size_t capacity);

// The first step that writes the box; ETX_VERIFY_NONE if none does.
uint32_t etx_memory_first_write(const etx_memory_box* box);

// The tensor of a box.
etx_pte_tensor etx_memory_tensor(const etx_memory_method* method,
                                 const etx_memory_box* box);

#endif
