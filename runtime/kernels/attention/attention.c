// Attention as in FlashAttention: for a tile of query rows, and block by block
// of 64 keys, scores = query * key^T, online softmax, accumulators += weights *
// value. Operands that are dense float32 are read in place, and the result's
// own rows are the accumulators if they are whole groups of lanes. A thread's
// workspace has the tiles, a block of scores and of transposed keys. Other
// operands are converted to it, too, a block at a time:
//
//   tiles | scores [rows, 64] | transposed keys | accumulators [rows of some
//   tiles, groups] | query tile [rows, width] | block [64, width] of keys, and
//   then of values: one for both, because it stays in L1
//
// A key block is transposed once for a few tiles, so that a
// score is summed from the first element to the last, whatever is computed
// beside it. For few queries the keys are read in place instead.
//
// A single query (decoding) is bound by memory, not by arithmetic. Its tile
// spans several heads, so that the fixed work for a tile is shared, and the
// keys and then the values of these heads are read in the order of memory.

#include "runtime/kernels/attention/attention.h"

#include "format/base/checked_math.h"
#include "runtime/kernels/attention/attention_f64.h"
#include "runtime/kernels/attention/attention_workspace.h"
#include "runtime/kernels/core/convert.h"
#include "runtime/kernels/core/parallel_for.h"
#include "runtime/kernels/simd/elementwise/float_loops.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/matmul/gemm.h"
#include "runtime/kernels/simd/vector/prefetch.h"

enum {
  TILE = ETX_ATTENTION_TILE,
  KEYS = ETX_ATTENTION_KEYS,
  GROUP = ETX_ATTENTION_GROUP,
  HEADS_PER_TILE = ETX_ATTENTION_HEADS_PER_TILE,
  REGISTER_ROWS = 6,  // rows of a microkernel's register block
  TRANSPOSED_TAPS = ETX_ATTENTION_TRANSPOSED_TAPS,
  // Multiply-adds below which waking other threads costs more than it saves.
  MIN_PARALLEL_WORK = 100000,
  MAX_PREFETCHED_ROWS = 12,  // most rows of a head that are prefetched
  FAR_BYTES = 1 << 18,       // keys of a head that are not in L2
  MEMORY_BYTES = 1 << 22,    // keys of a tile that come from memory
  PART_BYTES = 1024,         // of a block that are prefetched at a time
  STORED_ROWS = 4,           // most rows that read halves as stored
  ALIGNMENT = ETX_ATTENTION_ALIGNMENT,
};

typedef etx_attention_rows float_rows;
typedef etx_attention_tile query_tile;
typedef etx_attention_prefetch_rows prefetch_rows;
typedef etx_attention_transposed_keys transposed_keys;
typedef etx_attention_slice_memory slice_memory;

// Rows of a tile: tiles are about equally large, in whole register blocks.
static size_t tile_rows(const etx_attention* a) {
  const size_t tiles = (a->queries + TILE - 1) / TILE;
  if (tiles < 2) return a->queries;
  return ((a->queries + tiles - 1) / tiles + REGISTER_ROWS - 1) /
         REGISTER_ROWS * REGISTER_ROWS;
}

// ------------------------------------------------ scores

// True if a score is a dot product with sixteen partial sums, as in a GEMM NT
// of so few rows. Transposing the keys does not pay then.
static bool uses_dot_kernel(const etx_attention* a) {
  return a->queries <= ETX_GEMM_NT_ROWS && a->width % GROUP == 0;
}

static void transpose_keys(const query_tile* t, float_rows keys, size_t count,
                           size_t first, size_t taps,
                           transposed_keys* transposed) {
  for (size_t k = 0; k < count; k += GROUP) {
    t->loops->transpose_pack(keys.data + (ptrdiff_t)k * keys.stride + first,
                             keys.stride, count - k < GROUP ? count - k : GROUP,
                             taps, transposed->elements[k / GROUP][0]);
  }
  // Rows of other heads have other keys, so nothing can be reused.
  transposed->count = t->spans_heads || taps < t->attention->width ? 0 : count;
}

// Rows of a tile and the keys of a block that they all read.
typedef struct score_block {
  size_t first_row, rows;
  float_rows keys;
  size_t count;           // keys
  float (*scores)[KEYS];  // of the first row
} score_block;

