// Where the values of a method lie: the storage model between lowering and
// memory planning.
//
//   value ── way ──> base value + delta ──> ... ──> root ── storage + offset
//
// A root has bytes of its own in one storage: a scratch block, a state, a
// constant or a caller's input. Every other value is an alias: bytes of its
// base from `delta` on. The passes alias_views, update_in_place and write_back
// change ways and roots; place_check tells whether every read still finds the
// value it means. Planning then gives each scratch storage an offset.
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
  uint32_t index;   // STATE: buffer. CONSTANT: constant. INPUT: position.
                    // SCRATCH: position of the input that it holds, or
                    // ETX_IR_NONE
  uint64_t bytes;   // at the upper bounds
  uint64_t offset;  // SCRATCH: in arena 1, set by plan_memory
  bool is_chosen;   // SCRATCH: holds the result of a join, written on two ways
} etx_storage;

typedef enum etx_placement_kind {
  ETX_PLACEMENT_EXTERNAL,  // root: a buffer, constant or input
  ETX_PLACEMENT_COMPUTED,  // root: its node writes its bytes
  ETX_PLACEMENT_CONCAT,    // root: the arguments of its node (a concatenation)
                         // were computed side by side in its bytes; no
                         // instruction
  ETX_PLACEMENT_BRANCH_RESULT,  // root: the arguments of its node (a join) were
                                // computed in its bytes, each in its branch; no
                                // instruction
  ETX_PLACEMENT_ALIAS,  // bytes of `base` from `delta` on; no instruction
  ETX_PLACEMENT_DYNAMIC_VIEW,  // bytes of `base` from `delta` on; an
                               // instruction sets sizes and address at run time
                               // (et_view, part_view)
  ETX_PLACEMENT_DYNAMIC_SIZE,  // bytes of `base` from `delta` on, at an address
                               // that the plan knows; an instruction sets the
                               // sizes (empty)
  ETX_PLACEMENT_UPDATED_IN_PLACE,  // all bytes of `base`, into which another
                                   // argument of the node was computed in
                                   // place: no instruction
  ETX_PLACEMENT_SELF_COPY,  // all bytes of `base`, copied onto themselves: an
                            // instruction until remove_self_copy
} etx_placement_kind;

typedef struct etx_value_placement {
  etx_placement_kind way;
  uint32_t base;     // aliases: the value it lies in; roots: ETX_IR_NONE
  uint64_t delta;    // aliases: bytes from the start of the base
  uint32_t storage;  // roots: index of a storage
  uint64_t offset;   // roots: bytes from the start of the storage
  uint64_t bytes;    // of the value, at the upper bounds
} etx_value_placement;

typedef struct etx_placement {
  etx_value_placement* places;  // one for each value of the method
  size_t place_count, place_capacity;
  etx_storage* storages;
  size_t storage_count, storage_capacity;
  // The storage of a buffer (as state) and of an input; ETX_IR_NONE if the
  // method does not use it.
  uint32_t* storage_of_buffer;
  uint32_t* storage_of_input;
} etx_placement;

// Adds the place of the value that was added to the method last.
ETX_MUST_USE etx_status etx_placement_add(etx_pool* pool,
                                          etx_placement* placement,
                                          const etx_value_placement* place);
ETX_MUST_USE etx_status etx_placement_add_storage(etx_pool* pool,
                                                  etx_placement* placement,
                                                  const etx_storage* storage,
                                                  uint32_t* out_index);

// Bytes of a value within its storage.
typedef struct etx_storage_range {
  uint32_t storage;
  uint64_t start;  // bytes from the start of the storage
  uint64_t end;    // one past the last
} etx_storage_range;
etx_storage_range etx_placement_range(const etx_placement* placement,
                                      uint32_t value);

// The value whose bytes `value` lies in, and how far from their start.
uint32_t etx_placement_root(const etx_placement* placement, uint32_t value,
                            uint64_t* out_delta);

static inline bool etx_placement_kind_is_root(etx_placement_kind way) {
  return way == ETX_PLACEMENT_EXTERNAL || way == ETX_PLACEMENT_COMPUTED ||
         way == ETX_PLACEMENT_CONCAT || way == ETX_PLACEMENT_BRANCH_RESULT;
}
// True if the storage's content matters beyond the values of one call: it is
// followed through the method when something is placed in it.
static inline bool etx_storage_is_kept(const etx_storage* storage) {
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

// True if the node is an instruction that reads and writes tensors: some
// output is a root, or a copy onto itself that was not taken out.
bool etx_placement_node_runs(const etx_placement* placement,
                             const etx_ir_node* node);

// Moves a node in the method's order; values follow. Its branch stays.
void etx_placement_move_node(etx_ir_method* method, size_t from, size_t to);
// After nodes [from, to) have changed places: their values know them again.
void etx_placement_own_outputs(etx_ir_method* method, size_t from, size_t to);

// The storage of a mutation's target; ETX_IR_NONE if it has none.
uint32_t etx_placement_target(const etx_placement* placement,
                              const etx_ir_mutation* mutation);
// The name of a mutation's target.
etx_text etx_placement_target_name(const etx_ir_module* module,
                                   const etx_ir_method* method,
                                   const etx_ir_mutation* mutation);
// True if the mutation's value lies at exactly its target's bytes.
bool etx_placement_is_placed(const etx_placement* placement,
                             const etx_ir_mutation* mutation);

// Calls `visit` for every tensor that the node reads, lists included; stops
// at the first that is not ETX_OK.
typedef etx_status (*etx_placement_visit)(void* context, size_t argument,
                                          uint32_t value);
ETX_MUST_USE etx_status etx_placement_each_read(const etx_ir_node* node,
                                                etx_placement_visit visit,
                                                void* context);

#endif
