// The loops of extremes over one wide type and in one direction. Included by
// extremes.c alone, once for each, with
//
//   NAME(x)       x with a suffix for type and direction
//   T             the wide type; `member` of an etx_block
//   TAKES(x, y)   whether x comes before y
//   IS_NAN(x)     whether x is NaN, which comes before all numbers

// The most extreme of a run of at least LANES elements, NaN aside: a lane for
// each position modulo LANES.
static T NAME(extreme)(const T* x, size_t count) {
  T lanes[LANES];
  for (size_t j = 0; j < LANES; ++j) lanes[j] = x[j];
  size_t i = LANES;
  for (; i + LANES <= count; i += LANES) {
    for (size_t j = 0; j < LANES; ++j) {
      lanes[j] = TAKES(x[i + j], lanes[j]) ? x[i + j] : lanes[j];
    }
  }
  for (size_t j = 0; i < count; ++i, ++j) {
    lanes[j] = TAKES(x[i], lanes[j]) ? x[i] : lanes[j];
  }
  for (size_t half = LANES / 2; half > 0; half /= 2) {
    for (size_t j = 0; j < half; ++j) {
      lanes[j] = TAKES(lanes[j + half], lanes[j]) ? lanes[j + half] : lanes[j];
    }
  }
  return lanes[0];
}

static bool NAME(has_nan)(const T* x, size_t count) {
  int found = 0;
  for (size_t i = 0; i < count; ++i) found |= IS_NAN(x[i]);
  return found != 0;
}

// Element by element.
static void NAME(few)(etx_folded* folded, size_t at, const T* x, size_t count,
                      int64_t before) {
  T best = folded->value.member[at];
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

// A run is looked at twice: for its extreme, and for where that stands only if
// it is the new one.
static void NAME(row)(etx_folded* folded, size_t at, const void* elements,
                      size_t count, int64_t before) {
  const T* x = elements;
  if (before == 0) {
    folded->value.member[at] = x[0];
    folded->other.i64[at] = 0;
  }
  while (count >= LANES) {
    const size_t part = count < RUN ? count : RUN;
    const T best = folded->value.member[at];
    if (IS_NAN(best)) return;
    if (NAME(has_nan)(x, part) || TAKES(NAME(extreme)(x, part), best)) {
      NAME(few)(folded, at, x, part, before);
    }
    x += part;
    count -= part;
    before += (int64_t)part;
  }
  NAME(few)(folded, at, x, count, before);
}

static void NAME(first)(etx_folded* folded, const T* x, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    folded->value.member[i] = x[i];
    folded->other.i64[i] = 0;
  }
}

// With indices. In two steps, since values and indices differ in width.
static void NAME(columns)(etx_folded* folded, const void* elements,
                          size_t count, int64_t before) {
  const T* x = elements;
  int32_t takes[ETX_BLOCK];
  T* best = folded->value.member;
  if (before == 0) {
    NAME(first)(folded, x, count);
    return;
  }
  int32_t any = 0;
  for (size_t i = 0; i < count; ++i) {
    takes[i] = TAKES(x[i], best[i]) | (IS_NAN(x[i]) & !IS_NAN(best[i]));
    any |= takes[i];
  }
  if (any == 0) return;
  for (size_t i = 0; i < count; ++i) {
    best[i] = takes[i] != 0 ? x[i] : best[i];
    folded->other.i64[i] = takes[i] != 0 ? before : folded->other.i64[i];
  }
}

// Without. A number never takes over from NaN.
static void NAME(values)(etx_folded* folded, const void* elements, size_t count,
                         int64_t before) {
  const T* x = elements;
  T* best = folded->value.member;
  if (before == 0) {
    NAME(first)(folded, x, count);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const T taken = TAKES(x[i], best[i]) ? x[i] : best[i];
    best[i] = IS_NAN(x[i]) ? x[i] : taken;
  }
}

#undef NAME
#undef T
#undef member
#undef TAKES
#undef IS_NAN
