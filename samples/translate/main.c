// Translates English sentences to French.
//
//   translate "the train leaves at half past seven"
//   translate < sentences.txt
//   translate --beam 4 --in sentences.txt --out translated.txt
//
// One translation a line, in the order of the lines, however they were
// computed.

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/threads/thread_pool.h"
#include "samples/translate/answer_file.h"
#include "samples/translate/line_reader.h"
#include "samples/translate/progress_bar.h"
#include "samples/translate/statistics.h"
#include "samples/translate/translator.h"
#include "samples/translate/words.h"

typedef struct app {
  const etx_words* words;
  etx_translator translator;
  etx_answer_file answers;
  etx_progress_bar bar;
  etx_statistics statistics;
  size_t line_count;  // that earlier portions had
  bool is_refused;    // a sentence was
} app;

static void print_answer(const app* a, const etx_sentence* sentence) {
  FILE* const out = a->answers.file;
  if (a->words->scores) fprintf(out, "%.6f\t", sentence->score);
  if (a->words->ids) {
    for (size_t i = 0; i < sentence->answer_count; ++i) {
      fprintf(out, "%s%" PRId64, i == 0 ? "" : " ", sentence->answer[i]);
    }
  } else {
    char text[16 * ETX_TRANSLATOR_MOST_TOKENS];
    const size_t size =
        etx_tokenizer_decode(&a->translator.tokenizer, sentence->answer,
                             sentence->answer_count, text, sizeof text);
    fwrite(text, 1, size, out);
  }
}

static int fail(const char* subject, const etx_diag* diag, int code) {
  fprintf(stderr, "translate: %s%s%s\n", subject, *subject == '\0' ? "" : ": ",
          diag->text_size != 0 ? diag->text : "failed");
  return code;
}

// Sentences of one portion, those refused without a source.
typedef struct portion {
  const etx_text* texts;
  const bool* are_cut;  // NULL: none
  size_t count;
  etx_sentence* sentences;  // in the order of the texts
  etx_sentence* packed;     // those that are translated, in that order
  size_t packed_count;
} portion;

// A refused line is told by its number and keeps its place in the output.
static void refuse(app* a, size_t index, const etx_diag* diag) {
  char subject[32];
  etx_progress_bar_clear(&a->bar);
  snprintf(subject, sizeof subject, "line %zu", a->line_count + index + 1);
  fail(subject, diag, 0);
  a->is_refused = true;
}

static void open_sentences(app* a, portion* p) {
  for (size_t i = 0; i < p->count; ++i) {
    etx_diag diag;
    etx_diag_init(&diag);
    etx_sentence* const to = &p->packed[p->packed_count];
    etx_status status = ETX_OUT_OF_RANGE;
    if (p->are_cut != NULL && p->are_cut[i]) {
      status = etx_diag_fail(&diag, status, "the line has more than %z bytes",
                             (size_t)ETX_LINE_MOST);
    } else {
      status = etx_sentence_open(to, &a->translator, p->texts[i], &diag);
    }
    if (status == ETX_OK) {
      ++p->packed_count;
    } else {
      refuse(a, i, &diag);
    }
    p->sentences[i].source_count = status == ETX_OK;
  }
}

static etx_status print_answers(app* a, const portion* p, etx_diag* diag) {
  const etx_sentence* answer = p->packed;
  // Both may go to one terminal.
  etx_progress_bar_clear(&a->bar);
  for (size_t i = 0; i < p->count; ++i) {
    if (p->sentences[i].source_count != 0) print_answer(a, answer++);
    fputc('\n', a->answers.file);
  }
  if (fflush(a->answers.file) == 0 && ferror(a->answers.file) == 0) {
    return ETX_OK;
  }
  return etx_diag_fail(diag, ETX_HOST_FAILED, "cannot write answers: %s",
                       strerror(errno));
}

static etx_status translate_opened(app* a, portion* p, etx_diag* diag) {
  etx_search search = {.beams = a->words->beams,
                       .sentences = a->words->batch,
                       .scores = a->words->scores,
                       .progress = etx_progress_bar_show,
                       .context = &a->bar};
  const double start = etx_progress_bar_seconds();
  open_sentences(a, p);
  etx_status status = etx_translator_translate_all(
      &a->translator, p->packed, p->packed_count, &search, diag);
  etx_statistics_add(&a->statistics, &search.counts, p->packed_count,
                     etx_progress_bar_seconds() - start);
  if (status == ETX_OK) status = print_answers(a, p, diag);
  a->line_count += p->count;
  return status;
}

