// Random stateful programs, planned and run, against an interpreter that gives
// every value memory of its own.
//
// Whatever the passes place in the same bytes, whatever they switch off, and
// whatever lay in scratch before: outputs, mutated inputs and states must be
// what "all mutations at once" gives. Every operation here is one rounding, so
// the comparison is exact.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "cli/verify_program.h"
#include "format/pte/reserved_names.h"
#include "runtime/module/module.h"
#include "tests/exporter/graph.h"

enum {
  ROWS = 3,
  COLUMNS = 4,  // so that a row has the alignment of a block
  MATRIX = ROWS * COLUMNS,
  MAX_VALUES = 40,
  MAX_STATES = 4,
  MAX_METHODS = 3,
  MAX_PORTS = 4,
  PROGRAMS = 1500,
  CALLS = 6,
};

// What a value is: the whole, a row, or the whole lying flat; and an input of
// some rows of a whole.
typedef enum type { WHOLE, ROW, FLAT, TYPE_COUNT, SOME = TYPE_COUNT } type;

static size_t elements_of(type t) { return t == ROW ? COLUMNS : MATRIX; }

// How the interpreter computes a value of a method.
typedef enum action {
  GET_STATE,
  GET_INPUT,
  GET_CONSTANT,
  ADD,
  SUBTRACT,
  SELECT,
  RESHAPE,
  COPY,
  PUT_ROW,    // select_scatter
  PUT_ROWS,   // slice_scatter of the first two rows
  TAKE_ROWS,  // slice of the first two rows, put back over zeros
  INDEX_PUT,
  JOIN_ROWS,  // a, b and a + b one below the other
  // With the input whose number of rows varies:
  PUT_SOME,     // its rows replace the first ones of a
  ADD_SOME,     // the first rows of b plus its rows do
  MOVE_SOME,    // as many first rows of b do
  PUT_COLUMNS,  // its first column does, in as many rows of a
  ACTION_COUNT,
} action;

typedef struct step {
  action action;
  type type;
  size_t a, b;  // earlier steps
  size_t row;
  size_t index;  // state or input
  float constant;
  uint32_t value;  // in the IR
} step;

typedef struct mutation {
  bool is_input;
  size_t target;
  size_t step;
} mutation;

typedef struct method {
  char name[8];
  step steps[MAX_VALUES];
  size_t step_count;
  type inputs[MAX_PORTS];
  bool is_mutable[MAX_PORTS];
  size_t input_count;
  bool has_some;  // the last input has a number of rows that varies
  size_t some;    // its step
  etx_dim rows;   // that number
  size_t outputs[MAX_PORTS];
  size_t output_count;
  mutation mutations[MAX_STATES + MAX_PORTS];
  size_t mutation_count;
} method;

typedef struct program {
  type states[MAX_STATES];
  size_t state_count;
  float initial[MAX_STATES][MATRIX];
  uint32_t buffers[MAX_STATES];
  method methods[MAX_METHODS];
  size_t method_count;
} program;

static uint64_t random_state;

