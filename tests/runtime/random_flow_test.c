// Random programs (flow_program.h), each run with random inputs in turn, on one
// loaded method and on a fresh one. The oracle is a simulation of the steps on
// plain arrays.

#include "runtime/method/method_types.h"
#include "tests/runtime/flow_program.h"
#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_random.h"

static etx_diag diag;

enum { PROGRAMS = 300, CALLS = 8, STEP_LIMIT = 300 };

typedef struct flow_inputs {
  int64_t x[ROOM];
  int32_t size;
  int64_t data;
  uint8_t flags[FLAG_COUNT];
} flow_inputs;

typedef struct flow_machine {
  int64_t memory[SLOT_COUNT][ROOM];
  int root[SLOT_COUNT];  // whose memory a slot uses
  int32_t size[SLOT_COUNT];
  int64_t number[SLOT_COUNT];
} flow_machine;

static void start_machine(flow_machine* m, const flow_inputs* in) {
  memset(m, 0, sizeof *m);
  for (int i = 0; i < SLOT_COUNT; ++i) {
    m->root[i] = i;
    m->size[i] = 1;
  }
  m->size[X] = in->size;
  memcpy(m->memory[X], in->x, sizeof in->x);
  m->memory[DATA][0] = in->data;
  for (int i = 0; i < FLAG_COUNT; ++i) m->number[FLAGS + i] = in->flags[i];
  m->number[ONE] = 1;
  m->number[TWO] = 2;
  m->number[FIVE] = 5;
}

// False if the instruction is refused: an output overlaps another argument, and
// the operator allows it only for equal sizes or not at all, or an output lies
// in an input.
static bool write_tensor(flow_machine* m, const flow_step* s, int32_t size,
                         bool in_place, int64_t more) {
  const int32_t read = m->size[s->a];
  const bool is_same_memory = m->root[s->a] == m->root[s->out];
  m->size[s->out] = size;
  if (m->root[s->out] == X) return false;
  if (size == 0) return true;
  if (is_same_memory && read > 0 && (!in_place || read != size)) return false;
  for (int32_t i = 0; i < size; ++i) {
    m->memory[m->root[s->out]][i] = m->memory[m->root[s->a]][i] + more;
  }
  return true;
}

// The output is checked at its bound, so it must not overlap what is read.
static bool repeat(flow_machine* m, const flow_step* s) {
  int64_t* out = m->memory[m->root[s->out]];
  const int64_t* repeats = m->memory[m->root[s->a]];
  const int32_t read = m->size[s->a];
  m->size[s->out] = 0;
  if (m->root[s->out] == X) return false;
  if (read > 0 && out == repeats) return false;
  for (int32_t i = 0; i < read; ++i) {
    for (int64_t k = 0; k < repeats[i]; ++k) {
      if (m->size[s->out] == ROOM) return false;
      out[m->size[s->out]++] = i;
    }
  }
  return true;
}

static int32_t smaller(int64_t a, int32_t b) { return a < b ? (int32_t)a : b; }

static bool simulate_step(flow_machine* m, const flow_step* s, int* next) {
  switch (s->kind) {
    case STEP_CLONE:
      return write_tensor(m, s, m->size[s->a], true, 0);
    case STEP_ADD:
      return write_tensor(m, s, m->size[s->a], true, m->number[s->b]);
    case STEP_HEAD:
      return write_tensor(m, s, smaller(m->number[s->b], m->size[s->a]), false,
                          0);
    case STEP_SUM: {
      const int to = m->root[s->out];
      if (to == DATA) return false;
      m->memory[to][0] = 0;
      for (int32_t i = 0; i < m->size[s->a]; ++i) {
        m->memory[to][0] += m->memory[m->root[s->a]][i];
      }
      return true;
    }
    case STEP_REPEAT:
      return repeat(m, s);
    case STEP_VIEW:
      m->root[s->out] = m->root[s->a];
      m->size[s->out] = m->size[s->a];
      return true;
    case STEP_SIZE:
      m->number[s->out] = m->size[s->a];
      return true;
    case STEP_ITEM:
      m->number[s->out] = m->memory[m->root[s->a]][0];
      return true;
    case STEP_MOD:
      m->number[s->out] = m->number[s->a] % m->number[s->b];
      return true;
    case STEP_COUNT:
      m->number[s->out] = m->number[s->a] + 1;
      return true;
    case STEP_MAX:
      m->number[s->out] =
          m->number[s->a] > m->number[s->b] ? m->number[s->a] : m->number[s->b];
      return true;
    case STEP_LESS:
      m->number[s->out] = m->number[s->a] < m->number[s->b];
      return true;
    case STEP_MOVE:
      m->root[s->out] = m->root[s->a];
      m->size[s->out] = m->size[s->a];
      m->number[s->out] = m->number[s->a];
      return true;
    case STEP_JUMP:
      if (m->number[s->a] == 0) *next = s->b;
      return true;
  }
  return false;
}

