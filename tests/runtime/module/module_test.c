// The hosted layer: files by path, memory by callback, methods by name.

#define _DEFAULT_SOURCE    // MADV_POPULATE_READ
#define _XOPEN_SOURCE 700  // mkstemp, truncate

#include "runtime/module/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/module/module_file.h"
#include "tests/support/assert_status.h"
#include "tests/support/counter_program.h"
#include "tests/support/short_kernel_table.h"

static etx_diag diag;

// Counts blocks, and fails after a number of them.
typedef struct counting_heap {
  size_t live;
  size_t taken;
  size_t most;  // 0: no limit
} counting_heap;

static void* take(void* context, size_t bytes, size_t alignment) {
  counting_heap* heap = context;
  if (heap->most != 0 && heap->taken >= heap->most) return NULL;
  void* memory = aligned_alloc(alignment, (bytes + 63) / 64 * 64);
  if (memory == NULL) return NULL;
  memset(memory, 0xa5, bytes);
  ++heap->live;
  ++heap->taken;
  return memory;
}

// Blocks may have any address.
static void* take_zeroed(void* context, size_t bytes) {
  counting_heap* heap = context;
  if (heap->most != 0 && heap->taken >= heap->most) return NULL;
  void* memory = calloc(bytes, 1);
  if (memory == NULL) return NULL;
  ++heap->live;
  ++heap->taken;
  return memory;
}

static void give_back(void* context, void* memory) {
  counting_heap* heap = context;
  --heap->live;
  free(memory);
}

typedef struct module_fixture {
  test_program* p;
  counting_heap heap;
  etx_module_memory memory;
  etx_module_options options;
  etx_module module;
} module_fixture;

static void start(module_fixture* f, bool has_blob) {
  memset(f, 0, sizeof *f);
  f->p = counter_program(has_blob, false);
  f->memory = (etx_module_memory){
      .take = take, .give_back = give_back, .context = &f->heap};
  f->options =
      (etx_module_options){.kernels = &test_few_kernels, .memory = &f->memory};
  assert_ok(
      etx_module_open_bytes(&f->module, test_file(f->p), &f->options, &diag));
}

static void end(module_fixture* f) {
  etx_module_close(&f->module);
  assert_int_equal(f->heap.live, 0);
  test_program_end(f->p);
}

static void add(module_fixture* f, float value) {
  float data[2] = {value, value};
  const int32_t sizes[1] = {2};
  const etx_value x = etx_module_tensor(data, ETX_DTYPE_FLOAT32, sizes, 1);
  assert_ok(etx_module_execute(&f->module, "add", &x, 1, &diag));
}

static float read_count(module_fixture* f) {
  const etx_value* value = NULL;
  assert_ok(etx_module_execute(&f->module, "read", NULL, 0, &diag));
  assert_ok(etx_module_output(&f->module, "read", 0, &value, &diag));
  return *(const float*)value->as.tensor.data;
}

static void methods_of_one_session_share_state(void** state) {
  (void)state;
  for (int has_blob = 0; has_blob < 2; ++has_blob) {
    module_fixture f;
    etx_module_shared shared;
    etx_planned_memory allocator;
    start(&f, has_blob != 0);
    assert_ok(etx_module_shared_open(&shared, &f.module, &diag));
    assert_ok(etx_module_shared_allocator(&shared, "add", &allocator, &diag));
    assert_ok(etx_module_load_method(&f.module, "add", &allocator, &diag));
    add(&f, 4);
    assert_ok(etx_module_shared_allocator(&shared, "read", &allocator, &diag));
    assert_ok(etx_module_load_method(&f.module, "read", &allocator, &diag));
    assert_true(read_count(&f) == 5);
    etx_module_shared_close(&shared);
    end(&f);
  }
}

static void without_an_allocator_state_is_private(void** state) {
  (void)state;
  module_fixture f;
  start(&f, true);
  add(&f, 4);
  add(&f, 4);
  assert_true(read_count(&f) == 1);
  const etx_value* value = NULL;
  assert_ok(etx_module_output(&f.module, "add", 0, &value, &diag));
  assert_true(*(const float*)value->as.tensor.data == 9);
  end(&f);
}

