#include "cli/verify/verify_interval_tree.h"

#include <string.h>

enum { WORD_BITS = 64 };

static bool is_valid(const etx_verify_interval_tree* tree, size_t piece) {
  return (tree->bits[piece / WORD_BITS] >> (piece % WORD_BITS) & 1) != 0;
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void set_reach(etx_verify_interval_tree* tree, size_t piece,
                      uint64_t reach) {
  size_t node = tree->leaves + piece;
  tree->reach[node] = reach;
  for (node /= 2; node > 0; node /= 2) {
    tree->reach[node] =
        larger(tree->reach[2 * node], tree->reach[2 * node + 1]);
  }
}

static void add_piece(etx_verify_interval_tree* tree, size_t piece) {
  if (is_valid(tree, piece)) return;
  tree->bits[piece / WORD_BITS] |= UINT64_C(1) << (piece % WORD_BITS);
  set_reach(tree, piece, tree->pieces[piece].range.end);
}

void etx_verify_interval_tree_remove_one(etx_verify_interval_tree* tree,
                                         size_t piece) {
  if (!is_valid(tree, piece)) return;
  tree->bits[piece / WORD_BITS] &= ~(UINT64_C(1) << (piece % WORD_BITS));
  set_reach(tree, piece, 0);
}

void etx_verify_interval_tree_remove(etx_verify_interval_tree* tree,
                                     uint32_t owner) {
  const size_t count = etx_verify_interval_count(tree, owner);
  for (size_t i = 0; i < count; ++i) {
    etx_verify_interval_tree_remove_one(tree,
                                        etx_verify_interval_at(tree, owner, i));
  }
}

// The pieces of an owner that a range overlaps are [*out_low, *out_high); all
// of them if it takes over headers.
static void find_pieces(const etx_verify_interval_tree* tree, uint32_t owner,
                        etx_verify_range range, size_t* out_low,
                        size_t* out_high) {
  const size_t count = etx_verify_interval_count(tree, owner);
  size_t low = 0;
  size_t high = count;
  *out_low = 0;
  *out_high = count;
  if (tree->m->values[owner].is_rebound) return;
  // Pieces of one value are disjoint and ascending. Find the first that ends
  // after the start of the range, then all that start before its end.
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const size_t piece = etx_verify_interval_at(tree, owner, middle);
    if (tree->pieces[piece].range.end <= range.start) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  *out_low = low;
  while (low < count &&
         tree->pieces[etx_verify_interval_at(tree, owner, low)].range.start <
             range.end) {
    ++low;
  }
  *out_high = low;
}

bool etx_verify_interval_tree_has(const etx_verify_interval_tree* tree,
                                  uint32_t owner, etx_verify_range range) {
  size_t low = 0;
  size_t high = 0;
  find_pieces(tree, owner, range, &low, &high);
  for (size_t i = low; i < high; ++i) {
    if (!is_valid(tree, etx_verify_interval_at(tree, owner, i))) return false;
  }
  return low < high;
}

void etx_verify_interval_tree_add(etx_verify_interval_tree* tree,
                                  uint32_t owner, etx_verify_range range) {
  size_t low = 0;
  size_t high = 0;
  find_pieces(tree, owner, range, &low, &high);
  for (size_t i = low; i < high; ++i) {
    add_piece(tree, etx_verify_interval_at(tree, owner, i));
  }
}

void etx_verify_interval_tree_load(etx_verify_interval_tree* tree,
                                   const uint64_t* bits) {
  memmove(tree->bits, bits, tree->word_count * sizeof *bits);
  for (size_t i = 0; i < tree->count; ++i) {
    tree->reach[tree->leaves + i] =
        is_valid(tree, i) ? tree->pieces[i].range.end : 0;
  }
  for (size_t node = tree->leaves - 1; node > 0; --node) {
    tree->reach[node] =
        larger(tree->reach[2 * node], tree->reach[2 * node + 1]);
  }
}

// The number of pieces that start before `position`.
static size_t starts_before(const etx_verify_interval_tree* tree,
                            uint64_t position) {
  size_t low = 0;
  size_t high = tree->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (tree->pieces[middle].range.start < position) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

size_t etx_verify_interval_tree_next(const etx_verify_interval_tree* tree,
                                     etx_verify_range range, size_t from) {
  const size_t limit = starts_before(tree, range.end);
  if (from >= limit) return SIZE_MAX;
  size_t node = tree->leaves + from;
  // Go up and right to a subtree whose reach is behind the range's start, then
  // down to its first such leaf.
  while (tree->reach[node] <= range.start) {
    while ((node & 1) != 0) node /= 2;
    if (node == 0) return SIZE_MAX;
    node += 1;
  }
  while (node < tree->leaves) {
    node *= 2;
    if (tree->reach[node] <= range.start) node += 1;
  }
  const size_t piece = node - tree->leaves;
  return piece < limit ? piece : SIZE_MAX;
}
