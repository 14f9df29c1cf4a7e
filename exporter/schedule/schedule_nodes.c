// Nodes run in the order in which least scratch is live at once.
//
// What each method computes and where it lies is settled here but for blocks
// that results may still take over, which the search counts in; so an order is
// judged by exactly the bytes that the planner will find live. Branches of
// choices are put in order first, from the inner ones out. A method keeps the
// order it came in unless another one needs less at its fullest moment.

#include "exporter/ir/ir_cond.h"
#include "exporter/schedule/schedule_graph.h"
#include "exporter/passes/pass_context.h"

// For one method: two tenths of a second at most.
static const uint64_t search_steps = 4000000;

typedef struct ordering {
  const etx_pass_context* context;
  etx_ir_method* method;
  const etx_placement* placement;
  uint64_t steps;  // left
  etx_pool pool;   // dies with the method
} ordering;

static etx_status order_stretch(ordering* o, const etx_schedule_region* stretch,
                                uint64_t* out_saved) {
  etx_schedule_graph graph;
  etx_schedule_result found;
  ETX_TRY(etx_schedule_graph_make(
      &o->pool, o->method, o->placement, stretch, o->context->module->alignment,
      etx_passes_include(o->context, "reuse_operand_storage"), &graph));
  ETX_TRY(etx_schedule_find(&o->pool, &graph.problem, o->steps, &found));
  o->steps -= found.steps;
  *out_saved = found.given_peak - found.peak;
  if (found.peak >= found.given_peak) return ETX_OK;
  return etx_schedule_graph_apply(&o->pool, &graph, found.items, o->method);
}

static etx_status order_branch(ordering* o, size_t head, uint32_t branch) {
  const uint32_t first = etx_ir_then_branch(etx_ir_cond_of(branch));
  const etx_schedule_region stretch = {
      branch == first ? head + 1 : etx_ir_branch_end(o->method, head, first),
      etx_ir_branch_end(o->method, head, branch), branch};
  uint64_t saved = 0;
  if (stretch.first == stretch.last) return ETX_OK;
  return order_stretch(o, &stretch, &saved);
}

// Choices stand in branches of earlier ones, so the last are the innermost.
static etx_status order_method(ordering* o, uint64_t* out_saved) {
  for (size_t c = o->method->choice_count; c > 0; --c) {
    const uint32_t choice = (uint32_t)c;
    const size_t head = etx_ir_find_head(o->method, choice);
    if (head == o->method->node_count) continue;
    ETX_TRY(order_branch(o, head, etx_ir_then_branch(choice)));
    ETX_TRY(order_branch(o, head, etx_ir_else_branch(choice)));
  }
  const etx_schedule_region all = {0, o->method->node_count, 0};
  return order_stretch(o, &all, out_saved);
}

etx_status etx_pass_schedule_nodes(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  context->orders = etx_pool_take(
      module->pool, module->method_count * sizeof *context->orders);
  if (context->orders == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t m = 0; m < module->method_count; ++m) {
    etx_schedule_saving* const order = &context->orders[m];
    ordering o = {.context = context,
                  .method = &module->methods[m],
                  .placement = &context->placements[m],
                  .steps = search_steps};
    // The host runs the init method once; it has nothing to put in order.
    if (o.method->is_synthetic) continue;
    etx_pool_init(&o.pool);
    const etx_status status = order_method(&o, &order->saved_bytes);
    etx_pool_close(&o.pool);
    order->steps = search_steps - o.steps;
    ETX_TRY(status);
  }
  return ETX_OK;
}
