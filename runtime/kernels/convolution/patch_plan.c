#include "runtime/kernels/convolution/patch_plan.h"

enum {
  // Limits on the positions of a tile (including those that do not exist) and
  // on the output channels that share its patches. Either positions or channels
  // may be many.
  LANES = 256,
  FEW_LANES = 128,
  PACKED_LANES = 64,  // fewest lanes of a packed tile
  MOST_PACKED = 512,
  FEW_CHANNELS = 16,
  FEW_ROWS = 32,
  FEW_TAPS = 64,  // with up to so few taps, a tile has as many positions as fit
  GROUP = ETX_PATCH_GROUP,
  NEAR_WEIGHTS = 65536,  // bytes of weights that stay in L2
  // With output channels as lanes: the most positions of all tiles together,
  // and of one.
  LEAST_SPOT_CHANNELS = 32,
  LEAST_SPOTS = 8,
  // positions of a tile, if patches of sixteen channels would not fit
  FEW_SPOTS = 96,
  MANY_SPOTS = 256,
  // with few taps: transposing the sums of more costs too much
  MOST_SPOTS = 1024,
  MANY_TAPS = 96,
  CONV_OC_ITEMS = 4,  // work items for each thread
  LEAST_PART = 32,    // fewest taps in a part of a window
  POINT_CHANNELS = ETX_CONV_PIXEL_CHANNELS,
  LEAST_POINTS = 13,  // fewest vectors of a tile
  // positions of an image below which threads split the channels
  FEW_POSITIONS = 1024,
  FEW_VALUES = 1 << 18,  // most elements of the input or output with more
                         // channels, in that case
  // Channels whose distance is a multiple of this many floats share a few cache
  // sets. For such large images with so many results, only a few channels are
  // read at a time.
  SAME_PLACES = 4096,
  // The number of sets of L1, and the cache lines in a set.
  FIRST_CACHE_LINES = 64,
  FIRST_CACHE_WAYS = 8,
  MANY_VALUES = 1 << 22,
  MANY_RESULTS = 96,
};

// ------------------------------------------------ directions

// The number of a tap's phase. A new phase is added.
static size_t phase_of(etx_patch_direction* d, int64_t tap) {
  if (d->step > 1) return 0;
  const int64_t first = tap * d->window.dilation % d->window.stride;
  size_t i = 0;
  while (i < d->phases && d->first[i] != first) ++i;
  if (i == d->phases && i < ETX_PATCH_PHASES) d->first[d->phases++] = first;
  return i;
}

static bool start_direction(etx_patch_direction* d, const etx_window* window) {
  enum { MOST = 1 << 20, MOST_KERNEL = 1 << 14 };
  *d = (etx_patch_direction){.window = *window, .step = 1};
  return window->kernel <= MOST_KERNEL && window->stride <= MOST &&
         window->dilation <= MOST;
}

// Fills a direction. False if there are too many phases.
static bool find_phases(etx_patch_direction* d) {
  const etx_window* window = &d->window;
  if (window->kernel > ETX_PATCH_TAPS) return false;
  for (int64_t tap = 0; tap < window->kernel; ++tap) {
    if (phase_of(d, tap) == ETX_PATCH_PHASES) return false;
  }
  d->extra = (size_t)((window->kernel - 1) * window->dilation / window->stride);
  return d->extra < ETX_PATCHES;
}

// A direction in the order of the input's elements, without phases:
// neighbouring positions may be a stride apart.
static etx_patch_direction without_phases(const etx_patch_direction* d) {
  etx_patch_direction whole = *d;
  whole.step = (size_t)d->window.stride;
  whole.phases = 1;
  whole.first[0] = 0;
  whole.extra = (size_t)((d->window.kernel - 1) * d->window.dilation);
  return whole;
}

// The number of patch elements that `size` positions read.
static size_t seen_by(const etx_patch_direction* d, int64_t size) {
  return ((size_t)size - 1) * d->step + 1 + d->extra;
}

// The offset of a tap's input in its phase.
static size_t place_of(const etx_patch_direction* d, int64_t tap) {
  return (size_t)(tap * d->window.dilation * (int64_t)d->step /
                  d->window.stride);
}

