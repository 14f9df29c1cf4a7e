// One instance through random sizes, against a fresh instance for each call.
//
// Recorded models are planned with different switches. Each plan is loaded
// twice: with blocks that move together at smaller sizes, and with blocks that
// stay where the file has them. In each call, a method gets random inputs of
// random sizes, over memory that was poisoned before. The kept instance must
// have the same bits of results and of state as an instance that was loaded for
// this call alone, in exactly the memory that it needs; and all plans must have
// the same bits of results.
//
//   random_symbols_test [CALLS SEED METHODS...]
//
// With directories of methods, each gets that many calls, and a tenth of them
// with each optional pass switched off by itself.

#include "tests/support/assert_status.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/program/pte_file.h"
#include "tests/cli/command.h"
#include "tests/cli/passes_off.h"
#include "tests/support/sized_instance.h"

#define ETX ETX_BINARY "/etx"

enum { MOST_BYTES = 1 << 30, SHORT_CALLS = 9 };

static etx_diag diag;
static size_t call_count = SHORT_CALLS;
static uint64_t seed = 34;
static size_t refused, compared;  // calls
static const char* model;         // directory of the present methods

static const char* const sets[] = {
    "whisper", "gru",      "branches",    "loops",   "late",
    "parts",   "in_place", "small_sizes", "varying", "caches"};

// ---- plans ----

// A planned file, opened once with blocks that move and once with blocks that
// stay, and a kept instance of each.
typedef struct planned_model {
  const char* option;  // of etx plan
  bool is_exact;       // results have the bits of the plan without options
  etx_pte_file file;
  etx_program programs[2];
  sized_instance kept[2];
} planned_model;

static void make_plan(planned_model* out, const char* methods,
                      const char* option, bool is_exact) {
  char path[512];
  snprintf(path, sizeof path, "%s/plan%s.pte", command_directory,
           strlen(option) > 60 ? "_all_off" : option);
  command_expect(0, WORDS(ETX, "plan", methods, "-q", "-o", path, option));
  out->option = option;
  out->is_exact = is_exact;
  assert_ok(etx_pte_file_open(&out->file, path, &diag));
  for (size_t i = 0; i < 2; ++i) {
    etx_limits limits;
    memset(&limits, 0, sizeof limits);
    limits.keeps_plan = i == 1;
    limits.calls_shape_functions = i == 1;
    assert_ok(etx_program_open(&out->programs[i], out->file.program,
                               &etx_all_kernels, &limits, &diag));
    assert_ok(sized_instance_open(&out->kept[i], &out->programs[i], MOST_BYTES,
                                  &diag));
  }
}

static void end_plan(planned_model* plan) {
  for (size_t i = 0; i < 2; ++i) sized_instance_close(&plan->kept[i]);
  etx_pte_file_close(&plan->file);
}

// ---- calls ----

static size_t find_method(const sized_instance* in, etx_text name) {
  for (size_t i = 0; i < in->method_count; ++i) {
    if (etx_text_equal(in->methods[i].name, name)) return i;
  }
  fail_msg("a plan lacks a method");
  return 0;
}

// Calls the kept instance and a fresh one.
static etx_status call_both(sized_instance* kept, size_t method,
                            const sized_inputs* inputs, const char* where) {
  sized_instance fresh;
  etx_diag kept_diag;
  etx_diag_init(&diag);
  etx_diag_init(&kept_diag);
  etx_status found =
      sized_instance_open_at(&fresh, kept, method, inputs, &diag);
  if (found == ETX_OK) {
    found = sized_instance_call(&fresh, method, inputs, &diag);
  }
  const etx_status status =
      sized_instance_call(kept, method, inputs, &kept_diag);
  if (found != status) {
    fail_msg("%s: a fresh instance ends with %s '%s', a kept one with %s '%s'",
             where, etx_status_name(found), diag.text, etx_status_name(status),
             kept_diag.text);
  }
  if (status == ETX_OK) {
    const char* const what =
        sized_instance_difference(kept, &fresh, method, inputs);
    if (what != NULL) fail_msg("%s: %s differs", where, what);
    if (!sized_instance_same_state(kept, &fresh)) {
      fail_msg("%s: the state differs", where);
    }
  }
  sized_instance_close(&fresh);
  return status;
}

static void describe(char* out, size_t size, const planned_model* plan,
                     bool keeps_plan, etx_text method,
                     const sized_inputs* inputs) {
  int at = snprintf(out, size, "%s, plan %.40s%s, method %.*s", model,
                    plan->option, keeps_plan ? " kept in place" : "",
                    (int)method.size, method.data);
  for (size_t i = 0; i < inputs->symbol_count; ++i) {
    at += snprintf(out + at, size - (size_t)at, ", %.*s=%lld",
                   (int)inputs->symbols[i].name.size,
                   inputs->symbols[i].name.data,
                   (long long)inputs->symbols[i].size);
  }
}

static void start_again(planned_model* plans, size_t count) {
  for (size_t p = 0; p < count; ++p) {
    for (size_t i = 0; i < 2; ++i) {
      assert_ok(etx_shared_memory_reset(&plans[p].kept[i].session,
                                        etx_text_of(""), &diag));
    }
  }
}

