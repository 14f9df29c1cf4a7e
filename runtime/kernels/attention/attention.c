// Tiles of query rows meet blocks of 64 keys. Dense float32 is used where it
// lies, and sums are kept in the result's own rows if these are whole groups;
// anything else is converted block by block into the share's piece of temporary
// memory:
//
//   sums [rows of some tiles, groups] | query tile [rows, width] |
//   key block [64, width] | value block [64, value width]
//
// Keys are turned for some tiles, a group of them at a time, so that each score
// is summed from the first element to the last, whatever is computed beside it;
// few queries multiply them where they lie.
//
// A single query waits for memory more than it computes. What is done once for
// a tile is done for some heads then, whose keys, and then values, are read one
// after the other, in the order of memory.

#include "runtime/kernels/attention/attention.h"

#include "format/base/checked_math.h"
#include "runtime/kernels/attention/attention_f64.h"
#include "runtime/kernels/attention/attention_tile.h"
#include "runtime/kernels/core/convert.h"
#include "runtime/kernels/simd/elementwise/float_loops.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/matmul/gemm.h"

enum {
  TILE = ETX_ATTENTION_TILE,
  KEYS = ETX_ATTENTION_KEYS,
  GROUP = ETX_ATTENTION_GROUP,
  HEADS = 8,    // of a single query that make a tile, at most
  BLOCK = 6,    // rows that panel loops take at a time
  TURNED = 64,  // elements of the keys of a block that are turned at a time
  TILES = 4,    // of a batch, at most, whose rows meet turned keys
  // Multiply-adds below which other threads are not worth waking.
  PARALLEL_LEAST = 100000,
  ASKED = 12,  // rows of a head, at most, that are asked for
};

typedef etx_attention_rows rows;
typedef etx_attention_tile tile;
typedef etx_attention_prefetch_rows ahead_rows;

static bool is_double(const etx_attention* a) {
  return ETX_HAS_DTYPE(FLOAT64) && a->query.dtype == ETX_DTYPE_FLOAT64;
}

static bool needs_pieces(const etx_attention* a) {
  return !etx_attention_is_dense(&a->query) ||
         !etx_attention_is_dense(&a->key) ||
         !etx_attention_is_dense(&a->value) || !etx_attention_is_dense(&a->out);
}

// Rows of a tile: as even as possible, in whole blocks.
static size_t tile_rows(const etx_attention* a) {
  const size_t tiles = (a->queries + TILE - 1) / TILE;
  if (tiles < 2) return a->queries;
  return ((a->queries + tiles - 1) / tiles + BLOCK - 1) / BLOCK * BLOCK;
}

// ------------------------------------------------ temporary memory

// Rows that a tile has room for. With fewer queries there are never more, but
// of heads.
static size_t held_rows(const etx_attention* a) {
  const size_t least = tile_rows(a);
  return least < HEADS ? HEADS : least;
}

// Tiles that meet keys together: those that are converted have one piece.
static size_t most_tiles(const etx_attention* a) {
  const size_t tiles = (a->queries + TILE - 1) / TILE;
  if (needs_pieces(a) || tiles < 2) return 1;
  return tiles < TILES ? tiles : TILES;
}

// Floats (doubles) of one share's pieces.
static bool piece_elements(const etx_attention* a, size_t* out) {
  size_t sums = 0, keys = 0, values = 0;
  if (is_double(a)) {
    *out = a->value_width;
    return true;
  }
  if (etx_attention_keeps_sums(a) &&
      !etx_multiply_size(etx_attention_sum_width(a),
                         held_rows(a) * most_tiles(a), &sums)) {
    return false;
  }
  if (needs_pieces(a) &&
      !(etx_multiply_size(a->width, held_rows(a) + KEYS, &keys) &&
        etx_multiply_size(a->value_width, KEYS, &values))) {
    return false;
  }
  return etx_add_size(keys, values, out) && etx_add_size(*out, sums, out);
}

