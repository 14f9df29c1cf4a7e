// Tiles of query rows meet blocks of 64 keys. Dense float32 is used where it
// lies, and sums are kept in the result's own rows; anything else is converted
// block by block into the share's piece of temporary memory:
//
//   query tile [rows, width] | key block [64, width] | value block [64, value
//   width] | sums [rows, value width]
//
// Keys are turned for a tile, a group of them at a time, so that each score is
// summed from the first element to the last, whatever is computed beside it.

#include "runtime/kernels/attention.h"

#include "format/base/checked_math.h"
#include "runtime/kernels/convert.h"
#include "runtime/kernels/float_loops.h"
#include "runtime/kernels/lanes.h"
#include "runtime/kernels/math_functions.h"
#include "runtime/kernels/panel_loops.h"

enum {
  TILE = 96,  // rows of a tile, at most
  BLOCK = 6,  // rows that panel loops take at a time
  KEYS = ETX_BLOCK,
  TURNED = 64,  // elements of the keys of a block that are turned at a time
  GROUP = ETX_PANEL_GROUP_BYTES / sizeof(float),
  // Multiply-adds below which other threads are not worth waking.
  PARALLEL_LEAST = 100000,
  // Elements of all keys and values in reach that are in no near cache.
  FAR_LEAST = 100000,
};

// Dense float rows, `stride` elements apart.
typedef struct rows {
  const float* data;
  ptrdiff_t stride;
} rows;

// A tile of query rows and what has been summed for them.
typedef struct tile {
  const etx_attention* attention;
  const etx_panel_loops* loops;
  const etx_line_loops* line;
  size_t units;                // of the operator
  size_t batch, first, count;  // query rows first up to first + count
  rows query;
  float* sums;  // count rows of value_width
  ptrdiff_t sums_stride;
  int64_t reach[TILE];  // number of the first key that a row does not see
  int64_t least_reach;  // of all rows
  float largest[TILE];  // of the scores so far
  float totals[TILE][GROUP];  // partial sums of their weights
  // Temporary pieces; NULL if nothing is converted.
  float* query_piece;
  float* key_piece;
  float* value_piece;
  float* sum_piece;
} tile;

ptrdiff_t etx_attention_at(const etx_attention* a,
                           const etx_attention_side* side, size_t batch,
                           size_t row) {
  ptrdiff_t at = (ptrdiff_t)row * side->row;
  for (size_t i = a->batch_rank; i-- > 0;) {
    const size_t size = (size_t)a->batch[i];
    const bool is_head = i + 1 == a->batch_rank;
    const size_t index = batch % size / (is_head ? side->repeat : 1);
    at += (ptrdiff_t)index * side->batch[i];
    batch /= size;
  }
  return at;
}

static ptrdiff_t pair_at(const etx_attention* a, const etx_attention_side* side,
                         size_t batch, size_t row) {
  ptrdiff_t at = (ptrdiff_t)row * side->pair_row;
  for (size_t i = a->batch_rank; i-- > 0;) {
    const size_t size = (size_t)a->batch[i];
    const bool is_head = i + 1 == a->batch_rank;
    const size_t index = batch % size / (is_head ? side->repeat : 1);
    at += (ptrdiff_t)index * side->pair_batch[i];
    batch /= size;
  }
  return at;
}

static bool is_dense(const etx_attention_side* side) {
  return side->dtype == ETX_DTYPE_FLOAT32 && side->inner == 1;
}

static bool is_double(const etx_attention* a) {
  return ETX_HAS_DTYPE(FLOAT64) && a->query.dtype == ETX_DTYPE_FLOAT64;
}

static bool needs_pieces(const etx_attention* a) {
  return !is_dense(&a->query) || !is_dense(&a->key) || !is_dense(&a->value) ||
         !is_dense(&a->out);
}

// Rows of a tile: as even as possible, in whole blocks.
static size_t tile_rows(const etx_attention* a) {
  const size_t tiles = (a->queries + TILE - 1) / TILE;
  if (tiles < 2) return a->queries;
  return ((a->queries + tiles - 1) / tiles + BLOCK - 1) / BLOCK * BLOCK;
}