// One call of every plan. False: the model refused the inputs.
static bool call_plans(planned_model* plans, size_t count, etx_text name,
                       const sized_inputs* inputs) {
  const size_t first = find_method(&plans[0].kept[0], name);
  etx_status wanted = ETX_OK;
  for (size_t p = 0; p < count; ++p) {
    for (size_t i = 0; i < 2; ++i) {
      char where[512];
      sized_instance* const kept = &plans[p].kept[i];
      const size_t method = find_method(kept, name);
      describe(where, sizeof where, &plans[p], i == 1, name, inputs);
      const etx_status found = call_both(kept, method, inputs, where);
      if (p == 0 && i == 0) wanted = found;
      if (found != wanted) {
        fail_msg("%s: ends with %s '%s', expected %s", where,
                 etx_status_name(found), diag.text, etx_status_name(wanted));
      }
      if (found != ETX_OK || !plans[p].is_exact) continue;
      // Methods are at the same position in all plans of a model.
      assert_int_equal(method, first);
      const char* const what =
          sized_instance_difference(&plans[0].kept[0], kept, method, inputs);
      if (what != NULL) fail_msg("%s: %s differs from plan 0", where, what);
    }
  }
  return wanted == ETX_OK;
}

static void call_at_random(planned_model* plans, size_t count, size_t calls) {
  const sized_instance* const in = &plans[0].kept[0];
  for (size_t n = 0; n < calls; ++n) {
    sized_inputs inputs;
    hostile_random random = hostile_random_of(seed, n);
    const size_t method = hostile_below(&random, in->method_count);
    const etx_text name = in->methods[method].name;
    if (!in->methods[method].is_loaded) continue;
    if (!sized_inputs_draw(&inputs, in->program, name, MOST_BYTES, &random)) {
      continue;
    }
    if (call_plans(plans, count, name, &inputs)) {
      ++compared;
    } else {
      ++refused;
      start_again(plans, count);
    }
    sized_inputs_end(&inputs);
  }
}

// ---- models ----

static void check(const char* methods, const char* option, bool is_exact,
                  size_t calls) {
  planned_model plans[2];
  make_plan(&plans[0], methods, "--passes=", true);
  make_plan(&plans[1], methods, option, is_exact);
  model = methods;
  call_at_random(plans, 2, calls);
  end_plan(&plans[0]);
  end_plan(&plans[1]);
}

static void recorded_models_forget_earlier_sizes(void** state) {
  (void)state;
  char option[4096];
  snprintf(option, sizeof option, "--passes=%s", passes_off + 1);
  for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
    char methods[512];
    snprintf(methods, sizeof methods, ETX_TEST_DATA "/pt2/%s", sets[i]);
    check(methods, option, false, call_count);
  }
  printf("%zu calls compared, %zu refused by the model\n", compared, refused);
  assert_true(compared > 4 * refused);
}

// ---- single passes ----

// Passes without which results may have other bits (docs/cli.md).
static const char* const inexact[] = {
    "fuse_attention",         "recompose_norms",  "recompose_softmax",
    "fuse_dequantize",        "fold_batch_norms", "fold_constants",
    "fold_matmul_transposes", "fuse_elementwise", "fuse_qdq"};

static bool is_inexact(const char* pass) {
  for (size_t i = 0; i < sizeof inexact / sizeof *inexact; ++i) {
    if (strcmp(inexact[i], pass) == 0) return true;
  }
  return false;
}

static void check_without(const char* methods, const char* pass) {
  char option[128];
  snprintf(option, sizeof option, "--passes=-%s", pass);
  check(methods, option, !is_inexact(pass), call_count / 10);
}

#define PASS(name, function, kind, ir, sentence) PASS_##kind(#name)
#define PASS_OPTIONAL(name) name,
#define PASS_REQUIRED(name)
static const char* const optional_passes[] = {
#include "exporter/passes/pass_list.def"
};
#undef PASS
#undef PASS_OPTIONAL
#undef PASS_REQUIRED

static const char* const* given;  // directories of methods
static size_t given_count;

static void given_models_forget_earlier_sizes(void** state) {
  (void)state;
  char option[4096];
  snprintf(option, sizeof option, "--passes=%s", passes_off + 1);
  for (size_t i = 0; i < given_count; ++i) {
    compared = refused = 0;
    check(given[i], option, false, call_count);
    printf("%s: %zu calls compared, %zu refused\n", given[i], compared,
           refused);
    const size_t passes = sizeof optional_passes / sizeof *optional_passes;
    for (size_t k = 0; k < passes && call_count >= 10; ++k) {
      check_without(given[i], optional_passes[k]);
    }
    printf("%s: %zu calls compared with single passes switched off\n", given[i],
           compared);
    fflush(stdout);
  }
}

int main(int count, char** words) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(recorded_models_forget_earlier_sizes),
  };
  const struct CMUnitTest long_tests[] = {
      cmocka_unit_test(given_models_forget_earlier_sizes),
  };
  if (count > 1) call_count = (size_t)strtoull(words[1], NULL, 10);
  if (count > 2) seed = strtoull(words[2], NULL, 10);
  if (count <= 3) {
    return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
  }
  given = (const char* const*)words + 3;
  given_count = (size_t)count - 3;
  return cmocka_run_group_tests(long_tests, command_set_up, command_tear_down);
}