bool etx_attention_bytes(const etx_attention* a, size_t threads,
                         size_t* out_bytes) {
  const size_t bytes = is_double(a) ? sizeof(double) : sizeof(float);
  size_t elements;
  *out_bytes = 0;
  return piece_elements(a, &elements) &&
         etx_multiply_size(elements, bytes, &elements) &&
         etx_multiply_size(elements, threads, out_bytes);
}

// ------------------------------------------------ scores

// True if scores are sums of sixteen partial ones, as products of so few rows
// are: turning keys is not worth it.
static bool has_dots(const etx_attention* a) {
  return a->queries <= ETX_GEMM_NT_ROWS && a->width % GROUP == 0;
}

// Some elements of a block's keys as columns.
typedef struct turned_keys {
  float elements[KEYS / GROUP][TURNED][GROUP]
      __attribute__((aligned(ETX_LANE_GROUP_BYTES)));
  size_t count;  // keys that a later tile need not turn again
} turned_keys;

static void transpose_keys(const tile* t, rows keys, size_t count, size_t first,
                           size_t taps, turned_keys* turned) {
  for (size_t k = 0; k < count; k += GROUP) {
    t->loops->transpose_pack(keys.data + (ptrdiff_t)k * keys.stride + first, keys.stride,
                   count - k < GROUP ? count - k : GROUP, taps,
                   turned->elements[k / GROUP][0]);
  }
  // Heads have keys of their own.
  turned->count = t->has_heads || taps < t->attention->width ? 0 : count;
}

// scores[i][k] = query row r + i * key k, for i below `many` and `count` keys.
// Rows come one by one: the first leaves the keys in the first cache.
static void multiply_in_place(const tile* t, size_t r, size_t many, rows keys,
                              size_t count, float scores[][KEYS]) {
  etx_gemm_nt b = {.out = scores[0],
                   .left = t->query.data + (ptrdiff_t)r * t->query.stride,
                   .right = keys.data,
                   .right_row = keys.stride,
                   .rows = 1,
                   .columns = count,
                   .count = t->attention->width};
  for (size_t i = 0; i < many; ++i, b.out += KEYS, b.left += t->query.stride) {
    t->loops->dots(&b);
  }
}

// The same, each score summed from the first element to the last.
static void multiply_turned(const tile* t, size_t r, size_t many, rows keys,
                            size_t count, float scores[][KEYS],
                            turned_keys* turned, const ahead_rows* ahead) {
  const float* query = t->query.data + (ptrdiff_t)r * t->query.stride;
  const size_t width = t->attention->width;
  size_t first = 0;
  do {
    const size_t taps = width - first < TURNED ? width - first : TURNED;
    if (turned->count < count) {
      transpose_keys(t, keys, count, first, taps, turned);
    }
    etx_gemm_block b = {.sums = scores[0],
                        .sum_row = KEYS,
                        .weights = query + first,
                        .weight_row = t->query.stride,
                        .panel = turned->elements,
                        .panel_row = GROUP,
                        .panel_group = TURNED * GROUP,
                        .rows = many,
                        .taps = taps,
                        .lanes = count,
                        .starts = first == 0};
    if (first == 0) etx_attention_prefetch(&b, ahead);
    t->loops->gemm_by_type[ETX_COMPUTE_F32](&b);
    first += TURNED;
  } while (first < width);
}

// ------------------------------------------------ sums

static float minus_infinity(void) {
  return etx_f32_of_bits(UINT32_C(0xff800000));
}

static void scale_row(float* row, size_t width, float factor) {
  for (size_t i = 0; i < width; ++i) row[i] *= factor;
}

// True if rows are scaled before the loop that makes weights of them: it can do
// that itself where what hides a score is as good before that.
static bool scales_first(const etx_attention* a) {
  return a->has_mask || !((float)a->scale > 0) ||
         (float)a->hidden != minus_infinity();
}

