// einsum of two operands as one batched matrix product. Each label is one of
//
//   batch   in both operands and the result
//   inner   in both operands, not in the result: summed by the product
//   left    in the left operand and the result
//   right   in the right operand and the result
//
// Labels of only one operand that the result does not have are summed first.
// More than two operands are contracted from left to right. An ellipsis becomes
// numbered labels.

#include "exporter/lower/builder/lowering_functions.h"

typedef struct labelled {
  uint32_t value;
  size_t rank;
  char labels[ETX_MAX_RANK];
} labelled;

static bool has(const labelled* t, char label, size_t* out_axis) {
  for (size_t i = 0; i < t->rank; ++i) {
    if (t->labels[i] != label) continue;
    if (out_axis != NULL) *out_axis = i;
    return true;
  }
  return false;
}

// True if two dimensions have one label.
static bool repeats(const labelled* t, size_t* out_first, size_t* out_second) {
  for (size_t i = 0; i < t->rank; ++i) {
    for (size_t j = i + 1; j < t->rank; ++j) {
      if (t->labels[i] != t->labels[j]) continue;
      *out_first = i;
      *out_second = j;
      return true;
    }
  }
  return false;
}

static etx_status refuse(etx_builder* builder) {
  return etx_diag_fail(
      builder->diag, ETX_UNSUPPORTED,
      "the equation '%t' of '%t' is not supported for these operands",
      builder->args[0].as.string, builder->node->aten);
}

// Brings the dimensions of `t` into the order of `labels`.
static etx_status arrange(etx_builder* builder, labelled* t,
                          const char* labels) {
  size_t order[ETX_MAX_RANK];
  for (size_t i = 0; i < t->rank; ++i) {
    if (!has(t, labels[i], &order[i])) return refuse(builder);
  }
  ETX_TRY(etx_build_permute(builder, t->value, order, &t->value));
  memcpy(t->labels, labels, t->rank);
  return ETX_OK;
}

// Sums over labels that neither `other` (may be NULL) nor the result has.
static etx_status sum_alone(etx_builder* builder, labelled* t,
                            const labelled* other, const labelled* result) {
  etx_dim dims[ETX_MAX_RANK];
  labelled kept = {.value = t->value};
  size_t count = 0;
  for (size_t i = 0; i < t->rank; ++i) {
    const bool needed = has(result, t->labels[i], NULL) ||
                        (other != NULL && has(other, t->labels[i], NULL));
    if (needed) {
      kept.labels[kept.rank++] = t->labels[i];
    } else {
      dims[count++] = (etx_dim)i;
    }
  }
  if (count == 0) return ETX_OK;
  ETX_TRY(etx_build_reduce(builder, ETX_OP_sum_intlist_out, t->value,
                           (etx_reduced_dims){dims, count, false},
                           &kept.value));
  *t = kept;
  return ETX_OK;
}

// Removes dimensions of size 1 that are larger in the other operand: they are
// broadcast.
static etx_status drop_ones(etx_builder* builder, labelled* t,
                            const labelled* other) {
  const etx_shape shape = *etx_builder_shape(builder, t->value);
  etx_dim dims[ETX_MAX_RANK];
  labelled kept = {.value = t->value};
  for (size_t i = 0; i < t->rank; ++i) {
    size_t axis = 0;
    if (shape.dims[i] == 1 && has(other, t->labels[i], &axis) &&
        etx_builder_shape(builder, other->value)->dims[axis] != 1) {
      continue;
    }
    dims[kept.rank] = shape.dims[i];
    kept.labels[kept.rank++] = t->labels[i];
  }
  *t = kept;
  return etx_build_view(builder, t->value, dims, kept.rank, &t->value);
}

// Labels of `t` that are (or are not) in `other` and in `result`.
static size_t pick(const labelled* t, const labelled* other,
                   const labelled* result, bool in_other, bool in_result,
                   char* out) {
  size_t count = 0;
  for (size_t i = 0; i < t->rank; ++i) {
    if (has(other, t->labels[i], NULL) == in_other &&
        has(result, t->labels[i], NULL) == in_result) {
      out[count++] = t->labels[i];
    }
  }
  return count;
}

