#include "exporter/arenas/plan_sizes.h"

#include <string.h>

#include "exporter/placement/size_only.h"
#include "exporter/arenas/size_samples.h"
#include "exporter/arenas/wider_layout.h"
#include "format/base/block_layout.h"

enum {
  SAMPLE_STEPS = 20000,  // planner steps for one sample
  GOOD_EXCESS = 20,      // thousandths; more layouts would not be worth their
  SPARE_BYTES = 512,     // bytes, nor where they save no more than this and
  SPARE_EXCESS = 100,    // no more than these thousandths
  MOST_EXCESS = 10000    // counts as much as any larger one
};

// Planning again takes time, and every block is placed for every pair of
// samples.
enum { MOST_BLOCKS = 20000 };

typedef struct sample {
  size_t* bytes;   // of each block
  uint64_t least;  // no plan at these sizes is smaller
  uint64_t own;    // bytes of the plan that was made for them
} sample;

// A layout that may be chosen: the plan of a sample, or the one at the upper
// bounds, with ranges widened.
typedef struct size_candidate {
  uint64_t* offsets;                   // of each block
  size_t* bytes;                       // of each block
  uint64_t at[ETX_SIZE_SAMPLES_MOST];  // bytes of the whole at each sample
} size_candidate;

typedef struct chooser {
  const etx_plan_sizes* sizes;
  size_t count;  // of blocks
  sample samples[ETX_SIZE_SAMPLES_MOST];
  size_t sample_count;
  size_candidate
      candidates[ETX_SIZE_SAMPLES_MOST + 1];  // the last: upper bounds
  etx_layout_block* layout;        // of the plan that is being judged
  uint64_t* raised;                // offsets of a plan at the upper bounds
  const etx_size_only* size_only;  // by storage
  uint64_t* last_starts;  // by storage: where the last of its values starts
} chooser;

// ---- samples ----

static etx_size_only kind_of(const chooser* c, size_t block) {
  return c->size_only[c->sizes->storages[block]];
}

// A value has a place in a layout only if its block reaches it.
static etx_status find_last_starts(chooser* c) {
  const etx_placement* const placement = c->sizes->placement;
  const size_t count = placement->storage_count;
  c->last_starts =
      etx_pool_take(c->sizes->pool, (count + 1) * sizeof *c->last_starts);
  if (c->last_starts == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) c->last_starts[i] = 0;
  for (uint32_t v = 0; v < placement->value_count; ++v) {
    const etx_storage_range range = etx_placement_range(placement, v);
    if (range.storage != ETX_IR_NONE &&
        range.start > c->last_starts[range.storage]) {
      c->last_starts[range.storage] = range.start;
    }
  }
  return ETX_OK;
}

// The bytes of every block, at least one: without bytes a block would have no
// place in the order. Values that are kept elsewhere need none.
static etx_status measure(const chooser* c, size_t index, uint64_t* bytes,
                          size_t* out_bytes) {
  ETX_TRY(etx_size_samples_bytes(c->sizes->method, c->sizes->placement, index,
                                 bytes));
  for (size_t i = 0; i < c->count; ++i) {
    const uint64_t most = c->sizes->problem->blocks[i].size;
    const uint32_t storage = c->sizes->storages[i];
    const uint64_t present = kind_of(c, i) == ETX_SIZE_ONLY_KEPT
                                 ? c->last_starts[storage] + 1
                                 : bytes[storage];
    const uint64_t block = present < most ? present : most;
    out_bytes[i] = block == 0 ? 1 : (size_t)block;
  }
  return ETX_OK;
}

// Plans the blocks at the sizes of a sample.
static etx_status plan_sample(const chooser* c, sample* s, uint64_t* offsets) {
  const etx_plan_problem* const upper = c->sizes->problem;
  etx_plan_block* const blocks =
      etx_pool_take(c->sizes->pool, c->count * sizeof *blocks);
  if (blocks == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < c->count; ++i) {
    blocks[i] = upper->blocks[i];
    blocks[i].size = s->bytes[i];
  }
  const etx_plan_problem problem = {
      .blocks = blocks, .block_count = c->count, .steps = SAMPLE_STEPS};
  etx_plan_solution solution = {.offsets = offsets};
  const size_t bytes = etx_plan_needed(&problem);
  void* const work = etx_pool_take(c->sizes->pool, bytes);
  if (work == NULL) return ETX_OUT_OF_MEMORY;
  etx_arena arena;
  etx_arena_init(&arena, work, bytes);
  ETX_TRY(etx_plan_solve(&problem, NULL, &arena, &solution, c->sizes->diag));
  s->least = solution.lower_bound;
  s->own = solution.arena_bytes;
  return ETX_OK;
}