static void a_second_module_has_memory_of_its_own(void** state) {
  (void)state;
  module_fixture f;
  etx_module second;
  etx_module_shared shared;
  etx_planned_memory allocator;
  start(&f, true);
  etx_module_share(&second, &f.module);
  assert_ok(etx_module_shared_open(&shared, &second, &diag));
  assert_ok(etx_module_shared_allocator(&shared, "add", &allocator, &diag));
  assert_ok(etx_module_load_method(&second, "add", &allocator, &diag));
  assert_ok(etx_module_shared_allocator(&shared, "read", &allocator, &diag));
  assert_ok(etx_module_load_method(&second, "read", &allocator, &diag));
  add(&f, 2);
  float data[2] = {3, 3};
  const int32_t sizes[1] = {2};
  const etx_value x = etx_module_tensor(data, ETX_DTYPE_FLOAT32, sizes, 1);
  assert_ok(etx_module_execute(&second, "add", &x, 1, &diag));
  assert_ok(etx_module_execute(&second, "read", NULL, 0, &diag));
  const etx_value* value = NULL;
  assert_ok(etx_module_output(&second, "read", 0, &value, &diag));
  const float shown = *(const float*)value->as.tensor.data;
  etx_module_shared_close(&shared);
  etx_module_close(&second);
  assert_true(shown == 4);  // the initial value and 3
  assert_true(f.module.methods != NULL);
  end(&f);
}

static void loading_again_switches_the_session(void** state) {
  (void)state;
  module_fixture f;
  etx_module_shared sessions[2];
  start(&f, true);
  for (int i = 0; i < 2; ++i) {
    assert_ok(etx_module_shared_open(&sessions[i], &f.module, &diag));
    assert_ok(etx_module_load_method(&f.module, "add",
                                     &sessions[i].memory.planned, &diag));
    assert_ok(etx_module_load_method(&f.module, "read",
                                     &sessions[i].memory.planned, &diag));
    add(&f, (float)(i + 1));
    assert_true(read_count(&f) == (float)(i + 2));
  }
  const etx_method* method = etx_module_method(&f.module, "read");
  assert_ok(etx_module_load_method(&f.module, "read",
                                   &sessions[0].memory.planned, &diag));
  assert_ptr_equal(etx_module_method(&f.module, "read"), method);
  assert_true(read_count(&f) == 2);
  etx_module_shared_close(&sessions[0]);
  etx_module_shared_close(&sessions[1]);
  end(&f);
}

// The allocator above fills each block with a pattern.
static void loading_does_not_write_scratch(void** state) {
  (void)state;
  module_fixture f;
  start(&f, true);
  assert_ok(etx_module_load_method(&f.module, "add", NULL, &diag));
  assert_ok(etx_module_load_method(&f.module, "read", NULL, &diag));
  const uint8_t* const scratch = f.module.scratch;
  assert_true(f.module.scratch_size > 0);
  for (size_t i = 0; i < f.module.scratch_size; ++i) {
    assert_int_equal(scratch[i], 0xa5);
  }
  end(&f);
}

// Writes a new file, whose path goes to `path`.
static void write_file(char* path, etx_bytes file) {
  const int out = mkstemp(path);
  assert_true(out >= 0);
  assert_int_equal(write(out, file.data, file.size), file.size);
  close(out);
}

static void a_file_is_mapped_and_closed(void** state) {
  (void)state;
  test_program* p = counter_program(true, false);
  const etx_bytes file = test_file(p);
  char path[] = "/tmp/etx_module_XXXXXX";
  write_file(path, file);
  etx_module module;
  const etx_module_options options = {.kernels = &test_few_kernels};
  assert_ok(etx_module_open(&module, path, &options, &diag));
  assert_ok(etx_module_execute(&module, "read", NULL, 0, &diag));
  etx_module_close(&module);
  // A truncated file is refused when it is opened, and nothing stays open.
  assert_int_equal(truncate(path, (long)file.size / 2), 0);
  assert_status(etx_module_open(&module, path, &options, &diag), ETX_BAD_FILE);
  assert_int_equal(truncate(path, 0), 0);
  assert_status(etx_module_open(&module, path, &options, &diag), ETX_BAD_FILE);
  remove(path);
  assert_refused(etx_module_open(&module, path, &options, &diag),
                 ETX_HOST_FAILED, path);
  assert_refused(etx_module_open(&module, "/tmp", &options, &diag),
                 ETX_HOST_FAILED, "not a regular file");
  test_program_end(p);
}

