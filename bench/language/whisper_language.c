// whisper.cpp with a Whisper model: the protocol of etx_language.c.
//
//   bench_whisper MODEL.bin THREADS
//
// Attention is whisper.cpp's flash attention, the faster of its settings.

#define _POSIX_C_SOURCE 200809L

#include <whisper.h>

#include "ggml_contender.h"

// The same as in whisper_models.py.
enum { MELS = 80, FRAMES = 3000, WORDS = 51865 };

typedef struct whisper_peer {
  struct whisper_context* context;
  int threads;
  float features[MELS * FRAMES];
  int known;  // tokens that are in the cache
} whisper_peer;

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

static void check(void* context) {
  whisper_peer* const self = context;
  encode(self);
  decode(self, CHECKED);
  print_logits(whisper_get_logits(self->context), WORDS);
}

static bool measure(void* context, const char* what, int count,
                    double* out_ms) {
  whisper_peer* const self = context;
  if (strcmp(what, "encode") == 0) {
    *out_ms = encode(self);
  } else if (strcmp(what, "decode") == 0) {
    *out_ms = decode(self, count);
  } else {
    return false;
  }
  return true;
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
  answer_all(&(contender){&self, measure, check}, seconds_now() - start);
  whisper_free(self.context);
  return 0;
}