etx_patch_piece etx_patch_piece_of(const etx_patch_direction* direction,
                                   size_t phase, int64_t out, size_t size) {
  const etx_window* w = &direction->window;
  etx_patch_piece p = {
      .first = out * w->stride - w->padding + direction->first[phase],
      .stride = w->stride / (int64_t)direction->step,
      .count = seen_by(direction, (int64_t)size)};
  const int64_t count = (int64_t)p.count;
  int64_t begin = p.first < 0 ? etx_ceil_div(-p.first, p.stride) : 0;
  int64_t end = p.first < w->in ? etx_ceil_div(w->in - p.first, p.stride) : 0;
  if (begin > count) begin = count;
  if (end > count) end = count;
  if (end < begin) end = begin;
  p.begin = (size_t)begin;
  p.end = (size_t)end;
  return p;
}

// ------------------------------------------------ patches

// The number of zeros that a row of all positions and the next row can share.
static size_t shared_zeros(const etx_patch_direction* x) {
  size_t shared = x->extra;
  for (size_t i = 0; i < x->phases; ++i) {
    const etx_patch_piece p =
        etx_patch_piece_of(x, i, 0, (size_t)x->window.out);
    const size_t behind = p.count - p.end;
    if (p.begin < shared) shared = p.begin;
    if (behind < shared) shared = behind;
  }
  return shared;
}

// Computes the sizes of a patch for tiles of `height` x `width`; false if it is
// too large.
static bool size_patch(etx_patch_plan* p, int64_t height, int64_t width) {
  const size_t shared =
      width == p->x.window.out && height > 1 ? shared_zeros(&p->x) : 0;
  const size_t rows = seen_by(&p->y, height);
  p->pitch = seen_by(&p->x, width) - shared;
  p->phase = rows * p->pitch + shared;
  // In a single row, phases begin at multiples of a group of lanes.
  if (rows == 1) {
    p->phase = (p->phase + GROUP - 1) / GROUP * GROUP;
  }
  p->patch = p->phase * p->y.phases * p->x.phases;
  return p->patch <= p->room &&
         ((size_t)height - 1) * p->pitch + (size_t)width <= p->lanes;
}

static int64_t even_share(int64_t size, int64_t most) {
  return etx_ceil_div(size, etx_ceil_div(size, most));
}

// The cost of a tile, in groups of lanes; a part of it does not depend on the
// size.
static double cost_of(const etx_patch_plan* p, size_t height, size_t width) {
  const size_t lanes = (height - 1) * p->pitch + width;
  return (double)(lanes / GROUP + (lanes % GROUP > 0)) + 0.3;
}

// Chooses the width: that of the result, or the largest that fits; then the
// height that wastes the fewest lanes.
static bool size_tiles(etx_patch_plan* p) {
  const int64_t high = p->y.window.out, wide = p->x.window.out;
  int64_t width = even_share(wide, (int64_t)p->lanes), height = 1;
  while (!size_patch(p, 1, width)) {
    if (width <= GROUP) return false;
    width = even_share(wide, width / 2);
  }
  double best = 0;
  for (int64_t most = 1; most <= high && size_patch(p, most, width); ++most) {
    const int64_t share = even_share(high, most);
    if (share != most) continue;
    const double used =
        (double)(most * width) / cost_of(p, (size_t)most, (size_t)width);
    if (used >= best) {
      best = used;
      height = most;
    }
  }
  p->y.tile = height;
  p->x.tile = width;
  p->y.tiles = etx_ceil_div(high, height);
  p->x.tiles = etx_ceil_div(wide, width);
  return size_patch(p, height, width);
}

