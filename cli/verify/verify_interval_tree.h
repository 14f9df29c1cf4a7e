// The set of valid byte intervals.
//
//   a        |--------------------------|      a value, and two views of it
//   views        |------|       |-------|
//   pieces   |---|------|-------|-------|      each is valid or not
//
// A value is cut into pieces at the starts and ends of its views, so a read of
// the value or a view always covers whole pieces. A value that takes over
// headers has one piece for each of its possible ranges. The pieces are sorted
// once by start. A segment tree over them stores for each subtree the largest
// end of its valid pieces, so each valid piece that overlaps a range is found
// in O(log n).

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
  uint64_t* reach;  // segment tree: the largest end of valid pieces below
  size_t leaves;    // a power of two
  uint64_t* bits;   // one for each piece: it is valid
  size_t word_count;
} etx_verify_interval_tree;

// Builds the tree with no valid piece. The possible ranges of all values of `m`
// must be known. All bytes of `tree` have to be zero.
ETX_MUST_USE etx_status etx_verify_interval_tree_init(
    etx_verify_interval_tree* tree, const etx_verify_method* m);

// True if `range` overlaps at least one piece of `owner`, and all that it
// overlaps are valid. For a value that takes over headers `range` is ignored:
// all its pieces count.
bool etx_verify_interval_tree_has(const etx_verify_interval_tree* tree,
                                  uint32_t owner, etx_verify_range range);

// Makes the pieces of `owner` that `range` overlaps valid.
void etx_verify_interval_tree_add(etx_verify_interval_tree* tree,
                                  uint32_t owner, etx_verify_range range);

// Makes all pieces of `owner` invalid.
void etx_verify_interval_tree_remove(etx_verify_interval_tree* tree,
                                     uint32_t owner);

// Makes one piece invalid.
void etx_verify_interval_tree_remove_one(etx_verify_interval_tree* tree,
                                         size_t piece);

// Makes exactly the pieces of `bits` valid.
void etx_verify_interval_tree_load(etx_verify_interval_tree* tree,
                                   const uint64_t* bits);

// The first valid piece at or after `from` that overlaps `range`; SIZE_MAX if
// there is none. To find the next one, call it again with the result + 1.
size_t etx_verify_interval_tree_next(const etx_verify_interval_tree* tree,
                                     etx_verify_range range, size_t from);

// The pieces of a value, in the order of their starts.
static inline size_t etx_verify_interval_count(
    const etx_verify_interval_tree* tree, uint32_t value) {
  return tree->first[value + 1] - tree->first[value];
}
static inline size_t etx_verify_interval_at(
    const etx_verify_interval_tree* tree, uint32_t value, size_t index) {
  return tree->order[tree->first[value] + index];
}

#endif
