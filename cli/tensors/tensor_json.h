// Tensors as JSON.

#ifndef ETX_CLI_TENSORS_TENSOR_JSON_H
#define ETX_CLI_TENSORS_TENSOR_JSON_H

#include <jansson.h>

#include "cli/tensors/host_tensor.h"

// {"type": "float32", "sizes": [..], "data": [..]}, the data flat, in reading
// order; infinities and NaN as strings. New reference.
json_t* etx_tensor_json(const etx_host_tensor* tensor);


#endif
