// Direct convolution, without copying each input element once for every tap.
// The patch of each input channel that a tile of output positions reads
// (patch_plan.h) is copied to a thread's tile with zeros around it, a few
// channels at a time. 1 x 1 windows and, if the instruction set has
// microkernels for them, depthwise windows of 3 x 3 to 7 x 7 read the input in
// place.
//
// Taps are added in the order of the weights, as everywhere (implicit_gemm.h).

#include "runtime/kernels/convolution/convolution_variants.h"
#include "runtime/kernels/convolution/patch_plan.h"
#include "runtime/kernels/core/thread_tiles.h"

enum {
  COPIES = ETX_PATCH_PHASES * ETX_PATCH_PHASES,
  // The most results that are still in L1 when a chain reads them.
  CHAIN_ELEMENTS = 4096,
};

// The elements of a channel that a phase reads, and their location in its
// patch.
typedef struct placed_copy {
  etx_row_copy copy;
  ptrdiff_t from, to;
} placed_copy;

// The output positions of a tile, and the inputs that they read.
typedef struct patch_tile {
  int64_t y, x;
  size_t height, width;
  etx_patch_piece rows[ETX_PATCH_PHASES], columns[ETX_PATCH_PHASES];
  placed_copy copies[COPIES];
  size_t copy_count;
} patch_tile;

// The working data of one thread.
typedef struct patch_workspace {
  const etx_patch_plan* p;
  float* patches;
  float* sums;
  float* packed;        // transposed weights where lanes are channels
  size_t sum_row;       // floats between positions where lanes are channels
  etx_row_store store;  // for the tile; the channel is set later
  patch_tile t;
  // The position of the current item: block of output channels, column and row
  // of the tile, group, image.
  int64_t block, column, row, group, image;
} patch_workspace;

// ------------------------------------------------ patches

// Sets the existing elements of one phase of a channel.
static void place_copy(patch_workspace* d, size_t a, size_t b) {
  const etx_patch_plan* p = d->p;
  patch_tile* t = &d->t;
  const etx_patch_piece *y = &t->rows[a], *x = &t->columns[b];
  const ptrdiff_t row = p->c.in.strides[1], step = p->c.in.strides[2];
  if (y->begin == y->end || x->begin == x->end) return;
  const ptrdiff_t first_row =
      (ptrdiff_t)y->first + (ptrdiff_t)y->begin * (ptrdiff_t)y->stride;
  const ptrdiff_t first =
      (ptrdiff_t)x->first + (ptrdiff_t)x->begin * (ptrdiff_t)x->stride;
  t->copies[t->copy_count++] =
      (placed_copy){.copy = {.from_row = (ptrdiff_t)y->stride * row,
                             .step = (ptrdiff_t)x->stride * step,
                             .to_row = (ptrdiff_t)p->pitch,
                             .rows = y->end - y->begin,
                             .count = x->end - x->begin},
                    .from = first_row * row + first * step,
                    .to = (ptrdiff_t)((a * p->x.phases + b) * p->phase +
                                      y->begin * p->pitch + x->begin)};
}

// Clears the rows outside the input in all patches. The zeros before and after
// rows are already there.
static void clear_rows(const patch_workspace* d, size_t a, size_t b) {
  const etx_patch_plan* p = d->p;
  const etx_patch_piece* y = &d->t.rows[a];
  float* to = d->patches + (a * p->x.phases + b) * p->phase;
  for (size_t i = 0; i < p->channels; ++i, to += p->patch) {
    memset(to, 0, y->begin * p->pitch * sizeof(float));
    memset(to + y->end * p->pitch, 0,
           (y->count - y->end) * p->pitch * sizeof(float));
  }
}

// A tile with fewer rows than others keeps the locations of the rows.
static void place_copies(patch_workspace* d) {
  const etx_patch_plan* p = d->p;
  d->t.copy_count = 0;
  if (p->is_packed || p->is_direct || p->depthwise_planes != NULL) return;
  for (size_t a = 0; a < p->y.phases; ++a) {
    for (size_t b = 0; b < p->x.phases; ++b) {
      clear_rows(d, a, b);
      place_copy(d, a, b);
    }
  }
}

