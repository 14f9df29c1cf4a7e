// Fuzz tests of the readers. For any bytes, reading ends with a problem or with
// a module that passes the verifier; sanitizers find memory errors.
// ETX_HOSTILE_ROUNDS sets the number of rounds.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/fingerprint.h"
#include "tests/exporter/reading.h"

static reading r;
static scratch_directory directory;
static uint64_t seed = 20260801;

static uint32_t random_below(uint32_t bound) {
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(seed >> 33) % bound;
}

static size_t rounds(size_t quick) {
  const char* const wanted = getenv("ETX_HOSTILE_ROUNDS");
  return wanted == NULL ? quick : (size_t)strtoul(wanted, NULL, 10);
}

static etx_status refuse_to_compute(void* context, const etx_op* op,
                                    const etx_eval_argument* arguments,
                                    size_t count, etx_diag* diag) {
  (void)context;
  (void)op;
  (void)arguments;
  (void)count;
  (void)diag;
  return ETX_MISSING_OPERATOR;
}

static etx_status swallow(void* context, etx_bytes bytes) {
  (void)context;
  (void)bytes;
  return ETX_OK;
}

// Plans the module. Planning may fail, but never with ETX_INTERNAL.
static void plan(void) {
  const etx_export_options options = {
      .evaluator = {.evaluate = refuse_to_compute},
  };
  const etx_sink nowhere = {swallow, NULL};
  etx_export_report report;
  etx_diag_init(&r.diag);
  const etx_status status = etx_export_plan(&r.module, &options, &nowhere,
                                            &report, &r.problems, &r.diag);
  if (status == ETX_INTERNAL) fail_msg("%s", r.diag.text);
}

// Reads the directory. The module must pass the verifier, also if it has only
// the methods without problems.
static bool survives(void) {
  uint8_t digest[ETX_SHA256_BYTES];
  reading_open(&r, directory.path);
  const bool is_read = r.status == ETX_OK;
  if (is_read) {
    assert_reads(&r);
    assert_int_equal(etx_ir_fingerprint(&r.module, NULL, digest), ETX_OK);
    plan();
  } else {
    assert_true(r.problems.count > 0);
    assert_int_not_equal(r.status, ETX_INTERNAL);
    if (r.module.method_count != 0) {
      assert_int_equal(etx_ir_verify(&r.module, false, NULL), ETX_OK);
    }
  }
  reading_close(&r);
  return is_read;
}

// ---------------------------------------------------------------- mutations

typedef struct text {
  uint8_t* bytes;
  size_t size, capacity;
} text;

static text start(const uint8_t* bytes, size_t size) {
  text t = {malloc(2 * size + 4096), size, 2 * size + 4096};
  assert_non_null(t.bytes);
  memcpy(t.bytes, bytes, size);
  return t;
}

static void replace(text* t, size_t at, size_t old, const char* fresh) {
  const size_t size = strlen(fresh);
  if (at + old > t->size || t->size - old + size > t->capacity) return;
  memmove(t->bytes + at + size, t->bytes + at + old, t->size - at - old);
  memcpy(t->bytes + at, fresh, size);
  t->size += size - old;
}

// Replaces a random word or number by a token that is likely to break a reader.
static void mutate_token(text* t) {
  static const char* const tokens[] = {
      "0",
      "-1",
      "2",
      "99999999",
      "9223372036854775807",
      "-9223372036854775808",
      "1e308",
      "\"NaN\"",
      "null",
      "true",
      "[]",
      "{}",
      "\"\"",
      "x",
      "[[[[[[",
      "as_tensor",
      "as_int",
      "Symbol(",
      "min(",
      "//",
      "%",
      "b_n",
      "self",
      "float32[2]",
      "4",
      "7",
      "Mul(Symbol('s77', positive=True, integer=True), Integer(0))",
      "FloorDiv(Integer(1), Symbol('s77', positive=True, integer=True))"};
  const size_t count = sizeof tokens / sizeof tokens[0];
  size_t at = random_below((uint32_t)t->size), end = at;
  while (end < t->size && strchr(" ,:{}[]\"'()\n", t->bytes[end]) == NULL) {
    ++end;
  }
  replace(t, at, end - at, tokens[random_below((uint32_t)count)]);
}

