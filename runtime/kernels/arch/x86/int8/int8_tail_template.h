// Masked loads for the end of a row of bytes, with AVX-512. No parameters.
// Include after int8_vec_template.h.

// The first bytes, at most 64, followed by zeros. Nothing behind them is read.
static inline ints load_some_bytes(const void* from, size_t count) {
  typedef char chars __attribute__((vector_size(64)));
  const unsigned long long mask = count < BYTES ? (1ULL << count) - 1 : ~0ULL;
#ifdef __clang__
  typedef const chars* place;
#else
  typedef const char* place;
#endif
  return (ints)__builtin_ia32_loaddquqi512_mask((place)from, (chars){0}, mask);
}
