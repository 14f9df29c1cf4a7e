#include "tokenizer/charsmap.h"

static uint32_t unit_at(const etx_charsmap* map, size_t index) {
  const uint8_t* const u = map->units + 4 * index;
  return (uint32_t)u[0] | (uint32_t)u[1] << 8 | (uint32_t)u[2] << 16 |
         (uint32_t)u[3] << 24;
}

// The text that begins at byte `begin`. False: it is outside of the map.
static bool text_of_leaf(const etx_charsmap* map, size_t begin, etx_text* out) {
  if (begin >= map->texts.size) return false;
  size_t end = begin;
  while (end < map->texts.size && map->texts.data[end] != '\0') ++end;
  *out = (etx_text){map->texts.data + begin, end - begin};
  return true;
}

// A double array as darts-clone writes it: label in 8 bits and bit 31, a leaf
// follows if bit 8 is set, the offset is in bits 10 to 31, times 256 if bit 9
// is set. Returns the bytes of the shortest prefix of `text` that it has, or of
// the longest; 0: none.
static size_t find_prefix(const etx_charsmap* map, etx_bytes text,
                          bool is_longest, etx_text* out) {
  size_t found = 0;
  size_t node = 0;
  if (map->unit_count == 0) return 0;
  uint32_t unit = unit_at(map, 0);
  node ^= (size_t)(unit >> 10) << (unit >> 6 & 8);
  for (size_t i = 0; i < text.size && text.data[i] != 0; ++i) {
    node ^= text.data[i];
    if (node >= map->unit_count) break;
    unit = unit_at(map, node);
    if ((unit & (1u << 31 | 0xFF)) != text.data[i]) break;
    node ^= (size_t)(unit >> 10) << (unit >> 6 & 8);
    if ((unit >> 8 & 1) == 0) continue;
    if (node >= map->unit_count ||
        !text_of_leaf(map, unit_at(map, node) & 0x7FFFFFFF, out)) {
      break;
    }
    found = i + 1;
    if (!is_longest) break;
  }
  return found;
}

bool etx_charsmap_find(const etx_charsmap* map, etx_bytes text, etx_text* out) {
  return find_prefix(map, text, false, out) != 0;
}

size_t etx_charsmap_find_longest(const etx_charsmap* map, etx_bytes text,
                                 etx_text* out) {
  return find_prefix(map, text, true, out);
}

static void find_those_that_stay(etx_charsmap* map) {
  for (size_t i = 0; i < sizeof map->stays; ++i) {
    const uint8_t c = (uint8_t)i;
    etx_text text;
    map->stays[i] =
        c != '\r' && !etx_charsmap_find(map, (etx_bytes){&c, 1}, &text);
  }
}

etx_status etx_charsmap_read(etx_bytes map, etx_charsmap* out, etx_diag* diag) {
  const uint8_t* const bytes = map.data;
  const size_t count = map.size;
  if (count == 0) return ETX_OK;
  const uint32_t trie =
      count < 4 ? UINT32_MAX
                : (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 |
                      (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
  if (trie > count - 4 || trie % 4 != 0) {
    return etx_diag_fail(
        diag, ETX_BAD_FILE,
        "'precompiled_charsmap' has %z bytes, which its trie of %u "
        "bytes does not fit into",
        count, (uint64_t)trie);
  }
  out->units = bytes + 4;
  out->unit_count = trie / 4;
  out->texts = (etx_text){(const char*)bytes + 4 + trie, count - 4 - trie};
  find_those_that_stay(out);
  return ETX_OK;
}
