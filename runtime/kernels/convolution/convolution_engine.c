// Convolution as matrix products (implicit_gemm.h): the weights of each output
// channel times a panel whose rows are taps of input channels and whose lanes
// are output positions (im2col, a few taps at a time). Strides, padding,
// dilation, types and layouts matter only where the panel is filled.
//
// A transposed convolution is split into phases: results that are a stride
// apart read the same taps, and form a plain convolution of stride 1. Their
// taps are in reversed order, so that each reads the position after that of the
// tap before.

#include "runtime/kernels/convolution/convolution_variants.h"
#include "runtime/kernels/matmul/implicit_gemm.h"
#include "runtime/kernels/simd/f32/f32_microkernels.h"
#include "runtime/kernels/core/thread_tiles.h"

// A plain convolution: a whole one, or a phase of a transposed one.
typedef struct phase {
  const etx_convolution* c;
  const etx_f32_microkernels* loops;
  etx_compute_type wide;
  size_t element_bytes;  // bytes of the wide type
  size_t lanes;          // lanes of a full tile
  int64_t positions, tiles, row_blocks;
  int64_t taps;            // taps of one channel
  bool has_dense_weights;  // those of an output channel, in the order of taps
  bool reads_weights;      // where they are: they have the wide type, too
  bool is_pointwise;       // the inputs of a full tile's lanes are contiguous
  bool sums_in_place;      // and the results, too, which have the wide type
} phase;

// Neighbouring output positions in a row, from coordinates `at` on.
typedef struct segment {
  int64_t at[ETX_SPATIAL];
  size_t lane, count;
} segment;

// Some positions of one group of one image.
typedef struct engine_tile {
  const phase* p;
  const char* in;       // first channel of the group
  const char* weights;  // of the first result channel
  char* out;            // first channel of the image
  int64_t position;     // the first
  size_t lanes;
  segment segments[ETX_IMPLICIT_GEMM_LANES];
  size_t segment_count;
  char* sums;    // sums that are kept aside
  void* memory;  // of the implicit product
} engine_tile;

// ------------------------------------------------ panels

// A row of taps along the innermost dimension of a channel's kernel.
typedef struct tap_run {
  int64_t channel, z, y, x;  // the first tap
  size_t count;
} tap_run;

// The taps from number `tap` on that are in one row, at most `most`.
static tap_run run_at(const phase* p, int64_t tap, size_t most) {
  const etx_window* w = p->c->windows;
  const int64_t width = w[2].kernel, height = w[1].kernel;
  const int64_t row = tap / width;
  tap_run run = {.x = tap % width, .y = row % height};
  run.z = row / height % w[0].kernel;
  run.channel = tap / p->taps;
  const int64_t left = width - run.x;
  run.count = left < (int64_t)most ? (size_t)left : most;
  return run;
}

// The inputs of one tap in a segment; 0 outside of the input. `row` is the
// input row, `first` the input position of the first lane.
static void fill_segment(const phase* p, const segment* s, const char* row,
                         int64_t first, char* to) {
  const etx_window* x = &p->c->windows[2];
  const etx_volumes* in = &p->c->in;
  size_t begin = 0, end = s->count;
  while (begin < end && first + (int64_t)begin * x->stride < 0) ++begin;
  while (end > begin && first + ((int64_t)end - 1) * x->stride >= x->in) --end;
  const size_t bytes = p->element_bytes;
  if (begin > 0) memset(to, 0, begin * bytes);
  if (end < s->count) memset(to + end * bytes, 0, (s->count - end) * bytes);
  if (begin == end) return;
  const int64_t column = first + (int64_t)begin * x->stride;
  etx_implicit_gemm_load(
      p->wide, in->dtype, row + (ptrdiff_t)column * in->strides[2] * in->bytes,
      (ptrdiff_t)x->stride * in->strides[2], end - begin, to + begin * bytes);
}

