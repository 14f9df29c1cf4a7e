// The verifier visits the nodes of each method once, in order, and keeps for
// each value whether it is defined, and where. Values without uses are not
// checked, so passes may leave them behind. A value is looked at when it is
// defined; its uses, which may be far away in memory, read one number.

#include "exporter/ir/ir_cond.h"
#include "exporter/ir/ir_late.h"

typedef struct method_verifier {
  const etx_ir_module* module;
  etx_ir_method* method;
  uint32_t* defined;  // for each value: 1 + its branch, 0 if it is not defined
  bool is_lowered;
  etx_diag* diag;
} method_verifier;

// What reads a value, for messages.
typedef struct value_user {
  const char* text;  // NULL: the node
  uint32_t node;
} value_user;

typedef struct user_text {
  char bytes[ETX_MAX_OPERATOR_NAME + 48];
} user_text;

static const char* describe(const method_verifier* w, const value_user* user,
                            user_text* out) {
  if (user->text != NULL) return user->text;
  etx_format_text(out->bytes, sizeof out->bytes, "node %u '%t'",
                  (uint64_t)user->node, w->method->nodes[user->node].aten);
  return out->bytes;
}

#define FAIL(v, ...) etx_diag_fail((v)->diag, ETX_INTERNAL, __VA_ARGS__)

static bool is_known_size(const method_verifier* w, etx_dim dim) {
  return etx_dim_is_number(dim) ||
         (uint64_t)(ETX_DIM_HANDLE - dim) < w->method->symbols.expression_count;
}

static etx_status check_shape(const method_verifier* w,
                              const etx_ir_value* value) {
  if (!value->has_shape) {
    if (!w->is_lowered) return ETX_OK;
    return FAIL(w, "method '%t': value '%t' has no type after lowering",
                w->method->name, value->name);
  }
  bool is_sound = value->shape.rank <= ETX_MAX_RANK &&
                  etx_dtype_is_valid(value->shape.dtype);
  for (size_t i = 0; is_sound && i < value->shape.rank; ++i) {
    const etx_dim dim = value->shape.dims[i];
    is_sound = is_known_size(w, dim) && (!etx_dim_is_number(dim) || dim >= 0);
  }
  if (is_sound) return ETX_OK;
  return FAIL(w, "method '%t': value '%t' has an impossible type",
              w->method->name, value->name);
}

// Checks that `value` may be read in `branch`: it is defined in that branch or
// in one around it, or it is an input, buffer or constant.
static etx_status check_use(const method_verifier* w, uint32_t value,
                            uint32_t branch, const value_user* user) {
  user_text text;
  if (value >= w->method->value_count) {
    return FAIL(w, "method '%t': %s reads value %u of %z", w->method->name,
                describe(w, user, &text), (uint64_t)value,
                w->method->value_count);
  }
  if (w->defined[value] != 0 &&
      etx_ir_branch_is_within(w->method, branch, w->defined[value] - 1)) {
    return ETX_OK;
  }
  const etx_ir_value* const v = &w->method->values[value];
  bool is_defined = false;
  switch (v->origin) {
    case ETX_IR_FROM_NODE:
      break;
    case ETX_IR_FROM_INPUT:
      is_defined = v->index < w->method->input_count &&
                   w->method->inputs[v->index].arg.kind == ETX_IR_ARG_VALUE &&
                   w->method->inputs[v->index].arg.as.value == value;
      break;
    case ETX_IR_FROM_BUFFER:
      is_defined = v->index < w->module->buffer_count;
      break;
    case ETX_IR_FROM_CONSTANT:
      is_defined = v->index < w->module->constant_count;
      break;
  }
  if (!is_defined) {
    return FAIL(w, "method '%t': %s reads '%t' before it is defined",
                w->method->name, describe(w, user, &text), v->name);
  }
  ETX_TRY(check_shape(w, v));
  w->defined[value] = 1;
  return ETX_OK;
}

