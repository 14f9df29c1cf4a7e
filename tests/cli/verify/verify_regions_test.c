// The proof of parallel regions against two oracles on shadow memory
// (shadow_regions.h). Models with independent branches are planned with regions
// apart, the runtime finds the regions, and the proof must accept them; in
// every order of their instructions, every value is valid when it is read. Then
// one field of the plan, or one step of the schedule, is changed: the proof
// must refuse exactly those changes after which two regions share a byte that
// one of them writes.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run/run_session.h"
#include "cli/run/smoke_run.h"
#include "cli/verify/verify_program.h"
#include "runtime/regions.h"
#include "tests/cli/command.h"
#include "tests/cli/verify/program_copy.h"
#include "tests/cli/verify/shadow_regions.h"
#include "tests/format/fixtures/sample_program.h"
#include "tests/support/test_random.h"

#define ETX ETX_BINARY "/etx"

enum {
  ROWS = 32,
  COLUMNS = 128,
  PATH_BYTES = 256,
  MOST_STEPS = 128,
  ORDERS = 8,
  PLAN_CHANGES = TEST_ROUNDS(200),    // of each model
  SCHEDULE_CHANGES = TEST_ROUNDS(60)  // the same
};

static etx_diag diag;

static void require_ok(etx_status status) {
  if (status != ETX_OK) fail_msg("%s", diag.text);
}

// ---- numbers ----

static uint64_t seed = 3;

static uint64_t pick(uint64_t limit) {
  uint64_t z = (seed += UINT64_C(0x9E3779B97F4A7C15));
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return (z ^ (z >> 31)) % limit;
}

// ---- models ----

typedef struct model {
  const char* name;
  size_t branches;
  size_t layers;
  bool uneven;   // branch b has b layers more
  bool views;    // layers work on halves of a value, in place of the whole
  size_t forks;  // one behind the other: each begins with the results before
} model;

static const model models[] = {
    {"two", 2, 3, false, false, 1},   {"three", 3, 2, false, true, 1},
    {"uneven", 4, 1, true, false, 1}, {"views", 2, 3, false, true, 1},
    {"forks", 3, 2, false, false, 2}, {"nested", 2, 2, true, true, 3},
};

enum { MODELS = sizeof models / sizeof models[0] };

// One layer: `to` is a function of `from`, both float32[ROWS, COLUMNS].
static void write_layer(FILE* file, bool views, const char* from,
                        const char* to) {
  if (!views) {
    fprintf(
        file,
        "  - {out: %s_e, op: aten._softmax.default, args: [%s, 1, false]}\n",
        to, from);
    fprintf(file, "  - {out: %s_t, op: aten.tanh.default, args: [%s_e]}\n", to,
            to);
    fprintf(file, "  - {out: %s, op: aten.add.Tensor, args: [%s_t, %s]}\n", to,
            to, from);
    return;
  }
  fprintf(file,
          "  - {out: %s_w, op: aten.view.default, args: [%s, [%d, %d]]}\n", to,
          from, 2 * ROWS, COLUMNS / 2);
  for (int half = 0; half < 2; ++half) {
    fprintf(file,
            "  - {out: %s_s%d, op: aten.slice.Tensor, args: [%s_w, 0, %d, "
            "%d]}\n",
            to, half, to, half * ROWS, (half + 1) * ROWS);
    fprintf(file, "  - {out: %s_h%d, op: aten.%s.default, args: [%s_s%d]}\n",
            to, half, half == 0 ? "sin" : "tanh", to, half);
  }
  fprintf(file,
          "  - {out: %s_c, op: aten.cat.default, args: [[%s_h0, %s_h1]]}\n", to,
          to, to);
  fprintf(file,
          "  - {out: %s_v, op: aten.view.default, args: [%s_c, [%d, %d]]}\n",
          to, to, ROWS, COLUMNS);
  fprintf(file, "  - {out: %s, op: aten.mul.Tensor, args: [%s_v, %s]}\n", to,
          to, from);
}

