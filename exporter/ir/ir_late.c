#include "exporter/ir/ir_late.h"

#include "exporter/ir/ir_cond.h"

// The late symbols in an argument, as bits.
static uint64_t late_in_arg(const etx_ir_method* method,
                            const etx_ir_arg* arg) {
  const bool is_list = arg->kind == ETX_IR_ARG_LIST;
  const size_t count = is_list ? arg->as.list.count : 1;
  uint64_t late = 0;
  for (size_t i = 0; i < count; ++i) {
    const etx_ir_arg* const item = is_list ? &arg->as.list.items[i] : arg;
    if (item->kind != ETX_IR_ARG_INT) continue;
    late |= etx_symbols_late_in(&method->symbols, item->as.integer);
  }
  return late;
}

uint64_t etx_ir_late_in_value(const etx_ir_method* method, uint32_t value) {
  const etx_ir_value* const v = &method->values[value];
  uint64_t late = 0;
  for (size_t d = 0; v->has_shape && d < v->shape.rank; ++d) {
    late |= etx_symbols_late_in(&method->symbols, v->shape.dims[d]);
  }
  return late;
}

uint64_t etx_ir_late_needed(const etx_ir_method* method,
                            const etx_ir_node* node) {
  uint64_t late = 0;
  for (size_t i = 0; i < node->arg_count; ++i) {
    late |= late_in_arg(method, &node->args[i]);
  }
  for (size_t i = 0; i < node->output_count; ++i) {
    if (node->outputs[i] == ETX_IR_NONE) continue;
    late |= etx_ir_late_in_value(method, node->outputs[i]);
  }
  return node->late == 0 ? late : late & ~(UINT64_C(1) << (node->late - 1));
}

bool etx_ir_late_must_stay(const etx_ir_node* node) {
  if (node->late != 0) return true;
  return node->op == NULL
             ? etx_text_is(node->aten, "aten._assert_scalar.default")
             : node->op->id == ETX_OP_check_range;
}

// The symbols that were set so far, and in which branch each of them.
typedef struct late_setters {
  const etx_ir_method* method;
  uint64_t set;
  uint32_t branches[ETX_SYMBOLS_MAX_COUNT];
} late_setters;

static bool find_unset(const late_setters* s, uint64_t needed, uint32_t branch,
                       uint32_t* out_symbol) {
  for (uint32_t i = 0; i < ETX_SYMBOLS_MAX_COUNT && needed >> i != 0; ++i) {
    if (((needed >> i) & 1) == 0) continue;
    if (((s->set >> i) & 1) != 0 &&
        etx_ir_branch_is_within(s->method, branch, s->branches[i])) {
      continue;
    }
    *out_symbol = i;
    return true;
  }
  return false;
}

static bool has_late(const etx_ir_method* method) {
  for (size_t i = 0; i < method->symbols.symbol_count; ++i) {
    if (method->symbols.symbols[i].is_late) return true;
  }
  return false;
}

bool etx_ir_late_find_unset(const etx_ir_method* method, uint32_t* out_symbol,
                            size_t* out_node) {
  late_setters s = {.method = method};
  if (!has_late(method)) return false;
  for (size_t n = 0; n < method->node_count; ++n) {
    const etx_ir_node* const node = &method->nodes[n];
    *out_node = n;
    if (find_unset(&s, etx_ir_late_needed(method, node), node->branch,
                   out_symbol)) {
      return true;
    }
    if (node->late == 0) continue;
    s.set |= UINT64_C(1) << (node->late - 1);
    s.branches[node->late - 1] = node->branch;
  }
  *out_node = method->node_count;
  for (size_t i = 0; i < method->output_count; ++i) {
    const uint64_t late = late_in_arg(method, &method->outputs[i].arg);
    if (find_unset(&s, late, 0, out_symbol)) return true;
  }
  return false;
}
