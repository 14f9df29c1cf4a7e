// The interface for other languages, over a program with three states and over
// bytes that are no program.

#include "runtime/module/module_ffi.h"

#include <pthread.h>
#include <string.h>

#include "tests/support/assert_status.h"
#include "tests/support/counter_program.h"

enum { FLOAT32 = 6 };

typedef struct ffi_fixture {
  test_program* p;
  etx_ffi_error* error;
  etx_ffi_program* program;
  etx_ffi_session* session;
} ffi_fixture;

static void start(ffi_fixture* f, bool has_blob) {
  f->p = counter_program(has_blob, false);
  const etx_bytes file = test_file(f->p);
  f->error = etx_ffi_error_open();
  assert_non_null(f->error);
  assert_int_equal(
      etx_ffi_program_open_bytes(file.data, file.size, &f->program, f->error),
      0);
  assert_int_equal(etx_ffi_session_open(f->program, &f->session, f->error), 0);
}

static void end(ffi_fixture* f) {
  etx_ffi_session_close(f->session);
  etx_ffi_program_close(f->program);
  etx_ffi_error_close(f->error);
  test_program_end(f->p);
}

// The status, by name, of the last call.
static void refused(const ffi_fixture* f, int32_t status, const char* name,
                    const char* part_of_text) {
  assert_string_equal(etx_ffi_status_name(status), name);
  const char* const text = etx_ffi_error_text(f->error);
  assert_true(text[0] != 0);
  if (ETX_MESSAGES && strstr(text, part_of_text) == NULL) {
    fail_msg("'%s' is not in '%s'", part_of_text, text);
  }
}

static etx_ffi_method* method_of(const ffi_fixture* f, etx_ffi_session* session,
                                 const char* name) {
  etx_ffi_method* method = NULL;
  assert_int_equal(etx_ffi_session_method(session, name, &method, f->error), 0);
  return method;
}

static void add(const ffi_fixture* f, etx_ffi_session* session, float value) {
  float data[2] = {value, value};
  const int64_t sizes[1] = {2};
  etx_ffi_method* const method = method_of(f, session, "add");
  assert_int_equal(
      etx_ffi_method_set_tensor(method, 0, data, FLOAT32, 1, sizes, f->error),
      0);
  assert_int_equal(etx_ffi_method_run(method, f->error), 0);
  assert_string_equal(etx_ffi_error_text(f->error), "");
}

static float read_count(const ffi_fixture* f, etx_ffi_session* session) {
  const etx_ffi_value* count = NULL;
  etx_ffi_method* const method = method_of(f, session, "read");
  assert_int_equal(etx_ffi_method_run(method, f->error), 0);
  assert_int_equal(etx_ffi_method_output(method, 0, &count, f->error), 0);
  assert_int_equal(etx_ffi_value_kind(count), ETX_FFI_TENSOR);
  assert_int_equal(etx_ffi_value_bytes(count), 8);
  return *(const float*)etx_ffi_value_data(count);
}

static void methods_share_the_state_of_their_session(void** state) {
  (void)state;
  for (int has_blob = 0; has_blob < 2; ++has_blob) {
    ffi_fixture f;
    etx_ffi_session* other = NULL;
    start(&f, has_blob != 0);
    assert_int_equal(etx_ffi_session_open(f.program, &other, f.error), 0);
    add(&f, f.session, 4);
    add(&f, f.session, 2);
    assert_true(read_count(&f, f.session) == 7);
    assert_true(read_count(&f, other) == 1);
    assert_ptr_equal(method_of(&f, other, "read"),
                     method_of(&f, other, "read"));
    etx_ffi_session_close(other);
    end(&f);
  }
}

static void a_session_keeps_its_program(void** state) {
  (void)state;
  ffi_fixture f;
  start(&f, true);
  etx_ffi_program_close(f.program);
  f.program = NULL;
  add(&f, f.session, 1);
  assert_true(read_count(&f, f.session) == 2);
  end(&f);
}

static void text_is(const char* text, size_t bytes, const char* expected) {
  assert_non_null(text);
  assert_int_equal(bytes, strlen(expected));
  assert_memory_equal(text, expected, bytes);
}

