#include "cli/report/operator_table.h"

#include <stdio.h>
#include <string.h>

#include "cli/plan/kernel_evaluator.h"
#include "cli/report/operator_example.h"
#include "cli/tensors/dtype_set.h"
#include "exporter/lower/nearest_operator.h"
#include "exporter/pass_list.h"

enum { MOST_OPS = 32 };

// What a call became.
typedef struct outcome {
  etx_op_id ops[MOST_OPS];  // each once, in order
  size_t count;
  bool is_refused;
  char why[ETX_DIAG_TEXT_BYTES];
} outcome;

typedef struct survey {
  bool is_refused;     // some kernel of the present example did not run
  const char* broken;  // an operator whose example is refused, or NULL
} survey;

// ------------------------------------------------ trying

static void note_problem(void* context, const etx_source_location* place,
                         etx_text message) {
  outcome* const o = context;
  (void)place;
  if (o->is_refused) return;
  o->is_refused = true;
  snprintf(o->why, sizeof o->why, "%.*s", (int)message.size, message.data);
}

static void note_op(outcome* o, etx_op_id op) {
  for (size_t i = 0; i < o->count; ++i) {
    if (o->ops[i] == op) return;
  }
  if (o->count < MOST_OPS) o->ops[o->count++] = op;
}

static etx_status evaluate(void* context, const etx_op* op,
                           const etx_eval_argument* arguments, size_t count,
                           etx_diag* diag) {
  survey* const s = context;
  const etx_evaluator inner = etx_kernel_evaluator();
  const etx_status status =
      inner.evaluate(inner.context, op, arguments, count, diag);
  if (status != ETX_OK && status != ETX_MISSING_OPERATOR) s->is_refused = true;
  return status;
}

static etx_status run_passes(etx_pass_context* context, outcome* out,
                             bool folds) {
  ETX_TRY(etx_pass_lower(context));
  if (out->is_refused) return ETX_OK;
  ETX_TRY(etx_pass_legalize_for_executorch(context));
  const etx_ir_method* const method = &context->module->methods[0];
  for (size_t i = 0; i < method->node_count; ++i) {
    note_op(out, method->nodes[i].op->id);
  }
  return folds ? etx_pass_fold_constants(context) : ETX_OK;
}

// Calls the operator with tensors of `dtype` and lowers it for `target`. With
// a survey, its kernels run too.
static etx_status try_operator(const etx_aten_schema* schema, etx_dtype dtype,
                               etx_target target, survey* s, outcome* out,
                               etx_diag* diag) {
  *out = (outcome){.count = 0};
  etx_pool pool;
  etx_ir_module module;
  etx_problems problems = {note_problem, out, 0};
  etx_export_options options = {.target = target};
  if (s != NULL) options.evaluator = (etx_evaluator){evaluate, s};
  etx_pass_context context = {.module = &module,
                              .options = &options,
                              .problems = &problems,
                              .diag = diag};
  etx_pool_init(&pool);
  etx_ir_module_init(&module, &pool);
  etx_status status = etx_operator_example(schema, dtype, &module, diag);
  if (status == ETX_OK) status = run_passes(&context, out, s != NULL);
  etx_pool_close(&pool);
  if (status == ETX_OUT_OF_MEMORY || status == ETX_INTERNAL) return status;
  if (status != ETX_OK && !out->is_refused) {
    out->is_refused = true;
    snprintf(out->why, sizeof out->why, "%s", diag->text);
  }
  etx_diag_init(diag);
  return ETX_OK;
}

static etx_status find_types(const etx_aten_schema* schema, survey* s,
                             uint32_t* out_bits, etx_diag* diag) {
  *out_bits = 0;
  for (size_t i = 0; i < ETX_DTYPE_SET_MEMBER_COUNT; ++i) {
    const etx_dtype dtype = etx_dtype_set_members[i];
    outcome o;
    s->is_refused = false;
    ETX_TRY(try_operator(schema, dtype, ETX_TARGET_ETX, s, &o, diag));
    if (!o.is_refused && !s->is_refused) *out_bits |= UINT32_C(1) << dtype;
  }
  return ETX_OK;
}

// ------------------------------------------------ printing

static void print_op(const etx_op* op) {
  printf("`%s%s%s`", op->name, op->overload[0] == '\0' ? "" : ".",
         op->overload);
}

