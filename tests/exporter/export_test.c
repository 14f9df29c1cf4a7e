// Tests of etx_export_read and etx_export_plan: bytes, report and errors.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/host/paged_memory.h"
#include "format/pte/etx_blob.h"
#include "tests/exporter/graph.h"

static graph g;

static void read_set(graph* target, const char* name) {
  char path[512];
  snprintf(path, sizeof path, "%s/pt2/%s", ETX_TEST_DATA, name);
  if (etx_export_read(&target->module, path, &target->problems,
                      &target->diag) != ETX_OK) {
    fail_msg("%s", target->diag.text);
  }
}

static void one_directory_gives_the_same_bytes_twice(void** state) {
  (void)state;
  static const char* const sets[] = {"kv", "swap", "llama/core"};
  for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
    graph first;
    graph second;
    graph_open(&first);
    graph_open(&second);
    read_set(&first, sets[i]);
    read_set(&second, sets[i]);
    graph_plan(&first);
    graph_plan(&second);
    assert_int_equal(first.file_size, second.file_size);
    assert_memory_equal(first.file, second.file, first.file_size);
    graph_close(&first);
    graph_close(&second);
  }
}

// Threads may take tasks in any order: here they begin with the last one.
static void run_backwards(void* context, void (*task)(void* argument, size_t i),
                          void* argument, size_t count) {
  size_t* const calls = context;
  for (size_t i = count; i > 0; --i) task(argument, i - 1);
  *calls += count;
}

static void the_order_of_tasks_changes_nothing(void** state) {
  (void)state;
  static const char* const rules[] = {"int8", "int4/32"};
  for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i) {
    size_t calls = 0;
    const etx_workers workers = {run_backwards, &calls};
    graph alone;
    graph shared;
    graph_open(&alone);
    graph_open(&shared);
    read_set(&alone, "llama/core");
    read_set(&shared, "llama/core");
    assert_int_equal(etx_export_quantize(&alone.module, rules[i], NULL),
                     ETX_OK);
    assert_int_equal(etx_export_quantize(&shared.module, rules[i], NULL),
                     ETX_OK);
    shared.options.workers = &workers;
    graph_plan(&alone);
    graph_plan(&shared);
    assert_true(calls > 100);
    assert_int_equal(alone.file_size, shared.file_size);
    assert_memory_equal(alone.file, shared.file, alone.file_size);
    assert_true(alone.report.quantized_count > 0);
    assert_int_equal(alone.report.quantized_count,
                     shared.report.quantized_count);
    for (size_t k = 0; k < alone.report.quantized_count; ++k) {
      assert_true(alone.report.quantized[k].signal ==
                  shared.report.quantized[k].signal);
      assert_true(alone.report.quantized[k].noise ==
                  shared.report.quantized[k].noise);
    }
    graph_close(&alone);
    graph_close(&shared);
  }
}

static void add_method(graph* target, const char* name, uint32_t state) {
  graph_method(target, name);
  const uint32_t old = graph_buffer(target, state);
  graph_mutate(target, state, graph_add(target, old, old));
}

// Two layers of one input, planned with weights in memory or in pages of a
// file.
static void plan_layers(graph* layers, int64_t rows, const char* rule,
                        const char* directory) {
  enum { COLUMNS = 1040, INNER = 512 };
  static float weights[2][COLUMNS * INNER];
  uint32_t seed = 1, sums[2];
  for (size_t i = 0; i < sizeof weights / sizeof(float); ++i) {
    seed = seed * 1664525u + 1013904223u;
    weights[i % 2][i / 2] = (float)(seed >> 8) / 8388608.0f - 1.0f;
  }
  graph_open(layers);
  if (directory != NULL) {
    assert_int_equal(etx_pages_use(&layers->pool, etx_text_of(directory)),
                     ETX_OK);
  }
  graph_method(layers, "m");
  const uint32_t x = graph_input(layers, "x", 2, SIZES(rows, INNER));
  for (size_t i = 0; i < 2; ++i) {
    const uint32_t weight =
        graph_constant(layers, 2, SIZES(COLUMNS, INNER), weights[i]);
    sums[i] = graph_node(layers, ETX_OP_linear_out,
                         ARGS(VALUE(x), VALUE(weight), NOTHING));
  }
  graph_output(layers, "y", graph_add(layers, sums[0], sums[1]));
  assert_int_equal(etx_export_quantize(&layers->module, rule, &layers->diag),
                   ETX_OK);
  layers->options.pack_weights = true;
  graph_plan(layers);
}

