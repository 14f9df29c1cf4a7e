// The map as JSON. Boxes are rows without keys, since there may be many:
//
//   [value, kind, roles, arena, offset, bytes, name, type,
//    views, spans, reads, writes]
//
// `roles` is a sum: 1 for an input, 2 for an output, 4 for dynamic sizes. Spans
// are start, end, start, end, ...

#include <inttypes.h>

#include "cli/tensors/host_tensor.h"
#include "cli/json/json_string.h"
#include "cli/memory/memory_formats.h"
#include "cli/program/instruction_source.h"

enum { ROLE_INPUT = 1, ROLE_OUTPUT = 2, ROLE_VARIES = 4 };

// "operators" lists the operators of the method, then these, then delegates.
enum { OTHER_MOVE, OTHER_JUMP, OTHER_FREE, OTHER_COUNT };
static const char* const others[OTHER_COUNT] = {"move", "jump", "free"};

static void put_operator(const etx_pte_operator* op, FILE* out) {
  char text[256];
  const size_t size =
      etx_format_text(text, sizeof text, "%t%s%t", op->name,
                      op->overload.size > 0 ? "." : "", op->overload);
  etx_json_string_write(out, (etx_text){text, size});
}

static void put_operators(const etx_pte_plan* plan, FILE* out) {
  const size_t count = etx_pte_operator_count(plan);
  fputs("\"operators\":[", out);
  for (size_t i = 0; i < count; ++i) {
    const etx_pte_operator op = etx_pte_operator_at(plan, i);
    put_operator(&op, out);
    fputc(',', out);
  }
  for (size_t i = 0; i < OTHER_COUNT; ++i) {
    fprintf(out, "%s\"%s\"", i == 0 ? "" : ",", others[i]);
  }
  for (size_t i = 0; i < etx_pte_delegate_count(plan); ++i) {
    fputc(',', out);
    etx_json_string_write(out, etx_pte_delegate_at(plan, i).id);
  }
  fputc(']', out);
}

static size_t operator_of(const etx_pte_plan* plan,
                          const etx_pte_instruction* at) {
  const size_t count = etx_pte_operator_count(plan);
  switch (at->kind) {
    case ETX_PTE_KERNEL_CALL:
      return (size_t)at->index;
    case ETX_PTE_MOVE_CALL:
      return count + OTHER_MOVE;
    case ETX_PTE_JUMP_FALSE_CALL:
      return count + OTHER_JUMP;
    case ETX_PTE_FREE_CALL:
      return count + OTHER_FREE;
    case ETX_PTE_DELEGATE_CALL:
      break;
  }
  return count + OTHER_COUNT + (size_t)at->index;
}

static void put_steps(const etx_verify_method* m, FILE* out) {
  const char* comma = "";
  fputs(",\"steps\":[", out);
  for (size_t s = 0; s < m->step_count; ++s) {
    fprintf(out, "%s%zu", s == 0 ? "" : ",",
            operator_of(&m->plan, &m->steps[s].instruction));
  }
  fputs("],\"jumps\":[", out);
  for (size_t s = 0; s < m->step_count; ++s) {
    if (m->steps[s].instruction.kind != ETX_PTE_JUMP_FALSE_CALL) continue;
    fprintf(out, "%s[%zu,%u]", comma, s, (unsigned)m->steps[s].target);
    comma = ",";
  }
  fputs("]", out);
}

// The source line of each step, if the program has a source map.
static void put_sources(const etx_instruction_source* notes,
                        const etx_memory_method* method, FILE* out) {
  if (!notes->has_any) return;
  fputs(",\"sources\":[", out);
  for (size_t s = 0; s < method->program->step_count; ++s) {
    char text[ETX_INSTRUCTION_SOURCE_TEXT_BYTES];
    (void)etx_instruction_source_text(notes, method->name, s, text);
    fputs(s == 0 ? "\n" : ",\n", out);
    etx_json_string_write(out, etx_text_of(text));
  }
  fputs("]", out);
}

