#include "cli/text/text_command.h"

#include "cli/text/interrupt.h"
#include "cli/text/prompt_text.h"

etx_text_program etx_generation_program(const char* command, const char* file,
                                        const etx_generation_options* options) {
  return (etx_text_program){.command = command,
                            .file = file,
                            .tokenizer = options->tokenizer,
                            .session = {.threads = (size_t)options->threads,
                                        .prefaults = options->prefault,
                                        .locks = options->mlock}};
}

etx_exit etx_text_program_use(const etx_text_program* program,
                              etx_text_model* model,
                              etx_exit (*use)(void* context), void* context) {
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_status status =
      etx_text_model_open(model, program->file, program->tokenizer,
                          !program->has_no_words, &program->session, &diag);
  if (status != ETX_OK) {
    return etx_error_report(program->command, program->file, status, &diag);
  }
  const etx_exit code = use(context);
  etx_text_model_close(model);
  return code;
}

bool etx_text_answer_init(etx_text_answer* answer,
                          const etx_text_program* program,
                          const etx_generation_options* options,
                          etx_text_model* model, etx_text_form form) {
  *answer = (etx_text_answer){.command = program->command,
                              .file = program->file,
                              .model = model,
                              .form = options->json ? ETX_TEXT_AS_JSON : form};
  return etx_generation_options_config(program->command, options, &model->pool,
                                       &answer->run.config);
}

// The next line. False at the end, or after an error.
static bool take_line(const char* command,
                      etx_exit (*take)(void* context, etx_text text),
                      void* context, etx_exit* code) {
  etx_pool pool;
  etx_text line;
  etx_status status = ETX_OK;
  etx_diag diag;
  etx_diag_init(&diag);
  etx_pool_init(&pool);
  const bool is_read = etx_line_read(stdin, &pool, &line, &status, &diag);
  if (is_read) *code = take(context, line);
  if (status != ETX_OK) *code = etx_error_report(command, NULL, status, &diag);
  etx_pool_close(&pool);
  return is_read;
}

etx_exit etx_texts_take(const etx_option_list* texts, const char* command,
                        etx_exit (*take)(void* context, etx_text text),
                        void* context) {
  etx_exit code = ETX_EXIT_DONE;
  for (size_t i = 0; i < texts->count && code == ETX_EXIT_DONE; ++i) {
    code = take(context, etx_text_of(texts->items[i]));
  }
  if (texts->count != 0) return code;
  while (code == ETX_EXIT_DONE && take_line(command, take, context, &code)) {
  }
  return code == ETX_EXIT_DONE && etx_interrupt_seen() ? ETX_EXIT_INTERRUPTED
                                                       : code;
}
