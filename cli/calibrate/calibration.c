#include "cli/calibrate/calibration.h"

#include <stdio.h>
#include <string.h>

#include "cli/plan/diagnostic_list.h"
#include "cli/plan/kernel_evaluator.h"
#include "cli/run/case_run.h"

// The sums of layers take at most so much memory at a time.
#define MOST_BYTES ((size_t)1 << 30)

// ------------------------------------------------ the plan

// Weights are constants of layers of their own in this plan.
static const char layers_apart[] =
    "-fuse_parallel_linear,-fuse_linear_epilogue";

static etx_status plan_module(const etx_calibration_source* source,
                              etx_ir_module* module, const char* passes,
                              etx_diag* diag) {
  const etx_export_options options = {.target = ETX_TARGET_ETX,
                                      .evaluator = etx_kernel_evaluator(),
                                      .passes = passes,
                                      .workers = source->workers};
  const etx_sink sink = etx_durable_file_sink(source->temporary);
  etx_export_report report;
  etx_diagnostic_list list;
  etx_diagnostic_list_init(&list, false);
  ETX_TRY(source->read(source->context, module, diag));
  module->memory_count = 0;
  ETX_TRY(etx_export_quantize(module, "none", diag));
  ETX_TRY(etx_export_kv(module, "f32", diag));
  ETX_TRY(
      etx_export_plan(module, &options, &sink, &report, &list.problems, diag));
  return etx_durable_file_finish(source->temporary);
}

static etx_status plan(const etx_calibration_source* source, etx_diag* diag) {
  etx_pool pool;
  etx_ir_module module;
  etx_pool_init(&pool);
  etx_ir_module_init(&module, &pool);
  const etx_text passes = etx_pool_format(
      &pool, "%s%s%s", layers_apart, source->passes == NULL ? "" : ",",
      source->passes == NULL ? "" : source->passes);
  const etx_status status =
      passes.data == NULL ? ETX_OUT_OF_MEMORY
                          : plan_module(source, &module, passes.data, diag);
  etx_pool_close(&pool);
  return status;
}

static etx_status open_session(etx_calibration* c, etx_diag* diag) {
  // Small models have no workers: threads would start for nothing.
  const etx_run_session_options options = {
      .threads = c->source->workers == NULL ? 1 : etx_thread_pool_processors()};
  ETX_TRY(plan(c->source, diag));
  ETX_TRY(etx_run_session_open(&c->session, c->source->temporary->temporary,
                               &options, diag));
  c->is_open = true;
  return ETX_OK;
}

// ------------------------------------------------ the calls

static void ignore_difference(void* context, size_t call, const char* method,
                              const char* what, const char* why) {
  (void)context, (void)call, (void)method, (void)what, (void)why;
}

static etx_status make_calls(etx_calibration* c, etx_diag* diag) {
  static const etx_text all = {"", 0};
  const etx_case_sink sink = {ignore_difference, NULL, NULL};
  etx_case_result result = {.call_count = 0};
  if (c->source->progress != NULL) {
    c->source->progress(c->source->context, "calibrating", c->used,
                        c->recorder.count);
  }
  ETX_TRY(etx_shared_memory_reset(&c->session.shared.memory, all, diag));
  const etx_status status =
      etx_case_run(&c->session, &c->cases, &sink, &result, diag);
  if (status != ETX_OK) {
    etx_diag_append(diag, ", in call %z of the calibration",
                    result.refused_call);
    return status;
  }
  if (c->recorder.status == ETX_OK) return ETX_OK;
  return etx_diag_fail(diag, c->recorder.status,
                       "not enough memory for the inputs of layers");
}

static etx_status observe_methods(etx_calibration* c, etx_diag* diag) {
  for (size_t i = 0; i < c->cases.call_count; ++i) {
    etx_method* method = NULL;
    if (c->cases.calls[i].method == NULL) continue;
    const etx_status status = etx_run_session_method(
        &c->session, c->cases.calls[i].method, &method, diag);
    if (status != ETX_OK) {
      etx_diag_append(diag, ", in call %z of the calibration", i);
      return status;
    }
    etx_run_session_observe(&c->session, method, &c->recorder.observer);
  }
  return ETX_OK;
}

// ------------------------------------------------ the answers

static etx_status find(void* context, etx_bytes weight, size_t inner,
                       etx_input_products** out, etx_diag* diag) {
  etx_calibration* const c = context;
  const size_t index = etx_layer_recorder_find(&c->recorder, weight);
  *out = NULL;
  if (index == c->recorder.count) return ETX_OK;
  etx_recorded_layer* const layer = &c->recorder.layers[index];
  if (layer->inner != inner || layer->was_used) return ETX_OK;
  if (!layer->is_recorded) {
    ETX_TRY(etx_layer_recorder_restart(&c->recorder, index, MOST_BYTES));
    ETX_TRY(make_calls(c, diag));
  }
  if (!layer->is_recorded || layer->products.rows == 0) return ETX_OK;
  layer->was_used = true;
  ++c->used;
  *out = &layer->products;
  return ETX_OK;
}

static etx_status check_rules(const etx_ir_module* module, etx_diag* diag) {
  for (size_t i = 0; i < module->quantize_count; ++i) {
    const uint32_t bits = module->quantize[i].bits;
    if (bits == 4 || bits == 8) return ETX_OK;
  }
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "a calibration says how weights are rounded to "
                       "integers, and no rule rounds any: add --quantize int4, "
                       "for instance");
}

etx_status etx_calibration_open(etx_calibration* calibration,
                                const etx_calibration_source* source,
                                etx_pool* pool, etx_diag* diag) {
  etx_calibration* const c = calibration;
  memset(c, 0, sizeof *c);
  c->source = source;
  c->inputs = (etx_layer_inputs){find, c};
  ETX_TRY(check_rules(source->module, diag));
  const etx_status status =
      etx_case_file_read(source->calls, pool, &c->cases, diag);
  if (status != ETX_OK) {
    etx_diag_append(diag, ", in the calibration '%s'", source->calls);
    return status;
  }
  ETX_TRY(open_session(c, diag));
  etx_layer_recorder_open(&c->recorder, c->session.file.program, MOST_BYTES,
                          source->workers, pool);
  ETX_TRY(observe_methods(c, diag));
  ETX_TRY(make_calls(c, diag));
  if (c->recorder.count != 0) return ETX_OK;
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "the calls of the calibration run no linear layer");
}

void etx_calibration_close(etx_calibration* calibration) {
  if (!calibration->is_open) return;
  etx_layer_recorder_close(&calibration->recorder);
  etx_run_session_close(&calibration->session);
}
