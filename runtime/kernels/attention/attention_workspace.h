// A thread's part of the workspace of an attention (attention.c draws it).
// Sizes depend on the operands' sizes and types only, and do not fall when a
// size rises, except the width of values: a multiple of ETX_ATTENTION_GROUP may
// need no accumulators, which smaller widths need.

#ifndef ETX_RUNTIME_KERNELS_ATTENTION_ATTENTION_WORKSPACE_H
#define ETX_RUNTIME_KERNELS_ATTENTION_ATTENTION_WORKSPACE_H

#include "runtime/kernels/attention/attention_tile.h"

enum {
  // Most heads of a single query that form a tile. A cache may have the rows of
  // all heads side by side: they are read together.
  ETX_ATTENTION_HEADS_PER_TILE = 32,
  // Elements of each key that are transposed at a time.
  ETX_ATTENTION_TRANSPOSED_TAPS = 64,
  ETX_ATTENTION_ALIGNMENT =
      ETX_LANE_GROUP_BYTES,  // of the parts of a workspace
};

// ETX_ATTENTION_TRANSPOSED_TAPS elements of each key of a block: lane l of
// group g is key g * ETX_ATTENTION_GROUP + l.
typedef struct etx_attention_transposed_keys {
  float elements[ETX_ATTENTION_KEYS / ETX_ATTENTION_GROUP]
                [ETX_ATTENTION_TRANSPOSED_TAPS][ETX_ATTENTION_GROUP];
  size_t count;  // keys that stay transposed for the next tile
} etx_attention_transposed_keys;

// The parts of a slice's workspace. Each begins at a multiple of
// ETX_ATTENTION_ALIGNMENT.
typedef struct etx_attention_slice_memory {
  etx_attention_tile* tiles;
  float (*scores)[ETX_ATTENTION_KEYS];
  etx_attention_transposed_keys* keys;
  char* elements;  // floats, or doubles
} etx_attention_slice_memory;

// True if the attention is computed in float64.
static inline bool etx_attention_is_double(const etx_attention* a) {
  return ETX_HAS_DTYPE(FLOAT64) && a->query.dtype == ETX_DTYPE_FLOAT64;
}

// True if an operand is not read or written in place.
bool etx_attention_needs_conversion(const etx_attention* attention);

// Query heads of one batch.
size_t etx_attention_heads(const etx_attention* attention);

// Rows of workspace for a tile.
size_t etx_attention_workspace_rows(const etx_attention* attention);

// Most tiles of a batch that share a key block.
size_t etx_attention_max_tiles(const etx_attention* attention);

// Bytes of the workspace of one slice; false if they overflow size_t.
bool etx_attention_slice_bytes(const etx_attention* attention,
                               size_t* out_bytes);

// The parts of the workspace of a slice that begins at `memory`.
etx_attention_slice_memory etx_attention_slice_memory_at(
    const etx_attention* attention, char* memory);

#endif