static const float* query_row(const query_tile* t, size_t r) {
  return t->query.data + (ptrdiff_t)r * t->query.stride;
}

// scores[i][k] = query row i * key k as dot products of rows in place. The rows
// are computed one by one: the first one brings the keys to L1. Between them,
// the next keys are prefetched, so that memory is read while scores are
// computed.
static void multiply_in_place(const query_tile* t, const score_block* s,
                              const prefetch_rows* next) {
  etx_gemm_nt b = {.out = s->scores[0],
                   .right = s->keys.data,
                   .right_row = s->keys.stride,
                   .rows = 1,
                   .columns = s->count,
                   .count = t->attention->width};
  const float* query = query_row(t, s->first_row);
  for (size_t i = 0; i < s->rows; ++i, query += t->query.stride) {
    etx_attention_prefetch_part(next, i, s->rows);
    b.left = query;
    t->loops->dots(&b);
    b.out += KEYS;
  }
}

// The same scores with transposed keys: each one is summed from the first
// element to the last.
static void multiply_transposed(const query_tile* t, const score_block* s,
                                transposed_keys* transposed,
                                const prefetch_rows* ahead) {
  const float* query = query_row(t, s->first_row);
  const size_t width = t->attention->width;
  size_t first = 0;
  do {
    const size_t left = width - first;
    const size_t taps = left < TRANSPOSED_TAPS ? left : TRANSPOSED_TAPS;
    if (transposed->count < s->count) {
      transpose_keys(t, s->keys, s->count, first, taps, transposed);
    }
    etx_gemm_block b = {.sums = s->scores[0],
                        .sum_row = KEYS,
                        .weights = query + first,
                        .weight_row = t->query.stride,
                        .panel = transposed->elements,
                        .panel_row = GROUP,
                        .panel_group = TRANSPOSED_TAPS * GROUP,
                        .rows = s->rows,
                        .taps = taps,
                        .lanes = s->count,
                        .starts = first == 0,
                        .prefetches_rows = true};
    if (first == 0) etx_attention_prefetch(&b, ahead);
    t->loops->gemm_by_type[ETX_COMPUTE_F32](&b);
    first += TRANSPOSED_TAPS;
  } while (first < width);
}

// ------------------------------------------------ online softmax

static float minus_infinity(void) {
  return etx_f32_of_bits(UINT32_C(0xff800000));
}

static void scale_row(float* row, size_t width, float factor) {
  for (size_t i = 0; i < width; ++i) row[i] *= factor;
}

// True if scores are scaled before the softmax loop. The loop can scale them
// itself, unless a mask has to be added to scaled scores, or a masked score
// would be changed by the scale.
static bool scales_before_softmax(const etx_attention* a) {
  return a->has_mask || !((float)a->scale > 0) ||
         (float)a->masked_score != minus_infinity();
}

// score = cap * tanh(score * scale / cap), for whole groups of keys.
static void softcap_scores(const query_tile* t, size_t count,
                           float scores[TILE][KEYS]) {
  const etx_attention* a = t->attention;
  const etx_scalar none[ETX_UNARY_PARAMETERS] = {{0}};
  const size_t whole = (count + GROUP - 1) / GROUP * GROUP;
  for (size_t r = 0; r < t->count; ++r) {
    scale_row(scores[r], whole, (float)(a->scale / a->cap));
    t->tanh(scores[r], scores[r], whole, none);
    scale_row(scores[r], whole, (float)a->cap);
  }
}

// Masks the lanes behind `count` scores, up to a whole group.
static void pad_scores(const query_tile* t, size_t count,
                       float scores[TILE][KEYS]) {
  enum { FOUR = 4 };
  const etx_f32x4 none = etx_f32x4_broadcast(minus_infinity());
  const size_t end = (count + GROUP - 1) / GROUP * GROUP;
  for (size_t r = 0; r < t->count; ++r) {
    size_t k = count;
    for (; k + FOUR <= end; k += FOUR) etx_f32x4_store(scores[r] + k, none);
    for (; k < end; ++k) scores[r][k] = none[0];
  }
}

