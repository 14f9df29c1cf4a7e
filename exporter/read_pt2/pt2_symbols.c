// Parses the symbolic sizes of an archive into sizes of the method. Sizes are
// sympy expressions as sympy.srepr prints them: Add(Symbol('s40'), Integer(1)).

#include "exporter/host/read_digits.h"
#include "exporter/read_pt2/pt2_internal.h"
#include "format/base/checked_math.h"

enum { MAX_DEPTH = 40, MAX_EXPONENT = 12 };

typedef struct srepr_parser {
  etx_pt2_graph* graph;
  etx_text text;
  size_t at;
  size_t depth;
  etx_text unsupported;  // the innermost function that is not supported
} srepr_parser;

// ---------------------------------------------------------------- ranges

// Ranges of symbols, from the archive. The keys of range_constraints are
// ordinary expressions: s40 + 1.
//
// A derived dimension such as 2*s40 has an entry of its own in
// range_constraints, and torch.export then clamps the lower bound of s40 to 2.
// So the lower bound of s40 is taken from the entries of derived dimensions if
// there are any.
//
// torch.export assumes that a size that varies is at least 2, and states the
// range of the Dim: it starts at 0 for a Dim without `min`, at 2 for Dim.AUTO
// and Dim.DYNAMIC. The exported program checks a lower bound only if it is
// above 2, so it runs smaller sizes. But the graph need not be right for them:
// x[:1] of [s40, 4] has the stated size 1 even if x has no rows, and
// x.squeeze(0) has two dimensions even if x has one row. So a stated bound of 0
// is tried as it is, and a stated bound of 2 as 1; a stated bound of 1 stays.
// If a node cannot have the size, the pass `lower` raises the bound, up to
// `fallback`. `floor` is the least bound that program.yaml may ask for.

static etx_status read_bound(etx_pt2_graph* graph, const etx_json* entry,
                             const char* key, int64_t none, int64_t* out) {
  const etx_json* const bound = etx_json_member(entry, key);
  *out = none;
  if (bound == NULL || bound->kind == ETX_JSON_NULL) return ETX_OK;
  ETX_TRY(etx_pt2_expect(graph, bound, ETX_JSON_INT, key));
  *out = bound->integer;
  return ETX_OK;
}

// If `key` is factor * name + offset, narrows `found` by the bounds of `entry`.
static etx_status apply_derived(etx_pt2_graph* graph, etx_text key,
                                const etx_json* entry, etx_text name,
                                etx_pt2_range* found) {
  etx_pool scratch;
  etx_pool_init(&scratch);
  etx_symbols symbols;
  etx_symbols_init(&symbols, &scratch);
  uint32_t symbol = 0;
  int64_t factor = 0, offset = 0, low = 0, high = 0, rest = 0;
  etx_dim dim = 0;
  bool is_affine =
      etx_symbols_add(&symbols, name, 0, INT64_MAX, &symbol) == ETX_OK &&
      etx_symbols_parse(&symbols, key, &dim, NULL) == ETX_OK &&
      etx_symbols_affine(&symbols, dim, &symbol, &factor, &offset);
  etx_pool_close(&scratch);
  if (!is_affine || factor <= 0) return ETX_OK;
  ETX_TRY(read_bound(graph, entry, "min_val", INT64_MIN, &low));
  ETX_TRY(read_bound(graph, entry, "max_val", INT64_MAX, &high));
  if (low != INT64_MIN && etx_subtract_i64(low, offset, &low) &&
      etx_floor_divide(low, factor, &low, &rest)) {
    if (rest != 0) ++low;
    if (!found->has_derived_low || low > found->low) found->low = low;
    found->has_derived_low = true;
  }
  if (high != INT64_MAX && etx_subtract_i64(high, offset, &high) &&
      etx_floor_divide(high, factor, &high, &rest) && high < found->high) {
    found->high = high;
  }
  return ETX_OK;
}

