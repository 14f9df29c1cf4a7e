// Tests of symbolic sizes: canonical forms, bounds, parsing and printing.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>

#include <cmocka.h>

#include "exporter/symbols/symbol.h"

typedef struct symbol_fixture {
  etx_pool pool;
  etx_symbols symbols;
} symbol_fixture;

// s in 1..64, t in 0..100000, u in 2..9.
static int set_up(void** state) {
  symbol_fixture* const f = malloc(sizeof *f);
  uint32_t index = 0;
  etx_pool_init(&f->pool);
  etx_symbols_init(&f->symbols, &f->pool);
  assert_int_equal(
      etx_symbols_add(&f->symbols, etx_text_of("s"), 1, 64, &index), ETX_OK);
  assert_int_equal(
      etx_symbols_add(&f->symbols, etx_text_of("t"), 0, 100000, &index),
      ETX_OK);
  assert_int_equal(etx_symbols_add(&f->symbols, etx_text_of("u"), 2, 9, &index),
                   ETX_OK);
  *state = f;
  return 0;
}

static int tear_down(void** state) {
  symbol_fixture* const f = *state;
  etx_pool_close(&f->pool);
  free(f);
  return 0;
}

static etx_dim parse(symbol_fixture* f, const char* text) {
  etx_dim dim = 0;
  etx_diag diag;
  etx_diag_init(&diag);
  if (etx_symbols_parse(&f->symbols, etx_text_of(text), &dim, &diag) !=
      ETX_OK) {
    fail_msg("%s: %s", text, diag.text);
  }
  return dim;
}

static void assert_prints(symbol_fixture* f, const char* text,
                          const char* expected) {
  etx_text printed;
  const etx_dim dim = parse(f, text);
  assert_int_equal(etx_symbols_print(&f->symbols, dim, &f->pool, &printed),
                   ETX_OK);
  assert_string_equal(printed.data, expected);
  assert_true(parse(f, expected) == dim);
}

static void equal_polynomials_print_the_same_text(void** state) {
  symbol_fixture* const f = *state;
  assert_prints(f, "1 + s*2", "2*s + 1");
  assert_prints(f, "(s + 1)*(s - 1)", "s*s - 1");
  assert_prints(f, "s*t - t*s", "0");
  assert_prints(f, "t + s", "s + t");
  assert_prints(f, "-(s - 3)", "-s + 3");
  assert_prints(f, "2*3 + 4", "10");
}

static void divisions_are_reduced(void** state) {
  symbol_fixture* const f = *state;
  assert_prints(f, "(4*s + 6)//2", "2*s + 3");
  assert_prints(f, "(s - 1)//2 + 1", "(s + 1)//2");
  assert_prints(f, "(s//2 + 3)//2", "(s + 2)//4 + 1");
  assert_prints(f, "(6*s + 5)//4", "(3*s)//2 + 1");
  assert_prints(f, "s//-2", "(-s)//2");
  assert_prints(f, "s//100", "0");
  assert_prints(f, "(64*s*t)//(32*s)", "2*t");
  assert_prints(f, "((s + 1)*t*4)//(s + 1)", "4*t");
  assert_prints(f, "(2*s*u + 2*s)//(u + 1)", "2*s");
}

static void remainders_are_reduced(void** state) {
  symbol_fixture* const f = *state;
  assert_prints(f, "(s + 4)%4", "s%4");
  assert_prints(f, "(8*s + 3)%4", "3");
  assert_prints(f, "u%10", "u");
  assert_prints(f, "(s*u)%u", "0");
  assert_prints(f, "-7%4", "1");
}

static void minima_and_maxima_drop_operands_by_bounds(void** state) {
  symbol_fixture* const f = *state;
  assert_prints(f, "min(s, 64)", "s");
  assert_prints(f, "min(s, 32)", "min(s, 32)");
  assert_prints(f, "max(1, s)", "s");
  assert_prints(f, "min(s//2, s)", "s//2");
  assert_prints(f, "min(t//2, t)", "t//2");
  assert_prints(f, "min(7, min(t, s))", "min(min(s, t), 7)");
  assert_prints(f, "max(s, s + 1, s - 1)", "s + 1");
}

