// A tree of bitmaps with 64 children per node. Searching goes up to the first
// word with a bit on the wanted side, then down along the nearest bits.

#include "planner/validation/hierarchical_bitset.h"

#include <string.h>

#include "format/base/reachability.h"
#include "planner/problem/plan_workspace.h"

enum { WORD_BITS = 64 };

static bool take_level(etx_hierarchical_bitset* set, etx_arena* work,
                       size_t words) {
  uint64_t* memory = NULL;
  const size_t level = set->level_count;
  if (!etx_plan_take_u64(work, words, &memory)) return false;
  if (memory != NULL) memset(memory, 0, words * sizeof *memory);
  set->levels[level] = memory;
  set->words[level] = words;
  set->level_count = level + 1;
  return true;
}

bool etx_hierarchical_bitset_take(etx_hierarchical_bitset* set, etx_arena* work,
                                  size_t capacity) {
  size_t words = capacity / WORD_BITS + 1;
  set->level_count = 0;
  while (set->level_count < ETX_PLAN_SET_LEVELS) {
    if (!take_level(set, work, words)) return false;
    if (words == 1) return true;
    words = (words + WORD_BITS - 1) / WORD_BITS;
  }
  return false;
}

void etx_hierarchical_bitset_insert(etx_hierarchical_bitset* set,
                                    size_t number) {
  for (size_t level = 0; level < set->level_count; ++level) {
    set->levels[level][number / WORD_BITS] |= UINT64_C(1)
                                              << (number % WORD_BITS);
    number /= WORD_BITS;
  }
}

void etx_hierarchical_bitset_remove(etx_hierarchical_bitset* set,
                                    size_t number) {
  for (size_t level = 0; level < set->level_count; ++level) {
    uint64_t* const word = &set->levels[level][number / WORD_BITS];
    *word &= ~(UINT64_C(1) << (number % WORD_BITS));
    if (*word != 0) return;
    number /= WORD_BITS;
  }
}

static size_t lowest_bit(uint64_t word) {
  return (size_t)__builtin_ctzll(word);
}

static size_t highest_bit(uint64_t word) {
  return WORD_BITS - 1 - (size_t)__builtin_clzll(word);
}

size_t etx_hierarchical_bitset_next(const etx_hierarchical_bitset* set,
                                    size_t number) {
  for (size_t level = 0; level < set->level_count; ++level) {
    const size_t word = number / WORD_BITS;
    if (word >= set->words[level]) return ETX_PLAN_SET_NONE;
    const uint64_t found =
        set->levels[level][word] & (UINT64_MAX << (number % WORD_BITS));
    if (found != 0) {
      number = word * WORD_BITS + lowest_bit(found);
      while (level-- > 0) {
        number = number * WORD_BITS + lowest_bit(set->levels[level][number]);
      }
      return number;
    }
    number = word + 1;
  }
  return ETX_PLAN_SET_NONE;
}

size_t etx_hierarchical_bitset_previous(const etx_hierarchical_bitset* set,
                                        size_t number) {
  // The topmost level has one word.
  for (size_t level = 0; ETX_ALWAYS(level < set->level_count); ++level) {
    const size_t word = number / WORD_BITS;
    const uint64_t found = set->levels[level][word] &
                           (UINT64_MAX >> (WORD_BITS - 1 - number % WORD_BITS));
    if (found != 0) {
      number = word * WORD_BITS + highest_bit(found);
      while (level-- > 0) {
        number = number * WORD_BITS + highest_bit(set->levels[level][number]);
      }
      return number;
    }
    if (word == 0) return ETX_PLAN_SET_NONE;
    number = word - 1;
  }
  return ETX_PLAN_SET_NONE;
}
