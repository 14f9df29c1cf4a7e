// Transposed convolution by sub-pixel decomposition, without zeros between the
// inputs. Results that are a stride apart are a phase: they read the same taps,
// and the same input as a plain convolution of stride 1. All phases of a row of
// results read the same patch of each input channel, which is copied to a
// thread's tile with zeros around it. Sums are computed phase by phase, and lie
//
//     phase    0 1 0 1 0 1     as results do, so that whole rows are stored
//     position 0 0 1 1 2 2
//
// where lanes are output channels (etx_conv_oc). With few channels lanes are
// positions (implicit_gemm.h), and phases are interleaved when results are
// stored. Weights are put in the order of the sums while they are used, which
// costs little beside hundreds of positions.
//
// Taps are added in reversed order, as in convolution_engine.c.

#include "runtime/kernels/convolution/convolution_variants.h"
#include "runtime/kernels/convolution/patch_plan.h"
#include "runtime/kernels/core/thread_tiles.h"

enum {
  PHASES = 32,  // most phases in each direction
  MOST_STEP = 1 << 20,
  GROUP = ETX_PATCH_GROUP,
  TAPS = ETX_CONV_OC_TAPS,  // most taps of all phases of an item
  OFFSETS = 320,
  CHANNELS = ETX_CONV_OC_BLOCK,  // most output channels of an item
  // the most if it leaves few positions, or positions are lanes
  FEW_CHANNELS = 32,
  LEAST_CHANNELS = 12,  // fewest output channels that are lanes
  FEW_PATCHES = 16,     // fewest patches that a tile has memory for, or all
  FEW_POSITIONS = 128,
  // Limits of the workspace with output channels as lanes, and with positions.
  POSITIONS = ETX_CONV_OC_TILE,
  PATCHES = 10240,
  WEIGHTS = CHANNELS * TAPS,
  SUMS = ETX_CONV_OC_SUMS,
  LANES = 2048,
  LANE_PATCHES = 8192,
  LANE_WEIGHTS = FEW_CHANNELS * TAPS,
  LANE_SUMS = 8192,
  PACKED = 32,    // taps whose weights are packed at a time
  MERGED = 1024,  // results whose phases are interleaved at a time
  ITEMS = 4,      // work items for each thread
};

// A tap of the kernel in one direction: its phase, its number in the phase, and
// the offset in a patch that position 0 reads.
typedef struct phase_tap {
  uint8_t phase, number;
  int32_t offset;
} phase_tap;

// Position q of phase p is result q * phases + p of the row.
typedef struct direction {
  etx_patch_direction read;  // what all phases read, as one plain window
  int64_t phases;
  size_t kernel;
  phase_tap taps[TAPS];
  uint8_t counts[PHASES],
      before[PHASES];  // for each phase, its taps and those of earlier phases
} direction;

typedef struct plan {
  const etx_convolution* c;
  const etx_f32_microkernels* loops;
  etx_chain_store store;
  direction y, x;
  bool has_channel_lanes;  // lanes are output channels
  size_t patch_room, weight_room, sum_room;
  int64_t item_phases;       // phases of rows that an item has: one, or all
  int64_t rows, row_blocks;  // output channels of an item; their blocks
  size_t taps;               // most taps of an item
  size_t pitch, patch;       // elements of a patch's row, and of a patch
  size_t channels;           // channels whose patches exist at a time
  // The weights of a tap lie in `units` pieces of `step` floats.
  size_t units, step;
  size_t sum_row;    // floats between positions, or between phases
  size_t sum_phase;  // floats between the phases of rows
} plan;

// A tap of an item: source and destination of its weights; those of each input
// channel are `each` after those of the channel before.
typedef struct placed_tap {
  ptrdiff_t from;
  uint16_t to, each;
} placed_tap;

