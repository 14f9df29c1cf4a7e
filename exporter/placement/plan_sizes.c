#include "exporter/placement/plan_sizes.h"

#include "format/base/block_layout.h"
#include "format/base/checked_math.h"

enum {
  SCALES = 9,           // sizes at which all symbols are small or large together
  MOST_SAMPLES = 15,    // these, and one symbol alone
  SAMPLE_STEPS = 20000  // planner steps for one sample
};

// Planning again takes time, and every block is placed for every pair of
// samples.
enum { MOST_BLOCKS = 20000 };

typedef struct sample {
  size_t* bytes;       // of each block
  uint64_t* offsets;   // of the plan at these sizes
  uint64_t least;      // no plan at these sizes is smaller
} sample;

typedef struct chooser {
  const etx_plan_sizes* sizes;
  size_t count;  // of blocks
  sample samples[MOST_SAMPLES];
  size_t sample_count;
  etx_layout_block* layout;  // of the plan that is being judged
  uint64_t* candidate;       // offsets
} chooser;

// ---- samples ----

// The size of a symbol in sample `index`. A size that data decide counts at its
// bound, since its memory does, too.
static int64_t symbol_at(const etx_symbols* symbols, size_t symbol,
                         size_t index) {
  static const int64_t parts[SCALES] = {0, 1, 2, 4, 8, 16, 32, 48, 64};
  const etx_symbol* const s = &symbols->symbols[symbol];
  const int64_t range = s->maximum - s->minimum;
  if (s->is_late) return s->maximum;
  if (index < SCALES) {
    return s->minimum + range / 64 * parts[index] +
           range % 64 * parts[index] / 64;
  }
  return (index - SCALES) % symbols->symbol_count == symbol ? s->maximum
                                                            : s->minimum;
}

static etx_status bytes_of(const chooser* c, uint32_t value,
                           const int64_t* symbols, uint64_t* out_bytes) {
  const etx_ir_method* const method = c->sizes->method;
  const etx_shape* const shape = &method->values[value].shape;
  uint64_t bytes = etx_dtype_bytes(shape->dtype);
  for (size_t i = 0; i < shape->rank; ++i) {
    int64_t size = 0;
    ETX_TRY(etx_symbols_evaluate(&method->symbols, shape->dims[i], symbols,
                                 &size));
    if (size < 0 || !etx_multiply_u64(bytes, (uint64_t)size, &bytes)) {
      return ETX_OUT_OF_RANGE;
    }
  }
  *out_bytes = bytes;
  return ETX_OK;
}

// The bytes of every block, at least one: without bytes a block would have no
// place in the order. At most those of the upper bounds.
static etx_status measure(const chooser* c, const uint32_t* block_of_storage,
                          size_t index, size_t* bytes) {
  const etx_ir_method* const method = c->sizes->method;
  const etx_placement* const placement = c->sizes->placement;
  int64_t symbols[ETX_SYMBOLS_MAX_COUNT];
  for (size_t i = 0; i < method->symbols.symbol_count; ++i) {
    symbols[i] = symbol_at(&method->symbols, i, index);
  }
  for (size_t i = 0; i < c->count; ++i) bytes[i] = 1;
  for (uint32_t v = 0; v < placement->value_count; ++v) {
    const etx_storage_range range = etx_placement_range(placement, v);
    if (range.storage == ETX_IR_NONE ||
        block_of_storage[range.storage] == ETX_IR_NONE) {
      continue;
    }
    uint64_t end = 0;
    ETX_TRY(bytes_of(c, v, symbols, &end));
    end += range.start;
    const uint32_t block = block_of_storage[range.storage];
    const uint64_t most = c->sizes->problem->blocks[block].size;
    if (end > most) end = most;
    if (end > bytes[block]) bytes[block] = (size_t)end;
  }
  return ETX_OK;
}

// Plans the blocks at the sizes of a sample.
static etx_status plan_sample(const chooser* c, sample* s) {
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
  etx_plan_solution solution = {.offsets = s->offsets};
  const size_t bytes = etx_plan_needed(&problem);
  void* const work = etx_pool_take(c->sizes->pool, bytes);
  if (work == NULL) return ETX_OUT_OF_MEMORY;
  etx_arena arena;
  etx_arena_init(&arena, work, bytes);
  ETX_TRY(etx_plan_solve(&problem, NULL, &arena, &solution, c->sizes->diag));
  s->least = solution.lower_bound;
  return ETX_OK;
}