static void write_fork(FILE* file, const model* m, size_t fork,
                       const char* from, const char* to) {
  char before[PATH_BYTES], after[PATH_BYTES], sum[PATH_BYTES];
  for (size_t b = 0; b < m->branches; ++b) {
    const size_t layers = m->layers + (m->uneven ? b : 0);
    // No two branches compute the same.
    snprintf(before, sizeof before, "b%zu_%zu", fork, b);
    fprintf(file, "  - {out: %s, op: aten.leaky_relu.default, ", before);
    fprintf(file, "args: [%s, 0.%zu]}\n", from, b + 1);
    for (size_t l = 0; l < layers; ++l) {
      snprintf(after, sizeof after, "h%zu_%zu_%zu", fork, b, l);
      write_layer(file, m->views, before, after);
      memcpy(before, after, sizeof before);
    }
    if (b == 0) {
      memcpy(sum, before, sizeof sum);
      continue;
    }
    snprintf(after, sizeof after, "j%zu_%zu", fork, b);
    const char* const joined = b + 1 == m->branches ? to : after;
    fprintf(file, "  - {out: %s, op: aten.add.Tensor, args: [%s, %s]}\n",
            joined, sum, before);
    snprintf(sum, sizeof sum, "%s", joined);
  }
}

static void write_model(const char* path, const model* m) {
  FILE* const file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "etx: 1\nmethod: %s\ninputs:\n", m->name);
  fprintf(file, "  - {name: x0, type: 'float32[%d, %d]'}\nnodes:\n", ROWS,
          COLUMNS);
  for (size_t fork = 0; fork < m->forks; ++fork) {
    char from[16], to[16];
    snprintf(from, sizeof from, "x%zu", fork);
    snprintf(to, sizeof to, "x%zu", fork + 1);
    write_fork(file, m, fork, from, to);
  }
  fprintf(file, "outputs: [x%zu]\n", m->forks);
  fclose(file);
}

// ---- planned models, with the regions of the runtime ----

typedef struct subject {
  const model* model;
  char path[PATH_BYTES];
  etx_bytes_mut file;
  etx_verify_region_step steps[MOST_STEPS];
  etx_verify_schedule schedule;
} subject;

static void find_schedule(subject* s, size_t limit) {
  etx_run_session session;
  const etx_run_session_options options = {.threads = 1};
  etx_method* method = NULL;
  etx_pool pool;
  etx_region_step at;
  require_ok(etx_run_session_open(&session, s->path, &options, &diag));
  require_ok(etx_run_session_method(&session, s->model->name, &method, &diag));
  etx_pool_init(&pool);
  const etx_zero_inputs zeros = {&session.module.program, method,
                                 etx_text_of(s->model->name), true, &pool};
  require_ok(etx_zero_inputs_set(&zeros, &diag));
  require_ok(etx_module_regions_use(&session.regions, method,
                                    &session.pool.launcher, limit, &diag));
  s->schedule = (etx_verify_schedule){.method = etx_text_of(s->model->name),
                                      .steps = s->steps};
  while (etx_method_region_step_at(method, s->schedule.step_count, &at)) {
    assert_true(s->schedule.step_count < MOST_STEPS);
    s->steps[s->schedule.step_count++] =
        (etx_verify_region_step){at.instruction, at.group_end, at.region};
  }
  assert_true(etx_method_region_steps(method) > 0);
  etx_pool_close(&pool);
  etx_run_session_close(&session);
}

static void open_subject(subject* s, const model* m, const char* option) {
  char yaml[PATH_BYTES];
  size_t size = 0;
  s->model = m;
  etx_diag_init(&diag);
  snprintf(yaml, sizeof yaml, "%s/%s.yaml", command_directory, m->name);
  snprintf(s->path, sizeof s->path, "%s/%s.pte", command_directory, m->name);
  write_model(yaml, m);
  command_expect(0, WORDS(ETX, "plan", yaml, "-o", s->path, "-q", option));
  char* const read = command_read_file(s->path, &size);
  s->file = (etx_bytes_mut){aligned_alloc(16, (size + 31) / 16 * 16), size};
  assert_non_null(s->file.data);
  memcpy(s->file.data, read, size);
  free(read);
}

