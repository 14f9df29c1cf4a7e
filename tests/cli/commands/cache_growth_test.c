// The cost of a decoding step does not depend on the capacity of its cache: a
// step writes its new rows and reads the live rows. Two models exported from
// PyTorch (tests/data/steps) are planned with a small and with a large cache:
//
//   pages   the pages of the state are made unreadable, or read-only, for one
//           step; each page that faults must hold live or new rows
//   counts  callgrind counts instructions, reads and writes of a step, which
//   may
//           differ by one percent

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
static const char recorded_capacity[] = "1009";  // in step.yaml

// ------------------------------------------------ planning

// Copies the file with another capacity.
static void write_step(const char* from, const char* to, int capacity) {
  size_t size = 0;
  char* const text = command_read_file(from, &size);
  FILE* const file = fopen(to, "wb");
  assert_non_null(file);
  size_t count = 0;
  const char* at = text;
  for (const char* next; (next = strstr(at, recorded_capacity)) != NULL;
       ++count) {
    fwrite(at, 1, (size_t)(next - at), file);
    fprintf(file, "%d", capacity);
    at = next + sizeof recorded_capacity - 1;
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

// The state, and which of its pages faulted.
static uint8_t* block;
static size_t page_bytes, page_count;
static volatile sig_atomic_t faulted[MAX_PAGES];

static void on_fault(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  const uintptr_t at = (uintptr_t)info->si_addr - (uintptr_t)block;
  const size_t page = at / page_bytes;
  if (page >= page_count) _exit(1);  // a fault elsewhere is a bug
  faulted[page] = 1;
  mprotect(block + page * page_bytes, page_bytes, PROT_READ | PROT_WRITE);
}

typedef struct step_session {
  etx_module module;
  etx_shared_memory shared;
  etx_method* method;
  int64_t token, position;
  etx_diag diag;
} step_session;

#define OK(session, call)                                       \
  do {                                                          \
    if ((call) != ETX_OK) fail_msg("%s", (session)->diag.text); \
  } while (0)

static void set_number(step_session* s, size_t index, int64_t* number) {
  static const int32_t ones[2] = {1, 1};
  etx_port_info port;
  OK(s, etx_program_input_at(&s->module.program, etx_text_of("step"), index,
                             &port, &s->diag));
  const etx_value value = etx_module_tensor(number, ETX_DTYPE_INT64, ones,
                                            port.value.as.tensor.rank);
  OK(s, etx_method_set_input(s->method, index, &value.as.tensor, &s->diag));
}

static void start(step_session* s, const char* path) {
  size_t bytes = 0;
  etx_planned_memory allocator;
  etx_diag_init(&s->diag);
  OK(s, etx_module_open(&s->module, path, NULL, &s->diag));
  OK(s, etx_shared_memory_needed(&s->module.program, &bytes));
  page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  page_count = (bytes + page_bytes - 1) / page_bytes;
  assert_true(page_count <= MAX_PAGES);
  block = mmap(NULL, page_count * page_bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(block != MAP_FAILED);
  const etx_bytes_mut memory = {block, bytes};
  OK(s,
     etx_shared_memory_init(&s->shared, &s->module.program, memory, &s->diag));
  OK(s, etx_shared_memory_allocator(&s->shared, etx_text_of("step"), &allocator,
                                    &s->diag));
  OK(s, etx_module_load_method(&s->module, "step", &allocator, &s->diag));
  s->method = etx_module_method(&s->module, "step");
  set_number(s, 0, &s->token);
  set_number(s, 1, &s->position);
  for (s->position = 0; s->position < LIVE; ++s->position) {
    s->token = 3 + s->position;
    OK(s, etx_method_run(s->method, &s->diag));
  }
}

static void stop(step_session* s) {
  etx_module_close(&s->module);
  assert_int_equal(munmap(block, page_count * page_bytes), 0);
}

static void mark(bool* pages, const void* from, size_t bytes) {
  const size_t at = (size_t)((const uint8_t*)from - block);
  for (size_t p = at / page_bytes; p <= (at + bytes - 1) / page_bytes; ++p) {
    pages[p] = true;
  }
}

// Marks the pages of rows [first, end) of every cache. Other states may be read
// as a whole.
static void mark_rows(step_session* s, int capacity, size_t first, size_t end,
                      bool is_written, bool* pages) {
  size_t caches = 0;
  mark(pages, block, ETX_SHARED_MEMORY_HEADER);
  for (size_t i = 0; i < etx_shared_memory_count(&s->shared); ++i) {
    etx_tensor state;
    etx_state_hold hold;
    OK(s, etx_shared_memory_find(&s->shared,
                                 etx_shared_memory_name_at(&s->shared, i),
                                 &state, &hold, &s->diag));
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

// One step with all pages of the state protected.
static void step_guarded(step_session* s, int capacity, bool is_written) {
  static bool pages[MAX_PAGES];
  const struct sigaction action = {.sa_sigaction = on_fault,
                                   .sa_flags = SA_SIGINFO};
  struct sigaction before;
  memset(pages, 0, sizeof pages);
  mark_rows(s, capacity, is_written ? LIVE : 0, LIVE + 1, is_written, pages);
  memset((void*)(uintptr_t)faulted, 0, sizeof faulted);
  assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
  assert_int_equal(mprotect(block, page_count * page_bytes,
                            is_written ? PROT_READ : PROT_NONE),
                   0);
  const etx_status status = etx_method_run(s->method, &s->diag);
  assert_int_equal(
      mprotect(block, page_count * page_bytes, PROT_READ | PROT_WRITE), 0);
  assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
  OK(s, status);
  for (size_t p = 0; p < page_count; ++p) {
    if (faulted[p] && !pages[p]) {
      fail_msg("a step with a cache of %d %s page %zu of %zu", capacity,
               is_written ? "writes" : "reads", p, page_count);
    }
    // Every new row is written, so its page faulted.
    if (is_written && pages[p] && p > 0) assert_true(faulted[p]);
  }
}

static void a_step_reads_live_rows_and_writes_new_ones(void** state) {
  (void)state;
  static const int capacities[] = {SMALL, LARGE};
  for (size_t m = 0; m < 2; ++m) {
    for (size_t c = 0; c < 2; ++c) {
      char path[256];
      step_session s;
      plan_step(models[m], capacities[c], path);
      start(&s, path);
      step_guarded(&s, capacities[c], true);
      step_guarded(&s, capacities[c], false);
      stop(&s);
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
      cmocka_unit_test(a_step_reads_live_rows_and_writes_new_ones),
      cmocka_unit_test(counts_do_not_grow_with_the_cache),
  };
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