// Fills the rows of a panel for a run of taps, in one segment.
static void fill_run(const phase* p, const engine_tile* t, const segment* s,
                     const tap_run* run, char* to) {
  const etx_volumes* in = &p->c->in;
  const etx_window* w = p->c->windows;
  to += s->lane * p->element_bytes;
  const int64_t z = etx_window_start(&w[0], s->at[0]) + run->z * w[0].dilation;
  const int64_t y = etx_window_start(&w[1], s->at[1]) + run->y * w[1].dilation;
  const bool is_inside = z >= 0 && z < w[0].in && y >= 0 && y < w[1].in;
  const ptrdiff_t at = (ptrdiff_t)run->channel * in->channel +
                       (ptrdiff_t)z * in->strides[0] +
                       (ptrdiff_t)y * in->strides[1];
  for (size_t i = 0; i < run->count; ++i, to += ETX_IMPLICIT_GEMM_LANE_BYTES) {
    if (!is_inside) {
      memset(to, 0, s->count * p->element_bytes);
      continue;
    }
    const int64_t tap = run->x + (int64_t)i;
    fill_segment(p, s, t->in + at * in->bytes,
                 etx_window_start(&w[2], s->at[2]) + tap * w[2].dilation, to);
  }
}

// Fills rows of lanes for taps from `first` on.
static void fill_panel(const void* context, int64_t first, size_t count,
                       char* panel) {
  const engine_tile* t = context;
  const phase* p = t->p;
  for (size_t k = 0; k < count;) {
    const tap_run run = run_at(p, first + (int64_t)k, count - k);
    for (size_t i = 0; i < t->segment_count; ++i) {
      fill_run(p, t, &t->segments[i], &run,
               panel + k * ETX_IMPLICIT_GEMM_LANE_BYTES);
    }
    k += run.count;
  }
}

// Loads the weights of one output channel for the same taps.
static void load_weights(const void* context, size_t row, int64_t first,
                         size_t count, char* to) {
  const engine_tile* t = context;
  const phase* p = t->p;
  const etx_convolution* c = p->c;
  const char* channel =
      t->weights + etx_convolution_row(c, row) * c->weight.bytes;
  if (p->has_dense_weights) {
    etx_implicit_gemm_load(p->wide, c->weight.dtype,
                           channel + (ptrdiff_t)first * c->weight.bytes, 1,
                           count, to);
    return;
  }
  for (size_t k = 0; k < count;) {
    const tap_run run = run_at(p, first + (int64_t)k, count - k);
    const ptrdiff_t at = (ptrdiff_t)run.channel * c->weight_in +
                         (ptrdiff_t)run.z * c->weight.strides[0] +
                         (ptrdiff_t)run.y * c->weight.strides[1] +
                         (ptrdiff_t)run.x * c->weight.strides[2];
    etx_implicit_gemm_load(p->wide, c->weight.dtype,
                           channel + at * c->weight.bytes, c->weight.strides[2],
                           run.count, to + k * p->element_bytes);
    k += run.count;
  }
}

// ------------------------------------------------ tiles

static void cut_segments(const phase* p, engine_tile* t) {
  int64_t position = t->position;
  const etx_window* w = p->c->windows;
  const int64_t width = w[2].out, height = w[1].out;
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

// The sums of `rows` output channels at all lanes of a tile.
static void sum_tile(const engine_tile* t, size_t rows, char* sums,
                     ptrdiff_t sum_row) {
  const phase* p = t->p;
  const etx_convolution* c = p->c;
  etx_implicit_gemm panel = {.loops = p->loops,
                             .wide = p->wide,
                             .rows = rows,
                             .lanes = t->lanes,
                             .taps = p->taps * c->in_channels,
                             .fill = fill_panel,
                             .load = load_weights,
                             .sums = sums,
                             .sum_row = sum_row,
                             .context = t,
                             .memory = t->memory};
  if (p->is_pointwise && t->lanes == p->lanes) {
    panel.direct = t->in + (ptrdiff_t)t->position * c->in.bytes;
    panel.direct_row = c->in.channel;
  }
  if (p->reads_weights) {
    panel.weights = t->weights;
    panel.weight_row = c->weight_out;
  }
  etx_implicit_gemm_run(&panel);
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
    if (p->wide == ETX_COMPUTE_F32) {
      single[i] += b.f32[0];
    } else if (etx_is_f64(p->wide)) {
      real[i] += b.f64[0];
    } else {
      whole[i] += (uint64_t)b.i64[0];
    }
  }
}

