// etx translate: texts in, one line of text out for each.

#include <stdio.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/options.h"
#include "cli/commands/text/text_commands.h"
#include "cli/text/interrupt.h"
#include "cli/text/text_command.h"

static const char about[] =
    "Reads texts with the encoder of a program and prints what its decoder\n"
    "writes: translations, summaries and the like. Each TEXT, or else each "
    "line\n"
    "of standard input, is a text of its own and gives one line; a line "
    "without\n"
    "words gives an empty one. The program has the methods encode and decode "
    "and\n"
    "carries its tokenizer, such as those of etx.hf. A text ends at 512 "
    "tokens,\n"
    "or when the decoder's caches are full. Ctrl-C ends the command, with "
    "exit\n"
    "code 130.\n";

static const char examples[] =
    "  etx translate opus.pte 'Das ist ein Haus.' 'Guten Morgen!'\n"
    "  etx translate nllb.pte --begin-with fra_Latn < lines.txt > lines.fr\n"
    "  etx translate t5.pte --prefix 'summarize: ' --json < articles.txt\n";

typedef struct translate_options {
  const char* file;
  const char* prefix;      // NULL: none
  const char* begin_with;  // NULL: what the program states
  etx_option_list texts;
  etx_generation_options generation;
} translate_options;

typedef struct translation {
  const translate_options* options;
  etx_text_program program;
  etx_text_model model;
  etx_text_answer answer;
} translation;

static etx_exit report(const translation* t, etx_status status,
                       const etx_diag* diag) {
  return etx_error_report("translate", t->options->file, status, diag);
}

static etx_status join(etx_text prefix, etx_text text, etx_pool* pool,
                       etx_text* out, etx_diag* diag) {
  char* const bytes = etx_pool_take(pool, prefix.size + text.size);
  if (bytes == NULL) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory for a text");
  }
  if (prefix.size != 0) memcpy(bytes, prefix.data, prefix.size);
  if (text.size != 0) memcpy(bytes + prefix.size, text.data, text.size);
  *out = (etx_text){bytes, prefix.size + text.size};
  return ETX_OK;
}

static etx_exit translate_text(translation* t, etx_text text, etx_pool* pool) {
  etx_diag diag;
  etx_diag_init(&diag);
  etx_text whole;
  etx_status status =
      join(etx_text_of(t->options->prefix), text, pool, &whole, &diag);
  if (status == ETX_OK) {
    status = etx_text_model_encode(&t->model, whole, ETX_TEXT_SOURCE, pool,
                                   &t->answer.run.prompt, &diag);
  }
  if (status != ETX_OK) return report(t, status, &diag);
  return etx_text_answer_run(&t->answer, pool, NULL);
}

static bool is_blank(etx_text text) {
  for (size_t i = 0; i < text.size; ++i) {
    if (strchr(" \t\r\n\v\f", text.data[i]) == NULL) return false;
  }
  return true;
}

// of etx_texts_take
static etx_exit translate_line(void* context, etx_text text) {
  translation* const t = context;
  etx_pool pool;
  if (is_blank(text) && t->answer.form == ETX_TEXT_AS_LINE) {
    return putchar('\n') == EOF ? ETX_EXIT_MACHINE_FAILED : ETX_EXIT_DONE;
  }
  etx_pool_init(&pool);
  const etx_exit code = translate_text(t, text, &pool);
  etx_pool_close(&pool);
  return code;
}

// The decoder begins with its start token and the one that --begin-with names.
static etx_status set_begin(translation* t, etx_diag* diag) {
  const char* const name = t->options->begin_with;
  if (name == NULL) return ETX_OK;
  const int64_t id = etx_tokenizer_find(&t->model.tokenizer, etx_text_of(name));
  if (id < 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "--begin-with is '%s', which is no token of the "
                         "tokenizer",
                         name);
  }
  int64_t* const ids = etx_pool_take(&t->model.pool, 2 * sizeof *ids);
  if (ids == NULL) return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory");
  ids[0] = etx_text_model_integer(&t->model, "get_decoder_start_token_id", 0);
  ids[1] = id;
  t->answer.run.decoder_start = (etx_token_list){ids, 2};
  return ETX_OK;
}

// of etx_text_program_use
static etx_exit translate(void* context) {
  translation* const t = context;
  etx_diag diag;
  etx_diag_init(&diag);
  if (!etx_text_model_has_method(&t->model, "encode")) {
    (void)etx_diag_fail(&diag, ETX_UNSUPPORTED,
                        "the program has no method 'encode'; 'etx generate' "
                        "continues texts with 'prefill' and 'decode'");
    return report(t, ETX_UNSUPPORTED, &diag);
  }
  if (!etx_text_answer_init(&t->answer, &t->program, &t->options->generation,
                            &t->model, ETX_TEXT_AS_LINE)) {
    return ETX_EXIT_REFUSED;
  }
  const etx_status status = set_begin(t, &diag);
  if (status != ETX_OK) return report(t, status, &diag);
  etx_interrupt_watch();
  return etx_texts_take(&t->options->texts, "translate", translate_line, t);
}

int etx_cmd_translate(int argc, char** argv) {
  translate_options options = {.file = NULL};
  etx_option rows[ETX_OPTION_MAX + 1];
  etx_generation_options_init(&options.generation, 512);
  const etx_usage usage = {
      .command = "translate",
      .about = about,
      .examples = examples,
      .positionals =
          ETX_POSITIONALS({"FILE", "the program, .pte", &options.file, true}),
      .options = etx_generation_options_rows(
          &options.generation,
          ETX_OPTIONS(
              ETX_TEXT("prefix", 0, "TEXT",
                       "put TEXT in front of each text, as T5 expects",
                       &options.prefix),
              ETX_TEXT("begin-with", 0, "TOKEN",
                       "the first token of each result, such as the language "
                       "of NLLB and M2M100: fra_Latn",
                       &options.begin_with)),
          rows),
      .rest = &options.texts,
  };
  const etx_options_result read = etx_options_read(&usage, argc, argv);
  if (read != ETX_OPTIONS_READ) return etx_options_exit(read);
  translation t = {.options = &options,
                   .program = etx_generation_program("translate", options.file,
                                                     &options.generation)};
  return (int)etx_text_program_use(&t.program, &t.model, translate, &t);
}
