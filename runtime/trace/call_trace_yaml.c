// Writes traces as YAML without memory of its own: rows are written in the
// order of their texts, and each next one is found by going over all marks
// again.

#include "format/base/reachability.h"
#include "runtime/program/build_features.h"
#include "runtime/trace/traced_calls.h"
#include "runtime/trace/kernel_key.h"

typedef struct trace_writer {
  const etx_call_trace* const* traces;
  size_t count;
  etx_text file;
  const etx_sink* sink;
  etx_status status;  // of the first write that failed
} trace_writer;

static void put_bytes(trace_writer* w, const void* data, size_t size) {
  if (w->status == ETX_OK) w->status = etx_sink_write(w->sink, data, size);
}

static void put(trace_writer* w, const char* text) {
  put_bytes(w, text, strlen(text));
}

// The characters of a text between double quotes.
static void put_escaped(trace_writer* w, etx_text text) {
  static const char digits[] = "0123456789ABCDEF";
  for (size_t i = 0; i < text.size; ++i) {
    const unsigned char c = (unsigned char)text.data[i];
    if (c < 0x20 || c == 0x7f) {
      const char escape[] = {'\\', 'x', digits[c >> 4], digits[c & 15]};
      put_bytes(w, escape, sizeof escape);
    } else {
      if (c == '"' || c == '\\') put(w, "\\");
      put_bytes(w, &text.data[i], 1);
    }
  }
}

// ---- operators ----

static int compare_operators(etx_pte_operator a, etx_pte_operator b) {
  const int names = etx_text_compare(a.name, b.name);
  return names != 0 ? names : etx_text_compare(a.overload, b.overload);
}

static etx_pte_operator operator_of(const etx_traced_calls* cursor,
                                    const etx_pte_instruction* call) {
  return etx_pte_operator_at(cursor->plan, (size_t)call->index);
}

// Finds the first operator after `op` in order; after none if `has_op` is
// false.
static bool next_operator(const trace_writer* w, bool has_op,
                          etx_pte_operator* op) {
  bool is_found = false;
  etx_pte_operator best = {{NULL, 0}, {NULL, 0}};
  for (size_t i = 0; i < w->count; ++i) {
    etx_traced_calls cursor = {.variant = 0};
    etx_pte_instruction call;
    while (etx_traced_calls_next(w->traces[i], &cursor, &call)) {
      const etx_pte_operator at = operator_of(&cursor, &call);
      if (has_op && compare_operators(at, *op) <= 0) continue;
      if (is_found && compare_operators(at, best) >= 0) continue;
      best = at;
      is_found = true;
    }
  }
  if (is_found) *op = best;
  return is_found;
}

static void put_operator_name(trace_writer* w, etx_pte_operator op) {
  put(w, "  \"");
  put_escaped(w, op.name);
  if (op.overload.size > 0) put(w, ".");
  put_escaped(w, op.overload);
  put(w, "\":\n");
}

// Finds the first key of an operator's calls after `key`, or the first one of
// all if `key` is empty.
static bool next_key(const trace_writer* w, etx_pte_operator op,
                     etx_kernel_key* key) {
  bool is_found = false;
  etx_kernel_key best = {.size = 0};
  for (size_t i = 0; i < w->count; ++i) {
    etx_traced_calls cursor = {.variant = 0};
    etx_pte_instruction call;
    while (etx_traced_calls_next(w->traces[i], &cursor, &call)) {
      etx_kernel_key at;
      if (compare_operators(operator_of(&cursor, &call), op) != 0) continue;
      // The calls of a loaded method have the arguments of their operators.
      const bool has_key = etx_kernel_key_of(cursor.plan, &call, &at);
      if (ETX_NEVER(!has_key)) continue;
      const etx_text text = etx_kernel_key_text(&at);
      if (etx_text_compare(text, etx_kernel_key_text(key)) <= 0) continue;
      if (is_found && etx_text_compare(text, etx_kernel_key_text(&best)) >= 0) {
        continue;
      }
      best = at;
      is_found = true;
    }
  }
  if (is_found) *key = best;
  return is_found;
}

