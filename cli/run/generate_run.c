// An encoder reads the prompt once, and the decoder begins with the tokens that
// the program states. Rows that it has for other prompts get the same one.

#include "cli/run/generate_run.h"

#include "runtime/program.h"

static bool has_method(const etx_run_session* session, const char* name) {
  etx_pte_plan plan;
  return etx_program_find_plan(&session->module.program, etx_text_of(name),
                               &plan, NULL) == ETX_OK;
}

static bool read_constant(const etx_run_session* session, const char* name,
                          etx_value* out_value, etx_constant_hold* hold) {
  return etx_program_constant(&session->module.program, etx_text_of(name),
                              out_value, hold, NULL) == ETX_OK;
}

static int64_t read_integer(const etx_run_session* session, const char* name,
                            int64_t otherwise) {
  etx_value value;
  etx_constant_hold hold;
  return read_constant(session, name, &value, &hold) &&
                 value.kind == ETX_VALUE_INT
             ? value.as.integer
             : otherwise;
}

static etx_status take_ids(etx_pool* pool, size_t count, int64_t** out,
                           etx_diag* diag) {
  *out = count > SIZE_MAX / sizeof **out
             ? NULL
             : etx_pool_take(pool, count * sizeof **out);
  if (*out != NULL) return ETX_OK;
  return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory for %z tokens", count);
}

// ---- the encoder ----

// Sets an input [rows, count] to the prompt in each row, or to ones.
static etx_status set_rows(etx_method* method, const char* name,
                           const etx_token_list* prompt, etx_pool* pool,
                           etx_diag* diag) {
  etx_port_info info;
  int64_t* rows = NULL;
  size_t index = 0;
  if (etx_method_find_input(method, etx_text_of(name), &index) != ETX_OK) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "method 'encode' has no input '%s': it does not read "
                         "tokens",
                         name);
  }
  ETX_TRY(etx_program_input_at(method->program, etx_text_of("encode"), index,
                               &info, diag));
  const etx_pte_tensor* const tensor = &info.value.as.tensor;
  if (info.kind != ETX_PTE_TENSOR || tensor->rank != 2 ||
      tensor->sizes[0] < 1 || prompt->count > (size_t)tensor->sizes[1]) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "the prompt has %z tokens, method 'encode' takes %i",
                         prompt->count,
                         tensor->rank == 2 ? (int64_t)tensor->sizes[1] : 0);
  }
  const size_t count = (size_t)tensor->sizes[0];
  ETX_TRY(take_ids(pool, count * prompt->count, &rows, diag));
  for (size_t i = 0; i < count * prompt->count; ++i) {
    rows[i] = prompt->ids == NULL ? 1 : prompt->ids[i % prompt->count];
  }
  const int32_t sizes[2] = {tensor->sizes[0], (int32_t)prompt->count};
  const etx_tensor value = {
      .data = rows, .sizes = sizes, .rank = 2, .dtype = ETX_DTYPE_INT64};
  return etx_method_set_input(method, index, &value, diag);
}

etx_status etx_generate_run_find_sound(etx_method* encode, size_t* out_index,
                                       bool* out_has_features, etx_diag* diag) {
  static const char* const names[] = {"input_values", "input_features"};
  for (int i = 0; i < 2; ++i) {
    *out_has_features = i == 1;
    if (etx_method_find_input(encode, etx_text_of(names[i]), out_index) ==
        ETX_OK) {
      return ETX_OK;
    }
  }
  return etx_diag_fail(diag, ETX_UNSUPPORTED,
                       "method 'encode' has no input 'input_values' or "
                       "'input_features': it does not read sound");
}

static etx_status set_sound(etx_method* method, const etx_tensor* sound,
                            etx_diag* diag) {
  size_t index = 0;
  bool has_features = false;
  ETX_TRY(etx_generate_run_find_sound(method, &index, &has_features, diag));
  return etx_method_set_input(method, index, sound, diag);
}

