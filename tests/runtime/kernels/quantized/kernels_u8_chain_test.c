// etx::chain_u8 gives what its steps compute, one after the other, with the
// floats that the bytes stand for, and the bits of dequantise, chain and
// quantise as separate operators.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/ops/chain_steps.h"
#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_random.h"
#include "tests/support/test_instruction_sets.h"

enum {
  MAX_ELEMENTS = 40000,  // elements: several tasks of the kernel
  OTHERS = 5,
  TEXT = 256,
};

// A tensor of bytes or floats.
typedef struct u8_chain_operand {
  int32_t sizes[4];
  size_t rank, numel;
  bool is_float;
  double scale;
  int64_t zero;
  uint8_t bytes[MAX_ELEMENTS];
  float floats[MAX_ELEMENTS];  // the dequantised elements
} u8_chain_operand;

typedef struct u8_chain_case {
  size_t other_count;
  char text[TEXT];
  bool is_float;
  double out_scale;
  int64_t out_zero, out_min, out_max;
} u8_chain_case;

static u8_chain_operand self, others[OTHERS];
static float expected[MAX_ELEMENTS];

static bool one_in(uint32_t n) { return test_random_bits() % n == 0; }

// ------------------------------------------------ random cases

static void random_operand(u8_chain_operand* o) {
  o->numel = 1;
  for (size_t i = 0; i < o->rank; ++i) o->numel *= (size_t)o->sizes[i];
  o->is_float = one_in(4);
  o->scale = one_in(30) ? (one_in(2) ? NAN : 0.0)
                        : (double)(test_random_bits() % 1000 + 1) / 2000;
  o->zero = test_random_integer(0, 255);
  for (size_t i = 0; i < o->numel; ++i) {
    o->bytes[i] = (uint8_t)test_random_bits();
    o->floats[i] = o->is_float
                       ? test_random_float(20)
                       : (float)(o->bytes[i] - o->zero) * (float)o->scale;
  }
}

// A tensor of the size of self, a row of it, or one element.
static void random_other(u8_chain_operand* o) {
  const size_t kind = test_random_bits() % 3;
  memcpy(o->sizes, self.sizes, sizeof o->sizes);
  o->rank = self.rank;
  if (kind > 0) {
    // With or without leading sizes of 1.
    const size_t kept = one_in(2) && self.rank > 0 ? self.rank : 1;
    const int32_t last = self.rank > 0 ? self.sizes[self.rank - 1] : 1;
    for (size_t i = 0; i < kept; ++i) o->sizes[i] = 1;
    o->sizes[kept - 1] = kind == 1 ? last : 1;
    o->rank = kind == 2 && one_in(2) ? 0 : kept;
  }
  random_operand(o);
}

static void random_self(void) {
  static const int32_t lengths[] = {1, 3, 17, 64, 100, 511, 512, 513, 2000};
  do {
    self.rank = (size_t)test_random_integer(0, 4);
    self.numel = 1;
    for (size_t i = 0; i < self.rank; ++i) {
      self.sizes[i] = one_in(40) ? 0 : lengths[test_random_bits() % 9];
      self.numel *= (size_t)self.sizes[i];
    }
  } while (self.numel > MAX_ELEMENTS);
  random_operand(&self);
}

static const char* const exact_steps[] = {
    "add", "subtract", "multiply", "minimum", "maximum", "neg", "abs", "relu"};

// The name of a random step and its number of operands: one of the steps that
// IEEE 754 defines exactly, or any step without parameters.
static const char* random_step(bool are_exact, size_t* out_takes) {
  uint8_t any = 0;
  do {
    any = (uint8_t)test_random_integer(ETX_STEP_X + 1, ETX_STEP_END - 1);
  } while (etx_chain_step_parameters(any) > 0);
  const size_t choice = test_random_bits() % 8;
  *out_takes = are_exact ? (choice < 5 ? 2 : 1) : etx_chain_step_operands(any);
  return are_exact ? exact_steps[choice] : etx_chain_step_name(any);
}

