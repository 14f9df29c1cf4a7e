// Memory of a translator with the shape of opus-mt: Marian, 6 + 6 layers of
// width 512, 8 heads, feed-forward width 2048, 58 101 tokens, a batch of four
// sentences. It has two methods over shared caches: `encode` writes the keys
// and values that `decode` reads at every step. All layers share their weights
// except for a bias, so that the file stays small; the memory plan does not
// depend on weights.
//
//   nothing is copied between the methods, in the report and in a run
//   a step needs at most 2 MB of scratch and temporary memory
//   a process that translates has its arenas and at most 20 MB more

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/module/module.h"
#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"

enum {
  SENTENCES = 4,
  SOURCE = 32,
  CAPACITY = 64,
  LAYERS = 6,
  STEPS = 4,
  MEGABYTE = 1 << 20,
};

static char program[256];
static json_t* report;  // of etx plan

// ------------------------------------------------ the model

static void put_buffers(FILE* out) {
  static const char* const squares[] = {"q", "k", "v", "o"};
  fputs(
      "buffers:\n  - {name: words, type: \"float32[58101, 512]\", init: "
      "0.01}\n",
      out);
  for (int i = 0; i < 4; ++i) {
    fprintf(out,
            "  - {name: %s.weight, type: \"float32[512, 512]\", init: 0.0%d}\n"
            "  - {name: %s.bias, type: \"float32[512]\", init: 0.%d}\n",
            squares[i], i + 1, squares[i], i + 1);
  }
  fputs(
      "  - {name: fc1.weight, type: \"float32[2048, 512]\", init: 0.01}\n"
      "  - {name: fc1.bias, type: \"float32[2048]\", init: 0.2}\n"
      "  - {name: fc2.weight, type: \"float32[512, 2048]\", init: 0.01}\n"
      "  - {name: fc2.bias, type: \"float32[512]\", init: 0.3}\n"
      "  - {name: norm.weight, type: \"float32[512]\", init: 1.0}\n"
      "  - {name: norm.bias, type: \"float32[512]\", init: 0.0}\n",
      out);
  for (int layer = 0; layer < LAYERS; ++layer) {
    for (int kind = 0; kind < 2; ++kind) {
      fprintf(out,
              "  - {name: bias.%c%d, type: \"float32[512]\", init: %d.5}\n",
              "kv"[kind], layer, 2 * layer + kind);
      fprintf(out, "  - {name: cross.%c%d, type: \"float32[%d, 8, %d, 64]\"}\n",
              "kv"[kind], layer, SENTENCES, SOURCE);
      fprintf(out, "  - {name: self.%c%d, type: \"float32[%d, 8, %d, 64]\"}\n",
              "kv"[kind], layer, SENTENCES, CAPACITY);
    }
  }
}

static void put_node(FILE* out, const char* name, const char* op,
                     const char* format, ...) {
  va_list list;
  fprintf(out, "  - {out: %s, op: aten.%s, args: [", name, op);
  va_start(list, format);
  vfprintf(out, format, list);
  va_end(list);
  fputs("]}\n", out);
}

// A linear layer over `from` whose result is split into heads.
static void put_heads(FILE* out, const char* name, const char* weight,
                      const char* bias, const char* from, int rows) {
  char whole[48], parts[48];
  snprintf(whole, sizeof whole, "%s_all", name);
  snprintf(parts, sizeof parts, "%s_parts", name);
  put_node(out, whole, "linear.default", "%s, %s.weight, %s", from, weight,
           bias);
  put_node(out, parts, "view.default", "%s, [%d, %d, 8, 64]", whole, SENTENCES,
           rows);
  put_node(out, name, "transpose.int", "%s, 1, 2", parts);
}

static void put_sum_and_norm(FILE* out, const char* name, const char* a,
                             const char* b) {
  char sum[48];
  snprintf(sum, sizeof sum, "%s_sum", name);
  put_node(out, sum, "add.Tensor", "%s, %s", a, b);
  put_node(out, name, "layer_norm.default", "%s, [512], norm.weight, norm.bias",
           sum);
}

// Names of the values of one attention.
typedef struct attention_values {
  const char* query;  // before the projection
  const char* keys;   // by heads
  const char* values;
  const char* mask;  // NULL: none
  int rows;          // of the query
} attention_values;

