#include "cli/run/case_run.h"

#include <string.h>

#include "cli/run/dim_order_input.h"
#include "cli/base/plural.h"
#include "cli/program/port.h"
#include "cli/run/run_profile.h"

enum { RECORDED_STATE_BYTES = 64 * 1024 };

// One call being executed. Copies live in a pool of the call.
typedef struct case_runner {
  etx_run_session* session;
  const etx_case_file* file;
  const etx_case_sink* sink;
  etx_case_result* result;
  const etx_case_call* call;
  size_t index;  // of the call in the file
  etx_pool pool;
  etx_method* method;
  etx_host_tensor* inputs;     // copies, which the method may change
  etx_dim_order_input* given;  // the same in the method's dimension order
  etx_host_tensor* states;     // by state: content before the call; no data if
                               // it is larger than RECORDED_STATE_BYTES
  etx_diag* diag;
} case_runner;

static void differ(case_runner* run, const char* what, const char* why) {
  ++run->result->difference_count;
  run->sink->difference(run->sink->context, run->index, run->call->method, what,
                        why);
}

static void compare(case_runner* run, const etx_host_tensor* expected,
                    const etx_host_tensor* found, const char* what) {
  char why[ETX_TENSOR_COMPARE_TEXT_BYTES];
  if (etx_tensor_compare(expected, found, run->file->tolerance, why)) return;
  differ(run, what, why);
}

static etx_status set_scalar(case_runner* run, size_t index,
                             const etx_case_value* from) {
  const etx_value value = etx_case_scalar(from);
  return etx_method_set_value(run->method, index, &value, run->diag);
}

static etx_status set_inputs(case_runner* run) {
  const size_t count = run->call->input_count;
  if (count != run->method->input_count) {
    return etx_diag_fail(run->diag, ETX_BAD_ARGUMENT,
                         "the method has %z input%s, the case has %z",
                         run->method->input_count,
                         etx_plural(run->method->input_count), count);
  }
  run->inputs = etx_pool_take(&run->pool, count * sizeof *run->inputs);
  run->given = etx_pool_take(&run->pool, count * sizeof *run->given);
  if (run->inputs == NULL || run->given == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    const etx_case_value* const from = &run->call->inputs[i];
    if (from->kind != ETX_CASE_TENSOR) {
      ETX_TRY(set_scalar(run, i, from));
      continue;
    }
    run->inputs[i] = *from->tensor;
    ETX_TRY(etx_host_tensor_allocate(&run->inputs[i], &run->pool, run->diag));
    if (run->inputs[i].bytes != 0) {
      memcpy(run->inputs[i].data, from->tensor->data, run->inputs[i].bytes);
    }
    ETX_TRY(etx_dim_order_input_set(run->method, i, &run->inputs[i], &run->pool,
                                    &run->given[i], run->diag));
  }
  return ETX_OK;
}

static etx_status find_state(case_runner* run, size_t index, etx_tensor* out,
                             etx_state_hold* hold) {
  const etx_shared_memory* const shared = &run->session->shared.memory;
  return etx_shared_memory_find(
      shared, etx_shared_memory_name_at(shared, index), out, hold, run->diag);
}

static etx_status remember_states(case_runner* run) {
  const size_t count = etx_shared_memory_count(&run->session->shared.memory);
  run->states = etx_pool_take(&run->pool, count * sizeof *run->states);
  if (run->states == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    etx_tensor state;
    etx_state_hold hold;
    ETX_TRY(find_state(run, i, &state, &hold));
    if (etx_tensor_bytes(&state) > RECORDED_STATE_BYTES) continue;
    ETX_TRY(
        etx_host_tensor_copy(&state, &run->pool, &run->states[i], run->diag));
  }
  return ETX_OK;
}

static bool equal_scalar(const etx_case_value* expected, const etx_value* found,
                         etx_tolerance tolerance) {
  switch (expected->kind) {
    case ETX_CASE_NONE:
      return found->kind == ETX_VALUE_NONE;
    case ETX_CASE_INT:
      return found->kind == ETX_VALUE_INT &&
             found->as.integer == expected->integer;
    case ETX_CASE_BOOL:
      return found->kind == ETX_VALUE_BOOL &&
             found->as.boolean == expected->boolean;
    case ETX_CASE_REAL:
      return found->kind == ETX_VALUE_DOUBLE &&
             etx_tensor_compare_reals(expected->real, found->as.real,
                                      tolerance);
    case ETX_CASE_STRING:
      return found->kind == ETX_VALUE_STRING &&
             etx_text_equal(found->as.string, expected->string);
    default:
      return false;
  }
}

static etx_status check_output(case_runner* run, size_t index,
                               const etx_case_value* expected) {
  const etx_value* found = NULL;
  ETX_TRY(etx_method_output(run->method, index, &found));
  char what[ETX_PORT_NAME_BYTES + 16];
  etx_port port;
  ETX_TRY(etx_port_output(&run->session->module.program,
                          etx_text_of(run->call->method), index, &port,
                          run->diag));
  etx_format_text(what, sizeof what, "output '%s'", port.name);
  if (expected->kind != ETX_CASE_TENSOR) {
    if (!equal_scalar(expected, found, run->file->tolerance)) {
      differ(run, what, "the number, boolean, string or None differs");
    }
    return ETX_OK;
  }
  if (found->kind != ETX_VALUE_TENSOR) {
    differ(run, what, "expected a tensor, found another kind of value");
    return ETX_OK;
  }
  etx_host_tensor copy;
  ETX_TRY(
      etx_host_tensor_copy(&found->as.tensor, &run->pool, &copy, run->diag));
  compare(run, expected->tensor, &copy, what);
  return ETX_OK;
}

