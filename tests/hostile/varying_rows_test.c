// Damage to what a file states about varying sizes: symbols, sizes of inputs
// that depend on them, views, places in further layouts, and sizes and numbers
// in the plan. A damaged file is refused with a message when it is opened,
// loaded or run, or it runs without an access outside of its memory. Where the
// proof of `etx verify` accepts it, results do not depend on where blocks lie.
//
//   varying_rows_test [COUNT [SEED]]

#define _DEFAULT_SOURCE  // scandir

#include "tests/format/fixtures/format_test.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/verify/verify_program.h"
#include "tests/cli/verify/program_copy.h"
#include "tests/format/fixtures/sample_program.h"
#include "tests/hostile/hostile_mutation.h"
#include "tests/support/assert_message.h"
#include "tests/support/sized_instance.h"

enum {
  MOST_SAMPLES = 32,
  MOST_BYTES = 1 << 20,
  MOST_STEPS = 20000,
  CALLS = 3  // of each program
};

static size_t damage_count = 4000;
static uint64_t seed = 20261128;
static size_t number;       // of the present file
static const char* origin;  // the sample that it was made of

typedef struct varying_sample {
  char path[512];
  etx_bytes_mut bytes;
} varying_sample;

static varying_sample samples[MOST_SAMPLES];
static size_t sample_count;

typedef struct stage_counts {
  size_t opened;    // files
  size_t loaded;    // files
  size_t ran;       // calls
  size_t stopped;   // calls
  size_t proved;    // files
  size_t compared;  // calls of proved files
} stage_counts;

// ---- samples ----

static int is_program(const struct dirent* entry) {
  const size_t size = strlen(entry->d_name);
  return size > 4 && strcmp(entry->d_name + size - 4, ".pte") == 0;
}

static void open_samples(void) {
  struct dirent** entries = NULL;
  const char* const folder = ETX_BINARY "/tests/planned_varying";
  const int count = scandir(folder, &entries, is_program, alphasort);
  for (int i = 0; i < count; ++i) {
    if (sample_count < MOST_SAMPLES) {
      varying_sample* const s = &samples[sample_count++];
      snprintf(s->path, sizeof s->path, "%s/%s", folder, entries[i]->d_name);
      s->bytes = sample_read_file(s->path);
    }
    free(entries[i]);
  }
  free(entries);
}

static void close_samples(void) {
  for (size_t i = 0; i < sample_count; ++i) sample_release(samples[i].bytes);
  sample_count = 0;
}

// ---- damaged numbers ----

static const int64_t numbers[] = {0,
                                  1,
                                  2,
                                  3,
                                  -1,
                                  -2,
                                  16,
                                  64,
                                  255,
                                  4096,
                                  INT32_MAX,
                                  INT32_MIN,
                                  UINT32_MAX,
                                  (int64_t)1 << 31,
                                  (int64_t)1 << 40,
                                  INT64_MAX,
                                  INT64_MAX / 2,
                                  INT64_MIN};

static int64_t damage(int64_t before, hostile_random* random) {
  const uint64_t bits = (uint64_t)before;
  switch (hostile_below(random, 5)) {
    case 0:
      return numbers[hostile_below(random, COUNT(numbers))];
    case 1:
      return (int64_t)(bits ^ UINT64_C(1) << hostile_below(random, 64));
    case 2:
      return (int64_t)(bits * (2 + hostile_below(random, 3)));
    case 3:
      return (int64_t)(bits + 16 * (1 + hostile_below(random, 8)));
    default:
      return (int64_t)(bits + hostile_below(random, 9) - 4);
  }
}

static uint32_t damage_index(uint32_t before, size_t limit,
                             hostile_random* random) {
  return hostile_chance(random, 70) && limit > 0
             ? (uint32_t)hostile_below(random, limit)
             : (uint32_t)damage(before, random);
}

// ---- damaged rows ----

// Damages one row of a method; false if the method has none of that kind.
typedef bool (*row_damage)(program_copy* copy, size_t method,
                           hostile_random* random);

