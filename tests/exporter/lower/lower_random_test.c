// Fuzzing: for any arguments that the readers accept, in any graph, the passes
// either report a problem or leave a graph that verifies. Under the
// sanitizers this looks for reads outside lists and shapes and for overflow.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/plan/kernel_evaluator.h"
#include "exporter/ir/aten_schema.h"
#include "exporter/ir/type_inference.h"
#include "exporter/lower/lowering_table.h"
#include "exporter/pass_list.h"

enum { GRAPHS = 20000, MAX_NODES = 3, INPUTS = 7, MAX_LIST = 4 };

enum { MAX_RESULTS = ETX_TYPE_INFERENCE_MAX_OUTPUTS };  // of one operator

typedef struct graph_maker {
  uint64_t seed;
  etx_pool pool;
  etx_ir_module module;
  etx_ir_method* method;
  etx_dim symbol;
  uint32_t values[INPUTS + 2 + MAX_NODES * MAX_RESULTS];
  size_t value_count;
} graph_maker;

static uint64_t next(graph_maker* m) {
  m->seed ^= m->seed << 13;
  m->seed ^= m->seed >> 7;
  m->seed ^= m->seed << 17;
  return m->seed;
}

static size_t below(graph_maker* m, size_t count) {
  return (size_t)(next(m) >> 8) % count;
}

static bool one_in(graph_maker* m, size_t count) {
  return below(m, count) == 0;
}

// ---------------------------------------------------------------- arguments

static etx_ir_arg any_value(graph_maker* m) {
  return etx_ir_value_arg(m->values[below(m, m->value_count)]);
}

static etx_ir_arg any_integer(graph_maker* m) {
  static const int64_t odd[] = {0,         INT64_MAX, -(INT64_C(1) << 61),
                                INT32_MAX, 1 << 20,   INT64_C(1) << 61};
  if (one_in(m, 12)) {
    return etx_ir_int(odd[below(m, sizeof odd / sizeof odd[0])]);
  }
  if (one_in(m, 8)) return etx_ir_int(m->symbol);
  return etx_ir_int((int64_t)below(m, 7) - 2);
}

static etx_ir_arg any_number(graph_maker* m) {
  if (one_in(m, 3)) return etx_ir_double((double)below(m, 9) / 2.0 - 1.0);
  if (one_in(m, 6)) return etx_ir_bool(one_in(m, 2));
  return any_integer(m);
}

static etx_ir_arg any_string(graph_maker* m) {
  static const char* const words[] = {
      "none",    "tanh", "floor", "trunc",     "constant",
      "reflect", "same", "valid", "ij,jk->ik", "bij,bjk->bik",
      "ij->",    "xy",   "ij",    "replicate"};
  etx_ir_arg arg = {ETX_IR_ARG_STRING, {0}};
  arg.as.string = etx_text_of(words[below(m, sizeof words / sizeof words[0])]);
  return arg;
}

static etx_ir_arg any_item(graph_maker* m, etx_argument_type type);

static etx_ir_arg any_list(graph_maker* m, etx_argument_type type,
                           size_t fixed) {
  const size_t count = fixed != 0 && !one_in(m, 6) ? fixed : below(m, 6);
  etx_ir_arg* const items = etx_pool_take(&m->pool, count * sizeof *items);
  assert_non_null(items);
  for (size_t i = 0; i < count; ++i) items[i] = any_item(m, type);
  return etx_ir_list(items, count);
}

static etx_ir_arg any_item(graph_maker* m, etx_argument_type type) {
  static const etx_dtype dtypes[] = {ETX_DTYPE_FLOAT32, ETX_DTYPE_INT64,
                                     ETX_DTYPE_INT32,   ETX_DTYPE_BOOL,
                                     ETX_DTYPE_FLOAT64, ETX_DTYPE_FLOAT16};
  etx_ir_arg arg = {ETX_IR_ARG_DTYPE, {0}};
  switch (type) {
    case ETX_ARGUMENT_TENSOR:
    case ETX_ARGUMENT_TENSORS:
      return one_in(m, 12) ? any_number(m) : any_value(m);
    case ETX_ARGUMENT_OPTIONAL_TENSORS:
      return one_in(m, 3) ? etx_ir_none() : any_value(m);
    case ETX_ARGUMENT_SCALAR:
      return one_in(m, 15) ? any_value(m) : any_number(m);
    case ETX_ARGUMENT_INT:
    case ETX_ARGUMENT_INTS:
      return any_integer(m);
    case ETX_ARGUMENT_FLOAT:
    case ETX_ARGUMENT_FLOATS:
      return etx_ir_double((double)below(m, 5) / 4.0);
    case ETX_ARGUMENT_BOOL:
    case ETX_ARGUMENT_BOOLS:
      return etx_ir_bool(one_in(m, 2));
    case ETX_ARGUMENT_STRING:
      return any_string(m);
    case ETX_ARGUMENT_SCALAR_TYPE:
      arg.as.dtype = dtypes[below(m, sizeof dtypes / sizeof dtypes[0])];
      return arg;
    case ETX_ARGUMENT_MEMORY_FORMAT:
    case ETX_ARGUMENT_LAYOUT:
      return etx_ir_int(0);
    case ETX_ARGUMENT_DEVICE:
      break;
  }
  arg.kind = ETX_IR_ARG_STRING;
  arg.as.string = etx_text_of("cpu");
  return arg;
}

