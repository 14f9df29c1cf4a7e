// What `etx mem` knows of small programs: each box by hand.

#include "tests/cli/verify/verify_fixture.h"

#include <stdio.h>
#include <string.h>

#include "cli/memory/memory_map.h"

static etx_memory_map map;

static void read_map(test_program* p) {
  etx_diag_init(&diag);
  assert_ok(etx_memory_map_read(&map, test_file(p), &diag));
}

static void end_map(test_program* p) {
  etx_memory_map_close(&map);
  test_program_end(p);
}

static const etx_memory_box* box_of(size_t method, int value) {
  for (size_t i = 0; i < map.methods[method].box_count; ++i) {
    const etx_memory_box* const box = &map.methods[method].boxes[i];
    if (box->value == (uint32_t)value) return box;
  }
  fail_msg("value %d has no box of its own", value);
  return NULL;
}

// "0-3 5-7"
static void expect_spans(const etx_memory_box* box, const char* expected) {
  char text[256] = "";
  for (size_t i = 0; i < box->span_count; ++i) {
    const size_t size = strlen(text);
    snprintf(text + size, sizeof text - size, "%s%u-%u", i == 0 ? "" : " ",
             (unsigned)box->spans[i].start, (unsigned)box->spans[i].end);
  }
  assert_string_equal(text, expected);
}

// "r1 w2"
static void expect_uses(const etx_memory_box* box, const char* expected) {
  char text[256] = "";
  for (size_t i = 0; i < box->use_count; ++i) {
    const size_t size = strlen(text);
    snprintf(text + size, sizeof text - size, "%s%c%u", i == 0 ? "" : " ",
             box->uses[i].is_write ? 'w' : 'r', (unsigned)box->uses[i].step);
  }
  assert_string_equal(text, expected);
}

static void expect_box(int value, uint64_t offset, uint64_t bytes,
                       const char* spans) {
  const etx_memory_box* const box = box_of(0, value);
  assert_int_equal(box->offset, offset);
  assert_int_equal(box->bytes, bytes);
  expect_spans(box, spans);
}

static void expect_arena(uint32_t id, uint64_t bytes, uint64_t bound,
                         uint64_t peak, uint32_t step) {
  for (size_t i = 0; i < map.methods[0].arena_count; ++i) {
    const etx_memory_arena* const arena = &map.methods[0].arenas[i];
    if (arena->id != id) continue;
    assert_int_equal(arena->bytes, bytes);
    assert_int_equal(arena->bound, bound);
    assert_int_equal(arena->peak_bytes, peak);
    assert_int_equal(arena->peak_step, step);
    assert_int_equal(arena->live[step], peak);
    return;
  }
  fail_msg("there is no arena %u", (unsigned)id);
}

// ---- lifespans ----

static void a_value_lives_from_its_write_to_its_last_read(void** state) {
  (void)state;
  const small s = start(64);
  const int x = borrowed_input(s.p);
  const int a = four_at(s.p, 0), b = four_at(s.p, 16), c = four_at(s.p, 32);
  relu(s.p, x, a);
  relu(s.p, a, b);
  add(s.p, a, b, c);
  relu(s.p, c, b);
  test_output(s.p, b, "y");
  read_map(s.p);
  expect_box(a, 0, 16, "0-3");
  expect_box(b, 16, 16, "1-4");
  expect_box(c, 32, 16, "2-4");
  expect_uses(box_of(0, a), "w0 r1 r2");
  expect_uses(box_of(0, x), "r0");
  assert_int_equal(box_of(0, x)->kind, ETX_MEMORY_KIND_CALLER);
  assert_true(box_of(0, x)->is_input);
  assert_true(box_of(0, b)->is_output);
  assert_int_equal(box_of(0, b)->name.size, 1);
  assert_memory_equal(box_of(0, b)->name.data, "y", 1);
  assert_int_equal(etx_memory_first_write(box_of(0, c)), 2);
  expect_arena(1, 64, 48, 48, 2);
  end_map(s.p);
}

static void a_value_written_again_has_two_spans(void** state) {
  (void)state;
  const small s = start(32);
  const int x = borrowed_input(s.p);
  const int a = four_at(s.p, 0), b = four_at(s.p, 16);
  relu(s.p, x, a);
  relu(s.p, a, b);
  relu(s.p, b, b);
  relu(s.p, b, a);
  test_output(s.p, a, "y");
  read_map(s.p);
  expect_box(a, 0, 16, "0-2 3-4");
  expect_box(b, 16, 16, "1-4");
  end_map(s.p);
}

