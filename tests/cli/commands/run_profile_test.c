// etx run --profile: the trace has calls, instructions with times and tensors,
// and live bytes.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define KV ETX_TEST_DATA "/pt2/kv"
#define CACHE ETX_BINARY "/stateful_model.pte"

static char trace[256];

static int set_up(void** state) {
  if (command_set_up(state) != 0) return -1;
  snprintf(trace, sizeof trace, "%s/trace.json", command_directory);
  return 0;
}

static const char* text_of(const json_t* event, const char* key) {
  const char* const text = json_string_value(json_object_get(event, key));
  return text == NULL ? "" : text;
}

static void a_trace_has_instructions_and_live_bytes(void** state) {
  (void)state;
  command_expect_out(0,
                     WORDS(ETX, "run", CACHE, "get_cache", "--in",
                           "data=[[7, 7, 7]]", "--profile", trace),
                     "data: float32[1, 3] = [[0, 0, 0]]");
  json_t* const root = json_load_file(trace, 0, NULL);
  assert_non_null(root);
  const json_t* const events = json_object_get(root, "traceEvents");
  size_t operators = 0;
  size_t memories = 0;
  double last = 0;
  for (size_t i = 0; i < json_array_size(events); ++i) {
    const json_t* const event = json_array_get(events, i);
    const char* const phase = text_of(event, "ph");
    const json_t* const arguments = json_object_get(event, "args");
    if (strcmp(phase, "C") == 0) {
      ++memories;
      assert_string_equal(text_of(event, "name"), "arena 2, live bytes");
      assert_int_equal(json_integer_value(json_object_get(arguments, "bytes")),
                       800);
    }
    if (strcmp(text_of(event, "cat"), "operator") != 0) continue;
    assert_string_equal(phase, "X");
    const double start = json_number_value(json_object_get(event, "ts"));
    assert_true(start >= last);
    assert_true(json_number_value(json_object_get(event, "dur")) >= 0);
    last = start;
    ++operators;
    assert_string_equal(text_of(event, "name"), "aten::slice_copy.Tensor_out");
    assert_non_null(strstr(text_of(arguments, "tensors"), "float32[1, 3]"));
  }
  assert_int_equal(operators, 1);
  assert_int_equal(memories, 1);
  json_decref(root);
}

// Complete events have a start and a duration, counters have bytes, and an
// instruction lies within its call.
static void check_event(const json_t* event, const json_t** call,
                        size_t* calls) {
  const json_t* const arguments = json_object_get(event, "args");
  const char* const phase = text_of(event, "ph");
  assert_true(json_is_integer(json_object_get(event, "pid")));
  assert_true(json_is_string(json_object_get(event, "name")));
  assert_true(json_is_object(arguments));
  if (strcmp(phase, "M") == 0) return;
  const double start = json_number_value(json_object_get(event, "ts"));
  assert_true(json_is_number(json_object_get(event, "ts")));
  if (strcmp(phase, "C") == 0) {
    assert_true(json_is_integer(json_object_get(arguments, "bytes")));
    return;
  }
  assert_string_equal(phase, "X");
  assert_true(json_is_integer(json_object_get(event, "tid")));
  const double duration = json_number_value(json_object_get(event, "dur"));
  assert_true(duration >= 0);
  if (strcmp(text_of(event, "cat"), "call") == 0) {
    assert_int_equal(json_integer_value(json_object_get(arguments, "call")),
                     (*calls)++);
    *call = event;
    return;
  }
  assert_non_null(*call);
  const double from = json_number_value(json_object_get(*call, "ts"));
  const double length = json_number_value(json_object_get(*call, "dur"));
  assert_true(start >= from - 0.01);
  assert_true(start + duration <= from + length + 0.01);
}

static void all_calls_of_a_case_are_in_one_trace(void** state) {
  char program[300];
  (void)state;
  snprintf(program, sizeof program, "%s/kv.pte", command_directory);
  command_expect(0, WORDS(ETX, "plan", KV, "-o", program));
  command_expect(0,
                 WORDS(ETX, "run", program, "--case", KV, "--profile", trace));
  json_t* const root = json_load_file(trace, 0, NULL);
  json_t* const cases = json_load_file(KV "/cases.json", 0, NULL);
  assert_non_null(root);
  assert_non_null(cases);
  const json_t* call = NULL;
  size_t calls = 0;
  const json_t* const events = json_object_get(root, "traceEvents");
  for (size_t i = 0; i < json_array_size(events); ++i) {
    check_event(json_array_get(events, i), &call, &calls);
  }
  size_t expected = 0;
  const json_t* const list = json_object_get(cases, "calls");
  for (size_t i = 0; i < json_array_size(list); ++i) {
    expected += json_object_get(json_array_get(list, i), "method") != NULL;
  }
  assert_true(expected > 1);
  assert_int_equal(calls, expected);
  json_decref(cases);
  json_decref(root);
}

static void an_unwritable_trace_is_refused(void** state) {
  (void)state;
  command_expect(2, WORDS(ETX, "run", CACHE, "get_cache", "--in", "data=[[1]]",
                          "--profile", "/no/such/folder/trace.json"));
  command_expect_err(2, WORDS(ETX, "run", CACHE, "--smoke", "--profile", trace),
                     "needs METHOD or --case");
}

static void without_a_call_an_older_trace_stays(void** state) {
  (void)state;
  command_write_file(trace, "old");
  command_expect(2, WORDS(ETX, "run", CACHE, "--case", command_directory,
                          "--profile", trace));
  char* const found = command_read_file(trace, NULL);
  assert_string_equal(found, "old");
  free(found);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_trace_has_instructions_and_live_bytes),
      cmocka_unit_test(all_calls_of_a_case_are_in_one_trace),
      cmocka_unit_test(an_unwritable_trace_is_refused),
      cmocka_unit_test(without_a_call_an_older_trace_stays),
  };
  return cmocka_run_group_tests(tests, set_up, command_tear_down);
}
