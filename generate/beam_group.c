#include "generate/beam_group.h"

#include <math.h>

#include "runtime/kernels/math/math_functions.h"

// ---- memory ----

static bool take_beams(etx_beam** out, size_t count, size_t max_length,
                       etx_arena* arena) {
  void* memory = NULL;
  if (!etx_arena_take_ok(arena, count * sizeof(etx_beam), 16, &memory)) {
    return false;
  }
  etx_beam* const beams = memory;
  *out = beams;
  for (size_t i = 0; i < count; ++i) {
    void* ids = NULL;
    if (!etx_arena_take_ok(arena, max_length * sizeof(int64_t), 8, &ids)) {
      return false;
    }
    if (beams != NULL) beams[i] = (etx_beam){.ids = ids};
  }
  return true;
}

bool etx_beam_group_init(etx_beam_group* group,
                         const etx_generation_config* config,
                         const etx_token_texts* texts, size_t prompt_count,
                         size_t max_length, etx_arena* arena) {
  const size_t width = config->num_beams;
  const size_t ends = config->eos_token_id.count;
  void* steps = NULL;
  *group = (etx_beam_group){.config = config,
                            .texts = texts,
                            .prompt_count = prompt_count,
                            .max_length = max_length,
                            .step_room = (ends < 1 ? 2 : 1 + ends) * width};
  const bool is_enough =
      take_beams(&group->active, width, max_length, arena) &&
      take_beams(&group->next, width, max_length, arena) &&
      take_beams(&group->finished, width + 1, max_length, arena) &&
      etx_arena_take_ok(arena, group->step_room * sizeof(etx_beam_step), 16,
                        &steps);
  group->steps = steps;
  return is_enough;
}

void etx_beam_group_start(etx_beam_group* group, const int64_t* prompt,
                          size_t padding) {
  etx_beam* const first = &group->active[0];
  memcpy(first->ids, prompt, group->prompt_count * sizeof *prompt);
  first->count = group->prompt_count;
  first->sum = 0.0;
  first->parent = 0;
  group->padding = padding;
  group->active_count = 1;
  group->finished_count = 0;
  group->step_count = 0;
  group->is_done = false;
}

// ---- continuations ----

// Keeps the best, best first; of equal ones the earlier.
static void add_step(etx_beam_group* group, etx_beam_step step) {
  etx_beam_step* const list = group->steps;
  const size_t most = group->step_room;
  if (group->step_count == most && !(step.key > list[most - 1].key)) return;
  size_t at = group->step_count < most ? group->step_count++ : most - 1;
  for (; at > 0 && step.key > list[at - 1].key; --at) list[at] = list[at - 1];
  list[at] = step;
}

enum { WEIGHT_BLOCK = 256, WEIGHT_LANES = 8 };

// The sum of e^(logit - top). Weights are computed in float and added in
// double, in an order that does not depend on the machine: each of eight sums
// gets every eighth weight. So compilers vectorise both loops.
static double sum_weights(const float* logits, size_t count, float top) {
  float weights[WEIGHT_BLOCK];
  double sums[WEIGHT_LANES] = {0};
  for (size_t begin = 0; begin < count; begin += WEIGHT_BLOCK) {
    const size_t left = count - begin;
    const size_t size = left < WEIGHT_BLOCK ? left : WEIGHT_BLOCK;
    for (size_t i = 0; i < size; ++i) {
      weights[i] = etx_exp_f32(logits[begin + i] - top);
    }
    for (size_t i = size; i % WEIGHT_LANES != 0; ++i) weights[i] = 0.0f;
    for (size_t i = 0; i < size; i += WEIGHT_LANES) {
      for (size_t k = 0; k < WEIGHT_LANES; ++k) {
        sums[k] += (double)weights[i + k];
      }
    }
  }
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) +
         ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

// Logits become log probabilities.
static void take_log_softmax(float* logits, size_t count, float top) {
  const double sum = sum_weights(logits, count, top);
  const double shift = (double)top + etx_log_f64(sum);
  for (size_t i = 0; i < count; ++i) {
    logits[i] = (float)((double)logits[i] - shift);
  }
}

// Noise with which the largest sums are a draw without replacement.
static double gumbel(etx_token_random* random) {
  const double number = etx_token_random_next(random);
  return -etx_log_f64(-etx_log_f64(number == 0.0 ? 0x1p-54 : number));
}

static etx_status add_drawn(etx_beam_group* group, size_t index,
                            const float* scores,
                            const etx_choice_scratch* scratch, etx_diag* diag) {
  size_t count = 0;
  ETX_TRY(etx_token_candidates(group->config, scores, scratch->vocab_size,
                               scratch->candidates, &count, diag));
  for (size_t i = 0; i < count; ++i) {
    const etx_candidate_token* const token = &scratch->candidates[i];
    const double sum = group->active[index].sum + (double)token->logit;
    const double key = sum + gumbel(scratch->random);
    add_step(group, (etx_beam_step){key, sum, index, token->id});
  }
  return ETX_OK;
}

