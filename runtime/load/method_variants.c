// Loads the variants of a method, and copies of it that stay prepared for
// recent sizes, and chooses one for each run.
//
// A variant is a whole method in the file. Nothing states which sizes it is
// for: these are the sizes that its inputs accept. A copy is the method itself,
// loaded once more.

#include "runtime/variants.h"

#include "format/base/arena.h"
#include "format/base/reachability.h"
#include "format/pte/variant_name.h"
#include "runtime/load/variant_methods.h"
#include "runtime/method/method_names.h"
#include "runtime/method/method_types.h"
#include "runtime/run/input_data.h"
#include "runtime/run/method_run.h"
#include "runtime/shapes/method_symbols.h"

#if ETX_DYNAMIC

// ---------------------------------------------------------------- memory

// Copies of a method whose sizes vary: limits.kept_sizes of them.
static size_t count_copies(const etx_program* program, etx_text name) {
  enum { MOST_COPIES = 64 };
  size_t index = 0;
  const size_t wanted = program->limits.kept_sizes;
  return program->has_blob && !etx_is_variant_name(name) &&
                 etx_blob_method_find(&program->blob, name, &index) &&
                 etx_blob_symbol_count(&program->blob, index) > 0
             ? (wanted < MOST_COPIES ? wanted : MOST_COPIES)
             : 0;
}

// The name under which item `index` is in the file.
static etx_text item_name(etx_text method, size_t variants, size_t index,
                          char buffer[ETX_VARIANT_NAME_BYTES]) {
  return index < variants ? etx_variant_name(method, index, buffer) : method;
}

// Takes everything but the structures of the items.
static bool take_arrays(etx_arena* arena, size_t count, size_t output_count,
                        struct etx_method_variants** out) {
  void* head = NULL;
  void* items = NULL;
  void* runs = NULL;
  void* chosen = NULL;
  void* outputs = NULL;
  const size_t alignment = ETX_ARENA_ALIGNMENT;
  // An output takes more bytes of the file than a pointer to it is wide, and
  // there are few variants and copies: no product overflows.
  if (!etx_arena_take_ok(arena, sizeof **out, alignment, &head) ||
      !etx_arena_take_ok(arena, count * sizeof(etx_method), alignment,
                         &items) ||
      !etx_arena_take_ok(arena, (count + 1) * sizeof(uint64_t), alignment,
                         &runs) ||
      !etx_arena_take_ok(arena, count * sizeof(uint64_t), alignment, &chosen) ||
      !etx_arena_take_ok(arena, output_count * sizeof(const etx_value*),
                         alignment, &outputs)) {
    return false;
  }
  if (out == NULL) return true;
  *out = (struct etx_method_variants*)head;
  **out =
      (struct etx_method_variants){.items = (etx_method*)items,
                                   .all = count,
                                   .last = count,
                                   .runs = (uint64_t*)runs,
                                   .chosen = (uint64_t*)chosen,
                                   .own_outputs = (const etx_value**)outputs};
  memset(runs, 0, (count + 1) * sizeof(uint64_t));
  memset(chosen, 0, count * sizeof(uint64_t));
  return true;
}

static void take_larger(size_t bytes, size_t* most) {
  if (bytes > *most) *most = bytes;
}

static etx_status count_needed(const etx_program* program, etx_text name,
                               size_t* out_count, etx_memory_needed* out_needed,
                               etx_diag* diag) {
  etx_pte_plan plan;
  etx_memory_needed all;
  etx_arena arena;
  char buffer[ETX_VARIANT_NAME_BYTES];
  ETX_TRY(etx_program_find_plan(program, name, &plan, diag));
  ETX_TRY(etx_method_needed(program, name, &all, diag));
  const size_t variants = etx_program_variant_count(program, name);
  const size_t count = variants + count_copies(program, name);
  etx_arena_init_counting(&arena);
  bool fits = true;
  if (count > 0) {
    fits = take_arrays(&arena, count, etx_pte_output_count(&plan), NULL);
  }
  for (size_t i = 0; i < count; ++i) {
    etx_memory_needed needed;
    void* unused = NULL;
    ETX_TRY(etx_method_needed(program, item_name(name, variants, i, buffer),
                              &needed, diag));
    fits &= etx_arena_take_ok(&arena, needed.structure_bytes,
                              ETX_ARENA_ALIGNMENT, &unused);
    take_larger(needed.scratch_bytes, &all.scratch_bytes);
    take_larger(needed.temporary_bytes, &all.temporary_bytes);
  }
  if (ETX_NEVER_IF_WIDE(!fits)) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "the variants and copies of method '%t' have too many "
                         "values for this machine",
                         name);
  }
  all.structure_bytes = arena.used_bytes;
  *out_needed = all;
  *out_count = count;
  return ETX_OK;
}