// Chooses the lower bound that is tried, and its fallback. A symbol of a size
// is positive for sympy: then `least` is 1. A bound of 1 is a `min` that the
// user chose, so a node that cannot have it is reported.
static void take_small_sizes(etx_pt2_range* found, int64_t least) {
  const int64_t stated = found->low;
  if (found->low < least) found->low = least;
  found->fallback = found->floor = found->low;
  if (least != 1 || found->low > 2 || found->high < found->low) return;
  found->floor = 0;
  if (found->is_found && stated <= 0) found->low = 0;
  if (stated == 2) found->low = 1;
  if (stated == 1) return;
  found->fallback = found->high < 2 ? found->high : 2;
}

void etx_pt2_keep_stated_bound(etx_symbol* symbol) {
  if (symbol->minimum == 0) symbol->minimum = 1;
  if (symbol->minimum < symbol->fallback) symbol->minimum = symbol->fallback;
  symbol->fallback = symbol->floor = symbol->minimum;
}

// The range of a symbol; `least` is the lower bound by sympy's assumptions.
static etx_status find_range(etx_pt2_graph* graph, etx_text name, int64_t least,
                             etx_pt2_range* out) {
  etx_pt2_range found = {.low = least, .high = INT64_MAX};
  const etx_json* const own = etx_json_find(graph->ranges, name);
  if (own != NULL) {
    etx_pt2_set_context(graph, "range of '%t'", name);
    ETX_TRY(etx_pt2_expect(graph, own, ETX_JSON_OBJECT, "range"));
    ETX_TRY(read_bound(graph, own, "min_val", found.low, &found.low));
    ETX_TRY(read_bound(graph, own, "max_val", found.high, &found.high));
    found.is_found = true;
  }
  for (size_t i = 0; i < graph->ranges->count; ++i) {
    if (&graph->ranges->items[i] == own) continue;
    ETX_TRY(apply_derived(graph, graph->ranges->keys[i],
                          &graph->ranges->items[i], name, &found));
  }
  take_small_sizes(&found, least);
  if (found.high < found.low) {
    return etx_pt2_fail_malformed(graph,
                                  "symbol '%t' has the empty range %i..%i",
                                  name, found.low, found.high);
  }
  *out = found;
  return ETX_OK;
}

// ---------------------------------------------------------------- symbols

static bool is_identifier(etx_text name) {
  for (size_t i = 0; i < name.size; ++i) {
    const char c = name.data[i];
    const bool is_letter =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!is_letter && !(i > 0 && c >= '0' && c <= '9')) return false;
  }
  return name.size != 0 && name.size <= 40 && !etx_text_is(name, "min") &&
         !etx_text_is(name, "max");
}

bool etx_pt2_is_late_name(etx_text name) {
  size_t at = name.size;
  while (at > 0 && name.data[at - 1] >= '0' && name.data[at - 1] <= '9') --at;
  const etx_text word = {name.data, at};
  return at < name.size && (etx_text_is(word, "u") || etx_text_is(word, "zuf"));
}

// Makes the symbol `index`, which occurs for the first time, a late symbol: one
// that a node sets from the data of a tensor when the method runs. That is the
// node whose outputs are being imported. If no outputs are being imported, the
// use is reported, once. The symbol is then treated like an ordinary one, so
// that the rest of the method is still read.
static void note_late(etx_pt2_graph* graph, uint32_t index) {
  etx_symbols* const symbols = &graph->method->symbols;
  etx_symbol* const symbol = &symbols->symbols[index];
  etx_symbols_make_late(symbols, index);
  if (graph->reads_outputs) {
    graph->late = index + 1;
    ++graph->late_count;
    return;
  }
  etx_import_problem(
      graph->import, ETX_UNSUPPORTED, &graph->place,
      "%s: size '%t' depends on the data of a tensor, which is not supported "
      "here",
      graph->context, symbol->name);
  // Some bounds, so that they are not reported as missing too.
  if (symbol->minimum == INT64_MIN) symbol->minimum = 0;
  if (symbol->maximum == INT64_MAX) symbol->maximum = INT32_MAX;
}

// The integer that a symbol stands for. False: sizes do not decide it.
static bool find_decided(const etx_pt2_graph* graph, etx_text name,
                         etx_dim* out) {
  for (size_t i = 0; i < graph->decided_count; ++i) {
    const etx_pt2_decided* const entry = &graph->decided[i];
    if (entry->value != ETX_IR_NONE || !etx_text_equal(entry->name, name)) {
      continue;
    }
    *out = entry->number;
    return true;
  }
  return false;
}

