// Tests of weights from GGUF files: values are those of the package gguf and of
// transformers (tests/data/gguf/make.py), and what does not fit is reported.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "exporter/host/host_file.h"
#include "exporter/import/safetensors.h"
#include "exporter/quantize/rounding/weight_rounding.h"
#include "exporter/read_gguf/gguf_file.h"
#include "tests/exporter/read_gguf/gguf_bytes.h"
#include "tests/exporter/reading.h"

#define GGUF ETX_TEST_DATA "/gguf/"

enum { PARTS = 3 };  // of qwen2_parts-*.gguf

static reading r;
static scratch_directory directory;

// Lines of names that leave out all tensors of types.gguf but f32.weight.
#define OTHERS_UNUSED                                              \
  "f16.weight =\nbf16.weight =\nq4_0.weight =\nq4_1.weight =\n"    \
  "q5_0.weight =\nq5_1.weight =\r\nq8_0.weight =\nq2_k.weight =\n" \
  "q3_k.weight =\nq4_k.weight =\nq5_k.weight =\n q6_k.weight\t="

// Reads a graph of this text with the weights of the file.
static void read_text(const char* graph, const char* weights,
                      const char* names) {
  char graph_path[300], names_path[300];
  scratch_directory_make(&directory);
  snprintf(graph_path, sizeof graph_path, "%s/graph.yaml", directory.path);
  snprintf(names_path, sizeof names_path, "%s/names.txt", directory.path);
  scratch_write_text(&directory, "graph.yaml", graph);
  if (names != NULL) scratch_write_text(&directory, "names.txt", names);
  reading_open_with_weights(&r, graph_path, weights,
                            names == NULL ? NULL : names_path);
}

static void done(void) {
  reading_close(&r);
  scratch_directory_remove(&directory);
}

// ---------------------------------------------------------------- values

// Fails unless each buffer has the value of the tensor with its name.
static void assert_values(const char* path) {
  etx_safetensors expected;
  etx_bytes bytes;
  assert_int_equal(etx_file_read(&r.pool, path, &bytes, NULL), ETX_OK);
  assert_int_equal(
      etx_safetensors_open(&expected, &r.pool, etx_text_of(path), bytes, NULL),
      ETX_OK);
  assert_int_equal(r.module.buffer_count, expected.header->count);
  for (size_t i = 0; i < r.module.buffer_count; ++i) {
    const etx_ir_buffer* const buffer = &r.module.buffers[i];
    etx_ir_constant tensor;
    assert_true(etx_safetensors_find(&expected, buffer->name, &tensor));
    const etx_ir_constant* const constant =
        &r.module.constants[buffer->initial];
    assert_int_equal(constant->dtype, tensor.dtype);
    assert_int_equal(constant->data.size, tensor.data.size);
    if (memcmp(constant->data.data, tensor.data.data, tensor.data.size) != 0) {
      fail_msg("%.*s differs", (int)buffer->name.size, buffer->name.data);
    }
  }
}

// Reads NAME.yaml with weights of a file and compares with NAME.safetensors.
static void assert_model(const char* name, const char* weights) {
  char path[512];
  snprintf(path, sizeof path, GGUF "%s.yaml", name);
  reading_open_with_weights(&r, path, weights, NULL);
  assert_reads(&r);
  snprintf(path, sizeof path, GGUF "%s.safetensors", name);
  assert_values(path);
  reading_close(&r);
}

static void types_have_the_values_of_the_package_gguf(void** state) {
  (void)state;
  assert_model("types", GGUF "types.gguf");
}

static void halves_are_rounded_as_pytorch_rounds(void** state) {
  (void)state;
  assert_model("types_float16", GGUF "types.gguf");
  assert_model("types_bfloat16", GGUF "types.gguf");
}

static void models_have_the_weights_of_transformers(void** state) {
  static const char* const names[] = {"llama",  "qwen2",  "qwen3", "gemma",
                                      "gemma2", "gemma3", "phi3",  "gpt2"};
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    char path[512];
    snprintf(path, sizeof path, GGUF "%s.gguf", names[i]);
    assert_model(names[i], path);
  }
}

