// Corrupts one random field, in plans of etx and in programs with jumps. An
// oracle decides whether the result is wrong: it runs the program on shadow
// memory (shadow_execution.h). The proof must refuse exactly the wrong ones,
// with ETX_BAD_PLAN.
//
// A changed size is an exception: it may be refused although no bytes overlap,
// because it disagrees with the operator's shape rule.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/verify/verify_program.h"
#include "tests/cli/verify/shadow_execution.h"
#include "tests/cli/command.h"
#include "tests/cli/verify/program_copy.h"
#include "tests/format/fixtures/sample_program.h"
#include "tests/support/test_program.h"

// ---- numbers ----

static uint64_t seed = 7;

static uint64_t pick(uint64_t limit) {
  uint64_t z = (seed += UINT64_C(0x9E3779B97F4A7C15));
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return (z ^ (z >> 31)) % limit;
}

// ---- corruptions ----

typedef bool (*corruption)(program_copy* copy);

// A random planned tensor, or NULL.
static etx_pte_tensor* pick_planned(program_copy* copy, size_t* out_plan) {
  for (size_t tries = 0; tries < 200; ++tries) {
    const size_t plan = pick(copy->plan_count);
    if (copy->plans[plan].value_count == 0) continue;
    etx_pte_value* const value =
        &program_copy_values(copy, plan)[pick(copy->plans[plan].value_count)];
    if (value->kind != ETX_PTE_TENSOR || !value->as.tensor.has_allocation) {
      continue;
    }
    *out_plan = plan;
    return &value->as.tensor;
  }
  return NULL;
}

static bool change_offset(program_copy* copy) {
  size_t plan = 0;
  etx_pte_tensor* const tensor = pick_planned(copy, &plan);
  if (tensor == NULL) return false;
  const uint64_t before = tensor->memory_offset;
  const uint64_t arena =
      (uint64_t)copy->plans[plan].buffer_sizes[tensor->memory_id];
  switch (pick(5)) {
    case 0:
      tensor->memory_offset += 16 * (1 + pick(8));
      break;
    case 1:
      tensor->memory_offset -= 16 * pick(1 + before / 16);
      break;
    case 2:
      tensor->memory_offset = 16 * pick(arena / 16 + 2);
      break;
    case 3:
      tensor->memory_offset += 1 + pick(15);
      break;
    default: {
      const etx_pte_tensor* const other = pick_planned(copy, &plan);
      tensor->memory_offset = other->memory_offset;
      break;
    }
  }
  return tensor->memory_offset != before;
}

static bool change_size(program_copy* copy) {
  size_t plan = 0;
  etx_pte_tensor* const tensor = pick_planned(copy, &plan);
  if (tensor == NULL || tensor->rank == 0) return false;
  int32_t* const size =
      &((int32_t*)(uintptr_t)tensor->sizes)[pick(tensor->rank)];
  const int32_t before = *size;
  switch (pick(4)) {
    case 0:
      *size += 1 + (int32_t)pick(8);
      break;
    case 1:
      *size -= 1;
      break;
    case 2:
      *size *= 2;
      break;
    default:
      *size = (int32_t)pick(64);
      break;
  }
  return *size != before;
}

static bool change_arena(program_copy* copy) {
  size_t plan = 0;
  etx_pte_tensor* const tensor = pick_planned(copy, &plan);
  if (tensor == NULL) return false;
  const uint32_t before = tensor->memory_id;
  tensor->memory_id = (uint32_t)pick(4);
  return tensor->memory_id != before;
}

static bool change_arena_bytes(program_copy* copy) {
  const size_t plan = pick(copy->plan_count);
  const size_t count = copy->plans[plan].buffer_size_count;
  if (count < 2) return false;
  int64_t* const bytes = &program_copy_arenas(copy, plan)[1 + pick(count - 1)];
  const int64_t before = *bytes;
  switch (pick(4)) {
    case 0:
      *bytes -= 1 + (int64_t)pick(64);
      break;
    case 1:
      *bytes += 16;
      break;
    case 2:
      *bytes /= 2;
      break;
    default:
      *bytes = -*bytes;
      break;
  }
  return *bytes != before;
}

static etx_blob_view* pick_view(program_copy* copy, size_t* out_method) {
  if (!copy->has_blob || copy->blob.method_count == 0) return NULL;
  for (size_t tries = 0; tries < 50; ++tries) {
    const size_t method = pick(copy->blob.method_count);
    const size_t count = copy->blob_methods[method].view_count;
    if (count == 0) continue;
    *out_method = method;
    return &program_copy_views(copy, method)[pick(count)];
  }
  return NULL;
}

