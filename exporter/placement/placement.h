// Where the values of a method are stored: the storage model between lowering
// and memory planning (compare buffer assignment in XLA).
//
//   value ── kind ──> base value + delta ──> ... ──> root ── storage + offset
//
// A root has bytes of its own in one storage: a scratch block, a state, a
// constant or a caller's input. Every other value is an alias: bytes of its
// base from `delta` on. The passes alias_views, update_in_place and write_back
// change placements; placement_check.h verifies that every read still finds the
// right value. The planner then gives each scratch storage an offset.
//
// Everything lives in the module's pool; indexes connect things.

#ifndef ETX_EXPORTER_PLACEMENT_PLACEMENT_H
#define ETX_EXPORTER_PLACEMENT_PLACEMENT_H

#include "exporter/ir/ir.h"

typedef enum etx_storage_kind {
  ETX_STORAGE_SCRATCH,   // a block in arena 1
  ETX_STORAGE_STATE,     // a buffer of the module that this method mutates
  ETX_STORAGE_CONSTANT,  // read in place from the file
  ETX_STORAGE_INPUT,     // the caller's memory, unknown when planned
} etx_storage_kind;

typedef struct etx_storage {
  etx_storage_kind kind;
  uint32_t index;         // STATE: buffer. CONSTANT: constant. INPUT: position.
                          // SCRATCH: position of the input that it holds, or
                          // ETX_IR_NONE
  uint64_t bytes;         // at the upper bounds
  uint64_t offset;        // SCRATCH: in its memory, set by etx_plan_memory
  uint32_t memory;        // SCRATCH: position of its memory in the module's
                          // list, set by etx_plan_memory; 0 if there is none
  bool is_branch_result;  // SCRATCH: holds the result of a join, which both
                          // branches write
} etx_storage;

typedef enum etx_placement_kind {
  ETX_PLACEMENT_EXTERNAL,  // root: a buffer, constant or input
  ETX_PLACEMENT_COMPUTED,  // root: its node writes its bytes
  ETX_PLACEMENT_CONCAT,    // root: the operands of its node (a concatenation)
                           // are computed in its bytes, side by side; no
                           // instruction that runs
  ETX_PLACEMENT_BRANCH_RESULT,  // root: the operands of its node (a join) are
                                // computed in its bytes, each in its branch; no
                                // instruction
  ETX_PLACEMENT_ALIAS,  // bytes of `base` from `delta` on; no instruction
  ETX_PLACEMENT_DYNAMIC_VIEW,  // bytes of `base` from `delta` on; an
                               // instruction sets sizes and address at run time
                               // (et_view, part_view)
  ETX_PLACEMENT_DYNAMIC_PART,  // some bytes of `base`; an instruction sets
                               // sizes and address, from an offset that
                               // depends on sizes, at run time (part_view)
  ETX_PLACEMENT_DYNAMIC_SIZE,  // bytes of `base` from `delta` on, at a planned
                               // address; an instruction sets the sizes at run
                               // time (empty)
  ETX_PLACEMENT_UPDATED_IN_PLACE,  // all bytes of `base`: the result of a
                                   // scatter whose source is computed in
                                   // place; no instruction
  ETX_PLACEMENT_SELF_COPY,  // all bytes of `base`, copied onto themselves: an
                            // instruction until remove_self_copy
} etx_placement_kind;

typedef struct etx_value_placement {
  etx_placement_kind kind;
  // Aliases: the value that it is part of. Roots that are computed in a part of
  // another value, which they update: that value. Other roots: ETX_IR_NONE.
  uint32_t base;
  uint64_t delta;    // aliases: bytes from the start of the base
  uint32_t storage;  // roots: index of a storage
  uint64_t offset;   // roots: bytes from the start of the storage
  uint64_t bytes;    // of the value, at the upper bounds
  // Roots that are computed in a concatenation whose sizes are dynamic: 1 + the
  // value of the concatenation, in which they lie at `offset` only at the upper
  // bounds; else 0.
  uint32_t part_of;
} etx_value_placement;

