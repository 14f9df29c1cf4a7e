#include "cli/graph/graph_page.h"

#include "cli/graph/graph_json.h"
#include "cli/json/json_html.h"
#include "cli/memory/memory_formats.h"
#include "cli/page/page_print.h"

typedef struct graph_page {
  const etx_memory_map* map;
  const char* title;
  const json_t* facts;
  etx_graph_method* methods;
} graph_page;

static void print_map(const void* context, FILE* out) {
  const graph_page* const data = context;
  etx_memory_json_print(data->map, data->title, out);
}

static void print_graphs(const void* context, FILE* out) {
  const graph_page* const data = context;
  etx_graph_json_print(data->methods, data->map->method_count, out);
}

static void print_facts(const void* context, FILE* out) {
  const graph_page* const data = context;
  etx_json_html_print(data->facts, out);
}

etx_status etx_graph_page_print(const etx_memory_map* map, const char* title,
                                const json_t* facts, FILE* out) {
  graph_page data = {map, title, facts, NULL};
  ETX_TRY(etx_graph_methods_init(map, &data.methods));
  const etx_page_part parts[] = {
      {"map", print_map, &data},
      {"graphs", print_graphs, &data},
      {"facts", print_facts, &data},
  };
  etx_page_print("inspect_page.html", parts, sizeof parts / sizeof *parts, out);
  return ETX_OK;
}