static void bounds_are_exact_for_few_values(void** state) {
  symbol_fixture* const f = *state;
  int64_t low = 0, high = 0;
  etx_symbols_bounds(&f->symbols, parse(f, "s - s//2"), &low, &high);
  assert_int_equal(low, 1);
  assert_int_equal(high, 32);
  etx_symbols_bounds(&f->symbols, parse(f, "s + (-s)%4"), &low, &high);
  assert_int_equal(low, 4);
  assert_int_equal(high, 64);
  etx_symbols_bounds(&f->symbols, parse(f, "t - t//2"), &low, &high);
  assert_int_equal(low, 0);
}

static void different_forms_are_proved_equal(void** state) {
  symbol_fixture* const f = *state;
  assert_true(etx_symbols_equal(&f->symbols, parse(f, "(3*s)//2"),
                                parse(f, "s + s//2")));
  assert_false(
      etx_symbols_equal(&f->symbols, parse(f, "s"), parse(f, "s + 1")));
  assert_false(etx_symbols_equal(&f->symbols, parse(f, "s"), 5));
}

static void values_are_computed_as_python_does(void** state) {
  symbol_fixture* const f = *state;
  const int64_t values[3] = {7, 10, 3};
  int64_t value = 0;
  static const struct {
    const char* text;
    int64_t expected;
  } cases[] = {
      {"-s//2", -4},           {"-s%4", 1},
      {"s*t//u", 23},          {"max(s, t, u)", 10},
      {"min(s, t)*u - 1", 20},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    assert_int_equal(etx_symbols_evaluate(&f->symbols, parse(f, cases[i].text),
                                          values, &value),
                     ETX_OK);
    assert_int_equal(value, cases[i].expected);
  }
}

static void affine_sizes_name_their_symbol(void** state) {
  symbol_fixture* const f = *state;
  uint32_t symbol = 9;
  int64_t factor = 0, offset = 0;
  assert_true(etx_symbols_affine(&f->symbols, parse(f, "3*t - 2"), &symbol,
                                 &factor, &offset));
  assert_int_equal(symbol, 1);
  assert_int_equal(factor, 3);
  assert_int_equal(offset, -2);
  static const char* const others[] = {"5", "s + t", "s*s", "s//2"};
  for (size_t i = 0; i < 4; ++i) {
    assert_false(etx_symbols_affine(&f->symbols, parse(f, others[i]), &symbol,
                                    &factor, &offset));
  }
}

// Evaluates an expression by its outermost operations.
static int64_t evaluate_by_operations(symbol_fixture* f, etx_dim dim,
                                      const int64_t* values) {
  etx_symbol_node node;
  assert_int_equal(etx_symbols_top(&f->symbols, dim, &node), ETX_OK);
  if (node.is_number) return node.number;
  if (node.is_symbol) return values[node.symbol];
  const int64_t a = evaluate_by_operations(f, node.left, values);
  const int64_t b = evaluate_by_operations(f, node.right, values);
  int64_t quotient = 0, rest = 0;
  switch (node.op) {
    case ETX_SYMBOL_ADD:
      return a + b;
    case ETX_SYMBOL_SUBTRACT:
      return a - b;
    case ETX_SYMBOL_MULTIPLY:
      return a * b;
    case ETX_SYMBOL_FLOOR_DIVIDE:
      assert_true(etx_floor_divide(a, b, &quotient, &rest));
      return quotient;
    case ETX_SYMBOL_MODULO:
      assert_true(etx_floor_divide(a, b, &quotient, &rest));
      return rest;
    case ETX_SYMBOL_MINIMUM:
      return a < b ? a : b;
    case ETX_SYMBOL_MAXIMUM:
      return a > b ? a : b;
  }
  return 0;
}

