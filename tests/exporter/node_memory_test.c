// The memory of planning grows with the number of nodes, not with the number of
// passes, and a graph may have very many nodes.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "tests/exporter/graph.h"
#include "tests/exporter/reading.h"

enum { NODES = 20000, LINE_BYTES = 80, MOST_BYTES_A_NODE = 3000 };

typedef struct growing_text {
  char* data;
  size_t size;
} growing_text;

static void put(growing_text* text, const char* line) {
  const size_t size = strlen(line);
  memcpy(text->data + text->size, line, size + 1);
  text->size += size;
}

// Plans the nodes of `line`, which has a %u for the number of the node and
// perhaps another one for the number before it.
static size_t bytes_of_plan(const char* line, bool all_are_outputs) {
  growing_text text = {malloc((size_t)(2 * NODES + 16) * LINE_BYTES), 0};
  scratch_directory directory;
  char item[LINE_BYTES];
  graph g;
  assert_non_null(text.data);
  put(&text,
      "etx: 1\nmethod: forward\ninputs:\n  - {name: v0, type: 'float32[4]'}\n"
      "nodes:\n");
  for (unsigned i = 1; i <= NODES; ++i) {
    snprintf(item, sizeof item, line, i, i - 1);
    put(&text, item);
  }
  put(&text, "outputs:\n");
  for (unsigned i = all_are_outputs ? 1 : NODES; i <= NODES; ++i) {
    snprintf(item, sizeof item, "  - v%u\n", i);
    put(&text, item);
  }
  scratch_directory_make(&directory);
  scratch_write_text(&directory, "forward.yaml", text.data);
  graph_open(&g);
  if (etx_export_read(&g.module, directory.path, &g.problems, &g.diag) !=
      ETX_OK) {
    fail_msg("%s", g.diag.text);
  }
  graph_plan(&g);
  const size_t bytes = g.pool.total_bytes;
  graph_close(&g);
  scratch_directory_remove(&directory);
  free(text.data);
  return bytes;
}

static void assert_few(size_t bytes) {
  if (bytes > (size_t)NODES * MOST_BYTES_A_NODE) {
    fail_msg("%zu bytes for each node, expected at most %d", bytes / NODES,
             MOST_BYTES_A_NODE);
  }
}

static void a_chain_takes_some_kilobytes_a_node(void** state) {
  (void)state;
  assert_few(bytes_of_plan(
      "  - {out: v%u, op: aten.add.Tensor, args: [v%u, v0]}\n", false));
}

static void many_outputs_take_some_kilobytes_a_node(void** state) {
  (void)state;
  assert_few(bytes_of_plan(
      "  - {out: v%u, op: aten.mul.Tensor, args: [v0, 3]}\n", true));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_chain_takes_some_kilobytes_a_node),
      cmocka_unit_test(many_outputs_take_some_kilobytes_a_node),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