// A mapped file would end the process with SIGBUS when it has become shorter.
static void a_file_in_memory_may_change(void** state) {
  (void)state;
  module_fixture f;
  char path[] = "/tmp/etx_module_XXXXXX";
  start(&f, true);
  etx_module_close(&f.module);
  write_file(path, test_file(f.p));
  f.options.in_memory = true;
  assert_ok(etx_module_open(&f.module, path, &f.options, &diag));
  assert_int_equal(f.heap.live, 1);
  add(&f, 1);
  assert_int_equal(truncate(path, 0), 0);
  add(&f, 2);
  FILE* const file = fopen(path, "wb");
  assert_non_null(file);
  for (size_t i = 0; i < 100000; ++i) (void)fputc(0xff, file);
  assert_int_equal(fclose(file), 0);
  // Loads again, from the metadata.
  assert_ok(etx_module_load_method(&f.module, "add", NULL, &diag));
  add(&f, 3);
  end(&f);
  assert_refused(etx_module_open(&f.module, path, &f.options, &diag),
                 ETX_BAD_FILE, "");
  unlink(path);
  assert_int_equal(f.heap.live, 0);
  assert_refused(etx_module_open(&f.module, path, &f.options, &diag),
                 ETX_HOST_FAILED, "cannot open");
  assert_refused(etx_module_open(&f.module, "/tmp", &f.options, &diag),
                 ETX_HOST_FAILED, "");
}

static void no_memory_for_a_file_is_said(void** state) {
  (void)state;
  module_fixture f;
  char path[] = "/tmp/etx_module_XXXXXX";
  start(&f, true);
  etx_module_close(&f.module);
  write_file(path, test_file(f.p));
  f.options.in_memory = true;
  f.heap.most = f.heap.taken;
  if (f.heap.most == 0) f.heap.most = f.heap.taken = 1;
  assert_refused(etx_module_open(&f.module, path, &f.options, &diag),
                 ETX_OUT_OF_MEMORY, "no memory for '/tmp");
  unlink(path);
  end(&f);
}

// The allocator fails after 0, 1, 2... blocks until there are enough. Each
// failure is reported, and all blocks are freed.
static void too_little_memory_frees_all_blocks(void** state) {
  (void)state;
  module_fixture f;
  start(&f, false);
  bool is_loaded = false;
  for (f.heap.most = 1; !is_loaded; ++f.heap.most) {
    f.heap.taken = f.heap.live = 0;
    etx_module module;
    assert_ok(etx_module_open_bytes(&module, f.module.file, &f.options, &diag));
    etx_diag_init(&diag);
    const etx_status status =
        etx_module_load_method(&module, "add", NULL, &diag);
    is_loaded = status == ETX_OK;
    if (!is_loaded) {
      assert_int_equal(status, ETX_OUT_OF_MEMORY);
      assert_null(etx_module_method(&module, "add"));
    }
    etx_module_close(&module);
    assert_int_equal(f.heap.live, 0);
  }
  assert_true(f.heap.most > 4);
  f.heap.most = 0;
  end(&f);
}

static void a_method_that_is_not_loaded_has_no_outputs(void** state) {
  (void)state;
  module_fixture f;
  const etx_value* value = NULL;
  start(&f, true);
  assert_refused(etx_module_output(&f.module, "add", 0, &value, &diag),
                 ETX_BAD_STATE, "not loaded");
  assert_status(etx_module_execute(&f.module, "none", NULL, 0, &diag),
                ETX_NOT_FOUND);
  assert_true(read_count(&f) == 1);
  assert_refused(etx_module_output(&f.module, "read", 2, &value, &diag),
                 ETX_OUT_OF_RANGE, "method 'read' has 2");
  end(&f);
}

// Methods of one file share scratch, so an output lasts until the next call.
static void scratch_is_one_block_for_all_methods(void** state) {
  (void)state;
  module_fixture f;
  start(&f, true);
  add(&f, 1);
  (void)read_count(&f);
  const size_t blocks = f.heap.live;
  assert_int_equal(f.module.scratch_size, 64);
  const int64_t at = 0;
  const float v = 1;
  const int32_t one[1] = {1};
  const etx_value inputs[2] = {
      etx_module_tensor((void*)(uintptr_t)&at, ETX_DTYPE_INT64, one, 1),
      etx_module_tensor((void*)(uintptr_t)&v, ETX_DTYPE_FLOAT32, one, 1)};
  assert_ok(etx_module_execute(&f.module, "put", inputs, 2, &diag));
  // The blocks of a method are the method, its structures and its private
  // state.
  assert_int_equal(f.heap.live, blocks + 3);
  end(&f);
}

