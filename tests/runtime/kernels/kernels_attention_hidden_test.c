// Keys that masks and positions hide from all rows are not read: they are NaN
// here. What is read is compared with doubles.

#include <math.h>
#include <string.h>

#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_random.h"

static etx_diag diag;

enum {
  HEADS = 3,
  MOST_ROWS = 210,  // three tiles
  KEYS = 700,
  WIDTH = 16,
  SEEN_FIRST = 200,  // rows see some of these keys
  SEEN_END = 330,
  READ_FIRST = 192,  // the blocks of 64 keys that hold them
  READ_END = 384,
};

static float query[HEADS * MOST_ROWS * WIDTH];
static float key[HEADS * KEYS * WIDTH], value[HEADS * KEYS * WIDTH];
static bool seen[MOST_ROWS * KEYS];
static float added[MOST_ROWS * KEYS];
static int64_t last[MOST_ROWS];

static float infinity(void) {
  const uint32_t bits = 0x7f800000;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

// Row r sees a part of the keys [SEEN_FIRST, SEEN_END).
static void fill(size_t rows, float unread) {
  test_random_floats(query, sizeof query / sizeof *query, 2);
  test_random_floats(key, sizeof key / sizeof *key, 2);
  test_random_floats(value, sizeof value / sizeof *value, 1);
  for (size_t i = 0; i < HEADS * KEYS * WIDTH; ++i) {
    const size_t at = i / WIDTH % KEYS;
    if (at < READ_FIRST || at >= READ_END) key[i] = value[i] = unread;
  }
  for (size_t r = 0; r < rows; ++r) {
    const size_t first = SEEN_FIRST + r % 90, end = SEEN_END - r % 40;
    last[r] = (int64_t)end - 1;
    for (size_t k = 0; k < KEYS; ++k) {
      seen[r * KEYS + k] = k >= first && k < end;
      added[r * KEYS + k] = seen[r * KEYS + k] ? 0 : -infinity();
    }
  }
}

// What is given to the operator.
typedef struct masks {
  bool has_seen, has_added, has_last;
  double hidden;
} masks;

static void run(test_call* c, size_t rows, const masks* m, size_t threads) {
  static const int64_t order[] = {0, 1, 2, 3};
  const int32_t sizes[] = {(int32_t)rows, KEYS};
  test_call_begin(c, "etx::attention.out");
  c->threads = threads;
  test_call_floats(c, 4, (const int32_t[]){1, HEADS, (int32_t)rows, WIDTH},
                   query);
  test_call_floats(c, 4, (const int32_t[]){1, HEADS, KEYS, WIDTH}, key);
  test_call_floats(c, 4, (const int32_t[]){1, HEADS, KEYS, WIDTH}, value);
  if (m->has_seen) {
    test_call_tensor(c, ETX_DTYPE_BOOL, 2, sizes, NULL, seen);
  } else if (m->has_added) {
    test_call_floats(c, 2, sizes, added);
  } else {
    test_call_none(c);
  }
  if (m->has_last) {
    test_call_tensor(c, ETX_DTYPE_INT64, 2, (const int32_t[]){(int32_t)rows, 1},
                     NULL, last);
  } else {
    test_call_none(c);
  }
  for (size_t i = 0; i < 4; ++i) test_call_integers(c, 4, order);
  test_call_real(c, 0.25);
  test_call_real(c, m->hidden);
  test_call_boolean(c, false);
  test_call_boolean(c, false);
  assert_ok(test_call_run(c, ETX_DTYPE_FLOAT32));
}

// Row `row` of a head over the keys that it sees; over all if it sees none.
static void reference_row(size_t head, size_t row, size_t rows, double* out) {
  const float* q = query + (head * rows + row) * WIDTH;
  double sum = 0;
  bool sees_any = false;
  memset(out, 0, WIDTH * sizeof *out);
  for (size_t k = 0; k < KEYS; ++k) sees_any |= seen[row * KEYS + k];
  for (size_t k = 0; k < KEYS; ++k) {
    const float* from = key + (head * KEYS + k) * WIDTH;
    double score = 0;
    if (sees_any && !seen[row * KEYS + k]) continue;
    for (size_t d = 0; sees_any && d < WIDTH; ++d) {
      score += (double)q[d] * (double)from[d];
    }
    const double weight = exp(0.25 * score);
    sum += weight;
    for (size_t d = 0; d < WIDTH; ++d) {
      out[d] += weight * (double)value[(head * KEYS + k) * WIDTH + d];
    }
  }
  for (size_t d = 0; d < WIDTH; ++d) out[d] /= sum;
}

static void expect_reference(size_t rows, const masks* m) {
  static float first[HEADS * MOST_ROWS * WIDTH];
  const size_t bytes = HEADS * rows * WIDTH * sizeof(float);
  for (size_t threads = 1; threads < 4; ++threads) {
    test_call c;
    run(&c, rows, m, threads);
    if (threads == 1) memcpy(first, test_call_result(&c, 0)->data, bytes);
    assert_memory_equal(test_call_result(&c, 0)->data, first, bytes);
    test_call_end(&c);
  }
  for (size_t i = 0; i < HEADS * rows; ++i) {
    double wanted[WIDTH];
    reference_row(i / rows, i % rows, rows, wanted);
    for (size_t d = 0; d < WIDTH; ++d) {
      assert_true(fabs((double)first[i * WIDTH + d] - wanted[d]) < 2e-5);
    }
  }
}

static void hidden_blocks_are_not_read(void** state) {
  (void)state;
  static const size_t rows[] = {1, 9, MOST_ROWS};
  const masks all[] = {{.has_seen = true},
                       {.has_added = true},
                       {.has_seen = true, .has_last = true},
                       {.has_added = true, .has_last = true}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    fill(rows[i], infinity() - infinity());
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k) {
      masks m = all[k];
      m.hidden = -(double)infinity();
      expect_reference(rows[i], &m);
    }
  }
}

