// Translates English sentences to French.
//
//   translate "the train leaves at half past seven"
//   translate < sentences.txt
//   translate --beam 4 --in sentences.txt --out translated.txt
//
// Prints one translation per line, in the order of the lines.

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/threads/thread_pool.h"
#include "samples/translate/atomic_output.h"
#include "samples/translate/line_reader.h"
#include "samples/translate/progress_bar.h"
#include "samples/translate/statistics.h"
#include "samples/translate/translate_batch.h"
#include "samples/translate/translate_options.h"

typedef struct app {
  const etx_translate_options* options;
  etx_translator translator;
  etx_atomic_output output;
  etx_progress_bar bar;
  etx_statistics statistics;
  size_t line_count;  // of the chunks before
  bool is_refused;    // true if a sentence was refused
} app;

static void print_translation(const app* a, const etx_sentence* sentence) {
  FILE* const out = a->output.file;
  if (a->options->scores) fprintf(out, "%.6f\t", sentence->score);
  if (a->options->ids) {
    for (size_t i = 0; i < sentence->target_count; ++i) {
      fprintf(out, "%s%" PRId64, i == 0 ? "" : " ", sentence->target[i]);
    }
  } else {
    char text[16 * ETX_TRANSLATOR_MAX_TOKENS];
    const size_t size =
        etx_translate_tokenizer_decode(&a->translator.tokenizer, sentence->target,
                             sentence->target_count, text, sizeof text);
    fwrite(text, 1, size, out);
  }
}

static int fail(const char* subject, const etx_diag* diag, int code) {
  fprintf(stderr, "translate: %s%s%s\n", subject, *subject == '\0' ? "" : ": ",
          diag->text_size != 0 ? diag->text : "failed");
  return code;
}

// Lines that are translated together.
typedef struct chunk {
  const etx_text* texts;
  const bool* are_cut;  // NULL: none
  size_t count;
  etx_sentence* sentences;  // one per text; source_count 0: refused
  etx_sentence* packed;     // those that are not refused, in that order
  size_t packed_count;
} chunk;

// Reports a refused line by its number; its line of the output is empty.
static void refuse(app* a, size_t index, const etx_diag* diag) {
  char subject[32];
  etx_progress_bar_clear(&a->bar);
  snprintf(subject, sizeof subject, "line %zu", a->line_count + index + 1);
  fail(subject, diag, 0);
  a->is_refused = true;
}

static void open_sentences(app* a, chunk* p) {
  for (size_t i = 0; i < p->count; ++i) {
    etx_diag diag;
    etx_diag_init(&diag);
    etx_sentence* const to = &p->packed[p->packed_count];
    etx_status status = ETX_OUT_OF_RANGE;
    if (p->are_cut != NULL && p->are_cut[i]) {
      status = etx_diag_fail(&diag, status, "the line has more than %z bytes",
                             (size_t)ETX_LINE_MAX_BYTES);
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

static etx_status print_translations(app* a, const chunk* p, etx_diag* diag) {
  const etx_sentence* next = p->packed;
  // The bar and the translations may go to one terminal.
  etx_progress_bar_clear(&a->bar);
  for (size_t i = 0; i < p->count; ++i) {
    if (p->sentences[i].source_count != 0) print_translation(a, next++);
    fputc('\n', a->output.file);
  }
  if (fflush(a->output.file) == 0 && ferror(a->output.file) == 0) {
    return ETX_OK;
  }
  return etx_diag_fail(diag, ETX_HOST_FAILED, "cannot write translations: %s",
                       strerror(errno));
}

static etx_status translate_opened(app* a, chunk* p, etx_diag* diag) {
  etx_search search = {.beams = a->options->beams,
                       .sentences = a->options->batch,
                       .scores = a->options->scores,
                       .progress = etx_progress_bar_show,
                       .context = &a->bar};
  const double start = etx_progress_bar_seconds();
  open_sentences(a, p);
  etx_status status = etx_translator_translate_all(
      &a->translator, p->packed, p->packed_count, &search, diag);
  etx_statistics_add(&a->statistics, &search.counts, p->packed_count,
                     etx_progress_bar_seconds() - start);
  if (status == ETX_OK) status = print_translations(a, p, diag);
  a->line_count += p->count;
  return status;
}

static etx_status translate_texts(app* a, const etx_text* texts,
                                  const bool* are_cut, size_t count,
                                  etx_diag* diag) {
  chunk p = {.texts = texts, .are_cut = are_cut, .count = count};
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

static etx_status translate_chunk(app* a, const etx_line_reader* reader,
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
      status = translate_chunk(a, &reader, diag);
    }
  } while (status == ETX_OK && reader.line_count != 0);
  etx_progress_bar_clear(&a->bar);
  etx_line_reader_close(&reader);
  return status;
}

static etx_status translate_arguments(app* a, etx_diag* diag) {
  const size_t count = a->options->sentence_count;
  etx_text* const texts = calloc(count, sizeof *texts);
  if (texts == NULL) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory for sentences");
  }
  for (size_t i = 0; i < count; ++i) {
    texts[i] = etx_text_of(a->options->sentences[i]);
  }
  const etx_status status = translate_texts(a, texts, NULL, count, diag);
  free(texts);
  return status;
}

static etx_status translate_file(app* a, etx_diag* diag) {
  const int file = open(a->options->input, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "cannot open '%s': %s",
                         a->options->input, strerror(errno));
  }
  const etx_status status = translate_lines(a, file, diag);
  close(file);
  return status;
}

static etx_status translate_all(app* a, etx_diag* diag) {
  if (a->options->sentence_count != 0) return translate_arguments(a, diag);
  if (a->options->input != NULL) return translate_file(a, diag);
  return translate_lines(a, STDIN_FILENO, diag);
}

static int run_opened(app* a) {
  etx_diag diag;
  etx_diag_init(&diag);
  if (etx_atomic_output_open(&a->output, a->options->output, &diag) != ETX_OK) {
    return fail("", &diag, 1);
  }
  const etx_status status = translate_all(a, &diag);
  if (status != ETX_OK) {
    etx_atomic_output_discard(&a->output);
    return fail("", &diag, status == ETX_BAD_ARGUMENT ? 2 : 1);
  }
  if (etx_atomic_output_commit(&a->output, &diag) != ETX_OK) {
    return fail("", &diag, 1);
  }
  if (a->options->stats) etx_statistics_print(&a->statistics, &a->translator);
  return a->is_refused ? 5 : 0;
}

static int run(const etx_translate_options* options,
               const etx_parallel* parallel) {
  static app a;
  etx_diag diag;
  etx_diag_init(&diag);
  a.options = options;
  const double start = etx_progress_bar_seconds();
  if (etx_translator_open(&a.translator, options->model, options->vocabulary,
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
  etx_translate_options options;
  int code = etx_translate_options_read(&options, argc, argv);
  if (code >= 0) return code;
  etx_diag diag;
  etx_thread_pool pool;
  etx_diag_init(&diag);
  const etx_bytes_mut memory = {pool_memory, sizeof pool_memory};
  if (etx_thread_pool_init(&pool, options.threads, memory, &diag) != ETX_OK) {
    return fail("", &diag, 2);
  }
  // Reports a file size limit like a full disk, instead of ending the program.
  signal(SIGXFSZ, SIG_IGN);
  code = run(&options, &pool.parallel);
  etx_thread_pool_close(&pool);
  return code;
}
