#include "cli/bench/bench_compare.h"

#include <string.h>

#include "cli/base/monotonic_clock.h"

enum { MIN_ROUNDS = 15, MAX_ROUNDS = 1000, MAX_TIMES = 4096 };

// Seconds of one program in a round: long enough to warm the caches after the
// other program ran, and short compared with changes of the clock rate.
static const double turn_seconds = 0.01;

// The calls of one program in each round.
typedef struct bench_turn {
  size_t group;   // calls that are timed together
  size_t groups;  // groups in a round
} bench_turn;

static etx_status run_turn(etx_bench_run* run, const bench_turn* turn,
                           double* times, double* out_median) {
  for (size_t i = 0; i < turn->groups; ++i) {
    ETX_TRY(etx_bench_run_calls(run, turn->group, &times[i]));
  }
  *out_median = etx_bench_times_of(times, turn->groups).median;
  return ETX_OK;
}

// Chooses the number of calls from the time of a few calls, which also warm the
// caches.
static etx_status find_turn(etx_bench_run* run, bench_turn* out_turn) {
  double least = 0;
  for (int i = 0; i < 5; ++i) {
    double one = 0;
    ETX_TRY(etx_bench_run_call(run, &one));
    if (i == 0 || one < least) least = one;
  }
  ETX_TRY(etx_bench_run_find_group(run, &least, &out_turn->group));
  const double groups = turn_seconds / (least + 1e-9) / (double)out_turn->group;
  out_turn->groups = groups < 1           ? 1
                     : groups > MAX_TIMES ? MAX_TIMES
                                          : (size_t)groups;
  return ETX_OK;
}

// If one program has to restore inputs and state before each call, both do: a
// call that continues from the last state may take another time.
static etx_status find_turns(etx_bench_run runs[2], bench_turn turns[2]) {
  for (size_t i = 0; i < 2; ++i) ETX_TRY(find_turn(&runs[i], &turns[i]));
  if (runs[0].restores == runs[1].restores) return ETX_OK;
  runs[0].restores = runs[1].restores = true;
  for (size_t i = 0; i < 2; ++i) ETX_TRY(find_turn(&runs[i], &turns[i]));
  return ETX_OK;
}

typedef struct bench_rounds {
  double* times;       // of the groups of one turn
  double* medians[2];  // of each turn, by program
  double* ratios;
  size_t count;
} bench_rounds;

static etx_status allocate_rounds(bench_rounds* r, etx_pool* pool,
                                  etx_diag* diag) {
  r->times = etx_pool_take(pool, MAX_TIMES * sizeof *r->times);
  r->medians[0] = etx_pool_take(pool, MAX_ROUNDS * sizeof(double));
  r->medians[1] = etx_pool_take(pool, MAX_ROUNDS * sizeof(double));
  r->ratios = etx_pool_take(pool, MAX_ROUNDS * sizeof *r->ratios);
  if (r->times == NULL || r->medians[0] == NULL || r->medians[1] == NULL ||
      r->ratios == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for times");
  }
  return ETX_OK;
}

static etx_status run_rounds(bench_rounds* r, etx_bench_run runs[2],
                             bench_turn turns[2], double seconds) {
  const double start = etx_monotonic_clock_seconds();
  ETX_TRY(find_turns(runs, turns));
  while (r->count < MAX_ROUNDS &&
         (r->count < MIN_ROUNDS ||
          etx_monotonic_clock_seconds() - start < seconds)) {
    const size_t round = r->count;
    const bool restored = runs[0].restores;
    for (size_t k = 0; k < 2; ++k) {
      const size_t i = (round + k) % 2;
      ETX_TRY(run_turn(&runs[i], &turns[i], r->times, &r->medians[i][round]));
    }
    r->ratios[round] = r->medians[1][round] / r->medians[0][round];
    ++r->count;
    if (runs[0].restores == restored && runs[1].restores == restored) continue;
    // One program restores from now on, so the earlier rounds do not count.
    ETX_TRY(find_turns(runs, turns));
    r->count = 0;
  }
  return ETX_OK;
}

