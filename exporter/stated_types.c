#include "exporter/stated_types.h"

enum { SAMPLES = 6 };

// Assignment `sample` of the method's symbols: lowest, highest, then mixed.
static void assign(const etx_symbols* symbols, size_t sample,
                   int64_t values[ETX_SYMBOLS_MAX_COUNT]) {
  for (size_t i = 0; i < symbols->symbol_count && i < ETX_SYMBOLS_MAX_COUNT;
       ++i) {
    const int64_t low = symbols->symbols[i].minimum;
    const int64_t high = symbols->symbols[i].maximum;
    const uint64_t span = (uint64_t)(high - low) + 1;
    const uint64_t step = (sample * 7 + i * 3 + 1) * UINT64_C(2654435761);
    values[i] = sample == 0   ? low
                : sample == 1 ? high
                              : low + (int64_t)(step % span);
  }
}

// True if some assignment shows that the sizes are not the same; then what
// they are there.
static bool sizes_differ(const etx_symbols* symbols, etx_dim stated,
                         etx_dim found, int64_t* out_stated,
                         int64_t* out_found) {
  if (etx_symbols_equal(symbols, stated, found)) return false;
  if (symbols->symbol_count > ETX_SYMBOLS_MAX_COUNT) return false;
  int64_t values[ETX_SYMBOLS_MAX_COUNT];
  for (size_t sample = 0; sample < SAMPLES; ++sample) {
    assign(symbols, sample, values);
    const bool known =
        etx_symbols_evaluate(symbols, stated, values, out_stated) == ETX_OK &&
        etx_symbols_evaluate(symbols, found, values, out_found) == ETX_OK;
    if (known && *out_stated != *out_found) return true;
  }
  return false;
}

static bool are_same(const etx_symbols* symbols, etx_dim a, etx_dim b) {
  int64_t at_a = 0;
  int64_t at_b = 0;
  return !sizes_differ(symbols, a, b, &at_a, &at_b);
}

// True if the sizes are the same where no tensor is empty; bounds of sizes are
// then such, otherwise as they were. One size alone is tried first, then all.
static bool fits_without_empty(etx_ir_method* method, etx_dim stated,
                               etx_dim found) {
  etx_symbols* const symbols = &method->symbols;
  const size_t count = symbols->symbol_count;
  bool was_zero[ETX_SYMBOLS_MAX_COUNT] = {false};
  if (count > ETX_SYMBOLS_MAX_COUNT) return false;
  for (uint32_t i = 0; i < count; ++i) {
    const etx_symbol s = symbols->symbols[i];
    was_zero[i] = s.minimum == 0 && s.maximum > 0;
    if (!was_zero[i]) continue;
    etx_symbols_set_bounds(symbols, i, 1, s.maximum);
    if (are_same(symbols, stated, found)) return true;
    etx_symbols_set_bounds(symbols, i, 0, s.maximum);
  }
  for (int64_t minimum = 1; minimum >= 0; --minimum) {
    for (uint32_t i = 0; i < count; ++i) {
      if (!was_zero[i]) continue;
      etx_symbols_set_bounds(symbols, i, minimum, symbols->symbols[i].maximum);
    }
    if (minimum == 1 && are_same(symbols, stated, found)) return true;
  }
  return false;
}

static bool fits_size(etx_ir_method* method, etx_problems* problems,
                      const etx_ir_place* place, uint32_t stated, size_t axis,
                      const etx_shape* found, bool* out_raised) {
  const etx_ir_value* const value = &method->values[stated];
  const etx_dim wanted = value->shape.dims[axis];
  int64_t expected = 0;
  int64_t actual = 0;
  if (!sizes_differ(&method->symbols, wanted, found->dims[axis], &expected,
                    &actual)) {
    return true;
  }
  if (fits_without_empty(method, wanted, found->dims[axis])) {
    *out_raised = true;
    return true;
  }
  etx_problem(problems, place, "dimension %z of '%t' is stated as %i, found %i",
              axis, value->name, expected, actual);
  return false;
}

bool etx_stated_type_fits(etx_ir_method* method, etx_problems* problems,
                          const etx_ir_place* place, uint32_t stated,
                          const etx_shape* found, bool* out_raised) {
  const etx_ir_value* const value = &method->values[stated];
  if (!value->has_shape) return true;
  if (value->shape.dtype != found->dtype) {
    etx_problem(problems, place, "'%t' is stated as %s, found %s", value->name,
                etx_dtype_name(value->shape.dtype),
                etx_dtype_name(found->dtype));
    return false;
  }
  if (value->shape.rank != found->rank) {
    etx_problem(problems, place, "'%t' is stated with rank %u, found %u",
                value->name, (uint64_t)value->shape.rank,
                (uint64_t)found->rank);
    return false;
  }
  for (size_t i = 0; i < found->rank; ++i) {
    if (!fits_size(method, problems, place, stated, i, found, out_raised)) {
      return false;
    }
  }
  return true;
}