// Copies the patch of one channel.
static void copy_patch(const patch_workspace* d, const float* channel,
                       float* patch) {
  for (size_t i = 0; i < d->t.copy_count; ++i) {
    const placed_copy* placed = &d->t.copies[i];
    etx_row_copy copy = placed->copy;
    copy.from = channel + placed->from;
    copy.to = patch + placed->to;
    d->p->loops->copy_rows(&copy);
  }
}

static void copy_patches(const patch_workspace* d, const float* in,
                         size_t count) {
  for (size_t i = 0; i < count; ++i) {
    copy_patch(d, in + (ptrdiff_t)i * d->p->c.in.channel,
               d->patches + i * d->p->patch);
  }
}

// Packs the patch of channel `index` of `channels`.
static void pack_channel(const etx_patch_plan* p, const patch_tile* t,
                         const float* channel, size_t index, size_t channels,
                         float* patches) {
  const ptrdiff_t step = p->c.in.strides[2];
  etx_row_copy copy = {.from = channel + (ptrdiff_t)t->x * step,
                       .from_row = ETX_PATCH_GROUP * step,
                       .step = step,
                       .to = patches + index * ETX_PATCH_GROUP,
                       .to_row = (ptrdiff_t)(channels * ETX_PATCH_GROUP),
                       .rows = t->width / ETX_PATCH_GROUP,
                       .count = ETX_PATCH_GROUP};
  p->loops->copy_rows(&copy);
  copy.count = t->width % ETX_PATCH_GROUP;
  if (copy.count == 0) return;
  copy.from += (ptrdiff_t)copy.rows * copy.from_row;
  copy.to += (ptrdiff_t)copy.rows * copy.to_row;
  copy.rows = 1;
  p->loops->copy_rows(&copy);
}

// ------------------------------------------------ tiles

// Computes the sums of some output channels of a group at a tile.
static void sum_tile(const patch_workspace* d, const float* in,
                     const float* weights, size_t rows) {
  const etx_patch_plan* p = d->p;
  const patch_tile* t = &d->t;
  const etx_convolution* c = &p->c;
  const size_t all = (size_t)c->in_channels;
  for (size_t first = 0; first < all; first += p->channels) {
    const size_t left = all - first;
    const size_t count = left < p->channels ? left : p->channels;
    const bool is_there = p->is_direct && t->width % ETX_PATCH_GROUP == 0;
    const float* const there = in + (ptrdiff_t)first * c->in.channel;
    for (size_t i = 0; i < count && !is_there; ++i) {
      const float* channel = there + (ptrdiff_t)i * c->in.channel;
      if (p->is_packed) {
        pack_channel(p, t, channel, i, count, d->patches);
      } else {
        copy_patch(d, channel, d->patches + i * p->patch);
      }
    }
    const etx_gemm_block b = {
        .sums = d->sums,
        .sum_row = (ptrdiff_t)p->lanes,
        .weights = weights + first * p->taps,
        .weight_row = c->weight_out,
        .panel = is_there ? there + (ptrdiff_t)t->x : d->patches,
        .panel_row = is_there ? c->in.channel : ETX_PATCH_GROUP,
        .panel_group =
            (ptrdiff_t)(p->is_packed && !is_there ? count * ETX_PATCH_GROUP
                                                  : ETX_PATCH_GROUP),
        .offsets = p->is_packed ? NULL : p->offsets,
        .rows = rows,
        .taps = count * p->taps,
        .lanes = (t->height - 1) * p->pitch + t->width,
        .starts = first == 0,
        .fetches = p->has_many_weights};
    p->loops->gemm_by_type[ETX_COMPUTE_F32](&b);
  }
}

// The address of a channel's results at the tile.
static float* out_of(const patch_workspace* d, int64_t channel) {
  const etx_volumes* out = &d->p->c.out;
  return (float*)(void*)out->data + (ptrdiff_t)d->image * out->image +
         (ptrdiff_t)channel * out->channel +
         (ptrdiff_t)d->t.y * out->strides[1] +
         (ptrdiff_t)d->t.x * out->strides[2];
}

static float bias_of(const patch_workspace* d, int64_t channel) {
  const etx_tensor* bias = d->p->c.bias;
  if (bias == NULL) return -0.0f;
  return ((const float*)bias->data)[(ptrdiff_t)channel * bias->strides[0]];
}

