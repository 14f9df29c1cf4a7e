// Recurrent layers have the bits of the same steps as single operators, with
// every instruction set and any number of threads.

#include <string.h>

#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_instruction_sets.h"
#include "tests/support/test_random.h"

static etx_diag diag;

enum { MOST_STEPS = 4, MOST_STATE = 600, MOST_GATES = 4 * MOST_STATE };

typedef enum kind { GRU, LSTM, RNN_TANH, RNN_RELU, KINDS } kind;

static const char* const operators[KINDS] = {
    "etx::gru_sequence.out", "etx::lstm_sequence.out",
    "etx::rnn_tanh_sequence.out", "etx::rnn_relu_sequence.out"};
static const int32_t gate_counts[KINDS] = {3, 4, 1, 1};

typedef struct layer {
  kind kind;
  int32_t steps, rows, units;
  bool has_bias, is_reverse, batch_first;
  bool is_packed;  // the weight is given in panels
} layer;

static float input[MOST_STEPS * MOST_GATES];  // [steps, rows, gates, units]
static float weight[4 * 200 * 200], bias[4 * 200];
static float hidden[MOST_STATE], cell[MOST_STATE];
static float expected[MOST_STEPS * MOST_STATE];
static float last_hidden[MOST_STATE], last_cell[MOST_STATE];

// ------------------------------------------------ the steps as operators

static void unary(const char* name, const float* in, size_t count, float* out) {
  test_call c;
  test_call_begin(&c, name);
  test_call_floats(&c, 1, (int32_t[]){(int32_t)count}, in);
  assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
  memcpy(out, test_call_result(&c, 0)->data, count * sizeof(float));
  test_call_end(&c);
}

static void binary(const char* name, const float* a, const float* b,
                   size_t count, float* out) {
  test_call c;
  const bool is_product = strcmp(name, "aten::mul.out") == 0;
  test_call_begin(&c, name);
  test_call_floats(&c, 1, (int32_t[]){(int32_t)count}, a);
  test_call_floats(&c, 1, (int32_t[]){(int32_t)count}, b);
  if (!is_product) test_call_integer(&c, 1);
  assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
  memcpy(out, test_call_result(&c, 0)->data, count * sizeof(float));
  test_call_end(&c);
}

static void linear(const layer* l, const float* from, float* out) {
  const int32_t width = gate_counts[l->kind] * l->units;
  test_call c;
  test_call_begin(&c, "aten::linear.out");
  test_call_floats(&c, 2, (int32_t[]){l->rows, l->units}, from);
  test_call_floats(&c, 2, (int32_t[]){width, l->units}, weight);
  if (l->has_bias) {
    test_call_floats(&c, 1, (int32_t[]){width}, bias);
  } else {
    test_call_none(&c);
  }
  assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
  memcpy(out, test_call_result(&c, 0)->data,
         (size_t)(l->rows * width) * sizeof(float));
  test_call_end(&c);
}

static void gru_row(const float* x, const float* h, float* state, size_t n) {
  float reset[MOST_STATE], update[MOST_STATE], fresh[MOST_STATE];
  binary("aten::add.out", x, h, n, reset);
  unary("aten::sigmoid.out", reset, n, reset);
  binary("aten::add.out", x + n, h + n, n, update);
  unary("aten::sigmoid.out", update, n, update);
  binary("aten::mul.out", reset, h + 2 * n, n, fresh);
  binary("aten::add.out", x + 2 * n, fresh, n, fresh);
  unary("aten::tanh.out", fresh, n, fresh);
  binary("aten::sub.out", state, fresh, n, state);
  binary("aten::mul.out", update, state, n, state);
  binary("aten::add.out", fresh, state, n, state);
}

static void lstm_row(const float* x, const float* h, float* state, float* c,
                     size_t n) {
  float gates[4][MOST_STATE];
  for (size_t g = 0; g < 4; ++g) {
    binary("aten::add.out", x + g * n, h + g * n, n, gates[g]);
    unary(g == 2 ? "aten::tanh.out" : "aten::sigmoid.out", gates[g], n,
          gates[g]);
  }
  binary("aten::mul.out", gates[1], c, n, c);
  binary("aten::mul.out", gates[0], gates[2], n, gates[2]);
  binary("aten::add.out", c, gates[2], n, c);
  unary("aten::tanh.out", c, n, gates[2]);
  binary("aten::mul.out", gates[3], gates[2], n, state);
}

