#include "generate/generator_call.h"

static size_t most_tokens(const etx_generator* generator) {
  size_t most = etx_generator_prompt_method(generator)->most_tokens;
  if (generator->verify.most_tokens > most) {
    most = generator->verify.most_tokens;
  }
  return most;
}

static bool take(etx_arena* arena, size_t rows, size_t columns, int64_t** out) {
  void* memory = NULL;
  *out = NULL;
  if (columns > SIZE_MAX / sizeof **out) return false;
  if (!etx_arena_take_items(arena, rows, columns * sizeof **out, &memory)) {
    return false;
  }
  *out = memory;
  return true;
}

bool etx_generator_call_init(etx_generator_call* call,
                             const etx_generator* generator, etx_arena* arena) {
  const size_t rows = generator->rows;
  *call = (etx_generator_call){.generator = generator};
  return take(arena, rows, most_tokens(generator), &call->tokens) &&
         take(arena, 1, 1, &call->position) &&
         take(arena, rows, 1, &call->padding) &&
         take(arena, rows, generator->decode.most_entries, &call->table);
}

static etx_status set_input(const etx_generator_method* method, size_t index,
                            int64_t* data, const int32_t* sizes, uint8_t rank,
                            etx_diag* diag) {
  const etx_tensor tensor = {
      .data = data, .sizes = sizes, .rank = rank, .dtype = ETX_DTYPE_INT64};
  if (index == SIZE_MAX) return ETX_OK;
  return etx_method_set_input(method->method, index, &tensor, diag);
}

static etx_status read_logits(etx_generator_call* call,
                              const etx_generator_method* method, size_t count,
                              etx_diag* diag) {
  const etx_value* value = NULL;
  ETX_TRY(etx_method_output(method->method, 0, &value));
  const etx_tensor* const logits = &value->as.tensor;
  const size_t tokens = logits->rank == 3 ? count : 1;
  const size_t expected =
      call->generator->rows * tokens * call->generator->vocab_size;
  if (etx_tensor_numel(logits) != expected ||
      !etx_tensor_is_contiguous(logits)) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "the logits have %z elements, expected %z",
                         etx_tensor_numel(logits), expected);
  }
  call->logits = logits->data;
  call->tokens_with_logits = tokens;
  return ETX_OK;
}

static etx_status run(etx_generator_call* call,
                      const etx_generator_method* method, size_t count,
                      size_t position, etx_diag* diag) {
  const int32_t rows = (int32_t)call->generator->rows;
  const int32_t ids[2] = {rows, (int32_t)count};
  const int32_t one[1] = {1};
  const int32_t table[2] = {rows, (int32_t)method->most_entries};
  *call->position = (int64_t)position;
  ETX_TRY(set_input(method, method->input_ids, call->tokens, ids, 2, diag));
  ETX_TRY(set_input(method, method->position, call->position, one, 1, diag));
  ETX_TRY(set_input(method, method->padding, call->padding, ids, 1, diag));
  ETX_TRY(set_input(method, method->beam_rows, call->table, table, 2, diag));
  ETX_TRY(etx_method_run(method->method, diag));
  return read_logits(call, method, count, diag);
}

etx_status etx_generator_call_run(etx_generator_call* call,
                                  const etx_generator_method* method,
                                  size_t count, size_t position,
                                  etx_diag* diag) {
  return etx_diag_seal(diag, run(call, method, count, position, diag));
}
