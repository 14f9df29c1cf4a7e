#include "tests/exporter/lowered.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cli/plan/kernel_evaluator.h"
#include "exporter/ir/ir_cond.h"
#include "exporter/ir/uniform_value.h"

void lowered_open(lowered* l, etx_target target, const char* yaml) {
  memset(l, 0, sizeof *l);
  char text[8192];
  scratch_directory directory;
  char path[512];
  snprintf(text, sizeof text, "etx: 1\nmethod: m\n%s", yaml);
  scratch_directory_make(&directory);
  scratch_write_text(&directory, "m.yaml", text);
  snprintf(path, sizeof path, "%s/m.yaml", directory.path);
  reading_open(&l->reading, path);
  scratch_directory_remove(&directory);
  assert_reads(&l->reading);
  l->options.target = target;
  l->options.evaluator = etx_kernel_evaluator();
  l->context.module = &l->reading.module;
  l->context.options = &l->options;
  l->context.problems = &l->reading.problems;
  l->context.diag = &l->diag;
  etx_diag_init(&l->diag);
}

void lowered_close(lowered* l) { reading_close(&l->reading); }

static const etx_pass* find_pass(etx_text name) {
  for (size_t i = 0; i < etx_pass_count(); ++i) {
    if (etx_text_is(name, etx_pass_at(i)->name)) return etx_pass_at(i);
  }
  fail_msg("there is no pass '%.*s'", (int)name.size, name.data);
  return NULL;
}

static void run_one(lowered* l, etx_text name) {
  const etx_pass* const pass = find_pass(name);
  if (pass->run(&l->context) != ETX_OK) {
    fail_msg("%s: %s", pass->name, l->diag.text);
  }
  if (l->reading.problems.count != 0) fail_msg("%s", l->reading.text);
  if (etx_ir_verify(&l->reading.module, pass->is_lowered, &l->diag) != ETX_OK) {
    fail_msg("after %s: %s", pass->name, l->diag.text);
  }
}

void lowered_run(lowered* l, const char* passes) {
  while (*passes != '\0') {
    const size_t size = strcspn(passes, " ");
    run_one(l, (etx_text){passes, size});
    passes += size;
    while (*passes == ' ') ++passes;
  }
}

void assert_pass_refuses(lowered* l, const char* pass, const char* part) {
  assert_int_equal(find_pass(etx_text_of(pass))->run(&l->context), ETX_OK);
  assert_true(l->reading.problems.count > 0);
  if (strstr(l->reading.text, part) == NULL) {
    fail_msg("expected '%s' in:\n%s", part, l->reading.text);
  }
}

// ---------------------------------------------------------------- lines

static void put(lowered* l, const char* format, ...) {
  va_list list;
  va_start(list, format);
  l->line_bytes += (size_t)vsnprintf(
      l->lines + l->line_bytes, sizeof l->lines - l->line_bytes, format, list);
  va_end(list);
  assert_true(l->line_bytes < sizeof l->lines);
}

static etx_ir_method* method_of(const lowered* l) {
  return &l->reading.module.methods[0];
}

static void put_dim(lowered* l, etx_dim dim) {
  etx_text text;
  assert_int_equal(
      etx_symbols_print(&method_of(l)->symbols, dim, &l->reading.pool, &text),
      ETX_OK);
  put(l, "%.*s", (int)text.size, text.data);
}

static void put_type(lowered* l, const etx_shape* shape) {
  put(l, "%s[", etx_dtype_name(shape->dtype));
  for (size_t i = 0; i < shape->rank; ++i) {
    if (i != 0) put(l, ", ");
    put_dim(l, shape->dims[i]);
  }
  put(l, "]");
}

static const etx_ir_constant* constant_behind(const lowered* l,
                                              const etx_ir_value* value) {
  const etx_ir_module* const module = &l->reading.module;
  return value->origin == ETX_IR_FROM_CONSTANT
             ? &module->constants[value->index]
             : NULL;
}