static void put_arenas(const etx_memory_method* method, FILE* out) {
  fputs(",\"arenas\":[", out);
  for (size_t i = 0; i < method->arena_count; ++i) {
    const etx_memory_arena* const arena = &method->arenas[i];
    fprintf(out,
            "%s{\"id\":%u,\"bytes\":%" PRIu64 ",\"floor\":%" PRIu64
            ",\"state\":%s,\"bound\":%" PRIu64 ",\"peak\":%" PRIu64
            ",\"peak_step\":%u}",
            i == 0 ? "" : ",", (unsigned)arena->id, arena->bytes, arena->floor,
            arena->holds_state ? "true" : "false", arena->bound,
            arena->peak_bytes, (unsigned)arena->peak_step);
  }
  fputs("]", out);
}

static void put_uses(const etx_memory_box* box, bool is_write, FILE* out) {
  const char* comma = "";
  fputs(",[", out);
  for (size_t i = 0; i < box->use_count; ++i) {
    if (box->uses[i].is_write != is_write) continue;
    fprintf(out, "%s%u", comma, (unsigned)box->uses[i].step);
    comma = ",";
  }
  fputc(']', out);
}

static void put_box(const etx_memory_method* method, const etx_memory_box* box,
                    FILE* out) {
  const etx_pte_tensor tensor = etx_memory_tensor(method, box);
  const int roles = (box->is_input ? ROLE_INPUT : 0) |
                    (box->is_output ? ROLE_OUTPUT : 0) |
                    (tensor.dynamism == ETX_PTE_STATIC ? 0 : ROLE_VARIES);
  fprintf(out, "[%u,%d,%d,%u,%" PRIu64 ",%" PRIu64 ",", (unsigned)box->value,
          (int)box->kind, roles, (unsigned)box->arena, box->offset, box->bytes);
  etx_json_string_write(out, box->name);
  fputs(",\"", out);
  etx_host_tensor_print_type(tensor.dtype, tensor.rank, tensor.sizes, out);
  fputs("\",[", out);
  for (size_t i = 0; i < box->view_count; ++i) {
    fprintf(out, "%s%u", i == 0 ? "" : ",", (unsigned)box->views[i]);
  }
  fputs("],[", out);
  for (size_t i = 0; i < box->span_count; ++i) {
    fprintf(out, "%s%u,%u", i == 0 ? "" : ",", (unsigned)box->spans[i].start,
            (unsigned)box->spans[i].end);
  }
  fputc(']', out);
  put_uses(box, false, out);
  put_uses(box, true, out);
  fputc(']', out);
}

static void put_method(const etx_memory_method* method,
                       const etx_instruction_source* notes, FILE* out) {
  fputs("{\"name\":", out);
  etx_json_string_write(out, method->name);
  fprintf(out, ",\"columns\":%u,\"guessed\":%zu,", (unsigned)method->step_count,
          method->guessed_count);
  put_operators(&method->program->plan, out);
  put_steps(method->program, out);
  put_sources(notes, method, out);
  put_arenas(method, out);
  fputs(",\"boxes\":[", out);
  for (size_t i = 0; i < method->box_count; ++i) {
    fputs(i == 0 ? "\n" : ",\n", out);
    put_box(method, &method->boxes[i], out);
  }
  fputs("]}", out);
}

void etx_memory_json_print(const etx_memory_map* map, const char* path,
                           FILE* out) {
  etx_instruction_source notes;
  etx_instruction_source_open(&notes, &map->pte, "mem", path);
  fputs("{\"file\":", out);
  etx_json_string_write(out, etx_text_of(path));
  fprintf(out, ",\"bytes\":%zu,\"stock\":%s,\"kinds\":[", map->pte.file.size,
          map->is_stock ? "true" : "false");
  for (int kind = 0; kind < ETX_MEMORY_KIND_COUNT; ++kind) {
    fprintf(out, "%s[\"%s\",\"%s\"]", kind == 0 ? "" : ",",
            etx_memory_kind_name((etx_memory_kind)kind),
            etx_memory_kind_sentence((etx_memory_kind)kind));
  }
  fputs("],\"methods\":[", out);
  for (size_t i = 0; i < map->method_count; ++i) {
    fputs(i == 0 ? "\n" : ",\n", out);
    put_method(&map->methods[i], &notes, out);
  }
  fputs("]}\n", out);
}
