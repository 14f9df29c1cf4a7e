// Source lines are written into a sample and read back. They are refused for
// each way in which they can be damaged or disagree with their program.

#include "tests/format/fixtures/format_test.h"

#include "format/source_map/source_map.h"
#include "tests/format/fixtures/sample_program.h"
#include "tests/support/optional_parts.h"
#include "tests/support/assert_message.h"

static union {
  uint8_t bytes[4096];
  uint64_t alignment;
} work;

// A copy of the whole content, for tests that change it.
typedef struct lines {
  etx_text files[2];
  etx_text modules[1];
  etx_source_map_row rows[3];
  int32_t starts[RUN_INSTRUCTION_COUNT + 1];
  int32_t positions[4];
  etx_source_map_method method;
  etx_source_map_content content;
} lines;

// The add has no source line, the mul and the copy have two each.
static void start(lines* l) {
  *l = (lines){
      .files = {etx_text_of("model.py"), etx_text_of("a/b.py")},
      .modules = {etx_text_of("encoder.layers.0")},
      .rows = {{0, 12, -1}, {1, 7, 0}, {-1, 0, 0}},
      .starts = {0, 0, 2, 4},
      .positions = {0, 1, 1, 2},
  };
  l->method = (etx_source_map_method){etx_text_of("forward"), l->starts,
                                      RUN_INSTRUCTION_COUNT, l->positions};
  l->content = (etx_source_map_content){.files = l->files,
                                        .file_count = 2,
                                        .modules = l->modules,
                                        .module_count = 1,
                                        .lines = l->rows,
                                        .line_count = 3,
                                        .methods = &l->method,
                                        .method_count = 1};
}

static etx_bytes_mut write_data(etx_bytes data) {
  etx_pte_content content = *sample_runnable_content();
  const etx_pte_named_data named = {etx_text_of(ETX_SOURCE_MAP_KEY), data, 16};
  content.named_data = &named;
  content.named_data_count = 1;
  return sample_write(&content);
}

static etx_bytes build(const lines* l) {
  etx_bytes_mut block = {work.bytes, 0};
  etx_bytes data = {NULL, 0};
  assert_ok(etx_source_map_write_needed(&l->content, &block.size));
  assert_true(block.size <= sizeof work.bytes);
  assert_ok(etx_source_map_write(&l->content, block, &data, NULL));
  return data;
}

static void everything_is_read_back(void** state) {
  lines l;
  etx_pte pte;
  etx_source_map source;
  size_t method = 77;
  (void)state;
  start(&l);
  const etx_bytes_mut file = write_data(build(&l));
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  assert_ok(etx_source_map_open(&source, &pte, NULL));
  assert_false(
      etx_source_map_method_find(&source, etx_text_of("other"), &method));
  assert_true(
      etx_source_map_method_find(&source, etx_text_of("forward"), &method));
  assert_int_equal(method, 0);
  assert_int_equal(etx_source_map_line_count(&source, 0, RUN_ADD), 0);
  assert_int_equal(etx_source_map_line_count(&source, 0, RUN_MULTIPLY), 2);
  assert_int_equal(etx_source_map_line_count(&source, 0, RUN_COPY), 2);
  assert_int_equal(etx_source_map_line_count(&source, 0, 3), 0);
  assert_int_equal(etx_source_map_line_count(&source, 0, SIZE_MAX), 0);
  etx_source_map_line line =
      etx_source_map_line_at(&source, 0, RUN_MULTIPLY, 0);
  assert_text(line.file, "model.py");
  assert_int_equal(line.line, 12);
  assert_int_equal(line.module.size, 0);
  line = etx_source_map_line_at(&source, 0, RUN_MULTIPLY, 1);
  assert_text(line.file, "a/b.py");
  assert_text(line.module, "encoder.layers.0");
  line = etx_source_map_line_at(&source, 0, RUN_COPY, 1);
  assert_int_equal(line.file.size, 0);
  assert_int_equal(line.line, 0);
  sample_release(file);
}

static void a_program_may_have_no_source_map(void** state) {
  etx_pte pte;
  etx_source_map source;
  etx_diag diag;
  (void)state;
  etx_diag_init(&diag);
  const etx_bytes_mut file = sample_write(sample_runnable_content());
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  assert_int_equal(etx_source_map_open(&source, &pte, &diag), ETX_NOT_FOUND);
  assert_int_equal(diag.status, ETX_OK);
  sample_release(file);
}

