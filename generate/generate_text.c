// The loop over tokens.
//
//   prompt     prefill, as many tokens at a time as it takes
//   step       logits -> a token for each text, or the beams of the next step
//              tokens -> decode -> logits
//   drafts     the token and a draft -> verify -> logits behind each; as long
//              as the token chosen there is the draft's, it goes on
//
// Each text has rows of the methods from text * stride on: one, or one for each
// beam. The caches stay where they are when beams change places; the table
// beam_rows says which row has the entry of each position.

#include "generate/generator.h"

#include "generate/beam_group.h"
#include "generate/generator_call.h"

// One call of etx_generate.
typedef struct generation {
  const etx_generator* generator;
  const etx_generation_config* config;
  const etx_generation_prompt* prompt;
  const etx_generation_hooks* hooks;
  size_t stride;      // rows of the methods for each text
  size_t max_length;  // tokens of a text
  size_t length;      // tokens of all texts so far
  bool is_cancelled;
  etx_generator_call call;
  int64_t* next_table;  // [rows, entries]
  float* row;           // [vocab_size]: logits that are being changed
  etx_choice_scratch scratch;
  etx_beam_group* groups;     // [texts], with beams
  int64_t** texts;            // [texts]: ids, without beams
  etx_generated_text* found;  // the result
  etx_token_random random;
  size_t token;        // of the last call, whose logits are next
  int64_t* draft;      // [most tokens of verify]
  size_t draft_count;  // of draft; the last call had one token more
  size_t drafted, accepted;
} generation;

static const etx_generation_hooks no_hooks;

static bool has_beams(const generation* g) { return g->config->num_beams > 1; }

// ---- checks ----

static etx_status check_rows(const generation* g, etx_diag* diag) {
  const size_t beams = g->config->num_beams;
  const size_t rows = g->generator->rows;
  const size_t texts = g->prompt->rows;
  if (texts == 0 || g->stride < beams || (texts - 1) > (rows - 1) / g->stride ||
      (texts - 1) * g->stride + beams > rows) {
    return etx_diag_fail(
        diag, ETX_BAD_ARGUMENT,
        "%z texts with %z beams each need %z rows, the program "
        "has %z: export it with a larger batch or more beams",
        texts, beams, texts * g->stride, rows);
  }
  if (beams > 1 && g->generator->decode.beam_rows == SIZE_MAX) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "num_beams is %z, but method 'decode' has no input "
                         "beam_rows: export the program with beams",
                         beams);
  }
  return ETX_OK;
}

static etx_status check_ids(const generation* g, etx_diag* diag) {
  const etx_generation_prompt* const prompt = g->prompt;
  for (size_t i = 0; i < prompt->rows * prompt->count; ++i) {
    const int64_t id = prompt->ids[i];
    if (id >= 0 && (uint64_t)id < g->generator->vocab_size) continue;
    return etx_diag_fail(
        diag, ETX_BAD_ARGUMENT, "token %z of text %z is %i, expected 0 to %z",
        i % prompt->count, i / prompt->count, id, g->generator->vocab_size - 1);
  }
  for (size_t i = 0; prompt->padding != NULL && i < prompt->rows; ++i) {
    const int64_t padding = prompt->padding[i];
    const bool is_taken = g->generator->decode.padding != SIZE_MAX;
    if (padding == 0 ||
        (is_taken && padding > 0 && (uint64_t)padding < prompt->count)) {
      continue;
    }
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "text %z has %i tokens of padding, expected 0 to %z",
                         i, padding, is_taken ? prompt->count - 1 : 0);
  }
  return ETX_OK;
}

static etx_status check_lengths(generation* g, etx_diag* diag) {
  const size_t context = g->generator->context_length;
  const size_t count = g->prompt->count;
  const size_t most = (size_t)INT32_MAX;
  const size_t limit = context < most ? context : most;
  if (count == 0 || count >= limit) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "the prompt has %z tokens, expected 1 to %z, so that "
                         "a new one fits into the caches",
                         count, limit - 1);
  }
  if (g->prompt->cached_count >= count) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "cached_count is %z, expected less than the %z tokens "
                         "of the prompt, the last of which must run",
                         g->prompt->cached_count, count);
  }
  g->max_length = g->config->max_new_tokens < limit - count
                      ? count + g->config->max_new_tokens
                      : limit;
  return ETX_OK;
}