static void a_program_describes_itself(void** state) {
  (void)state;
  ffi_fixture f;
  size_t bytes = 0;
  const etx_ffi_value* value = NULL;
  start(&f, true);
  assert_int_equal(etx_ffi_program_method_count(f.program), 3);
  const char* name = etx_ffi_program_method_name(f.program, 0, &bytes);
  text_is(name, bytes, "add");
  assert_null(etx_ffi_program_method_name(f.program, 3, &bytes));
  assert_null(etx_ffi_program_method_name(f.program, -1, NULL));
  assert_int_equal(etx_ffi_session_state_count(f.session), 3);
  name = etx_ffi_session_state_name(f.session, 1, &bytes);
  text_is(name, bytes, "model.table");
  assert_null(etx_ffi_session_state_name(f.session, 3, &bytes));

  etx_ffi_method* const method = method_of(&f, f.session, "add");
  assert_int_equal(etx_ffi_method_input_count(method), 1);
  assert_int_equal(etx_ffi_method_output_count(method), 1);
  name = etx_ffi_method_input_name(method, 0, &bytes);
  text_is(name, bytes, "x");
  assert_null(etx_ffi_method_input_name(method, 1, &bytes));
  assert_null(etx_ffi_method_output_name(method, -1, &bytes));
  assert_int_equal(etx_ffi_method_describe_input(method, 0, &value, f.error),
                   0);
  assert_int_equal(etx_ffi_value_dtype(value), FLOAT32);
  assert_int_equal(etx_ffi_value_rank(value), 1);
  assert_int_equal(etx_ffi_value_size(value, 0), 2);
  assert_int_equal(etx_ffi_value_stride(value, 0), 1);
  assert_int_equal(etx_ffi_value_size(value, 1), 0);
  assert_null(etx_ffi_value_data(value));
  refused(&f, etx_ffi_method_describe_output(method, 1, &value, f.error),
          "OUT_OF_RANGE", "there is no output 1, the method has 1");
  end(&f);
}

static void state_is_read_written_saved_and_reset(void** state) {
  (void)state;
  ffi_fixture f;
  const etx_ffi_value* count = NULL;
  uint8_t saved[1024];
  start(&f, true);
  assert_int_equal(
      etx_ffi_session_state(f.session, "model.count", &count, f.error), 0);
  float* const numbers = etx_ffi_value_data(count);
  numbers[0] = 10;
  assert_true(read_count(&f, f.session) == 10);
  const size_t bytes = etx_ffi_session_save_bytes(f.session);
  assert_in_range(bytes, 1, sizeof saved);
  assert_int_equal(etx_ffi_session_save(f.session, saved, bytes, f.error), 0);
  assert_int_equal(etx_ffi_session_reset(f.session, NULL, f.error), 0);
  assert_true(read_count(&f, f.session) == 1);
  assert_int_equal(etx_ffi_session_restore(f.session, saved, bytes, f.error),
                   0);
  assert_true(read_count(&f, f.session) == 10);
  refused(&f, etx_ffi_session_save(f.session, saved, bytes - 1, f.error),
          "OUT_OF_MEMORY", "");
  saved[bytes - 1] ^= 1;
  refused(&f, etx_ffi_session_restore(f.session, saved, bytes, f.error),
          "BAD_ARGUMENT", "");
  refused(&f, etx_ffi_session_reset(f.session, "model.coun", f.error),
          "NOT_FOUND", "model.coun");
  refused(&f, etx_ffi_session_state(f.session, "none", &count, f.error),
          "NOT_FOUND", "none");
  refused(&f, etx_ffi_session_constant(f.session, "none", &count, f.error),
          "NOT_FOUND", "none");
  end(&f);
}