static void run_steps(const layer* l) {
  static float products[MOST_GATES];
  const size_t n = (size_t)l->units, rows = (size_t)l->rows;
  const size_t width = (size_t)gate_counts[l->kind] * n;
  memcpy(last_hidden, hidden, sizeof hidden);
  memcpy(last_cell, cell, sizeof cell);
  for (int32_t i = 0; i < l->steps; ++i) {
    const size_t step = (size_t)(l->is_reverse ? l->steps - 1 - i : i);
    linear(l, last_hidden, products);
    for (size_t row = 0; row < rows; ++row) {
      const float* x = input + (step * rows + row) * width;
      const float* h = products + row * width;
      float* state = last_hidden + row * n;
      if (l->kind == GRU) {
        gru_row(x, h, state, n);
      } else if (l->kind == LSTM) {
        lstm_row(x, h, state, last_cell + row * n, n);
      } else {
        binary("aten::add.out", x, h, n, state);
        unary(l->kind == RNN_TANH ? "aten::tanh.out" : "aten::relu.out", state,
              n, state);
      }
    }
    memcpy(expected + step * rows * n, last_hidden, rows * n * sizeof(float));
  }
}

// ------------------------------------------------ the layer as one operator

// Copies [steps, rows, width] as [rows, steps, width].
static void exchange(const layer* l, const float* from, size_t width,
                     float* to) {
  for (int32_t step = 0; step < l->steps; ++step) {
    for (int32_t row = 0; row < l->rows; ++row) {
      memcpy(to + (size_t)(row * l->steps + step) * width,
             from + (size_t)(step * l->rows + row) * width,
             width * sizeof(float));
    }
  }
}

// The weight as [width / 16, units, 16].
static void add_panels(const layer* l, test_call* c, int32_t width) {
  static float panels[sizeof weight / sizeof *weight];
  float* to = panels;
  for (int32_t row = 0; row < width; row += 16) {
    for (int32_t k = 0; k < l->units; ++k) {
      for (int32_t i = 0; i < 16; ++i) {
        *to++ = weight[(row + i) * l->units + k];
      }
    }
  }
  test_call_floats(c, 3, (int32_t[]){width / 16, l->units, 16}, panels);
}

static void begin_layer(const layer* l, test_call* c) {
  static float exchanged[MOST_STEPS * MOST_GATES];
  const int32_t width = gate_counts[l->kind] * l->units;
  const int32_t state[] = {l->rows, l->units};
  const int32_t outer = l->batch_first ? l->rows : l->steps;
  const int32_t inner = l->batch_first ? l->steps : l->rows;
  exchange(l, input, (size_t)width, exchanged);
  test_call_begin(c, operators[l->kind]);
  test_call_floats(c, 3, (int32_t[]){outer, inner, width},
                   l->batch_first ? exchanged : input);
  test_call_floats(c, 2, state, hidden);
  if (l->is_packed) {
    add_panels(l, c, width);
  } else {
    test_call_floats(c, 2, (int32_t[]){width, l->units}, weight);
  }
  if (l->has_bias) {
    test_call_floats(c, 1, (int32_t[]){width}, bias);
  } else {
    test_call_none(c);
  }
  test_call_boolean(c, l->is_reverse);
  test_call_boolean(c, l->batch_first);
  if (l->kind == LSTM) test_call_floats(c, 2, state, cell);
}

static void check_layer(const layer* l, size_t threads, int set) {
  static float exchanged[MOST_STEPS * MOST_STATE];
  const size_t state = (size_t)(l->rows * l->units) * sizeof(float);
  test_call c;
  begin_layer(l, &c);
  c.threads = threads;
  c.instruction_set = (etx_instruction_set)set;
  assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
  exchange(l, expected, (size_t)l->units, exchanged);
  assert_memory_equal(test_call_result(&c, 0)->data,
                      l->batch_first ? exchanged : expected,
                      (size_t)l->steps * state);
  assert_memory_equal(test_call_result(&c, 1)->data, last_hidden, state);
  if (l->kind == LSTM) {
    assert_memory_equal(test_call_result(&c, 2)->data, last_cell, state);
  }
  test_call_end(&c);
}

