// What a translator of the opus-mt shape costs in memory: Marian, 6 + 6 layers
// of 512, 8 heads, 2048 inside, 58 101 words, four sentences at once. Two
// methods over shared caches: `encode` writes the keys and values that `decode`
// reads at every step. All layers have the same weights but for a bias, so that
// the file stays small; where values lie does not depend on them.
//
//   nothing is copied between the methods, says the plan, and does a step
//   a step's temporaries are at most 2 MB
//   a process that translates has its arenas and at most 20 MB for itself

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
      fprintf(out,
              "  - {name: crossing.%c%d, type: \"float32[%d, 8, %d, 64]\"}\n",
              "kv"[kind], layer, SENTENCES, SOURCE);
      fprintf(out, "  - {name: own.%c%d, type: \"float32[%d, 8, %d, 64]\"}\n",
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

// `weight` times `from` and a bias, by heads.
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

// Attention of `rows` rows of `from` over keys and values; ends in `name`.
static void put_attention(FILE* out, const char* name, const char* from,
                          const char* keys, const char* values, int rows,
                          const char* mask) {
  char q[48], seen[48], turned[48], flat[48], last[48];
  snprintf(q, sizeof q, "%s_q", name);
  snprintf(seen, sizeof seen, "%s_seen", name);
  snprintf(turned, sizeof turned, "%s_turned", name);
  snprintf(flat, sizeof flat, "%s_flat", name);
  snprintf(last, sizeof last, "%s_last", name);
  put_heads(out, q, "q", "q.bias", from, rows);
  put_node(out, seen, "scaled_dot_product_attention.default", "%s, %s, %s%s", q,
           keys, values, mask);
  put_node(out, turned, "transpose.int", "%s, 1, 2", seen);
  put_node(out, flat, "reshape.default", "%s, [%d, %d, 512]", turned, SENTENCES,
           rows);
  put_node(out, last, "linear.default", "%s, o.weight, o.bias", flat);
  put_sum_and_norm(out, name, from, last);
}

static void put_inner(FILE* out, const char* name, const char* from) {
  char wide[48], bent[48], narrow[48];
  snprintf(wide, sizeof wide, "%s_wide", name);
  snprintf(bent, sizeof bent, "%s_bent", name);
  snprintf(narrow, sizeof narrow, "%s_narrow", name);
  put_node(out, wide, "linear.default", "%s, fc1.weight, fc1.bias", from);
  put_node(out, bent, "silu.default", "%s", wide);
  put_node(out, narrow, "linear.default", "%s, fc2.weight, fc2.bias", bent);
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
    put_attention(out, seen, from, k, v, SOURCE, "");
    put_inner(out, to, seen);
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
    fprintf(out, "%scrossing.k%d: ck%d, crossing.v%d: cv%d",
            layer == 0 ? "" : ", ", layer, layer, layer, layer);
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
    char name[4][32], own[2][16], crossing[2][16];
    snprintf(name[0], sizeof name[0], "h%d", layer);
    snprintf(name[1], sizeof name[1], "s%d", layer);
    snprintf(name[2], sizeof name[2], "x%d", layer);
    snprintf(name[3], sizeof name[3], "h%d", layer + 1);
    for (int kind = 0; kind < 2; ++kind) {
      const char* const weight = kind == 0 ? "k" : "v";
      char row[16];
      snprintf(row, sizeof row, "r%s%d", weight, layer);
      snprintf(own[kind], sizeof own[kind], "n%s%d", weight, layer);
      snprintf(crossing[kind], sizeof crossing[kind], "crossing.%s%d", weight,
               layer);
      char bias[16];
      snprintf(bias, sizeof bias, "bias.%s%d", weight, layer);
      put_heads(out, row, weight, bias, name[0], 1);
      put_node(out, own[kind], "index_copy.default",
               "own.%s%d, 2, position, %s", weight, layer, row);
    }
    put_attention(out, name[1], name[0], own[0], own[1], 1, ", mask");
    put_attention(out, name[2], name[1], crossing[0], crossing[1], 1, "");
    put_inner(out, name[3], name[2]);
  }
  put_node(out, "logits", "linear.default", "h6, words");
  fputs("outputs: [logits]\nmutates: {", out);
  for (int layer = 0; layer < LAYERS; ++layer) {
    fprintf(out, "%sown.k%d: nk%d, own.v%d: nv%d", layer == 0 ? "" : ", ",
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

// ------------------------------------------------ running it

typedef struct running {
  etx_module module;
  etx_module_shared shared;
  int64_t ids[SENTENCES * SOURCE];
  int64_t tokens[SENTENCES];
  int64_t position[1];
  etx_diag diag;
} running;

#define OK(r, call)                                       \
  do {                                                    \
    if ((call) != ETX_OK) fail_msg("%s", (r)->diag.text); \
  } while (0)

static etx_method* load(running* r, const char* name) {
  etx_planned_memory allocator;
  OK(r, etx_module_shared_allocator(&r->shared, name, &allocator, &r->diag));
  OK(r, etx_module_load_method(&r->module, name, &allocator, &r->diag));
  return etx_module_method(&r->module, name);
}

static void start(running* r) {
  etx_diag_init(&r->diag);
  OK(r, etx_module_open(&r->module, program, NULL, &r->diag));
  OK(r, etx_module_shared_open(&r->shared, &r->module, &r->diag));
  load(r, "encode");
  load(r, "decode");
  for (int i = 0; i < SENTENCES * SOURCE; ++i) r->ids[i] = 7 + 13 * i;
}

static void stop(running* r) {
  etx_module_shared_close(&r->shared);
  etx_module_close(&r->module);
}

static void encode(running* r) {
  static const int32_t sizes[2] = {SENTENCES, SOURCE};
  const etx_value ids = etx_module_tensor(r->ids, ETX_DTYPE_INT64, sizes, 2);
  OK(r, etx_module_execute(&r->module, "encode", &ids, 1, &r->diag));
}

static void decode(running* r, int64_t position) {
  static const int32_t rows[2] = {SENTENCES, 1};
  static const int32_t one[1] = {1};
  for (int i = 0; i < SENTENCES; ++i) r->tokens[i] = 100 + i + position;
  r->position[0] = position;
  const etx_value inputs[2] = {
      etx_module_tensor(r->tokens, ETX_DTYPE_INT64, rows, 2),
      etx_module_tensor(r->position, ETX_DTYPE_INT64, one, 1)};
  OK(r, etx_module_execute(&r->module, "decode", inputs, 2, &r->diag));
}

static etx_tensor find_state(running* r, const char* kind, int layer,
                             etx_state_hold* hold) {
  char name[32];
  etx_tensor state;
  const int size = snprintf(name, sizeof name, "%s%d", kind, layer);
  OK(r,
     etx_shared_memory_find(&r->shared.memory, (etx_text){name, (size_t)size},
                            &state, hold, &r->diag));
  return state;
}

// ------------------------------------------------ what moves

// What a call writes by operators that only move data.
typedef struct moves {
  size_t copied;                      // bytes, rows of the new step not counted
  size_t appended;                    // bytes of those rows
  const void* crossings[2 * LAYERS];  // where those of the session lie
  size_t read[2 * LAYERS];            // how many operators read them there
  size_t written[2 * LAYERS];
} moves;

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

// The bytes that index_copy and index_put take from: their last tensor but the
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
  moves* const m = context;
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
      if (value->as.tensor.data != m->crossings[i]) continue;
      ++*(a + 1 == call->argument_count ? &m->written[i] : &m->read[i]);
    }
  }
}