static void random_steps(u8_chain_case* c, bool are_exact) {
  size_t depth = 0, words = 0;
  const size_t most = (size_t)test_random_integer(1, 9);
  c->text[0] = '\0';
  while (words < most || depth != 1) {
    char word[32];
    size_t takes = 0;
    if (words >= most && depth > 1) {
      takes = 2;
      snprintf(word, sizeof word, "add");
    } else if (depth == 0 || (depth < ETX_CHAIN_MAX_DEPTH && one_in(2))) {
      const size_t other = test_random_bits() % (c->other_count + 1);
      snprintf(word, sizeof word, "%zu", other);
      if (words == 0 || other == c->other_count) strcpy(word, "x");
    } else {
      snprintf(word, sizeof word, "%s", random_step(are_exact, &takes));
      if (takes > depth) continue;
    }
    depth += 1 - takes;
    if (words++ > 0) strcat(c->text, " ");
    strcat(c->text, word);
  }
}

static u8_chain_case random_case(bool are_exact) {
  u8_chain_case c = {.other_count = (size_t)test_random_integer(0, OTHERS)};
  random_self();
  for (size_t i = 0; i < c.other_count; ++i) random_other(&others[i]);
  random_steps(&c, are_exact);
  c.is_float = one_in(3);
  c.out_scale = (double)(test_random_bits() % 1000 + 1) / 1000;
  if (are_exact && one_in(20)) {
    const double rare[] = {NAN, INFINITY, 0.0, 1e-320, -1e-3};
    c.out_scale = rare[test_random_bits() % 5];
  }
  c.out_zero = test_random_integer(0, 255);
  c.out_min = one_in(2) ? 0 : test_random_integer(0, 255);
  c.out_max = one_in(2) ? 255 : test_random_integer(c.out_min, 255);
  return c;
}

// ------------------------------------------------ the call

static void add_operand(test_call* call, const u8_chain_operand* o) {
  const etx_dtype dtype = o->is_float ? ETX_DTYPE_FLOAT32 : ETX_DTYPE_UINT8;
  test_call_tensor(call, dtype, o->rank, o->sizes, NULL,
                   o->is_float ? (const void*)o->floats : o->bytes);
}

static void fill_call(test_call* call, const u8_chain_case* c) {
  double scales[OTHERS];
  int64_t zeros[OTHERS];
  test_call_begin(call, "etx::chain_u8.out");
  add_operand(call, &self);
  test_call_real(call, self.scale);
  test_call_integer(call, self.zero);
  for (size_t i = 0; i < c->other_count; ++i) {
    add_operand(call, &others[i]);
    scales[i] = others[i].scale;
    zeros[i] = others[i].zero;
  }
  test_call_gather_list(call, c->other_count);
  test_call_reals(call, c->other_count, scales);
  test_call_integers(call, c->other_count, zeros);
  test_call_string(call, c->text);
  test_call_real(call, c->out_scale);
  test_call_integer(call, c->out_zero);
  test_call_integer(call, c->out_min);
  test_call_integer(call, c->out_max);
  test_call_integer(call, c->is_float ? ETX_DTYPE_FLOAT32 : ETX_DTYPE_UINT8);
}

// Runs the chain with every instruction set and checks each result.
static void run_all_sets(const u8_chain_case* c,
                         void (*check)(const u8_chain_case* c,
                                       const void* found)) {
  const etx_instruction_set best = etx_instruction_set_within(ETX_SET_ANY);
  for (int set = ETX_SET_BASE; set <= (int)best;
       set = test_next_instruction_set(set)) {
    test_call call;
    fill_call(&call, c);
    call.instruction_set = (etx_instruction_set)set;
    call.threads = (size_t)test_random_integer(1, 4);
    const etx_status status = test_call_run(&call, TEST_CALL_RULE_DTYPE);
    if (status != ETX_OK) fail_msg("'%s': %s", c->text, call.diag.text);
    check(c, test_call_result(&call, 0)->data);
    test_call_end(&call);
  }
}

// ------------------------------------------------ reference

