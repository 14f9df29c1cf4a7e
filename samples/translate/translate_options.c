#include "samples/translate/translate_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: translate [options] [SENTENCE...]\n"
    "\n"
    "Translates each SENTENCE or, without one, each line of the input. "
    "Options\n"
    "may be anywhere; everything after -- is a sentence.\n"
    "\n"
    "  --in FILE      the input; default: standard input\n"
    "  --out FILE     the output; replaced when it is complete\n"
    "  --beam N       beam search with N beams instead of greedy search\n"
    "  --batch N      translate N sentences at once; same translations\n"
    "  --threads N    compute on N threads; same translations\n"
    "  --ids          print token ids instead of text\n"
    "  --scores       print the score before each translation: the mean log\n"
    "                 probability of its tokens\n"
    "  --stats        print time, calls and memory on standard error\n"
    "  --model FILE   the program, made by 'etx plan'\n"
    "  --vocab FILE   the vocabulary\n";

// The variable that an option sets, or NULL if the option is of another kind:
// options with a text, options with a number from 1, and switches.
static const char** text_of(etx_translate_options* options,
                            const char* option) {
  if (strcmp(option, "--in") == 0) return &options->input;
  if (strcmp(option, "--out") == 0) return &options->output;
  if (strcmp(option, "--model") == 0) return &options->model;
  if (strcmp(option, "--vocab") == 0) return &options->vocabulary;
  return NULL;
}

static size_t* number_of(etx_translate_options* options, const char* option) {
  if (strcmp(option, "--beam") == 0) return &options->beams;
  if (strcmp(option, "--batch") == 0) return &options->batch;
  if (strcmp(option, "--threads") == 0) return &options->threads;
  return NULL;
}

static bool* switch_of(etx_translate_options* options, const char* option) {
  if (strcmp(option, "--ids") == 0) return &options->ids;
  if (strcmp(option, "--scores") == 0) return &options->scores;
  if (strcmp(option, "--stats") == 0) return &options->stats;
  return NULL;
}

static int refuse(const char* what, const char* word) {
  fprintf(stderr, "translate: %s '%s'\n%s", what, word, usage);
  return 2;
}

static int read_number(size_t* out, const char* option, const char* text) {
  char* end = NULL;
  const unsigned long number = strtoul(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0' || number < 1 ||
      number > 65536) {
    fprintf(stderr,
            "translate: %s: expected a number from 1 to 65536, found '%s'\n%s",
            option, text, usage);
    return 2;
  }
  *out = number;
  return -1;
}

// Reads the option at `*at` with its value. Returns -1, or the exit code if it
// is refused.
static int read_option(etx_translate_options* options, int argc, char** argv,
                       int* at) {
  const char* const option = argv[*at];
  bool* const on = switch_of(options, option);
  if (on != NULL) {
    *on = true;
    return -1;
  }
  const char** const text = text_of(options, option);
  size_t* const number = number_of(options, option);
  if (text == NULL && number == NULL) return refuse("unknown option", option);
  if ((text != NULL && *text != NULL) || (number != NULL && *number != 0)) {
    return refuse("option is given twice:", option);
  }
  if (++*at == argc) return refuse("no value after option", option);
  if (number != NULL) return read_number(number, option, argv[*at]);
  *text = argv[*at];
  return -1;
}

// Reads the options, which may be anywhere, and moves the sentences to the
// front of argv. Returns -1, or the exit code if the program is to end.
static int read_all(etx_translate_options* options, int argc, char** argv) {
  bool are_options = true;
  options->sentences = argv + 1;
  for (int at = 1; at < argc; ++at) {
    char* const word = argv[at];
    if (!are_options || word[0] != '-') {
      options->sentences[options->sentence_count++] = word;
    } else if (strcmp(word, "--") == 0) {
      are_options = false;
    } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
      fputs(usage, stdout);
      return 0;
    } else {
      const int code = read_option(options, argc, argv, &at);
      if (code >= 0) return code;
    }
  }
  return -1;
}

static void set_defaults(etx_translate_options* options) {
  if (options->model == NULL) options->model = ETX_TRANSLATE_MODEL;
  if (options->vocabulary == NULL) options->vocabulary = ETX_TRANSLATE_VOCAB;
  if (options->threads == 0) options->threads = 1;
  if (options->beams == 0) options->beams = 1;
}

int etx_translate_options_read(etx_translate_options* options, int argc,
                               char** argv) {
  *options = (etx_translate_options){0};
  const int code = read_all(options, argc, argv);
  if (code >= 0) return code;
  set_defaults(options);
  if (options->sentence_count != 0 && options->input != NULL) {
    return refuse("sentences cannot be given together with --in",
                  options->input);
  }
  return -1;
}
