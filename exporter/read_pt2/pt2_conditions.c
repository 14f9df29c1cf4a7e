// Conditions on the sizes of inputs: the guards of the exported program, and
// the assertions of its graph. torch.export assumed them when it traced the
// model, so the graph need not be right for other sizes.
//
//   condition                     what becomes of it
//   two sizes are equal           one symbol for both
//   3*s % 4 == 0                  s is 4*t, with a new symbol t
//   others of one symbol          bounds of the symbol; checks of what the
//                                 bounds leave
//   others of several symbols     checks
//
// A check is a node aten._assert_scalar at the start of the method. A call with
// sizes that fail it is refused before anything is written.
//
// Guards: conditions on the sizes of the inputs, as Python text, that the
// exported program checks before it runs:
//
//   L['x'].size()[0] <= L['args'][1].size()[2]
//   (L['n'] % 4) == 0 or L['n'] < 3
//   math.trunc(0.5*torch.sym_float(L['x'].size()[0])) != 1
//
// A path in brackets leads to an argument of forward() and into lists and
// dicts. torch.export names the input after the path: args_1.

#include "exporter/host/text_buffer.h"
#include "exporter/read_pt2/pt2_internal.h"
#include "format/base/checked_math.h"

// ---------------------------------------------------------------- text

enum { MAX_DEPTH = 20 };

typedef struct guard_reader {
  etx_pt2_graph* graph;
  etx_text guard;
  size_t at;
  etx_text_buffer name;   // of the input that the path leads to
  etx_text_buffer sizes;  // the guard with sizes in place of paths
} guard_reader;