// Replaces the scores of keys `first` to first + count by exp(score - row_max),
// updates row_max and row_sum, and rescales the accumulators of rows whose
// maximum grew. Lanes behind `count` become zeros.
static void update_softmax(query_tile* t, size_t first, size_t count,
                           float scores[TILE][KEYS]) {
  const etx_attention* a = t->attention;
  const bool is_capped = a->cap != 0;
  const bool scales_here = !is_capped && scales_before_softmax(a);
  const bool sees_all = t->min_visible_end >= (int64_t)(first + count);
  float factors[TILE], shifts[TILE];
  const etx_attention_score_rows s = {
      .scores = scores[0],
      .row = KEYS,
      .rows = t->count,
      .count = (count + GROUP - 1) / GROUP * GROUP,
      .scale = scales_here || is_capped ? 1.0f : (float)a->scale,
      .largest = t->row_max,
      .factor = factors,
      .shift = shifts,
      .totals = t->row_sum};
  if (is_capped) softcap_scores(t, count, scores);
  const bool needs_mask =
      !sees_all || scales_here || (is_capped && a->has_mask);
  for (size_t r = 0; r < t->count && needs_mask; ++r) {
    etx_attention_mask(t, r, first, count, scales_here ? (float)a->scale : 1.0f,
                       scores[r]);
  }
  if (count % GROUP != 0) pad_scores(t, count, scores);
  t->loops->attention_weights(&s);
  for (size_t r = 0; r < t->count && first > t->first_key; ++r) {
    if (factors[r] == 1) continue;
    scale_row(t->accumulators + (ptrdiff_t)r * t->accumulator_stride,
              etx_attention_accumulator_width(a), factors[r]);
  }
}

// ------------------------------------------------ tiles

static void start_tile(query_tile* t) {
  const etx_attention* a = t->attention;
  t->query = etx_attention_queries(t);
  if (t->bytes != NULL) etx_attention_round_queries(t);
  t->accumulators = t->accumulator_workspace;
  t->accumulator_stride = (ptrdiff_t)etx_attention_accumulator_width(a);
  if (t->accumulator_workspace == NULL) {
    t->accumulators = (float*)(uintptr_t)a->out.data +
                      etx_attention_row_offset(a, &a->out, t->batch, t->first);
    t->accumulator_stride = etx_attention_row_step(t, &a->out, 1);
  }
  for (size_t r = 0; r < (t->count + GROUP - 1) / GROUP * GROUP; ++r) {
    t->row_max[r] = minus_infinity();
  }
  memset(t->row_sum, 0, t->count * sizeof t->row_sum[0]);
}

static void finish_tile(query_tile* t) {
  const etx_attention* a = t->attention;
  const size_t bytes = etx_dtype_bytes(a->out.dtype);
  const size_t width = etx_attention_accumulator_width(a);
  const ptrdiff_t first =
      etx_attention_row_offset(a, &a->out, t->batch, t->first);
  for (size_t r = 0; r < t->count; ++r) {
    float* sums = t->accumulators + (ptrdiff_t)r * t->accumulator_stride;
    // The accumulators of a row that sees no key were never written.
    if (t->keys[r] <= t->first_key) memset(sums, 0, width * sizeof *sums);
    const float total = etx_striped_sum_f32(t->row_sum[r], GROUP);
    const bool is_fully_masked = total == 0 && !a->keeps_nan;
    const float factor = is_fully_masked ? 0.0f : 1.0f / total;
    if (t->accumulator_workspace == NULL) {
      scale_row(sums, width, factor);
      continue;
    }
    const ptrdiff_t at = first + etx_attention_row_step(t, &a->out, r);
    char* out = (char*)(uintptr_t)a->out.data + at * (ptrdiff_t)bytes;
    if (etx_attention_is_dense(&a->out)) {
      etx_attention_store_row(a, sums, factor, (float*)(void*)out);
      continue;
    }
    etx_attention_store_row(a, sums, factor, sums);
    etx_convert(a->out.dtype, out, a->out.inner, ETX_DTYPE_FLOAT32, sums, 1,
                a->value_width);
  }
}

// The number of keys that row `r` reads of the block that begins with `first`.
static size_t key_count(const query_tile* t, size_t r, size_t first) {
  const size_t keys = t->keys[r] > first ? t->keys[r] - first : 0;
  return keys < KEYS ? keys : KEYS;
}