static etx_status check_drafts(const generation* g, etx_diag* diag) {
  if (g->prompt->drafts == NULL) return ETX_OK;
  if (g->generator->verify.method == NULL) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "drafts need a method 'verify': export the program "
                         "with verify=8, for example");
  }
  if (g->prompt->rows == 1 && !has_beams(g)) return ETX_OK;
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "there are %z texts with %z beams, but drafts are for "
                       "one text without beams",
                       g->prompt->rows, g->config->num_beams);
}

static etx_status check(generation* g, etx_diag* diag) {
  ETX_TRY(
      etx_generation_config_check(g->config, g->generator->vocab_size, diag));
  ETX_TRY(check_rows(g, diag));
  ETX_TRY(check_lengths(g, diag));
  ETX_TRY(check_ids(g, diag));
  ETX_TRY(check_drafts(g, diag));
  if (g->config->stop_string_count == 0 || g->hooks->texts.text_of != NULL) {
    return ETX_OK;
  }
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "stop_strings need the texts of tokens: set hooks");
}

// ---- memory ----

static bool take_texts(generation* g, etx_arena* arena) {
  const size_t count = g->prompt->rows;
  void* memory = NULL;
  if (!has_beams(g)) {
    if (!etx_arena_take_items(arena, count, sizeof(int64_t*), &memory))
      return false;
    g->texts = (int64_t**)memory;
    for (size_t i = 0; i < count; ++i) {
      if (!etx_arena_take_items(arena, g->max_length, sizeof(int64_t), &memory))
        return false;
      if (g->texts != NULL) g->texts[i] = memory;
    }
    return true;
  }
  if (!etx_arena_take_items(arena, count, sizeof(etx_beam_group), &memory))
    return false;
  g->groups = memory;
  for (size_t i = 0; i < count; ++i) {
    etx_beam_group counted;
    etx_beam_group* const group = g->groups == NULL ? &counted : &g->groups[i];
    if (!etx_beam_group_init(group, g->config, &g->hooks->texts,
                             g->prompt->count, g->max_length, arena)) {
      return false;
    }
  }
  return true;
}

static bool take_all(generation* g, etx_arena* arena) {
  const etx_generator* const generator = g->generator;
  const size_t rows = generator->rows;
  const size_t entries = generator->decode.most_entries;
  const size_t vocab = generator->vocab_size;
  const size_t found = g->prompt->rows * g->config->num_return_sequences;
  void* memory[6];
  const bool is_enough =
      etx_generator_call_init(&g->call, generator, arena) &&
      etx_arena_take_items(arena, rows, entries * sizeof(int64_t),
                           &memory[0]) &&
      etx_arena_take_items(arena, vocab, sizeof(float), &memory[1]) &&
      etx_arena_take_items(arena, etx_logits_process_needed(vocab), 1,
                           &memory[2]) &&
      etx_arena_take_items(arena, g->config->do_sample ? vocab : 0,
                           sizeof(etx_candidate_token), &memory[3]) &&
      etx_arena_take_items(arena, found, sizeof(etx_generated_text),
                           &memory[4]) &&
      etx_arena_take_items(
          arena, g->prompt->drafts == NULL ? 0 : generator->verify.most_tokens,
          sizeof(int64_t), &memory[5]) &&
      take_texts(g, arena);
  if (!is_enough) return false;
  g->next_table = memory[0];
  g->row = memory[1];
  g->scratch = (etx_choice_scratch){vocab, memory[2], memory[3], &g->random};
  g->found = memory[4];
  g->draft = memory[5];
  return true;
}

static void describe(generation* g, const etx_generator* generator,
                     const etx_generation_config* config,
                     const etx_generation_prompt* prompt) {
  *g = (generation){
      .generator = generator,
      .config = config,
      .prompt = prompt,
      .hooks = prompt->hooks == NULL ? &no_hooks : prompt->hooks,
      .stride =
          prompt->row_stride == 0 ? config->num_beams : prompt->row_stride,
      .random = {.seed = config->seed},
  };
}

static etx_status count_bytes(const etx_generator* generator,
                              const etx_generation_config* config,
                              const etx_generation_prompt* prompt,
                              size_t* out_bytes, etx_diag* diag) {
  generation g;
  etx_arena arena;
  describe(&g, generator, config, prompt);
  ETX_TRY(etx_generation_config_check(config, generator->vocab_size, diag));
  ETX_TRY(check_rows(&g, diag));
  ETX_TRY(check_lengths(&g, diag));
  ETX_TRY(check_drafts(&g, diag));
  etx_arena_init_counting(&arena);
  if (!take_all(&g, &arena)) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "texts of %z tokens need more memory than this "
                         "machine can address",
                         g.max_length);
  }
  *out_bytes = arena.used_bytes;
  return ETX_OK;
}

