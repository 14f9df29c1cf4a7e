// The content of the storage is a list of ranges {start, end, version}, where
// the version is the value that wrote the bytes. What a value expects is such a
// list too: one range for a root; a cut of its base's list for an alias; and
// for a scatter in place, the base's list with the source's list written over
// it. A read is right if the two lists agree over the value's bytes.
//
// A value of dynamic size counts with its largest size. Its version then means
// "these bytes, and behind them what was there before". So the source of a
// scatter may have a dynamic size only if the base was there before.
//
// Both branches of a conditional start with the content in front of it. Behind
// it, a byte has a version if it has that version after both branches, and the
// version of a join if each branch left its own result there.

#include "exporter/placement/placement_check.h"

#include "exporter/ir/ir_cond.h"
#include "exporter/placement/view_rules.h"

typedef struct version_range {
  uint64_t start;
  uint64_t end;
  uint32_t version;  // the value that wrote these bytes
} version_range;

typedef struct version_ranges {
  version_range* items;  // ascending, disjoint, no gaps
  size_t count;
} version_ranges;

// A conditional around the present node.
typedef struct open_cond {
  uint32_t cond;
  version_ranges start;     // the content in front of the branches
  version_ranges then_end;  // the content after the then branch
  bool is_else;             // the present node is in the else branch
} open_cond;

typedef struct trace {
  etx_pool pool;  // freed at the end of the check
  etx_pool* results;
  const etx_ir_method* method;
  const etx_placement* placement;
  uint32_t storage;
  version_ranges actual;     // the present content of the storage
  version_ranges* expected;  // by value; count 0: not in this storage
  // By value of dynamic size: the content before the value was written.
  version_ranges* overwritten;
  size_t node;            // present position
  open_cond* open_conds;  // innermost last
  size_t open_cond_count, open_cond_capacity;
  etx_placement_conflicts* conflicts;
} trace;

static bool is_in_storage(const trace* t, uint32_t value) {
  return value != ETX_IR_NONE && t->expected[value].count != 0;
}

static etx_status new_segments(trace* t, size_t count, version_ranges* out) {
  out->items = etx_pool_take(&t->pool, count * sizeof *out->items);
  out->count = count;
  return out->items == NULL ? ETX_OUT_OF_MEMORY : ETX_OK;
}

// The part of `from` inside [start, end).
static etx_status cut(trace* t, version_ranges from, uint64_t start,
                      uint64_t end, version_ranges* out) {
  ETX_TRY(new_segments(t, from.count, out));
  out->count = 0;
  for (size_t i = 0; i < from.count; ++i) {
    version_range piece = from.items[i];
    if (piece.start < start) piece.start = start;
    if (piece.end > end) piece.end = end;
    if (piece.start < piece.end) out->items[out->count++] = piece;
  }
  return ETX_OK;
}

// `below` with `above`, which is contiguous, written over it.
static etx_status overlay(trace* t, version_ranges below, version_ranges above,
                          version_ranges* out) {
  if (above.count == 0) {
    *out = below;
    return ETX_OK;
  }
  const uint64_t start = above.items[0].start;
  const uint64_t end = above.items[above.count - 1].end;
  version_ranges left = {NULL, 0};
  version_ranges right = {NULL, 0};
  ETX_TRY(cut(t, below, 0, start, &left));
  ETX_TRY(cut(t, below, end, UINT64_MAX, &right));
  ETX_TRY(new_segments(t, left.count + above.count + right.count, out));
  version_range* next = out->items;
  memcpy(next, left.items, left.count * sizeof *next);
  next += left.count;
  memcpy(next, above.items, above.count * sizeof *next);
  next += above.count;
  memcpy(next, right.items, right.count * sizeof *next);
  return ETX_OK;
}

// True if the content has the versions of `want` at the bytes of `want`.
static bool has_versions(version_ranges actual, version_ranges want) {
  size_t a = 0;
  for (size_t w = 0; w < want.count; ++w) {
    uint64_t position = want.items[w].start;
    while (position < want.items[w].end) {
      while (a < actual.count && actual.items[a].end <= position) ++a;
      if (a == actual.count || actual.items[a].start > position ||
          actual.items[a].version != want.items[w].version) {
        return false;
      }
      position = actual.items[a].end;
    }
  }
  return true;
}

