// Translates English sentences to French.
//
//   translate "the train leaves at half past seven"
//   translate < sentences.txt
//
// One translation a line on standard output.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/threads/thread_pool.h"
#include "samples/translate/translator.h"

static const char usage[] =
    "usage: translate [options] [SENTENCE...]\n"
    "\n"
    "Translates each SENTENCE, or without any each line of standard input.\n"
    "\n"
    "  --ids          print token ids instead of text\n"
    "  --threads N    compute on N threads; the answers are the same\n"
    "  --time         say on standard error how long it took\n"
    "  --model FILE   the program, made by 'etx plan'\n"
    "  --vocab FILE   the vocabulary\n";

typedef struct words {
  const char* model;
  const char* vocabulary;
  size_t threads;
  bool ids;
  bool time;
  char** sentences;
  int sentence_count;
} words;

// Returns -1 to go on, or the exit code.
static int read_words(words* in, int argc, char** argv) {
  int at = 1;
  for (; at < argc && argv[at][0] == '-'; ++at) {
    const char* const word = argv[at];
    if (strcmp(word, "--") == 0) {
      ++at;
      break;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
      fputs(usage, stdout);
      return 0;
    }
    if (strcmp(word, "--ids") == 0) {
      in->ids = true;
    } else if (strcmp(word, "--time") == 0) {
      in->time = true;
    } else if (strcmp(word, "--threads") == 0 && at + 1 < argc) {
      in->threads = strtoul(argv[++at], NULL, 10);  // 0 is refused later
    } else if (strcmp(word, "--model") == 0 && at + 1 < argc) {
      in->model = argv[++at];
    } else if (strcmp(word, "--vocab") == 0 && at + 1 < argc) {
      in->vocabulary = argv[++at];
    } else {
      fprintf(stderr,
              "translate: option '%s' is unknown or lacks its value\n%s", word,
              usage);
      return 2;
    }
  }
  in->sentences = argv + at;
  in->sentence_count = argc - at;
  return -1;
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// What has been done so far, for --time.
typedef struct totals {
  size_t sentences;
  size_t tokens;
  double seconds;
} totals;

static void print_answer(const etx_translator* translator,
                         const etx_translation* answer, bool ids) {
  if (ids) {
    for (size_t i = 0; i < answer->count; ++i) {
      printf("%s%" PRId64, i == 0 ? "" : " ", answer->ids[i]);
    }
    putchar('\n');
    return;
  }
  char text[16 * ETX_TRANSLATOR_MOST_TOKENS];
  etx_tokenizer_decode(&translator->tokenizer, answer->ids, answer->count, text,
                       sizeof text);
  puts(text);
}

static bool translate(etx_translator* translator, etx_text sentence, bool ids,
                      totals* done) {
  etx_diag diag;
  etx_translation answer;
  etx_diag_init(&diag);
  const double start = seconds_now();
  const etx_status status =
      etx_translator_translate(translator, sentence, &answer, &diag);
  done->seconds += seconds_now() - start;
  if (status != ETX_OK) {
    fprintf(stderr, "translate: '%.*s': %s\n", (int)sentence.size,
            sentence.data,
            diag.text_size != 0 ? diag.text : etx_status_text(status));
    return false;
  }
  ++done->sentences;
  done->tokens += answer.count;
  print_answer(translator, &answer, ids);
  return true;
}

static bool translate_lines(etx_translator* translator, const words* in,
                            totals* done) {
  char* line = NULL;
  size_t capacity = 0;
  bool is_fine = true;
  for (;;) {
    const ssize_t size = getline(&line, &capacity, stdin);
    if (size < 0) break;
    etx_text sentence = {line, (size_t)size};
    if (sentence.size != 0 && line[sentence.size - 1] == '\n') --sentence.size;
    // A refused line keeps its place in the output.
    if (!translate(translator, sentence, in->ids, done)) {
      putchar('\n');
      is_fine = false;
    }
    fflush(stdout);
  }
  free(line);
  return is_fine;
}

static bool translate_all(etx_translator* translator, const words* in,
                          totals* done) {
  if (in->sentence_count == 0) return translate_lines(translator, in, done);
  bool is_fine = true;
  for (int i = 0; i < in->sentence_count; ++i) {
    if (!translate(translator, etx_text_of(in->sentences[i]), in->ids, done)) {
      is_fine = false;
    }
  }
  return is_fine;
}

static int run(const words* in, const etx_parallel* parallel) {
  const double start = seconds_now();
  etx_diag diag;
  etx_translator translator;
  etx_diag_init(&diag);
  const etx_status status = etx_translator_open(
      &translator, in->model, in->vocabulary, parallel, &diag);
  if (status != ETX_OK) {
    fprintf(stderr, "translate: %s: %s\n", in->model,
            diag.text_size != 0 ? diag.text : etx_status_text(status));
    return 1;
  }
  const double opened = seconds_now();
  totals done = {0, 0, 0};
  const bool is_fine = translate_all(&translator, in, &done);
  etx_translator_close(&translator);
  if (in->time) {
    fprintf(stderr,
            "opened in %.1f ms; %zu sentences, %zu tokens in %.3f s: %.0f "
            "tokens/s\n",
            1e3 * (opened - start), done.sentences, done.tokens, done.seconds,
            done.seconds > 0 ? (double)done.tokens / done.seconds : 0.0);
  }
  if (fflush(stdout) != 0 || ferror(stdout) != 0) return 1;
  return is_fine ? 0 : 5;
}

int main(int argc, char** argv) {
  static _Alignas(16) uint8_t pool_memory[8192];  // enough for 256 threads
  words in = {.model = ETX_TRANSLATE_MODEL,
              .vocabulary = ETX_TRANSLATE_VOCAB,
              .threads = 1};
  int code = read_words(&in, argc, argv);
  if (code >= 0) return code;
  etx_diag diag;
  etx_thread_pool pool;
  etx_diag_init(&diag);
  const etx_bytes_mut memory = {pool_memory, sizeof pool_memory};
  if (etx_thread_pool_init(&pool, in.threads, memory, &diag) != ETX_OK) {
    fprintf(stderr, "translate: %s\n", diag.text);
    return 2;
  }
  code = run(&in, &pool.parallel);
  etx_thread_pool_close(&pool);
  return code;
}
