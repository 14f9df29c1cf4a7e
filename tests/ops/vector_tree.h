// Visits all cases below a directory.

#ifndef ETX_TESTS_OPS_VECTOR_TREE_H
#define ETX_TESTS_OPS_VECTOR_TREE_H

#include "tests/ops/vector_file.h"

typedef void (*vector_visit)(void* context, const vector_file* file,
                             json_t* test_case);

// Visits the cases of every `*.jsonl` below `directory`, in the order of names.
// Returns the number of directories and files that could not be read; each is
// reported on standard error.
size_t vector_tree_walk(const char* directory, vector_visit visit,
                        void* context);

#endif