static etx_status encode(etx_run_session* session, const etx_generate_run* run,
                         etx_pool* pool, etx_diag* diag) {
  const etx_token_list* const prompt = &run->prompt;
  const etx_token_list ones = {NULL, prompt->count};
  etx_method* method = NULL;
  ETX_TRY(etx_run_session_method(session, "encode", &method, diag));
  if (run->sound != NULL) {
    ETX_TRY(set_sound(method, run->sound, diag));
    return etx_run_session_run(session, method, diag);
  }
  ETX_TRY(set_rows(method, "input_ids", prompt, pool, diag));
  ETX_TRY(set_rows(method, "attention_mask", &ones, pool, diag));
  return etx_run_session_run(session, method, diag);
}

// The tokens that the decoder begins with.
static etx_status decoder_start(const etx_run_session* session, etx_pool* pool,
                                etx_token_list* out, etx_diag* diag) {
  etx_value forced;
  etx_constant_hold hold;
  int64_t* ids = NULL;
  size_t count = 0;
  const int64_t* more = NULL;
  if (read_constant(session, "get_forced_decoder_ids", &forced, &hold) &&
      forced.kind == ETX_VALUE_TENSOR &&
      forced.as.tensor.dtype == ETX_DTYPE_INT64) {
    more = forced.as.tensor.data;
    count = etx_tensor_numel(&forced.as.tensor);
  }
  ETX_TRY(take_ids(pool, count + 1, &ids, diag));
  ids[0] = read_integer(session, "get_decoder_start_token_id", 0);
  if (count != 0) memcpy(ids + 1, more, count * sizeof *ids);
  *out = (etx_token_list){ids, count + 1};
  return ETX_OK;
}

// ---- texts ----

etx_status etx_generate_run_open(etx_run_session* session,
                                 etx_generator* out_generator, etx_diag* diag) {
  etx_method* prefill = NULL;
  etx_method* decode = NULL;
  ETX_TRY(etx_run_session_method(session, "decode", &decode, diag));
  if (has_method(session, "prefill")) {
    ETX_TRY(etx_run_session_method(session, "prefill", &prefill, diag));
  }
  return etx_generator_init(out_generator, prefill, decode, diag);
}

// Without this method etx_generate says what to do.
static etx_status add_verify(etx_run_session* session, etx_generator* generator,
                             etx_diag* diag) {
  etx_method* verify = NULL;
  if (!has_method(session, "verify")) return ETX_OK;
  ETX_TRY(etx_run_session_method(session, "verify", &verify, diag));
  return etx_generator_add_verify(generator, verify, diag);
}

etx_status etx_generate_run_all(etx_run_session* session,
                                const etx_generate_run* run, etx_pool* pool,
                                etx_generation_result* out_result,
                                size_t* out_start, etx_diag* diag) {
  etx_generator* const generator =
      etx_pool_take(pool, sizeof *generator);  // borrowed by the options
  etx_token_list start = run->prompt;
  size_t stride = 0;
  size_t bytes = 0;
  if (generator == NULL) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory for a generator");
  }
  // The lists of the program are borrowed from the generator.
  etx_generation_config config = run->config;
  ETX_TRY(etx_generate_run_open(session, generator, diag));
  if (run->drafts != NULL) ETX_TRY(add_verify(session, generator, diag));
  etx_generator_defaults(generator, &config);
  if (run->config.eos_token_id.count != 0) {
    config.eos_token_id = run->config.eos_token_id;
  }
  if (has_method(session, "encode")) {
    ETX_TRY(encode(session, run, pool, diag));
    start = run->decoder_start;
    if (start.count == 0) ETX_TRY(decoder_start(session, pool, &start, diag));
    stride = (size_t)read_integer(session, "get_num_beams", 0);
  }
  const etx_generation_prompt prompt = {.ids = start.ids,
                                        .rows = 1,
                                        .count = start.count,
                                        .cached_count = run->cached_count,
                                        .row_stride = stride,
                                        .hooks = run->hooks,
                                        .drafts = run->drafts};
  ETX_TRY(etx_generate_needed(generator, &config, &prompt, &bytes, diag));
  uint8_t* const memory = etx_pool_take(pool, bytes);
  if (memory == NULL) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory of %z bytes", bytes);
  }
  *out_start = start.count;
  // The assistant borrows these options for this text alone.
  if (run->assistant != NULL) run->assistant->config = &config;
  const etx_status status =
      etx_generate(generator, &config, &prompt, (etx_bytes_mut){memory, bytes},
                   out_result, diag);
  if (run->assistant != NULL) run->assistant->config = &run->config;
  return status;
}