static void operations_of_an_expression_compute_its_value(void** state) {
  symbol_fixture* const f = *state;
  const int64_t values[3] = {7, 10, 3};
  static const char* const texts[] = {
      "2*s + 1",     "4 - s",          "-s - t",        "3*s*t*u - 2*u + 5",
      "(s + 1)//2",  "5 - 2*(s//3)",   "min(s, t) % u", "s*s*s",
      "max(s, 2*u)", "-3*s + 2*t - 7",
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
    const etx_dim dim = parse(f, texts[i]);
    int64_t value = 0;
    assert_int_equal(etx_symbols_evaluate(&f->symbols, dim, values, &value),
                     ETX_OK);
    assert_int_equal(evaluate_by_operations(f, dim, values), value);
  }
}

static void tighter_bounds_simplify_on_rebuild(void** state) {
  symbol_fixture* const f = *state;
  const etx_dim dim = parse(f, "min(t, 64) + s");
  etx_dim* map = NULL;
  etx_text text;
  etx_symbols_set_bounds(&f->symbols, 1, 0, 50);
  assert_int_equal(etx_symbols_rebuild(&f->symbols, &map), ETX_OK);
  assert_int_equal(etx_symbols_print(&f->symbols, etx_symbols_remap(map, dim),
                                     &f->pool, &text),
                   ETX_OK);
  assert_string_equal(text.data, "s + t");
  assert_int_equal(etx_symbols_remap(map, 12), 12);
}

// s becomes 3*u + 2; t and u move forward.
static void a_replaced_symbol_is_gone(void** state) {
  symbol_fixture* const f = *state;
  const etx_dim dim = parse(f, "(s + 1)//3 + s*t");
  const etx_symbol_replacement by = {0, 2, 3, 2};
  etx_dim* map = NULL;
  etx_text text;
  uint32_t index = 9;
  assert_int_equal(etx_symbols_replace(&f->symbols, &by, &map), ETX_OK);
  assert_int_equal(etx_symbols_print(&f->symbols, etx_symbols_remap(map, dim),
                                     &f->pool, &text),
                   ETX_OK);
  assert_string_equal(text.data, "3*t*u + 2*t + u + 1");
  assert_int_equal(f->symbols.symbol_count, 2);
  assert_false(etx_symbols_find(&f->symbols, etx_text_of("s"), &index));
  assert_true(etx_symbols_find(&f->symbols, etx_text_of("u"), &index));
  assert_int_equal(index, 1);
  assert_int_equal(f->symbols.symbols[index].maximum, 9);
}

static void malformed_texts_are_refused(void** state) {
  symbol_fixture* const f = *state;
  static const struct {
    const char* text;
    etx_status status;
  } cases[] = {
      {"", ETX_BAD_FILE},
      {"(s", ETX_BAD_FILE},
      {"s s", ETX_BAD_FILE},
      {"s + ", ETX_BAD_FILE},
      {"min(s", ETX_BAD_FILE},
      {"x", ETX_NOT_FOUND},
      {"s // 0", ETX_OUT_OF_RANGE},
      {"s % 0", ETX_OUT_OF_RANGE},
      {"99999999999999999999", ETX_OUT_OF_RANGE},
      {"4611686018427387904*s*4", ETX_OUT_OF_RANGE},
      {"((((((((((((((((((((((((((((((((((((((s))))))))))))))))))))))))))))))))"
       "))))))",
       ETX_OUT_OF_RANGE},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    etx_dim dim = 0;
    etx_diag diag;
    etx_diag_init(&diag);
    assert_int_equal(
        etx_symbols_parse(&f->symbols, etx_text_of(cases[i].text), &dim, &diag),
        cases[i].status);
    assert_true(diag.text_size > 0);
  }
}

static uint32_t next_random(uint32_t* seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 16;
}

