// Values that depend on positions alone, of varying sizes and large ones of
// fixed sizes: computed when planned and in every call. The recorded results
// are those of eager PyTorch.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "tests/cli/command.h"
#include "tests/cli/passes_off.h"

#define ETX ETX_BINARY "/etx"
#define SET ETX_TEST_DATA "/pt2/positions"
#define MASKS ETX_TEST_DATA "/pt2/long_masks"

enum { PATH_BYTES = 256 };

static char folded[PATH_BYTES], computed[PATH_BYTES];

static void plan_set(const char* form, const char* cases, const char* passes,
                     const char* program) {
  char option[sizeof passes_off + 16];
  snprintf(option, sizeof option, "--passes=%s", passes);
  command_expect(0, WORDS(ETX, "plan", form, "-q", "-o", program, option));
  command_expect(0, WORDS(ETX, "verify", program));
  command_expect(0, WORDS(ETX, "run", program, "--case", cases));
}

static void plan(const char* form, const char* passes, const char* program) {
  plan_set(form, SET, passes, program);
}

// Writes the first output of a recorded call to `file`.
static void run_call(const char* program, const char* method, const char* call,
                     const char* file) {
  char in[PATH_BYTES], out[PATH_BYTES + 16];
  snprintf(in, sizeof in, "x=" SET "/expected.safetensors#%s.in0", call);
  snprintf(out, sizeof out, "output_0=%s", file);
  command_expect(0,
                 WORDS(ETX, "run", program, method, "--in", in, "--out", out));
}

// The pass changes no bit of these methods. It lets the attention of `window`
// be fused, whose sums differ from those of the operators that it replaces;
// only the recorded results count there.
static void expect_same_bits(void) {
  static const char* const calls[][2] = {
      {"rotate", "c000"},   {"rotate", "c013"},   {"rotate", "c020"},
      {"mask", "c001"},     {"mask", "c014"},     {"mask", "c021"},
      {"added", "c002"},    {"added", "c015"},    {"added", "c022"},
      {"relative", "c004"}, {"relative", "c017"}, {"relative", "c024"},
      {"last", "c012"},     {"last", "c019"},     {"last", "c026"}};
  char a[PATH_BYTES + 16], b[PATH_BYTES + 16];
  snprintf(a, sizeof a, "%s/folded.npy", command_directory);
  snprintf(b, sizeof b, "%s/computed.npy", command_directory);
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
    run_call(folded, calls[i][0], calls[i][1], a);
    run_call(computed, calls[i][0], calls[i][1], b);
    command_expect_same_files(a, b);
  }
}

static void agrees(const char* form) {
  plan(form, passes_off + 1, computed);
  plan(form, "-fold_positions", computed);
  plan(form, "", folded);
  expect_same_bits();
}

static void tables_of_positions_agree_with_pytorch(void** state) {
  (void)state;
  snprintf(folded, sizeof folded, "%s/folded.pte", command_directory);
  snprintf(computed, sizeof computed, "%s/computed.pte", command_directory);
  agrees(SET);
  agrees(SET "/core");
}

// Attention knows a causal mask, and reads a window from the file: nothing of a
// mask's size, 69 696 bytes and more, is computed in a call.
static void long_masks_of_fixed_sizes_agree_with_pytorch(void** state) {
  (void)state;
  static const char* const forms[] = {MASKS, MASKS "/core"};
  static const char* const methods[] = {"added", "hidden", "given", "window"};
  snprintf(folded, sizeof folded, "%s/masks.pte", command_directory);
  for (size_t i = 0; i < 2; ++i) {
    plan_set(forms[i], MASKS, "-fold_positions", folded);
    plan_set(forms[i], MASKS, "", folded);
    for (size_t k = 0; k < 4; ++k) {
      char line[PATH_BYTES];
      snprintf(line, sizeof line, "%s: %d instructions, 4224 bytes of scratch",
               methods[k], k == 2 ? 2 : 4);
      command_expect_out(0, WORDS(ETX, "inspect", folded), line);
    }
  }
}

// Stock readers get the same tables.
static void files_for_executorch_agree_with_pytorch(void** state) {
  (void)state;
  snprintf(folded, sizeof folded, "%s/stock.pte", command_directory);
  command_expect(0, WORDS(ETX, "plan", SET "/core", "-q", "-o", folded,
                          "--target", "executorch"));
  command_expect(0, WORDS(ETX, "verify", folded));
  command_expect(0, WORDS(ETX, "run", folded, "--case", SET));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tables_of_positions_agree_with_pytorch),
      cmocka_unit_test(long_masks_of_fixed_sizes_agree_with_pytorch),
      cmocka_unit_test(files_for_executorch_agree_with_pytorch),
  };
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