etx_status etx_method_variants_needed(const etx_program* program, etx_text name,
                                      size_t* out_count,
                                      etx_memory_needed* out_needed,
                                      etx_diag* diag) {
  return etx_diag_seal(
      diag, count_needed(program, name, out_count, out_needed, diag));
}

// ---------------------------------------------------------------- checks

static etx_status fail_unlike(const etx_method* variant, const char* what,
                              size_t index, etx_diag* diag) {
  return etx_diag_fail(diag, ETX_BAD_FILE,
                       "variant '%t' is not like its method: expected the same "
                       "%s %z; plan the file again",
                       etx_pte_plan_name(&variant->plan), what, index);
}

// True if both values have the same kind, and tensors the same type and rank.
static bool is_alike(const etx_value* a, const etx_value* b) {
  if (a->kind != b->kind) return false;
  return a->kind != ETX_VALUE_TENSOR ||
         (a->as.tensor.dtype == b->as.tensor.dtype &&
          a->as.tensor.rank == b->as.tensor.rank);
}

// The output that has the new content of a mutable input; the number of outputs
// if there is none.
static size_t written_by(const etx_method* method, size_t input) {
  const etx_value* const content = method->inputs[input].new_content;
  size_t at = 0;
  while (at < method->output_count &&
         (content == NULL || method->outputs[at] != content)) {
    ++at;
  }
  return at;
}

static bool has_same_order(const etx_method* method, const etx_method* variant,
                           size_t input) {
  const uint32_t own = method->inputs[input].tensor;
  const uint32_t other = variant->inputs[input].tensor;
  if (own == ETX_NO_INDEX) return true;  // both are numbers
  const uint8_t* const a = method->tensors[own].dim_order;
  const uint8_t* const b = variant->tensors[other].dim_order;
  const size_t rank = method->tensors[own].value->as.tensor.rank;
  return rank == 0 || memcmp(a, b, rank) == 0;
}

static bool is_same_input(const etx_method* method, const etx_method* variant,
                          size_t index) {
  char own[ETX_INPUT_NAME_BYTES];
  char other[ETX_INPUT_NAME_BYTES];
  return is_alike(&method->values[method->inputs[index].value],
                  &variant->values[variant->inputs[index].value]) &&
         etx_text_equal(etx_method_input_name(method, index, own),
                        etx_method_input_name(variant, index, other)) &&
         has_same_order(method, variant, index) &&
         written_by(method, index) == written_by(variant, index);
}

