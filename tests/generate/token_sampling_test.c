// Probabilities against those of transformers, recorded by
// tests/data/generate/make_generation.py.

#include "generate/token_sampling.h"

#include <math.h>

#include "generate/logits_processors.h"
#include "tests/support/assert_status.h"

enum { VOCAB = 97 };

typedef struct sampling_case {
  etx_generation_config config;
  etx_token_list ids;
  size_t prompt_count, max_length;
  const float* logits;
  const float* expected;
} sampling_case;

#define LIST(...) __VA_ARGS__
#define CASE(config_, ids_, prompt_, longest_, logits_, expected_) \
  {LIST config_,                                                   \
   LIST ids_,                                                      \
   prompt_,                                                        \
   longest_,                                                       \
   (const float[])LIST logits_,                                    \
   (const float[])LIST expected_},
static const sampling_case cases[] = {
#include "tests/data/generate/sampling_cases.def"
};
#undef CASE

static etx_diag diag;

static void probabilities_are_those_of_transformers(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const sampling_case* const c = &cases[i];
    const etx_text_so_far text = {.ids = c->ids.ids,
                                  .count = c->ids.count,
                                  .prompt_count = c->prompt_count,
                                  .max_length = c->max_length};
    float logits[VOCAB], found[VOCAB] = {0};
    uint8_t marks[VOCAB / 8 + 1];
    etx_candidate_token kept[VOCAB];
    size_t count = 0;
    memcpy(logits, c->logits, sizeof logits);
    assert_true(etx_logits_process_needed(VOCAB) <= sizeof marks);
    assert_ok(etx_generation_config_check(&c->config, VOCAB, &diag));
    etx_logits_process(&c->config, &text, logits, VOCAB, marks);
    assert_ok(
        etx_token_candidates(&c->config, logits, VOCAB, kept, &count, &diag));
    for (size_t j = 0; j < count; ++j) found[kept[j].id] = kept[j].probability;
    for (size_t j = 0; j < VOCAB; ++j) {
      if (fabsf(found[j] - c->expected[j]) > 1e-6f) {
        fail_msg("case %zu, token %zu: %g, expected %g", i, j, (double)found[j],
                 (double)c->expected[j]);
      }
    }
  }
}

static void argmax_is_the_first_of_the_largest(void** state) {
  (void)state;
  const float equal[] = {-1.0f, 3.0f, 3.0f, INFINITY * 0.0f};
  const float none[] = {-INFINITY, -INFINITY};
  int64_t id = 7;
  assert_ok(etx_token_argmax(equal, 3, &id, &diag));
  assert_int_equal(id, 1);
  id = 7;
  assert_refused(etx_token_argmax(equal, 4, &id, &diag), ETX_BAD_ARGUMENT,
                 "not a number");
  assert_refused(etx_token_argmax(none, 2, &id, &diag), ETX_BAD_ARGUMENT,
                 "leave no token");
  assert_int_equal(id, 7);
}

static void equal_tokens_are_all_in_the_top_k(void** state) {
  (void)state;
  const float logits[] = {1.0f, 2.0f, 1.0f, 0.0f, 1.0f};
  etx_generation_config config;
  etx_candidate_token kept[5];
  size_t count = 0;
  etx_generation_config_init(&config);
  config.top_k = 2;
  assert_ok(etx_token_candidates(&config, logits, 5, kept, &count, &diag));
  assert_int_equal(count, 4);
}

static void infinite_logits_are_refused(void** state) {
  (void)state;
  const float logits[] = {1.0f, INFINITY};
  etx_generation_config config;
  etx_candidate_token kept[2];
  size_t count = 0;
  etx_generation_config_init(&config);
  assert_refused(etx_token_candidates(&config, logits, 2, kept, &count, &diag),
                 ETX_BAD_ARGUMENT, "infinite");
}

