// A convolution of all channels whose result the next operator takes plane by
// plane is computed some channels at a time, each time followed by these
// planes:
//
//   y = convolution(x, w)              y0 = convolution(x, w[0:16])
//   z = convolution(y, v, groups=C)    z0 = convolution(y0, v[0:16], groups=16)
//                                      y1 = convolution(x, w[16:32])
//                                      z1 = convolution(y1, v[16:32], ..)
//                                      z = cat([z0, z1, ..], 1)
//
// So what lies between the two is read while it is still in the cache, and only
// a part of it is live at once. The parts of one image lie one after the other
// in the result, so elide_concat leaves nothing of the concatenation. Every
// element is the same sum as before.
//
// Each part sees all of x, so x has to be small beside y: a network's
// expansions are such. With x a third of y and a part two thirds at most, what
// is live with z and a part is not more than what was live with y.
//
// "Depth first", "patch-based" inference has to compute the borders of patches
// twice (MCUNetV2, Lin et al., 2021, section 3); parts of channels have none.

#include "exporter/rewrite/constant_users.h"
#include "exporter/ir/ir_edit.h"
#include "exporter/rewrite/ir_rewrite.h"

enum {
  WEIGHT = 1,  // arguments of convolutions
  BIAS = 2,
  TRANSPOSED = 6,
  GROUPS = 8,
  OTHERS = 9,  // of those with a chain
  ARGUMENTS = 11,
  LANES = 16,  // results that convolutions compute together, at most
  MOST_PARTS = 64,
  LEAST_GROWTH = 3,  // bytes between the two for one of what is seen
};

// Bytes between the two operators from which parts pay, and of one part: what a
// core's own cache holds beside what is read and written.
static const uint64_t least_bytes = 1 << 20, part_bytes = 5 << 17;

static const char* const kind = "convolution and planes";

typedef struct parting {
  const etx_ir_node* layer;   // convolution of all channels
  const etx_ir_node* planes;  // what reads its result
  int64_t channels;           // between the two
  int64_t step;               // of them in a part
} parting;

// A convolution, with what follows it or without.
static bool is_convolution(const etx_ir_node* node) {
  return node->op->id == ETX_OP_convolution_out ||
         node->op->id == ETX_OP_convolution_chain_out;
}

// True if every tensor that the chain reads besides has one element.
static bool has_numbers_only(const etx_rewrite* rewrite,
                             const etx_ir_node* node) {
  if (node->op->id != ETX_OP_convolution_chain_out) return true;
  const etx_ir_arg* const others = &node->args[OTHERS];
  for (size_t i = 0; i < others->as.list.count; ++i) {
    const etx_shape* const shape =
        etx_rewrite_shape(rewrite, &others->as.list.items[i]);
    for (size_t d = 0; d < shape->rank; ++d) {
      if (shape->dims[d] != 1) return false;
    }
  }
  return true;
}

// True if parts of weight and bias are known.
static bool has_constants(const etx_rewrite* rewrite, const etx_ir_node* node) {
  const etx_ir_module* const module = rewrite->lower.module;
  for (size_t i = WEIGHT; i <= BIAS; ++i) {
    const etx_ir_arg* const arg = &node->args[i];
    if (arg->kind == ETX_IR_ARG_NONE) continue;
    if (etx_constant_behind(module, rewrite->lower.method, arg) >=
        module->constant_count) {
      return false;
    }
  }
  return !node->args[TRANSPOSED].as.boolean && has_numbers_only(rewrite, node);
}

// Windows of one pixel: others are copied or transformed first, for each part
// anew.
static bool is_pointwise(const etx_rewrite* rewrite, const etx_ir_node* node) {
  const etx_shape* const w = etx_rewrite_shape(rewrite, &node->args[WEIGHT]);
  for (size_t i = 2; i < w->rank; ++i) {
    if (w->dims[i] != 1) return false;
  }
  return etx_rewrite_is_int(&node->args[GROUPS], 1);
}

