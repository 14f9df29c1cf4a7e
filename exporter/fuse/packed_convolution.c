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
  CHAIN_OTHERS = 9,
  PANEL = 16,  // output channels
  // Fewer input channels, output channels or products per sum: there is little
  // to multiply, or other kernels are as fast.
  MIN_INPUTS = 16,
  MIN_OUTPUTS = 32,
  MIN_SUMMED = 257,
  MAX_TAPS = 147,  // limit of the kernels over panels
  // With more output pixels per channel, packing the weight at run time costs
  // little compared with the convolution.
  MANY_RESULTS = 4096,     // 2-d
  MANY_1D_RESULTS = 1024,  // 1-d
  MANY_1D_OUTPUTS = 128,   // output channels from which 1-d is packed anyway
  // With fewer tiles of 2 x 2 outputs, Winograd's transforms cost more than
  // they save.
  MIN_TILES = 12,
  // 1 x 1 convolutions: output pixels and input channels for which kernels
  // vectorised over output channels are faster.
  MIN_POINT_RESULTS = 6,
  MAX_POINT_RESULTS = 256,
  MIN_POINT_INPUTS = 64,
  // They are faster again for large images whose planes are a multiple of so
  // many floats apart, because these compete for the same cache sets
  // (runtime/kernels/convolution/patch_plan.c).
  CACHE_SET_STRIDE = 4096,
  MANY_VALUES = 1 << 22,      // floats of the input
  MIN_CONFLICT_OUTPUTS = 96,  // output channels
};

static const char few_channels[] = "has few channels";
static const char few_results[] = "is used for few output pixels";
static const char many_results[] =
    "is used for many output pixels, so packing at run time costs little";

// The properties of a convolution that decide.
typedef struct convolution_layer {
  const etx_ir_node* node;
  const etx_shape* weight;
  bool is_transposed;
  int64_t groups;
  int64_t in, out;           // channels of a group
  uint64_t taps;             // of a window
  uint64_t pixels, results;  // of an input and an output channel, upper bounds
} convolution_layer;

bool etx_is_convolution(const etx_ir_node* node) {
  return node->op->id == ETX_OP_convolution_out ||
         node->op->id == ETX_OP_convolution_chain_out;
}

// True if all integers of a list argument are `wanted`.
static bool are_all(const convolution_layer* l, size_t argument,
                    int64_t wanted) {
  const etx_ir_arg* const list = &l->node->args[argument];
  for (size_t i = 0; i < list->as.list.count; ++i) {
    if (!etx_rewrite_is_int(&list->as.list.items[i], wanted)) return false;
  }
  return true;
}

// Upper bound of the number of pixels of a channel; UINT64_MAX if it overflows.
static uint64_t pixels_of(const etx_ir_method* method, const etx_shape* shape) {
  int64_t sizes[ETX_MAX_RANK];
  uint64_t count = 1;
  if (!etx_ir_upper_sizes(method, shape, sizes)) return UINT64_MAX;
  for (size_t i = 2; i < shape->rank; ++i) {
    const uint64_t size = (uint64_t)sizes[i];
    count = size != 0 && count > UINT64_MAX / size ? UINT64_MAX : count * size;
  }
  return count;
}

// True for an ordinary convolution of stride 1 with windows of `size` in each
// dimension.
static bool has_window(const convolution_layer* l, int64_t size) {
  for (size_t i = 2; i < l->weight->rank; ++i) {
    if (l->weight->dims[i] != size) return false;
  }
  return !l->is_transposed && are_all(l, STRIDE, 1);
}

static bool is_point(const convolution_layer* l) {
  return has_window(l, 1) && are_all(l, PADDING, 0);
}

// True for a 2-d convolution of one group, which the panel and Winograd kernels
// need.
static bool is_ungrouped_2d(const convolution_layer* l) {
  return l->weight->rank == 4 && l->groups == 1;
}

static bool suits_winograd(const convolution_layer* l) {
  return is_ungrouped_2d(l) && has_window(l, 3) && are_all(l, DILATION, 1) &&
         l->results >= 4 * MIN_TILES;
}