static void a_value_that_is_not_read_lives_for_a_step(void** state) {
  (void)state;
  const small s = start(64);
  const int x = test_input(s.p, four_at(s.p, 0), "x");
  const int a = four_at(s.p, 16), b = four_at(s.p, 32);
  const int unread = test_input(s.p, four_at(s.p, 16), "z");
  const int replaced = test_input(s.p, four_at(s.p, 48), "r");
  relu(s.p, x, b);
  relu(s.p, x, a);
  relu(s.p, b, replaced);
  test_output(s.p, b, "y");
  read_map(s.p);
  expect_box(x, 0, 16, "0-2");
  expect_box(a, 16, 16, "1-2");
  expect_box(b, 32, 16, "0-3");
  expect_box(unread, 16, 16, "0-1");
  expect_box(replaced, 48, 16, "0-1 2-3");
  end_map(s.p);
}

static void an_argument_ends_where_its_result_takes_its_bytes(void** state) {
  (void)state;
  const small s = start(16);
  const int x = borrowed_input(s.p);
  const int a = four_at(s.p, 0), b = four_at(s.p, 0);
  relu(s.p, x, a);
  relu(s.p, a, b);
  test_output(s.p, b, "y");
  read_map(s.p);
  expect_box(a, 0, 16, "0-1");
  expect_box(b, 0, 16, "1-2");
  expect_arena(1, 16, 16, 16, 0);
  end_map(s.p);
}

// ---- views ----

static void views_of_the_blob_are_part_of_their_base(void** state) {
  (void)state;
  const small s = start(48);
  const int x = borrowed_input(s.p);
  const int a = four_at(s.p, 0), b = four_at(s.p, 32);
  const int half = test_scratch(s.p, F32, SIZES(2), 8);
  test_view(s.p, half, a, 8);
  relu(s.p, x, a);
  relu(s.p, x, b);
  test_call(s.p, "aten::cat", "out",
            ARGS(test_tensors(s.p, ARGS(half, half)), test_int(s.p, 0), b, b));
  test_output(s.p, b, "y");
  read_map(s.p);
  expect_box(a, 0, 16, "0-3");
  // All of b is written anew by step 2, and what step 1 wrote is not read.
  expect_box(b, 32, 16, "1-3");
  assert_int_equal(box_of(0, a)->view_count, 1);
  assert_int_equal(box_of(0, a)->views[0], half);
  end_map(s.p);
}

static void parts_written_in_place_make_the_whole(void** state) {
  (void)state;
  const small s = start(48);
  const int x = borrowed_input(s.p);
  const int whole = test_scratch(s.p, F32, SIZES(8), 0);
  const int low = four_at(s.p, 0), high = four_at(s.p, 16);
  const int y = test_scratch(s.p, F32, SIZES(8), 0);
  test_view(s.p, whole, low, 0);
  test_view(s.p, whole, high, 16);
  relu(s.p, x, low);
  relu(s.p, low, high);
  relu(s.p, whole, y);
  test_output(s.p, y, "y");
  read_map(s.p);
  expect_box(whole, 0, 32, "0-2");
  expect_box(y, 0, 32, "2-3");
  assert_int_equal(box_of(0, whole)->view_count, 2);
  end_map(s.p);
}

static void a_view_that_a_stock_file_leaves_out_is_found(void** state) {
  (void)state;
  test_program* const p = stock(64);
  const int x = test_input(p, four_at(p, 0), "x");
  const int a = test_scratch(p, F32, SIZES(2, 2), 16);
  const int view = four_at(p, 16), b = four_at(p, 32);
  relu(p, x, a);
  relu(p, view, b);
  test_output(p, b, "y");
  read_map(p);
  assert_true(map.is_stock);
  expect_box(a, 16, 16, "0-2");
  expect_box(b, 32, 16, "1-2");
  assert_int_equal(box_of(0, a)->view_count, 1);
  end_map(p);
}

// ---- state and constants ----

static void state_is_there_all_the_time(void** state) {
  (void)state;
  const small s = start_with_state(16, 32);
  const int k = test_state(s.p, "k", F32, SIZES(4), 0);
  const int v = test_state(s.p, "v", F32, SIZES(4), 16);
  test_state_row(s.p, "k", F32, SIZES(4), 0, 0, false);
  test_state_row(s.p, "v", F32, SIZES(4), 16, 0, false);
  const int a = four_at(s.p, 0);
  relu(s.p, k, a);
  copy_onto(s.p, v, a);
  read_map(s.p);
  expect_box(k, 0, 16, "0-2");
  expect_box(v, 16, 16, "0-2");
  expect_box(a, 0, 16, "0-2");
  assert_int_equal(box_of(0, k)->kind, ETX_MEMORY_KIND_STATE);
  assert_true(map.methods[0].arenas[1].holds_state);
  expect_arena(2, 32, 32, 32, 0);
  expect_uses(box_of(0, v), "w1");
  end_map(s.p);
}

