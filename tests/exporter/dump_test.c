// Tests that a dump reads back as the same module: the fingerprints are equal.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exporter/fingerprint.h"
#include "exporter/ir/ir_print.h"
#include "tests/exporter/reading.h"

static reading r;

typedef struct digest {
  uint8_t bytes[ETX_SHA256_BYTES];
} digest;

static digest fingerprint_of(const reading* from) {
  digest d;
  assert_int_equal(etx_ir_fingerprint(&from->module, NULL, d.bytes), ETX_OK);
  return d;
}

// Reads, dumps, reads the dump, dumps that, and compares.
static digest assert_dump_reads_back(const char* path) {
  scratch_directory first, second;
  scratch_directory_make(&first);
  scratch_directory_make(&second);
  reading_open(&r, path);
  assert_reads(&r);
  const digest original = fingerprint_of(&r);
  if (etx_export_dump(&r.module, first.path, &r.diag) != ETX_OK) {
    fail_msg("%s", r.diag.text);
  }
  reading_close(&r);
  reading_open(&r, first.path);
  assert_reads(&r);
  const digest again = fingerprint_of(&r);
  assert_int_equal(etx_export_dump(&r.module, second.path, &r.diag), ETX_OK);
  reading_close(&r);
  assert_memory_equal(original.bytes, again.bytes, sizeof original.bytes);
  reading_open(&r, second.path);
  assert_reads(&r);
  const digest third = fingerprint_of(&r);
  reading_close(&r);
  assert_memory_equal(original.bytes, third.bytes, sizeof original.bytes);
  scratch_directory_remove(&first);
  scratch_directory_remove(&second);
  return original;
}

static void dumps_of_archives_read_back(void** state) {
  static const char* const sets[] = {
      "tiny",    "kv",  "counter", "swap",     "gru",   "llama",    "weights",
      "whisper", "cnn", "mixed",   "branches", "scans", "recurrent"};
  (void)state;
  for (size_t i = 0; i < 2 * sizeof sets / sizeof sets[0]; ++i) {
    char path[512];
    snprintf(path, sizeof path, ETX_TEST_DATA "/pt2/%s%s", sets[i / 2],
             i % 2 == 0 ? "" : "/core");
    (void)assert_dump_reads_back(path);
  }
}

static void dumps_of_dynamic_shapes_read_back(void** state) {
  static const char* const methods[] = {"check",  "choose",  "double",
                                        "get",    "join",    "numbers",
                                        "scalar", "shifted", "stride"};
  (void)state;
  for (size_t i = 0; i < sizeof methods / sizeof methods[0]; ++i) {
    char path[512];
    snprintf(path, sizeof path, ETX_TEST_DATA "/pt2/shapes/%s.pt2", methods[i]);
    (void)assert_dump_reads_back(path);
  }
}

// Names that need quotes or collide, and values that are hard to print.
static const char odd[] =
    "dims: {n: {max: 9}}\n"
    "inputs:\n"
    "  - {name: cache, value: cache_in, type: \"float32[2]\", mutable: true}\n"
    "  - {name: \"a b\", type: \"float32[n, min(n, 4), n//2]\"}\n"
    "  - {name: k, sym: n}\n"
    "  - {name: f, fixed: -0.0}\n"
    "  - {name: t, fixed: {str: \"x\\t\\\"\\u00e9\\U0001f600\"}}\n"
    "  - {name: z, fixed: null}\n"
    "buffers:\n"
    "  - {name: cache, type: \"float32[2]\", init: 1}\n"
    "  - {name: only.written, type: \"float32[2]\", init: .nan}\n"
    "  - {name: cache_in, value: other, type: \"float32[2]\", init: .inf}\n"
    "constants:\n"
    "  - {name: \"true\", type: \"int64[2]\", init: -3}\n"
    "nodes:\n"
    "  - {out: s, op: aten.add.Tensor, args: [cache_in, cache], kwargs: "
    "{alpha: 0.1}}\n"
    "  - {out: \"null\", type: \"float32[2]\", op: aten.mul.Tensor, args: [s, "
    "other]}\n"
    "  - {out: [m, null], type: [null, null], op: aten.max.dim, args: [s, 0]}\n"
    "  - {out: i, op: aten.index.Tensor, args: [s, [null, \"true\"]]}\n"
    "  - {out: c, op: aten.clamp.default, args: [s, .nan, -.inf]}\n"
    "outputs: {\"x y\": s, size: {sym: \"n*n - n%3\"}, e: {fixed: 1e300}}\n"
    "mutates: {cache_in: s, only.written: \"null\"}\n";

