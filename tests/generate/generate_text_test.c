// Whole texts of a small program against those of transformers, recorded by
// tests/data/generate/make_generation.py, without and with drafts; memory,
// hooks, stop strings.

#include <math.h>
#include <stdlib.h>

#include "generate/assistant.h"
#include "generate/prompt_lookup.h"
#include "runtime/module/module.h"
#include "tests/support/assert_status.h"

typedef struct search_case {
  etx_generation_config config;
  etx_token_list prompt;
  etx_token_list expected;
  double score;
} search_case;

#define LIST(...) __VA_ARGS__
#define CASE(config_, prompt_, expected_, score_) \
  {LIST config_, LIST prompt_, LIST expected_, score_},
static const search_case cases[] = {
#include "tests/data/generate/search_cases.def"
};
#undef CASE

// A program with state of its own.
typedef struct opened {
  etx_module module;
  etx_module_shared shared;
  etx_generator generator;
} opened;

static etx_diag diag;
static opened model;  // of `generator`
static opened twin;   // the same program again, as an assistant
static etx_generator generator;

static void open_generator(opened* o) {
  const char* const names[] = {"prefill", "decode", "verify"};
  etx_planned_memory planned;
  assert_ok(etx_module_open(
      &o->module, ETX_TEST_DATA "/generate/small_language.pte", NULL, &diag));
  assert_ok(etx_module_shared_open(&o->shared, &o->module, &diag));
  for (size_t i = 0; i < 3; ++i) {
    assert_ok(
        etx_module_shared_allocator(&o->shared, names[i], &planned, &diag));
    assert_ok(etx_module_load_method(&o->module, names[i], &planned, &diag));
  }
  assert_ok(etx_generator_init(&o->generator,
                               etx_module_method(&o->module, names[0]),
                               etx_module_method(&o->module, names[1]), &diag));
  assert_ok(etx_generator_add_verify(
      &o->generator, etx_module_method(&o->module, names[2]), &diag));
}

static int open_program(void** state) {
  (void)state;
  open_generator(&model);
  open_generator(&twin);
  generator = model.generator;
  return 0;
}

static int close_program(void** state) {
  (void)state;
  etx_module_shared_close(&model.shared);
  etx_module_close(&model.module);
  etx_module_shared_close(&twin.shared);
  etx_module_close(&twin.module);
  return 0;
}

// The block is exactly as large as stated, so that sanitizers see what reaches
// beyond it.
static etx_status generate(const etx_generation_config* config,
                           const etx_generation_prompt* prompt, void** block,
                           etx_generation_result* result) {
  size_t bytes = 0;
  ETX_TRY(etx_generate_needed(&generator, config, prompt, &bytes, &diag));
  *block = malloc(bytes);
  assert_non_null(*block);
  return etx_generate(&generator, config, prompt,
                      (etx_bytes_mut){*block, bytes}, result, &diag);
}

static etx_generation_prompt prompt_of(etx_token_list ids) {
  return (etx_generation_prompt){.ids = ids.ids, .rows = 1, .count = ids.count};
}

static void assert_ids(const etx_generated_text* text, etx_token_list expected,
                       size_t which) {
  if (text->count != expected.count ||
      memcmp(text->ids, expected.ids, text->count * sizeof *text->ids) != 0) {
    fail_msg("case %zu: %zu tokens, expected %zu or others", which, text->count,
             expected.count);
  }
}

static void texts_are_those_of_transformers(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const etx_generation_prompt prompt = prompt_of(cases[i].prompt);
    etx_generation_result result;
    void* block = NULL;
    assert_ok(generate(&cases[i].config, &prompt, &block, &result));
    assert_int_equal(result.count, 1);
    assert_ids(&result.texts[0], cases[i].expected, i);
    assert_true(fabs(result.texts[0].score - cases[i].score) < 1e-4);
    free(block);
  }
}