// Philox 4x32-10 of the paper's test vectors (Random123, kat_vectors) has the
// words 6627e8d5 e169c58d bc57ac4c 9b00dbd8 for a counter and a key of zeros.
static void numbers_are_those_of_philox(void** state) {
  (void)state;
  etx_token_random random = {.seed = 0};
  const uint64_t high = UINT64_C(0x6627e8d5), low = UINT64_C(0xe169c58d);
  const uint64_t bits = (high << 21) ^ (low >> 11);
  const double first = etx_token_random_next(&random);
  assert_true(first == (double)bits * 0x1p-53);
  assert_int_equal(random.counter, 1);
  double sum = 0.0;
  for (int i = 0; i < 100000; ++i) {
    const double number = etx_token_random_next(&random);
    assert_true(number >= 0.0 && number < 1.0);
    sum += number;
  }
  assert_true(fabs(sum / 100000 - 0.5) < 0.005);
}

static float hostile_number(etx_token_random* random) {
  static const float numbers[] = {0.0f,     -0.0f,  1.0f,      1e-45f,
                                  3e38f,    -3e38f, -INFINITY, -INFINITY,
                                  INFINITY, NAN,    50.0f,     -1e-3f};
  const double choice = etx_token_random_next(random);
  const double other = etx_token_random_next(random);
  return choice < 0.9 ? (float)(other * 20 - 10)
                      : numbers[(size_t)(other * 12)];
}

// Options at the ends of their ranges, and logits that no model should give.
static void any_numbers_give_probabilities_or_a_refusal(void** state) {
  (void)state;
  enum { COUNT = 23 };
  static const double shares[] = {0.0, 1e-300, 1e-9, 0.5, 0.999999999, 1.0};
  static const double temperatures[] = {1e-300, 1e-30, 0.5, 1.0, 1e30, 1e300};
  etx_token_random random = {.seed = 17};
  size_t refused = 0;
  for (int round = 0; round < 20000; ++round) {
    float logits[COUNT];
    etx_candidate_token kept[COUNT];
    etx_generation_config config;
    size_t count = 0;
    etx_generation_config_init(&config);
    config.temperature =
        temperatures[(int)(etx_token_random_next(&random) * 6)];
    config.top_p = shares[(int)(etx_token_random_next(&random) * 6)];
    config.min_p = shares[(int)(etx_token_random_next(&random) * 6)];
    config.typical_p = shares[1 + (int)(etx_token_random_next(&random) * 5)];
    config.top_k = (size_t)(etx_token_random_next(&random) * 30);
    const bool is_hostile = round % 2 == 0;
    for (size_t i = 0; i < COUNT; ++i) {
      logits[i] = is_hostile ? hostile_number(&random)
                             : (float)(i % 5) * (float)(round % 7);
    }
    etx_status status = etx_generation_config_check(&config, COUNT, &diag);
    if (status == ETX_OK) {
      status =
          etx_token_candidates(&config, logits, COUNT, kept, &count, &diag);
    }
    if (status != ETX_OK) {
      assert_int_equal(status, ETX_BAD_ARGUMENT);
      ++refused;
      continue;
    }
    double sum = 0.0;
    for (size_t i = 0; i < count; ++i) sum += (double)kept[i].probability;
    assert_true(count >= 1 && count <= COUNT);
    assert_true(fabs(sum - 1.0) < 1e-5);
  }
  assert_true(refused > 100 && refused < 15000);
}

static void tokens_without_probability_are_not_drawn(void** state) {
  (void)state;
  const etx_candidate_token kept[] = {
      {.id = 0}, {.id = 1, .probability = 1.0f}, {.id = 2}};
  etx_token_random random = {.seed = 5};
  for (int i = 0; i < 1000; ++i) {
    assert_int_equal(etx_token_draw(kept, 3, &random), 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(probabilities_are_those_of_transformers),
      cmocka_unit_test(argmax_is_the_first_of_the_largest),
      cmocka_unit_test(equal_tokens_are_all_in_the_top_k),
      cmocka_unit_test(infinite_logits_are_refused),
      cmocka_unit_test(numbers_are_those_of_philox),
      cmocka_unit_test(any_numbers_give_probabilities_or_a_refusal),
      cmocka_unit_test(tokens_without_probability_are_not_drawn),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
