// Solutions of systems of equations from the factors of a matrix, for one type.
// Included by solutions.c, once for each type. The macros are undefined at the
// end.
//
// NAME(x)  required  x with a suffix for the type
// T        required  the type of elements

#if !defined(NAME) || !defined(T)
#error "solutions_template.h needs NAME and T"
#endif

// Elements of a matrix, `row` apart from row to row and `column` apart along a
// row.
typedef struct NAME(matrix) {
  T* data;
  ptrdiff_t row, column;
} NAME(matrix);

static inline T* NAME(at)(const NAME(matrix) * m, ptrdiff_t row,
                          ptrdiff_t column) {
  return m->data + row * m->row + column * m->column;
}

// Replaces `b`, of `size` rows, by the solution x of A x = b. Only one triangle
// of A is read; `unit`: its diagonal counts as 1.
static void NAME(solve)(const NAME(matrix) * a, bool upper, bool unit,
                        ptrdiff_t size, const NAME(matrix) * b,
                        ptrdiff_t columns) {
  for (ptrdiff_t n = 0; n < size; ++n) {
    const ptrdiff_t i = upper ? size - 1 - n : n;
    T* const row = NAME(at)(b, i, 0);
    const ptrdiff_t step = b->column;
    for (ptrdiff_t m = 0; m < n; ++m) {
      const ptrdiff_t j = upper ? size - 1 - m : m;
      const T factor = *NAME(at)(a, i, j);
      const T* const known = NAME(at)(b, j, 0);
      for (ptrdiff_t c = 0; c < columns; ++c) {
        row[c * step] -= factor * known[c * step];
      }
    }
    if (unit) continue;
    const T divisor = *NAME(at)(a, i, i);
    for (ptrdiff_t c = 0; c < columns; ++c) row[c * step] /= divisor;
  }
}

static NAME(matrix) NAME(transposed)(NAME(matrix) m) {
  return (NAME(matrix)){m.data, m.column, m.row};
}

// Exchanges rows of `b` as the factorisation did, or back.
static void NAME(permute)(const pivot_rows* pivots, bool back, ptrdiff_t size,
                          const NAME(matrix) * b, ptrdiff_t columns) {
  for (ptrdiff_t n = 0; n < size; ++n) {
    const ptrdiff_t i = back ? size - 1 - n : n;
    const ptrdiff_t p = pivots->data[i * pivots->step] - 1;
    for (ptrdiff_t c = 0; p != i && c < columns; ++c) {
      const T held = *NAME(at)(b, i, c);
      *NAME(at)(b, i, c) = *NAME(at)(b, p, c);
      *NAME(at)(b, p, c) = held;
    }
  }
}

// Replaces `b` by the solution of A x = b, or of A^T x = b, from the factors of
// A.
static void NAME(solve_lu)(NAME(matrix) lu, const pivot_rows* pivots,
                           bool transposed, ptrdiff_t size,
                           const NAME(matrix) * b, ptrdiff_t columns) {
  if (!transposed) {
    NAME(permute)(pivots, false, size, b, columns);
    NAME(solve)(&lu, false, true, size, b, columns);
    NAME(solve)(&lu, true, false, size, b, columns);
    return;
  }
  const NAME(matrix) other = NAME(transposed)(lu);
  NAME(solve)(&other, false, false, size, b, columns);
  NAME(solve)(&other, true, true, size, b, columns);
  NAME(permute)(pivots, true, size, b, columns);
}

#undef NAME
#undef T