static bool change_view_offset(program_copy* copy) {
  size_t method = 0;
  etx_blob_view* const view = pick_view(copy, &method);
  if (view == NULL) return false;
  const uint64_t before = view->offset;
  view->offset = pick(2) == 0 ? before + 4 * (1 + pick(16)) : 4 * pick(64);
  return view->offset != before;
}

// The number of values of method `method` of the blob.
static size_t values_of(const program_copy* copy, size_t method) {
  return copy->plans[program_copy_plan_of(copy, method)].value_count;
}

static bool change_view_base(program_copy* copy) {
  size_t method = 0;
  etx_blob_view* const view = pick_view(copy, &method);
  if (view == NULL) return false;
  const uint32_t before = view->base;
  view->base = (uint32_t)pick(values_of(copy, method));
  return view->base != before;
}

static bool change_state_offset(program_copy* copy) {
  if (!copy->has_blob || copy->blob.state_count == 0) return false;
  etx_blob_state* const state = &copy->states[pick(copy->blob.state_count)];
  const uint64_t before = state->offset;
  state->offset = pick(2) == 0 ? before + 16 : 16 * pick(64);
  return state->offset != before;
}

static bool change_state_bytes(program_copy* copy) {
  if (!copy->has_blob || copy->blob.state_count == 0) return false;
  const uint64_t before = copy->blob.state_bytes;
  copy->blob.state_bytes = pick(2) == 0 ? before + 16 : before / 2;
  return copy->blob.state_bytes != before;
}

static bool change_lifetime(program_copy* copy) {
  if (!copy->has_blob || copy->blob.method_count == 0) return false;
  const size_t method = pick(copy->blob.method_count);
  const size_t count = copy->blob_methods[method].output_count;
  if (count == 0) return false;
  etx_blob_output* const output =
      &program_copy_outputs(copy, method)[pick(count)];
  const etx_blob_lifetime before = output->lifetime;
  output->lifetime = (etx_blob_lifetime)pick(3);
  return output->lifetime != before;
}

static bool change_jump(program_copy* copy) {
  for (size_t tries = 0; tries < 50; ++tries) {
    const size_t plan = pick(copy->plan_count);
    const etx_pte_chain* const chain = &copy->plans[plan].chains[0];
    if (chain->instruction_count == 0) continue;
    etx_pte_instruction* const at = &program_copy_instructions(
        copy, plan, 0)[pick(chain->instruction_count)];
    if (at->kind != ETX_PTE_JUMP_FALSE_CALL) continue;
    const int32_t before = at->target;
    at->target = (int32_t)pick(chain->instruction_count + 1);
    return at->target != before;
  }
  return false;
}

typedef struct corruption_kind {
  const char* name;
  corruption change;
  size_t weight;   // how often it is chosen, relative to the others
  bool one_way;    // may be refused although no bytes overlap
  size_t tried;    // corruptions made
  size_t wrong;    // that must be refused
  size_t refused;  // that were refused
} corruption_kind;

static corruption_kind kinds[] = {
    {"offset", change_offset, 10, false, 0, 0, 0},
    {"size", change_size, 6, true, 0, 0, 0},
    {"arena", change_arena, 4, false, 0, 0, 0},
    {"arena bytes", change_arena_bytes, 4, false, 0, 0, 0},
    {"view offset", change_view_offset, 4, false, 0, 0, 0},
    {"view base", change_view_base, 4, false, 0, 0, 0},
    {"state offset", change_state_offset, 2, false, 0, 0, 0},
    {"state bytes", change_state_bytes, 1, false, 0, 0, 0},
    {"lifetime", change_lifetime, 3, false, 0, 0, 0},
    {"jump", change_jump, 10, false, 0, 0, 0},
};

enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

static corruption_kind* pick_kind(void) {
  size_t total = 0;
  for (size_t i = 0; i < KIND_COUNT; ++i) total += kinds[i].weight;
  size_t at = pick(total);
  size_t i = 0;
  while (at >= kinds[i].weight) at -= kinds[i++].weight;
  return &kinds[i];
}

// ---- comparison with the oracle ----

