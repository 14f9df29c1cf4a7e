// The time is spent on warm-up, on timed calls, and on calls with an observer
// that times each instruction.

#include "cli/bench/bench_method.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/monotonic_clock.h"
#include "cli/bench/bench_static.h"
#include "runtime/shapes/call_shape.h"
#include "runtime/variants.h"

enum {
  MIN_CALLS = 15,
  MAX_CALLS = 1 << 17,
  MIN_PROFILED_CALLS = 5,
  CLOCK_READINGS = 1000,
};

// Shares of the time to spend; the rest is for timed calls.
static const double warm_up_share = 0.15, profile_share = 0.25;

// `out_shortest` is the time of the shortest call.
static etx_status warm_up(etx_bench_run* run, double seconds,
                          double* out_shortest) {
  const double start = etx_monotonic_clock_seconds();
  size_t calls = 0;
  *out_shortest = run->first_seconds;
  while (calls < 2 || etx_monotonic_clock_seconds() - start < seconds) {
    double one = 0;
    ETX_TRY(etx_bench_run_call(run, &one));
    if (calls == 0 || one < *out_shortest) *out_shortest = one;
    ++calls;
  }
  return ETX_OK;
}

static etx_status time_calls(etx_bench_run* run, double seconds,
                             double call_seconds, etx_pool* pool,
                             etx_bench_times* out_times) {
  double* times = etx_pool_take(pool, MAX_CALLS * sizeof *times);
  if (times == NULL) return ETX_OUT_OF_MEMORY;
  size_t group = 1;
  ETX_TRY(etx_bench_run_find_group(run, &call_seconds, &group));
  const double start = etx_monotonic_clock_seconds();
  size_t count = 0;
  while (
      count < MAX_CALLS &&
      (count < MIN_CALLS || etx_monotonic_clock_seconds() - start < seconds)) {
    ETX_TRY(etx_bench_run_calls(run, group, &times[count]));
    ++count;
  }
  *out_times = etx_bench_times_of(times, count);
  return ETX_OK;
}

// ---- by operator ----

typedef struct operator_profile {
  const etx_bench_run* run;
  etx_bench_operator* by_id;  // by operator id: sums over the accepted runs
  double* seconds;            // of the current run, by operator
  size_t* calls;
  double started;
  double total;       // of the current run
  double least;       // of all runs so far
  size_t runs;        // accepted runs
  bool is_first_run;  // the only one in which cost is counted
} operator_profile;

// A run counts if it took at most this factor longer than the fastest one:
// slower runs were interrupted by other programs.
static const double max_slowdown = 1.1;

static bool is_in_file(const etx_bench_run* run, const void* data) {
  const etx_module* module = &run->session->module;
  const uint8_t* at = data;
  if (at >= module->file.data && at < module->file.data + module->file.size) {
    return true;
  }
  for (size_t i = 0; i < module->data_count; ++i) {
    const etx_bytes file = module->data[i].file;
    if (at >= file.data && at < file.data + file.size) return true;
  }
  return false;
}

static void add_tensor(const operator_profile* p, etx_operator_cost_call* cost,
                       size_t argument, const etx_value* value,
                       bool is_written) {
  if (value == NULL || value->kind != ETX_VALUE_TENSOR) return;
  const etx_tensor* tensor = &value->as.tensor;
  const etx_operator_cost_tensor added = {argument,
                                          tensor->sizes,
                                          tensor->rank,
                                          tensor->dtype,
                                          is_written,
                                          is_in_file(p->run, tensor->data),
                                          (uint64_t)(uintptr_t)tensor->data};
  etx_operator_cost_call_add(cost, &added);
}

