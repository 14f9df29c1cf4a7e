#include "generate/generation_config.h"

#include <math.h>

void etx_generation_config_init(etx_generation_config* config) {
  *config = (etx_generation_config){.max_new_tokens = 20,
                                    .num_beams = 1,
                                    .length_penalty = 1.0f,
                                    .num_return_sequences = 1,
                                    .temperature = 1.0,
                                    .top_k = 50,
                                    .top_p = 1.0,
                                    .typical_p = 1.0,
                                    .repetition_penalty = 1.0f,
                                    .forced_bos_token_id = -1,
                                    .pad_token_id = -1};
}

static etx_status check_list(const char* name, etx_token_list list,
                             size_t vocab_size, etx_diag* diag) {
  for (size_t i = 0; i < list.count; ++i) {
    if (list.ids[i] >= 0 && (uint64_t)list.ids[i] < vocab_size) continue;
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "%s has token %i, expected 0 to %z", name, list.ids[i],
                         vocab_size - 1);
  }
  return ETX_OK;
}

static etx_status check_lists(const etx_generation_config* config,
                              size_t vocab_size, etx_diag* diag) {
  for (size_t i = 0; i < config->sequence_bias_count; ++i) {
    const etx_sequence_bias* const bias = &config->sequence_bias[i];
    if (bias->sequence.count == 0 || isnan(bias->bias)) {
      return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                           "sequence_bias %z has no tokens or no number", i);
    }
    ETX_TRY(check_list("sequence_bias", bias->sequence, vocab_size, diag));
  }
  for (size_t i = 0; i < config->bad_words_count; ++i) {
    if (config->bad_words_ids[i].count == 0) {
      return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                           "bad_words_ids %z has no tokens", i);
    }
    ETX_TRY(check_list("bad_words_ids", config->bad_words_ids[i], vocab_size,
                       diag));
  }
  const struct {
    const char* name;
    etx_token_list list;
  } lists[] = {{"forced_eos_token_id", config->forced_eos_token_id},
               {"suppress_tokens", config->suppress_tokens},
               {"begin_suppress_tokens", config->begin_suppress_tokens},
               {"eos_token_id", config->eos_token_id}};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i) {
    ETX_TRY(check_list(lists[i].name, lists[i].list, vocab_size, diag));
  }
  const int64_t bos = config->forced_bos_token_id;
  const etx_token_list one = {&bos, bos == -1 ? 0 : 1};
  return check_list("forced_bos_token_id", one, vocab_size, diag);
}

static etx_status check_number(const char* name, double value, bool is_allowed,
                               const char* expected, etx_diag* diag) {
  if (is_allowed) return ETX_OK;
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT, "%s is %f, expected %s", name,
                       value, expected);
}

// A comparison with NaN is false, so NaN is refused.
static bool is_share(double value) { return value >= 0.0 && value <= 1.0; }

static etx_status check_numbers(const etx_generation_config* c,
                                etx_diag* diag) {
  const double penalty = (double)c->repetition_penalty;
  const float divisor = (float)c->temperature;  // logits are floats
  const bool is_finite = isfinite(c->frequency_penalty) &&
                         isfinite(c->presence_penalty) &&
                         isfinite(c->length_penalty);
  ETX_TRY(check_number("temperature", c->temperature,
                       divisor > 0.0f && isfinite(divisor),
                       "a float above 0; without do_sample the search is "
                       "greedy",
                       diag));
  ETX_TRY(check_number("top_p", c->top_p, is_share(c->top_p), "0 to 1", diag));
  ETX_TRY(check_number("min_p", c->min_p, is_share(c->min_p), "0 to 1", diag));
  ETX_TRY(check_number("typical_p", c->typical_p,
                       is_share(c->typical_p) && c->typical_p > 0.0,
                       "a number above 0, at most 1", diag));
  ETX_TRY(check_number("repetition_penalty", penalty,
                       penalty > 0.0 && isfinite(penalty), "a number above 0",
                       diag));
  if (is_finite) return ETX_OK;
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "frequency_penalty, presence_penalty and length_penalty "
                       "are %f, %f and %f, expected finite numbers",
                       (double)c->frequency_penalty,
                       (double)c->presence_penalty, (double)c->length_penalty);
}

static etx_status check_config(const etx_generation_config* config,
                               size_t vocab_size, etx_diag* diag) {
  if (config->max_new_tokens == 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "max_new_tokens is 0, expected at least 1");
  }
  if (config->num_beams == 0 || config->num_return_sequences == 0 ||
      config->num_return_sequences > config->num_beams) {
    return etx_diag_fail(
        diag, ETX_BAD_ARGUMENT,
        "num_return_sequences is %z and num_beams %z, expected "
        "both at least 1, and no more sequences than beams",
        config->num_return_sequences, config->num_beams);
  }
  for (size_t i = 0; i < config->stop_string_count; ++i) {
    if (config->stop_strings[i].size > 0) continue;
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT, "stop_strings %z is empty", i);
  }
  ETX_TRY(check_numbers(config, diag));
  return check_lists(config, vocab_size, diag);
}

etx_status etx_generation_config_check(const etx_generation_config* config,
                                       size_t vocab_size, etx_diag* diag) {
  return etx_diag_seal(diag, check_config(config, vocab_size, diag));
}