// Scores of whole groups become capped ones, which are scaled.
static void cap_scores(const tile* t, size_t count, float scores[TILE][KEYS]) {
  const etx_attention* a = t->attention;
  const etx_scalar none[ETX_UNARY_PARAMETERS] = {{0}};
  const size_t whole = (count + GROUP - 1) / GROUP * GROUP;
  for (size_t r = 0; r < t->count; ++r) {
    scale_row(scores[r], whole, (float)(a->scale / a->cap));
    t->tanh(scores[r], scores[r], whole, none);
    scale_row(scores[r], whole, (float)a->cap);
  }
}

// Nothing is seen in lanes behind `count` scores, up to a whole group.
static void end_scores(const tile* t, size_t count, float scores[TILE][KEYS]) {
  enum { FOUR = 4 };
  const etx_f32x4 none = etx_f32x4_broadcast(minus_infinity());
  const size_t end = (count + GROUP - 1) / GROUP * GROUP;
  for (size_t r = 0; r < t->count; ++r) {
    size_t k = count;
    for (; k + FOUR <= end; k += FOUR) etx_f32x4_store(scores[r] + k, none);
    for (; k < end; ++k) scores[r][k] = none[0];
  }
}

// Makes weights of the scores of `count` keys from `first` on, zeros in lanes
// behind them.
static void attention_weights(tile* t, size_t first, size_t count,
                              float scores[TILE][KEYS]) {
  const etx_attention* a = t->attention;
  const bool is_capped = a->cap != 0;
  const bool is_first = !is_capped && scales_first(a);
  const bool are_seen = t->least_reach >= (int64_t)(first + count);
  float factors[TILE], shifts[TILE];
  const etx_attention_score_rows s = {
      .scores = scores[0],
      .row = KEYS,
      .rows = t->count,
      .count = (count + GROUP - 1) / GROUP * GROUP,
      .scale = is_first || is_capped ? 1.0f : (float)a->scale,
      .largest = t->largest,
      .factor = factors,
      .shift = shifts,
      .totals = t->totals};
  if (is_capped) cap_scores(t, count, scores);
  const bool is_plain = are_seen && !is_first && !(is_capped && a->has_mask);
  for (size_t r = 0; r < t->count && !is_plain; ++r) {
    etx_attention_mask(t, r, first, count, is_first ? (float)a->scale : 1.0f,
                       scores[r]);
  }
  if (count % GROUP != 0) end_scores(t, count, scores);
  t->loops->attention_weights(&s);
  for (size_t r = 0; r < t->count && first > 0; ++r) {
    if (factors[r] == 1) continue;
    scale_row(t->sums + (ptrdiff_t)r * t->sums_stride,
              etx_attention_sum_width(a), factors[r]);
  }
}

// ------------------------------------------------ tiles

static void start_tile(tile* t) {
  const etx_attention* a = t->attention;
  t->query = etx_attention_queries(t);
  t->sums = t->sum_piece;
  t->sums_stride = (ptrdiff_t)etx_attention_sum_width(a);
  if (t->sum_piece == NULL) {
    t->sums = (float*)(uintptr_t)a->out.data +
              etx_attention_at(a, &a->out, t->batch, t->first);
    t->sums_stride = etx_attention_step(t, &a->out, 1);
  }
  for (size_t r = 0; r < (t->count + GROUP - 1) / GROUP * GROUP; ++r) {
    t->largest[r] = minus_infinity();
  }
  memset(t->totals, 0, t->count * sizeof t->totals[0]);
}

static void finish_tile(tile* t) {
  const etx_attention* a = t->attention;
  const size_t bytes = etx_dtype_bytes(a->out.dtype);
  const size_t width = etx_attention_sum_width(a);
  const ptrdiff_t first = etx_attention_at(a, &a->out, t->batch, t->first);
  for (size_t r = 0; r < t->count; ++r) {
    float* sums = t->sums + (ptrdiff_t)r * t->sums_stride;
    // Nothing was summed where nothing is seen.
    if (t->keys[r] == 0) memset(sums, 0, width * sizeof *sums);
    const float total = etx_striped_sum_f32(t->totals[r], GROUP);
    const bool is_dead = total == 0 && !a->keeps_nan;
    const float factor = is_dead ? 0.0f : 1.0f / total;
    if (t->sum_piece == NULL) {
      scale_row(sums, width, factor);
      continue;
    }
    const ptrdiff_t at = first + etx_attention_step(t, &a->out, r);
    char* out = (char*)(uintptr_t)a->out.data + at * (ptrdiff_t)bytes;
    if (etx_attention_is_dense(&a->out)) {
      etx_attention_join(a, sums, factor, (float*)(void*)out);
      continue;
    }
    etx_attention_join(a, sums, factor, sums);
    etx_convert(a->out.dtype, out, a->out.inner, ETX_DTYPE_FLOAT32, sums, 1,
                a->value_width);
  }
}