// Attention with projections, residual sum and norm; ends in `name`.
static void put_attention(FILE* out, const char* name,
                          const attention_values* in) {
  char q[48], heads[48], transposed[48], flat[48], projected[48];
  snprintf(q, sizeof q, "%s_q", name);
  snprintf(heads, sizeof heads, "%s_heads", name);
  snprintf(transposed, sizeof transposed, "%s_transposed", name);
  snprintf(flat, sizeof flat, "%s_flat", name);
  snprintf(projected, sizeof projected, "%s_projected", name);
  put_heads(out, q, "q", "q.bias", in->query, in->rows);
  put_node(out, heads, "scaled_dot_product_attention.default", "%s, %s, %s%s%s",
           q, in->keys, in->values, in->mask == NULL ? "" : ", ",
           in->mask == NULL ? "" : in->mask);
  put_node(out, transposed, "transpose.int", "%s, 1, 2", heads);
  put_node(out, flat, "reshape.default", "%s, [%d, %d, 512]", transposed,
           SENTENCES, in->rows);
  put_node(out, projected, "linear.default", "%s, o.weight, o.bias", flat);
  put_sum_and_norm(out, name, in->query, projected);
}

static void put_feed_forward(FILE* out, const char* name, const char* from) {
  char wide[48], activated[48], narrow[48];
  snprintf(wide, sizeof wide, "%s_wide", name);
  snprintf(activated, sizeof activated, "%s_activated", name);
  snprintf(narrow, sizeof narrow, "%s_narrow", name);
  put_node(out, wide, "linear.default", "%s, fc1.weight, fc1.bias", from);
  put_node(out, activated, "silu.default", "%s", wide);
  put_node(out, narrow, "linear.default", "%s, fc2.weight, fc2.bias",
           activated);
  put_sum_and_norm(out, name, from, narrow);
}

static FILE* start_method(const char* folder, const char* name) {
  char path[300];
  snprintf(path, sizeof path, "%s/%s.yaml", folder, name);
  FILE* const out = fopen(path, "w");
  assert_non_null(out);
  fprintf(out, "etx: 1\nmethod: %s\n", name);
  return out;
}

static void write_encode(const char* folder) {
  FILE* const out = start_method(folder, "encode");
  fprintf(out, "inputs:\n  - {name: ids, type: \"int64[%d, %d]\"}\n", SENTENCES,
          SOURCE);
  put_buffers(out);
  fputs("nodes:\n", out);
  put_node(out, "h0", "embedding.default", "words, ids");
  for (int layer = 0; layer < LAYERS; ++layer) {
    char k[16], v[16], from[16], seen[16], to[16];
    snprintf(k, sizeof k, "k%d", layer);
    snprintf(v, sizeof v, "v%d", layer);
    snprintf(from, sizeof from, "h%d", layer);
    snprintf(seen, sizeof seen, "s%d", layer);
    snprintf(to, sizeof to, "h%d", layer + 1);
    put_heads(out, k, "k", "k.bias", from, SOURCE);
    put_heads(out, v, "v", "v.bias", from, SOURCE);
    const attention_values self = {from, k, v, NULL, SOURCE};
    put_attention(out, seen, &self);
    put_feed_forward(out, to, seen);
  }
  for (int layer = 0; layer < LAYERS; ++layer) {
    char name[16];
    for (int kind = 0; kind < 2; ++kind) {
      const char* const weight = kind == 0 ? "k" : "v";
      snprintf(name, sizeof name, "c%s%d", weight, layer);
      char bias[16];
      snprintf(bias, sizeof bias, "bias.%s%d", weight, layer);
      put_heads(out, name, weight, bias, "h6", SOURCE);
    }
  }
  fputs("outputs: []\nmutates: {", out);
  for (int layer = 0; layer < LAYERS; ++layer) {
    fprintf(out, "%scross.k%d: ck%d, cross.v%d: cv%d", layer == 0 ? "" : ", ",
            layer, layer, layer, layer);
  }
  fputs("}\n", out);
  assert_int_equal(fclose(out), 0);
}

