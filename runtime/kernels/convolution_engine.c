// Convolution as a product of matrices: the weights of each result channel
// times a panel, which holds for every tap of every input channel what it sees
// at a row of result positions, the lanes. Only a few taps of a panel exist at
// a time; strides, padding, dilation, types and orders of dimensions matter
// only where it is filled.
//
// The transposed form is cut into phases: results that lie a stride apart see
// the same taps, and see the input as a plain convolution of stride 1 does.
//
// Each result is summed tap by tap in one order, whatever the shares.

#include "runtime/kernels/convolution.h"
#include "runtime/kernels/shares.h"

enum {
  PANEL_TAPS = 64,
  PANEL_LANE_BYTES = 128,  // of a row of lanes
  PANEL_LANES = PANEL_LANE_BYTES / 4,
  PANEL_ROWS = 32,  // result channels that share a panel
};

// What is multiplied: sums [rows, lanes] += weights [rows, taps] * panel
// [taps, lanes].
typedef struct product_block {
  void* sums;
  const void* weights;
  ptrdiff_t weight_row;  // in elements, as all strides here
  const void* panel;
  ptrdiff_t panel_row;
  size_t rows, taps, lanes;
} product_block;

#define T float
#define NAME(x) x##_f32
#include "runtime/kernels/convolution_template.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "runtime/kernels/convolution_template.h"
#undef T
#undef NAME
#define T uint64_t
#define NAME(x) x##_i64
#include "runtime/kernels/convolution_template.h"
#undef T
#undef NAME

// By wide type.
static void (*const add_products[])(const product_block*) = {
    add_products_i64, add_products_f32, add_products_f64};

// One dimension of a phase. Result g of it, for g below `count`, lies at
// position first + g step. Tap t, for t below `taps`, is tap kernel_first +
// t kernel_step of the kernel and sees input position
// g in_step + offset + t offset_step.
typedef struct axis {
  int64_t in, count, first, step;
  int64_t taps, kernel_first, kernel_step;
  int64_t in_step, offset, offset_step;
} axis;

typedef struct phase {
  const etx_convolution* c;
  axis axes[ETX_SPATIAL];
  etx_wide wide;
  size_t element_bytes;  // of the wide type
  size_t lanes;          // of a full tile
  int64_t positions, tiles, row_blocks;
  int64_t taps;            // of one channel
  bool has_dense_weights;  // weights of a result channel follow each other
  bool is_pointwise;       // lanes of a full tile lie densely in the input
} phase;

// Result positions in a row, from coordinates `at` on.
typedef struct segment {
  int64_t at[ETX_SPATIAL];
  size_t lane, count;
} segment;

// Some positions of one group of one image.
typedef struct tile {
  const char* in;       // first channel of the group
  const char* weights;  // first channel of the group
  int64_t position;     // the first
  size_t lanes;
  segment segments[PANEL_LANES];
  size_t segment_count;
} tile;

static axis plain_axis(const etx_window* w) {
  const axis a = {w->in, w->out, 0,         1,           w->kernel,
                  0,     1,      w->stride, -w->padding, w->dilation};
  return a;
}

static int64_t greatest_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// Results `first`, first + stride and so on of the transposed form: input i
// adds to result i stride - padding + k dilation.
static axis phase_axis(const etx_window* w, int64_t first) {
  axis a = {.in = w->in, .first = first, .step = w->stride, .in_step = 1};
  const int64_t shared = greatest_divisor(w->stride, w->dilation);
  const int64_t reach = first + w->padding;
  a.count = first < w->out ? (w->out - first - 1) / w->stride + 1 : 0;
  a.kernel_step = w->stride / shared;
  a.offset_step = -(w->dilation / shared);
  while (a.kernel_first < w->kernel &&
         (reach - a.kernel_first * w->dilation) % w->stride != 0) {
    ++a.kernel_first;
  }
  if (a.kernel_first == w->kernel) return a;
  a.taps = (w->kernel - a.kernel_first - 1) / a.kernel_step + 1;
  a.offset = (reach - a.kernel_first * w->dilation) / w->stride;
  return a;
}

