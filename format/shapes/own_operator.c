// Rules of sizes are read and computed in one pass, with the call's arithmetic,
// each time sizes are inferred. An expression is computed with two stacks, of
// numbers and of operators (Dijkstra's shunting yard), so that nothing recurses
// on the text. Without a call the same code only checks the text: every size is
// then 1 and every integer 1.

#include "format/shapes/own_operator.h"

#include "format/shapes/op_shapes_internal.h"

enum { STACK = 24 };

typedef struct rule_reader {
  const etx_shape_call* call;  // NULL: only the text is checked
  const char* arguments;       // of the row
  const char* at;              // the next character
  etx_diag* diag;              // of a check
} rule_reader;

// ---------------------------------------------------------------- text

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void skip_spaces(rule_reader* r) {
  while (*r->at == ' ') ++r->at;
}

static bool take(rule_reader* r, const char* text) {
  skip_spaces(r);
  const size_t size = strlen(text);
  if (strncmp(r->at, text, size) != 0) return false;
  r->at += size;
  return true;
}

// Takes a word; false if a longer word, or none, stands here.
static bool take_word(rule_reader* r, const char* word) {
  const char* const start = r->at;
  if (!take(r, word)) return false;
  if (!is_letter(*r->at) && !is_digit(*r->at)) return true;
  r->at = start;
  return false;
}

static etx_text read_name(rule_reader* r) {
  skip_spaces(r);
  const char* const start = r->at;
  while (is_letter(*r->at) || (r->at != start && is_digit(*r->at))) ++r->at;
  return (etx_text){start, (size_t)(r->at - start)};
}

static etx_status refuse(const rule_reader* r, const char* problem,
                         etx_text subject) {
  if (r->call != NULL) {
    return etx_shape_refuse(r->call, "in its rule of sizes, %s '%t'", problem,
                            subject);
  }
  return etx_diag_fail(r->diag, ETX_BAD_FILE, "%s '%t'", problem, subject);
}

static etx_status expect(rule_reader* r, const char* text) {
  if (take(r, text)) return ETX_OK;
  return refuse(r, "expected", etx_text_of(text));
}

static bool read_digits(rule_reader* r, int64_t* out) {
  int64_t number = 0;
  if (!is_digit(*r->at)) return false;
  for (; is_digit(*r->at); ++r->at) {
    if (number < INT32_MAX) number = number * 10 + (*r->at - '0');
  }
  *out = number > INT32_MAX ? INT32_MAX : number;
  return true;
}

static bool read_signed(rule_reader* r, int64_t* out) {
  const bool is_negative = *r->at == '-' && is_digit(r->at[1]);
  if (is_negative) ++r->at;
  if (!read_digits(r, out)) return false;
  if (is_negative) *out = -*out;
  return true;
}

// ---------------------------------------------------------------- arguments

typedef struct named_argument {
  size_t index;
  etx_argument argument;
} named_argument;

static bool find_argument(const rule_reader* r, etx_text name,
                          named_argument* out) {
  etx_argument_cursor cursor = etx_argument_first(r->arguments);
  for (out->index = 0; etx_argument_next(&cursor, &out->argument);
       ++out->index) {
    if (out->argument.keyword_only && out->argument.written) return false;
    if (etx_text_equal(out->argument.name, name)) return true;
  }
  return false;
}

// Reads the name of an argument that is a tensor, and its shape.
static etx_status read_tensor(rule_reader* r, etx_shape* out) {
  named_argument found;
  const etx_text name = read_name(r);
  *out = (etx_shape){.dtype = ETX_DTYPE_FLOAT32, .rank = 0};
  if (!find_argument(r, name, &found) ||
      found.argument.type != ETX_ARGUMENT_TENSOR) {
    return refuse(r, "expected a tensor argument, found", name);
  }
  if (r->call == NULL) return ETX_OK;
  return etx_shape_tensor(r->call, found.index, out);
}

static etx_status read_tensors(rule_reader* r, etx_shape* left,
                               etx_shape* right) {
  ETX_TRY(expect(r, "("));
  ETX_TRY(read_tensor(r, left));
  ETX_TRY(expect(r, ","));
  return read_tensor(r, right);
}

