// Tables are written with the entries that the build has, and nothing else is
// changed.

#include "cli/amalgamate/decided_tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

typedef struct decided_fixture {
  etx_pool pool;
  etx_c_names names;
  etx_c_macros macros;
} decided_fixture;

static void open_tables(decided_fixture* f) {
  etx_pool_init(&f->pool);
  assert_int_equal(etx_c_names_init(&f->names, &f->pool), ETX_OK);
  assert_int_equal(etx_c_macros_init(&f->macros, &f->pool, &f->names), ETX_OK);
}

// What is written for a declaration; "" if it is left as it is.
static const char* decided(decided_fixture* f, const char* text) {
  etx_c_tokens in = {.pool = &f->pool}, out = {.pool = &f->pool};
  etx_text_buffer buffer;
  bool is_decided = false;
  etx_text_buffer_init(&buffer, &f->pool);
  assert_int_equal(etx_c_tokens_read(&in, &f->names, etx_text_of(text)),
                   ETX_OK);
  assert_int_equal(etx_c_decide_table(&in, &f->macros, &out, &is_decided),
                   ETX_OK);
  if (!is_decided) return "";
  etx_c_put_tokens(&out, &buffer);
  etx_text_put(&buffer, "", 1);
  assert_int_equal(buffer.status, ETX_OK);
  return buffer.data;
}

static void takes_the_entry_of_a_known_condition(void** state) {
  (void)state;
  decided_fixture f;
  open_tables(&f);
  assert_string_equal(
      decided(&f,
              "static const loop loops[2] = {\n ((0x6u & 0x2u) != 0 ? "
              "(add_f32) : NULL),\n ((0x0u & 0x2u) != 0 ? (sub_f32) : "
              "NULL),\n};"),
      "static const loop loops[2] = {add_f32, NULL, };");
  assert_string_equal(decided(&f, "int a[] = {(1 ? 0 ? b : c : d)};"),
                      "int a[] = {(0 ? b : c)};");
  assert_string_equal(decided(&f, "int a[] = {(0 ? b : x ? c : d), 2};"),
                      "int a[] = {(x ? c : d), 2};");
  etx_pool_close(&f.pool);
}

static void keeps_brackets_that_mean_something(void** state) {
  (void)state;
  decided_fixture f;
  open_tables(&f);
  assert_string_equal(decided(&f, "int a[] = {sizeof(1 ? b : c)};"),
                      "int a[] = {sizeof(b)};");
  assert_string_equal(decided(&f, "int a[] = {2 * (1 ? b + 1 : c)};"),
                      "int a[] = {2 * (b + 1)};");
  assert_string_equal(decided(&f, "int a[] = {- (1 ? -b : c)};"),
                      "int a[] = {- (-b)};");
  etx_pool_close(&f.pool);
}

static void leaves_what_it_does_not_know(void** state) {
  (void)state;
  decided_fixture f;
  open_tables(&f);
  assert_string_equal(decided(&f, "int a[] = {(x ? b : c)};"), "");
  assert_string_equal(decided(&f, "int a(void) { return (1 ? b : c); }"), "");
  assert_string_equal(decided(&f, "int a = (1 ? b : c);"), "");
  assert_string_equal(decided(&f, "int a[] = {1}; int b(void);"), "");
  // A quotient decides nothing.
  assert_string_equal(decided(&f, "int a[] = {(4 / 2 ? b : c)};"), "");
  etx_pool_close(&f.pool);
}

static void cuts_lines(void** state) {
  (void)state;
  decided_fixture f;
  open_tables(&f);
  char text[1200] = "int a[] = {(1 ? b : c)";
  for (int i = 0; i < 100; ++i) strcat(text, ", NULL");
  strcat(text, "};");
  const char* line = decided(&f, text);
  size_t lines = 0;
  while (*line != '\0') {
    const size_t size = strcspn(line, "\n");
    assert_in_range(size, 1, 80);
    line += size + (line[size] == '\n');
    ++lines;
  }
  assert_in_range(lines, 8, 10);
  etx_pool_close(&f.pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(takes_the_entry_of_a_known_condition),
      cmocka_unit_test(keeps_brackets_that_mean_something),
      cmocka_unit_test(leaves_what_it_does_not_know),
      cmocka_unit_test(cuts_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