static bool has_cache_conflicts(const convolution_layer* l) {
  return l->pixels % CACHE_SET_STRIDE == 0 && l->pixels != 0 &&
         l->out >= MIN_CONFLICT_OUTPUTS &&
         (uint64_t)l->in >= MANY_VALUES / l->pixels;
}

// Why a 1 x 1 convolution cannot read panels, or gains nothing.
static const char* point_obstacle(const convolution_layer* l) {
  if (has_cache_conflicts(l)) return NULL;
  if (l->in < MIN_POINT_INPUTS) return few_channels;
  if (l->results > MAX_POINT_RESULTS) return many_results;
  return l->results < MIN_POINT_RESULTS ? few_results : NULL;
}

// The same for larger windows. A convolution with one output pixel is a matrix
// product and needs no panels.
static const char* window_obstacle(const convolution_layer* l) {
  if (l->taps > MAX_TAPS) return "has windows of more than 147 elements";
  if (l->is_transposed) return l->pixels == 1 ? few_results : NULL;
  if ((uint64_t)l->in * l->taps < MIN_SUMMED) return few_channels;
  const bool is_1d = l->weight->rank == 3 && l->out < MANY_1D_OUTPUTS;
  if (l->results > (is_1d ? MANY_1D_RESULTS : MANY_RESULTS) &&
      (l->weight->rank == 4 || is_1d)) {
    return many_results;
  }
  return l->results == 1 ? few_results : NULL;
}

static bool read_layer(const etx_ir_method* method, const etx_ir_node* node,
                       convolution_layer* l) {
  const etx_shape* const weight =
      &method->values[node->args[WEIGHT].as.value].shape;
  *l = (convolution_layer){.node = node,
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
    // Stop before overflow: more than MAX_TAPS is enough to know.
    if (l->taps <= MAX_TAPS) l->taps *= (uint64_t)weight->dims[i];
  }
  l->pixels =
      pixels_of(method, &method->values[node->args[INPUT].as.value].shape);
  l->results = pixels_of(method, &method->values[node->outputs[0]].shape);
  return true;
}

etx_packed_convolution etx_packed_convolution_of(const etx_ir_method* method,
                                                 const etx_ir_node* node) {
  convolution_layer l;
  etx_packed_convolution form = {.op = ETX_OP_convolution_packed_out};
  const etx_shape* const weight =
      &method->values[node->args[WEIGHT].as.value].shape;
  if (weight->dtype != ETX_DTYPE_FLOAT32) {
    form.obstacle = "is not float32";
  } else if (!read_layer(method, node, &l)) {
    form.obstacle = "is not the weight of a 1-d or 2-d convolution";
  } else if (l.out % PANEL != 0) {
    form.obstacle =
        "has a number of output channels that is not a multiple of 16";
  } else if (l.in < MIN_INPUTS || l.out < MIN_OUTPUTS) {
    form.obstacle = few_channels;
  } else if (is_point(&l)) {
    form.obstacle = point_obstacle(&l);
    if (is_ungrouped_2d(&l) && !has_cache_conflicts(&l)) {
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

// The arguments become (input, panels, bias, others, steps) for
// convolution_panels, the same with padding before `others` for
// convolution_winograd, and all arguments for convolution_packed.
void etx_packed_convolution_change(const etx_packed_convolution* form,
                                   etx_ir_node* node, uint32_t panels,
                                   etx_ir_arg* args) {
  const etx_ir_arg* const from = node->args;
  const bool is_whole = form->op == ETX_OP_convolution_packed_out;
  size_t count = is_whole ? CHAIN_OTHERS : STRIDE;
  memcpy(args, from, count * sizeof *args);
  args[WEIGHT] = etx_ir_value_arg(panels);
  if (form->op == ETX_OP_convolution_winograd_out) {
    args[count++] = from[PADDING];
  }
  args[count] = etx_ir_list(NULL, 0);
  args[count + 1] = (etx_ir_arg){ETX_IR_ARG_STRING, {0}};
  args[count + 1].as.string = etx_text_of("x");
  if (node->op->id == ETX_OP_convolution_chain_out) {
    memcpy(&args[count], &from[CHAIN_OTHERS], 2 * sizeof *args);
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
  const size_t out = groups == 0 ? rows : columns;  // transposed: of a group
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