// ---------------------------------------------------------------- numbers

// A dimension of a shape, counted from its end if it is negative.
static etx_status wrap(const rule_reader* r, const etx_shape* shape,
                       int64_t dim, etx_text name, size_t* out) {
  const int64_t at = dim < 0 ? dim + shape->rank : dim;
  if (at < 0 || at >= shape->rank) {
    return etx_shape_refuse(r->call,
                            "'%t' has %i dimensions and no dimension "
                            "%i",
                            name, (int64_t)shape->rank, dim);
  }
  *out = (size_t)at;
  return ETX_OK;
}

// The size x.0, or the item pads.0.
static etx_status read_part(rule_reader* r, const named_argument* found,
                            etx_dim* out) {
  int64_t part = 0;
  etx_shape shape;
  size_t at = 0;
  const bool is_tensor = found->argument.type == ETX_ARGUMENT_TENSOR;
  if (!is_tensor && found->argument.type != ETX_ARGUMENT_INTS) {
    return refuse(r,
                  "expected an int, an item of an int[] or a size of a "
                  "tensor, found",
                  found->argument.name);
  }
  if (!take(r, ".") || !read_signed(r, &part)) {
    return refuse(r, "expected '.' and the number of a size or item after",
                  found->argument.name);
  }
  if (r->call == NULL) return ETX_OK;
  if (is_tensor) {
    ETX_TRY(etx_shape_tensor(r->call, found->index, &shape));
    ETX_TRY(wrap(r, &shape, part, found->argument.name, &at));
    *out = shape.dims[at];
    return ETX_OK;
  }
  const size_t count = r->call->list_count(r->call->context, found->index);
  if (part < 0) part += (int64_t)count;
  if (part < 0 || (uint64_t)part >= count) {
    return etx_shape_refuse(r->call, "'%t' has %z items and no item %i",
                            found->argument.name, count, part);
  }
  *out = r->call->integer(r->call->context, found->index, (size_t)part);
  return ETX_OK;
}