// ------------------------------------------------ temporary memory

// Floats (doubles) of one share's pieces.
static bool piece_elements(const etx_attention* a, size_t* out) {
  size_t keys, values;
  if (is_double(a)) {
    *out = a->value_width;
    return true;
  }
  // With fewer queries there are never more rows.
  const size_t held = (a->queries < TILE ? a->queries : TILE) + KEYS;
  return etx_multiply_size(a->width, held, &keys) &&
         etx_multiply_size(a->value_width, held, &values) &&
         etx_add_size(keys, values, out);
}

bool etx_attention_bytes(const etx_attention* a, size_t threads,
                         size_t* out_bytes) {
  const size_t bytes = is_double(a) ? sizeof(double) : sizeof(float);
  size_t elements;
  *out_bytes = 0;
  if (!is_double(a) && !needs_pieces(a)) return true;
  return piece_elements(a, &elements) &&
         etx_multiply_size(elements, bytes, &elements) &&
         etx_multiply_size(elements, threads, out_bytes);
}

// ------------------------------------------------ conversion

static void convert_row(const etx_attention_side* side, ptrdiff_t at,
                        ptrdiff_t pair, size_t width, float* out) {
  const char* data = side->data;
  etx_convert(ETX_DTYPE_FLOAT32, out, 1, side->dtype,
              data + at * (ptrdiff_t)etx_dtype_bytes(side->dtype), side->inner,
              width);
  if (side->scales == NULL) return;
  const float scale = side->scales[pair];
  const float zero = (float)side->zeros[pair];
  for (size_t i = 0; i < width; ++i) out[i] = (out[i] - zero) * scale;
}

// Rows `first` up to first + count of a side, in place or through `piece`.
static rows load_rows(const tile* t, const etx_attention_side* side,
                      size_t first, size_t count, size_t width, float* piece) {
  const etx_attention* a = t->attention;
  const ptrdiff_t at = etx_attention_at(a, side, t->batch, first);
  if (is_dense(side)) {
    return (rows){(const float*)side->data + at, side->row};
  }
  for (size_t i = 0; i < count; ++i) {
    const ptrdiff_t pair =
        side->scales == NULL ? 0 : pair_at(a, side, t->batch, first + i);
    convert_row(side, at + (ptrdiff_t)i * side->row, pair, width,
                piece + i * width);
  }
  return (rows){piece, (ptrdiff_t)width};
}

// ------------------------------------------------ scores

// scores[r][k] = query row r * key k, for `count` keys, and 0 behind them up to
// a whole group.
static void multiply_keys(const tile* t, rows keys, size_t count,
                          float scores[TILE][KEYS]) {
  float turned[KEYS / GROUP][TURNED][GROUP]
      __attribute__((aligned(ETX_PANEL_GROUP_BYTES)));
  const size_t width = t->attention->width;
  size_t first = 0;
  do {
    const size_t taps = width - first < TURNED ? width - first : TURNED;
    for (size_t k = 0; k < count; k += GROUP) {
      t->loops->turn(keys.data + (ptrdiff_t)k * keys.stride + first,
                     keys.stride, count - k < GROUP ? count - k : GROUP, taps,
                     turned[k / GROUP][0]);
    }
    const etx_panel_block b = {.sums = scores[0],
                               .sum_row = KEYS,
                               .weights = t->query.data + first,
                               .weight_row = t->query.stride,
                               .panel = turned,
                               .panel_row = GROUP,
                               .panel_group = TURNED * GROUP,
                               .rows = t->count,
                               .taps = taps,
                               .lanes = count,
                               .starts = first == 0};
    t->loops->by_wide[ETX_WIDE_F32](&b);
    first += TURNED;
  } while (first < width);
}

static float minus_infinity(void) {
  return etx_f32_of_bits(UINT32_C(0xff800000));
}

