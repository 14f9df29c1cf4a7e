// Calls whose arguments are moved: they are checked ahead with the memory of
// each source if these are few, and otherwise during the run.

#include "runtime/method/method_types.h"
#include "tests/runtime/shapes/sized_pair.h"
#include "tests/support/optional_parts.h"

static etx_diag diag;

enum { COUNT = 4, MOST = 12 };

// All tensors have four elements, but for the input x.
typedef struct moves_fixture {
  sized_pair pair;
  test_program* p;
  int c, flag;  // 1, 2, 3, 4; a bool
  int none, zero;
  uint64_t offset;
  int instructions;
} moves_fixture;

static void start(moves_fixture* f) {
  static const float data[COUNT] = {1, 2, 3, 4};
  sized_pair_start(&f->pair);
  test_program* const p = f->p = f->pair.p;
  f->offset = 0;
  f->instructions = 0;
  (void)sized_pair_input(&f->pair, ETX_DTYPE_FLOAT32, SIZES(8),
                         test_symbol(p, "s", 0, 8));
  f->flag = test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SIZES(1)), "");
  f->c = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(COUNT),
                       test_data(p, data, sizeof data));
  f->none = test_none(p);
  f->zero = test_int(p, 0);
}

static int add_scratch(moves_fixture* f) {
  const int tensor =
      test_scratch(f->p, ETX_DTYPE_FLOAT32, SIZES(COUNT), f->offset);
  f->offset += 64;
  return tensor;
}

static void negate(moves_fixture* f, int from, int to) {
  test_call(f->p, "aten::neg", "out", ARGS(from, to, to));
  ++f->instructions;
}

static void move(moves_fixture* f, int from, int to) {
  test_move(f->p, from, to);
  ++f->instructions;
}

// The next instructions run if the flag holds, up to `count` of them.
static void if_flag(moves_fixture* f, int count) {
  test_jump_false(f->p, f->flag, f->instructions + 1 + count);
  ++f->instructions;
}

static void load(moves_fixture* f) {
  sized_pair_load(&f->pair, &etx_all_kernels);
}

// Runs twice with each flag, and expects `factor[flag]` times 1, 2, 3, 4.
static void run_both(moves_fixture* f, const float* factors) {
  for (int i = 0; i < 4; ++i) {
    f->pair.truth = i % 2;
    assert_ok(sized_pair_run(&f->pair, &(int64_t){i + 1}, &diag));
    const etx_tensor* const out = sized_pair_output(&f->pair, 0);
    for (int k = 0; k < COUNT; ++k) {
      assert_true(((const float*)out->data)[k] ==
                  factors[i % 2] * (float)(k + 1));
    }
  }
}

static uint8_t late_of_last(const moves_fixture* f) {
  const etx_method* const method = &f->pair.loaded[0].method;
  return method->records[method->record_count - 1].late;
}

static void end(moves_fixture* f) { sized_pair_end(&f->pair); }

// Moves to one tensor from `distinct` sources in turn, the last one if the flag
// holds. With many moves or many sources, the call behind them is checked
// during the run.
static void many_sources_are_checked_during_the_run(void** state) {
  (void)state;
  static const struct {
    int moves, distinct;
    etx_record_late late;
  } rows[] = {{2, 2, ETX_RECORD_AHEAD},
              {7, 7, ETX_RECORD_AHEAD},
              {8, 8, ETX_RECORD_ROOTS},
              {8, 2, ETX_RECORD_AHEAD},
              {9, 2, ETX_RECORD_ROOTS}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    moves_fixture f;
    start(&f);
    int sources[MOST];
    const int z = add_scratch(&f), out = add_scratch(&f);
    for (int k = 0; k < rows[i].distinct; ++k) {
      sources[k] = add_scratch(&f);
      negate(&f, k == 0 ? f.c : sources[k - 1], sources[k]);
    }
    for (int k = 0; k < rows[i].moves; ++k) {
      if (k == rows[i].moves - 1) if_flag(&f, 1);
      move(&f, sources[k % rows[i].distinct], z);
    }
    negate(&f, z, out);
    test_output(f.p, out, "");
    load(&f);
    // Source k is c times -1 if k is even.
    const int last = (rows[i].moves - 1) % rows[i].distinct;
    const int before = (rows[i].moves - 2) % rows[i].distinct;
    const float factors[2] = {before % 2 == 0 ? 1 : -1, last % 2 == 0 ? 1 : -1};
    run_both(&f, factors);
    assert_int_equal(late_of_last(&f), rows[i].late);
    end(&f);
  }
}

