#include "format/shapes/size_table.h"

#include "format/base/checked_math.h"

typedef etx_size_expression expression;

static const expression* at(const etx_size_table* table, etx_dim handle) {
  return &table->expressions[etx_size_position(handle)];
}

static void bounds_of(const etx_size_table* table, etx_dim dim, int64_t* low,
                      int64_t* high) {
  if (etx_dim_is_number(dim)) {
    *low = *high = dim;
  } else {
    *low = at(table, dim)->low;
    *high = at(table, dim)->high;
  }
}

// ---- the table ----

static bool are_same(const expression* a, const expression* b) {
  if (a->kind != b->kind || a->terms != b->terms ||
      a->constant != b->constant || a->factors[0] != b->factors[0] ||
      a->factors[1] != b->factors[1] || a->atoms[0] != b->atoms[0]) {
    return false;
  }
  for (size_t i = 1; i < a->terms; ++i) {
    if (a->factors[i] != b->factors[i] || a->atoms[i] != b->atoms[i]) {
      return false;
    }
  }
  return true;
}

// Finds the expression or adds it.
static etx_status intern(etx_size_table* table, const expression* e,
                         etx_dim* out) {
  for (size_t i = 0; i < table->count; ++i) {
    if (!are_same(&table->expressions[i], e)) continue;
    *out = etx_size_dim(i);
    return ETX_OK;
  }
  if (table->count == table->capacity) return ETX_OUT_OF_RANGE;
  table->expressions[table->count] = *e;
  *out = etx_size_dim(table->count++);
  return ETX_OK;
}

etx_status etx_size_table_add_symbol(etx_size_table* table, int64_t minimum,
                                     int64_t maximum) {
  if (table->count == table->capacity || minimum < 0) return ETX_OUT_OF_RANGE;
  expression* const e = &table->expressions[table->count++];
  memset(e, 0, sizeof *e);
  e->kind = ETX_SIZE_SYMBOL;
  e->low = minimum;
  e->high = maximum;
  return ETX_OK;
}

// ---- sums ----

static void sum_of(const etx_size_table* table, etx_dim dim, expression* out) {
  memset(out, 0, sizeof *out);
  out->kind = ETX_SIZE_SUM;
  if (etx_dim_is_number(dim)) {
    out->constant = dim;
  } else if (at(table, dim)->kind == ETX_SIZE_SUM) {
    *out = *at(table, dim);
  } else {
    out->terms = 1;
    out->factors[0] = 1;
    out->atoms[0] = (uint32_t)(etx_size_position(dim) + 1) << 24;
  }
}

static void remove_term(expression* sum, size_t index) {
  --sum->terms;
  for (size_t i = index; i < sum->terms; ++i) {
    sum->factors[i] = sum->factors[i + 1];
    sum->atoms[i] = sum->atoms[i + 1];
  }
  sum->factors[sum->terms] = 0;
  sum->atoms[sum->terms] = 0;
}

static bool add_term(expression* sum, int64_t factor, uint32_t atoms) {
  if (factor == 0) return true;
  if (atoms == 0) return etx_add_i64(sum->constant, factor, &sum->constant);
  size_t i = 0;
  while (i < sum->terms && sum->atoms[i] > atoms) ++i;
  if (i < sum->terms && sum->atoms[i] == atoms) {
    if (!etx_add_i64(sum->factors[i], factor, &sum->factors[i])) return false;
    if (sum->factors[i] == 0) remove_term(sum, i);
    return true;
  }
  if (sum->terms == ETX_SIZE_TERMS) return false;
  for (size_t k = sum->terms++; k > i; --k) {
    sum->factors[k] = sum->factors[k - 1];
    sum->atoms[k] = sum->atoms[k - 1];
  }
  sum->factors[i] = factor;
  sum->atoms[i] = atoms;
  return true;
}

// Adds factor times the bounds of the atoms' product to the bounds. Products of
// several atoms need atoms that are never negative and not always 0: then no
// partial product exceeds the bounds.
static bool add_bounds(const etx_size_table* table, int64_t factor,
                       uint32_t atoms, int64_t* low, int64_t* high) {
  int64_t least = 1;
  int64_t most = 1;
  for (uint32_t left = atoms; left != 0; left <<= 8) {
    const expression* const e = &table->expressions[(left >> 24) - 1];
    if ((e->low < 0 || e->high < 1) && (atoms << 8) != 0) return false;
    if (!etx_multiply_i64(least, e->low, &least) ||
        !etx_multiply_i64(most, e->high, &most)) {
      return false;
    }
  }
  if (!etx_multiply_i64(least, factor, &least) ||
      !etx_multiply_i64(most, factor, &most)) {
    return false;
  }
  return etx_add_i64(*low, factor < 0 ? most : least, low) &&
         etx_add_i64(*high, factor < 0 ? least : most, high);
}

