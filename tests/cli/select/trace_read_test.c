// Traces: what is refused with line and column, and the laws of their union.

#include "cli/select/trace_read.h"

#include "cli/select/selection_yaml.h"
#include "runtime/program/build_features.h"
#include "tests/support/assert_status.h"
#include "tests/support/test_random.h"

static etx_diag diag;

enum { CASES = 10000, MOST_BYTES = 4096, FEATURES = ETX_FEATURE_COUNT };

typedef struct written_trace {
  char bytes[MOST_BYTES];
  size_t size;
} written_trace;

static etx_status append(void* context, etx_bytes bytes) {
  written_trace* const text = context;
  assert_true(text->size + bytes.size < MOST_BYTES);
  memcpy(text->bytes + text->size, bytes.data, bytes.size);
  text->size += bytes.size;
  return ETX_OK;
}

static const char* const names[] = {"aten::add.out", "aten::mul.out",
                                    "my::scale"};
static const char* const keys[] = {"v1", "v1/6;0,1|6;0|4;", "v1/11;0"};
static const char* const methods[] = {"a.pte:f", "a.pte:g", "b.pte:f"};

static void add_row(etx_selection* selection, etx_pool* pool, int name,
                    int key) {
  etx_selected_operator* row = NULL;
  assert_ok(etx_selection_row(selection, pool, etx_text_of(names[name]), &row));
  row->is_listed = row->has_kernels = true;
  assert_ok(etx_text_set_add(&row->kernels, pool, etx_text_of(keys[key])));
}

// All that the programs can use.
static etx_selection universe(etx_pool* pool) {
  etx_selection all = {.count = 0};
  for (int i = 0; i < 9; ++i) add_row(&all, pool, i / 3, i % 3);
  return all;
}

static const etx_selected_facts all_features = {
    .features = (UINT32_C(1) << FEATURES) - 1};

static void draw(etx_pool* pool, written_trace* out) {
  etx_selection drawn = {.count = 0};
  const int64_t rows = test_random_integer(0, 2);
  for (int64_t i = 0; i < rows; ++i) {
    add_row(&drawn, pool, (int)test_random_integer(0, 2),
            (int)test_random_integer(0, 2));
  }
  for (int i = 0; i < FEATURES; ++i) {
    const char* const name = etx_build_feature_name((etx_build_feature)i);
    if (test_random_integer(0, 1) == 0) continue;
    assert_ok(etx_text_set_add(&drawn.build_features, pool, etx_text_of(name)));
  }
  const int64_t method = test_random_integer(0, 2);
  assert_ok(
      etx_text_set_add(&drawn.debug_info, pool, etx_text_of(methods[method])));
  const etx_sink sink = {append, out};
  out->size = 0;
  assert_ok(etx_selection_yaml_write(&drawn, &sink));
}

static void assert_equal(const etx_traced* a, const etx_traced* b) {
  static written_trace texts[2];
  const etx_traced* const both[2] = {a, b};
  for (int i = 0; i < 2; ++i) {
    const etx_sink sink = {append, &texts[i]};
    texts[i].size = 0;
    assert_ok(etx_selection_yaml_write(&both[i]->selection, &sink));
  }
  assert_int_equal(a->features, b->features);
  assert_int_equal(texts[0].size, texts[1].size);
  assert_memory_equal(texts[0].bytes, texts[1].bytes, texts[0].size);
}

static void the_union_does_not_depend_on_order_or_repetition(void** state) {
  (void)state;
  static written_trace traces[3];
  static const int orders[][5] = {
      {0, 1, 2, -1, -1}, {2, 1, 0, -1, -1}, {1, 0, 1, 2, 0}};
  for (int i = 0; i < CASES; ++i) {
    etx_pool pool;
    etx_pool_init(&pool);
    etx_traced results[3], read[3];
    memset(results, 0, sizeof results);
    const etx_selection programs = universe(&pool);
    for (int k = 0; k < 3; ++k) {
      draw(&pool, &traces[k]);
      const etx_text text = {traces[k].bytes, traces[k].size};
      assert_ok(etx_trace_read(&pool, text, &programs, &all_features, &read[k],
                               &diag));
    }
    for (int order = 0; order < 3; ++order) {
      for (int k = 0; k < 5 && orders[order][k] >= 0; ++k) {
        assert_ok(
            etx_traced_unite(&results[order], &pool, &read[orders[order][k]]));
      }
    }
    assert_equal(&results[0], &results[1]);
    assert_equal(&results[0], &results[2]);
    etx_pool_close(&pool);
  }
}

static void refused(const char* text, uint32_t line, uint32_t column,
                    const char* message) {
  etx_pool pool;
  etx_traced traced;
  etx_selection programs = {.count = 0};
  const etx_selected_facts facts = {.features = ETX_FEATURE_BIT(CONTROL_FLOW)};
  etx_pool_init(&pool);
  etx_diag_init(&diag);
  add_row(&programs, &pool, 0, 1);
  assert_refused(etx_trace_read(&pool, etx_text_of(text), &programs, &facts,
                                &traced, &diag),
                 ETX_BAD_FILE, message);
  assert_int_equal(diag.line, line);
  assert_int_equal(diag.column, column);
  etx_pool_close(&pool);
}

static void what_the_programs_lack_is_refused_with_its_position(void** state) {
  (void)state;
  refused("et_kernel_metadata:\n  aten::mul.out:\n  - v1\n", 2, 3,
          "operator 'aten::mul.out' is not called by the programs");
  refused(
      "et_kernel_metadata:\n  aten::add.out:\n  - v1/6;0,1|6;0|4;\n"
      "  - v1/11;0\n",
      4, 5, "operator 'aten::add.out' is not called with 'v1/11;0'");
  refused("build_features:\n- control_flow\n- dynamic_sizes\n", 3, 3,
          "feature 'dynamic_sizes' is not used");
  refused("build_features: [control_flow, speed]\n", 1, 32,
          "'speed' is not a feature of a build");
}

static void lists_of_operators_are_no_traces(void** state) {
  (void)state;
  refused("include_all_operators: true\n", 1, 24, "include_all_operators");
  refused("operators:\n  aten::add.out: {}\n", 2, 3, "no trace");
  refused("et_kernel_metadata:\n  aten::add.out:\n  - default\n", 3, 5,
          "'default'");
  refused("operatorz: {}\n", 1, 1, "operatorz");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_union_does_not_depend_on_order_or_repetition),
      cmocka_unit_test(what_the_programs_lack_is_refused_with_its_position),
      cmocka_unit_test(lists_of_operators_are_no_traces),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
