// Tensors as JSON.

#ifndef ETX_CLI_TENSORS_TENSOR_JSON_H
#define ETX_CLI_TENSORS_TENSOR_JSON_H

#include <jansson.h>

#include "cli/tensors/host_tensor.h"

// {"type": "float32", "sizes": [..], "data": [..]}. The data is flat, in
// row-major order; infinities and NaN are strings. New reference.
json_t* etx_tensor_json(const etx_host_tensor* tensor);

#endif