static void put_value(lowered* l, uint32_t index) {
  const etx_ir_value* const value = &method_of(l)->values[index];
  const etx_ir_constant* const constant = constant_behind(l, value);
  char number[48];
  if (constant == NULL) {
    put(l, "%.*s", (int)value->name.size, value->name.data);
  } else if (constant->data.size == etx_dtype_bytes(constant->dtype) &&
             etx_uniform_text(constant, number, sizeof number)) {
    put(l, "%s:%s", number, etx_dtype_name(constant->dtype));
  } else {
    put(l, "const ");
    put_type(l, &value->shape);
  }
}

static void put_arg(lowered* l, const etx_ir_arg* arg) {
  switch (arg->kind) {
    case ETX_IR_ARG_NONE:
      put(l, "None");
      return;
    case ETX_IR_ARG_VALUE:
      put_value(l, arg->as.value);
      return;
    case ETX_IR_ARG_INT:
      put_dim(l, arg->as.integer);
      return;
    case ETX_IR_ARG_DOUBLE:
      put(l, "%.9g", arg->as.real);
      return;
    case ETX_IR_ARG_BOOL:
      put(l, arg->as.boolean ? "True" : "False");
      return;
    case ETX_IR_ARG_STRING:
      put(l, "'%.*s'", (int)arg->as.string.size, arg->as.string.data);
      return;
    case ETX_IR_ARG_DTYPE:
      put(l, "%s", etx_dtype_name(arg->as.dtype));
      return;
    case ETX_IR_ARG_LIST:
      break;
  }
  put(l, "[");
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    if (i != 0) put(l, ", ");
    put_arg(l, &arg->as.list.items[i]);
  }
  put(l, "]");
}

static void put_node(lowered* l, const etx_ir_node* node) {
  for (uint32_t b = node->branch; b != 0;
       b = etx_ir_branch_parent(method_of(l), b)) {
    put(l, "  ");
  }
  for (size_t i = 0; i < node->output_count; ++i) {
    if (i != 0) put(l, ", ");
    put_value(l, node->outputs[i]);
    put(l, ": ");
    put_type(l, &method_of(l)->values[node->outputs[i]].shape);
  }
  put(l, " = %s.%s(", node->op->name, node->op->overload);
  for (size_t i = 0; i < node->arg_count; ++i) {
    if (i != 0) put(l, ", ");
    put_arg(l, &node->args[i]);
  }
  put(l, ")\n");
}

const char* lowered_lines(lowered* l) {
  const etx_ir_method* const method = method_of(l);
  l->line_bytes = 0;
  l->lines[0] = '\0';
  for (size_t i = 0; i < method->node_count; ++i) {
    put_node(l, &method->nodes[i]);
  }
  for (size_t i = 0; i < method->mutation_count; ++i) {
    put(l, "%.*s <- ",
        (int)l->reading.module.buffers[method->mutations[i].target].name.size,
        l->reading.module.buffers[method->mutations[i].target].name.data);
    put_value(l, method->mutations[i].value);
    put(l, "\n");
  }
  for (size_t i = 0; i < method->output_count; ++i) {
    put(l, "return ");
    put_arg(l, &method->outputs[i].arg);
    put(l, "\n");
  }
  return l->lines;
}

void assert_lines(lowered* l, const char* wanted) {
  if (strcmp(lowered_lines(l), wanted) != 0) {
    fail_msg("found:\n%s\nexpected:\n%s", l->lines, wanted);
  }
}

// ---------------------------------------------------------------- whole tests

static lowered whole;  // too large for a stack

void expect_lowered(etx_target target, const char* passes, const char* yaml,
                    const char* wanted) {
  lowered_open(&whole, target, yaml);
  lowered_run(&whole, passes);
  assert_lines(&whole, wanted);
  lowered_close(&whole);
}

void expect_refused(etx_target target, const char* pass, const char* yaml,
                    const char* part) {
  lowered_open(&whole, target, yaml);
  assert_pass_refuses(&whole, pass, part);
  lowered_close(&whole);
}

const etx_ir_constant* lowered_constant(const lowered* l, size_t output) {
  const etx_ir_arg* const arg = &method_of(l)->outputs[output].arg;
  assert_int_equal(arg->kind, ETX_IR_ARG_VALUE);
  const etx_ir_constant* const constant =
      constant_behind(l, &method_of(l)->values[arg->as.value]);
  assert_non_null(constant);
  return constant;
}
