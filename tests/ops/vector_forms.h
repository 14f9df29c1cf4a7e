// Cases of functional operators, rewritten for rows that express the same.

#ifndef ETX_TESTS_OPS_VECTOR_FORMS_H
#define ETX_TESTS_OPS_VECTOR_FORMS_H

#include "tests/ops/vector_tensor.h"

// Gives a case that a row of vector_forms.def applies to that row's operator
// and arguments, and the mark "form": results that the case does not state are
// not compared. Other cases are left alone.
void vector_forms_apply(const vector_file* file, json_t* one);

#endif