static void store_row(const phase* p, const engine_tile* t, char* channel,
                      const char* row) {
  const etx_volumes* out = &p->c->out;
  for (size_t i = 0; i < t->segment_count; ++i) {
    const segment* s = &t->segments[i];
    ptrdiff_t at = 0;
    for (size_t d = 0; d < ETX_SPATIAL; ++d) {
      at += (ptrdiff_t)s->at[d] * out->strides[d];
    }
    etx_block block;
    memcpy(&block, row + s->lane * p->element_bytes,
           s->count * p->element_bytes);
    etx_block_store(&block, p->wide, out->dtype, channel + at * out->bytes,
                    out->strides[2], s->count);
  }
}

// Computes a full tile whose sums stay in the result.
static void sum_in_place(const engine_tile* t, int64_t channel, size_t rows) {
  const phase* p = t->p;
  const etx_volumes* out = &p->c->out;
  const ptrdiff_t at =
      (ptrdiff_t)channel * out->channel + (ptrdiff_t)t->position;
  char* sums = t->out + at * out->bytes;
  sum_tile(t, rows, sums, out->channel);
  for (size_t r = 0; r < rows; ++r) {
    add_bias(p, channel + (int64_t)r, t->lanes,
             sums + (ptrdiff_t)r * out->channel * out->bytes);
  }
}

// Computes any tile: the sums are stored one by one from a buffer.
static void sum_aside(const engine_tile* t, int64_t channel, size_t rows) {
  const phase* p = t->p;
  const etx_volumes* out = &p->c->out;
  sum_tile(t, rows, t->sums, (ptrdiff_t)etx_implicit_gemm_lanes(p->wide));
  for (size_t r = 0; r < rows; ++r, ++channel) {
    char* row = t->sums + r * ETX_IMPLICIT_GEMM_LANE_BYTES;
    add_bias(p, channel, t->lanes, row);
    store_row(p, t, t->out + (ptrdiff_t)channel * out->channel * out->bytes,
              row);
  }
}

static engine_tile tile_at(const phase* p, int64_t image, int64_t group,
                           int64_t number) {
  const etx_convolution* c = p->c;
  engine_tile t = {.p = p, .position = number * (int64_t)p->lanes};
  const int64_t rest = p->positions - t.position;
  t.lanes = rest < (int64_t)p->lanes ? (size_t)rest : p->lanes;
  const ptrdiff_t in = (ptrdiff_t)image * c->in.image +
                       (ptrdiff_t)(group * c->in_channels) * c->in.channel;
  t.in = c->in.data + in * c->in.bytes;
  t.weights =
      c->weight.data + (ptrdiff_t)group * c->weight_group * c->weight.bytes;
  t.out = c->out.data + (ptrdiff_t)image * c->out.image * c->out.bytes;
  cut_segments(p, &t);
  return t;
}

// The rows of a block whose sums are kept aside. Those of halves always are,
// and their panels are expensive: more rows share one.
static int64_t most_rows_aside(const etx_convolution* c) {
  return etx_dtype_is_half(c->in.dtype) ? ETX_IMPLICIT_GEMM_ROWS
                                        : ETX_IMPLICIT_GEMM_STACK_ROWS;
}

static size_t sums_bytes(const etx_convolution* c) {
  const int64_t most = most_rows_aside(c), rows = c->out_channels;
  return (size_t)(rows < most ? rows : most) * ETX_IMPLICIT_GEMM_LANE_BYTES;
}

// The sums of a block, and behind them the memory of the implicit product.
static size_t engine_tile_bytes(const etx_convolution* c) {
  const int64_t taps = c->in_channels * c->weight.sizes[0] *
                       c->weight.sizes[1] * c->weight.sizes[2];
  return sums_bytes(c) + etx_implicit_gemm_bytes((size_t)taps);
}

