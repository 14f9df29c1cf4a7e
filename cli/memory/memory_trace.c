// The Trace Event Format of Chrome and Perfetto:
//
//   process   a method                     "M" process_name
//   thread    its instructions; then the lanes of each arena, as many as values
//             are live at once, because slices of a thread must not overlap
//   "X"       an instruction, or a span of a value; a step is a microsecond
//   "C"       live bytes of each arena, where they change

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tensors/host_tensor.h"
#include "cli/json/json_string.h"
#include "cli/memory/memory_formats.h"

// Thread 1 of a method has its instructions. The lanes of its n-th arena begin
// at thread n * LANES_PER_ARENA.
enum { LANES_PER_ARENA = 1000000 };

typedef struct slice {
  const etx_memory_box* box;
  etx_memory_span span;
} slice;

typedef struct tracing {
  const etx_memory_map* map;
  const etx_memory_method* method;
  size_t process;
  FILE* out;
  bool has_events;
} tracing;

static void start_event(tracing* t, const char* phase, size_t thread) {
  fprintf(t->out, "%s{\"ph\":\"%s\",\"pid\":%zu,\"tid\":%zu",
          t->has_events ? ",\n" : "\n", phase, t->process, thread);
  t->has_events = true;
}

static void name_track(tracing* t, const char* what, size_t thread,
                       etx_text name, size_t order) {
  start_event(t, "M", thread);
  fprintf(t->out, ",\"name\":\"%s_name\",\"args\":{\"name\":", what);
  etx_json_string_write(t->out, name);
  fputs("}}", t->out);
  start_event(t, "M", thread);
  fprintf(t->out, ",\"name\":\"%s_sort_index\",\"args\":{\"sort_index\":%zu}}",
          what, order);
}

// ---- instructions ----

static void trace_steps(tracing* t) {
  char text[256];
  name_track(t, "thread", 1, etx_text_of("instructions"), 0);
  for (uint32_t s = 0; s < t->method->program->step_count; ++s) {
    start_event(t, "X", 1);
    fprintf(t->out, ",\"cat\":\"instruction\",\"ts\":%u,\"dur\":1,\"name\":",
            (unsigned)s);
    etx_json_string_write(
        t->out, etx_memory_step_name(t->method, s, text, sizeof text));
    fputc('}', t->out);
  }
}

// ---- values ----

static int compare_slices(const void* left, const void* right) {
  const slice* const a = left;
  const slice* const b = right;
  if (a->span.start != b->span.start) {
    return a->span.start < b->span.start ? -1 : 1;
  }
  if (a->box->offset != b->box->offset) {
    return a->box->offset < b->box->offset ? -1 : 1;
  }
  return a->box->value < b->box->value ? -1 : a->box->value > b->box->value;
}

static void name_slice(tracing* t, const etx_memory_box* box) {
  char text[256];
  char label[300];
  const uint32_t maker = etx_memory_first_write(box);
  const etx_text made =
      maker == ETX_VERIFY_NONE
          ? etx_text_of(box->is_input ? "input"
                                      : etx_memory_kind_name(box->kind))
          : etx_memory_step_name(t->method, maker, text, sizeof text);
  const size_t size = etx_format_text(label, sizeof label, "%t #%u",
                                      box->name.size > 0 ? box->name : made,
                                      (uint64_t)box->value);
  etx_json_string_write(t->out, (etx_text){label, size});
}

static void trace_slice(tracing* t, const slice* s, size_t thread) {
  const etx_memory_box* const box = s->box;
  const etx_pte_tensor tensor = etx_memory_tensor(t->method, box);
  start_event(t, "X", thread);
  fprintf(t->out, ",\"cat\":\"%s\",\"ts\":%u,\"dur\":%u,\"name\":",
          etx_memory_kind_name(box->kind), (unsigned)s->span.start,
          (unsigned)(s->span.end - s->span.start));
  name_slice(t, box);
  fprintf(t->out,
          ",\"args\":{\"value\":%u,\"arena\":%u,\"offset\":%" PRIu64
          ",\"bytes\":%" PRIu64 ",\"type\":\"",
          (unsigned)box->value, (unsigned)box->arena, box->offset, box->bytes);
  etx_host_tensor_print_type(tensor.dtype, tensor.rank, tensor.sizes, t->out);
  fputs("\"}}", t->out);
}

// Two binary heaps of lanes: free ones, with the smallest number on top, and
// those in use, with the one that ends first on top.
typedef struct lane {
  uint32_t end;
  uint32_t number;
} lane;

static bool comes_before(lane a, lane b) {
  return a.end != b.end ? a.end < b.end : a.number < b.number;
}

