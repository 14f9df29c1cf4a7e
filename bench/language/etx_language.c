// etx with language models: lines of standard input, answers as lines of JSON.
//
//   bench_language MODEL.pte THREADS
//
//   decode POSITION TIMES    one token at a position
//   decode8 POSITION TIMES   one token of each of eight sequences
//   prefill COUNT TIMES      so many tokens from position 0
//   encode 0 TIMES           the features of a sound, in models of speech
//   check                    the logits of a token after a short prompt

#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/monotonic_clock.h"
#include "runtime/module/module.h"
#include "runtime/threads/thread_pool.h"

// The same as in language_models.py and whisper_models.py.
enum { SEQUENCES = 8, PREFILL = 512, CHECKED = 17, NEXT = 9 };
enum { MELS = 80, FRAMES = 3000 };
enum { MOST_CALLS = 64 };

typedef struct language_model {
  etx_module module;
  etx_module_shared shared;
  int64_t tokens[PREFILL];
  int64_t positions[PREFILL];
  float features[MELS * FRAMES];
  etx_diag diag;
} language_model;

static int prompt_token(int position) { return (position * 7 + 3) % 500; }

static etx_status method_of(language_model* self, const char* name,
                            etx_method** out_method) {
  *out_method = etx_module_method(&self->module, name);
  if (*out_method != NULL) return ETX_OK;
  etx_planned_memory allocator;
  ETX_TRY(etx_module_shared_allocator(&self->shared, name, &allocator,
                                      &self->diag));
  ETX_TRY(etx_module_load_method(&self->module, name, &allocator, &self->diag));
  *out_method = etx_module_method(&self->module, name);
  return ETX_OK;
}

// Tokens [rows, count] at `positions`, one for each row or token.
static etx_status set_inputs(language_model* self, etx_method* method,
                             int32_t rows, int32_t count) {
  int32_t token_sizes[] = {rows, count};
  int32_t position_sizes[] = {rows * count};
  const etx_value tokens =
      etx_module_tensor(self->tokens, ETX_DTYPE_INT64, token_sizes, 2);
  const etx_value positions =
      etx_module_tensor(self->positions, ETX_DTYPE_INT64, position_sizes, 1);
  ETX_TRY(etx_method_set_value(method, 0, &tokens, &self->diag));
  return etx_method_set_value(method, 1, &positions, &self->diag);
}

static etx_status set_prompt(language_model* self, etx_method* method,
                             int count) {
  for (int i = 0; i < count; ++i) {
    self->tokens[i] = prompt_token(i);
    self->positions[i] = i;
  }
  return set_inputs(self, method, 1, count);
}

static etx_status set_step(language_model* self, etx_method* method,
                           int position, int sequences) {
  for (int i = 0; i < sequences; ++i) {
    self->tokens[i] = NEXT + i;
    self->positions[i] = position;
  }
  return set_inputs(self, method, sequences, 1);
}

static etx_status set_sound(language_model* self, etx_method* method) {
  int32_t sizes[] = {1, MELS, FRAMES};
  for (int i = 0; i < MELS * FRAMES; ++i) {
    self->features[i] = (float)(i * 37 % 101) / 101.0f - 0.5f;
  }
  const etx_value features =
      etx_module_tensor(self->features, ETX_DTYPE_FLOAT32, sizes, 3);
  return etx_method_set_value(method, 0, &features, &self->diag);
}

static etx_status run_times(language_model* self, etx_method* method, int times,
                            double* ms) {
  for (int i = 0; i < times; ++i) {
    const double start = etx_monotonic_clock_seconds();
    ETX_TRY(etx_method_run(method, &self->diag));
    ms[i] = 1e3 * (etx_monotonic_clock_seconds() - start);
  }
  return ETX_OK;
}

static etx_status measure(language_model* self, const char* what, int count,
                          int times, double* ms) {
  etx_method* method = NULL;
  ETX_TRY(method_of(self, what, &method));
  if (strcmp(what, "prefill") == 0) {
    if (count > PREFILL) count = PREFILL;
    ETX_TRY(set_prompt(self, method, count));
  } else if (strcmp(what, "encode") == 0) {
    ETX_TRY(set_sound(self, method));
  } else {
    ETX_TRY(set_step(self, method, count,
                     strcmp(what, "decode8") == 0 ? SEQUENCES : 1));
  }
  return run_times(self, method, times, ms);
}

