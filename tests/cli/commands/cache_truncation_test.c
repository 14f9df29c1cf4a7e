// Caches that are cut back to their first rows, in random sequences of calls of
// a model exported from PyTorch (tests/data/pt2/caches): what follows is what a
// fresh session gives that was fed with the words that were kept, bit for bit,
// and so are the bytes of all state. The same for snapshots of a prefix, and
// for caches that are rings (tests/data/pt2/rings) and that slide
// (tests/data/pt2/slides), also after rows were overwritten.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/module/module.h"
#include "tests/cli/command.h"
#include "tests/support/assert_message.h"
#include "tests/support/assert_status.h"
#include "tests/support/test_random.h"

#define ETX ETX_BINARY "/etx"

enum {
  CAPACITY = 12,
  MOST = 6,  // words of a call
  WORDS_KNOWN = 20,
  SEQUENCES = 1000,
  ROW_BYTES = 4 * 2 * 8 * 4,  // of two layers: keys and values of two heads
  HEADER = 64,
};

static etx_diag diag;
static char program[256];
static char ring_program[256];
static char slide_program[256];

// A session, and the words that its caches hold.
typedef struct chat {
  etx_module module;
  etx_module_shared shared;
  etx_method* method;
  int64_t words[2 * CAPACITY];
  size_t count;
  size_t most;  // words of a call
  size_t room;  // words of all calls
} chat;

static int plan_program(void** state) {
  const int made = command_set_up(state);
  snprintf(program, sizeof program, "%s/caches.pte", command_directory);
  command_expect(
      0, WORDS(ETX, "plan", ETX_TEST_DATA "/pt2/caches", "-q", "-o", program));
  snprintf(ring_program, sizeof ring_program, "%s/rings.pte",
           command_directory);
  command_expect(0, WORDS(ETX, "plan", ETX_TEST_DATA "/pt2/rings", "-q", "-o",
                          ring_program));
  snprintf(slide_program, sizeof slide_program, "%s/slides.pte",
           command_directory);
  command_expect(0, WORDS(ETX, "plan", ETX_TEST_DATA "/pt2/slides", "-q", "-o",
                          slide_program));
  test_random_start();
  return made;
}

static void open_chat_of(chat* c, const char* path) {
  etx_planned_memory memory;
  memset(c, 0, sizeof *c);
  c->most = MOST;
  c->room = CAPACITY;
  assert_ok(etx_module_open(&c->module, path, NULL, &diag));
  assert_ok(etx_module_shared_open(&c->shared, &c->module, &diag));
  assert_ok(etx_module_shared_allocator(&c->shared, "step", &memory, &diag));
  assert_ok(etx_module_load_method(&c->module, "step", &memory, &diag));
  c->method = etx_module_method(&c->module, "step");
  assert_non_null(c->method);
}

static void open_chat(chat* c) { open_chat_of(c, program); }

static void close_chat(chat* c) {
  etx_module_shared_close(&c->shared);
  etx_module_close(&c->module);
}

// Appends words; `scores` are those of the last one.
static void say(chat* c, const int64_t* words, size_t count,
                float scores[WORDS_KNOWN]) {
  int32_t size = (int32_t)count;
  int32_t stride = 1;
  int64_t copy[MOST];
  const etx_value* value = NULL;
  memcpy(copy, words, count * sizeof *words);
  const etx_tensor input = {copy, &size, &stride, 1, ETX_DTYPE_INT64};
  assert_ok(etx_method_set_input(c->method, 0, &input, &diag));
  assert_ok(etx_method_run(c->method, &diag));
  assert_ok(etx_method_output(c->method, 0, &value));
  memcpy(scores,
         (const float*)value->as.tensor.data + (count - 1) * WORDS_KNOWN,
         WORDS_KNOWN * sizeof *scores);
  memmove(c->words + c->count, words, count * sizeof *words);
  c->count += count;
}

