#include "cli/text/text_answer.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/json/json_value.h"
#include "cli/text/interrupt.h"

// What prints an answer while it is made.
typedef struct answer_printer {
  const etx_text_answer* answer;
  etx_token_stream stream;
  etx_bytes_mut memory;  // of the stream
  bool is_printed;       // false: standard output failed
  size_t count;          // tokens so far
  const etx_generation_result* result;
} answer_printer;

static bool has_beams(const etx_text_answer* answer) {
  return answer->run.config.num_beams > 1;
}

static bool has_text(const etx_text_answer* answer) {
  return answer->model->tokenizer.content != NULL;
}

// ---- parts ----

static bool print_object(json_t* object) {
  char* const line = json_dumps(object, JSON_COMPACT);
  json_decref(object);
  const bool is_printed = line != NULL && printf("%s\n", line) >= 0;
  free(line);
  return is_printed;
}

static bool print_plain(etx_text_form form, etx_text text) {
  for (size_t i = 0; i < text.size; ++i) {
    const char c = text.data[i];
    const bool is_end = c == '\n' || c == '\r';
    if (putchar(is_end && form == ETX_TEXT_AS_LINE ? ' ' : c) == EOF) {
      return false;
    }
  }
  return true;
}

static bool print_token(const etx_text_answer* answer, int64_t id,
                        etx_text text) {
  if (answer->form == ETX_TEXT_AS_TOKENS) {
    return printf("%lld ", (long long)id) >= 0;
  }
  if (answer->form != ETX_TEXT_AS_JSON) return print_plain(answer->form, text);
  json_t* const object = json_pack("{s:I}", "token", (json_int_t)id);
  if (has_text(answer)) {
    json_object_set_new(object, "text", etx_json_text(text));
  }
  return print_object(object);
}

// ---- hooks ----

static etx_text next_text(answer_printer* printer, int64_t id) {
  etx_text text = {"", 0};
  const bool is_wanted =
      has_text(printer->answer) && printer->answer->form != ETX_TEXT_AS_TOKENS;
  if (!is_wanted ||
      etx_token_stream_push(&printer->stream, (uint32_t)id, printer->memory,
                            &text, NULL) != ETX_OK) {
    return (etx_text){"", 0};
  }
  return text;
}

static bool on_token(void* context, size_t index, int64_t id) {
  answer_printer* const printer = context;
  (void)index;
  printer->is_printed =
      print_token(printer->answer, id, next_text(printer, id)) &&
      fflush(stdout) == 0;
  return printer->is_printed;
}

static bool on_step(void* context, size_t new_tokens) {
  answer_printer* const printer = context;
  printer->count = new_tokens;
  return !etx_interrupt_seen();
}

// ---- the end of a text ----

static etx_status text_of(const answer_printer* printer,
                          const etx_generated_text* found, size_t start,
                          etx_text* out, etx_diag* diag) {
  *out = (etx_text){"", 0};
  if (!has_text(printer->answer) || found->count <= start) return ETX_OK;
  return etx_text_model_decode(printer->answer->model, found->ids + start,
                               found->count - start, out, diag);
}

static bool print_json(const answer_printer* printer,
                       const etx_generated_text* found, size_t start,
                       etx_text text) {
  static const char* const ends[] = {"end_token", "stop_string", "length",
                                     "cancelled"};
  json_t* const ids = json_array();
  json_t* const object = json_object();
  if (has_text(printer->answer)) {
    json_object_set_new(object, "text", etx_json_text(text));
  }
  for (size_t i = start; i < found->count; ++i) {
    json_array_append_new(ids, json_integer((json_int_t)found->ids[i]));
  }
  json_object_set_new(object, "ids", ids);
  json_object_set_new(object, "end", json_string(ends[found->end]));
  if (has_beams(printer->answer)) {
    json_object_set_new(object, "score", etx_json_real(found->score));
  }
  if (printer->answer->run.drafts != NULL) {
    const etx_generation_result* const result = printer->result;
    json_object_set_new(object, "drafted",
                        json_integer((json_int_t)result->drafted));
    json_object_set_new(object, "accepted",
                        json_integer((json_int_t)result->accepted));
  }
  return print_object(object);
}

