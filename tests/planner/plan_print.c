// Prints the plans of many problems, a line for each problem and algorithm, so
// that builds of other compilers and for other machines can be compared:
//
//   plan_print [-n COUNT] [-s SEED] [-t STEPS] [-l] [-q] [problem.csv...]
//
//   -n COUNT   random problems, beside the files (default 0)
//   -s SEED    of the first of them (default 1)
//   -t STEPS   that searches may take (default 2000)
//   -l         only little problems, up to 12 blocks
//   -q         no lines, only the summary
//
// Every plan is judged by etx_plan_validate and by comparing every two blocks.
// No plan may lie below a bound that any algorithm states, only problems that
// contradict themselves are refused, and they always. Exit 1 if one of these
// does not hold, with what it was on standard error.
//
// It needs the planner, format/base and the C library, no more.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/plan_portfolio.h"
#include "planner/validation/plan_validate.h"
#include "tests/planner/plan_random.h"

typedef struct plan_printer {
  bool is_quiet;
  const char* name;        // of the present problem
  uint64_t hash;           // of all lines
  uint64_t problems;       // seen so far
  uint64_t plans;          // of them, valid
  uint64_t none;           // searches that found no plan
  uint64_t refused;        // contradictions
  uint64_t wrong;          // whatever must not be
  uint64_t smallest;       // arena of the present problem
  uint64_t largest_bound;  // that an algorithm stated for it
} plan_printer;

static void* allocate(size_t bytes) {
  void* const memory = bytes == SIZE_MAX ? NULL : malloc(bytes + 1);
  if (memory != NULL) return memory;
  fprintf(stderr, "plan_print: no memory\n");
  exit(2);
}

// FNV-1a.
static void hash_byte(uint64_t* hash, uint8_t byte) {
  *hash = (*hash ^ byte) * UINT64_C(0x100000001B3);
}

static void hash_u64(uint64_t* hash, uint64_t value) {
  for (unsigned i = 0; i < 8; ++i) hash_byte(hash, (uint8_t)(value >> 8 * i));
}

static void wrong(plan_printer* p, const char* algorithm, const char* what) {
  fprintf(stderr, "%s %s: %s\n", p->name, algorithm, what);
  p->wrong += 1;
}

static void say(plan_printer* p, const char* line) {
  for (const char* c = line; *c != '\0'; ++c) hash_byte(&p->hash, (uint8_t)*c);
  hash_byte(&p->hash, '\n');
  if (!p->is_quiet) printf("%s\n", line);
}

static bool clash(const etx_plan_block* a, const etx_plan_block* b,
                  uint64_t a_offset, uint64_t b_offset) {
  return a->start < b->end && b->start < a->end && a->size > 0 && b->size > 0 &&
         a_offset < b_offset + b->size && b_offset < a_offset + a->size;
}

// What is wrong with one block of a plan, or NULL.
static const char* block_fault(const etx_plan_problem* problem,
                               const etx_plan_solution* plan, size_t i) {
  const etx_plan_block* const block = &problem->blocks[i];
  const uint64_t offset = plan->offsets[i];
  if (offset > plan->arena_bytes || block->size > plan->arena_bytes - offset) {
    return "a block ends outside";
  }
  if (offset % block->alignment != 0) return "a block is not aligned";
  if (block->fixed != ETX_PLAN_FREE && block->fixed != offset) {
    return "a fixed block was moved";
  }
  for (size_t j = 0; j < i; ++j) {
    if (clash(block, &problem->blocks[j], offset, plan->offsets[j])) {
      return "two blocks overlap";
    }
  }
  return NULL;
}

static const char* plan_fault(const etx_plan_problem* problem,
                              const etx_plan_solution* plan) {
  uint64_t highest = 0;
  for (size_t i = 0; i < problem->block_count; ++i) {
    const char* const fault = block_fault(problem, plan, i);
    const uint64_t end = plan->offsets[i] + problem->blocks[i].size;
    if (fault != NULL) return fault;
    if (end > highest) highest = end;
  }
  if (highest != plan->arena_bytes) return "the arena is not its highest end";
  if (problem->capacity != 0 && highest > problem->capacity) {
    return "the arena is larger than the capacity";
  }
  return plan->lower_bound > highest ? "the bound is above the arena" : NULL;
}