// Random expressions have the same value before and after canonicalisation.
static void canonical_forms_keep_values(void** state) {
  symbol_fixture* const f = *state;
  uint32_t seed = 7;
  for (int round = 0; round < 400; ++round) {
    const int64_t values[3] = {1 + next_random(&seed) % 64,
                               next_random(&seed) % 50,
                               2 + next_random(&seed) % 8};
    etx_dim dims[12];
    int64_t expected[12];
    for (uint32_t i = 0; i < 3; ++i) {
      assert_int_equal(etx_symbols_dim(&f->symbols, i, &dims[i]), ETX_OK);
      expected[i] = values[i];
    }
    for (size_t i = 3; i < 12; ++i) {
      const etx_symbol_op op = (etx_symbol_op)(next_random(&seed) % 7);
      const size_t a = next_random(&seed) % i;
      const size_t b = next_random(&seed) % i;
      const bool is_constant = next_random(&seed) % 3 == 0;
      const etx_dim right =
          is_constant ? (etx_dim)(1 + next_random(&seed) % 6) : dims[b];
      int64_t x = expected[a], y = is_constant ? right : expected[b];
      int64_t quotient = 0, rest = 0, value = 0;
      if (etx_symbols_apply(&f->symbols, op, dims[a], right, &dims[i]) !=
              ETX_OK ||
          etx_symbols_evaluate(&f->symbols, dims[i], values, &value) !=
              ETX_OK) {
        dims[i] = 1;
        expected[i] = 1;
        continue;
      }
      if (op >= ETX_SYMBOL_FLOOR_DIVIDE && op <= ETX_SYMBOL_MODULO) {
        assert_true(etx_floor_divide(x, y, &quotient, &rest));
      }
      const int64_t results[7] = {x + y, x - y,         x * y,        quotient,
                                  rest,  x < y ? x : y, x > y ? x : y};
      expected[i] = results[op];
      assert_int_equal(value, expected[i]);
    }
  }
}

// The oracle is the arithmetic of C, which is Python's.
static void expect_scaled(symbol_fixture* f, etx_dim size, int64_t least,
                          const etx_symbol_scale* scale) {
  etx_dim dim = 0;
  assert_int_equal(etx_symbols_scale(&f->symbols, size, scale, &dim), ETX_OK);
  for (int64_t t = 0; t <= 3000; ++t) {
    const int64_t values[] = {1, t, 2};
    const double given = (double)(t + least);
    const double product =
        scale->divides ? given / scale->number : scale->number * given;
    const double rounded = scale->is_truncated ? trunc(product)
                           : scale->is_up      ? ceil(product)
                                               : floor(product);
    int64_t found = 0;
    assert_int_equal(etx_symbols_evaluate(&f->symbols, dim, values, &found),
                     ETX_OK);
    if (found == (int64_t)rounded) continue;
    fail_msg("%.17g, %i, size %lld: expected %lld, found %lld", scale->number,
             (int)scale->divides, (long long)(t + least), (long long)rounded,
             (long long)found);
  }
}

static void sizes_are_scaled_as_with_doubles(void** state) {
  symbol_fixture* const f = *state;
  static const double numbers[] = {
      0.1,  0.29, 0.3,   0.5,  0.57, 0.7, 1.0 / 3.0, 2.0 / 3.0,
      1.1,  1.3,  1.5,   2.55, 3.0,  7.3, 0.001,     1.4142135623730951,
      4.35, 12.7, 100.01};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
    for (size_t form = 0; form < 6; ++form) {
      const etx_symbol_scale scale = {numbers[i], form % 2 != 0, form / 2 == 1,
                                      form / 2 == 2};
      expect_scaled(f, parse(f, "t"), 0, &scale);
    }
  }
  const etx_symbol_scale truncated = {0.7, false, false, true};
  const etx_symbol_scale floored = {0.7, false, false, false};
  expect_scaled(f, parse(f, "t - 90"), -90, &truncated);
  expect_scaled(f, parse(f, "t - 90"), -90, &floored);
}

