// Radix sort from the least significant digit. Each entry holds the key and the
// item, so a pass reads memory in order. The digits are counted in one pass,
// and a digit that all keys share is skipped. Small arrays are sorted by
// insertion.

#include "planner/problem/plan_sort.h"

#include <stdbool.h>
#include <string.h>

enum {
  DIGIT_BITS = 11,
  DIGITS = 3,
  BUCKETS = 1 << DIGIT_BITS,
  FEW = 48  // below which counting digits costs more than it saves
};

static size_t digit_of(uint64_t entry, size_t digit) {
  return (size_t)(entry >> (32 + digit * DIGIT_BITS)) & (BUCKETS - 1);
}

static void insert_each(uint64_t* entries, size_t count) {
  for (size_t i = 1; i < count; ++i) {
    const uint64_t entry = entries[i];
    size_t at = i;
    for (; at > 0 && entries[at - 1] >> 32 > entry >> 32; --at) {
      entries[at] = entries[at - 1];
    }
    entries[at] = entry;
  }
}

// The number of entries with each digit value; then the position of the next
// one.
typedef struct digit_counts {
  uint32_t of[DIGITS][BUCKETS];
} digit_counts;

static void count_digits(const uint64_t* entries, size_t count,
                         digit_counts* counts) {
  memset(counts, 0, sizeof *counts);
  for (size_t i = 0; i < count; ++i) {
    for (size_t digit = 0; digit < DIGITS; ++digit) {
      counts->of[digit][digit_of(entries[i], digit)] += 1;
    }
  }
}

// Sorts by one digit from `from` to `to`.
static void distribute(const uint64_t* from, uint64_t* to, size_t count,
                       size_t digit, uint32_t* places) {
  uint32_t end = 0;
  for (size_t bucket = 0; bucket < BUCKETS; ++bucket) {
    const uint32_t size = places[bucket];
    places[bucket] = end;
    end += size;
  }
  for (size_t i = 0; i < count; ++i) {
    to[places[digit_of(from[i], digit)]++] = from[i];
  }
}

// Returns where the sorted entries are: `from` or `to`.
static uint64_t* distribute_each(uint64_t* from, uint64_t* to, size_t count) {
  digit_counts counts;
  count_digits(from, count, &counts);
  for (size_t digit = 0; digit < DIGITS; ++digit) {
    uint32_t* const places = counts.of[digit];
    if (places[digit_of(from[0], digit)] == count) continue;
    distribute(from, to, count, digit, places);
    uint64_t* const swapped = from;
    from = to;
    to = swapped;
  }
  return from;
}

void etx_plan_sort(uint32_t* items, size_t count, etx_plan_key key,
                   const void* context, uint64_t* scratch) {
  uint64_t* entries = scratch;
  bool is_sorted = true;
  for (size_t i = 0; i < count; ++i) {
    entries[i] = (uint64_t)key(context, items[i]) << 32 | items[i];
    if (i > 0 && entries[i] >> 32 < entries[i - 1] >> 32) is_sorted = false;
  }
  if (is_sorted) return;
  if (count < FEW) {
    insert_each(entries, count);
  } else {
    entries = distribute_each(entries, scratch + count, count);
  }
  for (size_t i = 0; i < count; ++i) items[i] = (uint32_t)entries[i];
}
