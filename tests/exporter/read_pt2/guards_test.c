// Conditions on sizes that an archive states: what they make of the symbols,
// and which checks are left. `decode` takes x [2, s27, 4] and past [2, s64, 4],
// both of 2 to 6 rows; the reader tries 1.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/exporter/reading.h"

#define X "L['x'].size()[1]"
#define PAST "L['past'].size()[1]"

typedef struct guarded {
  reading reading;
  scratch_directory directory;
} guarded;

// Reads `decode` with guards, a list of JSON strings.
static void open_guarded(guarded* g, const char* guards) {
  char list[1000], path[300];
  snprintf(list, sizeof list, "\"guards_code\": [%s]", guards);
  scratch_directory_make(&g->directory);
  scratch_archive(&g->directory, "decode.pt2",
                  ETX_TEST_DATA "/pt2/small_sizes/decode.pt2",
                  "models/model.json", "\"guards_code\": []", list);
  snprintf(path, sizeof path, "%s/decode.pt2", g->directory.path);
  reading_open(&g->reading, path);
  assert_reads(&g->reading);
}

static void close_guarded(guarded* g) {
  reading_close(&g->reading);
  scratch_directory_remove(&g->directory);
}

static const etx_ir_method* method_of(const guarded* g) {
  return &g->reading.module.methods[0];
}

static void expect_range(const guarded* g, const char* name, int64_t low,
                         int64_t high) {
  const etx_symbols* const symbols = &method_of(g)->symbols;
  uint32_t index = 0;
  assert_true(etx_symbols_find(symbols, etx_text_of(name), &index));
  assert_int_equal(symbols->symbols[index].minimum, low);
  assert_int_equal(symbols->symbols[index].maximum, high);
}

static void expect_no_symbol(const guarded* g, const char* name) {
  uint32_t index = 0;
  assert_false(
      etx_symbols_find(&method_of(g)->symbols, etx_text_of(name), &index));
}

// The size of dimension 1 of an input or a value.
static void expect_size(const guarded* g, const char* value, const char* text) {
  const etx_ir_method* const method = method_of(g);
  uint32_t index = 0;
  etx_text printed;
  assert_true(etx_ir_find_value(method, etx_text_of(value), &index));
  assert_int_equal(
      etx_symbols_print(&method->symbols, method->values[index].shape.dims[1],
                        g->reading.module.pool, &printed),
      ETX_OK);
  char found[100];
  snprintf(found, sizeof found, "%.*s", (int)printed.size, printed.data);
  assert_string_equal(found, text);
}

// The checks stand first; each has the guard as its text.
static void expect_checks(const guarded* g, const char* const* texts,
                          size_t count) {
  const etx_ir_method* const method = method_of(g);
  for (size_t i = 0; i < method->node_count; ++i) {
    const etx_ir_node* const node = &method->nodes[i];
    const bool is_check =
        etx_text_is(node->aten, "aten._assert_scalar.default");
    assert_int_equal(is_check, i < count);
    if (!is_check) continue;
    assert_true(etx_text_is(node->args[1].as.string, texts[i]));
  }
}

static void a_comparison_with_a_number_narrows_the_range(void** state) {
  guarded g;
  (void)state;
  open_guarded(&g, "\"" X " > 2\", \"5 >= " PAST "\", \"2*" PAST " >= 6\"");
  expect_range(&g, "s27", 3, 6);
  expect_range(&g, "s64", 3, 5);
  expect_checks(&g, NULL, 0);
  close_guarded(&g);
}

static void a_condition_that_always_holds_leaves_nothing(void** state) {
  guarded g;
  (void)state;
  open_guarded(&g, "\"" X " != 0\", \"" X " <= " X " + " PAST "\", \"max(1, " X
                   ") == " X "\", \"((-1) + 2*" X ") // 2 < 6\"");
  expect_range(&g, "s27", 1, 6);
  expect_range(&g, "s64", 1, 6);
  expect_checks(&g, NULL, 0);
  close_guarded(&g);
}

// 1 is below the stated bound, but the program runs it.
static void a_gap_between_sizes_is_checked(void** state) {
  static const char* const checks[] = {"((-1) + " X ") != 1"};
  guarded g;
  (void)state;
  open_guarded(&g, "\"((-1) + " X ") != 1\"");
  expect_range(&g, "s27", 1, 6);
  expect_checks(&g, checks, 1);
  close_guarded(&g);
}

static void a_comparison_of_two_sizes_is_checked(void** state) {
  static const char* const checks[] = {X " <= " PAST};
  guarded g;
  (void)state;
  open_guarded(&g, "\"" X " <= " PAST "\"");
  expect_range(&g, "s27", 1, 6);
  expect_range(&g, "s64", 1, 6);
  expect_checks(&g, checks, 1);
  close_guarded(&g);
}

static void parts_of_a_condition_may_be_joined(void** state) {
  static const char* const checks[] = {X " == 1 or " X " == " PAST " and " X
                                         " < 4"};
  guarded g;
  (void)state;
  open_guarded(&g, "\"" X " == 1 or " X " == " PAST " and " X " < 4\", \"" PAST
                   " > 7 or " X " > 0\"");
  expect_range(&g, "s27", 1, 6);
  expect_checks(&g, checks, 1);
  close_guarded(&g);
}

