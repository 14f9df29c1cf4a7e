// The output formats of `etx mem`: text, trace, and the data of the HTML page.

#include "tests/cli/verify/verify_fixture.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json/json_string.h"
#include "cli/memory/memory_formats.h"

enum { MOST_TRACKS = 64 };

typedef struct text_stream {
  FILE* file;
  char* text;
  size_t size;
} text_stream;

static void open_stream(text_stream* stream) {
  stream->file = open_memstream(&stream->text, &stream->size);
  assert_non_null(stream->file);
}

static void close_stream(text_stream* stream) { fclose(stream->file); }

static etx_memory_map map;

static void read_map(test_program* p) {
  etx_diag_init(&diag);
  assert_ok(etx_memory_map_read(&map, test_file(p), &diag));
}

// x is an input; a, b and c are computed in this order; b and c are outputs.
static test_program* four_values(void) {
  const small s = start(48);
  const int x = test_input(s.p, four_at(s.p, 0), "x");
  const int a = four_at(s.p, 16), b = four_at(s.p, 32), c = four_at(s.p, 0);
  relu(s.p, x, a);
  relu(s.p, a, b);
  add(s.p, a, b, c);
  test_output(s.p, b, "b");
  test_output(s.p, c, "c");
  return s.p;
}

static char* text_of(const char* path) {
  text_stream out;
  open_stream(&out);
  assert_ok(etx_memory_text_print(&map, path, out.file));
  close_stream(&out);
  return out.text;
}

static json_t* trace_of(const char* path) {
  text_stream out;
  json_error_t error;
  open_stream(&out);
  assert_ok(etx_memory_trace_print(&map, path, out.file));
  close_stream(&out);
  json_t* const root = json_loads(out.text, JSON_REJECT_DUPLICATES, &error);
  if (root == NULL) fail_msg("%s at %d", error.text, error.line);
  free(out.text);
  return root;
}

// ---- text ----

static void text_shows_addresses_over_time(void** state) {
  (void)state;
  test_program* const p = four_values();
  read_map(p);
  char* const text = text_of("m.pte");
  assert_string_equal(
      text,
      "m.pte: 1 method; x axis: steps, y axis: addresses, one letter for each "
      "value\n"
      "\n"
      "method 'm', arena 1: 48 B (48), 4 values, 3 steps\n"
      "   address ^ |.cc|\n"
      "             |bbb|\n"
      "             |a.d|\n"
      "        step  0 2\n"
      "  peak 48 B at step 2 (aten::add.out), lower bound 48 B, gap 0 bytes, "
      "0.00 %\n"
      "    b          16 at 16             0-3     #1     float32[4]  "
      "aten::relu.out\n"
      "    c          16 at 32             1-3     #2     float32[4]  "
      "aten::relu.out, output 'b'\n"
      "    d          16 at 0              2-3     #3     float32[4]  "
      "aten::add.out, output 'c'\n");
  free(text);
  etx_memory_map_close(&map);
  test_program_end(p);
}

// The diagram has at most 40 rows and 100 columns.
static void expect_bounded(const char* text) {
  size_t rows = 0;
  for (const char* line = text; *line != '\0';) {
    const size_t size = strcspn(line, "\n");
    const char* const frame = memchr(line, '|', size);
    if (frame != NULL) {
      assert_true(size <= 100);
      ++rows;
    }
    line += size + (line[size] == '\n');
  }
  assert_int_equal(rows, 40);
}

static void a_long_method_is_drawn_within_bounds(void** state) {
  (void)state;
  enum { STEPS = 120 };
  const small s = start(64 * STEPS + 12);
  int last = borrowed_input(s.p);
  for (int i = 0; i < STEPS; ++i) {
    const int next = four_at(s.p, 64 * (uint64_t)i);
    relu(s.p, last, next);
    last = next;
  }
  test_output(s.p, last, "y");
  read_map(s.p);
  char* const text = text_of("m.pte");
  expect_bounded(text);
  free(text);
  etx_memory_map_close(&map);
  test_program_end(s.p);
}

static void a_column_shows_its_step_with_the_most_bytes(void** state) {
  (void)state;
  // 168 steps: two to a column. Only step 101 uses the upper half.
  enum { STEPS = 168, FULL = 101 };
  const small s = start(32);
  const int x = borrowed_input(s.p);
  const int low = four_at(s.p, 0), high = four_at(s.p, 16);
  for (int i = 0; i < STEPS; ++i) {
    relu(s.p, i == FULL ? low : x, i == FULL ? high : low);
  }
  test_output(s.p, low, "y");
  read_map(s.p);
  char* const text = text_of("m.pte");
  const char* const row = strstr(text, "address ^ |") + strlen("address ^ |");
  assert_int_equal(strspn(row, "."), FULL / 2);
  assert_int_equal(strcspn(row, "|"), STEPS / 2);
  assert_int_equal(strspn(row + FULL / 2 + 1, "."), STEPS / 2 - FULL / 2 - 1);
  free(text);
  etx_memory_map_close(&map);
  test_program_end(s.p);
}

static void control_characters_in_names_are_replaced(void** state) {
  (void)state;
  test_program* const p = stock(32);
  const int x = test_input(p, four_at(p, 0), "x");
  const int y = four_at(p, 16);
  test_call(p, "mine::\x1b[2J", "out", ARGS(x, y, y));
  test_output(p, y, "y");
  read_map(p);
  char* const text = text_of("m.pte");
  assert_null(strchr(text, '\x1b'));
  assert_non_null(strstr(text, "mine::?[2J.out"));
  free(text);
  etx_memory_map_close(&map);
  test_program_end(p);
}