// The working data of one item.
typedef struct subpixel_workspace {
  const plan* p;
  float* patches;
  float* sums;
  float* weights;
  int64_t image, channel;  // the image and its first output channel, counted
                           // over all groups
  int64_t phase;           // the first phase of rows
  int64_t y, x;            // the first position
  size_t height, width;
  size_t rows;
  const float* in;      // the input of the group
  const float* weight;  // the weights of the first output channel
  etx_row_copy copy;    // the part of a patch that exists
  ptrdiff_t from, to;
  size_t tap_count;
  placed_tap taps[TAPS];
  ptrdiff_t offsets[OFFSETS];  // offsets in the patches that taps read
  ptrdiff_t weight_places[OFFSETS];
} subpixel_workspace;

// ------------------------------------------------ directions

static __attribute__((noinline)) int64_t floor_divide(int64_t a, int64_t b) {
  return -etx_ceil_div(-a, b);
}

// For each tap k, input i adds to result i stride - padding + k dilation.
static bool start_direction(direction* d, const etx_window* w) {
  if (w->stride > PHASES || w->kernel > TAPS || w->dilation > MOST_STEP ||
      w->kernel == 0) {
    return false;
  }
  const int64_t last = (w->kernel - 1) * w->dilation;
  const int64_t low = -floor_divide(last - w->padding, w->stride);
  const int64_t high = -floor_divide(-w->padding, w->stride);
  if (high - low >= LANE_PATCHES) return false;
  *d = (direction){.phases = w->stride, .kernel = (size_t)w->kernel};
  d->read.window = (etx_window){
      w->in, etx_ceil_div(w->out, w->stride), high - low + 1, 1, -low, 1};
  d->read.step = d->read.phases = 1;
  d->read.extra = (size_t)(high - low);
  for (size_t k = 0; k < d->kernel; ++k) {
    const int64_t reach = (int64_t)k * w->dilation - w->padding;
    const int64_t at = floor_divide(reach, w->stride);
    phase_tap* t = &d->taps[k];
    t->phase = (uint8_t)(reach - at * w->stride);
    t->number = d->counts[t->phase]++;
    t->offset = (int32_t)(-at - low);
  }
  for (int64_t i = 1; i < d->phases; ++i) {
    d->before[i] = (uint8_t)(d->before[i - 1] + d->counts[i - 1]);
  }
  return true;
}

static size_t most_taps(const direction* d) {
  size_t most = 1;
  for (int64_t i = 0; i < d->phases; ++i) {
    if (d->counts[i] > most) most = d->counts[i];
  }
  return most;
}

// ------------------------------------------------ plans

static __attribute__((noinline)) int64_t even_share(int64_t size,
                                                    int64_t most) {
  return etx_ceil_div(size, etx_ceil_div(size, most));
}

static size_t whole_groups(size_t count) {
  return (count + GROUP - 1) / GROUP * GROUP;
}

// Sets the size of a tile. False if its patches or sums do not fit.
static __attribute__((noinline)) bool size_patch(plan* p, int64_t height,
                                                 int64_t width) {
  const int64_t all = p->c->in_channels;
  const size_t fit = all < FEW_PATCHES ? (size_t)all : FEW_PATCHES;
  const size_t phases = (size_t)p->x.phases, rows = (size_t)p->rows;
  p->pitch = (size_t)width + p->x.read.extra;
  // An odd number of lines: channels do not map to the same sets of the L1
  // cache.
  p->patch = whole_groups(((size_t)height + p->y.read.extra) * p->pitch);
  if (p->patch / GROUP % 2 == 0) p->patch += GROUP;
  if (p->patch * fit > p->patch_room) return false;
  if (p->has_channel_lanes) {
    const size_t positions = (size_t)(height * width);
    p->sum_row = whole_groups(rows);
    p->sum_phase = positions * phases * p->sum_row;
    return positions <= POSITIONS &&
           p->sum_phase * (size_t)p->item_phases <= p->sum_room;
  }
  const size_t lanes = (size_t)(height - 1) * p->pitch + (size_t)width;
  p->sum_row = whole_groups(lanes);
  p->sum_phase = p->sum_row * phases;
  return lanes <= LANES &&
         p->sum_phase * (size_t)p->item_phases * rows <= p->sum_room;
}

