// Floats as operands that are computed from sizes, as sympy.srepr prints them:
//
//   FloatTrueDiv(ToFloat(Symbol('s68')), Mul(Float('2.0', precision=53), ...))
//
// Their arithmetic becomes nodes on tensors of rank 0 and float64, as Python
// computes with doubles.

#include "exporter/read_pt2/pt2_internal.h"

enum {
  MAX_DEPTH = 20,
  EXACT_FLOAT = 1 << 24,  // float32 represents integers up to this
};

// A float: a number, or a tensor of rank 0.
typedef struct float_term {
  bool is_number;
  double number;
  uint32_t value;
  etx_dim size;  // it is 0 only where this size is 0; 1 if that is not known
} float_term;

typedef struct float_reader {
  etx_pt2_graph* graph;
  etx_text name;  // of the float that is read
  etx_text text;
  size_t at;
  size_t depth;
} float_reader;

typedef struct float_operator {
  const char* name;
  const char* aten;
  bool of_sizes;  // the operands are integers
} float_operator;

static const float_operator operators[] = {
    {"Add(", "aten.add.Tensor", false},
    {"Mul(", "aten.mul.Tensor", false},
    {"FloatTrueDiv(", "aten.div.Tensor", false},
    {"IntTrueDiv(", "aten.div.Tensor", true},
};

static bool accept(float_reader* r, const char* token) {
  while (r->at < r->text.size && r->text.data[r->at] == ' ') ++r->at;
  const etx_text rest = {r->text.data + r->at, r->text.size - r->at};
  if (!etx_text_starts_with(rest, etx_text_of(token))) return false;
  r->at += strlen(token);
  return true;
}

static etx_ir_arg arg_of(const float_term* term) {
  etx_ir_arg arg = {ETX_IR_ARG_DOUBLE, {.real = term->number}};
  return term->is_number ? arg : etx_ir_value_arg(term->value);
}

// Appends a node whose result is a tensor of rank 0.
static etx_status add_node(float_reader* r, const char* aten,
                           const etx_aten_arguments* given, etx_dtype dtype,
                           uint32_t* out) {
  const etx_ir_value value = {.name = r->name, .shape = {.dtype = dtype}};
  return etx_pt2_add_node(r->graph, aten, given, &value, out);
}

// An integer as a tensor.
static etx_status add_size(float_reader* r, etx_dim size, etx_dtype dtype,
                           float_term* out) {
  const etx_ir_arg args[2] = {etx_ir_int(size),
                              {ETX_IR_ARG_DTYPE, {.dtype = dtype}}};
  const etx_text names[2] = {etx_text_of(""), etx_text_of("dtype")};
  const etx_aten_arguments given = {args, names, 2};
  *out = (float_term){etx_dim_is_number(size), (double)size, 0, size};
  if (out->is_number) return ETX_OK;
  return add_node(r, "aten.scalar_tensor.default", &given, dtype, &out->value);
}

// The text of an integer expression, up to the comma or parenthesis behind it.
static etx_status read_size(float_reader* r, float_term* out) {
  const size_t start = r->at;
  size_t open = 0;
  etx_dim size = 0;
  for (; r->at < r->text.size; ++r->at) {
    const char c = r->text.data[r->at];
    if (open == 0 && (c == ',' || c == ')')) break;
    if (c == '(') ++open;
    if (c == ')') --open;
  }
  const etx_text text = {r->text.data + start, r->at - start};
  ETX_TRY(etx_pt2_size_of_text(r->graph, text, &size));
  return add_size(r, size, ETX_DTYPE_FLOAT64, out);
}

// Float('1.5', precision=53), behind the first quote.
static etx_status read_number(float_reader* r, float_term* out) {
  *out = (float_term){true, 0, 0, 1};
  return etx_pt2_float_number(r->text, &r->at, &out->number) ? ETX_OK
                                                             : ETX_UNSUPPORTED;
}

// Python raises an error where a divisor is 0.
static etx_status check_divisor(float_reader* r, etx_dim size) {
  etx_dim holds = 0;
  ETX_TRY(etx_symbols_compare(&r->graph->method->symbols, ETX_SYMBOL_UNEQUAL,
                              size, 0, &holds));
  if (etx_pt2_always_holds(&r->graph->method->symbols, holds)) return ETX_OK;
  return etx_pt2_add_check(r->graph, holds,
                           etx_text_of("a float is not divided by zero"));
}

