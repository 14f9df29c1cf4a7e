// What the contenders of ggml's libraries share: the protocol of
// etx_language.c, which reads lines of standard input and answers with lines of
// JSON.

#ifndef ETX_BENCH_LANGUAGE_GGML_CONTENDER_H
#define ETX_BENCH_LANGUAGE_GGML_CONTENDER_H

#include <ggml.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// The same as in language_models.py and whisper_models.py.
enum { CHECKED = 17, NEXT = 9 };
enum { MOST_CALLS = 64 };

static inline int prompt_token(int position) {
  return (position * 7 + 3) % 500;
}

static inline double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline void print_errors(enum ggml_log_level level, const char* text,
                                void* context) {
  (void)context;
  if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
}

static inline void fail(const char* what) {
  printf("{\"error\": \"%s failed\"}\n", what);
  exit(1);
}

static inline void print_logits(const float* logits, int count) {
  printf("{\"logits\": [");
  for (int i = 0; i < count; ++i) {
    printf("%s%.7g", i == 0 ? "" : ", ", (double)logits[i]);
  }
  puts("]}");
}

typedef struct contender {
  void* self;
  // Makes one call; false if the command is unknown.
  bool (*measure)(void* self, const char* what, int count, double* out_ms);
  void (*check)(void* self);  // prints logits
} contender;

static inline void answer(const contender* c, const char* line) {
  char what[16] = "";
  int count = 0, calls = 0;
  double ms[MOST_CALLS];
  if (strncmp(line, "check", 5) == 0) {
    c->check(c->self);
    return;
  }
  bool is_known = sscanf(line, "%15s %d %d", what, &count, &calls) == 3;
  if (calls > MOST_CALLS) calls = MOST_CALLS;
  for (int i = 0; is_known && i < calls; ++i) {
    is_known = c->measure(c->self, what, count, &ms[i]);
  }
  if (!is_known) {
    puts("{\"error\": \"unknown command\"}");
    return;
  }
  printf("{\"ms\": [");
  for (int i = 0; i < calls; ++i) printf("%s%.4f", i == 0 ? "" : ", ", ms[i]);
  puts("]}");
}

// Answers until standard input ends.
static inline void answer_all(const contender* c, double load_seconds) {
  char line[256];
  printf("{\"load_ms\": %.3f}\n", 1e3 * load_seconds);
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    answer(c, line);
    fflush(stdout);
  }
}

#endif