static bool size_tiles(plan* p) {
  const int64_t high = p->y.read.window.out, wide = p->x.read.window.out;
  int64_t width = even_share(wide, p->has_channel_lanes ? POSITIONS : LANES);
  while (!size_patch(p, 1, width)) {
    if (width == 1) return false;
    width = even_share(wide, width > GROUP ? width / 2 : width - 1);
  }
  int64_t height = high < LANES ? high : LANES;
  while (!size_patch(p, height, width)) --height;
  height = even_share(high, height);
  p->y.read.tile = height;
  p->x.read.tile = width;
  p->y.read.tiles = etx_ceil_div(high, height);
  p->x.read.tiles = etx_ceil_div(wide, width);
  return size_patch(p, height, width);
}

// An item has all phases of rows if one tile has all positions, so that weights
// are read once.
static bool size_items(plan* p, int64_t most) {
  const int64_t all = p->c->out_channels;
  p->rows = even_share(all, most);
  if ((p->has_channel_lanes || p->c->has_panels) && p->rows < all) {
    p->rows = (int64_t)whole_groups((size_t)p->rows);
  }
  p->row_blocks = etx_ceil_div(all, p->rows);
  p->item_phases = p->y.phases;
  p->taps = p->y.kernel * p->x.kernel;
  if (p->taps <= TAPS && size_tiles(p) &&
      p->y.read.tiles * p->x.read.tiles == 1) {
    return true;
  }
  p->item_phases = 1;
  p->taps = most_taps(&p->y) * p->x.kernel;
  return p->taps <= TAPS && size_tiles(p);
}

static int64_t item_count(const plan* p) {
  const etx_convolution* c = p->c;
  return c->in.images * c->groups * p->row_blocks *
         (p->y.phases / p->item_phases) * p->y.read.tiles * p->x.read.tiles;
}

// True if fewer output channels per item are better, because they leave memory
// for more positions or give work to more threads.
static bool wants_fewer(const plan* p, int64_t most, size_t threads) {
  if (most <= GROUP || p->c->out_channels <= most / 2) return false;
  const bool is_whole = p->y.read.tiles * p->x.read.tiles == 1;
  return (most > FEW_CHANNELS && !is_whole &&
          p->y.read.tile * p->x.read.tile < FEW_POSITIONS) ||
         (threads > 1 && item_count(p) < ITEMS * (int64_t)threads);
}

static bool start_plan(plan* p, const etx_convolution* c,
                       const etx_parallel* parallel) {
  const etx_window* z = &c->windows[0];
  const bool is_flat = z->in == 1 && z->out == 1 && z->kernel == 1 &&
                       z->stride == 1 && z->padding == 0;
  p->c = c;
  if (!is_flat || c->in.dtype != ETX_DTYPE_FLOAT32 || c->in_channels == 0 ||
      c->out.strides[2] != 1 || !start_direction(&p->y, &c->windows[1]) ||
      !start_direction(&p->x, &c->windows[2])) {
    return false;
  }
  p->loops = etx_f32_microkernels_of(
      etx_instruction_set_within(parallel->instruction_set));
  p->store = etx_chain_store_of(c->chain);
  p->has_channel_lanes = c->out_channels >= LEAST_CHANNELS;
  p->patch_room = p->has_channel_lanes ? PATCHES : LANE_PATCHES;
  p->weight_room = p->has_channel_lanes ? WEIGHTS : LANE_WEIGHTS;
  p->sum_room = p->has_channel_lanes ? SUMS : LANE_SUMS;
  int64_t most = p->has_channel_lanes ? CHANNELS : FEW_CHANNELS;
  bool fits = size_items(p, most);
  while (most > GROUP &&
         (!fits || wants_fewer(p, most, parallel->thread_count))) {
    most /= 2;
    fits = size_items(p, most);
  }
  if (!fits) return false;
  p->step = p->has_channel_lanes ? GROUP : 1;
  p->units = p->has_channel_lanes ? p->sum_row / GROUP : (size_t)p->rows;
  const size_t by_weights = p->weight_room / (p->taps * p->units * p->step);
  const size_t by_patch = p->patch_room / p->patch;
  const size_t by_offsets = OFFSETS / p->taps;
  size_t fit = by_weights < by_offsets ? by_weights : by_offsets;
  if (by_patch < fit) fit = by_patch;
  p->channels = (size_t)even_share(c->in_channels, (int64_t)fit);
  return true;
}