// Some rows of a tile see no key at all. Their result is NaN.
static void rows_without_keys_are_nan_beside_others(void** state) {
  (void)state;
  enum { ROWS = 9, BLIND = 4 };
  for (size_t i = 0; i < 2; ++i) {
    const masks m = {
        .has_seen = i == 0, .has_added = i == 1, .hidden = -(double)infinity()};
    fill(ROWS, infinity() - infinity());
    for (size_t k = 0; k < KEYS; ++k) {
      seen[BLIND * KEYS + k] = false;
      added[BLIND * KEYS + k] = -infinity();
    }
    test_call c;
    run(&c, ROWS, &m, 1);
    const float* got = test_call_result(&c, 0)->data;
    for (size_t at = 0; at < HEADS * ROWS * WIDTH; ++at) {
      const bool is_nan = got[at] != got[at];
      assert_int_equal(is_nan, at / WIDTH % ROWS == BLIND);
    }
    test_call_end(&c);
  }
}

// A number beside which no visible key has weight hides keys, and a row that
// sees none weighs all of them alike, also those after its last key.
static void rows_without_keys_may_be_the_mean_of_all(void** state) {
  (void)state;
  enum { ROWS = 9, BLIND = 4 };
  for (size_t i = 0; i < 2; ++i) {
    const masks m = {.has_seen = true, .has_last = i == 1, .hidden = -1e9};
    fill(ROWS, 0.5f);
    memset(seen + BLIND * KEYS, 0, KEYS * sizeof *seen);
    expect_reference(ROWS, &m);
    fill(1, 0.5f);
    memset(seen, 0, KEYS * sizeof *seen);
    expect_reference(1, &m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hidden_blocks_are_not_read),
      cmocka_unit_test(rows_without_keys_are_nan_beside_others),
      cmocka_unit_test(rows_without_keys_may_be_the_mean_of_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
