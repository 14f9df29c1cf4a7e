// program.yaml bounds sizes of inputs, the IR bounds symbols. A size of the
// form factor * symbol + offset (2*s, s + 1) turns its bounds into bounds of
// the symbol; no other size can be bounded.

#include "exporter/read_yaml/program_dims.h"

#include "exporter/host/nearest_name.h"
#include "format/base/checked_math.h"

etx_status etx_program_find_method(etx_program_file* program,
                                   const etx_yaml* key,
                                   etx_ir_method** out_method,
                                   etx_text* out_rest, etx_diag* diag) {
  etx_ir_module* const module = program->module;
  etx_ir_method* best = NULL;
  size_t dot = 0;
  while (dot < key->text.size && key->text.data[dot] != '.') ++dot;
  const etx_text first = {key->text.data, dot};
  etx_nearest_name nearest = etx_nearest_start(first);
  for (size_t i = 0; i < module->method_count; ++i) {
    etx_ir_method* const method = &module->methods[i];
    etx_nearest_offer(&nearest, method->name);
    if (etx_text_starts_with(key->text, method->name) &&
        key->text.size > method->name.size + 1 &&
        key->text.data[method->name.size] == '.' &&
        (best == NULL || method->name.size > best->name.size)) {
      best = method;
    }
  }
  if (best == NULL) {
    char hint[96];
    uint32_t unused = 0;
    if (etx_ir_find_method(module, first, &unused)) {
      return etx_yaml_fail(key, diag,
                           "expected the name of a value after the method, "
                           "'%t.NAME', found '%t'",
                           first, key->text);
    }
    return etx_yaml_fail(key, diag, "there is no method '%t'%s", first,
                         etx_nearest_hint(&nearest, hint, sizeof hint));
  }
  *out_method = best;
  out_rest->data = key->text.data + best->name.size + 1;
  out_rest->size = key->text.size - best->name.size - 1;
  return ETX_OK;
}

// Splits "input[2]"; `*out_dim` is -1 without brackets.
static etx_status split_index(const etx_yaml* key, etx_text* name,
                              int64_t* out_dim, etx_diag* diag) {
  *out_dim = -1;
  if (name->size == 0 || name->data[name->size - 1] != ']') return ETX_OK;
  size_t at = name->size - 1;
  while (at > 0 && name->data[at] != '[') --at;
  int64_t dim = 0;
  for (size_t i = at + 1; i + 1 < name->size; ++i) {
    const char c = name->data[i];
    if (c < '0' || c > '9' || dim > ETX_MAX_RANK) {
      return etx_yaml_fail(key, diag,
                           "'%t' should have the form method.input[dimension]",
                           key->text);
    }
    dim = dim * 10 + (c - '0');
  }
  if (at == 0 || at + 2 == name->size) {  // no name, or no number
    return etx_yaml_fail(key, diag,
                         "'%t' should have the form method.input[dimension]",
                         key->text);
  }
  name->size = at;
  *out_dim = dim;
  return ETX_OK;
}

static etx_status find_size(etx_ir_method* method, const etx_yaml* key,
                            etx_text name, int64_t dim, etx_dim* out,
                            etx_diag* diag) {
  etx_nearest_name nearest = etx_nearest_start(name);
  for (size_t i = 0; i < method->input_count; ++i) {
    const etx_ir_input* const input = &method->inputs[i];
    etx_nearest_offer(&nearest, input->name);
    if (!etx_text_equal(input->name, name)) continue;
    if (dim < 0 && input->arg.kind == ETX_IR_ARG_INT) {
      *out = input->arg.as.integer;
      return ETX_OK;
    }
    if (input->arg.kind != ETX_IR_ARG_VALUE) {
      return etx_yaml_fail(key, diag, "input '%t' is not a tensor", name);
    }
    const etx_shape* const shape = &method->values[input->arg.as.value].shape;
    if (dim < 0 || dim >= shape->rank) {
      return etx_yaml_fail(
          key, diag,
          "input '%t' has %i dimensions: write method.input[dimension]", name,
          (int64_t)shape->rank);
    }
    *out = shape->dims[dim];
    return ETX_OK;
  }
  uint32_t symbol = 0;
  if (etx_symbols_find(&method->symbols, name, &symbol) &&
      method->symbols.symbols[symbol].is_late) {
    return etx_symbols_dim(&method->symbols, symbol, out);
  }
  char hint[96];
  return etx_yaml_fail(key, diag, "method '%t' has no input '%t'%s",
                       method->name, name,
                       etx_nearest_hint(&nearest, hint, sizeof hint));
}

