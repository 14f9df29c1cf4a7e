// Convolution without copying each input element once for every tap: a tile of
// result positions sees a patch of each input channel, which is copied to the
// stack with the zeros around it, a few channels at a time. Positions are
// counted along the patch's rows,
//
//         pitch                 result 2 stands for a position that does not
//     .-----------.             exist, nor do those between two rows: they are
//     | 0 1 (2)   |             computed, too, and not stored
//     | 3 4       |
//     '-----------'
//
// so that what a tap sees of all positions lies side by side, at an offset that
// is the tap's own. With strides, the patch is cut into phases: elements that
// lie a stride apart are neighbours.
//
// Taps are summed in the order of the weights, as everywhere (panel.h).

#include "runtime/kernels/convolution_internal.h"
#include "runtime/kernels/panel.h"
#include "runtime/kernels/panel_loops.h"
#include "runtime/kernels/shares.h"
#include "runtime/kernels/short_copy.h"

enum {
  PATCHES = 8192,  // floats of the patches that exist at a time
  BEHIND = 64,     // floats that are read behind them
  // Positions of a tile, those that do not exist included, and result channels
  // that share its patches: a few positions more or many channels more.
  LANES = 256,
  FEW_LANES = 128,
  SUMS = LANES * 64,
  FEW_TAPS = 64,  // whose sums are done at once: as many positions as fit
  TAPS = 256,     // that are summed at a time
  PHASES = 4,     // in each direction
  GROUP = ETX_PANEL_GROUP_BYTES / 4,
};

// One direction. Tap t sees phase t dilation mod stride, or rather the number
// that phase has among those that are seen.
typedef struct direction {
  etx_window window;
  size_t phases;
  int64_t first[PHASES];  // of each phase: what its first tap is beside 0
  size_t extra;           // elements of a phase that positions do not count
  int64_t tile;           // result positions of a tile
  int64_t tiles;
} direction;

typedef struct plan {
  const etx_convolution* c;
  const etx_panel_loops* loops;
  direction y, x;
  size_t pitch, phase, patch;  // elements of a row, a phase, a channel's patch
  size_t taps;                 // of a channel
  size_t channels;             // whose patches exist at a time
  size_t lanes;                // of a tile, at most
  int64_t rows, row_blocks;    // result channels that share patches
  ptrdiff_t offsets[TAPS];
} plan;

// Elements of one phase in one direction: number i is input first + i stride,
// and those from `begin` up to `end` exist.
typedef struct piece {
  int64_t first, stride;
  size_t begin, end, count;
} piece;

// A tile's result positions, and what they see.
typedef struct tile {
  int64_t y, x;
  size_t height, width;
  piece rows[PHASES], columns[PHASES];
} tile;

// ------------------------------------------------ planning

// The phase of a tap; it is added if it is new.
static size_t phase_of(direction* d, int64_t tap) {
  const int64_t first = tap * d->window.dilation % d->window.stride;
  size_t i = 0;
  while (i < d->phases && d->first[i] != first) ++i;
  if (i == d->phases && i < PHASES) d->first[d->phases++] = first;
  return i;
}

static bool start_direction(direction* d, const etx_window* window) {
  enum { MOST = 1 << 20 };
  *d = (direction){.window = *window};
  if (window->kernel > TAPS || window->stride > MOST ||
      window->dilation > MOST) {
    return false;
  }
  for (int64_t tap = 0; tap < window->kernel; ++tap) {
    if (phase_of(d, tap) == PHASES) return false;
  }
  d->extra = (size_t)((window->kernel - 1) * window->dilation / window->stride);
  return d->extra < PATCHES;
}

// Sizes of a patch for tiles of `height` times `width`; false if it is too
// large.
static bool size_patch(plan* p, int64_t height, int64_t width) {
  p->pitch = (size_t)width + p->x.extra;
  p->phase = ((size_t)height + p->y.extra) * p->pitch;
  p->patch = p->phase * p->y.phases * p->x.phases;
  return p->patch <= PATCHES &&
         ((size_t)height - 1) * p->pitch + (size_t)width <= p->lanes;
}

static int64_t even_share(int64_t size, int64_t most) {
  return etx_divide_up(size, etx_divide_up(size, most));
}

static size_t lanes_of(const plan* p, size_t height, size_t width) {
  const size_t lanes = (height - 1) * p->pitch + width;
  return lanes + -lanes % GROUP;
}