static void check_everywhere(const layer* l) {
  static const size_t threads[] = {1, 2, 5};
  test_random_floats(input, sizeof input / sizeof *input, 3);
  test_random_floats(weight, sizeof weight / sizeof *weight, 0.3f);
  test_random_floats(bias, sizeof bias / sizeof *bias, 1);
  test_random_floats(hidden, MOST_STATE, 1);
  test_random_floats(cell, MOST_STATE, 1);
  run_steps(l);
  for (int set = test_next_instruction_set(0); set < ETX_SET_COUNT;
       set = test_next_instruction_set(set)) {
    for (size_t i = 0; i < 3; ++i) check_layer(l, threads[i], set);
  }
}

static layer random_layer(kind which) {
  static const int32_t rows[] = {1, 1, 2, 5, 12, 13};
  return (layer){.kind = which,
                 .steps = (int32_t)test_random_integer(1, MOST_STEPS),
                 .rows = rows[test_random_bits() % 6],
                 .units = (int32_t)test_random_integer(1, 46),
                 .has_bias = test_random_bits() % 3 > 0,
                 .is_reverse = test_random_bits() % 2 == 0,
                 .batch_first = test_random_bits() % 2 == 0};
}

static void layers_have_the_bits_of_single_operators(void** state) {
  (void)state;
  for (int i = 0; i < 10 * KINDS; ++i) {
    const layer l = random_layer((kind)(i % KINDS));
    check_everywhere(&l);
  }
}

// So large that threads share the steps, with a last block that is not full.
static void large_layers_have_the_bits_of_single_operators(void** state) {
  (void)state;
  for (int i = 0; i < KINDS; ++i) {
    layer l = {(kind)i, 3, 3, 197, true, i % 2 == 1, i > 1, false};
    check_everywhere(&l);
  }
}

// Panels give the bits of unpacked weights if there are many rows, or one.
static void packed_weights_give_the_same_bits(void** state) {
  static const int32_t units[] = {16, 48, 192};
  (void)state;
  for (int i = 0; i < KINDS; ++i) {
    layer l = {(kind)i, 3, 13, 32, true, false, i % 2 == 0, true};
    check_everywhere(&l);
    l.rows = 1;
    for (size_t k = 0; k < sizeof units / sizeof *units; ++k) {
      l.units = units[k];
      l.has_bias = k > 0;
      check_everywhere(&l);
    }
  }
}

static void without_a_step_the_state_stays(void** state) {
  (void)state;
  for (int i = 0; i < KINDS; ++i) {
    layer l = {(kind)i, 0, 2, 20, false, false, i % 2 == 1, false};
    check_everywhere(&l);
  }
  layer empty = {GRU, 3, 0, 20, true, false, false, false};
  check_everywhere(&empty);
  empty = (layer){LSTM, 3, 2, 0, false, false, false, false};
  check_everywhere(&empty);
}

static void other_types_are_refused(void** state) {
  static const double doubles[12];
  const layer l = {GRU, 1, 1, 2, true, false, false, false};
  test_call c;
  (void)state;
  begin_layer(&l, &c);
  c.count = 1;
  test_call_tensor(&c, ETX_DTYPE_FLOAT64, 2, (int32_t[]){1, 2}, NULL, doubles);
  c.count = 6;
  assert_int_equal(test_call_run(&c, ETX_DTYPE_FLOAT32), ETX_BAD_ARGUMENT);
  test_call_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layers_have_the_bits_of_single_operators),
      cmocka_unit_test(large_layers_have_the_bits_of_single_operators),
      cmocka_unit_test(packed_weights_give_the_same_bits),
      cmocka_unit_test(without_a_step_the_state_stays),
      cmocka_unit_test(other_types_are_refused),
  };
  test_random_start();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
