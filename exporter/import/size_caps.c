#include "exporter/import/size_caps.h"

#include "exporter/host/read_digits.h"
#include "exporter/ir/ir_late.h"
#include "format/base/checked_math.h"

// A number that decides no size may be anything that a double represents
// exactly.
#define NUMBER_MOST (INT64_C(1) << 53)

// ---------------------------------------------------------------- the option

etx_status etx_size_cap_add(etx_ir_module* module, etx_text text,
                            etx_diag* diag) {
  size_t equals = 0;
  etx_size_cap cap = {0};
  while (equals < text.size && text.data[equals] != '=') ++equals;
  const etx_text digits = {text.data + equals + 1,
                           equals < text.size ? text.size - equals - 1 : 0};
  if (equals == 0 || !etx_read_digits(digits, &cap.most) ||
      cap.most > INT32_MAX) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "'%t' should have the form NAME=N, such as u0=64 or "
                         "method.u0=64, with N at most 2147483647",
                         text);
  }
  cap.name = etx_pool_copy_text(module->pool, (etx_text){text.data, equals});
  if (cap.name.data == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_pool_grow(module->pool, &module->caps, module->cap_count,
                        &module->cap_capacity, sizeof cap));
  module->caps[module->cap_count++] = cap;
  return ETX_OK;
}

// True if the cap is of the symbol: `u0` or `method.u0`.
static bool is_cap_of(const etx_size_cap* cap, const etx_ir_method* method,
                      etx_text symbol) {
  const size_t prefix = method->name.size + 1;
  if (etx_text_equal(cap->name, symbol)) return true;
  if (cap->name.size != prefix + symbol.size ||
      !etx_text_starts_with(cap->name, method->name) ||
      cap->name.data[prefix - 1] != '.') {
    return false;
  }
  const etx_text rest = {cap->name.data + prefix, symbol.size};
  return etx_text_equal(rest, symbol);
}

bool etx_size_cap_find(const etx_ir_module* module, const etx_ir_method* method,
                       etx_text symbol, int64_t* out_most) {
  for (size_t i = 0; i < module->cap_count; ++i) {
    if (!is_cap_of(&module->caps[i], method, symbol)) continue;
    *out_most = module->caps[i].most;
    return true;
  }
  return false;
}

// ---------------------------------------------------------------- bounds

// The most elements that a tensor has; INT64_MAX if that is not known.
static int64_t most_elements(const etx_ir_method* method,
                             const etx_shape* shape) {
  int64_t sizes[ETX_MAX_RANK];
  int64_t count = 1;
  if (!etx_ir_upper_sizes(method, shape, sizes)) return INT64_MAX;
  for (size_t i = 0; i < shape->rank; ++i) {
    if (sizes[i] == INT64_MAX || !etx_multiply_i64(count, sizes[i], &count)) {
      return INT64_MAX;
    }
  }
  return count;
}

// The tensor of an argument or of an item of it; NULL if it is none.
static const etx_shape* shape_of(const etx_ir_method* method,
                                 const etx_ir_arg* arg) {
  if (arg->kind != ETX_IR_ARG_VALUE) return NULL;
  const etx_ir_value* const value = &method->values[arg->as.value];
  return value->has_shape ? &value->shape : NULL;
}

// The most elements of a mask among the indices of index.Tensor.
static int64_t most_selected(const etx_ir_method* method,
                             const etx_ir_arg* indices) {
  int64_t most = -1;
  if (indices->kind != ETX_IR_ARG_LIST) return INT64_MAX;
  for (size_t i = 0; i < indices->as.list.count; ++i) {
    const etx_shape* const shape = shape_of(method, &indices->as.list.items[i]);
    if (shape == NULL ||
        (shape->dtype != ETX_DTYPE_BOOL && shape->dtype != ETX_DTYPE_UINT8)) {
      continue;
    }
    const int64_t count = most_elements(method, shape);
    if (count > most) most = count;
  }
  return most < 0 ? INT64_MAX : most;
}

// The largest size that the operator can give; INT64_MAX if it has no bound.
static int64_t bound_of(const etx_ir_method* method, const etx_ir_node* node) {
  // Results have at most as many rows as this argument has elements.
  static const struct {
    const char* aten;
    size_t argument;
  } counting[] = {
      {"aten._unique2.default", 0},   {"aten.argwhere.default", 0},
      {"aten.nonzero.default", 0},    {"aten.nonzero_numpy.default", 0},
      {"aten.where.default", 0},      {"aten.unique_consecutive.default", 0},
      {"aten.unique_dim.default", 0}, {"torchvision.nms.default", 1}};
  if (etx_text_is(node->aten, "aten.index.Tensor") && node->arg_count > 1) {
    return most_selected(method, &node->args[1]);
  }
  for (size_t i = 0; i < sizeof counting / sizeof *counting; ++i) {
    const size_t at = counting[i].argument;
    if (!etx_text_is(node->aten, counting[i].aten)) continue;
    if (node->arg_count <= at) return INT64_MAX;
    const etx_shape* const shape = shape_of(method, &node->args[at]);
    return shape == NULL ? INT64_MAX : most_elements(method, shape);
  }
  if (!etx_text_is(node->aten, "aten.masked_select.default") ||
      node->arg_count < 2) {
    return INT64_MAX;
  }
  // Self and the mask are broadcast.
  const etx_shape* const self = shape_of(method, &node->args[0]);
  const etx_shape* const mask = shape_of(method, &node->args[1]);
  if (self == NULL || mask == NULL || self->rank != mask->rank) {
    return INT64_MAX;
  }
  etx_shape wide = *self;
  for (size_t i = 0; i < wide.rank; ++i) {
    if (wide.dims[i] == 1) wide.dims[i] = mask->dims[i];
  }
  return most_elements(method, &wide);
}

