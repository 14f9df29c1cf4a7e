#include "cli/memory/memory_map.h"

#include <stdlib.h>
#include <string.h>

#include "cli/memory/memory_liveness.h"
#include "cli/memory/memory_uses.h"
#include "planner/problem/plan_bound.h"
#include "planner/problem/plan_check.h"

static const char* const kind_names[] = {
#define KIND(symbol, name, sentence) name,
#include "cli/memory/memory_kinds.def"
#undef KIND
};

static const char* const kind_sentences[] = {
#define KIND(symbol, name, sentence) sentence,
#include "cli/memory/memory_kinds.def"
#undef KIND
};

const char* etx_memory_kind_name(etx_memory_kind kind) {
  return kind_names[kind];
}

const char* etx_memory_kind_sentence(etx_memory_kind kind) {
  return kind_sentences[kind];
}

// The map of one method while it is built.
typedef struct building {
  etx_memory_method* method;
  etx_verify_method* m;
  etx_memory_uses uses;
  etx_memory_live_range* spans;
  size_t span_count;
  etx_memory_box* box_of;  // by storage
  uint64_t* nothing;       // by step: 0, the live bytes of an empty arena
} building;

static void* take(const building* b, size_t count, size_t item_bytes) {
  return etx_verify_arena_take(b->m->memory, count, item_bytes);
}

// ---- boxes ----

static etx_memory_kind kind_of(const etx_memory_storage* storage) {
  switch (storage->kind) {
    case ETX_VERIFY_STORAGE_CONSTANT:
      return ETX_MEMORY_KIND_CONSTANT;
    case ETX_VERIFY_STORAGE_PLANNED:
      return storage->is_state ? ETX_MEMORY_KIND_STATE
                               : ETX_MEMORY_KIND_SCRATCH;
    default:
      return ETX_MEMORY_KIND_CALLER;
  }
}

static etx_text port_name(const building* b,
                          const etx_memory_storage* storage) {
  const etx_verify_method* const m = b->m;
  const etx_text none = {NULL, 0};
  if (m->blob_method == SIZE_MAX) return none;
  for (size_t i = 0; storage->is_input && i < etx_pte_input_count(&m->plan);
       ++i) {
    if ((uint32_t)etx_pte_input_at(&m->plan, i) != storage->value) continue;
    return etx_blob_input_at(m->blob, m->blob_method, i).name;
  }
  for (size_t i = 0; storage->is_output && i < etx_pte_output_count(&m->plan);
       ++i) {
    const int32_t v = etx_pte_output_at(&m->plan, i);
    if (&b->uses.storages[b->uses.storage_of[v]] != storage) continue;
    return etx_blob_output_at(m->blob, m->blob_method, i).name;
  }
  return none;
}

// The name of a storage may be that of one of its views.
static etx_text name_of(const building* b, const etx_memory_storage* storage) {
  etx_text name = etx_pte_value_at(&b->m->plan, storage->value).as.tensor.name;
  for (uint32_t i = 0; name.size == 0 && i < storage->view_count; ++i) {
    const uint32_t view = b->uses.views[storage->first_view + i];
    name = etx_pte_value_at(&b->m->plan, view).as.tensor.name;
  }
  return name.size > 0 ? name : port_name(b, storage);
}

static etx_status copy_uses(const building* b,
                            const etx_memory_storage* storage,
                            etx_memory_box* box) {
  etx_memory_use* const uses = take(b, storage->use_count, sizeof *uses);
  if (uses == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < storage->use_count; ++i) {
    const etx_memory_access* const access =
        &b->uses.accesses[b->uses.by_storage[storage->first_use + i]];
    const etx_memory_use use = {access->step, access->is_write};
    const etx_memory_use* const last =
        box->use_count == 0 ? NULL : &uses[box->use_count - 1];
    if (last != NULL && last->step == use.step &&
        last->is_write == use.is_write) {
      continue;
    }
    uses[box->use_count++] = use;
  }
  box->uses = uses;
  return ETX_OK;
}