static etx_bytes bytes_of(const subject* s) {
  return (etx_bytes){s->file.data, s->file.size};
}

static void regions_of_plans_are_proved(void** state) {
  (void)state;
  for (size_t i = 0; i < MODELS; ++i) {
    subject s;
    open_subject(&s, &models[i], "--parallel-regions");
    for (size_t limit = 2; limit <= 64; limit *= 2) {
      size_t pairs = 0;
      bool is_shared = true;
      find_schedule(&s, limit);
      require_ok(etx_verify_regions(bytes_of(&s), &s.schedule, &pairs, &diag));
      assert_true(pairs > 0);
      const byte_verdict compared =
          shadow_regions_compare(bytes_of(&s), &s.schedule, &is_shared);
      if (compared.is_wrong) fail_msg("%s: %s", s.model->name, compared.why);
      for (uint64_t order = 0; order < ORDERS; ++order) {
        const byte_verdict run =
            shadow_regions_run(bytes_of(&s), &s.schedule, order);
        if (run.is_wrong) fail_msg("%s: %s", s.model->name, run.why);
      }
    }
    command_expect_out(0,
                       WORDS(ETX, "verify", s.path, "--parallel-regions", "8"),
                       "share no byte that one of them writes");
    free(s.file.data);
  }
}

// ---- corruptions ----

typedef struct corruption_count {
  size_t tried;
  size_t shared;      // two regions share a byte: the proof of regions refuses
  size_t plan_only;   // of these: accepted by the proof of the plan
  size_t order_only;  // of these: wrong in an order that regions allow, and
                      // right in the order of the file
} corruption_count;

static corruption_count plan_changes, schedule_changes;

static bool is_wrong_in_some_order(etx_bytes file,
                                   const etx_verify_schedule* schedule) {
  for (uint64_t order = 1; order < ORDERS; ++order) {
    if (shadow_regions_run(file, schedule, order).is_wrong) return true;
  }
  return false;
}

// The message of a refusal has both instructions and the bytes.
static void check_message(void) {
  assert_non_null(strstr(diag.text, "may run at the same time"));
  const char* const first = strstr(diag.text, "instruction '");
  assert_non_null(first);
  assert_non_null(strstr(first + 1, "instruction '"));
  assert_non_null(strstr(diag.text, "bytes "));
}

static void compare_with_oracles(etx_bytes file,
                                 const etx_verify_schedule* schedule,
                                 corruption_count* count) {
  bool is_shared = false;
  const byte_verdict verdict =
      shadow_regions_compare(file, schedule, &is_shared);
  etx_diag_init(&diag);
  const etx_status plan = etx_verify_program(file, NULL, &diag);
  etx_diag_init(&diag);
  const etx_status regions = etx_verify_regions(file, schedule, NULL, &diag);
  ++count->tried;
  if (is_shared) {
    ++count->shared;
    if (regions != ETX_BAD_PLAN) fail_msg("must be refused: %s", verdict.why);
    // A view that left its parent is refused first.
    if (plan == ETX_OK) check_message();
  } else if (!verdict.is_wrong && regions != ETX_OK) {
    fail_msg("shares nothing, but is refused: %s", diag.text);
  }
  if (plan != ETX_OK) return;
  count->plan_only += is_shared;
  // The proof of the plan holds for the order of the file, that of regions for
  // all others.
  assert_false(shadow_regions_run(file, schedule, 0).is_wrong);
  if (!is_wrong_in_some_order(file, schedule)) return;
  ++count->order_only;
  assert_int_equal(regions, ETX_BAD_PLAN);
}