// ------------------------------------------------ elements

// Elements of any type, `step` apart, in the wide type.
static void load(const phase* p, etx_dtype dtype, const char* from,
                 ptrdiff_t step, size_t count, char* to) {
  const size_t bytes = p->element_bytes;
  if (dtype != etx_wide_dtype(p->wide)) {
    etx_block block;
    etx_block_load(&block, p->wide, dtype, from, step, count);
    memcpy(to, &block, count * bytes);
  } else if (step == 1) {
    memcpy(to, from, count * bytes);
  } else if (bytes == 4) {
    for (size_t i = 0; i < count; ++i, from += step * 4) {
      memcpy(to + i * 4, from, 4);
    }
  } else {
    for (size_t i = 0; i < count; ++i, from += step * 8) {
      memcpy(to + i * 8, from, 8);
    }
  }
}

// A row of taps along the innermost dimension of one channel's kernel.
typedef struct tap_run {
  int64_t channel, z, y, x;  // of the first
  size_t count;
} tap_run;

// The taps from number `tap` on that lie in one row, at most `most`.
static tap_run run_at(const phase* p, int64_t tap, size_t most) {
  const int64_t width = p->axes[2].taps, height = p->axes[1].taps;
  const int64_t row = tap / width;
  tap_run run = {.x = tap % width, .y = row % height};
  run.z = row / height % p->axes[0].taps;
  run.channel = tap / p->taps;
  const int64_t left = width - run.x;
  run.count = left < (int64_t)most ? (size_t)left : most;
  return run;
}

// What one tap sees in a segment; 0 outside of the input. `row` is the input
// row, `first` the position that the first lane sees.
static void fill_segment(const phase* p, const segment* s, const char* row,
                         int64_t first, char* to) {
  const axis* x = &p->axes[2];
  const etx_volumes* in = &p->c->in;
  size_t begin = 0, end = s->count;
  while (begin < end && first + (int64_t)begin * x->in_step < 0) ++begin;
  while (end > begin && first + ((int64_t)end - 1) * x->in_step >= x->in) --end;
  const size_t bytes = p->element_bytes;
  if (begin > 0) memset(to, 0, begin * bytes);
  if (end < s->count) memset(to + end * bytes, 0, (s->count - end) * bytes);
  if (begin == end) return;
  const int64_t column = first + (int64_t)begin * x->in_step;
  load(p, in->dtype, row + (ptrdiff_t)column * in->strides[2] * in->bytes,
       (ptrdiff_t)x->in_step * in->strides[2], end - begin, to + begin * bytes);
}

// The rows of a panel for a run of taps, in one segment.
static void fill_run(const phase* p, const tile* t, const segment* s,
                     const tap_run* run, char* to) {
  const etx_volumes* in = &p->c->in;
  const axis* a = p->axes;
  to += s->lane * p->element_bytes;
  const int64_t z =
      s->at[0] * a[0].in_step + a[0].offset + run->z * a[0].offset_step;
  const int64_t y =
      s->at[1] * a[1].in_step + a[1].offset + run->y * a[1].offset_step;
  const bool is_inside = z >= 0 && z < a[0].in && y >= 0 && y < a[1].in;
  const ptrdiff_t at = (ptrdiff_t)run->channel * in->channel +
                       (ptrdiff_t)z * in->strides[0] +
                       (ptrdiff_t)y * in->strides[1];
  for (size_t i = 0; i < run->count; ++i, to += PANEL_LANE_BYTES) {
    if (!is_inside) {
      memset(to, 0, s->count * p->element_bytes);
      continue;
    }
    const int64_t tap = run->x + (int64_t)i;
    fill_segment(p, s, t->in + at * in->bytes,
                 s->at[2] * a[2].in_step + a[2].offset + tap * a[2].offset_step,
                 to);
  }
}

