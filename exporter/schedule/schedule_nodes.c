// Reorders the nodes of each method so that the peak of live scratch bytes is
// low.
//
// At this point the storage of every value is known, except that results may
// still take over the storage of operands. The search takes that into account,
// so the peak that it minimises is the one that the planner will see. Branches
// of conditionals are scheduled first, the innermost before the outer ones. A
// method keeps its order unless another one has a lower peak.

#include "exporter/ir/ir_cond.h"
#include "exporter/schedule/schedule_graph.h"
#include "exporter/passes/pass_context.h"

// For one method; about 0.2 seconds at most.
static const uint64_t search_steps = 4000000;

typedef struct method_schedule {
  const etx_pass_context* context;
  etx_ir_method* method;
  const etx_placement* placement;
  uint64_t steps;  // remaining
  etx_pool pool;   // freed after the method
} method_schedule;

static etx_status schedule_region(method_schedule* o,
                                  const etx_schedule_region* region,
                                  uint64_t* out_saved) {
  etx_schedule_graph graph;
  etx_schedule_result found;
  const etx_schedule_options options = {
      .alignment = o->context->module->alignment,
      .reuses_operands =
          etx_passes_include(o->context, "reuse_operand_storage")};
  ETX_TRY(etx_schedule_graph_make(&o->pool, o->method, o->placement, region,
                                  &options, &graph));
  ETX_TRY(etx_schedule_find(&o->pool, &graph.problem, o->steps, &found));
  o->steps -= found.steps;
  *out_saved = found.given_peak - found.peak;
  if (found.peak >= found.given_peak) return ETX_OK;
  return etx_schedule_graph_apply(&o->pool, &graph, found.items, o->method);
}

static etx_status schedule_branch(method_schedule* o, size_t head,
                                  uint32_t branch) {
  const uint32_t first = etx_ir_then_branch(etx_ir_cond_of(branch));
  const etx_schedule_region region = {
      branch == first ? head + 1 : etx_ir_branch_end(o->method, head, first),
      etx_ir_branch_end(o->method, head, branch), branch};
  uint64_t saved = 0;
  if (region.first == region.last) return ETX_OK;
  return schedule_region(o, &region, &saved);
}

// A conditional in a branch has a higher number than the one around it, so the
// last ones are the innermost.
static etx_status schedule_method(method_schedule* o, uint64_t* out_saved) {
  for (size_t c = o->method->cond_count; c > 0; --c) {
    const uint32_t cond = (uint32_t)c;
    const size_t head = etx_ir_find_head(o->method, cond);
    if (head == o->method->node_count) continue;
    // The order of the copies at the end of a body matters.
    if (etx_ir_is_loop(o->method, cond)) continue;
    ETX_TRY(schedule_branch(o, head, etx_ir_then_branch(cond)));
    ETX_TRY(schedule_branch(o, head, etx_ir_else_branch(cond)));
  }
  const etx_schedule_region all = {0, o->method->node_count, 0};
  return schedule_region(o, &all, out_saved);
}

etx_status etx_pass_schedule_nodes(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  context->orders = etx_pool_take(
      module->pool, module->method_count * sizeof *context->orders);
  if (context->orders == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t m = 0; m < module->method_count; ++m) {
    etx_schedule_saving* const order = &context->orders[m];
    method_schedule o = {.context = context,
                         .method = &module->methods[m],
                         .placement = &context->placements[m],
                         .steps = search_steps};
    // The init method runs once and has no scratch.
    if (o.method->is_synthetic) continue;
    etx_pool_init(&o.pool);
    const etx_status status = schedule_method(&o, &order->saved_bytes);
    etx_pool_close(&o.pool);
    order->steps = search_steps - o.steps;
    ETX_TRY(status);
  }
  return ETX_OK;
}
