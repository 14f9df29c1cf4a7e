// Splits a 1 x 1 convolution that a depthwise convolution follows into blocks
// of output channels, each followed by its part of the depthwise convolution:
//
//   y = convolution(x, w)              y0 = convolution(x, w[0:16])
//   z = convolution(y, v, groups=C)    z0 = convolution(y0, v[0:16], groups=16)
//                                      y1 = convolution(x, w[16:32])
//                                      z1 = convolution(y1, v[16:32], ..)
//                                      z = cat([z0, z1, ..], 1)
//
// The depthwise convolution then reads each block of y while it is still in the
// cache, and only one block of y is live at a time. The blocks of one image are
// contiguous in z, so elide_concat removes the concatenation. Every element is
// the same sum as before.
//
// Each block reads all of x, so x must be small compared with y, as in the
// expansion of an inverted residual block. If x is at most a third of y and a
// block at most two thirds, then x, z and a block need no more memory than the
// larger of x and y, or y and z, did.
//
// Patch-based inference, which splits the image instead, computes the borders
// of patches twice (MCUNetV2, Lin et al., 2021, section 3). Blocks of channels
// have no borders.

#include "exporter/rewrite/constant_users.h"
#include "exporter/ir/ir_edit.h"
#include "exporter/rewrite/ir_rewrite.h"

enum {
  WEIGHT = 1,  // arguments of convolutions
  BIAS = 2,
  TRANSPOSED = 6,
  GROUPS = 8,
  OTHERS = 9,  // of a convolution with an epilogue
  ARGUMENTS = 11,
  LANES = 16,  // output channels that kernels compute together, at most
  MAX_BLOCKS = 64,
  MIN_GROWTH = 3,  // bytes of y for each byte of x
};

// Bytes of y from which splitting pays, and bytes of a block: what fits into a
// core's own cache next to the data that is read and written.
static const uint64_t min_bytes = 1 << 20, block_bytes = 5 << 17;

static const char* const kind = "convolution in channel blocks";

typedef struct channel_split {
  const etx_ir_node* layer;      // the 1 x 1 convolution
  const etx_ir_node* depthwise;  // the only node that reads its result
  int64_t channels;              // of the value between them
  int64_t step;                  // channels of a block
} channel_split;

// True for a convolution, with an epilogue or without.
static bool is_convolution(const etx_ir_node* node) {
  return node->op->id == ETX_OP_convolution_out ||
         node->op->id == ETX_OP_convolution_chain_out;
}

// True if every tensor that the epilogue reads has one element.
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

// True for an ordinary convolution whose weight and bias are constant.
static bool has_constants(const etx_rewrite* rewrite, const etx_ir_node* node) {
  const etx_ir_module* const module = rewrite->builder.module;
  for (size_t i = WEIGHT; i <= BIAS; ++i) {
    const etx_ir_arg* const arg = &node->args[i];
    if (arg->kind == ETX_IR_ARG_NONE) continue;
    if (etx_constant_behind(module, rewrite->builder.method, arg) >=
        module->constant_count) {
      return false;
    }
  }
  return !node->args[TRANSPOSED].as.boolean && has_numbers_only(rewrite, node);
}

// True for an ungrouped 1 x 1 convolution. For larger windows the kernels copy
// or transform x first, which each block would repeat.
static bool is_pointwise(const etx_rewrite* rewrite, const etx_ir_node* node) {
  const etx_shape* const w = etx_rewrite_shape(rewrite, &node->args[WEIGHT]);
  for (size_t i = 2; i < w->rank; ++i) {
    if (w->dims[i] != 1) return false;
  }
  return etx_rewrite_is_int(&node->args[GROUPS], 1);
}

// Channels of a block: a multiple of LANES, with blocks as equal as possible.
static int64_t step_of(int64_t channels, uint64_t bytes) {
  const uint64_t fit = block_bytes / (bytes / (uint64_t)channels);
  const int64_t most = fit < LANES ? 1 : (int64_t)(fit / LANES);
  const int64_t blocks = (channels + LANES - 1) / LANES;
  const int64_t parts = (blocks + most - 1) / most;
  return (blocks + parts - 1) / parts * LANES;
}