bool etx_pt2_has_new_symbol(const etx_pt2_graph* graph, const etx_json* size) {
  const etx_text head = etx_text_of("Symbol('");
  const etx_json* const text =
      etx_json_member(etx_json_member(size, "as_expr"), "expr_str");
  if (text == NULL || text->kind != ETX_JSON_STRING) return false;
  for (size_t i = 0; i + head.size < text->string.size; ++i) {
    const etx_text rest = {text->string.data + i, text->string.size - i};
    if (!etx_text_starts_with(rest, head)) continue;
    etx_text name = {rest.data + head.size, 0};
    while (head.size + name.size < rest.size && name.data[name.size] != '\'') {
      ++name.size;
    }
    uint32_t unused = 0;
    etx_dim decided = 0;
    if (name.size != 0 && etx_pt2_is_late_name(name) &&
        !etx_symbols_find(&graph->method->symbols, name, &unused) &&
        !find_decided(graph, name, &decided)) {
      return true;
    }
  }
  return false;
}

void etx_pt2_start_late(etx_pt2_graph* graph) {
  graph->reads_outputs = true;
  graph->late = 0;
  graph->late_count = 0;
}

uint32_t etx_pt2_end_late(etx_pt2_graph* graph) {
  graph->reads_outputs = false;
  if (graph->late_count > 1) {
    etx_import_problem(graph->import, ETX_UNSUPPORTED, &graph->place,
                       "%s: %z sizes of its results depend on the data of a "
                       "tensor, only one is supported",
                       graph->context, graph->late_count);
  }
  return graph->late;
}

// The replacement of the symbol by a symbol that the method has.
static bool find_replaced(const etx_pt2_graph* graph, etx_text name,
                          etx_pt2_replaced* out) {
  *out = (etx_pt2_replaced){name, name, 1, 0};
  // A symbol is replaced by one that may be replaced later.
  for (size_t i = 0; i < graph->replaced_count; ++i) {
    const etx_pt2_replaced* const next = &graph->replaced[i];
    if (!etx_text_equal(next->name, out->by)) continue;
    out->by = next->by;
    out->offset += out->factor * next->offset;
    out->factor *= next->factor;
  }
  return !etx_text_equal(out->by, name);
}

// Finds a symbol; it is added with its range at its first use.
static etx_status find_symbol(etx_pt2_graph* graph, etx_text name,
                              int64_t least, etx_dim* out) {
  etx_symbols* const symbols = &graph->method->symbols;
  etx_pt2_replaced replaced;
  uint32_t index = 0;
  if (find_decided(graph, name, out)) return ETX_OK;
  if (find_replaced(graph, name, &replaced) &&
      (find_decided(graph, replaced.by, out) ||
       etx_symbols_find(symbols, replaced.by, &index))) {
    if (!find_decided(graph, replaced.by, out)) {
      ETX_TRY(etx_symbols_dim(symbols, index, out));
    }
    ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MULTIPLY, *out,
                              replaced.factor, out));
    return etx_symbols_apply(symbols, ETX_SYMBOL_ADD, *out, replaced.offset,
                             out);
  }
  if (etx_symbols_find(symbols, name, &index)) {
    return etx_symbols_dim(symbols, index, out);
  }
  if (graph->is_optional) return ETX_NOT_FOUND;
  if (!is_identifier(name)) {
    return etx_pt2_fail_malformed(graph, "'%t' is not a valid name of a symbol",
                                  name);
  }
  char place[ETX_PT2_CONTEXT_BYTES];
  memcpy(place, graph->context, sizeof place);
  etx_pt2_range found = {0};
  ETX_TRY(find_range(graph, name, least, &found));
  memcpy(graph->context, place, sizeof place);
  if (!etx_pt2_is_late_name(name) && !found.is_found &&
      !found.has_derived_low) {
    return etx_pt2_fail_malformed(
        graph, "symbol '%t' has no entry in range_constraints", name);
  }
  if (etx_pt2_is_late_name(name) && graph->late_most != 0 &&
      graph->late_most > found.low && graph->late_most < found.high) {
    found.high = graph->late_most;
  }
  if (etx_symbols_add(symbols, name, found.low, found.high, &index) != ETX_OK) {
    return etx_pt2_fail_malformed(graph, "more than %i symbols",
                                  (int64_t)ETX_SYMBOLS_MAX_COUNT);
  }
  symbols->symbols[index].fallback = found.fallback;
  symbols->symbols[index].floor = found.floor;
  if (etx_pt2_is_late_name(name)) {
    note_late(graph, index);
  } else if (graph->has_unread_guards) {
    etx_pt2_keep_stated_bound(&symbols->symbols[index]);
  }
  return etx_symbols_dim(symbols, index, out);
}

