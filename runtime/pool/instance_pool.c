// A pool of instances.
//
//   memory   | words | links | slots | instance 0 | instance 1 | ...
//   instance | session | methods | scratch | temporary | structures ... |
//
// The structures of a method's variants follow its own.
//
// Slots and instances begin on lines of the cache, so that threads with
// different instances never write the same line. In a stock file, which may
// keep state in private arenas, each method has a block of scratch of its own,
// in front of its structures.
//
// The free instances are a stack of indices (index_stack.h), whose word also
// has their number, so that the count of instances in use is exact.
//
// A slot's ticket is odd while its instance is out. Only the thread that swaps
// it from the lease's ticket to the next even number puts the instance back.

#include "runtime/pool/instance_pool.h"

#include "format/base/checked_math.h"
#include "format/pte/reserved_names.h"
#include "runtime/pool/index_stack.h"
#include "runtime/variants.h"

// Words that several threads write lie two lines of the cache apart, because
// processors fetch lines in pairs.
enum { APART = 128 };

struct etx_instance_pool_words {
  etx_index_stack stack;  // of free instances
  uint8_t apart_before_empties[APART - sizeof(etx_index_stack)];
  uint64_t empties;      // atomic
  uint32_t most_in_use;  // atomic
};

struct etx_instance_pool_slot {
  _Alignas(ETX_INSTANCE_POOL_ALIGNMENT) uint64_t ticket;  // atomic
  etx_method* methods;
  size_t method_count;
  etx_shared_memory session;
};

// ---- memory ----

// Takes memory from a block, or only counts it if `base` is NULL.
typedef struct pool_layout {
  const etx_program* program;
  const etx_instance_pool_options* options;
  const etx_missing_sink* missing;
  uint8_t* base;
  size_t used;
  bool is_too_large;  // for this machine
} pool_layout;

static etx_bytes_mut take(pool_layout* layout, size_t bytes, size_t alignment) {
  size_t start = 0;
  etx_bytes_mut part = {NULL, bytes};
  if (!etx_align_up(layout->used, alignment, &start) ||
      !etx_add_size(start, bytes, &layout->used)) {
    layout->is_too_large = true;
    return part;
  }
  if (layout->base != NULL) part.data = layout->base + start;
  return part;
}

static bool is_loaded_by_default(const etx_method_info* info) {
  return !info->is_constant && !etx_text_is(info->name, ETX_METHOD_INIT) &&
         !etx_text_is(info->name, ETX_METHOD_BUFFER_NAMES) &&
         !etx_text_is(info->name, ETX_METHOD_BUFFER_PLAN);
}

// The name of the method to load after those that `cursor` has passed. Returns
// false at the end.
static bool next_method(const pool_layout* layout, size_t* cursor,
                        etx_text* out_name) {
  const etx_instance_pool_options* const options = layout->options;
  etx_method_info info;
  if (options->methods != NULL) {
    if (*cursor == options->method_count) return false;
    *out_name = options->methods[(*cursor)++];
    return true;
  }
  while (etx_program_method_at(layout->program, *cursor, &info) == ETX_OK) {
    ++*cursor;
    *out_name = info.name;
    if (is_loaded_by_default(&info)) return true;
  }
  return false;
}

// The number of methods, and the largest blocks that any of them, or of their
// variants, needs.
static etx_status find_largest(const pool_layout* layout, size_t* out_count,
                               etx_memory_needed* out_largest, etx_diag* diag) {
  size_t cursor = 0;
  etx_text name;
  *out_count = 0;
  memset(out_largest, 0, sizeof *out_largest);
  while (next_method(layout, &cursor, &name)) {
    etx_memory_needed needed;
    size_t variants = 0;
    ETX_TRY(etx_method_variants_needed(layout->program, name, &variants,
                                       &needed, diag));
    ++*out_count;
    if (needed.scratch_bytes > out_largest->scratch_bytes) {
      out_largest->scratch_bytes = needed.scratch_bytes;
    }
    if (needed.temporary_bytes > out_largest->temporary_bytes) {
      out_largest->temporary_bytes = needed.temporary_bytes;
    }
  }
  if (*out_count <= UINT32_MAX / sizeof(etx_method)) return ETX_OK;
  return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                       "a pool cannot load %z methods in each instance",
                       *out_count);
}