// Writes program.yaml with these constant methods; the digest is that of the
// dump.
static digest dump_with_constants(const scratch_directory* directory,
                                  const char* constants) {
  char text[512];
  snprintf(text, sizeof text,
           "shared_buffers: [cache]\n"
           "constant_methods: {%s}\n"
           "outputs: {\"odd.x y\": stable}\n"
           "dims: {\"odd.k\": {max: 8}}\n"
           "align: 128\n",
           constants);
  scratch_write_text(directory, "program.yaml", text);
  return assert_dump_reads_back(directory->path);
}

static void dumps_of_odd_yaml_read_back(void** state) {
  static const char* const constants[] = {
      "n: 1, x: -0.0, s: \"1\", t: 'a b', l: [2, -0.5, true, \"7\"]",
      "n: 1, x: 0.0, s: \"1\", t: 'a b', l: [2, -0.5, true, \"7\"]",
      "n: 1, x: 0.0, s: \"1\", t: 'a b', l: [2, -0.5, true]",
  };
  enum { COUNT = sizeof constants / sizeof *constants };
  scratch_directory directory;
  digest digests[COUNT];
  (void)state;
  scratch_directory_make(&directory);
  scratch_write_text(&directory, "odd.yaml", odd);
  // Any change changes the fingerprint.
  for (size_t i = 0; i < COUNT; ++i) {
    digests[i] = dump_with_constants(&directory, constants[i]);
    for (size_t k = 0; k < i; ++k) {
      assert_true(memcmp(digests[k].bytes, digests[i].bytes,
                         sizeof digests[i].bytes) != 0);
    }
  }
  scratch_directory_remove(&directory);
}

static void concurrent_methods_survive(void** state) {
  static const char method[] =
      "inputs: [{name: x, type: \"float32[2]\"}]\noutputs: [x]\n";
  scratch_directory directory;
  (void)state;
  scratch_directory_make(&directory);
  scratch_write_text(&directory, "a b.yaml", method);
  scratch_write_text(&directory, "c.yaml", method);
  scratch_write_text(&directory, "d.yaml", method);
  const digest apart = assert_dump_reads_back(directory.path);
  scratch_write_text(&directory, "program.yaml",
                     "concurrent: [[c, \"a b\"], [d, c], [c, d]]\n");
  const digest together = assert_dump_reads_back(directory.path);
  assert_true(memcmp(apart.bytes, together.bytes, sizeof apart.bytes) != 0);
  scratch_directory_remove(&directory);
}

static void caches_survive(void** state) {
  static const char* const programs[] = {
      "etx: 1\n",
      "caches: {k: {dim: 0}}\n",
      "caches: {k: {dim: 1}}\n",
      "caches: {k: {dim: 1, overflow: ring}}\n",
      "caches: {k: {dim: 1, overflow: ring, length: pos}}\n",
  };
  enum { COUNT = sizeof programs / sizeof programs[0] };
  digest digests[COUNT];
  scratch_directory directory;
  (void)state;
  scratch_directory_make(&directory);
  scratch_write_text(&directory, "m.yaml",
                     "inputs: [{name: x, type: \"float32[2, 4]\"}]\n"
                     "buffers:\n"
                     "  - {name: k, type: \"float32[2, 4]\"}\n"
                     "  - {name: pos, type: \"int64[]\"}\n"
                     "mutates: {k: x, pos: pos}\n"
                     "outputs: []\n");
  for (size_t i = 0; i < COUNT; ++i) {
    scratch_write_text(&directory, "program.yaml", programs[i]);
    digests[i] = assert_dump_reads_back(directory.path);
    for (size_t j = 0; j < i; ++j) {
      assert_true(memcmp(&digests[i], &digests[j], sizeof digests[i]) != 0);
    }
  }
  scratch_directory_remove(&directory);
}

