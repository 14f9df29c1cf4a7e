// Greedy translation in one call of a method with a loop, against a call of
// `decode` for each token:
//
//   bench_generate STEPS.pte LOOP.pte VOCABULARY LINES.tsv [ROUNDS]
//
// Rounds are interleaved. Prints the time of each way (median of the rounds)
// and the median of the ratios, steps / loop. The tokens must be equal.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "samples/translate/translate_batch.h"

enum { MAX_LINES = 1000, LINE_BYTES = 4096, POSITIONS = 64, MAX_ROUNDS = 99 };

typedef struct bench {
  etx_translator steps;
  etx_module loop;
  char lines[MAX_LINES][LINE_BYTES];
  size_t line_count;
  size_t tokens;
  etx_diag diag;
} bench;

static bench b;

static void end_if_failed(etx_status status) {
  if (status == ETX_OK) return;
  fprintf(stderr, "bench_generate: %s\n", b.diag.text);
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void read_lines(const char* path) {
  FILE* const file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    exit(1);
  }
  while (b.line_count < MAX_LINES &&
         fgets(b.lines[b.line_count], LINE_BYTES, file) != NULL) {
    b.lines[b.line_count][strcspn(b.lines[b.line_count], "\t\n")] = '\0';
    b.line_count += 1;
  }
  fclose(file);
}

static void run_steps(const char* line, etx_translation* out) {
  end_if_failed(
      etx_translator_translate(&b.steps, etx_text_of(line), out, &b.diag));
}

static void run_loop(const char* line, const int64_t** out_tokens,
                     int64_t* out_count) {
  int64_t ids[POSITIONS], limit = POSITIONS - 1;
  const size_t count = etx_tokenizer_encode(&b.steps.tokenizer,
                                            etx_text_of(line), ids, POSITIONS);
  const int32_t sizes[2] = {1, (int32_t)count};
  const etx_value inputs[2] = {
      etx_module_tensor(ids, ETX_DTYPE_INT64, sizes, 2),
      etx_module_tensor(&limit, ETX_DTYPE_INT64, NULL, 0)};
  const etx_value* tokens = NULL;
  const etx_value* length = NULL;
  end_if_failed(etx_module_execute(&b.loop, "generate", inputs, 2, &b.diag));
  end_if_failed(etx_module_output(&b.loop, "generate", 0, &tokens, &b.diag));
  end_if_failed(etx_module_output(&b.loop, "generate", 1, &length, &b.diag));
  *out_tokens = tokens->as.tensor.data;
  *out_count = *(const int64_t*)length->as.tensor.data;
}

static double time_steps(void) {
  etx_translation answer;
  const double start = now();
  for (size_t i = 0; i < b.line_count; ++i) run_steps(b.lines[i], &answer);
  return now() - start;
}

static double time_loop(void) {
  const int64_t* tokens = NULL;
  int64_t count = 0;
  const double start = now();
  for (size_t i = 0; i < b.line_count; ++i) {
    run_loop(b.lines[i], &tokens, &count);
  }
  return now() - start;
}

static void compare(void) {
  for (size_t i = 0; i < b.line_count; ++i) {
    etx_translation answer;
    const int64_t* tokens = NULL;
    int64_t count = 0;
    run_steps(b.lines[i], &answer);
    run_loop(b.lines[i], &tokens, &count);
    if ((size_t)count != answer.count ||
        memcmp(tokens, answer.ids, (size_t)count * sizeof *tokens) != 0) {
      fprintf(stderr, "bench_generate: line %zu differs\n", i + 1);
      exit(1);
    }
    b.tokens += answer.count;
  }
}

static int by_value(const void* a, const void* c) {
  const double x = *(const double*)a, y = *(const double*)c;
  return (x > y) - (x < y);
}

static double median(double* values, size_t count) {
  qsort(values, count, sizeof *values, by_value);
  return values[count / 2];
}

int main(int argc, char** argv) {
  double steps[MAX_ROUNDS], loop[MAX_ROUNDS], ratios[MAX_ROUNDS];
  if (argc < 5) {
    fprintf(stderr,
            "usage: bench_generate STEPS.pte LOOP.pte VOCABULARY LINES.tsv "
            "[ROUNDS]\n");
    return 2;
  }
  size_t rounds = argc > 5 ? strtoul(argv[5], NULL, 10) : 11;
  if (rounds < 1 || rounds > MAX_ROUNDS) rounds = MAX_ROUNDS;
  etx_diag_init(&b.diag);
  end_if_failed(etx_translator_open(&b.steps, argv[1], argv[3], NULL, &b.diag));
  end_if_failed(etx_module_open(&b.loop, argv[2], NULL, &b.diag));
  read_lines(argv[4]);
  compare();
  for (size_t i = 0; i < rounds; ++i) {
    steps[i] = time_steps();
    loop[i] = time_loop();
    ratios[i] = steps[i] / loop[i];
  }
  const double ratio = median(ratios, rounds);
  printf("%zu lines, %zu tokens, %zu rounds\n", b.line_count, b.tokens, rounds);
  printf("step by step: %8.2f us a token\n",
         median(steps, rounds) * 1e6 / (double)b.tokens);
  printf("one call:     %8.2f us a token\n",
         median(loop, rounds) * 1e6 / (double)b.tokens);
  printf("steps / loop: %8.3f\n", ratio);
  etx_module_close(&b.loop);
  etx_translator_close(&b.steps);
  return 0;
}