static bool accept(guard_reader* r, const char* token) {
  const etx_text rest = {r->guard.data + r->at, r->guard.size - r->at};
  if (!etx_text_starts_with(rest, etx_text_of(token))) return false;
  r->at += strlen(token);
  return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A word of the path as torch.export writes it into names.
static void put_word(guard_reader* r, char end) {
  if (r->name.size != 0) etx_text_put_string(&r->name, "_");
  for (; r->at < r->guard.size && r->guard.data[r->at] != end; ++r->at) {
    char c = r->guard.data[r->at];
    if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
    if (!is_digit(c) && !(c >= 'a' && c <= 'z')) c = '_';
    etx_text_put(&r->name, &c, 1);
  }
}

// ['key'], ["key"] or [3].
static bool read_step(guard_reader* r) {
  if (!accept(r, "[")) return false;
  if (accept(r, "'")) {
    put_word(r, '\'');
    return accept(r, "']");
  }
  if (accept(r, "\"")) {
    put_word(r, '"');
    return accept(r, "\"]");
  }
  put_word(r, ']');
  return accept(r, "]");
}

static const etx_ir_input* find_input(const guard_reader* r) {
  const etx_ir_method* const method = r->graph->method;
  const etx_text name = {r->name.data, r->name.size};
  for (size_t i = 0; i < method->input_count; ++i) {
    if (etx_text_equal(method->inputs[i].name, name)) return &method->inputs[i];
  }
  return NULL;
}

// Reads "size()[2]", behind a point, of a tensor.
static bool read_dimension(guard_reader* r, const etx_ir_input* input,
                           etx_dim* out) {
  size_t dim = 0;
  if (!accept(r, "size()[") || input->arg.kind != ETX_IR_ARG_VALUE) {
    return false;
  }
  for (; r->at < r->guard.size && is_digit(r->guard.data[r->at]); ++r->at) {
    dim = dim * 10 + (size_t)(r->guard.data[r->at] - '0');
    if (dim >= ETX_MAX_RANK) return false;
  }
  const etx_shape* const shape =
      &r->graph->method->values[input->arg.as.value].shape;
  if (!accept(r, "]") || dim >= shape->rank) return false;
  *out = shape->dims[dim];
  return true;
}

// Reads a path behind "L", and the size that it leads to.
static bool read_path(guard_reader* r, etx_dim* out) {
  r->name.size = 0;
  while (r->at < r->guard.size && r->guard.data[r->at] == '[') {
    if (!read_step(r)) return false;
  }
  const etx_ir_input* const input = find_input(r);
  if (input == NULL) return false;
  if (accept(r, ".")) return read_dimension(r, input, out);
  *out = input->arg.as.integer;
  return input->arg.kind == ETX_IR_ARG_INT;
}

// Replaces the paths by sizes. False if one cannot be read.
static bool replace_paths(guard_reader* r) {
  etx_symbols* const symbols = &r->graph->method->symbols;
  while (r->at < r->guard.size) {
    etx_dim size = 0;
    etx_text text;
    if (!accept(r, "L[")) {
      etx_text_put(&r->sizes, &r->guard.data[r->at++], 1);
      continue;
    }
    --r->at;
    if (!read_path(r, &size) ||
        etx_symbols_print(symbols, size, r->graph->pool, &text) != ETX_OK) {
      return false;
    }
    etx_text_put_string(&r->sizes, "(");
    etx_text_put_text(&r->sizes, text);
    etx_text_put_string(&r->sizes, ")");
  }
  return r->sizes.status == ETX_OK && r->name.status == ETX_OK;
}

typedef struct python_relation {
  const char* text;
  etx_symbol_relation relation;
  bool swaps_operands;
} python_relation;

// Longer ones first.
static const python_relation relations[] = {
    {"==", ETX_SYMBOL_EQUAL, false},   {"!=", ETX_SYMBOL_UNEQUAL, false},
    {"<=", ETX_SYMBOL_AT_MOST, false}, {">=", ETX_SYMBOL_AT_MOST, true},
    {"<", ETX_SYMBOL_LESS, false},     {">", ETX_SYMBOL_LESS, true},
};

static const python_relation* relation_at(etx_text text) {
  for (size_t i = 0; i < sizeof relations / sizeof relations[0]; ++i) {
    if (etx_text_starts_with(text, etx_text_of(relations[i].text))) {
      return &relations[i];
    }
  }
  return NULL;
}

// Reads "a <= b".
static bool read_relation(etx_symbols* symbols, etx_text text,
                          etx_pt2_relation* out) {
  const python_relation* found = NULL;
  size_t at = 0;
  for (; at < text.size && found == NULL; ++at) {
    found = relation_at((etx_text){text.data + at, text.size - at});
  }
  if (found == NULL) return false;
  const size_t behind = at - 1 + strlen(found->text);
  const etx_text left = {text.data, at - 1};
  const etx_text right = {text.data + behind, text.size - behind};
  etx_dim* const first = found->swaps_operands ? &out->right : &out->left;
  etx_dim* const second = found->swaps_operands ? &out->left : &out->right;
  out->relation = found->relation;
  return etx_symbols_parse(symbols, left, first, NULL) == ETX_OK &&
         etx_symbols_parse(symbols, right, second, NULL) == ETX_OK;
}

// Finds a word such as " or " outside of parentheses.
static bool find_word(etx_text text, const char* word, size_t* out_at) {
  size_t open = 0;
  for (size_t i = 0; i < text.size; ++i) {
    const etx_text rest = {text.data + i, text.size - i};
    if (text.data[i] == '(') ++open;
    if (text.data[i] == ')' && open-- == 0) return false;
    if (open != 0 || !etx_text_starts_with(rest, etx_text_of(word))) continue;
    *out_at = i;
    return true;
  }
  return false;
}

static bool read_condition(etx_symbols* symbols, etx_text text, size_t depth,
                           etx_pt2_relation* out);

// 1 where the condition holds, else 0.
static bool read_truth(etx_symbols* symbols, etx_text text, size_t depth,
                       etx_dim* out) {
  etx_pt2_relation part;
  return read_condition(symbols, text, depth, &part) &&
         etx_symbols_compare(symbols, part.relation, part.left, part.right,
                             out) == ETX_OK;
}

// "a or b" is the maximum of their truths, "a and b" the minimum. The result is
// written as 0 < truth.
static bool read_condition(etx_symbols* symbols, etx_text text, size_t depth,
                           etx_pt2_relation* out) {
  static const struct {
    const char* word;
    etx_symbol_op op;
  } words[] = {{" or ", ETX_SYMBOL_MAXIMUM}, {" and ", ETX_SYMBOL_MINIMUM}};
  if (depth == MAX_DEPTH) return false;
  for (size_t i = 0; i < 2; ++i) {
    size_t at = 0;
    etx_dim left = 0, right = 0;
    if (!find_word(text, words[i].word, &at)) continue;
    const size_t behind = at + strlen(words[i].word);
    const etx_text first = {text.data, at};
    const etx_text second = {text.data + behind, text.size - behind};
    *out = (etx_pt2_relation){ETX_SYMBOL_LESS, 0, 0};
    return read_truth(symbols, first, depth + 1, &left) &&
           read_truth(symbols, second, depth + 1, &right) &&
           etx_symbols_apply(symbols, words[i].op, left, right, &out->right) ==
               ETX_OK;
  }
  return read_relation(symbols, text, out);
}

// Reads a guard of the exported program. False if its form is not supported.
static bool parse_guard(etx_pt2_graph* graph, etx_text guard,
                        etx_pt2_relation* out) {
  guard_reader r = {.graph = graph, .guard = guard};
  etx_text_buffer_init(&r.name, graph->pool);
  etx_text_buffer_init(&r.sizes, graph->pool);
  if (!replace_paths(&r)) return false;
  etx_symbols* const symbols = &graph->method->symbols;
  const etx_text sizes = {r.sizes.data, r.sizes.size};
  if (read_condition(symbols, sizes, 0, out)) return true;
  *out = (etx_pt2_relation){ETX_SYMBOL_LESS, 0, 0};
  return etx_symbols_tabulate(symbols, sizes, &out->right) == ETX_OK;
}

enum {
  MAX_STEPS = 4096,  // sizes that are tried one by one
  MAX_ROUNDS = 16,   // of applying all conditions
  MAX_DIVISOR = 1024,
};

typedef struct condition_list {
  etx_pt2_graph* graph;
  const etx_json* guards;
  bool has_changed;  // a symbol or its bounds
} condition_list;

// ---------------------------------------------------------------- evaluation

// True if the condition, which has no other symbol, holds where symbol `index`
// is `size`. It does not hold where it divides by zero.
static bool holds_at(const etx_symbols* symbols, etx_dim condition,
                     uint32_t index, int64_t size) {
  int64_t values[ETX_SYMBOLS_MAX_COUNT] = {0};
  int64_t found = 0;
  values[index] = size;
  return etx_symbols_evaluate(symbols, condition, values, &found) == ETX_OK &&
         found != 0;
}

// True if the size has exactly one symbol.
static bool only_symbol(const etx_symbols* symbols, etx_dim dim,
                        uint32_t* out_index) {
  const uint64_t used = etx_symbols_in(symbols, dim);
  if (used == 0 || (used & (used - 1)) != 0) return false;
  *out_index = 0;
  while (((used >> *out_index) & 1) == 0) ++*out_index;
  return true;
}

bool etx_pt2_always_holds(const etx_symbols* symbols, etx_dim condition) {
  uint32_t index = 0;
  if (etx_dim_is_number(condition)) return condition != 0;
  if (!only_symbol(symbols, condition, &index)) return false;
  if (etx_symbols_late_in(symbols, condition) != 0) return false;
  const etx_symbol* const symbol = &symbols->symbols[index];
  int64_t count = 0;
  if (!etx_subtract_i64(symbol->maximum, symbol->minimum, &count) ||
      count >= MAX_STEPS) {
    return false;
  }
  for (int64_t i = 0; i <= count; ++i) {
    if (!holds_at(symbols, condition, index, symbol->minimum + i)) return false;
  }
  return true;
}

// ---------------------------------------------------------------- symbols

static etx_status replace_symbol(condition_list* list,
                                 const etx_symbol_replacement* by) {
  etx_pt2_graph* const graph = list->graph;
  const etx_symbol* const symbols = graph->method->symbols.symbols;
  const etx_pt2_replaced entry = {
      symbols[by->index].name, symbols[by->other].name, by->factor, by->offset};
  ETX_TRY(etx_pool_grow(graph->pool, &graph->replaced, graph->replaced_count,
                        &graph->replaced_capacity, sizeof entry));
  graph->replaced[graph->replaced_count++] = entry;
  list->has_changed = true;
  const etx_status status = etx_ir_replace_symbol(graph->method, by);
  if (status != ETX_OUT_OF_RANGE) return status;
  return etx_pt2_fail_malformed(graph, "sizes overflow by its conditions");
}

// Sizes that are equal get one symbol: the first.
static etx_status unite(condition_list* list, uint32_t a, uint32_t b) {
  etx_symbol* const symbols = list->graph->method->symbols.symbols;
  if (b < a) {
    const uint32_t first = b;
    b = a;
    a = first;
  }
  etx_symbol* const kept = &symbols[a];
  const etx_symbol* const gone = &symbols[b];
  if (gone->minimum > kept->minimum) kept->minimum = gone->minimum;
  if (gone->maximum < kept->maximum) kept->maximum = gone->maximum;
  if (gone->fallback > kept->fallback) kept->fallback = gone->fallback;
  if (gone->floor > kept->floor) kept->floor = gone->floor;
  const etx_symbol_replacement by = {b, a, 1, 0};
  return replace_symbol(list, &by);
}

// The largest t with divisor * t + rest <= bound, or with `is_low` the smallest
// with >=.
static int64_t divide_bound(int64_t bound, int64_t divisor, int64_t rest,
                            bool is_low) {
  int64_t quotient = 0, remainder = 0;
  if (bound == INT64_MAX || bound == INT64_MIN) return bound;
  if (!etx_floor_divide(bound - rest, divisor, &quotient, &remainder)) {
    return bound;
  }
  return is_low && remainder != 0 ? quotient + 1 : quotient;
}

// Replaces the symbol by divisor * t + rest.
static etx_status divide_symbol(condition_list* list, uint32_t index,
                                int64_t divisor, int64_t rest) {
  etx_symbols* const symbols = &list->graph->method->symbols;
  const etx_symbol old = symbols->symbols[index];
  const etx_text name =
      etx_pool_format(symbols->pool, "%t_by_%i", old.name, divisor);
  uint32_t other = 0;
  if (name.data == NULL) return ETX_OUT_OF_MEMORY;
  if (symbols->symbol_count == ETX_SYMBOLS_MAX_COUNT ||
      etx_symbols_find(symbols, name, &other)) {
    return ETX_OK;  // the condition becomes a check
  }
  ETX_TRY(etx_symbols_add(
      symbols, name, divide_bound(old.minimum, divisor, rest, true),
      divide_bound(old.maximum, divisor, rest, false), &other));
  etx_symbol* const fresh = &symbols->symbols[other];
  fresh->fallback = divide_bound(old.fallback, divisor, rest, true);
  fresh->floor = divide_bound(old.floor, divisor, rest, true);
  const etx_symbol_replacement by = {index, other, divisor, rest};
  return replace_symbol(list, &by);
}

// If the condition is (factor * s + offset) % n == number, replaces s by
// divisor * t + rest, which are its solutions.
static etx_status apply_modulo(condition_list* list,
                               const etx_pt2_relation* condition) {
  etx_symbols* const symbols = &list->graph->method->symbols;
  etx_symbol_node top;
  uint32_t index = 0;
  int64_t factor = 0, offset = 0, first = -1, second = -1;
  ETX_TRY(etx_symbols_top(symbols, condition->left, &top));
  if (top.is_number || top.is_symbol || top.op != ETX_SYMBOL_MODULO ||
      !etx_dim_is_number(top.right) || top.right < 2 ||
      top.right > MAX_DIVISOR ||
      !etx_symbols_affine(symbols, top.left, &index, &factor, &offset) ||
      symbols->symbols[index].minimum < 0) {
    return ETX_OK;
  }
  for (int64_t t = 0; t < 2 * top.right && second < 0; ++t) {
    int64_t product = 0, quotient = 0, rest = 0;
    if (!etx_multiply_i64(factor, t, &product) ||
        !etx_add_i64(product, offset, &product) ||
        !etx_floor_divide(product, top.right, &quotient, &rest)) {
      return ETX_OK;
    }
    if (rest != condition->right) continue;
    if (first < 0) {
      first = t;
    } else {
      second = t;
    }
  }
  return second - first < 2 ? ETX_OK
                            : divide_symbol(list, index, second - first, first);
}

// ---------------------------------------------------------------- bounds

// Raises the lower and lowers the upper bound of the condition's only symbol to
// sizes where it holds.
static etx_status narrow(condition_list* list, etx_dim condition,
                         uint32_t index) {
  etx_ir_method* const method = list->graph->method;
  const etx_symbol* const symbol = &method->symbols.symbols[index];
  int64_t low = symbol->minimum, high = symbol->maximum;
  if (low == INT64_MIN) return ETX_OK;
  for (size_t i = 0; i < MAX_STEPS && low < high; ++i, ++low) {
    if (holds_at(&method->symbols, condition, index, low)) break;
  }
  for (size_t i = 0; i < MAX_STEPS && high != INT64_MAX && low < high;
       ++i, --high) {
    if (holds_at(&method->symbols, condition, index, high)) break;
  }
  if (low == symbol->minimum && high == symbol->maximum) return ETX_OK;
  list->has_changed = true;
  etx_symbols_set_bounds(&method->symbols, index, low, high);
  return etx_ir_refresh_sizes(method);
}

// A smaller bound than the one of which the condition was read would need the
// condition to be read again: program.yaml cannot have one.
static void fix_lower_bounds(etx_symbols* symbols, etx_dim condition) {
  const uint64_t used = etx_symbols_in(symbols, condition);
  for (size_t i = 0; i < symbols->symbol_count; ++i) {
    etx_symbol* const symbol = &symbols->symbols[i];
    if (((used >> i) & 1) != 0) symbol->floor = symbol->minimum;
  }
}

static etx_status compare(const condition_list* list,
                          const etx_pt2_relation* condition, etx_dim* out) {
  return etx_symbols_compare(&list->graph->method->symbols, condition->relation,
                             condition->left, condition->right, out);
}

static etx_status apply(condition_list* list,
                        const etx_pt2_relation* condition) {
  etx_symbols* const symbols = &list->graph->method->symbols;
  etx_symbol_node left, right;
  etx_dim holds = 0;
  uint32_t index = 0;
  // A condition that is too complex is left as it is.
  if (compare(list, condition, &holds) != ETX_OK) return ETX_OK;
  if (etx_dim_is_number(holds)) return ETX_OK;
  if (condition->relation == ETX_SYMBOL_EQUAL) {
    ETX_TRY(etx_symbols_top(symbols, condition->left, &left));
    ETX_TRY(etx_symbols_top(symbols, condition->right, &right));
    if (left.is_symbol && right.is_symbol) {
      return unite(list, left.symbol, right.symbol);
    }
    if (right.is_number) ETX_TRY(apply_modulo(list, condition));
    if (list->has_changed) return ETX_OK;
  }
  fix_lower_bounds(symbols, holds);
  if (!only_symbol(symbols, holds, &index)) return ETX_OK;
  return narrow(list, holds, index);
}

// ---------------------------------------------------------------- checks

etx_status etx_pt2_add_check(etx_pt2_graph* graph, etx_dim holds,
                             etx_text text) {
  const etx_ir_arg args[2] = {etx_ir_int(holds),
                              {ETX_IR_ARG_STRING, {.string = text}}};
  const etx_text names[2] = {etx_text_of(""), etx_text_of("")};
  const etx_aten_arguments given = {args, names, 2};
  etx_ir_node node = {.aten = etx_text_of("aten._assert_scalar.default"),
                      .place = graph->place,
                      .branch = graph->branch};
  uint32_t unused = 0;
  ETX_TRY(etx_aten_complete(graph->pool, etx_aten_schema_find(node.aten),
                            &given, &node, graph->diag));
  return etx_ir_add_node(graph->import->module, graph->method, &node, &unused);
}

static etx_status add_guard_check(condition_list* list, etx_text guard) {
  etx_pt2_graph* const graph = list->graph;
  etx_pt2_relation condition;
  etx_dim holds = 0;
  if (!parse_guard(graph, guard, &condition)) return ETX_OK;
  const etx_status status = compare(list, &condition, &holds);
  if (status == ETX_OUT_OF_RANGE) return ETX_OK;
  ETX_TRY(status);
  if (etx_pt2_always_holds(&graph->method->symbols, holds)) return ETX_OK;
  return etx_pt2_add_check(graph, holds, guard);
}

// True if the condition fails at the largest size of its only symbol and at no
// other. torch.export asserts so of a slice whose largest size is that of the
// tensor: PyTorch's slice would then return the tensor itself. A slice of etx
// may be the whole tensor, so such a call is not refused.
static bool excludes_only_largest(const etx_symbols* symbols, etx_dim holds) {
  uint32_t index = 0;
  if (!only_symbol(symbols, holds, &index)) return false;
  const etx_symbol* const symbol = &symbols->symbols[index];
  if (symbol->is_late || symbol->maximum == INT64_MAX ||
      symbol->maximum - symbol->minimum > MAX_STEPS ||
      holds_at(symbols, holds, index, symbol->maximum)) {
    return false;
  }
  for (int64_t size = symbol->minimum; size < symbol->maximum; ++size) {
    if (!holds_at(symbols, holds, index, size)) return false;
  }
  return true;
}

etx_status etx_pt2_read_assertion(etx_pt2_graph* graph, const etx_json* json) {
  const etx_json* const inputs = etx_json_member(json, "inputs");
  if (inputs == NULL || inputs->kind != ETX_JSON_ARRAY || inputs->count != 2) {
    return ETX_OK;
  }
  const etx_json* const condition =
      etx_json_member(etx_json_member(&inputs->items[0], "arg"), "as_sym_bool");
  const etx_json* const text =
      etx_json_member(etx_json_member(&inputs->items[1], "arg"), "as_string");
  etx_dim holds = 1;
  if (condition == NULL || text == NULL || text->kind != ETX_JSON_STRING ||
      !etx_pt2_known_condition(graph, condition, &holds) ||
      etx_pt2_always_holds(&graph->method->symbols, holds) ||
      excludes_only_largest(&graph->method->symbols, holds)) {
    return ETX_OK;
  }
  return etx_pt2_add_check(graph, holds, text->string);
}

// ---------------------------------------------------------------- guards

static bool read_guard(const condition_list* list, size_t index,
                       etx_pt2_relation* out) {
  const etx_json* const guard = &list->guards->items[index];
  return guard->kind == ETX_JSON_STRING &&
         parse_guard(list->graph, guard->string, out);
}

// A condition that cannot be read may exclude 0 or 1.
static void keep_stated_bounds(condition_list* list) {
  etx_symbols* const symbols = &list->graph->method->symbols;
  etx_pt2_relation unused;
  for (size_t i = 0; i < list->guards->count; ++i) {
    if (!read_guard(list, i, &unused)) list->graph->has_unread_guards = true;
  }
  if (!list->graph->has_unread_guards) return;
  for (size_t i = 0; i < symbols->symbol_count; ++i) {
    etx_pt2_keep_stated_bound(&symbols->symbols[i]);
  }
}

etx_status etx_pt2_apply_guards(etx_pt2_graph* graph) {
  condition_list list = {graph, NULL, true};
  list.guards = etx_json_member(graph->program, "guards_code");
  if (list.guards == NULL || list.guards->kind != ETX_JSON_ARRAY) return ETX_OK;
  etx_pt2_set_context(graph, "guards_code");
  keep_stated_bounds(&list);
  for (size_t round = 0; round < MAX_ROUNDS && list.has_changed; ++round) {
    bool has_changed = false;
    for (size_t i = 0; i < list.guards->count; ++i) {
      etx_pt2_relation condition;
      list.has_changed = false;
      if (read_guard(&list, i, &condition)) ETX_TRY(apply(&list, &condition));
      has_changed = has_changed || list.has_changed;
    }
    list.has_changed = has_changed;
  }
  for (size_t i = 0; i < list.guards->count; ++i) {
    const etx_json* const guard = &list.guards->items[i];
    if (guard->kind != ETX_JSON_STRING) continue;
    ETX_TRY(add_guard_check(&list, guard->string));
  }
  return ETX_OK;
}
