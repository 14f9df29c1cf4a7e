// Tensors that a loop fills row by row, as in stock files: later iterations
// must not overwrite rows of earlier ones.

#include "tests/cli/verify/verify_fixture.h"

#include "cli/verify/verify_internal.h"

// 0 relu x e | 1 relu x t | 2 relu t a | 3 copy a into a row of l | 4 jump to 1
// l lies at 64.
static test_program* collecting(uint64_t early, uint64_t round) {
  test_program* const p = stock(96);
  const int x = test_input(p, four_at(p, 0), "x");
  const int again = test_input(p, test_bool(p, false), "again");
  const int row = test_input(p, test_int(p, 0), "row");
  const int e = four_at(p, early), t = four_at(p, round), a = four_at(p, 48);
  const int l = test_scratch(p, F32, SIZES(2, 4), 64);
  relu(p, x, e);
  relu(p, x, t);
  relu(p, t, a);
  test_call(p, "executorch_prim::et_copy_index", "tensor", ARGS(l, a, row));
  test_jump_false(p, again, 1);
  test_output(p, l, "y");
  return p;
}

static void rows_of_earlier_iterations_must_stay_valid(void** state) {
  (void)state;
  accept(collecting(16, 32));
  refuse(
      collecting(16, 80),
      "value '4' overwrites rows of value '6' that an earlier iteration wrote "
      "(method 'forward') (instruction '1', 'aten::relu.out')");
}

static void bytes_of_rows_may_be_used_before_the_loop(void** state) {
  (void)state;
  accept(collecting(64, 32));
}

// The list had content, which was overwritten.
static void a_list_may_have_lost_its_rows_before_the_loop(void** state) {
  (void)state;
  test_program* const p = stock(128);
  const int x = test_input(p, four_at(p, 0), "x");
  const int again = test_input(p, test_bool(p, false), "again");
  const int row = test_input(p, test_int(p, 0), "row");
  const int all = test_input(p, test_borrowed(p, F32, SIZES(2, 4)), "all");
  const int e = four_at(p, 64), f = four_at(p, 32), a = four_at(p, 48);
  const int l = test_scratch(p, F32, SIZES(2, 4), 64);
  relu(p, all, l);
  relu(p, x, e);
  relu(p, e, f);
  relu(p, f, a);
  test_call(p, "executorch_prim::et_copy_index", "tensor", ARGS(l, a, row));
  test_jump_false(p, again, 3);
  test_output(p, l, "y");
  accept(p);
}

// The loop of `collecting`, a read of the list after it, and an outer loop that
// uses the bytes of the list in between.
static void an_outer_loop_may_use_the_bytes_in_between(void** state) {
  (void)state;
  test_program* const p = stock(112);
  const int x = test_input(p, four_at(p, 0), "x");
  const int again = test_input(p, test_bool(p, false), "again");
  const int more = test_input(p, test_bool(p, false), "more");
  const int row = test_input(p, test_int(p, 0), "row");
  const int a = four_at(p, 48), t = four_at(p, 80), y = four_at(p, 16);
  const int l = test_scratch(p, F32, SIZES(2, 4), 64);
  relu(p, x, a);
  test_call(p, "executorch_prim::et_copy_index", "tensor", ARGS(l, a, row));
  test_jump_false(p, again, 0);
  relu(p, l, l);
  relu(p, x, t);
  relu(p, t, y);
  test_jump_false(p, more, 0);
  test_output(p, y, "y");
  accept(p);
}

static void bytes_of_rows_may_be_used_without_a_loop(void** state) {
  (void)state;
  test_program* const p = stock(96);
  const int x = test_input(p, four_at(p, 0), "x");
  const int row = test_input(p, test_int(p, 0), "row");
  const int t = four_at(p, 32), y = four_at(p, 16);
  const int l = test_scratch(p, F32, SIZES(2, 4), 32);
  test_call(p, "executorch_prim::et_copy_index", "tensor", ARGS(l, x, row));
  relu(p, x, t);
  relu(p, t, y);
  test_output(p, y, "y");
  accept(p);
}

// What else the loop of `collecting` may do with the bytes of its list.
typedef enum visit {
  THROUGH_HEADER,  // a value that takes over the header of the list is written
  THROUGH_ROW,     // a view of it by a row of the blob is written
  UPDATED,         // a view of a view of it is updated in place
  REWRITTEN,       // a row is overwritten, then all of the list is written
  SECOND,          // another list is filled, too
} visit;