// Computes the offsets of the taps of all channels whose patches exist
// together.
static void find_offsets(etx_patch_plan* p) {
  const size_t width = (size_t)p->x.window.kernel;
  for (size_t i = 0; i < p->taps * p->channels; ++i) {
    const size_t tap = i % p->taps;
    const int64_t y = (int64_t)(tap / width), x = (int64_t)(tap % width);
    if (p->is_direct) {
      p->offsets[i] =
          (ptrdiff_t)(i / p->taps) * p->c.in.channel +
          (ptrdiff_t)(y * p->y.window.dilation) * p->c.in.strides[1] +
          (ptrdiff_t)(x * p->x.window.dilation) * p->c.in.strides[2];
      continue;
    }
    const size_t phase = phase_of(&p->y, y) * p->x.phases + phase_of(&p->x, x);
    p->offsets[i] =
        (ptrdiff_t)(i / p->taps * p->patch + phase * p->phase +
                    place_of(&p->y, y) * p->pitch + place_of(&p->x, x));
  }
}

// ------------------------------------------------ convolutions

// True if the weights of an output channel, or those of panels, are contiguous.
static bool are_weights_dense(const etx_convolution* c) {
  if (c->has_panels) return true;
  const ptrdiff_t width = (ptrdiff_t)c->weight.sizes[2];
  const ptrdiff_t plane = (ptrdiff_t)c->weight.sizes[1] * width;
  return (width == 1 || c->weight.strides[2] == 1) &&
         (c->weight.sizes[1] == 1 || c->weight.strides[1] == width) &&
         (c->in_channels == 1 || c->weight_in == plane);
}

// True if the rows of a plane are contiguous.
static bool are_rows_dense(const etx_volumes* v) {
  return v->strides[1] == v->strides[2] * (ptrdiff_t)v->sizes[2];
}

// True if each output position reads the input position of the same number (1 x
// 1).
static bool is_pointwise(const etx_convolution* c) {
  for (size_t d = 1; d < ETX_SPATIAL; ++d) {
    const etx_window* w = &c->windows[d];
    if (w->kernel != 1 || w->stride != 1 || w->padding != 0) return false;
  }
  return true;
}

// With 1 x 1 windows, the rows are one long row.
static void join_rows(etx_convolution* c) {
  if (!is_pointwise(c) || !are_rows_dense(&c->in) || !are_rows_dense(&c->out)) {
    return;
  }
  etx_volumes* both[] = {&c->in, &c->out};
  for (size_t i = 0; i < 2; ++i) {
    both[i]->sizes[2] *= both[i]->sizes[1];
    both[i]->sizes[1] = 1;
  }
  c->windows[1].in = c->windows[1].out = 1;
  c->windows[2].in = c->windows[2].out = c->out.sizes[2];
}

// The numbers of positions and of output channels whose sums a tile holds.
static void share_sums(etx_patch_plan* p) {
  const etx_convolution* c = &p->c;
  p->rows = c->out_channels;
  if (p->rows > ETX_PATCH_SUMS / LANES) {
    p->lanes = FEW_LANES;
    p->rows = even_share(p->rows, ETX_PATCH_SUMS / FEW_LANES);
  } else if (c->in_channels <= FEW_TAPS / (int64_t)p->taps) {
    p->lanes = (size_t)(ETX_PATCH_SUMS / p->rows / GROUP * GROUP);
  } else {
    p->lanes = LANES;
  }
}

// Tiles of one row, group by group.
static void pack_tiles(etx_patch_plan* p) {
  const etx_convolution* c = &p->c;
  const int64_t most =
      c->in_channels <= FEW_CHANNELS ? FEW_ROWS : ETX_PATCH_SUMS / PACKED_LANES;
  p->rows = even_share(c->out_channels, most);
  p->channels = (size_t)even_share(c->in_channels, ETX_PATCHES / PACKED_LANES);
  // A patch that only a few rows read is not worth a copy.
  p->is_direct = p->rows <= FEW_ROWS && c->in.strides[2] == 1;
  // With few input or output channels, tiles are long rows and are stored as a
  // whole.
  const size_t by_channels = ETX_PATCHES / p->channels;
  const size_t by_rows = ETX_PATCH_SUMS / (size_t)p->rows;
  p->lanes = by_channels < by_rows ? by_channels : by_rows;
  p->lanes = p->lanes < MOST_PACKED ? p->lanes / GROUP * GROUP : MOST_PACKED;
  p->y.tile = p->y.tiles = 1;
  p->x.tile = (int64_t)p->lanes;
  p->x.tiles = etx_ceil_div(p->x.window.out, p->x.tile);
  p->pitch = p->lanes;
}

