#include "tests/bench/bench_families.h"

#include <string.h>

// splitmix64.
static uint64_t next(uint64_t* state) {
  uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

static uint64_t below(uint64_t* state, uint64_t limit) {
  return next(state) % limit;
}

static void live(etx_plan_block* block, uint64_t start, uint64_t end) {
  block->start = (uint32_t)start;
  block->end = (uint32_t)end;
}

static uint64_t some_size(uint64_t* state) {
  return 64 * (1 + below(state, 1000));
}

// Every function makes block i of n. `k` was drawn before, for all families.
typedef void family_fn(etx_plan_block* block, uint64_t i, uint64_t n,
                       uint64_t k, uint64_t* state);

// Most values die soon, a few live for a tenth of the program.
static void make_net(etx_plan_block* block, uint64_t i, uint64_t n, uint64_t k,
                     uint64_t* state) {
  uint64_t steps = 1;
  if (k >= 990) {
    steps = 1 + below(state, n / 10 + 1);
  } else if (k >= 850) {
    steps = 5 + below(state, 60);
  } else if (k >= 600) {
    steps = 2 + below(state, 3);
  }
  const uint64_t end = i + 1 + steps;
  live(block, i, end < n + 1 ? end : n + 1);
  const uint64_t base = UINT64_C(64) << below(state, 15);
  block->size = base + 64 * below(state, base / 64);
}

// A window that slides: a thousand live at once, each as long as the others.
static void make_stair(etx_plan_block* block, uint64_t i, uint64_t n,
                       uint64_t k, uint64_t* state) {
  (void)n;
  (void)k;
  live(block, i, i + 1000);
  block->size = some_size(state);
}

// A third of all live at once.
static void make_uniform(etx_plan_block* block, uint64_t i, uint64_t n,
                         uint64_t k, uint64_t* state) {
  (void)i;
  (void)k;
  const uint64_t a = below(state, 2 * n);
  const uint64_t b = below(state, 2 * n);
  const uint64_t start = a < b ? a : b;
  const uint64_t end = a < b ? b : a;
  live(block, start, start == end ? end + 1 : end);
  block->size = some_size(state);
}

// Values that a forward pass keeps for the backward pass, and temporaries.
static void make_train(etx_plan_block* block, uint64_t i, uint64_t n,
                       uint64_t k, uint64_t* state) {
  (void)k;
  if (next(state) & 1) {
    live(block, i, 2 * n - i);
  } else {
    const uint64_t start = below(state, 2 * n);
    live(block, start, start + 1 + below(state, 4));
  }
  block->size = UINT64_C(64) << below(state, 10);
}

// Each lives within the one before it.
static void make_nested(etx_plan_block* block, uint64_t i, uint64_t n,
                        uint64_t k, uint64_t* state) {
  (void)k;
  live(block, i, 2 * n - i);
  block->size = some_size(state);
}

// Blocks differ in their lifetimes only.
static void make_equal(etx_plan_block* block, uint64_t i, uint64_t n,
                       uint64_t k, uint64_t* state) {
  (void)n;
  (void)k;
  live(block, i, i + 1 + below(state, 50));
  block->size = 4096;
}

// No two blocks can share bytes.
static void make_overlap(etx_plan_block* block, uint64_t i, uint64_t n,
                         uint64_t k, uint64_t* state) {
  (void)i;
  (void)n;
  (void)k;
  live(block, 0, 1);
  block->size = some_size(state);
}

const char* const bench_family_names[] = {"net",    "stair", "uniform", "train",
                                          "nested", "equal", "overlap", NULL};

static family_fn* const makers[] = {make_net,    make_stair,  make_uniform,
                                    make_train,  make_nested, make_equal,
                                    make_overlap};

int bench_family_fill(const char* name, etx_plan_block* blocks, size_t count) {
  size_t family = 0;
  while (bench_family_names[family] != NULL &&
         strcmp(bench_family_names[family], name) != 0) {
    ++family;
  }
  if (bench_family_names[family] == NULL) return 1;
  uint64_t state = 1;
  for (size_t i = 0; i < count; ++i) {
    blocks[i] = (etx_plan_block){.alignment = 1, .fixed = ETX_PLAN_FREE};
    const uint64_t k = below(&state, 1000);
    makers[family](&blocks[i], i, count, k, &state);
  }
  return 0;
}

uint64_t bench_family_bound(const char* name, size_t count) {
  static const struct {
    const char* name;
    size_t count;
    uint64_t bound;
  } known[] = {{"net", 10000, 10146112},
               {"net", 100000, 25870080},
               {"net", 1000000, 137837376},
               {"stair", 1000000, 34298816},
               {"uniform", 1000000, UINT64_C(16011798272)},
               {"train", 1000000, UINT64_C(3267477120)}};
  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); ++i) {
    if (strcmp(known[i].name, name) == 0 && known[i].count == count) {
      return known[i].bound;
    }
  }
  return 0;
}