static bool simulate(const flow_program* p, flow_machine* m) {
  int steps = 0;
  for (int at = 0; at < p->count;) {
    if (steps++ == STEP_LIMIT) return false;
    const flow_step* step = &p->steps[at++];
    if (!simulate_step(m, step, &at)) return false;
  }
  return true;
}

static etx_status run(test_loaded* loaded, flow_inputs* in) {
  etx_method* method = &loaded->method;
  const etx_tensor x = TEST_TENSOR(in->x, ETX_DTYPE_INT64, in->size);
  const etx_tensor data = TEST_TENSOR(&in->data, ETX_DTYPE_INT64, 1);
  assert_ok(etx_method_set_input(method, 0, &x, &diag));
  assert_ok(etx_method_set_input(method, 1, &data, &diag));
  for (size_t i = 0; i < FLAG_COUNT; ++i) {
    const etx_tensor flag = TEST_TENSOR(&in->flags[i], ETX_DTYPE_BOOL, 1);
    assert_ok(etx_method_set_input(method, 2 + i, &flag, &diag));
  }
  return etx_method_run(method, &diag);
}

static void compare(const flow_program* p, const flow_machine* m,
                    const etx_method* method) {
  for (size_t i = 0; i < FLOW_OUTPUT_COUNT; ++i) {
    const int slot = flow_outputs[i];
    const etx_value* value = NULL;
    if (!flow_is_defined(p, slot)) continue;
    assert_ok(etx_method_output(method, i, &value));
    if (slot >= NUMBERS) {
      assert_int_equal(value->as.integer, m->number[slot]);
      continue;
    }
    assert_int_equal(value->as.tensor.sizes[0], m->size[slot]);
    if (m->size[slot] == 0) continue;
    assert_memory_equal(value->as.tensor.data, m->memory[m->root[slot]],
                        (size_t)m->size[slot] * sizeof(int64_t));
  }
}

// Marks of numbers are found by it.
static void expect_positions(const etx_method* method) {
  for (size_t i = 0; i < method->value_count; ++i) {
    if (method->values[i].kind == ETX_VALUE_TENSOR) continue;
    assert_int_equal(method->values[i].position, i);
  }
}

static void random_inputs(flow_inputs* in) {
  in->size = (int32_t)test_random_integer(0, ROOM);
  const int64_t most = test_random_integer(0, 1) == 0 ? 1 : 9;
  for (int i = 0; i < ROOM; ++i) in->x[i] = test_random_integer(0, most);
  in->data = test_random_integer(0, 9);
  for (int i = 0; i < FLAG_COUNT; ++i) {
    in->flags[i] = (uint8_t)test_random_integer(0, 1);
  }
}

static size_t calls_ok, calls_refused, records_ahead, records_late;

static void count_late(const etx_method* method) {
  for (size_t i = 0; i < method->record_count; ++i) {
    const bool is_late = method->records[i].late != ETX_RECORD_AHEAD;
    records_late += is_late;
    records_ahead += !is_late;
  }
}

static void run_program(const flow_program* p) {
  etx_program program;
  test_loaded kept, fresh;
  flow_inputs in;
  test_program* f = flow_file(p);
  const etx_limits limits = {.max_steps = STEP_LIMIT};
  assert_ok(etx_program_open(&program, test_file(f), &etx_all_kernels, &limits,
                             &diag));
  assert_ok(test_load(&kept, &program, "forward", NULL, &diag));
  for (int call = 0; call < CALLS; ++call) {
    flow_machine m;
    random_inputs(&in);
    start_machine(&m, &in);
    const bool is_ok = simulate(p, &m);
    assert_ok(test_load(&fresh, &program, "forward", NULL, &diag));
    test_loaded* both[2] = {&kept, &fresh};
    for (size_t i = 0; i < 2; ++i) {
      etx_diag_init(&diag);
      const etx_status status = run(both[i], &in);
      if ((status == ETX_OK) != is_ok) print_message("%s\n", diag.text);
      assert_int_equal(status == ETX_OK, is_ok);
      if (is_ok) compare(p, &m, &both[i]->method);
      expect_positions(&both[i]->method);
    }
    assert_true(test_unload(&fresh));
    calls_ok += is_ok;
    calls_refused += !is_ok;
  }
  count_late(&kept.method);
  assert_true(test_unload(&kept));
  test_program_end(f);
}

