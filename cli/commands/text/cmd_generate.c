// etx generate: continues a prompt, and prints text or tokens as they come.

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/exit_code.h"
#include "cli/base/options.h"
#include "cli/commands/text/text_commands.h"
#include "cli/text/draft_options.h"
#include "cli/text/interrupt.h"
#include "cli/text/prompt_text.h"
#include "cli/text/text_command.h"

static const char about[] =
    "Generates text with a program that has the methods prefill and decode, "
    "or\n"
    "encode and decode, such as those of etx.hf. The prompt is a text, of\n"
    "--prompt or standard input, if the program carries a tokenizer or a file\n"
    "has one, or tokens (--ids). The answer is printed in the same form.\n\n"
    "Without options the search is greedy and ends after 20 tokens, or at a\n"
    "token that the program states as an end. What is new is printed as soon "
    "as\n"
    "it is chosen; with beams, texts follow each other, the best first. "
    "--json\n"
    "prints an object in each line: one for each token, and one for each text\n"
    "at the end. Options mean what they mean for generate of the Python "
    "package\n"
    "transformers. Ctrl-C ends the text, with exit code 130.\n";

static const char examples[] =
    "  etx generate model.pte --prompt 'Once upon a time' -n 100\n"
    "  etx generate model.pte --do-sample --temperature 0.8 --seed 7 < "
    "prompt.txt\n"
    "  etx generate model.pte --ids 1,15043,29892 --num-beams 4 --json\n"
    "  etx generate large.pte --assistant-model small.pte < prompt.txt\n";

typedef struct generate_options {
  const char* file;
  const char* ids;
  const char* prompt;
  etx_generation_options generation;
  etx_draft_options drafts;
} generate_options;

typedef struct prompt_run {
  const generate_options* options;
  etx_text_program program;
  etx_text_model model;
  etx_text text;  // of the prompt
} prompt_run;

// The text of the prompt.
static etx_status read_prompt(const generate_options* options, etx_pool* pool,
                              etx_text* out, etx_diag* diag) {
  if (options->prompt != NULL || isatty(0)) {
    *out = etx_text_of(options->prompt);
    return ETX_OK;
  }
  return etx_stream_read(stdin, pool, out, diag);
}

// of etx_text_program_use
static etx_exit answer_prompt(void* context) {
  prompt_run* const g = context;
  const generate_options* const options = g->options;
  etx_text_answer answer;
  etx_diag diag;
  etx_diag_init(&diag);
  if (!etx_text_answer_init(
          &answer, &g->program, &options->generation, &g->model,
          options->ids == NULL ? ETX_TEXT_AS_TEXT : ETX_TEXT_AS_TOKENS) ||
      (options->ids != NULL &&
       !etx_token_option_read("generate", "--ids", options->ids, &g->model.pool,
                              &answer.run.prompt))) {
    return ETX_EXIT_REFUSED;
  }
  if (options->ids == NULL) {
    const etx_text_use use = etx_text_model_has_method(&g->model, "encode")
                                 ? ETX_TEXT_SOURCE
                                 : ETX_TEXT_PROMPT;
    etx_status status = etx_text_model_encode(
        &g->model, g->text, use, &g->model.pool, &answer.run.prompt, &diag);
    if (status == ETX_OK && answer.run.prompt.count == 0) {
      status = etx_diag_fail(&diag, ETX_BAD_ARGUMENT,
                             "the prompt has no tokens, expected a text with "
                             "at least one");
    }
    if (status != ETX_OK) {
      return etx_error_report("generate", options->file, status, &diag);
    }
  }
  etx_drafts drafts;
  etx_exit code =
      etx_drafts_open(&drafts, "generate", &options->drafts,
                      &g->program.session, &g->model.pool, &answer.run);
  etx_interrupt_watch();
  if (code == ETX_EXIT_DONE) {
    code = etx_text_answer_run(&answer, &g->model.pool, NULL);
  }
  etx_drafts_close(&drafts);
  return code;
}

static etx_exit generate(const generate_options* options, etx_pool* pool) {
  prompt_run g = {.options = options,
                  .program = etx_generation_program("generate", options->file,
                                                    &options->generation)};
  etx_diag diag;
  etx_diag_init(&diag);
  if (options->ids != NULL && options->prompt != NULL) {
    return etx_usage_error_report("generate",
                                  "--ids and --prompt are both given");
  }
  if (options->ids == NULL) {
    const etx_status status = read_prompt(options, pool, &g.text, &diag);
    if (status != ETX_OK) {
      return etx_error_report("generate", NULL, status, &diag);
    }
    if (options->prompt == NULL && g.text.size == 0) {
      return etx_usage_error_report(
          "generate",
          "give the prompt: a text with --prompt or on standard input, or "
          "tokens such as --ids 1,15043,29892");
    }
  }
  g.program.has_no_words =
      options->ids != NULL && options->generation.stop.count == 0;
  return etx_text_program_use(&g.program, &g.model, answer_prompt, &g);
}

int etx_cmd_generate(int argc, char** argv) {
  generate_options options = {.file = NULL};
  etx_option rows[ETX_OPTION_MAX + 1];
  etx_generation_options_init(&options.generation, 20);
  const etx_usage usage = {
      .command = "generate",
      .about = about,
      .examples = examples,
      .positionals =
          ETX_POSITIONALS({"FILE", "the program, .pte", &options.file, true}),
      .options = etx_generation_options_rows(
          &options.generation,
          ETX_OPTIONS(
              ETX_TEXT("prompt", 'p', "TEXT",
                       "the text to continue (default: standard input)",
                       &options.prompt),
              ETX_TEXT("ids", 'i', "N,N,...",
                       "tokens of the prompt, instead of a text", &options.ids),
              ETX_DRAFT_OPTION_ROWS(&options.drafts)),
          rows),
  };
  const etx_options_result read = etx_options_read(&usage, argc, argv);
  if (read != ETX_OPTIONS_READ) return etx_options_exit(read);
  etx_pool pool;
  etx_pool_init(&pool);
  const etx_exit code = generate(&options, &pool);
  etx_pool_close(&pool);
  return (int)code;
}
