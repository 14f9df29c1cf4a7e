// Methods of varying sizes in exactly the memory that they need at each size.
// Recorded models are planned, and every method is loaded twice: with scratch
// where the file places it for the largest sizes and sizes from shape
// functions, and with compacted scratch in guarded blocks of the stated bytes
// and sizes from symbols. Both must give the same bits for the same
// inputs. One byte less of scratch is refused.

#include "tests/support/assert_status.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/bench/synthetic_input.h"
#include "cli/program/pte_file.h"
#include "tests/cli/command.h"
#include "tests/support/guarded_memory.h"

#define ETX ETX_BINARY "/etx"

static etx_diag diag;

static const char* const sets[] = {
    "whisper", "llama",     "cnn",      "gru",       "branches",
    "loops",   "cond",      "scans",    "late",      "loop_sizes",
    "halves",  "recurrent", "in_place", "quantized", "small_sizes",
    "mixed",   "wrapped",   "planes",   "choices"};

enum { MAX_SYMBOLS = 8, SIZES = 6, ALIGNMENT = 64 };

// A method with the memory that it is loaded into.
typedef struct loaded_instance {
  etx_program program;
  etx_method method;
  test_block blocks[4];  // structures, scratch, temporary, state
  etx_planned_memory state;
  uint32_t torn;
} loaded_instance;

static void open_program(loaded_instance* out, etx_bytes file,
                         bool keeps_plan) {
  etx_limits limits;
  memset(&limits, 0, sizeof limits);
  limits.keeps_plan = keeps_plan;
  limits.calls_shape_functions = keeps_plan;
  assert_ok(
      etx_program_open(&out->program, file, &etx_all_kernels, &limits, &diag));
}

// State is zero when the method starts.
static void load(loaded_instance* out, etx_text name, size_t scratch,
                 size_t temporary) {
  etx_memory_needed needed;
  assert_ok(etx_method_needed(&out->program, name, &needed, &diag));
  out->blocks[0] = test_block_new(needed.structure_bytes, ALIGNMENT);
  out->blocks[1] = test_block_new(scratch, ALIGNMENT);
  out->blocks[2] = test_block_new(temporary, ALIGNMENT);
  out->blocks[3] = test_block_new(needed.state_bytes, ALIGNMENT);
  memset(out->blocks[3].bytes.data, 0, needed.state_bytes);
  out->torn = 0;
  out->state = (etx_planned_memory){out->blocks[3].bytes.data,
                                    needed.state_bytes, &out->torn};
  const etx_method_memory memory = {out->blocks[0].bytes, out->blocks[1].bytes,
                                    out->blocks[2].bytes, &out->state};
  assert_ok(
      etx_method_init(&out->method, &out->program, name, &memory, NULL, &diag));
}

static void unload(loaded_instance* loaded) {
  for (size_t i = 0; i < 4; ++i) {
    assert_true(test_block_end(&loaded->blocks[i]));
  }
}

// ---- sizes ----

typedef struct sizes {
  etx_named_size named[MAX_SYMBOLS];
  char options[MAX_SYMBOLS][64];  // "SYMBOL=SIZE"
  etx_option_list list;
  size_t count;
} sizes;

// The smallest and the largest size of each symbol, and some in between. With
// several symbols, they are not all small or large together.
static void choose_sizes(sizes* out, const etx_program* program, size_t method,
                         size_t step) {
  out->count = etx_blob_symbol_count(&program->blob, method);
  assert_true(out->count <= MAX_SYMBOLS);
  for (size_t i = 0; i < out->count; ++i) {
    const etx_blob_symbol symbol =
        etx_blob_symbol_at(&program->blob, method, i);
    const int64_t range = symbol.maximum - symbol.minimum;
    const int64_t part =
        (int64_t)((step + i * (step > 1 ? step - 1 : 0)) % SIZES);
    const int64_t size = symbol.minimum + range * part / (SIZES - 1);
    out->named[i] = (etx_named_size){symbol.name, size};
    snprintf(out->options[i], sizeof out->options[i], "%.*s=%lld",
             (int)symbol.name.size, symbol.name.data, (long long)size);
    out->list.items[i] = out->options[i];
  }
  out->list.count = out->count;
}

