// Bytes that still hold the value they belong to.
//
//   a        |--------------------------|      a value, and two views of it
//   views        |------|       |-------|
//   pieces   |---|------|-------|-------|      each holds or does not
//
// A value is cut into pieces where its views begin and end, so that a read
// of any of them covers whole pieces. A value that takes over headers has
// one piece for every place where it may lie. All pieces are sorted once by
// where they start. A tree over them knows for every subtree how far its
// holding pieces reach, so those that a written range overlaps are found in
// O(log n) each.

#ifndef ETX_CLI_VERIFY_VERIFY_INTERVAL_TREE_H
#define ETX_CLI_VERIFY_VERIFY_INTERVAL_TREE_H

#include "cli/verify/verify_internal.h"

typedef struct etx_verify_interval {
  etx_verify_range range;
  uint32_t owner;  // the value that it is a piece of
} etx_verify_interval;

typedef struct etx_verify_interval_tree {
  const etx_verify_method* m;
  etx_verify_interval* pieces;  // ascending starts
  size_t count;
  uint32_t* order;  // pieces by owner, ascending starts
  uint32_t* first;  // by value: its pieces are order[first[v]] up to
                    // order[first[v + 1]]
  uint64_t* reach;  // tree: largest end of holding pieces below
  size_t leaves;    // a power of two
  uint64_t* bits;   // one for each piece: it holds
  size_t word_count;
} etx_verify_interval_tree;

// Starts with nothing that holds. All places of `m` are known.
ETX_MUST_USE etx_status etx_verify_interval_tree_init(
    etx_verify_interval_tree* intact, const etx_verify_method* m);

// True if all pieces of `owner` that `range` overlaps hold, and there is one.
// A value that takes over headers holds everywhere or not at all.
bool etx_verify_interval_tree_has(const etx_verify_interval_tree* intact,
                                  uint32_t owner, etx_verify_range range);

// Makes the pieces of `owner` that `range` overlaps hold.
void etx_verify_interval_tree_add(etx_verify_interval_tree* intact,
                                  uint32_t owner, etx_verify_range range);

// Makes all pieces of `owner` not hold.
void etx_verify_interval_tree_remove(etx_verify_interval_tree* intact,
                                     uint32_t owner);

// Makes one piece not hold.
void etx_verify_interval_tree_remove_one(etx_verify_interval_tree* intact,
                                         size_t piece);

// Makes exactly the pieces of `bits` hold.
void etx_verify_interval_tree_load(etx_verify_interval_tree* intact,
                                   const uint64_t* bits);

// The first holding piece at or after `from` that overlaps `range`; SIZE_MAX
// if there is none. Go on with the one after it.
size_t etx_verify_interval_tree_next(const etx_verify_interval_tree* intact,
                                     etx_verify_range range, size_t from);

// The pieces of a value, in the order of their starts.
static inline size_t etx_verify_interval_count(
    const etx_verify_interval_tree* intact, uint32_t value) {
  return intact->first[value + 1] - intact->first[value];
}
static inline size_t etx_verify_interval_at(
    const etx_verify_interval_tree* intact, uint32_t value, size_t index) {
  return intact->order[intact->first[value] + index];
}

#endif
