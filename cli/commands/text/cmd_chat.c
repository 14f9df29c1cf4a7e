// etx chat: messages in, answers out, with the whole conversation in the
// caches. Each turn writes the whole chat and encodes it; the tokens that are
// the same as those in the caches are not run again.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/exit_code.h"
#include "cli/base/options.h"
#include "cli/commands/text/text_commands.h"
#include "cli/text/chat_family.h"
#include "cli/text/draft_options.h"
#include "cli/text/interrupt.h"
#include "cli/text/prompt_text.h"
#include "cli/text/text_command.h"
#include "generate/program_tokens.h"

static const char about[] =
    "Reads messages, one in each line of standard input, and prints an answer "
    "to\n"
    "each. A chat is written as the family of models writes it: the program "
    "says\n"
    "so by its chat template, whose family is recognised, or --template names "
    "it.\n"
    "The caches keep the conversation, so that a turn runs only what is new. "
    "An\n"
    "answer ends at the end token of the family or the program, or when the\n"
    "caches are full. Ctrl-C ends an answer; in front of a message it ends "
    "the\n"
    "command, as the end of the input does.\n";

static const char examples[] =
    "  etx chat model.pte\n"
    "  etx chat model.pte --system 'Answer in French.' --do-sample\n"
    "  etx chat model.pte --template chatml --json < questions.txt\n";

typedef struct chat_options {
  const char* file;
  const char* system;
  const char* family;
  etx_generation_options generation;
  etx_draft_options drafts;
} chat_options;

typedef struct chat_session {
  const chat_options* options;
  etx_text_program program;
  etx_text_model model;
  etx_chat chat;
  size_t message_capacity;
  etx_text_answer answer;
  etx_drafts drafts;
  int64_t* cached;  // tokens that the caches hold
  size_t cached_count, cached_capacity;
} chat_session;

static etx_exit report(const chat_session* c, etx_status status,
                       const etx_diag* diag) {
  return etx_error_report("chat", c->options->file, status, diag);
}

// ---- the family ----

static etx_status find_family(chat_session* c, etx_text* jinja,
                              etx_diag* diag) {
  const char* const name = c->options->family;
  const bool has_jinja =
      etx_text_model_string(&c->model, "chat_template", jinja);
  if (!has_jinja) *jinja = (etx_text){NULL, 0};
  c->chat.family = name != NULL ? etx_chat_family_find(name)
                   : has_jinja  ? etx_chat_family_recognise(*jinja)
                                : NULL;
  if (c->chat.family != NULL) return ETX_OK;
  const etx_text names = etx_chat_family_names(&c->model.pool);
  if (name != NULL) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "--template is '%s', expected one of %t", name, names);
  }
  return etx_diag_fail(diag, ETX_UNSUPPORTED,
                       "%s; --template may name one of %t",
                       has_jinja ? "the chat template of the program is of no "
                                   "family that is known"
                                 : "the program has no chat template (constant "
                                   "'chat_template')",
                       names);
}

static etx_text token_of(const chat_session* c, const char* constant) {
  const int64_t id = etx_text_model_token(&c->model, constant);
  const etx_text none = {NULL, 0};
  return id < 0 ? none : etx_tokenizer_token(&c->model.tokenizer, (uint32_t)id);
}

static etx_status open_chat(chat_session* c, etx_diag* diag) {
  etx_text jinja;
  ETX_TRY(find_family(c, &jinja, diag));
  c->chat.bos = token_of(c, "get_bos_id");
  c->chat.eos = token_of(c, "get_eos_ids");
  c->chat.has_bos = jinja.data == NULL ||
                    etx_chat_template_has(jinja, etx_text_of("bos_token")) ||
                    etx_chat_template_has(jinja, c->chat.bos);
  c->chat.system = c->options->system != NULL
                       ? etx_text_of(c->options->system)
                       : etx_chat_family_default_system(c->chat.family, jinja);
  if (etx_chat_template_has(jinja, etx_text_of("strftime_now")) ||
      etx_chat_template_has(jinja, etx_text_of("date_string"))) {
    fprintf(stderr,
            "etx chat: the chat template of the program writes the date, too, "
            "which is left out here; --system can state it\n");
  }
  return ETX_OK;
}

