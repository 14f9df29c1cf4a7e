// Old content of the caches does no harm, because the inputs of `encode` and
// `decode` say which positions count. So nothing is reset between sentences.

#include "samples/translate/translator.h"

#include <stdlib.h>

static etx_status load(etx_translator* translator, const char* method,
                       etx_diag* diag) {
  etx_planned_memory allocator;
  ETX_TRY(etx_module_shared_allocator(&translator->shared, method, &allocator,
                                      diag));
  return etx_module_load_method(&translator->module, method, &allocator, diag);
}

// Counts the inputs of a method.
static etx_status count_inputs(const etx_program* program, const char* method,
                               size_t* out_count, etx_diag* diag) {
  etx_pte_plan plan;
  ETX_TRY(etx_program_find_plan(program, etx_text_of(method), &plan, diag));
  *out_count = etx_pte_input_count(&plan);
  return ETX_OK;
}

static etx_status check_inputs(etx_translator* translator, etx_diag* diag) {
  const etx_program* const program = &translator->module.program;
  size_t encode = 0;
  size_t decode = 0;
  ETX_TRY(count_inputs(program, "encode", &encode, diag));
  ETX_TRY(count_inputs(program, "decode", &decode, diag));
  translator->has_rows = encode == 3;
  if ((encode == 3 && decode == 6) || (encode == 1 && decode == 2)) {
    return ETX_OK;
  }
  return etx_diag_fail(diag, ETX_BAD_FILE,
                       "methods 'encode' and 'decode' take %z and %z inputs, "
                       "expected 1 and 2 or, with rows, 3 and 6",
                       encode, decode);
}

// Reads the numbers of rows and positions from the largest sizes of encode's
// first input.
static etx_status read_form(etx_translator* translator, etx_diag* diag) {
  etx_port_info ids;
  ETX_TRY(check_inputs(translator, diag));
  ETX_TRY(etx_program_input_at(&translator->module.program,
                               etx_text_of("encode"), 0, &ids, diag));
  const etx_pte_tensor* const tensor = &ids.value.as.tensor;
  if (ids.kind != ETX_PTE_TENSOR || tensor->rank != 2 || tensor->sizes[0] < 1 ||
      tensor->sizes[1] < 2) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "method 'encode' does not take ids of sentences");
  }
  translator->rows = translator->has_rows ? (size_t)tensor->sizes[0] : 1;
  const size_t positions = (size_t)tensor->sizes[1];
  translator->positions = positions < ETX_TRANSLATOR_MAX_TOKENS
                              ? positions
                              : ETX_TRANSLATOR_MAX_TOKENS;
  return ETX_OK;
}

static etx_status open_state(etx_translator* translator, etx_diag* diag) {
  ETX_TRY(read_form(translator, diag));
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
  translator->file = vocabulary_path;
  ETX_TRY(etx_translate_tokenizer_open(&translator->tokenizer, vocabulary_path, diag));
  translator->file = model_path;
  const etx_status status = open_model(translator, model_path, parallel, diag);
  if (status != ETX_OK) etx_translate_tokenizer_close(&translator->tokenizer);
  return status;
}

void etx_translator_close(etx_translator* translator) {
  etx_module_shared_close(&translator->shared);
  etx_module_close(&translator->module);
  etx_translate_tokenizer_close(&translator->tokenizer);
}

etx_status etx_sentence_open(etx_sentence* sentence,
                             const etx_translator* translator, etx_text text,
                             etx_diag* diag) {
  int64_t ids[ETX_TRANSLATOR_MAX_TOKENS];
  const size_t count = etx_translate_tokenizer_encode(&translator->tokenizer, text, ids,
                                            ETX_TRANSLATOR_MAX_TOKENS);
  const etx_sentence empty = {.source = NULL};
  *sentence = empty;
  if (count > translator->positions) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "the sentence has %z tokens, the model takes %z",
                         count, translator->positions);
  }
  sentence->source = malloc(count * sizeof *ids);
  if (sentence->source == NULL) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory for a sentence");
  }
  memcpy(sentence->source, ids, count * sizeof *ids);
  sentence->source_count = count;
  return ETX_OK;
}

void etx_sentence_close(etx_sentence* sentence) {
  const etx_sentence empty = {.source = NULL};
  free(sentence->source);
  free(sentence->target);
  *sentence = empty;
}