// Mappings of this process whose files have no name.
static size_t unnamed_mappings(void) {
  char line[1024];
  size_t count = 0;
  FILE* const maps = fopen("/proc/self/maps", "r");
  assert_non_null(maps);
  while (fgets(line, sizeof line, maps) != NULL) {
    count += strstr(line, "(deleted)") != NULL;
  }
  (void)fclose(maps);
  return count;
}

static void weights_in_pages_give_the_same_bytes(void** state) {
  (void)state;
  static const char* const rules[] = {"int8", "int4/32", "int8w/32", "none"};
  for (size_t i = 0; i < 2 * sizeof rules / sizeof *rules; ++i) {
    graph memory;
    graph pages;
    plan_layers(&memory, i % 2 == 0 ? 1 : 64, rules[i / 2], NULL);
    plan_layers(&pages, i % 2 == 0 ? 1 : 64, rules[i / 2], ".");
    assert_int_equal(memory.file_size, pages.file_size);
    assert_memory_equal(memory.file, pages.file, memory.file_size);
    // Only the last rule makes nothing for one row: others round, or pack.
    assert_int_equal(unnamed_mappings() > 0, i != 6);
    graph_close(&memory);
    graph_close(&pages);
    assert_int_equal(unnamed_mappings(), 0);
  }
}

static void the_order_of_methods_moves_no_state(void** state) {
  (void)state;
  graph other;
  graph_open(&other);
  const uint32_t a = graph_state(&g, "a", 1, SIZES(3), 1);
  const uint32_t b = graph_state(&g, "b", 1, SIZES(5), 2);
  add_method(&g, "first", a);
  add_method(&g, "second", b);
  const uint32_t b2 = graph_state(&other, "b", 1, SIZES(5), 2);
  const uint32_t a2 = graph_state(&other, "a", 1, SIZES(3), 1);
  add_method(&other, "second", b2);
  add_method(&other, "first", a2);
  graph_plan(&g);
  graph_plan(&other);
  etx_pte one;
  etx_pte two;
  etx_blob x;
  etx_blob y;
  graph_read_plan(&g, "first", &one);
  graph_read_plan(&other, "first", &two);
  assert_int_equal(etx_blob_open(&x, &one, NULL), ETX_OK);
  assert_int_equal(etx_blob_open(&y, &two, NULL), ETX_OK);
  for (size_t i = 0; i < 2; ++i) {
    const etx_blob_state s = etx_blob_state_at(&x, i);
    const etx_blob_state t = etx_blob_state_at(&y, i);
    assert_true(etx_text_equal(s.name, t.name));
    assert_int_equal(s.offset, t.offset);
  }
  graph_close(&other);
}

static void the_report_lists_remaining_copies(void** state) {
  (void)state;
  read_set(&g, "counter");
  graph_plan(&g);
  assert_int_equal(g.report.state_count, 1);
  assert_int_equal(g.report.state_bytes, 16);
  assert_int_equal(g.report.file_bytes, g.file_size);
  assert_int_equal(g.report.copy_count, 1);
  assert_true(etx_text_is(g.report.copies[0].method, "reset"));
  assert_true(etx_text_is(g.report.copies[0].target, "count"));
  assert_int_equal(g.report.copies[0].bytes, 8);
  bool found = false;
  for (size_t i = 0; i < g.report.method_count; ++i) {
    const etx_export_method_report* const row = &g.report.methods[i];
    if (!etx_text_is(row->name, "reset")) continue;
    assert_int_equal(row->copied_bytes, 8);
    assert_int_equal(row->instruction_count, 1);
    found = true;
  }
  assert_true(found);
}

// The report lists copied slices of states and constants, also if no state
// changes.
static void the_report_lists_copied_slices(void** state) {
  (void)state;
  const float table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const uint32_t cache = graph_state(&g, "cache", 2, SIZES(4, 3), 0);
  graph_method(&g, "m");
  const uint32_t old = graph_buffer(&g, cache);
  const uint32_t c = graph_constant(&g, 2, SIZES(2, 4), table);
  const etx_dim s = graph_symbol(&g, "s", 1, 2);
  const uint32_t x = graph_input(&g, "x", 1, SIZES(s));
  const uint32_t columns =
      graph_node(&g, ETX_OP_slice_copy_tensor_out,
                 ARGS(VALUE(old), INT(1), INT(0), INT(s), INT(1)));
  const uint32_t some =
      graph_node(&g, ETX_OP_slice_copy_tensor_out,
                 ARGS(VALUE(c), INT(1), INT(0), INT(s), INT(1)));
  // These are views.
  const uint32_t row = graph_select(&g, old, 0, 1);
  graph_output(&g, "y", graph_add(&g, columns, x));
  graph_output(&g, "z", graph_add(&g, some, x));
  graph_output(&g, "w", graph_add(&g, row, row));
  graph_mutate(&g, cache, graph_add(&g, old, old));
  graph_plan(&g);
  assert_int_equal(g.report.copy_count, 2);
  const etx_export_copy_report* const copies = g.report.copies;
  assert_true(etx_text_is(copies[0].target, "cache"));
  assert_int_equal(copies[0].bytes, 4 * 2 * 4);
  assert_true(etx_text_is(copies[0].reason, "the slice is not contiguous"));
  assert_true(etx_text_is(copies[1].method, "m"));
  assert_int_equal(copies[1].bytes, 2 * 2 * 4);
  for (size_t i = 0; i < g.report.method_count; ++i) {
    const etx_export_method_report* const method = &g.report.methods[i];
    if (!etx_text_is(method->name, "m")) continue;
    assert_int_equal(method->copied_bytes, 48);
  }
}