static const char* verdict_fault(const etx_plan_problem* problem,
                                 const etx_plan_solution* plan) {
  etx_plan_validation judgement = {ETX_PLAN_VALID, 0, 0};
  etx_arena work;
  etx_arena_init_counting(&work);
  if (etx_plan_validate(problem, plan, &work, &judgement) != ETX_OK) {
    return "the judge cannot be counted";
  }
  const size_t bytes = work.peak_bytes;
  void* const memory = allocate(bytes);
  etx_arena_init(&work, memory, bytes);
  const etx_status status = etx_plan_validate(problem, plan, &work, &judgement);
  free(memory);
  if (status != ETX_OK) return "the judge failed";
  return judgement.verdict == ETX_PLAN_VALID
             ? NULL
             : etx_plan_verdict_text(judgement.verdict);
}

static void print_plan(plan_printer* p, const etx_plan_problem* problem,
                       const char* algorithm, const etx_plan_solution* plan) {
  char line[512];
  uint64_t hash = UINT64_C(0xCBF29CE484222325);
  for (size_t i = 0; i < problem->block_count; ++i) {
    hash_u64(&hash, plan->offsets[i]);
  }
  snprintf(line, sizeof line,
           "%s %s: %" PRIu64 " bytes, bound %" PRIu64 ", by %s, %016" PRIx64,
           p->name, algorithm, plan->arena_bytes, plan->lower_bound,
           plan->algorithm, hash);
  say(p, line);
  const char* fault = plan_fault(problem, plan);
  if (fault == NULL) fault = verdict_fault(problem, plan);
  if (fault != NULL) wrong(p, algorithm, fault);
  if (plan->arena_bytes < p->smallest) p->smallest = plan->arena_bytes;
  if (plan->lower_bound > p->largest_bound) {
    p->largest_bound = plan->lower_bound;
  }
  p->plans += 1;
}

static void print_failure(plan_printer* p, const etx_plan_problem* problem,
                          const char* algorithm, etx_status status,
                          const etx_diag* diag) {
  char line[ETX_DIAG_TEXT_BYTES + 512];
  snprintf(line, sizeof line, "%s %s: %s: %s", p->name, algorithm,
           etx_status_text(status), diag->text);
  say(p, line);
  const bool is_refused = status == ETX_BAD_ARGUMENT;
  p->refused += is_refused;
  p->none += !is_refused;
  if (is_refused && !is_contradiction(problem)) {
    wrong(p, algorithm, "refused, without a contradiction");
  }
  if (!is_refused && status != ETX_BAD_PLAN && status != ETX_UNSUPPORTED) {
    wrong(p, algorithm, diag->text);
  }
}

static etx_status print_one(plan_printer* p, const etx_plan_problem* problem,
                            const char* algorithm) {
  const char* const called = algorithm == NULL ? "all" : algorithm;
  const size_t needed = etx_plan_needed(problem);
  void* const memory = allocate(needed);
  etx_plan_solution plan = {0};
  etx_arena work;
  etx_diag diag;
  plan.offsets = allocate(problem->block_count * sizeof *plan.offsets);
  etx_arena_init(&work, memory, needed);
  etx_diag_init(&diag);
  const etx_status status =
      etx_plan_solve(problem, algorithm, &work, &plan, &diag);
  if (status == ETX_OK) {
    print_plan(p, problem, called, &plan);
  } else {
    print_failure(p, problem, called, status, &diag);
  }
  free(plan.offsets);
  free(memory);
  return status;
}