etx_status etx_generate_needed(const etx_generator* generator,
                               const etx_generation_config* config,
                               const etx_generation_prompt* prompt,
                               size_t* out_bytes, etx_diag* diag) {
  return etx_diag_seal(diag,
                       count_bytes(generator, config, prompt, out_bytes, diag));
}

// ---- calls of the methods ----

static etx_status call(generation* g, const etx_generator_method* method,
                       size_t count, size_t position, etx_diag* diag) {
  g->draft_count = 0;
  ETX_TRY(etx_generator_call_run(&g->call, method, count, position, diag));
  g->token = g->call.tokens_with_logits - 1;
  return ETX_OK;
}

// The text that a row of the methods belongs to. Rows behind the last text
// repeat it.
static size_t text_of_row(const generation* g, size_t row) {
  const size_t text = row / g->stride;
  return text < g->prompt->rows ? text : g->prompt->rows - 1;
}

static size_t padding_of(const generation* g, size_t text) {
  return g->prompt->padding == NULL ? 0 : (size_t)g->prompt->padding[text];
}

static void begin_rows(generation* g) {
  const size_t entries = g->generator->decode.most_entries;
  for (size_t r = 0; r < g->generator->rows; ++r) {
    g->call.padding[r] =
        g->prompt->padding == NULL ? 0 : g->prompt->padding[text_of_row(g, r)];
    for (size_t j = 0; j < entries; ++j) {
      g->call.table[r * entries + j] = (int64_t)r;
      g->next_table[r * entries + j] = (int64_t)r;
    }
  }
}

static etx_status run_prompt(generation* g, etx_diag* diag) {
  const etx_generator* const generator = g->generator;
  const etx_generator_method* const bound =
      etx_generator_prompt_method(generator);
  const etx_generation_prompt* const prompt = g->prompt;
  size_t at = prompt->cached_count;
  while (at < prompt->count) {
    const size_t left = prompt->count - at;
    const size_t count = left < bound->most_tokens ? left : bound->most_tokens;
    for (size_t r = 0; r < generator->rows; ++r) {
      memcpy(g->call.tokens + r * count,
             prompt->ids + text_of_row(g, r) * prompt->count + at,
             count * sizeof *g->call.tokens);
    }
    ETX_TRY(call(g, bound, count, at, diag));
    at += count;
  }
  return ETX_OK;
}

// ---- texts without beams ----

static int64_t pad_of(const generation* g) {
  const etx_generation_config* const config = g->config;
  if (config->pad_token_id >= 0 &&
      (uint64_t)config->pad_token_id < g->generator->vocab_size) {
    return config->pad_token_id;
  }
  return config->eos_token_id.count == 0 ? 0 : config->eos_token_id.ids[0];
}

static etx_generation_end end_of(const generation* g, const int64_t* ids,
                                 size_t count) {
  if (etx_is_end_token(g->config, ids[count - 1])) {
    return ETX_GENERATION_END_TOKEN;
  }
  if (etx_stop_strings_found(g->config, &g->hooks->texts, ids, count)) {
    return ETX_GENERATION_STOP_STRING;
  }
  return count >= g->max_length ? ETX_GENERATION_LENGTH
                                : ETX_GENERATION_CANCELLED;
}

static etx_text_so_far text_so_far(const generation* g, size_t index) {
  return (etx_text_so_far){.ids = g->texts[index],
                           .count = g->length,
                           .prompt_count = g->prompt->count,
                           .padding = padding_of(g, index),
                           .max_length = g->max_length};
}

// The logits of a row, which may be changed.
static float* copy_logits(generation* g, size_t row) {
  memcpy(g->row, etx_generator_call_logits(&g->call, row, g->token),
         g->generator->vocab_size * sizeof *g->row);
  return g->row;
}