static float apply_step(const char* word, float a, float b) {
  if (strcmp(word, "add") == 0) return a + b;
  if (strcmp(word, "subtract") == 0) return a - b;
  if (strcmp(word, "multiply") == 0) return a * b;
  if (strcmp(word, "neg") == 0) return -b;
  if (strcmp(word, "abs") == 0) return fabsf(b);
  if (strcmp(word, "relu") == 0) return b < 0 ? 0 : b;
  if (isnan(a) || isnan(b)) return NAN;
  const bool is_least = strcmp(word, "minimum") == 0;
  return (is_least ? a < b : a > b) ? a : b;
}

static float reference(const u8_chain_case* c, size_t at) {
  float stack[ETX_CHAIN_MAX_DEPTH + 1] = {0};
  size_t depth = 0;
  char text[TEXT];
  strcpy(text, c->text);
  for (char* word = strtok(text, " "); word; word = strtok(NULL, " ")) {
    if (strcmp(word, "x") == 0) {
      stack[depth++] = self.floats[at];
    } else if (word[0] >= '0' && word[0] <= '9') {
      const u8_chain_operand* o = &others[word[0] - '0'];
      stack[depth++] = o->floats[at % o->numel];
    } else {
      bool takes_two = false;
      for (size_t i = 0; i < 5; ++i) {
        takes_two |= strcmp(word, exact_steps[i]) == 0;
      }
      if (takes_two) --depth;
      const float a = stack[takes_two ? depth - 1 : depth];
      stack[depth - 1] =
          apply_step(word, a, takes_two ? stack[depth] : stack[depth - 1]);
    }
  }
  return stack[0];
}

static uint8_t byte_of(const u8_chain_case* c, float value) {
  const float scaled = value * (float)(1.0 / c->out_scale);
  if (isnan(scaled)) return (uint8_t)c->out_min;
  const double rounded = (double)nearbyintf(scaled) + (double)c->out_zero;
  if (rounded < (double)c->out_min) return (uint8_t)c->out_min;
  if (rounded > (double)c->out_max) return (uint8_t)c->out_max;
  return (uint8_t)rounded;
}

static void fail_at(const u8_chain_case* c, size_t at) {
  fail_msg("'%s': element %zu of %zu", c->text, at, self.numel);
}

static void check_result(const u8_chain_case* c, const void* found) {
  for (size_t i = 0; i < self.numel; ++i) {
    if (!c->is_float) {
      if (((const uint8_t*)found)[i] != byte_of(c, expected[i])) fail_at(c, i);
      continue;
    }
    const float given = ((const float*)found)[i];
    const bool is_equal =
        isnan(expected[i]) ? isnan(given) : given == expected[i];
    if (!is_equal) fail_at(c, i);
  }
}

static void chains_compute_their_steps(void** state) {
  enum { ROUNDS = TEST_ROUNDS(400) };
  (void)state;
  test_random_start();
  for (size_t round = 0; round < ROUNDS; ++round) {
    const u8_chain_case c = random_case(true);
    for (size_t i = 0; i < self.numel; ++i) expected[i] = reference(&c, i);
    run_all_sets(&c, check_result);
  }
}

// Additions of two tensors, products with a row, and chains of one byte have
// fast paths.
static void fast_paths_compute_the_same(void** state) {
  enum { ROUNDS = TEST_ROUNDS(600), TEXTS = 8 };
  static const char* const texts[TEXTS] = {
      "x 0 add",      "0 x add",           "x 0 add relu", "x 0 multiply",
      "0 x multiply", "x 0 multiply relu", "x relu",       "0 x neg minimum"};
  (void)state;
  for (size_t round = 0; round < ROUNDS;) {
    const char* text = texts[round % TEXTS];
    u8_chain_case c = random_case(true);
    if (c.other_count == 0 || self.is_float) continue;
    c.other_count = 1;
    if (strstr(text, "add") != NULL && !one_in(4)) {
      memcpy(others[0].sizes, self.sizes, sizeof self.sizes);
      others[0].rank = self.rank;
      random_operand(&others[0]);
    }
    c.is_float = one_in(6);
    strcpy(c.text, text);
    for (size_t i = 0; i < self.numel; ++i) expected[i] = reference(&c, i);
    run_all_sets(&c, check_result);
    ++round;
  }
}