typedef struct etx_placement {
  etx_value_placement* values;  // one for each value of the method
  size_t value_count, value_capacity;
  etx_storage* storages;
  size_t storage_count, storage_capacity;
  // The storage of a buffer (as state) and of an input; ETX_IR_NONE if the
  // method does not use it.
  uint32_t* storage_of_buffer;
  uint32_t* storage_of_input;
} etx_placement;

// Adds the placement of the value that was added to the method last.
ETX_MUST_USE etx_status etx_placement_add(etx_pool* pool,
                                          etx_placement* placement,
                                          const etx_value_placement* place);
ETX_MUST_USE etx_status etx_placement_add_storage(etx_pool* pool,
                                                  etx_placement* placement,
                                                  const etx_storage* storage,
                                                  uint32_t* out_index);

// Bytes of a value within its storage. For a part whose offset depends on
// sizes, and for views of it, these are all bytes of the value that it is a
// part of.
typedef struct etx_storage_range {
  uint32_t storage;
  uint64_t start;  // bytes from the start of the storage
  uint64_t end;    // one past the last
} etx_storage_range;
etx_storage_range etx_placement_range(const etx_placement* placement,
                                      uint32_t value);

// True if neither the value nor a value that it is a view of is a part whose
// offset depends on sizes. Only then are the bytes of the value known when
// planned.
bool etx_placement_has_fixed_offset(const etx_placement* placement,
                                    uint32_t value);

// The root of an alias, and the offset of the alias in it, in bytes; the offset
// is 0 unless it is fixed.
uint32_t etx_placement_root(const etx_placement* placement, uint32_t value,
                            uint64_t* out_delta);

// The value that `value` shows with the same sizes and from its first byte on:
// `value` itself, or what elided copies were made of. An instruction writes it
// if it is a root.
uint32_t etx_placement_written_as(const etx_ir_method* method,
                                  const etx_placement* placement,
                                  uint32_t value);

static inline bool etx_placement_kind_is_root(etx_placement_kind kind) {
  return kind == ETX_PLACEMENT_EXTERNAL || kind == ETX_PLACEMENT_COMPUTED ||
         kind == ETX_PLACEMENT_CONCAT || kind == ETX_PLACEMENT_BRANCH_RESULT;
}
// True if the storage has content before the method runs or after it: states,
// inputs, and scratch that holds an input. placement_check tracks these.
static inline bool etx_storage_is_tracked(const etx_storage* storage) {
  return storage->kind == ETX_STORAGE_STATE ||
         storage->kind == ETX_STORAGE_INPUT ||
         (storage->kind == ETX_STORAGE_SCRATCH &&
          storage->index != ETX_IR_NONE);
}
static inline bool etx_storage_range_overlaps(etx_storage_range a,
                                              etx_storage_range b) {
  return a.storage == b.storage && a.start < b.end && b.start < a.end;
}
static inline bool etx_storage_range_equal(etx_storage_range a,
                                           etx_storage_range b) {
  return a.storage == b.storage && a.start == b.start && a.end == b.end;
}

// True if the node becomes an instruction that reads and writes tensors: some
// output is computed, or is a self-copy that was not removed.
bool etx_placement_has_instruction(const etx_placement* placement,
                                   const etx_ir_node* node);

// Moves a node to another position of the method. Its branch stays the same.
void etx_placement_move_node(etx_ir_method* method, size_t from, size_t to);

// The storage of a mutation's target; ETX_IR_NONE if it has none.
uint32_t etx_placement_target(const etx_placement* placement,
                              const etx_ir_mutation* mutation);
// The name of a mutation's target.
etx_text etx_placement_target_name(const etx_ir_module* module,
                                   const etx_ir_method* method,
                                   const etx_ir_mutation* mutation);
// True if the mutation's value is stored in the bytes of its target.
bool etx_placement_is_in_place(const etx_placement* placement,
                               const etx_ir_mutation* mutation);

// Calls `visit` for every tensor that the node reads, lists included; stops
// at the first that is not ETX_OK.
typedef etx_status (*etx_placement_visit)(void* context, size_t argument,
                                          uint32_t value);
ETX_MUST_USE etx_status etx_placement_each_read(const etx_ir_node* node,
                                                etx_placement_visit visit,
                                                void* context);

#endif