// The operand that is added to the results that begin at `out`; NULL: none.
static const float* added_to(const patch_workspace* d, const float* out) {
  const etx_convolution* c = &d->p->c;
  return etx_chain_store_added(&d->p->store, c->chain,
                               (const float*)(const void*)c->out.data, out);
}

// Computes the rest of the chain on a tile's results in some channels. Whole
// planes are one row, because short rows cost more to set up than to compute.
static void run_chain(const patch_workspace* d, int64_t channel,
                      size_t channels, float* out) {
  const etx_convolution* c = &d->p->c;
  const patch_tile* t = &d->t;
  if (c->chain == NULL || d->p->store.is_all) return;
  const size_t width = (size_t)c->out.sizes[2], area = t->height * t->width;
  size_t plane = (size_t)(d->image * c->out.channels + channel);
  if (area == (size_t)c->out.channel) {
    etx_chain_run(c->chain, out, out, plane, 0, channels * area);
    return;
  }
  const size_t at = (size_t)t->y * width + (size_t)t->x;
  for (size_t i = 0; i < channels; ++i, ++plane, out += c->out.channel) {
    if (t->width == width) {
      etx_chain_run(c->chain, out, out, plane, at, area);
      continue;
    }
    for (size_t y = 0; y < t->height; ++y) {
      etx_chain_run(c->chain, out + y * width, out + y * width, plane,
                    at + y * width, t->width);
    }
  }
}

// Stores the results of one channel from its sums at the tile.
static void store_tile(const patch_workspace* d, const float* sums,
                       int64_t channel) {
  const etx_patch_plan* p = d->p;
  const patch_tile* t = &d->t;
  const ptrdiff_t row = p->c.out.strides[1], column = p->c.out.strides[2];
  float* out = out_of(d, channel);
  if (column == 1) {
    etx_row_store store = d->store;
    store.sums = sums;
    store.out = out;
    store.bias = bias_of(d, channel);
    store.added = added_to(d, out);
    p->loops->store_rows(&store);
    return;
  }
  const float bias = bias_of(d, channel);
  for (size_t y = 0; y < t->height; ++y, out += row, sums += p->pitch) {
    for (size_t x = 0; x < t->width; ++x) {
      out[(ptrdiff_t)x * column] = sums[x] + bias;
    }
  }
}

// ------------------------------------------------ items

static void start_tile(patch_workspace* d) {
  place_copies(d);
  d->store = (etx_row_store){.sum_row = (ptrdiff_t)d->p->pitch,
                             .out_row = d->p->c.out.strides[1],
                             .rows = d->t.height,
                             .count = d->t.width,
                             .below = d->p->store.below,
                             .low = d->p->store.low,
                             .high = d->p->store.high};
}

static void start_row(patch_workspace* d) {
  const etx_patch_direction* y = &d->p->y;
  patch_tile* t = &d->t;
  t->y = d->row * y->tile;
  const int64_t left = y->window.out - t->y;
  t->height = (size_t)(left < y->tile ? left : y->tile);
  for (size_t i = 0; i < y->phases; ++i) {
    t->rows[i] = etx_patch_piece_of(y, i, t->y, t->height);
  }
}

// Lanes that do not exist read the memory after the last patch.
static void start_column(patch_workspace* d) {
  const etx_patch_plan* p = d->p;
  const etx_patch_direction* x = &p->x;
  patch_tile* t = &d->t;
  t->x = d->column * x->tile;
  const int64_t left = x->window.out - t->x;
  t->width = (size_t)(left < x->tile ? left : x->tile);
  for (size_t i = 0; i < x->phases; ++i) {
    t->columns[i] = etx_patch_piece_of(x, i, t->x, t->width);
  }
  if ((p->is_direct && (p->has_channel_lanes || p->keeps_sums)) ||
      p->depthwise_planes != NULL) {
    return;
  }
  if (!p->is_packed) {
    memset(d->patches, 0,
           (p->patch * p->channels + ETX_PATCH_BEHIND) * sizeof(float));
  } else if (t->width < p->lanes) {
    memset(d->patches, 0, ETX_PATCHES * sizeof(float));
  }
}

