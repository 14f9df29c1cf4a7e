#include "exporter/specialize/specialize_method.h"

#include "exporter/host/nearest_name.h"
#include "exporter/ir/ir_edit.h"
#include "format/pte/variant_name.h"

// One variant: a method, an option, and a range of each of its symbols.
typedef struct variant {
  const etx_specialize_option* option;
  uint32_t symbols[ETX_SPECIALIZE_SYMBOLS];  // positions in the method
  etx_specialize_range ranges[ETX_SPECIALIZE_SYMBOLS];
} variant;

// ---------------------------------------------------------------- symbols

// `name[dim]` of a tensor: the symbol which is the size of that dimension.
static bool find_by_input(const etx_ir_method* method, etx_text name,
                          uint32_t* out_symbol) {
  size_t open = 0;
  size_t dim = 0;
  while (open < name.size && name.data[open] != '[') ++open;
  if (open + 3 != name.size || name.data[open + 2] != ']') return false;
  if (name.data[open + 1] < '0' || name.data[open + 1] > '9') return false;
  dim = (size_t)(name.data[open + 1] - '0');
  for (size_t i = 0; i < method->input_count; ++i) {
    const etx_ir_input* const input = &method->inputs[i];
    const etx_text wanted = {name.data, open};
    if (!etx_text_equal(input->name, wanted)) continue;
    if (input->arg.kind != ETX_IR_ARG_VALUE) return false;
    const etx_shape* const shape = &method->values[input->arg.as.value].shape;
    int64_t factor = 0;
    int64_t offset = 0;
    return dim < shape->rank &&
           etx_symbols_affine(&method->symbols, shape->dims[dim], out_symbol,
                              &factor, &offset) &&
           factor == 1 && offset == 0;
  }
  return false;
}

static bool find_symbol(const etx_ir_method* method, etx_text name,
                        uint32_t* out_symbol) {
  return etx_symbols_find(&method->symbols, name, out_symbol) ||
         find_by_input(method, name, out_symbol);
}

// True if the method has all symbols of the option.
static bool find_symbols(const etx_ir_method* method, variant* v) {
  for (size_t i = 0; i < v->option->symbol_count; ++i) {
    if (!find_symbol(method, v->option->symbols[i].name, &v->symbols[i])) {
      return false;
    }
  }
  return true;
}

// Refuses what holds for no size.
static etx_status check_symbols(const etx_ir_method* method, const variant* v,
                                etx_diag* diag) {
  for (size_t i = 0; i < v->option->symbol_count; ++i) {
    const etx_symbol* const symbol = &method->symbols.symbols[v->symbols[i]];
    if (symbol->is_late) {
      return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                           "'%t' of method '%t' is decided by data during the "
                           "run, so no variant can be chosen by it",
                           symbol->name, method->name);
    }
    for (size_t k = 0; k < i; ++k) {
      if (v->symbols[k] != v->symbols[i]) continue;
      return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                           "'%t' names '%t' of method '%t' twice",
                           v->option->text, symbol->name, method->name);
    }
  }
  return ETX_OK;
}

// ------------------------------------------------ what the model excludes

static etx_status skip(etx_ir_module* module, etx_text why) {
  if (why.data == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_pool_grow(module->pool, &module->skipped, module->skipped_count,
                        &module->skipped_capacity, sizeof *module->skipped));
  module->skipped[module->skipped_count++] = why;
  return ETX_OK;
}

// Notes a range that is not within the bounds of its symbol.
static etx_status check_bounds(etx_ir_module* module,
                               const etx_ir_method* method, const variant* v,
                               bool* out_is_within) {
  *out_is_within = true;
  for (size_t i = 0; i < v->option->symbol_count; ++i) {
    const etx_specialize_range* const range = &v->ranges[i];
    const etx_symbol* const symbol = &method->symbols.symbols[v->symbols[i]];
    if (range->low >= symbol->minimum && range->high <= symbol->maximum) {
      continue;
    }
    *out_is_within = false;
    return skip(
        module,
        etx_pool_format(module->pool,
                        "%i is out of the bounds of '%t' in method "
                        "'%t', %i and %i",
                        range->low < symbol->minimum ? range->low : range->high,
                        symbol->name, method->name, symbol->minimum,
                        symbol->maximum));
  }
  return ETX_OK;
}

