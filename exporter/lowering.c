// The table of importable operators and how a name is found in it.

#include "exporter/lower_internal.h"

static const etx_lowering rows[] = {
#define LOWER(aten, arguments, function) \
  {aten, arguments, etx_lowering_##function, ETX_OP_COUNT},
#define LOWER_OP(aten, arguments, function, op) \
  {aten, arguments, etx_lowering_##function, ETX_OP_##op},
#include "exporter/lowering.def"
#undef LOWER
#undef LOWER_OP
};

size_t etx_lowering_count(void) { return sizeof rows / sizeof rows[0]; }

const etx_lowering* etx_lowering_at(size_t index) { return &rows[index]; }

const etx_lowering* etx_lowering_find(etx_text aten) {
  for (size_t i = 0; i < etx_lowering_count(); ++i) {
    if (etx_text_is(aten, rows[i].aten)) return &rows[i];
  }
  return NULL;
}

enum { MAX_NAME = 64 };

// Insertions, deletions and substitutions between two names, with one row of
// the usual table.
static size_t edit_distance(etx_text a, etx_text b) {
  size_t costs[MAX_NAME + 1];
  const size_t width = b.size < MAX_NAME ? b.size : MAX_NAME;
  for (size_t j = 0; j <= width; ++j) costs[j] = j;
  for (size_t i = 0; i < a.size && i < MAX_NAME; ++i) {
    size_t diagonal = costs[0];
    costs[0] = i + 1;
    for (size_t j = 0; j < width; ++j) {
      const size_t substitution = diagonal + (a.data[i] != b.data[j]);
      diagonal = costs[j + 1];
      size_t best = substitution;
      if (costs[j] + 1 < best) best = costs[j] + 1;
      if (diagonal + 1 < best) best = diagonal + 1;
      costs[j + 1] = best;
    }
  }
  return costs[width];
}

const etx_lowering* etx_lowering_nearest(etx_text aten) {
  const etx_lowering* best = NULL;
  size_t best_distance = SIZE_MAX;
  for (size_t i = 0; i < etx_lowering_count(); ++i) {
    const size_t distance = edit_distance(aten, etx_text_of(rows[i].aten));
    if (distance < best_distance) {
      best = &rows[i];
      best_distance = distance;
    }
  }
  return best;
}