static void rules_of_quantisation_survive(void** state) {
  scratch_directory directory;
  (void)state;
  scratch_directory_make(&directory);
  scratch_write_text(&directory, "m.yaml",
                     "buffers: [{name: a.w, type: \"float32[2]\", init: 3}]\n"
                     "outputs: [a.w]\n");
  const digest plain = assert_dump_reads_back(directory.path);
  scratch_write_text(&directory, "program.yaml",
                     "quantize: [int8, 'int4w/64:*.w', \"none:a,a.?\"]\n");
  const digest quantised = assert_dump_reads_back(directory.path);
  assert_true(memcmp(plain.bytes, quantised.bytes, sizeof plain.bytes) != 0);
  scratch_directory_remove(&directory);
}

static void a_buffer_that_no_method_uses_survives(void** state) {
  scratch_directory directory;
  (void)state;
  scratch_directory_make(&directory);
  scratch_write_text(&directory, "m.yaml",
                     "buffers: [{name: kept, type: \"float32[2]\", init: 3}]\n"
                     "outputs: []\n");
  scratch_write_text(&directory, "program.yaml", "shared_buffers: [kept]\n");
  (void)assert_dump_reads_back(directory.path);
  reading_open(&r, directory.path);
  assert_reads(&r);
  assert_int_equal(r.module.buffer_count, 1);
  reading_close(&r);
  scratch_directory_remove(&directory);
}

// The fingerprint depends on the content of files, not on their order and form.
static void fingerprints_are_of_the_content(void** state) {
  digest a, b;
  (void)state;
  reading_open(&r, ETX_TEST_DATA "/pt2/swap");
  a = fingerprint_of(&r);
  reading_close(&r);
  reading_open(&r, ETX_TEST_DATA "/pt2/swap/core");
  b = fingerprint_of(&r);
  reading_close(&r);
  assert_memory_equal(a.bytes, b.bytes, sizeof a.bytes);
  reading_open(&r, ETX_TEST_DATA "/pt2/counter");
  b = fingerprint_of(&r);
  reading_close(&r);
  assert_true(memcmp(a.bytes, b.bytes, sizeof a.bytes) != 0);
}

// A directory with other methods is refused, and a dump that cannot be written
// leaves no files.
static void dumps_do_not_mix_with_other_files(void** state) {
  scratch_directory directory;
  (void)state;
  scratch_directory_make(&directory);
  scratch_write_text(&directory, "foreign.yaml", "outputs: []\n");
  reading_open(&r, ETX_TEST_DATA "/pt2/tiny");
  assert_reads(&r);
  assert_int_equal(etx_export_dump(&r.module, directory.path, &r.diag),
                   ETX_BAD_ARGUMENT);
  assert_non_null(strstr(r.diag.text, "has the file 'foreign.yaml'"));
  etx_diag_init(&r.diag);
  assert_int_equal(etx_export_dump(&r.module, "/nonexistent/x/y", &r.diag),
                   ETX_NOT_FOUND);
  reading_close(&r);
  char path[512];
  snprintf(path, sizeof path, "%s/foreign.yaml", directory.path);
  assert_int_equal(remove(path), 0);
  scratch_directory_remove(&directory);  // fails if anything else is there
}

static etx_status count_bytes(void* context, etx_bytes bytes) {
  *(size_t*)context += bytes.size;
  return ETX_OK;
}

static void all_methods_print(void** state) {
  size_t size = 0;
  const etx_sink sink = {count_bytes, &size};
  (void)state;
  reading_open(&r, ETX_TEST_DATA "/pt2/kv");
  assert_int_equal(etx_ir_print(&r.module, &sink), ETX_OK);
  assert_true(size > 1000);
  reading_close(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dumps_of_archives_read_back),
      cmocka_unit_test(dumps_of_dynamic_shapes_read_back),
      cmocka_unit_test(dumps_of_odd_yaml_read_back),
      cmocka_unit_test(concurrent_methods_survive),
      cmocka_unit_test(caches_survive),
      cmocka_unit_test(rules_of_quantisation_survive),
      cmocka_unit_test(a_buffer_that_no_method_uses_survives),
      cmocka_unit_test(fingerprints_are_of_the_content),
      cmocka_unit_test(dumps_do_not_mix_with_other_files),
      cmocka_unit_test(all_methods_print),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