static void a_stock_value_read_before_it_is_written_is_state(void** state) {
  (void)state;
  test_program* const p = stock(48);
  const int x = test_input(p, four_at(p, 0), "x");
  const int k = four_at(p, 16), a = four_at(p, 32);
  add(p, x, k, a);
  copy_onto(p, k, a);
  test_output(p, a, "y");
  read_map(p);
  assert_int_equal(box_of(0, k)->kind, ETX_MEMORY_KIND_STATE);
  expect_box(k, 16, 16, "0-2");
  end_map(p);
}

static void constants_have_no_arena(void** state) {
  (void)state;
  const small s = start(16);
  const float data[4] = {1, 2, 3, 4};
  const int c =
      test_constant(s.p, F32, SIZES(4), test_data(s.p, data, sizeof data));
  const int a = four_at(s.p, 0);
  relu(s.p, c, a);
  test_output(s.p, a, "y");
  read_map(s.p);
  assert_int_equal(box_of(0, c)->kind, ETX_MEMORY_KIND_CONSTANT);
  assert_int_equal(box_of(0, c)->arena, 0);
  expect_spans(box_of(0, c), "0-1");
  end_map(s.p);
}

static void a_method_without_steps_has_one_column(void** state) {
  (void)state;
  const small s = start(16);
  const int x = test_input(s.p, four_at(s.p, 0), "x");
  test_output(s.p, x, "y");
  read_map(s.p);
  assert_int_equal(map.methods[0].step_count, 1);
  expect_box(x, 0, 16, "0-1");
  end_map(s.p);
}

// ---- jumps ----

// 0 jump to 4 | 1 relu x a | 2 relu a r | 3 jump to 6 | 4 relu x b
// | 5 relu b r | 6 relu r y
static void branches_exclude_each_other(void** state) {
  (void)state;
  const small s = start(64);
  const int x = test_input(s.p, four_at(s.p, 48), "x");
  const int which = test_input(s.p, test_bool(s.p, true), "which");
  const int always = test_bool(s.p, false);
  const int a = four_at(s.p, 0), b = four_at(s.p, 0), r = four_at(s.p, 16);
  const int y = four_at(s.p, 32);
  test_jump_false(s.p, which, 4);
  relu(s.p, x, a);
  relu(s.p, a, r);
  test_jump_false(s.p, always, 6);
  relu(s.p, x, b);
  relu(s.p, b, r);
  relu(s.p, r, y);
  test_output(s.p, y, "y");
  read_map(s.p);
  expect_box(a, 0, 16, "1-3");
  expect_box(b, 0, 16, "4-6");
  expect_box(r, 16, 16, "2-4 5-7");
  expect_box(x, 48, 16, "0-2 4-5");
  expect_box(y, 32, 16, "6-7");
  end_map(s.p);
}

// 0 relu x a | 1 relu a b | 2 relu b c | 3 jump to 1 | 4 relu c y: a is read
// in every round, and nothing else goes from one round to the next.
static void what_a_loop_reads_again_lives_through_it(void** state) {
  (void)state;
  const small s = start(80);
  const int x = borrowed_input(s.p);
  const int again = test_input(s.p, test_bool(s.p, false), "again");
  const int a = four_at(s.p, 0), b = four_at(s.p, 16), c = four_at(s.p, 32);
  const int y = four_at(s.p, 48);
  relu(s.p, x, a);
  relu(s.p, a, b);
  relu(s.p, b, c);
  test_jump_false(s.p, again, 1);
  relu(s.p, c, y);
  test_output(s.p, y, "y");
  read_map(s.p);
  expect_box(a, 0, 16, "0-4");
  expect_box(b, 16, 16, "1-3");
  expect_box(c, 32, 16, "2-5");
  end_map(s.p);
}

