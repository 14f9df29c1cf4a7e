// llama.cpp with language models: the protocol of etx_language.c.
//
//   bench_llama MODEL.gguf THREADS
//   bench_llama quantize FROM.gguf TO.gguf KIND
//
// Attention is llama.cpp's flash attention over a cache of float16, the faster
// of its settings.

#define _POSIX_C_SOURCE 200809L

#include <llama.h>

#include "ggml_contender.h"

// The same as in language_models.py.
enum { CONTEXT = 2048, SEQUENCES = 8, PREFILL = 512 };
enum { MOST_CONTEXTS = 8 };

// A context for each number of tokens that precede a measured step.
typedef struct prepared_context {
  struct llama_context* context;
  int position;
} prepared_context;

typedef struct peer {
  struct llama_model* model;
  int threads;
  struct llama_batch batch;
  prepared_context decoders[MOST_CONTEXTS];
  struct llama_context* prefill;
  struct llama_context* sequences;
  int sequence_position;
} peer;

static struct llama_context* new_context(const peer* self, int sequences) {
  struct llama_context_params wanted = llama_context_default_params();
  wanted.n_ctx = (uint32_t)(CONTEXT * sequences);
  wanted.n_batch = wanted.n_ubatch = PREFILL;
  wanted.n_seq_max = (uint32_t)sequences;
  wanted.n_threads = wanted.n_threads_batch = self->threads;
  wanted.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
  wanted.kv_unified = sequences == 1;
  struct llama_context* const context =
      llama_init_from_model(self->model, wanted);
  if (context == NULL) fail("a context");
  return context;
}

static void add_token(struct llama_batch* batch, int token, int position,
                      int sequence, bool wants_logits) {
  const int at = batch->n_tokens++;
  batch->token[at] = token;
  batch->pos[at] = position;
  batch->n_seq_id[at] = 1;
  batch->seq_id[at][0] = sequence;
  batch->logits[at] = wants_logits;
}

static void compute(peer* self, struct llama_context* context) {
  if (llama_decode(context, self->batch) != 0) fail("llama_decode");
  llama_synchronize(context);
}

static void fill(peer* self, struct llama_context* context, int sequence,
                 int count) {
  for (int at = 0; at < count;) {
    self->batch.n_tokens = 0;
    for (; at < count && self->batch.n_tokens < PREFILL; ++at) {
      add_token(&self->batch, prompt_token(at), at, sequence, false);
    }
    compute(self, context);
  }
}

// Takes the token's keys and values out of the cache again.
static double step(peer* self, struct llama_context* context, int position,
                   int sequences) {
  self->batch.n_tokens = 0;
  for (int i = 0; i < sequences; ++i) {
    add_token(&self->batch, NEXT + i, position, i, true);
  }
  const double start = seconds_now();
  compute(self, context);
  (void)llama_get_logits_ith(context, sequences - 1);
  const double taken = seconds_now() - start;
  for (int i = 0; i < sequences; ++i) {
    llama_memory_seq_rm(llama_get_memory(context), i, position, -1);
  }
  return 1e3 * taken;
}

static double prefill(peer* self, int count) {
  if (self->prefill == NULL) self->prefill = new_context(self, 1);
  llama_memory_clear(llama_get_memory(self->prefill), false);
  self->batch.n_tokens = 0;
  for (int i = 0; i < count; ++i) {
    add_token(&self->batch, prompt_token(i), i, 0, i == count - 1);
  }
  const double start = seconds_now();
  compute(self, self->prefill);
  (void)llama_get_logits_ith(self->prefill, -1);
  return 1e3 * (seconds_now() - start);
}

static struct llama_context* decoder_at(peer* self, int position) {
  size_t i = 0;
  while (i + 1 < MOST_CONTEXTS && self->decoders[i].context != NULL &&
         self->decoders[i].position != position) {
    ++i;
  }
  prepared_context* const found = &self->decoders[i];
  if (found->context == NULL || found->position != position) {
    if (found->context != NULL) llama_free(found->context);
    *found = (prepared_context){new_context(self, 1), position};
    fill(self, found->context, 0, position);
    step(self, found->context, position, 1);
  }
  return found->context;
}

static struct llama_context* sequences_at(peer* self, int position) {
  if (self->sequences != NULL && self->sequence_position == position) {
    return self->sequences;
  }
  if (self->sequences != NULL) llama_free(self->sequences);
  self->sequences = new_context(self, SEQUENCES);
  self->sequence_position = position;
  for (int i = 0; i < SEQUENCES; ++i) fill(self, self->sequences, i, position);
  step(self, self->sequences, position, SEQUENCES);
  return self->sequences;
}

static bool measure(void* opaque, const char* what, int count, double* out_ms) {
  peer* const self = opaque;
  if (strcmp(what, "decode") == 0) {
    *out_ms = step(self, decoder_at(self, count), count, 1);
  } else if (strcmp(what, "decode8") == 0) {
    *out_ms = step(self, sequences_at(self, count), count, SEQUENCES);
  } else if (strcmp(what, "prefill") == 0) {
    *out_ms = prefill(self, count);
  } else {
    return false;
  }
  return true;
}

static void check(void* opaque) {
  peer* const self = opaque;
  struct llama_context* const context = new_context(self, 1);
  fill(self, context, 0, CHECKED);
  step(self, context, CHECKED, 1);
  print_logits(llama_get_logits_ith(context, 0),
               llama_vocab_n_tokens(llama_model_get_vocab(self->model)));
  llama_free(context);
}

static int quantize(const char* from, const char* to, const char* kind) {
  static const struct {
    const char* name;
    enum llama_ftype type;
  } kinds[] = {{"f16", LLAMA_FTYPE_MOSTLY_F16},
               {"bf16", LLAMA_FTYPE_MOSTLY_BF16},
               {"q8_0", LLAMA_FTYPE_MOSTLY_Q8_0},
               {"q4_0", LLAMA_FTYPE_MOSTLY_Q4_0},
               {"q4_K_M", LLAMA_FTYPE_MOSTLY_Q4_K_M}};
  struct llama_model_quantize_params wanted =
      llama_model_quantize_default_params();
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    if (strcmp(kinds[i].name, kind) != 0) continue;
    wanted.ftype = kinds[i].type;
    return (int)llama_model_quantize(from, to, &wanted);
  }
  fprintf(stderr, "bench_llama: unknown kind '%s'\n", kind);
  return 2;
}

int main(int argc, char** argv) {
  static peer self;
  llama_log_set(print_errors, NULL);
  ggml_backend_load_all();  // where processors have libraries of their own
  llama_backend_init();
  if (argc == 5 && strcmp(argv[1], "quantize") == 0) {
    return quantize(argv[2], argv[3], argv[4]);
  }
  if (argc != 3) {
    fputs("usage: bench_llama MODEL.gguf THREADS\n", stderr);
    return 2;
  }
  self.threads = atoi(argv[2]);
  const double start = seconds_now();
  self.model =
      llama_model_load_from_file(argv[1], llama_model_default_params());
  if (self.model == NULL) fail("loading the model");
  self.batch = llama_batch_init(PREFILL, 0, 1);
  answer_all(&(contender){&self, measure, check}, seconds_now() - start);
  return 0;
}