static void wrong_inputs_are_refused(void** state) {
  (void)state;
  ffi_fixture f;
  float data[2] = {1, 1};
  const int64_t sizes[2] = {2, 1};
  const int64_t huge[1] = {INT64_MAX};
  etx_ffi_method* none = NULL;
  start(&f, true);
  etx_ffi_method* const add = method_of(&f, f.session, "add");
#define SET(index, data, dtype, rank, sizes) \
  etx_ffi_method_set_tensor(add, index, data, dtype, rank, sizes, f.error)
  refused(&f, SET(1, data, FLOAT32, 1, sizes), "OUT_OF_RANGE", "input 1");
  refused(&f, SET(-1, data, FLOAT32, 1, sizes), "OUT_OF_RANGE", "input -1");
  refused(&f, SET(0, data, 7, 1, sizes), "BAD_ARGUMENT", "float64");
  refused(&f, SET(0, data, -1, 1, sizes), "BAD_ARGUMENT", "-1 is not");
  refused(&f, SET(0, data, 1000, 1, sizes), "BAD_ARGUMENT", "1000 is not");
  refused(&f, SET(0, data, FLOAT32, 2, sizes), "BAD_ARGUMENT", "rank 2");
  refused(&f, SET(0, data, FLOAT32, 17, sizes), "BAD_ARGUMENT", "rank 17");
  refused(&f, SET(0, data, FLOAT32, -1, sizes), "BAD_ARGUMENT", "rank -1");
  refused(&f, SET(0, data, FLOAT32, 1, huge), "OUT_OF_RANGE", "2147483647");
  refused(&f, SET(0, data, FLOAT32, 1, NULL), "BAD_ARGUMENT", "'sizes'");
  refused(&f, SET(0, NULL, FLOAT32, 1, sizes), "BAD_ARGUMENT", "no data");
#undef SET
  refused(&f, etx_ffi_method_set_int(add, 0, 1, f.error), "BAD_ARGUMENT", "");
  refused(&f, etx_ffi_method_set_double(add, 0, 1, f.error), "BAD_ARGUMENT",
          "");
  refused(&f, etx_ffi_method_run(add, f.error), "BAD_STATE", "");
  refused(&f, etx_ffi_session_method(f.session, "ad", &none, f.error),
          "NOT_FOUND", "'ad'");
  assert_null(none);
  end(&f);
}

// Nothing is borrowed between runs: a garbage collector may have moved it.
static void inputs_must_be_set_for_each_run(void** state) {
  (void)state;
  ffi_fixture f;
  start(&f, true);
  add(&f, f.session, 1);
  refused(&f, etx_ffi_method_run(method_of(&f, f.session, "add"), f.error),
          "BAD_STATE", "");
  assert_true(read_count(&f, f.session) == 2);
  end(&f);
}

static void pointers_may_be_null(void** state) {
  (void)state;
  ffi_fixture f;
  etx_ffi_session* session = NULL;
  start(&f, true);
  refused(&f, etx_ffi_session_open(NULL, &session, f.error), "BAD_ARGUMENT",
          "'program' is NULL");
  refused(&f, etx_ffi_program_open(NULL, NULL, f.error), "BAD_ARGUMENT",
          "'path' is NULL");
  refused(&f, etx_ffi_program_open_bytes(NULL, 0, NULL, f.error),
          "BAD_ARGUMENT", "'file' is NULL");
  refused(&f, etx_ffi_session_method(f.session, "add", NULL, f.error),
          "BAD_ARGUMENT", "'out_method' is NULL");
  refused(&f, etx_ffi_method_run(NULL, f.error), "BAD_ARGUMENT",
          "'method' is NULL");
  refused(&f, etx_ffi_session_save(NULL, NULL, 0, f.error), "BAD_ARGUMENT",
          "'session' is NULL");
  assert_string_equal(etx_ffi_status_name(etx_ffi_method_run(NULL, NULL)),
                      "BAD_ARGUMENT");
  etx_ffi_program_close(NULL);
  etx_ffi_session_close(NULL);
  etx_ffi_error_close(NULL);
  assert_string_equal(etx_ffi_error_text(NULL), "");
  assert_int_equal(etx_ffi_program_method_count(NULL), 0);
  assert_int_equal(etx_ffi_session_save_bytes(NULL), 0);
  assert_int_equal(etx_ffi_method_input_count(NULL), 0);
  assert_int_equal(etx_ffi_value_kind(NULL), ETX_FFI_NONE);
  assert_int_equal(etx_ffi_value_dtype(NULL), -1);
  assert_int_equal(etx_ffi_value_bytes(NULL), 0);
  assert_null(etx_ffi_value_data(NULL));
  end(&f);
}