// The block of a key or value operand that begins with row `first`.
typedef struct operand_block {
  const etx_attention_view* operand;
  ptrdiff_t offset;  // of row `first` for the tile's row 0, in elements
  size_t first, width;
  float* workspace;  // for conversion
} operand_block;

static operand_block key_block(const query_tile* t, size_t first) {
  const etx_attention* a = t->attention;
  return (operand_block){
      .operand = &a->key,
      .offset = etx_attention_row_offset(a, &a->key, t->batch, first),
      .first = first,
      .width = a->width,
      .workspace = t->block_workspace};
}

static operand_block value_block(const query_tile* t, size_t first) {
  const etx_attention* a = t->attention;
  return (operand_block){
      .operand = &a->value,
      .offset = etx_attention_row_offset(a, &a->value, t->batch, first),
      .first = first,
      .width = a->value_width,
      .workspace = t->block_workspace};
}

// Rows [at, at + count) of a block.
typedef struct block_part {
  size_t at, count;
} block_part;

// Converts a part of a block that row `r` of the tile reads.
static void convert_part(const query_tile* t, const operand_block* b, size_t r,
                         block_part part) {
  const etx_attention_row_range range = {.operand = b->operand,
                                         .batch = etx_attention_batch(t, r),
                                         .first = b->first + part.at,
                                         .count = part.count,
                                         .width = b->width};
  etx_attention_convert(t->attention, &range,
                        b->workspace + part.at * b->width);
}

// Converts the first `count` rows of a block that row `r` of the tile reads,
// and prefetches rows that are read next in between, a little at a time:
// requests that the processor cannot queue stop it. Not inlined: most blocks
// are read in place, and their path should stay short.
static __attribute__((noinline)) float_rows convert_rows(
    const query_tile* t, const operand_block* b, size_t r, size_t count,
    const prefetch_rows* next) {
  size_t step = count, parts = 1;
  if (next->count > 0) {
    step = next->bytes < PART_BYTES ? PART_BYTES / next->bytes : 1;
    parts = (count + step - 1) / step;
  }
  for (size_t i = 0, k = 0; k < count; ++i, k += step) {
    if (next->count > 0) etx_attention_prefetch_part(next, i, parts);
    convert_part(t, b, r, (block_part){k, count - k < step ? count - k : step});
  }
  return (float_rows){b->workspace, (ptrdiff_t)b->width};
}

// The first `count` rows of a block that row `r` of the tile reads: in place,
// or converted to the workspace.
static float_rows load_rows(const query_tile* t, const operand_block* b,
                            size_t r, size_t count, const prefetch_rows* next) {
  const etx_attention_view* operand = b->operand;
  if (!etx_attention_is_dense(operand)) {
    return convert_rows(t, b, r, count, next);
  }
  const float* data = (const float*)operand->data + b->offset;
  return (float_rows){data + etx_attention_row_step(t, operand, r),
                      operand->row};
}

// Prefetches the rows of a block that row `r` of the tile reads, if they are
// few: the rows of different heads lie far apart, and the hardware prefetcher
// does not follow so short a stream. Not inlined, and line by line upwards: the
// hardware prefetcher recognises one loop at one address, and goes on where it
// ends.
static __attribute__((noinline)) void prefetch_row_range(const query_tile* t,
                                                         const operand_block* b,
                                                         size_t r,
                                                         size_t count) {
  enum { LINE = 64 / sizeof(float) };
  const etx_attention_view* operand = b->operand;
  if (!t->spans_heads || count > MAX_PREFETCHED_ROWS ||
      !etx_attention_is_dense(operand)) {
    return;
  }
  const float* row = (const float*)operand->data + b->offset +
                     etx_attention_row_step(t, operand, r);
  for (size_t i = 0; i < count; ++i, row += operand->row) {
    for (size_t k = 0; k < b->width; k += LINE) {
      // Without it a compiler removes calls: the function has no effects.
      __asm__ volatile("");
      __builtin_prefetch(row + k);
    }
  }
}