// A random number of words for one of the calls that say `rest` words. When a
// ring is full, each word has a call of its own.
static size_t draw_call(const chat* c, size_t rest) {
  size_t most = rest < c->most ? rest : c->most;
  if (c->count >= CAPACITY) most = 1;
  if (c->count < CAPACITY && most > CAPACITY - c->count) {
    most = CAPACITY - c->count;
  }
  return (size_t)test_random_integer(1, (int64_t)most);
}

// Appends random words in calls of random lengths.
static void say_more(chat* c, size_t count) {
  float scores[WORDS_KNOWN];
  int64_t words[MOST];
  while (count > 0) {
    const size_t now = draw_call(c, count);
    for (size_t i = 0; i < now; ++i) {
      words[i] = test_random_integer(0, WORDS_KNOWN - 1);
    }
    say(c, words, now, scores);
    count -= now;
  }
}

static void start_again(chat* c) {
  assert_ok(etx_shared_memory_reset(&c->shared.memory, etx_text_of(""), &diag));
  c->count = 0;
}

// Makes `fresh` a session that was fed with the first words of another one, in
// calls of random lengths.
static void feed(chat* fresh, const chat* from, size_t count) {
  float scores[WORDS_KNOWN];
  start_again(fresh);
  while (fresh->count < count) {
    const size_t now = draw_call(fresh, count - fresh->count);
    say(fresh, from->words + fresh->count, now, scores);
  }
}

static void assert_same_state(const chat* a, const chat* b) {
  assert_int_equal(a->shared.memory.planned.size,
                   b->shared.memory.planned.size);
  assert_memory_equal(a->shared.memory.planned.data,
                      b->shared.memory.planned.data,
                      a->shared.memory.planned.size);
}

// Both continue with the same words and must give the same scores.
static void assert_same_continuation(chat* a, chat* b) {
  float left[WORDS_KNOWN];
  float right[WORDS_KNOWN];
  while (a->count < a->room) {
    const size_t now = draw_call(a, a->room - a->count);
    int64_t words[MOST];
    for (size_t i = 0; i < now; ++i) {
      words[i] = test_random_integer(0, WORDS_KNOWN - 1);
    }
    say(a, words, now, left);
    say(b, words, now, right);
    assert_memory_equal(left, right, sizeof left);
    if (test_random_integer(0, 3) == 0) break;
  }
  assert_same_state(a, b);
}

static void truncate_chat(chat* c, size_t length) {
  assert_ok(etx_shared_memory_truncate(&c->shared.memory, etx_text_of(""),
                                       length, &diag));
  c->count = length;
}

static uint64_t length_of(const chat* c) {
  uint64_t length = 0;
  assert_ok(etx_shared_memory_length(&c->shared.memory, etx_text_of("layers.1"),
                                     &length, &diag));
  return length;
}

static void a_truncated_session_equals_a_fresh_one(void** state) {
  (void)state;
  chat c, fresh;
  open_chat(&c);
  open_chat(&fresh);
  for (size_t i = 0; i < SEQUENCES; ++i) {
    start_again(&c);
    for (int64_t cuts = test_random_integer(1, 3); cuts > 0; --cuts) {
      say_more(&c,
               (size_t)test_random_integer(0, (int64_t)(CAPACITY - c.count)));
      const size_t length = (size_t)test_random_integer(0, (int64_t)c.count);
      truncate_chat(&c, length);
      assert_int_equal(length_of(&c), length);
      feed(&fresh, &c, length);
      assert_same_state(&c, &fresh);
      assert_same_continuation(&c, &fresh);
    }
  }
  close_chat(&c);
  close_chat(&fresh);
}

// Takes a snapshot; its size must be that of its rows.
static size_t save_prefix(const chat* c, size_t length, uint8_t* out) {
  size_t needed = 0;
  size_t size = 0;
  assert_ok(etx_shared_memory_save_prefix_needed(&c->shared.memory, length,
                                                 &needed, &diag));
  assert_int_equal(needed, HEADER + sizeof(int64_t) + length * ROW_BYTES);
  assert_ok(etx_shared_memory_save_prefix(
      &c->shared.memory, length, (etx_bytes_mut){out, needed}, &size, &diag));
  assert_int_equal(size, needed);
  return size;
}

