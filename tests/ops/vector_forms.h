// Rewrites cases of functional operators for equivalent rows of op_schema.def.

#ifndef ETX_TESTS_OPS_VECTOR_FORMS_H
#define ETX_TESTS_OPS_VECTOR_FORMS_H

#include "tests/ops/vector_tensor.h"

// If a row of vector_forms.def applies to a case, replaces its operator and
// arguments and adds the key "form": outputs without an expected result are
// then not compared. Other cases are not changed.
void vector_forms_apply(const vector_file* file, json_t* one);

#endif