static etx_status take_samples(chooser* c) {
  etx_pool* const pool = c->sizes->pool;
  uint64_t* const storage_bytes = etx_pool_take(
      pool, c->sizes->placement->storage_count * sizeof *storage_bytes);
  if (storage_bytes == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < c->sample_count; ++i) {
    sample* const s = &c->samples[i];
    size_candidate* const plan = &c->candidates[i];
    s->bytes = etx_pool_take(pool, c->count * sizeof *s->bytes);
    plan->offsets = etx_pool_take(pool, c->count * sizeof *plan->offsets);
    plan->bytes = etx_pool_take(pool, c->count * sizeof *plan->bytes);
    if (s->bytes == NULL || plan->offsets == NULL || plan->bytes == NULL) {
      return ETX_OUT_OF_MEMORY;
    }
    ETX_TRY(measure(c, i, storage_bytes, s->bytes));
    ETX_TRY(plan_sample(c, s, plan->offsets));
    memcpy(plan->bytes, s->bytes, c->count * sizeof *plan->bytes);
  }
  return ETX_OK;
}

// ---- cost ----

static void set_layout(chooser* c, const uint64_t* offsets,
                       const size_t* bytes) {
  for (size_t i = 0; i < c->count; ++i) {
    const size_t size =
        bytes != NULL ? bytes[i] : (size_t)c->sizes->problem->blocks[i].size;
    c->layout[i] = (etx_layout_block){.start = (size_t)offsets[i],
                                      .end = (size_t)offsets[i] + size};
  }
  etx_blocks_sort(c->layout, c->count);
}

// The bytes of the layout at the sizes of a sample. Blocks that are passed
// before all others, and all others, each have the scratch alone.
static uint64_t place(chooser* c, const sample* s, size_t alignment) {
  uint64_t most = 0;
  for (int passes = 0; passes < 2; ++passes) {
    bool has_any = false;
    for (size_t i = 0; i < c->count; ++i) {
      const bool is_in = kind_of(c, i) == (passes != 0 ? ETX_SIZE_ONLY_PASSING
                                                       : ETX_SIZE_ONLY_NONE);
      c->layout[i].bytes = is_in ? s->bytes[i] : 0;
      has_any |= is_in;
    }
    if (!has_any) continue;
    const uint64_t bytes = etx_blocks_place(c->layout, c->count, alignment);
    if (bytes > most) most = bytes;
  }
  return most;
}

// The bytes of a layout at the sizes of each sample. `bytes` are those of its
// blocks; NULL: those at the upper bounds.
static void bytes_at_samples(chooser* c, const uint64_t* offsets,
                             const size_t* bytes, uint64_t* out) {
  set_layout(c, offsets, bytes);
  const size_t alignment = etx_blocks_alignment(c->layout, c->count);
  for (size_t s = 0; s < c->sample_count; ++s) {
    out[s] = place(c, &c->samples[s], alignment);
  }
}

static void take_smaller(const chooser* c, const uint64_t* other,
                         uint64_t* bytes) {
  for (size_t s = 0; s < c->sample_count; ++s) {
    if (other[s] < bytes[s]) bytes[s] = other[s];
  }
}

// The excess over the plans that were made for each sample, in thousandths,
// cubed and added, so that the worst ones count most. Not the worst alone: it
// may take several layouts to lower it.
static uint64_t cost_of(const chooser* c, const uint64_t* bytes) {
  uint64_t sum = 0;
  for (size_t s = 0; s < c->sample_count; ++s) {
    const uint64_t own = c->samples[s].own;
    if (own == 0 || bytes[s] <= own) continue;
    const uint64_t more = bytes[s] - own;
    uint64_t excess = MOST_EXCESS;
    if (more < own * (MOST_EXCESS / 1000)) excess = more * 1000 / own;
    if (excess <= (more <= SPARE_BYTES ? SPARE_EXCESS : GOOD_EXCESS)) continue;
    sum += excess * excess * excess;
  }
  return sum;
}

// The worst ratio to the lower bound, in thousandths.
static uint64_t worst_ratio(const chooser* c, const uint64_t* bytes) {
  uint64_t worst = 1000;
  for (size_t s = 0; s < c->sample_count; ++s) {
    const uint64_t least = c->samples[s].least;
    if (least == 0 || bytes[s] > UINT64_MAX / 1000) continue;
    const uint64_t ratio = bytes[s] * 1000 / least;
    if (ratio > worst) worst = ratio;
  }
  return worst;
}

// ---- choice ----

// The plan at the upper bounds that has the order of a sample's plan. Returns
// its bytes.
static uint64_t order_as(chooser* c, const size_candidate* plan) {
  const etx_plan_block* const blocks = c->sizes->problem->blocks;
  uint64_t alignment = 1;
  set_layout(c, plan->offsets, plan->bytes);
  for (size_t i = 0; i < c->count; ++i) {
    c->layout[i].bytes = (size_t)blocks[i].size;
    if (blocks[i].alignment > alignment) alignment = blocks[i].alignment;
  }
  const uint64_t bytes =
      etx_blocks_place(c->layout, c->count, (size_t)alignment);
  for (size_t i = 0; i < c->count; ++i) c->raised[i] = c->layout[i].placed;
  return bytes;
}