// Taps `first` on, as rows of lanes.
static void fill_panel(const phase* p, const tile* t, int64_t first,
                       size_t count, char* panel) {
  for (size_t k = 0; k < count;) {
    const tap_run run = run_at(p, first + (int64_t)k, count - k);
    for (size_t i = 0; i < t->segment_count; ++i) {
      fill_run(p, t, &t->segments[i], &run, panel + k * PANEL_LANE_BYTES);
    }
    k += run.count;
  }
}

// Weights of one result channel for the same taps.
static void load_weights(const phase* p, const char* channel, int64_t first,
                         size_t count, char* to) {
  const etx_convolution* c = p->c;
  const axis* a = p->axes;
  for (size_t k = 0; k < count;) {
    const tap_run run = run_at(p, first + (int64_t)k, count - k);
    const int64_t z = a[0].kernel_first + run.z * a[0].kernel_step;
    const int64_t y = a[1].kernel_first + run.y * a[1].kernel_step;
    const int64_t x = a[2].kernel_first + run.x * a[2].kernel_step;
    const ptrdiff_t at = (ptrdiff_t)run.channel * c->weight_in +
                         (ptrdiff_t)z * c->weight.strides[0] +
                         (ptrdiff_t)y * c->weight.strides[1] +
                         (ptrdiff_t)x * c->weight.strides[2];
    load(p, c->weight.dtype, channel + at * c->weight.bytes,
         (ptrdiff_t)a[2].kernel_step * c->weight.strides[2], run.count,
         to + k * p->element_bytes);
    k += run.count;
  }
}

// ------------------------------------------------ tiles

static void cut_segments(const phase* p, tile* t) {
  int64_t position = t->position;
  const int64_t width = p->axes[2].count, height = p->axes[1].count;
  for (size_t lane = 0; lane < t->lanes;) {
    const int64_t row = position / width;
    segment* s = &t->segments[t->segment_count++];
    s->at[2] = position % width;
    s->at[1] = row % height;
    s->at[0] = row / height;
    s->lane = lane;
    const size_t left = t->lanes - lane;
    const int64_t rest = width - s->at[2];
    s->count = rest < (int64_t)left ? (size_t)rest : left;
    lane += s->count;
    position += (int64_t)s->count;
  }
}

typedef union sums {
  float f32[PANEL_ROWS][PANEL_LANES];
  double f64[PANEL_ROWS][PANEL_LANES / 2];
  int64_t i64[PANEL_ROWS][PANEL_LANES / 2];
} sums;

// Multiplies taps `first` on of up to four result channels at a time.
static void multiply(const phase* p, const char* weights, int64_t first,
                     size_t rows, product_block* b) {
  const etx_convolution* c = p->c;
  char* own = b->sums;
  if (p->has_dense_weights) {
    b->weights = weights + (ptrdiff_t)first * c->weight.bytes;
    b->weight_row = c->weight_out;
    b->rows = rows;
    add_products[p->wide](b);
    return;
  }
  for (size_t row = 0; row < rows; row += b->rows) {
    union {
      float f32[4][PANEL_TAPS];
      double f64[4][PANEL_TAPS];
      int64_t i64[4][PANEL_TAPS];
    } loaded;
    b->rows = rows - row < 4 ? rows - row : 4;
    for (size_t r = 0; r < b->rows; ++r) {
      load_weights(
          p, weights + (ptrdiff_t)(row + r) * c->weight_out * c->weight.bytes,
          first, b->taps, (char*)&loaded + r * PANEL_TAPS * p->element_bytes);
    }
    b->weights = &loaded;
    b->weight_row = PANEL_TAPS;
    b->sums = own + row * PANEL_LANE_BYTES;
    add_products[p->wide](b);
  }
  b->sums = own;
}

