// Times the planner over one problem and prints one line of JSON.
//
//   bench_planner [OPTION ...] problem.csv       in the form of MiniMalloc
//   bench_planner [OPTION ...] FAMILY COUNT      generated: bench_families.h
//
//   --capacity N   any plan within N bytes will do     (default: the smallest)
//   --steps N      effort                              (default: the planner's)
//   --rounds N     measure so often, state the fastest (default: 1)
//   --seconds N    begin no further round after N      (default: 5)
//   --algorithm A  one algorithm instead of all
//   --solution F   writes the plan there, as CSV with a column `offset`
//
// The time is that of the thread, from arrays to offsets: the plan, what
// chooses between algorithms, and the judge. `peak_bytes` is the most that the
// process ever had in memory, input and output included, where the system says
// it (Linux), else 0. Nothing found within the capacity is an answer too:
// `arena` is null.

#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "planner/plan.h"
#include "tests/bench/bench_families.h"

typedef struct options {
  const char* algorithm;
  const char* solution;
  const char* source;  // a file or a family
  size_t count;        // blocks of the family; 0: source is a file
  uint64_t capacity;
  uint64_t steps;
  unsigned rounds;
  double seconds;
} options;

typedef struct planner_result {
  etx_status status;
  double best;  // seconds
  unsigned rounds;
  size_t work_bytes;
  etx_plan_solution plan;
} planner_result;

static double thread_seconds(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) return 0.0;
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static unsigned long long peak_bytes(void) {
  FILE* const file = fopen("/proc/self/status", "r");
  if (file == NULL) return 0;
  char line[256];
  unsigned long long kilobytes = 0;
  while (fgets(line, sizeof(line), file) != NULL) {
    if (sscanf(line, "VmHWM: %llu", &kilobytes) == 1) break;
  }
  fclose(file);
  return kilobytes * 1024;
}

// ---- problems ----

static int read_block(const char* line, etx_plan_block* block) {
  uint64_t size = 0;
  *block = (etx_plan_block){.alignment = 1, .fixed = ETX_PLAN_FREE};
  const int fields = sscanf(line, "%*[^,],%" SCNu32 ",%" SCNu32 ",%" SCNu64,
                            &block->start, &block->end, &size);
  block->size = size;
  return fields == 3;
}

static etx_plan_block* read_lines(FILE* file, size_t* count) {
  char line[256];
  if (fgets(line, sizeof(line), file) == NULL ||
      strncmp(line, "id,lower,upper,size", 19) != 0) {
    fprintf(stderr, "the first line is not 'id,lower,upper,size'\n");
    return NULL;
  }
  size_t room = 1024;
  etx_plan_block* blocks = malloc(room * sizeof(*blocks));
  while (blocks != NULL && fgets(line, sizeof(line), file) != NULL) {
    if (*count == room) {
      room *= 2;
      etx_plan_block* const more = realloc(blocks, room * sizeof(*blocks));
      if (more == NULL) free(blocks);
      blocks = more;
      if (blocks == NULL) break;
    }
    if (!read_block(line, &blocks[*count])) {
      fprintf(stderr, "line %zu: not a block\n", *count + 2);
      free(blocks);
      return NULL;
    }
    ++*count;
  }
  return blocks;
}

static etx_plan_block* read_problem(const options* o, size_t* count) {
  if (o->count != 0) {
    etx_plan_block* const blocks = malloc(o->count * sizeof(*blocks));
    *count = o->count;
    if (blocks == NULL || bench_family_fill(o->source, blocks, o->count) == 0) {
      return blocks;
    }
    fprintf(stderr, "there is no family '%s'\n", o->source);
    free(blocks);
    return NULL;
  }
  FILE* const file = fopen(o->source, "r");
  if (file == NULL) {
    perror(o->source);
    return NULL;
  }
  *count = 0;
  etx_plan_block* const blocks = read_lines(file, count);
  fclose(file);
  return blocks;
}

// ---- the measurement ----

static int solve(const options* o, const etx_plan_problem* problem,
                 planner_result* out) {
  out->work_bytes = etx_plan_needed(problem);
  void* const memory =
      out->work_bytes == SIZE_MAX ? NULL : malloc(out->work_bytes);
  out->plan.offsets =
      malloc(problem->block_count * sizeof(*out->plan.offsets) + 1);
  if (memory == NULL || out->plan.offsets == NULL) return 1;
  etx_diag diag;
  etx_diag_init(&diag);
  double spent = 0.0;
  for (out->rounds = 0;
       out->rounds == 0 || (out->rounds < o->rounds && spent < o->seconds);
       ++out->rounds) {
    etx_arena work;
    etx_arena_init(&work, memory, out->work_bytes);
    const double start = thread_seconds();
    out->status =
        etx_plan_solve(problem, o->algorithm, &work, &out->plan, &diag);
    const double taken = thread_seconds() - start;
    spent += taken;
    if (out->rounds == 0 || taken < out->best) out->best = taken;
  }
  free(memory);
  if (out->status == ETX_OK || out->status == ETX_BAD_PLAN) return 0;
  fprintf(stderr, "%s: %s\n", o->source, diag.text);
  return 1;
}

