// Which bytes the instructions of a method read and write, from the file alone.
//
// The proof of a plan and the memory map (memory_map.h) both use this:
//
//   verify_addresses     a method of an opened program, and the range of each
//   of
//                        its tensors in one address space
//   verify_effects       what an instruction reads and writes
//   verify_control_flow  basic blocks and their successors
//
// All memory belongs to the method's etx_verify_arena.

#ifndef ETX_CLI_VERIFY_VERIFY_METHOD_H
#define ETX_CLI_VERIFY_VERIFY_METHOD_H

#include "cli/verify/verify_arena.h"
#include "format/own_ops/own_operator_list.h"
#include "format/base/diag.h"
#include "format/ops/op_schema.h"
#include "format/pte/etx_blob.h"
#include "format/pte/pte_program.h"

#define ETX_VERIFY_NONE UINT32_MAX

// Bytes in the address space of a method: [start, end). Empty if both are
// equal.
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

// Compares two numbers, or two ranges, for qsort.
static inline int etx_verify_compare(uint64_t a, uint64_t b) {
  return (a > b) - (a < b);
}
static inline int etx_verify_compare_ranges(const void* left,
                                            const void* right) {
  const etx_verify_range* const a = left;
  const etx_verify_range* const b = right;
  return a->start != b->start ? etx_verify_compare(a->start, b->start)
                              : etx_verify_compare(a->end, b->end);
}

typedef enum etx_verify_storage_kind {
  ETX_VERIFY_STORAGE_NONE,      // not a tensor
  ETX_VERIFY_STORAGE_CONSTANT,  // read-only bytes of the file
  ETX_VERIFY_STORAGE_PLANNED,   // in an arena
  ETX_VERIFY_STORAGE_CALLER,    // memory of the caller, outside all arenas
} etx_verify_storage_kind;

typedef struct etx_verify_value {
  etx_verify_storage_kind storage;
  etx_verify_range range;  // its planned bytes, at the upper bounds of sizes
  uint32_t parent;         // a larger value that it is a view of, by the blob;
                           // ETX_VERIFY_NONE if there is none
  uint64_t parent_offset;  // in bytes of the parent
  uint32_t top;            // the outermost parent, or the value itself
  uint32_t first_part;     // the values that it is made of, by the blob:
  uint32_t part_count;     // positions in etx_verify_method.parts
  uint32_t header_of;      // 1 + the only value whose header it takes over
                           // (et_view, a move); 0: none or several, or it is
                           // written before it takes over one
  bool is_rebound;         // some instruction gives it another header
  bool is_written;         // some instruction, or the caller, writes it
  bool is_changed;         // some instruction changes it in place
  bool is_state;           // its content outlives the call; set by the dataflow
  bool may_be_constant;    // some header that it takes over is a constant's
  uint32_t first_range;    // its possible ranges, positions in
  uint32_t range_count;    // etx_verify_method.ranges: one, or more if it takes
                           // over several headers
  // Chains of parts, set by etx_verify_find_parts:
  uint32_t whole;    // 1 + the value that it is a part of; 0: it is no part
  uint32_t behind;   // 1 + the part before it; 0: it is the first
  uint32_t view_of;  // 1 + the value that it is always a view of; 0: unknown
  bool shows_all;    // it is a view of all elements
} etx_verify_value;

// One instruction of any chain, in the order of execution.
typedef struct etx_verify_step {
  etx_pte_instruction instruction;
  const etx_op* op;  // of a KernelCall; NULL if the operator is unknown
  uint32_t chain;
  uint32_t index;   // in the chain
  uint32_t target;  // of a jump: a step; step_count is the end of the method
} etx_verify_step;

typedef struct etx_verify_method {
  const etx_pte* pte;
  const etx_blob* blob;  // NULL: a stock file
  size_t blob_method;    // position in the blob, or SIZE_MAX
  etx_pte_plan plan;
  etx_text name;
  etx_verify_arena* memory;
  etx_diag* diag;
  // Limits of work; tests lower them.
  uint64_t max_state_bytes;  // of what is known at all basic blocks
  uint64_t max_row_steps;    // that are analysed for all lists (loop_rows)
  // True: unknown operators and delegates are accepted, and their effects are
  // guessed (see etx_verify_effects_of). False for a proof.
  bool takes_unknown;
  etx_own_list own;  // operators of the application; filled with the steps
  etx_verify_value* values;
  size_t value_count;
  uint32_t* parts;           // values, see etx_verify_value
  etx_verify_range* ranges;  // possible ranges, see etx_verify_value
  size_t range_count;
  etx_verify_step* steps;
  size_t step_count;
} etx_verify_method;

// Possible range `index` of a value.
static inline etx_verify_range etx_verify_address_range(
    const etx_verify_method* m, uint32_t value, size_t index) {
  return m->ranges[m->values[value].first_range + index];
}

