// Encoding begins with the memory that most texts need, because the memory that
// suffices for any text is many times as much.

#include "cli/text/text_model.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/mapped_file.h"
#include "generate/program_tokenizer.h"
#include "generate/program_tokens.h"
#include "runtime/program.h"

static etx_status no_memory(etx_diag* diag) {
  return etx_diag_fail(diag, ETX_HOST_FAILED,
                       "the system has too little memory");
}

// Makes `memory` at least `bytes` large.
static etx_status reserve(etx_text_model* model, size_t bytes, etx_diag* diag) {
  if (bytes <= model->memory.size) return ETX_OK;
  free(model->memory.data);
  model->memory = (etx_bytes_mut){malloc(bytes), bytes};
  if (model->memory.data != NULL) return ETX_OK;
  model->memory.size = 0;
  return no_memory(diag);
}

// ---- constants ----

static bool read_constant(const etx_text_model* model, const char* name,
                          etx_value* out_value) {
  etx_constant_hold hold;
  return etx_program_constant(&model->session.module.program, etx_text_of(name),
                              out_value, &hold, NULL) == ETX_OK;
}

int64_t etx_text_model_integer(const etx_text_model* model, const char* name,
                               int64_t otherwise) {
  etx_value value;
  return read_constant(model, name, &value) && value.kind == ETX_VALUE_INT
             ? value.as.integer
             : otherwise;
}

int64_t etx_text_model_token(const etx_text_model* model, const char* name) {
  int64_t memory[ETX_PROGRAM_TOKENS_MAX];
  etx_token_list tokens;
  return etx_program_tokens(&model->session.module.program, name, memory,
                            &tokens, NULL) == ETX_OK &&
                 tokens.count != 0
             ? tokens.ids[0]
             : -1;
}

bool etx_text_model_string(const etx_text_model* model, const char* name,
                           etx_text* out) {
  etx_value value;
  if (!read_constant(model, name, &value) || value.kind != ETX_VALUE_STRING) {
    return false;
  }
  *out = value.as.string;
  return true;
}

bool etx_text_model_has_method(const etx_text_model* model, const char* name) {
  etx_pte_plan plan;
  return etx_program_find_plan(&model->session.module.program,
                               etx_text_of(name), &plan, NULL) == ETX_OK;
}

// ---- the tokenizer ----

static etx_status load(etx_text_model* model, etx_bytes file, const char* place,
                       etx_diag* diag) {
  size_t bytes = 0;
  etx_diag why;
  etx_diag_init(&why);
  etx_status status = etx_tokenizer_needed(file, &bytes, &why);
  if (status == ETX_OK) {
    model->block = malloc(bytes);
    if (model->block == NULL) return no_memory(diag);
    status = etx_tokenizer_init(&model->tokenizer, file,
                                (etx_bytes_mut){model->block, bytes}, &why);
  }
  if (status == ETX_OK) return ETX_OK;
  return etx_diag_fail(diag, status, "%s: %s", place, why.text);
}

static etx_status open_tokenizer(etx_text_model* model, const char* path,
                                 bool is_needed, etx_diag* diag) {
  etx_bytes bytes;
  if (path == NULL) {
    const etx_program* const program = &model->session.module.program;
    const etx_status status =
        etx_program_tokenizer_file(program, &bytes, is_needed ? diag : NULL);
    if (status == ETX_NOT_FOUND && !is_needed) return ETX_OK;
    if (status != ETX_OK) return status;
    return load(model, bytes, "the program's tokenizer", diag);
  }
  etx_mapped_file file;
  ETX_TRY(etx_mapped_file_open(&file, path, diag));
  const etx_status status = load(model, file.bytes, path, diag);
  etx_mapped_file_close(&file);
  return status;
}

etx_status etx_text_model_open(etx_text_model* model, const char* path,
                               const char* tokenizer_path, bool needs_tokenizer,
                               const etx_run_session_options* session,
                               etx_diag* diag) {
  memset(model, 0, sizeof *model);
  ETX_TRY(etx_run_session_open(&model->session, path, session, diag));
  etx_pool_init(&model->pool);
  const etx_status status =
      open_tokenizer(model, tokenizer_path, needs_tokenizer, diag);
  if (status != ETX_OK) etx_text_model_close(model);
  return status;
}

void etx_text_model_close(etx_text_model* model) {
  etx_pool_close(&model->pool);
  free(model->memory.data);
  free(model->block);
  etx_run_session_close(&model->session);
}

// ---- encoding ----

static etx_status encode(etx_text_model* model,
                         const etx_encode_request* request,
                         etx_encode_output* output, etx_diag* diag) {
  const size_t size = request->text.size;
  const size_t needed = etx_tokenizer_encode_needed(&model->tokenizer, size);
  const size_t usual = 256 * size + 65536;
  ETX_TRY(reserve(model, usual < needed ? usual : needed, diag));
  const etx_status status = etx_tokenizer_encode(&model->tokenizer, request,
                                                 model->memory, output, diag);
  if (status != ETX_OUT_OF_MEMORY) return status;
  etx_diag_init(diag);
  ETX_TRY(reserve(model, needed, diag));
  return etx_tokenizer_encode(&model->tokenizer, request, model->memory, output,
                              diag);
}