// One past the node that wrote a version; 0 if no node did.
static size_t position_after(const trace* t, uint32_t version) {
  const etx_ir_value* const writer = &t->method->values[version];
  return writer->origin == ETX_IR_FROM_NODE ? writer->index + (size_t)1 : 0;
}

// True if node `n` writes into [start, end) of the storage.
static bool node_writes(const trace* t, size_t n, uint64_t start,
                        uint64_t end) {
  const etx_storage_range range = {t->storage, start, end};
  const etx_ir_node* const node = &t->method->nodes[n];
  for (size_t i = 0; i < node->output_count; ++i) {
    const uint32_t written = node->outputs[i];
    if (written == ETX_IR_NONE ||
        t->placement->values[written].kind != ETX_PLACEMENT_COMPUTED) {
      continue;
    }
    if (etx_storage_range_overlaps(
            range, etx_placement_range(t->placement, written))) {
      return true;
    }
  }
  return false;
}

typedef struct part_marks {
  bool* is_part;  // by value
} part_marks;

static etx_status mark_part(void* context, size_t argument, uint32_t value) {
  const part_marks* const m = context;
  (void)argument;
  m->is_part[value] = true;
  return ETX_OK;
}

// One past the last instruction that `value` depends on, through the nodes that
// only make views: the earliest position for a copy of it.
static etx_status find_definition(trace* t, uint32_t value,
                                  size_t* out_position) {
  part_marks m = {etx_pool_take(&t->pool, t->method->value_count)};
  if (m.is_part == NULL) return ETX_OUT_OF_MEMORY;
  m.is_part[value] = true;
  *out_position = 0;
  for (size_t n = position_after(t, value); n > 0; --n) {
    const etx_ir_node* const node = &t->method->nodes[n - 1];
    for (size_t i = 0; i < node->output_count; ++i) {
      const uint32_t output = node->outputs[i];
      if (output == ETX_IR_NONE || !m.is_part[output]) continue;
      if (etx_placement_kind_is_root(t->placement->values[output].kind)) {
        if (n > *out_position) *out_position = n;
        continue;
      }
      ETX_TRY(etx_placement_each_read(node, mark_part, &m));
    }
  }
  return ETX_OK;
}

// The positions at which `value` is complete and not yet overwritten, so that
// it can be copied.
static etx_status find_saving_range(trace* t, uint32_t value, size_t reader,
                                    etx_placement_conflict* out) {
  const version_ranges want = t->expected[value];
  out->can_be_saved = true;
  out->last = reader;
  ETX_TRY(find_definition(t, value, &out->first));
  for (size_t i = 0; i < want.count; ++i) {
    const version_range* const piece = &want.items[i];
    size_t n = position_after(t, piece->version);
    while (n < out->last && !node_writes(t, n, piece->start, piece->end)) ++n;
    if (n < out->first) out->can_be_saved = false;
    if (n < out->last) out->last = n;
  }
  // The copy must run in every call in which the reader runs.
  const uint32_t branch =
      reader < t->method->node_count ? t->method->nodes[reader].branch : 0;
  // An iteration after the first one would copy what the body has overwritten.
  const etx_ir_value* const saved = &t->method->values[value];
  const uint32_t defined = saved->origin == ETX_IR_FROM_NODE
                               ? t->method->nodes[saved->index].branch
                               : 0;
  const uint32_t outside = etx_ir_outside_loops(t->method, branch, defined);
  out->last = etx_ir_outside_conds(t->method, outside, out->last);
  if (out->last < out->first || out->last > reader) out->can_be_saved = false;
  return ETX_OK;
}

static etx_status report(trace* t, uint32_t value) {
  etx_placement_conflicts* const all = t->conflicts;
  for (size_t i = all->count; i > 0; --i) {
    const etx_placement_conflict* const seen = &all->items[i - 1];
    if (seen->reader != t->node) break;
    if (seen->value == value) return ETX_OK;
  }
  ETX_TRY(etx_pool_grow(t->results, &all->items, all->count, &all->capacity,
                        sizeof *all->items));
  etx_placement_conflict* const conflict = &all->items[all->count++];
  conflict->reader = t->node;
  conflict->value = value;
  return find_saving_range(t, value, t->node, conflict);
}

