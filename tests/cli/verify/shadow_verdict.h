// The findings of an execution on shadow memory.

#ifndef ETX_TESTS_CLI_VERIFY_SHADOW_VERDICT_H
#define ETX_TESTS_CLI_VERIFY_SHADOW_VERDICT_H

#include <stdbool.h>

typedef struct byte_verdict {
  bool is_wrong;
  char why[200];
} byte_verdict;

#endif
