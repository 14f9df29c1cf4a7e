// Chains of steps give the same bits as the operators that they replace, one
// after the other.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "format/ops/chain_steps.h"
#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_random.h"

static etx_diag diag;

enum { ROWS = 7, COLUMNS = 531, NUMEL = ROWS * COLUMNS, OTHERS = 4 };

static const int32_t sizes[] = {ROWS, COLUMNS};
static const int32_t line_sizes[] = {COLUMNS}, one_sizes[] = {1, 1};
static float x[NUMEL], others[OTHERS][NUMEL];

// The sizes of a tensor of the list: all elements, one row, one element.
static const int32_t* sizes_of(size_t other, size_t* out_rank) {
  *out_rank = other == 2 ? 1 : 2;
  return other == 2 ? line_sizes : other == 3 ? one_sizes : sizes;
}

static void add_other(test_call* c, size_t other) {
  size_t rank;
  const int32_t* const its = sizes_of(other, &rank);
  test_call_floats(c, rank, its, others[other]);
}

static void draw(void) {
  test_random_floats(x, NUMEL, 3);
  for (size_t i = 0; i < OTHERS; ++i) test_random_floats(others[i], NUMEL, 3);
}

// ------------------------------------------------ operators one by one

static const char* const calls[] = {
#define ONE(name, operator) [ETX_STEP_##name] = #operator,
#define TWO(name, operator) [ETX_STEP_##name] = #operator,
#define THREE(name, operator) [ETX_STEP_##name] = #operator,
#define WITH(name, operator, count) [ETX_STEP_##name] = #operator,
#include "format/ops/chain_steps.def"
#undef ONE
#undef TWO
#undef THREE
#undef WITH
};

// The operator of a step, by its symbol.
static const etx_op* op_of(uint8_t step) {
  static const struct {
    const char* symbol;
    etx_op_id id;
  } rows[] = {
#define OP(symbol, name, overload, arguments, result, rule, in_place) \
  {#symbol, ETX_OP_##symbol},
#include "format/ops/op_schema.def"
#undef OP
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (strcmp(rows[i].symbol, calls[step]) == 0) return etx_op_at(rows[i].id);
  }
  return NULL;
}

// An operand of the chain: a full tensor, one row of it or one element.
typedef struct waiting {
  float data[NUMEL];
  size_t other;  // which sizes it has; OTHERS: those of the full tensor
} waiting;

static void add_waiting(test_call* c, const waiting* w) {
  size_t rank = 2;
  const int32_t* const its =
      w->other == OTHERS ? sizes : sizes_of(w->other, &rank);
  test_call_floats(c, rank, its, w->data);
}

static size_t numel_of(const waiting* w) {
  return w->other == OTHERS ? NUMEL : w->other == 2 ? COLUMNS : 1;
}

static float element_of(const waiting* w, size_t i) {
  return w->data[i % numel_of(w)];
}

// The operators for steps that take other arguments than the step.
static float compute(uint8_t step, float a, float b, float c) {
  switch (step) {
    case ETX_STEP_prelu:
      return a > 0 ? a : a * b;
    case ETX_STEP_less:
      return a < b ? 1 : 0;
    case ETX_STEP_less_equal:
      return a <= b ? 1 : 0;
    case ETX_STEP_equal:
      return a == b ? 1 : 0;
    default:
      return a != 0 ? b : c;
  }
}

static bool is_computed(uint8_t step) {
  return step >= ETX_STEP_prelu && step <= ETX_STEP_select;
}

static void compute_step(uint8_t step, waiting* a) {
  static waiting result;
  const size_t takes = etx_chain_step_operands(step);
  result.other = a->other;
  for (size_t i = 1; i < takes; ++i) {
    if (numel_of(&a[i]) > numel_of(&result)) result.other = a[i].other;
  }
  for (size_t i = 0; i < numel_of(&result); ++i) {
    result.data[i] = compute(step, element_of(&a[0], i), element_of(&a[1], i),
                             element_of(&a[takes - 1], i));
  }
  *a = result;
}

// All parameters have the same value. A slope is the sum of two of them.
static void add_parameters(test_call* c, uint8_t step) {
  const double number = (double)others[3][0];
  if (step == ETX_STEP_elu) test_call_real(c, 1);
  if (step == ETX_STEP_elu) test_call_real(c, number);
  test_call_real(c, step == ETX_STEP_leaky_relu ? 2 * number : number);
  if (step == ETX_STEP_clamp || step == ETX_STEP_softplus) {
    test_call_real(c, number);
  }
}

static void call_step(uint8_t step, waiting* a, const waiting* b) {
  const etx_op* op = op_of(step);
  char name[64];
  test_call c;
  snprintf(name, sizeof name, "%s.%s", op->name, op->overload);
  test_call_begin(&c, name);
  add_waiting(&c, a);
  if (b != NULL) add_waiting(&c, b);
  if (step == ETX_STEP_add || step == ETX_STEP_subtract) {
    test_call_integer(&c, 1);
  }
  if (etx_chain_step_parameters(step) > 0) add_parameters(&c, step);
  if (step == ETX_STEP_gelu) test_call_string(&c, "none");
  if (step == ETX_STEP_gelu_tanh) test_call_string(&c, "tanh");
  assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
  const etx_tensor* result = test_call_result(&c, 0);
  const size_t numel = etx_tensor_numel(result);
  memcpy(a->data, result->data, numel * sizeof(float));
  a->other = numel == NUMEL ? OTHERS : numel == 1 ? 3 : 2;
  test_call_end(&c);
}

// The result of a chain, computed by separate operators.
static const float* by_operators(const uint8_t* steps, size_t count,
                                 const float* self) {
  static waiting stack[ETX_CHAIN_MAX_DEPTH];
  size_t depth = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t takes = etx_chain_step_operands(steps[i]);
    if (takes == 0) {
      const bool is_x = steps[i] == ETX_STEP_X;
      waiting* const top = &stack[depth++];
      top->other = is_x || steps[i] < 2 ? OTHERS : steps[i];
      memcpy(top->data, is_x ? self : others[steps[i]], sizeof top->data);
      continue;
    }
    depth -= takes - 1;
    waiting* const top = &stack[depth - 1];
    if (is_computed(steps[i])) {
      compute_step(steps[i], top);
    } else {
      const bool is_two =
          takes == 2 && etx_chain_step_parameters(steps[i]) == 0;
      call_step(steps[i], top, is_two ? &stack[depth] : NULL);
    }
  }
  return stack[0].data;
}

