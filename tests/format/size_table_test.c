// Sizes as expressions over symbols: random expressions against the same
// operations on numbers, and identities that equal handles must show.

#include "tests/support/assert_status.h"

#include "format/shapes/size_table.h"
#include "tests/support/test_random.h"

enum { SYMBOLS = 3, SAMPLES = 24, STEPS = 60, ROUNDS = 400, MOST = 128 };

static etx_diag diag;

typedef struct table_fixture {
  etx_size_expression expressions[ETX_SIZE_MOST_EXPRESSIONS];
  etx_size_table table;
  etx_dim_math math;
  int64_t low[SYMBOLS], high[SYMBOLS];
} table_fixture;

static void start(table_fixture* f) {
  f->table = (etx_size_table){f->expressions, ETX_SIZE_MOST_EXPRESSIONS, 0};
  f->math = etx_size_table_math(&f->table);
  for (size_t i = 0; i < SYMBOLS; ++i) {
    f->low[i] = test_random_integer(0, 3);
    f->high[i] = f->low[i] + test_random_integer(0, 40);
    assert_ok(etx_size_table_add_symbol(&f->table, f->low[i], f->high[i]));
  }
}

// ---- random expressions ----

// A size with its values, which were computed with numbers.
typedef struct sampled {
  etx_dim dim;
  int64_t values[SAMPLES];
} sampled;

typedef struct samples {
  int64_t symbols[SAMPLES][SYMBOLS];
  sampled items[MOST];
  size_t count;
} samples;

static int64_t floor_quotient(int64_t a, int64_t b) {
  const int64_t rest = ((a % b) + b) % b;
  return (a - rest) / b;
}

static etx_status apply(table_fixture* f, int op, etx_dim a, etx_dim b,
                        etx_dim* out) {
  const etx_shape_call call = {.math = &f->math};
  switch (op) {
    case 0:
      return etx_dim_add(&call, a, b, out);
    case 1:
      return etx_dim_multiply(&call, a, b, out);
    case 2:
      return etx_dim_subtract(&call, a, b, out);
    case 3:
      return etx_dim_minimum(&call, a, b, out);
    case 4:
      return etx_dim_maximum(&call, a, b, out);
    default:
      return etx_dim_floor_divide(&call, a, b, out);
  }
}

static int64_t apply_number(int op, int64_t a, int64_t b) {
  switch (op) {
    case 0:
      return a + b;
    case 1:
      return a * b;
    case 2:
      return a - b;
    case 3:
      return a < b ? a : b;
    case 4:
      return a > b ? a : b;
    default:
      return floor_quotient(a, b);
  }
}

static void add_number(samples* s, int64_t number) {
  sampled* const item = &s->items[s->count++];
  item->dim = number;
  for (size_t i = 0; i < SAMPLES; ++i) item->values[i] = number;
}

static void start_samples(table_fixture* f, samples* s) {
  s->count = 0;
  for (size_t k = 0; k < SYMBOLS; ++k) {
    sampled* const item = &s->items[s->count++];
    item->dim = etx_size_dim(k);
    for (size_t i = 0; i < SAMPLES; ++i) {
      s->symbols[i][k] = test_random_integer(f->low[k], f->high[k]);
      item->values[i] = s->symbols[i][k];
    }
  }
  for (int64_t i = 0; i < 4; ++i) add_number(s, test_random_integer(-3, 12));
}

// A few operations on what there is. The table may refuse one.
static void add_random(table_fixture* f, samples* s) {
  etx_diag_init(&diag);
  for (size_t i = 0; i < STEPS && s->count < MOST; ++i) {
    const int op = (int)test_random_integer(0, 5);
    const sampled* const a =
        &s->items[test_random_integer(0, (int64_t)s->count - 1)];
    const sampled* const b =
        &s->items[test_random_integer(0, (int64_t)s->count - 1)];
    sampled* const item = &s->items[s->count];
    if (op == 5 && b->dim == 0) continue;
    if (apply(f, op, a->dim, b->dim, &item->dim) != ETX_OK) continue;
    ++s->count;
    for (size_t k = 0; k < SAMPLES; ++k) {
      item->values[k] = apply_number(op, a->values[k], b->values[k]);
    }
  }
}

static void check_values(const table_fixture* f, const samples* s) {
  const etx_shape_call call = {.math = &f->math};
  for (size_t k = 0; k < SAMPLES; ++k) {
    int64_t values[ETX_SIZE_MOST_EXPRESSIONS];
    memcpy(values, s->symbols[k], sizeof s->symbols[k]);
    etx_size_table_evaluate(&f->table, values);
    for (size_t i = 0; i < s->count; ++i) {
      int64_t low = 0, high = 0;
      const int64_t found = etx_size_value(s->items[i].dim, values);
      assert_true(found == s->items[i].values[k]);
      etx_dim_bounds(&call, s->items[i].dim, &low, &high);
      assert_true(low <= found && found <= high);
    }
  }
}

static void expressions_have_the_values_of_their_operations(void** state) {
  (void)state;
  static table_fixture f;
  static samples s;
  size_t symbolic = 0;
  for (size_t i = 0; i < ROUNDS; ++i) {
    start(&f);
    start_samples(&f, &s);
    add_random(&f, &s);
    check_values(&f, &s);
    symbolic += f.table.count - SYMBOLS;
  }
  assert_true(symbolic > 10 * ROUNDS);
}

