#include "exporter/schedule/list_scheduler.h"

#include <string.h>

// An entry of the heap is right when it is made. Items only get cheaper as
// others run; one that does is entered again.
typedef struct entry {
  int64_t growth;
  uint32_t rank;
  uint32_t item;
} entry;

typedef struct listing {
  etx_pool* pool;
  etx_live_bytes* walk;
  const etx_list_scheduler_ranks* ranks;
  uint32_t* waits;  // by item: items before it that have not run
  bool* is_done;
  entry* heap;
  size_t heap_count, heap_capacity;
  uint32_t* free_items;  // that cost nothing, latest last
  size_t free_count, free_capacity;
  uint64_t limit;  // bytes that were live already, or have to be
} listing;

static bool goes_first(const entry* a, const entry* b) {
  if (a->growth != b->growth) return a->growth < b->growth;
  if (a->rank != b->rank) return a->rank < b->rank;
  return a->item < b->item;
}

static etx_status push(listing* l, entry added) {
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

static entry pop(listing* l) {
  const entry top = l->heap[0];
  const entry moved = l->heap[--l->heap_count];
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

// A ready item is entered with what it costs now.
static etx_status offer(listing* l, uint32_t item) {
  if (l->is_done[item] || l->waits[item] != 0) return ETX_OK;
  const etx_live_bytes_cost cost = etx_live_bytes_cost_of(l->walk, item);
  if (cost.after <= l->walk->live && cost.step <= l->limit) {
    ETX_TRY(etx_pool_grow(l->pool, &l->free_items, l->free_count,
                          &l->free_capacity, sizeof item));
    l->free_items[l->free_count++] = item;
    return ETX_OK;
  }
  const int64_t growth = (int64_t)cost.after - (int64_t)l->walk->live;
  return push(l, (entry){l->ranks->by_growth ? growth : 0,
                         l->ranks->ranks[item], item});
}

// Whoever has got cheaper or ready by it is offered again.
static etx_status run(listing* l, uint32_t item) {
  const etx_schedule_problem* const p = l->walk->problem;
  const uint64_t step = etx_live_bytes_cost_of(l->walk, item).step;
  if (step > l->limit) l->limit = step;
  etx_live_bytes_run(l->walk, item);
  l->is_done[item] = true;
  for (uint32_t k = p->after.starts[item]; k < p->after.starts[item + 1]; ++k) {
    const uint32_t next = p->after.entries[k];
    if (--l->waits[next] == 0) ETX_TRY(offer(l, next));
  }
  for (uint32_t k = p->touches.starts[item]; k < p->touches.starts[item + 1];
       ++k) {
    const uint32_t block = p->touches.entries[k];
    if (l->walk->left[block] == 1) {
      ETX_TRY(offer(l, l->walk->rest[block]));
    } else if (l->walk->has_begun[k]) {
      const etx_schedule_lists* const all = &l->walk->touchers;
      for (uint32_t t = all->starts[block]; t < all->starts[block + 1]; ++t) {
        ETX_TRY(offer(l, all->entries[t]));
      }
    }
  }
  return ETX_OK;
}

static uint32_t take_next(listing* l) {
  if (l->free_count != 0) return l->free_items[--l->free_count];
  return pop(l).item;
}

etx_status etx_list_scheduler_run(etx_pool* pool, etx_live_bytes* walk,
                                  const etx_list_scheduler_ranks* ranks,
                                  uint32_t* out_items) {
  const size_t count = walk->problem->item_count;
  listing l = {.pool = pool, .walk = walk, .ranks = ranks};
  l.waits = etx_pool_take(pool, count * sizeof *l.waits);
  l.is_done = etx_pool_take(pool, count);
  if (l.waits == NULL || l.is_done == NULL) return ETX_OUT_OF_MEMORY;
  etx_live_bytes_restart(walk);
  l.limit = etx_live_bytes_bound(walk->problem);
  for (size_t i = 0; i < count; ++i) {
    l.waits[i] = walk->before.starts[i + 1] - walk->before.starts[i];
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

// What making an item with all it needs would cost if nothing were shared.
typedef struct need {
  uint64_t peak;
  uint64_t kept;  // bytes of its own that outlive it
} need;

typedef struct demanding {
  const etx_live_bytes* walk;
  need* needs;        // by item
  uint32_t* sources;  // as walk->before, in the order to be made
  uint32_t* next;     // by item: source to be looked at
  uint32_t* path;     // items whose sources are being made
  uint32_t* ranks;
  uint32_t count;
} demanding;

static uint64_t saving(const need* n) {
  return n->peak > n->kept ? n->peak - n->kept : 0;
}

// Sources with the largest saving first: what they need beyond what stays is
// free again for the others.
static void sort_sources(const demanding* d, uint32_t start, uint32_t end) {
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

static void find_need(demanding* d, uint32_t item) {
  enum { SORTED = 64 };  // more sources than that keep their order
  const etx_schedule_problem* const p = d->walk->problem;
  const uint32_t start = d->walk->before.starts[item];
  const uint32_t end = d->walk->before.starts[item + 1];
  if (end - start <= SORTED) sort_sources(d, start, end);
  uint64_t held = 0;
  need* const own = &d->needs[item];
  for (uint32_t k = start; k < end; ++k) {
    const need* const source = &d->needs[d->sources[k]];
    if (held + source->peak > own->peak) own->peak = held + source->peak;
    held += source->kept;
  }
  uint64_t touched = 0;
  for (uint32_t k = p->touches.starts[item]; k < p->touches.starts[item + 1];
       ++k) {
    const uint32_t block = p->touches.entries[k];
    const uint32_t first = d->walk->touchers.starts[block];
    touched += p->blocks[block].bytes;
    if (d->walk->touchers.entries[first] == item) {
      own->kept += p->blocks[block].bytes;
    }
  }
  if (touched > own->peak) own->peak = touched;
}

static void demand(demanding* d, uint32_t item) {
  size_t depth = 0;
  d->path[depth++] = item;
  while (depth != 0) {
    const uint32_t top = d->path[depth - 1];
    if (d->ranks[top] != ETX_SCHEDULE_NONE) {
      --depth;
    } else if (d->next[top] == d->walk->before.starts[top + 1]) {
      d->ranks[top] = d->count++;
      --depth;
    } else {
      const uint32_t source = d->sources[d->next[top]++];
      if (d->ranks[source] == ETX_SCHEDULE_NONE) d->path[depth++] = source;
    }
  }
}

etx_status etx_list_scheduler_demand(etx_pool* pool, const etx_live_bytes* walk,
                                     uint32_t* out_ranks) {
  const size_t count = walk->problem->item_count;
  const size_t edges = walk->before.starts[count];
  demanding d = {.walk = walk, .ranks = out_ranks};
  d.needs = etx_pool_take(pool, count * sizeof *d.needs);
  d.sources = etx_pool_take(pool, edges * sizeof *d.sources);
  d.next = etx_pool_take(pool, count * sizeof *d.next);
  d.path = etx_pool_take(pool, (count + 1) * sizeof *d.path);
  if (d.needs == NULL || d.sources == NULL || d.next == NULL ||
      d.path == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  if (edges != 0) {
    memcpy(d.sources, walk->before.entries, edges * sizeof *d.sources);
  }
  for (uint32_t i = 0; i < count; ++i) {
    d.next[i] = walk->before.starts[i];
    out_ranks[i] = ETX_SCHEDULE_NONE;
    find_need(&d, i);
  }
  for (uint32_t i = 0; i < count; ++i) {
    const etx_schedule_lists* const after = &walk->problem->after;
    if (after->starts[i] == after->starts[i + 1]) demand(&d, i);
  }
  return ETX_OK;
}
