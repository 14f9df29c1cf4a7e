#include "cli/bench/bench_run.h"

#include <string.h>

#include "cli/base/monotonic_clock.h"

static etx_planned_memory* state_of(const etx_bench_run* run) {
  return &run->session->shared.memory.planned;
}

static void restore(const etx_bench_run* run) {
  etx_synthetic_inputs_restore(&run->inputs);
  if (run->state == NULL) return;
  memcpy(state_of(run)->data, run->state, state_of(run)->size);
  *state_of(run)->torn = 0;
}

static etx_status save_state(etx_bench_run* run, etx_pool* pool) {
  const etx_planned_memory* state = state_of(run);
  if (state->size == 0 || state->data == NULL) return ETX_OK;
  run->state = etx_pool_take(pool, state->size);
  if (run->state == NULL) {
    return etx_diag_fail(run->diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for a copy of the state");
  }
  memcpy(run->state, state->data, state->size);
  return ETX_OK;
}

// Runs the recorded calls that come before the first one of method `name`, and
// returns that one in `out_call`.
static etx_status replay_earlier_calls(
    etx_run_session* session, const char* name, const etx_case_file* cases,
    etx_pool* pool, const etx_case_call** out_call, etx_diag* diag) {
  const etx_text all = {NULL, 0};
  for (size_t i = 0; i < cases->call_count; ++i) {
    const etx_case_call* call = &cases->calls[i];
    if (call->is_reset) {
      ETX_TRY(etx_shared_memory_reset(&session->shared.memory, all, diag));
      continue;
    }
    if (call->is_refused) continue;
    if (strcmp(call->method, name) == 0) {
      *out_call = call;
      return ETX_OK;
    }
    etx_method* method = NULL;
    etx_synthetic_inputs inputs;
    const etx_synthetic_input_options recorded = {NULL, NULL, call, 0};
    ETX_TRY(etx_run_session_method(session, call->method, &method, diag));
    ETX_TRY(etx_synthetic_inputs_set(method, &recorded, pool, &inputs, diag));
    ETX_TRY(etx_run_session_run(session, method, diag));
  }
  return etx_diag_fail(diag, ETX_NOT_FOUND, "method '%s' has no recorded call",
                       name);
}

static etx_status set_inputs(etx_bench_run* run,
                             const etx_synthetic_input_options* options,
                             etx_pool* pool) {
  return etx_synthetic_inputs_set(run->method, options, pool, &run->inputs,
                                  run->diag);
}

static etx_status call_once(etx_bench_run* run, double* out_seconds) {
  const double start = etx_monotonic_clock_seconds();
  const etx_status status =
      etx_run_session_run(run->session, run->method, run->diag);
  *out_seconds = etx_monotonic_clock_seconds() - start;
  return status;
}

static bool depends_on_data(etx_status status) {
  return status == ETX_BAD_ARGUMENT || status == ETX_OUT_OF_RANGE;
}

// Adds the names of generated inputs to the message, as a possible cause.
static void name_generated_inputs(const etx_bench_run* run) {
  size_t count = 0;
  for (size_t i = 0; i < run->inputs.count; ++i) {
    const etx_synthetic_input* input = &run->inputs.items[i];
    if (!input->is_generated) continue;
    etx_diag_append(run->diag, "%s '%s'",
                    count == 0 ? "; generated inputs:" : ",", input->port.name);
    ++count;
  }
  if (count == 0) return;
  etx_diag_append(run->diag,
                  "; give valid ones with --in, or recorded ones with --case");
}

// The first call. Elements of generated integer inputs are 0; if the method
// refuses that, it is called again with 1.
static etx_status call_first(etx_bench_run* run,
                             const etx_bench_options* options, etx_pool* pool) {
  const etx_status status = call_once(run, &run->first_seconds);
  if (!depends_on_data(status)) return status;
  etx_diag first = *run->diag;
  etx_synthetic_input_options ones = options->inputs;
  ones.integer = 1;
  etx_diag_init(run->diag);
  restore(run);
  ETX_TRY(set_inputs(run, &ones, pool));
  restore(run);
  if (call_once(run, &run->first_seconds) == ETX_OK) return ETX_OK;
  *run->diag = first;
  name_generated_inputs(run);
  return status;
}

static etx_status start(etx_bench_run* run, etx_run_session* session,
                        const char* name, const etx_bench_options* options,
                        etx_pool* pool, etx_diag* diag) {
  etx_bench_options own = *options;
  const etx_text all = {NULL, 0};
  memset(run, 0, sizeof *run);
  run->session = session;
  run->restores = options->restores;
  run->diag = diag;
  ETX_TRY(etx_shared_memory_reset(&session->shared.memory, all, diag));
  const double start = etx_monotonic_clock_seconds();
  ETX_TRY(etx_run_session_method(session, name, &run->method, diag));
  run->load_seconds = etx_monotonic_clock_seconds() - start;
  if (options->cases != NULL) {
    ETX_TRY(replay_earlier_calls(session, name, options->cases, pool,
                                 &own.inputs.call, diag));
  }
  ETX_TRY(set_inputs(run, &own.inputs, pool));
  ETX_TRY(save_state(run, pool));
  return call_first(run, &own, pool);
}

etx_status etx_bench_run_start(etx_bench_run* run, etx_run_session* session,
                               const char* name,
                               const etx_bench_options* options, etx_pool* pool,
                               etx_diag* diag) {
  session->trace = options->trace;
  const etx_status status = start(run, session, name, options, pool, diag);
  session->trace = NULL;
  return status;
}

// After a refused call: restores inputs and state before this and all later
// calls.
static etx_status call_again(etx_bench_run* run, etx_status refusal,
                             double* out_seconds) {
  if (!depends_on_data(refusal) || run->restores) return refusal;
  etx_diag_init(run->diag);
  run->restores = true;
  restore(run);
  return call_once(run, out_seconds);
}

etx_status etx_bench_run_call(etx_bench_run* run, double* out_seconds) {
  if (run->restores) restore(run);
  const etx_status status = call_once(run, out_seconds);
  return status == ETX_OK ? ETX_OK : call_again(run, status, out_seconds);
}

// ---- calls that are timed together ----

// Calls shorter than shortest_single are timed in groups of about
// group_seconds, so that reading the clock takes less than a hundredth of the
// time.
static const double shortest_single = 2e-6, group_seconds = 1e-5;

size_t etx_bench_run_group_size(double seconds) {
  if (seconds >= shortest_single) return 1;
  return (size_t)(group_seconds / (seconds + 1e-9)) + 1;
}

etx_status etx_bench_run_calls(etx_bench_run* run, size_t count,
                               double* out_seconds) {
  if (count == 1 || run->restores) return etx_bench_run_call(run, out_seconds);
  const double start = etx_monotonic_clock_seconds();
  for (size_t i = 0; i < count; ++i) {
    const etx_status status =
        etx_run_session_run(run->session, run->method, run->diag);
    if (status != ETX_OK) return call_again(run, status, out_seconds);
  }
  *out_seconds = (etx_monotonic_clock_seconds() - start) / (double)count;
  return ETX_OK;
}

etx_status etx_bench_run_find_group(etx_bench_run* run, double* seconds,
                                    size_t* out_group) {
  enum { TRIALS = 3 };
  const size_t first = etx_bench_run_group_size(*seconds);
  *out_group = first;
  for (int i = 0; i < TRIALS && first > 1; ++i) {
    double one = 0;
    ETX_TRY(etx_bench_run_calls(run, first, &one));
    if (one < *seconds) *seconds = one;
  }
  *out_group = run->restores ? 1 : etx_bench_run_group_size(*seconds);
  return ETX_OK;
}
