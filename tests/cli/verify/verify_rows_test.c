// Addresses: arenas, tensors of the caller, and the rows of the blob that say
// which values lie in others.

#include "tests/cli/verify/verify_fixture.h"

#include "cli/verify/verify_arena.h"

static int halves(test_program* p, uint64_t offset) {
  return test_scratch(p, F32, SIZES(2), offset);
}

// ---- the address space ----

static void arenas_have_less_than_2_to_64_bytes(void** state) {
  (void)state;
  if (SIZE_MAX < UINT64_MAX) skip();
  const small s = start(INT64_MAX);
  test_arena(s.p, INT64_MAX);
  test_arena(s.p, INT64_MAX);
  const int x = borrowed_input(s.p);
  relu(s.p, x, four_at(s.p, 0));
  refuse(s.p, "arena '3' has an invalid size of 9223372036854775807 bytes");
}

static void tensors_of_the_caller_have_less_than_2_to_64_bytes(void** state) {
  (void)state;
  if (SIZE_MAX < UINT64_MAX) skip();
  test_program* const p = stock(16);
  for (int i = 0; i < 5; ++i) {
    test_borrowed(p, ETX_DTYPE_UINT8, SIZES(INT32_MAX, INT32_MAX));
  }
  relu_of_input(p, 0);
  refuse(p, "the tensors have more bytes than 64 bits can count");
}

static void more_items_than_memory_holds_are_not_taken(void** state) {
  (void)state;
  etx_verify_arena memory = {NULL};
  assert_null(etx_verify_arena_take(&memory, SIZE_MAX / 2, 3));
  assert_null(etx_verify_arena_take(&memory, SIZE_MAX, 1));
  assert_null(memory.blocks);
  assert_non_null(etx_verify_arena_take(&memory, 0, 8));
  assert_non_null(memory.blocks);
  etx_verify_arena_release(&memory);
  assert_null(memory.blocks);
}

// ---- views ----

static void a_view_has_one_parent(void** state) {
  (void)state;
  const small s = start(32);
  const int x = borrowed_input(s.p);
  const int a = four_at(s.p, 0), b = four_at(s.p, 0), v = halves(s.p, 0);
  relu(s.p, x, a);
  test_output(s.p, a, "y");
  test_view(s.p, v, a, 0);
  test_view(s.p, v, b, 0);
  refuse(s.p,
         "the view row of values '3' and '2' with offset 0 gives a view a "
         "second parent");
}

static void a_view_is_not_a_view_of_itself(void** state) {
  (void)state;
  const small s = start(32);
  const int x = borrowed_input(s.p);
  const int a = test_borrowed(s.p, F32, SIZES(4));
  const int b = test_borrowed(s.p, F32, SIZES(4));
  relu(s.p, x, four_at(s.p, 0));
  test_view(s.p, a, b, 0);
  test_view(s.p, b, a, 0);
  refuse(s.p, "value '1' is a view of itself, directly or through other views");
}

static void a_view_lies_where_its_parent_does(void** state) {
  (void)state;
  const float data[4] = {1, 2, 3, 4};
  for (int planned = 0; planned < 3; ++planned) {
    const small s = start(32);
    const int x = borrowed_input(s.p);
    const uint32_t bytes = test_data(s.p, data, sizeof data);
    const int k = planned == 2 ? halves(s.p, 0)
                               : test_constant(s.p, F32, SIZES(2), bytes);
    const int all = planned == 1 ? four_at(s.p, 0)
                                 : test_constant(s.p, F32, SIZES(4), bytes);
    relu(s.p, x, four_at(s.p, 16));
    test_view(s.p, k, all, 0);
    if (planned) {
      refuse(s.p, "contradicts their addresses in the plan");
    } else {
      accept(s.p);
    }
  }
}

// v has no memory of its own: it lies in a. It is also a part of w, which lies
// elsewhere.
static void a_part_lies_in_its_whole(void** state) {
  (void)state;
  for (int elsewhere = 0; elsewhere < 2; ++elsewhere) {
    const small s = start(64);
    const int x = borrowed_input(s.p);
    const int a = four_at(s.p, 0);
    const int v = test_borrowed(s.p, F32, SIZES(2));
    const int w = test_scratch(s.p, F32, SIZES(3), elsewhere ? 16 : 0);
    const int one = test_scratch(s.p, F32, SIZES(1), elsewhere ? 24 : 8);
    relu(s.p, x, a);
    test_output(s.p, a, "y");
    test_view(s.p, v, a, 0);
    test_view(s.p, w, v, 0);
    test_view(s.p, w, one, 8);
    if (elsewhere) {
      refuse(s.p, "values '3' and '2' with offset 0 contradicts");
    } else {  // the rows agree, but a view of a file of etx is planned
      refuse(s.p, "value '2' is in arena '0'");
    }
  }
}

