#include "generate/assistant.h"

#include <string.h>

// ---- memory ----

// Without a stated length, the length that 32-bit positions allow would be too
// much memory: what is remembered is at most this long.
enum { MOST_REMEMBERED = 1 << 20 };

static bool take_all(etx_assistant* a, const etx_generator* generator,
                     const etx_generation_config* config, etx_arena* arena) {
  const size_t vocab = generator->vocab_size;
  void* memory[4];
  *a = (etx_assistant){.config = config};
  a->cached_capacity = generator->context_length < MOST_REMEMBERED
                           ? generator->context_length
                           : MOST_REMEMBERED;
  if (!etx_generator_call_init(&a->call, generator, arena) ||
      !etx_arena_take_items(arena, vocab, sizeof(float), &memory[0]) ||
      !etx_arena_take_items(arena, etx_logits_process_needed(vocab), 1,
                            &memory[1]) ||
      !etx_arena_take_items(arena, config->do_sample ? vocab : 0,
                            sizeof(etx_candidate_token), &memory[2]) ||
      !etx_arena_take_items(arena, a->cached_capacity, sizeof(int64_t),
                            &memory[3])) {
    return false;
  }
  a->row = memory[0];
  a->scratch = (etx_choice_scratch){vocab, memory[1], memory[2], NULL};
  a->cached = memory[3];
  return true;
}

etx_status etx_assistant_needed(const etx_generator* generator,
                                const etx_generation_config* config,
                                size_t* out_bytes, etx_diag* diag) {
  etx_assistant counted;
  etx_arena arena;
  etx_arena_init_counting(&arena);
  if (!take_all(&counted, generator, config, &arena)) {
    return etx_diag_seal(
        diag,
        etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                      "an assistant for %z positions needs more memory than "
                      "this machine can address",
                      counted.cached_capacity));
  }
  *out_bytes = arena.used_bytes;
  return ETX_OK;
}

etx_status etx_assistant_init(etx_assistant* assistant,
                              const etx_generator* generator,
                              const etx_generation_config* config,
                              etx_bytes_mut memory, etx_diag* diag) {
  etx_arena arena;
  etx_arena_init(&arena, memory.data, memory.size);
  if (!take_all(assistant, generator, config, &arena)) {
    return etx_diag_seal(
        diag,
        etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                      "%z bytes are too few for an assistant", memory.size));
  }
  // Its one text is in every row.
  const size_t entries = generator->decode.most_entries;
  for (size_t i = 0; i < generator->rows * entries; ++i) {
    assistant->call.table[i] = (int64_t)(i / entries);
  }
  return ETX_OK;
}

// ---- drafts ----

// Forgets what the caches hold behind the text's beginning. The last token is
// to run again, since its logits are wanted.
static void forget_rest(etx_assistant* a, const etx_text_so_far* text) {
  size_t same = 0;
  while (same < a->cached_count && same + 1 < text->count &&
         a->cached[same] == text->ids[same]) {
    ++same;
  }
  a->cached_count = same;
  if (a->cached_padding == text->padding) return;
  a->cached_count = 0;
  a->cached_padding = text->padding;
  for (size_t r = 0; r < a->call.generator->rows; ++r) {
    a->call.padding[r] = (int64_t)text->padding;
  }
}

// Runs some tokens behind those that the caches hold.
static etx_status run(etx_assistant* a, const int64_t* ids, size_t count,
                      etx_diag* diag) {
  const etx_generator* const generator = a->call.generator;
  while (count > 0) {
    const etx_generator_method* method = etx_generator_prompt_method(generator);
    if (count == 1 || count < method->least_tokens) method = &generator->decode;
    const size_t some =
        count < method->most_tokens ? count : method->most_tokens;
    const size_t position = a->cached_count;
    for (size_t r = 0; r < generator->rows; ++r) {
      memcpy(a->call.tokens + r * some, ids, some * sizeof *ids);
    }
    a->cached_count = 0;  // if the call fails
    ETX_TRY(etx_generator_call_run(&a->call, method, some, position, diag));
    memcpy(a->cached + position, ids, some * sizeof *ids);
    a->cached_count = position + some;
    ids += some;
    count -= some;
  }
  return ETX_OK;
}

// Chooses the token behind the caches' last one. `text` has those of the draft.
static etx_status choose(etx_assistant* a, const etx_text_so_far* text,
                         int64_t* out_id, etx_diag* diag) {
  const size_t last = a->call.tokens_with_logits - 1;
  memcpy(a->row, etx_generator_call_logits(&a->call, 0, last),
         a->scratch.vocab_size * sizeof *a->row);
  // The model draws one number for each new token.
  a->random =
      (etx_token_random){a->config->seed, text->count - text->prompt_count};
  a->scratch.random = &a->random;
  return etx_token_choose(a->config, text, a->row, &a->scratch, out_id, diag);
}

// The text is longer than the caches, or has a token that is unknown.
static bool is_beyond(const etx_assistant* a, const etx_text_so_far* text) {
  if (text->count >= a->cached_capacity) return true;
  if (text->padding != 0 && a->call.generator->decode.padding == SIZE_MAX) {
    return true;
  }
  for (size_t i = a->cached_count; i < text->count; ++i) {
    const int64_t id = text->ids[i];
    if (id < 0 || (uint64_t)id >= a->call.generator->vocab_size) return true;
  }
  return false;
}

// of etx_draft_source
static etx_status propose(void* context, const etx_text_so_far* text,
                          size_t most, int64_t* out_ids, size_t* out_count,
                          etx_diag* diag) {
  etx_assistant* const a = context;
  etx_text_so_far drafted = *text;
  *out_count = 0;
  forget_rest(a, text);
  if (is_beyond(a, text)) return ETX_OK;
  if (a->num_assistant_tokens != 0 && most > a->num_assistant_tokens) {
    most = a->num_assistant_tokens;
  }
  if (most > a->cached_capacity - text->count) {
    most = a->cached_capacity - text->count;
  }
  ETX_TRY(
      run(a, text->ids + a->cached_count, text->count - a->cached_count, diag));
  // The text so far is what the caches hold, in memory of the assistant's own.
  drafted.ids = a->cached;
  while (*out_count < most) {
    int64_t id = 0;
    if (*out_count > 0) {
      ETX_TRY(run(a, &out_ids[*out_count - 1], 1, diag));
      drafted.count = a->cached_count;
    }
    ETX_TRY(choose(a, &drafted, &id, diag));
    out_ids[(*out_count)++] = id;
    if (etx_is_end_token(a->config, id)) break;
  }
  return ETX_OK;
}

etx_draft_source etx_assistant_source(etx_assistant* assistant) {
  return (etx_draft_source){propose, assistant};
}