// Number of the first key that a row does not see for its position.
static int64_t reach_of(const etx_attention* a, size_t batch, size_t row) {
  int64_t reach = (int64_t)a->keys;
  if (a->is_causal && a->first + (int64_t)row + 1 < reach) {
    reach = a->first + (int64_t)row + 1;
  }
  if (a->last.data == NULL) return reach;
  int64_t last;
  memcpy(
      &last,
      (const int64_t*)a->last.data + etx_attention_at(a, &a->last, batch, row),
      sizeof last);
  return last < reach ? last + 1 : reach;
}

bool etx_attention_is_in_reach(const etx_attention* a, size_t batch, size_t row,
                               size_t key) {
  return (int64_t)key < reach_of(a, batch, row);
}

// Hides what a row of scores of keys `first` on does not see, and all up
// to a whole group.
static void mask_row(const tile* t, size_t r, size_t first, size_t count,
                     float* scores) {
  const etx_attention* a = t->attention;
  const float hidden = (float)a->hidden;
  if (a->has_mask) {
    const etx_attention_side* mask = &a->mask;
    const ptrdiff_t at = etx_attention_at(a, mask, t->batch, t->first + r) +
                         (ptrdiff_t)first * mask->inner;
    etx_block block;
    etx_block_load(
        &block, ETX_WIDE_F32, mask->dtype,
        (const char*)mask->data + at * (ptrdiff_t)etx_dtype_bytes(mask->dtype),
        mask->inner, count);
    const bool keeps = mask->dtype == ETX_DTYPE_BOOL;
    for (size_t k = 0; k < count; ++k) {
      const float kept = block.f32[k] != 0 ? scores[k] : hidden;
      scores[k] = keeps ? kept : scores[k] + block.f32[k];
    }
  }
  const int64_t seen = t->reach[r] - (int64_t)first;
  for (size_t k = seen < 0 ? 0 : (size_t)seen; k < count; ++k) {
    scores[k] = hidden;
  }
  for (size_t k = count; k % GROUP != 0; ++k) scores[k] = minus_infinity();
}

// ------------------------------------------------ sums

static void scale_row(float* row, size_t width, float factor) {
  for (size_t i = 0; i < width; ++i) row[i] *= factor;
}

// True if rows are scaled before the loop that makes weights of them: it can do
// that itself where what hides a score is as good before that.
static bool scales_first(const etx_attention* a) {
  return a->has_mask || !((float)a->scale > 0) ||
         (float)a->hidden != minus_infinity();
}

// Makes weights of the scores of `count` keys from `first` on, zeros in lanes
// behind them.
static void weigh_scores(tile* t, size_t first, size_t count,
                         float scores[TILE][KEYS]) {
  const etx_attention* a = t->attention;
  const bool is_first = scales_first(a);
  const bool are_seen =
      count % GROUP == 0 && t->least_reach >= (int64_t)(first + count);
  float factors[TILE];
  const etx_score_rows s = {.scores = scores[0],
                            .row = KEYS,
                            .rows = t->count,
                            .count = (count + GROUP - 1) / GROUP * GROUP,
                            .scale = is_first ? 1.0f : (float)a->scale,
                            .largest = t->largest,
                            .factor = factors,
                            .totals = t->totals};
  for (size_t r = 0; r < t->count && !(are_seen && !is_first); ++r) {
    if (is_first) {
      (void)t->line->scale(scores[r], scores[r], count, (float)a->scale, 0);
    }
    mask_row(t, r, first, count, scores[r]);
  }
  t->loops->weigh_scores(&s);
  for (size_t r = 0; r < t->count; ++r) {
    if (factors[r] == 1) continue;
    scale_row(t->sums + (ptrdiff_t)r * t->sums_stride, a->value_width,
              factors[r]);
  }
}

// Columns from `column` on of a row of sums: those that fill no group.
static void add_rest(float* sums, const float* p, rows values, size_t count,
                     size_t column, size_t width) {
  for (; column + 4 <= width; column += 4) {
    etx_f32x4 sum = etx_f32x4_load(sums + column);
    const float* from = values.data + column;
    for (size_t k = 0; k < count; ++k, from += values.stride) {
      sum += etx_f32x4_all(p[k]) * etx_f32x4_load(from);
    }
    etx_f32x4_store(sums + column, sum);
  }
  for (; column < width; ++column) {
    float sum = sums[column];
    for (size_t k = 0; k < count; ++k) {
      sum +=
          p[k] * values.data[(ptrdiff_t)k * values.stride + (ptrdiff_t)column];
    }
    sums[column] = sum;
  }
}