static void compare_with_oracle(corruption_kind* k, const program_copy* copy,
                                const char* file) {
  etx_verify_report report;
  etx_diag diag;
  const etx_bytes_mut bytes = program_copy_write(copy);
  const etx_bytes written = {bytes.data, bytes.size};
  const byte_verdict verdict = shadow_execution_run(written);
  etx_diag_init(&diag);
  const etx_status status = etx_verify_program(written, &report, &diag);
  k->tried += 1;
  k->wrong += verdict.is_wrong;
  k->refused += status != ETX_OK;
  // An endless loop harms no byte, because the limit of steps ends it.
  const bool is_endless = strstr(diag.text, "nothing leaves that loop") != NULL;
  if (verdict.is_wrong && status != ETX_BAD_PLAN && !is_endless) {
    fail_msg("%s, %s: must be refused (%s), but: %s %s", file, k->name,
             verdict.why, etx_status_name(status), diag.text);
  }
  // A copy onto itself harms no byte, but etx never writes one.
  const bool is_self_copy = strstr(diag.text, "is copied onto itself") != NULL;
  if (!verdict.is_wrong && !k->one_way && !is_self_copy && !is_endless &&
      status != ETX_OK) {
    fail_msg("%s, %s: is harmless, but refused: %s", file, k->name, diag.text);
  }
  if (status != ETX_OK && !is_endless) {
    assert_int_equal(status, ETX_BAD_PLAN);
    assert_int_equal(report.level, ETX_VERIFY_LEVEL_ALLOCATION);
    assert_true(diag.text_size > 0);
  }
  sample_release(bytes);
}

// Tests `count` corruptions of a file.
static void corrupt(etx_bytes file, const char* name, size_t count) {
  for (size_t made = 0; made < count;) {
    program_copy* const copy = program_copy_of(file);
    corruption_kind* const k = pick_kind();
    if (k->change(copy)) {
      compare_with_oracle(k, copy, name);
      ++made;
    }
    program_copy_end(copy);
  }
}

static void accept(etx_bytes file, const char* name) {
  etx_diag diag;
  etx_diag_init(&diag);
  if (etx_verify_program(file, NULL, &diag) != ETX_OK) {
    fail_msg("%s: %s", name, diag.text);
  }
  const byte_verdict verdict = shadow_execution_run(file);
  if (verdict.is_wrong) fail_msg("%s: %s", name, verdict.why);
}

// Accepts the file, and a copy of it that was written again.
static void accept_both(etx_bytes file, const char* name) {
  program_copy* const copy = program_copy_of(file);
  const etx_bytes_mut again = program_copy_write(copy);
  const etx_bytes written = {again.data, again.size};
  accept(file, name);
  accept(written, name);
  sample_release(again);
  program_copy_end(copy);
}

// ---- plans that etx makes ----

typedef struct planned {
  const char* set;  // of tests/data/pt2
  const char* target;
  size_t corruptions;
} planned;

static const planned plans[] = {
    {"counter", "etx", 30}, {"counter", "executorch", 20},
    {"tiny", "etx", 30},    {"tiny", "executorch", 20},
    {"kv", "etx", 100},     {"kv", "executorch", 60},
    {"swap", "etx", 60},    {"swap", "executorch", 40},
    {"prefix", "etx", 60},  {"prefix", "executorch", 100},
    {"weights", "etx", 30}, {"weights", "executorch", 30},
    {"gru", "etx", 100},    {"gru", "executorch", 60},
    {"whisper", "etx", 60}, {"whisper", "executorch", 40},
    {"llama", "etx", 20},   {"llama", "executorch", 12},
    {"parts", "etx", 100},  {"parts", "executorch", 40},
    {"loops", "etx", 300},  {"loops", "executorch", 200},
};

static etx_bytes_mut plan_set(const planned* p) {
  char from[512], to[512];
  size_t size = 0;
  snprintf(from, sizeof from, "%s/pt2/%s", ETX_TEST_DATA, p->set);
  snprintf(to, sizeof to, "%s/%s.%s.pte", command_directory, p->set, p->target);
  command_expect(0, WORDS(ETX_BINARY "/etx", "plan", from, "-q", "-t",
                          p->target, "-o", to));
  char* const read = command_read_file(to, &size);
  const etx_bytes_mut file = {aligned_alloc(16, (size + 31) / 16 * 16), size};
  assert_non_null(file.data);
  memcpy(file.data, read, size);
  free(read);
  return file;
}

static void plans_are_proved_and_wrong_corruptions_refused(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof plans / sizeof plans[0]; ++i) {
    const etx_bytes_mut file = plan_set(&plans[i]);
    const etx_bytes bytes = {file.data, file.size};
    accept_both(bytes, plans[i].set);
    corrupt(bytes, plans[i].set, plans[i].corruptions);
    free(file.data);
  }
}

// ---- programs with jumps ----

static int four_at(test_program* p, uint64_t offset) {
  return test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), offset);
}

static void relu(test_program* p, int from, int to) {
  test_call(p, "aten::relu", "out", ARGS(from, to, to));
}

static void add(test_program* p, int a, int b, int to) {
  test_call(p, "aten::add", "out", ARGS(a, b, test_int(p, 1), to, to));
}