static void sessions_may_start_with_zeros(void** state) {
  (void)state;
  module_fixture f;
  start(&f, true);
  f.module.memory.take_zeroed = take_zeroed;
  add(&f, 3);  // adds to private state
  etx_module_shared sessions[2];
  for (int i = 0; i < 2; ++i) {
    assert_ok(etx_module_shared_open(&sessions[i], &f.module, &diag));
    assert_int_equal((uintptr_t)sessions[i].memory.block % 64, 0);
  }
  assert_ok(etx_module_load_method(&f.module, "read",
                                   &sessions[1].memory.planned, &diag));
  assert_true(read_count(&f) == 1);
  etx_module_shared_close(&sessions[0]);
  f.heap.most = f.heap.taken;
  assert_refused(etx_module_shared_open(&sessions[0], &f.module, &diag),
                 ETX_OUT_OF_MEMORY, "no memory for a session");
  etx_module_shared_close(&sessions[1]);
  end(&f);
}

// The file's constants are in memory again for every call, and the bits are the
// same. How much is resident is tested in tests/python.
static void a_file_may_leave_memory(void** state) {
  (void)state;
  module_fixture f;
  char path[] = "/tmp/etx_module_XXXXXX";
  start(&f, true);
  write_file(path, test_file(f.p));
  etx_module_close(&f.module);
  assert_ok(etx_module_open(&f.module, path, &f.options, &diag));
  assert_ok(etx_module_limit_resident(&f.module, 1, &diag));
  etx_module shared;
  etx_module_share(&shared, &f.module);
  assert_int_equal(shared.resident.released.size, f.module.file.size - 1);
  assert_ptr_equal(shared.resident.observer.context, &shared.resident);
  etx_module_close(&shared);
  add(&f, 4);
  add(&f, 4);
  const etx_value* value = NULL;
  assert_ok(etx_module_output(&f.module, "add", 0, &value, &diag));
  assert_true(*(const float*)value->as.tensor.data == 9);
  end(&f);
  remove(path);
}

// Memory of the heap would lose its content.
static void bytes_of_a_caller_stay(void** state) {
  (void)state;
  module_fixture f;
  start(&f, true);
  assert_refused(etx_module_limit_resident(&f.module, 1, &diag),
                 ETX_BAD_ARGUMENT, "only a file that the module has mapped");
  etx_module_close(&f.module);
  char path[] = "/tmp/etx_module_XXXXXX";
  write_file(path, test_file(f.p));
  f.options.in_memory = true;
  assert_ok(etx_module_open(&f.module, path, &f.options, &diag));
  assert_refused(etx_module_limit_resident(&f.module, 1, &diag),
                 ETX_BAD_ARGUMENT, "only a file that the module has mapped");
  assert_refused(etx_module_limit_resident(&f.module, 0, &diag),
                 ETX_BAD_ARGUMENT, "give 1 or more");
  add(&f, 4);
  end(&f);
  remove(path);
}

// Kilobytes that the process has locked in memory; -1: the system does not say,
// or its functions are replaced by those of a sanitizer or of an emulator.
static long locked_kilobytes(void) {
  long found = -1;
#if !defined ETX_TEST_SANITIZED && !defined ETX_TEST_EMULATED
  char line[256];
  FILE* const file = fopen("/proc/self/status", "r");
  if (file == NULL) return -1;
  while (fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "VmLck: %ld", &found) == 1) break;
  }
  fclose(file);
#endif
  return found;
}