// ------------------------------------------------ random chains

// Draws a chain that ends with one full operand.
static size_t random_chain(uint8_t* steps, char* text) {
  size_t count = 0, depth = 0;
  const size_t wanted = (size_t)test_random_integer(1, 12);
  while (count < wanted || depth != 1) {
    uint8_t step = (uint8_t)test_random_integer(0, ETX_STEP_END - 1);
    if (count >= wanted) step = ETX_STEP_add;
    const bool is_item = step < ETX_STEP_X;
    if (is_item && step >= OTHERS) step = ETX_STEP_X;
    if (count == 0) step = ETX_STEP_X;
    const size_t given = etx_chain_step_parameters(step);
    const size_t takes = etx_chain_step_operands(step) - given;
    if (depth < takes || depth + given > ETX_CHAIN_MAX_DEPTH ||
        (takes == 0 && depth == ETX_CHAIN_MAX_DEPTH)) {
      continue;
    }
    depth += 1 - takes;
    for (size_t i = 0; i < given; ++i) steps[count++] = 3;
    steps[count++] = step;
  }
  text[0] = '\0';
  for (size_t i = 0; i < count; ++i) {
    char word[32];
    if (steps[i] < ETX_STEP_X) snprintf(word, sizeof word, "%d", steps[i]);
    if (steps[i] > ETX_STEP_X) {
      snprintf(word, sizeof word, "%s", etx_chain_step_name(steps[i]));
    }
    if (steps[i] == ETX_STEP_X) snprintf(word, sizeof word, "x");
    if (i > 0) strcat(text, " ");
    strcat(text, word);
  }
  return count;
}

static void run_chain(test_call* c, const char* text, size_t threads) {
  test_call_begin(c, "etx::chain.out");
  c->threads = threads;
  test_call_floats(c, 2, sizes, x);
  for (size_t i = 0; i < OTHERS; ++i) add_other(c, i);
  test_call_gather_list(c, OTHERS);
  test_call_string(c, text);
  assert_ok(test_call_run(c, ETX_DTYPE_FLOAT32));
}

static void chains_have_the_bits_of_their_operators(void** state) {
  (void)state;
  for (size_t round = 0; round < 150; ++round) {
    uint8_t steps[ETX_CHAIN_STEPS_MAX];
    char text[512];
    test_call c;
    draw();
    const size_t count = random_chain(steps, text);
    run_chain(&c, text, 1 + round % 3);
    const float* const wanted = by_operators(steps, count, x);
    if (memcmp(test_call_result(&c, 0)->data, wanted, sizeof x) != 0) {
      fail_msg("'%s' differs", text);
    }
    test_call_end(&c);
  }
}