static etx_status take_samples(chooser* c) {
  const etx_plan_sizes* const sizes = c->sizes;
  const size_t symbols = sizes->method->symbols.symbol_count;
  const size_t alone = symbols < 2 ? 0 : symbols;
  c->sample_count =
      SCALES + alone > MOST_SAMPLES ? MOST_SAMPLES : SCALES + alone;
  uint32_t* const block_of_storage = etx_pool_take(
      sizes->pool, sizes->placement->storage_count * sizeof *block_of_storage);
  if (block_of_storage == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t s = 0; s < sizes->placement->storage_count; ++s) {
    block_of_storage[s] = ETX_IR_NONE;
  }
  for (uint32_t i = 0; i < c->count; ++i) {
    block_of_storage[sizes->storages[i]] = i;
  }
  for (size_t i = 0; i < c->sample_count; ++i) {
    sample* const s = &c->samples[i];
    s->bytes = etx_pool_take(sizes->pool, c->count * sizeof *s->bytes);
    s->offsets = etx_pool_take(sizes->pool, c->count * sizeof *s->offsets);
    if (s->bytes == NULL || s->offsets == NULL) return ETX_OUT_OF_MEMORY;
    ETX_TRY(measure(c, block_of_storage, i, s->bytes));
    ETX_TRY(plan_sample(c, s));
  }
  return ETX_OK;
}

// ---- candidates ----

static void set_layout(chooser* c, const uint64_t* offsets,
                       const size_t* bytes) {
  for (size_t i = 0; i < c->count; ++i) {
    const size_t size = bytes != NULL
                            ? bytes[i]
                            : (size_t)c->sizes->problem->blocks[i].size;
    c->layout[i] = (etx_layout_block){.start = (size_t)offsets[i],
                                      .end = (size_t)offsets[i] + size};
  }
  etx_blocks_sort(c->layout, c->count);
}

// The worst ratio of a plan at the upper bounds, in thousandths.
static uint64_t worst_of(chooser* c, const uint64_t* offsets) {
  uint64_t worst = 1000;
  set_layout(c, offsets, NULL);
  const size_t alignment = etx_blocks_alignment(c->layout, c->count);
  for (size_t s = 0; s < c->sample_count; ++s) {
    const sample* const at = &c->samples[s];
    for (size_t i = 0; i < c->count; ++i) c->layout[i].bytes = at->bytes[i];
    const uint64_t bytes = etx_blocks_place(c->layout, c->count, alignment);
    if (at->least == 0 || bytes > UINT64_MAX / 1000) continue;
    const uint64_t ratio = bytes * 1000 / at->least;
    if (ratio > worst) worst = ratio;
  }
  return worst;
}

// The plan at the upper bounds that has the order of a sample's plan. Returns
// its bytes.
static uint64_t order_as(chooser* c, const sample* s) {
  const etx_plan_block* const blocks = c->sizes->problem->blocks;
  uint64_t alignment = 1;
  set_layout(c, s->offsets, s->bytes);
  for (size_t i = 0; i < c->count; ++i) {
    c->layout[i].bytes = (size_t)blocks[i].size;
    if (blocks[i].alignment > alignment) alignment = blocks[i].alignment;
  }
  const uint64_t bytes =
      etx_blocks_place(c->layout, c->count, (size_t)alignment);
  for (size_t i = 0; i < c->count; ++i) c->candidate[i] = c->layout[i].placed;
  return bytes;
}

static void choose(chooser* c, etx_plan_solution* solution,
                   uint64_t* out_worst) {
  uint64_t worst = worst_of(c, solution->offsets);
  for (size_t s = 0; s < c->sample_count && worst > 1000; ++s) {
    const uint64_t bytes = order_as(c, &c->samples[s]);
    if (bytes > solution->arena_bytes) continue;
    const uint64_t found = worst_of(c, c->candidate);
    if (found >= worst) continue;
    worst = found;
    solution->arena_bytes = bytes;
    for (size_t i = 0; i < c->count; ++i) {
      solution->offsets[i] = c->candidate[i];
    }
  }
  *out_worst = worst;
}

static bool has_varying_sizes(const etx_ir_method* method) {
  for (size_t i = 0; i < method->symbols.symbol_count; ++i) {
    const etx_symbol* const s = &method->symbols.symbols[i];
    if (!s->is_late && s->minimum < s->maximum) return true;
  }
  return false;
}

etx_status etx_plan_for_sizes(const etx_plan_sizes* sizes,
                              etx_plan_solution* solution,
                              uint64_t* out_worst) {
  chooser c = {.sizes = sizes, .count = sizes->problem->block_count};
  *out_worst = 0;
  if (c.count == 0 || c.count > MOST_BLOCKS ||
      !has_varying_sizes(sizes->method)) {
    return ETX_OK;
  }
  c.layout = etx_pool_take(sizes->pool, c.count * sizeof *c.layout);
  c.candidate = etx_pool_take(sizes->pool, c.count * sizeof *c.candidate);
  if (c.layout == NULL || c.candidate == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(take_samples(&c));
  choose(&c, solution, out_worst);
  return ETX_OK;
}
