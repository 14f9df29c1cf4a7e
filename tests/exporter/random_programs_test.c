// Plans and runs random stateful programs, and compares the results with an
// interpreter that gives every value memory of its own.
//
// For all sets of passes and all contents of scratch before a call, outputs,
// mutated inputs and states must be those of the definition, in which all
// mutations happen at once at the end. Every operation rounds once, so the
// comparison is exact.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "cli/verify/verify_program.h"
#include "format/pte/reserved_names.h"
#include "runtime/module/module.h"
#include "tests/exporter/random_module.h"
#include "tests/support/test_random.h"

enum { PROGRAMS = TEST_ROUNDS(2500), CALLS = 6 };

// ---------------------------------------------------------------- comparing

typedef struct program_run {
  etx_module module;
  etx_module_shared shared;
  etx_diag diag;
  size_t seed;
} program_run;

#define RUN_OK(r, call)                                                       \
  do {                                                                        \
    const etx_status run_status = (call);                                     \
    if (run_status != ETX_OK) {                                               \
      fail_msg("program %zu: %s: %s", (r)->seed, etx_status_name(run_status), \
               (r)->diag.text);                                               \
    }                                                                         \
  } while (0)

static void compare(const program_run* r, const char* what, size_t index,
                    const void* found, const float* expected, type t) {
  if (memcmp(found, expected, elements_of(t) * sizeof *expected) == 0) return;
  fail_msg("program %zu: %s %zu differs", r->seed, what, index);
}

static void compare_states(program_run* r, const random_module* p,
                           content* states) {
  for (size_t s = 0; s < p->state_count; ++s) {
    char name[8];
    etx_tensor state;
    etx_state_hold hold;
    snprintf(name, sizeof name, "s%zu", s);
    RUN_OK(r, etx_shared_memory_find(&r->shared.memory, etx_text_of(name),
                                     &state, &hold, &r->diag));
    compare(r, "state", s, state.data, states[s], p->states[s]);
  }
}

static void call_method(program_run* r, const random_module* p,
                        const random_method* m, content* states, bool leads) {
  static content inputs[MAX_INPUTS_OR_OUTPUTS];
  static content given[MAX_INPUTS_OR_OUTPUTS];
  static content outputs[MAX_INPUTS_OR_OUTPUTS];
  static const int32_t whole[2] = {ROWS, COLUMNS};
  static const int32_t row[1] = {COLUMNS};
  static const int32_t flat[1] = {MATRIX};
  const int32_t some[2] = {(int32_t)(1 + pick(ROWS)), COLUMNS};
  etx_value values[MAX_INPUTS_OR_OUTPUTS];
  for (size_t i = 0; i < m->input_count; ++i) {
    for (size_t k = 0; k < MATRIX; ++k) inputs[i][k] = (float)pick(30);
    memcpy(given[i], inputs[i], sizeof(content));
    const type t = m->inputs[i];
    values[i] = etx_module_tensor(given[i], ETX_DTYPE_FLOAT32,
                                  t == DYNAMIC_ROWS ? some
                                  : t == WHOLE      ? whole
                                  : t == ROW        ? row
                                                    : flat,
                                  rank_of(t));
  }
  if (r->module.scratch_size != 0) {
    memset(r->module.scratch, one_in(2) ? 0xa5 : 0x5a, r->module.scratch_size);
  }
  RUN_OK(r, etx_module_execute(&r->module, m->name, values, m->input_count,
                               &r->diag));
  random_module_interpret(m, states, inputs, (size_t)some[0], outputs);
  size_t leading = 0;
  for (size_t i = 0; i < m->input_count; ++i) {
    compare(r, "input", i, given[i], inputs[i], m->inputs[i]);
    leading += leads && m->is_mutable[i];
  }
  for (size_t i = 0; i < m->output_count; ++i) {
    const etx_value* value = NULL;
    RUN_OK(r, etx_module_output(&r->module, m->name, leading + i, &value,
                                &r->diag));
    compare(r, "output", i, value->as.tensor.data, outputs[i],
            m->steps[m->outputs[i]].type);
  }
  compare_states(r, p, states);
}

// The plan verifier, which shares no code with the planner, accepts the file.
static void verify_program(const graph* g, size_t seed) {
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_bytes file = {g->file, g->file_size};
  if (etx_verify_program(file, NULL, &diag) != ETX_OK) {
    fail_msg("program %zu: %s", seed, diag.text);
  }
}

static void load_method(program_run* r, const char* name) {
  etx_planned_memory allocator;
  RUN_OK(r,
         etx_module_shared_allocator(&r->shared, name, &allocator, &r->diag));
  RUN_OK(r, etx_module_load_method(&r->module, name, &allocator, &r->diag));
}

