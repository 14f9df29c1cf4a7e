// A result takes over the block of an argument that dies in the same node,
// where the operator allows it and the bytes are equal. Nothing changes but
// the plan: fewer blocks that live at once, and no copy inside operators that
// change only a part of their argument.
//
// Only equal sizes: a small result in a large block would keep the large one
// alive. One pass in order; the first argument that fits wins.

#include "exporter/passes/pass_list.h"
#include "exporter/place.h"
#include "exporter/view_rules.h"

typedef struct reusing {
  const etx_ir_method* method;
  etx_placement* placement;
  size_t* last_read;  // by storage: node, node_count for the end, 0 if never
} reusing;

typedef struct reading {
  reusing* r;
  size_t node;
} reading;

static void read_at(reusing* r, uint32_t value, size_t node) {
  const uint32_t storage = etx_place_range(r->placement, value).storage;
  if (node > r->last_read[storage]) r->last_read[storage] = node;
}

static etx_status note_read(void* context, size_t argument, uint32_t value) {
  const reading* const at = context;
  (void)argument;
  read_at(at->r, value, at->node);
  return ETX_OK;
}

static etx_status find_last_reads(reusing* r) {
  for (size_t n = 0; n < r->method->node_count; ++n) {
    reading at = {r, n};
    if (!etx_place_node_runs(r->placement, &r->method->nodes[n])) continue;
    ETX_TRY(etx_place_each_read(&r->method->nodes[n], note_read, &at));
  }
  for (size_t i = 0; i < r->method->output_count; ++i) {
    const etx_ir_arg* const arg = &r->method->outputs[i].arg;
    if (arg->kind == ETX_IR_ARG_VALUE) {
      read_at(r, arg->as.value, r->method->node_count);
    }
  }
  return ETX_OK;
}

static bool is_free_block(const reusing* r, uint32_t value) {
  const etx_range range = etx_place_range(r->placement, value);
  const etx_storage* const storage = &r->placement->storages[range.storage];
  return storage->kind == ETX_STORAGE_SCRATCH &&
         storage->index == ETX_IR_NONE && range.start == 0 &&
         range.end == storage->bytes && storage->bytes != 0;
}

typedef struct sharing {
  const reusing* r;
  const etx_ir_node* node;
  uint32_t result;
  uint32_t storage;
  bool allowed;
} sharing;

// Refuses if the node also reads the block in another way.
static etx_status check_sharing(void* context, size_t argument,
                                uint32_t value) {
  sharing* const s = context;
  if (etx_place_range(s->r->placement, value).storage != s->storage) {
    return ETX_OK;
  }
  const bool self = s->node->op->in_place == ETX_IN_PLACE_SELF;
  if ((self && argument != 0) || !is_free_block(s->r, value)) {
    s->allowed = false;
  }
  if (!self) {
    etx_shape shape = s->r->method->values[value].shape;
    const etx_shape* const result = &s->r->method->values[s->result].shape;
    shape.dtype = result->dtype;
    if (shape.rank != result->rank) s->allowed = false;
    for (size_t i = 0; s->allowed && i < shape.rank; ++i) {
      s->allowed = etx_symbols_equal(&s->r->method->symbols, shape.dims[i],
                                     result->dims[i]);
    }
  }
  return ETX_OK;
}

static bool may_take(const reusing* r, const etx_ir_node* node, size_t index,
                     size_t argument, uint32_t result) {
  if (node->args[argument].kind != ETX_IR_ARG_VALUE) return false;
  const uint32_t value = node->args[argument].as.value;
  if (!is_free_block(r, value)) return false;
  const uint32_t storage = etx_place_range(r->placement, value).storage;
  if (r->last_read[storage] != index ||
      r->placement->storages[storage].bytes !=
          r->placement->places[result].bytes) {
    return false;
  }
  sharing s = {r, node, result, storage, true};
  return etx_place_each_read(node, check_sharing, &s) == ETX_OK && s.allowed;
}

static void reuse_in_node(reusing* r, size_t index) {
  const etx_ir_node* const node = &r->method->nodes[index];
  if (node->op->in_place == ETX_IN_PLACE_NEVER || node->output_count != 1 ||
      node->outputs[0] == ETX_IR_NONE) {
    return;
  }
  const uint32_t result = node->outputs[0];
  etx_place* const place = &r->placement->places[result];
  // Results of two branches have to stay together.
  if (place->way != ETX_WAY_WRITTEN || !is_free_block(r, result) ||
      r->placement->storages[place->storage].is_chosen) {
    return;
  }
  const bool self = node->op->in_place == ETX_IN_PLACE_SELF;
  const size_t candidates = self ? 1 : node->arg_count;
  for (size_t i = 0; i < candidates && i < node->arg_count; ++i) {
    if (!may_take(r, node, index, i, result)) continue;
    const uint32_t block =
        etx_place_range(r->placement, node->args[i].as.value).storage;
    r->last_read[block] = r->last_read[place->storage];
    place->storage = block;
    return;
  }
}

etx_status etx_pass_reuse_scratch(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  for (size_t m = 0; m < module->method_count; ++m) {
    reusing r = {&module->methods[m], &context->placements[m], NULL};
    r.last_read = etx_pool_take(
        module->pool, r.placement->storage_count * sizeof *r.last_read);
    if (r.last_read == NULL) return ETX_OUT_OF_MEMORY;
    ETX_TRY(find_last_reads(&r));
    for (size_t n = 0; n < r.method->node_count; ++n) reuse_in_node(&r, n);
  }
  return ETX_OK;
}