// As wide as the result, or as fits; then as high as wastes least.
static bool size_tiles(plan* p) {
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
    const double used = (double)(most * width) /
                        (double)lanes_of(p, (size_t)most, (size_t)width);
    if (used >= best) {
      best = used;
      height = most;
    }
  }
  p->y.tile = height;
  p->x.tile = width;
  p->y.tiles = etx_divide_up(high, height);
  p->x.tiles = etx_divide_up(wide, width);
  return size_patch(p, height, width);
}

// Where the taps of all channels that exist at a time begin.
static void find_offsets(plan* p) {
  const size_t width = (size_t)p->x.window.kernel;
  for (size_t i = 0; i < p->taps * p->channels; ++i) {
    const size_t tap = i % p->taps;
    const int64_t y = (int64_t)(tap / width), x = (int64_t)(tap % width);
    const size_t phase = phase_of(&p->y, y) * p->x.phases + phase_of(&p->x, x);
    const int64_t row = y * p->y.window.dilation / p->y.window.stride;
    const int64_t column = x * p->x.window.dilation / p->x.window.stride;
    p->offsets[i] = (ptrdiff_t)(i / p->taps * p->patch + phase * p->phase +
                                (size_t)row * p->pitch + (size_t)column);
  }
}

// True if a result channel's weights follow each other, tap by tap.
static bool are_weights_dense(const etx_convolution* c) {
  const ptrdiff_t width = (ptrdiff_t)c->weight.sizes[2];
  const ptrdiff_t plane = (ptrdiff_t)c->weight.sizes[1] * width;
  return (width == 1 || c->weight.strides[2] == 1) &&
         (c->weight.sizes[1] == 1 || c->weight.strides[1] == width) &&
         (c->in_channels == 1 || c->weight_in == plane);
}

// True if the rows of a plane follow each other.
static bool are_rows_dense(const etx_volumes* v) {
  return v->strides[1] == v->strides[2] * (ptrdiff_t)v->sizes[2];
}

// Where each position sees just its own, rows are one long row.
static void join_rows(etx_convolution* c) {
  for (size_t d = 1; d < ETX_SPATIAL; ++d) {
    const etx_window* w = &c->windows[d];
    if (w->kernel != 1 || w->stride != 1 || w->padding != 0) return;
  }
  if (!are_rows_dense(&c->in) || !are_rows_dense(&c->out)) return;
  etx_volumes* both[] = {&c->in, &c->out};
  for (size_t i = 0; i < 2; ++i) {
    both[i]->sizes[2] *= both[i]->sizes[1];
    both[i]->sizes[1] = 1;
  }
  c->windows[1].in = c->windows[1].out = 1;
  c->windows[2].in = c->windows[2].out = c->out.sizes[2];
}

// How many positions and how many result channels a tile has sums for.
static void share_sums(plan* p) {
  const etx_convolution* c = p->c;
  p->rows = c->out_channels;
  if (p->rows > SUMS / LANES) {
    p->lanes = FEW_LANES;
    p->rows = even_share(p->rows, SUMS / FEW_LANES);
  } else if (c->in_channels <= FEW_TAPS / (int64_t)p->taps) {
    p->lanes = (size_t)(SUMS / p->rows / GROUP * GROUP);
  } else {
    p->lanes = LANES;
  }
}

static bool start_plan(plan* p, const etx_convolution* c) {
  const etx_window* z = &c->windows[0];
  const bool is_flat = z->in == 1 && z->out == 1 && z->kernel == 1 &&
                       z->stride == 1 && z->padding == 0;
  p->c = c;
  if (!is_flat || c->in.dtype != ETX_DTYPE_FLOAT32 || c->in_channels == 0 ||
      c->weight.dtype != ETX_DTYPE_FLOAT32 || !are_weights_dense(c) ||
      !start_direction(&p->y, &c->windows[1]) ||
      !start_direction(&p->x, &c->windows[2])) {
    return false;
  }
  p->taps = (size_t)(p->y.window.kernel * p->x.window.kernel);
  if (p->taps == 0 || p->taps > TAPS) return false;
  share_sums(p);
  if (!size_tiles(p)) return false;
  const size_t by_patch = PATCHES / p->patch, by_taps = TAPS / p->taps;
  p->channels = by_patch < by_taps ? by_patch : by_taps;
  if ((int64_t)p->channels > c->in_channels) {
    p->channels = (size_t)c->in_channels;
  }
  p->row_blocks = etx_divide_up(c->out_channels, p->rows);
  find_offsets(p);
  return true;
}

// ------------------------------------------------ patches

