// The translator whose decoding loop is in the program: one call for a
// sentence.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>

#include "samples/translate/translator.h"
#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define MODEL ETX_SOURCE "/samples/translate/model"

// Sanitizers make each step much slower, and fewer lines are enough for them.
#ifdef ETX_TEST_SANITIZED
enum { LINES = 20 };
#else
enum { LINES = 500 };
#endif

enum { PATH_BYTES = 256, POSITIONS = 64, LIMIT = 63 };

static etx_translate_tokenizer tokenizer;
static etx_module module;
static etx_diag diag;

static void open_program(const char* target, const char* passes) {
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s/generate.pte", command_directory);
  command_expect(0, WORDS(ETX, "plan", MODEL "/generate", "-o", path,
                          "--target", target, passes, "--quiet"));
  etx_diag_init(&diag);
  assert_int_equal(etx_translate_tokenizer_open(&tokenizer, MODEL "/vocab.txt", &diag),
                   ETX_OK);
  assert_int_equal(etx_module_open(&module, path, NULL, &diag), ETX_OK);
  assert_int_equal(etx_module_load_method(&module, "generate", NULL, &diag),
                   ETX_OK);
}

static void close_program(void) {
  etx_module_close(&module);
  etx_translate_tokenizer_close(&tokenizer);
}

// Returns the number of tokens of the translation, which are in `out_tokens`.
static int64_t generate(etx_text english, int64_t limit,
                        const int64_t** out_tokens) {
  int64_t ids[POSITIONS];
  const size_t count =
      etx_translate_tokenizer_encode(&tokenizer, english, ids, POSITIONS);
  const int32_t sizes[2] = {1, (int32_t)count};
  const etx_value inputs[2] = {
      etx_module_tensor(ids, ETX_DTYPE_INT64, sizes, 2),
      etx_module_tensor(&limit, ETX_DTYPE_INT64, NULL, 0)};
  const etx_value* tokens = NULL;
  const etx_value* length = NULL;
  assert_true(count <= POSITIONS);
  if (etx_module_execute(&module, "generate", inputs, 2, &diag) != ETX_OK) {
    fail_msg("%s", diag.text);
  }
  assert_int_equal(etx_module_output(&module, "generate", 0, &tokens, &diag),
                   ETX_OK);
  assert_int_equal(etx_module_output(&module, "generate", 1, &length, &diag),
                   ETX_OK);
  *out_tokens = tokens->as.tensor.data;
  return *(const int64_t*)length->as.tensor.data;
}

// True if the tokens are those of the text "400 289 0".
static bool are_expected(const int64_t* tokens, int64_t count,
                         const char* expected) {
  char found[4096];
  size_t size = 0;
  found[0] = '\0';
  for (int64_t i = 0; i < count; ++i) {
    size += (size_t)snprintf(found + size, sizeof found - size, "%s%" PRId64,
                             i == 0 ? "" : " ", tokens[i]);
  }
  if (strcmp(found, expected) == 0) return true;
  print_error("expected %s, found %s\n", expected, found);
  return false;
}

static void translate_lines(size_t limit) {
  FILE* const file = fopen(MODEL "/test.tsv", "rb");
  char line[4096];
  size_t lines = 0, wrong = 0;
  assert_non_null(file);
  while (lines < limit && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    const etx_text english = {line, strcspn(line, "\t")};
    const int64_t* tokens = NULL;
    const int64_t count = generate(english, LIMIT, &tokens);
    wrong += !are_expected(tokens, count, strrchr(line, '\t') + 1);
    lines += 1;
  }
  fclose(file);
  assert_int_equal(lines, limit);
  assert_int_equal(wrong, 0);
}

static void one_call_gives_the_tokens_of_every_line(void** state) {
  (void)state;
  open_program("etx", "--passes=");
  translate_lines(LINES);
  close_program();
}

static void programs_for_executorch_give_the_same_tokens(void** state) {
  (void)state;
  open_program("executorch", "--passes=");
  translate_lines(LINES / 10);
  close_program();
}

static void the_caches_may_be_copied_instead_of_updated(void** state) {
  (void)state;
  open_program("etx", "--passes=-share_branch_storage,-update_in_place");
  translate_lines(LINES / 10);
  close_program();
}

static void the_limit_ends_the_translation(void** state) {
  (void)state;
  const etx_text english = etx_text_of("eight hundred and forty-three");
  const int64_t* tokens = NULL;
  int64_t all[POSITIONS];
  open_program("etx", "--passes=");
  const int64_t count = generate(english, LIMIT, &tokens);
  assert_in_range(count, 3, LIMIT - 1);
  assert_int_equal(tokens[count - 1], 0);
  memcpy(all, tokens, sizeof all);
  for (int64_t limit = 0; limit < count; ++limit) {
    assert_int_equal(generate(english, limit, &tokens), limit);
    assert_memory_equal(tokens, all, (size_t)limit * sizeof *all);
  }
  close_program();
}

// The caches are states of 98304 bytes each, which the loop updates where they
// are. What is copied are the initial values of the other carried values.
static void no_call_copies_a_cache(void** state) {
  (void)state;
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s/generate.pte", command_directory);
  const char* const words[] = {ETX,  "plan", MODEL "/generate",
                               "-o", path,   NULL};
  command_expect_out(0, words, "arena 2, state: 196608 bytes");
  command_expect_out(0, words, "  total: 16\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_call_gives_the_tokens_of_every_line),
      cmocka_unit_test(programs_for_executorch_give_the_same_tokens),
      cmocka_unit_test(the_caches_may_be_copied_instead_of_updated),
      cmocka_unit_test(the_limit_ends_the_translation),
      cmocka_unit_test(no_call_copies_a_cache),
  };
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
