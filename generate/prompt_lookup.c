#include "generate/prompt_lookup.h"

enum { USUAL_NGRAM = 2 };

// The position behind the last earlier place of the text's last `size` tokens;
// 0: there is none.
static size_t behind_last_match(const int64_t* ids, size_t count, size_t size) {
  const int64_t* const wanted = ids + (count - size);
  for (size_t end = count - 1; end >= size; --end) {
    size_t same = 0;
    while (same < size && ids[end - size + same] == wanted[same]) ++same;
    if (same == size) return end;
  }
  return 0;
}

// of etx_draft_source
static etx_status propose(void* context, const etx_text_so_far* text,
                          size_t most, int64_t* out_ids, size_t* out_count,
                          etx_diag* diag) {
  const etx_prompt_lookup* const lookup = context;
  const int64_t* const ids = text->ids + text->padding;
  const size_t count = text->count - text->padding;
  size_t size = lookup->max_matching_ngram_size;
  (void)diag;
  if (size == 0) size = USUAL_NGRAM;
  if (size >= count) size = count - 1;
  *out_count = 0;
  if (most > lookup->prompt_lookup_num_tokens) {
    most = lookup->prompt_lookup_num_tokens;
  }
  for (; size > 0; --size) {
    const size_t found = behind_last_match(ids, count, size);
    if (found == 0) continue;
    while (*out_count < most && found + *out_count < count) {
      out_ids[*out_count] = ids[found + *out_count];
      ++*out_count;
    }
    break;
  }
  return ETX_OK;
}

etx_draft_source etx_prompt_lookup_source(etx_prompt_lookup* lookup) {
  return (etx_draft_source){propose, lookup};
}
