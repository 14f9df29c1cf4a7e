// etx generate: continues a prompt of tokens, and prints tokens as they come.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/options.h"
#include "cli/commands/commands.h"
#include "cli/json/json_value.h"
#include "cli/run/generate_run.h"

static const char about[] =
    "Generates text with a program that has the methods prefill and decode, "
    "or\n"
    "encode and decode, such as those of etx.hf. Prompt and text are tokens:\n"
    "numbers, which the tokenizer of the model makes from a text.\n\n"
    "Without options the search is greedy and ends after 20 tokens, or at a\n"
    "token that the program states as an end. New tokens are printed in one\n"
    "line, each as soon as it is chosen; with beams, each text is a line,\n"
    "the best first. --json prints an object in each line: one for each "
    "token,\n"
    "and one for each text at the end. Options mean what they mean for\n"
    "generate of the Python package transformers.\n";

static const char examples[] =
    "  etx generate model.pte --ids 1,15043,29892\n"
    "  etx generate model.pte --ids 1,15043 --do-sample --temperature 0.8 "
    "--top-p 0.95 --seed 7\n"
    "  etx generate marian.pte --ids 1200,87,0 --num-beams 4 --json\n";

typedef struct generate_options {
  const char* file;
  const char* ids;
  const char* eos_token_id;
  uint64_t max_new_tokens, min_new_tokens;
  bool do_sample;
  double temperature, top_p, min_p, typical_p;
  uint64_t top_k, seed;
  uint64_t num_beams, num_return_sequences;
  double length_penalty;
  int early_stopping;
  double repetition_penalty, frequency_penalty, presence_penalty;
  uint64_t no_repeat_ngram_size;
  uint64_t threads;
  bool json;
} generate_options;

// Reads "1,2,3". False after a message.
static bool read_ids(const char* option, const char* text, etx_pool* pool,
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
      "generate", "%s is '%s', expected tokens such as 1,15043,29892", option,
      text);
  return false;
}

static void set_config(const generate_options* options,
                       etx_generation_config* config) {
  etx_generation_config_init(config);
  config->max_new_tokens = (size_t)options->max_new_tokens;
  config->min_new_tokens = (size_t)options->min_new_tokens;
  config->do_sample = options->do_sample;
  config->temperature = options->temperature;
  config->top_k = (size_t)options->top_k;
  config->top_p = options->top_p;
  config->min_p = options->min_p;
  config->typical_p = options->typical_p;
  config->seed = options->seed;
  config->num_beams = (size_t)options->num_beams;
  config->num_return_sequences = (size_t)options->num_return_sequences;
  config->length_penalty = (float)options->length_penalty;
  config->early_stopping = (etx_early_stopping)options->early_stopping;
  config->repetition_penalty = (float)options->repetition_penalty;
  config->frequency_penalty = (float)options->frequency_penalty;
  config->presence_penalty = (float)options->presence_penalty;
  config->no_repeat_ngram_size = (size_t)options->no_repeat_ngram_size;
}

// ---- output ----

// A line of JSON; false if standard output failed.
static bool print_line(json_t* object) {
  char* const line = json_dumps(object, JSON_COMPACT);
  json_decref(object);
  const bool is_printed =
      line != NULL && printf("%s\n", line) >= 0 && fflush(stdout) == 0;
  free(line);
  return is_printed;
}

static bool on_token(void* context, size_t text, int64_t id) {
  const generate_options* const options = context;
  (void)text;
  if (options->json) {
    return print_line(json_pack("{s:I}", "token", (json_int_t)id));
  }
  return printf("%lld ", (long long)id) >= 0 && fflush(stdout) == 0;
}

static bool print_text(const generate_options* options,
                       const etx_generated_text* text, size_t start) {
  static const char* const ends[] = {"end_token", "stop_string", "length",
                                     "cancelled"};
  if (!options->json) {
    for (size_t i = start; options->num_beams > 1 && i < text->count; ++i) {
      printf("%lld ", (long long)text->ids[i]);
    }
    return putchar('\n') != EOF;
  }
  json_t* const ids = json_array();
  for (size_t i = start; i < text->count; ++i) {
    json_array_append_new(ids, json_integer((json_int_t)text->ids[i]));
  }
  json_t* const object = json_object();
  json_object_set_new(object, "ids", ids);
  json_object_set_new(object, "end", json_string(ends[text->end]));
  if (options->num_beams > 1) {
    json_object_set_new(object, "score", etx_json_real(text->score));
  }
  return print_line(object);
}

// ---- the command ----

