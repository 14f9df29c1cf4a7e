// The Trace Event Format: "X" is a call or an instruction, in microseconds from
// the start of the first call; "C" is the live bytes of an arena, which come
// from the memory map of the file (memory_map.h) and are not measured.

#include "cli/run/run_profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/monotonic_clock.h"
#include "cli/json/json_string.h"
#include "cli/memory/memory_map.h"
#include "cli/base/output_file.h"
#include "cli/program/instruction_source.h"
#include "runtime/variants.h"

enum { TYPES_BYTES = 512 };

// ---- recording ----

static etx_run_profile_event* add_event(etx_run_profile* profile) {
  if (profile->count == profile->capacity) {
    const size_t capacity = 2 * profile->capacity + 256;
    etx_run_profile_event* const events =
        realloc(profile->events, capacity * sizeof *events);
    if (events == NULL) return NULL;
    profile->events = events;
    profile->capacity = capacity;
  }
  return &profile->events[profile->count++];
}

static void before_call(void* context, size_t instruction,
                        const etx_call* call) {
  etx_run_profile* const profile = context;
  etx_run_profile_event* const event = add_event(profile);
  if (event == NULL) {
    ++profile->lost;
    return;
  }
  const double now = etx_monotonic_clock_seconds();
  *event = (etx_run_profile_event){now, now, instruction, call->op, NULL};
}

// "float32[2, 3], int64[]": the tensors among the arguments.
static size_t put_types(const etx_call* call, char* out, size_t capacity) {
  size_t size = 0;
  for (size_t i = 0; i < call->argument_count; ++i) {
    const etx_value* const value = call->arguments[i];
    if (value == NULL || value->kind != ETX_VALUE_TENSOR) continue;
    const etx_tensor* const tensor = &value->as.tensor;
    size +=
        etx_format_text(out + size, capacity - size, "%s%s[",
                        size == 0 ? "" : ", ", etx_dtype_name(tensor->dtype));
    for (uint8_t d = 0; d < tensor->rank; ++d) {
      size += etx_format_text(out + size, capacity - size, "%s%i",
                              d == 0 ? "" : ", ", (int64_t)tensor->sizes[d]);
    }
    size += etx_format_text(out + size, capacity - size, "]");
  }
  return size;
}

static void after_call(void* context, size_t instruction,
                       const etx_call* call) {
  etx_run_profile* const profile = context;
  const double now = etx_monotonic_clock_seconds();
  if (profile->lost != 0 || profile->count == 0) return;
  etx_run_profile_event* const event = &profile->events[profile->count - 1];
  if (event->instruction != instruction) return;
  event->end = now;
  char text[TYPES_BYTES];
  const size_t size = put_types(call, text, sizeof text);
  char* const types = malloc(size + 1);
  if (types == NULL) return;
  memcpy(types, text, size);
  types[size] = '\0';
  event->types = types;
}

void etx_run_profile_init(etx_run_profile* profile) {
  *profile = (etx_run_profile){.events = NULL};
}

void etx_run_profile_close(etx_run_profile* profile) {
  for (size_t i = 0; i < profile->count; ++i) {
    free((char*)profile->events[i].types);
  }
  free(profile->events);
  free(profile->calls);
}

static etx_run_profile_call_record* add_call(etx_run_profile* profile) {
  if (profile->call_count == profile->call_capacity) {
    const size_t capacity = 2 * profile->call_capacity + 16;
    etx_run_profile_call_record* const calls =
        realloc(profile->calls, capacity * sizeof *calls);
    if (calls == NULL) return NULL;
    profile->calls = calls;
    profile->call_capacity = capacity;
  }
  return &profile->calls[profile->call_count++];
}

etx_status etx_run_profile_call(etx_run_profile* profile, etx_method* method,
                                etx_diag* diag) {
  const etx_run_observer observer = {before_call, after_call, profile};
  etx_run_profile_call_record call = {
      .method = etx_pte_plan_name(&method->plan), .first = profile->count};
  etx_method_observe(method, &observer);
  call.start = etx_monotonic_clock_seconds();
  const etx_status status = etx_method_run(method, diag);
  call.method =
      etx_method_variant_name(method, etx_method_variant_last(method));
  call.end = etx_monotonic_clock_seconds();
  etx_method_observe(method, NULL);
  call.count = profile->count - call.first;
  etx_run_profile_call_record* const kept = add_call(profile);
  if (kept == NULL) {
    ++profile->lost;
  } else {
    *kept = call;
  }
  return status;
}

// ---- writing ----