static etx_status combine(float_reader* r, const float_operator* operator,
                          const float_term* a, const float_term* b,
                          float_term* out) {
  const etx_ir_arg args[2] = {arg_of(a), arg_of(b)};
  const etx_text names[2] = {etx_text_of(""), etx_text_of("")};
  const etx_aten_arguments given = {args, names, 2};
  if (a->is_number && b->is_number) return ETX_UNSUPPORTED;
  etx_dim size = 1;
  if (strcmp(operator->aten, "aten.div.Tensor") == 0) {
    ETX_TRY(check_divisor(r, b->size));
  } else if (strcmp(operator->aten, "aten.mul.Tensor") == 0) {
    ETX_TRY(etx_symbols_apply(&r->graph->method->symbols, ETX_SYMBOL_MULTIPLY,
                              a->size, b->size, &size));
  }
  *out = (float_term){.size = size};
  return add_node(r, operator->aten, &given, ETX_DTYPE_FLOAT64, &out->value);
}

static etx_status read_term(float_reader* r, float_term* out);

static etx_status read_operands(float_reader* r, const float_operator* operator,
                                float_term * out) {
  ETX_TRY(operator->of_sizes ? read_size(r, out) : read_term(r, out));
  while (accept(r, ",")) {
    float_term next = {0};
    ETX_TRY(operator->of_sizes ? read_size(r, &next) : read_term(r, &next));
    ETX_TRY(combine(r, operator, out, &next, out));
  }
  return accept(r, ")") ? ETX_OK : ETX_UNSUPPORTED;
}

static etx_status read_term(float_reader* r, float_term* out) {
  etx_status status = ETX_UNSUPPORTED;
  if (++r->depth > MAX_DEPTH) return ETX_UNSUPPORTED;
  if (accept(r, "Float('")) {
    status = read_number(r, out);
  } else if (accept(r, "ToFloat(")) {
    ETX_TRY(read_size(r, out));
    if (accept(r, ")")) status = ETX_OK;
  } else {
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; ++i) {
      if (!accept(r, operators[i].name)) continue;
      status = read_operands(r, &operators[i], out);
      break;
    }
  }
  --r->depth;
  return status;
}

// ---------------------------------------------------------------- operands

// float(n) for a size n that float32 represents. False for any other float.
static bool read_exact_size(float_reader* r, etx_dim* out) {
  const etx_text head = etx_text_of("ToFloat(");
  int64_t low = 0, high = 0;
  if (!etx_text_starts_with(r->text, head) ||
      r->text.data[r->text.size - 1] != ')') {
    return false;
  }
  const etx_text inner = {r->text.data + head.size,
                          r->text.size - head.size - 1};
  if (etx_pt2_size_of_text(r->graph, inner, out) != ETX_OK) return false;
  etx_symbols_bounds(&r->graph->method->symbols, *out, &low, &high);
  return low >= -EXACT_FLOAT && high <= EXACT_FLOAT;
}

static etx_status read_float(float_reader* r, etx_dtype dtype,
                             etx_ir_arg* out) {
  float_term term = {0};
  etx_dim size = 0;
  const bool is_single = dtype == ETX_DTYPE_FLOAT32;
  if (is_single && read_exact_size(r, &size)) {
    ETX_TRY(add_size(r, size, dtype, &term));
    *out = arg_of(&term);
    return ETX_OK;
  }
  ETX_TRY(read_term(r, &term));
  if (r->at != r->text.size) return ETX_UNSUPPORTED;
  if (!term.is_number && is_single) {
    const etx_ir_arg args[2] = {etx_ir_value_arg(term.value),
                                {ETX_IR_ARG_DTYPE, {.dtype = dtype}}};
    const etx_text names[2] = {etx_text_of(""), etx_text_of("dtype")};
    const etx_aten_arguments given = {args, names, 2};
    ETX_TRY(add_node(r, "aten._to_copy.default", &given, dtype, &term.value));
  }
  *out = arg_of(&term);
  return ETX_OK;
}

etx_status etx_pt2_sym_float(etx_pt2_graph* graph, const etx_json* sym_float,
                             etx_dtype dtype, etx_ir_arg* out) {
  const etx_json* const name = etx_json_member(sym_float, "as_name");
  if (name == NULL || name->kind != ETX_JSON_STRING) return ETX_UNSUPPORTED;
  const etx_json* const known = etx_json_find(graph->sym_floats, name->string);
  const etx_json* const text =
      etx_json_member(etx_json_member(known, "as_expr"), "expr_str");
  if (text == NULL || text->kind != ETX_JSON_STRING || text->string.size == 0) {
    return ETX_UNSUPPORTED;
  }
  float_reader r = {graph, name->string, text->string, 0, 0};
  return read_float(&r, dtype, out);
}