// ------------------------------------------------ patches

static void place_patch(subpixel_workspace* d) {
  const plan* p = d->p;
  const etx_patch_piece y = etx_patch_piece_of(&p->y.read, 0, d->y, d->height);
  const etx_patch_piece x = etx_patch_piece_of(&p->x.read, 0, d->x, d->width);
  const ptrdiff_t row = p->c->in.strides[1], step = p->c->in.strides[2];
  d->copy = (etx_row_copy){.from_row = row,
                           .step = step,
                           .to_row = (ptrdiff_t)p->pitch,
                           .rows = x.begin < x.end ? y.end - y.begin : 0,
                           .count = x.end - x.begin};
  d->from = ((ptrdiff_t)y.first + (ptrdiff_t)y.begin) * row +
            ((ptrdiff_t)x.first + (ptrdiff_t)x.begin) * step;
  d->to = (ptrdiff_t)(y.begin * p->pitch + x.begin);
  // Padding is never copied: it is zero already.
  memset(d->patches, 0,
         (p->patch * p->channels + ETX_PATCH_BEHIND) * sizeof(float));
}

static void copy_patches(const subpixel_workspace* d, size_t first,
                         size_t count) {
  const plan* p = d->p;
  etx_row_copy copy = d->copy;
  if (copy.rows == 0) return;
  for (size_t i = 0; i < count; ++i) {
    copy.from = d->in + (ptrdiff_t)(first + i) * p->c->in.channel + d->from;
    copy.to = d->patches + i * p->patch + d->to;
    p->loops->copy_rows(&copy);
  }
}

// ------------------------------------------------ weights

// The weights and offsets of an item are ordered by phase. In a phase those of
// `channels` input channels follow each other, with taps in reversed order.
static size_t taps_before(const subpixel_workspace* d, int64_t y, int64_t x) {
  const direction *rows = &d->p->y, *columns = &d->p->x;
  return d->p->channels *
         ((size_t)(rows->before[y] - rows->before[d->phase]) * columns->kernel +
          (size_t)rows->counts[y] * columns->before[x]);
}

static void place_tap(subpixel_workspace* d, size_t ky, size_t kx) {
  const plan* p = d->p;
  const phase_tap *y = &p->y.taps[ky], *x = &p->x.taps[kx];
  const size_t width = p->x.counts[x->phase];
  const size_t each = width * p->y.counts[y->phase];
  const size_t before = taps_before(d, y->phase, x->phase);
  const size_t number = each - 1 - (y->number * width + x->number);
  ptrdiff_t offset = y->offset * (ptrdiff_t)p->pitch + x->offset;
  d->taps[d->tap_count++] =
      (placed_tap){.from = (ptrdiff_t)ky * p->c->weight.strides[1] +
                           (ptrdiff_t)kx * p->c->weight.strides[2],
                   .to = (uint16_t)(before * p->units + number),
                   .each = (uint16_t)each};
  const ptrdiff_t weight = d->taps[d->tap_count - 1].from;
  for (size_t i = 0; i < p->channels; ++i) {
    const size_t at = before + i * each + number;
    d->offsets[at] = offset + (ptrdiff_t)(i * p->patch);
    d->weight_places[at] = p->c->has_panels
                               ? weight + (ptrdiff_t)i * p->c->weight_in
                               : (ptrdiff_t)((i * each + number) * GROUP);
  }
}

static void place_taps(subpixel_workspace* d) {
  const plan* p = d->p;
  d->tap_count = 0;
  for (size_t y = 0; y < p->y.kernel; ++y) {
    const int64_t phase = p->y.taps[y].phase - d->phase;
    if (phase < 0 || phase >= p->item_phases) continue;
    for (size_t x = 0; x < p->x.kernel; ++x) place_tap(d, y, x);
  }
}