// Channels of a part, for parts of as equal a size as can be.
static int64_t step_of(int64_t channels, uint64_t bytes) {
  const uint64_t fit = part_bytes / (bytes / (uint64_t)channels);
  const int64_t most = fit < LANES ? 1 : (int64_t)(fit / LANES);
  const int64_t blocks = (channels + LANES - 1) / LANES;
  const int64_t parts = (blocks + most - 1) / most;
  return (blocks + parts - 1) / parts * LANES;
}

// True if parts of the result begin where values may begin (elide_concat).
static bool are_parts_aligned(const etx_rewrite* rewrite, const parting* p) {
  const etx_ir_method* const method = rewrite->lower.method;
  uint64_t bytes = 0;
  return etx_ir_upper_bytes(
             method, &method->values[p->planes->outputs[0]].shape, &bytes) &&
         bytes / (uint64_t)p->channels * (uint64_t)p->step %
                 rewrite->lower.module->alignment ==
             0;
}

// What else reads a constant than a method at hand.
typedef struct other_readers {
  size_t constant;
  const etx_ir_method* method;
  bool are_there;
} other_readers;

static void note_reader(void* context, size_t constant,
                        const etx_constant_user* reader) {
  other_readers* const others = context;
  if (constant == others->constant && reader->method != others->method) {
    others->are_there = true;
  }
}

// True if parts of the weight would not be in the file beside the whole.
static bool owns_weight(const etx_rewrite* rewrite, const etx_ir_node* node) {
  const etx_builder* const lower = &rewrite->lower;
  const etx_ir_arg* const weight = &node->args[WEIGHT];
  other_readers others = {
      etx_constant_behind(lower->module, lower->method, weight), lower->method,
      false};
  if (!etx_rewrite_is_only_use(rewrite, weight->as.value)) return false;
  etx_constant_users_visit(lower->module, note_reader, &others);
  return !others.are_there;
}

// The new content of a state is computed in the state.
static bool is_new_content(const etx_ir_method* method, uint32_t value) {
  for (size_t i = 0; i < method->mutation_count; ++i) {
    if (method->mutations[i].value == value) return true;
  }
  return false;
}

// True if the two are large enough, and in the right proportions.
static bool find_sizes(const etx_rewrite* rewrite, parting* p) {
  const etx_ir_method* const method = rewrite->lower.method;
  const etx_shape* const shape =
      etx_rewrite_shape(rewrite, &p->planes->args[0]);
  uint64_t seen = 0, bytes = 0;
  if (shape->rank != 4 || !etx_ir_is_static(shape) || shape->dims[0] != 1 ||
      !etx_ir_upper_bytes(method, shape, &bytes) || bytes < least_bytes ||
      !etx_ir_upper_bytes(
          method, etx_rewrite_shape(rewrite, &p->layer->args[0]), &seen) ||
      seen > bytes / LEAST_GROWTH) {
    return false;
  }
  p->channels = shape->dims[1];
  p->step = step_of(p->channels, bytes);
  return p->step < p->channels && p->channels <= p->step * MOST_PARTS;
}

static bool find_parts(const etx_rewrite* rewrite, parting* p) {
  const etx_ir_method* const method = rewrite->lower.method;
  const etx_ir_node* const planes = rewrite->lower.node;
  if (!is_convolution(planes) || planes->branch != 0 ||
      !has_constants(rewrite, planes) ||
      !etx_rewrite_is_only_use(rewrite, planes->args[0].as.value) ||
      is_new_content(method, planes->outputs[0])) {
    return false;
  }
  p->planes = planes;
  p->layer = etx_ir_definition(method, planes->args[0].as.value);
  if (p->layer == NULL || !is_convolution(p->layer) || p->layer->branch != 0 ||
      !has_constants(rewrite, p->layer) || !is_pointwise(rewrite, p->layer) ||
      !find_sizes(rewrite, p)) {
    return false;
  }
  const etx_shape* const v = etx_rewrite_shape(rewrite, &planes->args[WEIGHT]);
  return v->dims[0] == p->channels &&
         etx_rewrite_is_int(&planes->args[GROUPS], p->channels) &&
         are_parts_aligned(rewrite, p) && owns_weight(rewrite, p->layer) &&
         owns_weight(rewrite, planes);
}