// ---- runs ----

static void set_inputs(loaded_instance* loaded, const sizes* at,
                       etx_pool* pool) {
  const etx_synthetic_input_options options = {NULL, &at->list, NULL, 0};
  etx_synthetic_inputs inputs;
  assert_ok(etx_synthetic_inputs_set(&loaded->method, &options, pool, &inputs,
                                     &diag));
}

static void expect_same(const etx_value* found, const etx_value* wanted) {
  assert_int_equal(found->kind, wanted->kind);
  if (found->kind != ETX_VALUE_TENSOR) return;
  const etx_tensor* const a = &found->as.tensor;
  const etx_tensor* const b = &wanted->as.tensor;
  assert_int_equal(a->rank, b->rank);
  for (size_t i = 0; i < a->rank; ++i) {
    assert_int_equal(a->sizes[i], b->sizes[i]);
    assert_int_equal(a->strides[i], b->strides[i]);
  }
  const size_t bytes = etx_tensor_bytes(a);
  if (bytes > 0) assert_memory_equal(a->data, b->data, bytes);
}

// Runs both. A model may refuse the inputs, which are no real ones; then both
// do, for the same reason.
static void run_both(loaded_instance* compact, loaded_instance* whole) {
  etx_diag_init(&diag);
  const etx_status wanted = etx_method_run(&whole->method, &diag);
  etx_diag_init(&diag);
  const etx_status found = etx_method_run(&compact->method, &diag);
  if (found != wanted) fail_msg("%s: %s", etx_status_name(found), diag.text);
  if (found != ETX_OK) return;
  for (size_t i = 0; i < whole->method.output_count; ++i) {
    const etx_value* a = NULL;
    const etx_value* b = NULL;
    assert_ok(etx_method_output(&compact->method, i, &a));
    assert_ok(etx_method_output(&whole->method, i, &b));
    expect_same(a, b);
  }
  if (whole->state.size > 0) {
    assert_memory_equal(compact->state.data, whole->state.data,
                        whole->state.size);
  }
}

// ---- the checks ----

typedef struct checked_method {
  etx_bytes file;
  etx_text name;
  size_t in_blob;
  etx_memory_needed upper;
} checked_method;

// A method with varying sizes is loaded without scratch. One that has only
// varying numbers needs the same scratch for all.
static void load_to_ask(loaded_instance* out, const checked_method* m) {
  etx_pte_plan plan;
  etx_pte_totals totals;
  assert_ok(etx_program_find_plan(&out->program, m->name, &plan, &diag));
  etx_pte_plan_totals(&plan, &totals);
  const bool varies = totals.dynamic_dims > 0;
  load(out, m->name, varies ? 0 : m->upper.scratch_bytes,
       varies ? 0 : m->upper.temporary_bytes);
}

static void one_byte_less_is_refused(loaded_instance* compact, const sizes* at,
                                     size_t needed) {
  etx_pool pool;
  etx_pool_init(&pool);
  test_block less = test_block_new(needed - 1, ALIGNMENT);
  assert_ok(etx_method_set_memory(&compact->method, less.bytes,
                                  compact->blocks[2].bytes, &diag));
  set_inputs(compact, at, &pool);
  assert_refused(etx_method_run(&compact->method, &diag), ETX_OUT_OF_MEMORY,
                 "bytes of scratch");
  assert_int_equal(compact->torn, 0);
  assert_ok(etx_method_set_memory(&compact->method, compact->blocks[1].bytes,
                                  compact->blocks[2].bytes, &diag));
  assert_true(test_block_end(&less));
  etx_pool_close(&pool);
}