static test_program* visiting(visit how) {
  test_program* const p = how == THROUGH_ROW ? start(160).p : stock(160);
  const int x = test_input(p, four_at(p, 0), "x");
  const int again = test_input(p, test_bool(p, false), "again");
  const int row = test_input(p, test_int(p, 0), "row");
  const int a = four_at(p, 48);
  const int l = test_scratch(p, F32, SIZES(2, 4), 64);
  const int all = test_input(p, test_borrowed(p, F32, SIZES(2, 4)), "all");
  relu(p, all, l);
  relu(p, x, a);
  test_call(p, "executorch_prim::et_copy_index", "tensor", ARGS(l, a, row));
  if (how == THROUGH_HEADER) {
    const int v = test_borrowed(p, F32, SIZES(2, 4));
    test_move(p, l, v);
    relu(p, all, v);
  } else if (how == THROUGH_ROW) {
    const int v = four_at(p, 64);
    test_view(p, v, l, 0);
    relu(p, x, v);
  } else if (how == UPDATED) {
    const int at =
        test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(1)), "at");
    const int v = test_borrowed(p, F32, SIZES(2, 4));
    const int part = test_borrowed(p, F32, SIZES(2, 4));
    test_move(p, l, v);
    test_move(p, v, part);
    test_call(p, "aten::index_put_", "",
              ARGS(part, test_optional_tensors(p, ARGS(at)),
                   test_input(p, test_borrowed(p, F32, SIZES(1)), "one"),
                   test_bool(p, false), part));
  } else if (how == REWRITTEN) {
    const int other = four_at(p, 64);
    relu(p, x, other);
    relu(p, other, four_at(p, 96));
    relu(p, all, l);
  } else {
    const int m = test_scratch(p, F32, SIZES(2, 4), 96);
    test_call(p, "executorch_prim::et_copy_index", "tensor", ARGS(m, a, row));
    test_output(p, m, "m");
  }
  test_call(p, "executorch_prim::et_copy_index", "tensor", ARGS(l, a, row));
  test_jump_false(p, again, 1);
  test_output(p, l, "y");
  return p;
}

static void writes_through_the_list_lose_no_row(void** state) {
  (void)state;
  for (int how = THROUGH_HEADER; how <= SECOND; ++how) accept(visiting(how));
}

// Two loops, one in the other: the inner one fills the list.
static void the_innermost_loop_counts(void** state) {
  (void)state;
  for (int spoilt = 0; spoilt < 2; ++spoilt) {
    test_program* const p = stock(160);
    const int x = test_input(p, four_at(p, 0), "x");
    const int again = test_input(p, test_bool(p, false), "again");
    const int more = test_input(p, test_bool(p, false), "more");
    const int row = test_input(p, test_int(p, 0), "row");
    const int l = test_scratch(p, F32, SIZES(2, 4), 64);
    const int t = four_at(p, spoilt ? 80 : 32);
    const int y = test_scratch(p, F32, SIZES(2, 4), 96);
    relu(p, x, four_at(p, 48));
    relu(p, x, t);
    test_call(p, "executorch_prim::et_copy_index", "tensor", ARGS(l, t, row));
    test_jump_false(p, again, 1);
    test_jump_false(p, again, 6);  // forward
    relu(p, l, y);
    test_jump_false(p, more, 0);
    test_output(p, x, "x");
    if (spoilt) {
      refuse(p, "value");
    } else {
      accept(p);
    }
  }
}

// A list that is filled in two places: two loops one after the other, a loop
// and then an outer loop around it, no loop and then one, and no loop at all.
// The second place overwrites rows.
static void all_loops_that_fill_a_list_count(void** state) {
  static const struct {
    int first, second;  // targets of jumps behind the copies; -1: no jump
  } jumps[] = {{0, 3}, {0, 0}, {-1, 2}, {3, 7}};
  (void)state;
  for (size_t i = 0; i < 4; ++i) {
    for (int spoilt = 0; spoilt < 2; ++spoilt) {
      test_program* const p = stock(160);
      const int x = test_input(p, four_at(p, 0), "x");
      const int again = test_input(p, test_bool(p, false), "again");
      const int row = test_input(p, test_int(p, 0), "row");
      const int a = four_at(p, 16), t = four_at(p, spoilt ? 80 : 32);
      const int l = test_scratch(p, F32, SIZES(2, 4), 64);
      relu(p, x, a);
      test_call(p, "executorch_prim::et_copy_index", "tensor", ARGS(l, a, row));
      if (jumps[i].first >= 0) test_jump_false(p, again, jumps[i].first);
      relu(p, x, t);
      relu(p, t, four_at(p, 48));
      test_call(p, "executorch_prim::et_copy_index", "tensor", ARGS(l, a, row));
      test_jump_false(p, again, jumps[i].second);
      test_output(p, l, "y");
      if (spoilt) {
        refuse(p, "overwrites rows of value");
      } else {
        accept(p);
      }
    }
  }
}