static void every_step_has_the_bits_of_its_operator(void** state) {
  (void)state;
  for (uint8_t step = ETX_STEP_X + 1; step < ETX_STEP_END; ++step) {
    uint8_t steps[8] = {ETX_STEP_X};
    const size_t takes = etx_chain_step_operands(step);
    const uint8_t item = etx_chain_step_parameters(step) > 0 ? 3 : 2;
    char text[64] = "x ";
    test_call c;
    draw();
    for (size_t i = 1; i < takes; ++i) {
      steps[i] = item;
      strcat(text, item == 3 ? "3 " : "2 ");
    }
    steps[takes] = step;
    strcat(text, etx_chain_step_name(step));
    run_chain(&c, text, 1);
    assert_memory_equal(test_call_result(&c, 0)->data,
                        by_operators(steps, takes + 1, x), sizeof x);
    test_call_end(&c);
  }
}

static void a_chain_may_fill_the_result_with_one_number(void** state) {
  (void)state;
  test_call c;
  draw();
  run_chain(&c, "3 relu 3 add", 1);
  const float* got = test_call_result(&c, 0)->data;
  const float n = others[3][0];
  for (size_t i = 0; i < NUMEL; ++i) {
    assert_true(got[i] == (n <= 0 ? 0 : n) + n);
  }
  test_call_end(&c);
}

// ------------------------------------------------ chains as epilogues

enum { INNER = 37 };

static float input[ROWS * INNER], weight[COLUMNS * INNER];

static void begin_linear(test_call* c, const char* name, bool has_bias) {
  test_call_begin(c, name);
  test_call_floats(c, 2, (const int32_t[]){ROWS, INNER}, input);
  test_call_floats(c, 2, (const int32_t[]){COLUMNS, INNER}, weight);
  if (has_bias) {
    add_other(c, 2);
  } else {
    test_call_none(c);
  }
}

static void products_go_through_the_chain(void** state) {
  (void)state;
  for (size_t round = 0; round < 60; ++round) {
    uint8_t steps[ETX_CHAIN_STEPS_MAX];
    char text[512];
    test_call c, plain;
    draw();
    test_random_floats(input, ROWS * INNER, 1);
    test_random_floats(weight, COLUMNS * INNER, 1);
    const size_t count = random_chain(steps, text);
    begin_linear(&plain, "aten::linear.out", round % 2 == 0);
    assert_ok(test_call_run(&plain, ETX_DTYPE_FLOAT32));
    begin_linear(&c, "etx::linear_chain.out", round % 2 == 0);
    c.threads = 1 + round % 4;
    for (size_t i = 0; i < OTHERS; ++i) add_other(&c, i);
    test_call_gather_list(&c, OTHERS);
    test_call_string(&c, text);
    assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
    const float* const wanted =
        by_operators(steps, count, test_call_result(&plain, 0)->data);
    if (memcmp(test_call_result(&c, 0)->data, wanted, sizeof x) != 0) {
      fail_msg("'%s' differs", text);
    }
    test_call_end(&c);
    test_call_end(&plain);
  }
}

// The same with the weight in panels, where a sum begins with its first
// product.
static void products_of_panels_go_through_the_chain(void** state) {
  enum { WIDE = 48 };
  static const struct {
    const char* text;
    bool has_bias, adds, has_more;
  } cases[] = {{"x", false, false, false},
               {"x", true, false, false},
               {"x 0 add", false, true, false},
               {"0 x add", true, true, false},
               {"x 0 add relu 1 multiply", false, true, true},
               {"x 0 add relu 1 multiply", true, true, true}};
  (void)state;
  for (size_t i = 0; i < 4 * sizeof cases / sizeof *cases; ++i) {
    const bool has_bias = cases[i / 4].has_bias;
    float wanted[ROWS * WIDE];
    test_call c;
    draw();
    test_random_floats(input, ROWS * INNER, 1);
    test_random_floats(weight, WIDE * INNER, 1);
    test_call_begin(&c, "etx::linear_panels.out");
    test_call_floats(&c, 2, (const int32_t[]){ROWS, INNER}, input);
    test_call_floats(&c, 3, (const int32_t[]){WIDE / 16, INNER, 16}, weight);
    if (has_bias) {
      test_call_floats(&c, 1, (const int32_t[]){WIDE}, others[2]);
    } else {
      test_call_none(&c);
    }
    test_call_floats(&c, 2, (const int32_t[]){ROWS, WIDE}, others[0]);
    test_call_floats(&c, 1, (const int32_t[]){WIDE}, others[1]);
    test_call_gather_list(&c, 2);
    test_call_string(&c, cases[i / 4].text);
    c.threads = 1 + i % 4;
    assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
    for (size_t at = 0; at < ROWS * WIDE; ++at) {
      const size_t n = at % WIDE;
      float sum = 0;
      for (size_t k = 0; k < INNER; ++k) {
        sum = fmaf(input[at / WIDE * INNER + k],
                   weight[(n / 16 * INNER + k) * 16 + n % 16], sum);
      }
      if (has_bias) sum = others[2][n] + sum;
      if (cases[i / 4].adds) sum = sum + others[0][at];
      if (cases[i / 4].has_more) sum = (sum > 0 ? sum : 0) * others[1][n];
      wanted[at] = sum;
    }
    assert_memory_equal(test_call_result(&c, 0)->data, wanted, sizeof wanted);
    test_call_end(&c);
  }
}

