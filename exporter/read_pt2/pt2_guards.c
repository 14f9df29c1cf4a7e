// Guards: conditions on the sizes of the inputs, as Python text, that the
// exported program checks before it runs:
//
//   L['x'].size()[0] <= L['args'][1].size()[2]
//   (L['n'] % 4) == 0 or L['n'] < 3
//
// A path in brackets leads to an argument of forward() and into lists and
// dicts. torch.export names the input after the path: args_1.

#include "exporter/host/text_buffer.h"
#include "exporter/read_pt2/pt2_internal.h"

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

bool etx_pt2_read_guard(etx_pt2_graph* graph, etx_text guard,
                        etx_pt2_relation* out) {
  guard_reader r = {.graph = graph, .guard = guard};
  etx_text_buffer_init(&r.name, graph->pool);
  etx_text_buffer_init(&r.sizes, graph->pool);
  if (!replace_paths(&r)) return false;
  return read_condition(&graph->method->symbols,
                        (etx_text){r.sizes.data, r.sizes.size}, 0, out);
}
