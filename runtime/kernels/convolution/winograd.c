// 3 x 3 convolution of stride 1 by Winograd's F(2 x 2, 3 x 3)
// (winograd_microkernels.h). Weights are packed in panels of sixteen output
// channels, [O / 16, I, 3, 3, 16], and not transformed in the file: each thread
// transforms a few channels at a time, which costs less than reading
// transformed weights, of which there are 16/9 times as many.
//
// An image is split into strips of rows, one for each thread if it is large
// enough (parallel_for.h), and strips into blocks of tiles. V (the transformed
// input) of one block of each strip is in temporary memory. All threads compute
// it, split by channels. Then they split the blocks into parts, which are whole
// rows of tiles, and pairs of panels. In both phases a thread begins with its
// own strip, so no other core reads what it has just written. Each element of M
// (the products summed over channels; names as in winograd_microkernels.h) is a
// sum from the first channel to the last, in steps that are rounded once
// (f32_vec_template.h), so results do not depend on the split.
//
// With u = 2^-24 and n channels, the error of a result is at most (n + 16) u
// times
//
//   |A'| (sum over channels of |G||g||G'| |B'||d||B|) |A|
//
// to first order, because a number passes at most n + 15 roundings. The error
// of direct sums is at most 9 n u sum |g||d|. If all numbers have similar size,
// direct sums have larger errors, because they have nine times as many terms
// (docs/speed.md). With Winograd, a number that is far larger than its
// neighbours costs them their last digits, and an infinite one makes the
// results of its tile infinite or NaN.

#include <string.h>

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/convolution/convolution_epilogue.h"
#include "runtime/kernels/core/parallel_for.h"
#include "runtime/kernels/core/thread_tiles.h"
#include "runtime/kernels/registry/temporary_kernels.h"

enum {
  PLACES = ETX_WINOGRAD_PLACES,
  CHANNELS = ETX_CONV_OC_CHANNELS,
  PAIR = 2 * CHANNELS,
  PANEL = ETX_WINOGRAD_TAPS * CHANNELS,  // weights of a channel in a panel
  PART = 56,                             // most tiles of a part
  BLOCK = 512,                           // most tiles of a block
  // Most tiles times channels of the blocks of all strips together; but a block
  // may have PART tiles in any case.
  BLOCK_ELEMENTS = 16384,
  // Channels that are summed at a time: the taps of etx_conv_oc_dense.
  CHANNELS_AT_A_TIME = 32,
  // Loops round positions and tiles up to a multiple of sixteen: at most so
  // many more.
  SLACK = CHANNELS - 1,
  // The largest patch of a channel that the tiles of a block read, which has
  // (2 * rows + 2) * (2 * columns + 2) elements, and the elements after it that
  // are read, too.
  PATCH = 4 * BLOCK + 4 * (BLOCK + 1) + 4 + 4 * CHANNELS,
};

typedef struct winograd_job {
  etx_volumes in;
  const float* panels;
  int64_t padding[2];
  const etx_convolution_epilogue* results;
  float* transformed;  // V [strips][16][in.channels][pitch]
  etx_thread_tiles workspaces;
  size_t channels;
  int64_t tiles[2];  // tiles of an image
  size_t strips;     // of an image
  size_t part_rows, parts, block_rows, block_columns;
  size_t pitch;
  // For the current block of each strip: its image, its first tile in the
  // strip, and its size in tiles.
  int64_t image;
  size_t row, column, rows, columns;
} winograd_job;

// The current block of one strip.
typedef struct winograd_block {
  size_t row, rows;
  float* transformed;
} winograd_block;

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

// The first row of tiles of a strip.
static size_t strip_row(const winograd_job* j, size_t strip) {
  return (size_t)j->tiles[0] * strip / j->strips;
}

static winograd_block block_at(const winograd_job* j, size_t strip) {
  const size_t row = strip_row(j, strip) + j->row;
  const size_t end = strip_row(j, strip + 1);
  return (winograd_block){
      .row = row,
      .rows = row < end ? least(j->rows, end - row) : 0,
      .transformed = j->transformed + strip * PLACES * j->channels * j->pitch};
}

static size_t most_tiles(size_t channels, size_t strips) {
  const size_t tiles = BLOCK_ELEMENTS / channels / strips;
  return tiles < PART ? PART : least(tiles, BLOCK);
}

// ------------------------------------------------ the transformed input

// In one direction: the part of a patch that exists in the input, which has
// `in` elements. The patch has `size` elements from input element `first` on.
static etx_span inside(int64_t first, int64_t size, int64_t in) {
  const int64_t begin = first < 0 ? -first : 0;
  const int64_t end = in - first < size ? in - first : size;
  return (etx_span){begin, end < begin ? begin : end};
}

