// Operators of known architectures can all be imported.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exporter/ir/aten_schema.h"
#include "exporter/lower/lowering_table.h"

static const char* const names[] = {
#define MODEL_OPERATOR(aten) aten,
#include "tests/exporter/lower/model_operators.def"
#undef MODEL_OPERATOR
};

static void operators_of_known_models_are_accepted(void** state) {
  (void)state;
  size_t missing = 0;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    const etx_text name = etx_text_of(names[i]);
    if (etx_aten_schema_find(name) != NULL && etx_lowering_find(name) != NULL) {
      continue;
    }
    print_error("'%s' cannot be imported\n", names[i]);
    ++missing;
  }
  assert_int_equal(missing, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operators_of_known_models_are_accepted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
