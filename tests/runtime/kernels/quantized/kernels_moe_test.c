// What the mixture of experts refuses. Its results are compared with PyTorch's
// in tests/data/ops.

#include <stdint.h>
#include <string.h>

#include "tests/support/assert_message.h"
#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"

static etx_diag diag;

enum {
  WIDTH = 16,
  HIDDEN = 32,
  EXPERTS = 2,
  TOKENS = 3,
  // A header, and for 8 rows of a group of 16: its numbers, scales and sums.
  HEADER = 64,
  BLOCK = 16 * 8 + 8 * 8,
  UP_GATE_BYTES = HEADER + 2 * HIDDEN / 8 * BLOCK,
  DOWN_BYTES = HEADER + WIDTH / 8 * (HIDDEN / 16) * BLOCK,
};

// One call of the layer, whose weights are all zero.
typedef struct moe_call {
  int64_t group, bits, active;
  const char* score;
  int32_t biases, up_gate_bytes, down_bytes;
  size_t word;      // of the header of the last expert, which becomes `value`
  int32_t value;    // 0: the header is right
  bool is_of_down;  // the header is that of the second weights
  int32_t tokens;
} moe_call;

static const moe_call right = {.group = 16,
                               .bits = 8,
                               .active = 2,
                               .score = "sigmoid",
                               .biases = EXPERTS,
                               .up_gate_bytes = UP_GATE_BYTES,
                               .down_bytes = DOWN_BYTES,
                               .tokens = TOKENS};

static void put_weights(test_call* c, const moe_call* m, int32_t bytes,
                        bool is_down) {
  static uint8_t blobs[EXPERTS * (UP_GATE_BYTES + DOWN_BYTES)];
  const int32_t header[8] = {6712, 1, 8, 0, 0, 8, 16, 2};
  memset(blobs, 0, sizeof blobs);
  for (int32_t e = 0; e < EXPERTS; ++e) {
    memcpy(blobs + e * bytes, header, sizeof header);
  }
  if (m->value != 0 && m->is_of_down == is_down) {
    memcpy(blobs + bytes * (EXPERTS - 1) + 4 * m->word, &m->value, 4);
  }
  test_call_tensor(c, ETX_DTYPE_UINT8, 2, (int32_t[]){EXPERTS, bytes}, NULL,
                   blobs);
}

static etx_status run_moe(test_call* c, const moe_call* m) {
  static const float ones[TOKENS * WIDTH] = {1, 1, 1, 1, 1, 1, 1, 1};
  test_call_begin(c, "llama::quantized_moe_ffn.out");
  test_call_floats(c, 2, (int32_t[]){m->tokens, WIDTH}, ones);
  test_call_floats(c, 2, (int32_t[]){EXPERTS, WIDTH}, ones);
  test_call_floats(c, 1, &m->biases, ones);
  put_weights(c, m, m->up_gate_bytes, false);
  put_weights(c, m, m->down_bytes, true);
  test_call_integer(c, m->active);
  test_call_integer(c, EXPERTS);
  test_call_integer(c, HIDDEN);
  test_call_integer(c, WIDTH);
  test_call_integer(c, m->group);
  test_call_integer(c, m->bits);
  test_call_string(c, m->score);
  test_call_real(c, 1.5);
  return test_call_run(c, TEST_CALL_RULE_DTYPE);
}

static void weights_of_zero_give_zero(void** unused) {
  (void)unused;
  for (int64_t active = 1; active <= EXPERTS; ++active) {
    test_call c;
    moe_call m = right;
    m.active = active;
    assert_ok(run_moe(&c, &m));
    const float* out = test_call_result(&c, 0)->data;
    for (size_t i = 0; i < TOKENS * WIDTH; ++i) assert_true(out[i] == 0);
    test_call_end(&c);
  }
}

static void no_tokens_give_no_rows(void** unused) {
  (void)unused;
  test_call c;
  moe_call m = right;
  m.tokens = 0;
  assert_ok(run_moe(&c, &m));
  assert_int_equal(test_call_result(&c, 0)->sizes[0], 0);
  test_call_end(&c);
}

static void expect_refusal(const moe_call* m, etx_status status,
                           const char* message) {
  test_call c;
  const etx_status found = run_moe(&c, m);
  if (found != status || !test_message_has(&c.diag, message)) {
    fail_msg("%s: %d, %s", message, (int)found, c.diag.text);
  }
  test_call_end(&c);
}

static void other_formats_are_refused(void** unused) {
  (void)unused;
  moe_call m = right;
  m.bits = 3;
  expect_refusal(&m, ETX_UNSUPPORTED, "'weight_nbit' is 3, expected 4 or 8");
  m = right;
  m.group = 8;
  expect_refusal(&m, ETX_UNSUPPORTED, "'group_size' is 8");
  m = right;
  m.score = "relu";
  expect_refusal(&m, ETX_UNSUPPORTED, "'score_func' is 'relu'");
  m = right;
  m.score = "softmax";
  expect_refusal(&m, ETX_BAD_ARGUMENT, "'expert_bias' is not empty");
}

static void weights_that_are_too_short_are_refused(void** unused) {
  (void)unused;
  moe_call m = right;
  m.up_gate_bytes = UP_GATE_BYTES - 1;
  expect_refusal(&m, ETX_BAD_ARGUMENT, "packed weights of 64 x 16");
  m = right;
  m.down_bytes = DOWN_BYTES - 1;
  expect_refusal(&m, ETX_BAD_ARGUMENT, "packed weights of 16 x 32");
  m = right;
  m.bits = 4;  // half of the bytes are enough
  m.value = 4;
  expect_refusal(&m, ETX_UNSUPPORTED, "word 2 of packed weights is 8");
}

static void every_word_of_a_header_is_checked(void** unused) {
  (void)unused;
  for (size_t word = 0; word < 8; ++word) {
    moe_call m = right;
    m.word = word;
    m.value = 77;
    expect_refusal(&m, ETX_UNSUPPORTED, "of packed weights is 77");
    m.is_of_down = true;
    expect_refusal(&m, ETX_UNSUPPORTED, "of packed weights is 77");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(weights_of_zero_give_zero),
      cmocka_unit_test(no_tokens_give_no_rows),
      cmocka_unit_test(other_formats_are_refused),
      cmocka_unit_test(weights_that_are_too_short_are_refused),
      cmocka_unit_test(every_word_of_a_header_is_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