// True if the blocks of the result are aligned, as elide_concat needs.
static bool are_blocks_aligned(const etx_rewrite* rewrite,
                               const channel_split* p) {
  const etx_ir_method* const method = rewrite->builder.method;
  uint64_t bytes = 0;
  return etx_ir_upper_bytes(
             method, &method->values[p->depthwise->outputs[0]].shape, &bytes) &&
         bytes / (uint64_t)p->channels * (uint64_t)p->step %
                 rewrite->builder.module->alignment ==
             0;
}

// Searches for readers of a constant outside of one method.
typedef struct other_readers {
  size_t constant;
  const etx_ir_method* method;
  bool is_found;
} other_readers;

static void note_reader(void* context, size_t constant,
                        const etx_constant_user* reader) {
  other_readers* const others = context;
  if (constant == others->constant && reader->method != others->method) {
    others->is_found = true;
  }
}

// True if nothing else reads the weight, so that splitting it does not store it
// twice.
static bool owns_weight(const etx_rewrite* rewrite, const etx_ir_node* node) {
  const etx_builder* const builder = &rewrite->builder;
  const etx_ir_arg* const weight = &node->args[WEIGHT];
  other_readers others = {
      etx_constant_behind(builder->module, builder->method, weight),
      builder->method, false};
  if (!etx_rewrite_is_only_use(rewrite, weight->as.value)) return false;
  etx_constant_users_visit(builder->module, note_reader, &others);
  return !others.is_found;
}

// True for the new content of a state, which is computed in the state itself.
static bool is_new_state(const etx_ir_method* method, uint32_t value) {
  for (size_t i = 0; i < method->mutation_count; ++i) {
    if (method->mutations[i].value == value) return true;
  }
  return false;
}

// Sets the sizes of the split; false if y is too small for it or x too large.
static bool find_sizes(const etx_rewrite* rewrite, channel_split* p) {
  const etx_ir_method* const method = rewrite->builder.method;
  const etx_shape* const shape =
      etx_rewrite_shape(rewrite, &p->depthwise->args[0]);
  uint64_t seen = 0, bytes = 0;
  if (shape->rank != 4 || !etx_ir_is_static(shape) || shape->dims[0] != 1 ||
      !etx_ir_upper_bytes(method, shape, &bytes) || bytes < min_bytes ||
      !etx_ir_upper_bytes(
          method, etx_rewrite_shape(rewrite, &p->layer->args[0]), &seen) ||
      seen > bytes / MIN_GROWTH) {
    return false;
  }
  p->channels = shape->dims[1];
  p->step = step_of(p->channels, bytes);
  return p->step < p->channels && p->channels <= p->step * MAX_BLOCKS;
}

static bool find_split(const etx_rewrite* rewrite, channel_split* p) {
  const etx_ir_method* const method = rewrite->builder.method;
  const etx_ir_node* const depthwise = rewrite->builder.node;
  if (!is_convolution(depthwise) || depthwise->branch != 0 ||
      !has_constants(rewrite, depthwise) ||
      !etx_rewrite_is_only_use(rewrite, depthwise->args[0].as.value) ||
      is_new_state(method, depthwise->outputs[0])) {
    return false;
  }
  p->depthwise = depthwise;
  p->layer = etx_ir_definition(method, depthwise->args[0].as.value);
  if (p->layer == NULL || !is_convolution(p->layer) || p->layer->branch != 0 ||
      !has_constants(rewrite, p->layer) || !is_pointwise(rewrite, p->layer) ||
      !find_sizes(rewrite, p)) {
    return false;
  }
  const etx_shape* const v =
      etx_rewrite_shape(rewrite, &depthwise->args[WEIGHT]);
  return v->dims[0] == p->channels &&
         etx_rewrite_is_int(&depthwise->args[GROUPS], p->channels) &&
         are_blocks_aligned(rewrite, p) && owns_weight(rewrite, p->layer) &&
         owns_weight(rewrite, depthwise);
}