static etx_status check_read(trace* t, uint32_t value) {
  if (!is_in_storage(t, value) || has_versions(t->actual, t->expected[value])) {
    return ETX_OK;
  }
  return report(t, value);
}

static bool same_dims(const trace* t, uint32_t a, uint32_t b) {
  const etx_shape* const x = &t->method->values[a].shape;
  const etx_shape* const y = &t->method->values[b].shape;
  if (x->rank != y->rank) return false;
  for (size_t i = 0; i < x->rank; ++i) {
    if (!etx_symbols_equal(&t->method->symbols, x->dims[i], y->dims[i])) {
      return false;
    }
  }
  return true;
}

// True if the node may write `written` over `value` while it reads it as that
// argument.
static bool may_overlap(const trace* t, const etx_ir_node* node,
                        size_t argument, uint32_t value, uint32_t written) {
  const etx_storage_range read = etx_placement_range(t->placement, value);
  const etx_storage_range write = etx_placement_range(t->placement, written);
  if (!etx_storage_range_overlaps(read, write)) return true;
  if (!etx_storage_range_equal(read, write) ||
      !etx_placement_has_fixed_offset(t->placement, value)) {
    return false;
  }
  switch (node->op->in_place) {
    case ETX_IN_PLACE_SELF:
      return argument == 0;
    case ETX_IN_PLACE_ELEMENTWISE:
      return same_dims(t, value, written);
    case ETX_IN_PLACE_NEVER:
      break;
  }
  return false;
}

static etx_status read_argument(void* context, size_t argument,
                                uint32_t value) {
  trace* const t = context;
  const etx_ir_node* const node = &t->method->nodes[t->node];
  if (!is_in_storage(t, value)) return ETX_OK;
  // aten::copy reads only the sizes of self.
  if (node->op->id == ETX_OP_copy_out && argument == 0) return ETX_OK;
  if (!has_versions(t->actual, t->expected[value])) return report(t, value);
  for (size_t i = 0; i < node->output_count; ++i) {
    const uint32_t written = node->outputs[i];
    if (written == ETX_IR_NONE ||
        t->placement->values[written].kind != ETX_PLACEMENT_COMPUTED) {
      continue;
    }
    if (!may_overlap(t, node, argument, value, written)) {
      return report(t, value);
    }
  }
  return ETX_OK;
}

static etx_status write_root(trace* t, uint32_t value) {
  const etx_storage_range range = etx_placement_range(t->placement, value);
  if (range.storage != t->storage || range.start == range.end) return ETX_OK;
  version_ranges own = {NULL, 0};
  ETX_TRY(new_segments(t, 1, &own));
  own.items[0] = (version_range){range.start, range.end, value};
  t->expected[value] = own;
  if (!etx_ir_is_static(&t->method->values[value].shape)) {
    ETX_TRY(cut(t, t->actual, range.start, range.end, &t->overwritten[value]));
  }
  return overlay(t, t->actual, own, &t->actual);
}

// A source of dynamic size may not cover its largest range. True if the bytes
// that it does not write have the base's versions.
static bool keeps_base_bytes(const trace* t, uint32_t source,
                             const version_ranges* base) {
  if (etx_ir_is_static(&t->method->values[source].shape)) return true;
  uint64_t delta = 0;
  const uint32_t root = etx_placement_root(t->placement, source, &delta);
  const version_ranges before = t->overwritten[root].count != 0
                                    ? t->overwritten[root]
                                    : t->expected[source];
  return has_versions(*base, before);
}