static etx_status read_number(rule_reader* r, etx_dim* out) {
  named_argument found;
  int64_t number = 0;
  *out = 1;
  if (read_digits(r, &number)) {
    *out = number;
    return ETX_OK;
  }
  const etx_text name = read_name(r);
  if (name.size == 0) {
    return refuse(r, "expected a size, found",
                  (etx_text){r->at, *r->at == '\0' ? 0 : 1});
  }
  if (!find_argument(r, name, &found)) {
    return refuse(r, "there is no argument", name);
  }
  if (found.argument.type != ETX_ARGUMENT_INT) {
    return read_part(r, &found, out);
  }
  if (r->call != NULL) {
    if (etx_shape_is_none(r->call, found.index)) {
      return refuse(r, "a size is None, of argument", name);
    }
    *out = r->call->integer(r->call->context, found.index, 0);
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- expressions

// Operators on the stack. An open parenthesis, MINIMUM and MAXIMUM end what is
// applied before them.
typedef enum size_operator {
  OPEN,
  MINIMUM,
  MAXIMUM,
  ADD,
  SUBTRACT,
  MULTIPLY,
  DIVIDE,
} size_operator;

typedef struct rule_expression {
  etx_dim numbers[STACK];
  uint8_t operators[STACK];
  size_t number_count, operator_count;
} rule_expression;

static int strength(size_operator op) {
  return op <= MAXIMUM ? 0 : op <= SUBTRACT ? 1 : 2;
}

static etx_status apply(const rule_reader* r, size_operator op, etx_dim a,
                        etx_dim b, etx_dim* out) {
  *out = 1;
  if (r->call == NULL) return ETX_OK;
  switch (op) {
    case ADD:
      return etx_dim_add(r->call, a, b, out);
    case SUBTRACT:
      return etx_dim_subtract(r->call, a, b, out);
    case MULTIPLY:
      return etx_dim_multiply(r->call, a, b, out);
    case DIVIDE:
      if (!etx_dim_is_number(b) || b <= 0) {
        return refuse(r,
                      "a size is divided by something other than a positive "
                      "number in",
                      etx_text_of(r->at));
      }
      return etx_dim_floor_divide(r->call, a, b, out);
    case MINIMUM:
      return etx_dim_minimum(r->call, a, b, out);
    case MAXIMUM:
      return etx_dim_maximum(r->call, a, b, out);
    case OPEN:
      break;
  }
  return ETX_OK;
}

static etx_status apply_last(const rule_reader* r, rule_expression* e) {
  const size_operator op = (size_operator)e->operators[--e->operator_count];
  if (e->number_count < 2) {
    return refuse(r, "a size is missing before", etx_text_of(r->at));
  }
  --e->number_count;
  return apply(r, op, e->numbers[e->number_count - 1],
               e->numbers[e->number_count], &e->numbers[e->number_count - 1]);
}

// Applies the operators on the stack that bind at least as strong.
static etx_status apply_down_to(const rule_reader* r, rule_expression* e,
                                int least) {
  while (e->operator_count > 0 &&
         strength((size_operator)e->operators[e->operator_count - 1]) >=
             least) {
    ETX_TRY(apply_last(r, e));
  }
  return ETX_OK;
}

static etx_status push(const rule_reader* r, rule_expression* e,
                       size_operator op) {
  if (e->operator_count == STACK) {
    return refuse(r, "an expression is nested too deep at", etx_text_of(r->at));
  }
  e->operators[e->operator_count++] = (uint8_t)op;
  return ETX_OK;
}

// Reads what may stand before a number, then the number.
static etx_status read_operand(rule_reader* r, rule_expression* e) {
  for (;;) {
    if (take(r, "(")) {
      ETX_TRY(push(r, e, OPEN));
    } else if (take_word(r, "min") || take_word(r, "max")) {
      ETX_TRY(push(r, e, r->at[-1] == 'n' ? MINIMUM : MAXIMUM));
      ETX_TRY(expect(r, "("));
    } else {
      break;
    }
  }
  if (e->number_count == STACK) {
    return refuse(r, "an expression is too long at", etx_text_of(r->at));
  }
  return read_number(r, &e->numbers[e->number_count++]);
}

// Reads what may stand behind a number. `*out_more` is true if another number
// follows.
static etx_status read_operator(rule_reader* r, rule_expression* e,
                                bool* out_more) {
  static const struct {
    const char* text;
    size_operator op;
  } binary[] = {{"+", ADD}, {"-", SUBTRACT}, {"*", MULTIPLY}, {"//", DIVIDE}};
  while (e->operator_count > 0 && take(r, ")")) {
    ETX_TRY(apply_down_to(r, e, 1));
    if (e->operator_count == 0) {
      return refuse(r, "a parenthesis is closed that was not opened before",
                    etx_text_of(r->at));
    }
    if (e->operators[e->operator_count - 1] == OPEN) {
      --e->operator_count;
    } else {
      ETX_TRY(apply_last(r, e));
    }
  }
  *out_more = true;
  for (size_t i = 0; i < sizeof binary / sizeof *binary; ++i) {
    if (!take(r, binary[i].text)) continue;
    ETX_TRY(apply_down_to(r, e, strength(binary[i].op)));
    return push(r, e, binary[i].op);
  }
  ETX_TRY(apply_down_to(r, e, 1));
  if (e->operator_count > 0) {  // a number of min() or max()
    return expect(r, ",");
  }
  *out_more = false;
  return ETX_OK;
}

static etx_status read_expression(rule_reader* r, etx_dim* out) {
  rule_expression e = {.number_count = 0, .operator_count = 0};
  bool more = true;
  while (more) {
    ETX_TRY(read_operand(r, &e));
    ETX_TRY(read_operator(r, &e, &more));
  }
  if (e.number_count != 1) {
    return refuse(r, "a size has too many numbers before", etx_text_of(r->at));
  }
  *out = e.numbers[0];
  return ETX_OK;
}

// ---------------------------------------------------------------- sizes

static etx_status append(const rule_reader* r, etx_shape* shape, etx_dim dim) {
  if (shape->rank == ETX_MAX_RANK) {
    return refuse(r, "more than 16 sizes before", etx_text_of(r->at));
  }
  if (r->call != NULL && etx_dim_is_number(dim) &&
      (dim < 0 || dim > INT32_MAX)) {
    return etx_shape_refuse(r->call, "size %i of its result is not in 0..%i",
                            dim, (int64_t)INT32_MAX);
  }
  shape->dims[shape->rank++] = dim;
  return ETX_OK;
}

// Reads a range of sizes, y.1:-1. `*out_found` is false if none stands here.
static etx_status read_range(rule_reader* r, etx_shape* shape,
                             bool* out_found) {
  const char* const start = r->at;
  named_argument found;
  int64_t first = 0, end = ETX_MAX_RANK;
  etx_shape from;
  const etx_text name = read_name(r);
  *out_found = false;
  if (!find_argument(r, name, &found) ||
      found.argument.type != ETX_ARGUMENT_TENSOR || !take(r, ".")) {
    r->at = start;
    return ETX_OK;
  }
  const bool has_first = read_signed(r, &first);
  if (!take(r, ":")) {
    r->at = start;
    return ETX_OK;
  }
  const bool has_end = read_signed(r, &end);
  *out_found = true;
  if (r->call == NULL) return ETX_OK;
  ETX_TRY(etx_shape_tensor(r->call, found.index, &from));
  if (has_first && first < 0) first += from.rank;
  if (has_end && end < 0) end += from.rank;
  if (first < 0) first = 0;
  if (end > from.rank) end = from.rank;
  for (int64_t i = first; i < end; ++i) {
    ETX_TRY(append(r, shape, from.dims[i]));
  }
  return ETX_OK;
}

static etx_status read_items(rule_reader* r, etx_shape* shape) {
  if (take(r, "]")) return ETX_OK;
  do {
    bool is_range = false;
    etx_dim dim = 0;
    skip_spaces(r);
    ETX_TRY(read_range(r, shape, &is_range));
    if (is_range) continue;
    ETX_TRY(read_expression(r, &dim));
    ETX_TRY(append(r, shape, dim));
  } while (take(r, ","));
  return expect(r, "]");
}

static etx_status read_broadcast(rule_reader* r, etx_shape* shape) {
  etx_shape other;
  ETX_TRY(expect(r, "("));
  ETX_TRY(read_tensor(r, shape));
  while (take(r, ",")) {
    ETX_TRY(read_tensor(r, &other));
    if (r->call == NULL) continue;
    ETX_TRY(etx_shape_broadcast_into(r->call, shape, &other));
  }
  return expect(r, ")");
}

static etx_status read_matmul(rule_reader* r, etx_shape* shape) {
  etx_shape right;
  ETX_TRY(read_tensors(r, shape, &right));
  ETX_TRY(expect(r, ")"));
  if (r->call == NULL) return ETX_OK;
  if (shape->rank < 2 || right.rank < 2) {
    return etx_shape_refuse(r->call,
                            "the ranks of a product are %i and %i, expected 2 "
                            "or more",
                            (int64_t)shape->rank, (int64_t)right.rank);
  }
  const etx_dim rows = shape->dims[shape->rank - 2];
  const etx_dim columns = right.dims[right.rank - 1];
  ETX_TRY(etx_shape_check_equal(r->call, "the inner size of the right matrix",
                                shape->dims[shape->rank - 1],
                                right.dims[right.rank - 2]));
  shape->rank = (uint8_t)(shape->rank - 2);
  right.rank = (uint8_t)(right.rank - 2);
  ETX_TRY(etx_shape_broadcast_into(r->call, shape, &right));
  ETX_TRY(append(r, shape, rows));
  return append(r, shape, columns);
}

// The dimensions that are reduced: a number, or an argument.
typedef struct reduced_dims {
  bool is_reduced[ETX_MAX_RANK];
} reduced_dims;

static etx_status read_reduced(rule_reader* r, const etx_shape* shape,
                               reduced_dims* out) {
  named_argument found;
  int64_t number = 0;
  size_t at = 0;
  *out = (reduced_dims){{false}};
  skip_spaces(r);
  const bool is_number = read_signed(r, &number);
  const etx_text name = is_number ? (etx_text){NULL, 0} : read_name(r);
  if (!is_number && (!find_argument(r, name, &found) ||
                     (found.argument.type != ETX_ARGUMENT_INT &&
                      found.argument.type != ETX_ARGUMENT_INTS))) {
    return refuse(r, "expected a number or an int or int[] argument, found",
                  name);
  }
  if (r->call == NULL) return ETX_OK;
  if (is_number) {
    ETX_TRY(wrap(r, shape, number, etx_text_of("the tensor"), &at));
    out->is_reduced[at] = true;
    return ETX_OK;
  }
  const bool is_list = found.argument.type == ETX_ARGUMENT_INTS;
  const size_t count =
      is_list ? r->call->list_count(r->call->context, found.index) : 1;
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(etx_shape_dimension(r->call, found.index, i, shape->rank, &at));
    out->is_reduced[at] = true;
  }
  return ETX_OK;
}

static etx_status read_keep(rule_reader* r, bool* out) {
  named_argument found;
  *out = false;
  if (!take(r, ",")) return ETX_OK;
  if (take_word(r, "True")) {
    *out = true;
    return ETX_OK;
  }
  if (take_word(r, "False")) return ETX_OK;
  const etx_text name = read_name(r);
  if (!find_argument(r, name, &found) ||
      found.argument.type != ETX_ARGUMENT_BOOL) {
    return refuse(r, "expected True, False or a bool argument, found", name);
  }
  if (r->call != NULL) *out = etx_shape_boolean(r->call, found.index);
  return ETX_OK;
}

static etx_status read_reduce(rule_reader* r, etx_shape* shape) {
  etx_shape from;
  reduced_dims dims;
  bool keeps = false;
  ETX_TRY(expect(r, "("));
  ETX_TRY(read_tensor(r, &from));
  ETX_TRY(expect(r, ","));
  ETX_TRY(read_reduced(r, &from, &dims));
  ETX_TRY(read_keep(r, &keeps));
  ETX_TRY(expect(r, ")"));
  for (size_t i = 0; i < from.rank; ++i) {
    if (dims.is_reduced[i] && !keeps) continue;
    ETX_TRY(append(r, shape, dims.is_reduced[i] ? 1 : from.dims[i]));
  }
  return ETX_OK;
}

static etx_status read_sizes(rule_reader* r, etx_shape* shape) {
  *shape = (etx_shape){.rank = 0};
  if (take(r, "[")) return read_items(r, shape);
  if (take_word(r, "broadcast")) return read_broadcast(r, shape);
  if (take_word(r, "matmul")) return read_matmul(r, shape);
  if (take_word(r, "reduce")) return read_reduce(r, shape);
  return read_tensor(r, shape);
}

// ---------------------------------------------------------------- types

static etx_status read_dtype(rule_reader* r, etx_dtype* out) {
  const char* const start = r->at;
  etx_shape left, right;
  if (take_word(r, "promote")) {
    ETX_TRY(read_tensors(r, &left, &right));
    ETX_TRY(expect(r, ")"));
    *out = left.dtype;
    return r->call == NULL ? ETX_OK
                           : etx_shape_promote(r->call, out, right.dtype);
  }
  named_argument found;
  const etx_text name = read_name(r);
  if (!find_argument(r, name, &found) && etx_dtype_find(name, out)) {
    return ETX_OK;
  }
  r->at = start;
  ETX_TRY(read_tensor(r, &left));
  *out = left.dtype;
  return ETX_OK;
}

// The type of the first tensor among the arguments.
static etx_status first_dtype(const rule_reader* r, etx_dtype* out) {
  etx_argument_cursor cursor = etx_argument_first(r->arguments);
  etx_argument argument;
  etx_shape shape;
  for (size_t i = 0; etx_argument_next(&cursor, &argument); ++i) {
    if (argument.type != ETX_ARGUMENT_TENSOR || argument.optional) continue;
    if (argument.keyword_only && argument.written) break;
    if (r->call == NULL) return ETX_OK;
    ETX_TRY(etx_shape_tensor(r->call, i, &shape));
    *out = shape.dtype;
    return ETX_OK;
  }
  return refuse(r, "there is no tensor that could give the result its type in",
                etx_text_of(r->arguments));
}

// ---------------------------------------------------------------- rows

// The readers of both rules of a row. The one of types has no text if none
// states types.
typedef struct rule_pair {
  rule_reader sizes;
  rule_reader dtypes;
} rule_pair;

static rule_pair start(const etx_own_operator* own, const etx_shape_call* call,
                       etx_diag* diag) {
  const bool has_types = own->dtypes != NULL && own->dtypes[0] != '\0';
  const rule_pair pair = {
      {call, own->op.arguments, own->sizes, diag},
      {call, own->op.arguments, has_types ? own->dtypes : NULL, diag}};
  return pair;
}

static etx_status next_sizes(rule_reader* r, size_t index, etx_shape* out_shape,
                             bool* out_is_bound) {
  ETX_TRY(expect(r, index == 0 ? "" : ","));
  *out_is_bound = take_word(r, "at_most");
  return read_sizes(r, out_shape);
}

static etx_status next_dtype(rule_reader* r, size_t index,
                             etx_dtype* out_dtype) {
  if (r->at == NULL) return first_dtype(r, out_dtype);
  ETX_TRY(expect(r, index == 0 ? "" : ","));
  return read_dtype(r, out_dtype);
}

static size_t count_written(const char* arguments) {
  etx_argument_cursor cursor = etx_argument_first(arguments);
  etx_argument argument;
  size_t count = 0;
  while (etx_argument_next(&cursor, &argument)) count += argument.written;
  return count;
}

etx_status etx_shape_own(etx_shape_call* call) {
  const etx_own_operator* const own = (const etx_own_operator*)call->op;
  const size_t count = count_written(own->op.arguments);
  rule_pair rules = start(own, call, call->diag);
  for (size_t i = 0; i < count; ++i) {
    etx_shape shape;
    etx_dtype dtype = ETX_DTYPE_FLOAT32;
    bool is_bound = false;
    ETX_TRY(next_sizes(&rules.sizes, i, &shape, &is_bound));
    ETX_TRY(next_dtype(&rules.dtypes, i, &dtype));
    shape.dtype = dtype;
    ETX_TRY(is_bound ? etx_shape_put_bounded(call, i, &shape)
                     : call->output(call->context, i, &shape));
  }
  return ETX_OK;
}

static etx_status check_end(rule_reader* r) {
  if (r->at == NULL) return ETX_OK;
  skip_spaces(r);
  if (*r->at == '\0') return ETX_OK;
  return refuse(r, "expected the end of the rules, found", etx_text_of(r->at));
}

static etx_status check_sizes(rule_reader* r, size_t count) {
  etx_shape shape;
  bool unused = false;
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(next_sizes(r, i, &shape, &unused));
  }
  return check_end(r);
}

static etx_status check_dtypes(rule_reader* r, size_t count) {
  etx_dtype dtype = ETX_DTYPE_FLOAT32;
  for (size_t i = 0; i < count; ++i) ETX_TRY(next_dtype(r, i, &dtype));
  return check_end(r);
}

etx_status etx_own_operator_check(const etx_own_operator* own, size_t* out_at,
                                  bool* out_in_dtypes, etx_diag* diag) {
  const size_t count = count_written(own->op.arguments);
  rule_pair rules = start(own, NULL, diag);
  *out_in_dtypes = false;
  etx_status status = check_sizes(&rules.sizes, count);
  *out_at = (size_t)(rules.sizes.at - own->sizes);
  if (status != ETX_OK) return status;
  status = check_dtypes(&rules.dtypes, count);
  *out_in_dtypes = status != ETX_OK && rules.dtypes.at != NULL;
  if (*out_in_dtypes) *out_at = (size_t)(rules.dtypes.at - own->dtypes);
  return status;
}