static void write_decode(const char* folder) {
  FILE* const out = start_method(folder, "decode");
  fprintf(out,
          "inputs:\n  - {name: token, type: \"int64[%d, 1]\"}\n"
          "  - {name: position, type: \"int64[1]\"}\n",
          SENTENCES);
  put_buffers(out);
  fputs("nodes:\n", out);
  put_node(out, "places", "arange.default", "%d", CAPACITY);
  put_node(out, "live", "le.Tensor", "places, position");
  put_node(out, "mask", "view.default", "live, [1, 1, 1, %d]", CAPACITY);
  put_node(out, "h0", "embedding.default", "words, token");
  for (int layer = 0; layer < LAYERS; ++layer) {
    char name[4][32], self_cache[2][16], cross_cache[2][16];
    snprintf(name[0], sizeof name[0], "h%d", layer);
    snprintf(name[1], sizeof name[1], "s%d", layer);
    snprintf(name[2], sizeof name[2], "x%d", layer);
    snprintf(name[3], sizeof name[3], "h%d", layer + 1);
    for (int kind = 0; kind < 2; ++kind) {
      const char* const weight = kind == 0 ? "k" : "v";
      char row[16];
      snprintf(row, sizeof row, "r%s%d", weight, layer);
      snprintf(self_cache[kind], sizeof self_cache[kind], "n%s%d", weight,
               layer);
      snprintf(cross_cache[kind], sizeof cross_cache[kind], "cross.%s%d",
               weight, layer);
      char bias[16];
      snprintf(bias, sizeof bias, "bias.%s%d", weight, layer);
      put_heads(out, row, weight, bias, name[0], 1);
      put_node(out, self_cache[kind], "index_copy.default",
               "self.%s%d, 2, position, %s", weight, layer, row);
    }
    const attention_values self = {name[0], self_cache[0], self_cache[1],
                                   "mask", 1};
    const attention_values cross = {name[1], cross_cache[0], cross_cache[1],
                                    NULL, 1};
    put_attention(out, name[1], &self);
    put_attention(out, name[2], &cross);
    put_feed_forward(out, name[3], name[2]);
  }
  put_node(out, "logits", "linear.default", "h6, words");
  fputs("outputs: [logits]\nmutates: {", out);
  for (int layer = 0; layer < LAYERS; ++layer) {
    fprintf(out, "%sself.k%d: nk%d, self.v%d: nv%d", layer == 0 ? "" : ", ",
            layer, layer, layer, layer);
  }
  fputs("}\n", out);
  assert_int_equal(fclose(out), 0);
}

static int set_up(void** state) {
  char folder[256];
  if (command_set_up(state) != 0) return -1;
  snprintf(folder, sizeof folder, "%s/opus-mt", command_directory);
  snprintf(program, sizeof program, "%s/opus-mt.pte", command_directory);
  if (mkdir(folder, 0777) != 0) return -1;
  write_encode(folder);
  write_decode(folder);
  command_result planned =
      command_run(WORDS(ETX, "plan", folder, "-o", program, "--json"));
  report = json_loads(planned.out, 0, NULL);
  if (planned.code != 0) fputs(planned.err, stderr);
  command_end(&planned);
  return report == NULL ? -1 : 0;
}

static int tear_down(void** state) {
  json_decref(report);
  return command_tear_down(state);
}

// ------------------------------------------------ translator_session it

typedef struct translator_session {
  etx_module module;
  etx_module_shared shared;
  int64_t ids[SENTENCES * SOURCE];
  int64_t tokens[SENTENCES];
  int64_t position[1];
  etx_diag diag;
} translator_session;

#define OK(session, call)                                       \
  do {                                                          \
    if ((call) != ETX_OK) fail_msg("%s", (session)->diag.text); \
  } while (0)

static etx_method* load(translator_session* s, const char* name) {
  etx_planned_memory allocator;
  OK(s, etx_module_shared_allocator(&s->shared, name, &allocator, &s->diag));
  OK(s, etx_module_load_method(&s->module, name, &allocator, &s->diag));
  return etx_module_method(&s->module, name);
}

static void start(translator_session* s) {
  etx_diag_init(&s->diag);
  OK(s, etx_module_open(&s->module, program, NULL, &s->diag));
  OK(s, etx_module_shared_open(&s->shared, &s->module, &s->diag));
  load(s, "encode");
  load(s, "decode");
  for (int i = 0; i < SENTENCES * SOURCE; ++i) s->ids[i] = 7 + 13 * i;
}

static void stop(translator_session* s) {
  etx_module_shared_close(&s->shared);
  etx_module_close(&s->module);
}

