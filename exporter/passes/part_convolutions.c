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
// in the result, so join_parts leaves nothing of the concatenation. Every
// element is the same sum as before.
//
// "Depth first", "patch-based" inference has to compute the borders of patches
// twice (MCUNetV2, Lin et al., 2021, section 3); parts of channels have none.

#include "exporter/constant_readers.h"
#include "exporter/ir_edit.h"
#include "exporter/ir_rewrite.h"

enum {
  WEIGHT = 1,  // arguments of convolutions
  BIAS = 2,
  GROUPS = 8,
  OTHERS = 9,  // of those with a chain
  ARGUMENTS = 11,
  LANES = 16,  // results that convolutions compute together, at most
  MOST_PARTS = 64,
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
  return !node->args[6].as.boolean && has_numbers_only(rewrite, node);
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

// True if a part of the result can be computed where it belongs (join_parts).
static bool lies_in_place(const etx_rewrite* rewrite, const parting* p) {
  const etx_ir_method* const method = rewrite->lower.method;
  uint64_t bytes = 0;
  return etx_ir_upper_bytes(
             method, &method->values[p->planes->outputs[0]].shape, &bytes) &&
         bytes / (uint64_t)p->channels * (uint64_t)p->step %
                 rewrite->lower.module->alignment ==
             0;
}

static bool find_parts(const etx_rewrite* rewrite, parting* out) {
  const etx_ir_node* const planes = rewrite->lower.node;
  if (!is_convolution(planes) || !has_constants(rewrite, planes) ||
      !etx_rewrite_is_only_use(rewrite, planes->args[0].as.value)) {
    return false;
  }
  const etx_ir_node* const layer =
      etx_ir_definition(rewrite->lower.method, planes->args[0].as.value);
  if (layer == NULL || !is_convolution(layer) ||
      !has_constants(rewrite, layer) || !is_pointwise(rewrite, layer) ||
      layer->branch != planes->branch) {
    return false;
  }
  const etx_shape* const shape = etx_rewrite_shape(rewrite, &planes->args[0]);
  const etx_shape* const v = etx_rewrite_shape(rewrite, &planes->args[WEIGHT]);
  if (shape->rank != 4 || !etx_ir_is_static(shape) || shape->dims[0] != 1 ||
      shape->dims[1] != v->dims[0] ||
      !etx_rewrite_is_int(&planes->args[GROUPS], shape->dims[1])) {
    return false;
  }
  uint64_t bytes = 0;
  if (!etx_ir_upper_bytes(rewrite->lower.method, shape, &bytes) ||
      bytes < least_bytes) {
    return false;
  }
  *out = (parting){.layer = layer,
                   .planes = planes,
                   .channels = shape->dims[1],
                   .step = step_of(shape->dims[1], bytes)};
  return out->step < out->channels && out->channels <= out->step * MOST_PARTS &&
         lies_in_place(rewrite, out);
}

// Rows [start, start + count) of a weight or a bias.
static etx_status take_rows(etx_lower* lower, etx_ir_arg* arg, int64_t start,
                            int64_t count) {
  if (arg->kind == ETX_IR_ARG_NONE) return ETX_OK;
  const etx_ir_constant* const whole =
      &lower->module
           ->constants[etx_constant_behind(lower->module, lower->method, arg)];
  etx_ir_constant part = *whole;
  const size_t row = whole->data.size / (size_t)whole->sizes[0];
  part.sizes[0] = count;
  part.data.data += (size_t)start * row;
  part.data.size = (size_t)count * row;
  uint32_t value = 0;
  ETX_TRY(etx_lower_constant(lower, &part, &value));
  *arg = etx_ir_value_arg(value);
  return ETX_OK;
}

// The part of `node` that gives these channels from `input`.
static etx_status emit_part(etx_lower* lower, const etx_ir_node* node,
                            uint32_t input, int64_t start, int64_t count,
                            uint32_t* out_value) {
  etx_ir_arg args[ARGUMENTS];
  memcpy(args, node->args, node->arg_count * sizeof *args);
  args[0] = etx_ir_value_arg(input);
  ETX_TRY(take_rows(lower, &args[WEIGHT], start, count));
  ETX_TRY(take_rows(lower, &args[BIAS], start, count));
  if (!etx_rewrite_is_int(&args[GROUPS], 1)) args[GROUPS] = etx_ir_int(count);
  // What a line of the model became is told by its node.
  const etx_ir_node* const offered = lower->node;
  lower->node = node;
  const etx_status status =
      etx_lower_emit(lower, node->op->id, args, node->arg_count, out_value);
  lower->node = offered;
  return status;
}

static etx_status find_planes(etx_rewrite* rewrite, bool* out_done) {
  etx_lower* const lower = &rewrite->lower;
  parting p;
  etx_ir_arg parts[MOST_PARTS];
  size_t part_count = 0;
  if (!find_parts(rewrite, &p)) return ETX_OK;
  // By value: appending moves the list they stand in.
  const etx_ir_node layer = *p.layer;
  for (int64_t start = 0; start < p.channels; start += p.step) {
    const int64_t left = p.channels - start;
    const int64_t count = left < p.step ? left : p.step;
    uint32_t value = layer.args[0].as.value;
    ETX_TRY(emit_part(lower, &layer, value, start, count, &value));
    ETX_TRY(emit_part(lower, p.planes, value, start, count, &value));
    parts[part_count++] = etx_ir_value_arg(value);
  }
  const etx_ir_arg args[2] = {etx_ir_list(parts, part_count), etx_ir_int(1)};
  *out_done = true;
  ETX_TRY(etx_fusion_made(rewrite->fusions, lower, kind));
  return etx_lower_emit(lower, ETX_OP_cat_out, args, 2, &lower->results[0]);
}

etx_status etx_pass_part_convolutions(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {find_planes};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  return etx_rewrite_module(context, rules, 1);
}