// The condition of the model that no size of the variant meets; empty: there is
// none.
static etx_text failed_condition(const etx_ir_method* method) {
  for (size_t i = 0; i < method->node_count; ++i) {
    const etx_ir_node* const node = &method->nodes[i];
    if (node->branch == 0 && node->arg_count > 1 &&
        etx_text_is(node->aten, "aten._assert_scalar.default") &&
        node->args[0].kind == ETX_IR_ARG_INT && node->args[0].as.integer == 0 &&
        node->args[1].kind == ETX_IR_ARG_STRING) {
      return node->args[1].as.string;
    }
  }
  return (etx_text){NULL, 0};
}

// ---------------------------------------------------------------- variants

// Narrows all symbols first, since their positions change when one is replaced.
static etx_status narrow(etx_ir_method* method, const variant* v) {
  const size_t count = v->option->symbol_count;
  uint64_t fixed = 0;
  for (size_t i = 0; i < count; ++i) {
    const etx_specialize_range* const range = &v->ranges[i];
    etx_symbols_set_bounds(&method->symbols, v->symbols[i], range->low,
                           range->high);
    if (range->low == range->high) fixed |= UINT64_C(1) << v->symbols[i];
  }
  ETX_TRY(etx_ir_refresh_sizes(method));
  for (uint32_t i = ETX_SYMBOLS_MAX_COUNT; i-- > 0;) {
    if (((fixed >> i) & 1) == 0) continue;
    const etx_symbol_replacement by = {
        .index = i, .offset = method->symbols.symbols[i].minimum};
    ETX_TRY(etx_ir_replace_symbol(method, &by));
  }
  return ETX_OK;
}

// The first name that no method has yet.
static etx_status free_name(const etx_ir_module* module, etx_text method,
                            etx_text* out_name, etx_diag* diag) {
  char buffer[ETX_VARIANT_NAME_BYTES];
  for (size_t i = 0; i < ETX_VARIANTS_MOST; ++i) {
    uint32_t other = 0;
    const etx_text name = etx_variant_name(method, i, buffer);
    if (name.size == 0) break;
    if (etx_ir_find_method(module, name, &other)) continue;
    *out_name = etx_pool_copy_text(module->pool, name);
    return out_name->data == NULL ? ETX_OUT_OF_MEMORY : ETX_OK;
  }
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "method '%t' has too many variants, or a name of more "
                       "than %z bytes; at most %z variants are possible",
                       method, (size_t)ETX_VARIANT_METHOD_BYTES,
                       (size_t)ETX_VARIANTS_MOST);
}

static etx_status add_variant(etx_ir_module* module, uint32_t index,
                              const variant* v, etx_diag* diag) {
  etx_ir_method copy;
  etx_text name;
  ETX_TRY(free_name(module, module->methods[index].name, &name, diag));
  ETX_TRY(etx_ir_copy_method(module->pool, &module->methods[index], &copy));
  ETX_TRY(narrow(&copy, v));
  const etx_text failed = failed_condition(&copy);
  if (failed.size > 0) {
    return skip(module,
                etx_pool_format(module->pool,
                                "method '%t' has no variant '%t': the model "
                                "excludes its sizes by the condition '%t'",
                                copy.name, name, failed));
  }
  copy.name = name;
  uint32_t added = 0;
  ETX_TRY(etx_ir_add_method(module, name, &added));
  module->methods[added] = copy;
  return ETX_OK;
}

// Goes over all combinations, the last symbol fastest.
static etx_status add_all(etx_ir_module* module, uint32_t index, variant* v,
                          bool* out_fits, etx_diag* diag) {
  const etx_specialize_option* const option = v->option;
  size_t at[ETX_SPECIALIZE_SYMBOLS] = {0};
  for (;;) {
    for (size_t i = 0; i < option->symbol_count; ++i) {
      v->ranges[i] = option->symbols[i].ranges[at[i]];
    }
    bool is_within = false;
    ETX_TRY(check_bounds(module, &module->methods[index], v, &is_within));
    if (is_within) ETX_TRY(add_variant(module, index, v, diag));
    *out_fits = *out_fits || is_within;
    size_t i = option->symbol_count;
    while (i > 0 && ++at[i - 1] == option->symbols[i - 1].range_count) {
      at[--i] = 0;
    }
    if (i == 0) return ETX_OK;
  }
}

