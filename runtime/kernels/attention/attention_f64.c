// Attention in double, a row at a time and a key after the other: nothing that
// models wait for.

#include "runtime/kernels/attention/attention_f64.h"

#include <string.h>

#include "runtime/kernels/attention/attention_tile.h"
#include "runtime/kernels/core/convert.h"
#include "runtime/kernels/math/math_functions.h"

// What has been summed for a row.
typedef struct state {
  double largest;  // of the scores so far
  double total;    // of their powers
  double* sums;    // [value_width]
} state;

static double dot(const etx_attention* a, const double* query,
                  const double* key) {
  double sum = 0;
  for (size_t i = 0; i < a->width; ++i) {
    sum +=
        query[(ptrdiff_t)i * a->query.inner] * key[(ptrdiff_t)i * a->key.inner];
  }
  return sum;
}

static double minus_infinity(void) {
  return etx_f64_of_bits(UINT64_C(0xfff0000000000000));
}

static double mask_score(const etx_attention* a, size_t batch, size_t row,
                         size_t key, double score) {
  if (!etx_attention_is_in_reach(a, batch, row, key)) return a->hidden;
  if (!a->has_mask) return score;
  const etx_attention_side* mask = &a->mask;
  const ptrdiff_t at =
      etx_attention_at(a, mask, batch, row) + (ptrdiff_t)key * mask->inner;
  etx_block one;
  etx_block_load(
      &one, ETX_COMPUTE_F64, mask->dtype,
      (const char*)mask->data + at * (ptrdiff_t)etx_dtype_bytes(mask->dtype), 0,
      1);
  if (mask->dtype != ETX_DTYPE_BOOL) return score + one.f64[0];
  return one.f64[0] != 0 ? score : a->hidden;
}

static void absorb(const etx_attention* a, double score, const double* value,
                   state* s) {
  const double least = minus_infinity();
  if (score == least) return;
  if (score > s->largest) {
    const double factor =
        s->largest == least ? 0.0 : etx_exp_f64(s->largest - score);
    s->total *= factor;
    for (size_t i = 0; i < a->value_width; ++i) s->sums[i] *= factor;
    s->largest = score;
  }
  const double shift = s->largest == least ? 0.0 : s->largest;
  const double power = etx_exp_f64(score - shift);
  s->total += power;
  for (size_t i = 0; i < a->value_width; ++i) {
    s->sums[i] += power * value[(ptrdiff_t)i * a->value.inner];
  }
}

void etx_attention_row_f64(const etx_attention* a, size_t batch, size_t row,
                           double* sums) {
  state s = {minus_infinity(), 0, sums};
  const double* query =
      (const double*)a->query.data + etx_attention_at(a, &a->query, batch, row);
  const double* key = a->key.data;
  const double* value = a->value.data;
  memset(sums, 0, a->value_width * sizeof(double));
  for (size_t k = 0; k < a->keys; ++k) {
    double score =
        dot(a, query, key + etx_attention_at(a, &a->key, batch, k)) * a->scale;
    if (a->cap != 0) score = a->cap * etx_tanh_f64(score / a->cap);
    absorb(a, mask_score(a, batch, row, k, score),
           value + etx_attention_at(a, &a->value, batch, k), &s);
  }
  double* out = (double*)(uintptr_t)a->out.data +
                etx_attention_at(a, &a->out, batch, row);
  const bool is_dead = s.total == 0 && !a->keeps_nan;
  const double factor = is_dead ? 0.0 : 1.0 / s.total;
  for (size_t i = 0; i < a->value_width; ++i) {
    out[(ptrdiff_t)i * a->out.inner] = sums[i] * factor;
  }
}
