// A result takes over the block of an argument that dies in the same node,
// where the operator allows it and the bytes are equal. Nothing changes but
// the plan: fewer blocks that live at once, and no copy inside operators that
// change only a part of their argument.
//
// Only equal sizes: a small result in a large block would keep the large one
// alive. One pass in order; the first argument that fits wins.

#include "exporter/passes/pass_context.h"
#include "exporter/placement/placement.h"
#include "exporter/placement/operand_reuse.h"

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
  const uint32_t storage = etx_placement_range(r->placement, value).storage;
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
    if (!etx_placement_has_instruction(r->placement, &r->method->nodes[n]))
      continue;
    ETX_TRY(etx_placement_each_read(&r->method->nodes[n], note_read, &at));
  }
  for (size_t i = 0; i < r->method->output_count; ++i) {
    const etx_ir_arg* const arg = &r->method->outputs[i].arg;
    if (arg->kind == ETX_IR_ARG_VALUE) {
      read_at(r, arg->as.value, r->method->node_count);
    }
  }
  return ETX_OK;
}

static void reuse_in_node(reusing* r, size_t index) {
  const etx_ir_node* const node = &r->method->nodes[index];
  const uint32_t result = etx_operand_reuse_result(r->placement, node);
  if (result == ETX_IR_NONE) return;
  etx_value_placement* const place = &r->placement->values[result];
  for (size_t i = 0; i < node->arg_count; ++i) {
    if (!etx_operand_reuse_is_allowed(r->method, r->placement, node, i,
                                      result)) {
      continue;
    }
    const uint32_t block =
        etx_placement_range(r->placement, node->args[i].as.value).storage;
    if (r->last_read[block] != index) continue;
    r->last_read[block] = r->last_read[place->storage];
    place->storage = block;
    return;
  }
}

etx_status etx_pass_reuse_operand_storage(etx_pass_context* context) {
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