// Halves of memory of the caller are apart.
static void views_of_memory_of_the_caller_lie_where_rows_say(void** state) {
  (void)state;
  for (uint64_t at = 0; at <= 16; at += 16) {
    const small s = start(64);
    const int all = test_input(s.p, test_borrowed(s.p, F32, SIZES(8)), "all");
    const int x = borrowed_input(s.p);
    const int b = test_borrowed(s.p, F32, SIZES(8));
    const int v = test_borrowed(s.p, F32, SIZES(4));
    const int other = test_borrowed(s.p, F32, SIZES(4)), y = four_at(s.p, 0);
    test_view(s.p, v, b, 16);
    test_view(s.p, other, b, at);
    relu(s.p, all, b);
    relu(s.p, x, other);
    relu(s.p, v, y);
    test_output(s.p, y, "y");
    accept(s.p);  // what is written through a view is what the other shows
  }
}

// ---- parts ----

// The parts of a whole of 8 floats: at these offsets in it, and of these sizes.
typedef struct part_rows {
  uint64_t at[4];
  int32_t sizes[4];
  size_t count;
  const char* message;  // NULL: they cover it
} part_rows;

static void parts_cover_their_whole(void** state) {
  static const part_rows rows[] = {
      {{0, 16}, {4, 4}, 2, NULL},
      {{16, 0}, {4, 4}, 2, NULL},
      {{16, 0, 16, 0}, {4, 4, 2, 6}, 4, NULL},
      {{0, 16}, {4, 3}, 2, "cover only its first 28 bytes, expected all 32"},
      {{0, 20}, {4, 3}, 2, "cover only its first 16 bytes, expected all 32"},
      {{4, 16}, {3, 4}, 2, "cover only its first 0 bytes, expected all 32"},
      {{0}, {7}, 1, "cover only its first 28 bytes, expected all 32"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const small s = start(64);
    const int whole = test_scratch(s.p, F32, SIZES(8), 16);
    const int x = borrowed_input(s.p);
    relu(s.p, x, four_at(s.p, 48));
    for (size_t k = 0; k < rows[i].count; ++k) {
      const int part =
          test_scratch(s.p, F32, SIZES(rows[i].sizes[k]), 16 + rows[i].at[k]);
      test_view(s.p, whole, part, rows[i].at[k]);
    }
    if (rows[i].message == NULL) {
      accept(s.p);
    } else {
      refuse(s.p, rows[i].message);
    }
  }
}

// Each whole has the one before it and four more floats as its parts.
static test_program* nested(int levels) {
  const uint64_t bytes = 16u * (unsigned)(levels + 1);
  test_program* const p = start((int64_t)(2 * bytes)).p;
  const int x = borrowed_input(p);
  int whole = four_at(p, 0);
  relu(p, x, whole);
  for (int i = 1; i <= levels; ++i) {
    const uint64_t at = 16u * (unsigned)i;
    const int part = four_at(p, at), inner = whole;
    relu(p, x, part);
    whole = test_scratch(p, F32, SIZES(4 * (i + 1)), 0);
    test_view(p, whole, inner, 0);
    test_view(p, whole, part, at);
  }
  const int y = test_scratch(p, F32, SIZES(4 * (levels + 1)), bytes);
  relu(p, whole, y);
  test_output(p, y, "y");
  return p;
}

static void parts_are_followed_for_64_levels(void** state) {
  (void)state;
  accept(nested(64));
  refuse(nested(65), "but nothing has written it");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arenas_have_less_than_2_to_64_bytes),
      cmocka_unit_test(tensors_of_the_caller_have_less_than_2_to_64_bytes),
      cmocka_unit_test(more_items_than_memory_holds_are_not_taken),
      cmocka_unit_test(a_view_has_one_parent),
      cmocka_unit_test(a_view_is_not_a_view_of_itself),
      cmocka_unit_test(a_view_lies_where_its_parent_does),
      cmocka_unit_test(a_part_lies_in_its_whole),
      cmocka_unit_test(views_of_memory_of_the_caller_lie_where_rows_say),
      cmocka_unit_test(parts_cover_their_whole),
      cmocka_unit_test(parts_are_followed_for_64_levels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