// Counts the taps from number `tap` on whose weights are neighbours in memory.
static size_t count_run(const subpixel_workspace* d, size_t tap) {
  const size_t left = d->tap_count - tap, most = left < PACKED ? left : PACKED;
  size_t run = 1;
  while (run < most &&
         d->taps[tap + run].from == d->taps[tap].from + (ptrdiff_t)run) {
    ++run;
  }
  return run;
}

// Packs the weights of input channels from `first` on for etx_conv_oc.
static void transpose_weights(const subpixel_workspace* d, size_t first,
                              size_t count) {
  float packed[PACKED * GROUP] __attribute__((aligned(ETX_LANE_GROUP_BYTES)));
  const plan* p = d->p;
  const etx_convolution* c = p->c;
  for (size_t tap = 0, run; tap < d->tap_count; tap += run) {
    run = count_run(d, tap);
    const placed_tap* t = &d->taps[tap];
    const float* channel =
        d->weight + (ptrdiff_t)first * c->weight_in + t->from;
    for (size_t i = 0; i < count; ++i, channel += c->weight_in) {
      for (size_t row = 0; row < d->rows; row += GROUP) {
        const size_t left = d->rows - row;
        const size_t place = i + row / GROUP * p->channels;
        p->loops->transpose_pack(channel + (ptrdiff_t)row * c->weight_out,
                                 c->weight_out, left < GROUP ? left : GROUP,
                                 run, packed);
        for (size_t k = 0; k < run; ++k) {
          memcpy(d->weights + (t[k].to + place * t[k].each) * GROUP,
                 packed + k * GROUP, GROUP * sizeof(float));
        }
      }
    }
  }
}

// Packs the same for etx_gemm_block.
static void pick_weights(const subpixel_workspace* d, size_t first,
                         size_t count) {
  const plan* p = d->p;
  const etx_convolution* c = p->c;
  for (size_t i = 0; i < count; ++i) {
    const float* all = d->weight + (ptrdiff_t)(first + i) * c->weight_in;
    for (size_t row = 0; row < d->rows; ++row) {
      const float* channel = all + etx_convolution_row(c, row);
      const size_t place = i + row * p->channels;
      for (size_t k = 0; k < d->tap_count; ++k) {
        const placed_tap* t = &d->taps[k];
        d->weights[t->to + place * t->each] = channel[t->from];
      }
    }
  }
}

// ------------------------------------------------ sums

// The distance from the current panels to those that are needed next, for the
// next input channels or output channels.
static ptrdiff_t next_panels(const subpixel_workspace* d, size_t first,
                             size_t count) {
  const etx_convolution* c = d->p->c;
  if (first + count < (size_t)c->in_channels) {
    return (ptrdiff_t)count * c->weight_in;
  }
  return (ptrdiff_t)d->rows * c->weight_out - (ptrdiff_t)first * c->weight_in;
}

// Computes the sums of one phase from the patches of `count` input channels.
static void sum_phase(const subpixel_workspace* d, const ptrdiff_t* places,
                      int64_t y, int64_t x, size_t first, size_t count) {
  const plan* p = d->p;
  const size_t before = taps_before(d, y, x);
  const size_t each = (size_t)p->y.counts[y] * p->x.counts[x];
  float* const sums =
      d->sums + (size_t)(y - d->phase) * p->sum_phase + (size_t)x * p->sum_row;
  const float* const weights = d->weights + before * p->units * p->step;
  const ptrdiff_t weight_step = (ptrdiff_t)(each * p->channels * p->step);
  if (p->has_channel_lanes) {
    const bool has_panels = p->c->has_panels;
    const float* const panels = d->weight + (ptrdiff_t)first * p->c->weight_in;
    const etx_conv_oc s = {
        .input = d->patches,
        .places = places,
        .offsets = d->offsets + before,
        .weights = has_panels ? panels : weights,
        .weight_group = has_panels ? GROUP * p->c->weight_out : weight_step,
        .weight_places = d->weight_places + before,
        .weight_prefetch = has_panels ? next_panels(d, first, count) : 0,
        .sums = sums,
        .sum_row = (ptrdiff_t)(p->sum_row * (size_t)p->x.phases),
        .positions = d->height * d->width,
        .taps = count * each,
        .groups = whole_groups(d->rows) / GROUP,
        .starts = first == 0};
    p->loops->conv_oc(&s);
    return;
  }
  const etx_gemm_block b = {
      .sums = sums,
      .sum_row = (ptrdiff_t)(p->sum_phase * (size_t)p->item_phases),
      .weights = weights,
      .weight_row = weight_step,
      .panel = d->patches,
      .panel_row = GROUP,
      .panel_group = GROUP,
      .offsets = d->offsets + before,
      .rows = d->rows,
      .taps = count * each,
      .lanes = (d->height - 1) * p->pitch + d->width,
      .starts = first == 0};
  p->loops->gemm_by_type[ETX_COMPUTE_F32](&b);
}

