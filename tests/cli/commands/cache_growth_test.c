// A step over a cache writes its new rows and reads the rows that are live,
// whatever the cache could hold. Two models as PyTorch exports them
// (tests/data/steps), planned with a small and with a large cache:
//
//   pages   the state's pages are made unreadable, or only unwritable, for one
//           step; those that the step asks for must hold such rows
//   counts  callgrind counts a step's instructions and its reads and writes,
//           which may change by a hundredth

#define _GNU_SOURCE

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/module/module.h"
#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define VALGRIND "/usr/bin/valgrind"

enum { SMALL = 64, LARGE = 4096, LIVE = 5, MAX_PAGES = 4096 };

static const char* const models[] = {"marian", "llama"};
static const char written_for[] = "1009";  // capacity of the files

// ------------------------------------------------ planning

// The file's text with another capacity.
static void write_step(const char* from, const char* to, int capacity) {
  size_t size = 0;
  char* const text = command_read_file(from, &size);
  FILE* const file = fopen(to, "wb");
  assert_non_null(file);
  size_t count = 0;
  const char* at = text;
  for (const char* next; (next = strstr(at, written_for)) != NULL; ++count) {
    fwrite(at, 1, (size_t)(next - at), file);
    fprintf(file, "%d", capacity);
    at = next + sizeof written_for - 1;
  }
  fwrite(at, 1, strlen(at), file);
  assert_int_equal(fclose(file), 0);
  assert_true(count >= 8);
  free(text);
}

static void plan_step(const char* model, int capacity, char out_path[256]) {
  char from[256], to[256], directory[200], weights[300];
  snprintf(directory, sizeof directory, "%s/%s%d", command_directory, model,
           capacity);
  snprintf(out_path, 256, "%s.pte", directory);
  if (access(out_path, R_OK) == 0) return;
  assert_int_equal(mkdir(directory, 0777), 0);
  snprintf(from, sizeof from, ETX_TEST_DATA "/steps/%s/step.yaml", model);
  snprintf(to, sizeof to, "%s/step.yaml", directory);
  write_step(from, to, capacity);
  snprintf(weights, sizeof weights, ETX_TEST_DATA "/steps/%s/%s", model,
           "weights.safetensors");
  snprintf(to, sizeof to, "%s/weights.safetensors", directory);
  assert_int_equal(symlink(weights, to), 0);
  snprintf(to, sizeof to, "%s/program.yaml", directory);
  command_write_file(to, "etx: 1\nweights: [weights.safetensors]\n");
  command_expect(0, WORDS(ETX, "plan", directory, "-o", out_path));
}

// ------------------------------------------------ pages

// The block whose pages are watched.
static uint8_t* block;
static size_t page_bytes, page_count;
static volatile sig_atomic_t asked_for[MAX_PAGES];

static void allow(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  const uintptr_t at = (uintptr_t)info->si_addr - (uintptr_t)block;
  const size_t page = at / page_bytes;
  if (page >= page_count) _exit(1);  // no business of this test
  asked_for[page] = 1;
  mprotect(block + page * page_bytes, page_bytes, PROT_READ | PROT_WRITE);
}

typedef struct running {
  etx_module module;
  etx_shared_memory shared;
  etx_method* method;
  int64_t token, position;
  etx_diag diag;
} running;

#define OK(r, call)                                       \
  do {                                                    \
    if ((call) != ETX_OK) fail_msg("%s", (r)->diag.text); \
  } while (0)

static void set_number(running* r, size_t index, int64_t* number) {
  static const int32_t ones[2] = {1, 1};
  etx_port_info port;
  OK(r, etx_program_input_at(&r->module.program, etx_text_of("step"), index,
                             &port, &r->diag));
  const etx_value value = etx_module_tensor(number, ETX_DTYPE_INT64, ones,
                                            port.value.as.tensor.rank);
  OK(r, etx_method_set_input(r->method, index, &value.as.tensor, &r->diag));
}

