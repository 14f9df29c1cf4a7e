// What a method's instructions do to which bytes, learned from the file alone.
//
// The proof of a plan and its picture (memory_map.h) both stand on this:
//
//   verify_method    a method of an opened program
//   verify_places    where every tensor of a method lies, on one line of bytes
//   verify_effects   what an instruction reads and writes
//   verify_blocks    where control may go
//
// All memory lives as long as the method's etx_verify_arena.

#ifndef ETX_CLI_VERIFY_VERIFY_METHOD_H
#define ETX_CLI_VERIFY_VERIFY_METHOD_H

#include "cli/verify/verify_arena.h"
#include "format/base/diag.h"
#include "format/ops/op_schema.h"
#include "format/pte/etx_blob.h"
#include "format/pte/pte_program.h"

#define ETX_VERIFY_NONE UINT32_MAX

// Bytes on the line of a method: [start, end). Empty if they are equal.
typedef struct etx_verify_range {
  uint64_t start;
  uint64_t end;
} etx_verify_range;

static inline bool etx_verify_overlap(etx_verify_range a, etx_verify_range b) {
  return a.start < b.end && b.start < a.end;
}
static inline bool etx_verify_contains(etx_verify_range outer,
                                       etx_verify_range inner) {
  return outer.start <= inner.start && inner.end <= outer.end;
}

typedef enum etx_verify_storage_kind {
  ETX_VERIFY_STORAGE_NONE,      // another kind of value
  ETX_VERIFY_STORAGE_CONSTANT,  // read-only bytes of the file
  ETX_VERIFY_STORAGE_PLANNED,   // in an arena
  ETX_VERIFY_STORAGE_CALLER,    // bytes of its own, outside all arenas
} etx_verify_storage_kind;

typedef struct etx_verify_value {
  etx_verify_storage_kind home;
  etx_verify_range range;  // its own bytes at the upper bounds
  uint32_t parent;         // the blob says that it lies in this larger value
  uint64_t parent_offset;  // from that byte on
  uint32_t top;            // the last of its parents, or itself
  uint32_t first_part;     // the blob says that it is made of these
  uint32_t part_count;
  uint32_t named_by;     // 1 + the one value whose header it takes over
                         // (et_view, a move); 0: none or several
  bool is_rebound;       // some instruction gives it another header
  bool is_written;       // some instruction, or the caller, writes it
  bool is_changed;       // some instruction changes it in place
  bool is_state;         // its content outlives the call; set by the flow
  bool may_be_constant;  // some header it takes over is a constant's
  uint32_t first_place;  // where its bytes may be: one range, more if it
  uint32_t place_count;  // takes over several headers
} etx_verify_value;

// One instruction of any chain, in the order of running.
typedef struct etx_verify_step {
  etx_pte_instruction instruction;
  const etx_op* op;  // of a KernelCall; NULL if it is unknown
  uint32_t chain;
  uint32_t index;   // in the chain
  uint32_t target;  // of a jump: step; step_count: the end
} etx_verify_step;

typedef struct etx_verify_method {
  const etx_pte* pte;
  const etx_blob* blob;  // NULL: a stock file
  size_t blob_method;    // position in the blob, or SIZE_MAX
  etx_pte_plan plan;
  etx_text name;
  etx_verify_arena* memory;
  etx_diag* diag;
  // True: operators without a row and delegates are not refused; what their
  // calls do is guessed (see etx_verify_effects_of). False for a proof.
  bool takes_unknown;
  etx_verify_value* values;
  size_t value_count;
  uint32_t* parts;  // values, see etx_verify_value
  etx_verify_range* places;
  size_t place_count;
  size_t place_capacity;
  etx_verify_step* steps;
  size_t step_count;
} etx_verify_method;

// The bytes of a value at position `index` of its places.
static inline etx_verify_range etx_verify_address_range(
    const etx_verify_method* m, uint32_t value, size_t index) {
  return m->places[m->values[value].first_place + index];
}

// True if the two values share bytes at one of the places each may have.
static inline bool etx_verify_may_overlap(const etx_verify_method* m,
                                          uint32_t a, uint32_t b) {
  for (uint32_t i = 0; i < m->values[a].place_count; ++i) {
    for (uint32_t k = 0; k < m->values[b].place_count; ++k) {
      if (etx_verify_overlap(etx_verify_address_range(m, a, i),
                             etx_verify_address_range(m, b, k))) {
        return true;
      }
    }
  }
  return false;
}

// One tensor that an instruction touches.
typedef struct etx_verify_access {
  uint32_t value;
  bool is_first;    // the operator's first tensor argument
  bool is_changed;  // written: an argument that had a content before
  bool updates;     // changed: and keeps some of it
} etx_verify_access;

// What an instruction does. Arrays are the cursor's and change with the next
// instruction.
typedef struct etx_verify_effects {
  etx_verify_access* reads;  // bytes are read
  size_t read_count;
  etx_verify_access* writes;  // bytes are written
  size_t write_count;
  uint32_t rebound;       // value that gets the header of ...
  uint32_t rebound_from;  // ... this one; ETX_VERIFY_NONE
  uint32_t sized;         // value that gets sizes only: its bytes stay
  uint32_t released;      // value whose bytes are gone
  bool is_guessed;        // of an unknown operator or a delegate
  size_t capacity;        // of both arrays
} etx_verify_effects;

// Instructions that run one after the other: [first, first of the next one).
typedef struct etx_verify_basic_blocks {
  uint32_t* first;     // first step of each block, and step_count at the end
  size_t count;        // 0 if the method has no steps
  uint32_t* block_of;  // by step: its block; of step_count: `count`
  bool* varies;        // by value: a number that can change
} etx_verify_basic_blocks;

// verify_method

// Starts on method `index` of `pte`; nothing is found yet. `blob` is NULL for a
// stock file. All of them have to outlive the method.
void etx_verify_method_init(etx_verify_method* m, const etx_pte* pte,
                            const etx_blob* blob, size_t index,
                            etx_verify_arena* memory, etx_diag* diag);

// verify_places

// Finds the range of every tensor and families of views.
ETX_MUST_USE etx_status etx_verify_assign_addresses(etx_verify_method* m);

// verify_effects

// Reads the rows of all operators and flattens the chains into steps.
ETX_MUST_USE etx_status etx_verify_find_steps(etx_verify_method* m);
// Room for the effects of any step.
ETX_MUST_USE etx_status etx_verify_effects_init(etx_verify_effects* effects,
                                                const etx_verify_method* m);
// What step `index` does. If the method takes unknown operators, a call that
// nothing is known about reads all tensors among its arguments, and writes
// those that are no constants.
ETX_MUST_USE etx_status etx_verify_effects_of(const etx_verify_method* m,
                                              size_t index,
                                              etx_verify_effects* effects);

// verify_blocks

// Cuts the steps at jumps and where they lead.
ETX_MUST_USE etx_status etx_verify_find_basic_blocks(
    const etx_verify_method* m, etx_verify_basic_blocks* out_blocks);
// Where control may go after `block`: one or two blocks; `count` stands for the
// end of the method. A condition that never changes decides a jump.
size_t etx_verify_successors(const etx_verify_method* m,
                             const etx_verify_basic_blocks* blocks,
                             uint32_t block, uint32_t next[2]);
// Finds the numbers that can change: inputs, targets of moves, results of
// operators. Everything else is what the file says.
ETX_MUST_USE etx_status etx_verify_find_varying(const etx_verify_method* m,
                                                bool** out_varies);

#endif
