// Damaged methods in all stages of etx: YAML is changed word by word, read and
// planned, and the resulting program is opened and run. A wrong method is
// refused with a message; a program that etx itself wrote must be accepted by
// etx's own verifier; an internal error is a failure of this test.
//
//   method_mutation_test [COUNT [SEED]]
//   method_mutation_test write NUMBER SEED DIRECTORY   one of them, to look at

#define _DEFAULT_SOURCE  // mkdtemp, scandir

#include "tests/format/fixtures/format_test.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/plan/kernel_evaluator.h"
#include "exporter/export.h"
#include "tests/format/fixtures/sample_program.h"
#include "tests/hostile/hostile_memory.h"
#include "tests/hostile/hostile_program.h"
#include "tests/hostile/hostile_random.h"
#include "tests/hostile/text_mutation.h"
#include "tests/support/assert_message.h"
#include "tests/support/test_random.h"

enum {
  MAX_FILES = 64,
  MAX_SETS = 16,
  MAX_WORDS = 16384,
  TEXT_BYTES = 1 << 14,
  PROGRAM_BYTES = 1 << 20
};

typedef struct file {
  char name[256];
  etx_bytes_mut bytes;
  bool is_yaml;
} file;

// The files of one directory.
typedef struct set {
  file files[MAX_FILES];
  size_t count;
} set;

static size_t mutation_count = TEST_ROUNDS(3000);
static uint64_t seed = 20260822;

static set sets[MAX_SETS];
static size_t set_count;
static etx_text
    words[MAX_WORDS];  // words of all files; changes insert them anywhere
static size_t word_count;
static char directory[512];

// ---- changes of the text ----

static void collect_words(etx_text text) {
  size_t place = 0;
  while (word_count < MAX_WORDS) {
    const etx_text word = text_word_from(text, place);
    if (word.size == 0) return;
    words[word_count++] = word;
    place = (size_t)(word.data - text.data) + word.size;
  }
}

static int is_visible(const struct dirent* entry) {
  return entry->d_name[0] != '.';
}

static bool ends_with(const char* name, const char* end) {
  const size_t size = strlen(name);
  const size_t end_size = strlen(end);
  return size > end_size && strcmp(name + size - end_size, end) == 0;
}

// Keeps the method files of a directory, and weight files if they are small.
static void load_set(const char* path) {
  struct dirent** entries = NULL;
  const int count = scandir(path, &entries, is_visible, alphasort);
  set* s = &sets[set_count];
  for (int i = 0; i < count; ++i) {
    char full[768];
    file* f = &s->files[s->count];
    const bool is_yaml = ends_with(entries[i]->d_name, ".yaml");
    snprintf(full, sizeof full, "%s/%s", path, entries[i]->d_name);
    if ((is_yaml || ends_with(entries[i]->d_name, ".safetensors")) &&
        s->count < MAX_FILES) {
      snprintf(f->name, sizeof f->name, "%s", entries[i]->d_name);
      f->bytes = sample_read_file(full);
      f->is_yaml = is_yaml;
      ++s->count;
      if (is_yaml) {
        const etx_text text = {(const char*)f->bytes.data, f->bytes.size};
        collect_words(text);
      }
    }
    free(entries[i]);
  }
  free(entries);
  if (s->count > 0) ++set_count;
}

static void load_sets(void) {
  struct dirent** entries = NULL;
  const char* dumped = ETX_BINARY "/tests/dumped";
  load_set(ETX_SOURCE "/samples/stateful_model");
  const int count = scandir(dumped, &entries, is_visible, alphasort);
  for (int i = 0; i < count; ++i) {
    char path[768];
    snprintf(path, sizeof path, "%s/%s", dumped, entries[i]->d_name);
    if (set_count < MAX_SETS) load_set(path);
    free(entries[i]);
  }
  free(entries);
}

// ---- reading, planning and running a changed method ----

typedef struct mutation_tally {
  size_t read;
  size_t planned;
  size_t failures;  // failures of etx, as opposed to errors of the method
  hostile_counts programs;
  hostile_counts plain;  // the same in another way (hostile_program.h)
} mutation_tally;

typedef struct mutated_file {
  uint8_t bytes[PROGRAM_BYTES];
  size_t size;
} mutated_file;

static etx_status append(void* context, etx_bytes bytes) {
  mutated_file* out = context;
  if (bytes.size > sizeof out->bytes - out->size) return ETX_HOST_FAILED;
  memcpy(out->bytes + out->size, bytes.data, bytes.size);
  out->size += bytes.size;
  return ETX_OK;
}

// Both ways must give the same bits.
static void run(uint64_t number, etx_bytes program, mutation_tally* t) {
  hostile_counts* const programs = &t->programs;
  hostile_counts* const plain = &t->plain;
  hostile_try(program, programs);
  hostile_try_plainly(program, plain);
  // Threads need more temporary memory, which may be more than the tests have.
  if (programs->too_large == plain->too_large &&
      (programs->ran != plain->ran || programs->results != plain->results)) {
    printf("number %" PRIu64 ": other results with other loops\n", number);
    ++t->failures;
  }
  *plain = *programs;
}