// ---- identities ----

static etx_dim of(table_fixture* f, int op, etx_dim a, etx_dim b) {
  etx_dim out = 0;
  etx_diag_init(&diag);
  assert_ok(apply(f, op, a, b, &out));
  return out;
}

static void equal_polynomials_have_one_handle(void** state) {
  (void)state;
  static table_fixture f;
  start(&f);
  for (size_t i = 0; i < 2; ++i) {
    f.expressions[i].low = 1;
    f.expressions[i].high = 40;
  }
  const etx_dim t = etx_size_dim(0), p = etx_size_dim(1);
  const etx_dim sum = of(&f, 0, t, p);
  assert_true(of(&f, 2, sum, t) == p);
  assert_true(of(&f, 2, sum, sum) == 0);
  assert_true(of(&f, 1, of(&f, 1, t, 12), 64) == of(&f, 1, t, 768));
  assert_true(of(&f, 5, of(&f, 1, t, 768), 64) == of(&f, 1, t, 12));
  assert_true(of(&f, 5, of(&f, 1, of(&f, 1, t, p), 8), of(&f, 1, p, 4)) ==
              of(&f, 1, t, 2));
  // (t * t + t) // (t + 1)
  const etx_dim next = of(&f, 0, t, 1);
  assert_true(of(&f, 5, of(&f, 1, t, next), next) == t);
  // (2 t + 7) // 2
  assert_true(of(&f, 5, of(&f, 0, of(&f, 1, t, 2), 7), 2) == of(&f, 0, t, 3));
  assert_true(of(&f, 3, t, of(&f, 0, t, 1)) == t);
  // t // 2 is opaque, and found again.
  assert_true(of(&f, 5, t, 2) == of(&f, 5, t, 2));
}

// Sizes that are the same for all values of the symbols are numbers, so they
// equal those that the file states as numbers.
static void an_operation_with_one_value_is_a_number(void** state) {
  (void)state;
  static table_fixture f;
  start(&f);
  f.expressions[0].low = 3;
  f.expressions[0].high = 40;
  const etx_dim t = etx_size_dim(0);
  const etx_dim least = of(&f, 3, t, 5);  // 3 to 5
  assert_true(etx_size_position(least) < f.table.count);
  const size_t count = f.table.count;
  assert_true(of(&f, 5, least, 3) == 1);
  assert_true(of(&f, 0, of(&f, 5, least, 3), 6) == 7);
  assert_int_equal(f.table.count, count);
  assert_false(etx_dim_is_number(of(&f, 5, t, 3)));
}

static void what_does_not_fit_is_refused(void** state) {
  (void)state;
  static table_fixture f;
  etx_dim out = 0;
  start(&f);
  f.expressions[0].high = INT64_MAX / 2;
  const etx_dim t = etx_size_dim(0);
  assert_true(apply(&f, 1, t, 3, &out) == ETX_OUT_OF_RANGE);
  assert_true(apply(&f, 1, t, t, &out) == ETX_OUT_OF_RANGE);
  assert_true(apply(&f, 0, t, INT64_MAX - 1, &out) == ETX_OUT_OF_RANGE);
  f.expressions[1].low = 0;
  assert_true(apply(&f, 5, 7, etx_size_dim(1), &out) == ETX_OUT_OF_RANGE);
  f.table.capacity = f.table.count;
  assert_true(apply(&f, 0, t, 1, &out) == ETX_OUT_OF_RANGE);
  assert_true(etx_size_table_add_symbol(&f.table, 1, 2) == ETX_OUT_OF_RANGE);
}

// ---- questions whose answer depends on the symbols ----

static void decisions_that_symbols_make_are_noted(void** state) {
  (void)state;
  static table_fixture f;
  bool undecided = false;
  start(&f);
  f.expressions[0].low = 1;
  f.expressions[0].high = 8;
  const etx_dim t = etx_size_dim(0);
  const etx_shape_call call = {.math = &f.math, .undecided = &undecided};
  assert_false(etx_dim_is(&call, t, 9));
  assert_false(etx_dim_is(&call, t, 0));
  assert_true(etx_dim_equal(&call, t, t));
  assert_true(etx_dim_differ(&call, t, 9));
  assert_true(etx_dim_is_below(&call, t, 9));
  assert_false(etx_dim_is_below(&call, t, 1));
  assert_false(etx_dim_always_is(&call, t, 4));
  assert_false(etx_dim_always_equal(&call, t, 4));
  assert_true(etx_dim_is_symbolic(&call, t));
  assert_false(undecided);
  assert_false(etx_dim_is(&call, t, 1));
  assert_true(undecided);
  undecided = false;
  assert_false(etx_dim_equal(&call, t, 8));
  assert_true(undecided);
  undecided = false;
  assert_false(etx_dim_differ(&call, t, 8));
  assert_true(undecided);
  undecided = false;
  assert_false(etx_dim_is_below(&call, t, 8));
  assert_true(undecided);
  undecided = false;
  assert_false(etx_shape_is_number(&call, t));
  assert_true(undecided);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(expressions_have_the_values_of_their_operations),
      cmocka_unit_test(equal_polynomials_have_one_handle),
      cmocka_unit_test(an_operation_with_one_value_is_a_number),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(decisions_that_symbols_make_are_noted),
  };
  test_random_start();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
