// What the commands for text have in common: they open a program, say how it
// generates, and take texts one by one.

#ifndef ETX_CLI_TEXT_TEXT_COMMAND_H
#define ETX_CLI_TEXT_TEXT_COMMAND_H

#include "cli/text/generation_options.h"
#include "cli/text/text_answer.h"

// The program of a command.
typedef struct etx_text_program {
  const char* command;    // for messages
  const char* file;       // the path
  const char* tokenizer;  // a file; NULL: the program's
  bool has_no_words;      // works without a tokenizer, too
  etx_run_session_options session;
} etx_text_program;

// The program at `file` with the tokenizer of the options, opened as
// they say.
etx_text_program etx_generation_program(const char* command, const char* file,
                                        const etx_generation_options* options);

// Opens the program, calls `use` with `context`, and closes it. An error of
// opening is reported.
etx_exit etx_text_program_use(const etx_text_program* program,
                              etx_text_model* model,
                              etx_exit (*use)(void* context), void* context);

// Sets up what `model` generates: as the options say, printed as JSON if they
// say so, else in this form. False after a message.
bool etx_text_answer_init(etx_text_answer* answer,
                          const etx_text_program* program,
                          const etx_generation_options* options,
                          etx_text_model* model, etx_text_form form);

// Calls `take` for each text, or, if there are none, for each line of standard
// input, until one does not end with ETX_EXIT_DONE. An error of reading is
// reported. Ctrl-C that was noted while a line was awaited gives
// ETX_EXIT_INTERRUPTED.
etx_exit etx_texts_take(const etx_option_list* texts, const char* command,
                        etx_exit (*take)(void* context, etx_text text),
                        void* context);

#endif