// True if a check of the model excludes the sizes. Then a run is refused, too.
static bool excludes(loaded_instance* compact, loaded_instance* whole,
                     const sizes* at, etx_memory_needed* out_needed) {
  static const char* const reason = "a check of the model failed";
  etx_pool pool;
  if (etx_method_needed_at(&compact->method, at->named, at->count, out_needed,
                           &diag) == ETX_OK) {
    return false;
  }
  assert_refused(etx_method_needed_at(&compact->method, at->named, at->count,
                                      out_needed, &diag),
                 ETX_BAD_ARGUMENT, reason);
  etx_pool_init(&pool);
  set_inputs(whole, at, &pool);
  assert_refused(etx_method_run(&whole->method, &diag), ETX_BAD_ARGUMENT,
                 reason);
  assert_int_equal(whole->torn, 0);
  etx_pool_close(&pool);
  return true;
}

static size_t check_at(const checked_method* m, const sizes* at) {
  loaded_instance compact, whole;
  etx_memory_needed needed;
  etx_pool pool;
  etx_pool_init(&pool);
  open_program(&whole, m->file, true);
  open_program(&compact, m->file, false);
  load(&whole, m->name, m->upper.scratch_bytes, m->upper.temporary_bytes);
  load_to_ask(&compact, m);
  if (excludes(&compact, &whole, at, &needed)) {
    unload(&compact);
    unload(&whole);
    etx_pool_close(&pool);
    return m->upper.scratch_bytes;
  }
  assert_true(needed.scratch_bytes <= m->upper.scratch_bytes);
  assert_true(needed.temporary_bytes <= m->upper.temporary_bytes);
  unload(&compact);
  load(&compact, m->name, needed.scratch_bytes, needed.temporary_bytes);
  if (needed.scratch_bytes > 0 && compact.method.scratch_block_count > 0) {
    one_byte_less_is_refused(&compact, at, needed.scratch_bytes);
  }
  set_inputs(&whole, at, &pool);
  set_inputs(&compact, at, &pool);
  run_both(&compact, &whole);
  unload(&compact);
  unload(&whole);
  etx_pool_close(&pool);
  return needed.scratch_bytes;
}

// Sizes that need all of the memory are refused if `lacks` is not 0.
static bool fits(loaded_instance* kept, size_t lacks) {
  if (lacks == 0) return true;
  const etx_status status = etx_method_prepare(&kept->method, &diag);
  if (status != ETX_OUT_OF_MEMORY) return true;
  assert_refused(etx_method_prepare(&kept->method, &diag), ETX_OUT_OF_MEMORY,
                 "bytes of scratch");
  return false;
}

// One loaded_instance, through all sizes and back, against fresh ones. It gets
// `lacks` bytes less than the largest sizes need.
static void check_sequence(const checked_method* m, size_t lacks) {
  loaded_instance kept, fresh;
  open_program(&kept, m->file, false);
  open_program(&fresh, m->file, true);
  load(&kept, m->name, m->upper.scratch_bytes - lacks,
       m->upper.temporary_bytes);
  for (size_t i = 0; i < 2 * SIZES; ++i) {
    sizes at;
    etx_pool pool;
    etx_pool_init(&pool);
    choose_sizes(&at, &kept.program, m->in_blob, (5 * i) % SIZES);
    load(&fresh, m->name, m->upper.scratch_bytes, m->upper.temporary_bytes);
    // The state that the kept one has by now.
    memcpy(fresh.state.data, kept.state.data, kept.state.size);
    set_inputs(&kept, &at, &pool);
    set_inputs(&fresh, &at, &pool);
    if (fits(&kept, lacks)) run_both(&kept, &fresh);
    kept.torn = 0;
    unload(&fresh);
    etx_pool_close(&pool);
  }
  unload(&kept);
}

