#include "cli/report/operator_table.h"

#include <stdio.h>
#include <string.h>

#include "cli/plan/kernel_evaluator.h"
#include "cli/report/operator_example.h"
#include "cli/tensors/dtype_set.h"
#include "exporter/lower/nearest_operator.h"
#include "exporter/pass_list.h"

// In place of a dtype: each tensor of the example keeps its own.
#define EXAMPLE_DTYPE ETX_DTYPE_COUNT

enum { MAX_OPS = 32 };

// The operators to which a call was lowered.
typedef struct lowered_call {
  etx_op_id ops[MAX_OPS];  // each once, in order
  size_t count;
  bool is_refused;
  char why[ETX_DIAG_TEXT_BYTES];
} lowered_call;

typedef struct table_context {
  bool kernel_ran;     // a kernel of the current example was called
  bool kernel_failed;  // and refused its arguments
  const char* broken;  // an operator whose example is refused, or NULL
} table_context;

// ------------------------------------------------ lowering examples

static void note_problem(void* context, const etx_source_location* place,
                         etx_text message) {
  lowered_call* const call = context;
  (void)place;
  if (call->is_refused) return;
  call->is_refused = true;
  snprintf(call->why, sizeof call->why, "%.*s", (int)message.size,
           message.data);
}

static void note_op(lowered_call* call, etx_op_id op) {
  for (size_t i = 0; i < call->count; ++i) {
    if (call->ops[i] == op) return;
  }
  if (call->count < MAX_OPS) call->ops[call->count++] = op;
}

static etx_status evaluate(void* context, const etx_op* op,
                           const etx_eval_argument* arguments, size_t count,
                           etx_diag* diag) {
  table_context* const table = context;
  table->kernel_ran = true;
  const etx_evaluator inner = etx_kernel_evaluator();
  const etx_status status =
      inner.evaluate(inner.context, op, arguments, count, diag);
  if (status != ETX_OK && status != ETX_MISSING_OPERATOR)
    table->kernel_failed = true;
  return status;
}