// Closing unlocks mapped files, those in memory, and bytes of the caller.
static void a_locked_file_is_unlocked_at_the_end(void** state) {
  (void)state;
  module_fixture f;
  const long before = locked_kilobytes();
  if (before < 0) skip();
  for (int way = 0; way < 3; ++way) {
    char path[] = "/tmp/etx_module_XXXXXX";
    start(&f, true);
    if (way > 0) {
      etx_module_close(&f.module);
      write_file(path, test_file(f.p));
      f.options.in_memory = way == 2;
      assert_ok(etx_module_open(&f.module, path, &f.options, &diag));
    }
    assert_ok(etx_module_prefault(&f.module, &diag));
    assert_int_equal(locked_kilobytes(), before);
    const etx_status status = etx_module_mlock(&f.module, &diag);
    if (status == ETX_UNSUPPORTED) {  // a host without mmap
      end(&f);
      skip();
    }
    assert_ok(status);
    assert_true(locked_kilobytes() > before);
    if (way == 1) {
      assert_refused(etx_module_limit_resident(&f.module, 1, &diag),
                     ETX_BAD_STATE, "the file is locked in memory");
    }
    add(&f, 4);
    end(&f);
    assert_int_equal(locked_kilobytes(), before);
    if (way > 0) remove(path);
  }
}

static void a_refused_lock_locks_nothing(void** state) {
  (void)state;
  module_fixture f;
  char path[] = "/tmp/etx_module_XXXXXX";
  struct rlimit limit;
  struct rlimit none;
  start(&f, true);
  write_file(path, test_file(f.p));
  etx_module_close(&f.module);
  assert_ok(etx_module_open(&f.module, path, &f.options, &diag));
  assert_ok(etx_module_limit_resident(&f.module, 1, &diag));
  etx_diag_init(&diag);
  assert_refused(etx_module_mlock(&f.module, &diag), ETX_BAD_STATE,
                 "parts of the file leave memory");
  etx_module_close(&f.module);
  assert_ok(etx_module_open(&f.module, path, &f.options, &diag));
  assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
  none = (struct rlimit){0, limit.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &none), 0);
  const long before = locked_kilobytes();
  const etx_status status = etx_module_mlock(&f.module, &diag);
  // A process with CAP_IPC_LOCK has no limit; a host without mmap has no locks.
  if (status != ETX_OK && status != ETX_UNSUPPORTED) {
    assert_refused(status, ETX_HOST_FAILED, "RLIMIT_MEMLOCK");
    assert_int_equal(locked_kilobytes(), before);
  }
  assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
  add(&f, 4);
  end(&f);
  remove(path);
}

// Reading ahead reports what touching the pages would end the process for. An
// emulator ignores the call.
static void a_file_that_became_shorter_is_reported(void** state) {
  (void)state;
#if defined MADV_POPULATE_READ && !defined ETX_TEST_EMULATED
  module_fixture f;
  char path[] = "/tmp/etx_module_XXXXXX";
  const long page = sysconf(_SC_PAGESIZE);
  start(&f, true);
  write_file(path, test_file(f.p));
  etx_bytes mapped;
  assert_int_equal(truncate(path, 4 * page), 0);
  assert_ok(etx_module_file_map(path, &mapped, &diag));
  assert_ok(etx_module_file_prefault(mapped, &diag));
  // A kernel without the call cannot tell, nor can a host without mmap.
  const bool tells = madvise((void*)(uintptr_t)mapped.data, mapped.size,
                             MADV_POPULATE_READ) == 0;
  assert_int_equal(truncate(path, page), 0);
  if (tells) {
    assert_refused(
        etx_diag_seal(&diag, etx_module_file_prefault(mapped, &diag)),
        ETX_HOST_FAILED, "became shorter");
  }
  etx_module_file_unmap(mapped);
  end(&f);
  remove(path);
#else
  skip();
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_locked_file_is_unlocked_at_the_end),
      cmocka_unit_test(a_refused_lock_locks_nothing),
      cmocka_unit_test(a_file_that_became_shorter_is_reported),
      cmocka_unit_test(methods_of_one_session_share_state),
      cmocka_unit_test(without_an_allocator_state_is_private),
      cmocka_unit_test(a_second_module_has_memory_of_its_own),
      cmocka_unit_test(loading_again_switches_the_session),
      cmocka_unit_test(loading_does_not_write_scratch),
      cmocka_unit_test(a_file_is_mapped_and_closed),
      cmocka_unit_test(a_file_in_memory_may_change),
      cmocka_unit_test(no_memory_for_a_file_is_said),
      cmocka_unit_test(too_little_memory_frees_all_blocks),
      cmocka_unit_test(a_method_that_is_not_loaded_has_no_outputs),
      cmocka_unit_test(sessions_may_start_with_zeros),
      cmocka_unit_test(scratch_is_one_block_for_all_methods),
      cmocka_unit_test(a_file_may_leave_memory),
      cmocka_unit_test(bytes_of_a_caller_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