// Sums of `rows` result channels at all lanes of a tile.
static void sum_tile(const phase* p, const tile* t, const char* weights,
                     size_t rows, sums* out) {
  union {
    float f32[PANEL_TAPS][PANEL_LANES];
    double f64[PANEL_TAPS][PANEL_LANES / 2];
    int64_t i64[PANEL_TAPS][PANEL_LANES / 2];
  } panel;
  const etx_convolution* c = p->c;
  memset(out, 0, rows * PANEL_LANE_BYTES);
  // Lanes that no position uses are computed, from zeros, and not stored.
  if (t->lanes < p->lanes) memset(&panel, 0, sizeof(panel));
  const int64_t taps = p->taps * c->in_channels;
  for (int64_t first = 0; first < taps; first += PANEL_TAPS) {
    const int64_t left = taps - first;
    product_block b = {.sums = out,
                       .panel = &panel,
                       .panel_row = (ptrdiff_t)p->lanes,
                       .taps = left < PANEL_TAPS ? (size_t)left : PANEL_TAPS,
                       .lanes = t->lanes};
    if (p->is_pointwise && t->lanes == p->lanes) {
      const ptrdiff_t at =
          (ptrdiff_t)first * c->in.channel + (ptrdiff_t)t->position;
      b.panel = t->in + at * c->in.bytes;
      b.panel_row = c->in.channel;
    } else {
      fill_panel(p, t, first, b.taps, (char*)&panel);
    }
    multiply(p, weights, first, rows, &b);
  }
}

static void add_bias(const phase* p, int64_t channel, size_t lanes, void* row) {
  if (p->c->bias == NULL) return;
  const etx_tensor* bias = p->c->bias;
  const ptrdiff_t at = (ptrdiff_t)channel * bias->strides[0];
  etx_block b;
  etx_block_load(
      &b, p->wide, bias->dtype,
      (const char*)bias->data + at * (ptrdiff_t)etx_dtype_bytes(bias->dtype), 0,
      1);
  float* single = row;
  double* real = row;
  uint64_t* whole = row;
  for (size_t i = 0; i < lanes; ++i) {
    if (p->wide == ETX_WIDE_F32) {
      single[i] += b.f32[0];
    } else if (p->wide == ETX_WIDE_F64) {
      real[i] += b.f64[0];
    } else {
      whole[i] += (uint64_t)b.i64[0];
    }
  }
}

static void store_row(const phase* p, const tile* t, char* channel,
                      const char* row) {
  const etx_volumes* out = &p->c->out;
  for (size_t i = 0; i < t->segment_count; ++i) {
    const segment* s = &t->segments[i];
    ptrdiff_t at = 0;
    for (size_t d = 0; d < ETX_SPATIAL; ++d) {
      const axis* a = &p->axes[d];
      at += (ptrdiff_t)(a->first + s->at[d] * a->step) * out->strides[d];
    }
    etx_block block;
    memcpy(&block, row + s->lane * p->element_bytes,
           s->count * p->element_bytes);
    etx_block_store(&block, p->wide, out->dtype, channel + at * out->bytes,
                    (ptrdiff_t)p->axes[2].step * out->strides[2], s->count);
  }
}

// Items are tiles of groups of images, and blocks of result channels of each.
static void run_item(const phase* p, int64_t item) {
  const etx_convolution* c = p->c;
  const int64_t block = item % p->row_blocks;
  const int64_t number = item / p->row_blocks;
  const int64_t group = number / p->tiles % c->groups;
  const int64_t image = number / p->tiles / c->groups;
  const int64_t first = block * PANEL_ROWS;
  const int64_t left = c->out_channels - first;
  const size_t rows = left < PANEL_ROWS ? (size_t)left : PANEL_ROWS;
  tile t = {.position = number % p->tiles * (int64_t)p->lanes};
  const int64_t rest = p->positions - t.position;
  t.lanes = rest < (int64_t)p->lanes ? (size_t)rest : p->lanes;
  const ptrdiff_t in = (ptrdiff_t)image * c->in.image +
                       (ptrdiff_t)(group * c->in_channels) * c->in.channel;
  t.in = c->in.data + in * c->in.bytes;
  cut_segments(p, &t);
  const ptrdiff_t weights =
      (ptrdiff_t)group * c->weight_group + (ptrdiff_t)first * c->weight_out;
  sums s;
  sum_tile(p, &t, c->weight.data + weights * c->weight.bytes, rows, &s);
  for (size_t r = 0; r < rows; ++r) {
    const int64_t channel = group * c->out_channels + first + (int64_t)r;
    char* row = (char*)&s + r * PANEL_LANE_BYTES;
    add_bias(p, channel, t.lanes, row);
    const ptrdiff_t out =
        (ptrdiff_t)image * c->out.image + (ptrdiff_t)channel * c->out.channel;
    store_row(p, &t, c->out.data + out * c->out.bytes, row);
  }
}

