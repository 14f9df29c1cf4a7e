// The Hadamard transform of one line in place.
//
//   T        required  the compute type: float or double
//   NAME(x)  required  x with the suffix of the type

#if !defined(T) || !defined(NAME)
#error "this header needs the macros of its table"
#endif

// Sums and differences of elements `half` apart, for every power of two.
static void NAME(transform_stretch)(T* x, size_t count) {
  for (size_t half = 1; half < count; half *= 2) {
    for (size_t i = 0; i < count; i += 2 * half) {
      for (size_t k = i; k < i + half; ++k) {
        const T a = x[k], b = x[k + half];
        x[k] = a + b;
        x[k + half] = a - b;
      }
    }
  }
  const T factor = 1 / NAME(etx_sqrt)((T)count);
  for (size_t i = 0; i < count; ++i) x[i] *= factor;
}

// Combines elements `step` apart by the matrix of signs.
static void NAME(mix)(T* x, size_t step) {
  T mixed[MIXED] = {0};
  for (size_t i = 0; i < MIXED; ++i) {
    const T value = x[i * step];
    for (size_t j = 0; j < MIXED; ++j) {
      mixed[j] += (signs[i] >> j & 1) != 0 ? -value : value;
    }
  }
  for (size_t j = 0; j < MIXED; ++j) x[j * step] = mixed[j];
}

static void NAME(transform_line)(T* x, size_t stretch, size_t stretches) {
  for (size_t i = 0; i < stretches; ++i) {
    NAME(transform_stretch)(x + i * stretch, stretch);
  }
  if (stretches == 1) return;
  for (size_t i = 0; i < stretch; ++i) NAME(mix)(x + i, stretch);
}