static etx_pte_tensor* pick_planned(program_copy* copy) {
  for (;;) {
    const size_t plan = pick(copy->plan_count);
    if (copy->plans[plan].value_count == 0) continue;
    etx_pte_value* const value =
        &program_copy_values(copy, plan)[pick(copy->plans[plan].value_count)];
    if (value->kind == ETX_PTE_TENSOR && value->as.tensor.has_allocation) {
      return &value->as.tensor;
    }
  }
}

// Puts a value at the place of another one, alone or with all values that lie
// where it was.
static void change_offset(program_copy* copy) {
  etx_pte_tensor* const tensor = pick_planned(copy);
  const uint64_t before = tensor->memory_offset;
  const uint64_t after = pick_planned(copy)->memory_offset;
  const bool all = pick(2) == 0;
  for (size_t p = 0; p < copy->plan_count; ++p) {
    etx_pte_value* const values = program_copy_values(copy, p);
    for (size_t v = 0; all && v < copy->plans[p].value_count; ++v) {
      if (values[v].kind == ETX_PTE_TENSOR &&
          values[v].as.tensor.has_allocation &&
          values[v].as.tensor.memory_offset == before) {
        values[v].as.tensor.memory_offset = after;
      }
    }
  }
  tensor->memory_offset = after;
}

static void wrong_plans_are_refused(void** state) {
  (void)state;
  for (size_t i = 0; i < MODELS; ++i) {
    subject s;
    open_subject(&s, &models[i], "--parallel-regions");
    find_schedule(&s, i % 2 == 0 ? 64 : 2);
    for (size_t made = 0; made < PLAN_CHANGES; ++made) {
      program_copy* const copy = program_copy_of(bytes_of(&s));
      change_offset(copy);
      const etx_bytes_mut bytes = program_copy_write(copy);
      compare_with_oracles((etx_bytes){bytes.data, bytes.size}, &s.schedule,
                           &plan_changes);
      sample_release(bytes);
      program_copy_end(copy);
    }
    free(s.file.data);
  }
}

// Moves a step to another region, or joins two groups or a step and a group.
static void change_schedule(subject* s) {
  const size_t step = pick(s->schedule.step_count);
  const size_t other = pick(s->schedule.step_count);
  const size_t first = step < other ? step : other;
  const size_t last = step < other ? other : step;
  size_t end = last + 1;
  if (pick(2) == 0) {
    s->steps[step].region = pick(64);
    return;
  }
  size_t start = first;
  while (start > 0 && s->steps[first].group_end != 0 &&
         s->steps[start - 1].group_end == s->steps[first].group_end) {
    --start;
  }
  if (s->steps[last].group_end != 0) end = s->steps[last].group_end;
  for (size_t i = start; i < end; ++i) s->steps[i].group_end = end;
}

static void wrong_schedules_are_refused(void** state) {
  (void)state;
  for (size_t i = 0; i < MODELS; ++i) {
    subject s;
    open_subject(&s, &models[i], "--parallel-regions");
    for (size_t made = 0; made < SCHEDULE_CHANGES; ++made) {
      find_schedule(&s, made % 2 == 0 ? 64 : 2);
      change_schedule(&s);
      compare_with_oracles(bytes_of(&s), &s.schedule, &schedule_changes);
    }
    free(s.file.data);
  }
}

static void print_count(const char* what, const corruption_count* c) {
  print_message(
      "%-9s %zu changed, %zu shared a byte, %zu of them in a proved "
      "plan, %zu wrong only in another order\n",
      what, c->tried, c->shared, c->plan_only, c->order_only);
}

static void hundreds_of_each_kind_were_tested(void** state) {
  (void)state;
  print_count("plans", &plan_changes);
  print_count("schedules", &schedule_changes);
  assert_true(plan_changes.shared >= TEST_ROUNDS(300));
  assert_true(plan_changes.tried - plan_changes.shared >= TEST_ROUNDS(50));
  assert_true(plan_changes.order_only >= TEST_ROUNDS(10));
  assert_true(schedule_changes.shared >= TEST_ROUNDS(150));
  assert_true(schedule_changes.order_only >= TEST_ROUNDS(100));
}

