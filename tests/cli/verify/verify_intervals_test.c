// The tree of byte intervals against lists of bytes, which are searched one by
// one. A value has one piece here, or two or three if it has a view.

#include "tests/cli/verify/verify_fixture.h"

#include "cli/verify/verify_interval_tree.h"
#include "tests/support/test_random.h"

enum { MOST_VALUES = 80, BYTES = 64, STEPS = 200, ROUNDS = 60 };

typedef struct intervals {
  etx_verify_arena memory;
  etx_verify_method m;
  etx_verify_value values[2 * MOST_VALUES];  // the views come last
  etx_verify_interval_tree tree;
  bool is_valid[3 * MOST_VALUES];  // by piece
} intervals;

static etx_verify_range random_range(uint64_t start, uint64_t end) {
  const uint64_t a =
      (uint64_t)test_random_integer((int64_t)start, (int64_t)end - 1);
  const uint64_t b =
      (uint64_t)test_random_integer((int64_t)a + 1, (int64_t)end);
  return (etx_verify_range){a, b};
}

static void build(intervals* it, uint32_t count) {
  memset(it, 0, sizeof *it);
  it->m.values = it->values;
  it->m.memory = &it->memory;
  it->m.value_count = 2 * count;
  for (uint32_t v = 0; v < 2 * count; ++v) {
    etx_verify_value* const value = &it->values[v];
    value->storage = ETX_VERIFY_STORAGE_PLANNED;
    value->top = v % count;
    const etx_verify_range all = it->values[v % count].range;
    value->range =
        v < count ? random_range(0, BYTES) : random_range(all.start, all.end);
  }
  assert_ok(etx_verify_interval_tree_init(&it->tree, &it->m));
  assert_true(it->tree.count >= count && it->tree.count <= 3 * count);
}

// Each byte of a value is in one of its pieces.
static void check_pieces(const intervals* it, uint32_t count) {
  for (uint32_t v = 0; v < count; ++v) {
    uint64_t at = it->values[v].range.start;
    for (size_t i = 0; i < etx_verify_interval_count(&it->tree, v); ++i) {
      const etx_verify_interval* const piece =
          &it->tree.pieces[etx_verify_interval_at(&it->tree, v, i)];
      assert_int_equal(piece->owner, v);
      assert_int_equal(piece->range.start, at);
      assert_true(piece->range.end > at);
      at = piece->range.end;
    }
    assert_int_equal(at, it->values[v].range.end);
  }
  for (size_t i = 1; i < it->tree.count; ++i) {
    assert_true(it->tree.pieces[i - 1].range.start <=
                it->tree.pieces[i].range.start);
  }
}

// The first valid piece from `from` on that has a byte of `range`.
static size_t next_by_hand(const intervals* it, etx_verify_range range,
                           size_t from) {
  for (size_t i = from; i < it->tree.count; ++i) {
    if (it->is_valid[i] &&
        etx_verify_overlap(it->tree.pieces[i].range, range)) {
      return i;
    }
  }
  return SIZE_MAX;
}

static bool has_by_hand(const intervals* it, uint32_t owner,
                        etx_verify_range range) {
  bool has_some = false;
  for (size_t i = 0; i < it->tree.count; ++i) {
    if (it->tree.pieces[i].owner != owner ||
        !etx_verify_overlap(it->tree.pieces[i].range, range)) {
      continue;
    }
    if (!it->is_valid[i]) return false;
    has_some = true;
  }
  return has_some;
}

static void change(intervals* it, uint32_t count) {
  const uint32_t owner = (uint32_t)test_random_integer(0, count - 1);
  const int64_t kind = test_random_integer(0, 9);
  const etx_verify_range range = random_range(0, BYTES);
  if (kind == 0) {
    etx_verify_interval_tree_remove(&it->tree, owner);
  } else if (kind == 1) {
    uint64_t bits[(3 * MOST_VALUES) / 64 + 1];
    memcpy(bits, it->tree.bits, it->tree.word_count * sizeof *bits);
    for (size_t i = 0; i < it->tree.count; i += 3) {
      bits[i / 64] ^= UINT64_C(1) << i % 64;
      it->is_valid[i] = !it->is_valid[i];
    }
    etx_verify_interval_tree_load(&it->tree, bits);
    return;
  } else if (kind < 5) {
    etx_verify_interval_tree_add(&it->tree, owner, range);
  } else {
    const size_t piece = next_by_hand(it, range, 0);
    if (piece == SIZE_MAX) return;
    etx_verify_interval_tree_remove_one(&it->tree, piece);
    it->is_valid[piece] = false;
    return;
  }
  for (size_t i = 0; i < it->tree.count; ++i) {
    if (it->tree.pieces[i].owner != owner) continue;
    if (kind == 0) {
      it->is_valid[i] = false;
    } else if (etx_verify_overlap(it->tree.pieces[i].range, range)) {
      it->is_valid[i] = true;
    }
  }
}

static void check(const intervals* it, uint32_t count) {
  const uint32_t owner = (uint32_t)test_random_integer(0, count - 1);
  const etx_verify_range range = random_range(0, BYTES);
  size_t from = 0;
  assert_int_equal(etx_verify_interval_tree_has(&it->tree, owner, range),
                   has_by_hand(it, owner, range));
  while (from <= it->tree.count) {
    const size_t expected = next_by_hand(it, range, from);
    assert_true(etx_verify_interval_tree_next(&it->tree, range, from) ==
                expected);
    if (expected == SIZE_MAX) break;
    from = expected + 1;
  }
}

static void intervals_are_found_as_by_hand(void** state) {
  static intervals it;
  (void)state;
  test_random_start();
  for (int round = 0; round < TEST_ROUNDS(ROUNDS); ++round) {
    const uint32_t count = (uint32_t)test_random_integer(
        1, round % 4 == 0 ? MOST_VALUES : round % 12 + 1);
    build(&it, count);
    check_pieces(&it, count);
    for (int step = 0; step < STEPS; ++step) {
      change(&it, count);
      check(&it, count);
    }
    etx_verify_arena_release(&it.memory);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(intervals_are_found_as_by_hand),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
