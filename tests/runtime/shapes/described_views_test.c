// Views that a file describes: they have the bytes of their own sizes, whatever
// the sizes of the tensor in whose memory they lie are.

#include "runtime/method/method_types.h"
#include "tests/runtime/shapes/sized_pair.h"
#include "tests/support/optional_parts.h"

static etx_diag diag;

enum { ROOM = 256 };

static int start(sized_pair* pair) {
  sized_pair_start(pair);
  return sized_pair_input(pair, ETX_DTYPE_FLOAT32, SIZES(ROOM),
                          test_symbol(pair->p, "s", 0, ROOM));
}

// Gives both methods exactly what they need at this size.
static void give_memory(sized_pair* pair, int64_t size, size_t wanted_bytes,
                        test_block* scratch) {
  const etx_named_size named = {etx_text_of("s"), size};
  for (size_t i = 0; i < 2; ++i) {
    test_loaded* const loaded = &pair->loaded[i];
    etx_memory_needed needed;
    assert_ok(etx_method_needed_at(&loaded->method, &named, 1, &needed, &diag));
    assert_int_equal(needed.scratch_bytes, wanted_bytes);
    scratch[i] = test_block_new(needed.scratch_bytes, ETX_MEMORY_ALIGNMENT);
    assert_ok(etx_method_set_memory(&loaded->method, scratch[i].bytes,
                                    loaded->temporary.bytes, &diag));
  }
}

// `part` has half of the elements that x has at most, from an element on. Its
// last element is read, which at small sizes lies behind those of y = -x.
static void a_view_keeps_its_bytes_at_smaller_sizes(void** state) {
  (void)state;
  static const int64_t sizes[] = {2, 5, 0, ROOM, 3};
  for (uint64_t from = 0; from <= ROOM / 2; from += ROOM / 4) {
    sized_pair pair;
    const int x = start(&pair);
    test_program* const p = pair.p;
    const int y =
        test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(ROOM), 0));
    const int part = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(ROOM / 2));
    const int last = test_scratch(p, ETX_DTYPE_FLOAT32, SCALAR_SIZES, 4 * ROOM);
    test_view(p, part, y, 4 * from);
    test_call(p, "aten::neg", "out", ARGS(x, y, y));
    test_call(
        p, "aten::select_copy", "int_out",
        ARGS(part, test_int(p, 0), test_int(p, ROOM / 2 - 1), last, last));
    test_output(p, y, "");
    test_output(p, last, "");
    sized_pair_load(&pair, &etx_all_kernels);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
      test_block scratch[2];
      const uint64_t end = from + ROOM / 2;
      const uint64_t most = sizes[i] == ROOM ? ROOM : end;
      give_memory(&pair, sizes[i], (size_t)(4 * most + 4), scratch);
      assert_ok(sized_pair_run(&pair, &sizes[i], &diag));
      if (sizes[i] == ROOM) {
        const float* const found = sized_pair_output(&pair, 1)->data;
        assert_true(*found == -(float)end);
      }
      for (size_t k = 0; k < 2; ++k) {
        test_loaded* const loaded = &pair.loaded[k];
        assert_ok(etx_method_set_memory(&loaded->method, loaded->scratch.bytes,
                                        loaded->temporary.bytes, &diag));
        assert_true(test_block_end(&scratch[k]));
      }
    }
    sized_pair_end(&pair);
  }
}

// An output that shows the first elements of an input, which are as many as the
// input has at most.
static void an_output_has_no_more_bytes_than_its_input(void** state) {
  (void)state;
  sized_pair pair;
  const int x = start(&pair);
  const int shown = test_borrowed(pair.p, ETX_DTYPE_FLOAT32, SIZES(ROOM));
  test_view(pair.p, shown, x, 0);
  test_output(pair.p, shown, "");
  test_described(pair.p);  // it has no instructions
  sized_pair_load(&pair, &etx_all_kernels);
  static const int64_t sizes[] = {ROOM, 2, ROOM - 1, ROOM, 0, 3};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    if (sizes[i] == ROOM) {
      assert_ok(sized_pair_run(&pair, &sizes[i], &diag));
      const float* const found = sized_pair_output(&pair, 0)->data;
      assert_true(found[0] == 1 && found[ROOM - 1] == ROOM);
      continue;
    }
    assert_refused(sized_pair_run(&pair, &sizes[i], &diag), ETX_BAD_FILE,
                   "needs 1024 bytes and has ");
  }
  sized_pair_end(&pair);
}

// No call gives it memory.
static void an_output_without_memory_is_refused(void** state) {
  (void)state;
  for (int is_listed = 0; is_listed < 2; ++is_listed) {
    sized_pair pair;
    etx_program program;
    test_loaded loaded;
    const int x = start(&pair);
    test_program* const p = pair.p;
    const int none = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(8));
    test_output(p, x, "");
    test_output(p, is_listed ? test_tensors(p, ARGS(x, none)) : none, "");
    test_described(p);  // it has no instructions
    assert_ok(etx_program_open(&program, test_file(p), &etx_all_kernels, NULL,
                               &diag));
    assert_refused(test_load(&loaded, &program, "forward", NULL, &diag),
                   ETX_BAD_FILE, "needs 32 bytes and has 0");
    test_program_end(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_DYNAMIC, a_view_keeps_its_bytes_at_smaller_sizes),
      unit_test_with(ETX_DYNAMIC, an_output_has_no_more_bytes_than_its_input),
      unit_test_with(ETX_DYNAMIC, an_output_without_memory_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
