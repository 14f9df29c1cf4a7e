#include "runtime/trace/call_trace.h"

#include "runtime/load/variant_methods.h"
#include "runtime/method/method_types.h"
#include "runtime/variants.h"

static size_t mark_count(const etx_method* method) {
  const size_t variants = etx_method_variant_count(method);
  size_t count = 0;
  for (size_t i = 0; i <= variants; ++i) {
    count += etx_method_in_turn(method, i)->record_count;
  }
  return count;
}

size_t etx_call_trace_needed(const etx_method* method) {
  return mark_count(method) / 8 + 1;
}

static void before_call(void* context, size_t instruction,
                        const etx_call* call) {
  const etx_call_trace* const trace = context;
  const etx_method* const method = trace->method;
  const etx_method* const runs = etx_method_variant_running(method);
  const size_t last = etx_method_variant_last(method);
  size_t at = (size_t)(etx_record_of_call(call) - runs->records);
  (void)instruction;
  // Copies of the method for other sizes share its marks.
  if (last < etx_method_variant_count(method)) {
    for (size_t i = 0; i <= last; ++i) {
      at += etx_method_in_turn(method, i)->record_count;
    }
  }
  if (at < trace->mark_count) trace->marks[at / 8] |= (uint8_t)(1 << at % 8);
}

static void after_call(void* context, size_t instruction,
                       const etx_call* call) {
  (void)context, (void)instruction, (void)call;
}

etx_status etx_call_trace_start(etx_call_trace* trace, etx_method* method,
                                etx_bytes_mut memory, etx_diag* diag) {
  const size_t needed = etx_call_trace_needed(method);
  if (memory.size < needed) {
    return etx_diag_seal(
        diag,
        etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                      "the trace of method '%t' needs %z bytes, given "
                      "are %z",
                      etx_pte_plan_name(&method->plan), needed, memory.size));
  }
  memset(memory.data, 0, needed);
  *trace = (etx_call_trace){{before_call, after_call, trace},
                            method,
                            memory.data,
                            mark_count(method)};
  etx_method_observe(method, &trace->observer);
  return ETX_OK;
}

void etx_call_trace_stop(etx_call_trace* trace) {
  etx_method_observe(trace->method, NULL);
}