// Depthwise windows for which the instruction set has microkernels.
static etx_depthwise_loop windows_of(const etx_patch_plan* p) {
  const etx_window *y = &p->y.window, *x = &p->x.window;
  const int64_t kernel = x->kernel;
  if (p->c.in.strides[2] != 1 || y->kernel != kernel || kernel < 3 ||
      kernel > (int64_t)p->loops->max_depthwise_kernel || kernel % 2 == 0 ||
      y->dilation != 1 || x->dilation != 1 || y->stride != x->stride ||
      x->stride > (kernel == 7 ? 1 : 2)) {
    return NULL;
  }
  return p->loops->depthwise_planes;
}

// Tiles of one channel, as high as fits. Sums are stored directly as results.
static bool plan_plane(etx_patch_plan* p) {
  const int64_t width = p->x.window.out, high = p->y.window.out;
  int64_t height = high;
  if (p->c.in_channels != 1 || p->c.out_channels != 1 ||
      p->c.out.strides[2] != 1) {
    return false;
  }
  p->lanes = SIZE_MAX;
  for (int64_t tiles = 2; !size_patch(p, height, width); ++tiles) {
    if (height == 1) return false;
    height = etx_ceil_div(high, tiles);
  }
  p->y.tile = height;
  p->y.tiles = etx_ceil_div(high, height);
  p->x.tile = width;
  p->x.tiles = 1;
  p->rows = 1;
  p->channels = 1;
  find_offsets(p);
  p->is_plane = true;
  p->depthwise_planes = windows_of(p);
  return true;
}

static bool size_channels(etx_patch_plan* p) {
  share_sums(p);
  if (!size_tiles(p)) return false;
  const size_t by_patch = ETX_PATCHES / p->patch;
  const size_t by_taps = ETX_PATCH_TAPS / p->taps;
  const int64_t most = (int64_t)(by_patch < by_taps ? by_patch : by_taps);
  p->channels = (size_t)even_share(p->c.in_channels, most);
  find_offsets(p);
  return true;
}

// ------------------------------------------------ channels as lanes

// True if the channels of a tile evict each other from the caches.
static bool meets_in_caches(const etx_convolution* c) {
  return c->in.channel > 0 && c->in.channel % SAME_PLACES == 0 &&
         c->in_channels >= MANY_VALUES / c->in.channel &&
         c->out_channels >= MANY_RESULTS;
}

static bool suits_spots(const etx_patch_plan* p) {
  const etx_convolution* c = &p->c;
  const int64_t positions = c->out.sizes[1] * c->out.sizes[2];
  if (c->out.strides[2] != 1 ||
      (c->out.sizes[1] > 1 && !are_rows_dense(&c->out))) {
    return false;
  }
  if (c->has_panels) return true;
  if (p->is_packed && c->in.strides[2] != 1) return false;
  const bool has_many_taps = c->in_channels >= MANY_TAPS / (int64_t)p->taps;
  return c->out_channels >= LEAST_SPOT_CHANNELS &&
         (c->in_channels > 1 || has_many_taps) && positions >= LEAST_SPOTS &&
         (positions <= MOST_SPOTS || (p->is_packed && meets_in_caches(c)) ||
          (!p->is_packed && has_many_taps &&
           (p->is_direct || c->out.sizes[2] <= LANES ||
            (p->x.step > 1 && c->out_channels > ETX_CONV_OC_BLOCK))));
}

// The number of channels that can be read in place without evicting each other
// from L1: addresses that are a multiple of 4096 bytes apart share a cache set.
static int64_t count_places(const etx_convolution* c) {
  int64_t places = FIRST_CACHE_LINES;
  ptrdiff_t step = c->in.channel / GROUP;
  if (step == 0) return c->in_channels;
  for (; step % 2 == 0 && places > 1; step /= 2) places /= 2;
  return FIRST_CACHE_WAYS / 2 * places;
}