// A program that etx wrote must be accepted by etx's own verifier.
static void check_program(uint64_t number, const mutated_file* written,
                          mutation_tally* t) {
  etx_pte pte;
  etx_blob blob;
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_bytes view = {written->bytes, written->size};
  const etx_bytes_mut bytes = sample_copy(view);
  if (etx_pte_open(&pte, sample_view(bytes), NULL, &diag) != ETX_OK ||
      etx_blob_open(&blob, &pte, &diag) != ETX_OK) {
    printf("number %" PRIu64 ": etx refuses the program that it wrote: %s\n",
           number, diag.text);
    ++t->failures;
  }
  sample_release(bytes);
  run(number, view, t);
}

static void check_status(uint64_t number, etx_status status,
                         const etx_diag* diag, mutation_tally* t) {
  if (status == ETX_INTERNAL || status == ETX_BAD_PLAN ||
      (status != ETX_OK && !test_has_message(diag))) {
    printf("number %" PRIu64 ": %s: '%s'\n", number, etx_status_name(status),
           diag->text);
    ++t->failures;
  }
}

static void plan(uint64_t number, etx_target target, mutation_tally* t) {
  static mutated_file written;
  etx_pool pool;
  etx_ir_module module;
  etx_diag diag;
  etx_pool_init(&pool);
  etx_ir_module_init(&module, &pool);
  etx_diag_init(&diag);
  written.size = 0;
  etx_status status = etx_export_read(&module, directory, NULL, &diag);
  check_status(number, status, &diag, t);
  if (status == ETX_OK) {
    etx_export_options options;
    etx_export_report report;
    const etx_sink sink = {append, &written};
    memset(&options, 0, sizeof options);
    options.target = target;
    options.evaluator = etx_kernel_evaluator();
    ++t->read;
    etx_diag_init(&diag);
    status = etx_export_plan(&module, &options, &sink, &report, NULL, &diag);
    check_status(number, status, &diag, t);
  }
  etx_pool_close(&pool);
  if (status != ETX_OK) return;
  ++t->planned;
  check_program(number, &written, t);
}

static void write_file(const char* name, const void* bytes, size_t size) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE* out = fopen(path, "wb");
  assert_non_null(out);
  assert_int_equal(fwrite(bytes, 1, size, out), size);
  assert_int_equal(fclose(out), 0);
}

static void remove_files(const set* s) {
  for (size_t i = 0; i < s->count; ++i) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", directory, s->files[i].name);
    assert_int_equal(unlink(path), 0);
  }
}

// Writes the files of mutation number `number` into the directory.
static const set* write_changed(hostile_random* random) {
  static char text[TEXT_BYTES];
  const text_words vocabulary = {words, word_count};
  const set* s = &sets[hostile_below(random, set_count)];
  const size_t changed = hostile_below(random, s->count);
  for (size_t i = 0; i < s->count; ++i) {
    const file* f = &s->files[i];
    size_t size = f->bytes.size;
    if (i != changed || !f->is_yaml || size > TEXT_BYTES) {
      write_file(f->name, f->bytes.data, size);
      continue;
    }
    memcpy(text, f->bytes.data, size);
    size = text_mutate(text, size, sizeof text, &vocabulary, random);
    write_file(f->name, text, size);
  }
  return s;
}

static void mutate(uint64_t number, mutation_tally* t) {
  hostile_random random = hostile_random_of(seed, number);
  const set* s = write_changed(&random);
  const bool is_etx = hostile_chance(&random, 50);
  plan(number, is_etx ? ETX_TARGET_ETX : ETX_TARGET_EXECUTORCH, t);
  remove_files(s);
}

static void changed_methods_are_refused_or_planned_correctly(void** state) {
  static mutation_tally t;
  (void)state;
  hostile_limit_memory();
  load_sets();
  printf("seed %" PRIu64 ", %zu sets, %zu words\n", seed, set_count,
         word_count);
  snprintf(directory, sizeof directory, "%s/tests/changed-XXXXXX", ETX_BINARY);
  assert_non_null(mkdtemp(directory));
  for (size_t i = 0; i < mutation_count; ++i) mutate(i, &t);
  assert_int_equal(rmdir(directory), 0);
  printf("%zu changed, %zu read, %zu planned\n", mutation_count, t.read,
         t.planned);
  hostile_print("programs", &t.programs);
  assert_int_equal(t.failures, 0);
  if (mutation_count >= 1000) {
    assert_true(t.read > mutation_count / 20);
    assert_true(t.planned > mutation_count / 50);
  }
  for (size_t i = 0; i < set_count; ++i) {
    for (size_t j = 0; j < sets[i].count; ++j) {
      sample_release(sets[i].files[j].bytes);
    }
  }
}

int main(int count, char** arguments) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(changed_methods_are_refused_or_planned_correctly),
  };
  if (count == 5 && strcmp(arguments[1], "write") == 0) {
    hostile_random random = hostile_random_of(strtoull(arguments[3], NULL, 10),
                                              strtoull(arguments[2], NULL, 10));
    snprintf(directory, sizeof directory, "%s", arguments[4]);
    load_sets();
    (void)write_changed(&random);
    return 0;
  }
  if (count > 1) mutation_count = (size_t)strtoull(arguments[1], NULL, 10);
  if (count > 2) seed = strtoull(arguments[2], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