static etx_status check_like(const etx_method* method,
                             const etx_method* variant, etx_diag* diag) {
  if (variant->input_count != method->input_count) {
    return fail_unlike(variant, "number of inputs,", method->input_count, diag);
  }
  if (variant->output_count != method->output_count) {
    return fail_unlike(variant, "number of outputs,", method->output_count,
                       diag);
  }
  for (size_t i = 0; i < method->output_count; ++i) {
    if (!is_alike(method->outputs[i], variant->outputs[i])) {
      return fail_unlike(variant, "output", i, diag);
    }
  }
  for (size_t i = 0; i < method->input_count; ++i) {
    if (!is_same_input(method, variant, i)) {
      return fail_unlike(variant, "input", i, diag);
    }
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- choice

// True if the variant accepts the sizes and numbers that the method was given.
static bool accepts(const etx_method* method, const etx_method* variant) {
  for (size_t i = 0; i < method->input_count; ++i) {
    const etx_method_input* const from = &method->inputs[i];
    const etx_method_input* const to = &variant->inputs[i];
    if (to->tensor != ETX_NO_INDEX) {
      if (etx_method_check_input_sizes(variant, i, from->sizes, NULL) !=
          ETX_OK) {
        return false;
      }
    } else if (to->varies) {
      if (!from->varies || etx_method_check_input_integer(
                               variant, i, from->integer, NULL) != ETX_OK) {
        return false;
      }
    } else if (from->varies &&
               variant->values[to->value].as.integer != from->integer) {
      return false;
    }
  }
  return true;
}

static void hand_inputs(const etx_method* method, etx_method* variant) {
  for (size_t i = 0; i < method->input_count; ++i) {
    const etx_method_input* const from = &method->inputs[i];
    etx_method_input* const to = &variant->inputs[i];
    if (to->tensor != ETX_NO_INDEX) {
      const etx_tensor* const own = &method->values[from->value].as.tensor;
      const etx_tensor value = {from->data, from->sizes, NULL, own->rank,
                                own->dtype};
      etx_method_take_input(variant, to, &value);
      continue;
    }
    to->is_set = true;
    if (!to->varies || to->integer == from->integer) continue;
    to->integer = from->integer;
    variant->is_prepared = false;
  }
}

static bool has_same_blocks(const etx_method* method,
                            const etx_method* variant) {
  return variant->scratch.data == method->scratch.data &&
         variant->scratch_given == method->scratch_given &&
         variant->temporary.data == method->temporary.data &&
         variant->temporary_given == method->temporary_given;
}

// Hands over the method's session, memory and observer where they have changed.
// False if the variant does not fit.
static bool hand_memory(const etx_method* method, etx_method* variant) {
  if (variant->state.data != NULL &&
      (variant->state.data != method->state.data ||
       variant->state.torn != method->state.torn)) {
    const etx_status status = etx_method_bind(variant, &method->state, NULL);
    // The method was bound to it, and nothing else runs the variant.
    if (ETX_NEVER(status != ETX_OK)) return false;
  }
  if (!has_same_blocks(method, variant)) {
    const etx_bytes_mut scratch = {method->scratch.data, method->scratch_given};
    const etx_bytes_mut temporary = {method->temporary.data,
                                     method->temporary_given};
    if (etx_method_set_memory(variant, scratch, temporary, NULL) != ETX_OK) {
      return false;
    }
  }
  if (variant->observer != method->observer) {
    etx_method_observe(variant, method->observer);
  }
  return true;
}

// True if the inputs of the variant that ran last have the sizes and numbers
// that the method was given.
static bool is_unchanged(const etx_method* method, const etx_method* variant) {
  for (size_t i = 0; i < method->input_count; ++i) {
    const etx_method_input* const from = &method->inputs[i];
    const etx_method_input* const to = &variant->inputs[i];
    if (to->tensor == ETX_NO_INDEX) {
      const int64_t has =
          to->varies ? to->integer : variant->values[to->value].as.integer;
      if (from->varies && has != from->integer) return false;
      continue;
    }
    const size_t bytes = method->tensors[from->tensor].value->as.tensor.rank *
                         sizeof *from->sizes;
    if (bytes > 0 && memcmp(to->sizes, from->sizes, bytes) != 0) return false;
  }
  return true;
}

// A variant may exclude some combinations of sizes, or not fit into the memory
// at these sizes: preparing it finds out.
static bool can_run(const etx_method* method, etx_method* variant) {
  if (!hand_memory(method, variant)) return false;
  hand_inputs(method, variant);
  return variant->is_prepared || etx_method_prepare(variant, NULL) == ETX_OK;
}

// The copy that is prepared for the sizes, or else the one that was not chosen
// for the longest time, which is prepared now.
static size_t find_copy(const etx_method* method,
                        struct etx_method_variants* all) {
  size_t oldest = all->count;
  for (size_t i = all->count; i < all->all; ++i) {
    etx_method* const copy = &all->items[i];
    if (copy->is_prepared && is_unchanged(method, copy) &&
        can_run(method, copy)) {
      ++all->hits;
      return i;
    }
    if (all->chosen[i] < all->chosen[oldest]) oldest = i;
  }
  return oldest < all->all && can_run(method, &all->items[oldest]) ? oldest
                                                                   : all->all;
}

static size_t find(const etx_method* method, struct etx_method_variants* all) {
  if (method->regions != NULL) return all->all;
  // In other memory, a variant before this one may fit.
  if (all->last < all->all && has_same_blocks(method, &all->items[all->last]) &&
      is_unchanged(method, &all->items[all->last])) {
    const bool fits = can_run(method, &all->items[all->last]);
    if (ETX_ALWAYS(fits)) return all->last;  // as before
  }
  for (size_t i = 0; i < all->count; ++i) {
    if (accepts(method, &all->items[i]) && can_run(method, &all->items[i])) {
      return i;
    }
  }
  return find_copy(method, all);
}

static etx_method* choose(etx_method* method, bool runs) {
  struct etx_method_variants* const all = method->variants;
  const size_t found = find(method, all);
  if (found != all->last) {
    const etx_value* const* const outputs =
        found == all->all ? all->own_outputs : all->items[found].outputs;
    for (size_t i = 0; i < method->output_count; ++i) {
      method->outputs[i] = outputs[i];
    }
  }
  all->last = found;
  if (runs) ++all->runs[found < all->count ? found : all->count];
  if (found == all->all) return method;
  all->chosen[found] = ++all->clock;
  return &all->items[found];
}

// ---------------------------------------------------------------- load

// Random numbers go on where another variant has stopped.
static void share_random(const etx_method* method, etx_method* variant) {
  for (size_t i = 0; i < variant->record_count; ++i) {
    variant->records[i].call.random = method->random;
  }
  variant->random = method->random;
}

static etx_status load_variant(const etx_method* method, etx_text name,
                               etx_arena* arena, etx_method* out_variant,
                               const etx_missing_sink* missing,
                               etx_diag* diag) {
  etx_memory_needed needed;
  void* structures = NULL;
  ETX_TRY(etx_method_needed(method->program, name, &needed, diag));
  if (!etx_arena_take_ok(arena, needed.structure_bytes, ETX_ARENA_ALIGNMENT,
                         &structures)) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "variant '%t' needs more than the %z bytes that were "
                         "given; etx_method_variants_needed states the number",
                         name, arena->capacity_bytes);
  }
  if (needed.state_bytes > 0 && method->state.data == NULL) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "variant '%t' has state and its method has none; plan "
                         "the file again",
                         name);
  }
  const etx_method_memory memory = {
      .structures = {(uint8_t*)structures, needed.structure_bytes},
      .scratch = {method->scratch.data, method->scratch_given},
      .temporary = {method->temporary.data, method->temporary_given},
      .state = &method->state};
  ETX_TRY(etx_method_init(out_variant, method->program, name, &memory, missing,
                          diag));
  ETX_TRY(check_like(method, out_variant, diag));
  share_random(method, out_variant);
  return ETX_OK;
}