static etx_status run_passes(etx_pass_context* context, lowered_call* out,
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

// Calls the operator with tensors of `dtype` and lowers it for `target`. With a
// `table` (may be NULL), constant folding runs its kernels too.
static etx_status lower_example(const etx_aten_schema* schema, etx_dtype dtype,
                                etx_target target, table_context* table,
                                lowered_call* out, etx_diag* diag) {
  *out = (lowered_call){.count = 0};
  etx_pool pool;
  etx_ir_module module;
  etx_problems problems = {note_problem, out, 0};
  etx_export_options options = {.target = target};
  if (table != NULL) {
    options.evaluator =
        (etx_evaluator){.evaluate = evaluate, .context = table};
  }
  etx_pass_context context = {.module = &module,
                              .options = &options,
                              .problems = &problems,
                              .diag = diag};
  etx_pool_init(&pool);
  etx_ir_module_init(&module, &pool);
  etx_status status = etx_operator_example(schema, dtype, &module, diag);
  if (status == ETX_OK) status = run_passes(&context, out, table != NULL);
  etx_pool_close(&pool);
  if (status == ETX_OUT_OF_MEMORY || status == ETX_INTERNAL) return status;
  if (status != ETX_OK && !out->is_refused) {
    out->is_refused = true;
    snprintf(out->why, sizeof out->why, "%s", diag->text);
  }
  etx_diag_init(diag);
  return ETX_OK;
}

// The element types that kernels take, as words.
static const char* const kernel_types[ETX_OP_COUNT] = {
#define TYPES(symbol, words) [ETX_OP_##symbol] = words,
#include "runtime/kernels/registry/kernel_types.def"
#undef TYPES
};

static const char* group_of(etx_dtype dtype) {
  switch (etx_dtype_category_of(dtype)) {
    case ETX_CATEGORY_INTEGER:
      return "integers";
    case ETX_CATEGORY_FLOATING:
      return "floats";
    case ETX_CATEGORY_COMPLEX:
      return "complex";
    default:
      return etx_dtype_name(dtype);
  }
}

// True if the words name the type or its group.
static bool names_type(const char* words, etx_dtype dtype) {
  const char* const names[2] = {etx_dtype_name(dtype), group_of(dtype)};
  while (words != NULL && *words != '\0') {
    const size_t size = strcspn(words, ",");
    for (size_t i = 0; i < 2; ++i) {
      if (strlen(names[i]) == size && memcmp(names[i], words, size) == 0) {
        return true;
      }
    }
    words += size;
    words += strspn(words, ", ");
  }
  return false;
}

// True if the operator accepts the type: constant folding ran its kernel.
// Folding does not run kernels whose result sizes depend on data; for those,
// and for calls that lower to one operator which did not run, the table of
// stated types decides.
static bool is_accepted(const lowered_call* call, const table_context* table,
                        etx_dtype dtype) {
  if (call->is_refused || table->kernel_failed) return false;
  return table->kernel_ran || call->count != 1 ||
         names_type(kernel_types[call->ops[0]], dtype);
}

static etx_status find_types(const etx_aten_schema* schema,
                             table_context* table, uint32_t* out_bits,
                             etx_diag* diag) {
  *out_bits = 0;
  for (size_t i = 0; i < ETX_DTYPE_SET_MEMBER_COUNT; ++i) {
    const etx_dtype dtype = etx_dtype_set_members[i];
    lowered_call call;
    table->kernel_failed = table->kernel_ran = false;
    ETX_TRY(lower_example(schema, dtype, ETX_TARGET_ETX, table, &call, diag));
    if (is_accepted(&call, table, dtype)) *out_bits |= UINT32_C(1) << dtype;
  }
  return ETX_OK;
}

// ------------------------------------------------ printing

static void print_op(const etx_op* op) {
  printf("`%s%s%s`", op->name, op->overload[0] == '\0' ? "" : ".",
         op->overload);
}

static void print_lowered_ops(const lowered_call* call) {
  if (call->is_refused) printf("refused: %s", call->why);
  if (!call->is_refused && call->count == 0) printf("nothing");
  for (size_t i = 0; i < call->count && !call->is_refused; ++i) {
    if (i != 0) printf(", ");
    print_op(etx_op_at(call->ops[i]));
  }
}

static bool is_equal(const lowered_call* a, const lowered_call* b) {
  return a->is_refused == b->is_refused && a->count == b->count &&
         memcmp(a->ops, b->ops, a->count * sizeof a->ops[0]) == 0;
}

static etx_status print_lowered(const etx_aten_schema* schema,
                                table_context* table, etx_diag* diag) {
  lowered_call own, stock;
  uint32_t bits = 0;
  ETX_TRY(
      lower_example(schema, EXAMPLE_DTYPE, ETX_TARGET_ETX, NULL, &own, diag));
  ETX_TRY(lower_example(schema, EXAMPLE_DTYPE, ETX_TARGET_EXECUTORCH, NULL,
                        &stock, diag));
  if (own.is_refused) table->broken = schema->name;
  ETX_TRY(find_types(schema, table, &bits, diag));
  printf("| `%s` | ", schema->name);
  print_lowered_ops(&own);
  printf(" | ");
  if (is_equal(&own, &stock)) {
    printf("the same");
  } else {
    print_lowered_ops(&stock);
  }
  char types[ETX_DTYPE_SET_TEXT_BYTES];
  printf(" | %s |\n", etx_dtype_set_text(bits, types));
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

static etx_status print_imported(table_context* table, etx_diag* diag) {
  printf(
      "## From PyTorch\n\n"
      "The ATen operators that can be imported, and the operators that each "
      "one\n"
      "is lowered to, before folding and fusion. Several operators are a\n"
      "decomposition. *nothing* means that the result is the input itself. "
      "The\n"
      "columns come from one example call of each operator; the types are the\n"
      "element types with which that call runs in etx.\n\n"
      "| operator | target etx | target executorch | types |\n"
      "|---|---|---|---|\n");
  for (size_t i = 0; i < etx_aten_schema_count(); ++i) {
    const etx_aten_schema* const schema = etx_aten_schema_at(i);
    if (is_lowered(schema)) ETX_TRY(print_lowered(schema, table, diag));
  }
  printf(
      "\nOperators that `etx plan` refuses:\n\n"
      "| operator | nearest supported form |\n|---|---|\n");
  for (size_t i = 0; i < etx_aten_schema_count(); ++i) {
    const etx_aten_schema* const schema = etx_aten_schema_at(i);
    if (!is_lowered(schema)) print_refused(schema);
  }
  return ETX_OK;
}

static void print_kernels(void) {
  printf(
      "\n## Kernels\n\n"
      "The operators that a program file may call. Those of `etx::` exist only "
      "in\n"
      "etx, the others also in the stock libraries. The types are those of "
      "the\n"
      "first tensor that is read and is not a condition or mask. Operators\n"
      "without types compute with numbers or set sizes.\n\n"
      "| operator | types |\n|---|---|\n");
  for (size_t i = 0; i < ETX_OP_COUNT; ++i) {
    printf("| ");
    print_op(etx_op_at((etx_op_id)i));
    printf(" | %s |\n", kernel_types[i] == NULL ? "" : kernel_types[i]);
  }
}

etx_status etx_operator_table_print(etx_diag* diag) {
  table_context table = {.kernel_failed = false};
  printf(
      "# Operators\n\n"
      "Generated by `etx ops --markdown`; do not edit.\n\n");
  ETX_TRY(print_imported(&table, diag));
  print_kernels();
  if (table.broken == NULL) return ETX_OK;
  return etx_diag_fail(
      diag, ETX_BAD_ARGUMENT,
      "the example of '%s' in operator_examples.def is refused", table.broken);
}