// The rows of an operand that row `r` of the tile reads from `first` on, of
// `end` in all. None if their elements are apart.
static prefetch_rows next_rows(const query_tile* t,
                               const etx_attention_view* operand, size_t r,
                               size_t first, size_t end, size_t width) {
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(operand->dtype);
  prefetch_rows ahead = {.row_bytes = operand->row * bytes,
                         .bytes = width * (size_t)bytes};
  if (first >= end || operand->inner != 1) return ahead;
  ahead.data = (const char*)operand->data +
               etx_attention_row_offset(t->attention, operand,
                                        etx_attention_batch(t, r), first) *
                   bytes;
  ahead.count = end - first < KEYS ? end - first : KEYS;
  return ahead;
}

// The rows behind a block that row `r` of a tile that spans heads reads next,
// if heads share them, so that there is work to do meanwhile, and if there are
// so many that they are not in L2.
static prefetch_rows rows_behind(const query_tile* t, const operand_block* b,
                                 size_t r, size_t rows) {
  const size_t bytes =
      t->keys[r] * b->width * etx_dtype_bytes(b->operand->dtype);
  const bool is_far = t->spans_heads && rows > 1 && bytes >= FAR_BYTES;
  return next_rows(t, b->operand, r, b->first + KEYS, is_far ? t->keys[r] : 0,
                   b->width);
}

// The rows of a block that row `r` of the tile reads, to be prefetched while
// rows of the head before it are converted: reading and converting take turns,
// which the hardware prefetcher does not follow. None where heads share rows,
// and there is more work than reading, or where a tile reads little.
static prefetch_rows rows_of_head(const query_tile* t, const operand_block* b,
                                  size_t r) {
  const size_t bytes = etx_dtype_bytes(b->operand->dtype);
  const bool is_far = t->spans_heads && b->operand->repeat == 1 &&
                      !etx_attention_is_dense(b->operand) &&
                      t->count * t->keys[0] * b->width * bytes >= MEMORY_BYTES;
  return next_rows(t, b->operand, r, b->first, is_far ? t->keys[r] : 0,
                   b->width);
}

// The first `count` rows of a block that row `r` of the tile reads.
static etx_attention_row_range range_of(const query_tile* t,
                                        const operand_block* b, size_t r,
                                        size_t count) {
  return (etx_attention_row_range){.operand = b->operand,
                                   .batch = etx_attention_batch(t, r),
                                   .first = b->first,
                                   .count = count};
}

// True if `rows` rows read keys and values of another type than float32 as
// stored. More rows are faster with halves that are expanded for all of them.
static bool reads_stored(const query_tile* t, size_t rows) {
  return t->bytes != NULL || (t->reads_halves && rows <= STORED_ROWS);
}

// The rows of a block that row `next` of a tile that spans heads reads, to be
// prefetched; behind the last row, those of the block that is read after it.
// The rows of a head are too few for the hardware prefetcher.
static prefetch_rows next_stored(const query_tile* t, const operand_block* b,
                                 const operand_block* after, size_t next) {
  if (!t->spans_heads) return (prefetch_rows){.count = 0};
  if (next >= t->count) {
    next = 0;
    b = after;
  }
  return next_rows(t, b->operand, next, b->first, t->keys[next], b->width);
}

// Prefetches these rows with their scales, all at once.
static void prefetch_next_bytes(const query_tile* t, const operand_block* b,
                                const operand_block* after, size_t next) {
  const prefetch_rows rows = next_stored(t, b, after, next);
  if (next >= t->count) {
    next = 0;
    b = after;
  }
  etx_attention_prefetch_part(&rows, 0, 1);
  if (rows.count == 0 || b->operand->qparam_row != 1) return;
  const etx_attention_row_range range = range_of(t, b, next, rows.count);
  const prefetch_rows scales = {
      .data = (const char*)etx_attention_scales_at(t->attention, &range),
      .count = 1,
      .bytes = rows.count * sizeof(float)};
  etx_attention_prefetch_part(&scales, 0, 1);
}

// Multiplies the scores or weights of `rows` rows from row `r` on by the scales
// of the first `count` rows of a block.
static void apply_scales(const query_tile* t, const operand_block* b, size_t r,
                         size_t count, size_t rows, float scores[TILE][KEYS]) {
  const etx_attention_row_range range = range_of(t, b, r, count);
  etx_attention_apply_scales(t->attention, &range, rows, scores + r);
}

