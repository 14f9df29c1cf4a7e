#include "exporter/fuse/packed_convolution.h"

#include <string.h>

#include "exporter/ir/ir_edit.h"
#include "exporter/rewrite/ir_rewrite.h"

enum {
  // (input, weight, bias, stride, padding, dilation, transposed,
  // output_padding, groups, others, steps)
  INPUT = 0,
  WEIGHT = 1,
  STRIDE = 3,
  PADDING = 4,
  DILATION = 5,
  TRANSPOSED = 6,
  GROUPS = 8,
  OTHERS = 9,
  PANEL = 16,  // result channels
  // Below these there is little to multiply, or other loops are as fast.
  LEAST_INPUTS = 16,
  LEAST_OUTPUTS = 32,
  LEAST_SUMMED = 257,  // products of a sum
  MOST_TAPS = 147,     // that the runtime's loops over panels take
  // Results of a channel, of a plane and of a line, beyond which weights are
  // turned for so many that it costs little.
  MANY_RESULTS = 4096,
  MANY_OF_LINES = 1024,
  MANY_OUTPUTS = 128,  // to which lines are panels nevertheless
  // Of Winograd's form: below, transforming costs more than it saves.
  LEAST_TILES = 12,  // of 2 x 2 results
  // Of windows of one pixel: results and channels, with which result channels
  // as lanes are faster.
  LEAST_POSITIONS = 6,
  MOST_POSITIONS = 256,
  LEAST_POINT_INPUTS = 64,
  // And from which on they are so again: channels so many floats apart, or a
  // multiple of it, have few places in a cache (SAME_PLACES in
  // runtime/kernels/convolution/patch_plan.c).
  SAME_PLACES = 4096,
  MANY_VALUES = 1 << 22,
  MANY_TO = 96,  // result channels
};

static const char few_channels[] = "has few channels";
static const char few_results[] = "few results are computed with it";
static const char many_results[] = "many results are computed with it";

// What decides.
typedef struct layer {
  const etx_ir_node* node;
  const etx_shape* weight;
  bool is_transposed;
  int64_t groups;
  int64_t in, out;         // channels of a group
  uint64_t taps;           // of a channel
  uint64_t seen, results;  // positions of an image, at most
} layer;

bool etx_is_convolution(const etx_ir_node* node) {
  return node->op->id == ETX_OP_convolution_out ||
         node->op->id == ETX_OP_convolution_chain_out;
}

// True if a list of integers, or the one of a list, is `wanted` throughout.
static bool are_all(const layer* l, size_t argument, int64_t wanted) {
  const etx_ir_arg* const list = &l->node->args[argument];
  for (size_t i = 0; i < list->as.list.count; ++i) {
    if (!etx_rewrite_is_int(&list->as.list.items[i], wanted)) return false;
  }
  return true;
}

// Upper bound of the positions of a channel, or the most there can be.
static uint64_t positions_of(const etx_ir_method* method,
                             const etx_shape* shape) {
  int64_t sizes[ETX_MAX_RANK];
  uint64_t count = 1;
  if (!etx_ir_upper_sizes(method, shape, sizes)) return UINT64_MAX;
  for (size_t i = 2; i < shape->rank; ++i) {
    const uint64_t size = (uint64_t)sizes[i];
    count = size != 0 && count > UINT64_MAX / size ? UINT64_MAX : count * size;
  }
  return count;
}

// Windows of `size` in each direction that are one step apart.
static bool steps_by_one(const layer* l, int64_t size) {
  for (size_t i = 2; i < l->weight->rank; ++i) {
    if (l->weight->dims[i] != size) return false;
  }
  return !l->is_transposed && are_all(l, STRIDE, 1);
}

static bool is_point(const layer* l) {
  return steps_by_one(l, 1) && are_all(l, PADDING, 0);
}

// What only planes of one group have.
static bool is_plane(const layer* l) {
  return l->weight->rank == 4 && l->groups == 1;
}

static bool suits_winograd(const layer* l) {
  return is_plane(l) && steps_by_one(l, 3) && are_all(l, DILATION, 1) &&
         l->results >= 4 * LEAST_TILES;
}

static bool meets_in_caches(const layer* l) {
  return l->seen % SAME_PLACES == 0 && l->seen != 0 && l->out >= MANY_TO &&
         (uint64_t)l->in >= MANY_VALUES / l->seen;
}

// Why windows of one pixel read no panels.
static const char* point_obstacle(const layer* l) {
  if (meets_in_caches(l)) return NULL;
  if (l->in < LEAST_POINT_INPUTS) return few_channels;
  if (l->results > MOST_POSITIONS) return many_results;
  return l->results < LEAST_POSITIONS ? few_results : NULL;
}

// Why others read none. Of a single position there is a product of matrices.
static const char* window_obstacle(const layer* l) {
  if (l->taps > MOST_TAPS) return "is of windows that are too large";
  if (l->is_transposed) return l->seen == 1 ? few_results : NULL;
  if ((uint64_t)l->in * l->taps < LEAST_SUMMED) return few_channels;
  const bool is_line = l->weight->rank == 3 && l->out < MANY_OUTPUTS;
  if (l->results > (is_line ? MANY_OF_LINES : MANY_RESULTS) &&
      (l->weight->rank == 4 || is_line)) {
    return many_results;
  }
  return l->results == 1 ? few_results : NULL;
}