// Two tensors with their own memory and that of so many sources each: a sum of
// them is checked ahead with up to 16 combinations.
static void many_combinations_are_checked_during_the_run(void** state) {
  (void)state;
  for (int count = 3; count <= 4; ++count) {
    moves_fixture f;
    start(&f);
    int sources[4];
    const int terms[2] = {add_scratch(&f), add_scratch(&f)};
    const int out = add_scratch(&f);
    for (int k = 0; k < count; ++k) {
      sources[k] = add_scratch(&f);
      negate(&f, k == 0 ? f.c : sources[k - 1], sources[k]);
    }
    for (int i = 0; i < 2; ++i) {
      for (int k = 0; k < count; ++k) {
        if (k == count - 1) if_flag(&f, 1);
        move(&f, sources[k], terms[i]);
      }
    }
    test_call(f.p, "aten::add", "out",
              ARGS(terms[0], terms[1], test_int(f.p, 1), out, out));
    test_output(f.p, out, "");
    load(&f);
    // Source k is c times -1 if k is even.
    const float before = count % 2 == 0 ? -2 : 2;
    run_both(&f, (const float[2]){before, -before});
    assert_int_equal(late_of_last(&f),
                     count == 3 ? ETX_RECORD_AHEAD : ETX_RECORD_ROOTS);
    end(&f);
  }
}

// The two halves of one tensor, and the target of another move.
static void sources_may_be_parts_and_targets(void** state) {
  (void)state;
  static const float factors[2][2] = {{1, -1}, {1, -1}};
  for (size_t i = 0; i < 2; ++i) {
    moves_fixture f;
    start(&f);
    test_program* const p = f.p;
    const int z = add_scratch(&f), out = add_scratch(&f);
    const int y = add_scratch(&f);
    const int whole =
        test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2 * COUNT), f.offset);
    int parts[2];
    for (uint64_t k = 0; k < 2; ++k) {
      parts[k] = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(COUNT));
      test_view(p, parts[k], whole, 16 * k);
    }
    negate(&f, f.c, parts[0]);
    negate(&f, parts[0], parts[1]);
    if (i == 0) {
      move(&f, parts[0], z);
      if_flag(&f, 1);
      move(&f, parts[1], z);
    } else {
      move(&f, parts[0], y);
      if_flag(&f, 1);
      move(&f, parts[1], y);
      move(&f, y, z);
    }
    negate(&f, z, out);
    test_output(p, out, "");
    load(&f);
    run_both(&f, factors[i]);
    assert_int_equal(late_of_last(&f),
                     i == 0 ? ETX_RECORD_AHEAD : ETX_RECORD_ROOTS);
    end(&f);
  }
}

// A list of moved tensors, and one with a gap.
static void lists_may_have_moved_tensors(void** state) {
  (void)state;
  for (int count = 1; count < 6; ++count) {
    moves_fixture f;
    start(&f);
    test_program* const p = f.p;
    const int all = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(5 * COUNT), 1024);
    int targets[5];
    const int source = add_scratch(&f);
    negate(&f, f.c, source);
    for (int k = 0; k < 5; ++k) {
      targets[k] = add_scratch(&f);
      if (k < count) {
        move(&f, source, targets[k]);
      } else {
        negate(&f, f.c, targets[k]);
      }
    }
    test_call(p, "aten::cat", "out",
              ARGS(test_tensors(p, targets, 5), f.zero, all, all));
    test_output(p, all, "");
    load(&f);
    run_both(&f, (const float[2]){-1, -1});
    assert_int_equal(late_of_last(&f),
                     count < 5 ? ETX_RECORD_AHEAD : ETX_RECORD_ROOTS);
    end(&f);
  }
}

