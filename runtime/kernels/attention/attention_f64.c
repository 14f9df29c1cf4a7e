// Attention in float64: one query row at a time, one key at a time. It is
// simple rather than fast, because models do not use float64.

#include "runtime/kernels/attention/attention_f64.h"

#include <string.h>

#include "runtime/kernels/attention/attention_tile.h"
#include "runtime/kernels/core/convert.h"
#include "runtime/kernels/math/math_functions.h"

// The online softmax of one row.
typedef struct online_softmax {
  double max;      // running maximum of the scores
  double sum;      // sum of exp(score - max)
  double* values;  // [value_width]: weighted sum of the values
} online_softmax;

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
  if (!etx_attention_is_visible(a, batch, row, key)) return a->masked_score;
  if (!a->has_mask) return score;
  const etx_attention_view* mask = &a->mask;
  const ptrdiff_t at = etx_attention_row_offset(a, mask, batch, row) +
                       (ptrdiff_t)key * mask->inner;
  etx_block one;
  etx_block_load(
      &one, ETX_COMPUTE_F64, mask->dtype,
      (const char*)mask->data + at * (ptrdiff_t)etx_dtype_bytes(mask->dtype), 0,
      1);
  if (mask->dtype != ETX_DTYPE_BOOL) return score + one.f64[0];
  return one.f64[0] != 0 ? score : a->masked_score;
}

static void add_key(const etx_attention* a, double score, const double* value,
                    online_softmax* s) {
  const double none = minus_infinity();
  if (score == none) return;
  if (score > s->max) {
    const double factor = s->max == none ? 0.0 : etx_exp_f64(s->max - score);
    s->sum *= factor;
    for (size_t i = 0; i < a->value_width; ++i) s->values[i] *= factor;
    s->max = score;
  }
  const double shift = s->max == none ? 0.0 : s->max;
  const double weight = etx_exp_f64(score - shift);
  s->sum += weight;
  for (size_t i = 0; i < a->value_width; ++i) {
    s->values[i] += weight * value[(ptrdiff_t)i * a->value.inner];
  }
}

void etx_attention_row_f64(const etx_attention* a, size_t batch, size_t row,
                           double* sums) {
  online_softmax s = {minus_infinity(), 0, sums};
  const double* query = (const double*)a->query.data +
                        etx_attention_row_offset(a, &a->query, batch, row);
  const double* key = a->key.data;
  const double* value = a->value.data;
  memset(sums, 0, a->value_width * sizeof(double));
  for (size_t k = 0; k < a->keys; ++k) {
    double score =
        dot(a, query, key + etx_attention_row_offset(a, &a->key, batch, k)) *
        a->scale;
    if (a->cap != 0) score = a->cap * etx_tanh_f64(score / a->cap);
    add_key(a, mask_score(a, batch, row, k, score),
            value + etx_attention_row_offset(a, &a->value, batch, k), &s);
  }
  double* out = (double*)(uintptr_t)a->out.data +
                etx_attention_row_offset(a, &a->out, batch, row);
  const bool is_fully_masked = s.sum == 0 && !a->keeps_nan;
  const double factor = is_fully_masked ? 0.0 : 1.0 / s.sum;
  for (size_t i = 0; i < a->value_width; ++i) {
    out[(ptrdiff_t)i * a->out.inner] = sums[i] * factor;
  }
}