// Depthwise windows of up to `most` channels from the current one on: as many
// as have whole planes as tiles; with a chain only as many as stay in cache
// until it runs. Returns the number of channels.
static size_t run_windows(const patch_workspace* d, const float* in,
                          const float* weights, size_t most) {
  const etx_patch_plan* p = d->p;
  const etx_convolution* c = &p->c;
  const etx_window *y = &p->y.window, *x = &p->x.window;
  const bool is_stored = c->chain == NULL || p->store.is_all;
  const bool is_whole = p->y.tiles == 1 && p->x.tiles == 1;
  const size_t kept = CHAIN_ELEMENTS / (d->t.height * d->t.width);
  size_t count = is_whole ? (size_t)(c->groups - d->group) : 1;
  if (!is_stored && count > kept) count = kept > 0 ? kept : 1;
  if (count > most) count = most;
  etx_depthwise_planes planes = {
      .store = d->store,
      .planes = count,
      .out_plane = c->out.channel,
      .weights = weights,
      .weight_plane = c->weight_group,
      .in = in,
      .in_plane = c->in.channel,
      .in_row = c->in.strides[1],
      .in_rows = (ptrdiff_t)y->in,
      .in_columns = (ptrdiff_t)x->in,
      .row = (ptrdiff_t)etx_window_start(y, d->t.y),
      .column = (ptrdiff_t)etx_window_start(x, d->t.x),
      .stride = (ptrdiff_t)x->stride,
      .kernel = (ptrdiff_t)x->kernel};
  float* out = out_of(d, d->group);
  planes.store.out = out;
  planes.store.added = added_to(d, out);
  if (c->bias != NULL) {
    planes.bias_step = c->bias->strides[0];
    planes.bias =
        (const float*)c->bias->data + (ptrdiff_t)d->group * planes.bias_step;
  }
  p->depthwise_planes(&planes);
  run_chain(d, d->group, count, out);
  return count;
}

static void run_plane(const patch_workspace* d, const float* in,
                      const float* weights) {
  const etx_patch_plan* p = d->p;
  etx_depthwise_row plane = {.store = d->store,
                             .weights = weights,
                             .offsets = p->offsets,
                             .taps = p->taps};
  copy_patch(d, in, d->patches);
  plane.store.sums = d->patches;
  plane.store.out = out_of(d, d->group);
  plane.store.bias = bias_of(d, d->group);
  plane.store.added = added_to(d, plane.store.out);
  p->loops->depthwise_row(&plane);
  run_chain(d, d->group, 1, plane.store.out);
}

// ------------------------------------------------ sums in registers

static void run_points(const patch_workspace* d, const float* in,
                       const float* weights, size_t rows, int64_t channel) {
  const etx_patch_plan* p = d->p;
  const etx_convolution* c = &p->c;
  const size_t all = (size_t)c->in_channels;
  etx_conv_pixels points = {.store = d->store,
                            .out_channel = c->out.channel,
                            .channels = rows,
                            .weights = weights,
                            .weight_row = c->weight_out,
                            .offsets = p->offsets,
                            .taps = p->channels * p->taps,
                            .pieces = (all + p->channels - 1) / p->channels,
                            .piece = (ptrdiff_t)p->channels * c->in.channel};
  points.last_taps = (all - (points.pieces - 1) * p->channels) * p->taps;
  points.store.sums = d->patches;
  if (p->is_packed) {
    points.store.sums = in + (ptrdiff_t)d->t.x;
  } else {
    copy_patches(d, in, all);
  }
  points.store.out = out_of(d, channel);
  points.store.added = added_to(d, points.store.out);
  if (c->bias != NULL) {
    points.bias_step = c->bias->strides[0];
    points.bias =
        (const float*)c->bias->data + (ptrdiff_t)channel * points.bias_step;
  }
  p->loops->conv_pixel(&points);
  run_chain(d, channel, rows, points.store.out);
}

// ------------------------------------------------ channels as lanes

