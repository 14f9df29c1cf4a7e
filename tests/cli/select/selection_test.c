// Selections: the laws of their union, and the reader and writer of their YAML.

#include "cli/select/selection_yaml.h"
#include "tests/support/assert_status.h"
#include "tests/support/test_random.h"

static etx_diag diag;

enum { CASES = 10000, MOST_BYTES = 1 << 14 };

typedef struct written_text {
  char bytes[MOST_BYTES];
  size_t size;
} written_text;

static etx_status append(void* context, etx_bytes bytes) {
  written_text* const text = context;
  assert_true(text->size + bytes.size < MOST_BYTES);
  memcpy(text->bytes + text->size, bytes.data, bytes.size);
  text->size += bytes.size;
  return ETX_OK;
}

static void write_selection(const etx_selection* selection, written_text* out) {
  const etx_sink sink = {append, out};
  out->size = 0;
  assert_ok(etx_selection_yaml_write(selection, &sink));
}

static void assert_equal(const etx_selection* a, const etx_selection* b) {
  static written_text texts[2];
  write_selection(a, &texts[0]);
  write_selection(b, &texts[1]);
  assert_int_equal(texts[0].size, texts[1].size);
  assert_memory_equal(texts[0].bytes, texts[1].bytes, texts[0].size);
}

static bool coin(void) { return test_random_integer(0, 1) == 1; }

static void draw_texts(etx_pool* pool, const char* const* words, size_t count,
                       etx_text_set* out_set) {
  const int64_t wanted = test_random_integer(0, 3);
  for (int64_t i = 0; i < wanted; ++i) {
    const char* const word = words[test_random_integer(0, (int64_t)count - 1)];
    assert_ok(etx_text_set_add(out_set, pool, etx_text_of(word)));
  }
}

static const char* const files[] = {
    "a.pte", "folder/b.pte", "it's c.pte", "yes", "7", "tab\there.pte"};
static const char* const keys[] = {"default", "v1", "v1/6;0,1|6;0|4;",
                                   "v1/11;0", "v1/6;0,2,1|6;0,2,1"};
static const char* const names[] = {"aten::add.out", "aten::mul.out",
                                    "my::scale", "aten::add.Scalar_out"};

static etx_selection draw(etx_pool* pool) {
  etx_selection selection = {.count = 0};
  const int64_t count = test_random_integer(0, 4);
  for (int64_t i = 0; i < count; ++i) {
    etx_selected_operator* row = NULL;
    const char* const name = names[test_random_integer(0, 3)];
    assert_ok(etx_selection_row(&selection, pool, etx_text_of(name), &row));
    // A file has a row only if it is listed or has kernels.
    row->is_listed = coin();
    row->has_kernels = !row->is_listed || coin();
    if (row->is_listed) {
      row->is_root = coin();
      row->is_training = coin();
      row->has_all_overloads = coin();
      draw_texts(pool, files, 6, &row->debug_info);
    }
    if (row->has_kernels) draw_texts(pool, keys, 5, &row->kernels);
  }
  draw_texts(pool, files, 6, &selection.custom_classes);
  draw_texts(pool, files, 6, &selection.build_features);
  draw_texts(pool, files, 6, &selection.debug_info);
  selection.has_all_operators = coin();
  selection.has_all_non_op_selectives = coin();
  return selection;
}

static etx_selection united(etx_pool* pool, const etx_selection* a,
                            const etx_selection* b) {
  etx_selection result = {.count = 0};
  assert_ok(etx_selection_unite(&result, pool, a));
  assert_ok(etx_selection_unite(&result, pool, b));
  return result;
}

static void the_union_does_not_depend_on_order_or_repetition(void** state) {
  (void)state;
  for (int i = 0; i < CASES; ++i) {
    etx_pool pool;
    etx_pool_init(&pool);
    const etx_selection a = draw(&pool), b = draw(&pool), c = draw(&pool);
    const etx_selection ab = united(&pool, &a, &b), ba = united(&pool, &b, &a);
    const etx_selection bc = united(&pool, &b, &c);
    const etx_selection left = united(&pool, &ab, &c);
    const etx_selection right = united(&pool, &a, &bc);
    const etx_selection twice = united(&pool, &ab, &a);
    assert_equal(&ab, &ba);
    assert_equal(&left, &right);
    assert_equal(&twice, &ab);
    etx_pool_close(&pool);
  }
}

static void what_was_written_is_read(void** state) {
  (void)state;
  static written_text text;
  for (int i = 0; i < CASES / 10; ++i) {
    etx_pool pool;
    etx_selection again;
    etx_pool_init(&pool);
    const etx_selection drawn = draw(&pool);
    write_selection(&drawn, &text);
    assert_ok(etx_selection_yaml_read(&pool, (etx_text){text.bytes, text.size},
                                      &again, &diag));
    assert_equal(&drawn, &again);
    etx_pool_close(&pool);
  }
}

static void refused(const char* text, uint32_t line, uint32_t column,
                    const char* message) {
  etx_pool pool;
  etx_selection selection;
  etx_pool_init(&pool);
  etx_diag_init(&diag);
  assert_refused(
      etx_selection_yaml_read(&pool, etx_text_of(text), &selection, &diag),
      ETX_BAD_FILE, message);
  assert_int_equal(diag.line, line);
  assert_int_equal(diag.column, column);
  etx_pool_close(&pool);
}

static void wrong_files_are_refused_with_their_position(void** state) {
  (void)state;
  refused("operators: {}\noperator_list: []\n", 2, 1, "operator_list");
  refused("operators:\n  aten::add.out:\n    is_rooted: true\n", 3, 5,
          "is_rooted");
  refused("operators:\n  aten::add.out:\n    is_root_operator: 3\n", 3, 23,
          "expected true or false");
  refused("include_all_operators: maybe\n", 1, 24, "expected true or false");
  refused("et_kernel_metadata:\n  aten::add.out:\n  - v2/6;0\n", 3, 5,
          "v2/6;0");
  refused("et_kernel_metadata:\n  aten::add.out:\n  - v1/99;0\n", 3, 5,
          "v1/99;0");
  refused("et_kernel_metadata:\n  aten::add.out: v1\n", 2, 18, "list");
  refused("kernel_metadata:\n  aten::add:\n    float: ['1']\n", 2, 3,
          "aten::add");
  refused("operators: [aten::add.out]\n", 1, 12, "operators");
}

static void kernel_keys_state_types(void** state) {
  (void)state;
  static const struct {
    const char* key;
    bool is_valid;
    uint32_t dtypes;
  } rows[] = {
      {"default", true, UINT32_MAX},
      {"v1", true, 0},
      {"v1/6;0,1", true, 1u << 6},
      {"v1/4;|6;", true, 1u << 4 | 1u << 6},
      {"v1/6", false, 0},
      {"v1/", false, 0},
      {"v1/6;0,", false, 0},
      {"v1/6;0|", false, 0},
      {"v1/-6;0", false, 0},
      {"", false, 0},
      {"v1/6;0 ", false, 0},
      {"v1/30;0", false, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    uint32_t dtypes = 0;
    assert_int_equal(etx_kernel_key_dtypes(etx_text_of(rows[i].key), &dtypes),
                     rows[i].is_valid);
    if (rows[i].is_valid) assert_int_equal(dtypes, rows[i].dtypes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_union_does_not_depend_on_order_or_repetition),
      cmocka_unit_test(what_was_written_is_read),
      cmocka_unit_test(wrong_files_are_refused_with_their_position),
      cmocka_unit_test(kernel_keys_state_types),
  };
  test_random_start();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
