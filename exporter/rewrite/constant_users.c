#include "exporter/rewrite/constant_users.h"

#include "exporter/rewrite/ir_rewrite.h"

size_t etx_constant_behind(const etx_ir_module* module,
                           const etx_ir_method* method, const etx_ir_arg* arg) {
  if (arg->kind != ETX_IR_ARG_VALUE) return SIZE_MAX;
  const etx_ir_constant* const constant =
      etx_rewrite_constant(module, method, arg->as.value);
  return constant == NULL ? SIZE_MAX : (size_t)(constant - module->constants);
}

typedef struct user_search {
  const etx_ir_module* module;
  const etx_ir_method* method;
  etx_constant_visit visit;
  void* context;
} user_search;

static void visit_arg(const user_search* search, const etx_ir_node* node,
                      size_t position, const etx_ir_arg* arg) {
  const size_t constant =
      etx_constant_behind(search->module, search->method, arg);
  if (constant == SIZE_MAX) return;
  const etx_constant_user reader = {
      .method = search->method,
      .node = node,
      .position = position,
      .name = etx_text_of(node == NULL ? "the caller" : node->op->name)};
  search->visit(search->context, constant, &reader);
}

static void visit_node(const user_search* search, const etx_ir_node* node) {
  for (size_t i = 0; i < node->arg_count; ++i) {
    const etx_ir_arg* const arg = &node->args[i];
    visit_arg(search, node, i, arg);
    if (arg->kind != ETX_IR_ARG_LIST) continue;
    for (size_t k = 0; k < arg->as.list.count; ++k) {
      visit_arg(search, node, SIZE_MAX, &arg->as.list.items[k]);
    }
  }
}

static void visit_method(const user_search* search) {
  const etx_ir_method* const method = search->method;
  for (size_t i = 0; i < method->node_count; ++i) {
    visit_node(search, &method->nodes[i]);
  }
  for (size_t i = 0; i < method->output_count; ++i) {
    visit_arg(search, NULL, 0, &method->outputs[i].arg);
  }
  for (size_t i = 0; i < method->mutation_count; ++i) {
    const etx_ir_arg value = etx_ir_value_arg(method->mutations[i].value);
    visit_arg(search, NULL, 0, &value);
  }
}

static void visit_program(const user_search* search, uint32_t constant,
                          const char* name) {
  const etx_constant_user reader = {.name = etx_text_of(name)};
  if (constant != ETX_IR_NONE)
    search->visit(search->context, constant, &reader);
}

void etx_constant_users_visit(const etx_ir_module* module,
                              etx_constant_visit visit, void* context) {
  user_search search = {.module = module, .visit = visit, .context = context};
  for (size_t i = 0; i < module->method_count; ++i) {
    search.method = &module->methods[i];
    visit_method(&search);
  }
  for (size_t i = 0; i < module->constant_method_count; ++i) {
    visit_program(&search, module->constant_methods[i].constant,
                  "a constant method");
  }
  for (size_t i = 0; i < module->buffer_count; ++i) {
    const etx_ir_buffer* const buffer = &module->buffers[i];
    if (buffer->is_state) visit_program(&search, buffer->initial, "a state");
  }
}
