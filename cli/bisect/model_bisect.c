#include "cli/bisect/model_bisect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/input_path.h"
#include "cli/base/output_file.h"
#include "cli/bisect/change_search.h"
#include "cli/plan/diagnostic_list.h"
#include "cli/plan/kernel_evaluator.h"
#include "cli/plan/operators_option.h"
#include "cli/plan/size_cap_option.h"
#include "exporter/export.h"

// The search. `reference` has all mechanisms off.
typedef struct bisect_search {
  const etx_bisect_options* options;
  etx_bisect_result* result;
  etx_diff_side reference;
  etx_pool* pool;
  etx_diag* diag;
} bisect_search;

// ------------------------------------------------ planning

static etx_status read_module(const etx_bisect_options* o,
                              etx_ir_module* module, etx_problems* problems,
                              etx_diag* diag) {
  ETX_TRY(etx_size_cap_option_apply(&o->cap, module, diag));
  ETX_TRY(etx_operators_option_apply(&o->ops, module, diag));
  ETX_TRY(etx_export_read(module, o->input, problems, diag));
  for (size_t i = 0; i < o->quantize.count; ++i) {
    ETX_TRY(etx_export_quantize(module, o->quantize.items[i], diag));
  }
  return ETX_OK;
}

static etx_status plan(const etx_bisect_options* o,
                       const etx_mechanism_setting* setting,
                       etx_output_file* output, etx_diag* diag) {
  etx_pool pool;
  etx_ir_module module;
  etx_export_report report;
  etx_diagnostic_list list;
  const etx_export_options options = {
      .target = ETX_TARGET_ETX,
      .evaluator = etx_kernel_evaluator(),
      .passes = setting->passes[0] == '\0' ? NULL : setting->passes,
      .algorithm = setting->algorithm,
      .pack_weights = o->packs,
      .source_lines = true};
  const etx_sink sink = etx_output_file_sink(output);
  etx_pool_init(&pool);
  etx_ir_module_init(&module, &pool);
  etx_diagnostic_list_init(&list, false);
  etx_status status = read_module(o, &module, &list.problems, diag);
  if (status == ETX_OK) {
    status = etx_export_plan(&module, &options, &sink, &report, &list.problems,
                             diag);
  }
  if (status == ETX_OK) status = etx_output_file_finish(output);
  etx_pool_close(&pool);
  return status;
}

// ------------------------------------------------ running

static void close_side(etx_diff_side* side) {
  etx_tensor_log_close(&side->log);
  etx_run_session_close(&side->session);
}

static etx_status open_side(const bisect_search* s,
                            const etx_mechanism_setting* setting,
                            const char* path, etx_diff_side* side) {
  const etx_run_session_options options = {
      .threads = setting->has_threads ? s->options->threads : 1,
      .kernel_paths = s->options->kernels.items,
      .kernel_count = s->options->kernels.count};
  ETX_TRY(etx_run_session_open(&side->session, path, &options, s->diag));
  side->session.pool.parallel.instruction_set = setting->set;
  etx_tensor_log_init(&side->log, s->pool);
  const etx_status status = etx_program_diff_call(
      side, s->options->method, s->options->cases, s->pool, s->diag);
  if (status == ETX_OK) return ETX_OK;
  s->result->is_refused = true;
  close_side(side);
  return status;
}

// Plans and calls the model with the first `count` mechanisms. The program is
// a temporary file, which is removed at once: the session has mapped it.
static etx_status run_with(const bisect_search* s, size_t count,
                           etx_diff_side* side) {
  etx_mechanism_setting* const setting =
      etx_pool_take(s->pool, sizeof *setting);
  etx_output_file* const output = etx_pool_take(s->pool, sizeof *output);
  char path[ETX_OUTPUT_PATH_BYTES / 2];
  const char* const folder = getenv("TMPDIR");
  if (setting == NULL || output == NULL) {
    return etx_diag_fail(s->diag, ETX_OUT_OF_MEMORY,
                         "not enough memory to plan the model");
  }
  etx_mechanism_list_setting(&s->result->mechanisms, count, setting);
  snprintf(path, sizeof path, "%s/etx-bisect.pte",
           folder == NULL || folder[0] == '\0' ? "/tmp" : folder);
  ETX_TRY(etx_output_file_open(output, path, s->diag));
  etx_status status = plan(s->options, setting, output, s->diag);
  if (status == ETX_OK) {
    status = open_side(s, setting, output->temporary, side);
  }
  etx_output_file_discard(output);
  return status;
}

// ------------------------------------------------ the search

static const char* name_at(const bisect_search* s, size_t count) {
  return count == 0 ? "none" : s->result->mechanisms.items[count - 1].name;
}

static void show_progress(const bisect_search* s, size_t count) {
  if (s->options->progress == NULL) return;
  s->options->progress(
      s->result->tests,
      etx_change_search_most_tests(s->result->mechanisms.count),
      name_at(s, count));
}

