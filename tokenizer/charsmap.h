// The map of characters of `Precompiled` and of SentencePiece: a double array
// and the texts it leads to. Internal to tokenizer/.

#ifndef ETX_TOKENIZER_CHARSMAP_H
#define ETX_TOKENIZER_CHARSMAP_H

#include "format/base/diag.h"
#include "format/base/span.h"

typedef struct etx_charsmap {
  const uint8_t* units;  // 4 bytes each, little endian
  size_t unit_count;
  etx_text texts;  // each ends with a zero byte
  // By character of ASCII: the map has none that begins with it alone. A line
  // feed behind a carriage return belongs to it, so that one does not stay.
  bool stays[128];
} etx_charsmap;

// Finds the parts of a map. Bytes are borrowed; without any the map is empty.
ETX_MUST_USE etx_status etx_charsmap_read(etx_bytes map, etx_charsmap* out,
                                          etx_diag* diag);

// The text of a Precompiled map for the shortest prefix of `text` that it has;
// false: none.
bool etx_charsmap_find(const etx_charsmap* map, etx_bytes text, etx_text* out);
// The same for the longest prefix that the map has; returns its bytes, 0: none.
size_t etx_charsmap_find_longest(const etx_charsmap* map, etx_bytes text,
                                 etx_text* out);

#endif