static void conv_oc_store(const patch_workspace* d, size_t row, size_t count,
                          int64_t channel) {
  const etx_patch_plan* p = d->p;
  float bias[ETX_PATCH_GROUP];
  etx_conv_oc_store s = {.store = d->store,
                         .out_channel = p->c.out.channel,
                         .bias = bias,
                         .channels = count};
  float* const out = out_of(d, channel);
  s.store.sums = d->sums + row;
  s.store.sum_row = (ptrdiff_t)d->sum_row;
  s.store.out = out;
  s.store.added = added_to(d, out);
  s.store.count = d->t.height * d->t.width;
  for (size_t i = 0; i < count; ++i) bias[i] = bias_of(d, channel + (int64_t)i);
  p->loops->conv_oc_store(&s);
  run_chain(d, channel, count, out);
}

// Prefetches the operand that is added to the results, or the results' own
// lines.
static void prefetch_results(const patch_workspace* d, int64_t channel,
                             size_t channels, etx_conv_oc* s) {
  const float* const out = out_of(d, channel);
  const float* const added = added_to(d, out);
  s->ahead = (const char*)(added == NULL ? out : added);
  s->ahead_row = d->p->c.out.channel * (ptrdiff_t)sizeof(float);
  s->ahead_rows = channels;
}

// The input of the first tap of a part of a channel's windows.
static ptrdiff_t place_of_part(const etx_patch_plan* p, size_t part) {
  const etx_volumes* in = &p->c.in;
  const size_t channel = part / p->parts;
  const size_t tap = part % p->parts * p->taps;
  const size_t width = (size_t)p->x.window.kernel;
  return (ptrdiff_t)channel * in->channel +
         (ptrdiff_t)(tap / width) * (ptrdiff_t)p->y.window.dilation *
             in->strides[1] +
         (ptrdiff_t)(tap % width) * (ptrdiff_t)p->x.window.dilation *
             in->strides[2];
}

// Weights are transposed a few taps and channels at a time, unless they are
// given as panels, which stay in L1 for all positions.
static __attribute__((noinline)) void run_spots(patch_workspace* d,
                                                const float* in,
                                                const float* weights,
                                                size_t rows, int64_t channel) {
  float* const packed = d->packed;
  ptrdiff_t places[ETX_CONV_OC_TILE], weight_places[ETX_CONV_OC_TAPS];
  enum { GROUP = ETX_PATCH_GROUP };
  const etx_patch_plan* p = d->p;
  const etx_convolution* c = &p->c;
  // The distance between the inputs of neighbouring positions.
  ptrdiff_t down = (ptrdiff_t)(p->pitch * p->y.step);
  ptrdiff_t across = (ptrdiff_t)p->x.step;
  if (p->is_direct) {
    down = c->in.strides[1] * (ptrdiff_t)p->y.window.stride;
    across = c->in.strides[2] * (ptrdiff_t)p->x.window.stride;
    in += (ptrdiff_t)d->t.y * down + (ptrdiff_t)d->t.x * across;
  }
  for (size_t y = 0, i = 0; y < d->t.height; ++y) {
    for (size_t x = 0; x < d->t.width; ++x) {
      places[i++] = (ptrdiff_t)y * down + (ptrdiff_t)x * across;
    }
  }
  for (ptrdiff_t k = 0; k < ETX_CONV_OC_TAPS; ++k) weight_places[k] = k * GROUP;
  const size_t all = (size_t)c->in_channels * p->parts;
  const size_t weight_part = p->taps * (c->has_panels ? GROUP : 1);
  d->sum_row = (rows + GROUP - 1) / GROUP * GROUP;
  for (size_t first = 0; first < all; first += p->channels) {
    const size_t left = all - first;
    const size_t count = left < p->channels ? left : p->channels;
    const size_t taps = count * p->taps;
    const float* input = in + place_of_part(p, first);
    if (!p->is_direct) {
      copy_patches(d, input, count);
      input = d->patches;
    }
    for (size_t row = 0, some; row < rows; row += some) {
      some = rows - row < ETX_CONV_OC_BLOCK ? rows - row : ETX_CONV_OC_BLOCK;
      const float* const from =
          weights + (ptrdiff_t)row * c->weight_out + first * weight_part;
      const float* const next = row + some < rows
                                    ? from + (ptrdiff_t)some * c->weight_out
                                    : weights + (first + count) * weight_part;
      const bool has_next = row + some < rows || count < left;
      const size_t groups = (some + GROUP - 1) / GROUP;
      for (size_t at = 0; at < some && !c->has_panels; at += GROUP) {
        p->loops->transpose_pack(
            from + (ptrdiff_t)at * c->weight_out, c->weight_out,
            some - at < GROUP ? some - at : GROUP, taps, packed + at * taps);
      }
      etx_conv_oc s = {
          .input = input,
          .places = places,
          .offsets = p->offsets,
          .weights = c->has_panels ? from : packed,
          .weight_group =
              GROUP * (c->has_panels ? c->weight_out : (ptrdiff_t)taps),
          .weight_places = weight_places,
          .weight_prefetch = c->has_panels ? next - from : 0,
          .sums = d->sums + row,
          .sum_row = (ptrdiff_t)d->sum_row,
          .positions = d->t.height * d->t.width,
          .taps = taps,
          .groups = groups,
          .starts = first == 0,
          .ahead = (const char*)next,
          .ahead_row = c->weight_out * (ptrdiff_t)sizeof(float),
          .ahead_rows = has_next && !c->has_panels ? some : 0};
      if (row + some == rows && count == left) {
        prefetch_results(d, channel + (int64_t)row, some, &s);
      }
      p->loops->conv_oc(&s);
    }
  }
  for (size_t row = 0; row < rows; row += GROUP) {
    conv_oc_store(d, row, rows - row < GROUP ? rows - row : GROUP,
                  channel + (int64_t)row);
  }
}

