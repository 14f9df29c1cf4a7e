// The processor time of one step of beam search on logits, without the model:
//
//   bench_beams [VOCABULARY] [BEAMS]
//
// Prints the median of 101 steps.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "generate/beam_group.h"
#include "generate/logits_processors.h"

enum { STEPS = 101, LENGTH = STEPS + 2 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

static void* take(size_t bytes) {
  void* const memory = calloc(1, bytes);
  if (memory == NULL) exit(1);
  return memory;
}

// Logits as of a model: about normal, with a deviation of 3.
static void fill(float* logits, size_t count, uint32_t* state) {
  for (size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (int k = 0; k < 4; ++k) {
      *state = *state * 1664525u + 1013904223u;
      sum += (float)(*state >> 8) / 16777216.0f - 0.5f;
    }
    logits[i] = sum * 5.2f;
  }
}

int main(int argc, char** argv) {
  const size_t vocab = argc > 1 ? strtoul(argv[1], NULL, 10) : 58101;
  const size_t beams = argc > 2 ? strtoul(argv[2], NULL, 10) : 4;
  static uint8_t memory[1 << 20];
  double times[STEPS];
  etx_generation_config config;
  etx_beam_group group;
  etx_arena arena;
  etx_diag diag;
  uint32_t state = 1;
  const int64_t prompt[] = {1};
  etx_generation_config_init(&config);
  config.num_beams = beams;
  etx_arena_init(&arena, memory, sizeof memory);
  if (vocab < 2 ||
      !etx_beam_group_init(&group, &config, NULL, 1, LENGTH, &arena)) {
    fprintf(stderr, "bench_beams: expected VOCABULARY and BEAMS\n");
    return 2;
  }
  float* const logits = take(vocab * sizeof *logits);
  float* const row = take(vocab * sizeof *row);
  const etx_choice_scratch scratch = {
      vocab, take(etx_logits_process_needed(vocab)), NULL, NULL};
  etx_beam_group_start(&group, prompt, 0);
  etx_diag_init(&diag);
  for (int step = 0; step < STEPS; ++step) {
    times[step] = 0;
    for (size_t k = 0; k < group.active_count; ++k) {
      fill(logits, vocab, &state);
      const double begin = now();
      memcpy(row, logits, vocab * sizeof *row);
      if (etx_beam_group_consider(&group, k, row, &scratch, &diag) != ETX_OK) {
        return 1;
      }
      times[step] += now() - begin;
    }
    etx_beam_group_advance(&group);
  }
  qsort(times, STEPS, sizeof times[0], compare);
  printf("%zu tokens, %zu beams: %.3f ms for a step, score %.9g\n", vocab,
         beams, times[STEPS / 2] * 1e3, group.active[0].sum);
  free(logits);
  free(row);
  free(scratch.marks);
  return 0;
}