// Computes the scores of a block of keys. Prefetches its values if they are
// few.
static void score_keys(const query_tile* t, const operand_block* keys,
                       const operand_block* values, float scores[TILE][KEYS],
                       transposed_keys* transposed,
                       const prefetch_rows* ahead) {
  const etx_attention* a = t->attention;
  const size_t first = keys->first;
  size_t rows = etx_attention_rows_with_same_keys(t, 0);
  for (size_t r = rows; r < t->count;
       r += etx_attention_rows_with_same_keys(t, r)) {
    prefetch_row_range(t, keys, r, key_count(t, r, first));
  }
  for (size_t r = 0; r < t->count; r += rows) {
    const size_t count = key_count(t, r, first);
    rows = etx_attention_rows_with_same_keys(t, r);
    if (count == 0) continue;
    if (reads_stored(t, rows)) {
      const etx_attention_row_range range = range_of(t, keys, r, count);
      if (t->bytes != NULL) {
        prefetch_next_bytes(t, keys, values, r + rows);
        etx_attention_score_bytes(t, r, rows, &range, scores + r);
      } else {
        const prefetch_rows next = next_stored(t, keys, values, r + rows);
        etx_attention_score_halves(t, r, rows, &range, &next, scores + r);
      }
      continue;
    }
    prefetch_row_range(t, values, r, count);
    const prefetch_rows next_head = r + rows < t->count
                                        ? rows_of_head(t, keys, r + rows)
                                        : rows_of_head(t, values, 0);
    const score_block s = {.first_row = r,
                           .rows = rows,
                           .keys = load_rows(t, keys, r, count, &next_head),
                           .count = count,
                           .scores = scores + r};
    if (uses_dot_kernel(a)) {
      const prefetch_rows next = rows_behind(t, keys, r, rows);
      multiply_in_place(t, &s, &next);
    } else {
      multiply_transposed(t, &s, transposed, ahead);
    }
    apply_scales(t, keys, r, count, rows, scores);
  }
}

// Adds a block of values, multiplied by their weights, to the accumulators.
static void sum_values(const query_tile* t, const operand_block* values,
                       float weights[TILE][KEYS], const prefetch_rows* ahead) {
  const operand_block keys_behind = key_block(t, values->first + KEYS);
  for (size_t r = 0, rows; r < t->count; r += rows) {
    const size_t count = key_count(t, r, values->first);
    rows = etx_attention_rows_with_same_keys(t, r);
    if (count == 0) continue;
    if (reads_stored(t, rows)) {
      const etx_attention_row_range range = range_of(t, values, r, count);
      if (t->bytes != NULL) {
        prefetch_next_bytes(t, values, &keys_behind, r + rows);
        etx_attention_add_bytes(t, r, rows, &range, weights + r);
      } else {
        const prefetch_rows next =
            next_stored(t, values, &keys_behind, r + rows);
        etx_attention_add_halves(t, r, rows, &range, &next, weights + r);
      }
      continue;
    }
    const prefetch_rows next_head = r + rows < t->count
                                        ? rows_of_head(t, values, r + rows)
                                        : rows_of_head(t, &keys_behind, 0);
    const etx_attention_weighted_values weighted = {
        .first_row = r,
        .rows = rows,
        .weights = weights[r],
        .values = load_rows(t, values, r, count, &next_head),
        .count = count,
        .starts = values->first == t->first_key};
    const prefetch_rows next = rows_behind(t, values, r, rows);
    apply_scales(t, values, r, count, rows, weights);
    etx_attention_add_values(t, &weighted, t->spans_heads ? &next : ahead);
  }
}

// Processes the key block that begins with `first`, of `end` keys that are read
// for any tile. The first tile that reads a block prefetches what comes next:
// the values of the block, and then the keys of the next one.
static void run_block(query_tile* t, size_t first, size_t end, bool prefetches,
                      float scores[TILE][KEYS], transposed_keys* transposed) {
  const etx_attention* a = t->attention;
  const size_t left = t->max_keys - first;
  const size_t prefetch_end = prefetches && !t->spans_heads ? end : 0;
  const operand_block keys = key_block(t, first);
  const operand_block values = value_block(t, first);
  const prefetch_rows next_values =
      next_rows(t, &a->value, 0, first, prefetch_end, a->value_width);
  const prefetch_rows next_keys =
      next_rows(t, &a->key, 0, first + KEYS, prefetch_end, a->width);
  score_keys(t, &keys, &values, scores, transposed, &next_values);
  update_softmax(t, first, left < KEYS ? left : KEYS, scores);
  sum_values(t, &values, scores, &next_keys);
}