// Replaces low and high by the smallest and the largest integer s with
// low <= factor * s + offset <= high. False on overflow.
static bool bound_symbol(int64_t factor, int64_t offset, int64_t* low,
                         int64_t* high) {
  int64_t rest = 0;
  if (*low != INT64_MIN) {
    if (!etx_subtract_i64(*low, offset, low) ||
        !etx_floor_divide(*low, factor, low, &rest)) {
      return false;
    }
    if (rest != 0) ++*low;
  }
  if (*high == INT64_MAX) return true;
  return etx_subtract_i64(*high, offset, high) &&
         etx_floor_divide(*high, factor, high, &rest);
}

static etx_status narrow_symbol(etx_ir_method* method, const etx_yaml* key,
                                etx_dim size, int64_t low, int64_t high,
                                etx_diag* diag) {
  uint32_t index = 0;
  int64_t factor = 0, offset = 0;
  if (!etx_symbols_affine(&method->symbols, size, &index, &factor, &offset) ||
      factor <= 0 || !bound_symbol(factor, offset, &low, &high)) {
    return etx_yaml_fail(key, diag,
                         "'%t' cannot be bounded: it is fixed, or depends on "
                         "its dimension by more than a factor and an offset",
                         key->text);
  }
  etx_symbol* const symbol = &method->symbols.symbols[index];
  if ((low != INT64_MIN && low < symbol->floor) ||
      (high != INT64_MAX && high > symbol->maximum)) {
    return etx_yaml_fail(
        key, diag,
        "bounds can only be tightened: the model bounds '%t' by %i..%i",
        symbol->name, symbol->floor, symbol->maximum);
  }
  // A lower bound that the user states is not raised: a node that cannot have
  // it is reported.
  if (low != INT64_MIN) symbol->fallback = low;
  if (low == INT64_MIN) low = symbol->minimum;
  if (high == INT64_MAX) high = symbol->maximum;
  if (high < low) {
    return etx_yaml_fail(key, diag, "'%t' gets the empty range %i..%i",
                         symbol->name, low, high);
  }
  etx_symbols_set_bounds(&method->symbols, index, low, high);
  return etx_ir_refresh_sizes(method);
}

// Gives the symbol of `size` another name. Archives name symbols by numbers.
static etx_status name_symbol(etx_ir_method* method, const etx_yaml* node,
                              etx_dim size, etx_diag* diag) {
  etx_symbols* const symbols = &method->symbols;
  uint32_t index = 0, other = 0;
  int64_t factor = 0, offset = 0;
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_SCALAR, "name", diag));
  if (!etx_symbols_affine(symbols, size, &index, &factor, &offset)) {
    return etx_yaml_fail(node, diag,
                         "the size is fixed or depends on several symbols: "
                         "'%t' can name one symbol only",
                         node->text);
  }
  if (!etx_symbols_is_name(node->text)) {
    return etx_yaml_fail(node, diag,
                         "'%t' cannot name a dimension: expected letters, "
                         "digits and '_', and neither 'min' nor 'max'",
                         node->text);
  }
  if (etx_symbols_find(symbols, node->text, &other) && other != index) {
    return etx_yaml_fail(node, diag,
                         "another size of method '%t' has the name '%t'",
                         method->name, node->text);
  }
  symbols->symbols[index].name = node->text;
  return ETX_OK;
}