static void the_program_states_its_ends(void** state) {
  (void)state;
  etx_generation_config config;
  etx_generation_config_init(&config);
  etx_generator_defaults(&generator, &config);
  assert_int_equal(config.eos_token_id.count, 1);
  assert_int_equal(config.eos_token_id.ids[0], 2);
  assert_int_equal(config.pad_token_id, -1);
  assert_int_equal(generator.context_length, 48);
  assert_int_equal(generator.vocab_size, 31);
}

static void less_memory_is_refused(void** state) {
  (void)state;
  const etx_generation_prompt prompt = prompt_of(cases[1].prompt);
  for (size_t beams = 1; beams <= 4; beams += 3) {
    etx_generation_config config;
    etx_generation_result result = {.count = 7};
    size_t bytes = 0;
    etx_generation_config_init(&config);
    config.num_beams = beams;
    config.do_sample = true;
    assert_ok(etx_generate_needed(&generator, &config, &prompt, &bytes, &diag));
    uint8_t* const block = malloc(bytes);
    for (size_t less = bytes % 64; less < bytes; less += 64) {
      assert_status(etx_generate(&generator, &config, &prompt,
                                 (etx_bytes_mut){block, less}, &result, &diag),
                    ETX_OUT_OF_MEMORY);
    }
    assert_int_equal(result.count, 7);
    assert_ok(etx_generate(&generator, &config, &prompt,
                           (etx_bytes_mut){block, bytes}, &result, &diag));
    free(block);
  }
}

static bool count_to_three(void* context, size_t text, int64_t id) {
  size_t* const count = context;
  (void)text;
  (void)id;
  return ++*count < 3;
}

static bool end_at_two(void* context, size_t new_tokens) {
  (void)context;
  return new_tokens < 2;
}

static void hooks_end_texts(void** state) {
  (void)state;
  size_t count = 0;
  const etx_generation_hooks by_token = {.token = count_to_three,
                                         .context = &count};
  const etx_generation_hooks by_step = {.step = end_at_two};
  for (size_t beams = 1; beams <= 4; beams += 3) {
    etx_generation_prompt prompt = prompt_of(cases[1].prompt);
    etx_generation_config config;
    etx_generation_result result;
    void* block = NULL;
    etx_generation_config_init(&config);
    config.num_beams = beams;
    prompt.hooks = beams == 1 ? &by_token : &by_step;
    assert_ok(generate(&config, &prompt, &block, &result));
    assert_int_equal(result.texts[0].count,
                     prompt.count + (beams == 1 ? 3 : 2));
    assert_int_equal(result.texts[0].end, ETX_GENERATION_CANCELLED);
    free(block);
  }
  texts_are_those_of_transformers(state);  // the session is as good as before
}

// Token 3k is "a", 3k + 1 "ab", 3k + 2 nothing.
static etx_text piece_of(void* context, int64_t id) {
  (void)context;
  return etx_text_of(id % 3 == 0 ? "a" : id % 3 == 1 ? "ab" : "");
}

static void stop_strings_end_texts(void** state) {
  (void)state;
  const etx_text strings[] = {{"bab", 3}, {"zz", 2}};
  const etx_token_texts texts = {piece_of, NULL};
  const int64_t ids[] = {4, 2, 5, 7, 3};  // ab - - ab a
  const etx_generation_config config = {.stop_strings = strings,
                                        .stop_string_count = 2};
  assert_false(etx_stop_strings_found(&config, &texts, ids, 3));
  assert_true(etx_stop_strings_found(&config, &texts, ids, 4));
  assert_false(etx_stop_strings_found(&config, &texts, ids, 5));
  assert_false(etx_stop_strings_found(&config, &texts, ids, 0));
  const etx_text inside[] = {{"ba", 2}};  // ends before the end of token 7
  const etx_generation_config other = {.stop_strings = inside,
                                       .stop_string_count = 1};
  assert_true(etx_stop_strings_found(&other, &texts, ids, 4));
  assert_false(etx_stop_strings_found(&other, &texts, ids, 3));
}

