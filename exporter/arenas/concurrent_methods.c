// Names of pairs are kept sorted. Ranges are placed first fit, the largest
// method first.

#include "exporter/arenas/concurrent_methods.h"

#include "exporter/host/nearest_name.h"
#include "format/base/checked_math.h"

// ---------------------------------------------------------------- pairs

static int compare(const etx_ir_pair* a, const etx_ir_pair* b) {
  const int order = etx_text_compare(a->first, b->first);
  return order != 0 ? order : etx_text_compare(a->second, b->second);
}

static etx_ir_pair pair_of(etx_text a, etx_text b) {
  const bool is_ordered = etx_text_compare(a, b) < 0;
  return (etx_ir_pair){is_ordered ? a : b, is_ordered ? b : a};
}

// Inserts a pair into the sorted list.
static etx_status add_pair(etx_ir_module* module, etx_text a, etx_text b) {
  const etx_ir_pair pair = pair_of(a, b);
  size_t at = 0;
  while (at < module->concurrent_count &&
         compare(&module->concurrent[at], &pair) < 0) {
    ++at;
  }
  if (at < module->concurrent_count &&
      compare(&module->concurrent[at], &pair) == 0) {
    return ETX_OK;
  }
  ETX_TRY(etx_pool_grow(module->pool, &module->concurrent,
                        module->concurrent_count, &module->concurrent_capacity,
                        sizeof *module->concurrent));
  for (size_t i = module->concurrent_count; i > at; --i) {
    module->concurrent[i] = module->concurrent[i - 1];
  }
  module->concurrent[at] = pair;
  ++module->concurrent_count;
  return ETX_OK;
}

// Returns the module's own copy of the name, which lives as long as the module.
static etx_status find_method(const etx_ir_module* module, etx_text name,
                              etx_text* out_name, etx_diag* diag) {
  etx_nearest_name nearest = etx_nearest_start(name);
  for (size_t i = 0; i < module->method_count; ++i) {
    etx_nearest_offer(&nearest, module->methods[i].name);
    if (!etx_text_equal(module->methods[i].name, name)) continue;
    *out_name = module->methods[i].name;
    return ETX_OK;
  }
  char hint[96];
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT, "there is no method '%t'%s",
                       name, etx_nearest_hint(&nearest, hint, sizeof hint));
}

etx_status etx_concurrent_methods_add(etx_ir_module* module,
                                      const etx_text* names, size_t count,
                                      size_t* out_at, etx_diag* diag) {
  *out_at = 0;
  if (count < 2) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "expected at least two concurrent methods, found %z",
                         count);
  }
  for (size_t i = 0; i < count; ++i) {
    etx_text name;
    *out_at = i;
    ETX_TRY(find_method(module, names[i], &name, diag));
    for (size_t k = 0; k < i; ++k) {
      if (!etx_text_equal(names[k], name)) continue;
      return etx_diag_fail(diag, ETX_BAD_ARGUMENT, "method '%t' is named twice",
                           name);
    }
    for (size_t k = 0; k < i; ++k) ETX_TRY(add_pair(module, names[k], name));
  }
  return ETX_OK;
}

// True if methods `a` and `b` of the module may run at the same time.
static bool are_concurrent(const etx_ir_module* module, uint32_t a,
                           uint32_t b) {
  const etx_ir_pair wanted =
      pair_of(module->methods[a].name, module->methods[b].name);
  for (size_t i = 0; i < module->concurrent_count; ++i) {
    if (compare(&module->concurrent[i], &wanted) == 0) return true;
  }
  return false;
}

// ---------------------------------------------------------------- ranges

typedef struct range_stack {
  const etx_ir_module* module;
  const uint64_t* bytes;
  uint64_t* starts;
  bool* is_placed;
} range_stack;

// The largest method that has no range yet, the first of equally large ones;
// the number of methods if all have.
static uint32_t next_method(const range_stack* s) {
  const uint32_t count = (uint32_t)s->module->method_count;
  uint32_t best = count;
  for (uint32_t m = 0; m < count; ++m) {
    if (s->is_placed[m]) continue;
    if (best == count || s->bytes[m] > s->bytes[best]) best = m;
  }
  return best;
}

// If a placed method that is concurrent with `method` overlaps it at `*start`,
// moves `*start` above that one and returns true.
static bool move_above(const range_stack* s, uint32_t method, uint64_t* start,
                       etx_status* status) {
  for (uint32_t m = 0; m < s->module->method_count; ++m) {
    uint64_t end = 0;
    if (!s->is_placed[m] || !are_concurrent(s->module, m, method)) continue;
    if (!etx_add_u64(*start, s->bytes[method], &end)) {
      *status = ETX_OUT_OF_RANGE;
      return false;
    }
    if (*start >= s->starts[m] + s->bytes[m] || s->starts[m] >= end) continue;
    if (!etx_align_up_u64(s->starts[m] + s->bytes[m], s->module->alignment,
                          start)) {
      *status = ETX_OUT_OF_RANGE;
      return false;
    }
    return true;
  }
  return false;
}

static etx_status place_range(const range_stack* s, uint32_t method) {
  uint64_t start = 0;
  uint64_t end = 0;
  etx_status status = ETX_OK;
  // `start` only rises, and above each method once, so the loop ends.
  while (s->bytes[method] != 0 && move_above(s, method, &start, &status)) {
  }
  ETX_TRY(status);
  if (!etx_add_u64(start, s->bytes[method], &end)) return ETX_OUT_OF_RANGE;
  s->starts[method] = start;
  s->is_placed[method] = true;
  return ETX_OK;
}

static etx_status place_all(const range_stack* s) {
  for (uint32_t m = next_method(s); m < s->module->method_count;
       m = next_method(s)) {
    ETX_TRY(place_range(s, m));
  }
  return ETX_OK;
}

etx_status etx_concurrent_methods_ranges(const etx_ir_module* module,
                                         const uint64_t* bytes,
                                         uint64_t* out_starts) {
  etx_pool pool;
  etx_pool_init(&pool);
  const range_stack s = {module, bytes, out_starts,
                         etx_pool_take(&pool, module->method_count)};
  const etx_status status =
      s.is_placed == NULL ? ETX_OUT_OF_MEMORY : place_all(&s);
  etx_pool_close(&pool);
  return status;
}
