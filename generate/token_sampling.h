// Chooses tokens by their logits: the most probable one, or one drawn after
// temperature, top_k, top_p, min_p and typical_p, in the order of transformers.
//
// Sums and exponentials are computed in double with functions that give the
// same bits everywhere, and numbers are drawn by Philox 4x32-10, so equal
// logits and seeds give equal tokens with every compiler and on every machine.

#ifndef ETX_GENERATE_TOKEN_SAMPLING_H
#define ETX_GENERATE_TOKEN_SAMPLING_H

#include "generate/generation_config.h"

// A token that is still to be chosen from.
typedef struct etx_candidate_token {
  int32_t id;         // of the token
  float logit;        // divided by the temperature
  float key;          // what candidates are sorted by
  float probability;  // among the candidates that are left
} etx_candidate_token;

// Random numbers: a counter of blocks of a generator that is a function of seed
// and counter. All zero is a valid start.
typedef struct etx_token_random {
  uint64_t seed;     // the generator's key
  uint64_t counter;  // numbers drawn so far
} etx_token_random;

// The next number, from 0 to below 1, a multiple of 2^-53.
double etx_token_random_next(etx_token_random* random);

// The largest of `count` logits; those that are not a number are passed over.
// -infinity if there is no other.
float etx_logits_largest(const float* logits, size_t count);

// The token with the largest logit; of equal ones the first. ETX_BAD_ARGUMENT:
// a logit is NaN, or all are minus infinity.
ETX_MUST_USE etx_status etx_token_argmax(const float* logits, size_t vocab_size,
                                         int64_t* out_id, etx_diag* diag);

// Writes the tokens that the options of sampling leave, with their
// probabilities, in an order of its own. `candidates` has room for
// `vocab_size`. At least one token stays, and with beams one more than there
// are end tokens, so `out_count` is at least 1. ETX_BAD_ARGUMENT: a logit is
// NaN or infinite, or all are minus infinity.
ETX_MUST_USE etx_status etx_token_candidates(
    const etx_generation_config* config, const float* logits, size_t vocab_size,
    etx_candidate_token* candidates, size_t* out_count, etx_diag* diag);

// Draws one of `count` candidates, of which there is at least one.
int64_t etx_token_draw(const etx_candidate_token* candidates, size_t count,
                       etx_token_random* random);

#endif