// ---- trace ----

static int64_t number(const json_t* object, const char* key) {
  const json_t* const item = json_object_get(object, key);
  assert_true(json_is_integer(item));
  return json_integer_value(item);
}

static bool is_phase(const json_t* event, const char* phase) {
  return strcmp(json_string_value(json_object_get(event, "ph")), phase) == 0;
}

// Slices of a track are in order of time and do not overlap.
static void expect_slices_apart(const json_t* events) {
  int64_t tracks[MOST_TRACKS] = {0}, ends[MOST_TRACKS] = {0};
  size_t track_count = 0;
  for (size_t i = 0; i < json_array_size(events); ++i) {
    const json_t* const event = json_array_get(events, i);
    size_t track = 0;
    assert_true(number(event, "pid") > 0);
    assert_true(json_is_string(json_object_get(event, "name")));
    if (!is_phase(event, "X")) continue;
    while (track < track_count && tracks[track] != number(event, "tid")) {
      ++track;
    }
    if (track == track_count) tracks[track_count++] = number(event, "tid");
    assert_true(number(event, "dur") > 0);
    assert_true(number(event, "ts") >= ends[track]);
    ends[track] = number(event, "ts") + number(event, "dur");
  }
}

static size_t count_events(const json_t* events, const char* phase,
                           const char* category) {
  size_t count = 0;
  for (size_t i = 0; i < json_array_size(events); ++i) {
    const json_t* const event = json_array_get(events, i);
    const char* const found = json_string_value(json_object_get(event, "cat"));
    if (!is_phase(event, phase)) continue;
    count +=
        category == NULL || (found != NULL && strcmp(found, category) == 0);
  }
  return count;
}

static void trace_has_a_slice_for_each_value(void** state) {
  (void)state;
  test_program* const p = four_values();
  read_map(p);
  json_t* const root = trace_of("m.pte");
  const json_t* const events = json_object_get(root, "traceEvents");
  expect_slices_apart(events);
  assert_int_equal(count_events(events, "X", "instruction"), 3);
  assert_int_equal(count_events(events, "X", "scratch"), 4);
  // 32 bytes from step 0, 48 from step 2, none at the end.
  static const int64_t expected[][2] = {{0, 32}, {2, 48}, {3, 0}};
  size_t next = 0;
  for (size_t i = 0; i < json_array_size(events); ++i) {
    const json_t* const event = json_array_get(events, i);
    if (!is_phase(event, "C")) continue;
    assert_int_equal(number(event, "ts"), expected[next][0]);
    assert_int_equal(number(json_object_get(event, "args"), "bytes"),
                     expected[next][1]);
    ++next;
  }
  assert_int_equal(next, 3);
  json_decref(root);
  etx_memory_map_close(&map);
  test_program_end(p);
}

// ---- data of the page ----

static void strings_are_escaped_for_html(void** state) {
  (void)state;
  static const char hostile[] =
      "</script><!--\\\"&'\x01\x7f\xc3\xa9\xf0\x9f\x98\x80\xff\xe2\x80\xa8"
      "\xed\xa0\x80\xc0\xaf";
  text_stream out;
  open_stream(&out);
  etx_json_string_write(out.file, etx_text_of(hostile));
  close_stream(&out);
  assert_string_equal(
      out.text,
      "\"\\u003c/script\\u003e\\u003c!--\\u005c\\u0022\\u0026'\\u0001\\u007f"
      "\\u00e9\\ud83d\\ude00\\ufffd\\u2028\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd"
      "\"");
  json_t* const text = json_loads(out.text, JSON_DECODE_ANY, NULL);
  assert_non_null(text);
  json_decref(text);
  free(out.text);
}

static void the_page_is_one_file_with_the_data_in_it(void** state) {
  (void)state;
  test_program* const p = stock(32);
  const int x = test_input(p, four_at(p, 0), "x");
  const int y = four_at(p, 16);
  text_stream out;
  test_call(p, "mine::</script><script>alert(1)", "out", ARGS(x, y, y));
  test_output(p, y, "y");
  read_map(p);
  open_stream(&out);
  etx_memory_html_print(&map, "<b>.pte", out.file);
  close_stream(&out);
  assert_null(strstr(out.text, "alert(1)<"));
  assert_null(strstr(out.text, "<script>alert"));
  assert_null(strstr(out.text, "<b>.pte"));
  assert_null(strstr(out.text, "{{"));
  assert_null(strstr(out.text, "://"));
  assert_non_null(strstr(out.text, "\\u003c/script\\u003e"));
  free(out.text);
  etx_memory_map_close(&map);
  test_program_end(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_shows_addresses_over_time),
      cmocka_unit_test(a_long_method_is_drawn_within_bounds),
      cmocka_unit_test(a_column_shows_its_step_with_the_most_bytes),
      cmocka_unit_test(control_characters_in_names_are_replaced),
      cmocka_unit_test(trace_has_a_slice_for_each_value),
      cmocka_unit_test(strings_are_escaped_for_html),
      cmocka_unit_test(the_page_is_one_file_with_the_data_in_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
