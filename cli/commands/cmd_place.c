// The planner by itself, for other compilers: blocks in, offsets out.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/base/monotonic_clock.h"
#include "cli/plan/block_table.h"
#include "cli/commands/commands.h"
#include "cli/base/exit_code.h"
#include "cli/base/input_path.h"
#include "cli/json/json_value.h"
#include "cli/base/mapped_file.h"
#include "cli/base/options.h"
#include "cli/base/output_file.h"
#include "cli/base/plural.h"

static const char about[] =
    "Gives every block of PROBLEM an offset, such that blocks which live at\n"
    "the same time share no byte and the whole is small. PROBLEM is a CSV "
    "file\n"
    "in the form of MiniMalloc: the first line names the columns 'id',\n"
    "'lower', 'upper', 'size' and perhaps 'alignment' and 'offset' (blocks "
    "that\n"
    "have to lie there); lifespans [lower, upper) are half-open. The same\n"
    "lines are written with an 'offset' column.\n\n"
    "With a capacity any plan within it will do; without one the smallest is\n"
    "sought. The effort is counted in steps, so that the plan is the same on\n"
    "every machine.\n";

static const char examples[] =
    "  etx place problem.csv -o solution.csv\n"
    "  etx place problem.csv --capacity 1048576 -o solution.csv\n"
    "  etx place problem.csv --steps 20000000 --json -o solution.csv\n"
    "  etx place problem.csv --time-limit 10 -o solution.csv\n";

#define ALGORITHM(symbol, sentence) "  " #symbol ": " sentence "\n"
static const char more[] = "planners:\n"
#include "planner/algorithms/plan_algorithms.def"
    ;
#undef ALGORITHM

typedef struct words {
  const char* input;
  const char* output;
  const char* algorithm;
  uint64_t capacity;
  uint64_t steps;
  double time_limit;  // seconds; negative: none
  bool json;
  bool quiet;
} words;

typedef struct placing {
  const words* in;
  etx_pool pool;
  etx_diag diag;
  etx_block_table table;
  etx_plan_solution solution;
} placing;

// Before a clock stops it, a search needs steps. No machine takes more a
// second, and what looks at every two blocks has to be within sight.
enum { STEPS_PER_SECOND = 10000000 };

static uint64_t steps_within(double seconds) {
  const double steps = seconds * STEPS_PER_SECOND;
  return steps < 1e18 ? (uint64_t)steps + 1 : UINT64_C(1000000000000000000);
}

static bool is_before(void* context) {
  return etx_monotonic_clock_seconds() < *(const double*)context;
}

static etx_status solve(placing* p) {
  etx_plan_problem problem = {.blocks = p->table.blocks,
                              .block_count = p->table.block_count,
                              .capacity = p->in->capacity,
                              .steps = p->in->steps};
  double end = etx_monotonic_clock_seconds() + p->in->time_limit;
  if (p->in->time_limit >= 0) {
    problem.should_continue = is_before;
    problem.context = &end;
    if (problem.steps == 0) problem.steps = steps_within(p->in->time_limit);
  }
  const size_t bytes = etx_plan_needed(&problem);
  void* const memory = etx_pool_take(&p->pool, bytes);
  p->solution.offsets = etx_pool_take(
      &p->pool, (problem.block_count + 1) * sizeof *p->solution.offsets);
  if (memory == NULL || p->solution.offsets == NULL) {
    return etx_diag_fail(&p->diag, ETX_OUT_OF_MEMORY,
                         "planning %z blocks needs %z bytes of memory",
                         problem.block_count, bytes);
  }
  etx_arena work;
  etx_arena_init(&work, memory, bytes);
  const etx_status status =
      etx_plan_solve(&problem, p->in->algorithm, &work, &p->solution, &p->diag);
  if (status == ETX_BAD_ARGUMENT) {
    etx_diag_append(&p->diag, "; blocks are counted from 0");
  }
  return status;
}

static etx_status write_solution(placing* p) {
  etx_output_file output;
  ETX_TRY(etx_output_file_open(&output, p->in->output, &p->diag));
  const etx_sink sink = etx_output_file_sink(&output);
  etx_status status =
      etx_block_table_write(&p->table, p->solution.offsets, &sink);
  if (status == ETX_OK) status = etx_output_file_finish(&output);
  if (status == ETX_OK) status = etx_output_file_keep(&output);
  etx_output_file_discard(&output);
  return status;
}