static void put_kernels(trace_writer* w) {
  etx_pte_operator op;
  bool has_op = false;
  while (w->status == ETX_OK && next_operator(w, has_op, &op)) {
    etx_kernel_key key = {.size = 0};
    if (!has_op) put(w, "et_kernel_metadata:\n");
    has_op = true;
    put_operator_name(w, op);
    while (next_key(w, op, &key)) {
      put(w, "  - \"");
      put_bytes(w, key.text, key.size);
      put(w, "\"\n");
    }
  }
  if (!has_op) put(w, "et_kernel_metadata: {}\n");
}

// ---- methods ----

static void put_method(trace_writer* w, const char* indent,
                       const etx_call_trace* trace) {
  put(w, indent);
  put(w, "- \"");
  put_escaped(w, w->file);
  put(w, ":");
  put_escaped(w, etx_pte_plan_name(&trace->method->plan));
  put(w, "\"\n");
}

static bool calls(const etx_call_trace* trace, etx_pte_operator op) {
  etx_traced_calls cursor = {.variant = 0};
  etx_pte_instruction call;
  while (etx_traced_calls_next(trace, &cursor, &call)) {
    if (compare_operators(operator_of(&cursor, &call), op) == 0) return true;
  }
  return false;
}

static void put_operators(trace_writer* w) {
  etx_pte_operator op;
  bool has_op = false;
  while (w->status == ETX_OK && next_operator(w, has_op, &op)) {
    if (!has_op) put(w, "operators:\n");
    has_op = true;
    put_operator_name(w, op);
    put(w, "    debug_info:\n");
    for (size_t i = 0; i < w->count; ++i) {
      if (calls(w->traces[i], op)) put_method(w, "    ", w->traces[i]);
    }
    put(w,
        "    include_all_overloads: false\n"
        "    is_root_operator: true\n"
        "    is_used_for_training: true\n");
  }
  if (!has_op) put(w, "operators: {}\n");
}

static void put_methods(trace_writer* w) {
  bool has_methods = false;
  for (size_t i = 0; i < w->count; ++i) {
    if (!etx_traced_calls_exist(w->traces[i])) continue;
    if (!has_methods) put(w, "debug_info:\n");
    has_methods = true;
    put_method(w, "", w->traces[i]);
  }
}

// A run loads the variants of a method, so their features count, too. They are
// those of the method: a variant has the same program with some sizes fixed.
static void put_features(trace_writer* w) {
  uint32_t features = 0;
  for (size_t i = 0; i < w->count; ++i) {
    const etx_method* const method = w->traces[i]->method;
    uint32_t needed = 0;
    if (!etx_traced_calls_exist(w->traces[i])) continue;
    // A loaded method has no more unplanned outputs than may be counted.
    const etx_status status =
        etx_build_features_of(method->program, &method->plan, &needed, NULL);
    if (ETX_NEVER(status != ETX_OK)) w->status = status;
    features |= needed;
  }
  put(w, features == 0 ? "build_features: []\n" : "build_features:\n");
  for (int i = 0; i < ETX_FEATURE_COUNT; ++i) {
    if ((features >> i & 1) == 0) continue;
    put(w, "- ");
    put(w, etx_build_feature_name((etx_build_feature)i));
    put(w, "\n");
  }
}

etx_status etx_call_trace_write(const etx_call_trace* const* traces,
                                size_t count, etx_text file,
                                const etx_sink* sink) {
  trace_writer w = {traces, count, file, sink, ETX_OK};
  put_features(&w);
  put(&w, "custom_classes: []\n");
  put_methods(&w);
  put_kernels(&w);
  put(&w,
      "include_all_non_op_selectives: false\n"
      "include_all_operators: false\n"
      "kernel_metadata: {}\n");
  put_operators(&w);
  return w.status;
}
