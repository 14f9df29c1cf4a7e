#include "cli/page/page_print.h"

#include <string.h>

#include "format/base/span.h"

typedef struct page_file {
  const char* name;
  const unsigned char* bytes;
  size_t size;
} page_file;

#include "cli/page/page_files.h"

typedef struct page_parts {
  const etx_page_part* items;
  size_t count;
} page_parts;

static etx_text content_of(etx_text name) {
  for (size_t i = 0; i < sizeof page_files / sizeof *page_files; ++i) {
    if (!etx_text_equal(name, etx_text_of(page_files[i].name))) continue;
    return (etx_text){(const char*)page_files[i].bytes, page_files[i].size};
  }
  return (etx_text){NULL, 0};
}

// Position of the two bytes in `text` from `at` on, or its end.
static size_t find_pair(etx_text text, size_t at, char byte) {
  while (at + 1 < text.size &&
         (text.data[at] != byte || text.data[at + 1] != byte)) {
    ++at;
  }
  return at + 1 < text.size ? at : text.size;
}

static const etx_page_part* find_part(const page_parts* parts, etx_text name) {
  for (size_t i = 0; i < parts->count; ++i) {
    if (etx_text_equal(name, etx_text_of(parts->items[i].name)))
      return &parts->items[i];
  }
  return NULL;
}

static void put_named(etx_text name, const page_parts* parts, FILE* out) {
  const etx_page_part* const part = find_part(parts, name);
  if (part != NULL) {
    part->print(part->context, out);
    return;
  }
  const etx_text content = content_of(name);
  if (content.size > 0) fwrite(content.data, 1, content.size, out);
}

void etx_page_print(const char* name, const etx_page_part* parts,
                    size_t part_count, FILE* out) {
  const page_parts list = {parts, part_count};
  const etx_text page = content_of(etx_text_of(name));
  size_t at = 0;
  while (at < page.size) {
    const size_t mark = find_pair(page, at, '{');
    const size_t end = find_pair(page, mark, '}');
    fwrite(page.data + at, 1, mark - at, out);
    if (end == page.size) return;
    put_named((etx_text){page.data + mark + 2, end - mark - 2}, &list, out);
    at = end + 2;
  }
}
