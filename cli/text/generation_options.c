#include "cli/text/generation_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory_options.h"
#include "cli/base/exit_code.h"

void etx_generation_options_init(etx_generation_options* options,
                                 uint64_t max_new_tokens) {
  *options = (etx_generation_options){.max_new_tokens = max_new_tokens,
                                      .temperature = 1,
                                      .top_p = 1,
                                      .typical_p = 1,
                                      .top_k = 50,
                                      .num_beams = 1,
                                      .num_return_sequences = 1,
                                      .length_penalty = 1,
                                      .repetition_penalty = 1,
                                      .threads = 1};
}

// ---- rows ----

static etx_option* add(etx_option* at, const etx_option* rows) {
  for (; rows->name != NULL; ++rows) *at++ = *rows;
  return at;
}

// The help of an option keeps no number, since commands differ in it.
static etx_option* add_lengths(etx_option* at, etx_generation_options* o) {
  return add(
      at,
      ETX_OPTIONS(
          ETX_COUNT("max-new-tokens", 'n', "N", "the most new tokens",
                    &o->max_new_tokens),
          ETX_COUNT("min-new-tokens", 0, "N",
                    "no end before so many new tokens", &o->min_new_tokens),
          ETX_LIST("stop", 0, "TEXT",
                   "end behind the token that completes this text", &o->stop),
          ETX_TEXT("eos-token-id", 0, "N,N,...",
                   "tokens that end a text, instead of the program's",
                   &o->eos_token_id)));
}

static etx_option* add_sampling(etx_option* at, etx_generation_options* o) {
  return add(
      at,
      ETX_OPTIONS(
          ETX_FLAG("do-sample", 0, "draw tokens by their probabilities",
                   &o->do_sample),
          ETX_REAL("temperature", 0, "X", "divide logits (default: 1)",
                   &o->temperature),
          ETX_COUNT("top-k", 0, "N",
                    "draw from the N most probable tokens (default: 50)",
                    &o->top_k),
          ETX_REAL("top-p", 0, "X",
                   "draw from the most probable tokens with this sum of "
                   "probabilities (default: 1)",
                   &o->top_p),
          ETX_REAL("min-p", 0, "X",
                   "draw from tokens of X times the largest probability "
                   "(default: 0)",
                   &o->min_p),
          ETX_REAL("typical-p", 0, "X",
                   "draw from the most typical tokens with this sum of "
                   "probabilities (default: 1)",
                   &o->typical_p),
          ETX_COUNT("seed", 0, "N",
                    "equal seeds draw equal tokens (default: 0)", &o->seed)));
}

static etx_option* add_beams(etx_option* at, etx_generation_options* o) {
  return add(at,
             ETX_OPTIONS(
                 ETX_COUNT("num-beams", 'b', "N",
                           "beams of the search (default: 1)", &o->num_beams),
                 ETX_COUNT("num-return-sequences", 0, "N",
                           "print the N best texts of beam search (default: 1)",
                           &o->num_return_sequences),
                 ETX_REAL("length-penalty", 0, "X",
                          "a score is a sum divided by length^X (default: 1)",
                          &o->length_penalty),
                 ETX_CHOICE("early-stopping", 0, "false|true|never",
                            "when beam search ends (default: false)",
                            &o->early_stopping)));
}

static etx_option* add_penalties(etx_option* at, etx_generation_options* o) {
  return add(
      at,
      ETX_OPTIONS(
          ETX_REAL("repetition-penalty", 0, "X",
                   "make tokens of prompt and text X times less likely "
                   "(default: 1)",
                   &o->repetition_penalty),
          ETX_REAL("frequency-penalty", 0, "X",
                   "subtract X from logits for each time that the text has the "
                   "token",
                   &o->frequency_penalty),
          ETX_REAL("presence-penalty", 0, "X",
                   "subtract X from logits of tokens that the text has",
                   &o->presence_penalty),
          ETX_COUNT("no-repeat-ngram-size", 0, "N",
                    "no sequence of N tokens twice",
                    &o->no_repeat_ngram_size)));
}

