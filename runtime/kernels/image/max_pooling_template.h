// The inner loops of max pooling for one compute type. Included by
// max_pooling.c. Lanes are neighbouring results, or channels of one result.
//
// NAME(x)    required  the name of function x for this type
// T          required  the C type
// MEMBER     required  the member of etx_scalar with this type
// IS_NAN(x)  required  whether x is NaN; false for integers

#if !defined(T) || !defined(MEMBER) || !defined(NAME) || !defined(IS_NAN)
#error "max_pooling_template.h needs T, MEMBER, NAME and IS_NAN"
#endif

static void NAME(fill)(void* best, etx_scalar value) {
  T* to = best;
  for (size_t i = 0; i < ETX_BLOCK; ++i) to[i] = value.MEMBER;
}

// Replaces `best` in each lane where x is larger or NaN, and notes the tap. So
// equal elements keep the first tap, NaNs the last, as in PyTorch.
static void NAME(update)(void* best, int32_t* taps, const void* elements,
                         size_t count, int32_t tap) {
  T* to = best;
  const T* x = elements;
  for (size_t i = 0; i < count; ++i) {
    const bool takes = x[i] > to[i] || IS_NAN(x[i]);
    to[i] = takes ? x[i] : to[i];
    taps[i] = takes ? tap : taps[i];
  }
}

// The same without taps.
static void NAME(update_value)(void* best, const void* elements, size_t count) {
  T* to = best;
  const T* x = elements;
  for (size_t i = 0; i < count; ++i) {
    to[i] = x[i] > to[i] || IS_NAN(x[i]) ? x[i] : to[i];
  }
}

// The same along a row of the input for one result and its index.
static void NAME(scan)(void* best, int64_t* index, const void* elements,
                       size_t count, int64_t first, int64_t step) {
  T* to = best;
  const T* x = elements;
  for (size_t i = 0; i < count; ++i) {
    if (!(x[i] > *to || IS_NAN(x[i]))) continue;
    *to = x[i];
    *index = first + (int64_t)i * step;
  }
}