static void wrong_prompts_are_refused(void** state) {
  (void)state;
  const int64_t ids[48] = {5, 31};
  const int64_t padding[] = {2};
  etx_generation_config config;
  etx_generation_result result;
  void* block = NULL;
  etx_generation_config_init(&config);
  etx_generation_prompt prompt = {.ids = ids, .rows = 1, .count = 48};
  assert_refused(generate(&config, &prompt, &block, &result), ETX_OUT_OF_RANGE,
                 "48 tokens, expected 1 to 47");
  prompt.count = 2;
  prompt.cached_count = 2;
  assert_refused(generate(&config, &prompt, &block, &result), ETX_OUT_OF_RANGE,
                 "cached_count is 2");
  prompt.cached_count = 0;
  assert_refused(generate(&config, &prompt, &block, &result), ETX_BAD_ARGUMENT,
                 "token 1 of text 0 is 31");
  free(block);
  prompt.count = 1;
  prompt.rows = SIZE_MAX;
  assert_refused(generate(&config, &prompt, &block, &result), ETX_BAD_ARGUMENT,
                 "the program has 8");
  prompt.rows = 1;
  prompt.row_stride = SIZE_MAX;
  assert_ok(generate(&config, &prompt, &block, &result));
  free(block);
  prompt = (etx_generation_prompt){
      .ids = ids + 2, .rows = 1, .count = 2, .padding = padding};
  assert_refused(generate(&config, &prompt, &block, &result), ETX_BAD_ARGUMENT,
                 "2 tokens of padding");
  free(block);
}

// ---- drafts ----

// A draft of tokens that the text has, but the third is another one.
static etx_status propose_two(void* context, const etx_text_so_far* text,
                              size_t most, int64_t* out_ids, size_t* out_count,
                              etx_diag* why) {
  const etx_token_list* const expected = context;
  (void)why;
  for (*out_count = 0; *out_count < most; ++*out_count) {
    const size_t at = text->count + *out_count;
    const int64_t id = at < expected->count ? expected->ids[at] : 1;
    out_ids[*out_count] = *out_count == 2 ? (id + 1) % 31 : id;
  }
  return ETX_OK;
}

// Texts with drafts are those of transformers, and so many tokens of the drafts
// were right.
static size_t check_drafted(size_t i, const etx_draft_source* drafts) {
  etx_generation_prompt prompt = prompt_of(cases[i].prompt);
  etx_generation_result result;
  void* block = NULL;
  prompt.drafts = drafts;
  assert_ok(generate(&cases[i].config, &prompt, &block, &result));
  assert_ids(&result.texts[0], cases[i].expected, i);
  assert_true(result.accepted <= result.drafted);
  free(block);
  return result.accepted;
}

static void drafts_do_not_change_texts(void** state) {
  (void)state;
  size_t counted[3] = {0, 0, 0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const etx_generation_config* const config = &cases[i].config;
    if (config->num_beams > 1) continue;
    etx_token_list expected = cases[i].expected;
    const etx_draft_source scripted = {propose_two, &expected};
    etx_prompt_lookup lookup = {.prompt_lookup_num_tokens = 3};
    const etx_draft_source looked_up = etx_prompt_lookup_source(&lookup);
    etx_assistant assistant;
    size_t bytes = 0;
    assert_ok(etx_assistant_needed(&twin.generator, config, &bytes, &diag));
    uint8_t* const memory = malloc(bytes);
    assert_status(etx_assistant_init(&assistant, &twin.generator, config,
                                     (etx_bytes_mut){memory, bytes - 1}, &diag),
                  ETX_OUT_OF_MEMORY);
    assert_ok(etx_assistant_init(&assistant, &twin.generator, config,
                                 (etx_bytes_mut){memory, bytes}, &diag));
    const etx_draft_source assisted = etx_assistant_source(&assistant);
    counted[0] += check_drafted(i, &scripted);
    counted[1] += check_drafted(i, &looked_up);
    counted[2] += check_drafted(i, &assisted);
    // A second time, the assistant's caches hold tokens of the first one.
    counted[2] += check_drafted(i, &assisted);
    free(memory);
  }
  assert_true(counted[0] > 10 && counted[2] > 20);
}

