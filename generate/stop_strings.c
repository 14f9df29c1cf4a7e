// Strings are compared from their last byte backwards over the texts of tokens,
// so nothing is remembered between tokens, and beams that change places need no
// care.

#include "generate/stop_strings.h"

// True if the first `size` bytes of the last token's text end in `string`, with
// what earlier tokens have before them.
static bool ends_in(const etx_token_texts* texts, const int64_t* ids,
                    size_t count, size_t size, etx_text string) {
  size_t left = string.size;
  for (size_t i = count; i-- > 0;) {
    const etx_text text = texts->text_of(texts->context, ids[i]);
    const size_t have = i + 1 == count ? size : text.size;
    const size_t common = have < left ? have : left;
    if (common != 0 && memcmp(text.data + have - common,
                              string.data + left - common, common) != 0) {
      return false;
    }
    left -= common;
    if (left == 0) return true;
  }
  return false;
}

bool etx_stop_strings_found(const etx_generation_config* config,
                            const etx_token_texts* texts, const int64_t* ids,
                            size_t count) {
  if (config->stop_string_count == 0 || count == 0) return false;
  const size_t size = texts->text_of(texts->context, ids[count - 1]).size;
  for (size_t i = 0; i < config->stop_string_count; ++i) {
    for (size_t end = 1; end <= size; ++end) {
      if (ends_in(texts, ids, count, end, config->stop_strings[i])) return true;
    }
  }
  return false;
}