static void rounded_tensors_are_counted(void** state) {
  (void)state;
  reading_open_with_weights(&r, GGUF "types_float16.yaml", GGUF "types.gguf",
                            NULL);
  assert_reads(&r);
  assert_int_equal(r.module.weights.tensor_count, 13);
  // All but f16; q4_0 has 4 bits times the 11 of its scale.
  assert_in_range(r.module.weights.rounded_count, 8, 12);
  assert_true(etx_text_is(r.module.weights.types,
                          "1 f32, 1 f16, 1 q4_0, 1 q4_1, 1 q5_0, 1 q5_1, 1 "
                          "q8_0, 1 q2_K, 1 q3_K, 1 q4_K, 1 q5_K, 1 q6_K, 1 "
                          "bf16"));
  reading_close(&r);
  reading_open_with_weights(&r, GGUF "types.yaml", GGUF "types.gguf", NULL);
  assert_int_equal(r.module.weights.rounded_count, 0);
  reading_close(&r);
}

static void values_of_the_graph_are_replaced(void** state) {
  (void)state;
  read_text(
      "buffers:\n"
      "  - {name: net.f32.weight, type: \"float32[2, 256]\", init: 7}\n"
      "  - {name: table, type: \"float32[3]\", init: 2}\n"
      "outputs: [net.f32.weight, table]\n",
      GGUF "types.gguf",
      "# only one\n"
      "f32.weight = net.f32.weight\n" OTHERS_UNUSED);
  assert_reads(&r);
  assert_int_equal(r.module.constant_count, 2);
  uint32_t index = 0;
  assert_true(etx_ir_find_buffer(&r.module, etx_text_of("table"), &index));
  float kept = 0;
  memcpy(&kept, r.module.constants[r.module.buffers[index].initial].data.data,
         sizeof kept);
  assert_true(kept == 2);  // no parameter, and not named as one
  done();
}