static uint64_t next_random(void) {
  random_state += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t z = random_state;
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static size_t pick(size_t count) { return (size_t)(next_random() % count); }

static bool one_in(size_t count) { return pick(count) == 0; }

// ---------------------------------------------------------------- building

static const int64_t* sizes_of(type t) {
  static const int64_t whole[2] = {ROWS, COLUMNS};
  static const int64_t row[1] = {COLUMNS};
  static const int64_t flat[1] = {MATRIX};
  return t == WHOLE ? whole : t == ROW ? row : flat;
}

static uint8_t rank_of(type t) { return t == WHOLE || t == SOME ? 2 : 1; }

// A random earlier step of that type; false if there is none.
static bool find_step(const method* m, type t, size_t* out_step) {
  const size_t start = pick(m->step_count);
  for (size_t i = 0; i < m->step_count; ++i) {
    const size_t at = (start + i) % m->step_count;
    if (m->steps[at].type != t) continue;
    *out_step = at;
    return true;
  }
  return false;
}

static uint32_t index_of_row(graph* g, size_t row) {
  const int64_t index = (int64_t)row;
  etx_ir_constant constant = {.dtype = ETX_DTYPE_INT64, .rank = 1};
  constant.sizes[0] = 1;
  uint8_t* const data = etx_pool_take(&g->pool, sizeof index);
  memcpy(data, &index, sizeof index);
  constant.data = (etx_bytes){data, sizeof index};
  uint32_t id = 0;
  uint32_t value = 0;
  assert_int_equal(etx_ir_add_constant(&g->module, &constant, &id), ETX_OK);
  assert_int_equal(
      etx_ir_constant_value(&g->module, graph_current(g), id, &value), ETX_OK);
  return value;
}

static uint32_t first_rows(graph* g, const method* m, uint32_t a) {
  return graph_slice(g, a, 0, 0, m->rows);
}

// The actions on some rows.
static void emit_some(graph* g, const method* m, step* s) {
  const uint32_t a = m->steps[s->a].value;
  const uint32_t b = m->steps[s->b].value;
  const uint32_t some = m->steps[m->some].value;
  uint32_t rows = some;
  if (s->action == ADD_SOME) rows = graph_add(g, first_rows(g, m, b), some);
  if (s->action == MOVE_SOME) rows = first_rows(g, m, b);
  if (s->action == PUT_COLUMNS) {
    rows = graph_slice_scatter(g, first_rows(g, m, a),
                               graph_slice(g, some, 1, 0, 1), 1, 0, 1);
  }
  s->value = graph_slice_scatter(g, a, rows, 0, 0, m->rows);
}

static void emit_step(graph* g, const program* p, method* m, step* s) {
  const uint32_t a = m->steps[s->a].value;
  const uint32_t b = m->steps[s->b].value;
  float elements[MATRIX];
  char name[8];
  switch (s->action) {
    case GET_STATE:
      s->value = graph_buffer(g, p->buffers[s->index]);
      break;
    case GET_INPUT:
      snprintf(name, sizeof name, "x%zu", s->index);
      s->value = graph_input(
          g, name, rank_of(s->type),
          s->type == SOME ? SIZES(m->rows, COLUMNS) : sizes_of(s->type));
      break;
    case GET_CONSTANT:
      for (size_t i = 0; i < MATRIX; ++i) elements[i] = s->constant + (float)i;
      s->value =
          graph_constant(g, rank_of(s->type), sizes_of(s->type), elements);
      break;
    case ADD:
      s->value = graph_add(g, a, b);
      break;
    case SUBTRACT:
      s->value =
          graph_node(g, ETX_OP_sub_out, ARGS(VALUE(a), VALUE(b), INT(1)));
      break;
    case SELECT:
      s->value = graph_select(g, a, 0, (int64_t)s->row);
      break;
    case RESHAPE:
      s->value = graph_view(g, a, rank_of(s->type), sizes_of(s->type));
      break;
    case COPY:
      s->value = graph_clone(g, a);
      break;
    case PUT_ROW:
      s->value = graph_select_scatter(g, a, b, 0, (int64_t)s->row);
      break;
    case PUT_ROWS:
      s->value = graph_slice_scatter(g, a, graph_slice(g, b, 0, 0, 2), 0,
                                     (int64_t)s->row, (int64_t)s->row + 2);
      break;
    case TAKE_ROWS: {
      const uint32_t rows = graph_slice(g, a, 0, 1, 3);
      s->value = graph_slice_scatter(g, a, graph_add(g, rows, rows), 0, 0, 2);
      break;
    }
    case INDEX_PUT:
      s->value = graph_node(
          g, ETX_OP_index_put_out,
          ARGS(VALUE(a), LIST(VALUE(index_of_row(g, s->row))), VALUE(b), NO));
      break;
    case JOIN_ROWS: {
      const int64_t* const flat = SIZES(1, COLUMNS);
      const uint32_t rows[ROWS] = {graph_view(g, a, 2, flat),
                                   graph_view(g, b, 2, flat),
                                   graph_view(g, graph_add(g, a, b), 2, flat)};
      s->value = graph_cat(g, rows, ROWS, 0);
      break;
    }
    case PUT_SOME:
    case ADD_SOME:
    case MOVE_SOME:
    case PUT_COLUMNS:
      emit_some(g, m, s);
      break;
    case ACTION_COUNT:
      break;
  }
}

static void add_step(graph* g, const program* p, method* m, step s) {
  if (m->step_count == MAX_VALUES) return;
  emit_step(g, p, m, &s);
  m->steps[m->step_count++] = s;
}

static void add_random_step(graph* g, const program* p, method* m) {
  step s = {.action = (action)(ADD + pick(ACTION_COUNT - ADD)),
            .row = pick(ROWS)};
  s.type = WHOLE;
  bool good = true;
  switch (s.action) {
    case ADD:
    case SUBTRACT: {
      // Equal types, or a row added to every row of a whole.
      s.type = (type)pick(TYPE_COUNT);
      const type other = s.type == WHOLE && one_in(3) ? ROW : s.type;
      good = find_step(m, s.type, &s.a) && find_step(m, other, &s.b);
      break;
    }
    case SELECT:
      s.type = ROW;
      good = find_step(m, WHOLE, &s.a);
      break;
    case RESHAPE:
      s.type = one_in(2) ? FLAT : WHOLE;
      good = find_step(m, s.type == FLAT ? WHOLE : FLAT, &s.a);
      break;
    case COPY:
      s.a = pick(m->step_count);
      s.type = m->steps[s.a].type;
      good = s.type != SOME;
      break;
    case PUT_ROWS:
      s.row = pick(2);
      good = find_step(m, WHOLE, &s.a) && find_step(m, WHOLE, &s.b);
      break;
    case TAKE_ROWS:
      good = find_step(m, WHOLE, &s.a);
      break;
    case JOIN_ROWS:
      good = find_step(m, ROW, &s.a) && find_step(m, ROW, &s.b);
      break;
    case PUT_SOME:
    case ADD_SOME:
    case MOVE_SOME:
    case PUT_COLUMNS:
      good =
          m->has_some && find_step(m, WHOLE, &s.a) && find_step(m, WHOLE, &s.b);
      break;
    default:
      good = find_step(m, WHOLE, &s.a) && find_step(m, ROW, &s.b);
      break;
  }
  if (good) add_step(g, p, m, s);
}

// A step of that type, the latest ones most often.
static bool find_result(const method* m, type t, size_t* out_step) {
  for (size_t i = m->step_count; i > 0; --i) {
    if (m->steps[i - 1].type != t || one_in(3)) continue;
    *out_step = i - 1;
    return true;
  }
  return find_step(m, t, out_step);
}

static void add_mutations(graph* g, const program* p, method* m) {
  for (size_t s = 0; s < p->state_count; ++s) {
    mutation change = {false, s, 0};
    if (one_in(3) || !find_result(m, p->states[s], &change.step)) continue;
    graph_mutate(g, p->buffers[s], m->steps[change.step].value);
    m->mutations[m->mutation_count++] = change;
  }
  for (size_t i = 0; i < m->input_count; ++i) {
    mutation change = {true, i, 0};
    if (m->inputs[i] == SOME || !one_in(3) ||
        !find_result(m, m->inputs[i], &change.step))
      continue;
    m->is_mutable[i] = true;
    graph_mutate_input(g, graph_current(g)->inputs[i].arg.as.value,
                       m->steps[change.step].value);
    m->mutations[m->mutation_count++] = change;
  }
}

static void build_method(graph* g, const program* p, method* m, size_t index) {
  snprintf(m->name, sizeof m->name, "m%zu", index);
  graph_method(g, m->name);
  for (size_t s = 0; s < p->state_count; ++s) {
    if (one_in(4)) continue;
    add_step(g, p, m,
             (step){.action = GET_STATE, .type = p->states[s], .index = s});
  }
  const size_t inputs = 1 + pick(3);
  for (size_t i = 0; i < inputs; ++i) {
    m->inputs[i] = (type)pick(TYPE_COUNT);
    add_step(g, p, m,
             (step){.action = GET_INPUT, .type = m->inputs[i], .index = i});
    ++m->input_count;
  }
  m->has_some = one_in(2);
  if (m->has_some) {
    m->rows = graph_symbol(g, "rows", 1, ROWS);
    m->inputs[m->input_count] = SOME;
    m->some = m->step_count;
    add_step(
        g, p, m,
        (step){.action = GET_INPUT, .type = SOME, .index = m->input_count++});
  }
  add_step(g, p, m,
           (step){.action = GET_CONSTANT,
                  .type = (type)pick(TYPE_COUNT),
                  .constant = (float)pick(9)});
  const size_t steps = pick(14);
  for (size_t i = 0; i < steps; ++i) add_random_step(g, p, m);
  add_mutations(g, p, m);
  m->output_count = pick(MAX_PORTS);
  for (size_t i = 0; i < m->output_count; ++i) {
    m->outputs[i] = pick(m->step_count);
    if (m->steps[m->outputs[i]].type == SOME) m->outputs[i] = m->step_count - 1;
    graph_output(g, "y", m->steps[m->outputs[i]].value);
  }
}

static void build_program(graph* g, program* p) {
  memset(p, 0, sizeof *p);
  p->state_count = 1 + pick(MAX_STATES);
  for (size_t s = 0; s < p->state_count; ++s) {
    char name[8];
    snprintf(name, sizeof name, "s%zu", s);
    p->states[s] = (type)pick(TYPE_COUNT);
    const bool uniform = one_in(2);
    for (size_t i = 0; i < MATRIX; ++i) {
      p->initial[s][i] = uniform ? (float)s : (float)pick(20);
    }
    p->buffers[s] = graph_state_of(g, name, rank_of(p->states[s]),
                                   sizes_of(p->states[s]), p->initial[s]);
  }
  p->method_count = 1 + pick(MAX_METHODS);
  for (size_t m = 0; m < p->method_count; ++m) {
    build_method(g, p, &p->methods[m], m);
  }
}

// ---------------------------------------------------------------- interpreting

typedef float content[MATRIX];

static void interpret_step(const step* s, content* values, content* states,
                           content* inputs, float* out) {
  const float* const a = values[s->a];
  const float* const b = values[s->b];
  const size_t count = elements_of(s->type);
  switch (s->action) {
    case GET_STATE:
      memcpy(out, states[s->index], sizeof(content));
      return;
    case GET_INPUT:
      memcpy(out, inputs[s->index], sizeof(content));
      return;
    case GET_CONSTANT:
      for (size_t i = 0; i < count; ++i) out[i] = s->constant + (float)i;
      return;
    case SELECT:
      memcpy(out, a + s->row * COLUMNS, COLUMNS * sizeof *a);
      return;
    case RESHAPE:
    case COPY:
      memcpy(out, a, count * sizeof *a);
      return;
    case PUT_ROW:
    case INDEX_PUT:
      memcpy(out, a, sizeof(content));
      memcpy(out + s->row * COLUMNS, b, COLUMNS * sizeof *b);
      return;
    case PUT_ROWS:
      memcpy(out, a, sizeof(content));
      memcpy(out + s->row * COLUMNS, b, 2 * COLUMNS * sizeof *b);
      return;
    case TAKE_ROWS:
      memcpy(out, a, sizeof(content));
      for (size_t i = 0; i < 2 * COLUMNS; ++i) {
        out[i] = a[COLUMNS + i] + a[COLUMNS + i];
      }
      return;
    case JOIN_ROWS:
      for (size_t i = 0; i < COLUMNS; ++i) {
        out[i] = a[i];
        out[COLUMNS + i] = b[i];
        out[2 * COLUMNS + i] = a[i] + b[i];
      }
      return;
    default:
      return;
  }
}

static void interpret_some(const method* m, const step* s, content* values,
                           size_t rows, float* out) {
  const float* const some = values[m->some];
  const float* const b = values[s->b];
  memcpy(out, values[s->a], sizeof(content));
  for (size_t i = 0; i < rows * COLUMNS; ++i) {
    if (s->action == PUT_SOME) out[i] = some[i];
    if (s->action == ADD_SOME) out[i] = b[i] + some[i];
    if (s->action == MOVE_SOME) out[i] = b[i];
    if (s->action == PUT_COLUMNS && i % COLUMNS == 0) out[i] = some[i];
  }
}

static void interpret(const method* m, content* states, content* inputs,
                      size_t rows, content* outputs) {
  static content values[MAX_VALUES];
  for (size_t i = 0; i < m->step_count; ++i) {
    const step* const s = &m->steps[i];
    if (s->action >= PUT_SOME) {
      interpret_some(m, s, values, rows, values[i]);
      continue;
    }
    if (s->action != ADD && s->action != SUBTRACT) {
      interpret_step(s, values, states, inputs, values[i]);
      continue;
    }
    const bool spread = m->steps[s->b].type == ROW && s->type == WHOLE;
    for (size_t k = 0; k < elements_of(s->type); ++k) {
      const float b = values[s->b][spread ? k % COLUMNS : k];
      values[i][k] =
          s->action == ADD ? values[s->a][k] + b : values[s->a][k] - b;
    }
  }
  for (size_t i = 0; i < m->output_count; ++i) {
    memcpy(outputs[i], values[m->outputs[i]], sizeof(content));
  }
  for (size_t i = 0; i < m->mutation_count; ++i) {
    const mutation* const change = &m->mutations[i];
    memcpy(change->is_input ? inputs[change->target] : states[change->target],
           values[change->step], sizeof(content));
  }
}

// ---------------------------------------------------------------- comparing

typedef struct running {
  etx_module module;
  etx_module_shared shared;
  etx_diag diag;
  size_t seed;
} running;

#define RUN_OK(r, call)                                                       \
  do {                                                                        \
    const etx_status run_status = (call);                                     \
    if (run_status != ETX_OK) {                                               \
      fail_msg("program %zu: %s: %s", (r)->seed, etx_status_name(run_status), \
               (r)->diag.text);                                               \
    }                                                                         \
  } while (0)

static void compare(const running* r, const char* what, size_t index,
                    const void* found, const float* expected, type t) {
  if (memcmp(found, expected, elements_of(t) * sizeof *expected) == 0) return;
  fail_msg("program %zu: %s %zu differs", r->seed, what, index);
}

static void compare_states(running* r, const program* p, content* states) {
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

static void call_method(running* r, const program* p, const method* m,
                        content* states, bool leads) {
  static content inputs[MAX_PORTS];
  static content given[MAX_PORTS];
  static content outputs[MAX_PORTS];
  static const int32_t whole[2] = {ROWS, COLUMNS};
  static const int32_t row[1] = {COLUMNS};
  static const int32_t flat[1] = {MATRIX};
  const int32_t some[2] = {(int32_t)(1 + pick(ROWS)), COLUMNS};
  etx_value values[MAX_PORTS];
  for (size_t i = 0; i < m->input_count; ++i) {
    for (size_t k = 0; k < MATRIX; ++k) inputs[i][k] = (float)pick(30);
    memcpy(given[i], inputs[i], sizeof(content));
    const type t = m->inputs[i];
    values[i] = etx_module_tensor(given[i], ETX_DTYPE_FLOAT32,
                                  t == SOME    ? some
                                  : t == WHOLE ? whole
                                  : t == ROW   ? row
                                               : flat,
                                  rank_of(t));
  }
  if (r->module.scratch_size != 0) {
    memset(r->module.scratch, one_in(2) ? 0xa5 : 0x5a, r->module.scratch_size);
  }
  RUN_OK(r, etx_module_execute(&r->module, m->name, values, m->input_count,
                               &r->diag));
  interpret(m, states, inputs, (size_t)some[0], outputs);
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

// The judge that shares nothing with the planner agrees.
static void verify_program(const graph* g, size_t seed) {
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_bytes file = {g->file, g->file_size};
  if (etx_verify_program(file, NULL, &diag) != ETX_OK) {
    fail_msg("program %zu: %s", seed, diag.text);
  }
}

static void load_method(running* r, const char* name) {
  etx_planned_memory allocator;
  RUN_OK(r,
         etx_module_shared_allocator(&r->shared, name, &allocator, &r->diag));
  RUN_OK(r, etx_module_load_method(&r->module, name, &allocator, &r->diag));
}

// The init method is one like any other: late, and again.
static void start_again(running* r, const program* p, content* states) {
  RUN_OK(r, etx_module_execute(&r->module, ETX_METHOD_INIT, NULL, 0, &r->diag));
  memcpy(states, p->initial, sizeof p->initial);
  compare_states(r, p, states);
}

static void run_program(const graph* g, const program* p, size_t seed) {
  static content states[MAX_STATES];
  running r;
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
    if (one_in(5)) start_again(&r, p, states);
    call_method(&r, p, &p->methods[pick(p->method_count)], states, leads);
  }
  etx_module_shared_close(&r.shared);
  etx_module_close(&r.module);
}

static const char* const switched_off[] = {
    NULL,
    AS_WRITTEN,
    AS_WRITTEN ",-alias_views",
    AS_WRITTEN ",-join_parts",
    AS_WRITTEN ",-place_updates",
    AS_WRITTEN ",-reuse_scratch",
    AS_WRITTEN ",-alias_views,-place_updates,-reuse_scratch",
    AS_WRITTEN ",-alias_views,-reuse_scratch",
};

static void every_placement_computes_the_same(void** state) {
  (void)state;
  const char* const wanted = getenv("ETX_TEST_SEED");
  const size_t first = wanted == NULL ? 0 : (size_t)strtoul(wanted, NULL, 10);
  const size_t last = wanted == NULL ? PROGRAMS : first + 1;
  for (size_t seed = first; seed < last; ++seed) {
    static program p;
    graph g;
    random_state = seed;
    graph_open(&g);
    g.options.target = one_in(3) ? ETX_TARGET_EXECUTORCH : ETX_TARGET_ETX;
    g.options.passes =
        switched_off[pick(sizeof switched_off / sizeof *switched_off)];
    build_program(&g, &p);
    const etx_status status = graph_try_plan(&g);
    if (status != ETX_OK) fail_msg("program %zu: %s", seed, g.diag.text);
    verify_program(&g, seed);
    run_program(&g, &p, seed);
    graph_close(&g);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_placement_computes_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
