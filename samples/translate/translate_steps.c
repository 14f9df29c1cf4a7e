#include "samples/translate/translate_steps.h"

// A value borrows its sizes; they must live until the call ends.
static etx_value row_of(int64_t* values, const int32_t sizes[2]) {
  return etx_module_tensor(values, ETX_DTYPE_INT64, sizes, 1);
}

static etx_value table_of(int64_t* values, const int32_t sizes[2]) {
  return etx_module_tensor(values, ETX_DTYPE_INT64, sizes, 2);
}

etx_status etx_translate_encode(etx_translator* translator,
                                const etx_encode_step* step, etx_diag* diag) {
  const int32_t sizes[2] = {(int32_t)step->rows, (int32_t)step->length};
  const etx_value inputs[3] = {table_of(step->ids, sizes),
                               row_of(step->last, sizes),
                               table_of(step->cache_indices, sizes)};
  return etx_module_execute(&translator->module, "encode", inputs,
                            translator->has_rows ? 3 : 1, diag);
}

static etx_status decode_one(etx_translator* translator,
                             const etx_decode_step* step, etx_diag* diag) {
  static const int32_t sizes[2] = {1, 1};
  const etx_value inputs[2] = {table_of(step->tokens, sizes),
                               row_of(step->positions, sizes)};
  return etx_module_execute(&translator->module, "decode", inputs, 2, diag);
}

static etx_status decode_rows(etx_translator* translator,
                              const etx_decode_step* step, etx_diag* diag) {
  const int32_t own[2] = {(int32_t)step->rows, (int32_t)step->length};
  const int32_t source[2] = {own[0], (int32_t)step->source_length};
  const etx_value inputs[6] = {row_of(step->tokens, own),
                               row_of(step->positions, own),
                               row_of(step->cache_indices, own),
                               table_of(step->own_indices, own),
                               table_of(step->source_indices, source),
                               row_of(step->last, own)};
  return etx_module_execute(&translator->module, "decode", inputs, 6, diag);
}

etx_status etx_translate_decode(etx_translator* translator,
                                const etx_decode_step* step,
                                const float** out_logits, etx_diag* diag) {
  const etx_value* logits = NULL;
  ETX_TRY(translator->has_rows ? decode_rows(translator, step, diag)
                               : decode_one(translator, step, diag));
  ETX_TRY(etx_module_output(&translator->module, "decode", 0, &logits, diag));
  if (logits->kind != ETX_VALUE_TENSOR ||
      logits->as.tensor.dtype != ETX_DTYPE_FLOAT32 ||
      etx_tensor_numel(&logits->as.tensor) !=
          step->rows * translator->tokenizer.piece_count) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "method 'decode' does not give one number per piece");
  }
  *out_logits = logits->as.tensor.data;
  return ETX_OK;
}
