// The loops that find the largest or the smallest element of one type. Included
// by extremes.c once for each type and direction. The lower-case macro `member`
// names the type's member of an etx_block.
//
//   NAME(x)        required  x with a suffix for type and direction
//   T              required  the C type of the elements
//   V              required  a vector of elements, or one element
//   M              required  as many masks, all bits set or none
//   TAKES(x, y)    required  whether x comes before y
//   AHEAD(x, y)    required  the same as masks
//   PICK(m, x, y)  required  x where mask m is set, y elsewhere
//   IS_NAN(x)      required  whether x is NaN, which comes before all numbers
//   ODD(x)         required  the same as masks

#if !defined(NAME) || !defined(T) || !defined(V) || !defined(M) || \
    !defined(TAKES) || !defined(AHEAD) || !defined(PICK) ||        \
    !defined(IS_NAN) || !defined(ODD)
#error "this header needs the macros of its table"
#endif

enum { NAME(width) = sizeof(V) / sizeof(T), NAME(step) = 4 * NAME(width) };

static V NAME(load)(const T* from) {
  V v;
  memcpy(&v, from, sizeof(v));
  return v;
}

static V NAME(select)(M takes, V x, V y) { return PICK(takes, x, y); }

// The most extreme of at least `step` elements, of four vectors at a time. NaN
// does not count, but is noted.
static T NAME(extreme)(const T* x, size_t count, bool* out_has_nan) {
  V a = NAME(load)(x), b = NAME(load)(x + NAME(width));
  V c = NAME(load)(x + 2 * NAME(width)), d = NAME(load)(x + 3 * NAME(width));
  M odd = ODD(a) | ODD(b) | ODD(c) | ODD(d);
  size_t i = NAME(step);
  for (; i + NAME(step) <= count; i += NAME(step)) {
    const V e = NAME(load)(x + i), f = NAME(load)(x + i + NAME(width));
    const V g = NAME(load)(x + i + 2 * NAME(width));
    const V h = NAME(load)(x + i + 3 * NAME(width));
    a = NAME(select)(AHEAD(e, a), e, a);
    b = NAME(select)(AHEAD(f, b), f, b);
    c = NAME(select)(AHEAD(g, c), g, c);
    d = NAME(select)(AHEAD(h, d), h, d);
    odd |= ODD(e) | ODD(f) | ODD(g) | ODD(h);
  }
  a = NAME(select)(AHEAD(b, a), b, a);
  c = NAME(select)(AHEAD(d, c), d, c);
  a = NAME(select)(AHEAD(c, a), c, a);
  const M none = {0};
  T lanes[NAME(width)];
  memcpy(lanes, &a, sizeof(lanes));
  bool has_nan = memcmp(&odd, &none, sizeof(odd)) != 0;
  T best = lanes[0];
  for (size_t k = 1; k < NAME(width); ++k) {
    best = TAKES(lanes[k], best) ? lanes[k] : best;
  }
  for (; i < count; ++i) {
    best = TAKES(x[i], best) ? x[i] : best;
    has_nan |= IS_NAN(x[i]);
  }
  *out_has_nan = has_nan;
  return best;
}

// Where `value` stands first; it does.
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

// Element by element.
static void NAME(few)(etx_accumulators* folded, size_t at, const T* x,
                      size_t count, int64_t before) {
  T best = (T)folded->value.member[at];
  int64_t index = folded->other.i64[at];
  for (size_t i = 0; i < count; ++i) {
    if (TAKES(x[i], best) || (IS_NAN(x[i]) && !IS_NAN(best))) {
      best = x[i];
      index = before + (int64_t)i;
    }
  }
  folded->value.member[at] = best;
  folded->other.i64[at] = index;
}