// ---- inputs have to be equal ----

enum { INPUT_TEXT = 256 };

// "float32[1, 8]", "the integer 4".
static void describe_input(const etx_synthetic_input* input,
                           char out[INPUT_TEXT]) {
  const etx_host_tensor* const tensor = &input->tensor;
  size_t size = 0;
  if (input->value.kind == ETX_VALUE_INT) {
    etx_format_text(out, INPUT_TEXT, "the integer %i", input->value.as.integer);
    return;
  }
  if (input->value.kind != ETX_VALUE_TENSOR) {
    etx_format_text(out, INPUT_TEXT, "of kind '%s'",
                    etx_pte_kind_text(input->port.info.kind));
    return;
  }
  size = etx_format_text(out, INPUT_TEXT, "%s[", etx_dtype_name(tensor->dtype));
  for (size_t i = 0; i < tensor->rank; ++i) {
    size += etx_format_text(out + size, INPUT_TEXT - size,
                            i == 0 ? "%i" : ", %i", (int64_t)tensor->sizes[i]);
  }
  etx_format_text(out + size, INPUT_TEXT - size, "]");
}

static bool is_alike(const etx_synthetic_input* a,
                     const etx_synthetic_input* b) {
  if (a->value.kind != b->value.kind) return false;
  if (a->value.kind == ETX_VALUE_INT) {
    return a->value.as.integer == b->value.as.integer;
  }
  if (a->value.kind != ETX_VALUE_TENSOR) return true;
  const etx_host_tensor *x = &a->tensor, *y = &b->tensor;
  return x->dtype == y->dtype && x->rank == y->rank &&
         memcmp(x->sizes, y->sizes, x->rank * sizeof *x->sizes) == 0;
}

static etx_status check_alike(const etx_bench_run runs[2], const char* name,
                              etx_diag* diag) {
  const etx_synthetic_inputs *a = &runs[0].inputs, *b = &runs[1].inputs;
  if (a->count != b->count) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "method '%s' is not the same call in both programs: "
                         "the number of inputs is %z in the first one, %z in "
                         "the second one",
                         name, a->count, b->count);
  }
  for (size_t i = 0; i < a->count; ++i) {
    const etx_synthetic_input *x = &a->items[i], *y = &b->items[i];
    char first[INPUT_TEXT], second[INPUT_TEXT];
    if (is_alike(x, y)) continue;
    describe_input(x, first);
    describe_input(y, second);
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "method '%s' is not the same call in both programs: "
                         "input '%s' is %s in the first one, '%s' is %s in "
                         "the second one; make them equal with --dim or --in",
                         name, x->port.name, first, y->port.name, second);
  }
  return ETX_OK;
}

etx_status etx_bench_compare(etx_run_session* sessions[2], const char* name,
                             const etx_bench_options* options, etx_pool* pool,
                             etx_bench_pair* out_pair, etx_diag* diag) {
  etx_bench_run runs[2];
  bench_turn turns[2];
  bench_rounds r = {.count = 0};
  ETX_TRY(allocate_rounds(&r, pool, diag));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(
        etx_bench_run_start(&runs[i], sessions[i], name, options, pool, diag));
  }
  ETX_TRY(check_alike(runs, name, diag));
  ETX_TRY(run_rounds(&r, runs, turns, options->seconds));
  etx_bench_pair pair = {.name = name};
  pair.ratios = etx_bench_times_of(r.ratios, r.count);
  pair.lower = r.ratios[r.count / 4];
  pair.upper = r.ratios[r.count - 1 - r.count / 4];
  for (size_t i = 0; i < 2; ++i) {
    pair.times[i] = etx_bench_times_of(r.medians[i], r.count);
    pair.calls[i] = turns[i].group * turns[i].groups;
  }
  *out_pair = pair;
  return ETX_OK;
}
