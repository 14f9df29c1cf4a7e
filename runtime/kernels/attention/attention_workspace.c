// The sizes of a thread's workspace, and where its parts are.

#include "runtime/kernels/attention/attention_workspace.h"

#include "format/base/checked_math.h"

enum {
  TILE = ETX_ATTENTION_TILE,
  KEYS = ETX_ATTENTION_KEYS,
  ALIGNMENT = ETX_ATTENTION_ALIGNMENT,
  TILES_TOGETHER = 4,  // most tiles of a batch that share transposed keys
};

bool etx_attention_needs_conversion(const etx_attention* a) {
  return !etx_attention_is_dense(&a->query) ||
         !etx_attention_is_dense(&a->key) ||
         !etx_attention_is_dense(&a->value) || !etx_attention_is_dense(&a->out);
}

size_t etx_attention_heads(const etx_attention* a) {
  return a->batch_rank == 0 ? 1 : (size_t)a->batch[a->batch_rank - 1];
}

// Rows of workspace for a tile. A tile that spans heads may have more rows than
// there are queries. More queries may be split into smaller tiles; the rows are
// not fewer then, because the bytes may not fall when a size rises.
size_t etx_attention_workspace_rows(const etx_attention* a) {
  const size_t rows = a->queries < TILE ? a->queries : TILE;
  const size_t heads = etx_attention_heads(a);
  const size_t spanned = heads < ETX_ATTENTION_HEADS_PER_TILE
                             ? heads
                             : ETX_ATTENTION_HEADS_PER_TILE;
  return rows < spanned ? spanned : rows;
}

// Most tiles that share a key block. If operands are converted it is one: a
// thread has workspace for one tile only.
size_t etx_attention_max_tiles(const etx_attention* a) {
  const size_t tiles = (a->queries + TILE - 1) / TILE;
  if (etx_attention_needs_conversion(a) || tiles < 2) return 1;
  return tiles < TILES_TOGETHER ? tiles : TILES_TOGETHER;
}

static size_t round_up(size_t bytes) {
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t tiles_bytes(const etx_attention* a) {
  return round_up(etx_attention_max_tiles(a) * sizeof(etx_attention_tile));
}

static size_t scores_bytes(const etx_attention* a) {
  return etx_attention_workspace_rows(a) * KEYS * sizeof(float);
}

// Bytes before the elements of a slice's workspace. Doubles are computed
// without blocks.
static size_t fixed_bytes(const etx_attention* a) {
  if (etx_attention_is_double(a)) return tiles_bytes(a);
  return tiles_bytes(a) + scores_bytes(a) +
         round_up(sizeof(etx_attention_transposed_keys));
}

etx_attention_slice_memory etx_attention_slice_memory_at(const etx_attention* a,
                                                         char* memory) {
  etx_attention_slice_memory m = {.tiles = (etx_attention_tile*)(void*)memory,
                                  .elements = memory + fixed_bytes(a)};
  if (etx_attention_is_double(a)) return m;
  memory += tiles_bytes(a);
  m.scores = (float(*)[KEYS])(void*)memory;
  memory += scores_bytes(a);
  m.keys = (etx_attention_transposed_keys*)(void*)memory;
  return m;
}

// Floats (doubles) of one slice's workspace.
static bool workspace_elements(const etx_attention* a, size_t* out) {
  size_t sums = 0, queries = 0, block = 0;
  if (etx_attention_is_double(a)) {
    *out = a->value_width;
    return true;
  }
  if (etx_attention_needs_accumulators(a) &&
      !etx_multiply_size(
          etx_attention_accumulator_width(a),
          etx_attention_workspace_rows(a) * etx_attention_max_tiles(a),
          &sums)) {
    return false;
  }
  const size_t wider = a->width > a->value_width ? a->width : a->value_width;
  if (etx_attention_needs_conversion(a) &&
      !(etx_multiply_size(a->width, etx_attention_workspace_rows(a),
                          &queries) &&
        etx_multiply_size(wider, KEYS, &block))) {
    return false;
  }
  return etx_add_size(queries, block, out) && etx_add_size(*out, sums, out);
}

bool etx_attention_slice_bytes(const etx_attention* a, size_t* out) {
  const size_t bytes =
      etx_attention_is_double(a) ? sizeof(double) : sizeof(float);
  return workspace_elements(a, out) && etx_multiply_size(*out, bytes, out) &&
         etx_add_size(*out, fixed_bytes(a) + ALIGNMENT - 1, out) &&
         (*out -= *out % ALIGNMENT, true);
}
