// Which supported operators are suggested for one that is not.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/ir/aten_schema.h"
#include "exporter/lower/lowering_table.h"
#include "exporter/lower/nearest_operator.h"

static void assert_nearest(const char* wanted, const char* expected) {
  const char* const found = etx_nearest_operator(etx_text_of(wanted));
  if (found == NULL || expected == NULL) {
    assert_ptr_equal(found, expected);
  } else {
    assert_string_equal(found, expected);
  }
}

static void one_or_two_letters_may_differ(void** state) {
  (void)state;
  assert_nearest("aten.reelu.default", "aten.relu.default");
  assert_nearest("aten.ad.Tensor", "aten.add.Tensor");
  assert_nearest("aten.softmxa.int", "aten.softmax.int");
}

static void variants_are_suggested(void** state) {
  (void)state;
  assert_nearest("aten.relu_.default", "aten.relu.default");
  assert_nearest("aten.relu.Scalar", "aten.relu.default");
}

static void an_underscore_at_the_end_means_in_place(void** state) {
  (void)state;
  assert_true(etx_operator_is_in_place(etx_text_of("aten.add_.Tensor")));
  assert_true(etx_operator_is_in_place(etx_text_of("mine.write_.default")));
  assert_false(etx_operator_is_in_place(etx_text_of("aten.add.Tensor")));
  assert_false(etx_operator_is_in_place(etx_text_of("aten.__and__.Tensor")));
  assert_false(etx_operator_is_in_place(etx_text_of("aten._.Tensor")));
}

static void distant_names_are_not_suggested(void** state) {
  (void)state;
  assert_nearest("aten.zzzz.default", NULL);
  assert_nearest("aten.xyz.Tensor", NULL);
  assert_nearest("aten.qedd.Tensor", NULL);
  assert_nearest("mine.add.Tensor", NULL);
}

// The name without namespace and overload.
static etx_text base_of(const char* name) {
  const char* const start = strchr(name, '.') + 1;
  return (etx_text){start, (size_t)(strchr(start, '.') - start)};
}

static bool contains(etx_text text, etx_text part) {
  for (size_t i = 0; i + part.size <= text.size; ++i) {
    if (memcmp(text.data + i, part.data, part.size) == 0) return true;
  }
  return false;
}

// The name of an existing operator is not misspelled.
static void known_operators_are_not_taken_for_misspelled_ones(void** state) {
  (void)state;
  for (size_t i = 0; i < etx_aten_schema_count(); ++i) {
    const char* const name = etx_aten_schema_at(i)->name;
    if (etx_lowering_find(etx_text_of(name)) != NULL) continue;
    const char* const found = etx_nearest_operator(etx_text_of(name));
    if (found == NULL) continue;
    const etx_text a = base_of(name);
    const etx_text b = base_of(found);
    if (!contains(a, b) && !contains(b, a)) {
      fail_msg("'%s' is suggested for '%s'", found, name);
    }
  }
}

static void assert_suggestions(const char* word, const char* expected) {
  const char* names[ETX_NEAREST_OPERATORS];
  char text[512] = "";
  const size_t count = etx_nearest_operators(etx_text_of(word), names);
  for (size_t i = 0; i < count; ++i) {
    if (i != 0) strcat(text, " ");
    strcat(text, names[i]);
  }
  assert_string_equal(text, expected);
}

static void several_operators_are_suggested_for_a_word(void** state) {
  (void)state;
  assert_suggestions("reelu", "aten.relu.default");
  assert_suggestions("aten.reelu.default", "aten.relu.default");
  assert_suggestions("aten::relu.out",
                     "aten.relu.default aten.prelu.default aten.relu6.default "
                     "aten.rnn_relu.input aten.leaky_relu.default");
  assert_suggestions("tensordot", "aten.tensordot.default");
  assert_suggestions("sub",
                     "aten.sub.Tensor aten.rsub.Tensor "
                     "aten.subtract.Tensor");
  assert_suggestions("zzzz", "");
  assert_suggestions("", "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_or_two_letters_may_differ),
      cmocka_unit_test(variants_are_suggested),
      cmocka_unit_test(an_underscore_at_the_end_means_in_place),
      cmocka_unit_test(distant_names_are_not_suggested),
      cmocka_unit_test(known_operators_are_not_taken_for_misspelled_ones),
      cmocka_unit_test(several_operators_are_suggested_for_a_word),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
