// One instance through random sizes, against a fresh instance for each call.
//
// Recorded models are planned with different switches. Each plan is loaded
// twice: with blocks that move together at smaller sizes, and with blocks that
// stay where the file has them. In each call, a method gets random inputs of
// random sizes, over memory that was poisoned before. The kept instance must
// have the same bits of results and of state as an instance that was loaded for
// this call alone, in exactly the memory that it needs; and all plans must have
// the same bits of results. The kept instance keeps the values that depend on
// sizes alone; the other one computes them in its call.
//
//   random_symbols_test [CALLS SEED [--span N] [--other-bits] METHODS...]
//
// With directories of methods, each gets that many calls, and a tenth of them
// with each optional pass switched off by itself. Each plan is loaded twice
// more, with one switch each: with copies for the sizes of earlier calls, and
// without expressions for sizes. --span bounds sizes to N above the least ones.
// In whole models, a pass that is switched off keeps others from fusing
// operators, so results have other bits; --other-bits does not compare them
// between plans.

#include "tests/support/assert_status.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/program/pte_file.h"
#include "tests/cli/command.h"
#include "tests/cli/passes_off.h"
#include "tests/support/sized_instance.h"

#define ETX ETX_BINARY "/etx"

enum { MOST_BYTES = 1 << 30, SHORT_CALLS = 9 };

// How a plan is loaded. Instances of the first kinds are compared with fresh
// ones, those of the others with the first.
enum { MOVED, IN_PLACE, FRESH_KINDS, COPIED = FRESH_KINDS, SHAPED, KINDS };
static const char* const kind_texts[KINDS] = {
    "", ", kept in place", ", with copies", ", with shape functions"};
static size_t kinds = FRESH_KINDS;
static int64_t most_span = INT64_MAX;
static bool allows_other_bits;  // without any optional pass

static etx_diag diag;
static size_t call_count = SHORT_CALLS;
static uint64_t seed = 34;
static size_t refused, compared;  // calls
static const char* model;         // directory of the present methods

static const char* const sets[] = {
    "whisper",  "gru",         "branches", "loops",  "late",  "parts",
    "in_place", "small_sizes", "varying",  "caches", "guards"};

// ---- plans ----

// A planned file, opened in each way, and a kept instance of each.
typedef struct planned_model {
  const char* option;  // of etx plan
  bool is_exact;       // results have the bits of the plan without options
  etx_pte_file file;
  etx_program programs[KINDS];
  sized_instance kept[KINDS];
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
  for (size_t i = 0; i < kinds; ++i) {
    etx_limits limits;
    memset(&limits, 0, sizeof limits);
    limits.keeps_plan = i == IN_PLACE;
    limits.calls_shape_functions = i == IN_PLACE || i == SHAPED;
    limits.kept_sizes = i == COPIED ? 3 : 0;
    assert_ok(etx_program_open(&out->programs[i], out->file.program,
                               &etx_all_kernels, &limits, &diag));
    assert_ok(sized_instance_open(&out->kept[i], &out->programs[i], MOST_BYTES,
                                  &diag));
    (void)sized_instance_keep_size_values(&out->kept[i]);
  }
}

static void end_plan(planned_model* plan) {
  for (size_t i = 0; i < kinds; ++i) sized_instance_close(&plan->kept[i]);
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

// Calls the kept instance, which must do what `wanted`, another one of the same
// plan, has done.
static etx_status call_alike(sized_instance* kept, const sized_instance* wanted,
                             size_t method, const sized_inputs* inputs,
                             const char* where) {
  etx_diag_init(&diag);
  const etx_status status = sized_instance_call(kept, method, inputs, &diag);
  if (status != ETX_OK) return status;
  const char* const what =
      sized_instance_difference(kept, wanted, method, inputs);
  if (what != NULL) fail_msg("%s: %s differs", where, what);
  if (!sized_instance_same_state(kept, wanted)) {
    fail_msg("%s: the state differs", where);
  }
  return status;
}

static void describe(char* out, size_t size, const planned_model* plan,
                     size_t kind, etx_text method, const sized_inputs* inputs) {
  int at =
      snprintf(out, size, "%s, plan %.40s%s, method %.*s", model, plan->option,
               kind_texts[kind], (int)method.size, method.data);
  for (size_t i = 0; i < inputs->symbol_count; ++i) {
    at += snprintf(out + at, size - (size_t)at, ", %.*s=%lld",
                   (int)inputs->symbols[i].name.size,
                   inputs->symbols[i].name.data,
                   (long long)inputs->symbols[i].size);
  }
}

static void start_again(planned_model* plans, size_t count) {
  for (size_t p = 0; p < count; ++p) {
    for (size_t i = 0; i < kinds; ++i) {
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
    for (size_t i = 0; i < kinds; ++i) {
      char where[512];
      sized_instance* const kept = &plans[p].kept[i];
      const size_t method = find_method(kept, name);
      describe(where, sizeof where, &plans[p], i, name, inputs);
      const etx_status found =
          i < FRESH_KINDS
              ? call_both(kept, method, inputs, where)
              : call_alike(kept, &plans[p].kept[0], method, inputs, where);
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
    if (!sized_inputs_draw(&inputs, in->program, name, MOST_BYTES, most_span,
                           &random)) {
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

// Passes without which results may have other bits: sums are then made of other
// operators. (Without fold_positions, attention has a mask.)
static const char* const inexact[] = {
    "fuse_attention",         "recompose_norms",  "recompose_softmax",
    "fuse_dequantize",        "fold_batch_norms", "fold_constants",
    "fold_matmul_transposes", "fuse_elementwise", "fuse_qdq",
    "fold_positions"};

static bool is_inexact(const char* pass) {
  for (size_t i = 0; i < sizeof inexact / sizeof *inexact; ++i) {
    if (strcmp(inexact[i], pass) == 0) return true;
  }
  return false;
}

static void check_without(const char* methods, const char* pass) {
  char option[128];
  snprintf(option, sizeof option, "--passes=-%s", pass);
  check(methods, option, !allows_other_bits && !is_inexact(pass),
        call_count / 10);
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
  int first = 3;
  for (; first + 1 < count && strncmp(words[first], "--", 2) == 0; ++first) {
    if (strcmp(words[first], "--other-bits") == 0) {
      allows_other_bits = true;
    } else if (strcmp(words[first], "--span") == 0) {
      most_span = strtoll(words[++first], NULL, 10);
    }
  }
  kinds = KINDS;
  given = (const char* const*)words + first;
  given_count = (size_t)(count - first);
  return cmocka_run_group_tests(long_tests, command_set_up, command_tear_down);
}
