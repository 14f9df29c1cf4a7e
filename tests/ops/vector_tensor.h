// The tensors of a vector file.

#ifndef ETX_TESTS_OPS_VECTOR_TENSOR_H
#define ETX_TESTS_OPS_VECTOR_TENSOR_H

#include <jansson.h>

#include "format/base/size_limits.h"
#include "format/tensor/dtype.h"

typedef struct vector_tensor {
  etx_dtype dtype;
  size_t rank;
  int32_t sizes[ETX_MAX_RANK];
  const unsigned char* data;  // dense, in the file's memory
  size_t size;                // bytes
} vector_tensor;

typedef struct vector_file {
  json_t* cases;   // array of objects
  json_t* header;  // of the safetensors file
  unsigned char* bytes;
  size_t size;
  size_t data_start;  // where the tensors begin in `bytes`
} vector_file;

// Finds a tensor by name; false if there is none or its dtype is unknown.
bool vector_file_find(const vector_file* file, const char* name,
                      vector_tensor* out);

// Turns pairs of floats in the last dimension into complex numbers; false if
// the last dimension is not 2 or the dtype is not a float.
bool vector_file_make_complex(vector_tensor* tensor);

#endif
