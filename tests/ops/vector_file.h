// The test vectors of one operator: `name.jsonl` with one case in each line,
// and `name.safetensors` with their tensors. tests/data/ops/README.md describes
// the format.

#ifndef ETX_TESTS_OPS_VECTOR_FILE_H
#define ETX_TESTS_OPS_VECTOR_FILE_H

#include "tests/ops/vector_tensor.h"

// Reads both files; `base` is the path without extension. False, with a line
// on standard error, if they cannot be read.
bool vector_file_open(vector_file* file, const char* base);
void vector_file_close(vector_file* file);

#endif