// Two lists that the same loop fills, of which one loses rows.
static void each_list_of_a_loop_keeps_its_rows(void** state) {
  static const uint64_t places[] = {32, 80, 112};
  (void)state;
  for (int lost = 0; lost < 3; ++lost) {
    test_program* const p = stock(160);
    const int x = test_input(p, four_at(p, 0), "x");
    const int again = test_input(p, test_bool(p, false), "again");
    const int row = test_input(p, test_int(p, 0), "row");
    const int t = four_at(p, places[lost]), a = four_at(p, 48);
    const int l = test_scratch(p, F32, SIZES(2, 4), 64);
    const int m = test_scratch(p, F32, SIZES(2, 4), 96);
    relu(p, x, a);
    relu(p, x, t);
    relu(p, t, a);
    test_call(p, "executorch_prim::et_copy_index", "tensor", ARGS(l, a, row));
    test_call(p, "executorch_prim::et_copy_index", "tensor", ARGS(m, a, row));
    test_jump_false(p, again, 1);
    test_output(p, l, "l");
    test_output(p, m, "m");
    if (lost == 0) {
      accept(p);
    } else {
      refuse(p, lost == 1 ? "value '3' overwrites rows of value '5'"
                          : "value '3' overwrites rows of value '6'");
    }
  }
}

// The loop goes on behind a jump.
static void rows_stay_valid_until_the_end_of_a_loop(void** state) {
  (void)state;
  for (int spoilt = 0; spoilt < 2; ++spoilt) {
    test_program* const p = stock(160);
    const int x = test_input(p, four_at(p, 0), "x");
    const int again = test_input(p, test_bool(p, false), "again");
    const int row = test_input(p, test_int(p, 0), "row");
    const int a = four_at(p, 48), t = four_at(p, spoilt ? 80 : 16);
    const int l = test_scratch(p, F32, SIZES(2, 4), 64);
    const int y = test_scratch(p, F32, SIZES(2, 4), 96), z = four_at(p, 128);
    relu(p, x, a);
    test_call(p, "executorch_prim::et_copy_index", "tensor", ARGS(l, a, row));
    relu(p, l, y);
    test_jump_false(p, again, 4);
    relu(p, x, t);
    relu(p, t, z);
    test_jump_false(p, again, 0);
    test_output(p, y, "y");
    test_output(p, z, "z");
    if (spoilt) {
      refuse(p, "value '4' overwrites rows of value '5'");
    } else {
      accept(p);
    }
  }
}

// The inner loop begins with the copy; the outer one uses the bytes of the list
// in between.
static void an_inner_loop_may_begin_with_the_copy(void** state) {
  (void)state;
  test_program* const p = stock(160);
  const int x = test_input(p, four_at(p, 0), "x");
  const int again = test_input(p, test_bool(p, false), "again");
  const int more = test_input(p, test_bool(p, false), "more");
  const int row = test_input(p, test_int(p, 0), "row");
  const int a = four_at(p, 48), t = four_at(p, 80);
  const int l = test_scratch(p, F32, SIZES(2, 4), 64);
  const int y = test_scratch(p, F32, SIZES(2, 4), 96);
  relu(p, x, t);
  relu(p, t, a);
  test_call(p, "executorch_prim::et_copy_index", "tensor", ARGS(l, a, row));
  test_jump_false(p, again, 2);
  relu(p, l, y);
  test_jump_false(p, more, 0);
  test_output(p, y, "y");
  accept(p);
}