static void lists_with_gaps_may_have_moved_tensors(void** state) {
  (void)state;
  static const int64_t columns[2] = {1, 0};
  static const float data[COUNT] = {2, 1, 4, 3};
  moves_fixture f;
  start(&f);
  test_program* const p = f.p;
  const int index = test_constant(p, ETX_DTYPE_INT64, SIZES(2),
                                  test_data(p, columns, sizeof columns));
  const int rows = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(2, 2),
                                 test_data(p, data, sizeof data));
  const int moved = test_scratch(p, ETX_DTYPE_INT64, SIZES(2), 512);
  const int out = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 2), 0);
  const int items[2] = {-1, moved};
  move(&f, index, moved);
  test_call(p, "aten::index", "Tensor_out",
            ARGS(rows, test_optional_tensors(p, items, 2), out, out));
  test_output(p, out, "");
  load(&f);
  run_both(&f, (const float[2]){1, 1});
  end(&f);
}

// A target of other fixed sizes, or without the memory for those of its source:
// the move fails if it is run.
static void a_target_must_have_room_for_its_source(void** state) {
  (void)state;
  for (int is_dynamic = 0; is_dynamic < 2; ++is_dynamic) {
    moves_fixture f;
    start(&f);
    test_program* const p = f.p;
    const int y = add_scratch(&f), out = add_scratch(&f);
    const int small = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 512);
    if (is_dynamic != 0) test_dynamic(p, small);
    negate(&f, f.c, y);
    if_flag(&f, 1);
    move(&f, y, small);
    negate(&f, y, out);
    test_output(p, out, "");
    load(&f);
    for (int i = 0; i < 4; ++i) {
      f.pair.truth = i % 2;
      if (i % 2 == 0) {
        assert_ok(sized_pair_run(&f.pair, &(int64_t){i + 1}, &diag));
        continue;
      }
      assert_refused(sized_pair_run(&f.pair, &(int64_t){i + 1}, &diag),
                     is_dynamic != 0 ? ETX_OUT_OF_RANGE : ETX_BAD_ARGUMENT,
                     is_dynamic != 0
                         ? "has room for 2 elements, found 4"
                         : "has fixed size 2 in dimension 0, found 4");
    }
    end(&f);
  }
}

// Conditions: a tensor that is moved, one whose memory is missing, and one of
// several dimensions.
static void conditions_are_tensors_of_bools(void** state) {
  (void)state;
  for (size_t i = 0; i < 3; ++i) {
    moves_fixture f;
    start(&f);
    test_program* const p = f.p;
    const int out = add_scratch(&f), y = add_scratch(&f);
    const int condition =
        i == 0 ? test_scratch(p, ETX_DTYPE_BOOL, SIZES(1), 512)
        : i == 1
            ? test_borrowed(p, ETX_DTYPE_BOOL, SIZES(1))
            : test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SIZES(2, 2)), "");
    if (i == 0) move(&f, f.flag, condition);
    negate(&f, f.c, y);
    negate(&f, y, out);
    f.flag = condition;
    if_flag(&f, 1);
    negate(&f, f.c, out);
    test_output(p, out, "");
    load(&f);
    if (i == 1) {
      assert_refused(sized_pair_run(&f.pair, &(int64_t){1}, &diag),
                     ETX_BAD_FILE, "needs 1 bytes and has 0");
    } else {
      run_both(&f, (const float[2]){1, -1});
    }
    end(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_CONTROL_FLOW, many_sources_are_checked_during_the_run),
      unit_test_with(ETX_CONTROL_FLOW,
                     many_combinations_are_checked_during_the_run),
      unit_test_with(ETX_CONTROL_FLOW, sources_may_be_parts_and_targets),
      unit_test_with(ETX_CONTROL_FLOW, lists_may_have_moved_tensors),
      unit_test_with(ETX_CONTROL_FLOW, lists_with_gaps_may_have_moved_tensors),
      unit_test_with(ETX_CONTROL_FLOW, a_target_must_have_room_for_its_source),
      unit_test_with(ETX_CONTROL_FLOW, conditions_are_tensors_of_bools),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
