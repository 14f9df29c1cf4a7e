#include "samples/translate/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: translate [options] [SENTENCE...]\n"
    "\n"
    "Translates each SENTENCE, or without any each line of the input. Options\n"
    "may stand anywhere; what follows -- are sentences.\n"
    "\n"
    "  --in FILE      the input; without it standard input\n"
    "  --out FILE     the output, which is there when it is whole\n"
    "  --beam N       search with N beams instead of taking the likeliest\n"
    "  --batch N      N sentences at once; the answers are the same\n"
    "  --threads N    compute on N threads; the answers are the same\n"
    "  --ids          print token ids instead of text\n"
    "  --scores       print the score of each answer before it: the mean\n"
    "                 logarithm of its tokens' probabilities\n"
    "  --stats        say on standard error what it took\n"
    "  --model FILE   the program, made by 'etx plan'\n"
    "  --vocab FILE   the vocabulary\n";

// Options with a text, and those with a number from 1.
static const char** text_of(etx_words* words, const char* option) {
  if (strcmp(option, "--in") == 0) return &words->input;
  if (strcmp(option, "--out") == 0) return &words->output;
  if (strcmp(option, "--model") == 0) return &words->model;
  if (strcmp(option, "--vocab") == 0) return &words->vocabulary;
  return NULL;
}

static size_t* number_of(etx_words* words, const char* option) {
  if (strcmp(option, "--beam") == 0) return &words->beams;
  if (strcmp(option, "--batch") == 0) return &words->batch;
  if (strcmp(option, "--threads") == 0) return &words->threads;
  return NULL;
}

static bool* switch_of(etx_words* words, const char* option) {
  if (strcmp(option, "--ids") == 0) return &words->ids;
  if (strcmp(option, "--scores") == 0) return &words->scores;
  if (strcmp(option, "--stats") == 0) return &words->stats;
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

// Reads the option at `*at` with its value; -1 to go on.
static int read_option(etx_words* words, int argc, char** argv, int* at) {
  const char* const option = argv[*at];
  bool* const on = switch_of(words, option);
  if (on != NULL) {
    *on = true;
    return -1;
  }
  const char** const text = text_of(words, option);
  size_t* const number = number_of(words, option);
  if (text == NULL && number == NULL) return refuse("unknown option", option);
  if ((text != NULL && *text != NULL) || (number != NULL && *number != 0)) {
    return refuse("a second", option);
  }
  if (++*at == argc) return refuse("a value is missing after", option);
  if (number != NULL) return read_number(number, option, argv[*at]);
  *text = argv[*at];
  return -1;
}

// Reads options wherever they are; sentences move together to the front.
static int read_all(etx_words* words, int argc, char** argv) {
  bool are_options = true;
  words->sentences = argv + 1;
  for (int at = 1; at < argc; ++at) {
    char* const word = argv[at];
    if (!are_options || word[0] != '-') {
      words->sentences[words->sentence_count++] = word;
    } else if (strcmp(word, "--") == 0) {
      are_options = false;
    } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
      fputs(usage, stdout);
      return 0;
    } else {
      const int code = read_option(words, argc, argv, &at);
      if (code >= 0) return code;
    }
  }
  return -1;
}

// What was not said.
static void set_defaults(etx_words* words) {
  if (words->model == NULL) words->model = ETX_TRANSLATE_MODEL;
  if (words->vocabulary == NULL) words->vocabulary = ETX_TRANSLATE_VOCAB;
  if (words->threads == 0) words->threads = 1;
  if (words->beams == 0) words->beams = 1;
}

int etx_words_read(etx_words* words, int argc, char** argv) {
  *words = (etx_words){0};
  const int code = read_all(words, argc, argv);
  if (code >= 0) return code;
  set_defaults(words);
  if (words->sentence_count != 0 && words->input != NULL) {
    return refuse("a sentence beside an input", words->input);
  }
  return -1;
}