// ------------------------------------------------ separate operators

// Dequantises a tensor of bytes.
static const etx_tensor* add_floats(test_call* dequantised,
                                    const u8_chain_operand* o) {
  test_call_begin(dequantised,
                  "quantized_decomposed::dequantize_per_tensor.out");
  add_operand(dequantised, o);
  test_call_real(dequantised, o->scale);
  test_call_integer(dequantised, o->zero);
  test_call_integer(dequantised, 0);
  test_call_integer(dequantised, 255);
  test_call_integer(dequantised, ETX_DTYPE_UINT8);
  test_call_none(dequantised);
  if (o->is_float) return &dequantised->values[0].as.tensor;
  const etx_status status = test_call_run(dequantised, ETX_DTYPE_FLOAT32);
  if (status != ETX_OK) fail_msg("%s", dequantised->diag.text);
  return test_call_result(dequantised, 0);
}

static void add_tensor(test_call* call, const etx_tensor* t) {
  test_call_floats(call, t->rank, t->sizes, t->data);
}

// Stores the floats in `expected`, and the requantised bytes in `out_bytes`.
static void run_operators(const u8_chain_case* c, uint8_t* out_bytes) {
  test_call dequantised, chain, requantised;
  test_call_begin(&chain, "etx::chain.out");
  for (size_t i = 0; i <= c->other_count; ++i) {
    add_tensor(&chain,
               add_floats(&dequantised, i == 0 ? &self : &others[i - 1]));
    test_call_end(&dequantised);
  }
  test_call_gather_list(&chain, c->other_count);
  test_call_string(&chain, c->text);
  if (test_call_run(&chain, ETX_DTYPE_FLOAT32) != ETX_OK) {
    fail_msg("'%s': %s", c->text, chain.diag.text);
  }
  test_call_begin(&requantised,
                  "quantized_decomposed::quantize_per_tensor.out");
  add_tensor(&requantised, test_call_result(&chain, 0));
  test_call_real(&requantised, c->out_scale);
  test_call_integer(&requantised, c->out_zero);
  test_call_integer(&requantised, c->out_min);
  test_call_integer(&requantised, c->out_max);
  test_call_integer(&requantised, ETX_DTYPE_UINT8);
  if (test_call_run(&requantised, ETX_DTYPE_UINT8) != ETX_OK) {
    fail_msg("%s", requantised.diag.text);
  }
  if (self.numel > 0) {
    const void* const floats = test_call_result(&chain, 0)->data;
    memcpy(expected, floats, self.numel * sizeof *expected);
    memcpy(out_bytes, test_call_result(&requantised, 0)->data, self.numel);
  }
  test_call_end(&chain);
  test_call_end(&requantised);
}

static uint8_t bytes_of_operators[MAX_ELEMENTS];

// NaN becomes out_min, which differs from the separate operators.
static void check_operators(const u8_chain_case* c, const void* found) {
  for (size_t i = 0; i < self.numel; ++i) {
    if (c->is_float) {
      if (memcmp((const float*)found + i, &expected[i], sizeof *expected) !=
          0) {
        fail_at(c, i);
      }
      continue;
    }
    const uint8_t byte = ((const uint8_t*)found)[i];
    const bool is_nan = isnan(expected[i]);
    if (byte != (is_nan ? (uint8_t)c->out_min : bytes_of_operators[i])) {
      fail_at(c, i);
    }
  }
}

static void chains_are_bit_equal_to_separate_operators(void** state) {
  enum { ROUNDS = TEST_ROUNDS(400) };
  (void)state;
  for (size_t round = 0; round < ROUNDS; ++round) {
    const u8_chain_case c = random_case(false);
    run_operators(&c, bytes_of_operators);
    run_all_sets(&c, check_operators);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chains_compute_their_steps),
      cmocka_unit_test(fast_paths_compute_the_same),
      cmocka_unit_test(chains_are_bit_equal_to_separate_operators),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
