// Which keys are visible to the rows of a tile, and which of them are read:
// those up to the last key that causality and last_key let a row see, without
// the first and last blocks that the mask hides from all rows. A cache is
// mostly longer than what it holds, and a window of attention shorter.

#include "runtime/kernels/attention/attention_tile.h"
#include "runtime/kernels/math/math_functions.h"

static float minus_infinity(void) {
  return etx_f32_of_bits(UINT32_C(0xff800000));
}

// The first key that causality or last_key hides from a row.
static int64_t visible_end_of(const etx_attention* a, size_t batch,
                              size_t row) {
  int64_t end = (int64_t)a->keys;
  if (a->is_causal && a->first_position + (int64_t)row + 1 < end) {
    end = a->first_position + (int64_t)row + 1;
  }
  if (a->last_key.data == NULL) return end;
  int64_t last;
  memcpy(&last,
         (const int64_t*)a->last_key.data +
             etx_attention_row_offset(a, &a->last_key, batch, row),
         sizeof last);
  // Every number below the first key means the same, and INT64_MIN has no
  // predecessor.
  if (last < -1) last = -1;
  return last < end ? last + 1 : end;
}

bool etx_attention_is_visible(const etx_attention* a, size_t batch, size_t row,
                              size_t key) {
  return (int64_t)key < visible_end_of(a, batch, row);
}

// ------------------------------------------------ keys that the mask hides

// Element `key` of row `r` of the mask.
static const void* mask_at(const etx_attention_tile* t, size_t r, size_t key) {
  const etx_attention_view* mask = &t->attention->mask;
  const ptrdiff_t at =
      etx_attention_row_offset(t->attention, mask, etx_attention_batch(t, r),
                               etx_attention_batch_row(t, r)) +
      (ptrdiff_t)key * mask->inner;
  return (const char*)mask->data + at * (ptrdiff_t)etx_dtype_bytes(mask->dtype);
}

// True if a bool mask hides all keys [first, end) from row `r`.
static bool hides_bools(const etx_attention_tile* t, size_t r, size_t first,
                        size_t end) {
  const ptrdiff_t step = t->attention->mask.inner;
  const uint8_t* at = mask_at(t, r, first);
  uint8_t sees = 0;
  if (step == 1) {
    for (size_t k = 0; k < end - first; ++k) sees |= at[k];
  } else {
    for (size_t k = first; k < end; ++k, at += step) sees |= *at;
  }
  return sees == 0;
}

// The same for a dense float32 mask, which hides by adding -infinity.
static bool hides_floats(const etx_attention_tile* t, size_t r, size_t first,
                         size_t end) {
  const float* const added = mask_at(t, r, first);
  const float hidden = minus_infinity();
  unsigned sees = 0;
  for (size_t k = 0; k < end - first; ++k) sees |= added[k] != hidden;
  return sees == 0;
}

// True if the mask hides all keys [first, end) from all rows of the tile.
static bool hides_from_all(const etx_attention_tile* t, size_t first,
                           size_t end) {
  const etx_attention_view* mask = &t->attention->mask;
  const bool is_bool = mask->dtype == ETX_DTYPE_BOOL;
  const size_t rows = t->spans_heads || mask->row == 0 ? 1 : t->count;
  for (size_t r = 0; r < rows; ++r) {
    if (!(is_bool ? hides_bools : hides_floats)(t, r, first, end)) return false;
  }
  return true;
}

// True if blocks that the mask hides need not be read: it says so in a type
// that is looked through, hidden keys have no weight in rows that see no key
// either, and all heads of the tile have one mask. (The heads of a tile depend
// on the number of threads; an unread value must not.)
static bool can_skip_blocks(const etx_attention_tile* t) {
  const etx_attention* a = t->attention;
  return a->has_mask && a->masked_score == (double)minus_infinity() &&
         (a->mask.dtype == ETX_DTYPE_BOOL ||
          etx_attention_is_dense(&a->mask)) &&
         !(t->spans_heads && a->mask.batch[a->batch_rank - 1] != 0);
}

// Leaves out the first and the last blocks that the mask hides from all rows.
static void skip_hidden_blocks(etx_attention_tile* t) {
  size_t end = t->max_keys, first = 0;
  while (end > 0) {
    const size_t start = (end - 1) / ETX_ATTENTION_KEYS * ETX_ATTENTION_KEYS;
    if (!hides_from_all(t, start, end)) break;
    end = start;
  }
  while (first + ETX_ATTENTION_KEYS < end &&
         hides_from_all(t, first, first + ETX_ATTENTION_KEYS)) {
    first += ETX_ATTENTION_KEYS;
  }
  t->first_key = first;
  t->max_keys = end;
  for (size_t r = 0; r < t->count; ++r) {
    if (t->keys[r] > end) t->keys[r] = end;
  }
}

// ------------------------------------------------ keys that are read

// True if row `r`, which causality and last_key let see the keys before `end`,
// sees none of them, and hidden keys have a finite score: then all keys have
// it, and weigh the same.
static bool sees_none(const etx_attention_tile* t, size_t r, int64_t end) {
  const etx_attention* a = t->attention;
  if (a->masked_score == (double)minus_infinity()) return false;
  if (end > 0 && !(a->has_mask && a->mask.dtype == ETX_DTYPE_BOOL)) {
    return false;
  }
  for (size_t k = end < 0 ? 0 : (size_t)end; k > 0;) {
    const size_t start = (k - 1) / ETX_ATTENTION_KEYS * ETX_ATTENTION_KEYS;
    if (!hides_bools(t, r, start, k)) return false;
    k = start;
  }
  return true;
}

void etx_attention_find_visible(etx_attention_tile* t) {
  const etx_attention* a = t->attention;
  const bool see_all_keys = !a->is_causal && a->last_key.data == NULL;
  t->first_key = 0;
  t->max_keys = see_all_keys ? a->keys : 0;
  t->min_visible_end = (int64_t)a->keys;
  for (size_t r = 0; r < t->count; ++r) {
    int64_t end = (int64_t)a->keys;
    size_t keys = a->keys;
    if (!see_all_keys) {
      end = visible_end_of(a, etx_attention_batch(t, r),
                           etx_attention_batch_row(t, r));
      if (!sees_none(t, r, end)) keys = end < 0 ? 0 : (size_t)end;
    }
    t->visible_end[r] = end;
    if (end < t->min_visible_end) t->min_visible_end = end;
    if (keys > t->max_keys) t->max_keys = keys;
    t->keys[r] = keys;
  }
  for (size_t r = 0; r < t->count && !see_all_keys;) {
    const size_t shared = etx_attention_rows_with_same_keys(t, r);
    for (size_t i = 1; i < shared; ++i) {
      if (t->keys[r + i] > t->keys[r]) t->keys[r] = t->keys[r + i];
    }
    r += shared;
  }
  if (can_skip_blocks(t)) skip_hidden_blocks(t);
}