// ---------------------------------------------------------------- expressions

static bool accept(srepr_parser* r, const char* token) {
  while (r->at < r->text.size && r->text.data[r->at] == ' ') ++r->at;
  const etx_text rest = {r->text.data + r->at, r->text.size - r->at};
  if (!etx_text_starts_with(rest, etx_text_of(token))) return false;
  r->at += strlen(token);
  return true;
}

static etx_status malformed(srepr_parser* r, const char* wanted) {
  return etx_pt2_fail_malformed(r->graph,
                                "expected %s at position %z of size '%t'",
                                wanted, r->at + 1, r->text);
}

static etx_text read_word(srepr_parser* r) {
  while (r->at < r->text.size && r->text.data[r->at] == ' ') ++r->at;
  const size_t start = r->at;
  while (r->at < r->text.size) {
    const char c = r->text.data[r->at];
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '_';
    if (!is_word) break;
    ++r->at;
  }
  const etx_text word = {r->text.data + start, r->at - start};
  return word;
}

static etx_status read_integer(srepr_parser* r, etx_dim* out) {
  const bool is_negative = accept(r, "-");
  const etx_text digits = read_word(r);
  int64_t value = 0;
  if (digits.size == 0) return malformed(r, "an integer");
  if (!etx_read_digits(digits, &value)) {
    return malformed(r, "an integer of 64 bits");
  }
  if (!accept(r, ")")) return malformed(r, "an integer");
  if (is_negative) value = -value;
  if (!etx_dim_is_number(value)) return malformed(r, "an integer above -2^62");
  *out = value;
  return ETX_OK;
}

// Symbol('s77', positive=True, integer=True)
static etx_status read_symbol(srepr_parser* r, etx_dim* out) {
  if (!accept(r, "'")) return malformed(r, "a symbol's name");
  const size_t start = r->at;
  while (r->at < r->text.size && r->text.data[r->at] != '\'') ++r->at;
  const etx_text name = {r->text.data + start, r->at - start};
  if (!accept(r, "'")) return malformed(r, "a quote");
  int64_t least = INT64_MIN;
  while (accept(r, ",")) {
    const etx_text assumption = read_word(r);
    if (!accept(r, "=")) return malformed(r, "'='");
    const etx_text truth = read_word(r);
    if (!etx_text_is(truth, "True")) continue;
    if (etx_text_is(assumption, "positive")) least = 1;
    if (etx_text_is(assumption, "nonnegative") && least < 0) least = 0;
  }
  if (!accept(r, ")")) return malformed(r, "')'");
  return find_symbol(r->graph, name, least, out);
}

typedef struct sympy_operator {
  const char* name;
  etx_symbol_op op;
  bool is_associative;  // takes any number of arguments
} sympy_operator;

// CleanDiv is a division without a remainder. Conditions are 1 or 0, so And is
// the minimum and Or the maximum.
static const sympy_operator operators[] = {
    {"Add", ETX_SYMBOL_ADD, true},
    {"Mul", ETX_SYMBOL_MULTIPLY, true},
    {"Max", ETX_SYMBOL_MAXIMUM, true},
    {"Min", ETX_SYMBOL_MINIMUM, true},
    {"Or", ETX_SYMBOL_MAXIMUM, true},
    {"And", ETX_SYMBOL_MINIMUM, true},
    {"FloorDiv", ETX_SYMBOL_FLOOR_DIVIDE, false},
    {"CleanDiv", ETX_SYMBOL_FLOOR_DIVIDE, false},
    {"Mod", ETX_SYMBOL_MODULO, false},
    {"PythonMod", ETX_SYMBOL_MODULO, false},
};

