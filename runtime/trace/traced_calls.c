#include "runtime/trace/traced_calls.h"

#include "runtime/load/variant_methods.h"
#include "runtime/method/method_types.h"
#include "runtime/variants.h"

// True if the method or one of its variants, whose marks begin at `first`, has
// run: some instruction is marked, or there is none that a run would mark.
static bool is_used(const etx_call_trace* trace, const etx_method* method,
                    size_t first) {
  bool has_kernels = false;
  for (size_t i = 0; i < method->record_count; ++i) {
    const etx_method_record* const record = &method->records[i];
    const size_t mark = first + i;
    if (mark < trace->mark_count &&
        (trace->marks[mark / 8] >> mark % 8 & 1) != 0) {
      return true;
    }
    has_kernels |= record->kind == ETX_RECORD_KERNEL && !record->is_idle;
  }
  return !has_kernels;
}

bool etx_traced_calls_exist(const etx_call_trace* trace) {
  const size_t variants = etx_method_variant_count(trace->method);
  size_t first = 0;
  for (size_t i = 0; i <= variants; ++i) {
    const etx_method* const method = etx_method_in_turn(trace->method, i);
    if (is_used(trace, method, first)) return true;
    first += method->record_count;
  }
  return false;
}

// True if the kernel ran, or if there is none to run at the present sizes: a
// number was computed, or the call has nothing to do although its results have
// elements.
static bool has_run(const etx_call_trace* trace, size_t mark,
                    const etx_method_record* record) {
  if (record->kind == ETX_RECORD_SCALAR) return true;
  if (record->kind != ETX_RECORD_KERNEL) return false;
  if ((trace->marks[mark / 8] >> mark % 8 & 1) != 0) return true;
  return record->is_idle &&
         (record->writes_elements || etx_op_only_sizes(record->call.op));
}

bool etx_traced_calls_next(const etx_call_trace* trace,
                           etx_traced_calls* cursor,
                           etx_pte_instruction* out_call) {
  const size_t variants = etx_method_variant_count(trace->method);
  while (cursor->variant <= variants) {
    const etx_method* const method =
        etx_method_in_turn(trace->method, cursor->variant);
    const bool may_run =
        cursor->record > 0 || is_used(trace, method, cursor->first_mark);
    while (may_run && etx_pte_instruction_next(&method->plan, &cursor->position,
                                               out_call)) {
      const size_t at = cursor->record++;
      const size_t mark = cursor->first_mark + at;
      if (mark < trace->mark_count &&
          has_run(trace, mark, &method->records[at])) {
        cursor->plan = &method->plan;
        return true;
      }
    }
    cursor->first_mark += method->record_count;
    cursor->record = 0;
    cursor->position = (etx_pte_cursor){0, 0, {0, 0}};
    ++cursor->variant;
  }
  return false;
}
