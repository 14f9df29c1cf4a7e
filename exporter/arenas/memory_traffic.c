#include "exporter/arenas/memory_traffic.h"

#include "exporter/ir/ir_cond.h"

#define MOST_TRAFFIC (UINT64_C(1) << 50)
enum { ITERATIONS = 16, MOST_DEPTH = 8 };

typedef struct traffic_counter {
  const etx_placement* placement;
  uint64_t* traffic;
  uint64_t times;  // that the instruction in hand counts
} traffic_counter;

static void count_value(const traffic_counter* c, uint32_t value) {
  const uint32_t storage = etx_placement_range(c->placement, value).storage;
  const uint64_t bytes = c->placement->values[value].bytes;
  uint64_t* const sum = &c->traffic[storage];
  *sum = bytes > (MOST_TRAFFIC - *sum) / c->times ? MOST_TRAFFIC
                                                  : *sum + bytes * c->times;
}

static etx_status count_read(void* context, size_t argument, uint32_t value) {
  (void)argument;
  count_value(context, value);
  return ETX_OK;
}

static uint64_t times_of(const etx_ir_method* method, uint32_t branch) {
  uint64_t times = 1;
  int depth = 0;
  for (; branch != 0; branch = etx_ir_branch_parent(method, branch)) {
    if (etx_ir_is_loop(method, etx_ir_cond_of(branch)) &&
        depth++ < MOST_DEPTH) {
      times *= ITERATIONS;
    }
  }
  return times;
}

static void count_writes(const traffic_counter* c, const etx_ir_node* node) {
  for (size_t i = 0; i < node->output_count; ++i) {
    const uint32_t value = node->outputs[i];
    if (value != ETX_IR_NONE &&
        c->placement->values[value].kind == ETX_PLACEMENT_COMPUTED) {
      count_value(c, value);
    }
  }
}

etx_status etx_memory_traffic_find(etx_pool* pool, const etx_ir_method* method,
                                   const etx_placement* placement,
                                   uint64_t** out_traffic) {
  traffic_counter c = {.placement = placement};
  c.traffic = etx_pool_take(pool, placement->storage_count * sizeof *c.traffic);
  if (c.traffic == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t n = 0; n < method->node_count; ++n) {
    const etx_ir_node* const node = &method->nodes[n];
    if (!etx_placement_has_instruction(placement, node)) continue;
    c.times = times_of(method, node->branch);
    count_writes(&c, node);
    ETX_TRY(etx_placement_each_read(node, count_read, &c));
  }
  *out_traffic = c.traffic;
  return ETX_OK;
}
