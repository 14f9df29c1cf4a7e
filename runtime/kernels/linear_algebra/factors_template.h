// Factors of one matrix, for one type. Included by factors.c, once for each
// type. The macros are undefined at the end.
//
// NAME(x)  required  x with a suffix for the type
// T        required  the type of elements
// SQRT(x)  required  the square root
//
// The algorithms are LAPACK's without blocks, getf2 and potf2, with updates
// along rows, which are contiguous here.

#if !defined(NAME) || !defined(T) || !defined(SQRT)
#error "factors_template.h needs NAME, T and SQRT"
#endif

static void NAME(swap_rows)(T* a, T* b, ptrdiff_t count) {
  for (ptrdiff_t i = 0; i < count; ++i) {
    const T held = a[i];
    a[i] = b[i];
    b[i] = held;
  }
}

// The row from `first` on with the largest element of a column, the first one
// of equal ones.
static ptrdiff_t NAME(find_pivot)(const T* a, ptrdiff_t first, ptrdiff_t rows,
                                  ptrdiff_t columns) {
  ptrdiff_t found = first;
  for (ptrdiff_t i = first + 1; i < rows; ++i) {
    const T mine = a[i * columns + first], best = a[found * columns + first];
    if ((mine < 0 ? -mine : mine) > (best < 0 ? -best : best)) found = i;
  }
  return found;
}

// Replaces a matrix by its factors L (below the diagonal, which is 1) and U.
// Row i was exchanged for row pivots[i] - 1. Returns 0, or the number, from 1
// on, of the first diagonal element of U that is 0.
static int32_t NAME(lu)(T* a, ptrdiff_t rows, ptrdiff_t columns, bool exchanges,
                        int32_t* pivots) {
  int32_t info = 0;
  for (ptrdiff_t k = 0; k < rows && k < columns; ++k) {
    T* const top = a + k * columns;
    const ptrdiff_t p = exchanges ? NAME(find_pivot)(a, k, rows, columns) : k;
    pivots[k] = (int32_t)p + 1;
    if (p != k) NAME(swap_rows)(top, a + p * columns, columns);
    if (top[k] == 0) {
      if (info == 0) info = (int32_t)k + 1;
      continue;
    }
    for (ptrdiff_t i = k + 1; i < rows; ++i) {
      T* const row = a + i * columns;
      const T factor = row[k] / top[k];
      row[k] = factor;
      for (ptrdiff_t j = k + 1; j < columns; ++j) row[j] -= factor * top[j];
    }
  }
  return info;
}

// Replaces the upper triangle of a symmetric matrix by U, with U^T U the
// matrix, and the rest by 0. Returns 0, or the order of the first leading minor
// that is not positive; then nothing further was computed.
static int32_t NAME(cholesky)(T* a, ptrdiff_t size) {
  for (ptrdiff_t i = 0; i < size; ++i) {
    for (ptrdiff_t j = 0; j < i; ++j) a[i * size + j] = 0;
  }
  for (ptrdiff_t k = 0; k < size; ++k) {
    T* const top = a + k * size;
    if (!(top[k] > 0)) return (int32_t)k + 1;
    top[k] = SQRT(top[k]);
    for (ptrdiff_t j = k + 1; j < size; ++j) top[j] /= top[k];
    for (ptrdiff_t i = k + 1; i < size; ++i) {
      T* const row = a + i * size;
      for (ptrdiff_t j = i; j < size; ++j) row[j] -= top[i] * top[j];
    }
  }
  return 0;
}

// Transposes a square matrix in place.
static void NAME(transpose)(T* a, ptrdiff_t size) {
  for (ptrdiff_t i = 0; i < size; ++i) {
    for (ptrdiff_t j = i + 1; j < size; ++j) {
      const T held = a[i * size + j];
      a[i * size + j] = a[j * size + i];
      a[j * size + i] = held;
    }
  }
}

#undef NAME
#undef T
#undef SQRT