// Every call with NULL in the place of each pointer in turn: a status and a
// message, or nothing, and the session is as before.
static void no_pointer_is_trusted_to_be_there(void** state) {
  (void)state;
  static const _Alignas(16) uint8_t bytes[64];
  ffi_fixture f;
  float data[2] = {1, 1};
  const int64_t sizes[1] = {2};
  start(&f, true);
  etx_ffi_program* const p = f.program;
  etx_ffi_session* const s = f.session;
  etx_ffi_method* const m = method_of(&f, s, "add");
  etx_ffi_program* program = NULL;
  etx_ffi_session* session = NULL;
  etx_ffi_method* method = NULL;
  const etx_ffi_value* value = NULL;
#define REFUSED(call) refused(&f, (call), "BAD_ARGUMENT", "NULL")
  REFUSED(etx_ffi_program_open(NULL, &program, f.error));
  REFUSED(etx_ffi_program_open_bytes(NULL, 8, &program, f.error));
  REFUSED(etx_ffi_program_open_bytes(bytes, sizeof bytes, NULL, f.error));
  REFUSED(etx_ffi_session_open(NULL, &session, f.error));
  REFUSED(etx_ffi_session_open(p, NULL, f.error));
  REFUSED(etx_ffi_session_method(NULL, "add", &method, f.error));
  REFUSED(etx_ffi_session_method(s, NULL, &method, f.error));
  REFUSED(etx_ffi_session_method(s, "add", NULL, f.error));
  REFUSED(etx_ffi_session_constant(NULL, "c", &value, f.error));
  REFUSED(etx_ffi_session_constant(s, NULL, &value, f.error));
  REFUSED(etx_ffi_session_constant(s, "c", NULL, f.error));
  REFUSED(etx_ffi_session_state(NULL, "count", &value, f.error));
  REFUSED(etx_ffi_session_state(s, NULL, &value, f.error));
  REFUSED(etx_ffi_session_state(s, "count", NULL, f.error));
  REFUSED(etx_ffi_session_reset(NULL, "count", f.error));
  REFUSED(etx_ffi_session_save(NULL, data, sizeof data, f.error));
  REFUSED(etx_ffi_session_save(s, NULL, 1 << 20, f.error));
  REFUSED(etx_ffi_session_restore(NULL, data, sizeof data, f.error));
  REFUSED(etx_ffi_session_restore(s, NULL, sizeof data, f.error));
  REFUSED(etx_ffi_method_describe_input(NULL, 0, &value, f.error));
  REFUSED(etx_ffi_method_describe_input(m, 0, NULL, f.error));
  REFUSED(etx_ffi_method_describe_output(NULL, 0, &value, f.error));
  REFUSED(etx_ffi_method_describe_output(m, 0, NULL, f.error));
  REFUSED(etx_ffi_method_set_tensor(NULL, 0, data, FLOAT32, 1, sizes, f.error));
  REFUSED(etx_ffi_method_set_tensor(m, 0, data, FLOAT32, 1, NULL, f.error));
  REFUSED(etx_ffi_method_set_int(NULL, 0, 1, f.error));
  REFUSED(etx_ffi_method_set_double(NULL, 0, 1, f.error));
  REFUSED(etx_ffi_method_run(NULL, f.error));
  REFUSED(etx_ffi_method_output(NULL, 0, &value, f.error));
  REFUSED(etx_ffi_method_output(m, 0, NULL, f.error));
#undef REFUSED
  assert_true(program == NULL && session == NULL && method == NULL &&
              value == NULL);
  // Without an error and without a length.
  assert_int_equal(etx_ffi_session_open(p, &session, NULL), 0);
  etx_ffi_session_close(session);
  assert_int_equal(etx_ffi_session_reset(s, NULL, NULL), 0);
  assert_non_null(etx_ffi_program_method_name(p, 0, NULL));
  assert_non_null(etx_ffi_session_state_name(s, 0, NULL));
  assert_non_null(etx_ffi_method_input_name(m, 0, NULL));
  // What has nothing to say of NULL.
  assert_null(etx_ffi_program_method_name(NULL, 0, NULL));
  assert_int_equal(etx_ffi_session_state_count(NULL), 0);
  assert_null(etx_ffi_session_state_name(NULL, 0, NULL));
  assert_null(etx_ffi_method_input_name(NULL, 0, NULL));
  assert_null(etx_ffi_method_output_name(NULL, 0, NULL));
  assert_int_equal(etx_ffi_method_output_count(NULL), 0);
  assert_int_equal(etx_ffi_value_int(NULL), 0);
  assert_true(etx_ffi_value_double(NULL) == 0);
  assert_int_equal(etx_ffi_value_rank(NULL), 0);
  assert_int_equal(etx_ffi_value_size(NULL, 0), 0);
  assert_int_equal(etx_ffi_value_stride(NULL, 0), 0);
  add(&f, s, 1);
  assert_true(read_count(&f, s) == 2);
  end(&f);
}