// Replaces a weight or bias by its rows [start, start + count).
static etx_status slice_rows(etx_rewrite* rewrite, etx_ir_arg* arg,
                             int64_t start, int64_t count) {
  etx_builder* const builder = &rewrite->builder;
  etx_ir_module* const module = builder->module;
  if (arg->kind == ETX_IR_ARG_NONE) return ETX_OK;
  const size_t whole = etx_constant_behind(module, builder->method, arg);
  etx_ir_constant part = module->constants[whole];
  const size_t row = part.data.size / (size_t)part.sizes[0];
  part.sizes[0] = count;
  part.data.data += (size_t)start * row;
  part.data.size = (size_t)count * row;
  uint32_t value = 0;
  ETX_TRY(etx_build_constant(builder, &part, &value));
  *arg = etx_ir_value_arg(value);
  return etx_constant_names_inherit(rewrite->constant_names, module,
                                    (uint32_t)whole,
                                    builder->method->values[value].index);
}

// The convolution `node` for `count` output channels from `start` on.
static etx_status emit_block(etx_rewrite* rewrite, const etx_ir_node* node,
                             uint32_t input, int64_t start, int64_t count,
                             uint32_t* out_value) {
  etx_builder* const builder = &rewrite->builder;
  etx_ir_arg args[ARGUMENTS];
  memcpy(args, node->args, node->arg_count * sizeof *args);
  args[0] = etx_ir_value_arg(input);
  ETX_TRY(slice_rows(rewrite, &args[WEIGHT], start, count));
  ETX_TRY(slice_rows(rewrite, &args[BIAS], start, count));
  if (!etx_rewrite_is_int(&args[GROUPS], 1)) args[GROUPS] = etx_ir_int(count);
  // The source lines of the new node are those of `node`.
  const etx_ir_node* const matched = builder->node;
  builder->node = node;
  const etx_status status =
      etx_build_op(builder, node->op->id, args, node->arg_count, out_value);
  builder->node = matched;
  return status;
}

// Gives the first block of y the value and name of y, so that source_lines.h
// can tell which nodes belong to which of the two convolutions.
static void reuse_name(const etx_rewrite* rewrite, size_t first, uint32_t part,
                       uint32_t whole) {
  etx_ir_method* const method = rewrite->builder.method;
  etx_ir_node* const layer = &method->nodes[method->values[whole].index];
  layer->outputs[0] = ETX_IR_NONE;
  method->values[whole].shape = method->values[part].shape;
  (void)etx_ir_adopt(method, first, part, whole);
}

static etx_status split_layer(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  channel_split p;
  etx_ir_arg parts[MAX_BLOCKS];
  size_t part_count = 0;
  if (!find_split(rewrite, &p)) return ETX_OK;
  // A copy, because appending nodes moves them.
  const etx_ir_node layer = *p.layer;
  const uint32_t whole = layer.outputs[0];
  const size_t first = builder->method->node_count;
  for (int64_t start = 0; start < p.channels; start += p.step) {
    const int64_t left = p.channels - start;
    const int64_t count = left < p.step ? left : p.step;
    uint32_t value = layer.args[0].as.value;
    ETX_TRY(emit_block(rewrite, &layer, value, start, count, &value));
    if (start == 0) {
      reuse_name(rewrite, first, value, whole);
      value = whole;
    }
    ETX_TRY(emit_block(rewrite, p.depthwise, value, start, count, &value));
    parts[part_count++] = etx_ir_value_arg(value);
  }
  const etx_ir_arg args[2] = {etx_ir_list(parts, part_count), etx_ir_int(1)};
  *out_done = true;
  ETX_TRY(etx_fusion_report_fused(rewrite->fusions, builder, kind));
  ETX_TRY(etx_build_op(builder, ETX_OP_cat_out, args, 2, &builder->results[0]));
  builder->method->nodes[builder->method->node_count - 1].is_parted = true;
  return ETX_OK;
}

etx_status etx_pass_split_convolution_channels(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {split_layer};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  return etx_rewrite_module(context, rules, 1);
}
