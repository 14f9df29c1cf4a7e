#include "exporter/read_gguf/gguf_parts.h"

#include <string.h>

#include "exporter/host/host_file.h"

typedef struct parts_reader {
  etx_pool* pool;
  etx_diag* diag;
  etx_text path;    // of the file that was named
  etx_text prefix;  // of all parts' paths
  uint64_t count;
} parts_reader;

static etx_status open_file(const parts_reader* r, etx_text path,
                            etx_gguf_file* out) {
  etx_bytes bytes = {NULL, 0};
  ETX_TRY(etx_file_map(r->pool, path.data, &bytes, r->diag));
  return etx_gguf_open(out, r->pool, path, bytes, r->diag);
}

// 1 without the key, as in a file of its own.
static uint64_t part_count(const etx_gguf_file* file) {
  uint64_t count = 0;
  const bool is_stated =
      etx_gguf_number(file, etx_text_of("split.count"), &count);
  return is_stated && count > 1 ? count : 1;
}

static etx_text padded(etx_pool* pool, uint64_t number) {
  enum { DIGITS = 5 };
  etx_text text = etx_pool_format(pool, "00000%u", number);
  if (text.data == NULL) return text;
  const size_t more = text.size - DIGITS;
  const size_t dropped = more < DIGITS ? more : DIGITS;
  return (etx_text){text.data + dropped, text.size - dropped};
}

static etx_text path_of(const parts_reader* r, uint64_t part) {
  const etx_text number = padded(r->pool, part + 1);
  const etx_text count = padded(r->pool, r->count);
  if (number.data == NULL || count.data == NULL) return (etx_text){NULL, 0};
  return etx_pool_format(r->pool, "%t-%t-of-%t.gguf", r->prefix, number, count);
}

// Finds what precedes "-00001-of-00003.gguf".
static etx_status find_prefix(parts_reader* r, uint64_t part) {
  r->prefix = etx_text_of("");
  const etx_text end = path_of(r, part);
  if (end.data == NULL) return ETX_OUT_OF_MEMORY;
  const size_t size = r->path.size;
  if (size > end.size &&
      memcmp(r->path.data + size - end.size, end.data, end.size) == 0) {
    r->prefix.data = r->path.data;
    r->prefix.size = size - end.size;
    return ETX_OK;
  }
  return etx_diag_fail(r->diag, ETX_BAD_FILE,
                       "'%t' is part %u of %u of a model, and its name does "
                       "not end with '%t', so the others cannot be found",
                       r->path, part + 1, r->count, end);
}

static etx_status open_part(const parts_reader* r, uint64_t part,
                            etx_gguf_file* out) {
  uint64_t number = 0;
  const etx_text path = path_of(r, part);
  if (path.data == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(open_file(r, path, out));
  if (part_count(out) == r->count &&
      etx_gguf_number(out, etx_text_of("split.no"), &number) &&
      number == part) {
    return ETX_OK;
  }
  return etx_diag_fail(r->diag, ETX_BAD_FILE,
                       "'%t' should state that it is part %u of %u (split.no "
                       "%u, split.count %u)",
                       path, part + 1, r->count, part, r->count);
}

static etx_status open_all(parts_reader* r, const etx_gguf_file* named,
                           etx_gguf_file* out) {
  uint64_t number = 0, tensors = 0;
  r->count = part_count(named);
  if (!etx_gguf_number(named, etx_text_of("split.no"), &number) ||
      number >= r->count) {
    return etx_diag_fail(r->diag, ETX_BAD_FILE,
                         "'%t' is one of %u parts: split.no should say which, "
                         "from 0 on",
                         r->path, r->count);
  }
  ETX_TRY(find_prefix(r, number));
  ETX_TRY(open_part(r, 0, out));
  for (uint64_t part = 1; part < r->count; ++part) {
    etx_gguf_file more;
    ETX_TRY(open_part(r, part, &more));
    ETX_TRY(etx_gguf_add(out, r->pool, &more, r->diag));
  }
  if (!etx_gguf_number(out, etx_text_of("split.tensors.count"), &tensors) ||
      tensors == out->tensor_count) {
    return ETX_OK;
  }
  return etx_diag_fail(r->diag, ETX_BAD_FILE,
                       "'%t': the parts have %z tensors, expected %u in all",
                       out->path, out->tensor_count, tensors);
}

etx_status etx_gguf_open_parts(etx_gguf_file* file, etx_pool* pool,
                               etx_text path, etx_diag* diag) {
  parts_reader r = {.pool = pool, .diag = diag, .path = path};
  etx_gguf_file named;
  ETX_TRY(open_file(&r, path, &named));
  if (part_count(&named) > 1) return open_all(&r, &named, file);
  *file = named;
  return ETX_OK;
}