static etx_operator_cost cost_of(const operator_profile* p,
                                 const etx_call* call) {
  etx_operator_cost_call cost = {.op = call->op};
  const uint64_t written = etx_op_written_arguments(call->op);
  const size_t count = etx_op_argument_count(call->op);
  for (size_t i = 0; i < count && i < call->argument_count; ++i) {
    const etx_value* value = call->arguments[i];
    const bool is_written = (written >> i & 1) != 0;
    if (value->kind == ETX_VALUE_TENSORS) {
      for (size_t item = 0; item < value->as.tensors.count; ++item) {
        add_tensor(p, &cost, i, value->as.tensors.items[item], is_written);
      }
    } else if (value->kind == ETX_VALUE_INTS) {
      // A dimension order of attention, such as key_order; its third item is
      // the dimension of the positions (operator_cost.c).
      if (value->as.integers.count != 4) continue;
      etx_operator_cost_call_add_order(&cost, i,
                                       value->as.integers.items[2]->as.integer);
    } else {
      add_tensor(p, &cost, i, value, is_written);
    }
  }
  return etx_operator_cost_of(&cost);
}

static void before_call(void* context, size_t instruction,
                        const etx_call* call) {
  operator_profile* p = context;
  (void)instruction;
  (void)call;
  p->started = etx_monotonic_clock_seconds();
}

static void after_call(void* context, size_t instruction,
                       const etx_call* call) {
  operator_profile* p = context;
  const double seconds = etx_monotonic_clock_seconds() - p->started;
  const size_t at = etx_bench_row_of(p->by_id, call->op);
  etx_bench_operator* row = &p->by_id[at];
  (void)instruction;
  row->op = call->op;
  p->seconds[at] += seconds;
  p->total += seconds;
  ++p->calls[at];
  if (!p->is_first_run) return;
  const etx_operator_cost cost = cost_of(p, call);
  etx_operator_cost_add(&row->cost, &cost);
}

static void start_run(operator_profile* p) {
  memset(p->seconds, 0, ETX_BENCH_ROWS * sizeof *p->seconds);
  memset(p->calls, 0, ETX_BENCH_ROWS * sizeof *p->calls);
  p->total = 0;
}

static void end_run(operator_profile* p) {
  p->is_first_run = false;
  // So much faster that all earlier runs were interrupted ones.
  const bool is_better = p->runs == 0 || p->total * max_slowdown < p->least;
  if (p->runs != 0 && p->total > max_slowdown * p->least) return;
  if (p->runs == 0 || p->total < p->least) p->least = p->total;
  p->runs = is_better ? 1 : p->runs + 1;
  for (size_t id = 0; id < ETX_BENCH_ROWS; ++id) {
    etx_bench_operator* row = &p->by_id[id];
    row->seconds = p->seconds[id] + (is_better ? 0 : row->seconds);
    row->calls = p->calls[id] + (is_better ? 0 : row->calls);
  }
}

// The time between two readings of the clock, which is part of every measured
// call.
static double clock_seconds(void) {
  double best = 1;
  for (int i = 0; i < CLOCK_READINGS; ++i) {
    const double start = etx_monotonic_clock_seconds();
    const double seconds = etx_monotonic_clock_seconds() - start;
    if (seconds < best) best = seconds;
  }
  return best;
}

static int compare_operators(const void* a, const void* b) {
  const etx_bench_operator* x = a;
  const etx_bench_operator* y = b;
  if (x->seconds != y->seconds) return x->seconds < y->seconds ? 1 : -1;
  return (x->op->id > y->op->id) - (x->op->id < y->op->id);
}

// Divides the sums over the accepted runs by their number.
static void collect(const operator_profile* p, etx_bench_result* result) {
  const double clock = clock_seconds();
  const double runs = (double)p->runs;
  result->operators = p->by_id;
  for (size_t id = 0; id < ETX_BENCH_ROWS; ++id) {
    etx_bench_operator row = p->by_id[id];
    if (row.calls == 0) continue;
    const double spent = row.seconds - clock * (double)row.calls;
    row.seconds = (spent > 0 ? spent : 0) / runs;
    row.calls = (size_t)((double)row.calls / runs + 0.5);
    result->calls += row.calls;
    result->seconds += row.seconds;
    etx_operator_cost_add(&result->cost, &row.cost);
    result->operators[result->operator_count++] = row;
  }
  qsort(result->operators, result->operator_count, sizeof *result->operators,
        compare_operators);
}

