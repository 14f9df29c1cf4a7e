#include "runtime/kernels/core/sort_keys.h"

#include "runtime/kernels/math/math_functions.h"

// Keys of floats, without a branch: all bits of a negative number are flipped,
// the sign bit of a positive one is set. NaN has all bits set.
static uint32_t key_of_f32(float x) {
  const uint32_t bits = etx_bits_of_f32(x + 0.0f);  // -0 becomes 0
  const uint32_t flipped = (0 - (bits >> 31)) | UINT32_C(0x80000000);
  return x != x ? UINT32_MAX : bits ^ flipped;
}
static uint64_t key_of_f64(double x) {
  const uint64_t bits = etx_bits_of_f64(x + 0.0);
  const uint64_t flipped = (0 - (bits >> 63)) | UINT64_C(1) << 63;
  return x != x ? UINT64_MAX : bits ^ flipped;
}

// Keys have 32 bits for float32 and 64 bits for other types. Descending order
// flips all bits of a key.
void etx_sort_keys_load(const etx_key_source* source, size_t count,
                        uint64_t* keys) {
  const etx_compute_type compute = etx_compute_type_of(source->dtype);
  const uint64_t mask = source->descending ? UINT64_MAX : 0;
  const void* elements = source->data;
  etx_block block;
  if (source->stride != 1 || source->dtype != etx_compute_type_dtype(compute)) {
    etx_block_load(&block, compute, source->dtype, elements, source->stride,
                   count);
    elements = &block;
  }
  const float* singles = elements;
  const double* doubles = elements;
  const int64_t* integers = elements;
  for (size_t i = 0; i < count && compute == ETX_COMPUTE_F32; ++i) {
    keys[i] = key_of_f32(singles[i]) ^ (uint32_t)mask;
  }
  for (size_t i = 0; i < count && etx_is_f64(compute); ++i) {
    keys[i] = key_of_f64(doubles[i]) ^ mask;
  }
  for (size_t i = 0; i < count && compute == ETX_COMPUTE_I64; ++i) {
    keys[i] = (uint64_t)integers[i] ^ UINT64_C(1) << 63 ^ mask;
  }
}

uint64_t etx_sort_key_at(etx_dtype dtype, const void* element) {
  const etx_key_source source = {element, dtype, 0, false};
  uint64_t key = 0;
  etx_sort_keys_load(&source, 1, &key);
  return key;
}

uint64_t etx_sort_key_of_nan(etx_dtype dtype) {
  return etx_compute_type_of(dtype) == ETX_COMPUTE_F32 ? UINT32_MAX
                                                       : UINT64_MAX;
}

void etx_sort_entries_load(const etx_key_source* source, size_t count,
                           etx_sort_entry* entries) {
  const ptrdiff_t step =
      source->stride * (ptrdiff_t)etx_dtype_bytes(source->dtype);
  etx_key_source part = *source;
  for (size_t done = 0; done < count; done += ETX_BLOCK) {
    const size_t left = count - done;
    const size_t here = left < ETX_BLOCK ? left : ETX_BLOCK;
    uint64_t keys[ETX_BLOCK];
    part.data = (const char*)source->data + (ptrdiff_t)done * step;
    etx_sort_keys_load(&part, here, keys);
    for (size_t i = 0; i < here; ++i) {
      entries[done + i] = (etx_sort_entry){keys[i], done + i};
    }
  }
}

// One stable pass of the radix sort, by one byte of the key. Returns false if
// all entries have the same byte; then nothing is moved.
static bool radix_pass(const etx_sort_entry* from, etx_sort_entry* to,
                       size_t count, unsigned shift) {
  size_t starts[256] = {0};
  for (size_t i = 0; i < count; ++i) ++starts[from[i].key >> shift & 255];
  if (starts[from[0].key >> shift & 255] == count) return false;
  size_t start = 0;
  for (size_t i = 0; i < 256; ++i) {
    const size_t next = start + starts[i];
    starts[i] = start;
    start = next;
  }
  for (size_t i = 0; i < count; ++i) {
    to[starts[from[i].key >> shift & 255]++] = from[i];
  }
  return true;
}

const etx_sort_entry* etx_radix_sort(etx_sort_entry* entries,
                                     etx_sort_entry* spare, size_t count) {
  etx_sort_entry* from = entries;
  etx_sort_entry* to = spare;
  for (unsigned shift = 0; shift < 64 && count > 1; shift += 8) {
    if (!radix_pass(from, to, count, shift)) continue;
    etx_sort_entry* const swapped = from;
    from = to;
    to = swapped;
  }
  return from;
}