static etx_status make_box(const building* b, const etx_memory_storage* storage,
                           etx_memory_box* box) {
  const etx_pte_tensor tensor =
      etx_pte_value_at(&b->m->plan, storage->value).as.tensor;
  box->value = storage->value;
  box->kind = kind_of(storage);
  box->is_input = storage->is_input;
  box->is_output = storage->is_output;
  box->arena = tensor.has_allocation ? tensor.memory_id : 0;
  box->offset = tensor.has_allocation ? tensor.memory_offset : 0;
  box->bytes = etx_pte_tensor_bytes(&tensor);
  box->name = name_of(b, storage);
  box->views = &b->uses.views[storage->first_view];
  box->view_count = storage->view_count;
  return copy_uses(b, storage, box);
}

// States, constants and memory of the caller are live during the whole method.
static bool is_always_live(const etx_memory_box* box) {
  return box->kind != ETX_MEMORY_KIND_SCRATCH &&
         (box->kind == ETX_MEMORY_KIND_STATE || box->use_count > 0 ||
          box->is_input || box->is_output);
}

static etx_status assign_spans(building* b) {
  etx_memory_span* const spans =
      take(b, b->span_count + b->uses.storage_count, sizeof *spans);
  size_t next = 0;
  if (spans == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < b->span_count; ++i) {
    b->box_of[b->spans[i].storage].span_count += 1;
  }
  for (size_t p = 0; p < b->uses.storage_count; ++p) {
    etx_memory_box* const box = &b->box_of[p];
    const size_t count = box->span_count;
    box->spans = &spans[next];
    if (is_always_live(box)) {
      spans[next++] = (etx_memory_span){0, b->method->step_count};
      box->span_count = 1;
    } else {
      box->span_count = 0;
      next += count;
    }
  }
  for (size_t i = 0; i < b->span_count; ++i) {
    etx_memory_box* const box = &b->box_of[b->spans[i].storage];
    const size_t first = (size_t)(box->spans - spans);
    spans[first + box->span_count++] = b->spans[i].span;
  }
  return ETX_OK;
}

static uint32_t first_start(const etx_memory_box* box) {
  return box->span_count == 0 ? UINT32_MAX : box->spans[0].start;
}

static int compare_boxes(const void* left, const void* right) {
  const etx_memory_box* const a = left;
  const etx_memory_box* const b = right;
  if (a->arena != b->arena) return a->arena < b->arena ? -1 : 1;
  if (first_start(a) != first_start(b)) {
    return first_start(a) < first_start(b) ? -1 : 1;
  }
  if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
  return a->value < b->value ? -1 : 1;
}

static etx_status make_boxes(building* b) {
  const size_t storages = b->uses.storage_count;
  b->box_of = take(b, storages, sizeof *b->box_of);
  if (b->box_of == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t p = 0; p < storages; ++p) {
    ETX_TRY(make_box(b, &b->uses.storages[p], &b->box_of[p]));
  }
  ETX_TRY(assign_spans(b));
  if (storages > 0)
    qsort(b->box_of, storages, sizeof *b->box_of, compare_boxes);
  b->method->boxes = b->box_of;
  b->method->box_count = storages;
  return ETX_OK;
}

// ---- arenas ----

static etx_status count_live(const building* b, etx_memory_arena* arena) {
  const uint32_t steps = b->method->step_count;
  uint64_t* const live = take(b, (size_t)steps + 1, sizeof *live);
  if (live == NULL) return ETX_OUT_OF_MEMORY;
  // Differences first. They may wrap around; the sums do not.
  for (size_t i = 0; i < arena->box_count; ++i) {
    const etx_memory_box* const box = &b->method->boxes[arena->first_box + i];
    for (size_t s = 0; s < box->span_count; ++s) {
      live[box->spans[s].start] += box->bytes;
      live[box->spans[s].end] -= box->bytes;
    }
  }
  for (uint32_t s = 0; s < steps; ++s) {
    if (s > 0) live[s] += live[s - 1];
    if (live[s] <= arena->peak_bytes) continue;
    arena->peak_bytes = live[s];
    arena->peak_step = s;
  }
  arena->live = live;
  return ETX_OK;
}

