// etx plan --pack-budget: the budget holds in the file, results are those
// without it, and PyTorch's.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/cli/command.h"
#include "tests/support/test_random.h"

#define ETX ETX_BINARY "/etx"
#define LLAMA ETX_TEST_DATA "/pt2/llama"

enum { PATH_BYTES = 192 };

static char program[PATH_BYTES];
static char methods[PATH_BYTES];

static int set_up(void** state) {
  if (command_set_up(state) != 0) return -1;
  snprintf(program, sizeof program, "%s/budget.pte", command_directory);
  snprintf(methods, sizeof methods, "%s/methods", command_directory);
  test_random_start();
  return mkdir(methods, 0700);
}

static int64_t integer_of(const json_t* root, const char* key) {
  return json_integer_value(json_object_get(root, key));
}

// Plans and returns the report. `budget` is NULL for --pack alone.
static json_t* plan(const char* input, const char* budget) {
  command_result result =
      command_run(WORDS(ETX, "plan", input, "-o", program, "--json", "--pack",
                        budget == NULL ? NULL : "--pack-budget", budget));
  assert_int_equal(result.code, 0);
  json_t* const root = json_loads(result.out, 0, NULL);
  assert_non_null(root);
  command_end(&result);
  return root;
}

// The number of packed weights; the bytes of those that are stored twice.
static size_t count_packed(const json_t* root, int64_t* out_copies) {
  const json_t* const rows = json_object_get(root, "packed");
  size_t count = 0;
  *out_copies = 0;
  for (size_t i = 0; i < json_array_size(rows); ++i) {
    const json_t* const row = json_array_get(rows, i);
    if (json_is_true(json_object_get(row, "packed"))) ++count;
    *out_copies += integer_of(row, "copy_bytes");
  }
  return count;
}

// Prefill and decode of one model want two forms of each weight.
static void the_bytes_of_copies_stay_within_the_budget(void** state) {
  enum { ROUNDS = 5 };
  (void)state;
  int64_t copies = 0;
  json_t* const without = plan(LLAMA, NULL);
  assert_int_equal(count_packed(without, &copies), 0);
  assert_int_equal(copies, 0);
  json_t* const all = plan(LLAMA, "1G");
  const size_t most = count_packed(all, &copies);
  const int64_t most_bytes = copies;
  assert_true(most > 0);
  size_t least = most;
  for (size_t i = 0; i < ROUNDS; ++i) {
    char budget[32];
    const int64_t bytes = i == 0   ? most_bytes
                          : i == 1 ? most_bytes - 1
                                   : test_random_integer(0, most_bytes);
    snprintf(budget, sizeof budget, "%lld", (long long)bytes);
    json_t* const root = plan(LLAMA, budget);
    const size_t count = count_packed(root, &copies);
    const int64_t grown = integer_of(root, "constant_bytes") -
                          integer_of(without, "constant_bytes");
    assert_in_range(copies, 0, bytes);
    assert_int_equal(grown, copies);
    if (i == 0) assert_int_equal(count, most);
    if (i == 1) assert_true(count < most);
    if (count < least) least = count;
    json_decref(root);
  }
  assert_true(least < most);
  json_decref(all);
  json_decref(without);
}

static void recorded_calls_agree_with_pytorch(void** state) {
  static const char* const budgets[] = {"40K", "1M"};
  (void)state;
  for (size_t i = 0; i < sizeof budgets / sizeof *budgets; ++i) {
    command_expect(
        0, WORDS(ETX, "plan", LLAMA, "-q", "-o", program, "--pack-budget",
                 budgets[i], "--specialize", "tokens[1]=1,2..16"));
    command_expect(0, WORDS(ETX, "run", program, "--case", LLAMA));
  }
}

// A variant for one token concatenates the weights of its queries, keys and
// values, and the file has them once.
static void variants_take_no_bytes_of_constants(void** state) {
  (void)state;
  json_t* const without = plan(LLAMA, NULL);
  command_result result =
      command_run(WORDS(ETX, "plan", LLAMA, "-o", program, "--json", "--pack",
                        "--specialize", "prefill:tokens[1]=1"));
  assert_int_equal(result.code, 0);
  json_t* const with = json_loads(result.out, 0, NULL);
  const json_t* const fusions = json_object_get(with, "fusions");
  size_t count = 0;
  for (size_t i = 0; i < json_array_size(fusions); ++i) {
    const json_t* const row = json_array_get(fusions, i);
    const char* const kind = json_string_value(json_object_get(row, "kind"));
    const char* const method =
        json_string_value(json_object_get(row, "method"));
    if (strcmp(kind, "parallel linear") == 0 &&
        strcmp(method, "prefill@1") == 0 &&
        json_is_null(json_object_get(row, "missed"))) {
      ++count;
    }
  }
  assert_int_equal(count, 3);  // one for each block of the model
  assert_true(integer_of(with, "constant_bytes") <
              integer_of(without, "constant_bytes") + 1024);
  assert_true(integer_of(with, "file_bytes") <
              integer_of(without, "file_bytes") * 105 / 100);
  command_end(&result);
  json_decref(with);
  json_decref(without);
}

