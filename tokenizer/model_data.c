#include "tokenizer/model_data.h"

etx_status etx_model_no_unknown(etx_diag* diag) {
  return etx_diag_fail(
      diag, ETX_BAD_ARGUMENT,
      "the text has characters that are not in the vocabulary, and "
      "the tokenizer has no token for unknown text");
}

etx_status etx_model_no_memory(etx_diag* diag) {
  return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                       "too little memory to encode this text; see "
                       "etx_tokenizer_encode_needed");
}