static void an_unknown_pass_is_refused(void** state) {
  (void)state;
  read_set(&g, "tiny");
  g.options.passes = "-no_such_pass";
  assert_int_equal(graph_try_plan(&g), ETX_NOT_FOUND);
  assert_non_null(strstr(g.diag.text, "'no_such_pass'"));
}

static void a_layout_to_keep_that_is_not_there_is_named(void** state) {
  (void)state;
  read_set(&g, "tiny");
  g.options.keep_layout = "/nonexistent/old.pte";
  assert_int_equal(graph_try_plan(&g), ETX_NOT_FOUND);
  assert_non_null(strstr(g.diag.text, "/nonexistent/old.pte"));
}

static void an_empty_file_keeps_nothing(void** state) {
  (void)state;
  read_set(&g, "tiny");
  g.options.keep_layout = "/dev/null";
  assert_int_not_equal(graph_try_plan(&g), ETX_OK);
  assert_non_null(strstr(g.diag.text, "/dev/null"));
}

static void a_kept_layout_is_read_from_the_file(void** state) {
  (void)state;
  char path[] = "/tmp/etx_keep_XXXXXX";
  const int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  const uint32_t z = graph_state(&g, "z", 1, SIZES(4), 0);
  add_method(&g, "m", z);
  graph_plan(&g);
  FILE* const file = fdopen(descriptor, "wb");
  assert_int_equal(fwrite(g.file, 1, g.file_size, file), g.file_size);
  assert_int_equal(fclose(file), 0);

  graph next;
  graph_open(&next);
  const uint32_t a = graph_state(&next, "a", 1, SIZES(4), 0);
  const uint32_t z2 = graph_state(&next, "z", 1, SIZES(4), 0);
  add_method(&next, "m", z2);
  add_method(&next, "n", a);
  next.options.keep_layout = path;
  graph_plan(&next);
  etx_pte pte;
  etx_blob blob;
  graph_read_plan(&next, "m", &pte);
  assert_int_equal(etx_blob_open(&blob, &pte, NULL), ETX_OK);
  assert_int_equal(etx_blob_state_at(&blob, 0).offset, 16);
  assert_int_equal(etx_blob_state_at(&blob, 1).offset, 0);
  graph_close(&next);
  assert_int_equal(remove(path), 0);
}

static void an_unknown_algorithm_is_refused(void** state) {
  (void)state;
  read_set(&g, "tiny");
  g.options.algorithm = "no such algorithm";
  assert_int_equal(graph_try_plan(&g), ETX_NOT_FOUND);
}

static etx_status fail_to_write(void* context, etx_bytes bytes) {
  size_t* const left = context;
  if (bytes.size > *left) return ETX_HOST_FAILED;
  *left -= bytes.size;
  return ETX_OK;
}

static void a_full_disk_ends_the_plan(void** state) {
  (void)state;
  size_t left = 1000;
  const etx_sink sink = {fail_to_write, &left};
  read_set(&g, "tiny");
  assert_int_equal(etx_export_plan(&g.module, &g.options, &sink, &g.report,
                                   &g.problems, &g.diag),
                   ETX_HOST_FAILED);
}

int main(void) {
#define TEST(name) GRAPH_TEST(name, &g)
  const struct CMUnitTest tests[] = {
      TEST(one_directory_gives_the_same_bytes_twice),
      TEST(the_order_of_tasks_changes_nothing),
      TEST(weights_in_pages_give_the_same_bytes),
      TEST(the_order_of_methods_moves_no_state),
      TEST(the_report_lists_remaining_copies),
      TEST(the_report_lists_copied_slices),
      TEST(an_unknown_pass_is_refused),
      TEST(a_layout_to_keep_that_is_not_there_is_named),
      TEST(an_empty_file_keeps_nothing),
      TEST(a_kept_layout_is_read_from_the_file),
      TEST(an_unknown_algorithm_is_refused),
      TEST(a_full_disk_ends_the_plan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