static void sum_item(const subpixel_workspace* d) {
  ptrdiff_t places[POSITIONS];
  const plan* p = d->p;
  for (size_t y = 0, i = 0; y < d->height && p->has_channel_lanes; ++y) {
    for (size_t x = 0; x < d->width; ++x) {
      places[i++] = (ptrdiff_t)(y * p->pitch + x);
    }
  }
  const size_t all = (size_t)p->c->in_channels;
  for (size_t first = 0; first < all; first += p->channels) {
    const size_t left = all - first;
    const size_t count = left < p->channels ? left : p->channels;
    copy_patches(d, first, count);
    if (!p->has_channel_lanes) {
      pick_weights(d, first, count);
    } else if (!p->c->has_panels) {
      transpose_weights(d, first, count);
    }
    for (int64_t y = 0; y < p->item_phases; ++y) {
      for (int64_t x = 0; x < p->x.phases; ++x) {
        sum_phase(d, places, d->phase + y, x, first, count);
      }
    }
  }
}

// ------------------------------------------------ results

static float bias_of(const subpixel_workspace* d, size_t row) {
  const etx_tensor* bias = d->p->c->bias;
  if (bias == NULL) return -0.0f;
  const ptrdiff_t channel = (ptrdiff_t)d->channel + (ptrdiff_t)row;
  return ((const float*)bias->data)[channel * bias->strides[0]];
}

// Sets the address of a channel's results, which begin at `out`, and the
// operand that is added.
static void place_store(const subpixel_workspace* d, float* out,
                        etx_row_store* s) {
  const etx_convolution* c = d->p->c;
  s->out = out;
  s->added = etx_chain_store_added(&d->p->store, c->chain,
                                   (const float*)(const void*)c->out.data, out);
}

// The rows of a phase that exist.
static etx_row_store start_store(const subpixel_workspace* d, size_t row,
                                 int64_t phase) {
  const plan* p = d->p;
  const etx_volumes* out = &p->c->out;
  const int64_t x = d->x * p->x.phases, wide = out->sizes[2] - x;
  const int64_t y = d->y * p->y.phases + phase;
  const int64_t high = etx_ceil_div(out->sizes[1] - y, p->y.phases);
  const size_t count = d->width * (size_t)p->x.phases;
  etx_row_store s = {
      .out_row = out->strides[1] * (ptrdiff_t)p->y.phases,
      .rows = high < (int64_t)d->height ? (size_t)high : d->height,
      .count = wide < (int64_t)count ? (size_t)wide : count,
      .below = p->store.below,
      .low = p->store.low,
      .high = p->store.high};
  float* first = (float*)(void*)out->data + (ptrdiff_t)d->image * out->image +
                 ((ptrdiff_t)d->channel + (ptrdiff_t)row) * out->channel;
  place_store(d, first + (ptrdiff_t)y * out->strides[1] + (ptrdiff_t)x, &s);
  return s;
}

// Computes the part of the chain that the store did not.
static void run_chain(const subpixel_workspace* d, size_t row, int64_t phase,
                      const etx_row_store* s, float* out) {
  const plan* p = d->p;
  const etx_volumes* all = &p->c->out;
  if (p->c->chain == NULL || p->store.is_all) return;
  const int64_t plane = d->image * all->channels + d->channel + (int64_t)row;
  int64_t first =
      (d->y * p->y.phases + phase) * all->sizes[2] + d->x * p->x.phases;
  for (size_t i = 0; i < s->rows; ++i, out += s->out_row) {
    etx_chain_run(p->c->chain, out, out, (size_t)plane, (size_t)first,
                  s->count);
    first += p->y.phases * all->sizes[2];
  }
}