// Chooses a token for each text. `out_goes_on` is false if all have ended.
static etx_status step_texts(generation* g, bool* out_goes_on, etx_diag* diag) {
  bool goes_on = false;
  for (size_t t = 0; t < g->prompt->rows; ++t) {
    etx_generated_text* const found = &g->found[t];
    int64_t* const ids = g->texts[t];
    g->call.tokens[t * g->stride] = pad_of(g);
    if (found->count != 0) continue;  // it has ended
    const etx_text_so_far text = text_so_far(g, t);
    ETX_TRY(etx_token_choose(g->config, &text, copy_logits(g, t * g->stride),
                             &g->scratch, &ids[g->length], diag));
    g->call.tokens[t * g->stride] = ids[g->length];
    found->end = end_of(g, ids, g->length + 1);
    if (found->end == ETX_GENERATION_CANCELLED) {
      goes_on = true;
    } else {
      found->count = g->length + 1;
    }
    if (g->hooks->token != NULL && !g->is_cancelled &&
        !g->hooks->token(g->hooks->context, t, ids[g->length])) {
      g->is_cancelled = true;
    }
  }
  *out_goes_on = goes_on;
  return ETX_OK;
}

// ---- texts with beams ----

// The table follows the beams: each gets the entries of the one it continues.
static void follow_beams(generation* g, size_t text) {
  const size_t entries = g->generator->decode.most_entries;
  const etx_beam_group* const group = &g->groups[text];
  for (size_t k = 0; k < group->active_count; ++k) {
    const size_t to = text * g->stride + k;
    const size_t from = text * g->stride + group->active[k].parent;
    memcpy(g->next_table + to * entries, g->call.table + from * entries,
           g->length * sizeof *g->call.table);
    g->call.tokens[to] = group->active[k].ids[group->active[k].count - 1];
  }
}

static etx_status step_beams(generation* g, bool* out_goes_on, etx_diag* diag) {
  bool goes_on = false;
  for (size_t t = 0; t < g->prompt->rows; ++t) {
    etx_beam_group* const group = &g->groups[t];
    if (group->is_done) continue;
    for (size_t k = 0; k < group->active_count; ++k) {
      ETX_TRY(etx_beam_group_consider(
          group, k, copy_logits(g, t * g->stride + k), &g->scratch, diag));
    }
    if (group->step_count == 0) {
      return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                           "the options leave no token for text %z", t);
    }
    etx_beam_group_advance(group);
    follow_beams(g, t);
    goes_on = goes_on || !group->is_done;
  }
  int64_t* const before = g->call.table;
  g->call.table = g->next_table;
  g->next_table = before;
  *out_goes_on = goes_on;
  return ETX_OK;
}

// ---- begin, loop, end ----

static void begin_texts(generation* g) {
  const size_t count = g->prompt->count;
  for (size_t t = 0; t < g->prompt->rows; ++t) {
    const int64_t* const ids = g->prompt->ids + t * count;
    if (has_beams(g)) {
      etx_beam_group_start(&g->groups[t], ids, padding_of(g, t));
    } else {
      memcpy(g->texts[t], ids, count * sizeof *ids);
      g->found[t] = (etx_generated_text){.ids = g->texts[t]};
    }
  }
}

// Rows of no text repeat a row of the last one.
static void fill_rows(generation* g) {
  for (size_t r = 0; r < g->generator->rows; ++r) {
    const size_t text = text_of_row(g, r);
    const size_t first = text * g->stride;
    const size_t used = !has_beams(g) ? 1 : g->groups[text].active_count;
    if (used == 0) {
      g->call.tokens[r] = pad_of(g);
    } else if (r - first >= used) {
      g->call.tokens[r] = g->call.tokens[first];
    }
  }
}

// ---- drafts ----

// Asks for a draft that fits: into the text, the caches and a call of verify.
static etx_status ask_for_draft(generation* g, size_t* out_count,
                                etx_diag* diag) {
  const etx_generator* const generator = g->generator;
  const etx_draft_source* const source = g->prompt->drafts;
  const etx_text_so_far text = text_so_far(g, 0);
  const size_t wanted = g->max_length - g->length - 1;  // the last is chosen
  size_t most = generator->verify.most_tokens - 1;
  size_t count = 0;
  *out_count = 0;
  if (most > wanted) most = wanted;
  if (most > generator->context_length - g->length) {
    most = generator->context_length - g->length;
  }
  if (most == 0 || generator->verify.least_tokens >
                       generator->context_length - (g->length - 1)) {
    return ETX_OK;
  }
  ETX_TRY(
      source->propose(source->context, &text, most, g->draft, &count, diag));
  if (count > most) count = most;
  while (*out_count < count && g->draft[*out_count] >= 0 &&
         (uint64_t)g->draft[*out_count] < generator->vocab_size) {
    ++*out_count;
  }
  return ETX_OK;
}

