// Finds the regions of a method from the addresses of its values, and runs
// them.
//
// The thread that runs the method submits all regions of a group but region 0,
// which it runs itself, and waits for the others. A kernel gets a copy of its
// call, with temporary memory and a message of its region. So the method itself
// does not change, and any other loop over the steps can run it.

#include "runtime/regions.h"

#include "format/base/arena.h"
#include "format/base/independent_regions.h"
#include "format/base/reachability.h"
#include "runtime/method/method_types.h"
#include "runtime/run/method_run.h"
#include "runtime/shapes/scratch_compaction.h"

// One region of the group that is running.
typedef struct region_run {
  etx_work work;  // it comes first
  const etx_method* method;
  size_t first, end;  // of the group
  size_t failed;      // first step that failed, if one did
  etx_status status;  // of that step
  uint8_t region;     // its number
  void* temporary;
  etx_diag diag;
} region_run;

struct etx_method_regions {
  const etx_launcher* launcher;
  size_t step_count;     // of the method, when regions were found
  size_t region_limit;   // of runs
  size_t beside_others;  // steps in groups
  uint32_t* group_ends;  // by step; 0: it is in no group
  uint8_t* regions;      // by step
  region_run* runs;
};

// ---- memory ----

// Where the bytes of a tensor are: two accesses in different spaces never meet.
typedef struct step_access {
  const void* space;  // an input, or one of the marks below
  uint32_t block;     // of compacted scratch; ETX_NO_INDEX: none
  uintptr_t start, end;
  uint32_t step;
  bool is_written;
} step_access;

typedef struct regions_layout {
  etx_regions_problem problem;
  uint64_t* costs;
  step_access* accesses;
  size_t access_count;
  struct etx_method_regions* regions;
} regions_layout;

static size_t count_accesses(const etx_method* method) {
  size_t count = 0;
  for (size_t i = 0; i < method->record_count; ++i) {
    const etx_method_record* const record = &method->records[i];
    if (record->kind != ETX_RECORD_KERNEL) continue;
    for (size_t a = 0; a < record->call.argument_count; ++a) {
      const etx_value_span span = etx_call_argument_values(&record->call, a);
      count += (size_t)(span.end - span.at);
    }
  }
  return count;
}

static bool take(etx_arena* arena, size_t count, size_t bytes, void* out) {
  void* block = NULL;
  const bool fits = etx_arena_take_items(arena, count, bytes, &block);
  memcpy(out, &block, sizeof block);
  return fits;
}

static bool take_runs(etx_arena* arena, const etx_method* method,
                      size_t region_limit, region_run** out_runs) {
  bool fits = take(arena, region_limit, sizeof **out_runs, out_runs);
  for (size_t r = 0; r < region_limit; ++r) {
    void* temporary = method->temporary.data;
    if (r > 0) fits &= take(arena, method->temporary.size, 1, &temporary);
    if (*out_runs != NULL) (*out_runs)[r].temporary = temporary;
  }
  return fits;
}

// Takes all arrays, or only counts their bytes.
static bool lay_out(etx_arena* arena, const etx_method* method,
                    size_t region_limit, regions_layout* l) {
  struct etx_method_regions* regions = NULL;
  region_run* runs = NULL;
  const size_t steps = method->record_count;
  memset(l, 0, sizeof *l);
  l->problem.region_limit = region_limit;
  bool fits = take(arena, 1, sizeof *regions, &regions);
  fits &= take_runs(arena, method, region_limit, &runs);
  fits &=
      take(arena, steps, sizeof *l->problem.group_ends, &l->problem.group_ends);
  fits &= take(arena, steps, 1, &l->problem.regions);
  fits &= take(arena, steps, sizeof *l->costs, &l->costs);
  fits &= take(arena, steps, ETX_REGIONS_WORDS * sizeof(uint64_t),
               &l->problem.conflicts);
  fits &= take(arena, steps + 1, sizeof *l->problem.best, &l->problem.best);
  fits &= take(arena, steps + 1, sizeof *l->problem.from, &l->problem.from);
  fits &=
      take(arena, count_accesses(method), sizeof(step_access), &l->accesses);
  // Memory that is smaller than counted is refused before.
  if (arena->counting || ETX_NEVER(!fits)) return fits;
  l->problem.costs = l->costs;
  memset(regions, 0, sizeof *regions);
  regions->region_limit = region_limit;
  regions->group_ends = l->problem.group_ends;
  regions->regions = l->problem.regions;
  regions->runs = runs;
  l->regions = regions;
  return true;
}

