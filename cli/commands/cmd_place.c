// etx place: the memory planner by itself, for other compilers. Reads blocks
// and writes their offsets.

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
    "Gives every block of PROBLEM an offset, so that blocks which are live at\n"
    "the same time share no byte and the arena is small. PROBLEM is a CSV "
    "file\n"
    "in the format of MiniMalloc: the first line names the columns 'id',\n"
    "'lower', 'upper', 'size' and optionally 'alignment' and 'offset' (for\n"
    "blocks with a fixed offset). Lifetimes [lower, upper) are half-open. The\n"
    "solution has the same lines with an 'offset' column.\n\n"
    "With --capacity any plan within it is accepted; without it the planner\n"
    "looks for the smallest arena. Effort is counted in planner steps, so the\n"
    "plan is the same on every machine.\n";

static const char examples[] =
    "  etx place problem.csv -o solution.csv\n"
    "  etx place problem.csv --capacity 1048576 -o solution.csv\n"
    "  etx place problem.csv --steps 20000000 --json -o solution.csv\n"
    "  etx place problem.csv --time-limit 10 -o solution.csv\n";

#define ALGORITHM(symbol, sentence) "  " #symbol ": " sentence "\n",
static const char* const more[] = {"algorithms:\n",
#include "planner/algorithms/plan_algorithms.def"
                                   NULL};
#undef ALGORITHM

typedef struct place_options {
  const char* input;
  const char* output;
  const char* algorithm;
  uint64_t capacity;
  uint64_t steps;
  double time_limit;  // seconds; negative: none
  bool json;
  bool quiet;
} place_options;

// The context of one run of the command.
typedef struct place_context {
  const place_options* options;
  etx_pool pool;
  etx_diag diag;
  etx_block_table table;
  etx_plan_solution solution;
} place_context;

// A bound on steps for a search that the clock stops: more than any machine
// does in a second, but low enough that algorithms which compare all pairs of
// blocks are not chosen where they could not finish.
enum { STEPS_PER_SECOND = 10000000 };

static uint64_t steps_within(double seconds) {
  const double steps = seconds * STEPS_PER_SECOND;
  return steps < 1e18 ? (uint64_t)steps + 1 : UINT64_C(1000000000000000000);
}

static bool is_before_end(void* context) {
  return etx_monotonic_clock_seconds() < *(const double*)context;
}

static etx_status solve(place_context* p) {
  etx_plan_problem problem = {.blocks = p->table.blocks,
                              .block_count = p->table.block_count,
                              .capacity = p->options->capacity,
                              .steps = p->options->steps};
  double end = etx_monotonic_clock_seconds() + p->options->time_limit;
  if (p->options->time_limit >= 0) {
    problem.should_continue = is_before_end;
    problem.context = &end;
    if (problem.steps == 0)
      problem.steps = steps_within(p->options->time_limit);
  }
  const size_t bytes = etx_plan_needed(&problem);
  void* const memory = etx_pool_take(&p->pool, bytes);
  p->solution.offsets = etx_pool_take(
      &p->pool, (problem.block_count + 1) * sizeof *p->solution.offsets);
  if (memory == NULL || p->solution.offsets == NULL) {
    return etx_diag_fail(&p->diag, ETX_OUT_OF_MEMORY,
                         "not enough memory: planning %z blocks needs %z bytes",
                         problem.block_count, bytes);
  }
  etx_arena work;
  etx_arena_init(&work, memory, bytes);
  const etx_status status = etx_plan_solve(&problem, p->options->algorithm,
                                           &work, &p->solution, &p->diag);
  if (status == ETX_BAD_ARGUMENT) {
    etx_diag_append(&p->diag, " (blocks are numbered from 0)");
  }
  return status;
}

static etx_status write_solution(place_context* p) {
  etx_output_file output;
  ETX_TRY(etx_output_file_open(&output, p->options->output, &p->diag));
  const etx_sink sink = etx_output_file_sink(&output);
  etx_status status =
      etx_block_table_write(&p->table, p->solution.offsets, &sink);
  if (status == ETX_OK) status = etx_output_file_finish(&output);
  if (status == ETX_OK) status = etx_output_file_keep(&output);
  etx_output_file_discard(&output);
  return status;
}

