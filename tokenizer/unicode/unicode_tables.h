// The generated tables of unicode.c. Internal to tokenizer/unicode/.
//
// A table in two stages has numbers of pages, one for each 128 code points, and
// the content of the pages. scripts/unicode_tables.py writes them.

#ifndef ETX_TOKENIZER_UNICODE_UNICODE_TABLES_H
#define ETX_TOKENIZER_UNICODE_UNICODE_TABLES_H

#include <stddef.h>
#include <stdint.h>

// Category and flags (unicode.h) by the number of the kind.
extern const uint32_t etx_unicode_kinds[];
extern const uint16_t etx_unicode_kind_pages[];
extern const uint8_t etx_unicode_kind[];
// Canonical combining classes.
extern const uint8_t etx_unicode_combining_pages[];
extern const uint8_t etx_unicode_combining[];
// Positions in etx_unicode_texts, 0 for a code point that stays as it is.
extern const uint8_t etx_unicode_canonical_pages[];
extern const uint16_t etx_unicode_canonical[];
extern const uint8_t etx_unicode_compatible_pages[];
extern const uint16_t etx_unicode_compatible[];
extern const uint8_t etx_unicode_lower_pages[];
extern const uint16_t etx_unicode_lower[];
// Texts: a count, then as many code points.
extern const uint32_t etx_unicode_texts[];
// Pairs that are composed, sorted: first, second, composed.
extern const uint32_t etx_unicode_pairs[];
extern const size_t etx_unicode_pair_count;

#endif