// How many keys of a block from `first` on are read for row `r`.
static size_t keys_of(const tile* t, size_t r, size_t first) {
  const size_t keys = t->keys[r] > first ? t->keys[r] - first : 0;
  return keys < KEYS ? keys : KEYS;
}

// Rows `first` up to first + count of a side that row `r` meets, in place or
// through `piece`. Row 0 meets what lies at `at`.
static rows meet(const tile* t, const etx_attention_side* side, ptrdiff_t at,
                 size_t r, size_t first, size_t count, size_t width,
                 float* piece) {
  if (!etx_attention_is_dense(side)) {
    etx_attention_convert(t->attention, side, etx_attention_batch(t, r), first,
                          count, width, piece);
    return (rows){piece, (ptrdiff_t)width};
  }
  const float* data = (const float*)side->data + at;
  return (rows){data + etx_attention_step(t, side, r), side->row};
}

// Asks for the rows of a side that row `r` meets if they are few: heads lie far
// from each other, and processors see only many rows coming. One copy of one
// loop, line after line in one direction: what is asked for in this way, they
// go on asking for.
static __attribute__((noinline)) void ask_rows(const tile* t,
                                               const etx_attention_side* side,
                                               ptrdiff_t at, size_t r,
                                               size_t count, size_t width) {
  enum { LINE = 64 / sizeof(float) };
  if (!t->has_heads || count > ASKED || !etx_attention_is_dense(side)) return;
  const float* row =
      (const float*)side->data + at + etx_attention_step(t, side, r);
  for (size_t i = 0; i < count; ++i, row += side->row) {
    for (size_t k = 0; k < width; k += LINE) {
      // Without it a compiler takes the function for one that does nothing.
      __asm__ volatile("");
      __builtin_prefetch(row + k);
    }
  }
}

// The block of a side's rows that begins with `first`, of `end` that are read.
// What is converted, or of heads, is not asked for.
static ahead_rows rows_ahead(const tile* t, const etx_attention_side* side,
                             size_t first, size_t end, size_t width) {
  ahead_rows ahead = {{NULL, side->row}, 0, width};
  if (t->has_heads || first >= end || !etx_attention_is_dense(side)) {
    return ahead;
  }
  ahead.rows.data = (const float*)side->data +
                    etx_attention_at(t->attention, side, t->batch, first);
  ahead.count = end - first < KEYS ? end - first : KEYS;
  return ahead;
}

static void score_keys(const tile* t, size_t first, float scores[TILE][KEYS],
                       turned_keys* turned, const ahead_rows* ahead) {
  const etx_attention* a = t->attention;
  const ptrdiff_t at = etx_attention_at(a, &a->key, t->batch, first);
  const ptrdiff_t values = etx_attention_at(a, &a->value, t->batch, first);
  size_t many = etx_attention_shared(t, 0);
  for (size_t r = many; r < t->count; r += etx_attention_shared(t, r)) {
    ask_rows(t, &a->key, at, r, keys_of(t, r, first), a->width);
  }
  for (size_t r = 0; r < t->count; r += many) {
    const size_t count = keys_of(t, r, first);
    many = etx_attention_shared(t, r);
    if (count == 0) continue;
    ask_rows(t, &a->value, values, r, count, a->value_width);
    const rows keys =
        meet(t, &a->key, at, r, first, count, a->width, t->key_piece);
    if (has_dots(a)) {
      multiply_in_place(t, r, many, keys, count, scores + r);
    } else {
      multiply_turned(t, r, many, keys, count, scores + r, turned, ahead);
    }
  }
}