typedef struct profile_writer {
  const etx_run_profile* profile;
  const etx_memory_map* map;
  const etx_instruction_source* notes;
  FILE* out;
} profile_writer;

static double microseconds(const profile_writer* w, double time) {
  return 1e6 * (time - w->profile->calls[0].start);
}

static void put_span(const profile_writer* w, const char* category,
                     double start, double end, etx_text name) {
  fprintf(w->out,
          ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"cat\":\"%s\",\"ts\":%.3f,"
          "\"dur\":%.3f,\"name\":",
          category, microseconds(w, start), 1e6 * (end - start));
  etx_json_string_write(w->out, name);
}

static void put_event(const profile_writer* w,
                      const etx_run_profile_call_record* call,
                      const etx_run_profile_event* event) {
  char name[128];
  char source[ETX_INSTRUCTION_SOURCE_TEXT_BYTES];
  const size_t size = etx_format_text(
      name, sizeof name, "%s%s%s", event->op->name,
      event->op->overload[0] == '\0' ? "" : ".", event->op->overload);
  put_span(w, "operator", event->start, event->end, (etx_text){name, size});
  fprintf(w->out,
          ",\"args\":{\"instruction\":%zu,\"tensors\":", event->instruction);
  etx_json_string_write(w->out, etx_text_of(event->types));
  if (etx_instruction_source_text(w->notes, call->method, event->instruction,
                                  source)) {
    fputs(",\"source\":", w->out);
    etx_json_string_write(w->out, etx_text_of(source));
  }
  fputs("}}", w->out);
}

static void put_arena(const profile_writer* w, const etx_memory_method* method,
                      const etx_memory_arena* arena,
                      const etx_run_profile_call_record* call) {
  for (size_t i = 0; i < call->count; ++i) {
    const etx_run_profile_event* const event =
        &w->profile->events[call->first + i];
    if (event->instruction >= method->step_count) continue;
    fprintf(w->out,
            ",\n{\"ph\":\"C\",\"pid\":1,\"ts\":%.3f,\"name\":\"arena %" PRIu32
            ", live bytes\",\"args\":{\"bytes\":%" PRIu64 "}}",
            microseconds(w, event->start), arena->id,
            arena->live[event->instruction]);
  }
}

static void put_memory(const profile_writer* w,
                       const etx_run_profile_call_record* call) {
  for (size_t m = 0; m < w->map->method_count; ++m) {
    const etx_memory_method* const method = &w->map->methods[m];
    if (!etx_text_equal(method->name, call->method)) continue;
    for (size_t a = 0; a < method->arena_count; ++a) {
      put_arena(w, method, &method->arenas[a], call);
    }
  }
}

static void put_trace(const profile_writer* w, const char* name) {
  fputs(
      "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
      "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":",
      w->out);
  etx_json_string_write(w->out, etx_text_of(name));
  fputs("}}", w->out);
  for (size_t c = 0; c < w->profile->call_count; ++c) {
    const etx_run_profile_call_record* const call = &w->profile->calls[c];
    put_span(w, "call", call->start, call->end, call->method);
    fprintf(w->out, ",\"args\":{\"call\":%zu}}", c);
    for (size_t i = 0; i < call->count; ++i) {
      put_event(w, call, &w->profile->events[call->first + i]);
    }
    put_memory(w, call);
  }
  fputs("\n]}\n", w->out);
}

static etx_status write_trace(const etx_run_profile* profile,
                              const etx_memory_map* map, const char* name,
                              const char* path, etx_diag* diag) {
  etx_output_file output;
  etx_instruction_source notes;
  etx_instruction_source_open(&notes, &map->pte, "run", name);
  ETX_TRY(etx_output_file_open(&output, path, diag));
  const profile_writer w = {profile, map, &notes, output.file};
  put_trace(&w, name);
  etx_status status = etx_output_file_finish(&output);
  if (status == ETX_OK) status = etx_output_file_keep(&output);
  etx_output_file_discard(&output);
  return status;
}

etx_exit etx_run_profile_write(const etx_run_profile* profile,
                               etx_bytes program, const char* name,
                               const char* path) {
  etx_diag diag;
  etx_diag_init(&diag);
  if (profile->lost != 0) {
    return etx_error_report("run", path, ETX_OUT_OF_MEMORY, NULL);
  }
  etx_memory_map map;
  etx_status status = etx_memory_map_read(&map, program, &diag);
  if (status == ETX_OK) status = write_trace(profile, &map, name, path, &diag);
  etx_memory_map_close(&map);
  return status == ETX_OK ? ETX_EXIT_DONE
                          : etx_error_report("run", NULL, status, &diag);
}