static test_program* start(void) {
  test_program* const p = test_program_new();
  test_method(p, "m");
  test_arenas(p, 128, 0);
  test_blob(p);
  return p;
}

static int input_of(test_program* p, const char* name) {
  return test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4)), name);
}

static int condition_of(test_program* p) {
  return test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SCALAR_SIZES), "c");
}

// y = c ? relu(t) : t + t, by moves; the branches share bytes.
static test_program* branch(void) {
  test_program* const p = start();
  const int x = input_of(p, "x"), c = condition_of(p);
  const int never = test_bool(p, false);
  const int t = four_at(p, 0), a = four_at(p, 16), b = four_at(p, 16);
  const int y = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4));
  const int z = four_at(p, 48);
  relu(p, x, t);
  test_jump_false(p, c, 5);
  relu(p, t, a);
  test_move(p, a, y);
  test_jump_false(p, never, 7);
  add(p, t, t, b);
  test_move(p, b, y);
  add(p, y, t, z);
  test_output(p, z, "z");
  return p;
}

// Both branches write the same value, and a temporary of one lies in the
// bytes of a temporary of the other.
static test_program* same_value(void) {
  test_program* const p = start();
  const int x = input_of(p, "x"), c = condition_of(p);
  const int never = test_bool(p, false);
  const int u = four_at(p, 0), v = four_at(p, 0);
  const int y = four_at(p, 16), z = four_at(p, 32);
  test_jump_false(p, c, 4);
  relu(p, x, u);
  relu(p, u, y);
  test_jump_false(p, never, 6);
  add(p, x, x, v);
  add(p, v, x, y);
  relu(p, y, z);
  test_output(p, z, "z");
  return p;
}

// acc is carried around the loop, once lives through it, t only inside.
static test_program* loop(void) {
  test_program* const p = start();
  const int x = input_of(p, "x"), c = condition_of(p);
  const int once = four_at(p, 0), acc = four_at(p, 16);
  const int t = four_at(p, 32), y = four_at(p, 32);
  relu(p, x, once);
  relu(p, x, acc);
  add(p, once, acc, t);
  add(p, acc, t, acc);
  test_jump_false(p, c, 2);
  add(p, acc, once, y);
  test_output(p, y, "y");
  return p;
}

// A branch inside a loop.
static test_program* branch_in_loop(void) {
  test_program* const p = start();
  const int x = input_of(p, "x"), c = condition_of(p);
  const int never = test_bool(p, false);
  const int acc = four_at(p, 0), a = four_at(p, 16), b = four_at(p, 32);
  const int once = four_at(p, 48);
  relu(p, x, once);
  relu(p, x, acc);
  test_jump_false(p, c, 6);
  add(p, once, acc, a);
  relu(p, a, acc);
  test_jump_false(p, never, 8);
  add(p, acc, acc, b);
  add(p, b, once, acc);
  test_jump_false(p, c, 2);
  test_output(p, acc, "y");
  return p;
}

static void wrong_corruptions_of_programs_with_jumps_are_refused(void** state) {
  (void)state;
  test_program* (*const makers[])(void) = {branch, same_value, loop,
                                           branch_in_loop};
  static const char* const names[] = {"branch", "same value", "loop",
                                      "branch in loop"};
  for (size_t i = 0; i < sizeof makers / sizeof makers[0]; ++i) {
    test_program* const p = makers[i]();
    const etx_bytes file = test_file(p);
    accept_both(file, names[i]);
    corrupt(file, names[i], 100);
    test_program_end(p);
  }
}

// ---- the count ----

static void at_least_five_hundred_of_each_kind_were_tested(void** state) {
  size_t tried = 0, wrong = 0, refused = 0;
  (void)state;
  print_message("%-13s %6s %6s %8s %9s\n", "field", "tried", "wrong", "refused",
                "harmless");
  for (size_t i = 0; i < KIND_COUNT; ++i) {
    const corruption_kind* const k = &kinds[i];
    print_message("%-13s %6zu %6zu %8zu %9zu\n", k->name, k->tried, k->wrong,
                  k->refused, k->tried - k->wrong);
    tried += k->tried;
    wrong += k->wrong;
    refused += k->refused;
    assert_true(k->tried > 0);
  }
  print_message("%-13s %6zu %6zu %8zu %9zu\n", "all", tried, wrong, refused,
                tried - wrong);
  assert_true(tried >= 1000);
  assert_true(wrong >= 500);
  assert_true(tried - wrong >= 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plans_are_proved_and_wrong_corruptions_refused),
      cmocka_unit_test(wrong_corruptions_of_programs_with_jumps_are_refused),
      cmocka_unit_test(at_least_five_hundred_of_each_kind_were_tested),
  };
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