static etx_exit generate(etx_run_session* session,
                         const generate_options* options, etx_pool* pool) {
  const etx_generation_hooks hooks = {.token = on_token,
                                      .context = (void*)(uintptr_t)options};
  etx_generate_run run = {.hooks = &hooks};
  etx_generation_result result = {NULL, 0, 0};
  size_t start = 0;
  etx_diag diag;
  etx_diag_init(&diag);
  set_config(options, &run.config);
  if (!read_ids("--ids", options->ids, pool, &run.prompt) ||
      (options->eos_token_id != NULL &&
       !read_ids("--eos-token-id", options->eos_token_id, pool,
                 &run.eos_token_id))) {
    return ETX_EXIT_REFUSED;
  }
  const etx_status status =
      etx_generate_run_all(session, &run, pool, &result, &start, &diag);
  if (status != ETX_OK) {
    (void)etx_error_report("generate", options->file, status, &diag);
    return etx_exit_from_run_status(status);
  }
  bool is_printed = ferror(stdout) == 0;
  for (size_t i = 0; is_printed && i < result.count; ++i) {
    is_printed = print_text(options, &result.texts[i], start);
  }
  if (is_printed && fflush(stdout) == 0) return ETX_EXIT_DONE;
  return ETX_EXIT_MACHINE_FAILED;  // main says why
}

static etx_exit generate_with(const generate_options* options) {
  const etx_run_session_options session_options = {
      .threads = (size_t)options->threads};
  etx_run_session session;
  etx_diag diag;
  etx_diag_init(&diag);
  if (options->ids == NULL) {
    return etx_usage_error_report(
        "generate", "give the tokens of the prompt: --ids 1,15043,29892");
  }
  const etx_status status =
      etx_run_session_open(&session, options->file, &session_options, &diag);
  if (status != ETX_OK) {
    return etx_error_report("generate", options->file, status, &diag);
  }
  etx_pool pool;
  etx_pool_init(&pool);
  const etx_exit code = generate(&session, options, &pool);
  etx_pool_close(&pool);
  etx_run_session_close(&session);
  return code;
}

int etx_cmd_generate(int argc, char** argv) {
  generate_options options = {.max_new_tokens = 20,
                              .temperature = 1,
                              .top_p = 1,
                              .typical_p = 1,
                              .top_k = 50,
                              .num_beams = 1,
                              .num_return_sequences = 1,
                              .length_penalty = 1,
                              .repetition_penalty = 1,
                              .threads = 1};
  const etx_usage usage = {
      .command = "generate",
      .about = about,
      .examples = examples,
      .positionals =
          ETX_POSITIONALS({"FILE", "the program, .pte", &options.file, true}),
      .options = ETX_OPTIONS(
          ETX_TEXT("ids", 'i', "N,N,...", "tokens of the prompt", &options.ids),
          ETX_COUNT("max-new-tokens", 'n', "N",
                    "the most new tokens (default: 20)",
                    &options.max_new_tokens),
          ETX_COUNT("min-new-tokens", 0, "N",
                    "no end before so many new tokens",
                    &options.min_new_tokens),
          ETX_FLAG("do-sample", 0, "draw tokens by their probabilities",
                   &options.do_sample),
          ETX_REAL("temperature", 0, "X", "divide logits (default: 1)",
                   &options.temperature),
          ETX_COUNT("top-k", 0, "N",
                    "draw from the N most probable tokens (default: 50)",
                    &options.top_k),
          ETX_REAL("top-p", 0, "X",
                   "draw from the most probable tokens with this sum of "
                   "probabilities (default: 1)",
                   &options.top_p),
          ETX_REAL("min-p", 0, "X",
                   "draw from tokens of X times the largest probability "
                   "(default: 0)",
                   &options.min_p),
          ETX_REAL("typical-p", 0, "X",
                   "draw from the most typical tokens with this sum of "
                   "probabilities (default: 1)",
                   &options.typical_p),
          ETX_COUNT("seed", 0, "N",
                    "equal seeds draw equal tokens (default: 0)",
                    &options.seed),
          ETX_COUNT("num-beams", 'b', "N", "beams of the search (default: 1)",
                    &options.num_beams),
          ETX_COUNT("num-return-sequences", 0, "N",
                    "print the N best texts of beam search (default: 1)",
                    &options.num_return_sequences),
          ETX_REAL("length-penalty", 0, "X",
                   "a score is a sum divided by length^X (default: 1)",
                   &options.length_penalty),
          ETX_CHOICE("early-stopping", 0, "false|true|never",
                     "when beam search ends (default: false)",
                     &options.early_stopping),
          ETX_REAL("repetition-penalty", 0, "X",
                   "make tokens of prompt and text X times less likely "
                   "(default: 1)",
                   &options.repetition_penalty),
          ETX_REAL("frequency-penalty", 0, "X",
                   "subtract X from logits for each time that the text has the "
                   "token",
                   &options.frequency_penalty),
          ETX_REAL("presence-penalty", 0, "X",
                   "subtract X from logits of tokens that the text has",
                   &options.presence_penalty),
          ETX_COUNT("no-repeat-ngram-size", 0, "N",
                    "no sequence of N tokens twice",
                    &options.no_repeat_ngram_size),
          ETX_TEXT("eos-token-id", 0, "N,N,...",
                   "tokens that end a text, instead of the program's",
                   &options.eos_token_id),
          ETX_COUNT("threads", 't', "N",
                    "threads for large operators (default: 1); tokens are the "
                    "same for any number",
                    &options.threads),
          ETX_FLAG("json", 0, "print a JSON object in each line",
                   &options.json)),
  };
  const etx_options_result read = etx_options_read(&usage, argc, argv);
  if (read != ETX_OPTIONS_READ) return etx_options_exit(read);
  return (int)generate_with(&options);
}