// ---- conflicts ----

// Marks of spaces.
static const char scratch_space, state_space;

// Finds where the tensor lies. False: it is not known.
static bool find_access(const etx_method* method,
                        const etx_method_tensor* tensor, step_access* out) {
  if (tensor->root == ETX_NO_INDEX) return false;
  const etx_method_tensor* const root = &method->tensors[tensor->root];
  // A tensor whose sizes or place may change has all bytes of its root.
  const bool is_fixed = !etx_method_is_dynamic(tensor) &&
                        !etx_method_is_dynamic(root) && !tensor->is_rebound;
  const size_t offset = is_fixed ? tensor->root_offset : 0;
  const size_t bytes = is_fixed ? tensor->bytes : root->storage_bytes;
  uintptr_t start = 0;
  out->block = etx_scratch_block_of(method, root);
  switch (root->storage_kind) {
    case ETX_METHOD_STORAGE_SCRATCH:
      out->space = &scratch_space;
      // Blocks move when sizes change, so that only their places in the file
      // show whether they may meet.
      start = out->block != ETX_NO_INDEX ? root->storage_offset
                                         : (uintptr_t)root->storage;
      break;
    case ETX_METHOD_STORAGE_STATE:
      out->space = &state_space;
      start = root->storage_offset;
      break;
    default:
      // An input shares no bytes with other memory, but may have any strides. A
      // constant or a kept value is not written.
      out->space = root;
      out->start = 0;
      out->end = UINTPTR_MAX;
      return true;
  }
  out->start = start + offset;
  out->end = out->start + bytes;
  return true;
}

// Notes what the values of one argument touch. False: it is not known.
static bool note_argument(const etx_method* method,
                          const etx_method_record* record, size_t argument,
                          regions_layout* l) {
  const uint32_t step = (uint32_t)l->problem.count;
  const bool is_written = (record->written >> argument & 1) != 0;
  const etx_value_span span = etx_call_argument_values(&record->call, argument);
  for (const etx_value* const* at = span.at; at != span.end; ++at) {
    if (*at == NULL) continue;
    if ((*at)->kind != ETX_VALUE_TENSOR) continue;  // none that is written
    step_access* const found = &l->accesses[l->access_count];
    if (!find_access(method, etx_method_tensor_of(method, *at), found)) {
      return false;
    }
    found->step = step;
    found->is_written = is_written;
    l->costs[step] += etx_method_tensor_of(method, *at)->bytes;
    ++l->access_count;
  }
  return true;
}

static bool may_meet(const etx_method* method, const step_access* a,
                     const step_access* b) {
  if (a->space != b->space) return false;
  // Only scratch has blocks. A root that is in none has no bytes.
  if (ETX_DYNAMIC && a->block != ETX_NO_INDEX && b->block != ETX_NO_INDEX) {
    const etx_block_relation relation =
        etx_scratch_relation(method, a->block, b->block);
    if (relation != ETX_BLOCKS_TOGETHER) return relation != ETX_BLOCKS_APART;
  }
  return a->start < b->end && b->start < a->end;
}

static void compare_with_earlier(const etx_method* method, regions_layout* l,
                                 size_t first_access) {
  const size_t step = l->problem.count;
  for (size_t i = first_access; i-- > 0;) {
    const step_access* const early = &l->accesses[i];
    if (step - early->step > ETX_REGIONS_WINDOW) return;
    for (size_t k = first_access; k < l->access_count; ++k) {
      const step_access* const late = &l->accesses[k];
      if ((early->is_written || late->is_written) &&
          may_meet(method, early, late)) {
        etx_regions_conflict(&l->problem, early->step, step);
        break;
      }
    }
  }
}

