#include "generate/program_tokenizer.h"

static etx_status check_format(const etx_program* program, etx_diag* diag) {
  etx_value format;
  etx_constant_hold hold;
  if (etx_program_constant(program, etx_text_of("tokenizer_format"), &format,
                           &hold, NULL) != ETX_OK) {
    return ETX_OK;  // the bytes tell the formats apart
  }
  if (format.kind == ETX_VALUE_STRING &&
      (etx_text_equal(format.as.string, etx_text_of("tokenizer.json")) ||
       etx_text_equal(format.as.string, etx_text_of("sentencepiece")))) {
    return ETX_OK;
  }
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "constant 'tokenizer_format' is neither "
                       "'tokenizer.json' nor 'sentencepiece'");
}

static etx_status find_file(const etx_program* program, etx_bytes* out_file,
                            etx_diag* diag) {
  etx_value value;
  etx_constant_hold hold;
  const etx_status status = etx_program_constant(
      program, etx_text_of("tokenizer_blob"), &value, &hold, NULL);
  if (status != ETX_OK) {
    return etx_diag_fail(diag, status,
                         "the program carries no tokenizer (constant "
                         "'tokenizer_blob'): export it with one");
  }
  const etx_tensor* const tensor = &value.as.tensor;
  if (value.kind != ETX_VALUE_TENSOR || tensor->dtype != ETX_DTYPE_UINT8 ||
      tensor->rank != 1) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "constant 'tokenizer_blob' is not uint8 [n]");
  }
  ETX_TRY(check_format(program, diag));
  *out_file = (etx_bytes){tensor->data, etx_tensor_numel(tensor)};
  return ETX_OK;
}

etx_status etx_program_tokenizer_file(const etx_program* program,
                                      etx_bytes* out_file, etx_diag* diag) {
  return etx_diag_seal(diag, find_file(program, out_file, diag));
}