static void a_restored_prefix_equals_a_fresh_session(void** state) {
  enum { MOST_BYTES = HEADER + 8 + CAPACITY * ROW_BYTES };
  (void)state;
  chat c, other, fresh;
  static uint8_t snapshot[MOST_BYTES];
  static uint8_t again[MOST_BYTES];
  open_chat(&c);
  open_chat(&other);
  open_chat(&fresh);
  for (size_t i = 0; i < SEQUENCES; ++i) {
    start_again(&c);
    start_again(&other);
    say_more(&c, (size_t)test_random_integer(0, CAPACITY));
    say_more(&other, (size_t)test_random_integer(0, CAPACITY));
    const size_t length = (size_t)test_random_integer(0, (int64_t)c.count);
    const size_t size = save_prefix(&c, length, snapshot);
    const bool is_torn = test_random_integer(0, 3) == 0;
    *other.shared.memory.planned.torn = is_torn;
    assert_ok(etx_shared_memory_restore(&other.shared.memory,
                                        (etx_bytes){snapshot, size}, &diag));
    other.count = length;
    feed(&fresh, &c, length);
    assert_same_state(&other, &fresh);
    assert_int_equal(save_prefix(&fresh, length, again), size);
    assert_memory_equal(snapshot, again, size);
    assert_same_continuation(&other, &fresh);
  }
  close_chat(&c);
  close_chat(&other);
  close_chat(&fresh);
}

static void expect_no_truncation(chat* c, const char* name, size_t length,
                                 etx_status wanted, const char* part) {
  static uint8_t before[8192];
  const etx_planned_memory* memory = &c->shared.memory.planned;
  assert_true(memory->size <= sizeof before);
  memcpy(before, memory->data, memory->size);
  etx_diag_init(&diag);
  assert_refused(etx_shared_memory_truncate(&c->shared.memory,
                                            etx_text_of(name), length, &diag),
                 wanted, part);
  assert_memory_equal(before, memory->data, memory->size);
}

static void refused_truncations_change_nothing(void** state) {
  (void)state;
  chat c;
  int64_t negative = -1;
  open_chat(&c);
  say_more(&c, 5);
  expect_no_truncation(&c, "", 6, ETX_OUT_OF_RANGE, "has 5 rows");
  expect_no_truncation(&c, "layers.2", 1, ETX_NOT_FOUND, "layers.2");
  expect_no_truncation(&c, "position", 1, ETX_NOT_FOUND, "position");
  expect_no_truncation(&c, "layers.0", 1, ETX_BAD_ARGUMENT, "one counter");
  *c.shared.memory.planned.torn = 1;
  expect_no_truncation(&c, "", 1, ETX_TORN_STATE, "torn");
  *c.shared.memory.planned.torn = 0;
  etx_tensor position;
  etx_state_hold hold;
  assert_ok(etx_shared_memory_find(&c.shared.memory, etx_text_of("position"),
                                   &position, &hold, &diag));
  memcpy(position.data, &negative, sizeof negative);
  expect_no_truncation(&c, "", 0, ETX_BAD_STATE, "counter");
  close_chat(&c);
}