// Addresses that no element of the type may have, and bytes of the session
// itself.
static void addresses_that_do_not_fit_are_refused(void** state) {
  (void)state;
  ffi_fixture f;
  _Alignas(16) uint8_t bytes[64] = {0};
  const int64_t sizes[1] = {2};
  const etx_ffi_value* count = NULL;
  etx_ffi_program* program = NULL;
  start(&f, true);
  etx_ffi_method* const m = method_of(&f, f.session, "add");
  for (size_t i = 1; i < 4; ++i) {
    refused(
        &f,
        etx_ffi_method_set_tensor(m, 0, bytes + i, FLOAT32, 1, sizes, f.error),
        "BAD_ARGUMENT", "not aligned");
  }
  refused(&f, etx_ffi_program_open_bytes(bytes + 4, 32, &program, f.error),
          "BAD_ARGUMENT", "align");
  assert_null(program);
  // The state is the input of the method that writes it.
  add(&f, f.session, 1);
  assert_int_equal(
      etx_ffi_session_state(f.session, "model.count", &count, f.error), 0);
  float* const own = etx_ffi_value_data(count);
  assert_true(own[0] == 2);
  assert_int_equal(
      etx_ffi_method_set_tensor(m, 0, own, FLOAT32, 1, sizes, f.error), 0);
  assert_int_equal(etx_ffi_method_run(m, f.error), 0);
  assert_true(own[0] == 4);
  // A snapshot that lies in the state that it would replace.
  refused(&f,
          etx_ffi_session_restore(f.session, own, etx_ffi_value_bytes(count),
                                  f.error),
          "BAD_ARGUMENT", "");
  assert_true(own[0] == 4);
  end(&f);
}

static void files_that_are_no_program_are_refused(void** state) {
  (void)state;
  ffi_fixture f;
  _Alignas(16) static const uint8_t zeros[64];
  etx_ffi_program* program = NULL;
  start(&f, true);
  int32_t status =
      etx_ffi_program_open_bytes(zeros, sizeof zeros, &program, f.error);
  refused(&f, status, "BAD_FILE", "");
  status = etx_ffi_program_open("/nowhere.pte", &program, f.error);
  refused(&f, status, "HOST_FAILED", "/nowhere.pte");
  assert_null(program);
  assert_string_equal(etx_ffi_status_name(0), "OK");
  assert_string_equal(etx_ffi_status_name(-1), "UNKNOWN");
  assert_string_equal(etx_ffi_status_name(1000), "UNKNOWN");
  assert_int_equal(etx_ffi_version(), ETX_FFI_VERSION);
  end(&f);
}

enum { ROUNDS = 200 };

// A session of its own, opened and closed beside those of other threads.
static void* use_sessions(void* given) {
  const ffi_fixture* const shared = given;
  ffi_fixture f = *shared;
  f.error = etx_ffi_error_open();
  for (int i = 0; i < ROUNDS; ++i) {
    assert_int_equal(etx_ffi_session_open(f.program, &f.session, f.error), 0);
    add(&f, f.session, (float)i);
    assert_true(read_count(&f, f.session) == (float)(1 + i));
    etx_ffi_session_close(f.session);
  }
  etx_ffi_error_close(f.error);
  return NULL;
}

static void threads_share_a_program(void** state) {
  (void)state;
  ffi_fixture f;
  pthread_t threads[4];
  start(&f, true);
  for (int i = 0; i < 4; ++i) {
    assert_int_equal(pthread_create(&threads[i], NULL, use_sessions, &f), 0);
  }
  for (int i = 0; i < 4; ++i) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  }
  assert_true(read_count(&f, f.session) == 1);
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(methods_share_the_state_of_their_session),
      cmocka_unit_test(a_session_keeps_its_program),
      cmocka_unit_test(a_program_describes_itself),
      cmocka_unit_test(state_is_read_written_saved_and_reset),
      cmocka_unit_test(wrong_inputs_are_refused),
      cmocka_unit_test(inputs_must_be_set_for_each_run),
      cmocka_unit_test(pointers_may_be_null),
      cmocka_unit_test(no_pointer_is_trusted_to_be_there),
      cmocka_unit_test(addresses_that_do_not_fit_are_refused),
      cmocka_unit_test(files_that_are_no_program_are_refused),
      cmocka_unit_test(threads_share_a_program),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
