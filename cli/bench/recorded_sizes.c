#include "cli/bench/recorded_sizes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/monotonic_clock.h"
#include "cli/base/plural.h"
#include "cli/bench/synthetic_input.h"
#include "cli/json/json_value.h"
#include "shared_memory/shared_memory.h"

// The share of the time from which a variant is proposed.
static const double least_share = 0.01;

// ---------------------------------------------------------------- sizes

// The position of a symbol in the row; it is added if it is not there. False if
// there are too many.
static bool find_symbol(etx_recorded_size* row, etx_text name, size_t* out) {
  size_t at = 0;
  while (at < row->symbol_count && !etx_text_equal(row->names[at], name)) ++at;
  *out = at;
  if (at < row->symbol_count) return true;
  if (at == ETX_SPECIALIZE_SYMBOLS) return false;
  row->names[row->symbol_count++] = name;
  return true;
}

// Finds the symbols of a call from the sizes of its inputs. False if it has
// none, or too many.
static bool read_symbols(const etx_program* program,
                         const etx_synthetic_inputs* inputs,
                         etx_recorded_size* row) {
  size_t method = 0;
  if (!program->has_blob ||
      !etx_blob_method_find(&program->blob, etx_text_of(row->method),
                            &method)) {
    return false;
  }
  const size_t count = etx_blob_input_dim_count(&program->blob, method);
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_input_dim dim =
        etx_blob_input_dim_at(&program->blob, method, i);
    const etx_blob_symbol symbol =
        etx_blob_symbol_at(&program->blob, method, dim.symbol);
    const etx_synthetic_input* const input = &inputs->items[dim.input];
    size_t at = 0;
    if (!find_symbol(row, symbol.name, &at)) return false;
    const int64_t size =
        dim.dim < 0 ? input->value.as.integer : input->tensor.sizes[dim.dim];
    row->values[at] = (size - dim.offset) / dim.factor;
  }
  return row->symbol_count > 0;
}

static bool is_equal(const etx_recorded_size* a, const etx_recorded_size* b) {
  return strcmp(a->method, b->method) == 0 &&
         memcmp(a->values, b->values, a->symbol_count * sizeof a->values[0]) ==
             0;
}

static etx_status add(etx_recorded_sizes* sizes, const etx_recorded_size* row,
                      etx_pool* pool) {
  for (size_t i = 0; i < sizes->count; ++i) {
    if (!is_equal(&sizes->items[i], row)) continue;
    ++sizes->items[i].calls;
    sizes->items[i].seconds += row->seconds;
    return ETX_OK;
  }
  ETX_TRY(etx_pool_grow(pool, &sizes->items, sizes->count, &sizes->capacity,
                        sizeof *row));
  sizes->items[sizes->count++] = *row;
  return ETX_OK;
}

// ---------------------------------------------------------------- calls

// What is known of a recorded call: its sizes, and its shortest time.
typedef struct timed_call {
  etx_recorded_size row;  // no symbols: only the time counts
  bool is_made;
} timed_call;

static etx_status make_call(etx_run_session* session, const etx_case_call* call,
                            etx_pool* pool, timed_call* timed, etx_diag* diag) {
  const etx_synthetic_input_options recorded = {NULL, NULL, call, 0};
  etx_recorded_size row = {.method = call->method, .calls = 1};
  etx_method* method = NULL;
  etx_synthetic_inputs inputs;
  ETX_TRY(etx_run_session_method(session, call->method, &method, diag));
  ETX_TRY(etx_synthetic_inputs_set(method, &recorded, pool, &inputs, diag));
  const double start = etx_monotonic_clock_seconds();
  ETX_TRY(etx_run_session_run(session, method, diag));
  row.seconds = etx_monotonic_clock_seconds() - start;
  if (!read_symbols(&session->module.program, &inputs, &row)) {
    row.symbol_count = 0;
  }
  if (!timed->is_made || row.seconds < timed->row.seconds) timed->row = row;
  timed->is_made = true;
  return ETX_OK;
}

static etx_status make_calls(etx_run_session* session,
                             const etx_case_file* cases, etx_pool* pool,
                             timed_call* timed, etx_diag* diag) {
  const etx_text all = {NULL, 0};
  etx_shared_memory* const memory = &session->shared.memory;
  ETX_TRY(etx_shared_memory_reset(memory, all, diag));
  for (size_t i = 0; i < cases->call_count; ++i) {
    const etx_case_call* const call = &cases->calls[i];
    if (call->is_reset) {
      ETX_TRY(etx_shared_memory_reset(memory, all, diag));
    } else if (call->truncates) {
      ETX_TRY(etx_shared_memory_truncate(memory, all, call->length, diag));
    } else if (!call->is_refused) {
      ETX_TRY(make_call(session, call, pool, &timed[i], diag));
    }
  }
  return ETX_OK;
}