static void conv_oc_store(const subpixel_workspace* d, size_t row,
                          int64_t phase, const float* sums) {
  const plan* p = d->p;
  const size_t left = d->rows - row;
  const etx_row_store all = start_store(d, row, phase);
  float bias[GROUP];
  etx_conv_oc_store s = {.store = all,
                         .out_channel = p->c->out.channel,
                         .bias = bias,
                         .channels = left < GROUP ? left : GROUP};
  for (size_t i = 0; i < s.channels; ++i) bias[i] = bias_of(d, row + i);
  s.store.rows = 1;
  s.store.sum_row = (ptrdiff_t)p->sum_row;
  s.store.sums = sums + row;
  for (size_t i = 0; i < all.rows; ++i) {
    place_store(d, all.out + (ptrdiff_t)i * all.out_row, &s.store);
    p->loops->conv_oc_store(&s);
    s.store.sums += d->width * (size_t)p->x.phases * p->sum_row;
  }
  for (size_t i = 0; i < s.channels; ++i) {
    run_chain(d, row + i, phase, &all, all.out + (ptrdiff_t)i * s.out_channel);
  }
}

// Writes `count` results, whose phases are `step` apart. Results are written in
// pairs, so one more may be written.
static void merge(const float* sums, size_t step, size_t phases, size_t count,
                  float* to) {
  if (phases == 2) {
    const float* const others = sums + step;
    for (size_t i = 0; i < (count + 1) / 2; ++i) {
      to[2 * i] = sums[i];
      to[2 * i + 1] = others[i];
    }
    return;
  }
  for (size_t i = 0; i < phases; ++i, sums += step) {
    const float* from = sums;
    for (size_t at = i; at < count; at += phases) to[at] = *from++;
  }
}

// Short rows are interleaved several at a time, long ones piece by piece.
static void store_lanes(const subpixel_workspace* d, size_t row, int64_t phase,
                        const float* sums) {
  float merged[MERGED];
  const plan* p = d->p;
  const size_t phases = (size_t)p->x.phases;
  const size_t length = d->width * phases, whole = MERGED / phases * phases;
  const size_t piece = length < whole ? length : whole, fit = MERGED / piece;
  const etx_row_store all = start_store(d, row, phase);
  etx_row_store s = all;
  sums += row * p->sum_phase * (size_t)p->item_phases;
  s.sums = merged;
  s.sum_row = (ptrdiff_t)piece;
  s.bias = bias_of(d, row);
  for (size_t i = 0; i < all.rows; i += s.rows) {
    const size_t left = all.rows - i;
    s.rows = left < fit ? left : fit;
    for (size_t at = 0; at < all.count; at += piece) {
      s.count = all.count - at < piece ? all.count - at : piece;
      for (size_t k = 0; k < s.rows; ++k) {
        merge(sums + (i + k) * p->pitch + at / phases, p->sum_row, phases,
              s.count, merged + k * piece);
      }
      place_store(d, all.out + (ptrdiff_t)i * all.out_row + at, &s);
      p->loops->store_rows(&s);
    }
  }
  run_chain(d, row, phase, &all, all.out);
}

static void store_item(const subpixel_workspace* d) {
  const plan* p = d->p;
  for (size_t row = 0; row < d->rows; row += p->step) {
    for (int64_t i = 0; i < p->item_phases; ++i) {
      const int64_t phase = d->phase + i;
      const float* const sums = d->sums + (size_t)i * p->sum_phase;
      if (d->y * p->y.phases + phase >= p->c->out.sizes[1]) break;
      if (p->has_channel_lanes) {
        conv_oc_store(d, row, phase, sums);
      } else {
        store_lanes(d, row, phase, sums);
      }
    }
  }
}

// ------------------------------------------------ items