static etx_status place(placing* p, etx_bytes text) {
  ETX_TRY(
      etx_output_file_check_overwrite(p->in->output, p->in->input, &p->diag));
  ETX_TRY(etx_block_table_read(text, &p->pool, &p->table, &p->diag));
  ETX_TRY(solve(p));
  return write_solution(p);
}

static bool print_json(const placing* p) {
  const etx_plan_solution* const solution = &p->solution;
  json_t* const root = json_object();
  json_object_set_new(root, "blocks", etx_json_unsigned(p->table.block_count));
  json_object_set_new(root, "bytes", etx_json_unsigned(solution->arena_bytes));
  json_object_set_new(root, "lower_bound",
                      etx_json_unsigned(solution->lower_bound));
  json_object_set_new(
      root, "proved",
      json_boolean(solution->arena_bytes == solution->lower_bound));
  if (p->in->time_limit < 0) {
    json_object_set_new(root, "steps", etx_json_unsigned(solution->steps));
  }
  json_object_set_new(root, "algorithm", json_string(solution->algorithm));
  return etx_json_print(root);
}

static void print_text(const placing* p) {
  const uint64_t bytes = p->solution.arena_bytes;
  const uint64_t bound = p->solution.lower_bound;
  printf("%s: %zu block%s in %" PRIu64 " byte%s by '%s' ", p->in->output,
         p->table.block_count, etx_plural(p->table.block_count), bytes,
         etx_plural(bytes), p->solution.algorithm);
  // A clock takes all steps that are left, which says nothing.
  if (p->in->time_limit >= 0) {
    printf("within %g s, ", p->in->time_limit);
  } else {
    printf("after %" PRIu64 " step%s, ", p->solution.steps,
           etx_plural(p->solution.steps));
  }
  if (bytes == bound) {
    printf("which is proved to be the least\n");
  } else {
    printf("%.2f %% above the lower bound of %" PRIu64 "\n",
           100 * (double)(bytes - bound) / (double)bound, bound);
  }
}

static etx_exit report(const placing* p, etx_status status) {
  if (status == ETX_OK && p->in->json) {
    return print_json(p) ? ETX_EXIT_DONE : ETX_EXIT_MACHINE_FAILED;
  }
  if (status == ETX_OK) {
    if (!p->in->quiet) print_text(p);
    return ETX_EXIT_DONE;
  }
  return etx_error_report("place", p->in->input, status, &p->diag);
}

static etx_exit run(const words* in) {
  placing p = {.in = in};
  etx_mapped_file file;
  if (in->output == NULL) {
    return etx_usage_error_report("place",
                                  "where shall the solution go? give -o FILE");
  }
  etx_diag_init(&p.diag);
  etx_status status = etx_mapped_file_open(&file, in->input, &p.diag);
  if (status != ETX_OK)
    return etx_error_report("place", in->input, status, &p.diag);
  etx_pool_init(&p.pool);
  status = place(&p, file.bytes);
  const etx_exit code = report(&p, status);
  etx_pool_close(&p.pool);
  etx_mapped_file_close(&file);
  return code;
}

int etx_cmd_place(int argc, char** argv) {
  words in = {.time_limit = -1};
  const etx_positional positionals[] = {
      {"PROBLEM", "the blocks, .csv", &in.input, true}};
  const etx_option options[] = {
      {ETX_OPTION_TEXT, "output", 'o', "FILE",
       "the solution to write, .csv; must be given", &in.output},
      {ETX_OPTION_COUNT, "capacity", 0, "BYTES",
       "what the memory may have at most", &in.capacity},
      {ETX_OPTION_COUNT, "steps", 0, "N",
       "placements that may be tried (default: 2000000, and 8 a block)",
       &in.steps},
      {ETX_OPTION_REAL, "time-limit", 0, "SECONDS",
       "try for so long, or for --steps if that is less: another machine may "
       "find another plan",
       &in.time_limit},
      {ETX_OPTION_TEXT, "algorithm", 0, "NAME",
       "use one planner instead of the best of all", &in.algorithm},
      {ETX_OPTION_FLAG, "json", 0, NULL, "print the figures as JSON", &in.json},
      {ETX_OPTION_FLAG, "quiet", 'q', NULL, "print nothing but errors",
       &in.quiet},
  };
  const etx_usage usage = {"place",  about,   positionals,
                           1,        options, sizeof options / sizeof *options,
                           examples, more};
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  return (int)run(&in);
}