// Runs the last token of the text and a draft of `count` tokens.
static etx_status verify(generation* g, size_t count, etx_diag* diag) {
  const etx_generator_method* const method = &g->generator->verify;
  const size_t least = method->least_tokens;
  const size_t tokens = count + 1 < least ? least : count + 1;
  const int64_t last = g->texts[0][g->length - 1];
  for (size_t r = 0; r < g->generator->rows; ++r) {
    int64_t* const row = g->call.tokens + r * tokens;
    row[0] = last;
    for (size_t i = 1; i < tokens; ++i) {
      row[i] = i <= count ? g->draft[i - 1] : last;
    }
  }
  ETX_TRY(call(g, method, tokens, g->length - 1, diag));
  g->token = 0;
  g->draft_count = count;
  g->drafted += count;
  return ETX_OK;
}

// Whether the last token of the text is the one that the draft has there.
static bool follows_draft(const generation* g) {
  return g->token < g->draft_count &&
         g->texts[0][g->length - 1] == g->draft[g->token];
}

// Makes the logits behind the last token of the texts the next ones.
static etx_status advance(generation* g, etx_diag* diag) {
  size_t count = 0;
  if (follows_draft(g)) {
    ++g->token;
    return ETX_OK;
  }
  if (g->prompt->drafts != NULL) ETX_TRY(ask_for_draft(g, &count, diag));
  if (count > 0) return verify(g, count, diag);
  fill_rows(g);
  return call(g, &g->generator->decode, 1, g->length - 1, diag);
}

// ---- all ----

static etx_status loop(generation* g, etx_diag* diag) {
  g->length = g->prompt->count;
  for (;;) {
    bool goes_on = false;
    ETX_TRY(has_beams(g) ? step_beams(g, &goes_on, diag)
                         : step_texts(g, &goes_on, diag));
    ++g->length;
    if (follows_draft(g)) ++g->accepted;
    if (g->hooks->step != NULL && !g->is_cancelled &&
        !g->hooks->step(g->hooks->context, g->length - g->prompt->count)) {
      g->is_cancelled = true;
    }
    if (!goes_on || g->is_cancelled) return ETX_OK;
    ETX_TRY(advance(g, diag));
  }
}

// The best beams: finished ones, and behind them active ones if there are too
// few.
static void finish_beams(generation* g, size_t text) {
  const etx_beam_group* const group = &g->groups[text];
  const size_t wanted = g->config->num_return_sequences;
  for (size_t i = 0; i < wanted; ++i) {
    etx_generated_text* const found = &g->found[text * wanted + i];
    const size_t rest = i - group->finished_count;
    *found = (etx_generated_text){.ids = NULL, .end = ETX_GENERATION_LENGTH};
    if (i >= group->finished_count && rest >= group->active_count) continue;
    const etx_beam* const beam =
        i < group->finished_count ? &group->finished[i] : &group->active[rest];
    found->ids = beam->ids;
    found->count = beam->count;
    found->score = beam->sum;
    found->end = end_of(g, beam->ids, beam->count);
  }
}

static void finish(generation* g) {
  for (size_t t = 0; t < g->prompt->rows; ++t) {
    if (has_beams(g)) {
      finish_beams(g, t);
    } else if (g->found[t].count == 0) {
      g->found[t].count = g->length;
    }
  }
}

static etx_status generate_all(const etx_generator* generator,
                               const etx_generation_config* config,
                               const etx_generation_prompt* prompt,
                               etx_bytes_mut memory,
                               etx_generation_result* out_result,
                               etx_diag* diag) {
  generation g;
  etx_arena arena;
  describe(&g, generator, config, prompt);
  ETX_TRY(check(&g, diag));
  etx_arena_init(&arena, memory.data, memory.size);
  if (!take_all(&g, &arena)) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "%z bytes are too few to generate %z tokens",
                         memory.size, g.max_length);
  }
  begin_rows(&g);
  begin_texts(&g);
  ETX_TRY(run_prompt(&g, diag));
  ETX_TRY(loop(&g, diag));
  finish(&g);
  *out_result = (etx_generation_result){
      .texts = g.found,
      .count = prompt->rows * config->num_return_sequences,
      .steps = g.length - prompt->count,
      .drafted = g.drafted,
      .accepted = g.accepted};
  return ETX_OK;
}

etx_status etx_generate(const etx_generator* generator,
                        const etx_generation_config* config,
                        const etx_generation_prompt* prompt,
                        etx_bytes_mut memory, etx_generation_result* out_result,
                        etx_diag* diag) {
  return etx_diag_seal(
      diag, generate_all(generator, config, prompt, memory, out_result, diag));
}