// A work item has a tile of a group of an image, a block of output channels,
// and one or all phases of rows.
static void start_item(subpixel_workspace* d, int64_t item) {
  const plan* p = d->p;
  const etx_convolution* c = p->c;
  const int64_t parts = p->y.phases / p->item_phases;
  const int64_t phase = item % parts;
  item /= parts;
  const int64_t first = item % p->row_blocks * p->rows;
  item /= p->row_blocks;
  d->x = item % p->x.read.tiles * p->x.read.tile;
  item /= p->x.read.tiles;
  d->y = item % p->y.read.tiles * p->y.read.tile;
  item /= p->y.read.tiles;
  const int64_t group = item % c->groups;
  d->image = item / c->groups;
  d->channel = group * c->out_channels + first;
  const int64_t left[] = {p->y.read.window.out - d->y,
                          p->x.read.window.out - d->x, c->out_channels - first};
  d->height = (size_t)(left[0] < p->y.read.tile ? left[0] : p->y.read.tile);
  d->width = (size_t)(left[1] < p->x.read.tile ? left[1] : p->x.read.tile);
  d->rows = (size_t)(left[2] < p->rows ? left[2] : p->rows);
  d->in = (const float*)(const void*)c->in.data +
          (ptrdiff_t)d->image * c->in.image +
          (ptrdiff_t)(group * c->in_channels) * c->in.channel;
  d->weight = (const float*)(const void*)c->weight.data +
              (ptrdiff_t)group * c->weight_group +
              (ptrdiff_t)first * c->weight_out;
  if (d->tap_count == 0 || d->phase != phase) {
    d->phase = phase;
    place_taps(d);
  }
}

static void run_some(subpixel_workspace* d, size_t first, size_t end) {
  for (size_t i = first; i < end; ++i) {
    start_item(d, (int64_t)i);
    place_patch(d);
    sum_item(d);
    store_item(d);
  }
}

// The floats of a tile: patches, sums, weights. Positions are transposed in
// blocks of sixteen, hence the room behind the sums.
enum {
  SPOTS = PATCHES + ETX_PATCH_BEHIND,
  SPOT_SUMS = SUMS + GROUP * CHANNELS,
  POINTS = LANE_PATCHES + ETX_PATCH_BEHIND,
};

size_t etx_convolution_subpixel_tile(const etx_convolution* c) {
  const size_t floats = c->out_channels >= LEAST_CHANNELS
                            ? (size_t)SPOTS + SPOT_SUMS + WEIGHTS
                            : (size_t)POINTS + LANE_SUMS + LANE_WEIGHTS;
  return floats * sizeof(float) + sizeof(subpixel_workspace);
}

static void run_items(const void* context, void* tile, size_t first,
                      size_t end) {
  const plan* p = context;
  float *const patches = tile, *sums, *weights;
  if (p->has_channel_lanes) {
    sums = patches + SPOTS;
    weights = sums + SPOT_SUMS;
  } else {
    sums = patches + POINTS;
    weights = sums + LANE_SUMS;
  }
  const size_t weight_count =
      p->has_channel_lanes ? (size_t)WEIGHTS : LANE_WEIGHTS;
  subpixel_workspace* d = (void*)(weights + weight_count);
  d->p = p;
  d->patches = patches;
  d->sums = sums;
  d->weights = weights;
  d->tap_count = 0;
  run_some(d, first, end);
}

bool etx_convolution_subpixel(const etx_convolution* convolution,
                              const etx_parallel* parallel, void* temporary) {
  plan p;
  if (!start_plan(&p, convolution, parallel)) return false;
  const etx_convolution* c = convolution;
  const double work = (double)(c->in.images * c->groups * c->in_channels) *
                      (double)(c->in.sizes[1] * c->in.sizes[2]) *
                      (double)(c->weight.sizes[1] * c->weight.sizes[2]) *
                      (double)c->out_channels;
  const etx_thread_tiles tiles = {temporary, etx_convolution_subpixel_tile(c)};
  etx_parallel_for_tiled(parallel, (size_t)item_count(&p), work, run_items, &p,
                         &tiles);
  return true;
}