static void every_path_computes_what_its_steps_say(void** state) {
  (void)state;
  static flow_program p;
  calls_ok = calls_refused = records_ahead = records_late = 0;
  for (int i = 0; i < PROGRAMS; ++i) {
    flow_start_structured(&p, i % 2 == 0);
    run_program(&p);
  }
  print_message("%zu calls, %zu of them refused; %zu records ahead, %zu late\n",
                calls_ok + calls_refused, calls_refused, records_ahead,
                records_late);
  // Both kinds are tested.
  assert_true(calls_ok >= 1000);
  assert_true(records_ahead > 500);
  assert_true(records_late > 500);
}

static void jumps_may_lead_anywhere(void** state) {
  (void)state;
  static flow_program p;
  calls_ok = calls_refused = 0;
  for (int i = 0; i < PROGRAMS; ++i) {
    flow_start_tangled(&p);
    run_program(&p);
  }
  print_message("%zu calls, %zu of them refused\n", calls_ok + calls_refused,
                calls_refused);
  assert_true(calls_ok >= 500);
}

// ---- runs with the late values of the run before ----

static size_t calls_observed;

static void observe(void* context, size_t instruction, const etx_call* call) {
  (void)context;
  (void)instruction;
  (void)call;
  ++calls_observed;
}

// Changes nothing, or one kind of input. The data may move.
static void change_inputs(flow_inputs* in) {
  switch (test_random_integer(0, 7)) {
    case 0:
      in->data = test_random_integer(0, 9);
      return;
    case 1:
      in->x[test_random_integer(0, ROOM - 1)] = test_random_integer(0, 3);
      return;
    case 2:
      if (test_random_integer(0, 3) == 0) random_inputs(in);
      return;
    default:
      return;
  }
}

static size_t runs_same, runs_changed;

static void run_often(const flow_program* p) {
  enum { OFTEN = 30 };
  static flow_inputs in[2];
  etx_program program;
  test_loaded loaded;
  test_program* f = flow_file(p);
  const etx_run_observer observer = {observe, observe, NULL};
  assert_ok(
      etx_program_open(&program, test_file(f), &etx_all_kernels, NULL, &diag));
  assert_ok(test_load(&loaded, &program, "forward", NULL, &diag));
  random_inputs(&in[0]);
  for (int call = 0; call < OFTEN; ++call) {
    flow_machine m;
    const int at = (int)test_random_integer(0, 1);
    if (call > 0) change_inputs(&in[0]);
    in[1] = in[0];
    start_machine(&m, &in[0]);
    const bool is_ok = simulate(p, &m);
    const bool is_observed = test_random_integer(0, 19) == 0;
    etx_method_observe(&loaded.method, is_observed ? &observer : NULL);
    const bool was_same = (loaded.method.flow & ETX_FLOW_SAME) != 0;
    etx_diag_init(&diag);
    const etx_status status = run(&loaded, &in[at]);
    if ((status == ETX_OK) != is_ok) print_message("%s\n", diag.text);
    assert_int_equal(status == ETX_OK, is_ok);
    if (is_ok) compare(p, &m, &loaded.method);
    const bool is_same = (loaded.method.flow & ETX_FLOW_SAME) != 0;
    runs_same += was_same && is_same;
    runs_changed += was_same && !is_same && !is_observed;
  }
  assert_true(test_unload(&loaded));
  test_program_end(f);
}

static void runs_with_equal_late_values_compute_the_same(void** state) {
  static flow_program p;
  (void)state;
  runs_same = runs_changed = 0;
  for (int i = 0; i < 2 * PROGRAMS; ++i) {
    flow_start_straight(&p, i % 2 == 0);
    run_often(&p);
  }
  print_message(
      "%zu runs with the late values of the run before, %zu runs "
      "that found a change\n",
      runs_same, runs_changed);
  assert_true(calls_observed > 0);
  assert_true(runs_same >= 1000);
  assert_true(runs_changed >= 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_CONTROL_FLOW && ETX_VERIFIER,
                     every_path_computes_what_its_steps_say),
      unit_test_with(ETX_CONTROL_FLOW && ETX_VERIFIER, jumps_may_lead_anywhere),
      unit_test_with(ETX_CONTROL_FLOW && ETX_VERIFIER,
                     runs_with_equal_late_values_compute_the_same),
  };
  test_random_start();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