// What the result of a scatter expects in the range that the scatter writes:
// the source's versions if the source was computed there, else a version that
// is never written.
static etx_status expect_scatter_source(trace* t, const etx_ir_node* node,
                                        uint32_t value, version_ranges base,
                                        version_ranges* out) {
  const uint32_t source = node->args[1].as.value;
  const etx_storage_range found = etx_placement_range(t->placement, source);
  etx_storage_range wanted = etx_placement_range(t->placement, value);
  etx_value_view view = {0};
  const bool is_scatter = etx_value_view_find_scatter(t->method, node, &view);
  wanted.start += view.delta;
  wanted.end = wanted.start + (found.end - found.start);
  if (is_scatter && etx_storage_range_equal(found, wanted) &&
      is_in_storage(t, source) &&
      etx_placement_has_fixed_offset(t->placement, source)) {
    version_ranges covered = {NULL, 0};
    ETX_TRY(cut(t, base, wanted.start, wanted.end, &covered));
    if (keeps_base_bytes(t, source, &covered)) {
      *out = t->expected[source];
      return ETX_OK;
    }
  }
  ETX_TRY(new_segments(t, 1, out));
  out->items[0] = (version_range){wanted.start, wanted.end, value};
  return ETX_OK;
}

static etx_status expect_alias(trace* t, const etx_ir_node* node,
                               uint32_t value) {
  const etx_value_placement* const place = &t->placement->values[value];
  if (!is_in_storage(t, place->base)) return ETX_OK;
  const etx_storage_range range = etx_placement_range(t->placement, value);
  version_ranges* const own = &t->expected[value];
  ETX_TRY(cut(t, t->expected[place->base], range.start, range.end, own));
  if (place->kind != ETX_PLACEMENT_UPDATED_IN_PLACE) return ETX_OK;
  const version_ranges base = *own;
  version_ranges source = {NULL, 0};
  ETX_TRY(expect_scatter_source(t, node, value, base, &source));
  return overlay(t, base, source, own);
}

// ------------------------------------------------ conditionals

// The version of bytes that differ between the two branches: no read expects
// it.
static const uint32_t mixed_version = ETX_IR_NONE - 1;

// The common versions of two lists.
static etx_status merge(trace* t, version_ranges a, version_ranges b,
                        version_ranges* out) {
  ETX_TRY(new_segments(t, a.count + b.count, out));
  out->count = 0;
  size_t i = 0;
  size_t k = 0;
  uint64_t start = 0;
  while (i < a.count && k < b.count) {
    const uint64_t end =
        a.items[i].end < b.items[k].end ? a.items[i].end : b.items[k].end;
    const uint32_t version = a.items[i].version == b.items[k].version
                                 ? a.items[i].version
                                 : mixed_version;
    out->items[out->count++] = (version_range){start, end, version};
    start = end;
    if (a.items[i].end == end) ++i;
    if (b.items[k].end == end) ++k;
  }
  return ETX_OK;
}

// At its end, a branch must have its result in the storage of the join.
static etx_status check_result(trace* t, version_ranges end, uint32_t value) {
  if (!is_in_storage(t, value) || has_versions(end, t->expected[value]))
    return ETX_OK;
  ETX_TRY(report(t, value));
  // A copy in front of the join would be outside the branch.
  for (size_t i = t->conflicts->count; i > 0; --i) {
    etx_placement_conflict* const conflict = &t->conflicts->items[i - 1];
    if (conflict->value == value) conflict->can_be_saved = false;
  }
  return ETX_OK;
}

// After both branches: checks the results of the joins, and keeps the versions
// that are the same after both.
static etx_status close_cond(trace* t, const open_cond* f,
                             version_ranges else_end) {
  ETX_TRY(merge(t, f->then_end, else_end, &t->actual));
  for (size_t n = 0; n < t->method->node_count; ++n) {
    const etx_ir_node* const node = &t->method->nodes[n];
    if (!etx_ir_is_join(node) || node->cond != f->cond) continue;
    ETX_TRY(check_result(t, f->then_end, node->args[ETX_JOIN_THEN].as.value));
    ETX_TRY(check_result(t, else_end, node->args[ETX_JOIN_ELSE].as.value));
    if (t->placement->values[node->outputs[0]].kind ==
        ETX_PLACEMENT_BRANCH_RESULT) {
      ETX_TRY(write_root(t, node->outputs[0]));
    }
  }
  return ETX_OK;
}