// Runs tiles of one batch, key block by key block.
static void run_tiles(const slice_memory* memory, size_t count) {
  query_tile* const tiles = memory->tiles;
  const query_tile* const end = tiles + count;
  size_t first = SIZE_MAX, keys = 0;
  for (query_tile* t = tiles; t < end; ++t) {
    etx_attention_find_visible(t);
    if (t->first_key < first) first = t->first_key;
    if (t->max_keys > keys) keys = t->max_keys;
    start_tile(t);
  }
  for (size_t k = first; k < keys; k += KEYS) {
    bool prefetches = true;
    memory->keys->count = 0;
    for (query_tile* t = tiles; t < end; ++t) {
      if (k < t->first_key || k >= t->max_keys) continue;
      run_block(t, k, keys, prefetches, memory->scores, memory->keys);
      prefetches = false;
    }
  }
  for (query_tile* t = tiles; t < end; ++t) finish_tile(t);
}

// ------------------------------------------------ slices of work

// The work of one attention, split into slices for threads. A unit of work is a
// tile, or a head where tiles span heads.
typedef struct attention_work {
  const etx_attention* attention;
  const etx_f32_microkernels* loops;
  etx_unary_loop tanh;
  const etx_attention_byte_loops* bytes;  // NULL: floats
  bool reads_halves;
  char* workspace;         // of all slices
  size_t workspace_bytes;  // bytes of one slice
  size_t rows;             // rows of a tile, of one batch
  bool spans_heads;        // a tile has rows of several heads
  size_t heads;            // heads of the last batch dimension
  size_t tiles;            // tiles of one batch
  size_t together;         // most tiles of a batch that share key blocks
  size_t units;            // units of all batches
  size_t count;            // slices
} attention_work;

// Sets up a tile. `index` is its number among the tiles that share key blocks.
static void init_tile(const attention_work* s, size_t unit, size_t index,
                      const slice_memory* memory, query_tile* t) {
  const etx_attention* a = s->attention;
  float* workspace = (float*)(void*)memory->elements;
  t->attention = a;
  t->loops = s->loops;
  t->tanh = s->tanh;
  t->bytes = s->bytes;
  t->reads_halves = s->reads_halves;
  t->batch = unit / s->tiles;
  t->first = unit % s->tiles * s->rows;
  t->spans_heads = s->spans_heads;
  t->query_workspace = t->block_workspace = t->accumulator_workspace = NULL;
  t->count = a->queries - t->first < s->rows ? a->queries - t->first : s->rows;
  if (etx_attention_is_double(a)) return;
  if (etx_attention_needs_accumulators(a)) {
    const size_t sums =
        etx_attention_workspace_rows(a) * etx_attention_accumulator_width(a);
    t->accumulator_workspace = workspace + index * sums;
    workspace += sums;
  }
  if (!etx_attention_needs_conversion(a)) return;
  t->query_workspace = workspace;
  t->block_workspace =
      t->query_workspace + etx_attention_workspace_rows(a) * a->width;
}

// Runs the tile that begins with `unit`. Returns its number of units.
static size_t run_tile(const attention_work* s, size_t unit, size_t end,
                       const slice_memory* memory) {
  query_tile* const t = memory->tiles;
  init_tile(s, unit, 0, memory, t);
  if (s->spans_heads) {
    const size_t left = s->heads - unit % s->heads;
    t->count = left < HEADS_PER_TILE ? left : HEADS_PER_TILE;
    if (t->count > end - unit) t->count = end - unit;
  }
  run_tiles(memory, 1);
  return s->spans_heads ? t->count : 1;
}

static void run_tiles_together(const attention_work* s, size_t unit,
                               size_t count, const slice_memory* memory) {
  for (size_t i = 0; i < count; ++i) {
    init_tile(s, unit + i, i, memory, &memory->tiles[i]);
  }
  run_tiles(memory, count);
}

