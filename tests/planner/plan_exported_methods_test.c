// The 78 methods of tests/data/plans. Prints how far each algorithm is from
// the bound, and holds the portfolio to the bound itself.

#include "plan_fixture.h"

#include "planner/plan_portfolio.h"

enum { MAX_METHODS = 100 };

typedef struct exported_method {
  char name[96];
  unsigned long long bound;  // counted by another program
  unsigned long long stock;  // arena of ExecuTorch's greedy planner
} exported_method;

static size_t read_methods(exported_method methods[MAX_METHODS]) {
  char line[256];
  size_t count = 0;
  FILE* const file = fopen(ETX_TEST_DATA "/plans/bounds.csv", "r");
  assert_non_null(file);
  assert_non_null(fgets(line, sizeof line, file));
  while (fgets(line, sizeof line, file) != NULL) {
    exported_method* const method = &methods[count++];
    assert_true(count < MAX_METHODS);
    assert_int_equal(sscanf(line, "%95[^,],%llu,%llu", method->name,
                            &method->bound, &method->stock),
                     3);
  }
  fclose(file);
  return count;
}

static etx_plan_problem read_problem(const exported_method* method) {
  char path[512];
  snprintf(path, sizeof path, "%s/plans/%s.csv", ETX_TEST_DATA, method->name);
  return problem_from_csv(path);
}

static void the_bound_is_met_on_every_exported_method(void** state) {
  (void)state;
  static exported_method methods[MAX_METHODS];
  const size_t count = read_methods(methods);
  assert_int_equal(count, 78);
  for (size_t i = 0; i < count; ++i) {
    const etx_plan_problem problem = read_problem(&methods[i]);
    etx_plan_solution solution;
    etx_diag diag;
    assert_int_equal(solve(&problem, NULL, &solution, &diag), ETX_OK);
    assert_true(is_valid(&problem, &solution));
    assert_int_equal(solution.lower_bound, methods[i].bound);
    assert_int_equal(solution.arena_bytes, methods[i].bound);
    assert_true(solution.arena_bytes <= methods[i].stock);
    free(solution.offsets);
    free((void*)problem.blocks);
  }
}

// The table of gaps: how many methods each algorithm plans at the bound, and
// how far the worst is from it.
static void every_algorithm_plans_every_exported_method(void** state) {
  (void)state;
  static exported_method methods[MAX_METHODS];
  const size_t count = read_methods(methods);
  print_message("%-18s %9s %8s\n", "algorithm", "at bound", "worst");
  for (size_t a = 0; a < etx_plan_algorithm_count(); ++a) {
    const char* const name = etx_plan_algorithm_at(a)->name;
    double worst = 1;
    size_t at_bound = 0;
    for (size_t i = 0; i < count; ++i) {
      const etx_plan_problem problem = read_problem(&methods[i]);
      etx_plan_solution solution;
      etx_diag diag;
      assert_int_equal(solve(&problem, name, &solution, &diag), ETX_OK);
      assert_true(is_valid(&problem, &solution));
      const double bound = (double)solution.lower_bound;
      const double ratio =
          bound == 0 ? 1 : (double)solution.arena_bytes / bound;
      if (ratio > worst) worst = ratio;
      at_bound += solution.arena_bytes == solution.lower_bound;
      free(solution.offsets);
      free((void*)problem.blocks);
    }
    print_message("%-18s %3zu of %zu %8.4f\n", name, at_bound, count, worst);
    if (strncmp(name, "greedy", 6) == 0) assert_true(worst < 1.34);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_bound_is_met_on_every_exported_method),
      cmocka_unit_test(every_algorithm_plans_every_exported_method),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