const etx_option* etx_generation_options_rows(etx_generation_options* options,
                                              const etx_option* own,
                                              etx_option* rows) {
  etx_option* at = add(rows, own);
  at = add_lengths(at, options);
  at = add_sampling(at, options);
  at = add_beams(at, options);
  at = add_penalties(at, options);
  at = add(at, ETX_OPTIONS(
                   ETX_TEXT("tokenizer", 0, "FILE",
                            "a tokenizer.json or a SentencePiece model, "
                            "instead of the program's",
                            &options->tokenizer),
                   ETX_COUNT("threads", 't', "N",
                             "threads for large operators (default: 1); tokens "
                             "are the same for any number",
                             &options->threads),
                   ETX_PREFAULT_OPTION(&options->prefault),
                   ETX_MLOCK_OPTION(&options->mlock),
                   ETX_FLAG("json", 0, "print a JSON object in each line",
                            &options->json)));
  *at = (etx_option){.name = NULL};
  return rows;
}

// ---- values ----

bool etx_token_option_read(const char* command, const char* option,
                           const char* text, etx_pool* pool,
                           etx_token_list* out) {
  const size_t most = strlen(text) / 2 + 1;
  int64_t* const ids = etx_pool_take(pool, most * sizeof *ids);
  size_t count = 0;
  const char* at = text;
  while (ids != NULL) {
    char* end = NULL;
    errno = 0;
    const long long id = strtoll(at, &end, 10);
    if (*at < '0' || *at > '9' || errno != 0 || (*end != ',' && *end != '\0')) {
      break;
    }
    ids[count++] = id;
    *out = (etx_token_list){ids, count};
    if (*end == '\0') return true;
    at = end + 1;
  }
  (void)etx_usage_error_report(
      command, "%s is '%s', expected tokens such as 1,15043,29892", option,
      text);
  return false;
}

static bool set_stops(const char* command, const etx_option_list* stop,
                      etx_pool* pool, etx_generation_config* out) {
  etx_text* const texts =
      etx_pool_take(pool, (stop->count + 1) * sizeof *texts);
  if (texts == NULL) {
    (void)etx_usage_error_report(command, "the system has too little memory");
    return false;
  }
  for (size_t i = 0; i < stop->count; ++i) {
    texts[i] = etx_text_of(stop->items[i]);
    if (texts[i].size == 0) {
      (void)etx_usage_error_report(command, "--stop is empty, expected a text");
      return false;
    }
  }
  out->stop_strings = texts;
  out->stop_string_count = stop->count;
  return true;
}

bool etx_generation_options_config(const char* command,
                                   const etx_generation_options* options,
                                   etx_pool* pool, etx_generation_config* out) {
  etx_generation_config_init(out);
  out->max_new_tokens = (size_t)options->max_new_tokens;
  out->min_new_tokens = (size_t)options->min_new_tokens;
  out->do_sample = options->do_sample;
  out->temperature = options->temperature;
  out->top_k = (size_t)options->top_k;
  out->top_p = options->top_p;
  out->min_p = options->min_p;
  out->typical_p = options->typical_p;
  out->seed = options->seed;
  out->num_beams = (size_t)options->num_beams;
  out->num_return_sequences = (size_t)options->num_return_sequences;
  out->length_penalty = (float)options->length_penalty;
  out->early_stopping = (etx_early_stopping)options->early_stopping;
  out->repetition_penalty = (float)options->repetition_penalty;
  out->frequency_penalty = (float)options->frequency_penalty;
  out->presence_penalty = (float)options->presence_penalty;
  out->no_repeat_ngram_size = (size_t)options->no_repeat_ngram_size;
  return set_stops(command, &options->stop, pool, out) &&
         (options->eos_token_id == NULL ||
          etx_token_option_read(command, "--eos-token-id",
                                options->eos_token_id, pool,
                                &out->eos_token_id));
}
