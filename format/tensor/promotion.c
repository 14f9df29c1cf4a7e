#include "format/tensor/promotion.h"

static const etx_dtype none = ETX_DTYPE_COUNT;

etx_promotion etx_promotion_start(void) {
  const etx_promotion promotion = {none, none, none};
  return promotion;
}

static bool promote_into(etx_dtype* into, etx_dtype dtype) {
  if (*into != none) return etx_dtype_promote(*into, dtype, into);
  *into = dtype;
  return true;
}

bool etx_promotion_add(etx_promotion* promotion, etx_dtype dtype, size_t rank) {
  return promote_into(
      rank > 0 ? &promotion->with_dimensions : &promotion->without, dtype);
}

void etx_promotion_add_number(etx_promotion* promotion,
                              etx_dtype_category category) {
  static const etx_dtype defaults[] = {ETX_DTYPE_BOOL, ETX_DTYPE_INT64,
                                       ETX_DTYPE_FLOAT32};
  (void)promote_into(&promotion->numbers, defaults[category]);
}

// Combines the types of two priorities. A floating type that becomes complex
// keeps its precision.
static bool combine(etx_dtype heavy, etx_dtype light, etx_dtype* out) {
  *out = heavy == none ? light : heavy;
  if (heavy == none || light == none) return true;
  const etx_dtype_category high = etx_dtype_category_of(heavy);
  const etx_dtype_category low = etx_dtype_category_of(light);
  if (low == ETX_CATEGORY_OPAQUE || high == ETX_CATEGORY_OPAQUE) {
    return heavy == light;
  }
  if (low <= high) return true;
  if (low == ETX_CATEGORY_COMPLEX && high == ETX_CATEGORY_FLOATING) {
    *out = etx_dtype_to_complex(heavy);
    return true;
  }
  return etx_dtype_promote(heavy, light, out);
}

bool etx_promotion_result(const etx_promotion* promotion,
                          etx_dtype* out_dtype) {
  etx_dtype light = none, all = none;
  if (!combine(promotion->without, promotion->numbers, &light) ||
      !combine(promotion->with_dimensions, light, &all) || all == none) {
    return false;
  }
  *out_dtype = all;
  return true;
}