static etx_status read_expression(srepr_parser* r, etx_dim* out);

static etx_status apply(srepr_parser* r, etx_symbol_op op, etx_dim a, etx_dim b,
                        etx_dim* out) {
  const etx_status status =
      etx_symbols_apply(&r->graph->method->symbols, op, a, b, out);
  if (status != ETX_OUT_OF_RANGE) return status;
  return etx_pt2_fail_malformed(
      r->graph, "size '%t' overflows, divides by zero or is too complex",
      r->text);
}

static etx_status read_call(srepr_parser* r, const sympy_operator* operator,
                            etx_dim * out) {
  etx_dim result = 0;
  ETX_TRY(read_expression(r, &result));
  size_t count = 1;
  while (accept(r, ",")) {
    etx_dim next = 0;
    ETX_TRY(read_expression(r, &next));
    ETX_TRY(apply(r, operator->op, result, next, &result));
    ++count;
  }
  if (!accept(r, ")")) return malformed(r, "')'");
  if (!operator->is_associative && count != 2) {
    return malformed(r, "two operands");
  }
  *out = result;
  return ETX_OK;
}

// Pow(base, Integer(n)) as a product.
static etx_status read_power(srepr_parser* r, etx_dim* out) {
  etx_dim base = 0, exponent = 0, result = 1;
  ETX_TRY(read_expression(r, &base));
  if (!accept(r, ",")) return malformed(r, "','");
  ETX_TRY(read_expression(r, &exponent));
  if (!accept(r, ")")) return malformed(r, "')'");
  if (!etx_dim_is_number(exponent) || exponent < 0 || exponent > MAX_EXPONENT) {
    return ETX_UNSUPPORTED;
  }
  for (etx_dim i = 0; i < exponent; ++i) {
    ETX_TRY(apply(r, ETX_SYMBOL_MULTIPLY, result, base, &result));
  }
  *out = result;
  return ETX_OK;
}

static etx_status read_pair(srepr_parser* r, etx_dim* out_a, etx_dim* out_b) {
  ETX_TRY(read_expression(r, out_a));
  if (!accept(r, ",")) return malformed(r, "','");
  ETX_TRY(read_expression(r, out_b));
  return accept(r, ")") ? ETX_OK : malformed(r, "')'");
}

// CeilDiv(a, b) is (a + b - 1)//b.
static etx_status read_ceiling(srepr_parser* r, etx_dim* out) {
  etx_dim a = 0, b = 0;
  ETX_TRY(read_pair(r, &a, &b));
  ETX_TRY(apply(r, ETX_SYMBOL_ADD, a, b, &a));
  ETX_TRY(apply(r, ETX_SYMBOL_SUBTRACT, a, 1, &a));
  return apply(r, ETX_SYMBOL_FLOOR_DIVIDE, a, b, out);
}

// The rounding functions of sympy, from math.floor(), math.ceil() and int().
typedef struct sympy_rounding {
  const char* name;
  bool is_up;
  bool is_truncated;
} sympy_rounding;

static const sympy_rounding roundings[] = {{"FloorToInt", false, false},
                                           {"CeilToInt", true, false},
                                           {"TruncToInt", false, true}};

// IntTrueDiv(a, b) behind the parenthesis, from a / b.
static etx_status read_quotient(srepr_parser* r, const sympy_rounding* rounding,
                                etx_dim* out) {
  etx_dim a = 0, b = 0;
  int64_t low = 0, high = 0;
  ETX_TRY(read_pair(r, &a, &b));
  if (!accept(r, ")")) return malformed(r, "')'");
  etx_symbols_bounds(&r->graph->method->symbols, a, &low, &high);
  if (rounding->is_truncated && low < 0) return ETX_UNSUPPORTED;
  if (rounding->is_up) {
    ETX_TRY(apply(r, ETX_SYMBOL_ADD, a, b, &a));
    ETX_TRY(apply(r, ETX_SYMBOL_SUBTRACT, a, 1, &a));
  }
  return apply(r, ETX_SYMBOL_FLOOR_DIVIDE, a, b, out);
}

