#include "runtime/method/method_names.h"

// Does not use etx_format_text, so that images without messages need not link
// it. There are fewer than 2^32 inputs.
static etx_text numbered(const char* prefix, size_t index,
                         char name_buffer[ETX_INPUT_NAME_BYTES]) {
  const size_t start = strlen(prefix);
  size_t end = start + 1;
  for (size_t left = index; left >= 10; left /= 10) ++end;
  memcpy(name_buffer, prefix, start);
  for (size_t at = end; at > start; index /= 10) {
    name_buffer[--at] = (char)('0' + index % 10);
  }
  return (etx_text){name_buffer, end};
}

etx_text etx_method_input_name(const etx_method* method, size_t index,
                               char name_buffer[ETX_INPUT_NAME_BYTES]) {
  if (method->blob_index == SIZE_MAX)
    return numbered("input_", index, name_buffer);
  return etx_blob_input_at(&method->program->blob, method->blob_index, index)
      .name;
}

static etx_text output_name(const etx_method* method, size_t index,
                            char name_buffer[ETX_INPUT_NAME_BYTES]) {
  if (method->blob_index == SIZE_MAX)
    return numbered("output_", index, name_buffer);
  return etx_blob_output_at(&method->program->blob, method->blob_index, index)
      .name;
}

etx_status etx_method_find_input(const etx_method* method, etx_text name,
                                 size_t* out_index) {
  char name_buffer[ETX_INPUT_NAME_BYTES];
  for (size_t i = 0; i < method->input_count; ++i) {
    if (!etx_text_equal(etx_method_input_name(method, i, name_buffer), name))
      continue;
    *out_index = i;
    return ETX_OK;
  }
  return ETX_NOT_FOUND;
}

etx_status etx_method_find_output(const etx_method* method, etx_text name,
                                  size_t* out_index) {
  char name_buffer[ETX_INPUT_NAME_BYTES];
  for (size_t i = 0; i < method->output_count; ++i) {
    if (!etx_text_equal(output_name(method, i, name_buffer), name)) {
      continue;
    }
    *out_index = i;
    return ETX_OK;
  }
  return ETX_NOT_FOUND;
}