static void watch(running* r, const char* method, moves* m) {
  memset(m, 0, sizeof *m);
  for (int i = 0; i < LAYERS; ++i) {
    etx_state_hold hold;
    m->crossings[2 * i] = find_state(r, "crossing.k", i, &hold).data;
    m->crossings[2 * i + 1] = find_state(r, "crossing.v", i, &hold).data;
  }
  const etx_run_observer observer = {before_call, after_call, m};
  etx_method* const watched = etx_module_method(&r->module, method);
  etx_method_observe(watched, &observer);
  if (strcmp(method, "encode") == 0) {
    encode(r);
  } else {
    decode(r, 3);
  }
  etx_method_observe(watched, NULL);
}

static void nothing_is_copied_between_the_methods(void** state) {
  (void)state;
  running r;
  moves m;
  start(&r);
  // Each cache is written once, where it stays, by what makes its content.
  watch(&r, "encode", &m);
  for (size_t i = 0; i < 2 * LAYERS; ++i) {
    assert_int_equal(m.written[i], 1);
    assert_int_equal(m.read[i], 0);
  }
  const size_t cache = sizeof(float) * SENTENCES * 8 * SOURCE * 64;
  assert_true(m.copied <= 2 * LAYERS * cache);
  // And read there. A step moves its own new rows and nothing else.
  watch(&r, "decode", &m);
  assert_int_equal(m.copied, 0);
  assert_int_equal(m.appended, 2 * LAYERS * SENTENCES * 512 * sizeof(float));
  for (size_t i = 0; i < 2 * LAYERS; ++i) {
    assert_int_equal(m.written[i], 0);
    assert_int_equal(m.read[i], 1);
  }
  stop(&r);
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

static void the_plan_knows_of_no_copy(void** state) {
  (void)state;
  assert_int_equal(json_array_size(json_object_get(report, "copies")), 0);
  assert_int_equal(number(planned_method("encode"), "copied_bytes"), 0);
  assert_int_equal(number(planned_method("decode"), "copied_bytes"), 0);
}

// ------------------------------------------------ memory

static void needed(running* r, const char* name, etx_memory_needed* out) {
  OK(r,
     etx_method_needed(&r->module.program, etx_text_of(name), out, &r->diag));
}

static void a_step_needs_at_most_two_megabytes(void** state) {
  (void)state;
  running r;
  etx_memory_needed memory;
  start(&r);
  needed(&r, "decode", &memory);
  assert_int_equal(number(planned_method("decode"), "scratch_bytes"),
                   memory.scratch_bytes);
  const size_t logits = sizeof(float) * SENTENCES * 58101;
  assert_true(memory.scratch_bytes >= logits);
  assert_true(memory.scratch_bytes + memory.temporary_bytes <= 2 * MEGABYTE);
  stop(&r);
}

// Bytes of pages that only this process has: written ones, or in no file.
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

static void a_process_has_its_arenas_and_little_more(void** state) {
  (void)state;
  running r;
  etx_memory_needed of_encode, of_decode;
  start(&r);
  encode(&r);
  for (int64_t step = 0; step < STEPS; ++step) decode(&r, step);
  needed(&r, "encode", &of_encode);
  needed(&r, "decode", &of_decode);
  const size_t scratch = of_encode.scratch_bytes > of_decode.scratch_bytes
                             ? of_encode.scratch_bytes
                             : of_decode.scratch_bytes;
  const size_t arenas = scratch + of_decode.state_bytes;
  const size_t found = private_bytes();
  stop(&r);
  if (found == 0) skip();  // a kernel that does not tell
  assert_true(found >= of_decode.state_bytes / 2);
  if (found > arenas + 20 * MEGABYTE) {
    fail_msg("%zu private bytes, arenas have %zu", found, arenas);
  }
  printf("%zu private bytes, of which %zu are arenas\n", found, arenas);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      // First: what others leave in the heap is none of it.
      cmocka_unit_test(a_process_has_its_arenas_and_little_more),
      cmocka_unit_test(the_plan_knows_of_no_copy),
      cmocka_unit_test(nothing_is_copied_between_the_methods),
      cmocka_unit_test(a_step_needs_at_most_two_megabytes),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