static bool damage_symbol(program_copy* copy, size_t method,
                          hostile_random* random) {
  const size_t count = copy->blob_methods[method].symbol_count;
  if (count == 0) return false;
  etx_blob_symbol* const row =
      &program_copy_symbols(copy, method)[hostile_below(random, count)];
  int64_t* const bound =
      hostile_chance(random, 50) ? &row->minimum : &row->maximum;
  *bound = damage(*bound, random);
  return true;
}

static bool damage_input_dim(program_copy* copy, size_t method,
                             hostile_random* random) {
  const etx_blob_method* const m = &copy->blob_methods[method];
  if (m->input_dim_count == 0) return false;
  etx_blob_input_dim* const row = &program_copy_input_dims(
      copy, method)[hostile_below(random, m->input_dim_count)];
  switch (hostile_below(random, 5)) {
    case 0:
      row->input = damage_index(row->input, m->input_count, random);
      return true;
    case 1:
      row->dim = (int32_t)(damage_index((uint32_t)row->dim, 4, random) - 1u);
      return true;
    case 2:
      row->symbol = damage_index(row->symbol, m->symbol_count, random);
      return true;
    case 3:
      row->factor = damage(row->factor, random);
      return true;
    default:
      row->offset = damage(row->offset, random);
      return true;
  }
}

static size_t values_of(const program_copy* copy, size_t method) {
  return copy->plans[program_copy_plan_of(copy, method)].value_count;
}

static bool damage_view(program_copy* copy, size_t method,
                        hostile_random* random) {
  const size_t count = copy->blob_methods[method].view_count;
  if (count == 0) return false;
  etx_blob_view* const row =
      &program_copy_views(copy, method)[hostile_below(random, count)];
  switch (hostile_below(random, 3)) {
    case 0:
      row->value = damage_index(row->value, values_of(copy, method), random);
      return true;
    case 1:
      row->base = damage_index(row->base, values_of(copy, method), random);
      return true;
    default:
      row->offset = (uint64_t)damage((int64_t)row->offset, random);
      return true;
  }
}

static bool damage_place(program_copy* copy, size_t method,
                         hostile_random* random) {
  etx_blob_method* const m = &copy->blob_methods[method];
  if (m->place_count == 0 || hostile_chance(random, 10)) {
    program_copy_add_layout(copy, method);
  }
  if (m->place_count == 0) return false;
  const size_t count = m->place_count;
  etx_blob_place* const places = program_copy_places(copy, method);
  etx_blob_place* const row = &places[hostile_below(random, count)];
  switch (hostile_below(random, 6)) {
    case 0:
      row->value = damage_index(row->value, values_of(copy, method), random);
      return true;
    case 1:
      row->layout = damage_index(row->layout, ETX_BLOB_MOST_LAYOUTS, random);
      return true;
    case 2:
      row->bytes = (uint64_t)damage((int64_t)row->bytes, random);
      return true;
    case 3:
      row->offset = (uint64_t)damage((int64_t)row->offset, random);
      return true;
    case 4:
      row->offset = places[hostile_below(random, count)].offset;
      return true;
    default:
      m->place_count = hostile_below(random, count);
      return true;
  }
}

static bool damage_tensor(program_copy* copy, size_t method,
                          hostile_random* random) {
  const size_t plan = program_copy_plan_of(copy, method);
  const size_t count = copy->plans[plan].value_count;
  if (count == 0) return false;
  etx_pte_value* const value =
      &program_copy_values(copy, plan)[hostile_below(random, count)];
  if (value->kind != ETX_PTE_TENSOR) return false;
  etx_pte_tensor* const tensor = &value->as.tensor;
  if (hostile_chance(random, 20)) {
    tensor->dynamism = (etx_pte_dynamism)hostile_below(random, 3);
  } else if (hostile_chance(random, 30) && tensor->has_allocation) {
    tensor->memory_offset =
        (uint64_t)damage((int64_t)tensor->memory_offset, random);
  } else if (tensor->rank > 0) {
    int32_t* const sizes = (int32_t*)(uintptr_t)tensor->sizes;
    int32_t* const size = &sizes[hostile_below(random, tensor->rank)];
    *size = (int32_t)damage(*size, random);
  }
  return true;
}