static void encode(translator_session* s) {
  static const int32_t sizes[2] = {SENTENCES, SOURCE};
  const etx_value ids = etx_module_tensor(s->ids, ETX_DTYPE_INT64, sizes, 2);
  OK(s, etx_module_execute(&s->module, "encode", &ids, 1, &s->diag));
}

static void decode(translator_session* s, int64_t position) {
  static const int32_t rows[2] = {SENTENCES, 1};
  static const int32_t one[1] = {1};
  for (int i = 0; i < SENTENCES; ++i) s->tokens[i] = 100 + i + position;
  s->position[0] = position;
  const etx_value inputs[2] = {
      etx_module_tensor(s->tokens, ETX_DTYPE_INT64, rows, 2),
      etx_module_tensor(s->position, ETX_DTYPE_INT64, one, 1)};
  OK(s, etx_module_execute(&s->module, "decode", inputs, 2, &s->diag));
}

static etx_tensor find_state(translator_session* s, const char* kind, int layer,
                             etx_state_hold* hold) {
  char name[32];
  etx_tensor state;
  const int size = snprintf(name, sizeof name, "%s%d", kind, layer);
  OK(s,
     etx_shared_memory_find(&s->shared.memory, (etx_text){name, (size_t)size},
                            &state, hold, &s->diag));
  return state;
}

// ------------------------------------------------ what moves

// The data that a call moves without computing.
typedef struct data_movement {
  size_t copied;    // bytes, without the new rows of caches
  size_t appended;  // bytes of new rows
  const void* cross_caches[2 * LAYERS];  // data of the cross-attention caches
  size_t read[2 * LAYERS];               // operators that read each cache
  size_t written[2 * LAYERS];
} data_movement;

static bool only_moves(const etx_op* op) {
  static const char* const parts[] = {"copy",   "clone", "cat", "stack",
                                      "gather", "_to_",  "pad", "flip"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    if (strstr(op->name, parts[i]) != NULL) return true;
  }
  return false;
}

static bool appends(const etx_op* op) {
  return strstr(op->name, "index_copy") != NULL ||
         strstr(op->name, "index_put") != NULL;
}

// Bytes of the source of index_copy or index_put, the last tensor before the
// result.
static size_t bytes_of_source(const etx_call* call) {
  size_t bytes = 0;
  for (size_t i = 1; i + 1 < call->argument_count; ++i) {
    const etx_value* const value = call->arguments[i];
    if (value != NULL && value->kind == ETX_VALUE_TENSOR) {
      bytes = etx_tensor_bytes(&value->as.tensor);
    }
  }
  return bytes;
}

static void before_call(void* context, size_t instruction,
                        const etx_call* call) {
  (void)context, (void)instruction, (void)call;
}

static void after_call(void* context, size_t instruction,
                       const etx_call* call) {
  data_movement* const m = context;
  (void)instruction;
  const etx_value* const last = call->arguments[call->argument_count - 1];
  if (appends(call->op)) {
    m->appended += bytes_of_source(call);
  } else if (only_moves(call->op) && last->kind == ETX_VALUE_TENSOR) {
    m->copied += etx_tensor_bytes(&last->as.tensor);
  }
  for (size_t a = 0; a < call->argument_count; ++a) {
    const etx_value* const value = call->arguments[a];
    if (value == NULL || value->kind != ETX_VALUE_TENSOR) continue;
    for (size_t i = 0; i < 2 * LAYERS; ++i) {
      if (value->as.tensor.data != m->cross_caches[i]) continue;
      ++*(a + 1 == call->argument_count ? &m->written[i] : &m->read[i]);
    }
  }
}

static void watch(translator_session* s, const char* method, data_movement* m) {
  memset(m, 0, sizeof *m);
  for (int i = 0; i < LAYERS; ++i) {
    etx_state_hold hold;
    m->cross_caches[2 * i] = find_state(s, "cross.k", i, &hold).data;
    m->cross_caches[2 * i + 1] = find_state(s, "cross.v", i, &hold).data;
  }
  const etx_run_observer observer = {before_call, after_call, m};
  etx_method* const watched = etx_module_method(&s->module, method);
  etx_method_observe(watched, &observer);
  if (strcmp(method, "encode") == 0) {
    encode(s);
  } else {
    decode(s, 3);
  }
  etx_method_observe(watched, NULL);
}

