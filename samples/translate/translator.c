// What an earlier sentence left in the caches does no harm: `encode` states
// how many source positions count, `decode` looks at none beyond the present
// one. So nothing is reset between sentences.

#include "samples/translate/translator.h"

static etx_status load(etx_translator* translator, const char* method,
                       etx_diag* diag) {
  etx_planned_memory allocator;
  ETX_TRY(etx_module_shared_allocator(&translator->shared, method, &allocator,
                                      diag));
  return etx_module_load_method(&translator->module, method, &allocator, diag);
}

// The largest length of encode's input, which is how many positions there are.
static etx_status read_positions(etx_translator* translator, etx_diag* diag) {
  etx_port_info ids;
  ETX_TRY(etx_program_input_at(&translator->module.program,
                               etx_text_of("encode"), 0, &ids, diag));
  if (ids.kind != ETX_PTE_TENSOR || ids.value.as.tensor.rank != 2 ||
      ids.value.as.tensor.sizes[1] < 1) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "method 'encode' does not take ids of one sentence");
  }
  const size_t positions = (size_t)ids.value.as.tensor.sizes[1];
  translator->positions = positions < ETX_TRANSLATOR_MOST_TOKENS
                              ? positions
                              : ETX_TRANSLATOR_MOST_TOKENS;
  return ETX_OK;
}

static etx_status open_state(etx_translator* translator, etx_diag* diag) {
  ETX_TRY(read_positions(translator, diag));
  ETX_TRY(
      etx_module_shared_open(&translator->shared, &translator->module, diag));
  etx_status status = load(translator, "encode", diag);
  if (status == ETX_OK) status = load(translator, "decode", diag);
  if (status != ETX_OK) etx_module_shared_close(&translator->shared);
  return status;
}

static etx_status open_model(etx_translator* translator, const char* path,
                             const etx_parallel* parallel, etx_diag* diag) {
  const etx_module_options options = {.parallel = parallel};
  ETX_TRY(etx_module_open(&translator->module, path, &options, diag));
  const etx_status status = open_state(translator, diag);
  if (status != ETX_OK) etx_module_close(&translator->module);
  return status;
}

etx_status etx_translator_open(etx_translator* translator,
                               const char* model_path,
                               const char* vocabulary_path,
                               const etx_parallel* parallel, etx_diag* diag) {
  ETX_TRY(etx_tokenizer_open(&translator->tokenizer, vocabulary_path, diag));
  const etx_status status = open_model(translator, model_path, parallel, diag);
  if (status != ETX_OK) etx_tokenizer_close(&translator->tokenizer);
  return status;
}

void etx_translator_close(etx_translator* translator) {
  etx_module_shared_close(&translator->shared);
  etx_module_close(&translator->module);
  etx_tokenizer_close(&translator->tokenizer);
}

static etx_status encode(etx_translator* translator, etx_text sentence,
                         etx_diag* diag) {
  int64_t ids[ETX_TRANSLATOR_MOST_TOKENS];
  const size_t count = etx_tokenizer_encode(&translator->tokenizer, sentence,
                                            ids, ETX_TRANSLATOR_MOST_TOKENS);
  if (count > translator->positions) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "the sentence has %z tokens, the model takes %z",
                         count, translator->positions);
  }
  const int32_t sizes[2] = {1, (int32_t)count};
  const etx_value input = etx_module_tensor(ids, ETX_DTYPE_INT64, sizes, 2);
  return etx_module_execute(&translator->module, "encode", &input, 1, diag);
}

static int64_t likeliest(const etx_tensor* logits) {
  const float* const values = logits->data;  // (1, vocabulary)
  const size_t count = etx_tensor_numel(logits);
  size_t best = 0;
  for (size_t i = 1; i < count; ++i) {
    if (values[i] > values[best]) best = i;
  }
  return (int64_t)best;
}

static etx_status step(etx_translator* translator, int64_t token,
                       int64_t position, int64_t* out_next, etx_diag* diag) {
  static const int32_t token_sizes[2] = {1, 1};
  static const int32_t position_sizes[1] = {1};
  const etx_value inputs[2] = {
      etx_module_tensor(&token, ETX_DTYPE_INT64, token_sizes, 2),
      etx_module_tensor(&position, ETX_DTYPE_INT64, position_sizes, 1)};
  const etx_value* logits = NULL;
  ETX_TRY(etx_module_execute(&translator->module, "decode", inputs, 2, diag));
  ETX_TRY(etx_module_output(&translator->module, "decode", 0, &logits, diag));
  if (logits->kind != ETX_VALUE_TENSOR ||
      logits->as.tensor.dtype != ETX_DTYPE_FLOAT32 ||
      etx_tensor_numel(&logits->as.tensor) !=
          translator->tokenizer.piece_count) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "method 'decode' does not give one number a piece");
  }
  *out_next = likeliest(&logits->as.tensor);
  return ETX_OK;
}

etx_status etx_translator_translate(etx_translator* translator,
                                    etx_text sentence,
                                    etx_translation* out_answer,
                                    etx_diag* diag) {
  ETX_TRY(encode(translator, sentence, diag));
  int64_t token = translator->tokenizer.padding_id;
  out_answer->count = 0;
  // The answer may fill all positions but the one of the first input.
  while (out_answer->count + 1 < translator->positions) {
    ETX_TRY(step(translator, token, (int64_t)out_answer->count, &token, diag));
    out_answer->ids[out_answer->count++] = token;
    if (token == translator->tokenizer.end_id) break;
  }
  return ETX_OK;
}