static void run_items(const void* context, size_t first, size_t end) {
  for (size_t i = first; i < end; ++i) run_item(context, (int64_t)i);
}

// ------------------------------------------------ phases

// True if tap number k of a result channel is the weight's element k.
static bool are_weights_dense(const phase* p) {
  const etx_convolution* c = p->c;
  if (c->weight.dtype != etx_wide_dtype(p->wide)) return false;
  int64_t dense = 1;
  for (size_t d = ETX_SPATIAL; d-- > 0;) {
    const axis* a = &p->axes[d];
    const int64_t kernel = c->windows[d].kernel;
    if (a->taps != kernel) return false;
    if (kernel > 1 && (a->kernel_step != 1 || c->weight.strides[d] != dense)) {
      return false;
    }
    dense *= kernel;
  }
  return c->in_channels == 1 || c->weight_in == dense;
}

static bool is_pointwise(const phase* p) {
  const etx_volumes* in = &p->c->in;
  if (in->dtype != etx_wide_dtype(p->wide)) return false;
  int64_t dense = 1;
  for (size_t d = ETX_SPATIAL; d-- > 0;) {
    const axis* a = &p->axes[d];
    if (a->taps != 1 || a->in_step != 1 || a->offset != 0) return false;
    if (a->count != a->in || (a->in > 1 && in->strides[d] != dense)) {
      return false;
    }
    dense *= a->in;
  }
  return true;
}

static void run_phase(const etx_convolution* c, const axis* axes,
                      const etx_parallel* parallel) {
  phase p = {
      .c = c, .wide = etx_wide_of(c->in.dtype), .positions = 1, .taps = 1};
  for (size_t d = 0; d < ETX_SPATIAL; ++d) {
    p.axes[d] = axes[d];
    p.positions *= axes[d].count;
    p.taps *= axes[d].taps;
  }
  p.element_bytes = etx_dtype_bytes(etx_wide_dtype(p.wide));
  p.lanes = PANEL_LANE_BYTES / p.element_bytes;
  p.tiles = etx_divide_up(p.positions, (int64_t)p.lanes);
  p.row_blocks = etx_divide_up(c->out_channels, PANEL_ROWS);
  p.has_dense_weights = are_weights_dense(&p);
  p.is_pointwise = is_pointwise(&p);
  const int64_t items = c->in.images * c->groups * p.tiles * p.row_blocks;
  const double work = (double)items * (double)p.lanes * PANEL_ROWS *
                      (double)p.taps * (double)c->in_channels;
  etx_shares_run(parallel, (size_t)items, work, run_items, &p);
}

static int64_t phase_count(const etx_window* w) {
  return w->stride < w->out ? w->stride : w->out;
}

void etx_convolution_run(const etx_convolution* c,
                         const etx_parallel* parallel) {
  axis axes[ETX_SPATIAL];
  const etx_window* w = c->windows;
  if (!c->transposed) {
    for (size_t d = 0; d < ETX_SPATIAL; ++d) axes[d] = plain_axis(&w[d]);
    run_phase(c, axes, parallel);
    return;
  }
  for (int64_t z = 0; z < phase_count(&w[0]); ++z) {
    axes[0] = phase_axis(&w[0], z);
    for (int64_t y = 0; y < phase_count(&w[1]); ++y) {
      axes[1] = phase_axis(&w[1], y);
      for (int64_t x = 0; x < phase_count(&w[2]); ++x) {
        axes[2] = phase_axis(&w[2], x);
        run_phase(c, axes, parallel);
      }
    }
  }
}
