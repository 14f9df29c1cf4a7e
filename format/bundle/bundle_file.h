// A bundled program (.bpte), read in place: a whole .pte together with calls
// of its methods and their expected results.
//
//   bundle  > suites, one a method  > cases  > inputs, expected outputs
//           > program               the bytes of a .pte, aligned to 32
//
// etx_bundle_open verifies the bundle; after that, accessors check nothing and
// cannot fail. The program inside is not verified: open it as any other.
//
// Ownership  a bundle borrows its bytes, which must outlive it, be aligned to
//            16 and not change.
// Threads    an opened bundle is const and may be read by many.

#ifndef ETX_FORMAT_BUNDLE_BUNDLE_FILE_H
#define ETX_FORMAT_BUNDLE_BUNDLE_FILE_H

#include "format/base/diag.h"
#include "format/tensor/dtype.h"

// Fields are private.
typedef struct etx_bundle {
  etx_bytes file;
  uint32_t root;  // offset of the root table
} etx_bundle;

// Codes of the ValueUnion union.
typedef enum etx_bundle_kind {
  ETX_BUNDLE_TENSOR = 1,
  ETX_BUNDLE_INT = 2,
  ETX_BUNDLE_BOOL = 3,
  ETX_BUNDLE_DOUBLE = 4,
} etx_bundle_kind;

typedef struct etx_bundle_tensor {
  etx_dtype dtype;
  uint8_t rank;
  const int32_t* sizes;      // rank entries
  const uint8_t* dim_order;  // rank entries, a permutation; NULL: default
  etx_bytes data;            // exactly the elements, aligned to their type
} etx_bundle_tensor;

typedef struct etx_bundle_value {
  etx_bundle_kind kind;
  union {
    etx_bundle_tensor tensor;
    int64_t integer;
    bool boolean;
    double real;
  } as;
} etx_bundle_value;

// True if the bytes have the identifier of a bundle, not that of a program.
bool etx_bundle_looks_like(etx_bytes file);

// Opens and verifies. On failure `diag` says where, what was expected and what
// was found.
ETX_MUST_USE etx_status etx_bundle_open(etx_bundle* bundle, etx_bytes file,
                                        etx_diag* diag);

// The bytes of the .pte inside.
etx_bytes etx_bundle_program(const etx_bundle* bundle);

size_t etx_bundle_suite_count(const etx_bundle* bundle);

// The method that a suite calls.
etx_text etx_bundle_suite_method(const etx_bundle* bundle, size_t suite);
size_t etx_bundle_case_count(const etx_bundle* bundle, size_t suite);

size_t etx_bundle_input_count(const etx_bundle* bundle, size_t suite,
                              size_t index);
etx_bundle_value etx_bundle_input_at(const etx_bundle* bundle, size_t suite,
                                     size_t index, size_t input);
size_t etx_bundle_output_count(const etx_bundle* bundle, size_t suite,
                               size_t index);
etx_bundle_value etx_bundle_output_at(const etx_bundle* bundle, size_t suite,
                                      size_t index, size_t output);

#endif