// An answer ends at the family's token, too, which not every program states.
static etx_status add_end(chat_session* c, etx_diag* diag) {
  etx_generation_config* const config = &c->answer.run.config;
  const etx_text text = etx_chat_end_token(&c->chat, &c->model.pool);
  const int64_t id = etx_tokenizer_find(&c->model.tokenizer, text);
  if (config->eos_token_id.count != 0 || id < 0) return ETX_OK;
  int64_t memory[ETX_PROGRAM_TOKENS_MAX];
  etx_token_list stated = {NULL, 0};
  const size_t count =
      etx_program_tokens(&c->model.session.module.program, "get_eos_ids",
                         memory, &stated, NULL) == ETX_OK
          ? stated.count
          : 0;
  int64_t* const ids = etx_pool_take(&c->model.pool, (count + 1) * sizeof *ids);
  if (ids == NULL) return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory");
  if (count != 0) memcpy(ids, stated.ids, count * sizeof *ids);
  ids[count] = id;
  config->eos_token_id = (etx_token_list){ids, count + 1};
  return ETX_OK;
}

// ---- turns ----

static etx_status add_message(chat_session* c, etx_text text, etx_diag* diag) {
  etx_pool* const pool = &c->model.pool;
  const etx_text copy = etx_pool_copy_text(pool, text);
  etx_status status = etx_pool_grow(pool, &c->chat.messages, c->chat.count,
                                    &c->message_capacity, sizeof copy);
  if (status == ETX_OK && copy.data == NULL) status = ETX_HOST_FAILED;
  if (status != ETX_OK) {
    return etx_diag_fail(diag, status, "no memory for a message");
  }
  c->chat.messages[c->chat.count++] = copy;
  return ETX_OK;
}

// How many tokens of the prompt are in the caches. The last one must run.
static size_t count_cached(const chat_session* c, etx_token_list prompt) {
  size_t same = 0;
  while (same < c->cached_count && same + 1 < prompt.count &&
         c->cached[same] == prompt.ids[same]) {
    ++same;
  }
  return same;
}

// The caches hold the prompt and all new tokens but the last.
static etx_status keep_tokens(chat_session* c, etx_token_list prompt,
                              etx_token_list found, etx_diag* diag) {
  const size_t count = prompt.count + found.count - (found.count != 0);
  if (count > c->cached_capacity) {
    free(c->cached);
    c->cached_capacity = 2 * count;
    c->cached = malloc(c->cached_capacity * sizeof *c->cached);
  }
  c->cached_count = 0;
  if (c->cached == NULL) {
    c->cached_capacity = 0;
    return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory for the tokens");
  }
  memcpy(c->cached, prompt.ids, prompt.count * sizeof *prompt.ids);
  memcpy(c->cached + prompt.count, found.ids,
         (count - prompt.count) * sizeof *found.ids);
  c->cached_count = count;
  return ETX_OK;
}

static etx_exit answer_message(chat_session* c, etx_text message,
                               etx_pool* pool) {
  etx_generate_run* const run = &c->answer.run;
  etx_text_answer_tokens found = {{NULL, 0}, ETX_GENERATION_CANCELLED};
  etx_text text;
  etx_diag diag;
  etx_diag_init(&diag);
  etx_status status = add_message(c, message, &diag);
  if (status == ETX_OK) status = etx_chat_write(&c->chat, pool, &text, &diag);
  if (status == ETX_OK) {
    status = etx_text_model_encode(&c->model, text, ETX_TEXT_PLAIN, pool,
                                   &run->prompt, &diag);
  }
  if (status != ETX_OK) return report(c, status, &diag);
  const bool has_beams = run->config.num_beams > 1;
  run->cached_count = has_beams ? 0 : count_cached(c, run->prompt);
  const etx_exit code = etx_text_answer_run(&c->answer, pool, &found);
  if (code != ETX_EXIT_DONE && code != ETX_EXIT_INTERRUPTED) return code;
  status = keep_tokens(c, run->prompt, found.ids, &diag);
  if (status == ETX_OK) {
    status = etx_text_model_decode(&c->model, found.ids.ids, found.ids.count,
                                   &text, &diag);
  }
  if (status == ETX_OK) status = add_message(c, text, &diag);
  return status == ETX_OK ? ETX_EXIT_DONE : report(c, status, &diag);
}

