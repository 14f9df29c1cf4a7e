#include "exporter/placement/liveness.h"

#include "exporter/ir/ir_cond.h"

// A node reads or writes a block. Reads at the end of the method have the
// position node_count.
typedef struct use {
  uint32_t node;
  uint32_t before;  // the previous use of the same block, or ETX_IR_NONE
} use;

typedef struct liveness_builder {
  etx_pool* pool;
  const etx_ir_method* method;
  const etx_placement* placement;
  etx_live_interval* intervals;
  uint32_t node;
  // Only for methods with branches: all uses, and the last one of each block.
  use* uses;
  size_t use_count, use_capacity;
  uint32_t* last_use;
} liveness_builder;

// ---------------------------------------------------------------- lifetimes

static etx_status note_use(liveness_builder* f, uint32_t storage,
                           uint32_t time) {
  if (f->last_use == NULL) return ETX_OK;
  ETX_TRY(etx_pool_grow(f->pool, &f->uses, f->use_count, &f->use_capacity,
                        sizeof *f->uses));
  f->uses[f->use_count] = (use){time, f->last_use[storage]};
  f->last_use[storage] = (uint32_t)f->use_count++;
  return ETX_OK;
}

static etx_status touch(liveness_builder* f, uint32_t value, uint32_t time) {
  const uint32_t index = etx_placement_range(f->placement, value).storage;
  if (f->placement->storages[index].kind != ETX_STORAGE_SCRATCH) return ETX_OK;
  etx_live_interval* const interval = &f->intervals[index];
  if (interval->end == 0 || time < interval->start) interval->start = time;
  if (time + 1 > interval->end) interval->end = time + 1;
  return note_use(f, index, time);
}

static etx_status note_read(void* context, size_t argument, uint32_t value) {
  liveness_builder* const f = context;
  (void)argument;
  return touch(f, value, f->node);
}

static etx_status note_writes(liveness_builder* f, const etx_ir_node* node) {
  for (size_t i = 0; i < node->output_count; ++i) {
    const uint32_t value = node->outputs[i];
    if (value == ETX_IR_NONE ||
        f->placement->values[value].kind != ETX_PLACEMENT_COMPUTED) {
      continue;
    }
    ETX_TRY(touch(f, value, f->node));
  }
  return ETX_OK;
}

static etx_status note_ends(liveness_builder* f) {
  const etx_ir_method* const method = f->method;
  for (size_t i = 0; i < method->mutation_count; ++i) {
    ETX_TRY(touch(f, method->mutations[i].value, f->node));
  }
  for (size_t i = 0; i < method->output_count; ++i) {
    const etx_ir_output* const output = &method->outputs[i];
    if (output->arg.kind != ETX_IR_ARG_VALUE) continue;
    ETX_TRY(touch(f, output->arg.as.value, f->node));
    const uint32_t storage =
        etx_placement_range(f->placement, output->arg.as.value).storage;
    if (output->lifetime == ETX_IR_STABLE &&
        f->placement->storages[storage].kind == ETX_STORAGE_SCRATCH) {
      f->intervals[storage].is_stable = true;
    }
  }
  return ETX_OK;
}

static etx_status note_all(liveness_builder* f) {
  const etx_ir_method* const method = f->method;
  for (size_t i = 0; i < method->input_count; ++i) {
    const etx_ir_arg* const arg = &method->inputs[i].arg;
    if (arg->kind == ETX_IR_ARG_VALUE) ETX_TRY(touch(f, arg->as.value, 0));
  }
  for (; f->node < method->node_count; ++f->node) {
    const etx_ir_node* const node = &method->nodes[f->node];
    ETX_TRY(note_writes(f, node));
    if (!etx_placement_has_instruction(f->placement, node)) continue;
    ETX_TRY(etx_placement_each_read(node, note_read, f));
  }
  return note_ends(f);
}

// ---------------------------------------------------------------- gaps

static uint32_t branch_at(const liveness_builder* f, uint32_t node) {
  return node < f->method->node_count ? f->method->nodes[node].branch : 0;
}

// True if one call may run both branches.
static bool can_both_run(const etx_ir_method* method, uint32_t a, uint32_t b) {
  while (a != b) {
    // Inner branches have higher numbers than outer ones.
    if (a < b) {
      const uint32_t inner = b;
      b = a;
      a = inner;
    }
    if (b != 0 && etx_ir_cond_of(a) == etx_ir_cond_of(b)) return false;
    a = etx_ir_branch_parent(method, a);
  }
  return true;
}

// True if the block is in use at the node: some use is before it and another
// one behind it, and one call may run all three.
static bool is_in_use(const liveness_builder* f, uint32_t storage,
                      uint32_t node) {
  bool is_behind = false;
  bool is_before = false;
  for (uint32_t i = f->last_use[storage]; i != ETX_IR_NONE;
       i = f->uses[i].before) {
    const uint32_t other = f->uses[i].node;
    if (!can_both_run(f->method, branch_at(f, node), branch_at(f, other))) {
      continue;
    }
    // Inputs are written before the first node, which need not use them.
    is_behind = is_behind || other <= node;
    is_before = is_before || other >= node;
  }
  return is_behind && is_before;
}

static etx_status add_gap(liveness_builder* f, etx_live_interval* interval,
                          size_t* capacity, uint32_t node) {
  etx_live_interval_gap* const last =
      interval->gap_count == 0 ? NULL
                               : &interval->gaps[interval->gap_count - 1];
  if (last != NULL && last->end == node) {
    last->end = node + 1;
    return ETX_OK;
  }
  ETX_TRY(etx_pool_grow(f->pool, &interval->gaps, interval->gap_count, capacity,
                        sizeof *interval->gaps));
  interval->gaps[interval->gap_count++] =
      (etx_live_interval_gap){node, node + 1};
  return ETX_OK;
}

static etx_status find_gaps(liveness_builder* f, uint32_t storage) {
  etx_live_interval* const interval = &f->intervals[storage];
  size_t capacity = 0;
  for (uint32_t n = interval->start; n < interval->end; ++n) {
    if (branch_at(f, n) == 0 || is_in_use(f, storage, n)) continue;
    ETX_TRY(add_gap(f, interval, &capacity, n));
  }
  return ETX_OK;
}

bool etx_live_interval_covers(const etx_live_interval* interval, size_t node) {
  if (interval->end == 0 || node < interval->start || node >= interval->end) {
    return false;
  }
  for (size_t i = 0; i < interval->gap_count; ++i) {
    if (interval->gaps[i].start <= node && node < interval->gaps[i].end) {
      return false;
    }
  }
  return true;
}

etx_status etx_liveness_find(etx_pool* pool, const etx_ir_method* method,
                             const etx_placement* placement,
                             etx_live_interval** out_intervals) {
  const size_t count = placement->storage_count;
  liveness_builder f = {.pool = pool, .method = method, .placement = placement};
  f.intervals = etx_pool_take(pool, count * sizeof *f.intervals);
  if (f.intervals == NULL) return ETX_OUT_OF_MEMORY;
  if (method->cond_count != 0) {
    f.last_use = etx_pool_take(pool, count * sizeof *f.last_use);
    if (f.last_use == NULL) return ETX_OUT_OF_MEMORY;
    for (size_t s = 0; s < count; ++s) f.last_use[s] = ETX_IR_NONE;
  }
  ETX_TRY(note_all(&f));
  for (uint32_t s = 0; f.last_use != NULL && s < count; ++s) {
    ETX_TRY(find_gaps(&f, s));
  }
  *out_intervals = f.intervals;
  return ETX_OK;
}