// Computes the current item and, for small items, up to `most` items from it
// on. Returns the number of items.
static size_t run_item(patch_workspace* d, size_t most) {
  const etx_patch_plan* p = d->p;
  const etx_convolution* c = &p->c;
  const int64_t first = d->block * p->rows, left = c->out_channels - first;
  const size_t rows = (size_t)(left < p->rows ? left : p->rows);
  const float* in = (const float*)(const void*)c->in.data +
                    (ptrdiff_t)d->image * c->in.image +
                    (ptrdiff_t)(d->group * c->in_channels) * c->in.channel;
  const float* weights = (const float*)(const void*)c->weight.data +
                         (ptrdiff_t)d->group * c->weight_group +
                         (ptrdiff_t)first * c->weight_out;
  if (p->depthwise_planes != NULL) return run_windows(d, in, weights, most);
  if (p->is_plane) {
    run_plane(d, in, weights);
    return 1;
  }
  const int64_t channel = d->group * c->out_channels + first;
  if (p->keeps_sums) {
    run_points(d, in, weights, rows, channel);
    return 1;
  }
  if (p->has_channel_lanes) {
    run_spots(d, in, weights, rows, channel);
    return 1;
  }
  sum_tile(d, in, weights, rows);
  for (size_t r = 0; r < rows; ++r) {
    store_tile(d, d->sums + r * p->lanes, channel + (int64_t)r);
  }
  run_chain(d, channel, rows, out_of(d, channel));
  return 1;
}

// Advances to the next item, without division, because small items are many.
static void next_item(patch_workspace* d) {
  const etx_patch_plan* p = d->p;
  if (!p->splits_channels && ++d->block < p->row_blocks) return;
  if (!p->splits_channels) d->block = 0;
  if (++d->column < p->x.tiles) {
    start_column(d);
    start_tile(d);
    return;
  }
  d->column = 0;
  if (++d->row == p->y.tiles) {
    d->row = 0;
    if (p->splits_channels && ++d->block < p->row_blocks) {
      // The next item has the same image.
    } else if (++d->group == p->c.groups) {
      d->block = 0;
      d->group = 0;
      ++d->image;
    }
  }
  if (p->y.tiles == 1 && p->x.tiles == 1) return;
  if (p->x.tiles > 1) start_column(d);
  start_row(d);
  start_tile(d);
}

// The parts of a thread's tile.
typedef struct patch_tile_memory {
  float *patches, *sums, *packed;
} patch_tile_memory;