// Runs some units from `unit` on. Returns their number.
static size_t run_units(const attention_work* s, size_t unit, size_t end,
                        const slice_memory* memory) {
  const etx_attention* a = s->attention;
  if (etx_attention_is_double(a)) {
    query_tile* const t = memory->tiles;
    init_tile(s, unit, 0, memory, t);
    for (size_t r = 0; r < t->count; ++r) {
      etx_attention_row_f64(a, t->batch, t->first + r,
                            (double*)(void*)memory->elements);
    }
    return 1;
  }
  size_t count = s->tiles - unit % s->tiles;
  if (count > end - unit) count = end - unit;
  if (count > s->together) count = s->together;
  if (count < 2) return run_tile(s, unit, end, memory);
  run_tiles_together(s, unit, count, memory);
  return count;
}

static void run_slice(void* argument, size_t index) {
  const attention_work* s = argument;
  const size_t first = s->units * index / s->count;
  const size_t last = s->units * (index + 1) / s->count;
  const slice_memory memory = etx_attention_slice_memory_at(
      s->attention, s->workspace + index * s->workspace_bytes);
  for (size_t unit = first; unit < last;) {
    unit += run_units(s, unit, last, &memory);
  }
}

// The number of heads in a tile depends on the number of threads. A row's
// result must not depend on the other rows of its tile, so all heads must read
// the same keys: their last key is one, and no head reads all keys because its
// mask hides them.
static bool heads_read_same_keys(const etx_attention* a) {
  if (a->batch_rank == 0) return false;
  if (a->last_key.data == NULL) return true;
  const size_t heads = a->batch_rank - 1;
  const bool mask_may_hide_all = a->has_mask &&
                                 a->mask.dtype == ETX_DTYPE_BOOL &&
                                 a->masked_score > (double)minus_infinity();
  return a->last_key.batch[heads] == 0 &&
         (!mask_may_hide_all || a->mask.batch[heads] == 0);
}

// Slices are aligned, and the memory is not: hence ALIGNMENT more bytes.
bool etx_attention_bytes(const etx_attention* a, size_t threads,
                         size_t* out_bytes) {
  size_t bytes = 0;
  *out_bytes = 0;
  return etx_attention_slice_bytes(a, &bytes) &&
         etx_multiply_size(bytes, threads, out_bytes) &&
         etx_add_size(*out_bytes, ALIGNMENT, out_bytes);
}

void etx_attention_run(const etx_attention* a, void* temporary,
                       const etx_parallel* parallel) {
  const etx_instruction_set set =
      etx_instruction_set_within(parallel->instruction_set);
  attention_work s = {.attention = a,
                      .loops = etx_f32_microkernels_of(set),
                      .tanh = etx_float_loops_of(set)->unary[ETX_UNARY_tanh],
                      .count = 1};
  if (a->bytes_of != NULL && etx_attention_uses_bytes(a)) {
    s.bytes = a->bytes_of(set);
  }
  s.reads_halves = etx_attention_reads_halves(a);
  s.workspace = temporary;
  s.workspace += -(uintptr_t)temporary % ALIGNMENT;
  size_t batches = 1;
  s.heads = etx_attention_heads(a);
  for (size_t i = 0; i < a->batch_rank; ++i) batches *= (size_t)a->batch[i];
  s.spans_heads = a->queries == 1 && heads_read_same_keys(a) &&
                  a->query.repeat == 1 && a->out.repeat == 1;
  s.rows = tile_rows(a);
  s.tiles = s.rows == 0 ? 0 : (a->queries + s.rows - 1) / s.rows;
  s.together = etx_attention_max_tiles(a);
  s.units = batches * s.tiles;
  if (s.units == 0 || a->value_width == 0) return;
  // Cannot fail: prepare asked for the same number of bytes.
  if (!etx_attention_slice_bytes(a, &s.workspace_bytes)) return;
  const double work = (double)batches * (double)a->queries * (double)a->keys *
                      (double)(a->width + a->value_width);
  if (parallel->thread_count < 2 || work < MIN_PARALLEL_WORK || s.units < 2) {
    run_slice(&s, 0);
    return;
  }
  s.count = parallel->thread_count < s.units ? parallel->thread_count : s.units;
  etx_parallel_run_tasks(parallel, run_slice, &s, s.count);
}