static etx_status profile_calls(etx_bench_run* run, double seconds,
                                etx_pool* pool, etx_bench_result* result) {
  operator_profile p = {.run = run, .is_first_run = true};
  p.by_id = etx_pool_take(pool, ETX_BENCH_ROWS * sizeof *p.by_id);
  p.seconds = etx_pool_take(pool, ETX_BENCH_ROWS * sizeof *p.seconds);
  p.calls = etx_pool_take(pool, ETX_BENCH_ROWS * sizeof *p.calls);
  if (p.by_id == NULL || p.seconds == NULL || p.calls == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  const etx_run_observer observer = {before_call, after_call, &p};
  const double start = etx_monotonic_clock_seconds();
  etx_status status = ETX_OK;
  size_t runs = 0;
  etx_run_session_observe(run->session, run->method, &observer);
  while (status == ETX_OK &&
         (runs < MIN_PROFILED_CALLS ||
          etx_monotonic_clock_seconds() - start < seconds)) {
    double one = 0;
    start_run(&p);
    status = etx_bench_run_call(run, &one);
    end_run(&p);
    ++runs;
  }
  etx_run_session_observe(run->session, run->method, NULL);
  if (status == ETX_OK) collect(&p, result);
  return status;
}

// The plan that ran in the last call, and its name if it is a variant.
static etx_status find_ran(const etx_method* method, etx_bench_result* result,
                           etx_pte_plan* out_plan, etx_diag* diag) {
  const size_t last = etx_method_variant_last(method);
  const etx_text name = etx_method_variant_name(method, last);
  if (last < etx_method_variant_count(method)) result->variant = name;
  return etx_program_find_plan(method->program, name, out_plan, diag);
}

static etx_bench_changes count_changes(const etx_method* method) {
  return (etx_bench_changes){etx_method_variant_phases(method),
                             etx_method_variant_hits(method),
                             etx_method_variant_addresses(method)};
}

static etx_bench_changes changes_since(const etx_method* method,
                                       etx_bench_changes before) {
  const etx_bench_changes now = count_changes(method);
  return (etx_bench_changes){now.phases - before.phases, now.hits - before.hits,
                             now.addresses - before.addresses};
}

etx_status etx_bench_method(etx_run_session* session, const char* name,
                            const etx_bench_options* options, etx_pool* pool,
                            etx_bench_result* out_result, etx_diag* diag) {
  etx_bench_result result = {.name = name};
  etx_bench_run run;
  double call_seconds = 0;
  ETX_TRY(etx_method_needed(&session->module.program, etx_text_of(name),
                            &result.memory, diag));
  ETX_TRY(etx_bench_run_start(&run, session, name, options, pool, diag));
  ETX_TRY(warm_up(&run, warm_up_share * options->seconds, &call_seconds));
  const etx_bench_changes before = count_changes(run.method);
  ETX_TRY(time_calls(&run,
                     (1 - warm_up_share - profile_share) * options->seconds,
                     call_seconds, pool, &result.times));
  ETX_TRY(profile_calls(&run, profile_share * options->seconds, pool, &result));
  result.changes = changes_since(run.method, before);
  etx_pte_plan ran;
  ETX_TRY(find_ran(run.method, &result, &ran, diag));
  result.method = run.method;
  result.instructions = etx_bench_static_instruction_count(&ran);
  result.inputs = run.inputs;
  result.restores = run.restores;
  result.load_seconds = run.load_seconds;
  result.first_seconds = run.first_seconds;
  *out_result = result;
  return ETX_OK;
}