static void a_lookup_takes_the_last_longest_match(void** state) {
  (void)state;
  //                     0  1  2  3  4  5  6  7  8  9
  const int64_t ids[] = {7, 1, 2, 3, 1, 2, 4, 2, 1, 2};
  etx_text_so_far text = {.ids = ids, .count = 10};
  etx_prompt_lookup lookup = {.prompt_lookup_num_tokens = 3};
  const etx_draft_source source = etx_prompt_lookup_source(&lookup);
  int64_t found[8];
  size_t count = 9;
  assert_ok(source.propose(source.context, &text, 8, found, &count, &diag));
  assert_int_equal(count, 3);  // behind the second "1, 2"
  assert_memory_equal(found, &ids[6], 3 * sizeof *found);
  assert_ok(source.propose(source.context, &text, 1, found, &count, &diag));
  assert_int_equal(count, 1);
  lookup.max_matching_ngram_size = 1;  // behind the last "2" but one
  assert_ok(source.propose(source.context, &text, 8, found, &count, &diag));
  assert_int_equal(count, 2);
  assert_memory_equal(found, &ids[8], 2 * sizeof *found);
  text.count = 4;  // "3" is new
  assert_ok(source.propose(source.context, &text, 8, found, &count, &diag));
  assert_int_equal(count, 0);
  text.count = 1;
  assert_ok(source.propose(source.context, &text, 8, found, &count, &diag));
  assert_int_equal(count, 0);
  const int64_t padded[] = {5, 5, 6, 5};  // the first two are padding
  text = (etx_text_so_far){.ids = padded, .count = 4, .padding = 2};
  assert_ok(source.propose(source.context, &text, 8, found, &count, &diag));
  assert_int_equal(count, 0);
}

static void drafts_that_do_not_fit_are_refused(void** state) {
  (void)state;
  etx_prompt_lookup lookup = {.prompt_lookup_num_tokens = 3};
  const etx_draft_source drafts = etx_prompt_lookup_source(&lookup);
  etx_generation_config config;
  etx_generation_result result;
  void* block = NULL;
  etx_generation_config_init(&config);
  etx_generation_prompt prompt = prompt_of(cases[1].prompt);
  prompt.drafts = &drafts;
  config.num_beams = 2;
  assert_refused(generate(&config, &prompt, &block, &result), ETX_BAD_ARGUMENT,
                 "1 texts with 2 beams");
  config.num_beams = 1;
  generator.verify.method = NULL;
  assert_refused(generate(&config, &prompt, &block, &result), ETX_BAD_ARGUMENT,
                 "verify=8");
  assert_refused(
      etx_generator_add_verify(
          &generator, etx_module_method(&model.module, "decode"), &diag),
      ETX_BAD_ARGUMENT, "logits [B, S, V] of two tokens or more");
  generator = model.generator;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_are_those_of_transformers),
      cmocka_unit_test(the_program_states_its_ends),
      cmocka_unit_test(less_memory_is_refused),
      cmocka_unit_test(hooks_end_texts),
      cmocka_unit_test(stop_strings_end_texts),
      cmocka_unit_test(wrong_prompts_are_refused),
      cmocka_unit_test(drafts_do_not_change_texts),
      cmocka_unit_test(a_lookup_takes_the_last_longest_match),
      cmocka_unit_test(drafts_that_do_not_fit_are_refused),
  };
  return cmocka_run_group_tests(tests, open_program, close_program);
}