static bool is_list(etx_argument_type type) {
  return type == ETX_ARGUMENT_TENSORS ||
         type == ETX_ARGUMENT_OPTIONAL_TENSORS || type == ETX_ARGUMENT_INTS ||
         type == ETX_ARGUMENT_FLOATS || type == ETX_ARGUMENT_BOOLS;
}

static etx_ir_arg any_argument(graph_maker* m, const etx_argument* argument) {
  etx_ir_arg arg = etx_ir_none();
  if (argument->default_text.size != 0 && one_in(m, 2)) {
    assert_int_equal(etx_aten_default(&m->pool, argument, &arg, NULL), ETX_OK);
    return arg;
  }
  if (argument->optional && one_in(m, 3)) return arg;
  return is_list(argument->type)
             ? any_list(m, argument->type, argument->fixed_count)
             : any_item(m, argument->type);
}

// ---------------------------------------------------------------- graphs

static etx_dim any_size(graph_maker* m) {
  static const etx_dim sizes[] = {1, 2, 2, 4, 4, 3, 0};
  if (one_in(m, 6)) return m->symbol;
  return sizes[below(m, 6 + one_in(m, 10))];
}

static etx_shape any_shape(graph_maker* m) {
  static const etx_dtype dtypes[] = {ETX_DTYPE_FLOAT32, ETX_DTYPE_FLOAT32,
                                     ETX_DTYPE_FLOAT32, ETX_DTYPE_INT64,
                                     ETX_DTYPE_INT32,   ETX_DTYPE_BOOL};
  etx_shape shape = {.dtype = dtypes[below(m, 6)]};
  shape.rank = (uint8_t)(one_in(m, 30) ? ETX_MAX_RANK : below(m, 5));
  for (size_t i = 0; i < shape.rank; ++i) {
    shape.dims[i] = shape.rank > 5 ? 1 : any_size(m);
  }
  return shape;
}

static void add_input(graph_maker* m) {
  etx_ir_value value = {.has_shape = true,
                        .shape = any_shape(m),
                        .origin = ETX_IR_FROM_INPUT,
                        .index = (uint32_t)m->method->input_count};
  etx_ir_input input = {.arg = {ETX_IR_ARG_VALUE, {0}}};
  assert_int_equal(
      etx_ir_add_value(&m->module, m->method, &value, &input.arg.as.value),
      ETX_OK);
  assert_int_equal(
      etx_pool_grow(&m->pool, &m->method->inputs, m->method->input_count,
                    &m->method->input_capacity, sizeof input),
      ETX_OK);
  m->method->inputs[m->method->input_count++] = input;
  m->values[m->value_count++] = input.arg.as.value;
}