// A work item is a tile of a group of an image, with a block of output
// channels.
static void run_item(const phase* p, int64_t item, char* memory) {
  const etx_convolution* c = p->c;
  const int64_t block = item % p->row_blocks;
  const int64_t number = item / p->row_blocks;
  const int64_t group = number / p->tiles % c->groups;
  engine_tile t =
      tile_at(p, number / p->tiles / c->groups, group, number % p->tiles);
  const bool in_place = p->sums_in_place && t.lanes == p->lanes;
  t.sums = memory;
  t.memory = memory + sums_bytes(c);
  int64_t first = block * ETX_IMPLICIT_GEMM_ROWS;
  int64_t end = first + ETX_IMPLICIT_GEMM_ROWS;
  if (end > c->out_channels) end = c->out_channels;
  t.weights += (ptrdiff_t)first * c->weight_out * c->weight.bytes;
  for (int64_t rows; first < end; first += rows) {
    const int64_t most = in_place ? ETX_IMPLICIT_GEMM_ROWS : most_rows_aside(c);
    rows = end - first < most ? end - first : most;
    const int64_t channel = group * c->out_channels + first;
    if (in_place) {
      sum_in_place(&t, channel, (size_t)rows);
    } else {
      sum_aside(&t, channel, (size_t)rows);
    }
    t.weights += (ptrdiff_t)rows * c->weight_out * c->weight.bytes;
  }
}

static void run_items(const void* context, void* tile, size_t first,
                      size_t end) {
  for (size_t i = first; i < end; ++i) run_item(context, (int64_t)i, tile);
}

// ------------------------------------------------ phases

// True if tap number k of an output channel is element k of its weights.
static bool are_weights_dense(const phase* p) {
  const etx_convolution* c = p->c;
  if (c->has_panels) return false;
  int64_t dense = 1;
  for (size_t d = ETX_SPATIAL; d-- > 0;) {
    const int64_t kernel = c->windows[d].kernel;
    if (kernel > 1 && c->weight.strides[d] != dense) return false;
    dense *= kernel;
  }
  return c->in_channels == 1 || c->weight_in == dense;
}

// True if positions are contiguous in their order.
static bool are_dense(const phase* p, const etx_volumes* v) {
  int64_t dense = 1;
  if (v->dtype != etx_compute_type_dtype(p->wide)) return false;
  for (size_t d = ETX_SPATIAL; d-- > 0;) {
    if (v->sizes[d] != p->c->windows[d].out) return false;
    if (v->sizes[d] > 1 && v->strides[d] != dense) return false;
    dense *= v->sizes[d];
  }
  return true;
}

// True if each output position reads the input position of the same number.
static bool is_pointwise(const phase* p) {
  for (size_t d = 0; d < ETX_SPATIAL; ++d) {
    const etx_window* w = &p->c->windows[d];
    if (w->kernel != 1 || w->stride != 1 || w->padding != 0) return false;
  }
  return are_dense(p, &p->c->in);
}

static void run_phase(const etx_convolution* c, const etx_parallel* parallel,
                      void* temporary) {
  phase p = {.c = c,
             .loops = etx_f32_microkernels_of(
                 etx_instruction_set_within(parallel->instruction_set)),
             .wide = etx_compute_type_of(c->in.dtype),
             .positions = 1,
             .taps = 1};
  for (size_t d = 0; d < ETX_SPATIAL; ++d) {
    p.positions *= c->windows[d].out;
    p.taps *= c->windows[d].kernel;
  }
  p.element_bytes = etx_compute_type_bytes(p.wide);
  p.lanes = etx_implicit_gemm_lanes(p.wide);
  // Sums of full tiles stay in the result: if there are few positions, the tile
  // is made smaller so that one is full.
  if (p.positions < (int64_t)p.lanes) p.lanes /= 2;
  p.tiles = etx_ceil_div(p.positions, (int64_t)p.lanes);
  p.row_blocks = etx_ceil_div(c->out_channels, ETX_IMPLICIT_GEMM_ROWS);
  p.has_dense_weights = are_weights_dense(&p);
  p.reads_weights =
      p.has_dense_weights && c->weight.dtype == etx_compute_type_dtype(p.wide);
  p.is_pointwise = is_pointwise(&p);
  p.sums_in_place = are_dense(&p, &c->out);
  const int64_t items = c->in.images * c->groups * p.tiles * p.row_blocks;
  const double work = (double)items * (double)p.lanes * (double)p.taps *
                      (double)c->in_channels * (double)c->out_channels;
  const etx_thread_tiles tiles = {temporary, engine_tile_bytes(c)};
  etx_parallel_for_tiled(parallel, (size_t)items, work, run_items, &p, &tiles);
}