enum { MOST_ROWS = 70, MOST_WIDE = 160 };

// A call of an operator over (input [sequences, rows, INNER], panels, bias,
// ..).
typedef struct panels_call {
  const char* name;
  int32_t shape[3];  // of the input
  int32_t columns;
  const float* in;
  const float* panels;
  size_t threads;
  int64_t heads;  // 0: the operator takes a chain instead
} panels_call;

// Returns the results; the caller ends the call `c`.
static const float* run_panels(test_call* c, const panels_call* given) {
  const int32_t columns = given->columns;
  test_call_begin(c, given->name);
  test_call_floats(c, 3, given->shape, given->in);
  test_call_floats(c, 3, (const int32_t[]){columns / 16, INNER, 16},
                   given->panels);
  test_call_floats(c, 1, (const int32_t[]){columns}, others[2]);
  if (given->heads > 0) {
    test_call_integer(c, given->heads);
  } else {
    test_call_gather_list(c, 0);
    test_call_string(c, "x");
  }
  c->threads = given->threads;
  assert_ok(test_call_run(c, ETX_DTYPE_FLOAT32));
  return test_call_result(c, 0)->data;
}

// From heads of one panel to heads of more than one block of panels.
static void products_of_panels_are_stored_by_heads(void** state) {
  enum { SEQUENCES = 2 };
  static float in[SEQUENCES * MOST_ROWS * INNER], panels[MOST_WIDE * INNER];
  static const int32_t all_rows[] = {1, 3, 13, MOST_ROWS};
  (void)state;
  draw();
  test_random_floats(in, sizeof in / sizeof *in, 1);
  test_random_floats(panels, MOST_WIDE * INNER, 1);
  for (int32_t round = 0; round < 4 * 10; ++round) {
    const int32_t rows = all_rows[round / 10], count = 1 + round % 10;
    const int32_t width = MOST_WIDE / 16 / count * 16, wide = count * width;
    panels_call call = {.name = "etx::linear_panels.out",
                        .shape = {SEQUENCES, rows, INNER},
                        .columns = wide,
                        .in = in,
                        .panels = panels,
                        .threads = 1};
    test_call plain, by_heads;
    const float* const wanted = run_panels(&plain, &call);
    call.name = "etx::linear_heads.out";
    call.threads = 1 + (size_t)round % 3;
    call.heads = count;
    const float* got = run_panels(&by_heads, &call);
    const etx_tensor* const result = test_call_result(&by_heads, 0);
    assert_int_equal(result->rank, 4);
    assert_int_equal(result->sizes[1], count);
    assert_int_equal(result->sizes[2], rows);
    for (int32_t s = 0; s < SEQUENCES; ++s) {
      for (int32_t head = 0; head < count; ++head) {
        for (int32_t row = 0; row < rows; ++row, got += width) {
          assert_memory_equal(got,
                              wanted + (s * rows + row) * wide + head * width,
                              (size_t)width * sizeof *got);
        }
      }
    }
    test_call_end(&plain);
    test_call_end(&by_heads);
  }
}

static void heads_without_whole_panels_are_refused(void** state) {
  static const float in[2 * INNER], panels[48 * INNER];
  static const int64_t counts[] = {2, 0, -3, 48};
  (void)state;
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    test_call c;
    test_call_begin(&c, "etx::linear_heads.out");
    test_call_floats(&c, 2, (const int32_t[]){2, INNER}, in);
    test_call_floats(&c, 3, (const int32_t[]){3, INNER, 16}, panels);
    test_call_none(&c);
    test_call_integer(&c, counts[i]);
    assert_int_equal(test_call_run(&c, ETX_DTYPE_FLOAT32), ETX_BAD_ARGUMENT);
    test_call_end(&c);
  }
}

