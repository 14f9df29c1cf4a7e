// Emits symbolic integers as scalar instructions of ExecuTorch's runtime. A
// symbol is read from the size of an input with aten::sym_size; executorch_prim
// operators compute expressions. Each expression is computed once in a method,
// before its first use. Until then its slot has the value at the upper bounds.

#include "exporter/emit/emit_internal.h"
#include "exporter/host/text_buffer.h"

// An input from which a symbol can be computed: size == factor * symbol +
// offset.
typedef struct symbol_source {
  size_t input;
  int32_t dim;  // -1: the input is an integer
  int64_t factor;
  int64_t offset;
} symbol_source;

// True if `a` takes fewer instructions than `b`.
static bool is_cheaper(const symbol_source* a, const symbol_source* b) {
  if (a->factor != b->factor) return a->factor < b->factor;
  return a->offset == 0 && b->offset != 0;
}

static bool read_affine(const etx_emit_method* m, etx_dim dim, size_t input,
                        int32_t position, uint32_t* out_symbol,
                        symbol_source* out_source) {
  out_source->input = input;
  out_source->dim = position;
  return !etx_dim_is_number(dim) &&
         etx_symbols_affine(m->symbols, dim, out_symbol, &out_source->factor,
                            &out_source->offset) &&
         out_source->factor > 0;
}

typedef etx_status (*visit_source)(void* context, uint32_t symbol,
                                   const symbol_source* found);

// Calls `visit` for every input size of the form factor * symbol + offset.
static etx_status each_source(const etx_emit_method* m, visit_source visit,
                              void* context) {
  for (size_t i = 0; i < m->method->input_count; ++i) {
    const etx_ir_arg* const arg = &m->method->inputs[i].arg;
    uint32_t symbol = 0;
    symbol_source found = {0};
    if (arg->kind == ETX_IR_ARG_INT &&
        read_affine(m, arg->as.integer, i, -1, &symbol, &found)) {
      ETX_TRY(visit(context, symbol, &found));
    }
    if (arg->kind != ETX_IR_ARG_VALUE) continue;
    const etx_shape* const shape = &m->method->values[arg->as.value].shape;
    for (int32_t d = 0; d < shape->rank; ++d) {
      if (!read_affine(m, shape->dims[d], i, d, &symbol, &found)) continue;
      ETX_TRY(visit(context, symbol, &found));
    }
  }
  return ETX_OK;
}

typedef struct source_search {
  uint32_t symbol;
  bool found;
  symbol_source best;
} source_search;

static etx_status keep_cheapest(void* context, uint32_t symbol,
                                const symbol_source* found) {
  source_search* const c = context;
  if (symbol != c->symbol) return ETX_OK;
  if (!c->found || is_cheaper(found, &c->best)) c->best = *found;
  c->found = true;
  return ETX_OK;
}

// The value of `dim` at the upper bounds of all symbols.
static etx_status upper_value(etx_emit_method* m, etx_dim dim,
                              int64_t* out_value) {
  int64_t* const highest =
      etx_pool_take(m->emit->pool, m->symbols->symbol_count * sizeof *highest);
  if (highest == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < m->symbols->symbol_count; ++i) {
    highest[i] = m->symbols->symbols[i].maximum;
  }
  return etx_symbols_evaluate(m->symbols, dim, highest, out_value);
}

static etx_status new_slot(etx_emit_method* m, int64_t integer,
                           uint32_t* out_index) {
  const etx_pte_value value = {.kind = ETX_PTE_INT, .as.integer = integer};
  return etx_emit_value(m, &value, out_index);
}

// Emits a scalar operator over two slots; `upper` is its value at the upper
// bounds.
static etx_status compute(etx_emit_method* m, etx_op_id op, uint32_t a,
                          uint32_t b, int64_t upper, uint32_t* out_index) {
  ETX_TRY(new_slot(m, upper, out_index));
  const uint32_t arguments[3] = {a, b, *out_index};
  return etx_emit_call(m, etx_op_at(op), arguments, 3);
}