// ToFloat(a)
static etx_status read_to_float(srepr_parser* r, etx_dim* out) {
  if (!accept(r, "ToFloat(")) return ETX_UNSUPPORTED;
  ETX_TRY(read_expression(r, out));
  return accept(r, ")") ? ETX_OK : malformed(r, "')'");
}

static etx_status read_float(srepr_parser* r, double* out) {
  return accept(r, "Float('") && etx_pt2_float_number(r->text, &r->at, out)
             ? ETX_OK
             : ETX_UNSUPPORTED;
}

// Mul(Float('1.3', precision=53), ToFloat(a)) from 1.3 * a, or
// FloatTrueDiv(ToFloat(a), Float('1.3', precision=53)) from a / 1.3, rounded.
// Other uses of floats are not supported.
static etx_status read_rounded(srepr_parser* r, const sympy_rounding* rounding,
                               etx_dim* out) {
  etx_symbol_scale scale = {.is_up = rounding->is_up,
                            .is_truncated = rounding->is_truncated};
  if (accept(r, "IntTrueDiv(")) return read_quotient(r, rounding, out);
  if (accept(r, "Mul(")) {
    ETX_TRY(read_float(r, &scale.number));
    if (!accept(r, ",")) return ETX_UNSUPPORTED;
    ETX_TRY(read_to_float(r, out));
  } else if (accept(r, "FloatTrueDiv(")) {
    scale.divides = true;
    ETX_TRY(read_to_float(r, out));
    if (!accept(r, ",")) return ETX_UNSUPPORTED;
    ETX_TRY(read_float(r, &scale.number));
  } else {
    return ETX_UNSUPPORTED;
  }
  if (!accept(r, ")") || !accept(r, ")")) return ETX_UNSUPPORTED;
  const etx_status status =
      etx_symbols_scale(&r->graph->method->symbols, *out, &scale, out);
  return status == ETX_OUT_OF_RANGE ? ETX_UNSUPPORTED : status;
}

// ModularIndexing(a, b, c) is (a//b)%c.
static etx_status read_modular(srepr_parser* r, etx_dim* out) {
  etx_dim a = 0, b = 0, c = 0;
  ETX_TRY(read_expression(r, &a));
  if (!accept(r, ",")) return malformed(r, "','");
  ETX_TRY(read_pair(r, &b, &c));
  ETX_TRY(apply(r, ETX_SYMBOL_FLOOR_DIVIDE, a, b, &a));
  return apply(r, ETX_SYMBOL_MODULO, a, c, out);
}

typedef struct sympy_relation {
  const char* name;
  etx_symbol_relation relation;
  bool swaps_operands;
} sympy_relation;

static const sympy_relation relations[] = {
    {"StrictLessThan", ETX_SYMBOL_LESS, false},
    {"StrictGreaterThan", ETX_SYMBOL_LESS, true},
    {"LessThan", ETX_SYMBOL_AT_MOST, false},
    {"GreaterThan", ETX_SYMBOL_AT_MOST, true},
    {"Equality", ETX_SYMBOL_EQUAL, false},
    {"Unequality", ETX_SYMBOL_UNEQUAL, false},
};

static etx_status read_relation(srepr_parser* r, const sympy_relation* known,
                                etx_dim* out) {
  etx_dim a = 0, b = 0;
  ETX_TRY(read_pair(r, &a, &b));
  const etx_status status = etx_symbols_compare(
      &r->graph->method->symbols, known->relation,
      known->swaps_operands ? b : a, known->swaps_operands ? a : b, out);
  if (status != ETX_OUT_OF_RANGE) return status;
  return etx_pt2_fail_malformed(r->graph, "condition '%t' overflows", r->text);
}

// Not(a) of a condition, which is 1 or 0.
static etx_status read_negation(srepr_parser* r, etx_dim* out) {
  etx_dim a = 0;
  ETX_TRY(read_expression(r, &a));
  if (!accept(r, ")")) return malformed(r, "')'");
  return apply(r, ETX_SYMBOL_SUBTRACT, 1, a, out);
}