// Runs the model with the first `count` mechanisms, and compares the outputs.
// The results of single instructions are not compared: a pass may change which
// instructions there are.
static etx_status compare_with_reference(const bisect_search* s, size_t count,
                                         etx_diff_result* out) {
  // Of the reference only what is compared is copied.
  etx_diff_side* const sides = etx_pool_take(s->pool, 2 * sizeof *sides);
  if (sides == NULL) {
    return etx_diag_fail(s->diag, ETX_OUT_OF_MEMORY,
                         "not enough memory to compare two runs");
  }
  sides[0] = s->reference;
  sides[1] = (etx_diff_side){.logs = false};
  ETX_TRY(run_with(s, count, &sides[1]));
  const etx_status status = etx_program_diff_outputs(
      sides, s->options->tolerance, s->pool, out, s->diag);
  close_side(&sides[1]);
  return status;
}

// An etx_change_test. The memory of a test is given back after it.
static etx_status test_count(void* context, size_t count, bool* out_differs) {
  bisect_search* const s = context;
  etx_pool pool;
  etx_diff_result diff = {.compared = 0};
  bisect_search test = *s;
  ++s->result->tests;
  show_progress(s, count);
  etx_pool_init(&pool);
  test.pool = &pool;
  const etx_status status = compare_with_reference(&test, count, &diff);
  etx_pool_close(&pool);
  *out_differs = diff.outputs > 0;
  return status;
}

// Runs without and with the mechanism that was found, and compares the two.
static etx_status compare_around(bisect_search* s) {
  etx_bisect_result* const r = s->result;
  for (size_t i = 0; i < 2; ++i) {
    show_progress(s, r->position + i);
    r->sides[i].logs = true;
    ETX_TRY(run_with(s, r->position + i, &r->sides[i]));
    r->sides[i].path = r->paths[i];
    snprintf(r->paths[i], sizeof r->paths[i], "%s %s",
             i == 0 ? "without" : "with",
             r->mechanisms.items[r->position].name);
  }
  return etx_program_diff_compare(r->sides, s->options->tolerance, s->pool,
                                  &r->diff, s->diag);
}

etx_status etx_bisect_run(const etx_bisect_options* options, etx_pool* pool,
                          etx_bisect_result* out, etx_diag* diag) {
  bisect_search* const s = etx_pool_take(pool, sizeof *s);
  memset(out, 0, sizeof *out);
  if (s == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for a search");
  }
  *s = (bisect_search){
      .options = options, .result = out, .pool = pool, .diag = diag};
  ETX_TRY(etx_input_path_check(options->input, diag));
  etx_mechanism_list_init(&out->mechanisms, options->packs,
                          options->passes_off);
  out->position = out->mechanisms.count;
  show_progress(s, 0);
  ETX_TRY(run_with(s, 0, &s->reference));
  etx_status status =
      etx_change_search(out->mechanisms.count, test_count, s, &out->position);
  if (status == ETX_OK && out->position < out->mechanisms.count) {
    status = compare_around(s);
  }
  close_side(&s->reference);
  return status;
}

void etx_bisect_close(etx_bisect_result* result) {
  for (size_t i = 0; i < 2; ++i) {
    if (result->sides[i].path != NULL) close_side(&result->sides[i]);
  }
}

// ------------------------------------------------ printing

void etx_bisect_print(const etx_bisect_result* r, const char* method) {
  if (r->position == r->mechanisms.count) {
    printf("method %s: no result changes, with all %zu mechanisms on\n", method,
           r->mechanisms.count);
    return;
  }
  const etx_mechanism* const m = &r->mechanisms.items[r->position];
  printf("method %s: %s %s is the first that changes a result\n", method,
         etx_mechanism_kind_name(m->kind), m->name);
  if (r->diff.outputs > 0) {
    printf("output %zu: %s\n", r->diff.first_output, r->diff.output_why);
  }
  etx_program_diff_print(r->sides, &r->diff);
}

json_t* etx_bisect_json(const etx_bisect_result* r, const char* method) {
  json_t* const root = json_object();
  json_object_set_new(root, "method", json_string(method));
  json_object_set_new(root, "mechanisms",
                      json_integer((json_int_t)r->mechanisms.count));
  json_object_set_new(root, "tests", json_integer((json_int_t)r->tests));
  json_t* change = json_null();
  if (r->position < r->mechanisms.count) {
    const etx_mechanism* const m = &r->mechanisms.items[r->position];
    change = json_object();
    json_object_set_new(change, "kind",
                        json_string(etx_mechanism_kind_name(m->kind)));
    json_object_set_new(change, "name", json_string(m->name));
    json_object_set_new(change, "position",
                        json_integer((json_int_t)r->position));
    if (r->diff.outputs > 0) {
      json_object_set_new(change, "output",
                          json_integer((json_int_t)r->diff.first_output));
      json_object_set_new(change, "why", json_string(r->diff.output_why));
    }
    json_object_set_new(change, "diff",
                        etx_program_diff_json(r->sides, &r->diff));
  }
  json_object_set_new(root, "first_change", change);
  return root;
}