// Encodes into an array of the pool, a second time if the text has more ids
// than bytes.
static etx_status encode_all(etx_text_model* model,
                             const etx_encode_request* request, etx_pool* pool,
                             etx_encode_output* output, etx_diag* diag) {
  output->capacity = request->text.size + 256;
  for (;;) {
    output->ids = etx_pool_take(pool, output->capacity * sizeof *output->ids);
    if (output->ids == NULL) return no_memory(diag);
    const etx_status status = encode(model, request, output, diag);
    if (status != ETX_OUT_OF_RANGE || output->count <= output->capacity) {
      return status;
    }
    output->capacity = output->count;
    etx_diag_init(diag);
  }
}

// Adds a token that the program states, the first of several: a SentencePiece
// model does not say what stands around a text.
static void add_stated(const etx_text_model* model, const char* name,
                       int64_t* ids, size_t* count) {
  const int64_t id = etx_text_model_token(model, name);
  if (id >= 0) ids[(*count)++] = id;
}

etx_status etx_text_model_encode(etx_text_model* model, etx_text text,
                                 etx_text_use use, etx_pool* pool,
                                 etx_token_list* out, etx_diag* diag) {
  const etx_encode_request request = {
      .text = text, .no_special_tokens = use == ETX_TEXT_PLAIN};
  etx_encode_output output = {.count = 0};
  etx_diag why;
  etx_diag_init(&why);
  const etx_status status = encode_all(model, &request, pool, &output, &why);
  if (status != ETX_OK) return etx_diag_fail(diag, status, "%s", why.text);
  int64_t* const ids = etx_pool_take(pool, (output.count + 2) * sizeof *ids);
  if (ids == NULL) return no_memory(diag);
  const bool is_silent = etx_tokenizer_is_sentence_piece(&model->tokenizer);
  size_t count = 0;
  if (is_silent && use == ETX_TEXT_PROMPT) {
    add_stated(model, "get_bos_id", ids, &count);
  }
  for (size_t i = 0; i < output.count; ++i) ids[count++] = output.ids[i];
  if (is_silent && use == ETX_TEXT_SOURCE) {
    add_stated(model, "get_eos_ids", ids, &count);
  }
  *out = (etx_token_list){ids, count};
  return ETX_OK;
}

// ---- decoding ----

static etx_status decode(etx_text_model* model, const uint32_t* ids,
                         size_t count, etx_text* out, etx_diag* diag) {
  const size_t needed = etx_tokenizer_decode_needed(&model->tokenizer, count);
  const etx_decode_request request = {ids, count, true};
  for (size_t size = 64 * count + 65536;; size *= 4) {
    if (size > needed) size = needed;
    ETX_TRY(reserve(model, size, diag));
    etx_diag why;
    etx_diag_init(&why);
    const etx_status status = etx_tokenizer_decode(&model->tokenizer, &request,
                                                   model->memory, out, &why);
    if (status == ETX_OK) return ETX_OK;
    if (status != ETX_OUT_OF_MEMORY || size == needed) {
      return etx_diag_fail(diag, status, "%s", why.text);
    }
  }
}

etx_status etx_text_model_decode(etx_text_model* model, const int64_t* ids,
                                 size_t count, etx_text* out, etx_diag* diag) {
  uint32_t* const copy = malloc((count + 1) * sizeof *copy);
  if (copy == NULL) return no_memory(diag);
  for (size_t i = 0; i < count; ++i) copy[i] = (uint32_t)ids[i];
  const etx_status status = decode(model, copy, count, out, diag);
  free(copy);
  return status;
}

// A tokenizer joins tokens differently at the beginning of a text, so the token
// is put behind another text, and what it adds to that is its text.
etx_text etx_text_model_text_of(void* context, int64_t id) {
  etx_text_model* const model = context;
  uint32_t ids[9];
  etx_encode_output output = {.ids = ids, .capacity = 8};
  const etx_encode_request request = {.text = etx_text_of("abcdef"),
                                      .no_special_tokens = true};
  etx_text text = {NULL, 0};
  if (reserve(model, 65536, NULL) != ETX_OK ||
      etx_tokenizer_encode(&model->tokenizer, &request, model->memory, &output,
                           NULL) != ETX_OK) {
    output.count = 0;
  }
  if (decode(model, ids, output.count, &text, NULL) != ETX_OK) return text;
  const size_t before = text.size;
  ids[output.count] = (uint32_t)id;
  if (decode(model, ids, output.count + 1, &text, NULL) != ETX_OK ||
      text.size <= before) {
    return (etx_text){"", 0};
  }
  return (etx_text){text.data + before, text.size - before};
}
