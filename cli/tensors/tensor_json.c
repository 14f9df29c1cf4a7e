#include "cli/tensors/tensor_json.h"

#include <math.h>

#include "cli/tensors/element.h"
#include "cli/json/json_value.h"

static json_t* element(const etx_host_tensor* tensor, size_t index) {
  const etx_dtype_category category = etx_dtype_category_of(tensor->dtype);
  if (category == ETX_CATEGORY_BOOLEAN) {
    return json_boolean(
        etx_element_integer(tensor->dtype, tensor->data, index) != 0);
  }
  if (category == ETX_CATEGORY_INTEGER) {
    return json_integer(
        etx_element_integer(tensor->dtype, tensor->data, index));
  }
  const double real = etx_element_real(tensor->dtype, tensor->data, index);
  if (category == ETX_CATEGORY_FLOATING && isfinite(real)) {
    return json_real(real);
  }
  char text[64];
  etx_element_print(tensor->dtype, tensor->data, index, text, sizeof text);
  return json_string(text);
}

json_t* etx_tensor_json(const etx_host_tensor* tensor) {
  json_t* const object = json_object();
  json_t* const data = json_array();
  const size_t numel = tensor->bytes == 0 ? 0 : etx_host_tensor_numel(tensor);
  for (size_t i = 0; i < numel; ++i) {
    json_array_append_new(data, element(tensor, i));
  }
  json_object_set_new(object, "type",
                      json_string(etx_dtype_name(tensor->dtype)));
  json_object_set_new(object, "sizes",
                      etx_json_sizes(tensor->sizes, tensor->rank));
  json_object_set_new(object, "data", data);
  return object;
}
