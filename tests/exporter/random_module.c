#include "tests/exporter/random_module.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "exporter/ir/ir_cond.h"
#include "exporter/lower/lowering_table.h"

static uint64_t random_state;

void random_start(uint64_t seed) { random_state = seed; }

static uint64_t next_random(void) {
  random_state += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t z = random_state;
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

size_t pick(size_t count) { return (size_t)(next_random() % count); }

bool one_in(size_t count) { return pick(count) == 0; }

// ---------------------------------------------------------------- building

static const int64_t* sizes_of(type t) {
  static const int64_t whole[2] = {ROWS, COLUMNS};
  static const int64_t row[1] = {COLUMNS};
  static const int64_t flat[1] = {MATRIX};
  return t == WHOLE ? whole : t == ROW ? row : flat;
}

size_t elements_of(type t) { return t == ROW ? COLUMNS : MATRIX; }

uint8_t rank_of(type t) { return t == WHOLE || t == DYNAMIC_ROWS ? 2 : 1; }

// True if the branch that is being built may read a step.
static bool is_visible(const graph* g, const random_method* m,
                       const random_step* s) {
  return etx_ir_branch_is_within(&g->module.methods[g->method], m->branch,
                                 s->branch);
}

// A random earlier step of that type; false if there is none.
static bool find_step(const graph* g, const random_method* m, type t,
                      size_t* out_step) {
  const size_t start = pick(m->step_count);
  for (size_t i = 0; i < m->step_count; ++i) {
    const size_t at = (start + i) % m->step_count;
    if (m->steps[at].type != t || !is_visible(g, m, &m->steps[at])) continue;
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

static uint32_t first_rows(graph* g, const random_method* m, uint32_t a) {
  return graph_slice(g, a, 0, 0, m->rows);
}

// The actions on some rows.
static void emit_dynamic_rows(graph* g, const random_method* m,
                              random_step* s) {
  const uint32_t a = m->steps[s->a].value;
  const uint32_t b = m->steps[s->b].value;
  const uint32_t some = m->steps[m->some].value;
  uint32_t rows = some;
  if (s->action == ADD_DYNAMIC_ROWS)
    rows = graph_add(g, first_rows(g, m, b), some);
  if (s->action == COPY_DYNAMIC_ROWS) rows = first_rows(g, m, b);
  if (s->action == PUT_COLUMNS) {
    rows = graph_slice_scatter(g, first_rows(g, m, a),
                               graph_slice(g, some, 1, 0, 1), 1, 0, 1);
  }
  s->value = graph_slice_scatter(g, a, rows, 0, 0, m->rows);
}

// A bool of one element, from the first of `a`.
static uint32_t first_above(graph* g, uint32_t a, uint8_t rank, float number) {
  for (uint8_t i = 0; i < rank; ++i) a = graph_slice(g, a, i, 0, 1);
  return graph_node(g, ETX_OP_gt_scalar_out,
                    ARGS(VALUE(a), etx_ir_double((double)number)));
}

static void emit_head(graph* g, const random_method* m, random_step* s) {
  etx_ir_arg condition = VALUE(0);
  if (s->action == COND_ON_ELEMENT) {
    condition.as.value = first_above(g, m->steps[s->a].value,
                                     rank_of(m->steps[s->a].type), s->constant);
  } else {
    condition = etx_ir_int(0);
    assert_int_equal(
        etx_symbols_compare(&graph_current(g)->symbols, ETX_SYMBOL_LESS,
                            (etx_dim)s->row, m->rows, &condition.as.integer),
        ETX_OK);
  }
  s->number = graph_cond(g, &condition, &s->value);
}

static void emit_join(graph* g, const random_method* m, random_step* s) {
  const random_step* const cond = &m->steps[s->cond];
  s->value = graph_join(g, cond->number, cond->value, m->steps[s->a].value,
                        m->steps[s->b].value);
}

static void emit_step(graph* g, const random_module* p, random_method* m,
                      random_step* s) {
  const uint32_t a = m->steps[s->a].value;
  const uint32_t b = m->steps[s->b].value;
  float elements[MATRIX];
  char name[24];
  switch (s->action) {
    case GET_STATE:
      s->value = graph_buffer(g, p->buffers[s->index]);
      break;
    case GET_INPUT:
      snprintf(name, sizeof name, "x%zu", s->index);
      s->value = graph_input(g, name, rank_of(s->type),
                             s->type == DYNAMIC_ROWS ? SIZES(m->rows, COLUMNS)
                                                     : sizes_of(s->type));
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
    case PUT_DYNAMIC_ROWS:
    case ADD_DYNAMIC_ROWS:
    case COPY_DYNAMIC_ROWS:
    case PUT_COLUMNS:
      emit_dynamic_rows(g, m, s);
      break;
    case COND_ON_ELEMENT:
    case COND_ON_ROWS:
      emit_head(g, m, s);
      break;
    case JOIN:
      emit_join(g, m, s);
      break;
  }
}

static void add_step(graph* g, const random_module* p, random_method* m,
                     random_step s) {
  if (m->step_count == MAX_VALUES) return;
  s.branch = m->branch;
  emit_step(g, p, m, &s);
  m->steps[m->step_count++] = s;
}

static void add_random_step(graph* g, const random_module* p,
                            random_method* m) {
  random_step s = {.action = (action)(ADD + pick(ACTION_COUNT - ADD)),
                   .row = pick(ROWS)};
  s.type = WHOLE;
  bool good = true;
  switch (s.action) {
    case ADD:
    case SUBTRACT: {
      // Equal shapes, or a row that is broadcast over a matrix.
      s.type = (type)pick(TYPE_COUNT);
      const type other = s.type == WHOLE && one_in(3) ? ROW : s.type;
      good = find_step(g, m, s.type, &s.a) && find_step(g, m, other, &s.b);
      break;
    }
    case SELECT:
      s.type = ROW;
      good = find_step(g, m, WHOLE, &s.a);
      break;
    case RESHAPE:
      s.type = one_in(2) ? FLAT : WHOLE;
      good = find_step(g, m, s.type == FLAT ? WHOLE : FLAT, &s.a);
      break;
    case COPY:
      s.a = pick(m->step_count);
      s.type = m->steps[s.a].type;
      good = s.type < TYPE_COUNT && is_visible(g, m, &m->steps[s.a]);
      break;
    case PUT_ROWS:
      s.row = pick(2);
      good = find_step(g, m, WHOLE, &s.a) && find_step(g, m, WHOLE, &s.b);
      break;
    case TAKE_ROWS:
      good = find_step(g, m, WHOLE, &s.a);
      break;
    case JOIN_ROWS:
      good = find_step(g, m, ROW, &s.a) && find_step(g, m, ROW, &s.b);
      break;
    case PUT_DYNAMIC_ROWS:
    case ADD_DYNAMIC_ROWS:
    case COPY_DYNAMIC_ROWS:
    case PUT_COLUMNS:
      good = m->has_dynamic_input && find_step(g, m, WHOLE, &s.a) &&
             find_step(g, m, WHOLE, &s.b);
      break;
    default:
      good = find_step(g, m, WHOLE, &s.a) && find_step(g, m, ROW, &s.b);
      break;
  }
  if (good) add_step(g, p, m, s);
}

// A step of that type, the latest ones most often.
static bool find_result(const graph* g, const random_method* m, type t,
                        size_t* out_step) {
  for (size_t i = m->step_count; i > 0; --i) {
    const random_step* const s = &m->steps[i - 1];
    if (s->type != t || !is_visible(g, m, s) || one_in(3)) continue;
    *out_step = i - 1;
    return true;
  }
  return find_step(g, m, t, out_step);
}

static void enter_branch(graph* g, random_method* m, uint32_t branch) {
  m->branch = branch;
  graph_branch(g, branch);
}

// The results of a conditional: their types, and their steps in each branch.
typedef struct results {
  type types[3];
  size_t steps[2][3];
  size_t count;
} results;

static bool find_results(const graph* g, const random_method* m, results* r,
                         size_t which) {
  for (size_t i = 0; i < r->count; ++i) {
    if (!find_result(g, m, r->types[i], &r->steps[which][i])) return false;
  }
  return true;
}

static void add_cond(graph* g, const random_module* p, random_method* m,
                     size_t depth);

static void add_steps(graph* g, const random_module* p, random_method* m,
                      size_t count, size_t depth) {
  for (size_t i = 0; i < count; ++i) {
    if (p->has_conds && depth < 3 && one_in(5)) {
      add_cond(g, p, m, depth);
    } else {
      add_random_step(g, p, m);
    }
  }
}

// Adds a conditional: branch head, two branches, joins. A branch may be empty
// and return values from outside.
static void add_cond(graph* g, const random_module* p, random_method* m,
                     size_t depth) {
  const uint32_t outer = m->branch;
  results r = {.count = 1 + pick(3)};
  random_step head = {
      .action = COND_ON_ELEMENT, .type = TOKEN, .constant = (float)pick(20)};
  if (m->step_count + 16 > MAX_VALUES) return;
  // A value that exists before the conditional is visible in both branches.
  for (size_t i = 0; i < r.count; ++i) r.types[i] = (type)pick(TYPE_COUNT);
  if (!find_results(g, m, &r, 0) ||
      !find_step(g, m, (type)pick(TYPE_COUNT), &head.a)) {
    return;
  }
  if (m->has_dynamic_input && one_in(3)) {
    head.action = COND_ON_ROWS;
    head.row = pick(ROWS + 1);
  }
  const size_t cond = m->step_count;
  add_step(g, p, m, head);
  for (uint32_t i = 0; i < 2; ++i) {
    enter_branch(g, m, etx_ir_then_branch(m->steps[cond].number) + i);
    add_steps(g, p, m, pick(5), depth + 1);
    assert_true(find_results(g, m, &r, i));
  }
  enter_branch(g, m, outer);
  for (size_t i = 0; i < r.count; ++i) {
    add_step(g, p, m,
             (random_step){.action = JOIN,
                           .type = r.types[i],
                           .a = r.steps[0][i],
                           .b = r.steps[1][i],
                           .cond = cond});
  }
}

static void add_mutations(graph* g, const random_module* p, random_method* m) {
  for (size_t s = 0; s < p->state_count; ++s) {
    random_mutation change = {false, s, 0};
    if (one_in(3) || !find_result(g, m, p->states[s], &change.step)) continue;
    graph_mutate(g, p->buffers[s], m->steps[change.step].value);
    m->mutations[m->mutation_count++] = change;
  }
  for (size_t i = 0; i < m->input_count; ++i) {
    random_mutation change = {true, i, 0};
    if (m->inputs[i] == DYNAMIC_ROWS || !one_in(3) ||
        !find_result(g, m, m->inputs[i], &change.step))
      continue;
    m->is_mutable[i] = true;
    graph_mutate_input(g, graph_current(g)->inputs[i].arg.as.value,
                       m->steps[change.step].value);
    m->mutations[m->mutation_count++] = change;
  }
}

static void build_method(graph* g, const random_module* p, random_method* m,
                         size_t index) {
  snprintf(m->name, sizeof m->name, "m%zu", index);
  graph_method(g, m->name);
  for (size_t s = 0; s < p->state_count; ++s) {
    if (one_in(4)) continue;
    add_step(
        g, p, m,
        (random_step){.action = GET_STATE, .type = p->states[s], .index = s});
  }
  const size_t inputs = 1 + pick(3);
  for (size_t i = 0; i < inputs; ++i) {
    m->inputs[i] = (type)pick(TYPE_COUNT);
    add_step(
        g, p, m,
        (random_step){.action = GET_INPUT, .type = m->inputs[i], .index = i});
    ++m->input_count;
  }
  m->has_dynamic_input = one_in(2);
  if (m->has_dynamic_input) {
    m->rows = graph_symbol(g, "rows", 1, ROWS);
    m->inputs[m->input_count] = DYNAMIC_ROWS;
    m->some = m->step_count;
    add_step(g, p, m,
             (random_step){.action = GET_INPUT,
                           .type = DYNAMIC_ROWS,
                           .index = m->input_count++});
  }
  add_step(g, p, m,
           (random_step){.action = GET_CONSTANT,
                         .type = (type)pick(TYPE_COUNT),
                         .constant = (float)pick(9)});
  const size_t steps = pick(14);
  add_steps(g, p, m, steps, 0);
  add_mutations(g, p, m);
  m->output_count = pick(MAX_INPUTS_OR_OUTPUTS);
  for (size_t i = 0; i < m->output_count; ++i) {
    if (!find_result(g, m, (type)pick(TYPE_COUNT), &m->outputs[i])) {
      m->outputs[i] = m->mutation_count == 0 ? 0 : m->mutations[0].step;
    }
    if (m->steps[m->outputs[i]].type >= TYPE_COUNT) {
      m->output_count = i;
      break;
    }
    graph_output(g, "y", m->steps[m->outputs[i]].value);
  }
}

void random_module_build(graph* g, random_module* p) {
  memset(p, 0, sizeof *p);
  p->has_conds = one_in(2);
  p->state_count = 1 + pick(MAX_STATES);
  for (size_t s = 0; s < p->state_count; ++s) {
    char name[24];
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