// True if a possible range of one value overlaps one of the other.
static inline bool etx_verify_may_overlap(const etx_verify_method* m,
                                          uint32_t a, uint32_t b) {
  for (uint32_t i = 0; i < m->values[a].range_count; ++i) {
    for (uint32_t k = 0; k < m->values[b].range_count; ++k) {
      if (etx_verify_overlap(etx_verify_address_range(m, a, i),
                             etx_verify_address_range(m, b, k))) {
        return true;
      }
    }
  }
  return false;
}

// One tensor that an instruction reads or writes.
typedef struct etx_verify_access {
  uint32_t value;
  bool is_first;    // the operator's first tensor argument
  bool is_changed;  // a write in place: the argument had content before
  bool updates;     // a write in place that keeps some of that content
} etx_verify_access;

// What an instruction does. The next call of etx_verify_effects_of overwrites
// the arrays.
typedef struct etx_verify_effects {
  etx_verify_access* reads;  // bytes are read
  size_t read_count;
  etx_verify_access* writes;  // bytes are written
  size_t write_count;
  uint32_t rebound;       // the value that takes over the header of
  uint32_t rebound_from;  // this one; both may be ETX_VERIFY_NONE
  uint32_t sized;         // the value whose sizes are set and whose bytes are
                          // kept, or ETX_VERIFY_NONE
  uint32_t released;      // the value that is freed, or ETX_VERIFY_NONE
  bool is_guessed;        // an unknown operator or a delegate
  size_t capacity;        // of both arrays
} etx_verify_effects;

// Basic blocks: block b has the steps [first[b], first[b + 1]).
typedef struct etx_verify_basic_blocks {
  uint32_t* first;     // first step of each block, and step_count at the end
  size_t count;        // 0 if the method has no steps
  uint32_t* block_of;  // by step: its block; of step_count: `count`
  bool* varies;        // by value: see etx_verify_find_varying
} etx_verify_basic_blocks;

// The blocks that may follow another one.
typedef struct etx_verify_ways {
  uint32_t next[2];
  size_t count;  // 1 or 2
} etx_verify_ways;

// verify_addresses

// Selects method `index` of `pte`, without tables yet. `blob` is NULL for a
// stock file. All arguments have to outlive `m`.
void etx_verify_method_init(etx_verify_method* m, const etx_pte* pte,
                            const etx_blob* blob, size_t index,
                            etx_verify_arena* memory, etx_diag* diag);

// Finds the range, the parent and the parts of every tensor.
ETX_MUST_USE etx_status etx_verify_assign_addresses(etx_verify_method* m);

// verify_effects

// Finds the schemas of all operators and flattens the chains into steps.
ETX_MUST_USE etx_status etx_verify_find_steps(etx_verify_method* m);
// Allocates arrays for the effects of any step.
ETX_MUST_USE etx_status etx_verify_effects_init(etx_verify_effects* effects,
                                                const etx_verify_method* m);
// What step `index` does. If `takes_unknown` is set, an unknown call is assumed
// to read all its tensor arguments and to write those that are not constants.
ETX_MUST_USE etx_status etx_verify_effects_of(const etx_verify_method* m,
                                              size_t index,
                                              etx_verify_effects* effects);
// The same of a step that etx_verify_effects_of has accepted before: all are
// once etx_verify_find_rebinding has succeeded.
void etx_verify_effects_again(const etx_verify_method* m, size_t index,
                              etx_verify_effects* effects);

// verify_control_flow

// Splits the steps into basic blocks: at jumps and at their targets.
ETX_MUST_USE etx_status etx_verify_find_basic_blocks(
    const etx_verify_method* m, etx_verify_basic_blocks* out_blocks);
// The successors of `block`; two may be the same. `blocks->count` stands for
// the end of the method. A jump with a constant condition has one successor.
void etx_verify_successors(const etx_verify_method* m,
                           const etx_verify_basic_blocks* blocks,
                           uint32_t block, etx_verify_ways* out_ways);
// Proves that every step can reach the end of the method. ETX_BAD_FILE: there
// is a loop that nothing leaves.
ETX_MUST_USE etx_status etx_verify_every_loop_ends(
    const etx_verify_method* m, const etx_verify_basic_blocks* blocks);
// Takes `words` zeroed words for each basic block. ETX_UNSUPPORTED: they are
// more bytes than m->max_state_bytes.
ETX_MUST_USE etx_status etx_verify_take_states(
    const etx_verify_method* m, const etx_verify_basic_blocks* blocks,
    size_t words, uint64_t** out_states);

// Finds the values that can change at run time: inputs, targets of moves, and
// scalar results of operators. All other numbers are constants of the file.
ETX_MUST_USE etx_status etx_verify_find_varying(const etx_verify_method* m,
                                                bool** out_varies);

#endif