// ---- the rest ----

// A plan that reuses memory, with the schedule of one that does not.
static void plans_without_regions_apart_are_refused(void** state) {
  size_t refused = 0;
  (void)state;
  for (size_t i = 0; i < MODELS; ++i) {
    subject s;
    open_subject(&s, &models[i], "--parallel-regions");
    find_schedule(&s, 64);
    free(s.file.data);
    const etx_verify_schedule apart = s.schedule;
    open_subject(&s, &models[i], "--quiet");
    require_ok(etx_verify_program(bytes_of(&s), NULL, &diag));
    const etx_status status =
        etx_verify_regions(bytes_of(&s), &apart, NULL, &diag);
    if (status != ETX_OK) {
      assert_int_equal(status, ETX_BAD_PLAN);
      check_message();
      assert_non_null(strstr(diag.text, "of arena '1'"));
      ++refused;
    }
    free(s.file.data);
  }
  assert_true(refused > 0);
}

static void blocks_of_memory_must_be_apart(void** state) {
  etx_verify_block blocks[] = {{"scratch of method", 0, 1024, 2048},
                               {"temporary memory of region", 0, 2048, 2304},
                               {"temporary memory of region", 1, 2304, 2560}};
  subject s;
  (void)state;
  open_subject(&s, &models[0], "--parallel-regions");
  find_schedule(&s, 2);
  s.schedule.blocks = blocks;
  s.schedule.block_count = 3;
  require_ok(etx_verify_regions(bytes_of(&s), &s.schedule, NULL, &diag));
  blocks[1].end += 16;
  assert_int_equal(etx_verify_regions(bytes_of(&s), &s.schedule, NULL, &diag),
                   ETX_BAD_PLAN);
  assert_non_null(strstr(diag.text,
                         "the temporary memory of region '0' and the temporary "
                         "memory of region '1' share 16 bytes"));
  free(s.file.data);
}

static void expect_bad_schedule(const subject* s, const char* part) {
  etx_diag_init(&diag);
  assert_int_equal(etx_verify_regions(bytes_of(s), &s->schedule, NULL, &diag),
                   ETX_BAD_ARGUMENT);
  if (strstr(diag.text, part) == NULL) fail_msg("%s", diag.text);
}

static void schedules_that_contradict_themselves_are_refused(void** state) {
  subject s;
  (void)state;
  open_subject(&s, &models[0], "--parallel-regions");
  find_schedule(&s, 2);
  s.steps[3].instruction = s.steps[2].instruction;
  expect_bad_schedule(&s, "step '3'");
  find_schedule(&s, 2);
  s.steps[1].instruction = 1000;
  expect_bad_schedule(&s, "is not an instruction behind the one before");
  find_schedule(&s, 2);
  s.steps[4].group_end = 4;
  expect_bad_schedule(&s, "have different groups");
  find_schedule(&s, 2);
  for (size_t i = 0; i < s.schedule.step_count; ++i) {
    s.steps[i].group_end = s.schedule.step_count + 1;
  }
  expect_bad_schedule(&s, "is outside its own group");
  find_schedule(&s, 2);
  s.schedule.method = etx_text_of("nothing");
  etx_diag_init(&diag);
  assert_int_equal(etx_verify_regions(bytes_of(&s), &s.schedule, NULL, &diag),
                   ETX_NOT_FOUND);
  free(s.file.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(regions_of_plans_are_proved),
      cmocka_unit_test(wrong_plans_are_refused),
      cmocka_unit_test(wrong_schedules_are_refused),
      cmocka_unit_test(hundreds_of_each_kind_were_tested),
      cmocka_unit_test(plans_without_regions_apart_are_refused),
      cmocka_unit_test(blocks_of_memory_must_be_apart),
      cmocka_unit_test(schedules_that_contradict_themselves_are_refused),
  };
  return cmocka_run_group_tests_name("verify_regions", tests, command_set_up,
                                     command_tear_down);
}