// Takes the session and the blocks that the methods of an instance share.
// `slot` is used only if the layout has memory.
static etx_status start_instance(pool_layout* layout,
                                 struct etx_instance_pool_slot* slot,
                                 etx_method_memory* out_shared,
                                 etx_diag* diag) {
  const etx_program* const program = layout->program;
  size_t session_bytes = 0;
  size_t count = 0;
  etx_memory_needed largest;
  memset(out_shared, 0, sizeof *out_shared);
  ETX_TRY(find_largest(layout, &count, &largest, diag));
  if (etx_shared_memory_needed(program, &session_bytes) != ETX_OK) {
    layout->is_too_large = true;
  }
  const etx_bytes_mut session =
      take(layout, session_bytes, ETX_INSTANCE_POOL_ALIGNMENT);
  const etx_bytes_mut methods =
      take(layout, count * sizeof(etx_method), ETX_INSTANCE_POOL_ALIGNMENT);
  if (program->has_blob) {
    out_shared->scratch =
        take(layout, largest.scratch_bytes, ETX_MEMORY_ALIGNMENT);
  }
  out_shared->temporary =
      take(layout, largest.temporary_bytes, ETX_MEMORY_ALIGNMENT);
  if (layout->base == NULL) return ETX_OK;
  memset(slot, 0, sizeof *slot);
  slot->methods = (etx_method*)(void*)methods.data;
  slot->method_count = count;
  out_shared->state = &slot->session.planned;
  return layout->options->is_zeroed
             ? etx_shared_memory_init_zeroed(&slot->session, program, session,
                                             diag)
             : etx_shared_memory_init(&slot->session, program, session, diag);
}

// Takes the structures of the method's variants and, if the layout has memory,
// loads them. `method` is used only then.
static etx_status lay_out_variants(pool_layout* layout, etx_text name,
                                   etx_method* method, etx_diag* diag) {
  etx_memory_needed needed;
  size_t count = 0;
  ETX_TRY(
      etx_method_variants_needed(layout->program, name, &count, &needed, diag));
  if (count == 0) return ETX_OK;
  const etx_bytes_mut block =
      take(layout, needed.structure_bytes, ETX_MEMORY_ALIGNMENT);
  return layout->base == NULL
             ? ETX_OK
             : etx_method_use_variants(method, block, layout->missing, diag);
}

// Takes the memory of an instance and, if the layout has memory, starts its
// session and loads its methods.
static etx_status lay_out_instance(pool_layout* layout,
                                   struct etx_instance_pool_slot* slot,
                                   etx_diag* diag) {
  etx_method_memory memory;
  size_t cursor = 0;
  etx_text name;
  ETX_TRY(start_instance(layout, slot, &memory, diag));
  for (size_t i = 0; next_method(layout, &cursor, &name); ++i) {
    etx_memory_needed needed;
    ETX_TRY(etx_method_needed(layout->program, name, &needed, diag));
    if (!layout->program->has_blob) {
      memory.scratch = take(layout, needed.scratch_bytes, ETX_MEMORY_ALIGNMENT);
    }
    memory.structures =
        take(layout, needed.structure_bytes, ETX_MEMORY_ALIGNMENT);
    etx_method* method = NULL;
    if (layout->base != NULL) {
      method = &slot->methods[i];
      ETX_TRY(etx_method_init(method, layout->program, name, &memory,
                              layout->missing, diag));
    }
    ETX_TRY(lay_out_variants(layout, name, method, diag));
  }
  return ETX_OK;
}

// Takes what all instances share. Returns the links of the stack.
static uint32_t* take_slots(pool_layout* layout, etx_instance_pool* pool) {
  const size_t count = layout->options->instance_count;
  const etx_bytes_mut words =
      take(layout, sizeof *pool->words, ETX_INSTANCE_POOL_ALIGNMENT);
  const etx_bytes_mut links =
      take(layout, count * sizeof(uint32_t), ETX_INSTANCE_POOL_ALIGNMENT);
  const etx_bytes_mut slots =
      take(layout, count * sizeof *pool->slots, ETX_INSTANCE_POOL_ALIGNMENT);
  pool->words = (struct etx_instance_pool_words*)(void*)words.data;
  pool->slots = (struct etx_instance_pool_slot*)(void*)slots.data;
  return (uint32_t*)(void*)links.data;
}