static etx_status use_variants(etx_method* method, etx_bytes_mut block,
                               const etx_missing_sink* missing,
                               etx_diag* diag) {
  const etx_text own = etx_pte_plan_name(&method->plan);
  char buffer[ETX_VARIANT_NAME_BYTES];
  struct etx_method_variants* all = NULL;
  etx_arena arena;
  const size_t variants = etx_program_variant_count(method->program, own);
  const size_t count = variants + count_copies(method->program, own);
  if (count == 0) return ETX_OK;
  etx_arena_init(&arena, block.data, block.size);
  if ((uintptr_t)block.data % ETX_MEMORY_ALIGNMENT != 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "the block for variants of method '%t' is not aligned "
                         "to %z bytes",
                         own, (size_t)ETX_MEMORY_ALIGNMENT);
  }
  if (!take_arrays(&arena, count, method->output_count, &all)) {
    return etx_diag_fail(
        diag, ETX_OUT_OF_MEMORY,
        "the variants and copies of method '%t' need more than "
        "the %z bytes that were given",
        own, block.size);
  }
  for (size_t i = 0; i < method->output_count; ++i) {
    all->own_outputs[i] = method->outputs[i];
  }
  all->count = variants;
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(load_variant(method, item_name(own, variants, i, buffer), &arena,
                         &all->items[i], missing, diag));
  }
  method->variants = all;
  method->choose = choose;
  return ETX_OK;
}