static etx_status bound_blocks(const building* b,
                               const etx_plan_problem* problem,
                               uint64_t* out_bytes) {
  etx_arena work;
  etx_diag why;
  etx_diag_init(&why);
  if (etx_plan_check(problem, &why) != ETX_OK) return ETX_OK;
  etx_arena_init_counting(&work);
  if (etx_plan_bound(problem, &work, out_bytes) != ETX_OK) {
    return ETX_OUT_OF_MEMORY;
  }
  const size_t bytes = work.peak_bytes;
  etx_arena_init(&work, take(b, bytes, 1), bytes);
  return work.base == NULL ? ETX_OUT_OF_MEMORY
                           : etx_plan_bound(problem, &work, out_bytes);
}

// The largest power of two, at most 16, that divides all offsets.
static uint64_t alignment_of(const etx_memory_box* boxes, size_t count) {
  uint64_t all = 16;
  for (size_t i = 0; i < count; ++i) all |= boxes[i].offset;
  return all & (~all + 1);
}

// The planner's lower bound for the spans of an arena. If the problem is not
// valid for the planner, the bound is the live bytes at the peak.
static etx_status find_bound(const building* b, etx_memory_arena* arena) {
  const etx_memory_box* const boxes = &b->method->boxes[arena->first_box];
  const uint64_t alignment = alignment_of(boxes, arena->box_count);
  size_t count = 0;
  for (size_t i = 0; i < arena->box_count; ++i) count += boxes[i].span_count;
  etx_plan_block* const blocks = take(b, count, sizeof *blocks);
  if (blocks == NULL) return ETX_OUT_OF_MEMORY;
  etx_plan_problem problem = {.blocks = blocks};
  for (size_t i = 0; i < arena->box_count; ++i) {
    for (size_t s = 0; s < boxes[i].span_count; ++s) {
      blocks[problem.block_count++] =
          (etx_plan_block){.size = boxes[i].bytes,
                           .alignment = alignment,
                           .start = boxes[i].spans[s].start,
                           .end = boxes[i].spans[s].end,
                           .fixed = ETX_PLAN_FREE};
    }
  }
  arena->bound = arena->peak_bytes;
  return bound_blocks(b, &problem, &arena->bound);
}

static bool holds_state(const etx_memory_box* boxes, size_t count) {
  bool has_state = false;
  for (size_t i = 0; i < count; ++i) {
    if (boxes[i].span_count == 0) continue;
    if (boxes[i].kind != ETX_MEMORY_KIND_STATE) return false;
    has_state = true;
  }
  return has_state;
}

static etx_status make_arena(const building* b, etx_memory_arena* arena) {
  etx_memory_method* const method = b->method;
  while (arena->first_box + arena->box_count < method->box_count &&
         method->boxes[arena->first_box + arena->box_count].arena ==
             arena->id) {
    arena->box_count += 1;
  }
  arena->holds_state =
      holds_state(&method->boxes[arena->first_box], arena->box_count);
  if (arena->box_count == 0) {
    arena->live = b->nothing;
    return ETX_OK;
  }
  arena->floor = method->boxes[arena->first_box].offset;
  for (size_t i = 1; i < arena->box_count; ++i) {
    const uint64_t offset = method->boxes[arena->first_box + i].offset;
    if (offset < arena->floor) arena->floor = offset;
  }
  ETX_TRY(count_live(b, arena));
  return find_bound(b, arena);
}

// Boxes are sorted by arena, so each arena's begin where the last one's ended.
static etx_status make_arenas(building* b) {
  etx_memory_method* const method = b->method;
  const size_t count = etx_pte_buffer_size_count(&b->m->plan);
  size_t box = 0;
  method->arenas = take(b, count, sizeof *method->arenas);
  b->nothing = take(b, method->step_count, sizeof *b->nothing);
  if (method->arenas == NULL || b->nothing == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t id = 1; id < count; ++id) {
    const int64_t bytes = etx_pte_buffer_size_at(&b->m->plan, id);
    etx_memory_arena* const arena = &method->arenas[method->arena_count];
    if (bytes <= 0) continue;
    while (box < method->box_count && method->boxes[box].arena < id) ++box;
    arena->id = (uint32_t)id;
    arena->bytes = (uint64_t)bytes;
    arena->first_box = box;
    ETX_TRY(make_arena(b, arena));
    method->arena_count += 1;
  }
  return ETX_OK;
}

