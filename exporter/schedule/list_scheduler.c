// List scheduling: the ready item with the lowest cost runs next. Items that do
// not increase the live bytes wait in a stack of their own and run first; the
// others wait in a binary heap. The costs of an item only fall as others run.
// An item whose costs fell is pushed again, and its old entry is skipped later.

#include "exporter/schedule/list_scheduler.h"

#include <string.h>

typedef struct heap_entry {
  int64_t growth;
  uint32_t rank;
  uint32_t item;
} heap_entry;

typedef struct list_state {
  etx_pool* pool;
  etx_live_bytes* simulator;
  const etx_list_scheduler_ranks* ranks;
  uint32_t* waiting_for;  // by item: predecessors that have not run
  bool* is_done;
  heap_entry* heap;
  size_t heap_count, heap_capacity;
  uint32_t* free_items;  // stack of items that do not increase the live bytes
  size_t free_count, free_capacity;
  uint64_t limit;  // the peak so far, at least the lower bound
} list_state;

static bool goes_first(const heap_entry* a, const heap_entry* b) {
  if (a->growth != b->growth) return a->growth < b->growth;
  if (a->rank != b->rank) return a->rank < b->rank;
  return a->item < b->item;
}

static etx_status push(list_state* l, heap_entry added) {
  ETX_TRY(etx_pool_grow(l->pool, &l->heap, l->heap_count, &l->heap_capacity,
                        sizeof *l->heap));
  size_t at = l->heap_count++;
  while (at > 0 && goes_first(&added, &l->heap[(at - 1) / 2])) {
    l->heap[at] = l->heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  l->heap[at] = added;
  return ETX_OK;
}

static heap_entry pop(list_state* l) {
  const heap_entry top = l->heap[0];
  const heap_entry moved = l->heap[--l->heap_count];
  size_t at = 0;
  for (size_t child = 1; child < l->heap_count; child = 2 * at + 1) {
    if (child + 1 < l->heap_count &&
        goes_first(&l->heap[child + 1], &l->heap[child])) {
      ++child;
    }
    if (!goes_first(&l->heap[child], &moved)) break;
    l->heap[at] = l->heap[child];
    at = child;
  }
  if (l->heap_count != 0) l->heap[at] = moved;
  return top;
}

// Adds a ready item with its present costs.
static etx_status offer(list_state* l, uint32_t item) {
  if (l->is_done[item] || l->waiting_for[item] != 0) return ETX_OK;
  const etx_live_bytes_cost cost = etx_live_bytes_cost_of(l->simulator, item);
  if (cost.after <= l->simulator->live && cost.step <= l->limit) {
    ETX_TRY(etx_pool_grow(l->pool, &l->free_items, l->free_count,
                          &l->free_capacity, sizeof item));
    l->free_items[l->free_count++] = item;
    return ETX_OK;
  }
  const int64_t growth = (int64_t)cost.after - (int64_t)l->simulator->live;
  return push(l, (heap_entry){l->ranks->by_growth ? growth : 0,
                              l->ranks->ranks[item], item});
}

// Runs an item. Items that became ready or cheaper by it are offered again.
static etx_status run(list_state* l, uint32_t item) {
  const etx_schedule_problem* const p = l->simulator->problem;
  const uint64_t step = etx_live_bytes_cost_of(l->simulator, item).step;
  if (step > l->limit) l->limit = step;
  etx_live_bytes_run(l->simulator, item);
  l->is_done[item] = true;
  for (uint32_t k = p->successors.starts[item];
       k < p->successors.starts[item + 1]; ++k) {
    const uint32_t next = p->successors.entries[k];
    if (--l->waiting_for[next] == 0) ETX_TRY(offer(l, next));
  }
  for (uint32_t k = p->touches.starts[item]; k < p->touches.starts[item + 1];
       ++k) {
    const uint32_t block = p->touches.entries[k];
    if (l->simulator->remaining[block] == 1) {
      ETX_TRY(offer(l, l->simulator->remaining_xor[block]));
    } else if (l->simulator->began_at[k]) {
      const etx_schedule_lists* const all = &l->simulator->users;
      for (uint32_t t = all->starts[block]; t < all->starts[block + 1]; ++t) {
        ETX_TRY(offer(l, all->entries[t]));
      }
    }
  }
  return ETX_OK;
}

static uint32_t take_next(list_state* l) {
  if (l->free_count != 0) return l->free_items[--l->free_count];
  return pop(l).item;
}

etx_status etx_list_scheduler_run(etx_pool* pool, etx_live_bytes* simulator,
                                  const etx_list_scheduler_ranks* ranks,
                                  uint32_t* out_items) {
  const size_t count = simulator->problem->item_count;
  list_state l = {.pool = pool, .simulator = simulator, .ranks = ranks};
  l.waiting_for = etx_pool_take(pool, count * sizeof *l.waiting_for);
  l.is_done = etx_pool_take(pool, count);
  if (l.waiting_for == NULL || l.is_done == NULL) return ETX_OUT_OF_MEMORY;
  etx_live_bytes_restart(simulator);
  l.limit = etx_live_bytes_bound(simulator->problem);
  for (size_t i = 0; i < count; ++i) {
    l.waiting_for[i] = simulator->predecessors.starts[i + 1] -
                       simulator->predecessors.starts[i];
  }
  for (uint32_t i = 0; i < count; ++i) ETX_TRY(offer(&l, i));
  size_t done = 0;
  while (done < count) {
    const uint32_t item = take_next(&l);
    if (l.is_done[item]) continue;
    out_items[done++] = item;
    ETX_TRY(run(&l, item));
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- demand

// Ranks by demand generalise Sethi-Ullman numbering from registers to bytes:
// the peak of computing an item with all its predecessors, as if the graph were
// a tree.
typedef struct need {
  uint64_t peak;
  uint64_t kept;  // bytes of the item's results
} need;

typedef struct demand_state {
  const etx_live_bytes* simulator;
  need* needs;        // by item
  uint32_t* sources;  // simulator->predecessors, in the order to be computed
  uint32_t* next;     // by item: the next of its sources
  uint32_t* path;     // depth-first search: items whose sources get ranks
  uint32_t* ranks;
  uint32_t count;
} demand_state;

static uint64_t saving(const need* n) {
  return n->peak > n->kept ? n->peak - n->kept : 0;
}

// Sources that free most come first: what they need beyond their results is
// free again when the others are computed.
static void sort_sources(const demand_state* d, uint32_t start, uint32_t end) {
  for (uint32_t i = start + 1; i < end; ++i) {
    const uint32_t moved = d->sources[i];
    uint32_t at = i;
    while (at > start &&
           saving(&d->needs[d->sources[at - 1]]) < saving(&d->needs[moved])) {
      d->sources[at] = d->sources[at - 1];
      --at;
    }
    d->sources[at] = moved;
  }
}

static void find_need(demand_state* d, uint32_t item) {
  enum { SORTED = 64 };  // longer lists of sources are not sorted
  const etx_schedule_problem* const p = d->simulator->problem;
  const uint32_t start = d->simulator->predecessors.starts[item];
  const uint32_t end = d->simulator->predecessors.starts[item + 1];
  if (end - start <= SORTED) sort_sources(d, start, end);
  uint64_t held = 0;
  need* const total = &d->needs[item];
  for (uint32_t k = start; k < end; ++k) {
    const need* const source = &d->needs[d->sources[k]];
    if (held + source->peak > total->peak) total->peak = held + source->peak;
    held += source->kept;
  }
  uint64_t touched = 0;
  for (uint32_t k = p->touches.starts[item]; k < p->touches.starts[item + 1];
       ++k) {
    const uint32_t block = p->touches.entries[k];
    const uint32_t first = d->simulator->users.starts[block];
    touched += p->blocks[block].bytes;
    if (d->simulator->users.entries[first] == item) {
      total->kept += p->blocks[block].bytes;
    }
  }
  if (touched > total->peak) total->peak = touched;
}

static void rank_with_sources(demand_state* d, uint32_t item) {
  size_t depth = 0;
  d->path[depth++] = item;
  while (depth != 0) {
    const uint32_t top = d->path[depth - 1];
    if (d->ranks[top] != ETX_SCHEDULE_NONE) {
      --depth;
    } else if (d->next[top] == d->simulator->predecessors.starts[top + 1]) {
      d->ranks[top] = d->count++;
      --depth;
    } else {
      const uint32_t source = d->sources[d->next[top]++];
      if (d->ranks[source] == ETX_SCHEDULE_NONE) d->path[depth++] = source;
    }
  }
}

etx_status etx_list_scheduler_demand(etx_pool* pool,
                                     const etx_live_bytes* simulator,
                                     uint32_t* out_ranks) {
  const size_t count = simulator->problem->item_count;
  const size_t edges = simulator->predecessors.starts[count];
  demand_state d = {.simulator = simulator, .ranks = out_ranks};
  d.needs = etx_pool_take(pool, count * sizeof *d.needs);
  d.sources = etx_pool_take(pool, edges * sizeof *d.sources);
  d.next = etx_pool_take(pool, count * sizeof *d.next);
  d.path = etx_pool_take(pool, (count + 1) * sizeof *d.path);
  if (d.needs == NULL || d.sources == NULL || d.next == NULL ||
      d.path == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  if (edges != 0) {
    memcpy(d.sources, simulator->predecessors.entries,
           edges * sizeof *d.sources);
  }
  for (uint32_t i = 0; i < count; ++i) {
    d.next[i] = simulator->predecessors.starts[i];
    out_ranks[i] = ETX_SCHEDULE_NONE;
    find_need(&d, i);
  }
  for (uint32_t i = 0; i < count; ++i) {
    const etx_schedule_lists* const after = &simulator->problem->successors;
    if (after->starts[i] == after->starts[i + 1]) rank_with_sources(&d, i);
  }
  return ETX_OK;
}