// sums[r] += sum over k of weights[r][k] * value k
static void add_values(tile* t, float weights[TILE][KEYS], rows values,
                       size_t count) {
  const size_t width = t->attention->value_width;
  const size_t whole = width / GROUP * GROUP;
  const etx_panel_block b = {.sums = t->sums,
                             .sum_row = t->sums_stride,
                             .weights = weights[0],
                             .weight_row = KEYS,
                             .panel = values.data,
                             .panel_row = values.stride,
                             .panel_group = GROUP,
                             .rows = t->count,
                             .taps = count,
                             .lanes = whole};
  if (whole != 0) t->loops->by_wide[ETX_WIDE_F32](&b);
  for (size_t r = 0; whole != width && r < t->count; ++r) {
    add_rest(t->sums + (ptrdiff_t)r * t->sums_stride, weights[r], values, count,
             whole, width);
  }
}

// ------------------------------------------------ tiles

static void start_tile(tile* t) {
  const etx_attention* a = t->attention;
  t->query =
      load_rows(t, &a->query, t->first, t->count, a->width, t->query_piece);
  t->sums = t->sum_piece;
  t->sums_stride = (ptrdiff_t)a->value_width;
  if (is_dense(&a->out)) {
    t->sums = (float*)(uintptr_t)a->out.data +
              etx_attention_at(a, &a->out, t->batch, t->first);
    t->sums_stride = a->out.row;
  }
  for (size_t r = 0; r < (t->count + GROUP - 1) / GROUP * GROUP; ++r) {
    t->largest[r] = minus_infinity();
  }
  memset(t->totals, 0, t->count * sizeof t->totals[0]);
  for (size_t r = 0; r < t->count; ++r) {
    memset(t->sums + (ptrdiff_t)r * t->sums_stride, 0,
           a->value_width * sizeof(float));
  }
}

static void finish_tile(tile* t) {
  const etx_attention* a = t->attention;
  const size_t bytes = etx_dtype_bytes(a->out.dtype);
  for (size_t r = 0; r < t->count; ++r) {
    float* sums = t->sums + (ptrdiff_t)r * t->sums_stride;
    const float total = etx_sum_f32(t->totals[r], GROUP);
    const bool is_dead = total == 0 && !a->keeps_nan;
    scale_row(sums, a->value_width, is_dead ? 0.0f : 1.0f / total);
    if (is_dense(&a->out)) continue;
    char* out =
        (char*)(uintptr_t)a->out.data +
        etx_attention_at(a, &a->out, t->batch, t->first + r) * (ptrdiff_t)bytes;
    etx_convert(a->out.dtype, out, a->out.inner, ETX_DTYPE_FLOAT32, sums, 1,
                a->value_width);
  }
}

// Keys that some row of the tile can see: all, if one sees none and `hidden`
// is a number, for then it sees all of them alike.
static size_t keys_in_reach(tile* t) {
  const etx_attention* a = t->attention;
  int64_t most = 0;
  t->least_reach = (int64_t)a->keys;
  for (size_t r = 0; r < t->count; ++r) {
    t->reach[r] = reach_of(a, t->batch, t->first + r);
    if (t->reach[r] < t->least_reach) t->least_reach = t->reach[r];
    if (t->reach[r] > most) most = t->reach[r];
    if (t->reach[r] <= 0 && a->hidden > (double)minus_infinity()) {
      most = (int64_t)a->keys;
    }
  }
  return (size_t)most;
}

// Asks for the first rows of a side. One copy of one loop, line after line in
// one direction: what is asked for in this way, processors go on asking for.
static __attribute__((noinline)) void ask_rows(const etx_attention* a,
                                               const etx_attention_side* side,
                                               size_t batch, size_t count,
                                               size_t width) {
  enum { LINE = 64 / sizeof(float) };
  const float* row =
      (const float*)side->data + etx_attention_at(a, side, batch, 0);
  for (size_t i = 0; i < count; ++i, row += side->row) {
    for (size_t k = 0; k < width; k += LINE) {
      // Without it a compiler takes the function for one that does nothing.
      __asm__ volatile("");
      __builtin_prefetch(row + k);
    }
  }
}