// Computes V of channels `first` up to `end` of a block.
static void transform_block(const winograd_job* j, const winograd_block* k,
                            size_t first, size_t end, float* patch) {
  const int64_t top = (int64_t)(2 * k->row) - j->padding[0];
  const int64_t left = (int64_t)(2 * j->column) - j->padding[1];
  const size_t width = 2 * j->columns + 2;
  const etx_span rows = inside(top, (int64_t)(2 * k->rows + 2), j->in.sizes[1]);
  const etx_span columns = inside(left, (int64_t)width, j->in.sizes[2]);
  const ptrdiff_t row = j->in.strides[1], step = j->in.strides[2];
  etx_row_copy copy = {.from_row = row,
                       .step = step,
                       .to_row = (ptrdiff_t)width,
                       .rows = (size_t)(rows.end - rows.first),
                       .count = (size_t)(columns.end - columns.first)};
  etx_winograd_input input = {.patch = patch,
                              .patch_row = (ptrdiff_t)width,
                              .rows = k->rows,
                              .columns = j->columns,
                              .place = (ptrdiff_t)(j->channels * j->pitch)};
  const float* const in =
      (const float*)(const void*)j->in.data + (ptrdiff_t)j->image * j->in.image;
  memset(patch, 0, PATCH * sizeof(float));
  for (size_t i = first; i < end; ++i) {
    if (copy.rows > 0 && copy.count > 0) {
      copy.to = patch + (size_t)rows.first * width + (size_t)columns.first;
      copy.from = in + (ptrdiff_t)i * j->in.channel +
                  (ptrdiff_t)(top + rows.first) * row +
                  (ptrdiff_t)(left + columns.first) * step;
      j->results->loops->copy_rows(&copy);
    }
    input.out = k->transformed + i * j->pitch;
    j->results->loops->winograd.input(&input);
  }
}

// Items are channels of each strip's block.
static void transform_channels(const void* context, void* tile, size_t first,
                               size_t end) {
  const winograd_job* j = context;
  for (size_t done = first; done < end;) {
    const size_t channel = done % j->channels;
    const size_t some = least(end - done, j->channels - channel);
    const winograd_block k = block_at(j, done / j->channels);
    if (k.rows > 0) transform_block(j, &k, channel, channel + some, tile);
    done += some;
  }
}

// ------------------------------------------------ sums

// A part of a block: V of its first tile, and its results.
typedef struct part {
  const float* transformed;
  size_t tiles;
  int64_t y, x;
  size_t height, width;
} part;

// The part has no tiles if the block has fewer rows than others.
static part part_at(const winograd_job* j, size_t strip, size_t index) {
  const winograd_block k = block_at(j, strip);
  const size_t row = index * j->part_rows;
  if (row >= k.rows) return (part){0};
  const size_t rows = least(j->part_rows, k.rows - row);
  part p = {.transformed = k.transformed + row * j->columns,
            .tiles = rows * j->columns,
            .y = (int64_t)(2 * (k.row + row)),
            .x = (int64_t)(2 * j->column)};
  p.height = least(2 * rows, (size_t)(j->results->out.sizes[1] - p.y));
  p.width = least(2 * j->columns, (size_t)(j->results->out.sizes[2] - p.x));
  return p;
}

// During the sums of one place, prefetches some of the next weights: `count`
// channels of each panel, from `next` on.
static void prefetch_weights(const winograd_job* j, const float* next,
                             size_t place, size_t panels, size_t count,
                             etx_conv_oc_dense* s) {
  const size_t shares = PLACES / panels;
  const size_t lines = (count * ETX_WINOGRAD_TAPS + shares - 1) / shares;
  const float* const panel = next + place / shares * j->channels * PANEL;
  s->ahead = (const char*)panel + place % shares * lines * ETX_CONV_OC_LINE;
  s->ahead_pieces = 2;
  s->ahead_lines = (lines + 1) / 2;
  s->ahead_piece = (ptrdiff_t)(s->ahead_lines * ETX_CONV_OC_LINE);
}

// The memory of a thread for the sums of a part, all aligned to lanes.
// etx_convolution_epilogue_store reads whole blocks of sixteen positions, hence
// SLACK.
typedef struct part_memory {
  float weights[2 * PLACES * CHANNELS_AT_A_TIME * CHANNELS];
  float sums[PLACES * PART * PAIR];
  float results[(4 * PART + SLACK) * PAIR];
} part_memory;