// Views `t`, whose dimensions are in the order of three groups, as [batch, a,
// b].
static etx_status group(etx_builder* builder, labelled* t, size_t first,
                        size_t second, etx_dim out[3]) {
  const etx_shape shape = *etx_builder_shape(builder, t->value);
  ETX_TRY(etx_builder_product(builder, shape.dims, 0, first, &out[0]));
  ETX_TRY(etx_builder_product(builder, shape.dims, first, second, &out[1]));
  ETX_TRY(
      etx_builder_product(builder, shape.dims, second, shape.rank, &out[2]));
  return etx_build_view(builder, t->value, out, 3, &t->value);
}

static etx_status multiply(etx_builder* builder, labelled* a, labelled* b,
                           const labelled* result, labelled* out) {
  char batch[ETX_MAX_RANK];
  char inner[ETX_MAX_RANK];
  char left[ETX_MAX_RANK];
  char right[ETX_MAX_RANK];
  char order[2 * ETX_MAX_RANK];
  ETX_TRY(drop_ones(builder, a, b));
  ETX_TRY(drop_ones(builder, b, a));
  ETX_TRY(sum_alone(builder, a, b, result));
  ETX_TRY(sum_alone(builder, b, a, result));
  const size_t batches = pick(a, b, result, true, true, batch);
  const size_t inners = pick(a, b, result, true, false, inner);
  const size_t lefts = pick(a, b, result, false, true, left);
  const size_t rights = pick(b, a, result, false, true, right);
  memcpy(order, batch, batches);
  memcpy(order + batches, left, lefts);
  memcpy(order + batches + lefts, inner, inners);
  ETX_TRY(arrange(builder, a, order));
  memcpy(order + batches, inner, inners);
  memcpy(order + batches + inners, right, rights);
  ETX_TRY(arrange(builder, b, order));
  const etx_shape from_left = *etx_builder_shape(builder, a->value);
  const etx_shape from_right = *etx_builder_shape(builder, b->value);
  etx_dim flat[3];
  ETX_TRY(group(builder, a, batches, batches + lefts, flat));
  ETX_TRY(group(builder, b, batches, batches + inners, flat));
  ETX_TRY(etx_build_binary(builder, ETX_OP_bmm_out, a->value, b->value,
                           &out->value));
  out->rank = batches + lefts + rights;
  if (out->rank > ETX_MAX_RANK) return refuse(builder);
  etx_dim dims[ETX_MAX_RANK];
  for (size_t i = 0; i < batches + lefts; ++i) {
    dims[i] = from_left.dims[i];
    out->labels[i] = i < batches ? batch[i] : left[i - batches];
  }
  for (size_t i = 0; i < rights; ++i) {
    dims[batches + lefts + i] = from_right.dims[batches + inners + i];
    out->labels[batches + lefts + i] = right[i];
  }
  return etx_build_view(builder, out->value, dims, out->rank, &out->value);
}

// A term of the equation: "ab...c".
typedef struct term {
  char letters[ETX_MAX_RANK];
  size_t count;
  bool has_dots;   // an ellipsis
  size_t dots_at;  // letters before it
} term;

// The term from `*at` up to ',' '-' or the end. False for anything but letters
// and one '...'.
static bool read_term(etx_text text, size_t* at, term* out) {
  *out = (term){.count = 0};
  for (; *at < text.size; ++*at) {
    const char c = text.data[*at];
    if (c == ' ') continue;
    if (c == ',' || c == '-') return true;
    if (c == '.') {
      if (out->has_dots || text.size - *at < 3) return false;
      if (memcmp(text.data + *at, "...", 3) != 0) return false;
      out->has_dots = true;
      out->dots_at = out->count;
      *at += 2;
      continue;
    }
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_letter || out->count == ETX_MAX_RANK) return false;
    out->letters[out->count++] = c;
  }
  return true;
}

// The labels of a term whose ellipsis stands for `dotted` dimensions. These are
// numbered from the last one, so that operands of different ranks align.
static bool label(const term* written, size_t dotted, labelled* out) {
  out->rank = 0;
  if (written->count + dotted > ETX_MAX_RANK) return false;
  for (size_t i = 0; i <= written->count; ++i) {
    if (written->has_dots && written->dots_at == i) {
      for (size_t k = dotted; k > 0; --k) out->labels[out->rank++] = (char)k;
    }
    if (i < written->count) out->labels[out->rank++] = written->letters[i];
  }
  return true;
}