static bool damage_integer(program_copy* copy, size_t method,
                           hostile_random* random) {
  const size_t plan = program_copy_plan_of(copy, method);
  const size_t count = copy->plans[plan].value_count;
  if (count == 0) return false;
  etx_pte_value* const value =
      &program_copy_values(copy, plan)[hostile_below(random, count)];
  if (value->kind != ETX_PTE_INT) return false;
  value->as.integer = damage(value->as.integer, random);
  return true;
}

static bool damage_lifetime(program_copy* copy, size_t method,
                            hostile_random* random) {
  const size_t count = copy->blob_methods[method].output_count;
  if (count == 0) return false;
  program_copy_outputs(copy, method)[hostile_below(random, count)].lifetime =
      (etx_blob_lifetime)hostile_below(random, 3);
  return true;
}

static const row_damage damages[] = {
    damage_symbol, damage_input_dim, damage_view,    damage_place,
    damage_place,  damage_tensor,    damage_integer, damage_lifetime};

static etx_bytes_mut with_damaged_rows(const varying_sample* from,
                                       hostile_random* random) {
  program_copy* const copy = program_copy_of(sample_view(from->bytes));
  const size_t wanted = 1 + hostile_below(random, 3);
  for (size_t made = 0, tries = 0; made < wanted && tries < 200; ++tries) {
    const size_t method = hostile_below(random, copy->blob.method_count);
    made +=
        damages[hostile_below(random, COUNT(damages))](copy, method, random);
  }
  const etx_bytes_mut file = program_copy_write(copy);
  program_copy_end(copy);
  return file;
}

// Damages bytes of the blob, and no others.
static etx_bytes_mut with_damaged_bytes(const varying_sample* from,
                                        hostile_random* random) {
  etx_pte pte;
  etx_blob blob;
  const etx_bytes_mut file = sample_copy(sample_view(from->bytes));
  assert_int_equal(etx_pte_open(&pte, sample_view(file), NULL, NULL), ETX_OK);
  assert_int_equal(etx_blob_open(&blob, &pte, NULL), ETX_OK);
  const size_t start = (size_t)(blob.fb.data - file.data);
  (void)hostile_mutate(file.data + start, blob.fb.size, random);
  return file;
}

// ---- use ----

static void expect_message(etx_status status, const etx_diag* diag) {
  if (status != ETX_OK && !test_has_message(diag)) {
    fail_msg("file %zu of %s is refused with %s and without a message", number,
             origin, etx_status_name(status));
  }
}

// Calls a method in the memory of all sizes and in exactly its memory.
static void call(sized_instance kept[2], size_t method,
                 const sized_inputs* inputs, bool is_proved,
                 stage_counts* counts) {
  sized_instance fresh;
  etx_diag fresh_diag;
  etx_diag_init(&fresh_diag);
  etx_status found =
      sized_instance_open_at(&fresh, &kept[0], method, inputs, &fresh_diag);
  expect_message(found, &fresh_diag);
  if (found == ETX_OK) {
    found = sized_instance_call(&fresh, method, inputs, &fresh_diag);
    expect_message(found, &fresh_diag);
  }
  for (size_t i = 0; i < 2; ++i) {
    etx_diag diag;
    etx_diag_init(&diag);
    const etx_status status =
        sized_instance_call(&kept[i], method, inputs, &diag);
    expect_message(status, &diag);
    *(status == ETX_OK ? &counts->ran : &counts->stopped) += 1;
    if (!is_proved) continue;
    ++counts->compared;
    if (status != found) {
      fail_msg(
          "file %zu of %s is proved, but a fresh instance ends with %s "
          "'%s', and a kept one with %s '%s'",
          number, origin, etx_status_name(found), fresh_diag.text,
          etx_status_name(status), diag.text);
    }
    if (status != ETX_OK) continue;
    const char* const what =
        sized_instance_difference(&kept[i], &fresh, method, inputs);
    if (what != NULL) {
      fail_msg("file %zu of %s is proved, but %s differs", number, origin,
               what);
    }
  }
  sized_instance_close(&fresh);
}

