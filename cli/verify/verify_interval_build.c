// Builds the interval tree: cuts values into pieces and sorts them by start.

#include <stdlib.h>

#include "cli/verify/verify_interval_tree.h"

enum { WORD_BITS = 64 };

// ---- cuts ----

typedef struct cut {
  uint32_t owner;
  uint64_t position;
} cut;

static int compare_cuts(const void* left, const void* right) {
  const cut* const a = left;
  const cut* const b = right;
  return a->owner != b->owner ? etx_verify_compare(a->owner, b->owner)
                              : etx_verify_compare(a->position, b->position);
}

// A constant has no pieces, and a view uses those of its outermost parent.
static size_t find_cuts(const etx_verify_method* m, cut* cuts) {
  size_t count = 0;
  for (uint32_t v = 0; v < m->value_count; ++v) {
    const etx_verify_value* const value = &m->values[v];
    const etx_verify_value* const top = &m->values[value->top];
    if (value->storage == ETX_VERIFY_STORAGE_NONE || value->is_rebound ||
        value->range.start == value->range.end ||
        top->storage == ETX_VERIFY_STORAGE_CONSTANT || top->is_rebound) {
      continue;
    }
    cuts[count++] = (cut){value->top, value->range.start};
    cuts[count++] = (cut){value->top, value->range.end};
  }
  qsort(cuts, count, sizeof *cuts, compare_cuts);
  return count;
}

// ---- pieces ----

static void add_piece(etx_verify_interval_tree* tree, uint32_t owner,
                      uint64_t start, uint64_t end) {
  tree->pieces[tree->count++] = (etx_verify_interval){{start, end}, owner};
}

static void add_cut_pieces(etx_verify_interval_tree* tree, const cut* cuts,
                           size_t count) {
  for (size_t i = 1; i < count; ++i) {
    if (cuts[i].owner != cuts[i - 1].owner ||
        cuts[i].position == cuts[i - 1].position) {
      continue;
    }
    add_piece(tree, cuts[i].owner, cuts[i - 1].position, cuts[i].position);
  }
}

// One piece for each possible range of a rebound value. A value without a range
// gets an empty piece, which records whether it has a header at all.
static void add_rebound_pieces(etx_verify_interval_tree* tree) {
  const etx_verify_method* const m = tree->m;
  for (uint32_t v = 0; v < m->value_count; ++v) {
    if (!m->values[v].is_rebound) continue;
    for (uint32_t i = 0; i < m->values[v].range_count; ++i) {
      const etx_verify_range range = etx_verify_address_range(m, v, i);
      add_piece(tree, v, range.start, range.end);
    }
    if (m->values[v].range_count == 0) add_piece(tree, v, 0, 0);
  }
}

// A total order, so that the result does not depend on the C library's qsort.
static int compare_pieces(const void* left, const void* right) {
  const etx_verify_interval* const a = left;
  const etx_verify_interval* const b = right;
  const int order = etx_verify_compare_ranges(&a->range, &b->range);
  return order != 0 ? order : etx_verify_compare(a->owner, b->owner);
}

// A counting sort by owner. It is stable, so the pieces of each owner keep the
// order of their starts.
static void order_pieces(etx_verify_interval_tree* tree) {
  const size_t values = tree->m->value_count;
  for (size_t i = 0; i < tree->count; ++i) {
    tree->first[tree->pieces[i].owner + 1] += 1;
  }
  for (size_t v = 0; v < values; ++v) {
    tree->first[v + 1] += tree->first[v];
  }
  for (size_t i = tree->count; i > 0; --i) {
    const uint32_t owner = tree->pieces[i - 1].owner;
    tree->order[--tree->first[owner + 1]] = (uint32_t)(i - 1);
  }
  // Entry v + 1 now has the start of owner v: shift all entries down by one.
  for (size_t v = 0; v < values; ++v) tree->first[v] = tree->first[v + 1];
  tree->first[values] = (uint32_t)tree->count;
}

etx_status etx_verify_interval_tree_init(etx_verify_interval_tree* tree,
                                         const etx_verify_method* m) {
  tree->m = m;
  const size_t most = 2 * m->value_count + m->range_count + 1;
  cut* const cuts = etx_verify_arena_take(m->memory, most, sizeof *cuts);
  tree->pieces = etx_verify_arena_take(m->memory, most, sizeof *tree->pieces);
  if (cuts == NULL || tree->pieces == NULL) return ETX_OUT_OF_MEMORY;
  add_cut_pieces(tree, cuts, find_cuts(m, cuts));
  add_rebound_pieces(tree);
  qsort(tree->pieces, tree->count, sizeof *tree->pieces, compare_pieces);

  tree->leaves = 1;
  while (tree->leaves < tree->count) tree->leaves *= 2;
  tree->word_count = tree->count / WORD_BITS + 1;
  tree->order =
      etx_verify_arena_take(m->memory, tree->count, sizeof *tree->order);
  tree->first =
      etx_verify_arena_take(m->memory, m->value_count + 1, sizeof *tree->first);
  tree->reach =
      etx_verify_arena_take(m->memory, 2 * tree->leaves, sizeof *tree->reach);
  tree->bits =
      etx_verify_arena_take(m->memory, tree->word_count, sizeof *tree->bits);
  if (tree->order == NULL || tree->first == NULL || tree->reach == NULL ||
      tree->bits == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  order_pieces(tree);
  return ETX_OK;
}