// Few logits are large enough, so that whole blocks are passed over: the sum of
// the largest logit of a block is the largest sum.
static void add_best(etx_beam_group* group, size_t index, const float* logits,
                     size_t count) {
  enum { BLOCK = 64 };
  const double before = group->active[index].sum;
  const etx_beam_step* const last = &group->steps[group->step_room - 1];
  for (size_t begin = 0; begin < count; begin += BLOCK) {
    const size_t left = count - begin;
    const size_t end = begin + (left < BLOCK ? left : BLOCK);
    const float largest = etx_logits_largest(logits + begin, end - begin);
    if (group->step_count == group->step_room &&
        !(before + (double)largest > last->key)) {
      continue;
    }
    for (size_t i = begin; i < end; ++i) {
      if (logits[i] == -INFINITY) continue;
      const double sum = before + (double)logits[i];
      add_step(group, (etx_beam_step){sum, sum, index, (int64_t)i});
    }
  }
}

static etx_status consider(etx_beam_group* group, size_t index, float* logits,
                           const etx_choice_scratch* scratch, etx_diag* diag) {
  const etx_beam* const beam = &group->active[index];
  const etx_text_so_far text = {.ids = beam->ids,
                                .count = beam->count,
                                .prompt_count = group->prompt_count,
                                .padding = group->padding,
                                .max_length = group->max_length};
  const size_t vocab = scratch->vocab_size;
  int64_t best = 0;
  ETX_TRY(etx_token_argmax(logits, vocab, &best, diag));
  if (isinf(logits[best])) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT, "a logit is infinite");
  }
  take_log_softmax(logits, vocab, logits[best]);
  etx_logits_process(group->config, &text, logits, vocab, scratch->marks);
  if (group->config->do_sample) {
    return add_drawn(group, index, logits, scratch, diag);
  }
  add_best(group, index, logits, vocab);
  return ETX_OK;
}

etx_status etx_beam_group_consider(etx_beam_group* group, size_t index,
                                   float* logits,
                                   const etx_choice_scratch* scratch,
                                   etx_diag* diag) {
  return etx_diag_seal(diag, consider(group, index, logits, scratch, diag));
}

// ---- the next beams ----

static void extend(const etx_beam_group* group, etx_beam* to,
                   const etx_beam_step* step) {
  const etx_beam* const parent = &group->active[step->parent];
  memcpy(to->ids, parent->ids, parent->count * sizeof *to->ids);
  to->ids[parent->count] = step->id;
  to->count = parent->count + 1;
  to->sum = step->sum;
  to->parent = step->parent;
}

static bool is_end(const etx_beam_group* group, const etx_beam* beam) {
  const etx_token_list ends = group->config->eos_token_id;
  for (size_t i = 0; i < ends.count; ++i) {
    if (beam->ids[beam->count - 1] == ends.ids[i]) return true;
  }
  return beam->count >= group->max_length ||
         etx_stop_strings_found(group->config, group->texts, beam->ids,
                                beam->count);
}

// A sum divided by a power of the number of new tokens.
static double score_of(const etx_beam_group* group, double sum, size_t count) {
  const double length = (double)(count - group->prompt_count);
  return sum / etx_pow_f64(length, (double)group->config->length_penalty);
}

// Keeps the best num_beams. The last of the list is memory to spare, into which
// the next one is written.
static void add_finished(etx_beam_group* group, const etx_beam_step* step) {
  etx_beam* const list = group->finished;
  const size_t width = group->config->num_beams;
  etx_beam added = list[group->finished_count];
  extend(group, &added, step);
  added.sum = score_of(group, added.sum, added.count);
  size_t at = group->finished_count;
  for (; at > 0 && added.sum > list[at - 1].sum; --at) list[at] = list[at - 1];
  list[at] = added;
  if (group->finished_count < width) ++group->finished_count;
}

static bool can_improve(const etx_beam_group* group) {
  const etx_generation_config* const config = group->config;
  if (group->active_count == 0) return false;
  if (group->finished_count < config->num_beams) return true;
  if (config->early_stopping == ETX_EARLY_STOPPING_TRUE) return false;
  const bool at_most = config->early_stopping == ETX_EARLY_STOPPING_NEVER &&
                       config->length_penalty > 0.0f;
  const etx_beam* const best = &group->active[0];
  const size_t length = at_most ? group->max_length : best->count;
  return score_of(group, best->sum, length) >
         group->finished[group->finished_count - 1].sum;
}

// Those that are drawn are in the order of the draw.
static void sort_by_sum(etx_beam_step* steps, size_t count) {
  for (size_t i = 1; i < count; ++i) {
    const etx_beam_step moved = steps[i];
    size_t at = i;
    for (; at > 0 && moved.sum > steps[at - 1].sum; --at) {
      steps[at] = steps[at - 1];
    }
    steps[at] = moved;
  }
}

void etx_beam_group_advance(etx_beam_group* group) {
  const size_t width = group->config->num_beams;
  size_t next_count = 0;
  for (size_t i = 0; i < group->step_count && i < width; ++i) {
    extend(group, &group->next[0], &group->steps[i]);
    if (is_end(group, &group->next[0])) add_finished(group, &group->steps[i]);
  }
  sort_by_sum(group->steps, group->step_count);
  for (size_t i = 0; i < group->step_count && next_count < width; ++i) {
    extend(group, &group->next[next_count], &group->steps[i]);
    if (!is_end(group, &group->next[next_count])) ++next_count;
  }
  etx_beam* const before = group->active;
  group->active = group->next;
  group->next = before;
  group->active_count = next_count;
  group->step_count = 0;
  group->is_done = !can_improve(group);
}
