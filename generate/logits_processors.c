// Sequences are compared where they are: an n-gram, for example, is looked for
// in all of the text at each step. That is one pass over the ids, which costs
// less than one pass over the logits, and needs no memory.

#include "generate/logits_processors.h"

#include <math.h>

static bool is_marked(const uint8_t* marks, int64_t id) {
  return ((marks[id / 8] >> (id % 8)) & 1) != 0;
}

// Sets the mark of a token; true if it was not set.
static bool mark(uint8_t* marks, int64_t id) {
  if (is_marked(marks, id)) return false;
  marks[id / 8] = (uint8_t)(marks[id / 8] | (1u << (id % 8)));
  return true;
}

size_t etx_logits_process_needed(size_t vocab_size) {
  return vocab_size / 8 + 1;
}

static void forbid(float* logits, etx_token_list list) {
  for (size_t i = 0; i < list.count; ++i) logits[list.ids[i]] = -INFINITY;
}

// All tokens but these are forbidden.
static void force(float* logits, size_t vocab_size, etx_token_list list) {
  for (size_t i = 0; i < vocab_size; ++i) logits[i] = -INFINITY;
  for (size_t i = 0; i < list.count; ++i) logits[list.ids[i]] = 0.0f;
}

// True if the text ends in the sequence without its last token. As in
// transformers, a sequence that is longer than the text never counts.
static bool is_continued(const etx_text_so_far* text, etx_token_list sequence) {
  const size_t before = sequence.count - 1;
  if (before == 0) return true;
  return sequence.count <= text->count &&
         memcmp(text->ids + text->count - before, sequence.ids,
                before * sizeof *sequence.ids) == 0;
}

static void add_biases(const etx_generation_config* config,
                       const etx_text_so_far* text, float* logits) {
  for (size_t i = 0; i < config->sequence_bias_count; ++i) {
    const etx_sequence_bias* const bias = &config->sequence_bias[i];
    if (!is_continued(text, bias->sequence)) continue;
    logits[bias->sequence.ids[bias->sequence.count - 1]] += bias->bias;
  }
}

static void penalize_repetition(const etx_generation_config* config,
                                const etx_text_so_far* text, float* logits,
                                uint8_t* marks) {
  const float penalty = config->repetition_penalty;
  for (size_t i = text->padding; i < text->count; ++i) {
    float* const logit = &logits[text->ids[i]];
    if (!mark(marks, text->ids[i])) continue;
    *logit = *logit < 0.0f ? *logit * penalty : *logit / penalty;
  }
}

static void penalize_new_tokens(const etx_generation_config* config,
                                const etx_text_so_far* text, float* logits,
                                uint8_t* marks) {
  for (size_t i = text->prompt_count; i < text->count; ++i) {
    float* const logit = &logits[text->ids[i]];
    *logit -= config->frequency_penalty;
    if (mark(marks, text->ids[i])) *logit -= config->presence_penalty;
  }
}

static void forbid_repeated_ngrams(size_t size, const etx_text_so_far* text,
                                   float* logits) {
  const size_t before = size - 1;
  if (text->count < size) return;
  const int64_t* const end = text->ids + text->count - before;
  for (size_t i = 0; i + before < text->count; ++i) {
    if (before != 0 && memcmp(text->ids + i, end, before * sizeof *end) != 0) {
      continue;
    }
    logits[text->ids[i + before]] = -INFINITY;
  }
}

// An end token alone is no bad word.
static bool is_end(const etx_generation_config* config, etx_token_list word) {
  for (size_t i = 0; word.count == 1 && i < config->eos_token_id.count; ++i) {
    if (word.ids[0] == config->eos_token_id.ids[i]) return true;
  }
  return false;
}

static void forbid_bad_words(const etx_generation_config* config,
                             const etx_text_so_far* text, float* logits) {
  for (size_t i = 0; i < config->bad_words_count; ++i) {
    const etx_token_list word = config->bad_words_ids[i];
    if (is_end(config, word) || !is_continued(text, word)) continue;
    logits[word.ids[word.count - 1]] = -INFINITY;
  }
}

// A forced first token comes before the first one that is chosen.
static size_t begin_of(const etx_generation_config* config,
                       const etx_text_so_far* text) {
  const bool is_forced =
      text->prompt_count <= 1 && config->forced_bos_token_id != -1;
  return text->prompt_count + (is_forced ? 1 : 0);
}

static void force_ends(const etx_generation_config* config,
                       const etx_text_so_far* text, float* logits,
                       size_t vocab_size) {
  const size_t new_tokens = text->count - text->prompt_count;
  const etx_token_list bos = {&config->forced_bos_token_id, 1};
  if (text->count < config->min_length || new_tokens < config->min_new_tokens) {
    forbid(logits, config->eos_token_id);
  }
  if (config->forced_bos_token_id != -1 && text->count == 1) {
    force(logits, vocab_size, bos);
  }
  if (config->forced_eos_token_id.count != 0 &&
      text->count + 1 == text->max_length) {
    force(logits, vocab_size, config->forced_eos_token_id);
  }
}

void etx_logits_process(const etx_generation_config* config,
                        const etx_text_so_far* text, float* logits,
                        size_t vocab_size, uint8_t* scratch) {
  const size_t marks_bytes = etx_logits_process_needed(vocab_size);
  add_biases(config, text, logits);
  if (config->repetition_penalty != 1.0f) {
    memset(scratch, 0, marks_bytes);
    penalize_repetition(config, text, logits, scratch);
  }
  if (config->frequency_penalty != 0.0f || config->presence_penalty != 0.0f) {
    memset(scratch, 0, marks_bytes);
    penalize_new_tokens(config, text, logits, scratch);
  }
  if (config->no_repeat_ngram_size != 0) {
    forbid_repeated_ngrams(config->no_repeat_ngram_size, text, logits);
  }
  forbid_bad_words(config, text, logits);
  force_ends(config, text, logits, vocab_size);
  forbid(logits, config->suppress_tokens);
  if (text->count == begin_of(config, text)) {
    forbid(logits, config->begin_suppress_tokens);
  }
}