static bool is_size(const etx_ir_method* method, uint32_t symbol) {
  for (size_t i = 0; i < method->value_count; ++i) {
    const etx_ir_value* const value = &method->values[i];
    for (size_t d = 0; value->has_shape && d < value->shape.rank; ++d) {
      const uint64_t late =
          etx_symbols_late_in(&method->symbols, value->shape.dims[d]);
      if (((late >> symbol) & 1) != 0) return true;
    }
  }
  return false;
}

static etx_status narrow(etx_import* import, etx_ir_method* method,
                         const etx_ir_node* node, int64_t low, int64_t high) {
  const uint32_t index = node->late - 1;
  const etx_symbol* const symbol = &method->symbols.symbols[index];
  if (low < symbol->minimum) low = symbol->minimum;
  if (high > symbol->maximum) high = symbol->maximum;
  if (low == symbol->minimum && high == symbol->maximum) return ETX_OK;
  if (high < low) {
    etx_import_problem(import, ETX_BAD_ARGUMENT, &node->place,
                       "size '%t' of method '%t' gets the empty range %i..%i",
                       symbol->name, method->name, low, high);
    return ETX_OK;
  }
  etx_symbols_set_bounds(&method->symbols, index, low, high);
  return etx_ir_refresh_sizes(method);
}

static etx_status apply_caps(etx_import* import, etx_ir_method* method,
                             const etx_ir_node* node) {
  const uint32_t index = node->late - 1;
  for (size_t i = 0; i < import->module->cap_count; ++i) {
    etx_size_cap* const cap = &import->module->caps[i];
    const etx_symbol* const symbol = &method->symbols.symbols[index];
    if (!is_cap_of(cap, method, symbol->name)) continue;
    cap->is_used = true;
    ETX_TRY(narrow(import, method, node, INT64_MIN, cap->most));
  }
  return ETX_OK;
}

static void report_no_bound(etx_import* import, const etx_ir_method* method,
                            const etx_ir_node* node) {
  const etx_text name = method->symbols.symbols[node->late - 1].name;
  etx_import_problem(
      import, ETX_UNSUPPORTED, &node->place,
      "size '%t' of method '%t', which '%t' reads from data, has no upper "
      "bound: write dims: {\"%t.%t\": {max: N}} in program.yaml, give the "
      "option --cap %t.%t=N, or call torch._check(size <= N) in the model",
      name, method->name, node->aten, method->name, name, method->name, name);
}

static etx_status bound_node(etx_import* import, etx_ir_method* method,
                             const etx_ir_node* node) {
  const bool bounds_size = is_size(method, node->late - 1);
  const etx_symbol* symbol = &method->symbols.symbols[node->late - 1];
  // torchvision states that 2 boxes or more are left, whatever the data are.
  if (etx_text_is(node->aten, "torchvision.nms.default")) {
    etx_symbols_set_bounds(&method->symbols, node->late - 1, 0,
                           symbol->maximum);
    ETX_TRY(etx_ir_refresh_sizes(method));
  }
  if (bounds_size) {
    ETX_TRY(narrow(import, method, node, 0, bound_of(method, node)));
  }
  ETX_TRY(apply_caps(import, method, node));
  if (!bounds_size) {
    return narrow(import, method, node,
                  symbol->minimum == INT64_MIN ? -NUMBER_MOST : INT64_MIN,
                  symbol->maximum == INT64_MAX ? NUMBER_MOST : INT64_MAX);
  }
  if (symbol->maximum == INT64_MAX) report_no_bound(import, method, node);
  return ETX_OK;
}

// ---------------------------------------------------------------- all

static void report_unset(etx_import* import, const etx_ir_method* method) {
  uint32_t symbol = 0;
  size_t node = 0;
  etx_source_location place = {.file = method->file};
  if (!etx_ir_late_find_unset(method, &symbol, &node)) return;
  if (node < method->node_count) place = method->nodes[node].place;
  etx_import_problem(import, ETX_BAD_FILE, &place,
                     "method '%t': '%t' is needed where no node has set it: "
                     "before the node that sets it, or outside of its branch",
                     method->name, method->symbols.symbols[symbol].name);
}

etx_status etx_size_caps_apply(etx_import* import) {
  etx_ir_module* const module = import->module;
  for (size_t i = 0; i < module->method_count; ++i) {
    etx_ir_method* const method = &module->methods[i];
    for (size_t n = 0; n < method->node_count; ++n) {
      if (method->nodes[n].late == 0) continue;
      ETX_TRY(bound_node(import, method, &method->nodes[n]));
    }
    report_unset(import, method);
  }
  for (size_t i = 0; i < module->cap_count; ++i) {
    const etx_source_location nowhere = {0};
    if (module->caps[i].is_used) continue;
    etx_import_problem(import, ETX_NOT_FOUND, &nowhere,
                       "option --cap names '%t', but no method has a size or "
                       "integer of that name that data decide",
                       module->caps[i].name);
  }
  return ETX_OK;
}