static void sum_values(tile* t, size_t first, float weights[TILE][KEYS],
                       const ahead_rows* ahead) {
  const etx_attention* a = t->attention;
  const ptrdiff_t at = etx_attention_at(a, &a->value, t->batch, first);
  for (size_t r = 0, many; r < t->count; r += many) {
    const size_t count = keys_of(t, r, first);
    many = etx_attention_shared(t, r);
    if (count == 0) continue;
    const rows values =
        meet(t, &a->value, at, r, first, count, a->value_width, t->value_piece);
    etx_attention_add_values(t, r, many, weights[r], values, count, first == 0,
                             ahead);
  }
}

// A block of keys from `first` on, of `end` that are read for any tile. Whoever
// is the first to meet it asks for what comes next: its values, and then the
// keys of the next block.
static void run_block(tile* t, size_t first, size_t end, bool asks,
                      float scores[TILE][KEYS], turned_keys* turned) {
  const etx_attention* a = t->attention;
  const size_t left = t->most_keys - first, asked = asks ? end : 0;
  const ahead_rows values =
      rows_ahead(t, &a->value, first, asked, a->value_width);
  const ahead_rows keys = rows_ahead(t, &a->key, first + KEYS, asked, a->width);
  score_keys(t, first, scores, turned, &values);
  attention_weights(t, first, left < KEYS ? left : KEYS, scores);
  sum_values(t, first, scores, &keys);
}

// Tiles of one batch, up to `end`.
static void run_tiles(tile* tiles, const tile* end) {
  float scores[TILE][KEYS] __attribute__((aligned(ETX_LANE_GROUP_BYTES)));
  turned_keys turned;
  size_t most = 0;
  for (tile* t = tiles; t < end; ++t) {
    t->most_keys = etx_attention_look(t);
    if (t->most_keys > most) most = t->most_keys;
    start_tile(t);
  }
  for (size_t k = 0; k < most; k += KEYS) {
    bool asks = true;
    turned.count = 0;
    for (tile* t = tiles; t < end; ++t) {
      if (k >= t->most_keys) continue;
      run_block(t, k, most, asks, scores, &turned);
      asks = false;
    }
  }
  for (tile* t = tiles; t < end; ++t) finish_tile(t);
}

// ------------------------------------------------ shares

typedef struct share {
  const etx_attention* attention;
  const etx_f32_microkernels* loops;
  etx_unary_loop tanh;
  char* temporary;     // pieces of all shares
  size_t piece_bytes;  // of one share
  size_t rows;         // of a tile, of one batch
  bool has_heads;      // a tile has those of several
  size_t heads;        // of the last batch dimension
  size_t tiles;        // of one batch
  size_t together;     // of these, those that meet keys together, at most
  size_t units;        // tiles of all batches
  size_t count;        // shares
} share;

// Tile number `index` of those that meet keys together, with its part of the
// share's piece, if there is one.
static void place_tile(const share* s, size_t unit, size_t index, float* piece,
                       tile* t) {
  const etx_attention* a = s->attention;
  t->attention = a;
  t->loops = s->loops;
  t->tanh = s->tanh;
  t->batch = unit / s->tiles;
  t->first = unit % s->tiles * s->rows;
  t->has_heads = s->has_heads;
  t->query_piece = t->key_piece = t->value_piece = t->sum_piece = NULL;
  t->count = a->queries - t->first < s->rows ? a->queries - t->first : s->rows;
  if (piece == NULL) return;
  if (etx_attention_keeps_sums(a)) {
    const size_t sums = held_rows(a) * etx_attention_sum_width(a);
    t->sum_piece = piece + index * sums;
    piece += sums;
  }
  if (!needs_pieces(a)) return;
  t->query_piece = piece;
  t->key_piece = t->query_piece + held_rows(a) * a->width;
  t->value_piece = t->key_piece + KEYS * a->width;
}

