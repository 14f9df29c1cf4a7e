// A prefetch stream asks for every line of its rows if it has enough steps, for
// no other lines meanwhile than their neighbours, and afterwards for the lines
// that follow.

#include "runtime/kernels/simd/vector/prefetch_stream.h"
#include "tests/support/assert_status.h"
#include "tests/support/test_random.h"

enum { ROUNDS = 400, LINE = ETX_CACHE_LINE_BYTES, PITCH = 20, ROWS = 6 };

// Distances of lines: within a row, and longer than a row.
static _Alignas(LINE) char memory[(ROWS * PITCH + 2) * LINE];
static bool asked[ROWS * PITCH];

static void note(const char* at) {
  if (at >= memory && at < memory + ROWS * PITCH * LINE) {
    asked[(size_t)(at - memory) / LINE] = true;
  }
}

static void every_line_is_prefetched(void** unused) {
  (void)unused;
  static const char other[LINE];
  test_random_start();
  for (size_t round = 0; round < ROUNDS; ++round) {
    const size_t rows = (size_t)test_random_integer(1, ROWS);
    const size_t bytes = (size_t)test_random_integer(1, (PITCH - 2) * LINE);
    const size_t turns = rows * ((bytes + 2 * LINE - 1) / (2 * LINE)) +
                         (size_t)test_random_integer(0, 3000);
    etx_prefetch_stream none = etx_prefetch_stream_none(other);
    etx_prefetch_stream stream = etx_prefetch_stream_over(
        memory, bytes, turns, rows, PITCH * LINE, &none);
    memset(asked, 0, sizeof asked);
    etx_prefetch_stream* w = &stream;
    size_t turn = 0;
    for (; w != &none; ++turn) {
      assert_true(turn < turns);
      note(w->at);
      w->at += w->step;
      note(w->at - LINE);
      if (--w->left == 0) w = etx_prefetch_stream_next_row(w, w->at);
    }
    const size_t lines = (bytes + LINE - 1) / LINE;
    for (size_t i = 0; i < ROWS * PITCH; ++i) {
      const bool is_wanted = i / PITCH < rows && i % PITCH < lines;
      if (is_wanted) assert_true(asked[i]);
      // The second line of a step may be behind the last row or before the
      // first.
      const bool is_near = i % PITCH == lines || i % PITCH == PITCH - 1;
      if (!is_wanted && !is_near) assert_false(asked[i]);
    }
    for (size_t i = 0; i < 1000; ++i) {
      assert_ptr_equal(w->at, other);
      w->at += w->step;
      assert_true(--w->left > 0);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_line_is_prefetched),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