// M [16][tiles][PAIR] of up to two panels.
static void sum_part(const winograd_job* j, const part* p, size_t panel,
                     size_t panels, part_memory* memory) {
  float *const weights = memory->weights, *const sums = memory->sums;
  const size_t all = j->channels;
  for (size_t first = 0; first < all; first += CHANNELS_AT_A_TIME) {
    const size_t count = least(CHANNELS_AT_A_TIME, all - first),
                 left = all - first - count;
    for (size_t i = 0; i < panels; ++i) {
      j->results->loops->winograd.weights(
          j->panels + ((panel + i) * all + first) * PANEL, count,
          weights + i * PLACES * count * CHANNELS);
    }
    const size_t next =
        left > 0 ? panel * all + first + count : (panel + panels) * all;
    const bool has_next = left > 0 || (panel + panels) * CHANNELS <
                                          (size_t)j->results->out.channels;
    for (size_t place = 0; place < PLACES; ++place) {
      size_t soon = (place + 1) * all + first;
      if (place + 1 == PLACES) soon = left > 0 ? first + count : 0;
      etx_conv_oc_dense s = {
          .input = p->transformed + (place * all + first) * j->pitch,
          .next = p->transformed + soon * j->pitch,
          .input_row = (ptrdiff_t)j->pitch,
          .weights = weights + place * count * CHANNELS,
          .weight_panel = (ptrdiff_t)(PLACES * count * CHANNELS),
          .sums = sums + place * p->tiles * PAIR,
          .sum_row = PAIR,
          .positions = p->tiles,
          .taps = count,
          .panels = panels,
          .starts = first == 0,
          .ahead = (const char*)j->panels};
      if (has_next) {
        prefetch_weights(j, j->panels + next * PANEL, place, panels,
                         least(CHANNELS_AT_A_TIME, left > 0 ? left : all), &s);
      }
      j->results->loops->conv_oc_dense(&s);
    }
  }
}

// ------------------------------------------------ results

// If rows of tiles are as wide as the result, they are stored as one line.
static void store_part(const winograd_job* j, const part* p, size_t panel,
                       const float* sums) {
  const size_t wide = (size_t)j->results->out.sizes[2];
  const bool is_wide = p->width == wide;
  const size_t lines = is_wide ? 1 : p->height;
  const size_t count = is_wide ? p->height * p->width : p->width;
  size_t at = (size_t)p->y * wide + (size_t)p->x;
  for (size_t i = 0; i < lines; ++i, at += wide, sums += count * PAIR) {
    etx_convolution_epilogue_store(j->results, sums, PAIR, j->image,
                                   (int64_t)(panel * CHANNELS), at, count);
  }
}

static size_t pair_count(const winograd_job* j) {
  return ((size_t)j->results->out.channels / CHANNELS + 1) / 2;
}

// Items are parts of each strip's block, and pairs of panels of each.
static void multiply_parts(const void* context, void* tile, size_t first,
                           size_t end) {
  const winograd_job* j = context;
  part_memory* const memory = tile;
  const size_t panels = (size_t)j->results->out.channels / CHANNELS;
  const size_t pairs = pair_count(j);
  for (size_t i = first; i < end; ++i) {
    const size_t number = i / pairs;
    const part p = part_at(j, number / j->parts, number % j->parts);
    const size_t panel = i % pairs * 2, count = least(2, panels - panel);
    if (p.tiles == 0) continue;
    sum_part(j, &p, panel, count, memory);
    const etx_winograd_output output = {.sums = memory->sums,
                                        .place = (ptrdiff_t)(p.tiles * PAIR),
                                        .tile = PAIR,
                                        .channels = count * CHANNELS,
                                        .height = p.height,
                                        .width = p.width,
                                        .out = memory->results};
    j->results->loops->winograd.output(&output);
    for (size_t k = 0; k < count; ++k) {
      store_part(j, &p, panel + k, memory->results + k * CHANNELS);
    }
  }
}

// ------------------------------------------------ blocks

// The number of tile rows of the largest strip.
static size_t strip_rows(const winograd_job* j) {
  return ((size_t)j->tiles[0] + j->strips - 1) / j->strips;
}

static void size_blocks(winograd_job* j) {
  const size_t high = strip_rows(j), wide = (size_t)j->tiles[1];
  const size_t columns = (wide + PART - 1) / PART;
  j->block_columns = (wide + columns - 1) / columns;
  const size_t rows = PART / j->block_columns;
  const size_t parts = (high + rows - 1) / rows;
  j->part_rows = (high + parts - 1) / parts;
  const size_t tiles = j->part_rows * j->block_columns;
  j->block_rows = most_tiles(j->channels, j->strips) / tiles * j->part_rows;
}

static void run_blocks(winograd_job* j, const etx_parallel* parallel) {
  const double tiles = (double)(j->strips * j->rows * j->columns);
  const double transformed = tiles * (double)j->channels * PLACES;
  j->parts = (j->rows + j->part_rows - 1) / j->part_rows;
  // The transform rounds the last row of tiles up to a multiple of sixteen
  // tiles, and writes V for them, too.
  j->pitch =
      (j->rows - 1) * j->columns + (j->columns + SLACK) / CHANNELS * CHANNELS;
  etx_parallel_for_tiled(parallel, j->strips * j->channels, transformed,
                         transform_channels, j, &j->workspaces);
  etx_parallel_for_tiled(parallel, j->strips * j->parts * pair_count(j),
                         transformed * (double)j->results->out.channels,
                         multiply_parts, j, &j->workspaces);
}

