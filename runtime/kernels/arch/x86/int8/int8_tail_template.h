// Masked loads for the end of a row of bytes, with AVX-512. No parameters.
// Include after int8_vec_template.h.

// The first `count` bytes, at most 64, followed by zeros. Reads no memory after
// them.
static inline etx_i32x16 load_some_bytes(const void* from, size_t count) {
  const unsigned long long mask = count < BYTES ? (1ULL << count) - 1 : ~0ULL;
  return (etx_i32x16)__builtin_ia32_loaddquqi512_mask(from, (etx_charx64){0},
                                                      mask);
}
