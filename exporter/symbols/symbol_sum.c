// Sums of products over atoms. Terms are sorted by structure, not by the order
// in which they were created, so that equal polynomials are equal term by term.

#include "exporter/symbols/symbol_internal.h"
#include "format/base/checked_math.h"

static int compare_numbers(int64_t a, int64_t b) { return a < b ? -1 : a > b; }

static int compare_terms(const etx_symbols* symbols, const etx_term* a,
                         const etx_term* b);

// Recursion is bounded by ETX_EXPRESSION_MAX_DEPTH.
int etx_dims_order(const etx_symbols* symbols, etx_dim a, etx_dim b) {
  if (a == b) return 0;
  if (etx_dim_is_number(a) || etx_dim_is_number(b)) {
    if (etx_dim_is_number(a) != etx_dim_is_number(b)) {
      return etx_dim_is_number(a) ? 1 : -1;
    }
    return compare_numbers(a, b);
  }
  const etx_expression* const x = &symbols->expressions[etx_dim_index(a)];
  const etx_expression* const y = &symbols->expressions[etx_dim_index(b)];
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  switch (x->kind) {
    case ETX_EXPRESSION_SYMBOL:
      return compare_numbers(x->symbol, y->symbol);
    case ETX_EXPRESSION_OPAQUE: {
      if (x->op != y->op) return x->op < y->op ? -1 : 1;
      const int order = etx_dims_order(symbols, x->left, y->left);
      return order != 0 ? order : etx_dims_order(symbols, x->right, y->right);
    }
    case ETX_EXPRESSION_SUM:
      for (size_t i = 0; i < x->term_count && i < y->term_count; ++i) {
        const int order = compare_terms(symbols, &x->terms[i], &y->terms[i]);
        if (order != 0) return order;
        const int factors =
            compare_numbers(x->terms[i].factor, y->terms[i].factor);
        if (factors != 0) return factors;
      }
      return compare_numbers((int64_t)x->term_count, (int64_t)y->term_count);
  }
  return 0;
}

int etx_atoms_order(const etx_symbols* symbols, uint32_t a, uint32_t b) {
  return etx_dims_order(symbols, etx_dim_of_index(a), etx_dim_of_index(b));
}

// Degree-lexicographic order of the monomials; factors are ignored. Higher
// degrees come first, so the constant is last. Products preserve this order
// (it is a monomial order), which exact division needs.
static int compare_terms(const etx_symbols* symbols, const etx_term* a,
                         const etx_term* b) {
  if (a->degree != b->degree) return a->degree > b->degree ? -1 : 1;
  for (uint32_t i = 0; i < a->degree; ++i) {
    const int order = etx_atoms_order(symbols, a->atoms[i], b->atoms[i]);
    if (order != 0) return order;
  }
  return 0;
}

// ---------------------------------------------------------------- sums

void etx_sum_of_dim(const etx_symbols* symbols, etx_dim dim, etx_sum* out_sum) {
  out_sum->count = 0;
  if (etx_dim_is_number(dim)) {
    if (dim == 0) return;
    const etx_term term = {dim, 0, {0}};
    out_sum->terms[out_sum->count++] = term;
    return;
  }
  const etx_expression* const expression =
      &symbols->expressions[etx_dim_index(dim)];
  if (expression->kind == ETX_EXPRESSION_SUM) {
    out_sum->count = expression->term_count;
    memcpy(out_sum->terms, expression->terms,
           expression->term_count * sizeof *expression->terms);
    return;
  }
  const etx_term term = {1, 1, {(uint32_t)etx_dim_index(dim)}};
  out_sum->terms[out_sum->count++] = term;
}

etx_status etx_sum_add_term(const etx_symbols* symbols, etx_sum* sum,
                            const etx_term* term) {
  if (term->factor == 0) return ETX_OK;
  size_t at = 0;
  int order = 1;
  while (at < sum->count) {
    order = compare_terms(symbols, &sum->terms[at], term);
    if (order >= 0) break;
    ++at;
  }
  if (at < sum->count && order == 0) {
    int64_t factor = 0;
    if (!etx_add_i64(sum->terms[at].factor, term->factor, &factor)) {
      return ETX_OUT_OF_RANGE;
    }
    sum->terms[at].factor = factor;
    if (factor != 0) return ETX_OK;
    memmove(&sum->terms[at], &sum->terms[at + 1],
            (sum->count - at - 1) * sizeof *sum->terms);
    --sum->count;
    return ETX_OK;
  }
  if (sum->count >= ETX_SUM_MAX_TERMS) return ETX_OUT_OF_RANGE;
  memmove(&sum->terms[at + 1], &sum->terms[at],
          (sum->count - at) * sizeof *sum->terms);
  sum->terms[at] = *term;
  ++sum->count;
  return ETX_OK;
}

etx_status etx_sum_add(const etx_symbols* symbols, etx_sum* sum,
                       const etx_sum* other, int64_t factor) {
  for (size_t i = 0; i < other->count; ++i) {
    etx_term term = other->terms[i];
    if (!etx_multiply_i64(term.factor, factor, &term.factor)) {
      return ETX_OUT_OF_RANGE;
    }
    ETX_TRY(etx_sum_add_term(symbols, sum, &term));
  }
  return ETX_OK;
}

etx_status etx_terms_multiply(const etx_symbols* symbols, const etx_term* a,
                              const etx_term* b, etx_term* out) {
  etx_term term = {0, a->degree + b->degree, {0}};
  if (!etx_multiply_i64(a->factor, b->factor, &term.factor) ||
      term.degree > ETX_TERM_MAX_DEGREE) {
    return ETX_OUT_OF_RANGE;
  }
  uint32_t i = 0, j = 0;
  for (uint32_t k = 0; k < term.degree; ++k) {
    const bool from_a = j >= b->degree ||
                        (i < a->degree && etx_atoms_order(symbols, a->atoms[i],
                                                          b->atoms[j]) <= 0);
    term.atoms[k] = from_a ? a->atoms[i++] : b->atoms[j++];
  }
  *out = term;
  return ETX_OK;
}

etx_status etx_sum_multiply(const etx_symbols* symbols, const etx_sum* a,
                            const etx_sum* b, etx_sum* out) {
  out->count = 0;
  for (size_t i = 0; i < a->count; ++i) {
    for (size_t j = 0; j < b->count; ++j) {
      etx_term term;
      ETX_TRY(etx_terms_multiply(symbols, &a->terms[i], &b->terms[j], &term));
      ETX_TRY(etx_sum_add_term(symbols, out, &term));
    }
  }
  return ETX_OK;
}