static void print_problem(plan_printer* p, const etx_plan_problem* problem) {
  p->smallest = UINT64_MAX;
  p->largest_bound = 0;
  p->problems += 1;
  const etx_status status = print_one(p, problem, NULL);
  if (status == ETX_OK && is_contradiction(problem)) {
    wrong(p, "all", "a plan in spite of a contradiction");
  }
  // Without a limit there is always one.
  if (status != ETX_OK && problem->capacity == 0 &&
      !is_contradiction(problem)) {
    wrong(p, "all", "no plan, but all fit one above the other");
  }
  for (size_t i = 0; i < etx_plan_algorithm_count(); ++i) {
    const char* const algorithm = etx_plan_algorithm_at(i)->name;
    const etx_status alone = print_one(p, problem, algorithm);
    // All algorithms share the steps, so this also holds for one that takes
    // none.
    if (i == 0 && alone == ETX_OK && status != ETX_OK) {
      wrong(p, algorithm, "a plan, though all together found none");
    }
  }
  if (p->largest_bound > p->smallest) {
    wrong(p, "all", "a plan lies below what an algorithm says is the least");
  }
}

static void print_random(plan_printer* p, uint64_t first, uint64_t count,
                         uint64_t steps, bool only_small) {
  etx_plan_block* const blocks = allocate(RANDOM_MOST_BLOCKS * sizeof *blocks);
  char name[64];
  p->name = name;
  for (uint64_t i = 0; i < count; ++i) {
    // Far apart, so that no problem begins in the middle of another.
    uint64_t seed = (first + i) * UINT64_C(0xD1342543DE82EF95);
    snprintf(name, sizeof name, "seed-%" PRIu64, first + i);
    const etx_plan_problem problem =
        random_problem(&seed, only_small, steps, blocks);
    print_problem(p, &problem);
  }
  free(blocks);
}

// Reads `id,lower,upper,size` lines; false if there is anything else.
static bool read_blocks(FILE* file, etx_plan_block* blocks, size_t capacity,
                        size_t* out_count) {
  char line[256];
  if (fgets(line, sizeof line, file) == NULL) return false;
  if (strncmp(line, "id,lower,upper,size", 19) != 0) return false;
  for (*out_count = 0; fgets(line, sizeof line, file) != NULL; ++*out_count) {
    uint64_t id = 0, size = 0;
    uint32_t start = 0, end = 0;
    if (*out_count == capacity ||
        sscanf(line, "%" SCNu64 ",%" SCNu32 ",%" SCNu32 ",%" SCNu64, &id,
               &start, &end, &size) != 4) {
      return false;
    }
    const etx_plan_block block = {size, 16, start, end, ETX_PLAN_FREE};
    blocks[*out_count] = block;
  }
  return true;
}

static void print_file(plan_printer* p, const char* path, uint64_t steps) {
  const char* const slash = strrchr(path, '/');
  etx_plan_block* const blocks = allocate(RANDOM_MOST_BLOCKS * sizeof *blocks);
  FILE* const file = fopen(path, "r");
  size_t count = 0;
  p->name = slash == NULL ? path : slash + 1;
  if (file == NULL || !read_blocks(file, blocks, RANDOM_MOST_BLOCKS, &count)) {
    fprintf(stderr, "plan_print: '%s' is not a problem file\n", path);
    exit(2);
  }
  fclose(file);
  const etx_plan_problem problem = {
      .blocks = blocks, .block_count = count, .steps = steps};
  print_problem(p, &problem);
  free(blocks);
}

int main(int argc, char** argv) {
  plan_printer p = {0};
  uint64_t count = 0, seed = 1, steps = 2000;
  bool only_small = false;
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; ++i) {
    const char option = argv[i][1];
    const bool has_number = strchr("nst", option) != NULL && i + 1 < argc;
    const uint64_t number = has_number ? strtoull(argv[++i], NULL, 10) : 0;
    if (option == 'n') count = number;
    if (option == 's') seed = number;
    if (option == 't') steps = number;
    if (option == 'l') only_small = true;
    if (option == 'q') p.is_quiet = true;
  }
  p.hash = UINT64_C(0xCBF29CE484222325);
  for (; i < argc; ++i) print_file(&p, argv[i], steps);
  print_random(&p, seed, count, steps, only_small);
  printf("%" PRIu64 " problems, %" PRIu64 " plans, %" PRIu64
         " without, %" PRIu64 " refused, %" PRIu64 " wrong, %016" PRIx64 "\n",
         p.problems, p.plans, p.none, p.refused, p.wrong, p.hash);
  return p.wrong == 0 ? 0 : 1;
}