// The integers and scales that --quantize int4/32 finds are those of the file.
static void q4_0_becomes_int4_as_it_lies(void** state) {
  enum { BLOCK = 18, COUNT = 32 };
  (void)state;
  etx_gguf_file file;
  etx_bytes bytes;
  uint32_t index = 0;
  reading_open_with_weights(&r, GGUF "types.yaml", GGUF "types.gguf", NULL);
  assert_int_equal(etx_file_read(&r.pool, GGUF "types.gguf", &bytes, NULL),
                   ETX_OK);
  assert_int_equal(etx_gguf_open(&file, &r.pool, etx_text_of(""), bytes, NULL),
                   ETX_OK);
  const etx_text name = etx_text_of("q4_0.weight");
  assert_true(etx_ir_find_buffer(&r.module, name, &index));
  const etx_bytes blocks = etx_gguf_find(&file, name)->data;
  const etx_bytes values =
      r.module.constants[r.module.buffers[index].initial].data;
  etx_weight_rounding_error error = {0, 0};
  for (size_t b = 0; b < blocks.size / BLOCK; ++b) {
    const uint8_t* const block = blocks.data + b * BLOCK;
    float group[COUNT];
    uint8_t packed[COUNT / 2];
    memcpy(group, values.data + b * sizeof group, sizeof group);
    const float scale = etx_weight_round_int4(group, COUNT, packed, &error);
    const int scale_in_file = block[0] | block[1] << 8;
    for (size_t i = 0; i < COUNT; ++i) {
      const int q = packed[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15;
      const int in_file = block[2 + i % 16] >> i / 16 * 4 & 15;
      assert_true((float)(q - 8) * scale == group[i]);
      // The signs of integers and scale may both be the other ones.
      if (scale_in_file != 0) {
        assert_int_equal(abs(q - 8), abs(in_file - 8));
      }
    }
  }
  assert_true(error.noise == 0);
  reading_close(&r);
}

// --quantize int8w/32 keeps the values of q8_0. Integers of the file may be
// multiples, and have the other sign.
static void q8_0_becomes_int8_as_it_lies(void** state) {
  enum { BLOCK = 34, COUNT = 32 };
  (void)state;
  etx_gguf_file file;
  etx_bytes bytes;
  uint32_t index = 0;
  reading_open_with_weights(&r, GGUF "types.yaml", GGUF "types.gguf", NULL);
  assert_int_equal(etx_file_read(&r.pool, GGUF "types.gguf", &bytes, NULL),
                   ETX_OK);
  assert_int_equal(etx_gguf_open(&file, &r.pool, etx_text_of(""), bytes, NULL),
                   ETX_OK);
  const etx_text name = etx_text_of("q8_0.weight");
  assert_true(etx_ir_find_buffer(&r.module, name, &index));
  const size_t count = etx_gguf_find(&file, name)->data.size / BLOCK;
  const etx_bytes values =
      r.module.constants[r.module.buffers[index].initial].data;
  etx_weight_rounding_error error = {0, 0};
  assert_true(count > 0);
  for (size_t b = 0; b < count; ++b) {
    float group[COUNT];
    int8_t found[COUNT];
    memcpy(group, values.data + b * sizeof group, sizeof group);
    const float scale =
        etx_weight_round_int8_group(group, COUNT, found, &error);
    for (size_t i = 0; i < COUNT; ++i) {
      assert_true((float)found[i] * scale == group[i]);
    }
  }
  assert_true(error.noise == 0);
  reading_close(&r);
}

// ---------------------------------------------------------------- problems

static void all_that_does_not_fit_is_reported(void** state) {
  (void)state;
  read_text(
      "buffers:\n"
      "  - {name: f32.weight, type: \"float32[256, 2]\"}\n"
      "  - {name: f16.weight, type: \"int64[2, 256]\"}\n"
      "  - {name: absent.weight, type: \"float32[5]\", init: 1}\n"
      "outputs: [f32.weight, f16.weight, absent.weight]\n",
      GGUF "types.gguf", NULL);
  assert_problem(&r,
                 "types.gguf:0:0: tensor 'f32.weight' is f32[2, 256], expected "
                 "float32[256, 2] for 'f32.weight'");
  assert_problem(&r,
                 "cannot be the value of 'f16.weight', which is int64[2, "
                 "256]");
  assert_problem(&r, "no tensor is the value of 'absent.weight', float32[5]\n");
  assert_problem(&r, "tensor 'q8_0.weight' is not used: ");
  assert_problem(&r, "tensor 'q2_k.weight' is not used: ");
  assert_problem(&r,
                 "the architecture is 'none', whose names of tensors etx "
                 "does not know");
  done();
}

// Names of tensors are no matter here.
static void only_the_shape_is_reported(void** state) {
  (void)state;
  read_text("buffers: [{name: w, type: \"float32[2, 255]\"}]\noutputs: [w]\n",
            GGUF "types.gguf", "f32.weight = w\n" OTHERS_UNUSED);
  assert_problem(&r,
                 "tensor 'f32.weight' is f32[2, 256], expected "
                 "float32[2, 255] for 'w'");
  assert_int_equal(r.problems.count, 1);
  done();
}

static void missing_weights_have_the_name_that_was_expected(void** state) {
  (void)state;
  read_text(
      "buffers:\n"
      "  - {name: m.layers.17.mlp.up_proj.weight, type: \"float32[5]\"}\n"
      "outputs: [m.layers.17.mlp.up_proj.weight]\n",
      GGUF "qwen2.gguf", NULL);
  assert_problem(&r,
                 "no tensor is the value of 'm.layers.17.mlp.up_proj.weight', "
                 "float32[5]: expected 'blk.17.ffn_up.weight'");
  assert_problem(&r,
                 "tensor 'blk.0.attn_q.weight' is not used: the graph has "
                 "no weight named '..layers.0.self_attn.q_proj.weight'");
  done();
}

static void names_that_fit_twice_are_refused(void** state) {
  (void)state;
  read_text(
      "buffers:\n"
      "  - {name: a.embed_tokens.weight, type: \"float32[48, 32]\"}\n"
      "  - {name: b.embed_tokens.weight, type: \"float32[48, 32]\"}\n"
      "outputs: [a.embed_tokens.weight, b.embed_tokens.weight]\n",
      GGUF "qwen2.gguf", NULL);
  assert_problem(&r,
                 "tensor 'token_embd.weight' may be 'a.embed_tokens.weight' or "
                 "'b.embed_tokens.weight'");
  done();
}

static const char one_weight[] =
    "buffers: [{name: w, type: \"float32[2, 256]\"}]\noutputs: [w]\n";

static void lines_of_names_are_checked(void** state) {
  (void)state;
  read_text(one_weight, GGUF "types.gguf", "\nf32.weight : w\n");
  assert_problem(&r,
                 "names.txt:2:1: 'f32.weight : w' should be 'TENSOR = "
                 "WEIGHT'");
  done();
  read_text(one_weight, GGUF "types.gguf",
            "f32.wight = w\nf16.weight = v\nf32.weight = w\nbf16.weight = w\n");
  assert_problem(&r, "names.txt:1:1: '");
  assert_problem(&r, "has no tensor 'f32.wight', did you mean 'f32.weight'");
  assert_problem(&r, "names.txt:2:1: the graph has no weight 'v'");
  assert_problem(&r,
                 "'w' would be the value of tensor 'bf16.weight' and of "
                 "tensor 'f32.weight'");
  done();
}

static void files_that_are_missing_are_reported(void** state) {
  (void)state;
  read_text(one_weight, "/absent/model.gguf", NULL);
  assert_problem(&r, "cannot open '/absent/model.gguf'");
  assert_int_equal(r.status, ETX_NOT_FOUND);
  done();
  read_text(one_weight, ETX_TEST_DATA "/gguf/types.yaml", NULL);
  assert_problem(&r, "is not a GGUF file");
  done();
  read_text(one_weight, ETX_TEST_DATA "/gguf", NULL);
  assert_problem(&r, "it is a directory");
  done();
}

// Reads a graph with the weights of a file in memory.
static void read_bytes(const char* graph, const gguf_bytes* bytes) {
  static char path[300];
  scratch_directory weights;
  scratch_directory_make(&weights);
  scratch_write(&weights, "m.gguf", bytes->data, bytes->size);
  snprintf(path, sizeof path, "%s/m.gguf", weights.path);
  read_text(graph, path, NULL);
  scratch_directory_remove(&weights);
}

static void metadata_that_is_needed_is_reported(void** state) {
  static const char query[] =
      "buffers: [{name: layers.0.self_attn.q_proj.weight, type: "
      "\"float32[8, 2]\"}]\noutputs: [layers.0.self_attn.q_proj.weight]\n";
  (void)state;
  gguf_bytes bytes = gguf_header(1, 1);
  gguf_put_text(&bytes, "general.architecture");
  gguf_put(&bytes, 8, 4);
  gguf_put_text(&bytes, "llama");
  gguf_put_tensor(&bytes, "blk.0.attn_q.weight", 2, 8, 0, 0);
  gguf_put_data(&bytes, 64);
  read_bytes(query, &bytes);
  assert_problem(&r,
                 "the metadata should have 'llama.attention.head_count', "
                 "one number above 0");
  done();
}

// Any part may be named. The package gguf wrote them.
static void parts_of_a_model_are_read_together(void** state) {
  (void)state;
  for (int part = 1; part <= PARTS; ++part) {
    char path[512];
    snprintf(path, sizeof path, GGUF "qwen2_parts-%05d-of-%05d.gguf", part,
             PARTS);
    assert_model("qwen2", path);
  }
}

static void put_number(gguf_bytes* out, const char* key, uint64_t number) {
  gguf_put_text(out, key);
  gguf_put(out, 2, 4);  // uint16
  gguf_put(out, number, 2);
}

// A part with one tensor, whose name ends with the letter.
static gguf_bytes make_part(uint64_t number, uint64_t count, char letter) {
  char name[] = "net.?.weight";
  gguf_bytes out = gguf_header(1, 3);
  name[4] = letter;
  put_number(&out, "split.no", number);
  put_number(&out, "split.count", count);
  put_number(&out, "split.tensors.count", 2);
  gguf_put_tensor(&out, name, 2, 2, 0, 0);
  gguf_put_data(&out, 16);
  return out;
}

// Reads a graph with the first of two parts, of which the second may be NULL.
static void read_parts(const char* first_name, const gguf_bytes* first,
                       const gguf_bytes* second) {
  static char path[300];
  scratch_directory weights;
  scratch_directory_make(&weights);
  scratch_write(&weights, first_name, first->data, first->size);
  if (second != NULL) {
    scratch_write(&weights, "m-00002-of-00002.gguf", second->data,
                  second->size);
  }
  snprintf(path, sizeof path, "%s/%s", weights.path, first_name);
  read_text(
      "buffers: [{name: net.a.weight, type: \"float32[2, 2]\"}, "
      "{name: net.b.weight, type: \"float32[2, 2]\"}]\n"
      "outputs: [net.a.weight, net.b.weight]\n",
      path, NULL);
  scratch_directory_remove(&weights);
}

static void parts_that_do_not_fit_are_refused(void** state) {
  static const char name[] = "m-00001-of-00002.gguf";
  (void)state;
  const gguf_bytes first = make_part(0, 2, 'a');
  gguf_bytes second = make_part(1, 2, 'b');
  read_parts(name, &first, &second);
  assert_reads(&r);
  done();
  read_parts(name, &first, NULL);
  assert_problem(&r, "m-00002-of-00002.gguf");
  done();
  read_parts("model.gguf", &first, &second);
  assert_problem(&r,
                 "is part 1 of 2 of a model, and its name does not end with "
                 "'-00001-of-00002.gguf', so the others cannot be found");
  done();
  second = make_part(0, 2, 'b');
  read_parts(name, &first, &second);
  assert_problem(&r, "should state that it is part 2 of 2");
  done();
  second = make_part(1, 3, 'b');
  read_parts(name, &first, &second);
  assert_problem(&r, "should state that it is part 2 of 2");
  done();
  second = make_part(1, 2, 'a');
  read_parts(name, &first, &second);
  assert_problem(&r, "two tensors are named 'net.a.weight'");
  done();
  gguf_bytes wrong = make_part(2, 2, 'a');
  read_parts(name, &wrong, &second);
  assert_problem(&r, "is one of 2 parts: split.no should say which");
  done();
  wrong = make_part(0, 2, 'a');
  second = gguf_header(0, 2);
  put_number(&second, "split.no", 1);
  put_number(&second, "split.count", 2);
  read_parts(name, &wrong, &second);
  assert_problem(&r, "the parts have 1 tensors, expected 2 in all");
  done();
}

// A parameter of a .pt2 archive needs no certain name.
static void parameters_of_archives_are_needed(void** state) {
  (void)state;
  reading_open_with_weights(&r, ETX_TEST_DATA "/pt2/branches/pick.pt2",
                            GGUF "types.gguf", NULL);
  assert_problem(&r, "no tensor is the value of 'w', float32[3, 3]");
  reading_close(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(types_have_the_values_of_the_package_gguf),
      cmocka_unit_test(halves_are_rounded_as_pytorch_rounds),
      cmocka_unit_test(models_have_the_weights_of_transformers),
      cmocka_unit_test(rounded_tensors_are_counted),
      cmocka_unit_test(values_of_the_graph_are_replaced),
      cmocka_unit_test(q4_0_becomes_int4_as_it_lies),
      cmocka_unit_test(q8_0_becomes_int8_as_it_lies),
      cmocka_unit_test(all_that_does_not_fit_is_reported),
      cmocka_unit_test(only_the_shape_is_reported),
      cmocka_unit_test(missing_weights_have_the_name_that_was_expected),
      cmocka_unit_test(names_that_fit_twice_are_refused),
      cmocka_unit_test(lines_of_names_are_checked),
      cmocka_unit_test(files_that_are_missing_are_reported),
      cmocka_unit_test(metadata_that_is_needed_is_reported),
      cmocka_unit_test(parts_of_a_model_are_read_together),
      cmocka_unit_test(parts_that_do_not_fit_are_refused),
      cmocka_unit_test(parameters_of_archives_are_needed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