static void print_outcome(const outcome* o) {
  if (o->is_refused) printf("refused: %s", o->why);
  if (!o->is_refused && o->count == 0) printf("nothing");
  for (size_t i = 0; i < o->count && !o->is_refused; ++i) {
    if (i != 0) printf(", ");
    print_op(etx_op_at(o->ops[i]));
  }
}

static bool is_equal(const outcome* a, const outcome* b) {
  return a->is_refused == b->is_refused && a->count == b->count &&
         memcmp(a->ops, b->ops, a->count * sizeof a->ops[0]) == 0;
}

static etx_status print_lowered(const etx_aten_schema* schema, survey* s,
                                etx_diag* diag) {
  outcome own, stock;
  uint32_t bits = 0;
  ETX_TRY(
      try_operator(schema, ETX_DTYPE_COUNT, ETX_TARGET_ETX, NULL, &own, diag));
  ETX_TRY(try_operator(schema, ETX_DTYPE_COUNT, ETX_TARGET_EXECUTORCH, NULL,
                       &stock, diag));
  if (own.is_refused) s->broken = schema->name;
  ETX_TRY(find_types(schema, s, &bits, diag));
  printf("| `%s` | ", schema->name);
  print_outcome(&own);
  printf(" | ");
  if (is_equal(&own, &stock)) {
    printf("the same");
  } else {
    print_outcome(&stock);
  }
  char words[ETX_DTYPE_SET_TEXT_BYTES];
  printf(" | %s |\n", etx_dtype_set_text(bits, words));
  return ETX_OK;
}

static void print_refused(const etx_aten_schema* schema) {
  const char* const nearest = etx_nearest_operator(etx_text_of(schema->name));
  printf("| `%s` | ", schema->name);
  if (nearest != NULL) printf("`%s`", nearest);
  printf(" |\n");
}

static bool is_lowered(const etx_aten_schema* schema) {
  return etx_operator_is_importable(etx_text_of(schema->name));
}

static etx_status print_imported(survey* s, etx_diag* diag) {
  printf(
      "## From PyTorch\n\n"
      "What can be imported, and what it becomes: kernels of the table below,\n"
      "by one call of each operator, before anything is folded or fused. More\n"
      "than one: it is decomposed. Types are those of its tensors with which\n"
      "that call runs. Nothing: the result is the tensor that came in.\n\n"
      "| operator | for etx | for the stock runtime | types |\n"
      "|---|---|---|---|\n");
  for (size_t i = 0; i < etx_aten_schema_count(); ++i) {
    const etx_aten_schema* const schema = etx_aten_schema_at(i);
    if (is_lowered(schema)) ETX_TRY(print_lowered(schema, s, diag));
  }
  printf(
      "\nKnown, and refused when planning:\n\n"
      "| operator | nearest supported form |\n|---|---|\n");
  for (size_t i = 0; i < etx_aten_schema_count(); ++i) {
    const etx_aten_schema* const schema = etx_aten_schema_at(i);
    if (!is_lowered(schema)) print_refused(schema);
  }
  return ETX_OK;
}

static void print_kernels(void) {
  static const char* const types[ETX_OP_COUNT] = {
#define TYPES(symbol, words) [ETX_OP_##symbol] = words,
#include "runtime/kernels/registry/kernel_types.def"
#undef TYPES
  };
  printf(
      "\n## Kernels\n\n"
      "All operators that a program file may name. Those of `etx::` are etx's\n"
      "own, the others those of the stock libraries. Types are those of the\n"
      "tensors that an operator is about: of the first that it reads and that\n"
      "is no truth value; none: it reads and writes numbers.\n\n"
      "| operator | types |\n|---|---|\n");
  for (size_t i = 0; i < ETX_OP_COUNT; ++i) {
    printf("| ");
    print_op(etx_op_at((etx_op_id)i));
    printf(" | %s |\n", types[i] == NULL ? "" : types[i]);
  }
}

etx_status etx_operator_table_print(etx_diag* diag) {
  survey s = {.is_refused = false};
  printf(
      "# Operators\n\n"
      "Made by `etx ops --markdown`; do not edit.\n\n");
  ETX_TRY(print_imported(&s, diag));
  print_kernels();
  if (s.broken == NULL) return ETX_OK;
  return etx_diag_fail(
      diag, ETX_BAD_ARGUMENT,
      "the example of '%s' in operator_examples.def is refused", s.broken);
}