static int64_t greatest_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// Reduces a transposed convolution to results `first`, first + stride and so on
// of a dimension: input i adds to result i * stride - padding + k * dilation.
static void cut_phase(etx_convolution* c, size_t d, int64_t first) {
  const etx_window w = c->windows[d];
  const int64_t shared = greatest_divisor(w.stride, w.dilation);
  const int64_t step = w.stride / shared, reach = first + w.padding;
  int64_t tap = 0, taps = 0;
  while (tap < w.kernel && (reach - tap * w.dilation) % w.stride != 0) ++tap;
  if (tap < w.kernel) taps = (w.kernel - tap - 1) / step + 1;
  if (taps > 1) tap += (taps - 1) * step;
  c->windows[d] = (etx_window){
      w.in, (w.out - first - 1) / w.stride + 1,     taps,
      1,    -(reach - tap * w.dilation) / w.stride, w.dilation / shared};
  if (taps > 0) {
    c->weight.data += (ptrdiff_t)tap * c->weight.strides[d] * c->weight.bytes;
  }
  c->weight.strides[d] *= -(ptrdiff_t)step;
  c->out.data += (ptrdiff_t)first * c->out.strides[d] * c->out.bytes;
  c->out.strides[d] *= (ptrdiff_t)w.stride;
  c->out.sizes[d] = c->windows[d].out;
}

static int64_t phase_count(const etx_window* w) {
  return w->stride < w->out ? w->stride : w->out;
}

static void run_phases(const etx_convolution* c, const etx_parallel* parallel,
                       void* temporary) {
  const etx_window* w = c->windows;
  if (!c->transposed) {
    run_phase(c, parallel, temporary);
    return;
  }
  for (int64_t z = 0; z < phase_count(&w[0]); ++z) {
    for (int64_t y = 0; y < phase_count(&w[1]); ++y) {
      for (int64_t x = 0; x < phase_count(&w[2]); ++x) {
        etx_convolution cut = *c;
        cut_phase(&cut, 0, z);
        cut_phase(&cut, 1, y);
        cut_phase(&cut, 2, x);
        run_phase(&cut, parallel, temporary);
      }
    }
  }
}

// The variant may depend on the instruction set and on strides, the memory may
// not. So it is what the most demanding variant for the type needs.
etx_status etx_convolution_temporary(const etx_convolution* c,
                                     const etx_call* call, size_t* out_bytes) {
  size_t tile = engine_tile_bytes(c), product_bytes = 0;
  bool fits = true;
  if (c->in.dtype == ETX_DTYPE_FLOAT32) {
    const size_t other = c->transposed ? etx_convolution_subpixel_tile(c)
                                       : etx_convolution_patches_tile(c);
    const etx_gemm product = etx_convolution_gemm_sizes(c);
    if (tile < other) tile = other;
    fits = c->has_panels ||
           etx_gemm_temporary(&product, call->parallel, &product_bytes);
  }
  if (!fits || !etx_thread_tiles_needed(call->parallel, tile, out_bytes)) {
    return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                           "the tiles of a convolution do not fit in memory");
  }
  if (*out_bytes < product_bytes) *out_bytes = product_bytes;
  return ETX_OK;
}

void etx_convolution_run(const etx_convolution* c, const etx_parallel* parallel,
                         void* temporary) {
  size_t columns =
      (size_t)(c->out.sizes[0] * c->out.sizes[1] * c->out.sizes[2]);
  const size_t numel = (size_t)(c->out.images * c->out.channels) * columns;
  if (etx_convolution_gemm(c, parallel, temporary)) {
    // Planes of a single element are rows that are too short.
    columns = numel;
  } else if (c->transposed ? etx_convolution_subpixel(c, parallel, temporary)
                           : etx_convolution_patches(c, parallel, temporary)) {
    return;
  } else {
    run_phases(c, parallel, temporary);
  }
  if (c->chain == NULL) return;
  etx_chain_run_all(c->chain, (float*)(void*)c->out.data, numel, columns,
                    parallel);
}