// Adds a step, with its conflicts with earlier steps. Returns false if it must
// run alone.
static bool add_step(const etx_method* method, const etx_method_record* record,
                     regions_layout* l) {
  const size_t first_access = l->access_count;
  l->costs[l->problem.count] = 0;
  if (record->writes_state || record->is_sized_by_data ||
      etx_op_draws_random_numbers(record->call.op)) {
    return false;
  }
  for (size_t a = 0; a < record->call.argument_count; ++a) {
    if (!note_argument(method, record, a, l)) return false;
  }
  compare_with_earlier(method, l, first_access);
  return true;
}

static void find(const etx_method* method, regions_layout* l) {
  struct etx_method_regions* const regions = l->regions;
  const size_t steps = method->step_count;
  // The longest possible list, so that a step that runs alone can be noted when
  // it is found.
  memset(l->problem.conflicts, 0, steps * ETX_REGIONS_WORDS * sizeof(uint64_t));
  for (size_t i = 0; i < steps; ++i) {
    l->problem.count = i;
    if (add_step(method, etx_record_of_call(method->steps[i].call), l)) {
      continue;
    }
    l->problem.count = steps;
    etx_regions_isolate(&l->problem, i);
  }
  l->problem.count = steps;
  etx_regions_find(&l->problem);
  regions->step_count = steps;
  for (size_t i = 0; i < steps; ++i) {
    if (regions->group_ends[i] != 0) ++regions->beside_others;
  }
}

// ---- runs ----

static void run_region(region_run* run) {
  const etx_method* const method = run->method;
  const uint8_t* const regions = method->regions->regions;
  for (size_t i = run->first; i < run->end; ++i) {
    if (regions[i] != run->region) continue;
    etx_call call = *method->steps[i].call;
    call.temporary = run->temporary;
    call.diag = &run->diag;
    run->status = method->steps[i].run(&call);
    if (run->status == ETX_OK) continue;
    run->failed = i;
    return;
  }
}

static void run_submitted(etx_work* work) {
  run_region((region_run*)(void*)work);
  __atomic_store_n(&work->state, ETX_WORK_DONE, __ATOMIC_SEQ_CST);
}

static void start_region(const struct etx_method_regions* all,
                         const etx_method* method, size_t region,
                         size_t first) {
  region_run* const run = &all->runs[region];
  run->method = method;
  run->first = first;
  run->end = all->group_ends[first];
  run->status = ETX_OK;
  run->region = (uint8_t)region;
  etx_diag_init(&run->diag);
  if (region == 0) return;
  run->work.run = run_submitted;
  __atomic_store_n(&run->work.state, ETX_WORK_PENDING, __ATOMIC_RELEASE);
  if (!all->launcher->submit(all->launcher->context, &run->work)) {
    run_submitted(&run->work);
  }
}

// Runs the group that begins at `first`. Returns the first step that failed, or
// the group's end.
static size_t run_group(const etx_method* method, size_t first,
                        etx_status* out_status) {
  const struct etx_method_regions* const all = method->regions;
  const size_t end = all->group_ends[first];
  const region_run* failed = NULL;
  for (size_t r = all->region_limit; r-- > 0;) {
    start_region(all, method, r, first);
  }
  run_region(&all->runs[0]);
  for (size_t r = 0; r < all->region_limit; ++r) {
    region_run* const run = &all->runs[r];
    if (r > 0 && !etx_work_is_done(&run->work)) {
      all->launcher->wait(all->launcher->context, &run->work);
    }
    if (run->status == ETX_OK) continue;
    if (failed == NULL || run->failed < failed->failed) failed = run;
  }
  if (failed == NULL) return end;
  *out_status = failed->status;
  *method->kernel_diag = failed->diag;
  return failed->failed;
}

// A step that writes state is in no group, so no group goes beyond `limit`.
static size_t run_range_regions(const etx_method* method, size_t first,
                                size_t limit, etx_status* out_status) {
  const struct etx_method_regions* const all = method->regions;
  if (method->step_count != all->step_count) {
    return etx_method_run_range(method, first, limit, out_status);
  }
  for (size_t i = first; i < limit;) {
    const size_t end = all->group_ends[i];
    if (end == 0) {
      *out_status = method->steps[i].run(method->steps[i].call);
      if (*out_status != ETX_OK) return i;
      ++i;
      continue;
    }
    const size_t reached = run_group(method, i, out_status);
    if (reached != end) return reached;
    i = end;
  }
  return limit;
}