static etx_status finish_sum(etx_size_table* table, expression* sum,
                             etx_dim* out) {
  if (sum->terms == 0) {
    *out = sum->constant;
    return etx_dim_is_number(*out) ? ETX_OK : ETX_OUT_OF_RANGE;
  }
  const bool is_atom = sum->terms == 1 && sum->constant == 0 &&
                       sum->factors[0] == 1 && (sum->atoms[0] << 8) == 0;
  if (is_atom) {
    *out = etx_size_dim((sum->atoms[0] >> 24) - 1);
    return ETX_OK;
  }
  sum->low = sum->high = sum->constant;
  for (size_t i = 0; i < sum->terms; ++i) {
    if (!add_bounds(table, sum->factors[i], sum->atoms[i], &sum->low,
                    &sum->high)) {
      return ETX_OUT_OF_RANGE;
    }
  }
  return intern(table, sum, out);
}

static etx_status add(void* context, etx_dim a, etx_dim b, etx_dim* out) {
  etx_size_table* const table = context;
  expression sum, other;
  sum_of(table, a, &sum);
  sum_of(table, b, &other);
  bool fits = etx_add_i64(sum.constant, other.constant, &sum.constant);
  for (size_t i = 0; fits && i < other.terms; ++i) {
    fits = add_term(&sum, other.factors[i], other.atoms[i]);
  }
  return fits ? finish_sum(table, &sum, out) : ETX_OUT_OF_RANGE;
}

// The product of two lists of atoms: merges the sorted bytes. False if there
// are too many.
static bool join_atoms(uint32_t a, uint32_t b, uint32_t* out) {
  uint32_t joined = 0;
  for (int place = 24; a != 0 || b != 0; place -= 8) {
    if (place < 0) return false;
    uint32_t* const next = (a >> 24) >= (b >> 24) ? &a : &b;
    joined |= *next >> 24 << place;
    *next <<= 8;
  }
  *out = joined;
  return true;
}

// Adds `left`, a number and its terms, times one term to `sum`.
static bool add_product(expression* sum, const expression* left, int64_t factor,
                        uint32_t atoms) {
  int64_t product = 0;
  if (factor == 0) return true;
  if (!etx_multiply_i64(left->constant, factor, &product) ||
      !add_term(sum, product, atoms)) {
    return false;
  }
  for (size_t i = 0; i < left->terms; ++i) {
    uint32_t joined = 0;
    if (!join_atoms(left->atoms[i], atoms, &joined) ||
        !etx_multiply_i64(left->factors[i], factor, &product) ||
        !add_term(sum, product, joined)) {
      return false;
    }
  }
  return true;
}

static etx_status multiply(void* context, etx_dim a, etx_dim b, etx_dim* out) {
  etx_size_table* const table = context;
  expression left, right, sum;
  sum_of(table, a, &left);
  sum_of(table, b, &right);
  sum_of(table, 0, &sum);
  bool fits = add_product(&sum, &left, right.constant, 0);
  for (size_t i = 0; fits && i < right.terms; ++i) {
    fits = add_product(&sum, &left, right.factors[i], right.atoms[i]);
  }
  return fits ? finish_sum(table, &sum, out) : ETX_OUT_OF_RANGE;
}

// ---- division ----

// Removes the atoms of `divisor` from `atoms`; false if one is missing.
static bool cancel_atoms(uint32_t atoms, uint32_t divisor, uint32_t* out) {
  uint32_t rest = 0;
  int place = 24;
  for (; atoms != 0; atoms <<= 8) {
    if (divisor != 0 && atoms >> 24 == divisor >> 24) {
      divisor <<= 8;
    } else {
      rest |= atoms >> 24 << place;
      place -= 8;
    }
  }
  *out = rest;
  return divisor == 0;
}

// The first term of a sum; its number counts as the last one.
static void leading_term(const expression* sum, int64_t* factor,
                         uint32_t* atoms) {
  *factor = sum->terms > 0 ? sum->factors[0] : sum->constant;
  *atoms = sum->terms > 0 ? sum->atoms[0] : 0;
}

// Long division of polynomials: true if `a` is `*out` times `b`, whose leading
// factor is positive.
static bool divide_exactly(const expression* a, const expression* b,
                           expression* out) {
  int64_t divisor = 0;
  uint32_t divisor_atoms = 0;
  expression rest = *a;
  leading_term(b, &divisor, &divisor_atoms);
  // Each round removes the leading term.
  for (size_t round = 0; round <= ETX_SIZE_TERMS; ++round) {
    int64_t factor = 0;
    uint32_t atoms = 0;
    leading_term(&rest, &factor, &atoms);
    if (factor == 0) return true;
    if (factor == INT64_MIN || factor % divisor != 0 ||
        !cancel_atoms(atoms, divisor_atoms, &atoms)) {
      return false;
    }
    factor /= divisor;
    if (!add_term(out, factor, atoms) ||
        !add_product(&rest, b, -factor, atoms)) {
      return false;
    }
  }
  return false;
}