// ---- start ----

static etx_status count_needed(const etx_program* program,
                               const etx_instance_pool_options* options,
                               size_t* out_bytes, etx_diag* diag) {
  pool_layout layout = {program, options, NULL, NULL, 0, false};
  etx_instance_pool pool;
  size_t first = 0, stride = 0, others = 0, bytes = 0;
  if (options->instance_count < 1 ||
      options->instance_count > ETX_INSTANCE_POOL_MOST) {
    return etx_diag_fail(
        diag, ETX_BAD_ARGUMENT, "a pool of %z instances, expected 1 to %z",
        options->instance_count, (size_t)ETX_INSTANCE_POOL_MOST);
  }
  take_slots(&layout, &pool);
  take(&layout, 0, ETX_INSTANCE_POOL_ALIGNMENT);
  first = layout.used;
  ETX_TRY(lay_out_instance(&layout, NULL, diag));
  // All instances have the same layout and begin at multiples of the alignment.
  if (layout.is_too_large ||
      !etx_align_up(layout.used - first, ETX_INSTANCE_POOL_ALIGNMENT,
                    &stride) ||
      !etx_multiply_size(stride, options->instance_count - 1, &others) ||
      !etx_add_size(layout.used, others, &bytes)) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "a pool of %z instances needs more bytes than this "
                         "machine can address",
                         options->instance_count);
  }
  *out_bytes = bytes;
  return ETX_OK;
}

etx_status etx_instance_pool_needed(const etx_program* program,
                                    const etx_instance_pool_options* options,
                                    size_t* out_bytes, etx_diag* diag) {
  return etx_diag_seal(diag, count_needed(program, options, out_bytes, diag));
}

static etx_status check_memory(size_t needed, etx_bytes_mut memory,
                               size_t instance_count, etx_diag* diag) {
  if (memory.size < needed) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "a pool of %z instances needs %z bytes, %z were given",
                         instance_count, needed, memory.size);
  }
  if ((uintptr_t)memory.data % ETX_INSTANCE_POOL_ALIGNMENT != 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "a pool's memory is not aligned to %z bytes",
                         (size_t)ETX_INSTANCE_POOL_ALIGNMENT);
  }
  return ETX_OK;
}

static etx_status init(etx_instance_pool* pool, pool_layout* layout,
                       etx_bytes_mut memory, etx_diag* diag) {
  const size_t count = layout->options->instance_count;
  size_t needed = 0;
  ETX_TRY(count_needed(layout->program, layout->options, &needed, diag));
  ETX_TRY(check_memory(needed, memory, count, diag));
  layout->base = memory.data;
  etx_instance_pool made = {.program = layout->program,
                            .instance_count = count,
                            .keeps_state = layout->options->keeps_state};
  uint32_t* const links = take_slots(layout, &made);
  memset(made.words, 0, sizeof *made.words);
  made.words->stack.links = links;
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(lay_out_instance(layout, &made.slots[i], diag));
  }
  for (size_t i = count; i-- > 0;)
    etx_index_stack_push(&made.words->stack, (uint32_t)i);
  *pool = made;
  return ETX_OK;
}

etx_status etx_instance_pool_init(etx_instance_pool* pool,
                                  const etx_program* program,
                                  const etx_instance_pool_options* options,
                                  etx_bytes_mut memory,
                                  const etx_missing_sink* missing,
                                  etx_diag* diag) {
  pool_layout layout = {program, options, missing, NULL, 0, false};
  return etx_diag_seal(diag, init(pool, &layout, memory, diag));
}

// ---- leases ----