// In another layout than the plan, t lies in the row of the first iteration. It
// is written in the loop, or before it.
static void rows_stay_valid_in_every_layout(void** state) {
  (void)state;
  for (int kind = 0; kind < 3; ++kind) {
    int x;
    test_program* const p = start_varying(0, &x);
    const int z = borrowed_input(p);
    const int again = test_input(p, test_bool(p, false), "again");
    const int row = test_input(p, test_int(p, 0), "row");
    const int t = varying_at(p, 0), a = four_at(p, 48);
    const int l = test_scratch(p, F32, SIZES(2, 4), 64);
    relu(p, x, t);
    relu(p, z, a);
    test_call(p, "executorch_prim::et_copy_index", "tensor", ARGS(l, a, row));
    test_jump_false(p, again, kind == 0 ? 1 : 0);
    test_output(p, l, "y");
    test_place(p, t, 0, kind == 1 ? 64 : 32, 16);
    test_place(p, a, 0, 0, 16);
    test_place(p, l, 0, 32, 32);
    if (kind < 2) {
      accept(p);
    } else {
      refuse(p,
             "wrote (method 'm') (instruction '0', 'aten::relu.out'), if "
             "blocks move at smaller sizes");
    }
  }
}

// Two parts of one value are in one block, which moves as a whole.
static void parts_beside_the_list_lose_no_row(void** state) {
  (void)state;
  int x;
  test_program* const p = start_varying(0, &x);
  const int z = borrowed_input(p);
  const int again = test_input(p, test_bool(p, false), "again");
  const int row = test_input(p, test_int(p, 0), "row");
  const int l = test_scratch(p, F32, SIZES(2, 4), 64), w = four_at(p, 96);
  const int whole = test_scratch(p, F32, SIZES(12), 64), y = varying_at(p, 0);
  test_view(p, whole, l, 0);
  test_view(p, whole, w, 32);
  relu(p, x, y);
  relu(p, z, w);
  test_call(p, "executorch_prim::et_copy_index", "tensor", ARGS(l, z, row));
  test_jump_false(p, again, 0);
  test_output(p, whole, "whole");
  test_output(p, y, "y");
  accept(p);
}

static void unreachable_instructions_lose_no_row(void** state) {
  (void)state;
  test_program* const p = stock(96);
  const int x = test_input(p, four_at(p, 0), "x");
  const int again = test_input(p, test_bool(p, false), "again");
  const int row = test_input(p, test_int(p, 0), "row");
  const int l = test_scratch(p, F32, SIZES(2, 4), 64), t = four_at(p, 80);
  test_call(p, "executorch_prim::et_copy_index", "tensor", ARGS(l, x, row));
  test_jump_false(p, test_bool(p, false), 3);
  relu(p, x, t);
  test_jump_false(p, again, 0);
  test_output(p, l, "y");
  accept(p);
}

static void the_work_for_rows_has_a_limit(void** state) {
  (void)state;
  test_program* const p = collecting(16, 32);
  etx_pte pte;
  etx_verify_arena memory = {NULL};
  etx_verify_method m;
  assert_ok(etx_pte_open(&pte, test_file(p), NULL, &diag));
  etx_verify_method_init(&m, &pte, NULL, 0, &memory, &diag);
  assert_ok(etx_verify_assign_addresses(&m));
  assert_ok(etx_verify_find_steps(&m));
  assert_ok(etx_verify_find_rebinding(&m));
  // The first instruction once, and the four of the loop twice.
  m.max_row_steps = 9;
  assert_ok(etx_verify_loop_rows(&m));
  m.max_row_steps = 8;
  assert_refused(etx_verify_loop_rows(&m), ETX_UNSUPPORTED,
                 "method 'forward' fills too many tensors row by row");
  etx_verify_arena_release(&memory);
  test_program_end(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(writes_through_the_list_lose_no_row),
      cmocka_unit_test(the_innermost_loop_counts),
      cmocka_unit_test(all_loops_that_fill_a_list_count),
      cmocka_unit_test(rows_stay_valid_in_every_layout),
      cmocka_unit_test(parts_beside_the_list_lose_no_row),
      cmocka_unit_test(unreachable_instructions_lose_no_row),
      cmocka_unit_test(the_work_for_rows_has_a_limit),
      cmocka_unit_test(rows_of_earlier_iterations_must_stay_valid),
      cmocka_unit_test(bytes_of_rows_may_be_used_before_the_loop),
      cmocka_unit_test(a_list_may_have_lost_its_rows_before_the_loop),
      cmocka_unit_test(an_outer_loop_may_use_the_bytes_in_between),
      cmocka_unit_test(bytes_of_rows_may_be_used_without_a_loop),
      cmocka_unit_test(each_list_of_a_loop_keeps_its_rows),
      cmocka_unit_test(rows_stay_valid_until_the_end_of_a_loop),
      cmocka_unit_test(an_inner_loop_may_begin_with_the_copy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