static etx_status place(place_context* p, etx_bytes text) {
  ETX_TRY(etx_output_file_check_overwrite(p->options->output, p->options->input,
                                          &p->diag));
  ETX_TRY(etx_block_table_read(text, &p->pool, &p->table, &p->diag));
  ETX_TRY(solve(p));
  return write_solution(p);
}

static bool print_json(const place_context* p) {
  const etx_plan_solution* const solution = &p->solution;
  json_t* const root = json_object();
  json_object_set_new(root, "blocks", etx_json_unsigned(p->table.block_count));
  json_object_set_new(root, "bytes", etx_json_unsigned(solution->arena_bytes));
  json_object_set_new(root, "lower_bound",
                      etx_json_unsigned(solution->lower_bound));
  json_object_set_new(
      root, "proved",
      json_boolean(solution->arena_bytes == solution->lower_bound));
  if (p->options->time_limit < 0) {
    json_object_set_new(root, "steps", etx_json_unsigned(solution->steps));
  }
  json_object_set_new(root, "algorithm", json_string(solution->algorithm));
  return etx_json_print(root);
}

static void print_text(const place_context* p) {
  const uint64_t bytes = p->solution.arena_bytes;
  const uint64_t bound = p->solution.lower_bound;
  printf("%s: %zu block%s in %" PRIu64 " byte%s by '%s' ", p->options->output,
         p->table.block_count, etx_plural(p->table.block_count), bytes,
         etx_plural(bytes), p->solution.algorithm);
  // When the clock stops the search, all remaining steps count as spent, so the
  // number means nothing.
  if (p->options->time_limit >= 0) {
    printf("within %g s, ", p->options->time_limit);
  } else {
    printf("after %" PRIu64 " step%s, ", p->solution.steps,
           etx_plural(p->solution.steps));
  }
  if (bytes == bound) {
    printf("proved to be the smallest\n");
  } else {
    printf("%.2f %% above the lower bound of %" PRIu64 "\n",
           100 * (double)(bytes - bound) / (double)bound, bound);
  }
}

static etx_exit report(const place_context* p, etx_status status) {
  if (status == ETX_OK && p->options->json) {
    return print_json(p) ? ETX_EXIT_DONE : ETX_EXIT_MACHINE_FAILED;
  }
  if (status == ETX_OK) {
    if (!p->options->quiet) print_text(p);
    return ETX_EXIT_DONE;
  }
  return etx_error_report("place", p->options->input, status, &p->diag);
}

static etx_exit run(const place_options* options) {
  place_context p = {.options = options};
  etx_mapped_file file;
  if (options->output == NULL) {
    return etx_usage_error_report("place",
                                  "no output file; give one with -o FILE");
  }
  etx_diag_init(&p.diag);
  etx_status status = etx_mapped_file_open(&file, options->input, &p.diag);
  if (status != ETX_OK)
    return etx_error_report("place", options->input, status, &p.diag);
  etx_pool_init(&p.pool);
  status = place(&p, file.bytes);
  const etx_exit code = report(&p, status);
  etx_pool_close(&p.pool);
  etx_mapped_file_close(&file);
  return code;
}

int etx_cmd_place(int argc, char** argv) {
  place_options options = {.time_limit = -1};
  const etx_usage usage = {
      .command = "place",
      .about = about,
      .examples = examples,
      .more = more,
      .positionals = ETX_POSITIONALS(
          {"PROBLEM", "the blocks, .csv", &options.input, true}),
      .options = ETX_OPTIONS(
          ETX_TEXT("output", 'o', "FILE",
                   "the solution to write, .csv; required", &options.output),
          ETX_COUNT("capacity", 0, "BYTES", "largest size of the arena",
                    &options.capacity),
          ETX_COUNT("steps", 0, "N",
                    "planner steps to spend (default: 2000000, and 8 for each "
                    "block)",
                    &options.steps),
          ETX_REAL("time-limit", 0, "SECONDS",
                   "stop by the clock, or after --steps if that is earlier; "
                   "the plan then depends on the machine",
                   &options.time_limit),
          ETX_TEXT("algorithm", 0, "NAME",
                   "use one algorithm instead of the best of all",
                   &options.algorithm),
          ETX_FLAG("json", 0, "print the result as JSON", &options.json),
          ETX_FLAG("quiet", 'q', "print nothing but errors", &options.quiet)),
  };
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  return (int)run(&options);
}
