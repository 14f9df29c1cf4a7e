// Ranges of symbols, from the archive. The keys of range_constraints are
// ordinary expressions: s40 + 1.
//
// A derived dimension such as 2*s40 has an entry of its own in
// range_constraints, and torch.export then clamps the lower bound of s40 to 2.
// So the lower bound of s40 is taken from the entries of derived dimensions if
// there are any.
//
// torch.export assumes that a size that varies is at least 2, and states the
// range of the Dim: it starts at 0 for a Dim without `min`, at 2 for Dim.AUTO
// and Dim.DYNAMIC. The exported program checks a lower bound only if it is
// above 2, so it runs smaller sizes. But the graph need not be right for them:
// x[:1] of [s40, 4] has the stated size 1 even if x has no rows, and
// x.squeeze(0) has two dimensions even if x has one row. So a stated bound of 0
// is tried as it is, and a stated bound of 2 as 1; a stated bound of 1 stays.
// If a node cannot have the size, the pass `lower` raises the bound, up to
// `fallback`. `floor` is the least bound that program.yaml may ask for.

#include "exporter/read_pt2/pt2_internal.h"
#include "format/base/checked_math.h"

static etx_status read_bound(etx_pt2_graph* graph, const etx_json* entry,
                             const char* key, int64_t none, int64_t* out) {
  const etx_json* const bound = etx_json_member(entry, key);
  *out = none;
  if (bound == NULL || bound->kind == ETX_JSON_NULL) return ETX_OK;
  ETX_TRY(etx_pt2_expect(graph, bound, ETX_JSON_INT, key));
  *out = bound->integer;
  return ETX_OK;
}

// If `key` is factor * name + offset, narrows `found` by the bounds of `entry`.
static etx_status apply_derived(etx_pt2_graph* graph, etx_text key,
                                const etx_json* entry, etx_text name,
                                etx_pt2_range* found) {
  etx_pool scratch;
  etx_pool_init(&scratch);
  etx_symbols symbols;
  etx_symbols_init(&symbols, &scratch);
  uint32_t symbol = 0;
  int64_t factor = 0, offset = 0, low = 0, high = 0, rest = 0;
  etx_dim dim = 0;
  bool is_affine =
      etx_symbols_add(&symbols, name, 0, INT64_MAX, &symbol) == ETX_OK &&
      etx_symbols_parse(&symbols, key, &dim, NULL) == ETX_OK &&
      etx_symbols_affine(&symbols, dim, &symbol, &factor, &offset);
  etx_pool_close(&scratch);
  if (!is_affine || factor <= 0) return ETX_OK;
  ETX_TRY(read_bound(graph, entry, "min_val", INT64_MIN, &low));
  ETX_TRY(read_bound(graph, entry, "max_val", INT64_MAX, &high));
  if (low != INT64_MIN && etx_subtract_i64(low, offset, &low) &&
      etx_floor_divide(low, factor, &low, &rest)) {
    if (rest != 0) ++low;
    if (!found->has_derived_low || low > found->low) found->low = low;
    found->has_derived_low = true;
  }
  if (high != INT64_MAX && etx_subtract_i64(high, offset, &high) &&
      etx_floor_divide(high, factor, &high, &rest) && high < found->high) {
    found->high = high;
  }
  return ETX_OK;
}

// Chooses the lower bound that is tried, and its fallback. A symbol of a size
// is positive for sympy: then `least` is 1. A bound of 1 is a `min` that the
// user chose, so a node that cannot have it is reported.
static void take_small_sizes(etx_pt2_range* found, int64_t least) {
  const int64_t stated = found->low;
  if (found->low < least) found->low = least;
  found->fallback = found->floor = found->low;
  if (least != 1 || found->low > 2 || found->high < found->low) return;
  found->floor = 0;
  if (found->is_found && stated <= 0) found->low = 0;
  if (stated == 2) found->low = 1;
  if (stated == 1) return;
  found->fallback = found->high < 2 ? found->high : 2;
}

void etx_pt2_keep_stated_bound(etx_symbol* symbol) {
  if (symbol->minimum == 0) symbol->minimum = 1;
  if (symbol->minimum < symbol->fallback) symbol->minimum = symbol->fallback;
  symbol->fallback = symbol->floor = symbol->minimum;
}

etx_status etx_pt2_find_range(etx_pt2_graph* graph, etx_text name,
                              int64_t least, etx_pt2_range* out) {
  etx_pt2_range found = {.low = least, .high = INT64_MAX};
  const etx_json* const own = etx_json_find(graph->ranges, name);
  if (own != NULL) {
    etx_pt2_set_context(graph, "range of '%t'", name);
    ETX_TRY(etx_pt2_expect(graph, own, ETX_JSON_OBJECT, "range"));
    ETX_TRY(read_bound(graph, own, "min_val", found.low, &found.low));
    ETX_TRY(read_bound(graph, own, "max_val", found.high, &found.high));
    found.is_found = true;
  }
  for (size_t i = 0; i < graph->ranges->count; ++i) {
    if (&graph->ranges->items[i] == own) continue;
    ETX_TRY(apply_derived(graph, graph->ranges->keys[i],
                          &graph->ranges->items[i], name, &found));
  }
  take_small_sizes(&found, least);
  if (found.high < found.low) {
    return etx_pt2_fail_malformed(graph,
                                  "symbol '%t' has the empty range %i..%i",
                                  name, found.low, found.high);
  }
  *out = found;
  return ETX_OK;
}
