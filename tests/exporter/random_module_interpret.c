// Interprets a random program with every value in memory of its own. Both
// branches of a conditional are computed, since steps have no side effects.

#include "tests/exporter/random_module.h"

static void interpret_step(const random_step* s, content* values,
                           content* states, content* inputs, float* out) {
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

static void interpret_dynamic_rows(const random_method* m, const random_step* s,
                                   content* values, size_t rows, float* out) {
  const float* const some = values[m->some];
  const float* const b = values[s->b];
  memcpy(out, values[s->a], sizeof(content));
  for (size_t i = 0; i < rows * COLUMNS; ++i) {
    if (s->action == PUT_DYNAMIC_ROWS) out[i] = some[i];
    if (s->action == ADD_DYNAMIC_ROWS) out[i] = b[i] + some[i];
    if (s->action == COPY_DYNAMIC_ROWS) out[i] = b[i];
    if (s->action == PUT_COLUMNS && i % COLUMNS == 0) out[i] = some[i];
  }
}

static void interpret_cond(const random_method* m, const random_step* s,
                           content* values, size_t rows, float* out) {
  switch (s->action) {
    case COND_ON_ELEMENT:
      out[0] = values[s->a][0] > s->constant;
      return;
    case COND_ON_ROWS:
      out[0] = rows > s->row;
      return;
    default:
      memcpy(out, values[values[s->cond][0] != 0 ? s->a : s->b],
             elements_of(m->steps[s->a].type) * sizeof *out);
      return;
  }
}

void random_module_interpret(const random_method* m, content* states,
                             content* inputs, size_t rows, content* outputs) {
  static content values[MAX_VALUES];
  for (size_t i = 0; i < m->step_count; ++i) {
    const random_step* const s = &m->steps[i];
    if (s->action >= COND_ON_ELEMENT) {
      interpret_cond(m, s, values, rows, values[i]);
      continue;
    }
    if (s->action >= PUT_DYNAMIC_ROWS) {
      interpret_dynamic_rows(m, s, values, rows, values[i]);
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
    const random_mutation* const change = &m->mutations[i];
    memcpy(change->is_input ? inputs[change->target] : states[change->target],
           values[change->step], sizeof(content));
  }
}