etx_status etx_method_use_variants(etx_method* method, etx_bytes_mut block,
                                   const etx_missing_sink* missing,
                                   etx_diag* diag) {
  etx_status status = etx_method_enter(method, diag);
  if (status == ETX_OK) {
    status = method->variants != NULL
                 ? etx_diag_fail(diag, ETX_BAD_STATE,
                                 "method '%t' uses its variants already",
                                 etx_pte_plan_name(&method->plan))
                 : use_variants(method, block, missing, diag);
    etx_method_leave(method);
  }
  return etx_diag_seal(diag, status);
}

// ---------------------------------------------------------------- figures

size_t etx_method_variant_count(const etx_method* method) {
  return method->variants == NULL ? 0 : method->variants->count;
}

etx_text etx_method_variant_name(const etx_method* method, size_t index) {
  return index < etx_method_variant_count(method)
             ? etx_pte_plan_name(&method->variants->items[index].plan)
             : etx_pte_plan_name(&method->plan);
}

uint64_t etx_method_variant_runs(const etx_method* method, size_t index) {
  return index > etx_method_variant_count(method) || method->variants == NULL
             ? 0
             : method->variants->runs[index];
}

size_t etx_method_variant_last(const etx_method* method) {
  const struct etx_method_variants* const all = method->variants;
  return all == NULL ? 0 : all->last < all->count ? all->last : all->count;
}

const etx_method* etx_method_variant_at(const etx_method* method,
                                        size_t index) {
  return &method->variants->items[index];
}

const etx_method* etx_method_variant_running(const etx_method* method) {
  const struct etx_method_variants* const all = method->variants;
  return all == NULL || all->last >= all->all ? method : &all->items[all->last];
}

uint64_t etx_method_variant_phases(const etx_method* method) {
  uint64_t phases = etx_method_phase_count(method);
  for (size_t i = 0; method->variants != NULL && i < method->variants->all;
       ++i) {
    phases += etx_method_phase_count(&method->variants->items[i]);
  }
  return phases;
}

uint64_t etx_method_variant_hits(const etx_method* method) {
  return method->variants == NULL ? 0 : method->variants->hits;
}

uint64_t etx_method_variant_addresses(const etx_method* method) {
  uint64_t count = etx_method_address_count(method);
  for (size_t i = 0; method->variants != NULL && i < method->variants->all;
       ++i) {
    count += etx_method_address_count(&method->variants->items[i]);
  }
  return count;
}

#else  // no method has sizes to choose by

etx_status etx_method_variants_needed(const etx_program* program, etx_text name,
                                      size_t* out_count,
                                      etx_memory_needed* out_needed,
                                      etx_diag* diag) {
  *out_count = 0;
  ETX_TRY(etx_method_needed(program, name, out_needed, diag));
  out_needed->structure_bytes = 0;
  return ETX_OK;
}

etx_status etx_method_use_variants(etx_method* method, etx_bytes_mut block,
                                   const etx_missing_sink* missing,
                                   etx_diag* diag) {
  (void)method;
  (void)block;
  (void)missing;
  (void)diag;
  return ETX_OK;
}

size_t etx_method_variant_count(const etx_method* method) {
  (void)method;
  return 0;
}

etx_text etx_method_variant_name(const etx_method* method, size_t index) {
  (void)index;
  return etx_pte_plan_name(&method->plan);
}

uint64_t etx_method_variant_runs(const etx_method* method, size_t index) {
  (void)method;
  (void)index;
  return 0;
}

size_t etx_method_variant_last(const etx_method* method) {
  (void)method;
  return 0;
}

const etx_method* etx_method_variant_at(const etx_method* method,
                                        size_t index) {
  (void)index;
  return method;
}

const etx_method* etx_method_variant_running(const etx_method* method) {
  return method;
}

uint64_t etx_method_variant_phases(const etx_method* method) {
  return etx_method_phase_count(method);
}

uint64_t etx_method_variant_hits(const etx_method* method) {
  (void)method;
  return 0;
}

uint64_t etx_method_variant_addresses(const etx_method* method) {
  return etx_method_address_count(method);
}

#endif