static void sizes_without_a_short_exact_form_are_refused(void** state) {
  symbol_fixture* const f = *state;
  static const double numbers[] = {
      0, -1.5, 1e-300, 1e300, (double)INFINITY, (double)NAN};
  etx_dim dim = 0;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
    const etx_symbol_scale scale = {numbers[i], false, false, true};
    assert_int_equal(
        etx_symbols_scale(&f->symbols, parse(f, "t"), &scale, &dim),
        ETX_UNSUPPORTED);
  }
}

static void expect_table(symbol_fixture* f, const char* text,
                         const char* expected) {
  etx_dim dim = 0;
  assert_int_equal(etx_symbols_tabulate(&f->symbols, etx_text_of(text), &dim),
                   ETX_OK);
  for (int64_t s = 1; s <= 64; ++s) {
    const int64_t values[] = {s, 0, 2};
    int64_t found = 0, wanted = 0;
    assert_int_equal(etx_symbols_evaluate(&f->symbols, dim, values, &found),
                     ETX_OK);
    assert_int_equal(
        etx_symbols_evaluate(&f->symbols, parse(f, expected), values, &wanted),
        ETX_OK);
    if (found != wanted) fail_msg("%s: wrong for %i", text, (int)s);
  }
}

// Conditions on the right are written with min(1, max(0, ..)).
static void conditions_with_floats_become_intervals(void** state) {
  symbol_fixture* const f = *state;
  expect_table(f, "math.trunc(0.5*torch.sym_float((s))) != 1",
               "1 - min(1, max(0, s - 1)) + min(1, max(0, s - 3))");
  expect_table(f, "10.0*torch.sym_float((s)) ** 0.145 > 2.0", "1");
  expect_table(f, "10.0*torch.sym_float((s)) ** 0.5 > 20.0",
               "min(1, max(0, s - 4))");
  expect_table(f, "int(0.7 * (s)) == 7",
               "min(1, max(0, s - 9)) - min(1, max(0, s - 11))");
  expect_table(f, "(s) / 4 <= 2.5 and -(s) + 3 < 1e0 or (s) // 7 == 9",
               "min(1, max(0, s - 2)) - min(1, max(0, s - 10)) + "
               "min(1, max(0, s - 62))");
  // No size where Python divides by zero.
  expect_table(
      f, "5 % ((s) - 3) >= 0.0",
      "min(1, max(0, s - 3)) + min(1, max(0, s - 1)) - min(1, max(0, s - 2))");
}

static void unknown_conditions_are_refused(void** state) {
  symbol_fixture* const f = *state;
  static const char* const texts[] = {
      "math.log(s) > 2", "s > t",     "t > 0.5", "v > 0.5", "1.5 > 2",
      "(s > 2",          "s > 2.5.5", "s >",     "",        "s + 1) > 2"};
  etx_dim dim = 0;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
    assert_int_equal(
        etx_symbols_tabulate(&f->symbols, etx_text_of(texts[i]), &dim),
        ETX_UNSUPPORTED);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(equal_polynomials_print_the_same_text),
      TEST(divisions_are_reduced),
      TEST(remainders_are_reduced),
      TEST(minima_and_maxima_drop_operands_by_bounds),
      TEST(bounds_are_exact_for_few_values),
      TEST(different_forms_are_proved_equal),
      TEST(values_are_computed_as_python_does),
      TEST(affine_sizes_name_their_symbol),
      TEST(operations_of_an_expression_compute_its_value),
      TEST(tighter_bounds_simplify_on_rebuild),
      TEST(a_replaced_symbol_is_gone),
      TEST(malformed_texts_are_refused),
      TEST(canonical_forms_keep_values),
      TEST(conditions_with_floats_become_intervals),
      TEST(unknown_conditions_are_refused),
      TEST(sizes_are_scaled_as_with_doubles),
      TEST(sizes_without_a_short_exact_form_are_refused),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