static void expect_refused(const lines* l, const char* reason) {
  etx_pte pte;
  etx_source_map source;
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_bytes_mut file = write_data(build(l));
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  assert_int_equal(etx_source_map_open(&source, &pte, &diag), ETX_BAD_FILE);
  if (!test_message_has(&diag, reason)) {
    fail_msg("'%s' does not say '%s'", diag.text, reason);
  }
  sample_release(file);
}

static void a_map_that_disagrees_with_its_program_is_refused(void** state) {
  lines l;
  (void)state;
  start(&l);
  l.method.name = etx_text_of("backward");
  expect_refused(&l, "method 'backward', which the program does not have");
  start(&l);
  l.method.instruction_count = 2;
  expect_refused(&l, "2 instructions of method 'forward', which has 3");
  start(&l);
  l.starts[1] = 3;
  expect_refused(&l, "instruction '2' of method 'forward' start at 2");
  start(&l);
  l.starts[0] = 1;
  expect_refused(&l, "instruction '0' of method 'forward' start at 1");
  start(&l);
  l.starts[1] = -1;
  expect_refused(&l, "start at -1");
  start(&l);
  l.positions[3] = 3;
  expect_refused(&l, "refers to line '3' of 3");
  start(&l);
  l.positions[0] = -1;
  expect_refused(&l, "refers to line '-1' of 3");
  start(&l);
  l.rows[1].file = 2;
  expect_refused(&l, "line '1' in 'etx.source.v1' is (2, 7, 0)");
  start(&l);
  l.rows[1].module = -2;
  expect_refused(&l, "is (1, 7, -2), expected one of 2 files and 1 modules");
  start(&l);
  l.rows[0].line = -4;
  expect_refused(&l, "is (0, -4, -1)");
  start(&l);
  l.files[0] = etx_text_of("bad\033[2J");
  expect_refused(&l, "has a control character");
}

// Any bytes are either refused or can be read to the end.
static void read_all(const etx_source_map* source, const etx_pte* pte) {
  size_t method = 0;
  size_t bytes = 0;
  (void)pte;
  if (!etx_source_map_method_find(source, etx_text_of("forward"), &method))
    return;
  for (size_t i = 0; i < RUN_INSTRUCTION_COUNT; ++i) {
    const size_t count = etx_source_map_line_count(source, method, i);
    for (size_t k = 0; k < count; ++k) {
      const etx_source_map_line line =
          etx_source_map_line_at(source, method, i, k);
      for (size_t c = 0; c < line.file.size; ++c)
        bytes += line.file.data[c] != 0;
      bytes += line.module.size;
    }
  }
  assert_true(bytes < 4096);
}

static void a_changed_byte_is_refused_or_harmless(void** state) {
  static const uint8_t changes[] = {0x01, 0x80, 0xff, 0x40};
  lines l;
  (void)state;
  start(&l);
  const etx_bytes data = build(&l);
  size_t refused = 0;
  for (size_t i = 0; i < data.size; ++i) {
    for (size_t k = 0; k < sizeof changes; ++k) {
      etx_pte pte;
      etx_source_map source;
      uint8_t* const byte = (uint8_t*)(uintptr_t)data.data + i;
      *byte ^= changes[k];
      const etx_bytes_mut file = write_data(data);
      assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
      const etx_status status = etx_source_map_open(&source, &pte, NULL);
      if (status == ETX_OK) {
        read_all(&source, &pte);
      } else {
        assert_int_equal(status, ETX_BAD_FILE);
        ++refused;
      }
      sample_release(file);
      *byte ^= changes[k];
    }
  }
  assert_true(refused > data.size);
  for (size_t size = 1; size < data.size; ++size) {  // cut short
    etx_pte pte;
    etx_source_map source;
    const etx_bytes_mut file = write_data((etx_bytes){data.data, size});
    assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
    if (etx_source_map_open(&source, &pte, NULL) == ETX_OK)
      read_all(&source, &pte);
    sample_release(file);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(everything_is_read_back),
      cmocka_unit_test(a_program_may_have_no_source_map),
      cmocka_unit_test(a_map_that_disagrees_with_its_program_is_refused),
      unit_test_with(ETX_VERIFIER, a_changed_byte_is_refused_or_harmless),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