static piece piece_of(const direction* d, size_t phase, int64_t out,
                      size_t size) {
  const etx_window* w = &d->window;
  piece p = {.first = out * w->stride - w->padding + d->first[phase],
             .stride = w->stride,
             .count = size + d->extra};
  const int64_t count = (int64_t)p.count;
  int64_t begin = p.first < 0 ? etx_divide_up(-p.first, w->stride) : 0;
  int64_t end = p.first < w->in ? etx_divide_up(w->in - p.first, w->stride) : 0;
  if (begin > count) begin = count;
  if (end > count) end = count;
  if (end < begin) end = begin;
  p.begin = (size_t)begin;
  p.end = (size_t)end;
  return p;
}

static void copy_row(const piece* x, const float* row, ptrdiff_t stride,
                     float* to) {
  const ptrdiff_t step = (ptrdiff_t)x->stride * stride;
  for (size_t i = 0; i < x->begin; ++i) to[i] = 0;
  for (size_t i = x->end; i < x->count; ++i) to[i] = 0;
  if (x->begin == x->end) return;
  const float* from =
      row + ((ptrdiff_t)x->first + (ptrdiff_t)x->begin * (ptrdiff_t)x->stride) *
                stride;
  to += x->begin;
  const size_t count = x->end - x->begin;
  if (step == 1) {
    etx_copy_short((char*)to, (const char*)from, count * sizeof(float));
  } else if (step == 2) {
    for (size_t i = 0; i < count; ++i) to[i] = from[2 * i];
  } else {
    for (size_t i = 0; i < count; ++i) to[i] = from[(ptrdiff_t)i * step];
  }
}

// The patch of one channel. Rows of a tile that is less high than others keep
// their places.
static void copy_patch(const plan* p, const tile* t, const float* channel,
                       float* patch) {
  const etx_volumes* in = &p->c->in;
  for (size_t a = 0; a < p->y.phases; ++a) {
    const piece* y = &t->rows[a];
    for (size_t b = 0; b < p->x.phases; ++b) {
      const piece* x = &t->columns[b];
      float* to = patch + (a * p->x.phases + b) * p->phase;
      for (size_t i = 0; i < y->count; ++i, to += p->pitch) {
        if (i < y->begin || i >= y->end) {
          memset(to, 0, x->count * sizeof(float));
          continue;
        }
        const ptrdiff_t row =
            (ptrdiff_t)y->first + (ptrdiff_t)i * (ptrdiff_t)y->stride;
        copy_row(x, channel + row * in->strides[1], in->strides[2], to);
      }
    }
  }
}

// ------------------------------------------------ tiles

static void store_row(const plan* p, const tile* t, const float* sums,
                      int64_t channel, float* out) {
  const etx_convolution* c = p->c;
  const ptrdiff_t row = c->out.strides[1], column = c->out.strides[2];
  out += (ptrdiff_t)t->y * row + (ptrdiff_t)t->x * column;
  const float* bias = c->bias == NULL ? NULL : c->bias->data;
  const float added =
      bias == NULL ? 0 : bias[(ptrdiff_t)channel * c->bias->strides[0]];
  for (size_t y = 0; y < t->height; ++y, out += row, sums += p->pitch) {
    if (bias == NULL && column == 1) {
      etx_copy_short((char*)out, (const char*)sums, t->width * sizeof(float));
    } else if (bias == NULL) {
      for (size_t x = 0; x < t->width; ++x)
        out[(ptrdiff_t)x * column] = sums[x];
    } else if (column == 1) {
      for (size_t x = 0; x < t->width; ++x) out[x] = sums[x] + added;
    } else {
      for (size_t x = 0; x < t->width; ++x) {
        out[(ptrdiff_t)x * column] = sums[x] + added;
      }
    }
  }
}

// What a thread works with.
typedef struct desk {
  const plan* p;
  float* patches;
  float* sums;
  tile t;
  // Of the item at hand: block of result channels, column and row of the tile,
  // group, image.
  int64_t block, column, row, group, image;
} desk;

// The sums of some result channels of a group at a tile.
static void sum_tile(const desk* d, const float* in, const float* weights,
                     size_t rows) {
  const plan* p = d->p;
  const tile* t = &d->t;
  const etx_convolution* c = p->c;
  const size_t all = (size_t)c->in_channels;
  for (size_t first = 0; first < all; first += p->channels) {
    const size_t left = all - first;
    const size_t count = left < p->channels ? left : p->channels;
    for (size_t i = 0; i < count; ++i) {
      copy_patch(p, t, in + (ptrdiff_t)(first + i) * c->in.channel,
                 d->patches + i * p->patch);
    }
    const etx_panel_block b = {.sums = d->sums,
                               .sum_row = (ptrdiff_t)p->lanes,
                               .weights = weights + first * p->taps,
                               .weight_row = c->weight_out,
                               .panel = d->patches,
                               .panel_group = GROUP,
                               .offsets = p->offsets,
                               .rows = rows,
                               .taps = count * p->taps,
                               .lanes = (t->height - 1) * p->pitch + t->width,
                               .starts = first == 0};
    p->loops->by_wide[ETX_WIDE_F32](&b);
  }
}