static void equal_sizes_have_one_symbol(void** state) {
  guarded g;
  (void)state;
  open_guarded(&g, "\"" PAST " < 5\", \"" PAST " == " X "\"");
  expect_no_symbol(&g, "s64");
  expect_range(&g, "s27", 1, 4);
  expect_size(&g, "past", "s27");
  expect_size(&g, "cat", "2*s27");
  expect_checks(&g, NULL, 0);
  close_guarded(&g);
}

static void a_size_with_a_fixed_remainder_is_a_multiple(void** state) {
  guarded g;
  (void)state;
  open_guarded(&g, "\"(" X " % 2) == 0\", \"(" X " // 2) != 1\", \"((3*" PAST
                   " + 1) % 4) == 2\"");
  expect_no_symbol(&g, "s27");
  expect_no_symbol(&g, "s64");
  expect_size(&g, "x", "2*s27_by_2");
  expect_size(&g, "past", "4*s64_by_4 + 3");
  expect_range(&g, "s27_by_2", 2, 3);
  expect_range(&g, "s64_by_4", 0, 0);
  expect_checks(&g, NULL, 0);
  close_guarded(&g);
}

// The first equality makes a symbol that the second one replaces.
static void replaced_symbols_may_be_replaced_again(void** state) {
  guarded g;
  (void)state;
  open_guarded(&g, "\"(" PAST " % 2) == 1\", \"" X " == 4\", \"(" X
                   " // 2) == (" PAST " // 2)\"");
  expect_range(&g, "s27", 4, 4);
  expect_size(&g, "past", "2*s64_by_2 + 1");
  expect_range(&g, "s64_by_2", 2, 2);
  close_guarded(&g);
}

// A guard of another form may exclude small sizes.
static void an_unknown_condition_keeps_the_stated_bounds(void** state) {
  static const char* const guards[] = {
      "math.log(torch.sym_float(" X ")) <= 1.5",
      "0.5*torch.sym_float(" X ") <= torch.sym_float(L['y'].size()[1])",
      "L['x'].stride()[0] == 4",
      "L['y'].size()[1] <= 4",
      "L['x'].size()[3] <= 4",
      "L['x'].size()[1 <= 4",
      "L['x'",
      "L[",
      X " <= ",
      X " <= 3 or ",
      "",
  };
  (void)state;
  for (size_t i = 0; i < sizeof guards / sizeof guards[0]; ++i) {
    char list[200];
    guarded g;
    snprintf(list, sizeof list, "\"%s\"", guards[i]);
    open_guarded(&g, list);
    expect_range(&g, "s27", 2, 6);
    expect_range(&g, "s64", 2, 6);
    expect_checks(&g, NULL, 0);
    close_guarded(&g);
  }
}

// Sizes 0 and 1, which the archive does not state, are tried too.
static void conditions_with_floats_bound_sizes(void** state) {
  guarded g;
  (void)state;
  open_guarded(&g, "\"math.trunc(0.5*torch.sym_float(" X ")) == 1\"");
  expect_range(&g, "s27", 2, 3);
  expect_checks(&g, NULL, 0);
  close_guarded(&g);
  open_guarded(&g, "\"10.0*torch.sym_float(" X ") ** 0.145 > 2.0\"");
  expect_range(&g, "s27", 1, 6);
  expect_checks(&g, NULL, 0);
  close_guarded(&g);
}

// s27 is 1000 * s, which is 1000 * t, and so on.
static void a_chain_of_factors_that_overflows_is_refused(void** state) {
  char list[1000], path[300];
  long long divisor = 1;
  guarded g;
  (void)state;
  scratch_directory_make(&g.directory);
  scratch_archive(&g.directory, "wide.pt2",
                  ETX_TEST_DATA "/pt2/small_sizes/decode.pt2",
                  "models/model.json", "\"max_val\": 6}", "\"max_val\": null}");
  size_t size = (size_t)snprintf(list, sizeof list, "\"guards_code\": [");
  for (size_t i = 0; i < 7; ++i) {
    size += (size_t)snprintf(list + size, sizeof list - size,
                             "%s\"((" X " // %lld) %% 1000) == 0\"",
                             i == 0 ? "" : ", ", divisor);
    if (i < 6) divisor *= 1000;
  }
  snprintf(list + size, sizeof list - size, "]");
  snprintf(path, sizeof path, "%s/wide.pt2", g.directory.path);
  scratch_archive(&g.directory, "chain.pt2", path, "models/model.json",
                  "\"guards_code\": []", list);
  snprintf(path, sizeof path, "%s/chain.pt2", g.directory.path);
  reading_open(&g.reading, path);
  assert_problem(&g.reading, "sizes overflow by its conditions");
  close_guarded(&g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_comparison_with_a_number_narrows_the_range),
      cmocka_unit_test(a_condition_that_always_holds_leaves_nothing),
      cmocka_unit_test(a_gap_between_sizes_is_checked),
      cmocka_unit_test(a_comparison_of_two_sizes_is_checked),
      cmocka_unit_test(parts_of_a_condition_may_be_joined),
      cmocka_unit_test(equal_sizes_have_one_symbol),
      cmocka_unit_test(a_size_with_a_fixed_remainder_is_a_multiple),
      cmocka_unit_test(replaced_symbols_may_be_replaced_again),
      cmocka_unit_test(an_unknown_condition_keeps_the_stated_bounds),
      cmocka_unit_test(conditions_with_floats_bound_sizes),
      cmocka_unit_test(a_chain_of_factors_that_overflows_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