// True if nothing has to be copied: no window reaches out of the input, and
// enough channels can be read in place.
static bool lies_ready(const etx_patch_plan* p) {
  const etx_convolution* c = &p->c;
  for (size_t d = 1; d < ETX_SPATIAL; ++d) {
    const etx_window* w = &c->windows[d];
    const int64_t last =
        (w->out - 1) * w->stride + (w->kernel - 1) * w->dilation;
    if (w->padding != 0 || last >= w->in) return false;
  }
  const int64_t places = count_places(c);
  return places >= c->in_channels ||
         places >= ETX_CONV_OC_TAPS / 3 / (int64_t)p->taps;
}

// True if tiles of this size are enough to keep all threads busy.
static bool shares_spots(const etx_patch_plan* p, int64_t height,
                         int64_t width) {
  const etx_convolution* c = &p->c;
  const int64_t tiles = etx_ceil_div(p->y.window.out, height) *
                        etx_ceil_div(p->x.window.out, width);
  const int64_t blocks = etx_ceil_div(c->out_channels, ETX_CONV_OC_BLOCK);
  return p->thread_count == 1 || tiles * blocks * c->in.images * c->groups >=
                                     CONV_OC_ITEMS * (int64_t)p->thread_count;
}

// True if patches and sums of a tile fit.
static bool fits_spots(etx_patch_plan* p, int64_t height, int64_t width) {
  const int64_t positions = height * width;
  if (positions > ETX_CONV_OC_TILE) return false;
  if (!p->is_direct &&
      (!size_patch(p, height, width) ||
       (positions > FEW_SPOTS && p->patch > p->room / GROUP))) {
    return false;
  }
  return p->is_packed || positions <= MANY_SPOTS ||
         shares_spots(p, height, width);
}

// Tiles of whole rows, or of a part of one, as large as their patches and sums
// allow.
static bool size_spots(etx_patch_plan* p) {
  const int64_t wide = p->x.window.out, high = p->y.window.out;
  const int64_t most = p->is_direct   ? ETX_CONV_OC_TILE
                       : wide > LANES ? FEW_LANES
                                      : LANES;
  int64_t width = even_share(wide, most);
  int64_t height = width < wide ? 1 : high;
  p->lanes = SIZE_MAX;
  for (int64_t tiles = 2; !fits_spots(p, height, width);) {
    if (height > 1) {
      height = etx_ceil_div(high, tiles++);
    } else if ((p->c.has_panels || p->is_direct) && width > 1) {
      width = even_share(wide, width / 2);
    } else {
      return false;
    }
  }
  p->y.tile = height;
  p->y.tiles = etx_ceil_div(high, height);
  p->x.tile = width;
  p->x.tiles = etx_ceil_div(wide, width);
  return true;
}

// The number of output channels that share a tile: fewer if threads would be
// idle.
static void share_spots(etx_patch_plan* p) {
  const etx_convolution* c = &p->c;
  const int64_t positions = p->y.tile * p->x.tile;
  const int64_t fit = ETX_CONV_OC_SUMS /
                      (etx_ceil_div(positions, GROUP) * GROUP) /
                      ETX_CONV_OC_BLOCK;
  const int64_t tiles = p->y.tiles * p->x.tiles * c->in.images * c->groups;
  const int64_t blocks = etx_ceil_div(c->out_channels, ETX_CONV_OC_BLOCK);
  int64_t shares = etx_ceil_div(blocks, fit);
  if (p->thread_count > 1) {
    const int64_t wanted =
        etx_ceil_div(CONV_OC_ITEMS * (int64_t)p->thread_count, tiles);
    if (shares < wanted) shares = wanted < blocks ? wanted : blocks;
  }
  p->rows = etx_ceil_div(blocks, shares) * ETX_CONV_OC_BLOCK;
  if (p->rows > c->out_channels) p->rows = c->out_channels;
}

// Windows that are too large to be summed at once are split into parts: some
// rows, or a part of one row. A part then plays the role of a channel.
static bool split_windows(etx_patch_plan* p) {
  const size_t width = (size_t)p->x.window.kernel, whole = p->taps;
  size_t part = ETX_CONV_OC_TAPS;
  if (whole <= ETX_CONV_OC_TAPS) return true;
  while (whole % part != 0 || (part % width != 0 && width % part != 0)) --part;
  if (!p->is_direct || part < LEAST_PART) return false;
  p->parts = whole / part;
  p->taps = part;
  return true;
}

