#include "cli/bisect/program_diff.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/plural.h"
#include "cli/json/json_value.h"
#include "cli/program/instruction_source.h"
#include "runtime/variants.h"

etx_status etx_program_diff_call(etx_diff_side* s, const char* method,
                                 const etx_case_file* cases, etx_pool* pool,
                                 etx_diag* diag) {
  const etx_bench_options settings = {.cases = cases, .restores = true};
  double seconds = 0;
  ETX_TRY(
      etx_bench_run_start(&s->run, &s->session, method, &settings, pool, diag));
  s->method = method;
  if (s->logs) etx_method_observe(s->run.method, &s->log.observer);
  const etx_status status = etx_bench_run_call(&s->run, &seconds);
  etx_method_observe(s->run.method, NULL);
  if (status != ETX_OK) return status;
  if (s->log.status == ETX_OK) return ETX_OK;
  return etx_diag_fail(diag, s->log.status,
                       "not enough memory for a copy of every result");
}

static etx_status compare_instructions(const etx_diff_side* sides,
                                       etx_tolerance tolerance, etx_pool* pool,
                                       etx_diff_result* out, etx_diag* diag) {
  const etx_tensor_log* const a = &sides[0].log;
  const etx_tensor_log* const b = &sides[1].log;
  const size_t room = a->count < b->count ? a->count : b->count;
  size_t* const pairs = etx_pool_take(pool, (2 * room + 1) * sizeof *pairs);
  if (pairs == NULL ||
      etx_tensor_log_match(a, b, pairs, &out->compared) != ETX_OK) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory to match %z results with %z",
                         a->count, b->count);
  }
  for (size_t i = 0; i < out->compared; ++i) {
    const etx_logged_tensor* const left = &a->rows[pairs[2 * i]];
    const etx_logged_tensor* const right = &b->rows[pairs[2 * i + 1]];
    if (etx_tensor_compare(&left->tensor, &right->tensor, tolerance,
                           out->why)) {
      continue;
    }
    out->rows[0] = left;
    out->rows[1] = right;
    return ETX_OK;
  }
  return ETX_OK;
}

// Copies one output of both programs. `out_are_tensors` is false, and nothing
// is copied, if one of them is not a tensor.
static etx_status copy_output(const etx_diff_side* sides, size_t index,
                              etx_pool* pool, etx_host_tensor out_tensors[2],
                              bool* out_are_tensors, etx_diag* diag) {
  const etx_value* values[2];
  for (int i = 0; i < 2; ++i) {
    ETX_TRY(etx_method_output(sides[i].run.method, index, &values[i]));
  }
  *out_are_tensors = values[0]->kind == ETX_VALUE_TENSOR &&
                     values[1]->kind == ETX_VALUE_TENSOR;
  for (int i = 0; i < 2 && *out_are_tensors; ++i) {
    ETX_TRY(etx_host_tensor_copy(&values[i]->as.tensor, pool, &out_tensors[i],
                                 diag));
  }
  return ETX_OK;
}

etx_status etx_program_diff_outputs(const etx_diff_side* sides,
                                    etx_tolerance tolerance, etx_pool* pool,
                                    etx_diff_result* out, etx_diag* diag) {
  const size_t count = sides[0].run.method->output_count;
  if (sides[1].run.method->output_count != count) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "method '%s' has %z outputs in one program, %z in the "
                         "other",
                         sides[0].method, count,
                         sides[1].run.method->output_count);
  }
  for (size_t i = 0; i < count; ++i) {
    etx_host_tensor tensors[2];
    bool are_tensors = false;
    char why[ETX_TENSOR_COMPARE_TEXT_BYTES];
    ETX_TRY(copy_output(sides, i, pool, tensors, &are_tensors, diag));
    if (!are_tensors ||
        etx_tensor_compare(&tensors[0], &tensors[1], tolerance, why)) {
      continue;
    }
    if (out->outputs++ == 0) {
      out->first_output = i;
      memcpy(out->output_why, why, sizeof why);
    }
    if (out->prints_outputs) printf("output %zu: %s\n", i, why);
  }
  return ETX_OK;
}

// The plan that ran: the method's own, or a variant.
static etx_text ran(const etx_diff_side* side) {
  return etx_method_variant_name(side->run.method,
                                 etx_method_variant_last(side->run.method));
}