static void run_job(winograd_job* j, const etx_parallel* parallel) {
  size_blocks(j);
  const size_t high = strip_rows(j), wide = (size_t)j->tiles[1];
  for (j->image = 0; j->image < j->in.images; ++j->image) {
    for (j->column = 0; j->column < wide; j->column += j->block_columns) {
      j->columns = least(j->block_columns, wide - j->column);
      for (j->row = 0; j->row < high; j->row += j->block_rows) {
        j->rows = least(j->block_rows, high - j->row);
        run_blocks(j, parallel);
      }
    }
  }
}

// ------------------------------------------------ the operator

// (input, panels, bias, padding, others, steps, out)
enum { INPUT, WEIGHTS, PADDING = 3, OUT = 6 };

// The bytes of a thread's tile. The phases use it one after the other.
enum {
  TILE_BYTES = sizeof(part_memory) > PATCH * sizeof(float)
                   ? sizeof(part_memory)
                   : PATCH * sizeof(float),
};

static void convolve(etx_call* call, const etx_convolution_epilogue* results) {
  size_t tiles_bytes = 0;
  // Cannot fail: prepare asked for the same number of bytes.
  if (!etx_thread_tiles_needed(call->parallel, TILE_BYTES, &tiles_bytes)) {
    return;
  }
  winograd_job j = {.in = etx_volumes_of(etx_call_tensor(call, INPUT)),
                    .panels = etx_call_tensor(call, WEIGHTS)->data,
                    .padding = {etx_call_list_item(call, PADDING, 0),
                                etx_call_list_item(call, PADDING, 1)},
                    .results = results,
                    .workspaces = {call->temporary, TILE_BYTES}};
  char* const behind = (char*)call->temporary + tiles_bytes;
  j.transformed = (float*)(void*)behind;
  j.channels = (size_t)j.in.channels;
  for (size_t d = 0; d < 2; ++d) {
    j.tiles[d] = (results->out.sizes[1 + d] + 1) / 2;
  }
  j.strips = etx_parallel_for_strips(
      call->parallel, (size_t)j.tiles[0],
      (size_t)(results->out.sizes[1] * results->out.sizes[2]));
  run_job(&j, call->parallel);
}

static etx_status run(etx_call* call) {
  return etx_convolution_epilogue_run(call, convolve);
}

// The tiles of threads, and behind them V for the largest block of each strip.
etx_status etx_temporary_winograd(const etx_call* call, size_t* out_bytes) {
  const etx_tensor* in = etx_call_tensor(call, INPUT);
  const etx_tensor* out = etx_call_tensor(call, OUT);
  *out_bytes = 0;
  // The shape rule refuses other ranks when the method is loaded.
  if (in->rank != 4 || out->rank != 4 || in->sizes[1] == 0) return ETX_OK;
  const size_t channels = (size_t)in->sizes[1];
  const size_t high = ((size_t)out->sizes[2] + 1) / 2;
  const size_t wide = ((size_t)out->sizes[3] + 1) / 2;
  const size_t strips = etx_parallel_for_strips(
      call->parallel, high, (size_t)out->sizes[2] * (size_t)out->sizes[3]);
  // Some strips have one row more than others.
  const size_t rows = high + strips - 1, most_of_all = strips * BLOCK;
  const size_t tiles = wide == 0 || rows < most_of_all / wide + 1
                           ? least(most_of_all, rows * wide)
                           : most_of_all;
  const size_t each = PLACES * sizeof(float);
  size_t tiles_bytes = 0;
  if (!etx_thread_tiles_needed(call->parallel, TILE_BYTES, &tiles_bytes) ||
      channels > (SIZE_MAX - tiles_bytes) / (each * strips * (BLOCK + SLACK))) {
    return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                           "the transformed input of a convolution does not "
                           "fit in memory");
  }
  // The bytes at the largest sizes must be enough for all sizes (kernel.h). So
  // the number must not fall when channels rise, although blocks then have
  // fewer tiles.
  const size_t parts = strips * PART * channels;
  const size_t most = parts > BLOCK_ELEMENTS ? parts : BLOCK_ELEMENTS;
  *out_bytes = tiles_bytes + each * (least(channels * tiles, most) +
                                     strips * channels * SLACK);
  return ETX_OK;
}

etx_status etx_kernel_convolution_winograd_out_prepare(etx_call* call) {
  ETX_TRY(etx_convolution_epilogue_check(call));
  if (!etx_call_is_again(call)) {
    ETX_TRY(etx_temporary_winograd(call, &call->temporary_bytes));
  }
  call->run = run;
  return ETX_OK;
}