// Whole squares are transposed (transpose_pack_template.h) where that is
// possible.
static int64_t channels_of_spots(const etx_patch_plan* p) {
  if (p->parts > 1) return 1;
  const int64_t all = p->c.in_channels;
  const int64_t by_taps = ETX_CONV_OC_TAPS / (int64_t)p->taps;
  const int64_t by_patch = p->is_packed   ? by_taps
                           : p->is_direct ? count_places(&p->c)
                                          : (int64_t)(p->room / p->patch);
  const int64_t most = by_taps < by_patch ? by_taps : by_patch;
  const int64_t even = etx_ceil_div(even_share(all, most), GROUP) * GROUP;
  return even <= most ? even : most;
}

static bool plan_spots(etx_patch_plan* p) {
  const etx_patch_direction y = p->y, x = p->x;
  p->room = ETX_CONV_OC_PATCHES;
  p->is_direct = p->is_packed || lies_ready(p);
  p->y = without_phases(&y);
  p->x = without_phases(&x);
  if (!suits_spots(p) || !split_windows(p) || !size_spots(p)) {
    p->is_direct = false;
    p->taps *= p->parts;
    p->parts = 1;
    p->room = ETX_PATCHES;
    p->y = y;
    p->x = x;
    return false;
  }
  share_spots(p);
  p->channels = (size_t)channels_of_spots(p);
  p->has_channel_lanes = true;
  find_offsets(p);
  return true;
}

// ------------------------------------------------ sums in registers

// True if each thread should have output channels of its own, as layers do that
// work channel by channel: if input and output are small enough for each core's
// cache, and the input is not much larger than the output.
static bool suits_channel_shares(const etx_patch_plan* p) {
  const etx_convolution* c = &p->c;
  const int64_t in = c->in_channels, out = c->out_channels;
  const int64_t positions = c->out.sizes[2];
  return p->is_packed && c->groups == 1 &&
         ((positions <= FEW_POSITIONS && in <= out) ||
          (positions <= FEW_VALUES / (in > out ? in : out) && in <= 2 * out));
}

// The number of output channels of an item, if there are many threads.
static void share_points(etx_patch_plan* p, int64_t tiles) {
  const etx_convolution* c = &p->c;
  const int64_t blocks = etx_ceil_div(c->out_channels, POINT_CHANNELS);
  int64_t shares = 1;
  if (p->thread_count > 1) {
    int64_t wanted = etx_ceil_div(CONV_OC_ITEMS * (int64_t)p->thread_count,
                                  tiles * c->in.images * c->groups);
    p->splits_channels = suits_channel_shares(p);
    if (p->splits_channels && wanted < (int64_t)p->thread_count) {
      wanted = (int64_t)p->thread_count;
    }
    shares = wanted < blocks ? wanted : blocks;
  }
  p->rows = etx_ceil_div(blocks, shares) * POINT_CHANNELS;
  if (p->rows > c->out_channels) p->rows = c->out_channels;
}

// The share of computed lanes that are used.
static bool fills_lanes(int64_t positions) {
  return positions * 8 >= etx_ceil_div(positions, GROUP) * GROUP * 7;
}

// The number of vectors of each tile of a row of `vectors`; no tile has only
// one.
static int64_t share_of_points(const etx_convolution* c, int64_t vectors) {
  int64_t most = ETX_PATCHES / GROUP / c->in_channels;
  if (most < LEAST_POINTS) most = LEAST_POINTS;
  if (most > MOST_PACKED / GROUP) most = MOST_PACKED / GROUP;
  int64_t share = even_share(vectors, most);
  while (vectors % share == 1) ++share;
  return share;
}

