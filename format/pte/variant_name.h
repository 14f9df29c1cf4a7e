// Names of the variants of a method: copies of it that were planned for some of
// its sizes. Those of `forward` are the plans `forward@1`, `forward@2` and so
// on. A runtime tries them in this order and takes the first that accepts the
// sizes of the inputs. A variant is a method like any other, which readers that
// know nothing of variants can run, too.

#ifndef ETX_FORMAT_PTE_VARIANT_NAME_H
#define ETX_FORMAT_PTE_VARIANT_NAME_H

#include "format/base/span.h"

enum {
  // Most variants of one method.
  ETX_VARIANTS_MOST = 32,
  // Most bytes of the name of a method that has variants.
  ETX_VARIANT_METHOD_BYTES = 120,
  // Room for the name of a variant.
  ETX_VARIANT_NAME_BYTES = 124
};

// Writes the name of variant `index`, counted from 0, to `buffer`. The text is
// empty if `method` is longer than ETX_VARIANT_METHOD_BYTES, or `index` is not
// below ETX_VARIANTS_MOST.
static inline etx_text etx_variant_name(etx_text method, size_t index,
                                        char buffer[ETX_VARIANT_NAME_BYTES]) {
  const size_t number = index + 1;
  size_t size = method.size;
  if (size > ETX_VARIANT_METHOD_BYTES || index >= ETX_VARIANTS_MOST) {
    return (etx_text){buffer, 0};
  }
  for (size_t i = 0; i < size; ++i) buffer[i] = method.data[i];
  buffer[size++] = '@';
  if (number >= 10) buffer[size++] = (char)('0' + number / 10);
  buffer[size++] = (char)('0' + number % 10);
  return (etx_text){buffer, size};
}

// True for the name of a variant of some method: `@` and one or two digits at
// its end.
static inline bool etx_is_variant_name(etx_text name) {
  size_t at = name.size;
  while (at > 0 && name.size - at < 2 && name.data[at - 1] >= '0' &&
         name.data[at - 1] <= '9') {
    --at;
  }
  return at > 1 && at < name.size && name.data[at - 1] == '@';
}

// The name of the method of a variant with this name.
static inline etx_text etx_variant_method(etx_text name) {
  size_t size = name.size;
  while (size > 0 && name.data[size - 1] != '@') --size;
  return (etx_text){name.data, size > 0 ? size - 1 : 0};
}

#endif
