// Tests of parts that a build may leave out (format/base/build_parts.h).

#ifndef ETX_TESTS_SUPPORT_OPTIONAL_PARTS_H
#define ETX_TESTS_SUPPORT_OPTIONAL_PARTS_H

#include "format/base/build_parts.h"

static inline void test_skip_left_out(void** state) {
  (void)state;
  skip();
}

// A row of a list of tests: skipped where the part is left out.
#define unit_test_with(part, name) \
  {#name, (part) ? (name) : test_skip_left_out, NULL, NULL, NULL}

#endif