// More rows than the dot product path takes, with some rows as lanes; whole
// groups of columns and a rest.
static void products_add_what_their_chain_adds(void** state) {
  enum { WIDE = 83, MOST = 66 };
  static float rows[MOST * INNER], added[MOST * WIDE];
  (void)state;
  for (int32_t count = 13; count <= MOST; ++count) {
    const bool is_line = count % 2 == 0;
    test_random_floats(rows, MOST * INNER, 1);
    test_random_floats(added, MOST * WIDE, 1);
    test_random_floats(weight, WIDE * INNER, 1);
    test_call two[2];
    for (size_t i = 0; i < 2; ++i) {
      test_call* const c = &two[i];
      test_call_begin(c, i == 0 ? "aten::linear.out" : "etx::linear_chain.out");
      test_call_floats(c, 2, (const int32_t[]){count, INNER}, rows);
      test_call_floats(c, 2, (const int32_t[]){WIDE, INNER}, weight);
      test_call_floats(c, 1, (const int32_t[]){WIDE}, others[2]);
      c->threads = i == 0 ? 1 : 1 + (size_t)count % 3;
      if (i == 1) {
        test_call_floats(c, 2, (const int32_t[]){is_line ? 1 : count, WIDE},
                         added);
        test_call_gather_list(c, 1);
        test_call_string(c, count % 4 < 2 ? "x 0 add" : "0 x add");
      }
      assert_ok(test_call_run(c, ETX_DTYPE_FLOAT32));
    }
    const float* const plain = test_call_result(&two[0], 0)->data;
    const float* const chained = test_call_result(&two[1], 0)->data;
    for (int32_t at = 0; at < count * WIDE; ++at) {
      const float wanted = plain[at] + added[is_line ? at % WIDE : at];
      assert_true(chained[at] == wanted);
    }
    test_call_end(&two[0]);
    test_call_end(&two[1]);
  }
}

// ------------------------------------------------ refusals

static void invalid_chains_are_refused(void** state) {
  (void)state;
  static const char* const texts[] = {
      "",
      "add",
      "x x",
      "x 4 add",
      "x relu ",
      "x  relu",
      "x y",
      "x -1 add",
      "x 2 add add",
      "relu x",
      " x",
      "x 02a add",
      "x 123 add",
      "x 3 clamp",
      "x x 3 clamp",
      "x 3 2 clamp",
      "x 3 relu 3 clamp",
      "x x select",
      "x x x x x add add add add",
      "x relu relu relu relu relu relu relu relu relu relu relu relu relu relu "
      "relu relu relu relu relu relu relu relu relu relu relu relu relu relu "
      "relu relu relu relu relu relu relu relu relu relu relu relu"};
  draw();
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    test_call c;
    test_call_begin(&c, "etx::chain.out");
    test_call_floats(&c, 2, sizes, x);
    for (size_t other = 0; other < OTHERS; ++other) add_other(&c, other);
    test_call_gather_list(&c, OTHERS);
    test_call_string(&c, texts[i]);
    assert_int_equal(test_call_run(&c, ETX_DTYPE_FLOAT32), ETX_BAD_ARGUMENT);
    test_call_end(&c);
  }
}

static void tensors_of_other_sizes_are_refused(void** state) {
  (void)state;
  static const int32_t bad[][2] = {{ROWS, 1}, {1, 2}, {ROWS, COLUMNS - 1}};
  draw();
  for (size_t i = 0; i < 3; ++i) {
    test_call c;
    test_call_begin(&c, "etx::chain.out");
    test_call_floats(&c, 2, sizes, x);
    test_call_floats(&c, 2, bad[i], others[0]);
    test_call_gather_list(&c, 1);
    test_call_string(&c, "x 0 add");
    assert_int_equal(test_call_run(&c, ETX_DTYPE_FLOAT32), ETX_BAD_ARGUMENT);
    test_call_end(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chains_have_the_bits_of_their_operators),
      cmocka_unit_test(every_step_has_the_bits_of_its_operator),
      cmocka_unit_test(a_chain_may_fill_the_result_with_one_number),
      cmocka_unit_test(products_go_through_the_chain),
      cmocka_unit_test(products_of_panels_go_through_the_chain),
      cmocka_unit_test(products_of_panels_are_stored_by_heads),
      cmocka_unit_test(heads_without_whole_panels_are_refused),
      cmocka_unit_test(products_add_what_their_chain_adds),
      cmocka_unit_test(invalid_chains_are_refused),
      cmocka_unit_test(tensors_of_other_sizes_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