static etx_status read_special(srepr_parser* r, etx_text word, etx_dim* out) {
  if (etx_text_is(word, "Integer")) return read_integer(r, out);
  if (etx_text_is(word, "Symbol")) return read_symbol(r, out);
  if (etx_text_is(word, "Pow")) return read_power(r, out);
  if (etx_text_is(word, "PowByNatural")) return read_power(r, out);
  if (etx_text_is(word, "CeilDiv")) return read_ceiling(r, out);
  if (etx_text_is(word, "ModularIndexing")) return read_modular(r, out);
  if (etx_text_is(word, "Not")) return read_negation(r, out);
  for (size_t i = 0; i < sizeof roundings / sizeof roundings[0]; ++i) {
    if (etx_text_is(word, roundings[i].name)) {
      return read_rounded(r, &roundings[i], out);
    }
  }
  for (size_t i = 0; i < sizeof relations / sizeof relations[0]; ++i) {
    if (etx_text_is(word, relations[i].name)) {
      return read_relation(r, &relations[i], out);
    }
  }
  if (etx_text_is(word, "Identity")) {
    ETX_TRY(read_expression(r, out));
    return accept(r, ")") ? ETX_OK : malformed(r, "')'");
  }
  return ETX_UNSUPPORTED;
}

static etx_status read_expression(srepr_parser* r, etx_dim* out) {
  if (++r->depth > MAX_DEPTH) {
    return etx_pt2_fail_malformed(r->graph,
                                  "size '%t' is nested deeper than %i levels",
                                  r->text, (int64_t)MAX_DEPTH);
  }
  const etx_text word = read_word(r);
  if (etx_text_is(word, "true") || etx_text_is(word, "false")) {
    --r->depth;
    *out = etx_text_is(word, "true");
    return ETX_OK;
  }
  if (word.size == 0 || !accept(r, "(")) {
    return malformed(r, "a function such as Add(...)");
  }
  etx_status status = read_special(r, word, out);
  for (size_t i = 0; i < sizeof operators / sizeof operators[0]; ++i) {
    if (!etx_text_is(word, operators[i].name)) continue;
    status = read_call(r, &operators[i], out);
  }
  --r->depth;
  if (status == ETX_UNSUPPORTED && r->unsupported.size == 0) {
    r->unsupported = word;
  }
  return status;
}

etx_status etx_pt2_size_of_text(etx_pt2_graph* graph, etx_text text,
                                etx_dim* out) {
  srepr_parser r = {graph, text, 0, 0, {NULL, 0}};
  const etx_status status = read_expression(&r, out);
  if (status == ETX_UNSUPPORTED && !graph->is_optional) {
    etx_import_problem(graph->import, status, &graph->place,
                       "%s: sizes computed with '%t' are not supported: '%t'; "
                       "compute the size from integers with //, or pass it as "
                       "an argument",
                       graph->context, r.unsupported, text);
    // An arbitrary size, so that the rest of the method is still read.
    *out = 1;
    return ETX_OK;
  }
  ETX_TRY(status);
  return r.at == text.size ? ETX_OK : malformed(&r, "the end");
}

etx_status etx_pt2_size(etx_pt2_graph* graph, const etx_json* value,
                        etx_dim* out) {
  etx_text tag, text;
  const etx_json* payload = NULL;
  ETX_TRY(etx_pt2_union(graph, value, &tag, &payload));
  if (etx_text_is(tag, "as_int")) {
    ETX_TRY(etx_pt2_expect(graph, payload, ETX_JSON_INT, "as_int"));
    if (!etx_dim_is_number(payload->integer)) {
      return etx_pt2_fail_malformed(graph, "the integer %i is too small",
                                    payload->integer);
    }
    *out = payload->integer;
    return ETX_OK;
  }
  if (!etx_text_is(tag, "as_expr")) {
    return etx_pt2_fail_malformed(
        graph, "a size should be 'as_int' or 'as_expr', found '%t'", tag);
  }
  ETX_TRY(etx_pt2_text(graph, payload, "expr_str", &text));
  return etx_pt2_size_of_text(graph, text, out);
}