static etx_status emit_symbol(etx_emit_method* m, uint32_t symbol,
                              uint32_t* out_index) {
  if (m->index_of_symbol[symbol] != ETX_IR_NONE) {
    *out_index = m->index_of_symbol[symbol];
    return ETX_OK;
  }
  source_search c = {.symbol = symbol};
  ETX_TRY(each_source(m, keep_cheapest, &c));
  if (!c.found) {
    return etx_diag_fail(m->emit->diag, ETX_UNSUPPORTED,
                         "method '%t': size '%t' cannot be computed from the "
                         "sizes of the inputs",
                         m->method->name, m->symbols->symbols[symbol].name);
  }
  const int64_t maximum = m->symbols->symbols[symbol].maximum;
  int64_t upper = c.best.factor * maximum + c.best.offset;
  uint32_t slot = m->input_index[c.best.input];
  uint32_t number = 0;
  if (c.best.dim >= 0) {
    uint32_t dim = 0;
    ETX_TRY(etx_emit_int(m, c.best.dim, &dim));
    ETX_TRY(compute(m, ETX_OP_sym_size_int, slot, dim, upper, &slot));
  }
  if (c.best.offset != 0) {
    upper -= c.best.offset;
    ETX_TRY(etx_emit_int(m, c.best.offset, &number));
    ETX_TRY(compute(m, ETX_OP_prim_sub_scalar, slot, number, upper, &slot));
  }
  if (c.best.factor != 1) {
    ETX_TRY(etx_emit_int(m, c.best.factor, &number));
    ETX_TRY(
        compute(m, ETX_OP_prim_floordiv_scalar, slot, number, maximum, &slot));
  }
  m->index_of_symbol[symbol] = slot;
  *out_index = slot;
  return ETX_OK;
}

// The number in `slot`, in a slot that is set only if the number is within the
// bounds of the symbol. ExecuTorch has no such operator: there only the memory
// of tensors limits sizes.
static etx_status check_bounds(etx_emit_method* m, uint32_t symbol,
                               uint32_t slot, uint32_t* out_slot) {
  const etx_symbol* const s = &m->symbols->symbols[symbol];
  uint32_t arguments[5] = {slot};
  etx_pte_value what = {.kind = ETX_PTE_STRING};
  if (m->emit->program->target != ETX_TARGET_ETX) return ETX_OK;
  what.as.string = etx_pool_format(m->emit->pool, "size '%t'", s->name);
  if (what.as.string.data == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_emit_int(m, s->minimum, &arguments[1]));
  ETX_TRY(etx_emit_int(m, s->maximum, &arguments[2]));
  ETX_TRY(etx_emit_shared(m, &what, &arguments[3]));
  ETX_TRY(new_slot(m, s->maximum, out_slot));
  arguments[4] = *out_slot;
  return etx_emit_call(m, etx_op_at(ETX_OP_check_range), arguments, 5);
}

etx_status etx_emit_late(etx_emit_method* m, uint32_t symbol, uint32_t tensor,
                         int32_t dim) {
  const int64_t upper = m->symbols->symbols[symbol].maximum;
  uint32_t* const slot = &m->index_of_symbol[symbol];
  if (dim >= 0) {
    uint32_t number = 0;
    ETX_TRY(etx_emit_int(m, dim, &number));
    return compute(m, ETX_OP_sym_size_int, tensor, number, upper, slot);
  }
  ETX_TRY(new_slot(m, upper, slot));
  const uint32_t arguments[2] = {tensor, *slot};
  ETX_TRY(etx_emit_call(m, etx_op_at(ETX_OP_local_scalar_dense), arguments, 2));
  return check_bounds(m, symbol, *slot, slot);
}

static etx_op_id operator_for(etx_symbol_op op) {
  switch (op) {
    case ETX_SYMBOL_ADD:
      return ETX_OP_prim_add_scalar;
    case ETX_SYMBOL_SUBTRACT:
      return ETX_OP_prim_sub_scalar;
    case ETX_SYMBOL_MULTIPLY:
      return ETX_OP_prim_mul_scalar;
    case ETX_SYMBOL_FLOOR_DIVIDE:
      return ETX_OP_prim_floordiv_scalar;
    case ETX_SYMBOL_MODULO:
      return ETX_OP_prim_mod_scalar;
    case ETX_SYMBOL_MINIMUM:
      return ETX_OP_prim_sym_min_scalar;
    case ETX_SYMBOL_MAXIMUM:
      break;
  }
  return ETX_OP_prim_sym_max_scalar;
}

