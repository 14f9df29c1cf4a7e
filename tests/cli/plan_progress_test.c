// The line of progress of etx plan.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "cli/plan/plan_progress.h"

enum { MANY = 150000000, FEW = 1000 };

typedef struct collected {
  const uint8_t* next;  // where the next bytes are expected
  uint64_t bytes;
  uint64_t most;  // it takes; more are refused
} collected;

static etx_status collect(void* context, etx_bytes bytes) {
  collected* const to = context;
  if (to->bytes + bytes.size > to->most) return ETX_HOST_FAILED;
  assert_ptr_equal(bytes.data, to->next);
  to->next += bytes.size;
  to->bytes += bytes.size;
  return ETX_OK;
}

// Writes many bytes, of which `most` are taken; what was shown.
static etx_status write_many(FILE* out, uint64_t most, uint64_t* out_bytes) {
  uint8_t* const bytes = calloc(1, MANY);
  assert_non_null(bytes);
  collected to = {.next = bytes, .most = most};
  const etx_sink target = {collect, &to};
  etx_plan_progress progress = {.out = out};
  const etx_sink sink = etx_plan_progress_sink(&progress, &target);
  const etx_status status = etx_sink_write(&sink, bytes, MANY);
  *out_bytes = to.bytes;
  free(bytes);
  return status;
}

static void bytes_are_counted(void** state) {
  char text[FEW] = "";
  uint64_t bytes = 0;
  (void)state;
  FILE* const out = tmpfile();
  assert_non_null(out);
  assert_int_equal(write_many(out, MANY, &bytes), ETX_OK);
  assert_int_equal(bytes, MANY);
  rewind(out);
  assert_true(fread(text, 1, sizeof text - 1, out) > 0);
  assert_string_equal(text,
                      "\r\033[Kfile: 67 MB written"
                      "\r\033[Kfile: 134 MB written");
  assert_int_equal(fclose(out), 0);
}

static void a_failed_write_is_passed_on(void** state) {
  uint64_t bytes = 0;
  (void)state;
  assert_int_equal(write_many(NULL, 100 << 20, &bytes), ETX_HOST_FAILED);
  assert_int_equal(bytes, 64 << 20);
}

static void without_a_terminal_nothing_is_shown(void** state) {
  etx_plan_progress progress = {.out = NULL};
  uint64_t bytes = 0;
  (void)state;
  etx_plan_progress_show(&progress, "file", 3, 4);
  etx_plan_progress_end(&progress);
  assert_int_equal(write_many(NULL, MANY, &bytes), ETX_OK);
  assert_int_equal(bytes, MANY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_are_counted),
      cmocka_unit_test(a_failed_write_is_passed_on),
      cmocka_unit_test(without_a_terminal_nothing_is_shown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