static int compare(const void* a, const void* b) {
  const etx_recorded_size* const x = a;
  const etx_recorded_size* const y = b;
  return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

etx_status etx_recorded_sizes_collect(etx_run_session* session,
                                      const etx_case_file* cases,
                                      etx_pool* pool, etx_recorded_sizes* out,
                                      etx_diag* diag) {
  const size_t bytes = (cases->call_count + 1) * sizeof(timed_call);
  timed_call* const timed = etx_pool_take(pool, bytes);
  if (timed == NULL) return ETX_OUT_OF_MEMORY;
  memset(timed, 0, bytes);
  memset(out, 0, sizeof *out);
  for (int pass = 0; pass < ETX_RECORDED_PASSES; ++pass) {
    ETX_TRY(make_calls(session, cases, pool, timed, diag));
  }
  for (size_t i = 0; i < cases->call_count; ++i) {
    if (!timed[i].is_made) continue;
    out->seconds += timed[i].row.seconds;
    if (timed[i].row.symbol_count == 0) continue;
    ETX_TRY(add(out, &timed[i].row, pool));
  }
  if (out->count > 1) {
    qsort(out->items, out->count, sizeof *out->items, compare);
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- report

static double share_of(const etx_recorded_sizes* sizes, size_t index) {
  return sizes->seconds > 0 ? sizes->items[index].seconds / sizes->seconds : 0;
}

static bool is_proposed(const etx_recorded_sizes* sizes, size_t index) {
  size_t before = 0;
  for (size_t i = 0; i < index; ++i) {
    before += strcmp(sizes->items[i].method, sizes->items[index].method) == 0;
  }
  return share_of(sizes, index) >= least_share &&
         before < ETX_SPECIALIZE_RANGES;
}

// "forward:B=1;T=16", the value of --specialize.
static void write_option(const etx_recorded_size* row, FILE* out) {
  fprintf(out, "%s:", row->method);
  for (size_t i = 0; i < row->symbol_count; ++i) {
    fprintf(out, "%s%.*s=%" PRId64, i == 0 ? "" : ";", (int)row->names[i].size,
            row->names[i].data, row->values[i]);
  }
}

// The sizes of a method with one symbol are one option. True if an earlier row
// has printed this one, or if it is not proposed.
static bool is_printed(const etx_recorded_sizes* sizes, size_t index) {
  const etx_recorded_size* const row = &sizes->items[index];
  if (!is_proposed(sizes, index)) return true;
  for (size_t i = 0; i < index && row->symbol_count == 1; ++i) {
    if (strcmp(sizes->items[i].method, row->method) == 0) return true;
  }
  return false;
}

static void print_option(const etx_recorded_sizes* sizes, size_t index) {
  const etx_recorded_size* const row = &sizes->items[index];
  fputs(" --specialize '", stdout);
  write_option(row, stdout);
  for (size_t i = index + 1; i < sizes->count && row->symbol_count == 1; ++i) {
    if (strcmp(sizes->items[i].method, row->method) == 0 &&
        is_proposed(sizes, i)) {
      printf(",%" PRId64, sizes->items[i].values[0]);
    }
  }
  putchar('\'');
}

void etx_recorded_sizes_print(const etx_recorded_sizes* sizes) {
  for (size_t i = 0; i < sizes->count; ++i) {
    const etx_recorded_size* const row = &sizes->items[i];
    write_option(row, stdout);
    printf(": %zu call%s, %.1f %% of the time\n", row->calls,
           etx_plural(row->calls), 100 * share_of(sizes, i));
  }
  fputs(
      sizes->count == 0 ? "no recorded call has sizes that vary\n" : "etx plan",
      stdout);
  for (size_t i = 0; i < sizes->count; ++i) {
    if (!is_printed(sizes, i)) print_option(sizes, i);
  }
  if (sizes->count > 0) putchar('\n');
}

static json_t* json_of_values(const etx_recorded_size* row) {
  json_t* const object = json_object();
  for (size_t i = 0; i < row->symbol_count; ++i) {
    json_object_setn_new(object, row->names[i].data, row->names[i].size,
                         json_integer(row->values[i]));
  }
  return object;
}

static json_t* json_of_option(const etx_recorded_size* row) {
  char* text = NULL;
  size_t size = 0;
  FILE* const out = open_memstream(&text, &size);
  if (out == NULL) return json_null();
  write_option(row, out);
  fclose(out);
  json_t* const option = json_string(text);
  free(text);
  return option;
}

json_t* etx_recorded_sizes_json(const etx_recorded_sizes* sizes) {
  json_t* const list = json_array();
  for (size_t i = 0; i < sizes->count; ++i) {
    const etx_recorded_size* const row = &sizes->items[i];
    json_t* const object = json_object();
    json_object_set_new(object, "method",
                        etx_json_text(etx_text_of(row->method)));
    json_object_set_new(object, "sizes", json_of_values(row));
    json_object_set_new(object, "calls", etx_json_unsigned(row->calls));
    json_object_set_new(object, "seconds", json_real(row->seconds));
    json_object_set_new(object, "share", json_real(share_of(sizes, i)));
    json_object_set_new(
        object, "specialize",
        is_proposed(sizes, i) ? json_of_option(row) : json_null());
    json_array_append_new(list, object);
  }
  return list;
}