static void reset(sized_instance* instance) {
  assert_int_equal(
      etx_shared_memory_reset(&instance->session, etx_text_of(""), NULL),
      ETX_OK);
}

static void use_methods(sized_instance kept[2], bool is_proved,
                        hostile_random* random, stage_counts* counts) {
  for (size_t n = 0; n < CALLS; ++n) {
    sized_inputs inputs;
    const size_t method = hostile_below(random, kept[0].method_count);
    if (!kept[0].methods[method].is_loaded) continue;
    if (!sized_inputs_draw(&inputs, kept[0].program,
                           kept[0].methods[method].name, MOST_BYTES, INT64_MAX,
                           random)) {
      continue;
    }
    call(kept, method, &inputs, is_proved, counts);
    sized_inputs_end(&inputs);
    reset(&kept[0]);
    reset(&kept[1]);
  }
}

static void use(etx_bytes file, hostile_random* random, stage_counts* counts) {
  etx_limits limits;
  etx_program programs[2];
  sized_instance kept[2];
  etx_diag diag;
  memset(&limits, 0, sizeof limits);
  limits.file.max_arena_bytes = MOST_BYTES;
  limits.max_steps = MOST_STEPS;
  etx_diag_init(&diag);
  etx_status status =
      etx_program_open(&programs[0], file, &etx_all_kernels, &limits, &diag);
  expect_message(status, &diag);
  const etx_status proof = etx_verify_program(file, NULL, &diag);
  if (status != ETX_OK) {
    assert_int_not_equal(proof, ETX_OK);
    return;
  }
  ++counts->opened;
  counts->proved += proof == ETX_OK;
  programs[1] = programs[0];
  programs[1].limits.keeps_plan = true;
  programs[1].limits.calls_shape_functions = true;
  for (size_t i = 0; i < 2; ++i) {
    etx_diag_init(&diag);
    const etx_status opened =
        sized_instance_open(&kept[i], &programs[i], MOST_BYTES, &diag);
    if (opened != ETX_OUT_OF_RANGE) expect_message(opened, &diag);
    if (opened != ETX_OK) status = opened;
  }
  if (status == ETX_OK) (void)sized_instance_keep_size_values(&kept[0]);
  if (status == ETX_OK) {
    ++counts->loaded;
    use_methods(kept, proof == ETX_OK, random, counts);
  }
  for (size_t i = 0; i < 2; ++i) sized_instance_close(&kept[i]);
}

static void damaged_rows_are_refused_or_harmless(void** state) {
  stage_counts counts = {0};
  (void)state;
  open_samples();
  assert_true(sample_count > 0);
  printf("seed %" PRIu64 ", %zu samples\n", seed, sample_count);
  for (size_t i = 0; i < damage_count; ++i) {
    hostile_random random = hostile_random_of(seed, i);
    const varying_sample* const from =
        &samples[hostile_below(&random, sample_count)];
    const etx_bytes_mut file = hostile_chance(&random, 75)
                                   ? with_damaged_rows(from, &random)
                                   : with_damaged_bytes(from, &random);
    number = i;
    origin = from->path;
    use(sample_view(file), &random, &counts);
    sample_release(file);
  }
  printf(
      "%zu files: %zu opened, %zu proved, %zu loaded; %zu runs, %zu stopped, "
      "%zu compared\n",
      damage_count, counts.opened, counts.proved, counts.loaded, counts.ran,
      counts.stopped, counts.compared);
  close_samples();
  // If no damaged file reached a stage, the test would prove nothing about it.
  if (damage_count >= 1000) {
    assert_true(counts.opened < damage_count * 9 / 10);
    assert_true(counts.loaded > damage_count / 20);
    assert_true(counts.ran > damage_count / 20);
    assert_true(counts.proved < counts.opened);
    assert_true(counts.compared > damage_count / 20);
  }
}

int main(int count, char** arguments) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(damaged_rows_are_refused_or_harmless),
  };
  if (count > 1) damage_count = (size_t)strtoull(arguments[1], NULL, 10);
  if (count > 2) seed = strtoull(arguments[2], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