// A ring is cut back like any other cache until rows are overwritten.
static void a_ring_keeps_what_was_not_overwritten(void** state) {
  enum { PLENTY = 20000 };
  (void)state;
  chat c, fresh;
  static uint8_t snapshot[PLENTY];
  size_t size = 0;
  open_chat_of(&c, ring_program);
  open_chat_of(&fresh, ring_program);
  say_more(&c, CAPACITY);
  truncate_chat(&c, 5);
  feed(&fresh, &c, 5);
  assert_same_state(&c, &fresh);
  assert_same_continuation(&c, &fresh);
  say_more(&c, CAPACITY - c.count);
  int64_t word = 7;
  float scores[WORDS_KNOWN];
  for (size_t i = 0; i < 3; ++i) say(&c, &word, 1, scores);
  expect_no_truncation(&c, "", CAPACITY + 2, ETX_OUT_OF_RANGE, "room for 12");
  expect_no_truncation(&c, "", 0, ETX_OUT_OF_RANGE, "took the place");
  truncate_chat(&c, CAPACITY + 3);
  assert_ok(etx_shared_memory_save_prefix(&c.shared.memory, CAPACITY + 3,
                                          (etx_bytes_mut){snapshot, PLENTY},
                                          &size, &diag));
  assert_int_equal(size, HEADER + 8 + CAPACITY * ROW_BYTES);
  start_again(&fresh);
  assert_ok(etx_shared_memory_restore(&fresh.shared.memory,
                                      (etx_bytes){snapshot, size}, &diag));
  assert_same_state(&c, &fresh);
  close_chat(&c);
  close_chat(&fresh);
}

// Takes a snapshot of all rows that are left into another session, which goes
// on as the first one does.
static void continue_from_prefix(chat* c, chat* other) {
  enum { MOST_BYTES = HEADER + 8 + CAPACITY * ROW_BYTES };
  static uint8_t snapshot[MOST_BYTES];
  size_t size = 0;
  const size_t rows = c->count < CAPACITY ? c->count : CAPACITY;
  assert_ok(etx_shared_memory_save_prefix(&c->shared.memory, c->count,
                                          (etx_bytes_mut){snapshot, MOST_BYTES},
                                          &size, &diag));
  assert_int_equal(size, HEADER + sizeof(int64_t) + rows * ROW_BYTES);
  assert_ok(etx_shared_memory_restore(&other->shared.memory,
                                      (etx_bytes){snapshot, size}, &diag));
  memcpy(other->words, c->words, sizeof c->words);
  other->count = c->count;
  assert_same_state(c, other);
  assert_same_continuation(c, other);
}

// Random sequences of a program whose caches drop their oldest rows, in calls
// of up to `most` words. They can be cut back until a row was dropped.
static void drop_rows_at_random(const char* path, size_t most) {
  chat c, other, fresh;
  chat* const chats[] = {&c, &other, &fresh};
  size_t refused = 0;
  for (size_t i = 0; i < 3; ++i) {
    open_chat_of(chats[i], path);
    chats[i]->most = most;
    chats[i]->room = 2 * CAPACITY;
  }
  for (size_t i = 0; i < SEQUENCES; ++i) {
    start_again(&c);
    say_more(&c, (size_t)test_random_integer(0, 2 * CAPACITY - 4));
    const size_t length = (size_t)test_random_integer(0, (int64_t)c.count);
    if (c.count > CAPACITY && length < c.count) {
      ++refused;
      expect_no_truncation(&c, "", length, ETX_OUT_OF_RANGE, "took the place");
    } else {
      truncate_chat(&c, length);
      assert_int_equal(length_of(&c), length);
    }
    feed(&fresh, &c, c.count);
    assert_same_state(&c, &fresh);
    continue_from_prefix(&c, &other);
    feed(&fresh, &c, c.count);
    assert_same_state(&c, &fresh);
  }
  assert_true(refused > SEQUENCES / 10 && refused < SEQUENCES);
  for (size_t i = 0; i < 3; ++i) close_chat(chats[i]);
}

static void a_ring_that_drops_rows_equals_a_fresh_one(void** state) {
  (void)state;
  drop_rows_at_random(ring_program, MOST);
}

static void a_cache_that_slid_equals_a_fresh_one(void** state) {
  (void)state;
  drop_rows_at_random(slide_program, 1);
}

