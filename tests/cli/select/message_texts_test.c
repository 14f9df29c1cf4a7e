// Texts of messages are emptied in their calls alone.

#include "cli/amalgamate/message_texts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "cli/amalgamate/source_reader.h"
#include "cli/amalgamate/source_reduce.h"
#include "exporter/host/text_buffer.h"

static etx_status put(void* context, etx_bytes bytes) {
  etx_text_put(context, (const char*)bytes.data, bytes.size);
  return ETX_OK;
}

// The source of a function without its messages.
static void expect_written(const char* body, const char* expected) {
  etx_pool pool;
  etx_source source;
  etx_text_buffer in, out;
  etx_pool_init(&pool);
  etx_text_buffer_init(&in, &pool);
  etx_text_buffer_init(&out, &pool);
  const etx_sink sink = {put, &out};
  etx_text_put_string(&in, "// base/a.c\n\nint run(void) {\n");
  etx_text_put_string(&in, body);
  etx_text_put_string(&in, "}\n");
  assert_int_equal(etx_source_init(&source, &pool), ETX_OK);
  assert_int_equal(
      etx_source_read(&source, (etx_text){in.data, in.size}, false), ETX_OK);
  assert_true(etx_source_need(&source, "run"));
  assert_int_equal(etx_source_reduce(&source), ETX_OK);
  assert_int_equal(etx_message_texts_empty(&source), ETX_OK);
  assert_int_equal(etx_source_write(&source, false, &sink), ETX_OK);
  etx_text_put(&out, "", 1);
  const char* const start = strstr(out.data, "int run(void) {\n");
  assert_non_null(start);
  assert_memory_equal(start + 16, expected, strlen(expected));
  assert_string_equal(start + 16 + strlen(expected), "}\n");
  etx_pool_close(&pool);
}

static void empties_texts_over_several_lines(void** state) {
  (void)state;
  expect_written(
      "  return etx_diag_fail(diag, BAD,\n"
      "                       \"value %z of '%t' \"\n"
      "                       \"is (wrong\",\n"
      "                       f(i, (int)k), names[k]);\n",
      " return etx_diag_fail(diag, BAD,\n"
      "    \"\",\n"
      "    f(i, (int)k), names[k]);\n");
  expect_written("  etx_diag_append(diag, \" ('\" KEY \"')\");\n",
                 " etx_diag_append(diag, \"\" KEY \"\");\n");
}

static void leaves_other_texts(void** state) {
  (void)state;
  expect_written(
      "  etx_diag_fail_at(diag, BAD, at(')', '\"'), \"a\"), f(\"b\");\n"
      "  return etx_diag_failed(\"c\");\n",
      " etx_diag_fail_at(diag, BAD, at(')', '\"'), \"\"), f(\"b\");\n"
      " return etx_diag_failed(\"c\");\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(empties_texts_over_several_lines),
      cmocka_unit_test(leaves_other_texts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