// ---- methods ----

static etx_status read_method(etx_memory_map* map, size_t index,
                              etx_diag* diag) {
  building b;
  memset(&b, 0, sizeof b);
  b.method = &map->methods[index];
  b.m = etx_verify_arena_take(&map->memory, 1, sizeof *b.m);
  if (b.m == NULL) return ETX_OUT_OF_MEMORY;
  etx_verify_method_init(b.m, &map->pte, map->is_stock ? NULL : &map->blob,
                         index, &map->memory, diag);
  b.m->takes_unknown = true;
  ETX_TRY(etx_verify_assign_addresses(b.m));
  ETX_TRY(etx_verify_find_steps(b.m));
  ETX_TRY(etx_memory_uses_find(b.m, &b.uses));
  ETX_TRY(etx_memory_liveness_find(b.m, &b.uses, &b.spans, &b.span_count));
  b.method->name = b.m->name;
  b.method->program = b.m;
  b.method->step_count = b.m->step_count == 0 ? 1 : (uint32_t)b.m->step_count;
  b.method->guessed_count = b.uses.guessed_count;
  ETX_TRY(make_boxes(&b));
  return make_arenas(&b);
}

static etx_status open_program(etx_memory_map* map, etx_bytes file,
                               etx_diag* diag) {
  ETX_TRY(etx_pte_open(&map->pte, file, NULL, diag));
  const etx_status found = etx_blob_open(&map->blob, &map->pte, diag);
  map->is_stock = found == ETX_NOT_FOUND;
  return map->is_stock ? ETX_OK : found;
}

etx_status etx_memory_map_read(etx_memory_map* map, etx_bytes file,
                               etx_diag* diag) {
  memset(map, 0, sizeof *map);
  ETX_TRY(open_program(map, file, diag));
  map->method_count = etx_pte_plan_count(&map->pte);
  map->methods = etx_verify_arena_take(&map->memory, map->method_count,
                                       sizeof *map->methods);
  if (map->methods == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < map->method_count; ++i) {
    ETX_TRY(read_method(map, i, diag));
  }
  return ETX_OK;
}

void etx_memory_map_close(etx_memory_map* map) {
  etx_verify_arena_release(&map->memory);
}

// ---- queries ----

static etx_text kernel_name(const etx_verify_method* m, int32_t index,
                            char* out, size_t capacity) {
  const etx_pte_operator op = etx_pte_operator_at(&m->plan, (size_t)index);
  const size_t size =
      etx_format_text(out, capacity, "%t%s%t", op.name,
                      op.overload.size > 0 ? "." : "", op.overload);
  return (etx_text){out, size < capacity ? size : capacity - 1};
}

etx_text etx_memory_step_name(const etx_memory_method* method, uint32_t step,
                              char* out, size_t capacity) {
  const etx_verify_method* const m = method->program;
  if (step >= m->step_count) return (etx_text){NULL, 0};
  const etx_pte_instruction* const at = &m->steps[step].instruction;
  switch (at->kind) {
    case ETX_PTE_KERNEL_CALL:
      return kernel_name(m, at->index, out, capacity);
    case ETX_PTE_DELEGATE_CALL:
      return etx_pte_delegate_at(&m->plan, (size_t)at->index).id;
    case ETX_PTE_MOVE_CALL:
      return etx_text_of("move");
    case ETX_PTE_JUMP_FALSE_CALL:
      return etx_text_of("jump");
    case ETX_PTE_FREE_CALL:
      return etx_text_of("free");
  }
  return (etx_text){NULL, 0};
}

uint32_t etx_memory_first_write(const etx_memory_box* box) {
  for (size_t i = 0; i < box->use_count; ++i) {
    if (box->uses[i].is_write) return box->uses[i].step;
  }
  return ETX_VERIFY_NONE;
}

etx_pte_tensor etx_memory_tensor(const etx_memory_method* method,
                                 const etx_memory_box* box) {
  return etx_pte_value_at(&method->program->plan, box->value).as.tensor;
}
