// The inner loops of max pooling over one compute type. Lanes are neighbouring
// results, or the channels of one result.
//
//   T          required  the C type
//   MEMBER     required  its member of etx_scalar
//   NAME(x)    required  x with the suffix of the type
//   IS_NAN(x)  required  whether x is NaN

#if !defined(T) || !defined(MEMBER) || !defined(NAME) || !defined(IS_NAN)
#error "this header needs the macros of its table"
#endif

static void NAME(fill)(void* best, etx_scalar value) {
  T* to = best;
  for (size_t i = 0; i < ETX_BLOCK; ++i) to[i] = value.MEMBER;
}

// Keeps the larger of `best` and x in each lane, and which tap it was; of
// equal ones the first, of NaNs the last.
static void NAME(keep_larger)(void* best, int32_t* taps, const void* elements,
                              size_t count, int32_t tap) {
  T* to = best;
  const T* x = elements;
  for (size_t i = 0; i < count; ++i) {
    const bool takes = x[i] > to[i] || IS_NAN(x[i]);
    to[i] = takes ? x[i] : to[i];
    taps[i] = takes ? tap : taps[i];
  }
}

// The same without telling which tap it was.
static void NAME(keep_value)(void* best, const void* elements, size_t count) {
  T* to = best;
  const T* x = elements;
  for (size_t i = 0; i < count; ++i) {
    to[i] = x[i] > to[i] || IS_NAN(x[i]) ? x[i] : to[i];
  }
}

// The same along a row of the input: one result, and where it stands.
static void NAME(scan_larger)(void* best, int64_t* where, const void* elements,
                              size_t count, int64_t first, int64_t step) {
  T* to = best;
  const T* x = elements;
  for (size_t i = 0; i < count; ++i) {
    if (!(x[i] > *to || IS_NAN(x[i]))) continue;
    *to = x[i];
    *where = first + (int64_t)i * step;
  }
}