// 0 relu x a | 1 relu a b | 2 copy b into row i of l | 3 jump to 1: rows of
// earlier rounds have to last, and before the first one there is none.
static void rows_that_a_loop_collects_live_through_it(void** state) {
  (void)state;
  test_program* const p = stock(96);
  const int x = test_input(p, four_at(p, 0), "x");
  const int again = test_input(p, test_bool(p, false), "again");
  const int row = test_input(p, test_int(p, 0), "row");
  const int a = four_at(p, 16), b = four_at(p, 32);
  const int l = test_scratch(p, F32, SIZES(2, 4), 48);
  relu(p, x, a);
  relu(p, a, b);
  test_call(p, "executorch_prim::et_copy_index", "tensor", ARGS(l, b, row));
  test_jump_false(p, again, 1);
  test_output(p, l, "y");
  read_map(p);
  expect_box(a, 16, 16, "0-4");
  expect_box(b, 32, 16, "1-3");
  expect_box(l, 48, 32, "1-4");
  end_map(p);
}

// A slot that is moved to stands for what it may be.
static void a_moved_header_keeps_its_sources_alive(void** state) {
  (void)state;
  const small s = start(64);
  const int x = borrowed_input(s.p);
  const int which = test_input(s.p, test_bool(s.p, true), "which");
  const int a = four_at(s.p, 0), b = four_at(s.p, 16);
  const int slot = test_borrowed(s.p, F32, SIZES(4));
  const int y = four_at(s.p, 32);
  relu(s.p, x, a);
  relu(s.p, x, b);
  test_move(s.p, a, slot);
  test_jump_false(s.p, which, 5);
  test_move(s.p, b, slot);
  relu(s.p, slot, y);
  test_output(s.p, y, "y");
  read_map(s.p);
  expect_box(a, 0, 16, "0-6");
  expect_box(b, 16, 16, "1-6");
  end_map(s.p);
}

// ---- what is not known ----

static void unknown_calls_use_all_they_name(void** state) {
  (void)state;
  test_program* const p = stock(48);
  char text[64];
  const int x = test_input(p, four_at(p, 0), "x");
  const int a = four_at(p, 16), b = four_at(p, 32);
  test_call(p, "mine::first", "out", ARGS(x, a, a));
  relu(p, a, b);
  test_call(p, "mine::last", "", ARGS(b, x));
  test_output(p, b, "y");
  read_map(p);
  assert_int_equal(map.methods[0].guessed_count, 2);
  expect_box(x, 0, 16, "0-3");
  expect_box(a, 16, 16, "0-2");
  expect_box(b, 32, 16, "1-3");
  const etx_text name =
      etx_memory_step_name(&map.methods[0], 0, text, sizeof text);
  assert_true(etx_text_equal(name, etx_text_of("mine::first.out")));
  end_map(p);
}

static void delegates_are_drawn(void** state) {
  (void)state;
  test_program* const p = stock(32);
  const int x = test_input(p, four_at(p, 0), "x");
  const int y = four_at(p, 16);
  test_delegate(p, "Backend");
  relu(p, x, y);
  test_output(p, y, "y");
  read_map(p);
  char text[64];
  expect_box(x, 0, 16, "0-2");
  expect_box(y, 16, 16, "1-2");
  assert_true(etx_text_equal(etx_memory_step_name(&map.methods[0], 0, text, 64),
                             etx_text_of("Backend")));
  end_map(p);
}

static void a_damaged_file_is_refused(void** state) {
  (void)state;
  const uint8_t bytes[64] = {0};
  etx_diag_init(&diag);
  assert_refused(
      etx_memory_map_read(&map, (etx_bytes){bytes, sizeof bytes}, &diag),
      ETX_BAD_FILE, "");
  etx_memory_map_close(&map);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_value_lives_from_its_write_to_its_last_read),
      cmocka_unit_test(a_value_written_again_has_two_spans),
      cmocka_unit_test(a_value_that_is_not_read_lives_for_a_step),
      cmocka_unit_test(an_argument_ends_where_its_result_takes_its_bytes),
      cmocka_unit_test(views_of_the_blob_are_part_of_their_base),
      cmocka_unit_test(parts_written_in_place_make_the_whole),
      cmocka_unit_test(a_view_that_a_stock_file_leaves_out_is_found),
      cmocka_unit_test(state_is_there_all_the_time),
      cmocka_unit_test(a_stock_value_read_before_it_is_written_is_state),
      cmocka_unit_test(constants_have_no_arena),
      cmocka_unit_test(a_method_without_steps_has_one_column),
      cmocka_unit_test(branches_exclude_each_other),
      cmocka_unit_test(what_a_loop_reads_again_lives_through_it),
      cmocka_unit_test(rows_that_a_loop_collects_live_through_it),
      cmocka_unit_test(a_moved_header_keeps_its_sources_alive),
      cmocka_unit_test(unknown_calls_use_all_they_name),
      cmocka_unit_test(delegates_are_drawn),
      cmocka_unit_test(a_damaged_file_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
