// 1 x 1 convolutions of few positions. Lanes are output channels, and weights
// are packed in panels of sixteen, [O / 16, I, 1, 1, 16], as the microkernels
// read them (etx_conv_oc_dense). With few taps the lanes are positions
// (etx_conv_pixels), because transposing the sums would cost more. Results have
// the same bits as those of etx::convolution_chain.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/registry/temporary_kernels.h"
#include "runtime/kernels/convolution/convolution_epilogue.h"
#include "runtime/kernels/core/thread_tiles.h"

enum {
  CHANNELS = ETX_CONV_OC_CHANNELS,
  PAIR = 2 * CHANNELS,
  POSITIONS = 60,        // most positions of an item
  LEAST_POSITIONS = 24,  // fewest positions of an item if there are several
  TAPS = 160,      // taps that are summed at a time, so that weights stay in L1
  FEW_TAPS = 128,  // the same if one panel is read at a time, not two
  ITEMS = 4,       // work items for each thread
  // positions of a thread; with fewer, two threads share cache lines
  FEW_POSITIONS = 48,
  // Limits for sums that stay in registers.
  LEAST_POINTS = 96,  // fewest positions of an image
  MOST_POINTS = 200,  // most positions of an item
  MOST_TAPS = 128,    // with more, computing more channels at a time pays
  PIECE = 16,         // taps whose offsets are computed beforehand
};

typedef struct conv_1x1_job {
  etx_volumes in;
  const float* panels;
  const etx_convolution_epilogue* results;
  size_t channels, positions, panel_count;
  size_t pairs, parts;   // pairs of panels, and parts of an image
  bool splits_channels;  // items are ordered by pairs, then by parts
  bool has_pixel_lanes;  // positions are lanes
} conv_1x1_job;

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

// Computes the sums of up to two panels at some positions, whose first input is
// at `input`.
static void sum_part(const conv_1x1_job* j, const float* input,
                     size_t positions, size_t panel, float* sums) {
  const size_t all = j->channels, panels = least(2, j->panel_count - panel);
  const size_t fit = j->results->loops->groups > 1 ? TAPS : FEW_TAPS;
  const size_t chunks = (all + fit - 1) / fit;
  const size_t most = (all + chunks - 1) / chunks;
  // Prefetches what the next item reads: the next pair of panels for the same
  // input, or the next input.
  const bool is_seen_again =
      !j->splits_channels && panel + panels < j->panel_count;
  const float* const behind = is_seen_again ? input : input + positions;
  for (size_t first = 0; first < all; first += most) {
    const size_t count = least(most, all - first), left = all - first - count;
    const size_t next =
        left > 0 ? panel * all + first + count : (panel + panels) * all;
    const bool has_next = left > 0 || panel + panels < j->panel_count;
    const float* const from = input + (ptrdiff_t)first * j->in.channel;
    const etx_conv_oc_dense s = {
        .input = from,
        .next = left > 0 ? from + (ptrdiff_t)count * j->in.channel : behind,
        .input_row = j->in.channel,
        .weights = j->panels + (panel * all + first) * CHANNELS,
        .weight_panel = (ptrdiff_t)(all * CHANNELS),
        .sums = sums,
        .sum_row = PAIR,
        .positions = positions,
        .taps = count,
        .panels = panels,
        .starts = first == 0,
        .ahead = (const char*)(j->panels + (has_next ? next * CHANNELS : 0)),
        .ahead_piece = (ptrdiff_t)(all * CHANNELS * sizeof(float)),
        .ahead_pieces = has_next ? panels : 0,
        .ahead_lines = left > 0 ? least(most, left) : most};
    j->results->loops->conv_oc_dense(&s);
  }
}

// Computes the results of a panel at some positions; the sums stay in
// registers.
static void run_points(const conv_1x1_job* j, const float* input, size_t image,
                       size_t at, size_t count, size_t panel) {
  ptrdiff_t offsets[PIECE];
  for (ptrdiff_t k = 0; k < PIECE; ++k) offsets[k] = k * j->in.channel;
  const size_t pieces = (j->channels + PIECE - 1) / PIECE;
  const etx_conv_pixels points = {
      .store = {.sums = input, .rows = 1, .count = count},
      .channels = CHANNELS,
      .weights = j->panels + panel * j->channels * CHANNELS,
      .has_panels = true,
      .offsets = offsets,
      .taps = PIECE,
      .last_taps = j->channels - (pieces - 1) * PIECE,
      .pieces = pieces,
      .piece = PIECE * j->in.channel};
  etx_convolution_epilogue_pixels(j->results, points, (int64_t)image,
                                  (int64_t)(panel * CHANNELS), at);
}