// Fills the caches: models of speech have no `prefill`.
static etx_status read_prompt(language_model* self, etx_method* decode) {
  etx_method* method = NULL;
  if (method_of(self, "prefill", &method) == ETX_OK) {
    ETX_TRY(set_prompt(self, method, CHECKED));
    return etx_method_run(method, &self->diag);
  }
  etx_diag_init(&self->diag);
  ETX_TRY(method_of(self, "encode", &method));
  ETX_TRY(set_sound(self, method));
  ETX_TRY(etx_method_run(method, &self->diag));
  for (int i = 0; i < CHECKED; ++i) {
    ETX_TRY(set_step(self, decode, i, 1));
    self->tokens[0] = prompt_token(i);
    ETX_TRY(etx_method_run(decode, &self->diag));
  }
  return ETX_OK;
}

static etx_status check(language_model* self) {
  etx_method* decode = NULL;
  const etx_value* out = NULL;
  ETX_TRY(method_of(self, "decode", &decode));
  ETX_TRY(read_prompt(self, decode));
  ETX_TRY(set_step(self, decode, CHECKED, 1));
  ETX_TRY(etx_method_run(decode, &self->diag));
  ETX_TRY(etx_method_output(decode, 0, &out));
  const size_t count = etx_tensor_numel(&out->as.tensor);
  const float* const logits = out->as.tensor.data;
  printf("{\"logits\": [");
  for (size_t i = 0; i < count; ++i) {
    printf("%s%.7g", i == 0 ? "" : ", ", (double)logits[i]);
  }
  puts("]}");
  return ETX_OK;
}

static etx_status answer(language_model* self, const char* line) {
  char what[16] = "";
  int count = 0, times = 0;
  double ms[MOST_CALLS];
  if (strncmp(line, "check", 5) == 0) return check(self);
  if (sscanf(line, "%15s %d %d", what, &count, &times) != 3) {
    return etx_diag_fail(&self->diag, ETX_BAD_ARGUMENT, "unknown command");
  }
  if (times > MOST_CALLS) times = MOST_CALLS;
  ETX_TRY(measure(self, what, count, times, ms));
  printf("{\"ms\": [");
  for (int i = 0; i < times; ++i) printf("%s%.4f", i == 0 ? "" : ", ", ms[i]);
  puts("]}");
  return ETX_OK;
}

static void print_error(language_model* self) {
  for (char* at = self->diag.text; *at != '\0'; ++at) {
    if (*at == '"' || *at == '\\') *at = '\'';
  }
  printf("{\"error\": \"%s\"}\n", self->diag.text);
  etx_diag_init(&self->diag);
}

static etx_status open_model(language_model* self, const char* path,
                             const etx_parallel* parallel) {
  const etx_module_options options = {.parallel = parallel};
  const double start = etx_monotonic_clock_seconds();
  ETX_TRY(etx_module_open(&self->module, path, &options, &self->diag));
  ETX_TRY(etx_module_shared_open(&self->shared, &self->module, &self->diag));
  printf("{\"load_ms\": %.3f}\n",
         1e3 * (etx_monotonic_clock_seconds() - start));
  fflush(stdout);
  return ETX_OK;
}

int main(int argc, char** argv) {
  static _Alignas(64) uint8_t memory[8192];
  static language_model self;
  etx_thread_pool pool;
  if (argc != 3) {
    fputs("usage: bench_language MODEL.pte THREADS\n", stderr);
    return 2;
  }
  etx_diag_init(&self.diag);
  if (etx_thread_pool_init(&pool, strtoul(argv[2], NULL, 10),
                           (etx_bytes_mut){memory, sizeof memory},
                           &self.diag) != ETX_OK ||
      open_model(&self, argv[1], &pool.parallel) != ETX_OK) {
    fprintf(stderr, "bench_language: %s\n", self.diag.text);
    return 1;
  }
  char line[256];
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (answer(&self, line) != ETX_OK) print_error(&self);
    fflush(stdout);
  }
  etx_module_shared_close(&self.shared);
  etx_module_close(&self.module);
  etx_thread_pool_close(&pool);
  return 0;
}