static etx_status check_arg(const method_verifier* w, const etx_ir_arg* arg,
                            uint32_t branch, const value_user* user) {
  user_text text;
  switch (arg->kind) {
    case ETX_IR_ARG_VALUE:
      return check_use(w, arg->as.value, branch, user);
    case ETX_IR_ARG_INT:
      if (is_known_size(w, arg->as.integer)) return ETX_OK;
      return FAIL(w, "method '%t': %s has an unknown symbolic integer",
                  w->method->name, describe(w, user, &text));
    case ETX_IR_ARG_LIST:
      for (size_t i = 0; i < arg->as.list.count; ++i) {
        if (arg->as.list.items[i].kind == ETX_IR_ARG_LIST) {
          return FAIL(w, "method '%t': %s has a nested list", w->method->name,
                      describe(w, user, &text));
        }
        ETX_TRY(check_arg(w, &arg->as.list.items[i], branch, user));
      }
      return ETX_OK;
    default:
      return ETX_OK;
  }
}

// Checks that a branch starts right after its head or, for a second branch,
// after the first one, and that a branch that has ended is not entered again.
static etx_status check_branch(const method_verifier* w, uint32_t index) {
  const etx_ir_method* const method = w->method;
  const etx_ir_node* const node = &method->nodes[index];
  bool is_sound = node->branch < 2 * (method->cond_count + 1) &&
                  node->branch != 1 && node->cond <= method->cond_count;
  if (is_sound && node->cond != 0) {
    is_sound =
        method->conds[node->cond - 1].parent == node->branch &&
        (etx_ir_is_head(node) || etx_ir_is_join(node) || etx_ir_is_carry(node));
  }
  const etx_ir_node* const before = index == 0 ? NULL : node - 1;
  const uint32_t from = before == NULL ? 0 : before->branch;
  if (is_sound && !etx_ir_branch_is_within(method, from, node->branch)) {
    const uint32_t cond = etx_ir_cond_of(node->branch);
    const uint32_t first = etx_ir_then_branch(cond);
    const bool is_behind_head =
        before != NULL && etx_ir_is_head(before) && before->cond == cond;
    is_sound = is_behind_head || (node->branch != first &&
                                  etx_ir_branch_is_within(method, from, first));
  }
  if (is_sound) return ETX_OK;
  return FAIL(w, "method '%t': node %u is not inside its branch", method->name,
              (uint64_t)index);
}

static etx_status check_node(const method_verifier* w, uint32_t index) {
  const etx_ir_node* const node = &w->method->nodes[index];
  const value_user user = {NULL, index};
  user_text text;
  if (w->is_lowered && node->op == NULL) {
    return FAIL(w, "method '%t': %s is not lowered", w->method->name,
                describe(w, &user, &text));
  }
  ETX_TRY(check_branch(w, index));
  for (size_t i = 0; i < node->arg_count; ++i) {
    uint32_t branch = node->branch;
    // A join reads its arguments at the ends of the branches.
    if (etx_ir_is_join(node) && i == ETX_JOIN_THEN) {
      branch = etx_ir_then_branch(node->cond);
    } else if (etx_ir_is_join(node) && i == ETX_JOIN_ELSE) {
      branch = etx_ir_else_branch(node->cond);
    }
    ETX_TRY(check_arg(w, &node->args[i], branch, &user));
  }
  for (size_t i = 0; i < node->output_count; ++i) {
    const uint32_t value = node->outputs[i];
    if (value == ETX_IR_NONE) continue;
    if (value >= w->method->value_count || w->defined[value] != 0 ||
        w->method->values[value].origin != ETX_IR_FROM_NODE ||
        w->method->values[value].index != index) {
      return FAIL(w, "method '%t': output %z of %s is not its own value",
                  w->method->name, i, describe(w, &user, &text));
    }
    w->defined[value] = node->branch + 1;
    ETX_TRY(check_shape(w, &w->method->values[value]));
  }
  return ETX_OK;
}

static etx_status check_inputs(const method_verifier* w) {
  static const value_user user = {"an input", 0};
  for (size_t i = 0; i < w->method->input_count; ++i) {
    const etx_ir_input* const input = &w->method->inputs[i];
    ETX_TRY(check_arg(w, &input->arg, 0, &user));
    if (input->arg.kind != ETX_IR_ARG_VALUE) continue;
    const etx_ir_value* const value = &w->method->values[input->arg.as.value];
    if (value->origin == ETX_IR_FROM_INPUT && value->index == i &&
        value->has_shape) {
      continue;
    }
    return FAIL(w, "method '%t': input '%t' has no value of its own",
                w->method->name, input->name);
  }
  return ETX_OK;
}

