#include "cli/memory/memory_formats.h"
#include "cli/page/page_print.h"

typedef struct memory_page {
  const etx_memory_map* map;
  const char* path;
} memory_page;

static void print_map(const void* context, FILE* out) {
  const memory_page* const data = context;
  etx_memory_json_print(data->map, data->path, out);
}

void etx_memory_html_print(const etx_memory_map* map, const char* path,
                           FILE* out) {
  const memory_page data = {map, path};
  const etx_page_part part = {"map", print_map, &data};
  etx_page_print("memory_page.html", &part, 1, out);
}
