// The loops of max or min for one type. Included by extremes.c, once for each
// type and direction. The macros are undefined at the end.
//
// NAME(x)           required  x with a suffix for type and direction
// T                 required  the type of elements
// MEMBER            required  the member of etx_block with accumulators
// V                 required  a vector of T, or T
// M                 required  masks for V: all bits set or none
// BEATS(x, y)       required  x is more extreme than y; false for NaN
// BEATS_MASK(x, y)  required  the same as masks of vectors
// SELECT(m, x, y)   required  x where mask m is set, y elsewhere
// IS_NAN(x)         required  x is NaN, which beats all numbers
// NAN_MASK(x)       required  the same as masks of a vector

#if !defined(NAME) || !defined(T) || !defined(MEMBER) || !defined(V)
#error "extreme_template.h needs NAME, T, MEMBER and V"
#endif
#if !defined(M) || !defined(BEATS) || !defined(BEATS_MASK) || !defined(SELECT)
#error "extreme_template.h needs M, BEATS, BEATS_MASK and SELECT"
#endif
#if !defined(IS_NAN) || !defined(NAN_MASK)
#error "extreme_template.h needs IS_NAN and NAN_MASK"
#endif

enum { NAME(width) = sizeof(V) / sizeof(T), NAME(step) = 4 * NAME(width) };

static V NAME(load)(const T* from) {
  V v;
  memcpy(&v, from, sizeof(v));
  return v;
}

static V NAME(select)(M takes, V x, V y) { return SELECT(takes, x, y); }

// The extreme of at least `step` elements, in four vectors. NaN is ignored and
// reported.
static T NAME(extreme)(const T* x, size_t count, bool* out_has_nan) {
  V a = NAME(load)(x), b = NAME(load)(x + NAME(width));
  V c = NAME(load)(x + 2 * NAME(width)), d = NAME(load)(x + 3 * NAME(width));
  M nan_mask = NAN_MASK(a) | NAN_MASK(b) | NAN_MASK(c) | NAN_MASK(d);
  size_t i = NAME(step);
  for (; i + NAME(step) <= count; i += NAME(step)) {
    const V e = NAME(load)(x + i), f = NAME(load)(x + i + NAME(width));
    const V g = NAME(load)(x + i + 2 * NAME(width));
    const V h = NAME(load)(x + i + 3 * NAME(width));
    a = NAME(select)(BEATS_MASK(e, a), e, a);
    b = NAME(select)(BEATS_MASK(f, b), f, b);
    c = NAME(select)(BEATS_MASK(g, c), g, c);
    d = NAME(select)(BEATS_MASK(h, d), h, d);
    nan_mask |= NAN_MASK(e) | NAN_MASK(f) | NAN_MASK(g) | NAN_MASK(h);
  }
  a = NAME(select)(BEATS_MASK(b, a), b, a);
  c = NAME(select)(BEATS_MASK(d, c), d, c);
  a = NAME(select)(BEATS_MASK(c, a), c, a);
  const M none = {0};
  T lanes[NAME(width)];
  memcpy(lanes, &a, sizeof(lanes));
  bool has_nan = memcmp(&nan_mask, &none, sizeof(nan_mask)) != 0;
  T best = lanes[0];
  for (size_t k = 1; k < NAME(width); ++k) {
    best = BEATS(lanes[k], best) ? lanes[k] : best;
  }
  for (; i < count; ++i) {
    best = BEATS(x[i], best) ? x[i] : best;
    has_nan |= IS_NAN(x[i]);
  }
  *out_has_nan = has_nan;
  return best;
}

// The index of the first element that equals `value`. There must be one.
static size_t NAME(find)(const T* x, T value) {
  size_t i = 0;
  while (x[i] != value) ++i;
  return i;
}
static size_t NAME(find_nan)(const T* x) {
  size_t i = 0;
  while (!IS_NAN(x[i])) ++i;
  return i;
}

// Element by element, with the index.
static void NAME(scalar)(etx_accumulators* acc, size_t at, const T* x,
                         size_t count, int64_t before) {
  T best = (T)acc->value.MEMBER[at];
  int64_t index = acc->other.i64[at];
  for (size_t i = 0; i < count; ++i) {
    if (BEATS(x[i], best) || (IS_NAN(x[i]) && !IS_NAN(best))) {
      best = x[i];
      index = before + (int64_t)i;
    }
  }
  acc->value.MEMBER[at] = best;
  acc->other.i64[at] = index;
}