// The type of the target of a mutation.
static etx_status target_shape(const method_verifier* w,
                               const etx_ir_mutation* mutation,
                               etx_shape* out_shape) {
  const etx_ir_method* const method = w->method;
  if (mutation->is_input) {
    if (mutation->target >= method->input_count ||
        method->inputs[mutation->target].arg.kind != ETX_IR_ARG_VALUE ||
        !method->inputs[mutation->target].is_mutable) {
      return FAIL(w, "method '%t': mutation of input %u, which is not mutable",
                  method->name, (uint64_t)mutation->target);
    }
    *out_shape =
        method->values[method->inputs[mutation->target].arg.as.value].shape;
    return ETX_OK;
  }
  if (mutation->target >= w->module->buffer_count ||
      !w->module->buffers[mutation->target].is_state) {
    return FAIL(w, "method '%t': a mutation of buffer %u, which is not state",
                method->name, (uint64_t)mutation->target);
  }
  const etx_ir_buffer* const buffer = &w->module->buffers[mutation->target];
  memset(out_shape, 0, sizeof *out_shape);
  out_shape->dtype = buffer->dtype;
  out_shape->rank = buffer->rank;
  for (size_t i = 0; i < buffer->rank; ++i)
    out_shape->dims[i] = buffer->sizes[i];
  return ETX_OK;
}

static etx_status check_mutation(const method_verifier* w, size_t index) {
  const etx_ir_mutation* const mutation = &w->method->mutations[index];
  static const value_user user = {"a mutation", 0};
  etx_shape target;
  ETX_TRY(check_use(w, mutation->value, 0, &user));
  ETX_TRY(target_shape(w, mutation, &target));
  for (size_t i = 0; i < index; ++i) {
    const etx_ir_mutation* const other = &w->method->mutations[i];
    if (other->is_input == mutation->is_input &&
        other->target == mutation->target) {
      return FAIL(w, "method '%t': mutations %z and %z have the same target",
                  w->method->name, i, index);
    }
  }
  const etx_ir_value* const value = &w->method->values[mutation->value];
  if (!value->has_shape) return ETX_OK;
  bool is_equal =
      value->shape.dtype == target.dtype && value->shape.rank == target.rank;
  for (size_t i = 0; is_equal && i < target.rank; ++i) {
    is_equal = etx_symbols_equal(&w->method->symbols, value->shape.dims[i],
                                 target.dims[i]);
  }
  if (is_equal) return ETX_OK;
  return FAIL(w,
              "method '%t': mutation %z writes '%t', whose type is not that of "
              "the target",
              w->method->name, index, value->name);
}

// A number for the names of all values: the texts themselves never change.
static uint64_t number_of_names(const etx_ir_method* method) {
  uint64_t number = method->value_count;
  for (size_t i = 0; i < method->value_count; ++i) {
    const etx_text name = method->values[i].name;
    number ^= (uint64_t)(uintptr_t)name.data + name.size;
    number *= UINT64_C(0x9e3779b97f4a7c15);
    number ^= number >> 32;
  }
  return number;
}

// Most passes leave the names as they are, so they are looked up only if they
// are others than the last time.
static etx_status check_names(const method_verifier* w) {
  const uint64_t number = number_of_names(w->method);
  if (number == w->method->checked_names) return ETX_OK;
  for (uint32_t i = 0; i < w->method->value_count; ++i) {
    uint32_t found = 0;
    if (etx_ir_find_value(w->method, w->method->values[i].name, &found) &&
        found == i) {
      continue;
    }
    return FAIL(w, "method '%t': the name '%t' is not unique", w->method->name,
                w->method->values[i].name);
  }
  w->method->checked_names = number;
  return ETX_OK;
}