etx_status etx_pt2_named_size(etx_pt2_graph* graph, etx_text name,
                              etx_dim* out) {
  const etx_json* const value = etx_json_find(graph->sym_ints, name);
  if (value == NULL) {
    return etx_pt2_fail_malformed(graph, "integer '%t' is not defined", name);
  }
  return etx_pt2_size(graph, value, out);
}

// The value of a SymBool: a constant, or an expression over sizes.
static etx_status condition_value(etx_pt2_graph* graph, const etx_json* value,
                                  etx_dim* out) {
  etx_text tag, text;
  const etx_json* payload = NULL;
  ETX_TRY(etx_pt2_union(graph, value, &tag, &payload));
  if (etx_text_is(tag, "as_bool")) {
    ETX_TRY(etx_pt2_expect(graph, payload, ETX_JSON_BOOL, "as_bool"));
    *out = payload->boolean;
    return ETX_OK;
  }
  if (!etx_text_is(tag, "as_expr")) {
    return etx_pt2_fail_malformed(graph, "a condition cannot be of kind '%t'",
                                  tag);
  }
  ETX_TRY(etx_pt2_text(graph, payload, "expr_str", &text));
  return etx_pt2_size_of_text(graph, text, out);
}

etx_status etx_pt2_condition(etx_pt2_graph* graph, const etx_json* sym_bool,
                             etx_dim* out) {
  etx_text tag;
  const etx_json* inner = NULL;
  ETX_TRY(etx_pt2_union(graph, sym_bool, &tag, &inner));
  if (!etx_text_is(tag, "as_name")) {
    return condition_value(graph, sym_bool, out);
  }
  ETX_TRY(etx_pt2_expect(graph, inner, ETX_JSON_STRING, "as_name"));
  const etx_json* const known = etx_json_find(graph->sym_bools, inner->string);
  if (known == NULL) {
    return etx_pt2_fail_malformed(graph, "'%t' is not defined", inner->string);
  }
  return condition_value(graph, known, out);
}

bool etx_pt2_known_condition(etx_pt2_graph* graph, const etx_json* sym_bool,
                             etx_dim* out) {
  etx_diag unread;
  etx_diag_init(&unread);
  etx_pt2_graph quiet = *graph;
  quiet.is_optional = true;
  quiet.diag = &unread;
  return etx_pt2_condition(&quiet, sym_bool, out) == ETX_OK;
}

etx_status etx_pt2_shape(etx_pt2_graph* graph, const etx_json* tensor_meta,
                         etx_shape* out_shape) {
  const etx_json* sizes = NULL;
  const etx_json* strides = NULL;
  etx_shape shape = {0};
  ETX_TRY(etx_pt2_field(graph, tensor_meta, "sizes", ETX_JSON_ARRAY, &sizes));
  ETX_TRY(
      etx_pt2_field(graph, tensor_meta, "strides", ETX_JSON_ARRAY, &strides));
  ETX_TRY(etx_pt2_check_storage(graph, tensor_meta));
  ETX_TRY(etx_pt2_dtype(graph, etx_json_member(tensor_meta, "dtype"),
                        &shape.dtype));
  if (sizes->count != strides->count) {
    return etx_pt2_fail_malformed(graph,
                                  "the tensor has %z sizes, but %z strides",
                                  sizes->count, strides->count);
  }
  if (sizes->count > ETX_MAX_RANK) {
    return etx_pt2_fail_malformed(
        graph, "the tensor has %z dimensions, at most %i are supported",
        sizes->count, (int64_t)ETX_MAX_RANK);
  }
  shape.rank = (uint8_t)sizes->count;
  for (size_t i = 0; i < sizes->count; ++i) {
    ETX_TRY(etx_pt2_size(graph, &sizes->items[i], &shape.dims[i]));
    if (etx_dim_is_number(shape.dims[i]) && shape.dims[i] < 0) {
      return etx_pt2_fail_malformed(graph, "size %i is negative",
                                    shape.dims[i]);
    }
  }
  *out_shape = shape;
  return ETX_OK;
}