// Reads a message. False at the end of the input.
static bool read_message(const chat_session* c, etx_pool* pool, etx_text* out,
                         etx_exit* code) {
  etx_status status = ETX_OK;
  etx_diag diag;
  etx_diag_init(&diag);
  if (isatty(0)) fprintf(stderr, "> ");
  const bool is_read = etx_line_read(stdin, pool, out, &status, &diag);
  if (status != ETX_OK) *code = report(c, status, &diag);
  return is_read;
}

static etx_exit talk(chat_session* c) {
  etx_exit code = ETX_EXIT_DONE;
  while (code == ETX_EXIT_DONE) {
    etx_pool pool;
    etx_text line = {NULL, 0};
    etx_pool_init(&pool);
    etx_interrupt_watch();
    const bool is_read = read_message(c, &pool, &line, &code);
    if (is_read && line.size != 0) code = answer_message(c, line, &pool);
    etx_pool_close(&pool);
    if (is_read) continue;
    if (code == ETX_EXIT_DONE && etx_interrupt_seen()) {
      code = ETX_EXIT_INTERRUPTED;
    }
    break;
  }
  if (isatty(0)) fputc('\n', stderr);
  return code;
}

// of etx_text_program_use
static etx_exit chat(void* context) {
  chat_session* const c = context;
  etx_diag diag;
  etx_diag_init(&diag);
  etx_status status = ETX_OK;
  if (!etx_text_model_has_method(&c->model, "decode") ||
      etx_text_model_has_method(&c->model, "encode")) {
    status = etx_diag_fail(&diag, ETX_UNSUPPORTED,
                           "the program is no model for chats, which has the "
                           "methods 'prefill' and 'decode'");
    return report(c, status, &diag);
  }
  if (!etx_text_answer_init(&c->answer, &c->program, &c->options->generation,
                            &c->model, ETX_TEXT_AS_TEXT)) {
    return ETX_EXIT_REFUSED;
  }
  status = open_chat(c, &diag);
  if (status == ETX_OK) status = add_end(c, &diag);
  if (status != ETX_OK) return report(c, status, &diag);
  etx_exit code =
      etx_drafts_open(&c->drafts, "chat", &c->options->drafts,
                      &c->program.session, &c->model.pool, &c->answer.run);
  if (code == ETX_EXIT_DONE) code = talk(c);
  etx_drafts_close(&c->drafts);
  return code;
}

int etx_cmd_chat(int argc, char** argv) {
  chat_options options = {.file = NULL};
  etx_option rows[ETX_OPTION_MAX + 1];
  etx_generation_options_init(&options.generation, INT32_MAX);
  const etx_usage usage = {
      .command = "chat",
      .about = about,
      .examples = examples,
      .positionals =
          ETX_POSITIONALS({"FILE", "the program, .pte", &options.file, true}),
      .options = etx_generation_options_rows(
          &options.generation,
          ETX_OPTIONS(ETX_TEXT("system", 0, "TEXT", "the system's message",
                               &options.system),
                      ETX_TEXT("template", 0, "NAME",
                               "how chats are written: chatml, llama3, ...; "
                               "a wrong name lists all",
                               &options.family),
                      ETX_DRAFT_OPTION_ROWS(&options.drafts)),
          rows),
  };
  const etx_options_result read = etx_options_read(&usage, argc, argv);
  if (read != ETX_OPTIONS_READ) return etx_options_exit(read);
  chat_session c = {.options = &options,
                    .program = etx_generation_program("chat", options.file,
                                                      &options.generation)};
  const etx_exit code = etx_text_program_use(&c.program, &c.model, chat, &c);
  free(c.cached);
  return (int)code;
}
