#include "cli/verify/verify_interval_tree.h"

#include <string.h>

enum { WORD_BITS = 64 };

static bool holds(const etx_verify_interval_tree* intact, size_t piece) {
  return (intact->bits[piece / WORD_BITS] >> (piece % WORD_BITS) & 1) != 0;
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void set_reach(etx_verify_interval_tree* intact, size_t piece,
                      uint64_t reach) {
  size_t node = intact->leaves + piece;
  intact->reach[node] = reach;
  for (node /= 2; node > 0; node /= 2) {
    intact->reach[node] =
        larger(intact->reach[2 * node], intact->reach[2 * node + 1]);
  }
}

static void add_piece(etx_verify_interval_tree* intact, size_t piece) {
  if (holds(intact, piece)) return;
  intact->bits[piece / WORD_BITS] |= UINT64_C(1) << (piece % WORD_BITS);
  set_reach(intact, piece, intact->pieces[piece].range.end);
}

void etx_verify_interval_tree_remove_one(etx_verify_interval_tree* intact,
                                         size_t piece) {
  if (!holds(intact, piece)) return;
  intact->bits[piece / WORD_BITS] &= ~(UINT64_C(1) << (piece % WORD_BITS));
  set_reach(intact, piece, 0);
}

void etx_verify_interval_tree_remove(etx_verify_interval_tree* intact,
                                     uint32_t owner) {
  const size_t count = etx_verify_interval_count(intact, owner);
  for (size_t i = 0; i < count; ++i) {
    etx_verify_interval_tree_remove_one(
        intact, etx_verify_interval_at(intact, owner, i));
  }
}

// The pieces of an owner that a range overlaps are [*out_low, *out_high); all
// of them if it takes over headers.
static void find_pieces(const etx_verify_interval_tree* intact, uint32_t owner,
                        etx_verify_range range, size_t* out_low,
                        size_t* out_high) {
  const size_t count = etx_verify_interval_count(intact, owner);
  size_t low = 0;
  size_t high = count;
  *out_low = 0;
  *out_high = count;
  if (intact->m->values[owner].is_rebound) return;
  // Pieces of one value follow each other: the first that ends behind the
  // start of the range, and from there those that start before its end.
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const size_t piece = etx_verify_interval_at(intact, owner, middle);
    if (intact->pieces[piece].range.end <= range.start) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  *out_low = low;
  while (
      low < count &&
      intact->pieces[etx_verify_interval_at(intact, owner, low)].range.start <
          range.end) {
    ++low;
  }
  *out_high = low;
}

bool etx_verify_interval_tree_has(const etx_verify_interval_tree* intact,
                                  uint32_t owner, etx_verify_range range) {
  size_t low = 0;
  size_t high = 0;
  find_pieces(intact, owner, range, &low, &high);
  for (size_t i = low; i < high; ++i) {
    if (!holds(intact, etx_verify_interval_at(intact, owner, i))) return false;
  }
  return low < high;
}

void etx_verify_interval_tree_add(etx_verify_interval_tree* intact,
                                  uint32_t owner, etx_verify_range range) {
  size_t low = 0;
  size_t high = 0;
  find_pieces(intact, owner, range, &low, &high);
  for (size_t i = low; i < high; ++i) {
    add_piece(intact, etx_verify_interval_at(intact, owner, i));
  }
}

void etx_verify_interval_tree_load(etx_verify_interval_tree* intact,
                                   const uint64_t* bits) {
  memmove(intact->bits, bits, intact->word_count * sizeof *bits);
  for (size_t i = 0; i < intact->count; ++i) {
    intact->reach[intact->leaves + i] =
        holds(intact, i) ? intact->pieces[i].range.end : 0;
  }
  for (size_t node = intact->leaves - 1; node > 0; --node) {
    intact->reach[node] =
        larger(intact->reach[2 * node], intact->reach[2 * node + 1]);
  }
}

// Pieces that start before `position`.
static size_t starts_before(const etx_verify_interval_tree* intact,
                            uint64_t position) {
  size_t low = 0;
  size_t high = intact->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (intact->pieces[middle].range.start < position) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

size_t etx_verify_interval_tree_next(const etx_verify_interval_tree* intact,
                                     etx_verify_range range, size_t from) {
  const size_t limit = starts_before(intact, range.end);
  if (from >= limit || range.start >= range.end) return SIZE_MAX;
  size_t node = intact->leaves + from;
  // Up and to the right until something reaches far enough, then down to it.
  while (intact->reach[node] <= range.start) {
    while ((node & 1) != 0) node /= 2;
    if (node == 0) return SIZE_MAX;
    node += 1;
  }
  while (node < intact->leaves) {
    node *= 2;
    if (intact->reach[node] <= range.start) node += 1;
  }
  const size_t piece = node - intact->leaves;
  return piece < limit ? piece : SIZE_MAX;
}
