// Moves blocks in the layouts of planned models. An oracle decides whether the
// result is wrong: the runtime computes with it at random sizes over poisoned
// memory, and results must be those of the file before the change, with every
// block where the plan has it. The runtime may also refuse to load it, because
// a call would overwrite its own arguments. The proof must refuse each wrong
// file.

#include "tests/support/assert_status.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/program/pte_file.h"
#include "cli/verify/verify_program.h"
#include "tests/cli/command.h"
#include "tests/cli/verify/program_copy.h"
#include "tests/format/fixtures/sample_program.h"
#include "tests/support/sized_instance.h"

enum {
  MOST_BYTES = 1 << 26,
  CHANGES = 500,  // of each model
  CALLS = 6,      // of each changed file
  SCRATCH = 1     // the arena
};

static const char* const sets[] = {"whisper", "parts", "late",
                                   "gru",     "cnn",   "small_sizes",
                                   "varying", "halves"};

static etx_diag diag;
static size_t wrong, accepted, refused_only;
static size_t overlapping;  // of the wrong ones: the runtime does not load them

// ---- changes ----

// By value of a plan: the first value of its block. Views belong to the block
// of their base.
typedef struct block_map {
  uint32_t* first;
  size_t count;
} block_map;

static void find_blocks(block_map* map, const program_copy* copy,
                        size_t method) {
  const etx_blob_method* const m = &copy->blob_methods[method];
  bool has_changed = true;
  map->count = copy->plans[program_copy_plan_of(copy, method)].value_count;
  map->first = calloc(map->count + 1, sizeof *map->first);
  assert_non_null(map->first);
  for (uint32_t i = 0; i < map->count; ++i) map->first[i] = i;
  while (has_changed) {
    has_changed = false;
    for (size_t i = 0; i < m->view_count; ++i) {
      uint32_t* const a = &map->first[m->views[i].value];
      uint32_t* const b = &map->first[m->views[i].base];
      has_changed |= *a != *b;
      if (*a < *b) {
        *b = *a;
      } else {
        *a = *b;
      }
    }
  }
}

// Moves all values of a block in a layout, to where another value of the layout
// lies or by some steps. False if it stays where it is.
static bool move_block(program_copy* copy, size_t method,
                       hostile_random* random) {
  block_map map;
  program_copy_add_layout(copy, method);
  etx_blob_place* const places = program_copy_places(copy, method);
  const size_t count = copy->blob_methods[method].place_count;
  if (count == 0) return false;
  const etx_blob_place* const chosen = &places[hostile_below(random, count)];
  const etx_blob_place* const other = &places[hostile_below(random, count)];
  const uint32_t layout = chosen->layout;
  uint64_t move = other->offset - chosen->offset;
  if (hostile_chance(random, 15)) move = 16 * (hostile_below(random, 17) - 8);
  find_blocks(&map, copy, method);
  const uint32_t block = map.first[chosen->value];
  for (size_t i = 0; i < count; ++i) {
    if (places[i].layout == layout && map.first[places[i].value] == block) {
      places[i].offset += move;
    }
  }
  free(map.first);
  return move != 0;
}

// ---- the oracle ----

static void reset(sized_instance* instance) {
  assert_ok(etx_shared_memory_reset(&instance->session, etx_text_of(""), NULL));
}

// One call of both. True if the results differ, or one of them fails.
static bool differs(sized_instance* changed, sized_instance* whole,
                    size_t method, hostile_random* random) {
  sized_inputs inputs;
  bool found = false;
  if (!sized_inputs_draw(&inputs, whole->program, whole->methods[method].name,
                         MOST_BYTES, INT64_MAX, random)) {
    return false;
  }
  reset(changed);
  reset(whole);
  if (sized_instance_call(whole, method, &inputs, NULL) == ETX_OK) {
    found =
        sized_instance_call(changed, method, &inputs, NULL) != ETX_OK ||
        sized_instance_difference(changed, whole, method, &inputs) != NULL ||
        !sized_instance_same_state(changed, whole);
  }
  sized_inputs_end(&inputs);
  return found;
}

// True if some call shows that the changed file is wrong, or if the runtime
// refuses to load it because a call would overwrite its own arguments. A file
// that does not load for another reason is not: it can do no harm.
static bool is_wrong(etx_bytes file, sized_instance* whole, etx_text name,
                     hostile_random* random) {
  etx_program program;
  sized_instance changed;
  bool found = false;
  if (etx_program_open(&program, file, &etx_all_kernels, NULL, NULL) !=
      ETX_OK) {
    return false;
  }
  etx_diag why;
  etx_diag_init(&why);
  if (sized_instance_open(&changed, &program, MOST_BYTES, &why) != ETX_OK) {
    found = strstr(why.text, "overlaps an output") != NULL;
    overlapping += found;
  } else {
    size_t method = 0;
    while (!etx_text_equal(changed.methods[method].name, name)) ++method;
    for (size_t i = 0; i < CALLS && !found; ++i) {
      found = differs(&changed, whole, method, random);
    }
  }
  sized_instance_close(&changed);
  return found;
}

// ---- models ----

static void check_change(const program_copy* copy, etx_text method,
                         sized_instance* whole, const char* set,
                         hostile_random* random) {
  const etx_bytes_mut bytes = program_copy_write(copy);
  const etx_bytes file = sample_view(bytes);
  etx_diag_init(&diag);
  const etx_status proof = etx_verify_program(file, NULL, &diag);
  const bool is_harmful = is_wrong(file, whole, method, random);
  if (is_harmful && proof != ETX_BAD_PLAN) {
    fail_msg(
        "%s, method %.*s: the file is wrong, but the proof ends with %s %s",
        set, (int)method.size, method.data, etx_status_name(proof), diag.text);
  }
  wrong += is_harmful;
  accepted += proof == ETX_OK;
  refused_only += !is_harmful && proof != ETX_OK;
  sample_release(bytes);
}

static void check_set(const char* set) {
  char methods[512], path[512];
  etx_pte_file file;
  etx_program program;
  sized_instance whole;
  etx_limits limits;
  memset(&limits, 0, sizeof limits);
  limits.keeps_plan = true;
  snprintf(methods, sizeof methods, ETX_TEST_DATA "/pt2/%s", set);
  snprintf(path, sizeof path, "%s/%s.pte", command_directory, set);
  command_expect(0,
                 WORDS(ETX_BINARY "/etx", "plan", methods, "-q", "-o", path));
  assert_ok(etx_pte_file_open(&file, path, &diag));
  assert_ok(etx_program_open(&program, file.program, &etx_all_kernels, &limits,
                             &diag));
  assert_ok(sized_instance_open(&whole, &program, MOST_BYTES, &diag));
  for (size_t i = 0; i < CHANGES; ++i) {
    hostile_random random = hostile_random_of(34, i);
    program_copy* const copy = program_copy_of(file.program);
    const size_t method = hostile_below(&random, copy->blob.method_count);
    if (copy->blob_methods[method].symbol_count > 0 &&
        move_block(copy, method, &random)) {
      check_change(copy, copy->blob_methods[method].name, &whole, set, &random);
    }
    program_copy_end(copy);
  }
  sized_instance_close(&whole);
  etx_pte_file_close(&file);
}

static void wrong_layouts_are_refused(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) check_set(sets[i]);
  printf(
      "%zu wrong files refused, %zu of which do not load; %zu files accepted, "
      "%zu refused without a wrong result\n",
      wrong, overlapping, accepted, refused_only);
  assert_true(wrong >= 500 && wrong - overlapping >= 100);
  assert_true(accepted >= 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_layouts_are_refused),
  };
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