// Python's a % b, as a - a // b * b. The runtime's remainder has the sign of a,
// Python's has the sign of b.
static etx_status emit_modulo(etx_emit_method* m, etx_dim a, etx_dim b,
                              uint32_t* out_index) {
  etx_dim quotient = 0;
  etx_dim product = 0;
  etx_dim remainder = 0;
  ETX_TRY(
      etx_symbols_apply(m->symbols, ETX_SYMBOL_FLOOR_DIVIDE, a, b, &quotient));
  ETX_TRY(etx_symbols_apply(m->symbols, ETX_SYMBOL_MULTIPLY, quotient, b,
                            &product));
  ETX_TRY(etx_symbols_apply(m->symbols, ETX_SYMBOL_SUBTRACT, a, product,
                            &remainder));
  return etx_emit_integer(m, remainder, out_index);
}

static bool may_be_negative(const etx_emit_method* m, etx_dim dim) {
  int64_t low = 0;
  int64_t high = 0;
  etx_symbols_bounds(m->symbols, dim, &low, &high);
  return low < 0;
}

static etx_status emit_node(etx_emit_method* m, etx_dim dim,
                            uint32_t* out_index) {
  etx_symbol_node node;
  ETX_TRY(etx_symbols_top(m->symbols, dim, &node));
  if (node.is_number) return etx_emit_int(m, node.number, out_index);
  if (node.is_symbol) return emit_symbol(m, node.symbol, out_index);
  if (node.op == ETX_SYMBOL_MODULO &&
      (may_be_negative(m, node.left) || may_be_negative(m, node.right))) {
    return emit_modulo(m, node.left, node.right, out_index);
  }
  uint32_t left = 0;
  uint32_t right = 0;
  int64_t upper = 0;
  ETX_TRY(etx_emit_integer(m, node.left, &left));
  ETX_TRY(etx_emit_integer(m, node.right, &right));
  ETX_TRY(upper_value(m, dim, &upper));
  return compute(m, operator_for(node.op), left, right, upper, out_index);
}

etx_status etx_emit_integer(etx_emit_method* m, etx_dim dim,
                            uint32_t* out_index) {
  if (etx_dim_is_number(dim)) return etx_emit_int(m, dim, out_index);
  for (size_t i = 0; i < m->computed_count; ++i) {
    if (m->computed[i] != dim) continue;
    *out_index = m->computed_index[i];
    return ETX_OK;
  }
  ETX_TRY(emit_node(m, dim, out_index));
  ETX_TRY(etx_pool_grow(m->emit->pool, &m->computed, m->computed_count,
                        &m->computed_capacity, sizeof dim));
  ETX_TRY(etx_pool_grow(m->emit->pool, &m->computed_index, m->computed_count,
                        &m->computed_index_capacity, sizeof *out_index));
  m->computed[m->computed_count] = dim;
  m->computed_index[m->computed_count++] = *out_index;
  return ETX_OK;
}

typedef struct input_dim_list {
  etx_pool* pool;
  etx_blob_input_dim* items;
  size_t count, capacity;
} input_dim_list;

static etx_status add_dim(void* context, uint32_t symbol,
                          const symbol_source* found) {
  input_dim_list* const all = context;
  ETX_TRY(etx_pool_grow(all->pool, &all->items, all->count, &all->capacity,
                        sizeof *all->items));
  all->items[all->count++] = (etx_blob_input_dim){
      (uint32_t)found->input, found->dim, symbol, found->factor, found->offset};
  return ETX_OK;
}

etx_status etx_emit_input_dims(etx_emit_method* m,
                               etx_blob_input_dim** out_dims,
                               size_t* out_count) {
  input_dim_list all = {.pool = m->emit->pool};
  ETX_TRY(each_source(m, add_dim, &all));
  *out_dims = all.items;
  *out_count = all.count;
  return ETX_OK;
}

etx_status etx_emit_output_sizes(etx_emit_method* m,
                                 const etx_ir_output* output, etx_text* out) {
  *out = (etx_text){NULL, 0};
  if (output->arg.kind != ETX_IR_ARG_VALUE || output->is_number) return ETX_OK;
  const etx_shape* const shape = &m->method->values[output->arg.as.value].shape;
  etx_text_buffer text = {.pool = m->emit->pool};
  bool varies = false;
  for (size_t i = 0; i < shape->rank; ++i) {
    etx_text size = {NULL, 0};
    if (!etx_dim_is_number(shape->dims[i])) varies = true;
    ETX_TRY(
        etx_symbols_print(m->symbols, shape->dims[i], m->emit->pool, &size));
    if (i != 0) etx_text_put_string(&text, ", ");
    etx_text_put_text(&text, size);
  }
  if (varies) *out = (etx_text){text.data, text.size};
  return text.status;
}