// Prints what the hooks did not: with beams the whole text.
static etx_status print_rest(answer_printer* printer,
                             const etx_generated_text* found, size_t start,
                             etx_diag* diag) {
  const etx_text_answer* const answer = printer->answer;
  etx_text text = {"", 0};
  if (has_beams(answer) || answer->form == ETX_TEXT_AS_JSON) {
    ETX_TRY(text_of(printer, found, start, &text, diag));
  } else if (has_text(answer)) {
    ETX_TRY(
        etx_token_stream_end(&printer->stream, printer->memory, &text, diag));
  }
  if (answer->form == ETX_TEXT_AS_JSON) {
    printer->is_printed = print_json(printer, found, start, text);
    return ETX_OK;
  }
  if (answer->form != ETX_TEXT_AS_TOKENS) {
    printer->is_printed = print_plain(answer->form, text);
  }
  for (size_t i = start; answer->form == ETX_TEXT_AS_TOKENS &&
                         has_beams(answer) && i < found->count;
       ++i) {
    (void)printf("%lld ", (long long)found->ids[i]);
  }
  printer->is_printed = putchar('\n') != EOF && printer->is_printed;
  return ETX_OK;
}

static etx_exit finish(answer_printer* printer,
                       const etx_generation_result* result, size_t start) {
  etx_diag diag;
  etx_diag_init(&diag);
  for (size_t i = 0; i < result->count && printer->is_printed; ++i) {
    const etx_status status =
        print_rest(printer, &result->texts[i], start, &diag);
    if (status != ETX_OK) {
      return etx_error_report(printer->answer->command, printer->answer->file,
                              status, &diag);
    }
  }
  if (!printer->is_printed || fflush(stdout) != 0) {
    return ETX_EXIT_MACHINE_FAILED;  // main says why
  }
  if (!etx_interrupt_seen()) return ETX_EXIT_DONE;
  fprintf(stderr, "etx %s: ended by Ctrl-C after %zu tokens\n",
          printer->answer->command, printer->count);
  return ETX_EXIT_INTERRUPTED;
}

// ---- the answer ----

static etx_status open_stream(answer_printer* printer, etx_pool* pool,
                              etx_diag* diag) {
  const etx_tokenizer* const tokenizer = &printer->answer->model->tokenizer;
  if (!has_text(printer->answer)) return ETX_OK;
  const size_t bytes =
      etx_tokenizer_decode_needed(tokenizer, ETX_TOKEN_STREAM_IDS);
  printer->memory = (etx_bytes_mut){etx_pool_take(pool, bytes), bytes};
  etx_token_stream_init(&printer->stream, tokenizer, true);
  if (printer->memory.data != NULL) return ETX_OK;
  return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory of %z bytes", bytes);
}

etx_exit etx_text_answer_run(etx_text_answer* answer, etx_pool* pool,
                             etx_text_answer_tokens* out_tokens) {
  etx_generation_result result = {.texts = NULL};
  answer_printer printer = {
      .answer = answer, .is_printed = true, .result = &result};
  const etx_generation_hooks hooks = {
      .token = on_token,
      .step = on_step,
      .context = &printer,
      .texts = {has_text(answer) ? etx_text_model_text_of : NULL,
                answer->model}};
  size_t start = 0;
  etx_diag diag;
  etx_diag_init(&diag);
  answer->run.hooks = &hooks;
  etx_status status = open_stream(&printer, pool, &diag);
  if (status == ETX_OK) {
    status = etx_generate_run_all(&answer->model->session, &answer->run, pool,
                                  &result, &start, &diag);
  }
  if (status != ETX_OK) {
    (void)etx_error_report(answer->command, answer->file, status, &diag);
    return etx_exit_from_run_status(status);
  }
  if (out_tokens != NULL) {
    const etx_generated_text* const first = &result.texts[0];
    *out_tokens = (etx_text_answer_tokens){
        {first->ids + start, first->count - start}, first->end};
  }
  return finish(&printer, &result, start);
}
