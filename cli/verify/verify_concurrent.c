// Methods that the blob allows to run at the same time must not share a byte
// of arena 1. Control flow and lifetimes do not matter here, because any
// instruction of one method may run beside any instruction of the other. If the
// runtime moves the blocks of a method, all bytes between them count.

#include "cli/verify/verify_program_state.h"

#include <stdlib.h>

#include "format/base/reachability.h"
#include "format/pte/reserved_names.h"

// The bytes of arena 1 that values of a method use: ascending ranges with gaps
// between them.
typedef struct footprint {
  bool is_found;
  etx_verify_range* ranges;
  size_t count;
} footprint;

static bool range_of(const etx_pte_plan* plan, size_t value,
                     etx_verify_range* out_range) {
  if (etx_pte_value_kind(plan, value) != ETX_PTE_TENSOR) return false;
  const etx_pte_tensor tensor = etx_pte_value_at(plan, value).as.tensor;
  if (!tensor.has_allocation || tensor.memory_id != ETX_MEMORY_SCRATCH) {
    return false;
  }
  out_range->start = tensor.memory_offset;
  out_range->end = tensor.memory_offset + etx_pte_tensor_bytes(&tensor);
  return out_range->start < out_range->end;
}

// Sorts the ranges and merges those that touch.
static void merge(footprint* print) {
  size_t kept = 0;
  if (print->count == 0) return;
  qsort(print->ranges, print->count, sizeof *print->ranges,
        etx_verify_compare_ranges);
  for (size_t i = 1; i < print->count; ++i) {
    etx_verify_range* const last = &print->ranges[kept];
    const etx_verify_range next = print->ranges[i];
    if (next.start > last->end) {
      print->ranges[++kept] = next;
    } else if (next.end > last->end) {
      last->end = next.end;
    }
  }
  print->count = kept + 1;
}

bool etx_verify_moves_blocks(const etx_verify_program_state* program,
                             const etx_pte_plan* plan, size_t* out_method) {
  const etx_blob* const blob = program->blob;
  etx_pte_totals totals;
  if (!etx_blob_method_find(blob, etx_pte_plan_name(plan), out_method)) {
    return false;
  }
  for (size_t i = 0; i < etx_blob_output_count(blob, *out_method); ++i) {
    const etx_blob_output output = etx_blob_output_at(blob, *out_method, i);
    if (output.lifetime == ETX_LIFETIME_STABLE) return false;
  }
  etx_pte_plan_totals(plan, &totals);
  return totals.dynamic_dims > 0;
}

// Makes one range of all, and of the method's places in other layouts.
static void widen(const etx_blob* blob, size_t method, footprint* print) {
  if (print->count == 0) return;
  etx_verify_range* const all = print->ranges;
  all->end = print->ranges[print->count - 1].end;
  print->count = 1;
  for (size_t i = 0; i < etx_blob_place_count(blob, method); ++i) {
    const etx_blob_place place = etx_blob_place_at(blob, method, i);
    if (place.offset < all->start) all->start = place.offset;
    if (place.offset + place.bytes > all->end) {
      all->end = place.offset + place.bytes;
    }
  }
}

static etx_status find_footprint(const etx_verify_program_state* p,
                                 uint32_t method, footprint* print) {
  etx_pte_plan plan;
  if (print->is_found) return ETX_OK;
  const bool is_known =
      etx_pte_plan_find(p->pte, etx_blob_method_name(p->blob, method), &plan);
  // etx_blob_open has checked the method's name.
  if (ETX_NEVER(!is_known)) return ETX_INTERNAL;
  const size_t values = etx_pte_value_count(&plan);
  print->ranges =
      etx_verify_arena_take(p->memory, values, sizeof *print->ranges);
  if (print->ranges == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t v = 0; v < values; ++v) {
    print->count += range_of(&plan, v, &print->ranges[print->count]);
  }
  merge(print);
  size_t at = 0;
  if (etx_verify_moves_blocks(p, &plan, &at)) widen(p->blob, at, print);
  print->is_found = true;
  return ETX_OK;
}

static etx_status check_pair(const etx_verify_program_state* p,
                             etx_blob_pair pair, const footprint* a,
                             const footprint* b) {
  size_t i = 0;
  size_t k = 0;
  while (i < a->count && k < b->count) {
    const etx_verify_range x = a->ranges[i];
    const etx_verify_range y = b->ranges[k];
    if (etx_verify_overlap(x, y)) {
      return etx_diag_fail(
          p->diag, ETX_BAD_PLAN,
          "methods '%t' and '%t' may run at the same time, but both have "
          "values at bytes %u to %u of arena '%u'",
          etx_blob_method_name(p->blob, pair.first),
          etx_blob_method_name(p->blob, pair.second),
          x.start > y.start ? x.start : y.start, x.end < y.end ? x.end : y.end,
          (uint64_t)ETX_MEMORY_SCRATCH);
    }
    if (x.end < y.end) {
      ++i;
    } else {
      ++k;
    }
  }
  return ETX_OK;
}

etx_status etx_verify_concurrent(const etx_verify_program_state* program) {
  if (program->blob == NULL) return ETX_OK;
  const size_t count = etx_blob_concurrent_count(program->blob);
  footprint* const prints = etx_verify_arena_take(
      program->memory, etx_blob_method_count(program->blob), sizeof *prints);
  if (prints == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_pair pair = etx_blob_concurrent_at(program->blob, i);
    footprint* const first = &prints[pair.first];
    footprint* const second = &prints[pair.second];
    ETX_TRY(find_footprint(program, pair.first, first));
    ETX_TRY(find_footprint(program, pair.second, second));
    ETX_TRY(check_pair(program, pair, first, second));
  }
  return ETX_OK;
}