// A work item is a part of an image with a pair of panels.
static void run_items(const void* context, void* tile, size_t first,
                      size_t end) {
  const conv_1x1_job* j = context;
  float* const sums = tile;
  for (size_t i = first; i < end; ++i) {
    const size_t image = i / (j->pairs * j->parts);
    const size_t place = i - image * j->pairs * j->parts;
    const size_t part =
        j->splits_channels ? place % j->parts : place / j->pairs;
    const size_t panel =
        2 * (j->splits_channels ? place / j->parts : place % j->pairs);
    const size_t each = j->positions / j->parts, rest = j->positions % j->parts;
    const size_t at = each * part + least(part, rest);
    const size_t count = each + (part < rest);
    const float* const input = (const float*)(const void*)j->in.data +
                               (ptrdiff_t)image * j->in.image + (ptrdiff_t)at;
    const size_t panels = least(2, j->panel_count - panel);
    if (j->has_pixel_lanes) {
      for (size_t k = 0; k < panels; ++k) {
        run_points(j, input, image, at, count, panel + k);
      }
      continue;
    }
    sum_part(j, input, count, panel, sums);
    for (size_t k = 0; k < panels; ++k) {
      etx_convolution_epilogue_store(
          j->results, sums + k * CHANNELS, PAIR, (int64_t)image,
          (int64_t)((panel + k) * CHANNELS), at, count);
    }
  }
}

// Parts of equal size as far as possible; more of them if threads would be
// idle.
static size_t part_count(const conv_1x1_job* j, size_t threads) {
  const size_t fit = j->has_pixel_lanes ? MOST_POINTS : POSITIONS;
  size_t parts = (j->positions + fit - 1) / fit;
  if (threads == 1) return parts;
  const size_t items = j->pairs * (size_t)j->in.images;
  const size_t wanted = (ITEMS * threads + items - 1) / items;
  const size_t most = j->positions / LEAST_POSITIONS;
  const size_t more = least(wanted, most);
  return more > parts ? more : parts;
}

// The bytes of the sums. Positions are transposed in blocks of sixteen.
enum { TILE_BYTES = (POSITIONS + CHANNELS) * PAIR * sizeof(float) };

// (input, panels, bias, others, steps, out)
static void convolve(etx_call* call, const etx_convolution_epilogue* results) {
  const etx_parallel* parallel = call->parallel;
  const etx_f32_microkernels* loops = results->loops;
  conv_1x1_job j = {
      .in = etx_volumes_of(
          etx_call_tensor(call, ETX_ARG_convolution_panels_input)),
      .panels = etx_call_tensor(call, ETX_ARG_convolution_panels_panels)->data,
      .results = results};
  j.channels = (size_t)j.in.channels;
  j.positions = (size_t)(j.in.sizes[1] * j.in.sizes[2]);
  j.panel_count = (size_t)results->out.channels / CHANNELS;
  j.pairs = (j.panel_count + 1) / 2;
  j.has_pixel_lanes = loops->conv_pixel != NULL && j.channels <= MOST_TAPS &&
                      j.positions >= LEAST_POINTS;
  j.parts = part_count(&j, parallel->thread_count);
  j.splits_channels = parallel->thread_count > 1 &&
                      (j.channels <= (size_t)results->out.channels ||
                       j.positions < parallel->thread_count * FEW_POSITIONS);
  const size_t items = (size_t)j.in.images * j.parts * j.pairs;
  const double work = (double)etx_tensor_numel(etx_call_tensor(
                          call, ETX_ARG_convolution_panels_out)) *
                      (double)j.channels;
  const etx_thread_tiles tiles = {call->temporary, TILE_BYTES};
  etx_parallel_for_tiled(parallel, items, work, run_items, &j, &tiles);
}

static etx_status run(etx_call* call) {
  return etx_convolution_epilogue_run(call, convolve);
}

etx_status etx_temporary_convolution_panels(const etx_call* call,
                                            size_t* out_bytes) {
  if (etx_thread_tiles_needed(call->parallel, TILE_BYTES, out_bytes)) {
    return ETX_OK;
  }
  return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                         "the sums of a convolution do not fit in memory");
}

etx_status etx_kernel_convolution_panels_out_prepare(etx_call* call) {
  // The positions of an image are contiguous.
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_convolution_panels_input));
  ETX_TRY(etx_convolution_epilogue_check(call));
  if (!etx_call_is_again(call)) {
    ETX_TRY(etx_temporary_convolution_panels(call, &call->temporary_bytes));
  }
  call->run = run;
  return ETX_OK;
}