static void raise_most(uint32_t* most, uint32_t in_use) {
  uint32_t seen = __atomic_load_n(most, __ATOMIC_RELAXED);
  while (seen < in_use &&
         !__atomic_compare_exchange_n(most, &seen, in_use, true,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

etx_status etx_instance_pool_get(etx_instance_pool* pool,
                                 etx_instance_lease* out_lease) {
  uint32_t index = 0;
  uint32_t left = 0;
  if (!etx_index_stack_pop(&pool->words->stack, &index, &left)) {
    __atomic_add_fetch(&pool->words->empties, 1, __ATOMIC_RELAXED);
    return ETX_BAD_STATE;
  }
  raise_most(&pool->words->most_in_use, (uint32_t)pool->instance_count - left);
  struct etx_instance_pool_slot* const slot = &pool->slots[index];
  const uint64_t ticket = __atomic_load_n(&slot->ticket, __ATOMIC_RELAXED) + 1;
  __atomic_store_n(&slot->ticket, ticket, __ATOMIC_RELAXED);
  *out_lease = (etx_instance_lease){.session = &slot->session,
                                    .methods = slot->methods,
                                    .method_count = slot->method_count,
                                    .ticket = ticket,
                                    .index = index};
  return ETX_OK;
}

etx_method* etx_instance_pool_method(const etx_instance_lease* lease,
                                     etx_text name) {
  for (size_t i = 0; i < lease->method_count; ++i) {
    if (etx_text_equal(etx_pte_plan_name(&lease->methods[i].plan), name)) {
      return &lease->methods[i];
    }
  }
  return NULL;
}

// Makes an instance ready for the next lease.
static etx_status clean(const etx_instance_pool* pool,
                        struct etx_instance_pool_slot* slot, etx_diag* diag) {
  const bool resets =
      !pool->keeps_state || etx_shared_memory_is_torn(&slot->session);
  for (size_t i = 0; i < slot->method_count; ++i) {
    etx_method* const method = &slot->methods[i];
    ETX_TRY(resets ? etx_method_reset(method, diag)
                   : etx_method_forget(method, diag));
    if (method->state.data != NULL &&
        method->state.data != slot->session.planned.data) {
      ETX_TRY(etx_method_bind(method, &slot->session.planned, diag));
    }
  }
  if (!resets) return ETX_OK;
  return etx_shared_memory_reset(&slot->session, (etx_text){NULL, 0}, diag);
}

static etx_status put(const etx_instance_pool* pool,
                      const etx_instance_lease* lease, etx_diag* diag) {
  if (lease->index >= pool->instance_count ||
      lease->session != &pool->slots[lease->index].session) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "the lease is not of this pool");
  }
  struct etx_instance_pool_slot* const slot = &pool->slots[lease->index];
  uint64_t ticket = lease->ticket;
  if (ticket % 2 == 0 ||
      !__atomic_compare_exchange_n(&slot->ticket, &ticket, ticket + 1, false,
                                   __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    return etx_diag_fail(diag, ETX_BAD_STATE,
                         "the lease of instance %u is not out: it was put back "
                         "already",
                         (uint64_t)lease->index);
  }
  const etx_status status = clean(pool, slot, diag);
  if (status != ETX_OK) {
    __atomic_store_n(&slot->ticket, lease->ticket, __ATOMIC_RELAXED);
    return status;
  }
  etx_index_stack_push(&pool->words->stack, lease->index);
  return ETX_OK;
}

etx_status etx_instance_pool_put(etx_instance_pool* pool,
                                 const etx_instance_lease* lease,
                                 etx_diag* diag) {
  return etx_diag_seal(diag, put(pool, lease, diag));
}

etx_instance_pool_statistics etx_instance_pool_count(
    const etx_instance_pool* pool) {
  etx_instance_pool_statistics counts;
  counts.in_use =
      pool->instance_count - etx_index_stack_size(&pool->words->stack);
  counts.most_in_use =
      __atomic_load_n(&pool->words->most_in_use, __ATOMIC_RELAXED);
  counts.empties = __atomic_load_n(&pool->words->empties, __ATOMIC_RELAXED);
  counts.gets = 0;
  for (size_t i = 0; i < pool->instance_count; ++i) {
    // A ticket is incremented by each get and each put.
    counts.gets +=
        (__atomic_load_n(&pool->slots[i].ticket, __ATOMIC_RELAXED) + 1) / 2;
  }
  return counts;
}
