// The search for the mechanism that changes a result, over lists with faults at
// known places.

#include "cli/bisect/change_search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "cli/bisect/mechanism_list.h"

enum { MOST = 70 };

// A list with mechanisms that change the result, and one whose test fails.
typedef struct faulty_list {
  bool changes[MOST];
  size_t fails_at;  // the count whose test fails; SIZE_MAX: none
  size_t total, tests;
} faulty_list;

static etx_status test_faults(void* context, size_t count, bool* out_differs) {
  faulty_list* const list = context;
  ++list->tests;
  assert_true(count <= list->total);
  if (count == list->fails_at) return ETX_HOST_FAILED;
  *out_differs = false;
  for (size_t i = 0; i < count; ++i) *out_differs |= list->changes[i];
  return ETX_OK;
}

static size_t search(faulty_list* list) {
  size_t found = SIZE_MAX;
  list->tests = 0;
  assert_int_equal(etx_change_search(list->total, test_faults, list, &found),
                   ETX_OK);
  assert_true(list->tests <= etx_change_search_most_tests(list->total));
  return found;
}

static void every_single_fault_is_found(void** state) {
  (void)state;
  for (size_t total = 0; total <= MOST; ++total) {
    faulty_list list = {.fails_at = SIZE_MAX, .total = total};
    assert_int_equal(search(&list), total);
    for (size_t at = 0; at < total; ++at) {
      list.changes[at] = true;
      assert_int_equal(search(&list), at);
      list.changes[at] = false;
    }
  }
}

// Faults that stay: the first one is found.
static void the_first_of_several_faults_is_found(void** state) {
  (void)state;
  for (size_t first = 0; first < MOST; ++first) {
    for (size_t second = first + 1; second < MOST; ++second) {
      faulty_list list = {.fails_at = SIZE_MAX, .total = MOST};
      list.changes[first] = list.changes[second] = true;
      assert_int_equal(search(&list), first);
    }
  }
}

// The result of a fault that a later mechanism hides is unchanged at the end.
static etx_status test_hidden(void* context, size_t count, bool* out_differs) {
  (void)context;
  *out_differs = count >= 10 && count < 20;
  return ETX_OK;
}

static void a_fault_that_is_hidden_at_the_end_is_none(void** state) {
  (void)state;
  size_t found = 0;
  assert_int_equal(etx_change_search(MOST, test_hidden, NULL, &found), ETX_OK);
  assert_int_equal(found, MOST);
}

static void a_failed_test_ends_the_search(void** state) {
  (void)state;
  for (size_t at = 1; at <= MOST; ++at) {
    faulty_list list = {.fails_at = at, .total = MOST};
    list.changes[at - 1] = true;
    size_t found = 0;
    const etx_status status =
        etx_change_search(MOST, test_faults, &list, &found);
    // The count at which the fault is first on is always tested.
    assert_int_equal(status, ETX_HOST_FAILED);
  }
}

static void few_tests_are_made(void** state) {
  (void)state;
  assert_int_equal(etx_change_search_most_tests(0), 0);
  assert_int_equal(etx_change_search_most_tests(1), 1);
  assert_int_equal(etx_change_search_most_tests(2), 2);
  assert_int_equal(etx_change_search_most_tests(64), 7);
  assert_int_equal(etx_change_search_most_tests(65), 8);
}

static bool names(const etx_mechanism_setting* setting, const char* pass) {
  const char* at = strstr(setting->passes, pass);
  const size_t size = strlen(pass);
  for (; at != NULL; at = strstr(at + 1, pass)) {
    if (at > setting->passes && at[-1] == '-' &&
        (at[size] == ',' || at[size] == '\0')) {
      return true;
    }
  }
  return false;
}

// Each step switches on exactly the mechanism that it adds.
static void settings_differ_in_one_mechanism(void** state) {
  (void)state;
  static etx_mechanism_list list;
  static etx_mechanism_setting setting;
  etx_mechanism_list_init(&list, true, NULL);
  assert_true(list.count > 30);
  for (size_t count = 0; count <= list.count; ++count) {
    etx_mechanism_list_setting(&list, count, &setting);
    etx_instruction_set set = ETX_SET_BASE;
    for (size_t i = 0; i < list.count; ++i) {
      const etx_mechanism* const m = &list.items[i];
      const bool is_on = i < count;
      if (m->kind == ETX_MECHANISM_PASS) {
        assert_int_equal(names(&setting, m->name), !is_on);
      } else if (m->kind == ETX_MECHANISM_MEMORY_PLAN) {
        assert_int_equal(setting.algorithm == NULL, is_on);
      } else if (m->kind == ETX_MECHANISM_THREADS) {
        assert_int_equal(setting.has_threads, is_on);
      } else if (is_on) {
        set = m->set;
      }
    }
    assert_int_equal(setting.set, set);
  }
  const size_t all = list.count;
  etx_mechanism_list_init(&list, false, NULL);
  assert_int_equal(list.count, all - 1);
}

static void passes_that_stay_off_are_no_mechanisms(void** state) {
  (void)state;
  static etx_mechanism_list list, all;
  static etx_mechanism_setting setting;
  etx_mechanism_list_init(&all, true, NULL);
  etx_mechanism_list_init(&list, true, "-fuse_attention,-simplify");
  assert_int_equal(list.count, all.count - 2);
  for (size_t count = 0; count <= list.count; count += list.count) {
    etx_mechanism_list_setting(&list, count, &setting);
    assert_true(names(&setting, "fuse_attention"));
    assert_true(names(&setting, "simplify"));
    assert_int_equal(names(&setting, "fold_constants"), count == 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_single_fault_is_found),
      cmocka_unit_test(the_first_of_several_faults_is_found),
      cmocka_unit_test(a_fault_that_is_hidden_at_the_end_is_none),
      cmocka_unit_test(a_failed_test_ends_the_search),
      cmocka_unit_test(few_tests_are_made),
      cmocka_unit_test(settings_differ_in_one_mechanism),
      cmocka_unit_test(passes_that_stay_off_are_no_mechanisms),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