static void heap_push(lane* heap, size_t* count, lane item) {
  size_t at = (*count)++;
  while (at > 0 && comes_before(item, heap[(at - 1) / 2])) {
    heap[at] = heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  heap[at] = item;
}

static lane heap_pop(lane* heap, size_t* count) {
  const lane top = heap[0];
  const lane item = heap[--*count];
  size_t at = 0;
  for (size_t child = 1; child < *count; child = 2 * at + 1) {
    if (child + 1 < *count && comes_before(heap[child + 1], heap[child])) {
      ++child;
    }
    if (!comes_before(heap[child], item)) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = item;
  return top;
}

// Each slice takes the lowest lane that is free when it starts.
static void trace_lanes(tracing* t, const slice* slices, size_t count,
                        lane* heaps, size_t first_thread) {
  lane* const free_lanes = heaps;
  lane* const used_lanes = heaps + count;
  size_t free_count = 0;
  size_t used_count = 0;
  uint32_t lanes = 0;
  for (size_t i = 0; i < count; ++i) {
    const etx_memory_span span = slices[i].span;
    while (used_count > 0 && used_lanes[0].end <= span.start) {
      lane done = heap_pop(used_lanes, &used_count);
      done.end = 0;
      heap_push(free_lanes, &free_count, done);
    }
    lane next = {span.end, lanes};
    if (free_count > 0) {
      next.number = heap_pop(free_lanes, &free_count).number;
    } else {
      lanes += 1;
    }
    heap_push(used_lanes, &used_count, next);
    trace_slice(t, &slices[i], first_thread + next.number);
  }
  for (uint32_t i = 0; i < lanes; ++i) {
    char text[64];
    const uint64_t arena = slices[0].box->arena;
    const size_t size = etx_format_text(text, sizeof text, "arena %u, lane %u",
                                        arena, (uint64_t)i);
    name_track(t, "thread", first_thread + i, (etx_text){text, size},
               first_thread + i);
  }
}

static void trace_live(tracing* t, const etx_memory_arena* arena) {
  for (uint32_t s = 0; s <= t->method->step_count; ++s) {
    const uint64_t live = s == t->method->step_count ? 0 : arena->live[s];
    if (s > 0 && live == arena->live[s - 1]) continue;
    start_event(t, "C", 0);
    fprintf(t->out,
            ",\"ts\":%u,\"name\":\"arena %u, live bytes\",\"args\":{\"bytes\""
            ":%" PRIu64 "}}",
            (unsigned)s, (unsigned)arena->id, live);
  }
}

static etx_status trace_arena(tracing* t, const etx_memory_arena* arena,
                              size_t first_thread, etx_verify_arena* memory) {
  const etx_memory_box* const boxes = &t->method->boxes[arena->first_box];
  size_t count = 0;
  for (size_t i = 0; i < arena->box_count; ++i) count += boxes[i].span_count;
  slice* const slices = etx_verify_arena_take(memory, count, sizeof *slices);
  lane* const heaps = etx_verify_arena_take(memory, 2 * count, sizeof *heaps);
  if (slices == NULL || heaps == NULL) return ETX_OUT_OF_MEMORY;
  count = 0;
  for (size_t i = 0; i < arena->box_count; ++i) {
    for (size_t s = 0; s < boxes[i].span_count; ++s) {
      slices[count++] = (slice){&boxes[i], boxes[i].spans[s]};
    }
  }
  if (count > 0) qsort(slices, count, sizeof *slices, compare_slices);
  trace_lanes(t, slices, count, heaps, first_thread);
  trace_live(t, arena);
  return ETX_OK;
}

static etx_status trace_method(tracing* t, etx_verify_arena* memory) {
  name_track(t, "process", 0, t->method->name, t->process);
  trace_steps(t);
  for (size_t a = 0; a < t->method->arena_count; ++a) {
    ETX_TRY(trace_arena(t, &t->method->arenas[a], (a + 1) * LANES_PER_ARENA,
                        memory));
  }
  return ETX_OK;
}

etx_status etx_memory_trace_print(const etx_memory_map* map, const char* path,
                                  FILE* out) {
  tracing t = {.map = map, .out = out};
  etx_verify_arena memory = {NULL};
  etx_status status = ETX_OK;
  fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"file\":", out);
  etx_json_string_write(out, etx_text_of(path));
  fputs(",\"time\":\"a step is a microsecond\"},\"traceEvents\":[", out);
  for (size_t i = 0; i < map->method_count && status == ETX_OK; ++i) {
    t.method = &map->methods[i];
    t.process = i + 1;
    status = trace_method(&t, &memory);
  }
  fputs("]}\n", out);
  etx_verify_arena_release(&memory);
  return status;
}