// All weights and inputs differ, so another order of sums gives other bits.
static void write_method(const char* name, int rows) {
  char path[2 * PATH_BYTES];
  char text[2048];
  snprintf(path, sizeof path, "%s/%s.yaml", methods, name);
  snprintf(text, sizeof text,
           "etx: 1\n"
           "method: %s\n"
           "inputs: [{name: x, type: 'float32[1]'}]\n"
           "nodes:\n"
           "  - {out: i, op: aten.arange.default, args: [3456]}\n"
           "  - {out: f, op: aten._to_copy.default, args: [i], kwargs: "
           "{dtype: float32}}\n"
           "  - {out: s, op: aten.sin.default, args: [f]}\n"
           "  - {out: w, op: aten.view.default, args: [s, [48, 72]]}\n"
           "  - {out: j, op: aten.arange.default, args: [%d]}\n"
           "  - {out: g, op: aten._to_copy.default, args: [j], kwargs: "
           "{dtype: float32}}\n"
           "  - {out: k, op: aten.mul.Tensor, args: [g, x]}\n"
           "  - {out: l, op: aten.cos.default, args: [k]}\n"
           "  - {out: u, op: aten.view.default, args: [l, [%d, 72]]}\n"
           "  - {out: y, op: aten.linear.default, args: [u, w]}\n"
           "outputs: [y]\n",
           name, 72 * rows, rows);
  command_write_file(path, text);
}

static void run_method(const char* name, const char* file) {
  char output[2 * PATH_BYTES];
  snprintf(output, sizeof output, "output_0=%s", file);
  command_expect(
      0, WORDS(ETX, "run", program, name, "--in", "x=[0.7]", "--out", output));
}

static void results_are_bit_equal(void** state) {
  static const char* const names[] = {"many", "one"};
  char plain[2][PATH_BYTES];
  char packed[2][PATH_BYTES];
  (void)state;
  write_method("many", 21);
  write_method("one", 1);
  command_expect(0, WORDS(ETX, "plan", methods, "-q", "-o", program));
  for (size_t i = 0; i < 2; ++i) {
    snprintf(plain[i], sizeof plain[i], "%s/plain%zu.npy", command_directory,
             i);
    snprintf(packed[i], sizeof packed[i], "%s/packed%zu.npy", command_directory,
             i);
    run_method(names[i], plain[i]);
  }
  json_t* const root = plan(methods, "16K");
  int64_t copies = 0;
  assert_int_equal(count_packed(root, &copies), 1);
  assert_int_equal(copies, 48 * 72 * 4);
  json_decref(root);
  command_expect_out(0, WORDS(ETX, "inspect", program), "etx::linear_panels");
  command_expect_out(0, WORDS(ETX, "inspect", program), "aten::linear");
  for (size_t i = 0; i < 2; ++i) {
    run_method(names[i], packed[i]);
    command_expect_same_files(plain[i], packed[i]);
  }
}

static void the_option_is_checked(void** state) {
  static const char* const wrong[] = {
      "", "-1", "K", "1.5M", "1T", "1KB", "x10", "64m", "18014398509481984K"};
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    command_expect_err(
        2, WORDS(ETX, "plan", LLAMA, "-o", program, "--pack-budget", wrong[i]),
        "option '--pack-budget' expects a number of bytes");
  }
  command_expect_err(2,
                     WORDS(ETX, "plan", LLAMA, "-o", program, "--pack-budget",
                           "1M", "--target", "executorch"),
                     "no operators over packed weights: plan for target etx");
}

static void a_budget_of_zero_changes_nothing(void** state) {
  char plain[PATH_BYTES];
  (void)state;
  snprintf(plain, sizeof plain, "%s/plain.pte", command_directory);
  command_expect(0, WORDS(ETX, "plan", LLAMA, "-q", "-o", plain, "--pack"));
  command_expect(0, WORDS(ETX, "plan", LLAMA, "-q", "-o", program, "--pack",
                          "--pack-budget", "0"));
  command_expect_same_files(plain, program);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_bytes_of_copies_stay_within_the_budget),
      cmocka_unit_test(recorded_calls_agree_with_pytorch),
      cmocka_unit_test(variants_take_no_bytes_of_constants),
      cmocka_unit_test(results_are_bit_equal),
      cmocka_unit_test(the_option_is_checked),
      cmocka_unit_test(a_budget_of_zero_changes_nothing),
  };
  return cmocka_run_group_tests(tests, set_up, command_tear_down);
}