static etx_status add_opaque(etx_size_table* table, etx_size_kind kind,
                             etx_dim a, etx_dim b, etx_dim* out) {
  int64_t low[2], high[2];
  bounds_of(table, a, &low[0], &high[0]);
  bounds_of(table, b, &low[1], &high[1]);
  expression e;
  memset(&e, 0, sizeof e);
  e.kind = (uint8_t)kind;
  e.factors[0] = a;
  e.factors[1] = b;
  if (kind == ETX_SIZE_FLOOR_DIVIDE) {
    if (low[0] < 0 || low[1] < 1) return ETX_OUT_OF_RANGE;
    e.low = low[0] / high[1];
    e.high = high[0] / low[1];
  } else {
    const bool least = kind == ETX_SIZE_MINIMUM;
    e.low = (low[0] < low[1]) == least ? low[0] : low[1];
    e.high = (high[0] < high[1]) == least ? high[0] : high[1];
  }
  if (e.low == e.high && etx_dim_is_number(e.low)) {
    *out = e.low;
    return ETX_OK;
  }
  return intern(table, &e, out);
}

// Splits `a` into whole multiples of `divisor` and the rest, whose floor
// division remains.
static etx_status divide_by_number(etx_size_table* table, const expression* a,
                                   int64_t divisor, etx_dim* out) {
  expression whole, rest;
  etx_dim quotient, below;
  sum_of(table, etx_floor_quotient(a->constant, divisor), &whole);
  sum_of(table, a->constant - whole.constant * divisor, &rest);
  for (size_t i = 0; i < a->terms; ++i) {
    const bool divides = a->factors[i] % divisor == 0;
    if (!add_term(divides ? &whole : &rest,
                  divides ? a->factors[i] / divisor : a->factors[i],
                  a->atoms[i])) {
      return ETX_OUT_OF_RANGE;
    }
  }
  ETX_TRY(finish_sum(table, &whole, &quotient));
  ETX_TRY(finish_sum(table, &rest, &below));
  int64_t low = 0;
  int64_t high = 0;
  bounds_of(table, below, &low, &high);
  if (low >= 0 && high < divisor) {
    *out = quotient;
    return ETX_OK;
  }
  ETX_TRY(add_opaque(table, ETX_SIZE_FLOOR_DIVIDE, below, divisor, &below));
  return add(table, quotient, below, out);
}

static etx_status floor_divide(void* context, etx_dim a, etx_dim b,
                               etx_dim* out) {
  etx_size_table* const table = context;
  expression left, right, quotient;
  int64_t low = 0;
  int64_t high = 0;
  bounds_of(table, b, &low, &high);
  if (low < 1) return ETX_OUT_OF_RANGE;
  sum_of(table, a, &left);
  sum_of(table, b, &right);
  if (right.terms == 0) {
    return divide_by_number(table, &left, right.constant, out);
  }
  sum_of(table, 0, &quotient);
  if (right.factors[0] > 0 && divide_exactly(&left, &right, &quotient)) {
    return finish_sum(table, &quotient, out);
  }
  return add_opaque(table, ETX_SIZE_FLOOR_DIVIDE, a, b, out);
}

// ---- the interface ----

static etx_status minimum(void* context, etx_dim a, etx_dim b, etx_dim* out) {
  return add_opaque(context, ETX_SIZE_MINIMUM, a < b ? a : b, a < b ? b : a,
                    out);
}

static etx_status maximum(void* context, etx_dim a, etx_dim b, etx_dim* out) {
  return add_opaque(context, ETX_SIZE_MAXIMUM, a < b ? a : b, a < b ? b : a,
                    out);
}

static bool equal(void* context, etx_dim a, etx_dim b) {
  (void)context;
  return a == b;
}

static void bounds(void* context, etx_dim a, int64_t* low, int64_t* high) {
  bounds_of(context, a, low, high);
}

etx_dim_math etx_size_table_math(etx_size_table* table) {
  return (etx_dim_math){table,   add,     multiply, floor_divide,
                        minimum, maximum, equal,    bounds};
}

static int64_t evaluate_sum(const expression* e, const int64_t* values) {
  int64_t sum = e->constant;
  for (size_t i = 0; i < e->terms; ++i) {
    int64_t product = e->factors[i];
    for (uint32_t left = e->atoms[i]; left != 0; left <<= 8) {
      product *= values[(left >> 24) - 1];
    }
    sum += product;
  }
  return sum;
}

void etx_size_table_evaluate(const etx_size_table* table, int64_t* values) {
  for (size_t i = 0; i < table->count; ++i) {
    const expression* const e = &table->expressions[i];
    const int64_t a =
        e->kind <= ETX_SIZE_SUM ? 0 : etx_size_value(e->factors[0], values);
    const int64_t b =
        e->kind <= ETX_SIZE_SUM ? 0 : etx_size_value(e->factors[1], values);
    switch ((etx_size_kind)e->kind) {
      case ETX_SIZE_SYMBOL:
        break;
      case ETX_SIZE_SUM:
        values[i] = evaluate_sum(e, values);
        break;
      case ETX_SIZE_FLOOR_DIVIDE:
        values[i] = etx_floor_quotient(a, b);
        break;
      case ETX_SIZE_MINIMUM:
        values[i] = a < b ? a : b;
        break;
      case ETX_SIZE_MAXIMUM:
        values[i] = a > b ? a : b;
        break;
    }
  }
}
