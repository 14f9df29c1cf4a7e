#include "runtime/method/method_names.h"

// Without etx_format_text, which a program without messages has no other use
// for. There are fewer than 2^32 inputs.
static etx_text numbered(const char* prefix, size_t index,
                         char hold[ETX_INPUT_NAME_BYTES]) {
  const size_t start = strlen(prefix);
  size_t end = start + 1;
  for (size_t left = index; left >= 10; left /= 10) ++end;
  memcpy(hold, prefix, start);
  for (size_t at = end; at > start; index /= 10) {
    hold[--at] = (char)('0' + index % 10);
  }
  return (etx_text){hold, end};
}

etx_text etx_method_input_name(const etx_method* method, size_t index,
                               char hold[ETX_INPUT_NAME_BYTES]) {
  if (method->blob_index == SIZE_MAX) return numbered("input_", index, hold);
  return etx_blob_input_at(&method->program->blob, method->blob_index, index)
      .name;
}

etx_text etx_method_output_name(const etx_method* method, size_t index,
                                char hold[ETX_INPUT_NAME_BYTES]) {
  if (method->blob_index == SIZE_MAX) return numbered("output_", index, hold);
  return etx_blob_output_at(&method->program->blob, method->blob_index, index)
      .name;
}

etx_status etx_method_find_input(const etx_method* method, etx_text name,
                                 size_t* out_index) {
  char hold[ETX_INPUT_NAME_BYTES];
  for (size_t i = 0; i < method->input_count; ++i) {
    if (!etx_text_equal(etx_method_input_name(method, i, hold), name)) continue;
    *out_index = i;
    return ETX_OK;
  }
  return ETX_NOT_FOUND;
}

etx_status etx_method_find_output(const etx_method* method, etx_text name,
                                  size_t* out_index) {
  char hold[ETX_INPUT_NAME_BYTES];
  for (size_t i = 0; i < method->output_count; ++i) {
    if (!etx_text_equal(etx_method_output_name(method, i, hold), name)) {
      continue;
    }
    *out_index = i;
    return ETX_OK;
  }
  return ETX_NOT_FOUND;
}