static void start(running* r, const char* path) {
  size_t bytes = 0;
  etx_planned_memory allocator;
  etx_diag_init(&r->diag);
  OK(r, etx_module_open(&r->module, path, NULL, &r->diag));
  OK(r, etx_shared_memory_needed(&r->module.program, &bytes));
  page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  page_count = (bytes + page_bytes - 1) / page_bytes;
  assert_true(page_count <= MAX_PAGES);
  block = mmap(NULL, page_count * page_bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(block != MAP_FAILED);
  const etx_bytes_mut memory = {block, bytes};
  OK(r,
     etx_shared_memory_init(&r->shared, &r->module.program, memory, &r->diag));
  OK(r, etx_shared_memory_allocator(&r->shared, etx_text_of("step"), &allocator,
                                    &r->diag));
  OK(r, etx_module_load_method(&r->module, "step", &allocator, &r->diag));
  r->method = etx_module_method(&r->module, "step");
  set_number(r, 0, &r->token);
  set_number(r, 1, &r->position);
  for (r->position = 0; r->position < LIVE; ++r->position) {
    r->token = 3 + r->position;
    OK(r, etx_method_run(r->method, &r->diag));
  }
}

static void stop(running* r) {
  etx_module_close(&r->module);
  assert_int_equal(munmap(block, page_count * page_bytes), 0);
}

static void mark(bool* pages, const void* from, size_t bytes) {
  const size_t at = (size_t)((const uint8_t*)from - block);
  for (size_t p = at / page_bytes; p <= (at + bytes - 1) / page_bytes; ++p) {
    pages[p] = true;
  }
}

// Pages of rows [first, end) of every cache, and of all of a state that is none
// if it may be read.
static void mark_rows(running* r, int capacity, size_t first, size_t end,
                      bool is_written, bool* pages) {
  size_t caches = 0;
  mark(pages, block, ETX_SHARED_MEMORY_HEADER);
  for (size_t i = 0; i < etx_shared_memory_count(&r->shared); ++i) {
    etx_tensor state;
    etx_state_hold hold;
    OK(r, etx_shared_memory_find(&r->shared,
                                 etx_shared_memory_name_at(&r->shared, i),
                                 &state, &hold, &r->diag));
    uint8_t* const data = state.data;
    if (state.rank != 4 || state.sizes[2] != capacity) {
      if (!is_written) mark(pages, data, etx_tensor_bytes(&state));
      continue;
    }
    ++caches;
    const size_t row = (size_t)state.sizes[3] * sizeof(float);
    for (size_t head = 0; head < (size_t)state.sizes[1]; ++head) {
      const size_t at = (head * (size_t)capacity + first) * row;
      mark(pages, data + at, (end - first) * row);
    }
  }
  assert_int_equal(caches, 4);
}

// One step with all pages of the state guarded.
static void step_guarded(running* r, int capacity, bool is_written) {
  static bool pages[MAX_PAGES];
  const struct sigaction action = {.sa_sigaction = allow,
                                   .sa_flags = SA_SIGINFO};
  struct sigaction before;
  memset(pages, 0, sizeof pages);
  mark_rows(r, capacity, is_written ? LIVE : 0, LIVE + 1, is_written, pages);
  memset((void*)(uintptr_t)asked_for, 0, sizeof asked_for);
  assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
  assert_int_equal(mprotect(block, page_count * page_bytes,
                            is_written ? PROT_READ : PROT_NONE),
                   0);
  const etx_status status = etx_method_run(r->method, &r->diag);
  assert_int_equal(
      mprotect(block, page_count * page_bytes, PROT_READ | PROT_WRITE), 0);
  assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
  OK(r, status);
  for (size_t p = 0; p < page_count; ++p) {
    if (asked_for[p] && !pages[p]) {
      fail_msg("a step with a cache of %d %s page %zu of %zu", capacity,
               is_written ? "writes" : "touches", p, page_count);
    }
    // Every new row is written, so its page was asked for.
    if (is_written && pages[p] && p > 0) assert_true(asked_for[p]);
  }
}

static void a_step_touches_live_rows_and_writes_new_ones(void** state) {
  (void)state;
  static const int capacities[] = {SMALL, LARGE};
  for (size_t m = 0; m < 2; ++m) {
    for (size_t c = 0; c < 2; ++c) {
      char path[256];
      running r;
      plan_step(models[m], capacities[c], path);
      start(&r, path);
      step_guarded(&r, capacities[c], true);
      step_guarded(&r, capacities[c], false);
      stop(&r);
    }
  }
}

// ------------------------------------------------ counts

typedef struct counts {
  double instructions, reads, writes;
} counts;

static counts count_step(const char* path) {
  char option[256], events[200];
  snprintf(events, sizeof events, "%s/callgrind.out", command_directory);
  snprintf(option, sizeof option, "--callgrind-out-file=%s", events);
  static const char* const inputs[2][2] = {
      {"arguments_0=[[3]]", "arguments_1=[5]"},
      {"input_ids=[[3]]", "cache_position=[5]"}};
  const size_t m = strstr(path, "llama") != NULL;
  command_expect(
      0, WORDS(VALGRIND, "--tool=callgrind", "--cache-sim=yes",
               "--toggle-collect=etx_method_run", option, ETX, "run", path,
               "step", "-i", inputs[m][0], "-i", inputs[m][1]));
  size_t size = 0;
  char* const text = command_read_file(events, &size);
  const char* const line = strstr(text, "\nsummary: ");
  counts c = {0, 0, 0};
  assert_non_null(strstr(text, "\nevents: Ir Dr Dw "));
  assert_non_null(line);
  assert_int_equal(sscanf(line, "\nsummary: %lf %lf %lf", &c.instructions,
                          &c.reads, &c.writes),
                   3);
  free(text);
  return c;
}

static void expect_close(const char* what, double small, double large) {
  assert_true(small > 1000);
  if (large <= 1.01 * small && small <= 1.01 * large) return;
  fail_msg("%s: %.0f with a small cache, %.0f with a large one", what, small,
           large);
}

static void counts_do_not_grow_with_the_cache(void** state) {
  (void)state;
  if (access(VALGRIND, X_OK) != 0) fail_msg(VALGRIND " is not installed");
  for (size_t m = 0; m < 2; ++m) {
    char small[256], large[256];
    plan_step(models[m], SMALL, small);
    plan_step(models[m], LARGE, large);
    const counts a = count_step(small), b = count_step(large);
    expect_close("instructions", a.instructions, b.instructions);
    expect_close("reads", a.reads, b.reads);
    expect_close("writes", a.writes, b.writes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_step_touches_live_rows_and_writes_new_ones),
      cmocka_unit_test(counts_do_not_grow_with_the_cache),
  };
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