static void choose_plan(chooser* c, etx_plan_solution* solution,
                        uint64_t* bytes) {
  uint64_t found[ETX_SIZE_SAMPLES_MOST];
  bytes_at_samples(c, solution->offsets, NULL, bytes);
  for (size_t s = 0; s < c->sample_count && cost_of(c, bytes) > 0; ++s) {
    const uint64_t upper = order_as(c, &c->candidates[s]);
    if (upper > solution->arena_bytes) continue;
    bytes_at_samples(c, c->raised, NULL, found);
    if (cost_of(c, found) >= cost_of(c, bytes)) continue;
    memcpy(bytes, found, sizeof found);
    solution->arena_bytes = upper;
    memcpy(solution->offsets, c->raised, c->count * sizeof *solution->offsets);
  }
}

// Completes the candidates: the plan at the upper bounds is one, too.
static etx_status widen_candidates(chooser* c,
                                   const etx_plan_solution* solution) {
  etx_pool* const pool = c->sizes->pool;
  size_candidate* const upper = &c->candidates[c->sample_count];
  upper->offsets = etx_pool_take(pool, c->count * sizeof *upper->offsets);
  upper->bytes = etx_pool_take(pool, c->count * sizeof *upper->bytes);
  if (upper->offsets == NULL || upper->bytes == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < c->count; ++i) {
    upper->offsets[i] = solution->offsets[i];
    upper->bytes[i] = (size_t)c->sizes->problem->blocks[i].size;
  }
  for (size_t k = 0; k <= c->sample_count; ++k) {
    size_candidate* const plan = &c->candidates[k];
    ETX_TRY(
        etx_layout_widen(pool, c->sizes->problem, plan->offsets, plan->bytes));
    bytes_at_samples(c, plan->offsets, plan->bytes, plan->at);
  }
  return ETX_OK;
}

// The candidate that lowers the cost most; NULL: none lowers it by an eighth.
static const size_candidate* best_candidate(const chooser* c,
                                            const uint64_t* bytes) {
  const uint64_t present = cost_of(c, bytes);
  uint64_t best = present - present / 8;
  const size_candidate* found = NULL;
  for (size_t k = 0; k <= c->sample_count; ++k) {
    uint64_t with[ETX_SIZE_SAMPLES_MOST];
    memcpy(with, bytes, sizeof with);
    take_smaller(c, c->candidates[k].at, with);
    const uint64_t cost = cost_of(c, with);
    if (cost >= best) continue;
    best = cost;
    found = &c->candidates[k];
  }
  return found;
}

static etx_status choose_layouts(chooser* c, const etx_plan_solution* solution,
                                 uint64_t* bytes, etx_size_layouts* out) {
  if (cost_of(c, bytes) == 0) return ETX_OK;
  ETX_TRY(widen_candidates(c, solution));
  while (out->count < ETX_BLOB_MOST_LAYOUTS) {
    const size_candidate* const best = best_candidate(c, bytes);
    if (best == NULL) break;
    take_smaller(c, best->at, bytes);
    out->layouts[out->count++] = (etx_size_layout){best->offsets, best->bytes};
  }
  return ETX_OK;
}

etx_status etx_plan_for_sizes(const etx_plan_sizes* sizes,
                              etx_plan_solution* solution,
                              etx_size_layouts* out) {
  *out = (etx_size_layouts){.count = 0, .worst_ratio = 0};
  const size_t count = sizes->problem->block_count;
  const size_t samples = etx_size_samples_count(&sizes->method->symbols);
  if (count == 0 || count > MOST_BLOCKS || samples == 0) return ETX_OK;
  chooser* const c = etx_pool_take(sizes->pool, sizeof *c);
  if (c == NULL) return ETX_OUT_OF_MEMORY;
  c->sizes = sizes;
  c->count = count;
  c->sample_count = samples;
  c->layout = etx_pool_take(sizes->pool, count * sizeof *c->layout);
  c->raised = etx_pool_take(sizes->pool, count * sizeof *c->raised);
  if (c->layout == NULL || c->raised == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_size_only_storages(sizes->method, sizes->placement, sizes->pool,
                                 &c->size_only));
  ETX_TRY(find_last_starts(c));
  ETX_TRY(take_samples(c));
  uint64_t bytes[ETX_SIZE_SAMPLES_MOST] = {0};
  choose_plan(c, solution, bytes);
  if (sizes->takes_layouts) {
    ETX_TRY(choose_layouts(c, solution, bytes, out));
  }
  out->worst_ratio = worst_ratio(c, bytes);
  return ETX_OK;
}
