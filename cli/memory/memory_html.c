// Fills the template page.html: {{name}} is replaced by the file of that name
// in cli/memory/page, and {{data}} by the map as JSON. The build embeds these
// files in the generated header page_files.h.

#include <string.h>

#include "cli/memory/memory_formats.h"

typedef struct page_file {
  const char* name;
  const unsigned char* bytes;
  size_t size;
} page_file;

#include "cli/memory/page_files.h"

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

void etx_memory_html_print(const etx_memory_map* map, const char* path,
                           FILE* out) {
  const etx_text page = content_of(etx_text_of("page.html"));
  size_t at = 0;
  while (at < page.size) {
    const size_t mark = find_pair(page, at, '{');
    const size_t end = find_pair(page, mark, '}');
    fwrite(page.data + at, 1, mark - at, out);
    if (end == page.size) return;
    const etx_text name = {page.data + mark + 2, end - mark - 2};
    const etx_text content = content_of(name);
    if (etx_text_equal(name, etx_text_of("data"))) {
      etx_memory_json_print(map, path, out);
    } else {
      fwrite(content.data, 1, content.size, out);
    }
    at = end + 2;
  }
}
