// The values whose bytes still hold them, found by their bytes.
//
// All places of all values are sorted once by where they start. A tree over
// them knows for every subtree how far its intact places reach, so those that
// a written range overlaps are found in O(log n) each.

#ifndef ETX_CLI_VERIFY_INTACT_H
#define ETX_CLI_VERIFY_INTACT_H

#include "cli/verify_internal.h"

typedef struct etx_verify_intact {
  const etx_verify_method* m;
  uint32_t* owners;          // by entry: the value that it is a place of
  etx_verify_range* ranges;  // by entry: ascending starts
  size_t count;              // entries
  uint32_t* entries;         // of each value, in the order of its places
  uint32_t* first_entry;     // by value: position in `entries`
  uint64_t* reach;           // tree: largest end of intact entries below
  size_t leaves;             // a power of two
  uint64_t* bits;            // one for each value: it is intact
  size_t word_count;
} etx_verify_intact;

// Starts with nothing intact. All places of `m` are known.
ETX_MUST_USE etx_status etx_verify_intact_init(etx_verify_intact* intact,
                                               const etx_verify_method* m);

bool etx_verify_intact_has(const etx_verify_intact* intact, uint32_t value);
void etx_verify_intact_add(etx_verify_intact* intact, uint32_t value);
void etx_verify_intact_remove(etx_verify_intact* intact, uint32_t value);

// Makes exactly the values of `bits` intact.
void etx_verify_intact_load(etx_verify_intact* intact, const uint64_t* bits);

// The first intact place at or after entry `from` that overlaps `range`;
// SIZE_MAX if there is none. Go on with the entry after it.
size_t etx_verify_intact_next(const etx_verify_intact* intact,
                              etx_verify_range range, size_t from);

#endif