// ---- the functions ----

static etx_status count_needed(const etx_method* method, size_t region_limit,
                               size_t* out_bytes, etx_diag* diag) {
  etx_arena arena;
  regions_layout l;
  if (region_limit < 1 || region_limit > ETX_REGIONS_MOST) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "%z regions at a time, expected 1 to %z", region_limit,
                         (size_t)ETX_REGIONS_MOST);
  }
  etx_arena_init_counting(&arena);
  if (!lay_out(&arena, method, region_limit, &l)) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "the regions of method '%t' need more bytes than this "
                         "machine can address",
                         etx_pte_plan_name(&method->plan));
  }
  *out_bytes = arena.used_bytes;
  return ETX_OK;
}

etx_status etx_method_regions_needed(const etx_method* method,
                                     size_t region_limit, size_t* out_bytes,
                                     etx_diag* diag) {
  return etx_diag_seal(diag,
                       count_needed(method, region_limit, out_bytes, diag));
}

static etx_status use_regions(etx_method* method, const etx_launcher* launcher,
                              size_t region_limit, etx_bytes_mut memory,
                              etx_diag* diag) {
  size_t needed = 0;
  etx_arena arena;
  regions_layout l;
  ETX_TRY(count_needed(method, region_limit, &needed, diag));
  if (memory.size < needed) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "the regions of method '%t' need %z bytes, %z were "
                         "given",
                         etx_pte_plan_name(&method->plan), needed, memory.size);
  }
  if ((uintptr_t)memory.data % ETX_MEMORY_ALIGNMENT != 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "the memory of regions is not aligned to %z bytes",
                         (size_t)ETX_MEMORY_ALIGNMENT);
  }
  if (method->observer != NULL || (ETX_DYNAMIC && method->variants != NULL) ||
      etx_method_has_flow(method)) {
    return ETX_OK;
  }
  if (!method->is_prepared) {
    return etx_diag_fail(diag, ETX_BAD_STATE,
                         "method '%t' must be prepared before its regions can "
                         "be found",
                         etx_pte_plan_name(&method->plan));
  }
  etx_arena_init(&arena, memory.data, memory.size);
  const bool fits = lay_out(&arena, method, region_limit, &l);
  if (ETX_NEVER(!fits)) return ETX_INTERNAL;  // as above
  l.regions->launcher = launcher;
  find(method, &l);
  method->regions = l.regions;
  method->run_range = run_range_regions;
  return ETX_OK;
}

etx_status etx_method_use_regions(etx_method* method,
                                  const etx_launcher* launcher,
                                  size_t region_limit, etx_bytes_mut memory,
                                  etx_diag* diag) {
  etx_status status = etx_method_enter(method, diag);
  if (status == ETX_OK) {
    status = use_regions(method, launcher, region_limit, memory, diag);
    etx_method_leave(method);
  }
  return etx_diag_seal(diag, status);
}

static bool uses_regions(const etx_method* method) {
  return method->run_range == run_range_regions;
}

size_t etx_method_region_steps(const etx_method* method) {
  return uses_regions(method) ? method->regions->beside_others : 0;
}

bool etx_method_region_step_at(const etx_method* method, size_t step,
                               etx_region_step* out_step) {
  if (!uses_regions(method) || step >= method->regions->step_count ||
      method->regions->step_count != method->step_count) {
    return false;
  }
  const etx_method_record* const record =
      etx_record_of_call(method->steps[step].call);
  *out_step =
      (etx_region_step){.instruction = (size_t)(record - method->records),
                        .group_end = method->regions->group_ends[step],
                        .region = method->regions->regions[step]};
  return true;
}

etx_bytes_mut etx_method_region_temporary(const etx_method* method,
                                          size_t region) {
  const etx_bytes_mut none = {NULL, 0};
  if (!uses_regions(method) || region >= method->regions->region_limit) {
    return none;
  }
  const etx_bytes_mut memory = {method->regions->runs[region].temporary,
                                method->temporary.size};
  return memory.size == 0 ? none : memory;
}
