#include "exporter/read_gguf/gguf_pairs.h"

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static etx_text trimmed(etx_text text) {
  while (text.size != 0 && is_space(text.data[0])) {
    ++text.data;
    --text.size;
  }
  while (text.size != 0 && is_space(text.data[text.size - 1])) --text.size;
  return text;
}

// Takes the text up to `mark` from `rest`; all of it if there is no mark.
static etx_text take_until(etx_text* rest, char mark, bool* out_found) {
  const etx_text all = *rest;
  size_t end = 0;
  while (end < all.size && all.data[end] != mark) ++end;
  *out_found = end < all.size;
  const size_t next = *out_found ? end + 1 : end;
  *rest = (etx_text){all.data + next, all.size - next};
  return (etx_text){all.data, end};
}

static etx_status add_line(etx_gguf_name_pairs* pairs, etx_pool* pool,
                           etx_text line, uint32_t number, etx_diag* diag) {
  bool is_pair = false;
  if (line.size == 0 || line.data[0] == '#') return ETX_OK;
  etx_text right = line;
  const etx_text left = trimmed(take_until(&right, '=', &is_pair));
  if (!is_pair || left.size == 0) {
    return etx_diag_fail_line(
        diag, ETX_BAD_FILE, number, 1,
        "'%t' should be 'TENSOR = WEIGHT', a name of the GGUF file and one of "
        "the graph, or 'TENSOR =' to leave the tensor out",
        line);
  }
  ETX_TRY(etx_pool_grow(pool, &pairs->items, pairs->count, &pairs->capacity,
                        sizeof *pairs->items));
  pairs->items[pairs->count++] =
      (etx_gguf_name_pair){left, trimmed(right), number};
  return ETX_OK;
}

etx_status etx_gguf_name_pairs_read(etx_gguf_name_pairs* pairs, etx_pool* pool,
                                    etx_text text, etx_diag* diag) {
  memset(pairs, 0, sizeof *pairs);
  bool has_more = true;
  for (uint32_t number = 1; has_more; ++number) {
    const etx_text line = trimmed(take_until(&text, '\n', &has_more));
    ETX_TRY(add_line(pairs, pool, line, number, diag));
  }
  return ETX_OK;
}
