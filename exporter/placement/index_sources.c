#include "exporter/placement/index_sources.h"

#include "exporter/placement/placement.h"

static etx_status add_read(void* context, size_t argument, uint32_t value) {
  (void)argument;
  ((bool*)context)[value] = true;
  return ETX_OK;
}

static void add_item(bool* is_source, const etx_ir_arg* arg) {
  if (arg->kind == ETX_IR_ARG_VALUE) is_source[arg->as.value] = true;
}

static void add_indices(bool* is_source, const etx_ir_node* node) {
  etx_argument argument;
  etx_argument_cursor cursor = etx_argument_first(node->op->arguments);
  for (size_t i = 0;
       i < node->arg_count && etx_argument_next(&cursor, &argument); ++i) {
    const etx_ir_arg* const arg = &node->args[i];
    if (!etx_text_is(argument.name, "index") &&
        !etx_text_is(argument.name, "indices")) {
      continue;
    }
    add_item(is_source, arg);
    if (arg->kind != ETX_IR_ARG_LIST) continue;
    for (size_t k = 0; k < arg->as.list.count; ++k) {
      add_item(is_source, &arg->as.list.items[k]);
    }
  }
}

bool etx_index_sources_has(const bool* is_source, const etx_ir_node* node) {
  for (size_t i = 0; i < node->output_count; ++i) {
    const uint32_t value = node->outputs[i];
    if (value != ETX_IR_NONE && is_source[value]) return true;
  }
  return false;
}

etx_status etx_index_sources_find(const etx_ir_method* method, size_t begin,
                                  size_t end, bool* is_source) {
  for (size_t n = end; n-- > begin;) {
    const etx_ir_node* const node = &method->nodes[n];
    add_indices(is_source, node);
    if (etx_index_sources_has(is_source, node)) {
      ETX_TRY(etx_placement_each_read(node, add_read, is_source));
    }
  }
  return ETX_OK;
}
