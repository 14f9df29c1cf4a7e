#include "runtime/kernels/image/pooling.h"

#include "runtime/kernels/core/parallel_for.h"
#include "runtime/kernels/registry/op_arguments.h"

static etx_window read_window(const etx_call* call, size_t first, size_t item,
                              bool has_dilation) {
  const size_t strides = etx_call_value(call, first + 1)->as.integers.count > 0
                             ? first + 1
                             : first;
  const etx_window w = {
      .kernel = etx_call_list_item(call, first, item),
      .stride = etx_call_list_item(call, strides, item),
      .padding = etx_call_list_item(call, first + 2, item),
      .dilation = has_dilation ? etx_call_list_item(call, first + 3, item) : 1};
  return w;
}

// False for windows that are wide in relation to the result's rows.
static bool can_vectorise(const etx_pooling* p) {
  const int64_t limit =
      INT16_MAX;  // of taps: max pooling packs two into 32 bits
  return p->y.kernel <= limit && p->x.kernel <= limit &&
         (p->are_lanes_channels || p->x.kernel < 2 * p->x.out);
}

etx_pooling etx_pooling_read(const etx_call* call, size_t out, size_t first,
                             bool has_dilation) {
  etx_pooling p = {
      .in = etx_planes_of(etx_call_tensor(call, ETX_ARG_avg_pool2d_self)),
      .out = etx_planes_of(etx_call_tensor(call, out)),
      .y = read_window(call, first, 0, has_dilation),
      .x = read_window(call, first, 1, has_dilation)};
  p.compute = etx_compute_type_of(p.in.dtype);
  p.y.in = p.in.rows;
  p.y.out = p.out.rows;
  p.x.in = p.in.columns;
  p.x.out = p.out.columns;
  p.are_lanes_channels = etx_planes_are_channels_last(&p.in);
  p.has_lanes = can_vectorise(&p);
  p.are_lanes_channels = p.are_lanes_channels && p.has_lanes;
  return p;
}

typedef struct block_visitor {
  const etx_pooling* pool;
  etx_pooling_function function;
  const void* context;
} block_visitor;

static size_t block_of(int64_t rest) {
  return rest < ETX_BLOCK ? (size_t)rest : (size_t)ETX_BLOCK;
}

static void visit_columns(const block_visitor* v, etx_pooling_lanes* l) {
  const etx_pooling* p = v->pool;
  l->in = etx_planes_at(&p->in, l->image, l->channel);
  l->in_step = (ptrdiff_t)p->x.stride * p->in.column;
  const int64_t extent = (p->x.kernel - 1) * p->x.dilation;
  for (l->x = 0; l->x < p->x.out; l->x += (int64_t)l->count) {
    l->count = p->has_lanes ? block_of(p->x.out - l->x) : 1;
    const int64_t last = l->x + (int64_t)l->count - 1;
    l->are_inside = etx_window_start(&p->x, l->x) >= 0 &&
                    etx_window_start(&p->x, last) + extent < p->x.in;
    v->function(v->context, l);
  }
}

static void visit_channels(const block_visitor* v, etx_pooling_lanes* l) {
  const etx_pooling* p = v->pool;
  l->in_step = p->in.channel;
  l->are_inside = true;
  for (l->channel = 0; l->channel < p->in.channels; l->channel += ETX_BLOCK) {
    l->in = etx_planes_at(&p->in, l->image, l->channel);
    l->count = block_of(p->in.channels - l->channel);
    for (l->x = 0; l->x < p->x.out; ++l->x) v->function(v->context, l);
  }
}

// Visits rows [first, end) of the result, counted over all planes, or over
// images if channels are lanes.
static void visit_rows(const void* context, size_t first, size_t end) {
  const block_visitor* v = context;
  const etx_pooling* p = v->pool;
  const int64_t channels = p->are_lanes_channels ? 1 : p->in.channels;
  for (size_t i = first; i < end; ++i) {
    const int64_t plane = (int64_t)i / p->y.out;
    etx_pooling_lanes l = {.image = plane / channels,
                           .channel = plane % channels,
                           .y = (int64_t)i % p->y.out};
    if (p->are_lanes_channels) {
      visit_channels(v, &l);
    } else {
      visit_columns(v, &l);
    }
  }
}

void etx_pooling_run(const etx_pooling* p, const etx_parallel* parallel,
                     etx_pooling_function function, const void* context) {
  const block_visitor v = {p, function, context};
  const int64_t planes =
      p->in.images * (p->are_lanes_channels ? 1 : p->in.channels);
  const double work = (double)p->in.images * (double)p->in.channels *
                      (double)p->y.out * (double)p->x.out *
                      (double)p->y.kernel * (double)p->x.kernel;
  etx_parallel_for(parallel, (size_t)(planes * p->y.out), work, visit_rows, &v);
}

etx_pooling_elements etx_pooling_tap(const etx_pooling* p,
                                     const etx_pooling_lanes* l,
                                     const char* row, int64_t kx,
                                     etx_block* block) {
  etx_span range = {0, (int64_t)l->count};
  if (!l->are_inside) {
    const etx_span inside = etx_window_outputs(&p->x, kx);
    if (inside.first > l->x) range.first = inside.first - l->x;
    if (inside.end - l->x < range.end) range.end = inside.end - l->x;
  }
  if (range.first >= range.end) return (etx_pooling_elements){0};
  const int64_t column = etx_window_start(&p->x, l->x) + kx * p->x.dilation;
  const ptrdiff_t at =
      (ptrdiff_t)column * p->in.column + (ptrdiff_t)range.first * l->in_step;
  const size_t count = (size_t)(range.end - range.first);
  const etx_pooling_elements elements = {
      etx_row_widen(block, p->compute, p->in.dtype, row + at * p->in.bytes,
                    l->in_step, count),
      (size_t)range.first, count};
  return elements;
}
