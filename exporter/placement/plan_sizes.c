#include "exporter/placement/plan_sizes.h"

#include <string.h>

#include "format/base/block_layout.h"
#include "format/base/checked_math.h"

enum {
  SCALES = 9,         // sizes at which all symbols are small or large together
  MOST_SAMPLES = 24,  // these, and those where symbols differ
  SAMPLE_STEPS = 20000,  // planner steps for one sample
  GOOD_RATIO = 1020,     // more layouts would not be worth their bytes,
  SPARE_BYTES = 512      // nor where they save no more than this
};

// Planning again takes time, and every block is placed for every pair of
// samples.
enum { MOST_BLOCKS = 20000 };

typedef struct sample {
  size_t* bytes;      // of each block
  uint64_t* offsets;  // of the plan at these sizes
  uint64_t least;     // no plan at these sizes is smaller
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
  // In 64ths of the range.
  static const int64_t together[SCALES] = {0, 1, 2, 4, 8, 16, 24, 36, 50};
  static const int64_t apart[][2] = {{64, 0}, {16, 64}, {64, 16}, {32, 64}};
  enum { APART = sizeof apart / sizeof *apart };
  const etx_symbol* const s = &symbols->symbols[symbol];
  const int64_t range = s->maximum - s->minimum;
  int64_t part = 64;
  if (index < SCALES) {
    part = together[index];
  } else {
    const size_t pair = index - SCALES;
    part = apart[pair % APART][pair / APART == symbol ? 0 : 1];
  }
  if (s->is_late) return s->maximum;
  return s->minimum + range / 64 * part + range % 64 * part / 64;
}

static etx_status bytes_of(const chooser* c, uint32_t value,
                           const int64_t* symbols, uint64_t* out_bytes) {
  const etx_ir_method* const method = c->sizes->method;
  const etx_shape* const shape = &method->values[value].shape;
  uint64_t bytes = etx_dtype_bytes(shape->dtype);
  for (size_t i = 0; i < shape->rank; ++i) {
    int64_t size = 0;
    ETX_TRY(
        etx_symbols_evaluate(&method->symbols, shape->dims[i], symbols, &size));
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
  const size_t apart = symbols < 2 ? 0 : 4 * symbols;
  c->sample_count =
      SCALES + apart > MOST_SAMPLES ? MOST_SAMPLES : SCALES + apart;
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
    const size_t size =
        bytes != NULL ? bytes[i] : (size_t)c->sizes->problem->blocks[i].size;
    c->layout[i] = (etx_layout_block){.start = (size_t)offsets[i],
                                      .end = (size_t)offsets[i] + size};
  }
  etx_blocks_sort(c->layout, c->count);
}

// The bytes of a plan at the sizes of each sample, if they are fewer than
// `most`, which may be NULL. The plan is one for blocks of `planned` bytes;
// NULL: at the upper bounds.
static void bytes_at_samples(chooser* c, const uint64_t* offsets,
                             const size_t* planned, const uint64_t* most,
                             uint64_t* out) {
  set_layout(c, offsets, planned);
  const size_t alignment = etx_blocks_alignment(c->layout, c->count);
  for (size_t s = 0; s < c->sample_count; ++s) {
    for (size_t i = 0; i < c->count; ++i) {
      c->layout[i].bytes = c->samples[s].bytes[i];
    }
    out[s] = etx_blocks_place(c->layout, c->count, alignment);
    if (most != NULL && most[s] < out[s]) out[s] = most[s];
  }
}

// The worst ratio to the lower bound, in thousandths. Sizes with at most
// `spare` bytes more than their lower bound do not count.
static uint64_t worst_ratio(const chooser* c, const uint64_t* bytes,
                            uint64_t spare) {
  uint64_t worst = 1000;
  for (size_t s = 0; s < c->sample_count; ++s) {
    const uint64_t least = c->samples[s].least;
    if (least == 0 || bytes[s] > UINT64_MAX / 1000 ||
        bytes[s] - least <= spare) {
      continue;
    }
    const uint64_t ratio = bytes[s] * 1000 / least;
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

static void choose_plan(chooser* c, etx_plan_solution* solution,
                        uint64_t* bytes) {
  uint64_t found[MOST_SAMPLES];
  bytes_at_samples(c, solution->offsets, NULL, NULL, bytes);
  for (size_t s = 0; s < c->sample_count; ++s) {
    if (worst_ratio(c, bytes, 0) == 1000) return;
    const uint64_t upper = order_as(c, &c->samples[s]);
    if (upper > solution->arena_bytes) continue;
    bytes_at_samples(c, c->candidate, NULL, NULL, found);
    if (worst_ratio(c, found, 0) >= worst_ratio(c, bytes, 0)) continue;
    memcpy(bytes, found, sizeof found);
    solution->arena_bytes = upper;
    memcpy(solution->offsets, c->candidate,
           c->count * sizeof *solution->offsets);
  }
}

// The sample whose plan, as one more layout, lowers the worst ratio most;
// SIZE_MAX: none lowers it by more than a hundredth.
static size_t best_layout(chooser* c, const uint64_t* bytes) {
  uint64_t best = worst_ratio(c, bytes, SPARE_BYTES) - 10;
  size_t found = SIZE_MAX;
  for (size_t s = 0; s < c->sample_count; ++s) {
    uint64_t with[MOST_SAMPLES];
    bytes_at_samples(c, c->samples[s].offsets, c->samples[s].bytes, bytes,
                     with);
    const uint64_t ratio = worst_ratio(c, with, SPARE_BYTES);
    if (ratio >= best) continue;
    best = ratio;
    found = s;
  }
  return found;
}

static void choose_layouts(chooser* c, uint64_t* bytes, etx_size_layouts* out) {
  while (out->count < ETX_BLOB_MOST_LAYOUTS &&
         worst_ratio(c, bytes, SPARE_BYTES) > GOOD_RATIO) {
    const size_t at = best_layout(c, bytes);
    if (at == SIZE_MAX) return;
    const sample* const s = &c->samples[at];
    bytes_at_samples(c, s->offsets, s->bytes, bytes, bytes);
    out->layouts[out->count++] = (etx_size_layout){s->offsets, s->bytes};
  }
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
                              etx_size_layouts* out) {
  chooser c = {.sizes = sizes, .count = sizes->problem->block_count};
  uint64_t bytes[MOST_SAMPLES];
  *out = (etx_size_layouts){.count = 0, .worst_ratio = 0};
  if (c.count == 0 || c.count > MOST_BLOCKS ||
      !has_varying_sizes(sizes->method)) {
    return ETX_OK;
  }
  c.layout = etx_pool_take(sizes->pool, c.count * sizeof *c.layout);
  c.candidate = etx_pool_take(sizes->pool, c.count * sizeof *c.candidate);
  if (c.layout == NULL || c.candidate == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(take_samples(&c));
  choose_plan(&c, solution, bytes);
  if (sizes->takes_layouts) choose_layouts(&c, bytes, out);
  out->worst_ratio = worst_ratio(&c, bytes, 0);
  return ETX_OK;
}
