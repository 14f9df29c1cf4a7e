// Regular expressions of tokenizers, in the syntax of Oniguruma that the
// package `tokenizers` uses: a backtracking matcher without recursion.
//
// Taken: literals, '.', classes with ranges, negation and classes within them
// that are not negated, \p{..} and \P{..} of a general category, \s \S \d \D \w
// \W, groups, alternation, the quantifiers ? * + {n,m} greedy, lazy (?) and
// possessive (+), lookahead, atomic groups, (?i:..) for ASCII letters, ^ $ \A
// \z \Z \b \B. All else is refused with its position: look-behind,
// back-references, and a repeated group that can be empty.
//
// Work is bounded: a search that tries more than ETX_PATTERN_STEPS_FIXED +
// ETX_PATTERN_STEPS_PER_BYTE x size steps for one text ends with an error.

#ifndef ETX_TOKENIZER_PATTERN_PATTERN_H
#define ETX_TOKENIZER_PATTERN_PATTERN_H

#include "format/base/arena.h"
#include "format/base/diag.h"
#include "format/base/span.h"

enum {
  ETX_PATTERN_STEPS_FIXED = 100000,
  ETX_PATTERN_STEPS_PER_BYTE = 1000,
  ETX_PATTERN_CODE_MAX = 4096,   // instructions of a pattern
  ETX_PATTERN_SETS_MAX = 512,    // sets of characters
  ETX_PATTERN_RANGES_MAX = 2048  // ranges in all sets
};

// A range of code points.
typedef struct etx_pattern_range {
  uint32_t first, last;
} etx_pattern_range;

// A set of characters: what its parts have, or lack if `negated`.
typedef struct etx_pattern_set {
  uint32_t ascii[4];    // the answer for code points below 128
  uint32_t categories;  // one bit for each general category
  uint32_t flags;       // of etx_unicode_kind_of: a character with one is in
  uint32_t lacks;       // a character without one of these is in
  uint16_t range_first, range_count;
  bool negated;
} etx_pattern_set;

// An instruction; places are relative to it.
typedef struct etx_pattern_code {
  uint8_t kind, mode;
  uint16_t set;
  uint32_t least, most;  // repetitions of a set
  int32_t first, second;
} etx_pattern_code;

typedef struct etx_pattern {
  etx_pattern_code* code;
  etx_pattern_set* sets;
  etx_pattern_range* ranges;
  size_t code_count, set_count, range_count;
} etx_pattern;

// Bytes of memory that any pattern of `size` bytes fits into.
size_t etx_pattern_bound(size_t size);

// Compiles `text` into memory of `arena`, at most etx_pattern_bound bytes.
// ETX_UNSUPPORTED: the message has the pattern and the byte.
ETX_MUST_USE etx_status etx_pattern_compile(etx_text text, etx_arena* arena,
                                            etx_pattern* out, etx_diag* diag);

// Searches of one text, which is valid UTF-8.
typedef struct etx_pattern_search {
  const etx_pattern* pattern;
  etx_bytes text;
  etx_bytes_mut stack;  // aligned to 8
  uint64_t steps;       // that are left
  size_t used;          // frames of the stack, while a match is tried
  etx_status status;    // OUT_OF_RANGE: too many steps; OUT_OF_MEMORY: stack
} etx_pattern_search;

void etx_pattern_search_init(etx_pattern_search* search,
                             const etx_pattern* pattern, etx_bytes text,
                             etx_bytes_mut stack);
// Finds the first match at or after `from`. False: none, or search->status.
bool etx_pattern_find(etx_pattern_search* search, size_t from,
                      size_t* out_begin, size_t* out_end);

#endif