// The result of an equation without "->": the ellipsis, then the letters that
// occur once, in alphabetical order.
static bool imply_result(const term* operands, size_t count, term* out) {
  *out = (term){.has_dots = true};
  for (int c = 'A'; c <= 'z'; ++c) {
    size_t times = 0;
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = 0; j < operands[i].count; ++j) {
        times += operands[i].letters[j] == c;
      }
    }
    if (times != 1) continue;
    if (out->count == ETX_MAX_RANK) return false;
    out->letters[out->count++] = (char)c;
  }
  return true;
}

// Adds the labels of a later operand to those that must be kept.
static bool add_labels(labelled* needed, const labelled* t) {
  for (size_t i = 0; i < t->rank; ++i) {
    if (has(needed, t->labels[i], NULL)) continue;
    if (needed->rank == ETX_MAX_RANK) return false;
    needed->labels[needed->rank++] = t->labels[i];
  }
  return true;
}

enum { MAX_OPERANDS = 8 };

static bool read_terms(etx_text text, size_t count, term* operands,
                       term* result) {
  size_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0 && (at >= text.size || text.data[at++] != ',')) return false;
    if (!read_term(text, &at, &operands[i])) return false;
  }
  if (at == text.size) return imply_result(operands, count, result);
  if (text.size - at < 2 || memcmp(text.data + at, "->", 2) != 0) return false;
  at += 2;
  return read_term(text, &at, result) && at == text.size;
}

static etx_status read_equation(etx_builder* builder, labelled* operands,
                                size_t count, labelled* result) {
  term written[MAX_OPERANDS];
  term wanted = {.count = 0};
  size_t most = 0;
  size_t first = 0;
  size_t second = 0;
  if (!read_terms(builder->args[0].as.string, count, written, &wanted)) {
    return refuse(builder);
  }
  for (size_t i = 0; i < count; ++i) {
    operands[i].value = builder->args[1].as.list.items[i].as.value;
    const size_t rank = etx_builder_shape(builder, operands[i].value)->rank;
    const size_t letters = written[i].count;
    const bool fits = written[i].has_dots ? rank >= letters : rank == letters;
    if (!fits || !label(&written[i], rank - letters, &operands[i])) {
      return refuse(builder);
    }
    if (rank - letters > most) most = rank - letters;
  }
  return label(&wanted, wanted.has_dots ? most : 0, result) &&
                 !repeats(result, &first, &second)
             ? ETX_OK
             : refuse(builder);
}

// A letter that an operand has twice means the diagonal of both dimensions.
static etx_status take_diagonals(etx_builder* builder, labelled* t) {
  size_t first = 0;
  size_t second = 0;
  while (repeats(t, &first, &second)) {
    const etx_shape* const shape = etx_builder_shape(builder, t->value);
    const char letter = t->labels[first];
    labelled kept = {.rank = 0};
    if (!etx_symbols_equal(&builder->method->symbols, shape->dims[first],
                           shape->dims[second])) {
      return refuse(builder);
    }
    for (size_t i = 0; i < t->rank; ++i) {
      if (i != first && i != second) kept.labels[kept.rank++] = t->labels[i];
    }
    kept.labels[kept.rank++] = letter;
    const etx_ir_arg args[] = {etx_ir_value_arg(t->value), etx_ir_int(0),
                               etx_ir_int((etx_dim)first),
                               etx_ir_int((etx_dim)second)};
    ETX_TRY(
        etx_build_op(builder, ETX_OP_diagonal_copy_out, args, 4, &kept.value));
    *t = kept;
  }
  return ETX_OK;
}

// einsum(equation, tensors)
etx_status etx_lowering_einsum(etx_builder* builder) {
  labelled operands[MAX_OPERANDS];
  labelled result;
  const size_t count = builder->args[1].as.list.count;
  if (count == 0 || count > MAX_OPERANDS) return refuse(builder);
  ETX_TRY(read_equation(builder, operands, count, &result));
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(take_diagonals(builder, &operands[i]));
  }
  labelled so_far = operands[0];
  for (size_t i = 1; i < count; ++i) {
    labelled needed = result;
    labelled product;
    for (size_t j = i + 1; j < count; ++j) {
      if (!add_labels(&needed, &operands[j])) return refuse(builder);
    }
    ETX_TRY(multiply(builder, &so_far, &operands[i], &needed, &product));
    so_far = product;
  }
  ETX_TRY(sum_alone(builder, &so_far, NULL, &result));
  if (so_far.rank != result.rank) return refuse(builder);
  ETX_TRY(arrange(builder, &so_far, result.labels));
  builder->results[0] = so_far.value;
  return ETX_OK;
}