static bool plan_packed_points(etx_patch_plan* p) {
  const etx_convolution* c = &p->c;
  const int64_t wide = p->x.window.out;
  if (!p->is_packed || c->in.strides[2] != 1 || wide <= GROUP ||
      !fills_lanes(wide) || meets_in_caches(c)) {
    return false;
  }
  p->y.tile = p->y.tiles = 1;
  p->x.tile = share_of_points(c, etx_ceil_div(wide, GROUP)) * GROUP;
  p->x.tiles = etx_ceil_div(wide, p->x.tile);
  p->lanes = (size_t)p->x.tile;
  p->channels =
      c->in_channels < ETX_PATCH_TAPS ? (size_t)c->in_channels : ETX_PATCH_TAPS;
  p->is_direct = true;
  find_offsets(p);
  return true;
}

// Few channels, all of whose patches exist at once: a row of results is a line,
// or a part of a line.
static bool plan_rows_of_points(etx_patch_plan* p) {
  const etx_convolution* c = &p->c;
  const int64_t wide = p->x.window.out, high = p->y.window.out;
  const size_t channels = (size_t)c->in_channels;
  if (p->is_packed || wide <= GROUP || !fills_lanes(wide) ||
      channels > ETX_PATCH_TAPS / p->taps) {
    return false;
  }
  p->lanes = SIZE_MAX;
  int64_t height = high, width = wide;
  for (int64_t tiles = 2;
       !size_patch(p, height, width) || p->patch > ETX_PATCHES / channels;
       ++tiles) {
    height = etx_ceil_div(high, tiles);
    if (high > 1 && height == 1) return false;
    if (high == 1) width = etx_ceil_div(wide, tiles * GROUP) * GROUP;
    if (width <= 2 * GROUP || (wide - 1) % width < GROUP) return false;
  }
  p->y.tile = height;
  p->y.tiles = etx_ceil_div(high, height);
  p->x.tile = width;
  p->x.tiles = etx_ceil_div(wide, width);
  p->channels = channels;
  find_offsets(p);
  return true;
}

static bool plan_points(etx_patch_plan* p) {
  if (p->loops->conv_pixel == NULL || p->c.out.strides[2] != 1 ||
      p->c.out_channels % POINT_CHANNELS != 0) {
    return false;
  }
  if (!plan_packed_points(p) && !plan_rows_of_points(p)) return false;
  share_points(p, p->y.tiles * p->x.tiles);
  p->keeps_sums = true;
  return true;
}

bool etx_patch_plan_start(etx_patch_plan* p,
                          const etx_convolution* convolution) {
  p->c = *convolution;
  etx_convolution* c = &p->c;
  const etx_window* z = &c->windows[0];
  const bool is_flat = z->in == 1 && z->out == 1 && z->kernel == 1 &&
                       z->stride == 1 && z->padding == 0;
  if (!is_flat || c->in.dtype != ETX_DTYPE_FLOAT32 || c->in_channels == 0 ||
      c->weight.dtype != ETX_DTYPE_FLOAT32 || !are_weights_dense(c)) {
    return false;
  }
  join_rows(c);
  if (!start_direction(&p->y, &c->windows[1]) ||
      !start_direction(&p->x, &c->windows[2])) {
    return false;
  }
  p->room = ETX_PATCHES;
  p->taps = (size_t)(p->y.window.kernel * p->x.window.kernel);
  p->parts = 1;
  if (p->taps == 0) return false;
  p->is_packed = is_pointwise(c) && c->out.sizes[1] == 1 && c->in_channels > 1;
  const bool has_phases =
      p->taps <= ETX_PATCH_TAPS && find_phases(&p->y) && find_phases(&p->x);
  if (has_phases && !c->has_panels && (plan_plane(p) || plan_points(p))) {
    // Nothing else is to be done.
  } else if (plan_spots(p)) {
    // These plans need no further choices either.
  } else if (!has_phases || c->has_panels) {
    return false;
  } else if (p->is_packed) {
    pack_tiles(p);
  } else if (!size_channels(p)) {
    return false;
  }
  p->row_blocks = etx_ceil_div(c->out_channels, p->rows);
  p->has_many_weights =
      c->out_channels >
      NEAR_WEIGHTS / (int64_t)(p->taps * p->parts) / c->in_channels;
  p->store = etx_chain_store_of(c->chain);
  return true;
}