static void a_damaged_prefix_is_refused(void** state) {
  (void)state;
  chat c;
  static uint8_t snapshot[HEADER + 8 + 3 * ROW_BYTES];
  static uint8_t before[8192];
  open_chat(&c);
  say_more(&c, 3);
  const size_t size = save_prefix(&c, 3, snapshot);
  const etx_planned_memory* memory = &c.shared.memory.planned;
  say_more(&c, 2);
  memcpy(before, memory->data, memory->size);
  for (size_t i = 0; i < size; ++i) {
    snapshot[i] ^= 0x10;
    assert_status(etx_shared_memory_restore(&c.shared.memory,
                                            (etx_bytes){snapshot, size}, &diag),
                  ETX_BAD_ARGUMENT);
    snapshot[i] ^= 0x10;
  }
  for (size_t less = 0; less < size; ++less) {
    assert_status(etx_shared_memory_restore(&c.shared.memory,
                                            (etx_bytes){snapshot, less}, &diag),
                  ETX_BAD_ARGUMENT);
  }
  assert_memory_equal(before, memory->data, memory->size);
  close_chat(&c);
}

static void one_byte_fewer_holds_no_prefix(void** state) {
  (void)state;
  chat c;
  size_t needed = 0;
  size_t size = 77;
  open_chat(&c);
  say_more(&c, 4);
  assert_ok(etx_shared_memory_save_prefix_needed(&c.shared.memory, 2, &needed,
                                                 &diag));
  uint8_t* const out = malloc(needed - 1);
  assert_status(
      etx_shared_memory_save_prefix(
          &c.shared.memory, 2, (etx_bytes_mut){out, needed - 1}, &size, &diag),
      ETX_OUT_OF_MEMORY);
  assert_int_equal(size, 77);
  free(out);
  close_chat(&c);
}

// The rows of such a cache move in PyTorch. Without the pass that makes it a
// ring, they move here, too, and no prefix can be kept.
static void a_cache_that_slides_becomes_a_ring(void** state) {
  static const char* const forms[] = {ETX_TEST_DATA "/pt2/slides",
                                      ETX_TEST_DATA "/pt2/slides/core"};
  (void)state;
  char path[256];
  chat c;
  float scores[WORDS_KNOWN];
  int64_t word = 7;
  snprintf(path, sizeof path, "%s/slides.pte", command_directory);
  for (size_t i = 0; i < 2; ++i) {
    command_expect_out(0, WORDS(ETX, "plan", forms[i], "-o", path),
                       "4 sliding cache");
    command_expect_out(0, WORDS(ETX, "plan", forms[i], "-o", path),
                       "copies that remain: none");
    command_expect(
        0, WORDS(ETX, "run", path, "--case", ETX_TEST_DATA "/pt2/slides"));
  }
  open_chat_of(&c, path);
  for (size_t i = 0; i < 3; ++i) say(&c, &word, 1, scores);
  truncate_chat(&c, 1);
  close_chat(&c);
  command_expect(0, WORDS(ETX, "plan", forms[0], "-q", "-o", path,
                          "--passes=-slide_to_ring"));
  open_chat_of(&c, path);
  for (size_t i = 0; i < 3; ++i) say(&c, &word, 1, scores);
  expect_no_truncation(&c, "", 1, ETX_OUT_OF_RANGE, "rows move");
  close_chat(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_truncated_session_equals_a_fresh_one),
      cmocka_unit_test(a_restored_prefix_equals_a_fresh_session),
      cmocka_unit_test(refused_truncations_change_nothing),
      cmocka_unit_test(a_ring_keeps_what_was_not_overwritten),
      cmocka_unit_test(a_ring_that_drops_rows_equals_a_fresh_one),
      cmocka_unit_test(a_cache_that_slid_equals_a_fresh_one),
      cmocka_unit_test(a_cache_that_slides_becomes_a_ring),
      cmocka_unit_test(a_damaged_prefix_is_refused),
      cmocka_unit_test(one_byte_fewer_holds_no_prefix),
  };
  return cmocka_run_group_tests(tests, plan_program, command_tear_down);
}