// The init method can be called at any time and resets all states.
static void reset_states(program_run* r, const random_module* p,
                         content* states) {
  RUN_OK(r, etx_module_execute(&r->module, ETX_METHOD_INIT, NULL, 0, &r->diag));
  memcpy(states, p->initial, sizeof p->initial);
  compare_states(r, p, states);
}

static void run_program(const graph* g, const random_module* p, size_t seed) {
  static content states[MAX_STATES];
  program_run r;
  memset(&r, 0, sizeof r);
  r.seed = seed;
  const etx_bytes file = {g->file, g->file_size};
  RUN_OK(&r, etx_module_open_bytes(&r.module, file, NULL, &r.diag));
  RUN_OK(&r, etx_module_shared_open(&r.shared, &r.module, &r.diag));
  load_method(&r, ETX_METHOD_INIT);
  for (size_t m = 0; m < p->method_count; ++m) {
    load_method(&r, p->methods[m].name);
  }
  memcpy(states, p->initial, sizeof p->initial);
  compare_states(&r, p, states);
  const bool leads = g->options.target == ETX_TARGET_EXECUTORCH;
  for (size_t i = 0; i < CALLS; ++i) {
    if (one_in(5)) reset_states(&r, p, states);
    call_method(&r, p, &p->methods[pick(p->method_count)], states, leads);
  }
  etx_module_shared_close(&r.shared);
  etx_module_close(&r.module);
}

static const char* const switched_off[] = {
    NULL,
    AS_WRITTEN,
    AS_WRITTEN ",-alias_views",
    AS_WRITTEN ",-elide_concat",
    AS_WRITTEN ",-update_in_place",
    AS_WRITTEN ",-schedule_nodes",
    AS_WRITTEN ",-elide_concat,-schedule_nodes",
    AS_WRITTEN ",-reuse_operand_storage",
    AS_WRITTEN ",-alias_views,-update_in_place,-reuse_operand_storage",
    AS_WRITTEN ",-alias_views,-reuse_operand_storage",
    AS_WRITTEN ",-share_branch_storage",
    AS_WRITTEN ",-share_branch_storage,-update_in_place",
    "-fold_constant_branches,-share_branch_storage",
};

static void every_placement_computes_the_same(void** state) {
  (void)state;
  const char* const wanted = getenv("ETX_TEST_SEED");
  const size_t first = wanted == NULL ? 0 : (size_t)strtoul(wanted, NULL, 10);
  const size_t last = wanted == NULL ? PROGRAMS : first + 1;
  for (size_t seed = first; seed < last; ++seed) {
    static random_module p;
    graph g;
    random_start(seed);
    graph_open(&g);
    g.options.target = one_in(3) ? ETX_TARGET_EXECUTORCH : ETX_TARGET_ETX;
    g.options.passes =
        switched_off[pick(sizeof switched_off / sizeof *switched_off)];
    random_module_build(&g, &p);
    const etx_status status = graph_try_plan(&g);
    if (status != ETX_OK) fail_msg("program %zu: %s", seed, g.diag.text);
    verify_program(&g, seed);
    run_program(&g, &p, seed);
    graph_close(&g);
  }
}

// The lower bounds of all methods of a program, with `passes` switched off.
static size_t find_bounds(size_t seed, const char* passes, uint64_t* bounds) {
  static random_module p;
  graph g;
  random_start(seed);
  graph_open(&g);
  g.options.passes = passes;
  random_module_build(&g, &p);
  const etx_status status = graph_try_plan(&g);
  if (status != ETX_OK) fail_msg("program %zu: %s", seed, g.diag.text);
  const size_t count = g.report.method_count;
  for (size_t m = 0; m < count; ++m)
    bounds[m] = g.report.methods[m].lower_bound;
  graph_close(&g);
  return count;
}

static void another_order_never_needs_more(void** state) {
  (void)state;
  enum { SOME_PROGRAMS = 300, WITH_INIT = MAX_METHODS + 1 };
  static const char* const pairs[][2] = {
      {AS_WRITTEN, AS_WRITTEN ",-schedule_nodes"},
      {"-reuse_operand_storage", "-reuse_operand_storage,-schedule_nodes"},
      {NULL, "-schedule_nodes"},
  };
  size_t lowered = 0;
  for (size_t seed = 0; seed < SOME_PROGRAMS; ++seed) {
    const char* const* const pair = pairs[seed % 3];
    uint64_t with[WITH_INIT], without[WITH_INIT];
    const size_t count = find_bounds(seed, pair[0], with);
    assert_int_equal(find_bounds(seed, pair[1], without), count);
    for (size_t m = 0; m < count; ++m) {
      if (with[m] > without[m]) {
        fail_msg(
            "program %zu, method %zu: %d bytes live, %d in the order given",
            seed, m, (int)with[m], (int)without[m]);
      }
      lowered += with[m] < without[m];
    }
  }
  assert_true(lowered > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_placement_computes_the_same),
      cmocka_unit_test(another_order_never_needs_more),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