// Items are tiles of groups of images, and blocks of output channels of each.
static void run_some(const etx_patch_plan* p, size_t first, size_t end,
                     const patch_tile_memory* memory) {
  const int64_t item = (int64_t)first, tiles = p->y.tiles * p->x.tiles;
  const int64_t image = tiles * p->row_blocks, place = item % image;
  const int64_t number = p->splits_channels
                             ? item / image * tiles + place % tiles
                             : item / p->row_blocks;
  const int64_t row = number / p->x.tiles, group = row / p->y.tiles;
  patch_workspace d = {
      .p = p,
      .patches = memory->patches,
      .sums = memory->sums,
      .packed = memory->packed,
      .block = p->splits_channels ? place / tiles : item % p->row_blocks,
      .column = number % p->x.tiles,
      .row = row % p->y.tiles,
      .group = group % p->c.groups,
      .image = group / p->c.groups};
  start_row(&d);
  start_column(&d);
  start_tile(&d);
  for (size_t i = first; i < end;) {
    for (size_t done = run_item(&d, end - i); done > 0; --done, ++i) {
      next_item(&d);
    }
  }
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

static size_t round_up(size_t count, size_t step) {
  return (count + step - 1) / step * step;
}

// Floats of the sums of channels as lanes, and of their transposed weights: the
// limits, or less if the convolution has no more.
static size_t spot_sums(const etx_convolution* c) {
  const size_t positions =
      (size_t)(c->out.sizes[0] * c->out.sizes[1] * c->out.sizes[2]);
  const size_t channels = round_up((size_t)c->out_channels, ETX_CONV_OC_BLOCK);
  const size_t most = ETX_CONV_OC_SUMS;
  if (positions > most || channels > most) return most;
  return smaller(round_up(positions, ETX_PATCH_GROUP) * channels, most);
}
static size_t spot_weights(const etx_convolution* c) {
  const int64_t taps = c->in_channels * c->weight.sizes[0] *
                       c->weight.sizes[1] * c->weight.sizes[2];
  const size_t channels = round_up((size_t)c->out_channels, ETX_PATCH_GROUP);
  if (c->has_panels) return 0;
  return smaller(channels, ETX_CONV_OC_BLOCK) *
         smaller((size_t)taps, ETX_CONV_OC_TAPS);
}

// The floats that both kinds of tiles have: patches of spots are larger.
enum {
  SPOT_PATCHES = ETX_CONV_OC_PATCHES + ETX_PATCH_BEHIND,
  LANE_PATCHES = ETX_PATCHES + ETX_PATCH_BEHIND,
};

size_t etx_convolution_patches_tile(const etx_convolution* c) {
  const size_t spots = SPOT_PATCHES + spot_sums(c) + spot_weights(c);
  const size_t lanes = (size_t)LANE_PATCHES + ETX_PATCH_SUMS;
  return (spots > lanes ? spots : lanes) * sizeof(float);
}

static void run_items(const void* context, void* tile, size_t first,
                      size_t end) {
  const etx_patch_plan* p = context;
  float* const patches = tile;
  patch_tile_memory memory = {.patches = patches,
                              .sums = patches + LANE_PATCHES};
  if (p->has_channel_lanes) {
    memory.sums = patches + SPOT_PATCHES;
    memory.packed = memory.sums + spot_sums(&p->c);
  }
  run_some(p, first, end, &memory);
}

bool etx_convolution_patches(const etx_convolution* convolution,
                             const etx_parallel* parallel, void* temporary) {
  etx_patch_plan p = {
      .loops = etx_f32_microkernels_of(
          etx_instruction_set_within(parallel->instruction_set)),
      .thread_count = parallel->thread_count};
  if (convolution->transposed || !etx_patch_plan_start(&p, convolution)) {
    return false;
  }
  const etx_convolution* c = &p.c;
  const int64_t tiles = p.y.tiles * p.x.tiles;
  const int64_t items = c->in.images * c->groups * tiles * p.row_blocks;
  const double work = (double)(c->in.images * c->groups * c->out_channels) *
                      (double)(c->in_channels * c->out.sizes[1]) *
                      (double)c->out.sizes[2] * (double)(p.taps * p.parts);
  const etx_thread_tiles workspaces = {
      temporary, etx_convolution_patches_tile(convolution)};
  etx_parallel_for_tiled(parallel, (size_t)items, work, run_items, &p,
                         &workspaces);
  return true;
}