etx_status etx_program_dim(etx_program_file* program, const etx_yaml* key,
                           const etx_yaml* bounds, etx_diag* diag) {
  etx_ir_method* method = NULL;
  etx_text name;
  int64_t dim = 0, low = INT64_MIN, high = INT64_MAX;
  etx_dim size = 0;
  ETX_TRY(etx_program_find_method(program, key, &method, &name, diag));
  ETX_TRY(split_index(key, &name, &dim, diag));
  ETX_TRY(find_size(method, key, name, dim, &size, diag));
  ETX_TRY(etx_yaml_expect(bounds, ETX_YAML_MAP, "dims", diag));
  ETX_TRY(etx_yaml_check_keys(bounds, "min max name", diag));
  const etx_yaml* const minimum = etx_yaml_find(bounds, "min");
  const etx_yaml* const maximum = etx_yaml_find(bounds, "max");
  if (minimum != NULL) ETX_TRY(etx_yaml_int(minimum, "min", &low, diag));
  const etx_yaml* const symbol = etx_yaml_find(bounds, "name");
  if (maximum != NULL) ETX_TRY(etx_yaml_int(maximum, "max", &high, diag));
  if (symbol != NULL) ETX_TRY(name_symbol(method, symbol, size, diag));
  if (minimum == NULL && maximum == NULL && symbol != NULL) return ETX_OK;
  return narrow_symbol(method, key, size, low, high, diag);
}

// ---------------------------------------------------------------- check

// "encode.tokens[1]": the first input whose size has the symbol.
static etx_text find_input_of(etx_pool* pool, const etx_ir_method* method,
                              uint32_t symbol) {
  uint32_t found = 0;
  int64_t factor = 0, offset = 0;
  for (size_t i = 0; i < method->input_count; ++i) {
    const etx_ir_input* const input = &method->inputs[i];
    if (input->arg.kind == ETX_IR_ARG_INT &&
        etx_symbols_affine(&method->symbols, input->arg.as.integer, &found,
                           &factor, &offset) &&
        found == symbol) {
      return etx_pool_format(pool, "%t.%t", method->name, input->name);
    }
    if (input->arg.kind != ETX_IR_ARG_VALUE) continue;
    const etx_shape* const shape = &method->values[input->arg.as.value].shape;
    for (size_t j = 0; j < shape->rank; ++j) {
      if (!etx_symbols_affine(&method->symbols, shape->dims[j], &found, &factor,
                              &offset) ||
          found != symbol) {
        continue;
      }
      return etx_pool_format(pool, "%t.%t[%z]", method->name, input->name, j);
    }
  }
  return etx_text_of("");
}

void etx_program_check_bounds(etx_program_file* program) {
  etx_ir_module* const module = program->module;
  for (size_t i = 0; i < module->method_count; ++i) {
    const etx_ir_method* const method = &module->methods[i];
    etx_source_location place = {0};
    place.file = method->file;
    for (uint32_t j = 0; j < method->symbols.symbol_count; ++j) {
      const etx_symbol* const symbol = &method->symbols.symbols[j];
      const bool has_low = symbol->minimum != INT64_MIN;
      if (symbol->is_late) continue;  // size_caps.c
      if (has_low && symbol->maximum != INT64_MAX) continue;
      const etx_text address = find_input_of(module->pool, method, j);
      const char* const key = has_low ? "max" : "min: M, max";
      etx_import_problem(
          program->import, ETX_UNSUPPORTED, &place,
          "size '%t' of method '%t' has no %s bound: write dims: {\"%t\": {%s: "
          "N}} in program.yaml, or export with torch.export.Dim(..., max=N)",
          symbol->name, method->name, has_low ? "upper" : "lower", address,
          key);
    }
  }
}