// Returns the number of methods that need less at smaller sizes.
static size_t check_program(etx_bytes file) {
  size_t smaller = 0;
  loaded_instance opened;
  open_program(&opened, file, false);
  for (size_t i = 0; i < etx_program_method_count(&opened.program); ++i) {
    etx_method_info info;
    checked_method m = {.file = file};
    size_t least = SIZE_MAX;
    assert_ok(etx_program_method_at(&opened.program, i, &info));
    m.name = info.name;
    if (info.is_constant ||
        !etx_blob_method_find(&opened.program.blob, m.name, &m.in_blob) ||
        etx_blob_symbol_count(&opened.program.blob, m.in_blob) == 0) {
      continue;
    }
    assert_ok(etx_method_needed(&opened.program, m.name, &m.upper, &diag));
    for (size_t step = 0; step < SIZES; ++step) {
      sizes at;
      choose_sizes(&at, &opened.program, m.in_blob, step);
      const size_t bytes = check_at(&m, &at);
      if (bytes < least) least = bytes;
    }
    check_sequence(&m, 0);
    if (least == m.upper.scratch_bytes) continue;
    ++smaller;
    check_sequence(&m, 1);
  }
  return smaller;
}

static const char* const targets[] = {"etx", "executorch"};

static void every_method_runs_in_what_it_needs(void** state) {
  (void)state;
  size_t smaller = 0;
  for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
    char program[512], methods[512];
    etx_pte_file file;
    snprintf(methods, sizeof methods, ETX_TEST_DATA "/pt2/%s", sets[i]);
    snprintf(program, sizeof program, "%s/%s.pte", command_directory, sets[i]);
    for (size_t k = 0; k < sizeof targets / sizeof *targets; ++k) {
      command_expect(0, WORDS(ETX, "plan", methods, "-o", program, "--target",
                              targets[k]));
      assert_ok(etx_pte_file_open(&file, program, &diag));
      smaller += check_program(file.program);
      etx_pte_file_close(&file);
    }
  }
  assert_true(smaller >= 40);
}

static void sizes_are_checked(void** state) {
  (void)state;
  loaded_instance loaded;
  etx_memory_needed needed;
  etx_pte_file file;
  char program[512];
  snprintf(program, sizeof program, "%s/sizes.pte", command_directory);
  command_expect(
      0, WORDS(ETX, "plan", ETX_TEST_DATA "/pt2/whisper", "-o", program));
  assert_ok(etx_pte_file_open(&file, program, &diag));
  open_program(&loaded, file.program, false);
  load(&loaded, etx_text_of("encode"), 0, 0);
  etx_named_size size = {etx_text_of("s44"), 41};
  assert_refused(etx_method_needed_at(&loaded.method, &size, 1, &needed, &diag),
                 ETX_OUT_OF_RANGE,
                 "its bounds in method 'encode' are 1 and 40");
  size.name = etx_text_of("length");
  assert_refused(etx_method_needed_at(&loaded.method, &size, 1, &needed, &diag),
                 ETX_NOT_FOUND, "has no symbol 'length'");
  // Without sizes, those of the file are asked for.
  assert_ok(etx_method_needed_at(&loaded.method, NULL, 0, &needed, &diag));
  assert_int_equal(needed.scratch_bytes, 25600);
  unload(&loaded);
  etx_pte_file_close(&file);
}

static void commands_keep_the_plan(void** state) {
  (void)state;
  char program[512];
  const char* const methods = ETX_TEST_DATA "/pt2/whisper";
  snprintf(program, sizeof program, "%s/kept.pte", command_directory);
  command_expect(0, WORDS(ETX, "plan", methods, "-q", "-o", program));
  command_expect(0,
                 WORDS(ETX, "run", program, "--case", methods, "--keep-plan"));
  command_expect(0, WORDS(ETX, "bench", program, "--method", "encode",
                          "--seconds", "0.01", "--keep-plan"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_method_runs_in_what_it_needs),
      cmocka_unit_test(sizes_are_checked),
      cmocka_unit_test(commands_keep_the_plan),
  };
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