// A single query waits for memory more than it computes: the next head's keys
// are asked for, and its own values while its keys are multiplied.
static void ask_ahead(const tile* t, size_t keys) {
  const etx_attention* a = t->attention;
  const size_t count = keys < KEYS ? keys : KEYS;
  const double width = (double)a->width + (double)a->value_width;
  if ((double)t->units * (double)keys * width < FAR_LEAST) return;
  if (is_dense(&a->key)) ask_rows(a, &a->key, t->batch + 1, count, a->width);
  if (is_dense(&a->value)) {
    ask_rows(a, &a->value, t->batch, count, a->value_width);
  }
}

static void run_tile(tile* t) {
  const etx_attention* a = t->attention;
  const size_t keys = keys_in_reach(t);
  if (a->queries == 1) ask_ahead(t, keys);
  start_tile(t);
  for (size_t k = 0; k < keys; k += KEYS) {
    float scores[TILE][KEYS]
        __attribute__((aligned(ETX_PANEL_GROUP_BYTES)));
    const size_t count = keys - k < KEYS ? keys - k : KEYS;
    multiply_keys(t, load_rows(t, &a->key, k, count, a->width, t->key_piece),
                  count, scores);
    weigh_scores(t, k, count, scores);
    add_values(
        t, scores,
        load_rows(t, &a->value, k, count, a->value_width, t->value_piece),
        count);
  }
  finish_tile(t);
}

// ------------------------------------------------ shares

typedef struct share {
  const etx_attention* attention;
  const etx_panel_loops* loops;
  const etx_line_loops* line;
  char* temporary;     // pieces of all shares
  size_t piece_bytes;  // of one share
  size_t rows;         // of a tile
  size_t tiles;        // of one batch
  size_t units;        // tiles of all batches
  size_t count;        // shares
} share;

static void run_unit(const share* s, size_t unit, char* piece) {
  const etx_attention* a = s->attention;
  tile t = {.attention = a,
            .loops = s->loops,
            .line = s->line,
            .units = s->units,
            .batch = unit / s->tiles,
            .first = unit % s->tiles * s->rows};
  t.count = a->queries - t.first < s->rows ? a->queries - t.first : s->rows;
  if (is_double(a)) {
    for (size_t r = 0; r < t.count; ++r) {
      etx_attention_row_f64(a, t.batch, t.first + r, (double*)(void*)piece);
    }
    return;
  }
  if (piece != NULL) {
    t.query_piece = (float*)(void*)piece;
    t.key_piece = t.query_piece + s->rows * a->width;
    t.value_piece = t.key_piece + KEYS * a->width;
    t.sum_piece = t.value_piece + KEYS * a->value_width;
  }
  run_tile(&t);
}

static void run_share(void* argument, size_t index) {
  const share* s = argument;
  const size_t first = s->units * index / s->count;
  const size_t last = s->units * (index + 1) / s->count;
  char* piece =
      s->piece_bytes == 0 ? NULL : s->temporary + index * s->piece_bytes;
  for (size_t unit = first; unit < last; ++unit) run_unit(s, unit, piece);
}

void etx_attention_run(const etx_attention* a, void* temporary,
                       const etx_parallel* parallel) {
  const etx_instruction_set set =
      etx_instruction_set_within(parallel->instruction_set);
  share s = {.attention = a,
             .loops = etx_panel_loops_of(set),
             .line = &etx_float_loops_of(set)->line,
             .temporary = temporary,
             .count = 1};
  size_t batches = 1;
  for (size_t i = 0; i < a->batch_rank; ++i) batches *= (size_t)a->batch[i];
  s.rows = tile_rows(a);
  s.tiles = s.rows == 0 ? 0 : (a->queries + s.rows - 1) / s.rows;
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