// A tile from `unit` on. Returns how many units it is made of: heads are one
// each. Noinline as the next: each takes the stack it needs.
static __attribute__((noinline)) size_t run_tile(const share* s, size_t unit,
                                                 size_t end, float* piece) {
  tile t;  // whose rows are many, and set when there are some
  place_tile(s, unit, 0, piece, &t);
  if (s->has_heads) {
    const size_t left = s->heads - unit % s->heads;
    t.count = left < HEADS ? left : HEADS;
    if (t.count > end - unit) t.count = end - unit;
  }
  run_tiles(&t, &t + 1);
  return s->has_heads ? t.count : 1;
}

static __attribute__((noinline)) void run_some_tiles(const share* s,
                                                     size_t unit, size_t count,
                                                     float* piece) {
  tile tiles[TILES];
  for (size_t i = 0; i < count; ++i) {
    place_tile(s, unit + i, i, piece, &tiles[i]);
  }
  run_tiles(tiles, tiles + count);
}

// Some units from `unit` on. Returns how many.
static size_t run_units(const share* s, size_t unit, size_t end, char* piece) {
  const etx_attention* a = s->attention;
  if (is_double(a)) {
    tile t;
    place_tile(s, unit, 0, NULL, &t);
    for (size_t r = 0; r < t.count; ++r) {
      etx_attention_row_f64(a, t.batch, t.first + r, (double*)(void*)piece);
    }
    return 1;
  }
  size_t count = s->tiles - unit % s->tiles;
  if (count > end - unit) count = end - unit;
  if (count > s->together) count = s->together;
  if (count < 2) return run_tile(s, unit, end, (float*)(void*)piece);
  run_some_tiles(s, unit, count, (float*)(void*)piece);
  return count;
}

static void run_share(void* argument, size_t index) {
  const share* s = argument;
  const size_t first = s->units * index / s->count;
  const size_t last = s->units * (index + 1) / s->count;
  char* piece =
      s->piece_bytes == 0 ? NULL : s->temporary + index * s->piece_bytes;
  for (size_t unit = first; unit < last;) {
    unit += run_units(s, unit, last, piece);
  }
}

void etx_attention_run(const etx_attention* a, void* temporary,
                       const etx_parallel* parallel) {
  const etx_instruction_set set =
      etx_instruction_set_within(parallel->instruction_set);
  share s = {.attention = a,
             .loops = etx_f32_microkernels_of(set),
             .tanh = etx_float_loops_of(set)->unary[ETX_UNARY_tanh],
             .temporary = temporary,
             .count = 1};
  size_t batches = 1;
  s.heads = 1;
  for (size_t i = 0; i < a->batch_rank; ++i) {
    s.heads = (size_t)a->batch[i];
    batches *= s.heads;
  }
  // How many make a tile depends on threads, so they have to see equally far:
  // what a tile computes beside a row must not show in it.
  const bool is_level =
      a->batch_rank > 0 &&
      (a->last.data == NULL || a->last.batch[a->batch_rank - 1] == 0);
  s.has_heads =
      a->queries == 1 && is_level && a->query.repeat == 1 && a->out.repeat == 1;
  s.rows = tile_rows(a);
  s.tiles = s.rows == 0 ? 0 : (a->queries + s.rows - 1) / s.rows;
  s.together = most_tiles(a);
  s.units = batches * s.tiles;
  if (s.units == 0 || a->value_width == 0) return;
  // The same number as when the bytes were stated.
  if (!etx_attention_bytes(a, 1, &s.piece_bytes)) return;
  const double work = (double)batches * (double)a->queries * (double)a->keys *
                      (double)(a->width + a->value_width);
  if (parallel->thread_count < 2 || work < PARALLEL_LEAST || s.units < 2) {
    run_share(&s, 0);
    return;
  }
  s.count = parallel->thread_count < s.units ? parallel->thread_count : s.units;
  parallel->parallel_for(parallel->context, run_share, &s, s.count);
}
