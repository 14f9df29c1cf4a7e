// whisper.cpp with a Whisper model: the protocol of etx_language.c.
//
//   bench_whisper MODEL.bin THREADS
//
// Attention is whisper.cpp's flash attention, the faster of its settings.

#define _POSIX_C_SOURCE 200809L

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <whisper.h>

// The same as in whisper_models.py.
enum { MELS = 80, FRAMES = 3000, CHECKED = 17, NEXT = 9, WORDS = 51865 };
enum { MOST_CALLS = 64 };

typedef struct whisper_peer {
  struct whisper_context* context;
  int threads;
  float features[MELS * FRAMES];
  int known;  // tokens that are in the cache
} whisper_peer;

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void print_errors(enum ggml_log_level level, const char* text,
                         void* context) {
  (void)context;
  if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
}

static void fail(const char* what) {
  printf("{\"error\": \"%s failed\"}\n", what);
  exit(1);
}

static int prompt_token(int position) { return (position * 7 + 3) % 500; }

static double encode(whisper_peer* self) {
  if (whisper_set_mel(self->context, self->features, FRAMES, MELS) != 0) {
    fail("whisper_set_mel");
  }
  const double start = seconds_now();
  if (whisper_encode(self->context, 0, self->threads) != 0) {
    fail("whisper_encode");
  }
  self->known = 0;
  return 1e3 * (seconds_now() - start);
}

static double step(whisper_peer* self, whisper_token token, int position) {
  const double start = seconds_now();
  if (whisper_decode(self->context, &token, 1, position, self->threads) != 0) {
    fail("whisper_decode");
  }
  return 1e3 * (seconds_now() - start);
}

// The cache has the tokens before `position`.
static double decode(whisper_peer* self, int position) {
  for (; self->known < position; ++self->known) {
    step(self, prompt_token(self->known), self->known);
  }
  return step(self, NEXT, position);
}

static void check(whisper_peer* self) {
  encode(self);
  decode(self, CHECKED);
  const float* const logits = whisper_get_logits(self->context);
  printf("{\"logits\": [");
  for (int i = 0; i < WORDS; ++i) {
    printf("%s%.7g", i == 0 ? "" : ", ", (double)logits[i]);
  }
  puts("]}");
}

static bool measure(whisper_peer* self, const char* what, int count,
                    double* out_ms) {
  if (strcmp(what, "encode") == 0) {
    *out_ms = encode(self);
  } else if (strcmp(what, "decode") == 0) {
    *out_ms = decode(self, count);
  } else {
    return false;
  }
  return true;
}

static void answer(whisper_peer* self, const char* line) {
  char what[16] = "";
  int count = 0, calls = 0;
  double ms[MOST_CALLS];
  if (strncmp(line, "check", 5) == 0) {
    check(self);
    return;
  }
  bool is_known = sscanf(line, "%15s %d %d", what, &count, &calls) == 3;
  if (calls > MOST_CALLS) calls = MOST_CALLS;
  for (int i = 0; is_known && i < calls; ++i) {
    is_known = measure(self, what, count, &ms[i]);
  }
  if (!is_known) {
    puts("{\"error\": \"unknown command\"}");
    return;
  }
  printf("{\"ms\": [");
  for (int i = 0; i < calls; ++i) printf("%s%.4f", i == 0 ? "" : ", ", ms[i]);
  puts("]}");
}

int main(int argc, char** argv) {
  static whisper_peer self;
  if (argc != 3) {
    fputs("usage: bench_whisper MODEL.bin THREADS\n", stderr);
    return 2;
  }
  whisper_log_set(print_errors, NULL);
  self.threads = atoi(argv[2]);
  for (int i = 0; i < MELS * FRAMES; ++i) {
    self.features[i] = (float)(i * 37 % 101) / 101.0f - 0.5f;
  }
  struct whisper_context_params wanted = whisper_context_default_params();
  wanted.use_gpu = false;
  wanted.flash_attn = true;
  const double start = seconds_now();
  self.context = whisper_init_from_file_with_params(argv[1], wanted);
  if (self.context == NULL) fail("loading the model");
  printf("{\"load_ms\": %.3f}\n", 1e3 * (seconds_now() - start));
  fflush(stdout);
  char line[256];
  while (fgets(line, sizeof line, stdin) != NULL) {
    answer(&self, line);
    fflush(stdout);
  }
  whisper_free(self.context);
  return 0;
}