// A float32[2, 4] and an int64[2] that are known.
static void add_constants(graph_maker* m) {
  static const float weights[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  static const int64_t index[2] = {0, 1};
  const etx_ir_constant constants[] = {
      {ETX_DTYPE_FLOAT32, 2, {2, 4}, {(const uint8_t*)weights, sizeof weights}},
      {ETX_DTYPE_INT64, 1, {2}, {(const uint8_t*)index, sizeof index}}};
  for (size_t i = 0; i < 2; ++i) {
    uint32_t constant = 0;
    assert_int_equal(etx_ir_add_constant(&m->module, &constants[i], &constant),
                     ETX_OK);
    assert_int_equal(etx_ir_constant_value(&m->module, m->method, constant,
                                           &m->values[m->value_count++]),
                     ETX_OK);
  }
}

static void add_node(graph_maker* m, const char* aten) {
  const etx_aten_schema* const schema = etx_aten_schema_find(etx_text_of(aten));
  etx_ir_arg args[ETX_MAX_ARGUMENTS];
  uint32_t outputs[MAX_RESULTS];
  etx_ir_node node = {.aten = etx_text_of(aten), .args = args};
  assert_non_null(schema);
  assert_true(schema->results == ETX_ATEN_LIST ||
              schema->results <= MAX_RESULTS);
  node.arg_count = etx_aten_schema_argument_count(schema);
  for (size_t i = 0; i < node.arg_count; ++i) {
    const etx_argument argument = etx_aten_schema_argument(schema, i);
    args[i] = any_argument(m, &argument);
    if (!etx_aten_accepts(&argument, &args[i])) return;
  }
  node.outputs = outputs;
  node.output_count = schema->results == ETX_ATEN_LIST
                          ? 1 + below(m, MAX_LIST)
                          : (size_t)schema->results;
  for (size_t i = 0; i < node.output_count; ++i) {
    const etx_ir_value value = {.origin = ETX_IR_FROM_NODE,
                                .index = (uint32_t)m->method->node_count};
    assert_int_equal(
        etx_ir_add_value(&m->module, m->method, &value, &outputs[i]), ETX_OK);
  }
  uint32_t index = 0;
  assert_int_equal(etx_ir_add_node(&m->module, m->method, &node, &index),
                   ETX_OK);
  for (size_t i = 0; i < node.output_count; ++i) {
    m->values[m->value_count++] = outputs[i];
  }
}

static void add_output(graph_maker* m) {
  etx_ir_output* const output = etx_pool_take(&m->pool, sizeof *output);
  assert_non_null(output);
  output->name = etx_text_of("y");
  output->arg = etx_ir_value_arg(m->values[m->value_count - 1]);
  m->method->outputs = output;
  m->method->output_count = m->method->output_capacity = 1;
}

static const char* random_operator(graph_maker* m) {
  for (;;) {
    const size_t index = below(m, etx_aten_schema_count());
    const char* const name = etx_aten_schema_at(index)->name;
    if (etx_lowering_find(etx_text_of(name)) != NULL) return name;
  }
}

static void make_graph(graph_maker* m, uint64_t seed) {
  uint32_t method = 0;
  uint32_t symbol = 0;
  memset(m, 0, sizeof *m);
  m->seed = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
  for (int i = 0; i < 8; ++i) next(m);
  etx_pool_init(&m->pool);
  etx_ir_module_init(&m->module, &m->pool);
  assert_int_equal(etx_ir_add_method(&m->module, etx_text_of("m"), &method),
                   ETX_OK);
  m->method = &m->module.methods[method];
  assert_int_equal(
      etx_symbols_add(&m->method->symbols, etx_text_of("s"), 1, 6, &symbol),
      ETX_OK);
  assert_int_equal(etx_symbols_dim(&m->method->symbols, symbol, &m->symbol),
                   ETX_OK);
  for (size_t i = 0; i < INPUTS; ++i) add_input(m);
  add_constants(m);
  const size_t nodes = 1 + below(m, MAX_NODES);
  for (size_t i = 0; i < nodes; ++i) {
    add_node(m, random_operator(m));
  }
  add_output(m);
}

// ---------------------------------------------------------------- the test

// True if the graph went through all passes.
static bool run_passes(graph_maker* m, etx_target target) {
  static const char* const names[] = {
      "lower",          "fold_matmul_transposes",
      "fold_constants", "recompose_slice_scatter",
      "index_to_slice", "simplify"};
  etx_problems problems = {0};
  etx_diag diag;
  const etx_export_options options = {.target = target,
                                      .evaluator = etx_kernel_evaluator()};
  etx_pass_context context = {.module = &m->module,
                              .options = &options,
                              .problems = &problems,
                              .diag = &diag};
  etx_diag_init(&diag);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    for (size_t j = 0; j < etx_pass_count(); ++j) {
      if (strcmp(etx_pass_at(j)->name, names[i]) != 0) continue;
      if (etx_pass_at(j)->run(&context) != ETX_OK) {
        fail_msg("%s: %s", names[i], diag.text);
      }
    }
    if (problems.count != 0) return false;
    if (etx_ir_verify(&m->module, true, &diag) != ETX_OK) {
      fail_msg("after %s: %s", names[i], diag.text);
    }
  }
  return true;
}

static void any_arguments_are_lowered_or_refused(void** state) {
  (void)state;
  static graph_maker m;
  const char* const only = getenv("ETX_SEED");
  size_t lowered = 0;
  for (uint64_t seed = 1; seed <= GRAPHS; ++seed) {
    if (only != NULL && strtoull(only, NULL, 10) != seed) continue;
    make_graph(&m, seed);
    // Names the first operator before a sanitizer or an assertion ends the
    // program.
    if (only != NULL) printf("%s\n", m.method->nodes[0].aten.data);
    lowered +=
        run_passes(&m, seed % 2 == 0 ? ETX_TARGET_ETX : ETX_TARGET_EXECUTORCH);
    etx_pool_close(&m.pool);
  }
  // Enough of them are sensible for the passes to have something to do.
  if (only == NULL) assert_true(lowered > GRAPHS / 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_arguments_are_lowered_or_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