static bool ran_variant(const etx_diff_side* side) {
  return etx_method_variant_last(side->run.method) <
         etx_method_variant_count(side->run.method);
}

// Prints the source lines of the differing instruction for each program that
// stores them.
static void print_lines(const etx_diff_side* sides,
                        const etx_diff_result* found) {
  for (int i = 0; i < 2; ++i) {
    char text[ETX_INSTRUCTION_SOURCE_TEXT_BYTES];
    etx_instruction_source source;
    etx_instruction_source_open(&source, &sides[i].session.module.program.pte,
                                "diff", sides[i].path);
    if (etx_instruction_source_text(&source, ran(&sides[i]),
                                    found->rows[i]->instruction, text)) {
      printf("  in %s from %s\n", sides[i].path, text);
    }
  }
}

static json_t* variant_json(const etx_diff_side* s) {
  return ran_variant(s) ? etx_json_text(ran(s)) : json_null();
}

static json_t* lines_json(const etx_diff_side* s,
                          const etx_logged_tensor* row) {
  etx_instruction_source source;
  etx_instruction_source_open(&source, &s->session.module.program.pte, "diff",
                              s->path);
  return etx_instruction_source_json(&source, ran(s), row->instruction);
}

void etx_program_diff_print(const etx_diff_side* sides,
                            const etx_diff_result* found) {
  for (int i = 0; i < 2; ++i) {
    if (!ran_variant(&sides[i])) continue;
    printf("%s: variant %.*s ran\n", sides[i].path, (int)ran(&sides[i]).size,
           ran(&sides[i]).data);
  }
  if (found->rows[0] != NULL) {
    const etx_logged_tensor* const row = found->rows[0];
    printf("first difference: %s%s%s, instruction %zu of %s, %zu of %s: ",
           row->op->name, row->op->overload[0] == '\0' ? "" : ".",
           row->op->overload, row->instruction, sides[0].path,
           found->rows[1]->instruction, sides[1].path);
    etx_host_tensor_print_type(row->tensor.dtype, row->tensor.rank,
                               row->tensor.sizes, stdout);
    printf(": %s\n", found->why);
    print_lines(sides, found);
  }
  printf("%zu result%s compared, of %zu and %zu; %zu output%s %s\n",
         found->compared, etx_plural(found->compared), sides[0].log.count,
         sides[1].log.count, found->outputs, etx_plural(found->outputs),
         found->outputs == 1 ? "differs" : "differ");
}

json_t* etx_program_diff_json(const etx_diff_side* sides,
                              const etx_diff_result* found) {
  json_t* const root = json_object();
  json_object_set_new(root, "compared", etx_json_unsigned(found->compared));
  json_object_set_new(root, "results_a", etx_json_unsigned(sides[0].log.count));
  json_object_set_new(root, "results_b", etx_json_unsigned(sides[1].log.count));
  json_object_set_new(root, "variant_a", variant_json(&sides[0]));
  json_object_set_new(root, "variant_b", variant_json(&sides[1]));
  json_object_set_new(root, "outputs_that_differ",
                      etx_json_unsigned(found->outputs));
  json_t* first = json_null();
  if (found->rows[0] != NULL) {
    first = json_object();
    json_object_set_new(first, "operator",
                        json_string(found->rows[0]->op->name));
    json_object_set_new(first, "overload",
                        json_string(found->rows[0]->op->overload));
    json_object_set_new(first, "instruction_a",
                        etx_json_unsigned(found->rows[0]->instruction));
    json_object_set_new(first, "instruction_b",
                        etx_json_unsigned(found->rows[1]->instruction));
    json_object_set_new(first, "why", etx_json_text(etx_text_of(found->why)));
    json_object_set_new(first, "lines_a",
                        lines_json(&sides[0], found->rows[0]));
    json_object_set_new(first, "lines_b",
                        lines_json(&sides[1], found->rows[1]));
  }
  json_object_set_new(root, "first_difference", first);
  return root;
}

etx_status etx_program_diff_compare(const etx_diff_side* sides,
                                    etx_tolerance tolerance, etx_pool* pool,
                                    etx_diff_result* out, etx_diag* diag) {
  ETX_TRY(compare_instructions(sides, tolerance, pool, out, diag));
  return etx_program_diff_outputs(sides, tolerance, pool, out, diag);
}