static void print_result(const options* o, size_t blocks,
                         const planner_result* r, unsigned long long peak) {
  const etx_plan_solution* const plan = &r->plan;
  const char* const slash = strrchr(o->source, '/');
  printf("{\"problem\": \"%s\", \"blocks\": %zu, \"capacity\": %" PRIu64
         ", \"steps\": %" PRIu64,
         slash == NULL ? o->source : slash + 1, blocks, o->capacity, o->steps);
  if (r->status == ETX_OK) {
    const double bound =
        plan->lower_bound == 0 ? 1.0 : (double)plan->lower_bound;
    printf(", \"arena\": %" PRIu64 ", \"bound\": %" PRIu64
           ", \"ratio\": %.6f, \"algorithm\": \"%s\"",
           plan->arena_bytes, plan->lower_bound,
           (double)plan->arena_bytes / bound, plan->algorithm);
  } else {
    printf(", \"arena\": null");
  }
  printf(
      ", \"seconds\": %.6f, \"rounds\": %u, \"work_bytes\": %zu"
      ", \"peak_bytes\": %llu}\n",
      r->best, r->rounds, r->work_bytes, peak);
}

static int write_solution(const char* path, const etx_plan_problem* problem,
                          const uint64_t* offsets) {
  FILE* const file = fopen(path, "w");
  if (file == NULL) {
    perror(path);
    return 1;
  }
  fprintf(file, "id,lower,upper,size,offset\n");
  for (size_t i = 0; i < problem->block_count; ++i) {
    const etx_plan_block* const block = &problem->blocks[i];
    fprintf(file, "%zu,%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64 "\n", i,
            block->start, block->end, block->size, offsets[i]);
  }
  return fclose(file) != 0;
}

// For some families the live bytes have been published: a generator with other
// numbers would give figures that cannot be compared.
static int check_bound(const options* o, const planner_result* r) {
  const uint64_t known =
      o->count == 0 ? 0 : bench_family_bound(o->source, o->count);
  if (known == 0 || r->status != ETX_OK || r->plan.lower_bound == known) {
    return 0;
  }
  fprintf(stderr, "%s of %zu: the bound is %" PRIu64 ", expected %" PRIu64 "\n",
          o->source, o->count, r->plan.lower_bound, known);
  return 1;
}

static int measure(const options* o) {
  size_t count = 0;
  etx_plan_block* const blocks = read_problem(o, &count);
  if (blocks == NULL) return 1;
  const etx_plan_problem problem = {.blocks = blocks,
                                    .block_count = count,
                                    .capacity = o->capacity,
                                    .steps = o->steps};
  planner_result r = {0};
  int failed = solve(o, &problem, &r);
  if (!failed) {
    print_result(o, count, &r, peak_bytes());
    failed = check_bound(o, &r);
  }
  if (!failed && o->solution != NULL && r.status == ETX_OK) {
    failed = write_solution(o->solution, &problem, r.plan.offsets);
  }
  free(r.plan.offsets);
  free(blocks);
  return failed;
}

// ---- options ----

static int read_option(const char* name, const char* value, options* o) {
  if (strcmp(name, "--capacity") == 0) {
    o->capacity = strtoull(value, NULL, 10);
  } else if (strcmp(name, "--steps") == 0) {
    o->steps = strtoull(value, NULL, 10);
  } else if (strcmp(name, "--rounds") == 0) {
    o->rounds = (unsigned)strtoul(value, NULL, 10);
  } else if (strcmp(name, "--seconds") == 0) {
    o->seconds = strtod(value, NULL);
  } else if (strcmp(name, "--algorithm") == 0) {
    o->algorithm = value;
  } else if (strcmp(name, "--solution") == 0) {
    o->solution = value;
  } else {
    fprintf(stderr, "unknown option '%s'\n", name);
    return 1;
  }
  return 0;
}

int main(int argc, char** argv) {
  options o = {.rounds = 1, .seconds = 5.0};
  int i = 1;
  for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
    if (read_option(argv[i], argv[i + 1], &o) != 0) return 2;
  }
  if (i + 1 != argc && i + 2 != argc) {
    fprintf(stderr,
            "usage: bench_planner [OPTION ...] problem.csv | FAMILY COUNT\n");
    return 2;
  }
  o.source = argv[i];
  if (i + 2 == argc) o.count = (size_t)strtoull(argv[i + 1], NULL, 10);
  return measure(&o);
}