// The same without the index and without branches. No number beats an
// accumulator that is NaN; a NaN among the elements is handled after the loop.
static void NAME(scalar_values)(etx_accumulators* acc, size_t at, const T* x,
                                size_t count) {
  T best = (T)acc->value.MEMBER[at];
  bool has_nan = false;
  for (size_t i = 0; i < count; ++i) {
    best = BEATS(x[i], best) ? x[i] : best;
    has_nan |= IS_NAN(x[i]);
  }
  if (has_nan && !IS_NAN(best)) best = x[NAME(find_nan)(x)];
  acc->value.MEMBER[at] = best;
}

// Searches a chunk for its extreme first, and a second time for the index, but
// only if the extreme beats the accumulator and `wants_index`.
static inline void NAME(reduce)(etx_accumulators* acc, size_t at, const T* x,
                                size_t count, int64_t before,
                                bool wants_index) {
  if (before == 0) {
    acc->value.MEMBER[at] = x[0];
    acc->other.i64[at] = 0;
  }
  while (count >= NAME(step)) {
    const size_t part = count < CHUNK ? count : CHUNK;
    const T best = (T)acc->value.MEMBER[at];
    if (IS_NAN(best)) return;
    bool has_nan;
    const T found = NAME(extreme)(x, part, &has_nan);
    if (has_nan) {
      const size_t first = NAME(find_nan)(x);
      acc->value.MEMBER[at] = x[first];
      acc->other.i64[at] = before + (int64_t)first;
    } else if (BEATS(found, best)) {
      acc->value.MEMBER[at] = found;
      if (wants_index) {
        acc->other.i64[at] = before + (int64_t)NAME(find)(x, found);
      }
    }
    x += part;
    count -= part;
    before += (int64_t)part;
  }
  if (wants_index) {
    NAME(scalar)(acc, at, x, count, before);
  } else {
    NAME(scalar_values)(acc, at, x, count);
  }
}
static void NAME(row)(etx_accumulators* acc, size_t at, const void* elements,
                      size_t count, int64_t before) {
  NAME(reduce)(acc, at, elements, count, before, true);
}
static void NAME(values_row)(etx_accumulators* acc, size_t at,
                             const void* elements, size_t count,
                             int64_t before) {
  NAME(reduce)(acc, at, elements, count, before, false);
}

static void NAME(first)(etx_accumulators* acc, const T* x, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    acc->value.MEMBER[i] = x[i];
    acc->other.i64[i] = 0;
  }
}

// With indices. Values and indices differ in width, which prevents one
// vectorised loop, so a first loop finds out whether anything changes.
static void NAME(columns)(etx_accumulators* acc, const void* elements,
                          size_t count, int64_t before, size_t rows,
                          ptrdiff_t step) {
  const T* x = elements;
  if (before == 0) NAME(first)(acc, x, count);
  for (size_t row = 0; row < rows; ++row, x += step) {
    int changes = 0;
    for (size_t i = 0; i < count; ++i) {
      const T best = (T)acc->value.MEMBER[i];
      changes |= BEATS(x[i], best) | (IS_NAN(x[i]) & !IS_NAN(best));
    }
    for (size_t i = 0; i < count && changes != 0; ++i) {
      const T best = (T)acc->value.MEMBER[i];
      if (BEATS(x[i], best) || (IS_NAN(x[i]) && !IS_NAN(best))) {
        acc->value.MEMBER[i] = x[i];
        acc->other.i64[i] = before + (int64_t)row;
      }
    }
  }
}

// Without indices. A number never replaces NaN.
static void NAME(values_columns)(etx_accumulators* acc, const void* elements,
                                 size_t count, int64_t before, size_t rows,
                                 ptrdiff_t step) {
  const T* x = elements;
  if (before == 0) NAME(first)(acc, x, count);
  for (size_t row = 0; row < rows; ++row, x += step) {
    for (size_t i = 0; i < count; ++i) {
      const T best = (T)acc->value.MEMBER[i];
      const T extreme = BEATS(x[i], best) ? x[i] : best;
      acc->value.MEMBER[i] = IS_NAN(x[i]) ? x[i] : extreme;
    }
  }
}

#undef NAME
#undef T
#undef V
#undef M
#undef MEMBER
#undef BEATS
#undef BEATS_MASK
#undef SELECT
#undef IS_NAN
#undef NAN_MASK