static void mutate(text* t) {
  const size_t at = random_below((uint32_t)t->size);
  size_t span = 1 + random_below(40);
  if (span > t->size - at) span = t->size - at;
  char copy[64] = {0};
  switch (random_below(6)) {
    case 0:
      t->bytes[at] ^= (uint8_t)(1u << random_below(8));
      break;
    case 1:
      replace(t, at, span, "");
      break;
    case 2:
      memcpy(copy, t->bytes + at, span);
      replace(t, random_below((uint32_t)t->size), 0, copy);
      break;
    default:
      mutate_token(t);
      break;
  }
  if (t->size == 0) t->bytes[t->size++] = ' ';
}

// ---------------------------------------------------------------- archives

static const char archive[] = ETX_TEST_DATA "/pt2/tiny/step.pt2";

static void flipped_bits_of_archives_do_not_crash(void** state) {
  size_t size = 0;
  (void)state;
  uint8_t* const bytes = file_bytes(archive, &size);
  scratch_directory_make(&directory);
  for (size_t i = 0; i < rounds(300); ++i) {
    // Every third bit is in the zip directory at the end, which is the most
    // structured part.
    const size_t at = i % 3 == 0 ? size - 1 - random_below(1100)
                                 : random_below((uint32_t)size);
    const uint8_t bit = (uint8_t)(1u << random_below(8));
    bytes[at] ^= bit;
    scratch_write(&directory, "step.pt2", bytes, size);
    (void)survives();
    bytes[at] ^= bit;
  }
  scratch_directory_remove(&directory);
  free(bytes);
}

static void mutate_member(const char* from, const char* member, size_t count) {
  size_t size = 0;
  uint8_t* const original = archive_member(from, member, &size);
  scratch_directory_make(&directory);
  for (size_t i = 0; i < count; ++i) {
    text t = start(original, size);
    for (size_t n = 1 + random_below(3); n > 0; --n) mutate(&t);
    scratch_archive_bytes(&directory, "step.pt2", from, member, t.bytes,
                          t.size);
    (void)survives();
    free(t.bytes);
  }
  scratch_directory_remove(&directory);
  free(original);
}

static void mutated_programs_do_not_crash(void** state) {
  (void)state;
  mutate_member(archive, "models/model.json", rounds(120));
  mutate_member(ETX_TEST_DATA "/pt2/shapes/join.pt2", "models/model.json",
                rounds(150));
  mutate_member(ETX_TEST_DATA "/pt2/mixed/nested.pt2", "models/model.json",
                rounds(120));
}

static void mutated_weights_tables_do_not_crash(void** state) {
  (void)state;
  mutate_member(archive, "model_weights_config.json", rounds(150));
  mutate_member(ETX_TEST_DATA "/pt2/weights/stored.pt2",
                "model_weights_config.json", rounds(120));
}

// Sizes whose evaluation would take exponential time.
static void explosive_sizes_are_refused(void** state) {
  char bomb[4096] = "Symbol('s77', positive=True, integer=True)";
  (void)state;
  for (size_t i = 0; i < 5; ++i) {
    char next[4096];
    if (snprintf(next, sizeof next,
                 "Mul(Add(%s, FloorDiv(%s, Integer(3))), %s)", bomb, bomb,
                 bomb) >= (int)sizeof next) {
      break;
    }
    strcpy(bomb, next);
  }
  scratch_directory_make(&directory);
  scratch_archive(&directory, "step.pt2", archive, "models/model.json",
                  "Symbol('s77', positive=True, integer=True)", bomb);
  (void)survives();
  scratch_directory_remove(&directory);
}

// ---------------------------------------------------------------- YAML