// Methods that may run at the same time have scratch of their own. A variant
// would need it, too.
static etx_status check_method(const etx_ir_module* module, etx_text name,
                               etx_diag* diag) {
  for (size_t i = 0; i < module->concurrent_count; ++i) {
    const etx_ir_pair* const pair = &module->concurrent[i];
    if (!etx_text_equal(pair->first, name) &&
        !etx_text_equal(pair->second, name)) {
      continue;
    }
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "method '%t' may run at the same time as others, so "
                         "it can have no variants",
                         name);
  }
  return ETX_OK;
}

// The sizes that an option may name, as "decode:s1, prefill:s2"; NULL if memory
// is exhausted.
static etx_text known_sizes(const etx_ir_module* module) {
  enum { MOST = 8 };
  etx_text list = etx_text_of("none");
  size_t count = 0;
  for (size_t i = 0; i < module->method_count; ++i) {
    const etx_ir_method* const method = &module->methods[i];
    for (uint32_t k = 0; k < method->symbols.symbol_count; ++k) {
      const etx_symbol* const symbol = &method->symbols.symbols[k];
      if (symbol->is_late) continue;
      if (++count > MOST) {
        return etx_pool_format(module->pool, "%t and others", list);
      }
      const etx_text before = count == 1 ? etx_text_of("") : list;
      list =
          etx_pool_format(module->pool, "%t%s%t:%t", before,
                          count == 1 ? "" : ", ", method->name, symbol->name);
      if (list.data == NULL) return list;
    }
  }
  return list;
}

static etx_status fail_unknown_size(const etx_ir_module* module,
                                    const etx_specialize_option* option,
                                    etx_diag* diag) {
  const etx_text known = known_sizes(module);
  if (known.data == NULL) return ETX_OUT_OF_MEMORY;
  if (option->method.size == 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "no method has the sizes that '%t' names; sizes that "
                         "vary: %t",
                         option->text, known);
  }
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "method '%t' does not have the sizes that '%t' names; "
                       "sizes that vary: %t",
                       option->method, option->text, known);
}

static etx_status fail_unknown(const etx_ir_module* module,
                               const etx_specialize_option* option,
                               etx_diag* diag) {
  etx_nearest_name nearest = etx_nearest_start(option->method);
  char hint[96];
  uint32_t index = 0;
  if (option->method.size == 0 ||
      etx_ir_find_method(module, option->method, &index)) {
    return fail_unknown_size(module, option, diag);
  }
  for (size_t i = 0; i < module->method_count; ++i) {
    etx_nearest_offer(&nearest, module->methods[i].name);
  }
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT, "there is no method '%t'%s",
                       option->method,
                       etx_nearest_hint(&nearest, hint, sizeof hint));
}

etx_status etx_specialize_methods(etx_ir_module* module,
                                  const etx_specialize_option* option,
                                  etx_diag* diag) {
  const size_t count = module->method_count;  // without the variants
  const size_t skipped = module->skipped_count;
  bool is_used = false;
  bool fits = false;
  for (uint32_t i = 0; i < count; ++i) {
    const etx_ir_method* const method = &module->methods[i];
    variant v = {.option = option};
    if ((option->method.size != 0 &&
         !etx_text_equal(option->method, method->name)) ||
        etx_is_variant_name(method->name) || !find_symbols(method, &v)) {
      continue;
    }
    is_used = true;
    ETX_TRY(check_method(module, method->name, diag));
    ETX_TRY(check_symbols(method, &v, diag));
    ETX_TRY(add_all(module, i, &v, &fits, diag));
  }
  if (!is_used) return fail_unknown(module, option, diag);
  return fits ? ETX_OK
              : etx_diag_fail(diag, ETX_BAD_ARGUMENT, "%t",
                              module->skipped[skipped]);
}