// Checks that nodes set the symbols from data before others need them.
static etx_status check_late(const method_verifier* w) {
  uint32_t symbol = 0;
  size_t node = 0;
  for (size_t n = 0; n < w->method->node_count; ++n) {
    if (w->method->nodes[n].late <= w->method->symbols.symbol_count) continue;
    return FAIL(w, "method '%t': node %z sets an unknown symbol",
                w->method->name, n);
  }
  if (!etx_ir_late_find_unset(w->method, &symbol, &node)) return ETX_OK;
  return FAIL(w, "method '%t': node %z needs '%t' before a node sets it",
              w->method->name, node, w->method->symbols.symbols[symbol].name);
}

static bool is_one_number(const etx_ir_method* method, const etx_ir_arg* arg) {
  return arg->kind == ETX_IR_ARG_VALUE &&
         method->values[arg->as.value].shape.rank == 0;
}

static etx_status check_method(const method_verifier* w) {
  static const value_user user = {"an output", 0};
  ETX_TRY(check_names(w));
  ETX_TRY(check_inputs(w));
  for (uint32_t i = 0; i < w->method->node_count; ++i) {
    ETX_TRY(check_node(w, i));
  }
  for (size_t i = 0; i < w->method->output_count; ++i) {
    const etx_ir_output* const output = &w->method->outputs[i];
    ETX_TRY(check_arg(w, &output->arg, 0, &user));
    if (output->is_number && !is_one_number(w->method, &output->arg)) {
      return FAIL(w, "method '%t': output '%t' should be a tensor of rank 0",
                  w->method->name, output->name);
    }
  }
  for (size_t i = 0; i < w->method->mutation_count; ++i) {
    ETX_TRY(check_mutation(w, i));
  }
  return check_late(w);
}

static bool constant_is_sound(const etx_ir_constant* constant) {
  if (constant->rank > ETX_MAX_RANK || !etx_dtype_is_valid(constant->dtype)) {
    return false;
  }
  uint64_t bytes = etx_dtype_bytes(constant->dtype);
  for (size_t i = 0; i < constant->rank; ++i) {
    if (constant->sizes[i] < 0) return false;
    bytes *= (uint64_t)constant->sizes[i];
  }
  return bytes == constant->data.size;
}

static etx_status check_tables(const etx_ir_module* module, etx_diag* diag) {
  for (size_t i = 0; i < module->constant_count; ++i) {
    if (constant_is_sound(&module->constants[i])) continue;
    return etx_diag_fail(
        diag, ETX_INTERNAL,
        "constant %z has %z bytes, which is not the size of its type", i,
        module->constants[i].data.size);
  }
  for (size_t i = 0; i < module->buffer_count; ++i) {
    const etx_ir_buffer* const buffer = &module->buffers[i];
    const bool has_initial = buffer->initial != ETX_IR_NONE;
    if (!has_initial && buffer->is_state) continue;
    const etx_ir_constant* const initial =
        has_initial && buffer->initial < module->constant_count
            ? &module->constants[buffer->initial]
            : NULL;
    if (initial != NULL && initial->dtype == buffer->dtype &&
        initial->rank == buffer->rank &&
        memcmp(initial->sizes, buffer->sizes,
               buffer->rank * sizeof buffer->sizes[0]) == 0) {
      continue;
    }
    return etx_diag_fail(diag, ETX_INTERNAL,
                         "buffer '%t' has no initial value of its type",
                         buffer->name);
  }
  return ETX_OK;
}

etx_status etx_ir_verify(etx_ir_module* module, bool is_lowered,
                         etx_diag* diag) {
  ETX_TRY(check_tables(module, diag));
  for (size_t i = 0; i < module->method_count; ++i) {
    etx_ir_method* const method = &module->methods[i];
    etx_pool flags;
    etx_pool_init(&flags);
    const method_verifier w = {
        module, method,
        etx_pool_take(&flags, method->value_count * sizeof(uint32_t)),
        is_lowered, diag};
    const etx_status status =
        w.defined == NULL ? ETX_OUT_OF_MEMORY : check_method(&w);
    etx_pool_close(&flags);
    ETX_TRY(status);
  }
  return ETX_OK;
}