static void start_row(desk* d) {
  const direction* y = &d->p->y;
  tile* t = &d->t;
  t->y = d->row * y->tile;
  const int64_t left = y->window.out - t->y;
  t->height = (size_t)(left < y->tile ? left : y->tile);
  for (size_t i = 0; i < y->phases; ++i) {
    t->rows[i] = piece_of(y, i, t->y, t->height);
  }
}

static void start_column(desk* d) {
  const direction* x = &d->p->x;
  tile* t = &d->t;
  t->x = d->column * x->tile;
  const int64_t left = x->window.out - t->x;
  t->width = (size_t)(left < x->tile ? left : x->tile);
  for (size_t i = 0; i < x->phases; ++i) {
    t->columns[i] = piece_of(x, i, t->x, t->width);
  }
}

static void run_item(const desk* d) {
  const plan* p = d->p;
  const etx_convolution* c = p->c;
  const int64_t first = d->block * p->rows, left = c->out_channels - first;
  const size_t rows = (size_t)(left < p->rows ? left : p->rows);
  const float* in = (const float*)(const void*)c->in.data +
                    (ptrdiff_t)d->image * c->in.image +
                    (ptrdiff_t)(d->group * c->in_channels) * c->in.channel;
  const float* weights = (const float*)(const void*)c->weight.data +
                         (ptrdiff_t)d->group * c->weight_group +
                         (ptrdiff_t)first * c->weight_out;
  float* out = (float*)(void*)c->out.data + (ptrdiff_t)d->image * c->out.image;
  sum_tile(d, in, weights, rows);
  for (size_t r = 0; r < rows; ++r) {
    const int64_t channel = d->group * c->out_channels + first + (int64_t)r;
    store_row(p, &d->t, d->sums + r * p->lanes, channel,
              out + (ptrdiff_t)channel * c->out.channel);
  }
}

// Goes on to the next item: without division, because small ones are many.
static void next_item(desk* d) {
  const plan* p = d->p;
  if (++d->block < p->row_blocks) return;
  d->block = 0;
  if (++d->column < p->x.tiles) {
    start_column(d);
    return;
  }
  d->column = 0;
  if (p->x.tiles > 1) start_column(d);
  if (++d->row == p->y.tiles) {
    d->row = 0;
    if (++d->group == p->c->groups) {
      d->group = 0;
      ++d->image;
    }
  }
  if (p->y.tiles > 1) start_row(d);
}

// Items are tiles of groups of images, and blocks of result channels of each.
static void run_items(const void* context, size_t first, size_t end) {
  float patches[PATCHES + BEHIND], sums[SUMS];
  const plan* p = context;
  const int64_t item = (int64_t)first, number = item / p->row_blocks;
  const int64_t row = number / p->x.tiles, group = row / p->y.tiles;
  desk d = {.p = p,
            .patches = patches,
            .sums = sums,
            .block = item % p->row_blocks,
            .column = number % p->x.tiles,
            .row = row % p->y.tiles,
            .group = group % p->c->groups,
            .image = group / p->c->groups};
  // Lanes that do not exist see what is behind the last patch.
  memset(patches + p->patch * p->channels, 0, BEHIND * sizeof(float));
  start_row(&d);
  start_column(&d);
  for (size_t i = first; i < end; ++i) {
    run_item(&d);
    next_item(&d);
  }
}

bool etx_convolution_patches(const etx_convolution* convolution,
                             const etx_parallel* parallel) {
  etx_convolution c = *convolution;
  plan p = {.loops = etx_panel_loops_of(
                etx_instruction_set_within(parallel->instruction_set))};
  join_rows(&c);
  if (!start_plan(&p, &c)) return false;
  const int64_t tiles = p.y.tiles * p.x.tiles;
  const int64_t items = c.in.images * c.groups * tiles * p.row_blocks;
  const double work = (double)(c.in.images * c.groups * c.out_channels) *
                      (double)(c.in_channels * c.out.sizes[1]) *
                      (double)c.out.sizes[2] * (double)p.taps;
  etx_shares_run(parallel, (size_t)items, work, run_items, &p);
  return true;
}