static etx_status translate_texts(app* a, const etx_text* texts,
                                  const bool* are_cut, size_t count,
                                  etx_diag* diag) {
  portion p = {.texts = texts, .are_cut = are_cut, .count = count};
  etx_status status = ETX_OK;
  p.sentences = calloc(count, sizeof *p.sentences);
  p.packed = calloc(count, sizeof *p.packed);
  if (p.sentences == NULL || p.packed == NULL) {
    status = etx_diag_fail(diag, ETX_HOST_FAILED, "no memory for sentences");
  } else {
    status = translate_opened(a, &p, diag);
  }
  for (size_t i = 0; i < p.packed_count; ++i) etx_sentence_close(&p.packed[i]);
  free(p.sentences);
  free(p.packed);
  return status;
}

static etx_status translate_portion(app* a, const etx_line_reader* reader,
                                    etx_diag* diag) {
  static etx_text texts[ETX_LINES_AT_ONCE];
  static bool are_cut[ETX_LINES_AT_ONCE];
  uint64_t bytes = 0;
  for (size_t i = 0; i < reader->line_count; ++i) {
    texts[i] = etx_line_reader_text(reader, i);
    are_cut[i] = reader->lines[i].is_cut;
    bytes += texts[i].size + 1;
  }
  etx_progress_bar_begin(&a->bar, bytes, reader->line_count);
  return translate_texts(a, texts, are_cut, reader->line_count, diag);
}

static etx_status translate_lines(app* a, int file, etx_diag* diag) {
  static etx_line_reader reader;
  etx_line_reader_open(&reader, file);
  etx_progress_bar_open(&a->bar, file);
  etx_status status = ETX_OK;
  do {
    status = etx_line_reader_next(&reader, diag);
    if (status == ETX_OK && reader.line_count != 0) {
      status = translate_portion(a, &reader, diag);
    }
  } while (status == ETX_OK && reader.line_count != 0);
  etx_progress_bar_clear(&a->bar);
  etx_line_reader_close(&reader);
  return status;
}

static etx_status translate_words(app* a, etx_diag* diag) {
  const size_t count = a->words->sentence_count;
  etx_text* const texts = calloc(count, sizeof *texts);
  if (texts == NULL) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory for sentences");
  }
  for (size_t i = 0; i < count; ++i) {
    texts[i] = etx_text_of(a->words->sentences[i]);
  }
  const etx_status status = translate_texts(a, texts, NULL, count, diag);
  free(texts);
  return status;
}

static etx_status translate_file(app* a, etx_diag* diag) {
  const int file = open(a->words->input, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "cannot open '%s': %s",
                         a->words->input, strerror(errno));
  }
  const etx_status status = translate_lines(a, file, diag);
  close(file);
  return status;
}

static etx_status translate_all(app* a, etx_diag* diag) {
  if (a->words->sentence_count != 0) return translate_words(a, diag);
  if (a->words->input != NULL) return translate_file(a, diag);
  return translate_lines(a, STDIN_FILENO, diag);
}

static int run_opened(app* a) {
  etx_diag diag;
  etx_diag_init(&diag);
  if (etx_answer_file_open(&a->answers, a->words->output, &diag) != ETX_OK) {
    return fail("", &diag, 1);
  }
  const etx_status status = translate_all(a, &diag);
  if (status != ETX_OK) {
    etx_answer_file_drop(&a->answers);
    return fail("", &diag, status == ETX_BAD_ARGUMENT ? 2 : 1);
  }
  if (etx_answer_file_finish(&a->answers, &diag) != ETX_OK) {
    return fail("", &diag, 1);
  }
  if (a->words->stats) etx_statistics_print(&a->statistics, &a->translator);
  return a->is_refused ? 5 : 0;
}

static int run(const etx_words* words, const etx_parallel* parallel) {
  static app a;
  etx_diag diag;
  etx_diag_init(&diag);
  a.words = words;
  const double start = etx_progress_bar_seconds();
  if (etx_translator_open(&a.translator, words->model, words->vocabulary,
                          parallel, &diag) != ETX_OK) {
    return fail(a.translator.file, &diag, 1);
  }
  a.statistics.open_seconds = etx_progress_bar_seconds() - start;
  const int code = run_opened(&a);
  etx_translator_close(&a.translator);
  return code;
}

int main(int argc, char** argv) {
  static _Alignas(16) uint8_t pool_memory[8192];  // enough for 256 threads
  etx_words words;
  int code = etx_words_read(&words, argc, argv);
  if (code >= 0) return code;
  etx_diag diag;
  etx_thread_pool pool;
  etx_diag_init(&diag);
  const etx_bytes_mut memory = {pool_memory, sizeof pool_memory};
  if (etx_thread_pool_init(&pool, words.threads, memory, &diag) != ETX_OK) {
    return fail("", &diag, 2);
  }
  // A file that may not grow is an error like a full disk, no sudden end.
  signal(SIGXFSZ, SIG_IGN);
  code = run(&words, &pool.parallel);
  etx_thread_pool_close(&pool);
  return code;
}