// Leaves the branches that end in front of a node of `branch`.
static etx_status enter_branch(trace* t, uint32_t branch) {
  while (t->open_cond_count != 0) {
    open_cond* const f = &t->open_conds[t->open_cond_count - 1];
    if (!f->is_else && etx_ir_branch_is_within(t->method, branch,
                                               etx_ir_then_branch(f->cond))) {
      return ETX_OK;
    }
    if (!f->is_else) {
      f->then_end = t->actual;
      t->actual = f->start;
      f->is_else = true;
    }
    if (etx_ir_branch_is_within(t->method, branch,
                                etx_ir_else_branch(f->cond))) {
      return ETX_OK;
    }
    ETX_TRY(close_cond(t, f, t->actual));
    --t->open_cond_count;
  }
  return ETX_OK;
}

static etx_status enter_cond(trace* t, uint32_t cond) {
  ETX_TRY(etx_pool_grow(&t->pool, &t->open_conds, t->open_cond_count,
                        &t->open_cond_capacity, sizeof *t->open_conds));
  t->open_conds[t->open_cond_count++] =
      (open_cond){.cond = cond, .start = t->actual, .is_else = false};
  return ETX_OK;
}

// ------------------------------------------------ nodes

static etx_status step(trace* t, const etx_ir_node* node) {
  ETX_TRY(enter_branch(t, node->branch));
  if (etx_ir_is_join(node)) return ETX_OK;
  if (etx_placement_has_instruction(t->placement, node)) {
    ETX_TRY(etx_placement_each_read(node, read_argument, t));
  }
  for (size_t i = 0; i < node->output_count; ++i) {
    const uint32_t value = node->outputs[i];
    if (value == ETX_IR_NONE) continue;
    if (t->placement->values[value].kind == ETX_PLACEMENT_COMPUTED) {
      ETX_TRY(write_root(t, value));
    } else {
      ETX_TRY(expect_alias(t, node, value));
    }
  }
  return etx_ir_is_head(node) ? enter_cond(t, node->cond) : ETX_OK;
}

static etx_status check_end(trace* t, etx_placement_check_scope end) {
  const etx_ir_method* const method = t->method;
  for (size_t i = 0; i < method->mutation_count; ++i) {
    const etx_ir_mutation* const mutation = &method->mutations[i];
    if (end == ETX_PLACEMENT_CHECK_NODES &&
        !etx_placement_is_in_place(t->placement, mutation)) {
      continue;
    }
    ETX_TRY(check_read(t, mutation->value));
  }
  if (end != ETX_PLACEMENT_CHECK_ALL) return ETX_OK;
  for (size_t i = 0; i < method->output_count; ++i) {
    const etx_ir_arg* const arg = &method->outputs[i].arg;
    if (arg->kind == ETX_IR_ARG_VALUE) ETX_TRY(check_read(t, arg->as.value));
  }
  return ETX_OK;
}

static etx_status trace_method(trace* t, etx_placement_check_scope end) {
  const etx_ir_method* const method = t->method;
  t->expected =
      etx_pool_take(&t->pool, method->value_count * sizeof *t->expected);
  t->overwritten =
      etx_pool_take(&t->pool, method->value_count * sizeof *t->overwritten);
  if (t->expected == NULL || t->overwritten == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(new_segments(t, 1, &t->actual));
  t->actual.items[0] =
      (version_range){0, t->placement->storages[t->storage].bytes, ETX_IR_NONE};
  for (uint32_t v = 0; v < method->value_count; ++v) {
    if (t->placement->values[v].kind == ETX_PLACEMENT_EXTERNAL) {
      ETX_TRY(write_root(t, v));
    }
  }
  for (t->node = 0; t->node < method->node_count; ++t->node) {
    ETX_TRY(step(t, &method->nodes[t->node]));
  }
  ETX_TRY(enter_branch(t, 0));
  return check_end(t, end);
}

etx_status etx_placement_check(etx_pool* pool, const etx_ir_method* method,
                               const etx_placement* placement, uint32_t storage,
                               etx_placement_check_scope end,
                               etx_placement_conflicts* conflicts) {
  trace t = {.results = pool,
             .method = method,
             .placement = placement,
             .storage = storage,
             .conflicts = conflicts};
  etx_pool_init(&t.pool);
  const etx_status status = trace_method(&t, end);
  etx_pool_close(&t.pool);
  return status;
}