// The same without the index and without branches. No number comes before a
// NaN that is there already; others are noted.
static void NAME(few_values)(etx_accumulators* folded, size_t at, const T* x,
                             size_t count) {
  T best = (T)folded->value.member[at];
  bool has_nan = false;
  for (size_t i = 0; i < count; ++i) {
    best = TAKES(x[i], best) ? x[i] : best;
    has_nan |= IS_NAN(x[i]);
  }
  if (has_nan && !IS_NAN(best)) best = x[NAME(find_nan)(x)];
  folded->value.member[at] = best;
}

// A run is looked at twice: for its extreme, and for where that stands only if
// it is the new one and `wants_index`.
static inline void NAME(fold)(etx_accumulators* folded, size_t at, const T* x,
                              size_t count, int64_t before, bool wants_index) {
  if (before == 0) {
    folded->value.member[at] = x[0];
    folded->other.i64[at] = 0;
  }
  while (count >= NAME(step)) {
    const size_t part = count < RUN ? count : RUN;
    const T best = (T)folded->value.member[at];
    if (IS_NAN(best)) return;
    bool has_nan;
    const T found = NAME(extreme)(x, part, &has_nan);
    if (has_nan) {
      const size_t first = NAME(find_nan)(x);
      folded->value.member[at] = x[first];
      folded->other.i64[at] = before + (int64_t)first;
    } else if (TAKES(found, best)) {
      folded->value.member[at] = found;
      if (wants_index) {
        folded->other.i64[at] = before + (int64_t)NAME(find)(x, found);
      }
    }
    x += part;
    count -= part;
    before += (int64_t)part;
  }
  if (wants_index) {
    NAME(few)(folded, at, x, count, before);
  } else {
    NAME(few_values)(folded, at, x, count);
  }
}
static void NAME(row)(etx_accumulators* folded, size_t at, const void* elements,
                      size_t count, int64_t before) {
  NAME(fold)(folded, at, elements, count, before, true);
}
static void NAME(values_row)(etx_accumulators* folded, size_t at,
                             const void* elements, size_t count,
                             int64_t before) {
  NAME(fold)(folded, at, elements, count, before, false);
}

static void NAME(first)(etx_accumulators* folded, const T* x, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    folded->value.member[i] = x[i];
    folded->other.i64[i] = 0;
  }
}

// With indices. Values and indices differ in width, so that whether anything
// changes is asked first.
static void NAME(columns)(etx_accumulators* folded, const void* elements,
                          size_t count, int64_t before, size_t rows,
                          ptrdiff_t step) {
  const T* x = elements;
  if (before == 0) NAME(first)(folded, x, count);
  for (size_t row = 0; row < rows; ++row, x += step) {
    int changes = 0;
    for (size_t i = 0; i < count; ++i) {
      const T best = (T)folded->value.member[i];
      changes |= TAKES(x[i], best) | (IS_NAN(x[i]) & !IS_NAN(best));
    }
    for (size_t i = 0; i < count && changes != 0; ++i) {
      const T best = (T)folded->value.member[i];
      if (TAKES(x[i], best) || (IS_NAN(x[i]) && !IS_NAN(best))) {
        folded->value.member[i] = x[i];
        folded->other.i64[i] = before + (int64_t)row;
      }
    }
  }
}

// Without. A number never takes over from NaN.
static void NAME(values_columns)(etx_accumulators* folded, const void* elements,
                                 size_t count, int64_t before, size_t rows,
                                 ptrdiff_t step) {
  const T* x = elements;
  if (before == 0) NAME(first)(folded, x, count);
  for (size_t row = 0; row < rows; ++row, x += step) {
    for (size_t i = 0; i < count; ++i) {
      const T best = (T)folded->value.member[i];
      const T taken = TAKES(x[i], best) ? x[i] : best;
      folded->value.member[i] = IS_NAN(x[i]) ? x[i] : taken;
    }
  }
}

#undef NAME
#undef T
#undef V
#undef M
#undef member
#undef TAKES
#undef AHEAD
#undef PICK
#undef IS_NAN
#undef ODD