static void nothing_is_copied_between_the_methods(void** state) {
  (void)state;
  translator_session s;
  data_movement m;
  start(&s);
  // Each cache is written once, by the operator that computes its content.
  watch(&s, "encode", &m);
  for (size_t i = 0; i < 2 * LAYERS; ++i) {
    assert_int_equal(m.written[i], 1);
    assert_int_equal(m.read[i], 0);
  }
  const size_t cache = sizeof(float) * SENTENCES * 8 * SOURCE * 64;
  assert_true(m.copied <= 2 * LAYERS * cache);
  // A step reads it in place, and moves its own new rows only.
  watch(&s, "decode", &m);
  assert_int_equal(m.copied, 0);
  assert_int_equal(m.appended, 2 * LAYERS * SENTENCES * 512 * sizeof(float));
  for (size_t i = 0; i < 2 * LAYERS; ++i) {
    assert_int_equal(m.written[i], 0);
    assert_int_equal(m.read[i], 1);
  }
  stop(&s);
}

// ------------------------------------------------ the plan

static const json_t* planned_method(const char* name) {
  const json_t* const methods = json_object_get(report, "methods");
  for (size_t i = 0; i < json_array_size(methods); ++i) {
    const json_t* const method = json_array_get(methods, i);
    if (strcmp(json_string_value(json_object_get(method, "name")), name) == 0) {
      return method;
    }
  }
  fail_msg("the report has no method '%s'", name);
  return NULL;
}

static json_int_t number(const json_t* object, const char* key) {
  const json_t* const value = json_object_get(object, key);
  assert_true(json_is_integer(value));
  return json_integer_value(value);
}

static void the_report_lists_no_copy(void** state) {
  (void)state;
  assert_int_equal(json_array_size(json_object_get(report, "copies")), 0);
  assert_int_equal(number(planned_method("encode"), "copied_bytes"), 0);
  assert_int_equal(number(planned_method("decode"), "copied_bytes"), 0);
}

// ------------------------------------------------ memory

static void needed(translator_session* s, const char* name,
                   etx_memory_needed* out) {
  OK(s,
     etx_method_needed(&s->module.program, etx_text_of(name), out, &s->diag));
}

static void a_step_needs_at_most_two_megabytes(void** state) {
  (void)state;
  translator_session s;
  etx_memory_needed memory;
  start(&s);
  needed(&s, "decode", &memory);
  assert_int_equal(number(planned_method("decode"), "scratch_bytes"),
                   memory.scratch_bytes);
  const size_t logits = sizeof(float) * SENTENCES * 58101;
  assert_true(memory.scratch_bytes >= logits);
  assert_true(memory.scratch_bytes + memory.temporary_bytes <= 2 * MEGABYTE);
  stop(&s);
}

// Bytes of private dirty pages of this process.
static size_t private_bytes(void) {
  FILE* const file = fopen("/proc/self/smaps_rollup", "r");
  char line[256];
  size_t kilobytes = 0;
  if (file == NULL) return 0;
  while (fgets(line, sizeof line, file) != NULL) {
    size_t found = 0;
    if (sscanf(line, "Private_Dirty: %zu kB", &found) == 1) kilobytes += found;
  }
  fclose(file);
  return kilobytes * 1024;
}

static void a_process_needs_little_beside_its_arenas(void** state) {
  (void)state;
  translator_session s;
  etx_memory_needed of_encode, of_decode;
  start(&s);
  encode(&s);
  for (int64_t step = 0; step < STEPS; ++step) decode(&s, step);
  needed(&s, "encode", &of_encode);
  needed(&s, "decode", &of_decode);
  const size_t scratch = of_encode.scratch_bytes > of_decode.scratch_bytes
                             ? of_encode.scratch_bytes
                             : of_decode.scratch_bytes;
  const size_t arenas = scratch + of_decode.state_bytes;
  const size_t found = private_bytes();
  stop(&s);
  if (found == 0) skip();  // no smaps_rollup
  assert_true(found >= of_decode.state_bytes / 2);
  if (found > arenas + 20 * MEGABYTE) {
    fail_msg("%zu private bytes, arenas have %zu", found, arenas);
  }
  printf("%zu private bytes, of which %zu are arenas\n", found, arenas);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      // First, because the other tests leave memory in the heap.
      cmocka_unit_test(a_process_needs_little_beside_its_arenas),
      cmocka_unit_test(the_report_lists_no_copy),
      cmocka_unit_test(nothing_is_copied_between_the_methods),
      cmocka_unit_test(a_step_needs_at_most_two_megabytes),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