// Rows [start, start + count) of a weight or a bias.
static etx_status take_rows(etx_rewrite* rewrite, etx_ir_arg* arg,
                            int64_t start, int64_t count) {
  etx_builder* const lower = &rewrite->lower;
  etx_ir_module* const module = lower->module;
  if (arg->kind == ETX_IR_ARG_NONE) return ETX_OK;
  const size_t whole = etx_constant_behind(module, lower->method, arg);
  etx_ir_constant part = module->constants[whole];
  const size_t row = part.data.size / (size_t)part.sizes[0];
  part.sizes[0] = count;
  part.data.data += (size_t)start * row;
  part.data.size = (size_t)count * row;
  uint32_t value = 0;
  ETX_TRY(etx_build_constant(lower, &part, &value));
  *arg = etx_ir_value_arg(value);
  return etx_constant_names_inherit(rewrite->constant_names, module,
                                    (uint32_t)whole,
                                    lower->method->values[value].index);
}

// The part of `node` that gives these channels from `input`.
static etx_status emit_part(etx_rewrite* rewrite, const etx_ir_node* node,
                            uint32_t input, int64_t start, int64_t count,
                            uint32_t* out_value) {
  etx_builder* const lower = &rewrite->lower;
  etx_ir_arg args[ARGUMENTS];
  memcpy(args, node->args, node->arg_count * sizeof *args);
  args[0] = etx_ir_value_arg(input);
  ETX_TRY(take_rows(rewrite, &args[WEIGHT], start, count));
  ETX_TRY(take_rows(rewrite, &args[BIAS], start, count));
  if (!etx_rewrite_is_int(&args[GROUPS], 1)) args[GROUPS] = etx_ir_int(count);
  // What a line of the model became is told by its node.
  const etx_ir_node* const offered = lower->node;
  lower->node = node;
  const etx_status status =
      etx_build_op(lower, node->op->id, args, node->arg_count, out_value);
  lower->node = offered;
  return status;
}

// Lets the first part of the layer's result have the name of the whole: it
// tells where the one's lines end and the other's begin (source_lines.h).
static void take_name(const etx_rewrite* rewrite, size_t first, uint32_t part,
                      uint32_t whole) {
  etx_ir_method* const method = rewrite->lower.method;
  etx_ir_node* const layer = &method->nodes[method->values[whole].index];
  layer->outputs[0] = ETX_IR_NONE;
  method->values[whole].shape = method->values[part].shape;
  (void)etx_ir_adopt(method, first, part, whole);
}

static etx_status find_planes(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const lower = &rewrite->lower;
  parting p;
  etx_ir_arg parts[MOST_PARTS];
  size_t part_count = 0;
  if (!find_parts(rewrite, &p)) return ETX_OK;
  // By value: appending moves the list they stand in.
  const etx_ir_node layer = *p.layer;
  const uint32_t whole = layer.outputs[0];
  const size_t first = lower->method->node_count;
  for (int64_t start = 0; start < p.channels; start += p.step) {
    const int64_t left = p.channels - start;
    const int64_t count = left < p.step ? left : p.step;
    uint32_t value = layer.args[0].as.value;
    ETX_TRY(emit_part(rewrite, &layer, value, start, count, &value));
    if (start == 0) {
      take_name(rewrite, first, value, whole);
      value = whole;
    }
    ETX_TRY(emit_part(rewrite, p.planes, value, start, count, &value));
    parts[part_count++] = etx_ir_value_arg(value);
  }
  const etx_ir_arg args[2] = {etx_ir_list(parts, part_count), etx_ir_int(1)};
  *out_done = true;
  ETX_TRY(etx_fusion_report_fused(rewrite->fusions, lower, kind));
  ETX_TRY(etx_build_op(lower, ETX_OP_cat_out, args, 2, &lower->results[0]));
  lower->method->nodes[lower->method->node_count - 1].is_parted = true;
  return ETX_OK;
}

etx_status etx_pass_split_convolution_channels(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {find_planes};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  return etx_rewrite_module(context, rules, 1);
}