static bool read_layer(const etx_ir_method* method, const etx_ir_node* node,
                       layer* l) {
  const etx_shape* const weight =
      &method->values[node->args[WEIGHT].as.value].shape;
  *l = (layer){.node = node,
               .weight = weight,
               .is_transposed = node->args[TRANSPOSED].as.boolean,
               .groups = node->args[GROUPS].as.integer,
               .taps = 1};
  if (weight->rank != 3 && weight->rank != 4) return false;
  if (l->groups < 1 || weight->dims[0] % l->groups != 0) return false;
  const int64_t rows = weight->dims[0] / l->groups;
  l->in = l->is_transposed ? rows : weight->dims[1];
  l->out = l->is_transposed ? weight->dims[1] : rows;
  for (size_t i = 2; i < weight->rank; ++i) {
    if (weight->dims[i] < 1) return false;
    // Of a window that is too large any number will do that is.
    if (l->taps <= MOST_TAPS) l->taps *= (uint64_t)weight->dims[i];
  }
  l->seen =
      positions_of(method, &method->values[node->args[INPUT].as.value].shape);
  l->results = positions_of(method, &method->values[node->outputs[0]].shape);
  return true;
}

etx_packed_convolution etx_packed_convolution_of(const etx_ir_method* method,
                                                 const etx_ir_node* node) {
  layer l;
  etx_packed_convolution form = {.op = ETX_OP_convolution_packed_out};
  const etx_shape* const weight =
      &method->values[node->args[WEIGHT].as.value].shape;
  if (weight->dtype != ETX_DTYPE_FLOAT32) {
    form.obstacle = "is not float32";
  } else if (!read_layer(method, node, &l)) {
    form.obstacle = "is of no lines or planes";
  } else if (l.out % PANEL != 0) {
    form.obstacle = "has no whole panels of 16 channels";
  } else if (l.in < LEAST_INPUTS || l.out < LEAST_OUTPUTS) {
    form.obstacle = few_channels;
  } else if (is_point(&l)) {
    form.obstacle = point_obstacle(&l);
    if (is_plane(&l) && !meets_in_caches(&l)) {
      form.op = ETX_OP_convolution_panels_out;
    }
  } else if (suits_winograd(&l)) {
    form.op = ETX_OP_convolution_winograd_out;
  } else {
    form.transposed_groups = l.is_transposed ? l.groups : 0;
    form.obstacle = window_obstacle(&l);
  }
  return form;
}

// (input, panels, bias, others, steps), Winograd's form with the padding in
// front of others, or all.
void etx_packed_convolution_change(const etx_packed_convolution* form,
                                   etx_ir_node* node, uint32_t panels,
                                   etx_ir_arg* args) {
  const etx_ir_arg* const from = node->args;
  const bool is_whole = form->op == ETX_OP_convolution_packed_out;
  size_t count = is_whole ? OTHERS : STRIDE;
  memcpy(args, from, count * sizeof *args);
  args[WEIGHT] = etx_ir_value_arg(panels);
  if (form->op == ETX_OP_convolution_winograd_out) {
    args[count++] = from[PADDING];
  }
  args[count] = etx_ir_list(NULL, 0);
  args[count + 1] = (etx_ir_arg){ETX_IR_ARG_STRING, {0}};
  args[count + 1].as.string = etx_text_of("x");
  if (node->op->id == ETX_OP_convolution_chain_out) {
    memcpy(&args[count], &from[OTHERS], 2 * sizeof *args);
  }
  node->args = args;
  node->arg_count = count + 2;
  node->op = etx_op_at(form->op);
}

void etx_packed_convolution_write(const etx_packed_convolution* form,
                                  const etx_ir_constant* from,
                                  etx_ir_constant* panels, uint8_t* to) {
  const size_t side = sizeof(float);
  const int64_t groups = form->transposed_groups;
  const size_t rows = (size_t)from->sizes[0], columns = (size_t)from->sizes[1];
  const size_t taps = from->data.size / side / rows / columns;
  const size_t out = groups == 0 ? rows : columns;  // of a group, or all
  const size_t in = groups == 0 ? columns : rows / (size_t)groups;
  const size_t all = groups == 0 ? out : out * (size_t)groups;
  for (size_t n = 0; n < all; n += PANEL) {
    const size_t group = n / out;
    for (size_t k = 0; k < in * taps; ++k) {
      const size_t channel = k / taps, tap = k % taps;
      for (size_t c = n % out; c < n % out + PANEL; ++c, to += side) {
        const size_t at =
            groups == 0 ? c * in + channel : (group * in + channel) * out + c;
        memcpy(to, from->data.data + (at * taps + tap) * side, side);
      }
    }
  }
  panels->rank = (uint8_t)(from->rank + 1);
  panels->sizes[0] = (int64_t)(all / PANEL);
  panels->sizes[1] = (int64_t)in;
  memcpy(&panels->sizes[2], &from->sizes[2],
         (from->rank - 2u) * sizeof *from->sizes);
  panels->sizes[from->rank] = PANEL;
}