// A stock program returns changed inputs as additional first outputs, which the
// case does not list.
static etx_status check_outputs(case_runner* run) {
  const size_t expected = run->call->output_count;
  const size_t found = run->method->output_count;
  if (found < expected) {
    char why[64];
    etx_format_text(why, sizeof why, "expected %z, found %z", expected, found);
    differ(run, "number of outputs", why);
    return ETX_OK;
  }
  for (size_t i = 0; i < expected; ++i) {
    ETX_TRY(check_output(run, found - expected + i, &run->call->outputs[i]));
  }
  return ETX_OK;
}

static void check_inputs(case_runner* run) {
  for (size_t i = 0; i < run->call->input_count; ++i) {
    if (run->call->inputs[i].kind != ETX_CASE_TENSOR) continue;
    etx_dim_order_input_read_back(&run->given[i]);
    const etx_host_tensor* expected = run->call->inputs[i].tensor;
    for (size_t k = 0; k < run->call->mutation_count; ++k) {
      if (run->call->mutations[k].input == i) {
        expected = run->call->mutations[k].tensor;
      }
    }
    char what[48];
    etx_format_text(what, sizeof what, "input %z after the call", i);
    compare(run, expected, &run->inputs[i], what);
  }
}

static const etx_host_tensor* expected_state(const case_runner* run,
                                             etx_text name, size_t index) {
  for (size_t i = 0; i < run->call->state_count; ++i) {
    if (etx_text_equal(run->call->states[i].name, name)) {
      return run->call->states[i].tensor;
    }
  }
  return run->states[index].data == NULL ? NULL : &run->states[index];
}

static etx_status check_states(case_runner* run) {
  const etx_shared_memory* const shared = &run->session->shared.memory;
  const size_t count = etx_shared_memory_count(shared);
  for (size_t i = 0; i < count; ++i) {
    const etx_text name = etx_shared_memory_name_at(shared, i);
    const etx_host_tensor* const expected = expected_state(run, name, i);
    if (expected == NULL) continue;
    etx_tensor state;
    etx_state_hold hold;
    etx_host_tensor copy;
    char what[ETX_PORT_NAME_BYTES + 16];
    ETX_TRY(find_state(run, i, &state, &hold));
    ETX_TRY(etx_host_tensor_copy(&state, &run->pool, &copy, run->diag));
    etx_format_text(what, sizeof what, "state '%t'", name);
    compare(run, expected, &copy, what);
  }
  return ETX_OK;
}

// Reports recorded states that the program does not have.
static void check_state_names(case_runner* run) {
  const etx_shared_memory* const shared = &run->session->shared.memory;
  for (size_t i = 0; i < run->call->state_count; ++i) {
    etx_tensor state;
    etx_state_hold hold;
    if (etx_shared_memory_find(shared, run->call->states[i].name, &state, &hold,
                               NULL) == ETX_OK) {
      continue;
    }
    char what[ETX_PORT_NAME_BYTES + 16];
    etx_format_text(what, sizeof what, "state '%t'", run->call->states[i].name);
    differ(run, what, "the program has no such state");
  }
}

// A call that is expected to be refused, for its inputs or while it runs: it
// changes no state, and the next call runs as if it had not been.
static etx_status run_refused_call(case_runner* run) {
  const etx_diag before = *run->diag;
  etx_status status = set_inputs(run);
  if (status == ETX_OK)
    status = etx_run_session_run(run->session, run->method, run->diag);
  ++run->result->call_count;
  if (status == ETX_OUT_OF_MEMORY) return status;
  if (status == ETX_OK) {
    differ(run, "the call", "expected to be refused, but it ran");
    return ETX_OK;
  }
  *run->diag = before;
  return check_states(run);
}

static etx_status run_call(case_runner* run) {
  ETX_TRY(etx_run_session_method(run->session, run->call->method, &run->method,
                                 run->diag));
  ETX_TRY(remember_states(run));
  if (run->call->is_refused) return run_refused_call(run);
  ETX_TRY(set_inputs(run));
  ETX_TRY(
      run->sink->profile == NULL
          ? etx_run_session_run(run->session, run->method, run->diag)
          : etx_run_profile_call(run->sink->profile, run->method, run->diag));
  ++run->result->call_count;
  ETX_TRY(check_outputs(run));
  check_inputs(run);
  check_state_names(run);
  return check_states(run);
}

etx_status etx_case_run(etx_run_session* session, const etx_case_file* file,
                        const etx_case_sink* sink, etx_case_result* out_result,
                        etx_diag* diag) {
  etx_case_result result = {.call_count = 0};
  etx_status status = ETX_OK;
  for (size_t i = 0; i < file->call_count && status == ETX_OK; ++i) {
    const etx_text all = {NULL, 0};
    case_runner run = {.session = session,
                       .file = file,
                       .sink = sink,
                       .result = &result,
                       .call = &file->calls[i],
                       .index = i,
                       .diag = diag};
    result.refused_call = i;
    etx_pool_init(&run.pool);
    if (run.call->is_reset) {
      status = etx_shared_memory_reset(&session->shared.memory, all, diag);
    } else if (run.call->truncates) {
      status = etx_shared_memory_truncate(&session->shared.memory, all,
                                          run.call->length, diag);
    } else {
      status = run_call(&run);
    }
    etx_pool_close(&run.pool);
  }
  *out_result = result;
  return status;
}