static const char method[] =
    "etx: 1\n"
    "method: m\n"
    "dims: {n: {min: 1, max: 8}}\n"
    "inputs:\n"
    "  - {name: x, type: \"float32[2*n, 3]\", mutable: true}\n"
    "  - {name: k, sym: \"n + 1\"}\n"
    "  - {name: f, fixed: 0.5}\n"
    "buffers:\n"
    "  - {name: c, type: \"float32[4, 3]\", init: 1.5}\n"
    "  - {name: d, type: \"int64[2]\", init: {tensor: "
    "weights.safetensors#d}}\n"
    "constants:\n"
    "  - {name: i, type: \"int64[2]\", init: 3}\n"
    "nodes:\n"
    "  - {out: a, type: \"float32[4, 3]\", op: aten.add.Tensor, args: [c, c], "
    "kwargs: {alpha: 2}}\n"
    "  - {out: [p, q], op: aten.split.Tensor, args: [x, {sym: n}]}\n"
    "  - {out: r, op: aten.index.Tensor, args: [x, [null, i, d]]}\n"
    "  - {out: s, op: aten.view.default, args: [p, [-1, {sym: \"n*3\"}]]}\n"
    "outputs: {first: a, second: {sym: \"min(n, 4)\"}, third: r}\n"
    "mutates: {c: a, x: x}\n";

static const char program[] =
    "etx: 1\n"
    "shared_buffers: [c, \"d*\"]\n"
    "weights: [weights.safetensors]\n"
    "constant_methods: {n: 5, t: {tensor: weights.safetensors#d}}\n"
    "initial: {c: 2}\n"
    "dims: {\"m.x[0]\": {min: 4, max: 12}}\n"
    "outputs: {m.first: stable}\n"
    "align: 64\n";

static const char tensors[] =
    "\x38\0\0\0\0\0\0\0"
    "{\"d\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[0,16]}} "
    "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0";
enum { TENSORS_SIZE = sizeof tensors - 1 };

static void write_directory(void) {
  scratch_directory_make(&directory);
  scratch_write_text(&directory, "m.yaml", method);
  scratch_write_text(&directory, "program.yaml", program);
  scratch_write(&directory, "weights.safetensors", tensors, TENSORS_SIZE);
}

static void unchanged_files_are_accepted(void** state) {
  (void)state;
  write_directory();
  reading_open(&r, directory.path);
  assert_reads(&r);
  reading_close(&r);
  scratch_directory_remove(&directory);
}

static void truncated_texts_do_not_crash(void** state) {
  (void)state;
  write_directory();
  for (size_t size = 0; size < sizeof method - 1; size += 1 + size % 2) {
    scratch_write(&directory, "m.yaml", method, size);
    (void)survives();
  }
  scratch_write_text(&directory, "m.yaml", method);
  for (size_t size = 0; size < sizeof program - 1; ++size) {
    scratch_write(&directory, "program.yaml", program, size);
    (void)survives();
  }
  scratch_write_text(&directory, "program.yaml", program);
  for (size_t size = 0; size < TENSORS_SIZE; ++size) {
    scratch_write(&directory, "weights.safetensors", tensors, size);
    assert_false(survives());
  }
  scratch_directory_remove(&directory);
}

static void mutate_file(const char* name, const char* content, size_t size,
                        size_t count) {
  write_directory();
  for (size_t i = 0; i < count; ++i) {
    text t = start((const uint8_t*)content, size);
    for (size_t n = 1 + random_below(3); n > 0; --n) mutate(&t);
    scratch_write(&directory, name, t.bytes, t.size);
    (void)survives();
    free(t.bytes);
  }
  scratch_directory_remove(&directory);
}

static void mutated_texts_do_not_crash(void** state) {
  (void)state;
  mutate_file("m.yaml", method, sizeof method - 1, rounds(800));
  mutate_file("program.yaml", program, sizeof program - 1, rounds(500));
  mutate_file("weights.safetensors", tensors, TENSORS_SIZE, rounds(300));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(flipped_bits_of_archives_do_not_crash),
      cmocka_unit_test(mutated_programs_do_not_crash),
      cmocka_unit_test(mutated_weights_tables_do_not_crash),
      cmocka_unit_test(explosive_sizes_are_refused),
      cmocka_unit_test(unchanged_files_are_accepted),
      cmocka_unit_test(truncated_texts_do_not_crash),
      cmocka_unit_test(mutated_texts_do_not_crash),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
